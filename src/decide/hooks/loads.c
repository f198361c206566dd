/* Which files a program of Python, Node, Ruby, Perl, PHP or Lua loads while it runs, as its own text says. What lies
 * beside it is found beside its copy, so such files are pinned with it; what would be loaded from the project itself,
 * or is only known when it runs, cannot be. Nothing is parsed: names, strings and marks of a statement are enough. */
#include <sys/stat.h>

#include "hooks/internal.h"

enum { TOKENS_MAX = 200000, DIRS_MAX = 16, DERIVED_MAX = 64, PIECES_MAX = 8, PATH_MAX_TEXT = 200 };

enum token_kind { TOKEN_NAME, TOKEN_STRING, TOKEN_MARK, TOKEN_END };

struct token {
	enum token_kind kind;
	str text;
};

/* A variable that holds a path made from the program's own. */
struct derived {
	str name, path;
};

struct loads {
	const struct hook_loads *to;
	struct arena *a;
	str language, file, dir; /* of the program, in the tree */
	struct token *t;
	size_t n;
	str dirs[DIRS_MAX]; /* where modules are looked for */
	size_t ndirs;
	struct derived derived[DERIVED_MAX];
	size_t nderived;
};

/* -- reading ----------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		(unsigned char)c >= 0x80;
}

static bool is_any(str s, const char *words)
{
	str rest = str_of(words), word;

	while (str_split(&rest, ' ', &word))
		if (str_eq(s, word))
			return true;
	return false;
}

static bool is(const struct loads *k, const char *languages)
{
	return is_any(k->language, languages);
}

static void add_token(struct loads *k, enum token_kind kind, str text)
{
	if (k->n < TOKENS_MAX)
		k->t[k->n++] = (struct token){ kind, text };
}

/* Where the comment at i ends, or i. */
static size_t comment_end(const struct loads *k, str s, size_t i)
{
	str rest = str_from(s, i);
	bool line = (s.p[i] == '#' && is(k, "python ruby perl php other") && !(i && s.p[i - 1] == '$')) ||
		(str_starts(rest, STR("//")) && is(k, "node php other")) ||
		(str_starts(rest, STR("--")) && is(k, "lua"));
	ptrdiff_t end;

	if (str_starts(rest, STR("/*")) && is(k, "node php other")) {
		end = str_find(rest, STR("*/"));
		return end < 0 ? s.n : i + (size_t)end + 2;
	}
	if (!line)
		return i;
	end = str_find_char(rest, '\n');
	return end < 0 ? s.n : i + (size_t)end;
}

/* A string that is not closed ends with its line: better to read too much code than too little. */
static size_t take_string(struct loads *k, str s, size_t i)
{
	char quote = s.p[i];
	const char triple[] = { quote, quote, quote, 0 };
	size_t from = i + 1, end;

	if (is(k, "python") && str_starts(str_from(s, i), str_of(triple))) {
		ptrdiff_t at = str_find(str_from(s, i + 3), str_of(triple));

		return at < 0 ? s.n : i + 3 + (size_t)at + 3;
	}
	for (end = from; end < s.n && s.p[end] != quote && (s.p[end] != '\n' || quote == '`'); end++)
		end += s.p[end] == '\\' && end + 1 < s.n;
	end = MIN(end, s.n);
	add_token(k, TOKEN_STRING, str_n(s.p + from, end - from));
	return MIN(end + 1, s.n);
}

/* /regular expressions/ of Node may hold quotes. */
static size_t regex_end(const struct loads *k, str s, size_t i)
{
	const struct token *last = k->n ? &k->t[k->n - 1] : NULL;
	bool in_set = false;

	if (!is(k, "node") ||
		(last && last->kind != TOKEN_END &&
			!(last->kind == TOKEN_MARK && strchr("(,=:[!&|?{};+", last->text.p[0])) &&
			!(last->kind == TOKEN_NAME && is_any(last->text, "return typeof case in of"))))
		return i;
	for (size_t end = i + 1; end < s.n && s.p[end] != '\n'; end++) {
		if (s.p[end] == '\\')
			end++;
		else if (s.p[end] == '[' || s.p[end] == ']')
			in_set = s.p[end] == '[';
		else if (s.p[end] == '/' && !in_set)
			return end + 1;
	}
	return i;
}

