/* Claude Code. Answers follow its hook contract: one JSON object on stdout with exit 0; exit 2 would
 * make it ignore the object, and other codes are shown to the user as a failing hook. */
#include "agents/adapters.h"

/* All 33 but two. WorktreeCreate and WorktreeRemove replace what the agent does itself, so they are never
 * installed; if they come all the same, their canonical names are known. */
static const struct agent_event events[] = {
	{ "SessionStart", EVENT_SESSION_START, true },
	{ "Setup", EVENT_SETUP, true },
	{ "InstructionsLoaded", EVENT_INSTRUCTIONS_LOADED, true },
	{ "UserPromptSubmit", EVENT_USER_PROMPT_SUBMIT, true },
	{ "UserPromptExpansion", EVENT_USER_PROMPT_EXPANSION, true },
	{ "PreToolUse", EVENT_PRE_TOOL_USE, true },
	{ "PermissionRequest", EVENT_PERMISSION_REQUEST, true },
	{ "PermissionDenied", EVENT_PERMISSION_DENIED, true },
	{ "PostToolUse", EVENT_POST_TOOL_USE, true },
	{ "PostToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, true },
	{ "Notification", EVENT_NOTIFICATION, true },
	{ "SubagentStart", EVENT_SUBAGENT_START, true },
	{ "SubagentStop", EVENT_SUBAGENT_STOP, true },
	{ "Stop", EVENT_STOP, true },
	{ "StopFailure", EVENT_STOP_FAILURE, true },
	{ "PreCompact", EVENT_PRE_COMPACT, true },
	{ "PostCompact", EVENT_POST_COMPACT, true },
	{ "PreModelSwitch", EVENT_PRE_MODEL_SWITCH, true },
	{ "PostModelSwitch", EVENT_POST_MODEL_SWITCH, true },
	{ "TaskCreated", EVENT_TASK_CREATED, true },
	{ "TaskCompleted", EVENT_TASK_COMPLETED, true },
	{ "TeammateIdle", EVENT_TEAMMATE_IDLE, true },
	{ "Elicitation", EVENT_ELICITATION, true },
	{ "ElicitationResult", EVENT_ELICITATION_RESULT, true },
	{ "ConfigChange", EVENT_CONFIG_CHANGE, true },
	{ "CwdChanged", EVENT_CWD_CHANGED, true },
	{ "DirectoryAdded", EVENT_DIRECTORY_ADDED, true },
	{ "SessionEnd", EVENT_SESSION_END, true },
	/* Says again what the calls said; fires only for files a matcher names; fires for every piece of text. */
	{ "PostToolBatch", EVENT_POST_TOOL_BATCH, false },
	{ "FileChanged", EVENT_FILE_CHANGED, false },
	{ "MessageDisplay", EVENT_MESSAGE_DISPLAY, false },
	{ 0 },
};

static const struct agent_tool tools[] = {
	{ "Bash", TOOL_SHELL },       { "BashOutput", TOOL_SHELL },  { "KillShell", TOOL_SHELL },
	{ "Read", TOOL_READ },        { "NotebookRead", TOOL_READ }, { "Write", TOOL_WRITE },
	{ "Edit", TOOL_WRITE },       { "MultiEdit", TOOL_WRITE },   { "NotebookEdit", TOOL_WRITE },
	{ "Glob", TOOL_SEARCH },      { "Grep", TOOL_SEARCH },       { "LS", TOOL_SEARCH },
	{ "WebFetch", TOOL_WEB },     { "WebSearch", TOOL_WEB },     { "Agent", TOOL_AGENT },
	{ "Task", TOOL_AGENT },       { 0 },
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
	/* Nothing but allow and deny can be said here; ask means: go on asking the person. */
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

static str specific_output(const struct event *e, const struct verdict *v, struct arena *a, bool *ret_full)
{
	struct specific s;

	specific_begin(&s, event_kinds[e->kind].name);
	if (e->kind == EVENT_PRE_TOOL_USE || e->kind == EVENT_PRE_MODEL_SWITCH)
		write_pre_tool(&s.w, v);
	else if (e->kind == EVENT_PERMISSION_REQUEST)
		write_permission(&s.w, v);
	if (event_kinds[e->kind].flags & EVENT_TAKES_CONTEXT)
		specific_context(&s, v, a);
	return specific_end(&s, a, ret_full);
}

/* Events that are stopped by a decision beside hookSpecificOutput. */
static bool blocks_at_top(enum event_kind kind)
{
	return (event_kinds[kind].flags & EVENT_IS_DECISION) && kind != EVENT_PRE_TOOL_USE &&
	       kind != EVENT_PRE_MODEL_SWITCH && kind != EVENT_PERMISSION_REQUEST;
}

static void render(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret)
{
	bool stop = e->kind == EVENT_STOP || e->kind == EVENT_SUBAGENT_STOP;
	bool block = stop ? v->continue_turn : v->action == VERDICT_DENY && blocks_at_top(e->kind);
	const struct answer_parts parts = { .end = v->end_turn, .block = block ? "block" : NULL, .reason = v->reason,
		.message = true, .specific = specific_output(e, v, a, &ret->out->full) };

	answer_write(ret, v, &parts);
}

const struct agent agent_claude = {
	.name = "claude",
	.label = "Claude Code",
	.events = events,
	.tools = tools,
	.fields = generic_fields,
	.verbs = AGENT_DENIES | AGENT_ASKS | AGENT_CHANGES_INPUT | AGENT_TAKES_CONTEXT | AGENT_CONTINUES,
	.render = render,
};
