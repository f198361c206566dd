/* param: $name, ${name…} and arithmetic, with what is known. */
#include "guard/internal.h"

/* -- arithmetic: sums of constants; anything else is not known -------------------------------- */

struct sum {
	struct run *x;
	str s;
	size_t i;
	bool known;
	unsigned depth;
};

static int64_t sum_of(struct sum *m);

static void skip_blanks(struct sum *m)
{
	while (m->i < m->s.n && strchr(" \t\n", m->s.p[m->i]))
		m->i++;
}

static int64_t atom(struct sum *m)
{
	int64_t n = 0;
	size_t from;

	skip_blanks(m);
	if (m->i < m->s.n && m->s.p[m->i] == '(' && m->depth < DEPTH_MAX) {
		m->i++;
		m->depth++;
		n = sum_of(m);
		m->depth--;
		skip_blanks(m);
		m->known &= m->i < m->s.n && m->s.p[m->i] == ')';
		m->i++;
		return n;
	}
	from = m->i;
	while (m->i < m->s.n && m->s.p[m->i] >= '0' && m->s.p[m->i] <= '9')
		m->i++;
	m->known &= m->i > from && m->i - from < 10 && str_to_int(str_n(m->s.p + from, m->i - from), &n);
	return n;
}

static int64_t product(struct sum *m)
{
	int64_t n = atom(m), k;

	for (;;) {
		skip_blanks(m);
		if (m->i >= m->s.n || !strchr("*/%", m->s.p[m->i]) || !m->known)
			return n;
		switch (m->s.p[m->i++]) {
		case '*':
			k = atom(m);
			m->known &= !__builtin_mul_overflow(n, k, &n);
			break;
		case '/':
			k = atom(m);
			n = k > 0 ? n / k : (m->known = false, 0);
			break;
		default: k = atom(m); n = k > 0 ? n % k : (m->known = false, 0);
		}
	}
}

static int64_t sum_of(struct sum *m)
{
	int64_t n = 0;
	int sign = 1;

	skip_blanks(m);
	if (m->i < m->s.n && m->s.p[m->i] == '-') {
		m->i++;
		sign = -1;
	}
	n = sign * product(m);
	for (;;) {
		skip_blanks(m);
		if (m->i >= m->s.n || !m->known || (m->s.p[m->i] != '+' && m->s.p[m->i] != '-'))
			return n;
		sign = m->s.p[m->i++] == '+' ? 1 : -1;
		m->known &= !__builtin_add_overflow(n, sign * product(m), &n);
	}
}

int64_t arith_value(struct run *x, str text, bool *ret_known)
{
	struct sum m = { .x = x, .s = str_trim(text), .known = true };
	str value = var_get(x, m.s);
	int64_t n;

	if (m.s.n && str_is_set(value) && !has_mark(value, MARKS_ANY))
		m.s = value;
	run_computed(x, m.s);
	n = sum_of(&m);
	skip_blanks(&m);
	*ret_known = m.known && m.i == m.s.n && m.s.n;
	return n;
}

/* -- operators -------------------------------------------------------------------------------- */

static str substring(struct run *x, str value, str spec)
{
	ptrdiff_t colon = str_find_char(spec, ':');
	bool known_from, known_len = true;
	int64_t from = arith_value(x, colon < 0 ? spec : str_head(spec, (size_t)colon), &known_from), len = INT64_MAX;

	if (colon >= 0)
		len = arith_value(x, str_from(spec, (size_t)colon + 1), &known_len);
	if (!known_from || !known_len || has_mark(value, MARKS_HOLE))
		return STR("\1");
	if (from < 0)
		from += (int64_t)value.n;
	if (from < 0 || from > (int64_t)value.n)
		return STR("");
	value = str_from(value, (size_t)from);
	if (len < 0)
		len = MAX((int64_t)value.n + len, 0);
	return str_head(value, (size_t)MIN(len, (int64_t)value.n));
}

static str strip(struct run *x, str value, str op, str pattern)
{
	bool front = op.n && op.p[0] == '#', longest = op.n == 2;
	size_t best = SIZE_MAX;

	if (has_mark(value, MARKS_HOLE) && has_mark(pattern, MARKS_HOLE))
		return STR("\1");
	for (size_t k = 0; k <= value.n; k++) {
		str piece = front ? str_head(value, k) : str_from(value, value.n - k);

		if (!spend(x, 1 + (unsigned)(piece.n / 4)))
			return STR("\1");
		if (!glob_match(pattern, piece))
			continue;
		best = k;
		if (!longest)
			break;
	}
	if (best == SIZE_MAX)
		return value;
	return front ? str_from(value, best) : str_head(value, value.n - best);
}

