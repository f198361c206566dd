/* How close documents are to a query. A cosine says little by itself: texts of one project are all somewhat close. What
 * says something is how far the best stand out, so the closest are measured from the last one of them on, and their
 * weight grows with the distance of the best from the mean. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "retrieve/internal.h"

enum { BINS = 2048, ENOUGH = 3 };

/* In standard deviations: from where on closeness counts more than a little, and how fast. */
static const float ordinary = 2.5F, slope = 1.5F, least_weight = 0.25F, most_weight = 2;

struct tally_of_cosines {
	uint32_t bins[BINS]; /* from -1 to 1 */
	double sum, squares;
	float best;
	size_t n;
};

static size_t bin_of(float cosine)
{
	float at = (cosine + 1) * (BINS / 2);

	return at < 0 ? 0 : at >= BINS ? BINS - 1 : (size_t)at;
}

static void look_at(const struct index_part *part, const struct vector *query, float *ret, struct tally_of_cosines *t)
{
	size_t n = segment_docs(part->segment);

	for (size_t i = 0; i < n; i++) {
		uint32_t slot = part->vectors.slots ? part->vectors.slots[i] : NO_VECTOR;
		bool dead = part->dead && part->dead[i / 8] >> i % 8 & 1;

		ret[i] = NAN;
		if (slot == NO_VECTOR || dead)
			continue;
		ret[i] = vector_cosine(query,
			(const struct vector *)(part->vectors.first + slot * part->vectors.stride));
		t->bins[bin_of(ret[i])]++;
		t->sum += ret[i];
		t->squares += ret[i] * ret[i];
		t->best = t->n++ ? MAX(t->best, ret[i]) : ret[i];
	}
}

/* The cosine that `count` documents reach, to a thousandth. */
static float reached_by(const struct tally_of_cosines *t, size_t count)
{
	size_t seen = 0, bin = BINS;

	while (bin > 0 && seen < count)
		seen += t->bins[--bin];
	return (float)bin / (BINS / 2) - 1;
}

bool closeness_find(const struct index_part *parts, size_t n, const struct vector *query, struct closeness *ret)
{
	struct tally_of_cosines *t = xcalloc(1, sizeof *t);
	size_t documents = 0, at = 0;
	double variance;
	bool found;

	for (size_t i = 0; i < n; i++)
		documents += segment_docs(parts[i].segment);
	*ret = (struct closeness){ .cosines = xmalloc((documents + 1) * sizeof(float)) };
	for (size_t i = 0; i < n; i++) {
		look_at(&parts[i], query, ret->cosines + at, t);
		at += segment_docs(parts[i].segment);
	}
	found = t->n >= ENOUGH && query->scale > 0;
	if (found) {
		ret->mean = (float)(t->sum / (double)t->n);
		variance = t->squares / (double)t->n - (double)ret->mean * ret->mean;
		ret->deviation = (float)sqrt(MAX(variance, 1e-6));
		ret->best = t->best;
		ret->least = MIN(reached_by(t, MIN(t->n / 2, (size_t)CLOSE_MAX)), t->best - 1e-3F);
		ret->weight = ((ret->best - ret->mean) / ret->deviation - ordinary) / slope;
		ret->weight = MIN(MAX(ret->weight, least_weight), most_weight);
	}
	free(t);
	if (!found)
		closeness_release(ret);
	return found;
}

void closeness_release(struct closeness *c)
{
	free(c->cosines);
	c->cosines = NULL;
}
