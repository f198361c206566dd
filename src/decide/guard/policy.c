/* policy: reads `guard` of the user's config file: mode, disable, rules, programs. What is wrong is said with
 * its place, and left out; a rule whose own examples do not hold is wrong. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/limits.h"
#include "guard/user.h"

enum { PROBLEMS_MAX = 50, RULES_MAX = 500, DEEP_MAX = 8, WORDS_MAX = 64 };

#define complain(r, at, ...)                                                      \
	do {                                                                      \
		unsigned line_ = 0, col_ = 0;                                     \
		json_locate((r)->text, (at), &line_, &col_);                      \
		err_set_at(policy_problem(r), -EINVAL, line_, col_, __VA_ARGS__); \
	} while (0)

struct err *policy_problem(struct reading *r)
{
	struct guard_problem *p;

	if (++r->problems > PROBLEMS_MAX)
		return &r->ignored;
	p = xcalloc(1, sizeof(*p));
	*r->tail = p;
	r->tail = &p->next;
	return &p->err;
}

/* -- conditions ------------------------------------------------------------------------------- */

static const struct {
	const char *key;
	enum cond_kind kind;
} cond_keys[] = {
	{ "tool", COND_TOOL },
	{ "class", COND_CLASS },
	{ "program", COND_PROGRAM },
	{ "argv", COND_ARGV },
	{ "path", COND_PATH },
	{ "regex", COND_REGEX },
	{ "any", COND_ANY },
	{ "all", COND_ALL },
	{ "not", COND_NOT },
};

static bool read_object(struct reading *r, const struct json *v, unsigned depth, struct cond **ret, bool *ret_needs,
	bool top);

static bool read_words(struct reading *r, const struct json *v, struct cond *c)
{
	struct arena *a = &r->p->arena;

	if (v->type == JSON_STRING) {
		fields_add(a, &c->words, arena_str(a, json_str(v)));
		return true;
	}
	if (v->type != JSON_ARRAY || !json_first(v)) {
		complain(r, v->begin, "'" STR_FMT "' must be a text or a list of texts", STR_ARG(v->key));
		return false;
	}
	json_each(item, v) {
		if (item->type != JSON_STRING || c->words.n >= WORDS_MAX) {
			complain(r, item->begin, "'" STR_FMT "' must be a list of at most %d texts", STR_ARG(v->key),
				WORDS_MAX);
			return false;
		}
		fields_add(a, &c->words, arena_str(a, json_str(item)));
	}
	if (c->kind == COND_ARGV) { /* a list is one pattern, its words in order */
		struct fields one = { 0 };

		fields_add(a, &one, fields_join(a, c->words.v, c->words.n, ' '));
		c->words = one;
	}
	return true;
}

static bool known_class(str name)
{
	for (int i = 0; i < TOOL_CLASS_MAX; i++)
		if (str_eq_nocase(name, str_of(tool_class_names[i])))
			return true;
	return false;
}

static bool read_regex(struct reading *r, const struct json *v, struct cond *c)
{
	struct err err = { 0 };

	if (v->type != JSON_STRING) {
		complain(r, v->begin, "'regex' must be a text");
		return false;
	}
	if (match_compile(json_str(v), 0, &c->regex, &err) < 0) {
		complain(r, v->begin, "not a regular expression: %s", err.text);
		return false;
	}
	r->p->regexes = xrealloc(r->p->regexes, (r->p->nregexes + 1) * sizeof(*r->p->regexes));
	r->p->regexes[r->p->nregexes++] = c->regex;
	return true;
}

static bool read_list(struct reading *r, const struct json *v, unsigned depth, struct cond *c, bool *ret_needs)
{
	struct cond **tail = &c->inside;

	if (v->type != JSON_ARRAY || !json_first(v)) {
		complain(r, v->begin, "'" STR_FMT "' must be a list of conditions", STR_ARG(v->key));
		return false;
	}
	json_each(item, v) {
		struct cond *in = arena_new(&r->p->arena, struct cond);

		in->kind = COND_ALL;
		if (!read_object(r, item, depth + 1, &in->inside, ret_needs, false))
			return false;
		*tail = in;
		tail = &in->next;
	}
	return true;
}

static bool read_cond(struct reading *r, const struct json *v, unsigned depth, struct cond *c, bool *ret_needs)
{
	*ret_needs |= c->kind == COND_PROGRAM || c->kind == COND_ARGV;
	switch (c->kind) {
	case COND_REGEX: return read_regex(r, v, c);
	case COND_ANY:
	case COND_ALL: return read_list(r, v, depth, c, ret_needs);
	case COND_NOT: return read_object(r, v, depth + 1, &c->inside, ret_needs, false);
	default:
		if (!read_words(r, v, c))
			return false;
	}
	for (size_t i = 0; c->kind == COND_CLASS && i < c->words.n; i++)
		if (!known_class(c->words.v[i])) {
			complain(r, v->begin, "there is no class of tools '" STR_FMT "'", STR_ARG(c->words.v[i]));
			return false;
		}
	return true;
}

