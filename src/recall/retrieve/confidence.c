/* How sure a hit is. A score says which of some texts fits best, not whether it fits: a prompt that has nothing to do
 * with any memory has a best one, too. So the terms that both have are weighed against what the query says and
 * against what the text says, and a function that was fitted to judged pairs makes a probability of it
 * (tools/confidence.py). */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "retrieve/internal.h"

enum { TERMS_MAX = 512, IMAGINED = 50 };

struct bag {
	uint32_t hashes[TERMS_MAX];
	size_t n;
};

static int compare_hashes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Each term once, sorted. */
static void fill(struct bag *b, str text)
{
	struct terms t = terms_open(text);
	size_t to = 0;

	b->n = 0;
	while (b->n < TERMS_MAX && terms_next(&t, &b->hashes[b->n]))
		b->n++;
	qsort(b->hashes, b->n, sizeof b->hashes[0], compare_hashes);
	for (size_t i = 0; i < b->n; i++)
		if (i == 0 || b->hashes[i] != b->hashes[i - 1])
			b->hashes[to++] = b->hashes[i];
	b->n = to;
}

static double weight_of(const struct index_part *parts, size_t n, double documents, uint32_t hash)
{
	double own = 0;

	for (size_t i = 0; i < n; i++) {
		const struct segment_term *term = segment_term(parts[i].segment, hash);

		own += term ? term->own : 0;
	}
	return log(1 + (documents - own + .5) / (own + .5));
}

/* Terms of both, in order. */
static double shared_weight(const struct bag *a, const double *weights, const struct bag *b, unsigned *ret_terms)
{
	double sum = 0;

	*ret_terms = 0;
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		if (a->hashes[i] == b->hashes[k]) {
			sum += weights[i];
			++*ret_terms;
			i++, k++;
		} else if (a->hashes[i] < b->hashes[k]) {
			i++;
		} else {
			k++;
		}
	}
	return sum;
}

static double total(const double *weights, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	return sum;
}

static void find_features(const struct index_part *parts, size_t n, str query, const struct rated *r, size_t nrated)
{
	struct {
		struct bag query, text;
		double query_weights[TERMS_MAX], text_weights[TERMS_MAX];
	} *room = xmalloc(sizeof *room);
	double documents, asked;

	/* In the first few memories every term is in most of them: as if there were others, without these. */
	documents = IMAGINED;
	for (size_t i = 0; i < n; i++)
		documents += parts[i].segment->head->ndocs;
	fill(&room->query, query);
	for (size_t i = 0; i < room->query.n; i++)
		room->query_weights[i] = weight_of(parts, n, documents, room->query.hashes[i]);
	asked = total(room->query_weights, room->query.n);
	for (size_t i = 0; i < nrated; i++) {
		double next = i + 1 < nrated ? r[i + 1].hit->score : 0, shared, said;
		float *f = r[i].hit->features;
		unsigned terms;

		fill(&room->text, r[i].text);
		for (size_t k = 0; k < room->text.n; k++)
			room->text_weights[k] = weight_of(parts, n, documents, room->text.hashes[k]);
		shared = shared_weight(&room->text, room->text_weights, &room->query, &terms);
		said = total(room->text_weights, room->text.n);
		f[0] = 1;
		f[1] = (float)(asked > 0 ? shared / asked : 0);
		f[2] = (float)(said > 0 ? shared / said : 0);
		f[3] = (float)(log(1 + shared));
		f[4] = (float)(log(1 + terms));
		f[5] = (float)(r[i].hit->score > 0 ? 1 - next / r[i].hit->score : 0);
		f[6] = (float)(1.0 / (double)(i + 1));
		f[7] = (float)(log(1 + documents));
		f[8] = (float)(log(1 + (double)room->query.n));
		f[9] = r[i].hit->close;
		/* What a term weighs grows with the number of documents. */
		f[10] = (float)log(1 + (double)MAX(r[i].hit->score, 0) / (double)f[7]);
	}
	free(room);
}

/* Fitted; see there, and tools/code_confidence.py. By words alone, and with vectors. */
static const double coefficients[][2][FEATURES] = {
	[RATED_AS_PROSE] = {
		{ -9.069, 0.187, 0.878, 3.460, -0.382, 1.344, 3.109, -0.017, -1.066, 0, 0 },
		{ -7.234, 0.017, 0.693, 1.890, -0.433, 0.731, 1.940, -0.020, -0.360, 0.938, 0 },
	},
	[RATED_AS_CODE] = {
		{ -3.062, 0.164, 1.262, 0.445, 0.047, 0.026, 0.223, 0.118, -0.186, 0, 0 }, /* never high */
		{ -6.120, 0, 0, 0, 0, 0, 0, 0, 0, -0.200, 3.810 },
	},
};

/* A prompt that does little more than repeat a small part of a text ("then clear the cache") says nothing about the
 * rest of it. The fit knows few such prompts; so there it is not "high", whatever it says. */
static double without_quotes(double confidence, const float *f)
{
	static const double part = 0.35, most = 0.74;

	return (double)f[2] < part * (double)f[1] ? MIN(confidence, most) : confidence;
}

void hit_rate(const struct index_part *parts, size_t n, enum rated_as as, str query, const struct rated *r,
	size_t nrated)
{
	nrated = MIN(nrated, (size_t)RATED_MAX);
	find_features(parts, n, query, r, nrated);
	for (size_t i = 0; i < nrated; i++) {
		double z = 0;

		for (int f = 0; f < FEATURES; f++)
			z += coefficients[as][r[i].hit->encoded][f] * (double)r[i].hit->features[f];
		r[i].hit->confidence = (float)(1 / (1 + exp(-z)));
		/* Code is asked for in few words of the many it has. */
		if (as == RATED_AS_PROSE)
			r[i].hit->confidence = (float)without_quotes(r[i].hit->confidence, r[i].hit->features);
	}
}

/* -- likeness ---------------------------------------------------------------------------------- */

float terms_overlap(str a, str b)
{
	struct bag *bags = xmalloc(2 * sizeof *bags);
	size_t shared = 0, all;

	fill(&bags[0], a);
	fill(&bags[1], b);
	for (size_t i = 0, k = 0; i < bags[0].n && k < bags[1].n;) {
		uint32_t x = bags[0].hashes[i], y = bags[1].hashes[k];

		shared += x == y;
		i += x <= y;
		k += y <= x;
	}
	all = bags[0].n + bags[1].n - shared;
	free(bags);
	return all ? (float)shared / (float)all : 0;
}

static bool has_term(const struct bag *b, uint32_t hash)
{
	return bsearch(&hash, b->hashes, b->n, sizeof hash, compare_hashes);
}

float terms_taken_up(str text, str without, str by, size_t *ret)
{
	struct bag *bags = xmalloc(3 * sizeof *bags);
	size_t own = 0;

	fill(&bags[0], text);
	fill(&bags[1], without);
	fill(&bags[2], by);
	*ret = 0;
	for (size_t i = 0; i < bags[0].n; i++) {
		uint32_t hash = bags[0].hashes[i];

		if (has_term(&bags[1], hash))
			continue;
		own++;
		*ret += has_term(&bags[2], hash);
	}
	free(bags);
	return own ? (float)*ret / (float)own : 0;
}
