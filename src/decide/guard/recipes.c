/* recipes: what make, npm, just and their like would run, when the file that says so is known: the command wrote it, or
 * it has changed since the session began. */
#include <string.h>

#include "guard/internal.h"
#include "json/json.h"

/* -- makefiles --------------------------------------------------------------------------------- */

enum { RULES_MAX = 256, VARIABLES_MAX = 256, NESTED_MAX = 8, EXPANDED_MAX = 64 << 10 };

struct make_rule {
	str targets, needs, at_once; /* at_once: behind the ';' of its line */
	str recipe;                  /* lines that begin with a tab */
	bool done;
};

struct makefile {
	struct run *x;
	struct make_rule rules[RULES_MAX];
	size_t nrules;
	struct {
		str name, value;
	} variables[VARIABLES_MAX];
	size_t nvariables;
};

static str variable_of(const struct makefile *m, str name)
{
	static const struct {
		const char *name, *value;
	} built_in[] = { { "RM", "rm -f" }, { "MAKE", "make" }, { "CC", "cc" }, { "CXX", "c++" },
		{ "SHELL", "/bin/sh" }, { "CURDIR", "." }, { "AR", "ar" }, { "INSTALL", "install" } };

	for (size_t i = m->nvariables; i-- > 0;)
		if (str_eq(m->variables[i].name, name))
			return m->variables[i].value;
	for (size_t i = 0; i < countof(built_in); i++)
		if (str_eq(name, str_of(built_in[i].name)))
			return str_of(built_in[i].value);
	return var_get(m->x, name);
}

/* The name in $(NAME) or ${NAME}, and what follows it. */
static bool take_reference(str *rest, str *ret)
{
	char open = rest->p[1], close = open == '(' ? ')' : '}';
	unsigned depth = 0;

	for (size_t i = 1; i < rest->n; i++) {
		depth += rest->p[i] == open;
		depth -= rest->p[i] == close;
		if (!depth) {
			*ret = str_n(rest->p + 2, i - 2);
			*rest = str_from(*rest, i + 1);
			return true;
		}
	}
	return false;
}

/* As make hands it to the shell. What only make knows ($@, functions) is any text. */
static void expand(const struct makefile *m, str text, unsigned depth, struct text *to)
{
	while (text.n && to->n < EXPANDED_MAX) {
		ptrdiff_t dollar = str_find_char(text, '$');
		str name, value;

		text_add(to, str_head(text, dollar < 0 ? text.n : (size_t)dollar));
		if (dollar < 0 || (size_t)dollar + 1 >= text.n)
			return;
		text = str_from(text, (size_t)dollar);
		if (text.p[1] == '$') {
			text_char(to, '$');
			text = str_from(text, 2);
			continue;
		}
		if (text.p[1] != '(' && text.p[1] != '{') {
			text_char(to, MARK_UNKNOWN);
			text = str_from(text, 2);
			continue;
		}
		if (!take_reference(&text, &name))
			return;
		value = variable_of(m, name);
		if (str_starts(name, STR("shell "))) {
			struct text command = { .a = m->x->a };

			expand(m, str_from(name, 6), depth + 1, &command);
			(void)run_child_text(m->x, text_str(&command), STR_NONE);
		}
		if (str_is_set(value) && depth < NESTED_MAX && spend(m->x, 1))
			expand(m, value, depth + 1, to);
		else
			text_char(to, MARK_UNKNOWN);
	}
}

static str expanded(const struct makefile *m, str text)
{
	struct text to = { .a = m->x->a };

	expand(m, text, 0, &to);
	return text_str(&to);
}

/* NAME = value, with the operators of make; a recipe's line is none. */
static bool take_variable(struct makefile *m, str line)
{
	ptrdiff_t eq = str_find_char(line, '='), colon = str_find_char(line, ':');
	size_t n = eq > 0 ? (size_t)eq : 0;
	str name;

	if (eq <= 0 ||
		(colon >= 0 && colon < eq && colon + 1 != eq && !str_starts(str_from(line, (size_t)colon), STR("::="))))
		return false;
	while (n && strchr(":?+!", line.p[n - 1]))
		n--;
	name = str_trim(str_head(line, n));
	if (str_starts(name, STR("export ")))
		name = str_trim(str_from(name, 7));
	if (str_find_char(name, ' ') >= 0 || !name.n)
		return false;
	if (m->nvariables < VARIABLES_MAX) {
		m->variables[m->nvariables].name = name;
		m->variables[m->nvariables++].value = str_trim(str_from(line, (size_t)eq + 1));
	}
	return true;
}

