/* hooks.*: an agent's events as operations, for scripts that forward them by JSON-RPC instead of through hookc.
 *
 * Each is a call like hookc's: stored, judged, answered by hooks. The members are Claude Code's, as they are or in
 * camelCase; unknown ones are kept. What belongs to an effort is null when the event belongs to none, which callers
 * take for "go on". */
#include <stdlib.h>

#include "agents/agents.h"
#include "api/ops.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "effort/effort.h"

enum { PATIENCE_MS = 10000 };

/* Members that the reader of payloads knows in one spelling only. */
static const struct {
	const char *given, *known;
} spellings[] = {
	{ "sessionId", "session_id" },
	{ "transcriptPath", "transcript_path" },
	{ "permissionMode", "permission_mode" },
	{ "hookEventName", "hook_event_name" },
	{ "toolName", "tool_name" },
	{ "toolInput", "tool_input" },
	{ "toolUseId", "tool_use_id" },
	{ "toolResponse", "tool_response" },
	{ "isInterrupt", "is_interrupt" },
	{ "stopHookActive", "stop_hook_active" },
	{ "lastAssistantMessage", "last_assistant_message" },
	{ "agentId", "agent_id" },
	{ "agentType", "agent_type" },
	{ "agentTranscriptPath", "agent_transcript_path" },
	{ "customInstructions", "custom_instructions" },
	{ "notificationType", "notification_type" },
	{ "permissionSuggestions", "permission_suggestions" },
	{ "teammateName", "teammate_name" },
	{ "teamName", "team_name" },
	{ "taskId", "task_id" },
	{ "taskSubject", "task_subject" },
	{ "taskDescription", "task_description" },
	{ "filePath", "file_path" },
};

static str spelled(str key)
{
	for (size_t i = 0; i < countof(spellings); i++)
		if (str_eq(key, str_of(spellings[i].given)))
			return str_of(spellings[i].known);
	return key;
}

/* -- answers, by event ------------------------------------------------------------------------- */

/* What an answer is made of. */
struct reply {
	struct json_writer *w;
	const struct event *event;
	const struct verdict *verdict;
	const struct json *effort; /* what the event's effort says: see sight_write() of the engine */
};

/* Members of the effort under names of their own; what it does not say is null. */
static void write_effort(const struct reply *r, const char *const *names)
{
	for (; *names; names++) {
		const struct json *v = json_get(r->effort, str_of(*names));

		jw_key(r->w, *names);
		if (v)
			jw_value(r->w, v);
		else
			jw_null(r->w);
	}
}

#define EFFORT_MEMBERS(...)       \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static void write_list(const struct reply *r, const char *name)
{
	const struct json *v = json_get(r->effort, str_of(name));

	jw_key(r->w, name);
	if (v) {
		jw_value(r->w, v);
		return;
	}
	jw_array(r->w);
	jw_end_array(r->w);
}

static int64_t number_of(const struct reply *r, const char *name)
{
	int64_t n = 0;

	json_int(json_get(r->effort, str_of(name)), &n);
	return n;
}

static void write_context(const struct reply *r, const char *name)
{
	struct buf text = BUF_INIT(KIB(256));

	for (const struct context_block *b = r->verdict->context; b; b = b->next)
		buf_addf(&text, "%s" STR_FMT, text.len ? "\n\n" : "", STR_ARG(b->text));
	jw_field_str(r->w, name, buf_str(&text));
	buf_release(&text);
}

static void write_start(const struct reply *r)
{
	jw_field_bool(r->w, "found", json_get(r->effort, STR("effortId")) != NULL);
	write_effort(r,
		EFFORT_MEMBERS("effortId", "sessionId", "taskDir", "skill", "phase", "dehydratedContext",
			"skillConfig"));
	write_list(r, "filesToPreload");
	write_context(r, "additionalContext");
}

/* Rules of the guard and of hooks by their names; those of the effort also with what they say. */
static void write_rules(const struct reply *r)
{
	jw_key(r->w, "firedRules");
	jw_array(r->w);
	for (const struct ruling *g = r->verdict->rulings; g; g = g->next)
		if (!str_starts(g->rule, STR("effort.")))
			jw_str(r->w, g->rule);
	json_each(f, json_get(r->effort, STR("firedRules")))
		jw_value(r->w, f);
	jw_end_array(r->w);
}

static void write_before(const struct reply *r)
{
	jw_field_bool(r->w, "allow", r->verdict->action != VERDICT_DENY);
	jw_field_bool(r->w, "ask", r->verdict->action == VERDICT_ASK);
	jw_field_int(r->w, "heartbeatCount", number_of(r, "heartbeatCount"));
	jw_field_int(r->w, "contextUsage", number_of(r, "contextUsage"));
	jw_field_bool(r->w, "overflowWarning", json_true(json_get(r->effort, STR("overflowWarning"))));
	write_list(r, "pendingPreloads");
	write_rules(r);
	jw_field_str(r->w, "reason", r->verdict->reason);
}

static void write_after(const struct reply *r)
{
	jw_field_int(r->w, "heartbeatCount", number_of(r, "heartbeatCount"));
	write_list(r, "pendingInjections");
	write_effort(r, EFFORT_MEMBERS("dialogueEntry"));
	write_context(r, "additionalContext");
}

static void write_prompt(const struct reply *r)
{
	write_context(r, "sessionContext");
	write_effort(r, EFFORT_MEMBERS("effortId", "sessionId", "taskDir", "skill", "phase"));
	jw_field_int(r->w, "heartbeat", number_of(r, "heartbeatCount"));
	jw_field_bool(r->w, "allow", r->verdict->action != VERDICT_DENY);
	jw_field_str(r->w, "reason", r->verdict->reason);
}

