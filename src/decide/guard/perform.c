/* perform: what a command does according to its descriptor. Its words are walked once; each value and operand is judged
 * by what it is to the program. */
#include "guard/descriptor.h"

struct doing {
	struct run *x;
	struct cmd *c;
	const struct descriptor *d;
	const struct form *form;
	struct args args;
	size_t operand;    /* number of the next one */
	bool ran;          /* a command was found and run */
	bool over;         /* the rest of the words belong to it */
	struct state here; /* before anything was changed for what it runs */
};

struct args args_of(const struct cmd *c)
{
	const struct descriptor *d = descriptor_of(c->name);

	return d ? (struct args){ .c = c, .shorts = d->base.shorts, .longs = d->base.longs, .single = d->base.single }
		 : (struct args){ .c = c };
}

/* -- running ----------------------------------------------------------------------------------- */

/* The command line of a request: commands=["…"], {"commands": ["…"]}. */
static str without_json(struct run *x, str value)
{
	ptrdiff_t at = str_find(value, STR("ommands"));

	if (at < 0 || at > 3)
		return value;
	value = str_from(value, (size_t)at + 7);
	return map_tr(x->a, value, STR("=[]{}:\",'"), STR("  ;;    ; "), false);
}

/* Words for a shell; the keys of a terminal that end a line are among them. */
static str words_from(struct run *x, const struct cmd *c, size_t at)
{
	struct text t = { .a = x->a };

	for (size_t i = at; i < c->n; i++) {
		if (str_in(c->v[i], "Enter C-m")) {
			text_char(&t, '\n');
			continue;
		}
		if (i > at)
			text_char(&t, ' ');
		text_add(&t, c->v[i]);
	}
	return text_str(&t);
}

static void run_it(struct doing *p, enum role role, str text, size_t at)
{
	struct run *x = p->x;
	struct cmd *c = p->c;
	bool remote = x->remote, elevated = x->elevated;

	x->elevated |= (p->form->as & AS_ROOT) != 0;
	if (p->form->as & AS_REMOTE) {
		x->remote = true;
		x->st.cwd = x->c->home;
	}
	if (role == ROLE_COMMAND)
		c->out = run_argv(x, c->v + at, c->n - at, c->in);
	else
		c->out = run_child_text(x, role == ROLE_WORDS ? words_from(x, c, at) : without_json(x, text),
			p->form->as & AS_REMOTE ? STR_NONE : c->in);
	x->remote = remote;
	x->elevated = elevated;
	p->ran = true;
}

/* -- roles ------------------------------------------------------------------------------------- */

static bool is_assignment(str word)
{
	ptrdiff_t eq = str_find_char(word, '=');

	return eq > 0 && str_find_char(str_head(word, (size_t)eq), '/') < 0;
}

/* at: where the words behind it begin, for roles that take the rest. */
static void do_role(struct doing *p, struct role_use use, str value, size_t at)
{
	struct run *x = p->x;
	struct cmd *c = p->c;

	switch (use.role) {
	case ROLE_DIRECTORY: x->st.cwd = path_resolve(x, value); break;
	case ROLE_COMMAND:
	case ROLE_WORDS: p->over = true; __attribute__((fallthrough));
	case ROLE_SHELL: run_it(p, use.role, value, at); break;
	case ROLE_CODE: (void)run_code(x, use.language, value, STR_NONE); break;
	case ROLE_SQL: judge_sql(x, c, value); break;
	case ROLE_SQL_FILE: judge_sql(x, c, fs_content(x, path_resolve(x, value))); break;
	case ROLE_READS: judge_read(x, c, value); break;
	case ROLE_WRITES: judge_write(x, c, value, STR("\1"), false); break;
	case ROLE_EDITS: judge_edit(x, c, map_tr(x->a, value, STR("*?"), STR("\2\3"), false)); break;
	case ROLE_DELETES: judge_delete(x, c, value, false); break;
	case ROLE_TREE: judge_delete(x, c, value, true); break;
	case ROLE_SENDS: judge_send(x, c, value); break;
	case ROLE_VALUE:
	case ROLE_ASSIGNMENTS:
	case ROLE_MAX: break;
	}
}

