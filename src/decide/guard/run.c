/* run: walks the tree as the shell would, without doing anything: what each simple command resolves
 * to is judged, and what it would print is passed on to its reader. */
#include <errno.h>

#include "guard/descriptor.h"
#include "guard/redirect.h"

enum {
	LOOP_MAX = 512,   /* turns of a loop that are followed */
	NUMBERS_MAX = 32, /* of those over plain numbers, which differ in nothing that matters */
	CALLS_MAX = 12,   /* functions within functions */
	AGAIN_MAX = 6,    /* the same one, each time with other arguments */
};

static bool is_number(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static str run_list(struct run *x, const struct shell_node *n);

/* -- branches --------------------------------------------------------------------------------- */

/* After two ways that both may have been taken: what they disagree about is not known. */
static void state_join(struct run *x, const struct state *base, const struct state *one, const struct state *two)
{
	struct state joined = *two;

	x->st = joined;
	for (const struct state *s = one; s; s = s == one ? two : NULL)
		for (const struct fact *f = s->facts; f && f != base->facts; f = f->next) {
			const struct fact *a, *b;

			if (!spend(x, 2))
				return;
			if (f->kind != FACT_VAR) {
				if (s == one) { /* a function or alias of the one way may be there
						   too */
					struct fact *copy = arena_new(x->a, struct fact);

					*copy = *f;
					copy->next = x->st.facts;
					x->st.facts = copy;
				}
				continue;
			}
			a = fact_find(x, one->facts, FACT_VAR, f->key);
			b = fact_find(x, two->facts, FACT_VAR, f->key);
			if (!a || !b || !str_eq(a->value, b->value))
				var_set(x, f->key, STR("\1"));
		}
	if (!str_eq(one->cwd, two->cwd))
		x->st.cwd = STR("\1");
}

/* A command that ends the shell or the loop: what follows runs only when it did not. */
static bool leaves(const struct shell_node *n)
{
	while (n && (n->kind == SHELL_LIST || n->kind == SHELL_GROUP)) {
		n = n->kind == SHELL_GROUP ? n->body : n->children;
		while (n && n->next)
			n = n->next;
	}
	if (!n || n->kind != SHELL_SIMPLE || !n->words || !n->words->parts || n->words->parts->kind != SHELL_TEXT)
		return false;
	return str_in(n->words->parts->text, "exit return break continue die abort fail");
}

static str run_in_subshell(struct run *x, const struct shell_node *n)
{
	struct state saved = x->st;
	str out = run_node(x, n);

	x->st = saved;
	return out;
}

static str join_out(struct run *x, str a, str b)
{
	struct text t = { .a = x->a };

	if (!a.n)
		return b;
	if (!b.n || (str_eq(a, b) && str_eq(a, STR("\1"))))
		return a;
	text_add(&t, a);
	text_add(&t, b);
	return text_str(&t);
}

/* A directory that cd may not find; what this command has just made is there. */
static bool may_fail(struct run *x, const struct state *before, str made)
{
	str cwd = x->st.cwd;

	return !str_eq(cwd, before->cwd) && !path_below(before->cwd, cwd) && !str_eq(cwd, x->c->home) &&
		!str_in(cwd, "/tmp /") && !str_eq(cwd, before->oldcwd) && !str_eq(cwd, made) && !x->st.errexit &&
		!path_is_dynamic(before->cwd) && path_presence(x, cwd) != PRESENCE_THERE;
}

/* cd DIR; rm -rf *: what follows runs where the shell was, if there is no DIR. */
static void note_cd(struct run *x, const struct shell_node *c, const struct state *before, str made, str *failed)
{
	if (c->kind == SHELL_SIMPLE && may_fail(x, before, made))
		*failed = before->cwd;
	if (!str_is_set(*failed) || c->then == SHELL_THEN_AND)
		return;
	if (c->then != SHELL_THEN_OR || (c->next && !leaves(c->next)))
		x->st.stays = *failed;
	*failed = STR_NONE;
}

static str run_list(struct run *x, const struct shell_node *n)
{
	str made = STR_NONE, failed = STR_NONE;
	enum shell_then before = SHELL_THEN_SEMI;
	struct text all = { .a = x->a }; /* grows in place: a list may be long */
	str out = STR("");

	for (const struct shell_node *c = n->children; c; c = c->next) {
		struct state saved = x->st;
		str got;

		if (!spend(x, 2))
			return STR("\1");
		if (c->then == SHELL_THEN_BACKGROUND) {
			x->forks++;
			got = run_in_subshell(x, c);
			x->forks--;
		} else {
			got = run_node(x, c);
		}
		note_cd(x, c, &saved, made, &failed);
		made = str_in(x->last_name, "mkdir") ? path_resolve(x, x->last_arg) : STR_NONE;
		if (before == SHELL_THEN_OR) {
			struct state after = x->st;

			if (leaves(c))
				x->st = saved;
			else
				state_join(x, &saved, &saved, &after);
		}
		if (out.n && got.n && !(str_eq(out, got) && str_eq(out, STR("\1")))) {
			if (!all.n)
				text_add(&all, out);
			text_add(&all, got);
			out = text_str(&all);
		} else if (got.n) {
			out = got;
		}
		before = c->then;
	}
	return out;
}

/* -- pipelines -------------------------------------------------------------------------------- */

static bool is_shell_name(str name)
{
	return str_in(name, "sh bash dash zsh ksh mksh ash fish rbash");
}

/* docker login --password-stdin: a secret that is piped into it is not printed. */
static bool takes_secret(struct run *x, const struct shell_node *n)
{
	if (!n || n->kind != SHELL_SIMPLE || n->next)
		return false;
	for (const struct shell_word *w = n->words; w && spend(x, 1); w = w->next)
		if (str_in(shell_word_literal(x->a, w), "--password-stdin --with-token --token-stdin --passphrase-fd"))
			return true;
	return false;
}

static str run_pipeline(struct run *x, const struct shell_node *n)
{
	bool shell_before = false, logs_in = x->logs_in;
	str in = x->in, out = STR("");

	x->forks++;
	for (const struct shell_node *c = n->children; c; c = c->next) {
		if (!spend(x, 2))
			break;
		x->last_name = STR("");
		x->logs_in = takes_secret(x, c->next);
		out = run_in_subshell(x, c);
		if (shell_before && str_in(x->last_name, "nc ncat netcat socat telnet openssl busybox"))
			FAULT(x, NULL, RULE_NET_SHELL, VERDICT_DENY, "this connects a shell to another machine");
		shell_before |= is_shell_name(x->last_name);
		x->in = out;
	}
	x->forks--;
	x->in = in;
	x->logs_in = logs_in;
	return out;
}

/* -- loops and branches ----------------------------------------------------------------------- */

static str run_if(struct run *x, const struct shell_node *n)
{
	struct state base, one, two;
	str out = run_node(x, n->condition);

	base = x->st;
	out = join_out(x, out, run_node(x, n->body));
	one = x->st;
	x->st = base;
	if (n->otherwise)
		out = join_out(x, out, run_node(x, n->otherwise));
	two = x->st;
	if (leaves(n->body))
		x->st = two;
	else if (n->otherwise && leaves(n->otherwise))
		x->st = one;
	else
		state_join(x, &base, &one, &two);
	return out;
}

static str run_for(struct run *x, const struct shell_node *n)
{
	struct fields items = { 0 };
	str out = STR("");

	if (n->has_words)
		expand_words(x, n->words, &items);
	else
		items = x->st.args;
	for (size_t i = 0, turns = 0; i < items.n && spend(x, 2); i++) {
		if (i >= NUMBERS_MAX && is_number(items.v[i]))
			continue;
		if (turns++ == LOOP_MAX) {
			reach_cap(x, "turns of a loop");
			break;
		}
		var_set(x, n->name, items.v[i]);
		out = join_out(x, out, run_node(x, n->body));
	}
	return out;
}

static str run_while(struct run *x, const struct shell_node *n)
{
	str out = STR("");

	for (unsigned i = 0; spend(x, 2); i++) {
		str in = x->in;

		if (i == LOOP_MAX) {
			reach_cap(x, "turns of a loop");
			break;
		}
		out = join_out(x, out, run_node(x, n->condition));
		out = join_out(x, out, run_node(x, n->body));
		/* Again only when the loop read a line of what is known, and there is more. */
		if (!x->in.n || (x->in.p == in.p && x->in.n == in.n))
			break;
	}
	return out;
}

static str run_case(struct run *x, const struct shell_node *n)
{
	const struct guard_watcher *watcher = x->watcher;
	struct state base, last;
	struct fields subject = { 0 };
	str out = STR("");

	expand_words(x, n->words, &subject);
	base = last = x->st;
	for (const struct shell_case *c = n->cases; c && spend(x, 2); c = c->next) {
		struct fields patterns = { 0 };
		struct state one;

		x->st = base;
		x->watcher = NULL; /* patterns for texts, not for files */
		expand_words(x, c->patterns, &patterns);
		x->watcher = watcher;
		out = join_out(x, out, run_node(x, c->body));
		one = x->st;
		state_join(x, &base, &one, &last);
		last = x->st;
	}
	return out;
}

static void define_function(struct run *x, const struct shell_node *n)
{
	struct fact *f = arena_new(x->a, struct fact);

	*f = (struct fact){ .next = x->st.facts, .kind = FACT_FUNCTION, .key = n->name, .body = n->body };
	x->st.facts = f;
	if (is_called_by_shell(n->name))
		(void)run_in_subshell(x, n->body);
}

/* What is written to it later is read by its command. */
static str run_coproc(struct run *x, const struct shell_node *n)
{
	static str ends[] = { { "58", 2 }, { "59", 2 } };
	static const struct fields pipe = { .v = ends, .n = 2, .cap = 2 };
	struct fact *sink = arena_new(x->a, struct fact);

	*sink = (struct fact){ .next = x->fs, .kind = FACT_SINK, .key = STR("/dev/fd/59"), .body = n->body };
	x->fs = sink;
	array_set(x, n->name.n ? n->name : STR("COPROC"), &pipe);
	return run_in_subshell(x, n->body);
}

static str run_compound(struct run *x, const struct shell_node *n)
{
	struct fields words = { 0 };

	switch (n->kind) {
	case SHELL_LIST: return run_list(x, n);
	case SHELL_PIPELINE: return run_pipeline(x, n);
	case SHELL_SUBSHELL: return run_in_subshell(x, n->body);
	case SHELL_GROUP: return run_node(x, n->body);
	case SHELL_IF: return run_if(x, n);
	case SHELL_WHILE: return run_while(x, n);
	case SHELL_FOR: return run_for(x, n);
	case SHELL_CASE: return run_case(x, n);
	case SHELL_FUNCTION: define_function(x, n); return STR("");
	case SHELL_COPROC: return run_coproc(x, n);
	case SHELL_FOR_ARITH: run_computed(x, expand_one(x, n->words)); return run_node(x, n->body);
	case SHELL_TEST:
		expand_words(x, n->words, &words);
		run_tested(x, &words);
		return STR("");
	case SHELL_ARITH_COMMAND:
		expand_words(x, n->words, &words);
		run_computed(x, fields_join(x->a, words.v, words.n, ' '));
		return STR("");
	default: return STR("");
	}
}

/* -- simple commands -------------------------------------------------------------------------- */

/* name[key]=value: the next item of a list, or one that keeps its key as in name=([key]=value). */
static void assign_item(struct run *x, str name, str key, str value)
{
	const struct fact *f = fact_find(x, x->st.facts, FACT_ARRAY, name);
	struct fields *items = arena_new(x->a, struct fields);
	int64_t at;

	*items = (struct fields){ 0 };
	for (size_t i = 0; f && i < f->items->n && spend(x, 1); i++)
		fields_add(x->a, items, f->items->v[i]);
	fields_add(x->a, items,
		str_to_int(key, &at) && at == (int64_t)items->n
			? value
			: arena_strf(x->a, "[" STR_FMT "]=" STR_FMT, STR_ARG(key), STR_ARG(value)));
	array_set(x, name, items);
}

static void assign(struct run *x, const struct shell_assign *s)
{
	str value, old;

	if (s->array) {
		struct fact *f = arena_new(x->a, struct fact);
		struct fields *items = arena_new(x->a, struct fields);
		const struct fact *before = s->append ? fact_find(x, x->st.facts, FACT_ARRAY, s->name) : NULL;

		for (size_t i = 0; before && i < before->items->n; i++)
			fields_add(x->a, items, before->items->v[i]);
		expand_words(x, s->value, items);
		*f = (struct fact){ .next = x->st.facts, .kind = FACT_ARRAY, .key = s->name, .items = items };
		x->st.facts = f;
		return;
	}
	value = s->value ? expand_one(x, s->value) : STR("");
	if (s->append) {
		old = var_get(x, s->name);
		value = join_out(x, str_is_set(old) ? old : STR(""), value);
	}
	if (s->index) {
		assign_item(x, s->name, expand_one(x, s->index), value);
		return;
	}
	var_set(x, s->name, value);
}

static bool same_args(const struct fields *args, const str *v, size_t n)
{
	if (args->n != n - 1)
		return false;
	for (size_t i = 1; i < n; i++)
		if (!str_eq(args->v[i - 1], v[i]))
			return false;
	return true;
}

static str run_function(struct run *x, const struct fact *f, const str *v, size_t n)
{
	struct calling here = { .up = x->calls, .body = f->body, .forks = x->forks };
	struct state saved = x->st;
	struct fields args;
	str out;
	unsigned same = 0, deep = 0;

	for (const struct calling *c = x->calls; c; c = c->up, deep++) {
		if (c->body != f->body)
			continue;
		if (x->forks > c->forks) {
			FAULT(x, NULL, RULE_FORKBOMB, VERDICT_DENY,
				"this function starts itself again and again in the background "
				"until the machine stops");
			return STR("");
		}
		if (same++ && same_args(c->args, v, n))
			return STR("\1"); /* it has been followed with these */
	}
	if (same > AGAIN_MAX || deep > CALLS_MAX) {
		reach_cap(x, "functions that call functions");
		return STR("\1");
	}
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = 1; i < n; i++)
		fields_add(x->a, &x->st.args, v[i]);
	args = x->st.args;
	here.args = &args;
	x->calls = &here;
	out = run_node(x, f->body);
	x->calls = here.up;
	x->st.args = saved.args;
	x->st.args_given = saved.args_given;
	return out;
}

