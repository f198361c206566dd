/* What begins with $ or a backquote: parameters, substitutions, arithmetic. */
#include "shell/internal.h"

#include <errno.h>

#include "base/limits.h"
#include "base/macro.h"

/* -- parameters -------------------------------------------------------------------------------- */

/* What may stand behind the name in ${…}. The double form is the same operator, more of it. */
static const struct {
	char sign;
	const char *second; /* characters that may follow it as part of the operator */
	enum shell_param_op op;
} param_ops[] = {
	{ '-', "", SHELL_OP_DEFAULT },
	{ '=', "", SHELL_OP_ASSIGN },
	{ '?', "", SHELL_OP_ERROR },
	{ '+', "", SHELL_OP_OTHER },
	{ '#', "#", SHELL_OP_STRIP },
	{ '%', "%", SHELL_OP_STRIP },
	{ '/', "/#%", SHELL_OP_REPLACE },
	{ '^', "^", SHELL_OP_CASE },
	{ ',', ",", SHELL_OP_CASE },
	{ '~', "~", SHELL_OP_CASE },
};

static bool is_special(int c)
{
	return c > 0 && strchr("@*#?-$!", c);
}

/* An argument of an operator, up to what ends it. */
static struct shell_word *param_arg(struct parser *s, enum word_mode mode)
{
	struct parts w = { 0 };
	uint32_t begin = sh_begin(s);

	return sh_parts(s, &w, mode) ? sh_word_of(s, &w, begin) : NULL;
}

struct shell_word *sh_bracketed(struct parser *s)
{
	struct shell_word *w = param_arg(s, IN_SUBSCRIPT);

	return !w || sh_take(s, ']') ? w : sh_fail(s, -EBADMSG, "a [ that is never closed");
}

static bool subscript(struct parser *s, struct shell_word **ret)
{
	s->p++;
	*ret = sh_bracketed(s);
	return *ret;
}

/* # and ! before a name are operators, unless they are the parameters $# and $! themselves. */
static bool is_prefix(struct parser *s, char sign)
{
	const char *at;
	int next;

	if (sh_peek(s) != sign)
		return false;
	at = s->p;
	next = sh_peek_after(s, at);
	if (sh_is(next, CHAR_NAME))
		return true;
	return is_special(next) && sh_peek_after(s, memchr(at + 1, next, (size_t)(s->end - at - 1))) == '}';
}

static bool param_name(struct parser *s, struct shell_part *part)
{
	int c = sh_peek(s);

	if (sh_is(c, CHAR_DIGIT)) {
		part->name = sh_digits(s);
	} else if (sh_is(c, CHAR_NAME)) {
		part->name = sh_name(s);
		if (sh_peek(s) == '[')
			return subscript(s, &part->index);
	} else if (is_special(c)) {
		part->name = str_n(s->p++, 1);
	} else {
		return sh_fail(s, -EBADMSG, "${ without the name of a parameter");
	}
	return true;
}

static bool param_replace(struct parser *s, struct shell_part *part)
{
	part->arg = param_arg(s, IN_REPLACE);
	if (part->arg && sh_take(s, '/'))
		part->arg2 = param_arg(s, IN_PARAM);
	return !s->code;
}

/* The operator under the cursor, if it is one, and its argument. Patterns are unquoted even in double quotes. */
static bool param_op(struct parser *s, struct shell_part *part, bool quoted)
{
	char sign[3] = { 0 };
	int c;

	part->colon = sh_take(s, ':');
	c = sh_peek(s);
	for (size_t i = 0; i < countof(param_ops); i++) {
		enum shell_param_op op = param_ops[i].op;

		if (param_ops[i].sign != c || (part->colon && op > SHELL_OP_OTHER))
			continue;
		sign[0] = *s->p++;
		c = sh_peek(s);
		if (c > 0 && strchr(param_ops[i].second, c))
			sign[1] = *s->p++;
		part->op = op;
		part->text = arena_str(s->a, str_of(sign));
		if (op == SHELL_OP_REPLACE)
			return param_replace(s, part);
		part->arg = param_arg(s, quoted && op <= SHELL_OP_OTHER ? IN_QUOTED_PARAM : IN_PARAM);
		return part->arg;
	}
	if (part->colon) {
		part->colon = false;
		part->op = SHELL_OP_SUBSTRING;
		part->arg = param_arg(s, quoted ? IN_QUOTED_PARAM : IN_PARAM);
		return part->arg;
	}
	if (c == '@' && sh_is(sh_peek_after(s, s->p), CHAR_NAME)) {
		s->p++;
		sh_peek(s);
		part->op = SHELL_OP_AT;
		part->text = str_n(s->p++, 1);
	}
	return true;
}

