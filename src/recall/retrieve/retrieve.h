/* retrieve: which of many short texts fit a text. Knows nothing of memories, code or the store.
 *
 *   terms.c       text → terms (words, parts of identifiers, pairs of characters of unspaced scripts), each a hash
 *   stem.c        English endings
 *   segment.c     an immutable index of some documents: built in memory, kept in a file, mapped from it
 *   merge.c       segments become one, without their texts
 *   vectors.c     files of vectors (vectors.h)
 *   search.c      BM25 over the segments of an index
 *   closeness.c   which documents mean what the query means, by their vectors (encoder/)
 *   confidence.c  how sure a hit is
 *
 * DESIGN. An index is a list of segments, which never change, and the documents in them that are dead. So any number of
 * threads search while another one builds the next list. Whoever owns the documents decides what is in which segment;
 * see docs/memory.md for the formula and what was measured. */
#ifndef HOOKD_RETRIEVE_RETRIEVE_H
#define HOOKD_RETRIEVE_RETRIEVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macro.h"
#include "base/str.h"
#include "encoder/encoder.h"

/* -- terms ------------------------------------------------------------------------------------- */

/* Terms of a text, one after the other. Any bytes are valid input. */
struct terms {
	str rest;
	uint32_t queue[40]; /* terms of the word that was read last */
	unsigned n, next;
};

struct terms terms_open(str text);
bool terms_next(struct terms *t, uint32_t *ret);

/* Whether a text has characters of scripts that are written without spaces. */
bool terms_are_unspaced(str text);

/* Cuts English endings off a word of small letters, in place; returns the new length (Porter, 1980). */
size_t stem_english(char *word, size_t n);

/* Share of the terms of both that either has, from 0 to 1. */
float terms_overlap(str a, str b);

/* Share of the terms of a text, without those of another one, that a third has; *ret: how many those are. */
float terms_taken_up(str text, str without, str by, size_t *ret);

/* -- segments ---------------------------------------------------------------------------------- */

enum { SEGMENT_DOCS_MAX = 8192 };

struct segment_doc {
	int64_t key;
	uint64_t thread; /* documents of one conversation; 0: stands alone. Neighbours are in the order given */
	str title, text;
	unsigned title_times; /* how often the title counts; 0: once */
};

struct segment;

/* The bytes of a segment with these documents (at most SEGMENT_DOCS_MAX), which `stamp` describes to the owner. */
void segment_build(const struct segment_doc *docs, size_t n, int64_t stamp, struct buf *ret);
/* The same from segments, without the documents whose bit is set in dead[i] (which may be NULL). For documents that
 * stand alone; they are in the order of their keys. */
void segment_merge(struct segment *const *from, const uint8_t *const *dead, size_t n, int64_t stamp, struct buf *ret);
/* Takes the bytes. */
struct segment *segment_from(struct buf *bytes);
/* Maps a file. -EBADMSG: it is damaged or was written by another version: build it again. */
int segment_open(const char *path, struct segment **ret);
struct segment *segment_ref(struct segment *s);
void segment_unref(struct segment *s);
DEFINE_FREEP(struct segment, segment_unref);

int64_t segment_stamp(const struct segment *s);
size_t segment_docs(const struct segment *s);
int64_t segment_key(const struct segment *s, size_t doc);
/* Sets the bit of each document whose key is among these, which are sorted; returns how many. */
size_t segment_mark(const struct segment *s, const int64_t *keys, size_t n, uint8_t *bits);

/* -- search ------------------------------------------------------------------------------------ */

/* Vectors that lie `stride` bytes apart, and which one each document of a part has. */
struct index_vectors {
	const char *first;
	size_t stride;
	const uint32_t *slots; /* NULL: no document has one */
};

#define NO_VECTOR UINT32_MAX

struct index_part {
	struct segment *segment;
	const uint8_t *dead; /* a bit per document; NULL: none */
	struct index_vectors vectors;
};

/* What a confidence is made from; see confidence.c. */
enum { FEATURES = 11, RATED_MAX = 10 };

struct hit {
	int64_t key;
	float score;
	float covered;            /* share of the query's weight that is in the document itself */
	float close;              /* how far its cosine stands out, in standard deviations */
	bool encoded;             /* else that is not known */
	float confidence;         /* probability that it is what was asked for; 0: not rated */
	float features[FEATURES]; /* likewise */
};

/* The `max` best, best first. vector: of the query; NULL: words alone count. *cancel, if not NULL, ends it early with
 * what it has. */
size_t index_search(const struct index_part *parts, size_t n, str query, const struct vector *vector, struct hit *ret,
	size_t max, const bool *cancel);

/* How many documents have a word, or an identifier as a whole. */
size_t index_frequency(const struct index_part *parts, size_t n, str word);

/* -- how sure ---------------------------------------------------------------------------------- */

/* A hit and the text it stands for. */
struct rated {
	struct hit *hit;
	str text;
};

/* What the texts are: a match of the same words means another thing in code. */
enum rated_as { RATED_AS_PROSE, RATED_AS_CODE };

/* Sets features and confidence of hits, which are in order; at most RATED_MAX. */
void hit_rate(const struct index_part *parts, size_t n, enum rated_as as, str query, const struct rated *r,
	size_t nrated);
#endif
