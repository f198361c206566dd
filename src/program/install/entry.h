/* entry: one hook entry: what ours looks like and how it is recognised; for install/ only. */
#ifndef HOOKD_INSTALL_ENTRY_H
#define HOOKD_INSTALL_ENTRY_H

#include <stdbool.h>

#include "base/arena.h"
#include "install/files.h"
#include "install/install.h"
#include "json/json.h"

/* A program's name or path is that of hookc. */
bool entry_is_hookc(str program);

/* An entry calls hookc: by its program, or as a word of a shell line. */
bool entry_is_ours(const struct json *entry);

/* It is of the kind that runs a command, said or not. */
bool entry_is_command(const struct hook_file *f, const struct json *entry);

/* It calls this very hookc with this state directory. */
bool entry_is_current(const struct install_request *q, str event, const struct json *entry, struct arena *a);

/* {"type": "command", "command": …, "args": […], "timeout": N}, or what the agent has instead. */
struct json *entry_make(const struct install_request *q, str event, struct arena *a);

/* The first or next event that the request wants entries for; NULL: no more. */
const struct agent_event *entry_next_wanted(const struct install_request *q, const struct agent_event *last);

#endif
