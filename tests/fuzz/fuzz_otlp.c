/* Hostile batches: the first byte says how the rest is encoded. Whatever is handed over lies inside the input, is
 * within the limits, and becomes valid JSON; a second reading says the same. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "otlp/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

struct seen {
	size_t records;
	uint64_t sum; /* of all ids */
};

static void see(const struct otlp_record *r, void *arg)
{
	struct seen *s = arg;
	struct otlp_hook hook;
	struct json *payload;
	struct arena a;

	arena_init(&a);
	s->records++;
	check(r->nattributes <= OTLP_ATTRIBUTES_MAX);
	if (otlp_hook(r, &a, &hook)) {
		check(json_parse(&a, hook.payload, 0, &payload, NULL) == 0 && payload->type == JSON_OBJECT);
		check(hook.at_us >= 0 && hook.event);
		for (size_t i = 0; i < ULID_BYTES; i++)
			s->sum = s->sum * 31 + hook.id.b[i];
	}
	arena_release(&a);
}

static void read_it(str body, enum otlp_type type)
{
	struct seen first = { 0 }, second = { 0 };
	struct otlp_reading reading = { .record = see, .arg = &first }, again = { .record = see, .arg = &second };
	int r = otlp_read(body, type, &reading);

	check(r == 0 || r == -EBADMSG || r == -E2BIG);
	check(reading.records <= OTLP_RECORDS_MAX + 1 && (r < 0 || reading.records == first.records));
	check(otlp_read(body, type, &again) == r && first.sum == second.sum && first.records == second.records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str body = str_n((const char *)data + 1, size ? size - 1 : 0);
	struct buf unpacked;

	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0: read_it(body, OTLP_PROTOBUF); break;
	case 1: read_it(body, OTLP_JSON); break;
	default: check(otlp_gunzip(body, 1 << 20, &unpacked) != 0 || unpacked.len <= 1 << 20); buf_release(&unpacked);
	}
	return 0;
}
