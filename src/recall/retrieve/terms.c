/* Terms. A word is a run of letters, digits and '_'. An identifier gives itself and its parts; scripts that are written
 * without spaces give each character and each pair of neighbours. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "retrieve/retrieve.h"

enum { WORD_MAX = 64, PARTS_MAX = 24 };

/* Sorted. They say nothing about what a text is about, and are in nearly all of them. */
static const char *const stop_words[] = { "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "being",
	"but", "by", "can", "could", "d", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "him",
	"his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "me", "my", "no", "not", "of",
	"on", "or", "our", "re", "s", "she", "should", "so", "t", "than", "that", "the", "their", "them", "then",
	"there", "these", "they", "this", "to", "too", "ve", "very", "was", "we", "were", "what", "when", "where",
	"which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your" };

static int compare_word(const void *key, const void *item)
{
	const str *word = key;
	const char *stop = *(const char *const *)item;
	int order = word->p[0] - stop[0]; /* decides nearly always, without a call */

	if (!order)
		order = strncmp(word->p, stop, word->n);
	return order ? order : stop[word->n] ? -1 : 0;
}

static bool is_stop_word(str word)
{
	return word.n <= 6 && bsearch(&word, stop_words, countof(stop_words), sizeof stop_words[0], compare_word);
}

/* -- characters -------------------------------------------------------------------------------- */

enum letter { NOT_A_LETTER, SMALL, CAPITAL, DIGIT, JOINER, UNSPACED };

/* Scripts written without spaces, by first and last character. */
static const struct {
	uint32_t first, last;
} unspaced[] = {
	{ 0x0E00, 0x0EFF },   /* Thai, Lao */
	{ 0x1000, 0x109F },   /* Burmese */
	{ 0x1100, 0x11FF },   /* Hangul letters */
	{ 0x1780, 0x17FF },   /* Khmer */
	{ 0x3040, 0x30FF },   /* Hiragana, Katakana */
	{ 0x3400, 0x9FFF },   /* Han */
	{ 0xAC00, 0xD7FF },   /* Hangul */
	{ 0xF900, 0xFAFF },   /* Han */
	{ 0xFF66, 0xFFDC },   /* half-width Katakana, Hangul */
	{ 0x20000, 0x3FFFF }, /* Han */
};

static enum letter kind_of_wide(uint32_t c)
{
	for (size_t i = 0; i < countof(unspaced); i++)
		if (c >= unspaced[i].first && c <= unspaced[i].last)
			return UNSPACED;
	/* Signs of Latin-1, punctuation, arrows, symbols and pictures. */
	if (c < 0xC0 || c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c < 0x2C00) || (c >= 0x3000 && c < 0x3040) ||
		(c >= 0xE000 && c < 0xF900) || (c >= 0xFE00 && c < 0xFE70) || (c >= 0xFF00 && c < 0xFF10) ||
		c == 0xFFFD || c >= 0x1F000)
		return NOT_A_LETTER;
	return SMALL;
}

static enum letter kind_of(uint32_t c)
{
	if (c >= 'a' && c <= 'z')
		return SMALL;
	if (c >= 'A' && c <= 'Z')
		return CAPITAL;
	if (c >= '0' && c <= '9')
		return DIGIT;
	return c == '_' ? JOINER : c < 0x80 ? NOT_A_LETTER : kind_of_wide(c);
}

/* Small letters of Latin-1, Greek and Cyrillic; other scripts with capitals are rare enough. */
static uint32_t to_small(uint32_t c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
		(c >= 0x410 && c <= 0x42F))
		return c + 0x20;
	if (c >= 0x400 && c <= 0x40F)
		return c + 0x50;
	if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177) || (c >= 0x460 && c <= 0x4FF))
		return c | 1;
	return c;
}

/* The next character and its length; a byte that is none is a sign. */
static uint32_t next_character(str s, size_t *ret_len)
{
	const unsigned char *p = (const unsigned char *)s.p;
	static const uint8_t first_bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	uint32_t c;

	*ret_len = utf8_sequence(p, s.n);
	if (!*ret_len) {
		*ret_len = 1;
		return 0xFFFD;
	}
	c = p[0] & first_bits[*ret_len];
	for (size_t i = 1; i < *ret_len; i++)
		c = c << 6 | (p[i] & 0x3F);
	return c;
}

