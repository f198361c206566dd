/* Reminders: whatever calls an agent reports, a tally stays within its bounds, and what is said of it is text of
 * bounded length. Lines: kind of event, tool, class and a JSON input, separated by tabs. */
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"
#include "remind/remind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SAID_MAX = 8192 };

static void take_line(struct tally *t, str line, int64_t at_us, struct arena *a)
{
	static const enum event_kind kinds[] = { EVENT_SESSION_START, EVENT_USER_PROMPT_SUBMIT, EVENT_PRE_TOOL_USE,
		EVENT_POST_TOOL_USE, EVENT_POST_TOOL_USE_FAILURE, EVENT_STOP };
	struct event e = { .at_us = at_us, .cwd = STR("/p") };
	str kind = STR(""), tool = STR(""), class = STR("");
	struct json *input = NULL;
	struct reminding r;

	(void)(str_split(&line, '\t', &kind) && str_split(&line, '\t', &tool) && str_split(&line, '\t', &class));
	e.kind = kinds[(kind.n ? (unsigned char)kind.p[0] : 0) % countof(kinds)];
	e.tool_class = (enum tool_class)((class.n ? (unsigned char)class.p[0] : 0) % TOOL_CLASS_MAX);
	e.tool_name = tool;
	e.error = e.kind == EVENT_POST_TOOL_USE_FAILURE ? line : STR("");
	if (json_parse(a, line, JSON_LENIENT_UTF8, &input, NULL) == 0) {
		e.tool_input = input;
		e.tool_response = json_get(input, STR("response"));
		e.command = json_str(json_get(input, STR("command")));
		e.file_path = json_str(json_get(input, STR("file_path")));
	}
	tally_add(t, &e);
	if (tool.n % 3 == 1)
		tally_changed(t, tool, at_us);
	remind(t, ~0u, &e, tool.n % 2, a, &r);
	if (str_is_set(r.text) && (r.text.n > SAID_MAX || !r.name))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = str_n((const char *)data, size), line;
	struct tally *t = tally_new();
	struct arena a = { 0 };
	int64_t at_us = 1;

	while (str_split(&text, '\n', &line))
		take_line(t, line, at_us++, &a);
	tally_free(t);
	arena_release(&a);
	return 0;
}
