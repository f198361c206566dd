/* journal: what was flushed is read back, whatever happens in between; what was not, never is. */
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "journal/format.h"
#include "journal/journal.h"
#include "records.h"

/* Adds the records [from, to) as one batch and flushes it. */
static int append(struct journal *j, unsigned from, unsigned to, str payload)
{
	struct journal_pos end;

	for (unsigned n = from; n < to; n++) {
		struct record r = record_sample(n, payload);
		int got = journal_add(j, &r);

		if (got < 0)
			return got;
	}
	return journal_flush(j, &end);
}

static const char *segment(const char *dir, uint64_t number)
{
	static char ring[4][FS_PATH];
	static unsigned next;
	char *out = ring[next++ % 4];

	journal_segment_path(out, dir, number);
	return out;
}

/* Reads a file to its end: the numbers of its records into ret, the reader's last word as result. */
static int read_numbers(const char *path, unsigned *ret, size_t max, size_t *ret_n)
{
	struct journal_reader reader;
	struct record r;
	str body;
	int got = journal_reader_open(&reader, path);

	*ret_n = 0;
	if (got < 0)
		return got;
	while ((got = journal_reader_next(&reader, &body)) == 1) {
		if (record_decode(body, &r) < 0 || *ret_n == max)
			return -EPROTO;
		ret[(*ret_n)++] = record_number(&r);
	}
	journal_reader_close(&reader);
	return got;
}

/* All records of all segments, in order. */
static size_t read_all(const char *dir, unsigned *ret, size_t max)
{
	_cleanup_(freep) uint64_t *numbers = NULL;
	size_t n = 0, total = 0, got;

	if (journal_list(dir, &numbers, &n) < 0)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		(void)read_numbers(segment(dir, numbers[i]), ret + total, max - total, &got);
		total += got;
	}
	return total;
}

static bool is_run(const unsigned *numbers, size_t n, unsigned from)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] != from + i)
			return false;
	return true;
}

/* -- writing and reading back ------------------------------------------------------------------ */

static void test_round_trip(void **state)
{
	const char *dir = test_dir();
	struct journal *j;
	struct journal_pos end, before;
	unsigned numbers[64];
	size_t n;

	assert_int_equal(journal_open(dir, &j), 0);
	before = journal_end(j);
	assert_int_equal(before.offset, JOURNAL_FIRST_OFFSET);
	assert_int_equal(journal_flush(j, &end), 0);
	assert_int_equal(journal_pos_cmp(&before, &end), 0);
	assert_int_equal(append(j, 0, 1, STR("{}")), 0);
	assert_int_equal(append(j, 1, 20, STR("{\"a\":\"b\"}")), 0);
	end = journal_end(j);
	assert_true(journal_pos_cmp(&before, &end) < 0 && journal_pos_cmp(&end, &before) > 0);
	journal_free(j);
	assert_int_equal(read_numbers(segment(dir, end.segment), numbers, 64, &n), 0);
	assert_int_equal(n, 20);
	assert_true(is_run(numbers, n, 0));
}

static void test_nothing_before_flush(void **state)
{
	const char *dir = test_dir();
	struct record r = record_sample(1, STR("{}"));
	struct journal *j;
	unsigned numbers[4];

	assert_int_equal(journal_open(dir, &j), 0);
	assert_int_equal(journal_add(j, &r), 0);
	assert_int_equal(read_all(dir, numbers, 4), 0);
	journal_free(j);
	assert_int_equal(read_all(dir, numbers, 4), 0);
}

static void test_record_comes_back_whole(void **state)
{
	const char *dir = test_dir();
	struct record in = record_sample(7, STR("{\"x\":\"\\u0000\"}")), out;
	struct journal_reader reader;
	struct journal_pos end;
	struct journal *j;
	str body;

	in.host = STR("{\"pid\":1}");
	in.marks = EVENT_CUT | EVENT_LATE;
	assert_int_equal(journal_open(dir, &j), 0);
	assert_int_equal(journal_add(j, &in), 0);
	assert_int_equal(journal_flush(j, &end), 0);
	assert_int_equal(journal_reader_open(&reader, segment(dir, end.segment)), 0);
	assert_int_equal(reader.number, end.segment);
	assert_int_equal(reader.identity, end.identity);
	assert_int_equal(journal_reader_next(&reader, &body), 1);
	assert_int_equal(record_decode(body, &out), 0);
	assert_true(ulid_eq(&in.id, &out.id) && in.at_us == out.at_us && in.order_us == out.order_us);
	assert_true(in.kind == out.kind && in.tool_class == out.tool_class && in.marks == out.marks);
	assert_str(out.payload, in.payload);
	assert_str(out.host, in.host);
	assert_int_equal(reader.offset, end.offset);
	journal_reader_close(&reader);
	journal_free(j);
}

