/* POST /v1/logs: telemetry of agents, as OpenTelemetry's exporters send it.
 *
 * A worker unpacks and reads the batch and makes the records; the loop hands them to the journal a slice at a time, and
 * the exporter gets its 200 after the last write. Whatever could not be written is answered with 503, and comes again:
 * records have keys made from what they say, so those that were written stay single. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/otlp.h"
#include "agents/agents.h"
#include "base/clock.h"
#include "base/limits.h"
#include "otlp/otlp.h"

enum {
	SLICE_RECORDS = 64, /* for the journal at once: the loop has others to serve */
	AHEAD_S = 60,       /* how far an exporter's clock may be ahead */
};

#define SLICE_BYTES KIB(64)

/* A record on its way, in the call's arena. */
struct item {
	struct item *next;
	struct otlp_hook hook;
};

struct batch {
	struct web_call *call;
	enum otlp_type type;
	int result;
	struct item *first, **last;
	size_t nhooks;
	struct arena hooks; /* what the records are made from */
	struct otlp_reading reading;
	struct record *records;
	size_t nrecords;
	size_t next; /* the first that is not journaled */
	unsigned secrets;
};

/* Counted on the loop. */
static struct otlp_counts counts;

void otlp_get_counts(struct otlp_counts *ret)
{
	*ret = counts;
}

/* -- on a worker ------------------------------------------------------------------------------- */

static void take_record(const struct otlp_record *r, void *arg)
{
	struct batch *b = arg;
	struct otlp_hook hook;
	struct item *item;

	if (!otlp_hook(r, &b->hooks, &hook))
		return;
	item = arena_new(&b->hooks, struct item);
	item->hook = hook;
	*b->last = item;
	b->last = &item->next;
	b->nhooks++;
}

static int read_batch(struct batch *b)
{
	const struct http_request *q = b->call->request;
	struct buf unpacked = BUF_INIT(0);
	str body = q->body;
	int r = 0;

	if (str_eq_nocase(q->head.content_encoding, STR("gzip"))) {
		r = otlp_gunzip(body, OTLP_BODY_MAX, &unpacked);
		body = buf_str(&unpacked);
	}
	if (r == 0)
		r = otlp_read(body, b->type, &b->reading);
	buf_release(&unpacked);
	return r;
}

/* The adapter's own words, and redaction like everything else. */
static void make_record(struct batch *b, const struct otlp_hook *h, int64_t now, struct arena *a, struct record *ret)
{
	const struct api_context *ctx = api_context_of(web_api(b->call->web));
	int64_t at = h->at_us > 0 && h->at_us < now + AHEAD_S * USEC_PER_SEC ? h->at_us : now;
	struct wire_hook hook = { .id = h->id,
		.at_ms = at / USEC_PER_MSEC,
		.agent = str_of(h->agent),
		.event = str_of(h->event),
		.payload = h->payload };
	struct event e;
	unsigned secrets;

	agent_parse(agent_find(hook.agent), &hook, a, &e);
	if (h->is_usage)
		e.kind = EVENT_MODEL_USAGE; /* which no agent can say */
	e.at_us = at;
	e.marks |= EVENT_IMPORTED;
	engine_redact(ctx->engine, a, &e, ret, &secrets);
	ret->order_us = at;
	b->secrets += secrets;
}

/* Only the record's own bytes stay; what it was made from is many times as large. */
static int keep_record(struct batch *b, const struct record *r, struct buf *bytes)
{
	buf_clear(bytes);
	if (record_encode(r, bytes) < 0)
		return -E2BIG;
	return record_decode(arena_str(&b->call->arena, buf_str(bytes)), &b->records[b->nrecords++]);
}

static int make_records(struct batch *b)
{
	struct buf bytes = BUF_INIT(LIMIT_RECORD);
	struct arena scratch;
	struct record record;
	int64_t now = clock_wall_us();
	int r = 0;

	arena_init(&scratch);
	b->records = arena_alloc(&b->call->arena, (b->nhooks + 1) * sizeof *b->records);
	for (struct item *i = b->first; i && r == 0; i = i->next) {
		arena_reset(&scratch);
		make_record(b, &i->hook, now, &scratch, &record);
		r = keep_record(b, &record, &bytes);
	}
	arena_release(&scratch);
	buf_release(&bytes);
	return r;
}

static void work(void *arg)
{
	struct batch *b = arg;

	b->result = read_batch(b);
	if (b->result == 0)
		b->result = make_records(b);
	arena_release(&b->hooks);
}

/* -- on the loop ------------------------------------------------------------------------------- */

/* In the type of the request. */
static void answer_done(struct batch *b)
{
	struct web_call *c = b->call;

	c->type = b->type == OTLP_JSON ? "application/json" : "application/x-protobuf";
	if (b->type == OTLP_JSON)
		buf_add_str(&c->body, STR("{}"));
	web_done(c);
}

static void answer_refused(struct batch *b)
{
	counts.refused++;
	if (b->result == -E2BIG)
		web_fail(b->call, 413, "the batch is too large");
	else
		web_fail(b->call, 400, "not a batch of log records");
}

static void store_slice(struct batch *b);

static void stored(bool is_stored, void *arg)
{
	struct batch *b = arg;

	if (!is_stored) {
		counts.postponed++;
		snprintf(b->call->fields, sizeof b->call->fields, "Retry-After: 5\r\n");
		web_fail(b->call, 503, "the journal cannot be written; send it again later");
		return;
	}
	store_slice(b);
}

static void store_slice(struct batch *b)
{
	const struct api_context *ctx = api_context_of(web_api(b->call->web));
	size_t from = b->next, bytes = 0;

	while (b->next < b->nrecords && b->next - from < SLICE_RECORDS && bytes < SLICE_BYTES)
		bytes += b->records[b->next++].payload.n;
	if (from == b->next) {
		counts.records += b->reading.records;
		counts.events += b->nrecords;
		answer_done(b);
		return;
	}
	engine_store(ctx->engine, b->records + from, b->next - from, stored, b);
}

static void worked(void *arg)
{
	struct batch *b = arg;

	if (b->result < 0)
		answer_refused(b);
	else
		store_slice(b);
}

static bool is_type(str type, const char *name)
{
	str wanted = str_of(name);

	return str_eq_nocase(str_head(type, wanted.n), wanted) && (type.n == wanted.n || type.p[wanted.n] == ';');
}

bool otlp_is_type(const struct http_head *h)
{
	return is_type(h->content_type, "application/json") || is_type(h->content_type, "application/x-protobuf");
}

void run_otlp_logs(struct web_call *c)
{
	struct batch *b = arena_new(&c->arena, struct batch);

	*b = (struct batch){ .call = c, .last = &b->first, .reading = { .record = take_record } };
	b->type = is_type(c->request->head.content_type, "application/json") ? OTLP_JSON : OTLP_PROTOBUF;
	b->reading.arg = b;
	counts.requests++;
	loop_submit_lane(api_context_of(web_api(c->web))->loop, LOOP_PEOPLE, work, worked, b);
}