static str quoted_word(struct run *x, str s)
{
	struct text t = { .a = x->a };

	if (has_mark(s, "\2\3"))
		return text_for_shell(x->a, s);
	text_char(&t, '\'');
	for (size_t i = 0; i < s.n; i++)
		text_add(&t, s.p[i] == '\'' ? STR("'\\''") : str_n(s.p + i, 1));
	text_char(&t, '\'');
	return text_str(&t);
}

static str run_alias(struct run *x, const struct fact *alias, const struct fields *f)
{
	struct text t = { .a = x->a };

	text_add(&t, alias->value);
	for (size_t i = 1; i < f->n; i++) {
		text_char(&t, ' ');
		text_add(&t, quoted_word(x, f->v[i]));
	}
	return run_text(x, text_str(&t));
}

/* Functions and aliases come before programs. An alias that names itself ends there, as in the
 * shell. */
static str run_fields(struct run *x, const struct shell_node *n, struct fields *f, struct cmd *c)
{
	const struct fact *known;

	known = fact_find(x, x->st.facts, FACT_FUNCTION, f->v[0]);
	if (known)
		return run_function(x, known, f->v, f->n);
	known = x->st.facts && !descriptor_of(str_base(f->v[0]))
		? fact_find(x, x->st.facts, FACT_FUNCTION, STR("command_not_found_handle"))
		: NULL;
	if (known) {
		struct fields all = { 0 };

		fields_add(x->a, &all, known->key);
		for (size_t i = 0; i < f->n; i++)
			fields_add(x->a, &all, f->v[i]);
		(void)run_function(x, known, all.v, all.n);
	}
	known = n->words->was_quoted ? NULL : fact_find(x, x->st.facts, FACT_ALIAS, f->v[0]);
	if (known && x->depth >= DEPTH_MAX)
		(void)spend(x, UINT32_MAX);
	if (known) {
		struct fact *facts = x->st.facts;
		struct fact *hide = arena_new(x->a, struct fact);
		str out;

		*hide = (struct fact){ .next = facts, .kind = FACT_ALIAS, .key = known->key, .value = known->key };
		if (str_eq(known->value, known->key))
			return run_cmd(x, c);
		x->st.facts = hide;
		out = run_alias(x, known, f);
		return out;
	}
	return run_cmd(x, c);
}

