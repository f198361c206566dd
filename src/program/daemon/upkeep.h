/* upkeep: what the store needs beside events: stale sessions end, what exceeds the limits goes, a copy is made once a
 * day. For daemon/ only.
 *
 * DESIGN. Nothing here is urgent. The writer does it between folds, in small steps; what only reads, a worker of the
 * background lane. */
#ifndef HOOKD_DAEMON_UPKEEP_H
#define HOOKD_DAEMON_UPKEEP_H

#include "capture/capture.h"
#include "config/config.h"
#include "config/paths.h"
#include "loop/loop.h"
#include "store/store.h"

struct upkeep {
	const struct paths *paths;
	const struct config *config;
	struct loop *loop;
	struct capture *capture;
	struct outbox *outbox;
	struct writer *writer; /* set once it has started, before the loop runs */
	bool backing_up;       /* the loop's */
	/* The writer thread's. */
	bool retain; /* look for what exceeds the limits */
	struct capture_count retained;
};

/* On the loop. */
void upkeep_complete(struct upkeep *u);
void upkeep_retain(struct upkeep *u);
void upkeep_back_up(struct upkeep *u);

/* The writer's, when it has nothing to fold: one small step. 1: there is more to do; 0; -errno. arg is the upkeep. */
int upkeep_idle(struct store *s, void *arg);

#endif