static str replace(struct run *x, str value, str op, str pattern, str with)
{
	struct text t = { .a = x->a };
	bool all = str_eq(op, STR("//")), front = str_eq(op, STR("/#")), back = str_eq(op, STR("/%")), done = false;

	if (!pattern.n)
		return value;
	for (size_t i = 0; i <= value.n;) {
		size_t hit = SIZE_MAX;

		for (size_t k = value.n; !done && k + 1 > i + 1; k--) {
			if (!spend(x, 1 + (unsigned)((k - i) / 4)))
				return STR("\1");
			if ((!back || k == value.n) && glob_match(pattern, str_n(value.p + i, k - i))) {
				hit = k;
				break;
			}
		}
		if (front && i > 0)
			hit = SIZE_MAX;
		if (hit != SIZE_MAX) {
			text_add(&t, with);
			i = hit;
			done = !all;
			continue;
		}
		if (i < value.n)
			text_char(&t, value.p[i]);
		i++;
	}
	return text_str(&t);
}

static str change_case(struct run *x, str value, str op)
{
	bool up = op.n && op.p[0] == '^', all = op.n == 2;
	char *p = arena_bytes(x->a, value.n + 1);

	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];

		if (i == 0 || all) {
			if (up && c >= 'a' && c <= 'z')
				c = (char)(c - 32);
			else if (!up && c >= 'A' && c <= 'Z')
				c = (char)(c + 32);
		}
		p[i] = c;
	}
	return str_n(p, value.n);
}

/* -- parameters ------------------------------------------------------------------------------- */

static str positional(struct run *x, str name, bool *ret_found)
{
	int64_t n;

	*ret_found = true;
	if (str_eq(name, STR("0")))
		return x->st.arg0;
	if (str_eq(name, STR("#")))
		return arena_strf(x->a, "%zu", x->st.args.n);
	if (str_eq(name, STR("_")))
		return x->last_arg;
	if (str_in(name, "$ !"))
		return STR("\1");
	if (str_to_int(name, &n) && n > 0)
		return (size_t)n <= x->st.args.n ? x->st.args.v[n - 1] : x->st.args_given ? STR("") : STR("\1");
	*ret_found = false;
	return STR_NONE;
}

static const struct fields *list_of(struct run *x, const struct shell_part *p, bool *ret_at)
{
	const struct fact *f;
	str index;

	if (str_in(p->name, "@ *")) {
		static str one = { "\1", 1 };
		static const struct fields any = { .v = &one, .n = 1, .cap = 1 };

		*ret_at = p->name.p[0] == '@';
		return x->st.args.n || x->st.args_given ? &x->st.args : &any;
	}
	if (!p->index && !x->zsh)
		return NULL;
	index = p->index ? expand_one(x, p->index) : STR("@"); /* zsh: $x is all of it */
	f = fact_find(x, x->st.facts, FACT_ARRAY, p->name);
	if (!f || !str_in(index, "@ *"))
		return NULL;
	*ret_at = index.p[0] == '@';
	return f->items;
}

static str value_of(struct run *x, const struct shell_part *p)
{
	const struct fact *f;
	bool found;
	int64_t i;
	str v = positional(x, p->name, &found);

	if (found)
		return v;
	if (p->index && (f = fact_find(x, x->st.facts, FACT_ARRAY, p->name)) != NULL) {
		str key = expand_one(x, p->index);

		/* Of an associative array the items are still "[key]=value". */
		for (size_t k = f->items->n; k > 0; k--) {
			str item = f->items->v[k - 1];

			if (item.n > key.n + 2 && item.p[0] == '[' && str_starts(str_from(item, 1), key) &&
				item.p[key.n + 1] == ']' && item.p[key.n + 2] == '=')
				return str_from(item, key.n + 3);
		}
		i = arith_value(x, key, &found);
		if (!found)
			return STR("\1");
		return i >= 0 && (size_t)i < f->items->n ? f->items->v[i] : STR("");
	}
	v = var_get(x, p->name);
	if (p->indirect && str_is_set(v))
		v = var_get(x, v);
	return v;
}