static const struct option_use *find_option(const struct form *f, const struct arg *a)
{
	for (size_t i = 0; i < f->noptions; i++)
		if (f->options[i].letter ? a->letter == f->options[i].letter
					 : !a->letter && str_eq(a->name, f->options[i].name))
			return &f->options[i];
	/* Abbreviated, as getopt allows. */
	for (size_t i = 0; i < f->noptions; i++)
		if (!a->letter && a->name.n >= 3 && str_starts(f->options[i].name, a->name))
			return &f->options[i];
	return NULL;
}

static void do_option(struct doing *p, const struct arg *a)
{
	const struct option_use *o = find_option(p->form, a);

	if (!o && p->form != &p->d->base)
		o = find_option(&p->d->base, a);
	if (o && (o->use.role == ROLE_COMMAND || str_is_set(a->value)))
		do_role(p, o->use, a->value, p->args.i);
}

static bool has_shell_option(const struct form *f)
{
	for (size_t i = 0; i < f->noptions; i++)
		if (f->options[i].use.role == ROLE_SHELL)
			return true;
	return false;
}

static void do_operand(struct doing *p, const struct arg *a)
{
	const struct form *f = p->form;
	struct role_use use = { .role = ROLE_VALUE };

	if (p->operand < f->noperands)
		use = f->operands[p->operand];
	else if (f->goes_on)
		use = f->operands[f->noperands - 1];
	if (use.role == ROLE_ASSIGNMENTS) {
		ptrdiff_t eq = str_find_char(a->value, '=');

		if (is_assignment(a->value)) {
			var_set(p->x, str_head(a->value, (size_t)eq), str_from(a->value, (size_t)eq + 1));
			return;
		}
		p->operand++;
		do_operand(p, a);
		return;
	}
	p->operand++;
	if (use.role == ROLE_VALUE && has_shell_option(f)) /* su USER -c … */
		p->args.no_more = false;
	do_role(p, use, a->value, a->at);
}

static void do_input(struct doing *p)
{
	const struct form *f = p->form;
	struct cmd *c = p->c;

	if (p->ran || !str_is_set(c->in) || (f->input_when && !row_matches(c, f->input_when)))
		return;
	if (f->input.role == ROLE_SHELL)
		run_it(p, ROLE_SHELL, c->in, c->n);
	else
		do_role(p, f->input, c->in, c->n);
}

static size_t behind_dashes(const struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (str_in(c->v[i], "-- --args"))
			return i + 1;
	return c->n;
}

static void walk(struct doing *p)
{
	struct arg a;

	while (!p->over && args_next(&p->args, &a)) {
		if (a.operand)
			do_operand(p, &a);
		else
			do_option(p, &a);
	}
}

static const struct form *form_of(const struct cmd *c, const struct descriptor *d)
{
	for (size_t i = 0; i < d->nforms; i++)
		if (row_matches(c, d->forms[i].when))
			return &d->forms[i];
	return &d->base;
}

void perform(struct run *x, struct cmd *c, const struct descriptor *d)
{
	const struct form *f = form_of(c, d);
	struct doing p = { .x = x, .c = c, .d = d, .form = f, .here = x->st };
	size_t dashes = f->behind_dashes ? behind_dashes(c) : c->n;

	p.args =
		(struct args){ .c = c, .shorts = f->shorts, .longs = f->longs, .posix = f->posix, .single = f->single };
	if (dashes < c->n)
		run_it(&p, ROLE_COMMAND, STR_NONE, dashes);
	else if (f->noptions || f->noperands || d->base.noptions)
		walk(&p);
	do_input(&p);
	x->st = p.here;
	for (size_t i = 0; i < d->nrules; i++)
		judge_program_rule(x, c, &d->rules[i]);
}
