/* The text of a project's command with the copies of its files in their place: see resolve.c for what it runs. */
#include <stdlib.h>
#include <sys/stat.h>

#include "hooks/pin.h"

static void refuse(struct pin *p, str why)
{
	pin_refuse(p, STR_NONE, why);
}

void hook_each_file(const struct hook *h, const struct hook_tree *t, struct arena *a, const struct hook_taker *taker)
{
	struct pin *p;
	str found[PIN_GLOB_MAX];

	if (h->type != HOOK_COMMAND)
		return;
	p = pin_resolve(h, t, taker, a);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct guard_word *w = &p->words[i].w;

		for (size_t j = 0; pin_is_outer(&p->words[i]) && j < w->n; j++) {
			ptrdiff_t eq = str_find_char(w->fields[j], '=');

			if (!guard_is_known(w->fields[j]))
				continue;
			pin_offer(p, pin_in_tree(p, w->fields[j], w->cwd));
			if (eq > 0)
				pin_offer(p, pin_in_tree(p, str_from(w->fields[j], (size_t)eq + 1), w->cwd));
		}
		if (pin_is_outer(&p->words[i]) && !h->exec_form && w->index == 0 && w->n == 1 &&
			guard_has_pattern(w->fields[0]))
			for (size_t k = 0, n = pin_glob(p, w, arena_cstr(a, t->root), found); k < n; k++)
				pin_offer(p, hook_relative(found[k], t->root, a));
	}
}

/* Wherever a user's hook runs, its scripts are named by absolute paths. */
void hook_each_script(const struct hook *h, str home, struct arena *a, void (*fn)(str path, void *arg), void *arg)
{
	struct hook_tree t = { .root = STR("/"), .home = home };
	struct pin *p;

	if (h->type != HOOK_COMMAND)
		return;
	p = pin_resolve(h, &t, NULL, a);
	for (uint32_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->words[i].w.n; j++) {
			str field = p->words[i].w.fields[j], path;

			if (!guard_is_known(field) || str_find_char(field, '/') < 0)
				continue;
			path = pin_absolute(p, field, p->words[i].w.cwd);
			if (str_is_set(path) && !pin_is_systems(path))
				fn(path, arg);
		}
}

/* -- the text that runs ------------------------------------------------------------------------ */

/* The name of the file of which the copy stands in the place of the field, or STR_NONE: it stays. */
static str pinned_name(struct pin *p, const struct guard_word *w, str field)
{
	str name;

	if (!guard_is_known(field))
		return STR_NONE;
	name = pin_in_tree(p, field, w->cwd);
	/* A program that is not there yet means the copy, too, which will not be there either. */
	return str_is_set(name) &&
			(p->tree->exists(name, p->tree->arg) ||
				(w->index == 0 && str_find_char(field, '/') >= 0 && pin_type(p, name) != S_IFDIR))
		? name
		: STR_NONE;
}

/* --config=FILE with the copy of the file, or STR_NONE. */
static str pinned_value(struct pin *p, const struct guard_word *w, str field)
{
	ptrdiff_t eq = str_find_char(field, '=');
	str name;

	if (eq <= 0 || !guard_is_known(field) ||
		!str_is_set(name = pin_in_tree(p, str_from(field, (size_t)eq + 1), w->cwd)) ||
		!p->tree->exists(name, p->tree->arg))
		return STR_NONE;
	return arena_strf(p->a, STR_FMT STR_FMT "/" STR_FMT, STR_ARG(str_head(field, (size_t)eq + 1)),
		STR_ARG(p->tree->copies), STR_ARG(name));
}

