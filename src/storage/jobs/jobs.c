/* The table of jobs. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/macro.h"
#include "jobs/jobs.h"

enum {
	IDLE_S = 300,       /* after the last turn of a session that does not end */
	KEPT_S = 7 * 86400, /* jobs that are over */
	TIDY_AT_ONCE = 256,
	ERROR_MAX = 300,
};

/* -- adding ------------------------------------------------------------------------------------ */

/* One that waits keeps its place in its stream. The same version again changes nothing, because refolding repeats it,
 * but that a job which waits may be wanted sooner. */
int jobs_add(struct store *s, const struct job_order *o)
{
	return store_do(s,
		"INSERT INTO jobs(kind, subject, stream, session, version, made_at, due_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(kind, subject) DO UPDATE SET state = 0, "
		"tries = iif(excluded.version > version, 0, tries), error = iif(excluded.version > version, NULL, "
		"error), "
		"version = excluded.version, due_at = excluded.due_at, session = excluded.session, stream = "
		"excluded.stream "
		"WHERE excluded.version > version OR (excluded.version = version AND state = 0 AND excluded.due_at < "
		"due_at)",
		"sskiiii", str_of(job_kinds[o->kind].name), o->subject, o->stream, o->session, o->version,
		clock_wall_us(), o->due_us);
}

static int add_summary(struct store *s, int64_t session, int64_t version, int64_t due_us)
{
	char subject[JOB_SUBJECT];

	snprintf(subject, sizeof subject, "%lld", (long long)session);
	return jobs_add(s,
		&(struct job_order){ .kind = JOB_SUMMARIZE,
			.subject = str_of(subject),
			.session = session,
			.version = version,
			.due_us = due_us });
}

/* The version grows with what a turn consists of: calls, then the answer. */
#define BATCH_VERSION "4194304 * b.activities + coalesce(length(b.response), 0)"

int jobs_on_batch_end(struct store *s, int64_t batch, int64_t session, int64_t at_us)
{
	struct query *q = store_ask(s,
		"SELECT ulid_text(e.id), " BATCH_VERSION
		", b.ord FROM batches b JOIN events e ON e.seq = b.key / 4 WHERE b.key = ?1",
		"i", batch);
	struct job_order o = { .kind = JOB_EXTRACT,
		.session = session,
		.stream = jobs_stream(session, JOB_ON_WORKER),
		.due_us = at_us };
	char subject[JOB_SUBJECT];
	int64_t ord = 0;
	int got = query_step(q), r;

	if (got == 1) {
		snprintf(subject, sizeof subject, STR_FMT, STR_ARG(query_str(q, 0)));
		o.subject = str_of(subject);
		o.version = query_int(q, 1);
		ord = query_int(q, 2);
	}
	query_reset(q);
	if (got != 1)
		return got;
	r = jobs_add(s, &o);
	return r < 0 ? r : add_summary(s, session, ord, at_us + IDLE_S * USEC_PER_SEC);
}

int jobs_on_session_end(struct store *s, int64_t session, int64_t at_us)
{
	int64_t ord = 0;
	int got = store_number(s, &ord, "SELECT ord FROM batches WHERE session = ?1 ORDER BY ord DESC LIMIT 1", "i",
		session);

	return got == 1 ? add_summary(s, session, ord, at_us) : got;
}

/* -- running ----------------------------------------------------------------------------------- */

