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
/* What they print are secrets as a whole. words: arguments that follow, any of a|b; an option may go on. */
static const struct teller {
	const char *program, *words[4];
} tellers[] = {
	{ "history", { NULL } },
	{ "fc", { NULL } },
	{ "dotenv", { "get|list|ls|print|decrypt" } },
	{ "dotenvx", { "get|list|ls|print|decrypt|keypair" } },
	{ "docker", { "compose", "config|convert" } },
	{ "podman", { "compose", "config|convert" } },
	{ "docker-compose", { "config|convert" } },
	{ "podman-compose", { "config|convert" } },
	{ "aws", { "secretsmanager", "get-secret-value|batch-get-secret-value" } },
	{ "aws", { "ssm", "get-parameter|get-parameters|get-parameters-by-path", "--with-decryption" } },
	{ "aws", { "ecr", "get-login-password" } },
	{ "aws", { "sts", "get-session-token|assume-role|get-federation-token|assume-role-with-web-identity" } },
	{ "aws", { "configure", "get|export-credentials" } },
	{ "aws", { "iam", "create-access-key|create-login-profile" } },
	{ "gcloud", { "secrets", "versions", "access" } },
	{ "gcloud", { "auth", "print-access-token|print-identity-token" } },
	{ "az", { "keyvault", "secret", "show" } },
	{ "az", { "account", "get-access-token" } },
	{ "az", { "storage", "account", "keys" } },
	{ "az", { "acr", "credential", "show" } },
	{ "kubectl", { "get", "secret|secrets", "-o|--output" } },
	{ "kubectl", { "config", "view", "--raw" } },
	{ "oc", { "get", "secret|secrets", "-o|--output" } },
	{ "oc", { "whoami", "-t" } },
	{ "op", { "read|inject" } },
	{ "op", { "item|document", "get" } },
	{ "pass", { "show" } },
	{ "gopass", { "show|cat" } },
	{ "bw", { "get|export" } },
	{ "lpass", { "show|export" } },
	{ "vault", { "read" } },
	{ "vault", { "kv", "get" } },
	{ "vault", { "print", "token" } },
	{ "doppler", { "secrets", "get|download|--" } },
	{ "infisical", { "secrets|export" } },
	{ "chamber", { "read|export|env" } },
	{ "heroku", { "config:get" } },
	{ "heroku", { "config" } },
	{ "railway", { "variables" } },
	{ "netlify", { "env:get|env:list" } },
	{ "gh", { "auth", "token" } },
	{ "security", { "find-generic-password|find-internet-password" } },
	{ "secret-tool", { "lookup|search" } },
	{ "keyring", { "get" } },
	{ "credstash", { "get|getall" } },
	{ "sops", { "-d|--decrypt|decrypt|exec-env" } },
	{ "ansible-vault", { "view|decrypt" } },
	{ "hookd", { "token|url" } },
};
enum { TELLERS_MAX = 8 }; /* rows of one program */

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

