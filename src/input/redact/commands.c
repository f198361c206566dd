/* Commands that read or write files that are secrets.
 *
 * Not a shell: words end at blanks and operators, and an operator begins a new command. Who mentions such a file is
 * taken to show or change it, unless the command is one of those that only look at names. That errs on the side of
 * finding too much, which costs an output that is not kept; quoting, variables, `find -exec`, containers and
 * interpreters need no case of their own that way. */
#include <stdio.h>

#include "redact/internal.h"

enum {
	WORD_MAX = 256,
	GLUE_MAX = 64, /* "quoted" inside a word: .e"nv" */
};

/* -- what is known about programs --------------------------------------------------------------- */

/* They print names, sizes and rights of files, or nothing. */
static const char *const name_only[] = { "ls", "ll", "dir", "rm", "touch", "test", "[", "[[", "chmod", "chown", "chgrp",
	"stat", "echo", "printf", "mkdir", "rmdir", "cd", "pushd", "basename", "dirname", "realpath", "readlink",
	"file", "du", "which", "unlink", "shred", "find", "fd", "fdfind", "tree", "exa", "eza", "true", "remove-item",
	"test-path", "gh", "mktemp", "alias" };
/* What a mention in front of them may come to: find … -exec cat, ls … | xargs cat. */
static const char *const takers[] = { "xargs", "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "parallel",
	"read" };
/* Of git, those that show or keep contents. */
static const char *const git_shows[] = { "show", "diff", "log", "cat-file", "blame", "grep", "archive", "stash",
	"annotate", "format-patch", "difftool", "whatchanged", "am", "apply", "hash-object" };
/* Programs whose quoted argument is a program in another language. */
static const char *const coders[] = { "python", "python2", "python3", "node", "nodejs", "deno", "bun", "ruby", "perl",
	"php", "lua", "awk", "gawk", "mawk", "osascript", "Rscript", "julia", "tsx", "ts-node" };
/* Programs whose argument looks like the name of a hidden file: jq .items.key */
static const char *const filters[] = { "jq", "yq", "gojq", "jaq" };
/* Programs that run what they are given on stdin. */
static const char *const runners[] = { "sh", "bash", "zsh", "dash", "ksh", "fish", "ssh", "docker", "podman", "kubectl",
	"pwsh", "powershell" };
/* Words in front of the command that do not change what it is. */
static const char *const wrappers[] = { "sudo", "env", "command", "time", "nohup", "exec", "builtin", "nice", "doas",
	"then", "do", "else", "eval", "if", "elif", "while", "until", "!", "busybox", "stdbuf", "timeout" };
/* Options whose value is a file for somebody else's environment: nothing of it is shown. */
static const char *const loaders[] = { "--env-file", "--env-file-if-exists", "--dotenv" };
/* Writers of their own arguments. */
static const char *const sayers[] = { "echo", "printf", "print", "write-output", "set-content", "add-content",
	"out-file", "write-host" };
/* Parts of other languages that look like names of files. */
static const char *const expressions[] = { "process.env", "import.meta.env", "meta.env", "deno.env", "bun.env",
	"ctx.env", "context.env", "c.env", "this.env", "self.env", "event.key", "e.key", "Object.key", "item.key",
	"ENV.key" };

#define IN(table, word) in_table(table, countof(table), word)

static bool in_table(const char *const *table, size_t n, str word)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(word, str_of(table[i])))
			return true;
	return false;
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static str base_of(str path)
{
	size_t i = path.n;

	while (i > 0 && path.p[i - 1] != '/')
		i--;
	return str_from(path, i);
}

/* -- words -------------------------------------------------------------------------------------- */

/* Every name in the tables but these few has a dot or an underscore: most words are done with here. */
static bool may_be_secret(str word)
{
	static const char *const plain[] = { "kubeconfig", "credentials", "config", "shadow", "shadow-", "gshadow",
		"environ", "vault-password", "sudoers", "hub" };

	return str_find_char(word, '.') >= 0 || str_find_char(word, '_') >= 0 ||
		str_find(word, STR("/run/secrets/")) >= 0 || IN(plain, base_of(word));
}

