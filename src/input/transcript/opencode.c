/* opencode: ~/.local/share/opencode/opencode.db. Sessions have messages, and messages parts: texts, calls with their
 * results. A message changes while it is being written, so a session that changed is read again as a whole; what is
 * known already changes nothing.
 *
 * A subagent has a session of its own; hooks name the root, and so do we. */
#include "base/clock.h"
#include "transcript/internal.h"

#define ROOT                                                                                                         \
	"(WITH RECURSIVE up(id, parent) AS (SELECT s.id, s.parent_id UNION SELECT p.id, p.parent_id FROM session p " \
	"JOIN up ON p.id = up.parent) SELECT id FROM up WHERE parent IS NULL)"

static const struct database_shape shape = {
	.list = "SELECT m.id, max(m.time_updated, s.time_updated) FROM message m JOIN session s ON s.id = m.session_id "
		"WHERE s.id IN (SELECT id FROM session WHERE time_updated >= ?1 "
		"UNION SELECT session_id FROM message WHERE time_updated >= ?1) "
		"ORDER BY s.time_created, s.id, m.time_created, m.id",
	.line = "SELECT json_object('session', s.id, 'root', " ROOT ", 'agent', s.agent, 'directory', s.directory, "
		"'created', s.time_created, 'id', m.id, 'message', json(m.data), 'parts', "
		"(SELECT json_group_array(json(part)) FROM (SELECT json_object('id', p.id, 'part', json(p.data)) AS "
		"part FROM part p WHERE p.message_id = m.id AND json_valid(p.data) ORDER BY p.id))) "
		"FROM message m JOIN session s ON s.id = m.session_id WHERE m.id = ?1 AND json_valid(m.data)",
};

static bool knows(str head)
{
	return str_starts(head, STR("{\"session\":\"ses_")) || str_starts(head, STR("SQLite format 3\0"));
}

static bool wants(const struct transcript *t, str line)
{
	(void)t;
	return str_starts(line, STR("{\"session\":"));
}

/* Milliseconds since 1970; anything else leaves the clock. */
static void set_ms(struct transcript *t, const struct json *ms)
{
	int64_t at;

	if (json_int(ms, &at) && at > 0 && at < INT64_MAX / USEC_PER_MSEC)
		t->now.number[MEMORY_AT] = at * USEC_PER_MSEC;
}

static str member(const struct json *obj, const char *key)
{
	return json_str(json_get(obj, str_of(key)));
}

/* -- who --------------------------------------------------------------------------------------- */

static bool take_session(struct transcript *t, const struct json *line)
{
	str session = member(line, "session"), root = member(line, "root"), agent = STR_NONE;

	if (str_empty(session))
		return false;
	if (!str_empty(root) && !str_eq(root, session))
		agent = session;
	else
		root = session;
	memory_set(&t->now, MEMORY_CWD, member(line, "directory"));
	if (str_eq(root, memory_get(&t->now, MEMORY_SESSION)) && str_eq(agent, memory_get(&t->now, MEMORY_AGENT_ID)))
		return true;
	memory_set(&t->now, MEMORY_SESSION, root);
	memory_set(&t->now, MEMORY_AGENT_ID, agent);
	memory_set(&t->now, MEMORY_AGENT_TYPE, str_empty(agent) ? STR_NONE : member(line, "agent"));
	memory_set(&t->now, MEMORY_MODEL, STR_NONE);
	memory_set(&t->now, MEMORY_PROMPT, STR_NONE);
	set_ms(t, json_get(line, STR("created")));
	emit_start(t, session);
	return true;
}

/* -- what -------------------------------------------------------------------------------------- */

/* What opencode added is not what the person wrote. */
static bool is_said(const struct json *part)
{
	return str_eq(member(part, "type"), STR("text")) && !json_true(json_get(part, STR("synthetic"))) &&
		!json_true(json_get(part, STR("ignored")));
}

