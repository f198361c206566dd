/* hooks: programs that people configured to run at events.
 *
 *   parse.c      a file's text → groups and hooks; each problem with its line and column
 *   matcher.c    which hooks an event is for
 *   words.c      which files a command names
 *   resolve.c    what a project's command runs, and what that runs and loads in turn
 *   loads.c      what programs of Python, Node and others load
 *   pin.c        the text that runs the copies instead
 *   scripts.c    changes to the scripts of the user's own hooks
 *   dialect.c    tool names, stdin and environment as the hook's file expects them
 *   answer.c     what a hook printed → its part of the verdict
 *   ask.c        prompt hooks: the question for a model, and what its answer means
 *   load.c       all sources of a project → one set; the files a project's trust covers
 *   snapshot.c   the set of a session, kept over restarts
 *   runtime.c    hooks_fire(): sessions, queue, children
 *   history.c    the last runs, for people
 *   alone.c      what `on_failure` says when there is no daemon
 *   edit.c       adding a hook to a file and taking one out
 *
 * DESIGN. A set is made once for a session and never changes: an agent that edits a file edits the next session's
 * hooks. Sources are read on a worker; the loop matches, starts children and adds their answers to the verdict.
 * Hooks of a project run only if they were trusted, and then from the copies made at that moment (trust/).
 * docs/decisions/0009 has the reasons and the table of failures.
 *
 * Values of an event reach a hook through stdin and its environment. Nothing is ever put into a command's text.
 *
 * The parts up to load.c need neither loop nor daemon: commands and tests use them directly. */
#ifndef HOOKD_HOOKS_HOOKS_H
#define HOOKD_HOOKS_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/macro.h"
#include "event/event.h"
#include "json/json.h"
#include "loop/loop.h"
#include "match/match.h"
#include "redact/redact.h"
#include "trust/trust.h"

enum {
	HOOK_ID = 12,    /* hex digits */
	HOOKS_MAX = 256, /* of one set */
	HOOK_PROBLEMS_MAX = 50,
	HOOKS_AT_ONCE = 16,  /* children */
	HOOKS_QUEUED = 1024, /* runs that wait for one */
	HOOK_HISTORY = 200,
	HOOK_KEPT = 4096,     /* bytes of output in the history */
	HOOK_SNAPSHOTS = 256, /* files */
	HOOK_FIRM_S = 25,     /* longest time of a hook that must decide: agents wait 30 s for an answer */
	HOOK_TIMEOUT_S = 60,
	HOOK_OBSERVER_TIMEOUT_S = 10,
	HOOK_PROMPT_TIMEOUT_S = 30,
	HOOK_TIMEOUT_MAX_S = 3600,
};

/* -- a hook ------------------------------------------------------------------------------------ */

enum hook_type { HOOK_COMMAND, HOOK_HTTP, HOOK_PROMPT, HOOK_AGENT, HOOK_MCP_TOOL, HOOK_TYPE_MAX };
extern const char *const hook_type_names[HOOK_TYPE_MAX];

/* Where a file is; the first is merged first. */
enum hook_scope { HOOK_LOCAL, HOOK_PROJECT, HOOK_USER, HOOK_SCOPE_MAX };
extern const char *const hook_scope_names[HOOK_SCOPE_MAX];

/* Whose file it is, which decides what else may be in it. */
enum hook_form {
	HOOK_FORM_OWN,
	HOOK_FORM_CLAUDE,     /* settings of Claude Code: only `hooks` in it is ours to judge */
	HOOK_FORM_CODE_AGENT, /* hooks.json of Code Agent: its members are the events, and its dialect is code-agent */
	HOOK_FORM_MAX,
};

/* Where Code Agent's are, in a home and in a project. */
#define HOOK_CODE_AGENT_FILE ".code-agent/hooks/hooks.json"

/* Why a hook does not run; HOOK_LIVE: it does. */
enum hook_state {
	HOOK_LIVE,
	HOOK_DISABLED,  /* its file says so */
	HOOK_OURS,      /* it calls hookc: that is us */
	HOOK_NOT_RUN,   /* a type that this release does not run */
	HOOK_UNTRUSTED, /* a project's, and nobody has trusted it */
	HOOK_UNTIED,    /* a project's, and what it runs cannot be pinned */
	HOOK_STATE_MAX,
};
extern const char *const hook_state_names[HOOK_STATE_MAX]; /* a sentence each */

