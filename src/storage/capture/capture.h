/* capture: turns records into rows that people can find again.
 *
 * DESIGN (in full in docs/model.md). capture_fold() is the one way into the store: live events, replay after a crash
 * and spool pickup all come through it, in any order and any number of times. Row one is `events`, keyed by the ULID;
 * a record whose key is there already changes nothing. All other rows of a session are a fold over its events sorted
 * by (ord, id): an event that comes in order is applied at once; one that belongs earlier makes the session dirty,
 * and capture_finish() deletes its rows and applies all its events again, in order.
 *
 *   fold.c      the way in, the table of handlers, order
 *   rewind.c    dirty sessions, and rebuilding everything after a change of this code
 *   session.c   sessions, labels, parents          window.c    windows and subagents
 *   batch.c     prompts and their answers          activity.c  tool calls and other events
 *   plan.c      plans and their versions           project.c   directories and what they belong to
 *   summary.c   what is kept of inputs and outputs usage.c     tokens
 *   imported.c  history beside live events         decision.c  what hookd decided
 *   frame.c     records made elsewhere, a frame at a time
 *   memory.c    what was learned, and what was injected
 *   unlearn.c   forgetting it
 *   effort.c    tasks and efforts                 effort_gone.c  purging them
 *   purged.c    what was purged and must not be imported again
 *   aside.c     what cannot be folded
 *   stale.c     the passage of time: stuck batches, stale sessions
 *   forget.c    deleting: what the user chose, what exceeds the limits
 *   tell.c      what is new, for whoever passes it on
 *
 * Runs on the writer thread, inside its transaction. */
#ifndef HOOKD_CAPTURE_CAPTURE_H
#define HOOKD_CAPTURE_CAPTURE_H

#include "base/arena.h"
#include "event/event.h"
#include "store/store.h"

/* Raised when the fold changes, so that stores of earlier releases are refolded. */
enum { CAPTURE_VERSION = 5 };

struct capture;

struct capture *capture_new(void);
void capture_free(struct capture *c);

/* 1: new; 0: seen before; -errno: the transaction must be rolled back (and capture_forget() called). */
int capture_fold(struct capture *c, struct store *s, const struct record *r);
/* The same and capture_finish(), by itself: when the record cannot be folded and the environment is not to blame, it is
 * put aside, CAPTURE_KEPT. */
enum { CAPTURE_KEPT = WRITER_KEPT };
int capture_fold_carefully(struct capture *c, struct store *s, const struct record *r);
/* Before each commit: refolds sessions that got late events. */
int capture_finish(struct capture *c, struct store *s);
/* Whether turns or sessions have ended since this was last asked, so that there are jobs to do. */
bool capture_has_ordered(struct capture *c);
/* After a rollback: what was noted for the transaction is void. */
void capture_forget(struct capture *c);

/* -- who listens ------------------------------------------------------------------------------- */

/* An event that was folded for the first time. It is told at the end of its transaction, when everything that follows
 * from it is in the store. */
struct captured {
	int64_t session;
	const struct record *record; /* as it is stored; the rest is in the event */
	const struct event *event;
	struct arena *arena;
};

/* Told are events as they happen: no history that was imported, nothing that was read from a damaged store, and no
 * second report of the same. Everything is called on the writer thread. */
struct capture_listener {
	bool (*wants)(const struct record *r, void *arg);
	int (*tell)(struct store *s, const struct captured *what, void *arg); /* -errno: the transaction fails */
	void (*forget)(void *arg);                                            /* what was told is void */
	void *arg;
};

void capture_listen(struct capture *c, const struct capture_listener *l);
/* What is folded from now on is not new to anybody, or is again. */
void capture_hush(struct capture *c, bool hush);

/* The body of a RECORDS frame (wire.h), and the result. */
struct capture_frame {
	struct capture *capture;
	const char *purpose; /* under which the position in the file is kept */
	str body;
	int64_t fresh, known, unreadable; /* out */
};

/* A job of the writer; arg is the frame. -EBADMSG: no frame; -errno undoes all of it. */
int capture_take_frame(struct store *s, void *arg);

/* Refolds at most this many of the sessions that an import left unsettled. Returns how many are left, or -errno;
 * inside a transaction. */
int capture_refold_due(struct capture *c, struct store *s, int sessions);

/* Some rows of a rebuild, when one is due. 1: more to do; 0: nothing left; -errno. Its own
 * transactions, so that events are folded in between. */
int capture_rebuild_some(struct capture *c, struct store *s);
/* Makes one due: everything is refolded from events, and what was set aside is retried. In a transaction. */
int capture_rebuild(struct capture *c, struct store *s);
/* How many of its sessions are left (0: no rebuild is running), and out of how many. */
int capture_rebuild_left(struct store *s, int64_t *ret_left, int64_t *ret_sessions);

/* Applies the passage of time. now_us: wall clock. Inside a transaction. Returns how many rows changed. */
enum { CAPTURE_BATCH_STUCK_S = 300, CAPTURE_SESSION_STALE_S = 3600 };
int capture_complete_stale(struct store *s, int64_t now_us);

/* The memory of a project that says this already, in these words but for case and blanks: 1 and *ret; 0; -errno. The
 * text is one that was redacted. On any thread. */
int capture_find_memory(struct store *s, int64_t project, str text, str ref, str file, struct ulid *ret);

/* -- deleting ---------------------------------------------------------------------------------- */

/* What is chosen: every condition that is set must hold. Without `match` whole sessions, with it only the events
 * that hold the text (and sessions that have none left). */
struct capture_choice {
	str sessions;    /* JSON array of keys; STR_NONE: any */
	int64_t project; /* key; its worktrees as well; 0: any */
	str agent;
	int64_t before_us; /* sessions whose last event is older; 0: any */
	str match;         /* as it is in JSON text, see capture_match_text() */
	str memories;      /* ULIDs, separated by blanks: these and nothing else; STR_NONE: any of the others */
};

struct capture_count {
	int64_t sessions, events, bytes, memories, efforts;
};

/* How a text looks inside the payloads, which are JSON. */
str capture_match_text(struct arena *a, str text);

int capture_count(struct store *s, const struct capture_choice *choice, struct capture_count *ret);
/* The chosen sessions, newest first: key, agent, id, title, cwd, last_at, events chosen. */
struct query *capture_list(struct store *s, const struct capture_choice *choice, int64_t limit);

/* Deletes the selection, and records that it must not be imported again; transactions of its own. */
int capture_purge(struct capture *c, struct store *s, const struct capture_choice *choice, struct capture_count *ret);

struct capture_limits {
	int64_t days;  /* 0: forever */
	int64_t bytes; /* of the store in use */
};

/* What exceeds the limits, judged by the rows alone: completed sessions, oldest first. */
int capture_beyond(struct store *s, const struct capture_limits *limits, int64_t now_us, struct capture_count *ret);
/* Deletes some of it. 1: there is more; 0: nothing exceeds the limits; -errno. Transactions of its own. */
int capture_retain_some(struct store *s, const struct capture_limits *limits, int64_t now_us,
	struct capture_count *ret);
/* Returns free pages to the file system, some at a time. 1: there are more. */
int capture_shrink_some(struct store *s);

#endif
