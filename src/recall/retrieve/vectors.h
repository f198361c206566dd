/* vectors: directions (encoder/) of memories or of pieces of code, one after the other in a file that only grows.
 *
 * DESIGN. A record says which text it is of and what that was; of two for one key the later one counts. Making
 * a vector takes milliseconds, so a file is never made anew only because something changed. It is a cache: whatever is
 * wrong with it, it is deleted and fills again. One thread at a time follows a file and appends to it; what was mapped
 * stays as it is for whoever holds it. */
#ifndef HOOKD_RETRIEVE_VECTORS_H
#define HOOKD_RETRIEVE_VECTORS_H

#include "base/fs.h"
#include "base/str.h"
#include "encoder/encoder.h"

struct vector_record {
	int64_t key;
	int64_t change; /* of the memory's row when it was encoded */
	uint64_t text;  /* a hash of it */
	struct vector vector;
	uint32_t checksum;
};

/* A mapped file. */
struct vector_map;

struct vector_map *vector_map_ref(struct vector_map *m);
void vector_map_unref(struct vector_map *m);
const struct vector_record *vector_map_records(const struct vector_map *m);

struct vectors;

/* version: of the weights they are made with. A reader leaves the file as it is, whatever is wrong with it: it is
 * somebody else's, who may be writing just now. */
struct vectors *vectors_new(const char *path, uint32_t version);
struct vectors *vectors_new_reader(const char *path, uint32_t version);
void vectors_free(struct vectors *v);

/* Takes up what the file has by now; records from the first broken one on are cut off. */
void vectors_follow(struct vectors *v);
size_t vectors_count(const struct vectors *v);
/* The newest change that a record is about. */
int64_t vectors_change(const struct vectors *v);
/* Which record is a memory's, or UINT32_MAX. */
uint32_t vectors_find(const struct vectors *v, int64_t key);
/* NULL: there is no record yet. A reference of the caller's own. */
struct vector_map *vectors_map(const struct vectors *v);

uint64_t vectors_hash(str text, str title);
/* Fills in the checksums. */
int vectors_append(struct vectors *v, struct vector_record *records, size_t n);

#endif
