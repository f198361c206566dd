/* guard: rules over what a tool is about to do.
 *
 * A shell command is read as the shell reads it, resolved as far as constants go, and judged by
 * what would run: programs with their arguments, redirections, scripts within scripts. Everything
 * is static: no daemon, no disk beyond loading the policy, no allocation beyond the arena, so
 * `hookd offline` decides exactly as the daemon does. docs/decisions/0010-guard.md says how, and
 * what is deliberately not seen. */
#ifndef HOOKD_GUARD_GUARD_H
#define HOOKD_GUARD_GUARD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/macro.h"
#include "config/paths.h"
#include "event/event.h"
#include "json/json.h"

struct guard_rule {
	const char *name;    /* stable: appears in answers, audit and documentation */
	const char *text;    /* one sentence for people */
	const char *advice;  /* what to do instead, or NULL */
	const char *example; /* a command it holds for */
};

extern const struct guard_rule guard_rules[]; /* ends with a row without a name */

/* -- policy ----------------------------------------------------------------------------------- */

struct guard_policy; /* compiled, immutable, counted; built-in rules and the user's */

struct guard_problem {
	struct guard_problem *next;
	struct err err;
};

/* A rule of the user, for listings. */
struct guard_user_rule {
	str name, message, override, source; /* source: its JSON */
	enum verdict_action decision;
	bool observe;
	unsigned line;
};

/* Reads `guard` from the user's config file (absent: built-in rules only). Always gives a policy;
 * problems, owned by the caller, say what was left out. */
struct guard_policy *guard_policy_load(const char *path, struct guard_problem **ret_problems);
struct guard_policy *guard_policy_parse(str text, struct guard_problem **ret_problems);
/* Of a project's file: only its rules that deny or ask, and without the built-in ones. They hold at once, trusted or
 * not, because they can only restrict. */
struct guard_policy *guard_policy_parse_project(str text, struct guard_problem **ret_problems);
struct guard_policy *guard_policy_ref(struct guard_policy *p);
void guard_policy_unref(struct guard_policy *p);
void guard_problems_free(struct guard_problem *p);
DEFINE_FREEP(struct guard_policy, guard_policy_unref);

size_t guard_policy_rules(const struct guard_policy *p, const struct guard_user_rule **ret);
bool guard_policy_disabled(const struct guard_policy *p, str rule);
bool guard_policy_observes(const struct guard_policy *p);

/* -- deciding --------------------------------------------------------------------------------- */

struct guard_context {
	str cwd, home;
	str root; /* of the project; STR_NONE: cwd */
	/* The real path of an existing path, or STR_NONE. NULL: paths are judged by their text
	 * alone. */
	str (*real_path)(void *arg, struct arena *a, str path);
	void *real_path_arg;
	const str *own; /* hookd's own files and directories, beside those everybody has */
	size_t nown;
	bool explain; /* keep every resolved command in the report */
};

struct guard_finding {
	struct guard_finding *next;
	str rule, reason;
	enum verdict_action action;
	uint32_t begin, end; /* of the simple command in the command line */
	str argv;            /* what was understood */
	bool observed;       /* by a rule that only watches: does not count */
	bool lowered;        /* a user's allow took it back */
	str override;        /* of a user's allow: the one rule it is about */
};

/* One resolved simple command, for `guard explain`. */
struct guard_step {
	struct guard_step *next;
	unsigned depth;
	str argv, note;
	uint32_t begin, end;
};

struct guard_report {
	struct guard_finding *findings, *last;
	struct guard_step *steps, *last_step;
	unsigned commands; /* resolved simple commands */
	unsigned cost;     /* steps of work */
	bool spent;        /* a budget ended the reading */
};

/* Lets every rule speak. An event whose payload was cut or did not parse cannot be judged, so a
 * tool call in it is never weaker than ask. policy NULL: built-in rules. report may be NULL. */
void guard_decide(const struct guard_policy *policy, const struct guard_context *c,
	const struct event *e, struct arena *a, struct verdict *v, struct guard_report *report);

/* What the event itself says of where it is: cwd, HOME. */
struct guard_context guard_context_of(const struct event *e);

/* One command line, as guard_decide() does for a shell tool. */
enum verdict_action guard_command(const struct guard_policy *policy, const struct guard_context *c,
	str command, struct arena *a, struct guard_report *report);

/* What a process sits down with to decide: the user's policy as it was then, the home, hookd's own paths. One
 * thread at a time. */
struct guard;

struct guard *guard_new(const struct paths *p);
void guard_free(struct guard *g);
DEFINE_FREEP(struct guard, guard_free);
/* What is wrong with the user's rules. */
const struct guard_problem *guard_problems(const struct guard *g);

/* guard_decide() with everything this machine adds: home, the project's root, links on disk, hookd's own paths. */
void guard_event(struct guard *g, const struct event *e, struct arena *a, struct verdict *v);

/* Gives a prompt with the words of the self-test some context, to prove that context reaches the
 * model. */
void guard_selftest_context(const struct event *e, struct arena *a, struct verdict *v);

#endif
