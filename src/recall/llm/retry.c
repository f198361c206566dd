/* When to try again, and when to leave a failing provider alone. */
#include "base/clock.h"
#include "base/macro.h"
#include "llm/internal.h"
#include "net/net.h"

enum { FAILURES_MAX = 5, FIRST_PAUSE_S = 30, LONGEST_PAUSE_S = 900, BACK_OFF_MS = 1000 };

int64_t llm_circuit_left(const struct llm_circuit *c, int64_t now_us)
{
	return MAX(c->until_us - now_us, INT64_C(0));
}

void llm_circuit_good(struct llm_circuit *c)
{
	*c = (struct llm_circuit){ 0 };
}

/* A refusal does not pass by itself, so it counts like many failures; neither does the number ever go back but by an
 * answer, so that after a pause a single failure begins the next. */
void llm_circuit_bad(struct llm_circuit *c, enum llm_result r, int retry_after_s, int64_t now_us)
{
	c->failures = r == LLM_REFUSED ? MAX(c->failures + 1, (unsigned)FAILURES_MAX) : c->failures + 1;
	if (retry_after_s > 0)
		c->until_us = MAX(c->until_us, now_us + MIN(retry_after_s, (int)NET_RETRY_MAX_S) * USEC_PER_SEC);
	if (c->failures < FAILURES_MAX || c->until_us > now_us)
		return;
	c->pause_us = c->pause_us ? MIN(2 * c->pause_us, LONGEST_PAUSE_S * USEC_PER_SEC) : FIRST_PAUSE_S * USEC_PER_SEC;
	c->until_us = now_us + c->pause_us;
}

/* What may go better next time. A question that took too long once will do so again, and costs each time. */
static bool is_worth_it(enum llm_result r, int status)
{
	if (r == LLM_UNREACHABLE)
		return true;
	return r == LLM_FAILED && (status == 408 || status == 425 || status == 429 || status >= 500);
}

int64_t llm_retry_wait(enum llm_result r, int status, unsigned tries, int retry_after_s, unsigned dice)
{
	int64_t wait = BACK_OFF_MS * USEC_PER_MSEC;

	if (tries >= LLM_TRIES || !is_worth_it(r, status))
		return -1;
	for (unsigned i = 1; i < tries; i++)
		wait *= 4;
	wait += wait / 4 * (dice % 256) / 256; /* so that two that failed together do not come back together */
	return MAX(wait, MAX(retry_after_s, 0) * USEC_PER_SEC);
}