/* Appends what stands for the word; false: the word itself. */
static bool add_pinned(struct pin *p, const struct guard_word *w, struct buf *b)
{
	bool changed = false;
	str found[PIN_GLOB_MAX];
	size_t start = b->len, n;

	if (w->index == 0 && w->n == 1 && guard_has_pattern(w->fields[0])) {
		n = pin_glob(p, w, arena_cstr(p->a, p->tree->copies), found);
		if (!n)
			refuse(p, STR("the pattern in the place of its program fits no file of the project"));
		for (size_t i = 0; i < n; i++) {
			buf_add_str(b, i ? STR(" ") : STR(""));
			buf_add_str(b, pin_words(p, found[i], p->tree->copies, i == 0));
		}
		return n > 0;
	}
	for (size_t i = 0; i < w->n; i++) {
		str name = pinned_name(p, w, w->fields[i]), value = pinned_value(p, w, w->fields[i]);

		changed |= str_is_set(name) || str_is_set(value);
		buf_add_str(b, i ? STR(" ") : STR(""));
		if (str_is_set(name))
			buf_add_str(b, pin_words(p, name, p->tree->copies, w->index == 0 && i == 0));
		else
			pin_quote(b, str_is_set(value) ? value : w->fields[i]);
		if (!guard_is_known(w->fields[i]) && changed)
			refuse(p, STR("a word of it is a file of the project and something else"));
	}
	if (!changed)
		b->len = start;
	return changed;
}

const char *const *hook_pin_words(const struct hook *h, const struct hook_tree *t, struct arena *a)
{
	_cleanup_(arena_release) struct arena once = { 0 };
	const char **out = arena_alloc(a, (h->nargs + 4) * sizeof *out);
	struct pin *p = arena_new(&once, struct pin);
	size_t n = 0;

	*p = (struct pin){ .a = &once, .tree = t };
	for (size_t i = 0; i <= h->nargs; i++) {
		str word = hook_expand_root(i ? h->args[i - 1] : h->command, t->root, a), options = STR("");
		const struct guard_word w = { .index = i, .cwd = t->root };
		str name = pinned_name(p, &w, word), value = pinned_value(p, &w, word), interpreter;

		if (i == 0 && str_is_set(name) && str_is_set(interpreter = pin_interpreter(p, name, &options))) {
			out[n++] = arena_strf(a, STR_FMT "/" STR_FMT, STR_ARG(t->copies), STR_ARG(interpreter)).p;
			if (options.n)
				out[n++] = arena_cstr(a, options);
		}
		if (str_is_set(name))
			value = arena_strf(a, STR_FMT "/" STR_FMT, STR_ARG(t->copies), STR_ARG(name));
		out[n++] = arena_cstr(a, str_is_set(value) ? value : word);
	}
	out[n] = NULL;
	return out;
}

static int by_begin(const void *x, const void *y)
{
	const struct seen_word *v = x, *w = y;

	return (v->w.begin > w->w.begin) - (v->w.begin < w->w.begin);
}

str hook_pin_text(const struct hook *h, const struct hook_tree *t, struct arena *a, str *ret_why)
{
	struct pin *p = pin_resolve(h, t, NULL, a);
	struct buf b = BUF_INIT(1 << 20);
	bool changed = false;
	uint32_t at = 0;
	str text;

	if (p->n && !h->exec_form)
		qsort(p->words, p->n, sizeof p->words[0], by_begin);
	for (uint32_t i = 0; i < p->n && !h->exec_form; i++) {
		const struct guard_word *w = &p->words[i].w;
		size_t start = b.len;

		if (!pin_is_outer(&p->words[i]) || w->end > p->text.n || w->begin > w->end)
			continue;
		if (w->begin < at) {
			if (pin_touches_tree(p, w))
				refuse(p, STR("it names a file of the project inside another word"));
			continue;
		}
		buf_add_str(&b, str_n(p->text.p + at, w->begin - at));
		if (add_pinned(p, w, &b)) {
			at = w->end;
			changed = true;
		} else {
			b.len = start;
		}
	}
	if (changed && str_find_char(p->text, '`') >= 0)
		refuse(p, STR("it has a file of the project and backquotes; write $(…)"));
	buf_add_str(&b, str_from(p->text, at));
	text = changed && !b.full ? arena_str(a, buf_str(&b)) : STR_NONE;
	buf_release(&b);
	*ret_why = p->why;
	return text;
}
