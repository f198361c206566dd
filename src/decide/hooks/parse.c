/* A file's text becomes groups and hooks. Everything that is ignored is reported with its place. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "config/names.h"
#include "hooks/internal.h"
#include "json/edit.h"

const char *const hook_type_names[HOOK_TYPE_MAX] = {
	[HOOK_COMMAND] = "command",
	[HOOK_HTTP] = "http",
	[HOOK_PROMPT] = "prompt",
	[HOOK_AGENT] = "agent",
	[HOOK_MCP_TOOL] = "mcp_tool",
};

const char *const hook_scope_names[HOOK_SCOPE_MAX] = {
	[HOOK_LOCAL] = "local",
	[HOOK_PROJECT] = "project",
	[HOOK_USER] = "user",
};

const char *const hook_state_names[HOOK_STATE_MAX] = {
	[HOOK_LIVE] = "runs",
	[HOOK_DISABLED] = "disabled",
	[HOOK_OURS] = "hookd itself",
	[HOOK_NOT_RUN] = "not run: a type that hookd refuses",
	[HOOK_UNTRUSTED] = "waits for: hookd trust",
	[HOOK_UNTIED] = "not run: what it runs cannot be pinned",
};

struct parser {
	struct hook_set *set;
	struct hook_source *source;
	struct arena *a;
	bool code_agent; /* of the whole file */
};

void hook_complain(struct hook_set *s, struct hook_source *source, bool error, size_t at, const char *fmt, ...)
{
	struct hook_problem *p, **tail = &source->problems;
	char text[320];
	va_list ap;

	source->errors += error;
	if (++source->count > HOOK_PROBLEMS_MAX)
		return; /* more would not help; their number is reported */
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	p = arena_new(&s->arena, struct hook_problem);
	p->error = error;
	p->text = arena_str(&s->arena, str_cut_utf8(str_of(text), sizeof text));
	if (at != SIZE_MAX)
		json_locate(source->text, at, &p->line, &p->col);
	while (*tail)
		tail = &(*tail)->next;
	*tail = p;
}

#define complain(p, at, ...) hook_complain((p)->set, (p)->source, true, (at), __VA_ARGS__)
#define hint(p, at, ...) hook_complain((p)->set, (p)->source, false, (at), __VA_ARGS__)

/* -- fields ------------------------------------------------------------------------------------ */

enum field_type { FIELD_TEXT, FIELD_BOOL, FIELD_TEXTS, FIELD_CHOICE, FIELD_TIME, FIELD_ANY };

/* What a file may say about one hook, before it is assembled. Texts are STR_NONE when absent. */
struct raw {
	str type, command, url, prompt, name, condition, on_failure, exit_dialect, hook_type, shell;
	const struct json *args, *env, *files, *headers, *header_env, *timeout, *timeout_ms, *server;
	bool async, once, disabled, observer;
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	const char *const *choices;
	bool unused; /* known, and without effect here; reported if the offset is SIZE_MAX */
};

static const char *const types[] = { "command", "http", "prompt", "agent", "mcp_tool", NULL };
static const char *const failures[] = { "allow", "ask", "deny", "continue", "block", NULL };
static const char *const dialects[] = { "claude", "code-agent", NULL };
static const char *const shells[] = { "sh", "bash", NULL };
static const char *const roles[] = { "decision", "observer", NULL };

#define FIELD(name_, TYPE, member)                                               \
	{                                                                        \
		(name_), FIELD_##TYPE, offsetof(struct raw, member), NULL, false \
	}
#define CHOICE(name_, member, list)                                                \
	{                                                                          \
		(name_), FIELD_CHOICE, offsetof(struct raw, member), (list), false \
	}
#define UNUSED(name_)                             \
	{                                         \
		(name_), FIELD_ANY, 0, NULL, true \
	}
#define NO_EFFECT(name_)                                 \
	{                                                \
		(name_), FIELD_ANY, SIZE_MAX, NULL, true \
	}

