/* The spool: whole files, for what cannot go through the journal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "journal/format.h"

static uint32_t count_of(str records)
{
	uint32_t n = 0;

	for (; records.n > RECORD_PREFIX; n++)
		records = str_from(records, MIN(records.n, RECORD_PREFIX + (size_t)format_get(records.p, 4)));
	return n;
}

static int open_and_write(const char *path, const struct ulid *id, str records, bool sync)
{
	uint8_t header[SEGMENT_HEADER];
	int r = journal_fault("spool");
	_close_ int fd = -1;

	if (r < 0)
		return r;
	format_segment_header(header, 0, format_get(id->b + 8, 8) & INT64_MAX, 1 + count_of(records));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fs_write_all(fd, header, sizeof header);
	if (r == 0)
		r = fs_write_all(fd, records.p, records.n);
	if (r == 0 && sync && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		unlink(path);
	return r;
}

static int write_file(const char *dir, const struct ulid *id, str records, bool sync)
{
	char temp[FS_PATH], path[FS_PATH], text[ULID_TEXT + 1];
	int r = fs_private_dir(dir);

	ulid_format(id, text);
	snprintf(temp, sizeof temp, "%s/.%s.tmp", dir, text);
	snprintf(path, sizeof path, "%s/%s.j", dir, text);
	if (r == 0)
		r = open_and_write(temp, id, records, sync);
	if (r == 0 && rename(temp, path) < 0) {
		r = -errno;
		unlink(temp);
	}
	if (r == 0 && sync)
		r = fs_sync_dir(dir);
	return r;
}

int spool_write(const char *dir, const struct record *r, bool sync)
{
	struct buf b;
	int result;

	buf_init(&b, LIMIT_RECORD + KIB(64));
	result = format_add_record(&b, r);
	if (result == 0)
		result = write_file(dir, &r->id, buf_str(&b), sync);
	buf_release(&b);
	return result;
}

/* A name in the order of the records: two batches may well be of one millisecond. */
static struct ulid name_of(str batch)
{
	struct ulid id = ulid_make();
	struct record first;
	str body = str_from(batch, RECORD_PREFIX);
	int64_t us;

	body = str_head(body, (size_t)format_get(batch.p, 4));
	if (record_decode(body, &first) < 0)
		return id;
	us = first.order_us % USEC_PER_MSEC;
	id.b[6] = (uint8_t)(us >> 8);
	id.b[7] = (uint8_t)us;
	return ulid_from(first.order_us / USEC_PER_MSEC, id.b + 6);
}

int spool_add(struct buf *batch, const struct record *r)
{
	return format_add_record(batch, r);
}

int spool_write_batch(const char *dir, str batch, bool sync)
{
	struct ulid id;

	if (batch.n <= RECORD_PREFIX)
		return 0;
	id = name_of(batch);
	return write_file(dir, &id, batch, sync);
}

enum { REST_BYTES = 4 << 20 }; /* of one file; a record may make it larger */

int spool_write_rest(const char *dir, struct journal_reader *r)
{
	struct buf b = BUF_INIT(REST_BYTES + LIMIT_RECORD + KIB(64));
	uint8_t prefix[RECORD_PREFIX];
	str body;
	int result = 0, got = 1;

	while (result == 0 && got == 1) {
		got = journal_reader_next(r, &body);
		if (got == 1) {
			format_put(prefix, body.n, 4);
			format_put(prefix + 4, format_checksum(prefix, body.p, body.n), 4);
			buf_add(&b, prefix, sizeof prefix);
			buf_add_str(&b, body);
		}
		if (b.len >= REST_BYTES || got != 1) {
			result = spool_write_batch(dir, buf_str(&b), true);
			buf_clear(&b);
		}
	}
	buf_release(&b);
	return result < 0 ? result : got < 0 && got != -EBADMSG ? got : 0;
}

int spool_sync(const char *dir, const struct record *r)
{
	char path[FS_PATH], text[ULID_TEXT + 1];
	_close_ int fd = -1;

	ulid_format(&r->id, text);
	snprintf(path, sizeof path, "%s/%s.j", dir, text);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* A daemon has taken it in, which it does with a synced commit. */
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return fsync(fd) < 0 ? -errno : fs_sync_dir(dir);
}
