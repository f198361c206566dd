/* answers: what an answer may look like for each agent, and how it is made, for tests of adapters. */
#ifndef HOOKD_TESTS_UNIT_ANSWERS_H
#define HOOKD_TESTS_UNIT_ANSWERS_H

#include "test.h"

#include "agents/adapters.h"
#include "agents/agents.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_reset(&arena);
	return 0;
}
static struct event parse_as(const char *agent, const char *event, str payload)
{
	struct wire_hook hook = {
		.at_ms = 1700000000000,
		.agent = str_of(agent),
		.event = str_of(event),
		.cwd = STR("/where/hookc/ran"),
		.payload = payload,
	};
	struct event e;

	agent_parse(agent_find(str_of(agent)), &hook, &arena, &e);
	return e;
}

static struct json *parsed(str text)
{
	struct json *v = NULL;

	if (json_parse(&arena, text, 0, &v, NULL) < 0)
		fail_msg("not JSON: " STR_FMT, STR_ARG(text));
	return v;
}
/* -- answers ----------------------------------------------------------------------------------- */

/* What an agent accepts in the answer to a kind of event: names of members at the top, and under
 * hookSpecificOutput. One row too few and every answer to that kind is wrong; EVENT_KIND_MAX is for all kinds without a
 * row. Codex throws an answer away for one member too many; the others ignore it, which is no better. */
#define ALL "continue stopReason decision reason systemMessage hookSpecificOutput"
#define UNIVERSAL "continue stopReason systemMessage"

static const struct contract {
	const char *agent;
	enum event_kind kind;
	const char *top, *specific;
} contracts[] = {
	{ "codex", EVENT_PRE_TOOL_USE, "systemMessage hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext" },
	{ "codex", EVENT_PERMISSION_REQUEST, "systemMessage hookSpecificOutput", "hookEventName decision" },
	{ "codex", EVENT_POST_TOOL_USE, ALL, "hookEventName additionalContext" },
	{ "codex", EVENT_USER_PROMPT_SUBMIT, ALL, "hookEventName additionalContext" },
	{ "codex", EVENT_SESSION_START, UNIVERSAL " hookSpecificOutput", "hookEventName additionalContext" },
	{ "codex", EVENT_SUBAGENT_START, UNIVERSAL " hookSpecificOutput", "hookEventName additionalContext" },
	{ "codex", EVENT_STOP, UNIVERSAL " decision reason", "" },
	{ "codex", EVENT_SUBAGENT_STOP, UNIVERSAL " decision reason", "" },
	{ "codex", EVENT_PRE_COMPACT, UNIVERSAL, "" },
	{ "codex", EVENT_POST_COMPACT, UNIVERSAL, "" },
	{ "codex", EVENT_INTERRUPT, "systemMessage", "" },
	{ "gemini", EVENT_SESSION_START, "systemMessage hookSpecificOutput", "additionalContext" },
	{ "gemini", EVENT_SESSION_END, "systemMessage", "" },
	{ "gemini", EVENT_USER_PROMPT_SUBMIT, ALL, "additionalContext" },
	{ "gemini", EVENT_PRE_TOOL_USE, ALL, "tool_input" },
	{ "gemini", EVENT_POST_TOOL_USE, ALL, "additionalContext" },
	{ "gemini", EVENT_POST_TOOL_USE_FAILURE, ALL, "additionalContext" },
	{ "gemini", EVENT_STOP, UNIVERSAL " decision reason", "" },
	{ "gemini", EVENT_NOTIFICATION, "systemMessage", "" },
	{ "gemini", EVENT_PRE_COMPACT, "systemMessage", "" },
	{ "gemini", EVENT_BEFORE_MODEL, "decision reason", "" },
	{ "gemini", EVENT_AFTER_MODEL, "continue stopReason decision reason", "" },
	{ "copilot", EVENT_PRE_TOOL_USE,
		"permissionDecision permissionDecisionReason modifiedArgs additionalContext hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext" },
	{ "copilot", EVENT_PERMISSION_REQUEST, "behavior message interrupt", "" },
	{ "copilot", EVENT_STOP, "decision reason", "" },
	{ "copilot", EVENT_SUBAGENT_STOP, "decision reason", "" },
	{ "copilot", EVENT_TURN_COMPLETE, "decision reason", "" },
	{ "copilot", EVENT_KIND_MAX, "additionalContext hookSpecificOutput", "hookEventName additionalContext" },
	{ "qwen", EVENT_PRE_TOOL_USE, "hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason" },
	{ "qwen", EVENT_PERMISSION_REQUEST, "hookSpecificOutput", "hookEventName decision" },
	{ "qwen", EVENT_STOP, "decision reason", "" },
	{ "qwen", EVENT_SUBAGENT_STOP, "decision reason", "" },
	{ "qwen", EVENT_KIND_MAX, "decision reason hookSpecificOutput", "hookEventName additionalContext" },
	{ "opencode", EVENT_PRE_TOOL_USE, "hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason updatedInput" },
	{ "opencode", EVENT_KIND_MAX, "hookSpecificOutput", "hookEventName additionalContext" },
	{ "cursor", EVENT_PRE_TOOL_USE, "permission user_message agent_message updated_input hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason updatedInput" },
	{ "cursor", EVENT_USER_PROMPT_SUBMIT, "continue user_message stopReason decision reason", "" },
	{ "cursor", EVENT_SUBAGENT_START, "permission user_message agent_message", "" },
	{ "cursor", EVENT_STOP, "followup_message decision reason", "" },
	{ "cursor", EVENT_SUBAGENT_STOP, "followup_message", "" },
	{ "cursor", EVENT_PRE_COMPACT, "user_message", "" },
	{ "cursor", EVENT_KIND_MAX, "additional_context", "" },
	{ "claude", EVENT_PRE_TOOL_USE, UNIVERSAL " hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext" },
	{ "claude", EVENT_PRE_MODEL_SWITCH, UNIVERSAL " hookSpecificOutput",
		"hookEventName permissionDecision permissionDecisionReason updatedInput" },
	{ "claude", EVENT_PERMISSION_REQUEST, UNIVERSAL " hookSpecificOutput", "hookEventName decision" },
	{ "claude", EVENT_KIND_MAX, ALL, "hookEventName additionalContext" },
};

