/* jobs: added once, run in order, ended with what they made, given up after enough tries. */
#include "stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "jobs/jobs.h"

enum { ALL = (1U << JOB_KIND_MAX) - 1, NOW = 1000000 };

static char dir[64];
static struct store *s;

static int set_up(void **state)
{
	char path[96];

	(void)state;
	snprintf(dir, sizeof dir, "/tmp/hk-jobs-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s.db", dir);
	s = open_ok(path, STORE_WRITE);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	store_close(s);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static void add(enum job_kind kind, const char *subject, int64_t stream, int64_t version, int64_t due)
{
	assert_int_equal(jobs_add(s,
				 &(struct job_order){ .kind = kind,
					 .subject = str_of(subject),
					 .session = 1,
					 .stream = stream,
					 .version = version,
					 .due_us = due }),
		0);
}

static int due_at(int64_t now, struct job jobs[JOBS_AT_ONCE])
{
	return jobs_due(s, ALL, now, NULL, 0, jobs, JOBS_AT_ONCE);
}

/* Takes the only one that is due and begins it. */
static struct job begin_one(int64_t now)
{
	struct job jobs[JOBS_AT_ONCE];
	size_t n = 1;

	assert_int_equal(due_at(now, jobs), 1);
	assert_int_equal(jobs_begin(s, jobs, &n, 7, now), 0);
	assert_int_equal(n, 1);
	return jobs[0];
}

static void test_twice_is_once(void **state)
{
	struct job jobs[JOBS_AT_ONCE], j;

	(void)state;
	add(JOB_EXTRACT, "a", 0, 5, NOW);
	add(JOB_EXTRACT, "a", 0, 5, NOW);
	add(JOB_SUMMARIZE, "a", 0, 5, NOW + 1);
	assert_int_equal(due_at(NOW, jobs), 1);
	j = begin_one(NOW);
	assert_string_equal(j.subject, "a");
	assert_int_equal(jobs_end_done(s, &j, 12), 0);
	add(JOB_EXTRACT, "a", 0, 5, NOW); /* refolding */
	add(JOB_EXTRACT, "a", 0, 4, NOW);
	assert_int_equal(due_at(NOW, jobs), 0);
	add(JOB_EXTRACT, "a", 0, 6, NOW);
	assert_int_equal(due_at(NOW, jobs), 1);
	assert_int_equal(jobs[0].tries, 0);
	assert_int_equal(one_number(s, "SELECT cost FROM jobs WHERE kind = 'extract'"), 12);
}

static void test_reopened_while_it_ran(void **state)
{
	struct job jobs[JOBS_AT_ONCE], j;

	(void)state;
	add(JOB_EXTRACT, "a", 0, 5, NOW);
	j = begin_one(NOW);
	add(JOB_EXTRACT, "a", 0, 6, NOW);
	assert_int_equal(jobs_end_done(s, &j, 0), 0);
	assert_int_equal(due_at(NOW, jobs), 1);
	assert_int_equal(jobs[0].version, 6);
	/* And one that was taken before it was reopened does not begin. */
	add(JOB_EXTRACT, "a", 0, 7, NOW);
	assert_int_equal(jobs_begin(s, jobs, &(size_t){ 1 }, 7, NOW), 0);
	assert_int_equal(one_number(s, "SELECT tries FROM jobs"), 0);
}

static void test_only_the_head_of_a_stream(void **state)
{
	struct job jobs[JOBS_AT_ONCE], j;
	int64_t next;

	(void)state;
	add(JOB_EXTRACT, "a1", 2, 1, NOW);
	add(JOB_EXTRACT, "a2", 2, 1, NOW - 5);
	add(JOB_EXTRACT, "b1", 4, 1, NOW - 1);
	assert_int_equal(due_at(NOW, jobs), 2);
	assert_string_equal(jobs[0].subject, "b1"); /* the oldest first */
	assert_string_equal(jobs[1].subject, "a1");
	j = jobs[1];
	assert_int_equal(jobs_due(s, ALL, NOW, (int64_t[]){ j.id }, 1, jobs, JOBS_AT_ONCE), 1);
	assert_string_equal(jobs[0].subject, "b1");
	assert_int_equal(jobs_end_done(s, &j, 0), 0);
	assert_int_equal(due_at(NOW, jobs), 2);
	assert_string_equal(jobs[0].subject, "a2");
	assert_int_equal(jobs_next_due(s, ALL, &next), 0);
	assert_int_equal(next, NOW - 5);
	assert_int_equal(jobs_due(s, 1U << JOB_CONSULT, NOW, NULL, 0, jobs, JOBS_AT_ONCE), 0);
	assert_int_equal(jobs_next_due(s, 1U << JOB_CONSULT, &next), 0);
	assert_true(next == INT64_MAX);
}

/* Whether it fails or takes the daemon along: each time it waits longer, and in the end it is dead. */
static void test_given_up(void **state)
{
	struct job jobs[JOBS_AT_ONCE];
	int64_t now = NOW, next;
	int attempts = job_kinds[JOB_EXTRACT].attempts;
	size_t n = 1;

	(void)state;
	add(JOB_EXTRACT, "a", 0, 1, NOW);
	for (int i = 1; i <= attempts; i++) {
		struct job j = begin_one(now);

		assert_int_equal(jobs_next_due(s, ALL, &next), 0);
		assert_int_equal(next - now, job_wait_us(JOB_EXTRACT, i));
		if (i == 3)
			assert_int_equal(jobs_end_failed(s, &j, "it broke", 3), 0);
		now = next;
	}
	assert_int_equal(due_at(now, jobs), 1);
	assert_int_equal(jobs_begin(s, jobs, &n, 7, now), 0);
	assert_int_equal(n, 0);
	assert_int_equal(one_number(s, "SELECT state = 3 AND error = 'it broke' AND cost = 3 FROM jobs"), 1);
	assert_int_equal(due_at(INT64_MAX, jobs), 0);
	assert_int_equal(jobs_retry(s, 999, now), 0);
	assert_int_equal(jobs_retry(s, jobs[0].id, now), 1);
	assert_int_equal(due_at(now, jobs), 1);
	assert_int_equal(jobs[0].tries, 0);
}

static void test_the_last_failure_kills(void **state)
{
	struct job j;

	(void)state;
	add(JOB_CONSULT, "a", 0, 1, NOW);
	for (int i = 0; i < job_kinds[JOB_CONSULT].attempts; i++) {
		j = begin_one(NOW + i * 61 * USEC_PER_SEC);
		assert_int_equal(jobs_end_failed(s, &j, "no", 0), 0);
	}
	assert_int_equal(one_number(s, "SELECT state FROM jobs"), JOB_DEAD);
	assert_int_equal(jobs_retry_all(s, NOW), 1);
	assert_int_equal(one_number(s, "SELECT state FROM jobs"), JOB_WAITING);
}

static void test_given_back_costs_no_try(void **state)
{
	struct job j;

	(void)state;
	add(JOB_CONSULT, "a", 0, 1, NOW);
	for (int i = 0; i < 20; i++) {
		j = begin_one(NOW);
		assert_int_equal(j.tries, 0);
		assert_int_equal(jobs_give_back(s, &j, "no budget", NOW), 0);
	}
	assert_int_equal(one_number(s, "SELECT tries = 0 AND error = 'no budget' FROM jobs"), 1);
}

static void test_sooner_but_not_later(void **state)
{
	struct job jobs[JOBS_AT_ONCE];

	(void)state;
	add(JOB_SUMMARIZE, "1", 0, 1, NOW + 300);
	add(JOB_SUMMARIZE, "1", 0, 1, NOW + 400);
	assert_int_equal(due_at(NOW + 299, jobs), 0);
	assert_int_equal(due_at(NOW + 300, jobs), 1);
	add(JOB_SUMMARIZE, "1", 0, 1, NOW);
	assert_int_equal(due_at(NOW, jobs), 1);
}

static void test_what_is_long_over_goes(void **state)
{
	struct job j;

	(void)state;
	add(JOB_EXTRACT, "a", 0, 1, NOW);
	j = begin_one(NOW);
	assert_int_equal(jobs_end_done(s, &j, 0), 0);
	add(JOB_EXTRACT, "b", 0, 1, NOW);
	assert_int_equal(jobs_tidy(s, clock_wall_us()), 0);
	assert_int_equal(jobs_tidy(s, clock_wall_us() + 8 * 86400 * USEC_PER_SEC), 1);
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs WHERE subject = 'b'"), 1);
}

static void test_names(void **state)
{
	(void)state;
	for (enum job_kind k = 0; k < JOB_KIND_MAX; k++) {
		assert_int_equal(job_kind_find(str_of(job_kinds[k].name)), k);
		assert_true(job_wait_us(k, 1) <= job_wait_us(k, 2));
		assert_int_equal(job_wait_us(k, 100), job_kinds[k].wait_most_ms * USEC_PER_MSEC);
	}
	assert_int_equal(job_kind_find(STR("nonsense")), JOB_KIND_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_twice_is_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reopened_while_it_ran, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_the_head_of_a_stream, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_last_failure_kills, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_given_back_costs_no_try, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sooner_but_not_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_long_over_goes, set_up, tear_down),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