static str with_op(struct run *x, const struct shell_part *p, str v)
{
	bool set = str_is_set(v) && !(p->colon && !v.n);
	str arg;

	switch (p->op) {
	case SHELL_OP_DEFAULT:
	case SHELL_OP_ASSIGN:
		arg = expand_one(x, p->arg);
		if (set && !str_eq(v, STR("\1")))
			return v;
		if (p->op == SHELL_OP_ASSIGN)
			var_set(x, p->name, arg);
		return arg;
	case SHELL_OP_ERROR: /* ends the shell when there is nothing, so there is something */
		(void)expand_one(x, p->arg);
		return str_is_set(v) ? v : STR("\1");
	case SHELL_OP_OTHER: arg = expand_one(x, p->arg); return str_is_set(v) && !set ? STR("") : arg;
	case SHELL_OP_PREFIX: return STR("\1");
	default: break;
	}
	if (!str_is_set(v))
		v = STR("\1");
	switch (p->op) {
	case SHELL_OP_LENGTH: return has_mark(v, MARKS_HOLE) ? STR("\1") : arena_strf(x->a, "%zu", v.n);
	case SHELL_OP_SUBSTRING: return substring(x, v, expand_one(x, p->arg));
	case SHELL_OP_STRIP: return strip(x, v, p->text, expand_pattern(x, p->arg));
	case SHELL_OP_REPLACE:
		return replace(x, v, p->text, expand_pattern(x, p->arg), p->arg2 ? expand_one(x, p->arg2) : STR(""));
	case SHELL_OP_CASE: return change_case(x, v, p->text);
	case SHELL_OP_AT:
		if (str_in(p->text, "U u"))
			return change_case(x, v, str_eq(p->text, STR("U")) ? STR("^^") : STR("^"));
		if (str_eq(p->text, STR("P")))
			run_again(x, v);
		if (str_eq(p->text, STR("L")))
			return change_case(x, v, STR(",,"));
		return str_eq(p->text, STR("E")) ? decode_backslashes(x->a, v, false) : v;
	default: return v;
	}
}

/* ${@:2}, ${name[@]:1:2} */
static void slice(struct run *x, const struct shell_part *p, const struct fields *all, struct fields *ret)
{
	str spec = expand_one(x, p->arg);
	ptrdiff_t colon = str_find_char(spec, ':');
	bool a, b = true;
	int64_t from = arith_value(x, colon < 0 ? spec : str_head(spec, (size_t)colon), &a), len = INT64_MAX;
	bool args = str_in(p->name, "@ *");

	if (colon >= 0)
		len = arith_value(x, str_from(spec, (size_t)colon + 1), &b);
	if (!a || !b || from < 0) {
		fields_add(x->a, ret, STR("\1"));
		return;
	}
	if (args && from == 0 && len-- > 0)
		fields_add(x->a, ret, x->st.arg0);
	for (size_t i = (size_t)(args && from > 0 ? from - 1 : from); i < all->n && len-- > 0; i++)
		fields_add(x->a, ret, all->v[i]);
}

/* "[key]=value" of an associative array. */
static str without_key(str item)
{
	ptrdiff_t at = item.n && item.p[0] == '[' ? str_find(item, STR("]=")) : -1;

	return at > 0 ? str_from(item, (size_t)at + 2) : item;
}

str expand_param(struct run *x, const struct shell_part *p, bool *ret_list, struct fields *ret_items)
{
	bool at = false;
	const struct fields *all = list_of(x, p, &at);

	if (!all)
		goto one;
	if (p->op == SHELL_OP_LENGTH)
		return arena_strf(x->a, "%zu", all->n);
	if (p->op == SHELL_OP_SUBSTRING)
		slice(x, p, all, ret_items);
	else if (p->op == SHELL_OP_DEFAULT && !all->n)
		fields_add(x->a, ret_items, expand_one(x, p->arg));
	else if (p->op == SHELL_OP_OTHER)
		fields_add(x->a, ret_items, all->n ? expand_one(x, p->arg) : STR(""));
	else
		for (size_t i = 0; i < all->n; i++)
			fields_add(x->a, ret_items,
				p->op == SHELL_OP_NONE ? without_key(all->v[i])
						       : with_op(x, p, without_key(all->v[i])));
	if (!at && p->quoted) {
		str ifs = var_get(x, STR("IFS"));

		return fields_join(x->a, ret_items->v, ret_items->n, ifs.n ? ifs.p[0] : ' ');
	}
	*ret_list = true;
	return STR("");
one:;
	str v = value_of(x, p);

	if (p->op != SHELL_OP_NONE)
		return with_op(x, p, v);
	return str_is_set(v) ? v : STR("\1");
}
