#include "transcript/internal.h"

/* Past the closing quote of the string whose inside begins at i, or n. */
static size_t skip_string(const char *p, size_t n, size_t i)
{
	while (i < n) {
		const char *quote = memchr(p + i, '"', n - i);
		size_t at, back = 0;

		if (!quote)
			return n;
		at = (size_t)(quote - p);
		while (back < at - i && p[at - 1 - back] == '\\')
			back++;
		i = at + 1;
		if (back % 2 == 0)
			return i;
	}
	return n;
}

/* Past the value that begins at i. Only brackets and quotes are looked at: the parser judges the rest. */
static size_t skip_value(const char *p, size_t n, size_t i)
{
	unsigned depth = 0;

	while (i < n) {
		switch (p[i]) {
		case '"': i = skip_string(p, n, i + 1); break;
		case '{':
		case '[':
			depth++;
			i++;
			break;
		case '}':
		case ']':
			if (depth == 0)
				return i;
			depth--;
			i++;
			break;
		case ',':
			if (depth == 0)
				return i;
			i++;
			continue;
		default: i++; continue;
		}
		if (depth == 0)
			return i;
	}
	return n;
}

static size_t skip_blanks(const char *p, size_t n, size_t i)
{
	while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n'))
		i++;
	return i;
}

str skim_value(str line, str key)
{
	const char *p = line.p;
	size_t n = line.n, i = skip_blanks(p, n, 0);

	if (i >= n || p[i] != '{')
		return STR_NONE;
	for (i++;;) {
		size_t from;
		bool found;

		i = skip_blanks(p, n, i);
		if (i >= n || p[i] != '"')
			return STR_NONE;
		from = i + 1;
		i = skip_string(p, n, from);
		found = i > from && str_eq(str_n(p + from, i - 1 - from), key);
		i = skip_blanks(p, n, i);
		if (i >= n || p[i] != ':')
			return STR_NONE;
		i = skip_blanks(p, n, i + 1);
		if (found)
			return str_n(p + i, n - i);
		i = skip_blanks(p, n, skip_value(p, n, i));
		if (i >= n || p[i] != ',')
			return STR_NONE;
		i++;
	}
}

str skim_string(str rest)
{
	size_t end;

	if (rest.n < 2 || rest.p[0] != '"')
		return STR_NONE;
	end = skip_string(rest.p, rest.n, 1);
	return rest.p[end - 1] == '"' && end >= 2 ? str_n(rest.p + 1, end - 2) : STR_NONE;
}
