/* GitHub Copilot CLI. An event has two names, and the name decides the dialect: under preToolUse come camelCase fields
 * and Copilot's tools, under PreToolUse snake_case fields and Claude Code's tools. It also runs the hooks of a
 * project's .claude/settings.json, in the second dialect.
 *
 * The answer is one object with exit 0. What it reads is at the top level in both dialects; of hookSpecificOutput it
 * reads only the decision. So everything is said at the top, and under a Claude name the decision and the context are
 * repeated where Claude's dialect has them. Exit codes are no use: 2 shows the model no reason, and any other code
 * refuses the call. */
#include "agents/adapters.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

static const struct agent_event events[] = {
	{ "sessionStart", EVENT_SESSION_START, TAKES_CONTEXT, DEFAULT },
	{ "sessionEnd", EVENT_SESSION_END, 0, DEFAULT },
	{ "userPromptSubmitted", EVENT_USER_PROMPT_SUBMIT, TAKES_CONTEXT, DEFAULT },
	{ "preToolUse", EVENT_PRE_TOOL_USE, TAKES_DENY | TAKES_ASK | TAKES_INPUT | TAKES_CONTEXT, DEFAULT },
	{ "permissionRequest", EVENT_PERMISSION_REQUEST, TAKES_DENY, DEFAULT },
	{ "postToolUse", EVENT_POST_TOOL_USE, TAKES_CONTEXT, DEFAULT },
	{ "postToolUseFailure", EVENT_POST_TOOL_USE_FAILURE, TAKES_CONTEXT, DEFAULT },
	{ "agentStop", EVENT_STOP, TAKES_MORE, DEFAULT },
	{ "subagentStart", EVENT_SUBAGENT_START, TAKES_CONTEXT, DEFAULT },
	{ "subagentStop", EVENT_SUBAGENT_STOP, TAKES_MORE, DEFAULT },
	{ "preCompact", EVENT_PRE_COMPACT, 0, DEFAULT },
	{ "errorOccurred", EVENT_STOP_FAILURE, 0, DEFAULT },
	{ "notification", EVENT_NOTIFICATION, TAKES_CONTEXT, DEFAULT },
	/* Says the prompt again, with what the agent wrote around it. */
	{ "userPromptTransformed", EVENT_USER_PROMPT_EXPANSION, 0, 0 },
	{ 0 },
};

/* The second names are those of the Claude dialect. */
static const struct agent_tool tools[] = {
	{ "bash", TOOL_SHELL, { "Bash" } },
	{ "Bash", TOOL_SHELL },
	{ "powershell", TOOL_SHELL, { "Bash" } },
	{ "read_bash", TOOL_SHELL, { "BashOutput" } },
	{ "write_bash", TOOL_SHELL, { "Bash" } },
	{ "stop_bash", TOOL_SHELL, { "KillShell" } },
	{ "view", TOOL_READ, { "Read" } },
	{ "Read", TOOL_READ },
	{ "create", TOOL_WRITE, { "Write" } },
	{ "Write", TOOL_WRITE },
	{ "edit", TOOL_WRITE, { "Edit", "MultiEdit" } },
	{ "Edit", TOOL_WRITE, { "Edit", "MultiEdit" } },
	{ "grep", TOOL_SEARCH, { "Grep" } },
	{ "Grep", TOOL_SEARCH },
	{ "glob", TOOL_SEARCH, { "Glob" } },
	{ "Glob", TOOL_SEARCH },
	{ "web_fetch", TOOL_WEB, { "WebFetch" } },
	{ "WebFetch", TOOL_WEB },
	{ "task", TOOL_AGENT, { "Task", "Agent" } },
	{ "Agent", TOOL_AGENT, { "Agent", "Task" } },
	{ "ask_user", TOOL_OTHER, { "AskUserQuestion" } },
	{ "update_todo", TOOL_OTHER, { "TodoWrite" } },
	{ 0 },
};

/* `error` is a text for a tool and an object for the agent itself: refine() takes it. */
static const struct json_field fields[] = {
	JSON_FIELD("sessionId", TEXT, struct event, session),
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("transcriptPath", STR, struct event, transcript_path),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("source", STR, struct event, source),
	JSON_FIELD("reason", STR, struct event, reason),
	JSON_FIELD("response", STR, struct event, message),
	JSON_FIELD("agentId", TEXT, struct event, agent_id),
	JSON_FIELD("agent_id", TEXT, struct event, agent_id),
	JSON_FIELD("agentType", STR, struct event, agent_type),
	JSON_FIELD("agent_type", STR, struct event, agent_type),
	JSON_FIELD("toolName", STR, struct event, tool_name),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("toolArgs", TREE, struct event, tool_input),
	JSON_FIELD("toolInput", TREE, struct event, tool_input),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("toolResult", TREE, struct event, tool_response),
	JSON_FIELD("tool_result", TREE, struct event, tool_response),
	/* From its files. */
	JSON_FIELD("tool_response", TREE, struct event, tool_response),
	JSON_FIELD("last_assistant_message", STR, struct event, message),
	JSON_FIELD("stop_hook_active", BOOL, struct event, stop_hook_active),
	JSON_FIELD("is_interrupt", BOOL, struct event, is_interrupt),
	JSON_FIELD("conversation_id", TEXT, struct event, session),
	JSON_FIELD("conversationId", TEXT, struct event, session),
	JSON_FIELD("trajectory_id", TEXT, struct event, session),
	JSON_FIELD("prompt_id", TEXT, struct event, prompt_id),
	JSON_FIELD("generation_id", TEXT, struct event, prompt_id),
	JSON_FIELD("generationId", TEXT, struct event, prompt_id),
	JSON_FIELD("turn_id", TEXT, struct event, prompt_id),
	JSON_FIELD("execution_id", TEXT, struct event, prompt_id),
	{ 0 },
};

