/* ulid: the key of an event: 48 bits of milliseconds since 1970, then 80 random bits, so that keys
 * sort by time and are unique without coordination. hookc makes it; every later copy of the event
 * (spool, journal, retry) carries the same one, which is how duplicates are recognised. */
#ifndef HOOKD_BASE_ULID_H
#define HOOKD_BASE_ULID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { ULID_BYTES = 16, ULID_TEXT = 26 };

struct ulid {
	uint8_t b[ULID_BYTES];
};

/* Reads the clock and the kernel's random source. */
struct ulid ulid_make(void);
struct ulid ulid_from(int64_t ms, const uint8_t random[10]);

/* The key of something that follows from u, the same whoever makes it: u's time, and a hash of u and `what`. */
struct ulid ulid_derive(const struct ulid *u, str what);

int64_t ulid_ms(const struct ulid *u);

/* 26 characters of Crockford's base 32 and a NUL. */
void ulid_format(const struct ulid *u, char out[ULID_TEXT + 1]);
bool ulid_parse(str text, struct ulid *ret);

static inline bool ulid_eq(const struct ulid *a, const struct ulid *b)
{
	return memcmp(a->b, b->b, ULID_BYTES) == 0;
}

#endif