/* NAME=value: is the sign at `at` one of these? */
static bool follows_name(str s, size_t at)
{
	char c = at ? s.p[at - 1] : 0;

	return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
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

/* The end of [set] at i, or i: it is none. */
static size_t set_end(str s, size_t i)
{
	size_t end = i + 1;

	if (end < s.n && is_one_of(s.p[end], "!^"))
		end++;
	if (end < s.n && s.p[end] == ']')
		end++;
	while (end < s.n && s.p[end] != ']')
		end++;
	return MIN(end + 1, s.n); /* its end may be lost to whoever took the word */
}

/* As the shell matches names; a set is taken to hold whatever is needed. */
static bool glob_fits(str pattern, const char *name)
{
	size_t i = 0;

	for (; i < pattern.n && pattern.p[i] != '*'; name++) {
		size_t set = pattern.p[i] == '[' ? set_end(pattern, i) : i;

		if (!*name || (set == i && pattern.p[i] != '?' && pattern.p[i] != *name))
			return false;
		i = set > i ? set : i + 1;
	}
	if (i == pattern.n)
		return !*name;
	for (;; name++) {
		if (glob_fits(str_from(pattern, i + 1), name))
			return true;
		if (!*name)
			return false;
	}
}

/* .e*, .en?, .[e]nv: patterns for the shell that stand for .env and its like. */
static bool is_pattern_of_secret(str base, str *ret_base)
{
	static const char *const names[] = { ".env", ".env.local", ".env.production", ".npmrc", ".netrc", ".pgpass",
		"id_rsa", "id_ed25519" };
	size_t fixed = 0, stars = 0;

	for (size_t i = 0; i < base.n; i++) {
		fixed += !is_one_of(base.p[i], "*?[]");
		stars += base.p[i] == '*';
	}
	if (fixed == base.n || fixed < 2 || stars > 3 || (base.p[0] != '.' && base.p[0] != 'i'))
		return false;
	for (size_t i = 0; i < countof(names); i++)
		if (glob_fits(base, names[i])) {
			*ret_base = base;
			return true;
		}
	return false;
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
	bool said;      /* it would be the first word between quotes, which is a command only for some */
	bool wrapped;   /* by sudo and the like */
	bool skips;     /* the next word is the value of an option of theirs */
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
	size_t teller;  /* the first row of its program in tellers[], counted from 1 */
	uint8_t told[TELLERS_MAX];
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

/* One of a|b, or an option that begins like it. */
static bool is_choice(str word, const char *choices)
{
	str rest = str_of(choices), choice;

	while (str_split(&rest, '|', &choice))
		if (str_eq(word, choice) || (choice.p[0] == '-' && str_starts(word, choice)))
			return true;
	return false;
}

static void find_teller(struct look *l, str program)
{
	l->teller = 0;
	memset(l->told, 0, sizeof l->told);
	for (size_t i = 0; i < countof(tellers) && !l->teller; i++)
		if (tellers[i].program[0] == program.p[0] && str_eq(program, str_of(tellers[i].program)))
			l->teller = i + 1;
}

/* Listings of names, not of values. */
static bool lists_names(const struct look *l)
{
	static const char *const options[] = { "--services", "--images", "--volumes", "--profiles", "--quiet", " -q",
		"--only-names", "--hash", "--help" };
	str rest = str_from(l->text, l->at), line;

	(void)str_split(&rest, '\n', &line);
	for (size_t i = 0; i < countof(options); i++)
		if (str_find(line, str_of(options[i])) >= 0)
			return true;
	return false;
}

/* True when the words so far are those of a command that prints secrets. */
static bool tells(struct look *l, str word, bool program, str *ret_base)
{
	const struct teller *first = l->teller ? &tellers[l->teller - 1] : NULL;

	for (size_t i = 0; first && i < TELLERS_MAX && l->teller + i <= countof(tellers); i++) {
		const struct teller *t = first + i;
		size_t n = 0;

		if (strcmp(t->program, first->program) != 0)
			break;
		for (; n < countof(t->words) && t->words[n]; n++)
			if (!program && is_choice(word, t->words[n]))
				l->told[i] |= (uint8_t)(1u << n);
		if (l->told[i] != (1u << n) - 1)
			continue;
		*ret_base = str_of(t->program);
		if (!lists_names(l))
			return true;
		l->teller = 0;
		return false;
	}
	return false;
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
	if (is_one_of(before, "${") && str_eq(word, STR("HISTFILE"))) {
		*ret_base = word;
		return true;
	}
	if (str_find(word, STR(".Config.Env")) >= 0) {
		*ret_base = STR("a container's environment");
		return true;
	}
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
	/* sudo -u app -E */
	if (l->first && l->wrapped && (l->skips || word.p[0] == '-')) {
		l->skips = !l->skips && word.n == 2 && is_one_of(word.p[1], "ugUCDhpr");
		return false;
	}
	l->wrapped |= l->first && IN(wrappers, word);
	if (l->first && !IN(wrappers, word) && str_find_char(word, '=') < 0) {
		l->first = false;
		l->started = true;
		if (base_of(word).n && (!l->said || l->runs))
			find_teller(l, base_of(word));
		l->program = program_of(word);
		l->runs = l->program == PROGRAM_CODE || IN(runners, base_of(word));
		return l->teller && tells(l, word, /* program= */ true, ret_base);
	} else if (l->teller && tells(l, word, /* program= */ false, ret_base)) {
		return true;
	} else if (l->program == PROGRAM_GIT && word.n && word.p[0] != '-') {
		l->program = IN(git_shows, word) ? PROGRAM_ANY : PROGRAM_NAMES;
	}
	return false;
}

static void begin_command(struct look *l)
{
	l->program = PROGRAM_ANY;
	l->first = true;
	l->redirect = l->loads = l->runs = l->inside = l->started = l->said = false;
	l->wrapped = l->skips = false;
	l->teller = 0;
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
			l->first = l->said = true; /* sh -c '…' */
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

static bool look_through(struct arena *a, str command, str *ret_base)
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

/* -- variables and braces ------------------------------------------------------------------------ */

enum { KNOWN_MAX = 16, EXPANDED_MAX = 4096, BRACE_MAX = 128 };

struct expansion {
	struct buf out;
	str text;
	struct {
		str name, value;
	} known[KNOWN_MAX];
	size_t nknown;
	size_t word; /* where the current one begins in out */
	bool changed;
};

static size_t name_length(str s, size_t at)
{
	size_t n = 0;

	while (at + n < s.n && follows_name(s, at + n + 1))
		n++;
	return n && s.p[at] >= '0' && s.p[at] <= '9' ? 0 : n;
}

/* a=.e at the beginning of a word. */
static void note_assignment(struct expansion *x, size_t at)
{
	size_t n = name_length(x->text, at), from = at + n + 1, end = from;

	if (!n || from >= x->text.n || x->text.p[at + n] != '=' || x->nknown == KNOWN_MAX)
		return;
	while (end < x->text.n && !is_one_of(x->text.p[end], " \t\r\n;|&<>()`"))
		end++;
	if (end - from >= 2 && is_one_of(x->text.p[from], "\"'") && x->text.p[end - 1] == x->text.p[from])
		from++, end--;
	x->known[x->nknown].name = str_n(x->text.p + at, n);
	x->known[x->nknown++].value = str_n(x->text.p + from, end - from);
}

/* $a, ${a} and ${a:-b} at `at`: where they end, or 0 when nothing is known of them. */
static size_t put_variable(struct expansion *x, size_t at)
{
	bool braced = at + 1 < x->text.n && x->text.p[at + 1] == '{';
	size_t from = at + 1 + braced, n = name_length(x->text, from), end = from + n;
	str name = str_n(x->text.p + from, n), otherwise = STR_NONE;

	if (braced) {
		ptrdiff_t close = str_find_char(str_from(x->text, end), '}');

		if (close < 0 || close > BRACE_MAX)
			return 0;
		if (close > 1 && x->text.p[end] == ':' && is_one_of(x->text.p[end + 1], "-="))
			otherwise = str_n(x->text.p + end + 2, (size_t)close - 2);
		else if (close)
			return 0;
		end += (size_t)close + 1;
	}
	for (size_t i = x->nknown; n && i > 0; i--)
		if (str_eq(x->known[i - 1].name, name)) {
			otherwise = x->known[i - 1].value;
			break;
		}
	if (!n || !str_is_set(otherwise))
		return 0;
	buf_add_str(&x->out, otherwise);
	x->changed = true;
	return end;
}

/* .{env,x} as one word for each; where it ends, or 0. */
static size_t put_braces(struct expansion *x, size_t at)
{
	str inside, rest, choice, before;
	size_t end = at + 1, after;
	bool first = true;

	while (end < x->text.n && end - at < BRACE_MAX && !is_one_of(x->text.p[end], " \t\n{}$;|&"))
		end++;
	inside = str_n(x->text.p + at + 1, end - at - 1);
	if (end >= x->text.n || x->text.p[end] != '}' || str_find_char(inside, ',') < 0)
		return 0;
	after = ++end;
	while (after < x->text.n && after - end < BRACE_MAX && !is_one_of(x->text.p[after], " \t\r\n;|&<>()`{}\"'$"))
		after++;
	before = str_n(x->out.p + x->word, x->out.len - x->word);
	if (before.n > BRACE_MAX)
		return 0;
	for (rest = inside; first || rest.p; first = false) {
		char kept[BRACE_MAX];
		str head = str_n(kept, before.n);

		if (!str_split(&rest, ',', &choice))
			break;
		memcpy(kept, x->out.p + x->word, before.n);
		if (!first) {
			buf_add_char(&x->out, ' ');
			buf_add_str(&x->out, head);
		}
		buf_add_str(&x->out, choice);
		buf_add_str(&x->out, str_n(x->text.p + end, after - end));
	}
	x->changed = true;
	return after;
}

/* A command in which simple variables and braces hide the name of a file, without them; STR_NONE: none do. */
static str expanded(struct arena *a, str command)
{
	struct expansion x = { .text = command };
	bool single = false;
	str text;

	if (command.n > EXPANDED_MAX || (!memchr(command.p, '$', command.n) && !memchr(command.p, '{', command.n)))
		return STR_NONE;
	buf_init(&x.out, 2 * EXPANDED_MAX);
	for (size_t at = 0; at < command.n;) {
		char c = command.p[at];
		size_t end = 0;

		if (at == 0 || is_one_of(command.p[at - 1], " \t\n;|&("))
			note_assignment(&x, at);
		single ^= c == '\'';
		if (c == '$' && !single)
			end = put_variable(&x, at);
		else if (c == '{' && !single)
			end = put_braces(&x, at);
		if (!end) {
			buf_add_char(&x.out, c);
			end = at + 1;
			if (is_one_of(c, " \t\r\n;|&<>()`\"'"))
				x.word = x.out.len;
		}
		at = end;
	}
	text = x.changed && !x.out.full ? arena_str(a, buf_str(&x.out)) : STR_NONE;
	buf_release(&x.out);
	return text;
}

bool command_touches(struct arena *a, str command, str *ret_base)
{
	str text;

	if (look_through(a, command, ret_base))
		return true;
	text = expanded(a, command);
	return str_is_set(text) && look_through(a, text, ret_base);
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
