/* Reading: the writer thread's half, also used by replay, spool pickup and `hookd db check`. */
#include "journal/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/limits.h"
#include "journal/format.h"
#include "journal/internal.h"

enum {
	READ_STEP = 1 << 18,
	COUNT_BYTES = 256 << 20, /* of checksums, for a count: random bytes often look like the beginning of a record */
};

/* 1: nothing but zeros from here to the end of the file. */
static int is_blank(int fd, uint64_t at)
{
	char block[4096];
	ssize_t n;

	for (;;) {
		n = pread(fd, block, sizeof block, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 1;
		for (ssize_t i = 0; i < n; i++)
			if (block[i])
				return 0;
		at += (uint64_t)n;
	}
}

int journal_reader_start(struct journal_reader *r, int fd)
{
	uint8_t header[SEGMENT_HEADER];
	struct stat st;
	ssize_t n;

	*r = (struct journal_reader){ .fd = fd, .offset = SEGMENT_HEADER, .end = UINT64_MAX };
	buf_init(&r->data, LIMIT_RECORD + RECORD_PREFIX + READ_STEP);
	if (r->fd < 0)
		return -errno;
	if (fstat(r->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		journal_reader_close(r);
		return -EBADMSG;
	}
	n = pread(r->fd, header, sizeof header, 0);
	if (n != (ssize_t)sizeof header || memcmp(header, SEGMENT_MAGIC, 8) != 0 ||
		format_get(header + 8, 4) != SEGMENT_VERSION) {
		int error = n < 0 ? -errno : is_blank(r->fd, 0) == 1 ? -ENODATA : -EBADMSG;

		journal_reader_close(r);
		return error;
	}
	r->number = format_get(header + 16, 8);
	r->identity = format_get(header + 24, 8);
	r->ends = (uint32_t)format_get(header + 12, 4);
	return 0;
}

enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };

int journal_reader_open(struct journal_reader *r, const char *path)
{
	return journal_reader_start(r, open(path, READ_FLAGS));
}

int journal_reader_open_at(struct journal_reader *r, int dir, uint64_t number)
{
	char name[SEGMENT_NAME];

	format_segment_name(name, number);
	return journal_reader_start(r, openat(dir, name, READ_FLAGS));
}

void journal_reader_close(struct journal_reader *r)
{
	fs_closep(&r->fd);
	buf_release(&r->data);
}

void journal_reader_seek(struct journal_reader *r, uint64_t offset)
{
	buf_clear(&r->data);
	r->used = 0;
	r->offset = offset;
}

void journal_reader_trim(struct journal_reader *r)
{
	if (r->used < r->data.len)
		return;
	buf_release(&r->data);
	r->used = 0;
}

/* Makes at least `need` unused bytes available; 0 when the file has no more. */
static int fill(struct journal_reader *r, size_t need)
{
	while (r->data.len - r->used < need) {
		size_t have = r->data.len - r->used, want;
		uint64_t at = r->offset + have;
		char *to;
		ssize_t n;

		buf_consume(&r->data, r->used);
		r->used = 0;
		want = MAX(need - have, (size_t)READ_STEP);
		want = at < r->end ? (size_t)MIN((uint64_t)want, r->end - at) : 0;
		to = buf_reserve(&r->data, want);
		if (!to)
			return -EBADMSG;
		n = want ? pread(r->fd, to, want, (off_t)at) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			/* Half a record may be truncated away and another one come in its place. */
			buf_clear(&r->data);
			return n < 0 ? -errno : 0;
		}
		buf_commit(&r->data, (size_t)n);
	}
	return 1;
}

int journal_reader_next(struct journal_reader *r, str *ret_body)
{
	const char *p;
	size_t n;
	int got;

	got = fill(r, RECORD_PREFIX);
	if (got <= 0)
		return got;
	n = (size_t)format_get(r->data.p + r->used, 4);
	if (n == 0 && format_get(r->data.p + r->used + 4, 4) == 0) {
		/* Zeros written ahead. What comes in their place has to be read afresh. */
		buf_clear(&r->data);
		r->used = 0;
		return 0;
	}
	if (n == 0 || n > LIMIT_RECORD)
		return -EBADMSG;
	got = fill(r, RECORD_PREFIX + n);
	if (got <= 0)
		return got;
	p = r->data.p + r->used;
	if (format_checksum(p, p + RECORD_PREFIX, n) != format_get(p + 4, 4))
		return -EBADMSG;
	r->used += RECORD_PREFIX + n;
	r->offset += RECORD_PREFIX + n;
	*ret_body = str_n(p + RECORD_PREFIX, n);
	return 1;
}

/* A write that was cut off leaves a record whose end is missing: the file ends there, or zeros are in its place, and
 * nothing follows. Anything else behind zeros are pages that came to the disk before others, or damage. */
