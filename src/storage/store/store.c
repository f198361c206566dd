/* Opening, migrating and querying. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "os/os.h"
#include "store/internal.h"
#include "store/migrations.h"

/* Larger stores that were closed in order are not read whole at each start. */
static const long long always_check_bytes = (long long)MIB(512);

int store_errno(int rc)
{
	switch (rc & 0xFF) {
	case SQLITE_OK: return 0;
	case SQLITE_FULL: return -ENOSPC;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return -EBUSY;
	case SQLITE_READONLY: return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH: return -EACCES;
	case SQLITE_CANTOPEN: return -ENOENT;
	case SQLITE_CONSTRAINT: return -EEXIST;
	case SQLITE_TOOBIG: return -E2BIG;
	case SQLITE_INTERRUPT: return -ECANCELED;
	case SQLITE_IOERR:
	case SQLITE_PROTOCOL:
	case SQLITE_NOLFS: return -EIO;
	default: return -EPROTO; /* a value or a statement it does not like */
	}
}

bool store_is_environment(int r)
{
	static const int outside[] = { -ENOSPC, -EIO, -EROFS, -ENOMEM, -EBUSY, -EUCLEAN, -EACCES, -ENOENT, -ECANCELED };

	for (size_t i = 0; i < countof(outside); i++)
		if (r == outside[i])
			return true;
	return false;
}

/* SQLite's error text is gone after the next call, and a rollback is one. */
static int note_failure(struct store *s, int rc, const char *sql)
{
	int head = (int)strcspn(sql, "(;?=\n");

	if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
		return 0;
	snprintf(s->failure, sizeof s->failure, "%s, at %.*s", sqlite3_errmsg(s->db), MIN(head, FAILURE_SQL), sql);
	return store_errno(rc);
}

const char *store_failure(struct store *s, int r)
{
	return s && s->failure[0] ? s->failure : strerror(-r);
}

const char *store_error(struct store *s)
{
	return sqlite3_errmsg(s->db);
}

int store_exec(struct store *s, const char *sql)
{
	int rc;

	if (strncmp(sql, "BEGIN", 5) == 0)
		s->failure[0] = 0;
	rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	/* A rollback where nothing is left to roll back says nothing about why. */
	return strcmp(sql, "ROLLBACK") == 0 ? store_errno(rc) : note_failure(s, rc, sql);
}

/* Nobody may be stepping one. */
static void drop_queries(struct store *s)
{
	for (size_t i = 0; i < QUERIES_MAX; i++)
		sqlite3_finalize(s->queries[i].stmt);
	memset(s->queries, 0, sizeof s->queries);
	s->nqueries = 0;
}

void store_release_memory(struct store *s)
{
	drop_queries(s);
	sqlite3_db_release_memory(s->db);
	packer_trim(s->packer);
	os_give_memory_back();
}

void store_interrupt(struct store *s)
{
	sqlite3_interrupt(s->db);
}

static int is_over(void *arg)
{
	const struct store *s = arg;

	return (s->cancelled && *s->cancelled) || (s->deadline_us && clock_mono_us() > s->deadline_us);
}

void store_limit(struct store *s, int64_t deadline_us, const _Atomic bool *cancelled)
{
	enum { STEPS = 10000 }; /* of SQLite's machine between two looks: well below a millisecond */

	s->deadline_us = deadline_us;
	s->cancelled = cancelled;
	sqlite3_progress_handler(s->db, deadline_us || cancelled ? STEPS : 0, is_over, s);
}

void store_set_patience(struct store *s, int ms)
{
	sqlite3_busy_timeout(s->db, ms);
}

int store_schema_version(void)
{
	return (int)migrations_count;
}

/* -- migrations -------------------------------------------------------------------------------- */

int store_version(struct store *s)
{
	int64_t version = 0;
	int got = store_number(s, &version, "PRAGMA user_version", "");

	return got == 1 ? (int)version : got < 0 ? got : -EUCLEAN;
}

