/* search: prompts, answers, commands, plans and memories by their words.
 *
 * The index (schema/0003) holds words and no texts: `texts` says which row a hit stands for. Ranking every hit of a
 * common word would cost a tenth of a second in a large store, so the newest hits are taken from the index and ranked;
 * filters are applied to those, and when too few are left, to more of them. Memories have an index of their own. */
#include <errno.h>

#include "api/ops_code.h"
#include "api/search_words.h"
#include "memory/memory.h"

enum {
	FIRST_LOOK = 1000, /* hits taken from the index before filters */
	WIDER = 20,        /* and this many times more, when that was not enough */
	PROJECTS_MAX = 16, /* whose memories are searched, when none is named */
	MEMORIES_MAX = 20, /* of each */
	ROOTS_MAX = 4,     /* repositories whose code is searched, when none is named */
	CODE_MAX = 20,     /* of each */
	CODE_LINES = 20,
};

/* Where to search, as bits; those of texts are their kinds. */
enum { IN_PLANS = 1 << 3, IN_SESSIONS = 7, IN_MEMORY = 1 << 4, IN_CODE = 1 << 5, IN_TEXTS = 15, IN_ALL = 31 };

static const char *const kinds[] = { "prompt", "answer", "command", "plan" };

/* -- hits -------------------------------------------------------------------------------------- */

static const char search_sql[] =
	"WITH hit AS MATERIALIZED (SELECT rowid AS id, bm25(words) AS score FROM words WHERE words MATCH ?6 "
	"  ORDER BY rowid DESC LIMIT ?7) "
	"SELECT x.kind, x.row, CAST(-1000 * h.score AS INTEGER), s.native_id, s.agent, s.key, "
	"  coalesce(m.name, p.name), "
	"  coalesce(b.started_at, a.started_at, a.ended_at, l.updated_at), coalesce(b.number, ab.number), "
	"  CASE x.kind WHEN 0 THEN b.prompt WHEN 1 THEN b.response WHEN 2 THEN a.input ->> '$.command' "
	"  ELSE l.text END, "
	"  l.path, "
	"  (length(CASE x.kind WHEN 0 THEN b.prompt WHEN 1 THEN b.response WHEN 2 THEN a.input ->> '$.command' ELSE "
	"l.text "
	"  END) + 3) / 4 "
	"FROM hit h JOIN texts x ON x.id = h.id "
	"LEFT JOIN batches b ON x.kind < 2 AND b.key = x.row "
	"LEFT JOIN activities a ON x.kind = 2 AND a.key = x.row LEFT JOIN batches ab ON ab.key = a.batch "
	"LEFT JOIN plans l ON x.kind = 3 AND l.key = x.row "
	"JOIN sessions s ON s.key = coalesce(b.session, a.session, l.session) "
	"LEFT JOIN projects p ON p.key = s.project LEFT JOIN projects m ON m.key = p.parent "
	"WHERE ?8 >> x.kind & 1 AND " OP_FILTER_SQL
	"  AND coalesce(b.started_at, a.started_at, a.ended_at, l.updated_at) BETWEEN ?3 AND ?4 "
	"  AND (NOT ?11 OR NOT EXISTS (SELECT 1 FROM json_each(?10) WHERE NOT instr(lower(CASE x.kind WHEN 0 THEN "
	"b.prompt "
	"  WHEN 1 THEN b.response WHEN 2 THEN a.input ->> '$.command' ELSE l.text END), lower(value)))) "
	"ORDER BY h.score, 8 DESC LIMIT ?9";

static const struct op_column hit_columns[] = { { "", 'i' }, { "", 'i' }, { "", 'i' }, { "session", 's' },
	{ "agent", 's' }, { "session_key", 'i' }, { "project", 's' }, { "at_us", 'i' }, { "prompt_number", 'i' },
	{ "", 's' }, { "path", 's' }, { "tokens", 'i' }, { 0 } };

