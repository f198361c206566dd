/* clock: the two clocks. Deadlines use the monotonic one and nothing else; what is stored uses wall
 * time in microseconds since 1970, UTC. */
#ifndef HOOKD_BASE_CLOCK_H
#define HOOKD_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/str.h"

#define USEC_PER_MSEC INT64_C(1000)
#define USEC_PER_SEC INT64_C(1000000)

static inline int64_t clock_read_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

static inline int64_t clock_mono_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

static inline int64_t clock_wall_us(void)
{
	return clock_read_us(CLOCK_REALTIME);
}

enum { CLOCK_TEXT = 64 };

/* "2026-11-15T08:27:50.123Z" in UTC, or local time without the Z when `local`. */
void clock_format(int64_t wall_us, int local, char out[CLOCK_TEXT]);

/* RFC 3339: "2026-11-15T08:27:50.123Z", "2026-11-15 08:27:50+01:00"; without a zone it is UTC. False:
 * nothing of the kind, and *ret_us is as it was. */
bool clock_parse(const char *p, size_t n, int64_t *ret_us);

/* As people say it: "2h" ago, "2026-11-01", "2026-11-01T09:30" (local time), in microseconds since 1970. */
bool clock_parse_when(str text, int64_t now_us, int64_t *ret_us);

/* "3 s", "4 min", "2 h", "5 d": how long ago, for people. */
void clock_format_age(int64_t us, char out[CLOCK_TEXT]);

#endif
