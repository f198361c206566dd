/* Descriptors of programs: each file of data/programs is read, and its own examples are decided as it says. The
 * commands are only ever read. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/limits.h"
#include "guard/descriptor.h"
#include "json/json.h"

static const struct guard_context here = { .cwd = { "/home/dev/proj", 14 }, .home = { "/home/dev", 9 } };

static enum verdict_action decide(str command)
{
	struct guard_report report = { 0 };
	struct arena a = { 0 };
	enum verdict_action got = guard_command(NULL, &here, command, &a, &report);

	arena_release(&a);
	return got;
}

/* -- the files --------------------------------------------------------------------------------- */

static const struct {
	const char *key;
	enum verdict_action action;
} lists[] = { { "deny", VERDICT_DENY }, { "ask", VERDICT_ASK }, { "allow", VERDICT_NONE } };

static unsigned check_examples(const char *file, const struct json *root, unsigned *wrong)
{
	const struct json *examples = json_get(root, STR("examples"));
	unsigned n = 0;

	for (size_t i = 0; i < countof(lists); i++)
		json_each(one, json_get(examples, str_of(lists[i].key))) {
			enum verdict_action got = decide(json_str(one));

			n++;
			if (got == lists[i].action || (lists[i].action == VERDICT_NONE && got == VERDICT_ALLOW))
				continue;
			print_error("%s: %s, not %s: " STR_FMT "\n", file, verdict_action_names[got], lists[i].key,
				STR_ARG(json_str(one)));
			++*wrong;
		}
	return n;
}

struct census {
	unsigned files, examples, wrong;
};

static void check_file(const char *dir, const char *file, struct census *n)
{
	struct arena a = { 0 };
	struct buf text = BUF_INIT(MIB(1));
	struct descriptor d;
	struct err err = { 0 };
	struct json *root;
	unsigned examples;
	char path[1200];

	snprintf(path, sizeof path, "%s/%s", dir, file);
	assert_int_equal(fs_read_file(path, &text), 0);
	if (descriptor_read(&a, buf_str(&text), &d, &err) < 0)
		fail_msg("%s:%u:%u: %s", file, err.line, err.col, err.text);
	assert_int_equal(json_parse(&a, buf_str(&text), 0, &root, &err), 0);
	if (!json_get(root, STR("about")))
		fail_msg("%s: 'about' is missing: one sentence for people", file);
	for (size_t i = 0; i < d.names.n; i++)
		if (!descriptor_of(d.names.v[i]) || descriptor_of(d.names.v[i])->names.n != d.names.n)
			fail_msg("%s: " STR_FMT " is known from elsewhere", file, STR_ARG(d.names.v[i]));
	examples = check_examples(file, root, &n->wrong);
	if (!examples)
		fail_msg("%s: it has no examples", file);
	n->files++;
	n->examples += examples;
	buf_release(&text);
	arena_release(&a);
}

static void test_each_file_and_its_examples(void **state)
{
	struct census n = { 0 };
	char dir[900];
	struct dirent *e;
	DIR *d;

	(void)state;
	snprintf(dir, sizeof dir, "%s/data/programs", getenv("SRCDIR"));
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d)))
		if (str_ends(str_of(e->d_name), STR(".json")))
			check_file(dir, e->d_name, &n);
	closedir(d);
	print_message("# %u files, %u examples\n", n.files, n.examples);
	assert_int_equal(n.files, program_texts_count);
	assert_int_equal(n.wrong, 0);
}

static void test_names_are_sorted(void **state)
{
	(void)state;
	for (size_t i = 1; i < program_names_count; i++)
		assert_true(strcmp(program_names[i - 1].name, program_names[i].name) < 0);
	assert_null(descriptor_of(STR("no-such-program")));
	assert_null(descriptor_of(STR("")));
}

/* -- what a stranger may get wrong ------------------------------------------------------------- */

static const struct {
	const char *text;
	unsigned line, col;
	const char *says;
} mistakes[] = {
	{ "[]", 1, 1, "a descriptor must be an object" },
	{ "{}", 1, 1, "a descriptor needs" },
	{ "{\"names\":[\"a\"", 1, 14, "" },
	{ "{\"names\":[]}", 1, 10, "names must be a list" },
	{ "{\"names\":[\"a/b\"]}", 1, 11, "this is no name of a program" },
	{ "{\"names\":[\"a\"],\n \"rulez\":[]}", 2, 10, "a descriptor knows no such member: 'rulez'" },
	{ "{\"names\":[\"a\"],\"operands\":[\"reeds\"]}", 1, 28, "there is no such role: 'reeds'" },
	{ "{\"names\":[\"a\"],\"operands\":[\"reads...\",\"value\"]}", 1, 39, "nothing may stand behind" },
	{ "{\"names\":[\"a\"],\"operands\":[\"code\"]}", 1, 28, "this needs a language" },
	{ "{\"names\":[\"a\"],\"options\":{\"value\":\"user\"}}", 1, 35, "an option begins with a dash: 'user'" },
	{ "{\"names\":[\"a\"],\"options\":[]}", 1, 26, "options must be an object" },
	{ "{\"names\":[\"a\"],\"read_by\":[\"nobody\"]}", 1, 27, "nothing in C has this name: 'nobody'" },
	{ "{\"names\":[\"a\"],\"as\":\"king\"}", 1, 21, "'as' is root or remote, not: 'king'" },
	{ "{\"names\":[\"a\"],\"forms\":[{}]}", 1, 25, "a form needs: 'when'" },
	{ "{\"names\":[\"a\"],\"rules\":[{}]}", 1, 25, "a rule needs" },
	{ "{\"names\":[\"a\"],\"rules\":[{\"rule\":\"x\"}]}", 1, 33, "there is no rule" },
	{ "{\"names\":[\"a\"],\"rules\":[{\"decision\":\"allow\"}]}", 1, 37,
		"a decision is deny or ask, not: 'allow'" },
	{ "{\"names\":[\"a\"],\"rules\":[{\"wen\":\"x\"}]}", 1, 32, "a rule knows no such member: 'wen'" },
	{ "{\"names\":[\"a\"],\"files\":\"eats\"}", 1, 24, "files are shown or used" },
	{ "{\"names\":[\"a\"],\"options_end\":\"soon\"}", 1, 30, "this is not known here" },
};

static void test_mistakes_have_a_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(mistakes); i++) {
		struct arena a = { 0 };
		struct descriptor d;
		struct err err = { 0 };

		assert_true(descriptor_read(&a, str_of(mistakes[i].text), &d, &err) < 0);
		if (err.line != mistakes[i].line || err.col != mistakes[i].col || !strstr(err.text, mistakes[i].says))
			fail_msg("%s: %u:%u: %s", mistakes[i].text, err.line, err.col, err.text);
		arena_release(&a);
	}
}

static void test_lists_are_bounded(void **state)
{
	struct buf b = BUF_INIT(MIB(1));
	struct arena a = { 0 };
	struct descriptor d;
	struct err err = { 0 };

	(void)state;
	buf_add_str(&b, STR("{\"names\":[\"a\"],\"options\":{\"value\":\""));
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "--o%d ", i);
	buf_add_str(&b, STR("\"}}"));
	assert_int_equal(descriptor_read(&a, buf_str(&b), &d, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too many options"));
	buf_release(&b);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_and_its_examples),
		cmocka_unit_test(test_names_are_sorted),
		cmocka_unit_test(test_mistakes_have_a_place),
		cmocka_unit_test(test_lists_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
