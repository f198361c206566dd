/* Braces: {a,b} and {1..9} in a word that has been read.
 *
 * One pass over the unquoted text with a stack of open braces, as deep as the depth limit. A brace that is never
 * closed, or holds neither a comma nor a range, is text; commas and braces in it were then text too. */
#include "shell/internal.h"

#include <errno.h>

/* A brace that is open. */
struct open_brace {
	struct open_brace *outer;
	str sign; /* the { itself, as text */
	uint32_t begin;
	struct parts item; /* what follows the last comma */
	struct shell_word *items, **tail;
	str commas;       /* the last comma, as text */
	bool starts_word; /* nothing before it: ~ in it is a home directory */
};

struct bracing {
	struct parser *s;
	struct parts out; /* outside of all braces */
	struct open_brace *open;
	unsigned depth;
};

static struct parts *current(struct bracing *b)
{
	return b->open ? &b->open->item : &b->out;
}

static void append(struct parts *to, struct parts *from)
{
	if (!from->first)
		return;
	if (to->last)
		to->last->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
}

/* {a..z}, {1..9}, {1..9..2}. */
static bool is_range(str text)
{
	size_t numbers = 0, letters = 0, pieces = 0;

	while (pieces < 4) {
		ptrdiff_t dots = str_find(text, STR(".."));
		str piece = dots < 0 ? text : str_head(text, (size_t)dots);
		int64_t value;

		pieces++;
		if (piece.n > 1 && piece.p[0] == '+')
			piece = str_from(piece, 1);
		if (str_to_int(piece, &value))
			numbers++;
		else if (piece.n == 1 && sh_is_name_start((unsigned char)piece.p[0]) && pieces <= 2)
			letters++;
		else
			return false;
		if (dots < 0)
			break;
		text = str_from(text, (size_t)dots + 2);
	}
	return pieces == 2 ? letters != 1 : pieces == 3 && letters != 1 && numbers >= 1;
}

/* ~ at the start of an item is one at the start of a word if nothing precedes the brace. */
static bool item_tilde(struct parser *s, struct shell_word *item)
{
	struct shell_part *first = item->parts, *rest;
	size_t n = 1;

	if (!first || first->kind != SHELL_TEXT || first->quoted || first->text.p[0] != '~')
		return true;
	while (n < first->text.n && first->text.p[n] != '/')
		n++;
	if (n == first->text.n && first->next)
		return true;
	if (n < first->text.n) {
		if (!sh_count(s))
			return false;
		rest = arena_new(s->a, struct shell_part);
		*rest = *first;
		rest->text = str_from(first->text, n);
		first->next = rest;
	}
	first->kind = SHELL_TILDE;
	first->text = str_n(first->text.p + 1, n - 1);
	return true;
}

static bool finish_item(struct bracing *b)
{
	struct open_brace *o = b->open;

	*o->tail = sh_word_of(b->s, &o->item, o->item.first ? o->item.first->begin : o->begin);
	if (!*o->tail)
		return false;
	if (o->item.last)
		(*o->tail)->end = o->item.last->end;
	for (const struct shell_part *part = o->item.first; part; part = part->next)
		(*o->tail)->was_quoted = (*o->tail)->was_quoted || part->quoted;
	o->tail = &(*o->tail)->next;
	o->item = (struct parts){ 0 };
	return true;
}

static bool open_brace(struct bracing *b, str sign, uint32_t begin)
{
	struct open_brace *o;

	if (++b->depth + b->s->depth > b->s->limits.depth)
		return sh_fail(b->s, -E2BIG, "too many braces in a word");
	o = arena_new(b->s->a, struct open_brace);
	*o = (struct open_brace){ .outer = b->open, .sign = sign, .begin = begin };
	o->tail = &o->items;
	o->starts_word = !current(b)->first && (!b->open || b->open->starts_word);
	b->open = o;
	return true;
}

/* The innermost brace is none: it, its items and commas become text of what is around it. */
static bool give_up(struct bracing *b)
{
	struct open_brace *o = b->open;
	struct parts *to;
	uint32_t begin = o->begin;

	b->open = o->outer;
	b->depth--;
	to = current(b);
	if (!sh_add_text(b->s, to, o->sign, false, begin))
		return false;
	for (const struct shell_word *w = o->items; w; w = w->next) {
		struct parts item = { .first = w->parts, .last = w->parts };

		while (item.last && item.last->next)
			item.last = item.last->next;
		append(to, &item);
		if (!sh_add_text(b->s, to, o->commas, false, w->end))
			return false;
	}
	append(to, &o->item);
	return true;
}

/* The text of parts that are nothing else; STR_NONE for others. Joined lines leave several. */
static str unquoted_text(struct parser *s, const struct shell_part *parts)
{
	struct shell_word word = { .parts = (struct shell_part *)parts };

	for (const struct shell_part *part = parts; part; part = part->next)
		if (part->kind != SHELL_TEXT || part->quoted)
			return STR_NONE;
	return shell_word_literal(s->a, &word);
}

static bool close_brace(struct bracing *b, str sign, uint32_t end)
{
	struct open_brace *o = b->open;
	str inside = o->items ? STR_NONE : unquoted_text(b->s, o->item.first);
	bool range = inside.n && is_range(inside);
	struct shell_part *part;

	if (!o->items && !range)
		return give_up(b) && sh_add_text(b->s, current(b), sign, false, end - 1);
	if (!range && !finish_item(b))
		return false;
	for (struct shell_word *item = o->items; item && o->starts_word; item = item->next)
		if (!item_tilde(b->s, item))
			return false;
	b->open = o->outer;
	b->depth--;
	part = sh_add_part(b->s, current(b), SHELL_BRACE, false, o->begin);
	if (!part)
		return false;
	part->end = end;
	part->items = o->items;
	if (range)
		part->text = inside;
	return true;
}

static bool brace_text(struct bracing *b, const struct shell_part *part)
{
	const char *from = part->text.p, *end = from + part->text.n;

	for (const char *p = from; p < end; p++) {
		uint32_t at = part->begin + (b->s->copied ? 0 : (uint32_t)(p - part->text.p));
		bool ok = true;

		if (*p != '{' && (!b->open || (*p != ',' && *p != '}')))
			continue;
		if (!sh_add_text(b->s, current(b), str_n(from, (size_t)(p - from)), false, at))
			return false;
		from = p + 1;
		if (*p == '{') {
			ok = open_brace(b, str_n(p, 1), at);
		} else if (*p == ',') {
			b->open->commas = str_n(p, 1);
			ok = finish_item(b);
		} else {
			ok = close_brace(b, str_n(p, 1), b->s->copied ? part->end : at + 1);
		}
		if (!ok)
			return false;
	}
	return sh_add_text(b->s, current(b), str_n(from, (size_t)(end - from)), false, part->begin);
}

bool sh_braces(struct parser *s, struct parts *w)
{
	struct bracing b = { .s = s };
	struct shell_part *part = w->first, *next;

	for (; part; part = next) {
		next = part->next;
		if (part->kind == SHELL_TEXT && !part->quoted) {
			if (!brace_text(&b, part))
				return false;
			continue;
		}
		part->next = NULL;
		append(current(&b), &(struct parts){ .first = part, .last = part });
	}
	while (b.open)
		if (!give_up(&b))
			return false;
	w->first = b.out.first;
	w->last = b.out.last;
	return true;
}
