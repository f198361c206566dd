/* struct journal, shared by append.c and sync.c only. */
#ifndef HOOKD_JOURNAL_INTERNAL_H
#define HOOKD_JOURNAL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/fs.h"
#include "journal/journal.h"

enum {
	RETIRED_MAX = 16,
	JOURNAL_MOMENTS = 16, /* recent milliseconds that may still get events, in parallel */
};

struct journal {
	char dir[FS_PATH];
	int fd;
	_Atomic bool astray; /* the directory is no longer at its path */
	bool (*is_ours)(void *arg);
	void *ours_arg;
	struct journal_pos end;
	struct buf batch, failed;        /* failed: what the last flush could not write */
	uint32_t batch_records, records; /* in the batch; in the current segment */
	int64_t now_us;                  /* the wall clock without its backward steps */
	int64_t step_us;                 /* the sum of those */
	struct {
		int64_t ms, last_us;
	} moments[JOURNAL_MOMENTS]; /* the last place given out in a client's millisecond */
	bool torn;                  /* bytes behind `end` that could not be taken away */
	_Atomic uint64_t abandoned; /* number of a segment that must not be written any more */
	/* What still has to be synced. The loop only records it here; the caller of journal_sync() does it, because a
	 * sync may take longer than any hook may wait. */
	struct {
		pthread_mutex_t lock;
		bool file, dir;
		bool lost;                /* a closed segment could not wait for its sync any longer */
		struct journal_pos end;   /* of what was flushed */
		int retired[RETIRED_MAX]; /* file descriptors of closed segments, not yet synced */
		int nretired;
		/* Zeros ahead of the end of the current segment; see journal_grow(). */
		uint64_t zeroed;   /* they reach to here */
		uint64_t zeroing;  /* being written now; 0: none are */
		uint64_t reserved; /* up to here the loop may be writing records: no zeros before it */
		int dir_fd;
		dev_t dev; /* of the directory */
		ino_t ino;
		struct {
			uint64_t number; /* 0: none */
			int fd;
		} held[JOURNAL_HELD_MAX];
		unsigned next_held;
	} owed;
};

/* read.c: fd is the reader's from now on; -1: errno says why there is none. */
int journal_reader_start(struct journal_reader *r, int fd);

/* place.c: opens the directory at its path, to be the journal's from now on. */
int journal_settle(struct journal *j);
/* 0, or -ESTALE: the directory is no longer at its path. May block. */
int journal_check_place(struct journal *j);
/* The loop leaves a segment. Under the lock. */
void journal_hold(struct journal *j, uint64_t number, int fd);

#endif
