/* Efforts: phases and the live table. */
#include <unistd.h>

#include "base/clock.h"
#include "effort/effort.h"
#include "test.h"

static struct json *parsed(struct arena *a, const char *text)
{
	struct json *v = NULL;

	assert_int_equal(json_parse(a, str_of(text), 0, &v, NULL), 0);
	return v;
}

/* -- phases ------------------------------------------------------------------------------------ */

static const char outline[] = "[\"0: Setup\",\"1: Plan\",\"2: Build\",\"2.1: Draft\",\"2.2: Tests\",\"3: Review\"]";

static const struct {
	const char *current, *wanted, *reason;
	int result;
	enum effort_step step;
	const char *label;
} entries[] = {
	{ "", "0", "", 0, EFFORT_STEP_NEXT, "0: Setup" },
	{ "", "0: Setup", "", 0, EFFORT_STEP_NEXT, "0: Setup" },
	{ "", "0: setup", "", 0, EFFORT_STEP_NEXT, "0: Setup" },
	{ "", "1", "", -EPERM },
	{ "", "1", "   ", -EPERM },
	{ "", "1", "set up already", 0, EFFORT_STEP_SKIPPED, "1: Plan" },
	{ "0: Setup", "0", "", 0, EFFORT_STEP_SAME, "0: Setup" },
	{ "0: Setup", "1: Plan", "", 0, EFFORT_STEP_NEXT, "1: Plan" },
	{ "0: Setup", "1: Plot", "", -EINVAL },
	{ "0: Setup", "2", "", -EPERM },
	{ "0: Setup", "3", "the plan was given", 0, EFFORT_STEP_SKIPPED, "3: Review" },
	{ "1: Plan", "2", "", 0, EFFORT_STEP_NEXT, "2: Build" },
	{ "1: Plan", "2.1", "", -EPERM },
	{ "2: Build", "2.1", "", 0, EFFORT_STEP_NEXT, "2.1: Draft" },
	/* Parts may be left out. */
	{ "2: Build", "3", "", 0, EFFORT_STEP_NEXT, "3: Review" },
	{ "2.1: Draft", "3", "", 0, EFFORT_STEP_NEXT, "3: Review" },
	{ "2: Build", "2.2", "", -EPERM },
	{ "2.2: Tests", "2.1", "", -EPERM },
	{ "2.2: Tests", "2.1", "the draft was wrong", 0, EFFORT_STEP_BACK, "2.1: Draft" },
	/* Parts that the skill does not list. */
	{ "2.2: Tests", "2.3: Benchmarks", "", 0, EFFORT_STEP_ADDED, "2.3: Benchmarks" },
	{ "2.3: Benchmarks", "2.3", "", 0, EFFORT_STEP_SAME, "2.3: Benchmarks" },
	{ "2.3: Benchmarks", "3", "", 0, EFFORT_STEP_NEXT, "3: Review" },
	{ "2.2: Tests", "2.3", "", -EINVAL },
	{ "1: Plan", "2.7: Later", "", -EPERM },
	{ "1: Plan", "2.7: Later", "first", 0, EFFORT_STEP_SKIPPED, "2.7: Later" },
	{ "3: Review", "4: Ship", "", -EINVAL },
	{ "3: Review", "4.1: Ship", "", -EINVAL },
	{ "3: Review", "1", "", -EPERM },
	{ "3: Review", "1", "it was wrong", 0, EFFORT_STEP_BACK, "1: Plan" },
	/* What is no phase at all. */
	{ "", "", "", -EINVAL },
	{ "", "Setup", "", -EINVAL },
	{ "", "0:", "", 0, EFFORT_STEP_NEXT, "0: Setup" },
	{ "", "0.", "", -EINVAL },
	{ "", "1.x: Y", "", -EINVAL },
	{ "", "-1: Y", "", -EINVAL },
	{ "", "1000: Y", "", -EINVAL },
	{ "", "99999999999999999999999: Y", "", -EINVAL },
	{ "", "1 2: Y", "", -EINVAL },
	{ "", "0: Set\nup", "", -EINVAL },
};

