/* Codex: $CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl; a subagent has a file of its own.
 *
 * Lines are {timestamp, type, payload}. What was said is there twice, as an event and as an item of the request. The
 * latter also holds the harness's own texts, so events are used. Old files have no events, and the oldest ones not
 * even an envelope. Whether a file has them is known before the model first speaks: until then a prompt waits.
 *
 * An answer comes when it is said; when the turn ends with it, it comes a second time with the same id, as final. */
#include "transcript/internal.h"

#include "base/limits.h"

enum { ENVELOPE, EVENT, ITEM };

typedef void reader(struct transcript *t, const struct json *payload);

static reader read_meta, read_turn, read_usage_record, read_compacted, read_started, read_completed_item,
	read_user_event, read_agent_event, read_task_complete, read_token_count, read_message, read_function_call,
	read_shell_call, read_custom_call, read_output;

/* Everything that is not here is not parsed: reasoning, world state, deltas. */
static const struct {
	unsigned where;
	const char *type;
	reader *read;
} kinds[] = {
	{ ENVELOPE, "session_meta", read_meta },
	{ ENVELOPE, "turn_context", read_turn },
	{ ENVELOPE, "token_usage_record", read_usage_record },
	{ ENVELOPE, "compacted", read_compacted },
	{ EVENT, "task_started", read_started },
	{ EVENT, "turn_started", read_started },
	{ EVENT, "item_completed", read_completed_item },
	{ EVENT, "user_message", read_user_event },
	{ EVENT, "agent_message", read_agent_event },
	{ EVENT, "task_complete", read_task_complete },
	{ EVENT, "turn_complete", read_task_complete },
	{ EVENT, "token_count", read_token_count },
	{ ITEM, "message", read_message },
	{ ITEM, "function_call", read_function_call },
	{ ITEM, "local_shell_call", read_shell_call },
	{ ITEM, "custom_tool_call", read_custom_call },
	{ ITEM, "function_call_output", read_output },
	{ ITEM, "custom_tool_call_output", read_output },
	{ ITEM, "local_shell_call_output", read_output },
};

static reader *find_reader(str type, str inner)
{
	unsigned where = str_eq(type, STR("event_msg")) ? EVENT : str_eq(type, STR("response_item")) ? ITEM : ENVELOPE;
	str name = where == ENVELOPE ? type : inner;

	for (size_t i = 0; i < countof(kinds); i++)
		if (kinds[i].where == where && str_eq(name, str_of(kinds[i].type)))
			return kinds[i].read;
	return NULL;
}

static bool is_bare_item(str type)
{
	return find_reader(STR("response_item"), type) != NULL;
}

static bool is_bare_meta(str line)
{
	return !str_is_set(skim_value(line, STR("type"))) && str_is_set(skim_value(line, STR("id"))) &&
		str_is_set(skim_value(line, STR("timestamp"))) && !str_is_set(skim_value(line, STR("payload")));
}

static bool wants(const struct transcript *t, str line)
{
	str type = skim_string(skim_value(line, STR("type"))), inner = STR_NONE;
	reader *read;

	if (!str_is_set(type))
		return true;
	if (is_bare_item(type))
		return true;
	if (str_eq(type, STR("event_msg")) || str_eq(type, STR("response_item")))
		inner = skim_string(skim_value(skim_value(line, STR("payload")), STR("type")));
	read = find_reader(type, inner);
	return read && (read != read_message || !t->now.number[MEMORY_EVENTS]);
}

static bool knows(str head)
{
	str line;

	for (unsigned i = 0; i < 16 && str_split(&head, '\n', &line); i++) {
		str type = skim_string(skim_value(line, STR("type")));

		if (str_eq(type, STR("session_meta")) ||
			(str_is_set(type) && str_is_set(skim_value(line, STR("payload")))) ||
			(i == 0 && is_bare_meta(line) && str_is_set(skim_value(line, STR("instructions")))))
			return true;
	}
	return false;
}

/* -- session and turn -------------------------------------------------------------------------- */

/* Hooks of a subagent have the root's session and its own thread as agent_id. The first line that says so counts: a
 * fork brings its parent's lines along. */
