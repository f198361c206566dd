/* How the writer looks after its store: opening it, noticing that it is damaged or gone, and rebuilding it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "store/internal.h"
#include "store/thread.h"

enum {
	SETTLE_MS = 500,
	RECOVER_EVERY_MS = 10000, /* a disk that keeps damaging stores must not be filled with them */
	REMAINS_BYTES = 4 << 20,  /* of one file in the spool; a record may make it larger */
	SUSPECT_EVERY_MS = 60000, /* a full check because of an error elsewhere */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The report of a recovery is in the store until somebody has shown it. */
static void load_recovery(struct writer *w)
{
	struct query *q = store_query(w->store, "SELECT value FROM facts WHERE name = 'recovery'");
	char text[sizeof w->state.recovery] = "";

	if (query_step(q) == 1)
		snprintf(text, sizeof text, STR_FMT, STR_ARG(query_str(q, 0)));
	query_reset(q);
	pthread_mutex_lock(&w->lock);
	memcpy(w->state.recovery, text, sizeof text);
	w->state.open = true;
	w->open = w->store;
	pthread_mutex_unlock(&w->lock);
}

static void keep_report(struct writer *w)
{
	w->owes_report = !w->store;
	if (w->store)
		(void)store_do(w->store,
			"INSERT INTO facts(name, value) VALUES ('recovery', ?1) "
			"ON CONFLICT(name) DO UPDATE SET value = ?1",
			"s", str_of(w->state.recovery));
}

int store_forget_recovery(struct store *s, void *arg)
{
	(void)arg;
	return store_do(s, "DELETE FROM facts WHERE name = 'recovery'", "");
}

void writer_forget_store(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->open = NULL;
	w->state.open = false;
	pthread_mutex_unlock(&w->lock);
	w->store = NULL;
}

void writer_close_store(struct writer *w)
{
	struct store *s = w->store;

	writer_forget_store(w);
	store_close(s);
}

bool writer_is_away(struct writer *w)
{
	w->away = w->away || (w->config.is_home && !w->config.is_home(w->config.fold_arg));
	return w->away;
}

void writer_let_settle(struct writer *w)
{
	const struct timespec pause = { .tv_nsec = SETTLE_MS * 1000000 };

	nanosleep(&pause, NULL);
	(void)writer_is_away(w);
}

static void continue_recovery(struct writer *w);
static void end_recovery(struct writer *w);

int writer_open_store(struct writer *w)
{
	struct err err = { 0 };
	bool left;
	int r;

	if (w->store)
		return 0;
	if (writer_is_away(w))
		return -ENOENT;
	left = store_was_left(w->store_path);
	continue_recovery(w);
	r = store_finish_restore(w->store_path, &err);
	if (r == 0)
		r = store_open(w->store_path, STORE_WRITE, w->backup_dir, &w->store, &err);
	if (r == 0)
		r = store_renew_pages(&w->store, &err);
	if (r == 0 && !w->store)
		r = store_open(w->store_path, STORE_WRITE, w->backup_dir, &w->store, &err);
	/* The directory may have become another's meanwhile. */
	if (r == 0 && writer_is_away(w)) {
		store_abandon(w->store);
		w->store = NULL;
		return -ENOENT;
	}
	if (r < 0) {
		writer_set_trouble(w, err.text);
		return r;
	}
	writer_set_trouble(w, "");
	w->full = true; /* as it was opened */
	(void)writer_set_full(w, false);
	pthread_mutex_lock(&w->lock);
	w->state.unclean |= left;
	pthread_mutex_unlock(&w->lock);
	if (w->owes_report)
		keep_report(w);
	load_recovery(w);
	end_recovery(w);
	writer_count_aside(w);
	return 0;
}

/* -- recovery ---------------------------------------------------------------------------------- */

/* Everything that is in the journal has to be looked at again; known events cost a look at their key. */
static void close_store(struct writer *w)
{
	writer_close_reader(w);
	writer_close_store(w);
	if (w->config.finish)
		(void)w->config.finish(NULL, w->config.fold_arg);
	pthread_mutex_lock(&w->lock);
	w->spool = true;
	w->at = (struct journal_pos){ 0 };
	w->finished = w->deleted = 0;
	w->due_us = 0;
	if (!w->wanted_since_us) {
		w->wanted_since_us = clock_mono_us();
		w->wanted_wall_us = clock_wall_us();
	}
	pthread_mutex_unlock(&w->lock);
}

