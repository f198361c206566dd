/* What a project's command runs, resolved as the guard resolves it, so that the copies of its files run instead; and
 * what those run and load in turn. What cannot be resolved, or would load files of the project that nobody has pinned,
 * is not run. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "hooks/pin.h"

enum { WORDS_MAX = 16384 };

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
str pin_absolute(struct pin *p, str word, str cwd)
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

/* The name of a path below the copies, or STR_NONE. */
static str in_copies(const struct pin *p, str path)
{
	str copies = p->tree->copies;

	return copies.n && str_starts(path, copies) && path.n > copies.n + 1 && path.p[copies.n] == '/'
		? str_from(path, copies.n + 1)
		: STR_NONE;
}

/* The name in the tree, or STR_NONE: it is not in it. *ret_copied: the path leads to the copy anyway. */
static str find_in_tree(struct pin *p, str word, str cwd, bool *ret_copied)
{
	str path = pin_absolute(p, word, cwd), name = str_is_set(path) ? in_copies(p, path) : STR_NONE;

	*ret_copied = str_is_set(name);
	return *ret_copied || !str_is_set(path) ? name : hook_relative(path, p->tree->root, p->a);
}

str pin_in_tree(struct pin *p, str word, str cwd)
{
	bool copied;

	return find_in_tree(p, word, cwd, &copied);
}

mode_t pin_type(struct pin *p, str name)
{
	char path[FS_PATH];
	struct stat st;

	if (fs_join(path, arena_cstr(p->a, p->tree->root), arena_cstr(p->a, name)) < 0 || lstat(path, &st) < 0)
		return 0;
	return st.st_mode & S_IFMT;
}

/* -- saying why -------------------------------------------------------------------------------- */

void pin_refuse(struct pin *p, str file, str why)
{
	if (str_is_set(p->why))
		return;
	if (str_is_set(file) && str_is_set(in_copies(p, file)))
		file = in_copies(p, file);
	p->why = str_is_set(file) ? arena_strf(p->a, STR_FMT ": " STR_FMT, STR_ARG(file), STR_ARG(why)) : why;
}

static void refuse(struct pin *p, const struct guard_command *c, str why)
{
	pin_refuse(p, c && str_is_set(c->file) ? c->file : p->reading, why);
}

void pin_offer(struct pin *p, str name)
{
	if (p->taker && str_is_set(name) && name.n)
		p->taker->name(name, p->taker->arg);
}

/* -- words ------------------------------------------------------------------------------------- */

static uint32_t *bucket_of(struct pin *p, const struct guard_word *w)
{
	size_t hash = w->begin * 31 + w->end;

	for (size_t i = 0; i < w->file.n; i++)
		hash = hash * 33 + (unsigned char)w->file.p[i];
	return &p->buckets[hash % PIN_BUCKETS];
}

bool pin_is_outer(const struct seen_word *s)
{
	return !str_is_set(s->w.file);
}

/* The word of this command that became the field, in a place where it can be replaced. What is made by another program
 * has none, nor has one that means another file where it stands than where it is used (env -C). */
static struct seen_word *word_of(struct pin *p, const struct guard_command *c, str field, str name)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct seen_word *s = &p->words[i];

		if (str_is_set(s->w.file) != str_is_set(c->file) || !str_eq(s->w.file, c->file))
			continue;
		for (size_t j = 0; j < s->w.n; j++)
			if (str_eq(s->w.fields[j], field) && str_eq(pin_in_tree(p, field, s->w.cwd), name) &&
				((s->w.index == 0 && j == 0) || pin_type(p, name) == S_IFREG || !pin_is_outer(s)))
				return s;
	}
	return NULL;
}

static bool is_word(const struct pin *p, str field)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (size_t j = 0; pin_is_outer(&p->words[i]) && j < p->words[i].w.n; j++)
			if (str_eq(p->words[i].w.fields[j], field))
				return true;
	return false;
}

/* -- programs ---------------------------------------------------------------------------------- */

static const char shells[] = "sh bash dash zsh ksh mksh ash rbash fish";

