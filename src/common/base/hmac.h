/* hmac: HMAC-SHA256 (RFC 2104), for what is signed and what was signed by others. */
#ifndef HOOKD_BASE_HMAC_H
#define HOOKD_BASE_HMAC_H

#include <stdbool.h>

#include "base/sha256.h"
#include "base/str.h"

struct hmac {
	struct sha256 inner, outer;
};

void hmac_init(struct hmac *h, str key);
void hmac_add(struct hmac *h, str bytes);
void hmac_end(struct hmac *h, uint8_t out[SHA256_BYTES]);

/* Takes the same time wherever they differ. */
bool hmac_is(const uint8_t digest[SHA256_BYTES], str hex);

#endif
