/* By name, and the map: what a repository consists of, in as few words as wanted. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "index/searcher.h"

enum { SYMBOLS_MAX = 100000, NAME_MIN = 2 };

/* -- by name ----------------------------------------------------------------------------------- */

static const char symbol_sql[] =
	"SELECT s.chunk, s.line, s.kind, s.name, c.symbol, (SELECT min(t.line) FROM symbols t WHERE t.chunk = s.chunk "
	"AND t.line > s.line) FROM symbols s JOIN chunks c ON c.key = s.chunk "
	"WHERE s.name >= ?1 AND s.name < ?1 || char(0x10FFFF) "
	"ORDER BY s.name <> ?1 COLLATE BINARY, length(s.name), s.name, s.chunk LIMIT ?2";

/* "Parser.next", "Parser::next", "Parser#next": the last part is what is defined, the rest is where. */
static str last_part(str name, str *ret_where)
{
	for (size_t i = name.n; i-- > 0;)
		if (name.p[i] == '.' || name.p[i] == ':' || name.p[i] == '#') {
			*ret_where = str_head(name, i);
			while (ret_where->n && ret_where->p[ret_where->n - 1] == ':')
				ret_where->n--;
			return str_from(name, i + 1);
		}
	*ret_where = STR_NONE;
	return name;
}

static bool is_in(str symbol, str where)
{
	str rest;

	if (str_empty(where))
		return true;
	(void)last_part(symbol, &rest);
	/* A small type is one piece with what it has. */
	return str_eq_nocase(rest, where) || str_eq_nocase(symbol, where) ||
		(rest.n > where.n && str_eq_nocase(str_from(rest, rest.n - where.n), where));
}

/* A piece may define several names: of this one, from its line to the next one's or to the end of the piece. */
static void name_definition(struct query *q, struct arena *a, struct code_hit *hit)
{
	unsigned end = hit->line + MAX(hit->lines, 1U), line = (unsigned)query_int(q, 1);
	str where, name = query_str(q, 3);

	if (!query_is_null(q, 5))
		end = MIN(end, (unsigned)query_int(q, 5));
	hit->line = line;
	hit->lines = end > line ? end - line : 1;
	hit->kind = (enum chunk_kind)MIN((uint64_t)query_int(q, 2), (uint64_t)CHUNK_DATA);
	if (!str_eq(last_part(hit->symbol, &where), name))
		hit->symbol = arena_str(a, name);
}

int code_symbols(struct code *c, const char *root, str name, struct arena *a, struct code_hit *ret, size_t max)
{
	struct view *v = NULL;
	str where, last = last_part(str_trim(name), &where);
	int r = code_view(c, root, &v), got = 0, n = 0;
	struct query *q;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!last.n) {
		view_unref(v);
		return 0;
	}
	pthread_mutex_lock(&v->lock);
	q = store_ask(v->rows, symbol_sql, "si", last, (int64_t)(where.n ? 20 * max : max));
	while ((size_t)n < max && (got = query_step(q)) == 1) {
		if (!is_in(query_str(q, 4), where))
			continue;
		if ((got = rows_hit(v->rows, query_int(q, 0), a, &ret[n])) != 1)
			continue;
		name_definition(q, a, &ret[n++]);
	}
	query_reset(q);
	pthread_mutex_unlock(&v->lock);
	view_unref(v);
	return got < 0 ? got : n;
}

/* -- the map ----------------------------------------------------------------------------------- */

struct entry {
	str path, name;
	int64_t line;
	enum chunk_kind kind;
	float score;
	size_t order; /* by path and line */
};