void writer_report(struct writer *w, const char *text)
{
	log_warn(LOG_STORE, "%s", text);
	pthread_mutex_lock(&w->lock);
	snprintf(w->state.recovery, sizeof w->state.recovery, "%s", text);
	pthread_mutex_unlock(&w->lock);
	keep_report(w);
}

struct salvaging {
	struct writer *w;
	unsigned pending;
	struct buf remains; /* as spool_write_batch() takes them */
};

static int commit_salvaged(struct writer *w)
{
	int r = w->config.finish ? w->config.finish(w->store, w->config.fold_arg) : 0;

	w->unsynced = true;
	return r < 0 ? r : store_exec(w->store, "COMMIT");
}

static int take_salvaged(const struct record *record, void *arg)
{
	struct salvaging *s = arg;
	int r, got = s->w->config.fold(s->w->store, record, WRITER_AGAIN, s->w->config.fold_arg);

	if (got < 0 || ++s->pending < BATCH_RECORDS)
		return got;
	s->pending = 0;
	r = commit_salvaged(s->w);
	if (r == 0)
		r = store_exec(s->w->store, "BEGIN IMMEDIATE");
	return r < 0 ? r : got;
}

/* Into the spool, which is folded after the journal: whole events come first. */
static int write_remains(struct salvaging *s)
{
	int r = spool_write_batch(s->w->spool_dir, buf_str(&s->remains), true);

	buf_clear(&s->remains);
	return r;
}

static int leave_remains(const struct record *record, void *arg)
{
	struct salvaging *s = arg;

	if (spool_add(&s->remains, record) < 0)
		return 0;
	return s->remains.len < REMAINS_BYTES ? 0 : write_remains(s);
}

int writer_salvage(struct writer *w, const char *damaged, struct salvage *found)
{
	struct salvaging s = { .w = w, .remains = BUF_INIT(REMAINS_BYTES + LIMIT_RECORD + KIB(64)) };
	const struct salvage_sink sink = { .take = take_salvaged, .leave = leave_remains, .arg = &s };
	int r = store_exec(w->store, "BEGIN IMMEDIATE");

	if (r == 0)
		r = store_salvage(damaged, w->store, &sink, found);
	if (r == 0)
		r = write_remains(&s);
	buf_release(&s.remains);
	if (r == 0)
		r = commit_salvaged(w);
	if (r == 0)
		return 0;
	log_error(LOG_STORE, "not everything could be read back from %s: %s", damaged, strerror(-r));
	store_exec(w->store, "ROLLBACK");
	if (w->config.finish)
		(void)w->config.finish(NULL, w->config.fold_arg);
	return r;
}

/* The store is damaged: what there is of it is set aside, and a new one is made from the newest good backup, from what
 * can be read of the old one, and (by folding as usual) from the journal. A file that names the old one is there from
 * before the first step until after the last: a daemon that finds it goes on where the other was killed. */
static void marker_path(const struct writer *w, char out[FS_PATH + 16])
{
	snprintf(out, FS_PATH + 16, "%s.recovery", w->store_path);
}

static void rehearse_death(void)
{
	if (journal_fault("recover") < 0)
		raise(SIGKILL);
}

/* Its place is empty: nothing has been made there yet. */
static void start_from_backup(struct writer *w)
{
	char backup[FS_PATH], before[FS_PATH];
	struct store_summary summary = { 0 };
	struct err err = { 0 };

	if (access(w->store_path, F_OK) == 0 || store_newest_backup(w->backup_dir, backup, &summary) < 0)
		return;
	if (store_restore(backup, w->store_path, before, &err) < 0)
		log_error(LOG_STORE, "%s", err.text);
	else
		snprintf(w->backup_used, sizeof w->backup_used, "%.200s", base_name(backup));
}

