/* Lists, pipelines, simple commands, functions. */
#include "shell/internal.h"

#include <errno.h>

#include "base/macro.h"

struct shell_node *sh_node(struct parser *s, enum shell_node_kind kind)
{
	struct shell_node *n;

	if (!sh_count(s))
		return NULL;
	n = arena_new(s->a, struct shell_node);
	n->kind = kind;
	n->begin = sh_begin(s);
	n->end = sh_end(s);
	return n;
}

/* -- simple commands --------------------------------------------------------------------------- */

/* A simple command while it is read. */
struct simple {
	struct shell_node *n;
	struct shell_assign **assign_tail;
	struct shell_word **word_tail;
	struct shell_redirect **redirect_tail;
	bool declares; /* arguments may be name=(…) */
};

/* Commands whose arguments bash reads as assignments. */
static const str declaring[] = {
	STR("declare"),
	STR("typeset"),
	STR("local"),
	STR("export"),
	STR("readonly"),
	STR("eval"),
	STR("let"),
};

static bool is_declaring(const struct shell_word *w)
{
	for (size_t i = 0; i < countof(declaring); i++)
		if (w->parts && !w->parts->next && w->parts->kind == SHELL_TEXT && str_eq(w->parts->text, declaring[i]))
			return true;
	return false;
}

/* The rest of a word that began with name[index] but is no assignment. */
static struct shell_word *subscripted_word(struct parser *s, const char *from, const struct shell_word *index,
	uint32_t begin)
{
	struct parts w = { .has_brace = true };
	const char *bracket = memchr(from, '[', (size_t)(s->p - from));

	if (!sh_add_text(s, &w, str_n(from, (size_t)(bracket + 1 - from)), false, begin))
		return NULL;
	for (const struct shell_part *part = index->parts; part; part = part->next) {
		struct shell_part *copy = sh_add_part(s, &w, part->kind, part->quoted, part->begin);

		if (!copy)
			return NULL;
		*copy = *part;
		copy->next = NULL;
	}
	if (!sh_add_text(s, &w, str_n(s->p - 1, 1), false, begin) || !sh_parts(s, &w, IN_WORD) || !sh_braces(s, &w))
		return NULL;
	w.was_quoted = w.was_quoted || index->was_quoted;
	return sh_word_of(s, &w, begin);
}

/* What follows = . */
static bool assigned_value(struct parser *s, struct shell_assign *assign)
{
	int c = sh_peek(s);

	if (c == '(' && !assign->index) {
		assign->array = true;
		if (!sh_array(s, &assign->value))
			return false;
		c = sh_peek(s);
		/* bash makes one text of a=(b)c, others two words. */
		return c < 0 || sh_is(c, CHAR_META) || sh_unexpected(s);
	}
	if (c < 0 || sh_is(c, CHAR_META)) {
		/* A process substitution is a value, everything else ends the word. */
		if ((c != '<' && c != '>') || sh_peek_after(s, s->p) != '(')
			return true;
	}
	assign->value = sh_value(s);
	return assign->value;
}

/* At a word where assignments may stand. *ret is NULL when it is none; then *ret_word is the word if that was needed to
 * find out, else the cursor has not moved. */
static bool assignment(struct parser *s, struct shell_assign **ret, struct shell_word **ret_word)
{
	const char *from;
	struct shell_word *index = NULL;
	bool append = false;
	uint32_t begin;
	str name;

	sh_peek(s);
	from = s->p;
	begin = sh_begin(s);
	name = sh_name(s);
	if (name.p && sh_peek(s) == '[') {
		s->p++;
		if (!sh_enter(s))
			return false;
		index = sh_bracketed(s);
		sh_leave(s);
		if (!index)
			return false;
	}
	if (name.p)
		append = sh_peek(s) == '+' && sh_peek_after(s, s->p) == '=' && sh_take(s, '+');
	if (!name.p || !sh_take(s, '=')) {
		if (index) {
			*ret_word = subscripted_word(s, from, index, begin);
			return *ret_word;
		}
		s->p = from;
		return true;
	}
	if (!sh_count(s))
		return false;
	*ret = arena_new(s->a, struct shell_assign);
	**ret = (struct shell_assign){ .name = name, .index = index, .append = append, .begin = begin };
	if (!assigned_value(s, *ret))
		return false;
	(*ret)->end = sh_end(s);
	return true;
}

