/* expand: words become fields, as far as constants go. */
#include "guard/internal.h"

enum { BRACE_MAX = 1024, RANGE_MAX = 64 };

struct making {
	struct run *x;
	struct text cur;
	struct fields *out; /* NULL: one field, not split, patterns not live */
	bool have;
	bool escape; /* quoted pattern characters get a backslash */
};

static void end_field(struct making *m)
{
	if (m->have && m->out)
		fields_add(m->x->a, m->out, text_str(&m->cur));
	if (m->out)
		m->cur = (struct text){ .a = m->x->a };
	m->have = false;
}

/* !(a|b), @(a|b) and the like begin at i: where they end, or 0. */
static size_t extended_end(str s, size_t i)
{
	size_t depth = 0;

	if (!strchr("!@+?*", s.p[i]) || i + 1 >= s.n || s.p[i + 1] != '(')
		return 0;
	for (size_t k = i + 1; k < s.n; k++) {
		depth += s.p[k] == '(';
		if (s.p[k] == ')' && --depth == 0)
			return k;
	}
	return 0;
}

static void add_live(struct making *m, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		size_t extended = extended_end(s, i);

		if (extended) {
			text_char(&m->cur, MARK_STAR);
			i = extended;
		} else if (c == '*' || c == '?') {
			text_char(&m->cur, c == '*' ? MARK_STAR : MARK_ANY);
		} else if (c == '[') {
			ptrdiff_t end = str_find_char(str_from(s, i + 1), ']');

			if (end == 1) {
				text_char(&m->cur, s.p[i + 1]);
				i += 2;
			} else if (end > 1 && str_find_char(str_n(s.p + i + 1, (size_t)end), '/') < 0) {
				text_char(&m->cur, MARK_ANY);
				i += (size_t)end + 1;
			} else {
				text_char(&m->cur, c);
			}
		} else {
			text_char(&m->cur, c);
		}
	}
	m->have |= s.n > 0;
}

/* Text that is part of the word itself. */
static void add_text(struct making *m, str s, bool quoted)
{
	if (quoted && m->escape) {
		for (size_t i = 0; i < s.n; i++) {
			if (strchr("*?[]\\", s.p[i]) && s.p[i])
				text_char(&m->cur, '\\');
			text_char(&m->cur, s.p[i]);
		}
	} else if (quoted || !m->out) {
		text_add(&m->cur, s);
	} else {
		add_live(m, s);
	}
	m->have |= quoted || s.n > 0;
}

/* What an expansion gave: split and live unless quoted. */
static void add_value(struct making *m, str s, bool quoted)
{
	str ifs, piece;
	size_t i = 0;
	bool blank;

	if (quoted || !m->out) {
		add_text(m, s, quoted);
		return;
	}
	ifs = var_get(m->x, STR("IFS"));
	if (!str_is_set(ifs) || !ifs.n || has_mark(ifs, MARKS_HOLE)) {
		add_live(m, s);
		return;
	}
	while (i < s.n) {
		size_t from = i;

		while (i < s.n && str_find_char(ifs, s.p[i]) < 0)
			i++;
		piece = str_n(s.p + from, i - from);
		add_live(m, piece);
		if (i >= s.n)
			break;
		blank = s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\n';
		if (!blank && !m->have)
			m->have = true;
		end_field(m);
		i++;
		while (i < s.n && blank && str_find_char(ifs, s.p[i]) >= 0 && strchr(" \t\n", s.p[i]))
			i++;
	}
}

static void add_param(struct making *m, const struct shell_part *p)
{
	struct fields items = { 0 };
	bool list = false;
	str value = expand_param(m->x, p, &list, &items);

	if (!list) {
		add_value(m, value, p->quoted);
		return;
	}
	for (size_t i = 0; i < items.n; i++) {
		if (i && m->out)
			end_field(m);
		else if (i)
			text_char(&m->cur, ' ');
		add_value(m, items.v[i], p->quoted);
		if (p->quoted)
			m->have = true;
	}
}

