/* Memories for people and agents: lists, one in full, and what fits a text. */
#include <errno.h>
#include <stdio.h>

#include "api/learning.h"
#include "api/ops_code.h"

enum { HITS_MAX = 50, BATCH_MAX = 1000 };

#define MEMORY_SELECT                                                                                                \
	"SELECT m.key, ulid_text(m.uid), m.type, m.text, m.file, m.importance, m.status, m.trust, m.origin, m.ref, " \
	"m.pinned, m.muted, m.created_at, m.updated_at, m.shown, m.used, p.name, s.native_id, s.agent, m.reason, "   \
	"m.concepts, ulid_text(m.successor) FROM memories m LEFT JOIN projects p ON p.key = m.project LEFT JOIN "    \
	"sessions s ON s.key = "                                                                                     \
	"m.session "

static const struct op_column memory_columns[] = { { "", 'i' }, { "id", 's' }, { "type", 's' }, { "text", 's' },
	{ "file", 's' }, { "importance", 'i' }, { "status", 's' }, { "trust", 's' }, { "origin", 's' }, { "ref", 's' },
	{ "pinned", 'b' }, { "muted", 'b' }, { "created_us", 'i' }, { "updated_us", 'i' }, { "shown", 'i' },
	{ "used", 'i' }, { "project", 's' }, { "session", 's' }, { "agent", 's' }, { "reason", 's' },
	{ "concepts", 'j' }, { "successor", 's' }, { 0 } };

static const struct op_column predecessor_columns[] = { { "id", 's' }, { "kind", 's' }, { "text", 's' }, { 0 } };

#define MEMORY_MEMBERS                                                                                               \
	{ "id", 's' }, { "type", 's' }, { "text", 's' }, { "file", 's' }, { "importance", 'i' }, { "status", 's' },  \
		{ "trust", 's' }, { "origin", 's' }, { "ref", 's' }, { "pinned", 'b' }, { "muted", 'b' },            \
		{ "created_us", 'i' }, { "updated_us", 'i' }, { "shown", 'i' }, { "used", 'i' }, { "project", 's' }, \
		{ "session", 's' }, { "agent", 's' }, { "reason", 's' }, { "concepts", 't' },                        \
	{                                                                                                            \
		"successor", 's'                                                                                     \
	}

const struct op_column op_memories_result[] = {
	{ "memories", 'l', (const struct op_column[]){ MEMORY_MEMBERS, { 0 } } }, { 0 }
};
const struct op_column op_memory_result[] = { { "kind", 's' }, MEMORY_MEMBERS,
	{ "predecessors", 'l', predecessor_columns }, { 0 } };
/* A memory, or what a search found in a session. */
const struct op_column op_get_result[] = {
	{ "items", 'l',
		(const struct op_column[]){ { "kind", 's' }, MEMORY_MEMBERS,
			{ "predecessors", 'l', predecessor_columns }, { "at_us", 'i' }, { "prompt_number", 'i' },
			{ "answer", 's' }, { "path", 's' }, { 0 } } },
	{ 0 },
};
const struct op_column op_recall_result[] = {
	{ "answers", 'l',
		(const struct op_column[]){ { "id", 'j' }, { "error", 's' },
			{ "hits", 'l',
				(const struct op_column[]){ { "id", 's' }, { "ref", 'j' }, { "kind", 's' },
					{ "score", 'n' }, { "confidence", 'n' }, { "type", 's' }, { "text", 's' },
					{ "file", 'j' }, { "features", 'j' }, { "path", 's' }, { "line", 'i' },
					{ "lines", 'i' }, { "symbol", 's' }, { 0 } } },
			{ 0 } } },
	{ 0 },
};

/* -- lists ------------------------------------------------------------------------------------- */