/* name=( in an argument of declare and the like. */
static struct shell_word *declared_array(struct parser *s, struct shell_word *w)
{
	struct shell_part *last = w->parts, *array;
	struct parts parts = { .first = w->parts };

	while (last && last->next)
		last = last->next;
	if (!last || last->kind != SHELL_TEXT || last->quoted || !str_ends(last->text, STR("=")))
		return sh_unexpected(s);
	parts.last = last;
	array = sh_add_part(s, &parts, SHELL_ARRAY, false, sh_begin(s));
	if (!array || !sh_array(s, &array->items))
		return NULL;
	array->end = w->end = sh_end(s);
	return w;
}

static bool simple_word(struct parser *s, struct simple *c)
{
	struct shell_assign *assign = NULL;
	struct shell_word *w = NULL;

	if (!c->n->words && !assignment(s, &assign, &w))
		return false;
	if (assign) {
		*c->assign_tail = assign;
		c->assign_tail = &assign->next;
		return true;
	}
	if (!w)
		w = sh_word(s);
	if (w && c->declares && s->p < s->end && *s->p == '(')
		w = declared_array(s, w);
	if (!w)
		return false;
	if (!c->n->words)
		c->declares = is_declaring(w);
	*c->word_tail = w;
	c->word_tail = &w->next;
	return true;
}

/* name ( ) … : the word was read already. */
static struct shell_node *function_behind(struct parser *s, struct shell_node *n)
{
	struct shell_word *name = n->words;

	s->p++;
	sh_blanks(s);
	if (!sh_take(s, ')'))
		return sh_unexpected(s);
	n->kind = SHELL_FUNCTION;
	n->words = NULL;
	n->name = shell_word_literal(s->a, name);
	if (!n->name.p)
		return sh_fail(s, -EBADMSG, "a function whose name is not plain text");
	n->body = sh_function_body(s);
	n->end = sh_end(s);
	return n->body ? n : NULL;
}

static struct shell_node *simple_command(struct parser *s)
{
	struct shell_node *n = sh_node(s, SHELL_SIMPLE);
	struct simple c = { .n = n };

	if (!n)
		return NULL;
	c.assign_tail = &n->assigns;
	c.word_tail = &n->words;
	c.redirect_tail = &n->redirects;
	for (;;) {
		int at;

		n->end = sh_end(s);
		sh_blanks(s);
		at = sh_peek(s);
		if (sh_at_redirect(s)) {
			if (!sh_redirect(s, &c.redirect_tail))
				return NULL;
		} else if (at == '(' && n->words && !n->words->next && !n->assigns && !n->redirects) {
			return function_behind(s, n);
		} else if (at < 0 || (sh_is(at, CHAR_META) && at != '<' && at != '>')) {
			break;
		} else if (!simple_word(s, &c)) {
			return NULL;
		}
	}
	if (!n->words && !n->assigns && !n->redirects)
		return sh_unexpected(s);
	return n;
}

/* Words that end a list. */
static bool is_closing(enum reserved word)
{
	return word == WORD_THEN || word == WORD_ELIF || word == WORD_ELSE || word == WORD_FI || word == WORD_DO ||
		word == WORD_DONE || word == WORD_ESAC || word == WORD_CLOSE;
}

struct shell_node *sh_command(struct parser *s)
{
	struct shell_node *n = sh_compound(s);
	enum reserved word;