struct hook_problem {
	struct hook_problem *next;
	bool error; /* something is left out because of it; else a hint */
	unsigned line, col;
	str text;
};

/* What a matcher or an `if` says; see matcher.c. */
struct hook_matcher {
	str text; /* as written */
	bool all;
	const str *names; /* exact ones */
	size_t nnames;
	unsigned classes; /* bit per tool class */
	struct match *re;
};

struct hook_group;

struct hook {
	struct hook *next; /* in its group */
	struct hook_group *group;
	char id[HOOK_ID + 1];
	uint8_t key[SHA256_BYTES]; /* type and payload: what makes two hooks identical */
	str name;                  /* or STR_NONE */
	enum hook_type type;
	enum hook_state state;
	str command, url, prompt;
	str headers;     /* of an http hook, a line each */
	const str *args; /* exec form: the command is a program */
	size_t nargs;
	bool exec_form, bash; /* bash: its text is for bash, not for sh */
	const str *env, *files;
	size_t nenv, nfiles;
	const str *header_env; /* variables that its headers may name */
	size_t nheader_env;
	int64_t timeout_us;
	enum verdict_action on_failure; /* VERDICT_NONE: allow */
	bool code_agent, async, once, observer;
	str condition; /* `if` */
	unsigned line, col;
	/* A project's, after trust: words to be executed instead of the text, the first one a path. */
	const char *const *tied;
	str why;        /* HOOK_UNTIED: it cannot be tied */
	unsigned index; /* in the set */
};

struct hook_group {
	struct hook_group *next; /* of the same event, in the order of merging */
	enum event_kind kind;
	struct hook_matcher matcher;
	str mcp_server;
	bool sequential;
	const struct hook_source *source;
	struct hook *hooks;
};

/* One file that takes part. */
struct hook_source {
	struct hook_source *next;
	enum hook_scope scope;
	enum hook_form form;
	str path;  /* for people */
	str text;  /* what was parsed; for a broken file, its last valid text */
	bool kept; /* text differs from the current file */
	unsigned errors;
	struct hook_problem *problems; /* of what the file holds now */
	unsigned count;
};

/* "problems": [{error, line, col, text}] of a source, as a member of an open object. */
void hooks_write_problems(struct json_writer *w, const struct hook_source *source);

struct hook_set {
	struct arena arena;
	unsigned refs;
	str root;           /* the project, or STR_NONE */
	str home;           /* the user's, or STR_NONE */
	str changed_script; /* of a hook of the user, since the last session; or STR_NONE */
	struct hook_source *sources;
	struct hook_group *groups[EVENT_KIND_MAX];
	struct hook *all[HOOKS_MAX];
	unsigned count;
	enum trust_state trust;
	str copies;         /* of what was trusted, or empty */
	struct err trouble; /* the project's files were not read, and why */
	uint8_t digest[SHA256_BYTES];
};

void hook_set_unref(struct hook_set *s);
DEFINE_FREEP(struct hook_set, hook_set_unref);

/* Parses one text into a set (which may hold others already). Never fails: problems say what was ignored. */
void hooks_parse(struct hook_set *s, struct hook_source *source);

/* -- sources ----------------------------------------------------------------------------------- */

struct hooks_where {
	const char *agent;       /* NULL: all files, whichever agent reads them */
	const char *cwd;         /* NULL or not absolute: no project */
	const char *home;        /* or NULL */
	const char *user_config; /* hookd's own */
	const char *state;       /* trust records, last good texts */
};

/* Reads everything; blocks. Never fails. */
struct hook_set *hooks_load(const struct hooks_where *where);
/* Only these texts, as a file of the user would be: for validate. */
struct hook_set *hooks_load_file(const char *path, struct err *err);

/* What the trust in the project around cwd covers; trust_tree_close() it. -ENOENT: there is no project. Other
 * -errno, with err: something in it must not be used, so nothing is. */
int hooks_project(const char *cwd, const char *home, struct arena *a, struct trust_tree *ret, struct err *err);

/* Whether hookd runs the hooks of .claude/settings.json for this agent: not if it does so itself. */
bool hooks_agent_borrows(str agent);

