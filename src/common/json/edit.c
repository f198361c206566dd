#include "json/edit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* A step wider than this is an accident, not a style. */
enum { INDENT_MAX = 16 };

struct json_splice {
	struct json_splice *next;
	size_t begin, end; /* these bytes go */
	str with;          /* and these come */
	size_t order;      /* splices at one place stay in the order they were made */
};

const struct json_style json_style_default = { { "\n", 1 }, { "  ", 2 }, true };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static str slice(str text, size_t begin, size_t end)
{
	return str_n(text.p + begin, end - begin);
}

/* -- finding one's way in the text ------------------------------------------------------------- */

/* End of the comment at `at`, or `at` without one. Line comments end before their newline. */
static size_t skip_comment(str text, size_t at)
{
	str rest = str_from(text, at);
	ptrdiff_t n;

	if (str_starts(rest, STR("//"))) {
		n = str_find_char(rest, '\n');
		return n < 0 ? text.n : at + (size_t)n;
	}
	if (str_starts(rest, STR("/*"))) {
		n = str_find(str_from(rest, 2), STR("*/"));
		return n < 0 ? text.n : at + (size_t)n + 4;
	}
	return at;
}

/* Past blanks and comments. */
static size_t skip_gap(str text, size_t at)
{
	size_t next;

	for (;;) {
		while (at < text.n && is_blank(text.p[at]))
			at++;
		next = skip_comment(text, at);
		if (next == at)
			return at;
		at = next;
	}
}

size_t json_item_start(str text, const struct json *in, const struct json *prev)
{
	size_t at = skip_gap(text, prev ? prev->end : in->begin + 1);

	if (prev && at < text.n && text.p[at] == ',')
		at = skip_gap(text, at + 1);
	return at;
}

static str line_indent(str text, size_t at)
{
	size_t begin = at, end;

	while (begin > 0 && text.p[begin - 1] != '\n')
		begin--;
	for (end = begin; end < at && (text.p[end] == ' ' || text.p[end] == '\t'); end++)
		;
	return slice(text, begin, end);
}

/* Whether the item at `at` is the first on its line; then its line end and indentation. */
static bool own_line(str text, size_t from, size_t at, str *ret_lead)
{
	size_t nl = at;

	while (nl > from && text.p[nl - 1] != '\n')
		nl--;
	if (nl == from)
		return false;
	nl--;
	if (nl > from && text.p[nl - 1] == '\r')
		nl--;
	at = nl;
	while (at < text.n && is_blank(text.p[at]))
		at++;
	*ret_lead = slice(text, nl, at);
	return true;
}

/* -- style ------------------------------------------------------------------------------------- */

/* The first container whose first item is on a line of its own, one step further in. */
static bool find_indent(str text, const struct json *v, str *ret)
{
	str outer, lead, inner;

	if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
		return false;
	if (v->first && own_line(text, v->begin + 1, json_item_start(text, v, NULL), &lead)) {
		outer = line_indent(text, v->begin);
		inner = str_from(lead, lead.p[0] == '\r' ? 2 : 1);
		if (str_starts(inner, outer) && inner.n > outer.n && inner.n - outer.n <= INDENT_MAX) {
			*ret = str_from(inner, outer.n);
			return true;
		}
	}
	json_each(item, v)
		if (find_indent(text, item, ret))
			return true;
	return false;
}

struct json_style json_style_of(str text, const struct json *root)
{
	struct json_style s = json_style_default;
	str body = slice(text, root->begin, root->end);
	ptrdiff_t nl = str_find_char(body, '\n');
	size_t value;

	if ((root->type != JSON_OBJECT && root->type != JSON_ARRAY) || !root->first) {
		if (str_find(text, STR("\r\n")) >= 0)
			s.newline = STR("\r\n");
		return s;
	}
	if (nl >= 0) {
		if (nl > 0 && body.p[nl - 1] == '\r')
			s.newline = STR("\r\n");
		find_indent(text, root, &s.indent);
		return s;
	}
	value = root->first->begin;
	s.newline = STR("");
	s.spaced = root->type == JSON_OBJECT && is_blank(text.p[value - 1]);
	return s;
}

/* -- writing ----------------------------------------------------------------------------------- */

static bool is_plain(const struct json *v)
{
	return v->type != JSON_OBJECT && v->type != JSON_ARRAY;
}

