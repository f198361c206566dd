/* Secrets in base64: a Kubernetes manifest, a header, a variable that holds a key file.
 *
 * The beginnings of the commonest forms are in the automaton as base64 spells them, once for each of the three ways
 * a text can lie in groups of three bytes. Such a hit proves nothing: the run of base64 around it is decoded and
 * must hold a secret by the ordinary table. Then the whole run goes. */
#include <ctype.h>

#include "redact/internal.h"

enum {
	GROUPS = 3,
	RUN_MIN = 16,
	BACK_MAX = 1 << 12, /* how far back a run may begin */
	LOOK_MAX = 1 << 13, /* so much of a run is looked at for one hit */
	DECODE_MAX = LOOK_MAX / 4 * 3,
	LINE_MIN = 60, /* a run that was folded goes on in the next line */
};

/* Shorter ones would hit too often in ordinary base64. */
static const char *const beginnings[] = { "-----BEGIN ", "AKIA", "ASIA", "ghp_", "gho_", "ghs_", "github_pat_",
	"sk-ant-", "sk-proj-", "sk_live_", "xoxb-", "xoxp-", "glpat-", "AIza", "npm_", "ya29.", "dckr_pat_", "pypi-",
	"hvs.", "AccountKey=", "postgres://", "mysql://", "mongodb", "redis://" };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The characters that `text` alone decides when `before` bytes precede it in its group. */
static size_t spell(const char *text, size_t before, char *out)
{
	size_t bits = 8 * before, end = 8 * (before + strlen(text)), n = 0;

	for (bits = (bits + 5) / 6 * 6; bits + 6 <= end; bits += 6) {
		unsigned value = 0;

		for (size_t b = bits; b < bits + 6; b++) {
			unsigned char byte = (unsigned char)text[b / 8 - before];

			value = value << 1 | (byte >> (7 - b % 8) & 1);
		}
		out[n++] = alphabet[value];
	}
	out[n] = 0;
	return n;
}

void base64_add_literals(struct automaton *a, unsigned value)
{
	char literal[32];

	for (size_t i = 0; i < countof(beginnings); i++)
		for (size_t before = 0; before < GROUPS; before++)
			if (spell(beginnings[i], before, literal) >= 4)
				automaton_add(a, str_of(literal), value);
}

static int digit(unsigned char c)
{
	if (c == '-' || c == '_')
		return c == '-' ? 62 : 63;
	if (isupper(c))
		return c - 'A';
	if (islower(c))
		return c - 'a' + 26;
	if (isdigit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Blanks between the lines of a folded run; 0: the run ends at `at`. */
static size_t fold_at(str s, size_t begin, size_t at)
{
	size_t n = 0, line = at;

	while (line > begin && s.p[line - 1] != '\n' && at - line < LINE_MIN)
		line--;
	if (at - line < LINE_MIN || at >= s.n || (s.p[at] != '\n' && s.p[at] != '\r'))
		return 0;
	while (at + n < s.n && n < 32 && isspace((unsigned char)s.p[at + n]))
		n++;
	return at + n < s.n && digit((unsigned char)s.p[at + n]) >= 0 ? n : 0;
}

size_t base64_decode(str s, char *out, size_t max)
{
	unsigned value = 0, bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < s.n && n < max; i++) {
		int d = digit((unsigned char)s.p[i]);

		if (d < 0)
			continue;
		value = value << 6 | (unsigned)d;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		out[n++] = (char)(value >> bits & 0xFF);
	}
	return n;
}

/* Where a run that goes back to `from` ends, its padding included, or how far it was followed. */
static size_t find_end(str s, size_t from, size_t at, size_t limit)
{
	size_t fold;

	for (;;) {
		while (at < s.n && at < limit && digit((unsigned char)s.p[at]) >= 0)
			at++;
		fold = at < limit ? fold_at(s, from, at) : 0;
		if (!fold)
			break;
		at += fold;
	}
	for (int i = 0; i < 2 && at < s.n && s.p[at] == '='; i++)
		at++;
	return at;
}

const char *base64_find(struct redactor *r, str s, size_t begin, size_t end, struct span *ret)
{
	char decoded[DECODE_MAX];
	const char *name = NULL;
	size_t from = begin;
	str run;

	while (from > 0 && begin - from < BACK_MAX && digit((unsigned char)s.p[from - 1]) >= 0)
		from--;
	*ret = (struct span){ .begin = from, .end = find_end(s, from, end, from + LOOK_MAX) };
	run = str_n(s.p + from, ret->end - from);
	/* What precedes the run may look like a part of it: name/QUtJ… */
	for (size_t skip = 0; run.n >= RUN_MIN && skip < 4 && !name; skip++)
		name = secrets_name_in(r, str_n(decoded, base64_decode(str_from(run, skip), decoded, sizeof decoded)));
	if (name)
		ret->end = find_end(s, from, ret->end, SIZE_MAX);
	return name;
}

bool base64_is_user_and_password(str s)
{
	char decoded[300];
	size_t n = base64_decode(s, decoded, sizeof decoded);
	const char *colon = memchr(decoded, ':', n);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)decoded[i]))
			return false;
	return colon && colon > decoded && colon < decoded + n - 1;
}
