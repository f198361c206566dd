/* Tables with a column of secrets: CSV, Markdown, and what database clients print; and manifests of Kubernetes whose
 * data are secrets.
 *
 *   user,password        | user | API token |       user | password
 *   bob,…                |------|-----------|      ------+----------
 *                        | bob  | …         |       bob  | …
 *
 * A keyword that names no value may be the heading of a column. It is one if its line is the first of a table and
 * nothing but headings; then the cells below it are looked at, to the end of the table. */
#include "redact/internal.h"

enum {
	HEAD_MAX = 512,  /* bytes of a line of headings */
	CELL_MAX = 40,   /* of one of them */
	COLUMNS_MAX = 8, /* with secrets */
	ROW_MAX = 4096,
	MANIFEST_MAX = 16384, /* of it, before the line that says what it is */
	PASSWORD_MIN = 4,
	TOKEN_MIN = 8,
};

struct line {
	size_t begin, end;
};

static struct line line_at(str s, size_t at)
{
	struct line l = { at, at };
	const char *p;

	while (l.begin > 0 && at - l.begin <= HEAD_MAX && s.p[l.begin - 1] != '\n')
		l.begin--;
	p = at < s.n ? memchr(s.p + at, '\n', s.n - at) : NULL;
	l.end = p ? (size_t)(p - s.p) : s.n;
	return l;
}

static size_t count(str s, struct line l, char c)
{
	size_t n = 0;

	for (size_t i = l.begin; i < l.end; i++)
		n += s.p[i] == c;
	return n;
}

/* ---|---, +---+---+, |:--|--:| */
static bool is_rule(str s, struct line l)
{
	size_t dashes = 0;

	for (size_t i = l.begin; i < l.end; i++) {
		if (!memchr("|-+:= \t\r", s.p[i], 8))
			return false;
		dashes += s.p[i] == '-' || s.p[i] == '=';
	}
	return dashes >= 3;
}

static const bool heading_bytes[256] = { ['a' ... 'z'] = true,
	['A' ... 'Z'] = true,
	['0' ... '9'] = true,
	[0x80 ... 0xFF] = true,
	[' '] = true,
	['_'] = true,
	['-'] = true,
	['.'] = true,
	['/'] = true,
	['"'] = true,
	['\''] = true,
	['\r'] = true,
	['#'] = true,
	['*'] = true };

static bool is_heading_byte(unsigned char c)
{
	return heading_bytes[c];
}

/* The character between the headings of the line, or 0: it is none of headings. */
static char separator_of(str s, struct line l, size_t begin, size_t end)
{
	char found = 0;
	size_t cell = 0;

	for (size_t i = end; i < l.end && !found; i++)
		if (!is_heading_byte((unsigned char)s.p[i]))
			found = s.p[i];
	for (size_t i = begin; i > l.begin && !found; i--)
		if (!is_heading_byte((unsigned char)s.p[i - 1]))
			found = s.p[i - 1];
	if (!found || !memchr("|,;\t", found, 4))
		return 0;
	for (size_t i = l.begin; i < l.end; i++) {
		/* "the token, a secret" is a sentence */
		if (s.p[i] == ' ' && cell == 0 && i > l.begin && found != '|')
			return 0;
		cell = s.p[i] == found ? 0 : cell + 1;
		if (cell > CELL_MAX || (s.p[i] != found && !is_heading_byte((unsigned char)s.p[i])))
			return 0;
	}
	return found;
}

/* Is it the first line of a table? What is below it is read from *ret on. */
static bool begins_table(str s, struct line head, char separator, size_t *ret)
{
	struct line next;

	if (head.end >= s.n)
		return false;
	next = line_at(s, head.end + 1);
	*ret = next.begin;
	if (separator == '|')
		return is_rule(s, next);
	if (head.begin > 0 && count(s, line_at(s, head.begin - 1), separator) > 0)
		return false;
	return count(s, next, separator) == count(s, head, separator);
}

/* The cell of that column, without blanks and quotes. Between quotes a separator is none. */
static struct span cell_of(str s, struct line l, char separator, size_t column)
{
	struct span cell = { .begin = l.begin };
	bool quoted = false;
	size_t i;

	for (i = l.begin; i < l.end; i++) {
		quoted ^= s.p[i] == '"' && separator != '|';
		if (s.p[i] != separator || quoted)
			continue;
		if (column-- == 0)
			break;
		cell.begin = i + 1;
	}
	cell.end = i;
	while (cell.begin < cell.end && memchr(" \t\r\"'`", s.p[cell.begin], 6))
		cell.begin++;
	while (cell.end > cell.begin && memchr(" \t\r\"'`", s.p[cell.end - 1], 6))
		cell.end--;
	return cell;
}

static bool cell_is_secret(str v, bool password)
{
	if (v.n < PASSWORD_MIN || value_is_placeholder(v) || memchr(v.p, ' ', v.n))
		return false;
	return password || (v.n >= TOKEN_MIN && (value_is_random(v) || value_is_drawn(v)));
}

/* "API token" as API_token: a name. */
static bool is_heading(str cell, const struct keyword *k, size_t begin, size_t end)
{
	char name[CELL_MAX + 1];
	size_t n = MIN(cell.n, sizeof name);

	for (size_t i = 0; i < n; i++)
		name[i] = cell.p[i];
	for (size_t i = 0; i < n; i++)
		if (name[i] == ' ')
			name[i] = '_';
	return assign_is_name(str_n(name, n), k, begin, end);
}

