#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

enum { FIRST_BLOCK = 4096 - sizeof(struct arena_block) };

void arena_init(struct arena *a)
{
	*a = (struct arena){ 0 };
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->block, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	arena_init(a);
}

void arena_reset(struct arena *a)
{
	struct arena_block *b = a->block, *next;

	if (!b)
		return;
	for (; b->next; b = next) {
		next = b->next;
		free(b);
	}
	b->used = 0;
	a->block = b;
	a->total = b->size;
}

static struct arena_block *grow(struct arena *a, size_t size)
{
	size_t want = a->block ? a->block->size * 2 : FIRST_BLOCK;
	struct arena_block *b;

	/* Past 1 MiB doubling would waste more than it saves. */
	if (want > 1 << 20)
		want = 1 << 20;
	if (want < size)
		want = size;
	b = xmalloc(sizeof *b + want);
	*b = (struct arena_block){ .next = a->block, .size = want };
	a->block = b;
	a->total += want;
	return b;
}

char *arena_bytes(struct arena *a, size_t size)
{
	struct arena_block *b = a->block;
	char *p;

	if (!b || b->size - b->used < size)
		b = grow(a, size);
	p = b->data + b->used;
	b->used += size;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct arena_block *b = a->block;
	void *p;

	if (b)
		b->used = MIN(b->size, (b->used + align - 1) & ~(align - 1));
	/* A fresh block starts aligned, so growing inside arena_bytes() is fine. */
	p = arena_bytes(a, size);
	return memset(p, 0, size);
}

str arena_str(struct arena *a, str s)
{
	char *p;

	if (!s.p)
		return STR_NONE;
	p = arena_bytes(a, s.n + 1);
	memcpy(p, s.p, s.n);
	p[s.n] = 0;
	return str_n(p, s.n);
}

const char *arena_cstr(struct arena *a, str s)
{
	return s.p ? arena_str(a, s).p : "";
}

str arena_strf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return STR_NONE;
	p = arena_bytes(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return str_n(p, (size_t)n);
}
