/* prices: what models cost, for an estimate. */
#ifndef HOOKD_API_PRICES_H
#define HOOKD_API_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* When the table was last looked at; shown beside every sum. */
extern const char prices_as_of[];

/* Micro-dollars for these tokens. False: the model is not in the table. */
bool price_of(str model, int64_t input, int64_t cache_read, int64_t cache_write, int64_t output, int64_t *ret);

#endif