static const struct field hook_fields[] = {
	CHOICE("type", type, types),
	FIELD("command", TEXT, command),
	FIELD("args", TEXTS, args),
	FIELD("timeout", TIME, timeout),
	FIELD("timeout_ms", TIME, timeout_ms),
	FIELD("name", TEXT, name),
	FIELD("if", TEXT, condition),
	FIELD("async", BOOL, async),
	FIELD("once", BOOL, once),
	FIELD("disabled", BOOL, disabled),
	FIELD("observer", BOOL, observer),
	CHOICE("hookType", hook_type, roles),
	CHOICE("on_failure", on_failure, failures),
	CHOICE("onFailure", on_failure, failures),
	CHOICE("exit_dialect", exit_dialect, dialects),
	FIELD("env", TEXTS, env),
	FIELD("files", TEXTS, files),
	FIELD("url", TEXT, url),
	FIELD("prompt", TEXT, prompt),
	FIELD("headers", ANY, headers),
	FIELD("allowedEnvVars", TEXTS, header_env),
	FIELD("server", ANY, server),
	UNUSED("tool"),
	UNUSED("input"),
	UNUSED("model"),
	UNUSED("statusMessage"),
	CHOICE("shell", shell, shells),
	NO_EFFECT("asyncRewake"),
	UNUSED("continueOnBlock"),
	UNUSED("description"),
	{ 0 },
};

struct raw_group {
	str matcher, mcp_server, exit_dialect, hook_type;
	bool sequential, parallel, disabled;
	const struct json *hooks;
};

#define GROUP(name_, TYPE, member)                                                     \
	{                                                                              \
		(name_), FIELD_##TYPE, offsetof(struct raw_group, member), NULL, false \
	}

static const struct field group_fields[] = {
	GROUP("matcher", TEXT, matcher),
	GROUP("mcpServer", TEXT, mcp_server),
	GROUP("sequential", BOOL, sequential),
	GROUP("parallel", BOOL, parallel),
	GROUP("disabled", BOOL, disabled),
	GROUP("hooks", ANY, hooks),
	{ "exit_dialect", FIELD_CHOICE, offsetof(struct raw_group, exit_dialect), dialects, false },
	{ "hookType", FIELD_CHOICE, offsetof(struct raw_group, hook_type), roles, false },
	UNUSED("description"),
	{ 0 },
};

static const struct field *find_field(const struct field *fields, str name, str *ret_near)
{
	struct name_suggestion near = { 0 };

	for (; fields->name; fields++) {
		if (str_eq(name, str_of(fields->name)))
			return fields;
		name_suggest(&near, name, str_of(fields->name));
	}
	*ret_near = near.best;
	return NULL;
}

static bool take_choice(struct parser *p, const struct field *f, const struct json *v, str *ret)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (size_t i = 0; f->choices[i]; i++) {
		if (str_eq(v->text, str_of(f->choices[i]))) {
			*ret = v->text;
			return true;
		}
		name_suggest(&near, v->text, str_of(f->choices[i]));
	}
	name_shown(v->text, shown);
	if (near.best.p)
		complain(p, v->begin, "'%s' is not a valid %s; did you mean '" STR_FMT "'?", shown, f->name,
			STR_ARG(near.best));
	else
		complain(p, v->begin, "'%s' is no %s", shown, f->name);
	return false;
}

static bool is_texts(const struct json *v)
{
	if (v->type != JSON_ARRAY)
		return false;
	json_each(item, v)
		if (item->type != JSON_STRING || memchr(item->text.p ? item->text.p : "", 0, item->text.n))
			return false;
	return true;
}

static bool take_field(struct parser *p, const struct field *f, const struct json *v, void *raw)
{
	char *to = (char *)raw + f->offset;
	static const char *const wanted[] = { [FIELD_TEXT] = "text",
		[FIELD_BOOL] = "true or false",
		[FIELD_TEXTS] = "a list of texts",
		[FIELD_CHOICE] = "text",
		[FIELD_TIME] = "a number" };

	if (f->unused) {
		if (f->offset == SIZE_MAX)
			hint(p, v->begin, "%s has no effect here", f->name);
		return true;
	}
	switch (f->type) {
	case FIELD_TEXT:
		if (v->type != JSON_STRING || (v->text.n && memchr(v->text.p, 0, v->text.n)))
			break;
		*(str *)to = v->text.p ? v->text : STR("");
		return true;
	case FIELD_BOOL:
		if (v->type != JSON_BOOL)
			break;
		*(bool *)to = v->flag;
		return true;
	case FIELD_TEXTS:
		if (!is_texts(v))
			break;
		*(const struct json **)to = v;
		return true;
	case FIELD_CHOICE:
		if (v->type != JSON_STRING)
			break;
		return take_choice(p, f, v, (str *)to);
	case FIELD_TIME:
		if (v->type != JSON_NUMBER)
			break;
		*(const struct json **)to = v;
		return true;
	case FIELD_ANY: *(const struct json **)to = v; return true;
	}
	complain(p, v->begin, "%s must be %s, not %s", f->name, wanted[f->type], json_type_name(v->type));
	return false;
}

