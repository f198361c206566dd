/* capture: records become rows a person can find again.
 *
 * DESIGN (docs/model.md tells it whole). capture_fold() is the one way into the store: live events,
 * replay after a crash and spool pickup all come through it, in any order and any number of times.
 * Row one is `events`, keyed by the ULID; a record whose key is there already changes nothing. All
 * other rows of a session are a fold over its events sorted by (ord, id): an event that comes in order
 * is applied at once; one that belongs earlier makes the session dirty, and capture_finish() rewinds
 * it to the batch the event falls into and applies again from there.
 *
 *   fold.c      the way in, the table of handlers, order
 *   rewind.c    dirty sessions, and rebuilding everything after a change of this code
 *   session.c   sessions, labels, parents          window.c    windows and subagents
 *   batch.c     prompts and their answers          activity.c  tool calls and other happenings
 *   plan.c      plans and their versions           project.c   directories and what they belong to
 *   summary.c   what is kept of inputs and outputs
 *   tend.c      what time does: stuck batches, stale sessions
 *
 * Runs on the writer thread, inside its transaction. */
#ifndef HOOKD_CAPTURE_CAPTURE_H
#define HOOKD_CAPTURE_CAPTURE_H

#include "event/event.h"
#include "store/store.h"

/* Raised when the fold changes, so that stores of earlier releases are folded again. */
enum { CAPTURE_VERSION = 2 };

struct capture;

struct capture *capture_new(void);
void capture_free(struct capture *c);

/* 1: new; 0: seen before; -errno: the transaction must be rolled back (and capture_forget() called). */
int capture_fold(struct capture *c, struct store *s, const struct record *r);
/* Before each commit: sessions that got late events are put right. */
int capture_finish(struct capture *c, struct store *s);
/* After a rollback: what was noted for the transaction is void. */
void capture_forget(struct capture *c);

/* Some rows of a rebuild, when one is due. 1: more to do; 0: nothing left; -errno. Its own
 * transactions, so that events are folded in between. */
int capture_rebuild_some(struct capture *c, struct store *s);

/* What time does. now_us: wall clock. Inside a transaction. Returns how many rows changed. */
enum { CAPTURE_BATCH_STUCK_S = 300, CAPTURE_SESSION_STALE_S = 3600 };
int capture_tend(struct store *s, int64_t now_us);

#endif
