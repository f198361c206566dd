/* Read-only handles that workers share: whoever reads takes one, or opens one more. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "store/store.h"

enum { READERS = 4, IDLE_S = 60 };

struct readers {
	char path[FS_PATH];
	pthread_mutex_t lock;
	struct {
		struct store *store;
		int64_t used_us; /* monotonic */
	} idle[READERS];
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

int readers_take(struct readers *r, struct store **ret, struct err *err)
{
	struct store *s = take_idle(r);

	/* The writer may have made a new store. */
	if (s && store_presence(s) != STORE_PRESENT) {
		store_close(s);
		s = NULL;
	}
	*ret = s;
	return s ? 0 : store_open(r->path, STORE_READ, NULL, ret, err);
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