static void test_the_next_phase_may_be_entered_others_need_a_reason(void **state)
{
	struct arena a = { 0 };
	const struct json *list = parsed(&a, outline);

	for (size_t i = 0; i < countof(entries); i++) {
		enum effort_step step = EFFORT_STEP_SAME;
		str label = STR_NONE;
		struct err err = { 0 };
		int r = effort_phase_enter(list, str_of(entries[i].current), str_of(entries[i].wanted),
			str_of(entries[i].reason), &step, &label, &err);

		if (r != entries[i].result)
			fail_msg("'%s' from '%s': %d (%s), not %d", entries[i].wanted, entries[i].current, r, err.text,
				entries[i].result);
		assert_int_equal(r < 0, err.text[0] != 0);
		if (r < 0)
			continue;
		if (step != entries[i].step)
			fail_msg("'%s' from '%s': step %d", entries[i].wanted, entries[i].current, step);
		assert_str(label, str_of(entries[i].label));
	}
	arena_release(&a);
}

static void test_a_refusal_names_the_phase_that_is_due(void **state)
{
	struct arena a = { 0 };
	enum effort_step step;
	struct err err = { 0 };
	str label;

	effort_phase_enter(parsed(&a, outline), STR("0: Setup"), STR("3"), STR_NONE, &step, &label, &err);
	assert_non_null(strstr(err.text, "'1: Plan'"));
	assert_non_null(strstr(err.text, "--reason"));
	effort_phase_enter(parsed(&a, outline), STR("0: Setup"), STR("7"), STR_NONE, &step, &label, &err);
	assert_non_null(strstr(err.text, "3: Review"));
	arena_release(&a);
}

static void test_without_an_outline_any_label_will_do(void **state)
{
	struct arena a = { 0 };
	enum effort_step step;
	struct err err = { 0 };
	str label;

	assert_int_equal(effort_phase_enter(NULL, STR_NONE, STR("3: Begin"), STR_NONE, &step, &label, &err), 0);
	assert_int_equal(step, EFFORT_STEP_NEXT);
	assert_str(label, STR("3: Begin"));
	assert_int_equal(
		effort_phase_enter(parsed(&a, "[]"), STR("3: Begin"), STR("5: End"), STR_NONE, &step, &label, &err), 0);
	assert_int_equal(step, EFFORT_STEP_NEXT);
	assert_int_equal(effort_phase_enter(NULL, STR("3: Begin"), STR("3"), STR_NONE, &step, &label, &err), 0);
	assert_int_equal(step, EFFORT_STEP_SAME);
	assert_str(label, STR("3: Begin"));
	assert_int_equal(effort_phase_enter(NULL, STR("3: Begin"), STR("1: Again"), STR_NONE, &step, &label, &err), 0);
	assert_int_equal(step, EFFORT_STEP_BACK);
	assert_int_equal(effort_phase_enter(NULL, STR_NONE, STR("3"), STR_NONE, &step, &label, &err), -EINVAL);
	/* A list that is not one. */
	assert_int_equal(effort_phase_enter(parsed(&a, "[1,null,\"x\",{}]"), STR_NONE, STR("1: A"), STR_NONE, &step,
				 &label, &err),
		0);
	arena_release(&a);
}

/* -- names ------------------------------------------------------------------------------------- */

static void test_names(void **state)
{
	static const char *const good[] = { "a", "code-review", "X_1", "9" };
	static const char *const bad[] = { "", "-a", "_a", "a b", "a/b", "..", "a.b", "ä", "a\n" };
	struct arena a = { 0 };
	char text[EFFORT_NAME_MAX + 1];

	for (size_t i = 0; i < countof(good); i++)
		assert_true(effort_is_name(str_of(good[i])));
	for (size_t i = 0; i < countof(bad); i++)
		if (effort_is_name(str_of(bad[i])))
			fail_msg("'%s' is a name", bad[i]);
	memset(text, 'a', sizeof text);
	assert_true(effort_is_name(str_n(text, EFFORT_NAME_MAX)));
	assert_false(effort_is_name(str_n(text, EFFORT_NAME_MAX + 1)));
	assert_str(effort_artifact_name(&a, 3, STR("code-review"), STR("log")), STR("3_CODE-REVIEW_LOG.md"));
	arena_release(&a);
}