/* NAME=value before a command are the command's own; what it set itself stays: IFS= read -r line. */
static void drop_assigned(struct run *x, const struct fact *own, struct fact *before)
{
	struct fact *first = before, **tail = &first;
	const struct fact *f = x->st.facts;

	for (; f && f != own && f != before && spend(x, 1); f = f->next) {
		struct fact *copy = arena_new(x->a, struct fact);

		*copy = *f;
		*tail = copy;
		tail = &copy->next;
	}
	*tail = before;
	x->st.facts = f == own ? first : before;
}

/* jq . x > x: the shell empties the file before the command reads it. */
static void judge_own_input(struct run *x, const struct cmd *c, const struct joint *j)
{
	const struct descriptor *d = j->outs ? descriptor_of(c->name) : NULL;

	if (!d || d->touch != TOUCH_SHOWS)
		return;
	for (const struct joint_out *o = j->outs; o; o = o->next) {
		bool pattern = d->pattern_first;
		str path = path_resolve(x, o->path);
		enum place place = place_of(x, path);

		if (o->append || !o->output || place == PLACE_NULL || place == PLACE_TEMP || has_mark(path, MARKS_ANY))
			continue;
		for (size_t i = 1; i < c->n && spend(x, 2); i++) {
			if (!c->v[i].n || c->v[i].p[0] == '-')
				continue;
			if (!pattern && str_eq(path_resolve(x, c->v[i]), path))
				FAULT(x, c, RULE_TRUNCATE, place == PLACE_IN_HOME ? VERDICT_DENY : VERDICT_ASK,
					"this empties " STR_FMT " before it is read", STR_ARG(path));
			pattern = false;
		}
	}
}