/* .e*, .en?: patterns for the shell that stand for .env and its like. */
static bool is_pattern_of_secret(str base, str *ret_base)
{
	static const char *const names[] = { ".env", ".env.local", ".npmrc", ".netrc", ".pgpass", "id_rsa",
		"id_ed25519" };
	size_t fixed = 0;

	for (size_t i = 0; i < base.n; i++)
		fixed += !is_one_of(base.p[i], "*?[]");
	if (fixed == base.n || fixed < 2 || (base.p[0] != '.' && base.p[0] != 'i'))
		return false;
	for (size_t i = 0; i < countof(names); i++) {
		const char *n = names[i];
		size_t at = 0;

		while (at < base.n && *n && (base.p[at] == *n || base.p[at] == '?'))
			at++, n++;
		/* Up to the first star or bracket is enough to be careful. */
		if (at >= 2 && at < base.n && is_one_of(base.p[at], "*["))
			goto found;
		if (at == base.n && !*n)
			goto found;
	}
	return false;
found:
	*ret_base = base;
	return true;
}

static bool path_is_secret(str path, str *ret_base)
{
	return (file_is_secret(path, ret_base) && !IN(expressions, path)) ||
		is_pattern_of_secret(base_of(path), ret_base);
}

/* The value of an option or a variable and the path in a git revision count alone. */
static bool word_is_secret(str word, str *ret_base)
{
	size_t i = word.n;

	if (word.n < 3 || !may_be_secret(word))
		return false;
	while (i > 0 && !is_one_of(word.p[i - 1], "=:@,"))
		i--;
	while (word.n && is_one_of(word.p[word.n - 1], ",:]"))
		word.n--;
	return path_is_secret(word, ret_base) || (i && path_is_secret(str_from(word, i), ret_base));
}

/* -- the look through a command line ------------------------------------------------------------- */

enum program { PROGRAM_ANY, PROGRAM_NAMES, PROGRAM_CODE, PROGRAM_FILTER, PROGRAM_GIT };

struct look {
	str text;
	size_t at;
	enum program program;
	bool first;     /* the next word is the name of a command */
	bool started;   /* the name of a command was seen */
	bool runs;      /* what it reads is a program */
	bool inside;    /* its output is an argument of another one: cat $(ls .env) */
	bool redirect;  /* the next word is where it reads from or writes to */
	bool loads;     /* the next word is a file that nobody shows */
	char quote;     /* inside quotes whose contents are no command */
	bool named;     /* some command named a secret file without showing it */
	str name;       /* which */
	str heredoc;    /* its last line: begins after the end of this one */
	bool body_runs; /* its lines are a program */
	char glued[WORD_MAX];
};

static size_t quoted_length(str s, size_t at)
{
	size_t n = 1;

	while (at + n < s.n && n <= GLUE_MAX && s.p[at + n] != s.p[at]) {
		if (is_one_of(s.p[at + n], " \t\r\n;|&()`{}<>\"'$"))
			return 0;
		n++;
	}
	return at + n < s.n && s.p[at + n] == s.p[at] ? n + 1 : 0;
}

/* The word at l->at. Quotes around a part of it (.e"nv") and backslashes are taken out. */
static str take_word(struct look *l)
{
	str s = l->text;
	size_t from = l->at, n = 0, quoted;
	bool glued = false;

	while (l->at < s.n) {
		char c = s.p[l->at];

		if (is_one_of(c, " \t\r\n;|&()`{}<>$"))
			break;
		quoted = is_one_of(c, "\"'") ? quoted_length(s, l->at) : 0;
		if (is_one_of(c, "\"'") && (!quoted || l->quote))
			break;
		if (quoted || (c == '\\' && l->at + 1 < s.n && !is_one_of(s.p[l->at + 1], "nrt\n\"' "))) {
			if (!glued && l->at - from < WORD_MAX)
				memcpy(l->glued, s.p + from, n = l->at - from);
			glued = true;
		}
		for (size_t i = 1; quoted && i + 1 < quoted; i++)
			if (n < WORD_MAX)
				l->glued[n++] = s.p[l->at + i];
		if (glued && !quoted && c != '\\' && n < WORD_MAX)
			l->glued[n++] = c;
		l->at += quoted ? quoted : 1;
	}
	return glued ? str_n(l->glued, n) : str_n(s.p + from, l->at - from);
}

