/* Qwen Code: Gemini CLI with Claude Code's hooks. Of an answer it reads stdout if the code is 0, and only stderr if it
 * is 2; so it gets Claude's object and exit 0. It ignores a changed input, and context before a tool. */
#include "agents/adapters.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

static const struct agent_event events[] = {
	{ "SessionStart", EVENT_SESSION_START, TAKES_CONTEXT, DEFAULT },
	{ "SessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	{ "UserPromptSubmit", EVENT_USER_PROMPT_SUBMIT, TAKES_DENY | TAKES_CONTEXT, DEFAULT },
	{ "PreToolUse", EVENT_PRE_TOOL_USE, TAKES_DENY | TAKES_ASK, DEFAULT },
	{ "PermissionRequest", EVENT_PERMISSION_REQUEST, TAKES_DENY, DEFAULT },
	{ "PermissionDenied", EVENT_PERMISSION_DENIED, 0, DEFAULT },
	{ "PostToolUse", EVENT_POST_TOOL_USE, TAKES_CONTEXT, DEFAULT },
	{ "PostToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, TAKES_CONTEXT, DEFAULT },
	{ "Notification", EVENT_NOTIFICATION, 0, DEFAULT },
	{ "SubagentStart", EVENT_SUBAGENT_START, TAKES_CONTEXT, DEFAULT },
	{ "SubagentStop", EVENT_SUBAGENT_STOP, TAKES_MORE, DEFAULT },
	{ "Stop", EVENT_STOP, TAKES_MORE, DEFAULT },
	{ "StopFailure", EVENT_STOP_FAILURE, 0, DEFAULT },
	{ "PreCompact", EVENT_PRE_COMPACT, 0, DEFAULT },
	{ "PostCompact", EVENT_POST_COMPACT, 0, DEFAULT },
	{ "InstructionsLoaded", EVENT_INSTRUCTIONS_LOADED, 0, DEFAULT },
	{ "TodoCreated", EVENT_TASK_CREATED, 0, 0 },
	{ "TodoCompleted", EVENT_TASK_COMPLETED, 0, 0 },
	{ "UserPromptExpansion", EVENT_USER_PROMPT_EXPANSION, 0, 0 },
	/* Says again what the calls said; fires for every piece of text. */
	{ "PostToolBatch", EVENT_POST_TOOL_BATCH, TAKES_CONTEXT, 0 },
	{ "MessageDisplay", EVENT_MESSAGE_DISPLAY, 0, 0 },
	{ 0 },
};

static const struct agent_tool tools[] = {
	{ "run_shell_command", TOOL_SHELL, { "Bash" } },
	{ "write_file", TOOL_WRITE, { "Write" } },
	{ "edit", TOOL_WRITE, { "Edit", "MultiEdit" } },
	{ "replace", TOOL_WRITE, { "Edit", "MultiEdit" } },
	{ "read_file", TOOL_READ, { "Read" } },
	{ "read_many_files", TOOL_READ, { "Read" } },
	{ "list_directory", TOOL_SEARCH, { "LS", "Glob" } },
	{ "glob", TOOL_SEARCH, { "Glob" } },
	{ "grep_search", TOOL_SEARCH, { "Grep" } },
	{ "search_file_content", TOOL_SEARCH, { "Grep" } },
	{ "web_fetch", TOOL_WEB, { "WebFetch" } },
	{ "web_search", TOOL_WEB, { "WebSearch" } },
	{ "agent", TOOL_AGENT, { "Task", "Agent" } },
	{ "task", TOOL_AGENT, { "Task", "Agent" } },
	{ "todo_write", TOOL_OTHER, { "TodoWrite" } },
	{ "exit_plan_mode", TOOL_OTHER, { "ExitPlanMode" } },
	{ 0 },
};

/* The event comes before every request to the model, with a blank prompt when tools have run. Context would be added
 * again each time. */
static void refine(struct event *e, struct arena *a)
{
	if (e->kind == EVENT_USER_PROMPT_SUBMIT && str_empty(e->prompt) &&
		!json_get(e->payload, STR("submitted_prompt")))
		e->kind = EVENT_BEFORE_MODEL;
}

static const char *const history[] = { "projects", NULL };

const struct agent agent_qwen = {
	.name = "qwen",
	.label = "Qwen Code",
	.verified = "0.24.4",
	.dir = ".qwen",
	.history = history,
	.rank = 2,
	.events = events,
	.tools = tools,
	.fields = generic_fields,
	.refine = refine,
	.render = answer_like_claude,
};
