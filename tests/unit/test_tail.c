/* The journal between its writer and a reader that is close behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "journal/journal.h"

struct fixture {
	char dir[64], path[4096];
	struct journal *journal;
};

static struct record make(int n, str payload)
{
	struct record r = { .agent = STR("claude"), .native = STR("Stop"), .payload = payload };

	memcpy(r.id.b, &n, sizeof n);
	return r;
}

static int append(struct fixture *f, int n, str payload, struct journal_pos *end)
{
	struct record r = make(n, payload);

	assert_int_equal(journal_add(f->journal, &r), 0);
	return journal_flush(f->journal, end);
}

static int number_of(str body)
{
	struct record r;
	int n;

	assert_int_equal(record_decode(body, &r), 0);
	memcpy(&n, r.id.b, sizeof n);
	return n;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	snprintf(f->dir, sizeof f->dir, "/tmp/hk-journal-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(journal_open(f->dir, &f->journal), 0);
	assert_int_equal(journal_segment_path(f->path, f->dir, journal_end(f->journal).segment), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	_close_ int dir = journal_dir_open(f->dir, NULL);
	uint64_t *numbers;
	size_t n;

	journal_free(f->journal);
	if (journal_list(f->dir, &numbers, &n) == 0) {
		while (n)
			journal_delete_at(dir, numbers[--n]);
		free(numbers);
	}
	rmdir(f->dir);
	free(f);
	return 0;
}

/* A disk that takes only part of a write, then neither truncates nor gives room for a new segment. What
 * is acknowledged after that must be readable. The faults are counted, so this test comes first. */
static void test_nothing_follows_a_torn_record(void **state)
{
	struct fixture *f = *state;
	struct journal_pos end;
	struct rlimit old, low;
	struct journal_reader r;
	str body;

	assert_int_equal(append(f, 1, STR("{\"first\":1}"), &end), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = end.offset + 20;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_true(append(f, 2, STR("{\"second\":\"which does not fit and is torn\"}"), &end) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(append(f, 3, STR("{\"third\":3}"), &end), 0);
	assert_int_equal(journal_segment_path(f->path, f->dir, end.segment), 0);
	assert_int_equal(journal_reader_open(&r, f->path), 0);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(number_of(body), 1);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(number_of(body), 3);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	journal_reader_close(&r);
}

/* The reader has seen half a record of a write that failed and was truncated away. */
static void test_a_reader_forgets_half_a_record(void **state)
{
	struct fixture *f = *state;
	struct journal_pos end;
	struct journal_reader r;
	str body;
	int fd;

	assert_int_equal(append(f, 1, STR("{}"), &end), 0);
	assert_int_equal(journal_reader_open(&r, f->path), 0);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	fd = open(f->path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "\100\0\0\0torn torn torn", 18), 18);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	assert_int_equal(ftruncate(fd, (off_t)end.offset), 0);
	close(fd);
	assert_int_equal(append(f, 2, STR("{}"), &end), 0);
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(number_of(body), 2);
	journal_reader_close(&r);
}

/* Whole records behind the announced end may still be taken back. */
static void test_a_reader_stops_at_its_end(void **state)
{
	struct fixture *f = *state;
	struct journal_pos first, second;
	struct journal_reader r;
	str body;

	assert_int_equal(append(f, 1, STR("{}"), &first), 0);
	assert_int_equal(append(f, 2, STR("{}"), &second), 0);
	assert_int_equal(journal_reader_open(&r, f->path), 0);
	r.end = first.offset;
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	assert_true(r.offset == first.offset);
	r.end = second.offset;
	assert_int_equal(journal_reader_next(&r, &body), 1);
	assert_int_equal(number_of(body), 2);
	assert_int_equal(journal_reader_next(&r, &body), 0);
	journal_reader_close(&r);
}

static void test_a_number_that_is_taken_is_passed_over(void **state)
{
	struct fixture *f = *state;
	struct journal_pos before = journal_end(f->journal), end;
	int fd;

	assert_int_equal(journal_segment_path(f->path, f->dir, before.segment + 1), 0);
	fd = open(f->path, O_WRONLY | O_CREAT, 0600);
	close(fd);
	journal_abandon(f->journal, before.segment);
	assert_int_equal(append(f, 1, STR("{}"), &end), 0);
	assert_true(end.segment == before.segment + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_follows_a_torn_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_reader_forgets_half_a_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_reader_stops_at_its_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_number_that_is_taken_is_passed_over, setup, teardown),
	};

	/* Writes: the header, record 1, record 2 (torn by the limit), and the header that fails. */
	setenv("HOOKD_TEST_FAIL", "truncate:1,write:4", 1);
	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
