/* DESIGN. Tasks wait in lanes of strict priority: what a turn waits for comes first, then what a person waits for,
 * then what nobody waits for. Threads are started when there is work and none is free. At most two threads serve
 * people and background work, and at most one of them background work, so that a turn always finds a free thread.
 *
 * A disk that hangs (a dead mount) can block a thread indefinitely. So when a task of a turn has waited for a while,
 * the pool grows beyond its size; a thread that finds nothing to do exits if enough others are idle. */
#include "loop/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "os/os.h"

enum {
	THREADS_MAX = 64,
	STUCK_MS = 50, /* work of a turn waits no longer than this for a thread */
	SLOW_MAX = 2,  /* threads that serve people and background work */
};

#define STACK_BYTES (1 << 20)

struct lane {
	struct task *first, **last;
	unsigned running;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct lane lanes[LOOP_LANE_MAX];
	unsigned size, threads, idle;
	pthread_t ids[THREADS_MAX];
	bool used[THREADS_MAX], ended[THREADS_MAX];
	bool closed;
	void (*back)(struct task *t, void *arg);
	void *arg;
};

struct worker {
	struct pool *pool;
	unsigned slot;
};

/* -- choosing ---------------------------------------------------------------------------------- */

static bool is_slow(enum loop_lane lane)
{
	return lane == LOOP_PEOPLE || lane == LOOP_BACKGROUND;
}

static bool has_room(const struct pool *p, enum loop_lane lane)
{
	unsigned slow = p->lanes[LOOP_PEOPLE].running + p->lanes[LOOP_BACKGROUND].running;

	return !is_slow(lane) || (slow < SLOW_MAX && (lane != LOOP_BACKGROUND || !p->lanes[lane].running));
}

/* The lane to serve next, or LOOP_LANE_MAX. */
static enum loop_lane next_lane(const struct pool *p)
{
	enum loop_lane lane = 0;

	while (lane < LOOP_LANE_MAX && !(p->lanes[lane].first && has_room(p, lane)))
		lane++;
	return lane;
}

static struct task *take(struct pool *p, enum loop_lane lane)
{
	struct lane *l = &p->lanes[lane];
	struct task *t = l->first;

	l->first = t->next;
	if (!l->first)
		l->last = &l->first;
	l->running++;
	return t;
}

/* -- threads ----------------------------------------------------------------------------------- */

static void *worker_main(void *arg)
{
	struct worker *self = arg;
	struct pool *p = self->pool;
	enum loop_lane lane;
	struct task *t;

	os_thread_name("hookd-worker");
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while ((lane = next_lane(p)) == LOOP_LANE_MAX && !p->closed && p->idle < p->size) {
			p->idle++;
			pthread_cond_wait(&p->more, &p->lock);
			p->idle--;
		}
		if (lane == LOOP_LANE_MAX)
			break;
		t = take(p, lane);
		pthread_mutex_unlock(&p->lock);
		t->work(t->arg);
		p->back(t, p->arg);
		pthread_mutex_lock(&p->lock);
		p->lanes[lane].running--;
		/* A task that its lane's limit held back may now run. */
		if (is_slow(lane))
			pthread_cond_signal(&p->more);
	}
	p->threads--;
	p->ended[self->slot] = true;
	pthread_mutex_unlock(&p->lock);
	free(self);
	return NULL;
}

/* Threads that exited are joined when their slot is needed. */
static int find_slot(struct pool *p)
{
	for (int i = 0; i < THREADS_MAX; i++) {
		if (p->used[i] && p->ended[i]) {
			pthread_join(p->ids[i], NULL);
			p->used[i] = p->ended[i] = false;
		}
		if (!p->used[i])
			return i;
	}
	return -1;
}

/* With the lock held. Workers take no signals: they all belong to the loop. */
static void start_thread(struct pool *p)
{
	int slot = find_slot(p);
	struct worker *self;
	pthread_attr_t attr;
	sigset_t all, old;

	if (slot < 0)
		return;
	self = xcalloc(1, sizeof *self);
	self->pool = p;
	self->slot = (unsigned)slot;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	p->used[slot] = pthread_create(&p->ids[slot], &attr, worker_main, self) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (p->used[slot])
		p->threads++;
	else
		free(self);
}

/* -- the pool ---------------------------------------------------------------------------------- */

struct pool *pool_new(unsigned threads, void (*back)(struct task *t, void *arg), void *arg)
{
	struct pool *p = xcalloc(1, sizeof *p);

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	for (int i = 0; i < LOOP_LANE_MAX; i++)
		p->lanes[i].last = &p->lanes[i].first;
	p->size = threads;
	p->back = back;
	p->arg = arg;
	return p;
}

void pool_push(struct pool *p, struct task *t)
{
	struct lane *l = &p->lanes[t->lane];

	t->next = NULL;
	t->queued_us = clock_mono_us();
	pthread_mutex_lock(&p->lock);
	*l->last = t;
	l->last = &t->next;
	if (p->idle)
		pthread_cond_signal(&p->more);
	else if (p->threads < p->size && !p->closed)
		start_thread(p);
	pthread_mutex_unlock(&p->lock);
}

bool pool_relieve(struct pool *p)
{
	int64_t since = clock_mono_us() - STUCK_MS * USEC_PER_MSEC;
	bool stuck = false, waits;

	pthread_mutex_lock(&p->lock);
	for (enum loop_lane lane = 0; lane < LOOP_LANE_MAX; lane++)
		stuck |= p->lanes[lane].first && has_room(p, lane) && p->lanes[lane].first->queued_us <= since;
	if (stuck && !p->idle && !p->closed)
		start_thread(p);
	waits = next_lane(p) != LOOP_LANE_MAX;
	pthread_mutex_unlock(&p->lock);
	return waits;
}

void pool_stop(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->closed = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < THREADS_MAX; i++)
		if (p->used[i]) {
			pthread_join(p->ids[i], NULL);
			p->used[i] = false;
		}
}

void pool_free(struct pool *p)
{
	struct task *t, *next;

	for (int i = 0; i < LOOP_LANE_MAX; i++)
		for (t = p->lanes[i].first; t; t = next) {
			next = t->next;
			free(t); /* the owner of arg frees it */
		}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->more);
	free(p);
}
