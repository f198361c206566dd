/* code_read: programs of interpreters as tokens, and what their strings and names are worth. */
#include "guard/code.h"

/* -- reading ---------------------------------------------------------------------------------- */

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		(unsigned char)c >= 0x80;
}

static size_t string_end(str s, size_t i, char quote)
{
	while (i < s.n && s.p[i] != quote)
		i += s.p[i] == '\\' && i + 1 < s.n ? 2 : 1;
	return i;
}

static void add_token(struct code *k, enum token_kind kind, str text)
{
	if (k->n < k->max)
		k->t[k->n++] = (struct token){ kind, text };
}

/* ${…} in a template: the home when it says so, else unknown. */
static str without_holes(struct code *k, str text, const char *open)
{
	struct text t = { .a = k->x->a };

	for (size_t i = 0; i < text.n; i++) {
		ptrdiff_t end =
			str_starts(str_from(text, i), str_of(open)) ? str_find_char(str_from(text, i), '}') : -1;
		str hole = end > 0 ? str_n(text.p + i, (size_t)end) : STR("");

		if (end > 0) {
			text_add(&t, str_has_nocase(hole, "HOME") || str_has(hole, "~") ? k->x->c->home : STR("\1"));
			i += (size_t)end;
		} else {
			text_char(&t, text.p[i]);
		}
	}
	return text_str(&t);
}

/* A string at i; gives where it ends. Triple quotes count as one. */
static size_t read_string(struct code *k, str s, size_t i)
{
	char q = s.p[i];
	bool triple =
		i + 2 < s.n && s.p[i + 1] == q && s.p[i + 2] == q && q != '`' && str_starts(k->language, STR("python"));
	size_t from = i + (triple ? 3 : 1), end;
	str text;

	if (triple) {
		const char close[] = { q, q, q, 0 };
		ptrdiff_t at = str_find(str_from(s, from), str_of(close));

		end = at < 0 ? s.n : from + (size_t)at;
	} else {
		end = string_end(s, from, q);
	}
	text = str_n(s.p + from, MIN(end, s.n) - MIN(from, end));
	if (q == '"' && str_eq(k->language, STR("perl")))
		text = without_holes(k, text, "$ENV{");
	else if (q == '`' || (q == '"' && str_eq(k->language, STR("ruby"))))
		text = without_holes(k, text, q == '`' ? "${" : "#{");
	else if (i && s.p[i - 1] == 'f' && str_eq(k->language, STR("python")))
		text = without_holes(k, text, "{");
	if (str_find_char(text, '\\') >= 0 && !(i && s.p[i - 1] == 'r'))
		text = decode_backslashes(k->x->a, text, false);
	add_token(k,
		q == '`' && (!str_in(k->language, "node deno bun awk") || (i && s.p[i - 1] == '$')) ? TOKEN_COMMAND
												    : TOKEN_STRING,
		text);
	return MIN(end + (triple ? 3 : 1), s.n);
}

/* qx{…}, %x(…), q(…), qq(…) of Perl and Ruby. */
static size_t read_quote_like(struct code *k, str s, size_t i, size_t name_end, str name)
{
	static const char open[] = "({[<", close[] = ")}]>";
	const char *at = name_end < s.n && s.p[name_end] ? strchr(open, s.p[name_end]) : NULL;
	char end_char = at ? close[at - open] : name_end < s.n && strchr("/|!'\"", s.p[name_end]) ? s.p[name_end] : 0;
	size_t end;

	(void)i;
	if (!end_char || !s.p[name_end])
		return 0;
	end = string_end(s, name_end + 1, end_char);
	add_token(k, str_in(name, "qx x") ? TOKEN_COMMAND : TOKEN_STRING,
		str_n(s.p + name_end + 1, end - name_end - 1));
	return MIN(end + 1, s.n);
}

void code_tokens(struct code *k, str s)
{
	bool quotes = str_in(k->language, "perl ruby");
	size_t i = 0;

	while (i < s.n && spend(k->x, 1)) {
		char c = s.p[i];
		size_t from = i, end;

		if (c == '\n' || c == ';') {
			add_token(k, TOKEN_LINE, str_n(s.p + i++, 1));
		} else if (c == ' ' || c == '\t' || c == '\r') {
			i++;
		} else if ((c == '#' && !str_in(k->language, "node deno bun")) ||
			(c == '/' && i + 1 < s.n && s.p[i + 1] == '/' && str_in(k->language, "node deno bun php"))) {
			if (c == '#' && i > 0 && s.p[i - 1] == '$')
				i++;
			else
				while (i < s.n && s.p[i] != '\n')
					i++;
		} else if (c == '[' && i + 1 < s.n && s.p[i + 1] == '[' && str_eq(k->language, STR("lua"))) {
			ptrdiff_t at = str_find(str_from(s, i), STR("]]"));

			end = at < 0 ? s.n : i + (size_t)at;
			add_token(k, TOKEN_STRING, str_n(s.p + i + 2, MAX(end, i + 2) - i - 2));
			i = MIN(end + 2, s.n);
		} else if (c == '"' || c == '\'' || c == '`') {
			i = read_string(k, s, i);
		} else if (name_char(c)) {
			while (i < s.n && name_char(s.p[i]))
				i++;
			if (quotes && str_in(str_n(s.p + from, i - from), "q qq qx qw x") &&
				(s.p[from] != 'x' || (from > 0 && s.p[from - 1] == '%')) &&
				(end = read_quote_like(k, s, from, i, str_n(s.p + from, i - from))) > 0) {
				i = end;
				continue;
			}
			add_token(k, c >= '0' && c <= '9' ? TOKEN_NUMBER : TOKEN_NAME, str_n(s.p + from, i - from));
		} else {
			add_token(k, TOKEN_MARK, str_n(s.p + i++, 1));
		}
	}
}

