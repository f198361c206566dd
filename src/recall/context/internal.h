/* What the files of context/ share. */
#ifndef HOOKD_CONTEXT_INTERNAL_H
#define HOOKD_CONTEXT_INTERNAL_H

#include "context/context.h"

struct context {
	struct readers *readers;
	struct memories *memories;
	struct code *code;
	const struct config *config;
	const char *secret, *home;
};

enum { CONTEXT_NAMED = 64 }; /* memories about one file that are looked at */

/* One answer in the making. */
struct moment {
	const struct context *context;
	const struct context_ask *ask;
	struct context_reply *reply;
	struct store *store;
	struct arena *arena;
	struct buf text;
	int64_t project;
	str root;                     /* of the project; STR_NONE: not asked yet */
	size_t all, room;             /* bytes that may still be added: of anything, and of this */
	int64_t unfit[CONTEXT_NAMED]; /* keys of memories that are not to be given at this moment */
	size_t nunfit;
};

struct memory_row {
	int64_t key;
	struct ulid uid;
	str type, text, file, trust;
	int64_t importance, created_us, updated_us;
	bool pinned;
};

#define MEMORY_ROW "m.key, m.uid, m.type, m.text, m.file, m.trust, m.importance, m.created_at, m.pinned, m.updated_at"

void memory_row_read(struct query *q, struct arena *a, struct memory_row *ret);

/* -- what each moment adds: 0 or -errno -------------------------------------------------------- */

int start_full(struct moment *m);
int start_short(struct moment *m);
int start_line(struct moment *m);
int recall_prompt(struct moment *m);
/* effort.c: before all others. */
int effort_part(struct moment *m);
int recall_file(struct moment *m);

/* code.c: pieces that fit; whether any could; how many the repository has; the key of a piece by its name. */
int recall_pieces(struct moment *m, str query);
bool pieces_may_come(struct moment *m);
int64_t pieces_count(struct moment *m);
int64_t piece_key(const struct ulid *name);

/* named.c: those about a file that are sure enough, the surest first. */
typedef void recall_add(struct moment *m, const struct memory_row *row, float confidence);
int recall_named(struct moment *m, str file, float least, size_t max, recall_add *add);

/* -- block.c ----------------------------------------------------------------------------------- */

bool block_was_given(const struct moment *m, int64_t key);
/* A line about a memory, if there is room; marks are the type's, as this moment shows it. */
bool block_add_memory(struct moment *m, const struct memory_row *row, str mark, float score, float confidence);
/* The same text without what could leave the frame. */
str block_plain(struct moment *m, str text);
/* file.c: the file that a memory is about was written since it was last looked at. Asks the file system. */
bool file_has_changed(struct moment *m, const struct memory_row *row);

/* Any other line, if there is room. */
bool block_add_line(struct moment *m, str line);
/* Puts the frame around what was added, or makes it nothing. */
void block_finish(struct moment *m);
/* The same throughout a session, and different in each. */
void block_boundary(const struct moment *m, char ret[9]);

#endif
