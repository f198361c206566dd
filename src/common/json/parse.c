/* The parser: one pass, recursion bounded by LIMIT_JSON_DEPTH. */
#include "json/json.h"

#include <errno.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/plain.h"

struct parser {
	struct arena *a;
	const unsigned char *start, *p, *end;
	unsigned flags, depth;
	size_t nodes;
	int code;         /* first error */
	const char *what; /* and its text */
	const unsigned char *where;
};

static struct json *parse_value(struct parser *s);

static void *fail(struct parser *s, int code, const char *what)
{
	if (!s->code) {
		s->code = code;
		s->what = what;
		s->where = s->p;
	}
	return NULL;
}

static bool skip_comment(struct parser *s)
{
	const unsigned char *p = s->p;

	if (!(s->flags & JSON_COMMENTS) || s->end - p < 2 || p[0] != '/')
		return false;
	if (p[1] == '/') {
		const unsigned char *nl = memchr(p, '\n', (size_t)(s->end - p));

		s->p = nl ? nl + 1 : s->end;
		return true;
	}
	if (p[1] == '*') {
		const unsigned char *close = memmem(p + 2, (size_t)(s->end - p - 2), "*/", 2);

		if (!close)
			return fail(s, -EBADMSG, "a comment is not closed");
		s->p = close + 2;
		return true;
	}
	return false;
}

static void skip_blanks(struct parser *s)
{
	do {
		while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
			s->p++;
	} while (s->p < s->end && *s->p == '/' && skip_comment(s));
}

static struct json *new_node(struct parser *s, enum json_type type)
{
	struct json *v;

	if (++s->nodes > LIMIT_JSON_NODES)
		return fail(s, -E2BIG, "too many values");
	v = arena_new(s->a, struct json);
	v->type = type;
	v->begin = (uint32_t)(s->p - s->start);
	return v;
}

static int hex4(const unsigned char *p, unsigned *ret)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		unsigned char c = p[i] | 0x20;

		if (p[i] >= '0' && p[i] <= '9')
			value = value << 4 | (p[i] - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10u);
		else
			return -1;
	}
	*ret = value;
	return 0;
}

/* At the 'u' of an escape. Writes up to four bytes and returns the new end, or NULL. */
static char *unescape_unicode(struct parser *s, char *to)
{
	unsigned c, low;

	if (s->end - s->p < 5 || hex4(s->p + 1, &c) < 0)
		return fail(s, -EBADMSG, "\\u needs four hexadecimal digits");
	s->p += 5;
	if (c >= 0xD800 && c <= 0xDBFF && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u' &&
		hex4(s->p + 2, &low) == 0 && low >= 0xDC00 && low <= 0xDFFF) {
		s->p += 6;
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
	} else if (c >= 0xD800 && c <= 0xDFFF) {
		if (!(s->flags & JSON_LENIENT_UTF8))
			return fail(s, -EBADMSG, "half of a surrogate pair");
		c = 0xFFFD;
	}
	return to + utf8_encode(c, to);
}

