/* Redirections and here-documents. */
#include "shell/internal.h"

#include <errno.h>
#include <limits.h>

/* -- reading from another text ----------------------------------------------------------------- */

void sh_read_other(struct parser *s, str text, bool copied, uint32_t begin, uint32_t end, struct parser *ret_saved)
{
	*ret_saved = *s;
	s->text = s->p = text.p;
	s->end = text.p + text.n;
	s->pending = NULL;
	s->pending_tail = &s->pending;
	s->in_substitution = false;
	if (copied && !s->copied) {
		s->copied = true;
		s->copied_begin = begin;
		s->copied_end = end;
	}
}

void sh_read_on(struct parser *s, const struct parser *saved)
{
	s->text = saved->text;
	s->p = saved->p;
	s->end = saved->end;
	s->copied = saved->copied;
	s->copied_begin = saved->copied_begin;
	s->copied_end = saved->copied_end;
	s->pending = saved->pending;
	s->pending_tail = saved->pending ? saved->pending_tail : &s->pending;
	s->in_substitution = saved->in_substitution;
}

/* -- operators --------------------------------------------------------------------------------- */

/* Whether there is a < or > here that is not a process substitution. */
static bool at_sign(struct parser *s)
{
	int c = sh_peek(s);

	return (c == '<' || c == '>') && sh_peek_after(s, s->p) != '(';
}

/* {name} before an operator. */
static str descriptor_name(struct parser *s)
{
	str name;

	if (!sh_take(s, '{'))
		return STR_NONE;
	name = sh_name(s);
	return sh_take(s, '}') ? name : STR_NONE;
}

bool sh_at_redirect(struct parser *s)
{
	const char *from;
	int c = sh_peek(s);
	bool found;

	if (c == '<' || c == '>')
		return at_sign(s);
	if (c == '&')
		return sh_peek_after(s, s->p) == '>';
	if (c != '{' && !sh_is(c, CHAR_DIGIT))
		return false;
	from = s->p;
	found = c == '{' ? descriptor_name(s).p != NULL : sh_digits(s).n < 10;
	found = found && at_sign(s);
	s->p = from;
	return found;
}

/* The operator under the cursor is taken character by character, the longest one wins. */
static enum shell_redirect_op take_operator(struct parser *s, bool *ret_strip_tabs)
{
	if (sh_take(s, '&')) {
		sh_take(s, '>');
		return sh_take(s, '>') ? SHELL_BOTH_APPEND : SHELL_BOTH;
	}
	if (sh_take(s, '>')) {
		if (sh_take(s, '&'))
			return SHELL_DUP_OUT;
		if (sh_take(s, '>'))
			return SHELL_APPEND;
		sh_take(s, '|');
		return SHELL_OUT;
	}
	sh_take(s, '<');
	if (sh_take(s, '&'))
		return SHELL_DUP_IN;
	if (sh_take(s, '>'))
		return SHELL_INOUT;
	if (!sh_take(s, '<'))
		return SHELL_IN;
	if (sh_take(s, '<'))
		return SHELL_HERESTRING;
	*ret_strip_tabs = sh_take(s, '-');
	return SHELL_HEREDOC;
}

/* "2", "2-" or "-": what >& duplicates. Anything else is a file. */
static bool is_descriptor(const struct shell_word *w)
{
	const struct shell_part *part = w->parts;
	size_t n = 0;

	if (!part || part->next || part->kind != SHELL_TEXT)
		return false;
	while (n < part->text.n && sh_is((unsigned char)part->text.p[n], CHAR_DIGIT))
		n++;
	return n == part->text.n || (n + 1 == part->text.n && part->text.p[n] == '-');
}

/* -- delimiters -------------------------------------------------------------------------------- */

/* Double quotes in a delimiter: nothing is expanded in it. */
static bool delimiter_quoted(struct parser *s, struct parts *w)
{
	const char *open = s->p;

	w->was_quoted = true;
	for (s->p++; s->p < s->end && *s->p != '"';) {
		if (*s->p == '\\') {
			if (!sh_escaped(s, w, IN_DOUBLE))
				return false;
		} else {
			s->p++;
			if (!sh_add_text(s, w, str_n(s->p - 1, 1), true, sh_begin(s)))
				return false;
		}
	}
	if (s->p >= s->end) {
		s->p = open;
		return sh_fail(s, -EBADMSG, "a double quote that is never closed");
	}
	s->p++;
	return true;
}

