/* Search: term by term over all segments, nothing pruned; then those that are close are moved up by how close they are,
 * measured in the best score by words. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "retrieve/internal.h"

enum { QUERY_TERMS_MAX = 512, QUERY_BYTES_MAX = 32 << 10 };

static const float k1 = 1.2F, b_length = 0.7F, thread_share = 0.4F;

struct query_term {
	uint32_t hash;
	float weight;
};

struct search {
	struct query_term terms[QUERY_TERMS_MAX];
	size_t nterms;
	float total_weight;
	double documents, average;
	/* Of the current segment. */
	struct tally {
		float score, covered;
	} * tallies;      /* by document */
	float *threads;   /* by thread */
	struct hit *best; /* a heap, worst first */
	size_t nbest, max;
	/* With vectors. */
	const struct closeness *closeness; /* NULL: words alone */
	const float *cosines;              /* of the current segment */
	float most;                        /* the best score by words */
	struct close_hit {
		struct hit hit;
		float cosine;
	} close[2 * CLOSE_MAX]; /* with their scores by words; a bin may hold some more than the closest */
	size_t nclose;
};

/* -- the query --------------------------------------------------------------------------------- */

static int compare_terms(const void *a, const void *b)
{
	uint32_t x = ((const struct query_term *)a)->hash, y = ((const struct query_term *)b)->hash;

	return x < y ? -1 : x > y;
}

/* Each term once, sorted. */
static void read_query(struct search *s, str query)
{
	struct terms t = terms_open(str_cut_utf8(query, QUERY_BYTES_MAX));
	uint32_t hash;
	size_t to = 0;

	while (s->nterms < QUERY_TERMS_MAX && terms_next(&t, &hash))
		s->terms[s->nterms++].hash = hash;
	qsort(s->terms, s->nterms, sizeof s->terms[0], compare_terms);
	for (size_t i = 0; i < s->nterms; i++)
		if (i == 0 || s->terms[i].hash != s->terms[i - 1].hash)
			s->terms[to++] = s->terms[i];
	s->nterms = to;
}

/* A term weighs what it tells: the fewer documents have it, the more. One that is nowhere weighs most, and no document
 * covers it. */
static void weigh_terms(struct search *s, const struct index_part *parts, size_t n)
{
	uint64_t length = 0;

	for (size_t i = 0; i < n; i++) {
		s->documents += parts[i].segment->head->ndocs;
		length += parts[i].segment->head->length;
	}
	s->average = s->documents ? (double)length / s->documents : 1;
	for (size_t t = 0; t < s->nterms; t++) {
		double own = 0;

		for (size_t i = 0; i < n; i++) {
			const struct segment_term *term = segment_term(parts[i].segment, s->terms[t].hash);

			own += term ? term->own : 0;
		}
		s->terms[t].weight = (float)log(1 + (s->documents - own + .5) / (own + .5));
		s->total_weight += s->terms[t].weight;
	}
}

/* -- one segment ------------------------------------------------------------------------------- */

/* Documents of a thread follow one another, so its best is known when the thread ends. */
struct best_of_thread {
	uint32_t thread;
	float score;
};

static void note_thread(struct search *s, struct best_of_thread *best, uint32_t thread, float score)
{
	if (thread != best->thread) {
		s->threads[best->thread] += best->score;
		*best = (struct best_of_thread){ thread, 0 };
	}
	best->score = MAX(best->score, score);
}

static void score_term(struct search *s, const struct segment *g, const struct segment_term *term, float weight)
{
	const uint8_t *p = g->postings + term->at, *end = g->postings + term[1].at;
	struct best_of_thread best = { 0 };
	float per_length = (float)(k1 * b_length / s->average), fixed = k1 * (1 - b_length), most = weight * (k1 + 1);
	bool threads = g->head->nthreads > 0;
	uint32_t doc = 0;

	while (p < end) {
		uint8_t units = posting_next(&p, &doc);

		if (doc >= g->head->ndocs)
			break;
		float often = (float)units * (1.0F / UNIT);
		float score = most * often / (often + fixed + per_length * (float)g->lengths[doc]);

		s->tallies[doc].score += score;
		s->tallies[doc].covered += units >= UNIT ? weight : 0;
		if (threads)
			note_thread(s, &best, g->threads[doc], score);
	}
	if (threads)
		note_thread(s, &best, UINT32_MAX, 0);
}

static bool is_worse(const struct hit *a, const struct hit *b)
{
	return a->score < b->score || (a->score == b->score && a->key < b->key);
}

