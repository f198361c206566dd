/* answers: verdicts become the exact bytes that each agent understands, and nothing that it would refuse. */
#include "answers.h"

static const struct answer_row {
	enum event_kind kind;
	struct verdict verdict;
	const char *out;
} answers[] = {
	{ EVENT_PRE_TOOL_USE, { 0 }, "" },
	{ EVENT_PRE_TOOL_USE, { DENY },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no \\\"way\\\"\\n\"}}" },
	{ EVENT_PRE_TOOL_USE, { ASK },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"sure?\"}}" },
	{ EVENT_PRE_TOOL_USE, { ALLOW },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"permissionDecision\":\"allow\",\"permissionDecisionReason\":\"fine\"}}" },
	{ EVENT_PRE_TOOL_USE, { .updated_input = &changed },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"updatedInput\":{\"command\":\"ls -l\"}}}" },
	{ EVENT_PRE_TOOL_USE, { ALLOW, .updated_input = &changed, .context = &contexts },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\","
		"\"permissionDecisionReason\":\"fine\",\"updatedInput\":{\"command\":\"ls -l\"},"
		"\"additionalContext\":\"one\\n\\ntwo\"}}" },
	{ EVENT_PRE_TOOL_USE, { .context = &second },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"additionalContext\":\"two\"}}" },
	{ EVENT_PRE_TOOL_USE, { .system_message = S("note") }, "{\"systemMessage\":\"note\"}" },
	{ EVENT_USER_PROMPT_SUBMIT, { DENY }, "{\"decision\":\"block\",\"reason\":\"no \\\"way\\\"\\n\"}" },
	{ EVENT_USER_PROMPT_SUBMIT, { .context = &contexts },
		"{\"hookSpecificOutput\":{\"hookEventName\":"
		"\"UserPromptSubmit\",\"additionalContext\":\"one\\n\\ntwo\"}}" },
	{ EVENT_USER_PROMPT_SUBMIT, { DENY, .context = &second },
		"{\"decision\":\"block\",\"reason\":\"no \\\"way\\\"\\n\","
		"\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"two\"}}" },
	{ EVENT_USER_PROMPT_SUBMIT, { ASK }, "" },
	{ EVENT_SESSION_START, { .context = &contexts },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\","
		"\"additionalContext\":\"one\\n\\ntwo\"}}" },
	{ EVENT_SESSION_START, { .system_message = S("hi") }, "{\"systemMessage\":\"hi\"}" },
	{ EVENT_SESSION_START, { .system_message = S("hi"), .context = &second },
		"{\"systemMessage\":\"hi\","
		"\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"two\"}}" },
	{ EVENT_SESSION_START, { DENY }, "" },
	{ EVENT_POST_TOOL_USE, { .context = &second },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\","
		"\"additionalContext\":\"two\"}}" },
	{ EVENT_POST_TOOL_USE, { .end_turn = true, .reason = S("enough") },
		"{\"continue\":false,\"stopReason\":\"enough\"}" },
	{ EVENT_STOP, { .continue_turn = true, .reason = S("run the tests") },
		"{\"decision\":\"block\",\"reason\":\"run the tests\"}" },
	{ EVENT_SUBAGENT_STOP, { .continue_turn = true, .reason = S("go on") },
		"{\"decision\":\"block\",\"reason\":\"go on\"}" },
	{ EVENT_STOP, { .reason = S("nothing") }, "" },
	{ EVENT_PERMISSION_REQUEST, { ALLOW },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\","
		"\"decision\":{\"behavior\":\"allow\"}}}" },
	{ EVENT_PERMISSION_REQUEST, { ALLOW, .updated_input = &changed },
		"{\"hookSpecificOutput\":{\"hookEventName\":"
		"\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\","
		"\"updatedInput\":{\"command\":\"ls -l\"}}}}" },
	{ EVENT_PERMISSION_REQUEST, { DENY },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\","
		"\"decision\":{\"behavior\":\"deny\",\"message\":\"no \\\"way\\\"\\n\"}}}" },
	{ EVENT_PERMISSION_REQUEST, { ASK }, "" },
	{ EVENT_SESSION_END, { .context = &second }, "" },
	{ EVENT_NOTIFICATION, { DENY }, "" },
	{ EVENT_PRE_COMPACT, { DENY }, "{\"decision\":\"block\",\"reason\":\"no \\\"way\\\"\\n\"}" },
	{ EVENT_UNKNOWN, { DENY, .context = &second }, "" },
};

