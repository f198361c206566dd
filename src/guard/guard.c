#include "guard/guard.h"

/* The words that prove a deny arrives: harmless in any shell, and nobody types them by chance. */
#define SELFTEST_WORDS "hookd-selftest-deny"
#define SELFTEST_PROMPT "hookd-selftest-context"

static void judge_selftest(const struct guard_rule *rule, const struct event *e, struct arena *a, struct verdict *v)
{
	(void)a;
	if (e->tool_class == TOOL_SHELL && str_find(e->command, STR(SELFTEST_WORDS)) >= 0)
		verdict_raise(v, VERDICT_DENY, str_of(rule->name),
			STR("hookd denied this command: it contains " SELFTEST_WORDS
			    ", the words that test whether a denial reaches the agent"));
}

static void judge_cut(const struct guard_rule *rule, const struct event *e, struct arena *a, struct verdict *v)
{
	(void)a;
	if (e->marks & EVENT_CUT)
		verdict_raise(v, VERDICT_ASK, str_of(rule->name),
			STR("this tool call is larger than hookd can check, so a person should look at it"));
}

static void judge_unread(const struct guard_rule *rule, const struct event *e, struct arena *a, struct verdict *v)
{
	(void)a;
	if (e->marks & EVENT_NOT_JSON)
		verdict_raise(v, VERDICT_ASK, str_of(rule->name),
			STR("hookd cannot read what this tool call would do, so a person should look at it"));
}

const struct guard_rule guard_rules[] = {
	{ "hookd.selftest", "Denies shell commands that contain " SELFTEST_WORDS ", to prove that denials arrive.",
		judge_selftest },
	{ "hookd.cut", "Asks before a tool call that was too large to be read whole.", judge_cut },
	{ "hookd.unread", "Asks before a tool call whose description is not JSON.", judge_unread },
	{ 0 },
};

void guard_decide(const struct event *e, struct arena *a, struct verdict *v)
{
	if (e->kind != EVENT_PRE_TOOL_USE && e->kind != EVENT_PERMISSION_REQUEST)
		return;
	for (const struct guard_rule *rule = guard_rules; rule->name; rule++)
		rule->judge(rule, e, a, v);
}

void guard_selftest_context(const struct event *e, struct arena *a, struct verdict *v)
{
	if (e->kind == EVENT_USER_PROMPT_SUBMIT && str_find(e->prompt, STR(SELFTEST_PROMPT)) >= 0)
		verdict_add_context(v, a, STR("hookd"),
			STR("This line was added by hookd, to test that context arrives."));
}
