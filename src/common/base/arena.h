/* arena: memory that lives as long as one piece of work (one event, one command) and is freed in one call.
 *
 * Blocks double in size from 4 KiB. arena_reset() keeps the first block, so that an arena used again
 * and again (one per turn, pooled) stops calling malloc. Pointers stay valid until reset or release. */
#ifndef HOOKD_BASE_ARENA_H
#define HOOKD_BASE_ARENA_H

#include <stddef.h>

#include "base/macro.h"
#include "base/str.h"

struct arena_block;

struct arena {
	struct arena_block *block; /* newest first */
	size_t total;              /* bytes of all blocks, for accounting */
};

void arena_init(struct arena *a);
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

/* Zeroed, aligned for any type; never NULL. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));
/* Not zeroed, not aligned: for bytes. */
char *arena_bytes(struct arena *a, size_t size) __attribute__((returns_nonnull));

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* Copies; the copy ends in NUL. STR_NONE stays STR_NONE. */
str arena_str(struct arena *a, str s);
str arena_strf(struct arena *a, const char *fmt, ...) _printf_(2, 3);
const char *arena_cstr(struct arena *a, str s);

#endif
