/* POST requests. */
#include "outbox/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hmac.h"

enum { ANSWER_MAX = 64 << 10, HEADERS_MAX = 8 << 10 };

/* A request with room for its headers. */
struct post {
	struct sending *x;
	struct net_request q;
	size_t n;
	struct buf text; /* of the headers */
};

static void add_header(struct post *p, const char *name, str value)
{
	size_t at = p->text.len;

	if (p->n == NET_HEADERS)
		return;
	buf_addf(&p->text, "%s: " STR_FMT, name, STR_ARG(value));
	p->q.headers[p->n++] = str_n(p->text.p + at, p->text.len - at);
}

static void begin(struct post *p, struct sending *x)
{
	const struct sink *s = x->sink;

	*p = (struct post){ .x = x,
		.q = { .url = s->url,
			.body = x->body,
			.timeout_us = s->timeout_s * USEC_PER_SEC,
			.answer_max = ANSWER_MAX,
			.cancel_fd = x->cancel_fd } };
	buf_init(&p->text, HEADERS_MAX);
	buf_reserve(&p->text, HEADERS_MAX - 1); /* headers point into it */
	add_header(p, "Content-Type", STR("application/json"));
	add_header(p, "User-Agent", STR("hookd/" HOOKD_VERSION));
	add_header(p, "Idempotency-Key", x->id);
	for (size_t i = 0; i < s->nheaders && p->n < NET_HEADERS; i++)
		p->q.headers[p->n++] = s->headers[i];
}

static enum send_result judge_status(struct sending *x, const struct net_answer *a)
{
	x->retry_after_s = a->retry_after_s;
	if (a->status >= 200 && a->status < 300)
		return SEND_DONE;
	if (a->status == 408 || a->status == 425 || a->status == 429 || a->status >= 500)
		return send_say(x, SEND_FAILED, "it answered %d", a->status);
	if (a->status < 400)
		return send_say(x, SEND_FAILED, "it answered %d, and redirects are not followed: name the new address",
			a->status);
	return send_say(x, SEND_REFUSED, "it refused with %d", a->status);
}

static enum send_result judge(struct sending *x, const struct net_answer *a)
{
	switch (a->result) {
	case NET_ANSWERED: return judge_status(x, a);
	case NET_TOO_LARGE: return a->status ? judge_status(x, a) : send_say(x, SEND_FAILED, "%s", a->err.text);
	case NET_BAD_REQUEST:
	case NET_NO_CURL: return send_say(x, SEND_UNUSABLE, "%s", a->err.text);
	case NET_CANCELLED: return SEND_CANCELLED;
	case NET_UNREACHABLE:
	case NET_TIMEOUT: break;
	}
	return send_say(x, SEND_FAILED, "%s", a->err.text);
}

/* Sends and forgets what was secret. */
static enum send_result finish(struct post *p)
{
	struct net_answer a;
	enum send_result r;

	net_post(&p->q, &a);
	r = judge(p->x, &a);
	buf_release(&a.body);
	explicit_bzero(p->text.p, p->text.len);
	buf_release(&p->text);
	return r;
}

/* False: x->error says why. */
static bool authorize(struct post *p)
{
	char token[SECRET_MAX], value[SECRET_MAX + 8];
	struct err err = { 0 };

	if (str_empty(p->x->sink->token_file))
		return true;
	if (secret_read(p->x->sink->token_file, token, &err) < 0) {
		send_say(p->x, SEND_UNUSABLE, "%s", err.text);
		return false;
	}
	snprintf(value, sizeof value, "Bearer %s", token);
	add_header(p, "Authorization", str_of(value));
	explicit_bzero(token, sizeof token);
	explicit_bzero(value, sizeof value);
	return true;
}

/* Over the time and the body, so that neither can be another's. */
static bool sign(struct post *p)
{
	char secret[SECRET_MAX], when[24], hex[SHA256_HEX + 1], value[SHA256_HEX + 16];
	uint8_t digest[SHA256_BYTES];
	struct err err = { 0 };
	struct hmac h;

	snprintf(when, sizeof when, "%lld", (long long)(clock_wall_us() / USEC_PER_SEC));
	add_header(p, "X-Hookd-Event", p->x->type);
	add_header(p, "X-Hookd-Timestamp", str_of(when));
	if (str_empty(p->x->sink->secret_file))
		return true;
	if (secret_read(p->x->sink->secret_file, secret, &err) < 0) {
		send_say(p->x, SEND_UNUSABLE, "%s", err.text);
		return false;
	}
	hmac_init(&h, str_of(secret));
	hmac_add(&h, str_of(when));
	hmac_add(&h, STR("."));
	hmac_add(&h, p->x->body);
	hmac_end(&h, digest);
	explicit_bzero(secret, sizeof secret);
	explicit_bzero(&h, sizeof h);
	sha256_hex(digest, hex);
	snprintf(value, sizeof value, "sha256=%s", hex);
	add_header(p, "X-Hookd-Signature", str_of(value));
	return true;
}

static enum send_result give_up(struct post *p)
{
	explicit_bzero(p->text.p, p->text.len);
	buf_release(&p->text);
	return SEND_UNUSABLE;
}

enum send_result send_webhook(struct sending *x)
{
	struct post p;

	begin(&p, x);
	return authorize(&p) && sign(&p) ? finish(&p) : give_up(&p);
}

enum send_result send_post(struct sending *x)
{
	struct post p;

	begin(&p, x);
	return authorize(&p) ? finish(&p) : give_up(&p);
}

bool check_post(const struct sink *s, char text[200])
{
	const str files[] = { s->secret_file, s->token_file };
	char curl[FS_PATH], secret[SECRET_MAX];
	struct err err = { 0 };
	int r = net_find_curl(curl, &err);

	for (size_t i = 0; i < countof(files) && r == 0; i++)
		r = str_empty(files[i]) ? 0 : secret_read(files[i], secret, &err);
	explicit_bzero(secret, sizeof secret);
	snprintf(text, 200, "%.199s", r < 0 ? err.text : "");
	return r == 0;
}
