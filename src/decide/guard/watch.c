/* watch: what a command line would run, resolved as for a judgement, for somebody else to look at. */
#include <errno.h>

#include "guard/internal.h"

void watch_word(struct run *x, const struct shell_word *w, const struct fields *got, size_t index)
{
	if (x->watcher && !x->inner && x->watcher->word)
		x->watcher->word(&(struct guard_word){ .begin = w->begin,
					 .end = w->end,
					 .index = index,
					 .fields = got->v,
					 .n = got->n,
					 .cwd = x->st.cwd },
			x->watcher->arg);
}

void watch_command(struct run *x, const struct cmd *c)
{
	struct guard_command seen = { .v = c->v, .n = c->n, .name = c->name, .in = c->in, .cwd = x->st.cwd };

	if (!x->watcher || !x->watcher->command)
		return;
	seen.nested = x->inner;
	for (const struct fact *f = x->st.facts; f; f = f->next)
		if (f->kind == FACT_VAR && guard_is_loader_variable(f->key))
			seen.loader = f->key;
	x->watcher->command(&seen, x->watcher->arg);
}

bool guard_is_loader_variable(str name)
{
	return str_in(name,
		       "PATH BASH_ENV ENV CDPATH IFS SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 NODE_OPTIONS NODE_PATH "
		       "RUBYOPT "
		       "RUBYLIB PERL5OPT PERL5LIB PERLLIB CLASSPATH LUA_PATH LUA_CPATH AWKPATH PHPRC "
		       "PHP_INI_SCAN_DIR") ||
		str_starts(name, STR("LD_")) || str_starts(name, STR("PYTHON")) || str_starts(name, STR("GIT_")) ||
		str_starts(name, STR("DYLD_"));
}

bool guard_is_known(str field)
{
	return !has_mark(field, MARKS_ANY);
}

bool guard_has_pattern(str field)
{
	return has_mark(field, "\2\3");
}

static int watch_end(const struct run *x, struct err *err)
{
	return x->spent ? err_set(err, -E2BIG, "it is too long or too deeply nested to be resolved") : 0;
}

int guard_watch(const struct guard_context *c, str command, struct arena *a, const struct guard_watcher *w,
	struct err *err)
{
	struct shell_limits limits = shell_default_limits;
	struct guard_report report = { 0 };
	struct shell_node *tree;
	struct run x;
	size_t at;

	if (shell_parse(a, command, &limits, &tree, &at, err) < 0)
		return -EBADMSG;
	x = (struct run){ .a = a, .c = c, .report = &report, .watcher = w, .in = STR_NONE };
	x.st.cwd = c->cwd;
	x.st.arg0 = STR("sh");
	x.st.args_given = true;
	(void)run_text(&x, command);
	return watch_end(&x, err);
}

int guard_watch_argv(const struct guard_context *c, str *v, size_t n, struct arena *a, const struct guard_watcher *w,
	struct err *err)
{
	struct guard_report report = { 0 };
	struct run x = { .a = a, .c = c, .report = &report, .watcher = w, .in = STR_NONE };

	x.st.cwd = c->cwd;
	(void)run_argv(&x, v, n, STR_NONE);
	return watch_end(&x, err);
}
