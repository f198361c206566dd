/* sql: statements that lose data. Strings and comments are left out; the first word of a statement
 * decides. */
#include "guard/internal.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
		c == '$' || (unsigned char)c >= 0x80;
}

/* Skips blanks and comments; gives the next word, or one character. */
static bool next_token(str *s, str *ret)
{
	size_t n = 0;

	for (;;) {
		while (s->n && strchr(" \t\r\n", s->p[0]) && s->p[0])
			*s = str_from(*s, 1);
		if (str_starts(*s, STR("--"))) {
			ptrdiff_t nl = str_find_char(*s, '\n');

			*s = nl < 0 ? STR("") : str_from(*s, (size_t)nl);
		} else if (str_starts(*s, STR("/*"))) {
			ptrdiff_t end = str_find(*s, STR("*/"));

			*s = end < 0 ? STR("") : str_from(*s, (size_t)end + 2);
		} else {
			break;
		}
	}
	if (!s->n)
		return false;
	if (s->p[0] == '\'' || s->p[0] == '"' || s->p[0] == '`') {
		char q = s->p[0];

		for (n = 1; n < s->n && s->p[n] != q; n++)
			n += s->p[n] == '\\';
		n = MIN(n + 1, s->n);
	} else if (is_word(s->p[0])) {
		while (n < s->n && is_word(s->p[n]))
			n++;
	} else {
		n = 1;
	}
	*ret = str_head(*s, n);
	*s = str_from(*s, n);
	return true;
}

static bool at(const struct fields *st, size_t i, const char *words)
{
	return i < st->n && str_in_nocase(st->v[i], words);
}

/* A condition that is always true: WHERE 1=1, WHERE true, WHERE 1. */
static bool is_tautology(const struct fields *st, size_t where)
{
	size_t left = st->n - where - 1;

	if (left == 0)
		return true;
	if (left == 1)
		return at(st, where + 1, "true 1");
	return left == 3 && str_eq(st->v[where + 2], STR("=")) && str_eq(st->v[where + 1], st->v[where + 3]);
}

static void judge_statement(struct run *x, const struct cmd *c, const struct fields *st)
{
	size_t i = 0, where = SIZE_MAX;

	if (!at(st, 0, "copy")) { /* which runs programs */
		str dropped = at(st, 0, "drop") && at(st, 1, "database")
			? st->v[MIN(at(st, 2, "if") ? 4 : 2, st->n - 1)]
			: STR_NONE;

		if (is_scratch_database(x, c, map_tr(x->a, dropped, STR("\"`"), STR(""), true)))
			return;
	}
	if (at(st, 0, "explain")) {
		if (!at(st, 1, "analyze"))
			return;
		i = 2;
	}
	if (at(st, i, "with")) /* WITH x AS (…) DELETE … */
		while (i < st->n && !at(st, i, "delete update truncate drop"))
			i++;
	for (size_t k = i; k < st->n; k++)
		if (at(st, k, "where"))
			where = k;
	if (at(st, i, "drop") &&
		at(st, i + 1,
			"table database schema tablespace keyspace user role owned collection "
			"materialized foreign temporary column family"))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this drops a %.*s and what is in it", STR_ARG(st->v[i + 1]));
	else if (at(st, i, "drop") && i + 1 < st->n)
		FAULT(x, c, RULE_DB, VERDICT_ASK, "this drops a part of the database");
	else if (at(st, i, "truncate"))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this empties a table");
	else if (at(st, i, "delete") && (at(st, i + 1, "from") || i + 1 < st->n) &&
		(where == SIZE_MAX || is_tautology(st, where)))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this deletes every row of a table");
	else if (at(st, i, "update") && (where == SIZE_MAX || is_tautology(st, where)) && st->n > i + 3)
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this changes every row of a table");
	else if (at(st, i, "alter") && st->n > i + 3) {
		for (size_t k = i; k + 1 < st->n; k++)
			if (at(st, k, "drop") && !at(st, k + 1, "constraint default not index"))
				FAULT(x, c, RULE_DB, VERDICT_DENY, "this drops a column and what is in it");
	} else if (at(st, i, "flushall flushdb"))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this empties the database");
	else if (at(st, i, "copy")) {
		for (size_t k = i; k + 1 < st->n; k++)
			if (at(st, k, "program"))
				FAULT(x, c, RULE_DB, VERDICT_DENY, "this makes the database run a program");
	}
}

void judge_sql(struct run *x, const struct cmd *c, str sql)
{
	struct fields st = { 0 };
	str token, line;

	if (has_mark(sql, "\4"))
		FAULT(x, c, RULE_DB, VERDICT_ASK, "this runs statements that come from the network");
	/* Lines for the client itself: psql's \! and mysql's system run a shell. */
	for (str rest = sql; str_split(&rest, '\n', &line);) {
		line = str_trim(line);
		if (str_starts(line, STR("\\!")) || str_starts(line, STR(".shell ")) ||
			str_starts(line, STR(".system ")) || str_starts(line, STR("system ")))
			(void)run_child_text(x, str_from(line, line.p[1] == '!' ? 2 : 7), STR_NONE);
	}
	while (next_token(&sql, &token) && spend(x, 1)) {
		if (token.p[0] == ';') {
			judge_statement(x, c, &st);
			st.n = 0;
		} else {
			fields_add(x->a, &st, token);
		}
	}
	judge_statement(x, c, &st);
}
