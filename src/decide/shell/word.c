/* Words: what is quoted, what is text, where they end. */
#include "shell/internal.h"

#include <errno.h>
#include <limits.h>

#include "base/macro.h"
#include "base/utf8.h"

/* -- parts ------------------------------------------------------------------------------------- */

struct shell_part *sh_add_part(struct parser *s, struct parts *w, enum shell_part_kind kind, bool quoted,
	uint32_t begin)
{
	struct shell_part *part;

	if (!sh_count(s))
		return NULL;
	part = arena_new(s->a, struct shell_part);
	part->kind = kind;
	part->quoted = quoted;
	part->begin = begin;
	part->end = sh_end(s);
	if (w->last)
		w->last->next = part;
	else
		w->first = part;
	w->last = part;
	return part;
}

/* Text that continues the text before it in memory becomes one with it. */
bool sh_add_text(struct parser *s, struct parts *w, str text, bool quoted, uint32_t begin)
{
	struct shell_part *last = w->last;

	if (text.n == 0)
		return true;
	if (last && last->kind == SHELL_TEXT && last->quoted == quoted && last->text.p + last->text.n == text.p) {
		last->text.n += text.n;
		last->end = sh_end(s);
		return true;
	}
	last = sh_add_part(s, w, SHELL_TEXT, quoted, begin);
	if (!last)
		return false;
	last->text = text;
	return true;
}

struct shell_word *sh_word_of(struct parser *s, const struct parts *w, uint32_t begin)
{
	struct shell_word *word;

	if (!sh_count(s))
		return NULL;
	word = arena_new(s->a, struct shell_word);
	word->parts = w->first;
	word->begin = begin;
	word->end = sh_end(s);
	word->was_quoted = w->was_quoted;
	return word;
}

/* -- quotes ------------------------------------------------------------------------------------ */

bool sh_single_quoted(struct parser *s, struct parts *w)
{
	uint32_t begin = sh_begin(s);
	const char *from = s->p + 1, *close = memchr(from, '\'', (size_t)(s->end - from));

	if (!close)
		return sh_fail(s, -EBADMSG, "a single quote that is never closed");
	s->p = close + 1;
	w->was_quoted = true;
	return sh_add_text(s, w, str_n(from, (size_t)(close - from)), true, begin);
}

/* The cursor is after the opening quote. */
bool sh_double_quoted(struct parser *s, struct parts *w)
{
	const char *open = s->p;

	w->was_quoted = true;
	if (!sh_enter(s) || !sh_parts(s, w, IN_DOUBLE))
		return false;
	if (s->p >= s->end) {
		s->p = open - 1;
		return sh_fail(s, -EBADMSG, "a double quote that is never closed");
	}
	s->p++;
	sh_leave(s);
	return true;
}

/* At a backslash. Joined lines are left out; in double quotes only some characters can be escaped. */
bool sh_escaped(struct parser *s, struct parts *w, enum word_mode mode)
{
	static const char *const escapable[] = {
		[IN_DOUBLE] = "$`\"\\",
		[IN_QUOTED_PARAM] = "$`\"\\}",
		[IN_BODY] = "$`\\",
		[IN_ARITH] = "$`\"\\",
	};
	const char *only = mode >= IN_DOUBLE ? escapable[mode] : NULL;
	uint32_t begin = sh_begin(s);
	const char *from = s->p;

	if (s->end - from >= 2 && from[1] == '\n') {
		s->p += 2;
		return true;
	}
	if (s->end - from < 2) {
		/* bash keeps it or drops it, depending on where the text comes from. */
		if (mode < IN_DOUBLE)
			return sh_fail(s, -EBADMSG, "a backslash with nothing behind it");
		s->p++;
		return sh_add_text(s, w, str_n(from, 1), true, begin);
	}
	s->p += 2;
	if (only && !strchr(only, from[1]))
		return sh_add_text(s, w, str_n(from, 2), true, begin);
	w->was_quoted = true;
	return sh_add_text(s, w, str_n(from + 1, 1), true, begin);
}

/* -- $'…' -------------------------------------------------------------------------------------- */

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
}

/* Up to `max` digits of the base. */
static unsigned take_number(const char **p, const char *end, unsigned base, int max)
{
	unsigned value = 0;

	while (max-- > 0 && *p < end && digit_of(**p) < base)
		value = value * base + digit_of(*(*p)++);
	return value;
}

