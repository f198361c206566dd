/* Commands that hold commands. */
#include "shell/internal.h"

#include <errno.h>

/* do … done, or a group where bash allows it. */
static struct shell_node *loop_body(struct parser *s)
{
	struct shell_node *body;
	bool group = sh_take_reserved(s, WORD_OPEN);

	if (!group && !sh_expect_reserved(s, WORD_DO))
		return NULL;
	body = sh_commands(s);
	if (!body || !sh_expect_reserved(s, group ? WORD_CLOSE : WORD_DONE))
		return NULL;
	return body;
}

static bool read_group(struct parser *s, struct shell_node *n)
{
	n->kind = SHELL_GROUP;
	n->body = sh_commands(s);
	return n->body && sh_expect_reserved(s, WORD_CLOSE);
}

/* Each elif is an if inside the one before it, and counts as one level of nesting. */
static bool read_if(struct parser *s, struct shell_node *n)
{
	unsigned depth = s->depth;

	for (;;) {
		struct shell_node *inner;

		n->kind = SHELL_IF;
		n->condition = sh_commands(s);
		if (!n->condition || !sh_expect_reserved(s, WORD_THEN))
			return false;
		n->body = sh_commands(s);
		if (!n->body)
			return false;
		n->end = sh_end(s);
		if (!sh_take_reserved(s, WORD_ELIF))
			break;
		inner = sh_node(s, SHELL_IF);
		if (!inner || !sh_enter(s))
			return false;
		n->otherwise = inner;
		n = inner;
	}
	if (sh_take_reserved(s, WORD_ELSE)) {
		n->otherwise = sh_commands(s);
		if (!n->otherwise)
			return false;
		n->end = sh_end(s);
	}
	s->depth = depth;
	return sh_expect_reserved(s, WORD_FI);
}

static bool read_while(struct parser *s, struct shell_node *n)
{
	n->kind = SHELL_WHILE;
	n->condition = sh_commands(s);
	if (!n->condition || !sh_expect_reserved(s, WORD_DO))
		return false;
	n->body = sh_commands(s);
	return n->body && sh_expect_reserved(s, WORD_DONE);
}

static bool read_until(struct parser *s, struct shell_node *n)
{
	n->is_until = true;
	return read_while(s, n);
}

/* Behind `in`: words up to ; or the end of the line. */
static bool for_words(struct parser *s, struct shell_node *n)
{
	struct shell_word **tail = &n->words;

	n->has_words = true;
	for (;;) {
		int c;

		sh_blanks(s);
		c = sh_peek(s);
		if (c == ';' || c == '\n')
			return true;
		*tail = sh_word(s);
		if (!*tail)
			return false;
		tail = &(*tail)->next;
	}
}

static bool for_arith(struct parser *s, struct shell_node *n)
{
	n->kind = SHELL_FOR_ARITH;
	s->p++;
	if (!sh_take(s, '('))
		return sh_unexpected(s);
	n->words = sh_arith(s, &n->text);
	if (!n->words)
		return sh_fail(s, -EBADMSG, "a for (( that is never closed");
	sh_blanks(s);
	sh_take(s, ';');
	if (!sh_newlines(s))
		return false;
	n->body = loop_body(s);
	return n->body;
}

static bool read_for(struct parser *s, struct shell_node *n)
{
	struct shell_word *name;

	n->kind = SHELL_FOR;
	sh_blanks(s);
	if (sh_peek(s) == '(' && !n->is_select)
		return for_arith(s, n);
	name = sh_plain_word(s, IN_WORD);
	if (!name)
		return false;
	n->name = shell_word_literal(s->a, name);
	if (!n->name.p)
		return sh_fail(s, -EBADMSG, "a loop whose variable is not a plain name");
	sh_blanks(s);
	if (sh_peek(s) == ';')
		s->p++;
	else if (sh_newlines(s) && sh_take_reserved(s, WORD_IN) && !for_words(s, n))
		return false;
	if (n->has_words)
		sh_take(s, ';');
	if (s->code || !sh_newlines(s))
		return false;
	n->body = loop_body(s);
	return n->body;
}

static bool read_select(struct parser *s, struct shell_node *n)
{
	n->is_select = true;
	return read_for(s, n);
}

/* -- case -------------------------------------------------------------------------------------- */

/* ;; ;& or ;;& ; false when none of them is here. */
static bool take_case_end(struct parser *s, enum shell_case_end *ret)
{
	if (sh_peek(s) != ';')
		return false;
	s->p++;
	if (sh_take(s, '&')) {
		*ret = SHELL_CASE_FALL;
		return true;
	}
	sh_take(s, ';');
	*ret = sh_take(s, '&') ? SHELL_CASE_CONTINUE : SHELL_CASE_BREAK;
	return true;
}

static bool read_patterns(struct parser *s, struct shell_word **tail)
{
	sh_take(s, '(');
	for (;;) {
		sh_blanks(s);
		*tail = sh_plain_word(s, IN_WORD);
		if (!*tail)
			return false;
		tail = &(*tail)->next;
		sh_blanks(s);
		if (sh_take(s, ')'))
			return true;
		if (!sh_take(s, '|'))
			return sh_unexpected(s);
	}
}

static bool read_case(struct parser *s, struct shell_node *n)
{
	struct shell_case **tail = &n->cases;
	bool more = true;

	n->kind = SHELL_CASE;
	sh_blanks(s);
	n->words = sh_plain_word(s, IN_WORD);
	if (!n->words || !sh_newlines(s) || !sh_expect_reserved(s, WORD_IN))
		return false;
	while (sh_newlines(s) && !sh_take_reserved(s, WORD_ESAC)) {
		struct shell_case *one;

		if (!more)
			return sh_expect_reserved(s, WORD_ESAC);
		if (!sh_count(s))
			return false;
		*tail = one = arena_new(s->a, struct shell_case);
		tail = &one->next;
		one->begin = sh_begin(s);
		if (!read_patterns(s, &one->patterns))
			return false;
		one->body = sh_list(s);
		if (!one->body)
			return false;
		more = take_case_end(s, &one->end_with);
		one->end = sh_end(s);
	}
	return !s->code;
}