/* False: something in it is wrong in a way that makes the whole of it doubtful. */
static bool take_fields(struct parser *p, const struct json *obj, const struct field *fields, void *raw)
{
	const struct json *prev = NULL;
	char shown[NAME_SHOWN];
	bool good = true;

	json_each(m, obj) {
		size_t at = json_item_start(p->source->text, obj, prev);
		const struct field *f;
		str near;

		prev = m;
		f = find_field(fields, m->key, &near);
		if (f && json_get(obj, m->key) != m)
			hint(p, at, "'%s' appears more than once; the last one is used", f->name);
		else if (f)
			good &= take_field(p, f, m, raw);
		else if (near.p)
			hint(p, at, "unknown field '%s'; did you mean '" STR_FMT "'?", name_shown(m->key, shown),
				STR_ARG(near));
		else
			hint(p, at, "unknown field '%s'; it has no effect", name_shown(m->key, shown));
	}
	return good;
}

/* -- one hook ---------------------------------------------------------------------------------- */

/* "5", "0.5" → microseconds of a unit; -1: not a time that a hook may have. */
static int64_t to_us(str number, int64_t unit)
{
	char text[32], *end;
	double value;

	if (number.n >= sizeof text)
		return -1;
	memcpy(text, number.p, number.n);
	text[number.n] = 0;
	value = strtod(text, &end);
	return *end || !(value > 0) || value * (double)unit > 1e15 ? -1 : MAX((int64_t)(value * (double)unit), 1000);
}

static bool take_timeout(struct parser *p, const struct raw *raw, struct hook *h)
{
	const struct json *v = raw->timeout_ms ? raw->timeout_ms : raw->timeout;
	bool ms = raw->timeout_ms || h->code_agent;

	h->timeout_us = (h->observer                             ? HOOK_OBSERVER_TIMEOUT_S
					: h->type == HOOK_PROMPT ? HOOK_PROMPT_TIMEOUT_S
								 : HOOK_TIMEOUT_S) *
		USEC_PER_SEC;
	if (!v)
		return true;
	h->timeout_us = to_us(v->text, ms ? USEC_PER_MSEC : USEC_PER_SEC);
	if (h->timeout_us < 0) {
		complain(p, v->begin, "a time must be more than 0 and is written as a plain number");
		return false;
	}
	if (!ms && h->timeout_us >= 1000 * USEC_PER_SEC)
		hint(p, v->begin,
			"timeout is in seconds, and this is more than a quarter of an hour; for milliseconds use "
			"timeout_ms");
	if (h->timeout_us > HOOK_TIMEOUT_MAX_S * USEC_PER_SEC) {
		hint(p, v->begin, "the limit for a hook is an hour; it is used instead");
		h->timeout_us = HOOK_TIMEOUT_MAX_S * USEC_PER_SEC;
	}
	return true;
}

static const str *copy_texts(struct arena *a, const struct json *list, size_t *ret_n)
{
	str *out = arena_alloc(a, (list ? list->count + 1 : 1) * sizeof *out);

	*ret_n = 0;
	json_each(item, list)
		out[(*ret_n)++] = item->text.p ? item->text : STR("");
	return out;
}

bool hook_env_is_forbidden(str name)
{
	static const char *const starts[] = { "LD_", "DYLD_", "GIT_", "PYTHON", "HOOK_", "HOOKD_" };
	static const char *const names[] = { "BASH_ENV", "ENV", "IFS", "NODE_OPTIONS", "SHELLOPTS", "BASHOPTS", "PS4",
		"PERL5OPT", "PERL5LIB", "RUBYOPT", "CLAUDE_PROJECT_DIR", "TOOL_NAME", "TOOL_INPUT", "SESSION_ID",
		"FILE_PATH", "COMMAND" };

	for (size_t i = 0; i < countof(starts); i++)
		if (str_starts(name, str_of(starts[i])))
			return true;
	for (size_t i = 0; i < countof(names); i++)
		if (str_eq(name, str_of(names[i])))
			return true;
	return str_empty(name) || str_find_char(name, '=') >= 0;
}