static size_t put_code_point(unsigned c, char *to)
{
	if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		c = 0xFFFD;
	return utf8_encode(c, to);
}

/* Behind a backslash in $'…'; writes at most four bytes. */
static char *unescape_ansi(const char **p, const char *end, char *to)
{
	static const char from[] = "abeEfnrtv\\'\"?", into[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	char c = *(*p)++;
	const char *hit = c ? strchr(from, c) : NULL;
	const char *digits = *p;

	if (hit) {
		*to++ = into[hit - from];
	} else if (c >= '0' && c <= '7') {
		(*p)--;
		*to++ = (char)take_number(p, end, 8, 3);
	} else if (c == 'x' || c == 'u' || c == 'U') {
		bool braced = c == 'x' && *p < end && **p == '{';
		unsigned value;

		*p += braced;
		value = take_number(p, end, 16, c == 'U' ? 8 : c == 'u' ? 4 : braced ? INT_MAX : 2);
		if (*p == digits) {
			*to++ = '\\';
			*to++ = c;
		} else if (c == 'x') {
			*to++ = (char)value;
		} else {
			to += put_code_point(value, to);
		}
		if (braced && *p < end && **p == '}')
			(*p)++;
	} else if (c == 'c' && *p < end) {
		c = *(*p)++;
		if (c == '\\' && *p < end && **p == '\\')
			(*p)++;
		*to++ = c == '?' ? 0x7f : (char)(c & 0x1f);
	} else {
		*to++ = '\\';
		*to++ = c;
	}
	return to;
}

/* The cursor is on the quote after the dollar. A NUL that is written as an escape ends the text, as in bash. */
bool sh_ansi_quoted(struct parser *s, struct parts *w)
{
	uint32_t begin = sh_begin(s);
	const char *from = ++s->p, *close = from;
	char *text, *to;

	while (close < s->end && *close != '\'')
		close += *close == '\\' && s->end - close > 1 ? 2 : 1;
	if (close >= s->end) {
		s->p = from - 1;
		return sh_fail(s, -EBADMSG, "a single quote that is never closed");
	}
	w->was_quoted = true;
	s->p = close + 1;
	/* No escape is longer than what it stands for, but for \u with one digit. */
	text = to = arena_bytes(s->a, 2 * (size_t)(close - from) + 1);
	while (from < close) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		from++;
		to = unescape_ansi(&from, close, to);
	}
	return sh_add_text(s, w, str_n(text, strnlen(text, (size_t)(to - text))), true, begin);
}

/* -- the inside of a word ---------------------------------------------------------------------- */

#define IN(mode) (1u << (mode))
#define ALL_MODES (IN(IN_ARITH + 1) - 1)
#define BARE (IN(IN_WORD) | IN(IN_VALUE) | IN(IN_REGEX)) /* ends at operators */
#define PARAMS (IN(IN_PARAM) | IN(IN_REPLACE))           /* ${…}, where quotes quote */
#define UNQUOTED (BARE | PARAMS | IN(IN_SUBSCRIPT))

/* For each character the modes in which it interrupts a run of text. */
static const uint16_t interrupts[256] = {
	['\\'] = ALL_MODES,
	['$'] = ALL_MODES,
	['`'] = ALL_MODES,
	['\''] = UNQUOTED | IN(IN_QUOTED_PARAM) | IN(IN_ARITH),
	['"'] = UNQUOTED | IN(IN_DOUBLE) | IN(IN_QUOTED_PARAM) | IN(IN_ARITH),
	[' '] = BARE,
	['\t'] = BARE,
	['\n'] = BARE,
	[';'] = BARE,
	['&'] = BARE,
	['|'] = BARE,
	['('] = BARE | IN(IN_ARITH),
	[')'] = BARE | IN(IN_ARITH),
	['<'] = BARE | PARAMS,
	['>'] = BARE | PARAMS,
	['{'] = IN(IN_WORD),
	['~'] = IN(IN_WORD) | IN(IN_VALUE) | PARAMS,
	['}'] = PARAMS | IN(IN_QUOTED_PARAM),
	['/'] = IN(IN_REPLACE),
	['['] = IN(IN_SUBSCRIPT),
	[']'] = IN(IN_SUBSCRIPT),
};

