/* An event in the format of the hook's file: Claude Code's, whichever agent it came from. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "config/names.h"
#include "config/paths.h"
#include "hooks/internal.h"
#include "net/net.h"

/* -- tools ------------------------------------------------------------------------------------- */

/* Tools that no table knows, by what they do. */
static const char *const by_class[TOOL_CLASS_MAX] = {
	[TOOL_SHELL] = "Bash",
	[TOOL_READ] = "Read",
	[TOOL_WRITE] = "Write",
	[TOOL_AGENT] = "Task",
};

static const char *const claude_tools[] = { "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode",
	"EnterWorktree", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS", "ListMcpResourcesTool", "MultiEdit",
	"NotebookEdit", "NotebookRead", "Read", "ReadMcpResourceTool", "Skill", "SlashCommand", "Task", "TaskCreate",
	"TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite", "WebFetch", "WebSearch",
	"Write" };

static bool is_claude_tool(str name)
{
	for (size_t i = 0; i < countof(claude_tools); i++)
		if (str_eq(name, str_of(claude_tools[i])))
			return true;
	return false;
}

bool hook_is_known_tool(str name)
{
	/* "bash" is a tool of opencode, but whoever writes it means Bash. */
	for (size_t i = 0; i < countof(claude_tools); i++)
		if (str_eq_nocase(name, str_of(claude_tools[i])))
			return str_eq(name, str_of(claude_tools[i]));
	for (size_t i = 0; agents[i]; i++)
		if (agent_tool_row(agents[i], name))
			return true;
	return false;
}

str hook_suggest_tool(str name)
{
	struct name_suggestion near = { 0 };

	for (size_t i = 0; i < countof(claude_tools); i++)
		name_suggest(&near, name, str_of(claude_tools[i]));
	return near.best;
}

/* Gemini's mcp_<server>_<tool>: the payload says where the server's name ends. */
static str mcp_name(const struct event *e, struct arena *a)
{
	str server = json_str(json_path(e->payload, "mcp_context", "server_name", NULL));
	str tool = json_str(json_path(e->payload, "mcp_context", "tool_name", NULL)), rest;
	ptrdiff_t at;

	if (str_starts(e->tool_name, STR("mcp__")) || !str_starts(e->tool_name, STR("mcp_")))
		return e->tool_name;
	rest = str_from(e->tool_name, 4);
	if (str_empty(server)) {
		at = str_find_char(rest, '_');
		if (at <= 0)
			return e->tool_name;
		server = str_head(rest, (size_t)at);
	}
	if (str_empty(tool))
		tool = str_from(rest, server.n + 1);
	return arena_strf(a, "mcp__" STR_FMT "__" STR_FMT, STR_ARG(server), STR_ARG(tool));
}

size_t hook_tool_names(const struct event *e, struct arena *a, str ret[HOOK_NAMES])
{
	const struct agent_tool *row = agent_tool_row(agent_find(e->agent), e->tool_name);
	size_t n = 0;

	if (!str_is_set(e->tool_name))
		return 0;
	if (e->tool_class == TOOL_MCP) {
		ret[0] = mcp_name(e, a);
		return 1;
	}
	for (; row && n < HOOK_NAMES && row->claude[n]; n++)
		ret[n] = str_of(row->claude[n]);
	if (n)
		return n;
	ret[0] = e->tool_name;
	if (!is_claude_tool(e->tool_name) && by_class[e->tool_class])
		ret[0] = str_of(by_class[e->tool_class]);
	return 1;
}

/* -- patches ----------------------------------------------------------------------------------- */

static bool is_patch(const struct event *e)
{
	return str_eq(e->tool_name, STR("apply_patch")) && event_kinds[e->kind].flags & EVENT_IS_TOOL;
}

static str patch_of(const struct event *e)
{
	str text = json_str(json_get(e->tool_input, STR("command")));

	return str_is_set(text) ? text : json_str(json_get(e->tool_input, STR("input")));
}

static str absolute(const struct event *e, str path, struct arena *a)
{
	if (str_empty(path) || path.p[0] == '/' || str_empty(e->cwd))
		return path;
	return arena_strf(a, STR_FMT "/" STR_FMT, STR_ARG(e->cwd), STR_ARG(path));
}