int op_memories(struct op_call *call)
{
	struct query *q;
	str type = STR_NONE;
	int got = op_has(call, "type") ? lesson_take_type(call, op_text(call, "type"), &type) : 0;

	if (got < 0)
		return got;
	q = store_ask(call->store,
		MEMORY_SELECT
		"WHERE (?1 IS NULL OR m.project IN (SELECT coalesce(parent, key) FROM projects WHERE key = ?1 "
		"UNION SELECT ?1)) AND (?2 IS NULL OR m.type = ?2) AND (CASE WHEN ?3 IS NULL THEN m.status <> "
		"'forgotten' ELSE m.status = ?3 END) "
		"AND (?4 IS NULL OR instr(lower(m.text), lower(?4))) AND m.created_at >= ?5 "
		"AND (?6 IS NULL OR m.session = ?6) AND m.created_at < ?8 AND (?9 IS NULL OR EXISTS (SELECT 1 FROM "
		"json_each(m.concepts) WHERE value = ?9 COLLATE NOCASE)) ORDER BY m.created_at DESC, m.key DESC LIMIT "
		"?7",
		"ksssikiis", op_int(call, "project"), type, op_text(call, "status"), op_text(call, "query"),
		op_int(call, "since"), op_int(call, "session"), op_int(call, "limit"),
		op_has(call, "until") ? op_int(call, "until") : INT64_MAX, op_text(call, "concept"));
	jw_object(call->w);
	jw_key(call->w, "memories");
	jw_array(call->w);
	while ((got = query_step(q)) == 1 && !op_is_enough(call)) {
		jw_object(call->w);
		op_write_columns(call->w, q, memory_columns);
		jw_end_object(call->w);
	}
	query_reset(q);
	jw_end_array(call->w);
	jw_end_object(call->w);
	return MIN(got, 0);
}

/* By the text of its id, or the name it was imported under. */
int op_find_memory(struct op_call *call, str wanted, int64_t *ret)
{
	struct ulid uid;
	int got;

	if (ulid_parse(wanted, &uid))
		got = store_number(call->store, ret,
			"SELECT key FROM memories WHERE uid = ?1 AND status <> 'forgotten'", "b", uid.b,
			(size_t)ULID_BYTES);
	else
		got = store_number(call->store, ret, "SELECT key FROM memories WHERE ref = ?1 LIMIT 1", "s", wanted);
	if (got == 0)
		return err_set(call->err, -ENOENT, "there is no memory '" STR_FMT "'; list them with: hookd memories",
			STR_ARG(str_cut_utf8(wanted, 100)));
	return MIN(got, 0);
}

/* What it took the place of, and still does. */
static int write_predecessors(struct op_call *call, int64_t key)
{
	return op_write_list(call, "predecessors",
		store_ask(call->store,
			"SELECT ulid_text(o.uid), l.kind, o.text FROM memories m JOIN memory_links l ON l.source = "
			"m.uid "
			"JOIN memories o ON o.uid = l.target AND o.successor = m.uid WHERE m.key = ?1 ORDER BY l.at, "
			"l.target",
			"i", key),
		predecessor_columns);
}

int op_write_memory(struct op_call *call, str wanted)
{
	int64_t key = 0;
	int got = op_find_memory(call, wanted, &key);
	struct query *q;

	if (got < 0)
		return got;
	q = store_ask(call->store, MEMORY_SELECT "WHERE m.key = ?1", "i", key);
	got = query_step(q);
	jw_object(call->w);
	jw_field_str(call->w, "kind", STR("memory"));
	if (got == 1)
		op_write_columns(call->w, q, memory_columns);
	query_reset(q);
	if (got >= 0)
		got = write_predecessors(call, key);
	jw_end_object(call->w);
	return MIN(got, 0);
}

int op_memory(struct op_call *call)
{
	return op_write_memory(call, op_text(call, "id"));
}

/* -- recall ------------------------------------------------------------------------------------ */