static const struct {
	const char *names, *language;
} interpreters[] = {
	{ "python python2 python3 pypy pypy3", "python" },
	{ "node nodejs", "node" },
	{ "ruby jruby", "ruby" },
	{ "perl", "perl" },
	{ "php", "php" },
	{ "lua luajit", "lua" },
	{ "tclsh expect julia osascript groovy scala elixir guile racket java pwsh awk gawk mawk sed gsed", "other" },
};

/* What they run stands in files of the project, wherever those are. */
static const char runners[] =
	"make gmake bmake ninja cmake ctest meson npm npx pnpm pnpx yarn bunx just task rake bundle invoke fab tox nox "
	"pytest py.test pre-commit lefthook husky poetry pipenv uv uvx pdm hatch rye cargo go gradle mvn sbt ant "
	"composer phpunit mix rebar3 stack cabal dotnet bazel buck nx turbo lerna gulp grunt vagrant docker-compose "
	"ansible-playbook direnv mise asdf dotenv nix nix-shell scons waf gradlew mvnw eslint prettier stylelint jest "
	"vitest mocha ava webpack vite rollup playwright cypress rubocop rspec pylint sphinx-build mkdocs";

/* Interpreters that take code from settings in the directory they run in. */
static const char settled[] = "bun deno tsx ts-node Rscript R";

static str language_of(str name)
{
	if (str_starts(name, STR("python3.")))
		return STR("python");
	if (str_starts(name, STR("perl5.")))
		return STR("perl");
	for (size_t i = 0; i < countof(interpreters); i++)
		if (one_of(name, interpreters[i].names))
			return str_of(interpreters[i].language);
	return STR_NONE;
}

static bool is_interpreter(str name)
{
	return str_is_set(language_of(name)) && !one_of(name, "awk gawk mawk sed gsed");
}

/* Where only root puts programs. */
bool pin_is_systems(str path)
{
	static const char *const places[] = { "/usr/", "/bin/", "/sbin/", "/opt/", "/nix/store/", "/lib/", "/etc/" };

	for (size_t i = 0; i < countof(places); i++)
		if (str_starts(path, str_of(places[i])))
			return true;
	return false;
}

/* -- the first line ---------------------------------------------------------------------------- */

struct first_line {
	str path, name, options; /* of the interpreter; STR_NONE: there is none */
};

static struct first_line read_first_line(str bytes)
{
	struct first_line f = { STR_NONE, STR_NONE, STR_NONE };
	ptrdiff_t end = str_find_char(bytes, '\n');
	str line = end < 0 ? bytes : str_head(bytes, (size_t)end), word;

	if (!str_starts(line, STR("#!")))
		return f;
	line = str_trim(str_from(line, 2));
	if (!str_split(&line, ' ', &f.path))
		return f;
	f.options = str_trim(line.p ? line : STR(""));
	f.name = f.path;
	for (ptrdiff_t slash; (slash = str_find_char(f.name, '/')) >= 0;)
		f.name = str_from(f.name, (size_t)slash + 1);
	/* env [-S] [NAME=value] program */
	while (str_eq(f.name, STR("env")) && str_split(&line, ' ', &word)) {
		f.options = str_trim(line.p ? line : STR(""));
		if (!word.n || word.p[0] == '-' || str_find_char(word, '=') >= 0)
			continue;
		f.path = f.name = word;
		break;
	}
	return f;
}

static bool is_text(str bytes)
{
	return !memchr(bytes.p ? bytes.p : "", 0, MIN(bytes.n, (size_t)4096));
}

/* -- files that run ---------------------------------------------------------------------------- */

void pin_quote(struct buf *b, str s)
{
	buf_add_char(b, '\'');
	for (size_t i = 0; i < s.n; i++)
		buf_add_str(b, s.p[i] == '\'' ? STR("'\\''") : str_n(s.p + i, 1));
	buf_add_char(b, '\'');
}

static bool read_file(struct pin *p, str name, str *ret)
{
	bool executable;

	return p->tree->read && p->tree->read(name, ret, &executable, p->tree->arg);
}

/* The interpreter that a file of the tree names in its first line, if that is one of the tree too: the kernel would run
 * it where it is. */
str pin_interpreter(struct pin *p, str name, str *ret_options)
{
	struct first_line f;
	str bytes;

	if (!read_file(p, name, &bytes))
		return STR_NONE;
	f = read_first_line(bytes);
	*ret_options = f.options;
	return str_is_set(f.path) && str_find_char(f.path, '/') >= 0 ? pin_in_tree(p, f.path, p->tree->root) : STR_NONE;
}