static void test_reader_follows_and_seeks(void **state)
{
	const char *dir = test_dir();
	struct journal_reader reader;
	uint64_t offsets[10];
	struct journal *j;
	struct record r;
	str body;

	assert_int_equal(journal_open(dir, &j), 0);
	assert_int_equal(journal_reader_open(&reader, segment(dir, 1)), 0);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(journal_reader_next(&reader, &body), 0);
		offsets[i] = reader.offset;
		assert_int_equal(append(j, i, i + 1, STR("{}")), 0);
		assert_int_equal(journal_reader_next(&reader, &body), 1);
		assert_int_equal(record_decode(body, &r), 0);
		assert_int_equal(record_number(&r), i);
	}
	for (unsigned i = 10; i-- > 0;) {
		journal_reader_seek(&reader, offsets[i]);
		assert_int_equal(journal_reader_next(&reader, &body), 1);
		assert_int_equal(record_decode(body, &r), 0);
		assert_int_equal(record_number(&r), i);
	}
	/* Behind the end there is nothing, and in the middle of a record no record. */
	journal_reader_seek(&reader, 1 << 20);
	assert_int_equal(journal_reader_next(&reader, &body), 0);
	journal_reader_seek(&reader, offsets[1] + 3);
	assert_true(journal_reader_next(&reader, &body) <= 0);
	journal_reader_close(&reader);
	journal_free(j);
}

static void test_each_start_opens_a_segment(void **state)
{
	const char *dir = test_dir();
	uint64_t identity = 0;
	unsigned numbers[8];

	for (unsigned i = 0; i < 5; i++) {
		struct journal *j;

		assert_int_equal(journal_open(dir, &j), 0);
		assert_int_equal(journal_end(j).segment, i + 1);
		assert_true(journal_end(j).identity != identity && journal_end(j).identity <= INT64_MAX);
		identity = journal_end(j).identity;
		assert_int_equal(append(j, i, i + 1, STR("{}")), 0);
		journal_free(j);
	}
	assert_int_equal(read_all(dir, numbers, 8), 5);
	assert_true(is_run(numbers, 5, 0));
}

/* What is in the batch when it happens goes into the new segment; nothing is lost or doubled. */
static void test_rotates_when_told(void **state)
{
	const char *dir = test_dir();
	struct record r = record_sample(1, STR("{}"));
	struct journal_pos before, end;
	unsigned numbers[8];
	struct journal *j;

	assert_int_equal(journal_open(dir, &j), 0);
	assert_int_equal(append(j, 0, 1, STR("{}")), 0);
	assert_int_equal(journal_add(j, &r), 0);
	assert_int_equal(journal_rotate(j, &before), 0);
	assert_int_equal(before.segment, 1);
	assert_true(before.offset > JOURNAL_FIRST_OFFSET);
	end = journal_end(j);
	assert_int_equal(end.segment, 2);
	assert_int_equal(end.offset, JOURNAL_FIRST_OFFSET);
	assert_int_equal(journal_flush(j, &end), 0);
	assert_int_equal(end.segment, 2);
	assert_int_equal(journal_sync(j, NULL), 0);
	journal_free(j);
	assert_int_equal(read_all(dir, numbers, 8), 2);
	assert_true(is_run(numbers, 2, 0));
}

static void test_rotates(void **state)
{
	const char *dir = test_dir();
	char *big = malloc(MIB(5));
	unsigned numbers[16];
	struct journal *j;

	memset(big, 'x', MIB(5));
	assert_int_equal(journal_open(dir, &j), 0);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(append(j, i, i + 1, str_n(big, MIB(5))), 0);
	assert_int_equal(journal_end(j).segment, 3);
	assert_int_equal(read_all(dir, numbers, 16), 9);
	assert_true(is_run(numbers, 9, 0));
	assert_int_equal(journal_sync(j, NULL), 0);
	journal_free(j);
	free(big);
}

static void test_largest_record(void **state)
{
	const char *dir = test_dir();
	char *big = malloc(LIMIT_RECORD + 1);
	unsigned numbers[8];
	struct record r;
	struct journal *j;

	memset(big, 'x', LIMIT_RECORD + 1);
	assert_int_equal(journal_open(dir, &j), 0);
	/* What the reader would take for damage is refused, and costs the others of its batch nothing. */
	r = record_sample(0, STR("{}"));
	assert_int_equal(journal_add(j, &r), 0);
	r = record_sample(9, str_n(big, LIMIT_RECORD + 1));
	assert_int_equal(journal_add(j, &r), -E2BIG);
	r = record_sample(9, str_n(big, LIMIT_RECORD));
	assert_int_equal(journal_add(j, &r), -E2BIG);
	assert_int_equal(append(j, 1, 2, STR("{}")), 0);
	assert_int_equal(append(j, 2, 3, str_n(big, LIMIT_RECORD - 1024)), 0);
	assert_int_equal(append(j, 3, 4, STR("{}")), 0);
	assert_int_equal(read_all(dir, numbers, 8), 4);
	assert_true(is_run(numbers, 4, 0));
	journal_free(j);
	free(big);
}

