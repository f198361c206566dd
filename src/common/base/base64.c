#include "base/base64.h"

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_to_bytes(struct arena *a, str text, str *ret)
{
	char *out = arena_alloc(a, text.n / 4 * 3 + 4);
	unsigned bits = 0, held = 0;
	size_t n = 0, digits = 0;
	bool ended = false;

	for (size_t i = 0; i < text.n; i++) {
		int v = value_of(text.p[i]);

		if (text.p[i] == '\n' || text.p[i] == '\r')
			continue;
		ended = ended || text.p[i] == '=';
		if (ended && text.p[i] == '=')
			continue;
		if (ended || v < 0)
			return false;
		digits++;
		held = held << 6 | (unsigned)v;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[n++] = (char)(held >> bits);
			held &= (1u << bits) - 1;
		}
	}
	*ret = str_n(out, n);
	return digits % 4 != 1;
}
