/* encoder: a text becomes a direction, so that texts which mean the same lie close together. A small network of our
 * own, for prose and code, with weights of bytes; no other model, no network. Knows nothing of memories or the store.
 *
 *   tokens.c       text → numbers of words and pieces of words
 *   weights.c      the file of weights: checked once, then mapped
 *   forward.c      the network
 *   kernels.c      the inner loops in plain C, and which ones this machine gets
 *   kernels_x86.c  the same for AVX2 and VNNI
 *   vector.c       directions as bytes, and how close two are
 *
 * DESIGN. The weights are shared by all threads and never change; what a thread needs beside them is in its own
 * encoder_work. A text takes milliseconds (docs/decisions/0019-encoder.md has figures), so it is encoded on a worker
 * and the result is kept. Vectors of different versions of the weights have nothing to do with each other: whoever
 * keeps them keeps the version too. */
#ifndef HOOKD_ENCODER_ENCODER_H
#define HOOKD_ENCODER_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"

enum { ENCODER_DIMENSIONS = 256 };

enum encoder_mode {
	ENCODE_QUERY,    /* what somebody asks or is about to do: 40 tokens */
	ENCODE_DOCUMENT, /* what may answer it: 160 tokens */
};

struct vector {
	float scale; /* one step of a byte; 0: of a text without a word, close to nothing */
	int8_t bytes[ENCODER_DIMENSIONS];
};

struct encoder;
struct encoder_work;

/* -ENOENT: there is no such file; -EBADMSG: it is damaged, or of another release. */
int encoder_open(const char *path, struct encoder **ret, struct err *err);
void encoder_close(struct encoder *e);
DEFINE_FREEP(struct encoder, encoder_close);
uint32_t encoder_version(const struct encoder *e);
/* Gives back the pages of the weights, which stay in the system's cache: after much was encoded. */
void encoder_rest(const struct encoder *e);
/* Which inner loops this machine gets. */
const char *encoder_kernels(void);

struct encoder_work *encoder_work_new(const struct encoder *e);
void encoder_work_free(struct encoder_work *w);
DEFINE_FREEP(struct encoder_work, encoder_work_free);

/* Any bytes are valid text; what is beyond the mode's tokens is not looked at. */
void encoder_encode(const struct encoder *e, struct encoder_work *w, enum encoder_mode mode, str text,
	struct vector *ret);
/* The same for a single query; false: it has no word that is known. */
bool encoder_query(const struct encoder *e, str text, struct vector *ret);
/* The same before it becomes bytes. */
void encoder_encode_exactly(const struct encoder *e, struct encoder_work *w, enum encoder_mode mode, str text,
	float ret[ENCODER_DIMENSIONS]);
/* The numbers a text consists of, its mark first; at most max. */
size_t encoder_tokens(const struct encoder *e, enum encoder_mode mode, str text, uint16_t *ret, size_t max);

/* From -1 to 1. */
float vector_cosine(const struct vector *a, const struct vector *b);
/* The cosines of n vectors that lie one after the other. */
void vector_scan(const struct vector *query, const struct vector *all, size_t n, float *ret);

#endif