static bool delimiter_piece(struct parser *s, struct parts *w)
{
	int next;

	switch (*s->p) {
	case '\\': return sh_escaped(s, w, IN_WORD);
	case '\'': return sh_single_quoted(s, w);
	case '"': return delimiter_quoted(s, w);
	case '`': return sh_fail(s, -EBADMSG, "a backquote in the delimiter of a here-document");
	case '$':
		next = sh_peek_after(s, s->p);
		if (next == '{')
			return sh_fail(s, -EBADMSG, "${ in the delimiter of a here-document");
		if (next == '\'' || next == '"') {
			s->p++;
			sh_peek(s);
			return next == '"' ? delimiter_quoted(s, w) : sh_ansi_quoted(s, w);
		}
	}
	s->p++;
	return sh_add_text(s, w, str_n(s->p - 1, 1), false, sh_begin(s));
}

/* The delimiter as a word of one text, quotes removed. */
static struct shell_word *delimiter(struct parser *s)
{
	struct parts w = { 0 }, joined = { 0 };
	uint32_t begin;
	size_t n = 0;
	char *text;
	int c = sh_peek(s);

	begin = sh_begin(s);
	if (c < 0 || sh_is(c, CHAR_META))
		return sh_unexpected(s);
	while (s->p < s->end && !sh_is((unsigned char)*s->p, CHAR_META))
		if (!delimiter_piece(s, &w))
			return NULL;
	for (const struct shell_part *part = w.first; part; part = part->next)
		n += part->text.n;
	text = arena_bytes(s->a, n + 1);
	n = 0;
	for (const struct shell_part *part = w.first; part; part = part->next) {
		memcpy(text + n, part->text.p, part->text.n);
		n += part->text.n;
	}
	if (!sh_add_text(s, &joined, str_n(text, n), w.was_quoted, begin))
		return NULL;
	joined.was_quoted = w.was_quoted;
	return sh_word_of(s, &joined, begin);
}

/* -- one redirection --------------------------------------------------------------------------- */

bool sh_redirect(struct parser *s, struct shell_redirect ***tail)
{
	struct shell_redirect *r;
	str digits = STR_NONE;
	int64_t fd = -1;
	bool dup;

	if (!sh_count(s))
		return false;
	r = arena_new(s->a, struct shell_redirect);
	r->begin = sh_begin(s);
	if (sh_peek(s) == '{')
		r->fd_name = descriptor_name(s);
	else
		digits = sh_digits(s);
	if (digits.n && !str_to_int(digits, &fd))
		return sh_fail(s, -EBADMSG, "a number of a file descriptor that is too large");
	r->fd = (int)fd;
	r->op = take_operator(s, &r->strip_tabs);
	sh_blanks(s);
	dup = r->op == SHELL_DUP_IN || r->op == SHELL_DUP_OUT;
	/* In "> 2>x" the number belongs to the second operator and the first one has no target; in "2>&1>x" it has. */
	if (sh_at_redirect(s) && !(dup && sh_is(sh_peek(s), CHAR_DIGIT)))
		return sh_unexpected(s);
	/* A dash behind >& is all there is: what follows it is the next word, even without a blank. */
	if (dup && sh_peek(s) == '-')
		r->target = sh_text_word(s, 1);
	else
		r->target = r->op == SHELL_HEREDOC ? delimiter(s) : sh_word(s);
	if (!r->target)
		return false;
	if (r->op == SHELL_DUP_OUT && !is_descriptor(r->target))
		r->op = SHELL_BOTH;
	r->end = sh_end(s);
	if (r->op == SHELL_HEREDOC) {
		struct shell_pending *p = arena_new(s->a, struct shell_pending);

		p->redirect = r;
		*s->pending_tail = p;
		s->pending_tail = &p->next;
	}
	**tail = r;
	*tail = &r->next;
	return true;
}

/* Those behind a compound command. */
bool sh_redirects(struct parser *s, struct shell_node *n)
{
	struct shell_redirect **tail = &n->redirects;

	for (;;) {
		sh_blanks(s);
		if (!sh_at_redirect(s))
			return true;
		if (!sh_redirect(s, &tail))
			return false;
		n->end = sh_end(s);
	}
}

/* -- bodies ------------------------------------------------------------------------------------ */

/* A line of a here-document. Without a quoted delimiter lines that end in a backslash are one with the next, before
 * anything is compared. */
struct line {
	const char *from, *end; /* end: at the newline or the end of the text */
	bool joined;
};

static struct line next_line(const struct parser *s, const char *from, bool join)
{
	struct line line = { .from = from };
	const char *p = from;