/* A process substitution is a file that holds what the command prints, or that feeds one. */
static str process_path(struct run *x, const struct shell_part *p)
{
	str path = arena_strf(x->a, "/dev/fd/6%u", 3 + x->processes++);

	if (str_eq(p->text, STR(">"))) {
		struct fact *f = arena_new(x->a, struct fact);

		*f = (struct fact){ .next = x->fs, .kind = FACT_SINK, .key = path, .body = p->body };
		x->fs = f;
	} else {
		struct state saved = x->st;
		str in = x->in;

		fs_note(x, FACT_FILE, path, run_node(x, p->body));
		x->st = saved;
		x->in = in;
	}
	return path;
}

static str substituted(struct run *x, const struct shell_part *p)
{
	struct state saved = x->st;
	str out = run_node(x, p->body);

	x->st = saved;
	while (out.n && out.p[out.n - 1] == '\n')
		out.n--;
	return out;
}

static str tilde(struct run *x, str user)
{
	if (!user.n || str_eq(user, str_base(x->c->home)))
		return x->c->home;
	if (str_eq(user, STR("+")))
		return x->st.cwd;
	if (str_eq(user, STR("root")))
		return STR("/root");
	if (str_eq(user, STR("-")))
		return STR("\1");
	return arena_strf(x->a, "/home/" STR_FMT, STR_ARG(user));
}

static str arithmetic(struct run *x, const struct shell_part *p)
{
	str text = p->arg ? expand_one(x, p->arg) : p->text;
	bool known;
	int64_t n = arith_value(x, text, &known);

	return known ? arena_strf(x->a, "%lld", (long long)n) : STR("\1");
}

static void add_parts(struct making *m, const struct shell_part *p)
{
	for (; p; p = p->next) {
		if (!spend(m->x, 1))
			return;
		switch (p->kind) {
		case SHELL_TEXT: add_text(m, p->text, p->quoted); break;
		case SHELL_PARAM: add_param(m, p); break;
		case SHELL_COMMAND: add_value(m, substituted(m->x, p), p->quoted); break;
		case SHELL_PROCESS: add_text(m, process_path(m->x, p), true); break;
		case SHELL_ARITH: add_value(m, arithmetic(m->x, p), p->quoted); break;
		case SHELL_TILDE: add_text(m, tilde(m->x, p->text), true); break;
		case SHELL_ARRAY:
			add_text(m, STR("("), true);
			for (const struct shell_word *w = p->items; w; w = w->next) {
				add_text(m, expand_one(m->x, w), true);
				if (w->next)
					add_text(m, STR("\x1f"), true); /* builtins.c takes it apart */
			}
			add_text(m, STR(")"), true);
			break;
		case SHELL_BRACE: /* taken apart before */ add_text(m, STR("\1"), true); break;
		}
	}
}

/* -- braces ----------------------------------------------------------------------------------- */

struct partlist {
	struct partlist *next;
	struct shell_part *first, *last;
};

static void partlist_add(struct arena *a, struct partlist *l, const struct shell_part *p)
{
	struct shell_part *copy = arena_new(a, struct shell_part);

	*copy = *p;
	copy->next = NULL;
	if (l->last)
		l->last->next = copy;
	else
		l->first = copy;
	l->last = copy;
}

static struct shell_word *range_words(struct run *x, str text)
{
	struct shell_word *first = NULL, **tail = &first;
	int64_t lo, hi, step = 1;
	bool letters = false;
	str rest = text, piece[3] = { STR_NONE, STR_NONE, STR_NONE };
	ptrdiff_t at;

