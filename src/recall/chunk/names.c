/* What a definition is called. The parts of a name are found by their signs, not by the grammar: the same few lines
 * serve all languages, and a declarator that a macro broke still has a name. */
#include "base/macro.h"
#include "base/utf8.h"
#include "chunk/chunk.h"
#include "chunk/names.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
		(unsigned char)c >= 0x80;
}

/* Signs that are part of a name: ~Buffer, #field, @field, foo-bar, empty?, value= */
static bool is_sign(str s, size_t i)
{
	bool is_last = i + 1 == s.n, before_letter = !is_last && is_letter(s.p[i + 1]);

	switch (s.p[i]) {
	case '~':
	case '#':
	case '@': return before_letter;
	case '-': return before_letter && i > 0 && is_letter(s.p[i - 1]);
	case '?':
	case '!':
	case '=': return is_last && i > 0 && is_letter(s.p[i - 1]);
	default: return false;
	}
}

/* Everything behind the word belongs to it: operator+=, operator(), operator bool. */
static bool is_operator(str s)
{
	return str_starts(s, STR("operator")) && s.n > 8 && !is_letter(s.p[8]);
}

/* The length of the part of a name that begins here. */
static size_t part_length(str s)
{
	size_t n = 0;

	if (is_operator(s))
		return s.n;
	while (n < s.n && (is_letter(s.p[n]) || is_sign(s, n)))
		n++;
	return n;
}

/* How long the angle brackets are that begin here, as <pair<int, int>>; 0: none do. */
static size_t angles_length(str s)
{
	unsigned depth = 0;

	for (size_t i = 0; i < s.n && (i > 0 || s.p[0] == '<'); i++)
		if (s.p[i] == '<')
			depth++;
		else if (s.p[i] == '>' && --depth == 0)
			return i + 1;
	return 0;
}

static size_t joint_length(str s)
{
	static const str joints[] = { STR("::"), STR("."), STR("->"), STR(":") };

	for (size_t i = 0; i < countof(joints); i++)
		if (str_starts(s, joints[i]))
			return joints[i].n;
	return 0;
}

bool name_identifier(str text, struct arena *a, str *qualified, str *last)
{
	char *to, *begin;
	size_t n;

	text = str_head(text, CHUNK_SYMBOL_BYTES);
	while (text.n && !is_letter(text.p[0]) && !is_sign(text, 0) && memchr("*&'\"` \t\r\n", text.p[0], 9))
		text = str_from(text, 1);
	begin = to = arena_bytes(a, text.n + 1);
	*last = STR_NONE;
	while ((n = part_length(text)) > 0) {
		*last = str_head(text, n);
		memcpy(to, text.p, n);
		to += n;
		text = str_from(text, n);
		text = str_from(text, angles_length(text));
		n = joint_length(text);
		if (!n || !part_length(str_from(text, n)))
			break;
		*to++ = '.';
		text = str_from(text, n);
	}
	*qualified = str_n(begin, (size_t)(to - begin));
	/* "a, b" is not one name. */
	return last->n && (text.n == 0 || text.p[0] != ',') && utf8_valid(*qualified);
}

bool name_plain(str text, str *ret)
{
	text = str_trim(text);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ') {
			text = str_head(text, i);
			break;
		}
	text = str_trim(text);
	if (text.n > 1 && memchr("\"'`", text.p[0], 3) && text.p[text.n - 1] == text.p[0])
		text = str_n(text.p + 1, text.n - 2);
	*ret = str_cut_utf8(text, CHUNK_SYMBOL_BYTES);
	return ret->n && utf8_valid(*ret);
}

str name_receiver(str text)
{
	ptrdiff_t bracket = str_find_char(text, '[');
	size_t n, end;

	if (bracket > 0)
		text = str_head(text, (size_t)bracket);
	for (end = text.n; end > 0 && !is_letter(text.p[end - 1]); end--)
		;
	for (n = 0; n < end && is_letter(text.p[end - n - 1]); n++)
		;
	return str_n(text.p + end - n, MIN(n, (size_t)CHUNK_SYMBOL_BYTES));
}
