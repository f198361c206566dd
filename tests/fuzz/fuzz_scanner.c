/* However the bytes are split, the scanner finds the same end. The splits come from the input
 * itself, so that a failure replays. */
#include <stdint.h>
#include <stdlib.h>

#include "client/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	struct scanner whole = { 0 }, parts = { 0 }, head = { 0 };
	size_t end = scanner_feed(&whole, p, size), at = 0;
	uint32_t random = (uint32_t)size * 2654435761u + 1;

	check(end == size || scanner_done(&whole));
	while (at < size && !scanner_done(&parts)) {
		size_t n, took;

		random = random * 1664525 + 1013904223 + data[at];
		n = 1 + (random >> 16) % 13;
		if (n > size - at)
			n = size - at;
		took = scanner_feed(&parts, p + at, n);
		check(took == n || scanner_done(&parts));
		at += took;
	}
	check(at == end && parts.state == whole.state && parts.depth == whole.depth);
	if (!scanner_done(&whole))
		return 0;
	/* Not one byte earlier, and nothing after the end. */
	scanner_feed(&head, p, end - 1);
	check(!scanner_done(&head));
	check(scanner_feed(&whole, p, size) == 0);
	return 0;
}