static enum program program_of(str word)
{
	str base = base_of(word);

	if (str_eq(base, STR("git")))
		return PROGRAM_GIT;
	if (IN(name_only, base))
		return PROGRAM_NAMES;
	if (IN(filters, base))
		return PROGRAM_FILTER;
	return IN(coders, base) ? PROGRAM_CODE : PROGRAM_ANY;
}

/* In a program of another language x.key is a member; 'x.key' and a/x.key are files. */
static bool is_member(const struct look *l, str word, char before)
{
	if (l->program == PROGRAM_FILTER)
		return word.n && word.p[0] == '.' && !str_starts(word, STR(".env")) && str_find_char(word, '/') < 0;
	return l->program == PROGRAM_CODE && l->quote && word.n && word.p[0] != '.' && !is_one_of(before, "\"'") &&
		str_find_char(word, '/') < 0;
}

/* True when this word settles it. */
static bool take(struct look *l, str word, char before, str *ret_base)
{
	bool secret = !is_member(l, word, before) && word_is_secret(word, ret_base);

	if (l->named && IN(takers, word)) {
		*ret_base = l->name;
		return true;
	}
	if (secret && l->redirect)
		return true;
	l->redirect = false;
	if (l->loads || IN(loaders, word)) {
		l->loads = !l->loads;
		return false;
	}
	for (size_t i = 0; secret && i < countof(loaders); i++)
		if (str_starts(word, str_of(loaders[i])))
			return false;
	if (secret && (l->first || l->inside || (l->program != PROGRAM_NAMES && l->program != PROGRAM_GIT)))
		return true;
	if (secret && !l->named) {
		l->named = true;
		l->name = *ret_base;
	}
	if (l->first && !IN(wrappers, word) && str_find_char(word, '=') < 0) {
		l->first = false;
		l->started = true;
		l->program = program_of(word);
		l->runs = l->program == PROGRAM_CODE || IN(runners, base_of(word));
	} else if (l->program == PROGRAM_GIT && word.n && word.p[0] != '-') {
		l->program = IN(git_shows, word) ? PROGRAM_ANY : PROGRAM_NAMES;
	}
	return false;
}

static void begin_command(struct look *l)
{
	l->program = PROGRAM_ANY;
	l->first = true;
	l->redirect = l->loads = l->runs = l->inside = l->started = false;
	l->quote = 0;
}

/* The body of a here-document is text, unless what reads it is an interpreter. */
static void take_end_of_line(struct look *l)
{
	str rest, line;

	if (!l->heredoc.n)
		return;
	rest = str_from(l->text, l->at);
	while (!l->body_runs && str_split(&rest, '\n', &line))
		if (str_eq(str_trim(line), l->heredoc))
			break;
	if (!l->body_runs)
		l->at = l->text.n - rest.n;
	l->heredoc = STR_NONE;
}

/* After "<<": the last line of the body. */
static str take_delimiter(str s, size_t *at)
{
	size_t from;

	while (*at < s.n && is_one_of(s.p[*at], "- \t\"'\\"))
		(*at)++;
	from = *at;
	while (*at < s.n && !is_one_of(s.p[*at], " \t\r\n;|&()<>\"'"))
		(*at)++;
	return str_n(s.p + from, *at - from);
}

static bool starts_heredoc(str s, size_t at)
{
	return s.n - at > 2 && s.p[at] == '<' && s.p[at + 1] == '<' && s.p[at + 2] != '<' &&
		(at == 0 || s.p[at - 1] != '<');
}

