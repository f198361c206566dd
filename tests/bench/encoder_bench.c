/* How long the encoder takes: encoder_bench WEIGHTS [avx2|portable] prints, for texts of some lengths and for a scan
 * of 100,000 vectors, the best of many runs in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "encoder/internal.h"

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* n - 1 words, so n tokens with the mark. */
static double encode(const struct encoder *e, struct encoder_work *w, size_t n)
{
	char text[160 * 4 + 1];
	double best = 1e9;
	struct vector v;

	for (size_t i = 0; i + 1 < n; i++)
		memcpy(text + 4 * i, i % 2 ? "the " : "add ", 4);
	for (int round = 0; round < 40; round++) {
		double began = milliseconds();

		encoder_encode(e, w, n > 40 ? ENCODE_DOCUMENT : ENCODE_QUERY, str_n(text, 4 * (n - 1)), &v);
		best = MIN(best, milliseconds() - began);
	}
	return best;
}

static double scan(size_t n)
{
	struct vector *all = xcalloc(n, sizeof *all), query = { .scale = 1 };
	float *ret = xcalloc(n, sizeof *ret);
	double best = 1e9;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ENCODER_DIMENSIONS; k++)
			all[i].bytes[k] = (int8_t)(i * 31 + k * 7);
	for (int round = 0; round < 40; round++) {
		double began = milliseconds();

		vector_scan(&query, all, n, ret);
		best = MIN(best, milliseconds() - began);
	}
	free(all);
	free(ret);
	return best;
}

int main(int argc, char **argv)
{
	static const struct kernels *const others[] = {
		&kernels_portable,
#if defined(__x86_64__)
		&kernels_avx2,
#endif
	};
	static const size_t lengths[] = { 8, 32, 64, 130, 150 };
	struct encoder *e;
	struct encoder_work *w;
	struct err err;

	if (argc < 2 || encoder_open(argv[1], &e, &err) < 0) {
		fprintf(stderr, "encoder_bench: %s\n", argc >= 2 ? err.text : "give the file of weights");
		return 1;
	}
	w = encoder_work_new(e);
	for (size_t i = 0; argc == 3 && i < countof(others); i++)
		if (strcmp(argv[2], others[i]->name) == 0)
			w->kernels = others[i];
	printf("%s\n", w->kernels->name);
	for (size_t i = 0; i < countof(lengths); i++)
		printf("%zu tokens: %.2f ms\n", lengths[i], encode(e, w, lengths[i]));
	printf("scan of 100,000: %.2f ms\n", scan(100000));
	encoder_work_free(w);
	encoder_close(e);
	return 0;
}
