/* unfamiliar: programs that nothing is known of, or nothing of what they do with files. What they are given says what
 * they may be about: a command where runners take one, a place that matters. It is judged quietly: paths are asked
 * about at most, words are commands only where that is how runners are written. */
#include "guard/descriptor.h"

/* -- commands --------------------------------------------------------------------------------- */

/* Known, and not also a word of everyday use for a task. */
static bool is_program(str word)
{
	return descriptor_of(str_base(word)) &&
		!str_in(word,
			"set export env printenv history init format test time security service read now local "
			"kind render start console migrate watch code open");
}

/* Words that nobody writes but to run them, wherever they stand. */
static bool is_only_program(str word)
{
	return str_in(str_base(word), "rm sh bash zsh dash sudo doas find shred");
}

/* Of options: what they are given is a secret, to be used. */
static const char given_secrets[] = "env secret secrets key tls cert";

static bool is_part(str name, const char *parts)
{
	str part;

	while (str_split(&name, '-', &part))
		if (part.n && str_in(part, parts))
			return true;
	return false;
}

/* -c, --exec, --pre-command: its value is a command for a shell. */
static bool takes_command(str option)
{
	if (option.n == 2)
		return strchr("cex", option.p[1]) != NULL;
	return str_starts(option, STR("--")) && is_part(option, "exec command cmd run shell script hook");
}

/* True: all the words that follow were its own. */
static bool run_given(struct run *x, struct cmd *c, size_t at, str text)
{
	str rest = text, first = text;

	(void)str_split(&rest, ' ', &first);
	if (!is_program(first))
		return false;
	if (first.n < text.n)
		(void)run_child_text(x, text, c->in);
	else if (at < c->n)
		(void)run_argv(x, c->v + at, c->n - at, c->in);
	return first.n == text.n && at < c->n;
}

static void judge_commands(struct run *x, struct cmd *c)
{
	bool doubt = x->doubt, over = false;

	for (size_t i = 1; i < c->n && !over && spend(x, 2); i++) {
		str w = c->v[i], next = i + 1 < c->n ? c->v[i + 1] : STR("");
		ptrdiff_t eq = str_find_char(w, '=');

		if (str_in(w, "-- exec run") && (c->n - i > 2 || str_find_char(next, ' ') > 0)) {
			over = run_given(x, c, i + 1, next);
		} else if (w.n > 1 && w.p[0] == '-') {
			if (eq > 0 && takes_command(str_head(w, (size_t)eq)))
				(void)run_given(x, c, c->n, str_from(w, (size_t)eq + 1));
			else if (eq < 0 && takes_command(w) && next.n)
				over = run_given(x, c, i + 1, next);
		} else if (is_only_program(w) && next.n) {
			x->doubt = over = true;
			(void)run_argv(x, c->v + i, c->n - i, c->in);
			x->doubt = doubt;
		}
	}
}

/* -- paths ------------------------------------------------------------------------------------ */

/* What is given to a program that may do anything with it. familiar: it is known for something else. */
static void judge_given(struct run *x, const struct cmd *c, str word, bool env, bool familiar)
{
	str path = path_resolve(x, word);
	enum guarded guarded;
	enum secrecy secrecy;
	bool shared;

	if (is_protected(x, path, &shared)) {
		FAULT(x, c, RULE_SELF, VERDICT_ASK,
			"hookd does not know what this program does with " STR_FMT ", which contains an agent's hooks",
			STR_ARG(path));
		return;
	}
	if (familiar)
		return;
	guarded = guarded_of(x, path);
	secrecy = secrecy_of(x, path);
	if ((guarded == GUARDED_SYSTEM && str_in(path, "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/fstab")) ||
		(guarded != GUARDED_NOT && guarded != GUARDED_SYSTEM && guarded != GUARDED_AGENT))
		FAULT(x, c, RULE_REDIRECT, VERDICT_ASK, "hookd does not know what this program does with " STR_FMT,
			STR_ARG(path));
	else if (place_of(x, path) == PLACE_DEVICE)
		FAULT(x, c, RULE_DD, VERDICT_ASK, "hookd does not know what this program does with a disk: " STR_FMT,
			STR_ARG(path));
	else if (secrecy == SECRET_KEY || (secrecy == SECRET_PROJECT && !env))
		FAULT(x, c, RULE_SECRET_READ, VERDICT_ASK,
			"hookd does not know what this program does with secrets: " STR_FMT, STR_ARG(path));
}

/* A word that says so, and a place that nobody could make again. */
static void judge_removal(struct run *x, const struct cmd *c, str word)
{
	str path = path_resolve(x, word);
	enum place p = place_of(x, path);
	bool whole, doubt = x->doubt;

	if (p != PLACE_ROOT && p != PLACE_SYSTEM && p != PLACE_HOMES && p != PLACE_ABOVE &&
		!is_personal(x, path, &whole))
		return;
	x->doubt = true;
	judge_delete(x, c, word, true);
	x->doubt = doubt;
}

static bool removes(const struct cmd *c)
{
	static const char words[] =
		"delete remove purge wipe nuke erase destroy clean cleaner rm srm trash trashit shred";
	bool found = str_in(c->name, words);

	for (size_t i = 1; i < c->n && !found; i++)
		found = str_in(c->v[i], words) || (str_starts(c->v[i], STR("--")) && is_part(c->v[i], words));
	return found;
}

static bool is_path(str word)
{
	return word.n && word.n < 4096 && (str_find_char(word, '/') >= 0 || word.p[0] == '.' || word.p[0] == '~');
}

/* The value within an option: --file=x, -fx. */
static str value_in(str word)
{
	ptrdiff_t eq = str_find_char(word, '=');

	if (!word.n || word.p[0] != '-')
		return eq > 0 ? str_from(word, (size_t)eq + 1) : word;
	return eq > 0 ? str_from(word, (size_t)eq + 1) : word.n > 2 && word.p[1] != '-' ? str_from(word, 2) : STR("");
}

/* What it is given belongs to the command that it runs. */
static bool runs_others(const struct descriptor *d)
{
	for (size_t f = 0; f <= d->nforms; f++) {
		const struct form *form = f < d->nforms ? &d->forms[f] : &d->base;

		if (form->behind_dashes)
			return true;
		for (size_t i = 0; i < form->noperands; i++)
			if (form->operands[i].role == ROLE_COMMAND || form->operands[i].role == ROLE_WORDS)
				return true;
	}
	return false;
}

void judge_unfamiliar(struct run *x, struct cmd *c)
{
	enum { LOOKED_AT = 64 };
	const struct descriptor *d = descriptor_of(c->name);
	bool removing;

	if (c->n < 2 || x->contained || (d ? d->touch != TOUCH_UNKNOWN || runs_others(d) : user_knows(x, c->name)))
		return;
	if (!d)
		judge_commands(x, c);
	removing = !d && removes(c);
	for (size_t i = 1; i < c->n && i < LOOKED_AT && spend(x, 1); i++) {
		str value = value_in(c->v[i]);

		/* --env-file .env, --tls-key server.key: what such files are for */
		str option = value.n < c->v[i].n ? str_head(c->v[i], c->v[i].n - value.n) : c->v[i - 1];

		if (is_path(value))
			judge_given(x, c, value, is_part(option, given_secrets), d != NULL);
		if (removing && is_path(value) && c->v[i].p[0] != '-')
			judge_removal(x, c, value);
	}
}
