/* store: the SQLite database, behind one rule.
 *
 * DESIGN. Exactly one connection, in the writer thread of the daemon, ever writes or checkpoints
 * (SQLite before 3.51.3 can damage a WAL database when two do); everybody else opens it read-only.
 * The writer reads records from the journal and the spool, folds them through a callback (capture/)
 * and commits in batches with synchronous=NORMAL: what a power cut takes back is in the journal, and the
 * position goes back with it. What is nowhere else (the spool, jobs) is committed with FULL. A segment is
 * deleted after a checkpoint, or such a commit, that covers it.
 *
 *   loop ──mark──▶ writer: journal ─▶ fold ─▶ COMMIT (rows + journal position) … checkpoint ─▶ delete segments
 *                     └──▶ whoever waits: "everything up to this mark is committed"
 *
 * Migrations are numbered SQL files compiled in; before the first one that changes an existing
 * store a copy is taken with SQLite's backup call, and each runs in one transaction with its number.
 * A store from a newer release is refused, not touched.
 *
 *   store.c    opening, migrating, querying        writer.c   the thread and its jobs
 *   fold.c     journal and spool in, rows out      payload.c  payloads as they are stored
 *   backup.c   copies: backup, restore             recover.c  repairing a store that is damaged or gone
 *   salvage.c  what can be read of a damaged one   carve.c    the same from bare pages
 *   readers.c  read-only handles for workers
 *   cache.c    databases that can be made again, with a schema of their own
 *   remains.c  events whose rows are gone, as far as other tables tell of them
 *   adopt.c    stores whose directory was removed: left in the spool, taken in by the next daemon
 *   tools.c    tools that rows know by a number
 *
 * Same-layer use: store reads journal/. */
#ifndef HOOKD_STORE_STORE_H
#define HOOKD_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"
#include "event/event.h"
#include "journal/journal.h"

struct store;

enum store_mode {
	STORE_READ,  /* read-only; any thread, one handle per thread */
	STORE_WRITE, /* the writer thread; migrates */
};

/* err says in words what is wrong and what to do: -EUCLEAN damaged, -EPROTONOSUPPORT newer release,
 * -EMEDIUMTYPE another application's database, -ENOENT no store yet (STORE_READ). backups is the directory for
 * the copy taken before a migration. */
int store_open(const char *path, enum store_mode mode, const char *backups, struct store **ret, struct err *err);
void store_close(struct store *s);
DEFINE_FREEP(struct store, store_close);
/* The same, and nothing at its path is touched: the WAL there may be another's. */
void store_abandon(struct store *s);

int store_schema_version(void);

/* Gives back the cache of pages, and what else is unused; for a quiet moment. */
void store_release_memory(struct store *s);
/* Interrupts the running statement, which then gives -ECANCELED. From any thread, as long as the store is open. */
void store_interrupt(struct store *s);
/* From now on, statements end with -ECANCELED past this time on the monotonic clock (0: never) or when the flag is
 * set (NULL: there is none). */
void store_limit(struct store *s, int64_t deadline_us, const _Atomic bool *cancelled);
/* How long to wait for somebody else's lock. */
void store_set_patience(struct store *s, int ms);

/* -- queries ----------------------------------------------------------------------------------- */

/* A prepared statement, kept by the store under its SQL text (which must be a literal or live as
 * long as the store). Bind from 1 on, step, read columns from 0 on, and reset; store_query() resets
 * by itself. Columns are valid until the next step. */
struct query;

struct query *store_query(struct store *s, const char *sql);
void query_bind_int(struct query *q, int at, int64_t value);
void query_bind_str(struct query *q, int at, str value); /* STR_NONE is NULL */
void query_bind_blob(struct query *q, int at, const void *p, size_t n);
void query_bind_null(struct query *q, int at);
/* A payload, packed if that is worth it (payload.c). SQL reads it by payload_text(x), its length by
 * payload_bytes(x). */
void query_bind_payload(struct query *q, int at, str text);

/* Payloads that are stored together, because they have much in common: those of one session. What
 * payload_block_add() gives is stored in events.payload in their place; its block is that divided by
 * PAYLOAD_BLOCK_MAX. */
