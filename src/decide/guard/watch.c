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
					 .cwd = x->st.cwd,
					 .file = x->file },
			x->watcher->arg);
}

void watch_command(struct run *x, const struct cmd *c)
{
	struct guard_command seen = { .v = c->v,
		.n = c->n,
		.name = c->name,
		.in = c->in,
		.cwd = x->st.cwd,
		.file = x->file };

	if (!x->watcher || !x->watcher->command)
		return;
	seen.nested = x->inner;
	for (const struct fact *f = x->st.facts; f; f = f->next)
		if (f->kind == FACT_VAR && seen.nloaders < countof(seen.loaders) && guard_is_loader_variable(f->key))
			seen.loaders[seen.nloaders++] = (struct guard_loader){ f->key, f->value };
	x->watcher->command(&seen, x->watcher->arg);
}

static bool is_being_read(const struct run *x, str path)
{
	for (const struct script_read *r = x->reading; r; r = r->up)
		if (str_eq(r->path, path))
			return true;
	return false;
}

/* What it knows of itself: $0, BASH_SOURCE and its arguments. */
static void enter_script(struct run *x, const struct cmd *c, const struct guard_script *s, size_t at, bool sourced)
{
	struct fields *source = arena_new(x->a, struct fields);

	*source = (struct fields){ 0 };
	fields_add(x->a, source, s->path);
	array_set(x, STR("BASH_SOURCE"), source);
	if (!sourced)
		x->st.arg0 = s->path;
	if (sourced && at + 1 >= c->n)
		return;
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = at + 1; i < c->n; i++)
		fields_add(x->a, &x->st.args, c->v[i]);
}

bool watch_script(struct run *x, struct cmd *c, str path, size_t at, enum guard_start how)
{
	bool sourced = how == GUARD_SOURCED;
	struct script_read here = { .up = x->reading, .path = path };
	struct state saved = x->st;
	struct guard_script s;
	str in = x->in;

	if (!x->watcher || !x->watcher->script || path_is_dynamic(path) || has_mark(path, MARKS_ANY) ||
		!x->watcher->script(path, how, &s, x->watcher->arg))
		return false;
	c->out = STR("\1");
	if (is_being_read(x, path))
		return true; /* it runs itself again: nothing new */
	x->reading = &here;
	enter_script(x, c, &s, at, sourced);
	if (!sourced)
		x->in = c->in;
	c->out = run_script(x, s.text, s.path);
	x->in = in;
	x->reading = here.up;
	if (!sourced) {
		x->st = saved;
	} else {
		x->st.args = saved.args;
		x->st.args_given = saved.args_given;
	}
	return true;
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
	if (x->spent)
		return err_set(err, -E2BIG, "it is too long or too deeply nested to be resolved");
	if (!x->unread)
		return 0;
	return err_set(err, -EBADMSG, "not all of %.*s can be read as a shell reads it",
		STR_ARG(x->unread_in.n ? str_base(x->unread_in) : STR("it")));
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

int guard_watch_code(const struct guard_context *c, str language, str code, struct arena *a,
	const struct guard_watcher *w, struct err *err)
{
	struct guard_report report = { 0 };
	struct run x = { .a = a, .c = c, .report = &report, .watcher = w, .in = STR_NONE };

	x.st.cwd = c->cwd;
	x.inner = true;
	(void)run_code(&x, language, code, STR_NONE);
	return watch_end(&x, err);
}
