/* Text becomes numbers. Letters are taken as words, which end where the case changes (parseUrl, HTTPServer) and are
 * made small; digits are words of their own; everything else only separates. A word that is not in the vocabulary
 * becomes the longest piece that is, then the longest of what is left, with a '#' in front; letters that begin no
 * piece are left out. The weights were trained with exactly this, so it changes only together with them. */
#include <string.h>

#include "encoder/internal.h"

enum { WORD_MAX = 40 };

static uint32_t hash_of(const char *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 16777619u;
	return h;
}

/* Its number, or 0, which stands for no word. */
static unsigned find_word(const struct vocabulary *v, const char *p, size_t n)
{
	for (uint32_t i = hash_of(p, n) & (v->slots - 1);; i = (i + 1) & (v->slots - 1)) {
		unsigned id = v->slot[i];

		if (!id--)
			return 0;
		if (v->offset[id + 1] - v->offset[id] == n && memcmp(v->letters + v->offset[id], p, n) == 0)
			return id;
	}
}

/* The longest piece of a word from `at` on; *ret_end is where it ends. */
static unsigned find_piece(const struct vocabulary *v, const char *word, size_t n, size_t at, size_t *ret_end)
{
	char piece[WORD_MAX + 1] = "#";

	memcpy(piece + 1, word + at, n - at);
	for (size_t end = n; end > at; end--) {
		unsigned id = at ? find_word(v, piece, end - at + 1) : find_word(v, word, end);

		if (id) {
			*ret_end = end;
			return id;
		}
	}
	return 0;
}

static size_t put_word(const struct vocabulary *v, const char *word, size_t n, uint16_t *ret, size_t max)
{
	size_t done = 0, at = 0;

	while (at < n && done < max) {
		unsigned id = find_piece(v, word, n, at, &at);

		if (id)
			ret[done++] = (uint16_t)id;
		else
			at++;
	}
	return done;
}

static bool is_big(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_small(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A run of letters up to where the case says that the next word begins. Returns its length; *at is behind it. */
static size_t take_letters(str s, size_t *at, char word[WORD_MAX])
{
	bool big = is_big(s.p[*at]);
	size_t n = 0, i = *at;

	for (; i < s.n && n < WORD_MAX && (is_big(s.p[i]) || is_small(s.p[i])); i++) {
		if (n && is_big(s.p[i]) && !big)
			break;
		if (n > 1 && is_small(s.p[i]) && big) {
			/* The last capital belongs to the next word. */
			n--;
			i--;
			break;
		}
		if (n == 1 && is_small(s.p[i]))
			big = false;
		word[n++] = (char)(s.p[i] | 0x20);
	}
	if (i + 1 < s.n && s.p[i] == '\'' && (s.p[i + 1] | 0x20) == 's')
		i += 2;
	*at = i;
	return n;
}

static size_t take_digits(str s, size_t *at, char word[WORD_MAX])
{
	size_t n = 0;

	while (*at < s.n && n < WORD_MAX && is_digit(s.p[*at]))
		word[n++] = s.p[(*at)++];
	return n;
}

/* A character beyond ASCII is one of 256 by its bytes; quotes, dashes and the like (E2 …) are none. */
static unsigned take_other(str s, size_t *at)
{
	unsigned char first = (unsigned char)s.p[*at];
	size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
	uint32_t code = first;

	for (size_t i = 1; i < n && *at + i < s.n; i++)
		code = code << 8 | (unsigned char)s.p[*at + i];
	*at += n;
	return n == 1 || (n == 3 && code >> 16 == 0xE2) ? 0 : TOKEN_OTHER + (code * 2654435761u >> 24);
}

size_t tokens_of(const struct vocabulary *v, str text, uint16_t *ret, size_t max)
{
	size_t n = 0, at = 0;

	while (at < text.n && n < max) {
		char c = text.p[at], word[WORD_MAX];
		unsigned id;

		if ((unsigned char)c >= 0x80) {
			id = take_other(text, &at);
			if (id)
				ret[n++] = (uint16_t)id;
		} else if (is_digit(c)) {
			n += put_word(v, word, take_digits(text, &at, word), ret + n, max - n);
		} else if (is_big(c) || is_small(c)) {
			n += put_word(v, word, take_letters(text, &at, word), ret + n, max - n);
		} else {
			at++;
		}
	}
	return n;
}
