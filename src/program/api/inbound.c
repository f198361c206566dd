/* POST /hooks/inbound/NAME: what others tell, if it is signed by whom the user trusts.
 *
 *   request ─▶ worker: signature, time, body, redaction ─▶ loop: seen before? journal ─▶ 202
 *
 * Unknown names and wrong signatures get the same answer, late when there were many. What is told becomes an event of
 * hookd's own, named after what was signed, so that a second delivery adds nothing; a session of agent `hookd` for each
 * name holds them. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/web.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "outbox/outbox.h"

enum { SEEN = 4096 };

/* What was signed lately. A signature that names its delivery could be sent again under another name; older than the
 * window it is refused anyway, and so is one from before this table began. The daemon's loop. */
static struct {
	uint8_t signature[SHA256_BYTES];
	struct ulid id;
	int64_t at_us;
} seen[SEEN];
static size_t nseen;

struct coming {
	struct web_call *call;
	struct sinks *sinks;
	const struct inbound *in;
	struct inbound_request q;
	struct record record;
	uint8_t signature[SHA256_BYTES];
	int result;
	struct err err;
};

static void answer_stored(struct coming *x, bool duplicate)
{
	struct web_call *c = x->call;
	struct json_writer w = JSON_WRITER(&c->body);
	char id[ULID_TEXT + 1];

	ulid_format(&x->record.id, id);
	c->status = 202;
	c->type = "application/json";
	jw_object(&w);
	jw_field_str(&w, "id", str_of(id));
	jw_field_bool(&w, "duplicate", duplicate);
	jw_end_object(&w);
	web_done(c);
}

static void answer_failed(struct coming *x)
{
	struct web_call *c = x->call;

	switch (x->result) {
	case -EPERM:
	case -ESTALE:
		c->guessed = c->request->door == HTTP_TCP;
		web_fail(c, 401, x->result == -ESTALE ? x->err.text : "no such name, or the signature is wrong");
		return;
	case -EBADMSG: web_fail(c, 400, "the body must be a JSON object"); return;
	case -ENOENT:
		c->status = 200;
		c->type = "application/json";
		buf_add_str(&c->body, STR("{\"ignored\":true}"));
		web_done(c);
		return;
	default:
		log_warn(LOG_API, "inbound: %s", x->err.text);
		web_fail(c, 500, "hookd cannot check it; see: hookd logs");
	}
}

/* Before it is answered: with the answer the call goes, and all that is in its arena. */
static void release(struct coming *x)
{
	sinks_unref(TAKE(x->sinks));
}

/* It was not stored after all: it may come again. */
static void forget_signature(const struct coming *x)
{
	for (size_t i = 0; i < MIN(nseen, (size_t)SEEN); i++)
		if (memcmp(&seen[i].id, &x->record.id, sizeof seen[i].id) == 0)
			memset(&seen[i], 0, sizeof seen[i]);
}

static void stored(bool is_stored, void *arg)
{
	struct coming *x = arg;
	struct engine *e = api_context_of(web_api(x->call->web))->engine;

	if (is_stored)
		engine_tell_inbound(e, x->sinks, x->in, x->record.payload);
	else
		forget_signature(x);
	release(x);
	if (is_stored) {
		answer_stored(x, false);
		return;
	}
	snprintf(x->call->fields, sizeof x->call->fields, "Retry-After: 5\r\n");
	web_fail(x->call, 503, "the journal cannot be written; send it again later");
}

/* 1: it was there; 0: it was not, and is now; -EAGAIN: too many at once. */
static int note_signature(struct coming *x, int64_t now_us)
{
	const int64_t window_us = 2 * INBOUND_WINDOW_S * USEC_PER_SEC;
	size_t at = nseen % SEEN;

	for (size_t i = 0; i < MIN(nseen, (size_t)SEEN); i++)
		if (memcmp(seen[i].signature, x->signature, SHA256_BYTES) == 0 ||
			memcmp(&seen[i].id, &x->record.id, sizeof seen[i].id) == 0)
			return 1;
	if (nseen >= SEEN && now_us - seen[at].at_us < window_us)
		return -EAGAIN;
	memcpy(seen[at].signature, x->signature, SHA256_BYTES);
	seen[at].id = x->record.id;
	seen[at].at_us = now_us;
	nseen++;
	return 0;
}

static void worked(void *arg)
{
	struct coming *x = arg;
	const struct api_context *ctx = api_context_of(web_api(x->call->web));
	int known = x->result < 0 ? 0 : note_signature(x, clock_mono_us());

	if (x->result == 0 && known == 0) {
		engine_store(ctx->engine, &x->record, 1, stored, x);
		return;
	}
	release(x);
	if (x->result < 0)
		answer_failed(x);
	else if (known == 1)
		answer_stored(x, true);
	else
		web_fail(x->call, 429, "too many at once; send it again later");
}

/* The same name for the same, always. */
static struct ulid name_of(const uint8_t digest[SHA256_BYTES])
{
	return ulid_from(1, digest);
}

static void sign_again(struct coming *x)
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, x->in->name.p, x->in->name.n);
	sha256_add(&s, x->q.signature.p, x->q.signature.n);
	sha256_end(&s, x->signature);
}

static void work(void *arg)
{
	struct coming *x = arg;
	struct web_call *c = x->call;
	const struct api_context *ctx = api_context_of(web_api(c->web));
	int64_t now = clock_wall_us(), at;
	uint8_t digest[SHA256_BYTES];
	struct event e;
	struct ulid id;
	unsigned secrets;
	str payload;

	x->result = inbound_check(x->in, &x->q, now, digest, &x->err);
	/* What was seen is not known from before the start. */
	if (x->result == 0 && x->in->type != INBOUND_GITHUB && str_to_int(x->q.timestamp, &at) &&
		at < ctx->started_us / USEC_PER_SEC)
		x->result = err_set(&x->err, -ESTALE, "the timestamp is older than this daemon; sign it again");
	if (x->result == 0)
		x->result = inbound_normalise(x->in, &x->q, now, &c->arena, &payload);
	if (x->result < 0)
		return;
	id = name_of(digest);
	event_own_alone(EVENT_INBOUND, &id, payload, &c->arena, &e);
	e.session = arena_strf(&c->arena, "inbound-" STR_FMT, STR_ARG(x->in->name));
	engine_redact(ctx->engine, &c->arena, &e, &x->record, &secrets);
	sign_again(x);
}

static bool is_complete(const struct coming *x)
{
	return x->in && x->in->enabled && str_is_set(x->q.signature);
}

void web_run_inbound(struct web_call *c)
{
	const struct api_context *ctx = api_context_of(web_api(c->web));
	const struct http_head *h = &c->request->head;
	struct coming *x = arena_new(&c->arena, struct coming);
	bool github;

	*x = (struct coming){ .call = c, .sinks = outbox_sinks(ctx->outbox), .result = -EPERM };
	x->in = inbound_find(x->sinks, str_from(h->path, strlen(c->route->path)));
	github = x->in && x->in->type == INBOUND_GITHUB;
	x->q = (struct inbound_request){ .signature = github ? h->hub_signature : h->signature,
		.timestamp = h->timestamp,
		.delivery = github ? h->hub_delivery : h->delivery,
		.event = github ? h->hub_event : h->event,
		.body = c->request->body };
	if (is_complete(x))
		loop_submit_lane(ctx->loop, LOOP_PEOPLE, work, worked, x);
	else
		worked(x);
}
