/* Rules that come with an effort: one condition over what is known of a call, and a text that stops it or is added.
 * They are checked when they are written, where somebody can be told; here what is not understood does nothing. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "config/names.h"
#include "effort/effort.h"
#include "match/match.h"

enum { TOOLS_MAX = 16, ALLOWED_MAX = 16, VALUE_MAX = 500, PRIORITY_MAX = 1000000 };

enum operator{ OP_GTE, OP_GT, OP_LTE, OP_LT, OP_EQ, OP_NE, OP_CONTAINS, OP_MATCHES, OP_NON_EMPTY, OPERATORS };

static const char *const operators[OPERATORS] = { "gte", "gt", "lte", "lt", "eq", "ne", "contains", "matches",
	"nonEmpty" };

/* Where a field is in struct effort_facts; several names for one, as the systems before had them. */
static const struct field {
	const char *name;
	size_t at;
	bool is_number;
} fields[] = {
	{ "heartbeat_counter", offsetof(struct effort_facts, heartbeat), true },
	{ "heartbeat", offsetof(struct effort_facts, heartbeat), true },
	{ "context_usage", offsetof(struct effort_facts, context_usage), true },
	{ "tool_calls", offsetof(struct effort_facts, calls), true },
	{ "tool_name", offsetof(struct effort_facts, tool_name), false },
	{ "tool_class", offsetof(struct effort_facts, tool_class), false },
	{ "command", offsetof(struct effort_facts, command), false },
	{ "file_path", offsetof(struct effort_facts, file_path), false },
	{ "phase", offsetof(struct effort_facts, phase), false },
	{ "skill", offsetof(struct effort_facts, skill), false },
	{ "mode", offsetof(struct effort_facts, mode), false },
	{ "agent_type", offsetof(struct effort_facts, agent_type), false },
};

struct rule {
	str id, text, value;
	const struct field *field;
	enum operator op;
	int64_t number;
	struct match *match;
	str tools[TOOLS_MAX];
	size_t ntools;
	struct allowed {
		str tool, pattern; /* of a command or a path; STR_NONE: any call of the tool */
	} allowed[ALLOWED_MAX];
	size_t nallowed;
	str preload[EFFORT_OWED];
	size_t npreload;
	int64_t priority; /* the highest speaks first */
	bool blocks, once;
};

struct effort_rules {
	struct arena arena;
	struct rule rules[EFFORT_RULES_MAX];
	size_t n;
};

/* -- reading ----------------------------------------------------------------------------------- */

static int refuse_field(str id, str name, struct err *err)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN], rule[NAME_SHOWN];

	for (size_t i = 0; i < countof(fields); i++)
		name_suggest(&near, name, str_of(fields[i].name));
	if (near.best.p)
		return err_set(err, -EINVAL, "rule '%s': there is no field '%s'; did you mean '" STR_FMT "'?",
			name_shown(id, rule), name_shown(name, shown), STR_ARG(near.best));
	return err_set(err, -EINVAL,
		"rule '%s': there is no field '%s'; there are: heartbeat_counter, context_usage, tool_calls, "
		"tool_name, "
		"tool_class, command, file_path, phase, skill, mode, agent_type",
		name_shown(id, rule), name_shown(name, shown));
}

static int take_field(str id, str name, const struct field **ret, struct err *err)
{
	for (size_t i = 0; i < countof(fields); i++)
		if (str_eq_name(name, str_of(fields[i].name))) {
			*ret = &fields[i];
			return 0;
		}
	return refuse_field(id, name, err);
}

static int take_operator(str id, const struct field *f, str name, enum operator* ret, struct err *err)
{
	char shown[NAME_SHOWN], rule[NAME_SHOWN];

	for (enum operator o = 0; o < OPERATORS; o++)
		if (str_eq_name(name, str_of(operators[o])) &&
			(f->is_number ? o <= OP_NE : o == OP_EQ || o == OP_NE || o > OP_NE)) {
			*ret = o;
			return 0;
		}
	return err_set(err, -EINVAL, "rule '%s': '%s' is not an operator for %s; there are: %s", name_shown(id, rule),
		name_shown(name, shown), f->name,
		f->is_number ? "gte, gt, lte, lt, eq, ne" : "eq, ne, contains, matches, nonEmpty");
}

