/* Names and their values: password = "…", TOKEN=…, "api_key": "…", --secret …, the password is ….
 *
 * DESIGN. No pattern can tell `password: hunter22` from `password: string`, so this is code: find
 * the name around the keyword, the separator after it, the value, and then judge the value by how
 * it was written. Quoted text under a strong name is a secret unless it is a placeholder. A bare
 * word is one only where bare words are values (environment lines, YAML, query strings, flags);
 * elsewhere it is a variable. "token" and "auth" mean many harmless things in source code, so
 * their values must look random as well. */
#include <ctype.h>

#include "redact/internal.h"

enum {
	STRONG = 1 << 0,     /* hardly ever harmless */
	WORD = 1 << 1,       /* only as a word of its own: auth, not author */
	KEY_ONLY = 1 << 2,   /* as a key only; secrets[] knows its form in text */
	NUMBERS = 1 << 3,    /* digits alone may be the value */
	PLURAL_NOT = 1 << 4, /* the plural is a count or a list */

	NAME_MAX_SIDE = 64,
	VALUE_MIN = 6,
	NUMBER_MIN = 4,
	NUMBER_IN_TEXT_MIN = 6,
	VALUE_LOOK = 512, /* a value is judged by this much of it */
	DRAWN_MIN = 8,
	DRAWN_PROSE = 12,
	DRAWN_LONG = 16,
};

const struct keyword keywords[] = {
	{ "password", "password", STRONG | NUMBERS },
	{ "passwd", "password", STRONG | NUMBERS },
	{ "passwort", "password", STRONG | NUMBERS },
	{ "passphrase", "passphrase", STRONG | NUMBERS },
	{ "passcode", "password", STRONG | NUMBERS },
	{ "pass", "password", STRONG | WORD | NUMBERS },
	{ "pwd", "password", STRONG | WORD | NUMBERS },
	{ "psk", "password", STRONG | WORD | NUMBERS },
	{ "secret", "secret", STRONG },
	{ "secretkey", "secret-key", STRONG },
	{ "api_key", "api-key", STRONG },
	{ "apikey", "api-key", STRONG },
	{ "api-key", "api-key", STRONG },
	{ "api key", "api-key", STRONG },
	{ "secret key", "secret-key", STRONG },
	{ "access_key", "access-key", STRONG },
	{ "accesskey", "access-key", STRONG },
	{ "access-key", "access-key", STRONG },
	{ "private_key", "private-key", STRONG },
	{ "privatekey", "private-key", STRONG },
	{ "private-key", "private-key", STRONG },
	{ "encryption_key", "encryption-key", STRONG },
	{ "signing_key", "signing-key", STRONG },
	{ "master_key", "master-key", STRONG },
	{ "account_key", "account-key", STRONG },
	{ "key-data", "private-key", STRONG },
	{ "key_data", "private-key", STRONG },
	{ "keydata", "private-key", STRONG },
	{ "tls.key", "private-key", STRONG },
	{ "dockerconfigjson", "credential", STRONG },
	{ "presharedkey", "private-key", STRONG },
	{ "preshared_key", "private-key", STRONG },
	{ "credential", "credential", STRONG },
	{ "token", "token", PLURAL_NOT },
	{ "auth", "auth", WORD },
	{ "authorization", "authorization", KEY_ONLY },
	{ "cookie", "cookie", KEY_ONLY },
};
const size_t nkeywords = countof(keywords);

const struct keyword foreign_keywords[] = {
	{ "pw", "password", STRONG | NUMBERS },
	{ "kennwort", "password", STRONG | NUMBERS },
	{ "contraseña", "password", STRONG | NUMBERS },
	{ "contrasena", "password", STRONG | NUMBERS },
	{ "clave secreta", "password", STRONG | NUMBERS },
	{ "mot de passe", "password", STRONG | NUMBERS },
	{ "mot_de_passe", "password", STRONG | NUMBERS },
	{ "mdp", "password", STRONG | NUMBERS },
	{ "senha", "password", STRONG | NUMBERS },
	{ "palavra-passe", "password", STRONG | NUMBERS },
	{ "parola d'ordine", "password", STRONG | NUMBERS },
	{ "wachtwoord", "password", STRONG | NUMBERS },
	{ "adgangskode", "password", STRONG | NUMBERS },
	{ "lösenord", "password", STRONG | NUMBERS },
	{ "losenord", "password", STRONG | NUMBERS },
	{ "passord", "password", STRONG | NUMBERS },
	{ "lykilorð", "password", STRONG | NUMBERS },
	{ "salasana", "password", STRONG | NUMBERS },
	{ "parool", "password", STRONG | NUMBERS },
	{ "hasło", "password", STRONG | NUMBERS },
	{ "haslo", "password", STRONG | NUMBERS },
	{ "heslo", "password", STRONG | NUMBERS },
	{ "jelszó", "password", STRONG | NUMBERS },
	{ "lozinka", "password", STRONG | NUMBERS },
	{ "geslo", "password", STRONG | NUMBERS },
	{ "slaptažodis", "password", STRONG | NUMBERS },
	{ "şifre", "password", STRONG | NUMBERS },
	{ "sifre", "password", STRONG | NUMBERS },
	{ "пароль", "password", STRONG | NUMBERS },
	{ "Пароль", "password", STRONG | NUMBERS },
	{ "парола", "password", STRONG | NUMBERS },
	{ "κωδικός", "password", STRONG | NUMBERS },
	{ "סיסמה", "password", STRONG | NUMBERS },
	{ "密码", "password", STRONG | NUMBERS },
	{ "密碼", "password", STRONG | NUMBERS },
	{ "口令", "password", STRONG | NUMBERS },
	{ "パスワード", "password", STRONG | NUMBERS },
	{ "비밀번호", "password", STRONG | NUMBERS },
	{ "암호", "password", STRONG | NUMBERS },
	{ "mật khẩu", "password", STRONG | NUMBERS },
	{ "kata sandi", "password", STRONG | NUMBERS },
	{ "รหัสผ่าน", "password", STRONG | NUMBERS },
};
const size_t nforeign_keywords = countof(foreign_keywords);