size_t hook_views(const struct event *e, struct arena *a, const struct event *ret[HOOK_VIEWS], bool *ret_more)
{
	struct patch patch = patch_open(is_patch(e) ? patch_of(e) : STR_NONE);
	struct patch_file file;
	size_t n = 0;

	*ret_more = false;
	while (patch_next(&patch, &file)) {
		struct event *view;

		if (n == HOOK_VIEWS) {
			*ret_more = true;
			return n;
		}
		view = arena_new(a, struct event);
		*view = *e;
		view->file_path = absolute(e, file.path, a);
		ret[n++] = view;
	}
	if (!n)
		ret[n++] = e;
	return n;
}

/* Whether the file of this view is made by the patch. */
static bool view_adds(const struct event *e, struct arena *a)
{
	struct patch patch = patch_open(patch_of(e));
	struct patch_file file;

	while (patch_next(&patch, &file))
		if ((file.change == PATCH_ADDS || file.change == PATCH_MOVES) &&
			str_eq(absolute(e, file.path, a), e->file_path))
			return true;
	return false;
}

str hook_tool_name(const struct hook_group *g, const struct event *e, struct arena *a)
{
	str names[HOOK_NAMES], first;
	size_t n = hook_tool_names(e, a, names);

	first = n ? names[0] : STR_NONE;
	if (is_patch(e) && view_adds(e, a))
		first = STR("Write");
	for (size_t j = 0; j < g->matcher.nnames; j++)
		if (str_eq(first, g->matcher.names[j]))
			return first;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < g->matcher.nnames; j++)
			if (str_eq(names[i], g->matcher.names[j]))
				return names[i];
	return first;
}

/* -- stdin ------------------------------------------------------------------------------------- */

bool hook_is_added_member(const struct event *e, str key)
{
	if (!e->tool_input || e->tool_input->type != JSON_OBJECT || json_get(e->tool_input, key))
		return false;
	return (str_eq(key, STR("command")) && str_is_set(e->command)) ||
		(str_eq(key, STR("file_path")) && str_is_set(e->file_path));
}

void hook_write_input(struct json_writer *w, const struct event *e)
{
	if (!e->tool_input || e->tool_input->type != JSON_OBJECT) {
		if (e->tool_input)
			jw_value(w, e->tool_input);
		else
			jw_raw(w, STR("{}"));
		return;
	}
	jw_object(w);
	json_each(m, e->tool_input) {
		jw_key_str(w, m->key);
		jw_value(w, m);
	}
	if (hook_is_added_member(e, STR("command")))
		jw_field_str(w, "command", e->command);
	if (hook_is_added_member(e, STR("file_path")))
		jw_field_str(w, "file_path", e->file_path);
	jw_end_object(w);
}

/* Members under Claude Code's names, in its order; what else the payload holds follows as it is. */
static const struct {
	const char *name;
	size_t offset;
} texts[] = {
	{ "session_id", offsetof(struct event, session) },
	{ "transcript_path", offsetof(struct event, transcript_path) },
	{ "cwd", offsetof(struct event, cwd) },
	{ "prompt_id", offsetof(struct event, prompt_id) },
	{ "permission_mode", offsetof(struct event, permission_mode) },
	{ "agent_id", offsetof(struct event, agent_id) },
	{ "agent_type", offsetof(struct event, agent_type) },
	{ "prompt", offsetof(struct event, prompt) },
	{ "source", offsetof(struct event, source) },
	{ "reason", offsetof(struct event, reason) },
	{ "tool_use_id", offsetof(struct event, tool_use_id) },
	{ "error", offsetof(struct event, error) },
};

static bool is_written(str key)
{
	static const char *const others[] = { "hook_event_name", "tool_name", "tool_input", "tool_response" };

	for (size_t i = 0; i < countof(texts); i++)
		if (str_eq(key, str_of(texts[i].name)))
			return true;
	for (size_t i = 0; i < countof(others); i++)
		if (str_eq(key, str_of(others[i])))
			return true;
	return false;
}

void hook_write_stdin(const struct event *e, str tool_name, struct buf *b)
{
	struct json_writer w = JSON_WRITER(b);

	jw_object(&w);
	for (size_t i = 0; i < countof(texts); i++)
		jw_field_str(&w, texts[i].name, *(const str *)((const char *)e + texts[i].offset));
	jw_field_str(&w, "hook_event_name", str_of(event_kinds[e->kind].name));
	if (event_kinds[e->kind].flags & EVENT_IS_TOOL) {
		jw_field_str(&w, "tool_name", tool_name);
		jw_key(&w, "tool_input");
		hook_write_input(&w, e);
	}
	if (e->tool_response) {
		jw_key(&w, "tool_response");
		jw_value(&w, e->tool_response);
	}
	json_each(m, e->payload)
		if (!is_written(m->key) && json_get(e->payload, m->key) == m) {
			jw_key_str(&w, m->key);
			jw_value(&w, m);
		}
	if (e->kind == EVENT_STOP || e->kind == EVENT_SUBAGENT_STOP)
		if (!json_get(e->payload, STR("stop_hook_active")))
			jw_field_bool(&w, "stop_hook_active", e->stop_hook_active);
	jw_end_object(&w);
	buf_add_char(b, '\n');
}

