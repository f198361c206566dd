#include "base/hmac.h"

#include <string.h>

enum { BLOCK = 64 };

static void begin(struct sha256 *s, const uint8_t key[BLOCK], uint8_t with)
{
	uint8_t pad[BLOCK];

	for (size_t i = 0; i < BLOCK; i++)
		pad[i] = key[i] ^ with;
	sha256_init(s);
	sha256_add(s, pad, sizeof pad);
	explicit_bzero(pad, sizeof pad);
}

void hmac_init(struct hmac *h, str key)
{
	uint8_t block[BLOCK] = { 0 };
	struct sha256 s;

	if (key.n > BLOCK) {
		sha256_init(&s);
		sha256_add(&s, key.p, key.n);
		sha256_end(&s, block);
	} else if (key.n) {
		memcpy(block, key.p, key.n);
	}
	begin(&h->inner, block, 0x36);
	begin(&h->outer, block, 0x5c);
	explicit_bzero(block, sizeof block);
}

void hmac_add(struct hmac *h, str bytes)
{
	sha256_add(&h->inner, bytes.p ? bytes.p : "", bytes.n);
}

void hmac_end(struct hmac *h, uint8_t out[SHA256_BYTES])
{
	sha256_end(&h->inner, out);
	sha256_add(&h->outer, out, SHA256_BYTES);
	sha256_end(&h->outer, out);
}

bool hmac_is(const uint8_t digest[SHA256_BYTES], str hex)
{
	char wanted[SHA256_HEX + 1];
	unsigned differ = hex.n != SHA256_HEX;

	sha256_hex(digest, wanted);
	for (size_t i = 0; i < SHA256_HEX && hex.n; i++) {
		char c = hex.p[i % hex.n];

		differ |= (unsigned char)(wanted[i] ^ (c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c));
	}
	return !differ;
}
