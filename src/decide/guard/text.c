/* text: resolved words, and the marks in them that stand for what is not known. */
#include "guard/internal.h"

static void grow(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : 64;
	char *p;

	if (t->n + more <= t->cap)
		return;
	while (cap < t->n + more)
		cap *= 2;
	p = arena_bytes(t->a, cap);
	if (t->n)
		memcpy(p, t->p, t->n);
	t->p = p;
	t->cap = cap;
}

/* Texts are made everywhere, and know nothing of the run that they belong to; a thread has one run at a time. */
static __thread bool cut;

bool text_was_cut(void)
{
	bool was = cut;

	cut = false;
	return was;
}

void text_add(struct text *t, str s)
{
	if (!s.n)
		return;
	if (t->n + s.n > TEXT_MAX) {
		cut = true;
		if (t->n && t->p[t->n - 1] == MARK_UNKNOWN)
			return;
		s = STR("\1");
	}
	grow(t, s.n);
	memcpy(t->p + t->n, s.p, s.n);
	t->n += s.n;
}

void text_char(struct text *t, char c)
{
	text_add(t, str_n(&c, 1));
}

void fields_add(struct arena *a, struct fields *f, str s)
{
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 8;
		str *v = arena_alloc(a, cap * sizeof(str));

		if (f->n)
			memcpy(v, f->v, f->n * sizeof(str));
		f->v = v;
		f->cap = cap;
	}
	f->v[f->n++] = s;
}

bool has_mark(str s, const char *marks)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' && s.p[i] && strchr(marks, s.p[i]))
			return true;
	return false;
}

static bool in_words(str s, const char *words, bool nocase)
{
	if (!nocase) { /* the tables are long: most words differ in their first letter */
		for (const char *blank; *words; words = blank + 1) {
			if (words[0] == s.p[0] && strncmp(words, s.p, s.n) == 0 && !memchr(s.p, 0, s.n) &&
				(words[s.n] == ' ' || !words[s.n]))
				return true;
			blank = strchr(words, ' ');
			if (!blank)
				break;
		}
		return false;
	}
	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == s.n && str_eq_nocase(str_n(words, n), s))
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

bool str_in(str s, const char *words)
{
	return s.n && in_words(s, words, false);
}

bool str_in_nocase(str s, const char *words)
{
	return s.n && in_words(s, words, true);
}

bool str_has(str s, const char *needle)
{
	return str_find(s, str_of(needle)) >= 0;
}

bool str_has_nocase(str s, const char *needle)
{
	size_t n = strlen(needle);

	for (size_t i = 0; i + n <= s.n; i++)
		if (str_eq_nocase(str_n(s.p + i, n), str_n(needle, n)))
			return true;
	return false;
}

str str_base(str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return path.n > 1 ? str_from(path, i) : path;
	return path;
}

str str_lower(struct arena *a, str s)
{
	char *p = arena_bytes(a, s.n + 1);

	for (size_t i = 0; i < s.n; i++)
		p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
	return str_n(p, s.n);
}

/* Whether the set that begins behind '[' holds c; *ret_end is behind its ']', or 0 when there is
 * none. */
static bool set_holds(str pat, size_t i, char c, size_t *ret_end)
{
	bool negate = i < pat.n && (pat.p[i] == '!' || pat.p[i] == '^'), found = false;
	size_t first = i + negate;

	*ret_end = 0;
	for (i = first; i < pat.n && (pat.p[i] != ']' || i == first); i++) {
		char lo = pat.p[i], hi = lo;

		if (i + 2 < pat.n && pat.p[i + 1] == '-' && pat.p[i + 2] != ']') {
			hi = pat.p[i + 2];
			i += 2;
		}
		found |= c >= lo && c <= hi;
	}
	if (i >= pat.n)
		return false;
	*ret_end = i + 1;
	return found != negate;
}

/* How one pattern element at i fares with c: its length, or 0 when it does not match. */
static size_t one_matches(str pat, size_t i, char c)
{
	size_t end;

	switch (pat.p[i]) {
	case '?':
	case MARK_ANY: return 1;
	case '\\': return i + 1 < pat.n && pat.p[i + 1] == c ? 2 : 0;
	case '[':
		if (set_holds(pat, i + 1, c, &end))
			return end - i;
		return !end && c == '[' ? 1 : 0;
	default: return pat.p[i] == c || c == MARK_ANY ? 1 : 0;
	}
}

static bool is_star(char c)
{
	return c == '*' || (c && c < 7 && c != MARK_ANY && strchr(MARKS_ANY, c));
}

bool glob_match(str pattern, str s)
{
	size_t i = 0, j = 0, star = SIZE_MAX, mark = 0, step;

	while (j < s.n) {
		if (i < pattern.n && is_star(pattern.p[i])) {
			star = i++;
			mark = j;
		} else if (i < pattern.n && (step = one_matches(pattern, i, s.p[j])) > 0) {
			i += step;
			j++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			j = ++mark;
		} else {
			return false;
		}
	}
	while (i < pattern.n && is_star(pattern.p[i]))
		i++;
	return i == pattern.n;
}

bool glob_any(str s, const char *patterns)
{
	while (*patterns) {
		size_t n = strcspn(patterns, " ");

		if (glob_match(str_n(patterns, n), s))
			return true;
		patterns += n + (patterns[n] == ' ');
	}
	return false;
}

str text_for_shell(struct arena *a, str s)
{
	char *p;

	if (!has_mark(s, "\2\3"))
		return s;
	p = arena_bytes(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++)
		p[i] = s.p[i] == MARK_STAR ? '*' : s.p[i] == MARK_ANY ? '?' : s.p[i];
	return str_n(p, s.n);
}

enum { PEOPLE_MAX = 1 << 14 };

/* Far below TEXT_MAX, where a text would be cut with a mark of its own. */
str text_for_people(struct arena *a, str s)
{
	return text_readable(a, str_cut_utf8(s, PEOPLE_MAX));
}

str text_readable(struct arena *a, str s)
{
	struct text t = { .a = a };
	size_t from = 0;

	if (!has_mark(s, MARKS_ANY "\x1f"))
		return s;
	for (size_t i = 0; i < s.n; i++) {
		if (!has_mark(str_n(s.p + i, 1), MARKS_ANY "\x1f"))
			continue;
		text_add(&t, str_n(s.p + from, i - from));
		text_add(&t,
			s.p[i] == MARK_STAR          ? STR("*")
				: s.p[i] == MARK_ANY ? STR("?")
				: s.p[i] == 0x1f     ? STR(" ") /* between the items of an array */
						     : STR("…"));
		from = i + 1;
	}
	text_add(&t, str_from(s, from));
	return text_str(&t);
}

str fields_join(struct arena *a, const str *v, size_t n, char sep)
{
	struct text t = { .a = a };

	if (n == 1)
		return v[0];
	for (size_t i = 0; i < n; i++) {
		if (i)
			text_char(&t, sep);
		text_add(&t, v[i]);
	}
	return text_str(&t);
}
