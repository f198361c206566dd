/* A tree of shell/ on one line, for tables of cases: (cmd [name=value]… words… redirections…).
 *
 *   abc        unquoted text              'abc'      quoted text
 *   $x ${x:-…} parameters                 $(…) <(…)  substitutions; in quotes with " before them
 *   ~user      a home directory           {a|b}      braces with their items; {range 1..9}
 */
#ifndef HOOKD_TESTS_UNIT_SHELL_TREE_H
#define HOOKD_TESTS_UNIT_SHELL_TREE_H

#include "base/buf.h"
#include "shell/shell.h"

static void tree_node(struct buf *b, const struct shell_node *n);

static inline void tree_words(struct buf *b, const struct shell_word *w, const char *between);

static inline void tree_text(struct buf *b, str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '\n')
			buf_add_str(b, STR("\\n"));
		else if (c < 0x20 || c >= 0x7f)
			buf_addf(b, "\\x%02x", c);
		else
			buf_add_char(b, (char)c);
	}
}

static inline void tree_param(struct buf *b, const struct shell_part *part)
{
	static const char *const ops[] = {
		[SHELL_OP_NONE] = "",
		[SHELL_OP_DEFAULT] = "-",
		[SHELL_OP_ASSIGN] = "=",
		[SHELL_OP_ERROR] = "?",
		[SHELL_OP_OTHER] = "+",
		[SHELL_OP_LENGTH] = " length",
		[SHELL_OP_SUBSTRING] = " from ",
		[SHELL_OP_STRIP] = " strip ",
		[SHELL_OP_REPLACE] = " replace ",
		[SHELL_OP_CASE] = " case ",
		[SHELL_OP_AT] = " at ",
		[SHELL_OP_PREFIX] = " prefix",
	};
	bool bare = part->op == SHELL_OP_NONE && !part->index && !part->indirect;

	buf_addf(b, bare ? "$" STR_FMT : "${" STR_FMT, STR_ARG(part->name));
	if (bare)
		return;
	if (part->indirect)
		buf_add_char(b, '!');
	if (part->index) {
		buf_add_char(b, '[');
		tree_words(b, part->index, "");
		buf_add_char(b, ']');
	}
	buf_addf(b, "%s%s", part->colon ? ":" : "", ops[part->op]);
	if (part->op >= SHELL_OP_STRIP && part->op <= SHELL_OP_AT)
		buf_addf(b, STR_FMT " ", STR_ARG(part->text));
	tree_words(b, part->arg, "");
	if (part->arg2) {
		buf_add_str(b, STR(" by "));
		tree_words(b, part->arg2, "");
	}
	buf_add_char(b, '}');
}

static inline void tree_part(struct buf *b, const struct shell_part *part)
{
	if (part->quoted && part->kind != SHELL_TEXT)
		buf_add_char(b, '"');
	switch (part->kind) {
	case SHELL_TEXT:
		if (part->quoted)
			buf_add_char(b, '\'');
		tree_text(b, part->text);
		if (part->quoted)
			buf_add_char(b, '\'');
		break;
	case SHELL_PARAM: tree_param(b, part); break;
	case SHELL_COMMAND:
		buf_add_char(b, '$');
		tree_node(b, part->body);
		break;
	case SHELL_PROCESS:
		buf_add_str(b, part->text);
		tree_node(b, part->body);
		break;
	case SHELL_ARITH:
		buf_add_str(b, STR("$(("));
		tree_words(b, part->arg, "");
		buf_add_str(b, STR("))"));
		break;
	case SHELL_TILDE: buf_addf(b, "~<" STR_FMT ">", STR_ARG(part->text)); break;
	case SHELL_BRACE:
		buf_add_str(b, part->items ? STR("{") : STR("{range "));
		tree_text(b, part->text);
		tree_words(b, part->items, "|");
		buf_add_char(b, '}');
		break;
	case SHELL_ARRAY:
		buf_add_char(b, '[');
		tree_words(b, part->items, " ");
		buf_add_char(b, ']');
		break;
	}
}

static inline void tree_words(struct buf *b, const struct shell_word *w, const char *between)
{
	for (; w; w = w->next) {
		if (!w->parts && w->was_quoted)
			buf_add_str(b, STR("''"));
		for (const struct shell_part *part = w->parts; part; part = part->next)
			tree_part(b, part);
		if (w->next)
			buf_addf(b, "%s", between);
	}
}

