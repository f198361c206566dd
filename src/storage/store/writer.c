/* The writer thread: when to fold, jobs from others, and idle work. */
#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "os/os.h"
#include "store/thread.h"

enum {
	FOLD_RECORDS = 64, /* enough for a commit of their own */
	FOLD_BYTES = 256 << 10,
	GATHER_MS = 1000,            /* between commits of a burst */
	SOON_MS = 2000,              /* after the end of a turn */
	CHECKPOINT_AFTER_MS = 30000, /* of quiet */
	RETRY_MS = 1000,             /* after an error of the store */
	LAST_PATIENCE_MS = 200,      /* with readers, for the last checkpoint */
	STOP_MS = 400,               /* for what is left when asked to stop; more stays for the next start */
};

void writer_set_trouble(struct writer *w, const char *text)
{
	bool worse, better;

	pthread_mutex_lock(&w->lock);
	worse = text[0] && strcmp(w->state.trouble, text) != 0;
	better = !text[0] && w->state.trouble[0];
	snprintf(w->state.trouble, sizeof w->state.trouble, "%s", text);
	pthread_mutex_unlock(&w->lock);
	/* Not under the lock, which the loop takes: this writes to a disk that may be in trouble too. */
	if (worse)
		log_error(LOG_STORE, "%s", text);
	if (better)
		log_info(LOG_STORE, "the store works again");
}

void writer_count_aside(struct writer *w)
{
	struct store_aside aside = { 0 };

	if (store_count_aside(w->store, &aside) < 0)
		return;
	pthread_mutex_lock(&w->lock);
	w->state.aside = aside;
	pthread_mutex_unlock(&w->lock);
}

/* -- the thread -------------------------------------------------------------------------------- */

/* Milliseconds until there is something to do, -1 for "when signalled"; called under the lock. */
static int next_wait_ms(struct writer *w, bool trouble, int64_t now)
{
	int64_t wait = -1, until;

	if (w->stop || ((w->spool || w->jobs || w->idle_work || w->suspect) && !trouble))
		return 0;
	if (trouble)
		return RETRY_MS;
	if (w->wanted_since_us) {
		until = w->due_us - now;
		wait = until <= 0 ? 0 : until / USEC_PER_MSEC + 1;
	} else if (w->unsynced) {
		until = w->folded_us + CHECKPOINT_AFTER_MS * USEC_PER_MSEC - now;
		wait = until <= 0 ? 0 : until / USEC_PER_MSEC + 1;
	}
	return (int)wait;
}

/* Sleeps until there is work. False: stop was asked for. */
static bool wait_for_work(struct writer *w, bool trouble)
{
	struct timespec until;
	bool go_on;
	int ms;

	pthread_mutex_lock(&w->lock);
	ms = next_wait_ms(w, trouble, clock_mono_us());
	if (ms < 0) {
		pthread_cond_wait(&w->wake, &w->lock);
	} else if (ms > 0) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += (long)(ms % 1000) * 1000000;
		until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&w->wake, &w->lock, &until);
	}
	go_on = !w->stop;
	pthread_mutex_unlock(&w->lock);
	return go_on;
}

/* -- jobs -------------------------------------------------------------------------------------- */

static struct writer_job *take_job(struct writer *w)
{
	struct writer_job *j;

	pthread_mutex_lock(&w->lock);
	j = w->jobs;
	if (j && !(w->jobs = j->next))
		w->last_job = &w->jobs;
	pthread_mutex_unlock(&w->lock);
	return j;
}

static void finish_job(struct writer *w, struct writer_job *j, int result)
{
	bool waited_for;

	if (j->then)
		j->then(result, j->arg);
	pthread_mutex_lock(&w->lock);
	j->result = result;
	waited_for = j->waited_for;
	j->done = true;
	pthread_cond_broadcast(&w->folded);
	pthread_mutex_unlock(&w->lock);
	if (!waited_for)
		free(j);
}