static bool param_inside(struct parser *s, struct shell_part *part, bool quoted)
{
	bool length = is_prefix(s, '#');

	if (length)
		s->p++;
	part->indirect = !length && is_prefix(s, '!');
	if (part->indirect)
		s->p++;
	if (!param_name(s, part))
		return false;
	if (length)
		part->op = SHELL_OP_LENGTH;
	else if (part->indirect && (sh_peek(s) == '*' || sh_peek(s) == '@') && sh_peek_after(s, s->p) == '}') {
		part->op = SHELL_OP_PREFIX;
		s->p++;
	} else if (sh_peek(s) != '}' && !param_op(s, part, quoted)) {
		return false;
	}
	if (sh_peek(s) < 0)
		return sh_fail(s, -EBADMSG, "a ${ that is never closed");
	if (!sh_take(s, '}'))
		return sh_fail(s, -EBADMSG, "something in ${ } that no shell knows");
	part->end = sh_end(s);
	return true;
}

static bool substitution(struct parser *s, struct parts *w, bool quoted, uint32_t begin, bool braced)
{
	struct shell_part *part = sh_add_part(s, w, SHELL_COMMAND, quoted, begin);

	if (!part)
		return false;
	part->body = sh_substituted(s, braced);
	part->end = sh_end(s);
	return part->body;
}

/* Behind "${". A blank or a bar there is a command of bash 5.3 whose output is substituted. */
static bool braced(struct parser *s, struct parts *w, bool quoted, uint32_t begin)
{
	struct shell_part *part;
	int c = sh_peek(s);
	bool ok;

	if (sh_is(c, CHAR_BLANK) || c == '\n' || c == '|') {
		s->p += c == '|';
		return substitution(s, w, quoted, begin, true);
	}
	part = sh_add_part(s, w, SHELL_PARAM, quoted, begin);
	if (!part || !sh_enter(s))
		return false;
	ok = param_inside(s, part, quoted);
	sh_leave(s);
	return ok;
}

/* -- arithmetic -------------------------------------------------------------------------------- */

/* Two parentheses may be arithmetic or a subshell in a substitution; bash decides by how they are closed. So the
 * expression is read, and given back if it turns out to be none. What is read in vain is bounded. */
struct shell_word *sh_arith(struct parser *s, str *ret_text)
{
	struct parser before = *s;
	struct parts w = { 0 };
	uint32_t begin = sh_begin(s);
	const char *from = s->p;
	bool closed;

	if (!sh_enter(s))
		return NULL;
	closed = sh_parts(s, &w, IN_ARITH) && s->p < s->end && sh_peek_after(s, s->p) == ')';
	if (closed) {
		struct shell_word *word = sh_word_of(s, &w, begin);

		*ret_text = str_n(from, (size_t)(s->p - from));
		s->p++;
		sh_take(s, ')');
		sh_leave(s);
		return word;
	}
	if (s->code == -E2BIG)
		return NULL;
	before.nodes = s->nodes;
	before.looked_ahead += (size_t)(s->p - from) + 1;
	*s = before;
	if (s->looked_ahead > 4 * (size_t)(s->end - s->text) + KIB(16))
		return sh_fail(s, -E2BIG, "too many parentheses that could be arithmetic");
	return NULL;
}

static bool arithmetic(struct parser *s, struct parts *w, bool quoted, uint32_t begin)
{
	struct shell_part *part;
	struct shell_word *word;
	str text;

	s->p++;
	word = sh_arith(s, &text);
	if (!word) {
		s->p--;
		return !s->code && substitution(s, w, quoted, begin, false);
	}
	part = sh_add_part(s, w, SHELL_ARITH, quoted, begin);
	if (!part)
		return false;
	part->arg = word;
	part->text = text;
	return true;
}