static void take_mark(struct look *l)
{
	char c = l->text.p[l->at], before = l->at ? l->text.p[l->at - 1] : 0;

	if (!l->quote && starts_heredoc(l->text, l->at)) {
		l->at += 2;
		l->heredoc = take_delimiter(l->text, &l->at);
		l->body_runs = l->runs;
		return;
	}
	l->at++;
	if (is_one_of(c, "\"'")) {
		if (l->quote && c == l->quote)
			l->quote = 0;
		else if (!l->quote && (l->program != PROGRAM_ANY || l->redirect))
			l->quote = c;
		else if (!l->quote)
			l->first = true; /* sh -c '…' */
	} else if (c == '`' || (c == '(' && before == '$')) {
		bool shows = l->started && l->program != PROGRAM_NAMES && l->program != PROGRAM_GIT;

		begin_command(l);
		l->inside = shows;
	} else if (l->quote) {
		;
	} else if (is_one_of(c, "\n;|&(){}")) {
		begin_command(l);
		if (c == '\n')
			take_end_of_line(l);
	} else if (is_one_of(c, "<>")) {
		l->redirect = true;
	}
}

bool command_touches(struct arena *a, str command, str *ret_base)
{
	struct look l = { .text = command, .first = true };

	while (l.at < command.n) {
		char before = l.at ? command.p[l.at - 1] : 0;
		str word = take_word(&l);

		if (word.n && take(&l, word, before, ret_base)) {
			*ret_base = arena_str(a, *ret_base);
			return true;
		}
		if (l.named && l.name.p >= l.glued && l.name.p < l.glued + WORD_MAX)
			l.name = arena_str(a, l.name);
		if (l.at < command.n)
			take_mark(&l);
	}
	return false;
}

/* -- what goes into the file -------------------------------------------------------------------- */

struct mask {
	struct buf *out;
	str text, file;
	size_t kept; /* of text, up to here it is written */
	bool writes;
	unsigned pieces;
};

static void hide(struct mask *m, size_t from, size_t to)
{
	if (to <= from || from < m->kept)
		return;
	buf_add(m->out, m->text.p + m->kept, from - m->kept);
	buf_addf(m->out, "[contents of " STR_FMT " not kept: %zu bytes]", STR_ARG(m->file), to - from);
	m->kept = to;
	m->pieces++;
}

/* Where the arguments that begin at `at` end: at an operator outside quotes, or the quote around all of it. */
static size_t arguments_end(str s, size_t at, char around)
{
	char quote = 0;

	for (; at < s.n; at++) {
		char c = s.p[at];

		if (c == '\\' && at + 1 < s.n)
			at++;
		else if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == around && c)
			break;
		else if (is_one_of(c, "\"'"))
			quote = c;
		else if (is_one_of(c, "\n;|&<>)"))
			break;
	}
	while (at > 0 && is_one_of(s.p[at - 1], " \t"))
		at--;
	return at;
}

static size_t body_end(str s, size_t at, str delimiter)
{
	str rest = str_from(s, at), line;
	size_t end = s.n;

	while (str_split(&rest, '\n', &line)) {
		end = (size_t)(line.p - s.p);
		if (str_eq(str_trim(line), delimiter))
			return end;
	}
	return s.n;
}

static bool code_writes(str code)
{
	static const char *const signs[] = { "write", "'w", "\"w", "'a'", "\"a\"", "append", "set_key", "dump", ">" };

	for (size_t i = 0; i < countof(signs); i++)
		if (str_find(code, str_of(signs[i])) >= 0)
			return true;
	return false;
}

