/* search: prompts, answers, commands and plans by their words.
 *
 * The index (schema/0003) holds words and no texts: `texts` says which row a hit stands for. Ranking every hit of a
 * common word would cost a tenth of a second in a large store, so the newest hits are taken from the index and ranked;
 * filters are applied to those, and when too few are left, to more of them. */
#include <ctype.h>
#include <errno.h>

#include "api/ops.h"
#include "base/utf8.h"

enum {
	TERMS_MAX = 32,
	FIRST_LOOK = 1000, /* hits taken from the index before filters */
	WIDER = 20,        /* and this many times more, when that was not enough */
	SNIPPET_BEFORE = 60,
	SNIPPET_BYTES = 240,
};

static const char *const kinds[] = { "prompt", "answer", "command", "plan" };

struct term {
	str text;
	bool prefix;
};

struct terms {
	struct term list[TERMS_MAX];
	size_t n;
};

/* -- what was asked ---------------------------------------------------------------------------- */

/* The index knows letters and digits; a term without any would match nothing and hide the others. */
static bool has_words(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (isalnum((unsigned char)s.p[i]) || (unsigned char)s.p[i] >= 0x80)
			return true;
	return false;
}

static void add_term(struct terms *t, str text)
{
	bool prefix = text.n > 1 && text.p[text.n - 1] == '*';

	if (prefix)
		text.n--;
	if (has_words(text) && t->n < TERMS_MAX)
		t->list[t->n++] = (struct term){ text, prefix };
}

/* Words, and "several words" that must be adjacent. There is no other syntax, so no query is invalid. */
static void read_terms(str query, struct terms *ret)
{
	size_t i = 0, start;

	*ret = (struct terms){ 0 };
	while (i < query.n) {
		if (query.p[i] == '"') {
			start = ++i;
			while (i < query.n && query.p[i] != '"')
				i++;
			add_term(ret, str_n(query.p + start, i - start));
			i++;
		} else if (isspace((unsigned char)query.p[i])) {
			i++;
		} else {
			start = i;
			while (i < query.n && !isspace((unsigned char)query.p[i]) && query.p[i] != '"')
				i++;
			add_term(ret, str_n(query.p + start, i - start));
		}
	}
}

