/* Folding: records of journal and spool become committed rows. Runs on the writer thread.
 *
 * A batch is one transaction, with the place in the journal it reaches to. When one of its records cannot be folded
 * and it is not the environment's fault, the batch is repeated with care: each record by itself, and the bad one is
 * set aside (capture/ says how) instead of blocking everything after it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "os/os.h"
#include "store/thread.h"

enum {
	BATCH_BYTES = 8 << 20,
	WAL_FULL = 8 << 20,   /* past this it is checkpointed */
	WAL_LARGE = 64 << 20, /* past this it is truncated as well: readers have held it up */
};

static bool out_of_time(struct writer *w)
{
	bool out;

	pthread_mutex_lock(&w->lock);
	out = w->stop && clock_mono_us() > w->stop_by_us;
	pthread_mutex_unlock(&w->lock);
	return out;
}

static void count_damage(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->state.damaged++;
	pthread_mutex_unlock(&w->lock);
}

/* -- position ---------------------------------------------------------------------------------- */

static int save_position(struct writer *w)
{
	struct query *q = store_query(w->store,
		"INSERT INTO journal(segment, identity, offset) VALUES (?1, ?2, ?3) "
		"ON CONFLICT(segment) DO UPDATE SET identity = ?2, offset = ?3");

	query_bind_int(q, 1, (int64_t)w->at.segment);
	query_bind_int(q, 2, (int64_t)w->at.identity);
	query_bind_int(q, 3, (int64_t)w->at.offset);
	return query_run(q);
}

/* Where to go on in a segment: behind what was committed, if it is the same segment. */
static uint64_t load_position(struct writer *w, uint64_t segment, uint64_t identity)
{
	struct query *q = store_query(w->store, "SELECT identity, offset FROM journal WHERE segment = ?1");
	uint64_t offset = JOURNAL_FIRST_OFFSET;

	query_bind_int(q, 1, (int64_t)segment);
	if (query_step(q) == 1 && (uint64_t)query_int(q, 0) == identity)
		offset = (uint64_t)query_int(q, 1);
	query_reset(q);
	return offset;
}

static int open_reader(struct writer *w, uint64_t segment)
{
	struct stat st;
	uint64_t offset;
	_close_ int dir = -1;
	int r = w->config.journal ? journal_reader_open_held(&w->reader, w->config.journal, segment) : -ENOENT;

	if (r == -ENOENT) {
		dir = journal_dir_open(w->journal_dir, w->config.journal);
		r = dir < 0 ? -ENOENT : journal_reader_open_at(&w->reader, dir, segment);
	}
	if (r < 0)
		return r;
	offset = load_position(w, segment, w->reader.identity);
	/* A power cut may have shortened the file behind a committed position: nothing is left to
	 * fold in it then. */
	if (fstat(w->reader.fd, &st) == 0 && offset > (uint64_t)st.st_size)
		offset = (uint64_t)st.st_size;
	journal_reader_seek(&w->reader, offset);
	w->reader_open = true;
	w->unknown = false;
	w->at = (struct journal_pos){ .segment = segment, .identity = w->reader.identity, .offset = offset };
	return 0;
}

void writer_close_reader(struct writer *w)
{
	if (w->reader_open)
		journal_reader_close(&w->reader);
	w->reader_open = false;
}

/* -- folding ----------------------------------------------------------------------------------- */

struct batch {
	unsigned records, fresh, doubled, broken, spooled, kept;
	size_t bytes;
	bool careful;
};

static int fold_bytes(struct writer *w, str body, bool spooled, struct batch *b)
{
	struct record record;
	int r = record_decode(body, &record);

	if (r < 0) {
		/* The checksum held, so these are bytes somebody wrote on purpose: a newer release's.
		 * They were acknowledged, so their file is kept. */
		b->broken++;
		w->unknown |= !spooled;
		return 0;
	}
	if (spooled)
		record.marks |= EVENT_SPOOLED;
	r = w->config.fold(w->store, &record, b->careful ? WRITER_CAREFULLY : WRITER_PLAINLY, w->config.fold_arg);
	if (r < 0)
		return r;
	b->records++;
	b->spooled += spooled;
	b->bytes += body.n;
	b->fresh += r > 0;
	b->doubled += r == 0;
	b->kept += r == WRITER_KEPT;
	return 0;
}

