/* What a project's command runs, resolved as the guard resolves it, so that the copies of its files run instead. What
 * cannot be resolved, or would load files of the project that nobody has pinned, is not run. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "guard/guard.h"
#include "hooks/internal.h"

enum { WORDS_MAX = 512, GLOB_MAX = 32 };

struct pin {
	struct arena *a;
	str root, text;
	struct guard_word words[WORDS_MAX];
	size_t n;
	str why; /* STR_NONE: it can be pinned */
};

static void refuse(struct pin *p, str why)
{
	if (!str_is_set(p->why))
		p->why = why;
}

static bool one_of(str s, const char *words)
{
	str rest = str_of(words), word;

	while (str_split(&rest, ' ', &word))
		if (str_eq(s, word))
			return true;
	return false;
}

/* -- paths ------------------------------------------------------------------------------------- */

/* An absolute path without . and .., or STR_NONE when the directory is not known. */
static str absolute(struct pin *p, str word, str cwd)
{
	struct buf b = BUF_INIT(2 * FS_PATH);
	str rest, piece, path;

	if (str_empty(word) || memchr(word.p, 0, word.n))
		return STR_NONE;
	if (word.p[0] != '/' && (str_empty(cwd) || cwd.p[0] != '/' || !guard_is_known(cwd)))
		return STR_NONE;
	rest = word.p[0] == '/' ? word : arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(cwd), STR_ARG(word));
	while (str_split(&rest, '/', &piece)) {
		if (str_empty(piece) || str_eq(piece, STR(".")))
			continue;
		if (str_eq(piece, STR(".."))) {
			while (b.len && b.p[b.len - 1] != '/')
				b.len--;
			b.len -= b.len > 0;
			continue;
		}
		buf_add_char(&b, '/');
		buf_add_str(&b, piece);
	}
	path = b.full ? STR_NONE : b.len ? arena_str(p->a, buf_str(&b)) : STR("/");
	buf_release(&b);
	return path;
}

/* The name in the tree, or STR_NONE: it is not in it. */
static str in_tree(struct pin *p, str word, str cwd)
{
	str path = absolute(p, word, cwd);

	return str_is_set(path) ? hook_relative(path, p->root, p->a) : STR_NONE;
}

static mode_t type_of(struct pin *p, str name)
{
	char path[FS_PATH];
	struct stat st;

	if (fs_join(path, arena_cstr(p->a, p->root), arena_cstr(p->a, name)) < 0 || lstat(path, &st) < 0)
		return 0;
	return st.st_mode & S_IFMT;
}

/* -- programs ---------------------------------------------------------------------------------- */

static const char shells[] = "sh bash dash zsh ksh mksh ash rbash fish";
static const char interpreters[] = "python python2 python3 pypy pypy3 node nodejs deno bun tsx ts-node perl ruby php "
				   "lua luajit tclsh Rscript julia "
				   "osascript groovy scala elixir guile racket java pwsh";

/* What they run stands in files of the project, wherever those are. */
static const char runners[] =
	"make gmake bmake ninja cmake ctest meson npm npx pnpm pnpx yarn bunx just task rake bundle invoke fab tox nox "
	"pytest "
	"py.test pre-commit lefthook husky poetry pipenv uv pdm hatch rye cargo go gradle mvn sbt ant composer phpunit "
	"mix rebar3 stack cabal dotnet bazel buck nx turbo lerna gulp grunt vagrant docker-compose ansible-playbook "
	"direnv "
	"mise asdf dotenv nix nix-shell scons waf";

static bool is_interpreter(str name)
{
	return one_of(name, interpreters) || str_starts(name, STR("python3.")) || str_starts(name, STR("perl5."));
}

/* Where only root puts programs. */
static bool is_systems(str path)
{
	static const char *const places[] = { "/usr/", "/bin/", "/sbin/", "/opt/", "/nix/store/", "/lib/" };

	for (size_t i = 0; i < countof(places); i++)
		if (str_starts(path, str_of(places[i])))
			return true;
	return false;
}

