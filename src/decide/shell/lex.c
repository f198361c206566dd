/* The position of the reader: characters, blanks, comments, reserved words, failures and limits. */
#include "shell/internal.h"

#include <errno.h>

#include "base/limits.h"
#include "base/macro.h"

/* No real command is longer than this, or has this many parts; nesting is bounded by the C stack. */
const struct shell_limits shell_default_limits = { .bytes = MIB(1), .nodes = 100000, .depth = 100 };

#define NAME_CHARS(from, to) [from... to] = CHAR_NAME

const unsigned char sh_chars[256] = {
	[' '] = CHAR_META | CHAR_BLANK,
	['\t'] = CHAR_META | CHAR_BLANK,
	['\n'] = CHAR_META,
	[';'] = CHAR_META,
	['&'] = CHAR_META,
	['|'] = CHAR_META,
	['('] = CHAR_META,
	[')'] = CHAR_META,
	['<'] = CHAR_META,
	['>'] = CHAR_META,
	['_'] = CHAR_NAME,
	['+'] = CHAR_USER,
	['-'] = CHAR_USER,
	['.'] = CHAR_USER,
	NAME_CHARS('a', 'z'),
	NAME_CHARS('A', 'Z'),
	['0' ... '9'] = CHAR_NAME | CHAR_DIGIT,
};

/* -- failures and limits ----------------------------------------------------------------------- */

void *sh_fail(struct parser *s, int code, const char *what)
{
	if (!s->code) {
		s->code = code;
		s->what = what;
		s->where = sh_begin(s);
	}
	return NULL;
}

void *sh_fail_named(struct parser *s, const char *what, str name)
{
	if (!s->code) {
		size_t n = str_cut_utf8(name, sizeof(s->named) - 1).n;

		memcpy(s->named, name.p, n);
		s->named[n] = 0;
	}
	return sh_fail(s, -EBADMSG, what);
}

/* What is here does not belong here. */
void *sh_unexpected(struct parser *s)
{
	const char *p = s->p;

	if (sh_peek(s) < 0)
		return sh_fail(s, -EBADMSG, "the command ends too early");
	if (*s->p == '\n')
		return sh_fail(s, -EBADMSG, "the line ends too early");
	p = s->p;
	if (sh_is((unsigned char)*p, CHAR_META))
		while (p < s->end && *p == *s->p && p - s->p < 2)
			p++;
	else
		while (p < s->end && !sh_is((unsigned char)*p, CHAR_META))
			p++;
	return sh_fail_named(s, "'%s' is not expected here", str_n(s->p, (size_t)(p - s->p)));
}

bool sh_count(struct parser *s)
{
	return ++s->nodes <= s->limits.nodes || sh_fail(s, -E2BIG, "too many words and commands");
}

bool sh_enter(struct parser *s)
{
	return ++s->depth <= s->limits.depth || sh_fail(s, -E2BIG, "nested too deeply");
}

void sh_leave(struct parser *s)
{
	s->depth--;
}

uint32_t sh_begin(const struct parser *s)
{
	return s->copied ? s->copied_begin : (uint32_t)(s->p - s->given);
}

uint32_t sh_end(const struct parser *s)
{
	return s->copied ? s->copied_end : (uint32_t)(s->p - s->given);
}

/* -- characters -------------------------------------------------------------------------------- */

int sh_peek_after(const struct parser *s, const char *at)
{
	at++;
	while (s->end - at >= 2 && at[0] == '\\' && at[1] == '\n')
		at += 2;
	return at < s->end ? (unsigned char)*at : -1;
}

bool sh_take(struct parser *s, char c)
{
	if (sh_peek(s) != (unsigned char)c)
		return false;
	s->p++;
	return true;
}

/* A comment begins where a word could: this is only called between words. */
void sh_blanks(struct parser *s)
{
	int c = sh_peek(s);

	while (sh_is(c, CHAR_BLANK)) {
		s->p++;
		c = sh_peek(s);
	}
	if (c == '#') {
		const char *newline = memchr(s->p, '\n', (size_t)(s->end - s->p));

		s->p = newline ? newline : s->end;
	}
}

bool sh_newlines(struct parser *s)
{
	for (;;) {
		sh_blanks(s);
		if (sh_peek(s) != '\n')
			return true;
		s->p++;
		if (s->pending && !sh_here_documents(s))
			return false;
	}
}

