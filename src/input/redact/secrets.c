/* Secrets by form: the engine. The table is in patterns.c. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "redact/internal.h"

/* What a literal of the automaton stands for: its table and row. */
enum {
	OF_SECRET = 0,
	OF_KEYWORD = 1 << 10,
	OF_TAG = 2 << 10,
	OF_BASE64 = 3 << 10,
	OF_DIFF = 4 << 10,
	OF_MASK = 7 << 10
};

/* A secret of six bytes may become a name of thirty. */
#define TEXT_MAX (4 * LIMIT_RECORD)

static void add_row(struct automaton *a, str literals, unsigned value)
{
	str literal;

	while (str_split(&literals, ' ', &literal))
		if (literal.n)
			automaton_add(a, literal, value);
}

/* The tables never change, so all redactors of the process share one automaton: a tenth of a megabyte each. */
static struct automaton *automaton;
static int automaton_error;

static void build_automaton(void)
{
	char tag[40];

	automaton = automaton_new();
	for (size_t i = 0; i < nsecrets; i++)
		add_row(automaton, str_of(secrets[i].literals), OF_SECRET | (unsigned)i);
	for (size_t i = 0; i < nkeywords; i++)
		automaton_add(automaton, str_of(keywords[i].literal), OF_KEYWORD | (unsigned)i);
	for (unsigned i = 0; i < PRIVACY_TAGS; i++) {
		snprintf(tag, sizeof tag, "<%s", privacy_tags[i]);
		automaton_add(automaton, str_of(tag), OF_TAG | i);
	}
	base64_add_literals(automaton, OF_BASE64);
	automaton_add(automaton, STR("--- a/"), OF_DIFF);
	automaton_add(automaton, STR("--- /dev/null"), OF_DIFF);
	automaton_error = automaton_build(automaton);
	operands_init();
	tongues_init();
}

int secrets_init(struct redactor *r)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, build_automaton);
	r->automaton = automaton;
	r->patterns = xcalloc(nsecrets, sizeof *r->patterns);
	r->done = xcalloc(nsecrets + 3, sizeof *r->done);
	buf_init(&r->untagged, TEXT_MAX);
	buf_init(&r->text, TEXT_MAX);
	return automaton_error;
}

void secrets_release(struct redactor *r)
{
	for (size_t i = 0; i < nsecrets; i++)
		match_free(r->patterns[i]);
	free(r->patterns);
	free(r->done);
	free(r->spans);
	buf_release(&r->untagged);
	buf_release(&r->text);
}

/* -- finding ----------------------------------------------------------------------------------- */

void secrets_add(struct redactor *r, struct span span)
{
	if (r->nspans == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 16;
		r->spans = xrealloc(r->spans, r->cap * sizeof *r->spans);
	}
	r->spans[r->nspans++] = span;
}

static bool is_word_byte(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* A word begins at i. The letter of an escape (\n in JSON that was quoted twice), the digits of %3D
 * and the mark of a removed line in a diff belong to no word. */
static bool begins_word(str s, size_t i)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (i == 0 || (!is_word_byte(p[i - 1]) && p[i - 1] != '-'))
		return true;
	if (p[i - 1] == '-' && (i == 1 || !is_word_byte(p[i - 2])))
		return true;
	if (i >= 2 && p[i - 2] == '\\' && strchr("nrtbf", p[i - 1]))
		return true;
	return i >= 3 && p[i - 3] == '%' && is_hex(p[i - 2]) && is_hex(p[i - 1]);
}

/* The cheap reasons why the row cannot match here; most hits of short literals end here. */
static bool may_match(const struct secret *row, str s, const struct automaton_hit *hit)
{
	size_t n = hit->end - hit->begin;
	const char *at = row->literals;

	if ((row->flags & SECRET_WORD) && !begins_word(s, hit->begin))
		return false;
	for (size_t i = 0; i < row->run; i++)
		if (hit->end + i >= s.n ||
			(!is_word_byte((unsigned char)s.p[hit->end + i]) && s.p[hit->end + i] != '-'))
			return false;
	if (row->flags & SECRET_NOCASE)
		return true;
	/* The automaton ignores case, this row does not. */
	for (; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == n && memcmp(at, s.p + hit->begin, n) == 0)
			return true;
	return false;
}

static struct match *pattern_of(struct redactor *r, unsigned index)
{
	const struct secret *row = &secrets[index];
	unsigned flags = (row->back ? 0 : MATCH_ANCHORED) | (row->flags & SECRET_NOCASE ? MATCH_NOCASE : 0);
	struct err err;

	/* The table is part of the program: a row that does not compile never leaves the tests. */
	if (!r->patterns[index] && match_compile(str_of(row->pattern), flags, &r->patterns[index], &err) < 0)
		abort();
	return r->patterns[index];
}

