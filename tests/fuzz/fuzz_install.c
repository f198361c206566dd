/* Any settings text that is accepted: the result parses, adding again changes nothing, and taking
 * ours out leaves what the text said without them. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "install/edit.h"
#include "install/mcp.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void canonical(str text, struct arena *a, struct buf *b)
{
	struct json *v;

	if (str_starts(text, STR("\xEF\xBB\xBF")))
		text = str_from(text, 3);
	if (str_empty(str_trim(text)))
		text = STR("{}");
	require(json_parse(a, text, JSON_LENIENT_UTF8 | JSON_COMMENTS, &v, NULL) == 0);
	json_write(b, v);
}

static void require_same(str x, str y, struct arena *a)
{
	struct buf bx = BUF_INIT(LIMIT_SETTINGS), by = BUF_INIT(LIMIT_SETTINGS);

	canonical(x, a, &bx);
	canonical(y, a, &by);
	require(str_eq(buf_str(&bx), buf_str(&by)));
	buf_release(&bx);
	buf_release(&by);
}

/* Hooks, an MCP server, and both in one file. */
static const struct {
	int (*add)(const struct install_request *q, str text, struct arena *a, str *ret,
		struct install_counts *ret_counts, struct err *err);
	int (*remove)(const struct install_request *q, str text, str original, struct arena *a, str *ret,
		struct install_counts *ret_counts, struct err *err);
} edits[] = {
	{ install_edit_add, install_edit_remove },
	{ install_mcp_add, install_mcp_remove },
	{ install_settings_add, install_settings_remove },
};

static void check(const struct install_request *q, size_t i, str text, struct arena *a)
{
	struct install_counts n;
	str with, again, without, plain;
	struct err err;

	/* A server of another origin is left alone. */
	if (edits[i].add(q, text, a, &with, &n, &err) < 0 || n.unused)
		return;
	require(edits[i].add(q, with, a, &again, &n, &err) == 0);
	require(n.added + n.changed + n.removed == 0 && str_eq(with, again));
	require(edits[i].remove(q, with, text, a, &without, &n, &err) == 0);
	require(n.removed > 0);
	require(edits[i].remove(q, text, text, a, &plain, &n, &err) == 0);
	require_same(without, plain, a);
	require(edits[i].remove(q, without, STR_NONE, a, &again, &n, &err) == 0 && n.removed == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Program and arguments; shell lines; those with comments around them; one list of words. */
	static const char *const names[] = { "claude", "codex", "gemini", "opencode" };

	if (size > LIMIT_SETTINGS)
		return 0;
	for (size_t i = 0; i < countof(names); i++) {
		struct install_request q = { .agent = agent_find(str_of(names[i])),
			.hookc = "/opt/\"h'\"/hookc",
			.state = "/home/ada/state",
			.mcp = true };

		for (size_t k = 0; k < countof(edits); k++) {
			struct arena a;

			arena_init(&a);
			check(&q, k, str_n((const char *)data, size), &a);
			arena_release(&a);
		}
	}
	return 0;
}
