/* config: every way a file can be wrong is named with its place, and changing an option leaves the
 * rest of the file alone. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "config/config.h"
#include "json/json.h"

static char dir[] = "/tmp/hookd-test-config-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[FS_PATH];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[FS_PATH];

	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	return system(command);
}

/* -- reading ----------------------------------------------------------------------------------- */

static void defaults_are_valid_and_complete(void **state)
{
	struct config_problem *problems;
	struct config c;

	(void)state;
	config_load(in_dir("missing.json"), &c, &problems);
	assert_null(problems);
	for (size_t i = 0; i < OPTION_ID_MAX; i++) {
		assert_string_equal(c.values[i].text, options[i].fallback);
		assert_int_equal(c.values[i].origin, ORIGIN_DEFAULT);
		assert_non_null(options[i].text);
	}
	assert_int_equal(config_number(&c, OPTION_DURABILITY), 0);
	assert_int_equal(config_number(&c, OPTION_LOG_MAX_MB), 8);
	assert_int_equal(config_number(&c, OPTION_STORE_LINGER_MS), 60000);
	config_release(&c);
}

static const char all[] = "{\n"
			  "  // how safe\n"
			  "  \"$schema\": \"x\",\n"
			  "  \"durability\": \"strict\",\n"
			  "  \"log\": { \"level\": \"info,store=debug\", \"max_mb\": 1024 },\n"
			  "  \"store\": { \"linger_ms\": 0, },\n"
			  "}\n";

static void every_option_is_read(void **state)
{
	struct config_problem *problems;
	struct config c;

	(void)state;
	config_parse(str_of(all), &c, &problems);
	assert_null(problems);
	assert_int_equal(config_number(&c, OPTION_DURABILITY), 1);
	assert_string_equal(c.values[OPTION_LOG_LEVEL].text, "info,store=debug");
	assert_int_equal(config_number(&c, OPTION_LOG_MAX_MB), 1024);
	assert_int_equal(config_number(&c, OPTION_STORE_LINGER_MS), 0);
	assert_int_equal(c.values[OPTION_LOG_MAX_MB].origin, ORIGIN_USER);
	assert_int_equal(c.values[OPTION_LOG_MAX_MB].line, 5);
	config_release(&c);
}

/* text, place of the first complaint, part of it; NULL: none. */
static const struct {
	const char *text;
	unsigned line, col;
	const char *says;
} files[] = {
	{ "", 0, 0, NULL },
	{ " \r\n\t", 0, 0, NULL },
	{ "{}", 0, 0, NULL },
	{ "\xEF\xBB\xBF{ \"durability\": \"strict\" }", 0, 0, NULL },
	{ "{\r\n\"log\": {\r\n\"level\": \"warn\" // c\r\n}}\r\n", 0, 0, NULL },
	{ "[]", 1, 1, "must contain an object, not an array" },
	{ "{\n  \"log\": {\n    \"level\": \"info\"\n    \"max_mb\": 3 } }", 4, 5, "expected ',' or '}'" },
	{ "{ \"durability\": \"stric\xff\" }", 1, 23, "invalid UTF-8" },
	{ "{ \"durabilty\": \"strict\" }", 1, 3, "did you mean 'durability'?" },
	{ "{ \"Durability\": \"strict\" }", 1, 3, "did you mean 'durability'?" },
	{ "{\n \"log\": {\n  \"lvel\": \"info\" } }", 3, 3, "did you mean 'level'?" },
	{ "{ \"log\": { \"maxMb\": 3 } }", 1, 12, "did you mean 'max_mb'?" },
	{ "{ \"log.level\": \"info\" }", 1, 3, "written as nested objects" },
	{ "{ \"colour\": 1 }", 1, 3, "'hookd config show' lists them all" },
	{ "{ \"log\": { \"$schema\": 1 } }", 1, 12, "unknown option '$schema'" },
	{ "{ \"a\\u001b[2Jb\": 1 }", 1, 3, "unknown option 'a?[2Jb'" },
	{ "{ \"log\": 5 }", 1, 10, "'log' must be an object, not a number" },
	{ "{ \"durability\": true }", 1, 17, "must be \"normal\" or \"strict\", not true or false" },
	{ "{ \"durability\": \"fast\" }", 1, 17, "must be \"normal\" or \"strict\", not 'fast'" },
	{ "{ \"durability\": null }", 1, 17, "not null" },
	{ "{ \"log\": { \"max_mb\": \"8\" } }", 1, 22, "a whole number from 1 to 1024, not a string" },
	{ "{ \"log\": { \"max_mb\": 0 } }", 1, 22, "a whole number from 1 to 1024, not '0'" },
	{ "{ \"log\": { \"max_mb\": -1 } }", 1, 22, "not '-1'" },
	{ "{ \"log\": { \"max_mb\": 1.5 } }", 1, 22, "not '1.5'" },
	{ "{ \"log\": { \"max_mb\": 1e300 } }", 1, 22, "not '1e300'" },
	{ "{ \"log\": { \"max_mb\": 99999999999999999999 } }", 1, 22, "not '99999999999999999999'" },
	{ "{ \"log\": { \"level\": \"loud\" } }", 1, 21, "unknown log level 'loud'" },
	{ "{ \"log\": { \"level\": \"in\\u0000fo\" } }", 1, 21, "must be a line of text" },
	{ "{ \"durability\": \"normal\",\n \"durability\": \"strict\" }", 2, 2, "a second time" },
};

