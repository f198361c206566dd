/* format: the bytes of a segment, shared by the files of this module only. */
#ifndef HOOKD_JOURNAL_FORMAT_H
#define HOOKD_JOURNAL_FORMAT_H

#include <stdint.h>

#include "base/crc32c.h"
#include "journal/journal.h"

enum {
	SEGMENT_HEADER = JOURNAL_FIRST_OFFSET, /* magic 8, version 4, ends 4, number 8, identity 8 */
	SEGMENT_END = 8,                       /* zeros behind the last record, always */
	RECORD_PREFIX = 8,                     /* length 4, checksum 4 */
	SEGMENT_VERSION = 1,
	SEGMENT_NAME = 32,
};

#define SEGMENT_MAGIC "hookdjnl"

static inline void format_put(void *to, uint64_t value, int n)
{
	for (int i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t format_get(const void *from, int n)
{
	uint64_t value = 0;

	for (int i = n; i-- > 0;)
		value = value << 8 | ((const uint8_t *)from)[i];
	return value;
}

static inline uint32_t format_checksum(const void *length, const void *body, size_t n)
{
	return crc32c(crc32c(0, length, 4), body, n);
}

/* What makes it known that a file was cut behind a record. ENDS_IN_ZEROS: SEGMENT_END zeros follow the last one, which
 * earlier releases did not write. The rest: 0 unknown, or 1 + the number of records in the segment before this one (in
 * a file of the spool, in itself). */
#define ENDS_IN_ZEROS UINT32_C(0x80000000)

void format_segment_header(uint8_t out[SEGMENT_HEADER], uint64_t number, uint64_t identity, uint32_t ends);

void format_segment_name(char out[SEGMENT_NAME], uint64_t number);

/* Appends prefix and body of one record to b. */
int format_add_record(struct buf *b, const struct record *r);

#endif
