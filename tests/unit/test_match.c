#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "match/match.h"

static struct match *compile(const char *pattern, unsigned flags)
{
	struct match *m = NULL;
	struct err err = { 0 };

	assert_int_equal(match_compile(str_of(pattern), flags, &m, &err), 0);
	return m;
}

static void finds_groups(void **state)
{
	_cleanup_(match_freep) struct match *m = compile("(a+)(x)?(b+)", 0);
	size_t g[2 * MATCH_GROUPS];

	assert_int_equal(match_find(m, STR("..aabb.."), 0, g), 1);
	assert_int_equal(g[0], 2);
	assert_int_equal(g[1], 6);
	assert_int_equal(g[2], 2);
	assert_true(g[4] == MATCH_UNSET && g[5] == MATCH_UNSET);
	assert_int_equal(g[7], 6);
	assert_true(g[8] == MATCH_UNSET);
	assert_int_equal(match_find(m, STR("..aabb.."), 4, g), 0);
	assert_int_equal(match_find(m, STR("..aabb.."), 99, g), 0);
	assert_int_equal(match_find(m, STR_NONE, 0, NULL), 0);
}

static void anchors_where_asked(void **state)
{
	_cleanup_(match_freep) struct match *m = compile("(?<!z)ab", MATCH_ANCHORED | MATCH_NOCASE);

	assert_int_equal(match_find(m, STR("xAB"), 1, NULL), 1);
	assert_int_equal(match_find(m, STR("xAB"), 0, NULL), 0);
	assert_int_equal(match_find(m, STR("zAB"), 1, NULL), 0);
}

static void lines(void **state)
{
	_cleanup_(match_freep) struct match *m = compile("^b$", MATCH_LINES);

	assert_int_equal(match_find(m, STR("a\nb\nc"), 0, NULL), 1);
}

static void invalid_utf8_is_no_error(void **state)
{
	_cleanup_(match_freep) struct match *m = compile("\\w+é.", MATCH_UTF);

	assert_int_equal(match_find(m, STR("\xff\xfe zé\xe2\x82\xac"), 0, NULL), 1);
	assert_int_equal(match_find(m, STR("\xff\xfe\xc3"), 0, NULL), 0);
}

static void bad_patterns_say_where(void **state)
{
	struct match *m = NULL;
	struct err err = { 0 };

	assert_int_equal(match_compile(STR("ab(c"), 0, &m, &err), -EINVAL);
	assert_int_equal(err.col, 5);
	assert_true(err.text[0] != 0);
	assert_int_equal(match_compile(STR("[z-a]"), 0, &m, NULL), -EINVAL);
	assert_int_equal(match_compile(STR("\\C"), MATCH_UTF, &m, NULL), -EINVAL);
	assert_int_equal(match_compile((str){ "", 1 << 20 }, 0, &m, &err), -E2BIG);
	assert_null(m);
	match_free(NULL);
}

/* Exponential by construction: must end soon, and not with "no match". */
static void a_limit_is_an_answer(void **state)
{
	_cleanup_(match_freep) struct match *m = compile("^(a|aa)+$", 0);
	_cleanup_(match_freep) struct match *u = compile("^(a|aa)+$", MATCH_UTF);

	assert_int_equal(match_find(m, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), 0, NULL),
		-ELOOP);
	assert_int_equal(match_find(u, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), 0, NULL),
		-ELOOP);
}

/* Needs more room than the machine stack gives: the interpreter takes over. */
static void deep_but_harmless(void **state)
{
	_cleanup_(match_freep) struct match *m = compile("^(?:a|b(?=c*))*$", 0);
	char text[3000];

	memset(text, 'a', sizeof text);
	assert_int_equal(match_find(m, str_n(text, sizeof text), 0, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_groups),
		cmocka_unit_test(anchors_where_asked),
		cmocka_unit_test(lines),
		cmocka_unit_test(invalid_utf8_is_no_error),
		cmocka_unit_test(bad_patterns_say_where),
		cmocka_unit_test(a_limit_is_an_answer),
		cmocka_unit_test(deep_but_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