static bool passes(enum secret_check check, str v)
{
	if (check == CHECK_USER)
		return base64_is_user_and_password(v);
	if (check == CHECK_MIXED && !value_is_mixed(v))
		return false;
	if (check == CHECK_BOTH && !value_is_mixed(v) && !value_is_drawn(v))
		return false;
	if ((check == CHECK_VALUE || check == CHECK_BOTH) && value_is_placeholder(v))
		return false;
	return true;
}

/* From the first line of a PEM block to its last, or to the end of the string when there is none
 * and what follows is a block indeed; false when it is a program that looks for one. */
static bool pem_end(struct redactor *r, str s, size_t *end_of_line)
{
	static const char between[] = " \t\r\n\\\"'+nr";
	size_t at = *end_of_line, body = at, run;
	ptrdiff_t end = -1;
	bool broken;

	if (r->no_pem_end != r->turn)
		end = str_find(str_from(s, at), STR("-----END"));
	if (end < 0)
		r->no_pem_end = r->turn;
	if (end >= 0) {
		at += (size_t)end + 8;
		end = str_find(str_from(s, at), STR("-----"));
		*end_of_line = end < 0 || end > 60 ? at : at + (size_t)end + 5;
		return true;
	}
	broken = at >= s.n || s.p[at] == '\n' || s.p[at] == '\r' || s.p[at] == '\\';
	while (body < s.n && body - at < 16 && s.p[body] && strchr(between, s.p[body]))
		body++;
	for (run = 0; body + run < s.n && run < 16; run++)
		if (!is_word_byte((unsigned char)s.p[body + run]) && !memchr("+/=", s.p[body + run], 3))
			break;
	*end_of_line = s.n;
	return broken || run >= 16 || (run && body + run == s.n);
}

/* Does the row match at this place? */
static bool match_secret(struct redactor *r, str s, unsigned index, const struct automaton_hit *hit, struct span *ret)
{
	const struct secret *row = &secrets[index];
	size_t groups[2 * MATCH_GROUPS], from = hit->begin, ahead = row->ahead ? row->ahead : SECRET_AHEAD;
	struct span span = { .name = row->name, .rank = index };

	if (!may_match(row, s, hit))
		return false;
	if (row->back)
		from -= MIN(from, (size_t)row->back);
	if (match_find(pattern_of(r, index), str_head(s, hit->begin + ahead), from, groups) <= 0)
		return false;
	span.begin = groups[2] != MATCH_UNSET ? groups[2] : groups[0];
	span.end = groups[2] != MATCH_UNSET ? groups[3] : groups[1];
	if (!passes(row->check, str_n(s.p + span.begin, span.end - span.begin)))
		return false;
	/* A pattern that filled its window may have more of the same behind it. */
	while (span.end == hit->begin + ahead && ahead < s.n && span.end < s.n &&
		(is_word_byte((unsigned char)s.p[span.end]) || memchr("+/=-.%", s.p[span.end], 6)))
		span.end++, ahead++;
	*ret = span;
	return true;
}

/* Nothing is looked for again in what was found already: that keeps hostile text linear. */
static bool is_done(const struct redactor *r, size_t what, size_t begin)
{
	return r->done[what].turn == r->turn && begin < r->done[what].end;
}

static void set_done(struct redactor *r, size_t what, size_t end)
{
	r->done[what].turn = r->turn;
	r->done[what].end = end;
}

static void try_secret(struct redactor *r, str s, unsigned index, const struct automaton_hit *hit)
{
	struct span span;

	if (is_done(r, index, hit->begin) || !match_secret(r, s, index, hit, &span))
		return;
	if ((secrets[index].flags & SECRET_PEM) && !pem_end(r, s, &span.end))
		return;
	set_done(r, index, MAX(span.end, hit->end));
	secrets_add(r, span);
}

static void try_base64(struct redactor *r, str s, const struct automaton_hit *hit)
{
	struct span span;
	const char *name;

	if (is_done(r, nsecrets + 1, hit->begin))
		return;
	name = base64_find(r, s, hit->begin, hit->end, &span);
	set_done(r, nsecrets + 1, span.end);
	span.name = name;
	span.rank = (unsigned)(nsecrets + nkeywords);
	if (name)
		secrets_add(r, span);
}

const char *secrets_name_in(struct redactor *r, str s)
{
	struct automaton_scan scan = { .text = s };
	struct automaton_hit hit;
	struct span span;

	while (automaton_next(r->automaton, &scan, &hit))
		if ((hit.value & OF_MASK) == OF_SECRET &&
			match_secret(r, s, hit.value & ~(unsigned)OF_MASK, &hit, &span))
			return span.name;
	return NULL;
}