static bool is_listed(const char *list, str name)
{
	str rest = str_of(list), word;

	while (str_split(&rest, ' ', &word))
		if (str_eq(word, name))
			return true;
	return false;
}

static void check_members(const struct json *v, const char *allowed, str out)
{
	json_each(m, v)
		if (!is_listed(allowed, m->key))
			fail_msg("'" STR_FMT "' has no place in " STR_FMT, STR_ARG(m->key), STR_ARG(out));
}

static str text_of(const struct json *v, const char *name)
{
	return json_str(json_get(v, str_of(name)));
}

static void check_not_blank(const struct json *v, const char *name)
{
	assert_false(str_empty(str_trim(text_of(v, name))));
}

/* The rules between members, which hold for all agents. */
static void check_top(const char *agent, const struct json *root)
{
	const char *refusal = strcmp(agent, "gemini") == 0 ? "deny" : "block";

	assert_true(!json_get(root, STR("decision")) == !json_get(root, STR("reason")));
	assert_true(!json_get(root, STR("continue")) ==
			!(json_get(root, STR("stopReason")) || json_get(root, STR("user_message"))) ||
		json_get(root, STR("user_message")));
	if (json_get(root, STR("decision"))) {
		assert_str(text_of(root, "decision"), str_of(refusal));
		check_not_blank(root, "reason");
	}
	if (json_get(root, STR("continue"))) {
		assert_false(json_true(json_get(root, STR("continue"))));
		check_not_blank(root, json_get(root, STR("user_message")) ? "user_message" : "stopReason");
	}
	if (json_get(root, STR("systemMessage")))
		check_not_blank(root, "systemMessage");
}

