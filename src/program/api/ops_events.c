/* events and activities: what happened, one by one. */
#include <errno.h>
#include <stdio.h>

#include "api/ops.h"
#include "base/clock.h"
#include "engine/output.h"

/* -- events ------------------------------------------------------------------------------------ */

/* hookd's answer to this event, if it was more than to continue. */
static void write_verdict(struct op_call *call, str id, int64_t session)
{
	static const struct op_column columns[] = { OP_VERDICT_COLUMNS, { 0 } };
	struct query *d = store_ask(call->store,
		"SELECT " OP_VERDICT_SELECT " FROM decisions d WHERE d.session = ?1 AND d.event = ?2 AND d.prevailed "
		"AND d.decision <> 'allow' ORDER BY d.decision = 'deny' DESC, d.key LIMIT 1",
		"is", session, id);

	if (query_step(d) == 1) {
		jw_key(call->w, "verdict");
		jw_object(call->w);
		op_write_columns(call->w, d, columns);
		jw_end_object(call->w);
	}
	query_reset(d);
}

static void write_event_row(struct op_call *call, struct query *q)
{
	struct json_writer *w = call->w;
	char id[ULID_TEXT + 1], at[CLOCK_TEXT];
	struct ulid u = { { 0 } };
	str blob = query_str(q, 1);

	if (blob.n == ULID_BYTES)
		memcpy(u.b, blob.p, ULID_BYTES);
	ulid_format(&u, id);
	clock_format(query_int(q, 2), 0, at);
	jw_object(w);
	jw_field_int(w, "seq", query_int(q, 0));
	jw_field_str(w, "id", str_of(id));
	jw_field_str(w, "at", str_of(at));
	jw_field_int(w, "at_us", query_int(q, 2));
	jw_field_str(w, "agent", query_str(q, 3));
	jw_field_str(w, "session", query_str(q, 4));
	jw_field_str(w, "event", query_str(q, 5));
	jw_field_str(w, "native_event", query_str(q, str_empty(query_str(q, 6)) ? 5 : 6));
	jw_field_str(w, "tool", query_str(q, 7));
	jw_field_str(w, "tool_use_id", query_str(q, 8));
	jw_field_str(w, "agent_id", query_str(q, 9));
	jw_field_int(w, "marks", query_int(q, 10));
	write_verdict(call, str_of(id), query_int(q, 12));
	jw_key(w, "payload");
	jw_stored(w, query_str(q, 11));
	jw_end_object(w);
}

#define EVENT_COLUMNS                                                                        \
	"e.seq, e.id, e.at, s.agent, s.native_id, e.kind, e.native, e.tool, e.tool_use_id, " \
	"e.agent_id, e.marks, payload_text(e.payload), s.key"

#define EVENT_FROM "FROM events e JOIN sessions s ON s.key = e.session "

/* What an answer cost is read from transcripts afterwards, and `usage` sums it up; what was added to a conversation is
 * told by `why`. Here both would only be noise, and so is what an agent said on its way, unless it is asked for. */
#define NO_NOISE(table_) table_ "kind NOT IN ('ModelUsage', 'Injection') AND (?9 OR " table_ "kind <> 'Output') "

/* A session that is asked for by name may be the doctor's: it looks for what it sent. */
#define EVENTS_FILTER "(s.key = ?8 OR (?8 IS NULL AND " OP_NOT_DOCTOR ")) AND " OP_SCOPE_SQL

static int write_events(struct op_call *call, struct query *q, int64_t *ret_last)
{
	int got;

	jw_key(call->w, "events");
	jw_array(call->w);
	while ((got = query_step(q)) == 1 && !call->w->b->full) {
		write_event_row(call, q);
		*ret_last = MAX(*ret_last, query_int(q, 0));
	}
	query_reset(q);
	jw_end_array(call->w);
	return got < 0 ? got : 0;
}

/* With "after": the rows that came later, oldest first. Without: the newest ones, oldest first. The
 * newest N of some sessions are among the newest N of each of the N that were active last, which
 * spares a walk through everything else. */
int op_events(struct op_call *call)
{
	static const char follow[] = "SELECT " EVENT_COLUMNS " " EVENT_FROM "WHERE " NO_NOISE(
		"e.") "AND e.seq > ?7 AND " EVENTS_FILTER "ORDER BY e.seq LIMIT ?6";
	static const char newest[] =
		"SELECT * FROM (SELECT " EVENT_COLUMNS ", e.ord " EVENT_FROM
		"WHERE " NO_NOISE("e.") "AND ?7 = 0 AND ?8 IS NULL AND ?1 IS NULL AND ?2 IS NULL "
					"AND ?3 = 0 AND "
					"?4 > 0 AND ?5 AND " OP_NOT_DOCTOR "ORDER BY e.seq DESC LIMIT ?6) "
					"ORDER BY ord, seq";
	static const char newest_of[] = "SELECT * FROM (SELECT " EVENT_COLUMNS ", e.ord FROM "
					"(SELECT key, agent, native_id FROM sessions s WHERE ?7 = 0 AND " EVENTS_FILTER
					"  ORDER BY s.last_at DESC LIMIT ?6) s CROSS JOIN events e "
					"WHERE e.seq IN (SELECT seq FROM events WHERE session = s.key AND " NO_NOISE(
						"") "ORDER BY ord DESC, id DESC LIMIT "
						    "?6) "
						    "ORDER BY e.seq DESC LIMIT ?6) ORDER BY ord, seq";
	bool after = op_has(call, "after");
	bool output = op_bool(call, "output");
	int64_t last = op_int(call, "after"), session = op_int(call, "session");
	struct op_filter f;
	int r;

	if (output)
		outputs_listen(call->ctx->outputs);

	op_read_filter(call, &f);
	f.all = true;
	jw_object(call->w);
	r = write_events(call,
		store_ask(call->store,
			after                                                 ? follow
				: session || f.project || str_is_set(f.agent) ? newest_of
									      : newest,
			OP_FILTER_TYPES "iiki", OP_FILTER_ARGS(&f), f.limit, last, session, (int64_t)output),
		&last);
	jw_field_int(call->w, "last", last);
	jw_end_object(call->w);
	return r;
}

