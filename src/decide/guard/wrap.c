/* wrap: programs that run another command in a way that no descriptor can say. */
#include "guard/internal.h"

static bool is_assignment(str word)
{
	ptrdiff_t eq = str_find_char(word, '=');

	return eq > 0 && str_find_char(str_head(word, (size_t)eq), '/') < 0;
}

/* -- env -------------------------------------------------------------------------------------- */

static void do_env(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "uCSaP", .longs = "unset chdir split-string argv0", .posix = true };
	struct state saved = x->st;
	struct arg a;

	while (args_next(&it, &a)) {
		ptrdiff_t eq;

		if (arg_is(&a, 'i', "ignore-environment") || arg_is(&a, 'u', "unset"))
			var_set(x, a.letter == 'u' || str_is_set(a.value) ? a.value : STR("HOME"), STR("\1"));
		if (arg_is(&a, 'C', "chdir")) {
			x->st.cwd = path_resolve(x, a.value);
		} else if (arg_is(&a, 'S', "split-string")) {
			struct fields all = { 0 };

			/* It begins with options and assignments of env itself. */
			fields_add(x->a, &all, STR("env"));
			fields_add(x->a, &all, a.value);
			for (size_t i = it.i; i < c->n; i++)
				fields_add(x->a, &all, c->v[i]);
			/* Words are split as in a shell without expansions, near enough. */
			c->out = run_child_text(x, fields_join(x->a, all.v, all.n, ' '), c->in);
			x->st = saved;
			return;
		} else if (a.operand && is_assignment(a.value)) {
			eq = str_find_char(a.value, '=');
			var_set(x, str_head(a.value, (size_t)eq), str_from(a.value, (size_t)eq + 1));
		} else if (a.operand) {
			struct cmd inner = { .v = c->v + a.at,
				.n = c->n - a.at,
				.in = c->in,
				.env = x->st.facts,
				.env_end = saved.facts };

			if (x->depth >= DEPTH_MAX)
				(void)spend(x, UINT32_MAX);
			x->depth++;
			c->out = run_cmd(x, &inner);
			x->depth--;
			x->st = saved;
			return;
		}
	}
	x->st = saved;
	if (!cmd_has(c, "--help") && !cmd_has(c, "--version")) {
		c->out = STR("\5");
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints the environment, secrets included");
	}
}

static void do_printenv(struct run *x, struct cmd *c)
{
	static const char *const words[] = { "SECRET", "TOKEN", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL" };
	bool named = false;

	for (size_t i = 1; i < c->n; i++) {
		if (c->v[i].p[0] == '-')
			continue;
		named = true;
		for (size_t k = 0; k < countof(words); k++)
			if (str_has_nocase(c->v[i], words[k]))
				FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints a secret");
	}
	c->out = STR("\1");
	if (!named) {
		c->out = STR("\5");
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints the environment, secrets included");
	}
}

/* command -v and the like only look; a path comes out, so that $(which rm) is rm. */
static void do_which(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .posix = true };
	bool look = !str_eq(c->name, STR("command"));
	struct arg a;

	while (args_next(&it, &a)) {
		if (!a.operand) {
			look |= a.letter == 'v' || a.letter == 'V';
			continue;
		}
		if (!look) {
			c->out = run_argv(x, c->v + a.at, c->n - a.at, c->in);
			return;
		}
		c->out = str_find_char(a.value, '/') >= 0
			? a.value
			: arena_strf(x->a, "/usr/bin/" STR_FMT "\n", STR_ARG(a.value));
		return;
	}
}

/* -- shells ----------------------------------------------------------------------------------- */

static void do_shell_script(struct run *x, struct cmd *c, size_t at)
{
	str path = path_resolve(x, c->v[at]), text;
	const struct script_read *before;
	struct state saved = x->st;

	x->found_on_disk = STR_NONE;
	if (str_in(c->v[at], "-") || str_in(path, "/dev/stdin /dev/fd/0 /proc/self/fd/0"))
		text = str_is_set(c->in) ? c->in : STR("");
	else if (watch_script(x, c, path, at, GUARD_BY_SHELL))
		return;
	else if (!script_known_at(x, path, &text)) {
		if (has_mark(c->v[at], "\4"))
			FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
		return;
	}
	x->st.arg0 = c->v[at];
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = at + 1; i < c->n; i++)
		fields_add(x->a, &x->st.args, c->v[i]);
	before = script_enter(x);
	c->out = run_child_text(x, text, STR_NONE);
	script_leave(x, before);
	x->st = saved;
}