static bool is_from_outside(struct run *x, const struct shell_word *w)
{
	const struct shell_part *p = w ? w->parts : NULL;

	return p && !p->next && p->kind == SHELL_PARAM && p->op == SHELL_OP_NONE && !p->index && !p->indirect &&
		!str_is_set(var_get(x, p->name));
}

static str run_simple(struct run *x, const struct shell_node *n, struct joint *j)
{
	struct fact *facts = x->st.facts;
	struct fields f = { 0 };
	struct cmd c = { 0 };
	str out;

	expand_words(x, n->words, &f);
	for (const struct shell_assign *s = n->assigns; s; s = s->next)
		assign(x, s);
	for (const struct shell_assign *s = f.n ? NULL : n->assigns; s; s = s->next)
		judge_own_assignment(x, s->name);
	if (!f.n)
		return STR("");
	c = (struct cmd){ .v = f.v,
		.n = f.n,
		.in = x->in,
		.env = x->st.facts,
		.env_end = facts,
		.net_in = j->net_in,
		.net_out = j->net_out,
		.from_outside = is_from_outside(x, n->words) };
	out = run_fields(x, n, &f, &c);
	if (j->taken && j->outs && place_of(x, path_resolve(x, j->outs->path)) != PLACE_NULL &&
		(str_eq(c.name, STR("yes")) ||
			(str_eq(c.name, STR("cat")) && f.n > 1 &&
				str_in(f.v[1], "/dev/zero /dev/urandom /dev/random"))))
		FAULT(x, &c, RULE_DISKFILL, VERDICT_ASK, "this writes until the disk is full");
	judge_own_input(x, &c, j);
	if (n->assigns)
		drop_assigned(x, c.env, facts);
	x->last_arg = f.v[f.n - 1];
	return out;
}

