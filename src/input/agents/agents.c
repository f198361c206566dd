/* The table of agents, and what all adapters share. */
#include "agents/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/adapters.h"
#include "base/base64.h"
#include "base/limits.h"
#include "base/utf8.h"

enum { EXIT_REASON_MAX = 8192 };

const struct agent *const agents[] = {
	&agent_claude,
	&agent_codex,
	&agent_gemini,
	&agent_cursor,
	&agent_copilot,
	&agent_qwen,
	&agent_opencode,
	&agent_windsurf,
	&agent_generic,
	NULL,
};

const struct agent *agent_find(str name)
{
	size_t i = 0;

	while (agents[i + 1] && !str_eq_nocase(name, str_of(agents[i]->name)))
		i++;
	return agents[i];
}

static const char *absolute_env(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && value[0] == '/' ? value : NULL;
}

int agent_dir(const struct agent *agent, const char *home, char out[FS_PATH])
{
	const char *moved = absolute_env(agent->dir_env), *other_home = absolute_env(agent->home_env);
	const char *config = absolute_env("XDG_CONFIG_HOME");
	int n;

	if (!agent->dir)
		return -EINVAL;
	if (!moved && agent->xdg_dir && config)
		return fs_join(out, config, agent->xdg_dir);
	if (!moved)
		return fs_join(out, other_home ? other_home : home, agent->dir);
	n = snprintf(out, FS_PATH, "%s", moved);
	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

int agent_history_dir(const struct agent *agent, const char *home, char out[FS_PATH])
{
	const char *data = absolute_env("XDG_DATA_HOME");
	int n;

	if (!agent->history_in_data)
		return agent_dir(agent, home, out);
	if (!data)
		return fs_join(out, home, ".local/share");
	n = snprintf(out, FS_PATH, "%s", data);
	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

/* Which kinds cannot do without which field. */
static const struct {
	enum event_kind kind;
	size_t offset;
} required[] = {
	{ EVENT_USER_PROMPT_SUBMIT, offsetof(struct event, prompt) },
	{ EVENT_PRE_TOOL_USE, offsetof(struct event, tool_name) },
	{ EVENT_PERMISSION_REQUEST, offsetof(struct event, tool_name) },
	{ EVENT_PERMISSION_DENIED, offsetof(struct event, tool_name) },
	{ EVENT_POST_TOOL_USE, offsetof(struct event, tool_name) },
	{ EVENT_POST_TOOL_USE_FAILURE, offsetof(struct event, tool_name) },
};

static void check_required(struct event *e)
{
	if (str_empty(e->session))
		e->marks |= EVENT_INCOMPLETE;
	for (size_t i = 0; i < countof(required); i++)
		if (required[i].kind == e->kind && !str_is_set(*(str *)((char *)e + required[i].offset)))
			e->marks |= EVENT_INCOMPLETE;
	/* Some agents hand over the input as text that holds JSON; anything else is no input. */
	if (e->tool_input && e->tool_input->type != JSON_OBJECT && e->tool_input->type != JSON_STRING)
		e->marks |= EVENT_INCOMPLETE;
}

/* Nearly always it is spelled as the agent's own documents do. */
static const struct agent_event *row_by_name(const struct agent *agent, str native)
{
	for (const struct agent_event *row = agent->events; row->native && native.n; row++)
		if (row->native[0] == native.p[0] && str_eq(native, str_of(row->native)))
			return row;
	for (const struct agent_event *row = agent->events; row->native; row++)
		if (str_eq_name(native, str_of(row->native)))
			return row;
	return NULL;
}

const struct agent_event *agent_event_row(const struct agent *agent, str native, enum event_kind kind)
{
	const struct agent_event *row = row_by_name(agent, native);

	if (row)
		return row;
	for (row = agent->events; row->native && row->kind != kind; row++)
		;
	return row->native ? row : NULL;
}

unsigned agent_takes(const struct agent *agent, const struct event *e)
{
	const struct agent_event *row = agent_event_row(agent, e->native, e->kind);

	return row ? row->takes : 0;
}

unsigned agent_takes_anywhere(const struct agent *agent)
{
	unsigned takes = 0;

	for (const struct agent_event *row = agent->events; row->native; row++)
		takes |= row->takes;
	return takes;
}

const struct agent_tool *agent_tool_row(const struct agent *agent, str native)
{
	for (const struct agent_tool *row = agent->tools; row->native; row++)
		if (str_eq(native, str_of(row->native)))
			return row;
	return NULL;
}

enum event_kind agent_kind_of(const struct agent *agent, str native)
{
	const struct agent_event *row = row_by_name(agent, native);
	enum event_kind kind = row ? row->kind : event_kind_by_name(native);

	return event_kinds[kind].flags & EVENT_IS_OWN ? EVENT_UNKNOWN : kind;
}

static void find_kind(const struct agent *agent, struct event *e)
{
	const struct agent_event *row = row_by_name(agent, e->native);

	e->kind = agent_kind_of(agent, e->native);
	if (!row || !row->tool)
		return;
	if (str_empty(e->tool_name))
		e->tool_name = str_of(row->tool);
	if (row->input && !e->tool_input)
		e->tool_input = row->input[0] ? json_get(e->payload, str_of(row->input)) : e->payload;
}

static void find_tool(const struct agent *agent, struct event *e)
{
	const struct agent_tool *row = agent_tool_row(agent, e->tool_name);

	e->tool_class = row ? row->class : str_starts(e->tool_name, STR("mcp__")) ? TOOL_MCP : TOOL_OTHER;
}

/* Members of tool_input that rules and redaction look at, whatever the agent calls them. */
static const struct json_field input_fields[] = {
	JSON_FIELD("command", STR, struct event, command),
	JSON_FIELD("cmd", STR, struct event, command),
	JSON_FIELD("command_line", STR, struct event, command),
	JSON_FIELD("file_path", STR, struct event, file_path),
	JSON_FIELD("filePath", STR, struct event, file_path),
	JSON_FIELD("absolute_path", STR, struct event, file_path),
	JSON_FIELD("notebook_path", STR, struct event, file_path),
	JSON_FIELD("path", STR, struct event, file_path),
	{ 0 },
};

/* What looks like a command line in a tool that is known not to be a shell (a patch, a search) is not one: rules for
 * shells must not judge it. Unknown tools may be shells. */
static bool may_be_shell(enum tool_class class)
{
	return class == TOOL_SHELL || class == TOOL_OTHER || class == TOOL_MCP;
}

static void take_call(const struct wire_hook *hook, struct event *e)
{
	*e = (struct event){
		.id = hook->id,
		.at_us = hook->at_ms * 1000,
		.agent = hook->agent,
		.native = hook->event,
		.cwd = str_empty(hook->cwd) ? STR_NONE : hook->cwd,
		.raw = hook->payload,
		.pid = hook->pid,
		.ppid = hook->ppid,
		.env = hook->env,
		.nenv = hook->nenv,
		.total = hook->total,
		.marks = hook->cut ? EVENT_CUT : 0,
	};
	if (hook->cut)
		memcpy(e->sha256, hook->sha256, sizeof e->sha256);
}

/* U+FEFF in front is no JSON, but some shells put it there. */
static str skip_bom(str s)
{
	return str_starts(s, STR("\xEF\xBB\xBF")) ? str_from(s, 3) : s;
}

/* What rules and redaction read of the input, whatever the agent calls it. */
static void take_input(struct event *e, str input)
{
	unsigned wrong = 0;

	e->command = e->file_path = STR_NONE;
	if (e->tool_input && e->tool_input->type == JSON_OBJECT)
		wrong = json_take_fields(e->tool_input, input_fields, e, input);
	/* Other tools may mean something else by these names; a shell's command is what rules read. */
	if (wrong && e->tool_class == TOOL_SHELL)
		e->marks |= EVENT_INCOMPLETE;
	if (!may_be_shell(e->tool_class))
		e->command = STR_NONE;
}

void agent_replace_input(const struct agent *agent, struct event *e, const struct json *input, struct arena *a)
{
	e->tool_input = input;
	take_input(e, STR_NONE);
	if (agent->refine && e->payload)
		agent->refine(e, a);
}

/* Text that holds an object is that object. Any other text stays what it is: rules know what to make of it. */
static void unpack_input(struct event *e, struct arena *a)
{
	str text = str_trim(json_str(e->tool_input));
	struct json *inner = NULL;

	if (str_starts(text, STR("{")) && json_parse(a, text, JSON_LENIENT_UTF8, &inner, NULL) == 0 &&
		inner->type == JSON_OBJECT)
		e->tool_input = inner;
}

/* Some callers send a tool's output in base64, beside or instead of the text; it is the more exact one. */
static void unpack_output(struct event *e, struct arena *a)
{
	str packed = json_str(json_get(e->payload, STR("tool_output_b64"))), text;
	struct json *tree = NULL;

	if (str_empty(packed) || !base64_to_bytes(a, packed, &text))
		return;
	if (json_parse(a, text, JSON_LENIENT_UTF8, &tree, NULL) < 0) {
		tree = arena_new(a, struct json);
		tree->type = JSON_STRING;
		tree->text = text;
	}
	e->tool_response = tree;
}

/* A call without a tool may be wrapped in something that nobody told us of. */
static void take_from_envelope(const struct agent *agent, struct event *e, str input)
{
	static const char *const names[] = { "payload", "input", "data", "event", "params", "body" };

	for (size_t i = 0; i < countof(names) && str_empty(e->tool_name); i++)
		(void)json_take_fields(json_get(e->payload, str_of(names[i])), agent->fields, e, input);
}

void agent_parse(const struct agent *agent, const struct wire_hook *hook, struct arena *a, struct event *ret)
{
	struct json *root = NULL;
	str input = skip_bom(hook->payload);
	static const struct json_field name[] = { JSON_FIELD("hook_event_name", STR, struct event, native),
		JSON_FIELD("agent_action_name", STR, struct event, native),
		JSON_FIELD("hookName", STR, struct event, native), { 0 } };
	unsigned wrong = 0;

	take_call(hook, ret);
	if (agent_find(hook->agent) != agent)
		ret->agent = str_of(agent->name);
	if (json_parse(a, input, JSON_LENIENT_UTF8, &root, NULL) < 0 || root->type != JSON_OBJECT) {
		ret->marks |= EVENT_NOT_JSON;
	} else {
		ret->payload = root;
		wrong = json_take_fields(root, agent->fields, ret, input);
		for (const char *const *inner = agent->envelopes; inner && *inner; inner++)
			wrong += json_take_fields(json_get(root, str_of(*inner)), agent->fields, ret, input);
		/* The name on the command line was written by `hookd init`; the payload's counts only
		 * without it. */
		if (str_empty(ret->native))
			wrong += json_take_fields(root, name, ret, input);
	}
	find_kind(agent, ret);
	if (ret->payload && event_kinds[ret->kind].flags & EVENT_IS_TOOL && str_empty(ret->tool_name) &&
		!ret->tool_input)
		take_from_envelope(agent, ret, input);
	find_tool(agent, ret);
	ret->marks |= wrong ? EVENT_INCOMPLETE : 0;
	unpack_input(ret, a);
	unpack_output(ret, a);
	take_input(ret, input);
	if (agent->refine && ret->payload)
		agent->refine(ret, a);
	check_required(ret);
}

void agent_read_record(const struct record *r, struct arena *a, struct event *ret)
{
	const struct wire_hook hook = { .id = r->id,
		.at_ms = r->at_us / 1000,
		.agent = r->agent,
		.event = r->native,
		.cwd = r->cwd,
		.payload = r->payload };

	agent_parse(agent_find(r->agent), &hook, a, ret);
	ret->marks = r->marks;
	if (event_kinds[r->kind].flags & EVENT_IS_OWN)
		ret->kind = r->kind;
}

/* -- answers ----------------------------------------------------------------------------------- */

void specific_begin(struct specific *s, const char *name)
{
	buf_init(&s->text, 4 * LIMIT_REPLY);
	s->w = (struct json_writer)JSON_WRITER(&s->text);
	jw_object(&s->w);
	if (name)
		jw_field_str(&s->w, "hookEventName", str_of(name));
	s->empty = s->text.len;
}

str answer_context(const struct verdict *v, struct arena *a, bool *ret_full)
{
	struct buf text = BUF_INIT(LIMIT_REPLY);
	str result;

	for (const struct context_block *b = v->context; b; b = b->next) {
		if (text.len)
			buf_add_str(&text, STR("\n\n"));
		buf_add_str(&text, b->text);
	}
	result = arena_str(a, buf_str(&text));
	*ret_full |= text.full;
	buf_release(&text);
	return result;
}

void specific_context(struct specific *s, const struct verdict *v, struct arena *a)
{
	if (v->context)
		jw_field_str(&s->w, "additionalContext", answer_context(v, a, &s->text.full));
}

bool event_has_claude_name(const struct event *e)
{
	return !str_empty(e->native) && e->native.p[0] >= 'A' && e->native.p[0] <= 'Z';
}

str specific_end(struct specific *s, struct arena *a, bool *ret_full)
{
	str result = STR_NONE;

	*ret_full |= s->text.full;
	if (s->text.len > s->empty && !s->text.full) {
		jw_end_object(&s->w);
		result = arena_str(a, buf_str(&s->text));
	}
	buf_release(&s->text);
	return result;
}

void answer_write(struct answer *ret, const struct verdict *v, const struct answer_parts *p)
{
	struct json_writer w = JSON_WRITER(ret->out);
	bool message = p->message && !str_empty(v->system_message);

	if (ret->out->full || !(p->end || p->block || message || str_is_set(p->specific)))
		return;
	jw_object(&w);
	if (p->end) {
		jw_field_bool(&w, "continue", false);
		jw_field_str(&w, "stopReason", v->reason);
	}
	if (p->block) {
		jw_field_str(&w, "decision", str_of(p->block));
		jw_field_str(&w, "reason", p->reason);
	}
	if (message)
		jw_field_str(&w, "systemMessage", v->system_message);
	if (str_is_set(p->specific)) {
		jw_key(&w, "hookSpecificOutput");
		jw_raw(&w, p->specific);
	}
	jw_end_object(&w);
}

/* What of a verdict always fits: the decision and the beginning of its reason. A changed input that cannot be passed
 * on must not become the unchanged one, so the user is asked. */
static struct verdict least_verdict(const struct verdict *v)
{
	struct verdict least = {
		.action = v->action,
		.rule = v->rule,
		.reason = str_cut_utf8(v->reason, 2000),
		.continue_turn = v->continue_turn,
		.end_turn = v->end_turn,
		.mild = v->mild,
		.alone = v->alone,
	};

	if (v->updated_input)
		verdict_raise(&least, VERDICT_ASK, v->rule,
			STR("hookd wants to change this call, but the changed input is too large to pass on"));
	return least;
}

/* A question that nobody was asked: for the model, before what else there is; or for the user, if that is all. */
static void tell_instead(struct verdict *say, unsigned takes, struct arena *a)
{
	str told = arena_strf(a, STR_FMT " Nobody can be asked here, so hookd let it pass.", STR_ARG(say->reason));
	struct context_block *b = arena_new(a, struct context_block);

	if (takes & TAKES_CONTEXT) {
		*b = (struct context_block){ .next = say->context, .title = STR("hookd"), .text = told };
		say->context = b;
	} else if (takes & TAKES_MESSAGE) {
		say->system_message = str_empty(say->system_message)
			? told
			: arena_strf(a, STR_FMT "\n" STR_FMT, STR_ARG(say->system_message), STR_ARG(told));
	}
}

/* Reduces a verdict to what this agent supports, in one place for all agents.
 *
 * Where hooks cannot ask the user, ask before a tool becomes deny: the rule wanted a decision that nobody can make,
 * and the agent shows the reason to the user, who can then run the command. A mild question is not worth that: the call
 * goes on, and the model is told what would have been asked. Where the agent is about to ask by itself
 * (PermissionRequest), or nothing can be asked, ask is dropped. And a refusal always has a reason: some agents ignore
 * one without. */
static struct verdict sayable(const struct agent *agent, const struct event *e, const struct verdict *v, unsigned takes,
	struct arena *a)
{
	struct verdict say = *v;
	bool asks = takes & TAKES_ASK && !v->alone, needs_reason;

	if (say.action == VERDICT_ASK && !asks && (e->kind != EVENT_PRE_TOOL_USE || v->mild)) {
		say.action = VERDICT_NONE;
		if (v->mild)
			tell_instead(&say, takes, a);
	} else if (say.action == VERDICT_ASK && !asks) {
		say.action = VERDICT_DENY;
		say.reason = arena_strf(a, "this needs confirmation, and %s cannot ask from a hook: " STR_FMT,
			agent->label, STR_ARG(str_empty(v->reason) ? STR("no reason was given") : v->reason));
	}
	/* To allow the call as it is would be more than was decided. */
	if (say.updated_input && !(takes & TAKES_INPUT)) {
		say.updated_input = NULL;
		say.action = say.action == VERDICT_ALLOW ? VERDICT_NONE : say.action;
	}
	/* Where the turn cannot be ended, what must not happen at the least is the call. */
	if (say.end_turn && !(takes & TAKES_END) && takes & TAKES_DENY &&
		(e->kind == EVENT_PRE_TOOL_USE || e->kind == EVENT_PERMISSION_REQUEST))
		say.action = VERDICT_DENY;
	needs_reason = say.action == VERDICT_DENY || say.continue_turn || say.end_turn;
	if (needs_reason && str_empty(str_trim(say.reason)))
		say.reason = str_empty(say.rule)
			? STR("decided by hookd, without a reason")
			: arena_strf(a, "rule " STR_FMT " of hookd decided this", STR_ARG(say.rule));
	return say;
}

enum verdict_action agent_hears(const struct agent *agent, const struct event *e, const struct verdict *v)
{
	unsigned takes = agent_takes(agent, e);

	switch (v->action) {
	case VERDICT_DENY: return takes & TAKES_DENY ? VERDICT_DENY : VERDICT_NONE;
	case VERDICT_ASK:
		/* At a permission request the agent is already asking. */
		if ((takes & TAKES_ASK && !v->alone) || e->kind == EVENT_PERMISSION_REQUEST)
			return VERDICT_ASK;
		if (v->mild)
			return VERDICT_NONE;
		return takes & TAKES_DENY && e->kind == EVENT_PRE_TOOL_USE ? VERDICT_DENY : VERDICT_NONE;
	default: return v->action;
	}
}

void answer_by_exit_code(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	struct answer *ret)
{
	bool deny = v->action == VERDICT_DENY && takes & TAKES_DENY;
	bool more = v->continue_turn && takes & TAKES_MORE;
	struct buf text = BUF_INIT(4 * EXIT_REASON_MAX);

	if (!deny && !more)
		return;
	utf8_add_clean(&text, str_cut_utf8(str_trim(v->reason), EXIT_REASON_MAX));
	buf_add_char(&text, '\n');
	ret->exit_code = 2;
	ret->err = arena_str(a, buf_str(&text));
	buf_release(&text);
}

void agent_render(const struct agent *agent, const struct event *e, const struct verdict *v, struct arena *a,
	struct answer *ret)
{
	unsigned takes = agent_takes(agent, e);
	struct verdict say, least;

	ret->err = STR_NONE;
	ret->exit_code = 0;
	if (verdict_is_neutral(v))
		return;
	say = sayable(agent, e, v, takes, a);
	agent->render(e, &say, takes, a, ret);
	if (!ret->out->full)
		return;
	/* Half an answer is no answer. The decision must arrive even if what came with it does not fit. */
	least = least_verdict(v);
	least = sayable(agent, e, &least, takes, a);
	buf_clear(ret->out);
	agent->render(e, &least, takes, a, ret);
	if (ret->out->full)
		buf_clear(ret->out);
}