bool assign_is_password(const struct keyword *k)
{
	return (k->flags & NUMBERS) != 0;
}

/* A name with one of these words beside the keyword describes a secret, it does not contain one. */
static const char *const harmless_after[] = { "type", "types", "method", "methods", "mode", "name", "names", "file",
	"files", "path", "paths", "dir", "url", "uri", "endpoint", "host", "count", "counts", "limit", "limits",
	"length", "len", "size", "id", "ids", "ref", "refs", "hint", "policy", "field", "fields", "label", "provider",
	"status", "state", "expiry", "expires", "expiration", "expire", "ttl", "at", "prefix", "suffix", "format",
	"class", "index", "idx", "usage", "used", "min", "max", "rule", "rules", "regex", "regexp", "pattern", "error",
	"errors", "message", "msg", "help", "description", "desc", "required", "enabled", "disabled", "input", "reset",
	"page", "form", "manager", "store", "service", "handler", "helper", "helpers", "validator", "version", "header",
	"headers", "param", "params", "parameter", "budget", "cost", "kind", "list", "map", "table", "pos", "position",
	"offset", "start", "end", "begin", "line", "column", "strength", "placeholder", "title", "algorithm", "alg",
	"audience", "issuer", "scope", "scopes", "scheme", "env", "var", "script", "source", "bucket", "rate", "window",
	"prompt", "callback", "func", "function", "command", "middleware", "plugin", "module", "mgr", "const",
	"userdata", NULL };
static const char *const harmless_before[] = { "is", "has", "no", "not", "num", "max", "min", "n", "use", "show",
	"hide", "allow", "require", "requires", "required", "enable", "disable", "forgot", "total", "count",
	"completion", "cached", "validate", "check", "verify", "next", "prev", "previous", "stop", "eos", "bos", "pad",
	"unk", "sep", "cls", "mask", "special", "page", "without", "skip", "need", "needs", NULL };

/* Whole values that are not secrets: types, constants, examples. */
static const char *const harmless_values[] = { "string", "number", "integer", "boolean", "bytes", "object", "buffer",
	"secretstr", "varchar", "unknown", "undefined", "optional", "required", "disabled", "enabled", "default",
	"password", "passwd", "passphrase", "secret", "secrets", "token", "bearer", "username", "changeme", "change-me",
	"change_me", "placeholder", "redacted", "hidden", "removed", "example", "inherit", "prompt", "static", "public",
	"private", "return", "function", "char", "void", "const", "struct", "unsigned", "credentials", "credential",
	"pass", "pwd", "user", "api_key", "apikey", "identifier", "symbol", "options", "option", "argument",
	"arguments", "parameter", "include", "same-origin", "omit", NULL };
/* How references to something kept elsewhere begin, and what hookd itself wrote, */
static const char *const reference_starts[] = { "<", "$", "{", "%(", "%s", "%{", "[redacted", "[contents of", "[hidden",
	"process.env", "os.environ", "os.getenv", "getenv", "env.", "env(", "env[", "import.meta", "system.getenv",
	"vault:", "...", NULL };
/* and constants, but nilsson1984 is a password. */
static const char *const constants[] = { "none", "null", "nil", "true", "false", NULL };
/* and examples, expressions and places in text. */
static const char *const harmless_starts[] = { "your", "my-", "my_", "example", "insert", "enter ", "dummy", "config.",
	"settings.", "self.", "this.", "args.", "options.", "opts.", "secrets.", "todo", "fixme", "replace", "await ",
	"new ", "function", "lambda", "async ", "http://", "https://", "./", "../", "~/", "file:", NULL };

/* -- small questions about bytes --------------------------------------------------------------- */

static unsigned char byte_at(str s, size_t i)
{
	return i < s.n ? (unsigned char)s.p[i] : 0;
}