/* A word of the text itself that will be replaced by the copy of this file. What is made by another program is none,
 * nor is one that means another file where it stands than where it is used (env -C). */
static bool is_replaced(struct pin *p, str field, str name)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->words[i].n; j++)
			if (str_eq(p->words[i].fields[j], field) && str_eq(in_tree(p, field, p->words[i].cwd), name) &&
				((p->words[i].index == 0 && j == 0) || type_of(p, name) == S_IFREG))
				return true;
	return false;
}

static bool is_word(const struct pin *p, str field)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->words[i].n; j++)
			if (str_eq(p->words[i].fields[j], field))
				return true;
	return false;
}

static void check_program(struct pin *p, const struct guard_command *c)
{
	str word = c->v[0], path, name;

	if (!guard_is_known(word) && (c->nested || !guard_has_pattern(word) || !is_word(p, word))) {
		refuse(p, STR("which program it runs is only known when it runs"));
		return;
	}
	if (str_is_set(c->loader))
		refuse(p,
			arena_strf(p->a, "it sets " STR_FMT ", which decides what is loaded from where",
				STR_ARG(c->loader)));
	if (one_of(c->name, runners))
		refuse(p,
			arena_strf(p->a, STR_FMT " runs what files of the project say, and they cannot all be pinned",
				STR_ARG(c->name)));
	if (str_find_char(word, '/') < 0 || guard_has_pattern(word))
		return;
	path = absolute(p, word, c->cwd);
	name = in_tree(p, word, c->cwd);
	if (!str_is_set(path))
		refuse(p, STR("in which directory it runs a program is only known when it runs"));
	else if (!str_is_set(name) && !is_systems(path))
		refuse(p, STR("it runs a program that is neither the project's nor the system's"));
	else if (str_is_set(name) && (c->nested || !is_replaced(p, word, name)))
		refuse(p, STR("it names a program of the project inside another text, or seen from another directory"));
}

/* sh FILE, python3 FILE, . FILE */
static void check_script(struct pin *p, const struct guard_command *c, str word)
{
	str name = in_tree(p, word, c->cwd);
	mode_t type;

	if (!guard_is_known(word)) {
		refuse(p, arena_strf(p->a, "what " STR_FMT " runs is only known when it runs", STR_ARG(c->name)));
		return;
	}
	if (!str_is_set(name)) {
		str path = absolute(p, word, c->cwd);

		if (!str_is_set(path) || (!is_systems(path) && !str_eq(path, STR("/dev/null"))))
			refuse(p, STR("it runs a script that is neither the project's nor the system's"));
		return;
	}
	type = type_of(p, name);
	if (type != S_IFREG)
		refuse(p,
			arena_strf(p->a, STR_FMT " is given %s, not a file of the project", STR_ARG(c->name),
				type == S_IFDIR ? "a directory" : "something that is not there"));
}

/* Options that bring code along, or a place to load it from. */
static bool brings_code(const struct guard_command *c, str word)
{
	static const char *const longs[] = { "--eval", "--print", "--require", "--import", "--loader",
		"--experimental-loader", "--rcfile", "--init-file", "--preload" };

	if (one_of(c->name, shells))
		return one_of(word, "--rcfile --init-file --login -l -i");
	for (size_t i = 0; i < countof(longs); i++)
		if (str_starts(word, str_of(longs[i])))
			return true;
	if (word.n < 2 || word.p[0] != '-' || word.p[1] == '-')
		return false;
	/* In a bundle: -Sc, -ne. */
	return word.p[1] == 'I' || word.p[1] == 'M' || word.p[1] == 'm' || word.p[1] == 'r' ||
		memchr(word.p, 'c', word.n) || memchr(word.p, 'e', word.n) || memchr(word.p, 'E', word.n) ||
		memchr(word.p, 'p', word.n);
}

