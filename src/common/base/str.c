#include "base/str.h"

ptrdiff_t str_find(str hay, str needle)
{
	const char *hit;

	if (needle.n == 0)
		return 0;
	if (needle.n > hay.n)
		return -1;
	hit = memmem(hay.p, hay.n, needle.p, needle.n);
	return hit ? hit - hay.p : -1;
}

ptrdiff_t str_find_char(str hay, char c)
{
	const char *hit = hay.n ? memchr(hay.p, c, hay.n) : NULL;

	return hit ? hit - hay.p : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

str str_trim(str s)
{
	while (s.n && is_blank(s.p[0]))
		s.p++, s.n--;
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_eq_nocase(str a, str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	return true;
}

bool str_eq_name(str a, str b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a.n && (a.p[i] == '-' || a.p[i] == '_'))
			i++;
		while (j < b.n && (b.p[j] == '-' || b.p[j] == '_'))
			j++;
		if (i == a.n || j == b.n)
			return i == a.n && j == b.n;
		if (lower(a.p[i++]) != lower(b.p[j++]))
			return false;
	}
}

str str_cut_utf8(str s, size_t n)
{
	if (s.n <= n)
		return s;
	/* Step back over continuation bytes so that the cut falls before a whole character. */
	while (n && ((unsigned char)s.p[n] & 0xC0) == 0x80)
		n--;
	return str_head(s, n);
}

bool str_to_int(str s, int64_t *ret)
{
	bool minus = s.n && s.p[0] == '-';
	uint64_t value = 0, max = minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	size_t i = minus;

	if (i == s.n)
		return false;
	for (; i < s.n; i++) {
		unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';

		if (digit > 9 || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = minus ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

bool str_split(str *rest, char sep, str *ret_piece)
{
	ptrdiff_t at;

	if (!rest->p)
		return false;
	at = str_find_char(*rest, sep);
	if (at < 0) {
		*ret_piece = *rest;
		*rest = STR_NONE;
	} else {
		*ret_piece = str_head(*rest, (size_t)at);
		*rest = str_n(rest->p + at + 1, rest->n - (size_t)at - 1);
	}
	return true;
}

/* one: '?' is any one character. A character of `never` is matched by itself alone. */
static bool fits(str pattern, str text, bool one, str never)
{
	size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

	while (t < text.n) {
		bool free = str_find_char(never, text.p[t]) < 0;

		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = t;
		} else if (p < pattern.n && (pattern.p[p] == text.p[t] || (one && pattern.p[p] == '?' && free))) {
			p++;
			t++;
		} else if (star != SIZE_MAX && str_find_char(never, text.p[from]) < 0) {
			p = star + 1;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

bool str_fits(str pattern, str text)
{
	return fits(pattern, text, false, STR(""));
}

bool str_fits_but(str pattern, str text, str never)
{
	return fits(pattern, text, true, never);
}
