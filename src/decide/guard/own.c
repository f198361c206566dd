/* own: hookd's own directory, socket and token, whatever program is given them. An agent runs under the user's uid, so
 * nothing else keeps it from asking the daemon for what only the owner may ask. */
#include "guard/internal.h"

/* Programs that only look at what they are given, or whose changes judge_write() and judge_delete() hear of. */
static const char lookers[] =
	"cat ls dir head tail less more bat grep egrep fgrep rg ag stat file wc du test [ jq diff cmp md5sum sha1sum "
	"sha256sum od xxd hexdump strings tree readlink realpath dirname basename echo printf cd pushd popd true : sed "
	"awk "
	"gawk mawk sort uniq cut find fd cp mv rm ln sqlite3 sqlite hookd hookc which type command export";

/* Of these, those that do not open what they are given. */
static const char namers[] =
	"ls dir stat test [ echo printf cd pushd readlink realpath dirname basename du hookd which type "
	"command find fd tree rm unlink file";

static bool is_binary(str path)
{
	return str_in(str_base(path), "hookd hookc");
}

/* What proves who somebody is: to commands, and over HTTP. A pattern that may be one counts. */
static bool is_token_name(str name)
{
	bool live = has_mark(name, "\2\3"); /* *.py might be owner.token.py, but nobody means that */

	if (!name.n || ((unsigned char)name.p[0] >= ' ' && !strchr("ohl", name.p[0])))
		return false;
	return path_like(live ? "owner.token" : "owner.token*", name) ||
		path_like(live ? "http.token" : "http.token*", name) || path_like(live ? "llm.key" : "llm.key*", name);
}

/* Below a directory of this hookd, or where every hookd has its own. */
static bool is_own(struct run *x, str path)
{
	bool shared = false;
	str root = x->c->root.n ? x->c->root : x->c->cwd;

	if (is_inside(x, path) || x->remote)
		return false;
	for (size_t i = 0; i < x->c->nown; i++)
		if (!is_binary(x->c->own[i]) && path_below(path, x->c->own[i]))
			return true;
	if (is_binary(path) && !str_has(path, "/hookd/"))
		return str_has(path, "/state/hookd") || str_has(path, "/config/hookd") || str_has(path, "/share/hookd");
	if (path_is_dynamic(path))
		return str_ends(path, STR("/hookd.sock")) || str_has(path, "/hookd/") || is_token_name(str_base(path));
	/* A project's own .hookd is no part of the daemon. */
	return is_protected(x, path, &shared) && !shared && !(root.n > 1 && path_below(path, root));
}

/* The token, or a pattern that could be it, or all that is in its directory. */
static bool holds_token(struct run *x, str path)
{
	str last = str_base(path);

	if (is_token_name(last))
		return true;
	for (size_t i = 0; i < x->c->nown; i++)
		if (str_eq(path, x->c->own[i]) && !is_binary(path) && !str_ends(path, STR(".json")))
			return true;
	return str_eq(last, STR("hookd")) || (has_mark(last, "\2") && last.n < 3);
}

bool is_owner_token(struct run *x, str path)
{
	return is_token_name(str_base(path)) && is_own(x, path);
}

static void judge_place(struct run *x, const struct cmd *c, str word)
{
	str path = path_resolve(x, word);

	if (!is_own(x, path))
		return;
	if (str_ends(path, STR(".sock")))
		FAULT(x, c, RULE_SELF, VERDICT_DENY,
			"this talks to hookd's own socket, which is for the user's commands");
	else if (holds_token(x, path))
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would read what proves that somebody is the owner of hookd");
	else if (!str_in(c->name, lookers))
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this gives " STR_FMT ", which the guard depends on, to a program",
			STR_ARG(word));
}

/* Paths inside a word: UNIX-CONNECT:/x, --unix-socket=/x, of=/x, @/x, -U/x, /x:/y. */
static void judge_inside(struct run *x, const struct cmd *c, str word)
{
	for (size_t i = 0; i + 1 < word.n && spend(x, 1); i++) {
		bool begins = i == 0 || strchr(":=,@", word.p[i - 1]) || (i == 2 && word.p[0] == '-');
		size_t end = i;

		if (!begins || (word.p[i] != '/' && word.p[i] != '~' && !has_mark(str_n(word.p + i, 1), MARKS_HOLE)))
			continue;
		while (end < word.n && !strchr(",;:", word.p[end]))
			end++;
		judge_place(x, c, str_n(word.p + i, end - i));
	}
}

