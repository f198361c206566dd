/* crc32c: checksum of journal records (Castagnoli polynomial). The processor's instruction where
 * there is one, a table elsewhere; both give the same value. */
#ifndef HOOKD_BASE_CRC32C_H
#define HOOKD_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Start with 0 and feed the result back in to go on. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

#endif
