/* Frames that carry history. Not part of hookc. */
#include <errno.h>

#include "wire/wire.h"

static void add_piece(struct buf *b, str piece)
{
	const uint8_t length[4] = { (uint8_t)piece.n, (uint8_t)(piece.n >> 8), (uint8_t)(piece.n >> 16),
		(uint8_t)(piece.n >> 24) };

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
	const uint8_t *p = (const uint8_t *)rest->p;
	size_t n;

	if (!rest->n)
		return 0;
	if (rest->n < 4)
		return -EBADMSG;
	n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
	if (n > rest->n - 4)
		return -EBADMSG;
	*ret = str_n(rest->p + 4, n);
	*rest = str_from(*rest, 4 + n);
	return 1;
}
