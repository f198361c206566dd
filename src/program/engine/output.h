/* output: what agents write to their transcripts while a turn runs. See output.c. */
#ifndef HOOKD_ENGINE_OUTPUT_H
#define HOOKD_ENGINE_OUTPUT_H

#include <stdbool.h>

#include "engine/engine.h"

/* Everything in it outlives the outputs. */
struct output_config {
	struct loop *loop;
	struct engine *engine;
	const char *home;
	/* Whether anybody wants it now; on the loop. Nothing is read while nobody does. */
	bool (*wanted)(void *arg);
	void *arg;
};

struct outputs;

struct outputs *outputs_new(const struct output_config *config);
void outputs_free(struct outputs *o);

/* An agent tells of an event: its turn has begun, goes on, or is over. On the loop; arg is the outputs. */
void outputs_hear(const struct event *e, void *arg);

/* Somebody listens, for some seconds from now; any thread. */
void outputs_listen(struct outputs *o);

#endif
