/* Directions as bytes. */
#include "encoder/internal.h"

float vector_cosine(const struct vector *a, const struct vector *b)
{
	return (float)kernels_of_this_machine()->dot(a->bytes, b->bytes, ENCODER_DIMENSIONS) * a->scale * b->scale;
}

void vector_scan(const struct vector *query, const struct vector *all, size_t n, float *ret)
{
	const struct kernels *k = kernels_of_this_machine();

	for (size_t i = 0; i < n; i++)
		ret[i] = (float)k->dot(query->bytes, all[i].bytes, ENCODER_DIMENSIONS) * query->scale * all[i].scale;
}