static bool is_name_byte(unsigned char c)
{
	return isalnum(c) || c == '_' || c == '-' || c == '.';
}

/* The word begins s, or is all of it. Most differ in the first letter. */
static bool begins_with(str s, const char *word, bool whole)
{
	size_t i = 0;

	for (; word[i]; i++)
		if (i >= s.n || tolower((unsigned char)s.p[i]) != tolower((unsigned char)word[i]))
			return false;
	return !whole || i == s.n;
}

static bool in_list(const char *const *list, str s)
{
	for (; *list; list++)
		if (begins_with(s, *list, /* whole= */ true))
			return true;
	return false;
}

static bool starts_with_any(const char *const *list, str s)
{
	for (; *list; list++)
		if (begins_with(s, *list, /* whole= */ false))
			return true;
	return false;
}

/* What a value is made of. */
struct makeup {
	size_t digits, lower, upper, blanks, other;
	size_t turns;   /* from letter to digit or back */
	size_t same;    /* bytes equal to the first */
	bool reference; /* a format or an interpolation inside */
};

static struct makeup makeup_of(str v)
{
	struct makeup m = { 0 };
	int last = 0;

	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i], next = byte_at(v, i + 1);
		int kind = isdigit(c) ? 1 : isalpha(c) ? 2 : 0;

		m.digits += kind == 1;
		m.lower += kind == 2 && islower(c);
		m.upper += kind == 2 && isupper(c);
		m.blanks += c == ' ' || c == '\t';
		m.other += kind == 0 && c != '_' && c != '.' && c != '-';
		m.turns += kind && last && kind != last;
		m.same += c == (unsigned char)v.p[0];
		m.reference |= (c == '$' || c == '#') && (next == '{' || next == '(');
		m.reference |= c == '{' && (next == '}' || next == '{');
		last = kind ? kind : last;
	}
	return m;
}

bool value_is_mixed(str v)
{
	struct makeup m = makeup_of(v);

	return m.digits && (m.lower || m.upper);
}

/* Random in the way of tokens: letters and digits take turns, or it is long and has both. */
bool value_is_random(str v)
{
	struct makeup m = makeup_of(v);
	size_t letters = m.lower + m.upper;

	if (v.n < 8 || m.blanks || !letters)
		return false;
	if (m.digits && (m.turns >= 2 || m.digits >= 6))
		return true;
	return v.n >= 20 && ((m.digits && m.turns) || (m.upper >= 3 && m.lower >= 3 && m.other));
}

/* Letters that follow each other in words and in names people make up; measured over the words of 6,000 source files
 * and manuals, those that make up less than one in 2,500 pairs left out. Row: first letter; bit: second. */
static const uint32_t ordinary_pairs[26] = { 0x1febd7f, 0x1165b1d, 0x11eddbd, 0x1ee93f, 0x1fffdff, 0x11e493d, 0x1679d1,
	0x1a5111, 0x2aef87f, 0x10, 0x40111, 0x13ce97d, 0x3cd91b, 0x13ced7d, 0x7efd7f, 0x11eed9d, 0x100000, 0x13efd7f,
	0x15efdf5, 0x11ef9bd, 0xef97f, 0x4111, 0x66191, 0x88114, 0xcb110, 0x11 };

/* Letters alone, but drawn by lot: half of the pairs in them are none that words have. Of random letters one in 10
 * is missed at ten of them, one in 2,000 at twenty; of names in source code one in 25 is taken for random, so where
 * it is written must speak for a secret as well. */
static bool is_drawn(str v, size_t least)
{
	size_t rare = 0, letters = 0, turns = 0;

	v = str_head(v, VALUE_LOOK);
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i], d = byte_at(v, i + 1);
		unsigned a = (c | 32u) - 'a', b = (d | 32u) - 'a';

		letters += a < 26;
		if (a >= 26 || b >= 26)
			continue;
		rare += !(ordinary_pairs[a] >> b & 1);
		turns += (c ^ d) >> 5 & 1;
	}
	/* Capitals without order are a sign of their own. */
	if (turns * 5 >= letters * 2)
		return letters >= DRAWN_MIN && rare >= 2 && rare * 16 >= letters;
	return letters >= DRAWN_MIN && rare >= least && rare * 8 >= letters;
}

bool value_is_drawn(str v)
{
	return is_drawn(v, 3);
}

/* The name of a secret is not one: db_password, X-Auth-Token, clientSecret. */
static bool names_a_secret(str v)
{
	struct makeup m = makeup_of(str_head(v, NAME_MAX_SIDE));

	if (v.n > NAME_MAX_SIDE || m.digits || m.other || m.blanks || m.lower == v.n || value_is_drawn(v))
		return false;
	for (size_t i = 0; i < nkeywords; i++)
		for (size_t at = 0, n = strlen(keywords[i].literal); at + n <= v.n; at++)
			if (str_eq_nocase(str_n(v.p + at, n), str_of(keywords[i].literal)))
				return true;
	return false;
}

