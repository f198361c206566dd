/* jobs: work that follows from what was captured, as a durable queue in the store.
 *
 *   kinds.c   what kinds of jobs there are: where each runs, how often it is tried, how long it waits
 *   jobs.c    the table: add, find what is due, begin, end, retry
 *
 * DESIGN (docs/decisions/0018-jobs.md). A job is added in the transaction that makes it necessary: the fold that closes
 * a batch. It is named by its kind and its subject, so adding it twice is adding it once; a higher version of the
 * subject opens it again. One daemon holds the store's lock, so who runs what is known in its memory only. What is
 * written before a run is that it is tried once more, by which daemon, and when it is due again if nobody ends it: a
 * job that kills the daemon waits longer each time and in the end is dead. The result of a job and its end are one
 * transaction.
 *
 *   add ─▶ waiting ─begin─▶ (tries + 1) ─end─▶ done ─higher version─▶ waiting
 *                              └─▶ failed: waits longer each time ─▶ dead ─retried by hand─▶ waiting
 *
 * Of a stream only the oldest waiting job runs, so that turns of a session are looked at in their order.
 *
 * Functions that write run on the writer thread, inside its transaction; the others take any store. 0 or -errno unless
 * it says otherwise. Nothing here runs anything: engine/work.c does. */
#ifndef HOOKD_JOBS_JOBS_H
#define HOOKD_JOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/ulid.h"
#include "store/store.h"

/* -- kinds ------------------------------------------------------------------------------------- */

enum job_kind {
	JOB_EXTRACT,   /* subject: the ULID of a batch */
	JOB_SUMMARIZE, /* subject: the key of a session */
	JOB_CONSULT,   /* a batch */
	JOB_RETELL,    /* a session */
	JOB_KIND_MAX,
};

enum job_place {
	JOB_ON_WORKER,
	JOB_ON_MODEL, /* a worker prepares a question, a model answers it, a worker reads the answer */
};

struct job_kind_info {
	const char *name;
	const char *text; /* one sentence for people */
	enum job_place place;
	int attempts;
	int wait_ms, wait_most_ms; /* after the first failure, doubled with each, up to the second number */
};

extern const struct job_kind_info job_kinds[JOB_KIND_MAX];

/* JOB_KIND_MAX: there is none of that name. */
enum job_kind job_kind_find(str name);
/* How long a job waits that has been tried this often. */
int64_t job_wait_us(enum job_kind kind, int tries);

/* -- adding ------------------------------------------------------------------------------------ */

enum job_state { JOB_WAITING = 0, JOB_DONE = 2, JOB_DEAD = 3 };

enum { JOB_SUBJECT = 32, JOBS_AT_ONCE = 16 };

struct job_order {
	enum job_kind kind;
	str subject;
	int64_t session; /* the job goes when that goes */
	int64_t stream;  /* 0: none */
	int64_t version;
	int64_t due_us; /* wall clock; a job that waits already is moved there */
};

int jobs_add(struct store *s, const struct job_order *o);

/* The jobs that the end of a turn makes, and the end of a session; at: when that was. A session that does not end is
 * summarized when nothing has happened in it for five minutes. */
int jobs_on_batch_end(struct store *s, int64_t batch, int64_t session, int64_t at_us);
int jobs_on_session_end(struct store *s, int64_t session, int64_t at_us);

/* Turns of a session that rules look at, and those that a model looks at: two streams, because a model may be away. */
static inline int64_t jobs_stream(int64_t session, enum job_place place)
{
	return 2 * session + (place == JOB_ON_MODEL);
}

/* -- running ----------------------------------------------------------------------------------- */

struct job {
	int64_t id;
	enum job_kind kind;
	char subject[JOB_SUBJECT];
	int64_t session, version;
	int tries; /* those before this one */
};

/* Jobs that are due and may run, the oldest first; kinds: bits of those wanted; but: ids that are running. Returns how
 * many, or -errno. */
int jobs_due(struct store *s, unsigned kinds, int64_t now_us, const int64_t *but, size_t nbut, struct job *ret,
	size_t max);
/* When the next one of these kinds is due; INT64_MAX: none waits. */
int jobs_next_due(struct store *s, unsigned kinds, int64_t *ret_us);

/* Before a run. Those that have run out of tries die here; *n is how many of the jobs are left to run. */
int jobs_begin(struct store *s, struct job *jobs, size_t *n, int64_t boot, int64_t now_us);

/* After it, beside what it made. cost: tokens. */
int jobs_end_done(struct store *s, const struct job *j, int64_t cost);
/* error: a sentence for people. What was spent counts. */
int jobs_end_failed(struct store *s, const struct job *j, const char *error, int64_t cost);
/* And it would fail again. */
int jobs_end_dead(struct store *s, const struct job *j, const char *error, int64_t cost);
/* It was not tried after all (no provider, no budget, not reached), and is due again at that time. */
int jobs_give_back(struct store *s, const struct job *j, const char *why, int64_t due_us);

/* -- people ------------------------------------------------------------------------------------ */

/* A dead job waits again, or one that waits is due now. 1: done; 0: there is none with that id that could. */
int jobs_retry(struct store *s, int64_t id, int64_t now_us);
/* The same for all dead ones; how many. */
int64_t jobs_retry_all(struct store *s, int64_t now_us);

/* What is long over goes, some at a time. How many rows, or -errno. */
int jobs_tidy(struct store *s, int64_t now_us);

/* Everything that was made of a session's turns, before its events change or go. again: they stay, so it is to be made
 * anew. */
int jobs_drop_session(struct store *s, int64_t session, bool again);

#endif
