/* Bytes as a segment file: reading ends, offsets only rise and stay inside the file, and going back
 * to any record gives it again. The checksums are made right first when the first byte is odd, or
 * hardly anything would pass them. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "journal/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Makes every checksum fit that has a body to fit to. */
static void mend(uint8_t *p, size_t n)
{
	size_t at = SEGMENT_HEADER;

	while (at + RECORD_PREFIX < n) {
		size_t len = format_get(p + at, 4);

		if (len == 0 || len > n - at - RECORD_PREFIX)
			return;
		format_put(p + at + 4, format_checksum(p + at, p + at + RECORD_PREFIX, len), 4);
		at += RECORD_PREFIX + len;
	}
}

static void read_segment(const char *path, size_t size)
{
	struct journal_reader reader;
	uint64_t before = JOURNAL_FIRST_OFFSET, last = 0;
	struct record r;
	str body;
	int got;

	if (journal_reader_open(&reader, path) < 0)
		return;
	while ((got = journal_reader_next(&reader, &body)) == 1) {
		check(body.n > 0 && body.n <= LIMIT_RECORD && reader.offset == before + RECORD_PREFIX + body.n);
		check(reader.offset <= size);
		(void)record_decode(body, &r);
		last = before;
		before = reader.offset;
	}
	check(got == 0 || got == -EBADMSG);
	check(journal_reader_next(&reader, &body) == got);
	if (last) {
		journal_reader_seek(&reader, last);
		check(journal_reader_next(&reader, &body) == 1 && reader.offset == before);
	}
	journal_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;
	char path[64];

	if (size == 0)
		return 0;
	copy = malloc(size);
	if (!copy)
		abort();
	for (size_t i = 1; i < size; i++)
		copy[i - 1] = data[i];
	if (data[0] & 1)
		mend(copy, size - 1);
	snprintf(path, sizeof path, "/tmp/hookd-fuzz-%d.j", (int)getpid());
	check(fs_replace_file(path, str_n((const char *)copy, size - 1), false) == 0);
	read_segment(path, size - 1);
	unlink(path);
	free(copy);
	return 0;
}
