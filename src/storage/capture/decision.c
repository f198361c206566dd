/* Decisions: what hookd decided, rule by rule, and whether it was obeyed. A denied call is shown as denied. It does
 * not matter whether a decision arrives before or after the event it is about. */
#include "capture/internal.h"

/* Whichever of the two came last, the call has its final state: a call that has run is done, denied or not. */
static int mark_denied(struct step *t, str call)
{
	if (str_empty(call))
		return 0;
	return store_do(t->store,
		"UPDATE activities SET state_n = ?3 WHERE session = ?1 AND same = ?2 "
		"AND state IN ('started', 'failed') AND EXISTS (SELECT 1 FROM decisions WHERE session = ?1 "
		"AND call = ?2 AND decision = 'deny' AND prevailed AND kind = 'PreToolUse')",
		"isi", t->session.key, call, (int64_t)ACTIVITY_DENIED);
}

/* The call that an event began: by its id, or by the place both have in the session. */
static int find_call(struct step *t, str event, str *ret)
{
	struct query *q;
	struct ulid id;
	int got;

	*ret = t->event.tool_use_id;
	if (!str_empty(*ret) || !ulid_parse(event, &id))
		return 0;
	q = store_ask(t->store,
		"SELECT a.same FROM events e JOIN activities a ON a.session = e.session AND a.ord = e.ord "
		"AND a.kind = 'tool' WHERE e.id = ?1 AND e.session = ?2 LIMIT 1",
		"bi", id.b, (size_t)ULID_BYTES, t->session.key);
	got = query_step(q);
	if (got == 1)
		*ret = arena_str(t->arena, query_str(q, 0));
	query_reset(q);
	return got < 0 ? got : 0;
}

static int insert_decision(struct step *t, const struct json *f, str call)
{
	const struct json *p = t->event.payload;
	int64_t begin = 0, end = 0, duration = 0;

	json_int(json_get(f, STR("begin")), &begin);
	json_int(json_get(f, STR("end")), &end);
	if (!json_int(json_get(f, STR("duration_us")), &duration))
		json_int(json_get(p, STR("judged_us")), &duration);
	return store_do(t->store,
		"INSERT INTO decisions(session, event, rule, ord, at, decision, prevailed, observed, kind, tool, "
		"  tool_use_id, subject, reason, span_begin, span_end, duration_us, call, ran_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
		"  CASE WHEN ?15 THEN ?14 END, ?15, ?16, ?17, "
		"  CASE WHEN ?6 = 'deny' AND ?7 AND ?9 = 'PreToolUse' THEN "
		"  (SELECT ended_at FROM activities WHERE session = ?1 AND same = ?17 AND "
		"  state = 'done') END) ON CONFLICT DO NOTHING",
		"issiisiisssss"
		"ikis",
		t->session.key, json_str(json_get(p, STR("event_id"))), json_str(json_get(f, STR("rule"))),
		t->record.order_us, t->record.at_us, json_str(json_get(f, STR("decision"))),
		(int64_t)json_true(json_get(f, STR("prevailed"))), (int64_t)json_true(json_get(f, STR("observed"))),
		json_str(json_get(p, STR("event"))), t->event.tool_name, t->event.tool_use_id,
		summary_cut(t->arena, json_str(json_get(f, STR("subject"))), 500),
		summary_cut(t->arena, json_str(json_get(f, STR("reason"))), 500), begin, end, duration,
		str_empty(call) ? STR_NONE : call);
}

int decision_on_event(struct step *t)
{
	str call;
	int r = find_call(t, json_str(json_get(t->event.payload, STR("event_id"))), &call);

	json_each(f, json_get(t->event.payload, STR("rulings"))) {
		if (r == 0 && str_is_set(json_str(json_get(f, STR("rule")))))
			r = insert_decision(t, f, call);
	}
	return r < 0 ? r : mark_denied(t, call);
}

int decision_on_call(struct step *t)
{
	char id[ULID_TEXT + 1];
	int r;

	if (!t->session.judged)
		return 0;
	ulid_format(&t->record.id, id);
	/* A decision that overtook its event could not find the call of an agent that gives no ids. */
	r = store_do(t->store, "UPDATE decisions SET call = ?3 WHERE session = ?1 AND event = ?2 AND call IS NULL",
		"iss", t->session.key, str_of(id), t->call);
	return r < 0 ? r : mark_denied(t, t->call);
}

/* A tool that ran although it was denied: the agent ignored the answer, or the answer was invalid. */
int decision_on_ran(struct step *t)
{
	if (!t->session.judged)
		return 0;
	return store_do(t->store,
		"UPDATE decisions SET ran_at = ?3 WHERE session = ?1 AND call = ?2 AND decision = 'deny' AND "
		"prevailed AND kind = 'PreToolUse' AND ran_at IS NULL",
		"isi", t->session.key, t->call, t->record.at_us);
}
