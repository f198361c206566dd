/* otlp_bench FILE protobuf|json [map]: how many records a second are read from a batch, on one core; the batch is read
 * again and again for a second. With a third word, what is news about an agent is put into the words of its hook. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "otlp/otlp.h"

static size_t hooks, attributes;
static bool maps;

static void take(const struct otlp_record *r, void *arg)
{
	struct arena *a = arg;
	struct otlp_hook hook;

	attributes += r->nattributes;
	if (!maps)
		return;
	arena_reset(a);
	hooks += otlp_hook(r, a, &hook);
}

int main(int argc, char **argv)
{
	struct buf body = BUF_INIT(MIB(64));
	struct arena a;
	struct otlp_reading reading = { .record = take, .arg = &a };
	int64_t begin = clock_mono_us(), took;
	size_t records = 0;

	arena_init(&a);
	maps = argc == 4;
	if (argc < 3 || fs_read_file(argv[1], &body) < 0)
		return 2;
	do {
		if (otlp_read(buf_str(&body), argv[2][0] == 'j' ? OTLP_JSON : OTLP_PROTOBUF, &reading) < 0)
			return 1;
		records += reading.records;
		took = clock_mono_us() - begin;
	} while (took < USEC_PER_SEC);
	printf("{\"records_per_s\": %.0f, \"bytes\": %.0f, \"attributes\": %.1f, \"hooks\": %.2f}\n",
		(double)records * 1e6 / (double)took, (double)body.len / (double)reading.records,
		(double)attributes / (double)records, (double)hooks / (double)records);
	arena_release(&a);
	buf_release(&body);
	return 0;
}