static bool is_among(int64_t id, const int64_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void read_job(struct query *q, enum job_kind kind, struct job *ret)
{
	*ret = (struct job){ .id = query_int(q, 0),
		.kind = kind,
		.session = query_int(q, 2),
		.version = query_int(q, 3),
		.tries = (int)query_int(q, 4) };
	snprintf(ret->subject, sizeof ret->subject, STR_FMT, STR_ARG(query_str(q, 1)));
}

static int due_of_kind(struct store *s, enum job_kind kind, int64_t now_us, const int64_t *but, size_t nbut,
	struct job *ret, size_t max)
{
	struct query *q = store_ask(s,
		"SELECT id, subject, session, version, tries FROM jobs j WHERE state = 0 AND kind = ?1 AND due_at <= "
		"?2 "
		"AND (stream IS NULL OR NOT EXISTS (SELECT 1 FROM jobs e WHERE e.state = 0 AND e.stream = j.stream AND "
		"e.id < j.id)) ORDER BY due_at, id LIMIT ?3",
		"sii", str_of(job_kinds[kind].name), now_us, (int64_t)(max + nbut));
	size_t n = 0;
	int got = 0;

	while (n < max && (got = query_step(q)) == 1)
		if (!is_among(query_int(q, 0), but, nbut))
			read_job(q, kind, &ret[n++]);
	query_reset(q);
	return got < 0 ? got : (int)n;
}

int jobs_due(struct store *s, unsigned kinds, int64_t now_us, const int64_t *but, size_t nbut, struct job *ret,
	size_t max)
{
	size_t n = 0;
	int r = 0;

	for (enum job_kind kind = 0; kind < JOB_KIND_MAX && r >= 0 && n < max; kind++) {
		if (!(kinds & 1U << kind))
			continue;
		r = due_of_kind(s, kind, now_us, but, nbut, ret + n, max - n);
		n += r > 0 ? (size_t)r : 0;
	}
	return r < 0 ? r : (int)n;
}

int jobs_next_due(struct store *s, unsigned kinds, int64_t *ret_us)
{
	int r = 0;

	*ret_us = INT64_MAX;
	for (enum job_kind kind = 0; kind < JOB_KIND_MAX && r >= 0; kind++) {
		int64_t due = 0;

		if (!(kinds & 1U << kind))
			continue;
		r = store_number(s, &due,
			"SELECT due_at FROM jobs WHERE state = 0 AND kind = ?1 ORDER BY due_at LIMIT 1", "s",
			str_of(job_kinds[kind].name));
		if (r == 1)
			*ret_us = MIN(*ret_us, due);
	}
	return MIN(r, 0);
}

static int die(struct store *s, const struct job *j)
{
	return store_do(s,
		"UPDATE jobs SET state = 3, error = coalesce(error, 'hookd ended ' || tries || ' times while it ran') "
		"WHERE id = ?1",
		"i", j->id);
}

int jobs_begin(struct store *s, struct job *jobs, size_t *n, int64_t boot, int64_t now_us)
{
	size_t left = 0;
	int r = 0;

	for (size_t i = 0; i < *n && r == 0; i++) {
		const struct job *j = &jobs[i];

		if (j->tries >= job_kinds[j->kind].attempts) {
			r = die(s, j);
			continue;
		}
		r = store_do(s,
			"UPDATE jobs SET tries = tries + 1, boot = ?2, due_at = ?3 WHERE id = ?1 AND state = 0 AND "
			"version = ?4",
			"iiii", j->id, boot, now_us + job_wait_us(j->kind, j->tries + 1), j->version);
		if (r == 0 && store_changes(s)) /* else: reopened, or gone, since it was read */
			jobs[left++] = *j;
	}
	*n = left;
	return r;
}

/* One that was reopened while it ran waits again, with all its tries. */
int jobs_end_done(struct store *s, const struct job *j, int64_t cost)
{
	int r = store_do(s, "UPDATE jobs SET state = 2, error = NULL, due_at = ?3 WHERE id = ?1 AND version = ?2",
		"iii", j->id, j->version, clock_wall_us());

	return r < 0 || !cost ? r : store_do(s, "UPDATE jobs SET cost = cost + ?2 WHERE id = ?1", "ii", j->id, cost);
}

int jobs_end_failed(struct store *s, const struct job *j, const char *error, int64_t cost)
{
	return store_do(s,
		"UPDATE jobs SET error = ?3, cost = cost + ?4, state = CASE WHEN version = ?2 AND tries >= ?5 THEN 3 "
		"ELSE "
		"state END WHERE id = ?1",
		"iisii", j->id, j->version, str_cut_utf8(str_of(error), ERROR_MAX), cost,
		(int64_t)job_kinds[j->kind].attempts);
}

int jobs_end_dead(struct store *s, const struct job *j, const char *error, int64_t cost)
{
	return store_do(s,
		"UPDATE jobs SET error = ?3, cost = cost + ?4, state = iif(version = ?2, 3, state) WHERE id = ?1",
		"iisi", j->id, j->version, str_cut_utf8(str_of(error), ERROR_MAX), cost);
}

int jobs_give_back(struct store *s, const struct job *j, const char *why, int64_t due_us)
{
	return store_do(s,
		"UPDATE jobs SET tries = max(tries - 1, 0), due_at = ?3, error = ?4 WHERE id = ?1 AND version = ?2 AND "
		"state = 0",
		"iiis", j->id, j->version, due_us, why ? str_cut_utf8(str_of(why), ERROR_MAX) : STR_NONE);
}

/* -- people ------------------------------------------------------------------------------------ */

int jobs_retry(struct store *s, int64_t id, int64_t now_us)
{
	int r = store_do(s, "UPDATE deliveries SET dead_at = NULL WHERE job = ?1", "i", id);

	if (r == 0)
		r = store_do(s,
			"UPDATE jobs SET state = 0, tries = 0, due_at = ?2, error = NULL WHERE id = ?1 AND state <> 2",
			"ii", id, now_us);
	return r < 0 ? r : store_changes(s) > 0;
}

int64_t jobs_retry_all(struct store *s, int64_t now_us)
{
	int r = store_do(s, "UPDATE deliveries SET dead_at = NULL WHERE dead_at IS NOT NULL", "");

	if (r == 0)
		r = store_do(s, "UPDATE jobs SET state = 0, tries = 0, due_at = ?1, error = NULL WHERE state = 3", "i",
			now_us);
	return r < 0 ? r : store_changes(s);
}

/* The oldest first. Dead ones stay longer: somebody may want to know. */
int jobs_tidy(struct store *s, int64_t now_us)
{
	int n,
		r = store_do(s,
			"DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE kind <> ?4 ORDER BY id LIMIT ?2) AND "
			"((state = 2 "
			"AND due_at < ?1) OR (state = 3 AND due_at < ?1 - 3 * ?3))",
			"iiis", now_us - KEPT_S * USEC_PER_SEC, (int64_t)TIDY_AT_ONCE, KEPT_S * USEC_PER_SEC,
			str_of(job_kinds[JOB_DELIVER].name));

	n = (int)store_changes(s);
	if (r == 0)
		r = deliveries_tidy(s, now_us);
	return r < 0 ? r : n;
}

int jobs_drop_session(struct store *s, int64_t session, bool again)
{
	static const char *const statements[] = {
		"DELETE FROM turns WHERE session = ?1",
		"DELETE FROM summaries WHERE session = ?1",
		"DELETE FROM deliveries WHERE NOT ?2 AND job IN (SELECT id FROM jobs WHERE session = ?1)",
		"DELETE FROM jobs WHERE session = ?1 AND NOT ?2",
		"UPDATE jobs SET state = 0, tries = 0, due_at = 0 WHERE session = ?1 AND ?2 AND kind IN ('extract', "
		"'summarize')",
	};
	int r = 0;

	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = store_do(s, statements[i], "ii", session, (int64_t)again);
	return r;
}
