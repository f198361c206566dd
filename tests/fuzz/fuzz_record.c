/* Hostile bytes as a record: what decodes lies inside the bytes, and encoded again decodes to the
 * same. */
#include <stdint.h>
#include <stdlib.h>

#include "event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The str members of a record, in pairs. */
#define EACH_TEXT(X) \
	X(agent)     \
	X(native) X(session) X(cwd) X(transcript_path) X(agent_id) X(tool_name) X(tool_use_id) X(host) X(payload)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str bytes = str_n((const char *)data, size);
	struct buf b = BUF_INIT(64 << 20);
	struct record r, again;

	if (record_decode(bytes, &r) < 0)
		return 0;
	check(r.kind < EVENT_KIND_MAX && r.tool_class < TOOL_CLASS_MAX);
#define INSIDE(m) check(!r.m.p || (r.m.p >= bytes.p && r.m.p + r.m.n <= bytes.p + bytes.n));
	EACH_TEXT(INSIDE)
	check(record_encode(&r, &b) == 0);
	check(record_decode(buf_str(&b), &again) == 0);
	check(ulid_eq(&r.id, &again.id) && r.at_us == again.at_us && r.order_us == again.order_us);
	check(r.kind == again.kind && r.tool_class == again.tool_class && r.marks == again.marks);
#define SAME(m) check(str_is_set(r.m) == str_is_set(again.m) && str_eq(r.m, again.m));
	EACH_TEXT(SAME)
	buf_release(&b);
	return 0;
}