static bool take_rule(struct makefile *m, str line)
{
	ptrdiff_t colon = str_find_char(line, ':'), semi = str_find_char(line, ';');
	struct make_rule *r;

	if (colon <= 0 || m->nrules == RULES_MAX)
		return false;
	r = &m->rules[m->nrules++];
	*r = (struct make_rule){ .targets = str_trim(str_head(line, (size_t)colon)), .at_once = STR_NONE };
	line = str_from(line, (size_t)colon + 1);
	semi = str_find_char(line, ';');
	r->needs = str_head(line, semi < 0 ? line.n : (size_t)semi);
	if (semi >= 0)
		r->at_once = str_from(line, (size_t)semi + 1);
	return true;
}

/* Lines that end in a backslash go on. */
static bool next_line(str *text, str *ret)
{
	size_t n = 0;

	if (!text->n)
		return false;
	while (n < text->n && !(text->p[n] == '\n' && (n == 0 || text->p[n - 1] != '\\')))
		n++;
	*ret = str_head(*text, n);
	*text = str_from(*text, n + (n < text->n));
	return true;
}

static void read_makefile(struct makefile *m, str text)
{
	struct make_rule *last = NULL;
	str line;

	while (next_line(&text, &line) && spend(m->x, 1)) {
		if (line.n && line.p[0] == '\t') {
			if (last)
				last->recipe = last->recipe.n
					? str_n(last->recipe.p, (size_t)(line.p + line.n - last->recipe.p))
					: line;
			continue;
		}
		line = str_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		if (has_mark(line, "\4") && line.n < 4)
			FAULT(m->x, NULL, RULE_NET_EXEC, VERDICT_DENY,
				"this runs a makefile that comes from the network");
		else if (take_variable(m, line))
			last = NULL;
		else if (take_rule(m, line))
			last = &m->rules[m->nrules - 1];
		if (str_has(line, "$(shell "))
			(void)expanded(m, line);
	}
}

static void run_line(const struct makefile *m, str line)
{
	line = str_trim(line);
	while (line.n && strchr("@-+ ", line.p[0]))
		line = str_from(line, 1);
	if (line.n)
		(void)run_child_text(m->x, expanded(m, line), STR_NONE);
}

static void reach(struct makefile *m, str goal, unsigned depth);

static void run_rule(struct makefile *m, struct make_rule *r, unsigned depth)
{
	str needs = expanded(m, r->needs), recipe = r->recipe, word, line;

	if (r->done || depth > RULES_MAX)
		return;
	r->done = true;
	while (str_split(&needs, ' ', &word) && spend(m->x, 1))
		if (word.n)
			reach(m, word, depth + 1);
	if (str_is_set(r->at_once))
		run_line(m, r->at_once);
	while (next_line(&recipe, &line))
		run_line(m, line);
}

/* A goal that no rule names may be made by one with a pattern. */
static void reach(struct makefile *m, str goal, unsigned depth)
{
	bool found = false;

	for (size_t i = 0; i < m->nrules && spend(m->x, 1); i++) {
		str targets = expanded(m, m->rules[i].targets), word;
		bool fits = false;

		while (str_split(&targets, ' ', &word))
			fits |= str_eq(word, goal) || has_mark(word, MARKS_ANY) || has_mark(goal, MARKS_ANY);
		if (fits)
			run_rule(m, &m->rules[i], depth);
		found |= fits;
	}
	for (size_t i = 0; !found && i < m->nrules; i++)
		if (str_find_char(m->rules[i].targets, '%') >= 0)
			run_rule(m, &m->rules[i], depth);
}

/* The first rule's target is made when none is asked for. */
static void run_makefile(struct run *x, str text, const struct fields *goals)
{
	struct makefile *m = arena_new(x->a, struct makefile);

	const struct script_read *before = script_enter(x);

	*m = (struct makefile){ .x = x };
	read_makefile(m, text);
	for (size_t i = 0; i < goals->n; i++)
		reach(m, goals->v[i], 0);
	for (size_t i = 0; !goals->n && i < m->nrules; i++)
		if (m->rules[i].targets.p[0] != '.') {
			run_rule(m, &m->rules[i], 0);
			break;
		}
	script_leave(x, before);
}