static int take_value(struct rule *r, const struct json *v, struct arena *a, struct err *err)
{
	char rule[NAME_SHOWN];
	struct err why = { 0 };

	if (r->op == OP_NON_EMPTY)
		return 0;
	if (r->field->is_number)
		return json_int(v, &r->number)
			? 0
			: err_set(err, -EINVAL, "rule '%s': the value of %s must be a whole number",
				  name_shown(r->id, rule), r->field->name);
	if (!v || v->type != JSON_STRING || v->text.n > VALUE_MAX)
		return err_set(err, -EINVAL, "rule '%s': the value of %s must be a text of at most %d bytes",
			name_shown(r->id, rule), r->field->name, VALUE_MAX);
	r->value = arena_str(a, v->text);
	if (r->op != OP_MATCHES || match_compile(r->value, 0, &r->match, &why) == 0)
		return 0;
	return err_set(err, -EINVAL, "rule '%s': the pattern is not one: %s", name_shown(r->id, rule), why.text);
}

static int take_condition(struct rule *r, const struct json *c, struct arena *a, struct err *err)
{
	char rule[NAME_SHOWN];
	int got;

	if (!c || c->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "rule '%s' needs a condition: {\"field\", \"op\", \"value\"}",
			name_shown(r->id, rule));
	got = take_field(r->id, json_str(json_get(c, STR("field"))), &r->field, err);
	if (got == 0)
		got = take_operator(r->id, r->field, json_str(json_get(c, STR("op"))), &r->op, err);
	return got < 0 ? got : take_value(r, json_get(c, STR("value")), a, err);
}

/* A payload is a text, or an object that has one; others pass for "look at the rule's name". */
static str text_of(const struct json *payload)
{
	str text = payload && payload->type == JSON_STRING ? payload->text : json_str(json_get(payload, STR("text")));

	return str_is_set(text) ? text : json_str(json_get(payload, STR("message")));
}

static str word_of(const struct json *rule, const char *name)
{
	str word = json_str(json_get(rule, str_of(name)));

	return str_is_set(word) ? word : json_str(json_path(rule, "payload", name, NULL));
}

static int take_manner(struct rule *r, const struct json *v, struct err *err)
{
	str urgency = word_of(v, "urgency"), inject = word_of(v, "inject");
	char shown[NAME_SHOWN], rule[NAME_SHOWN];

	if (str_is_set(urgency) && !str_eq(urgency, STR("block")) && !str_eq(urgency, STR("allow")))
		return err_set(err, -EINVAL, "rule '%s': urgency is 'block' or 'allow', not '%s'",
			name_shown(r->id, rule), name_shown(urgency, shown));
	if (str_is_set(inject) && !str_eq(inject, STR("once")) && !str_eq(inject, STR("always")))
		return err_set(err, -EINVAL, "rule '%s': inject is 'once' or 'always', not '%s'",
			name_shown(r->id, rule), name_shown(inject, shown));
	r->blocks = str_eq(urgency, STR("block"));
	/* What stops a call says so each time, what is only said is said once. */
	r->once = str_is_set(inject) ? str_eq(inject, STR("once")) : !r->blocks;
	return 0;
}

/* For which tools it is: "tools", or "toolFilter" with them or with {"include"}. */
static void take_tools(struct rule *r, const struct json *v, struct arena *a)
{
	const struct json *filter = json_get(v, STR("toolFilter"));
	const struct json *const lists[] = { json_get(v, STR("tools")),
		filter && filter->type == JSON_OBJECT ? json_get(filter, STR("include")) : filter };

	for (size_t i = 0; i < countof(lists); i++)
		json_each(tool, lists[i])
			if (tool->type == JSON_STRING && r->ntools < TOOLS_MAX)
				r->tools[r->ntools++] = arena_str(a, tool->text);
}

