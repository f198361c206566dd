/* What the files of store/ share. */
#ifndef HOOKD_STORE_INTERNAL_H
#define HOOKD_STORE_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "base/fs.h"
#include "store/store.h"

enum {
	QUERIES_MAX = 256,
	FAILURE_SQL = 60, /* bytes of a statement that a failure is told with */
	/* Of the file: docs/decisions/0005. Carving reads pages of this size out of damaged ones. */
	STORE_PAGE = 16384,
};

#define STORE_PAGE_TEXT "16384"

struct query {
	const char *sql;
	sqlite3_stmt *stmt;
	struct store *store;
};

struct store {
	sqlite3 *db;
	struct query queries[QUERIES_MAX];
	size_t nqueries;
	char failure[200]; /* the words of the last failure since BEGIN; see store_failure() */
	bool still; /* see store_open_still(): trouble with it is expected */
	char path[FS_PATH];
	dev_t dev, wal_dev; /* the files it was opened on; see store_is_current() */
	ino_t ino, wal_ino; /* wal_ino 0: not seen yet */
};

/* SQLite's codes in our words. */
int store_errno(int rc);
/* SQLite's settings for the process; before the first connection. */
void store_initialize(void);

/* Opens a database that lies still (a backup, a file set aside) without writing anything beside it. With
 * `wal`, what a WAL beside it holds counts as well. */
int store_open_still(const char *path, bool wal, struct store **ret);

/* PRAGMA user_version, or -errno. */
int store_version(struct store *s);
/* How many of the three tables every hookd has can be told by their own words; -errno. */
int store_known_tables(struct store *s);

/* Copies everything by SQLite's own call into a new file of one piece, on disk when it returns. */
int store_copy_into(struct store *s, const char *path);

#endif