/* What is written in the place of a program or script: copies is its directory, quoted or TRUST_COPY. */
str pin_words(struct pin *p, str name, str copies, bool program)
{
	struct buf b = BUF_INIT(1 << 16);
	str options = STR(""), interpreter = program ? pin_interpreter(p, name, &options) : STR_NONE, text;

	if (str_is_set(interpreter)) {
		pin_quote(&b, arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(copies), STR_ARG(interpreter)));
		buf_add_char(&b, ' ');
		if (options.n) {
			pin_quote(&b, options);
			buf_add_char(&b, ' ');
		}
	}
	pin_quote(&b, arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(copies), STR_ARG(name)));
	text = b.full ? STR("") : arena_str(p->a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* A file of the tree runs, or is loaded, where the command names it: its copy must be there instead. */
static bool take_code(struct pin *p, const struct guard_command *c, str word, str name, bool copied)
{
	struct seen_word *s;

	pin_offer(p, name);
	if (copied)
		return true;
	s = c->nested ? NULL : word_of(p, c, word, name);
	if (!s || (str_is_set(c->file) && (s->w.n != 1 || !p->taker))) {
		refuse(p, c, STR("it names a file of the project inside another text, or seen from another directory"));
		return false;
	}
	if (str_is_set(c->file))
		s->link = pin_words(p, name, STR("\1"), str_eq(word, c->v[0]));
	return true;
}

static void check_code(struct pin *p, str language, str name, str base);

/* The first word of a command, or the interpreter in its first line, starts this file. */
static void check_file(struct pin *p, const struct guard_command *c, str name)
{
	str bytes, options = STR(""), interpreter, *v;
	struct first_line f;
	struct err err = { 0 };
	size_t n = 0;

	if (!read_file(p, name, &bytes))
		return;
	f = read_first_line(bytes);
	interpreter = pin_interpreter(p, name, &options);
	if (str_is_set(interpreter)) {
		v = arena_alloc(p->a, (c->n + 3) * sizeof *v);
		v[n++] = arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(p->tree->copies), STR_ARG(interpreter));
		if (options.n)
			v[n++] = options;
		v[n++] = arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(p->tree->copies), STR_ARG(name));
		for (size_t i = 1; i < c->n; i++)
			v[n++] = c->v[i];
		if (p->depth++ > 4 || guard_watch_argv(&p->context, v, n, p->a, &p->watcher, &err) < 0)
			pin_refuse(p, interpreter, STR("what it runs as an interpreter cannot be resolved"));
		p->depth--;
	} else if (str_is_set(f.path) && (one_of(f.name, runners) || one_of(f.name, settled))) {
		pin_refuse(p, name, arena_strf(p->a, STR_FMT " runs what files of the project say", STR_ARG(f.name)));
	} else if (str_is_set(f.path) && !one_of(f.name, shells)) {
		str language = language_of(f.name);

		check_code(p, str_is_set(language) ? language : STR("other"), name, STR_NONE);
	}
}

static bool is_plain_path(struct pin *p, str value)
{
	str part;

	while (str_split(&value, ':', &part))
		if (!part.n || part.p[0] != '/' || !guard_is_known(part) ||
			str_is_set(pin_in_tree(p, part, STR("/"))) || str_eq(part, p->tree->root))
			return false;
	return true;
}

/* Variables that decide where code comes from, set to what decides nothing. */
static bool is_harmless(struct pin *p, const struct guard_command *c, const struct guard_loader *l)
{
	if (str_eq(l->name, STR("PATH")))
		return is_plain_path(p, l->value);
	if (!str_eq(l->name, STR("IFS")))
		return false;
	if (one_of(c->name, "read mapfile readarray"))
		return true;
	for (size_t i = 0; i < l->value.n; i++)
		if (!strchr(" \t\n", l->value.p[i]))
			return false;
	return true;
}

/* In the directory of the copies they find nothing of the project. */
static const char placeless[] =
	"cd pushd popd pwd echo printf dirname basename test [ true false : readlink realpath . "
	"source exit return set export local declare readonly shift eval trap read unset";

