/* Any command is looked through for secret files; what is left of one that writes such a file is never longer than
 * its pieces and their notes, and a file that is written by a plain echo is always seen. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "redact/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_release) struct buf out = BUF_INIT(MIB(16)), own = BUF_INIT(MIB(1));
	str text = str_n((const char *)data, size), name;
	struct arena a;

	if (size > KIB(64))
		return 0;
	arena_init(&a);
	if (command_touches(&a, text, &name)) {
		require(name.n > 0);
		command_mask(&out, text, name);
		require(out.len <= size * 120 + 1);
	}
	buf_add_str(&own, STR("echo COLOUR=teal > .env\n"));
	buf_add_str(&own, text);
	require(command_touches(&a, buf_str(&own), &name) && str_eq(name, STR(".env")));
	buf_clear(&out);
	require(command_mask(&out, buf_str(&own), name));
	require(str_find(str_head(buf_str(&out), 30), STR("teal")) < 0);
	arena_release(&a);
	return 0;
}