str run_node(struct run *x, const struct shell_node *n)
{
	str in = x->in, out;
	struct joint j = { 0 };
	bool simple = n->kind == SHELL_SIMPLE;

	if (!n || !spend(x, 1))
		return STR("\1");
	if (simple && !x->inner) {
		x->begin = n->begin;
		x->end = n->end;
	}
	if (n->redirects)
		redirect_begin(x, n->redirects, &j);
	out = simple ? run_simple(x, n, &j) : run_compound(x, n);
	if (n->redirects)
		out = redirect_end(x, &j, out);
	if (n->redirects)
		x->in = in;
	return out;
}

/* -- texts ------------------------------------------------------------------------------------ */

/* What a text is that the shell itself would not take. */
static void unparsed(struct run *x, str text, const struct err *err)
{
	bool big = err->code == -E2BIG;

	if (has_mark(text, "\4"))
		FAULT(x, NULL, RULE_NET_EXEC, VERDICT_DENY, "this runs text from the network as a command");
	if (x->maybe && !big)
		return;
	x->unread = true;
	x->unread_in = x->file;
	FAULT(x, NULL, big ? RULE_BUDGET : RULE_EXEC_UNPARSED, VERDICT_ASK,
		big ? "this command is too large or too deeply nested to be checked (%s), so a "
		      "person should look at it"
		    : "hookd cannot tell what this command does: the shell would not understand it "
		      "(%s)",
		err->text);
}