	for (int i = 0; i < 3 && rest.n; i++) {
		at = str_find(rest, STR(".."));
		piece[i] = at < 0 ? rest : str_head(rest, (size_t)at);
		rest = at < 0 ? STR_NONE : str_from(rest, (size_t)at + 2);
	}
	if (!str_to_int(piece[0], &lo) || !str_to_int(piece[1], &hi)) {
		if (piece[0].n != 1 || piece[1].n != 1)
			return NULL;
		letters = true;
		lo = piece[0].p[0];
		hi = piece[1].p[0];
	}
	if (piece[2].n && (!str_to_int(piece[2], &step) || !step))
		return NULL;
	step = step < 0 ? -step : step;
	for (int64_t i = lo, k = 0; (lo <= hi ? i <= hi : i >= hi) && k <= RANGE_MAX;
		i += lo <= hi ? step : -step, k++) {
		struct shell_word *w = arena_new(x->a, struct shell_word);
		char c = (char)i;

		w->parts = arena_new(x->a, struct shell_part);
		w->parts->kind = SHELL_TEXT;
		w->parts->text = letters ? arena_str(x->a, str_n(&c, 1)) : arena_strf(x->a, "%lld", (long long)i);
		/* One more represents all the numbers after the first ones. */
		if (k == RANGE_MAX)
			w->parts->text = STR("\1");
		*tail = w;
		tail = &w->next;
	}
	return first;
}

/* All part lists that the braces of a word stand for, in order. */
static struct partlist *unbrace(struct run *x, const struct shell_part *p, unsigned *count, unsigned depth)
{
	struct partlist *all = arena_new(x->a, struct partlist);

	for (; p; p = p->next) {
		struct partlist *next = NULL, **tail = &next;
		const struct shell_word *items;

		items = p->kind == SHELL_BRACE ? (p->items ? p->items : range_words(x, p->text)) : NULL;
		if (items && (depth > DEPTH_MAX || *count > BRACE_MAX)) {
			reach_cap(x, "words made by braces");
			return all;
		}
		if (!items) {
			for (struct partlist *l = all; l; l = l->next)
				partlist_add(x->a, l, p);
			continue;
		}
		for (const struct partlist *l = all; l; l = l->next)
			for (const struct shell_word *w = items; w; w = w->next)
				for (const struct partlist *in = unbrace(x, w->parts, count, depth + 1); in;
					in = in->next) {
					struct partlist *made = arena_new(x->a, struct partlist);

					for (const struct shell_part *q = l->first; q; q = q->next)
						partlist_add(x->a, made, q);
					for (const struct shell_part *q = in->first; q; q = q->next)
						partlist_add(x->a, made, q);
					*tail = made;
					tail = &made->next;
					(*count)++;
					if (*count > BRACE_MAX)
						reach_cap(x, "words made by braces");
					if (!spend(x, 4) || *count > BRACE_MAX)
						return next;
				}
		all = next;
	}
	return all;
}

static bool has_brace(const struct shell_part *p)
{
	for (; p; p = p->next)
		if (p->kind == SHELL_BRACE)
			return true;
	return false;
}

/* -- words ------------------------------------------------------------------------------------ */

static void expand_parts(struct run *x, const struct shell_part *parts, bool was_quoted, struct fields *out)
{
	struct making m = { .x = x, .cur = { .a = x->a }, .out = out };

	add_parts(&m, parts);
	m.have |= was_quoted && !out->n;
	end_field(&m);
}

void expand_words(struct run *x, const struct shell_word *w, struct fields *out)
{
	for (size_t index = 0; w; w = w->next, index++) {
		struct fields got = { 0 };
		unsigned count = 0;

		if (!spend(x, 1))
			return;
		if (!has_brace(w->parts))
			expand_parts(x, w->parts, w->was_quoted, &got);
		else
			for (const struct partlist *l = unbrace(x, w->parts, &count, 0); l; l = l->next)
				expand_parts(x, l->first, false, &got);
		if (x->watcher)
			watch_word(x, w, &got, index);
		for (size_t i = 0; i < got.n; i++) {
			(void)spend(x, (unsigned)(got.v[i].n / TEXT_PER_STEP));
			fields_add(x->a, out, got.v[i]);
		}
	}
}

str expand_one(struct run *x, const struct shell_word *w)
{
	struct making m = { .x = x, .cur = { .a = x->a } };

	if (w)
		add_parts(&m, w->parts);
	(void)spend(x, (unsigned)(m.cur.n / TEXT_PER_STEP));
	return text_str(&m.cur);
}

str expand_pattern(struct run *x, const struct shell_word *w)
{
	struct making m = { .x = x, .cur = { .a = x->a }, .escape = true };

	if (w)
		add_parts(&m, w->parts);
	return text_str(&m.cur);
}
