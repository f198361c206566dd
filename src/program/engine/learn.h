/* learn: what was captured becomes memories, classes and summaries. See learn.c. */
#ifndef HOOKD_ENGINE_LEARN_H
#define HOOKD_ENGINE_LEARN_H

#include "capture/capture.h"
#include "config/config.h"
#include "engine/engine.h"
#include "loop/loop.h"
#include "store/store.h"

struct outbox;

struct learner_config {
	struct loop *loop;
	struct engine *engine;
	struct readers *readers;
	struct memories *memories;
	struct writer *writer;
	struct capture *capture; /* the writer's */
	const struct config *config;
	struct llm *llm;       /* NULL: no model is asked */
	struct outbox *outbox; /* NULL: nobody is told of summaries */
	const char *home;
};

struct learner;

/* Everything in the config outlives it. */
struct learner *learner_new(const struct learner_config *config);
void learner_free(struct learner *x);

/* There may be jobs to do: looks. On the loop. */
void learner_wake(struct learner *x);

#endif
