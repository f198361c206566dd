/* hooks.*: an agent's events as operations, for scripts that forward them by JSON-RPC instead of through hookc.
 *
 * Each is a call like hookc's: stored, judged, answered by hooks. The members are Claude Code's, as they are or in
 * camelCase; unknown ones are kept. What belongs to an effort is null as long as there is none, which callers take for
 * "go on". */
#include <stdlib.h>

#include "agents/agents.h"
#include "api/ops.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"

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

static void write_nulls(struct json_writer *w, const char *const *names)
{
	for (; *names; names++) {
		jw_key(w, *names);
		jw_null(w);
	}
}

static void write_empty_list(struct json_writer *w, const char *name)
{
	jw_key(w, name);
	jw_array(w);
	jw_end_array(w);
}

static void write_context(struct json_writer *w, const char *name, const struct verdict *v)
{
	struct buf text = BUF_INIT(KIB(256));

	for (const struct context_block *b = v->context; b; b = b->next)
		buf_addf(&text, "%s" STR_FMT, text.len ? "\n\n" : "", STR_ARG(b->text));
	jw_field_str(w, name, buf_str(&text));
	buf_release(&text);
}

static void write_start(struct json_writer *w, const struct verdict *v)
{
	static const char *const nulls[] = { "effortId", "sessionId", "skill", "phase", "dehydratedContext",
		"skillConfig", NULL };

	jw_field_bool(w, "found", false);
	write_nulls(w, nulls);
	write_empty_list(w, "filesToPreload");
	write_context(w, "additionalContext", v);
}

static void write_before(struct json_writer *w, const struct verdict *v)
{
	jw_field_bool(w, "allow", v->action != VERDICT_DENY);
	jw_field_bool(w, "ask", v->action == VERDICT_ASK);
	jw_field_int(w, "heartbeatCount", 0);
	jw_field_int(w, "contextUsage", 0);
	jw_field_bool(w, "overflowWarning", false);
	write_empty_list(w, "pendingPreloads");
	jw_key(w, "firedRules");
	jw_array(w);
	for (const struct ruling *r = v->rulings; r; r = r->next)
		jw_str(w, r->rule);
	jw_end_array(w);
	jw_field_str(w, "reason", v->reason);
}

static void write_after(struct json_writer *w, const struct verdict *v)
{
	static const char *const nulls[] = { "dialogueEntry", NULL };

	jw_field_int(w, "heartbeatCount", 0);
	write_empty_list(w, "pendingInjections");
	write_nulls(w, nulls);
	write_context(w, "additionalContext", v);
}

static void write_prompt(struct json_writer *w, const struct verdict *v)
{
	static const char *const nulls[] = { "effortId", "sessionId", "taskDir", "skill", "phase", NULL };

	write_context(w, "sessionContext", v);
	write_nulls(w, nulls);
	jw_field_int(w, "heartbeat", 0);
	jw_field_bool(w, "allow", v->action != VERDICT_DENY);
	jw_field_str(w, "reason", v->reason);
}

static void write_stop(struct json_writer *w, const struct verdict *v)
{
	jw_field_bool(w, "ok", true);
	jw_field_bool(w, "continue", v->continue_turn);
	jw_field_str(w, "reason", v->reason);
}

static void encode(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);

	(void)a;
	jw_object(&w);
	switch (e->kind) {
	case EVENT_SESSION_START: write_start(&w, v); break;
	case EVENT_PRE_TOOL_USE:
	case EVENT_PERMISSION_REQUEST: write_before(&w, v); break;
	case EVENT_POST_TOOL_USE: write_after(&w, v); break;
	case EVENT_USER_PROMPT_SUBMIT: write_prompt(&w, v); break;
	case EVENT_STOP:
	case EVENT_SUBAGENT_STOP: write_stop(&w, v); break;
	default: jw_field_bool(&w, "ok", true);
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
