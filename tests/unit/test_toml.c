/* toml: what stands where in somebody's config.toml, and one key put in and taken out of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "install/notify.h"
#include "install/toml.h"

static struct arena arena;
static struct install_request request;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena);
	request = (struct install_request){ .agent = agent_find(STR("codex")),
		.hookc = "/opt/hookd/bin/hookc",
		.state = "/home/ada/st\"ate" };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* One line for each value: path, where it stands, type, text. */
static void describe(const struct toml_value *v, void *ctx)
{
	static const char types[] = "sat-";
	struct buf *b = ctx;

	for (size_t i = 0; i < v->npath; i++)
		buf_addf(b, "%s" STR_FMT, i ? "|" : "", STR_ARG(v->path[i]));
	buf_addf(b, "%s%c" STR_FMT ";", v->top ? "^" : "=", types[v->type], STR_ARG(v->text));
}

/* Where tables begin and what belongs to none ends; END: with the text. */
#define END SIZE_MAX

static const struct {
	const char *text, *says;
	size_t first_table, last_end;
} reads[] = {
	{ "", "", END, 0 },
	{ "# nothing\n\n   \n", "", END, 0 },
	{ "a = 1", "a^-1;", END, END },
	{ "a=1\r\nb\t=\t\"x\" # c\r\n[t]\r\na=2\r\n", "a^-1;b^sx;t|a=-2;", 18, 18 },
	{ "\xEF\xBB\xBF"
	  "a = 1\n",
		"a^-1;", END, END },
	{ "a.b . \"c.d\" = true\n", "a|b|c.d^-true;", END, END },
	{ "\"\" = 1\n'q\"' = 2\n", "^-1;q\"^-2;", END, END },
	{ "a = { b = 1, c = { 'd' = \"e\" }, f = [ { g = 1 } ], h = {} }", "a|b^-1;a|c|d^se;a|f^a;a|h^t;", END, END },
	{ "a = [ 1,\n  [ \"]\" ], # ]\n  '''\n]''',\n]\nb = 1", "a^a;b^-1;", END, END },
	{ "a = \"\"\"\nnotify = 1\n[x]\n\"\"\"\n", "a^snotify = 1\n[x]\n;", END, END },
	{ "a = '''it's ''quoted'''''\nb = 2\n", "a^sit's ''quoted'';b^-2;", END, END },
	{ "a = \"\"\"x \\\n   \r\n  y\"\"\"\n", "a^sx y;", END, END },
	{ "a = \"\\t\\\"\\\\\\u00e9\\U0001F600\\x41\\e\"\n", "a^s\t\"\\é😀A\x1b;", END, END },
	{ "a = 'C:\\n'\nd = 1979-05-27 07:32:00Z\nf = +1_0.5e-3\ni = -inf\n",
		"a^sC:\\n;d^-1979-05-27 07:32:00Z;f^-+1_0.5e-3;i^--inf;", END, END },
	{ "[[a.b]]\nc = 1\n [ x . 'y z' ]  # t\nd.e = 2", "a|b|c=-1;x|y z|d|e=-2;", 0, 0 },
	{ "# top\n[a]\nb = \"\"\n", "a|b=s;", 6, 0 },
};

static void values_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(reads); i++) {
		struct buf b = BUF_INIT(KIB(4));
		struct toml_shape shape;
		struct err err = { 0 };

		if (toml_scan(str_of(reads[i].text), &arena, describe, &b, &shape, &err) < 0)
			fail_msg("%s\n%u:%u: %s", reads[i].text, err.line, err.col, err.text);
		assert_string_equal(b.p, reads[i].says);
		assert_int_equal(shape.first_table, MIN(reads[i].first_table, strlen(reads[i].text)));
		assert_int_equal(shape.last_end, MIN(reads[i].last_end, strlen(reads[i].text)));
		buf_release(&b);
	}
}