static void continue_recovery(struct writer *w)
{
	struct buf b = BUF_INIT(FS_PATH);
	char marker[FS_PATH + 16];
	int r;

	marker_path(w, marker);
	r = fs_read_file(marker, &b);
	if (r == 0)
		snprintf(w->recovering, sizeof w->recovering, STR_FMT, STR_ARG(buf_str(&b)));
	buf_release(&b);
	if (r < 0)
		return;
	rehearse_death();
	/* The file itself is renamed last: as long as it has its name, what is there is the old one. */
	r = access(w->recovering, F_OK) < 0 ? store_set_aside_as(w->store_path, w->recovering) : 0;
	if (r < 0 && r != -ENOENT)
		log_error(LOG_STORE, "the store is damaged and cannot be renamed: %s", strerror(-r));
	rehearse_death();
	if (r == 0)
		start_from_backup(w);
	rehearse_death();
}

/* The journal may still have them. */
static void describe_losses(const struct salvage *found, char *out, size_t size)
{
	char left[56] = "", missing[56] = "";

	if (found->left)
		snprintf(left, sizeof left, ", shortened forms of %u more", found->left);
	if (found->missing)
		snprintf(missing, sizeof missing, "; %u could not be read", found->missing);
	snprintf(out, size, "%s%s", left, missing);
}

static void end_recovery(struct writer *w)
{
	char marker[FS_PATH + 16], text[sizeof w->state.recovery], losses[120];
	struct salvage found = { 0 };
	int r;

	if (!w->recovering[0])
		return;
	r = access(w->recovering, F_OK) == 0 ? writer_salvage(w, w->recovering, &found) : 0;
	rehearse_death();
	describe_losses(&found, losses, sizeof losses);
	/* No room, no memory: at the next start. */
	if (r == 0 || r == -EUCLEAN || !store_is_environment(r)) {
		snprintf(text, sizeof text,
			"the store was damaged and is kept as %.60s; the new one has %s%.60s%s%u events read from the "
			"damaged file%s%s, and what is in the journal",
			base_name(w->recovering), w->backup_used[0] ? "the backup " : "", w->backup_used,
			w->backup_used[0] ? ", " : "", found.fresh, found.cut ? " (not all, it took too long)" : "",
			losses);
		writer_report(w, text);
		writer_checkpoint(w, true); /* what was read from the old file must not depend on this one's memory */
		marker_path(w, marker);
		(void)unlink(marker);
	}
	w->recovering[0] = w->backup_used[0] = 0;
}

int writer_recover(struct writer *w)
{
	char aside[FS_PATH], marker[FS_PATH + 16], text[320], when[CLOCK_TEXT];
	int r = 0;

	if (w->away)
		return -ESTALE;
	if (w->recovered_us && clock_mono_us() - w->recovered_us < RECOVER_EVERY_MS * USEC_PER_MSEC)
		return -EUCLEAN;
	close_store(w);
	w->recovered_us = clock_mono_us();
	store_time_name(when);
	marker_path(w, marker);
	if (snprintf(aside, sizeof aside, "%s.damaged-%s", w->store_path, when) >= (int)sizeof aside)
		r = -ENAMETOOLONG;
	if (r == 0)
		r = fs_replace_file(marker, str_of(aside), true);
	if (r < 0) {
		snprintf(text, sizeof text, "the store is damaged and cannot be renamed: %s", strerror(-r));
		writer_set_trouble(w, text);
		return r;
	}
	log_error(LOG_STORE, "the store is damaged; it is kept as %s", aside);
	return writer_open_store(w);
}

/* -- a file that is no longer there ------------------------------------------------------------ */

/* A WAL is applied to whatever file it lies beside, so one that belongs to a file that is gone must go first. */
static void move_old_wal(struct writer *w, const char *to)
{
	static const char *const tails[] = { "-wal", "-shm" };
	char from[FS_PATH + 8], name[FS_PATH + 96];

	for (size_t i = 0; i < countof(tails); i++) {
		snprintf(from, sizeof from, "%s%s", w->store_path, tails[i]);
		snprintf(name, sizeof name, "%s%s", to, tails[i]);
		(void)rename(from, name);
	}
}

/* Its pages are still readable through the open descriptor: bring them home. */
static int bring_wal_home(struct writer *w)
{
	int r = store_exec(w->store, "PRAGMA wal_checkpoint(TRUNCATE)");

	close_store(w);
	if (r == 0)
		log_warn(LOG_STORE, "the WAL of the store was removed; nothing is lost");
	else
		log_error(LOG_STORE, "the WAL of the store was removed: %s", strerror(-r));
	return 0;
}