/* -- manifests ----------------------------------------------------------------------------------- */

static size_t indent_of(str s, struct line l)
{
	size_t i = l.begin;

	while (i < l.end && s.p[i] == ' ')
		i++;
	return i - l.begin;
}

static bool is_separator(str s, struct line l)
{
	return str_starts(str_n(s.p + l.begin, l.end - l.begin), STR("---"));
}

/* key: value, the value without quotes; nothing for what is only a key. */
static struct span value_of(str s, struct line l)
{
	const char *colon = memchr(s.p + l.begin, ':', l.end - l.begin);
	struct span v = { .begin = colon ? (size_t)(colon - s.p) + 1 : l.end, .end = l.end };

	while (v.begin < v.end && memchr(" \t\"'", s.p[v.begin], 4))
		v.begin++;
	while (v.end > v.begin && memchr(" \t\r\"'", s.p[v.end - 1], 5))
		v.end--;
	return v;
}

/* The values under "data:" and "stringData:" of a Secret of Kubernetes, from its first line on. */
static size_t hide_data(struct redactor *r, str s, size_t at)
{
	size_t inside = SIZE_MAX; /* indentation of the member they are under */
	struct line l;

	for (; at < s.n; at = l.end + 1) {
		str text;

		l = line_at(s, at);
		text = str_trim(str_n(s.p + l.begin, l.end - l.begin));
		if (is_separator(s, l))
			break;
		if (inside != SIZE_MAX && text.n && indent_of(s, l) <= inside)
			inside = SIZE_MAX;
		if (str_eq(text, STR("data:")) || str_eq(text, STR("stringData:"))) {
			inside = indent_of(s, l);
		} else if (inside != SIZE_MAX) {
			struct span v = value_of(s, l);

			v.name = "secret";
			v.rank = OPERANDS_RANK;
			if (v.end - v.begin >= PASSWORD_MIN &&
				!value_is_placeholder(str_n(s.p + v.begin, v.end - v.begin)))
				secrets_add(r, v);
		}
	}
	return at;
}

/* Is the keyword the one of "kind: Secret"? Then its document is done with. */
static bool find_manifest(struct redactor *r, str s, size_t begin, size_t end)
{
	struct line l;
	size_t at;

	if (begin < 6 || s.p[begin] != 'S' || memcmp(s.p + begin - 6, "kind: ", 6) != 0 ||
		(end < s.n && s.p[end] != '\n' && s.p[end] != '\r'))
		return false;
	if (r->manifest.turn == r->turn && begin < r->manifest.end)
		return true;
	for (at = begin - 6; at > 0; at = l.begin - 1) {
		l = line_at(s, at - 1);
		if (is_separator(s, l) || begin - l.begin > MANIFEST_MAX || l.begin == 0) {
			at = l.begin;
			break;
		}
	}
	if (is_separator(s, line_at(s, at)))
		at = MIN(line_at(s, at).end + 1, s.n);
	r->manifest.end = hide_data(r, s, at);
	r->manifest.turn = r->turn;
	return true;
}

/* -- tables -------------------------------------------------------------------------------------- */

/* Nothing but the rest of a heading up to its end: says no to nearly all keywords in prose and code. */
static bool may_be_heading(str s, size_t end)
{
	size_t i = end;

	while (i < s.n && i - end < CELL_MAX && s.p[i] != '\n' && is_heading_byte((unsigned char)s.p[i]))
		i++;
	return i == s.n || memchr("|,;\t\n", s.p[i], 5);
}

void table_find(struct redactor *r, str s, const struct keyword *k, size_t begin, size_t end)
{
	size_t at, column, bars;
	struct line head, row;
	struct span cell;
	char separator;

	if (find_manifest(r, s, begin, end) || !may_be_heading(s, end))
		return;
	head = line_at(s, begin);
	if (r->table.turn == r->turn && begin < r->table.end &&
		(head.begin != r->table.head || r->table.columns >= COLUMNS_MAX))
		return;
	if (end - head.begin > HEAD_MAX || head.end - begin > HEAD_MAX)
		return;
	separator = separator_of(s, head, begin, end);
	if (!separator || !begins_table(s, head, separator, &at))
		return;
	column = count(s, (struct line){ head.begin, begin }, separator);
	cell = cell_of(s, head, separator, column);
	if (cell.begin > begin || cell.end < end ||
		!is_heading(str_n(s.p + cell.begin, cell.end - cell.begin), k, begin - cell.begin, end - cell.begin))
		return;
	bars = count(s, head, separator);
	for (; at < s.n; at = row.end + 1) {
		row = line_at(s, at);
		if (is_rule(s, row))
			continue;
		if (row.end - row.begin > ROW_MAX || count(s, row, separator) < bars)
			break;
		cell = cell_of(s, row, separator, column);
		cell.name = k->name;
		cell.rank = OPERANDS_RANK;
		if (cell_is_secret(str_n(s.p + cell.begin, cell.end - cell.begin), assign_is_password(k)))
			secrets_add(r, cell);
	}
	r->table.columns = r->table.turn == r->turn && r->table.head == head.begin ? r->table.columns + 1 : 1;
	r->table.turn = r->turn;
	r->table.head = head.begin;
	r->table.end = MIN(at, s.n);
}