static const char rule_keys[] = "name decision message mode override examples";

static bool read_object(struct reading *r, const struct json *v, unsigned depth, struct cond **ret, bool *ret_needs,
	bool top)
{
	if (v->type != JSON_OBJECT || depth > DEEP_MAX) {
		complain(r, v->begin, "a condition must be an object, at most %d deep", DEEP_MAX);
		return false;
	}
	json_each(m, v) {
		size_t i = 0;
		struct cond *c;

		if (top && str_in(m->key, rule_keys))
			continue;
		while (i < countof(cond_keys) && !str_eq(m->key, str_of(cond_keys[i].key)))
			i++;
		if (i == countof(cond_keys)) {
			complain(r, m->begin, "unknown key '" STR_FMT "' in a rule", STR_ARG(m->key));
			return false;
		}
		c = arena_new(&r->p->arena, struct cond);
		c->kind = cond_keys[i].kind;
		if (!read_cond(r, m, depth, c, ret_needs))
			return false;
		*ret = c;
		ret = &c->next;
	}
	return true;
}

/* -- rules ------------------------------------------------------------------------------------ */

static bool is_builtin(str name)
{
	for (const struct guard_rule *g = guard_rules; g->name; g++)
		if (str_eq(name, str_of(g->name)))
			return true;
	return false;
}

static bool read_head(struct reading *r, const struct json *v, struct guard_user_rule *rule)
{
	const struct json *name = json_get(v, STR("name")), *decision = json_get(v, STR("decision")),
			  *mode = json_get(v, STR("mode"));
	struct arena *a = &r->p->arena;
	str word = json_str(decision);

	rule->name = arena_str(a, json_str(name));
	if (!rule->name.n) {
		complain(r, v->begin, "a rule must have a name");
		return false;
	}
	if (is_builtin(rule->name)) {
		complain(r, name->begin, "'" STR_FMT "' is the name of a built-in rule", STR_ARG(rule->name));
		return false;
	}
	for (size_t i = 0; i < r->p->nrules; i++)
		if (str_eq(r->p->listed[i].name, rule->name)) {
			complain(r, name->begin, "there are two rules called '" STR_FMT "'", STR_ARG(rule->name));
			return false;
		}
	rule->decision = str_eq(word, STR("deny")) ? VERDICT_DENY
		: str_eq(word, STR("ask"))         ? VERDICT_ASK
		: str_eq(word, STR("allow"))       ? VERDICT_ALLOW
						   : VERDICT_NONE;
	if (rule->decision == VERDICT_NONE) {
		complain(r, decision ? decision->begin : v->begin,
			"the decision of rule '" STR_FMT "' must be deny, ask or allow", STR_ARG(rule->name));
		return false;
	}
	if (mode && !str_in(json_str(mode), "observe enforce")) {
		complain(r, mode->begin, "the mode of rule '" STR_FMT "' must be observe or enforce",
			STR_ARG(rule->name));
		return false;
	}
	if (r->p->project && rule->decision == VERDICT_ALLOW) {
		complain(r, decision->begin, "rule '" STR_FMT "' allows something; a project may only deny or ask",
			STR_ARG(rule->name));
		return false;
	}
	rule->observe = mode && str_eq(json_str(mode), STR("observe"));
	rule->message = arena_str(a, json_str(json_get(v, STR("message"))));
	rule->override = arena_str(a, json_str(json_get(v, STR("override"))));
	if (rule->override.n && (rule->decision != VERDICT_ALLOW || !is_builtin(rule->override))) {
		complain(r, json_get(v, STR("override"))->begin,
			"'override' names a built-in rule, in a rule that allows");
		return false;
	}
	return true;
}

/* Whether rule number i applies to a command. */
static bool rule_speaks(struct guard_policy *p, size_t i, str command)
{
	static const struct guard_context c = { .cwd = { "/home/user/project", 18 }, .home = { "/home/user", 10 } };
	struct guard_policy only = *p;
	struct guard_report report = { 0 };
	struct event e = { .kind = EVENT_PRE_TOOL_USE,
		.tool_class = TOOL_SHELL,
		.tool_name = STR("Bash"),
		.command = command };
	struct verdict v = { 0 };
	struct arena a;
	bool found = false;

	only.listed = p->listed + i;
	only.rules = p->rules + i;
	only.nrules = 1;
	arena_init(&a);
	guard_decide(&only, &c, &e, &a, &v, &report);
	for (const struct guard_finding *f = report.findings; f; f = f->next)
		found |= str_eq(f->rule, p->listed[i].name);
	arena_release(&a);
	return found;
}

