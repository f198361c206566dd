/* A database in which an agent keeps its sessions, as lines: one JSON object for each message.
 *
 * It belongs to a program that may be writing to it at this moment, and its contents are as foreign as any file's.
 * It is opened for reading only, without its triggers, views and functions; the statements are ours alone. A message
 * that cannot be made into a line is counted and left out. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "transcript/internal.h"

enum { BUSY_MS = 2000 };

struct database {
	sqlite3 *db;
	sqlite3_stmt *list, *line;
	int64_t newest;
	bool done; /* another step would begin again */
};

static void harden(sqlite3 *db)
{
	static const int off[] = { SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
		SQLITE_DBCONFIG_ENABLE_VIEW };

	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	for (size_t i = 0; i < countof(off); i++)
		sqlite3_db_config(db, off[i], 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TRANSCRIPT_LINE_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_busy_timeout(db, BUSY_MS);
}

int database_open(const char *path, const struct database_shape *shape, int64_t since, struct database **ret,
	struct err *err)
{
	struct database *d = xcalloc(1, sizeof *d);
	int rc = sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

	d->newest = since;
	if (rc == SQLITE_OK) {
		harden(d->db);
		rc = sqlite3_prepare_v2(d->db, shape->list, -1, &d->list, NULL);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(d->db, shape->line, -1, &d->line, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(d->list, 1, since);
	if (rc != SQLITE_OK) {
		rc = err_set(err, -ENOMSG, "%s is not a database that hookd can read: %s", path,
			d->db ? sqlite3_errmsg(d->db) : "no memory");
		database_close(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void database_close(struct database *d)
{
	if (!d)
		return;
	sqlite3_finalize(d->list);
	sqlite3_finalize(d->line);
	sqlite3_close(d->db);
	free(d);
}

int database_next(struct database *d, str *ret)
{
	int64_t updated;
	int rc = d->done ? SQLITE_DONE : sqlite3_step(d->list);

	*ret = STR_NONE;
	d->done = rc != SQLITE_ROW;
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return rc == SQLITE_BUSY ? -EAGAIN : -EIO;
	updated = sqlite3_column_int64(d->list, 1);
	d->newest = MAX(d->newest, updated);
	sqlite3_reset(d->line);
	if (sqlite3_bind_value(d->line, 1, sqlite3_column_value(d->list, 0)) == SQLITE_OK &&
		sqlite3_step(d->line) == SQLITE_ROW && sqlite3_column_type(d->line, 0) == SQLITE_TEXT)
		*ret = str_n((const char *)sqlite3_column_text(d->line, 0), (size_t)sqlite3_column_bytes(d->line, 0));
	return 1;
}

int64_t database_newest(const struct database *d)
{
	return d->newest;
}