/* -- values ----------------------------------------------------------------------------------- */

bool code_mark(const struct code *k, size_t i, char c)
{
	return i < k->n && k->t[i].kind == TOKEN_MARK && k->t[i].text.p[0] == c;
}

bool code_name(const struct code *k, size_t i, const char *names)
{
	return i < k->n && k->t[i].kind == TOKEN_NAME && str_in(k->t[i].text, names);
}

bool code_has(const struct code *k, const char *names)
{
	for (size_t i = 0; i < k->n; i++)
		if (code_name(k, i, names))
			return true;
	return false;
}

static const char net_names[] = "urlopen urlretrieve requests httpx aiohttp fetch axios getstore LWP HTTP curl_exec "
				"fsockopen TCPSocket open_uri URI recv recvfrom got "
				"superagent HTTParty Faraday http https urllib";
static const char home_names[] = "homedir expanduser HOME home";

str code_lookup(const struct code *k, str name)
{
	unsigned walked = 0;
	str value = STR_NONE;

	for (const struct var *v = k->vars; v && !str_is_set(value); v = v->older, walked++)
		if (str_eq(v->name, name))
			value = v->value;
	(void)spend(k->x, walked / 8);
	return value;
}

static str decoded(struct code *k, size_t i, str value)
{
	str out;

	if (code_name(k, i,
		    "b64decode atob decode_base64 base64_decode urlsafe_b64decode decode64 "
		    "standard_b64decode strict_decode64") &&
		decode_base64(k->x->a, value, &out))
		return out;
	if (code_name(k, i, "fromhex unhexlify hex2bin") && decode_hex(k->x->a, value, &out))
		return out;
	return value;
}

/* fromCharCode(114, 109), bytes([114, 109]), map(chr, [114, 109]), pack("H*", "726d"): what they make.
 * Gives where they end, or i when this is none of them. */
static size_t take_made(struct code *k, size_t i, str *ret)
{
	struct text t = { .a = k->x->a };
	size_t at = i + 2;

	if (code_name(k, i, "pack") && code_mark(k, i + 1, '(') && i + 4 < k->n && k->t[i + 2].kind == TOKEN_STRING &&
		k->t[i + 4].kind == TOKEN_STRING)
		return (str_starts(k->t[i + 2].text, STR("H")) && decode_hex(k->x->a, k->t[i + 4].text, ret)) ? i + 5
													      : i;
	if (!code_name(k, i, "fromCharCode fromCodePoint bytes bytearray map") || !code_mark(k, i + 1, '('))
		return i;
	if (code_name(k, i, "map") && !code_name(k, at, "chr"))
		return i;
	for (; at < k->n && !code_mark(k, at, ')'); at++) {
		int64_t code = 0;

		if (k->t[at].kind == TOKEN_NUMBER && str_to_int(k->t[at].text, &code))
			text_char(&t, (char)(code > 6 && code < 127 ? code : MARK_UNKNOWN));
	}
	*ret = text_str(&t);
	return t.n ? at : i;
}

/* What a string stands for where it is: a variable's name, an encoding, an address, a secret. */
static str string_value(struct code *k, size_t i, size_t decoder)
{
	str text = k->t[i].text, value = decoder != SIZE_MAX ? decoded(k, decoder, text) : text;

	if (str_in(text, "HOME USERPROFILE") && i > 1 && (code_name(k, i - 2, "environ ENV env getenv get fetch")))
		value = k->x->c->home;
	/* Buffer.from('…', 'base64'), ["…"].pack("H*") */
	if (code_mark(k, i + 1, ',') && i > 1 && code_name(k, i - 2, "from") && i + 2 < k->n) {
		if (str_eq(k->t[i + 2].text, STR("base64")))
			(void)decode_base64(k->x->a, text, &value);
		else if (str_eq(k->t[i + 2].text, STR("hex")))
			(void)decode_hex(k->x->a, text, &value);
	}
	if (code_mark(k, i + 1, ']') && code_mark(k, i + 2, '.') && code_name(k, i + 3, "pack") && i + 5 < k->n) {
		if (str_starts(k->t[i + 5].text, STR("H")))
			(void)decode_hex(k->x->a, text, &value);
		else if (str_starts(k->t[i + 5].text, STR("m")))
			(void)decode_base64(k->x->a, text, &value);
	}
	if (decoder == SIZE_MAX ||
		!code_name(k, decoder,
			"open readFileSync read_text file_get_contents read readFile "
			"fopen get source readLines url"))
		return value;
	if (str_starts(text, STR("http://")) || str_starts(text, STR("https://")) || str_starts(text, STR("ftp://")))
		return STR("\4");
	if (secrecy_of(k->x, path_resolve(k->x, text)) != SECRET_NOT) {
		judge_read(k->x, k->c, text);
		return STR("\5");
	}
	return value;
}

