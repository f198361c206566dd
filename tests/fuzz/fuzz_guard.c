/* Any command is decided, within the budget, and a second time alike. Any user rules give a policy.
 */
#include <stdint.h>
#include <stdlib.h>

#include "guard/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct guard_context c = { .cwd = { "/home/dev/proj", 14 },
		.home = { "/home/dev", 9 },
		.explain = true };
	struct guard_report first = { 0 }, second = { 0 };
	struct guard_problem *problems;
	struct guard_policy *p;
	struct arena a;
	enum verdict_action action;
	str text = str_n((const char *)data, size);

	if (size > 1 << 16)
		return 0;
	arena_init(&a);
	action = guard_command(NULL, &c, text, &a, &first);
	require(action == guard_command(NULL, &c, text, &a, &second));
	require(first.cost == second.cost);
	require(!first.spent || action >= VERDICT_ASK);
	for (const struct guard_finding *f = first.findings; f; f = f->next)
		require(f->begin <= f->end && f->rule.n && f->reason.n);
	arena_release(&a);
	if (size && data[0] == '{') {
		p = guard_policy_parse(text, &problems);
		guard_problems_free(problems);
		guard_policy_unref(p);
	}
	return 0;
}
