/* alloc: allocation that cannot fail. hookd aborts when memory is gone: everything acknowledged is
 * in the journal, so a restart loses nothing, and recovery code that never runs is never right. */
#ifndef HOOKD_BASE_ALLOC_H
#define HOOKD_BASE_ALLOC_H

#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));

/* free(*p) for _cleanup_. */
void freep(void *p);

#endif
