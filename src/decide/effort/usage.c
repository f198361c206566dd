/* What a context holds, by model, and how much of it an agent lets fill up before it compacts by itself: that is when
 * it must have been written down where the work stands. Data; looked up in November 2026. */
#include "effort/effort.h"

/* The longest that fits counts. */
static const struct {
	const char *model;
	int64_t tokens;
} windows[] = {
	{ "claude-", 200000 },
	{ "gpt-5", 272000 },
	{ "gpt-4.1", 1047576 },
	{ "gpt-4o", 128000 },
	{ "o3", 200000 },
	{ "o4-mini", 200000 },
	{ "codex-mini", 200000 },
	{ "gemini-", 1048576 },
	{ "qwen3-coder", 262144 },
	{ "qwen3-coder-plus", 1000000 },
	{ "qwen3-max", 262144 },
	{ "coder-model", 1000000 },
};

/* A model that is asked for with its long context says so in its name. */
static const struct {
	const char *suffix;
	int64_t tokens;
} variants[] = {
	{ "[1m]", 1000000 },
	{ "-1m", 1000000 },
};

static const struct {
	const char *agent;
	int percent; /* of the context, at which it compacts by itself */
} compaction[] = {
	{ "claude", 80 },
	{ "codex", 90 },
	{ "gemini", 50 },
	{ "qwen", 70 },
	{ "opencode", 85 },
	{ "copilot", 95 },
};

static int64_t window_of(str model)
{
	int64_t tokens = 0;
	size_t best = 0;

	for (size_t i = 0; i < countof(variants); i++)
		if (str_ends(model, str_of(variants[i].suffix)))
			return variants[i].tokens;
	for (size_t i = 0; i < countof(windows); i++) {
		str prefix = str_of(windows[i].model);

		if (prefix.n > best && str_starts(model, prefix)) {
			best = prefix.n;
			tokens = windows[i].tokens;
		}
	}
	return tokens;
}

int64_t effort_context_max(str agent, str model, int64_t told)
{
	int64_t tokens = told > 0 ? told : window_of(model);

	for (size_t i = 0; i < countof(compaction); i++)
		if (str_eq(agent, str_of(compaction[i].agent)))
			return tokens * compaction[i].percent / 100;
	return tokens;
}
