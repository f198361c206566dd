/* The worker's endpoints of claude-mem, for its hook scripts.
 *
 * What its hooks send becomes events: a prompt, a tool's use, the end of a turn, the end of a session. Tools of the
 * skip list are stored like all others; they only yield no observation, which is what the answer says. */
#include <stdio.h>

#include "agents/agents.h"
#include "api/web.h"
#include "base/limits.h"

static const char *const skipped_tools[] = { "ListMcpResourcesTool", "SlashCommand", "Skill", "TodoWrite",
	"AskUserQuestion" };

static bool is_skipped(str tool)
{
	for (size_t i = 0; i < countof(skipped_tools); i++)
		if (str_eq(tool, str_of(skipped_tools[i])))
			return true;
	return false;
}

/* The body, or NULL: it has been answered. */
static const struct json *body_of(struct web_call *c)
{
	struct json *body = NULL;

	if (json_parse(&c->arena, c->request->body, JSON_LENIENT_UTF8, &body, NULL) == 0 && body->type == JSON_OBJECT)
		return body;
	web_fail(c, 400, "the body must be a JSON object");
	return NULL;
}

/* contentSessionId, which was called claudeSessionId before. */
static str session_of(const struct json *body)
{
	static const char *const names[] = { "contentSessionId", "claudeSessionId", "session_id", "sessionId" };

	for (size_t i = 0; i < countof(names); i++) {
		str s = json_str(json_get(body, str_of(names[i])));

		if (!str_empty(s))
			return s;
	}
	return STR_NONE;
}

/* Members of the body that an event has as well, by both names. */
struct member {
	const char *given, *known;
};

static str make_payload(struct web_call *c, const struct json *body, const struct member *members)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	jw_field_str(&w, "session_id", session_of(body));
	for (; members->given; members++) {
		const struct json *v = json_get(body, str_of(members->given));

		if (!v)
			continue;
		jw_key(&w, members->known);
		jw_value(&w, v);
	}
	jw_end_object(&w);
	text = arena_str(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void send(struct web_call *c, const struct json *body, const char *event, const struct member *members,
	void (*encode)(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret))
{
	str source = json_str(json_get(body, STR("platformSource")));

	if (str_empty(session_of(body))) {
		web_fail(c, 400, "contentSessionId is missing");
		return;
	}
	web_forward(c,
		&(struct web_event){ .agent = str_empty(source) ? STR("claude") : source,
			.event = str_of(event),
			.cwd = json_str(json_get(body, STR("cwd"))),
			.payload = make_payload(c, body, members),
			.encode = encode },
		NULL);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void encode_queued(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)v;
	(void)a;
	if (e->kind == EVENT_POST_TOOL_USE && is_skipped(e->tool_name))
		buf_add_str(ret->out, STR("{\"status\":\"skipped\",\"reason\":\"tool_excluded\"}"));
	else
		buf_add_str(ret->out, STR("{\"status\":\"queued\"}"));
}

static void encode_init(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);
	char id[ULID_TEXT + 1];

	(void)v;
	(void)a;
	ulid_format(&e->id, id);
	jw_object(&w);
	jw_field_str(&w, "status", STR("initialized"));
	jw_field_str(&w, "sessionDbId", e->session);
	jw_field_str(&w, "promptId", str_of(id));
	jw_field_bool(&w, "skipped", false);
	jw_field_bool(&w, "contextInjected", false);
	jw_end_object(&w);
}

static void encode_complete(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)e;
	(void)v;
	(void)a;
	buf_add_str(ret->out, STR("{\"success\":true,\"status\":\"completed\"}"));
}

/* -- requests ---------------------------------------------------------------------------------- */

/* Text for the model; nothing as long as nothing was learned. */
void web_run_mem_inject(struct web_call *c)
{
	char project[1024];

	if (!http_query_value(c->request->head.query, STR("project"), project, sizeof project)) {
		web_fail(c, 400, "project is missing");
		return;
	}
	c->type = "text/plain; charset=utf-8";
	web_done(c);
}

/* POST /api/sessions/init, and /sessions/<id>/init, which names the session in its path. */
void web_run_mem_init(struct web_call *c)
{
	static const struct member members[] = { { "prompt", "prompt" }, { "userPrompt", "prompt" }, { "cwd", "cwd" },
		{ 0 } };
	static const str before = { "/sessions/", 10 }, after = { "/init", 5 };
	const struct json *body = body_of(c);
	str path = c->request->head.path, id;

	if (!body)
		return;
	if (!str_starts(path, before)) {
		send(c, body, "UserPromptSubmit", members, encode_init);
		return;
	}
	id = str_from(path, before.n);
	if (!str_ends(id, after) || id.n == after.n) {
		web_fail(c, 404, "there is no such address");
		return;
	}
	/* The prompt was sent with the session; this only asks the worker to begin. */
	c->type = "application/json";
	buf_add_str(&c->body, STR("{\"status\":\"initialized\"}"));
	web_done(c);
}

void web_run_mem_observation(struct web_call *c)
{
	static const struct member members[] = { { "tool_name", "tool_name" }, { "tool_input", "tool_input" },
		{ "tool_response", "tool_response" }, { "tool_use_id", "tool_use_id" }, { "cwd", "cwd" },
		{ "agentId", "agent_id" }, { "agentType", "agent_type" }, { 0 } };
	const struct json *body = body_of(c);

	if (body)
		send(c, body, "PostToolUse", members, encode_queued);
}

void web_run_mem_summarize(struct web_call *c)
{
	static const struct member members[] = { { "last_assistant_message", "last_assistant_message" },
		{ "last_user_message", "last_user_message" }, { "cwd", "cwd" }, { 0 } };
	const struct json *body = body_of(c);

	if (body)
		send(c, body, "Stop", members, encode_queued);
}

void web_run_mem_complete(struct web_call *c)
{
	static const struct member members[] = { { "reason", "reason" }, { "cwd", "cwd" }, { 0 } };
	const struct json *body = body_of(c);

	if (body)
		send(c, body, "SessionEnd", members, encode_complete);
}

/* Whether the worker is busy: it never is, for nothing is waiting to be extracted. */
void web_run_mem_processing(struct web_call *c)
{
	if (!body_of(c))
		return;
	c->type = "application/json";
	buf_add_str(&c->body, STR("{\"status\":\"ok\",\"isProcessing\":false}"));
	web_done(c);
}
