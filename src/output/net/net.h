/* net: one HTTP request to somebody else, and a bounded answer.
 *
 * DESIGN. hookd has no network code. A request is made by curl, as a child process: no library in the daemon, no memory
 * kept between requests, and whatever a server sends is parsed by a process that holds nothing but this one request.
 * docs/decisions/0017 has the reasons.
 *
 *  - curl is found at an absolute place that only root can write to (PATHS_PROGRAMS), and gets an environment of two
 *    lines. Address and headers go through its standard input, the body through a file in memory: a key is in no
 *    argument, no environment and no file.
 *  - https anywhere; plain http only to this machine. No redirects, no proxies, no .curlrc, no cookies.
 *  - The answer is cut off at answer_max: curl is ended then, and the answer counts as too large.
 *  - The call blocks for at most timeout_us. A byte on cancel_fd ends it at once. Any thread may call it; never the
 *    loop's. */
#ifndef HOOKD_NET_NET_H
#define HOOKD_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
	NET_HEADERS = 12,
	NET_HEAD_MAX = 64 << 10, /* bytes of headers that are looked at */
	NET_RETRY_MAX_S = 3600,  /* a longer Retry-After is taken for this */
};

struct net_request {
	str url;
	str headers[NET_HEADERS]; /* "Name: value"; the first empty one ends them */
	str body;
	int64_t timeout_us;
	size_t answer_max;
	int cancel_fd; /* readable: give up. -1: none */
};

enum net_result {
	NET_ANSWERED,    /* status says how */
	NET_BAD_REQUEST, /* the address or a header is not one; nothing was sent */
	NET_NO_CURL,     /* nothing was sent */
	NET_UNREACHABLE, /* no connection, or it broke before there was a status */
	NET_TIMEOUT,
	NET_TOO_LARGE,
	NET_CANCELLED,
};

struct net_answer {
	enum net_result result;
	bool sent;         /* the server may have seen the request, whatever came of it */
	int status;        /* of HTTP */
	int retry_after_s; /* -1: the server does not say */
	struct buf body;   /* the caller releases it */
	struct err err;    /* if it is not NET_ANSWERED: why, for people */
};

/* Makes one POST. Fills everything in ret. */
void net_post(const struct net_request *q, struct net_answer *ret);

/* Where curl is. -ENOENT: nowhere. */
int net_find_curl(char out[4096], struct err *err);

/* Reads what `curl --dump-header` writes: the last status line and its Retry-After (seconds, or a date relative to
 * now_s). False: there is no status. */
bool net_parse_head(str head, int64_t now_s, int *ret_status, int *ret_retry_after_s);

#endif