const struct op_column op_search_result[] = {
	{ "hits", 'l',
		(const struct op_column[]){ { "id", 's' }, { "kind", 's' }, { "score", 'n' }, { "confidence", 's' },
			{ "type", 's' }, { "session", 's' }, { "agent", 's' }, { "session_key", 'i' },
			{ "project", 's' }, { "at_us", 'i' }, { "prompt_number", 'i' }, { "path", 's' },
			{ "file", 's' }, { "line", 'i' }, { "lines", 'i' }, { "symbol", 's' }, { "tokens", 'i' },
			{ "snippet", 's' }, { 0 } } },
	{ 0 }
};

/* One kind of search: all words or any of them, in this many of the newest. */
struct look {
	bool all_words;
	int64_t take;
};

static const struct look looks[] = {
	{ true, FIRST_LOOK },
	{ true, FIRST_LOOK *WIDER },
	{ false, FIRST_LOOK },
	{ false, FIRST_LOOK *WIDER },
};

static void write_hit(struct op_call *call, struct json_writer *w, struct query *q, const struct search_words *t,
	bool all_words)
{
	int64_t what = query_int(q, 0) & 3, milli = query_int(q, 2);

	jw_object(w);
	jw_field_str(w, "id", arena_strf(call->arena, "%s:%lld", kinds[what], (long long)query_int(q, 1)));
	jw_field_str(w, "kind", str_of(kinds[what]));
	jw_key(w, "score");
	jw_raw(w, arena_strf(call->arena, "%lld.%03lld", (long long)(milli / 1000), (long long)(milli % 1000)));
	jw_field_str(w, "confidence", all_words ? STR("high") : STR("low"));
	op_write_columns(w, q, hit_columns);
	jw_field_str(w, "snippet", search_words_snippet(call->arena, query_str(q, 9), t));
	jw_end_object(w);
}

/* Items of an array into b. *ret_more: the index has more than were looked at. */
static int look_once(struct op_call *call, const struct op_filter *f, const struct search_words *t, int64_t which,
	const struct look *how, struct buf *b, int64_t *ret_found, bool *ret_more)
{
	str match = search_words_match(call->arena, t, how->all_words);
	struct json_writer w = JSON_WRITER(b);
	int64_t in_index = 0;
	struct query *q;
	int got = store_number(call->store, &in_index,
		"SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)", "si", match, how->take);

	*ret_found = 0;
	*ret_more = in_index >= how->take;
	if (got < 0 || !in_index)
		return got < 0 ? got : 0;
	buf_clear(b);
	jw_array(&w);
	q = store_ask(call->store, search_sql, OP_FILTER_TYPES "siiisi", OP_FILTER_ARGS(f), match, how->take, which,
		f->limit, t->literal, (int64_t)how->all_words);
	while ((got = query_step(q)) == 1) {
		write_hit(call, &w, q, t, how->all_words);
		++*ret_found;
	}
	query_reset(q);
	jw_end_array(&w);
	return got;
}

/* The items of an array, as text. */
static int find_texts(struct op_call *call, const struct op_filter *f, const struct search_words *t, int64_t which,
	str *ret)
{
	struct buf b = BUF_INIT(LIMIT_RPC_REPLY);
	int64_t found = 0;
	bool more = false;
	int r = 0;

	for (size_t i = 0; i < countof(looks) && r == 0; i++) {
		bool wider = i && looks[i].all_words == looks[i - 1].all_words;

		/* Further only for more of the same words, or when not one hit has all of them. */
		if (wider ? !more || found >= f->limit : i && (found || t->n < 2))
			continue;
		r = look_once(call, f, t, which, &looks[i], &b, &found, &more);
	}
	*ret = found ? arena_str(call->arena, str_n(b.p + 1, b.len - 2)) : STR_NONE;
	buf_release(&b);
	return r;
}

/* -- memories ---------------------------------------------------------------------------------- */

static const char *confidence_word(float confidence)
{
	return confidence >= 0.75F ? "high" : confidence >= 0.6F ? "medium" : "low";
}