static void tokenize(struct loads *k, str s)
{
	unsigned depth = 0;
	size_t i = 0, from;

	while (i < s.n) {
		char c = s.p[i];

		from = i;
		if ((i = comment_end(k, s, i)) != from || (c == '/' && (i = regex_end(k, s, i)) != from))
			continue;
		if (c == '\\' && i + 1 < s.n && s.p[i + 1] == '\n' && is(k, "python")) {
			i += 2;
		} else if ((c == '\n' && (depth == 0 || !is(k, "python"))) || c == ';') {
			add_token(k, TOKEN_END, str_n(s.p + i++, 1));
		} else if (c == '"' || c == '\'' || (c == '`' && is(k, "node"))) {
			i = take_string(k, s, i);
		} else if (is_name_char(c)) {
			while (i < s.n && is_name_char(s.p[i]))
				i++;
			add_token(k, TOKEN_NAME, str_n(s.p + from, i - from));
		} else {
			depth += strchr("([{", c) != NULL;
			depth -= depth && strchr(")]}", c);
			if ((unsigned char)c > ' ')
				add_token(k, TOKEN_MARK, str_n(s.p + i, 1));
			i++;
		}
	}
	add_token(k, TOKEN_END, STR(""));
}

/* -- tokens ------------------------------------------------------------------------------------ */

static bool is_mark(const struct loads *k, size_t i, char c)
{
	return i < k->n && k->t[i].kind == TOKEN_MARK && k->t[i].text.p[0] == c;
}

static bool is_word(const struct loads *k, size_t i, const char *names)
{
	return i < k->n && k->t[i].kind == TOKEN_NAME && is_any(k->t[i].text, names);
}

static bool is_string(const struct loads *k, size_t i)
{
	return i < k->n && k->t[i].kind == TOKEN_STRING;
}

static size_t end_of(const struct loads *k, size_t i)
{
	while (i < k->n && k->t[i].kind != TOKEN_END)
		i++;
	return i;
}

static bool has_word(const struct loads *k, size_t from, size_t end, const char *names)
{
	for (size_t i = from; i < end; i++)
		if (is_word(k, i, names))
			return true;
	return false;
}

/* -- names in the tree ------------------------------------------------------------------------- */

/* a/b with .. taken away; STR_NONE: it leaves the tree. */
static str joined(struct loads *k, str dir, str name)
{
	struct buf b = BUF_INIT(FS_PATH);
	str rest = arena_strf(k->a, STR_FMT "/" STR_FMT, STR_ARG(dir), STR_ARG(name)), piece, path;
	bool out = false;

	while (str_split(&rest, '/', &piece)) {
		if (str_empty(piece) || str_eq(piece, STR(".")))
			continue;
		if (str_eq(piece, STR(".."))) {
			out |= !b.len;
			while (b.len && b.p[b.len - 1] != '/')
				b.len--;
			b.len -= b.len > 0;
			continue;
		}
		if (b.len)
			buf_add_char(&b, '/');
		buf_add_str(&b, piece);
	}
	path = out || b.full ? STR_NONE : b.len ? arena_str(k->a, buf_str(&b)) : STR("");
	buf_release(&b);
	return path;
}

static str dir_of(str name)
{
	size_t n = name.n;

	while (n && name.p[n - 1] != '/')
		n--;
	return str_head(name, n ? n - 1 : 0);
}

static bool exists(const struct loads *k, str name)
{
	return str_is_set(name) && name.n && k->to->exists(name, k->to->arg);
}

static bool in_project(const struct loads *k, str name)
{
	return str_is_set(name) && name.n && k->to->in_project(name, k->to->arg);
}

static bool load(struct loads *k, str name, bool code)
{
	if (!exists(k, name))
		return false;
	k->to->load(name, code, k->to->arg);
	return true;
}

static void refuse(struct loads *k, str why)
{
	k->to->refuse(why, k->to->arg);
}

static void refuse_dynamic(struct loads *k, str what)
{
	refuse(k, arena_strf(k->a, "what it loads (" STR_FMT ") is only known when it runs", STR_ARG(what)));
}