static bool fits_line(const struct json *v)
{
	if (is_plain(v) || !v->first)
		return true;
	if (v->type == JSON_OBJECT)
		return false;
	json_each(item, v)
		if (!is_plain(item))
			return false;
	return true;
}

/* One member or item, with its key. */
static void write_item(struct buf *b, const struct json *item, bool keyed, const struct json_style *s, str at)
{
	if (keyed) {
		json_write_string(b, item->key);
		buf_add_str(b, s->spaced ? STR(": ") : STR(":"));
	}
	json_write_styled(b, item, s, at);
}

void json_write_styled(struct buf *b, const struct json *v, const struct json_style *s, str at)
{
	bool object = v->type == JSON_OBJECT, lines = s->newline.n && !fits_line(v);
	size_t inner_at;

	if (is_plain(v) || !v->first) {
		json_write(b, v);
		return;
	}
	buf_add_char(b, object ? '{' : '[');
	json_each(item, v) {
		struct buf in = BUF_INIT(1 << 20);

		if (item != v->first)
			buf_add_str(b, s->spaced && !lines ? STR(", ") : STR(","));
		if (lines) {
			buf_add_str(b, s->newline);
			inner_at = b->len;
			buf_add_str(b, at);
			buf_add_str(b, s->indent);
			/* The indentation just written may move when the buf grows. */
			buf_add(&in, b->p + inner_at, b->len - inner_at);
		}
		write_item(b, item, object, s, buf_str(&in));
		buf_release(&in);
	}
	if (lines) {
		buf_add_str(b, s->newline);
		buf_add_str(b, at);
	}
	buf_add_char(b, object ? '}' : ']');
}

/* -- edits ------------------------------------------------------------------------------------- */

void json_edit_init(struct json_edit *e, struct arena *a, str text, const struct json *root)
{
	*e = (struct json_edit){ .a = a, .text = text, .style = json_style_of(text, root) };
}

static void add_splice(struct json_edit *e, size_t begin, size_t end, str with)
{
	struct json_splice *s = arena_new(e->a, struct json_splice);

	*s = (struct json_splice){ e->splices, begin, end, arena_str(e->a, with), e->count++ };
	e->splices = s;
}

static void add_built_splice(struct json_edit *e, size_t begin, size_t end, struct buf *b)
{
	e->full = e->full || b->full;
	add_splice(e, begin, end, buf_str(b));
	buf_release(b);
}

static struct json_style one_line(const struct json_style *s)
{
	return (struct json_style){ STR(""), s->indent, s->spaced };
}

void json_edit_replace(struct json_edit *e, const struct json *v, const struct json *with)
{
	bool lines = str_find_char(slice(e->text, v->begin, v->end), '\n') >= 0;
	struct json_style style = lines ? e->style : one_line(&e->style);
	struct buf b = BUF_INIT(e->text.n + (1 << 20));

	json_write_styled(&b, with, &style, line_indent(e->text, v->begin));
	add_built_splice(e, v->begin, v->end, &b);
}

/* Items one after the other, each behind `lead` (line end and indentation, or a blank). */
static void write_items(struct buf *b, const struct json *more, const struct json_style *s, str lead)
{
	str at = STR("");

	if (lead.n && lead.p[0] != ' ')
		at = str_from(lead, lead.p[0] == '\r' ? 2 : 1);
	json_each(item, more) {
		if (item != more->first)
			buf_add_char(b, ',');
		buf_add_str(b, lead);
		write_item(b, item, more->type == JSON_OBJECT, s, at);
	}
}

/* Comments inside stay; blanks do not. */
static void append_to_empty(struct json_edit *e, const struct json *to, const struct json *more)
{
	str inside = slice(e->text, to->begin + 1, to->end - 1), outer = line_indent(e->text, to->begin);
	struct json_style style = e->style;
	struct buf b = BUF_INIT(e->text.n + (1 << 20)), lead = BUF_INIT(e->text.n + 64);

	while (inside.n && is_blank(inside.p[inside.n - 1]))
		inside.n--;
	if (inside.n && !style.newline.n)
		style.newline = json_style_default.newline;
	if (style.newline.n) {
		buf_add_str(&lead, style.newline);
		buf_add_str(&lead, outer);
		buf_add_str(&lead, style.indent);
	}
	write_items(&b, more, &style, buf_str(&lead));
	if (style.newline.n) {
		buf_add_str(&b, style.newline);
		buf_add_str(&b, outer);
	}
	add_built_splice(e, to->begin + 1 + inside.n, to->end - 1, &b);
	buf_release(&lead);
}

