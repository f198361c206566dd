/* Effects of time on projections. They are marks on top of the fold: a later event undoes them. */
#include "base/clock.h"
#include "capture/internal.h"
#include "jobs/jobs.h"

static const struct {
	const char *sql;
	int64_t after_us;
} tends[] = {
	/* A batch without recent activity was not answered, or its Stop was lost. */
	{ "UPDATE batches SET status = 'completed', closed_by = 'janitor', ended_at = last_at WHERE status = "
	  "'active' AND last_at < ?1",
		CAPTURE_BATCH_STUCK_S *USEC_PER_SEC },
	{ "UPDATE sessions SET batch = NULL WHERE batch IS NOT NULL AND (SELECT status FROM batches WHERE key "
	  "= sessions.batch) = 'completed' "
	  "AND last_at < ?1",
		CAPTURE_BATCH_STUCK_S *USEC_PER_SEC },
	/* An agent that was killed sends no SessionEnd. Nothing is deleted; lists omit nearly empty sessions. */
	{ "UPDATE sessions SET status = 'completed', closed_by = 'janitor', ended_at = last_at WHERE status = "
	  "'active' AND last_at < ?1",
		CAPTURE_SESSION_STALE_S *USEC_PER_SEC },
	{ "UPDATE sessions SET hidden = 1 WHERE hidden = 0 AND status = 'completed' AND prompts = 0 AND tools "
	  "= 0 AND events < 3 AND last_at < ?1",
		CAPTURE_SESSION_STALE_S *USEC_PER_SEC },
	/* A fork, or a clear whose end was not seen: the last session of the same agent and project that
	 * began before it. */
	{ "UPDATE sessions SET parent_reason = 'inferred', parent = (SELECT p.key FROM sessions p WHERE "
	  "p.agent = sessions.agent "
	  "  AND p.project IS sessions.project AND p.key <> sessions.key AND p.started_at < "
	  "sessions.started_at "
	  "  AND p.last_at > sessions.started_at - 86400000000 ORDER BY p.last_at DESC LIMIT 1) "
	  "WHERE parent IS NULL AND parent_reason IS NULL AND started_at < ?1 AND last_at > ?1 - 3600000000 "
	  "AND project IS NOT NULL "
	  "  AND (SELECT source FROM windows w WHERE w.session = sessions.key AND w.agent_id IS NULL ORDER BY "
	  "ord LIMIT 1) IN ('clear', 'fork')",
		10 * USEC_PER_SEC },
};

/* What is to be done about batches that end now. */
static int order_jobs(struct store *s, int64_t before_us)
{
	struct query *q;
	int64_t batch = 0, session, at;
	int got = 1, r = 0;

	while (got == 1 && r == 0) {
		q = store_ask(s,
			"SELECT key, session, last_at FROM batches WHERE status = 'active' AND last_at < ?1 AND key > "
			"?2 "
			"ORDER BY key LIMIT 1",
			"ii", before_us, batch);
		got = query_step(q);
		batch = query_int(q, 0);
		session = query_int(q, 1);
		at = query_int(q, 2);
		query_reset(q);
		if (got == 1)
			r = jobs_on_batch_end(s, batch, session, at);
	}
	return MIN(got, r) < 0 ? MIN(got, r) : 0;
}

int capture_complete_stale(struct store *s, int64_t now_us)
{
	int64_t changed = 0;
	int r = order_jobs(s, now_us - CAPTURE_BATCH_STUCK_S * USEC_PER_SEC);

	if (r < 0)
		return r;
	for (size_t i = 0; i < countof(tends); i++) {
		r = store_do(s, tends[i].sql, "i", now_us - tends[i].after_us);
		if (r < 0)
			return r;
		changed += store_changes(s);
	}
	return (int)changed;
}