/* -- environment ------------------------------------------------------------------------------- */

enum { ENV_MAX = 64, ENV_ENTRY_MAX = 128 << 10 };

struct env_list {
	char **items;
	size_t n, max;
};

/* The kernel takes 128 KiB for "NAME=value" with its NUL. A NUL in the value would end it. */
static void env_add(struct env_list *l, const char *name, str value)
{
	static const char mark[] = "[truncated]";
	size_t head = strlen(name) + 1, room = ENV_ENTRY_MAX - head - sizeof mark;
	struct buf b = BUF_INIT(ENV_ENTRY_MAX);
	str cut = str_cut_utf8(value, room);

	if (!str_is_set(value) || l->n + 1 >= l->max)
		return;
	buf_addf(&b, "%s=", name);
	for (size_t i = 0; i < cut.n && !b.full; i++)
		if (cut.p[i])
			buf_add_char(&b, cut.p[i]);
		else
			buf_add_str(&b, STR("\xEF\xBF\xBD"));
	if (cut.n < value.n)
		buf_add_str(&b, STR("[truncated]"));
	l->items[l->n++] = buf_detach(&b, NULL);
}

static void env_add_json(struct env_list *l, const char *name, const struct json *v)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD * 2);

	if (v && v->type == JSON_STRING) {
		env_add(l, name, v->text);
	} else if (v) {
		json_write(&b, v);
		env_add(l, name, buf_str(&b));
	}
	buf_release(&b);
}

/* As the daemon has it, or the agent's process, whose variables hookc sends along. */
static str outer_value(const struct event *e, str name)
{
	char text[256];

	for (size_t i = 0; i < e->nenv; i++)
		if (str_starts(e->env[i], name) && e->env[i].n > name.n && e->env[i].p[name.n] == '=')
			return str_from(e->env[i], name.n + 1);
	if (name.n >= sizeof text)
		return STR_NONE;
	memcpy(text, name.p, name.n);
	text[name.n] = 0;
	return str_of(getenv(text));
}

static void add_outer(struct env_list *l, const struct hook *h, const struct event *e,
	const struct hook_surroundings *where)
{
	char name[256];

	/* The user decides where programs and settings are found, not whoever calls. */
	env_add(l, "PATH", str_of(where->path ? where->path : PATHS_PROGRAMS));
	env_add(l, "HOME", where->home && where->home[0] ? str_of(where->home) : STR_NONE);
	env_add(l, "LANG", str_of(getenv("LANG")));
	env_add(l, "TERM", outer_value(e, STR("TERM")));
	for (size_t i = 0; i < h->nenv && h->env[i].n < sizeof name; i++) {
		if (str_eq(h->env[i], STR("PATH")) || str_eq(h->env[i], STR("HOME")) ||
			str_eq(h->env[i], STR("LANG")) || str_eq(h->env[i], STR("TERM")))
			continue;
		memcpy(name, h->env[i].p, h->env[i].n);
		name[h->env[i].n] = 0;
		env_add(l, name, outer_value(e, h->env[i]));
	}
}

static void add_tool(struct env_list *l, const struct event *e, str tool_name)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD * 2);
	struct json_writer w = JSON_WRITER(&b);

	if (!(event_kinds[e->kind].flags & EVENT_IS_TOOL))
		return;
	hook_write_input(&w, e);
	env_add(l, "TOOL_NAME", tool_name);
	env_add(l, "HOOK_TOOL_NAME", tool_name);
	env_add(l, "TOOL_INPUT", buf_str(&b));
	env_add(l, "HOOK_TOOL_INPUT", buf_str(&b));
	env_add(l, "HOOKD_NATIVE_TOOL", e->tool_name);
	buf_release(&b);
}

bool hook_header_may_name(const struct hook *h, str name)
{
	for (size_t i = 0; i < h->nheader_env; i++)
		if (str_eq(h->header_env[i], name))
			return true;
	return false;
}

static bool is_name_char(char c, bool first)
{
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (!first && c >= '0' && c <= '9');
}

