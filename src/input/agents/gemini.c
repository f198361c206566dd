/* Gemini CLI. It reads stdout, and stderr when stdout is empty; what parses as JSON counts whatever the exit code,
 * and any other text with a code above 1 is a denial. So the answer is one object on stdout or nothing on either
 * stream, with exit 0, and stderr is never used: an error message there could become a decision.
 *
 * TAKES_ASK is missing on purpose. decision:ask opens a dialog, and a headless run, which has none, hangs forever.
 * Nothing in the payload tells the two apart, and no variable of the environment proves a dialog either: a headless
 * run started from a terminal inherits TERM, TMUX and all the rest of it. So ask becomes deny (agents.c). */
#include "agents/adapters.h"

enum { DEFAULT = AGENT_EVENT_DEFAULT };

/* Those around the model come several times for every request (AfterModel for every piece of an answer) and
 * PreCompress before each, compaction or not; each would start a program. Context before a tool is ignored. */
static const struct agent_event events[] = {
	{ "SessionStart", EVENT_SESSION_START, TAKES_MESSAGE | TAKES_CONTEXT, DEFAULT },
	{ "SessionEnd", EVENT_SESSION_END, TAKES_MESSAGE, DEFAULT },
	{ "BeforeAgent", EVENT_USER_PROMPT_SUBMIT, TAKES_MESSAGE | TAKES_END | TAKES_DENY | TAKES_CONTEXT, DEFAULT },
	{ "AfterAgent", EVENT_STOP, TAKES_MESSAGE | TAKES_END | TAKES_MORE, DEFAULT },
	{ "BeforeTool", EVENT_PRE_TOOL_USE, TAKES_MESSAGE | TAKES_END | TAKES_DENY | TAKES_INPUT, DEFAULT },
	{ "AfterTool", EVENT_POST_TOOL_USE, TAKES_MESSAGE | TAKES_END | TAKES_DENY | TAKES_CONTEXT, DEFAULT },
	{ "Notification", EVENT_NOTIFICATION, TAKES_MESSAGE, DEFAULT },
	{ "BeforeModel", EVENT_BEFORE_MODEL, TAKES_DENY, 0 },
	{ "BeforeToolSelection", EVENT_BEFORE_TOOL_SELECTION, 0, 0 },
	{ "AfterModel", EVENT_AFTER_MODEL, TAKES_END | TAKES_DENY, 0 },
	{ "PreCompress", EVENT_PRE_COMPACT, TAKES_MESSAGE, 0 },
	{ 0 },
};

static const struct agent_tool tools[] = {
	{ "run_shell_command", TOOL_SHELL, { "Bash" } },
	{ "write_file", TOOL_WRITE, { "Write" } },
	{ "replace", TOOL_WRITE, { "Edit", "MultiEdit" } },
	{ "read_file", TOOL_READ, { "Read" } },
	{ "read_many_files", TOOL_READ, { "Read" } },
	{ "list_directory", TOOL_SEARCH, { "LS", "Glob" } },
	{ "glob", TOOL_SEARCH, { "Glob" } },
	{ "grep_search", TOOL_SEARCH, { "Grep" } },
	{ "search_file_content", TOOL_SEARCH, { "Grep" } },
	{ "web_fetch", TOOL_WEB, { "WebFetch" } },
	{ "google_web_search", TOOL_WEB, { "WebSearch" } },
	{ "invoke_agent", TOOL_AGENT, { "Task", "Agent" } },
	{ "write_todos", TOOL_OTHER, { "TodoWrite" } },
	{ 0 },
};

/* The last two are of tools that have an id after all: none today. */
static const struct json_field fields[] = {
	JSON_FIELD("session_id", TEXT, struct event, session),
	JSON_FIELD("transcript_path", STR, struct event, transcript_path),
	JSON_FIELD("cwd", STR, struct event, cwd),
	JSON_FIELD("prompt", STR, struct event, prompt),
	JSON_FIELD("prompt_response", STR, struct event, message),
	JSON_FIELD("source", STR, struct event, source),
	JSON_FIELD("reason", STR, struct event, reason),
	JSON_FIELD("stop_hook_active", BOOL, struct event, stop_hook_active),
	JSON_FIELD("tool_name", STR, struct event, tool_name),
	JSON_FIELD("tool_input", TREE, struct event, tool_input),
	JSON_FIELD("tool_response", TREE, struct event, tool_response),
	JSON_FIELD("tool_use_id", TEXT, struct event, tool_use_id),
	JSON_FIELD("prompt_id", TEXT, struct event, prompt_id),
	{ 0 },
};

/* -- what the tables cannot say ---------------------------------------------------------------- */