static const struct {
	const char *text;
	unsigned line, col;
	const char *says;
} broken[] = {
	{ "a = 1\nb = ", 2, 5, "a value is expected" },
	{ "a", 1, 2, "expected '='" },
	{ "= 1", 1, 1, "a key is expected" },
	{ "a = 1 b = 2", 1, 7, "a line end is expected" },
	{ "a = \"x\ny\"\n", 1, 5, "does not end" },
	{ "a = \"x\\\ny\"\n", 1, 5, "does not end" },
	{ "a = 'x", 1, 5, "does not end" },
	{ "a = '''x''\n", 1, 5, "does not end" },
	{ "a = \"\"\"x\\\"\"\"", 1, 5, "does not end" },
	{ "a = \"\\q\"", 1, 6, "no such escape" },
	{ "a = \"\\ud800\"", 1, 6, "no such escape" },
	{ "a = \"\\U00110000\"", 1, 6, "no such escape" },
	{ "a = \"\\u12\"", 1, 6, "no such escape" },
	{ "a = [1 2]", 1, 8, "expected ',' or ']'" },
	{ "a = [1,\n", 2, 1, "a value is expected" },
	{ "a = {b = 1", 1, 11, "expected ',' or '}'" },
	{ "[a\nb = 1", 1, 3, "expected ']'" },
	{ "[[a]\nb = 1", 1, 5, "expected ']'" },
	{ "a.b. = 1", 1, 6, "a key is expected" },
	{ "\"\"\"a\"\"\" = 1", 1, 3, "expected '='" },
	{ "#\r", 1, 2, "a line end is expected" },
	{ "a = 1\rb = 2", 1, 6, "a line end is expected" },
};

static void what_is_broken_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(broken); i++) {
		struct toml_shape shape;
		struct err err = { 0 };
		int r = toml_scan(str_of(broken[i].text), &arena, NULL, NULL, &shape, &err);

		if (r != -EBADMSG || err.line != broken[i].line || err.col != broken[i].col ||
			!strstr(err.text, broken[i].says))
			fail_msg("%s\n%d %u:%u: %s", broken[i].text, r, err.line, err.col, err.text);
	}
}

static void deep_and_long_is_refused(void **state)
{
	static const char *const repeated[] = { "[", "{a=", "a." };
	struct toml_shape shape;

	(void)state;
	for (size_t i = 0; i < countof(repeated); i++) {
		struct buf b = BUF_INIT(MIB(1));

		buf_add_str(&b, i < 2 ? STR("x = ") : STR(""));
		for (int n = 0; n < 100000; n++)
			buf_add_str(&b, str_of(repeated[i]));
		assert_int_equal(toml_scan(buf_str(&b), &arena, NULL, NULL, &shape, NULL), -EBADMSG);
		buf_release(&b);
	}
}

/* -- notify ------------------------------------------------------------------------------------ */

#define LINE "notify = [\"/opt/hookd/bin/hookc\", \"--dir\", \"/home/ada/st\\\"ate\", \"codex\", \"notify\"]"
#define STALE "notify=['/old/hookc', \"codex\",\n  \"notify\", # us\n]"

/* Our line put in, and what is there afterwards. */
static const struct {
	const char *before, *after;
} inserts[] = {
	{ "", LINE "\n" },
	{ "\xEF\xBB\xBF", "\xEF\xBB\xBF" LINE "\n" },
	{ "# mine", "# mine\n" LINE },
	{ "# mine\r\n", "# mine\r\n" LINE "\r\n" },
	{ "model = \"x\"", "model = \"x\"\n" LINE },
	{ "model = \"x\" # c\n\n# more\n", "model = \"x\" # c\n" LINE "\n\n# more\n" },
	{ "a = 1\r\n\r\n[t]\r\nb = 2", "a = 1\r\n" LINE "\r\n\r\n[t]\r\nb = 2" },
	{ "a = [\n  1,\n]\n# of t\n[t]\n", "a = [\n  1,\n]\n" LINE "\n# of t\n[t]\n" },
	{ "s = \"\"\"\nnotify = 1\n[t]\n\"\"\"\n[u]\n", "s = \"\"\"\nnotify = 1\n[t]\n\"\"\"\n" LINE "\n[u]\n" },
	{ "[t]\nnotify = [\"x\"]\n", LINE "\n\n[t]\nnotify = [\"x\"]\n" },
	{ "\xEF\xBB\xBF[t]\n", "\xEF\xBB\xBF" LINE "\n\n[t]\n" },
	{ "# file\n\n# of t\n# too\n[[t]]\n", "# file\n\n" LINE "\n\n# of t\n# too\n[[t]]\n" },
	{ "tui.notify = true\n\"a.notify\" = 1\n", "tui.notify = true\n\"a.notify\" = 1\n" LINE "\n" },
	{ "a = { notify = 1 }\n", "a = { notify = 1 }\n" LINE "\n" },
};

