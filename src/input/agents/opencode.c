/* opencode. It has no hooks that are commands: a plugin of ours (program/install/plugin.c) runs inside it, hands over
 * what each of its hooks was called with, {input, output}, and carries out the answer, which has Claude's form.
 *
 * The turn cannot be made to continue: session.idle comes when it is over, and `opencode run` is then about to exit. */
#include "agents/adapters.h"
#include "base/limits.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

static const struct agent_event events[] = {
	{ "session.created", EVENT_SESSION_START, TAKES_CONTEXT, DEFAULT },
	{ "chat.message", EVENT_USER_PROMPT_SUBMIT, TAKES_CONTEXT, DEFAULT },
	{ "tool.execute.before", EVENT_PRE_TOOL_USE, TAKES_DENY | TAKES_INPUT, DEFAULT },
	{ "permission.asked", EVENT_PERMISSION_REQUEST, 0, DEFAULT },
	{ "tool.execute.after", EVENT_POST_TOOL_USE, TAKES_CONTEXT, DEFAULT },
	/* Made by the plugin: opencode calls no hook for a tool that failed, but its messages show it. */
	{ "tool.execute.error", EVENT_POST_TOOL_USE_FAILURE, 0, DEFAULT },
	{ "session.idle", EVENT_STOP, 0, DEFAULT },
	{ "session.error", EVENT_STOP_FAILURE, 0, DEFAULT },
	{ "session.compacting", EVENT_PRE_COMPACT, 0, DEFAULT },
	{ "session.compacted", EVENT_POST_COMPACT, 0, DEFAULT },
	{ "session.deleted", EVENT_SESSION_END, 0, DEFAULT },
	/* Made by the plugin, when opencode ends. */
	{ "session.end", EVENT_SESSION_END, 0, DEFAULT },
	{ 0 },
};

static const struct agent_tool tools[] = {
	{ "bash", TOOL_SHELL, { "Bash" } },
	{ "read", TOOL_READ, { "Read" } },
	{ "write", TOOL_WRITE, { "Write" } },
	{ "edit", TOOL_WRITE, { "Edit", "MultiEdit" } },
	{ "multiedit", TOOL_WRITE, { "MultiEdit", "Edit" } },
	{ "patch", TOOL_WRITE, { "Edit", "Write", "MultiEdit" } },
	{ "apply_patch", TOOL_WRITE, { "Edit", "Write", "MultiEdit" } },
	{ "grep", TOOL_SEARCH, { "Grep" } },
	{ "glob", TOOL_SEARCH, { "Glob" } },
	{ "list", TOOL_SEARCH, { "LS", "Glob" } },
	{ "webfetch", TOOL_WEB, { "WebFetch" } },
	{ "websearch", TOOL_WEB, { "WebSearch" } },
	{ "task", TOOL_AGENT, { "Task", "Agent" } },
	{ "todowrite", TOOL_OTHER, { "TodoWrite" } },
	{ "todoread", TOOL_OTHER, { "TodoRead" } },
	{ "skill", TOOL_OTHER, { "Skill" } },
	{ 0 },
};

/* In the payload itself, and in the envelopes. */
static const struct json_field fields[] = {
	JSON_FIELD("sessionID", TEXT, struct event, session),
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("directory", STR, struct event, cwd),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("tool", STR, struct event, tool_name),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("callID", TEXT, struct event, tool_use_id),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("args", TREE, struct event, tool_input),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("reason", STR, struct event, reason),
	JSON_FIELD("text", STR, struct event, message),
	JSON_FIELD("sessionId", TEXT, struct event, session),
	JSON_FIELD("conversation_id", TEXT, struct event, session),
	JSON_FIELD("conversationId", TEXT, struct event, session),
	JSON_FIELD("trajectory_id", TEXT, struct event, session),
	JSON_FIELD("prompt_id", TEXT, struct event, prompt_id),
	JSON_FIELD("generation_id", TEXT, struct event, prompt_id),
	JSON_FIELD("generationId", TEXT, struct event, prompt_id),
	JSON_FIELD("turn_id", TEXT, struct event, prompt_id),
	JSON_FIELD("execution_id", TEXT, struct event, prompt_id),
	/* What its database says, in our words. */
	JSON_FIELD("last_assistant_message", STR, struct event, message),
	JSON_FIELD("tool_response", TREE, struct event, tool_response),
	JSON_FIELD("agent_id", TEXT, struct event, agent_id),
	JSON_FIELD("agent_type", STR, struct event, agent_type),
	JSON_FIELD("source", STR, struct event, source),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("error", STR, struct event, error),
	{ 0 },
};

