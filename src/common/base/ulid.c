#include "base/ulid.h"

#include <sys/random.h>

#include "base/clock.h"
#include "base/sha256.h"

struct ulid ulid_from(int64_t ms, const uint8_t random[10])
{
	struct ulid u;

	for (int i = 0; i < 6; i++)
		u.b[i] = (uint8_t)(ms >> (8 * (5 - i)));
	memcpy(u.b + 6, random, 10);
	return u;
}

struct ulid ulid_make(void)
{
	int64_t us = clock_wall_us();
	uint8_t random[10];

	/* Without a random source (an ancient sandbox) the finer clock digits and an address keep
	 * keys apart on one machine. */
	if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
		uint64_t mix = ((uint64_t)(uintptr_t)&us << 20) ^ (uint64_t)clock_mono_us() * 0x9E3779B97F4A7C15u;

		memcpy(random, &mix, 8);
		memcpy(random + 8, &us, 2);
	}
	return ulid_from(us / USEC_PER_MSEC, random);
}

struct ulid ulid_derive(const struct ulid *u, str what)
{
	uint8_t hash[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, u->b, ULID_BYTES);
	sha256_add(&s, what.p, what.n);
	sha256_end(&s, hash);
	return ulid_from(ulid_ms(u), hash);
}

int64_t ulid_ms(const struct ulid *u)
{
	int64_t ms = 0;

	for (int i = 0; i < 6; i++)
		ms = ms << 8 | u->b[i];
	return ms;
}

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void ulid_format(const struct ulid *u, char out[ULID_TEXT + 1])
{
	/* 128 bits in 26 letters of 5 bits: the first letter holds only 3. */
	for (int i = 0; i < ULID_TEXT; i++) {
		int bit = i * 5 - 2, value = 0;

		for (int k = 0; k < 5; k++, bit++)
			value = value << 1 | (bit >= 0 ? u->b[bit / 8] >> (7 - bit % 8) & 1 : 0);
		out[i] = alphabet[value];
	}
	out[ULID_TEXT] = 0;
}

bool ulid_parse(str text, struct ulid *ret)
{
	struct ulid u = { { 0 } };

	if (text.n != ULID_TEXT || text.p[0] > '7')
		return false;
	for (int i = 0; i < ULID_TEXT; i++) {
		char c = text.p[i];
		const char *at;
		int value, bit = i * 5 - 2;

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 32);
		at = c ? strchr(alphabet, c) : NULL;
		if (!at)
			return false;
		value = (int)(at - alphabet);
		for (int k = 4; k >= 0; k--, bit++)
			if (bit >= 0 && value >> k & 1)
				u.b[bit / 8] |= (uint8_t)(1 << (7 - bit % 8));
	}
	*ret = u;
	return true;
}