/* -- [[ and (( --------------------------------------------------------------------------------- */

/* An operator of [[ made of metacharacters: its length, 0 for none. */
static size_t test_operator(struct parser *s)
{
	int c = sh_peek(s);

	if (c == '(' || c == ')' || ((c == '<' || c == '>') && sh_peek_after(s, s->p) != '('))
		return 1;
	return (c == '&' || c == '|') && s->end - s->p >= 2 && s->p[1] == c ? 2 : 0;
}

static bool read_test(struct parser *s, struct shell_node *n)
{
	struct shell_word **tail = &n->words;
	bool regex = false;

	n->kind = SHELL_TEST;
	for (;;) {
		size_t op;

		if (!sh_newlines(s))
			return false;
		if (sh_take_reserved(s, WORD_END_TEST))
			return n->words || sh_fail(s, -EBADMSG, "[[ ]] with nothing in it");
		if (sh_peek(s) < 0)
			return sh_fail(s, -EBADMSG, "a [[ that is never closed");
		op = regex ? 0 : test_operator(s);
		*tail = op ? sh_text_word(s, op) : sh_plain_word(s, regex ? IN_REGEX : IN_WORD);
		if (!*tail)
			return false;
		regex = !regex && !(*tail)->was_quoted && (*tail)->parts && (*tail)->parts->kind == SHELL_TEXT &&
			!(*tail)->parts->next && str_eq((*tail)->parts->text, STR("=~"));
		tail = &(*tail)->next;
	}
}

/* ( … ) or (( … )). */
static bool read_parenthesis(struct parser *s, struct shell_node *n)
{
	s->p++;
	if (sh_peek(s) == '(') {
		s->p++;
		n->kind = SHELL_ARITH_COMMAND;
		n->words = sh_arith(s, &n->text);
		if (n->words || s->code)
			return n->words;
		s->p--;
	}
	n->kind = SHELL_SUBSHELL;
	n->body = sh_commands(s);
	return n->body && (sh_take(s, ')') || sh_unexpected(s));
}

/* -- functions and coprocesses ----------------------------------------------------------------- */

struct shell_node *sh_function_body(struct parser *s)
{
	struct shell_node *n;

	if (!sh_newlines(s))
		return NULL;
	n = sh_compound(s);
	return n || s->code ? n : sh_unexpected(s);
}

static bool read_function(struct parser *s, struct shell_node *n)
{
	struct shell_word *name;

	n->kind = SHELL_FUNCTION;
	sh_blanks(s);
	name = sh_plain_word(s, IN_WORD);
	if (!name)
		return false;
	n->name = shell_word_literal(s->a, name);
	if (!n->name.p)
		return sh_fail(s, -EBADMSG, "a function whose name is not plain text");
	sh_blanks(s);
	if (sh_peek(s) == '(' && sh_peek_after(s, s->p) == ')') {
		s->p++;
		sh_take(s, ')');
	}
	n->body = sh_function_body(s);
	return n->body;
}

static bool read_coproc(struct parser *s, struct shell_node *n)
{
	const char *from;
	str name;

	n->kind = SHELL_COPROC;
	sh_blanks(s);
	from = s->p;
	if (!sh_at_compound(s)) {
		name = sh_name(s);
		sh_blanks(s);
		if (name.p && s->p > name.p + name.n && sh_at_compound(s))
			n->name = name;
		else
			s->p = from;
	}
	n->body = sh_command(s);
	return n->body;
}

/* -- the table --------------------------------------------------------------------------------- */

static const struct {
	enum reserved word;
	bool (*read)(struct parser *s, struct shell_node *n);
} compounds[] = {
	{ WORD_OPEN, read_group },
	{ WORD_IF, read_if },
	{ WORD_WHILE, read_while },
	{ WORD_UNTIL, read_until },
	{ WORD_FOR, read_for },
	{ WORD_SELECT, read_select },
	{ WORD_CASE, read_case },
	{ WORD_TEST, read_test },
	{ WORD_FUNCTION, read_function },
	{ WORD_COPROC, read_coproc },
};

static bool (*reader_here(struct parser *s, enum reserved *ret_word))(struct parser *s, struct shell_node *n)
{
	*ret_word = NOT_RESERVED;
	if (sh_peek(s) == '(')
		return read_parenthesis;
	*ret_word = sh_reserved(s);
	for (size_t i = 0; *ret_word && i < sizeof(compounds) / sizeof(compounds[0]); i++)
		if (compounds[i].word == *ret_word)
			return compounds[i].read;
	return NULL;
}

bool sh_at_compound(struct parser *s)
{
	enum reserved word;

	return reader_here(s, &word);
}

struct shell_node *sh_compound(struct parser *s)
{
	bool (*read)(struct parser * s, struct shell_node * n);
	struct shell_node *n;
	enum reserved word;

	read = reader_here(s, &word);
	if (!read)
		return NULL;
	n = sh_node(s, SHELL_GROUP);
	if (!n || !sh_enter(s))
		return NULL;
	if (word)
		sh_take_reserved(s, word);
	if (!read(s, n))
		return NULL;
	n->end = sh_end(s);
	if (n->kind != SHELL_FUNCTION && n->kind != SHELL_COPROC && !sh_redirects(s, n))
		return NULL;
	sh_leave(s);
	return n;
}
