/* Which agent really made a call. */
#include "agents/adapters.h"

/* Agents inherit each other's environment when one starts another, so a variable that is merely there proves little.
 * One that holds the very session of the call proves it; those rows come first. */
static const struct sign {
	const char *agent;
	const char *variable; /* in the environment of the hook; NULL: a member of the payload decides alone */
	const char *member;   /* the payload has it; NULL: the payload holds the variable's value */
	bool just_set;        /* the variable is enough */
} signs[] = {
	{ "claude", "CLAUDE_CODE_SESSION_ID", NULL, false },
	{ "qwen", "QWEN_CODE_SESSION_ID", NULL, false },
	{ "gemini", "GEMINI_SESSION_ID", NULL, false },
	{ "codex", "CODEX_THREAD_ID", NULL, false },
	{ "cursor", NULL, "\"cursor_version\"", false },
	{ "copilot", "COPILOT_CLI", NULL, true },
	{ "cursor", "CURSOR_VERSION", NULL, true },
};

static bool shows(const struct sign *s, const struct wire_hook *hook)
{
	str value = s->variable ? event_env(hook->env, hook->nenv, s->variable) : STR_NONE;

	if (!s->variable)
		return str_find(hook->payload, str_of(s->member)) >= 0;
	return !str_empty(value) && (s->just_set || str_find(hook->payload, value) >= 0);
}

/* Only lines that say "claude" or nothing in particular are run by others. */
const struct agent *agent_of_call(const struct wire_hook *hook)
{
	const struct agent *named = agent_find(hook->agent);

	if (named->rank == 2 || !str_eq_nocase(hook->agent, str_of(named->name)))
		return named;
	for (size_t i = 0; i < countof(signs); i++)
		if (shows(&signs[i], hook))
			return agent_find(str_of(signs[i].agent));
	return named;
}
