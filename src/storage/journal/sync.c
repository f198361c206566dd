/* Bringing the journal to the disk: what is owed, zeros ahead of the end, and the thread that does both. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "journal/internal.h"
#include "os/os.h"

enum {
	SYNC_EVERY_MS = 1000, /* the loss window of durability: normal */
	PAGE = 4096,
	GROW_STEP = 256 << 10,
	GROW_AT = 64 << 10, /* fewer zeros than this ahead of the end: time for more */
};

/* -- one sync ---------------------------------------------------------------------------------- */

static int sync_and_close(int fd)
{
	int r = journal_fault("fsync");

	if (journal_fault("fsync-hang") < 0)
		for (;;)
			pause();
	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* A file without a name is lost when the process ends. */
static int check_linked(struct journal *j, int fd, uint64_t segment)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_nlink > 0)
		return 0;
	journal_abandon(j, segment);
	return -ESTALE;
}

/* What is owed now, taken over: fds to sync and close, a copy of the current one among them. Returns how many. */
static int take_debt(struct journal *j, int fds[RETIRED_MAX + 1], int *ret_dir, struct journal_pos *ret_end, int *ret)
{
	int n, one;

	pthread_mutex_lock(&j->owed.lock);
	n = j->owed.nretired;
	memcpy(fds, j->owed.retired, (size_t)n * sizeof(int));
	*ret = j->owed.lost ? -EIO : 0;
	*ret_dir = j->owed.dir ? fcntl(j->owed.dir_fd, F_DUPFD_CLOEXEC, 0) : -1;
	*ret_end = j->owed.end;
	j->owed.nretired = 0;
	j->owed.dir = j->owed.dir && *ret_dir < 0;
	j->owed.lost = false;
	if (j->owed.file) {
		/* A copy, so that the loop may retire the original meanwhile. Without a file descriptor for it, it
		 * stays owed. */
		one = fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
		if (one >= 0) {
			fds[n++] = one;
			if (*ret == 0)
				*ret = check_linked(j, one, ret_end->segment);
		} else {
			*ret = -errno;
		}
		j->owed.file = one < 0;
	}
	pthread_mutex_unlock(&j->owed.lock);
	return n;
}

int journal_sync(struct journal *j, struct journal_pos *ret_synced)
{
	int fds[RETIRED_MAX + 1], n, r = 0, one;
	struct journal_pos end;
	int dir;

	n = take_debt(j, fds, &dir, &end, &r);
	one = n ? journal_check_place(j) : 0;
	if (one < 0)
		journal_abandon(j, end.segment);
	r = r < 0 ? r : one;
	for (int i = 0; i < n; i++) {
		one = sync_and_close(fds[i]);
		/* The kernel reports a page it could not write once and then takes it for clean: what else goes
		 * into that file would be called synced and might follow a hole. */
		if (one < 0)
			journal_abandon(j, end.segment);
		r = r < 0 ? r : one;
	}
	if (dir >= 0) {
		one = fsync(dir) < 0 ? -errno : 0;
		close(dir);
		r = r < 0 ? r : one;
		if (one < 0) {
			pthread_mutex_lock(&j->owed.lock);
			j->owed.dir = true;
			pthread_mutex_unlock(&j->owed.lock);
		}
	}
	if (ret_synced)
		*ret_synced = end;
	return r;
}

bool journal_needs_sync(struct journal *j)
{
	bool needs;

	pthread_mutex_lock(&j->owed.lock);
	needs = j->owed.file || j->owed.dir || j->owed.nretired || j->owed.lost;
	pthread_mutex_unlock(&j->owed.lock);
	return needs;
}

/* -- growing ----------------------------------------------------------------------------------- */

/* Writing over blocks that are there changes no metadata, so a sync has half as much to write. A burst outruns this
 * and makes the file longer by itself, which is as good for large writes. */
static bool plan_growth(struct journal *j, int *ret_fd, uint64_t *ret_from)
{
	uint64_t end, from;
	bool grow;

	pthread_mutex_lock(&j->owed.lock);
	end = MAX(j->owed.end.offset, j->owed.reserved);
	from = j->owed.zeroed > end ? j->owed.zeroed : (end + PAGE - 1) / PAGE * PAGE;
	grow = from < end + GROW_AT && from + GROW_STEP <= LIMIT_SEGMENT && end < j->owed.zeroed + GROW_STEP;
	/* Zeros are not announced, so a file that a burst has outgrown gets them again at a quiet moment. */
	if (!grow && end > j->owed.zeroed)
		j->owed.zeroed = end;
	*ret_fd = grow ? fcntl(j->fd, F_DUPFD_CLOEXEC, 0) : -1;
	grow = grow && *ret_fd >= 0;
	j->owed.zeroing = grow ? from : 0;
	pthread_mutex_unlock(&j->owed.lock);
	*ret_from = from;
	return grow;
}

