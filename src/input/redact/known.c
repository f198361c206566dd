/* What was looked at before. The payloads of a session repeat themselves: the same two dozen keys, and under them the
 * session's id, its directories and the names of its tools. Whether such a string holds a secret, and what a key says
 * about its value, depends on nothing but its bytes, so short ones that were found clean are kept in two small tables,
 * one place for each; the newest has it. What held a secret is never in here. */
#include "redact/internal.h"

static uint64_t word_at(const char *p, size_t n)
{
	uint64_t word = 0;

	memcpy(&word, p, n);
	return word;
}

static size_t place_of(str s, size_t places)
{
	uint64_t h = s.n * 0x9E3779B97F4A7C15u;
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8)
		h = (h ^ word_at(s.p + i, 8)) * 0xFF51AFD7ED558CCDu;
	h = (h ^ word_at(s.p + i, s.n - i)) * 0xFF51AFD7ED558CCDu;
	return (size_t)(h >> 40) % places;
}

static struct key_facts find_facts(struct redactor *r, str key)
{
	struct key_facts f = { .kind = file_key_of(key), .pin = assign_is_pin(key) };

	f.clean = secrets_clean(r, key, &f.name);
	return f;
}

struct key_facts known_key(struct redactor *r, str key)
{
	struct known_key *k;
	struct key_facts f;

	if (!key.n || key.n > sizeof k->text)
		return find_facts(r, key);
	k = &r->keys[place_of(key, KNOWN_KEYS)];
	if (k->n != key.n || memcmp(k->text, key.p, key.n) != 0) {
		f = find_facts(r, key);
		if (f.clean.p != key.p)
			return f;
		memcpy(k->text, key.p, key.n);
		k->n = (uint8_t)key.n;
		k->facts = f;
	}
	f = k->facts;
	f.clean = key;
	return f;
}

str known_clean(struct redactor *r, str s)
{
	struct known_value *k;
	str clean;

	if (!s.n || s.n > sizeof k->text)
		return secrets_clean(r, s, NULL);
	k = &r->values[place_of(s, KNOWN_VALUES)];
	if (k->n == s.n && memcmp(k->text, s.p, s.n) == 0)
		return s;
	clean = secrets_clean(r, s, NULL);
	if (clean.p == s.p) {
		memcpy(k->text, s.p, s.n);
		k->n = (uint8_t)s.n;
	}
	return clean;
}