static inline void tree_redirects(struct buf *b, const struct shell_redirect *r)
{
	static const char *const ops[] = {
		[SHELL_IN] = "<",
		[SHELL_OUT] = ">",
		[SHELL_APPEND] = ">>",
		[SHELL_INOUT] = "<>",
		[SHELL_DUP_IN] = "<&",
		[SHELL_DUP_OUT] = ">&",
		[SHELL_BOTH] = "&>",
		[SHELL_BOTH_APPEND] = "&>>",
		[SHELL_HEREDOC] = "<<",
		[SHELL_HERESTRING] = "<<<",
	};

	for (; r; r = r->next) {
		buf_add_char(b, ' ');
		if (r->fd >= 0)
			buf_addf(b, "%d", r->fd);
		if (r->fd_name.p)
			buf_addf(b, "{" STR_FMT "}", STR_ARG(r->fd_name));
		buf_addf(b, "%s%s", ops[r->op], r->strip_tabs ? "-" : "");
		tree_words(b, r->target, "");
		if (r->op == SHELL_HEREDOC) {
			buf_add_str(b, STR("["));
			if (r->body)
				tree_words(b, r->body, "");
			buf_add_str(b, STR("]"));
		}
	}
}

static inline void tree_assigns(struct buf *b, const struct shell_assign *assign)
{
	for (; assign; assign = assign->next) {
		buf_addf(b, " " STR_FMT, STR_ARG(assign->name));
		if (assign->index) {
			buf_add_char(b, '[');
			tree_words(b, assign->index, "");
			buf_add_char(b, ']');
		}
		buf_addf(b, "%s%s", assign->append ? "+=" : "=", assign->array ? "[" : "");
		tree_words(b, assign->value, " ");
		if (assign->array)
			buf_add_char(b, ']');
	}
}

static inline void tree_child(struct buf *b, const char *before, const struct shell_node *n)
{
	if (n) {
		buf_addf(b, "%s", before);
		tree_node(b, n);
	}
}

static inline void tree_children(struct buf *b, const struct shell_node *n)
{
	static const char *const then[] = {
		[SHELL_THEN_END] = "",
		[SHELL_THEN_SEMI] = ";",
		[SHELL_THEN_AND] = " &&",
		[SHELL_THEN_OR] = " ||",
		[SHELL_THEN_BACKGROUND] = " &",
	};
	const char *space = "";

	for (const struct shell_node *c = n->children; c; c = c->next) {
		buf_addf(b, "%s", space);
		tree_node(b, c);
		if (n->kind == SHELL_PIPELINE && c->next)
			buf_addf(b, " %s", c->both ? "|&" : "|");
		/* The ; of the last command says nothing. */
		if (n->kind == SHELL_LIST && (c->next || c->then != SHELL_THEN_SEMI))
			buf_addf(b, "%s", then[c->then]);
		space = " ";
	}
}

static inline void tree_cases(struct buf *b, const struct shell_case *one)
{
	static const char *const ends[] = {
		[SHELL_CASE_BREAK] = "",
		[SHELL_CASE_FALL] = " ;&",
		[SHELL_CASE_CONTINUE] = " ;;&",
	};

	for (; one; one = one->next) {
		buf_add_str(b, STR(" ["));
		tree_words(b, one->patterns, "|");
		tree_child(b, ": ", one->body);
		buf_addf(b, "%s]", ends[one->end_with]);
	}
}

static void tree_node(struct buf *b, const struct shell_node *n)
{
	static const char *const names[] = {
		[SHELL_SIMPLE] = "cmd",
		[SHELL_PIPELINE] = "",
		[SHELL_LIST] = "",
		[SHELL_SUBSHELL] = "sub",
		[SHELL_GROUP] = "group",
		[SHELL_IF] = "if",
		[SHELL_WHILE] = "while",
		[SHELL_FOR] = "for",
		[SHELL_FOR_ARITH] = "for((",
		[SHELL_CASE] = "case",
		[SHELL_FUNCTION] = "function",
		[SHELL_TEST] = "test",
		[SHELL_ARITH_COMMAND] = "((",
		[SHELL_COPROC] = "coproc",
	};

	/* A list of one command is shown as that command. */
	if (n->kind == SHELL_LIST && n->children && !n->children->next && n->children->then <= SHELL_THEN_SEMI) {
		tree_node(b, n->children);
		return;
	}
	buf_addf(b, "(%s%s%s", n->negated ? "! " : "", n->timed ? "time " : "",
		n->is_until            ? "until"
			: n->is_select ? "select"
				       : names[n->kind]);
	if (n->name.p)
		buf_addf(b, " " STR_FMT, STR_ARG(n->name));
	tree_assigns(b, n->assigns);
	if (n->kind == SHELL_FOR && n->has_words)
		buf_add_str(b, STR(" in"));
	if (n->words)
		buf_add_char(b, ' ');
	tree_words(b, n->words, " ");
	tree_children(b, n);
	tree_child(b, " ", n->condition);
	tree_child(b, n->kind == SHELL_IF || n->kind == SHELL_WHILE ? " do " : " ", n->body);
	tree_child(b, " else ", n->otherwise);
	tree_cases(b, n->cases);
	tree_redirects(b, n->redirects);
	buf_add_char(b, ')');
}

#endif
