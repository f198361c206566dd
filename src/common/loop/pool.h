/* pool: the threads behind loop_submit(). Internal to loop/. */
#ifndef HOOKD_LOOP_POOL_H
#define HOOKD_LOOP_POOL_H

#include "loop/loop.h"

/* One piece of work on its way to a worker or back to the loop. */
struct task {
	struct task *next;
	void (*work)(void *arg); /* NULL: a post */
	void (*done)(void *arg);
	void *arg;
	enum loop_lane lane;
	int64_t queued_us; /* monotonic */
};

struct pool;

/* At most `threads` run at once, unless some are stuck. Finished tasks are passed to back(). */
struct pool *pool_new(unsigned threads, void (*back)(struct task *t, void *arg), void *arg);

void pool_push(struct pool *p, struct task *t);

/* If a task has waited too long because every thread is stuck, starts another one. True: call again in a while. */
bool pool_relieve(struct pool *p);

/* Lets the threads finish their current tasks and joins them. Tasks that were not started are left to pool_free(). */
void pool_stop(struct pool *p);
void pool_free(struct pool *p);

#endif
