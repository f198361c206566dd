/* The writer thread: what it tells, and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

enum { RECORDS = 8000 };

static _Atomic int folded, pause_us;

static int fold_slowly(struct store *s, const struct record *r, enum writer_care care, void *arg)
{
	(void)care;
	(void)s;
	(void)r;
	if (pause_us)
		usleep((unsigned)pause_us);
	folded++;
	return 1;
}

static void remove_dir(const char *dir)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

/* A backlog is not a reason to hang at stop: the rest stays where it is and is folded once, later. */
static void test_stop_does_not_wait_for_a_backlog(void **state)
{
	char dir[64] = "/tmp/hk-writer-XXXXXX", store[96], journal[96], spool[96];
	struct writer_config c = { .store_path = store,
		.journal_dir = journal,
		.spool_dir = spool,
		.backup_dir = dir,
		.linger_ms = 0,
		.fold = fold_slowly };
	struct journal_pos end;
	struct writer *w;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(store, sizeof store, "%s/s.db", dir);
	snprintf(journal, sizeof journal, "%s/journal", dir);
	snprintf(spool, sizeof spool, "%s/spool", dir);
	assert_int_equal(journal_open(journal, &c.journal), 0);
	for (int i = 0; i < RECORDS; i++) {
		struct record r = { .agent = STR("claude"), .payload = STR("{}") };

		assert_int_equal(journal_add(c.journal, &r), 0);
	}
	assert_int_equal(journal_flush(c.journal, &end), 0);
	pause_us = 1000; /* eight seconds in all */
	w = writer_start(&c);
	writer_notify(w, end, 1, true);
	usleep(50000);
	writer_stop(w);
	writer_free(w);
	assert_true(folded > 0 && folded < RECORDS);
	pause_us = 0;
	w = writer_start(&c);
	assert_int_equal(writer_wait(w, end, 10000), 0);
	writer_stop(w);
	writer_free(w);
	assert_int_equal(folded, RECORDS);
	journal_free(c.journal);
	remove_dir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_does_not_wait_for_a_backlog),
	};

	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