static bool take_env(struct parser *p, const struct raw *raw, struct hook *h)
{
	char shown[NAME_SHOWN];
	bool good = true;

	json_each(item, raw->env)
		if (hook_env_is_forbidden(item->text)) {
			complain(p, item->begin, "'%s' is never passed to a hook", name_shown(item->text, shown));
			good = false;
		}
	h->env = copy_texts(p->a, raw->env, &h->nenv);
	return good;
}

static void add_to_key(struct sha256 *hash, str s)
{
	uint8_t n[4] = { (uint8_t)s.n, (uint8_t)(s.n >> 8), (uint8_t)(s.n >> 16), str_is_set(s) };

	sha256_add(hash, n, sizeof n);
	sha256_add(hash, s.p ? s.p : "", s.n);
}

static void add_json_to_key(struct sha256 *hash, const struct json *v)
{
	struct buf b = BUF_INIT(1 << 20);

	if (v)
		json_write(&b, v);
	add_to_key(hash, v ? buf_str(&b) : STR_NONE);
	buf_release(&b);
}

/* Type and everything that is run; then, for the id, where it is. */
static void make_keys(const struct raw *raw, struct hook *h)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 hash;

	sha256_init(&hash);
	add_to_key(&hash, str_of(hook_type_names[h->type]));
	add_to_key(&hash, h->command);
	add_to_key(&hash, h->url);
	add_to_key(&hash, h->prompt);
	add_to_key(&hash, h->condition);
	add_to_key(&hash, h->bash ? STR("b") : STR(""));
	add_to_key(&hash, h->code_agent ? STR("c") : STR(""));
	add_json_to_key(&hash, raw->args);
	add_json_to_key(&hash, raw->env);
	add_json_to_key(&hash, raw->headers);
	add_json_to_key(&hash, raw->server);
	if (raw->header_env)
		add_json_to_key(&hash, raw->header_env);
	sha256_end(&hash, h->key);
	sha256_init(&hash);
	sha256_add(&hash, h->key, sizeof h->key);
	add_to_key(&hash, str_of(event_kinds[h->group->kind].name));
	add_to_key(&hash, h->group->matcher.text);
	add_to_key(&hash, h->group->mcp_server);
	sha256_end(&hash, digest);
	sha256_hex(digest, hex);
	memcpy(h->id, hex, HOOK_ID);
}

static bool take_type(struct parser *p, const struct raw *raw, const struct json *v, struct hook *h)
{
	static const char *const not_run[HOOK_TYPE_MAX] = {
		[HOOK_AGENT] = "agent hooks are refused: hookd starts no agent that could act on its own; a prompt "
			       "hook asks a model, a command hook may run anything",
		[HOOK_MCP_TOOL] = "mcp_tool hooks are not run in this release",
	};
	/* What each type cannot do without. */
	const str *need = &raw->command;

	while (h->type < HOOK_TYPE_MAX && !str_eq(raw->type, str_of(hook_type_names[h->type])))
		h->type++;
	if (h->type == HOOK_TYPE_MAX) {
		complain(p, v->begin, "a hook needs a type: command, http or prompt");
		return false;
	}
	need = h->type == HOOK_HTTP ? &raw->url : h->type == HOOK_PROMPT || h->type == HOOK_AGENT ? &raw->prompt : need;
	if (h->type != HOOK_MCP_TOOL && str_empty(str_trim(*need))) {
		complain(p, v->begin, "a hook of type %s needs %s", hook_type_names[h->type],
			h->type == HOOK_HTTP              ? "a url"
				: h->type == HOOK_COMMAND ? "a command"
							  : "a prompt");
		return false;
	}
	if (not_run[h->type]) {
		hint(p, v->begin, "%s", not_run[h->type]);
		h->state = HOOK_NOT_RUN;
	}
	return true;
}

/* A name is one word of letters, digits and dashes; a value stays on its line. */
static bool is_header(str name, str value)
{
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '-' && name.p[i] != '_')
			return false;
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < ' ' && value.p[i] != '\t')
			return false;
	return name.n > 0;
}

/* A variable that is named and not allowed is empty when the request is made: say so before that. */
static void hint_at_variables(struct parser *p, const struct json *header, const struct hook *h)
{
	str rest = header->text, name, before;
	char shown[NAME_SHOWN];

	while (hook_next_variable(&rest, &before, &name))
		if (!hook_header_may_name(h, name))
			hint(p, header->begin, "$%s is not in allowedEnvVars: it will be empty",
				name_shown(name, shown));
}