	if (n || s->code)
		return n;
	/* Reserved words that begin nothing are no commands either. */
	word = sh_reserved(s);
	if (is_closing(word) || word == WORD_NOT || word == WORD_IN || word == WORD_END_TEST)
		return sh_unexpected(s);
	return simple_command(s);
}

/* -- pipelines --------------------------------------------------------------------------------- */

/* ! and time, as often as they stand there; whether there were any. */
static bool pipeline_words(struct parser *s, struct shell_node *flags)
{
	for (bool found = false;; found = true) {
		sh_blanks(s);
		if (sh_take_reserved(s, WORD_NOT)) {
			flags->negated = !flags->negated;
		} else if (sh_take_reserved(s, WORD_TIME)) {
			flags->timed = true;
			sh_blanks(s);
			if (sh_take_reserved(s, WORD_OPTION_P))
				sh_blanks(s);
			sh_take_reserved(s, WORD_DASHES);
		} else {
			return found;
		}
	}
}

/* Whether there is a | here that is not ||. */
static bool at_pipe(struct parser *s)
{
	return sh_peek(s) == '|' && sh_peek_after(s, s->p) != '|';
}

static struct shell_node *pipeline_rest(struct parser *s, struct shell_node *first, uint32_t begin)
{
	struct shell_node *n = sh_node(s, SHELL_PIPELINE), *last = first;

	if (!n)
		return NULL;
	n->begin = begin;
	n->children = first;
	while (at_pipe(s)) {
		s->p++;
		last->both = sh_take(s, '&');
		if (!sh_newlines(s))
			return NULL;
		last->next = sh_command(s);
		last = last->next;
		if (!last)
			return NULL;
		sh_blanks(s);
	}
	n->end = last->end;
	return n;
}

static struct shell_node *pipeline(struct parser *s)
{
	struct shell_node flags = { 0 }, *n;
	uint32_t begin;
	bool alone;
	int c;

	sh_blanks(s);
	begin = sh_begin(s);
	alone = pipeline_words(s, &flags);
	c = sh_peek(s);
	/* "time" and "!" may stand alone: an empty command. */
	if (alone && (c < 0 || c == '\n' || c == ';' || c == ')'))
		n = sh_node(s, SHELL_SIMPLE);
	else
		n = sh_command(s);
	if (!n)
		return NULL;
	sh_blanks(s);
	if (at_pipe(s))
		n = pipeline_rest(s, n, begin);
	if (!n)
		return NULL;
	n->negated = flags.negated;
	n->timed = flags.timed;
	n->begin = begin;
	return n;
}

/* -- lists ------------------------------------------------------------------------------------- */

/* Whether the list ends here: the caller knows what must follow. */
static bool at_list_end(struct parser *s)
{
	int c = sh_peek(s), next;

	if (c < 0 || c == ')')
		return true;
	if (c == ';') {
		next = sh_peek_after(s, s->p);
		return next == ';' || next == '&';
	}
	return is_closing(sh_reserved(s));
}

/* What follows a command, including any newlines. */
static enum shell_then take_separator(struct parser *s)
{
	enum shell_then then = SHELL_THEN_END;
	int c = sh_peek(s), next = c < 0 ? -1 : sh_peek_after(s, s->p);

	if (c == '\n')
		then = SHELL_THEN_SEMI;
	else if (c == ';' && next != ';' && next != '&')
		then = SHELL_THEN_SEMI;
	else if (c == '&')
		then = next == '&' ? SHELL_THEN_AND : SHELL_THEN_BACKGROUND;
	else if (c == '|' && next == '|')
		then = SHELL_THEN_OR;
	if (then == SHELL_THEN_END)
		return then;
	if (c != '\n')
		s->p++;
	if (then == SHELL_THEN_AND || then == SHELL_THEN_OR)
		sh_take(s, (char)next);
	return sh_newlines(s) ? then : SHELL_THEN_END;
}

