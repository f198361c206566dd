/* user: the rules of the user, compiled. For guard/ only. */
#ifndef HOOKD_GUARD_USER_H
#define HOOKD_GUARD_USER_H

#include "guard/internal.h"
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
	struct match **regexes; /* to be freed */
	size_t nregexes;
	bool has_path;
};

#endif
