#include "install/entry.h"

#include "base/limits.h"

/* A hook on these takes the agent's own work over instead of watching it. */
static const enum event_kind never[] = { EVENT_WORKTREE_CREATE };

/* Seconds after which the agent gives up. Decisions may run the user's own hooks; the end of a
 * session keeps a person waiting. */
enum { DECISION_SECONDS = 30, OTHER_SECONDS = 10 };

static const struct {
	enum event_kind kind;
	unsigned seconds;
} exceptions[] = {
	{ EVENT_SESSION_END, 5 },
};

static unsigned timeout_of(enum event_kind kind)
{
	for (size_t i = 0; i < countof(exceptions); i++)
		if (exceptions[i].kind == kind)
			return exceptions[i].seconds;
	return event_kinds[kind].flags & EVENT_IS_DECISION ? DECISION_SECONDS : OTHER_SECONDS;
}

static enum event_kind kind_of(const struct agent *agent, str event)
{
	for (const struct agent_event *row = agent->events; row->native; row++)
		if (str_eq(event, str_of(row->native)))
			return row->kind;
	return event_kind_by_name(event);
}

static bool is_never(enum event_kind kind)
{
	for (size_t i = 0; i < countof(never); i++)
		if (never[i] == kind)
			return true;
	return false;
}

const struct agent_event *entry_next_wanted(
	const struct install_request *q, const struct agent_event *last)
{
	const struct agent_event *row = last ? last + 1 : q->agent->events;

	while (row->native && (is_never(row->kind) || !(row->by_default || q->all_events)))
		row++;
	return row->native ? row : NULL;
}

/* -- telling ours from others ------------------------------------------------------------------ */

static bool is_hookc(str program)
{
	return str_eq(program, STR("hookc")) || str_ends(program, STR("/hookc"));
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* What follows hookc on a shell line is ours only if it could be its arguments; "grep hookc notes"
 * is somebody else's. */
static bool is_hookc_call(str after)
{
	after = str_trim(after);
	if (!after.n || is_one_of(after.p[0], ";|&)<>") || str_starts(after, STR("--dir")))
		return true;
	for (size_t i = 0; agents[i]; i++) {
		str name = str_of(agents[i]->name);

		if (str_starts(after, name) &&
			(after.n == name.n || is_one_of(after.p[name.n], " \t;|&)<>")))
			return true;
	}
	return false;
}

static bool shell_calls_hookc(str line)
{
	ptrdiff_t hit;
	size_t at = 0;

	while ((hit = str_find(str_from(line, at), STR("hookc"))) >= 0) {
		size_t begin = at + (size_t)hit, end = begin + 5;
		bool starts = begin == 0 || is_one_of(line.p[begin - 1], "/ \t;|&('\"");

		if (end < line.n && is_one_of(line.p[end], "'\""))
			end++;
		if (starts && (end == line.n || is_one_of(line.p[end], " \t;|&)<>")) &&
			is_hookc_call(str_from(line, end)))
			return true;
		at = begin + 5;
	}
	return false;
}

bool entry_is_ours(const struct json *entry)
{
	str command = json_str(json_get(entry, STR("command")));
	const struct json *args = json_get(entry, STR("args"));

	if (!str_is_set(command))
		return false;
	return is_hookc(command) ||
	       (!(args && args->type == JSON_ARRAY) && shell_calls_hookc(command));
}

bool entry_is_current(const struct install_request *q, str event, const struct json *entry)
{
	const str wanted[] = { STR("--dir"), str_of(q->state), str_of(q->agent->name), event };
	const struct json *args = json_get(entry, STR("args"));
	size_t i = 0;

	if (!str_eq(json_str(json_get(entry, STR("type"))), STR("command")) ||
		!str_eq(json_str(json_get(entry, STR("command"))), str_of(q->hookc)) || !args ||
		args->type != JSON_ARRAY || args->count != countof(wanted))
		return false;
	json_each(arg, args)
		if (arg->type != JSON_STRING || !str_eq(arg->text, wanted[i++]))
			return false;
	return true;
}

struct json *entry_make(const struct install_request *q, str event, struct arena *a)
{
	const str args[] = { STR("--dir"), str_of(q->state), str_of(q->agent->name), event };
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;

	jw_object(&w);
	jw_field_str(&w, "type", STR("command"));
	jw_field_str(&w, "command", str_of(q->hookc));
	jw_key(&w, "args");
	jw_array(&w);
	for (size_t i = 0; i < countof(args); i++)
		jw_str(&w, args[i]);
	jw_end_array(&w);
	jw_field_int(&w, "timeout", timeout_of(kind_of(q->agent, event)));
	jw_end_object(&w);
	json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL);
	buf_release(&b);
	return v;
}