/* Calls it is not about: "Read", "Bash(git status*)", "Edit(*.md)". */
static int take_allowed(struct rule *r, const struct json *list, struct arena *a, struct err *err)
{
	char rule[NAME_SHOWN];
	bool wrong = list && list->type != JSON_ARRAY;

	json_each(v, list) {
		str text = arena_str(a, str_trim(json_str(v)));
		ptrdiff_t at = str_find_char(text, '(');
		struct allowed *one = &r->allowed[r->nallowed];

		wrong |= str_empty(text) || at == 0 || (at > 0 && !str_ends(text, STR(")"))) ||
			r->nallowed == ALLOWED_MAX;
		if (wrong)
			break;
		*one = (struct allowed){ text, STR_NONE };
		if (at > 0)
			*one = (struct allowed){ str_head(text, (size_t)at),
				str_n(text.p + at + 1, text.n - (size_t)at - 2) };
		r->nallowed++;
	}
	return wrong ? err_set(err, -EINVAL,
			       "rule '%s': whitelist is a list of at most %d calls: \"Read\", \"Bash(git status*)\"",
			       name_shown(r->id, rule), ALLOWED_MAX)
		     : 0;
}

/* Files that are given when it holds. */
static int take_preload(struct rule *r, const struct json *list, struct arena *a, struct err *err)
{
	char rule[NAME_SHOWN];
	bool wrong = list && list->type != JSON_ARRAY;

	json_each(v, list) {
		str path = json_str(v);

		wrong |= str_empty(path) || path.p[0] == '/' || r->npreload == EFFORT_OWED;
		if (wrong)
			break;
		r->preload[r->npreload++] = arena_str(a, path);
	}
	return wrong ? err_set(err, -EINVAL, "rule '%s': preload is a list of at most %d paths below the project",
			       name_shown(r->id, rule), EFFORT_OWED)
		     : 0;
}

static int take_priority(struct rule *r, const struct json *v, struct err *err)
{
	char rule[NAME_SHOWN];

	if (!v || (json_int(v, &r->priority) && r->priority >= -PRIORITY_MAX && r->priority <= PRIORITY_MAX))
		return 0;
	return err_set(err, -EINVAL, "rule '%s': priority must be a whole number; the highest speaks first",
		name_shown(r->id, rule));
}

static int take_rule(struct effort_rules *all, const struct json *v, struct err *err)
{
	struct rule *r = &all->rules[all->n];
	str id = json_str(json_get(v, STR("ruleId")));
	int got;

	if (str_empty(id))
		id = json_str(json_get(v, STR("id")));
	if (!effort_is_name(id))
		return err_set(err, -EINVAL, "each rule needs a ruleId of letters, digits, '-' and '_'");
	*r = (struct rule){ .id = arena_str(&all->arena, id) };
	got = take_condition(r, json_get(v, STR("condition")), &all->arena, err);
	if (got == 0)
		got = take_manner(r, v, err);
	if (got < 0)
		return got;
	got = take_allowed(r, json_get(v, STR("whitelist")), &all->arena, err);
	if (got == 0)
		got = take_preload(r, json_path(v, "payload", "preload", NULL), &all->arena, err);
	if (got == 0)
		got = take_priority(r, json_get(v, STR("priority")), err);
	if (got < 0)
		return got;
	r->text = arena_str(&all->arena, str_cut_utf8(text_of(json_get(v, STR("payload"))), EFFORT_TEXT_MAX));
	take_tools(r, v, &all->arena);
	return 0;
}

/* The highest priority first, else in the order they were given. */
static void sort(struct effort_rules *all)
{
	for (size_t i = 1; i < all->n; i++) {
		struct rule moved = all->rules[i];
		size_t at = i;

		for (; at > 0 && all->rules[at - 1].priority < moved.priority; at--)
			all->rules[at] = all->rules[at - 1];
		all->rules[at] = moved;
	}
}

