#include "base/clock.h"

#include <stdio.h>

void clock_format(int64_t wall_us, int local, char out[CLOCK_TEXT])
{
	time_t sec = (time_t)(wall_us / USEC_PER_SEC);
	long ms = (long)(wall_us % USEC_PER_SEC / USEC_PER_MSEC);
	struct tm tm;

	if (ms < 0) {
		/* Before 1970 the remainder is negative. */
		ms += 1000;
		sec--;
	}
	if (!(local ? localtime_r(&sec, &tm) : gmtime_r(&sec, &tm))) {
		snprintf(out, CLOCK_TEXT, "?");
		return;
	}
	if (local)
		snprintf(out, CLOCK_TEXT, "%04d-%02d-%02d %02d:%02d:%02d", (tm.tm_year + 1900) % 10000,
			tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	else
		snprintf(out, CLOCK_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ",
			(tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
			tm.tm_min, tm.tm_sec, ms);
}

void clock_format_age(int64_t us, char out[CLOCK_TEXT])
{
	static const struct {
		int64_t sec;
		const char *unit;
	} steps[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	int64_t sec = us / USEC_PER_SEC;

	for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (sec >= steps[i].sec) {
			snprintf(out, CLOCK_TEXT, "%lld %s", (long long)(sec / steps[i].sec), steps[i].unit);
			return;
		}
	snprintf(out, CLOCK_TEXT, "%lld ms", (long long)(us < 0 ? 0 : us / USEC_PER_MSEC));
}
