/* plain: how far text goes without anything that JSON treats specially. Shared by the parser and the writer. */
#ifndef HOOKD_JSON_PLAIN_H
#define HOOKD_JSON_PLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The high bit of each byte of x that is zero (and perhaps of a byte above such a one). */
static inline uint64_t json_zero_bytes(uint64_t x)
{
	return (x - 0x0101010101010101u) & ~x;
}

/* Of the sixteen bytes at p, a bit for each that is not plain. Bytes from 0x80 on are negative, so below a blank. */
#ifdef __SSE2__
static inline unsigned json_special_bytes(const unsigned char *p)
{
	__m128i x = _mm_loadu_si128((const __m128i *)p);
	__m128i special = _mm_or_si128(
		_mm_or_si128(_mm_cmplt_epi8(x, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7F))),
		_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))));

	return (unsigned)_mm_movemask_epi8(special);
}
#endif

/* How many of the n bytes at p are printable ASCII without quote and backslash, looked at many at a time: a lower
 * bound, so the caller looks at the next bytes itself. */
static inline size_t json_plain_run(const unsigned char *p, size_t n)
{
	const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
	size_t i = 0;
	uint64_t x;

#ifdef __SSE2__
	for (; n - i >= 16; i += 16) {
		unsigned special = json_special_bytes(p + i);

		if (special)
			return i + (size_t)__builtin_ctz(special);
	}
#endif
	for (; n - i >= sizeof x; i += sizeof x) {
		memcpy(&x, p + i, sizeof x);
		if ((x | (x - 0x20 * ones) | json_zero_bytes(x ^ '"' * ones) | json_zero_bytes(x ^ '\\' * ones) |
			    json_zero_bytes(x ^ 0x7F * ones)) &
			highs)
			break;
	}
	return i;
}

#endif