/* -- matching ---------------------------------------------------------------------------------- */

/* The hooks an event is for, in order, identical ones once, whatever their state; the number of them. */
unsigned hooks_match(const struct hook_set *s, const struct event *e, struct arena *a, struct hook *ret[HOOKS_MAX]);

/* For when there is no daemon to run hooks: raises the verdict to the `on_failure` of the hooks that match the event.
 * Hooks are those of the session's snapshot under run, or else what the files say now. */
void hooks_decide_alone(const struct hooks_where *where, const char *run, const struct event *e, struct arena *a,
	struct verdict *v);

/* -- running ----------------------------------------------------------------------------------- */

struct hooks;

/* A question for a language model. hooks/ does not know who answers it. */
struct hook_question {
	str system, user; /* until ask() returns */
	int64_t timeout_us;
	/* Once, on the loop, never from inside ask(). text: the answer, or why there is none. */
	void (*done)(bool answered, str text, void *arg);
	void *arg;
};

struct hooks_config {
	struct loop *loop;
	struct redactor *redactor; /* the loop's */
	const char *home, *user_config, *state, *run;
	const char *path;   /* where hooks find programs; NULL: PATHS_PROGRAMS */
	const char *keeper; /* as loop_children_new() */
	/* For prompt hooks; NULL: they fail. Everything that was asked is answered before hooks_free(). */
	void (*ask)(const struct hook_question *q, void *arg);
	/* Whether a prompt is such a question: nothing is asked about what somebody does to answer it. */
	bool (*is_own)(str prompt, void *arg);
	void *ask_arg;
};

struct hooks *hooks_new(const struct hooks_config *config);
void hooks_free(struct hooks *h);
/* Kills running hooks and starts no more; pending callbacks are called. */
void hooks_stop(struct hooks *h);

/* The outcome of one hook; text lives until the callback returns. */
struct hook_outcome {
	const struct hook *hook;
	bool success;
	enum verdict_action decision;
	str output, error;
	struct hook_outcome *next;
};

/* What hooks remember of a session: its set, and which of it ran. Made at the session's first event, when a worker
 * reads the files; belongs to whoever made it. */
struct hooks_session;

struct hooks_session *hooks_session_new(struct hooks *h, str agent, str session, str cwd);
void hooks_session_free(struct hooks_session *s);

struct hooks_request {
	struct hooks_session *session; /* NULL: the event has no session, and the files are read for it alone */
	str not_run;                   /* set: no hook is run, for this reason; those that must decide have failed */
	const struct event *event;     /* lives until done, with the arena */
	struct arena *arena;
	struct verdict *verdict;                            /* the answers are added to it */
	bool (*wanted)(void *arg);                          /* NULL: always. Asked before each start */
	void (*done)(struct hook_outcome *list, void *arg); /* once, maybe from inside hooks_fire() */
	void *arg;
};

void hooks_fire(struct hooks *h, const struct hooks_request *q);

/* Takes new snapshots for all active sessions; done is called with their number and the number of broken files. */
void hooks_reload(struct hooks *h, void (*done)(unsigned sessions, unsigned broken, void *arg), void *arg);

struct hooks_state {
	unsigned sessions, running, queued, broken;
	uint64_t runs, failures, timeouts;
};

void hooks_get_state(const struct hooks *h, struct hooks_state *ret);

/* The newest first: {hookId, name, event, session, agent, at_us, exitCode, stdout, …}. */
void hooks_write_history(const struct hooks *h, struct json_writer *w, unsigned limit);

/* -- changing a file of the user --------------------------------------------------------------- */

/* Appends the changed text. hook: an object as in the file. -EINVAL: err says what is wrong with it. */
int hooks_edit_add(str text, str event, str matcher, const struct json *hook, struct buf *ret, char ret_id[HOOK_ID + 1],
	struct err *err);
/* -ENOENT: no such hook in this text. */
int hooks_edit_remove(str text, str event, str id, struct buf *ret, struct err *err);
/* Sets `disabled` of a hook, or takes it out. -ENOENT likewise; -EALREADY: it is so already. */
int hooks_edit_toggle(str text, enum hook_form form, str id, bool disabled, struct buf *ret, struct err *err);

#endif
