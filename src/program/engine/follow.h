/* follow: tokens of active sessions, and what no hook said of a turn, from transcripts. See follow.c. */
#ifndef HOOKD_ENGINE_FOLLOW_H
#define HOOKD_ENGINE_FOLLOW_H

#include "capture/capture.h"
#include "journal/journal.h"
#include "loop/loop.h"
#include "store/store.h"

/* Everything in it outlives the follow. */
struct follow_config {
	struct loop *loop;
	struct journal *journal;
	struct writer *writer;
	struct capture *capture; /* the writer's */
	const char *home, *store;
};

struct follow;

struct follow *follow_new(const struct follow_config *config);
void follow_free(struct follow *f);

/* A turn has ended somewhere: read on soon. Loop thread; arg is the follow. */
void follow_soon(void *arg);

#endif