static void read_meta(struct transcript *t, const struct json *payload)
{
	const struct json *meta = json_get(payload, STR("meta")) ? json_get(payload, STR("meta")) : payload;
	const struct json *spawn = json_path(meta, "source", "subagent", "thread_spawn", NULL);
	str thread = json_str(json_get(meta, STR("id"))), root = json_str(json_get(meta, STR("session_id")));
	str role = json_str(json_get(spawn ? spawn : meta, STR("agent_role")));
	bool sub = json_path(meta, "source", "subagent", NULL) != NULL;

	if (str_is_set(memory_get(&t->now, MEMORY_SESSION)))
		return;
	if (str_empty(root) || (sub && str_eq(root, thread))) {
		str parent = json_str(json_get(spawn, STR("parent_thread_id")));

		root = str_empty(parent) ? thread : parent;
	}
	if (str_empty(thread))
		thread = root;
	if (str_empty(root))
		return;
	sub |= !str_eq(root, thread);
	memory_set(&t->now, MEMORY_SESSION, root);
	memory_set(&t->now, MEMORY_CWD, json_str(json_get(meta, STR("cwd"))));
	if (sub) {
		memory_set(&t->now, MEMORY_AGENT_ID, thread);
		memory_set(&t->now, MEMORY_AGENT_TYPE, str_empty(role) ? STR("default") : role);
		t->now.number[MEMORY_SIDECHAIN] = 1;
	}
	emit_start(t, thread);
}

static void set_turn(struct transcript *t, const struct json *payload)
{
	str turn = json_str(json_get(payload, STR("turn_id")));

	if (str_is_set(turn))
		memory_set(&t->now, MEMORY_PROMPT, turn);
}

static void read_started(struct transcript *t, const struct json *payload)
{
	set_turn(t, payload);
}

static void read_turn(struct transcript *t, const struct json *payload)
{
	str cwd = json_str(json_get(payload, STR("cwd"))), model = json_str(json_get(payload, STR("model")));

	set_turn(t, payload);
	if (str_is_set(cwd))
		memory_set(&t->now, MEMORY_CWD, cwd);
	if (str_is_set(model))
		memory_set(&t->now, MEMORY_MODEL, model);
}

static void read_compacted(struct transcript *t, const struct json *payload)
{
	emit(t, TRANSCRIPT_COMPACTED, STR_NONE)->text = json_str(json_get(payload, STR("message")));
}

/* -- what was said ----------------------------------------------------------------------------- */

static void emit_prompt(struct transcript *t, str id, str text)
{
	memory_set(&t->now, MEMORY_ANSWER_ID, STR_NONE);
	t->now.number[MEMORY_ANSWER_HASH] = 0;
	if (str_empty(text) || t->now.number[MEMORY_PROMPT_HASH] == text_hash(text))
		return;
	t->now.number[MEMORY_PROMPT_HASH] = text_hash(text);
	emit(t, TRANSCRIPT_PROMPT, id)->text = text;
}

static void emit_answer(struct transcript *t, str id, str text)
{
	struct transcript_item *item;

	if (str_empty(text))
		return;
	item = emit(t, TRANSCRIPT_ANSWER, id);
	item->text = text;
	memory_set(&t->now, MEMORY_ANSWER_ID, item->id);
	t->now.number[MEMORY_ANSWER_HASH] = text_hash(text);
	t->now.number[MEMORY_PROMPT_HASH] = 0;
}

static void read_completed_item(struct transcript *t, const struct json *payload)
{
	const struct json *item = json_get(payload, STR("item"));
	str type = json_str(json_get(item, STR("type"))), id = json_str(json_get(item, STR("id")));

	set_turn(t, payload);
	if (str_eq(type, STR("UserMessage")))
		emit_prompt(t, id, join_texts(&t->a, json_get(item, STR("content")), STR("")));
	else if (str_eq(type, STR("AgentMessage")))
		emit_answer(t, id, join_texts(&t->a, json_get(item, STR("content")), STR("")));
}

/* In a version that wrote both kinds of event the second one adds nothing. */
static bool is_said(const struct transcript *t, str text)
{
	return t->now.number[MEMORY_ANSWER_HASH] == text_hash(text);
}

