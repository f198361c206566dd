/* Texts as documents and as a query; and bytes as a segment that somebody damaged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "retrieve/retrieve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lines are documents, the last one is the query; a line's first byte is its thread. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment_doc docs[32];
	struct buf b = BUF_INIT(MIB(64));
	str rest = str_n((const char *)data, size), line, query = STR("");
	struct hit hits[8];
	struct segment *s;
	size_t n = 0;

	while (n < 32 && str_split(&rest, '\n', &line)) {
		docs[n] = (struct segment_doc){ .key = (int64_t)n, .thread = line.n ? line.p[0] & 3 : 0, .text = line };
		n++;
		query = line;
	}
	segment_build(docs, n, 1, &b);
	s = segment_from(&b);
	n = index_search(&(struct index_part){ .segment = s, .dead = NULL }, 1, query, NULL, hits, 8, NULL);
	for (size_t i = 1; i < n; i++)
		if (hits[i].score > hits[i - 1].score)
			abort();
	segment_unref(s);
	return 0;
}
