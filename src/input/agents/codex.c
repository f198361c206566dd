/* Codex CLI. Its output schemas allow nothing that is not in them: with one field too many, or one that the event
 * does not support, the whole answer is discarded and the action goes ahead. So an answer contains exactly what the
 * table says the event takes; anything else is expressed in the nearest stricter way or not at all. */
#include "agents/adapters.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

static const struct agent_event events[] = {
	{ "SessionStart", EVENT_SESSION_START, TAKES_MESSAGE | TAKES_END | TAKES_CONTEXT, DEFAULT },
	{ "UserPromptSubmit", EVENT_USER_PROMPT_SUBMIT, TAKES_MESSAGE | TAKES_END | TAKES_DENY | TAKES_CONTEXT,
		DEFAULT },
	{ "PreToolUse", EVENT_PRE_TOOL_USE, TAKES_MESSAGE | TAKES_DENY | TAKES_INPUT | TAKES_CONTEXT, DEFAULT },
	{ "PermissionRequest", EVENT_PERMISSION_REQUEST, TAKES_MESSAGE | TAKES_DENY, DEFAULT },
	{ "PostToolUse", EVENT_POST_TOOL_USE, TAKES_MESSAGE | TAKES_END | TAKES_DENY | TAKES_CONTEXT, DEFAULT },
	{ "PreCompact", EVENT_PRE_COMPACT, TAKES_MESSAGE | TAKES_END, DEFAULT },
	{ "PostCompact", EVENT_POST_COMPACT, TAKES_MESSAGE | TAKES_END, DEFAULT },
	{ "SubagentStart", EVENT_SUBAGENT_START, TAKES_MESSAGE | TAKES_END | TAKES_CONTEXT, DEFAULT },
	{ "SubagentStop", EVENT_SUBAGENT_STOP, TAKES_MESSAGE | TAKES_END | TAKES_MORE, DEFAULT },
	{ "Stop", EVENT_STOP, TAKES_MESSAGE | TAKES_END | TAKES_MORE, DEFAULT },
	{ "Interrupt", EVENT_INTERRUPT, TAKES_MESSAGE, DEFAULT },
	{ "SessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	/* The program of `notify` in config.toml gets the payload as its last argument. The first name is for the
	 * command line, the second is in the payload. */
	{ "notify", EVENT_TURN_COMPLETE, 0, AGENT_EVENT_NOT_A_HOOK },
	{ "agent-turn-complete", EVENT_TURN_COMPLETE, 0, AGENT_EVENT_NOT_A_HOOK },
	/* Its telemetry, in the form that otlp/codex.c gives it. */
	{ "codex.conversation_starts", EVENT_SESSION_START, 0, AGENT_EVENT_NOT_A_HOOK },
	{ "codex.user_prompt", EVENT_USER_PROMPT_SUBMIT, 0, AGENT_EVENT_NOT_A_HOOK },
	{ "codex.tool_decision", EVENT_PRE_TOOL_USE, 0, AGENT_EVENT_NOT_A_HOOK },
	{ "codex.tool_result", EVENT_POST_TOOL_USE, 0, AGENT_EVENT_NOT_A_HOOK },
	{ 0 },
};

/* Hooks name every shell Bash; its other names are in rollouts. A namespace and its tool are joined. */
static const struct agent_tool tools[] = {
	{ "Bash", TOOL_SHELL },
	{ "exec_command", TOOL_SHELL, { "Bash" } },
	{ "shell", TOOL_SHELL, { "Bash" } },
	{ "shell_command", TOOL_SHELL, { "Bash" } },
	{ "local_shell", TOOL_SHELL, { "Bash" } },
	{ "apply_patch", TOOL_WRITE, { "Edit", "Write", "MultiEdit" } },
	{ "view_image", TOOL_READ, { "Read" } },
	{ "read_file", TOOL_READ, { "Read" } },
	{ "list_dir", TOOL_SEARCH, { "LS", "Glob" } },
	{ "grep_files", TOOL_SEARCH, { "Grep" } },
	{ "web_search", TOOL_WEB, { "WebSearch" } },
	{ "update_plan", TOOL_OTHER, { "TodoWrite" } },
	{ "collaborationspawn_agent", TOOL_AGENT, { "Task", "Agent" } },
	{ "collaborationwait_agent", TOOL_AGENT },
	{ "collaborationsend_input", TOOL_AGENT },
	{ "collaborationresume_agent", TOOL_AGENT },
	{ "collaborationclose_agent", TOOL_AGENT },
	{ 0 },
};

/* Hooks write snake_case, notify kebab-case. A turn is what others call a prompt. */
static const struct json_field fields[] = {
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("thread-id", TEXT, struct event, session),
	JSON_FIELD("turn_id", TEXT, struct event, prompt_id),
	JSON_FIELD("turn-id", TEXT, struct event, prompt_id),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("permission_mode", STR, struct event, permission_mode),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("source", STR, struct event, source),
	JSON_FIELD("reason", STR, struct event, reason),
	JSON_FIELD("last_assistant_message", STR, struct event, message),
	JSON_FIELD("last-assistant-message", STR, struct event, message),
	JSON_FIELD("agent_id", TEXT, struct event, agent_id),
	JSON_FIELD("agent_type", STR, struct event, agent_type),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("tool_response", TREE, struct event, tool_response),
	JSON_FIELD("stop_hook_active", BOOL, struct event, stop_hook_active),
	JSON_FIELD("error", STR, struct event, error),
	JSON_FIELD("duration_ms", INT, struct event, duration_ms),
	{ 0 },
};

/* -- what the tables cannot say ---------------------------------------------------------------- */

/* A patch names its files in lines of its own; the first is the one the call is listed under. */
static str file_of_patch(str text)
{
	struct patch patch = patch_open(text);
	struct patch_file file;

	return patch_next(&patch, &file) ? file.path : STR_NONE;
}

/* Everything the user wrote for this turn is reported; the last of it is what is being answered. */
static void refine_notify(struct event *e)
{
	str type = json_str(json_get(e->payload, STR("type")));

	if (!str_empty(type) && !str_eq(type, STR("agent-turn-complete"))) {
		e->kind = EVENT_UNKNOWN;
		return;
	}
	json_each(m, json_get(e->payload, STR("input-messages")))
		if (m->type == JSON_STRING)
			e->prompt = m->text;
}

/* Telemetry has one name for a decision either way, and one for a result either way. */
static void refine_telemetry(struct event *e)
{
	const struct json *success = json_get(e->payload, STR("success"));

	if (str_eq(e->native, STR("codex.tool_decision")) &&
		!str_starts(json_str(json_get(e->payload, STR("decision"))), STR("approved")))
		e->kind = EVENT_PERMISSION_DENIED;
	if (str_eq(e->native, STR("codex.tool_result")) && success && !json_true(success))
		e->kind = EVENT_POST_TOOL_USE_FAILURE;
}

static void refine(struct event *e, struct arena *a)
{
	if (str_starts(e->native, STR("codex.")))
		refine_telemetry(e);
	if (str_empty(e->native) && str_eq(json_str(json_get(e->payload, STR("type"))), STR("agent-turn-complete"))) {
		e->native = STR("agent-turn-complete");
		e->kind = EVENT_TURN_COMPLETE;
	}
	if (e->kind == EVENT_TURN_COMPLETE)
		refine_notify(e);
	if (str_eq(e->tool_name, STR("apply_patch")) && !str_is_set(e->file_path))
		e->file_path = file_of_patch(json_str(json_get(e->tool_input, STR("command"))));
}

/* -- answers ----------------------------------------------------------------------------------- */

/* Allow means nothing by itself and voids the answer; but a changed input must come with it. */
static void write_pre_tool(struct json_writer *w, const struct verdict *v)
{
	/* The turn cannot be ended here; the least that must not happen then is the call. */
	if (v->action == VERDICT_DENY || v->end_turn) {
		jw_field_str(w, "permissionDecision", STR("deny"));
		jw_field_str(w, "permissionDecisionReason", v->reason);
	} else if (v->updated_input) {
		jw_field_str(w, "permissionDecision", STR("allow"));
		jw_key(w, "updatedInput");
		jw_value(w, v->updated_input);
	}
}

static void write_permission(struct json_writer *w, const struct verdict *v)
{
	bool deny = v->action == VERDICT_DENY || v->end_turn;

	/* An input cannot be changed here. To allow the call as it is would be more than was decided. */
	if (!deny && (v->action != VERDICT_ALLOW || v->updated_input))
		return;
	jw_key(w, "decision");
	jw_object(w);
	jw_field_str(w, "behavior", deny ? STR("deny") : STR("allow"));
	if (deny)
		jw_field_str(w, "message", v->reason);
	jw_end_object(w);
}

static str specific_output(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	bool *ret_full)
{
	struct specific s;

	specific_begin(&s, event_kinds[e->kind].name);
	if (e->kind == EVENT_PRE_TOOL_USE)
		write_pre_tool(&s.w, v);
	else if (e->kind == EVENT_PERMISSION_REQUEST)
		write_permission(&s.w, v);
	if (takes & TAKES_CONTEXT)
		specific_context(&s, v, a);
	return specific_end(&s, a, ret_full);
}

static void render(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a, struct answer *ret)
{
	bool own_words = e->kind == EVENT_PRE_TOOL_USE || e->kind == EVENT_PERMISSION_REQUEST;
	bool end = v->end_turn && takes & TAKES_END;
	bool deny = v->action == VERDICT_DENY && takes & TAKES_DENY && !own_words;
	bool more = v->continue_turn && takes & TAKES_MORE && !end;
	const struct answer_parts parts = { .end = end,
		.block = deny || more ? "block" : NULL,
		.reason = v->reason,
		.message = takes & TAKES_MESSAGE,
		.specific = specific_output(e, v, takes, a, &ret->out->full) };

	answer_write(ret, v, &parts);
}

static const char *const history[] = { "sessions", "archived_sessions", NULL };

const struct agent agent_codex = {
	.name = "codex",
	.label = "Codex CLI",
	.verified = "0.166.0",
	.dir = ".codex",
	.dir_env = "CODEX_HOME",
	.history = history,
	.events = events,
	.tools = tools,
	.fields = fields,
	.rank = 2,
	.refine = refine,
	.render = render,
};
