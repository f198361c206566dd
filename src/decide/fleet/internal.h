/* What the files of fleet/ share. */
#ifndef HOOKD_FLEET_INTERNAL_H
#define HOOKD_FLEET_INTERNAL_H

#include "fleet/fleet.h"

enum { AGENT_BUCKETS = 512 };

struct fleet {
	struct fleet_agent *buckets[AGENT_BUCKETS], *newest, *oldest;
	unsigned n;
	bool filled;
	int64_t work_us;
	struct fleet_listener *listeners, **last_listener;
	unsigned nlisteners;
};

/* A row of the store; agents are filled first. */
void listeners_fill(struct fleet *f, const struct json *row);
void listeners_free(struct fleet *f);

#endif
