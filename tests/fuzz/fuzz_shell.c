/* Whatever is parsed stays within its text and its limits: places are ordered and inside of those around them, nothing
 * is nested deeper than allowed, nothing is missing that the header promises. What is refused says where. The same text
 * in an argument of a command is the same tree. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "shell/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct shell_limits limits = { .bytes = 1 << 20, .nodes = 20000, .depth = 40 };

struct check {
	str text;
	unsigned nodes, depth;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_place(struct check *c, uint32_t begin, uint32_t end)
{
	check(begin <= end && end <= c->text.n);
	check(++c->nodes <= limits.nodes);
}

static void check_node(struct check *c, const struct shell_node *n);

static void check_words(struct check *c, const struct shell_word *w)
{
	/* A level of nesting is at most a word, a part, a list and a command. */
	check(++c->depth <= 4 * limits.depth + 8);
	for (; w; w = w->next) {
		check_place(c, w->begin, w->end);
		for (const struct shell_part *part = w->parts; part; part = part->next) {
			check_place(c, part->begin, part->end);
			check(part->kind != SHELL_TEXT || part->text.n > 0);
			check((part->kind == SHELL_COMMAND || part->kind == SHELL_PROCESS) == (part->body != NULL));
			check((part->kind == SHELL_PARAM) == (part->name.n > 0));
			check(part->kind != SHELL_ARITH || part->arg);
			check(part->kind != SHELL_BRACE || part->text.n || part->items);
			check_words(c, part->index);
			check_words(c, part->arg);
			check_words(c, part->arg2);
			check_words(c, part->items);
			if (part->body) {
				check(part->body->kind == SHELL_LIST);
				check_node(c, part->body);
			}
		}
	}
	c->depth--;
}

static void check_redirects(struct check *c, const struct shell_redirect *r)
{
	for (; r; r = r->next) {
		check_place(c, r->begin, r->end);
		check(r->target && (r->op == SHELL_HEREDOC) == (r->body != NULL));
		check_words(c, r->target);
		check_words(c, r->body);
		for (const struct shell_part *part = r->body ? r->body->parts : NULL; part; part = part->next)
			check(part->quoted && (part->kind == SHELL_TEXT || !r->target->was_quoted));
	}
}

static void check_list(struct check *c, const struct shell_node *n)
{
	check(n && n->kind == SHELL_LIST);
	check_node(c, n);
}

static void check_parts_of(struct check *c, const struct shell_node *n)
{
	switch (n->kind) {
	case SHELL_SIMPLE: check(n->words || n->assigns || n->redirects || !n->body); break;
	case SHELL_PIPELINE: check(n->children && n->children->next); break;
	case SHELL_LIST: break;
	case SHELL_IF:
	case SHELL_WHILE:
		check_list(c, n->condition);
		check_list(c, n->body);
		break;
	case SHELL_SUBSHELL:
	case SHELL_GROUP:
	case SHELL_FOR: check_list(c, n->body); break;
	case SHELL_FOR_ARITH:
		check(n->words);
		check_list(c, n->body);
		break;
	case SHELL_CASE: check(n->words && !n->words->next); break;
	case SHELL_FUNCTION:
		check(n->name.p && n->body && n->body->kind != SHELL_SIMPLE);
		check_node(c, n->body);
		break;
	case SHELL_COPROC:
		check(n->body);
		check_node(c, n->body);
		break;
	case SHELL_TEST:
	case SHELL_ARITH_COMMAND: check(n->words); break;
	}
}

static void check_node(struct check *c, const struct shell_node *n)
{
	check_place(c, n->begin, n->end);
	check(++c->depth <= 4 * limits.depth + 8);
	check_parts_of(c, n);
	check_words(c, n->words);
	for (const struct shell_assign *assign = n->assigns; assign; assign = assign->next) {
		check_place(c, assign->begin, assign->end);
		check_words(c, assign->index);
		check_words(c, assign->value);
	}
	check_redirects(c, n->redirects);
	for (const struct shell_node *child = n->children; child; child = child->next)
		check_node(c, child);
	if (n->otherwise)
		check_node(c, n->otherwise);
	for (const struct shell_case *one = n->cases; one; one = one->next) {
		check_place(c, one->begin, one->end);
		check(one->patterns);
		check_words(c, one->patterns);
		check_list(c, one->body);
	}
	c->depth--;
}

static void count(const struct shell_node *simple, void *arg)
{
	check(simple->kind == SHELL_SIMPLE);
	++*(unsigned *)arg;
}

/* $(…) around a text that parses must hold the same commands. A text that ends inside of a comment or a here-document
 * goes on to the newline. */
static void check_wrapped(struct arena *a, str text, unsigned commands)
{
	struct shell_limits more = { .bytes = 2 << 20, .nodes = 2 * limits.nodes, .depth = limits.depth + 2 };
	str wrapped = arena_strf(a, "x $(\n" STR_FMT "\n)", STR_ARG(text));
	struct shell_node *list;
	unsigned again = 0;

	/* Where a here-document ends may change: its text goes on to the end, or ends before the parenthesis. */
	if (memmem(text.p, text.n, "<<", 2) || (text.n && text.p[text.n - 1] == '\\'))
		return;
	check(shell_parse(a, wrapped, &more, &list, NULL, NULL) == 0);
	shell_each_simple(list, count, &again);
	check(again == commands + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = str_n((const char *)data, size);
	struct shell_node *list = NULL;
	struct check c = { .text = text };
	struct err err = { 0 };
	unsigned commands = 0;
	struct arena a;
	size_t at = 0;
	int r;

	arena_init(&a);
	r = shell_parse(&a, text, &limits, &list, &at, &err);
	if (r < 0) {
		check(!list && (r == -EBADMSG || r == -E2BIG) && err.code == r && at <= size);
		check(err.line > 0 && err.col > 0 && err.text[0]);
	} else {
		check(list && list->kind == SHELL_LIST);
		check_node(&c, list);
		shell_each_simple(list, count, &commands);
		if (!memchr(data ? (const void *)data : "", 0, size))
			check_wrapped(&a, text, commands);
	}
	arena_release(&a);
	return 0;
}