/* Where an http hook goes, and with what. */
static bool take_http(struct parser *p, const struct raw *raw, const struct json *v, struct hook *h)
{
	struct buf lines = BUF_INIT(KIB(64));
	bool good = true;

	if (h->type != HOOK_HTTP || str_empty(h->url))
		return true;
	buf_add_str(&lines, STR("Content-Type: application/json"));
	if (!(str_starts(h->url, STR("http://")) || str_starts(h->url, STR("https://"))) ||
		!is_header(STR("x"), h->url)) {
		complain(p, v->begin, "a url must begin with http:// or https:// and be on one line");
		good = false;
	}
	if (raw->headers && raw->headers->type != JSON_OBJECT) {
		complain(p, raw->headers->begin, "headers must be an object of strings");
		good = false;
	}
	json_each(m, raw->headers && raw->headers->type == JSON_OBJECT ? raw->headers : NULL) {
		if (m->type != JSON_STRING || !is_header(m->key, m->text)) {
			complain(p, m->begin, "'" STR_FMT "' is not a header: a name and a text on one line",
				STR_ARG(m->key));
			good = false;
		} else {
			buf_addf(&lines, "\n" STR_FMT ": " STR_FMT, STR_ARG(m->key), STR_ARG(m->text));
			hint_at_variables(p, m, h);
		}
	}
	if (lines.full) {
		complain(p, v->begin, "the headers are larger than 64 KiB");
		good = false;
	}
	h->headers = arena_str(p->a, buf_str(&lines));
	buf_release(&lines);
	return good;
}

static enum verdict_action failure_of(str text)
{
	if (str_eq(text, STR("deny")) || str_eq(text, STR("block")))
		return VERDICT_DENY;
	return str_eq(text, STR("ask")) ? VERDICT_ASK : VERDICT_NONE;
}

static void hint_at(struct parser *p, const struct hook *h, const struct json *v)
{
	unsigned flags = event_kinds[h->group->kind].flags;

	if (str_is_set(h->condition) && !(flags & EVENT_IS_TOOL))
		hint(p, v->begin, "'if' is for events of tools; with %s this hook never runs",
			event_kinds[h->group->kind].name);
	if (h->on_failure != VERDICT_NONE && json_get(v, STR("timeout")) && h->timeout_us > HOOK_FIRM_S * USEC_PER_SEC)
		hint(p, v->begin,
			"agents wait 30 s for an answer: this hook times out after %d s, so that on_failure can apply",
			HOOK_FIRM_S);
	if (p->source->scope == HOOK_USER && (str_starts(h->command, STR("./")) || str_starts(h->command, STR("../"))))
		hint(p, v->begin, "this path is relative: it refers to another file in every project");
	if (h->on_failure != VERDICT_NONE && !(flags & EVENT_IS_DECISION))
		hint(p, v->begin, "%s cannot be stopped: on_failure has no effect", event_kinds[h->group->kind].name);
	else if (h->on_failure != VERDICT_NONE && (h->async || h->observer))
		hint(p, v->begin, "on_failure has no effect on a hook that is %s", h->async ? "async" : "an observer");
}

/* A name that stands for nothing is left as it is: say so before a model wonders. */
static void hint_at_prompt(struct parser *p, const struct hook *h, const struct json *v)
{
	str rest = h->prompt, before, name;
	char shown[NAME_SHOWN];

	while (h->type == HOOK_PROMPT && hook_next_variable(&rest, &before, &name))
		if (!hook_prompt_knows(name))
			hint(p, v->begin, "$%s stands for nothing in a prompt", name_shown(name, shown));
}

