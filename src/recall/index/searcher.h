/* What search.c and symbols.c share. */
#ifndef HOOKD_INDEX_SEARCHER_H
#define HOOKD_INDEX_SEARCHER_H

#include <pthread.h>

#include "index/internal.h"

enum { VIEWS_MAX = 8 }; /* indexes that are kept open */

/* An index as it was published at one moment. */
struct view {
	unsigned refs; /* atomic */
	char dir[FS_PATH];
	struct stat st; /* of the manifest */
	struct manifest manifest;
	struct index_part parts[SEGMENTS_MAX];
	uint32_t *slots[SEGMENTS_MAX];
	size_t nparts;
	struct vector_map *map; /* NULL: there are no vectors */
	pthread_mutex_t lock;   /* of the handle */
	struct store *rows;
};

struct code {
	char dir[FS_PATH], weights[FS_PATH];
	pthread_mutex_t lock;
	struct view *views[VIEWS_MAX]; /* the most recently used first */
	pthread_mutex_t opening;
	bool tried;
	struct encoder *encoder; /* NULL: there is none */
};

/* As it is now. -ENOENT: there is none. */
int code_view(struct code *c, const char *root, struct view **ret);
void view_unref(struct view *v);
const struct encoder *code_encoder(struct code *c);
int read_piece(int root, const struct code_hit *hit, unsigned lines_max, struct arena *a, str *ret);

#endif
