/* A store whose directory was removed while it was in use. The daemon that has it open stops, because hooks no longer
 * reach it, and leaves a copy in the spool of whatever directory is at that path now; the daemon there, running or yet
 * to come, takes in its events as it takes in anything else it finds in the spool. Keys keep them apart from those it
 * already knows. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/ulid.h"
#include "store/internal.h"
#include "store/thread.h"

/* -- leaving ----------------------------------------------------------------------------------- */

/* The directory two levels up: nobody removes a state directory together with what holds it and wants it back. */
static bool is_wanted(const char *spool)
{
	char path[FS_PATH];
	char *slash;

	snprintf(path, sizeof path, "%s", spool);
	for (int i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		if (!slash || slash == path)
			return false;
		*slash = 0;
	}
	return access(path, W_OK) == 0;
}

/* What the journal holds and the store does not: at a stop there is no time to fold it, or the store was never
 * opened. */
static int leave_records(struct writer *w)
{
	uint64_t numbers[JOURNAL_OPEN_MAX];
	size_t n = journal_list_held(w->config.journal, numbers);
	struct journal_reader reader;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (numbers[i] <= w->finished || journal_reader_open_held(&reader, w->config.journal, numbers[i]) < 0)
			continue;
		if (numbers[i] == w->at.segment)
			journal_reader_seek(&reader, w->at.offset);
		r = spool_write_rest(w->spool_dir, &reader);
		journal_reader_close(&reader);
	}
	return r;
}

static int leave_copy(struct writer *w)
{
	struct ulid key = ulid_make();
	char id[ULID_TEXT + 1], temp[FS_PATH + 64], path[FS_PATH + 64];
	int r = is_wanted(w->spool_dir) ? fs_private_dir(w->spool_dir) : -ENOENT;

	ulid_format(&key, id);
	snprintf(temp, sizeof temp, "%s/.%s.tmp", w->spool_dir, id);
	snprintf(path, sizeof path, "%s/%s.db", w->spool_dir, id);
	if (r == 0 && w->config.journal)
		r = leave_records(w);
	if (r == 0 && w->store)
		r = store_rescue(w->store, temp);
	if (r == 0 && w->store && rename(temp, path) < 0)
		r = -errno;
	return r < 0 ? r : fs_sync_dir(w->spool_dir);
}

void writer_leave(struct writer *w)
{
	struct store *s;
	int r = 0;

	writer_let_settle(w);
	if (w->store ? store_is_unlinked(w->store) : w->config.journal && journal_is_unlinked(w->config.journal))
		r = leave_copy(w);
	if (r < 0)
		log_error(LOG_STORE, "the directory of the store was removed, and its contents could not be saved: %s",
			strerror(-r));
	s = w->store;
	writer_forget_store(w);
	if (s)
		store_abandon(s);
}

/* -- arriving ---------------------------------------------------------------------------------- */

static int adopt(struct writer *w, const char *name)
{
	char path[FS_PATH], aside[FS_PATH + 16], text[200];
	struct store_summary summary;
	struct salvage found = { 0 };
	struct err err = { 0 };
	int r = fs_join(path, w->spool_dir, name);

	if (r < 0)
		return 0;
	(void)writer_set_full(w, true);
	r = store_inspect(path, &summary, &err) == 0 ? writer_salvage(w, path, &found) : -EBADMSG;
	(void)writer_set_full(w, false);
	if (r < 0 && r != -EBADMSG)
		return r;
	snprintf(text, sizeof text,
		"the directory of the store was removed while in use; %u of its events were put back", found.fresh);
	if (r == 0 && !found.cut) {
		writer_report(w, text);
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	}
	snprintf(aside, sizeof aside, "%s.damaged", path);
	log_error(LOG_SPOOL, "%s could not be read whole and is kept as %s", path, aside);
	return rename(path, aside) < 0 ? -errno : 0;
}

int writer_adopt_stores(struct writer *w)
{
	char name[64] = "";
	struct dirent *e;
	DIR *d = opendir(w->spool_dir);

	while (d && !name[0] && (e = readdir(d))) {
		str found = str_of(e->d_name);

		if (found.p[0] != '.' && str_ends(found, STR(".db")) && found.n < sizeof name)
			memcpy(name, found.p, found.n + 1);
	}
	if (d)
		closedir(d);
	if (!name[0])
		return 0;
	/* One at a time, as with everything in the spool. */
	writer_notify_spool(w);
	return adopt(w, name);
}