/* What the event says the agent is doing now. */
static void write_status(const struct reply *r)
{
	enum agent_status status = agent_status_of(r->event);

	jw_key(r->w, "agentStatus");
	if (status)
		jw_str(r->w, str_of(agent_status_names[status]));
	else
		jw_null(r->w);
}

/* A question to the user: who asks, and that it waits. */
static void write_permission(const struct reply *r)
{
	write_before(r);
	write_effort(r, EFFORT_MEMBERS("effortId", "sessionId"));
	write_status(r);
}

static void write_stop(const struct reply *r)
{
	jw_field_bool(r->w, "ok", true);
	jw_field_bool(r->w, "continue", r->verdict->continue_turn);
	jw_field_str(r->w, "reason", r->verdict->reason);
	write_effort(r, EFFORT_MEMBERS("effortId", "sessionId", "trouble"));
	write_status(r);
}

static void write_plain(const struct reply *r)
{
	jw_field_bool(r->w, "ok", true);
	write_effort(r, EFFORT_MEMBERS("effortId", "sessionId", "dehydratedContext"));
	write_list(r, "filesToPreload");
	write_status(r);
	write_context(r, "additionalContext");
}

static void write_substart(const struct reply *r)
{
	write_plain(r);
	write_effort(r, EFFORT_MEMBERS("taskDir", "skill", "phase", "skillConfig", "metadata"));
}

static void encode(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);
	struct json *effort = NULL;
	struct reply r = { .w = &w, .event = e, .verdict = v };

	if (str_is_set(v->effort) && json_parse(a, v->effort, JSON_LENIENT_UTF8, &effort, NULL) == 0)
		r.effort = effort;
	jw_object(&w);
	switch (e->kind) {
	case EVENT_SESSION_START: write_start(&r); break;
	case EVENT_PRE_TOOL_USE: write_before(&r); break;
	case EVENT_PERMISSION_REQUEST: write_permission(&r); break;
	case EVENT_SUBAGENT_START: write_substart(&r); break;
	case EVENT_POST_TOOL_USE: write_after(&r); break;
	case EVENT_USER_PROMPT_SUBMIT: write_prompt(&r); break;
	case EVENT_STOP:
	case EVENT_SUBAGENT_STOP: write_stop(&r); break;
	default: write_plain(&r);
	}
	jw_end_object(&w);
}

/* -- the call ---------------------------------------------------------------------------------- */

struct forwarded {
	struct request *later;
	struct buf payload, reply;
};

static void on_done(void *arg, enum wire_stored stored, const struct answer *answer)
{
	struct forwarded *f = arg;

	(void)stored;
	buf_add_str(&f->reply, buf_str(answer->out));
}

static void on_release(void *arg)
{
	struct forwarded *f = arg;

	op_finish(f->later, buf_str(&f->reply));
	buf_release(&f->payload);
	buf_release(&f->reply);
	free(f);
}

static bool is_gone(void *arg)
{
	(void)arg;
	return false;
}

static void write_payload(struct buf *b, const struct json *params, str cwd)
{
	struct json_writer w = JSON_WRITER(b);

	jw_object(&w);
	json_each(m, params) {
		jw_key_str(&w, spelled(m->key));
		jw_value(&w, m);
	}
	if (str_is_set(cwd))
		jw_field_str(&w, "cwd", cwd);
	jw_end_object(&w);
}

/* What hookc would have sent along. Bytes are the call's, which live until the answer. */
static void take_env(struct op_call *call, struct wire_hook *hook)
{
	json_each(m, call->env) {
		str value = json_str(m);

		if (hook->nenv == WIRE_ENV_MAX || !str_is_set(value) || !wire_env_is_allowed(m->key))
			continue;
		value = str_cut_utf8(value, WIRE_ENV_VALUE_MAX);
		hook->env[hook->nenv++] = arena_strf(call->arena, STR_FMT "=" STR_FMT, STR_ARG(m->key), STR_ARG(value));
	}
}

/* hooks.userPrompt is UserPromptSubmit; all others are called what they are. */
static str event_of(const struct op *op)
{
	str name = str_from(str_of(op->name), sizeof "hooks." - 1);

	return str_eq(name, STR("userPrompt")) ? STR("UserPromptSubmit") : name;
}

int op_call_hook(struct op_call *call)
{
	struct forwarded *f = xcalloc(1, sizeof *f);
	str agent = json_str(json_get(call->params, STR("agent"))),
	    given = json_str(json_get(call->params, STR("cwd"))), cwd = given;
	struct hook_call hook = { .way = HOOK_WAY_RPC,
		.encode = encode,
		.caller = { .done = on_done, .release = on_release, .is_gone = is_gone, .arg = f } };

	f->later = call->later;
	buf_init(&f->payload, LIMIT_PAYLOAD);
	buf_init(&f->reply, LIMIT_REPLY);
	/* Callers that know no other way say it in a variable. */
	if (str_empty(cwd))
		cwd = json_str(json_get(call->env, STR("CWD")));
	write_payload(&f->payload, call->params, str_eq(cwd, given) ? STR_NONE : cwd);
	hook.hook = (struct wire_hook){ .id = ulid_make(),
		.at_ms = clock_wall_us() / USEC_PER_MSEC,
		.deadline_ms = PATIENCE_MS,
		.agent = str_empty(agent) ? STR("claude") : agent,
		.event = event_of(call->op),
		.cwd = cwd,
		.payload = buf_str(&f->payload) };
	take_env(call, &hook.hook);
	engine_call(call->ctx->engine, &hook);
	return 0;
}