int store_known_tables(struct store *s)
{
	int64_t n = 0;
	int got = store_number(s, &n,
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND ("
		"name = 'events' AND sql LIKE '%native%payload%' OR name = 'sessions' AND sql LIKE '%native_id%' "
		"OR name = 'journal' AND sql LIKE '%identity%')",
		"");

	return got < 0 ? got : (int)n;
}

/* Without a version a store is new, and holds nothing. */
static bool is_blank(struct store *s)
{
	int64_t one;

	return store_number(s, &one, "SELECT 1 FROM sqlite_schema", "") == 0;
}

/* A consistent copy, taken by SQLite itself: the file is never opened by other means. */
static int copy_before(struct store *s, const char *dir, int version)
{
	char path[FS_PATH], when[CLOCK_TEXT];
	int r = fs_private_dir(dir);

	if (r < 0)
		return r;
	store_time_name(when);
	snprintf(path, sizeof path, "%s/before-migration-from-%d-%s.db", dir, version, when);
	return store_copy_into(s, path);
}

/* Where a test ends the process: a migration must be whole or not at all, wherever it is cut off. */
void store_rehearse_death(void)
{
	if (journal_fault("migrate") < 0)
		raise(SIGKILL);
}

static int run_statements(struct store *s, const char *sql)
{
	sqlite3_stmt *stmt;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && *sql) {
		const char *from = sql;

		store_rehearse_death();
		if (journal_fault("migrate-io") < 0)
			return -EIO;
		rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, &sql);
		if (rc == SQLITE_OK && stmt) {
			while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
				;
			rc = sqlite3_finalize(stmt);
		}
		if (rc != SQLITE_OK)
			return note_failure(s, rc, from + strspn(from, "\n"));
	}
	return 0;
}

static int migrate_one(struct store *s, size_t i)
{
	char pragma[64];
	int r = store_exec(s, "BEGIN IMMEDIATE");

	if (r == 0)
		r = run_statements(s, migrations[i].sql);
	snprintf(pragma, sizeof pragma, "PRAGMA user_version = %zu", i + 1);
	if (r == 0)
		r = run_statements(s, pragma);
	if (r == 0)
		r = run_statements(s, "COMMIT");
	store_rehearse_death();
	if (r < 0) {
		log_error(LOG_STORE, "migration %s failed: %s", migrations[i].name, store_failure(s, r));
		store_exec(s, "ROLLBACK");
	}
	return r;
}

/* A header that names an older schema than the tables have would make migrations run twice. */
static int check_before_migration(struct store *s, int version, struct err *err)
{
	struct buf problems = BUF_INIT(4096);
	int r = store_check_schema(s, &problems);

	buf_release(&problems);
	return r == -EUCLEAN ? err_set(err, r, "the store is damaged: its tables are not those of schema %d", version)
			     : 0;
}

static int migrate(struct store *s, const char *backups, int version, struct err *err)
{
	int r;

	if (version > 0 && version < (int)migrations_count) {
		r = check_before_migration(s, version, err);
		if (r < 0)
			return r;
		r = copy_before(s, backups, version);
		if (r < 0)
			return err_set(err, r,
				"no copy of the store could be made before its migration: %s; "
				"make room in %s and restart hookd",
				strerror(-r), backups);
	}
	for (size_t i = (size_t)version; i < migrations_count; i++) {
		r = migrate_one(s, i);
		if (r < 0)
			return err_set(err, r, "migration %s of the store failed (%s); the store is as it was before",
				migrations[i].name, store_failure(s, r));
	}
	return 0;
}

/* -- opening ----------------------------------------------------------------------------------- */

/* A store whose header or schema says two different things is damaged; a database in which nothing is ours belongs to
 * another application. */
static int check_ours(struct store *s, int version, struct err *err)
{
	int known = store_known_tables(s);
	bool blank = known == 0 && is_blank(s);

	if (known < 0)
		return err_set(err, known, "the store cannot be read: %s; run: hookd db check", store_error(s));
	if (known == 0 && !blank)
		return err_set(err, -EMEDIUMTYPE,
			"the file is a database, but not hookd's; move it away and restart hookd");
	if (version == 0 ? known > 0 : known < 3)
		return err_set(err, -EUCLEAN, "the store is damaged: its %s; run: hookd db check",
			version == 0 ? "header has no version" : "tables are gone");
	return 0;
}

