/* Whether an agent's model can be reached, as the ends of its turns tell. Shown to people, never acted on: hookd
 * neither waits for a limit to be over nor starts anything in its place. In memory alone; the next turn tells again. */
#include <stdio.h>

#include "base/clock.h"
#include "engine/turn.h"

enum { EPOCH_DIGITS = 10 };

const char *const available_names[] = {
	[AGENT_AVAILABLE] = "available",
	[AGENT_DEGRADED] = "degraded",
	[AGENT_UNAVAILABLE] = "unavailable",
};

/* What agents call it. Errors that are about one request alone (too long, refused) are not here. */
static const struct {
	const char *error;
	enum agent_available is;
} errors[] = {
	{ "rate_limit", AGENT_UNAVAILABLE },
	{ "rate_limit_error", AGENT_UNAVAILABLE },
	{ "usage_limit_reached", AGENT_UNAVAILABLE },
	{ "billing_error", AGENT_UNAVAILABLE },
	{ "authentication_failed", AGENT_UNAVAILABLE },
	{ "oauth_org_not_allowed", AGENT_UNAVAILABLE },
	{ "overloaded", AGENT_DEGRADED },
	{ "overloaded_error", AGENT_DEGRADED },
	{ "server_error", AGENT_DEGRADED },
	{ "api_error", AGENT_DEGRADED },
};

/* "Claude AI usage limit reached|1795096800": seconds since 1970. 0: it does not say. */
static int64_t until_of(str said)
{
	ptrdiff_t bar = str_find_char(said, '|');
	str digits = bar < 0 ? STR("") : str_head(str_from(said, (size_t)bar + 1), EPOCH_DIGITS);
	int64_t at = 0;

	return digits.n == EPOCH_DIGITS && str_to_int(digits, &at) && at > 0 ? at * USEC_PER_SEC : 0;
}

static void set(struct agent_seen *a, enum agent_available is, const char *why, const struct event *e)
{
	if (is != a->available)
		a->since_us = e->at_us;
	a->available = is;
	a->until_us = is ? until_of(e->message) : 0;
	snprintf(a->why, sizeof a->why, "%s", why);
}

void available_note(struct agent_seen *a, const struct event *e)
{
	bool failed = e->kind == EVENT_STOP_FAILURE;

	if (!failed && e->kind != EVENT_STOP && e->kind != EVENT_TURN_COMPLETE)
		return;
	for (size_t i = 0; failed && i < countof(errors); i++)
		if (str_eq(e->error, str_of(errors[i].error))) {
			set(a, errors[i].is, errors[i].error, e);
			return;
		}
	/* Some say it in words, and some as if it were an answer. */
	if (agent_trouble_of(STR_NONE, e->message) == AGENT_RATE_LIMIT)
		set(a, AGENT_UNAVAILABLE, agent_trouble_names[AGENT_RATE_LIMIT], e);
	else if (!failed)
		set(a, AGENT_AVAILABLE, "", e);
}

/* A limit that was to end has ended, as far as anybody knows. */
enum agent_available engine_available(const struct agent_seen *a, int64_t now_us)
{
	return a->until_us && a->until_us <= now_us ? AGENT_AVAILABLE : a->available;
}
