/* learn: finished turns become memories. See learn.c. */
#ifndef HOOKD_ENGINE_LEARN_H
#define HOOKD_ENGINE_LEARN_H

#include "config/config.h"
#include "engine/engine.h"
#include "loop/loop.h"
#include "store/store.h"

struct learner_config {
	struct loop *loop;
	struct engine *engine;
	struct readers *readers;
	struct memories *memories;
	struct writer *writer;
	const struct config *config;
	const char *home;
};

struct learner;

/* Everything in the config outlives it. */
struct learner *learner_new(const struct learner_config *config);
void learner_free(struct learner *x);

/* Turns may have ended: looks soon. */
void learner_wake(struct learner *x);

#endif
