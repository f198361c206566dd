/* The hook endpoints of Codebase Intelligence: POST /api/oak/ci/<event>, for scripts and plugins written for it.
 *
 * A body becomes a call like any other: stored, judged, answered by hooks. The answer has the shape those clients know,
 * and beside it hook_output, what the agent itself would have been told. What a turn or a session came to is read from
 * the store once the event is in it. */
#include "agents/agents.h"
#include "api/web.h"
#include "base/clock.h"
#include "base/limits.h"

#define PREFIX "/api/oak/ci/"

enum { PATIENCE_MS = 10000 };

/* What follows the answer of the engine. */
enum sums { SUMS_NONE, SUMS_TURN, SUMS_SESSION };

static const struct endpoint {
	const char *path, *event;
	enum sums sums;
} endpoints[] = {
	{ "session-start", "SessionStart", SUMS_NONE },
	{ "prompt-submit", "UserPromptSubmit", SUMS_NONE },
	{ "before-prompt", "UserPromptSubmit", SUMS_NONE },
	{ "pre-tool-use", "PreToolUse", SUMS_NONE },
	{ "post-tool-use", "PostToolUse", SUMS_NONE },
	{ "post-tool-use-failure", "PostToolUseFailure", SUMS_NONE },
	{ "stop", "Stop", SUMS_TURN },
	{ "session-end", "SessionEnd", SUMS_SESSION },
	{ "subagent-start", "SubagentStart", SUMS_NONE },
	{ "subagent-stop", "SubagentStop", SUMS_NONE },
	{ "pre-compact", "PreCompact", SUMS_NONE },
	{ "agent-thought", "AgentThought", SUMS_NONE },
	{ "notify", "notify", SUMS_NONE },
};

struct oak {
	struct web_call *call;
	const struct endpoint *endpoint; /* NULL: one we do not know, which is stored under its own name */
	str name, session;
	struct buf reply; /* members of the answer's object, without its braces */
};

static const struct endpoint *find_endpoint(str path)
{
	for (size_t i = 0; i < countof(endpoints); i++)
		if (str_eq(path, str_of(endpoints[i].path)))
			return &endpoints[i];
	return NULL;
}

/* -- answers ----------------------------------------------------------------------------------- */

static void write_context(struct json_writer *w, const struct verdict *v)
{
	struct buf text = BUF_INIT(KIB(256));

	for (const struct context_block *b = v->context; b; b = b->next)
		buf_addf(&text, "%s" STR_FMT, text.len ? "\n\n" : "", STR_ARG(b->text));
	if (text.len)
		jw_field_str(w, "injected_context", buf_str(&text));
	buf_release(&text);
}

static void write_start(struct json_writer *w, const struct event *e, const struct verdict *v)
{
	jw_field_str(w, "session_id", e->session);
	jw_key(w, "context");
	jw_object(w);
	jw_field_str(w, "session_id", e->session);
	jw_field_str(w, "agent", e->agent);
	write_context(w, v);
	jw_field_str(w, "project_root", e->cwd);
	jw_key(w, "index");
	jw_object(w);
	jw_field_int(w, "code_chunks", 0);
	jw_field_int(w, "memory_observations", 0);
	jw_field_str(w, "status", STR("off"));
	jw_end_object(w);
	jw_end_object(w);
}

static void write_prompt(struct json_writer *w, const struct event *e, const struct verdict *v)
{
	char id[ULID_TEXT + 1];

	ulid_format(&e->id, id);
	jw_key(w, "context");
	jw_object(w);
	write_context(w, v);
	jw_end_object(w);
	jw_field_str(w, "prompt_batch_id", str_of(id)); /* a batch is named by its first event */
}

static void write_decision(struct json_writer *w, const struct verdict *v)
{
	static const char *const decisions[] = { [VERDICT_NONE] = "allow",
		[VERDICT_ALLOW] = "allow",
		[VERDICT_ASK] = "ask",
		[VERDICT_DENY] = "deny" };

	jw_field_str(w, "decision", str_of(decisions[v->action]));
	jw_field_str(w, "reason", v->reason);
	jw_field_str(w, "rule", v->rule);
}

/* What the agent would have been told, in its own form. */
static void write_hook_output(struct json_writer *w, const struct event *e, const struct verdict *v, struct arena *a)
{
	struct buf out = BUF_INIT(LIMIT_REPLY);
	struct answer answer = { .out = &out };

	agent_render(agent_find(e->agent), e, v, a, &answer);
	jw_key(w, "hook_output");
	if (out.len)
		jw_stored(w, str_trim(buf_str(&out)));
	else
		jw_raw(w, STR("{}"));
	buf_release(&out);
}

