#include "daemon/encoding.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "os/os.h"

enum { PROJECTS_MAX = 64 };

struct encoding {
	struct readers *readers;
	struct memories *memories;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int64_t projects
		[PROJECTS_MAX]; /* in the order in which they came; more are added when they are searched again */
	size_t n;
	bool stopping, running;
	int64_t asked_us; /* when os_should_wait() was asked last, and what it said */
	bool waits;
};

/* Between two texts. */
static bool rests(void *arg)
{
	struct encoding *e = arg;
	int64_t now = clock_mono_us();

	if (now - e->asked_us > USEC_PER_SEC) {
		e->asked_us = now;
		e->waits = os_should_wait();
	}
	return __atomic_load_n(&e->stopping, __ATOMIC_RELAXED) || (e->waits && !memories_is_hurried(e->memories));
}

/* Whether there is more to do for the first project. */
static bool work(struct encoding *e, int64_t project)
{
	struct store *s = NULL;
	struct err err;
	int r;

	if (readers_try(e->readers, &s, &err) < 0)
		return false;
	r = memories_encode(e->memories, s, project, rests, e);
	readers_give_back(e->readers, s);
	if (r < 0)
		log_warn(LOG_STORE, "vectors of memories cannot be written: %s", strerror(-r));
	return r > 0;
}

static void wait_a_while(struct encoding *e)
{
	int64_t until_us = clock_wall_us() + USEC_PER_SEC;
	struct timespec until = { .tv_sec = until_us / USEC_PER_SEC, .tv_nsec = until_us % USEC_PER_SEC * 1000 };

	pthread_cond_timedwait(&e->changed, &e->lock, &until);
}

static void *run(void *arg)
{
	struct encoding *e = arg;

	os_thread_name("hookd-encoder");
	os_thread_last();
	pthread_mutex_lock(&e->lock);
	while (e->n && !e->stopping) {
		int64_t project = e->projects[0];
		bool more;

		if (rests(e)) {
			wait_a_while(e);
			continue;
		}
		pthread_mutex_unlock(&e->lock);
		more = work(e, project);
		pthread_mutex_lock(&e->lock);
		if (!more)
			memmove(e->projects, e->projects + 1, --e->n * sizeof e->projects[0]);
	}
	memories_rest(e->memories);
	e->running = false;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

/* Signals are the loop's business. */
static bool start(struct encoding *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	bool started;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = pthread_create(&thread, &attr, run, e) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return started;
}

void encoding_add(struct encoding *e, struct memories *m, int64_t project)
{
	size_t at = 0;

	pthread_mutex_lock(&e->lock);
	e->memories = m;
	while (at < e->n && e->projects[at] != project)
		at++;
	if (at == e->n && e->n < PROJECTS_MAX)
		e->projects[e->n++] = project;
	if (!e->running && !e->stopping)
		e->running = start(e);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

struct encoding *encoding_new(struct readers *r)
{
	struct encoding *e = xcalloc(1, sizeof *e);

	e->readers = r;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	return e;
}

void encoding_free(struct encoding *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	__atomic_store_n(&e->stopping, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&e->changed);
	while (e->running)
		pthread_cond_wait(&e->changed, &e->lock);
	pthread_mutex_unlock(&e->lock);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->changed);
	free(e);
}