static void check_interpreter(struct pin *p, const struct guard_command *c)
{
	bool shell = one_of(c->name, shells);

	for (size_t i = 1; i < c->n; i++) {
		str word = c->v[i];

		/* The guard reads the text of sh -c itself, as long as it is known. */
		if (shell && word.n >= 2 && word.p[0] == '-' && word.p[1] != '-' && memchr(word.p, 'c', word.n)) {
			if (i + 1 >= c->n || !guard_is_known(c->v[i + 1]))
				refuse(p, STR("the text that a shell runs is only known when it runs"));
			return;
		}
		if (brings_code(c, word)) {
			refuse(p,
				arena_strf(p->a,
					STR_FMT
					" is given code that may load files of the project; put the code into a "
					"file of the project",
					STR_ARG(c->name)));
			return;
		}
		if (word.n && word.p[0] == '-')
			continue;
		check_script(p, c, word);
		return;
	}
	if (!str_is_set(c->in) || !guard_is_known(c->in))
		refuse(p, arena_strf(p->a, STR_FMT " reads what it runs from its input", STR_ARG(c->name)));
}

static void on_command(const struct guard_command *c, void *arg)
{
	struct pin *p = arg;

	if (!c->n || str_is_set(p->why))
		return;
	check_program(p, c);
	if (one_of(c->name, ". source") && c->n > 1)
		check_script(p, c, c->v[1]);
	else if (one_of(c->name, shells) || is_interpreter(c->name))
		check_interpreter(p, c);
	for (size_t i = 1; i < c->n; i++) {
		str name = guard_is_known(c->v[i]) ? in_tree(p, c->v[i], c->cwd) : STR_NONE;

		if (str_is_set(name) && type_of(p, name) == S_IFREG && (c->nested || !is_replaced(p, c->v[i], name)))
			refuse(p,
				STR("it names a file of the project inside another text, or seen from another "
				    "directory"));
	}
}

/* -- words ------------------------------------------------------------------------------------- */

static bool same_word(const struct guard_word *x, const struct guard_word *y)
{
	if (x->n != y->n || !str_eq(x->cwd, y->cwd))
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (!str_eq(x->fields[i], y->fields[i]))
			return false;
	return true;
}

static bool touches_tree(struct pin *p, const struct guard_word *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (!guard_is_known(w->fields[i]) || str_is_set(in_tree(p, w->fields[i], w->cwd)))
			return true;
	return false;
}

static void on_word(const struct guard_word *w, void *arg)
{
	struct pin *p = arg;
	str *fields = arena_alloc(p->a, (w->n + 1) * sizeof *fields);

	/* In a loop or a function the same word may become several things. */
	for (size_t i = 0; i < p->n; i++)
		if (p->words[i].begin == w->begin && p->words[i].end == w->end) {
			if (!same_word(&p->words[i], w) && (touches_tree(p, w) || touches_tree(p, &p->words[i])))
				refuse(p, STR("one of its words stands for several files of the project"));
			return;
		}
	if (p->n == WORDS_MAX) {
		refuse(p, STR("it has too many words"));
		return;
	}
	for (size_t i = 0; i < w->n; i++)
		fields[i] = arena_str(p->a, w->fields[i]);
	p->words[p->n] = *w;
	p->words[p->n].cwd = arena_str(p->a, w->cwd);
	p->words[p->n++].fields = fields;
}

/* -- both together ----------------------------------------------------------------------------- */

static struct pin *resolve(const struct hook *h, str root, str home, struct arena *a)
{
	struct guard_context c = { .cwd = root, .root = root, .home = home };
	struct pin *p = arena_alloc(a, sizeof *p);
	struct guard_watcher w = { on_word, on_command, p };
	struct err err = { 0 };
	int r;

	*p = (struct pin){ .a = a, .root = root, .text = h->command };
	if (h->exec_form) {
		str *v = arena_alloc(a, (h->nargs + 1) * sizeof *v);

		v[0] = hook_expand_root(h->command, root, a);
		for (size_t i = 0; i < h->nargs; i++)
			v[i + 1] = hook_expand_root(h->args[i], root, a);
		on_word(&(struct guard_word){ .fields = v, .n = h->nargs + 1, .cwd = root }, p);
		r = guard_watch_argv(&c, v, h->nargs + 1, a, &w, &err);
	} else {
		r = guard_watch(&c, h->command, a, &w, &err);
	}
	if (r < 0)
		refuse(p, arena_strf(a, "the shell's grammar: %s", err.text));
	return p;
}

