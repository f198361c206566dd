/* remind: what an agent is reminded of while it works, without a model. Nothing of it speaks unless the user has
 * switched it on (option `remind`).
 *
 *   remind.c   the reminders, as a table: at which events each looks, and what it says
 *   tally.c    what is counted of a session for them
 *   check.c    which kind of files was changed, and what one would do about it before one says "done"
 *
 * DESIGN (docs/decisions/0024-reminders.md). A reminder is decided from a tally of the session that lives in memory, on
 * the loop: no disk, no store, a few comparisons for each event. It says something once for each occasion. At the end
 * of a turn it may ask the agent to go on; whoever calls sees to it that this happens once. A tally can be lost at any
 * time (a restart, many sessions): then a reminder stays away, nothing else.
 *
 * What is repeated to the agent comes from its own events: its list of tasks, its errors, names of its files. */
#ifndef HOOKD_REMIND_REMIND_H
#define HOOKD_REMIND_REMIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "event/event.h"

/* -- what there is ----------------------------------------------------------------------------- */

enum reminder {
	REMIND_ERRORS = 1 << 0,     /* the same thing has failed again and again */
	REMIND_LOOKING = 1 << 1,    /* many calls that changed nothing */
	REMIND_PLAN = 1 << 2,       /* the list of tasks is not kept, or not finished */
	REMIND_CHECKPOINT = 1 << 3, /* files were changed, and nobody has looked whether it works */
};

struct reminder_name {
	const char *name, *text;
	enum reminder bit;
};

extern const struct reminder_name reminder_names[]; /* ends with a row without a name */

/* A list of names, separated by blanks; what is not known is skipped. */
unsigned reminders_of(str names);

/* -- of a session ------------------------------------------------------------------------------ */

struct tally;

struct tally *tally_new(void);
void tally_free(struct tally *t);

/* Counts an event of the agent itself, not of a subagent. */
void tally_add(struct tally *t, const struct event *e);
/* A file that changed on the disk, whoever changed it: its path below the project, and when. */
void tally_changed(struct tally *t, str path, int64_t at_us);
/* When the turn began, wall clock; 0: not before our eyes. */
int64_t tally_began_us(const struct tally *t);

/* -- what is said ------------------------------------------------------------------------------ */

struct reminding {
	str text;   /* STR_NONE: nothing */
	bool go_on; /* at the end of a turn: the agent should go on with it */
	const char *name;
};

/* After tally_add(). `mask`: which are on; `listens`: the answer to this event can carry text for the model. What
 * cannot be said now is said at a later event. In the arena. */
void remind(struct tally *t, unsigned mask, const struct event *e, bool listens, struct arena *a,
	struct reminding *ret);

#endif