static void refuse_place(struct loads *k, str what)
{
	refuse(k,
		arena_strf(k->a,
			"it loads " STR_FMT
			" from the project, not from beside its copy; name it relative to the script",
			STR_ARG(what)));
}

/* -- paths made from the program's own ---------------------------------------------------------- */

static const struct derived *derived_by(const struct loads *k, str name)
{
	for (size_t i = k->nderived; i > 0; i--)
		if (str_eq(k->derived[i - 1].name, name))
			return &k->derived[i - 1];
	return NULL;
}

/* dirname(__file__), Path(__file__).parent / "x": a path in the tree; STR_NONE: no such thing. */
static str own_path(struct loads *k, size_t from, size_t end)
{
	str path = STR_NONE;
	int64_t n;

	for (size_t i = from; i < end; i++) {
		const struct derived *d = k->t[i].kind == TOKEN_NAME ? derived_by(k, k->t[i].text) : NULL;

		if (is_word(k, i, "__file__ __filename"))
			path = k->file;
		else if (is_word(k, i, "__dirname __DIR__ __dir__"))
			path = k->dir;
		else if (d)
			path = d->path;
	}
	if (!str_is_set(path))
		return STR_NONE;
	for (size_t i = from; i < end; i++) {
		if (is_word(k, i, "dirname parent"))
			path = dir_of(path);
		for (n = -1; is_word(k, i, "parents") && is_mark(k, i + 1, '[') && n < 0;) {
			if (i + 2 >= k->n || !str_to_int(k->t[i + 2].text, &n) || n < 0 || n > 16)
				return STR_NONE;
			for (int64_t up = 0; up <= n; up++)
				path = dir_of(path);
		}
	}
	for (size_t i = from; i < end && str_is_set(path); i++)
		if (is_string(k, i) || is_word(k, i, "pardir"))
			path = joined(k, path, is_string(k, i) ? k->t[i].text : STR(".."));
	return path;
}

static void note_derived(struct loads *k, size_t i, size_t end)
{
	str path;

	if (k->t[i].kind != TOKEN_NAME || !is_mark(k, i + 1, '=') || is_mark(k, i + 2, '=') ||
		k->nderived == DERIVED_MAX)
		return;
	path = own_path(k, i + 2, end);
	if (str_is_set(path))
		k->derived[k->nderived++] = (struct derived){ k->t[i].text, path };
}

/* -- Python ------------------------------------------------------------------------------------ */

/* One module: every package on the way to it, and the module itself. True: it is there. */
static bool load_module(struct loads *k, str dir, str path)
{
	bool found = false;

	for (size_t i = 1; i <= path.n; i++) {
		str head = str_head(path, i);

		if (i < path.n && path.p[i] != '/')
			continue;
		found |= load(k, joined(k, dir, arena_strf(k->a, STR_FMT "/__init__.py", STR_ARG(head))), true);
		found |= load(k, joined(k, dir, arena_strf(k->a, STR_FMT ".py", STR_ARG(head))), true);
	}
	return found;
}

/* a.b.c at *i, as a path. */
static str take_dotted(struct loads *k, size_t *i)
{
	struct buf b = BUF_INIT(FS_PATH);
	str path;

	while (*i < k->n && k->t[*i].kind == TOKEN_NAME && !is_any(k->t[*i].text, "import as")) {
		buf_add_str(&b, k->t[(*i)++].text);
		if (!is_mark(k, *i, '.'))
			break;
		buf_add_char(&b, '/');
		++*i;
	}
	path = arena_str(k->a, b.len ? buf_str(&b) : STR(""));
	buf_release(&b);
	return path;
}

static void load_from(struct loads *k, size_t i, size_t end)
{
	str dir = k->dir, path;
	bool relative = is_mark(k, i, '.');
	size_t names;

	for (unsigned dots = 0; is_mark(k, i, '.'); i++, dots++)
		if (dots)
			dir = dir_of(dir);
	path = take_dotted(k, &i);
	names = i + 1;
	if (!is_word(k, i, "import"))
		return;
	for (size_t d = 0; d < (relative ? 1 : k->ndirs); d++) {
		str at = relative ? dir : k->dirs[d];

		if (path.n)
			(void)load_module(k, at, path);
		else
			(void)load(k, joined(k, at, STR("__init__.py")), true);
		for (i = names; i < end; i++)
			if (k->t[i].kind == TOKEN_NAME && !(i > names && is_word(k, i - 1, "as")))
				(void)load_module(k, joined(k, at, path), k->t[i].text);
	}
}

