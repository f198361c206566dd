/* Skills: what a SKILL.md says; what an agent's events say of its status. */
#include "effort/effort.h"
#include "test.h"

static const struct {
	const char *text, *config;
} skills[] = {
	{ "---\nname: review\nphases: [\"0: Setup\", '1: Read, then think']\n---\n",
		"{\"name\":\"review\",\"phases\":[\"0: Setup\",\"1: Read, then think\"]}" },
	{ "---\nphases:\n  - 1: Plan\n  - \"2: Build\"\nmodes: [quick, deep]\n---\n",
		"{\"phases\":[\"1: Plan\",\"2: Build\"],\"modes\":[\"quick\",\"deep\"]}" },
	/* A list as far left as its key; a map; comments; phases out of order and twice. */
	{ "---\nphases:\n- 2: B\n- 1: A\n- 2.1: C\n- 2: Again\n# no\nmodes:\n  quick: x\n  deep: y\n---\n",
		"{\"phases\":[\"1: A\",\"2: B\",\"2.1: C\"],\"modes\":[\"quick\",\"deep\"]}" },
	{ "---\nphases:\n  1: A\n  2: B\n---\n", "{\"phases\":[\"1: A\",\"2: B\"]}" },
	{ "---\ntemplates: {log: assets/LOG.md}\ndirectives: TESTING\nnext: [fix]\npreload:\n  - a.md\n---\n",
		"{\"templates\":{\"log\":\"assets/"
		"LOG.md\"},\"directives\":[\"TESTING\"],\"next\":[\"fix\"],\"preload\":[\"a."
		"md\"]}" },
	{ "---\ngates:\n  heartbeat: 5\n  overflow: {warn: 80}\n  checklists: true\n---\n",
		"{\"gates\":{\"heartbeat\":5,\"overflow\":{\"warn\":80},\"checklists\":true}}" },
	/* Several lines, which nobody asks for, and what follows them. */
	{ "---\ndescription: >\n  one\n  two: three\nversion: 2\n---\n", "{\"version\":\"2\"}" },
	{ "---\r\nname: x\r\nphases:\r\n  - 1: A\r\n---\r\n", "{\"name\":\"x\",\"phases\":[\"1: A\"]}" },
	/* From the body. */
	{ "# T\n## Phase 1: Look\ntext\n### 1.1: Closer\n## 2: Act\n```\n## 3: No\n```\n",
		"{\"phases\":[\"1: Look\",\"1.1: Closer\",\"2: Act\"]}" },
	{ "```json\n{\"phases\":[{\"major\":0,\"minor\":0,\"name\":\"S\"},{\"major\":1,\"minor\":2,\"name\":\"P\"}],"
	  "\"nextSkills\":[\"fix\"],\"logTemplate\":\"l.md\",\"directives\":[\"TESTING\"]}\n```\n",
		"{\"phases\":[\"0: S\",\"1.2: "
		"P\"],\"templates\":{\"log\":\"l.md\"},\"directives\":[\"TESTING\"],\"next\":"
		"[\"fix\"]}" },
	/* No skill at all. */
	{ "", "{}" },
	{ "just words\n", "{}" },
	{ "---\nname: x\n", "{}" },
	{ "---\nphases: [1: A, 2: B]\n---\n", "{\"phases\":[\"1: A\",\"2: B\"]}" },
	{ "---\nphases: {a: [b}]\nname: [x\n---\n", "{\"name\":\"[x\"}" },
};

static void test_what_a_skill_says(void **state)
{
	for (size_t i = 0; i < countof(skills); i++) {
		struct arena a = { 0 };
		str config;

		assert_int_equal(effort_skill_parse(str_of(skills[i].text), &a, &config), 0);
		if (!str_eq(config, str_of(skills[i].config)))
			fail_msg("%zu: " STR_FMT "\nis not %s", i, STR_ARG(config), skills[i].config);
		arena_release(&a);
	}
}

static void test_it_is_bounded(void **state)
{
	struct arena a = { 0 };
	struct buf b = BUF_INIT(1 << 20);
	struct json *v = NULL;
	str config;

	buf_add_str(&b, STR("---\nphases:\n"));
	for (int i = 0; i < 300; i++)
		buf_addf(&b, "  - %d: Phase\n", i);
	buf_add_str(&b, STR("---\n"));
	assert_int_equal(effort_skill_parse(buf_str(&b), &a, &config), 0);
	assert_int_equal(json_parse(&a, config, 0, &v, NULL), 0);
	assert_int_equal(json_get(v, STR("phases"))->count, EFFORT_PHASES_MAX);
	buf_clear(&b);
	buf_add_str(&b, STR("---\nmodes: "));
	for (int i = 0; i < 100000; i++)
		buf_add_char(&b, '[');
	buf_add_str(&b, STR("\n---\n"));
	assert_int_equal(effort_skill_parse(buf_str(&b), &a, &config), 0);
	while (b.len <= EFFORT_SKILL_MAX)
		buf_add_str(&b, STR("words and words and words\n"));
	assert_int_equal(effort_skill_parse(buf_str(&b), &a, &config), -EFBIG);
	buf_release(&b);
	arena_release(&a);
}

