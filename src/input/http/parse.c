/* The reader: a head is looked for once and then read once, field by field. */
#include <errno.h>

#include "base/macro.h"
#include "http/http.h"

enum { METHOD_MAX = 16, LENGTH_DIGITS = 18, CHUNK_DIGITS = 7 };

/* Those that may be there at most once. Others may repeat and are not looked at. */
static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
	{ "host", offsetof(struct http_head, host) },
	{ "origin", offsetof(struct http_head, origin) },
	{ "authorization", offsetof(struct http_head, authorization) },
	{ "cookie", offsetof(struct http_head, cookie) },
	{ "accept", offsetof(struct http_head, accept) },
	{ "content-type", offsetof(struct http_head, content_type) },
	{ "content-encoding", offsetof(struct http_head, content_encoding) },
	{ "sec-fetch-site", offsetof(struct http_head, sec_fetch_site) },
	{ "last-event-id", offsetof(struct http_head, last_event_id) },
	{ "mcp-protocol-version", offsetof(struct http_head, mcp_version) },
	{ "mcp-method", offsetof(struct http_head, mcp_method) },
	{ "mcp-name", offsetof(struct http_head, mcp_name) },
	{ "x-hookd-signature", offsetof(struct http_head, signature) },
	{ "x-hookd-timestamp", offsetof(struct http_head, timestamp) },
	{ "x-hookd-event", offsetof(struct http_head, event) },
	{ "idempotency-key", offsetof(struct http_head, delivery) },
	{ "x-hub-signature-256", offsetof(struct http_head, hub_signature) },
	{ "x-github-delivery", offsetof(struct http_head, hub_delivery) },
	{ "x-github-event", offsetof(struct http_head, hub_event) },
};

static bool is_token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		(c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_token_char((unsigned char)s.p[i]))
			return false;
	return s.n > 0;
}

/* Where the head ends, behind CRLF CRLF. Each CR must have its LF and the other way round. */
static ssize_t find_end(str in, size_t seen)
{
	size_t n = in.n < HTTP_HEAD_MAX ? in.n : HTTP_HEAD_MAX;

	for (size_t i = seen > 3 ? seen - 3 : 0; i < n; i++) {
		if (in.p[i] == '\n' && (i == 0 || in.p[i - 1] != '\r'))
			return -EBADMSG;
		if (in.p[i] == '\r' && i + 1 < n && in.p[i + 1] != '\n')
			return -EBADMSG;
		if (in.p[i] == '\n' && i >= 3 && in.p[i - 2] == '\n')
			return (ssize_t)i + 1;
	}
	return in.n >= HTTP_HEAD_MAX ? -E2BIG : 0;
}

/* The next line of the head, without its CRLF. */
static str take_line(str *rest)
{
	ptrdiff_t end = str_find_char(*rest, '\r');
	str line = str_head(*rest, (size_t)end);

	*rest = str_from(*rest, (size_t)end + 2);
	return line;
}

static bool is_target(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7F || s.p[i] == '#')
			return false;
	return s.n > 0 && s.p[0] == '/';
}

/* GET /path?query HTTP/1.1 */
static int take_request_line(str line, struct http_head *h)
{
	ptrdiff_t space = str_find_char(line, ' '), query;
	str target, version;

	if (space <= 0 || space > METHOD_MAX)
		return -EBADMSG;
	h->method = str_head(line, (size_t)space);
	for (size_t i = 0; i < h->method.n; i++)
		if (h->method.p[i] < 'A' || h->method.p[i] > 'Z')
			return -EBADMSG;
	target = str_from(line, (size_t)space + 1);
	space = str_find_char(target, ' ');
	if (space <= 0)
		return -EBADMSG;
	version = str_from(target, (size_t)space + 1);
	target = str_head(target, (size_t)space);
	h->closes = str_eq(version, STR("HTTP/1.0"));
	if (!is_target(target) || (!h->closes && !str_eq(version, STR("HTTP/1.1"))))
		return -EBADMSG;
	query = str_find_char(target, '?');
	h->path = query < 0 ? target : str_head(target, (size_t)query);
	h->query = query < 0 ? STR_NONE : str_from(target, (size_t)query + 1);
	return 0;
}

static int take_length(struct http_head *h, str value)
{
	if (h->has_length || value.n < 1 || value.n > LENGTH_DIGITS)
		return -EBADMSG;
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return -EBADMSG;
		h->length = h->length * 10 + (uint64_t)(value.p[i] - '0');
	}
	h->has_length = true;
	return 0;
}

/* Connection: a list of tokens. */
static void take_connection(struct http_head *h, str value)
{
	str token;

	while (str_split(&value, ',', &token))
		if (str_eq_nocase(str_trim(token), STR("close")))
			h->closes = true;
}

