/* show: one session as a story: windows, prompts, what was done for each, answers, plans, numbers. */
#include <errno.h>

#include "api/ops.h"
#include "index/index.h"

/* -- numbers ----------------------------------------------------------------------------------- */

/* Tool calls, and distinct files of those that worked. */
#define STATS_SELECT                                                                         \
	"SELECT count(*), "                                                                  \
	"  count(DISTINCT CASE WHEN state = 'done' AND change IS NOT NULL THEN file END), "  \
	"  count(DISTINCT CASE WHEN state = 'done' AND change = 'created' THEN file END), "  \
	"  count(DISTINCT CASE WHEN state = 'done' AND change = 'modified' THEN file END), " \
	"  total(state = 'failed'), total(state = 'denied') FROM activities WHERE kind = 'tool' AND "
#define TOOLS_SELECT "SELECT coalesce(tool, 'unknown'), count(*) FROM activities WHERE kind = 'tool' AND "
#define TOOLS_ORDER " GROUP BY 1 ORDER BY 2 DESC, 1"
#define MINUTES(table) \
	"SELECT printf('%.1f', max(0, coalesce(ended_at, last_at) - started_at) / 60e6) FROM " table " WHERE key = ?1"

static const struct op_column stats_columns[] = {
	{ "activity_count", 'i' },
	{ "files_touched", 'i' },
	{ "files_created", 'i' },
	{ "files_modified", 'i' },
	{ "failed", 'i' },
	{ "denied", 'i' },
	{ 0 },
};

static const struct stats_of {
	const char *numbers, *tools, *minutes;
} stats_of_batch = { STATS_SELECT "batch = ?1", TOOLS_SELECT "batch = ?1" TOOLS_ORDER, MINUTES("batches") },
  stats_of_session = { STATS_SELECT "session = ?1", TOOLS_SELECT "session = ?1" TOOLS_ORDER, MINUTES("sessions") };

static int write_stats(struct op_call *call, const char *name, const struct stats_of *of, int64_t key)
{
	struct json_writer *w = call->w;
	struct query *q = store_ask(call->store, of->numbers, "i", key);
	int got = query_step(q);

	jw_key(w, name);
	jw_object(w);
	if (got == 1)
		op_write_columns(w, q, stats_columns);
	query_reset(q);
	jw_key(w, "tool_counts");
	jw_object(w);
	q = store_ask(call->store, of->tools, "i", key);
	while (got >= 0 && (got = query_step(q)) == 1) {
		jw_key_str(w, query_str(q, 0));
		jw_int(w, query_int(q, 1));
	}
	query_reset(q);
	jw_end_object(w);
	q = store_ask(call->store, of->minutes, "i", key);
	if (got >= 0 && (got = query_step(q)) == 1) {
		jw_key(w, "duration_minutes");
		jw_raw(w, query_str(q, 0));
	}
	query_reset(q);
	jw_end_object(w);
	return got < 0 ? got : 0;
}

/* -- parts of the story ------------------------------------------------------------------------ */

#define ACTIVITY_SELECT                                                                                            \
	"SELECT coalesce(a.started_at, a.ended_at, a.ord), a.kind, a.tool, "                                       \
	"  CASE WHEN a.kind = 'tool' THEN a.class END, CASE WHEN a.kind = 'tool' THEN a.same END, a.agent_id, "    \
	"  a.window, a.state, " OP_VERDICT_SELECT ", a.file, a.change, a.duration_ms, a.error, a.output, a.input " \
	"FROM activities a " OP_JOIN_VERDICT "WHERE "

static const struct op_column activity_columns[] = {
	{ "at_us", 'i' },
	{ "kind", 's' },
	{ "tool", 's' },
	{ "class", 's' },
	{ "tool_use_id", 's' },
	{ "agent_id", 's' },
	{ "window", 'i' },
	{ "state", 's' },
	OP_VERDICT_COLUMNS,
	{ "file", 's' },
	{ "change", 's' },
	{ "duration_ms", 'i' },
	{ "error", 's' },
	{ "output", 's' },
	{ "input", 'j' },
	{ 0 },
};

/* As many as fit; how many did not is said beside them. */
static int write_activities(struct op_call *call, const char *key, struct query *q)
{
	struct json_writer *w = call->w;
	int64_t left_off = 0;
	int got;

	jw_key(w, key);
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		/* Twice as much as ends a page: a single prompt may well have had a thousand calls. */
		if (w->b->len > 2 * OP_ENOUGH) {
			left_off++;
			continue;
		}
		jw_object(w);
		op_write_columns(w, q, activity_columns);
		jw_end_object(w);
	}
	query_reset(q);
	jw_end_array(w);
	if (left_off)
		jw_field_int(w, "left_off", left_off);
	return got;
}