static void test_order_rises(void **state)
{
	const char *dir = test_dir();
	struct journal_pos end;
	struct journal *j;
	int64_t last = 0;

	assert_int_equal(journal_open(dir, &j), 0);
	for (unsigned i = 0; i < 5000; i++) {
		struct record r = record_sample(i, STR("{}"));

		r.order_us = -1;
		assert_int_equal(journal_add(j, &r), 0);
		assert_true(r.order_us > last);
		last = r.order_us;
	}
	assert_int_equal(journal_flush(j, &end), 0);
	/* A record from the spool keeps the client's time. */
	struct record r = record_sample(1, STR("{}"));
	r.marks = EVENT_SPOOLED;
	r.order_us = 42;
	assert_int_equal(journal_add(j, &r), 0);
	assert_int_equal(r.order_us, 42);
	/* A client's time that can be true counts; one from another year does not. */
	r.marks = 0;
	r.at_us = clock_wall_us() - 5000;
	assert_int_equal(journal_add(j, &r), 0);
	assert_true(r.order_us >= r.at_us && r.order_us < r.at_us + 1000);
	/* Two in one millisecond, of which the first was written before the second began. */
	for (last = 0, r.at_us = clock_wall_us() - 100; last < r.at_us + 50; last = r.order_us) {
		assert_int_equal(journal_add(j, &r), 0);
		assert_true(r.order_us > last);
	}
	r.at_us += INT64_C(3600000000);
	assert_int_equal(journal_add(j, &r), 0);
	assert_true(r.order_us < r.at_us && r.order_us > last);
	journal_free(j);
}

