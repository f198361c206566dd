/* Which events hookc waits longer for: it knows them by their native names alone. */
#include "agents/agents.h"
#include "client/client.h"
#include "test.h"

static void test_names_in_any_spelling(void **state)
{
	static const char *const yes[] = { "PreToolUse", "pre-tool-use", "PRE_TOOL_USE", "preToolUse", "Stop", "stop",
		"agentStop", "BeforeTool", "beforeShellExecution", "beforeMCPExecution", "tool.execute.before",
		"pre_run_command", "UserPromptSubmit", "AfterAgent" };
	static const char *const no[] = { "", "PostToolUse", "SessionStart", "SessionEnd", "Notification", "notify",
		"AfterTool", "PreToolUseX", "StopFailure", "pre", "PreCompress" };

	for (size_t i = 0; i < countof(yes); i++)
		if (!is_decision(str_of(yes[i])))
			fail_msg("%s is a decision", yes[i]);
	for (size_t i = 0; i < countof(no); i++)
		if (is_decision(str_of(no[i])))
			fail_msg("%s is no decision", no[i]);
	assert_false(is_decision(STR_NONE));
}

static void test_every_agent_that_honours_one(void **state)
{
	for (size_t i = 0; agents[i]; i++)
		for (const struct agent_event *row = agents[i]->events; row->native; row++)
			if (event_kinds[row->kind].flags & EVENT_IS_DECISION && row->takes & TAKES_DECISION &&
				!is_decision(str_of(row->native)))
				fail_msg("%s of %s is a decision", row->native, agents[i]->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_in_any_spelling),
		cmocka_unit_test(test_every_agent_that_honours_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