/* The open handle still reads the old file, so what it holds is saved before it is closed: to the old
 * place, or, if something else is there now, beside it. */
int writer_find_store(struct writer *w)
{
	enum store_presence is = w->store ? store_presence(w->store) : STORE_PRESENT;
	char when[CLOCK_TEXT], copy[FS_PATH + 80], text[320];
	bool gone = is == STORE_GONE, own_wal;
	int r;

	if (is != STORE_PRESENT && !w->away)
		writer_let_settle(w);
	if (is == STORE_PRESENT || w->away)
		return 0;
	if (is == STORE_WAL_GONE)
		return bring_wal_home(w);
	store_time_name(when);
	snprintf(copy, sizeof copy, "%s.replaced-%s", w->store_path, when);
	r = store_rescue(w->store, copy);
	own_wal = store_owns_wal(w->store);
	close_store(w);
	if (own_wal)
		move_old_wal(w, copy);
	if (r == 0 && gone && rename(copy, w->store_path) < 0)
		r = -errno;
	if (r < 0)
		log_error(LOG_STORE, "the store was removed and could not be saved: %s", strerror(-r));
	snprintf(text, sizeof text, "the file of the store was %s while in use; %s%.200s",
		gone ? "deleted" : "replaced",
		r < 0          ? "its contents are lost"
			: gone ? "it has been written again"
			       : "the old one is kept as ",
		r < 0 || gone ? "" : base_name(copy));
	r = writer_open_store(w);
	/* A reader that came in between may keep it from being opened at once: what happened is said all the same. */
	writer_report(w, text);
	return r;
}

/* -- is it damage? ----------------------------------------------------------------------------- */

/* The full-text index has a check of its own; integrity_check only sees its pages. */
static bool is_index_damaged(struct writer *w, struct buf *problems)
{
	int r = store_exec(w->store, "INSERT INTO words(words) VALUES ('integrity-check')");

	if (r == 0 || (store_is_environment(r) && r != -EUCLEAN))
		return false;
	buf_addf(problems, "the full-text index: %s\n", store_failure(w->store, r));
	return true;
}

/* Indexes say nothing that the tables do not: if all problems are theirs, they are built again and nothing else has to
 * go. */
static bool mend_indexes(struct writer *w, struct buf *problems)
{
	str rest = buf_str(problems), line;

	while (str_split(&rest, '\n', &line))
		if (!str_empty(str_trim(line)) && str_find(line, STR(" index ")) < 0)
			return false;
	if (store_exec(w->store, "REINDEX") < 0)
		return false;
	buf_clear(problems);
	if (store_check(w->store, problems) < 0)
		return false;
	w->unsynced = true;
	writer_report(w, "an index of the store was damaged and has been built again; nothing is missing");
	return true;
}

bool writer_is_damaged(struct writer *w, int trouble)
{
	/* These have other reasons, and end by themselves or need a person. */
	static const int others[] = { -ENOSPC, -EBUSY, -EROFS, -EACCES, -ENOMEM, -EMEDIUMTYPE, -EPROTONOSUPPORT,
		-ENOENT, -ELOOP, -ECANCELED };
	int64_t now = clock_mono_us(), pause = trouble == -EUCLEAN ? RECOVER_EVERY_MS : SUSPECT_EVERY_MS;
	struct buf problems = BUF_INIT(1 << 16);
	bool damaged;

	for (size_t i = 0; i < countof(others); i++)
		if (trouble == others[i])
			return false;
	if (!w->store)
		return trouble == -EUCLEAN;
	if (w->suspected_us && now - w->suspected_us < pause * USEC_PER_MSEC)
		return false;
	w->suspected_us = now;
	store_exec(w->store, "ROLLBACK");
	damaged = (store_check(w->store, &problems) == -EUCLEAN && !mend_indexes(w, &problems)) ||
		store_check_schema(w->store, &problems) == -EUCLEAN || is_index_damaged(w, &problems);
	if (damaged)
		log_error(LOG_STORE, "the store is damaged: " STR_FMT, STR_ARG(str_head(buf_str(&problems), 500)));
	buf_release(&problems);
	return damaged;
}