static str run_parsed(struct run *x, str text, bool inner)
{
	struct shell_limits limits = shell_default_limits;
	struct shell_node *tree;
	struct err err = { 0 };
	bool was = x->inner;
	size_t at;
	str out;

	/* A long text within a text is read again at every level. */
	if (x->depth >= DEPTH_MAX || !spend(x, 4 + (unsigned)(x->depth && text.n > 8192 ? text.n : text.n / 64))) {
		(void)spend(x, UINT32_MAX);
		return STR("\1");
	}
	text = text_for_shell(x->a, text);
	if (shell_parse(x->a, text, &limits, &tree, &at, &err) < 0) {
		unparsed(x, text, &err);
		return STR("\1");
	}
	x->inner = inner;
	x->depth++;
	out = run_node(x, tree);
	x->depth--;
	x->inner = was;
	return out;
}

str run_text(struct run *x, str text)
{
	return run_parsed(x, text, x->depth > 0);
}

str run_script(struct run *x, str text, str file)
{
	str was = x->file, out;

	x->file = file;
	out = run_parsed(x, text, /* inner= */ false);
	x->file = was;
	return out;
}

str run_child_text(struct run *x, str text, str in)
{
	struct state saved = x->st;
	str old_in = x->in, out;

	x->in = in;
	out = run_text(x, text);
	x->in = old_in;
	x->st = saved;
	return out;
}

str run_argv(struct run *x, str *v, size_t n, str in)
{
	struct cmd c = { .v = v, .n = n, .in = in, .env = x->st.facts, .env_end = x->st.facts };
	str old_in = x->in, out;

	if (!n)
		return STR("");
	if (x->depth >= DEPTH_MAX) {
		(void)spend(x, UINT32_MAX);
		return STR("\1");
	}
	x->in = in;
	x->depth++;
	out = run_cmd(x, &c);
	x->depth--;
	x->in = old_in;
	return out;
}