static const struct op_column batch_columns[] = {
	{ "key", 'i' },
	{ "number", 'i' },
	{ "window", 'i' },
	{ "source", 's' },
	{ "prompt", 's' },
	{ "prompt_id", 's' },
	{ "length", 'i' },
	{ "mode", 's' },
	{ "attachments", 'i' },
	{ "private", 'b' },
	{ "status", 's' },
	{ "closed_by", 's' },
	{ "started_us", 'i' },
	{ "last_us", 'i' },
	{ "ended_us", 'i' },
	{ "response", 's' },
	{ "late", 'b' },
	{ "class", 's' },
	{ 0 },
};

/* From the skip-th on; *ret_next is where to go on, or 0. */
static int write_batches(struct op_call *call, int64_t session, int64_t skip, int64_t limit, int64_t *ret_next)
{
	struct json_writer *w = call->w;
	struct query *q = store_ask(call->store,
		"SELECT key, number, window, source, prompt, prompt_id, length, mode, attachments, private, "
		"status, closed_by, "
		"  started_at, last_at, ended_at, response, late, (SELECT class FROM turns WHERE "
		"session = batches.session AND batch = (SELECT id FROM events WHERE seq = batches.key / 4)) FROM "
		"batches WHERE session = ?1 ORDER BY ord, key LIMIT ?3 "
		"OFFSET ?2",
		"iii", session, skip, limit + 1);
	int64_t n = 0;
	int r = 0, got;

	jw_key(w, "batches");
	jw_array(w);
	while (r == 0 && (got = query_step(q)) != 0) {
		if (got < 0) {
			r = got;
			break;
		}
		if (n == limit || (n && op_is_enough(call))) {
			*ret_next = skip + n;
			break;
		}
		jw_object(w);
		op_write_columns(w, q, batch_columns);
		r = write_stats(call, "stats", &stats_of_batch, query_int(q, 0));
		if (r == 0)
			r = write_activities(call, "activities",
				store_ask(call->store, ACTIVITY_SELECT "a.batch = ?1 ORDER BY a.ord, a.key", "i",
					query_int(q, 0)));
		jw_end_object(w);
		n++;
	}
	query_reset(q);
	jw_end_array(w);
	return r;
}

static const struct op_column window_columns[] = {
	{ "key", 'i' },
	{ "source", 's' },
	{ "agent_id", 's' },
	{ "agent_type", 's' },
	{ "parent", 'i' },
	{ "previous", 'i' },
	{ "model", 's' },
	{ "started_us", 'i' },
	{ "ended_us", 'i' },
	{ "end_reason", 's' },
	{ "message", 's' },
	{ 0 },
};

static const struct op_column child_columns[] = { { "key", 'i' }, { "agent", 's' }, { "id", 's' }, { "title", 's' },
	{ "reason", 's' }, { 0 } };

static const struct op_column file_columns[] = { { "file", 's' }, { "created", 'b' }, { "modified", 'i' },
	{ "read", 'i' }, { 0 } };

static const struct op_column plan_columns[] = {
	{ "key", 'i' },
	{ "path", 's' },
	{ "title", 's' },
	{ "created_us", 'i' },
	{ "updated_us", 'i' },
	{ "versions", 'i' },
	{ "source", 's' },
	{ "content", 's' },
	{ 0 },
};

/* What frames the story; only with its first page. */
static int write_frame(struct op_call *call, int64_t session)
{
	static const struct {
		const char *key, *sql;
		const struct op_column *columns;
	} lists[] = {
		{ "windows",
			"SELECT key, source, agent_id, agent_type, parent, previous, model, started_at, "
			"ended_at, end_reason, "
			"  substr(message, 1, 2000) FROM windows WHERE session = ?1 ORDER BY ord, key LIMIT "
			"2000",
			window_columns },
		{ "children",
			"SELECT s.key, s.agent, s.native_id, coalesce(y.title, s.title), s.parent_reason FROM sessions "
			"s LEFT JOIN summaries y ON y.session = s.key WHERE s.key IN (SELECT key FROM sessions WHERE "
			"parent = ?1 AND key NOT IN (SELECT session FROM accepted) UNION SELECT session FROM accepted "
			"WHERE parent = ?1) ORDER BY s.started_at LIMIT 100",
			child_columns },
		{ "files",
			"SELECT file, max(change = 'created'), total(change = 'modified'), total(change = "
			"'read') FROM activities "
			"WHERE session = ?1 AND kind = 'tool' AND state = 'done' AND change IS NOT NULL AND "
			"file IS NOT NULL "
			"GROUP BY file ORDER BY 2 DESC, 3 DESC, 1 LIMIT 2000",
			file_columns },
		{ "plans",
			"SELECT p.key, p.path, p.title, p.created_at, p.updated_at, v.version, v.source, "
			"v.content FROM plans p "
			"JOIN plan_versions v ON v.plan = p.key AND v.version = (SELECT max(version) FROM "
			"plan_versions WHERE plan = p.key) "
			"WHERE p.session = ?1 ORDER BY p.ord LIMIT 20",
			plan_columns },
	};
	int r = 0;

	for (size_t i = 0; i < countof(lists) && r == 0; i++)
		r = op_write_list(call, lists[i].key, store_ask(call->store, lists[i].sql, "i", session),
			lists[i].columns);
	if (r == 0)
		r = write_stats(call, "stats", &stats_of_session, session);
	return r;
}

