/* diff: applied to the old text, it gives the new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diff.h"

static const struct {
	const char *old, *new_text, *diff;
} cases[] = {
	{ "", "", "" },
	{ "a\n", "a\n", "" },
	{ "", "a\n", "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n" },
	{ "a\n", "", "--- x\n+++ y\n@@ -1,1 +0,0 @@\n-a\n" },
	{ "a", "a\n", "--- x\n+++ y\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	{ "1\n2\n3\n4\n5\n", "1\n2\n3\nx\n4\n5\n", "--- x\n+++ y\n@@ -1,5 +1,6 @@\n 1\n 2\n 3\n+x\n 4\n 5\n" },
	{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "2\n3\n4\n5\n6\n7\n8\n9\nx\n",
		"--- x\n+++ y\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -7,3 +6,4 @@\n 7\n 8\n "
		"9\n+x\n" },
};

static void known_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		struct buf b = BUF_INIT(1 << 16);

		diff_write(&b, "x", str_of(cases[i].old), "y", str_of(cases[i].new_text));
		assert_string_equal(b.p, cases[i].diff);
		buf_release(&b);
	}
}

/* Takes a line off the front of *rest. */
static str take_line(str *rest)
{
	ptrdiff_t nl = str_find_char(*rest, '\n');
	str line = str_head(*rest, nl < 0 ? rest->n : (size_t)nl + 1);

	*rest = str_from(*rest, line.n);
	return line;
}

/* Replays a diff over the old text. */
static void apply(str diff, str old, struct buf *out)
{
	size_t taken = 0;

	while (diff.n) {
		str line = take_line(&diff), text = str_from(line, 1);

		if (str_starts(line, STR("---")) || str_starts(line, STR("+++")))
			continue;
		if (str_starts(line, STR("@@"))) {
			size_t begin = strtoul(line.p + 4, NULL, 10);

			/* What stands between hunks. A hunk that takes nothing names the line
			 * before it. */
			begin -= strtoul(strchr(line.p, ',') + 1, NULL, 10) ? 1 : 0;
			for (; taken < begin; taken++)
				buf_add_str(out, take_line(&old));
			continue;
		}
		if (line.p[0] != '+') {
			assert_true(str_eq(take_line(&old), text));
			taken++;
		}
		if (line.p[0] != '-')
			buf_add_str(out, text);
	}
	buf_add_str(out, old);
}

static void random_text(struct buf *b, unsigned lines, unsigned letters)
{
	for (unsigned i = 0; i < lines; i++)
		buf_addf(b, "%c\n", 'a' + rand() % (int)letters);
}

static void random_texts(void **state)
{
	(void)state;
	srand(7);
	for (int i = 0; i < 3000; i++) {
		struct buf old = BUF_INIT(1 << 20), now = BUF_INIT(1 << 20), diff = BUF_INIT(1 << 20),
			   back = BUF_INIT(1 << 20);

		random_text(&old, (unsigned)rand() % 40, 1 + (unsigned)rand() % 6);
		random_text(&now, (unsigned)rand() % 40, 1 + (unsigned)rand() % 6);
		diff_write(&diff, "x", buf_str(&old), "y", buf_str(&now));
		apply(buf_str(&diff), buf_str(&old), &back);
		assert_string_equal(back.p, now.p);
		buf_release(&old);
		buf_release(&now);
		buf_release(&diff);
		buf_release(&back);
	}
}

/* Past the search's limit: one block out, one in. */
static void texts_with_nothing_in_common(void **state)
{
	struct buf old = BUF_INIT(1 << 20), now = BUF_INIT(1 << 20), diff = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		buf_addf(&old, "old %d\n", i);
		buf_addf(&now, "new %d\n", i);
	}
	diff_write(&diff, "x", buf_str(&old), "y", buf_str(&now));
	assert_non_null(strstr(diff.p, "@@ -1,2000 +1,2000 @@\n-old 0\n"));
	assert_non_null(strstr(diff.p, "-old 1999\n+new 0\n"));
	buf_release(&old);
	buf_release(&now);
	buf_release(&diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_cases),
		cmocka_unit_test(random_texts),
		cmocka_unit_test(texts_with_nothing_in_common),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
