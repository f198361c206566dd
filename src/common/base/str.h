/* str: borrowed bytes, passed by value.
 *
 * A str never owns what it points to and need not end in NUL; whoever handed it out says how long it
 * lives (mostly: as long as the arena of the event). A missing value is STR_NONE (p is NULL), which
 * str_empty() treats like "" and str_is_set() tells apart. Nothing here allocates, so hookc uses it
 * too. */
#ifndef HOOKD_BASE_STR_H
#define HOOKD_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	const char *p;
	size_t n;
} str;

#define STR(literal) ((str){ "" literal, sizeof(literal) - 1 })
#define STR_NONE ((str){ NULL, 0 })
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)((s).n > 0x7fffffff ? 0x7fffffff : (s).n), (s).p ? (s).p : ""

static inline str str_of(const char *s)
{
	return s ? (str){ s, strlen(s) } : STR_NONE;
}

static inline str str_n(const char *p, size_t n)
{
	return (str){ p, n };
}

static inline bool str_is_set(str s)
{
	return s.p != NULL;
}

static inline bool str_empty(str s)
{
	return s.n == 0;
}

static inline bool str_eq(str a, str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_starts(str s, str prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(str s, str suffix)
{
	return s.n >= suffix.n && (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* The part from byte `from` on; empty when `from` is past the end. */
static inline str str_from(str s, size_t from)
{
	return from >= s.n ? (str){ s.p ? s.p + s.n : NULL, 0 } : (str){ s.p + from, s.n - from };
}

/* The first n bytes, or all of them. */
static inline str str_head(str s, size_t n)
{
	return (str){ s.p, n < s.n ? n : s.n };
}

/* Offset of the first occurrence, or -1. */
ptrdiff_t str_find(str hay, str needle);
ptrdiff_t str_find_char(str hay, char c);

/* Without blanks (space, tab, CR, LF) at both ends. */
str str_trim(str s);

/* ASCII letters compared without case; bytes above 127 compared as they are. */
bool str_eq_nocase(str a, str b);

/* Event and option names are compared without case, '-' and '_': PreToolUse = pre-tool-use. */
bool str_eq_name(str a, str b);

/* Cuts at most n bytes off the front without splitting a UTF-8 sequence. */
str str_cut_utf8(str s, size_t n);

/* Whole decimal number with an optional minus; false on anything else or overflow. */
bool str_to_int(str s, int64_t *ret);

/* '*' is any text, at any number of places; the time is bounded by the product of the lengths. */
bool str_fits(str pattern, str text);
/* The same, and '?' is any one character; neither stands for a character of `never`. */
bool str_fits_but(str pattern, str text, str never);

/* Next piece before `sep`; *rest moves past it. False when *rest is used up. */
bool str_split(str *rest, char sep, str *ret_piece);

#endif