static void complaints_name_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(files); i++) {
		struct config_problem *problems;
		struct config c;

		config_parse(str_of(files[i].text), &c, &problems);
		if (!files[i].says != !problems)
			fail_msg("%s: %s", files[i].text, problems ? problems->err.text : "no complaint");
		if (problems) {
			if (!strstr(problems->err.text, files[i].says))
				fail_msg("%s: %s", files[i].text, problems->err.text);
			assert_int_equal(problems->err.line, files[i].line);
			assert_int_equal(problems->err.col, files[i].col);
			assert_null(problems->next);
		}
		for (size_t o = 0; o < OPTION_ID_MAX; o++)
			assert_int_equal(config_check(&options[o], str_of(c.values[o].text), NULL, NULL), 0);
		config_release(&c);
		config_problems_free(problems);
	}
}

static void what_is_right_counts_beside_what_is_wrong(void **state)
{
	struct config_problem *problems;
	struct config c;

	(void)state;
	config_parse(STR("{\"durability\":\"normal\",\"x\":1,\"log\":{\"max_mb\":0,\"level\":\"debug\"},"
			 "\"durability\":\"strict\"}"),
		&c, &problems);
	assert_int_equal(config_number(&c, OPTION_DURABILITY), 1);
	assert_string_equal(c.values[OPTION_LOG_LEVEL].text, "debug");
	assert_int_equal(config_number(&c, OPTION_LOG_MAX_MB), 8);
	assert_non_null(problems->next->next);
	assert_null(problems->next->next->next);
	config_release(&c);
	config_problems_free(problems);
}

static void complaints_are_bounded(void **state)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct config_problem *problems, *last;
	struct config c;
	unsigned n = 1;

	(void)state;
	buf_add_char(&b, '{');
	for (int i = 0; i < 60000; i++)
		buf_addf(&b, "%s\"k%d\":1", i ? "," : "", i);
	buf_add_char(&b, '}');
	config_parse(buf_str(&b), &c, &problems);
	for (last = problems; last->next; last = last->next)
		n++;
	assert_int_equal(n, 50);
	assert_string_equal(last->err.text, "and 59951 more problems");
	config_release(&c);
	config_problems_free(problems);
	buf_release(&b);
}

static void load_expect(const char *path, int code, const char *says)
{
	struct config_problem *problems;
	struct config c;

	config_load(path, &c, &problems);
	assert_non_null(problems);
	assert_int_equal(problems->err.code, code);
	assert_non_null(strstr(problems->err.text, says));
	assert_string_equal(c.values[OPTION_DURABILITY].text, "normal");
	config_release(&c);
	config_problems_free(problems);
}

static void files_that_are_no_files(void **state)
{
	char *big = calloc(1, LIMIT_CONFIG + 1);

	(void)state;
	load_expect(dir, -EISDIR, "directory");
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	load_expect(in_dir("fifo"), -EINVAL, "not a plain file");
	memset(big, ' ', LIMIT_CONFIG + 1);
	assert_int_equal(fs_replace_file(in_dir("big"), str_n(big, LIMIT_CONFIG + 1), false), 0);
	load_expect(in_dir("big"), -EFBIG, "larger than 1 MiB");
	free(big);
	assert_int_equal(symlink("loop", in_dir("loop")), 0);
	load_expect(in_dir("loop"), -ELOOP, "so the file is ignored");
	if (geteuid() != 0) {
		assert_int_equal(fs_replace_file(in_dir("secret"), STR("{}"), false), 0);
		assert_int_equal(chmod(in_dir("secret"), 0), 0);
		load_expect(in_dir("secret"), -EACCES, "Permission denied");
	}
}

