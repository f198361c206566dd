/* Prompt hooks ask the user's model: hooks/ and llm/ do not know each other. */
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/turn.h"

struct asked {
	void (*done)(bool answered, str text, void *arg);
	void *arg;
};

static void answered(const struct llm_answer *a, void *arg)
{
	struct asked *x = arg;
	bool good = a->result == LLM_ANSWERED;

	x->done(good, good ? a->text : str_empty(a->why) ? str_of(llm_result_names[a->result]) : a->why, x->arg);
	free(x);
}

void model_ask(const struct hook_question *q, void *arg)
{
	enum { OPINION_TOKENS = 256 }; /* a word and a sentence; some models think first */
	struct asked *x = xcalloc(1, sizeof *x);
	const struct llm_request request = { .purpose = "prompt-hook",
		.system = q->system,
		.user = q->user,
		.lane = LLM_URGENT,
		.max_tokens = OPINION_TOKENS,
		.timeout_us = q->timeout_us,
		.done = answered,
		.arg = x };

	*x = (struct asked){ q->done, q->arg };
	llm_ask(arg, &request);
}

bool model_is_own(str prompt, void *arg)
{
	return llm_is_own(arg, prompt);
}