static void read_user_event(struct transcript *t, const struct json *payload)
{
	str text = json_str(json_get(payload, STR("message")));

	if (!str_is_set(text))
		text = join_texts(&t->a, json_get(payload, STR("content")), STR(""));
	emit_prompt(t, STR_NONE, text);
}

static void read_agent_event(struct transcript *t, const struct json *payload)
{
	str text = json_str(json_get(payload, STR("message")));

	if (!is_said(t, text))
		emit_answer(t, STR_NONE, text);
}

static void read_task_complete(struct transcript *t, const struct json *payload)
{
	str text = json_str(json_get(payload, STR("last_agent_message")));
	struct transcript_item *item;

	set_turn(t, payload);
	t->now.number[MEMORY_PROMPT_HASH] = 0;
	if (str_empty(text))
		return;
	item = emit(t, TRANSCRIPT_ANSWER,
		is_said(t, text) ? memory_get(&t->now, MEMORY_ANSWER_ID) : json_str(json_get(payload, STR("turn_id"))));
	item->text = text;
	item->final = true;
	t->now.number[MEMORY_ANSWER_HASH] = 0;
	memory_set(&t->now, MEMORY_ANSWER_ID, STR_NONE);
}

/* The model speaks and there was no event: the prompt that waits is one. */
static void flush_prompt(struct transcript *t)
{
	int64_t at = t->now.number[MEMORY_ANSWER_AT] - 1, now = t->now.number[MEMORY_AT];
	const struct json *line = read_again(t, at, t->now.number[MEMORY_ANSWER_BYTES]), *payload;
	str id;

	t->now.number[MEMORY_ANSWER_AT] = 0;
	if (!line)
		return;
	payload = json_get(line, STR("payload")) ? json_get(line, STR("payload")) : line;
	id = json_str(json_get(payload, STR("id")));
	if (str_empty(id))
		id = arena_strf(&t->a, "%lld.0", (long long)at);
	set_time(t, json_str(json_get(line, STR("timestamp"))));
	emit_prompt(t, id, join_texts(&t->a, json_get(payload, STR("content")), STR("\n")));
	t->now.number[MEMORY_AT] = now;
}

/* Only for files without events. What the harness says in the user's name is in a tag of its own. */
static void read_message(struct transcript *t, const struct json *payload)
{
	static const char *const harness[] = { "<environment_context>", "<user_instructions>", "<hook_prompt",
		"# AGENTS.md instructions", "<turn_aborted>", "<skill>" };
	str role = json_str(json_get(payload, STR("role"))), id = json_str(json_get(payload, STR("id")));
	str text = join_texts(&t->a, json_get(payload, STR("content")), STR("\n"));

	if (t->now.number[MEMORY_EVENTS])
		return;
	if (str_eq(role, STR("assistant"))) {
		flush_prompt(t);
		emit_answer(t, id, text);
		return;
	}
	if (!str_eq(role, STR("user")))
		return;
	for (size_t i = 0; i < countof(harness); i++)
		if (str_starts(text, str_of(harness[i])))
			return;
	t->now.number[MEMORY_ANSWER_AT] = t->line_offset + 1;
	t->now.number[MEMORY_ANSWER_BYTES] = t->line_bytes;
}

/* -- tools ------------------------------------------------------------------------------------- */

static bool is_shell_safe(str word)
{
	for (size_t i = 0; i < word.n; i++) {
		char c = word.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c && strchr("_-./=+:,@%", c))))
			return false;
	}
	return word.n > 0;
}

/* The words of a command as one line a shell would split again, which is how hooks have it. */
static str join_command(struct arena *a, const struct json *words)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(4 * (size_t)TRANSCRIPT_LINE_MAX);
	str whole = json_str(words);

	if (str_is_set(whole))
		return whole;
	json_each(word, words) {
		str text = json_str(word);

		if (word != words->first)
			buf_add_char(&b, ' ');
		if (is_shell_safe(text)) {
			buf_add_str(&b, text);
			continue;
		}
		buf_add_char(&b, '\'');
		for (size_t i = 0; i < text.n; i++)
			if (text.p[i] == '\'')
				buf_add_str(&b, STR("'\\''"));
			else
				buf_add_char(&b, text.p[i]);
		buf_add_char(&b, '\'');
	}
	return arena_str(a, buf_str(&b));
}