/* What sh_parts() has to remember. */
struct reading {
	struct parser *s;
	struct parts *w;
	enum word_mode mode;
	const char *from; /* where the word begins */
	unsigned open;    /* parentheses of a pattern or a regular expression, brackets of a subscript */
	bool single;      /* inside '…' of "${name-…}" or $((…)), where they are only characters */
};

enum step { GO_ON, STOP, FAILED };

static enum step step_of(bool went_well)
{
	return went_well ? GO_ON : FAILED;
}

/* One character as text. */
static enum step plain(struct reading *r)
{
	uint32_t begin = sh_begin(r->s);

	r->s->p++;
	return step_of(sh_add_text(r->s, r->w, str_n(r->s->p - 1, 1), r->mode >= IN_DOUBLE, begin));
}

/* Whether the ~ here begins a word or a value: what may be before it depends on what the word looks like. */
static bool at_tilde(const struct reading *r)
{
	const char *at = r->s->p, *p;

	while (at - r->from >= 2 && at[-1] == '\n' && at[-2] == '\\')
		at -= 2;
	if (at == r->from)
		return true;
	if (r->mode == IN_VALUE)
		return at[-1] == ':';
	if (r->mode != IN_WORD || (at[-1] != '=' && at[-1] != ':'))
		return false;
	for (p = r->from; p < at && sh_is((unsigned char)*p, CHAR_NAME); p++)
		;
	return p > r->from && !sh_is((unsigned char)*r->from, CHAR_DIGIT) && (*p == '=' || (*p == '+' && p[1] == '='));
}

static enum step tilde(struct reading *r)
{
	struct parser *s = r->s;
	uint32_t begin = sh_begin(s);
	struct shell_part *part;
	const char *from = s->p;
	bool expands;
	str user;
	int c;

	if (!at_tilde(r))
		return plain(r);
	s->p++;
	user = sh_user(s);
	c = sh_peek(s);
	expands = c < 0 || sh_is(c, CHAR_META) || c == '/' || c == ':' || (c == '}' && r->mode != IN_WORD);
	if (!expands) {
		s->p = from;
		return plain(r);
	}
	part = sh_add_part(s, r->w, SHELL_TILDE, false, begin);
	if (!part)
		return FAILED;
	part->text = user;
	return GO_ON;
}

/* A parenthesis behind one of ?*+@! belongs to a pattern, and then everything up to the one that closes it. */
static bool opens_pattern(const struct reading *r)
{
	const struct shell_part *last = r->w->last;

	return last && last->kind == SHELL_TEXT && !last->quoted && last->text.p + last->text.n == r->s->p &&
		strchr("?*+@!", r->s->p[-1]);
}

/* Inside "${name-'…'}" and $((…)) single quotes are characters, but bash wants them in pairs and then looks for the end
 * behind them. Where it makes a difference the text is refused. */
static enum step close_quoted(struct reading *r)
{
	if (r->single)
		return step_of(
			sh_fail(r->s, -EBADMSG, "single quotes in double quotes whose meaning depends on the shell"));
	return STOP;
}

/* Blanks and operators. */
static enum step meta(struct reading *r, char c)
{
	if ((c == '<' || c == '>') && sh_peek_after(r->s, r->s->p) == '(')
		return step_of(sh_process(r->s, r->w));
	if (r->mode == IN_PARAM || r->mode == IN_REPLACE || (r->mode == IN_ARITH && r->single))
		return plain(r);
	if (c == '(' && (r->open || r->mode == IN_REGEX || r->mode == IN_ARITH || opens_pattern(r))) {
		r->open++;
		return plain(r);
	}
	if (r->mode == IN_REGEX && c == '|')
		return plain(r);
	if (!r->open)
		return close_quoted(r);
	r->open -= c == ')';
	return plain(r);
}

static enum step bracket(struct reading *r, char c)
{
	if (c == ']' && !r->open)
		return STOP;
	r->open += c == '[' ? 1 : -1u;
	return plain(r);
}

static enum step double_quote(struct reading *r)
{
	if (r->mode == IN_DOUBLE)
		return STOP;
	if (r->single)
		return close_quoted(r);
	r->s->p++;
	return step_of(sh_double_quoted(r->s, r->w));
}