static void names_are_found_and_suggested(void **state)
{
	struct err err;

	(void)state;
	assert_ptr_equal(config_find(STR("log.level"), &err), &options[OPTION_LOG_LEVEL]);
	assert_ptr_equal(config_find(STR("LOG.Max-MB"), &err), &options[OPTION_LOG_MAX_MB]);
	assert_null(config_find(STR("log.levle"), &err));
	assert_non_null(strstr(err.text, "did you mean 'log.level'?"));
	assert_null(config_find(STR("zebra"), &err));
	assert_non_null(strstr(err.text, "lists them all"));
	assert_null(config_find(STR(""), &err));
}

/* -- changing ---------------------------------------------------------------------------------- */

static const struct {
	enum option_id id;
	const char *value, *before, *after;
} edits[] = {
	{ OPTION_LOG_LEVEL, "debug", "", "{\n  \"log\": {\n    \"level\": \"debug\"\n  }\n}\n" },
	{ OPTION_DURABILITY, "strict", "{}", "{\n  \"durability\": \"strict\"\n}" },
	{ OPTION_DURABILITY, "strict", "{\r\n}\r\n", "{\r\n  \"durability\": \"strict\"\r\n}\r\n" },
	{ OPTION_DURABILITY, "strict", "{ \"durability\" : \"normal\" /* x */ }",
		"{ \"durability\" : \"strict\" /* x */ }" },
	{ OPTION_LOG_MAX_MB, "16", "{\"log\":{\"level\":\"info\"}}", "{\"log\":{\"level\":\"info\",\"max_mb\":16}}" },
	{ OPTION_LOG_MAX_MB, "16", "{\"log\": {\"level\": \"info\"}}",
		"{\"log\": {\"level\": \"info\", \"max_mb\": 16}}" },
	/* A comment keeps the company of the line it speaks of. */
	{ OPTION_LOG_MAX_MB, "16", "{\n\t\"log\": {\n\t\t\"level\": \"info\" // quiet\n\t}\n}\n",
		"{\n\t\"log\": {\n\t\t\"level\": \"info\", // quiet\n\t\t\"max_mb\": "
		"16\n\t}\n}\n" },
	{ OPTION_LOG_MAX_MB, "16", "{\r\n\t\"log\": {\r\n\t\t\"level\": \"info\", // quiet\r\n\t},\r\n}\r\n",
		"{\r\n\t\"log\": {\r\n\t\t\"level\": \"info\", // quiet\r\n\t\t\"max_mb\": "
		"16\r\n\t},\r\n}\r\n" },
	{ OPTION_DURABILITY, "strict", "{\n    // nothing yet\n}\n",
		"{\n    // nothing yet\n  \"durability\": \"strict\"\n}\n" },
	{ OPTION_DURABILITY, "strict", "{ // nothing yet\n}", "{ // nothing yet\n  \"durability\": \"strict\"\n}" },
	{ OPTION_DURABILITY, "strict", "{\"log\":{} // last\n}",
		"{\"log\":{}, // last\n  \"durability\": \"strict\"\n}" },
	{ OPTION_STORE_LINGER_MS, "7", "{\n    \"log\": { \"level\": \"info\" }\n    /* end */\n}\n",
		"{\n    \"log\": { \"level\": \"info\" },\n    \"store\": {\n        "
		"\"linger_ms\": 7\n    }\n"
		"    /* end */\n}\n" },
	/* The last of a doubled name is the one that counts. */
	{ OPTION_DURABILITY, "strict", "{\"durability\":\"normal\",\"durability\":\"normal\"}",
		"{\"durability\":\"normal\",\"durability\":\"strict\"}" },
	{ OPTION_DURABILITY, "strict", "\xEF\xBB\xBF{}", "\xEF\xBB\xBF{\n  \"durability\": \"strict\"\n}" },
};

