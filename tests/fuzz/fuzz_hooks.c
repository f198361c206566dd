/* Whatever a file says: it parses or says why not, what it holds can be asked of any event, and a hook that is added
 * to it is found there afterwards. */
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

static void ask(struct hook_set *s, struct arena *a)
{
	struct event e = { .agent = STR("x"),
		.tool_name = STR("Bash"),
		.tool_class = TOOL_SHELL,
		.command = STR("git x") };
	struct hook *list[HOOKS_MAX];

	for (int k = 1; k < EVENT_KIND_MAX; k++) {
		e.kind = (enum event_kind)k;
		require(hooks_match(s, &e, a, list) <= s->count);
	}
	for (unsigned i = 0; i < s->count; i++) {
		const str *words;
		size_t n;

		(void)hook_plain_words(s->all[i]->command, STR("/r"), a, &words, &n);
	}
	hook_set_settle(s, NULL);
}

static void add(str text)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG), back = BUF_INIT(LIMIT_CONFIG);
	char id[HOOK_ID + 1];
	struct json *hook;
	struct arena a;
	struct err err;

	arena_init(&a);
	require(json_parse(&a, STR("{\"type\":\"command\",\"command\":\"fuzz\"}"), 0, &hook, NULL) == 0);
	if (hooks_edit_add(text, STR("Stop"), STR_NONE, hook, &out, id, &err) == 0 &&
		!str_starts(text, STR("\xEF\xBB\xBF\xEF\xBB\xBF")))
		(void)hooks_edit_remove(buf_str(&out), STR("Stop"), str_of(id), &back, &err);
	buf_release(&out);
	buf_release(&back);
	arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = str_n((const char *)data, size);
	struct hook_set *s;
	struct arena a;

	if (size > KIB(64))
		return 0;
	arena_init(&a);
	s = hook_set_new();
	hooks_parse(s, hook_source_new(s, HOOK_PROJECT, false, STR("p"), text));
	hooks_parse(s, hook_source_new(s, HOOK_USER, true, STR("u"), text));
	ask(s, &a);
	hook_set_unref(s);
	add(text);
	arena_release(&a);
	return 0;
}