static void our_line_comes_and_goes(void **state)
{
	struct install_counts n;
	str after, again;

	(void)state;
	for (size_t i = 0; i < countof(inserts); i++) {
		str before = str_of(inserts[i].before);

		assert_int_equal(install_notify_add(&request, before, &arena, &after, &n, NULL), 0);
		assert_string_equal(after.p, inserts[i].after);
		assert_true(n.added == 1 && n.changed == 0 && !n.unused);
		assert_int_equal(install_notify_add(&request, after, &arena, &again, &n, NULL), 0);
		assert_true(str_eq(after, again) && n.added + n.changed == 0);
		/* Without any backup: every byte as it was. */
		assert_int_equal(install_notify_remove(&request, after, STR_NONE, &arena, &again, &n, NULL), 0);
		assert_string_equal(again.p, inserts[i].before);
		assert_int_equal(n.removed, 1);
	}
}

static void a_stale_line_is_rewritten_in_place(void **state)
{
	struct install_counts n;
	str after;

	(void)state;
	assert_int_equal(
		install_notify_add(&request, STR("a = 1\n" STALE " # c\nb = 2\n[t]\n"), &arena, &after, &n, NULL), 0);
	assert_string_equal(after.p,
		"a = 1\nnotify="
		"[\"/opt/hookd/bin/hookc\", \"--dir\", \"/home/ada/st\\\"ate\", "
		"\"codex\", \"notify\"] # c\nb = 2\n[t]\n");
	assert_true(n.changed == 1 && n.added == 0);
	assert_int_equal(
		install_notify_remove(&request, STR("a = 1\n" STALE "\nb = 2\n"), STR_NONE, &arena, &after, &n, NULL),
		0);
	assert_string_equal(after.p, "a = 1\nb = 2\n");
}

static const struct {
	const char *text, *by;
} foreign[] = {
	{ "notify = [\"node\", '/x/y.mjs']\n", "node /x/y.mjs" },
	{ "\"notify\" = [ \"say\" ]\n", "say" },
	{ "notify = []\n", "something else" },
	{ "notify = \"hookc\"\n", "something else" },
	{ "notify = [1, \"hookc\"]\n", "something else" },
	{ "notify.a = 1\n", "something else" },
	{ "[notify]\na = 1\n", "something else" },
	{ "notify = [\"/bin/hookc\"]\nnotify = [\"/bin/hookc\"]\n", "something else" },
	{ "notify = [\"tee\", \"hookc\"]\n", "tee hookc" },
};

static void a_foreign_one_is_kept(void **state)
{
	struct install_entry *list;
	struct install_counts n;
	str after;

	(void)state;
	for (size_t i = 0; i < countof(foreign); i++) {
		str text = str_of(foreign[i].text);

		assert_int_equal(install_notify_add(&request, text, &arena, &after, &n, NULL), 0);
		assert_true(str_eq(after, text) && n.unused && n.added + n.changed == 0);
		if (str_find(n.note, arena_strf(&arena, "already used by %s;", foreign[i].by)) < 0)
			fail_msg("%s: " STR_FMT, foreign[i].text, STR_ARG(n.note));
		assert_int_equal(install_notify_remove(&request, text, STR_NONE, &arena, &after, &n, NULL), 0);
		assert_true(str_eq(after, text) && n.removed == 0);
		assert_int_equal(install_notify_list(&request, text, &arena, &list, NULL), 0);
		assert_null(list);
	}
}

static void the_line_is_listed(void **state)
{
	struct install_entry *list;

	(void)state;
	assert_int_equal(install_notify_list(&request, STR(LINE), &arena, &list, NULL), 0);
	assert_true(list->current && list->is_notify && !list->shell && list->nargs == 4);
	assert_true(str_eq(list->args[3], STR("notify")) && str_eq(list->event, STR("notify")));
	assert_int_equal(install_notify_list(&request, STR(STALE), &arena, &list, NULL), 0);
	assert_true(!list->current && str_eq(list->command, STR("/old/hookc")));
}

static void a_broken_file_stops_only_who_must_write_it(void **state)
{
	struct install_counts n;
	struct err err;
	str after;

	(void)state;
	assert_int_equal(install_notify_add(&request, STR("a = 1\n b ="), &arena, &after, &n, &err), -EBADMSG);
	assert_true(err.line == 2 && err.col == 5);
	assert_int_equal(install_notify_remove(&request, STR("b ="), STR_NONE, &arena, &after, &n, &err), 0);
	assert_int_equal(install_notify_remove(&request, STR(LINE "\nb ="), STR_NONE, &arena, &after, &n, &err),
		-EBADMSG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_are_found),
		TEST(what_is_broken_is_named),
		TEST(deep_and_long_is_refused),
		TEST(our_line_comes_and_goes),
		TEST(a_stale_line_is_rewritten_in_place),
		TEST(a_foreign_one_is_kept),
		TEST(the_line_is_listed),
		TEST(a_broken_file_stops_only_who_must_write_it),
	};

	return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
