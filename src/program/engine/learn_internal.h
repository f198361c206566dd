/* What the files of learning share: learn.c runs jobs; learn_turn.c, learn_session.c and learn_model.c are what they
 * do. */
#ifndef HOOKD_ENGINE_LEARN_INTERNAL_H
#define HOOKD_ENGINE_LEARN_INTERNAL_H

#include <pthread.h>

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
	bool hopeless;            /* LESSON_FAILED: and it would fail again */
	int64_t cost;             /* tokens */
	/* What a model is to be asked, and what it answered. */
	struct model_question question; /* user: STR_NONE: nothing */
	str answer;
	enum job_kind orders; /* another job about the same, JOB_KIND_MAX: none */
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
	int64_t paused_until_us;
	unsigned failures; /* of the model, one after the other */
};

struct learner {
	struct learner_config config;
	pthread_mutex_t lock;
	struct extractor *extractor; /* under lock until made: a quarter of a megabyte that many daemons never need */
	int64_t boot;
	struct lane rules, model;
};

/* -- jobs, on a worker: 0, or -errno when it should be tried again ------------------------------ */

int learn_turn(struct lesson *l, struct store *s);
int learn_session(struct lesson *l, struct store *s);

/* An answer that cannot be used: -EBADMSG. It is asked once more, which may cost as much again, and then no more. */
int lesson_reject(struct lesson *l, const char *why);
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

/* -- learn_model.c ----------------------------------------------------------------------------- */

bool model_is_wanted(const struct learner *x);
/* Whether a model should be asked about this as well. */
void model_order_turn(struct lesson *l, const struct turn_row *row, const struct turn_sums *sums);
int model_order_session(struct lesson *l, struct store *s, int64_t session);

int model_ask_turn(struct lesson *l, struct store *s);
int model_read_turn(struct lesson *l, struct store *s, str answer);
int model_ask_session(struct lesson *l, struct store *s);
int model_read_session(struct lesson *l, struct store *s, str answer);

/* -- evidence.c -------------------------------------------------------------------------------- */

/* Looks whether what was added to a turn was of use; on a worker. */
int evidence_look(struct lesson *l, struct store *s, const struct extract_turn *turn, int64_t session, int64_t ord);
/* Writes down what was found; on the writer, in a transaction. */
int evidence_store(struct store *s, const struct lesson *l);

#endif