int op_event(struct op_call *call)
{
	struct query *q = store_query(call->store,
		"SELECT " EVENT_COLUMNS " FROM events e JOIN sessions s ON s.key = e.session WHERE e.id = ?1");
	struct ulid id;
	int got;

	if (!ulid_parse(op_text(call, "id"), &id))
		return err_set(call->err, -EINVAL, "'id' must be an event's key (26 characters)");
	query_bind_blob(q, 1, id.b, ULID_BYTES);
	got = query_step(q);
	if (got == 1)
		write_event_row(call, q);
	query_reset(q);
	return got == 0 ? err_set(call->err, -ENOENT, "there is no event with this key") : got < 0 ? got : 0;
}

/* -- all of one session ------------------------------------------------------------------------ */

/* A cursor is the place of the last event that was given out: its order and its key. */
static int read_cursor(struct op_call *call, int64_t *ret_ord, struct ulid *ret_id)
{
	str cursor = op_text(call, "cursor");
	ptrdiff_t colon = str_find_char(cursor, ':');

	*ret_ord = INT64_MIN;
	*ret_id = (struct ulid){ { 0 } };
	if (!str_is_set(cursor))
		return 0;
	if (colon < 0 || !str_to_int(str_head(cursor, (size_t)colon), ret_ord) ||
		!ulid_parse(str_from(cursor, (size_t)colon + 1), ret_id))
		return err_set(call->err, -EINVAL, "'cursor' must be the cursor of the previous answer");
	return 0;
}

int op_session_events(struct op_call *call)
{
	int64_t session = op_int(call, "session"), ord, limit = op_int(call, "limit"), n = 0;
	char cursor[ULID_TEXT + 32] = "", text[ULID_TEXT + 1];
	struct ulid id;
	struct query *q;
	int got = read_cursor(call, &ord, &id);

	if (got < 0)
		return got;
	q = store_ask(call->store,
		"SELECT " EVENT_COLUMNS ", e.ord " EVENT_FROM
		"WHERE e.session = ?1 AND (e.ord, e.id) > (?2, ?3) ORDER BY e.ord, e.id",
		"iib", session, ord, id.b, (size_t)ULID_BYTES);
	jw_object(call->w);
	jw_key(call->w, "events");
	jw_array(call->w);
	while ((got = query_step(q)) == 1 && n < limit && !op_is_enough(call)) {
		write_event_row(call, q);
		n++;
		ord = query_int(q, 13);
		memcpy(id.b, query_str(q, 1).p, ULID_BYTES);
	}
	query_reset(q);
	jw_end_array(call->w);
	if (got == 1) {
		ulid_format(&id, text);
		snprintf(cursor, sizeof cursor, "%lld:%s", (long long)ord, text);
		jw_field_str(call->w, "cursor", str_of(cursor));
	}
	jw_end_object(call->w);
	return got < 0 ? got : 0;
}

/* -- activities -------------------------------------------------------------------------------- */

#define CALL_SELECT                                                                                              \
	"SELECT a.same, a.tool, a.class, a.state, a.started_at, a.ended_at, s.native_id, " OP_VERDICT_SELECT " " \
	"FROM activities a JOIN sessions s ON s.key = a.session " OP_JOIN_VERDICT "WHERE a.kind = 'tool' AND "

int op_activities(struct op_call *call)
{
	static const struct op_column columns[] = {
		{ "tool_use_id", 's' },
		{ "tool", 's' },
		{ "class", 's' },
		{ "state", 's' },
		{ "started_us", 'i' },
		{ "ended_us", 'i' },
		{ "session", 's' },
		OP_VERDICT_COLUMNS,
		{ 0 },
	};
	int64_t session = op_int(call, "session");
	int r;

	jw_object(call->w);
	r = op_write_list(call, "activities",
		store_ask(call->store,
			session ? CALL_SELECT "a.session = ?1 ORDER BY a.ord DESC, a.key DESC LIMIT ?2"
				: CALL_SELECT "?1 IS NULL AND " OP_NOT_DOCTOR "ORDER BY a.key DESC LIMIT ?2",
			"ki", session, op_int(call, "limit")),
		columns);
	jw_end_object(call->w);
	return r;
}