/* In a transaction of its own. */
static int run_job(struct writer *w, struct writer_job *j)
{
	int64_t before = store_total_changes(w->store);
	int r = store_exec(w->store, "BEGIN IMMEDIATE"), done;

	if (r < 0)
		return r;
	r = j->run(w->store, j->arg);
	done = r < 0 ? r : store_exec(w->store, "COMMIT");
	if (done < 0) {
		store_exec(w->store, "ROLLBACK");
		return done;
	}
	if (store_total_changes(w->store) != before)
		writer_settled(w);
	return r;
}

/* With nothing left in journal and spool that belongs in the store. */
static int run_bare_job(struct writer *w, struct writer_job *j)
{
	int r = writer_fold_journal(w);

	if (r == 0)
		r = writer_fold_whole_spool(w);
	if (r == 0)
		r = j->run(w->store, j->arg);
	/* A purge must delete the journal's files as well. */
	if (r >= 0)
		writer_checkpoint(w, true);
	return r;
}

static void run_jobs(struct writer *w)
{
	struct writer_job *j;
	int r;

	while ((j = take_job(w))) {
		/* What a job does is written nowhere else. */
		if (w->store)
			(void)writer_set_full(w, true);
		r = !w->store ? -EUCLEAN : j->bare ? run_bare_job(w, j) : run_job(w, j);
		if (w->store)
			(void)writer_set_full(w, false);
		if (j->bare)
			w->suspected_us = 0; /* asked for: look now */
		if (r == -EUCLEAN && w->store && writer_is_damaged(w, r))
			(void)writer_recover(w);
		if (r >= 0 && w->config.committed)
			w->config.committed(w->config.arg);
		finish_job(w, j, r);
	}
}

