#include "base/diff.h"

#include <stdlib.h>

#include "base/alloc.h"

/* CONTEXT: unchanged lines shown around a change. STEPS_MAX: changed lines beyond which the
 * shortest script is not looked for; the search keeps a row of numbers for each. */
enum { CONTEXT = 3, STEPS_MAX = 1000 };

struct lines {
	str *at;
	size_t n;
};

/* One line of the result: kept (' '), taken out ('-') or put in ('+'). */
struct step {
	char op;
	str line;
};

struct script {
	struct step *steps;
	size_t n;
};

/* Lines with their line end, so that a missing last one counts as a difference. */
static struct lines split_lines(str text)
{
	struct lines l = { 0 };
	size_t cap = 1;

	for (size_t i = 0; i < text.n; i++)
		cap += text.p[i] == '\n';
	l.at = xcalloc(cap, sizeof *l.at);
	while (text.n) {
		ptrdiff_t nl = str_find_char(text, '\n');
		size_t n = nl < 0 ? text.n : (size_t)nl + 1;

		l.at[l.n++] = str_head(text, n);
		text = str_from(text, n);
	}
	return l;
}

static void add_steps(struct script *s, char op, const str *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->steps[s->n++] = (struct step){ op, lines[i] };
}

/* Myers' search: v[k] is how far a path on diagonal k has come; each round's row is kept so that
 * the path can be walked back. Returns the number of changes, or -1 past STEPS_MAX. */
static int search(const str *a, int n, const str *b, int m, int **rows)
{
	int v[2 * STEPS_MAX + 3] = { 0 }, *mid = v + STEPS_MAX + 1;

	for (int d = 0; d <= STEPS_MAX; d++) {
		rows[d] = xcalloc((size_t)d * 2 + 3, sizeof(int));
		memcpy(rows[d], mid - d - 1, ((size_t)d * 2 + 3) * sizeof(int));
		for (int k = -d; k <= d; k += 2) {
			int x = k == -d || (k != d && mid[k - 1] < mid[k + 1]) ? mid[k + 1] : mid[k - 1] + 1;

			while (x < n && x - k < m && x - k >= 0 && str_eq(a[x], b[x - k]))
				x++;
			mid[k] = x;
			if (k == n - m && x >= n)
				return d;
		}
	}
	return -1;
}

/* Walks the path back and writes its steps in order, ending at steps[end]. */
static void walk_back(struct script *s, const str *a, int n, const str *b, int m, int **rows, int d)
{
	size_t total = (size_t)(n + m + d) / 2, at = s->n + total;
	int x = n, y = m;

	s->n += total;
	for (; d >= 0; d--) {
		const int *mid = rows[d] + d + 1;
		int k = x - y, from_x, from_y;

		from_x = k == -d || (k != d && mid[k - 1] < mid[k + 1]) ? mid[k + 1] : mid[k - 1];
		from_y = from_x - (k == -d || (k != d && mid[k - 1] < mid[k + 1]) ? k + 1 : k - 1);
		if (d == 0)
			from_x = from_y = 0;
		while (x > from_x && y > from_y) {
			x--, y--;
			s->steps[--at] = (struct step){ ' ', a[x] };
		}
		if (d && x == from_x)
			s->steps[--at] = (struct step){ '+', b[--y] };
		else if (d)
			s->steps[--at] = (struct step){ '-', a[--x] };
	}
}

static void add_middle(struct script *s, const str *a, size_t n, const str *b, size_t m)
{
	int *rows[STEPS_MAX + 1] = { 0 };
	int d = n < 1 << 30 && m < 1 << 30 ? search(a, (int)n, b, (int)m, rows) : -1;

	if (d >= 0) {
		walk_back(s, a, (int)n, b, (int)m, rows, d);
	} else {
		add_steps(s, '-', a, n);
		add_steps(s, '+', b, m);
	}
	for (size_t i = 0; i < countof(rows); i++)
		free(rows[i]);
}

static struct script compare(const struct lines *a, const struct lines *b)
{
	struct script s = { .steps = xcalloc(a->n + b->n + 1, sizeof(struct step)) };
	size_t shared = MIN(a->n, b->n), head = 0, tail = 0;

	while (head < shared && str_eq(a->at[head], b->at[head]))
		head++;
	while (tail < shared - head && str_eq(a->at[a->n - 1 - tail], b->at[b->n - 1 - tail]))
		tail++;
	add_steps(&s, ' ', a->at, head);
	add_middle(&s, a->at + head, a->n - head - tail, b->at + head, b->n - head - tail);
	add_steps(&s, ' ', a->at + a->n - tail, tail);
	return s;
}

/* The next run of steps worth showing: changes with context, joined when the contexts meet. */
static bool next_hunk(const struct script *s, size_t from, size_t *ret_begin, size_t *ret_end)
{
	size_t first = from, last, quiet = 0;

	while (first < s->n && s->steps[first].op == ' ')
		first++;
	if (first == s->n)
		return false;
	last = first;
	for (size_t i = first; i < s->n && quiet <= 2 * CONTEXT; i++) {
		quiet = s->steps[i].op == ' ' ? quiet + 1 : 0;
		if (!quiet)
			last = i;
	}
	*ret_begin = first - from > CONTEXT ? first - CONTEXT : from;
	*ret_end = MIN(s->n, last + 1 + CONTEXT);
	return true;
}

static void write_range(struct buf *b, char sign, size_t before, size_t count)
{
	buf_addf(b, " %c%zu,%zu", sign, count ? before + 1 : before, count);
}

static void write_hunk(struct buf *b, const struct script *s, size_t begin, size_t end)
{
	size_t old_before = 0, new_before = 0, old_count = 0, new_count = 0;

	for (size_t i = 0; i < end; i++) {
		size_t *old = i < begin ? &old_before : &old_count, *new_ = i < begin ? &new_before : &new_count;

		*old += s->steps[i].op != '+';
		*new_ += s->steps[i].op != '-';
	}
	buf_add_str(b, STR("@@"));
	write_range(b, '-', old_before, old_count);
	write_range(b, '+', new_before, new_count);
	buf_add_str(b, STR(" @@\n"));
	for (size_t i = begin; i < end; i++) {
		buf_add_char(b, s->steps[i].op);
		buf_add_str(b, s->steps[i].line);
		if (!str_ends(s->steps[i].line, STR("\n")))
			buf_add_str(b, STR("\n\\ No newline at end of file\n"));
	}
}

void diff_write(struct buf *b, const char *old_name, str old, const char *new_name, str new_text)
{
	struct lines before, after;
	struct script s;
	size_t begin, end = 0;

	if (str_eq(old, new_text))
		return;
	before = split_lines(old);
	after = split_lines(new_text);
	s = compare(&before, &after);
	buf_addf(b, "--- %s\n+++ %s\n", old_name, new_name);
	while (next_hunk(&s, end, &begin, &end))
		write_hunk(b, &s, begin, end);
	free(s.steps);
	free(before.at);
	free(after.at);
}
