/* journal: the queue of everything acknowledged.
 *
 * DESIGN. The loop thread appends records and answers; the writer thread reads them back from the
 * same files and folds them into the store. So the journal is the queue: what survives a crash is
 * exactly what was queued, and live folding, replay after a crash and spool pickup are one reader.
 *
 * Files: <dir>/<number>.j, 16 hex digits. A segment begins with a header (magic, version, number,
 * a random identity) and holds records: length, CRC-32C over length and body, body (event/record.c).
 *
 *   - every start opens a new segment; a segment past LIMIT_SEGMENT is closed and the next opened
 *   - numbers only rise; the identity distinguishes files with the same number, so a
 *     stored position can never make the reader skip records it has not seen
 *   - records of one loop iteration go out in one write(2); journal_flush() succeeds for all of them
 *     or for none: after a short or failed write the file is truncated back, or, if even that fails,
 *     left behind and a new segment opened; nothing more is written until one of the two worked
 *   - while events come slowly the file is longer than its records: zeros are written ahead in chunks, and a
 *     length of 0 means that nothing is there yet
 *   - a reader of the segment that is being written stops at the end it was given: what lies behind
 *     may yet be truncated away
 *   - a few zeros follow the last record in any case, and the header of a segment says how many records the one before
 *     it has: a file that was cut off is noticed, be it between two records
 *   - a bad checksum ends that segment only; the file is set aside as <number>.j.damaged, never deleted
 *   - a segment is deleted only after a checkpoint or synced commit that covers it, and never the newest one
 *   - files are opened, listed and deleted by the directory's descriptor, not by its path: somebody may move or
 *     remove the directory, and another daemon may make one there. A segment that lost its name is held open until
 *     it has been read
 *
 * The spool holds what `hookd offline` could not deliver to a daemon, one record per file, and what a daemon could not
 * write to its journal; the same format, <ulid>.j, written under another name and renamed, so that a reader sees whole
 * files only.
 *
 * Threads: struct journal belongs to the loop; readers are independent and only open files. The only calls for
 * another thread are journal_sync(), journal_grow(), journal_needs_sync() and journal_abandon(). The thread that
 * makes them is journal_syncer: a hanging disk blocks nobody else. */
#ifndef HOOKD_JOURNAL_JOURNAL_H
#define HOOKD_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macro.h"
#include "event/event.h"

/* A place in the journal: everything before it is in. */
struct journal_pos {
	uint64_t segment;
	uint64_t identity;
	uint64_t offset;
};

