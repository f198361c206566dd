/* A request's body as an event of an agent. */
#include "agents/agents.h"
#include "api/web.h"
#include "base/clock.h"
#include "base/limits.h"

enum { PATIENCE_MS = 10000 };

struct forward {
	struct web_call *call;
	void (*then)(struct web_call *c);
};

static void on_done(void *arg, enum wire_stored stored, const struct answer *answer)
{
	struct web_call *c = ((struct forward *)arg)->call;

	buf_add_str(&c->body, buf_str(answer->out));
	if (stored == WIRE_STORED_NO)
		c->status = 503;
}

/* Nobody uses the body any more: the connection may have it back. */
static void on_release(void *arg)
{
	struct forward *f = arg;

	f->call->type = "application/json";
	if (f->then)
		f->then(f->call);
	else
		web_done(f->call);
}

static bool is_gone(void *arg)
{
	(void)arg;
	return false;
}

void web_forward(struct web_call *c, const struct web_event *e, void (*then)(struct web_call *c))
{
	struct forward *f = arena_alloc(&c->arena, sizeof *f);
	struct hook_call call = { .way = HOOK_WAY_HTTP,
		.encode = e->encode,
		.caller = { .done = on_done, .release = on_release, .is_gone = is_gone, .arg = f } };

	*f = (struct forward){ c, then };
	call.hook = (struct wire_hook){ .id = ulid_make(),
		.at_ms = clock_wall_us() / USEC_PER_MSEC,
		.deadline_ms = PATIENCE_MS,
		.agent = str_empty(e->agent) ? STR("generic") : e->agent,
		.event = e->event,
		.cwd = e->cwd,
		.payload = e->payload };
	engine_call(api_context_of(web_api(c->web))->engine, &call);
}

void web_ask(struct web_call *c, const char *method, str params,
	void (*done)(const struct op_answer *answer, void *arg))
{
	struct json *parsed = NULL;

	(void)json_parse(&c->arena, arena_str(&c->arena, params), 0, &parsed, NULL);
	api_call(web_api(c->web),
		&(struct op_request){ .method = str_of(method), .params = parsed, .done = done, .arg = c });
}

void web_ask_sums(struct web_call *c, str session, const char *which,
	void (*done)(const struct op_answer *answer, void *arg))
{
	struct buf b = BUF_INIT(KIB(8));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_str(&w, "session", session);
	if (which)
		jw_field_bool(&w, which, true);
	jw_end_object(&w);
	web_ask(c, "sums", buf_str(&b), done);
	buf_release(&b);
}