enum { PAYLOAD_BLOCK_MAX = 64 };
struct payload_block {
	int64_t number; /* from 1 on */
	unsigned n;
	uint16_t sizes[PAYLOAD_BLOCK_MAX];
	struct buf texts;
};
/* False: it is full, or the text is better stored by itself. */
bool payload_block_fits(const struct payload_block *b, str text);
int64_t payload_block_add(struct payload_block *b, str text);
/* hurry: many are waiting. */
int store_write_block(struct store *s, const struct payload_block *b, bool hurry);
int store_delete_block(struct store *s, int64_t number);
/* That of the newest block; 0: there is none. */
int store_last_block(struct store *s, int64_t *ret);
/* 1: a row; 0: done; -errno: failed (-ENOSPC, -EIO, -EUCLEAN, …). */
int query_step(struct query *q);
/* Steps to the end and resets: for statements without rows. 0 or -errno. */
int query_run(struct query *q);
void query_reset(struct query *q);
int64_t query_int(struct query *q, int column);
str query_str(struct query *q, int column);
bool query_is_null(struct query *q, int column);

/* store_query() and all its bindings in one call. types has a letter per value: i int64_t, k int64_t
 * that is NULL when 0, s str, p str as query_bind_payload(), t str that is a tool, b const void * and size_t. */
struct query *store_ask(struct store *s, const char *sql, const char *types, ...);
/* The same, run to its end: 0 or -errno. */
int store_do(struct store *s, const char *sql, const char *types, ...);
/* The same for one number: 1 and *ret from the first column of the first row, 0: no row, -errno. A
 * NULL gives 0. */
int store_number(struct store *s, int64_t *ret, const char *sql, const char *types, ...);

/* tools.c: what rows have in place of a tool's name; 0: that has no number. NULL: that number is no tool's. */
int64_t store_tool_number(str name);
const char *store_tool_name(int64_t number);

int64_t store_changes(struct store *s);
/* Rows changed since the store was opened: whether a transaction had anything to write. */
int64_t store_total_changes(struct store *s);
int64_t store_last_rowid(struct store *s);

/* Runs SQL that needs no binding; for migrations and pragmas. */
int store_exec(struct store *s, const char *sql);

/* integrity_check and foreign keys; problems as lines in out. 0 when there are none, -EUCLEAN; other -errno: it cannot
 * be said (no memory, a failing disk). */
int store_check(struct store *s, struct buf *out);

/* Whether tables and indexes are what the migrations make: a flipped bit in their text is no damage to SQLite. */
int store_check_schema(struct store *s, struct buf *out);

/* The pages only, and the first problem only: a second for half a gigabyte. 0, -EUCLEAN, -errno. */
int store_quick_check(struct store *s, struct err *err);

/* Every table against its indexes, one statement each, through a handle of its own: *ret_problem says what the first
 * damaged one has. Takes as long as reading everything does. -ECANCELED: the flag was set. Any thread. */
int store_check_indexes(const char *path, const _Atomic bool *cancelled, char ret_problem[200]);

/* The text of SQLite's last error. */
const char *store_error(struct store *s);
/* Why something gave r: SQLite's own words and the statement, of the last that failed since BEGIN; else the errno's. */
const char *store_failure(struct store *s, int r);
/* A full disk, a failing one, no memory, a lock, damage: trying the same again may help, trying something else does
 * not. */
bool store_is_environment(int r);

/* Whether the open file is still the one at its path: somebody may delete or replace it any time. */
enum store_presence { STORE_PRESENT, STORE_GONE, STORE_REPLACED, STORE_WAL_GONE };
enum store_presence store_presence(struct store *s);
/* The file has no name any more, here or anywhere. Without a way to see that, one that is not at its path has none. */
bool store_is_unlinked(struct store *s);
/* The WAL at the path is the one this handle uses. */
bool store_owns_wal(struct store *s);

/* What was set aside because it could not be folded: rows of events (EVENT_UNFOLDED), and records that are not even
 * that. */
struct store_aside {
	int64_t unfolded, quarantined;
};
int store_count_aside(struct store *s, struct store_aside *ret);

/* Bytes in use, without free pages. */
int64_t store_used_bytes(struct store *s);

/* -- caches (cache.c) -------------------------------------------------------------------------- */

/* A database that can be made again, for queries as above. schema: to write it, and made when it is new; NULL: to read
 * it only. -ESTALE: it is of another version; -EUCLEAN: damaged; then whoever writes it deletes it. */
int store_open_cache(const char *path, const char *schema, int version, struct store **ret);
/* A copy of one that somebody else may be writing. */
int store_copy_cache(const char *from, int version, const char *to);

/* -- handles for workers (readers.c) ----------------------------------------------------------- */

/* Thread-safe. A handle is used by one thread at a time, between taking it and giving it back; one that gave an error
 * is closed instead. */
struct readers;

struct readers *readers_new(const char *path);
void readers_free(struct readers *r);
int readers_take(struct readers *r, struct store **ret, struct err *err);
/* The same for whoever has not waited for the writer, and can do without: a file that was just moved into place is the
 * writer's to look at first. -EAGAIN. */