static void test_answers(void **state)
{
	for (size_t i = 0; i < countof(answers); i++) {
		struct event e = { .kind = answers[i].kind, .agent = STR("claude"), .native = STR("Native") };
		str out = answer_of(&agent_claude, &e, &answers[i].verdict);

		if (!str_eq(out, str_of(answers[i].out)))
			fail_msg("row %zu: " STR_FMT "\n  is not %s", i, STR_ARG(out), answers[i].out);
		check_contract("claude", &e, out);
	}
}

enum { ACTIONS = VERDICT_ACTION_MAX, REASONS = 3, FLAGS = 5, VERDICTS = ACTIONS * REASONS << FLAGS };

/* The n-th of all combinations. */
static struct verdict verdict_no(unsigned n)
{
	static const str reasons[REASONS] = { { NULL, 0 }, S(" \n"), S("because") };
	unsigned flags = n & ((1 << FLAGS) - 1), rest = n >> FLAGS;

	return (struct verdict){
		.action = rest % ACTIONS,
		.reason = reasons[rest / ACTIONS % REASONS],
		.rule = n % 7 ? STR("r") : STR_NONE,
		.updated_input = flags & 1 ? &changed : NULL,
		.context = flags & 2 ? &contexts : NULL,
		.system_message = flags & 4 ? STR("note") : STR_NONE,
		.continue_turn = flags & 8,
		.end_turn = flags & 16,
	};
}

/* What was refused, or should be asked where nobody can be, never runs. */
static void check_strength(const struct agent *agent, const struct event *e, const struct verdict *v)
{
	str out = answer_of(agent, e, v);
	struct json *root = out.n ? parsed(out) : NULL;
	str said = agent == &agent_gemini ? text_of(root, "decision")
		: agent == &agent_copilot ? text_of(root, "permissionDecision")
		: agent == &agent_cursor  ? text_of(root, "permission")
					  : text_of(json_get(root, STR("hookSpecificOutput")), "permissionDecision");
	bool asks = agent_takes(agent, e) & TAKES_ASK;
	bool ends = v->end_turn && !(agent_takes(agent, e) & TAKES_END);

	if (v->action == VERDICT_DENY || ends || (v->action == VERDICT_ASK && !asks))
		assert_str(said, STR("deny"));
	else if (v->action == VERDICT_ASK)
		assert_str(said, STR("ask"));
}

/* Every verdict at every event of every agent: never a member that is not accepted there, never half an object. */
static void test_every_answer_everywhere(void **state)
{
	static const struct agent *const all[] = { &agent_claude, &agent_codex, &agent_gemini, &agent_copilot,
		&agent_cursor, &agent_qwen, &agent_opencode };

	for (size_t i = 0; i < countof(all); i++)
		for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++)
			for (unsigned n = 0; n < VERDICTS; n++) {
				struct event e = { .kind = k, .stop_hook_active = n % 2 };
				struct verdict v = verdict_no(n);

				check_answer(all[i], &e, &v);
				if (k == EVENT_PRE_TOOL_USE)
					check_strength(all[i], &e, &v);
				arena_reset(&arena);
			}
}

/* Where a person cannot be asked the call is refused, and the reason says why; unless the agent asks by itself. */
static void test_ask_where_nobody_can(void **state)
{
	struct verdict ask = { ASK };
	struct event e = { .kind = EVENT_PRE_TOOL_USE };
	str out = answer_of(&agent_codex, &e, &ask);

	assert_true(str_find(out, STR("this needs confirmation")) > 0 && str_find(out, STR("sure?")) > 0);
	out = answer_of(&agent_gemini, &e, &ask);
	assert_true(str_find(out, STR("this needs confirmation")) > 0 && str_find(out, STR("sure?")) > 0);
	e.kind = EVENT_PERMISSION_REQUEST;
	assert_int_equal(answer_of(&agent_codex, &e, &ask).n, 0);
	e.kind = EVENT_USER_PROMPT_SUBMIT;
	assert_int_equal(answer_of(&agent_codex, &e, &ask).n, 0);
	assert_int_equal(answer_of(&agent_gemini, &e, &ask).n, 0);
}

