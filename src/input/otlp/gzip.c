/* gzip, by zlib; nobody else sees that.
 *
 * Two passes: the first counts and checks, the second keeps. So a body that unpacks to gigabytes costs one piece of
 * memory, and one that is damaged at its end is refused before anything of it has been used. There is no limit on the
 * ratio: ordinary batches repeat themselves a hundred times over. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/alloc.h"
#include "otlp/otlp.h"

enum {
	PIECE = 64 << 10,
	GZIP_ONLY = 31, /* the largest window, and a gzip header, nothing else */
};

struct unpacking {
	z_stream z;
	unsigned char *piece;
	size_t total, max;
	struct buf *keep; /* NULL: only count */
};

/* One member; zlib checks its length and CRC. 1: it is complete. */
static int unpack_member(struct unpacking *u)
{
	int r;

	do {
		size_t n;

		u->z.next_out = u->piece;
		u->z.avail_out = PIECE;
		r = inflate(&u->z, Z_NO_FLUSH);
		if (r != Z_OK && r != Z_STREAM_END)
			return -EBADMSG; /* Z_BUF_ERROR: the input ends here */
		n = PIECE - u->z.avail_out;
		u->total += n;
		if (u->total > u->max)
			return -E2BIG;
		if (u->keep && buf_add(u->keep, u->piece, n) < 0)
			return -E2BIG;
	} while (r != Z_STREAM_END);
	return 1;
}

static int unpack(str in, size_t max, unsigned char *piece, struct buf *keep, size_t *ret_total)
{
	struct unpacking u = { .piece = piece, .max = max, .keep = keep };
	int r;

	u.z.next_in = (unsigned char *)(uintptr_t)in.p; /* zlib only reads it */
	u.z.avail_in = (unsigned)in.n;
	if (inflateInit2(&u.z, GZIP_ONLY) != Z_OK)
		return -ENOMEM;
	do
		r = unpack_member(&u);
	while (r == 1 && u.z.avail_in && inflateReset(&u.z) == Z_OK);
	inflateEnd(&u.z);
	*ret_total = u.total;
	return r < 0 ? r : 0;
}

int otlp_gunzip(str in, size_t max, struct buf *ret)
{
	unsigned char *piece;
	size_t total;
	int r;

	buf_init(ret, max);
	if (in.n > OTLP_GZIP_MAX)
		return -E2BIG;
	piece = xmalloc(PIECE);
	r = unpack(in, max, piece, NULL, &total);
	if (r == 0 && total && !buf_reserve(ret, total))
		r = -E2BIG;
	if (r == 0)
		r = unpack(in, max, piece, ret, &total);
	free(piece);
	return r;
}
