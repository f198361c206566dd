/* index: the code of a repository, searchable. Two halves that share nothing but files: the indexer, a process of its
 * own that reads the repository and writes, and the searchers, threads of the daemon that map what it has written.
 *
 *   walk.c      which files of a repository are read
 *   ignore.c    what .gitignore and its kin say
 *   tracked.c   what git knows, ignored or not
 *   skip.c      what is never read, by name and content: tables
 *   rows.c      the database of an index: files, pieces, symbols
 *   mark.c      a page that outlives the indexer: what it was reading when it died, and how far it is
 *   keep.c      the segments of an index: adding, merging, publishing
 *   manifest.c  what an index consists of, published by rename
 *   build.c     the indexer: a file becomes rows and documents
 *   encode.c    vectors for pieces, while the machine is idle
 *   search.c    the other half: pieces that fit a text
 *   symbols.c   by name; the map of a repository
 *
 * DESIGN: docs/code.md. */
#ifndef HOOKD_INDEX_INDEX_H
#define HOOKD_INDEX_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/macro.h"
#include "base/str.h"
#include "chunk/chunk.h"
#include "json/json.h"
#include "retrieve/retrieve.h"

/* -- the indexer ------------------------------------------------------------------------------- */

struct indexer_options {
	const char *dir;        /* DATA/code */
	const char *root;       /* absolute, of the repository or worktree */
	const char *const *own; /* hookd's directories, as real paths, which are never read; NULL ends */
	const char *main;       /* the main checkout, if root is a worktree of it: its index is where this one begins */
	const char *home;       /* the user's, for what git ignores everywhere; NULL: nothing */
	const char *grammars;   /* directory; NULL: none */
	const char *weights;    /* of the encoder; NULL: no vectors */
	const char *exclude;    /* more that is not read, as .gitignore says it, separated by blanks; NULL: nothing */
	uint64_t max_files;     /* 0: as many as there may be */
	/* Asked often; true: stop soon, what is done is kept. */
	bool (*is_over)(void *arg);
	/* A directory is about to be read: its path below the root, "" for the root itself; for watching it. */
	void (*enters)(const char *path, void *arg);
	void *arg;
};

struct indexer_sums {
	uint64_t files, read, removed, skipped, chunks, bytes;
	bool interrupted; /* is_over() said so; the rest is done by the next call */
	bool cut;         /* there are more files than may be */
};

struct indexer;

/* -EWOULDBLOCK: another indexer has this root. */
int indexer_open(const struct indexer_options *o, struct indexer **ret, struct err *err);
void indexer_close(struct indexer *x);
DEFINE_FREEP(struct indexer, indexer_close);
/* Brings everything up to date: reads what is new or differs in size or time, takes out what is gone. */
int indexer_update(struct indexer *x, struct indexer_sums *ret, struct err *err);
/* The same for one file, by its path below the root, which may be gone. 1: it is a directory, or says what is ignored:
 * everything has to be looked at. It can be found after indexer_publish(). */
int indexer_touch(struct indexer *x, str path, struct err *err);
int indexer_publish(struct indexer *x, struct err *err);
/* Gives vectors to some of the pieces that have none, for about that long. How many are left, or -errno. */
int64_t indexer_encode(struct indexer *x, unsigned ms, struct err *err);

/* From now on a crash, or a file that takes too long, is noted where the next indexer of the root finds it. Once, for
 * a process that is an indexer and nothing else. */
void indexer_note_crashes(void);

/* -- searching --------------------------------------------------------------------------------- */

struct code_hit {
	str path, symbol; /* path below the root; in the arena */
	unsigned line, lines;
	enum chunk_kind kind;
	enum file_class class;
	const struct language *language;
	float score, confidence, features[FEATURES];
	int64_t key;
	int64_t size, ctime_ns; /* of the file when it was read */
};

struct code_status {
	bool exists, is_running;
	uint64_t files, chunks, symbols, vectors, skipped;
	int64_t updated_us;
	uint64_t done, all; /* of the run in progress; all is 0 if there is none */
	uint64_t scans;     /* that were completed, by whichever indexer */
};

/* Open indexes of the repositories that were asked about last; any number of threads may use it. */
struct code;

struct code *code_new(const char *dir, const char *weights);
void code_free(struct code *c);
DEFINE_FREEP(struct code, code_free);

/* The best pieces of a repository for a text. Number of hits; 0 also if it has no index. -errno. */
int code_search(struct code *c, const char *root, str query, struct arena *a, struct code_hit *ret, size_t max,
	const bool *cancel);
/* Definitions of a name, whole or the beginning of it. */
int code_symbols(struct code *c, const char *root, str name, struct arena *a, struct code_hit *ret, size_t max);
/* The most used symbols of a repository by file, as text of at most that many tokens. */
int code_map(struct code *c, const char *root, str below, unsigned tokens, struct arena *a, str *ret);
/* The text of a piece as the file has it now, without secrets, at most that many lines. -ESTALE: the file has changed
 * since. */
int code_read(struct code *c, const char *root, const struct code_hit *hit, unsigned lines_max, struct arena *a,
	str *ret);
/* The same for lines of a file that is in the index, by where they are. -ENOENT: it is not. */
int code_get(struct code *c, const char *root, str path, unsigned line, unsigned lines, struct arena *a, str *ret);
/* Without an index, *ret says so. */
int code_status(struct code *c, const char *root, struct code_status *ret);
/* As members of an open object. */
void code_status_write(struct json_writer *w, const struct code_status *s);
/* -- what git says (tracked.c) ----------------------------------------------------------------- */

enum git_state {
	GIT_UNKNOWN,
	GIT_NEW,     /* git does not know it */
	GIT_CHANGED, /* since it was last added */
	GIT_KEPT,    /* added, or committed, as it is */
	GIT_GONE,
};

/* Of files below a root, from git's own index. Reads the disk. */
void git_states(const char *root, const str *paths, size_t n, struct arena *a, enum git_state *ret);

struct git_change {
	str path; /* below the root, in the arena */
	int64_t at_us;
};

/* Files that git knows and that were written since then, of the first `most` at which it looks. How many. */
size_t git_changed_since(const char *root, int64_t since_us, size_t most, struct arena *a, struct git_change *ret,
	size_t room);

/* Where the index of a root is. */
int code_directory(const char *dir, const char *root, char ret[FS_PATH]);

#endif
