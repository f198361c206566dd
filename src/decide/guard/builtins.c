/* builtins: what belongs to the shell itself: cd, eval, source, export, trap … They change what is
 * known. */
#include "guard/internal.h"

static str first_operand(const struct cmd *c, const char *shorts)
{
	struct args it = { .c = c, .shorts = shorts };
	struct arg a;

	while (args_next(&it, &a))
		if (a.operand)
			return a.value;
	return STR_NONE;
}

static void go_to(struct run *x, str cwd)
{
	x->st.oldcwd = x->st.cwd;
	x->st.cwd = cwd;
}

static void do_cd(struct run *x, struct cmd *c)
{
	str dir = first_operand(c, "");
	bool pushd = str_eq(c->name, STR("pushd")), popd = str_eq(c->name, STR("popd"));

	c->out = STR("");
	if (popd || (pushd && !str_is_set(dir)) || (c->n > 1 && str_eq(c->v[1], STR("-"))))
		go_to(x, x->st.oldcwd.n ? x->st.oldcwd : STR("\1"));
	else
		go_to(x, path_resolve(x, str_is_set(dir) ? dir : x->c->home));
}

static void do_eval(struct run *x, struct cmd *c)
{
	size_t from = c->n > 1 && str_eq(c->v[1], STR("--")) ? 2 : 1;

	str text = from < c->n ? fields_join(x->a, c->v + from, c->n - from, ' ') : STR("");

	if (str_find_char(text, '\x1f') >= 0)
		text = map_tr(x->a, text, STR("\x1f"), STR(" "), false);
	c->out = text.n ? run_text(x, text) : STR("");
}

/* Whoever sources a file that is not known runs a script of the project, which is ordinary. */
static void do_source(struct run *x, struct cmd *c)
{
	struct state saved = x->st;
	str path, text;
	const struct script_read *before;

	c->out = STR("\1");
	if (c->n < 2)
		return;
	x->found_on_disk = STR_NONE;
	path = path_resolve(x, c->v[1]);
	if (str_in(path, "/dev/stdin /dev/fd/0 /proc/self/fd/0"))
		text = str_is_set(c->in) ? c->in : STR("");
	else if (watch_script(x, c, path, 1, GUARD_SOURCED))
		return;
	else if (!script_known_at(x, path, &text)) {
		if (has_mark(c->v[1], "\4"))
			FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
		if (secrecy_of(x, path) == SECRET_KEY)
			judge_read(x, c, c->v[1]);
		if (str_eq(str_base(c->v[1]), STR("\1")))
			FAULT(x, c, RULE_EXEC_DYNAMIC, VERDICT_ASK,
				"hookd cannot tell which script this runs: its name is only known "
				"when it runs");
		return;
	}
	for (size_t i = 2; i < c->n; i++) {
		if (i == 2)
			x->st.args = (struct fields){ 0 };
		fields_add(x->a, &x->st.args, c->v[i]);
	}
	before = script_enter(x);
	c->out = run_text(x, text);
	script_leave(x, before);
	x->st.args = saved.args;
}

/* name=(…) as expand.c leaves it: items between brackets, a unit separator between them. */
static bool declare_array(struct run *x, str name, str value)
{
	struct fields *items;
	str item;

	if (value.n < 2 || value.p[0] != '(' || value.p[value.n - 1] != ')')
		return false;
	items = arena_new(x->a, struct fields);
	*items = (struct fields){ 0 };
	value = str_n(value.p + 1, value.n - 2);
	while (str_split(&value, '\x1f', &item) && spend(x, 1))
		if (item.n)
			fields_add(x->a, items, item);
	array_set(x, name, items);
	return true;
}

/* export, declare, local, readonly, typeset: their words are assignments. */
static void do_declare(struct run *x, struct cmd *c)
{
	size_t set = 0;
	bool refers = !str_in(c->name, "export readonly") && cmd_has(c, "-n");

	c->out = STR("");
	for (size_t i = 1; i < c->n; i++) {
		ptrdiff_t eq = str_find_char(c->v[i], '=');
		str name;

		if (c->v[i].n && c->v[i].p[0] == '-')
			continue;
		set++;
		if (eq <= 0)
			continue;
		name = str_head(c->v[i], (size_t)eq - (c->v[i].p[eq - 1] == '+'));
		if (refers) {
			var_refer(x, name, str_from(c->v[i], (size_t)eq + 1));
			continue;
		}
		if (!declare_array(x, name, str_from(c->v[i], (size_t)eq + 1)))
			var_set(x, name, str_from(c->v[i], (size_t)eq + 1));
		if (str_in(c->name, "export") || cmd_has(c, "-x"))
			judge_exported(x, c, name, str_from(c->v[i], (size_t)eq + 1));
	}
	if (!set && !cmd_has(c, "-f") && !cmd_has(c, "-F") && !cmd_has(c, "-n") && !str_in(c->name, "local")) {
		c->out = STR("\5");
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints every variable, secrets included");
	}
}

static void do_set(struct run *x, struct cmd *c)
{
	c->out = STR("");
	if (c->n == 1) {
		c->out = STR("\5");
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints every variable, secrets included");
		return;
	}
	for (size_t i = 1; i < c->n; i++) {
		if (!str_eq(c->v[i], STR("--")) && c->v[i].n && (c->v[i].p[0] == '-' || c->v[i].p[0] == '+')) {
			x->st.errexit |= c->v[i].p[0] == '-' && str_find_char(c->v[i], 'e') > 0;
			if (str_ends(c->v[i], STR("o")))
				i++;
			continue;
		}
		i += str_eq(c->v[i], STR("--"));
		x->st.args = (struct fields){ 0 };
		x->st.args_given = true;
		for (; i < c->n; i++)
			fields_add(x->a, &x->st.args, c->v[i]);
	}
}

