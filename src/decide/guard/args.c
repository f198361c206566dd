/* args: the arguments of a resolved command as options and operands. */
#include "guard/internal.h"

/* A long option at it->i; its value is the next word when the table says so. */
static void take_long(struct args *it, str word, size_t dashes, struct arg *ret)
{
	str name = str_from(word, dashes);
	ptrdiff_t eq = str_find_char(name, '=');

	if (eq >= 0) {
		ret->value = str_from(name, (size_t)eq + 1);
		name = str_head(name, (size_t)eq);
	} else if (it->longs && str_in(name, it->longs) && it->i + 1 < it->c->n) {
		ret->value = it->c->v[++it->i];
	}
	ret->name = name;
	it->i++;
}

static void take_short(struct args *it, str word, struct arg *ret)
{
	size_t at = it->in_bundle ? it->in_bundle : 1;

	ret->letter = word.p[at];
	it->in_bundle = 0;
	if (it->shorts && ret->letter && strchr(it->shorts, ret->letter)) {
		if (at + 1 < word.n)
			ret->value = str_from(word, at + 1);
		else if (it->i + 1 < it->c->n)
			ret->value = it->c->v[++it->i];
		it->i++;
	} else if (at + 1 < word.n) {
		it->in_bundle = at + 1;
	} else {
		it->i++;
	}
}

bool args_next(struct args *it, struct arg *ret)
{
	str word;

	*ret = (struct arg){ 0 }; /* who leaves a loop at its end looks at it too */
	if (it->i == 0)
		it->i = 1;
	for (;;) {
		if (it->i >= it->c->n)
			return false;
		word = it->c->v[it->i];
		if (it->no_more || it->in_bundle || !str_eq(word, STR("--")))
			break;
		it->no_more = true;
		it->i++;
	}
	*ret = (struct arg){ .at = it->i };
	if (!it->in_bundle && (it->no_more || word.n < 2 || word.p[0] != '-')) {
		ret->operand = true;
		ret->value = word;
		it->i++;
		if (it->posix)
			it->no_more = true;
	} else if (!it->in_bundle && word.p[1] == '-') {
		take_long(it, word, 2, ret);
	} else if (!it->in_bundle && it->single && word.n > 2) {
		take_long(it, word, 1, ret);
	} else {
		take_short(it, word, ret);
	}
	return true;
}

bool arg_is(const struct arg *a, char letter, const char *longs)
{
	if (a->operand)
		return false;
	if (a->letter)
		return a->letter == letter;
	while (longs && *longs) {
		size_t n = strcspn(longs, " ");

		if (a->name.n >= 3 && a->name.n <= n && memcmp(longs, a->name.p, a->name.n) == 0)
			return true;
		if (a->name.n == n && memcmp(longs, a->name.p, n) == 0)
			return true;
		longs += n + (longs[n] == ' ');
	}
	return false;
}

bool cmd_has(const struct cmd *c, const char *option)
{
	bool is_long = option[0] == '-' && option[1] == '-';
	str want = str_of(option);

	for (size_t i = 1; i < c->n; i++) {
		str word = c->v[i];
		ptrdiff_t eq;

		if (word.n < 2 || word.p[0] != '-')
			continue;
		if (str_eq(word, STR("--")))
			return false;
		eq = str_find_char(word, '=');
		if (eq > 0)
			word = str_head(word, (size_t)eq);
		if (str_eq(word, want))
			return true;
		if (is_long && word.n >= 5 && word.p[1] == '-' && word.n < want.n && str_starts(want, word))
			return true;
		if (!is_long && want.n == 2 && word.p[1] != '-' && str_find_char(str_from(word, 1), want.p[1]) >= 0)
			return true;
	}
	return false;
}

str cmd_value(const struct cmd *c, const char *shorts, char letter, const char *name)
{
	struct args it = { .c = c, .shorts = shorts, .longs = name };
	struct arg a;

	while (args_next(&it, &a))
		if (arg_is(&a, letter, name))
			return a.value;
	return STR_NONE;
}