/* Checks before anything is written: a store that this release must not touch is not touched. */
static int check_version(struct store *s, enum store_mode mode, int *ret_version, struct err *err)
{
	*ret_version = store_version(s);
	if (*ret_version < 0)
		return err_set(err, *ret_version, "the store cannot be read: %s; run: hookd db check", store_error(s));
	if (*ret_version > (int)migrations_count)
		return err_set(err, -EPROTONOSUPPORT,
			"the store was written by a newer hookd (schema %d, this release knows %zu); upgrade hookd",
			*ret_version, migrations_count);
	if (mode == STORE_WRITE)
		return check_ours(s, *ret_version, err);
	if (*ret_version == 0)
		return err_set(err, -ENOENT, "there is no store yet; start hookd");
	if (*ret_version != (int)migrations_count)
		return err_set(err, -EPROTONOSUPPORT,
			"the store has schema %d and this release reads %zu; restart hookd", *ret_version,
			migrations_count);
	return 0;
}

static int configure(struct store *s, enum store_mode mode, int version)
{
	int r = store_exec(s,
		"PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON; PRAGMA cache_size = -1024;"
		"PRAGMA temp_store = MEMORY");

	if (r < 0)
		return r;
	if (mode == STORE_READ)
		return store_exec(s, "PRAGMA query_only = ON");
	/* A header that forbids writing, on a file that does not. */
	if (sqlite3_db_readonly(s->db, "main") == 1 && access(s->path, W_OK) == 0)
		return -EUCLEAN;
	/* Can only be chosen while the file is empty, and would be a write on any other. */
	if (version == 0)
		r = store_exec(s, "PRAGMA page_size = " STORE_PAGE_TEXT "; PRAGMA auto_vacuum = INCREMENTAL");
	/* Triggers keep the full-text index up to date, and this SQLite lets a trigger write to a virtual table only
	 * in a schema that is trusted. It is: its directory is private, and it is compared with what migrations make.
	 */
	if (r == 0)
		r = store_exec(s, "PRAGMA trusted_schema = ON");
	if (r == 0)
		r = store_exec(s,
			"PRAGMA cache_size = -2400; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
			"PRAGMA wal_autocheckpoint = 0;"
			"PRAGMA journal_size_limit = 4194304; PRAGMA secure_delete = ON");
	return r;
}

int store_quick_check(struct store *s, struct err *err)
{
	struct query *q = store_query(s, "PRAGMA quick_check(1)");
	int got = query_step(q), r = 0;

	if (got == 1 && !str_eq(query_str(q, 0), STR("ok")))
		r = err_set(err, -EUCLEAN, "the store is damaged: " STR_FMT, STR_ARG(str_head(query_str(q, 0), 200)));
	else if (got < 0)
		r = err_set(err, got, "the store cannot be read: %s", store_error(s));
	query_reset(q);
	return r;
}

/* 1: the next table's name. */
static int next_table(struct store *s, char name[128])
{
	struct query *q = store_ask(s,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name > ?1 AND name NOT LIKE 'sqlite_%' AND "
		"sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT 1",
		"s", str_of(name));
	int got = query_step(q);

	if (got == 1)
		snprintf(name, 128, STR_FMT, STR_ARG(query_str(q, 0)));
	query_reset(q);
	return got;
}

static int check_table(struct store *s, const char *name, char ret_problem[200])
{
	char sql[200];
	sqlite3_stmt *stmt = NULL;
	int rc;

	snprintf(sql, sizeof sql, "PRAGMA integrity_check(\"%s\")", name);
	rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0) {
		snprintf(ret_problem, 200, "%s", (const char *)sqlite3_column_text(stmt, 0));
		rc = SQLITE_CORRUPT;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : store_errno(rc);
}

int store_check_indexes(const char *path, const _Atomic bool *cancelled, char ret_problem[200])
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct err err = { 0 };
	char name[128] = "";
	int r = store_open(path, STORE_READ, NULL, &s, &err), got = 1;

	ret_problem[0] = 0;
	if (r < 0)
		return r;
	store_limit(s, 0, cancelled);
	while (r == 0 && (got = next_table(s, name)) == 1)
		r = check_table(s, name, ret_problem);
	return r < 0 ? r : got < 0 ? got : 0;
}

