/* What the files of index/ share. */
#ifndef HOOKD_INDEX_INTERNAL_H
#define HOOKD_INDEX_INTERNAL_H

#include <sys/stat.h>

#include "index/index.h"
#include "retrieve/vectors.h"
#include "store/store.h"

enum {
	FILES_MAX = 200000,
	DEPTH_MAX = 64,
	FILE_BYTES_MAX = 1 << 20,
	PATH_BYTES_MAX = 4000, /* below the root */
	HEAD_BYTES = 8192,     /* where a NUL means that it is no text */
	LINE_BYTES_MAX = 5000, /* nobody writes longer ones */
};

/* -- skip.c ------------------------------------------------------------------------------------ */

/* Why a directory or file is not read, by its name; NULL: it is. git: what is ignored is known, so that directories of
 * results need not be guessed. */
const char *skip_directory(str name, bool git);
const char *skip_name(str path);
/* The same by what is in it. */
const char *skip_content(str text, enum file_class class);

/* -- ignore.c ---------------------------------------------------------------------------------- */

/* The rules of one file, and those of the directories above. */
struct ignore;

/* Rules of a file in an open directory, for what lies below `base` ("" or "a/b"). Without such a file: above. */
const struct ignore *ignore_read(struct arena *a, int dir, const char *name, str base, const struct ignore *above);
/* The same from a text. */
const struct ignore *ignore_parse(struct arena *a, str text, str base, const struct ignore *above);
/* path: below the root. */
bool ignore_has(const struct ignore *i, str path, bool is_dir);

/* -- tracked.c --------------------------------------------------------------------------------- */

struct tracked {
	str *paths; /* sorted */
	/* What each file was when git last looked. */
	struct tracked_stat {
		uint32_t size, mtime_s, mtime_ns;
	} * stats;
	size_t n;
};

/* Nothing, if there is no index or it cannot be read. */
void tracked_read(int root, struct arena *a, struct tracked *ret);
void tracked_parse(str bytes, struct arena *a, struct tracked *ret);
/* A file, or anything below a directory. */
bool tracked_has(const struct tracked *t, str path, bool is_dir);

/* -- walk.c ------------------------------------------------------------------------------------ */

struct walk_file {
	str path; /* below the root */
	int64_t size, ctime_ns;
};

struct walk {
	struct arena arena;
	struct walk_file *files; /* by path */
	size_t n, cap;
	uint64_t skipped;
	bool cut, interrupted;
};

int walk_tree(const struct indexer_options *o, int root, struct walk *ret);
void walk_release(struct walk *w);
/* Whether a walk would come to this path: 1, and *ret; 0: it would not, or nothing is there; 2: it is a directory. */
int walk_one(const struct indexer_options *o, int root, str path, struct walk_file *ret);
/* Opens a file below the root without following any link. A descriptor or -errno. */
int walk_open(int root, str path);
/* Where the root is; links in the path to it are followed. */
int walk_open_root(const char *root);
int64_t walk_ctime_ns(const struct stat *st);

/* -- mark.c ------------------------------------------------------------------------------------ */

enum mark_state { MARK_NONE, MARK_READING, MARK_CRASHED };

/* Lies in a file that is mapped, so whatever ends the process, it is there for the next. */
struct mark {
	char magic[8];
	uint32_t state; /* atomic, like what follows */
	uint32_t length;
	uint64_t done, all, scans;
	char path[PATH_BYTES_MAX];
};

int mark_open(const char *dir, bool write, struct mark **ret);
void mark_close(struct mark *m);
/* From here on dying is this file's fault. */
void mark_begin(struct mark *m, str path);
void mark_end(struct mark *m);

/* -- manifest.c -------------------------------------------------------------------------------- */

enum { SEGMENTS_MAX = 512 };

struct manifest_part {
	uint32_t number, docs;
	uint8_t *dead; /* a bit per document */
};

struct manifest {
	uint64_t identity; /* of the database it belongs to */
	int64_t updated_us;
	uint64_t files, chunks, symbols, skipped, vectors;
	uint32_t encoder; /* version of the weights that the vectors are made with */
	uint32_t next;    /* number of the next segment: none has the number of one that was there before */
	struct manifest_part parts[SEGMENTS_MAX];
	size_t nparts;
};

/* -ENOENT; -EBADMSG: damaged, or of another version. */
int manifest_read(const char *dir, struct manifest *ret);
int manifest_parse(str bytes, struct manifest *ret);
void manifest_format(const struct manifest *m, struct buf *ret);
void manifest_release(struct manifest *m);

/* Names of files of an index. */
int index_file(const char *dir, const char *name, char ret[FS_PATH]);
int index_segment(const char *dir, uint32_t number, const char *ending, char ret[FS_PATH]);

