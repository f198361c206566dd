/* plain: how far text goes without anything that JSON treats specially. Shared by the parser and the writer. */
#ifndef HOOKD_JSON_PLAIN_H
#define HOOKD_JSON_PLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The high bit of each byte of x that is zero (and perhaps of a byte above such a one). */
static inline uint64_t json_zero_bytes(uint64_t x)
{
	return (x - 0x0101010101010101u) & ~x;
}

/* How many of the n bytes at p are printable ASCII without quote and backslash, looked at eight at a time: a lower
 * bound, so the caller looks at the next bytes itself. */
static inline size_t json_plain_run(const unsigned char *p, size_t n)
{
	const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
	size_t i = 0;
	uint64_t x;

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