/* False: the thread has ended, or is about to. */
static bool add_job(struct writer *w, struct writer_job *j)
{
	bool stop;

	pthread_mutex_lock(&w->lock);
	stop = w->stop;
	if (!stop) {
		*w->last_job = j;
		w->last_job = &j->next;
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return !stop;
}

void writer_post_then(struct writer *w, int (*run)(struct store *s, void *arg), void (*done)(int result, void *arg),
	void *arg)
{
	struct writer_job *j = xcalloc(1, sizeof *j);

	j->run = run;
	j->then = done;
	j->arg = arg;
	if (add_job(w, j))
		return;
	free(j);
	if (done)
		done(-ECANCELED, arg);
}

void writer_post(struct writer *w, int (*run)(struct store *s, void *arg), void *arg)
{
	writer_post_then(w, run, NULL, arg);
}

static int call(struct writer *w, struct writer_job *j)
{
	if (!add_job(w, j))
		return -ECANCELED;
	pthread_mutex_lock(&w->lock);
	while (!j->done)
		pthread_cond_wait(&w->folded, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return j->result;
}

int writer_call(struct writer *w, int (*run)(struct store *s, void *arg), void *arg)
{
	return call(w, &(struct writer_job){ .run = run, .arg = arg, .waited_for = true });
}

int writer_maintain(struct writer *w, int (*run)(struct store *s, void *arg), void *arg)
{
	return call(w, &(struct writer_job){ .run = run, .arg = arg, .waited_for = true, .bare = true });
}

void writer_suspect(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->suspect = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

/* The store, open and ours; folded as far as is asked for. */
static int fold_all(struct writer *w, bool fold, bool spool)
{
	int r = writer_open_store(w);

	if (r == 0 && fold)
		r = writer_fold_journal(w);
	if (r == 0 && spool)
		r = writer_fold_spool(w);
	return r;
}

/* What lies in the spool was told before what is in the journal now, as far as anybody can say. One that cannot be
 * folded does not hold up the other. */
static int fold_round(struct writer *w, bool fold, bool spool)
{
	int r = writer_open_store(w), folded;

	if (r == 0 && spool)
		r = writer_fold_spool(w);
	folded = w->store && fold ? writer_fold_journal(w) : 0;
	return folded < 0 ? folded : r;
}

/* Whatever came of it: one that failed is tried again, and nobody waits for that. */
static void note_spool_pass(struct writer *w, uint64_t asked)
{
	pthread_mutex_lock(&w->lock);
	w->spool_done = asked;
	pthread_cond_broadcast(&w->folded);
	pthread_mutex_unlock(&w->lock);
}

/* One round; < 0 is an error that is retried. */
static int do_work(struct writer *w)
{
	uint64_t asked;
	bool fold, spool, suspect, quiet, idle_work = w->idle_work;
	int64_t now = clock_mono_us();
	int r;

	(void)writer_is_away(w);
	r = writer_find_store(w);
	pthread_mutex_lock(&w->lock);
	fold = w->wanted_since_us && (w->stop || now >= w->due_us);
	quiet = !w->wanted_since_us && now - w->folded_us >= CHECKPOINT_AFTER_MS * USEC_PER_MSEC;
	spool = w->spool;
	asked = w->spool_asked;
	suspect = w->suspect;
	w->spool = w->suspect = false;
	pthread_mutex_unlock(&w->lock);
	if (r == 0)
		r = fold_round(w, fold, spool);
	if (spool)
		note_spool_pass(w, asked);
	if ((r < 0 || suspect) && writer_is_damaged(w, r)) {
		r = writer_recover(w);
		if (r == 0)
			r = fold_all(w, true, true);
	}
	run_jobs(w);
	if (w->store)
		writer_checkpoint(w, quiet);
	if (quiet && w->reader_open)
		journal_reader_trim(&w->reader);
	if (quiet && w->store)
		store_release_memory(w->store);
	w->idle_work = false;
	if (r == 0 && w->store && w->config.idle && !w->away) {
		bool more = idle_work;

		r = w->config.idle(w->store, w->config.fold_arg);
		w->idle_work = r == 1;
		if (more && r == 0) {
			writer_count_aside(w);
			/* Opening and checking takes more than the quiet time that may follow. */
			store_release_memory(w->store);
		}
		if (r < 0 && writer_is_damaged(w, r))
			r = writer_recover(w);
		r = r < 0 ? r : 0;
	}
	if (r < 0) {
		pthread_mutex_lock(&w->lock);
		w->spool |= spool;
		if (fold)
			w->due_us = 0;
		pthread_mutex_unlock(&w->lock);
	}
	return r;
}

static void *writer_main(void *arg)
{
	struct writer *w = arg;
	int r;

	os_thread_name("hookd-writer");
	/* Replay: what an earlier daemon left. */
	r = fold_all(w, true, false);
	if (r < 0 && writer_is_damaged(w, r) && writer_recover(w) == 0)
		r = fold_all(w, true, false);
	if (w->store && w->finished)
		writer_checkpoint(w, true); /* what an earlier daemon left goes at once */
	pthread_mutex_lock(&w->lock);
	w->spool = true;
	if (r < 0 && !w->wanted_since_us)
		w->wanted_since_us = clock_mono_us();
	pthread_mutex_unlock(&w->lock);
	w->idle_work = true;
	while (wait_for_work(w, r < 0))
		r = do_work(w);
	do_work(w);
	run_jobs(w); /* nobody is left waiting */
	writer_close_reader(w);
	if (w->away) {
		writer_leave(w);
	} else if (w->store) {
		/* Leaves the store as one file, even if somebody still reads it; but does not wait for that forever. */
		store_set_patience(w->store, LAST_PATIENCE_MS);
		store_exec(w->store, "PRAGMA optimize");
		writer_checkpoint(w, true);
		store_exec(w->store, "PRAGMA wal_checkpoint(TRUNCATE)");
		writer_close_store(w);
	}
	return NULL;
}

struct writer *writer_start(const struct writer_config *config)
{
	struct writer *w = xcalloc(1, sizeof *w);
	pthread_condattr_t attr;
	sigset_t all, old;

	w->config = *config;
	w->last_job = &w->jobs;
	w->spool_asked = 1; /* what earlier hooks left there */
	snprintf(w->store_path, sizeof w->store_path, "%s", config->store_path);
	snprintf(w->journal_dir, sizeof w->journal_dir, "%s", config->journal_dir);
	snprintf(w->spool_dir, sizeof w->spool_dir, "%s", config->spool_dir);
	snprintf(w->backup_dir, sizeof w->backup_dir, "%s", config->backup_dir);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_cond_init(&w->folded, &attr);
	pthread_condattr_destroy(&attr);
	if (config->journal) {
		w->wanted = journal_end(config->journal);
		w->first_own = w->wanted.segment;
		w->has_wanted = true;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&w->thread, NULL, writer_main, w) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return w;
}

void writer_stop(struct writer *w)
{
	struct timespec until;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	w->stop_by_us = clock_mono_us() + STOP_MS * USEC_PER_MSEC;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	/* A statement that takes longer than that is interrupted; the journal still has its records. */
	while (pthread_timedjoin_np(w->thread, NULL, &until) == ETIMEDOUT) {
		pthread_mutex_lock(&w->lock);
		if (w->open)
			store_interrupt(w->open);
		pthread_mutex_unlock(&w->lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
	}
	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	pthread_cond_broadcast(&w->folded);
	pthread_mutex_unlock(&w->lock);
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->folded);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* When what is announced should be folded. */
static int64_t due_for(const struct writer *w, enum writer_hurry hurry, int64_t now)
{
	const struct journal_pos *from = &w->state.committed;

	if (hurry == WRITER_NOW)
		return now;
	/* In a burst the next commit would touch the same pages once more: a moment's wait makes them fewer. */
	if (w->pending >= FOLD_RECORDS || from->segment != w->wanted.segment ||
		w->wanted.offset - from->offset >= FOLD_BYTES)
		return MAX(now, w->published_us + GATHER_MS * USEC_PER_MSEC);
	return now + MIN(hurry == WRITER_SOON ? SOON_MS : w->config.linger_ms, w->config.linger_ms) * USEC_PER_MSEC;
}

void writer_notify(struct writer *w, struct journal_pos end, unsigned records, enum writer_hurry hurry)
{
	int64_t now = clock_mono_us(), due;
	bool wake = false;

	pthread_mutex_lock(&w->lock);
	/* A waiter may ask for less than what has been announced since. */
	if (!w->has_wanted || journal_pos_cmp(&w->wanted, &end) < 0)
		w->wanted = end;
	w->has_wanted = true;
	if (journal_pos_cmp(&w->state.committed, &end) < 0) {
		w->pending += records;
		due = due_for(w, hurry, now);
		wake = !w->wanted_since_us || (due < w->due_us && w->due_us > now);
		if (!w->wanted_since_us) {
			w->wanted_since_us = now;
			w->wanted_wall_us = clock_wall_us();
			w->due_us = due;
		}
		w->due_us = MIN(w->due_us, due);
	}
	if (wake)
		pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void writer_notify_spool(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->spool = true;
	w->spool_asked++;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

int writer_wait(struct writer *w, struct journal_pos end, int timeout_ms)
{
	struct timespec until;
	uint64_t asked;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	writer_notify(w, end, 0, WRITER_NOW);
	pthread_mutex_lock(&w->lock);
	asked = w->spool_asked;
	while ((journal_pos_cmp(&w->state.committed, &end) < 0 || w->spool_done < asked) && r == 0 && !w->stopped)
		r = pthread_cond_timedwait(&w->folded, &w->lock, &until);
	r = journal_pos_cmp(&w->state.committed, &end) >= 0 ? 0 : w->stopped ? -ECANCELED : -ETIMEDOUT;
	pthread_mutex_unlock(&w->lock);
	return r;
}

void writer_get_state(struct writer *w, struct writer_state *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = w->state;
	ret->oldest_unfolded_us = w->wanted_wall_us;
	pthread_mutex_unlock(&w->lock);
}
