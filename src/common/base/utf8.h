/* utf8: every byte that leaves hookd is valid UTF-8. Input need not be: each byte that cannot be
 * part of a well-formed sequence (Unicode table 3-7) becomes U+FFFD. The locale is never asked. */
#ifndef HOOKD_BASE_UTF8_H
#define HOOKD_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Length (1 to 4) of the well-formed sequence at p, or 0. */
size_t utf8_sequence(const unsigned char *p, size_t n);

/* Length of the longest well-formed front part. */
size_t utf8_valid_prefix(str s);

static inline bool utf8_valid(str s)
{
	return utf8_valid_prefix(s) == s.n;
}

/* Writes the scalar value's 1 to 4 bytes and returns how many; surrogates become U+FFFD. */
size_t utf8_encode(unsigned scalar, char out[4]);

/* Appends s with every bad byte replaced. */
int utf8_add_clean(struct buf *b, str s);

#endif
