/* What the files of learning share: learn.c runs jobs, learn_turn.c and learn_session.c are what they do. */
#ifndef HOOKD_ENGINE_LEARN_INTERNAL_H
#define HOOKD_ENGINE_LEARN_INTERNAL_H

#include "base/clock.h"
#include "engine/learn.h"
#include "jobs/jobs.h"
#include "memory/memory.h"

enum { NOTES_MAX = 32, USED_MAX = 64, LESSON_ERROR = 200 };

/* One job on its way, and what it has made so far. */
struct lesson {
	struct learner *learner;
	struct arena arena;
	struct job job;
	enum { LESSON_NOT_RUN, LESSON_DONE, LESSON_LATER, LESSON_FAILED } outcome;
	char error[LESSON_ERROR]; /* LESSON_FAILED, LESSON_LATER: why */
	int64_t later_us;         /* LESSON_LATER: how much */
	int64_t cost;             /* tokens */
	/* Changes of memories: events of hookd's own, NOTES_MAX at most. */
	struct event *events;
	struct record *records;
	size_t n;
	/* Injections that were of use. */
	struct used {
		struct ulid event, item;
	} * used; /* USED_MAX at most */
	size_t nused;
	/* What the turn was, or the session. */
	struct ulid batch;
	const struct turn_class *class;
	struct session_summary *summary;
	const char *source;  /* of those: "rules", "model" */
	struct store *store; /* while it is looked at, and the project it is in */
	int64_t project;
};

/* Rounds of jobs that run in one place. */
struct lane {
	struct learner *learner;
	enum job_place place;
	struct loop_timer *timer;
	bool busy, again;
	struct lesson lessons[JOBS_AT_ONCE];
	size_t n;
	int64_t next_us; /* when the next job is due */
};

struct learner {
	struct learner_config config;
	struct extractor *extractor; /* a quarter of a megabyte that many daemons never need */
	int64_t boot;
	struct lane rules;
};

/* -- jobs, on a worker: 0, or -errno when it should be tried again ------------------------------ */

int learn_turn(struct lesson *l, struct store *s);
int learn_session(struct lesson *l, struct store *s);

/* It should be tried again without spending a try. */
int lesson_put_off(struct lesson *l, int64_t us, const char *why);
/* Adds an event about a memory; false: there is no room. */
bool lesson_add_event(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload);
/* Adds a memory, and what it does to older ones. A memory_sink. */
void lesson_add_note(const struct memory_note *n, void *lesson);

/* A finished turn by its batch's ULID. 1; 0: there is none to look at (any more, or yet); -errno. */
struct turn_row {
	struct extract_turn turn;
	int64_t session, ord, project, ended_us;
	bool active, unsettled, excluded;
	str source;
};
int lesson_read_turn(struct lesson *l, struct store *s, struct turn_row *ret);

/* What was made of it, on the writer, in the transaction that ends the job. */
int lesson_store(struct store *s, const struct lesson *l);

/* -- evidence.c -------------------------------------------------------------------------------- */

/* Looks whether what was added to a turn was of use; on a worker. */
int evidence_look(struct lesson *l, struct store *s, const struct extract_turn *turn, int64_t session, int64_t ord);
/* Writes down what was found; on the writer, in a transaction. */
int evidence_store(struct store *s, const struct lesson *l);

#endif
