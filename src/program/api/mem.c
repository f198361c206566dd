/* The worker's endpoints of claude-mem, for its hook scripts.
 *
 * What its hooks send becomes events: a prompt, a tool's use, the end of a turn, the end of a session. What tools of
 * the skip list do, and what happens in an excluded project, is stored like everything else; nothing is learned from
 * it, which is what the answer says. */
#include <stdio.h>

#include "agents/agents.h"
#include "api/web.h"
#include "base/clock.h"
#include "base/limits.h"
#include "config/config.h"
#include "redact/redact.h"

typedef void encoder(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret);

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

static str agent_name(const struct json *body)
{
	str source = json_str(json_get(body, STR("platformSource")));

	return str_empty(source) ? STR("claude") : source;
}

/* Members of the body that an event has as well, by both names. */
struct member {
	const char *given, *known;
};

static str make_payload(struct web_call *c, str session, const struct json *body, const struct member *members)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	jw_field_str(&w, "session_id", session);
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
	encoder *encode)
{
	if (str_empty(session_of(body))) {
		web_fail(c, 400, "contentSessionId is missing");
		return;
	}
	web_forward(c,
		&(struct web_event){ .agent = agent_name(body),
			.event = str_of(event),
			.cwd = json_str(json_get(body, STR("cwd"))),
			.payload = make_payload(c, session_of(body), body, members),
			.encode = encode },
		NULL);
}

/* -- prompts ----------------------------------------------------------------------------------- */

static const struct member prompt_members[] = { { "prompt", "prompt" }, { "userPrompt", "prompt" }, { "cwd", "cwd" },
	{ 0 } };

static bool is_excluded(struct web_call *c, const struct json *body)
{
	const struct api_context *ctx = api_context_of(web_api(c->web));

	return config_excludes_project(ctx->config, json_str(json_get(body, STR("cwd"))), str_of(ctx->paths->home));
}

/* reason: why nothing is learned from it; NULL: something is. */
static void write_init(const struct event *e, const char *reason, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);
	char id[ULID_TEXT + 1];

	ulid_format(&e->first, id);
	jw_object(&w);
	jw_field_str(&w, "status", STR("initialized"));
	jw_field_str(&w, "sessionDbId", e->session);
	jw_field_str(&w, "promptId", str_of(id));
	jw_field_bool(&w, "skipped", reason != NULL);
	jw_field_str(&w, "reason", str_of(reason));
	jw_field_bool(&w, "contextInjected", false);
	jw_end_object(&w);
}

static void encode_init(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)v;
	(void)a;
	write_init(e, redact_leaves_nothing(e->prompt) ? "private" : NULL, ret);
}

static void encode_init_excluded(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)v;
	(void)a;
	write_init(e, "project_excluded", ret);
}

/* The prompt is in the store now: which one of its session is it? */
static void add_number(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;
	struct json *sums = NULL;
	int64_t n;

	if (!answer)
		return;
	if (!answer->code && c->body.len &&
		json_parse(&c->arena, arena_str(&c->arena, answer->result), 0, &sums, NULL) == 0 &&
		json_int(json_get(sums, STR("prompts")), &n)) {
		c->body.len--; /* } */
		buf_addf(&c->body, ",\"promptNumber\":%lld}", (long long)n);
	}
	web_done(c);
}

static void then_number(struct web_call *c)
{
	web_ask_sums(c, *(str *)c->state, "start", add_number);
}

/* event: the same prompt told at both addresses comes under two names, and so is taken for one. */
static void send_prompt(struct web_call *c, const struct json *body, str session, const char *event)
{
	str *kept = arena_alloc(&c->arena, sizeof *kept);

	if (str_empty(session)) {
		web_fail(c, 400, "contentSessionId is missing");
		return;
	}
	*kept = session;
	c->state = kept;
	web_forward(c,
		&(struct web_event){ .agent = agent_name(body),
			.event = str_of(event),
			.cwd = json_str(json_get(body, STR("cwd"))),
			.payload = make_payload(c, session, body, prompt_members),
			.encode = is_excluded(c, body) ? encode_init_excluded : encode_init },
		then_number);
}

/* POST /api/sessions/init, and /sessions/<id>/init, which names the session in its path. */
void web_run_mem_init(struct web_call *c)
{
	static const str before = { "/sessions/", 10 }, after = { "/init", 5 };
	const struct json *body = body_of(c);
	str path = c->request->head.path, id;

	if (!body)
		return;
	if (!str_starts(path, before)) {
		send_prompt(c, body, session_of(body), "UserPromptSubmit");
		return;
	}
	id = str_from(path, before.n);
	if (!str_ends(id, after) || id.n == after.n || str_find_char(id, '%') >= 0) {
		web_fail(c, 404, "there is no such address");
		return;
	}
	if (json_get(body, STR("userPrompt")) || json_get(body, STR("prompt"))) {
		send_prompt(c, body, str_head(id, id.n - after.n), "user-prompt-submit");
		return;
	}
	/* The prompt was sent with the session; this only asks the worker to begin. */
	c->type = "application/json";
	buf_add_str(&c->body, STR("{\"status\":\"initialized\"}"));
	web_done(c);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void encode_queued(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)e;
	(void)v;
	(void)a;
	buf_add_str(ret->out, STR("{\"status\":\"queued\"}"));
}