static int write_memory(struct op_call *call, const struct op_filter *f, const struct search_words *t,
	const struct hit *h, int64_t *written)
{
	static const struct op_column columns[] = { { "id", 's' }, { "type", 's' }, { "", 's' }, { "file", 's' },
		{ "at_us", 'i' }, { "project", 's' }, { "session", 's' }, { "agent", 's' }, { "tokens", 'i' }, { 0 } };
	struct query *q = store_ask(call->store,
		"SELECT ulid_text(m.uid), m.type, m.text, m.file, m.created_at, p.name, s.native_id, s.agent, "
		"(length(m.text) + 3) / 4 FROM memories m LEFT JOIN projects p ON p.key = m.project LEFT JOIN sessions "
		"s ON "
		"s.key = m.session WHERE m.key = ?1 AND m.status = 'active' AND m.created_at BETWEEN ?2 AND ?3 AND "
		"(?4 IS NULL OR s.agent = ?4)",
		"iiis", h->key, f->since_us, f->until_us, f->agent);
	int got = query_step(q);

	if (got == 1) {
		jw_object(call->w);
		jw_field_str(call->w, "kind", STR("memory"));
		jw_key(call->w, "score");
		jw_raw(call->w, arena_strf(call->arena, "%.3f", (double)h->score));
		jw_field_str(call->w, "confidence", str_of(confidence_word(h->confidence)));
		op_write_columns(call->w, q, columns);
		jw_field_str(call->w, "snippet", search_words_snippet(call->arena, query_str(q, 2), t));
		jw_end_object(call->w);
		++*written;
	}
	query_reset(q);
	return MIN(got, 0);
}

/* Whose memories: those of the project and those for all; without one, those that were learned last. */
static int list_projects(struct op_call *call, int64_t project, int64_t ret[PROJECTS_MAX])
{
	struct query *q = store_ask(call->store,
		"SELECT project FROM memories WHERE ?1 IS NULL OR project IN (0, (SELECT coalesce(parent, key) FROM "
		"projects "
		"WHERE key = ?1)) GROUP BY project ORDER BY max(key) DESC LIMIT ?2",
		"ki", project, (int64_t)PROJECTS_MAX);
	int got, n = 0;

	while ((got = query_step(q)) == 1)
		ret[n++] = query_int(q, 0);
	query_reset(q);
	return got < 0 ? got : n;
}

static int compare_hits(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	return x->score > y->score ? -1 : x->score < y->score;
}

/* Those that have most of what was asked for, the surest first. */
static int write_memories(struct op_call *call, const struct op_filter *f, const struct search_words *t,
	int64_t *written)
{
	static const float least = 0.5F;
	int64_t projects[PROJECTS_MAX];
	struct hit hits[PROJECTS_MAX * MEMORIES_MAX];
	int nprojects = list_projects(call, f->project, projects), n = 0, r = MIN(nprojects, 0);

	for (int i = 0; i < nprojects && r == 0; i++) {
		int found = memories_search(call->ctx->memories, call->store, projects[i], f->text, true, hits + n,
			MEMORIES_MAX);

		n += MAX(found, 0);
		r = MIN(found, 0);
	}
	qsort(hits, (size_t)n, sizeof hits[0], compare_hits);
	for (int i = 0; i < n && *written < f->limit && r == 0; i++)
		if (hits[i].covered >= least)
			r = write_memory(call, f, t, &hits[i], written);
	return r;
}

/* -- code -------------------------------------------------------------------------------------- */

static void write_code(struct op_call *call, const struct search_words *t, const char *root, const struct code_hit *h)
{
	str text = op_read_code(call, root, h, CODE_LINES);

	jw_object(call->w);
	jw_field_str(call->w, "id",
		arena_strf(call->arena, STR_FMT ":%u-%u", STR_ARG(h->path), h->line, h->line + MAX(h->lines, 1u) - 1));
	jw_field_str(call->w, "kind", STR("code"));
	jw_key(call->w, "score");
	jw_raw(call->w, arena_strf(call->arena, "%.3f", (double)h->score));
	jw_field_str(call->w, "confidence", str_of(confidence_word(h->confidence)));
	jw_field_str(call->w, "type", str_of(chunk_kind_name(h->kind)));
	jw_field_str(call->w, "project", str_of(root));
	jw_field_str(call->w, "path", h->path);
	jw_field_int(call->w, "line", h->line);
	jw_field_int(call->w, "lines", h->lines);
	if (!str_empty(h->symbol))
		jw_field_str(call->w, "symbol", h->symbol);
	jw_field_int(call->w, "tokens", (int64_t)(text.n + 3) / 4);
	jw_field_str(call->w, "snippet", search_words_snippet(call->arena, text, t));
	jw_end_object(call->w);
}