static bool check_examples(struct reading *r, const struct json *v, size_t i)
{
	const struct json *examples = json_get(v, STR("examples"));
	bool good = true;

	json_each(list, examples) {
		bool match = str_eq(list->key, STR("match"));

		if (!match && !str_eq(list->key, STR("pass"))) {
			complain(r, list->begin, "examples are 'match' and 'pass'");
			return false;
		}
		json_each(item, list) {
			if (rule_speaks(r->p, i, json_str(item)) == match)
				continue;
			complain(r, item->begin, "rule '" STR_FMT "' %s its example", STR_ARG(r->p->listed[i].name),
				match ? "does not hold for" : "holds for");
			good = false;
		}
	}
	return good;
}

static void read_rule(struct reading *r, const struct json *v)
{
	struct guard_policy *p = r->p;
	struct guard_user_rule *listed = &p->listed[p->nrules];
	struct user_rule *rule = &p->rules[p->nrules];
	unsigned col;

	*listed = (struct guard_user_rule){ 0 };
	*rule = (struct user_rule){ 0 };
	if (v->type != JSON_OBJECT) {
		complain(r, v->begin, "a rule must be an object");
		return;
	}
	if (!read_head(r, v, listed) || !read_object(r, v, 0, &rule->when, &rule->needs_command, true))
		return;
	if (!rule->when) {
		complain(r, v->begin, "rule '" STR_FMT "' has no condition and would match everything",
			STR_ARG(listed->name));
		return;
	}
	json_locate(r->text, v->begin, &listed->line, &col);
	listed->source = arena_str(&p->arena, str_n(r->text.p + v->begin, v->end - v->begin));
	if (check_examples(r, v, p->nrules))
		p->nrules++;
}

/* Names of rules, built-in or the user's own. What protects hookd itself stays. Whether there is such a rule is
 * checked last, because the rules may come after the list. */
static void read_names(struct reading *r, const struct json *v, struct fields *names)
{
	if (v->type != JSON_ARRAY) {
		complain(r, v->begin, "'guard." STR_FMT "' must be a list of names of rules", STR_ARG(v->key));
		return;
	}
	json_each(item, v)
		fields_add(&r->p->arena, names, arena_str(&r->p->arena, json_str(item)));
}

static bool is_rule(const struct guard_policy *p, str name)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (str_eq(p->listed[i].name, name))
			return true;
	return is_builtin(name) && !str_starts(name, STR("hookd."));
}

static void check_names(struct reading *r, const struct json *list)
{
	if (list && list->type == JSON_ARRAY)
		json_each(item, list)
			if (!is_rule(r->p, json_str(item)))
				complain(r, item->begin,
					"there is no rule that can be switched off called '" STR_FMT "'",
					STR_ARG(json_str(item)));
}

static void read_rules(struct reading *r, const struct json *v)
{
	struct guard_policy *p = r->p;
	size_t n = 0;

	if (v->type != JSON_ARRAY) {
		complain(r, v->begin, "'guard.rules' must be a list of rules");
		return;
	}
	json_each(item, v)
		n++;
	n = MIN(n, (size_t)RULES_MAX);
	p->listed = arena_alloc(&p->arena, (n + 1) * sizeof(*p->listed));
	p->rules = arena_alloc(&p->arena, (n + 1) * sizeof(*p->rules));
	json_each(item, v) {
		if (n-- == 0) {
			complain(r, item->begin, "more than %d rules", RULES_MAX);
			return;
		}
		read_rule(r, item);
	}
}

static void read_guard(struct reading *r, const struct json *guard)
{
	if (guard->type != JSON_OBJECT) {
		complain(r, guard->begin, "'guard' must be an object");
		return;
	}
	json_each(m, guard) {
		if (str_eq(m->key, STR("rules")))
			read_rules(r, m);
		else if (r->p->project)
			complain(r, m->begin,
				"'guard." STR_FMT "' can only be set by the user; a project may only add rules",
				STR_ARG(m->key));
		else if (str_eq(m->key, STR("disable")))
			read_names(r, m, &r->p->disabled);
		else if (str_eq(m->key, STR("observe")))
			read_names(r, m, &r->p->observed);
		else if (str_eq(m->key, STR("programs")))
			read_user_programs(r, m);
		else if (!str_eq(m->key, STR("mode")))
			complain(r, m->begin,
				"unknown option 'guard." STR_FMT
				"'; the options are mode, disable, observe, rules and programs",
				STR_ARG(m->key));
		else if (!str_in(json_str(m), "observe enforce"))
			complain(r, m->begin, "'guard.mode' must be observe or enforce");
		else
			r->p->observe = str_eq(json_str(m), STR("observe"));
	}
	if (!r->p->project) {
		check_names(r, json_get(guard, STR("disable")));
		check_names(r, json_get(guard, STR("observe")));
	}
}