static void do_shift(struct run *x, struct cmd *c)
{
	int64_t n = 1;

	c->out = STR("");
	if (c->n > 1 && !str_to_int(c->v[1], &n))
		n = 1;
	if (n > 0 && (size_t)n <= x->st.args.n) {
		x->st.args.v += n;
		x->st.args.n -= (size_t)n;
		x->st.args.cap = x->st.args.n;
	}
}

static void do_unset(struct run *x, struct cmd *c)
{
	c->out = STR("");
	for (size_t i = 1; i < c->n; i++)
		if (c->v[i].n && c->v[i].p[0] != '-')
			var_set(x, c->v[i], str_eq(c->v[i], STR("IFS")) ? STR(" \t\n") : STR(""));
}

static void do_trap(struct run *x, struct cmd *c)
{
	size_t i = 1;

	c->out = STR("");
	while (i < c->n && str_in(c->v[i], "-- -p -l"))
		i++;
	if (i + 1 < c->n && c->v[i].n && !str_eq(c->v[i], STR("-")))
		(void)run_child_text(x, c->v[i], STR_NONE);
}

static void do_alias(struct run *x, struct cmd *c)
{
	c->out = STR("");
	for (size_t i = 1; i < c->n; i++) {
		ptrdiff_t eq = str_find_char(c->v[i], '=');
		struct fact *f;

		if (eq <= 0)
			continue;
		f = arena_new(x->a, struct fact);
		if (cmd_has(c, "-g") || cmd_has(c, "-s")) { /* zsh: anywhere in a line, or for files of a kind */
			str text = str_from(c->v[i], (size_t)eq + 1);

			while (text.n && strchr(";&| ", text.p[0]))
				text = str_from(text, 1);
			(void)run_child_text(x, text, STR_NONE);
		}
		*f = (struct fact){ .next = x->st.facts,
			.kind = FACT_ALIAS,
			.key = str_head(c->v[i], (size_t)eq),
			.value = str_from(c->v[i], (size_t)eq + 1) };
		x->st.facts = f;
	}
}

static void set_from(struct run *x, str name, str value)
{
	var_set(x, name, value);
}

/* read: one line of what comes in; names in order, the last takes the rest. */
static void do_read(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "adinNptu" };
	struct fields names = { 0 };
	str line = STR("\1"), rest = x->in;
	const struct fact *fd;
	struct arg a;

	c->out = STR("");
	while (args_next(&it, &a))
		if (a.operand)
			fields_add(x->a, &names, a.value);
		else if (a.letter == 'u' &&
			(fd = fact_find(x, x->st.facts, FACT_VAR, arena_strf(x->a, "fd " STR_FMT, STR_ARG(a.value)))) !=
				NULL)
			rest = fd->value;
	if (str_is_set(rest)) {
		if (!str_split(&rest, '\n', &line))
			line = STR("");
		if (has_mark(line, MARKS_HOLE) && !rest.n)
			rest = x->in; /* more of the same may come */
		x->in = rest;
	}
	if (!names.n)
		fields_add(x->a, &names, STR("REPLY"));
	for (size_t i = 0; i < names.n; i++) {
		str word = line;

		line = str_trim(line);
		if (i + 1 < names.n) {
			size_t n = 0;

			while (n < line.n && !strchr(" \t", line.p[n]))
				n++;
			word = has_mark(line, MARKS_HOLE) ? line : str_head(line, n);
			line = has_mark(line, MARKS_HOLE) ? line : str_from(line, n);
		} else if (names.n > 1) {
			word = line;
		}
		set_from(x, names.v[i], word);
	}
}

static void do_mapfile(struct run *x, struct cmd *c)
{
	struct fact *f = arena_new(x->a, struct fact);
	struct fields *items = arena_new(x->a, struct fields);
	str rest = str_is_set(c->in) ? c->in : STR("\1"), line;
	str name = first_operand(c, "dnOsuCc");

	c->out = STR("");
	while (str_split(&rest, '\n', &line) && spend(x, 1))
		fields_add(x->a, items, line);
	*f = (struct fact){ .next = x->st.facts,
		.kind = FACT_ARRAY,
		.key = str_is_set(name) ? name : STR("MAPFILE"),
		.items = items };
	x->st.facts = f;
}

/* fc without -l runs a line of the history again; which one is not known here. */
static void do_fc(struct run *x, struct cmd *c)
{
	c->out = STR("\1");
	if (!cmd_has(c, "-l"))
		FAULT(x, c, RULE_EXEC_DYNAMIC, VERDICT_ASK,
			"hookd cannot tell what this runs: it takes a command from the history");
}

/* hash -p PATH NAME: the name is that program from now on. */
static void do_hash(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "p" };
	str path = STR_NONE;
	struct arg a;

	c->out = STR("");
	while (args_next(&it, &a))
		if (a.letter == 'p')
			path = a.value;
		else if (a.operand && path.n)
			fs_note(x, FACT_PROGRAM, a.value, path);
}

static void do_nothing(struct run *x, struct cmd *c)
{
	c->out = STR("");
}

const struct handler pack_shell[] = {
	{ "cd", do_cd },
	{ "eval", do_eval },
	{ "source", do_source },
	{ "declare", do_declare },
	{ "set", do_set },
	{ "shift", do_shift },
	{ "unset", do_unset },
	{ "trap", do_trap },
	{ "alias", do_alias },
	{ "read", do_read },
	{ "mapfile", do_mapfile },
	{ "fc", do_fc },
	{ "hash", do_hash },
	{ "nothing", do_nothing },
	{ 0 },
};