static void test_the_words_about_a_phase(void **state)
{
	static const char text[] = "# T\n## 1: A\none\n### More\ntwo\n### 1.1: B\nthree\n```\n## 2: C\n```\nfour\n## "
				   "Phase 2: C\nfive\n# End\nsix\n";

	assert_str(effort_skill_section(str_of(text), STR("1: A")), STR("one\n### More\ntwo"));
	assert_str(effort_skill_section(str_of(text), STR("1.1: whatever")), STR("three\n```\n## 2: C\n```\nfour"));
	assert_str(effort_skill_section(str_of(text), STR("2: C")), STR("five"));
	assert_false(str_is_set(effort_skill_section(str_of(text), STR("3: D"))));
	assert_false(str_is_set(effort_skill_section(str_of(text), STR("D"))));
	assert_str(effort_skill_section(STR("## 1: A"), STR("1: A")), STR(""));
}

static void test_commands_that_run_tests(void **state)
{
	static const char *const yes[] = { "pytest", "python3 -m pytest -q tests/x.py", "cd a && cargo test --all",
		"npm run test", "npm test", "make -j4 test", "./gradlew test", "/usr/bin/ctest --output",
		"CI=1 go test ./...", "uv run pytest", "bash -c 'npm test'" };
	static const char *const no[] = { "", "ls tests", "git commit -m 'add pytester'", "cat pytest.ini",
		"npm install", "go build ./...", "cargo build", "make", "echo protest" };

	for (size_t i = 0; i < countof(yes); i++)
		if (!command_runs_tests(str_of(yes[i])))
			fail_msg("'%s' runs tests", yes[i]);
	for (size_t i = 0; i < countof(no); i++)
		if (command_runs_tests(str_of(no[i])))
			fail_msg("'%s' runs no tests", no[i]);
}

/* -- status ------------------------------------------------------------------------------------ */

static enum agent_status status_of(enum event_kind kind, const char *members)
{
	struct arena a = { 0 };
	struct json *payload = NULL;
	struct event e = { .kind = kind };
	enum agent_status s;

	assert_int_equal(json_parse(&a, str_of(members), 0, &payload, NULL), 0);
	e.payload = payload;
	e.agent_id = json_str(json_get(payload, STR("agent_id")));
	e.is_interrupt = json_true(json_get(payload, STR("is_interrupt")));
	s = agent_status_of(&e);
	arena_release(&a);
	return s;
}

static void test_what_events_say_of_the_agent(void **state)
{
	assert_int_equal(status_of(EVENT_USER_PROMPT_SUBMIT, "{}"), AGENT_STATUS_WORKING);
	assert_int_equal(status_of(EVENT_PRE_TOOL_USE, "{}"), AGENT_STATUS_WORKING);
	assert_int_equal(status_of(EVENT_STOP, "{}"), AGENT_STATUS_DONE);
	assert_int_equal(status_of(EVENT_SESSION_END, "{}"), AGENT_STATUS_DONE);
	assert_int_equal(status_of(EVENT_STOP_FAILURE, "{}"), AGENT_STATUS_ERROR);
	assert_int_equal(status_of(EVENT_POST_TOOL_USE_FAILURE, "{}"), AGENT_STATUS_ERROR);
	assert_int_equal(status_of(EVENT_POST_TOOL_USE_FAILURE, "{\"is_interrupt\":true}"), AGENT_STATUS_UNKNOWN);
	assert_int_equal(status_of(EVENT_PERMISSION_REQUEST, "{}"), AGENT_STATUS_ATTENTION);
	assert_int_equal(status_of(EVENT_NOTIFICATION, "{\"notification_type\":\"permission_prompt\"}"),
		AGENT_STATUS_ATTENTION);
	assert_int_equal(status_of(EVENT_NOTIFICATION, "{\"notification_type\":\"idle_prompt\"}"),
		AGENT_STATUS_ATTENTION);
	assert_int_equal(status_of(EVENT_NOTIFICATION, "{\"notification_type\":\"auth_success\"}"),
		AGENT_STATUS_UNKNOWN);
	assert_int_equal(status_of(EVENT_CONFIG_CHANGE, "{}"), AGENT_STATUS_UNKNOWN);
	/* A subagent's says nothing of the agent, but a teammate's idleness is its own. */
	assert_int_equal(status_of(EVENT_PRE_TOOL_USE, "{\"agent_id\":\"x\"}"), AGENT_STATUS_UNKNOWN);
	assert_int_equal(status_of(EVENT_TEAMMATE_IDLE, "{\"agent_id\":\"x\"}"), AGENT_STATUS_DONE);
	assert_true(AGENT_STATUS_ERROR > AGENT_STATUS_ATTENTION && AGENT_STATUS_ATTENTION > AGENT_STATUS_WORKING &&
		AGENT_STATUS_WORKING > AGENT_STATUS_CHECKED && AGENT_STATUS_CHECKED > AGENT_STATUS_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_skill_says),
		cmocka_unit_test(test_it_is_bounded),
		cmocka_unit_test(test_the_words_about_a_phase),
		cmocka_unit_test(test_commands_that_run_tests),
		cmocka_unit_test(test_what_events_say_of_the_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
