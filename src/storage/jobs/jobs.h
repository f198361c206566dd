/* jobs: work that follows from what was captured, as a durable queue in the store.
 *
 *   kinds.c   what kinds of jobs there are: where each runs, how often it is tried, how long it waits
 *   jobs.c    the table: add, find what is due, begin, end, retry
 *   deliveries.c  jobs with a body that goes out, one sink and session after the other
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

#include "base/buf.h"
#include "base/str.h"
#include "base/ulid.h"
#include "store/store.h"

/* -- kinds ------------------------------------------------------------------------------------- */

enum job_kind {
	JOB_EXTRACT,   /* subject: the ULID of a batch */
	JOB_SUMMARIZE, /* subject: the key of a session */
	JOB_CONSULT,   /* a batch */
	JOB_RETELL,    /* a session */
	JOB_DELIVER,   /* "sink:event" */
	JOB_KIND_MAX,
};

enum job_place {
	JOB_ON_WORKER,
	JOB_ON_MODEL, /* a worker prepares a question, a model answers it, a worker reads the answer */
	JOB_ON_SINK,  /* threads of output/outbox: see below */
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

enum { JOB_SUBJECT = 64, JOBS_AT_ONCE = 16 };

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
 * anew; deliveries do not. */
int jobs_drop_session(struct store *s, int64_t session, bool again);

/* -- deliveries -------------------------------------------------------------------------------- */

/* What goes out is a job with a body that never changes. It is *begun* by a daemon before it runs, which costs no
 * transaction of its own for most: what is added to an empty stream is begun as it is added, what follows in its stream
 * when the one before it ends. A daemon that finds a delivery which another one had begun counts that as a try: it was
 * killed, and maybe by this; so a delivery that kills the daemon runs out of tries. The others are made again with the
 * same bytes.
 *
 * Sinks have numbers, under which they are remembered after they have left the configuration. */

enum { DELIVERY_TYPE = 40 };

struct delivery_order {
	int64_t sink, session;
	str subject; /* "sink:event" */
	str type;
	bool critical; /* nothing may take its place */
	int64_t at_us; /* of the event */
	bool late;     /* what waits of later events goes behind it */
	int64_t boot;  /* the daemon, if it may send it at once; or 0 */
	str body;
};

struct delivery {
	int64_t id, stream, at_us, due_us;
	int64_t boot; /* the daemon that has begun it; 0: none */
	int tries;
	char subject[JOB_SUBJECT], type[DELIVERY_TYPE];
};

/* The number of a sink; add: it gets one. 1: *ret; 0: it has none. */
int delivery_sink(struct store *s, str name, bool add, int64_t *ret);

/* but: those that are on their way. 1: added; 0: it is there already. */
int delivery_add(struct store *s, const struct delivery_order *o, int64_t now_us, const int64_t *but, size_t nbut);
/* Before it is added: takes away one of its stream that it can take the place of, because it is of the same type, no
 * critical one came after it, and it was never tried. 1: there was one. */
int delivery_coalesce(struct store *s, const struct delivery_order *o, const int64_t *but, size_t nbut);
/* Counts one that there was no room for. */
int delivery_count_dropped(struct store *s, int64_t sink);
int delivery_count(struct store *s, int64_t sink, int64_t *ret_waiting, int64_t *ret_dead);

/* The next delivery of a sink that may go out: the head of a stream, due, not among `but`. Streams take turns: the
 * search begins behind *stream, which becomes that of the one found. 1: found; 0: none, and *next_us is when the next
 * one is due (INT64_MAX: none waits). */
int delivery_next(struct store *s, int64_t sink, int64_t *stream, int64_t now_us, const int64_t *but, size_t nbut,
	struct delivery *ret, int64_t *next_us);
/* Its body, and type and time of the event; -ENOENT: it is gone. */
int delivery_body(struct store *s, struct delivery *d, struct buf *ret);

/* Before it runs, unless this daemon has begun it: 1: it may run; 0: it waits, or is dead now (*ret_died), because
 * daemons have ended while it ran. */
int delivery_begin(struct store *s, struct delivery *d, int64_t boot, int64_t now_us, bool *ret_died);
/* It was not tried after all. */
int delivery_give_back(struct store *s, const struct delivery *d);
/* None that this daemon has begun is on its way: it ends. */
int deliveries_give_back(struct store *s, int64_t boot);

/* How it ended; after a good end d->boot begins the next one of its stream. An error is a sentence for people; each
 * changes nothing if the delivery is gone meanwhile. failed: it is due again then, or dead if it has run out of tries:
 * 1. */
int delivery_end_done(struct store *s, const struct delivery *d, int64_t now_us);
int delivery_end_failed(struct store *s, const struct delivery *d, const char *error, int64_t due_us, int64_t now_us);
int delivery_end_dead(struct store *s, const struct delivery *d, const char *error, int64_t now_us);

/* For people: what was chosen. */
struct delivery_choice {
	int64_t id;         /* 0: any */
	int64_t sink;       /* 0: any */
	int64_t before_us;  /* of events before; 0: any */
	bool dead, waiting; /* in these states; none: both */
};

/* Dead ones wait again, waiting ones are due now. How many. */
int64_t deliveries_retry(struct store *s, const struct delivery_choice *c, int64_t now_us);
/* Deletes them. How many; count: only counts. */
int64_t deliveries_drop(struct store *s, const struct delivery_choice *c, bool count);
/* Those of a session whose event is gone, or whose body holds the text. */
int deliveries_drop_match(struct store *s, int64_t session, str match);

/* What was delivered a week ago goes, and what was given up a month ago; what has waited for a month is given up.
 * Some at a time. */
int deliveries_tidy(struct store *s, int64_t now_us);

#endif
