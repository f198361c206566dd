#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
		table[i] = c;
	}
}

static uint32_t crc_table(uint32_t crc, const unsigned char *p, size_t n)
{
	pthread_once(&table_once, make_table);
	while (n--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xFF];
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const unsigned char *p, size_t n)
{
	uint64_t c = crc, word;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	crc = (uint32_t)c;
	while (n--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}

static uint32_t crc_best(uint32_t crc, const unsigned char *p, size_t n)
{
	return __builtin_cpu_supports("sse4.2") ? crc_sse42(crc, p, n) : crc_table(crc, p, n);
}
#else
static uint32_t crc_best(uint32_t crc, const unsigned char *p, size_t n)
{
	return crc_table(crc, p, n);
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
	return ~crc_best(~crc, p, n);
}
