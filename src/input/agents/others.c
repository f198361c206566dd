/* Agents that can be stopped, and whose answers carry nothing else yet: Cursor, Copilot CLI, Qwen Code, opencode,
 * Windsurf. Each understands the exit code 2 before a tool (opencode by our plugin) except Copilot CLI, which takes a
 * reason only from JSON. */
#include "agents/adapters.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

/* -- Cursor ------------------------------------------------------------------------------------ */

/* One tool call fires two events: preToolUse, and a specific one for the kind of tool. */
static const struct agent_event cursor_events[] = {
	{ "sessionStart", EVENT_SESSION_START, 0, DEFAULT },
	{ "sessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	{ "beforeSubmitPrompt", EVENT_USER_PROMPT_SUBMIT, TAKES_DENY, DEFAULT },
	{ "preToolUse", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT },
	{ "beforeShellExecution", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Shell", "" },
	{ "beforeMCPExecution", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT },
	{ "beforeReadFile", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Read", "" },
	{ "beforeTabFileRead", EVENT_PRE_TOOL_USE, TAKES_DENY, 0, "Read", "" },
	{ "postToolUse", EVENT_POST_TOOL_USE, 0, DEFAULT },
	{ "postToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, 0, DEFAULT },
	{ "afterShellExecution", EVENT_POST_TOOL_USE, 0, DEFAULT, "Shell", "" },
	{ "afterMCPExecution", EVENT_POST_TOOL_USE, 0, DEFAULT },
	{ "afterFileEdit", EVENT_POST_TOOL_USE, 0, DEFAULT, "Write", "" },
	{ "subagentStart", EVENT_SUBAGENT_START, 0, DEFAULT },
	{ "subagentStop", EVENT_SUBAGENT_STOP, 0, DEFAULT },
	{ "preCompact", EVENT_PRE_COMPACT, 0, DEFAULT },
	{ "stop", EVENT_STOP, 0, DEFAULT },
	{ 0 },
};

/* The first folder of the workspace is where it works; MCP tools have no prefix of their own. */
static void refine_cursor(struct event *e)
{
	str root = json_str(json_first(json_get(e->payload, STR("workspace_roots"))));

	if (str_empty(json_str(json_get(e->payload, STR("cwd")))) && !str_empty(root))
		e->cwd = root;
	if (str_eq_name(e->native, STR("beforeMCPExecution")) || str_eq_name(e->native, STR("afterMCPExecution")) ||
		str_starts(e->tool_name, STR("MCP:")))
		e->tool_class = TOOL_MCP;
}

const struct agent agent_cursor = {
	.name = "cursor",
	.label = "Cursor",
	.rank = 2,
	.events = cursor_events,
	.tools = generic_tools,
	.fields = generic_fields,
	.runs_claude_settings = true,
	.refine = refine_cursor,
	.render = answer_by_exit_code,
};

/* -- Copilot CLI ------------------------------------------------------------------------------- */

static const struct agent_event copilot_events[] = {
	{ "sessionStart", EVENT_SESSION_START, 0, DEFAULT },
	{ "sessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	{ "userPromptSubmitted", EVENT_USER_PROMPT_SUBMIT, 0, DEFAULT },
	{ "preToolUse", EVENT_PRE_TOOL_USE, TAKES_DENY | TAKES_ASK, DEFAULT },
	{ "permissionRequest", EVENT_PERMISSION_REQUEST, TAKES_DENY, DEFAULT },
	{ "postToolUse", EVENT_POST_TOOL_USE, 0, DEFAULT },
	{ "postToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, 0, DEFAULT },
	{ "agentStop", EVENT_STOP, TAKES_MORE, DEFAULT },
	{ "subagentStart", EVENT_SUBAGENT_START, 0, DEFAULT },
	{ "subagentStop", EVENT_SUBAGENT_STOP, 0, DEFAULT },
	{ "preCompact", EVENT_PRE_COMPACT, 0, DEFAULT },
	{ "notification", EVENT_NOTIFICATION, 0, DEFAULT },
	{ 0 },
};

/* No specific object here: what the agent reads is at the top level. */
static void render_copilot(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	struct answer *ret)
{
	const struct answer_parts more = { .block = "block", .reason = v->reason };
	struct json_writer w = JSON_WRITER(ret->out);

	if (v->continue_turn && takes & TAKES_MORE) {
		answer_write(ret, v, &more);
	} else if (e->kind == EVENT_PERMISSION_REQUEST && v->action == VERDICT_DENY) {
		jw_object(&w);
		jw_field_str(&w, "behavior", STR("deny"));
		jw_field_str(&w, "message", v->reason);
		jw_end_object(&w);
	} else if (e->kind == EVENT_PRE_TOOL_USE && v->action > VERDICT_ALLOW) {
		jw_object(&w);
		jw_field_str(&w, "permissionDecision", str_of(verdict_action_names[v->action]));
		jw_field_str(&w, "permissionDecisionReason", v->reason);
		jw_end_object(&w);
	}
}

const struct agent agent_copilot = {
	.name = "copilot",
	.label = "GitHub Copilot CLI",
	.rank = 2,
	.events = copilot_events,
	.tools = generic_tools,
	.fields = generic_fields,
	.runs_claude_settings = true,
	.render = render_copilot,
};

/* -- Qwen Code --------------------------------------------------------------------------------- */

/* Claude Code's names, Gemini's tools. */
static const struct agent_event qwen_events[] = {
	{ "SessionStart", EVENT_SESSION_START, 0, DEFAULT },
	{ "SessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	{ "UserPromptSubmit", EVENT_USER_PROMPT_SUBMIT, TAKES_DENY, DEFAULT },
	{ "PreToolUse", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT },
	{ "PermissionRequest", EVENT_PERMISSION_REQUEST, 0, DEFAULT },
	{ "PostToolUse", EVENT_POST_TOOL_USE, 0, DEFAULT },
	{ "PostToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, 0, DEFAULT },
	{ "Notification", EVENT_NOTIFICATION, 0, DEFAULT },
	{ "SubagentStart", EVENT_SUBAGENT_START, 0, DEFAULT },
	{ "SubagentStop", EVENT_SUBAGENT_STOP, TAKES_MORE, DEFAULT },
	{ "Stop", EVENT_STOP, TAKES_MORE, DEFAULT },
	{ "PreCompact", EVENT_PRE_COMPACT, 0, DEFAULT },
	{ 0 },
};

const struct agent agent_qwen = {
	.name = "qwen",
	.label = "Qwen Code",
	.rank = 2,
	.events = qwen_events,
	.tools = generic_tools,
	.fields = generic_fields,
	.render = answer_by_exit_code,
};

/* -- opencode ---------------------------------------------------------------------------------- */

/* As the plugin hands them over. */
static const struct json_field opencode_fields[] = {
	JSON_FIELD("sessionID", TEXT, struct event, session),
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("directory", STR, struct event, cwd),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("tool", STR, struct event, tool_name),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("callID", TEXT, struct event, tool_use_id),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("args", TREE, struct event, tool_input),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("output", TREE, struct event, tool_response),
	{ 0 },
};

static const struct agent_event opencode_events[] = {
	{ "tool.execute.before", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT },
	{ "tool.execute.after", EVENT_POST_TOOL_USE, 0, DEFAULT },
	{ "chat.message", EVENT_USER_PROMPT_SUBMIT, 0, DEFAULT },
	{ "session.idle", EVENT_STOP, 0, DEFAULT },
	{ 0 },
};

/* What a plugin's hook is called with: (input, output). */
static const char *const opencode_envelopes[] = { "input", "output", NULL };

const struct agent agent_opencode = {
	.name = "opencode",
	.label = "opencode",
	.rank = 2,
	.events = opencode_events,
	.tools = generic_tools,
	.fields = opencode_fields,
	.envelopes = opencode_envelopes,
	.render = answer_by_exit_code,
};

/* -- Windsurf ---------------------------------------------------------------------------------- */

static const struct agent_event windsurf_events[] = {
	{ "pre_user_prompt", EVENT_USER_PROMPT_SUBMIT, TAKES_DENY, DEFAULT },
	{ "pre_run_command", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Shell", "tool_info" },
	{ "pre_read_code", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Read", "tool_info" },
	{ "pre_write_code", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Write", "tool_info" },
	{ "pre_mcp_tool_use", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "mcp__", "tool_info" },
	{ "post_run_command", EVENT_POST_TOOL_USE, 0, DEFAULT, "Shell", "tool_info" },
	{ "post_read_code", EVENT_POST_TOOL_USE, 0, DEFAULT, "Read", "tool_info" },
	{ "post_write_code", EVENT_POST_TOOL_USE, 0, DEFAULT, "Write", "tool_info" },
	{ "post_mcp_tool_use", EVENT_POST_TOOL_USE, 0, DEFAULT, "mcp__", "tool_info" },
	{ "post_cascade_response", EVENT_STOP, 0, DEFAULT },
	{ 0 },
};

static void refine_windsurf(struct event *e)
{
	str cwd = json_str(json_path(e->payload, "tool_info", "cwd", NULL));

	if (!str_empty(cwd))
		e->cwd = cwd;
	if (e->kind == EVENT_USER_PROMPT_SUBMIT)
		e->prompt = json_str(json_path(e->payload, "tool_info", "user_prompt", NULL));
	if (e->kind == EVENT_STOP)
		e->message = json_str(json_path(e->payload, "tool_info", "response", NULL));
}

const struct agent agent_windsurf = {
	.name = "windsurf",
	.label = "Windsurf",
	.rank = 2,
	.events = windsurf_events,
	.tools = generic_tools,
	.fields = generic_fields,
	.refine = refine_windsurf,
	.render = answer_by_exit_code,
};