/* A mild question is not worth a denial: the call goes on, and the model is told, where it can be. */
static void test_mild_questions_where_nobody_can(void **state)
{
	struct verdict mild = { ASK }, grave = { ASK };
	struct event e = { .kind = EVENT_PRE_TOOL_USE };
	str out;

	mild.mild = true;
	out = answer_of(&agent_codex, &e, &mild);
	assert_true(str_find(out, STR("deny")) < 0 && str_find(out, STR("additionalContext")) > 0);
	assert_true(str_find(out, STR("sure?")) > 0 && str_find(out, STR("let it pass")) > 0);
	assert_int_equal(agent_hears(&agent_codex, &e, &mild), VERDICT_NONE);
	assert_int_equal(answer_of(&agent_windsurf, &e, &mild).n, 0);
	/* An agent that asks does, unless it says that nobody answers. */
	assert_true(str_find(answer_of(&agent_claude, &e, &mild), STR("\"ask\"")) > 0);
	mild.alone = grave.alone = true;
	out = answer_of(&agent_claude, &e, &mild);
	assert_true(str_find(out, STR("\"ask\"")) < 0 && str_find(out, STR("let it pass")) > 0);
	assert_true(str_find(answer_of(&agent_claude, &e, &grave), STR("\"deny\"")) > 0);
}

/* The gravest question counts, whatever the order. */
static void test_a_mild_question_beside_a_grave_one(void **state)
{
	struct verdict v = { 0 }, other = { ASK };

	verdict_raise_mildly(&v, STR("a"), STR("a"));
	assert_true(v.mild);
	verdict_raise(&v, VERDICT_ASK, STR("b"), STR("b"));
	assert_false(v.mild);
	verdict_raise_mildly(&v, STR("c"), STR("c"));
	assert_false(v.mild);
	v = (struct verdict){ 0 };
	verdict_raise_mildly(&v, STR("a"), STR("a"));
	verdict_take(&v, &other);
	assert_false(v.mild);
	verdict_raise(&v, VERDICT_DENY, STR("d"), STR("d"));
	verdict_raise_mildly(&v, STR("a"), STR("a"));
	assert_int_equal(v.action, VERDICT_DENY);
	assert_false(v.mild);
}

/* A turn that was made to go on once is not made to go on again where the agent would do so for ever. */
static void test_no_endless_turns(void **state)
{
	struct verdict more = { .continue_turn = true, .reason = S("go on") };
	struct event e = { .kind = EVENT_STOP };

	assert_str(answer_of(&agent_gemini, &e, &more), STR("{\"decision\":\"deny\",\"reason\":\"go on\"}"));
	e.stop_hook_active = true;
	assert_int_equal(answer_of(&agent_gemini, &e, &more).n, 0);
}

/* Gemini merges a changed input into the old one, so nothing can be taken out of it. */
static void test_input_that_cannot_be_merged(void **state)
{
	struct verdict v = { ALLOW, .updated_input = &changed };
	struct event e = { .kind = EVENT_PRE_TOOL_USE };

	e.tool_input = parsed(STR("{\"command\":\"ls\"}"));
	assert_str(answer_of(&agent_gemini, &e, &v),
		STR("{\"hookSpecificOutput\":{\"tool_input\":{\"command\":\"ls -l\"}}}"));
	e.tool_input = parsed(STR("{\"command\":\"ls\",\"background\":true}"));
	assert_true(str_find(answer_of(&agent_gemini, &e, &v), STR("\"decision\":\"deny\"")) > 0);
}

