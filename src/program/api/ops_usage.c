/* usage: tokens and what they would cost, by day, week, project, agent, model or session.
 *
 * Sums come by group and model, in the order of groups, because a price belongs to a model; rows of one group
 * are added up here. */
#include <errno.h>
#include <stdlib.h>

#include "api/ops.h"
#include "llm/llm.h"

#define USAGE_SQL(group_, label_, order_)                                                               \
	"SELECT " group_ " AS g, max(" label_ "), u.model, count(*), sum(u.input), sum(u.cache_read), " \
	"sum(u.cache_write), sum(u.output), sum(u.reasoning), max(u.at) AS latest "                     \
	"FROM usage u JOIN sessions s ON s.key = u.session LEFT JOIN projects w ON w.key = s.project "  \
	"LEFT JOIN projects p ON p.key = coalesce(w.parent, w.key) "                                    \
	"WHERE " OP_FILTER_SQL "AND u.at BETWEEN ?3 AND ?4 GROUP BY g, u.model ORDER BY " order_

#define LOCAL_DAY "date(u.at / 1000000, 'unixepoch', 'localtime')"

static const struct grouping {
	const char *name, *sql;
} groupings[] = {
	{ "total", USAGE_SQL("0", "'all'", "g") },
	{ "day", USAGE_SQL(LOCAL_DAY, LOCAL_DAY, "g DESC") },
	/* A week is called by its Monday. */
	{ "week",
		USAGE_SQL("date(u.at / 1000000, 'unixepoch', 'localtime', '-6 days', 'weekday 1')",
			"date(u.at / 1000000, 'unixepoch', 'localtime', '-6 days', 'weekday 1')", "g DESC") },
	{ "project", USAGE_SQL("coalesce(p.key, 0)", "coalesce(p.name, '(none)')", "g") },
	{ "agent", USAGE_SQL("s.agent", "s.agent", "g") },
	{ "model", USAGE_SQL("coalesce(u.model, '(unknown)')", "coalesce(u.model, '(unknown)')", "g") },
	{ "session", USAGE_SQL("s.key", "s.native_id", "g") },
};

enum { SUMS = 6 }; /* answers, input, cache_read, cache_write, output, reasoning */

static const char *const sum_names[SUMS] = { "answers", "input", "cache_read", "cache_write", "output", "reasoning" };

struct row {
	str label;
	int64_t sums[SUMS], latest_us, micro_usd, unpriced;
};

struct rows {
	struct row *list;
	size_t n, cap;
};

static void add_to_row(struct row *row, struct query *q)
{
	const struct llm_tokens tokens = { .input = query_int(q, 4),
		.cache_read = query_int(q, 5),
		.cache_write = query_int(q, 6),
		.output = query_int(q, 7) };
	int64_t cost = 0;

	for (int i = 0; i < SUMS; i++)
		row->sums[i] += query_int(q, 3 + i);
	row->latest_us = MAX(row->latest_us, query_int(q, 9));
	if (llm_price_of(query_str(q, 2), &tokens, &cost))
		row->micro_usd += cost;
	else
		row->unpriced += tokens.input + tokens.cache_read + tokens.cache_write + tokens.output;
}

static int read_rows(struct op_call *call, struct query *q, struct rows *ret)
{
	str group = STR_NONE;
	int got;

	while ((got = query_step(q)) == 1) {
		if (!ret->n || !str_eq(group, query_str(q, 0))) {
			if (ret->n == ret->cap) {
				size_t cap = ret->cap ? ret->cap * 2 : 64;
				struct row *more = arena_alloc(call->arena, cap * sizeof *more);

				if (ret->n)
					memcpy(more, ret->list, ret->n * sizeof *more);
				ret->list = more;
				ret->cap = cap;
			}
			group = arena_str(call->arena, query_str(q, 0));
			ret->list[ret->n++] = (struct row){ .label = arena_str(call->arena, query_str(q, 1)) };
		}
		add_to_row(&ret->list[ret->n - 1], q);
	}
	query_reset(q);
	return got;
}

static void write_row(struct op_call *call, const struct row *row, const char *label)
{
	jw_object(call->w);
	if (label)
		jw_field_str(call->w, label, row->label);
	for (int i = 0; i < SUMS; i++)
		jw_field_int(call->w, sum_names[i], row->sums[i]);
	jw_field_int(call->w, "last_us", row->latest_us);
	jw_field_int(call->w, "micro_usd", row->micro_usd);
	jw_field_int(call->w, "unpriced_tokens", row->unpriced);
	jw_end_object(call->w);
}

static int costlier(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->micro_usd != y->micro_usd)
		return x->micro_usd < y->micro_usd ? 1 : -1;
	return x->sums[4] < y->sums[4] ? 1 : x->sums[4] > y->sums[4] ? -1 : 0;
}

static const struct grouping *find_grouping(str name)
{
	for (size_t i = 0; i < countof(groupings); i++)
		if (str_eq_nocase(name, str_of(groupings[i].name)))
			return &groupings[i];
	return NULL;
}

int op_usage(struct op_call *call)
{
	const struct grouping *g = find_grouping(op_has(call, "by") ? op_text(call, "by") : STR("day"));
	struct rows rows = { 0 }, total = { 0 };
	struct op_filter f;
	int r;

	op_read_filter(call, &f);
	r = read_rows(call, store_ask(call->store, g->sql, OP_FILTER_TYPES, OP_FILTER_ARGS(&f)), &rows);
	if (r == 0)
		r = read_rows(call, store_ask(call->store, groupings[0].sql, OP_FILTER_TYPES, OP_FILTER_ARGS(&f)),
			&total);
	if (r < 0)
		return r;
	if (rows.n && !str_eq_nocase(str_of(g->name), STR("day")) && !str_eq_nocase(str_of(g->name), STR("week")))
		qsort(rows.list, rows.n, sizeof *rows.list, costlier);
	jw_object(call->w);
	jw_field_str(call->w, "by", str_of(g->name));
	jw_field_bool(call->w, "estimate", true);
	jw_field_str(call->w, "prices_as_of", str_of(llm_prices_as_of));
	jw_key(call->w, "rows");
	jw_array(call->w);
	for (size_t i = 0; i < rows.n && (int64_t)i < f.limit; i++)
		write_row(call, &rows.list[i], g->name);
	jw_end_array(call->w);
	jw_key(call->w, "total");
	write_row(call, total.n ? &total.list[0] : &(struct row){ 0 }, NULL);
	r = op_write_waited(call, &f);
	jw_end_object(call->w);
	return r;
}
