/* guard: rules over what a tool is about to do.
 *
 * Rules are rows of a table; each looks at an event and may raise the verdict. They are static: no
 * daemon, no disk, no allocation beyond the arena, so `hookd offline` decides exactly as the daemon
 * does. Which rules are on is a policy; without one the built-in rows hold. */
#ifndef HOOKD_GUARD_GUARD_H
#define HOOKD_GUARD_GUARD_H

#include "base/arena.h"
#include "event/event.h"

struct guard_rule {
	const char *name; /* stable: appears in answers, audit and documentation */
	const char *text; /* one sentence for people */
	void (*judge)(const struct guard_rule *rule, const struct event *e, struct arena *a, struct verdict *v);
};

extern const struct guard_rule guard_rules[]; /* ends with a row without a name */

/* Lets every rule speak. An event whose payload was cut or did not parse cannot be judged, so a tool
 * call in it is never weaker than ask. */
void guard_decide(const struct event *e, struct arena *a, struct verdict *v);

/* Gives a prompt with the words of the self-test some context, to prove that context reaches the model. */
void guard_selftest_context(const struct event *e, struct arena *a, struct verdict *v);

#endif
