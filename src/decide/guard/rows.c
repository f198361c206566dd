/* rows: rules that are words.
 *
 * A pattern is a list of terms, separated by blanks; all must hold:
 *   word        the next operand is this word; a|b is either, * is a pattern, in any case of
 * letters
 *   ..          any number of operands may stand between
 *   -f|--force  one of these options is there (bundles and abbreviations count; --x=v* looks at the
 * value too, also where it is a word of its own)
 *   !-n|--dry   none of these options is there
 *   $           no operand may follow
 * Operands are the words that are neither options nor, as far as the program's descriptor knows, their values. */
#include "guard/descriptor.h"

static bool alternatives(str term, str word)
{
	str one;

	while (str_split(&term, '|', &one)) {
		if (str_eq_nocase(one, word) || (str_find_char(one, '*') >= 0 && glob_match(one, word)))
			return true;
	}
	return false;
}

/* --x=v and --x v, the value being a pattern. */
static bool value_there(const struct cmd *c, str term)
{
	ptrdiff_t eq = str_find_char(term, '=');

	for (size_t i = 1; i < c->n; i++)
		if (glob_match(term, c->v[i]) ||
			(eq > 0 && i + 1 < c->n && str_eq(c->v[i], str_head(term, (size_t)eq)) &&
				glob_match(str_from(term, (size_t)eq + 1), c->v[i + 1])))
			return true;
	return false;
}

static bool option_there(const struct cmd *c, str term)
{
	str one;
	char name[64];

	while (str_split(&term, '|', &one)) {
		if (one.n >= sizeof(name))
			continue;
		if (str_find_char(one, '=') >= 0 || str_find_char(one, '*') >= 0) {
			if (value_there(c, one))
				return true;
			continue;
		}
		memcpy(name, one.p, one.n);
		name[one.n] = 0;
		if (cmd_has(c, name))
			return true;
	}
	return false;
}

static bool operand_fits(struct args *it, str term, bool anywhere)
{
	struct arg a;

	while (args_next(it, &a)) {
		if (!a.operand)
			continue;
		if (alternatives(term, a.value))
			return true;
		if (!anywhere)
			return false;
	}
	return false;
}

bool row_matches(const struct cmd *c, const char *pattern)
{
	struct args it = args_of(c);
	str rest = str_of(pattern), term;
	bool anywhere = false;
	struct arg a;

	while (str_split(&rest, ' ', &term)) {
		if (!term.n)
			continue;
		if (str_eq(term, STR(".."))) {
			anywhere = true;
		} else if (str_eq(term, STR("$"))) {
			while (args_next(&it, &a))
				if (a.operand)
					return false;
		} else if (term.p[0] == '!') {
			if (option_there(c, str_from(term, 1)))
				return false;
		} else if (term.p[0] == '-') {
			if (!option_there(c, term))
				return false;
		} else {
			if (!operand_fits(&it, term, anywhere))
				return false;
			anywhere = false;
		}
	}
	return true;
}

/* Nothing happens: help is shown, or the program only says what it would do. */
static bool only_tells(const struct cmd *c, enum rule rule)
{
	if (cmd_has(c, "--help") || (c->n == 3 && str_eq(c->v[2], STR("help"))))
		return true;
	if (rule != RULE_CLOUD && rule != RULE_K8S && rule != RULE_IAC && rule != RULE_IAM &&
		rule != RULE_DOCKER_PRUNE && rule != RULE_PKG_PUBLISH && rule != RULE_PKG_REMOVE)
		return false;
	for (size_t i = 1; i < c->n && !str_eq(c->v[i], STR("--")); i++)
		if (str_in(c->v[i],
			    "--dry-run --dryrun --dry-run=client --dry-run=server "
			    "--dry-run=true --dry_run"))
			return true;
	return false;
}

/* A listing of everything among the operands: "get … -o name | xargs delete". */
static bool takes_listing(const struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (c->v[i].n && c->v[i].p[0] != '-' && c->v[i].p[c->v[i].n - 1] == MARK_STAR)
			return true;
	return false;
}

bool judge_program_rule(struct run *x, struct cmd *c, const struct program_rule *r)
{
	enum verdict_action action = r->action;

	if (!spend(x, 2 + (unsigned)c->n) || !row_matches(c, r->when) || only_tells(c, r->rule) ||
		(r->rule == RULE_DB && is_scratch_database(x, c, STR_NONE)))
		return false;
	if ((r->rule == RULE_CLOUD || r->rule == RULE_K8S || r->rule == RULE_IAC || r->rule == RULE_DOCKER_PRUNE) &&
		takes_listing(c))
		action = VERDICT_DENY;
	FAULT(x, c, r->rule, action, "%s (" STR_FMT ")", r->reason, STR_ARG(cmd_text(x, c)));
	if (r->rule == RULE_SECRET_READ || r->rule == RULE_SECRET_ENV)
		c->out = STR("\5");
	return true;
}