/* Where the text after the last item goes: behind its comma, if there is one already, and behind a comment on the
 * same line, which belongs to that item. */
static size_t tail_place(str text, const struct json *last, bool *ret_comma, bool *ret_line_comment)
{
	size_t at = skip_gap(text, last->end), next;

	*ret_line_comment = false;
	*ret_comma = at < text.n && text.p[at] == ',';
	at = *ret_comma ? at + 1 : last->end;
	for (size_t scan = at;; scan = next) {
		while (scan < text.n && (text.p[scan] == ' ' || text.p[scan] == '\t'))
			scan++;
		next = skip_comment(text, scan);
		if (next == scan)
			return at;
		*ret_line_comment = text.p[scan + 1] == '/';
		at = next;
		/* A line comment of a file with CRLF ends before the CR. */
		if (*ret_line_comment && text.p[at - 1] == '\r')
			at--;
		if (*ret_line_comment)
			return at;
	}
}

void json_edit_append(struct json_edit *e, const struct json *to, const struct json *more)
{
	const struct json *last = NULL, *before = NULL;
	struct buf b = BUF_INIT(e->text.n + (8 << 20)), broken = BUF_INIT(e->text.n + 64);
	struct json_style style = e->style;
	bool comma, line_comment, lines;
	size_t at;
	str lead;

	json_each(item, to) {
		before = last;
		last = item;
	}
	if (!last) {
		append_to_empty(e, to, more);
		return;
	}
	at = tail_place(e->text, last, &comma, &line_comment);
	lines = own_line(e->text, before ? before->end : to->begin + 1, json_item_start(e->text, to, before), &lead);
	if (!lines && line_comment) {
		/* On the same line it would become part of the comment. */
		buf_add_str(&broken, style.newline.n ? style.newline : json_style_default.newline);
		buf_add_str(&broken, line_indent(e->text, last->begin));
		buf_add_str(&broken, style.indent);
		lead = buf_str(&broken);
	} else if (!lines) {
		style = one_line(&style);
		lead = style.spaced ? STR(" ") : STR("");
	}
	if (!comma)
		add_splice(e, last->end, last->end, STR(","));
	write_items(&b, more, &style, lead);
	add_built_splice(e, at, at, &b);
	buf_release(&broken);
}

size_t json_edit_remove(struct json_edit *e, const struct json *from, bool (*gone)(const struct json *item, void *ctx),
	void *ctx)
{
	const struct json *kept = NULL, *prev = NULL, *run = NULL;
	size_t count = 0, first = from->first ? json_item_start(e->text, from, NULL) : 0;

	/* A run of items goes with the comma before it; at the front, with the comma after it. */
	json_each(item, from) {
		if (gone(item, ctx)) {
			run = item;
			count++;
		} else {
			if (run && kept)
				add_splice(e, kept->end, run->end, STR(""));
			else if (run)
				add_splice(e, first, json_item_start(e->text, from, prev), STR(""));
			run = NULL;
			kept = item;
		}
		prev = item;
	}
	if (run && kept)
		add_splice(e, kept->end, run->end, STR(""));
	else if (run)
		add_splice(e, from->begin + 1, from->end - 1, STR(""));
	return count;
}

static int compare_splices(const void *a, const void *b)
{
	const struct json_splice *x = *(const struct json_splice *const *)a, *y = *(const struct json_splice *const *)b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

int json_edit_apply(const struct json_edit *e, struct buf *b)
{
	const struct json_splice **sorted = arena_alloc(e->a, (e->count + 1) * sizeof *sorted);
	size_t n = 0, at = 0;

	for (const struct json_splice *s = e->splices; s; s = s->next)
		sorted[n++] = s;
	qsort(sorted, n, sizeof *sorted, compare_splices);
	for (size_t i = 0; i < n; i++) {
		assert(sorted[i]->begin >= at && sorted[i]->end >= sorted[i]->begin);
		buf_add_str(b, slice(e->text, at, sorted[i]->begin));
		buf_add_str(b, sorted[i]->with);
		at = sorted[i]->end;
	}
	buf_add_str(b, slice(e->text, at, e->text.n));
	return b->full || e->full ? -E2BIG : 0;
}
