/* The job `summarize`: a session that has ended, or is idle, gets a title and a summary. */
#include "engine/learn_internal.h"
#include "outbox/outbox.h"

enum { SETTLE_S = 5 };

/* A summary names what the turns have taught. */
static int has_turns_waiting(struct store *s, int64_t session)
{
	int64_t waits;

	return store_number(s, &waits, "SELECT 1 FROM jobs WHERE stream = ?1 AND state = 0 LIMIT 1", "i",
		jobs_stream(session, JOB_ON_WORKER));
}

int learn_session(struct lesson *l, struct store *s)
{
	int64_t session = 0, unsettled = 0;
	int got;

	if (!str_to_int(str_of(l->job.subject), &session))
		return 0;
	got = store_number(s, &unsettled,
		"SELECT unsettled FROM sessions WHERE key = ?1 AND native_id NOT GLOB 'hookd-doctor-*'", "i", session);
	if (got != 1)
		return MIN(got, 0);
	if (unsettled)
		return lesson_put_off(l, SETTLE_S * USEC_PER_SEC, "its session is being imported");
	got = has_turns_waiting(s, session);
	if (got != 0)
		return got < 0 ? got : lesson_put_off(l, USEC_PER_SEC, "its turns are looked at first");
	l->source = "rules";
	l->summary = arena_new(&l->arena, struct session_summary);
	got = memory_summarize(l->learner->extractor, s, session, &l->arena, l->summary);
	return got < 0 ? got : model_order_session(l, s, session);
}

/* -- results, of turns and of sessions --------------------------------------------------------- */

/* What a model said is not replaced by what rules say. */
static int store_class(struct store *s, const struct lesson *l)
{
	return store_do(s,
		"INSERT INTO turns(batch, session, class, source) VALUES (?1, ?2, ?3, ?4) ON CONFLICT(session, batch) "
		"DO UPDATE SET class = excluded.class, source = excluded.source WHERE source = 'rules' "
		"OR "
		"excluded.source = 'model'",
		"biss", l->batch.b, (size_t)ULID_BYTES, l->job.session, str_of(l->class->name), str_of(l->source));
}

/* The same, but of the same version: rules know of turns that the model has not seen. */
static int store_summary(struct store *s, const struct lesson *l)
{
	const struct session_summary *y = l->summary;

	return store_do(s,
		"INSERT INTO summaries(session, title, text, origin, source, version, at) SELECT key, ?2, ?3, ?4, ?5, "
		"?6, ?7 "
		"FROM sessions WHERE key = ?1 ON CONFLICT(session) DO UPDATE SET title = excluded.title, text = "
		"excluded.text, "
		"origin = coalesce(excluded.origin, origin), source = excluded.source, version = excluded.version, at "
		"= "
		"excluded.at WHERE source = 'rules' OR excluded.source = 'model' OR excluded.version > version",
		"issssii", l->job.session, y->title, y->text, y->origin ? str_of(y->origin) : STR_NONE,
		str_of(l->source), l->job.version, clock_wall_us());
}

static int order_job(struct store *s, const struct lesson *l)
{
	return jobs_add(s,
		&(struct job_order){ .kind = l->orders,
			.subject = str_of(l->job.subject),
			.session = l->job.session,
			.stream = l->orders == JOB_CONSULT ? jobs_stream(l->job.session, JOB_ON_MODEL) : 0,
			.version = l->job.version,
			.due_us = clock_wall_us() });
}

int lesson_store(struct store *s, const struct lesson *l)
{
	int r = evidence_store(s, l);

	if (r == 0 && l->class)
		r = store_class(s, l);
	if (r == 0 && l->summary && !str_empty(l->summary->title))
		r = store_summary(s, l);
	if (r == 0 && l->summary && !str_empty(l->summary->text) && l->learner->config.outbox)
		r = outbox_tell_summary(l->learner->config.outbox, s, l->job.session, str_of(l->source));
	if (r == 0 && l->orders != JOB_KIND_MAX)
		r = order_job(s, l);
	return r;
}