/* NAME=value: is the sign at `at` one of these? */
static bool follows_name(str s, size_t at)
{
	char c = at ? s.p[at - 1] : 0;

	return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t hide_value(struct mask *m, size_t at)
{
	size_t end = at;
	str base;

	if (end < m->text.n && is_one_of(m->text.p[end], "\"'"))
		end += quoted_length(m->text, end);
	while (end < m->text.n && !is_one_of(m->text.p[end], " \t\r\n\"'|;)&<>"))
		end++;
	if (end - at < 3 || m->text.p[at] == '$' || word_is_secret(str_n(m->text.p + at, end - at), &base))
		return end;
	hide(m, at, end);
	return end;
}

/* Past the blanks and options in front of what a command says. */
static size_t skip_options(str s, size_t at)
{
	for (;;) {
		while (at < s.n && is_one_of(s.p[at], " \t"))
			at++;
		if (at + 1 >= s.n || s.p[at] != '-' || !((s.p[at + 1] | 32) >= 'a' && (s.p[at + 1] | 32) <= 'z'))
			return at;
		while (at < s.n && !is_one_of(s.p[at], " \t\n"))
			at++;
	}
}

/* One word that begins at `at`; returns where to go on. */
static size_t mask_word(struct mask *m, size_t at, char around)
{
	size_t end = at, from;
	str word;

	while (end < m->text.n && !is_one_of(m->text.p[end], " \t\r\n;|&()`{}<>\"'$="))
		end++;
	word = str_n(m->text.p + at, end - at);
	if (m->writes && IN(sayers, word)) {
		from = skip_options(m->text, end);
		end = arguments_end(m->text, from, around);
		hide(m, from, end);
		return end;
	}
	return MAX(end, at + 1);
}

static size_t mask_heredoc(struct mask *m, size_t at)
{
	str delimiter;
	ptrdiff_t line;
	size_t body;

	at += 2;
	delimiter = take_delimiter(m->text, &at);
	line = str_find_char(str_from(m->text, at), '\n');
	if (line < 0)
		return at;
	/* What is left of the line is a command still, and short: nothing in it goes into the file. */
	body = at + (size_t)line + 1;
	at = body_end(m->text, body, delimiter);
	hide(m, body, at > body ? at - 1 : body);
	return at;
}

/* -c 'program' */
static size_t mask_code(struct mask *m, size_t at)
{
	char quote = m->text.p[at];
	size_t end = at + 1;

	while (end < m->text.n && m->text.p[end] != quote)
		end += m->text.p[end] == '\\' ? 2 : 1;
	end = MIN(end, m->text.n);
	if (code_writes(str_n(m->text.p + at + 1, end - at - 1)))
		hide(m, at + 1, end);
	return end;
}

static bool text_writes(str s)
{
	static const char *const signs[] = { ">", "tee ", " -i", "-Content", "-content", "Out-File", "dd ", "<<" };

	for (size_t i = 0; i < countof(signs); i++)
		if (str_find(s, str_of(signs[i])) >= 0)
			return true;
	return false;
}

bool command_mask(struct buf *out, str command, str file)
{
	struct mask m = { .out = out, .text = command, .file = str_cut_utf8(file, 64), .writes = text_writes(command) };
	enum program program = PROGRAM_ANY;
	bool first = true;
	char around = 0;
	size_t at = 0;

	while (at < command.n) {
		char c = command.p[at];
		size_t end;

		if (starts_heredoc(command, at)) {
			at = mask_heredoc(&m, at);
		} else if (str_starts(str_from(command, at), STR("<<<"))) {
			size_t from = skip_options(command, at + 3);

			at = MAX(arguments_end(command, from, around), from);
			hide(&m, from, at);
		} else if (is_one_of(c, "\"'")) {
			if (program == PROGRAM_CODE && !around)
				at = mask_code(&m, at);
			else if (!around)
				around = c;
			else if (around == c)
				around = 0;
			at++;
		} else if (c == '=' && m.writes && follows_name(command, at)) {
			at = hide_value(&m, at + 1);
		} else if (is_one_of(c, " \t\r\n;|&()`{}<>$=")) {
			first |= !is_one_of(c, " \t\r<>=$");
			at++;
		} else {
			end = at;
			while (end < command.n && !is_one_of(command.p[end], " \t\r\n;|&()`{}<>\"'$="))
				end++;
			if (first || program_of(str_n(command.p + at, end - at)) == PROGRAM_CODE)
				program = program_of(str_n(command.p + at, end - at));
			first = false;
			at = mask_word(&m, at, around);
		}
	}
	buf_add(out, command.p + m.kept, command.n - m.kept);
	return m.pieces > 0;
}
