#include "memory/disguise.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/macro.h"
#include "base/utf8.h"

/* -- characters -------------------------------------------------------------------------------- */

/* U+00C0 to U+017F without their accents. */
static const char latin[] = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty"
			    "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLl"
			    "NnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";

_Static_assert(sizeof latin - 1 == 0x180 - 0xC0, "one letter each");

/* Alphabets that repeat the Latin one in another shape. */
static const struct {
	unsigned from, to;
	unsigned base, period; /* the letter of `from`; after how many letters it begins again */
} shapes[] = {
	{ 0xFF01, 0xFF5E, '!', 0 },    /* full width */
	{ 0x24B6, 0x24CF, 'A', 0 },    /* in circles */
	{ 0x24D0, 0x24E9, 'a', 0 },    /* likewise */
	{ 0x249C, 0x24B5, 'a', 0 },    /* in parentheses */
	{ 0x1F110, 0x1F129, 'A', 0 },  /* likewise */
	{ 0x1F130, 0x1F149, 'A', 0 },  /* in squares */
	{ 0x1F150, 0x1F169, 'A', 0 },  /* white on black */
	{ 0x1F170, 0x1F189, 'A', 0 },  /* likewise, squares */
	{ 0x1D400, 0x1D6A3, 'A', 52 }, /* mathematical: capital and small ones, thirteen times */
	{ 0x1D7CE, 0x1D7FF, '0', 10 }, /* mathematical digits */
	{ 0x2018, 0x2019, '\'', 1 },   /* quotes, dashes and blanks */
	{ 0x201C, 0x201D, '"', 1 },    /* */
	{ 0x2010, 0x2015, '-', 1 },    /* */
	{ 0x2000, 0x200A, ' ', 1 },    /* */
	{ 0x00A0, 0x00A0, ' ', 1 },    /* */
	{ 0x202F, 0x202F, ' ', 1 },    /* */
	{ 0x3000, 0x3000, ' ', 1 },    /* */
};

/* What is not seen: joiners, directions, variation selectors, tags; and accents that follow their letter. */
static const struct {
	unsigned from, to;
} unseen[] = {
	{ 0x00AD, 0x00AD },
	{ 0x0300, 0x036F },
	{ 0x061C, 0x061C },
	{ 0x115F, 0x1160 },
	{ 0x180B, 0x180E },
	{ 0x200B, 0x200F },
	{ 0x202A, 0x202E },
	{ 0x2060, 0x206F },
	{ 0xFE00, 0xFE0F },
	{ 0xFEFF, 0xFEFF },
	{ 0xE0000, 0xE01EF },
};

/* Letters of other scripts that look like Latin ones. They are folded only in words that also have Latin letters. */
static const struct {
	unsigned from;
	char to;
} twins[] = {
	{ 0x430, 'a' },
	{ 0x432, 'b' },
	{ 0x435, 'e' },
	{ 0x43A, 'k' },
	{ 0x43C, 'm' },
	{ 0x43D, 'h' },
	{ 0x43E, 'o' },
	{ 0x440, 'p' },
	{ 0x441, 'c' },
	{ 0x442, 't' },
	{ 0x443, 'y' },
	{ 0x445, 'x' },
	{ 0x455, 's' },
	{ 0x456, 'i' },
	{ 0x458, 'j' },
	{ 0x501, 'd' },
	{ 0x51B, 'q' },
	{ 0x51D, 'w' },
	{ 0x4BB, 'h' },
	{ 0x410, 'A' },
	{ 0x412, 'B' },
	{ 0x415, 'E' },
	{ 0x41A, 'K' },
	{ 0x41C, 'M' },
	{ 0x41D, 'H' },
	{ 0x41E, 'O' },
	{ 0x420, 'P' },
	{ 0x421, 'C' },
	{ 0x422, 'T' },
	{ 0x423, 'Y' },
	{ 0x425, 'X' },
	{ 0x405, 'S' },
	{ 0x406, 'I' },
	{ 0x408, 'J' },
	{ 0x3B1, 'a' },
	{ 0x3B2, 'b' },
	{ 0x3B3, 'y' },
	{ 0x3B5, 'e' },
	{ 0x3B7, 'n' },
	{ 0x3B9, 'i' },
	{ 0x3BA, 'k' },
	{ 0x3BD, 'v' },
	{ 0x3BF, 'o' },
	{ 0x3C1, 'p' },
	{ 0x3C3, 'o' },
	{ 0x3C4, 't' },
	{ 0x3C5, 'u' },
	{ 0x3C7, 'x' },
	{ 0x3C9, 'w' },
	{ 0x391, 'A' },
	{ 0x392, 'B' },
	{ 0x395, 'E' },
	{ 0x396, 'Z' },
	{ 0x397, 'H' },
	{ 0x399, 'I' },
	{ 0x39A, 'K' },
	{ 0x39C, 'M' },
	{ 0x39D, 'N' },
	{ 0x39F, 'O' },
	{ 0x3A1, 'P' },
	{ 0x3A4, 'T' },
	{ 0x3A5, 'Y' },
	{ 0x3A7, 'X' },
	{ 0x269, 'i' },
	{ 0x261, 'g' },
	{ 0x251, 'a' },
};

