/* Read-only handles that workers share: whoever reads takes one, or opens one more. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "store/store.h"

enum { READERS = 4, IDLE_S = 60, DISTRUST_S = 5 };

struct readers {
	char path[FS_PATH];
	pthread_mutex_t lock;
	struct {
		struct store *store;
		int64_t used_us; /* monotonic */
	} idle[READERS];
	int64_t replaced_us; /* monotonic: when the file was last found to be another one; 0: never */
};

struct readers *readers_new(const char *path)
{
	struct readers *r = xcalloc(1, sizeof *r);

	snprintf(r->path, sizeof r->path, "%s", path);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void readers_free(struct readers *r)
{
	if (!r)
		return;
	for (int i = 0; i < READERS; i++)
		store_close(r->idle[i].store);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct store *take_idle(struct readers *r)
{
	struct store *s = NULL;

	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < READERS && !s; i++) {
		s = r->idle[i].store;
		r->idle[i].store = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	return s;
}

/* One that is still at its path; NULL: there is none. */
static struct store *take_present(struct readers *r)
{
	struct store *s = take_idle(r);

	/* The writer may have made a new store, or somebody has moved another one there. */
	if (s && store_presence(s) != STORE_PRESENT) {
		store_abandon(s);
		pthread_mutex_lock(&r->lock);
		r->replaced_us = clock_mono_us();
		pthread_mutex_unlock(&r->lock);
		s = NULL;
	}
	return s;
}

int readers_take(struct readers *r, struct store **ret, struct err *err)
{
	*ret = take_present(r);
	return *ret ? 0 : store_open(r->path, STORE_READ, NULL, ret, err);
}

int readers_try(struct readers *r, struct store **ret, struct err *err)
{
	int64_t replaced;

	*ret = take_present(r);
	if (*ret)
		return 0;
	pthread_mutex_lock(&r->lock);
	replaced = r->replaced_us;
	pthread_mutex_unlock(&r->lock);
	if (replaced && clock_mono_us() - replaced < DISTRUST_S * USEC_PER_SEC)
		return err_set(err, -EAGAIN, "the store was replaced a moment ago");
	return store_open(r->path, STORE_READ, NULL, ret, err);
}

void readers_give_back(struct readers *r, struct store *s)
{
	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < READERS && s; i++)
		if (!r->idle[i].store) {
			r->idle[i].store = s;
			r->idle[i].used_us = clock_mono_us();
			s = NULL;
		}
	pthread_mutex_unlock(&r->lock);
	store_close(s);
}

void readers_close_idle(struct readers *r)
{
	int64_t since = clock_mono_us() - IDLE_S * USEC_PER_SEC;

	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < READERS; i++)
		if (r->idle[i].store && r->idle[i].used_us < since) {
			store_close(r->idle[i].store);
			r->idle[i].store = NULL;
		}
	pthread_mutex_unlock(&r->lock);
}