static void sink(struct search *s, size_t at)
{
	for (;;) {
		size_t worst = at, child = 2 * at + 1;

		for (size_t c = child; c < child + 2 && c < s->nbest; c++)
			if (is_worse(&s->best[c], &s->best[worst]))
				worst = c;
		if (worst == at)
			return;
		struct hit swap = s->best[at];

		s->best[at] = s->best[worst];
		s->best[worst] = swap;
		at = worst;
	}
}

static void keep_best(struct search *s, const struct hit *h)
{
	if (s->nbest < s->max) {
		s->best[s->nbest++] = *h;
		for (size_t i = s->nbest / 2; s->nbest == s->max && i-- > 0;)
			sink(s, i);
	} else if (is_worse(&s->best[0], h)) {
		s->best[0] = *h;
		sink(s, 0);
	}
}

static bool is_close(const struct search *s, uint32_t doc)
{
	return s->closeness && s->cosines[doc] >= s->closeness->least && s->nclose < countof(s->close);
}

static void take_best(struct search *s, const struct index_part *part)
{
	const struct segment *g = part->segment;

	for (uint32_t i = 0; i < g->head->ndocs; i++) {
		uint32_t thread = g->threads[i];
		bool close = is_close(s, i);
		struct hit h;

		if ((s->tallies[i].score <= 0 && !close) || (part->dead && part->dead[i / 8] >> i % 8 & 1))
			continue;
		h = (struct hit){ .key = g->keys[i],
			.score = s->tallies[i].score + (thread ? thread_share * s->threads[thread] : 0),
			.covered = s->total_weight > 0 ? s->tallies[i].covered / s->total_weight : 0 };
		h.encoded = s->closeness && !isnan(s->cosines[i]);
		if (h.encoded)
			h.close = (s->cosines[i] - s->closeness->mean) / s->closeness->deviation;
		s->most = MAX(s->most, h.score);
		if (close)
			s->close[s->nclose++] = (struct close_hit){ h, s->cosines[i] };
		else
			keep_best(s, &h);
	}
}

/* The closest of all counts as much as `weight` times the best by words, the last of the close ones nothing. */
static void take_close(struct search *s)
{
	const struct closeness *c = s->closeness;
	float unit = s->most > 0 ? s->most : 1;

	for (size_t i = 0; i < s->nclose; i++) {
		struct hit h = s->close[i].hit;

		h.score += unit * c->weight * (s->close[i].cosine - c->least) / (c->best - c->least);
		keep_best(s, &h);
	}
}

static void search_part(struct search *s, const struct index_part *part, const bool *cancel)
{
	const struct segment *g = part->segment;

	memset(s->tallies, 0, g->head->ndocs * sizeof *s->tallies);
	memset(s->threads, 0, (g->head->nthreads + 1) * sizeof *s->threads);
	for (size_t t = 0; t < s->nterms; t++) {
		const struct segment_term *term = segment_term(g, s->terms[t].hash);

		if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
			return;
		if (term)
			score_term(s, g, term, s->terms[t].weight);
	}
	take_best(s, part);
}

size_t index_frequency(const struct index_part *parts, size_t n, str word)
{
	struct terms t = terms_open(word);
	size_t found = 0;
	uint32_t hash;

	/* The first term of an identifier is all of it. */
	if (!terms_next(&t, &hash))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct segment_term *term = segment_term(parts[i].segment, hash);

		found += term ? term->own : 0;
	}
	return found;
}

/* -- all of it --------------------------------------------------------------------------------- */

static int compare_hits(const void *a, const void *b)
{
	return is_worse(a, b) ? 1 : -1;
}

size_t index_search(const struct index_part *parts, size_t n, str query, const struct vector *vector, struct hit *ret,
	size_t max, const bool *cancel)
{
	struct search *s = xcalloc(1, sizeof *s);
	struct closeness closeness = { 0 };
	size_t found;

	s->best = ret;
	s->max = max;
	s->tallies = xmalloc(SEGMENT_DOCS_MAX * sizeof *s->tallies);
	s->threads = xmalloc((SEGMENT_DOCS_MAX + 1) * sizeof *s->threads);
	if (vector && closeness_find(parts, n, vector, &closeness)) {
		s->closeness = &closeness;
		s->cosines = closeness.cosines;
	}
	read_query(s, query);
	weigh_terms(s, parts, n);
	for (size_t i = 0; i < n && max; i++) {
		search_part(s, &parts[i], cancel);
		s->cosines += s->closeness ? segment_docs(parts[i].segment) : 0;
	}
	if (s->closeness && max)
		take_close(s);
	found = s->nbest;
	qsort(ret, found, sizeof *ret, compare_hits);
	closeness_release(&closeness);
	free(s->tallies);
	free(s->threads);
	free(s);
	return found;
}
