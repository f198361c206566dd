/* What turns and sessions were about: by rules, and by a model's answer. */
#include "stores.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"

static char dir[64];
static struct store *s;
static struct arena arena;

static int set_up(void **state)
{
	char path[96];

	(void)state;
	snprintf(dir, sizeof dir, "/tmp/hk-consult-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s.db", dir);
	s = open_ok(path, STORE_WRITE);
	arena_init(&arena);
	assert_int_equal(store_exec(s,
				 "INSERT INTO sessions(key, agent, native_id, started_at, last_at) VALUES (1, "
				 "'claude', 's', 1, 1)"),
		0);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	arena_release(&arena);
	store_close(s);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static void add_batch(int64_t key, const char *prompt, const char *response)
{
	assert_int_equal(
		store_do(s,
			"INSERT INTO batches(key, session, ord, number, source, prompt, response, started_at, last_at) "
			"VALUES (?1, 1, ?1, 1, 'user', ?2, ?3, 1, 1)",
			"iss", key, str_of(prompt), str_of(response)),
		0);
}

/* state: 1 done, 2 failed. */
static void add_call(int64_t key, int64_t batch, const char *tool, const char *file, const char *change, int64_t state)
{
	assert_int_equal(store_do(s,
				 "INSERT INTO activities(key, session, same, batch, ord, what, tool_n, input, file, "
				 "change, state_n, "
				 "output) VALUES (?1, 1, ?1, ?2, ?1, 0, ?3, '{}', ?4, ?5, ?6, 'what it printed')",
				 "iitssi", key, batch, str_of(tool), str_of(file), change ? str_of(change) : STR_NONE,
				 state),
		0);
}

static const char *class_of(int64_t batch)
{
	const struct turn_class *class;
	struct turn_sums sums;

	assert_int_equal(memory_classify(s, batch, &sums, &class), 0);
	return class->name;
}

static void test_classes(void **state)
{
	(void)state;
	assert_string_equal(class_of(4), "exploration");
	add_call(1, 4, "Read", "a.c", "read", 1);
	add_call(2, 4, "Read", "b.c", "read", 1);
	assert_string_equal(class_of(4), "exploration");
	add_call(3, 4, "Edit", "a.c", "modified", 1);
	assert_string_equal(class_of(4), "refactoring");
	add_call(4, 4, "Write", "c.c", "created", 1);
	assert_string_equal(class_of(4), "implementation");
	add_call(5, 4, "Bash", "", NULL, 2);
	assert_string_equal(class_of(4), "debugging");
	assert_string_equal(turn_class_find(STR("Bug-Fix"))->name, "debugging");
	assert_string_equal(turn_class_find(STR("feature"))->name, "implementation");
	assert_null(turn_class_find(STR("")));
}

static void test_shortened_between_words(void **state)
{
	(void)state;
	assert_true(str_eq(memory_shorten(&arena, STR(" as it is "), 20), STR("as it is")));
	assert_true(
		str_eq(memory_shorten(&arena, STR("make the export work, please"), 22), STR("make the export work…")));
	assert_true(str_eq(memory_shorten(&arena, STR("/a/path/without/any/blank"), 10), STR("/a/path/wi…")));
	/* Never inside a character. */
	assert_true(str_eq(memory_shorten(&arena, STR("漢字漢字漢字"), 7), STR("漢字…")));
}

static bool skips_nothing(str tool, void *arg)
{
	(void)arg;
	return str_eq(tool, STR("TodoWrite"));
}

/* However much happened, the question has room in the smallest model. */
static void test_a_question_is_bounded(void **state)
{
	static char text[200000];
	struct extract_turn turn = { .batch = 4, .skips = skips_nothing };
	struct model_question q;
	size_t before = SIZE_MAX;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	turn.prompt = turn.response = str_of(text);
	for (int i = 0; i < 300; i++)
		add_call(i + 1, 4, i == 2 ? "TodoWrite" : "Read", "a.c", "read", 1);
	for (unsigned tokens = 100000; tokens > 1000; tokens /= 4) {
		assert_int_equal(memory_ask_turn(s, &turn, &turn_classes[0], tokens, &arena, &q), 0);
		assert_true(q.user.n < 3 * tokens && q.user.n < before);
		assert_true(str_find(q.user, STR("TodoWrite")) < 0 && str_find(q.user, STR("a.c")) > 0);
		before = q.user.n;
	}
}

static void test_what_is_taken_from_an_answer(void **state)
{
	struct model_turn t;

	(void)state;
	assert_int_equal(
		memory_read_turn(
			STR("Sure:\n```json\n{\"class\":\"bugfix\",\"observations\":["
			    "{\"type\":\"bugfix\",\"text\":\" It was\\nthe broker. \",\"importance\":\"critical\"},"
			    "{\"type\":\"session_summary\",\"text\":\"what a session was about\"},"
			    "{\"type\":\"gotcha\",\"text\":\"short\"}]}\n```"),
			&arena, &t),
		0);
	assert_int_equal(t.n, 1);
	assert_string_equal(t.class->name, "debugging");
	assert_string_equal(t.notes[0].type->name, "bug_fix");
	assert_true(str_eq(t.notes[0].text, STR("It was the broker.")));
	assert_int_equal(t.notes[0].importance, MODEL_IMPORTANCE_MOST);
	assert_int_equal(memory_read_turn(STR("{\"observations\":[]}"), &arena, &t), 0);
	assert_int_equal(t.n, 0);
	assert_int_equal(memory_read_turn(STR("{\"observations\":[7]}"), &arena, &t), -EBADMSG);
	assert_int_equal(memory_read_turn(STR(""), &arena, &t), -EBADMSG);
}

static void test_a_file_of_the_turn(void **state)
{
	str file;

	(void)state;
	add_call(1, 4, "Read", "src/a.c", "read", 1);
	assert_int_equal(memory_find_file(s, 4, STR("/home/x/p/src/a.c"), &arena, &file), 1);
	assert_true(str_eq(file, STR("src/a.c")));
	assert_int_equal(memory_find_file(s, 4, STR("a.c"), &arena, &file), 0);
	assert_int_equal(memory_find_file(s, 5, STR("src/a.c"), &arena, &file), 0);
}

static void test_a_summary_by_rules(void **state)
{
	struct extractor *x = extractor_new();
	struct session_summary y;

	(void)state;
	assert_int_equal(memory_summarize(x, s, 1, &arena, &y), 0);
	assert_false(str_is_set(y.title) || str_is_set(y.text));
	add_batch(4, "/clear", "");
	add_batch(8, "## Fix the\n\nparser", "Done.");
	add_call(1, 8, "Edit", "a.c", "modified", 1);
	assert_int_equal(memory_summarize(x, s, 1, &arena, &y), 0);
	assert_true(str_eq(y.title, STR("Fix the parser")));
	assert_true(str_eq(y.text, STR("Asked: \"Fix the parser\" and 1 more.\nChanged: a.c.\nResult: Done.")));
	assert_string_equal(y.origin, "mixed");
	extractor_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_classes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shortened_between_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_question_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_taken_from_an_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_of_the_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_summary_by_rules, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