static int private_under_umask(void *arg)
{
	const char *dir = test_path(arg, "deep/journal");
	struct record r = record_sample(1, STR("{}"));
	struct journal *j;
	struct stat st;
	char id[ULID_TEXT + 1], path[FS_PATH];

	umask(0);
	CHECK(journal_open(dir, &j) == 0);
	CHECK(stat(dir, &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(stat(test_path(arg, "deep"), &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(stat(segment(dir, 1), &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(spool_write(test_path(arg, "spool"), &r, false) == 0);
	CHECK(stat(test_path(arg, "spool"), &st) == 0 && (st.st_mode & 0777) == 0700);
	ulid_format(&r.id, id);
	snprintf(path, sizeof path, "%s/spool/%s.j", (const char *)arg, id);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	return 0;
}

static void test_private_whatever_the_umask(void **state)
{
	assert_int_equal(test_child(private_under_umask, (void *)test_dir()), 0);
}

/* -- damage ------------------------------------------------------------------------------------ */

/* Three records in segment 1; gives the file's bytes and where each record begins. */
static void three_records(const char *dir, struct buf *file, size_t at[4])
{
	struct journal *j;

	assert_int_equal(journal_open(dir, &j), 0);
	for (unsigned i = 0; i < 3; i++) {
		at[i] = (size_t)journal_end(j).offset;
		assert_int_equal(append(j, i, i + 1, STR("{\"command\":\"ls\"}")), 0);
	}
	at[3] = (size_t)journal_end(j).offset;
	journal_free(j);
	test_read(segment(dir, 1), file);
	assert_int_equal(file->len, at[3] + SEGMENT_END);
}

static void test_torn_tail(void **state)
{
	const char *dir = test_dir(), *path = test_path(test_dir(), "torn");
	struct buf file = BUF_INIT(KIB(64));
	unsigned numbers[4];
	size_t at[4], n;
	char copy[FS_PATH];

	snprintf(copy, sizeof copy, "%s", path);
	three_records(dir, &file, at);
	for (size_t len = 0; len <= file.len; len++) {
		size_t whole = len < at[1] ? 0 : len < at[2] ? 1 : len < at[3] ? 2 : 3;

		test_write(copy, file.p, len);
		assert_int_equal(read_numbers(copy, numbers, 4, &n),
			len == 0                             ? -ENODATA
				: len < JOURNAL_FIRST_OFFSET ? -EBADMSG
							     : 0);
		assert_int_equal(n, whole);
		assert_true(is_run(numbers, n, 0));
	}
	buf_release(&file);
}

/* Wherever the file ends, be it behind a record: something is missing, unless zeros follow the last one. */
static void test_cut_behind_a_record(void **state)
{
	const char *dir = test_dir();
	struct buf file = BUF_INIT(KIB(64));
	struct journal_reader r;
	size_t at[4];
	char copy[FS_PATH];
	str body;

	fs_join(copy, dir, "cut");
	three_records(dir, &file, at);
	for (size_t len = JOURNAL_FIRST_OFFSET; len <= file.len; len++) {
		test_write(copy, file.p, len);
		assert_int_equal(journal_reader_open(&r, copy), 0);
		while (journal_reader_next(&r, &body) == 1)
			;
		assert_int_equal(journal_reader_count_lost(&r), len < file.len);
		journal_reader_close(&r);
	}
	/* An earlier release wrote no zeros. */
	format_put(file.p + 12, 0, 4);
	test_write(copy, file.p, at[2]);
	assert_int_equal(journal_reader_open(&r, copy), 0);
	journal_reader_seek(&r, at[2]);
	assert_int_equal(journal_reader_count_lost(&r), 0);
	journal_reader_close(&r);
	buf_release(&file);
}

/* The next segment knows how many there were, though zeros look like an end. */
static void test_next_segment_has_the_count(void **state)
{
	const char *dir = test_dir();
	struct buf file = BUF_INIT(KIB(64));
	struct journal_pos before, first;
	struct journal_reader r;
	struct journal *j;
	_close_ int fd = -1;

	assert_int_equal(journal_open(dir, &j), 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(append(j, i, i + 1, STR("{}")), 0);
		first = i ? first : journal_end(j);
	}
	assert_int_equal(journal_rotate(j, &before), 0);
	journal_free(j);
	fd = journal_dir_open(dir, NULL);
	test_read(segment(dir, 1), &file);
	for (int cut = 0; cut < 2; cut++) {
		assert_int_equal(journal_reader_open_at(&r, fd, 1), 0);
		assert_int_equal(journal_reader_count_short(&r, fd), cut ? 4 : 0);
		journal_reader_close(&r);
		memset(file.p + first.offset, 0, file.len - first.offset);
		test_write(segment(dir, 1), file.p, file.len);
	}
	buf_release(&file);
}

/* A file of the spool has its own. */
static void test_spool_file_cut_behind_a_record(void **state)
{
	const char *dir = test_dir();
	struct buf batch = BUF_INIT(KIB(64));
	struct journal_reader r;
	char path[FS_PATH] = "";
	struct dirent *e;
	DIR *d;
	str body;
	unsigned n = 0;

	for (unsigned i = 0; i < 3; i++) {
		struct record record = record_sample(i, STR("{}"));

		assert_int_equal(spool_add(&batch, &record), 0);
	}
	assert_int_equal(spool_write_batch(dir, buf_str(&batch), false), 0);
	d = opendir(dir);
	while ((e = readdir(d)))
		if (str_ends(str_of(e->d_name), STR(".j")))
			fs_join(path, dir, e->d_name);
	closedir(d);
	assert_int_equal(journal_reader_open(&r, path), 0);
	while (journal_reader_next(&r, &body) == 1) {
		n++;
		assert_int_equal(spool_count_short(&r, n), 3 - n);
	}
	assert_int_equal(n, 3);
	journal_reader_close(&r);
	buf_release(&batch);
}

static void test_every_flipped_byte(void **state)
{
	const char *dir = test_dir();
	struct buf file = BUF_INIT(KIB(64));
	unsigned numbers[4];
	size_t at[4], n;
	char copy[FS_PATH];

	fs_join(copy, dir, "flipped");
	three_records(dir, &file, at);
	for (size_t i = at[1]; i < at[2]; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			int got;

			file.p[i] = (char)(file.p[i] ^ 1 << bit);
			test_write(copy, file.p, file.len);
			got = read_numbers(copy, numbers, 4, &n);
			/* A length that now reaches past the end looks like a record still being written. */
			assert_true(got == -EBADMSG || (got == 0 && i < at[1] + 4));
			assert_int_equal(n, 1);
			file.p[i] = (char)(file.p[i] ^ 1 << bit);
		}
	buf_release(&file);
}

static void test_impossible_lengths(void **state)
{
	static const uint32_t lengths[] = { 0, LIMIT_RECORD + 1, 0x7FFFFFFF, 0xFFFFFFFF };
	const char *dir = test_dir();
	struct buf file = BUF_INIT(KIB(64));
	unsigned numbers[4];
	size_t at[4], n;

	three_records(dir, &file, at);
	for (size_t i = 0; i < countof(lengths); i++) {
		format_put(file.p + at[1], lengths[i], 4);
		test_write(segment(dir, 1), file.p, file.len);
		assert_int_equal(read_numbers(segment(dir, 1), numbers, 4, &n), -EBADMSG);
		assert_int_equal(n, 1);
	}
	/* Zeroes, as a file system leaves them behind a power cut. */
	memset(file.p + at[2], 0, file.len - at[2]);
	memcpy(file.p + at[1], "\1\0\0\0", 4);
	test_write(segment(dir, 1), file.p, file.len);
	assert_int_equal(read_numbers(segment(dir, 1), numbers, 4, &n), -EBADMSG);
	buf_release(&file);
}

static void test_foreign_files(void **state)
{
	const char *dir = test_dir();
	struct journal_reader r;
	uint8_t header[SEGMENT_HEADER];
	char file[FS_PATH];

	fs_join(file, dir, "f");
	assert_int_equal(journal_reader_open(&r, file), -ENOENT);
	test_write(file, "", 0);
	assert_int_equal(journal_reader_open(&r, file), -ENODATA);
	test_write(file, (uint8_t[4096]){ 0 }, 4096);
	assert_int_equal(journal_reader_open(&r, file), -ENODATA);
	test_write(file, "SQLite format 3\0................................", 48);
	assert_int_equal(journal_reader_open(&r, file), -EBADMSG);
	format_segment_header(header, 5, 6, 0);
	test_write(file, header, sizeof header - 1);
	assert_int_equal(journal_reader_open(&r, file), -EBADMSG);
	header[8]++; /* a later version */
	test_write(file, header, sizeof header);
	assert_int_equal(journal_reader_open(&r, file), -EBADMSG);
	assert_int_equal(journal_reader_open(&r, dir), -EBADMSG);
	assert_int_equal(mkfifo(test_path(dir, "fifo"), 0600), 0);
	assert_int_equal(journal_reader_open(&r, test_path(dir, "fifo")), -EBADMSG);
	assert_int_equal(symlink(file, test_path(dir, "link")), 0);
	assert_int_equal(journal_reader_open(&r, test_path(dir, "link")), -ELOOP);
}

/* -- failing calls ----------------------------------------------------------------------------- */

/* The third write fails: of three batches the second is gone as a whole, the others are there. (The
 * first write is the segment's header.) */
static int case_batch_is_atomic(const char *dir)
{
	unsigned numbers[16];
	struct journal *j;

	CHECK(journal_open(dir, &j) == 0);
	CHECK(append(j, 0, 3, STR("{}")) == 0);
	CHECK(append(j, 100, 103, STR("{}")) == -ENOSPC);
	CHECK(append(j, 3, 6, STR("{}")) == 0);
	journal_free(j);
	CHECK(read_all(dir, numbers, 16) == 6 && is_run(numbers, 6, 0));
	return 0;
}

static int case_header_fails(const char *dir)
{
	_cleanup_(freep) uint64_t *segments = NULL;
	struct journal *j = NULL;
	size_t n;

	CHECK(journal_open(dir, &j) == -ENOSPC && !j);
	CHECK(journal_list(dir, &segments, &n) == 0 && n == 0);
	CHECK(journal_open(dir, &j) == 0);
	journal_free(j);
	return 0;
}

static void allow_bytes(rlim_t n)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = n;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* The disk fills up in the middle of a write, and there is room again later. */
static int short_write(const char *dir, size_t want_segments)
{
	_cleanup_(freep) uint64_t *segments = NULL;
	char big[6000];
	unsigned numbers[16];
	struct journal *j;
	size_t n;

	signal(SIGXFSZ, SIG_IGN);
	memset(big, 'x', sizeof big);
	CHECK(journal_open(dir, &j) == 0);
	CHECK(append(j, 0, 2, STR("{}")) == 0);
	allow_bytes(4096);
	CHECK(append(j, 100, 102, str_n(big, sizeof big)) == -EFBIG);
	CHECK(append(j, 102, 104, str_n(big, sizeof big)) == -EFBIG);
	allow_bytes(RLIM_INFINITY);
	CHECK(append(j, 2, 4, STR("{}")) == 0);
	CHECK(journal_end(j).offset > JOURNAL_FIRST_OFFSET);
	journal_free(j);
	CHECK(read_all(dir, numbers, 16) == 4 && is_run(numbers, 4, 0));
	CHECK(journal_list(dir, &segments, &n) == 0 && n == want_segments);
	return 0;
}

static int case_short_write(const char *dir)
{
	return short_write(dir, 1);
}

/* The file cannot be shortened: it is left behind and the next segment begins. */
static int case_short_write_stays(const char *dir)
{
	return short_write(dir, 3);
}

/* Not even a new segment can be opened at that moment. Whatever is acknowledged later must still be
 * found, so it must not follow the torn record. */
static int case_short_write_no_segment(const char *dir)
{
	char big[6000];
	unsigned numbers[16];
	struct journal *j;

	signal(SIGXFSZ, SIG_IGN);
	memset(big, 'x', sizeof big);
	CHECK(journal_open(dir, &j) == 0);
	CHECK(append(j, 0, 2, STR("{}")) == 0);
	allow_bytes(4096);
	CHECK(append(j, 100, 102, str_n(big, sizeof big)) == -EFBIG);
	allow_bytes(RLIM_INFINITY);
	CHECK(append(j, 2, 4, STR("{}")) == 0);
	CHECK(append(j, 4, 6, STR("{}")) == 0);
	journal_free(j);
	CHECK(read_all(dir, numbers, 16) == 6 && is_run(numbers, 6, 0));
	return 0;
}

static int case_fsync_fails(const char *dir)
{
	struct journal *j;

	CHECK(journal_open(dir, &j) == 0);
	CHECK(append(j, 0, 2, STR("{}")) == 0);
	CHECK(journal_needs_sync(j));
	CHECK(journal_sync(j, NULL) == -EIO);
	CHECK(journal_end(j).segment == 1);
	/* Not behind pages of which the kernel no longer knows that they are not on the disk. */
	CHECK(append(j, 2, 3, STR("{}")) == 0);
	CHECK(journal_end(j).segment == 2);
	CHECK(journal_sync(j, NULL) == 0);
	CHECK(!journal_needs_sync(j));
	journal_free(j);
	return 0;
}

static int case_spool_fails(const char *dir)
{
	struct record r = record_sample(1, STR("{}"));

	CHECK(spool_write(dir, &r, true) == -ENOSPC);
	CHECK(fs_look_at_dir(dir).files == 0);
	CHECK(spool_write(dir, &r, true) == 0);
	CHECK(fs_look_at_dir(dir).files == 1);
	return 0;
}

/* Without descriptors the sync cannot be done; it must not be forgotten. */
static int case_no_descriptors(const char *dir)
{
	struct rlimit limit = { 0, 0 };
	struct journal *j;
	int low = dup(0);

	CHECK(journal_open(dir, &j) == 0);
	CHECK(append(j, 0, 2, STR("{}")) == 0);
	close(low);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &limit);
	CHECK(journal_sync(j, NULL) < 0);
	CHECK(journal_needs_sync(j));
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	CHECK(journal_sync(j, NULL) == 0);
	CHECK(!journal_needs_sync(j));
	journal_free(j);
	return 0;
}

static int case_sync_thread_fails(const char *dir);

static const struct test_case cases[] = {
	{ "batch", case_batch_is_atomic },
	{ "header", case_header_fails },
	{ "short", case_short_write },
	{ "short-stays", case_short_write_stays },
	{ "short-no-segment", case_short_write_no_segment },
	{ "fsync", case_fsync_fails },
	{ "spool", case_spool_fails },
	{ "descriptors", case_no_descriptors },
	{ "sync-thread", case_sync_thread_fails },
};

static void test_failing_calls(void **state)
{
	assert_int_equal(test_rerun("batch", test_dir(), "write:3"), 0);
	assert_int_equal(test_rerun("header", test_dir(), "write:1"), 0);
	assert_int_equal(test_rerun("fsync", test_dir(), "fsync:1"), 0);
	assert_int_equal(test_rerun("spool", test_dir(), "spool:1"), 0);
	assert_int_equal(test_rerun("descriptors", test_dir(), ""), 0);
	assert_int_equal(test_rerun("sync-thread", test_dir(), "fsync:1+"), 0);
}

static void test_short_writes(void **state)
{
	assert_int_equal(test_rerun("short", test_dir(), ""), 0);
	assert_int_equal(test_rerun("short-stays", test_dir(), "truncate:1+"), 0);
}

static void test_short_write_and_no_segment(void **state)
{
	/* Writes: header, first batch, torn batch, header of the segment that cannot be opened. */
	assert_int_equal(test_rerun("short-no-segment", test_dir(), "truncate:1+,write:4"), 0);
	assert_int_equal(test_rerun("short-no-segment", test_dir(), "truncate:1,write:4"), 0);
}

static void test_sync_after_many_segments(void **state)
{
	const char *dir = test_dir();
	char *big = malloc(LIMIT_SEGMENT);
	struct journal *j;

	/* More closed segments than the list of descriptors holds. */
	memset(big, 'x', LIMIT_SEGMENT);
	assert_int_equal(journal_open(dir, &j), 0);
	for (unsigned i = 0; i < 18; i++) {
		assert_int_equal(append(j, i, i + 1, str_n(big, LIMIT_SEGMENT)), 0);
		assert_int_equal(truncate(segment(dir, i + 1), 100), 0); /* the disk's, not the test's, room */
	}
	assert_int_equal(journal_end(j).segment, 19);
	/* The oldest could not wait: nobody may be told that it is on the disk. */
	assert_int_equal(journal_sync(j, NULL), -EIO);
	assert_int_equal(journal_sync(j, NULL), 0);
	assert_false(journal_needs_sync(j));
	journal_free(j);
	free(big);
}

/* -- files ------------------------------------------------------------------------------------- */

static void test_list_and_quarantine(void **state)
{
	const char *dir = test_dir();
	static const char *const others[] = { "1.j", "000000000000000A.j", "0000000000000003.j.damaged",
		"0000000000000004.jj", ".0000000000000005.j", "zzzzzzzzzzzzzzzz.j", "0000000000000006" };
	uint64_t want[] = { 1, 2, 0xa7, 0x100000000 }, *numbers;
	_close_ int at = journal_dir_open(dir, NULL);
	struct journal *j;
	size_t n;

	assert_int_equal(journal_list(test_path(dir, "none"), &numbers, &n), 0);
	assert_int_equal(n, 0);
	for (size_t i = 0; i < countof(others); i++)
		test_write(test_path(dir, others[i]), "", 0);
	for (size_t i = countof(want); i-- > 0;)
		test_write(segment(dir, want[i]), "", 0);
	assert_int_equal(journal_list(dir, &numbers, &n), 0);
	assert_int_equal(n, countof(want));
	assert_memory_equal(numbers, want, sizeof want);
	free(numbers);
	assert_int_equal(journal_quarantine_at(at, 2), 0);
	assert_true(test_exists(test_path(dir, "0000000000000002.j.damaged")));
	assert_false(test_exists(segment(dir, 2)));
	assert_int_equal(journal_quarantine_at(at, 2), -ENOENT);
	assert_int_equal(journal_delete_at(at, 1), 0);
	assert_int_equal(journal_delete_at(at, 1), -ENOENT);
	assert_int_equal(journal_open(dir, &j), 0);
	assert_int_equal(journal_end(j).segment, 0x100000001);
	journal_free(j);
	assert_int_equal(journal_list(test_path(dir, "1.j"), &numbers, &n), -ENOTDIR);
}

static void test_spool(void **state)
{
	const char *dir = test_dir();
	char spool[FS_PATH], path[FS_PATH + 64], id[ULID_TEXT + 1];
	unsigned numbers[4];
	size_t n;

	fs_join(spool, dir, "spool");
	for (unsigned i = 0; i < 3; i++) {
		struct record r = record_sample(i, STR("{\"a\":1}"));

		r.marks = EVENT_SPOOLED;
		assert_int_equal(spool_write(spool, &r, i == 0), 0);
		/* The same event again is the same file. */
		assert_int_equal(spool_write(spool, &r, false), 0);
		ulid_format(&r.id, id);
		snprintf(path, sizeof path, "%s/%s.j", spool, id);
		assert_int_equal(read_numbers(path, numbers, 4, &n), 0);
		assert_true(n == 1 && numbers[0] == i);
	}
	assert_int_equal(fs_look_at_dir(spool).files, 3);
	test_write(test_path(dir, "file"), "", 0);
	struct record r = record_sample(9, STR("{}"));
	assert_int_equal(spool_write(test_path(dir, "file"), &r, false), -ENOTDIR);
}

/* -- zeros ahead ------------------------------------------------------------------------------- */

static long long file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (long long)st.st_size : -1;
}

static void test_grows_ahead_of_its_records(void **state)
{
	const char *dir = test_dir();
	unsigned numbers[4000], n = 0;
	struct journal_pos synced, end;
	struct journal *j;

	assert_int_equal(journal_open(dir, &j), 0);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++, n++)
			assert_int_equal(append(j, n, n + 1, STR("{\"some\":\"payload\"}")), 0);
		assert_int_equal(journal_sync(j, &synced), 0);
		end = journal_end(j);
		assert_int_equal(journal_pos_cmp(&synced, &end), 0);
		journal_grow(j);
		assert_true(file_size(segment(dir, 1)) >= (long long)(journal_end(j).offset + KIB(64)));
		/* As another daemon would find it now. */
		assert_int_equal(read_all(dir, numbers, countof(numbers)), n);
	}
	assert_true(is_run(numbers, n, 0));
	assert_int_equal(file_size(segment(dir, 1)) % 4096, 0);
	journal_free(j);
	assert_int_equal(read_all(dir, numbers, countof(numbers)), n);
}

/* A burst makes the file longer by itself. */
static void test_growing_never_writes_over_records(void **state)
{
	const char *dir = test_dir();
	char *big = malloc(KIB(300));
	unsigned numbers[64];
	struct journal *j;

	memset(big, 'x', KIB(300));
	assert_int_equal(journal_open(dir, &j), 0);
	journal_grow(j);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(append(j, i, i + 1, str_n(big, i % 3 ? KIB(300) : 10)), 0);
		journal_grow(j);
	}
	assert_int_equal(read_all(dir, numbers, countof(numbers)), 20);
	assert_true(is_run(numbers, 20, 0));
	journal_free(j);
	free(big);
}

static void test_zeros_end_a_segment_unless_something_follows(void **state)
{
	const char *dir = test_dir();
	char path[FS_PATH];
	struct journal_reader r;
	struct journal *j;
	str body;
	int fd;

	assert_int_equal(journal_open(dir, &j), 0);
	assert_int_equal(append(j, 0, 2, STR("{}")), 0);
	journal_grow(j);
	snprintf(path, sizeof path, "%s", segment(dir, 1));
	assert_int_equal(journal_reader_open(&r, path), 0);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	assert_int_equal(journal_reader_at_end(&r), 0);
	/* The same reader sees what comes in their place. */
	assert_int_equal(append(j, 2, 3, STR("{}")), 0);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	/* A page that reached the disk before the one in front of it. */
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, 9000), 1);
	close(fd);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	assert_int_equal(journal_reader_at_end(&r), -EBADMSG);
	journal_reader_close(&r);
	journal_free(j);
}

