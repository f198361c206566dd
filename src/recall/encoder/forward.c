/* The network: words become directions, which look at each other and change, layer by layer; at the end they are
 * added up by how much each has to say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "encoder/lanes.h"

static size_t widest(const struct encoder *e)
{
	return MAX(3 * e->width, e->inner);
}

struct encoder_work *encoder_work_new(const struct encoder *e)
{
	struct encoder_work *w = xcalloc(1, sizeof *w);
	size_t rows = TOKENS_MAX;

	w->kernels = kernels_of_this_machine();
	w->x = xcalloc(rows * e->width, sizeof(float));
	w->normal = xcalloc(rows * e->width, sizeof(float));
	w->wide = xcalloc(rows * widest(e), sizeof(float));
	w->turned = xcalloc(rows * (e->width / e->heads), sizeof(float));
	w->weights = xcalloc(PAIR * rows, sizeof(float));
	w->activations.bytes = xcalloc(rows, widest(e));
	w->activations.unsigned_bytes = xcalloc(rows, widest(e));
	w->activations.scale = xcalloc(rows, sizeof(float));
	return w;
}

void encoder_work_free(struct encoder_work *w)
{
	if (!w)
		return;
	free(w->x);
	free(w->normal);
	free(w->wide);
	free(w->turned);
	free(w->weights);
	free(w->activations.bytes);
	free(w->activations.unsigned_bytes);
	free(w->activations.scale);
	free(w);
}

static void look_up(const struct encoder *e, const uint16_t *ids, size_t n, float *x)
{
	for (size_t t = 0; t < n; t++) {
		const int8_t *row = e->embedding.bytes + (size_t)ids[t] * e->width;

		for (size_t i = 0; i < e->width; i++)
			x[t * e->width + i] = e->embedding.scale[ids[t]] * row[i];
	}
}

/* Each row to the same length, each number by its own factor. */
static void normalize(const float *x, size_t rows, size_t width, const float *by, float *ret)
{
	for (size_t t = 0; t < rows; t++, x += width, ret += width) {
		float size = 1 / sqrtf(product_of(x, x, width) / (float)width + 1e-5f);

		for (size_t i = 0; i < width; i += LANES)
			*(lanes *)(ret + i) = *(const lanes *)(x + i) * size * *(const lanes *)(by + i);
	}
}

static void multiply(struct encoder_work *w, const float *x, size_t rows, const struct matrix *m, bool positive,
	float *y, bool add)
{
	struct activations *a = &w->activations;

	a->rows = rows;
	a->columns = m->columns;
	a->positive = positive;
	w->kernels->quantize(x, a);
	w->kernels->multiply(m, a, y, add);
}

/* Queries and keys are turned by their position, so that a product knows how far apart two tokens are. */
static void turn_by_position(const struct encoder *e, float *qkv, size_t rows)
{
	size_t depth = e->width / e->heads, half = depth / 2;

	for (size_t t = 0; t < rows; t++)
		for (size_t k = 0; k < 2 * e->heads; k++) {
			const float *c = e->turn_cos + t * half, *s = e->turn_sin + t * half;
			float *a = qkv + t * 3 * e->width + k * depth, *b = a + half;

			for (size_t i = 0; i < half; i++) {
				float x = a[i], y = b[i];

				a[i] = x * c[i] - y * s[i];
				b[i] = x * s[i] + y * c[i];
			}
		}
}

static void look_at_each_other(const struct encoder *e, struct encoder_work *w, const struct layer *l, size_t rows)
{
	size_t depth = e->width / e->heads;

	normalize(w->x, rows, e->width, l->norm_attention, w->normal);
	multiply(w, w->normal, rows, &l->qkv, false, w->wide, false);
	turn_by_position(e, w->wide, rows);
	for (size_t head = 0; head < e->heads; head++) {
		const float *query = w->wide + head * depth;
		struct attention a = { .query = query,
			.key = query + e->width,
			.value = query + 2 * (size_t)e->width,
			.rows = rows,
			.stride = 3 * (size_t)e->width,
			.depth = depth,
			.turned = w->turned,
			.weights = w->weights,
			.out = w->normal + head * depth,
			.out_stride = e->width };

		w->kernels->attend(&a);
	}
	multiply(w, w->normal, rows, &l->out, false, w->x, true);
}

/* Negative numbers have the sign bit, which becomes a mask. */
static void rectify(float *x, size_t n)
{
	for (size_t i = 0; i < n; i += LANES) {
		whole_lanes v = *(whole_lanes *)(x + i);

		*(whole_lanes *)(x + i) = v & ~(v >> 31);
	}
}

