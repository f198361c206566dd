/* What others ask of a tree. */
#include "shell/shell.h"

/* -- words ------------------------------------------------------------------------------------- */

bool shell_word_is_pattern(const struct shell_word *w)
{
	bool open = false;

	for (const struct shell_part *part = w->parts; part; part = part->next) {
		if (part->kind != SHELL_TEXT || part->quoted)
			continue;
		for (size_t i = 0; i < part->text.n; i++) {
			char c = part->text.p[i];

			if (c == '*' || c == '?' || (open && c == ']'))
				return true;
			if (c == '(' && i > 0 && strchr("+@!", part->text.p[i - 1]))
				return true;
			open = open || c == '[';
		}
	}
	return false;
}

str shell_word_literal(struct arena *a, const struct shell_word *w)
{
	const struct shell_part *part;
	size_t n = 0;
	char *text;

	for (part = w->parts; part; part = part->next) {
		if (part->kind != SHELL_TEXT)
			return STR_NONE;
		n += part->text.n;
	}
	if (shell_word_is_pattern(w))
		return STR_NONE;
	if (!w->parts)
		return STR("");
	if (!w->parts->next)
		return w->parts->text;
	text = arena_bytes(a, n + 1);
	n = 0;
	for (part = w->parts; part; part = part->next) {
		memcpy(text + n, part->text.p, part->text.n);
		n += part->text.n;
	}
	text[n] = 0;
	return str_n(text, n);
}

/* -- walking ----------------------------------------------------------------------------------- */

struct walk {
	void (*fn)(const struct shell_node *simple, void *arg);
	void *arg;
};

static void walk_node(const struct walk *w, const struct shell_node *n);

static void walk_words(const struct walk *w, const struct shell_word *words);

static void walk_word(const struct walk *w, const struct shell_word *word)
{
	for (const struct shell_part *part = word->parts; part; part = part->next) {
		walk_words(w, part->index);
		walk_words(w, part->arg);
		walk_words(w, part->arg2);
		walk_words(w, part->items);
		if (part->body)
			walk_node(w, part->body);
	}
}

static void walk_words(const struct walk *w, const struct shell_word *words)
{
	for (; words; words = words->next)
		walk_word(w, words);
}

/* Words and redirections as they stand in the text. */
static void walk_arguments(const struct walk *w, const struct shell_node *n)
{
	const struct shell_word *word = n->words;
	const struct shell_redirect *r = n->redirects;

	while (word || r) {
		if (word && (!r || word->begin <= r->begin)) {
			walk_word(w, word);
			word = word->next;
		} else {
			walk_words(w, r->op == SHELL_HEREDOC ? r->body : r->target);
			r = r->next;
		}
	}
}

static void walk_nodes(const struct walk *w, const struct shell_node *n)
{
	for (; n; n = n->next)
		walk_node(w, n);
}

/* One node, without those behind it. */
static void walk_node(const struct walk *w, const struct shell_node *n)
{
	if (n->kind == SHELL_SIMPLE)
		w->fn(n, w->arg);
	for (const struct shell_assign *assign = n->assigns; assign; assign = assign->next) {
		walk_words(w, assign->index);
		walk_words(w, assign->value);
	}
	if (n->kind == SHELL_SIMPLE)
		walk_arguments(w, n);
	else
		walk_words(w, n->words);
	walk_nodes(w, n->children);
	walk_nodes(w, n->condition);
	walk_nodes(w, n->body);
	walk_nodes(w, n->otherwise);
	for (const struct shell_case *one = n->cases; one; one = one->next) {
		walk_words(w, one->patterns);
		walk_nodes(w, one->body);
	}
	if (n->kind != SHELL_SIMPLE)
		walk_arguments(w, &(struct shell_node){ .redirects = n->redirects });
}

void shell_each_simple(const struct shell_node *n, void (*fn)(const struct shell_node *simple, void *arg), void *arg)
{
	struct walk w = { fn, arg };

	walk_node(&w, n);
}
