/* Any config.toml that is accepted: our line goes in, is read back, stays as it is the second time, and
 * comes out again with every byte in place when it was not there before. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "install/notify.h"
#include "install/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/* Touches every byte that is handed over. */
static void take(const struct toml_value *v, void *ctx)
{
	unsigned *sum = ctx;

	for (size_t i = 0; i < v->npath; i++)
		for (size_t k = 0; k < v->path[i].n; k++)
			*sum += (unsigned char)v->path[i].p[k];
	for (size_t k = 0; k < v->text.n; k++)
		*sum += (unsigned char)v->text.p[k];
	require(v->npath > 0 && v->statement <= v->begin && v->begin < v->end);
}

static void check(const struct install_request *q, str text, struct arena *a)
{
	struct install_entry *before, *after;
	struct install_counts n, m;
	struct toml_shape shape;
	str with, again, without;
	unsigned sum = 0;

	if (toml_scan(text, a, take, &sum, &shape, NULL) < 0)
		return;
	require(shape.last_end <= text.n && shape.first_table <= text.n);
	require(install_notify_list(q, text, a, &before, NULL) == 0);
	require(install_notify_add(q, text, a, &with, &n, NULL) == 0);
	require(install_notify_list(q, with, a, &after, NULL) == 0);
	require(n.unused ? !after && str_eq(with, text) : after && after->current);
	require(install_notify_add(q, with, a, &again, &m, NULL) == 0 && str_eq(with, again));
	require(install_notify_remove(q, with, STR_NONE, a, &without, &m, NULL) == 0);
	require(m.removed == !n.unused);
	if (!before)
		require(str_eq(without, text));
	require(toml_scan(without, a, take, &sum, &shape, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct install_request q = { .agent = agent_find(STR("codex")),
		.hookc = "/opt/\"h\"/hookc",
		.state = "/home/ada/state" };
	struct arena a;

	if (size > LIMIT_SETTINGS / 2)
		return 0;
	arena_init(&a);
	check(&q, str_n((const char *)data, size), &a);
	arena_release(&a);
	return 0;
}