	for (;;) {
		const char *newline = memchr(p, '\n', (size_t)(s->end - p));
		const char *backslash;

		line.end = newline ? newline : s->end;
		while (join && (backslash = memchr(p, '\\', (size_t)(line.end - p)))) {
			p = backslash + 2;
			if (p > line.end)
				break;
		}
		/* A backslash escaped the newline: go on behind it. */
		if (!join || !newline || p <= newline)
			return line;
		line.joined = true;
	}
}

/* The text of a line without what bash takes away before it looks at it. */
static char *put_line(const struct line *line, bool strip_tabs, char *to)
{
	const char *p = line->from;
	char *start = to;

	for (; p < line->end; p++) {
		if (line->joined && p[0] == '\\' && p + 1 < line->end) {
			if (p[1] == '\n') {
				p++;
				continue;
			}
			*to++ = *p++;
			*to++ = *p;
			continue;
		}
		*to++ = *p;
	}
	if (strip_tabs) {
		size_t tabs = 0, n = (size_t)(to - start);

		while (tabs < n && start[tabs] == '\t')
			tabs++;
		memmove(start, start + tabs, n - tabs);
		to -= tabs;
	}
	return to;
}

static str line_text(struct parser *s, const struct line *line, bool strip_tabs)
{
	const char *p = line->from;
	char *copy;

	if (line->joined) {
		copy = arena_bytes(s->a, (size_t)(line->end - line->from) + 1);
		return str_n(copy, (size_t)(put_line(line, strip_tabs, copy) - copy));
	}
	while (strip_tabs && p < line->end && *p == '\t')
		p++;
	return str_n(p, (size_t)(line->end - p));
}

/* In $(…) bash also ends at a line that begins with the delimiter and has a ) somewhere. Directly behind it, that is
 * what was meant; further on, bash and others read different commands. */
static bool ends_before_paren(struct parser *s, str line, str delim, size_t *ret_rest)
{
	str rest;

	if (!s->in_substitution || !str_starts(line, delim) || !memchr(line.p + delim.n, ')', line.n - delim.n))
		return false;
	rest = str_trim(str_from(line, delim.n));
	if (rest.p[0] != ')')
		return sh_fail(s, -EBADMSG, "a line of a here-document that bash would take for its end");
	*ret_rest = line.n - delim.n;
	return true;
}

static bool set_body(struct parser *s, struct shell_redirect *r, str text, bool copied, uint32_t begin)
{
	struct parts w = { 0 };
	uint32_t end = sh_end(s);
	struct parser saved;

	sh_read_other(s, text, copied, begin, end, &saved);
	if (r->target->was_quoted) {
		s->p = s->end;
		sh_add_text(s, &w, text, true, begin);
	} else if (sh_enter(s)) {
		sh_parts(s, &w, IN_BODY);
		sh_leave(s);
	}
	if (!s->code)
		r->body = sh_word_of(s, &w, begin);
	sh_read_on(s, &saved);
	return !s->code;
}

/* Like bash, a body whose delimiter never comes extends to the end. */
static bool read_body(struct parser *s, struct shell_redirect *r)
{
	str delim = r->target->parts ? r->target->parts->text : STR("");
	const char *from = s->p, *body_end = s->end, *after = s->end;
	bool join = !r->target->was_quoted, changed = false;
	uint32_t begin = sh_begin(s);
	struct line line;
	char *copy, *to;

	for (const char *p = from; p < s->end; p = line.end + 1) {
		size_t rest = 0;
		str text;

		line = next_line(s, p, join);
		text = line_text(s, &line, r->strip_tabs);
		if (str_eq(text, delim) || ends_before_paren(s, text, delim, &rest)) {
			body_end = p;
			after = rest ? line.end - rest : line.end < s->end ? line.end + 1 : s->end;
			break;
		}
		if (s->code)
			return false;
		changed = changed || line.joined || text.p != line.from;
	}
	s->p = after;
	if (!changed)
		return set_body(s, r, str_n(from, (size_t)(body_end - from)), false, begin);
	copy = to = arena_bytes(s->a, (size_t)(body_end - from) + 1);
	for (const char *p = from; p < body_end; p = line.end + 1) {
		line = next_line(s, p, join);
		to = put_line(&line, r->strip_tabs, to);
		if (line.end < body_end)
			*to++ = '\n';
	}
	return set_body(s, r, str_n(copy, (size_t)(to - copy)), true, begin);
}

/* Behind a newline: the bodies of all here-documents of the line. */
bool sh_here_documents(struct parser *s)
{
	struct shell_pending *p = s->pending;

	s->pending = NULL;
	s->pending_tail = &s->pending;
	for (; p; p = p->next)
		if (!read_body(s, p->redirect))
			return false;
	return true;
}
