/* Cursor, by its documentation: no client can be run offline.
 *
 * One tool call fires two events, preToolUse and one for the kind of tool. Cursor also runs the hooks of Claude Code's
 * settings, under Claude's names; there it understands Claude's answers. Under its own names it reads flat members:
 * permission, user_message, agent_message, updated_input, additional_context, followup_message, continue.
 *
 * TAKES_ASK is missing on purpose: preToolUse does not enforce "ask", and in the events that document it, it is
 * reported to have no effect, so the call would just run. So ask becomes deny (agents.c). */
#include "agents/adapters.h"

enum {
	DEFAULT = AGENT_EVENT_DEFAULT,
	STOPS = TAKES_DENY | TAKES_MESSAGE,
};

static const struct agent_event events[] = {
	{ "sessionStart", EVENT_SESSION_START, TAKES_CONTEXT, DEFAULT },
	{ "sessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	{ "beforeSubmitPrompt", EVENT_USER_PROMPT_SUBMIT, TAKES_DENY | TAKES_END, DEFAULT },
	{ "preToolUse", EVENT_PRE_TOOL_USE, STOPS | TAKES_INPUT, DEFAULT },
	{ "beforeShellExecution", EVENT_PRE_TOOL_USE, STOPS, DEFAULT, "Shell", "" },
	{ "beforeMCPExecution", EVENT_PRE_TOOL_USE, STOPS, DEFAULT },
	{ "beforeReadFile", EVENT_PRE_TOOL_USE, STOPS, DEFAULT, "Read", "" },
	{ "beforeTabFileRead", EVENT_PRE_TOOL_USE, TAKES_DENY, 0, "Read", "" },
	{ "postToolUse", EVENT_POST_TOOL_USE, TAKES_CONTEXT, DEFAULT },
	{ "postToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, 0, DEFAULT },
	{ "afterShellExecution", EVENT_POST_TOOL_USE, 0, DEFAULT, "Shell", "" },
	{ "afterMCPExecution", EVENT_POST_TOOL_USE, 0, DEFAULT },
	{ "afterFileEdit", EVENT_POST_TOOL_USE, 0, DEFAULT, "Write", "" },
	{ "afterTabFileEdit", EVENT_POST_TOOL_USE, 0, 0, "Write", "" },
	{ "subagentStart", EVENT_SUBAGENT_START, STOPS, DEFAULT },
	{ "subagentStop", EVENT_SUBAGENT_STOP, TAKES_MORE, DEFAULT },
	{ "preCompact", EVENT_PRE_COMPACT, TAKES_MESSAGE, DEFAULT },
	{ "stop", EVENT_STOP, TAKES_MORE, DEFAULT },
	/* The answer, which "stop" does not hold. */
	{ "afterAgentResponse", EVENT_TURN_COMPLETE, 0, DEFAULT },
	{ "afterAgentThought", EVENT_MESSAGE_DISPLAY, 0, 0 },
	{ "workspaceOpen", EVENT_SETUP, 0, 0 },
	{ 0 },
};

static const struct agent_tool tools[] = {
	{ "Shell", TOOL_SHELL, { "Bash" } },
	{ "Bash", TOOL_SHELL },
	{ "Read", TOOL_READ },
	{ "TabRead", TOOL_READ, { "Read" } },
	{ "Write", TOOL_WRITE, { "Write", "Edit", "MultiEdit" } },
	{ "TabWrite", TOOL_WRITE, { "Write", "Edit" } },
	{ "Edit", TOOL_WRITE },
	{ "Delete", TOOL_WRITE, { "Write" } },
	{ "Grep", TOOL_SEARCH },
	{ "Glob", TOOL_SEARCH },
	{ "Task", TOOL_AGENT, { "Task", "Agent" } },
	{ "WebFetch", TOOL_WEB },
	{ "WebSearch", TOOL_WEB },
	{ 0 },
};

static const struct json_field fields[] = {
	JSON_FIELD("conversation_id", TEXT, struct event, session),
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("generation_id", TEXT, struct event, prompt_id),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("permission_mode", STR, struct event, permission_mode),
	JSON_FIELD("source", STR, struct event, source),
	JSON_FIELD("reason", STR, struct event, reason),
	JSON_FIELD("text", STR, struct event, message),
	JSON_FIELD("summary", STR, struct event, message),
	JSON_FIELD("last_assistant_message", STR, struct event, message),
	JSON_FIELD("subagent_id", TEXT, struct event, agent_id),
	JSON_FIELD("agent_id", TEXT, struct event, agent_id),
	JSON_FIELD("subagent_type", STR, struct event, agent_type),
	JSON_FIELD("agent_type", STR, struct event, agent_type),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("tool_output", TREE, struct event, tool_response),
	JSON_FIELD("tool_response", TREE, struct event, tool_response),
	JSON_FIELD("result_json", TREE, struct event, tool_response),
	JSON_FIELD("output", TREE, struct event, tool_response),
	JSON_FIELD("error_message", TEXT, struct event, error),
	JSON_FIELD("error", TEXT, struct event, error),
	JSON_FIELD("stop_hook_active", BOOL, struct event, stop_hook_active),
	JSON_FIELD("is_interrupt", BOOL, struct event, is_interrupt),
	JSON_FIELD("sessionId", TEXT, struct event, session),
	JSON_FIELD("conversationId", TEXT, struct event, session),
	JSON_FIELD("trajectory_id", TEXT, struct event, session),
	JSON_FIELD("prompt_id", TEXT, struct event, prompt_id),
	JSON_FIELD("generationId", TEXT, struct event, prompt_id),
	JSON_FIELD("turn_id", TEXT, struct event, prompt_id),
	JSON_FIELD("execution_id", TEXT, struct event, prompt_id),
	{ 0 },
};

/* -- what the tables cannot say ---------------------------------------------------------------- */

/* The first folder of the workspace is where it works; MCP tools have no prefix of their own, and two names. */
static void refine(struct event *e, struct arena *a)
{
	str root = json_str(json_first(json_get(e->payload, STR("workspace_roots"))));
	const struct json *took = json_get(e->payload, STR("duration"));
	int64_t loops;

	if (str_empty(json_str(json_get(e->payload, STR("cwd")))) && !str_empty(root))
		e->cwd = root;
	if (str_starts(e->tool_name, STR("MCP:")))
		e->tool_name = str_from(e->tool_name, 4);
	else if (!str_eq_name(e->native, STR("beforeMCPExecution")) &&
		!str_eq_name(e->native, STR("afterMCPExecution")))
		goto times;
	e->tool_class = TOOL_MCP;
times:
	if (!e->duration_ms)
		(void)json_int(took ? took : json_get(e->payload, STR("duration_ms")), &e->duration_ms);
	if (json_int(json_get(e->payload, STR("loop_count")), &loops) && loops > 0)
		e->stop_hook_active = true;
}

/* -- answers ----------------------------------------------------------------------------------- */

static void write_permission(struct json_writer *w, const struct verdict *v, unsigned takes)
{
	if (v->action != VERDICT_NONE)
		jw_field_str(w, "permission", str_of(verdict_action_names[v->action]));
	if (v->action == VERDICT_DENY) {
		jw_field_str(w, "user_message", v->reason);
		jw_field_str(w, "agent_message", v->reason);
	} else if (takes & TAKES_MESSAGE && !str_empty(v->system_message)) {
		jw_field_str(w, "user_message", v->system_message);
	}
	if (v->updated_input && takes & TAKES_INPUT) {
		jw_key(w, "updated_input");
		jw_value(w, v->updated_input);
	}
}

static void write_flat(const struct event *e, const struct verdict *v, unsigned takes, struct json_writer *w)
{
	if (e->kind == EVENT_USER_PROMPT_SUBMIT) {
		if (v->action != VERDICT_DENY && !v->end_turn)
			return;
		jw_field_bool(w, "continue", false);
		jw_field_str(w, "user_message", v->reason);
	} else if (takes & TAKES_DENY) {
		write_permission(w, v, takes);
	} else if (takes & TAKES_MESSAGE && !str_empty(v->system_message)) {
		jw_field_str(w, "user_message", v->system_message);
	}
	if (v->continue_turn && takes & TAKES_MORE)
		jw_field_str(w, "followup_message", v->reason);
}

static void render(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);
	size_t empty;

	if (event_has_claude_name(e)) {
		answer_like_claude(e, v, takes & ~(unsigned)TAKES_MESSAGE, a, ret);
		return;
	}
	jw_object(&w);
	empty = ret->out->len;
	write_flat(e, v, takes, &w);
	if (takes & TAKES_CONTEXT && v->context)
		jw_field_str(&w, "additional_context", answer_context(v, a, &ret->out->full));
	if (ret->out->len > empty)
		jw_end_object(&w);
	else
		buf_clear(ret->out);
}

const struct agent agent_cursor = {
	.name = "cursor",
	.label = "Cursor",
	.dir = ".cursor",
	.rank = 2,
	.events = events,
	.tools = tools,
	.fields = fields,
	.runs_claude_settings = true,
	.refine = refine,
	.render = render,
};