static void encode_tool(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)e;
	(void)v;
	(void)a;
	buf_add_str(ret->out, STR("{\"status\":\"skipped\",\"reason\":\"tool_excluded\"}"));
}

static void encode_project(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)e;
	(void)v;
	(void)a;
	buf_add_str(ret->out, STR("{\"status\":\"skipped\",\"reason\":\"project_excluded\"}"));
}

static void encode_private(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)e;
	(void)v;
	(void)a;
	buf_add_str(ret->out, STR("{\"status\":\"skipped\",\"reason\":\"private\"}"));
}

static void encode_complete(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	(void)e;
	(void)v;
	(void)a;
	buf_add_str(ret->out, STR("{\"success\":true,\"status\":\"completed\"}"));
}

/* -- requests ---------------------------------------------------------------------------------- */

/* What is said about something from which memories could be made. */
static encoder *pick(struct web_call *c, const struct json *body)
{
	const struct api_context *ctx = api_context_of(web_api(c->web));

	if (is_excluded(c, body))
		return encode_project;
	if (config_lists(ctx->config, OPTION_EXTRACT_SKIP, json_str(json_get(body, STR("tool_name")))))
		return encode_tool;
	if (redact_is_muted(ctx->paths->run, agent_name(body), session_of(body), clock_wall_us()))
		return encode_private;
	return encode_queued;
}

/* -- context ----------------------------------------------------------------------------------- */

static const struct json *result_of(struct web_call *c, const struct op_answer *answer)
{
	struct json *result = NULL;

	if (!answer->code)
		(void)json_parse(&c->arena, arena_str(&c->arena, answer->result), 0, &result, NULL);
	return result;
}

static void write_text(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;

	if (!answer)
		return;
	buf_add_str(&c->body, json_str(json_get(result_of(c, answer), STR("text"))));
	web_done(c);
}

/* What a session would be told that began in this directory. */
static void ask_text(struct web_call *c, str directory)
{
	struct buf b = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_str(&w, "event", STR("SessionStart"));
	jw_field_str(&w, "source", STR("startup"));
	jw_field_str(&w, "agent", STR("claude"));
	jw_field_str(&w, "project", directory);
	jw_end_object(&w);
	web_ask(c, "preview", buf_str(&b), write_text);
	buf_release(&b);
}

/* The project of that name that was used last. */
static void find_project(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;

	if (!answer)
		return;
	json_each(p, json_get(result_of(c, answer), STR("projects")))
		if (str_eq(json_str(json_get(p, STR("name"))), str_of(c->state))) {
			ask_text(c, json_str(json_get(p, STR("path"))));
			return;
		}
	web_done(c);
}

/* GET /api/context/inject?project=: a name, as claude-mem's scripts send it, or a directory. Text for the model, or
 * nothing. */
void web_run_mem_inject(struct web_call *c)
{
	enum { NAME_MAX_BYTES = 4096 };
	char *project = arena_bytes(&c->arena, NAME_MAX_BYTES);

	if (!http_query_value(c->request->head.query, STR("project"), project, NAME_MAX_BYTES)) {
		web_fail(c, 400, "project is missing");
		return;
	}
	c->state = project;
	c->type = "text/plain; charset=utf-8";
	if (project[0] == '/')
		ask_text(c, str_of(project));
	else
		web_ask(c, "projects", STR("{}"), find_project);
}

void web_run_mem_observation(struct web_call *c)
{
	static const struct member members[] = { { "tool_name", "tool_name" }, { "tool_input", "tool_input" },
		{ "tool_response", "tool_response" }, { "tool_use_id", "tool_use_id" }, { "cwd", "cwd" },
		{ "agentId", "agent_id" }, { "agentType", "agent_type" }, { 0 } };
	const struct json *body = body_of(c);

	if (body)
		send(c, body, "PostToolUse", members, pick(c, body));
}

void web_run_mem_summarize(struct web_call *c)
{
	static const struct member members[] = { { "last_assistant_message", "last_assistant_message" },
		{ "last_user_message", "last_user_message" }, { "cwd", "cwd" }, { 0 } };
	const struct json *body = body_of(c);

	if (body)
		send(c, body, "Stop", members, pick(c, body));
}

void web_run_mem_complete(struct web_call *c)
{
	static const struct member members[] = { { "reason", "reason" }, { "cwd", "cwd" }, { 0 } };
	const struct json *body = body_of(c);

	if (body)
		send(c, body, "SessionEnd", members, encode_complete);
}

/* The hook scripts say when their worker begins and ends; whoever follows /events sees it. */
void web_run_mem_processing(struct web_call *c)
{
	const struct json *body = body_of(c), *busy = json_get(body, STR("isProcessing"));
	bool *processing = web_processing(c->web);
	str said;

	if (!body)
		return;
	if (busy && busy->type == JSON_BOOL)
		*processing = busy->flag;
	said = *processing ? STR("{\"isProcessing\":true,\"queueDepth\":0}")
			   : STR("{\"isProcessing\":false,\"queueDepth\":0}");
	web_announce(c->web, "processing_status", said);
	c->type = "application/json";
	buf_addf(&c->body, "{\"status\":\"ok\",\"isProcessing\":%s}", *processing ? "true" : "false");
	web_done(c);
}