static void try_keyword(struct redactor *r, str s, unsigned index, const struct automaton_hit *hit)
{
	struct span span;

	if (is_done(r, nsecrets, hit->begin))
		return;
	if (!assign_find(s, &keywords[index], hit->begin, hit->end, &span)) {
		table_find(r, s, &keywords[index], hit->begin, hit->end);
		return;
	}
	span.rank = (unsigned)(nsecrets + index);
	set_done(r, nsecrets, span.end);
	secrets_add(r, span);
}

/* Goes back over the lines by which diff and git introduce a file. */
static size_t head_of_file(str s, size_t at)
{
	static const char *const heads[] = { "--- ", "+++ ", "index ", "diff ", "new file", "deleted file", "old mode",
		"new mode", "similarity ", "rename " };

	for (;;) {
		size_t line = at ? at - 1 : 0, i = 0;

		while (line > 0 && s.p[line - 1] != '\n')
			line--;
		while (i < countof(heads) && !str_starts(str_from(s, line), str_of(heads[i])))
			i++;
		if (i == countof(heads) || line == at)
			return at;
		at = line;
	}
}

/* Lines of a secret file that a diff shows, up to the next file in it. */
static void try_diff(struct redactor *r, str s, size_t at)
{
	struct patch p = patch_open(STR("")), next;
	struct patch_file file;
	struct span span = { .name = "secret-file" };
	str base;

	if (is_done(r, nsecrets + 2, at) || (at > 0 && s.p[at - 1] != '\n'))
		return;
	p.rest = str_from(s, at);
	if (!patch_next(&p, &file) || !file_is_secret(file.path, &base))
		return;
	span.begin = s.n - p.rest.n;
	next = p;
	span.end = patch_next(&next, &file) ? head_of_file(s, s.n - next.rest.n) : s.n;
	if (span.end <= span.begin)
		return;
	set_done(r, nsecrets + 2, span.end);
	secrets_add(r, span);
}

/* Fills r->spans. False when the string has privacy tags and must be scanned without them. */
static bool find(struct redactor *r, str s, bool tags, const char **ret_key)
{
	struct automaton_scan scan = { .text = s };
	struct automaton_hit hit;

	r->nspans = 0;
	r->turn++;
	while (automaton_next(r->automaton, &scan, &hit)) {
		unsigned index = hit.value & ~(unsigned)OF_MASK;

		switch (hit.value & OF_MASK) {
		case OF_SECRET: try_secret(r, s, index, &hit); break;
		case OF_KEYWORD:
			try_keyword(r, s, index, &hit);
			if (ret_key && assign_is_name(s, &keywords[index], hit.begin, hit.end))
				*ret_key = keywords[index].name;
			break;
		case OF_BASE64: try_base64(r, s, &hit); break;
		case OF_DIFF: try_diff(r, s, hit.begin); break;
		case OF_TAG:
			if (tags)
				return false;
			break;
		}
	}
	operands_find(r, s);
	tongues_find(r, s);
	return true;
}

/* -- replacing --------------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Not in the middle of a character. */
static void widen(str s, struct span *span)
{
	while (span->begin > 0 && ((unsigned char)s.p[span->begin] & 0xC0) == 0x80)
		span->begin--;
	while (span->end < s.n && ((unsigned char)s.p[span->end] & 0xC0) == 0x80)
		span->end++;
}

static str replace(struct redactor *r, str s)
{
	size_t from = 0, i = 0;

	for (size_t j = 1; j < r->nspans; j++)
		if (compare_spans(&r->spans[j - 1], &r->spans[j]) > 0) {
			qsort(r->spans, r->nspans, sizeof *r->spans, compare_spans);
			break;
		}
	buf_clear(&r->text);
	while (i < r->nspans) {
		struct span span = r->spans[i++];

		for (; i < r->nspans && r->spans[i].begin < span.end; i++) {
			span.end = MAX(span.end, r->spans[i].end);
			if (r->spans[i].rank < span.rank) {
				span.rank = r->spans[i].rank;
				span.name = r->spans[i].name;
			}
		}
		widen(s, &span);
		buf_add(&r->text, s.p + from, span.begin - from);
		buf_add_str(&r->text, STR("[redacted:"));
		buf_add_str(&r->text, str_of(span.name));
		buf_add_char(&r->text, ']');
		from = span.end;
		r->secrets++;
	}
	buf_add(&r->text, s.p + from, s.n - from);
	return buf_str(&r->text);
}

enum { SHORTEST = 3 }; /* "pwd" as a key */

str secrets_clean(struct redactor *r, str s, const char **ret_key)
{
	if (ret_key)
		*ret_key = NULL;
	if (s.n < SHORTEST)
		return s;
	if (!find(r, s, /* tags= */ true, ret_key)) {
		buf_clear(&r->untagged);
		tags_strip(&r->untagged, s, NULL);
		s = buf_str(&r->untagged);
		find(r, s, /* tags= */ false, ret_key);
	}
	return r->nspans ? replace(r, s) : s;
}
