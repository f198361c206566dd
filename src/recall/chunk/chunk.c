/* A text becomes chunks: by its tree if there is a grammar, else by windows of lines. */
#include "chunk/internal.h"

const char *chunk_kind_name(enum chunk_kind k)
{
	static const char *const names[] = {
		[CHUNK_LINES] = "lines",
		[CHUNK_FUNCTION] = "function",
		[CHUNK_TYPE] = "type",
		[CHUNK_SECTION] = "section",
		[CHUNK_DATA] = "data",
	};

	return (size_t)k < countof(names) ? names[k] : "lines";
}

static void add_chunk(struct sink *s, unsigned first, unsigned end, enum chunk_kind kind, str symbol)
{
	const struct text_lines *l = s->lines;
	struct chunks *all = s->ret;
	str text;

	while (first < end && line_is_blank(line_at(l, first)))
		first++;
	while (first < end && line_is_blank(line_at(l, end - 1)))
		end--;
	if (first >= end)
		return;
	if (all->n == CHUNKS_MAX) {
		all->cut = true;
		return;
	}
	text = str_n(l->text.p + l->begin[first], l->begin[end] - l->begin[first]);
	if (text.p[text.n - 1] == '\n')
		text.n--;
	if (text.n > CHUNK_BYTES_MAX) { /* one line */
		text = str_cut_utf8(text, CHUNK_BYTES_MAX);
		all->cut = true;
	}
	all->all = grow_array(s->arena, all->all, all->n, &s->cap, sizeof *all->all);
	all->all[all->n++] = (struct chunk){ text, first + 1, end - first, kind, symbol };
}

void sink_lines(struct sink *s, unsigned first, unsigned end, enum chunk_kind kind, str symbol)
{
	while (first < end) {
		unsigned next = lines_window(s->lines, s->language->comment, first, end);

		add_chunk(s, first, next, kind, symbol);
		first = next;
	}
}

void sink_symbol(struct sink *s, str name, unsigned line, enum chunk_kind kind)
{
	enum { SYMBOLS_MAX = 4 * CHUNKS_MAX };
	struct chunks *all = s->ret;

	if (all->nsymbols == SYMBOLS_MAX) {
		all->cut = true;
		return;
	}
	all->symbols = grow_array(s->arena, all->symbols, all->nsymbols, &s->symbols_cap, sizeof *all->symbols);
	all->symbols[all->nsymbols++] = (struct chunk_symbol){ name, line + 1, kind, 0 };
}

/* The last chunk that begins at or before a line. */
static size_t chunk_at(const struct chunks *all, unsigned line)
{
	size_t low = 0, high = all->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (all->all[middle].line <= line)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void sink_finish(struct sink *s)
{
	struct chunks *all = s->ret;
	size_t kept = 0;

	for (size_t i = 0; i < all->nsymbols; i++) {
		struct chunk_symbol symbol = all->symbols[i];
		const struct chunk *in;

		symbol.chunk = chunk_at(all, symbol.line);
		in = &all->all[symbol.chunk];
		/* Those of what was left out are left out with it. */
		if (all->n && symbol.line >= in->line && symbol.line < in->line + in->lines)
			all->symbols[kept++] = symbol;
	}
	all->nsymbols = kept;
}

void chunker_read(struct chunker *c, const struct language *l, str text, bool plain, struct arena *a,
	struct chunks *ret)
{
	struct text_lines lines;
	struct sink sink = { .arena = a, .lines = &lines, .language = l, .ret = ret };
	const struct grammar *g = plain ? NULL : grammar_of(c, l);
	bool too_much = false;

	*ret = (struct chunks){ 0 };
	lines_open(text, a, &lines);
	if (g && lines.n && tree_read(g, &sink)) {
		ret->by_grammar = true;
	} else {
		too_much = g && lines.n;
		sink_lines(&sink, 0, lines.n, CHUNK_LINES, STR_NONE);
	}
	sink_finish(&sink);
	ret->cut |= lines.cut || too_much;
}