static void do_make(struct run *x, struct cmd *c)
{
	static const char *const names[] = { "GNUmakefile", "makefile", "Makefile" };
	struct args it = { .c = c, .shorts = "fCIoW", .longs = "file makefile directory eval include-dir jobs" };
	struct state saved = x->st;
	struct fields goals = { 0 }, files = { 0 }, evals = { 0 };
	struct arg a;
	str text;

	while (args_next(&it, &a)) {
		if (arg_is(&a, 'C', "directory"))
			x->st.cwd = path_resolve(x, a.value);
		else if (arg_is(&a, 0, "eval"))
			fields_add(x->a, &evals, a.value);
		else if (arg_is(&a, 'f', "file makefile"))
			fields_add(x->a, &files, a.value);
		else if (a.operand && str_starts(a.value, STR("SHELL=")) && !has_mark(a.value, "\1"))
			(void)run_child_text(x, str_from(a.value, 6), STR_NONE);
		else if (a.operand && str_find_char(a.value, '=') < 0)
			fields_add(x->a, &goals, a.value);
	}
	x->found_on_disk = STR_NONE;
	for (size_t i = 0; i < evals.n; i++)
		run_makefile(x, evals.v[i], &goals);
	for (size_t i = 0; !files.n && i < countof(names); i++)
		if (script_known(x, str_of(names[i]), &text)) {
			run_makefile(x, text, &goals);
			break;
		}
	for (size_t i = 0; i < files.n; i++)
		if (str_in(files.v[i], "- /dev/stdin"))
			run_makefile(x, str_is_set(c->in) ? c->in : STR(""), &goals);
		else if (script_known(x, files.v[i], &text))
			run_makefile(x, text, &goals);
	x->st = saved;
}

/* -- just, task and their like ------------------------------------------------------------------ */

static void run_task_line(struct run *x, str name, str line)
{
	bool recipe = line.n && (line.p[0] == ' ' || line.p[0] == '\t');
	ptrdiff_t colon = str_find(line, STR(": "));

	line = str_trim(line);
	if (str_starts(line, STR("- cmd: ")))
		line = str_from(line, 7);
	else if (line.n && strchr("@-", line.p[0]))
		line = str_trim(str_from(line, 1));
	else if (!recipe && str_in(str_base(name), "Procfile") && colon > 0)
		line = str_from(line, (size_t)colon + 2);
	else if (!recipe)
		return;
	if (line.n > 1 && strchr("\"'", line.p[0]) && line.p[line.n - 1] == line.p[0])
		line = str_n(line.p + 1, line.n - 2);
	if (str_find_char(line, ' ') > 0)
		(void)run_child_text(x, line, STR_NONE);
}

/* Every recipe could be the one. */
static void do_just(struct run *x, struct cmd *c)
{
	static const char *const names[] = { "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml",
		"Procfile", "mise.toml", "Makefile.toml" };
	str file = cmd_value(c, "ftC", 'f', "justfile"), text, line;
	const struct script_read *before;

	for (size_t i = 0; i <= countof(names); i++) {
		str name = i < countof(names) ? str_of(names[i]) : file;

		if (!name.n || !script_known(x, name, &text))
			continue;
		before = script_enter(x);
		while (str_split(&text, '\n', &line) && spend(x, 1))
			run_task_line(x, name, line);
		script_leave(x, before);
	}
}

/* -- package.json ------------------------------------------------------------------------------- */

static str operand_at(const struct cmd *c, size_t n)
{
	struct args it = { .c = c, .shorts = "Cw", .longs = "prefix workspace filter dir cwd" };
	struct arg a;

	while (args_next(&it, &a))
		if (a.operand && n-- == 0)
			return a.value;
	return STR("");
}

/* "test" is run by npm test, npm run test, yarn test; "" is run by an installation; STR_NONE: none is. */
static str script_of(const struct cmd *c)
{
	str first = operand_at(c, 0);

	if (str_in(first, "run run-script"))
		return operand_at(c, 1);
	if (str_in(first, "install i ci add") || (!first.n && !str_eq(c->name, STR("npm"))))
		return STR("");
	if (str_in(first, "test t tst start stop restart") || !str_eq(c->name, STR("npm")))
		return str_in(first, "t tst") ? STR("test") : first;
	return STR_NONE;
}

static bool is_run(str name, str wanted)
{
	if (!wanted.n)
		return str_in(name, "preinstall install postinstall prepublish preprepare prepare postprepare");
	if (has_mark(wanted, MARKS_ANY))
		return true;
	if (str_starts(name, STR("pre")) && str_eq(str_from(name, 3), wanted))
		return true;
	return str_eq(name, wanted) || (str_starts(name, STR("post")) && str_eq(str_from(name, 4), wanted));
}

