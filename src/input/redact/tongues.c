/* Names of passwords in other languages than English: Kennwort = …, contraseña: …, 密码：….
 *
 * They are looked for where names end, at colons and equals signs, which costs next to nothing: as literals of the
 * automaton, whose tables are as large as they should get, every one of them would cost some hundred bytes. */
#include <ctype.h>

#include "redact/internal.h"

enum { BLANKS_MAX = 2, NAMES_MAX = 64 };

/* The names, by a hash of their last two bytes: chains of their numbers, from 1 on. */
static uint8_t ends[256], next_name[NAMES_MAX];
static str names[NAMES_MAX];

static unsigned ending(str s)
{
	unsigned char last = (unsigned char)s.p[s.n - 1], before = (unsigned char)s.p[s.n - 2];

	return ((before | 32u) * 7u + (last | 32u)) & 255;
}

void tongues_init(void)
{
	for (size_t i = 0; i < nforeign_keywords && i < NAMES_MAX; i++) {
		names[i] = str_of(foreign_keywords[i].literal);
		next_name[i] = ends[ending(names[i])];
		ends[ending(names[i])] = (uint8_t)(i + 1);
	}
}

/* Between a name and the sign behind it. */
static bool is_between(char c)
{
	return c == ' ' || c == '"' || c == '\'' || c == '\t' || c == '*';
}

/* The sign at `at` may end one of the names. Where to go on: nothing is looked for again in a value. */
static size_t try_name(struct redactor *r, str s, size_t at)
{
	str before = str_head(s, at);

	for (unsigned i = 0; i < BLANKS_MAX && before.n && is_between(before.p[before.n - 1]); i++)
		before.n--;
	if (before.n < 2)
		return at + 1;
	for (size_t i = ends[ending(before)]; i-- > 0; i = next_name[i]) {
		str name = names[i];
		size_t begin = before.n - MIN(name.n, before.n);
		struct span span;

		if (!str_eq_nocase(str_from(before, begin), name))
			continue;
		/* Part of another word; scripts without blanks between words have no letters of ours. */
		if (begin > 0 && isalpha((unsigned char)name.p[0]) && isalpha((unsigned char)s.p[begin - 1]))
			continue;
		if (!assign_find(s, &foreign_keywords[i], begin, before.n, &span))
			break;
		span.rank = OPERANDS_RANK;
		secrets_add(r, span);
		return MAX(span.end, at + 1);
	}
	return at + 1;
}

static void try_all(struct redactor *r, str s, char sign)
{
	for (size_t at = 0; at < s.n;) {
		const char *p = memchr(s.p + at, sign, s.n - at);

		if (!p)
			return;
		at = try_name(r, s, (size_t)(p - s.p));
	}
}

void tongues_find(struct redactor *r, str s)
{
	try_all(r, s, ':');
	try_all(r, s, '=');
	try_all(r, s, WIDE_COLON[0]);
}