static void check_surroundings(struct pin *p, const struct guard_command *c)
{
	for (size_t i = 0; i < c->nloaders; i++)
		if (!is_harmless(p, c, &c->loaders[i]))
			refuse(p, c,
				arena_strf(p->a, "it sets " STR_FMT ", which decides what is loaded from where",
					STR_ARG(c->loaders[i].name)));
	if (one_of(c->name, runners) || one_of(c->name, settled))
		refuse(p, c,
			arena_strf(p->a, STR_FMT " runs what files of the project say, and they cannot all be pinned",
				STR_ARG(c->name)));
	if (str_is_set(c->file) && str_eq(c->cwd, p->tree->copies) && !one_of(c->name, placeless) &&
		str_find_char(c->v[0], '/') < 0)
		refuse(p, c,
			arena_strf(p->a,
				"it runs " STR_FMT " in the directory above its own, where only copies are; use "
				"\"$CLAUDE_PROJECT_DIR\" for the project's",
				STR_ARG(c->name)));
}

static void check_program(struct pin *p, const struct guard_command *c)
{
	str word = c->v[0], path, name;
	bool copied;

	if (!guard_is_known(word) &&
		(c->nested || str_is_set(c->file) || !guard_has_pattern(word) || !is_word(p, word))) {
		refuse(p, c, STR("which program it runs is only known when it runs"));
		return;
	}
	check_surroundings(p, c);
	if (str_find_char(word, '/') < 0 || guard_has_pattern(word))
		return;
	path = pin_absolute(p, word, c->cwd);
	name = find_in_tree(p, word, c->cwd, &copied);
	if (!str_is_set(path))
		refuse(p, c, STR("in which directory it runs a program is only known when it runs"));
	else if (!str_is_set(name) && !pin_is_systems(path))
		refuse(p, c, STR("it runs a program that is neither the project's nor the system's"));
	else if (str_is_set(name) && take_code(p, c, word, name, copied))
		check_file(p, c, name);
}