static bool is_unseen(unsigned c)
{
	for (size_t i = 0; i < countof(unseen); i++)
		if (c >= unseen[i].from && c <= unseen[i].to)
			return true;
	return false;
}

/* The n-th letter of the Latin alphabet, capitals before small ones; other rows count on from their base. */
static unsigned shape_of(unsigned base, unsigned period, unsigned n)
{
	if (period)
		n %= period;
	return period == 52 && n >= 26 ? 'a' + n - 26 : base + n;
}

static unsigned folded(unsigned c)
{
	if (c < 0xA0)
		return c;
	if (c >= 0xC0 && c < 0x180)
		return (unsigned char)latin[c - 0xC0];
	for (size_t i = 0; i < countof(shapes); i++)
		if (c >= shapes[i].from && c <= shapes[i].to)
			return shape_of(shapes[i].base, shapes[i].period, c - shapes[i].from);
	return c;
}

static char twin_of(unsigned c)
{
	for (size_t i = 0; c > 0xFF && i < countof(twins); i++)
		if (c == twins[i].from)
			return twins[i].to;
	return 0;
}

static bool is_letter(unsigned c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_word(unsigned c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

/* -- the plain reading ------------------------------------------------------------------------- */

static int digit_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10 : -1;
}

/* &#110; &#x6e; &nbsp; and so on: its length and character, or 0. */
static size_t entity_at(str s, unsigned *ret)
{
	static const struct {
		str name;
		unsigned c;
	} names[] = {
		{ STR("&nbsp;"), ' ' },
		{ STR("&lt;"), '<' },
		{ STR("&gt;"), '>' },
		{ STR("&amp;"), '&' },
		{ STR("&quot;"), '"' },
		{ STR("&apos;"), '\'' },
		{ STR("&shy;"), 0xAD },
		{ STR("&zwnj;"), 0x200C },
	};
	bool hex = s.n > 3 && (s.p[2] | 32) == 'x';
	unsigned c = 0;
	size_t at = hex ? 3 : 2;

	for (size_t i = 0; i < countof(names); i++)
		if (str_starts(s, names[i].name))
			return *ret = names[i].c, names[i].name.n;
	if (!str_starts(s, STR("&#")))
		return 0;
	for (; at < s.n && at < 10 && digit_of(s.p[at]) >= 0 && digit_of(s.p[at]) < (hex ? 16 : 10); at++)
		c = c * (hex ? 16 : 10) + (unsigned)digit_of(s.p[at]);
	if (at >= s.n || s.p[at] != ';' || c == 0 || c > 0x10FFFF)
		return 0;
	*ret = c;
	return at + 1;
}

/* %20 and the like, for characters of ASCII. */
static size_t percent_at(str s, unsigned *ret)
{
	int high, low;

	if (s.n < 3 || s.p[0] != '%' || (high = digit_of(s.p[1])) < 2 || high > 7 || (low = digit_of(s.p[2])) < 0)
		return 0;
	*ret = (unsigned)(high * 16 + low);
	return 3;
}

static size_t character_at(str s, unsigned *ret)
{
	static const unsigned char masks[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	size_t n = utf8_sequence((const unsigned char *)s.p, s.n);

	if (n == 0)
		return *ret = 0xFFFD, 1;
	*ret = (unsigned char)s.p[0] & masks[n];
	for (size_t i = 1; i < n; i++)
		*ret = *ret << 6 | ((unsigned char)s.p[i] & 0x3F);
	return n;
}

/* Words that have Latin letters get Latin twins for all their others. */
static void fold_twins(unsigned *text, size_t n)
{
	for (size_t at = 0, end; at < n; at = end + 1) {
		bool mixed = false;

		for (end = at; end < n && (is_letter(text[end]) || twin_of(text[end])); end++)
			mixed = mixed || is_letter(text[end]);
		for (size_t i = at; mixed && i < end; i++)
			if (!is_letter(text[i]))
				text[i] = (unsigned char)twin_of(text[i]);
	}
}

static str plain_reading(struct arena *a, str text)
{
	unsigned *all = arena_alloc(a, (text.n + 1) * sizeof *all);
	char *out = arena_bytes(a, text.n * 4 + 1);
	size_t n = 0, len = 0;

	for (size_t at = 0, step; at < text.n; at += step) {
		unsigned c = 0;
		str rest = str_from(text, at);

		if ((step = entity_at(rest, &c)) == 0 && (step = percent_at(rest, &c)) == 0)
			step = character_at(rest, &c);
		if (!is_unseen(c))
			all[n++] = folded(c);
	}
	fold_twins(all, n);
	for (size_t i = 0; i < n; i++)
		len += utf8_encode(all[i], out + len);
	return str_n(out, len);
}

/* -- the loose reading ------------------------------------------------------------------------- */

/* Words worth putting right when their inner letters are swapped. */
static const char *const key_words[] = {
	"ignore",
	"disregard",
	"forget",
	"override",
	"bypass",
	"disable",
	"delete",
	"previous",
	"instruction",
	"instructions",
	"system",
	"prompt",
	"rules",
	"guidelines",
	"without",
	"telling",
	"execute",
	"download",
	"script",
	"secret",
	"secrets",
	"password",
	"passwords",
	"credentials",
	"token",
	"tokens",
	"upload",
	"approve",
	"permission",
	"permissions",
	"confirmation",
	"sandbox",
	"hooks",
	"guard",
	"assistant",
	"agent",
	"agents",
	"reveal",
	"safety",
};

/* Same first and last letter, and the same letters in between in any order. */
static bool same_when_sorted(const char *word, size_t n, const char *key)
{
	int counts[26] = { 0 };

	if (strlen(key) != n || (word[0] | 32) != key[0] || (word[n - 1] | 32) != key[n - 1])
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_letter((unsigned char)word[i]))
			return false;
		counts[(word[i] | 32) - 'a']++;
		counts[key[i] - 'a']--;
	}
	for (size_t i = 0; i < 26; i++)
		if (counts[i])
			return false;
	return true;
}

