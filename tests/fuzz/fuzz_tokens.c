/* Any bytes as a text: its words in a small vocabulary. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encoder/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers 300 to 303 are a, #b, the and 12; the table is as pack.py makes it. */
static const char *const words[] = { "a", "#b", "the", "12" };

enum { FIRST = 300, SLOTS = 512 };

static const struct vocabulary *vocabulary(void)
{
	static uint16_t slot[SLOTS];
	static uint32_t offset[FIRST + countof(words) + 1];
	static char letters[16];
	static struct vocabulary v = { FIRST + countof(words), SLOTS, slot, offset, letters };
	size_t n = 0;

	if (offset[FIRST + 1])
		return &v;
	for (size_t i = 0; i < countof(words); i++) {
		uint32_t h = 2166136261u;

		for (const char *c = words[i]; *c; c++) {
			h = (h ^ (unsigned char)*c) * 16777619u;
			letters[n++] = *c;
		}
		while (slot[h % SLOTS])
			h++;
		slot[h % SLOTS] = (uint16_t)(FIRST + i + 1);
		offset[FIRST + i + 1] = (uint32_t)n;
	}
	return &v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t ids[64];
	size_t n = tokens_of(vocabulary(), str_n((const char *)data, size), ids, countof(ids));

	if (n > countof(ids) || n > size)
		abort();
	for (size_t i = 0; i < n; i++)
		if (ids[i] < TOKEN_OTHER || ids[i] >= FIRST + countof(words))
			abort();
	return 0;
}