static void run_dash_c(struct run *x, struct cmd *c, size_t at)
{
	struct state saved = x->st;

	x->st.arg0 = at + 1 < c->n ? c->v[at + 1] : STR("bash");
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = at + 2; i < c->n; i++)
		fields_add(x->a, &x->st.args, c->v[i]);
	c->out = run_child_text(x, c->v[at], c->in);
	x->st = saved;
}

static void read_as_shell(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "oO", .longs = "rcfile init-file", .posix = true };
	bool dash_c = false, dash_s = false;
	struct state saved = x->st;
	size_t first = 0;
	struct arg a;
	str text;

	if (c->net_in || c->net_out)
		FAULT(x, c, RULE_NET_SHELL, VERDICT_DENY, "this connects a shell to another machine");
	while (args_next(&it, &a)) {
		if (a.operand && a.value.n > 1 && a.value.p[0] == '+') { /* +e: an option too */
			it.no_more = false;
			continue;
		}
		if (arg_is(&a, 'c', "command"))
			dash_c = true;
		else if (a.letter == 's')
			dash_s = true;
		else if (arg_is(&a, 0, "rcfile init-file") && script_known(x, a.value, &text))
			(void)run_child_text(x, text, STR_NONE);
		else if (arg_is(&a, 0, "version help"))
			return;
		if (!a.operand)
			continue;
		if (dash_c) {
			run_dash_c(x, c, a.at);
			return;
		}
		if (dash_s) {
			first = a.at;
			break;
		}
		do_shell_script(x, c, a.at);
		return;
	}
	if (!str_is_set(c->in) || dash_c)
		return;
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = first; first && i < c->n; i++) /* sh -s ARGS */
		fields_add(x->a, &x->st.args, c->v[i]);
	c->out = run_child_text(x, c->in, STR_NONE);
	x->st = saved;
}

static void do_shell(struct run *x, struct cmd *c)
{
	bool zsh = x->zsh;

	x->zsh = str_eq(c->name, STR("zsh"));
	read_as_shell(x, c);
	x->zsh = zsh;
}

/* -- ssh -------------------------------------------------------------------------------------- */

static void do_ssh(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "BbcDEeFIiJLlmOopQRSWwP", .posix = true };
	bool remote = x->remote, had_host = false;
	struct state saved = x->st;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.letter == 'o' &&
			(str_has_nocase(a.value, "ProxyCommand") || str_has_nocase(a.value, "LocalCommand"))) {
			ptrdiff_t eq = str_find_char(a.value, '=');

			(void)run_child_text(x, str_from(a.value, eq < 0 ? 12 : (size_t)eq + 1), STR_NONE);
		}
		if (!a.operand)
			continue;
		if (!had_host) {
			had_host = true;
			it.no_more = false;
			continue;
		}
		x->remote = true;
		x->st.cwd = x->c->home;
		c->out = run_child_text(x, fields_join(x->a, c->v + a.at, c->n - a.at, ' '), c->in);
		x->st = saved;
		x->remote = remote;
		return;
	}
	if (str_is_set(c->in) && had_host) { /* a login shell that reads */
		x->remote = true;
		c->out = run_child_text(x, c->in, STR_NONE);
		x->remote = remote;
	}
}

/* -- xargs, parallel, find, fd ---------------------------------------------------------------- */

enum { ITEMS_MAX = 4096, TIMES_MAX = 512 }; /* words that come in; commands that are run with one each */

/* The words that xargs would add: what comes in, split. */
static void split_input(struct run *x, str in, bool nul, bool lines, struct fields *out)
{
	size_t i = 0;

	while (i < in.n && spend(x, 1)) {
		size_t from;

		while (i < in.n && (nul ? in.p[i] == 0 : strchr(lines ? "\n" : " \t\n", in.p[i]) != NULL))
			i++;
		from = i;
		while (i < in.n && (nul ? in.p[i] != 0 : !strchr(lines ? "\n" : " \t\n", in.p[i]) || !in.p[i]))
			i++;
		if (i > from && out->n == ITEMS_MAX) {
			reach_cap(x, "words on its input");
			return;
		}
		if (i > from) {
			str word = str_n(in.p + from, i - from);

			if (!nul && !lines && word.n > 2 && (word.p[0] == '\'' || word.p[0] == '"') &&
				word.p[word.n - 1] == word.p[0])
				word = str_n(word.p + 1, word.n - 2);
			fields_add(x->a, out, word);
		}
	}
}

