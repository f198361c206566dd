#include "capture/capture.h"

#include <errno.h>

/* The session's key; made on first sight. Times only widen, so order of arrival does not matter. */
static int fold_session(struct store *s, const struct record *r, int64_t *ret_key)
{
	struct query *q = store_query(s,
		"INSERT INTO sessions(agent, native_id, cwd, transcript, started_at, last_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?5) "
		"ON CONFLICT(agent, native_id) DO UPDATE SET "
		"  cwd = coalesce(cwd, excluded.cwd), "
		"  transcript = coalesce(excluded.transcript, transcript), "
		"  started_at = min(started_at, excluded.started_at), "
		"  last_at = max(last_at, excluded.last_at) "
		"RETURNING key");
	int got;

	query_bind_str(q, 1, r->agent);
	query_bind_str(q, 2, str_is_set(r->session) ? r->session : STR(""));
	query_bind_str(q, 3, r->cwd);
	query_bind_str(q, 4, r->transcript_path);
	query_bind_int(q, 5, r->at_us);
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
		"INSERT INTO events(id, ord, at, session, kind, native, tool, tool_use_id, agent_id, marks, host, payload) "
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
		"  ended_at = CASE WHEN ?4 THEN max(coalesce(ended_at, 0), ?5) ELSE ended_at END, "
		/* Ended if nothing came after the last end; anything later makes it active again. */
		"  status = CASE WHEN max(coalesce(ended_at, 0), CASE WHEN ?4 THEN ?5 ELSE 0 END) >= last_at "
		"           THEN 'completed' ELSE 'active' END "
		"WHERE key = ?1");

	query_bind_int(q, 1, session);
	query_bind_int(q, 2, r->kind == EVENT_USER_PROMPT_SUBMIT);
	query_bind_int(q, 3, r->kind == EVENT_PRE_TOOL_USE);
	query_bind_int(q, 4, ended);
	query_bind_int(q, 5, r->at_us);
	return query_run(q);
}

/* One row per tool call: before and after meet in it, whichever comes first. */
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
		"  started_at = coalesce(started_at, excluded.started_at), "
		"  ended_at = coalesce(ended_at, excluded.ended_at), "
		"  state = CASE WHEN excluded.state = 'started' THEN state ELSE excluded.state END");
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
