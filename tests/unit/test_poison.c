/* poison: what reads like an instruction to an agent is put aside, and what engineers note is kept. The texts are in
 * tests/poison/, one per line. */
#include "test.h"

#include "memory/memory.h"

static struct poison *poison;

static int setup(void **state)
{
	(void)state;
	poison = poison_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	poison_free(poison);
	return 0;
}

static void load(const char *name, struct buf *b)
{
	char path[FS_PATH];

	snprintf(path, sizeof path, "%s/tests/poison/%s", getenv("SRCDIR"), name);
	assert_int_equal(fs_read_file(path, b), 0);
}

/* How many lines there are, and how many of them are taken for poison when that is not `wanted`; each is shown. */
static void count_wrong(const char *name, bool wanted, size_t *ret_lines, size_t *ret_wrong)
{
	struct buf b = BUF_INIT(MIB(1));
	str rest, line;

	*ret_lines = *ret_wrong = 0;
	load(name, &b);
	rest = buf_str(&b);
	while (str_split(&rest, '\n', &line)) {
		const char *why;

		if (str_empty(line))
			continue;
		++*ret_lines;
		why = poison_find(poison, line);
		if (!why == !wanted)
			continue;
		++*ret_wrong;
		print_message("# %s:%zu: %s: " STR_FMT "\n", name, *ret_lines, why ? why : "missed", STR_ARG(line));
	}
	buf_release(&b);
}

static void test_no_poisoned_text_passes(void **state)
{
	size_t lines, missed;

	(void)state;
	count_wrong("poisoned.txt", true, &lines, &missed);
	assert_true(lines >= 200);
	assert_int_equal(missed, 0);
	count_wrong("poisoned2.txt", true, &lines, &missed);
	assert_int_equal(missed, 0);
	count_wrong("poisoned3.txt", true, &lines, &missed);
	assert_int_equal(missed, 0);
}

static void test_at_least_95_percent_of_benign_texts_are_kept(void **state)
{
	size_t lines, taken;

	(void)state;
	count_wrong("benign.txt", false, &lines, &taken);
	assert_true(lines >= 500);
	assert_true(taken * 20 <= lines);
	count_wrong("benign2.txt", false, &lines, &taken);
	assert_true(taken * 20 <= lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_poisoned_text_passes),
		cmocka_unit_test(test_at_least_95_percent_of_benign_texts_are_kept),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
