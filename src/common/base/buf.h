/* buf: owned, growable bytes with a mandatory maximum.
 *
 * Invariants: p is never NULL, p[len] == 0, len < cap or cap == 0, len <= max. Appending past max
 * returns -E2BIG, leaves the contents as they were and sets `full`, so that a writer of many small
 * pieces may check once at the end. buf_release() frees; a released buf is usable again. */
#ifndef HOOKD_BASE_BUF_H
#define HOOKD_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/str.h"

struct buf {
	char *p;
	size_t len, cap, max;
	bool full;
};

extern char buf_empty[1];

#define BUF_INIT(max_)                        \
	{                                     \
		.p = buf_empty, .max = (max_) \
	}

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);

/* Empties but keeps the memory. */
void buf_clear(struct buf *b);

/* Makes room for n more bytes and returns where they go, or NULL past max. The caller writes them
 * and then calls buf_commit(). */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);

int buf_add(struct buf *b, const void *p, size_t n);
int buf_add_str(struct buf *b, str s);
int buf_add_char(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
/* Words of somebody else's among ours: at most that many bytes of them, in one line, without a "<" or ">" that could
 * close a frame of ours or open one of the agent's own. */
int buf_add_plain(struct buf *b, str text, size_t most);
int buf_vaddf(struct buf *b, const char *fmt, va_list ap) _printf_(2, 0);

/* Removes n bytes at the front. */
void buf_consume(struct buf *b, size_t n);

/* Hands the memory (NUL-terminated) to the caller, who frees it. */
char *buf_detach(struct buf *b, size_t *ret_len);

static inline str buf_str(const struct buf *b)
{
	return str_n(b->p, b->len);
}

#endif
