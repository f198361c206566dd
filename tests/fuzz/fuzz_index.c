/* What an index reads that others wrote: rules of what is ignored, git's own index, a manifest. Any bytes end in finite
 * time, nothing is read past them, and what is taken up holds together. */
#include <stdint.h>
#include <stdlib.h>

#include "index/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void read_rules(str text, struct arena *a)
{
	static const char *const paths[] = { "a", "a/b.c", "src/deep/er/file.gen.py", "x\ny", "\xff" };
	const struct ignore *rules = ignore_parse(a, text, STR(""), NULL);
	const struct ignore *below = ignore_parse(a, text, STR("src"), rules);

	for (size_t i = 0; i < countof(paths); i++)
		(void)ignore_has(rules, str_of(paths[i]), i % 2);
	(void)ignore_has(below, STR("src/a/b"), true);
}

static void read_tracked(str bytes, struct arena *a)
{
	struct tracked t;

	tracked_parse(bytes, a, &t);
	for (size_t i = 0; i < t.n; i++)
		require(t.paths[i].n == 0 || t.paths[i].p != NULL);
	(void)tracked_has(&t, STR("src/main.c"), false);
	(void)tracked_has(&t, STR("src"), true);
}

static void read_manifest(str bytes)
{
	static struct manifest m;
	struct buf again = BUF_INIT(1 << 24);

	if (manifest_parse(bytes, &m) < 0)
		return;
	/* What was accepted is what would be written. */
	manifest_format(&m, &again);
	require(again.len == bytes.n);
	buf_release(&again);
	manifest_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str bytes = str_n((const char *)data, size);
	struct arena a = { 0 };

	read_rules(bytes, &a);
	read_tracked(bytes, &a);
	read_manifest(bytes);
	(void)skip_content(bytes, FILE_CODE);
	arena_release(&a);
	return 0;
}
