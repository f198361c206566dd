/* What learn.c and evidence.c share. */
#ifndef HOOKD_ENGINE_LEARN_INTERNAL_H
#define HOOKD_ENGINE_LEARN_INTERNAL_H

#include "base/clock.h"
#include "engine/learn.h"
#include "memory/memory.h"

enum { TURNS_AT_ONCE = 16, NOTES_MAX = 8 * TURNS_AT_ONCE, USED_MAX = 256 };

struct learner {
	struct learner_config config;
	struct extractor *extractor;
	struct loop_timer *timer;
	bool busy, again;
};

/* One round. */
struct lesson {
	struct learner *learner;
	struct arena arena;
	struct event events[NOTES_MAX];
	struct record records[NOTES_MAX];
	size_t n;
	struct {
		int64_t session, ord;
	} seen[TURNS_AT_ONCE];
	size_t nseen;
	struct used {
		struct ulid event, item;
	} used[USED_MAX]; /* injections that were of use */
	size_t nused;
	struct store *store; /* while turns are looked at, and the project of the current one */
	int64_t project;
	int result;
};

/* Adds an event about a memory; the caller knows that there is room. */
void lesson_add_event(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload);

/* -- evidence.c -------------------------------------------------------------------------------- */

/* Looks whether what was added to a turn was of use; on a worker. */
int evidence_look(struct lesson *l, struct store *s, const struct extract_turn *turn, int64_t session, int64_t ord);
/* Writes down what was found; on the writer, in a transaction. */
int evidence_store(struct store *s, const struct lesson *l);

#endif
