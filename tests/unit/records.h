/* records: sample records for the tests of journal, store and capture. (Elsewhere records come from
 * redact() alone.) */
#ifndef HOOKD_TESTS_UNIT_RECORDS_H
#define HOOKD_TESTS_UNIT_RECORDS_H

#include "event/event.h"

/* The n-th record: told apart by its id, its time and its payload. */
static inline struct record record_sample(unsigned n, str payload)
{
	uint8_t random[10] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

	return (struct record){
		.id = ulid_from(1700000000000 + n, random),
		.at_us = (1700000000000 + n) * INT64_C(1000),
		.kind = EVENT_PRE_TOOL_USE,
		.tool_class = TOOL_SHELL,
		.agent = STR("claude"),
		.native = STR("PreToolUse"),
		.session = STR("s-1"),
		.cwd = STR("/home/dev/proj"),
		.tool_name = STR("Bash"),
		.tool_use_id = STR("toolu_1"),
		.payload = payload,
	};
}

static inline unsigned record_number(const struct record *r)
{
	return (unsigned)r->id.b[6] << 24 | (unsigned)r->id.b[7] << 16 | (unsigned)r->id.b[8] << 8 | r->id.b[9];
}

#endif