static void put_right(char *word, size_t n)
{
	for (size_t i = 0; i < countof(key_words); i++)
		if (same_when_sorted(word, n, key_words[i])) {
			memcpy(word, key_words[i], n);
			return;
		}
}

/* Digits and signs that stand for letters, in a word that has letters too. */
static void read_digits(char *word, size_t n)
{
	static const char from[] = "013457@$!", to[] = "oieastasi";
	size_t letters = 0;
	const char *hit;

	for (size_t i = 0; i < n; i++)
		letters += is_letter((unsigned char)word[i]);
	for (size_t i = 0; letters * 2 >= n && i < n; i++)
		if (word[i] && (hit = strchr(from, word[i])))
			word[i] = to[hit - from];
}

/* The length of "i-g-n-o-r-e" or "i g n o r e": at least four letters with the same single sign between them; or 0. */
static size_t spaced_at(str s)
{
	size_t at = 1;
	char sign = s.n > 1 ? s.p[1] : 0;

	if (s.n < 7 || !sign || !strchr(" -._*", sign) || !is_word((unsigned char)s.p[0]))
		return 0;
	while (at + 1 < s.n && s.p[at] == sign && is_word((unsigned char)s.p[at + 1]) &&
		(at + 2 == s.n || !is_word((unsigned char)s.p[at + 2])))
		at += 2;
	return at >= 7 ? at : 0;
}

/* Three or more of one sign between the words of a token stand for blanks: ignore_all_of_this. Options do not. */
static bool is_chain(str token, char *ret_sign)
{
	for (const char *sign = "._-+"; *sign; sign++) {
		size_t count = 0;

		for (size_t i = 1; i < token.n; i++)
			count += token.p[i] == *sign && is_letter((unsigned char)token.p[i - 1]);
		if (count >= 3 && token.p[0] != '-')
			return *ret_sign = *sign, true;
	}
	return false;
}

static void break_chains(char *p, size_t n)
{
	for (size_t at = 0, end; at < n; at = end + 1) {
		char sign;

		for (end = at; end < n && p[end] != ' ';)
			end++;
		if (end > at && is_chain(str_n(p + at, end - at), &sign))
			for (size_t i = at; i < end; i++)
				if (p[i] == sign)
					p[i] = ' ';
	}
}