/* Tools that hooks know by another name, with one text as their input. */
static const struct {
	const char *native, *key;
	const char *name;
} renamed[] = {
	{ "exec_command", "cmd", "Bash" },
	{ "shell", "command", "Bash" },
	{ "shell_command", "command", "Bash" },
	{ "container.exec", "command", "Bash" },
	{ "apply_patch", "input", "apply_patch" },
};

static const struct json *command_input(struct arena *a, str command)
{
	static const str key = STR("command");
	const struct json *value = make_text(a, command);

	return make_object(a, &key, &value, 1);
}

static void emit_call(struct transcript *t, const struct json *payload, str tool, const struct json *input)
{
	str id = json_str(json_get(payload, STR("call_id")));
	struct transcript_item *item;

	if (str_empty(id))
		id = json_str(json_get(payload, STR("id")));
	set_turn(t, json_get(payload, STR("internal_chat_message_metadata_passthrough")));
	flush_prompt(t);
	item = emit(t, TRANSCRIPT_CALL, id);
	t->now.number[MEMORY_PROMPT_HASH] = 0;
	item->tool_id = id;
	item->tool = tool;
	item->input = input;
	for (size_t i = 0; i < countof(renamed); i++) {
		const struct json *value = json_get(input, str_of(renamed[i].key));

		if (str_eq(tool, str_of(renamed[i].native)) && value) {
			item->tool = str_of(renamed[i].name);
			item->input = command_input(&t->a, join_command(&t->a, value));
			return;
		}
	}
}

/* A namespace and a name are glued, as hooks have it; an MCP server's is followed by two lines. */
static str full_name(struct transcript *t, const struct json *payload)
{
	str name = json_str(json_get(payload, STR("name"))), space = json_str(json_get(payload, STR("namespace")));

	if (str_empty(space))
		return name;
	return arena_strf(&t->a, STR_FMT "%s" STR_FMT, STR_ARG(space),
		str_starts(space, STR("mcp__")) && !str_ends(space, STR("__")) ? "__" : "", STR_ARG(name));
}

static void read_function_call(struct transcript *t, const struct json *payload)
{
	const struct json *input = json_get(payload, STR("arguments"));
	struct json *tree = NULL;

	/* JSON inside a string; what is no JSON stays the string. */
	if (input && input->type == JSON_STRING && json_parse(&t->a, input->text, JSON_LENIENT_UTF8, &tree, NULL) == 0)
		input = tree;
	emit_call(t, payload, full_name(t, payload), input);
}

static void read_shell_call(struct transcript *t, const struct json *payload)
{
	str command = join_command(&t->a, json_path(payload, "action", "command", NULL));

	emit_call(t, payload, STR("Bash"), command_input(&t->a, command));
}

static void read_custom_call(struct transcript *t, const struct json *payload)
{
	str name = full_name(t, payload);
	const struct json *input = json_get(payload, STR("input"));

	if (str_eq(name, STR("apply_patch")) && str_is_set(json_str(input)))
		input = command_input(&t->a, json_str(input));
	emit_call(t, payload, name, input);
}

/* The number after a label in the head of an output; false without. */
static bool find_code(str text, str label, int64_t *ret)
{
	ptrdiff_t output = str_find(text, STR("\nOutput:\n")), at;
	str line;

	text = str_head(text, output < 0 ? 0 : (size_t)output);
	at = str_find(text, label);
	if (at < 0)
		return false;
	text = str_from(text, (size_t)at + label.n);
	return str_split(&text, '\n', &line) && str_to_int(str_trim(line), ret);
}