/* -- the live table ---------------------------------------------------------------------------- */

static struct ulid uid_of(unsigned n)
{
	uint8_t random[10] = { 1, (uint8_t)(n >> 8), (uint8_t)n };

	return ulid_from(1700000000000, random);
}

static void tell(struct efforts *e, unsigned n, const char *members)
{
	struct arena a = { 0 };
	struct ulid uid = uid_of(n);
	char text[ULID_TEXT + 1], payload[4096];

	ulid_format(&uid, text);
	snprintf(payload, sizeof payload, "{\"effort\":\"%s\",%s}", text, members);
	efforts_apply(e, parsed(&a, payload), 1000 + n);
	arena_release(&a);
}

static const struct effort *known(struct efforts *e, unsigned n)
{
	struct ulid uid = uid_of(n);

	return efforts_find(e, &uid);
}

static void test_events_change_the_table(void **state)
{
	struct efforts *e = efforts_new();

	efforts_fill(e, NULL);
	tell(e, 1, "\"op\":\"start\",\"task\":\"/p\",\"skill\":\"review\",\"ordinal\":4,\"agent\":\"a\"");
	assert_string_equal(known(e, 1)->skill, "review");
	assert_string_equal(known(e, 1)->phase, "");
	assert_int_equal(known(e, 1)->ordinal, 4);
	tell(e, 1, "\"op\":\"phase\",\"phase\":\"1: Plan\"");
	assert_string_equal(known(e, 1)->phase, "1: Plan");
	assert_string_equal(known(e, 1)->agent, "a");
	/* About one that is not active. */
	tell(e, 2, "\"op\":\"phase\",\"phase\":\"1: Plan\"");
	assert_null(known(e, 2));
	tell(e, 1, "\"op\":\"something new\"");
	tell(e, 1, "\"op\":7,\"phase\":9");
	assert_string_equal(known(e, 1)->phase, "1: Plan");
	tell(e, 1, "\"op\":\"finish\"");
	assert_null(known(e, 1));
	assert_int_equal(efforts_count(e), 0);
	efforts_free(e);
}

static void test_what_happens_before_the_table_is_filled_comes_on_top(void **state)
{
	struct efforts *e = efforts_new();
	struct arena a = { 0 };
	struct ulid one = uid_of(1), two = uid_of(2);
	char rows[512], x[ULID_TEXT + 1], y[ULID_TEXT + 1];

	tell(e, 1, "\"op\":\"phase\",\"phase\":\"2: Build\"");
	tell(e, 2, "\"op\":\"finish\"");
	tell(e, 3, "\"op\":\"start\",\"task\":\"/q\",\"skill\":\"fix\"");
	assert_int_equal(efforts_count(e), 0);
	ulid_format(&one, x);
	ulid_format(&two, y);
	snprintf(rows, sizeof rows,
		"{\"efforts\":[{\"effort\":\"%s\",\"skill\":\"review\",\"phase\":\"1: "
		"Plan\"},{\"effort\":\"%s\"},{},7]}",
		x, y);
	efforts_fill(e, parsed(&a, rows));
	assert_string_equal(known(e, 1)->phase, "2: Build");
	assert_string_equal(known(e, 1)->skill, "review");
	assert_null(known(e, 2));
	assert_string_equal(known(e, 3)->task, "/q");
	arena_release(&a);
	efforts_free(e);
}