/* sh FILE, python3 FILE, . FILE */
static void check_script(struct pin *p, const struct guard_command *c, str word)
{
	bool copied, outer = !str_is_set(c->file) && !str_is_set(p->reading);
	str name = find_in_tree(p, word, c->cwd, &copied), language = language_of(c->name);
	mode_t type;

	if (!guard_is_known(word)) {
		refuse(p, c, arena_strf(p->a, "what " STR_FMT " runs is only known when it runs", STR_ARG(c->name)));
		return;
	}
	if (!str_is_set(name)) {
		str path = pin_absolute(p, word, c->cwd);

		if (!str_is_set(path) || (!pin_is_systems(path) && !str_eq(path, STR("/dev/null"))))
			refuse(p, c, STR("it runs a script that is neither the project's nor the system's"));
		return;
	}
	type = pin_type(p, name);
	if (type == S_IFDIR || (type != S_IFREG && outer && !copied)) {
		refuse(p, c,
			arena_strf(p->a, STR_FMT " is given %s, not a file of the project", STR_ARG(c->name),
				type == S_IFDIR ? "a directory" : "something that is not there"));
		return;
	}
	if (take_code(p, c, word, name, copied) && str_is_set(language))
		check_code(p, language, name, STR_NONE);
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

static void check_inline(struct pin *p, const struct guard_command *c, str language, str code);

/* python3 -I -c: without the project's modules; the code itself can be read. True: that was it. */
static bool is_isolated(struct pin *p, const struct guard_command *c)
{
	bool isolated = false;

	for (size_t i = 1; i < c->n && c->v[i].n > 1 && c->v[i].p[0] == '-' && c->v[i].p[1] != '-'; i++) {
		isolated |= memchr(c->v[i].p, 'I', c->v[i].n) != NULL;
		if (!memchr(c->v[i].p, 'c', c->v[i].n))
			continue;
		if (!isolated || i + 1 >= c->n || !guard_is_known(c->v[i + 1]))
			return false;
		check_inline(p, c, STR("python"), c->v[i + 1]);
		return true;
	}
	return false;
}

static void check_interpreter(struct pin *p, const struct guard_command *c)
{
	bool shell = one_of(c->name, shells), python = str_eq(language_of(c->name), STR("python"));

	if (python && is_isolated(p, c))
		return;
	for (size_t i = 1; i < c->n; i++) {
		str word = c->v[i];

		/* The guard reads the text of sh -c itself, as long as it is known. */
		if (shell && word.n >= 2 && word.p[0] == '-' && word.p[1] != '-' && memchr(word.p, 'c', word.n)) {
			if (i + 1 >= c->n || !guard_is_known(c->v[i + 1]))
				refuse(p, c, STR("the text that a shell runs is only known when it runs"));
			return;
		}
		if (brings_code(c, word)) {
			refuse(p, c,
				arena_strf(p->a,
					STR_FMT
					" is given code that may load files of the project; put the code into a "
					"file of the project%s",
					STR_ARG(c->name), python ? ", or use python3 -I -c" : ""));
			return;
		}
		if (word.n && word.p[0] == '-')
			continue;
		check_script(p, c, word);
		return;
	}
	if (!str_is_set(c->in) || !guard_is_known(c->in))
		refuse(p, c, arena_strf(p->a, STR_FMT " reads what it runs from its input", STR_ARG(c->name)));
}

/* awk -f FILE and the like. */
static void check_program_file(struct pin *p, const struct guard_command *c)
{
	for (size_t i = 1; i + 1 < c->n; i++)
		if (one_of(c->v[i], "-f --file --from-file -E --exec")) {
			bool copied;
			str name = find_in_tree(p, c->v[i + 1], c->cwd, &copied);

			if (str_is_set(name))
				(void)take_code(p, c, c->v[i + 1], name, copied);
		}
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
	else if (one_of(c->name, "awk gawk mawk nawk sed gsed jq yq bc m4"))
		check_program_file(p, c);
	for (size_t i = 1; i < c->n && !str_is_set(c->file) && !str_is_set(p->reading); i++) {
		bool copied;
		str name = guard_is_known(c->v[i]) ? find_in_tree(p, c->v[i], c->cwd, &copied) : STR_NONE;

		if (str_is_set(name) && !copied && pin_type(p, name) == S_IFREG &&
			(c->nested || !word_of(p, c, c->v[i], name)))
			refuse(p, c,
				STR("it names a file of the project inside another text, or seen from another "
				    "directory"));
	}
}

/* A shell script of the tree, for the guard to read on in it. */
static bool on_script(str path, enum guard_start how, struct guard_script *ret, void *arg)
{
	struct pin *p = arg;
	bool copied;
	str name = find_in_tree(p, path, STR("/"), &copied);
	struct first_line f;

	if (!str_is_set(name) || !read_file(p, name, &ret->text))
		return false;
	f = read_first_line(ret->text);
	if (how == GUARD_EXECUTED && (str_is_set(f.name) ? !one_of(f.name, shells) : !is_text(ret->text)))
		return false;
	ret->path = arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(p->tree->copies), STR_ARG(name));
	return true;
}

static bool same_word(const struct guard_word *x, const struct guard_word *y)
{
	if (x->n != y->n || !str_eq(x->cwd, y->cwd))
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (!str_eq(x->fields[i], y->fields[i]))
			return false;
	return true;
}

bool pin_touches_tree(struct pin *p, const struct guard_word *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (!guard_is_known(w->fields[i]) || str_is_set(pin_in_tree(p, w->fields[i], w->cwd)))
			return true;
	return false;
}

/* A file beside a script, which looks for it beside its copy. */
static void offer_beside(struct pin *p, const struct guard_word *w)
{
	for (size_t i = 0; i < w->n && p->taker; i++) {
		str path = guard_is_known(w->fields[i]) ? pin_absolute(p, w->fields[i], w->cwd) : STR_NONE;
		str name = str_is_set(path) ? in_copies(p, path) : STR_NONE;

		if (str_is_set(name) && p->tree->exists(name, p->tree->arg))
			pin_offer(p, name);
	}
}

