/* What segment.c writes and search.c reads. Internal to retrieve/. */
#ifndef HOOKD_RETRIEVE_INTERNAL_H
#define HOOKD_RETRIEVE_INTERNAL_H

#include "retrieve/retrieve.h"

/* A file of this machine, by this version: numbers as the processor has them. */
struct segment_head {
	char magic[8];
	uint32_t version;
	uint32_t checksum; /* of everything else */
	uint64_t bytes;    /* with the head */
	int64_t stamp;
	uint32_t ndocs, nterms;
	uint64_t length; /* of all documents */
	uint32_t postings;
	uint32_t nthreads;
};

struct segment_term {
	uint32_t hash;
	uint32_t at;  /* of its postings */
	uint32_t own; /* documents that have it themselves, not only beside them */
};

/* How often a term is in a document, in UNIT-ths: neighbours count less. It is a byte in a posting. */
enum { UNIT = 20, NEAR = 8, FAR = 3 };

struct segment {
	unsigned refs; /* atomic */
	void *memory;
	size_t bytes;
	bool mapped;
	const struct segment_head *head;
	/* Of each document, by thread and then in the order given. What search reads for each posting lies together. */
	const int64_t *keys;
	const uint32_t *threads;          /* counted from 1 in this segment; 0: none */
	const uint32_t *lengths;          /* terms, in UNIT-ths */
	const struct segment_term *terms; /* sorted by hash; one more that ends the last one's postings */
	const uint8_t *postings;          /* for each document a gap (7 bits a byte, more to come: 0x80) and a byte */
};

/* What a segment is made from: hash << 32 | document << 8 | units, of each term of each document. */
struct postings {
	uint64_t *all;
	size_t n, cap;
};

void postings_add(struct postings *p, uint32_t hash, size_t doc, uint32_t units);
/* ret begins with room for the head and what is known of each document; the rest is added. Takes the postings. */
void segment_finish(struct segment_head *head, struct postings *p, struct buf *ret);

/* A term of a segment, or NULL. */
const struct segment_term *segment_term(const struct segment *s, uint32_t hash);

/* The next posting: moves *p and adds the gap to *doc. */
static inline uint8_t posting_next(const uint8_t **p, uint32_t *doc)
{
	uint32_t gap = 0;
	unsigned shift = 0;

	/* Nearly all gaps between documents with a common term are small. */
	while (**p & 0x80) {
		gap |= (uint32_t)(*(*p)++ & 0x7F) << shift;
		shift += 7;
	}
	gap |= (uint32_t) * (*p)++ << shift;
	*doc += gap;
	return *(*p)++;
}

/* -- closeness --------------------------------------------------------------------------------- */

enum { CLOSE_MAX = 100 };

/* How close the documents of all parts are to a query. Only the closest count, and the more the closest of all stands
 * out, the more they do. */
struct closeness {
	float *cosines; /* by document, one part after the other; NAN: it has no vector */
	float least;    /* of the closest */
	float best, mean, deviation;
	float weight; /* of the closest one against the best score by words */
};

/* False: there are too few vectors to say anything. */
bool closeness_find(const struct index_part *parts, size_t n, const struct vector *query, struct closeness *ret);
void closeness_release(struct closeness *c);

#endif