static void check_specific(const char *agent, const struct event *e, const struct json *specific)
{
	bool codex = strcmp(agent, "codex") == 0, gemini = strcmp(agent, "gemini") == 0;
	const struct json *permission = json_get(specific, STR("decision"));
	str decision = text_of(specific, "permissionDecision");

	assert_int_equal(specific->type, JSON_OBJECT);
	assert_true(specific->count > (gemini ? 0 : 1));
	if (!gemini)
		assert_str(text_of(specific, "hookEventName"), str_of(event_kinds[e->kind].name));
	if (str_eq(decision, STR("deny")))
		check_not_blank(specific, "permissionDecisionReason");
	if (codex && str_is_set(decision)) {
		bool input = json_get(specific, STR("updatedInput"));

		assert_true(str_eq(decision, STR("deny")) ? !input : str_eq(decision, STR("allow")) && input);
	} else if (codex) {
		assert_null(json_get(specific, STR("updatedInput")));
		assert_null(json_get(specific, STR("permissionDecisionReason")));
	}
	if (permission) {
		bool deny = str_eq(text_of(permission, "behavior"), STR("deny"));

		check_members(permission,
			deny            ? "behavior message"
				: codex ? "behavior"
					: "behavior updatedInput",
			STR("decision"));
		assert_true(deny || str_eq(text_of(permission, "behavior"), STR("allow")));
		if (deny)
			check_not_blank(permission, "message");
	}
}

static void check_contract(const char *agent, const struct event *e, str out)
{
	const struct contract *c = contracts, *end = contracts + countof(contracts);
	struct json *root, *specific;

	if (out.n == 0)
		return;
	while (c < end && !(strcmp(c->agent, agent) == 0 && (c->kind == e->kind || c->kind == EVENT_KIND_MAX)))
		c++;
	if (c == end)
		fail_msg("%s wants no answer to %s: " STR_FMT, agent, event_kinds[e->kind].name, STR_ARG(out));
	root = parsed(out);
	assert_int_equal(root->type, JSON_OBJECT);
	assert_true(root->count > 0);
	check_members(root, c->top, out);
	check_top(agent, root);
	specific = json_get(root, STR("hookSpecificOutput"));
	if (specific) {
		check_members(specific, c->specific, out);
		check_specific(agent, e, specific);
	}
}

/* The answer, in the arena. No agent that reads answers is told anything but by stdout and exit 0. */
static str answer_of(const struct agent *agent, const struct event *e, const struct verdict *v)
{
	struct buf out = BUF_INIT(LIMIT_REPLY);
	struct answer answer = { .out = &out, .exit_code = 77, .err = STR("x") };
	str text;

	agent_render(agent, e, v, &arena, &answer);
	assert_int_equal(answer.exit_code, 0);
	assert_int_equal(answer.err.n, 0);
	assert_false(out.full);
	text = out.len ? arena_str(&arena, buf_str(&out)) : STR("");
	buf_release(&out);
	return text;
}

static void check_answer(const struct agent *agent, const struct event *e, const struct verdict *v)
{
	check_contract(agent->name, e, answer_of(agent, e, v));
}

#define S(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}
#define DENY .action = VERDICT_DENY, .reason = S("no \"way\"\n"), .rule = S("r")
#define ASK .action = VERDICT_ASK, .reason = S("sure?"), .rule = S("r")
#define ALLOW .action = VERDICT_ALLOW, .reason = S("fine"), .rule = S("r")

static struct context_block second = { .text = S("two") };
static struct context_block contexts = { .next = &second, .text = S("one") };
static const struct json changed_value = { .type = JSON_STRING, .key = S("command"), .text = S("ls -l") };
static const struct json changed = { .type = JSON_OBJECT, .first = (struct json *)&changed_value, .count = 1 };

#endif