/* -- policies --------------------------------------------------------------------------------- */

/* What the options say, without comments and spaces. */
static void keep_source(struct guard_policy *p, const struct json *guard)
{
	struct buf b = BUF_INIT(4 * LIMIT_CONFIG);
	struct json_writer w = JSON_WRITER(&b);

	if (guard)
		jw_value(&w, guard);
	p->source = arena_str(&p->arena, buf_str(&b));
	buf_release(&b);
}

static int parse(str text, bool project, struct guard_policy **ret, struct guard_problem **ret_problems,
	struct err *err)
{
	struct guard_policy *p = xcalloc(1, sizeof(*p));
	struct reading r = { .p = p, .tail = ret_problems };
	struct json *root = NULL, *guard;
	struct arena a;
	int result;

	p->refs = 1;
	p->project = project;
	arena_init(&p->arena);
	arena_init(&a);
	*ret_problems = NULL;
	*ret = p;
	if (str_starts(text, STR("\xEF\xBB\xBF"))) /* editors of other systems put it in front */
		text = str_from(text, 3);
	r.text = text;
	result = str_trim(text).n ? json_parse(&a, text, JSON_COMMENTS, &root, err) : 0;
	if (result < 0 && project) /* problems of the user's own file are reported by whatever reads its options */
		*policy_problem(&r) = *err;
	guard = json_get(root, STR("guard"));
	keep_source(p, guard);
	if (guard)
		read_guard(&r, guard);
	arena_release(&a);
	return result;
}

/* A file that is not JSON is reported by config/. */
struct guard_policy *guard_policy_parse(str text, struct guard_problem **ret_problems)
{
	struct guard_policy *p;

	(void)parse(text, /* project= */ false, &p, ret_problems, NULL);
	return p;
}

struct guard_policy *guard_policy_parse_project(str text, bool trusted, struct guard_problem **ret_problems)
{
	struct guard_policy *p;
	struct err err = { 0 };

	(void)parse(text, /* project= */ true, &p, ret_problems, &err);
	p->trusted = trusted;
	return p;
}

int guard_policy_read(const char *path, struct guard_policy **ret, struct guard_problem **ret_problems, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	int r = path && path[0] ? fs_read_file(path, &b) : -ENOENT;

	*ret = NULL;
	*ret_problems = NULL;
	if (r < 0 && r != -ENOENT) {
		buf_release(&b);
		return err_set(err, r, "%s: %s", path, strerror(-r));
	}
	r = parse(buf_str(&b), /* project= */ false, ret, ret_problems, err);
	buf_release(&b);
	if (r < 0) {
		guard_policy_unref(TAKE(*ret));
		guard_problems_free(TAKE(*ret_problems));
	}
	return r;
}

struct guard_policy *guard_policy_load(const char *path, struct guard_problem **ret_problems)
{
	struct guard_policy *p;

	return guard_policy_read(path, &p, ret_problems, NULL) == 0 ? p : guard_policy_parse(STR(""), ret_problems);
}

str guard_policy_source(const struct guard_policy *p)
{
	return p->source.n ? p->source : STR("{}");
}

bool guard_policy_same(const struct guard_policy *a, const struct guard_policy *b)
{
	return str_eq(guard_policy_source(a), guard_policy_source(b));
}

struct guard_policy *guard_policy_ref(struct guard_policy *p)
{
	__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

void guard_policy_unref(struct guard_policy *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < p->nregexes; i++)
		match_free(p->regexes[i]);
	free(p->regexes);
	arena_release(&p->arena);
	free(p);
}

void guard_problems_free(struct guard_problem *p)
{
	while (p) {
		struct guard_problem *next = p->next;

		free(p);
		p = next;
	}
}

static bool is_listed(const struct fields *names, str rule)
{
	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->v[i], rule))
			return true;
	return false;
}

bool guard_policy_disabled(const struct guard_policy *p, str rule)
{
	if (p && p->project && is_builtin(rule))
		return true;
	return p && is_listed(&p->disabled, rule) && !str_starts(rule, STR("hookd."));
}

bool guard_policy_observes(const struct guard_policy *p, str rule)
{
	return p && (p->observe || is_listed(&p->observed, rule)) && !str_starts(rule, STR("hookd."));
}

size_t guard_policy_rules(const struct guard_policy *p, const struct guard_user_rule **ret)
{
	*ret = p ? p->listed : NULL;
	return p ? p->nrules : 0;
}