static void on_word(const struct guard_word *w, void *arg)
{
	struct pin *p = arg;
	uint32_t *bucket = bucket_of(p, w);
	str *fields = arena_alloc(p->a, (w->n + 1) * sizeof *fields);
	struct seen_word *s;

	if (str_is_set(w->file))
		offer_beside(p, w);
	for (uint32_t i = *bucket; i; i = p->words[i - 1].next) {
		s = &p->words[i - 1];
		if (s->w.begin != w->begin || s->w.end != w->end || !str_eq(s->w.file, w->file))
			continue;
		if (!same_word(&s->w, w) && (pin_touches_tree(p, w) || pin_touches_tree(p, &s->w))) {
			s->varies = true;
			if (pin_is_outer(s))
				refuse(p, NULL, STR("one of its words stands for several files of the project"));
		}
		return;
	}
	if (p->n == WORDS_MAX) {
		pin_refuse(p, w->file, STR("it has too many words"));
		return;
	}
	if (p->n == p->cap) {
		s = arena_alloc(p->a, (size_t)(p->cap = p->cap ? 2 * p->cap : 256) * sizeof *s);
		if (p->n)
			memcpy(s, p->words, p->n * sizeof *s);
		p->words = s;
	}
	for (size_t i = 0; i < w->n; i++)
		fields[i] = arena_str(p->a, w->fields[i]);
	s = &p->words[p->n++];
	*s = (struct seen_word){ .w = *w, .next = *bucket, .link = STR_NONE };
	s->w.cwd = arena_str(p->a, w->cwd);
	s->w.fields = fields;
	*bucket = p->n;
}

/* -- programs of interpreters ------------------------------------------------------------------- */

static bool load_exists(str name, void *arg)
{
	struct pin *p = arg;

	return p->tree->exists(name, p->tree->arg);
}

static mode_t load_in_project(str name, void *arg)
{
	struct pin *p = arg;
	char path[FS_PATH];
	struct stat st;

	if (fs_join(path, arena_cstr(p->a, p->tree->root), arena_cstr(p->a, name)) < 0 || lstat(path, &st) < 0 ||
		S_ISDIR(st.st_mode))
		return 0;
	return st.st_mode;
}

static void load_taken(str name, bool code, void *arg)
{
	static const struct {
		const char *end, *language;
	} ends[] = { { ".py", "python" }, { ".js", "node" }, { ".mjs", "node" }, { ".cjs", "node" }, { ".ts", "node" },
		{ ".rb", "ruby" }, { ".pl", "perl" }, { ".pm", "perl" }, { ".php", "php" }, { ".lua", "lua" } };
	struct pin *p = arg;
	struct err err = { 0 };

	pin_offer(p, name);
	if (!code)
		return;
	for (size_t i = 0; i < countof(ends); i++)
		if (str_ends(name, str_of(ends[i].end)))
			check_code(p, str_of(ends[i].language), name, p->base);
	if (str_ends(name, STR("sh")) && p->depth < 4) {
		str v[2] = { STR("sh"),
			arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(p->tree->copies), STR_ARG(name)) };

		p->depth++;
		if (guard_watch_argv(&p->context, v, 2, p->a, &p->watcher, &err) < 0)
			pin_refuse(p, name, str_of(err.text));
		p->depth--;
	}
}

static void load_refused(str why, void *arg)
{
	refuse(arg, NULL, why);
}

static void read_code(struct pin *p, str language, str text, str name)
{
	struct hook_loads to = { load_exists, load_in_project, load_taken, load_refused, p };
	struct err err = { 0 };

	if (!str_eq(language, STR("other")) &&
		guard_watch_code(&p->context, language, text, p->a, &p->watcher, &err) < 0)
		refuse(p, NULL, arena_strf(p->a, "what it runs cannot be resolved: %s", err.text));
	if (!str_is_set(p->why))
		hook_each_load(language, text, name, p->base, p->a, &to);
}

/* A program of the tree: what it runs and what it loads. base: where its modules are; STR_NONE: beside it. */
static void check_code(struct pin *p, str language, str name, str base)
{
	str bytes, reading = p->reading, above = p->base;
	size_t n = name.n;

	for (size_t i = 0; i < p->ncode; i++)
		if (str_eq(p->code[i], name))
			return;
	if (!read_file(p, name, &bytes) || str_is_set(p->why))
		return;
	if (p->ncode == PIN_CODE_MAX) {
		pin_refuse(p, name, STR("it loads too many files"));
		return;
	}
	p->code[p->ncode++] = name;
	while (n && name.p[n - 1] != '/')
		n--;
	p->reading = name;
	p->base = str_is_set(base) ? base : str_head(name, n ? n - 1 : 0);
	read_code(p, language, bytes, name);
	p->reading = reading;
	p->base = above;
}

