/* Windsurf, by its documentation. Everything about a call is in tool_info. The only answer is exit code 2 before
 * something happens, with the reason on stderr. */
#include "agents/adapters.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

static const struct agent_event events[] = {
	{ "pre_user_prompt", EVENT_USER_PROMPT_SUBMIT, TAKES_DENY, DEFAULT },
	{ "pre_run_command", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Bash", "tool_info" },
	{ "pre_read_code", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Read", "tool_info" },
	{ "pre_write_code", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "Write", "tool_info" },
	{ "pre_mcp_tool_use", EVENT_PRE_TOOL_USE, TAKES_DENY, DEFAULT, "mcp__", "tool_info" },
	{ "post_run_command", EVENT_POST_TOOL_USE, 0, DEFAULT, "Bash", "tool_info" },
	{ "post_read_code", EVENT_POST_TOOL_USE, 0, DEFAULT, "Read", "tool_info" },
	{ "post_write_code", EVENT_POST_TOOL_USE, 0, DEFAULT, "Write", "tool_info" },
	{ "post_mcp_tool_use", EVENT_POST_TOOL_USE, 0, DEFAULT, "mcp__", "tool_info" },
	{ "post_cascade_response", EVENT_STOP, 0, DEFAULT },
	/* Comes beside the one above, with the path of a transcript. */
	{ "post_cascade_response_with_transcript", EVENT_TURN_COMPLETE, 0, 0 },
	{ "post_setup_worktree", EVENT_WORKTREE_CREATE, 0, 0 },
	{ 0 },
};

static const struct json_field info_fields[] = {
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("user_prompt", STR, struct event, prompt),
	JSON_FIELD("response", STR, struct event, message),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("mcp_result", TREE, struct event, tool_response),
	{ 0 },
};

/* mcp__SERVER__TOOL, as everywhere else. */
static void name_mcp_tool(struct event *e, const struct json *info, struct arena *a)
{
	str server = json_str(json_get(info, STR("mcp_server_name"))),
	    tool = json_str(json_get(info, STR("mcp_tool_name")));
	const struct json *args = json_get(info, STR("mcp_tool_arguments"));

	if (e->tool_class != TOOL_MCP || str_empty(tool))
		return;
	e->tool_name = arena_strf(a, "mcp__" STR_FMT "__" STR_FMT, STR_ARG(server), STR_ARG(tool));
	if (e->tool_input == info && args && args->type == JSON_OBJECT)
		e->tool_input = args;
}

static void refine(struct event *e, struct arena *a)
{
	const struct json *info = json_get(e->payload, STR("tool_info"));
	struct event told = { 0 };

	if (json_take_fields(info, info_fields, &told, e->raw))
		e->marks |= EVENT_INCOMPLETE;
	e->cwd = str_empty(told.cwd) ? e->cwd : told.cwd;
	e->prompt = str_is_set(told.prompt) ? told.prompt : e->prompt;
	e->message = str_is_set(told.message) ? told.message : e->message;
	e->transcript_path = str_is_set(told.transcript_path) ? told.transcript_path : e->transcript_path;
	e->tool_response = told.tool_response ? told.tool_response : e->tool_response;
	name_mcp_tool(e, info, a);
}

const struct agent agent_windsurf = {
	.name = "windsurf",
	.label = "Windsurf",
	.dir = ".codeium/windsurf",
	.rank = 2,
	.events = events,
	.tools = generic_tools,
	.fields = generic_fields,
	.refine = refine,
	.render = answer_by_exit_code,
};
