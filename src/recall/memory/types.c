/* The kinds of memories. */
#include "base/macro.h"
#include "base/str.h"
#include "memory/memory.h"

#define NAMES(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

const struct memory_type memory_types[] = {
	{ "gotcha", "!", "GOTCHA:", "What went wrong in a way that could not be foreseen.",
		NAMES("pitfall", "warning") },
	{ "bug_fix", "[fix]", "[fix]", "What was broken, and why.", NAMES("bugfix", "fix", "problem-solution") },
	{ "decision", "[decision]", "[decision]", "What was decided, and why.", NAMES("preference", "convention") },
	{ "discovery", "[discovery]", "[discovery]", "How something works.",
		NAMES("how-it-works", "what-changed", "why-it-exists", "feature", "refactor", "change", "pattern",
			"fact") },
	{ "trade_off", "[trade-off]", "[trade-off]", "What was given up for what.", NAMES("trade-off", "tradeoff") },
	{ "session_summary", "[session]", "[session]", "What a session was about.", NAMES("summary") },
	{ 0 },
};

str memory_concept_of(str name)
{
	static const char *const concepts[] = { "how-it-works", "why-it-exists", "what-changed", "problem-solution",
		"gotcha", "pattern", "trade-off" };

	for (size_t i = 0; i < countof(concepts); i++)
		if (str_eq_name(name, str_of(concepts[i])))
			return str_of(concepts[i]);
	return STR_NONE;
}

const struct memory_type *memory_type_find(str name)
{
	for (const struct memory_type *t = memory_types; t->name; t++) {
		if (str_eq_name(name, str_of(t->name)))
			return t;
		for (const char *const *alias = t->aliases; *alias; alias++)
			if (str_eq_name(name, str_of(*alias)))
				return t;
	}
	return NULL;
}

int memory_trust_rank(str trust)
{
	static const char *const trusts[] = { "web", "tool", "agent", "user" };

	for (size_t i = 0; i < countof(trusts); i++)
		if (str_eq(trust, str_of(trusts[i])))
			return (int)i;
	return 0;
}
