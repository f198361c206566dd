/* What is known of models: how much their context holds and what they cost. Data, looked up when llm_prices_as_of says.
 *
 * The longest prefix of a model's name counts, so that a new minor version is taken for what its family is. Prices are
 * list prices in US dollars per million tokens, for an estimate: discounts, tiers by length and flat plans are not
 * known here. */
#include "base/macro.h"
#include "llm/llm.h"

const char llm_prices_as_of[] = "2026-11";

struct price {
	double input, cache_read, cache_write, output;
};

static const struct model {
	const char *name;
	int64_t window;     /* tokens */
	struct price price; /* all 0: unknown */
} models[] = {
	{ "claude-", 200000, { 0 } },
	{ "claude-opus-", 200000, { 5, 0.5, 6.25, 25 } },
	{ "claude-opus-4-0", 200000, { 15, 1.5, 18.75, 75 } },
	{ "claude-opus-4-1", 200000, { 15, 1.5, 18.75, 75 } },
	{ "claude-opus-4-2025", 200000, { 15, 1.5, 18.75, 75 } },
	{ "claude-3-opus", 200000, { 15, 1.5, 18.75, 75 } },
	{ "claude-sonnet-", 200000, { 3, 0.3, 3.75, 15 } },
	{ "claude-3-5-sonnet", 200000, { 3, 0.3, 3.75, 15 } },
	{ "claude-3-7-sonnet", 200000, { 3, 0.3, 3.75, 15 } },
	{ "claude-haiku-", 200000, { 1, 0.1, 1.25, 5 } },
	{ "claude-3-5-haiku", 200000, { 0.8, 0.08, 1, 4 } },
	{ "claude-3-haiku", 200000, { 0.25, 0.03, 0.3, 1.25 } },
	{ "gpt-5", 272000, { 1.25, 0.125, 1.25, 10 } },
	{ "gpt-5-mini", 272000, { 0.25, 0.025, 0.25, 2 } },
	{ "gpt-5-nano", 272000, { 0.05, 0.005, 0.05, 0.4 } },
	{ "gpt-4.1", 1047576, { 2, 0.5, 2, 8 } },
	{ "gpt-4.1-mini", 1047576, { 0.4, 0.1, 0.4, 1.6 } },
	{ "gpt-4o", 128000, { 2.5, 1.25, 2.5, 10 } },
	{ "o3", 200000, { 2, 0.5, 2, 8 } },
	{ "o4-mini", 200000, { 1.1, 0.275, 1.1, 4.4 } },
	{ "codex-mini", 200000, { 1.5, 0.375, 1.5, 6 } },
	{ "gemini-", 1048576, { 0 } },
	{ "gemini-3-pro", 1048576, { 2, 0.2, 2, 12 } },
	{ "gemini-3-flash", 1048576, { 0.5, 0.05, 0.5, 3 } },
	{ "gemini-2.5-pro", 1048576, { 1.25, 0.125, 1.25, 10 } },
	{ "gemini-2.5-flash", 1048576, { 0.3, 0.03, 0.3, 2.5 } },
	{ "gemini-2.5-flash-lite", 1048576, { 0.1, 0.01, 0.1, 0.4 } },
	{ "qwen3-coder", 262144, { 0 } },
	{ "qwen3-coder-plus", 1000000, { 0 } },
	{ "qwen3-max", 262144, { 0 } },
	{ "coder-model", 1000000, { 0 } },
};

/* A model that is asked for with its long context says so in its name. */
static const struct {
	const char *suffix;
	int64_t window;
} variants[] = {
	{ "[1m]", 1000000 },
	{ "-1m", 1000000 },
};

static const struct model *find(str name)
{
	const struct model *best = NULL;

	for (size_t i = 0; i < countof(models); i++)
		if (str_starts(name, str_of(models[i].name)) && (!best || strlen(models[i].name) > strlen(best->name)))
			best = &models[i];
	return best;
}

int64_t llm_window_of(str model)
{
	const struct model *m = find(model);

	for (size_t i = 0; i < countof(variants); i++)
		if (str_ends(model, str_of(variants[i].suffix)))
			return variants[i].window;
	return m ? m->window : 0;
}

bool llm_price_of(str model, const struct llm_tokens *t, int64_t *ret)
{
	const struct model *m = find(model);
	const struct price *p = m ? &m->price : NULL;

	if (!p || p->output == 0)
		return false;
	/* Dollars per million are micro-dollars per token. */
	*ret = (int64_t)((double)t->input * p->input + (double)t->cache_read * p->cache_read +
		(double)t->cache_write * p->cache_write + (double)t->output * p->output + 0.5);
	return true;
}