static char *unescape(struct parser *s, char *to)
{
	static const char into[256] = { ['"'] = '"',
		['\\'] = '\\',
		['/'] = '/',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t' };

	s->p++;
	if (s->p == s->end)
		return fail(s, -EBADMSG, "a string is not closed");
	if (*s->p == 'u')
		return unescape_unicode(s, to);
	if (!into[*s->p])
		return fail(s, -EBADMSG, "unknown escape in a string");
	*to++ = into[*s->p++];
	return to;
}

/* Bytes that end the fast run through a string: quote, backslash, control, anything not ASCII. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The next quote that is not escaped: there is an even number of backslashes before it. */
static const unsigned char *closing_quote(const unsigned char *p, const unsigned char *end)
{
	const unsigned char *from = p, *quote, *slash;

	while ((quote = memchr(p, '"', (size_t)(end - p)))) {
		for (slash = quote; slash > from && slash[-1] == '\\'; slash--)
			;
		if ((quote - slash) % 2 == 0)
			return quote;
		p = quote + 1;
	}
	return NULL;
}

/* The rest of a string that holds escapes or bad bytes, decoded into the arena. The decoded form is
 * never longer than three times the source (a bad byte becomes three). */
static bool parse_string_slow(struct parser *s, const unsigned char *from, str *ret)
{
	const unsigned char *scan;
	size_t room;
	char *out, *to;

	/* Find the closing quote first, so that the copy has the right size. */
	scan = closing_quote(s->p, s->end);
	if (!scan)
		return fail(s, -EBADMSG, "a string is not closed");
	room = (size_t)(s->p - from) + 3 * (size_t)(scan - s->p) + 4;
	out = to = arena_bytes(s->a, room);
	memcpy(to, from, (size_t)(s->p - from));
	to += s->p - from;
	while (*s->p != '"') {
		size_t n;

		if (is_plain(*s->p)) {
			n = json_plain_run(s->p, (size_t)(scan - s->p));
			n += n == 0;
			memcpy(to, s->p, n);
			to += n;
			s->p += n;
		} else if (*s->p == '\\') {
			to = unescape(s, to);
			if (!to)
				return false;
		} else if (*s->p < 0x20) {
			return fail(s, -EBADMSG, "a control character in a string must be escaped");
		} else if ((n = utf8_sequence(s->p, (size_t)(s->end - s->p))) > 0) {
			memcpy(to, s->p, n);
			to += n;
			s->p += n;
		} else if (s->flags & JSON_LENIENT_UTF8) {
			to += utf8_encode(0xFFFD, to);
			s->p++;
		} else {
			return fail(s, -EBADMSG, "invalid UTF-8 in a string");
		}
		if (s->p >= s->end)
			return fail(s, -EBADMSG, "a string is not closed");
	}
	s->p++;
	*ret = str_n(out, (size_t)(to - out));
	return true;
}

static bool parse_string(struct parser *s, str *ret)
{
	const unsigned char *from = ++s->p;
	size_t n;

	for (;;) {
		s->p += json_plain_run(s->p, (size_t)(s->end - s->p));
		while (s->p < s->end && is_plain(*s->p))
			s->p++;
		if (s->p >= s->end)
			return fail(s, -EBADMSG, "a string is not closed");
		if (*s->p == '"')
			break;
		/* Well-formed non-ASCII text can be borrowed as well. */
		n = *s->p >= 0x80 ? utf8_sequence(s->p, (size_t)(s->end - s->p)) : 0;
		if (!n)
			return parse_string_slow(s, from, ret);
		s->p += n;
	}
	*ret = str_n((const char *)from, (size_t)(s->p - from));
	s->p++;
	return true;
}

static const unsigned char *digits(const unsigned char *p, const unsigned char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

static struct json *parse_number(struct parser *s)
{
	const unsigned char *from = s->p, *p = s->p, *d;
	struct json *v = new_node(s, JSON_NUMBER);

	if (!v)
		return NULL;
	if (p < s->end && *p == '-')
		p++;
	d = digits(p, s->end);
	if (d == p || (*p == '0' && d - p > 1))
		goto bad;
	p = d;
	if (p < s->end && *p == '.') {
		d = digits(p + 1, s->end);
		if (d == p + 1)
			goto bad;
		p = d;
	}
	if (p < s->end && (*p | 0x20) == 'e') {
		p++;
		if (p < s->end && (*p == '+' || *p == '-'))
			p++;
		d = digits(p, s->end);
		if (d == p)
			goto bad;
		p = d;
	}
	s->p = p;
	v->text = str_n((const char *)from, (size_t)(p - from));
	return v;
bad:
	s->p = p;
	return fail(s, -EBADMSG, "not a number");
}

static struct json *parse_word(struct parser *s)
{
	static const struct {
		str word;
		enum json_type type;
		bool flag;
	} words[] = {
		{ { "true", 4 }, JSON_BOOL, true },
		{ { "false", 5 }, JSON_BOOL, false },
		{ { "null", 4 }, JSON_NULL, false },
	};
	str rest = str_n((const char *)s->p, (size_t)(s->end - s->p));

	for (size_t i = 0; i < countof(words); i++)
		if (str_starts(rest, words[i].word)) {
			struct json *v = new_node(s, words[i].type);

			if (v)
				v->flag = words[i].flag;
			s->p += words[i].word.n;
			return v;
		}
	return fail(s, -EBADMSG, "expected a value");
}

/* After an item: a comma (true, *ret_more), or the closing bracket. */
static bool parse_separator(struct parser *s, char close, bool *ret_more)
{
	skip_blanks(s);
	if (s->p < s->end && *s->p == ',') {
		s->p++;
		*ret_more = true;
		if (s->flags & JSON_COMMENTS) {
			skip_blanks(s);
			if (s->p < s->end && *s->p == (unsigned char)close)
				*ret_more = false;
		}
	} else {
		*ret_more = false;
	}
	if (*ret_more)
		return true;
	if (s->p >= s->end || *s->p != (unsigned char)close)
		return fail(s, -EBADMSG, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
	s->p++;
	return true;
}

static bool parse_key(struct parser *s, str *ret)
{
	skip_blanks(s);
	if (s->p >= s->end || *s->p != '"')
		return fail(s, -EBADMSG, "expected a name in double quotes");
	if (!parse_string(s, ret))
		return false;
	skip_blanks(s);
	if (s->p >= s->end || *s->p != ':')
		return fail(s, -EBADMSG, "expected ':'");
	s->p++;
	return true;
}

static struct json *parse_container(struct parser *s)
{
	bool object = *s->p == '{', more;
	char close = object ? '}' : ']';
	struct json *v = new_node(s, object ? JSON_OBJECT : JSON_ARRAY), **tail, *item;
	str key = STR_NONE;

	if (!v)
		return NULL;
	if (++s->depth > LIMIT_JSON_DEPTH)
		return fail(s, -E2BIG, "nested too deeply");
	s->p++;
	tail = &v->first;
	skip_blanks(s);
	more = !(s->p < s->end && *s->p == (unsigned char)close);
	if (!more)
		s->p++;
	while (more) {
		if (object && !parse_key(s, &key))
			return NULL;
		item = parse_value(s);
		if (!item)
			return NULL;
		item->key = key;
		*tail = item;
		tail = &item->next;
		v->count++;
		if (!parse_separator(s, close, &more))
			return NULL;
	}
	s->depth--;
	return v;
}

static struct json *parse_value(struct parser *s)
{
	struct json *v;

	skip_blanks(s);
	if (s->p >= s->end)
		return fail(s, -EBADMSG, "the text ends where a value should be");
	if (*s->p == '{' || *s->p == '[') {
		v = parse_container(s);
	} else if (*s->p == '"') {
		v = new_node(s, JSON_STRING);
		if (v && !parse_string(s, &v->text))
			return NULL;
	} else if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9')) {
		v = parse_number(s);
	} else {
		v = parse_word(s);
	}
	if (v)
		v->end = (uint32_t)(s->p - s->start);
	return v;
}

int json_parse(struct arena *a, str input, unsigned flags, struct json **ret, struct err *err)
{
	const unsigned char *start = (const unsigned char *)(input.p ? input.p : "");
	struct parser s = { .a = a, .start = start, .p = start, .end = start + input.n, .flags = flags };
	struct json *v = NULL;
	unsigned line, col;

	if (input.n >= UINT32_MAX)
		return err_set(err, -E2BIG, "larger than 4 GiB");
	v = parse_value(&s);
	if (v) {
		skip_blanks(&s);
		if (s.p < s.end)
			v = fail(&s, -EBADMSG, "more text after the value");
	}
	if (!v || s.code) {
		json_locate(input, (size_t)(s.where - start), &line, &col);
		return err_set_at(err, s.code, line, col, "%s", s.what);
	}
	*ret = v;
	return 0;
}

int json_parse_next(struct arena *a, str input, unsigned flags, struct json **ret, size_t *ret_used)
{
	const unsigned char *start = (const unsigned char *)(input.p ? input.p : "");
	struct parser s = { .a = a, .start = start, .p = start, .end = start + input.n, .flags = flags };
	struct json *v;

	if (input.n >= UINT32_MAX)
		return -E2BIG;
	v = parse_value(&s);
	if (!v || s.code)
		return s.code ? s.code : -EBADMSG;
	*ret = v;
	*ret_used = (size_t)(s.p - start);
	return 0;
}

void json_locate(str input, size_t at, unsigned *ret_line, unsigned *ret_col)
{
	unsigned line = 1, col = 1;

	for (size_t i = 0; i < at && i < input.n; i++) {
		if (input.p[i] == '\n') {
			line++;
			col = 1;
		} else if (((unsigned char)input.p[i] & 0xC0) != 0x80) {
			col++;
		}
	}
	*ret_line = line;
	*ret_col = col;
}
