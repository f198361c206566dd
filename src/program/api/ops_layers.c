/* timeline, get: the second and third layer of looking something up. A search gives rows with what each would cost to
 * read; a timeline shows what happened around one of them; get reads some in full. All three name items alike:
 *
 *   a memory's id    or the name it was imported under
 *   prompt:K answer:K command:K plan:K    as a search prints them */
#include <errno.h>

#include "api/ops.h"
#include "api/ops_code.h"

enum { ITEMS_MAX = 100 };

enum item_kind { ITEM_MEMORY, ITEM_PROMPT, ITEM_ANSWER, ITEM_COMMAND, ITEM_PLAN };

/* Of each kind that has a key: its name, when it was, and all of it. */
static const struct item_row {
	enum item_kind kind;
	const char *name, *when, *all;
} rows[] = {
	{ ITEM_PROMPT, "prompt", "SELECT started_at FROM batches WHERE key = ?1",
		"SELECT 'prompt:' || b.key, 'prompt', s.native_id, s.agent, p.name, b.started_at, b.number, b.prompt, "
		"b.response, NULL FROM batches b JOIN sessions s ON s.key = b.session LEFT JOIN projects p ON p.key = "
		"s.project WHERE b.key = ?1 AND b.prompt IS NOT NULL" },
	{ ITEM_ANSWER, "answer", "SELECT started_at FROM batches WHERE key = ?1",
		"SELECT 'answer:' || b.key, 'answer', s.native_id, s.agent, p.name, b.started_at, b.number, "
		"b.response, NULL, "
		"NULL FROM batches b JOIN sessions s ON s.key = b.session LEFT JOIN projects p ON p.key = s.project "
		"WHERE "
		"b.key = ?1 AND b.response IS NOT NULL" },
	{ ITEM_COMMAND, "command", "SELECT coalesce(started_at, ended_at) FROM activities WHERE key = ?1",
		"SELECT 'command:' || a.key, 'command', s.native_id, s.agent, p.name, coalesce(a.started_at, "
		"a.ended_at), "
		"b.number, a.input ->> '$.command', coalesce(a.error, a.output), NULL FROM activities a JOIN sessions "
		"s ON "
		"s.key = a.session LEFT JOIN batches b ON b.key = a.batch LEFT JOIN projects p ON p.key = s.project "
		"WHERE "
		"a.key = ?1 AND a.input ->> '$.command' IS NOT NULL" },
	{ ITEM_PLAN, "plan", "SELECT updated_at FROM plans WHERE key = ?1",
		"SELECT 'plan:' || l.key, 'plan', s.native_id, s.agent, p.name, l.updated_at, NULL, l.text, NULL, "
		"l.path FROM "
		"plans l JOIN sessions s ON s.key = l.session LEFT JOIN projects p ON p.key = s.project WHERE l.key = "
		"?1" },
};

static const struct op_column item_columns[] = { { "id", 's' }, { "kind", 's' }, { "session", 's' }, { "agent", 's' },
	{ "project", 's' }, { "at_us", 'i' }, { "prompt_number", 'i' }, { "text", 's' }, { "answer", 's' },
	{ "path", 's' }, { 0 } };

/* NULL: it is no such name, so it is a memory's. */
static const struct item_row *row_of(str id, int64_t *ret_key)
{
	str rest = id, kind;

	if (!str_split(&rest, ':', &kind) || !str_to_int(rest, ret_key))
		return NULL;
	for (size_t i = 0; i < countof(rows); i++)
		if (str_eq(kind, str_of(rows[i].name)))
			return &rows[i];
	return NULL;
}

static int refuse_item(struct op_call *call, str id)
{
	char shown[NAME_SHOWN];

	return err_set(call->err, -ENOENT, "there is no '%s' any more; find it again with: hookd search",
		name_shown(id, shown));
}

/* -- timeline ---------------------------------------------------------------------------------- */

