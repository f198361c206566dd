/* jobs: what is still to be done, what could not be done, and trying that again. */
#include <errno.h>

#include "api/ops.h"
#include "base/clock.h"
#include "jobs/jobs.h"
#include "outbox/outbox.h"

#define STATE_SQL "CASE j.state WHEN 0 THEN 'waiting' WHEN 2 THEN 'done' ELSE 'dead' END"

static int write_counts(struct op_call *call)
{
	static const struct op_column columns[] = { { "kind", 's' }, { "waiting", 'i' }, { "done", 'i' },
		{ "dead", 'i' }, { "tokens", 'i' }, { 0 } };

	return op_write_list(call, "kinds",
		store_ask(call->store,
			"SELECT kind, total(state = 0), total(state = 2), total(state = 3), total(cost) FROM jobs "
			"GROUP BY "
			"kind ORDER BY kind",
			""),
		columns);
}

/* Without a state: those that somebody may wonder about. */
int op_jobs(struct op_call *call)
{
	static const struct op_column columns[] = { { "id", 'i' }, { "kind", 's' }, { "state", 's' },
		{ "subject", 's' }, { "agent", 's' }, { "session", 's' }, { "tries", 'i' }, { "made_us", 'i' },
		{ "due_us", 'i' }, { "tokens", 'i' }, { "error", 's' }, { 0 } };
	int r;

	jw_object(call->w);
	r = op_write_list(call, "jobs",
		store_ask(call->store,
			"SELECT j.id, j.kind, " STATE_SQL
			", j.subject, s.agent, s.native_id, j.tries, j.made_at, j.due_at, "
			"j.cost, j.error FROM jobs j LEFT JOIN sessions s ON s.key = j.session WHERE (CASE WHEN ?1 IS "
			"NULL "
			"THEN j.state <> 2 ELSE " STATE_SQL
			" = ?1 END) AND (?2 IS NULL OR j.kind = ?2) AND (?3 IS NULL OR "
			"j.session = ?3) ORDER BY j.state DESC, j.id LIMIT ?4",
			"sski", op_text(call, "state"), op_text(call, "kind"), op_int(call, "session"),
			op_int(call, "limit")),
		columns);
	if (r == 0)
		r = write_counts(call);
	jw_end_object(call->w);
	return r;
}

int op_jobs_retry(struct op_call *call)
{
	int64_t id = op_int(call, "id"), retried;

	retried = op_has(call, "id") ? jobs_retry(call->store, id, clock_wall_us())
				     : jobs_retry_all(call->store, clock_wall_us());
	if (retried < 0)
		return (int)retried;
	if (!retried && op_has(call, "id"))
		return err_set(call->err, -ENOENT, "no job %lld is waiting or dead; list them with: hookd jobs",
			(long long)id);
	if (retried && call->ctx->has_jobs)
		loop_post(call->ctx->loop, call->ctx->has_jobs, call->ctx->stop_arg);
	if (outbox_recount(call->ctx->outbox, call->store) < 0)
		return err_set(call->err, -EIO, "the store cannot be read: %s", store_error(call->store));
	jw_object(call->w);
	jw_field_int(call->w, "retried", retried);
	jw_end_object(call->w);
	return 0;
}
