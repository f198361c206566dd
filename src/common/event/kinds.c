/* The canonical events and tool classes. */
#include "event/event.h"

#define DECIDES EVENT_IS_DECISION
#define TOOL EVENT_IS_TOOL
#define CONTEXT EVENT_TAKES_CONTEXT
#define OWN EVENT_IS_OWN

const struct event_kind_info event_kinds[EVENT_KIND_MAX] = {
	[EVENT_UNKNOWN] = { "Unknown", 0, "EVENT", "An event this release has no name for." },
	[EVENT_SESSION_START] = { "SessionStart", CONTEXT, "SESSION-START",
		"A session starts, resumes, or continues after clear or compaction." },
	[EVENT_SESSION_END] = { "SessionEnd", 0, "SESSION-END", "A session ends." },
	[EVENT_SETUP] = { "Setup", CONTEXT, "EVENT", "The agent sets a project up or maintains it." },
	[EVENT_INSTRUCTIONS_LOADED] = { "InstructionsLoaded", 0, "EVENT",
		"The agent has read a file of instructions." },
	[EVENT_USER_PROMPT_SUBMIT] = { "UserPromptSubmit", DECIDES | CONTEXT, "PROMPT",
		"A prompt is about to reach the model." },
	[EVENT_USER_PROMPT_EXPANSION] = { "UserPromptExpansion", DECIDES | CONTEXT, "PROMPT",
		"A typed command becomes a prompt." },
	[EVENT_PRE_TOOL_USE] = { "PreToolUse", DECIDES | TOOL | CONTEXT, "TOOL", "A tool is about to run." },
	[EVENT_PERMISSION_REQUEST] = { "PermissionRequest", DECIDES | TOOL, "TOOL",
		"The agent asks whether a tool may run." },
	[EVENT_PERMISSION_DENIED] = { "PermissionDenied", TOOL, "TOOL", "The agent itself refused a tool." },
	[EVENT_POST_TOOL_USE] = { "PostToolUse", TOOL | CONTEXT, "TOOL", "A tool has run." },
	[EVENT_POST_TOOL_USE_FAILURE] = { "PostToolUseFailure", TOOL | CONTEXT, "TOOL", "A tool has failed." },
	[EVENT_POST_TOOL_BATCH] = { "PostToolBatch", CONTEXT, "EVENT", "All tools of one model answer have run." },
	[EVENT_NOTIFICATION] = { "Notification", 0, "EVENT", "The agent notifies the user." },
	[EVENT_MESSAGE_DISPLAY] = { "MessageDisplay", 0, "EVENT", "A piece of the answer is shown." },
	[EVENT_SUBAGENT_START] = { "SubagentStart", CONTEXT, "EVENT", "A subagent starts." },
	[EVENT_SUBAGENT_STOP] = { "SubagentStop", DECIDES, "EVENT", "A subagent is about to end." },
	[EVENT_STOP] = { "Stop", DECIDES, "STOP", "The agent is about to end its turn." },
	[EVENT_STOP_FAILURE] = { "StopFailure", 0, "STOP", "A turn ended by an error of the model's service." },
	[EVENT_PRE_COMPACT] = { "PreCompact", DECIDES, "EVENT", "The context is about to be compacted." },
	[EVENT_POST_COMPACT] = { "PostCompact", 0, "EVENT", "The context has been compacted." },
	[EVENT_PRE_MODEL_SWITCH] = { "PreModelSwitch", DECIDES, "EVENT", "The model is about to change." },
	[EVENT_POST_MODEL_SWITCH] = { "PostModelSwitch", CONTEXT, "EVENT", "The model has changed." },
	[EVENT_TASK_CREATED] = { "TaskCreated", DECIDES, "EVENT", "A task is about to be created." },
	[EVENT_TASK_COMPLETED] = { "TaskCompleted", DECIDES, "EVENT", "A task is about to be marked done." },
	[EVENT_TEAMMATE_IDLE] = { "TeammateIdle", DECIDES, "EVENT", "A teammate has nothing to do." },
	[EVENT_ELICITATION] = { "Elicitation", DECIDES, "EVENT", "An MCP server asks the user for input." },
	[EVENT_ELICITATION_RESULT] = { "ElicitationResult", DECIDES, "EVENT", "The user has answered an MCP server." },
	[EVENT_CONFIG_CHANGE] = { "ConfigChange", DECIDES, "EVENT", "A settings file of the agent changed." },
	[EVENT_CWD_CHANGED] = { "CwdChanged", 0, "EVENT", "The working directory changed." },
	[EVENT_FILE_CHANGED] = { "FileChanged", 0, "EVENT", "A watched file changed." },
	[EVENT_DIRECTORY_ADDED] = { "DirectoryAdded", 0, "EVENT", "A directory was added to the session." },
	[EVENT_WORKTREE_CREATE] = { "WorktreeCreate", DECIDES, "EVENT", "A worktree is about to be created." },
	[EVENT_WORKTREE_REMOVE] = { "WorktreeRemove", 0, "EVENT", "A worktree is about to be removed." },
	[EVENT_INTERRUPT] = { "Interrupt", 0, "EVENT", "The user interrupted a turn." },
	[EVENT_TURN_COMPLETE] = { "TurnComplete", 0, "STOP", "A turn has ended, reported outside the hooks." },
	[EVENT_BEFORE_MODEL] = { "BeforeModel", 0, "EVENT", "A request is about to go to the model." },
	[EVENT_BEFORE_TOOL_SELECTION] = { "BeforeToolSelection", 0, "EVENT",
		"The model is about to choose among tools." },
	[EVENT_AFTER_MODEL] = { "AfterModel", 0, "EVENT", "A piece of the model's answer has arrived." },
	[EVENT_POST_EXECUTION] = { "PostExecution", 0, "EVENT", "A turn has run." },
	[EVENT_ROLE_WAKE] = { "RoleWake", 0, "EVENT", "A role was woken." },
	[EVENT_VOICE_CALL_STARTED] = { "VoiceCallStarted", 0, "EVENT", "A voice call has begun." },
	[EVENT_VOICE_CALL_PAUSED] = { "VoiceCallPaused", 0, "EVENT", "A voice call was paused." },
	[EVENT_VOICE_CALL_ENDED] = { "VoiceCallEnded", 0, "EVENT", "A voice call has ended." },
	[EVENT_DECISION] = { "Decision", OWN, "EVENT", "hookd decided something about an event." },
	[EVENT_MEMORY] = { "Memory", OWN, "EVENT", "Something was learned, or what is known of it has changed." },
	[EVENT_INJECTION] = { "Injection", OWN, "EVENT", "hookd added memories to a conversation." },
	[EVENT_EFFORT] = { "Effort", OWN, "EVENT", "An effort or a task has begun, changed or ended." },
	[EVENT_FLEET] = { "Fleet", OWN, "EVENT",
		"An agent was looked at, is to be told something, or work was queued." },
	[EVENT_OUTPUT] = { "Output", OWN, "EVENT", "What an agent said while its turn ran, from its transcript." },
	[EVENT_INBOUND] = { "Inbound", OWN, "EVENT", "Something was told over HTTP by one of the user's `inbound`." },
	[EVENT_MODEL_USAGE] = { "ModelUsage", OWN, "EVENT", "Tokens one answer of the model cost, from a transcript." },
};

const char *const tool_class_names[TOOL_CLASS_MAX] = {
	[TOOL_OTHER] = "other",
	[TOOL_SHELL] = "shell",
	[TOOL_READ] = "read",
	[TOOL_WRITE] = "write",
	[TOOL_SEARCH] = "search",
	[TOOL_WEB] = "web",
	[TOOL_MCP] = "mcp",
	[TOOL_AGENT] = "agent",
};

enum event_kind event_kind_by_name(str name)
{
	for (enum event_kind k = EVENT_UNKNOWN + 1; k < EVENT_KIND_MAX; k++)
		if (str_eq_name(name, str_of(event_kinds[k].name)))
			return k;
	return EVENT_UNKNOWN;
}