int readers_try(struct readers *r, struct store **ret, struct err *err);
void readers_give_back(struct readers *r, struct store *s);
/* Closes those that were not used for a minute; call it from time to time. */
void readers_close_idle(struct readers *r);

/* -- copies (backup.c) ------------------------------------------------------------------------- */

struct store_summary {
	int version;
	int64_t bytes, events, sessions, last_us; /* last_us: of the newest event, 0 for none */
};

/* "2026-11-15T08-27-50-123Z": now, fit for a file name. */
void store_time_name(char out[64]);

/* A backup, or any store that is not in use: is it hookd's, of a release we can read, and sound? Reads all of
 * it and writes nothing. -EMEDIUMTYPE, -EPROTONOSUPPORT and -EUCLEAN as for store_open(). */
int store_inspect(const char *path, struct store_summary *ret, struct err *err);

/* A copy of a store that others may be writing: one file, checked, private, complete or absent. -EEXIST: the name is
 * taken. */
int store_backup(const char *store, const char *to, struct store_summary *ret, struct err *err);

/* Replaces the store, which nobody may have open, with a copy of `from`; the current one is kept beside it, and aside
 * is its new name ("" when there was none). Cut off anywhere, it has done nothing, or store_finish_restore() does the
 * rest; the writer calls that before it opens the store. */
int store_finish_restore(const char *store, struct err *err);
int store_restore(const char *from, const char *store, char aside[4096], struct err *err);

/* Rewrites a store that has the page size of an earlier release and replaces the old file; *s is then closed, and
 * NULL. 0 also when there was nothing to do, or no room for it: then the store stays as it is, and still works. For
 * the writer, before it reads or writes anything. */
int store_renew_pages(struct store **s, struct err *err);

/* The daily copy, dir/auto-<time>.db: made when the newest is a day old and the store has changed since, or
 * when `now`; the newest three are kept. 1: ret is a new one; 0: none is due. */
int store_backup_daily(const char *store, const char *dir, bool now, char ret[4096], struct err *err);

/* Files that hold copies of what was captured, beside the store, the journal and the spool themselves. */
enum store_copy {
	STORE_COPY_OWN = 1 << 0,  /* made by hookd without being asked: daily, before a migration */
	STORE_COPY_USER = 1 << 1, /* asked for, or set aside because of damage, restore or replacement */
};
/* Calls fn for each. dirs: store's path, backups, journal, spool. */
void store_each_copy(const char *const dirs[4], unsigned which, void (*fn)(const char *path, void *arg), void *arg);

/* The newest sound backup in dir that is not newer than this release; -ENOENT. */
int store_newest_backup(const char *dir, char ret[4096], struct store_summary *ret_summary);

/* -- recovery (salvage.c) ---------------------------------------------------------------------- */

/* A job of the writer: the report of the last recovery has been shown. */
int store_forget_recovery(struct store *s, void *arg);

/* Renames the store, its WAL and its index to <path>.<what>-<time>…; nobody may write to it any more. */
int store_set_aside(const char *path, const char *what, char ret[4096]);
/* To this name; one that was cut off is continued. */
int store_set_aside_as(const char *path, const char *name);

struct salvage {
	unsigned read, known, fresh; /* rows of events: readable, there already, put back */
	unsigned left;               /* events whose row is gone, of which something was left */
	unsigned missing;            /* and those of which only the key is known */
	bool cut;                    /* a limit of time was reached */
};

struct salvage_sink {
	int (*take)(const struct record *r, void *arg); /* 1 new, 0 known, -errno ends it */
	/* What other tables tell of an event whose row is gone. It must count only if nobody has the whole one: the
	 * journal has not been read yet. 0, -errno ends it. NULL: nobody wants it. */
	int (*leave)(const struct record *r, void *arg);
	void *arg;
};

/* Reads what can be read of a damaged store (from both ends of its events, and from between its bad pages)
 * and hands every event to the sink. Names and facts the user gave go into `into` directly. Inside the caller's
 * transaction, which take may commit and begin again. */
int store_salvage(const char *damaged, struct store *into, const struct salvage_sink *sink, struct salvage *ret);

/* Writes what an open handle sees to a file; its own may be deleted already. */
int store_rescue(struct store *s, const char *to);

/* -- the writer thread ------------------------------------------------------------------------- */

struct writer;

enum { WRITER_KEPT = 2 }; /* what fold gives for a record that was kept, not folded */

/* How a record is to be folded. */
enum writer_care {
	WRITER_PLAINLY,
	WRITER_CAREFULLY, /* by itself: see below */
	WRITER_AGAIN,     /* the same; it comes out of a damaged store, and is no news */
};

