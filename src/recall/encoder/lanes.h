/* lanes: loops over eight floats at a time, written once for all machines. The compiler makes of them what the
 * function they are part of may use, so each set of kernels has these as its own. */
#ifndef HOOKD_ENCODER_LANES_H
#define HOOKD_ENCODER_LANES_H

#include <math.h>
#include <string.h>

#include "encoder/internal.h"

enum { LANES = 8, TURN = 32, PAIR = 2 };

#define INLINE static inline __attribute__((always_inline))

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef int8_t small_lanes __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef int32_t whole_lanes __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(4), may_alias));

/* e^x for each number, with a relative error of about 1e-6; x is not above 0. */
INLINE void exp_lanes(float *p)
{
	static const float terms[] = { 1 / 120.f, 1 / 24.f, 1 / 6.f, .5f, 1, 1 };
	lanes x = *(lanes *)p, part, sum;
	whole_lanes low = x < -80.f, power;

	/* 2^power · e^part; half is added because the conversion cuts towards zero, and x is negative. */
	x = (lanes)((low & (whole_lanes)(lanes){ -80, -80, -80, -80, -80, -80, -80, -80 }) | (~low & (whole_lanes)x));
	part = x * 1.44269504f;
	power = __builtin_convertvector(part - .5f, whole_lanes);
	part = (part - __builtin_convertvector(power, lanes)) * .69314718f;
	sum = part * (1 / 720.f) + terms[0];
	for (size_t i = 1; i < countof(terms); i++)
		sum = sum * part + terms[i];
	*(lanes *)p = sum * (lanes)((power + 127) << 23);
}

/* Keys of one head, number by number: then eight tokens are looked at in one step. */
INLINE size_t turn_keys(const struct attention *a)
{
	size_t rows = (a->rows + TURN - 1) / TURN * TURN;

	for (size_t t = 0; t < rows; t++)
		for (size_t i = 0; i < a->depth; i++)
			a->turned[i * rows + t] = t < a->rows ? a->key[t * a->stride + i] : 0;
	return rows;
}

INLINE float largest(const float *x, size_t n)
{
	lanes most = *(const lanes *)x;
	float found;

	for (size_t i = LANES; i < n; i += LANES) {
		lanes v = *(const lanes *)(x + i);
		whole_lanes larger = v > most;

		most = (lanes)((larger & (whole_lanes)v) | (~larger & (whole_lanes)most));
	}
	found = most[0];
	for (size_t i = 1; i < LANES; i++)
		found = most[i] > found ? most[i] : found;
	return found;
}

INLINE float sum_of(const float *x, size_t n)
{
	lanes sums = { 0 };
	float sum = 0;

	for (size_t i = 0; i < n; i += LANES)
		sums += *(const lanes *)(x + i);
	for (size_t i = 0; i < LANES; i++)
		sum += sums[i];
	return sum;
}

INLINE float product_of(const float *a, const float *b, size_t n)
{
	lanes sums = { 0 };

	for (size_t i = 0; i < n; i += LANES)
		sums += *(const lanes *)(a + i) * *(const lanes *)(b + i);
	return sum_of((const float *)&sums, LANES);
}

