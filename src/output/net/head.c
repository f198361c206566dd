/* Where curl is, and what the head of an answer says. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macro.h"
#include "config/paths.h"
#include "net/net.h"

int net_find_curl(char out[FS_PATH], struct err *err)
{
	str rest = STR(PATHS_PROGRAMS), dir;

	while (str_split(&rest, ':', &dir))
		if (snprintf(out, FS_PATH, STR_FMT "/curl", STR_ARG(dir)) < FS_PATH && access(out, X_OK) == 0)
			return 0;
	out[0] = 0;
	return err_set(err, -ENOENT, "curl is not installed, and hookd needs it for every request");
}

/* -- heads ------------------------------------------------------------------------------------- */

/* "HTTP/1.1 200 OK", "HTTP/2 429". */
static bool take_status(str line, int *ret)
{
	ptrdiff_t at = str_find_char(line, ' ');
	int64_t n;

	if (!str_starts(line, STR("HTTP/")) || at < 0 || !str_to_int(str_head(str_from(line, (size_t)at + 1), 3), &n) ||
		n < 100 || n > 999)
		return false;
	*ret = (int)n;
	return true;
}

static int take_retry(str value, int64_t now_s)
{
	struct tm tm = { 0 };
	char text[64];
	int64_t n;

	if (!str_to_int(value, &n)) {
		if (value.n >= sizeof text)
			return -1;
		snprintf(text, sizeof text, STR_FMT, STR_ARG(value));
		if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
			return -1;
		n = (int64_t)timegm(&tm) - now_s;
	}
	return (int)MIN(MAX(n, INT64_C(0)), (int64_t)NET_RETRY_MAX_S);
}

bool net_parse_head(str head, int64_t now_s, int *ret_status, int *ret_retry_after_s)
{
	const str retry = STR("retry-after:");
	bool found = false;
	str line;

	*ret_status = 0;
	*ret_retry_after_s = -1;
	while (str_split(&head, '\n', &line)) {
		if (take_status(line, ret_status)) {
			found = true;
			*ret_retry_after_s = -1; /* an interim answer's does not count */
		} else if (str_eq_nocase(str_head(line, retry.n), retry)) {
			*ret_retry_after_s = take_retry(str_trim(str_from(line, retry.n)), now_s);
		}
	}
	return found;
}
