/* plans: the list, and one with its versions. */
#include <errno.h>

#include "api/ops.h"

static const struct op_column plan_columns[] = {
	{ "key", 'i' },
	{ "title", 's' },
	{ "path", 's' },
	{ "created_us", 'i' },
	{ "updated_us", 'i' },
	{ "versions", 'i' },
	{ "source", 's' },
	{ "session", 's' },
	{ "agent", 's' },
	{ "project", 's' },
	{ 0 },
};

#define PLAN_SELECT                                                                                            \
	"SELECT l.key, l.title, l.path, l.created_at, l.updated_at, "                                          \
	"  (SELECT max(version) FROM plan_versions WHERE plan = l.key), "                                      \
	"  (SELECT source FROM plan_versions WHERE plan = l.key ORDER BY version DESC LIMIT 1), s.native_id, " \
	"s.agent, p.name "                                                                                     \
	"FROM plans l CROSS JOIN sessions s ON s.key = l.session "                                             \
	"LEFT JOIN projects w ON w.key = s.project LEFT JOIN projects p ON p.key = coalesce(w.parent, w.key) "

int op_plans(struct op_call *call)
{
	struct op_filter f;
	int r;

	op_read_filter(call, &f);
	jw_object(call->w);
	r = op_write_list(call, "plans",
		store_ask(call->store,
			PLAN_SELECT "WHERE (?7 IS NULL OR l.session = ?7) AND l.updated_at >= ?3 AND " OP_FILTER_SQL
				    "ORDER BY l.updated_at DESC, l.key DESC LIMIT ?6",
			OP_FILTER_TYPES "ik", OP_FILTER_ARGS(&f), f.limit, op_int(call, "session")),
		plan_columns);
	jw_end_object(call->w);
	return r;
}

/* By key, by path, or by the name of its file with or without ".md"; of several the one changed last. Keys
 * come last because they change when a late event makes a session be folded again. */
static int find_plan(struct op_call *call, int64_t *ret)
{
	str wanted = op_text(call, "plan");
	int64_t session = op_int(call, "session"), key;
	int r;

	r = store_number(call->store, ret,
		"SELECT key FROM plans WHERE (?2 IS NULL OR session = ?2) AND (path = ?1 "
		"OR substr(path, -length(?1) - 1) = '/' || ?1 OR substr(path, -length(?1) - 4) = '/' || ?1 || '.md') "
		"ORDER BY updated_at DESC LIMIT 1",
		"sk", wanted, session);
	if (r == 0 && str_to_int(wanted, &key))
		r = store_number(call->store, ret, "SELECT key FROM plans WHERE key = ?1", "i", key);
	if (r == 0)
		return err_set(call->err, -ENOENT, "there is no plan '" STR_FMT "'; list them with: hookd plans",
			STR_ARG(str_cut_utf8(wanted, 100)));
	return r < 0 ? r : 0;
}

/* All versions, the newest first, as many as fit. */
static int write_versions(struct op_call *call, int64_t plan)
{
	static const struct op_column columns[] = { { "version", 'i' }, { "at_us", 'i' }, { "source", 's' },
		{ "content", 's' }, { 0 } };
	struct json_writer *w = call->w;
	struct query *q = store_ask(call->store,
		"SELECT version, at, source, content FROM plan_versions WHERE plan = ?1 ORDER BY version DESC", "i",
		plan);
	int64_t left_off = 0;
	int got;

	jw_key(w, "history");
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		if (op_is_enough(call)) {
			left_off++;
			continue;
		}
		jw_object(w);
		op_write_columns(w, q, columns);
		jw_end_object(w);
	}
	query_reset(q);
	jw_end_array(w);
	if (left_off)
		jw_field_int(w, "left_off", left_off);
	return got;
}

int op_plan(struct op_call *call)
{
	int64_t plan;
	struct query *q;
	int r = find_plan(call, &plan);

	if (r < 0)
		return r;
	q = store_ask(call->store, PLAN_SELECT "WHERE l.key = ?1", "i", plan);
	r = query_step(q);
	jw_object(call->w);
	if (r == 1)
		op_write_columns(call->w, q, plan_columns);
	query_reset(q);
	if (r >= 0)
		r = write_versions(call, plan);
	jw_end_object(call->w);
	return r;
}