void journal_grow(struct journal *j)
{
	static const char zeros[GROW_STEP / 4];
	uint64_t from, at;
	int fd, r = 0;

	if (!plan_growth(j, &fd, &from))
		return;
	for (at = from; at < from + GROW_STEP && r == 0; at += sizeof zeros)
		r = fs_write_all_at(fd, zeros, sizeof zeros, at);
	close(fd);
	pthread_mutex_lock(&j->owed.lock);
	/* 0: it is another segment by now. */
	if (j->owed.zeroing == from && r == 0)
		j->owed.zeroed = at;
	j->owed.zeroing = 0;
	pthread_mutex_unlock(&j->owed.lock);
}

/* -- the thread -------------------------------------------------------------------------------- */

struct journal_syncer {
	struct journal *journal;
	void (*synced)(const struct journal_sync_state *s, void *arg);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool wanted, urgent, stop;
	struct journal_sync_state state;
	bool beyond_retry; /* the last sync failed and left nothing owed; the thread's own */
};

static void note_result(struct journal_syncer *s, int r, const struct journal_pos *end)
{
	char text[sizeof s->state.trouble] = "";
	bool changed;

	/* A failed fdatasync leaves nothing to try again, so the next sync succeeds at nothing: the trouble is over
	 * only when newer events are safe. */
	if (r == 0 && s->beyond_retry && journal_pos_cmp(end, &s->state.failed) <= 0)
		return;
	s->beyond_retry = r < 0 && !journal_needs_sync(s->journal);
	if (r < 0)
		snprintf(text, sizeof text,
			"the journal cannot be synced: %s; the last events may not survive a power cut", strerror(-r));
	pthread_mutex_lock(&s->lock);
	changed = strcmp(s->state.trouble, text) != 0;
	memcpy(s->state.trouble, text, sizeof text);
	if (r < 0) {
		s->state.failures++;
		s->state.failed = *end;
	} else {
		s->state.syncs++;
		s->state.synced = *end;
	}
	pthread_mutex_unlock(&s->lock);
	if (changed && r < 0)
		log_error(LOG_JOURNAL, "%s", text);
	else if (changed)
		log_info(LOG_JOURNAL, "the journal can be synced again");
}

/* Sleeps until a sync is due: at once when somebody waits for it, else a second after the last. False: stop. */
static bool wait_for_debt(struct journal_syncer *s, int64_t last_us)
{
	struct timespec until;
	int64_t due = last_us + SYNC_EVERY_MS * USEC_PER_MSEC;
	bool go_on;

	pthread_mutex_lock(&s->lock);
	while (!s->wanted && !s->stop)
		pthread_cond_wait(&s->wake, &s->lock);
	until = (struct timespec){ .tv_sec = due / USEC_PER_SEC, .tv_nsec = due % USEC_PER_SEC * 1000 };
	while (!s->urgent && !s->stop && clock_mono_us() < due)
		pthread_cond_timedwait(&s->wake, &s->lock, &until);
	go_on = !s->stop;
	s->wanted = s->urgent = false;
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static void *syncer_main(void *arg)
{
	struct journal_syncer *s = arg;
	struct journal_pos end;
	bool go_on = true;
	int64_t last = 0;
	int r;

	os_thread_name("hookd-sync");
	while (go_on) {
		go_on = wait_for_debt(s, last);
		r = journal_sync(s->journal, &end);
		last = clock_mono_us();
		note_result(s, r, &end);
		if (s->synced)
			s->synced(&s->state, s->arg);
		if (go_on)
			journal_grow(s->journal);
		/* What is still owed is retried in a second. */
		if (r < 0 && go_on)
			journal_syncer_notify(s, false);
	}
	return NULL;
}

struct journal_syncer *journal_syncer_start(struct journal *j,
	void (*synced)(const struct journal_sync_state *s, void *arg), void *arg)
{
	struct journal_syncer *s = xcalloc(1, sizeof *s);
	pthread_condattr_t attr;
	sigset_t all, old;

	s->journal = j;
	s->synced = synced;
	s->arg = arg;
	s->wanted = true; /* the new segment's name and header */
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&s->thread, NULL, syncer_main, s) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s;
}

void journal_syncer_notify(struct journal_syncer *s, bool urgent)
{
	bool wake;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	wake = !s->wanted || (urgent && !s->urgent);
	s->wanted = true;
	s->urgent |= urgent;
	if (wake)
		pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

void journal_syncer_get_state(struct journal_syncer *s, struct journal_sync_state *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->state;
	pthread_mutex_unlock(&s->lock);
}

void journal_syncer_stop(struct journal_syncer *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
}

void journal_syncer_free(struct journal_syncer *s)
{
	if (!s)
		return;
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
