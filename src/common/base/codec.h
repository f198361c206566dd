/* codec: numbers as bytes, the same on every machine: little endian, and of as many bytes as the format says. */
#ifndef HOOKD_BASE_CODEC_H
#define HOOKD_BASE_CODEC_H

#include <stddef.h>
#include <stdint.h>

static inline void put_le(void *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t get_le(const void *from, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = bytes; i-- > 0;)
		value = value << 8 | ((const uint8_t *)from)[i];
	return value;
}

#endif