/* What the shell tool adds after the output. A line that begins like this but is followed by something else was
 * printed by the command. */
static bool is_behind_output(str line)
{
	static const char *const heads[] = { "Exit Code: ", "Signal: ", "Error: ", "Background PIDs: ",
		"Process Group PGID: ", "</untrusted_context>" };

	for (size_t i = 0; i < countof(heads); i++)
		if (str_starts(line, str_of(heads[i])))
			return true;
	return false;
}

/* The line with the exit code, which is only there if it is not 0. */
static str exit_code_line(str content)
{
	str line, found = STR_NONE;

	while (str_split(&content, '\n', &line))
		if (str_starts(line, STR("Exit Code: ")))
			found = line;
		else if (!is_behind_output(line))
			found = STR_NONE;
	return found;
}

/* A tool that failed is reported by the same event as one that succeeded. */
static void find_failure(struct event *e)
{
	const struct json *error = json_get(e->tool_response, STR("error"));

	if (error && error->type != JSON_NULL) {
		e->error = error->type == JSON_STRING ? error->text : json_str(json_get(error, STR("message")));
		e->kind = EVENT_POST_TOOL_USE_FAILURE;
	} else if (e->tool_class == TOOL_SHELL) {
		e->error = exit_code_line(json_str(json_get(e->tool_response, STR("llmContent"))));
		if (str_is_set(e->error))
			e->kind = EVENT_POST_TOOL_USE_FAILURE;
	}
}

/* In a headless run what hooks added at the start of the session is put in front of the first prompt: nobody typed
 * it. */
static str without_context(str prompt)
{
	static const str head = STR("<hook_context>"), tail = STR("</hook_context>");
	ptrdiff_t end;

	while (str_starts(prompt, head) && (end = str_find(prompt, tail)) >= 0) {
		prompt = str_from(prompt, (size_t)end + tail.n);
		while (prompt.n && (*prompt.p == '\n' || *prompt.p == ' '))
			prompt = str_from(prompt, 1);
	}
	return prompt;
}

static void refine(struct event *e, struct arena *a)
{
	e->prompt = without_context(e->prompt);
	if (str_empty(e->transcript_path))
		e->transcript_path = STR_NONE;
	/* mcp_<server>_<tool>; the server's own description is surer than the name. */
	if (json_get(e->payload, STR("mcp_context")) ||
		(e->tool_class == TOOL_OTHER && str_starts(e->tool_name, STR("mcp_"))))
		e->tool_class = TOOL_MCP;
	if (e->kind == EVENT_POST_TOOL_USE)
		find_failure(e);
}

/* -- answers ----------------------------------------------------------------------------------- */

/* A changed input is merged into the one there is: a member that was taken out would stay. */
static bool can_be_merged(const struct event *e, const struct json *input)
{
	if (input->type != JSON_OBJECT)
		return false;
	json_each(m, e->tool_input)
		if (!json_get(input, m->key))
			return false;
	return true;
}

static str specific_output(const struct verdict *v, bool input, bool context, struct arena *a, bool *ret_full)
{
	struct specific s;

	specific_begin(&s, NULL);
	if (input) {
		jw_key(&s.w, "tool_input");
		jw_value(&s.w, v->updated_input);
	}
	if (context)
		specific_context(&s, v, a);
	return specific_end(&s, a, ret_full);
}

static void render(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a, struct answer *ret)
{
	bool deny = v->action == VERDICT_DENY && takes & TAKES_DENY;
	bool input = v->updated_input && takes & TAKES_INPUT && !deny;
	struct answer_parts parts = { .end = v->end_turn && takes & TAKES_END,
		.reason = v->reason,
		.message = takes & TAKES_MESSAGE };
	/* There is no limit to how often a turn can be made to continue. */
	bool more = v->continue_turn && takes & TAKES_MORE && !e->stop_hook_active && !parts.end;

	if (input && !can_be_merged(e, v->updated_input)) {
		input = false;
		deny = true;
		parts.reason = STR("hookd wants to change this call in a way that Gemini CLI does not support");
	}
	parts.block = deny || more ? "deny" : NULL;
	parts.specific = specific_output(v, input, takes & TAKES_CONTEXT, a, &ret->out->full);
	answer_write(ret, v, &parts);
}

static const char *const history[] = { "tmp", NULL };

const struct agent agent_gemini = {
	.name = "gemini",
	.label = "Gemini CLI",
	.verified = "0.61.0",
	.dir = ".gemini",
	.home_env = "GEMINI_CLI_HOME",
	.history = history,
	.events = events,
	.tools = tools,
	.fields = fields,
	.rank = 2,
	.refine = refine,
	.render = render,
};
