/* The pieces of a RECORDS frame lie in its body, one behind the other; what is written is read back. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "event/event.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void write_and_read(str a, str b)
{
	_cleanup_(buf_release) struct buf out = BUF_INIT(MIB(1));
	str rest, piece;

	wire_records_begin(&out, a);
	wire_records_add(&out, b);
	rest = buf_str(&out);
	require(wire_records_next(&rest, &piece) == 1 && str_eq(piece, a));
	require(wire_records_next(&rest, &piece) == 1 && str_eq(piece, b));
	require(wire_records_next(&rest, &piece) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str all = str_n((const char *)data, size), rest = all, piece;
	size_t pieces = 0;

	while (wire_records_next(&rest, &piece) == 1) {
		struct record rec;

		require(piece.n == 0 || (piece.p >= all.p && piece.p + piece.n <= all.p + all.n));
		require(++pieces <= size + 1);
		(void)record_decode(piece, &rec);
	}
	write_and_read(str_head(all, size / 2), str_from(all, size / 2));
	return 0;
}