/* What cannot be damage of the file itself stays as it is: a full disk, somebody's lock, no permission. */
static int damage_or(struct store *s, int r)
{
	int rc = sqlite3_extended_errcode(s->db);

	/* A format this SQLite does not know is an error without a number of its own, and a header that
	 * forbids writing makes a file read-only that is not. */
	if (r == -EPROTO && rc == SQLITE_ERROR)
		return -EUCLEAN;
	if (r == -EROFS && rc == SQLITE_READONLY && access(s->path, W_OK) == 0)
		return -EUCLEAN;
	return r;
}

static void note_files(struct store *s)
{
	char wal[FS_PATH + 8];
	struct stat st;

	if (!s->ino && stat(s->path, &st) == 0) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	snprintf(wal, sizeof wal, "%s-wal", s->path);
	if (!s->wal_ino && stat(wal, &st) == 0) {
		s->wal_dev = st.st_dev;
		s->wal_ino = st.st_ino;
	}
}

static bool is_file(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

enum store_presence store_presence(struct store *s)
{
	char wal[FS_PATH + 8];

	note_files(s);
	if (!is_file(s->path, s->dev, s->ino))
		return access(s->path, F_OK) == 0 ? STORE_REPLACED : STORE_GONE;
	snprintf(wal, sizeof wal, "%s-wal", s->path);
	return s->wal_ino && !is_file(wal, s->wal_dev, s->wal_ino) ? STORE_WAL_GONE : STORE_PRESENT;
}

bool store_is_unlinked(struct store *s)
{
	struct stat st;

	if (s->held_fd < 0 || fstat(s->held_fd, &st) < 0)
		return store_presence(s) == STORE_GONE || store_presence(s) == STORE_REPLACED;
	return st.st_nlink == 0;
}

/* sqlite3_initialize() makes page caches for many connections; hookd has two and stays small. */
static void initialize(void)
{
	sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

bool store_owns_wal(struct store *s)
{
	char wal[FS_PATH + 8];

	snprintf(wal, sizeof wal, "%s-wal", s->path);
	return s->wal_ino && is_file(wal, s->wal_dev, s->wal_ino);
}

/* Version, settings, soundness, migration: the order in which nothing is written too early. */
static int prepare(struct store *s, enum store_mode mode, const char *backups, bool check, struct err *err)
{
	int version = 0, r = check_version(s, mode, &version, err);

	if (r == 0 && (r = configure(s, mode, version)) < 0)
		err_set(err, r, "the store %s cannot be used: %s%s", s->path, store_error(s),
			r == -EUCLEAN ? "; run: hookd db check" : "");
	if (r == 0 && mode == STORE_WRITE && version && check)
		r = store_quick_check(s, err);
	if (r < 0)
		return damage_or(s, r);
	/* What was read whole and found sound is not damaged because a change to it failed. */
	return mode == STORE_WRITE ? migrate(s, backups, version, err) : 0;
}

bool store_was_left(const char *path)
{
	char wal[FS_PATH + 8];
	struct stat st;

	snprintf(wal, sizeof wal, "%s-wal", path);
	return stat(wal, &st) == 0 && st.st_size > 0;
}

/* Read whole when that is quick, or when the last daemon did not close it. */
static bool should_check(const char *path)
{
	struct stat st;

	if (store_was_left(path))
		return true;
	return stat(path, &st) == 0 && st.st_size <= always_check_bytes;
}

void store_initialize(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT; /* writer and workers open at the same time */

	pthread_once(&once, initialize);
}

int store_open(const char *path, enum store_mode mode, const char *backups, struct store **ret, struct err *err)
{
	struct store *s = xcalloc(1, sizeof *s);
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, r, rc;
	bool check = should_check(path);
	struct stat st;

	store_initialize();
	s->held_fd = -1;
	snprintf(s->path, sizeof s->path, "%s", path);
	flags |= mode == STORE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	/* Not SQLITE_OPEN_NOFOLLOW: that refuses a link anywhere in the path, and a home may lie behind
	 * one. The directory is ours alone, so nobody changes the file between look and open. */
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		free(s);
		return err_set(err, -ELOOP, "the store %s is a symbolic link; move the file it points to there", path);
	}
	rc = sqlite3_open_v2(path, &s->db, flags, NULL);
	if (rc != SQLITE_OK) {
		r = err_set(err, store_errno(rc),
			rc == SQLITE_CANTOPEN && mode == STORE_READ ? "there is no store at %s yet; start hookd"
								    : "the store %s cannot be opened",
			path);
		store_close(s);
		return r;
	}
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_busy_timeout(s->db, 5000);
	note_files(s);
	if (mode == STORE_WRITE)
		s->held_fd = os_hold_file(path);
	r = store_add_functions(s);
	if (r == 0)
		r = prepare(s, mode, backups, check, err);
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	drop_queries(s);
	sqlite3_close(s->db);
	packer_free(s->packer);
	fs_closep(&s->held_fd);
	free(s);
}

void store_abandon(struct store *s)
{
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	store_close(s);
}

/* -- queries ----------------------------------------------------------------------------------- */

/* Why this thread has no query to step. A statement that SQLite does not understand is one that the schema does not
 * fit, and so damage; anything else is what it is. */
static __thread int unprepared = -EUCLEAN;

/* Its place in the table: by the address of its text, which is a literal. */
static struct query *place_of(struct store *s, const char *sql)
{
	uint64_t at = (uint64_t)(uintptr_t)sql * 0x9E3779B97F4A7C15u >> 32;

	while (s->queries[at % QUERIES_MAX].sql && s->queries[at % QUERIES_MAX].sql != sql)
		at++;
	return &s->queries[at % QUERIES_MAX];
}

struct query *store_query(struct store *s, const char *sql)
{
	struct query *q = place_of(s, sql);
	int r;

	if (q->sql) {
		query_reset(q);
		return q;
	}
	if (s->nqueries == QUERIES_MAX / 2)
		abort(); /* a query text that is not a literal: a bug */
	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &q->stmt, NULL) != SQLITE_OK) {
		r = note_failure(s, sqlite3_extended_errcode(s->db), sql);
		unprepared = r == 0 || r == -EPROTO ? -EUCLEAN : r;
		if (!s->still)
			log_error(LOG_STORE, "cannot prepare a query: %s", s->failure);
		q->stmt = NULL;
		return NULL;
	}
	q->sql = sql;
	q->store = s;
	s->nqueries++;
	return q;
}

