/* What was looked at before. The payloads of a session repeat themselves: the same two dozen keys, and under them the
 * session's id, its directories and the names of its tools. Whether such a string holds a secret, and what a key says
 * about its value, depends on nothing but its bytes, so short ones that were found clean are kept in small tables, one
 * place for each; the newest has it. The same goes for paths and commands. What held a secret, or names a file of
 * secrets, is never in here. */
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

static bool has(const char *text, size_t n, str s)
{
	return n == s.n && memcmp(text, s.p, n) == 0;
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
	if (!has(k->text, k->n, key)) {
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
	if (has(k->text, k->n, s))
		return s;
	clean = secrets_clean(r, s, NULL);
	if (clean.p == s.p) {
		memcpy(k->text, s.p, s.n);
		k->n = (uint8_t)s.n;
	}
	return clean;
}

bool known_path_is_secret(struct redactor *r, str path, str *ret_base)
{
	struct known_value *k;

	if (!path.n || path.n > sizeof k->text)
		return file_is_secret(path, ret_base);
	k = &r->paths[place_of(path, KNOWN_VALUES)];
	if (has(k->text, k->n, path))
		return false;
	if (file_is_secret(path, ret_base))
		return true;
	memcpy(k->text, path.p, path.n);
	k->n = (uint8_t)path.n;
	return false;
}

/* A command comes before it is run and after, and more than once in a payload. */
bool known_command_touches(struct redactor *r, struct arena *a, str command, str *ret_base)
{
	struct known_command *k;

	if (!command.n || command.n > sizeof k->text)
		return command_touches(a, command, ret_base);
	k = &r->commands[place_of(command, KNOWN_COMMANDS)];
	if (has(k->text, k->n, command))
		return false;
	if (command_touches(a, command, ret_base))
		return true;
	memcpy(k->text, command.p, command.n);
	k->n = (uint16_t)command.n;
	return false;
}
