/* project_find() for callers that must not hang: a dead mount never answers, and the writer has other events to fold.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "os/os.h"
#include "project/project.h"

/* Lookups that nobody waits for any more, because their disk does not answer. */
enum { STUCK_MAX = 8 };

struct lookup {
	struct lookup *next;
	pthread_cond_t done;
	char directory[FS_PATH], home[FS_PATH];
	struct project project;
	int result;
	bool finished, abandoned;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lookup *pending; /* under the lock, like everything in it but the strings */

static void forget(struct lookup *l)
{
	struct lookup **at = &pending;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pthread_cond_destroy(&l->done);
	free(l);
}

static void *look(void *arg)
{
	struct lookup *l = arg;
	struct project p;
	int r;

	os_thread_name("hookd-lookup");
	r = project_find(l->directory, l->home[0] ? l->home : NULL, &p);
	pthread_mutex_lock(&lock);
	l->project = p;
	l->result = r;
	l->finished = true;
	pthread_cond_signal(&l->done);
	if (l->abandoned)
		forget(l);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* With the lock held. NULL: this directory hangs already, or too many do. */
static struct lookup *begin(const char *directory, const char *home)
{
	struct lookup *l;
	pthread_condattr_t clock;
	pthread_t thread;
	sigset_t all, old;
	unsigned n = 0;
	bool started;

	for (l = pending; l; l = l->next)
		if (++n == STUCK_MAX || strcmp(l->directory, directory) == 0)
			return NULL;
	l = xcalloc(1, sizeof *l);
	snprintf(l->directory, sizeof l->directory, "%s", directory);
	snprintf(l->home, sizeof l->home, "%s", home ? home : "");
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&l->done, &clock);
	pthread_condattr_destroy(&clock);
	l->next = pending;
	pending = l;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = pthread_create(&thread, NULL, look, l) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (started) {
		pthread_detach(thread);
		return l;
	}
	forget(l);
	return NULL;
}

int project_find_within(const char *directory, const char *home, int ms, struct project *ret)
{
	int64_t until = clock_mono_us() + ms * USEC_PER_MSEC;
	struct timespec at = { .tv_sec = until / USEC_PER_SEC, .tv_nsec = until % USEC_PER_SEC * 1000 };
	char known[FS_PATH];
	struct lookup *l;
	int r = 0;

	/* What the kernel has in memory belongs to a file system that is alive. */
	if (os_real_path_cached(directory, known, sizeof known) == 0)
		return project_find(directory, home, ret);
	pthread_mutex_lock(&lock);
	l = begin(directory, home);
	while (l && !l->finished && r == 0)
		r = pthread_cond_timedwait(&l->done, &lock, &at);
	if (!l || !l->finished) {
		r = -ETIMEDOUT;
		if (l)
			l->abandoned = true;
	} else {
		r = l->result;
		*ret = l->project;
		forget(l);
	}
	pthread_mutex_unlock(&lock);
	return r;
}