struct writer_config {
	const char *store_path, *journal_dir, *spool_dir, *backup_dir;
	struct journal *journal; /* may be NULL */
	int linger_ms;           /* how long to gather at most before a commit when nobody waits */
	/* Folds one record inside the current transaction. 1: new; 0: seen before; -errno: the batch
	 * is rolled back and, unless that is the environment's fault, repeated with care: then a record that cannot be
	 * folded is kept by itself, WRITER_KEPT, and nothing of it is left over for finish(). */
	int (*fold)(struct store *s, const struct record *r, enum writer_care care, void *arg);
	/* Before each commit; and after a rollback, with s NULL, to discard what was noted for it. */
	int (*finish)(struct store *s, void *arg);
	/* Whether what is at those paths is still ours, because somebody may move, remove or replace directories; asked
	 * in each round, on the writer thread. Away from home nothing is opened or deleted by path; what is announced
	 * is still folded, and in the end goes to the spool at the path if it would be lost. NULL: always home. */
	bool (*is_home)(void *arg);
	/* When there is nothing to fold: 1: do it again soon; 0: done; -errno. May be NULL. */
	int (*idle)(struct store *s, void *arg);
	void *fold_arg;
	/* Called on the writer thread after each commit, and after each job. */
	void (*committed)(void *arg);
	void *arg;
};

/* What the writer did, for status. Counters rise; from any thread. */
struct writer_state {
	bool open;          /* the store is open and migrated */
	bool unclean;       /* nobody closed it before it was opened */
	char trouble[320];  /* why folding is stuck, or "" */
	char recovery[400]; /* what the last recovery did, or "" */
	uint64_t folded, doubled, spooled, damaged, commits, checkpoints;
	uint64_t missing;         /* records at least that may be missing from segments that were cut off or damaged */
	uint64_t replayed;        /* new ones from segments of an earlier daemon */
	struct store_aside aside; /* in the store, from whichever daemon */
	uint64_t taken;           /* records read from the segments this daemon wrote itself */
	uint64_t unfolded_bytes;
	struct journal_pos committed;
	int64_t oldest_unfolded_us; /* wall time of the oldest record not yet committed, or 0 */
	int64_t cpu_us;
};

/* Opens nothing yet: the thread itself opens, migrates and replays, so that the daemon listens and
 * decides meanwhile. The config's strings are copied. */
struct writer *writer_start(const struct writer_config *config);
/* Commits what is there and ends the thread; waiting calls return. */
void writer_stop(struct writer *w);
/* After writer_stop(), when no thread can ask any more. */
void writer_free(struct writer *w);

/* When what was announced is to be folded. The journal keeps it anyway, so folding waits until there is more: 64
 * records, 256 KiB, or linger_ms since the first. */
enum writer_hurry {
	WRITER_LATER, /* nobody waits */
	WRITER_NOW,   /* somebody does */
	WRITER_SOON,  /* a turn has ended, and somebody may look: in two seconds */
};

/* This many more records have been written, up to end. Never blocks. */
void writer_notify(struct writer *w, struct journal_pos end, unsigned records, enum writer_hurry hurry);
/* Something may lie in the spool. */
void writer_notify_spool(struct writer *w);

/* Waits until everything up to end is committed, and what lay in the spool when that was last announced: 0,
 * -ETIMEDOUT, or -ECANCELED when the writer has been stopped. Not for the loop thread. */
int writer_wait(struct writer *w, struct journal_pos end, int timeout_ms);

/* Runs something with the store on the writer thread, in a transaction of its own (-errno rolls it back):
 * later, or at once with its result (not from the loop thread). The only way to write besides events. */
void writer_post(struct writer *w, int (*run)(struct store *s, void *arg), void *arg);
/* Later, and then done with the result on the writer thread (-ECANCELED: the writer has been stopped, run was
 * not called; done is, here). */
void writer_post_then(struct writer *w, int (*run)(struct store *s, void *arg), void (*done)(int result, void *arg),
	void *arg);
int writer_call(struct writer *w, int (*run)(struct store *s, void *arg), void *arg);
/* For what takes transactions of its own (or none, like VACUUM): runs after journal and spool have been
 * folded as far as they go. Any job that gives -EUCLEAN makes the writer check the store, and recover it if
 * it is damaged. */
int writer_maintain(struct writer *w, int (*run)(struct store *s, void *arg), void *arg);
/* A reader found damage; from any thread. The writer checks for itself. */
void writer_suspect(struct writer *w);

void writer_get_state(struct writer *w, struct writer_state *ret);

#endif
