/* What the files of store/ share. */
#ifndef HOOKD_STORE_INTERNAL_H
#define HOOKD_STORE_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/ulid.h"
#include "store/store.h"

enum {
	QUERIES_MAX = 512, /* twice as many as there may be */
	FAILURE_SQL = 60,  /* bytes of a statement that an error message includes */
	/* Of the file: docs/decisions/0011. Carving reads pages of this size out of damaged ones. */
	STORE_PAGE = 4096,
	STORE_PAGE_BEFORE = 16384, /* of schema 4 and older */
};

#define STORE_PAGE_TEXT "4096"

struct query {
	const char *sql;
	sqlite3_stmt *stmt;
	struct store *store;
};

struct packer;

struct store {
	sqlite3 *db;
	struct packer *packer;
	struct query queries[QUERIES_MAX];
	size_t nqueries;
	char failure[200];   /* the words of the last failure since BEGIN; see store_failure() */
	int64_t deadline_us; /* see store_limit() */
	const _Atomic bool *cancelled;
	bool still; /* see store_open_still(): errors are expected */
	char path[FS_PATH];
	dev_t dev, wal_dev; /* the files it was opened on; see store_is_current() */
	ino_t ino, wal_ino; /* wal_ino 0: not seen yet */
	int held_fd;        /* the writer's: to see whether the file still has a name, wherever; -1 */
};

/* Where a test may end the process: what changes a store must be whole or not at all. */
void store_rehearse_death(void);
/* SQLite's codes as -errno. */
int store_errno(int rc);
/* Nobody closed it: there is something in its WAL. */
bool store_was_left(const char *path);
/* SQLite's settings for the process; before the first connection. */
void store_initialize(void);

/* Opens a database that is not in use (a backup, a file set aside) without writing anything beside it. With
 * `wal`, what a WAL beside it holds counts as well. */
int store_open_still(const char *path, bool wal, struct store **ret);

/* -- payload.c: what one handle needs to read and write payloads. -- */
struct packer *packer_new(void);
void packer_free(struct packer *p);
/* Frees its buffers until they are needed again. */
void packer_trim(struct packer *p);
/* False: not worth it. *ret lies in p until the next call. */
bool packer_pack(struct packer *p, str text, str *ret);
int packer_unpack(struct packer *p, str packed, str *ret);
/* The text at this place in a block, which lies in p as well. */
int packer_unpack_from(struct packer *p, str body, unsigned index, str *ret);
/* A block lies in parts of this length at most, in rows from its number * PAYLOAD_PARTS_MAX on. */
enum { PAYLOAD_PART = 350, PAYLOAD_PARTS_MAX = 128 };
bool payload_is_packed(str bytes);
bool payload_is_block(str bytes);
int64_t payload_size(str packed);
/* payload_text(), payload_bytes() and payload_pack() in SQL, ulid_text() and apart(). */
int store_add_functions(struct store *s);

/* -- remains.c: events whose rows are gone, as far as other tables tell of them. -- */
struct carved_trace;

struct event_name {
	int64_t seq;
	struct ulid id;
	bool left; /* something of it could be made */
};

struct remains {
	struct store *into;
	struct event_name *names; /* what the index of events knew */
	size_t n, cap;
	bool sorted;
};

void remains_add_name(struct remains *m, int64_t seq, str id);
/* What can be made of the trace's event, or of the two of a call, if they are not known yet: 0, 1 or 2 records, in a.
 * agent, session: whose it is. */
enum { REMAINS_MAX = 2 };
int remains_make(struct remains *m, const struct carved_trace *t, str agent, str session, struct arena *a,
	struct record ret[REMAINS_MAX]);
/* How many events were named and are still not known: something was made of some, others are missing. */
void remains_count(struct remains *m, unsigned *ret_left, unsigned *ret_missing);
void remains_release(struct remains *m);

/* PRAGMA user_version, or -errno. */
int store_version(struct store *s);
/* How many of the three tables that every hookd store has are recognisable by their definitions; -errno. */
int store_known_tables(struct store *s);

/* Copies everything by SQLite's own call into a new file of one piece, on disk when it returns. */
int store_copy_into(struct store *s, const char *path);

#endif