/* Code on a command line that finds no module of the project. */
static void check_inline(struct pin *p, const struct guard_command *c, str language, str code)
{
	str reading = p->reading, above = p->base;

	p->reading = str_is_set(c->file) ? c->file : STR("python3 -I -c");
	p->base = STR_NONE;
	read_code(p, language, code, STR(""));
	p->reading = reading;
	p->base = above;
}

/* -- both together ----------------------------------------------------------------------------- */

/* A pattern in the place of a program, as it stands in the text; files of dir that fit. */
size_t pin_glob(struct pin *p, const struct guard_word *w, const char *dir, str ret[PIN_GLOB_MAX])
{
	str raw = str_n(p->text.p + w->begin, w->end - w->begin), at = pin_in_tree(p, STR("x"), w->cwd);
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
		for (size_t i = 0; i < g.gl_pathc && n < PIN_GLOB_MAX; i++)
			ret[n++] = arena_str(p->a, str_of(g.gl_pathv[i] + skip));
	globfree(&g);
	return n;
}

/* What a pattern in the place of a program fits. */
static void check_patterns(struct pin *p, bool exec_form)
{
	bool copied = p->tree->read && !p->taker;
	const char *dir = arena_cstr(p->a, copied ? p->tree->copies : p->tree->root);
	str found[PIN_GLOB_MAX], v;

	for (uint32_t i = 0; i < p->n && !exec_form && p->tree->read; i++) {
		const struct guard_word *w = &p->words[i].w;

		if (!pin_is_outer(&p->words[i]) || w->index != 0 || w->n != 1 || !guard_has_pattern(w->fields[0]))
			continue;
		for (size_t k = 0, n = pin_glob(p, w, dir, found); k < n; k++) {
			struct err err = { 0 };

			v = arena_strf(p->a, STR_FMT "/" STR_FMT, STR_ARG(p->tree->copies), STR_ARG(found[k]));
			if (guard_watch_argv(&p->context, &v, 1, p->a, &p->watcher, &err) < 0)
				pin_refuse(p, found[k], str_of(err.text));
		}
	}
}

/* Words of scripts that become the copies' paths. */
static void make_links(struct pin *p)
{
	for (uint32_t i = 0; i < p->n && p->taker; i++) {
		const struct seen_word *s = &p->words[i];

		if (!str_is_set(s->link))
			continue;
		if (s->varies)
			pin_refuse(p, s->w.file, STR("one of its words stands for several files of the project"));
		else if (p->taker->link)
			p->taker->link(in_copies(p, s->w.file), s->w.begin, s->w.end, s->link, p->taker->arg);
	}
}

struct pin *pin_resolve(const struct hook *h, const struct hook_tree *t, const struct hook_taker *taker,
	struct arena *a)
{
	struct pin *p = arena_new(a, struct pin);
	struct err err = { 0 };
	int r;

	*p = (struct pin){ .a = a,
		.tree = t,
		.taker = taker,
		.text = h->command,
		.reading = STR_NONE,
		.why = STR_NONE };
	p->context = (struct guard_context){ .cwd = t->root, .root = t->root, .home = t->home };
	p->watcher = (struct guard_watcher){ on_word, on_command, t->read ? on_script : NULL, p };
	if (h->exec_form) {
		str *v = arena_alloc(a, (h->nargs + 1) * sizeof *v);

		v[0] = hook_expand_root(h->command, t->root, a);
		for (size_t i = 0; i < h->nargs; i++)
			v[i + 1] = hook_expand_root(h->args[i], t->root, a);
		on_word(&(struct guard_word){ .fields = v, .n = h->nargs + 1, .cwd = t->root, .file = STR_NONE }, p);
		r = guard_watch_argv(&p->context, v, h->nargs + 1, a, &p->watcher, &err);
	} else {
		r = guard_watch(&p->context, h->command, a, &p->watcher, &err);
	}
	if (r < 0)
		refuse(p, NULL, arena_strf(a, "the shell's grammar: %s", err.text));
	check_patterns(p, h->exec_form);
	make_links(p);
	return p;
}
