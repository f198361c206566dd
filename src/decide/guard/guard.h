/* guard: rules over what a tool is about to do.
 *
 * DESIGN. A shell command is read as the shell reads it, resolved as far as constants go, and judged by
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
	bool mild;           /* what it asks about is done, and said, where nobody can be asked */
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
 * problems, owned by the caller, say what was ignored. */
struct guard_policy *guard_policy_load(const char *path, struct guard_problem **ret_problems);
/* The same, but a file that is there and cannot be read or is not JSON gives no policy: -errno, err says why. */
int guard_policy_read(const char *path, struct guard_policy **ret, struct guard_problem **ret_problems,
	struct err *err);
struct guard_policy *guard_policy_parse(str text, struct guard_problem **ret_problems);
/* Of a project's file: only its rules that deny or ask, and without the built-in ones. They apply at once, trusted or
 * not, because they can only restrict. */
struct guard_policy *guard_policy_parse_project(str text, bool trusted, struct guard_problem **ret_problems);
struct guard_policy *guard_policy_ref(struct guard_policy *p);
void guard_policy_unref(struct guard_policy *p);
void guard_problems_free(struct guard_problem *p);
DEFINE_FREEP(struct guard_policy, guard_policy_unref);

size_t guard_policy_rules(const struct guard_policy *p, const struct guard_user_rule **ret);
bool guard_policy_disabled(const struct guard_policy *p, str rule);
bool guard_policy_observes(const struct guard_policy *p, str rule); /* its findings are reported, not enforced */
/* Both were read from the same words, comments and spaces aside. */
bool guard_policy_same(const struct guard_policy *a, const struct guard_policy *b);
/* What it was read from: a JSON object, which makes the same policy again as the member `guard` of a file. Lives as
 * long as the policy. */
str guard_policy_source(const struct guard_policy *p);

/* Switches one rule in the text of the user's file, keeping comments and formatting; the changed text is appended to
 * ret. -ENOENT: there is no such rule that can be switched, err suggests one; -EBADMSG: the text is not JSON. */
enum guard_switch { GUARD_ENABLE, GUARD_DISABLE, GUARD_OBSERVE, GUARD_ENFORCE, GUARD_SWITCH_MAX };
extern const char *const guard_switch_names[GUARD_SWITCH_MAX];
int guard_edit(str text, enum guard_switch how, str rule, struct buf *ret, struct err *err);

/* -- deciding --------------------------------------------------------------------------------- */

struct guard_context {
	str cwd, home;
	str root; /* of the project; STR_NONE: cwd */
	/* The real path of an existing path. -ENOENT: nothing is there; -EAGAIN: the disk may not be read now, and
	 * the whole judgement ends with that; -ETIMEDOUT: it does not answer, so that changing what is there is asked
	 * about; -EDQUOT: no more paths are looked up, which makes it at least ask. NULL: paths are judged by their
	 * text alone. */
	int (*real_path)(void *arg, struct arena *a, str path, str *ret);
	void *real_path_arg;
	/* The text of the script at an absolute path, if it has changed since the session began: it is judged when it
	 * is run. -ENOENT: it has not, or is no script; -EAGAIN as above; -EFBIG: there is more to read than can be
	 * judged. NULL: scripts on the disk are not read. */
	int (*script)(void *arg, struct arena *a, str path, str *ret);
	void *script_arg;
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
	unsigned command;    /* number of the resolved command; 0: about the call as a whole */
	bool observed;       /* by a rule that is only observed: does not count */
	bool lowered;        /* cancelled by a user's allow */
	bool mild;           /* a question of a mild rule */
	str override;        /* of a user's allow: the one rule it is about */
};

/* One resolved simple command, for `guard explain`. */
struct guard_step {
	struct guard_step *next;
	unsigned depth;
	str argv, note;
	uint32_t begin, end;
};

/* Findings are only ever added: a later one never changes what an earlier one says. */
struct guard_report {
	struct guard_finding *findings, *last;
	struct guard_step *steps, *last_step;
	unsigned commands;             /* resolved simple commands */
	unsigned cost;                 /* steps of work */
	bool spent;                    /* a budget ended the reading */
	bool full[VERDICT_ACTION_MAX]; /* a finding of this strength did not fit: said once */
};

/* Applies every rule. An event whose payload was cut or did not parse cannot be judged, so the verdict on a tool call
 * in it is at least ask. policy NULL: built-in rules. report may be NULL. 0, or -EAGAIN when real_path returned it:
 * then nothing was added to v. */
int guard_decide(const struct guard_policy *policy, const struct guard_context *c, const struct event *e,
	struct arena *a, struct verdict *v, struct guard_report *report);

/* What the event itself says of where it is: cwd, HOME. */
struct guard_context guard_context_of(const struct event *e);

/* One command line, as guard_decide() does for a shell tool. */
enum verdict_action guard_command(const struct guard_policy *policy, const struct guard_context *c, str command,
	struct arena *a, struct guard_report *report);

/* -- what a command would run ------------------------------------------------------------------- */

