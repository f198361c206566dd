/* English endings, after M. F. Porter, "An algorithm for suffix stripping" (1980): rules as tables. */
#include "retrieve/retrieve.h"

struct stem {
	char *p;
	size_t n;
};

static bool is_consonant(const char *p, size_t i)
{
	switch (p[i]) {
	case 'a':
	case 'e':
	case 'i':
	case 'o':
	case 'u': return false;
	case 'y': return i == 0 || !is_consonant(p, i - 1);
	default: return true;
	}
}

/* How often a consonant follows a vowel in the first n letters. */
static unsigned measure(const char *p, size_t n)
{
	unsigned m = 0;
	bool vowel = false;

	for (size_t i = 0; i < n; i++) {
		bool consonant = is_consonant(p, i);

		m += vowel && consonant;
		vowel = !consonant;
	}
	return m;
}

static bool has_vowel(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_consonant(p, i))
			return true;
	return false;
}

static bool ends_double(const struct stem *s)
{
	return s->n > 1 && s->p[s->n - 1] == s->p[s->n - 2] && is_consonant(s->p, s->n - 1);
}

/* Consonant, vowel, consonant: "hop" in "hoping". */
static bool ends_short(const char *p, size_t n)
{
	return n > 2 && is_consonant(p, n - 1) && !is_consonant(p, n - 2) && is_consonant(p, n - 3) &&
		!strchr("wxy", p[n - 1]);
}

static bool ends(const struct stem *s, str ending)
{
	/* The last letter decides nearly always, without a call. */
	return s->n && s->p[s->n - 1] == ending.p[ending.n - 1] && str_ends(str_n(s->p, s->n), ending);
}

static void replace_end(struct stem *s, size_t cut, str by)
{
	s->n -= cut;
	memcpy(s->p + s->n, by.p, by.n);
	s->n += by.n;
}

static void cut_plural(struct stem *s)
{
	if (ends(s, STR("sses")) || ends(s, STR("ies")))
		s->n -= 2;
	else if (ends(s, STR("s")) && !ends(s, STR("ss")))
		s->n -= 1;
}

static void cut_past_and_gerund(struct stem *s)
{
	size_t cut = ends(s, STR("ed")) ? 2 : ends(s, STR("ing")) ? 3 : 0;

	if (ends(s, STR("eed"))) {
		s->n -= measure(s->p, s->n - 3) > 0;
		return;
	}
	if (!cut || !has_vowel(s->p, s->n - cut))
		return;
	s->n -= cut;
	if (ends(s, STR("at")) || ends(s, STR("bl")) || ends(s, STR("iz")))
		replace_end(s, 0, STR("e"));
	else if (ends_double(s) && !strchr("lsz", s->p[s->n - 1]))
		s->n--;
	else if (measure(s->p, s->n) == 1 && ends_short(s->p, s->n))
		replace_end(s, 0, STR("e"));
}

/* The longest ending counts, so "ational" stands before "tional" and "ation". */
struct ending {
	str ending, by;
};

#define ENDING(ending_, by_)           \
	{                              \
		STR(ending_), STR(by_) \
	}

static const struct ending derived[] = { ENDING("ational", "ate"), ENDING("ization", "ize"), ENDING("iveness", "ive"),
	ENDING("fulness", "ful"), ENDING("ousness", "ous"), ENDING("tional", "tion"), ENDING("biliti", "ble"),
	ENDING("entli", "ent"), ENDING("ousli", "ous"), ENDING("ation", "ate"), ENDING("alism", "al"),
	ENDING("aliti", "al"), ENDING("iviti", "ive"), ENDING("enci", "ence"), ENDING("anci", "ance"),
	ENDING("izer", "ize"), ENDING("alli", "al"), ENDING("ator", "ate"), ENDING("logi", "log"), ENDING("bli", "ble"),
	ENDING("eli", "e") };

static const struct ending shades[] = { ENDING("icate", "ic"), ENDING("ative", ""), ENDING("alize", "al"),
	ENDING("iciti", "ic"), ENDING("ical", "ic"), ENDING("ness", ""), ENDING("ful", "") };

static const struct ending last[] = { ENDING("ement", ""), ENDING("ance", ""), ENDING("ence", ""), ENDING("able", ""),
	ENDING("ible", ""), ENDING("ment", ""), ENDING("ant", ""), ENDING("ent", ""), ENDING("ion", ""),
	ENDING("ism", ""), ENDING("ate", ""), ENDING("iti", ""), ENDING("ous", ""), ENDING("ive", ""),
	ENDING("ize", ""), ENDING("al", ""), ENDING("er", ""), ENDING("ic", ""), ENDING("ou", "") };

static void apply(struct stem *s, const struct ending *table, size_t n, unsigned least)
{
	for (size_t i = 0; i < n; i++) {
		size_t cut = table[i].ending.n;

		if (!ends(s, table[i].ending))
			continue;
		if (measure(s->p, s->n - cut) > least &&
			(!str_eq(table[i].ending, STR("ion")) || strchr("st", s->p[s->n - cut - 1])))
			replace_end(s, cut, table[i].by);
		return;
	}
}

static void cut_last_e(struct stem *s)
{
	unsigned m = measure(s->p, s->n - 1);

	if (ends(s, STR("e")) && (m > 1 || (m == 1 && !ends_short(s->p, s->n - 1))))
		s->n--;
	if (s->n > 1 && ends_double(s) && s->p[s->n - 1] == 'l' && measure(s->p, s->n - 1) > 1)
		s->n--;
}

size_t stem_english(char *word, size_t n)
{
	struct stem s = { word, n };

	if (n <= 2)
		return n;
	cut_plural(&s);
	cut_past_and_gerund(&s);
	if (ends(&s, STR("y")) && has_vowel(s.p, s.n - 1))
		s.p[s.n - 1] = 'i';
	apply(&s, derived, countof(derived), 0);
	apply(&s, shades, countof(shades), 0);
	apply(&s, last, countof(last), 1);
	cut_last_e(&s);
	return s.n;
}
