/* For hooks/ only. */
#ifndef HOOKD_HOOKS_INTERNAL_H
#define HOOKD_HOOKS_INTERNAL_H

#include "agents/agents.h"
#include "hooks/hooks.h"

/* Chunks of the directory of snapshots and last good texts. */
#define HOOK_SNAPSHOT_MAX MIB(8)

struct hook_set *hook_set_new(void);
/* Whether one may stand for the other. */
bool hook_set_is_same(const struct hook_set *a, const struct hook_set *b);

/* -- parse.c ----------------------------------------------------------------------------------- */

void hook_complain(struct hook_set *s, struct hook_source *source, bool error, size_t at, const char *fmt, ...)
	_printf_(5, 6);

/* The object whose members are the events, or NULL. */
const struct json *hook_events_of(const struct json *root, enum hook_form form);

/* A name that no child may have in its environment, whatever a hook's `env` says. */
bool hook_env_is_forbidden(str name);

/* -- matcher.c --------------------------------------------------------------------------------- */

/* What an event is matched by, beside tools. */
struct hook_subject {
	enum event_kind kind;
	const char *field;         /* of the payload, in Claude Code's words */
	const char *const *values; /* all there are, or NULL */
};

const struct hook_subject *hook_subject_of(enum event_kind kind);

/* -EINVAL: not a pattern. */
int hook_matcher_compile(str text, struct arena *a, struct hook_matcher *ret, struct err *err);

/* Returns why it cannot match anything, or NULL. */
const char *hook_matcher_trouble(const struct hook_matcher *m, enum event_kind kind, struct arena *a);

/* -- words.c ----------------------------------------------------------------------------------- */

/* The words of a command that holds nothing but words: quotes, and $CLAUDE_PROJECT_DIR, which becomes root. False:
 * the shell would do more with it. */
bool hook_plain_words(str command, str root, struct arena *a, const str **ret, size_t *ret_n);

/* Calls fn with everything in a command that could be the name of a file, relative to root; for plain words, with each
 * of them. */
void hook_each_name(const struct hook *h, str root, struct arena *a, void (*fn)(str name, void *arg), void *arg);

/* ${CLAUDE_PROJECT_DIR} in the exec form, which no shell reads. */
str hook_expand_root(str word, str root, struct arena *a);

/* A word as a path relative to root, or STR_NONE when it leaves it. */
str hook_relative(str word, str root, struct arena *a);

/* -- pin.c ------------------------------------------------------------------------------------- */

/* The files of a project, as pin.c reads them. */
struct hook_tree {
	str root, home;
	str copies; /* where its copies are, or stand for being: what is named below it is found beside a copy */
	/* A plain file of the tree; false: there is none. Whoever gathers takes it for one that takes part. */
	bool (*read)(str name, str *ret_bytes, bool *ret_executable, void *arg);
	bool (*exists)(str name, void *arg);
	void *arg;
};

/* Where copies will be, as long as nobody has trusted anything. */
#define HOOK_COPIES_TO_BE "/.hookd-copies"

struct hook_taker {
	void (*name)(str name, void *arg);
	/* In the copy of file the text stands in the place of these bytes; as struct trust_link. */
	void (*link)(str file, size_t begin, size_t end, str text, void *arg);
	void *arg;
};

/* Tells of every name in the tree that a command, resolved as the guard does, is about, whether it is there or not; and
 * of what its scripts load and run themselves. */
void hook_each_file(const struct hook *h, const struct hook_tree *t, struct arena *a, const struct hook_taker *taker);

/* Calls fn with the absolute path of everything a user's command names that is not the system's, there or not. */
void hook_each_script(const struct hook *h, str home, struct arena *a, void (*fn)(str path, void *arg), void *arg);

/* The words of an exec form with the copies in the place of the files, and a NULL. */
const char *const *hook_pin_words(const struct hook *h, const struct hook_tree *t, struct arena *a);

/* The text to run instead of the command's own, with the copies in the place of the files, or STR_NONE: it names none.
 * *ret_why is set if it must not run. The exec form is only checked. */
str hook_pin_text(const struct hook *h, const struct hook_tree *t, struct arena *a, str *ret_why);

/* -- loads.c ----------------------------------------------------------------------------------- */

struct hook_loads {
	bool (*exists)(str name, void *arg);          /* among the files that take part, or may */
	mode_t (*in_project)(str name, void *arg);    /* of a file that is there now; 0: none is */
	void (*load)(str name, bool code, void *arg); /* it exists, beside the program */
	void (*refuse)(str why, void *arg);
	void *arg;
};

/* What a program loads. language: python node ruby perl php lua other; file: its name in the tree; base: the directory
 * in which its modules are looked for first. */
void hook_each_load(str language, str text, str file, str base, struct arena *a, const struct hook_loads *to);

/* -- scripts.c --------------------------------------------------------------------------------- */

