#include "transcript/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "os/os.h"

/* No mmap: a file that shrinks while it is read would be a SIGBUS. */
enum { CHUNK = 256 << 10 };

void lines_init(struct lines *l, int fd, int64_t offset, int64_t limit, bool skipping)
{
	*l = (struct lines){ .fd = fd, .base = offset, .end = offset, .limit = limit, .skipping = skipping };
}

void lines_release(struct lines *l)
{
	free(l->p);
	l->p = NULL;
	l->start = l->scan = l->len = l->cap = 0;
}

int64_t lines_offset(const struct lines *l)
{
	return l->skipping ? l->base + (int64_t)l->len : l->end;
}

/* Forgets everything read so far; what comes next is at offset. */
static void drop_all(struct lines *l, int64_t offset)
{
	l->base = offset;
	l->start = l->scan = l->len = 0;
}

/* Room for one chunk behind what is there. A buffer that one giant line made large becomes small again. */
static void make_room(struct lines *l)
{
	size_t kept = l->len - l->start;

	if (l->start > 0) {
		if (kept > 0)
			memmove(l->p, l->p + l->start, kept);
		l->base += (int64_t)l->start;
		l->scan -= l->start;
		l->start = 0;
		l->len = kept;
	}
	if (l->cap > 4 * (size_t)CHUNK && kept < CHUNK) {
		l->cap = 2 * (size_t)CHUNK;
		l->p = xrealloc(l->p, l->cap);
	}
	if (l->cap - l->len < CHUNK) {
		l->cap = MAX(2 * l->cap, 2 * (size_t)CHUNK);
		l->p = xrealloc(l->p, l->cap);
	}
}

/* Jumps over a hole when nothing of the line is worth keeping. False: there is only hole up to the end. */
static bool jump_hole(struct lines *l)
{
	int64_t at = l->base + (int64_t)l->len, next;

	if (!l->zeros || l->len > l->start)
		return true;
	next = os_next_data(l->fd, at);
	if (next == -ENXIO || next > l->limit)
		next = l->limit;
	if (next > at) {
		l->counts.bytes += (uint64_t)(next - at);
		drop_all(l, next);
	}
	return next < l->limit;
}

/* 1: there is more in the buffer; 0: the end; -errno. */
static int fill(struct lines *l)
{
	int64_t left;
	ssize_t got;

	if (l->skipping || l->len - l->start > TRANSCRIPT_LINE_MAX) {
		l->skipping = true;
		drop_all(l, l->base + (int64_t)l->len);
	}
	/* After a crash a file may go on behind a run of NULs: a line does not begin with them. */
	while (l->start < l->len && l->p[l->start] == 0)
		l->start++;
	l->scan = MAX(l->scan, l->start);
	make_room(l);
	if (!jump_hole(l))
		return 0;
	left = l->limit - l->base - (int64_t)l->len;
	if (left <= 0)
		return 0;
	do
		got = pread(l->fd, l->p + l->len, (size_t)MIN(left, (int64_t)CHUNK),
			(off_t)(l->base + (int64_t)l->len));
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : 0;
	l->len += (size_t)got;
	l->counts.bytes += (uint64_t)got;
	l->zeros = l->p[l->len - 1] == 0;
	return 1;
}

/* Without what is not text at both ends: NULs, the CR of a CRLF, a byte order mark at the beginning of the file. */
static str tidy(str line, int64_t offset)
{
	if (offset == 0 && str_starts(line, STR("\xEF\xBB\xBF")))
		line = str_from(line, 3);
	while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == 0))
		line.n--;
	while (line.n > 0 && line.p[0] == 0)
		line = str_from(line, 1);
	return str_trim(line);
}

int lines_next(struct lines *l, str *ret, int64_t *ret_offset)
{
	for (;;) {
		char *nl = l->len > l->scan ? memchr(l->p + l->scan, '\n', l->len - l->scan) : NULL;
		bool skipped = l->skipping;
		size_t stop;
		int got;

		if (!nl) {
			l->scan = l->len;
			got = fill(l);
			if (got <= 0)
				return got;
			continue;
		}
		stop = (size_t)(nl - l->p);
		*ret_offset = l->end;
		*ret = tidy(str_n(l->p + l->start, stop - l->start), l->end);
		l->start = l->scan = stop + 1;
		l->end = l->base + (int64_t)l->start;
		l->skipping = false;
		l->counts.lines++;
		if (skipped || ret->n > TRANSCRIPT_LINE_MAX)
			l->counts.long_lines++;
		else if (ret->n > 0)
			return 1;
	}
}
