/* user: asks the user's rules about one resolved command, or about a tool call that is none. */
#include "guard/user.h"

struct subject {
	struct run *x;
	const struct cmd *c;   /* or NULL */
	const struct event *e; /* or NULL: a shell command */
	str text;              /* for regex */
	bool lenient;          /* reaching a limit counts as a hit */
};

static bool path_fits(struct run *x, str pattern, str word)
{
	const char *p;

	if (!word.n || word.p[0] == '-')
		return false;
	if (str_starts(pattern, STR("**/"))) /* anywhere */
		return glob_match(str_from(pattern, 3), str_base(path_resolve(x, word)));
	if (pattern.n && pattern.p[0] != '/' && pattern.p[0] != '~')
		pattern = arena_strf(x->a, STR_FMT "/" STR_FMT, STR_ARG(x->c->root), STR_ARG(pattern));
	else if (pattern.n && pattern.p[0] == '~')
		pattern = arena_strf(x->a, STR_FMT STR_FMT, STR_ARG(x->c->home), STR_ARG(str_from(pattern, 1)));
	p = arena_cstr(x->a, pattern);
	return path_like(p, path_resolve(x, word));
}

static bool any_path(const struct subject *s, str pattern)
{
	if (s->c)
		for (size_t i = 1; i < s->c->n; i++) {
			ptrdiff_t eq = str_find_char(s->c->v[i], '=');

			if (path_fits(s->x, pattern, s->c->v[i]) ||
				(eq > 0 && path_fits(s->x, pattern, str_from(s->c->v[i], (size_t)eq + 1))))
				return true;
		}
	for (size_t i = 0; s->e && i < s->x->paths.n; i++)
		if (path_fits(s->x, pattern, s->x->paths.v[i]))
			return true;
	return s->e && path_fits(s->x, pattern, s->e->file_path);
}

static bool word_holds(const struct subject *s, enum cond_kind kind, str word)
{
	switch (kind) {
	case COND_TOOL: return glob_match(word, s->e ? s->e->tool_name : STR("Bash"));
	case COND_CLASS: return str_eq_nocase(word, str_of(tool_class_names[s->e ? s->e->tool_class : TOOL_SHELL]));
	case COND_PROGRAM: return s->c && glob_match(word, s->c->name);
	case COND_ARGV: return s->c && row_matches(s->c, arena_cstr(s->x->a, word));
	case COND_PATH: return any_path(s, word);
	default: return false;
	}
}

static bool all_hold(const struct subject *s, const struct cond *c);

static bool holds(const struct subject *s, const struct cond *c)
{
	struct subject opposite;
	int r;

	switch (c->kind) {
	case COND_REGEX: r = match_find(c->regex, s->text, 0, NULL); return r > 0 || (r < 0 && s->lenient);
	case COND_ANY:
		for (const struct cond *in = c->inside; in; in = in->next)
			if (all_hold(s, in->inside))
				return true;
		return false;
	case COND_ALL:
		for (const struct cond *in = c->inside; in; in = in->next)
			if (!all_hold(s, in->inside))
				return false;
		return true;
	case COND_NOT:
		opposite = *s;
		opposite.lenient = !s->lenient;
		return !all_hold(&opposite, c->inside);
	default:
		for (size_t i = 0; i < c->words.n; i++)
			if (word_holds(s, c->kind, c->words.v[i]))
				return true;
		return false;
	}
}

static bool all_hold(const struct subject *s, const struct cond *c)
{
	for (; c; c = c->next)
		if (!holds(s, c))
			return false;
	return true;
}

/* Names and messages of a project that nobody has trusted are text from anybody: its rules hold, in hookd's words. */
static void add_foreign_finding(struct run *x, const struct cmd *c, const struct guard_user_rule *r, size_t number)
{
	add_finding(x, c,
		&(struct guard_finding){ .rule = arena_strf(x->a, "project.rule-%zu", number),
			.action = r->decision,
			.reason = arena_strf(x->a,
				"rule %zu of this project %s; the project is not trusted, so its own words are not "
				"shown "
				"(for the user: hookd trust)",
				number, r->decision == VERDICT_DENY ? "denies this" : "asks about this"),
			.observed = r->observe });
}

/* Copies what it says: the policy may be replaced before the verdict is read. */
static void add_user_finding(struct run *x, const struct cmd *c, const struct guard_user_rule *r)
{
	add_finding(x, c,
		&(struct guard_finding){ .rule = arena_str(x->a, r->name),
			.action = r->decision,
			.reason = r->message.n ? arena_strf(x->a, STR_FMT " (your rule " STR_FMT ")",
							 STR_ARG(r->message), STR_ARG(r->name))
					       : arena_strf(x->a, "your rule " STR_FMT " says so", STR_ARG(r->name)),
			.observed = r->observe,
			.override = arena_str(x->a, r->override) });
}

static void ask_rules(struct run *x, const struct cmd *c, const struct event *e, str text, bool whole)
{
	const struct guard_policy *p = x->policy;

	for (size_t i = 0; p && i < p->nrules; i++) {
		const struct guard_user_rule *r = &p->listed[i];
		struct subject s = { .x = x, .c = c, .e = e, .text = text, .lenient = r->decision != VERDICT_ALLOW };

		if (!spend(x, 8) || (whole && p->rules[i].needs_command) || !all_hold(&s, p->rules[i].when))
			continue;
		if (p->project && !p->trusted)
			add_foreign_finding(x, c, r, i + 1);
		else
			add_user_finding(x, c, r);
	}
}

void judge_user_rules(struct run *x, const struct cmd *c)
{
	if (x->policy && x->policy->nrules)
		ask_rules(x, c, NULL, cmd_whole_text(x, c), false);
}

void judge_user_tool(struct run *x, const struct event *e)
{
	if (x->policy && x->policy->nrules)
		ask_rules(x, NULL, e,
			e->tool_class == TOOL_SHELL ? e->command
				: e->file_path.n    ? e->file_path
						    : e->raw,
			e->tool_class == TOOL_SHELL);
}

/* An allow of the user takes back what was asked about the very same command; a denial only when it
 * names the rule. */
void lower_findings(struct guard_report *r)
{
	for (const struct guard_finding *allow = r->findings; allow; allow = allow->next) {
		if (allow->action != VERDICT_ALLOW || allow->observed)
			continue;
		for (struct guard_finding *f = r->findings; f; f = f->next) {
			bool same = f->command == allow->command;

			if (!same || f->action < VERDICT_ASK || str_starts(f->rule, STR("hookd.")))
				continue;
			if ((f->action == VERDICT_ASK && !allow->override.n) ||
				(allow->override.n && str_eq(allow->override, f->rule)))
				f->lowered = true;
		}
	}
}