int effort_rules_parse(const struct json *list, struct effort_rules **ret, struct err *err)
{
	struct effort_rules *all;
	int r = 0;

	*ret = NULL;
	if (!list || (list->type == JSON_ARRAY && !list->first))
		return 0;
	if (list->type != JSON_ARRAY || list->count > EFFORT_RULES_MAX) {
		r = err_set(err, -EINVAL, "rules must be a list of at most %d", EFFORT_RULES_MAX);
		return err ? r : 0;
	}
	all = xcalloc(1, sizeof *all);
	json_each(v, list) {
		r = take_rule(all, v, err);
		if (r < 0 && err)
			break;
		if (r < 0)
			match_free(TAKE(all->rules[all->n].match));
		else
			all->n++;
	}
	if (r < 0 && err) {
		all->n++; /* the one that failed may have a pattern */
		effort_rules_free(all);
		return r;
	}
	sort(all);
	*ret = all;
	return 0;
}

void effort_rules_free(struct effort_rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		match_free(r->rules[i].match);
	arena_release(&r->arena);
	free(r);
}

/* -- applying ---------------------------------------------------------------------------------- */

static bool holds_number(const struct rule *r, int64_t is)
{
	if (is < 0)
		return false;
	switch (r->op) {
	case OP_GTE: return is >= r->number;
	case OP_GT: return is > r->number;
	case OP_LTE: return is <= r->number;
	case OP_LT: return is < r->number;
	case OP_EQ: return is == r->number;
	case OP_NE: return is != r->number;
	default: return false;
	}
}

/* A pattern that takes too long holds: a rule that stops a call must not be worn out by a long command. */
static bool holds_text(const struct rule *r, str is)
{
	switch (r->op) {
	case OP_EQ: return str_eq(is, r->value);
	case OP_NE: return !str_eq(is, r->value);
	case OP_CONTAINS: return str_find(is, r->value) >= 0;
	case OP_MATCHES: return match_find(r->match, is, 0, NULL) != 0;
	case OP_NON_EMPTY: return !str_empty(is);
	default: return false;
	}
}

/* In a command no pattern stands for what begins another one. */
static bool fits(str pattern, str text, bool is_command)
{
	return str_fits_but(pattern, text, is_command ? STR(";&|<>`$()\n") : STR(""));
}

static bool is_allowed(const struct rule *r, const struct effort_facts *f)
{
	bool is_command = !str_empty(f->command), fit = false;

	for (size_t i = 0; i < r->nallowed && !fit; i++) {
		const struct allowed *one = &r->allowed[i];

		fit = (str_eq(one->tool, f->tool_name) || str_eq(one->tool, f->tool_class)) &&
			(!str_is_set(one->pattern) ||
				fits(one->pattern, is_command ? f->command : f->file_path, is_command));
	}
	return fit;
}

static bool holds(const struct rule *r, const struct effort_facts *f)
{
	const void *at = (const char *)f + r->field->at;
	bool tool = !r->ntools;

	if (is_allowed(r, f))
		return false;

	for (size_t i = 0; i < r->ntools && !tool; i++)
		tool = str_eq(r->tools[i], f->tool_name) || str_eq(r->tools[i], f->tool_class);
	if (!tool)
		return false;
	return r->field->is_number ? holds_number(r, *(const int64_t *)at) : holds_text(r, *(const str *)at);
}

/* True the first time. */
static bool speaks(const struct rule *r, uint64_t *spoken)
{
	uint64_t mark = effort_hash(r->id);

	for (size_t i = 0; i < EFFORT_SPOKEN; i++) {
		if (spoken[i] == mark)
			return false;
		if (!spoken[i]) {
			spoken[i] = mark;
			return true;
		}
	}
	return false;
}

struct effort_fired *effort_rules_fire(const struct effort_rules *r, const struct effort_facts *f, uint64_t *spoken,
	struct arena *a)
{
	struct effort_fired *first = NULL, **last = &first;

	for (size_t i = 0; r && i < r->n; i++) {
		const struct rule *rule = &r->rules[i];

		if (!holds(rule, f) || (rule->once && !speaks(rule, spoken)))
			continue;
		*last = arena_new(a, struct effort_fired);
		**last = (struct effort_fired){ .rule = arena_str(a, rule->id),
			.text = arena_str(a, rule->text),
			.blocks = rule->blocks,
			.is_rule = true };
		for (; (*last)->npreload < rule->npreload; (*last)->npreload++)
			(*last)->preload[(*last)->npreload] = arena_str(a, rule->preload[(*last)->npreload]);
		last = &(*last)->next;
	}
	return first;
}
