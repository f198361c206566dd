/* internal: what the files of the encoder share. */
#ifndef HOOKD_ENCODER_INTERNAL_H
#define HOOKD_ENCODER_INTERNAL_H

#include <stdbool.h>

#include "encoder/encoder.h"

enum {
	LAYERS_MAX = 16,
	TOKENS_MAX = 256,
	TOKEN_QUERY = 2,
	TOKEN_DOCUMENT = 3,
	TOKEN_OTHER = 4,   /* and the next 255: characters beyond ASCII, by hash */
	TOKEN_WORDS = 260, /* words and pieces of words begin here */
};

/* Rows of bytes with a scale each. */
struct table {
	const float *scale;
	const int8_t *bytes;
};

/* A table to multiply with: four numbers each of eight rows lie together. */
struct matrix {
	unsigned rows, columns; /* both multiples of 32 */
	const float *scale;
	const int32_t *excess; /* -128 × the sum of each row */
	const int8_t *bytes;
};

struct layer {
	const float *norm_attention, *norm_inner;
	struct matrix qkv, out, up, down;
};

/* Words as they lie in the file: a hash table of their numbers (plus one; 0 is free), and the letters. */
struct vocabulary {
	unsigned words, slots; /* slots: a power of two */
	const uint16_t *slot;
	const uint32_t *offset; /* of each word's letters, and of the end */
	const char *letters;
};

struct encoder {
	void *map;
	size_t size;
	uint32_t version;
	unsigned width, layers, heads, inner, context;
	struct vocabulary vocabulary;
	struct table embedding, last;
	struct layer layer[LAYERS_MAX];
	const float *norm_last, *pool;
	float *turn_cos, *turn_sin; /* of each position and pair of numbers of a head */
};

size_t tokens_of(const struct vocabulary *v, str text, uint16_t *ret, size_t max);

/* -- inner loops ------------------------------------------------------------------------------- */

/* What goes into a product: rows of bytes with a scale each, and the same without signs in the form that the kernels
 * like best, either sizes or 128 more. */
struct activations {
	size_t rows, columns;
	int8_t *bytes;
	uint8_t *unsigned_bytes;
	float *scale;
	bool positive; /* there are no signs anyway */
};

/* Queries, keys and values of all heads of `rows` tokens, `stride` numbers a token; `depth` numbers a head. */
struct attention {
	const float *query, *key, *value;
	size_t rows, stride, depth;
	float *turned; /* room for depth × rows rounded up */
	float *weights;
	float *out;
	size_t out_stride;
};

struct kernels {
	const char *name;
	void (*quantize)(const float *x, struct activations *a);
	/* y[row][r] = a[row] · m[r], or added to what is there. */
	void (*multiply)(const struct matrix *m, const struct activations *a, float *y, bool add);
	void (*attend)(const struct attention *a);
	int32_t (*dot)(const int8_t *a, const int8_t *b, size_t n);
};

extern const struct kernels kernels_portable;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2, kernels_vnni;
#endif

const struct kernels *kernels_of_this_machine(void);

struct encoder_work {
	const struct kernels *kernels;
	float *x;      /* a row of `width` for each token */
	float *normal; /* the same at the right size for the next step */
	float *wide;   /* queries, keys and values, or what is inside a layer */
	float *turned, *weights;
	struct activations activations;
};

#endif