/* Hooks get the bare output of a command; the model gets it with a head, from which we know how it ended. */
static void read_text_output(struct transcript *t, struct transcript_item *item, str text)
{
	struct json *tree = NULL;
	int64_t code = 0;

	if (str_starts(text, STR("{\"output\":")) && json_parse(&t->a, text, JSON_LENIENT_UTF8, &tree, NULL) == 0 &&
		json_get(tree, STR("metadata"))) {
		item->output = json_get(tree, STR("output"));
		item->failed = json_int(json_path(tree, "metadata", "exit_code", NULL), &code) && code != 0;
	} else if (find_code(text, STR("Process exited with code "), &code)) {
		size_t head = (size_t)str_find(text, STR("\nOutput:\n")) + sizeof "\nOutput:\n" - 1;

		item->output = make_text(&t->a, str_from(text, head));
		item->failed = code != 0;
	} else if (find_code(text, STR("Exit code: "), &code)) {
		item->failed = code != 0;
	} else {
		item->failed = str_starts(text, STR("Command blocked by PreToolUse hook")) ||
			str_starts(text, STR("unsupported call: "));
	}
}

static void read_output(struct transcript *t, const struct json *payload)
{
	const struct json *output = json_get(payload, STR("output")), *success = json_get(output, STR("success"));
	str id = json_str(json_get(payload, STR("call_id")));
	struct transcript_item *item;

	if (str_empty(id))
		id = json_str(json_get(payload, STR("id")));
	set_turn(t, json_get(payload, STR("internal_chat_message_metadata_passthrough")));
	item = emit(t, TRANSCRIPT_RESULT, id);
	item->tool_id = id;
	item->output = output;
	if (output && output->type == JSON_STRING)
		read_text_output(t, item, output->text);
	else if (success)
		item->failed = !json_true(success);
}

/* -- tokens ------------------------------------------------------------------------------------ */

static void emit_usage(struct transcript *t, str id, const struct json *usage)
{
	struct transcript_tokens *k;
	int64_t input = get_count(usage, "input_tokens");

	if (!usage || usage->type != JSON_OBJECT)
		return;
	k = &emit(t, TRANSCRIPT_USAGE, id)->tokens;
	k->cache_read = get_count(usage, "cached_input_tokens");
	k->cache_write = get_count(usage, "cache_write_input_tokens");
	k->output = get_count(usage, "output_tokens");
	k->reasoning = get_count(usage, "reasoning_output_tokens");
	/* Here they are part of the input. */
	k->input = MAX(0, input - k->cache_read - k->cache_write);
}

static void read_usage_record(struct transcript *t, const struct json *payload)
{
	set_turn(t, payload);
	t->now.number[MEMORY_RECORDS] = 1;
	emit_usage(t, json_str(json_get(payload, STR("response_id"))), json_get(payload, STR("usage")));
}

/* Comes again whenever a limit changes: only when the thread's total has moved is it a new answer. */
static void read_token_count(struct transcript *t, const struct json *payload)
{
	const struct json *info = json_get(payload, STR("info"));
	int64_t total = get_count(json_get(info, STR("total_token_usage")), "total_tokens");

	if (get_count(info, "model_context_window"))
		t->context_max = get_count(info, "model_context_window");
	if (t->now.number[MEMORY_RECORDS] || total == t->now.number[MEMORY_TOTAL])
		return;
	t->now.number[MEMORY_TOTAL] = total;
	emit_usage(t, STR_NONE, json_get(info, STR("last_token_usage")));
}

/* -- lines ------------------------------------------------------------------------------------- */

static void read_line(struct transcript *t, const struct json *line)
{
	str type = json_str(json_get(line, STR("type")));
	const struct json *payload = json_get(line, STR("payload"));
	reader *read;

	set_time(t, json_str(json_get(line, STR("timestamp"))));
	if (!payload && !str_is_set(type) && json_get(line, STR("id")) && json_get(line, STR("timestamp"))) {
		read_meta(t, line);
		return;
	}
	/* No envelope has the name of an item. */
	if (is_bare_item(type)) {
		payload = line;
		read = find_reader(STR("response_item"), type);
	} else {
		read = find_reader(type, json_str(json_get(payload, STR("type"))));
	}
	/* Tokens are reported in files without other events too. */
	if (str_eq(type, STR("event_msg")) && read && read != read_token_count) {
		t->now.number[MEMORY_EVENTS] = 1;
		t->now.number[MEMORY_ANSWER_AT] = 0;
	}
	if (read && payload)
		read(t, payload);
}

const struct transcript_format transcript_codex = {
	.agent = "codex",
	.knows = knows,
	.wants = wants,
	.line = read_line,
};
