/* Bytes as a text that may be poisoned: every reading of it is made and searched. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "memory/disguise.h"
#include "memory/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct poison *poison;
	str text = str_n((const char *)data, size), readings[READINGS];
	struct arena arena;

	if (!poison)
		poison = poison_new();
	arena_init(&arena);
	disguise_read(&arena, text, readings);
	/* What was folded is text, however broken the bytes were. */
	if (!utf8_valid(readings[READING_PLAIN]))
		abort();
	arena_release(&arena);
	poison_find(poison, text);
	return 0;
}