static void take_hook(struct parser *p, struct hook_group *g, const struct raw_group *group, const struct json *v)
{
	struct raw raw = { 0 };
	struct hook *h, **tail = &g->hooks;
	str dialect, role;
	bool good;

	if (v->type != JSON_OBJECT) {
		complain(p, v->begin, "a hook must be an object, not %s", json_type_name(v->type));
		return;
	}
	good = take_fields(p, v, hook_fields, &raw);
	h = arena_new(p->a, struct hook);
	h->group = g;
	good &= take_type(p, &raw, v, h);
	h->name = raw.name;
	h->command = raw.command;
	h->url = raw.url;
	h->prompt = raw.prompt;
	h->bash = str_eq(raw.shell, STR("bash"));
	h->condition = raw.condition;
	h->exec_form = raw.args != NULL;
	h->args = copy_texts(p->a, raw.args, &h->nargs);
	h->files = copy_texts(p->a, raw.files, &h->nfiles);
	h->async = raw.async;
	h->once = raw.once;
	role = str_is_set(raw.hook_type) ? raw.hook_type : group->hook_type;
	h->observer = raw.observer || str_eq(role, STR("observer"));
	h->on_failure = failure_of(raw.on_failure);
	dialect = str_is_set(raw.exit_dialect) ? raw.exit_dialect : group->exit_dialect;
	h->code_agent = str_is_set(dialect) ? str_eq(dialect, STR("code-agent")) : p->code_agent;
	h->header_env = copy_texts(p->a, raw.header_env, &h->nheader_env);
	good &= take_http(p, &raw, v, h);
	good &= take_timeout(p, &raw, h);
	good &= take_env(p, &raw, h);
	if (!good)
		return;
	if (p->set->count == HOOKS_MAX) {
		complain(p, v->begin, "there are more than %d hooks; this one and those after it do not run",
			HOOKS_MAX);
		return;
	}
	if (raw.disabled || group->disabled)
		h->state = HOOK_DISABLED;
	if (hook_is_ours(v))
		h->state = HOOK_OURS;
	json_locate(p->source->text, v->begin, &h->line, &h->col);
	make_keys(&raw, h);
	hint_at(p, h, v);
	hint_at_prompt(p, h, v);
	h->index = p->set->count;
	p->set->all[p->set->count++] = h;
	while (*tail)
		tail = &(*tail)->next;
	*tail = h;
}

/* -- groups and events ------------------------------------------------------------------------- */

static void take_group(struct parser *p, enum event_kind kind, const struct json *v)
{
	struct raw_group raw = { 0 };
	struct hook_group *g, **tail = &p->set->groups[kind];
	struct err err = { 0 };
	const char *trouble;

	if (v->type != JSON_OBJECT) {
		complain(p, v->begin, "an event must have a list of objects with matcher and hooks, not of %s",
			json_type_name(v->type));
		return;
	}
	if (!take_fields(p, v, group_fields, &raw))
		return;
	if (!raw.hooks || raw.hooks->type != JSON_ARRAY) {
		complain(p, v->begin, "'hooks', a list, is missing here");
		return;
	}
	g = arena_new(p->a, struct hook_group);
	g->kind = kind;
	g->source = p->source;
	g->mcp_server = raw.mcp_server;
	g->sequential = raw.sequential || (json_get(v, STR("parallel")) && !raw.parallel);
	if (hook_matcher_compile(raw.matcher, p->a, &g->matcher, &err) < 0) {
		complain(p, json_get(v, STR("matcher"))->begin, "the matcher is not a valid pattern: %s", err.text);
		return;
	}
	trouble = hook_matcher_trouble(&g->matcher, kind, p->a);
	if (trouble)
		hint(p, json_get(v, STR("matcher"))->begin, "%s", trouble);
	if (str_is_set(raw.mcp_server) && !(event_kinds[kind].flags & EVENT_IS_TOOL))
		hint(p, v->begin, "mcpServer is for events of tools; with %s it never matches", event_kinds[kind].name);
	json_each(hook, raw.hooks)
		take_hook(p, g, &raw, hook);
	while (*tail)
		tail = &(*tail)->next;
	*tail = g;
}

static void complain_event(struct parser *p, str key, size_t at)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (enum event_kind k = EVENT_UNKNOWN + 1; k < EVENT_KIND_MAX; k++)
		name_suggest(&near, key, str_of(event_kinds[k].name));
	name_shown(key, shown);
	if (near.best.p)
		complain(p, at, "there is no event '%s'; did you mean '" STR_FMT "'?", shown, STR_ARG(near.best));
	else
		complain(p, at, "there is no event '%s'", shown);
}