/* What a plugin's hook is called with: (input, output). */
static const char *const envelopes[] = { "input", "output", NULL };

/* -- what the tables cannot say ---------------------------------------------------------------- */

/* The parts of a message that a person wrote. */
static void take_prompt(struct event *e, struct arena *a)
{
	struct buf text = BUF_INIT(LIMIT_PAYLOAD);

	if (!str_is_set(e->prompt_id))
		e->prompt_id = json_str(json_path(e->payload, "output", "message", "id", NULL));
	json_each(part, json_path(e->payload, "output", "parts", NULL)) {
		if (json_true(json_get(part, STR("synthetic"))) ||
			!str_eq(json_str(json_get(part, STR("type"))), STR("text")))
			continue;
		if (text.len)
			buf_add_char(&text, '\n');
		buf_add_str(&text, json_str(json_get(part, STR("text"))));
	}
	if (!text.full && !str_is_set(e->prompt))
		e->prompt = arena_str(a, buf_str(&text));
	buf_release(&text);
}

/* Of the bus: {id, type, properties}. */
static void take_properties(struct event *e, const struct json *p)
{
	const struct json *info = json_get(p, STR("info")), *error = json_get(p, STR("error"));
	const struct agent_tool *row;
	str session = json_str(json_get(p, STR("sessionID"))), cwd = json_str(json_get(info, STR("directory")));

	e->session = str_is_set(session) ? session : e->session;
	e->cwd = str_is_set(cwd) ? cwd : e->cwd;
	if (error)
		e->error = json_str(error->type == JSON_STRING ? error : json_path(error, "data", "message", NULL));
	if (e->kind == EVENT_PERMISSION_REQUEST && !e->tool_input) {
		e->tool_name = json_str(json_get(p, STR("permission")));
		row = agent_tool_row(&agent_opencode, e->tool_name);
		e->tool_class = row ? row->class : TOOL_OTHER;
		e->tool_use_id = json_str(json_path(p, "tool", "callID", NULL));
		e->tool_input = json_get(p, STR("metadata"));
	}
}

/* A subagent has a session of its own. The plugin says which session is at the root, and an event that begins one
 * names the parent. */
static void find_root(struct event *e)
{
	str root = json_str(json_get(e->payload, STR("rootID")));

	if (str_empty(root))
		root = json_str(json_path(e->payload, "input", "properties", "info", "parentID", NULL));
	if (str_empty(root) || str_empty(e->session) || str_eq(root, e->session))
		return;
	e->agent_id = e->session;
	e->session = root;
	e->agent_type = json_str(json_path(e->payload, "input", "properties", "info", "agent", NULL));
	switch (e->kind) {
	case EVENT_SESSION_START: e->kind = EVENT_SUBAGENT_START; break;
	case EVENT_STOP: e->kind = EVENT_SUBAGENT_STOP; break;
	case EVENT_SESSION_END: e->kind = EVENT_UNKNOWN; break;
	default: break;
	}
}

static void refine(struct event *e, struct arena *a)
{
	const struct json *output = json_get(e->payload, STR("output")), *exit_code;
	str error = json_str(json_get(e->payload, STR("error")));
	int64_t code = 0;

	if (str_is_set(error))
		e->error = error;
	take_properties(e, json_path(e->payload, "input", "properties", NULL));
	if (e->kind == EVENT_USER_PROMPT_SUBMIT)
		take_prompt(e, a);
	if (e->kind == EVENT_POST_TOOL_USE) {
		if (output)
			e->tool_response = output;
		exit_code = json_path(e->tool_response, "metadata", "exit", NULL);
		if (json_int(exit_code, &code) && code != 0) {
			e->error = arena_strf(a, "exit code %lld", (long long)code);
			e->kind = EVENT_POST_TOOL_USE_FAILURE;
		}
	}
	find_root(e);
}

static const char *const history[] = { "opencode", NULL };

const struct agent agent_opencode = {
	.name = "opencode",
	.label = "opencode",
	.verified = "1.18.33",
	.dir = ".config/opencode",
	.dir_env = "OPENCODE_CONFIG_DIR",
	.xdg_dir = "opencode",
	.history = history,
	.history_in_data = true,
	.rank = 2,
	.events = events,
	.tools = tools,
	.fields = fields,
	.envelopes = envelopes,
	.refine = refine,
	.render = answer_like_claude,
};