void query_reset(struct query *q)
{
	if (!q)
		return;
	sqlite3_reset(q->stmt);
	sqlite3_clear_bindings(q->stmt);
}

void query_bind_int(struct query *q, int at, int64_t value)
{
	if (q)
		sqlite3_bind_int64(q->stmt, at, value);
}

void query_bind_str(struct query *q, int at, str value)
{
	if (q && value.p)
		sqlite3_bind_text64(q->stmt, at, value.p, value.n, SQLITE_STATIC, SQLITE_UTF8);
}

void query_bind_blob(struct query *q, int at, const void *p, size_t n)
{
	if (q)
		sqlite3_bind_blob64(q->stmt, at, p, n, SQLITE_STATIC);
}

void query_bind_null(struct query *q, int at)
{
	if (q)
		sqlite3_bind_null(q->stmt, at);
}

int query_step(struct query *q)
{
	int rc;

	if (!q)
		return unprepared;
	rc = sqlite3_step(q->stmt);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return note_failure(q->store, rc, q->sql);
}

int query_run(struct query *q)
{
	int r;

	while ((r = query_step(q)) == 1)
		;
	query_reset(q);
	return r;
}

int64_t query_int(struct query *q, int column)
{
	return sqlite3_column_int64(q->stmt, column);
}

str query_str(struct query *q, int column)
{
	const char *p = (const char *)sqlite3_column_blob(q->stmt, column);

	return p                           ? str_n(p, (size_t)sqlite3_column_bytes(q->stmt, column))
		: query_is_null(q, column) ? STR_NONE
					   : STR("");
}

bool query_is_null(struct query *q, int column)
{
	return sqlite3_column_type(q->stmt, column) == SQLITE_NULL;
}

static void bind_tool(struct query *q, int at, str name)
{
	int64_t number = store_tool_number(name);

	if (number)
		query_bind_int(q, at, number);
	else
		query_bind_str(q, at, name);
}

static struct query *ask(struct store *s, const char *sql, const char *types, va_list ap)
{
	struct query *q = store_query(s, sql);
	int64_t number;
	const void *p;

