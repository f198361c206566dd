#include "install/entry.h"

#include "base/limits.h"
#include "install/files.h"

/* Seconds after which the agent gives up. Decisions may run the user's own hooks; the end of a
 * session keeps a person waiting. */
enum { DECISION_SECONDS = 30, OTHER_SECONDS = 10 };

static const struct {
	enum event_kind kind;
	unsigned seconds;
} ends[] = {
	{ EVENT_SESSION_END, 5 },
	{ EVENT_INTERRUPT, 5 },
};

static unsigned timeout_of(enum event_kind kind, const struct hook_file *f)
{
	for (size_t i = 0; i < countof(ends); i++)
		if (ends[i].kind == kind)
			return f->per_second *
				(f->end_seconds ? MIN(f->end_seconds, ends[i].seconds) : ends[i].seconds);
	return f->per_second * (event_kinds[kind].flags & EVENT_IS_DECISION ? DECISION_SECONDS : OTHER_SECONDS);
}

const struct agent_event *entry_next_wanted(const struct install_request *q, const struct agent_event *last)
{
	const struct agent_event *row = last ? last + 1 : q->agent->events;

	while (row->native &&
		(row->flags & AGENT_EVENT_NOT_A_HOOK || !(row->flags & AGENT_EVENT_DEFAULT || q->all_events)))
		row++;
	return row->native ? row : NULL;
}

/* -- telling ours from others ------------------------------------------------------------------ */

bool entry_is_hookc(str program)
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

		if (str_starts(after, name) && (after.n == name.n || is_one_of(after.p[name.n], " \t;|&)<>")))
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
	return entry_is_hookc(command) || (!(args && args->type == JSON_ARRAY) && shell_calls_hookc(command));
}

bool install_is_ours(const struct json *entry)
{
	return entry_is_ours(entry);
}

/* -- ours -------------------------------------------------------------------------------------- */

static bool needs_quotes(str word)
{
	for (size_t i = 0; i < word.n; i++) {
		char c = word.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    is_one_of(c, "_./:,+=@%-")))
			return true;
	}
	return word.n == 0;
}

static void add_shell_word(struct buf *b, str word)
{
	if (!needs_quotes(word)) {
		buf_add_str(b, word);
		return;
	}
	buf_add_char(b, '\'');
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '\'')
			buf_add_str(b, STR("'\\''"));
		else
			buf_add_char(b, word.p[i]);
	buf_add_char(b, '\'');
}

/* What is to be called for an event: program first. */
enum { WORDS = 5 };

static void call_words(const struct install_request *q, str event, str out[WORDS])
{
	out[0] = str_of(q->hookc);
	out[1] = STR("--dir");
	out[2] = str_of(q->state);
	out[3] = str_of(q->agent->name);
	out[4] = event;
}

static str shell_line(const struct install_request *q, str event, struct arena *a)
{
	struct buf b = BUF_INIT(KIB(64));
	str words[WORDS], line;

	call_words(q, event, words);
	for (size_t i = 0; i < WORDS; i++) {
		if (i)
			buf_add_char(&b, ' ');
		add_shell_word(&b, words[i]);
	}
	buf_add_str(&b, str_of(hook_file_first(q->agent)->suffix));
	line = arena_str(a, buf_str(&b));
	buf_release(&b);
	return line;
}

/* Where lists are flat, a missing type means a command. */
bool entry_is_command(const struct hook_file *f, const struct json *entry)
{
	const struct json *type = json_get(entry, STR("type"));

	return type ? str_eq(json_str(type), STR("command")) : f->flat;
}

bool entry_is_current(const struct install_request *q, str event, const struct json *entry, struct arena *a)
{
	const struct json *args = json_get(entry, STR("args"));
	str command = json_str(json_get(entry, STR("command"))), words[WORDS];
	size_t i = 1;

	if (!entry_is_command(hook_file_first(q->agent), entry))
		return false;
	if (hook_file_first(q->agent)->shell)
		return !args && str_eq(command, shell_line(q, event, a));
	call_words(q, event, words);
	if (!str_eq(command, words[0]) || !args || args->type != JSON_ARRAY || args->count != WORDS - 1)
		return false;
	json_each(arg, args)
		if (arg->type != JSON_STRING || !str_eq(arg->text, words[i++]))
			return false;
	return true;
}

static void write_call(struct json_writer *w, const struct install_request *q, str event, bool shell, struct arena *a)
{
	str words[WORDS];

	if (shell) {
		jw_field_str(w, "command", shell_line(q, event, a));
		return;
	}
	call_words(q, event, words);
	jw_field_str(w, "command", words[0]);
	jw_key(w, "args");
	jw_array(w);
	for (size_t i = 1; i < WORDS; i++)
		jw_str(w, words[i]);
	jw_end_array(w);
}

struct json *entry_make(const struct install_request *q, str event, struct arena *a)
{
	const struct hook_file *f = hook_file_first(q->agent);
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;

	jw_object(&w);
	if (!f->bare)
		jw_field_str(&w, "type", STR("command"));
	jw_field_str(&w, "name", str_of(f->name));
	write_call(&w, q, event, f->shell, a);
	if (f->per_second)
		jw_field_int(&w, f->timeout ? f->timeout : "timeout", timeout_of(agent_kind_of(q->agent, event), f));
	jw_end_object(&w);
	json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL);
	buf_release(&b);
	return v;
}
