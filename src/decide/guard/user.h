/* user: the rules of the user, compiled. For guard/ only. */
#ifndef HOOKD_GUARD_USER_H
#define HOOKD_GUARD_USER_H

#include "guard/descriptor.h"
#include "match/match.h"

enum cond_kind { COND_TOOL, COND_CLASS, COND_PROGRAM, COND_ARGV, COND_PATH, COND_REGEX, COND_ANY, COND_ALL, COND_NOT };

/* One condition. Those of an object hold together; any, all and not have others in them. */
struct cond {
	struct cond *next;
	enum cond_kind kind;
	struct fields words; /* tool, class, program, argv, path: one of these */
	struct match *regex;
	struct cond *inside; /* ANY: a list of objects, each an ALL */
};

struct user_rule {
	struct cond *when;
	bool needs_command; /* is about programs or arguments */
};

/* What is read at the moment. */
struct reading {
	struct guard_policy *p;
	str text;
	struct guard_problem **tail;
	unsigned problems;
	struct err ignored; /* problems beyond the last that is kept */
};

/* Where a problem is to be written. */
struct err *policy_problem(struct reading *r);
/* programs of `guard` (user_programs.c). */
void read_user_programs(struct reading *r, const struct json *list);

struct guard_policy {
	unsigned refs;
	str source; /* what it was read from, as JSON without comments; "" for nothing */
	struct arena arena;
	bool observe;
	bool project; /* a project's: only adds rules that deny or ask; the built-in ones are the user's policy's */
	bool trusted; /* a project's: somebody has read it, so its words may reach an agent */
	struct fields disabled, observed; /* names of rules */
	struct guard_user_rule *listed;   /* what others see; the same order */
	struct user_rule *rules;
	size_t nrules;
	struct descriptor *programs; /* what the user knows of programs, beside data/programs */
	size_t nprograms;
	struct match **regexes; /* to be freed */
	size_t nregexes;
	bool has_path;
};

#endif
