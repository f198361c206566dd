/* Copies of the store: backup, inspection, restore.
 *
 * Every copy is made by SQLite's backup call, never by reading the file: opening and closing a database by
 * other means drops the locks of everybody in the process. A copy has the journal mode of a single file, so
 * that it can be carried around and read from a place one may not write to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/internal.h"

enum {
	BACKUPS_LOOKED_AT = 64,
	DAILY_KEPT = 3,
	DAY_S = 86400,
};

#define DAILY_PREFIX "auto-"
#define MIGRATION_PREFIX "before-migration-"

void store_time_name(char out[64])
{
	clock_format(clock_wall_us(), 0, out);
	for (char *p = out; *p; p++)
		if (*p == ':' || *p == '.')
			*p = '-';
}

int64_t store_used_bytes(struct store *s)
{
	int64_t size = 0, pages = 0, unused = 0;

	if (store_number(s, &size, "PRAGMA page_size", "") < 0 ||
		store_number(s, &pages, "PRAGMA page_count", "") < 0 ||
		store_number(s, &unused, "PRAGMA freelist_count", "") < 0)
		return 0;
	return size * (pages - unused);
}

/* -- files that lie still ---------------------------------------------------------------------- */

/* As SQLite wants it in an address. */
static void add_path(struct buf *b, const char *path)
{
	for (const char *p = path; *p; p++)
		if (strchr("%?#", *p))
			buf_addf(b, "%%%02x", (unsigned char)*p);
		else
			buf_add_char(b, *p);
}