static void an_edit_changes_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(edits); i++) {
		struct buf out = BUF_INIT(LIMIT_CONFIG), again = BUF_INIT(LIMIT_CONFIG);
		const struct option *o = &options[edits[i].id];
		struct err err = { 0 };

		if (config_edit(str_of(edits[i].before), o, str_of(edits[i].value), &out, &err) < 0)
			fail_msg("%s: %s", edits[i].before, err.text);
		assert_string_equal(out.p, edits[i].after);
		assert_int_equal(config_edit(buf_str(&out), o, str_of(edits[i].value), &again, &err), 0);
		assert_string_equal(again.p, edits[i].after);
		buf_release(&out);
		buf_release(&again);
	}
}

static void edit_refused(const char *text, enum option_id id, const char *value, int code, unsigned line,
	const char *says)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG);
	struct err err = { 0 };

	assert_int_equal(config_edit(str_of(text), &options[id], str_of(value), &out, &err), code);
	assert_int_equal(err.line, line);
	if (!strstr(err.text, says))
		fail_msg("%s", err.text);
	buf_release(&out);
}

static void edits_that_are_refused(void **state)
{
	(void)state;
	edit_refused("{}", OPTION_LOG_MAX_MB, "0", -ERANGE, 0, "from 1 to 1024");
	edit_refused("{}", OPTION_LOG_LEVEL, "loud", -EINVAL, 0, "unknown log level");
	edit_refused("{\n\"a\" 1}", OPTION_LOG_MAX_MB, "1", -EBADMSG, 2, "expected ':'");
	edit_refused("{\n\"log\": 1}", OPTION_LOG_MAX_MB, "1", -EBADMSG, 2, "this should be an object");
	edit_refused("[]", OPTION_LOG_MAX_MB, "1", -EBADMSG, 1, "this should be an object");
}

static void set_makes_and_keeps_the_file(void **state)
{
	char path[FS_PATH], link[FS_PATH];
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct stat st;
	struct err err;

	(void)state;
	snprintf(path, sizeof path, "%s", in_dir("a/b/config.json"));
	assert_int_equal(config_set(path, &options[OPTION_LOG_MAX_MB], STR("9"), &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(chmod(path, 0640), 0);

	snprintf(link, sizeof link, "%s", in_dir("link.json"));
	assert_int_equal(symlink("a/b/config.json", link), 0);
	assert_int_equal(config_set(link, &options[OPTION_DURABILITY], STR("strict"), &err), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(fs_read_file(path, &b), 0);
	assert_string_equal(b.p, "{\n  \"log\": {\n    \"max_mb\": 9\n  },\n  \"durability\": \"strict\"\n}\n");
	buf_release(&b);
	assert_int_equal(config_set(dir, &options[OPTION_DURABILITY], STR("strict"), &err), -EISDIR);
}

static void schema_is_made_from_the_table(void **state)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct json *root, *v;
	struct arena a;

	(void)state;
	arena_init(&a);
	config_write_schema(&b);
	assert_int_equal(json_parse(&a, buf_str(&b), 0, &root, NULL), 0);
	v = json_path(root, "properties", "log", "properties", "max_mb", NULL);
	assert_true(str_eq(json_str(json_get(v, STR("type"))), STR("integer")));
	assert_true(str_eq(json_get(v, STR("default"))->text, STR("8")));
	assert_true(str_eq(json_get(v, STR("maximum"))->text, STR("1024")));
	v = json_path(root, "properties", "durability", "enum", NULL);
	assert_int_equal(v->count, 2);
	assert_non_null(json_path(root, "properties", "$schema", NULL));
	assert_non_null(json_path(root, "properties", "store", "properties", "linger_ms", NULL));
	assert_false(json_true(json_get(root, STR("additionalProperties"))));
	arena_release(&a);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_valid_and_complete),
		cmocka_unit_test(every_option_is_read),
		cmocka_unit_test(complaints_name_the_place),
		cmocka_unit_test(what_is_right_counts_beside_what_is_wrong),
		cmocka_unit_test(complaints_are_bounded),
		cmocka_unit_test(files_that_are_no_files),
		cmocka_unit_test(names_are_found_and_suggested),
		cmocka_unit_test(an_edit_changes_nothing_else),
		cmocka_unit_test(edits_that_are_refused),
		cmocka_unit_test(set_makes_and_keeps_the_file),
		cmocka_unit_test(schema_is_made_from_the_table),
	};

	return cmocka_run_group_tests_name("config", tests, make_dir, remove_dir);
}
