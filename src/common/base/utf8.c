#include "base/utf8.h"

#include <stdint.h>

size_t utf8_sequence(const unsigned char *p, size_t n)
{
	unsigned char low = 0x80, high = 0xBF;
	size_t len;

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2)
		return 0; /* a continuation byte, or an overlong two-byte form */
	if (p[0] < 0xE0) {
		len = 2;
	} else if (p[0] < 0xF0) {
		len = 3;
		if (p[0] == 0xE0)
			low = 0xA0; /* overlong */
		else if (p[0] == 0xED)
			high = 0x9F; /* surrogates */
	} else if (p[0] < 0xF5) {
		len = 4;
		if (p[0] == 0xF0)
			low = 0x90; /* overlong */
		else if (p[0] == 0xF4)
			high = 0x8F; /* above U+10FFFF */
	} else {
		return 0;
	}
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xBF)
			return 0;
	return len;
}

size_t utf8_valid_prefix(str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t i = 0, len;

	while (i < s.n) {
		uint64_t word;

		/* Eight ASCII bytes at a time: nearly all input is ASCII. */
		while (s.n - i >= 8) {
			memcpy(&word, p + i, 8);
			if (word & UINT64_C(0x8080808080808080))
				break;
			i += 8;
		}
		if (i == s.n)
			break;
		len = utf8_sequence(p + i, s.n - i);
		if (!len)
			break;
		i += len;
	}
	return i;
}

size_t utf8_encode(unsigned c, char out[4])
{
	if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		c = 0xFFFD;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3F));
		out[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3F));
	out[2] = (char)(0x80 | (c >> 6 & 0x3F));
	out[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}

int utf8_add_clean(struct buf *b, str s)
{
	int r = 0;

	while (s.n && r == 0) {
		size_t good = utf8_valid_prefix(s);

		r = buf_add(b, s.p, good);
		s = str_from(s, good);
		if (s.n && r == 0) {
			r = buf_add(b, "\xEF\xBF\xBD", 3);
			s = str_from(s, 1);
		}
	}
	return r;
}