/* -- the sync thread --------------------------------------------------------------------------- */

static void test_syncer_tells_how_far_it_is(void **state)
{
	const char *dir = test_dir();
	struct journal_sync_state s = { 0 };
	struct journal_syncer *syncer;
	struct journal_pos end;
	struct journal *j;

	assert_int_equal(journal_open(dir, &j), 0);
	syncer = journal_syncer_start(j, NULL, NULL);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(append(j, i, i + 1, STR("{}")), 0);
		end = journal_end(j);
		journal_syncer_notify(syncer, true);
		for (int tries = 0; tries < 10000 && journal_pos_cmp(&s.synced, &end) < 0; tries++) {
			usleep(1000);
			journal_syncer_get_state(syncer, &s);
		}
		assert_true(journal_pos_cmp(&s.synced, &end) >= 0);
	}
	assert_int_equal(s.failures, 0);
	assert_string_equal(s.trouble, "");
	journal_syncer_stop(syncer);
	journal_syncer_free(syncer);
	journal_free(j);
}

static int case_sync_thread_fails(const char *dir)
{
	struct journal_sync_state s = { 0 };
	struct journal_syncer *syncer;
	struct journal_pos end;
	struct journal *j;

	CHECK(journal_open(dir, &j) == 0);
	syncer = journal_syncer_start(j, NULL, NULL);
	CHECK(append(j, 0, 1, STR("{}")) == 0);
	end = journal_end(j);
	for (int i = 0; i < 10000 && journal_pos_cmp(&s.failed, &end) < 0; i++) {
		journal_syncer_notify(syncer, true);
		usleep(1000);
		journal_syncer_get_state(syncer, &s);
	}
	CHECK(journal_pos_cmp(&s.failed, &end) >= 0);
	CHECK(strstr(s.trouble, "cannot be synced"));
	CHECK(journal_pos_cmp(&s.synced, &end) < 0);
	journal_syncer_stop(syncer);
	journal_syncer_free(syncer);
	journal_free(j);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_nothing_before_flush),
		cmocka_unit_test(test_record_comes_back_whole),
		cmocka_unit_test(test_reader_follows_and_seeks),
		cmocka_unit_test(test_each_start_opens_a_segment),
		cmocka_unit_test(test_rotates),
		cmocka_unit_test(test_rotates_when_told),
		cmocka_unit_test(test_largest_record),
		cmocka_unit_test(test_order_rises),
		cmocka_unit_test(test_private_whatever_the_umask),
		cmocka_unit_test(test_torn_tail),
		cmocka_unit_test(test_cut_behind_a_record),
		cmocka_unit_test(test_next_segment_has_the_count),
		cmocka_unit_test(test_spool_file_cut_behind_a_record),
		cmocka_unit_test(test_grows_ahead_of_its_records),
		cmocka_unit_test(test_growing_never_writes_over_records),
		cmocka_unit_test(test_zeros_end_a_segment_unless_something_follows),
		cmocka_unit_test(test_syncer_tells_how_far_it_is),
		cmocka_unit_test(test_every_flipped_byte),
		cmocka_unit_test(test_impossible_lengths),
		cmocka_unit_test(test_foreign_files),
		cmocka_unit_test(test_failing_calls),
		cmocka_unit_test(test_short_writes),
		cmocka_unit_test(test_short_write_and_no_segment),
		cmocka_unit_test(test_sync_after_many_segments),
		cmocka_unit_test(test_list_and_quarantine),
		cmocka_unit_test(test_spool),
	};

	if (argc == 3)
		return test_run_case(cases, countof(cases), argv);
	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
