/* How much of its context an agent lets fill up before it compacts by itself: by then it must have been written down
 * where the work stands. Data; looked up in November 2026. */
#include "effort/effort.h"
#include "llm/llm.h"

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

int64_t effort_context_max(str agent, str model, int64_t told)
{
	int64_t tokens = told > 0 ? told : llm_window_of(model);

	for (size_t i = 0; i < countof(compaction); i++)
		if (str_eq(agent, str_of(compaction[i].agent)))
			return tokens * compaction[i].percent / 100;
	return tokens;
}
