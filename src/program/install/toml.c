#include "install/toml.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"

struct scan {
	str text;
	size_t at;
	struct arena *a;
	void (*take)(const struct toml_value *v, void *ctx);
	void *ctx;
	str path[TOML_PATH_MAX];
	size_t npath;
	bool in_table;
	unsigned arrays; /* how many we are in: values there are not handed over */
	unsigned depth;
	size_t statement;
	str wanted; /* the table whose header is looked for */
	bool found;
	size_t header, header_end; /* its line */
	const char *why;           /* what is wrong at `bad` */
	size_t bad;
};

static int fail(struct scan *s, size_t at, const char *why)
{
	s->why = why;
	s->bad = at;
	return -EBADMSG;
}

/* The byte ahead; 0 at the end, and a NUL in the text is nothing any rule accepts. */
static char peek(const struct scan *s, size_t ahead)
{
	return s->at + ahead < s->text.n ? s->text.p[s->at + ahead] : 0;
}

static bool take_char(struct scan *s, char c)
{
	bool is = s->at < s->text.n && s->text.p[s->at] == c;

	s->at += is;
	return is;
}

/* -- between statements ------------------------------------------------------------------------ */

static void skip_blanks(struct scan *s)
{
	while (peek(s, 0) == ' ' || peek(s, 0) == '\t')
		s->at++;
}

static void skip_comment(struct scan *s)
{
	if (peek(s, 0) == '#')
		while (s->at < s->text.n && s->text.p[s->at] != '\n' && s->text.p[s->at] != '\r')
			s->at++;
}

static bool skip_newline(struct scan *s)
{
	if (peek(s, 0) == '\r' && peek(s, 1) == '\n')
		s->at++;
	return take_char(s, '\n');
}

/* Blanks, comments and line ends, as between the values of an array. */
static void skip_space(struct scan *s)
{
	do {
		skip_blanks(s);
		skip_comment(s);
	} while (skip_newline(s));
}

static int end_statement(struct scan *s)
{
	skip_blanks(s);
	skip_comment(s);
	if (s->at == s->text.n || skip_newline(s))
		return 0;
	return fail(s, s->at, "a line end is expected here");
}

/* -- strings ----------------------------------------------------------------------------------- */

static size_t count_quotes(const struct scan *s, size_t at, char quote)
{
	size_t n = 0;

	while (at + n < s->text.n && s->text.p[at + n] == quote)
		n++;
	return n;
}

/* Where the string that began before `at` ends: the place of its closing quotes. */
static int find_end(struct scan *s, size_t at, char quote, bool lines, size_t *ret)
{
	for (; at < s->text.n; at++) {
		char c = s->text.p[at];

		if (c == '\\' && quote == '"' && (lines || at + 1 >= s->text.n || s->text.p[at + 1] != '\n')) {
			at++;
		} else if (c == quote) {
			size_t n = lines ? count_quotes(s, at, quote) : 1;

			/* Up to two quotes may precede the three that close. */
			if (!lines || n >= 3) {
				*ret = at + (lines ? MIN(n, (size_t)5) - 3 : 0);
				return 0;
			}
			at += n - 1;
		} else if (c == '\n' && !lines) {
			break;
		}
	}
	return fail(s, s->at, "this string does not end");
}

static int hex_value(str digits, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < digits.n; i++) {
		char c = digits.p[i];
		int v = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (v < 0)
			return -EBADMSG;
		*ret = *ret << 4 | (uint32_t)v;
	}
	return 0;
}

/* A backslash before a line end takes away all blanks that follow. Returns how many bytes, or 0. */
static size_t folded_bytes(str in)
{
	size_t n = 0;
	bool line = false;

	while (n < in.n && strchr(" \t\r\n", in.p[n]) && in.p[n])
		line = in.p[n++] == '\n' || line;
	return line ? n : 0;
}