	for (int at = 1; *types; types++, at++)
		switch (*types) {
		case 'i': query_bind_int(q, at, va_arg(ap, int64_t)); break;
		case 'k':
			number = va_arg(ap, int64_t);
			if (number)
				query_bind_int(q, at, number);
			break;
		case 's': query_bind_str(q, at, va_arg(ap, str)); break;
		case 'p': query_bind_payload(q, at, va_arg(ap, str)); break;
		case 't': bind_tool(q, at, va_arg(ap, str)); break;
		case 'b':
			p = va_arg(ap, const void *);
			query_bind_blob(q, at, p, va_arg(ap, size_t));
			break;
		default: abort();
		}
	return q;
}

struct query *store_ask(struct store *s, const char *sql, const char *types, ...)
{
	struct query *q;
	va_list ap;

	va_start(ap, types);
	q = ask(s, sql, types, ap);
	va_end(ap);
	return q;
}

int store_do(struct store *s, const char *sql, const char *types, ...)
{
	struct query *q;
	va_list ap;

	va_start(ap, types);
	q = ask(s, sql, types, ap);
	va_end(ap);
	return query_run(q);
}

int store_number(struct store *s, int64_t *ret, const char *sql, const char *types, ...)
{
	struct query *q;
	va_list ap;
	int got;

	va_start(ap, types);
	q = ask(s, sql, types, ap);
	va_end(ap);
	got = query_step(q);
	if (got == 1)
		*ret = query_int(q, 0);
	query_reset(q);
	return got;
}

_Static_assert(EVENT_UNFOLDED == 128, "as the index events_unfolded has it");

int store_count_aside(struct store *s, struct store_aside *ret)
{
	int r = store_number(s, &ret->unfolded, "SELECT count(*) FROM events WHERE marks & 128", "");

	if (r >= 0)
		r = store_number(s, &ret->quarantined, "SELECT count(*) FROM quarantine", "");
	return r < 0 ? r : 0;
}

int64_t store_changes(struct store *s)
{
	return sqlite3_changes64(s->db);
}

int64_t store_total_changes(struct store *s)
{
	return sqlite3_total_changes64(s->db);
}

int64_t store_last_rowid(struct store *s)
{
	return sqlite3_last_insert_rowid(s->db);
}

int store_check(struct store *s, struct buf *out)
{
	static const char *const checks[] = { "PRAGMA integrity_check(100)", "PRAGMA foreign_key_check" };
	int bad = 0, failed = 0;

	for (size_t i = 0; i < countof(checks); i++) {
		struct query *q = store_query(s, checks[i]);
		int r;

		while ((r = query_step(q)) == 1)
			if (!str_eq(query_str(q, 0), STR("ok"))) {
				buf_addf(out, STR_FMT "\n", STR_ARG(query_str(q, 0)));
				bad = 1;
			}
		if (r < 0) {
			buf_addf(out, "%s\n", store_error(s));
			failed = r;
		}
		query_reset(q);
	}
	return bad ? -EUCLEAN : failed;
}

/* Everything but SQLite's own tables, as one text. */
static int schema_text(struct store *s, struct buf *out)
{
	struct query *q = store_query(s,
		"SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
		"WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name");
	int got;

	while ((got = query_step(q)) == 1)
		for (int i = 0; i < 4; i++)
			buf_addf(out, STR_FMT "\n", STR_ARG(query_str(q, i)));
	query_reset(q);
	return got;
}

int store_check_schema(struct store *s, struct buf *out)
{
	_cleanup_(store_closep) struct store *model = xcalloc(1, sizeof *model);
	struct buf is = BUF_INIT(1 << 20), should = BUF_INIT(1 << 20);
	int version = store_version(s), r;

	model->held_fd = -1;
	r = store_errno(sqlite3_open_v2(":memory:", &model->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
	if (r == 0)
		r = store_add_functions(model);
	for (int i = 0; i < version && i < (int)migrations_count && r == 0; i++)
		r = store_exec(model, migrations[i].sql);
	if (r == 0)
		r = schema_text(model, &should);
	if (r == 0)
		r = schema_text(s, &is);
	if (r == 0 && (version < 0 || !str_eq(buf_str(&is), buf_str(&should)))) {
		buf_add_str(out, STR("its tables are not as hookd created them\n"));
		r = -EUCLEAN;
	}
	buf_release(&is);
	buf_release(&should);
	return r;
}