bool hook_next_variable(str *rest, str *ret_before, str *ret_name)
{
	for (size_t i = 0; i + 1 < rest->n; i++) {
		bool braced = rest->p[i] == '$' && rest->p[i + 1] == '{';
		size_t begin = i + 1 + braced, n = 0;

		if (rest->p[i] != '$')
			continue;
		while (begin + n < rest->n && is_name_char(rest->p[begin + n], n == 0))
			n++;
		if (!n || (braced && (begin + n == rest->n || rest->p[begin + n] != '}')))
			continue;
		*ret_before = str_head(*rest, i);
		*ret_name = str_n(rest->p + begin, n);
		*rest = str_from(*rest, begin + n + braced);
		return true;
	}
	return false;
}

/* With the variables that they may name. A value stays on its line, whatever it holds. */
static void add_headers(struct env_list *l, const struct hook *h, const struct event *e)
{
	struct buf b = BUF_INIT(ENV_ENTRY_MAX);
	str rest = h->headers, before, name;

	while (hook_next_variable(&rest, &before, &name)) {
		str value = hook_header_may_name(h, name) ? outer_value(e, name) : STR_NONE;

		buf_add_str(&b, before);
		for (size_t i = 0; i < value.n; i++)
			if ((unsigned char)value.p[i] >= ' ' && value.p[i] != 0x7f)
				buf_add_char(&b, value.p[i]);
	}
	buf_add_str(&b, rest);
	env_add(l, "HOOKD_HTTP_HEADERS", buf_str(&b));
	buf_release(&b);
}

char **hook_environment(const struct hook *h, const struct event *e, str tool_name,
	const struct hook_surroundings *where)
{
	struct env_list l = { .items = xcalloc(ENV_MAX + h->nenv, sizeof(char *)), .max = ENV_MAX + h->nenv };
	const char *name = event_kinds[e->kind].name;
	char mark[4096], helper[FS_PATH];

	add_outer(&l, h, e, where);
	env_add(&l, "CLAUDE_PROJECT_DIR", where->root);
	env_add(&l, "HOOKD_AGENT", e->agent);
	snprintf(mark, sizeof mark, "%s" STR_FMT ":%s", where->token, STR_ARG(str_head(where->chain, 3000)), h->id);
	env_add(&l, "HOOKD_HOOK", where->token[0] ? str_of(mark) : STR_NONE);
	if (h->type == HOOK_HTTP) {
		/* Its absence is an error like any other hook's. */
		env_add(&l, "HOOKD_HTTP_CURL", net_find_curl(helper, NULL) == 0 ? str_of(helper) : STR("curl"));
		env_add(&l, "HOOKD_HTTP_URL", h->url);
		add_headers(&l, h, e);
	}
	add_tool(&l, e, tool_name);
	env_add(&l, "SESSION_ID", e->session);
	env_add(&l, "FILE_PATH", e->file_path);
	env_add(&l, "COMMAND", e->command);
	env_add(&l, "HOOK_EVENT", str_of(name));
	env_add(&l, "HOOK_SESSION_ID", e->session);
	env_add(&l, "HOOK_WORKING_DIR", e->cwd);
	env_add(&l, "HOOK_USER_PROMPT", e->prompt);
	env_add(&l, "HOOK_ERROR_MESSAGE", e->error);
	env_add(&l, "HOOK_REASON", e->reason);
	env_add(&l, "HOOK_SUBAGENT_ID", e->agent_id);
	env_add(&l, "HOOK_SUBAGENT_TYPE", e->agent_type);
	env_add(&l, "HOOK_AGENT_TYPE", e->agent_type);
	env_add_json(&l, "HOOK_TOOL_OUTPUT", e->tool_response);
	env_add_json(&l, "HOOK_TASK_ID", json_get(e->payload, STR("task_id")));
	if (e->kind == EVENT_TASK_COMPLETED)
		env_add(&l, "HOOK_TASK_SUCCESS", STR("true"));
	if (e->kind == EVENT_STOP || e->kind == EVENT_SUBAGENT_STOP)
		env_add(&l, "HOOK_STOP_HOOK_ACTIVE", e->stop_hook_active ? STR("true") : STR("false"));
	if (e->kind == EVENT_PERMISSION_REQUEST || e->kind == EVENT_PERMISSION_DENIED) {
		env_add(&l, "HOOK_PERMISSION_TYPE", str_of(tool_class_names[e->tool_class]));
		env_add(&l, "HOOK_RESOURCE", str_is_set(e->command) ? e->command : e->file_path);
	}
	return l.items;
}

void hook_environment_free(char **env)
{
	for (char **e = env; e && *e; e++)
		free(*e);
	free(env);
}