/* -- what the tables cannot say ---------------------------------------------------------------- */

static str member(const struct json *v, const char *camel, const char *snake)
{
	str text = json_str(json_get(v, str_of(camel)));

	return str_is_set(text) ? text : json_str(json_get(v, str_of(snake)));
}

/* Inside a subagent the session is the subagent's own; the one that a person sees is its parent. Its prompt and its
 * last turn are reported like those of a session. */
static void find_parent(struct event *e)
{
	str parent = member(e->payload, "parentAgentId", "parent_agent_id");

	if (str_empty(e->agent_id) || str_empty(parent))
		return;
	if (str_eq(e->session, e->agent_id))
		e->session = parent;
	if (e->kind == EVENT_STOP)
		e->kind = EVENT_TURN_COMPLETE;
}

/* A command that failed is a success whose last line says otherwise: <shellId: 1 completed with exit code 3> */
static void find_failure(struct event *e)
{
	const str words = STR(" completed with exit code ");
	str text = str_trim(member(e->tool_response, "textResultForLlm", "text_result_for_llm")), line = STR_NONE;
	ptrdiff_t at;

	while (str_split(&text, '\n', &line))
		;
	at = str_starts(line, STR("<shellId: ")) ? str_find(line, words) : -1;
	if (at < 0 || str_eq(str_from(line, (size_t)at + words.n), STR("0>")))
		return;
	e->error = line;
	e->kind = EVENT_POST_TOOL_USE_FAILURE;
}

static void refine(struct event *e, struct arena *a)
{
	const struct json *error = json_get(e->payload, STR("error"));

	e->error = json_str(error && error->type == JSON_OBJECT ? json_get(error, STR("message")) : error);
	find_parent(e);
	if (e->kind == EVENT_POST_TOOL_USE && e->tool_class == TOOL_SHELL)
		find_failure(e);
	/* Only an error of the model's service ends the turn. */
	if (e->kind == EVENT_STOP_FAILURE &&
		!str_eq(member(e->payload, "errorContext", "error_context"), STR("model_call")))
		e->kind = EVENT_NOTIFICATION;
}

/* -- answers ----------------------------------------------------------------------------------- */

static void write_decision(struct json_writer *w, const struct verdict *v, const char *input)
{
	if (v->action != VERDICT_NONE) {
		jw_field_str(w, "permissionDecision", str_of(verdict_action_names[v->action]));
		jw_field_str(w, "permissionDecisionReason", v->reason);
	}
	if (v->updated_input && v->action != VERDICT_DENY) {
		jw_key(w, input);
		jw_value(w, v->updated_input);
	}
}

static void write_permission(struct json_writer *w, const struct verdict *v)
{
	/* Only allow and deny are possible here; ask means: let the agent ask the user. */
	if (v->action != VERDICT_DENY && v->action != VERDICT_ALLOW)
		return;
	jw_field_str(w, "behavior", str_of(verdict_action_names[v->action]));
	if (v->action == VERDICT_DENY)
		jw_field_str(w, "message", v->reason);
	if (v->action == VERDICT_DENY && v->end_turn)
		jw_field_bool(w, "interrupt", true);
}

/* The same in Claude's place. */
static str repeat_for_claude(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	bool *ret_full)
{
	struct specific s;

	specific_begin(&s, event_kinds[e->kind].name);
	if (e->kind == EVENT_PRE_TOOL_USE)
		write_decision(&s.w, v, "updatedInput");
	if (takes & TAKES_CONTEXT)
		specific_context(&s, v, a);
	return specific_end(&s, a, ret_full);
}

static void render(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a, struct answer *ret)
{
	struct json_writer w = JSON_WRITER(ret->out);
	size_t empty;
	str again;

	jw_object(&w);
	empty = ret->out->len;
	if (v->continue_turn && takes & TAKES_MORE) {
		jw_field_str(&w, "decision", STR("block"));
		jw_field_str(&w, "reason", v->reason);
	}
	if (e->kind == EVENT_PRE_TOOL_USE)
		write_decision(&w, v, "modifiedArgs");
	else if (e->kind == EVENT_PERMISSION_REQUEST)
		write_permission(&w, v);
	if (takes & TAKES_CONTEXT && v->context)
		jw_field_str(&w, "additionalContext", answer_context(v, a, &ret->out->full));
	if (event_has_claude_name(e) && ret->out->len > empty) {
		again = repeat_for_claude(e, v, takes, a, &ret->out->full);
		if (str_is_set(again)) {
			jw_key(&w, "hookSpecificOutput");
			jw_raw(&w, again);
		}
	}
	if (ret->out->len > empty)
		jw_end_object(&w);
	else
		buf_clear(ret->out);
}

static const char *const history[] = { "session-state", NULL };

const struct agent agent_copilot = {
	.name = "copilot",
	.label = "GitHub Copilot CLI",
	.verified = "1.0.102",
	.dir = ".copilot",
	.dir_env = "COPILOT_HOME",
	.history = history,
	.silent_stop = true,
	.rank = 2,
	.events = events,
	.tools = tools,
	.fields = fields,
	.runs_claude_settings = true,
	.refine = refine,
	.render = render,
};