/* xxxx-xxxx, ****, ... */
static bool is_masked(str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (!memchr("xX*.-_ ", v.p[i], 7))
			return false;
	return true;
}

static bool is_constant(str v)
{
	for (const char *const *c = constants; *c; c++)
		if (begins_with(v, *c, /* whole= */ false) && !isalnum(byte_at(v, strlen(*c))))
			return true;
	return false;
}

static bool says_something(str v)
{
	struct makeup m = makeup_of(str_head(v, VALUE_LOOK));

	if (v.n == 0 || in_list(harmless_values, v) || starts_with_any(reference_starts, v) || is_constant(v))
		return false;
	return !m.reference && m.same != v.n && !is_masked(v) && !(v.p[0] == '%' && v.p[v.n - 1] == '%');
}

bool value_is_secret(str v)
{
	v = str_trim(v);
	return v.n >= VALUE_MIN && says_something(v);
}

bool value_is_secret_number(const char *name, str v)
{
	/* A password may have any length; other names are sometimes next to amounts. */
	size_t least = strcmp(name, "password") == 0 ? NUMBER_MIN : VALUE_MIN;

	/* As JSON writes numbers: with a sign, a point, an exponent. */
	return makeup_of(v).digits >= least;
}

bool assign_is_pin(str key)
{
	static const char *const names[] = { "pin", "pincode", "pin_code", "otp", "totp", "cvv", "cvc", NULL };

	return in_list(names, key);
}

/* A path; but base64 may begin with a slash as well. */
static bool is_place(str v)
{
	struct makeup m = makeup_of(v);

	if (v.n == 0 || v.p[0] != '/')
		return false;
	return v.n < DRAWN_LONG || !m.digits || m.turns < 4 || m.upper < 3;
}

bool value_is_placeholder(str v)
{
	v = str_trim(v);
	return !says_something(v) || starts_with_any(harmless_starts, v) || is_place(v) || names_a_secret(v);
}

/* -- the name ---------------------------------------------------------------------------------- */

/* Next word of a name: snake_case, kebab-case, dotted and camelCase. */
static bool next_word(str *rest, str *ret)
{
	size_t i = 0;

	while (rest->n && !isalnum((unsigned char)rest->p[0]))
		*rest = str_from(*rest, 1);
	while (i < rest->n && isalnum((unsigned char)rest->p[i]) &&
		!(i && isupper((unsigned char)rest->p[i]) && islower((unsigned char)rest->p[i - 1])))
		i++;
	*ret = str_head(*rest, i);
	*rest = str_from(*rest, i);
	return i > 0;
}

/* A letter at i goes on with the word that ends before i. */
static bool goes_on(str s, size_t i)
{
	unsigned char c = byte_at(s, i);

	return islower(c) || (isupper(c) && i && isupper((unsigned char)s.p[i - 1]));
}

static bool begins_word(str s, size_t i)
{
	unsigned char c = byte_at(s, i);

	if (i == 0 || !isalpha((unsigned char)s.p[i - 1]))
		return true;
	return isupper(c) && islower((unsigned char)s.p[i - 1]);
}

/* The name around the keyword; false when the keyword is only part of another word. */
static bool find_name(str s, const struct keyword *k, size_t begin, size_t end, struct span *ret)
{
	size_t from = begin, to = end;

	if ((k->flags & WORD) && !begins_word(s, begin))
		return false;
	if (byte_at(s, to) == 's' || (byte_at(s, to) == 'S' && isupper((unsigned char)s.p[to - 1]))) {
		if (k->flags & (PLURAL_NOT | WORD))
			return false;
		to++;
	}
	if (goes_on(s, to))
		return false;
	end = to;
	while (from > 0 && begin - from < NAME_MAX_SIDE && is_name_byte((unsigned char)s.p[from - 1]))
		from--;
	while (to < s.n && to - end < NAME_MAX_SIDE && is_name_byte((unsigned char)s.p[to]))
		to++;
	while (to > end && s.p[to - 1] == '.')
		to--;
	*ret = (struct span){ from, to, k->name, 0 };
	return true;
}

/* max_tokens, password_file: words beside the keyword say that the value is not a secret. */
static bool is_harmless_name(str s, const struct span *name, size_t begin, size_t end)
{
	str rest = str_n(s.p + name->begin, begin - name->begin), word, last = STR_NONE;

	while (next_word(&rest, &word))
		last = word;
	if (last.n && in_list(harmless_before, last))
		return true;
	rest = str_n(s.p + end, name->end - end);
	while (next_word(&rest, &word))
		if (in_list(harmless_after, word))
			return true;
	return false;
}

bool assign_is_name(str s, const struct keyword *k, size_t begin, size_t end)
{
	struct span name;

	return find_name(s, k, begin, end, &name) && name.begin == 0 && name.end == s.n &&
		!is_harmless_name(s, &name, begin, end);
}