/* The same resolution for whoever wants to know which programs and files a command line is about. Nothing is judged. In
 * fields, bytes below 32 may stand for what is only known when it runs: see guard_is_known(). */
struct guard_word {
	uint32_t begin, end; /* in the text */
	size_t index;        /* among the words of its command; 0: the program, or what a redirection names */
	const str *fields;   /* what it becomes */
	size_t n;
	str cwd;  /* where; may not be known */
	str file; /* as in guard_command */
};

struct guard_command {
	const str *v; /* behind env, timeout, sh -c and the like */
	size_t n;
	str name, cwd;
	str in; /* what it reads from a pipe or a here-document; STR_NONE: nothing of the command's own */
	struct guard_loader {
		str name, value;
	} loaders[8]; /* variables that are set for it and decide which code is loaded; an older value last */
	size_t nloaders;
	bool nested; /* it stands in a text within the text, or is made by another program */
	str file;    /* the script it stands in, as it is known there; STR_NONE: the text itself */
};

enum guard_start { GUARD_EXECUTED, GUARD_BY_SHELL, GUARD_SOURCED };

/* A shell script that is run or sourced, for the guard to read on in it. */
struct guard_script {
	str text;
	str path; /* what $0 and BASH_SOURCE are in it */
};

struct guard_watcher {
	void (*word)(const struct guard_word *w, void *arg);
	void (*command)(const struct guard_command *c, void *arg);
	/* NULL, or: gives the script at an absolute path, which is then read as if it stood in the place of the
	 * command. It runs with the arguments and variables that the command gives it. */
	bool (*script)(str path, enum guard_start how, struct guard_script *ret, void *arg);
	void *arg;
	/* NULL, or: a file that a redirection writes; may not be known. */
	void (*writes)(str path, void *arg);
};

/* Each word of the text (not of texts in it), each resolved command, maybe several times. 0; -EBADMSG: it is not the
 * shell's grammar; -E2BIG: it was not read to its end. Asks no disk. */
int guard_watch(const struct guard_context *c, str command, struct arena *a, const struct guard_watcher *w,
	struct err *err);
int guard_watch_argv(const struct guard_context *c, str *v, size_t n, struct arena *a, const struct guard_watcher *w,
	struct err *err);
/* The commands that a program of an interpreter runs, as far as its calls say so. One whose program cannot be told is a
 * command of an unknown word. */
int guard_watch_code(const struct guard_context *c, str language, str code, struct arena *a,
	const struct guard_watcher *w, struct err *err);
bool guard_is_known(str field);    /* nothing in it is left to the run */
bool guard_has_pattern(str field); /* a live pattern for file names */
bool guard_is_loader_variable(str name);

/* -- a process that decides ------------------------------------------------------------------- */

/* What a process needs to decide: the user's policy, the home, hookd's own paths, and what is known of the directories
 * agents work in. Any number of threads may use it at once: a policy is immutable, counted and replaced as a whole, and
 * no lock is held while a disk is asked, so that a thread which is stuck in a dead mount keeps nobody waiting. */
struct guard;

struct guard *guard_new(const struct paths *p);
/* For a process that decides in the place of a daemon: what the daemon had in force holds, not what the file says. */
struct guard *guard_new_offline(const struct paths *p);
/* The same for another home than this process's, with a policy that is in effect elsewhere; either may be NULL. */
struct guard *guard_new_with(const struct paths *p, const char *home, struct guard_policy *policy);
void guard_free(struct guard *g);
DEFINE_FREEP(struct guard, guard_free);

/* guard_decide() with everything this machine adds: home, the project's root and rules, links on disk, hookd's own
 * paths. 0, or -EAGAIN: this needs the disk (a link to follow, a directory that has not been seen before) and
 * may_use_disk is false; then nothing was added to v. With may_use_disk it may block for as long as a mount does, and
 * the answer is always 0. */
int guard_event(struct guard *g, const struct event *e, struct arena *a, struct verdict *v, bool may_use_disk);

/* When the disk does not answer: the same by the text, by what is known of the directory and what the kernel has
 * cached. Deleting or writing where a link may lead is then asked about, and so is everything in an unknown project.
 */
void guard_event_by_text(struct guard *g, const struct event *e, struct arena *a, struct verdict *v);

/* The user's policy as it is applied now; the caller's to unref. */
struct guard_policy *guard_in_force(struct guard *g);
/* What was wrong with the rules when they were read; the caller's to free. */
struct guard_problem *guard_problems(struct guard *g);

/* Every project is looked at afresh at its next event: trust in one may have changed. */
void guard_forget_projects(struct guard *g);

/* Both read the user's file and may block. */

/* Applies the file as it is now, and looks at every project afresh. -errno when the file is there and cannot be read or
 * is not JSON: the current policy stays in effect, and err (which may be NULL) says why. */
int guard_reload(struct guard *g, struct err *err);
/* 1: the file differs from the policy in effect; 0: it does not; -errno: it cannot be read. */
int guard_differs(struct guard *g);

/* Gives a prompt with the words of the self-test some context, to prove that context reaches the
 * model. */
void guard_selftest_context(const struct event *e, struct arena *a, struct verdict *v);

#endif
