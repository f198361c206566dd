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

/* The sum over files. */
static void count_all(const char *const *names, bool wanted, size_t *ret_lines, size_t *ret_wrong)
{
	size_t lines, wrong;

	*ret_lines = *ret_wrong = 0;
	for (; *names; names++) {
		count_wrong(*names, wanted, &lines, &wrong);
		*ret_lines += lines;
		*ret_wrong += wrong;
	}
}

static void test_no_poisoned_text_passes(void **state)
{
	static const char *const names[] = { "poisoned.txt", "poisoned2.txt", "poisoned3.txt", NULL };
	size_t lines, missed;

	(void)state;
	count_all(names, true, &lines, &missed);
	assert_true(lines >= 200);
	assert_int_equal(missed, 0);
}

/* benign2.txt has nothing but texts that nearly read like an order. */
static void test_at_least_95_percent_of_benign_texts_are_kept(void **state)
{
	static const char *const names[] = { "benign.txt", "benign2.txt", NULL };
	size_t lines, taken;

	(void)state;
	count_all(names, false, &lines, &taken);
	assert_true(lines >= 500);
	assert_true(taken * 20 <= lines);
}

/* Nothing was mended to find these, so that they tell how the next stranger's words fare: a third is found, and the
 * rest has to be held back by where it comes from. To be replaced by new ones whenever they have been looked at. */
static void test_a_third_of_texts_nobody_mended_for_is_found(void **state)
{
	size_t lines, missed;

	(void)state;
	count_wrong("unseen.txt", true, &lines, &missed);
	assert_true(lines >= 40);
	assert_true((lines - missed) * 3 >= lines);
}

static void test_long_and_broken_texts_are_answered(void **state)
{
	static char text[200 << 10];

	(void)state;
	memset(text, 'a', sizeof text);
	assert_non_null(poison_find(poison, str_n(text, sizeof text)));
	assert_null(poison_find(poison, str_n(text, 100)));
	assert_null(poison_find(poison, STR("\xff\xfe &#xffffffff; &# %4 \xe2\x80")));
	assert_null(poison_find(poison, STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_poisoned_text_passes),
		cmocka_unit_test(test_at_least_95_percent_of_benign_texts_are_kept),
		cmocka_unit_test(test_a_third_of_texts_nobody_mended_for_is_found),
		cmocka_unit_test(test_long_and_broken_texts_are_answered),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