/* -- the value --------------------------------------------------------------------------------- */

/* How name and value were written. */
struct style {
	char sep;    /* = : > or ' ' after a flag, 'i' for "is", 't' for "to", ',' for anything else */
	bool tight;  /* no blank around the separator */
	bool upper;  /* the name is in capitals */
	bool flag;   /* --name value */
	bool starts; /* nothing but indentation before the name on its line */
	bool ends;   /* nothing after the value on its line */
	bool query;  /* between & or ; */
	bool backquoted;
	bool boxed;  /* quotes around name and value together */
	bool listed; /* name=value between blanks or quotes, as in a connection string; not an argument in code */
};

static size_t skip_blanks(str s, size_t i)
{
	while (byte_at(s, i) == ' ' || byte_at(s, i) == '\t')
		i++;
	return i;
}

/* A quote, perhaps escaped (JSON inside JSON): its length, or 0. */
static size_t quote_at(str s, size_t i)
{
	size_t n = 0;

	while (n < 3 && byte_at(s, i + n) == '\\')
		n++;
	return byte_at(s, i + n) == '"' || byte_at(s, i + n) == '\'' || byte_at(s, i + n) == '`' ? n + 1 : 0;
}

/* Nothing but marks, digits and the words that may precede an assignment. */
static bool starts_line(str s, size_t name)
{
	size_t i = name, letters = 0;
	str before;

	while (i > 0 && s.p[i - 1] != '\n' && name - i < 40)
		i--;
	/* "\n" as two characters, from JSON that was quoted once more. */
	before = str_n(s.p + i, name - i);
	for (size_t j = before.n; j-- > 0;)
		if (j > 0 && before.p[j - 1] == '\\' && before.p[j] == 'n') {
			before = str_from(before, j + 1);
			break;
		}
	before = str_trim(before);
	if (str_eq(before, STR("export")) || str_eq(before, STR("set")) || str_eq(before, STR("ENV")) ||
		str_ends(before, STR("declare -x")) || str_eq(before, STR("setenv")))
		return true;
	for (i = 0; i < before.n; i++)
		letters += isalpha((unsigned char)before.p[i]) != 0;
	return letters == 0;
}

static bool ends_line(str s, size_t i)
{
	i = skip_blanks(s, i);
	return i >= s.n || s.p[i] == '\n' || s.p[i] == '\r' || s.p[i] == '#' ||
		(s.p[i] == '\\' && (byte_at(s, i + 1) == 'n' || byte_at(s, i + 1) == 'r'));
}

/* password: str = "…", password string = "…": the value comes after the type. */
static size_t skip_type(str s, size_t i)
{
	size_t j = i;

	while (isalnum(byte_at(s, j)) || (byte_at(s, j) && strchr("_.[]|<>?", byte_at(s, j))))
		j++;
	if (j == i || j - i > NAME_MAX_SIDE)
		return i;
	j = skip_blanks(s, j);
	if (byte_at(s, j) != '=')
		return i;
	j = skip_blanks(s, j + 1);
	return quote_at(s, j) ? j : i;
}

/* ENV NAME value, as in a Dockerfile; the same in other shells. */
static bool follows_env(str s, size_t name)
{
	static const char *const before[] = { "ENV ", "setx ", "set -x ", "set -gx ", "set -Ux ", "setenv " };

	for (size_t i = 0; i < countof(before); i++) {
		size_t n = strlen(before[i]);

		if (name >= n && memcmp(s.p + name - n, before[i], n) == 0 &&
			(name == n || !is_name_byte((unsigned char)s.p[name - n - 1])))
			return true;
	}
	return false;
}

/* <key>password</key> <string>…</string>: where the value begins, or i. */
static size_t skip_to_string(str s, size_t i)
{
	size_t at = i + 6;

	if (!str_starts(str_from(s, i), STR("</key>")))
		return i;
	while (at < s.n && at - i < NAME_MAX_SIDE && memchr(" \t\r\n", s.p[at], 4))
		at++;
	return str_starts(str_from(s, at), STR("<string>")) ? at + 8 : i;
}

/* setPassword("…") */
static bool follows_set(str s, const struct span *name, size_t keyword)
{
	str before = str_n(s.p + name->begin, keyword - name->begin);

	while (before.n && !isalpha((unsigned char)before.p[before.n - 1]))
		before.n--;
	return before.n >= 3 &&
		(str_eq_nocase(str_from(before, before.n - 3), STR("set")) || str_ends(before, STR("with")));
}

/* - name: DB_PASSWORD, and on the next line value: …; the same in JSON. Returns i when it is not.
 */