int op_show(struct op_call *call)
{
	struct json_writer *w = call->w;
	int64_t session = op_int(call, "session"), next = 0, skip = op_int(call, "skip");
	int64_t limit = op_int(call, "limit");
	int r;

	jw_object(w);
	jw_key(w, "session");
	r = op_write_session(call, session);
	if (r == 0 && skip == 0)
		r = write_frame(call, session);
	if (r == 0)
		r = write_batches(call, session, skip, limit, &next);
	/* What happened between prompts. */
	if (r == 0 && skip == 0)
		r = write_activities(call, "outside",
			store_ask(call->store,
				ACTIVITY_SELECT "a.session = ?1 AND a.batch IS NULL ORDER BY a.ord, a.key", "i",
				session));
	if (next)
		jw_field_int(w, "next", next);
	jw_end_object(w);
	return r;
}

/* -- sums -------------------------------------------------------------------------------------- */

static int write_turn_sums(struct op_call *call, int64_t session)
{
	char text[ULID_TEXT + 1];
	struct ulid id = { { 0 } };
	int64_t batch = 0;
	struct query *q = store_ask(call->store,
		"SELECT s.last_batch, e.id FROM sessions s LEFT JOIN events e ON e.seq = s.last_batch / 4 "
		"WHERE s.key "
		"= ?1",
		"i", session);
	int got = query_step(q);

	if (got == 1) {
		batch = query_int(q, 0);
		if (query_str(q, 1).n == ULID_BYTES)
			memcpy(id.b, query_str(q, 1).p, ULID_BYTES);
	}
	query_reset(q);
	if (got < 0 || !batch)
		return got < 0 ? got : 0;
	ulid_format(&id, text);
	jw_field_str(call->w, "prompt_batch_id", str_of(text));
	return write_stats(call, "prompt_batch_stats", &stats_of_batch, batch);
}

static int write_session_sums(struct op_call *call, int64_t session)
{
	static const struct op_column columns[] = {
		{ "tool_calls", 'i' },
		{ "files_modified", 'i' },
		{ "files_created", 'i' },
		{ 0 },
	};
	struct query *q = store_ask(call->store,
		"SELECT count(*), count(DISTINCT CASE WHEN state = 'done' AND change = 'modified' THEN file END), "
		"  count(DISTINCT CASE WHEN state = 'done' AND change = 'created' THEN file END) "
		"FROM activities WHERE kind = 'tool' AND session = ?1",
		"i", session);
	int got = query_step(q);
	int64_t learned = 0;

	if (got == 1)
		op_write_columns(call->w, q, columns);
	query_reset(q);
	if (got >= 0)
		got = store_number(call->store, &learned, "SELECT count(*) FROM memories WHERE session = ?1", "i",
			session);
	jw_field_int(call->w, "observations_captured", learned);
	if (got >= 0) {
		q = store_ask(call->store, MINUTES("sessions"), "i", session);
		got = query_step(q);
		if (got == 1) {
			jw_key(call->w, "duration_minutes");
			jw_raw(call->w, query_str(q, 0));
		}
		query_reset(q);
	}
	return got < 0 ? got : write_stats(call, "activity_stats", &stats_of_session, session);
}

/* What is there when a session or a prompt begins. */
static int write_start_sums(struct op_call *call, int64_t session)
{
	static const struct op_column columns[] = { { "prompts", 'i' }, { "memories", 'i' }, { 0 } };
	struct code_status code = { 0 };
	struct query *q = store_ask(call->store,
		"SELECT s.prompts, (SELECT count(*) FROM memories m WHERE m.status = 'active' AND NOT m.muted AND "
		"m.project IN (0, (SELECT coalesce(p.parent, p.key) FROM projects p WHERE p.key = s.project))), "
		"(SELECT path FROM projects WHERE key = s.project) FROM sessions s WHERE s.key = ?1",
		"i", session);
	int got = query_step(q);

	if (got == 1) {
		op_write_columns(call->w, q, columns);
		if (code_status(call->ctx->code, arena_cstr(call->arena, query_str(q, 2)), &code) == 0)
			jw_field_int(call->w, "pieces", (int64_t)code.chunks);
	}
	query_reset(q);
	return MIN(got, 0);
}

/* What the last turn of a session, or all of it, came to. */
int op_sums(struct op_call *call)
{
	int64_t session = op_int(call, "session");
	int r;

	jw_object(call->w);
	if (op_bool(call, "start"))
		r = write_start_sums(call, session);
	else
		r = op_bool(call, "turn") ? write_turn_sums(call, session) : write_session_sums(call, session);
	jw_end_object(call->w);
	return r;
}