static str put_in(struct run *x, str word, str place, str value)
{
	struct text t = { .a = x->a };
	ptrdiff_t at;

	if (!place.n || (at = str_find(word, place)) < 0)
		return word;
	while ((at = str_find(word, place)) >= 0) {
		text_add(&t, str_head(word, (size_t)at));
		text_add(&t, value);
		word = str_from(word, (size_t)at + place.n);
	}
	text_add(&t, word);
	return text_str(&t);
}

/* Runs the command once for each item, or once with all of them behind it. */
static str run_with_items(struct run *x, const str *v, size_t n, const struct fields *items, str place)
{
	str out = STR("");

	if (place.n) {
		for (size_t k = 0; k < items->n && spend(x, 4); k++) {
			struct fields f = { 0 };

			if (k == TIMES_MAX) {
				reach_cap(x, "commands made from its input");
				break;
			}

			for (size_t i = 0; i < n; i++)
				fields_add(x->a, &f, put_in(x, v[i], place, items->v[k]));
			out = run_argv(x, f.v, f.n, STR_NONE);
		}
		return out;
	}
	struct fields f = { 0 };

	for (size_t i = 0; i < n; i++)
		fields_add(x->a, &f, v[i]);
	for (size_t k = 0; k < items->n; k++)
		fields_add(x->a, &f, items->v[k]);
	return run_argv(x, f.v, f.n, STR_NONE);
}

static void do_xargs(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "aEeIiLlnPsdRJS",
		.longs = "arg-file delimiter eof replace max-lines max-args max-procs max-chars "
			 "process-slot-var",
		.posix = true };
	struct fields items = { 0 };
	bool nul = false, lines = false;
	str place = STR_NONE, in = c->in;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.operand)
			break;
		if (arg_is(&a, '0', "null"))
			nul = true;
		else if (arg_is(&a, 'I', "replace") || a.letter == 'J' || a.letter == 'i') {
			place = a.value.n && !(a.letter == 'i') ? a.value : STR("{}");
			lines = true;
		} else if (arg_is(&a, 'a', "arg-file")) {
			judge_read(x, c, a.value);
			in = fs_content(x, path_resolve(x, a.value));
		} else if (arg_is(&a, 'd', "delimiter") && str_is_set(a.value)) {
			in = map_tr(x->a, str_is_set(in) ? in : STR("\1"), decode_backslashes(x->a, a.value, false),
				STR("\n"), false);
		}
	}
	split_input(x, str_is_set(in) ? in : STR("\1"), nul, lines, &items);
	if (it.i <= c->n && c->n > 1 && a.operand)
		c->out = run_with_items(x, c->v + a.at, c->n - a.at, &items, place);
	else
		c->out = in;
}

static void do_parallel(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "jINnLPSadCs",
		.longs = "jobs delay timeout max-args colsep arg-file joblog results sshlogin "
			 "retries workdir tmpdir",
		.posix = true };
	struct fields items = { 0 }, words = { 0 };
	struct text t = { .a = x->a };
	bool in_items = false, placed;
	struct arg a = { 0 };

	while (args_next(&it, &a) && !a.operand)
		if (arg_is(&a, 'a', "arg-file"))
			fields_add(x->a, &items, fs_content(x, path_resolve(x, a.value)));
	for (size_t i = a.operand ? a.at : c->n; i < c->n; i++) {
		if (str_in(c->v[i], "::: :::+ :::: ::::+"))
			in_items = true;
		else
			fields_add(x->a, in_items ? &items : &words, c->v[i]);
	}
	if (!items.n)
		split_input(x, str_is_set(c->in) ? c->in : STR("\1"), false, true, &items);
	text_add(&t, fields_join(x->a, words.v, words.n, ' '));
	placed = str_has(text_str(&t), "{");
	for (size_t k = 0; k < items.n && spend(x, 4); k++) {
		struct text one = { .a = x->a };

		if (k == TIMES_MAX) {
			reach_cap(x, "commands made from its input");
			break;
		}

		text_add(&one, placed ? put_in(x, text_str(&t), STR("{}"), items.v[k]) : text_str(&t));
		if (!placed && words.n) {
			text_char(&one, ' ');
			text_add(&one, items.v[k]);
		} else if (!words.n) {
			text_add(&one, items.v[k]);
		}
		c->out = run_child_text(x, text_str(&one), STR_NONE);
	}
}

const struct handler pack_wrap[] = {
	{ "env", do_env },
	{ "printenv", do_printenv },
	{ "which", do_which },
	{ "shell", do_shell },
	{ "ssh", do_ssh },
	{ "xargs", do_xargs },
	{ "parallel", do_parallel },
	{ 0 },
};