/* How much each token matters to two others: products of keys and queries, made to add up to 1. */
INLINE void weigh(const struct attention *a, const float *const query[PAIR], size_t rows)
{
	float scale = 1 / sqrtf((float)a->depth);

	for (size_t t = 0; t < rows; t += TURN) {
		lanes s[PAIR][TURN / LANES] = { 0 };

		for (size_t i = 0; i < a->depth; i++) {
			const float *keys = a->turned + i * rows + t;
			float q[PAIR] = { query[0][i] * scale, query[1][i] * scale };

#pragma GCC unroll 4
			for (size_t k = 0; k < TURN / LANES; k++) {
				lanes key = *(const lanes *)(keys + k * LANES);

				s[0][k] += q[0] * key;
				s[1][k] += q[1] * key;
			}
		}
		for (size_t p = 0; p < PAIR; p++)
			memcpy(a->weights + p * TOKENS_MAX + t, s[p], sizeof s[p]);
	}
	for (size_t p = 0; p < PAIR; p++) {
		float *weights = a->weights + p * TOKENS_MAX, most, sum;

		for (size_t t = a->rows; t < rows; t++)
			weights[t] = -INFINITY;
		most = largest(weights, rows);
		for (size_t t = 0; t < rows; t += LANES) {
			*(lanes *)(weights + t) -= most;
			exp_lanes(weights + t);
		}
		for (size_t t = a->rows; t < rows; t++)
			weights[t] = 0;
		sum = sum_of(weights, rows);
		for (size_t t = 0; t < rows; t += LANES)
			*(lanes *)(weights + t) /= sum;
	}
}

/* The values of all tokens, each by its weight. */
INLINE void blend(const struct attention *a, float *const out[PAIR])
{
	for (size_t i = 0; i < a->depth; i += TURN) {
		lanes s[PAIR][TURN / LANES] = { 0 };

		for (size_t t = 0; t < a->rows; t++) {
			const float *values = a->value + t * a->stride + i;
			float w[PAIR] = { a->weights[t], a->weights[TOKENS_MAX + t] };

#pragma GCC unroll 4
			for (size_t k = 0; k < TURN / LANES; k++) {
				lanes value = *(const lanes *)(values + k * LANES);

				s[0][k] += w[0] * value;
				s[1][k] += w[1] * value;
			}
		}
		for (size_t p = 0; p < PAIR; p++)
			memcpy(out[p] + i, s[p], sizeof s[p]);
	}
}

/* Two tokens at a time, so that keys and values are read half as often; a last one goes with itself. */
INLINE void attend_head(const struct attention *a)
{
	size_t rows = turn_keys(a);

	for (size_t t = 0; t < a->rows; t += PAIR) {
		size_t other = MIN(t + 1, a->rows - 1);
		const float *query[PAIR] = { a->query + t * a->stride, a->query + other * a->stride };
		float *out[PAIR] = { a->out + t * a->out_stride, a->out + other * a->out_stride };

		weigh(a, query, rows);
		blend(a, out);
	}
}

/* The largest size of n numbers. Sizes of floats are ordered like their bits. */
INLINE float peak_of(const float *x, size_t n)
{
	whole_lanes most = { 0 };
	float sizes[LANES], peak = 1e-9f;

	for (size_t i = 0; i < n; i += LANES) {
		whole_lanes size = *(const whole_lanes *)(x + i) & INT32_MAX, larger = size > most;

		most = (larger & size) | (~larger & most);
	}
	memcpy(sizes, &most, sizeof sizes);
	for (size_t i = 0; i < LANES; i++)
		peak = sizes[i] > peak ? sizes[i] : peak;
	return peak;
}

/* Each row by its own scale, so that its largest number is 127. */
INLINE void quantize_rows(const float *x, struct activations *a)
{
	for (size_t at = 0, t = 0; t < a->rows; t++) {
		float peak = peak_of(x + at, a->columns), by = 127 / peak;

		a->scale[t] = peak / 127;
		for (size_t end = at + a->columns; at < end; at += LANES) {
			lanes v = *(const lanes *)(x + at) * by;
			/* A half with the sign of v: the conversion cuts towards zero. */
			whole_lanes half = ((whole_lanes)v & INT32_MIN) | 0x3F000000;
			whole_lanes q = __builtin_convertvector(v + (lanes)half, whole_lanes), sign = q >> 31;

			*(small_lanes *)(a->bytes + at) = __builtin_convertvector(q, small_lanes);
			*(small_lanes *)(a->unsigned_bytes + at) =
				__builtin_convertvector((q ^ sign) - sign, small_lanes);
		}
	}
}

#endif