/* A name without a slash could only be a link; of those the first ones are followed. */
static bool may_be_own(struct run *x, size_t i, str word)
{
	enum { FOLLOWED = 32 };

	return i < FOLLOWED || x->fs || str_find_char(word, '/') >= 0 || word.p[0] == '~' ||
		has_mark(word, MARKS_ANY) || is_own(x, x->st.cwd);
}

void judge_own_places(struct run *x, const struct cmd *c)
{
	bool namer = str_in(c->name, namers);

	for (size_t i = 1; i < c->n && !namer && spend(x, 1); i++) {
		str word = c->v[i];

		if (!word.n || word.n > 4096)
			continue;
		if (word.p[0] != '-' && may_be_own(x, i, word))
			judge_place(x, c, word);
		if (str_find_char(word, '/') >= 0)
			judge_inside(x, c, word);
	}
}

/* Code of an interpreter: what it does with a path cannot be told, so naming hookd's own is enough. */
void judge_own_code(struct run *x, const struct cmd *c, str code)
{
	static const char *const names[] = { "hookd.sock", "owner.token", "http.token", "llm.key", ".local/state/hookd",
		".config/hookd", ".local/share/hookd", "/hookd/config.json", "HOOKD_DIR" };
	bool found = false;

	if (x->contained || x->remote)
		return;
	for (size_t i = 0; i < countof(names); i++)
		found |= str_has(code, names[i]);
	for (size_t i = 0; i < x->c->nown && !found; i++)
		found = !is_binary(x->c->own[i]) && str_find(code, x->c->own[i]) >= 0;
	if (found)
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this code reaches for hookd's own files or its socket");
}

/* -- variables --------------------------------------------------------------------------------- */

/* NAME=value before a command, or exported: a path in it is given to whatever runs (DOCKER_HOST, SSH_AUTH_SOCK). */
static void judge_value(struct run *x, const struct cmd *c, str value)
{
	if (!value.n || value.n > 4096)
		return;
	judge_place(x, c, value);
	if (str_find_char(value, '/') >= 0)
		judge_inside(x, c, value);
}

/* Where hookd is, and whatever might be meant to switch it off. */
static bool is_own_variable(str name)
{
	return str_starts(name, STR("HOOKD_")) && !str_in(name, "HOOKD_PREFIX HOOKD_VERSION");
}

/* HOOKD_DIR=/x alone: it may be exported already, or be from now on. */
void judge_own_assignment(struct run *x, str name)
{
	if (is_own_variable(name))
		FAULT(x, NULL, RULE_SELF, VERDICT_DENY,
			"this tries to switch the guard off, or to lead to another one, by a variable");
}

void judge_own_vars(struct run *x, const struct cmd *c)
{
	for (const struct fact *f = c->env; f && f != c->env_end; f = f->next)
		if (f->kind == FACT_VAR && is_own_variable(f->key))
			FAULT(x, c, RULE_SELF, VERDICT_DENY,
				"this tries to switch the guard off, or to lead to another one, by a variable");
		else if (f->kind == FACT_VAR)
			judge_value(x, c, f->value);
	if (!str_in(c->name, "export declare typeset local readonly unset setenv set env sudo doas systemd-run"))
		return;
	for (size_t i = 1; i < c->n; i++) {
		ptrdiff_t eq = str_find_char(c->v[i], '=');

		if (eq < 0 && str_in(c->name, "export declare typeset") && str_is_set(var_get(x, c->v[i])))
			judge_value(x, c, var_get(x, c->v[i]));
		if (is_own_variable(eq > 0 ? str_head(c->v[i], (size_t)eq) : c->v[i]))
			FAULT(x, c, RULE_SELF, VERDICT_DENY,
				"this tries to switch the guard off, or to lead to another one, by a variable");
	}
}