/* What follows a backslash; *i moves past it. */
static int decode_escape(struct scan *s, str in, size_t *i, struct buf *out)
{
	static const char names[] = "btnfre\"\\", meant[] = "\b\t\n\f\r\x1b\"\\";
	size_t place = (size_t)(in.p + *i - s->text.p) - 1, digits, fold = folded_bytes(str_from(in, *i));
	const char *known;
	char c, bytes[4];
	uint32_t code;

	if (fold) {
		*i += fold;
		return 0;
	}
	c = *i < in.n ? in.p[(*i)++] : 0;
	known = c ? strchr(names, c) : NULL;
	if (known)
		return buf_add_char(out, meant[known - names]);
	digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	if (!digits || in.n - *i < digits || hex_value(str_head(str_from(in, *i), digits), &code) < 0 ||
		code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
		return fail(s, place, "there is no such escape");
	*i += digits;
	return buf_add(out, bytes, utf8_encode(code, bytes));
}

static int decode(struct scan *s, str in, bool escapes, str *ret)
{
	struct buf out = BUF_INIT(in.n + 1);
	size_t i = 0;
	int r = 0;

	while (r == 0 && i < in.n)
		if (in.p[i] == '\\' && escapes) {
			i++;
			r = decode_escape(s, in, &i, &out);
		} else {
			r = buf_add_char(&out, in.p[i++]);
		}
	if (r == 0)
		*ret = arena_str(s->a, buf_str(&out));
	buf_release(&out);
	return r;
}

static int scan_string(struct scan *s, bool may_span, str *ret)
{
	char quote = peek(s, 0);
	bool lines = may_span && count_quotes(s, s->at, quote) >= 3;
	size_t begin = s->at + (lines ? 3 : 1), end;
	str in;
	int r = find_end(s, begin, quote, lines, &end);

	if (r < 0)
		return r;
	s->at = end + (lines ? 3 : 1);
	in = str_n(s->text.p + begin, end - begin);
	/* A line end right behind the opening quotes does not count. */
	if (lines && str_starts(in, STR("\r\n")))
		in = str_from(in, 2);
	else if (lines && str_starts(in, STR("\n")))
		in = str_from(in, 1);
	return decode(s, in, quote == '"', ret);
}

/* -- keys -------------------------------------------------------------------------------------- */

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static int scan_key_part(struct scan *s)
{
	size_t begin = s->at;

	if (s->npath == TOML_PATH_MAX)
		return fail(s, s->at, "this key has too many parts");
	if (peek(s, 0) == '"' || peek(s, 0) == '\'')
		return scan_string(s, /* may_span= */ false, &s->path[s->npath++]);
	while (is_bare(peek(s, 0)))
		s->at++;
	if (s->at == begin)
		return fail(s, s->at, "a key is expected here");
	s->path[s->npath++] = str_n(s->text.p + begin, s->at - begin);
	return 0;
}

/* A key and those behind dots, put onto the path. */
static int scan_key(struct scan *s)
{
	int r;

	do {
		skip_blanks(s);
		r = scan_key_part(s);
		skip_blanks(s);
	} while (r == 0 && take_char(s, '.'));
	return r;
}

/* -- values ------------------------------------------------------------------------------------ */

static int scan_value(struct scan *s);

static void hand_over(struct scan *s, enum toml_type type, size_t begin, str text)
{
	const struct toml_value v = {
		.path = s->path,
		.npath = s->npath,
		.top = !s->in_table,
		.statement = s->statement,
		.begin = begin,
		.end = s->at,
		.type = type,
		.text = text,
	};

	if (!s->arrays && s->take)
		s->take(&v, s->ctx);
}

static int scan_array(struct scan *s)
{
	size_t begin = s->at++;
	int r = 0;

	s->arrays++;
	skip_space(s);
	while (r == 0 && !take_char(s, ']')) {
		r = scan_value(s);
		skip_space(s);
		if (r == 0 && !take_char(s, ',') && peek(s, 0) != ']')
			r = fail(s, s->at, "expected ',' or ']'");
		skip_space(s);
	}
	s->arrays--;
	if (r == 0)
		hand_over(s, TOML_ARRAY, begin, STR_NONE);
	return r;
}

static int scan_pair(struct scan *s)
{
	size_t npath = s->npath;
	int r = scan_key(s);

	if (r == 0 && !take_char(s, '='))
		r = fail(s, s->at, "expected '='");
	skip_blanks(s);
	if (r == 0)
		r = scan_value(s);
	s->npath = npath;
	return r;
}

static int scan_inline_table(struct scan *s)
{
	size_t begin = s->at++;
	int r = 0;

	skip_space(s);
	if (take_char(s, '}')) {
		hand_over(s, TOML_TABLE, begin, STR_NONE);
		return 0;
	}
	do {
		r = scan_pair(s);
		skip_space(s);
		if (r == 0 && !take_char(s, ',') && peek(s, 0) != '}')
			r = fail(s, s->at, "expected ',' or '}'");
		skip_space(s);
	} while (r == 0 && !take_char(s, '}'));
	return r;
}

static bool is_plain(char c)
{
	return is_bare(c) || c == '+' || c == '.' || c == ':';
}

static int scan_plain(struct scan *s)
{
	size_t begin = s->at;

	while (is_plain(peek(s, 0)))
		s->at++;
	/* A date and a time may have a blank between them. */
	if (s->at - begin == 10 && s->text.p[begin + 4] == '-' && peek(s, 0) == ' ' && peek(s, 1) >= '0' &&
		peek(s, 1) <= '9') {
		s->at++;
		while (is_plain(peek(s, 0)))
			s->at++;
	}
	if (s->at == begin)
		return fail(s, s->at, "a value is expected here");
	hand_over(s, TOML_PLAIN, begin, str_n(s->text.p + begin, s->at - begin));
	return 0;
}

static int scan_value(struct scan *s)
{
	size_t begin = s->at;
	str text;
	int r;

	if (s->depth == TOML_DEPTH_MAX)
		return fail(s, s->at, "too many brackets inside each other");
	s->depth++;
	switch (peek(s, 0)) {
	case '"':
	case '\'':
		r = scan_string(s, /* may_span= */ true, &text);
		if (r == 0)
			hand_over(s, TOML_STRING, begin, text);
		break;
	case '[': r = scan_array(s); break;
	case '{': r = scan_inline_table(s); break;
	default: r = scan_plain(s);
	}
	s->depth--;
	return r;
}

/* -- statements -------------------------------------------------------------------------------- */

/* The header that was just read is the one that is looked for. */
static bool is_wanted(const struct scan *s)
{
	str rest = s->wanted, part;
	size_t n = 0;

	if (!str_is_set(rest))
		return false;
	while (str_split(&rest, '.', &part))
		if (n == s->npath || !str_eq(s->path[n++], part))
			return false;
	return n == s->npath;
}

static int scan_header(struct scan *s)
{
	bool many;
	int r;

	s->at++;
	many = take_char(s, '[');
	s->npath = 0;
	s->in_table = true;
	r = scan_key(s);
	if (r == 0 && (!take_char(s, ']') || (many && !take_char(s, ']'))))
		r = fail(s, s->at, "expected ']'");
	if (r == 0)
		r = end_statement(s);
	if (r == 0 && !many && is_wanted(s)) {
		s->found = true;
		s->header = s->statement;
		s->header_end = s->at;
	}
	return r;
}

static int scan_statement(struct scan *s, struct toml_shape *shape)
{
	int r;

	if (peek(s, 0) == '[') {
		if (!s->in_table)
			shape->first_table = s->statement;
		return scan_header(s);
	}
	r = scan_pair(s);
	if (r == 0)
		r = end_statement(s);
	if (r == 0 && !s->in_table) {
		shape->last_end = s->at;
		shape->statements++;
	}
	return r;
}

static int scan_all(struct scan *s, struct toml_shape *ret)
{
	int r = 0;

	*ret = (struct toml_shape){ .first_table = s->text.n };
	if (str_starts(s->text, STR("\xEF\xBB\xBF")))
		s->at = 3;
	while (r == 0 && s->at < s->text.n) {
		s->statement = s->at;
		skip_blanks(s);
		if (peek(s, 0) == '#' || peek(s, 0) == '\n' || peek(s, 0) == '\r' || s->at == s->text.n)
			r = end_statement(s);
		else
			r = scan_statement(s, ret);
	}
	return r;
}

bool toml_find_table(str text, struct arena *a, str name, size_t *ret_begin, size_t *ret_end)
{
	struct scan s = { .text = text, .a = a, .wanted = name };
	struct toml_shape ignored;

	if (scan_all(&s, &ignored) < 0 || !s.found)
		return false;
	*ret_begin = s.header;
	*ret_end = s.header_end;
	return true;
}

int toml_scan(str text, struct arena *a, void (*take)(const struct toml_value *v, void *ctx), void *ctx,
	struct toml_shape *ret, struct err *err)
{
	struct scan s = { .text = text, .a = a, .take = take, .ctx = ctx };
	unsigned line, col;
	int r = scan_all(&s, ret);

	if (r == -EBADMSG) {
		json_locate(text, s.bad, &line, &col);
		err_set_at(err, r, line, col, "%s", s.why);
	} else if (r < 0) {
		err_set(err, r, "the file cannot be read as TOML");
	}
	return r;
}

int toml_strings(str text, size_t begin, struct arena *a, str *list, size_t max)
{
	struct scan s = { .text = text, .a = a, .at = begin + 1 };
	size_t n = 0;

	if (begin >= text.n || text.p[begin] != '[')
		return -1;
	skip_space(&s);
	while (!take_char(&s, ']')) {
		if (n == max || (peek(&s, 0) != '"' && peek(&s, 0) != '\'') ||
			scan_string(&s, /* may_span= */ true, &list[n]) < 0)
			return -1;
		n++;
		skip_space(&s);
		if (!take_char(&s, ',') && peek(&s, 0) != ']')
			return -1;
		skip_space(&s);
	}
	return (int)n;
}

void toml_write_string(struct buf *b, str text)
{
	/* What JSON escapes, and how, a TOML string of one line takes as well. */
	json_write_string(b, text);
}

size_t toml_line_end(str text, size_t at)
{
	ptrdiff_t n = str_find_char(str_from(text, at), '\n');

	return n < 0 ? text.n : at + (size_t)n + 1;
}

str toml_newline(str text)
{
	ptrdiff_t at = str_find_char(text, '\n');

	return at > 0 && text.p[at - 1] == '\r' ? STR("\r\n") : STR("\n");
}

int toml_splice(str text, size_t from, size_t to, str with, struct arena *a, str *ret, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);

	buf_add_str(&b, str_head(text, from));
	buf_add_str(&b, with);
	buf_add_str(&b, str_from(text, to));
	if (!b.full)
		*ret = arena_str(a, buf_str(&b));
	buf_release(&b);
	return b.full ? err_set(err, -EFBIG, "the file would become larger than 4 MiB") : 0;
}
