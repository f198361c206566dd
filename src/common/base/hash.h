/* hash: FNV-1a of bytes, for tables in memory and names of what is kept. Not for anything an enemy may choose the bytes
 * of and gain by a collision.
 *
 *     hash_str(text)                                  one text
 *     hash_part(hash_part(HASH_START, a), b)          several: "ab" and "c" is not "a" and "bc" */
#ifndef HOOKD_BASE_HASH_H
#define HOOKD_BASE_HASH_H

#include <stdint.h>

#include "base/str.h"

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_byte(uint64_t h, unsigned char c)
{
	return (h ^ c) * UINT64_C(0x100000001b3);
}

/* Goes on with more of the same text. */
static inline uint64_t hash_more(uint64_t h, str text)
{
	for (size_t i = 0; i < text.n; i++)
		h = hash_byte(h, (unsigned char)text.p[i]);
	return h;
}

static inline uint64_t hash_part(uint64_t h, str text)
{
	return hash_byte(hash_more(h, text), 0xff);
}

static inline uint64_t hash_str(str text)
{
	return hash_more(HASH_START, text);
}

#endif
