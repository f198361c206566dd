/* The hook endpoints of Codebase Intelligence: POST /api/oak/ci/<event>, for scripts and plugins written for it.
 *
 * A body becomes a call like any other: stored, judged, answered by hooks. The answer has the shape those clients know,
 * and beside it hook_output, what the agent itself would have been told. What a turn or a session came to is read from
 * the store once the event is in it. */
#include "agents/agents.h"
#include "api/web.h"
#include "base/limits.h"

#define PREFIX "/api/oak/ci/"

/* What follows the answer of the engine. */
enum sums { SUMS_NONE, SUMS_START, SUMS_TURN, SUMS_SESSION };

static const struct endpoint {
	const char *path, *event;
	enum sums sums;
} endpoints[] = {
	{ "session-start", "SessionStart", SUMS_START },
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
	const struct endpoint *endpoint; /* NULL: one we do not know, which is stored under its own name */
	str session;
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
	/* Empty while there is nothing to say: clients look for the member. */
	jw_key(w, "injected_context");
	jw_str(w, buf_str(&text));
	buf_release(&text);
}

/* Its last member is the index, and what is in that comes afterwards. */
static void write_start(struct json_writer *w, const struct event *e, const struct verdict *v)
{
	jw_field_str(w, "session_id", e->session);
	jw_key(w, "context");
	jw_object(w);
	jw_field_str(w, "session_id", e->session);
	jw_field_str(w, "agent", e->agent);
	write_context(w, v);
	jw_key(w, "project_root");
	if (str_empty(e->cwd))
		jw_null(w);
	else
		jw_str(w, e->cwd);
	jw_key(w, "index");
	jw_object(w);
	jw_end_object(w);
	jw_end_object(w);
}

static void write_prompt(struct json_writer *w, const struct event *e, const struct verdict *v)
{
	char id[ULID_TEXT + 1];

	ulid_format(&e->first, id);
	jw_key(w, "context");
	jw_object(w);
	write_context(w, v);
	jw_end_object(w);
	jw_field_str(w, "prompt_batch_id",
		str_of(id)); /* a batch is named by its first event, and duplicates get the answer of the first call */
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
	write_hook_output(&w, e, v, a);
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
	jw_end_object(&w);
}

/* -- the way of a call ------------------------------------------------------------------------- */

/* The sums are members of one more object, which is put together with the first. */
static void add_sums(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;

	if (!answer)
		return;
	if (!answer->code && answer->result.n > 2 && c->body.len) {
		c->body.len--; /* } */
		buf_add_char(&c->body, ',');
		buf_add_str(&c->body, str_from(answer->result, 1));
	}
	web_done(c);
}

static void add_index(const struct op_answer *answer, void *arg)
{
	static const str empty = STR("{}}}");
	struct web_call *c = arg;
	struct json *sums = NULL;
	int64_t memories = 0, pieces = 0;
	bool known;

	if (!answer)
		return;
	known = !answer->code && json_parse(&c->arena, arena_str(&c->arena, answer->result), 0, &sums, NULL) == 0 &&
		json_int(json_get(sums, STR("memories")), &memories);
	if (known)
		(void)json_int(json_get(sums, STR("pieces")), &pieces);
	if (str_ends(buf_str(&c->body), empty)) {
		c->body.len -= empty.n;
		buf_addf(&c->body, "{\"code_chunks\":%lld,\"memory_observations\":%lld,\"status\":\"%s\"}}}",
			(long long)pieces, (long long)memories, known ? "ready" : "unknown");
	}
	web_done(c);
}

static void then_sums(struct web_call *c)
{
	struct oak *o = c->state;

	if (o->endpoint->sums == SUMS_START)
		web_ask_sums(c, o->session, "start", add_index);
	else
		web_ask_sums(c, o->session, o->endpoint->sums == SUMS_TURN ? "turn" : NULL, add_sums);
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
	struct json *body = NULL;
	bool sums;

	if (json_parse(&c->arena, c->request->body, JSON_LENIENT_UTF8, &body, NULL) < 0 || body->type != JSON_OBJECT) {
		web_fail(c, 400, "the body must be a JSON object");
		return;
	}
	*o = (struct oak){ find_endpoint(name), session_in(body) };
	c->state = o;
	sums = o->endpoint && o->endpoint->sums && !str_empty(o->session);
	web_forward(c,
		&(struct web_event){ .agent = json_str(json_get(body, STR("agent"))),
			.event = o->endpoint ? str_of(o->endpoint->event) : name,
			.cwd = json_str(json_get(body, STR("cwd"))),
			.payload = c->request->body,
			.encode = encode },
		sums ? then_sums : NULL);
}