/* The characters of classes `classes` from here on; joined lines in between are left out. */
static str take_run(struct parser *s, unsigned classes)
{
	const char *from;
	char *copy;
	size_t n = 0;
	int c;

	sh_peek(s);
	from = s->p;
	while (s->p < s->end && sh_is((unsigned char)*s->p, classes))
		s->p++;
	if (s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != '\n')
		return str_n(from, (size_t)(s->p - from));
	/* Count, then copy: the run may be long, the rest of the text longer. */
	s->p = from;
	while (sh_is(c = sh_peek(s), classes)) {
		s->p++;
		n++;
	}
	copy = arena_bytes(s->a, n + 1);
	s->p = from;
	for (size_t i = 0; i < n; i++) {
		copy[i] = (char)sh_peek(s);
		s->p++;
	}
	return str_n(copy, n);
}

str sh_name(struct parser *s)
{
	return sh_is_name_start(sh_peek(s)) ? take_run(s, CHAR_NAME) : STR_NONE;
}

str sh_user(struct parser *s)
{
	return take_run(s, CHAR_NAME | CHAR_USER);
}

str sh_digits(struct parser *s)
{
	return take_run(s, CHAR_DIGIT);
}

/* -- reserved words ---------------------------------------------------------------------------- */

static const str reserved_words[] = {
	[WORD_IF] = STR("if"),
	[WORD_THEN] = STR("then"),
	[WORD_ELIF] = STR("elif"),
	[WORD_ELSE] = STR("else"),
	[WORD_FI] = STR("fi"),
	[WORD_FOR] = STR("for"),
	[WORD_WHILE] = STR("while"),
	[WORD_UNTIL] = STR("until"),
	[WORD_DO] = STR("do"),
	[WORD_DONE] = STR("done"),
	[WORD_CASE] = STR("case"),
	[WORD_ESAC] = STR("esac"),
	[WORD_SELECT] = STR("select"),
	[WORD_FUNCTION] = STR("function"),
	[WORD_TIME] = STR("time"),
	[WORD_COPROC] = STR("coproc"),
	[WORD_OPEN] = STR("{"),
	[WORD_CLOSE] = STR("}"),
	[WORD_NOT] = STR("!"),
	[WORD_TEST] = STR("[["),
	[WORD_IN] = STR("in"),
	[WORD_END_TEST] = STR("]]"),
	[WORD_OPTION_P] = STR("-p"),
	[WORD_DASHES] = STR("--"),
};

/* The unquoted word under the cursor if it is short enough to be reserved; *ret_after is behind it. */
static size_t short_word(struct parser *s, char word[8], const char **ret_after)
{
	const char *p;
	size_t n = 0;

	sh_peek(s);
	for (p = s->p; p < s->end; p++) {
		if (s->end - p >= 2 && p[0] == '\\' && p[1] == '\n') {
			p++;
			continue;
		}
		if (sh_is((unsigned char)*p, CHAR_META))
			break;
		if (n == 8)
			return 0;
		word[n++] = *p;
	}
	/* A process substitution continues the word. */
	if (p < s->end && (*p == '<' || *p == '>') && sh_peek_after(s, p) == '(')
		return 0;
	*ret_after = p;
	return n;
}

static enum reserved find_reserved(struct parser *s, const char **ret_after)
{
	char word[8];
	size_t n;
	int c = sh_peek(s);

	/* Most words are none of them: look at the first letter before anything else. */
	if (c < 0 || !strchr("itefwudcs{}![]-", c))
		return NOT_RESERVED;
	n = short_word(s, word, ret_after);
	for (size_t i = 1; n && i < countof(reserved_words); i++)
		if (str_eq(reserved_words[i], str_n(word, n)))
			return (enum reserved)i;
	return NOT_RESERVED;
}

enum reserved sh_reserved(struct parser *s)
{
	const char *after;

	return find_reserved(s, &after);
}

bool sh_take_reserved(struct parser *s, enum reserved word)
{
	const char *after;

	if (find_reserved(s, &after) != word)
		return false;
	s->p = after;
	return true;
}

bool sh_expect_reserved(struct parser *s, enum reserved word)
{
	if (s->code || sh_take_reserved(s, word))
		return !s->code;
	return sh_fail_named(s, "'%s' is missing here", reserved_words[word]);
}
