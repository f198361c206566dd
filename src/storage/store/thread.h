/* The writer thread's own; for writer.c, fold.c and recover.c. */
#ifndef HOOKD_STORE_THREAD_H
#define HOOKD_STORE_THREAD_H

#include <pthread.h>

#include "base/fs.h"
#include "store/store.h"

enum { BATCH_RECORDS = 2048 }; /* rows in one commit at most */

struct writer {
	struct writer_config config;
	char store_path[FS_PATH], journal_dir[FS_PATH], spool_dir[FS_PATH], backup_dir[FS_PATH];
	pthread_t thread;

	/* Under lock: requests to the thread, and what it reports back. */
	pthread_mutex_t lock;
	pthread_cond_t wake, folded;
	struct journal_pos wanted;
	bool has_wanted, spool, stop, stopped, suspect;
	uint64_t spool_asked, spool_done;    /* passes over the spool: a reader waits for the last that was asked for */
	struct writer_job *jobs, **last_job; /* first in, first out */
	int64_t wanted_since_us;             /* monotonic: when the oldest unfolded mark was announced */
	int64_t due_us;                      /* monotonic: when it is to be folded, with wanted_since_us */
	unsigned pending;                    /* records announced since then */
	int64_t published_us;                /* monotonic: when a commit was last told of */
	int64_t wanted_wall_us;
	int64_t stop_by_us;
	struct writer_state state;
	struct store *open; /* the thread's store while it is open: to be interrupted */

	/* The thread's own. */
	struct store *store;
	struct journal_reader reader;       /* open on segment `at`, when reader_open */
	bool reader_open, unknown;          /* unknown: the open segment holds a record of a later release */
	struct journal_pos at;              /* folded up to here (committed or in the current batch) */
	uint64_t finished;                  /* segments up to this number are folded whole, and wait to be deleted */
	uint64_t deleted;                   /* and up to this one they are */
	bool full;                          /* the next commit is synced */
	bool unsynced;                      /* something is committed that is not on the disk yet */
	int64_t folded_us;                  /* monotonic: when something was last folded */
	uint64_t first_own;                 /* number of the first segment of this daemon */
	bool away;                          /* from home, as of this round */
	bool idle_work;                     /* the idle callback has more to do */
	char recovering[FS_PATH];           /* the damaged store that a new one is made from; "" */
	char backup_used[256];              /* with this backup, or "" */
	bool owes_report;                   /* state.recovery could not be kept: no store was open */
	int64_t recovered_us, suspected_us; /* monotonic: when last, or 0 */
};

/* Something somebody else wants done with the store. */
struct writer_job {
	struct writer_job *next;
	int (*run)(struct store *s, void *arg);
	void (*then)(int result, void *arg);
	void *arg;
	bool waited_for, done, bare; /* bare: brings its own transactions */
	int result;
};

/* writer.c */
void writer_count_aside(struct writer *w);
void writer_set_trouble(struct writer *w, const char *text);

/* fold.c */
void writer_close_reader(struct writer *w);
/* Whether commits from now on are synced: not inside a transaction. */
int writer_set_full(struct writer *w, bool full);
/* Everything committed so far is on the disk now: segments that wait for that are deleted. */
void writer_settled(struct writer *w);
/* Brings the WAL into the file, if there is a reason to; idle: nothing has been folded for a while. */
void writer_checkpoint(struct writer *w, bool idle);

/* adopt.c. Whole stores in the spool: their events become ours. 0, or -errno of the store. */
int writer_adopt_stores(struct writer *w);
/* The last of a writer that is away from home: saves what would be lost, and closes the store. */
void writer_leave(struct writer *w);

/* recover.c: reads every event of a store that nobody uses into ours. -errno: not all. */
int writer_salvage(struct writer *w, const char *path, struct salvage *ret);
/* Reports to the log, to status, and in facts, for the next notice to the user. */
void writer_report(struct writer *w, const char *text);

/* fold.c: as far as was announced. 0, or -errno for trouble that is tried again. */
int writer_fold_journal(struct writer *w);
int writer_fold_spool(struct writer *w);
/* To its end. */
int writer_fold_whole_spool(struct writer *w);

/* recover.c. Whether what is at the paths is no longer ours; once so, for good. */
bool writer_is_away(struct writer *w);
/* Something is gone. Somebody may be removing a directory file by file: a new file would be in their way, and what has
 * happened is known only when they are done. */
void writer_let_settle(struct writer *w);
/* 0 when the store is open. */
int writer_open_store(struct writer *w);
void writer_close_store(struct writer *w);
/* Without closing it. */
void writer_forget_store(struct writer *w);
/* Notices when somebody took the file away, and saves what it held. 0, or -errno. */
int writer_find_store(struct writer *w);
/* Is the store damaged? trouble: what made somebody ask, or 0. Reads all of it, though not again and again. */
bool writer_is_damaged(struct writer *w, int trouble);
/* Makes a new store; the journal has to be folded again afterwards. */
int writer_recover(struct writer *w);

#endif
