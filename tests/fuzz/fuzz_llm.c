/* What a model's server sends: the first byte chooses the protocol, the second the status. An answer is a text within
 * its limits in valid UTF-8, and only ever comes with 200; everything else has a reason. The head of an answer, and a
 * prompt hook's reading of the text, go through the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "hooks/internal.h"
#include "llm/llm.h"
#include "net/net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_opinion(str text, struct arena *a)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE };
	struct hook_answer answer;

	hook_read_opinion(text, &e, a, &answer);
	check(answer.action == VERDICT_NONE || answer.action == VERDICT_DENY);
	check(!answer.updated_input && !answer.end_turn && !answer.continue_turn && str_empty(answer.context));
	check(answer.action != VERDICT_DENY || (!str_empty(answer.reason) && utf8_valid(answer.reason)));
	check(!str_is_set(answer.failure) || answer.action == VERDICT_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = { 200, 200, 200, 401, 429, 500, 201, 302 };
	struct llm_reading r;
	struct arena a;
	int status, retry;
	str body;

	if (size < 2)
		return 0;
	arena_init(&a);
	body = str_n((const char *)data + 2, size - 2);
	status = statuses[data[1] % 8];
	llm_read_answer((enum llm_provider)(LLM_OPENAI + data[0] % (LLM_PROVIDER_MAX - 1)), status, body, &a, &r);
	if (r.result == LLM_ANSWERED) {
		check(status == 200 && r.text.n > 0 && r.text.n <= LLM_TEXT_MAX && utf8_valid(r.text));
		check(!memchr(r.text.p, 0, r.text.n));
		check_opinion(r.text, &a);
	} else {
		check(!str_empty(r.why) && str_empty(r.text));
		check(r.result == LLM_GARBLED || r.result == LLM_CUT || r.result == LLM_REFUSED ||
			r.result == LLM_FAILED);
	}
	check(r.tokens_in >= -1 && r.tokens_out >= -1);
	check_opinion(body, &a);
	if (net_parse_head(body, 1800000000, &status, &retry))
		check(status >= 100 && status <= 999);
	check(retry >= -1 && retry <= NET_RETRY_MAX_S);
	arena_release(&a);
	return 0;
}
