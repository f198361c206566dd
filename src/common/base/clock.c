#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

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
		snprintf(out, CLOCK_TEXT, "%04d-%02d-%02d %02d:%02d:%02d", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1,
			tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	else
		snprintf(out, CLOCK_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", (tm.tm_year + 1900) % 10000,
			tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
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

/* n digits as a number, or -1. */
static int64_t digits(const char *p, size_t n)
{
	int64_t value = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		value = value * 10 + (p[i] - '0');
	}
	return value;
}

/* Days from 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is the last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* ".123456789": microseconds, and how many bytes it was. */
static int64_t parse_fraction(const char *p, size_t n, size_t *ret_used)
{
	int64_t us = 0, unit = USEC_PER_SEC / 10;
	size_t i = 0;

	*ret_used = 0;
	if (n < 2 || p[0] != '.')
		return 0;
	for (i = 1; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
		us += (p[i] - '0') * unit;
		unit /= 10;
	}
	*ret_used = i;
	return us;
}

/* "Z", "+01:00" or nothing: minutes east of Greenwich. */
static bool parse_zone(const char *p, size_t n, int64_t *ret_min)
{
	int64_t h, m;

	*ret_min = 0;
	if (n == 0 || (n == 1 && (p[0] == 'Z' || p[0] == 'z')))
		return true;
	if (n != 6 || (p[0] != '+' && p[0] != '-') || p[3] != ':')
		return false;
	h = digits(p + 1, 2);
	m = digits(p + 4, 2);
	if (h < 0 || h > 23 || m < 0 || m > 59)
		return false;
	*ret_min = (p[0] == '-' ? -1 : 1) * (h * 60 + m);
	return true;
}

bool clock_parse(const char *p, size_t n, int64_t *ret_us)
{
	/* Where each number is, how long it is, its bounds, and what comes before it. */
	static const struct {
		unsigned char at, n, least, most;
		const char *before;
	} parts[] = {
		{ 5, 2, 1, 12, "-" },
		{ 8, 2, 1, 31, "-" },
		{ 11, 2, 0, 23, "Tt " },
		{ 14, 2, 0, 59, ":" },
		{ 17, 2, 0, 60, ":" },
	};
	int64_t year, v[5], us, zone;
	size_t used;

	if (n < 19 || (year = digits(p, 4)) < 0)
		return false;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		v[i] = digits(p + parts[i].at, parts[i].n);
		if (v[i] < parts[i].least || v[i] > parts[i].most || !p[parts[i].at - 1] ||
			!strchr(parts[i].before, p[parts[i].at - 1]))
			return false;
	}
	us = parse_fraction(p + 19, n - 19, &used);
	if (!parse_zone(p + 19 + used, n - 19 - used, &zone))
		return false;
	*ret_us = ((days_of(year, v[0], v[1]) * 24 + v[2]) * 60 + v[3] - zone) * 60 * USEC_PER_SEC +
		v[4] * USEC_PER_SEC + us;
	return true;
}

/* "2h": so long ago. */
static bool parse_ago(str text, int64_t now_us, int64_t *ret)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 } };
	int64_t n;

	if (text.n < 2 || !str_to_int(str_head(text, text.n - 1), &n) || n < 0 || n > 1000000)
		return false;
	for (size_t i = 0; i < countof(units); i++)
		if (text.p[text.n - 1] == units[i].letter) {
			*ret = now_us - n * units[i].seconds * USEC_PER_SEC;
			return true;
		}
	return false;
}

bool clock_parse_when(str text, int64_t now_us, int64_t *ret)
{
	static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
		"%Y-%m-%d %H:%M:%S" };
	char room[32];

	if (parse_ago(text, now_us, ret))
		return true;
	snprintf(room, sizeof room, STR_FMT, STR_ARG(text));
	for (size_t i = 0; i < countof(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(room, formats[i], &tm);

		if (end && !*end) {
			*ret = (int64_t)mktime(&tm) * USEC_PER_SEC;
			return true;
		}
	}
	return false;
}