static void load_imports(struct loads *k, size_t i, size_t end)
{
	while (i < end) {
		str path = take_dotted(k, &i);

		for (size_t d = 0; d < k->ndirs && path.n; d++)
			(void)load_module(k, k->dirs[d], path);
		while (i < end && !is_mark(k, i, ','))
			i++;
		i++;
	}
}

static bool changes_sys_path(const struct loads *k, size_t i)
{
	return is_word(k, i, "sys") && is_mark(k, i + 1, '.') && is_word(k, i + 2, "path") &&
		(is_mark(k, i + 3, '=') || is_mark(k, i + 3, '+') || is_mark(k, i + 3, '[') ||
			(is_mark(k, i + 3, '.') && is_word(k, i + 4, "insert append extend")));
}

static void python_statement(struct loads *k, size_t i, size_t end)
{
	static const char loaders[] = "__import__ importlib import_module runpy execfile spec_from_file_location "
				      "addsitedir zipimport run_path";

	if (is_word(k, i, "import")) {
		load_imports(k, i + 1, end);
		if (!has_word(k, i, end, loaders))
			return;
	} else if (is_word(k, i, "from")) {
		load_from(k, i + 1, end);
	}
	note_derived(k, i, end);
	for (size_t at = i; at < end; at++) {
		str dir = changes_sys_path(k, at) ? own_path(k, at, end) : STR_NONE;

		if (is_mark(k, at, ':') && is_word(k, at + 1, "import")) /* try: import x */
			load_imports(k, at + 2, end);
		else if (is_mark(k, at, ':') && is_word(k, at + 1, "from"))
			load_from(k, at + 2, end);

		if (changes_sys_path(k, at) && !str_is_set(dir))
			refuse_dynamic(k, STR("sys.path"));
		else if (str_is_set(dir) && k->ndirs < DIRS_MAX)
			k->dirs[k->ndirs++] = dir;
		if (is_word(k, at, loaders) ||
			(is_word(k, at, "exec") && is_mark(k, at + 1, '(') && !(at && is_mark(k, at - 1, '.'))))
			refuse_dynamic(k, k->t[at].text);
	}
}

/* -- Node -------------------------------------------------------------------------------------- */

static const char node_own[] =
	"assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain "
	"events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl "
	"stream string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib";

static void load_package(struct loads *k, str spec)
{
	ptrdiff_t slash = str_find_char(spec, '/');
	str first = slash > 0 && spec.p[0] != '@' ? str_head(spec, (size_t)slash) : spec;

	if (str_starts(spec, STR("node:")) || str_starts(spec, STR("bun:")) || is_any(first, node_own))
		return;
	for (str dir = k->dir;; dir = dir_of(dir)) {
		if (in_project(k,
			    joined(k, dir, arena_strf(k->a, "node_modules/" STR_FMT "/package.json", STR_ARG(first)))))
			refuse(k,
				arena_strf(k->a, "it loads " STR_FMT " from node_modules, which cannot be pinned",
					STR_ARG(first)));
		if (!dir.n)
			return;
	}
}

static void load_spec(struct loads *k, str spec)
{
	static const char *const ends[] = { "", ".js", ".cjs", ".mjs", ".json", ".ts", ".node", "/index.js",
		"/index.cjs", "/index.mjs", "/index.json" };

	if (str_find_char(spec, '$') >= 0 && str_find(spec, STR("${")) >= 0) {
		refuse_dynamic(k, spec);
		return;
	}
	if (!spec.n || (spec.p[0] != '.' && spec.p[0] != '/')) {
		if (spec.n)
			load_package(k, spec);
		return;
	}
	if (spec.p[0] == '/') {
		refuse_place(k, spec);
		return;
	}
	if (in_project(k, joined(k, k->dir, arena_strf(k->a, STR_FMT "/package.json", STR_ARG(spec)))))
		refuse(k,
			arena_strf(k->a, "it loads the package " STR_FMT ", of which not all can be pinned",
				STR_ARG(spec)));
	for (size_t i = 0; i < countof(ends); i++)
		(void)load(k, joined(k, k->dir, arena_strf(k->a, STR_FMT "%s", STR_ARG(spec), ends[i])),
			i != 4 && i != 10);
}

