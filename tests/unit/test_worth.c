/* worth: what age and disuse take from a memory, and what they leave. */
#include "test.h"

#include "base/clock.h"
#include "memory/memory.h"

#define DAY (24 * 3600 * USEC_PER_SEC)

static const int64_t now = 2000 * DAY;

static float worth(int64_t days, int64_t shown, int64_t used, int64_t used_days)
{
	struct memory_past past = {
		.created_us = now - days * DAY,
		.used_us = used ? now - used_days * DAY : 0,
		.shown = shown,
		.used = used,
	};

	return memory_worth(&past, now);
}

static void test_what_is_new_is_worth_all(void **state)
{
	(void)state;
	assert_true(worth(0, 0, 0, 0) == 1);
	assert_true(worth(-5, 0, 0, 0) == 1);
	assert_true(memory_worth(&(struct memory_past){ .pinned = true, .created_us = 1, .shown = 99 }, now) == 1);
}

static void test_age_and_disuse_take_some_and_never_much(void **state)
{
	(void)state;
	assert_true(worth(30, 0, 0, 0) < worth(1, 0, 0, 0));
	assert_true(worth(400, 0, 0, 0) < worth(30, 0, 0, 0));
	assert_true(worth(30, 9, 0, 0) < worth(30, 1, 0, 0));
	assert_true(worth(1900, 1000000, 0, 0) > 0.79F);
}

static void test_use_makes_it_young_again(void **state)
{
	(void)state;
	assert_true(worth(400, 6, 2, 0) == 1);
	assert_true(worth(400, 6, 2, 10) > worth(400, 6, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_new_is_worth_all),
		cmocka_unit_test(test_age_and_disuse_take_some_and_never_much),
		cmocka_unit_test(test_use_makes_it_young_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