static str match_text(struct arena *a, const struct terms *t, const char *between)
{
	struct buf b = BUF_INIT(KIB(64));
	str text;

	for (size_t i = 0; i < t->n; i++) {
		buf_addf(&b, "%s\"", i ? between : "");
		buf_add_str(&b, t->list[i].text); /* has no quotes in it: they end a term */
		buf_addf(&b, "\"%s", t->list[i].prefix ? " *" : "");
	}
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* -- snippets ---------------------------------------------------------------------------------- */

static ptrdiff_t find_nocase(str in, str what)
{
	for (size_t i = 0; what.n && i + what.n <= in.n; i++)
		if (tolower((unsigned char)in.p[i]) == tolower((unsigned char)what.p[0]) &&
			str_eq_nocase(str_n(in.p + i, what.n), what))
			return (ptrdiff_t)i;
	return -1;
}

/* A piece of the text around the first place that has one of the terms. */
static str snippet(struct arena *a, str text, const struct terms *t)
{
	size_t from = SIZE_MAX;
	bool cut;
	ptrdiff_t at;

	for (size_t i = 0; i < t->n; i++) {
		at = find_nocase(text, t->list[i].text);
		if (at >= 0 && (size_t)at < from)
			from = (size_t)at;
	}
	from = from == SIZE_MAX || from < SNIPPET_BEFORE ? 0 : from - SNIPPET_BEFORE;
	while (from && from < text.n && ((unsigned char)text.p[from] & 0xC0) == 0x80)
		from++;
	text = str_from(text, from);
	cut = text.n > SNIPPET_BYTES;
	text = str_cut_utf8(text, SNIPPET_BYTES);
	return arena_strf(a, "%s" STR_FMT "%s", from ? "…" : "", STR_ARG(text), cut ? "…" : "");
}

/* -- hits -------------------------------------------------------------------------------------- */

static const char search_sql[] =
	"WITH hit AS MATERIALIZED (SELECT rowid AS id, bm25(words) AS score FROM words WHERE words MATCH ?6 "
	"  ORDER BY rowid DESC LIMIT ?7) "
	"SELECT x.kind, x.row, CAST(-1000 * h.score AS INTEGER), s.native_id, s.agent, s.key, "
	"  coalesce(m.name, p.name), "
	"  coalesce(b.started_at, a.started_at, a.ended_at, l.updated_at), coalesce(b.number, ab.number), "
	"  CASE x.kind WHEN 0 THEN b.prompt WHEN 1 THEN b.response WHEN 2 THEN a.input ->> '$.command' "
	"  ELSE l.text END, "
	"  l.path "
	"FROM hit h JOIN texts x ON x.id = h.id "
	"LEFT JOIN batches b ON x.kind < 2 AND b.key = x.row "
	"LEFT JOIN activities a ON x.kind = 2 AND a.key = x.row LEFT JOIN batches ab ON ab.key = a.batch "
	"LEFT JOIN plans l ON x.kind = 3 AND l.key = x.row "
	"JOIN sessions s ON s.key = coalesce(b.session, a.session, l.session) "
	"LEFT JOIN projects p ON p.key = s.project LEFT JOIN projects m ON m.key = p.parent "
	"WHERE ?8 >> x.kind & 1 AND " OP_FILTER_SQL
	"  AND coalesce(b.started_at, a.started_at, a.ended_at, l.updated_at) BETWEEN ?3 AND ?4 "
	"ORDER BY h.score, 8 DESC LIMIT ?9";

static const struct op_column hit_columns[] = { { "", 'i' }, { "", 'i' }, { "", 'i' }, { "session", 's' },
	{ "agent", 's' }, { "session_key", 'i' }, { "project", 's' }, { "at_us", 'i' }, { "prompt_number", 'i' },
	{ "", 's' }, { "path", 's' }, { 0 } };

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

static void write_hit(struct op_call *call, struct json_writer *w, struct query *q, const struct terms *t,
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
	jw_field_str(w, "snippet", snippet(call->arena, query_str(q, 9), t));
	jw_end_object(w);
}

/* Items of an array into b. *ret_more: the index has more than were looked at. */
static int look_once(struct op_call *call, const struct op_filter *f, const struct terms *t, int64_t which,
	const struct look *how, struct buf *b, int64_t *ret_found, bool *ret_more)
{
	str match = match_text(call->arena, t, how->all_words ? " AND " : " OR ");
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
	q = store_ask(call->store, search_sql, OP_FILTER_TYPES "siii", OP_FILTER_ARGS(f), match, how->take, which,
		f->limit);
	while ((got = query_step(q)) == 1) {
		write_hit(call, &w, q, t, how->all_words);
		++*ret_found;
	}
	query_reset(q);
	jw_end_array(&w);
	return got;
}

static int write_hits(struct op_call *call, const struct op_filter *f, const struct terms *t, int64_t which)
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
	jw_key(call->w, "hits");
	jw_raw(call->w, b.len ? buf_str(&b) : STR("[]"));
	buf_release(&b);
	return r;
}

/* "prompts,commands", "sessions" (all but plans), "plans"; -EINVAL says what there is. */
static int read_kinds(struct op_call *call, int64_t *ret)
{
	static const struct {
		const char *name;
		int64_t bits;
	} names[] = { { "prompts", 1 }, { "answers", 2 }, { "commands", 4 }, { "plans", 8 }, { "sessions", 7 } };
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
				"sessions",
				STR_ARG(str_cut_utf8(word, 40)));
		*ret |= names[i].bits;
	}
	*ret = *ret ? *ret : 15;
	return 0;
}

int op_search(struct op_call *call)
{
	struct terms t;
	struct op_filter f;
	int64_t which = 0;
	int r = read_kinds(call, &which);

	op_read_filter(call, &f);
	if (r < 0)
		return r;
	read_terms(f.text, &t);
	if (!t.n)
		return err_set(call->err, -EINVAL, "the query contains no word to search for");
	jw_object(call->w);
	r = write_hits(call, &f, &t, which);
	jw_end_object(call->w);
	return r;
}