static void test_the_table_is_bounded_by_what_changed_last(void **state)
{
	struct efforts *e = efforts_new();

	efforts_fill(e, NULL);
	for (unsigned n = 0; n < EFFORT_LIVE_MAX; n++)
		tell(e, n, "\"op\":\"start\",\"skill\":\"x\"");
	tell(e, 0, "\"op\":\"phase\",\"phase\":\"1: A\"");
	tell(e, 1000, "\"op\":\"start\",\"skill\":\"x\"");
	assert_int_equal(efforts_count(e), EFFORT_LIVE_MAX);
	assert_non_null(known(e, 0));
	assert_null(known(e, 1));
	assert_non_null(known(e, 1000));
	efforts_free(e);
}

static void test_one_that_had_no_room_comes_back_when_it_is_resumed(void **state)
{
	struct efforts *e = efforts_new();

	efforts_fill(e, NULL);
	for (unsigned n = 0; n <= EFFORT_LIVE_MAX; n++)
		tell(e, n, "\"op\":\"start\",\"skill\":\"x\"");
	assert_null(known(e, 0));
	tell(e, 0, "\"op\":\"resume\",\"task\":\"/p\",\"config\":{\"gates\":{\"heartbeat\":7}}");
	assert_non_null(known(e, 0));
	assert_int_equal(known(e, 0)->gates.heartbeat_block, 7);
	assert_int_equal(efforts_count(e), EFFORT_LIVE_MAX);
	efforts_free(e);
}

/* -- windows ----------------------------------------------------------------------------------- */

#define WINDOW "01HF7YAT00C0V0000000000009"

/* An effort whose last window is known from the store, and an agent that comes so long after it was heard of. */
static struct efforts *restored(struct arena *a, const char *more, int64_t later_s, struct event *ret)
{
	struct efforts *e = efforts_new();
	struct ulid uid = uid_of(1);
	char rows[1024], text[ULID_TEXT + 1];
	int64_t now = clock_wall_us();

	ulid_format(&uid, text);
	snprintf(rows, sizeof rows,
		"{\"efforts\":[{\"effort\":\"%s\",\"task\":\"/p\",\"root\":\"/p\",\"skill\":\"x\",\"last\":\"" WINDOW
		"\"}],"
		"\"windows\":[{\"window\":\"" WINDOW
		"\",\"effort\":\"%s\",\"agent\":\"claude\",\"session\":\"old\",\"seen_us\":%lld%s}]}",
		text, text, (long long)(now - later_s * USEC_PER_SEC), more);
	efforts_fill(e, parsed(a, rows));
	*ret = (struct event){ .id = uid_of(99),
		.kind = EVENT_SESSION_START,
		.agent = STR("claude"),
		.session = STR("new"),
		.source = STR("startup"),
		.agent_id = STR(""),
		.cwd = STR("/p"),
		.at_us = now };
	return e;
}

static void test_a_window_of_which_only_the_store_knows_holds_its_effort_for_a_while(void **state)
{
	/* The machine runs for a while: else the older ones count as those of the last time it ran. */
	static const struct {
		const char *more;
		int64_t later_s;
		bool held;
	} cases[] = {
		{ "", 0, true },
		{ "", 601, false },
		{ ",\"ended\":true", 0, false },
		{ ",\"gone\":true", 0, false },
		{ ",\"host\":{\"env\":{\"CLAUDE_PID\":\"2147483646\"}}", 0, false },
		{ ",\"host\":{\"env\":{\"CLAUDE_PID\":\"x\"}}", 0, true },
		{ ",\"host\":7", 0, true },
		{ "", 1000000000, false },
	};

	for (size_t i = 0; i < countof(cases); i++) {
		struct arena a = { 0 };
		struct event event;
		struct efforts *e = restored(&a, cases[i].more, cases[i].later_s, &event);
		struct effort_window *w = effort_window_of(e, &event);

		if (!w->effort != cases[i].held)
			fail_msg("%zu: %s", i, cases[i].more);
		efforts_free(e);
		arena_release(&a);
	}
}