static enum step single_quote(struct reading *r)
{
	if (r->mode < IN_DOUBLE)
		return step_of(sh_single_quoted(r->s, r->w));
	r->single = !r->single;
	return plain(r);
}

static enum step special(struct reading *r)
{
	struct parser *s = r->s;
	char c = *s->p;

	switch (c) {
	case '\\': return step_of(sh_escaped(s, r->w, r->mode));
	case '\'': return single_quote(r);
	case '"': return double_quote(r);
	case '$': return step_of(sh_dollar(s, r->w, r->mode));
	case '`': return step_of(sh_backquote(s, r->w, r->mode));
	case '~': return tilde(r);
	case '{': r->w->has_brace = true; return plain(r);
	case '}': return close_quoted(r);
	case '/': return STOP;
	case '[':
	case ']': return bracket(r, c);
	default: return meta(r, c);
	}
}

/* Reads up to what ends a word of this mode, or the end of the text. */
bool sh_parts(struct parser *s, struct parts *w, enum word_mode mode)
{
	struct reading r = { .s = s, .w = w, .mode = mode, .from = s->p };
	const char *solid = s->p; /* behind the last character that was no joined line */
	unsigned bit = IN(mode);
	enum step step = GO_ON;

	while (step == GO_ON) {
		const char *from = s->p;
		uint32_t begin = sh_begin(s);

		while (s->p < s->end && !(interrupts[(unsigned char)*s->p] & bit))
			s->p++;
		if (!sh_add_text(s, w, str_n(from, (size_t)(s->p - from)), mode >= IN_DOUBLE, begin))
			return false;
		if (s->p > from)
			solid = s->p;
		if (s->p >= s->end)
			break;
		from = s->p;
		step = special(&r);
		if (s->p > from && (s->p - from != 2 || from[0] != '\\' || from[1] != '\n'))
			solid = s->p;
	}
	/* A line joined behind the word is not of the word. */
	if (BARE & bit)
		s->p = solid;
	if (step != FAILED && r.open && (BARE & bit))
		return sh_fail(s, -EBADMSG, "a parenthesis of a pattern that is never closed");
	return step != FAILED;
}

/* -- words ------------------------------------------------------------------------------------- */

struct shell_word *sh_plain_word(struct parser *s, enum word_mode mode)
{
	struct parts w = { 0 };
	uint32_t begin;
	const char *from;

	sh_peek(s);
	begin = sh_begin(s);
	from = s->p;
	if (!sh_parts(s, &w, mode))
		return NULL;
	if (s->p == from)
		return sh_unexpected(s);
	return sh_word_of(s, &w, begin);
}

struct shell_word *sh_word(struct parser *s)
{
	struct parts w = { 0 };
	uint32_t begin;
	const char *from;

	sh_peek(s);
	begin = sh_begin(s);
	from = s->p;
	if (!sh_parts(s, &w, IN_WORD))
		return NULL;
	if (s->p == from)
		return sh_unexpected(s);
	if (w.has_brace && !sh_braces(s, &w))
		return NULL;
	return sh_word_of(s, &w, begin);
}

struct shell_word *sh_value(struct parser *s)
{
	return sh_plain_word(s, IN_VALUE);
}

struct shell_word *sh_text_word(struct parser *s, size_t n)
{
	struct parts w = { 0 };
	uint32_t begin = sh_begin(s);

	s->p += n;
	if (!sh_add_text(s, &w, str_n(s->p - n, n), false, begin))
		return NULL;
	return sh_word_of(s, &w, begin);
}

bool sh_array(struct parser *s, struct shell_word **ret)
{
	struct shell_word **tail = ret;

	s->p++;
	if (!sh_enter(s))
		return false;
	for (;;) {
		sh_blanks(s);
		/* bash mixes up the items and the text here. */
		if (s->pending && sh_peek(s) == '\n')
			return sh_fail(s, -EBADMSG, "a here-document whose text would begin inside of an array");
		if (!sh_newlines(s))
			return false;
		if (sh_take(s, ')'))
			break;
		if (sh_peek(s) < 0)
			return sh_fail(s, -EBADMSG, "a list of an array that is never closed");
		*tail = sh_word(s);
		if (!*tail)
			return false;
		tail = &(*tail)->next;
	}
	sh_leave(s);
	return true;
}
