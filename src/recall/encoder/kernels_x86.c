/* The inner loops for AVX2 and VNNI. * One step multiplies four numbers of a row of activations with four numbers
 * each of eight rows of weights, which lie together for this, so a register ends up with eight results. The
 * instructions multiply unsigned with signed bytes. AVX2: the sizes of the activations by the weights with the
 * activations' signs; the largest sum of two products, 2 · 127 · 127, fits into the 16 bits that it has on the way.
 * VNNI has room for any sum, so 128 is added to the activations, and what that is too much is taken off first. Four
 * rows of activations go through the weights together, which are then read once for all four. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "encoder/lanes.h"

enum { TOGETHER = 4, EIGHTS = 4 };

#define AVX2 __attribute__((target("avx2,fma")))
#define VNNI __attribute__((target("avx2,fma,avx512vnni,avx512vl")))

/* Rows of activations from t on; beyond the last one the first is taken again, and its result is not used. */
static inline size_t rows_from(const struct activations *a, size_t t, size_t offset[TOGETHER])
{
	size_t n = MIN(a->rows - t, (size_t)TOGETHER);

	for (size_t i = 0; i < TOGETHER; i++)
		offset[i] = (t + (i < n ? i : 0)) * a->columns;
	return n;
}

AVX2 static inline __attribute__((always_inline)) __m256i four_bytes(const void *p)
{
	int32_t four;

	memcpy(&four, p, sizeof four);
	return _mm256_set1_epi32(four);
}

AVX2 static inline __attribute__((always_inline)) void put_eight(float *to, __m256i sums, float row, const float *scale,
	bool add)
{
	__m256 by = _mm256_mul_ps(_mm256_set1_ps(row), _mm256_loadu_ps(scale));
	__m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), by);

	_mm256_storeu_ps(to, add ? _mm256_add_ps(_mm256_loadu_ps(to), product) : product);
}

AVX2 static inline __attribute__((always_inline)) void multiply_by_signs(const struct matrix *m,
	const struct activations *a, float *y, bool add, bool positive)
{
	const __m256i ones = _mm256_set1_epi16(1);

	for (size_t t = 0; t < a->rows; t += TOGETHER) {
		size_t offset[TOGETHER], n = rows_from(a, t, offset);

		for (size_t r = 0; r < m->rows; r += 16) {
			const int8_t *w = m->bytes + r * m->columns, *next = w + 8 * (size_t)m->columns;
			__m256i s[TOGETHER][2] = { 0 };

			for (size_t k = 0; k < m->columns; k += 4) {
				__m256i low = _mm256_loadu_si256((const __m256i *)(w + 8 * k)),
					high = _mm256_loadu_si256((const __m256i *)(next + 8 * k));

#pragma GCC unroll 4
				for (size_t i = 0; i < TOGETHER; i++) {
					__m256i size = four_bytes(a->unsigned_bytes + offset[i] + k), x = low, z = high;

					if (!positive) {
						__m256i sign = four_bytes(a->bytes + offset[i] + k);

						x = _mm256_sign_epi8(low, sign);
						z = _mm256_sign_epi8(high, sign);
					}
					x = _mm256_madd_epi16(_mm256_maddubs_epi16(size, x), ones);
					z = _mm256_madd_epi16(_mm256_maddubs_epi16(size, z), ones);
					s[i][0] = _mm256_add_epi32(s[i][0], x);
					s[i][1] = _mm256_add_epi32(s[i][1], z);
				}
			}
			for (size_t i = 0; i < n; i++)
				for (size_t half = 0; half < 2; half++)
					put_eight(y + (t + i) * m->rows + r + 8 * half, s[i][half], a->scale[t + i],
						m->scale + r + 8 * half, add);
		}
	}
}

AVX2 static void multiply_avx2(const struct matrix *m, const struct activations *a, float *y, bool add)
{
	if (a->positive)
		multiply_by_signs(m, a, y, add, true);
	else
		multiply_by_signs(m, a, y, add, false);
}