/* It is no JSON, or parts of it are known only when it runs: every text in it that has words could be the script. */
static void run_texts(struct run *x, str text)
{
	ptrdiff_t at;

	while ((at = str_find(text, STR("\":"))) >= 0 && spend(x, 1)) {
		str rest = str_trim(str_from(text, (size_t)at + 2));
		size_t n = 1;

		text = str_from(text, (size_t)at + 2);
		if (!rest.n || rest.p[0] != '"')
			continue;
		while (n < rest.n && rest.p[n] != '"')
			n += rest.p[n] == '\\' ? 2 : 1;
		if (n < rest.n && str_find_char(str_n(rest.p + 1, n - 1), ' ') > 0)
			(void)run_child_text(x, decode_backslashes(x->a, str_n(rest.p + 1, n - 1), false), STR_NONE);
	}
}

static void run_scripts(struct run *x, str text, str wanted)
{
	struct json *root = NULL;

	if (json_parse(x->a, text, JSON_LENIENT_UTF8, &root, NULL) < 0) {
		run_texts(x, text);
		return;
	}
	json_each(s, json_get(root, STR("scripts"))) {
		if (spend(x, 1) && s->type == JSON_STRING && is_run(s->key, wanted))
			(void)run_child_text(x, s->text, STR_NONE);
	}
}

static void do_npm(struct run *x, struct cmd *c)
{
	str wanted = script_of(c), text;
	const struct script_read *before;

	/* npm pkg set scripts.x=…: a script is judged when it is written. */
	for (size_t i = 3; i < c->n && row_matches(c, "pkg set"); i++)
		if (str_starts(c->v[i], STR("scripts.")) && str_find_char(c->v[i], '=') > 0)
			(void)run_child_text(x, str_from(c->v[i], (size_t)str_find_char(c->v[i], '=') + 1), STR_NONE);
	if (c->n > 3 && row_matches(c, "set-script"))
		(void)run_child_text(x, c->v[3], STR_NONE);
	if (!str_is_set(wanted) || !script_known(x, STR("package.json"), &text))
		return;
	before = script_enter(x);
	run_scripts(x, text, wanted);
	script_leave(x, before);
}

/* -- direnv -------------------------------------------------------------------------------------- */

/* What is allowed is run by the next prompt. */
static void do_direnv(struct run *x, struct cmd *c)
{
	str text;
	const struct script_read *before;

	if (!row_matches(c, "allow|permit|grant|reload|exec") || !script_known(x, STR(".envrc"), &text))
		return;
	before = script_enter(x);
	(void)run_child_text(x, text, STR_NONE);
	script_leave(x, before);
}

/* -- hooks of git -------------------------------------------------------------------------------- */

static const struct {
	const char *commands, *hooks;
} git_hooks[] = {
	{ "commit", "pre-commit prepare-commit-msg commit-msg post-commit" },
	{ "merge pull", "pre-merge-commit post-merge" },
	{ "rebase", "pre-rebase post-rewrite" },
	{ "checkout switch clone worktree", "post-checkout" },
	{ "push", "pre-push" },
	{ "am", "applypatch-msg pre-applypatch post-applypatch" },
};

static void run_hook(struct run *x, str name)
{
	static const char *const folders[] = { ".git/hooks", ".husky", ".githooks" };
	str root = x->c->root.n && path_below(x->st.cwd, x->c->root) ? x->c->root : x->st.cwd, text;

	for (size_t i = 0; i < countof(folders); i++) {
		str path = arena_strf(x->a, STR_FMT "/%s/" STR_FMT, STR_ARG(root), folders[i], STR_ARG(name));

		if (script_known_at(x, path, &text)) {
			const struct script_read *before = script_enter(x);

			(void)run_child_text(x, text, STR_NONE);
			script_leave(x, before);
		}
	}
}

void judge_git_hooks(struct run *x, const struct cmd *sub)
{
	if (!x->c->script || cmd_has(sub, "--no-verify") || has_mark(x->st.cwd, MARKS_ANY))
		return;
	for (size_t i = 0; i < countof(git_hooks); i++) {
		str rest = str_of(git_hooks[i].hooks), name;

		if (str_in(sub->name, git_hooks[i].commands))
			while (str_split(&rest, ' ', &name))
				run_hook(x, name);
	}
}

const struct handler pack_recipes[] = {
	{ "make", do_make },
	{ "npm", do_npm },
	{ "just", do_just },
	{ "direnv", do_direnv },
	{ 0 },
};