int store_open_still(const char *path, bool wal, struct store **ret)
{
	struct store *s = xcalloc(1, sizeof *s);
	struct buf address = BUF_INIT(4 * FS_PATH);
	int rc;

	store_initialize();
	s->still = true;
	s->held_fd = -1;
	snprintf(s->path, sizeof s->path, "%s", path);
	buf_add_str(&address, STR("file:"));
	add_path(&address, path);
	buf_add_str(&address, wal ? STR("?mode=ro") : STR("?mode=ro&immutable=1"));
	rc = sqlite3_open_v2(address.p, &s->db,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	buf_release(&address);
	if (rc != SQLITE_OK) {
		store_close(s);
		return store_errno(rc);
	}
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)store_add_functions(s);
	(void)store_exec(s, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
	*ret = s;
	return 0;
}

static bool has_wal(const char *path)
{
	char wal[FS_PATH + 8];
	struct stat st;

	snprintf(wal, sizeof wal, "%s-wal", path);
	return stat(wal, &st) == 0 && st.st_size > 0;
}

static int summarise(struct store *s, const char *path, struct store_summary *ret)
{
	struct stat st;
	int r = store_number(s, &ret->events, "SELECT count(*) FROM events", "");

	if (r >= 0)
		r = store_number(s, &ret->sessions, "SELECT count(*) FROM sessions", "");
	if (r >= 0)
		r = store_number(s, &ret->last_us, "SELECT max(at) FROM events", "");
	ret->bytes = stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
	return r < 0 ? r : 0;
}

/* Problems are lines; a message is one. */
static str one_line(struct buf *problems)
{
	for (size_t i = 0; i < problems->len; i++)
		if (problems->p[i] == '\n')
			problems->p[i] = ' ';
	return str_trim(str_head(buf_str(problems), 120));
}

static int inspect(struct store *s, const char *path, struct store_summary *ret, struct err *err)
{
	struct buf problems = BUF_INIT(1 << 16);
	int known = store_known_tables(s), r = 0;

	ret->version = store_version(s);
	if (known < 0 || ret->version < 0)
		return err_set(err, -EUCLEAN, "%s is not a database, or it is damaged: %s", path, store_error(s));
	if (known < 3)
		return err_set(err, -EMEDIUMTYPE, "%s is a database, but not hookd's", path);
	if (ret->version > store_schema_version())
		return err_set(err, -EPROTONOSUPPORT,
			"%s was written by a newer hookd (schema %d, this release knows %d); upgrade hookd", path,
			ret->version, store_schema_version());
	if (ret->version == 0 || store_check(s, &problems) < 0 || summarise(s, path, ret) < 0)
		r = err_set(err, -EUCLEAN, "%s is damaged: " STR_FMT, path, STR_ARG(one_line(&problems)));
	buf_release(&problems);
	return r;
}

int store_inspect(const char *path, struct store_summary *ret, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct stat st;
	int r = stat(path, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;

	*ret = (struct store_summary){ 0 };
	if (r == 0)
		r = store_open_still(path, has_wal(path), &s);
	if (r < 0)
		return err_set(err, r, r == -EINVAL ? "%s is not a file%s" : "%s cannot be read: %s", path,
			r == -EINVAL ? "" : strerror(-r));
	return inspect(s, path, ret, err);
}

/* -- making them ------------------------------------------------------------------------------- */

int store_copy_into(struct store *s, const char *path)
{
	sqlite3_backup *b;
	sqlite3 *to = NULL;
	int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (rc == SQLITE_OK) {
		chmod(path, 0600);
		b = sqlite3_backup_init(to, "main", s->db, "main");
		if (b) {
			/* All at once: one snapshot, while the writer goes on writing. */
			sqlite3_backup_step(b, -1);
			rc = sqlite3_backup_finish(b);
		} else {
			rc = sqlite3_errcode(to);
		}
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	sqlite3_close(to);
	if (rc != SQLITE_OK)
		unlink(path);
	return store_errno(rc);
}

static int sync_parent(const char *path)
{
	char dir[FS_PATH];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof dir, "%.*s", slash > path ? (int)(slash - path) : 1, path);
	return fs_sync_dir(dir);
}

/* Copies, and checks the copy through a new connection, which has nothing in its cache. */
static int copy_and_check(struct store *s, const char *temp, struct store_summary *ret, struct err *err)
{
	int r;

	unlink(temp);
	r = store_copy_into(s, temp);
	if (r < 0)
		return err_set(err, r, "%s cannot be written: %s", temp, strerror(-r));
	r = store_inspect(temp, ret, err);
	if (r < 0)
		unlink(temp);
	return r;
}

int store_backup(const char *store, const char *to, struct store_summary *ret, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	char temp[FS_PATH];
	int r;

	if (access(to, F_OK) == 0)
		return err_set(err, -EEXIST, "%s already exists; choose another name", to);
	if (snprintf(temp, sizeof temp, "%s.part", to) >= (int)sizeof temp)
		return err_set(err, -ENAMETOOLONG, "the name of the backup is too long");
	r = store_open(store, STORE_READ, NULL, &s, err);
	if (r == 0)
		r = copy_and_check(s, temp, ret, err);
	if (r < 0)
		return r;
	/* Not rename(): what came to have that name meanwhile is somebody's. */
	r = link(temp, to) == 0 ? unlink(temp) : errno == EEXIST ? -1 : rename(temp, to);
	if (r < 0) {
		r = err_set(err, -errno, "%s cannot be put in place: %s", to, strerror(errno));
		unlink(temp);
		return r;
	}
	return sync_parent(to);
}

/* -- restoring --------------------------------------------------------------------------------- */

/* A restore renames several files. It is all or nothing because the new store is complete, on the disk, before a
 * marker says so; from then on whoever opens the store finishes it first. Without the marker nothing has changed. */
static void restore_names(const char *store, char temp[FS_PATH + 32], char marker[FS_PATH + 32])
{
	snprintf(temp, FS_PATH + 32, "%s.restoring", store);
	snprintf(marker, FS_PATH + 32, "%s.restore", store);
}

static void drop_temp(const char *temp)
{
	char journal[FS_PATH + 48];

	snprintf(journal, sizeof journal, "%s-journal", temp);
	unlink(temp);
	unlink(journal);
}

int store_finish_restore(const char *store, struct err *err)
{
	char temp[FS_PATH + 32], marker[FS_PATH + 32], aside[FS_PATH];
	struct buf b = BUF_INIT(FS_PATH);
	int r;

	restore_names(store, temp, marker);
	r = fs_read_file(marker, &b);
	if (r == 0)
		snprintf(aside, sizeof aside, STR_FMT, STR_ARG(buf_str(&b)));
	buf_release(&b);
	if (r < 0) {
		/* Cut off while it was copied; or another rewrite of the store was (store_renew_pages()). */
		if (r == -ENOENT) {
			drop_temp(temp);
			snprintf(temp, sizeof temp, "%s.renewing", store);
			drop_temp(temp);
		}
		return r == -ENOENT ? 0 : err_set(err, r, "%s cannot be read: %s", marker, strerror(-r));
	}
	store_rehearse_death();
	if (access(temp, F_OK) == 0) {
		r = store_set_aside_as(store, aside);
		if (r < 0 && r != -ENOENT)
			return err_set(err, r, "the current store cannot be renamed: %s", strerror(-r));
		store_rehearse_death();
		if (rename(temp, store) < 0)
			return err_set(err, -errno, "the backup cannot be put in place: %s; the current store is %s",
				strerror(errno), aside);
	}
	r = sync_parent(store);
	store_rehearse_death();
	if (r == 0 && unlink(marker) < 0)
		r = -errno;
	return r < 0 ? r : sync_parent(store);
}

int store_restore(const char *from, const char *store, char aside[4096], struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct store_summary summary, copied;
	char temp[FS_PATH + 32], marker[FS_PATH + 32], when[CLOCK_TEXT];
	int r = store_finish_restore(store, err);

	aside[0] = 0;
	restore_names(store, temp, marker);
	if (r == 0)
		r = store_inspect(from, &summary, err);
	store_time_name(when);
	if (r == 0 && snprintf(aside, FS_PATH, "%s.before-restore-%s", store, when) >= FS_PATH)
		r = err_set(err, -ENAMETOOLONG, "the path of the store is too long");
	if (r == 0 && (r = store_open_still(from, has_wal(from), &s)) < 0)
		err_set(err, r, "%s cannot be read: %s", from, strerror(-r));
	if (r == 0)
		r = copy_and_check(s, temp, &copied, err);
	if (r == 0 && (r = sync_parent(store)) == 0 && (r = fs_replace_file(marker, str_of(aside), true)) < 0)
		err_set(err, r, "%s cannot be written: %s", marker, strerror(-r));
	if (r < 0) {
		drop_temp(temp);
		return r;
	}
	r = store_finish_restore(store, err);
	if (access(aside, F_OK) < 0)
		aside[0] = 0; /* there was none */
	return r;
}

/* -- pages of another size --------------------------------------------------------------------- */

static int sync_file(const char *path)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* A file with a WAL must not be changed for another: the WAL would be applied to that. */
static int empty_wal(struct store *s, const char *path)
{
	char name[FS_PATH + 8];
	int64_t busy = 1;

	if (store_number(s, &busy, "PRAGMA wal_checkpoint(TRUNCATE)", "") != 1 || busy)
		return -EBUSY;
	store_close(s);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s-%s", path, i ? "shm" : "wal");
		if (unlink(name) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

static int write_anew(struct store *s, const char *temp)
{
	struct query *q;
	int r = store_exec(s, "PRAGMA page_size = " STORE_PAGE_TEXT);

	unlink(temp);
	store_rehearse_death();
	q = r == 0 ? store_ask(s, "VACUUM INTO ?1", "s", str_of(temp)) : NULL;
	r = r == 0 ? query_run(q) : r;
	store_rehearse_death();
	if (r == 0)
		r = sync_file(temp);
	if (r < 0)
		unlink(temp);
	return r;
}

int store_renew_pages(struct store **s, struct err *err)
{
	char path[FS_PATH], temp[FS_PATH + 16], dir[FS_PATH];
	struct store_summary summary;
	int64_t size = 0;
	int r;

	if (store_number(*s, &size, "PRAGMA page_size", "") != 1 || size == STORE_PAGE)
		return 0;
	snprintf(path, sizeof path, "%s", (*s)->path);
	snprintf(temp, sizeof temp, "%s.renewing", path);
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
	if (fs_free_bytes(dir) < 2 * store_used_bytes(*s)) {
		log_warn(LOG_STORE, "there is no room to rewrite the store with smaller pages; it stays as it is");
		return 0;
	}
	r = write_anew(*s, temp);
	if (r == 0 && (r = store_inspect(temp, &summary, err)) < 0)
		unlink(temp);
	if (r < 0) {
		log_warn(LOG_STORE, "the store could not be rewritten with smaller pages (%s); it stays as it is",
			store_failure(*s, r));
		return 0;
	}
	r = empty_wal(*s, path);
	if (r == -EBUSY) {
		unlink(temp);
		return 0; /* somebody reads; at the next start */
	}
	*s = NULL;
	store_rehearse_death();
	if (r == 0 && rename(temp, path) < 0)
		r = -errno;
	store_rehearse_death();
	if (r < 0)
		return err_set(err, r, "the store cannot be put in place: %s", strerror(-r));
	log_info(LOG_STORE, "the store was rewritten with pages of " STORE_PAGE_TEXT " bytes");
	return sync_parent(path);
}

/* -- which one --------------------------------------------------------------------------------- */

struct candidate {
	char name[256];
	struct timespec at;
};

static int by_age(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->at.tv_sec != y->at.tv_sec)
		return x->at.tv_sec < y->at.tv_sec ? 1 : -1;
	return x->at.tv_nsec < y->at.tv_nsec ? 1 : x->at.tv_nsec > y->at.tv_nsec ? -1 : 0;
}

/* Files in dir called prefix….db, newest first. */
static size_t list_backups(const char *dir, const char *prefix, struct candidate *found, size_t max)
{
	char path[FS_PATH];
	struct dirent *e;
	struct stat st;
	size_t n = 0;
	DIR *d = opendir(dir);

	while (d && n < max && (e = readdir(d))) {
		if (!str_starts(str_of(e->d_name), str_of(prefix)) || !str_ends(str_of(e->d_name), STR(".db")) ||
			fs_join(path, dir, e->d_name) < 0)
			continue;
		if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		snprintf(found[n].name, sizeof found[n].name, "%s", e->d_name);
		found[n++].at = st.st_mtim;
	}
	if (d)
		closedir(d);
	qsort(found, n, sizeof *found, by_age);
	return n;
}

int store_newest_backup(const char *dir, char ret[4096], struct store_summary *ret_summary)
{
	_cleanup_(freep) struct candidate *found = xcalloc(BACKUPS_LOOKED_AT, sizeof *found);
	size_t n = list_backups(dir, "", found, BACKUPS_LOOKED_AT);
	struct err err = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (fs_join(ret, dir, found[i].name) < 0)
			continue;
		if (store_inspect(ret, ret_summary, &err) == 0)
			return 0;
		log_warn(LOG_STORE, "a backup cannot be used: %s", err.text);
	}
	ret[0] = 0;
	return -ENOENT;
}

/* -- the daily one ----------------------------------------------------------------------------- */

/* Two stores that hold the same newest rows are taken to be the same. */
static bool looks_same(const char *store, const char *backup)
{
	static const char sql[] =
		"SELECT coalesce(max(seq), 0) + coalesce((SELECT max(last_at) FROM sessions), 0) FROM events";
	_cleanup_(store_closep) struct store *a = NULL;
	_cleanup_(store_closep) struct store *b = NULL;
	int64_t x = 0, y = 1;
	struct err err = { 0 };

	return store_open(store, STORE_READ, NULL, &a, &err) == 0 && store_open_still(backup, false, &b) == 0 &&
		store_number(a, &x, sql, "") == 1 && store_number(b, &y, sql, "") == 1 && x == y;
}

static bool is_due(const char *store, const char *dir, const struct candidate *newest)
{
	char path[FS_PATH];

	if (clock_wall_us() / USEC_PER_SEC - newest->at.tv_sec < DAY_S)
		return false;
	return fs_join(path, dir, newest->name) < 0 || !looks_same(store, path);
}

int store_backup_daily(const char *store, const char *dir, bool now, char ret[4096], struct err *err)
{
	_cleanup_(freep) struct candidate *found = xcalloc(BACKUPS_LOOKED_AT, sizeof *found);
	struct store_summary summary;
	char when[CLOCK_TEXT], path[FS_PATH];
	size_t n = list_backups(dir, DAILY_PREFIX, found, BACKUPS_LOOKED_AT);
	int r;

	ret[0] = 0;
	if (!now && n && !is_due(store, dir, &found[0]))
		return 0;
	r = fs_private_dir(dir);
	if (r < 0)
		return err_set(err, r, "the directory %s cannot be used: %s", dir, strerror(-r));
	store_time_name(when);
	snprintf(ret, FS_PATH, "%.*s/" DAILY_PREFIX "%s.db", FS_PATH - 100, dir, when);
	r = store_backup(store, ret, &summary, err);
	if (r < 0)
		return r;
	for (size_t i = DAILY_KEPT - 1; i < n; i++)
		if (fs_join(path, dir, found[i].name) == 0)
			unlink(path);
	return 1;
}

/* -- all of them ------------------------------------------------------------------------------- */

static void each_in(const char *dir, const char *prefix, const char *tail, bool own, unsigned which,
	void (*fn)(const char *path, void *arg), void *arg)
{
	char path[FS_PATH];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		str name = str_of(e->d_name);
		bool is_own = own && (str_starts(name, STR(DAILY_PREFIX)) || str_starts(name, STR(MIGRATION_PREFIX)));

		if (e->d_name[0] == '.' || !str_starts(name, str_of(prefix)) || !str_ends(name, str_of(tail)) ||
			fs_join(path, dir, e->d_name) < 0)
			continue;
		if (which & (is_own ? STORE_COPY_OWN : STORE_COPY_USER))
			fn(path, arg);
	}
	if (d)
		closedir(d);
}

void store_each_copy(const char *const dirs[4], unsigned which, void (*fn)(const char *path, void *arg), void *arg)
{
	char dir[FS_PATH], prefix[280];
	const char *slash = strrchr(dirs[0], '/');

	snprintf(dir, sizeof dir, "%.*s", (int)(slash - dirs[0]), dirs[0]);
	snprintf(prefix, sizeof prefix, "%s.", slash + 1);
	each_in(dir, prefix, "", false, which, fn, arg);
	each_in(dirs[1], "", "", true, which, fn, arg);
	each_in(dirs[2], "", ".damaged", false, which, fn, arg);
	each_in(dirs[3], "", ".damaged", false, which, fn, arg);
}
