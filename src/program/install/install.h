/* install: adds hookc to an agent's own hook file, and removes it again.
 *
 * DESIGN. The file belongs to the user: formatting, order and foreign hooks stay as they are, because the file is
 * edited as text at the places the JSON tree (or a scan of the TOML) points to, never rewritten from scratch. Our
 * entries are appended after whatever is there: Codex trusts hooks by position, and moving the user's own hooks down
 * would switch them off. Where the agent has an exec form (program and arguments, no shell) they use it, with the
 * absolute path of hookc and the absolute state directory, so that neither PATH, nor an rc file, nor a project's
 * environment changes what runs; elsewhere the same words form a shell command. It contains no version: an entry that
 * changes is no longer trusted.
 *
 * Before the first change the original bytes are kept under <state>/install/. Uninstall puts them
 * back if the file still is exactly what install wrote (byte for byte the original), removes the file
 * if install had made it, and otherwise removes only our entries.
 *
 * An entry is ours when its program's base name is hookc (or "hookc" is a word of its shell command).
 * Installing twice changes nothing; a moved hookc or state directory rewrites our entries in place. */
#ifndef HOOKD_INSTALL_INSTALL_H
#define HOOKD_INSTALL_INSTALL_H

#include <stdbool.h>

#include "agents/agents.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "json/json.h"

/* One file that would change. */
struct install_change {
	char path[FS_PATH]; /* the agent's file */
	const char *noun;   /* what is counted below */
	bool exists;        /* it is there now */
	bool remove;        /* uninstall: the file itself goes */
	bool unused;        /* nothing of ours is there, nor will be: the note says why */
	str before, after;  /* whole contents */
	unsigned added, changed, removed;
	str note; /* what the user should know, or STR_NONE */
};

/* The changes to an agent's files that have been worked out and not yet made. */
enum { INSTALL_FILES_MAX = 3 };

struct install_plan {
	const struct agent *agent;
	bool uninstall; /* made by install_plan_remove() */
	struct install_change files[INSTALL_FILES_MAX];
	unsigned n; /* after a failure the last one is where it failed */
};

/* Where an agent sends its telemetry. */
struct install_otel {
	const char *endpoint, *token;
};

struct install_request {
	const struct agent *agent;
	const char *home;    /* the user's home directory */
	const char *project; /* project root for --project, else NULL */
	const char *hookc;   /* absolute path */
	const char *state;   /* absolute state directory */
	bool all_events;
	const struct install_otel *otel; /* NULL: its telemetry is left as it is */
	bool mcp;                        /* also `hookd mcp` among its MCP servers, for the user */
};

/* Works out what to do; touches nothing. -EBADMSG: a file cannot be read, err names line and column
 * and nothing will be changed. -EOPNOTSUPP: this agent's file is not known yet. */
int install_plan_add(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err);
int install_plan_remove(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err);

static inline bool install_change_is_empty(const struct install_change *c)
{
	return !c->remove && str_eq(c->before, c->after);
}

static inline bool install_plan_is_empty(const struct install_plan *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!install_change_is_empty(&p->files[i]))
			return false;
	return true;
}

/* Carries a plan out; refuses (-ESTALE) when a file changed since, before any is written. */
int install_apply(const struct install_request *q, const struct install_plan *p, struct err *err);

/* A unified-diff-like text of the change, for --dry-run and the question before it. */
void install_write_diff(const struct install_change *c, struct buf *b);

/* Whether the agent seems to be used here: its directory or program exists. */
bool install_agent_found(const struct install_request *q);

/* Whether the agent would run an entry. */
enum install_trust {
	INSTALL_TRUST_NONE, /* the agent asks nobody, or it is not known */
	INSTALL_TRUSTED,
	INSTALL_UNTRUSTED, /* nobody has trusted it, or it has changed since */
	INSTALL_DISABLED,  /* switched off by the user */
};

/* Events for which our entry is installed, and whether it calls this hookc and state; for doctor. */
struct install_entry {
	struct install_entry *next;
	str event, command;
	const str *args;
	size_t nargs;
	bool current;
	bool shell;                       /* the command is a line for /bin/sh -c */
	bool is_notify;                   /* no hook: the payload is its last argument */
	bool is_mcp;                      /* no hook: hookd as an MCP server; only if the request is about it */
	const struct json *entry, *group; /* NULL for notify */
	unsigned place[2];                /* of the group in the event, of the entry in the group */
	enum install_trust trust;
};

/* An entry of a hook file calls hookc, whoever wrote it. */
bool install_is_ours(const struct json *entry);

int install_list(const struct install_request *q, struct arena *a, struct install_entry **ret, struct err *err);

/* What the user does to trust our hooks; NULL: the agent does not ask. */
const char *install_how_to_trust(const struct agent *agent);

/* What an agent that runs only trusted hooks (Codex) keeps about one: "sha256:" and the hash of the
 * entry as it is. In the arena. */
str install_trust_hash(const struct install_entry *e, struct arena *a);

#endif