struct shell_node *sh_list(struct parser *s)
{
	struct shell_node *list, **tail, *n = NULL;

	if (!sh_newlines(s))
		return NULL;
	list = sh_node(s, SHELL_LIST);
	if (!list)
		return NULL;
	for (tail = &list->children; !at_list_end(s); tail = &n->next) {
		n = pipeline(s);
		if (!n)
			return NULL;
		*tail = n;
		list->end = n->end;
		n->then = take_separator(s);
		if (s->code)
			return NULL;
		if (n->then == SHELL_THEN_END)
			break;
	}
	if (n && (n->then == SHELL_THEN_AND || n->then == SHELL_THEN_OR))
		return sh_unexpected(s);
	return list;
}

struct shell_node *sh_commands(struct parser *s)
{
	struct shell_node *list = sh_list(s);

	return list && !list->children ? sh_unexpected(s) : list;
}

struct shell_node *sh_substituted(struct parser *s, bool braced)
{
	struct shell_pending *pending = s->pending, **tail = s->pending_tail;
	bool was_in = s->in_substitution;
	struct shell_node *list;
	uint32_t begin = sh_begin(s);

	if (!sh_enter(s))
		return NULL;
	s->pending = NULL;
	s->pending_tail = &s->pending;
	s->in_substitution = !braced;
	list = sh_list(s);
	if (!list)
		return NULL;
	if (sh_peek(s) < 0) {
		sh_fail(s, -EBADMSG, "a substitution that is never closed");
		s->where = begin;
		return NULL;
	}
	if (!(braced ? sh_take_reserved(s, WORD_CLOSE) : sh_take(s, ')')))
		return sh_unexpected(s);
	if (s->pending)
		return sh_fail(s, -EBADMSG, "a here-document whose text does not begin before its substitution ends");
	s->pending = pending;
	s->pending_tail = pending ? tail : &s->pending;
	s->in_substitution = was_in;
	sh_leave(s);
	return list;
}

/* -- the whole --------------------------------------------------------------------------------- */

struct shell_node *sh_whole(struct parser *s)
{
	struct shell_node *list = sh_list(s);

	if (list && s->p < s->end)
		sh_unexpected(s);
	/* The last line may end without a newline: its here-documents are empty. */
	if (!s->code && s->pending)
		sh_here_documents(s);
	return s->code ? NULL : list;
}

static int report(const struct parser *s, size_t *ret_at, struct err *err)
{
	unsigned line = 1, col = 1;

	for (const char *p = s->given; p < s->given + s->where; p++) {
		col = *p == '\n' ? 1 : col + 1;
		line += *p == '\n';
	}
	if (ret_at)
		*ret_at = s->where;
	if (strstr(s->what, "%s"))
		return err_set_at(err, s->code, line, col, "%.*s%s%s", (int)(strstr(s->what, "%s") - s->what), s->what,
			s->named, strstr(s->what, "%s") + 2);
	return err_set_at(err, s->code, line, col, "%s", s->what);
}

int shell_parse(struct arena *a, str text, const struct shell_limits *limits, struct shell_node **ret, size_t *ret_at,
	struct err *err)
{
	struct parser s = {
		.a = a,
		.text = text.p ? text.p : "",
		.limits = limits ? *limits : shell_default_limits,
	};
	struct shell_node *list;
	const char *nul;

	s.p = s.given = s.text;
	s.end = s.text + text.n;
	s.pending_tail = &s.pending;
	if (text.n > s.limits.bytes) {
		sh_fail(&s, -E2BIG, "the command is too long");
		return report(&s, ret_at, err);
	}
	nul = memchr(s.text, 0, text.n);
	if (nul) {
		s.p = nul;
		sh_fail(&s, -EBADMSG, "a NUL byte");
		return report(&s, ret_at, err);
	}
	list = sh_whole(&s);
	if (!list)
		return report(&s, ret_at, err);
	*ret = list;
	return 0;
}
