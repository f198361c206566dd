/* Databases that can be made again: another schema than the store's, the same queries. Nothing of them is ever repaired
 * or migrated: what is damaged, or of another version, is deleted by whoever writes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/internal.h"

static int open_file(const char *path, bool write, struct store **ret)
{
	struct store *s = xcalloc(1, sizeof *s);
	int rc,
		flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
		(write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);

	store_initialize();
	s->held_fd = -1;
	snprintf(s->path, sizeof s->path, "%s", path);
	rc = sqlite3_open_v2(path, &s->db, flags, NULL);
	if (rc != SQLITE_OK) {
		store_close(s);
		return store_errno(rc);
	}
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_busy_timeout(s->db, 2000);
	*ret = s;
	return 0;
}

/* Not synced at each commit: a power cut takes back the last ones, and never half of one. */
static int configure(struct store *s, bool write)
{
	int r = store_exec(s, "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -512");

	if (r == 0 && write)
		r = store_exec(s,
			"PRAGMA cache_size = -4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
			"PRAGMA journal_size_limit = 4194304");
	else if (r == 0)
		r = store_exec(s, "PRAGMA query_only = ON");
	return r;
}

/* 1: it is of this version; 0: it is new; -ESTALE: of another one. */
static int look_at_version(struct store *s, int version)
{
	int64_t has = 0;
	int got = store_number(s, &has, "PRAGMA user_version", "");

	return got < 0 ? got : has == version ? 1 : has == 0 ? 0 : -ESTALE;
}

static int make(struct store *s, const char *schema, int version)
{
	char pragma[64];
	int r = store_exec(s, "BEGIN IMMEDIATE");

	snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", version);
	if (r == 0)
		r = store_exec(s, schema);
	if (r == 0)
		r = store_exec(s, pragma);
	return r < 0 ? r : store_exec(s, "COMMIT");
}

int store_open_cache(const char *path, const char *schema, int version, struct store **ret)
{
	struct store *s = NULL;
	int r = open_file(path, schema != NULL, &s);

	if (r == 0)
		r = configure(s, schema != NULL);
	if (r == 0)
		r = look_at_version(s, version);
	if (r == 0)
		r = schema ? make(s, schema, version) : -ENOENT;
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int store_copy_cache(const char *from, int version, const char *to)
{
	struct store *s = NULL;
	int r = store_open_cache(from, NULL, version, &s);

	unlink(to);
	if (r == 0)
		r = store_exec(s, "PRAGMA query_only = OFF");
	if (r == 0)
		r = store_do(s, "VACUUM INTO ?1", "s", str_of(to));
	store_close(s);
	return r;
}
