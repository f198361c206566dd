/* notify: the program that Codex notifies of every turn: one key of config.toml, before the first table.
 * For install/ and its tests; the functions do for that key what those of edit.h do for hooks.
 *
 * There is room for one program. If another program is set, it stays, and a note says so: the hooks report the same. */
#ifndef HOOKD_INSTALL_NOTIFY_H
#define HOOKD_INSTALL_NOTIFY_H

#include "install/edit.h"

/* The event's name on the command line. */
#define INSTALL_NOTIFY "notify"

int install_notify_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_notify_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_notify_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err);
bool install_notify_is_empty(const struct install_request *q, str text);

#endif