/* Which vector each document of a segment has, in a file beside it. -errno; numbers from `vectors` on are none. */
int slots_read(const char *dir, uint32_t number, size_t docs, uint64_t vectors, uint32_t *ret);
int slots_write(const char *dir, uint32_t number, const uint32_t *slots, size_t docs);

/* -- rows.c ------------------------------------------------------------------------------------ */

enum { ROWS_VERSION = 1 };

/* A file as it is known. */
struct file_row {
	int64_t key; /* 0: it is not */
	str path;
	int64_t size, ctime_ns;
	uint64_t hash;
	int64_t strikes; /* see STRIKE_ */
	bool skipped;
};

/* What counts against a file: an indexer that crashed while it read it, and one that was killed then. Somebody may stop
 * the machine or the daemon at that moment; eight times in a row nobody does. */
enum { STRIKE_KILLED = 1, STRIKE_CRASHED = 8, STRIKES_PLAIN = 8, STRIKES_OUT = 16 };

int rows_open(const char *dir, struct store **ret);
int rows_identity(struct store *s, uint64_t *ret);
/* All files, by path; in the arena. */
int rows_files(struct store *s, struct arena *a, struct file_row **ret, size_t *ret_n);
int rows_file(struct store *s, str path, struct file_row *ret);
/* Adds or replaces a file and gives its key. */
int rows_put_file(struct store *s, struct file_row *f, const struct language *l, enum file_class class,
	const char *skipped);
int rows_put_stat(struct store *s, const struct file_row *f);
int rows_strike(struct store *s, str path, int strikes);
/* No file but this one was being read when an indexer was killed; STR_NONE: none was. */
int rows_forgive(struct store *s, str path);
int rows_drop_file(struct store *s, int64_t file);
/* Takes the pieces of a file out; their keys are added to ret, an array of int64_t. */
int rows_drop_chunks(struct store *s, int64_t file, struct buf *ret);
int rows_add_chunk(struct store *s, int64_t file, const struct chunk *c, uint64_t hash, int64_t *ret_key);
int rows_add_symbol(struct store *s, int64_t chunk, const struct chunk_symbol *y);
int rows_count(struct store *s, struct manifest *ret);
/* All keys of pieces, sorted; the caller frees them. */
int rows_keys(struct store *s, int64_t **ret, size_t *ret_n);
/* The file of a piece is read again. */
int rows_forget_file_of(struct store *s, int64_t chunk);
/* A piece with its file; 1, 0 or -errno. */
int rows_hit(struct store *s, int64_t key, struct arena *a, struct code_hit *ret);

/* Of bytes; not for secrets. */
uint64_t index_hash(uint64_t seed, str bytes);
/* What a piece is called: its path, and its symbol. */
str index_title(struct arena *a, str path, str symbol);

/* -- keep.c ------------------------------------------------------------------------------------ */

/* The segments of an index, as its indexer has them. */
struct shelf {
	char dir[FS_PATH];
	struct manifest manifest; /* what was published, or is about to be */
	struct segment *segments[SEGMENTS_MAX];
	size_t ndead[SEGMENTS_MAX];
	bool untidy; /* there are files that the next manifest does not name */
};

/* Opens what the manifest names, and compares it with the rows: what only one of them has is taken out. */
int shelf_open(struct shelf *h, const char *dir, struct store *rows);
void shelf_release(struct shelf *h);
int shelf_add(struct shelf *h, const struct segment_doc *docs, size_t n);
/* The last one that was added goes. */
void shelf_undo(struct shelf *h);
void shelf_kill(struct shelf *h, const int64_t *keys, size_t n);
/* True: some segments were merged. */
bool shelf_tidy(struct shelf *h);
int shelf_publish(struct shelf *h, struct store *rows);
/* Removes indexes of directories that have been gone for a month. */
void index_sweep(const char *all);

/* -- build.c ----------------------------------------------------------------------------------- */

struct indexer {
	struct indexer_options options;
	char dir[FS_PATH];
	int root, lock;
	struct store *rows;
	struct chunker *chunker;
	struct mark *mark;
	struct shelf shelf;
	/* What is not published yet. */
	struct arena arena;
	struct segment_doc *docs;
	size_t ndocs;
	struct buf dead; /* keys */
	bool changed;    /* rows, in an open transaction */
	int64_t since_us;
	struct indexer_sums sums;
	/* Vectors. */
	struct encoder *encoder;
	struct encoder_work *work;
	struct vectors *vectors;
	int64_t encoded; /* pieces up to this key were looked at */
	bool tried;
};

/* Reads a whole file that may be read; *ret_st: as it was then. */
int build_read(int root, str path, struct buf *ret, struct stat *ret_st);
/* Lines of a text; the first is 1. */
str lines_of(str text, unsigned first, unsigned count);

/* -- encode.c ---------------------------------------------------------------------------------- */

/* Segments that have no slots get them. */
int index_encode_follow(struct indexer *x);
void index_encode_close(struct indexer *x);

#endif
