/* Privacy tags. Tags of one name nest; inside one, the others mean nothing. Taking a tag out can
 * put the two halves of another one together (<pri<private></private>vate>), so passes go on until
 * nothing is left; if that is nested deeper than PASSES, the rest of the string is dropped.
 */
#include "redact/internal.h"

const char *const privacy_tags[PRIVACY_TAGS] = {
	"private",
	"claude-mem-context",
	"system_instruction",
	"system-instruction",
	"persisted-output",
	"system-reminder",
};

enum { PASSES = 4 };

/* A tag's name ends here: not <privateer>. The end of the string counts, it may have been cut. */
static bool ends_name(str s, size_t at)
{
	return at >= s.n || strchr(" \t\r\n\f\v/>", s.p[at]);
}

/* The name of a tag is at `at`. */
static bool is_name(str s, size_t at, str name)
{
	return s.n >= at && s.n - at >= name.n && str_eq_nocase(str_n(s.p + at, name.n), name) &&
		ends_name(s, at + name.n);
}

/* The name comes after "</", or "<\/" as some write it in JSON, at `at`. */
static bool closes(str s, size_t at, str name)
{
	at++;
	if (at < s.n && s.p[at] == '\\')
		at++;
	return at < s.n && s.p[at] == '/' && is_name(s, at + 1, name);
}

/* Which tag opens at `at`, or -1. */
static int opens(str s, size_t at)
{
	for (int i = 0; i < PRIVACY_TAGS; i++)
		if (is_name(s, at + 1, str_of(privacy_tags[i])))
			return i;
	return -1;
}

/* Past the '>' of the tag at `at`, or the end of the string. */
static size_t past(str s, size_t at)
{
	ptrdiff_t end = str_find_char(str_from(s, at), '>');

	return end < 0 ? s.n : at + (size_t)end + 1;
}

/* <private/> encloses nothing. With quotes in it the '>' may be part of an attribute. */
static bool closes_itself(str s, size_t at, size_t end)
{
	str tag = str_n(s.p + at, end - at);

	return str_ends(tag, STR("/>")) && str_find_char(tag, '"') < 0 && str_find_char(tag, '\'') < 0;
}

/* Where what opens at `at` ends: past its closing tag, or the end of the string. */
static size_t skip(str s, size_t at, str name)
{
	size_t depth = 1;
	const char *p;

	if (closes_itself(s, at, past(s, at)))
		return past(s, at);
	for (at++; at < s.n && (p = memchr(s.p + at, '<', s.n - at)); at++) {
		at = (size_t)(p - s.p);
		if (is_name(s, at + 1, name))
			depth++;
		else if (closes(s, at, name) && --depth == 0)
			return past(s, at);
	}
	return s.n;
}

/* One pass. */
static unsigned strip(struct buf *b, str s, struct tags_report *report)
{
	size_t from = 0, at = 0;
	unsigned removed = 0;
	const char *p;

	while (at < s.n && (p = memchr(s.p + at, '<', s.n - at))) {
		int tag;

		at = (size_t)(p - s.p);
		tag = opens(s, at);
		if (tag < 0) {
			at++;
			continue;
		}
		buf_add(b, s.p + from, at - from);
		from = at = skip(s, at, str_of(privacy_tags[tag]));
		report->removed[tag]++;
		removed++;
	}
	buf_add(b, s.p + from, s.n - from);
	return removed;
}

/* Offset of the first tag that opens, or the length. */
static size_t first_tag(str s)
{
	const char *p;
	size_t at = 0;

	for (; at < s.n && (p = memchr(s.p + at, '<', s.n - at)); at++) {
		at = (size_t)(p - s.p);
		if (opens(s, at) >= 0)
			return at;
	}
	return s.n;
}

static void cut_to(struct buf *b, size_t len)
{
	b->len = len;
	if (b->cap)
		b->p[len] = 0;
}

void tags_strip(struct buf *b, str s, struct tags_report *ret)
{
	_cleanup_(buf_release) struct buf other = BUF_INIT(b->max);
	struct tags_report ignored = { 0 };
	size_t start = b->len;

	if (!ret)
		ret = &ignored;
	if (!strip(b, s, ret))
		return;
	for (int i = 1; i < PASSES; i++) {
		str left = str_from(buf_str(b), start);

		if (first_tag(left) == left.n)
			return;
		buf_clear(&other);
		strip(&other, left, ret);
		cut_to(b, start);
		buf_add_str(b, buf_str(&other));
	}
	cut_to(b, start + first_tag(str_from(buf_str(b), start)));
}