static size_t skip_to_pair(str s, size_t i)
{
	size_t at = i;

	while (at < s.n && at - i < NAME_MAX_SIDE && memchr(" \t\r\n,;\\{", s.p[at], 8))
		at += s.p[at] == '\\' && byte_at(s, at + 1) == 'n' ? 2 : 1;
	at += quote_at(s, at);
	if (s.n - at >= 5 && str_eq_nocase(str_n(s.p + at, 5), STR("value")))
		at += 5;
	else if (s.n - at >= 7 && str_eq_nocase(str_n(s.p + at, 7), STR("default")))
		at += 7; /* variable "db_password" { default = … */
	else
		return i;
	at = skip_blanks(s, at + quote_at(s, at));
	return byte_at(s, at) == ':' || byte_at(s, at) == '=' ? at + 1 : i;
}

/* Where name and value are not joined by a sign: what is between them instead. */
static size_t find_loose_separator(str s, const struct span *name, size_t keyword, size_t i, bool blanks, bool quote,
	struct style *st)
{
	static const char *const joints[] = { "|| ", "?? ", "or " };
	str rest = str_from(s, i);

	if (skip_to_pair(s, i) != i) {
		st->sep = ' ';
		st->flag = true;
		return skip_to_pair(s, i);
	}
	if (skip_to_string(s, i) != i) {
		st->sep = '>';
		return skip_to_string(s, i);
	}
	st->flag |= follows_env(s, name->begin);
	if (st->flag && quote && str_starts(rest, STR(","))) {
		st->sep = ' ';
		return i + 1;
	}
	if (st->flag && blanks && !quote) {
		st->sep = ' ';
		return i;
	}
	if (blanks && (str_starts(rest, STR("is ")) || str_starts(rest, STR("to ")))) {
		st->sep = rest.p[0];
		return i + 2;
	}
	st->sep = ',';
	if ((quote && str_starts(rest, STR(","))) || (str_starts(rest, STR("(")) && follows_set(s, name, keyword)))
		return i + 1;
	for (size_t j = 0; j < countof(joints); j++)
		if (blanks && str_starts(rest, str_of(joints[j])))
			return i + strlen(joints[j]);
	if (blanks && !quote && (quote_at(s, i) || skip_type(s, i) != i))
		return skip_type(s, i);
	return SIZE_MAX;
}

/* From the end of the name over quotes, brackets and separator to the value. */
static bool find_separator(str s, const struct span *name, size_t keyword, struct style *st, size_t *ret)
{
	size_t i = name->end, quote = quote_at(s, i), blanks;
	unsigned char c;

	st->flag = name->begin < s.n && s.p[name->begin] == '-' &&
		(name->begin == 0 || !isalnum((unsigned char)s.p[name->begin - 1]));
	i += quote;
	if (byte_at(s, i) == ']' || byte_at(s, i) == '?')
		i++;
	blanks = skip_blanks(s, i) - i;
	i += blanks;
	c = byte_at(s, i);
	if (c == ':' && byte_at(s, i + 1) == '=')
		i++, c = '=';
	if (str_starts(str_from(s, MIN(i, s.n)), STR(WIDE_COLON)))
		i += 2, c = ':';
	if (c == '=' && byte_at(s, i + 1) == '>')
		i++;
	else if ((c == '=' || c == ':') && byte_at(s, i + 1) == (unsigned char)c)
		return false;
	if (c == '>' && (blanks || name->begin == 0 || s.p[name->begin - 1] != '<'))
		return false;
	st->sep = (char)c;
	if (c == '=' || c == ':' || c == '>')
		i++;
	else
		i = find_loose_separator(s, name, keyword, i, blanks > 0, quote > 0, st);
	if (i >= s.n)
		return false;
	/* **Password:** … */
	while (c == ':' && byte_at(s, i) == '*')
		i++;
	*ret = skip_blanks(s, i);
	st->tight = !blanks && *ret == i;
	return *ret < s.n;
}

/* The inside of the quoted text whose quote (of q bytes) is at i. It ends with its line. */
static struct span quoted(str s, size_t i, size_t q)
{
	char quote = s.p[i + q - 1];
	size_t from = i + q, to = from;

	for (; to < s.n && s.p[to] != '\n'; to++) {
		size_t slashes = 0;

		if (s.p[to] != quote)
			continue;
		while (slashes < to - from && s.p[to - 1 - slashes] == '\\')
			slashes++;
		if (slashes <= q - 1)
			return (struct span){ from, to - MIN(slashes, q - 1) };
	}
	return (struct span){ from, to };
}

/* The word at i, or its first `most` bytes. */
static struct span bare(str s, size_t i, const struct style *st, size_t most)
{
	const char *stop = st->sep == '>' ? "<\n" : st->upper && st->tight ? " \t\r\n\"'`" : " \t\r\n\"'`,;)}]<&|";
	size_t to = i;

	for (; to < s.n && to - i < most && s.p[to] && !strchr(stop, s.p[to]); to++)
		if (s.p[to] == '\\' &&
			(byte_at(s, to + 1) == 'n' || byte_at(s, to + 1) == 'r' || byte_at(s, to + 1) == 't' ||
				byte_at(s, to + 1) == '"'))
			break;
	/* What the shell takes for itself at the end of a word. */
	while (to > i && strchr(";&|),", s.p[to - 1]))
		to--;
	return (struct span){ i, to };
}