static void think(const struct encoder *e, struct encoder_work *w, const struct layer *l, size_t rows)
{
	normalize(w->x, rows, e->width, l->norm_inner, w->normal);
	multiply(w, w->normal, rows, &l->up, false, w->wide, false);
	rectify(w->wide, rows * e->inner);
	multiply(w, w->wide, rows, &l->down, true, w->x, true);
}

/* The rows added up, each by its weight. */
static void pool(const struct encoder *e, struct encoder_work *w, size_t rows, float *ret)
{
	float most = -INFINITY, sum = 0;

	normalize(w->x, rows, e->width, e->norm_last, w->normal);
	for (size_t t = 0; t < rows; t++) {
		w->weights[t] = product_of(w->normal + t * e->width, e->pool, e->width);
		most = MAX(most, w->weights[t]);
	}
	for (size_t t = 0; t < rows; t++)
		sum += w->weights[t] = expf(w->weights[t] - most);
	memset(ret, 0, e->width * sizeof *ret);
	for (size_t t = 0; t < rows; t++)
		for (size_t i = 0; i < e->width; i += LANES)
			*(lanes *)(ret + i) += w->weights[t] / sum * *(const lanes *)(w->normal + t * e->width + i);
}

/* The direction of what was added up, of length 1. */
static void direction(const struct encoder *e, const float *sum, float ret[ENCODER_DIMENSIONS])
{
	float size = 1e-12f;

	for (size_t r = 0; r < ENCODER_DIMENSIONS; r++) {
		const int8_t *row = e->last.bytes + r * e->width;
		lanes total = { 0 };

		for (size_t i = 0; i < e->width; i += LANES)
			total += *(const lanes *)(sum + i) *
				__builtin_convertvector(*(const small_lanes *)(row + i), lanes);
		ret[r] = sum_of((const float *)&total, LANES) * e->last.scale[r];
		size += ret[r] * ret[r];
	}
	for (size_t r = 0; r < ENCODER_DIMENSIONS; r++)
		ret[r] /= sqrtf(size);
}

size_t encoder_tokens(const struct encoder *e, enum encoder_mode mode, str text, uint16_t *ret, size_t max)
{
	if (!max)
		return 0;
	ret[0] = mode == ENCODE_QUERY ? TOKEN_QUERY : TOKEN_DOCUMENT;
	return 1 + tokens_of(&e->vocabulary, text, ret + 1, max - 1);
}

void encoder_encode_exactly(const struct encoder *e, struct encoder_work *w, enum encoder_mode mode, str text,
	float ret[ENCODER_DIMENSIONS])
{
	static const size_t most[] = { [ENCODE_QUERY] = 40, [ENCODE_DOCUMENT] = 160 };
	uint16_t ids[TOKENS_MAX];
	size_t n = encoder_tokens(e, mode, text, ids, MIN(most[mode], (size_t)e->context));

	memset(ret, 0, ENCODER_DIMENSIONS * sizeof *ret);
	if (n < 2)
		return; /* the mark alone */
	look_up(e, ids, n, w->x);
	for (size_t l = 0; l < e->layers; l++) {
		look_at_each_other(e, w, &e->layer[l], n);
		think(e, w, &e->layer[l], n);
	}
	pool(e, w, n, w->wide);
	direction(e, w->wide, ret);
}

void encoder_encode(const struct encoder *e, struct encoder_work *w, enum encoder_mode mode, str text,
	struct vector *ret)
{
	float exact[ENCODER_DIMENSIONS], peak = 0;

	encoder_encode_exactly(e, w, mode, text, exact);
	for (size_t i = 0; i < ENCODER_DIMENSIONS; i++)
		peak = MAX(peak, fabsf(exact[i]));
	*ret = (struct vector){ .scale = peak / 127 };
	for (size_t i = 0; peak > 0 && i < ENCODER_DIMENSIONS; i++)
		ret->bytes[i] = (int8_t)lrintf(exact[i] * 127 / peak);
}

static uint64_t hash_text(str text)
{
	return hash_str(text) ^ text.n;
}

/* A prompt is looked for in several indexes, one after the other on one thread, so each thread keeps its last one. */
bool encoder_query(const struct encoder *e, str text, struct vector *ret)
{
	static _Thread_local struct {
		bool known;
		uint32_t version;
		uint64_t hash;
		struct vector vector;
	} last;
	uint64_t hash = hash_text(text);

	if (!last.known || last.version != encoder_version(e) || last.hash != hash) {
		struct encoder_work *w = encoder_work_new(e);

		encoder_encode(e, w, ENCODE_QUERY, text, &last.vector);
		encoder_work_free(w);
		last.known = true;
		last.version = encoder_version(e);
		last.hash = hash;
	}
	*ret = last.vector;
	return ret->scale > 0;
}