/* Of the project, or of those that were used last. */
static int write_codes(struct op_call *call, const struct op_filter *f, const struct search_words *t, int64_t *written)
{
	struct query *q = store_ask(call->store,
		"SELECT path FROM projects p WHERE merged IS NULL AND (?1 IS NULL OR key = ?1 OR parent = ?1) ORDER BY "
		"(SELECT max(last_at) FROM sessions WHERE project = p.key) DESC LIMIT ?2",
		"ki", f->project, (int64_t)ROOTS_MAX);
	struct code_hit hits[CODE_MAX];
	int got, r = 0;

	while (r == 0 && (got = query_step(q)) == 1) {
		const char *root = arena_cstr(call->arena, query_str(q, 0));
		int n = code_search(call->ctx->code, root, f->text, call->arena, hits,
			(size_t)MIN(f->limit - *written, (int64_t)CODE_MAX), NULL);

		for (int i = 0; i < n; i++, ++*written)
			write_code(call, t, root, &hits[i]);
		r = MIN(n, 0);
	}
	query_reset(q);
	return r < 0 ? r : MIN(got, 0);
}

/* -- all of it --------------------------------------------------------------------------------- */

static int write_hits(struct op_call *call, struct op_filter *f, const struct search_words *t, int64_t which)
{
	int64_t written = 0;
	str texts = STR_NONE;
	int r = 0;

	jw_key(call->w, "hits");
	jw_array(call->w);
	if (which & IN_MEMORY)
		r = write_memories(call, f, t, &written);
	if (r == 0 && which & IN_CODE)
		r = write_codes(call, f, t, &written);
	f->limit -= written;
	if (r == 0 && which & IN_TEXTS && f->limit > 0)
		r = find_texts(call, f, t, which, &texts);
	if (!str_empty(texts))
		jw_raw(call->w, texts);
	jw_end_array(call->w);
	return r;
}

/* "prompts,commands", "sessions" (prompts, answers and commands), "memory"; -EINVAL says what there is. */
static int read_kinds(struct op_call *call, int64_t *ret)
{
	static const struct {
		const char *name;
		int64_t bits;
	} names[] = { { "prompts", 1 }, { "answers", 2 }, { "commands", 4 }, { "plans", IN_PLANS },
		{ "sessions", IN_SESSIONS }, { "memory", IN_MEMORY }, { "memories", IN_MEMORY },
		{ "code", IN_CODE } };
	str rest = op_text(call, "in"), word;
	size_t i;

	*ret = 0;
	while (!str_empty(rest) && str_split(&rest, ',', &word)) {
		word = str_trim(word);
		for (i = 0; i < countof(names); i++)
			if (str_eq_nocase(word, str_of(names[i].name)) ||
				str_eq_nocase(word, str_head(str_of(names[i].name), strlen(names[i].name) - 1)))
				break;
		if (i == countof(names))
			return err_set(call->err, -EINVAL,
				"'" STR_FMT "' cannot be searched; there are prompts, answers, commands, plans, "
				"sessions, memory, code",
				STR_ARG(str_cut_utf8(word, 40)));
		*ret |= names[i].bits;
	}
	*ret = *ret ? *ret : IN_ALL;
	return 0;
}

int op_search(struct op_call *call)
{
	struct search_words t;
	struct op_filter f;
	int64_t which = 0;
	int r = read_kinds(call, &which);

	op_read_filter(call, &f);
	if (r == 0)
		r = search_words_read(call, f.text, &t);
	if (r < 0)
		return r;
	if (!t.n)
		return err_set(call->err, -EINVAL, "the query contains no word to search for");
	jw_object(call->w);
	r = write_hits(call, &f, &t, which);
	jw_end_object(call->w);
	return r;
}