const struct op_column op_timeline_result[] = {
	{ "timeline", 'l',
		(const struct op_column[]){ { "at_us", 'i' }, { "kind", 's' }, { "id", 's' }, { "session", 's' },
			{ "text", 's' }, { "tokens", 'i' }, { 0 } } },
	{ 0 },
};

/* The moment a timeline is about: an item's, a given one, or now. */
static int anchor_of(struct op_call *call, int64_t *ret)
{
	str id = op_text(call, "id");
	const struct item_row *row;
	int64_t key = 0;
	int got;

	*ret = op_has(call, "at") ? op_int(call, "at") : INT64_MAX;
	if (!op_has(call, "id"))
		return 0;
	row = row_of(id, &key);
	got = row ? 0 : op_find_memory(call, id, &key);
	if (got == 0)
		got = store_number(call->store, ret, row ? row->when : "SELECT created_at FROM memories WHERE key = ?1",
			"i", key);
	return got == 0 ? refuse_item(call, id) : MIN(got, 0);
}

/* Prompts and memories around that moment, each with what reading it in full would cost. */
int op_timeline(struct op_call *call)
{
	int64_t at, limit = op_int(call, "limit");
	int r = anchor_of(call, &at);

	if (r < 0)
		return r;
	jw_object(call->w);
	r = op_write_list(call, "timeline",
		store_ask(call->store,
			"WITH item AS (SELECT b.started_at AS at, 'prompt' AS kind, 'prompt:' || b.key AS id, "
			"s.native_id AS session, substr(b.prompt, 1, 160) AS text, "
			"(coalesce(length(b.prompt), 0) + coalesce(length(b.response), 0) + 3) / 4 AS tokens, "
			"s.project AS "
			"project FROM batches b JOIN sessions s ON s.key = b.session WHERE b.prompt IS NOT NULL "
			"UNION ALL SELECT m.created_at, m.type, ulid_text(m.uid), s.native_id, substr(m.text, 1, 160), "
			"(length(m.text) + 3) / 4, m.project FROM memories m LEFT JOIN sessions s ON s.key = m.session "
			"WHERE m.status = 'active') "
			"SELECT at, kind, id, session, text, tokens FROM (SELECT * FROM (SELECT * FROM item WHERE at "
			"<= ?2 AND "
			"(?1 IS NULL OR project = ?1) ORDER BY at DESC LIMIT ?3) UNION ALL SELECT * FROM (SELECT * "
			"FROM item "
			"WHERE at > ?2 AND (?1 IS NULL OR project = ?1) ORDER BY at LIMIT ?3)) ORDER BY at",
			"kii", op_int(call, "project"), at, (limit + 1) / 2),
		op_timeline_result[0].members);
	jw_end_object(call->w);
	return r;
}

/* -- get --------------------------------------------------------------------------------------- */

static int write_item(struct op_call *call, str id)
{
	int64_t key = 0;
	const struct item_row *row = row_of(id, &key);
	struct query *q;
	bool is_code;
	int got;

	if (!row) {
		got = op_write_code_item(call, id, &is_code);
		return is_code ? got : op_write_memory(call, id);
	}
	q = store_ask(call->store, row->all, "i", key);
	got = query_step(q);
	if (got == 1) {
		jw_object(call->w);
		op_write_columns(call->w, q, item_columns);
		jw_end_object(call->w);
	}
	query_reset(q);
	return got == 0 ? refuse_item(call, id) : MIN(got, 0);
}

int op_get(struct op_call *call)
{
	int r = 0, n = 0;

	jw_object(call->w);
	jw_key(call->w, "items");
	jw_array(call->w);
	json_each(id, op_json(call, "ids"))
		r = r < 0                 ? r
			: ++n > ITEMS_MAX ? err_set(call->err, -EINVAL, "at most %d items at once", ITEMS_MAX)
					  : write_item(call, json_str(id));
	jw_end_array(call->w);
	jw_end_object(call->w);
	return r;
}