/* Another agent that runs beside one that says nothing for hours. */
static void test_silence_takes_nothing_from_an_agent_that_is_there(void **state)
{
	struct arena a = { 0 };
	struct event event;
	struct efforts *e = restored(&a, "", 0, &event);
	struct effort_window *w = effort_window_of(e, &event), *holder;

	assert_null(w->effort);
	holder = effort_window_find(e, STR("claude"), STR("old"), STR(""));
	holder->pid = (uint32_t)getpid();
	event.kind = EVENT_PRE_TOOL_USE;
	event.at_us += 7200 * USEC_PER_SEC;
	assert_null(effort_window_of(e, &event)->effort);
	/* Who starts then is given it. */
	event.session = STR("newer");
	event.kind = EVENT_SESSION_START;
	assert_non_null(effort_window_of(e, &event)->effort);
	efforts_free(e);
	arena_release(&a);
}

static void test_a_window_follows_the_last_one_of_its_effort(void **state)
{
	struct arena a = { 0 };
	struct event event;
	struct efforts *e = restored(&a, ",\"gone\":true", 0, &event);
	struct effort_window *w = effort_window_of(e, &event);
	struct effort_parted *before = effort_window_follow(e, w, &event);
	char text[ULID_TEXT + 1];

	assert_non_null(before);
	assert_string_equal(before->reason, "lost");
	ulid_format(&before->window, text);
	assert_string_equal(text, WINDOW);
	assert_true(w->has_previous && ulid_eq(&w->previous, &before->window));
	effort_window_told(e, w);
	effort_parted_free(before);
	/* The effort is over: it is still to be said, with what was read. */
	effort_window_loads(w, STR("/p/a.c"));
	tell(e, 1, "\"op\":\"finish\"");
	assert_true(efforts_matter(e));
	event.kind = EVENT_PRE_TOOL_USE;
	event.id = uid_of(100);
	assert_ptr_equal(effort_window_of(e, &event), w);
	assert_non_null(w->parted);
	assert_string_equal(w->parted->reason, "finished");
	assert_int_equal(w->parted->nloads, 1);
	assert_false(ulid_eq(&w->id, &w->parted->window));
	assert_false(efforts_matter(e));
	efforts_free(e);
	arena_release(&a);
}

static void test_what_was_not_given_is_given_again(void **state)
{
	struct arena a = { 0 };
	struct event event;
	struct efforts *e = restored(&a, ",\"gone\":true", 0, &event);
	struct effort_window *w = effort_window_of(e, &event);
	char text[32];

	for (int i = 0; i < EFFORT_GIVEN; i++) {
		snprintf(text, sizeof text, "%d", i);
		assert_true(effort_window_gives(w, str_of(text)));
	}
	for (int i = 0; i < EFFORT_GIVEN; i++) {
		snprintf(text, sizeof text, "%d", i);
		assert_false(effort_window_gives(w, str_of(text)));
	}
	effort_window_takes_back(w, STR("7"));
	assert_false(effort_window_has(w, STR("7")));
	assert_true(effort_window_has(w, STR("8")));
	assert_true(effort_window_gives(w, STR("7")));
	efforts_free(e);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_phase_may_be_entered_others_need_a_reason),
		cmocka_unit_test(test_a_refusal_names_the_phase_that_is_due),
		cmocka_unit_test(test_without_an_outline_any_label_will_do),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_events_change_the_table),
		cmocka_unit_test(test_what_happens_before_the_table_is_filled_comes_on_top),
		cmocka_unit_test(test_the_table_is_bounded_by_what_changed_last),
		cmocka_unit_test(test_one_that_had_no_room_comes_back_when_it_is_resumed),
		cmocka_unit_test(test_a_window_of_which_only_the_store_knows_holds_its_effort_for_a_while),
		cmocka_unit_test(test_silence_takes_nothing_from_an_agent_that_is_there),
		cmocka_unit_test(test_a_window_follows_the_last_one_of_its_effort),
		cmocka_unit_test(test_what_was_not_given_is_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
