/* The generic adapter: field names of the whole family, neutral answers. Agents whose own adapter does
 * not exist yet use its tables under their own names, so that nothing they say is lost. */
#include "agents/adapters.h"

const struct json_field generic_fields[] = {
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("sessionId", TEXT, struct event, session),
	JSON_FIELD("conversation_id", TEXT, struct event, session),
	JSON_FIELD("sessionID", TEXT, struct event, session),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("transcriptPath", STR, struct event, transcript_path),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("user_prompt", STR, struct event, prompt),
	JSON_FIELD("prompt_id", TEXT, struct event, prompt_id),
	JSON_FIELD("permission_mode", STR, struct event, permission_mode),
	JSON_FIELD("source", STR, struct event, source),
	JSON_FIELD("reason", STR, struct event, reason),
	JSON_FIELD("last_assistant_message", STR, struct event, message),
	JSON_FIELD("agent_id", TEXT, struct event, agent_id),
	JSON_FIELD("agent_type", STR, struct event, agent_type),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("toolName", STR, struct event, tool_name),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("toolArgs", TREE, struct event, tool_input),
	JSON_FIELD("tool_response", TREE, struct event, tool_response),
	JSON_FIELD("tool_output", TREE, struct event, tool_response),
	JSON_FIELD("toolResult", TREE, struct event, tool_response),
	JSON_FIELD("error", TEXT, struct event, error),
	JSON_FIELD("error_message", TEXT, struct event, error),
	JSON_FIELD("stop_hook_active", BOOL, struct event, stop_hook_active),
	JSON_FIELD("is_interrupt", BOOL, struct event, is_interrupt),
	JSON_FIELD("duration_ms", INT, struct event, duration_ms),
	{ 0 },
};

/* The other agents' names for the same moments (their adapters will bring exact tables). */
static const struct agent_event generic_events[] = {
	{ "BeforeAgent", EVENT_USER_PROMPT_SUBMIT, false },
	{ "AfterAgent", EVENT_STOP, false },
	{ "BeforeTool", EVENT_PRE_TOOL_USE, false },
	{ "AfterTool", EVENT_POST_TOOL_USE, false },
	{ "PreCompress", EVENT_PRE_COMPACT, false },
	{ "userPromptSubmitted", EVENT_USER_PROMPT_SUBMIT, false },
	{ "agentStop", EVENT_STOP, false },
	{ "tool.execute.before", EVENT_PRE_TOOL_USE, false },
	{ "tool.execute.after", EVENT_POST_TOOL_USE, false },
	{ 0 },
};

static const struct agent_tool generic_tools[] = {
	{ "Bash", TOOL_SHELL },
	{ "bash", TOOL_SHELL },
	{ "shell", TOOL_SHELL },
	{ "run_shell_command", TOOL_SHELL },
	{ 0 },
};

#define GENERIC(symbol, name_, label_)                                                             \
	const struct agent symbol = {                                                              \
		.name = (name_),                                                                   \
		.label = (label_),                                                                 \
		.events = generic_events,                                                          \
		.tools = generic_tools,                                                            \
		.fields = generic_fields,                                                          \
	}

GENERIC(agent_cursor, "cursor", "Cursor");
GENERIC(agent_copilot, "copilot", "GitHub Copilot CLI");
GENERIC(agent_qwen, "qwen", "Qwen Code");
GENERIC(agent_opencode, "opencode", "opencode");
GENERIC(agent_windsurf, "windsurf", "Windsurf");
GENERIC(agent_generic, "generic", "any agent");
