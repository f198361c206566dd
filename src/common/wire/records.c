/* Frames that carry history. Not part of hookc. */
#include <errno.h>

#include "base/codec.h"
#include "wire/wire.h"

static void add_piece(struct buf *b, str piece)
{
	uint8_t length[4];

	put_le(length, piece.n, sizeof length);
	buf_add(b, length, sizeof length);
	buf_add_str(b, piece);
}

void wire_records_begin(struct buf *b, str head)
{
	buf_clear(b);
	add_piece(b, head);
}

void wire_records_add(struct buf *b, str record)
{
	add_piece(b, record);
}

int wire_records_next(str *rest, str *ret)
{
	size_t n;

	if (!rest->n)
		return 0;
	if (rest->n < 4)
		return -EBADMSG;
	n = (size_t)get_le(rest->p, 4);
	if (n > rest->n - 4)
		return -EBADMSG;
	*ret = str_n(rest->p + 4, n);
	*rest = str_from(*rest, 4 + n);
	return 1;
}
