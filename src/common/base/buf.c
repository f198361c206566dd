#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* What an empty buf points at, so that p is never NULL and always ends in NUL. Never written. */
char buf_empty[1];

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf)BUF_INIT(max);
}

void buf_release(struct buf *b)
{
	if (b->cap)
		free(b->p);
	buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->cap)
		b->p[0] = 0;
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t need, cap;

	if (n > b->max || b->len > b->max - n) {
		b->full = true;
		return NULL;
	}
	need = b->len + n + 1;
	if (need > b->cap) {
		cap = b->cap ? b->cap : 64;
		while (cap < need)
			cap *= 2;
		/* Doubling may overshoot the maximum by far; memory then follows the maximum. */
		if (cap > b->max + 1)
			cap = b->max + 1;
		b->p = xrealloc(b->cap ? b->p : NULL, cap);
		b->p[b->len] = 0; /* nothing may ever be committed: still a string */
		b->cap = cap;
	}
	return b->p + b->len;
}

void buf_commit(struct buf *b, size_t n)
{
	if (!n)
		return;
	b->len += n;
	b->p[b->len] = 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	char *to;

	if (!n)
		return 0;
	to = buf_reserve(b, n);
	if (!to)
		return -E2BIG;
	memcpy(to, p, n);
	buf_commit(b, n);
	return 0;
}

int buf_add_str(struct buf *b, str s)
{
	return buf_add(b, s.p, s.n);
}

int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

/* Line breaks of Unicode: U+0085, U+2028, U+2029; how many bytes, 0: it is none. */
static size_t line_break_at(str text)
{
	static const char *const breaks[] = { "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };

	for (size_t i = 0; i < countof(breaks); i++)
		if (str_starts(text, str_of(breaks[i])))
			return strlen(breaks[i]);
	return 0;
}

int buf_add_plain(struct buf *b, str text, size_t most)
{
	str shown = str_cut_utf8(text, most);
	bool blank = false;
	size_t begin = b->len;

	for (size_t i = 0, n; i < shown.n; i += n) {
		unsigned char c = (unsigned char)shown.p[i];
		size_t broken = c >= 0x80 ? line_break_at(str_from(shown, i)) : 0;

		n = MAX(broken, (size_t)1);
		if (c <= ' ' || c == 0x7f || broken) {
			blank = true;
			continue;
		}
		if (blank && b->len > begin)
			buf_add_char(b, ' ');
		blank = false;
		if (c == '<')
			buf_add_str(b, STR("‹"));
		else if (c == '>')
			buf_add_str(b, STR("›"));
		else
			buf_add_char(b, (char)c);
	}
	if (shown.n < text.n)
		buf_add_str(b, STR("…"));
	return b->full ? -E2BIG : 0;
}

int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *to;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return -EINVAL;
	to = buf_reserve(b, (size_t)n);
	if (!to)
		return -E2BIG;
	if (n)
		vsnprintf(to, (size_t)n + 1, fmt, ap);
	buf_commit(b, (size_t)n);
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vaddf(b, fmt, ap);
	va_end(ap);
	return r;
}

void buf_consume(struct buf *b, size_t n)
{
	if (!n)
		return;
	memmove(b->p, b->p + n, b->len - n);
	b->len -= n;
	b->p[b->len] = 0;
}

char *buf_detach(struct buf *b, size_t *ret_len)
{
	char *p = b->cap ? b->p : xstrdup("");

	if (ret_len)
		*ret_len = b->len;
	b->cap = 0;
	buf_init(b, b->max);
	return p;
}
