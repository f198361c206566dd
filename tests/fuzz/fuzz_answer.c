/* Whatever a hook prints, and however it ends, makes an answer that applies to a verdict. The first byte is its exit
 * code and what happened to it. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "hooks/hooks.h"
#include "hooks/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static const char source[] = "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}],"
			     "\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"y\"}]}]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hook_set *set;
	str text = str_n((const char *)data + (size > 0), size - (size > 0));
	unsigned how = size ? data[0] : 0;
	struct child_result c = { .exit_code = (int)(how & 3), .timed_out = how & 4, .killed = how & 8 };
	struct arena a;

	if (!set) {
		set = hook_set_new();
		hooks_parse(set, hook_source_new(set, HOOK_USER, true, STR("u"), str_of(source)));
		require(set->count == 2);
	}
	c.out = how & 16 ? str_head(text, text.n / 2) : text;
	c.err = how & 16 ? str_from(text, text.n / 2) : STR("");
	c.out_total = c.out.n + (how & 32 ? 100000 : 0);
	c.err_total = c.err.n;
	arena_init(&a);
	for (unsigned i = 0; i < set->count; i++) {
		struct event e = { .kind = i ? EVENT_STOP : EVENT_PRE_TOOL_USE,
			.agent = STR("claude"),
			.tool_name = STR("Bash"),
			.tool_class = TOOL_SHELL };
		struct hook_answer answer = { 0 };
		struct verdict v = { 0 };

		hook_answer_read(set->all[i], &e, &c, &a, &answer);
		require(answer.action <= VERDICT_DENY);
		hook_answer_apply(set->all[i], &e, &answer, &a, &v);
		require(v.action >= answer.action || answer.action == VERDICT_ALLOW);
	}
	arena_release(&a);
	return 0;
}
