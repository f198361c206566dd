/* The inner loops in plain C, and which ones this machine gets. */
#include <pthread.h>

#include "encoder/lanes.h"

static void quantize(const float *x, struct activations *a)
{
	quantize_rows(x, a);
}

static int32_t dot(const int8_t *a, const int8_t *b, size_t n)
{
	int32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static void multiply(const struct matrix *m, const struct activations *a, float *y, bool add)
{
	for (size_t t = 0; t < a->rows; t++)
		for (size_t r = 0; r < m->rows; r += 8) {
			const int8_t *x = a->bytes + t * a->columns, *w = m->bytes + r * m->columns;
			int32_t sum[8] = { 0 };

			for (size_t k = 0; k < m->columns; k += 4, w += 32)
				for (size_t i = 0; i < 32; i++)
					sum[i / 4] += x[k + i % 4] * w[i];
			for (size_t i = 0; i < 8; i++) {
				float *to = y + t * m->rows + r + i;
				float product = (float)sum[i] * (a->scale[t] * m->scale[r + i]);

				*to = add ? *to + product : product;
			}
		}
}

static void attend(const struct attention *a)
{
	attend_head(a);
}

const struct kernels kernels_portable = { "portable", quantize, multiply, attend, dot };

static const struct kernels *chosen = &kernels_portable;
static pthread_once_t choosing = PTHREAD_ONCE_INIT;

static void choose(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		chosen = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl") ? &kernels_vnni
												    : &kernels_avx2;
#endif
}

const struct kernels *kernels_of_this_machine(void)
{
	pthread_once(&choosing, choose);
	return chosen;
}

const char *encoder_kernels(void)
{
	return kernels_of_this_machine()->name;
}