/* Letters apart are joined, and rows of signs and blanks become one blank. */
static size_t join(str s, char *out)
{
	size_t len = 0;

	for (size_t at = 0, n; at < s.n;) {
		bool begins = at == 0 || !is_word((unsigned char)s.p[at - 1]);

		if (begins && (n = spaced_at(str_from(s, at))) > 0) {
			for (size_t i = 0; i < n; i += 2)
				out[len++] = s.p[at + i];
			at += n;
			continue;
		}
		for (n = 0; at + n < s.n && s.p[at + n] && strchr(" ,./*~|_-", s.p[at + n]);)
			n++;
		if (n > 1) {
			out[len++] = ' ';
			at += n;
		} else {
			out[len++] = s.p[at++];
		}
	}
	return len;
}

static str loose_reading(struct arena *a, str plain)
{
	char *out = arena_bytes(a, plain.n + 1);
	size_t len = join(plain, out);

	break_chains(out, len);
	for (size_t at = 0, end; at < len; at = end + 1) {
		for (end = at;
			end < len && (is_word((unsigned char)out[end]) || (out[end] && strchr("@$!", out[end])));)
			end++;
		if (end - at >= 3)
			read_digits(out + at, end - at);
		if (end - at >= 5)
			put_right(out + at, end - at);
	}
	return str_n(out, len);
}

/* -- encodings --------------------------------------------------------------------------------- */

/* The reading if a word worth hiding comes out of it; else there was no puzzle, and nothing to search. */
static str if_solved(str reading)
{
	for (size_t i = 0; i < countof(key_words); i++)
		if (str_find(reading, str_of(key_words[i])) >= 0)
			return reading;
	return STR("");
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static str rot13_reading(struct arena *a, str plain)
{
	char *out = arena_bytes(a, plain.n + 1);

	for (size_t i = 0; i < plain.n; i++) {
		char c = lower(plain.p[i]);

		out[i] = is_letter((unsigned char)c) ? ((c | 32) <= 'm' ? c + 13 : c - 13) : c;
	}
	return if_solved(str_n(out, plain.n));
}

/* Of ASCII; other characters become blanks. */
static str reverse_reading(struct arena *a, str plain)
{
	char *out = arena_bytes(a, plain.n + 1);

	for (size_t i = 0; i < plain.n; i++)
		out[plain.n - 1 - i] = (unsigned char)plain.p[i] < 0x80 ? lower(plain.p[i]) : ' ';
	return if_solved(str_n(out, plain.n));
}

/* Words with blanks between them, and nothing but text. */
static bool is_readable(str s)
{
	size_t blanks = 0;

	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\n' && s.p[i] != '\t')
			return false;
		blanks += s.p[i] == ' ';
	}
	return s.n >= 8 && blanks >= 2 && utf8_valid(s);
}

static bool hex_to_bytes(struct arena *a, str s, str *ret)
{
	char *out = arena_bytes(a, s.n / 2 + 1);

	if (s.n % 2)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (digit_of(s.p[i]) < 0)
			return false;
	for (size_t i = 0; i < s.n; i += 2)
		out[i / 2] = (char)(digit_of(s.p[i]) * 16 + digit_of(s.p[i + 1]));
	*ret = str_n(out, s.n / 2);
	return true;
}

static str decoded_reading(struct arena *a, str text)
{
	enum { CODED_MIN = 16 };
	char *out = arena_bytes(a, text.n + 1);
	size_t len = 0;

	for (size_t at = 0, end; at < text.n; at = end + 1) {
		str bytes;

		for (end = at; end < text.n &&
			(is_word((unsigned char)text.p[end]) || text.p[end] == '+' || text.p[end] == '/' ||
				text.p[end] == '=');)
			end++;
		if (end - at < CODED_MIN)
			continue;
		if ((hex_to_bytes(a, str_n(text.p + at, end - at), &bytes) && is_readable(bytes)) ||
			(base64_to_bytes(a, str_n(text.p + at, end - at), &bytes) && is_readable(bytes))) {
			memcpy(out + len, bytes.p, bytes.n);
			len += bytes.n;
			out[len++] = '\n';
		}
	}
	return str_n(out, len);
}

void disguise_read(struct arena *a, str text, str ret[READINGS])
{
	ret[READING_PLAIN] = plain_reading(a, text);
	ret[READING_LOOSE] = loose_reading(a, ret[READING_PLAIN]);
	ret[READING_ROT13] = rot13_reading(a, ret[READING_PLAIN]);
	ret[READING_REVERSE] = reverse_reading(a, ret[READING_PLAIN]);
	ret[READING_DECODED] = decoded_reading(a, text);
}
