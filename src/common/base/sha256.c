#include "base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

/* The eight variables change places by name: moving them through memory made every round a call of
 * memmove in musl, seventeen times slower, and hookc has ten seconds for what it drains. */
static void compress(struct sha256 *s, const uint8_t *p)
{
	uint32_t w[64];
	uint32_t a = s->h[0], b = s->h[1], c = s->h[2], d = s->h[3];
	uint32_t e = s->h[4], f = s->h[5], g = s->h[6], h = s->h[7];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t x = w[i - 15], y = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) +
			(rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
	}
	for (int i = 0; i < 64; i++) {
		uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
		uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

		h = g, g = f, f = e, e = d + t1;
		d = c, c = b, b = a, a = t1 + t2;
	}
	s->h[0] += a, s->h[1] += b, s->h[2] += c, s->h[3] += d;
	s->h[4] += e, s->h[5] += f, s->h[6] += g, s->h[7] += h;
}

void sha256_init(struct sha256 *s)
{
	*s = (struct sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
				      0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const void *p, size_t n)
{
	const uint8_t *in = p;
	size_t have = s->len % 64;

	if (!n)
		return; /* p may be NULL then, which memcpy() must not see */
	s->len += n;
	if (have) {
		size_t take = 64 - have < n ? 64 - have : n;

		memcpy(s->block + have, in, take);
		in += take;
		n -= take;
		if (have + take < 64)
			return;
		compress(s, s->block);
	}
	for (; n >= 64; in += 64, n -= 64)
		compress(s, in);
	if (n)
		memcpy(s->block, in, n);
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
	static const uint8_t pad[64] = { 0x80 };
	uint64_t bits = s->len * 8;
	uint8_t tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (uint8_t)(bits >> (8 * (7 - i)));
	sha256_add(s, pad, 1 + (119 - s->len % 64) % 64);
	sha256_add(s, tail, 8);
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (8 * (3 - i % 4)));
}

void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX + 1])
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < SHA256_BYTES; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[SHA256_HEX] = 0;
}
