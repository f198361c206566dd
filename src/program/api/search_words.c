#include "api/search_words.h"

#include <ctype.h>

#include "base/utf8.h"
#include "retrieve/retrieve.h"

enum {
	SNIPPET_BEFORE = 60,
	SNIPPET_BYTES = 240,
	WORDS_MAX = 300, /* of the index, for one piece of a term */
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

static void add_term(struct search_words *t, str text)
{
	bool prefix = text.n > 1 && text.p[text.n - 1] == '*';

	if (prefix)
		text.n--;
	if (!has_words(text) || t->n == SEARCH_TERMS_MAX)
		return;
	t->list[t->n].text = text;
	t->list[t->n++].prefix = prefix;
}

static void split(str query, struct search_words *ret)
{
	size_t i = 0, start;

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

/* -- unspaced scripts -------------------------------------------------------------------------- */

/* Signs at which the index ends a word, though people see none: vowels and tones above and below, and punctuation. */
static const struct {
	uint32_t first, last;
} breaks[] = {
	{ 0x0E31, 0x0E31 },
	{ 0x0E34, 0x0E3A },
	{ 0x0E47, 0x0E4F }, /* Thai */
	{ 0x0EB1, 0x0EB1 },
	{ 0x0EB4, 0x0EBC },
	{ 0x0EC8, 0x0ECF }, /* Lao */
	{ 0x102B, 0x103E },
	{ 0x104A, 0x104F },
	{ 0x1056, 0x1059 }, /* Burmese */
	{ 0x17B4, 0x17D6 }, /* Khmer */
	{ 0x2000, 0x206F },
	{ 0x3000, 0x3004 },
	{ 0x3008, 0x3020 },
	{ 0x3030, 0x3030 },
	{ 0x30FB, 0x30FB },
	{ 0xFF00, 0xFF0F },
	{ 0xFF1A, 0xFF20 },
	{ 0xFF3B, 0xFF40 },
	{ 0xFF5B, 0xFF65 },
};

static bool is_break(const char *p, size_t len)
{
	static const uint8_t first_bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	uint32_t c = (unsigned char)p[0] & first_bits[len];

	if (len == 1)
		return !isalnum((unsigned char)p[0]);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3F);
	for (size_t i = 0; i < countof(breaks); i++)
		if (c >= breaks[i].first && c <= breaks[i].last)
			return true;
	return false;
}

/* The next run of characters that is in one word of the index. */
static bool next_piece(str *rest, str *ret)
{
	size_t n = 0, len;

	*ret = STR_NONE;
	while (rest->n) {
		len = utf8_sequence((const unsigned char *)rest->p + n, rest->n - n);
		if (n < rest->n && len && !is_break(rest->p + n, len)) {
			n += len;
			if (n < rest->n)
				continue;
		}
		if (n) {
			*ret = str_head(*rest, n);
			*rest = str_from(*rest, n);
			return true;
		}
		*rest = str_from(*rest, len ? len : 1);
	}
	return false;
}

/* The words of the index that hold it, as alternatives. */
static int add_piece(struct op_call *call, str piece, struct buf *b)
{
	struct query *q = store_ask(call->store,
		"SELECT term FROM vocabulary WHERE instr(term, lower(?1)) ORDER BY doc DESC LIMIT ?2", "si", piece,
		(int64_t)WORDS_MAX);
	int got, n = 0;

	buf_add_str(b, STR("("));
	while ((got = query_step(q)) == 1)
		buf_addf(b, "%s\"" STR_FMT "\"", n++ ? " OR " : "", STR_ARG(query_str(q, 0)));
	query_reset(q);
	if (!n)
		buf_addf(b, "\"" STR_FMT "\"", STR_ARG(piece)); /* which no text has */
	buf_add_str(b, STR(")"));
	return MIN(got, 0);
}

static int expand(struct op_call *call, str term, str *ret)
{
	struct buf b = BUF_INIT(MIB(1));
	str piece;
	int r = 0;

	while (r == 0 && next_piece(&term, &piece)) {
		buf_add_str(&b, b.len ? STR(" AND ") : STR("("));
		r = add_piece(call, piece, &b);
	}
	buf_add_str(&b, STR(")"));
	if (!b.full && b.len > 1)
		*ret = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	return r;
}

int search_words_read(struct op_call *call, str query, struct search_words *ret)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	int r = 0;

	*ret = (struct search_words){ 0 };
	split(query, ret);
	jw_array(&w);
	for (size_t i = 0; i < ret->n && r == 0; i++) {
		ret->list[i].match = STR_NONE;
		if (!terms_are_unspaced(ret->list[i].text))
			continue;
		jw_str(&w, ret->list[i].text);
		r = expand(call, ret->list[i].text, &ret->list[i].match);
	}
	jw_end_array(&w);
	ret->literal = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	return r;
}

str search_words_match(struct arena *a, const struct search_words *t, bool all)
{
	struct buf b = BUF_INIT(MIB(4));
	str text;

	for (size_t i = 0; i < t->n; i++) {
		buf_add_str(&b, !i ? STR("") : all ? STR(" AND ") : STR(" OR "));
		if (str_is_set(t->list[i].match)) {
			buf_add_str(&b, t->list[i].match);
			continue;
		}
		buf_add_char(&b, '"');
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

str search_words_snippet(struct arena *a, str text, const struct search_words *t)
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
