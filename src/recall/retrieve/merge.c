/* Segments become one. Postings say all that is known of a document, so its text is not needed; what was made from the
 * texts at once would be the same bytes. */
#include <stdlib.h>

#include "base/alloc.h"
#include "retrieve/internal.h"

/* A document that lives on. */
struct survivor {
	int64_t key;
	uint32_t part, doc;
};

static bool is_dead(const uint8_t *bits, uint32_t doc)
{
	return bits && bits[doc / 8] >> doc % 8 & 1;
}

static int compare_survivors(const void *a, const void *b)
{
	int64_t x = ((const struct survivor *)a)->key, y = ((const struct survivor *)b)->key;

	return x < y ? -1 : x > y;
}

static struct survivor *list_survivors(struct segment *const *from, const uint8_t *const *dead, size_t n, size_t *ret)
{
	struct survivor *all;
	size_t room = 0, to = 0;

	for (size_t i = 0; i < n; i++)
		room += segment_docs(from[i]);
	all = xcalloc(room + 1, sizeof *all);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t d = 0; d < from[i]->head->ndocs; d++)
			if (!is_dead(dead[i], d))
				all[to++] = (struct survivor){ from[i]->keys[d], i, d };
	qsort(all, to, sizeof *all, compare_survivors);
	*ret = MIN(to, (size_t)SEGMENT_DOCS_MAX);
	return all;
}

/* Postings of one segment, with the new numbers of its documents; UINT32_MAX: it is dead. */
static void take_postings(const struct segment *s, const uint32_t *numbers, struct postings *to)
{
	for (uint32_t t = 0; t < s->head->nterms; t++) {
		const uint8_t *p = s->postings + s->terms[t].at, *end = s->postings + s->terms[t + 1].at;
		uint32_t doc = 0;

		while (p < end) {
			uint8_t units = posting_next(&p, &doc);

			if (doc >= s->head->ndocs)
				break;
			if (numbers[doc] != UINT32_MAX)
				postings_add(to, s->terms[t].hash, numbers[doc], units);
		}
	}
}

/* The sort of segment_finish() keeps the documents of a term in the order given: from several segments they are not. */
static int compare_postings(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void segment_merge(struct segment *const *from, const uint8_t *const *dead, size_t n, int64_t stamp, struct buf *ret)
{
	struct segment_head head = { .stamp = stamp };
	struct postings postings = { 0 };
	size_t docs;
	struct survivor *all = list_survivors(from, dead, n, &docs);
	uint32_t *numbers = xmalloc(SEGMENT_DOCS_MAX * sizeof *numbers);

	head.ndocs = (uint32_t)docs;
	buf_add(ret, &head, sizeof head);
	for (size_t i = 0; i < docs; i++)
		buf_add(ret, &all[i].key, sizeof all[i].key);
	for (size_t i = 0; i < docs; i++)
		buf_add(ret, &(uint32_t){ 0 }, sizeof(uint32_t));
	for (size_t i = 0; i < docs; i++) {
		uint32_t length = from[all[i].part]->lengths[all[i].doc];

		buf_add(ret, &length, sizeof length);
		head.length += length;
	}
	for (uint32_t i = 0; i < n; i++) {
		memset(numbers, 0xFF, SEGMENT_DOCS_MAX * sizeof *numbers);
		for (uint32_t k = 0; k < docs; k++)
			if (all[k].part == i)
				numbers[all[k].doc] = k;
		take_postings(from[i], numbers, &postings);
	}
	if (postings.n)
		qsort(postings.all, postings.n, sizeof *postings.all, compare_postings);
	segment_finish(&head, &postings, ret);
	free(numbers);
	free(all);
}
