/* List prices in US dollars per million tokens. An estimate: discounts, tiers by length and flat plans are not
 * known here. The longest prefix of a model's name wins, so that a new minor version costs what its family does. */
#include "api/prices.h"

#include "base/macro.h"

const char prices_as_of[] = "2026-11";

static const struct price {
	const char *model;
	double input, cache_read, cache_write, output;
} prices[] = {
	{ "claude-opus-", 5, 0.5, 6.25, 25 },
	{ "claude-opus-4-0", 15, 1.5, 18.75, 75 },
	{ "claude-opus-4-1", 15, 1.5, 18.75, 75 },
	{ "claude-opus-4-2025", 15, 1.5, 18.75, 75 },
	{ "claude-3-opus", 15, 1.5, 18.75, 75 },
	{ "claude-sonnet-", 3, 0.3, 3.75, 15 },
	{ "claude-3-5-sonnet", 3, 0.3, 3.75, 15 },
	{ "claude-3-7-sonnet", 3, 0.3, 3.75, 15 },
	{ "claude-haiku-", 1, 0.1, 1.25, 5 },
	{ "claude-3-5-haiku", 0.8, 0.08, 1, 4 },
	{ "claude-3-haiku", 0.25, 0.03, 0.3, 1.25 },
	{ "gpt-5", 1.25, 0.125, 1.25, 10 },
	{ "gpt-5-mini", 0.25, 0.025, 0.25, 2 },
	{ "gpt-5-nano", 0.05, 0.005, 0.05, 0.4 },
	{ "gpt-4.1", 2, 0.5, 2, 8 },
	{ "gpt-4.1-mini", 0.4, 0.1, 0.4, 1.6 },
	{ "gpt-4o", 2.5, 1.25, 2.5, 10 },
	{ "o3", 2, 0.5, 2, 8 },
	{ "o4-mini", 1.1, 0.275, 1.1, 4.4 },
	{ "codex-mini", 1.5, 0.375, 1.5, 6 },
	{ "gemini-3-pro", 2, 0.2, 2, 12 },
	{ "gemini-3-flash", 0.5, 0.05, 0.5, 3 },
	{ "gemini-2.5-pro", 1.25, 0.125, 1.25, 10 },
	{ "gemini-2.5-flash", 0.3, 0.03, 0.3, 2.5 },
	{ "gemini-2.5-flash-lite", 0.1, 0.01, 0.1, 0.4 },
};

bool price_of(str model, int64_t input, int64_t cache_read, int64_t cache_write, int64_t output, int64_t *ret)
{
	const struct price *best = NULL;

	for (size_t i = 0; i < countof(prices); i++)
		if (str_starts(model, str_of(prices[i].model)) &&
			(!best || strlen(prices[i].model) > strlen(best->model)))
			best = &prices[i];
	if (!best)
		return false;
	/* Dollars per million are micro-dollars per token. */
	*ret = (int64_t)((double)input * best->input + (double)cache_read * best->cache_read +
		(double)cache_write * best->cache_write + (double)output * best->output + 0.5);
	return true;
}
