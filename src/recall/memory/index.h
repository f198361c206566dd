/* index: what index.c and encode.c share. For memory/ only. */
#ifndef HOOKD_MEMORY_INDEX_H
#define HOOKD_MEMORY_INDEX_H

#include <pthread.h>

#include "memory/memory.h"
#include "retrieve/vectors.h"

enum {
	PROJECTS_MAX = 16, /* indexes that are kept open */
	PARTS_MAX = 256,   /* segments of one: two million memories */
};

/* A file and concepts are as a title. */
#define MEMORY_TITLE "iif(concepts IS NULL, file, coalesce(file, '') || ' ' || concepts)"

/* Which vector each document of a part has. */
struct slots {
	unsigned refs; /* atomic */
	uint32_t of[];
};

struct snapshot {
	unsigned refs; /* atomic */
	int64_t project, change;
	struct index_part parts[PARTS_MAX];
	int64_t first[PARTS_MAX]; /* key that each begins with; the last is the head's */
	size_t nparts;
	size_t in_head, dead;
	struct slots *slots[PARTS_MAX];
	struct vector_map *map; /* NULL: there are no vectors */
	size_t nvectors;        /* records it knows */
};

struct memories {
	char dir[FS_PATH], weights[FS_PATH];
	struct memories_wants wants;
	pthread_mutex_t lock;                     /* of the list, and of what has no other */
	pthread_mutex_t refresh;                  /* one thread at a time reads rows, or adds vectors */
	struct snapshot *snapshots[PROJECTS_MAX]; /* the most recently used first */
	struct poison *poison;                    /* made when it is needed */

	pthread_mutex_t opening;
	bool tried;
	struct encoder *encoder; /* NULL: there is none */
	struct err no_encoder;   /* why */
	struct project_vectors {
		int64_t project;
		struct vectors *vectors;
		size_t count;  /* of records, for those who do not hold the lock of refreshing */
		int64_t until; /* rows up to this change were looked at */
	} vectors[PROJECTS_MAX];
	unsigned next_vectors;
	int64_t hurried_us; /* atomic */
};

/* -- encode.c ---------------------------------------------------------------------------------- */

void slots_unref(struct slots *s);
/* The vectors of a new snapshot's documents; what the old one knew is taken over. With the lock of refreshing. */
void encode_follow(struct memories *m, struct snapshot *s, const struct snapshot *old);
/* How many records there are for a project. */
size_t encode_count(struct memories *m, int64_t project);
/* False: words alone count. */
bool encode_query(struct memories *m, const struct snapshot *s, str query, struct vector *ret);
/* All vectors are gone. With the lock of refreshing. */
void encode_forget(struct memories *m);
void encode_release(struct memories *m);

#endif
