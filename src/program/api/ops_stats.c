/* stats: how much, in all and by day, project, agent and tool.
 *
 * One pass over the calls and one over the prompts of the time asked for, into a table of sums by session,
 * quarter of an hour and tool; everything else is sums of those. Quarters because that is the
 * finest step between time zones: which day one belongs to is asked once per quarter, not once per call. Tools are told
 * apart by what rows have for their names, a number mostly. CROSS JOIN
 * is SQLite's word for "in this order": from the sessions of that time to what they did. */
#include <errno.h>

#include "api/ops.h"

enum { DAYS_MAX = 400, ROWS_MAX = 200 };

#define QUARTER "900000000"

#define PER_SESSION                                                                                           \
	"WITH per(session, quarter, tool, prompts, calls, failed, denied, ms) AS MATERIALIZED ("              \
	"  SELECT a.session, a.ord / " QUARTER                                                                \
	", coalesce(a.tool, 'unknown'), 0, count(*), total(a.state = 'failed'), "                             \
	"    total(a.state = 'denied'), total(a.duration_ms) FROM sessions s CROSS JOIN activities a ON "     \
	"a.session = s.key "                                                                                  \
	"  WHERE a.kind = 'tool' AND a.ord BETWEEN ?3 AND ?4 AND " OP_FILTER_SQL "GROUP BY 1, 2, a.tool_n "   \
	"  UNION ALL "                                                                                        \
	"  SELECT b.session, b.ord / " QUARTER                                                                \
	", NULL, count(*), 0, 0, 0, 0 FROM sessions s CROSS JOIN batches b ON b.session = s.key "             \
	"  WHERE b.prompt_hash IS NOT NULL AND b.ord BETWEEN ?3 AND ?4 AND " OP_FILTER_SQL "GROUP BY 1, 2), " \
	"joined AS (SELECT per.*, s.agent, coalesce(w.parent, w.key) AS project, "                            \
	"  date(quarter * 900, 'unixepoch', 'localtime') AS day FROM per JOIN sessions s ON s.key = "         \
	"per.session "                                                                                        \
	"  LEFT JOIN projects w ON w.key = s.project) "

/* section, label, key, sessions, prompts, calls, failed, denied, mean duration */
#define SUMS                                                                                                \
	"count(DISTINCT session), total(prompts), total(calls), total(failed), total(denied), total(ms) / " \
	"max(1, total(calls))"

static const char stats_sql[] =
	PER_SESSION "SELECT 'total' AS section, NULL AS label, NULL AS key, " SUMS " FROM joined "
		    "UNION ALL SELECT * FROM (SELECT 'days', day, NULL, " SUMS
		    " FROM joined GROUP BY day ORDER BY day DESC LIMIT ?6) "
		    "UNION ALL SELECT * FROM (SELECT 'projects', p.name, p.key, " SUMS
		    " FROM joined LEFT JOIN projects p ON p.key = project "
		    "  GROUP BY project ORDER BY sum(calls) DESC LIMIT ?7) "
		    "UNION ALL SELECT * FROM (SELECT 'agents', agent, NULL, " SUMS
		    " FROM joined GROUP BY agent ORDER BY sum(calls) DESC LIMIT ?7) "
		    "UNION ALL SELECT * FROM (SELECT 'tools', tool, NULL, " SUMS
		    " FROM joined WHERE tool IS NOT NULL GROUP BY tool ORDER BY sum(calls) DESC LIMIT ?7)";

static const struct section {
	const char *name, *label; /* what the label is called there */
} sections[] = { { "total", NULL }, { "days", "day" }, { "projects", "name" }, { "agents", "agent" },
	{ "tools", "tool" } };

static const struct op_column sum_columns[] = {
	{ "", 's' },
	{ "", 's' },
	{ "key", 'i' },
	{ "sessions", 'i' },
	{ "prompts", 'i' },
	{ "calls", 'i' },
	{ "failed", 'i' },
	{ "denied", 'i' },
	{ "mean_ms", 'i' },
	{ 0 },
};

/* What hookd decided about calls in that time; observed decisions are not included. */
static int write_decided(struct op_call *call, const struct op_filter *f)
{
	static const struct op_column columns[] = { { "rule", 's' }, { "denied", 'i' }, { "asked", 'i' },
		{ "ran_anyway", 'i' }, { 0 } };

	return op_write_list(call, "rules",
		store_ask(call->store,
			"SELECT d.rule, total(d.decision = 'deny'), total(d.decision = 'ask'), "
			"total(d.ran_at IS NOT NULL) "
			"FROM sessions s CROSS JOIN decisions d ON d.session = s.key WHERE d.prevailed AND "
			"d.decision <> 'allow' AND d.at BETWEEN ?3 AND ?4 AND " OP_FILTER_SQL
			"GROUP BY d.rule ORDER BY count(*) DESC, d.rule LIMIT ?6",
			OP_FILTER_TYPES "i", OP_FILTER_ARGS(f), (int64_t)ROWS_MAX),
		columns);
}

/* Rows come section by section, in the order of the table. */
static int write_sections(struct op_call *call, struct query *q)
{
	struct json_writer *w = call->w;
	int got = query_step(q);

	for (size_t i = 0; i < countof(sections) && got >= 0; i++) {
		jw_key(w, sections[i].name);
		if (i)
			jw_array(w);
		for (; got == 1 && str_eq(query_str(q, 0), str_of(sections[i].name)); got = query_step(q)) {
			jw_object(w);
			if (sections[i].label)
				jw_field_str(w, sections[i].label, query_str(q, 1));
			op_write_columns(w, q, sum_columns);
			jw_end_object(w);
		}
		if (i)
			jw_end_array(w);
	}
	query_reset(q);
	return got < 0 ? got : 0;
}

int op_write_waited(struct op_call *call, const struct op_filter *f)
{
	int64_t us = 0;
	int got = store_number(call->store, &us,
		"SELECT coalesce(sum(s.waited_us), 0) FROM sessions s WHERE " OP_FILTER_SQL, OP_FILTER_TYPES,
		OP_FILTER_ARGS(f));

	jw_field_int(call->w, "waited_us", us);
	return MIN(got, 0);
}

int op_stats(struct op_call *call)
{
	struct op_filter f;
	int r;

	op_read_filter(call, &f);
	jw_object(call->w);
	if (f.since_us)
		jw_field_int(call->w, "since_us", f.since_us);
	if (f.until_us != INT64_MAX)
		jw_field_int(call->w, "until_us", f.until_us);
	r = write_sections(call,
		store_ask(call->store, stats_sql, OP_FILTER_TYPES "ii", OP_FILTER_ARGS(&f), (int64_t)DAYS_MAX,
			(int64_t)ROWS_MAX));
	if (r == 0)
		r = write_decided(call, &f);
	if (r == 0)
		r = op_write_waited(call, &f);
	jw_end_object(call->w);
	return r;
}