static bool is_word(struct makeup m)
{
	return m.digits == 0 && m.other == 0;
}

/* name(…), name[…], a->b, A::b */
static bool is_expression(str v)
{
	size_t i = 0;

	if (!isalpha(byte_at(v, 0)) && byte_at(v, 0) != '_')
		return strchr("([{*&!@|", byte_at(v, 0)) != NULL;
	while (is_name_byte(byte_at(v, i)))
		i++;
	return i < v.n &&
		(strchr("([{", v.p[i]) || str_starts(str_from(v, i), STR("->")) ||
			str_starts(str_from(v, i), STR("::")));
}

/* module.Name2: every piece begins like an identifier. */
static bool is_dotted(str v)
{
	bool dotted = false;

	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if ((i == 0 || v.p[i - 1] == '.') && !isalpha(c) && c != '_')
			return false;
		if (!isalnum(c) && c != '_' && c != '.')
			return false;
		dotted |= c == '.';
	}
	return dotted;
}

/* Letters alone, in a place where they may as well be the name of a variable. */
static bool judge_letters(const struct keyword *k, str v, struct makeup m, const struct style *st)
{
	bool is_password = (k->flags & (NUMBERS | WORD)) == NUMBERS;

	if (st->listed && is_password && m.lower + m.upper == v.n)
		return true;
	/* "the password: …" in a sentence, where no variable would stand. Of twelve random letters one in 60 is missed;
	 * of words that long one in 15 would be taken for random, if it followed such a name. */
	if (st->sep == ':' && !st->tight && m.lower + m.upper == v.n && v.n >= DRAWN_PROSE &&
		is_drawn(v, (k->flags & STRONG) ? 2 : 3))
		return true;
	if (!value_is_drawn(v))
		return false;
	if (st->sep == 'i' || st->sep == 't' || (st->sep == '=' && !st->tight) || st->sep == ',')
		return v.n >= ((k->flags & STRONG) ? DRAWN_MIN : DRAWN_LONG) &&
			(st->ends || st->boxed || st->sep == 'i' || st->sep == 't');
	return st->flag || st->query || st->listed || st->sep == '>' || (st->upper && st->tight) || st->boxed ||
		(st->ends && (st->starts || st->tight)) ||
		((k->flags & STRONG) && (v.n >= DRAWN_LONG || (st->sep == ':' && !st->tight)));
}

static bool judge_word(const struct keyword *k, str v, struct makeup m, const struct style *st)
{
	bool plain = m.lower && m.upper == 0;

	if (judge_letters(k, v, m, st))
		return true;
	if (!(k->flags & STRONG))
		return false;
	if (st->flag || st->query || st->sep == '>')
		return m.lower > 0;
	if (st->upper && st->tight && st->sep == '=')
		return m.lower > 0;
	if (!plain || !st->starts || !st->ends)
		return false;
	return st->sep == ':' ? !st->tight
			      : st->sep == '=' && (k->flags & (NUMBERS | WORD)) == NUMBERS && m.lower == v.n;
}

static bool judge_bare(const struct keyword *k, str v, const struct style *st)
{
	struct makeup m = makeup_of(v);
	bool plain_place =
		st->flag || st->query || st->sep == '>' || (st->upper && st->tight) || (st->starts && st->ends);

	if ((st->flag && v.p[0] == '-') || st->sep == ',' || m.blanks)
		return false;
	if (is_word(m))
		return judge_word(k, v, m, st);
	if (st->sep == 'i' && !m.digits)
		return value_is_drawn(v);
	/* "set the password to …", but also "convert a token to base64". */
	if (st->sep == 't')
		return v.n >= 10 && (value_is_random(v) || value_is_drawn(v));
	/* {"password": 4815162342}, in a text; a count of what passed has another name. */
	if (m.lower + m.upper == 0)
		return (k->flags & NUMBERS) &&
			(plain_place || (st->sep == ':' && !(k->flags & WORD) && m.digits >= NUMBER_IN_TEXT_MIN));
	if (is_expression(v) && !(st->upper && st->tight && m.digits))
		return false;
	if (is_dotted(v) && !plain_place && !st->tight && !(k->flags & NUMBERS))
		return false;
	if (k->flags & STRONG)
		return plain_place || st->tight || (k->flags & NUMBERS) || value_is_random(v);
	return value_is_random(v) && (plain_place || v.n >= 16);
}

