/* decode: the encodings that commands are hidden in, undone when they are constant. */
#include "guard/internal.h"

/* Digits of some base, msb first; blanks are skipped, '=' ends. False when something else stands
 * there. */
static bool decode_bits(struct arena *a, str s, const char *digits, unsigned bits, str *ret)
{
	struct text t = { .a = a };
	uint32_t acc = 0;
	unsigned have = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		const char *at;

		if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
			continue;
		if (c == '=')
			break;
		if (bits == 6)
			c = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
		else if (c >= 'a' && c <= 'z' && bits != 6)
			c = (char)(c - 32);
		at = c ? strchr(digits, c) : NULL;
		if (!at)
			return false;
		acc = acc << bits | (uint32_t)(at - digits);
		have += bits;
		if (have >= 8) {
			have -= 8;
			text_char(&t, (char)(acc >> have));
			acc &= (1u << have) - 1;
		}
	}
	*ret = text_str(&t);
	return true;
}

bool decode_base64(struct arena *a, str s, str *ret)
{
	return decode_bits(a, s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6, ret);
}

bool decode_base32(struct arena *a, str s, str *ret)
{
	return decode_bits(a, s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5, ret);
}

bool decode_hex(struct arena *a, str s, str *ret)
{
	return decode_bits(a, s, "0123456789ABCDEF", 4, ret);
}

static int digit(char c, int base)
{
	int d = c >= '0' && c <= '9'   ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : 99;

	return d < base ? d : -1;
}

static size_t number(str s, size_t i, int base, size_t max, unsigned *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < max && i + n < s.n && digit(s.p[i + n], base) >= 0)
		*ret = *ret * (unsigned)base + (unsigned)digit(s.p[i + n++], base);
	return n;
}

str decode_backslashes(struct arena *a, str s, bool octal_needs_zero)
{
	static const char from[] = "abefnrtv\\\"'?", to[] = "\a\b\033\f\n\r\t\v\\\"'?";
	struct text t = { .a = a };

	for (size_t i = 0; i < s.n; i++) {
		const char *at;
		unsigned value;
		size_t n;

		if (s.p[i] != '\\' || i + 1 >= s.n) {
			text_char(&t, s.p[i]);
			continue;
		}
		i++;
		if (s.p[i] == 'c')
			break;
		if ((s.p[i] == 'x' && (n = number(s, i + 1, 16, 2, &value)) > 0) ||
			((s.p[i] == 'u' || s.p[i] == 'U') &&
				(n = number(s, i + 1, 16, s.p[i] == 'u' ? 4 : 8, &value)) > 0)) {
			text_char(&t, (char)(value < 128 ? value : '?'));
			i += n;
		} else if (digit(s.p[i], 8) >= 0 && (!octal_needs_zero || s.p[i] == '0')) {
			n = number(s, i, 8, s.p[i] == '0' ? 4 : 3, &value);
			text_char(&t, (char)value);
			i += n - 1;
		} else if ((at = strchr(from, s.p[i])) != NULL && *at) {
			text_char(&t, to[at - from]);
		} else {
			text_char(&t, '\\');
			text_char(&t, s.p[i]);
		}
	}
	return text_str(&t);
}

str decode_utf16(struct arena *a, str s)
{
	struct text t = { .a = a };

	for (size_t i = 0; i + 1 < s.n; i += 2)
		text_char(&t, s.p[i + 1] ? '?' : s.p[i]);
	return text_str(&t);
}

/* The characters a tr set stands for: ranges and classes written out. */
static str tr_set(struct arena *a, str s)
{
	struct text t = { .a = a };

	s = decode_backslashes(a, s, false);
	for (size_t i = 0; i < s.n; i++) {
		if (str_starts(str_from(s, i), STR("[:upper:]")) || str_starts(str_from(s, i), STR("[:lower:]"))) {
			char lo = s.p[i + 2] == 'u' ? 'A' : 'a';

			for (char c = lo; c < lo + 26; c++)
				text_char(&t, c);
			i += 8;
		} else if (i + 2 < s.n && s.p[i + 1] == '-' && (unsigned char)s.p[i] <= (unsigned char)s.p[i + 2]) {
			for (unsigned c = (unsigned char)s.p[i]; c <= (unsigned char)s.p[i + 2]; c++)
				text_char(&t, (char)c);
			i += 2;
		} else {
			text_char(&t, s.p[i]);
		}
	}
	return text_str(&t);
}

str map_tr(struct arena *a, str s, str from, str to, bool delete)
{
	struct text t = { .a = a };

	from = tr_set(a, from);
	to = tr_set(a, to);
	for (size_t i = 0; i < s.n; i++) {
		ptrdiff_t at = str_find_char(from, s.p[i]);

		if (at < 0)
			text_char(&t, s.p[i]);
		else if (!delete &&to.n)
			text_char(&t, to.p[MIN((size_t)at, to.n - 1)]);
	}
	return text_str(&t);
}

str reverse_lines(struct arena *a, str s)
{
	struct text t = { .a = a };
	str line;

	while (str_split(&s, '\n', &line)) {
		for (size_t i = line.n; i > 0; i--)
			text_char(&t, line.p[i - 1]);
		text_char(&t, '\n');
	}
	return text_str(&t);
}