static int compare_scores(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_orders(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* A name that is mentioned in many places is worth knowing; one that is defined in many, less so. */
static float worth_of(const struct view *v, str name, int64_t definitions, enum file_class class)
{
	double mentioned = (double)index_frequency(v->parts, v->nparts, name);

	return (float)(log(1 + mentioned) / (double)MAX(definitions, 1) * (class == FILE_CODE ? 1 : .3));
}

static int read_entries(struct view *v, str below, struct arena *a, struct entry **ret, size_t *ret_n)
{
	struct query *q = store_ask(v->rows,
		"SELECT f.path, s.name, s.line, s.kind, f.class, (SELECT count(*) FROM symbols t WHERE t.name = "
		"s.name) "
		"FROM files f JOIN chunks c ON c.file = f.key JOIN symbols s ON s.chunk = c.key WHERE ?1 = '' OR "
		"f.path = ?1 OR (f.path > ?1 || '/' AND f.path < ?1 || '0') ORDER BY f.path, s.line LIMIT ?2",
		"si", str_empty(below) ? STR("") : below, (int64_t)SYMBOLS_MAX);
	size_t n = 0, cap = 0;
	struct entry *all = NULL;
	str path = STR_NONE;
	int got;

	while ((got = query_step(q)) == 1) {
		str name = query_str(q, 1);

		if (name.n < NAME_MIN)
			continue;
		if (n == cap)
			all = xrealloc(all, (cap = cap ? 2 * cap : 256) * sizeof *all);
		if (!str_eq(path, query_str(q, 0)))
			path = arena_str(a, query_str(q, 0));
		all[n] = (struct entry){ .path = path,
			.name = arena_str(a, name),
			.line = query_int(q, 2),
			.kind = (enum chunk_kind)MIN((uint64_t)query_int(q, 3), (uint64_t)CHUNK_DATA),
			.order = n };
		all[n].score = worth_of(v, all[n].name, query_int(q, 5), (enum file_class)query_int(q, 4));
		n++;
	}
	query_reset(q);
	*ret = all;
	*ret_n = n;
	return got;
}

/* How many of the first fit; a file is named once, at worst for each of its symbols. */
static size_t fit(const struct entry *all, size_t n, size_t bytes)
{
	size_t used = 0, i;

	for (i = 0; i < n; i++) {
		bool named = false;

		for (size_t k = i; k-- > 0 && i - k < 200 && !named;)
			named = all[k].path.p == all[i].path.p;
		used += all[i].name.n + 20 + (named ? 0 : all[i].path.n + 1);
		if (used > bytes)
			break;
	}
	return i;
}

/* One line, whatever the name is. */
static void add_path(struct buf *b, str path)
{
	for (size_t i = 0; i < path.n; i++)
		buf_add_char(b, (unsigned char)path.p[i] < ' ' || path.p[i] == 0x7F ? '?' : path.p[i]);
	buf_add_char(b, '\n');
}

static str format(const struct entry *all, size_t n, struct arena *a)
{
	struct buf b = BUF_INIT(MIB(4));
	const char *path = NULL;
	str text;

	for (size_t i = 0; i < n; i++) {
		if (all[i].path.p != path)
			add_path(&b, all[i].path);
		path = all[i].path.p;
		buf_addf(&b, "%7lld %s " STR_FMT "\n", (long long)all[i].line, chunk_kind_name(all[i].kind),
			STR_ARG(all[i].name));
	}
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

int code_map(struct code *c, const char *root, str below, unsigned tokens, struct arena *a, str *ret)
{
	struct entry *all = NULL;
	struct view *v = NULL;
	size_t n = 0;
	int r = code_view(c, root, &v);

	*ret = STR("");
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while (below.n && below.p[below.n - 1] == '/')
		below.n--;
	pthread_mutex_lock(&v->lock);
	r = read_entries(v, below, a, &all, &n);
	pthread_mutex_unlock(&v->lock);
	if (r == 0 && n) {
		qsort(all, n, sizeof *all, compare_scores);
		n = fit(all, n, 4 * (size_t)tokens);
		qsort(all, n, sizeof *all, compare_orders);
		*ret = format(all, n, a);
	}
	free(all);
	view_unref(v);
	return MIN(r, 0);
}