/* A pattern in the place of a program, as it stands in the text; files of dir that fit. */
static size_t expand_glob(struct pin *p, const struct guard_word *w, const char *dir, str ret[GLOB_MAX])
{
	str raw = str_n(p->text.p + w->begin, w->end - w->begin), at = in_tree(p, STR("x"), w->cwd);
	glob_t g = { 0 };
	size_t n = 0, skip = strlen(dir) + 1;
	const char *pattern;

	for (size_t i = 0; i < raw.n; i++)
		if (strchr("'\"\\$~{}`", raw.p[i]))
			return 0; /* more than a pattern */
	if (!str_is_set(at) || w->n != 1 || (raw.n && raw.p[0] == '/'))
		return 0;
	pattern = arena_strf(p->a, "%s/" STR_FMT STR_FMT, dir, STR_ARG(str_head(at, at.n - 1)), STR_ARG(raw)).p;
	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc && n < GLOB_MAX; i++)
			ret[n++] = arena_str(p->a, str_of(g.gl_pathv[i] + skip));
	globfree(&g);
	return n;
}

void hook_each_file(const struct hook *h, str root, str home, struct arena *a, void (*fn)(str name, void *arg),
	void *arg)
{
	struct pin *p;
	str found[GLOB_MAX];

	if (h->type != HOOK_COMMAND)
		return;
	p = resolve(h, root, home, a);
	for (size_t i = 0; i < p->n; i++) {
		const struct guard_word *w = &p->words[i];

		for (size_t j = 0; j < w->n; j++) {
			ptrdiff_t eq = str_find_char(w->fields[j], '=');
			str name;

			if (!guard_is_known(w->fields[j]))
				continue;
			name = in_tree(p, w->fields[j], w->cwd);
			if (str_is_set(name))
				fn(name, arg);
			if (eq > 0 && str_is_set(name = in_tree(p, str_from(w->fields[j], (size_t)eq + 1), w->cwd)))
				fn(name, arg);
		}
		if (!h->exec_form && w->index == 0 && w->n == 1 && guard_has_pattern(w->fields[0]))
			for (size_t k = 0, n = expand_glob(p, w, arena_cstr(a, root), found); k < n; k++)
				fn(hook_relative(found[k], root, a), arg);
	}
}

/* Wherever a user's hook runs, its scripts are named by absolute paths. */
void hook_each_script(const struct hook *h, str home, struct arena *a, void (*fn)(str path, void *arg), void *arg)
{
	struct pin *p;

	if (h->type != HOOK_COMMAND)
		return;
	p = resolve(h, STR("/"), home, a);
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->words[i].n; j++) {
			str field = p->words[i].fields[j], path;

			if (!guard_is_known(field) || str_find_char(field, '/') < 0)
				continue;
			path = absolute(p, field, p->words[i].cwd);
			if (str_is_set(path) && !is_systems(path))
				fn(path, arg);
		}
}

/* -- the text that runs ------------------------------------------------------------------------ */

static void add_quoted(struct buf *b, str s)
{
	buf_add_char(b, '\'');
	for (size_t i = 0; i < s.n; i++)
		buf_add_str(b, s.p[i] == '\'' ? STR("'\\''") : str_n(s.p + i, 1));
	buf_add_char(b, '\'');
}

