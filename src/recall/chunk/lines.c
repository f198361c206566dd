/* Windows of lines: for languages without a grammar, and for what is too long and has no joints. */
#include "chunk/internal.h"

enum {
	/* More would not fit into chunks anyway. */
	LINES_MAX = CHUNKS_MAX * CHUNK_LINES_MAX,
	TAB_WIDTH = 8,
	INDENT_MOST = 40, /* deeper is not worse */
	/* How much worse a place is, in columns of indentation. */
	AFTER_TEXT = 16,
	AFTER_COMMENT = 32,
};

void *grow_array(struct arena *a, void *old, size_t n, size_t *cap, size_t size)
{
	void *more;

	if (n < *cap)
		return old;
	*cap = *cap ? 2 * *cap : 64;
	more = arena_alloc(a, *cap * size);
	if (n)
		memcpy(more, old, n * size);
	return more;
}

void lines_open(str text, struct arena *a, struct text_lines *ret)
{
	size_t cap = text.n / 32 + 64, at = 0;

	*ret = (struct text_lines){ .text = text };
	cap = MIN(cap, (size_t)LINES_MAX + 1);
	ret->begin = arena_alloc(a, cap * sizeof *ret->begin);
	while (at < text.n && ret->n < LINES_MAX) {
		const char *end = memchr(text.p + at, '\n', text.n - at);

		ret->begin = grow_array(a, ret->begin, ret->n + 1u, &cap, sizeof *ret->begin);
		ret->begin[ret->n++] = at;
		at = end ? (size_t)(end - text.p) + 1 : text.n;
	}
	ret->begin[ret->n] = at;
	ret->cut = at < text.n;
}

bool line_is_blank(str line)
{
	for (size_t i = 0; i < line.n; i++)
		if (!memchr(" \t\r\n\f\v", line.p[i], 6))
			return false;
	return true;
}

static unsigned indent_of(str line)
{
	unsigned columns = 0;

	for (size_t i = 0; i < line.n && columns < INDENT_MOST; i++)
		if (line.p[i] == '\t')
			columns += TAB_WIDTH;
		else if (line.p[i] == ' ')
			columns++;
		else
			break;
	return MIN(columns, (unsigned)INDENT_MOST);
}

/* How bad it would be to begin a window at a line: what is deeper, or follows closely, belongs to what is before it. */
static unsigned badness_of(const struct text_lines *l, const char *comment, unsigned line)
{
	str before = line_at(l, line - 1);
	unsigned worse = AFTER_TEXT;

	if (line_is_blank(before))
		worse = 0;
	else if (comment && str_starts(str_trim(before), str_of(comment)))
		worse = AFTER_COMMENT;
	return indent_of(line_at(l, line)) + worse;
}

unsigned lines_window(const struct text_lines *l, const char *comment, unsigned first, unsigned end)
{
	unsigned most = first + 1, best, least = ~0u;

	while (most < end && lines_fit(l, first, most + 1))
		most++;
	if (most >= end)
		return end;
	best = most;
	for (unsigned i = most; i > first + (most - first) / 2; i--) {
		unsigned badness;

		if (line_is_blank(line_at(l, i)))
			continue;
		badness = badness_of(l, comment, i);
		if (badness < least) {
			best = i;
			least = badness;
		}
	}
	return best;
}