static void encode(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);

	jw_object(&w);
	jw_field_str(&w, "status", STR("ok"));
	switch (e->kind) {
	case EVENT_SESSION_START: write_start(&w, e, v); break;
	case EVENT_USER_PROMPT_SUBMIT: write_prompt(&w, e, v); break;
	case EVENT_PRE_TOOL_USE: write_decision(&w, v); break;
	case EVENT_POST_TOOL_USE:
		jw_field_int(&w, "observations_captured", 0);
		write_context(&w, v);
		break;
	case EVENT_STOP: jw_field_bool(&w, "processing_scheduled", false); break;
	case EVENT_UNKNOWN: jw_field_str(&w, "event", e->native); break;
	default: break;
	}
	write_hook_output(&w, e, v, a);
	jw_end_object(&w);
}

/* -- the way of a call ------------------------------------------------------------------------- */

/* The sums are members of one more object, which is put together with the first. */
static void add_sums(const struct op_answer *answer, void *arg)
{
	struct oak *o = arg;
	struct web_call *c = o->call;

	if (!answer) {
		buf_release(&o->reply);
		return;
	}
	buf_add_str(&c->body, buf_str(&o->reply));
	if (!answer->code && answer->result.n > 2 && c->body.len) {
		c->body.len--; /* } */
		buf_add_char(&c->body, ',');
		buf_add_str(&c->body, str_from(answer->result, 1));
	}
	buf_release(&o->reply);
	web_done(c);
}

static void on_done(void *arg, enum wire_stored stored, const struct answer *answer)
{
	struct oak *o = arg;

	buf_add_str(&o->reply, buf_str(answer->out));
	if (stored == WIRE_STORED_NO)
		o->call->status = 503;
}

/* Nobody uses the body any more: the connection may have it back. */
static void on_release(void *arg)
{
	struct oak *o = arg;
	struct web_call *c = o->call;
	struct json_writer w;
	struct buf params = BUF_INIT(KIB(8));
	struct json *parsed = NULL;

	c->type = "application/json";
	if (o->endpoint && o->endpoint->sums && !str_empty(o->session)) {
		w = (struct json_writer)JSON_WRITER(&params);
		jw_object(&w);
		jw_field_str(&w, "session", o->session);
		jw_field_bool(&w, "turn", o->endpoint->sums == SUMS_TURN);
		jw_end_object(&w);
		if (json_parse(&c->arena, arena_str(&c->arena, buf_str(&params)), 0, &parsed, NULL) == 0) {
			buf_release(&params);
			api_call(web_api(c->web),
				&(struct op_request){ .method = STR("sums"),
					.params = parsed,
					.done = add_sums,
					.arg = o });
			return;
		}
	}
	buf_release(&params);
	buf_add_str(&c->body, buf_str(&o->reply));
	buf_release(&o->reply);
	web_done(c);
}

static bool is_gone(void *arg)
{
	(void)arg;
	return false;
}

static str session_in(const struct json *body)
{
	static const char *const names[] = { "session_id", "sessionId", "conversation_id", "conversationId",
		"trajectory_id" };

	for (size_t i = 0; i < countof(names); i++) {
		str s = json_str(json_get(body, str_of(names[i])));

		if (!str_empty(s))
			return s;
	}
	return STR_NONE;
}

void web_run_oak(struct web_call *c)
{
	struct oak *o = arena_alloc(&c->arena, sizeof *o);
	str name = str_from(c->request->head.path, sizeof PREFIX - 1);
	struct hook_call call = { .way = HOOK_WAY_HTTP,
		.encode = encode,
		.caller = { .done = on_done, .release = on_release, .is_gone = is_gone, .arg = o } };
	struct json *body = NULL;

	if (json_parse(&c->arena, c->request->body, JSON_LENIENT_UTF8, &body, NULL) < 0 || body->type != JSON_OBJECT) {
		web_fail(c, 400, "the body must be a JSON object");
		return;
	}
	*o = (struct oak){ .call = c, .endpoint = find_endpoint(name), .name = name, .session = session_in(body) };
	buf_init(&o->reply, LIMIT_REPLY * 2);
	call.hook = (struct wire_hook){ .at_ms = clock_wall_us() / USEC_PER_MSEC,
		.deadline_ms = PATIENCE_MS,
		.agent = json_str(json_get(body, STR("agent"))),
		.event = o->endpoint ? str_of(o->endpoint->event) : name,
		.cwd = json_str(json_get(body, STR("cwd"))),
		.payload = c->request->body };
	if (str_empty(call.hook.agent))
		call.hook.agent = STR("generic");
	call.hook.id = ulid_make();
	engine_call(api_context_of(web_api(c->web))->engine, &call);
}