/* Agents without words of their own are stopped by an exit code, and only where they heed it; what they cannot be
 * told is not claimed to have been heard. */
static void test_other_agents_are_stopped_by_exit_code(void **state)
{
	static const struct {
		const char *agent, *event;
		bool stops;
	} rows[] = {
		{ "generic", "PreToolUse", true },
		{ "generic", "PostToolUse", false },
		{ "windsurf", "pre_run_command", true },
		{ "windsurf", "post_run_command", false },
		{ "some-new-agent", "PreToolUse", true },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as(rows[i].agent, rows[i].event, STR("{\"session_id\":\"s\"}"));
		const struct agent *agent = agent_find(str_of(rows[i].agent));
		struct verdict v = { DENY };
		struct buf out = BUF_INIT(100);
		struct answer answer = { .out = &out, .exit_code = 1 };

		agent_render(agent, &e, &v, &arena, &answer);
		assert_int_equal(out.len, 0);
		if (answer.exit_code != (rows[i].stops ? 2 : 0))
			fail_msg("%s %s: exit code %d", rows[i].agent, rows[i].event, answer.exit_code);
		assert_int_equal(!str_empty(answer.err), rows[i].stops);
		assert_int_equal(agent_hears(agent, &e, &v), rows[i].stops ? VERDICT_DENY : VERDICT_NONE);
		buf_release(&out);
	}
}

static void test_copilot_is_stopped_by_json(void **state)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE };

	assert_str(answer_of(&agent_copilot, &e, &(struct verdict){ DENY }),
		STR("{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no \\\"way\\\"\\n\"}"));
	e.kind = EVENT_USER_PROMPT_SUBMIT;
	assert_int_equal(answer_of(&agent_copilot, &e, &(struct verdict){ DENY }).n, 0);
	assert_int_equal(agent_hears(&agent_copilot, &e, &(struct verdict){ DENY }), VERDICT_NONE);
}

/* A denial arrives even if what came with it does not fit. */
static void check_what_fits(const struct agent *agent, const struct verdict *v)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE };

	check_answer(agent, &e, v);
	if (agent == &agent_claude && v->action != VERDICT_DENY)
		assert_true(str_find(answer_of(agent, &e, v), STR("\"permissionDecision\":\"ask\"")) > 0);
	else
		assert_true(str_find(answer_of(agent, &e, v), STR("ecision\":\"deny\"")) > 0);
}

static void test_answers_that_do_not_fit(void **state)
{
	static char huge[5 << 20];
	struct context_block big = { .text = { huge, sizeof huge } }, bad = { .text = { huge, 1 << 19 } };
	struct json text = { .type = JSON_STRING, .key = STR("content"), .text = { huge, sizeof huge } };
	struct json input = { .type = JSON_OBJECT, .first = &text, .count = 1 };
	struct verdict rows[] = {
		{ DENY, .context = &big },
		{ DENY, .context = &bad },
		{ DENY, .updated_input = &input },
		{ DENY, .system_message = { huge, sizeof huge } },
		{ .action = VERDICT_DENY, .reason = { huge, sizeof huge } },
		{ ALLOW, .updated_input = &input },
		{ .updated_input = &input },
	};

	memset(huge, 1, sizeof huge); /* written as \u0001 each */
	for (size_t i = 0; i < countof(rows); i++) {
		check_what_fits(&agent_claude, &rows[i]);
		check_what_fits(&agent_codex, &rows[i]);
		check_what_fits(&agent_gemini, &rows[i]);
		arena_reset(&arena);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_answers),
		T(test_every_answer_everywhere),
		T(test_ask_where_nobody_can),
		T(test_mild_questions_where_nobody_can),
		T(test_a_mild_question_beside_a_grave_one),
		T(test_no_endless_turns),
		T(test_input_that_cannot_be_merged),
		T(test_other_agents_are_stopped_by_exit_code),
		T(test_copilot_is_stopped_by_json),
		T(test_answers_that_do_not_fit),
	};
#undef T
	int failed = cmocka_run_group_tests_name("answers", tests, NULL, NULL);

	arena_release(&arena);
	return failed;
}
