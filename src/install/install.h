/* install: puts hookc into an agent's own hook file, and takes it out again.
 *
 * DESIGN. The file belongs to the user: formatting, order and foreign hooks stay as they are, because
 * the file is edited as text at the places the JSON tree points to, never written out anew. Our
 * entries are appended after whatever is there (some agents trust hooks by position). They use the
 * exec form (program and arguments, no shell) with the absolute path of hookc and the absolute state
 * directory, so that neither PATH, nor an rc file, nor a project's environment changes what runs.
 *
 * Before the first change the original bytes are kept under <state>/install/. Uninstall puts them
 * back if the file still is exactly what install wrote (byte for byte the original), removes the file
 * if install had made it, and otherwise removes only our entries.
 *
 * An entry is ours when its program's base name is hookc (or "hookc" stands as a word in a shell form).
 * Installing twice changes nothing; a moved hookc or state directory rewrites our entries in place. */
#ifndef HOOKD_INSTALL_INSTALL_H
#define HOOKD_INSTALL_INSTALL_H

#include <stdbool.h>

#include "agents/agents.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"

/* A change that has been worked out and not yet made. */
struct install_plan {
	const struct agent *agent;
	char path[FS_PATH]; /* the agent's file */
	bool exists;        /* it is there now */
	bool uninstall;     /* made by install_plan_remove() */
	bool remove;        /* uninstall: the file itself goes */
	str before, after;  /* whole contents */
	unsigned added, changed, removed; /* entries */
};

struct install_request {
	const struct agent *agent;
	const char *home;    /* the user's home directory */
	const char *project; /* project root for --project, else NULL */
	const char *hookc;   /* absolute path */
	const char *state;   /* absolute state directory */
	bool all_events;
};

/* Works out what to do; touches nothing. -EBADMSG: the file is not JSON, err names line and column
 * and nothing will be changed. -EOPNOTSUPP: this agent's file is not known yet. */
int install_plan_add(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err);
int install_plan_remove(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err);

static inline bool install_plan_is_empty(const struct install_plan *p)
{
	return !p->remove && str_eq(p->before, p->after);
}

/* Carries a plan out; refuses (-ESTALE) when the file changed since. */
int install_apply(const struct install_request *q, const struct install_plan *p, struct err *err);

/* A unified-diff-like text of the change, for --dry-run and the question before it. */
void install_write_diff(const struct install_plan *p, struct buf *b);

/* Whether the agent seems to be used here: its directory or program exists. */
bool install_agent_found(const struct install_request *q);

/* Events for which our entry is installed, and whether it calls this hookc and state; for doctor. */
struct install_entry {
	struct install_entry *next;
	str event, command;
	const str *args;
	size_t nargs;
	bool current;
};

int install_list(const struct install_request *q, struct arena *a, struct install_entry **ret, struct err *err);

#endif