int journal_reader_at_end(struct journal_reader *r)
{
	char prefix[RECORD_PREFIX] = { 0 };
	ssize_t got = pread(r->fd, prefix, sizeof prefix, (off_t)r->offset);
	uint64_t n = format_get(prefix, 4);
	int blank;

	if (got < 0)
		return -errno;
	if (n > LIMIT_RECORD)
		return -EBADMSG;
	blank = is_blank(r->fd, n ? r->offset + RECORD_PREFIX + n - 1 : r->offset);
	return blank < 0 ? blank : blank ? 0 : -EBADMSG;
}

/* A record that would follow damage: a plausible length, and a checksum that holds. */
static size_t record_at(const char *p, size_t n, size_t *budget)
{
	size_t length = n > RECORD_PREFIX ? (size_t)format_get(p, 4) : 0;

	if (!length || length > LIMIT_RECORD || length > n - RECORD_PREFIX || length > *budget)
		return 0;
	*budget -= length;
	return format_checksum(p, p + RECORD_PREFIX, length) == format_get(p + 4, 4) ? RECORD_PREFIX + length : 0;
}

unsigned journal_reader_count_lost(struct journal_reader *r)
{
	struct stat st;
	uint64_t left =
		fstat(r->fd, &st) == 0 && (uint64_t)st.st_size > r->offset ? (uint64_t)st.st_size - r->offset : 0;
	size_t n = (size_t)MIN(left, (uint64_t)LIMIT_SEGMENT + LIMIT_RECORD), at = 0, whole;
	_cleanup_(freep) char *p = xmalloc(n);
	ssize_t got = pread(r->fd, p, n, (off_t)r->offset);
	size_t budget = COUNT_BYTES;
	unsigned lost = 0;
	bool gap = true; /* something is wrong at the first byte already */

	n = got > 0 ? (size_t)got : 0;
	if ((r->ends & ENDS_IN_ZEROS) && n < SEGMENT_END)
		return 1;
	while (n && !p[n - 1])
		n--;
	while (at < n) {
		whole = record_at(p + at, n - at, &budget);
		lost += whole ? 1 + gap : 0;
		gap = !whole && (gap || at);
		at += whole ? whole : 1;
	}
	return lost + (n && gap);
}

static unsigned count_records(struct journal_reader *r)
{
	unsigned n = 0;
	str body;

	journal_reader_seek(r, SEGMENT_HEADER);
	while (journal_reader_next(r, &body) == 1)
		n++;
	return n;
}

static unsigned short_by(uint32_t ends, unsigned records)
{
	uint32_t counted = ends & ~ENDS_IN_ZEROS;

	return counted && counted - 1 > records ? counted - 1 - records : 0;
}

unsigned journal_reader_count_short(struct journal_reader *r, int dir)
{
	struct journal_reader next;
	unsigned missing = 0;

	if (journal_reader_open_at(&next, dir, r->number + 1) < 0)
		return 0;
	if (next.ends & ~ENDS_IN_ZEROS)
		missing = short_by(next.ends, count_records(r));
	journal_reader_close(&next);
	return missing;
}

unsigned spool_count_short(const struct journal_reader *r, unsigned records)
{
	return short_by(r->ends, records);
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* "00000000000000a7.j" */
static bool parse_segment_name(const char *name, uint64_t *ret)
{
	uint64_t value = 0;

	for (int i = 0; i < 16; i++) {
		int c = name[i];

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	*ret = value;
	return strcmp(name + 16, ".j") == 0;
}

int journal_list_at(int dir, uint64_t **ret_numbers, size_t *ret_n)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* a place in it of its own */
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint64_t *numbers = NULL, number;
	size_t n = 0, cap = 0;
	struct dirent *e;
	int r = d ? 0 : -errno;

	*ret_numbers = NULL;
	*ret_n = 0;
	if (!d) {
		fs_closep(&fd);
		return r == -ENOENT ? 0 : r;
	}
	while ((e = readdir(d))) {
		if (!parse_segment_name(e->d_name, &number))
			continue;
		if (n == cap)
			numbers = xrealloc(numbers, (cap = cap ? cap * 2 : 64) * sizeof *numbers);
		numbers[n++] = number;
	}
	closedir(d);
	if (n)
		qsort(numbers, n, sizeof *numbers, compare_numbers);
	*ret_numbers = numbers;
	*ret_n = n;
	return 0;
}

int journal_list(const char *dir, uint64_t **ret_numbers, size_t *ret_n)
{
	_close_ int fd = journal_dir_open(dir, NULL);

	*ret_numbers = NULL;
	*ret_n = 0;
	return fd == -ENOENT ? 0 : fd < 0 ? fd : journal_list_at(fd, ret_numbers, ret_n);
}

int journal_delete_at(int dir, uint64_t number)
{
	char name[SEGMENT_NAME];

	format_segment_name(name, number);
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

int journal_quarantine_at(int dir, uint64_t number)
{
	char name[SEGMENT_NAME], aside[SEGMENT_NAME + 16];

	format_segment_name(name, number);
	snprintf(aside, sizeof aside, "%s.damaged", name);
	return renameat(dir, name, dir, aside) < 0 ? -errno : 0;
}