static void node_statement(struct loads *k, size_t i, size_t end)
{
	note_derived(k, is_word(k, i, "const let var") ? i + 1 : i, end);
	for (size_t at = i; at < end; at++) {
		bool call = is_mark(k, at + 1, '('), method = at && is_mark(k, at - 1, '.');
		str own;

		if (is_word(k, at, "createRequire"))
			refuse_dynamic(k, k->t[at].text);
		if (method || !is_word(k, at, "require import from"))
			continue;
		if (call && is_string(k, at + 2) && is_mark(k, at + 3, ')'))
			load_spec(k, k->t[at + 2].text);
		else if (!call && is_string(k, at + 1))
			load_spec(k, k->t[at + 1].text);
		else if (call && is_word(k, at, "require import")) {
			own = own_path(k, at + 2, end);
			if (!str_is_set(own))
				refuse_dynamic(k, k->t[at].text);
			else
				load_spec(k,
					arena_strf(k->a, "./" STR_FMT, STR_ARG(str_from(own, MIN(k->dir.n, own.n)))));
		}
		/* How a .js file is read stands in the package.json above it. */
		if (!call && is_word(k, at, "import from") && str_ends(k->file, STR(".js")))
			for (str dir = k->dir; !load(k, joined(k, dir, STR("package.json")), false) && dir.n;)
				dir = dir_of(dir);
	}
}

/* -- the others -------------------------------------------------------------------------------- */

static void ruby_statement(struct loads *k, size_t i, size_t end)
{
	for (size_t at = i; at < end; at++) {
		size_t what = is_mark(k, at + 1, '(') ? at + 2 : at + 1;
		str name = is_string(k, what) ? k->t[what].text : STR("");

		if (is_word(k, at, "LOAD_PATH") || (is_mark(k, at, '$') && is_mark(k, at + 1, ':')))
			refuse_dynamic(k, STR("$LOAD_PATH"));
		if (!is_word(k, at, "require require_relative load autoload instance_eval") ||
			(at && is_mark(k, at - 1, '.')))
			continue;
		if (!name.n || str_find(name, STR("#{")) >= 0)
			refuse_dynamic(k, k->t[at].text);
		else if (!is_word(k, at, "require_relative"))
			(name.p[0] == '.' || name.p[0] == '/' || in_project(k, joined(k, STR(""), name)))
				? refuse_place(k, name)
				: (void)0;
		else if (!load(k, joined(k, k->dir, arena_strf(k->a, STR_FMT ".rb", STR_ARG(name))), true))
			(void)load(k, joined(k, k->dir, name), true);
	}
}

/* Words after which a path is loaded, relative to where the program runs. */
static void place_statement(struct loads *k, size_t i, size_t end, const char *words)
{
	for (size_t at = i; at < end; at++) {
		size_t what = is_mark(k, at + 1, '(') ? at + 2 : at + 1;
		bool path;

		if (is(k, "perl") && is_word(k, at, "use no") && is_word(k, at + 1, "lib"))
			refuse_dynamic(k, STR("use lib"));
		if (!is_word(k, at, words) || (at && (is_mark(k, at - 1, '.') || is_mark(k, at - 1, '>'))))
			continue;
		if (!is_string(k, what)) {
			if (is_mark(k, what, '$') || (!is(k, "perl other") && k->t[what].kind == TOKEN_NAME))
				refuse_dynamic(k, k->t[at].text);
			continue;
		}
		path = strchr("./", k->t[what].text.n ? k->t[what].text.p[0] : 'x') != NULL;
		if (path || in_project(k, joined(k, STR(""), k->t[what].text)) ||
			in_project(k, joined(k, STR(""), arena_strf(k->a, STR_FMT ".lua", STR_ARG(k->t[what].text)))))
			refuse_place(k, k->t[what].text);
	}
}

