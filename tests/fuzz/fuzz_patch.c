/* The files of any patch: paths lie in its text, one behind the other, and there are no more of them than lines. */
#include <stdint.h>
#include <stdlib.h>

#include "event/event.h"
#include "redact/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = str_n((const char *)data, size), file;
	struct patch p = patch_open(text);
	struct patch_file f;
	size_t lines = 1, files = 0;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	while (patch_next(&p, &f)) {
		require(f.path.n == 0 || (f.path.p >= text.p && f.path.p + f.path.n <= text.p + text.n));
		require(p.rest.n == 0 || p.rest.p + p.rest.n == text.p + text.n);
		require(++files <= lines);
	}
	if (file_patch_touches(text, &file))
		require(file.n > 0 && file.p >= text.p && file.p + file.n <= text.p + text.n);
	return 0;
}