/* For fitting the confidence. */
static void write_features(struct op_call *call, const float features[FEATURES])
{
	if (!op_bool(call, "features"))
		return;
	jw_key(call->w, "features");
	jw_array(call->w);
	for (int f = 0; f < FEATURES; f++)
		jw_raw(call->w, arena_strf(call->arena, "%.4f", (double)features[f]));
	jw_end_array(call->w);
}

static int write_hit(struct op_call *call, const struct hit *h, int64_t *written)
{
	struct query *q = store_ask(call->store,
		MEMORY_SELECT "WHERE m.key = ?1 AND m.status = 'active' AND NOT m.muted", "i", h->key);
	int got = query_step(q);

	if (got == 1) {
		str ref = query_str(q, 9);

		jw_object(call->w);
		jw_field_str(call->w, "id", query_str(q, 1));
		jw_field_str(call->w, "ref", str_is_set(ref) ? ref : STR_NONE);
		jw_field_str(call->w, "kind", STR("memory"));
		jw_key(call->w, "score");
		jw_raw(call->w, arena_strf(call->arena, "%.3f", h->score));
		jw_key(call->w, "confidence");
		jw_raw(call->w, arena_strf(call->arena, "%.3f", h->confidence));
		jw_field_str(call->w, "type", query_str(q, 2));
		jw_field_str(call->w, "text", query_str(q, 3));
		jw_field_str(call->w, "file", query_str(q, 4));
		write_features(call, h->features);
		jw_end_object(call->w);
		++*written;
	}
	query_reset(q);
	return MIN(got, 0);
}

/* The memories of a project and those for all projects, as a prompt gets them. Each list keeps its order; of the two
 * that are next the surer one comes first. */
static int search_both(struct op_call *call, str query, int64_t project, struct hit ret[2 * HITS_MAX])
{
	struct hit hits[2][HITS_MAX];
	int n[2] = { 0, 0 }, at[2] = { 0, 0 }, total = 0;

	n[0] = memories_search(call->ctx->memories, call->store, 0, query, true, hits[0], HITS_MAX);
	if (project && n[0] >= 0)
		n[1] = memories_search(call->ctx->memories, call->store, project, query, true, hits[1], HITS_MAX);
	if (n[0] < 0 || n[1] < 0)
		return MIN(n[0], n[1]);
	while (at[0] < n[0] || at[1] < n[1]) {
		bool own = at[0] == n[0] || (at[1] < n[1] && hits[1][at[1]].confidence >= hits[0][at[0]].confidence);

		ret[total++] = hits[own][at[own]];
		at[own]++;
	}
	return total;
}

static void write_code(struct op_call *call, const struct code_hit *h)
{
	str place =
		arena_strf(call->arena, STR_FMT ":%u-%u", STR_ARG(h->path), h->line, h->line + MAX(h->lines, 1u) - 1);

	jw_object(call->w);
	jw_field_str(call->w, "id", place);
	jw_field_str(call->w, "ref", place);
	jw_field_str(call->w, "kind", STR("code"));
	jw_key(call->w, "score");
	jw_raw(call->w, arena_strf(call->arena, "%.3f", (double)h->score));
	jw_key(call->w, "confidence");
	jw_raw(call->w, arena_strf(call->arena, "%.3f", (double)h->confidence));
	jw_field_str(call->w, "type", str_of(chunk_kind_name(h->kind)));
	jw_field_str(call->w, "file", h->path);
	jw_field_str(call->w, "path", h->path);
	jw_field_int(call->w, "line", h->line);
	jw_field_int(call->w, "lines", h->lines);
	if (!str_empty(h->symbol))
		jw_field_str(call->w, "symbol", h->symbol);
	write_features(call, h->features);
	jw_end_object(call->w);
}

/* What is searched for one query. */
struct recalled {
	str query;
	int64_t project;
	const char *root; /* "": no code */
	bool memories;
};

