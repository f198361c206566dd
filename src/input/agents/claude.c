/* Claude Code. Answers follow its hook contract: one JSON object on stdout with exit 0; exit 2 would
 * make it ignore the object, and other codes are shown to the user as a failing hook. */
#include "agents/adapters.h"

enum {
	PLAIN = TAKES_MESSAGE | TAKES_END,
	SPEAKS = PLAIN | TAKES_CONTEXT,
	STOPS = PLAIN | TAKES_DENY,
	GOES_ON = PLAIN | TAKES_MORE,
};

static const struct agent_event events[] = {
	{ "SessionStart", EVENT_SESSION_START, SPEAKS, AGENT_EVENT_DEFAULT },
	{ "Setup", EVENT_SETUP, SPEAKS, AGENT_EVENT_DEFAULT },
	{ "InstructionsLoaded", EVENT_INSTRUCTIONS_LOADED, PLAIN, AGENT_EVENT_DEFAULT },
	{ "UserPromptSubmit", EVENT_USER_PROMPT_SUBMIT, STOPS | TAKES_CONTEXT, AGENT_EVENT_DEFAULT },
	{ "UserPromptExpansion", EVENT_USER_PROMPT_EXPANSION, STOPS | TAKES_CONTEXT, AGENT_EVENT_DEFAULT },
	{ "PreToolUse", EVENT_PRE_TOOL_USE, STOPS | TAKES_ASK | TAKES_INPUT | TAKES_CONTEXT, AGENT_EVENT_DEFAULT },
	{ "PermissionRequest", EVENT_PERMISSION_REQUEST, STOPS | TAKES_INPUT, AGENT_EVENT_DEFAULT },
	{ "PermissionDenied", EVENT_PERMISSION_DENIED, PLAIN, AGENT_EVENT_DEFAULT },
	{ "PostToolUse", EVENT_POST_TOOL_USE, SPEAKS, AGENT_EVENT_DEFAULT },
	{ "PostToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, SPEAKS, AGENT_EVENT_DEFAULT },
	{ "Notification", EVENT_NOTIFICATION, PLAIN, AGENT_EVENT_DEFAULT },
	{ "SubagentStart", EVENT_SUBAGENT_START, SPEAKS, AGENT_EVENT_DEFAULT },
	{ "SubagentStop", EVENT_SUBAGENT_STOP, GOES_ON, AGENT_EVENT_DEFAULT },
	{ "Stop", EVENT_STOP, GOES_ON, AGENT_EVENT_DEFAULT },
	{ "StopFailure", EVENT_STOP_FAILURE, PLAIN, AGENT_EVENT_DEFAULT },
	{ "PreCompact", EVENT_PRE_COMPACT, STOPS, AGENT_EVENT_DEFAULT },
	{ "PostCompact", EVENT_POST_COMPACT, PLAIN, AGENT_EVENT_DEFAULT },
	{ "PreModelSwitch", EVENT_PRE_MODEL_SWITCH, STOPS | TAKES_ASK, AGENT_EVENT_DEFAULT },
	{ "PostModelSwitch", EVENT_POST_MODEL_SWITCH, SPEAKS, AGENT_EVENT_DEFAULT },
	{ "TaskCreated", EVENT_TASK_CREATED, STOPS, AGENT_EVENT_DEFAULT },
	{ "TaskCompleted", EVENT_TASK_COMPLETED, STOPS, AGENT_EVENT_DEFAULT },
	{ "TeammateIdle", EVENT_TEAMMATE_IDLE, STOPS, AGENT_EVENT_DEFAULT },
	{ "Elicitation", EVENT_ELICITATION, STOPS, AGENT_EVENT_DEFAULT },
	{ "ElicitationResult", EVENT_ELICITATION_RESULT, STOPS, AGENT_EVENT_DEFAULT },
	{ "ConfigChange", EVENT_CONFIG_CHANGE, STOPS, AGENT_EVENT_DEFAULT },
	{ "CwdChanged", EVENT_CWD_CHANGED, PLAIN, AGENT_EVENT_DEFAULT },
	{ "DirectoryAdded", EVENT_DIRECTORY_ADDED, PLAIN, AGENT_EVENT_DEFAULT },
	{ "SessionEnd", EVENT_SESSION_END, PLAIN, AGENT_EVENT_DEFAULT },
	/* Says again what the calls said; fires only for files a matcher names; fires for every piece of text. */
	{ "PostToolBatch", EVENT_POST_TOOL_BATCH, SPEAKS, 0 },
	{ "FileChanged", EVENT_FILE_CHANGED, PLAIN, 0 },
	{ "MessageDisplay", EVENT_MESSAGE_DISPLAY, PLAIN, 0 },
	/* A hook on these replaces what the agent does itself, so they are never installed. */
	{ "WorktreeCreate", EVENT_WORKTREE_CREATE, STOPS, AGENT_EVENT_NOT_A_HOOK },
	{ "WorktreeRemove", EVENT_WORKTREE_REMOVE, PLAIN, AGENT_EVENT_NOT_A_HOOK },
	{ 0 },
};

static const struct agent_tool tools[] = {
	{ "Bash", TOOL_SHELL },
	{ "BashOutput", TOOL_SHELL },
	{ "KillShell", TOOL_SHELL },
	{ "Read", TOOL_READ },
	{ "NotebookRead", TOOL_READ },
	{ "Write", TOOL_WRITE },
	{ "Edit", TOOL_WRITE },
	{ "MultiEdit", TOOL_WRITE },
	{ "NotebookEdit", TOOL_WRITE },
	{ "Glob", TOOL_SEARCH },
	{ "Grep", TOOL_SEARCH },
	{ "LS", TOOL_SEARCH },
	{ "WebFetch", TOOL_WEB },
	{ "WebSearch", TOOL_WEB },
	/* Two names for one tool, by release. */
	{ "Agent", TOOL_AGENT, { "Agent", "Task" } },
	{ "Task", TOOL_AGENT, { "Task", "Agent" } },
	{ 0 },
};

/* Where a decision goes differs by event: PreToolUse has a field of its own, the others take
 * decision:block, PermissionRequest an object. */
static void write_pre_tool(struct json_writer *w, const struct verdict *v)
{
	if (v->action != VERDICT_NONE) {
		jw_field_str(w, "permissionDecision", str_of(verdict_action_names[v->action]));
		jw_field_str(w, "permissionDecisionReason", v->reason);
	}
	if (v->updated_input) {
		jw_key(w, "updatedInput");
		jw_value(w, v->updated_input);
	}
}

static void write_permission(struct json_writer *w, const struct verdict *v)
{
	/* Only allow and deny are possible here; ask means: let the agent ask the user. */
	if (v->action != VERDICT_ALLOW && v->action != VERDICT_DENY)
		return;
	jw_key(w, "decision");
	jw_object(w);
	jw_field_str(w, "behavior", str_of(verdict_action_names[v->action]));
	if (v->action == VERDICT_DENY)
		jw_field_str(w, "message", v->reason);
	if (v->action == VERDICT_ALLOW && v->updated_input) {
		jw_key(w, "updatedInput");
		jw_value(w, v->updated_input);
	}
	jw_end_object(w);
}

/* Events whose decision has its own fields; the others are stopped by a decision beside hookSpecificOutput. */
static bool has_own_words(enum event_kind kind)
{
	return kind == EVENT_PRE_TOOL_USE || kind == EVENT_PRE_MODEL_SWITCH || kind == EVENT_PERMISSION_REQUEST;
}

static str specific_output(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	bool *ret_full)
{
	struct specific s;

	specific_begin(&s, event_kinds[e->kind].name);
	if (e->kind == EVENT_PERMISSION_REQUEST && takes & TAKES_DECISION)
		write_permission(&s.w, v);
	else if (has_own_words(e->kind) && takes & TAKES_DECISION)
		write_pre_tool(&s.w, v);
	if (takes & TAKES_CONTEXT)
		specific_context(&s, v, a);
	return specific_end(&s, a, ret_full);
}

void answer_like_claude(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	struct answer *ret)
{
	bool deny = v->action == VERDICT_DENY && takes & TAKES_DENY && !has_own_words(e->kind);
	bool more = v->continue_turn && takes & TAKES_MORE;
	const struct answer_parts parts = { .end = v->end_turn && takes & TAKES_END,
		.block = deny || more ? "block" : NULL,
		.reason = v->reason,
		.message = takes & TAKES_MESSAGE,
		.specific = specific_output(e, v, takes, a, &ret->out->full) };

	answer_write(ret, v, &parts);
}

static const char *const history[] = { "projects", NULL };

const struct agent agent_claude = {
	.name = "claude",
	.label = "Claude Code",
	.verified = "2.1.325",
	.dir = ".claude",
	.dir_env = "CLAUDE_CONFIG_DIR",
	.history = history,
	.events = events,
	.tools = tools,
	.fields = generic_fields,
	.rank = 1,
	.runs_claude_settings = true,
	.render = answer_like_claude,
};