static bool copy_is_there(struct pin *p, const char *copies, str name)
{
	char path[FS_PATH];
	struct stat st;

	return fs_join(path, copies, arena_cstr(p->a, name)) == 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The field with the copy in the place of the file, or STR_NONE: it stays. */
static str pinned_field(struct pin *p, const struct guard_word *w, str field, const char *copies)
{
	ptrdiff_t eq = str_find_char(field, '=');
	str name;

	if (!guard_is_known(field))
		return STR_NONE;
	name = in_tree(p, field, w->cwd);
	/* A program that is not there yet means the copy, too, which will not be there either. */
	if (str_is_set(name) &&
		(copy_is_there(p, copies, name) ||
			(w->index == 0 && str_find_char(field, '/') >= 0 && type_of(p, name) != S_IFDIR)))
		return arena_strf(p->a, "%s/" STR_FMT, copies, STR_ARG(name));
	if (eq <= 0 || !str_is_set(name = in_tree(p, str_from(field, (size_t)eq + 1), w->cwd)) ||
		!copy_is_there(p, copies, name))
		return STR_NONE;
	return arena_strf(p->a, STR_FMT "%s/" STR_FMT, STR_ARG(str_head(field, (size_t)eq + 1)), copies, STR_ARG(name));
}

/* Appends what stands for the word; false: the word itself. */
static bool add_pinned(struct pin *p, const struct guard_word *w, const char *copies, struct buf *b)
{
	bool changed = false;
	str found[GLOB_MAX];
	size_t start = b->len, n;

	if (w->index == 0 && w->n == 1 && guard_has_pattern(w->fields[0])) {
		n = expand_glob(p, w, copies, found);
		if (!n)
			refuse(p, STR("the pattern in the place of its program fits no file of the project"));
		for (size_t i = 0; i < n; i++) {
			buf_add_str(b, i ? STR(" ") : STR(""));
			add_quoted(b, arena_strf(p->a, "%s/" STR_FMT, copies, STR_ARG(found[i])));
		}
		return n > 0;
	}
	for (size_t i = 0; i < w->n; i++) {
		str field = pinned_field(p, w, w->fields[i], copies);

		changed |= str_is_set(field);
		buf_add_str(b, i ? STR(" ") : STR(""));
		add_quoted(b, str_is_set(field) ? field : w->fields[i]);
		if (!guard_is_known(w->fields[i]) && changed)
			refuse(p, STR("a word of it is a file of the project and something else"));
	}
	if (!changed)
		b->len = start;
	return changed;
}

const char *const *hook_pin_words(const struct hook *h, str root, const char *copies, struct arena *a)
{
	_cleanup_(arena_release) struct arena once = { 0 };
	const char **out = arena_alloc(a, (h->nargs + 2) * sizeof *out);
	struct pin *p = arena_alloc(&once, sizeof *p);

	*p = (struct pin){ .a = &once, .root = root };
	for (size_t i = 0; i <= h->nargs; i++) {
		str word = hook_expand_root(i ? h->args[i - 1] : h->command, root, a);
		str field = pinned_field(p, &(struct guard_word){ .index = i, .cwd = root }, word, copies);

		out[i] = arena_cstr(a, str_is_set(field) ? field : word);
	}
	out[h->nargs + 1] = NULL;
	return out;
}

static int by_begin(const void *x, const void *y)
{
	const struct guard_word *v = x, *w = y;

	return (v->begin > w->begin) - (v->begin < w->begin);
}

str hook_pin_text(const struct hook *h, str root, str home, const char *copies, struct arena *a, str *ret_why)
{
	struct pin *p = resolve(h, root, home, a);
	struct buf b = BUF_INIT(1 << 20);
	bool changed = false;
	uint32_t at = 0;
	str text;

	qsort(p->words, h->exec_form ? 0 : p->n, sizeof p->words[0], by_begin);
	for (size_t i = 0; i < p->n && !h->exec_form; i++) {
		const struct guard_word *w = &p->words[i];
		size_t start = b.len;

		if (w->end > p->text.n || w->begin > w->end)
			continue;
		if (w->begin < at) {
			if (touches_tree(p, w))
				refuse(p, STR("it names a file of the project inside another word"));
			continue;
		}
		buf_add_str(&b, str_n(p->text.p + at, w->begin - at));
		if (add_pinned(p, w, copies, &b)) {
			at = w->end;
			changed = true;
		} else {
			b.len = start;
		}
	}
	if (changed && str_find_char(p->text, '`') >= 0)
		refuse(p, STR("it has a file of the project and backquotes; write $(…)"));
	buf_add_str(&b, str_from(p->text, at));
	text = changed && !b.full ? arena_str(a, buf_str(&b)) : STR_NONE;
	buf_release(&b);
	*ret_why = p->why;
	return text;
}
