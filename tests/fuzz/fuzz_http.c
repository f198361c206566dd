/* Hostile requests. A head must read the same whole and in pieces, and its parts must lie inside it; chunk sizes,
 * queries and cookies must stay inside as well. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_inside(str whole, str part)
{
	check(part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n));
}

static void check_parts(str in, const struct http_head *h)
{
	const str parts[] = { h->method, h->path, h->query, h->host, h->origin, h->authorization, h->cookie, h->accept,
		h->content_type, h->content_encoding, h->sec_fetch_site, h->mcp_version, h->mcp_method, h->mcp_name };

	for (size_t i = 0; i < countof(parts); i++) {
		check_inside(in, parts[i]);
		for (size_t k = 0; k < parts[i].n; k++)
			check(parts[i].p[k] != '\n' && parts[i].p[k] != '\r' && parts[i].p[k] != 0);
	}
	check(h->path.n > 0 && h->path.p[0] == '/' && h->host.p);
	check(!(h->chunked && h->has_length));
}

/* As it arrives in pieces: the answer is the same, and comes with the byte that completes it. */
static void in_pieces(str in, ssize_t whole)
{
	struct http_head h;
	size_t seen = 0, step = 1 + in.n % 7;
	ssize_t got = 0;

	for (size_t n = step; got == 0 && seen < in.n; n += step) {
		n = n < in.n ? n : in.n;
		got = http_parse_head(str_head(in, n), seen, &h);
		seen = n;
	}
	check(got == whole || (got < 0 && whole < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str in = str_n((const char *)data, size);
	struct http_head h;
	char value[64];
	uint64_t length;
	ssize_t n = http_parse_head(in, 0, &h);

	check(n <= (ssize_t)size);
	if (n > 0)
		check_parts(in, &h);
	in_pieces(in, n);
	n = http_parse_chunk_size(in, &length);
	check(n <= (ssize_t)size && (n <= 0 || length < 1u << 28));
	if (http_query_value(in, STR("code"), value, sizeof value))
		check(strlen(value) < sizeof value);
	check_inside(in, http_cookie(in, STR("hookd_login")));
	return 0;
}