int writer_set_full(struct writer *w, bool full)
{
	int r = w->full == full
		? 0
		: store_exec(w->store, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");

	if (r == 0)
		w->full = full;
	return r;
}

static void forget_segment(struct writer *w, uint64_t number)
{
	(void)store_do(w->store, "DELETE FROM journal WHERE segment = ?1", "i", (int64_t)number);
}

void writer_settled(struct writer *w)
{
	_cleanup_(freep) uint64_t *numbers = NULL;
	_close_ int dir = -1;
	size_t n = 0;

	w->unsynced = false;
	if (w->deleted == w->finished)
		return;
	dir = journal_dir_open(w->journal_dir, w->config.journal);
	if (dir < 0 || journal_list_at(dir, &numbers, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (numbers[i] <= w->finished && journal_delete_at(dir, numbers[i]) == 0)
			forget_segment(w, numbers[i]);
	w->deleted = w->finished;
}

static off_t wal_size(struct writer *w)
{
	char path[FS_PATH + 8];
	struct stat st;

	snprintf(path, sizeof path, "%s-wal", w->store_path);
	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* Readers in the middle of a query limit how far it gets; then the next one goes further. SQLite syncs the WAL before
 * and the file after, so what was committed is on the disk when it has come to the end. */
void writer_checkpoint(struct writer *w, bool idle)
{
	off_t size = wal_size(w);
	struct query *q;
	bool whole;

	if (!(idle && (w->unsynced || w->deleted != w->finished)) && size < WAL_FULL)
		return;
	q = store_query(w->store,
		size > WAL_LARGE ? "PRAGMA wal_checkpoint(TRUNCATE)" : "PRAGMA wal_checkpoint(PASSIVE)");
	whole = query_step(q) == 1 && query_int(q, 0) == 0 && query_int(q, 1) == query_int(q, 2);
	query_reset(q);
	if (whole)
		writer_settled(w);
	pthread_mutex_lock(&w->lock);
	w->state.checkpoints++;
	pthread_mutex_unlock(&w->lock);
}

/* A file that is about to be renamed or deleted must not be the only copy of its contents. */
static int settle_now(struct writer *w)
{
	if (w->unsynced)
		writer_checkpoint(w, true);
	return w->unsynced ? -EBUSY : 0;
}

static int commit(struct writer *w, struct batch *b)
{
	int r = w->config.finish ? w->config.finish(w->store, w->config.fold_arg) : 0;

	if (r == 0)
		r = journal_fault("commit");
	if (r == 0)
		r = store_exec(w->store, "COMMIT");
	if (r < 0)
		return r;
	w->unsynced = true;
	w->folded_us = clock_mono_us();
	pthread_mutex_lock(&w->lock);
	w->state.folded += b->fresh;
	w->state.doubled += b->doubled;
	w->state.damaged += b->broken;
	if (w->reader_open && w->at.segment >= w->first_own)
		w->state.taken += b->records - b->spooled;
	else if (w->reader_open && !b->spooled)
		w->state.replayed += b->fresh;
	w->state.commits++;
	w->state.cpu_us = os_thread_cpu_us();
	pthread_mutex_unlock(&w->lock);
	return 0;
}

/* The batch did not make it: forget it. */
static void undo(struct writer *w)
{
	store_exec(w->store, "ROLLBACK");
	if (w->config.finish)
		(void)w->config.finish(NULL, w->config.fold_arg);
}

/* It stays in the journal, which is read again from what is committed. */
static int give_up(struct writer *w, int cause)
{
	char text[320];

	snprintf(text, sizeof text,
		"events cannot be folded into the store: %.200s; they stay in the journal and are retried every second",
		store_failure(w->store, cause));
	undo(w);
	writer_set_trouble(w, text);
	writer_close_reader(w);
	return cause;
}

/* As on a disk that no longer answers. */
static void rehearse_hanging(void)
{
	if (journal_fault("hang") < 0)
		for (;;)
			pause();
}

/* 1: more may follow; 0, -EBADMSG: the segment ends here; *ret_trouble: why the transaction must be rolled back. */
static int take_batch(struct writer *w, struct batch *b, int *ret_trouble)
{
	str body = STR_NONE;
	int got = 0, r = store_exec(w->store, "BEGIN IMMEDIATE");

	rehearse_hanging();
	while (r == 0 && b->records < BATCH_RECORDS && b->bytes < BATCH_BYTES) {
		got = journal_reader_next(&w->reader, &body);
		if (got != 1)
			break;
		r = fold_bytes(w, body, false, b);
	}
	w->at.offset = w->reader.offset;
	if (r == 0 && !b->records && !b->broken)
		r = store_exec(w->store, "ROLLBACK");
	else if (r == 0 && (r = save_position(w)) == 0)
		r = commit(w, b);
	*ret_trouble = r;
	return got;
}

static void log_batch(struct writer *w, const struct batch *b)
{
	if (b->doubled)
		log_info(LOG_STORE, "Deduped %u events that were already known", b->doubled);
	if (!b->kept)
		return;
	writer_count_aside(w);
	/* Perhaps the record is not to blame. */
	writer_suspect(w);
}

/* Folds up to one batch from the open segment. 1: more may follow; 0: at its end; -EBADMSG: damaged
 * from here on (what came before is committed); other: trouble. */
static int fold_batch(struct writer *w)
{
	struct batch b = { 0 };
	struct journal_pos before = w->at;
	int r, got = take_batch(w, &b, &r);

	if (r < 0 && !store_is_environment(r)) {
		undo(w);
		w->at = before;
		journal_reader_seek(&w->reader, before.offset);
		b = (struct batch){ .careful = true };
		got = take_batch(w, &b, &r);
	}
	if (r < 0) {
		/* Waiters are given `at`: it must not cover what was not committed. */
		w->at = before;
		return give_up(w, r);
	}
	log_batch(w, &b);
	if (got >= 0)
		writer_set_trouble(w, "");
	return got;
}

/* Tells waiters how far it has come. */
static void publish(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->state.committed = w->at;
	w->published_us = clock_mono_us();
	w->state.unfolded_bytes = 0;
	if (w->has_wanted && journal_pos_cmp(&w->at, &w->wanted) >= 0) {
		w->wanted_since_us = w->wanted_wall_us = w->pending = 0;
	} else if (w->has_wanted && w->wanted.segment == w->at.segment) {
		w->state.unfolded_bytes = w->wanted.offset - w->at.offset;
	}
	w->state.oldest_unfolded_us = w->wanted_wall_us;
	pthread_cond_broadcast(&w->folded);
	pthread_mutex_unlock(&w->lock);
	if (w->config.committed)
		w->config.committed(w->config.arg);
}

/* Everything in the segment is committed: it is deleted when that is on the disk. Or it is set aside because of a
 * problem, as soon as what could be read of it is on the disk. */
static int finish_segment(struct writer *w, uint64_t number, const char *problem)
{
	_close_ int dir = -1;
	int r = problem ? settle_now(w) : 0;

	writer_close_reader(w);
	if (r < 0)
		return r;
	if (problem) {
		if (!w->unknown) /* those were counted one by one */
			count_damage(w);
		log_error(LOG_JOURNAL,
			"segment %016llx %s (byte %llu); what could be read is stored, the file is "
			"kept as %016llx.j.damaged",
			(unsigned long long)number, problem, (unsigned long long)w->at.offset,
			(unsigned long long)number);
		dir = journal_dir_open(w->journal_dir, w->config.journal);
		if (dir >= 0)
			(void)journal_quarantine_at(dir, number);
		forget_segment(w, number);
	}
	if (w->config.journal)
		journal_let_go(w->config.journal, number);
	w->finished = MAX(w->finished, number);
	return 0;
}

/* A segment that does not end behind a record was cut off in the middle of a write, or damaged. */
static void note_missing(struct writer *w, uint64_t number)
{
	uint64_t end = w->reader.offset;
	unsigned lost = journal_reader_count_lost(&w->reader), counted = 0;
	_close_ int dir = journal_dir_open(w->journal_dir, w->config.journal);

	if (dir >= 0)
		counted = journal_reader_count_short(&w->reader, dir);
	journal_reader_seek(&w->reader, end);
	lost = MAX(lost, counted);
	if (!lost)
		return;
	log_warn(LOG_JOURNAL, "segment %016llx cannot be read behind byte %llu: %u %srecords may be missing",
		(unsigned long long)number, (unsigned long long)end, lost, counted ? "" : "or more ");
	pthread_mutex_lock(&w->lock);
	w->state.missing += lost;
	pthread_mutex_unlock(&w->lock);
}

/* Folds one segment to its end. newest: it is still being written, so it is never finished, and what
 * lies behind `end` is not acknowledged yet and may be truncated away. */
static int fold_segment(struct writer *w, uint64_t number, bool newest, uint64_t end)
{
	int r = 0;

	if (!w->reader_open || w->at.segment != number) {
		writer_close_reader(w);
		r = open_reader(w, number);
		if (r == -ENODATA && !newest) {
			/* A daemon was killed, or the power was cut, before its first event. */
			w->at = (struct journal_pos){ .segment = number };
			return finish_segment(w, number, NULL);
		}
		if ((r == -EBADMSG || r == -ELOOP) && !newest) {
			w->at = (struct journal_pos){ .segment = number };
			return finish_segment(w, number, "is not a journal");
		}
		/* The newest one may not have its header yet. */
		if (r < 0)
			return r == -EBADMSG || r == -ENODATA || r == -ENOENT ? 0 : r;
	}
	w->reader.end = newest ? end : UINT64_MAX;
	while ((r = fold_batch(w)) == 1) {
		publish(w);
		if (out_of_time(w))
			return -ECANCELED;
	}
	if ((r == 0 || r == -EBADMSG) && !newest) {
		r = journal_reader_at_end(&w->reader);
		note_missing(w, number);
	}
	/* After an error nothing new is committed, and waiters keep waiting. */
	if (r == 0 || r == -EBADMSG)
		publish(w);
	if (r == -EBADMSG && !newest) {
		return finish_segment(w, number, "is damaged");
	}
	if (r == 0 && !newest)
		return finish_segment(w, number, w->unknown ? "holds records of a later release" : NULL);
	return r == -EBADMSG ? 0 : r;
}

/* The current segment does not hold what was announced. The loop goes on in another one, and then this
 * one is a closed one like any other. */
static int give_up_current(struct writer *w, const struct journal_pos *goal)
{
	char text[sizeof w->state.trouble];
	bool missing = !w->reader_open || w->at.segment != goal->segment;

	if (missing)
		snprintf(text, sizeof text,
			"segment %016llx of the journal is gone; its events are lost, the next ones go to a new one",
			(unsigned long long)goal->segment);
	else
		snprintf(text, sizeof text,
			"segment %016llx of the journal is damaged at byte %llu; the next events go to a new one",
			(unsigned long long)goal->segment, (unsigned long long)w->at.offset);
	writer_set_trouble(w, text);
	if (w->config.journal)
		journal_abandon(w->config.journal, goal->segment);
	return missing ? -ENOENT : -EBADMSG;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The segments in the directory, if it is ours, and those that may have no name there any more, each once, rising. */
static int list_segments(struct writer *w, uint64_t **ret, size_t *ret_n)
{
	uint64_t held[JOURNAL_OPEN_MAX];
	_close_ int dir = journal_dir_open(w->journal_dir, w->config.journal);
	size_t n = 0, nheld = w->config.journal ? journal_list_held(w->config.journal, held) : 0;
	int r = dir < 0 ? 0 : journal_list_at(dir, ret, &n);

	if (r == 0 && nheld) {
		*ret = xrealloc(*ret, (n + nheld) * sizeof **ret);
		memcpy(*ret + n, held, nheld * sizeof **ret);
		n += nheld;
		qsort(*ret, n, sizeof **ret, by_number);
		for (size_t i = 0, all = n; i < all; i++) {
			n = i ? n : 0;
			if (!n || (*ret)[n - 1] != (*ret)[i])
				(*ret)[n++] = (*ret)[i];
		}
	}
	*ret_n = n;
	return r;
}

static int fold_listed(struct writer *w, const struct journal_pos *goal, bool has_goal)
{
	_cleanup_(freep) uint64_t *numbers = NULL;
	size_t n = 0;
	int r = list_segments(w, &numbers, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (numbers[i] > w->finished && numbers[i] <= goal->segment)
			r = fold_segment(w, numbers[i], has_goal ? numbers[i] == goal->segment : i + 1 == n,
				goal->offset);
	return r;
}

int writer_fold_journal(struct writer *w)
{
	struct journal_pos goal = { .segment = UINT64_MAX, .offset = UINT64_MAX };
	bool has_goal;
	int r = 0;

	pthread_mutex_lock(&w->lock);
	has_goal = w->has_wanted;
	if (has_goal)
		goal = w->wanted;
	pthread_mutex_unlock(&w->lock);
	/* The open one first: its name may be gone, its records are not. */
	if (w->reader_open && has_goal && w->at.segment < goal.segment)
		r = fold_segment(w, w->at.segment, false, 0);
	if (r < 0)
		return r;
	/* The usual case: more in the segment that is open already. */
	if (w->reader_open && w->at.segment == goal.segment)
		r = fold_segment(w, goal.segment, true, goal.offset);
	else
		r = fold_listed(w, &goal, has_goal);
	if (r == 0 && has_goal && journal_pos_cmp(&w->at, &goal) < 0)
		r = give_up_current(w, &goal);
	return r;
}

/* -- spool ------------------------------------------------------------------------------------- */

/* The records of one spool file; trouble with the store goes to *ret_store. Files are renamed into
 * place whole, so one that holds none, or ends within one, or holds one of a later release, is
 * -EBADMSG as well. */
static int fold_spool_records(struct writer *w, const char *path, struct batch *b, int *ret_store)
{
	struct journal_reader reader;
	unsigned broken = b->broken, records = 0;
	struct stat st = { 0 };
	str body;
	int got = journal_reader_open(&reader, path);

	if (got < 0)
		return got == -ENODATA ? -EBADMSG : got;
	while (*ret_store == 0 && (got = journal_reader_next(&reader, &body)) == 1) {
		*ret_store = fold_bytes(w, body, true, b);
		records++;
	}
	if (got == 0 &&
		(fstat(reader.fd, &st) < 0 || !records || b->broken > broken || (uint64_t)st.st_size != reader.offset ||
			spool_count_short(&reader, records)))
		got = -EBADMSG;
	b->broken = broken;
	journal_reader_close(&reader);
	return got;
}

/* Reads one spool file into the current transaction. 1: done, delete after commit; 0: leave it. */
static int fold_spool_file(struct writer *w, const char *path, struct batch *b)
{
	char aside[FS_PATH + 16];
	int trouble = 0, r = fold_spool_records(w, path, b, &trouble);

	if (trouble < 0)
		return trouble;
	if (r == 0)
		return 1;
	/* It was renamed into place whole, so one that is empty has lost what it held. */
	if (r != -EBADMSG && r != -ENODATA)
		return 0;
	snprintf(aside, sizeof aside, "%s.damaged", path);
	log_error(LOG_SPOOL, "%s is damaged and kept as %s", path, aside);
	b->broken++;
	(void)rename(path, aside);
	return 0;
}

enum { SPOOL_NAME = 64, SPOOL_LISTED_MAX = 1 << 16 };

struct spool_file {
	char name[SPOOL_NAME];
	bool taken; /* its records are in the transaction */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct spool_file *)a)->name, ((const struct spool_file *)b)->name);
}

/* The files of the spool, oldest first: their names are times. */
static int list_spool(const char *dir, struct spool_file **ret, size_t *ret_n)
{
	struct spool_file *files = NULL;
	size_t n = 0, cap = 0, len;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d && errno != ENOENT)
		return -errno;
	while (d && n < SPOOL_LISTED_MAX && (e = readdir(d))) {
		len = strlen(e->d_name);
		if (e->d_name[0] == '.' || len >= SPOOL_NAME || len < 3 || strcmp(e->d_name + len - 2, ".j") != 0)
			continue;
		if (n == cap)
			files = xrealloc(files, (cap = cap ? cap * 2 : 64) * sizeof *files);
		files[n].taken = false;
		memcpy(files[n++].name, e->d_name, len + 1);
	}
	if (d)
		closedir(d);
	if (n)
		qsort(files, n, sizeof *files, by_name);
	*ret = files;
	*ret_n = n;
	return 0;
}

/* 0, or -errno of the first that could not be deleted. */
static int delete_taken(const char *dir, const struct spool_file *files, size_t n)
{
	char path[FS_PATH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (files[i].taken && fs_join(path, dir, files[i].name) == 0 && unlink(path) < 0 && errno != ENOENT &&
			r == 0)
			r = -errno;
	return r;
}

/* A transaction of spool files. Returns how many are in it, or -errno. */
static int take_spool_batch(struct writer *w, struct spool_file *files, size_t nfiles, struct batch *b)
{
	char path[FS_PATH];
	int64_t before = store_total_changes(w->store);
	unsigned n = 0;
	int r = store_exec(w->store, "BEGIN IMMEDIATE");

	for (size_t i = 0; r >= 0 && i < nfiles && n < BATCH_RECORDS && b->bytes < BATCH_BYTES; i++) {
		if (fs_join(path, w->spool_dir, files[i].name) < 0)
			continue;
		r = fold_spool_file(w, path, b);
		files[i].taken = r == 1;
		n += r == 1;
	}
	if (r >= 0)
		r = n || b->records || b->broken ? commit(w, b) : store_exec(w->store, "ROLLBACK");
	/* A commit that has nothing to write syncs nothing. */
	if (r == 0 && store_total_changes(w->store) != before)
		writer_settled(w);
	return r < 0 ? r : (int)n;
}

/* One batch of spool files. Returns how many were folded, or -errno. They are deleted afterwards, so it is synced. */
static int fold_spool_batch(struct writer *w)
{
	_cleanup_(freep) struct spool_file *files = NULL;
	char text[128];
	struct batch b = { 0 };
	size_t nfiles = 0;
	int n, r = list_spool(w->spool_dir, &files, &nfiles);

	if (r < 0 || !nfiles)
		return r;
	(void)writer_set_full(w, true);
	r = n = take_spool_batch(w, files, nfiles, &b);
	if (r < 0 && !store_is_environment(r)) {
		undo(w);
		b = (struct batch){ .careful = true };
		r = n = take_spool_batch(w, files, nfiles, &b);
	}
	(void)writer_set_full(w, false);
	if (r < 0)
		return give_up(w, r);
	log_batch(w, &b);
	writer_set_trouble(w, "");
	pthread_mutex_lock(&w->lock);
	w->state.spooled += (unsigned)n;
	pthread_mutex_unlock(&w->lock);
	if (!n)
		return 0;
	log_info(LOG_SPOOL, "%u events picked up from the spool, %u of them already known", b.records, b.doubled);
	r = delete_taken(w->spool_dir, files, nfiles);
	if (r < 0) {
		snprintf(text, sizeof text, "files in the spool cannot be deleted: %s", strerror(-r));
		writer_set_trouble(w, text);
	}
	return r < 0 ? r : n;
}

int writer_fold_whole_spool(struct writer *w)
{
	int r = w->away ? 0 : 1;

	while (r > 0)
		r = writer_adopt_stores(w) < 0 ? -EIO : fold_spool_batch(w);
	return r;
}

/* One batch per round: a spool of many thousand files must not hold up the journal, because somebody may wait for its
 * commits. */
int writer_fold_spool(struct writer *w)
{
	int r;

	/* Then the spool at that path is another's. */
	if (w->away)
		return 0;
	r = writer_adopt_stores(w);
	if (r == 0)
		r = fold_spool_batch(w);
	if (r <= 0)
		return r;
	publish(w);
	writer_notify_spool(w);
	return 0;
}
