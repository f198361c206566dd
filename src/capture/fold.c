#include "capture/capture.h"

#include <errno.h>

/* The session's key; made on first sight. Order of arrival does not matter: times only widen, and
 * of several directories the earliest event's counts, of several transcripts the latest event's. */
static int fold_session(struct store *s, const struct record *r, int64_t *ret_key)
{
	struct query *q = store_query(s,
		"INSERT INTO sessions(agent, native_id, cwd, cwd_by, transcript, transcript_by, started_at, last_at) "
		"VALUES (?1, ?2, ?3, iif(?3 IS NULL, NULL, ?6), ?4, iif(?4 IS NULL, NULL, ?6), ?5, ?5) "
		"ON CONFLICT(agent, native_id) DO UPDATE SET "
		"  cwd = iif(cwd_by IS NULL OR excluded.cwd_by < cwd_by, excluded.cwd, cwd), "
		"  cwd_by = iif(cwd_by IS NULL OR excluded.cwd_by < cwd_by, excluded.cwd_by, cwd_by), "
		"  transcript = iif(transcript_by IS NULL OR excluded.transcript_by > transcript_by, "
		"    excluded.transcript, transcript), "
		"  transcript_by = iif(transcript_by IS NULL OR excluded.transcript_by > transcript_by, "
		"    excluded.transcript_by, transcript_by), "
		"  started_at = min(started_at, excluded.started_at), "
		"  last_at = max(last_at, excluded.last_at) "
		"RETURNING key");
	int got;

	query_bind_str(q, 1, r->agent);
	query_bind_str(q, 2, str_is_set(r->session) ? r->session : STR(""));
	query_bind_str(q, 3, r->cwd);
	query_bind_str(q, 4, r->transcript_path);
	query_bind_int(q, 5, r->at_us);
	query_bind_blob(q, 6, r->id.b, ULID_BYTES);
	got = query_step(q);
	if (got == 1) {
		*ret_key = query_int(q, 0);
		got = query_step(q);
	}
	query_reset(q);
	return got;
}

static int fold_event(struct store *s, const struct record *r, int64_t session)
{
	struct query *q = store_query(s,
		"INSERT INTO events(id, ord, at, session, kind, native, tool, tool_use_id, agent_id, marks, host, "
		"  payload) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");

	query_bind_blob(q, 1, r->id.b, ULID_BYTES);
	query_bind_int(q, 2, r->marks & EVENT_SPOOLED ? r->at_us : r->order_us);
	query_bind_int(q, 3, r->at_us);
	query_bind_int(q, 4, session);
	query_bind_str(q, 5, str_of(event_kinds[r->kind].name));
	query_bind_str(q, 6, str_is_set(r->native) ? r->native : STR(""));
	query_bind_str(q, 7, r->tool_name);
	query_bind_str(q, 8, r->tool_use_id);
	query_bind_str(q, 9, r->agent_id);
	query_bind_int(q, 10, r->marks);
	query_bind_str(q, 11, r->host);
	query_bind_str(q, 12, str_is_set(r->payload) ? r->payload : STR("{}"));
	return query_run(q);
}

/* What an event adds to its session's counters and state. */
static int count_in_session(struct store *s, const struct record *r, int64_t session)
{
	bool ended = r->kind == EVENT_SESSION_END;
	struct query *q = store_query(s,
		"UPDATE sessions SET events = events + 1, prompts = prompts + ?2, tools = tools + ?3, "
		"  ended_at = iif(?4, max(coalesce(ended_at, ?5), ?5), ended_at), "
		/* Ended if nothing came after the last end; anything later makes it active again. */
		"  status = iif(iif(?4, max(coalesce(ended_at, ?5), ?5), ended_at) >= last_at, 'completed', 'active') "
		"WHERE key = ?1");

	query_bind_int(q, 1, session);
	query_bind_int(q, 2, r->kind == EVENT_USER_PROMPT_SUBMIT);
	query_bind_int(q, 3, r->kind == EVENT_PRE_TOOL_USE);
	query_bind_int(q, 4, ended);
	query_bind_int(q, 5, r->at_us);
	return query_run(q);
}

/* One row per tool call: before and after meet in it, whichever comes first. Where an agent uses an id
 * twice, the row spans all of it, and a failure is not forgotten. */
static int fold_activity(struct store *s, const struct record *r, int64_t session)
{
	bool before = r->kind == EVENT_PRE_TOOL_USE;
	struct query *q;

	if (str_empty(r->tool_use_id) ||
		(!before && r->kind != EVENT_POST_TOOL_USE && r->kind != EVENT_POST_TOOL_USE_FAILURE))
		return 0;
	q = store_query(s,
		"INSERT INTO activities(session, tool_use_id, tool, class, state, started_at, ended_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
		"ON CONFLICT(session, tool_use_id) DO UPDATE SET "
		"  tool = coalesce(min(tool, excluded.tool), tool, excluded.tool), "
		"  class = CASE WHEN class = 'other' THEN excluded.class "
		"               WHEN excluded.class = 'other' THEN class ELSE min(class, excluded.class) END, "
		"  started_at = coalesce(min(started_at, excluded.started_at), started_at, excluded.started_at), "
		"  ended_at = coalesce(max(ended_at, excluded.ended_at), ended_at, excluded.ended_at), "
		"  state = CASE WHEN 'failed' IN (state, excluded.state) THEN 'failed' "
		"               WHEN 'done' IN (state, excluded.state) THEN 'done' ELSE 'started' END");
	query_bind_int(q, 1, session);
	query_bind_str(q, 2, r->tool_use_id);
	query_bind_str(q, 3, r->tool_name);
	query_bind_str(q, 4, str_of(tool_class_names[r->tool_class]));
	query_bind_str(q, 5, before ? STR("started") : r->kind == EVENT_POST_TOOL_USE ? STR("done") : STR("failed"));
	if (before)
		query_bind_int(q, 6, r->at_us);
	else
		query_bind_int(q, 7, r->at_us);
	return query_run(q);
}

static int is_known(struct store *s, const struct record *r)
{
	struct query *q = store_query(s, "SELECT 1 FROM events WHERE id = ?1");
	int got;

	query_bind_blob(q, 1, r->id.b, ULID_BYTES);
	got = query_step(q);
	query_reset(q);
	return got;
}

int capture_fold(struct store *s, const struct record *r)
{
	int64_t session = 0;
	int got = is_known(s, r);

	if (got != 0)
		return got < 0 ? got : 0;
	got = fold_session(s, r, &session);
	if (got == 0)
		got = fold_event(s, r, session);
	if (got == 0)
		got = count_in_session(s, r, session);
	if (got == 0)
		got = fold_activity(s, r, session);
	return got < 0 ? got : 1;
}