static void php_statement(struct loads *k, size_t i, size_t end)
{
	for (size_t at = i; at < end; at++) {
		str own;

		if (!is_word(k, at, "include include_once require require_once"))
			continue;
		own = own_path(k, at + 1, end);
		if (!str_is_set(own))
			refuse_dynamic(k, k->t[at].text);
		else
			(void)load(k, own, true);
	}
}

/* -- strings ------------------------------------------------------------------------------------ */

static bool is_code_name(str name)
{
	static const char *const ends[] = { ".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl",
		".php", ".lua", ".awk", ".tcl", ".R", ".jl", ".ps1" };

	for (size_t i = 0; i < countof(ends); i++)
		if (str_ends(name, str_of(ends[i])))
			return true;
	return false;
}

/* join("tools", "check" + ".sh"): the string at i with the next one behind it; where that is, or 0: there is none. */
static size_t put_together(struct loads *k, size_t i, str *text)
{
	bool plus = is_mark(k, i + 1, '+') || is_mark(k, i + 1, '.');

	if ((!plus && !is_mark(k, i + 1, ',') && !is_mark(k, i + 1, '/')) || !is_string(k, i + 2))
		return 0;
	if (text->n + k->t[i + 2].text.n >= PATH_MAX_TEXT)
		return 0;
	*text = arena_strf(k->a, STR_FMT "%s" STR_FMT, STR_ARG(*text), plus ? "" : "/", STR_ARG(k->t[i + 2].text));
	return i + 2;
}

/* A program that starts others, and names one of the project: where it is would run, not its copy. What it finds
 * relative to itself is pinned, as data. */
static void look_at_path(struct loads *k, str text, bool own, bool starts)
{
	str there;

	if (!text.n || text.n > PATH_MAX_TEXT || text.p[0] == '/' || memchr(text.p, '\n', text.n))
		return;
	there = joined(k, k->dir, text);
	if (own && load(k, there, is_code_name(text)))
		return;
	there = joined(k, STR(""), text);
	if (starts && in_project(k, there) && (is_code_name(text) || k->to->in_project(there, k->to->arg) & S_IXUSR))
		refuse_place(k, text);
}

static void look_at_strings(struct loads *k)
{
	bool own = has_word(k, 0, k->n, "__file__ __filename __dirname __DIR__ __dir__ FindBin");
	bool starts = has_word(k, 0, k->n,
		"subprocess system popen Popen exec execSync execFile execFileSync spawn spawnSync child_process "
		"shell_exec passthru proc_open qx execute run_process fork Worker execv execvp execl execlp "
		"posix_spawn");

	for (size_t i = 0; i < k->n; i++) {
		str text = k->t[i].text;
		size_t last = i;

		if (k->t[i].kind != TOKEN_STRING)
			continue;
		look_at_path(k, text, own, starts);
		for (int pieces = 1; (own || starts) && pieces < PIECES_MAX; pieces++) {
			last = put_together(k, last, &text);
			if (!last)
				break;
			look_at_path(k, text, own, starts);
		}
	}
}

/* -- all of it ---------------------------------------------------------------------------------- */

void hook_each_load(str language, str text, str file, str base, struct arena *a, const struct hook_loads *to)
{
	struct loads *k = arena_new(a, struct loads);

	*k = (struct loads){ .to = to, .a = a, .language = language, .file = file, .dir = dir_of(file), .ndirs = 1 };
	k->dirs[0] = base;
	k->t = arena_alloc(a, MIN(text.n + 2, (size_t)TOKENS_MAX) * sizeof *k->t);
	tokenize(k, text);
	if (k->n == TOKENS_MAX)
		refuse(k, STR("it is too long to be read"));
	for (size_t i = 0, end; i < k->n; i = end + 1) {
		end = end_of(k, i);
		if (is(k, "python"))
			python_statement(k, i, end);
		else if (is(k, "node"))
			node_statement(k, i, end);
		else if (is(k, "ruby"))
			ruby_statement(k, i, end);
		else if (is(k, "php"))
			php_statement(k, i, end);
		else
			place_statement(k, i, end,
				is(k, "perl")          ? "require do"
					: is(k, "lua") ? "dofile loadfile require"
						       : "source include load");
	}
	look_at_strings(k);
}
