#include "install/plugin.h"

#include <errno.h>

#include "base/limits.h"
#include "install/entry.h"
#include "json/json.h"

static const char first_line[] = "// hookd: ";

static bool is_ours(str text)
{
	return str_starts(text, str_of(first_line));
}

/* The file with the two paths in it, each as a string: a JSON string is one of JavaScript as well. */
static str make_text(const struct install_request *q, struct arena *a)
{
	const struct {
		str mark;
		const char *path;
	} marks[] = { { STR("\"@HOOKC@\""), q->hookc }, { STR("\"@STATE@\""), q->state } };
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	str rest = str_n((const char *)plugin_opencode, plugin_opencode_size), text;

	for (size_t i = 0; i < countof(marks); i++) {
		size_t at = (size_t)str_find(rest, marks[i].mark);

		buf_add_str(&b, str_head(rest, at));
		json_write_string(&b, str_of(marks[i].path));
		rest = str_from(rest, at + marks[i].mark.n);
	}
	buf_add_str(&b, rest);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

int install_plugin_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	*ret_counts = (struct install_counts){ 0 };
	if (!str_empty(str_trim(text)) && !is_ours(text))
		return err_set(err, -EEXIST, "there is a plugin of another origin where hookd's belongs; move it away");
	*ret = make_text(q, a);
	if (str_empty(str_trim(text)))
		ret_counts->added = 1;
	else if (!str_eq(text, *ret))
		ret_counts->changed = 1;
	return 0;
}

int install_plugin_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	*ret_counts = (struct install_counts){ .removed = is_ours(text) };
	*ret = is_ours(text) ? STR("") : text;
	return 0;
}

bool install_plugin_is_empty(const struct install_request *q, str text)
{
	return str_empty(str_trim(text));
}

/* const NAME = "…" */
static str constant(str text, str head, struct arena *a)
{
	ptrdiff_t at = str_find(text, head);
	struct json *v = NULL;
	str line = at < 0 ? STR_NONE : str_from(text, (size_t)at + head.n);
	ptrdiff_t end = str_find_char(line, '\n');

	if (end >= 0 && json_parse(a, str_head(line, (size_t)end), 0, &v, NULL) == 0)
		return json_str(v);
	return STR_NONE;
}

/* As many entries as the plugin has reasons to call hookc. */
int install_plugin_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	str hookc = constant(text, STR("const HOOKC = "), a), state = constant(text, STR("const STATE = "), a);
	const struct agent_event *row = NULL;
	bool current;

	*ret = NULL;
	if (!is_ours(text) || str_empty(hookc))
		return 0;
	current = str_eq(text, make_text(q, a));
	while ((row = entry_next_wanted(q, row))) {
		struct install_entry *e = arena_new(a, struct install_entry);
		str *args = arena_alloc(a, 4 * sizeof *args);

		args[0] = STR("--dir");
		args[1] = state;
		args[2] = str_of(q->agent->name);
		args[3] = str_of(row->native);
		*e = (struct install_entry){ .event = str_of(row->native),
			.command = hookc,
			.args = args,
			.nargs = 4,
			.current = current };
		*ret = e;
		ret = &e->next;
	}
	return 0;
}