/* What a field of awk may be. */
static str line_of_input(const struct code *k)
{
	str rest = k->in, line;

	return str_split(&rest, '\n', &line) ? line : STR("\1");
}

/* File.join(…): its arguments are the parts of a path. */
static bool joins_path(const struct code *k, size_t i)
{
	return code_name(k, i, "join") && code_mark(k, i + 1, '(') && i > 1 &&
		code_name(k, i - 2, "path File posixpath Path");
}

/* The values of the arguments from i on, up to the bracket that closes them. Pieces joined by
 * operators are one. */
size_t code_args(struct code *k, size_t i, bool bare, str *args, size_t *ret_n)
{
	struct text cur[ARGS_MANY];
	unsigned depth = 0, joins = 0; /* joins: how deep the parts of a path are put together */
	size_t n = 0, decoder = SIZE_MAX, end, full = 0;

	k->args_cut = false;
	cur[0] = (struct text){ .a = k->x->a };
	for (; i < k->n; i++) {
		const struct token *t = &k->t[i];
		str value = STR_NONE;

		k->args_cut |= full > 0 && (t->kind == TOKEN_STRING || t->kind == TOKEN_NAME); /* numbers do no harm */
		if (t->kind == TOKEN_LINE && bare && depth == 0)
			break;
		if (joins && depth >= joins && t->kind == TOKEN_MARK && t->text.p[0] == ',') {
			text_char(&cur[n], '/'); /* File.join(a, b) */
		} else if (t->kind == TOKEN_MARK && strchr("([{", t->text.p[0])) {
			depth++;
		} else if (t->kind == TOKEN_MARK && strchr(")]}", t->text.p[0])) {
			if (depth == 0)
				break;
			depth--;
			joins = depth < joins ? 0 : joins;
		} else if (t->kind == TOKEN_MARK && t->text.p[0] == ',') {
			full |= n + 1 == ARGS_MANY;
			n = MIN(n + 1, (size_t)ARGS_MANY - 1);
			cur[n] = (struct text){ .a = k->x->a };
			decoder = SIZE_MAX;
		} else if (t->kind == TOKEN_MARK && t->text.p[0] == '$' && i + 1 < k->n &&
			k->t[i + 1].kind == TOKEN_NUMBER && str_eq(k->language, STR("awk"))) {
			value = line_of_input(k);
		} else if (t->kind == TOKEN_STRING) {
			if (!(i > 2 && code_name(k, i - 2, "pack") && code_mark(k, i - 3, '.')))
				value = string_value(k, i, decoder);
		} else if (t->kind == TOKEN_NAME) {
			str known = code_lookup(k, t->text);

			if (joins_path(k, i))
				joins = depth + 1;

			if (str_in(t->text, "require __import__ import_module") && code_mark(k, i + 1, '(')) {
				while (i + 1 < k->n && !code_mark(k, i, ')'))
					i++;
				continue;
			}
			end = take_made(k, i, &value);
			if (end != i) {
				text_add(&cur[n], value);
				i = end;
				continue;
			}
			if (str_is_set(known) && !code_mark(k, i + 1, '('))
				value = known;
			else if (str_in(t->text, net_names))
				value = STR("\4");
			else if (str_in(t->text, home_names) && !code_name(k, i, "expanduser"))
				value = k->x->c->home;
			else if (str_in(t->text, "environ env ENV _ENV argv") && !code_mark(k, i + 1, '[') &&
				!code_mark(k, i + 1, '{') &&
				(!code_mark(k, i + 1, '.') ||
					code_name(k, i + 2,
						"to_h to_a to_s each items inspect map "
						"entries values copy collect")))
				value = str_eq(t->text, STR("argv")) ? STR("\1") : STR("\5");
			else if (str_in(t->text, "getcwd cwd pwd"))
				value = k->x->st.cwd;
			else if (str_eq(t->text, STR("chr")) && i + 2 < k->n && k->t[i + 2].kind == TOKEN_NUMBER) {
				int64_t code = 0;

				(void)str_to_int(k->t[i + 2].text, &code);
				text_char(&cur[n], (char)(code > 6 && code < 127 ? code : MARK_UNKNOWN));
			} else if (code_mark(k, i + 1, '('))
				decoder = i;
		}
		if (str_is_set(value))
			text_add(&cur[n], value);
	}
	for (size_t m = 0; m <= n; m++)
		args[m] = text_str(&cur[m]);
	*ret_n = n + 1;
	return i;
}
