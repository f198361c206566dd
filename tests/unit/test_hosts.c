/* hosts: whose call it is, and under which names an agent says one thing. */
#include "test.h"

#include "agents/adapters.h"
#include "agents/agents.h"
#include "base/limits.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_reset(&arena);
	return 0;
}

static struct event parse_as(const char *agent, const char *event, str payload)
{
	struct wire_hook hook = { .agent = str_of(agent), .event = str_of(event), .payload = payload };
	struct event e;

	agent_parse(agent_find(str_of(agent)), &hook, &arena, &e);
	return e;
}

/* -- who really calls -------------------------------------------------------------------------- */

static const char *host_of(const char *named, str payload, size_t nenv, const char *const *env)
{
	struct wire_hook hook = { .agent = str_of(named),
		.event = STR("PreToolUse"),
		.payload = payload,
		.nenv = nenv };

	for (size_t i = 0; i < nenv; i++)
		hook.env[i] = str_of(env[i]);
	return agent_of_call(&hook)->name;
}

/* A line of Claude Code's settings is run by others too; an inherited variable alone must not mislead. */
static void test_the_host_of_a_call(void **state)
{
	static const struct {
		const char *named, *payload, *env[3], *host;
	} rows[] = {
		{ "claude", "{\"session_id\":\"s-1\"}", { NULL }, "claude" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=1" }, "copilot" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "CURSOR_VERSION=2.6" }, "cursor" },
		{ "claude", "{\"conversation_id\":\"s-1\",\"cursor_version\":\"2.6\"}", { NULL }, "cursor" },
		/* Claude Code in a shell of Copilot, and the other way round. */
		{ "claude", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=1", "CLAUDE_CODE_SESSION_ID=s-1" }, "claude" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=1", "CLAUDE_CODE_SESSION_ID=s-0" }, "copilot" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "QWEN_CODE_SESSION_ID=s-1" }, "qwen" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "QWEN_CODE_SESSION_ID=s-0" }, "claude" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "GEMINI_SESSION_ID=s-1" }, "gemini" },
		{ "claude", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=", "CURSOR_VERSION" }, "claude" },
		{ "generic", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=1" }, "copilot" },
		/* A line that names its agent is its own. */
		{ "codex", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=1" }, "codex" },
		{ "somebody", "{\"session_id\":\"s-1\"}", { "COPILOT_CLI=1" }, "generic" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		size_t n = 0;

		while (n < 3 && rows[i].env[n])
			n++;
		if (strcmp(host_of(rows[i].named, str_of(rows[i].payload), n, rows[i].env), rows[i].host) != 0)
			fail_msg("row %zu is not %s", i, rows[i].host);
	}
}

/* Under another's line the event belongs to the agent that ran it. */
static void test_a_borrowed_line_is_the_hosts_event(void **state)
{
	struct wire_hook hook = { .agent = STR("claude"),
		.event = STR("PreToolUse"),
		.env = { STR("COPILOT_CLI=1") },
		.nenv = 1,
		.payload = STR("{\"session_id\":\"s\",\"tool_name\":\"Edit\",\"tool_input\":{\"path\":\"/a\"}}") };
	struct verdict deny = { .action = VERDICT_DENY, .reason = STR("no") };
	struct buf out = BUF_INIT(LIMIT_REPLY);
	struct answer answer = { .out = &out };
	struct event e;

	agent_parse(agent_of_call(&hook), &hook, &arena, &e);
	assert_str(e.agent, STR("copilot"));
	assert_int_equal(e.tool_class, TOOL_WRITE);
	assert_str(e.file_path, STR("/a"));
	agent_render(&agent_copilot, &e, &deny, &arena, &answer);
	assert_true(str_find(buf_str(&out), STR("hookSpecificOutput")) > 0);
	buf_release(&out);
}

/* The names that one thing has. */
static void test_aliases(void **state)
{
	static const char *const sessions[] = { "session_id", "sessionId", "conversation_id", "conversationId",
		"sessionID", "trajectory_id" };
	static const char *const prompts[] = { "prompt_id", "generation_id", "generationId", "execution_id" };
	struct event e;

	for (size_t i = 0; i < countof(sessions); i++)
		assert_str(parse_as("generic", "Stop", arena_strf(&arena, "{\"%s\":\"x\"}", sessions[i])).session,
			STR("x"));
	for (size_t i = 0; i < countof(prompts); i++)
		assert_str(parse_as("generic", "Stop", arena_strf(&arena, "{\"%s\":\"x\"}", prompts[i])).prompt_id,
			STR("x"));
	e = parse_as("generic", "PreToolUse",
		STR("{\"tool_name\":\"Bash\",\"tool_input\":\"{\\\"command\\\":\\\"ls\\\"}\"}"));
	assert_str(e.command, STR("ls"));
	e = parse_as("generic", "PreToolUse", STR("{\"tool_name\":\"Bash\",\"tool_input\":null}"));
	assert_null(e.tool_input);
	e = parse_as("generic", "PreToolUse", STR("{\"tool_name\":\"Bash\",\"tool_input\":\"{no\"}"));
	assert_int_equal(e.tool_input->type, JSON_STRING);
}

static void test_output_in_base64_is_preferred(void **state)
{
	static const struct {
		const char *packed, *json;
	} rows[] = {
		{ "eyJhIjoxfQ==", "{\"a\":1}" },
		{ "eyJhIjoxfQ", "{\"a\":1}" },
		{ "aGkK", "\"hi\\n\"" },
		{ "!!", "\"plain\"" },
		{ "", "\"plain\"" },
		{ "a", "\"plain\"" },
		{ "aGk=aGk=", "\"plain\"" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("generic", "PostToolUse",
			arena_strf(&arena, "{\"tool_name\":\"x\",\"tool_output\":\"plain\",\"tool_output_b64\":\"%s\"}",
				rows[i].packed));
		struct buf b = BUF_INIT(1000);

		json_write(&b, e.tool_response);
		assert_str(buf_str(&b), str_of(rows[i].json));
		buf_release(&b);
	}
}

/* A Copilot command that failed is reported as a success. */
static void test_failures_of_copilot(void **state)
{
	static const struct {
		const char *tool, *text;
		bool failed;
	} rows[] = {
		{ "bash", "hi\\n<shellId: 0 completed with exit code 0>", false },
		{ "bash", "oops\\n<shellId: 12 completed with exit code 3>", true },
		{ "bash", "<shellId: 1 completed with exit code 3>\\nprinted", false },
		{ "bash", "", false },
		{ "view", "<shellId: 1 completed with exit code 3>", false },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("copilot", "postToolUse",
			arena_strf(&arena,
				"{\"sessionId\":\"s\",\"toolName\":\"%s\",\"toolResult\":{\"textResultForLlm\":\"%s\"}"
				"}",
				rows[i].tool, rows[i].text));

		if ((e.kind == EVENT_POST_TOOL_USE_FAILURE) != rows[i].failed || !str_empty(e.error) != rows[i].failed)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_the_host_of_a_call),
		T(test_a_borrowed_line_is_the_hosts_event),
		T(test_aliases),
		T(test_output_in_base64_is_preferred),
		T(test_failures_of_copilot),
	};
#undef T
	int failed = cmocka_run_group_tests_name("hosts", tests, NULL, NULL);

	arena_release(&arena);
	return failed;
}