static bool judge_quoted(const struct keyword *k, str v, const struct style *st)
{
	struct makeup m = makeup_of(v);

	/* Between backquotes, in prose, are names. */
	if (st->backquoted && !m.digits && !value_is_drawn(v))
		return false;
	/* Side by side, names and values look like any two strings of a list. */
	if (st->sep == ',' && (k->flags & STRONG) && v.n >= DRAWN_PROSE && is_drawn(v, 2) && m.lower + m.upper == v.n)
		return true;
	if (st->sep == ',' && (m.digits < (k->flags & STRONG ? 1 : 3) || m.blanks || v.p[0] == '\\'))
		return false;
	if (!(k->flags & STRONG))
		return value_is_random(v) || value_is_drawn(v) || (v.n >= 16 && m.lower + m.upper + m.digits == v.n);
	/* Sentences for people, not passphrases. */
	if (m.blanks && (isupper((unsigned char)v.p[0]) || m.blanks > 5 || m.other > m.blanks))
		return m.digits && m.blanks == 1;
	return m.lower + m.upper + m.digits > 0 && !is_expression(v);
}

static bool upper_name(str s, const struct span *name)
{
	for (size_t i = name->begin; i < name->end; i++)
		if (islower((unsigned char)s.p[i]))
			return false;
	return true;
}

/* "Generated password for bob: …", SET PASSWORD FOR bob = '…': some words between name and value, which is the last of
 * its line and as random as what programs make up. */
static bool find_distant(str s, const struct keyword *k, const struct span *name, struct span *ret)
{
	struct style st = { .sep = ':' };
	size_t at = name->end, quote;
	struct span value;
	str text;

	if ((k->flags & (STRONG | NUMBERS | WORD)) != (STRONG | NUMBERS) || byte_at(s, at) != ' ')
		return false;
	while (at < s.n && at - name->end < NAME_MAX_SIDE &&
		(isalnum(byte_at(s, at)) || memchr(" @.'_-", byte_at(s, at), 6)))
		at++;
	if ((byte_at(s, at) != ':' && byte_at(s, at) != '=') || byte_at(s, at + 1) != ' ')
		return false;
	at = skip_blanks(s, at + 1);
	quote = quote_at(s, at);
	value = quote ? quoted(s, at, quote) : bare(s, at, &st, VALUE_LOOK);
	text = str_n(s.p + value.begin, MIN(value.end - value.begin, (size_t)VALUE_LOOK));
	if (!value_is_random(text) || value_is_placeholder(text) || is_expression(text) ||
		(!quote && !ends_line(s, value.end)))
		return false;
	*ret = (struct span){ value.begin, value.end, k->name, 0 };
	return true;
}

bool assign_find(str s, const struct keyword *k, size_t begin, size_t end, struct span *ret)
{
	struct style st = { 0 };
	struct span name, value;
	size_t at, quote;
	str text;

	if ((k->flags & KEY_ONLY) || !find_name(s, k, begin, end, &name))
		return false;
	if (!find_separator(s, &name, begin, &st, &at))
		return find_distant(s, k, &name, ret) && !is_harmless_name(s, &name, begin, end);
	if (strchr("$<{", s.p[at]) || is_harmless_name(s, &name, begin, end))
		return false;
	/* ${NAME:?message}: no value at all. */
	if (st.sep == ':' && st.tight && strchr("?+", s.p[at]) && name.begin > 1 && s.p[name.begin - 1] == '{' &&
		s.p[name.begin - 2] == '$')
		return false;
	/* registry/secret:1.2 is an image and its tag. */
	if (st.sep == ':' && st.tight && name.begin > 0 && s.p[name.begin - 1] == '/')
		return false;
	if (st.sep == ':')
		at = skip_type(s, at);
	/* b"…", f"…", L"…" */
	if (isalpha(byte_at(s, at)) && (byte_at(s, at + 1) == '"' || byte_at(s, at + 1) == '\''))
		at++;
	quote = quote_at(s, at);
	st.upper = upper_name(s, &name);
	value = quote ? quoted(s, at, quote) : bare(s, at, &st, VALUE_LOOK);
	text = str_n(s.p + value.begin, MIN(value.end - value.begin, (size_t)VALUE_LOOK));
	if (text.n < VALUE_MIN || value_is_placeholder(text))
		return false;
	st.starts = starts_line(s, name.begin);
	st.ends = ends_line(s, value.end);
	st.query = st.tight && st.sep == '=' &&
		((name.begin > 0 && strchr("?&;", s.p[name.begin - 1])) || byte_at(s, value.end) == '&');
	st.backquoted = quote && s.p[at + quote - 1] == '`';
	st.boxed = name.begin > 0 && strchr("\"'`", s.p[name.begin - 1]) && quote_at(s, value.end);
	st.listed = st.tight && st.sep == '=' && (name.begin == 0 || strchr(" \t\n\"'?&;/:,", s.p[name.begin - 1])) &&
		(value.end >= s.n || strchr(" \t\r\n\"'&;\\", s.p[value.end]));
	if (quote ? !judge_quoted(k, text, &st) : !judge_bare(k, text, &st))
		return st.sep == 'i' && find_distant(s, k, &name, ret); /* "the password is generated: …" */
	if (!quote && text.n == VALUE_LOOK)
		value = bare(s, at, &st, SIZE_MAX);
	*ret = (struct span){ value.begin, value.end, k->name, 0 };
	return true;
}