/* -- terms ------------------------------------------------------------------------------------- */

static uint32_t hash_of(const char *p, size_t n)
{
	uint64_t h = hash_str(str_n(p, n));

	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static void add_term(struct terms *t, uint32_t term)
{
	if (t->n < countof(t->queue))
		t->queue[t->n++] = term;
}

static bool is_english(str word)
{
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] < 'a' || word.p[i] > 'z')
			return false;
	return true;
}

/* Small letters; more than WORD_MAX bytes are cut. */
static void add_word(struct terms *t, str word)
{
	char stem[WORD_MAX + 8];

	if (!word.n || is_stop_word(word))
		return;
	word = str_head(word, WORD_MAX);
	memcpy(stem, word.p, word.n);
	add_term(t, hash_of(stem, is_english(word) ? stem_english(stem, word.n) : word.n));
}

struct word {
	char text[WORD_MAX]; /* small letters, '_' included */
	size_t n;
	uint8_t ends[PARTS_MAX]; /* of its parts */
	unsigned parts;
	enum letter before;
	size_t capitals; /* in a row, before the current letter */
};

static void end_part(struct word *w, size_t at)
{
	if (w->parts < PARTS_MAX && at > (w->parts ? w->ends[w->parts - 1] : 0))
		w->ends[w->parts++] = (uint8_t)at;
}

/* A part ends at '_', before a capital after a small letter, before the last of several capitals if a small letter
 * follows, and between letters and digits. */
static void take_letter(struct word *w, uint32_t c, enum letter kind)
{
	char bytes[4];
	size_t len = utf8_encode(to_small(c), bytes);

	if (w->n + len > WORD_MAX)
		return;
	if (kind == JOINER || w->before == JOINER || (kind == CAPITAL && w->before == SMALL) ||
		(kind == DIGIT) != (w->before == DIGIT))
		end_part(w, w->n);
	else if (kind == SMALL && w->capitals > 1)
		end_part(w, w->n - 1);
	w->capitals = kind == CAPITAL ? w->capitals + 1 : 0;
	memcpy(w->text + w->n, bytes, len);
	w->n += len;
	w->before = kind;
}

static void add_parts(struct terms *t, struct word *w)
{
	size_t begin = 0;

	end_part(w, w->n);
	if (w->parts > 1)
		add_term(t, hash_of(w->text, w->n));
	for (unsigned i = 0; i < w->parts; begin = w->ends[i++])
		if (w->text[begin] != '_')
			add_word(t, str_n(w->text + begin, w->ends[i] - begin));
}

static void read_word(struct terms *t)
{
	struct word w = { .n = 0 };
	size_t len;

	while (t->rest.n) {
		uint32_t c = next_character(t->rest, &len);
		enum letter kind = kind_of(c);

		if (kind == NOT_A_LETTER || kind == UNSPACED)
			break;
		if (!w.n)
			w.before = kind;
		take_letter(&w, c, kind);
		t->rest = str_from(t->rest, len);
	}
	add_parts(t, &w);
}

/* One character at a time: the character, and the pair with the next one. */
static void read_unspaced(struct terms *t, size_t len)
{
	size_t next_len;
	str rest = str_from(t->rest, len);

	add_term(t, hash_of(t->rest.p, len));
	if (rest.n && kind_of(next_character(rest, &next_len)) == UNSPACED)
		add_term(t, hash_of(t->rest.p, len + next_len));
	t->rest = rest;
}

static void read_more(struct terms *t)
{
	size_t len;
	enum letter kind = kind_of(next_character(t->rest, &len));

	t->n = t->next = 0;
	if (kind == NOT_A_LETTER)
		t->rest = str_from(t->rest, len);
	else if (kind == UNSPACED)
		read_unspaced(t, len);
	else
		read_word(t);
}

struct terms terms_open(str text)
{
	return (struct terms){ .rest = text };
}

bool terms_next(struct terms *t, uint32_t *ret)
{
	while (t->next == t->n) {
		if (!t->rest.n)
			return false;
		read_more(t);
	}
	*ret = t->queue[t->next++];
	return true;
}

bool terms_are_unspaced(str text)
{
	size_t len;

	for (; text.n; text = str_from(text, len))
		if (kind_of(next_character(text, &len)) == UNSPACED)
			return true;
	return false;
}
