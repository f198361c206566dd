/* start: variables that make a shell or another program run something when it starts. They count where they are set, be
 * it for one command or, by export, for all that follow: what a later call of the session inherits was judged then. */
#include <string.h>

#include "guard/internal.h"

enum start_kind {
	START_COMMAND, /* the value is a command */
	START_FILE,    /* the value is a file that is run or loaded */
	START_NODE,    /* options of node, some of which load files */
};

static const struct {
	const char *names;
	enum start_kind kind;
	const char *readers; /* programs that read it, or NULL: any */
} start_vars[] = {
	{ "BASH_ENV ENV ZDOTDIR", START_FILE, "sh bash dash zsh ksh" },
	{ "PROMPT_COMMAND PS0 GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS "
	  "GIT_PROXY_COMMAND SSH_ASKPASS EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER",
		START_COMMAND, NULL },
	{ "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PERL5OPT PYTHONSTARTUP RUBYOPT NODE_OPTIONS_PRELOAD", START_FILE,
		NULL },
	{ "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM", START_FILE, "git" },
	{ "NODE_OPTIONS", START_NODE, NULL },
};

static void judge_text(struct run *x, str language, str text)
{
	const struct script_read *before = script_enter(x);

	if (str_is_set(language))
		(void)run_code(x, language, text, STR_NONE);
	else
		(void)run_child_text(x, text, STR_NONE);
	script_leave(x, before);
}

/* --require=./x.js, -r /tmp/x.js, --import ./x.mjs: modules by name are packages of the project. */
static void judge_node_options(struct run *x, str value)
{
	str word, text;

	while (str_split(&value, ' ', &word)) {
		ptrdiff_t eq = str_find_char(word, '=');
		str file = word.n && word.p[0] == '-' && eq > 0 ? str_from(word, (size_t)eq + 1) : word;

		if (file.n && strchr("./~", file.p[0]) && script_known(x, file, &text))
			judge_text(x, STR("node"), text);
	}
}

static void judge_file(struct run *x, const struct cmd *c, str name, str value)
{
	str text;

	if (script_known(x, value, &text))
		judge_text(x, STR_NONE, text);
	else if (!str_in(value, "/dev/null"))
		FAULT(x, c, RULE_EXEC_DYNAMIC, VERDICT_ASK,
			"a variable makes this command run something else first (" STR_FMT ")", STR_ARG(name));
}

/* exported: for every command that follows, whatever its name. */
static void judge_one(struct run *x, const struct cmd *c, str name, str value, bool exported)
{
	for (size_t i = 0; value.n && i < countof(start_vars); i++) {
		if (!str_in(name, start_vars[i].names) ||
			(!exported && start_vars[i].readers && !str_in(c->name, start_vars[i].readers)))
			continue;
		switch (start_vars[i].kind) {
		case START_COMMAND: (void)run_child_text(x, value, STR_NONE); break;
		case START_FILE: judge_file(x, c, name, value); break;
		case START_NODE: judge_node_options(x, value); break;
		}
	}
}

void judge_start_vars(struct run *x, const struct cmd *c)
{
	for (const struct fact *f = c->env; f && f != c->env_end; f = f->next)
		if (f->kind == FACT_VAR && glob_match(STR("BASH_FUNC_*%%"), f->key))
			(void)run_child_text(x, arena_strf(x->a, "f" STR_FMT "; f", STR_ARG(f->value)), STR_NONE);
		else if (f->kind == FACT_VAR)
			judge_one(x, c, f->key, f->value, false);
}

void judge_exported(struct run *x, const struct cmd *c, str name, str value)
{
	judge_one(x, c, name, value, true);
}

/* -- PATH -------------------------------------------------------------------------------------- */

enum { DIRECTORIES_MAX = 8 };

/* The command or the session has put a directory in front of PATH, and a program of this name into it. */
bool program_on_path(struct run *x, str name, str *ret_path, str *ret_text)
{
	const struct fact *f = fact_find(x, x->st.facts, FACT_VAR, STR("PATH"));
	str rest = f ? f->value : STR(""), dir;

	if (!f || str_find_char(name, '/') >= 0 || has_mark(name, MARKS_ANY))
		return false;
	for (int i = 0; i < DIRECTORIES_MAX && str_split(&rest, ':', &dir); i++) {
		if (!dir.n || has_mark(dir, MARKS_ANY) || path_below(dir, STR("/usr")) || path_below(dir, STR("/bin")))
			continue;
		*ret_path = path_join(x, path_resolve(x, dir), name);
		if (script_known_at(x, *ret_path, ret_text))
			return true;
	}
	return false;
}