static int take_known(struct http_head *h, str name, str value)
{
	for (size_t i = 0; i < countof(fields); i++) {
		str *to = (str *)((char *)h + fields[i].offset);

		if (!str_eq_nocase(name, str_of(fields[i].name)))
			continue;
		if (str_is_set(*to))
			return -EBADMSG;
		*to = value;
	}
	return 0;
}

/* Spaces around a value are not part of it. The standard says the same of tabs, but readers disagree about them; kept,
 * they make a length invalid instead of ambiguous. */
static str trim_blanks(str value)
{
	while (value.n && value.p[0] == ' ')
		value = str_from(value, 1);
	while (value.n && value.p[value.n - 1] == ' ')
		value.n--;
	return value;
}

static int take_field(str line, struct http_head *h, unsigned *transfer)
{
	ptrdiff_t colon = str_find_char(line, ':');
	str name, value;

	if (colon <= 0 || !is_token(name = str_head(line, (size_t)colon)))
		return -EBADMSG;
	value = str_from(line, (size_t)colon + 1);
	for (size_t i = 0; i < value.n; i++)
		if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7F)
			return -EBADMSG;
	value = trim_blanks(value);
	if (str_eq_nocase(name, STR("content-length")))
		return take_length(h, value);
	if (str_eq_nocase(name, STR("transfer-encoding"))) {
		h->chunked = true;
		return (*transfer)++ || !str_eq_nocase(value, STR("chunked")) ? -EBADMSG : 0;
	}
	if (str_eq_nocase(name, STR("connection")))
		take_connection(h, value);
	if (str_eq_nocase(name, STR("expect"))) {
		if (h->expects || !str_eq_nocase(value, STR("100-continue")))
			return -EBADMSG;
		h->expects = true;
	}
	return take_known(h, name, value);
}

ssize_t http_parse_head(str in, size_t seen, struct http_head *ret)
{
	ssize_t end = find_end(in, seen);
	unsigned n = 0, transfer = 0;
	bool old;
	str rest;
	int r;

	*ret = (struct http_head){ 0 };
	if (end <= 0)
		return end;
	rest = str_head(in, (size_t)end);
	r = take_request_line(take_line(&rest), ret);
	old = ret->closes;
	while (r == 0 && rest.n > 2) {
		if (++n > HTTP_FIELDS_MAX)
			return -E2BIG;
		r = take_field(take_line(&rest), ret, &transfer);
	}
	if (r < 0 || !str_is_set(ret->host) || (ret->chunked && (ret->has_length || old)))
		return -EBADMSG;
	return end;
}

ssize_t http_parse_chunk_size(str in, uint64_t *ret)
{
	size_t i = 0;

	*ret = 0;
	for (; i < in.n && i <= CHUNK_DIGITS; i++) {
		int c = in.p[i] | 0x20;

		if (in.p[i] >= '0' && in.p[i] <= '9')
			*ret = *ret << 4 | (uint64_t)(in.p[i] - '0');
		else if (c >= 'a' && c <= 'f')
			*ret = *ret << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	if (i > CHUNK_DIGITS || (i == 0 && in.n))
		return -EBADMSG;
	if ((i < in.n && in.p[i] != '\r') || (i + 1 < in.n && in.p[i + 1] != '\n'))
		return -EBADMSG;
	return i + 1 < in.n ? (ssize_t)i + 2 : 0;
}

/* -- queries and cookies ----------------------------------------------------------------------- */

static int hex_digit(char c)
{
	int low = c | 0x20;

	return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static bool decode(str in, char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++) {
		char c = in.p[i] == '+' ? ' ' : in.p[i];

		if (c == '%') {
			if (i + 2 >= in.n || hex_digit(in.p[i + 1]) < 0 || hex_digit(in.p[i + 2]) < 0)
				return false;
			c = (char)(hex_digit(in.p[i + 1]) << 4 | hex_digit(in.p[i + 2]));
			i += 2;
		}
		if (!c || n + 1 >= room)
			return false;
		out[n++] = c;
	}
	out[n] = 0;
	return true;
}

bool http_query_value(str query, str name, char *out, size_t room)
{
	str pair;

	while (str_split(&query, '&', &pair)) {
		ptrdiff_t eq = str_find_char(pair, '=');

		if (eq >= 0 && str_eq(str_head(pair, (size_t)eq), name))
			return decode(str_from(pair, (size_t)eq + 1), out, room);
	}
	return false;
}

str http_cookie(str cookie, str name)
{
	str pair;

	while (str_split(&cookie, ';', &pair)) {
		ptrdiff_t eq;

		pair = str_trim(pair);
		eq = str_find_char(pair, '=');
		if (eq >= 0 && str_eq(str_head(pair, (size_t)eq), name))
			return str_from(pair, (size_t)eq + 1);
	}
	return STR_NONE;
}