/* $[…], which is older than $((…)). */
static bool old_arithmetic(struct parser *s, struct parts *w, bool quoted, uint32_t begin)
{
	struct shell_part *part = sh_add_part(s, w, SHELL_ARITH, quoted, begin);
	const char *from = s->p + 1;

	if (!part || !sh_enter(s) || !subscript(s, &part->arg))
		return false;
	part->text = str_n(from, (size_t)(s->p - from - 1));
	part->end = sh_end(s);
	sh_leave(s);
	return true;
}

/* -- the dollar itself ------------------------------------------------------------------------- */

bool sh_dollar(struct parser *s, struct parts *w, enum word_mode mode)
{
	bool quoted = mode >= IN_DOUBLE;
	bool quotes = !quoted || mode == IN_QUOTED_PARAM; /* $'…' and $"…" */
	uint32_t begin = sh_begin(s);
	const char *dollar = s->p++;
	struct shell_part *part;
	int c = sh_peek(s);
	str name = STR_NONE;

	switch (c) {
	case '(':
		s->p++;
		return sh_peek(s) == '(' ? arithmetic(s, w, quoted, begin) : substitution(s, w, quoted, begin, false);
	case '{': s->p++; return braced(s, w, quoted, begin);
	case '[': return old_arithmetic(s, w, quoted, begin);
	case '\'':
		if (quotes)
			return sh_ansi_quoted(s, w);
		break;
	case '"':
		s->p += quotes;
		if (quotes)
			return sh_double_quoted(s, w);
		break;
	default:
		if (sh_is(c, CHAR_DIGIT) || is_special(c))
			name = str_n(s->p++, 1);
		else if (sh_is(c, CHAR_NAME))
			name = sh_name(s);
	}
	if (!name.p)
		return sh_add_text(s, w, str_n(dollar, 1), quoted, begin);
	part = sh_add_part(s, w, SHELL_PARAM, quoted, begin);
	if (!part)
		return false;
	part->name = name;
	return true;
}

/* -- other substitutions ----------------------------------------------------------------------- */

bool sh_process(struct parser *s, struct parts *w)
{
	struct shell_part *part;
	uint32_t begin = sh_begin(s);
	str sign = str_n(s->p++, 1);

	sh_take(s, '(');
	part = sh_add_part(s, w, SHELL_PROCESS, false, begin);
	if (!part)
		return false;
	part->text = sign;
	part->body = sh_substituted(s, false);
	part->end = sh_end(s);
	return part->body;
}

/* Backquotes hold a text of their own: a backslash before $, ` and \ (in double quotes before " too) is taken away
 * before it is read, and lines are joined even between single quotes. Each nesting doubles the backslashes, so copying
 * costs n log n at most. */
bool sh_backquote(struct parser *s, struct parts *w, enum word_mode mode)
{
	uint32_t begin = sh_begin(s), end;
	const char *from = s->p + 1, *close = from;
	struct shell_part *part;
	struct parser saved;
	char *copy, *to;

	while (close < s->end && *close != '`')
		close += *close == '\\' && s->end - close > 1 ? 2 : 1;
	if (close >= s->end)
		return sh_fail(s, -EBADMSG, "a backquote that is never closed");
	copy = to = arena_bytes(s->a, (size_t)(close - from) + 1);
	for (const char *p = from; p < close; p++) {
		if (*p != '\\' || p + 1 >= close) {
			*to++ = *p;
		} else if (*++p != '\n') {
			if (!strchr("$`\\", *p) && (*p != '"' || mode != IN_DOUBLE))
				*to++ = '\\';
			*to++ = *p;
		}
	}
	s->p = close + 1;
	end = sh_end(s);
	part = sh_add_part(s, w, SHELL_COMMAND, mode >= IN_DOUBLE, begin);
	if (!part || !sh_enter(s))
		return false;
	sh_read_other(s, str_n(copy, (size_t)(to - copy)), true, begin, end, &saved);
	part->body = sh_whole(s);
	sh_read_on(s, &saved);
	sh_leave(s);
	return !s->code;
}