static inline int journal_pos_cmp(const struct journal_pos *a, const struct journal_pos *b)
{
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* -- appending (loop thread) ------------------------------------------------------------------- */

struct journal;

int journal_open(const char *dir, struct journal **ret);
/* Asked, on the loop, before a directory that was removed is made again. Without it the place is always ours. */
void journal_set_claim(struct journal *j, bool (*is_ours)(void *arg), void *arg);
void journal_free(struct journal *j);
DEFINE_FREEP(struct journal, journal_free);

/* Puts the record into the current batch and sets its order_us: the client's time, if it can be true;
 * spooled records bring theirs. -E2BIG: larger than any record may
 * be. Nothing is on disk before journal_flush(). */
int journal_add(struct journal *j, struct record *r);

/* Writes the batch. 0: all of it is in the file, *ret_end is the place behind it. -errno: none of it
 * is, and the batch is empty again. An empty batch is fine. */
int journal_flush(struct journal *j, struct journal_pos *ret_end);

/* What the last flush could not write, for spool_write_batch(). The caller releases it. */
struct buf journal_take_failed(struct journal *j);

/* Starts a new segment, so that everything up to *ret_before can be folded and its file deleted. The current batch
 * goes into the new one. -errno: the old segment stays in use. */
int journal_rotate(struct journal *j, struct journal_pos *ret_before);

/* Brings what was flushed (and closed segments, and the directory) to the disk; *ret_synced (or NULL) is the place
 * up to which that was tried. From any thread; may block, so never from the loop. After a failure the next records
 * go to a new segment: the kernel forgets which pages of a file it could not write. -ESTALE: the file has no name
 * any more. */
int journal_sync(struct journal *j, struct journal_pos *ret_synced);
bool journal_needs_sync(struct journal *j);

/* Writes zeros ahead of the end of the current segment, if there are few left and there is no burst of events. As
 * journal_sync(). */
void journal_grow(struct journal *j);

/* What is appended to this segment from now on would never be read (damaged, or its file is gone): the
 * next flush goes to a new one, if it is still the current one. From any thread. */
void journal_abandon(struct journal *j, uint64_t segment);

/* The place behind the last flushed record. */
struct journal_pos journal_end(const struct journal *j);

/* -- the sync thread (sync.c) ------------------------------------------------------------------ */

/* Syncs a second after something was flushed, at once when somebody waits for it. */
struct journal_syncer;

struct journal_sync_state {
	struct journal_pos synced; /* everything up to here is on the disk, but for what lies before `failed` */
	struct journal_pos failed; /* what had not been synced before and lies before this may not be */
	uint64_t syncs, failures;
	char trouble[192]; /* why the last one failed, or "" */
};

/* synced (may be NULL) is called on the thread after each sync, whether it failed or not. */
struct journal_syncer *journal_syncer_start(struct journal *j,
	void (*synced)(const struct journal_sync_state *s, void *arg), void *arg);
/* Something was flushed; never blocks. */
void journal_syncer_notify(struct journal_syncer *s, bool urgent);
void journal_syncer_get_state(struct journal_syncer *s, struct journal_sync_state *ret);
/* Syncs a last time and ends the thread. */
void journal_syncer_stop(struct journal_syncer *s);
void journal_syncer_free(struct journal_syncer *s);

/* -- reading ----------------------------------------------------------------------------------- */

struct journal_reader {
	int fd;
	struct buf data; /* bytes read and not yet used */
	size_t used;     /* of data */
	uint64_t offset; /* in the file, of data.p[used] */
	uint64_t end;    /* nothing from here on is looked at; UINT64_MAX until the caller knows better */
	uint64_t number, identity;
	uint32_t ends; /* of the header: format.h */
};

/* Opens a file and checks its header. -ENODATA: nothing was ever written to it; -EBADMSG: not a journal (or cut inside
 * the header). */
int journal_reader_open(struct journal_reader *r, const char *path);
void journal_reader_close(struct journal_reader *r);
/* Goes on at offset, which must be a record's beginning. */
void journal_reader_seek(struct journal_reader *r, uint64_t offset);

/* Frees the room for bytes that have been read and used. */
void journal_reader_trim(struct journal_reader *r);

/* The next record's bytes, valid until the next call. 1: one record; 0: no whole record is there
 * (yet); -EBADMSG: a bad checksum or length, the segment ends here; other -errno: reading failed. */
int journal_reader_next(struct journal_reader *r, str *ret_body);
/* Where that ended with 0 or -EBADMSG, in a segment nobody writes any more: 0 when nothing follows but what a write
 * that was cut off leaves; -EBADMSG when it is damage; -errno. */
int journal_reader_at_end(struct journal_reader *r);

/* How many records may be missing where it ended so: those that can be made out behind that place, and one for each
 * place where none can. One, too, where the file was cut off behind a record. */
unsigned journal_reader_count_lost(struct journal_reader *r);

/* How many records a segment lacks by the count of the daemon that wrote it, which is in the next segment: 0 when all
 * are there, or nobody counted. Reads r's file from its beginning. */
unsigned journal_reader_count_short(struct journal_reader *r, int dir);
/* The same for a file of the spool, which has the count itself. records: how many there are. */
unsigned spool_count_short(const struct journal_reader *r, unsigned records);

enum { JOURNAL_FIRST_OFFSET = 32 };

/* The directory's descriptor, for the calls below: -ESTALE when it is not the one that j (or NULL) writes to. */
int journal_dir_open(const char *dir, struct journal *j);
int journal_list_at(int dir, uint64_t **ret_numbers, size_t *ret_n);
int journal_reader_open_at(struct journal_reader *r, int dir, uint64_t number);
int journal_delete_at(int dir, uint64_t number);
/* Sets a damaged segment aside as <number>.j.damaged. */
int journal_quarantine_at(int dir, uint64_t number);

/* The current segment, and those before it until somebody has read them and lets them go: a file may lose its name any
 * time. -ENOENT: not one of them. From any thread. */
enum { JOURNAL_HELD_MAX = 32, JOURNAL_OPEN_MAX = JOURNAL_HELD_MAX + 1 };
int journal_reader_open_held(struct journal_reader *r, struct journal *j, uint64_t number);
size_t journal_list_held(struct journal *j, uint64_t numbers[JOURNAL_OPEN_MAX]);
void journal_let_go(struct journal *j, uint64_t number);
/* The current segment has no name any more: it goes with the process. */
bool journal_is_unlinked(struct journal *j);

/* Numbers of the segments in dir, rising. The caller frees. */
int journal_list(const char *dir, uint64_t **ret_numbers, size_t *ret_n);
int journal_segment_path(char out[4096], const char *dir, uint64_t number);

/* -- spool ------------------------------------------------------------------------------------- */

/* Writes one record as a file of its own. sync: on disk when it returns. */
int spool_write(const char *dir, const struct record *r, bool sync);
/* The same for several: what a daemon could not write to its journal, or what spool_add() made. May block. */
int spool_add(struct buf *batch, const struct record *r);
int spool_write_batch(const char *dir, str batch, bool sync);
/* The same for what is left of a segment that nobody can read later. */
int spool_write_rest(const char *dir, struct journal_reader *r);
/* For who must not block: spool_write() without sync, and then this, which takes as long as the disk does. */
int spool_sync(const char *dir, const struct record *r);

/* -- shared with tests: the n-th write, sync, … fails ------------------------------------------ */

/* Makes calls fail, from the n-th on, as the plan says; see fault.c. Call it before there are threads. */
void journal_fault_plan(str plan);
/* 0, or the -errno with which this call is to fail. */
int journal_fault(const char *what);

#endif
