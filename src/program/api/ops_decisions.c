/* decisions: what hookd decided, and how often each rule fired. */
#include "api/ops.h"

int op_decisions(struct op_call *call)
{
	static const struct op_column columns[] = { { "at_us", 'i' }, { "agent", 's' }, { "session", 's' },
		{ "project", 's' }, { "event", 's' }, { "event_id", 's' }, { "tool", 's' }, { "tool_use_id", 's' },
		{ "rule", 's' }, { "decision", 's' }, { "prevailed", 'b' }, { "observed", 'b' }, { "subject", 's' },
		{ "reason", 's' }, { "begin", 'i' }, { "end", 'i' }, { "duration_us", 'i' }, { "ran_us", 'i' }, { 0 } };
	str rule = op_text(call, "rule"), decision = op_text(call, "decision");
	struct op_filter f;
	int r;

	op_read_filter(call, &f);
	jw_object(call->w);
	r = op_write_list(call, "decisions",
		store_ask(call->store,
			"SELECT d.at, s.agent, s.native_id, coalesce(m.name, p.name), d.kind, d.event, d.tool, "
			"  d.tool_use_id, d.rule, d.decision, d.prevailed, d.observed, d.subject, d.reason, "
			"  d.span_begin, d.span_end, d.duration_us, d.ran_at "
			"FROM decisions d JOIN sessions s ON s.key = d.session "
			"LEFT JOIN projects p ON p.key = s.project LEFT JOIN projects m ON m.key = p.parent "
			"WHERE d.at BETWEEN ?3 AND ?4 AND (?7 IS NULL OR d.rule = ?7) AND "
			"  (?8 IS NULL OR d.decision = ?8) AND (?9 IS NULL OR d.session = ?9) AND " OP_FILTER_SQL
			"ORDER BY d.at DESC, d.key DESC LIMIT ?6",
			OP_FILTER_TYPES "issk", OP_FILTER_ARGS(&f), f.limit, rule, decision, op_int(call, "session")),
		columns);
	jw_end_object(call->w);
	return r;
}

int op_rule_counts(struct op_call *call)
{
	static const struct op_column columns[] = { { "rule", 's' }, { "fired", 'i' }, { "prevailed", 'i' },
		{ "denied", 'i' }, { "ran_anyway", 'i' }, { "last_us", 'i' }, { 0 } };
	int r;

	jw_object(call->w);
	r = op_write_list(call, "rules",
		store_ask(call->store,
			"SELECT rule, count(*), total(prevailed), total(decision = 'deny' AND prevailed), "
			"total(ran_at IS NOT NULL), max(at) FROM decisions "
			"JOIN sessions s ON s.key = session WHERE " OP_NOT_DOCTOR "GROUP BY rule ORDER BY rule",
			""),
		columns);
	jw_end_object(call->w);
	return r;
}
