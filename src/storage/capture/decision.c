/* Decisions: what hookd said, rule by rule, and whether it was obeyed. Rows of their own: they change nothing else of
 * a session, and it does not matter whether they come before or after what they were said about. */
#include "capture/internal.h"

static int insert_decision(struct step *t, const struct json *f)
{
	const struct json *p = t->event.payload;
	int64_t begin = 0, end = 0, duration = 0;

	json_int(json_get(f, STR("begin")), &begin);
	json_int(json_get(f, STR("end")), &end);
	if (!json_int(json_get(f, STR("duration_us")), &duration))
		json_int(json_get(p, STR("judged_us")), &duration);
	return store_do(t->store,
		"INSERT INTO decisions(session, event, rule, ord, at, decision, prevailed, observed, kind, tool, "
		"  tool_use_id, subject, reason, span_begin, span_end, duration_us, ran_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, CASE WHEN ?15 THEN ?14 END, ?15, ?16, "
		"  CASE WHEN ?6 = 'deny' AND ?7 AND ?9 = 'PreToolUse' THEN "
		"  (SELECT ended_at FROM activities WHERE session = ?1 AND same = ?11 AND "
		"  state = 'done') END) ON CONFLICT DO NOTHING",
		"issiisiisssss"
		"iki",
		t->session.key, json_str(json_get(p, STR("event_id"))), json_str(json_get(f, STR("rule"))),
		t->record.order_us, t->record.at_us, json_str(json_get(f, STR("decision"))),
		(int64_t)json_true(json_get(f, STR("prevailed"))), (int64_t)json_true(json_get(f, STR("observed"))),
		json_str(json_get(p, STR("event"))), t->event.tool_name, t->event.tool_use_id,
		summary_cut(t->arena, json_str(json_get(f, STR("subject"))), 500),
		summary_cut(t->arena, json_str(json_get(f, STR("reason"))), 500), begin, end, duration);
}

int decision_on_event(struct step *t)
{
	int r = 0;

	json_each(f, json_get(t->event.payload, STR("rulings"))) {
		if (r == 0 && str_is_set(json_str(json_get(f, STR("rule")))))
			r = insert_decision(t, f);
	}
	return r;
}

/* A tool that has run although it was denied: the agent did not listen, or its hook's answer was void. */
int decision_on_ran(struct step *t)
{
	if (str_empty(t->event.tool_use_id))
		return 0;
	return store_do(t->store,
		"UPDATE decisions SET ran_at = ?3 WHERE session = ?1 AND tool_use_id = ?2 AND decision = 'deny' AND "
		"prevailed AND kind = 'PreToolUse' AND ran_at IS NULL",
		"isi", t->session.key, t->event.tool_use_id, t->record.at_us);
}
