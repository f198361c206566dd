/* sha256: FIPS 180-4. Used for what identifies (cut payloads, session markers, file contents), never
 * on the path of an ordinary event. No allocation: hookc uses it for what it drains. */
#ifndef HOOKD_BASE_SHA256_H
#define HOOKD_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 64 };

struct sha256 {
	uint32_t h[8];
	uint64_t len;
	uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);
void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX + 1]);

#endif