static void take_event(struct parser *p, const struct json *m, size_t at)
{
	/* Exactly as written: another spelling would run here and nowhere else. */
	enum event_kind kind = event_kind_by_name(m->key);

	if (kind == EVENT_UNKNOWN || !str_eq(m->key, str_of(event_kinds[kind].name))) {
		complain_event(p, m->key, at);
		return;
	}
	if (m->type != JSON_ARRAY) {
		complain(p, m->begin, "%s must be a list of groups, not %s", event_kinds[kind].name,
			json_type_name(m->type));
		return;
	}
	json_each(group, m)
		take_group(p, kind, group);
}

static void take_hooks(struct parser *p, const struct json *hooks)
{
	static const struct field dialect = { "exit_dialect", FIELD_CHOICE, 0, dialects, false };
	const struct json *prev = NULL, *v;
	str text = STR_NONE;

	if (hooks->type != JSON_OBJECT) {
		complain(p, hooks->begin, "hooks must be an object with a member for each event, not %s",
			json_type_name(hooks->type));
		return;
	}
	v = json_get(hooks, STR("exit_dialect"));
	if (v && take_field(p, &dialect, v, &text))
		p->code_agent = str_eq(text, STR("code-agent"));
	json_each(m, hooks) {
		size_t at = json_item_start(p->source->text, hooks, prev);

		prev = m;
		if (json_get(hooks, m->key) != m)
			hint(p, at, "'" STR_FMT "' appears more than once; all of them are used",
				STR_ARG(str_cut_utf8(m->key, 64)));
		if (m == v || str_eq(m->key, STR("exit_dialect")))
			continue;
		if (!str_eq(m->key, STR("path")) || p->source->form != HOOK_FORM_OWN)
			take_event(p, m, at);
		else if (p->source->scope != HOOK_USER)
			complain(p, at,
				"hooks.path is ignored in a project: where programs are found is the user's to say");
	}
}

/* The project's own file: options of hookd are the user's to set. */
static void refuse_options(struct parser *p, const struct json *root)
{
	const struct json *prev = NULL;
	char shown[NAME_SHOWN];

	json_each(m, root) {
		size_t at = json_item_start(p->source->text, root, prev);

		prev = m;
		if (!str_eq(m->key, STR("hooks")) && !str_eq(m->key, STR("$schema")))
			complain(p, at, "'%s' is ignored in a project: a project may only add hooks",
				name_shown(m->key, shown));
	}
}

const struct json *hook_events_of(const struct json *root, enum hook_form form)
{
	const struct json *hooks = json_get(root, STR("hooks"));

	return hooks || form != HOOK_FORM_CODE_AGENT ? hooks : root;
}

void hooks_parse(struct hook_set *s, struct hook_source *source)
{
	struct parser p = { .set = s, .source = source, .a = &s->arena };
	struct hook_source **tail = &s->sources;
	struct json *root;
	struct err err = { 0 };

	while (*tail)
		tail = &(*tail)->next;
	*tail = source;
	if (str_starts(source->text, STR("\xEF\xBB\xBF")))
		source->text = str_from(source->text, 3);
	if (str_empty(str_trim(source->text)))
		return;
	if (json_parse(&s->arena, source->text, JSON_COMMENTS, &root, &err) < 0) {
		hook_complain(s, source, true, SIZE_MAX, "%s", err.text);
		source->problems->line = err.line;
		source->problems->col = err.col;
		return;
	}
	if (root->type != JSON_OBJECT) {
		complain(&p, root->begin, "the file must contain an object, not %s", json_type_name(root->type));
		return;
	}
	if (source->scope != HOOK_USER && source->form == HOOK_FORM_OWN)
		refuse_options(&p, root);
	if (source->form == HOOK_FORM_CLAUDE && json_true(json_get(root, STR("disableAllHooks")))) {
		hint(&p, json_get(root, STR("disableAllHooks"))->begin, "disableAllHooks: nothing in this file runs");
		return;
	}
	p.code_agent = source->form == HOOK_FORM_CODE_AGENT;
	if (hook_events_of(root, source->form))
		take_hooks(&p, hook_events_of(root, source->form));
}

void hooks_write_problems(struct json_writer *w, const struct hook_source *source)
{
	jw_key(w, "problems");
	jw_array(w);
	for (const struct hook_problem *p = source->problems; p; p = p->next) {
		jw_object(w);
		jw_field_bool(w, "error", p->error);
		jw_field_int(w, "line", p->line);
		jw_field_int(w, "col", p->col);
		jw_field_str(w, "text", p->text);
		jw_end_object(w);
	}
	jw_end_array(w);
}