VNNI static void multiply_vnni(const struct matrix *m, const struct activations *a, float *y, bool add)
{
	for (size_t t = 0; t < a->rows; t += TOGETHER) {
		size_t offset[TOGETHER], n = rows_from(a, t, offset);

		for (size_t r = 0; r < m->rows; r += 8 * EIGHTS) {
			const int8_t *w = m->bytes + r * m->columns;
			__m256i s[TOGETHER][EIGHTS], x[EIGHTS];

#pragma GCC unroll 4
			for (size_t i = 0; i < TOGETHER; i++)
#pragma GCC unroll 4
				for (size_t e = 0; e < EIGHTS; e++)
					s[i][e] = _mm256_loadu_si256((const __m256i *)(m->excess + r + 8 * e));
			for (size_t k = 0; k < m->columns; k += 4) {
#pragma GCC unroll 4
				for (size_t e = 0; e < EIGHTS; e++)
					x[e] = _mm256_loadu_si256((const __m256i *)(w + 8 * (e * m->columns + k)));
#pragma GCC unroll 4
				for (size_t i = 0; i < TOGETHER; i++) {
					__m256i four = four_bytes(a->unsigned_bytes + offset[i] + k);

#pragma GCC unroll 4
					for (size_t e = 0; e < EIGHTS; e++)
						s[i][e] = _mm256_dpbusd_epi32(s[i][e], four, x[e]);
				}
			}
			for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
				for (size_t e = 0; e < EIGHTS; e++)
					put_eight(y + (t + i) * m->rows + r + 8 * e, s[i][e], a->scale[t + i],
						m->scale + r + 8 * e, add);
		}
	}
}

/* 32 numbers as bytes; packing leaves them in groups of four in another order. */
AVX2 static inline __attribute__((always_inline)) __m256i pack_32(const float *x, __m256 by)
{
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i q[4];

	for (size_t i = 0; i < 4; i++)
		q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), by));
	q[0] = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
	return _mm256_permutevar8x32_epi32(q[0], order);
}

AVX2 static inline __attribute__((always_inline)) void quantize_packed(const float *x, struct activations *a, bool more)
{
	for (size_t at = 0, t = 0; t < a->rows; t++) {
		float peak = peak_of(x + at, a->columns);
		__m256 by = _mm256_set1_ps(127 / peak);

		a->scale[t] = peak / 127;
		for (size_t end = at + a->columns; at < end; at += 32) {
			__m256i q = pack_32(x + at, by);

			_mm256_storeu_si256((__m256i *)(a->bytes + at), q);
			q = more ? _mm256_xor_si256(q, _mm256_set1_epi8(INT8_MIN)) : _mm256_abs_epi8(q);
			_mm256_storeu_si256((__m256i *)(a->unsigned_bytes + at), q);
		}
	}
}

AVX2 static void quantize_avx2(const float *x, struct activations *a)
{
	quantize_packed(x, a, false);
}

AVX2 static void quantize_vnni(const float *x, struct activations *a)
{
	quantize_packed(x, a, true);
}

AVX2 static void attend_avx2(const struct attention *a)
{
	attend_head(a);
}

/* Sixteen bytes become sixteen numbers of 16 bits: a single row needs no trick. */
AVX2 static int32_t dot_avx2(const int8_t *a, const int8_t *b, size_t n)
{
	__m256i s = _mm256_setzero_si256();
	__m128i half;

	for (size_t k = 0; k < n; k += 16) {
		__m256i x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(a + k)));
		__m256i y = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(b + k)));

		s = _mm256_add_epi32(s, _mm256_madd_epi16(x, y));
	}
	half = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
	half = _mm_hadd_epi32(half, half);
	return _mm_cvtsi128_si32(_mm_hadd_epi32(half, half));
}

const struct kernels kernels_avx2 = { "avx2", quantize_avx2, multiply_avx2, attend_avx2, dot_avx2 };
const struct kernels kernels_vnni = { "vnni", quantize_vnni, multiply_vnni, attend_avx2, dot_avx2 };

#endif