/* Compares the scripts of the user's hooks with what they were, and tells of changes. */
void hook_scripts_check(struct hook_set *set, const char *state);

/* -- dialect.c --------------------------------------------------------------------------------- */

enum { HOOK_NAMES = AGENT_TOOL_NAMES, HOOK_VIEWS = 32 };

/* What Claude Code would call the tool; the first one is used when nothing else decides. */
size_t hook_tool_names(const struct event *e, struct arena *a, str ret[HOOK_NAMES]);
bool hook_is_known_tool(str name);
/* The likely one, or STR_NONE. */
str hook_suggest_tool(str name);

/* An event as hooks see it: a patch of many files is a call for each of them, because that is what a hook that looks at
 * file_path expects. The number of views; the first is the event itself unless it is such a patch. *ret_more: there are
 * files that no view shows. */
size_t hook_views(const struct event *e, struct arena *a, const struct event *ret[HOOK_VIEWS], bool *ret_more);

/* The name that the group's matcher meant. */
str hook_tool_name(const struct hook_group *g, const struct event *e, struct arena *a);

/* The next $NAME or ${NAME} of a text and what is before it; false: there is no more, and *rest is what is left. */
bool hook_next_variable(str *rest, str *ret_before, str *ret_name);
bool hook_header_may_name(const struct hook *h, str name);

/* tool_input as hooks see it. */
void hook_write_input(struct json_writer *w, const struct event *e);
void hook_write_stdin(const struct event *e, str tool_name, struct buf *b);

struct hook_surroundings {
	str root;
	const char *home, *path;
	const char *token; /* of the daemon: see HOOKD_HOOK */
	str chain;         /* hooks that led to this event: ":id:id", or empty */
};

/* "NAME=value" texts and a NULL, each from malloc, in one block of pointers. */
char **hook_environment(const struct hook *h, const struct event *e, str tool_name,
	const struct hook_surroundings *where);
void hook_environment_free(char **env);

/* Members that stdin's tool_input has and the agent's does not. */
bool hook_is_added_member(const struct event *e, str key);

/* -- answer.c ---------------------------------------------------------------------------------- */

/* What one run says. Everything lies in the arena. */
struct hook_answer {
	enum verdict_action action;
	str reason, context, system_message, stop_reason;
	const struct json *updated_input;
	bool continue_turn, end_turn;
	str failure; /* STR_NONE: none; else on_failure decides */
};

void hook_answer_read(const struct hook *h, const struct event *e, const struct child_result *r, struct arena *a,
	struct hook_answer *ret);
/* What blocking means depends on the moment. */
void hook_answer_block(const struct event *e, str reason, struct hook_answer *ret);
/* A hook of a type that is not run counts as failed: its on_failure applies. */
void hook_cannot_run(const struct hook *h, const struct event *e, struct arena *a, struct verdict *v);
/* Adds it to the verdict under the hook's name. */
void hook_answer_apply(const struct hook *h, const struct event *e, const struct hook_answer *answer, struct arena *a,
	struct verdict *v);

/* -- ask.c ------------------------------------------------------------------------------------- */

/* A variable that a prompt may name. */
bool hook_prompt_knows(str name);
/* The user's prompt with what frames it; and the event, as one line of JSON. */
void hook_write_question(const struct hook *h, const struct event *e, str tool_name, struct buf *system,
	struct buf *user);
/* ALLOW and CONTINUE: no objection. BLOCK: one, with a reason. Anything else is a failure. */
void hook_read_opinion(str text, const struct event *e, struct arena *a, struct hook_answer *ret);

/* -- history.c --------------------------------------------------------------------------------- */

struct hook_history;

struct hook_run_info {
	const struct hook *hook;
	const char *agent, *session;
	enum event_kind kind;
};

struct hook_history *hook_history_new(void);
void hook_history_free(struct hook_history *h);
void hook_history_add(struct hook_history *h, struct redactor *redactor, const struct hook_run_info *run,
	const struct child_result *c, const struct hook_answer *answer);
/* The newest first. */
void hook_history_write(const struct hook_history *h, struct json_writer *w, unsigned limit);

/* -- load.c ------------------------------------------------------------------------------------ */

/* After all sources are parsed: which of a project's hooks run, and from where. copies: of what was
 * trusted, or NULL. */
void hook_set_settle(struct hook_set *s, const char *copies);
/* A new source in the set's arena. */
struct hook_source *hook_source_new(struct hook_set *s, enum hook_scope scope, enum hook_form form, str path, str text);
bool hook_is_ours(const struct json *entry);

/* -- snapshot.c -------------------------------------------------------------------------------- */

void hook_snapshot_path(const char *run, str agent, str session, char out[FS_PATH]);
int hook_snapshot_write(const char *run, str agent, str session, const struct hook_set *s);
/* Removes all of them. */
void hook_snapshot_clear(const char *run);
/* NULL: there is none that can be read. */
struct hook_set *hook_snapshot_read(const char *run, str agent, str session);

#endif