static void read_user(struct transcript *t, const struct json *line, str id)
{
	struct buf text = BUF_INIT(TRANSCRIPT_LINE_MAX);

	json_each(row, json_get(line, STR("parts"))) {
		const struct json *part = json_get(row, STR("part"));

		if (!is_said(part))
			continue;
		if (text.len)
			buf_add_char(&text, '\n');
		buf_add_str(&text, member(part, "text"));
	}
	memory_set(&t->now, MEMORY_PROMPT, id);
	if (text.len && !text.full)
		emit(t, TRANSCRIPT_PROMPT, id)->text = arena_str(&t->a, buf_str(&text));
	buf_release(&text);
}

/* As hooks have it: {title, output, metadata}; a failure is its message. */
static void read_call(struct transcript *t, const struct json *part)
{
	static const str keys[] = { STR("title"), STR("output"), STR("metadata") };
	const struct json *state = json_get(part, STR("state")), *error = json_get(state, STR("error"));
	const struct json *values[] = { json_get(state, keys[0]), json_get(state, keys[1]), json_get(state, keys[2]) };
	str id = member(part, "callID"), status = member(state, "status");
	struct transcript_item *item;

	if (str_empty(id) || str_empty(member(part, "tool")))
		return;
	set_ms(t, json_path(state, "time", "start", NULL));
	item = emit(t, TRANSCRIPT_CALL, id);
	item->tool_id = id;
	item->tool = member(part, "tool");
	item->input = json_get(state, STR("input"));
	if (!str_eq(status, STR("completed")) && !str_eq(status, STR("error")))
		return;
	set_ms(t, json_path(state, "time", "end", NULL));
	item = emit(t, TRANSCRIPT_RESULT, id);
	item->tool_id = id;
	item->tool = member(part, "tool");
	item->failed = str_eq(status, STR("error"));
	item->output = item->failed ? error : make_object(&t->a, keys, values, countof(keys));
}

static void read_tokens(struct transcript *t, const struct json *tokens, str id)
{
	const struct json *cache = json_get(tokens, STR("cache"));
	struct transcript_tokens n = {
		.input = get_count(tokens, "input"),
		.cache_read = get_count(cache, "read"),
		.cache_write = get_count(cache, "write"),
		.output = get_count(tokens, "output"),
		.reasoning = get_count(tokens, "reasoning"),
	};

	if (!n.input && !n.output && !n.cache_read && !n.cache_write)
		return;
	/* Whether output includes reasoning depends on the provider; the total tells. */
	if (n.input + n.cache_read + n.cache_write + n.output + n.reasoning == get_count(tokens, "total") ||
		n.reasoning > n.output)
		n.output += n.reasoning;
	emit(t, TRANSCRIPT_USAGE, id)->tokens = n;
}

static void read_model(struct transcript *t, const struct json *line, const struct json *message, str id)
{
	struct transcript_item *answer = NULL;
	str finish = member(message, "finish");

	memory_set(&t->now, MEMORY_MODEL, member(message, "modelID"));
	memory_set(&t->now, MEMORY_PROMPT, member(message, "parentID"));
	json_each(row, json_get(line, STR("parts"))) {
		const struct json *part = json_get(row, STR("part"));

		if (str_eq(member(part, "type"), STR("tool")))
			read_call(t, part);
		if (!is_said(part) || str_empty(member(part, "text")))
			continue;
		set_ms(t, json_path(part, "time", "start", NULL));
		answer = emit(t, TRANSCRIPT_ANSWER, member(row, "id"));
		answer->text = member(part, "text");
	}
	if (answer)
		answer->final = !str_empty(finish) && !str_eq(finish, STR("tool-calls"));
	set_ms(t, json_path(message, "time", "completed", NULL));
	if (!str_empty(finish))
		read_tokens(t, json_get(message, STR("tokens")), id);
}

static void read_line(struct transcript *t, const struct json *line)
{
	const struct json *message = json_get(line, STR("message"));
	str role = member(message, "role"), id = member(line, "id");

	if (str_empty(id) || !take_session(t, line))
		return;
	set_ms(t, json_path(message, "time", "created", NULL));
	if (str_eq(role, STR("user")))
		read_user(t, line, id);
	else if (str_eq(role, STR("assistant")))
		read_model(t, line, message, id);
}

const struct transcript_format transcript_opencode = {
	.agent = "opencode",
	.knows = knows,
	.wants = wants,
	.line = read_line,
	.database = &shape,
};
