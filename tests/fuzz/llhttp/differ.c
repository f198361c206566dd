/* A second opinion on requests: whatever our reader takes, llhttp (in its strict mode) must take as well, and both must
 * mean the same: where the head ends, which method and target, how long the body is, whether the connection goes on.
 * That ours refuses more is intended. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"
#include "llhttp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

struct theirs {
	char url[HTTP_HEAD_MAX];
	size_t n;
	bool complete;
};

static int on_url(llhttp_t *p, const char *at, size_t n)
{
	struct theirs *t = p->data;

	check(t->n + n <= sizeof t->url);
	memcpy(t->url + t->n, at, n);
	t->n += n;
	return 0;
}

/* Nothing behind the head is wanted. */
static int on_complete(llhttp_t *p)
{
	((struct theirs *)p->data)->complete = true;
	return HPE_PAUSED;
}

static void compare(str in, ssize_t n, const struct http_head *ours)
{
	static const llhttp_settings_t settings = { .on_url = on_url, .on_headers_complete = on_complete };
	struct theirs t = { .n = 0 };
	const char *method;
	llhttp_t p;

	llhttp_init(&p, HTTP_REQUEST, &settings);
	p.data = &t;
	llhttp_execute(&p, in.p, (size_t)n);
	/* A method of letters that it has no number for is the one thing ours need not refuse: no route has it. */
	if (llhttp_get_errno(&p) == HPE_INVALID_METHOD)
		return;
	check(t.complete && llhttp_get_errno(&p) == HPE_PAUSED);
	method = llhttp_method_name((llhttp_method_t)p.method);
	check(str_eq(ours->method, str_of(method)));
	check(str_starts(str_n(t.url, t.n), ours->path));
	check(str_is_set(ours->query) ? t.n == ours->path.n + 1 + ours->query.n : t.n <= ours->path.n + 1);
	check(p.http_major == 1 && p.http_minor <= 1);
	check(!!(p.flags & F_CHUNKED) == ours->chunked && !!(p.flags & F_CONTENT_LENGTH) == ours->has_length);
	check(!ours->has_length || p.content_length == ours->length);
	/* It would have to close where ours goes on, never the other way round: ours may always close. */
	if (!ours->closes && !p.upgrade)
		check(llhttp_should_keep_alive(&p));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str in = str_n((const char *)data, size);
	struct http_head h;
	ssize_t n = http_parse_head(in, 0, &h);

	if (n > 0)
		compare(in, n, &h);
	return 0;
}