/* Each list keeps its order; of the two that are next the surer one comes first. */
static int write_hits(struct op_call *call, const struct recalled *q, int64_t limit)
{
	struct hit hits[2 * HITS_MAX];
	struct code_hit *code = arena_alloc(call->arena, HITS_MAX * sizeof *code);
	int64_t written = 0;
	int n = q->memories ? search_both(call, q->query, q->project, hits) : 0, m = 0, r, at[2] = { 0, 0 };

	if (n >= 0 && q->root[0])
		m = code_search(call->ctx->code, q->root, q->query, call->arena, code, (size_t)limit, NULL);
	r = MIN(MIN(n, m), 0);
	jw_key(call->w, "hits");
	jw_array(call->w);
	while (written < limit && r == 0 && (at[0] < n || at[1] < m)) {
		bool from_code = at[0] >= n || (at[1] < m && code[at[1]].confidence > hits[at[0]].confidence);

		if (!from_code) {
			r = write_hit(call, &hits[at[0]++], &written);
			continue;
		}
		write_code(call, &code[at[1]++]);
		written++;
	}
	jw_end_array(call->w);
	return r;
}

/* An unknown directory has what is for all projects; an unknown name is a mistake, of this query alone. */
static int recall_one(struct op_call *call, const struct json *item, int64_t limit, bool memories, bool code)
{
	str project = json_str(json_get(item, STR("project")));
	int64_t key = 0;
	int got = str_empty(project) ? 1 : memory_project_find(call->store, project, &key);
	bool unknown = got == 0 && project.p[0] != '/';
	char shown[NAME_SHOWN], root[FS_PATH] = "";

	if (code && !unknown && !str_empty(project) && op_root_of(call, project, root) < 0) {
		root[0] = 0;
		call->err->text[0] = 0; /* a name of several projects has memories, and no code */
	}
	jw_object(call->w);
	jw_key(call->w, "id");
	if (json_get(item, STR("id")))
		jw_value(call->w, json_get(item, STR("id")));
	else
		jw_null(call->w);
	if (unknown) {
		jw_field_str(call->w, "error",
			arena_strf(call->arena, "there is no project '%s'; list them with: hookd project list",
				name_shown(project, shown)));
		jw_key(call->w, "hits");
		jw_array(call->w);
		jw_end_array(call->w);
	} else if (got >= 0) {
		got = write_hits(call,
			&(struct recalled){ json_str(json_get(item, STR("query"))), key, root, memories }, limit);
	}
	jw_end_object(call->w);
	return MIN(got, 0);
}

static int check_query(struct op_call *call, const struct json *item)
{
	const struct json *query = json_get(item, STR("query")), *project = json_get(item, STR("project"));

	if (item->type != JSON_OBJECT || !query || query->type != JSON_STRING)
		return err_set(call->err, -EINVAL, "'queries': each must be an object with a text as its 'query'");
	if (project && project->type != JSON_STRING && project->type != JSON_NULL)
		return err_set(call->err, -EINVAL, "'queries': 'project' must be a directory or a name");
	return 0;
}

int op_recall(struct op_call *call)
{
	const struct json *list = op_json(call, "queries");
	int64_t limit = op_int(call, "limit"), n = 0;
	str in = op_text(call, "in");
	bool all = str_empty(in), memories = all || str_find(in, STR("memor")) >= 0,
	     code = all || str_find(in, STR("code")) >= 0;
	int r = memories || code ? 0 : err_set(call->err, -EINVAL, "'in' must be memory, code, or memory,code");

	json_each(item, list)
		r = r < 0 ? r : check_query(call, item);
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_key(call->w, "answers");
	jw_array(call->w);
	json_each(item, list)
		r = r < 0 ? r
			: ++n > BATCH_MAX
			? err_set(call->err, -EINVAL, "at most %d queries at once; ask the rest in further calls",
				  BATCH_MAX)
			: recall_one(call, item, limit, memories, code);
	jw_end_array(call->w);
	jw_end_object(call->w);
	return r;
}
