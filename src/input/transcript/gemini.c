/* Gemini CLI: <home>/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl, a subagent's in
 * chats/<session>/<id>.jsonl; older versions wrote one JSON document, session-*.json, and rewrote it after every
 * message.
 *
 * A line is the head of the session, a message, or a change ($set, $rewindTo). A message is written when it is there
 * and once more, under the same id, when its tools have run. So whether a text ends the turn is known only when the
 * next prompt comes: then the answer comes again, as final, from its original line. What was rewound was still said.
 */
#include "transcript/internal.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"

static bool knows(str head)
{
	return str_is_set(skim_value(head, STR("sessionId"))) && str_is_set(skim_value(head, STR("projectHash")));
}

static bool is_document(const char *path)
{
	return str_ends(str_of(path), STR(".json"));
}

static bool wants(const struct transcript *t, str line)
{
	str change = skim_value(line, STR("$set"));

	return !str_is_set(change) || str_is_set(skim_value(change, STR("messages")));
}

/* The project's folder is named in a file beside chats/. */
static void begin(struct transcript *t)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(FS_PATH);
	unsigned up = str_eq(path_part(t->path, 1), STR("chats")) ? 1 : 2;
	str chats = path_part(t->path, up), root;
	char path[FS_PATH];

	if (!str_eq(chats, STR("chats")) || str_is_set(memory_get(&t->now, MEMORY_CWD)))
		return;
	if ((size_t)(chats.p - t->path) + sizeof ".project_root" > sizeof path)
		return;
	snprintf(path, sizeof path, "%.*s.project_root", (int)(chats.p - t->path), t->path);
	if (fs_read_file(path, &b) < 0)
		return;
	root = str_trim(buf_str(&b));
	if (str_starts(root, STR("/")))
		memory_set(&t->now, MEMORY_CWD, root);
}

static void read_head(struct transcript *t, const struct json *line)
{
	str own = json_str(json_get(line, STR("sessionId"))), parent = path_part(t->path, 1);
	bool sub = str_eq(json_str(json_get(line, STR("kind"))), STR("subagent"));
	struct json *first = json_first(json_get(line, STR("directories")));

	set_time(t, json_str(json_get(line, STR("startTime"))));
	if (str_empty(own) || str_is_set(memory_get(&t->now, MEMORY_SESSION)))
		return;
	/* Hooks of a subagent have the session it works for. */
	if (sub && !str_empty(parent) && !str_eq(parent, STR("chats"))) {
		memory_set(&t->now, MEMORY_AGENT_ID, own);
		memory_set(&t->now, MEMORY_SESSION, parent);
		t->now.number[MEMORY_SIDECHAIN] = 1;
	} else {
		memory_set(&t->now, MEMORY_SESSION, own);
	}
	if (!str_is_set(memory_get(&t->now, MEMORY_CWD)))
		memory_set(&t->now, MEMORY_CWD, json_str(first));
	emit_start(t, own);
}

/* -- answers ----------------------------------------------------------------------------------- */

static str message_text(struct transcript *t, const struct json *message)
{
	return join_texts(&t->a, json_get(message, STR("content")), STR(""));
}

static struct transcript_item *emit_answer(struct transcript *t, const struct json *message, str text, bool final)
{
	struct transcript_item *item = emit(t, TRANSCRIPT_ANSWER, json_str(json_get(message, STR("id"))));
	str time = json_str(json_get(message, STR("timestamp")));

	item->text = text;
	item->final = final;
	item->model = json_str(json_get(message, STR("model")));
	(void)clock_parse(time.p, time.n, &item->at_us);
	return item;
}

/* The answer that waits was the last of its turn: it is read once more, because a state must stay short. */
static void flush_answer(struct transcript *t)
{
	const struct json *message =
		read_again(t, t->now.number[MEMORY_ANSWER_AT] - 1, t->now.number[MEMORY_ANSWER_BYTES]);

	t->now.number[MEMORY_ANSWER_AT] = 0;
	if (!message || !str_is_set(memory_get(&t->now, MEMORY_ANSWER_ID)) ||
		!str_eq(json_str(json_get(message, STR("id"))), memory_get(&t->now, MEMORY_ANSWER_ID)))
		return;
	emit_answer(t, message, message_text(t, message), true);
	t->now.number[MEMORY_ANSWER_SAID] = 1;
}

/* -- tools ------------------------------------------------------------------------------------- */

/* As hooks have it: {llmContent, returnDisplay, error}. */
static const struct json *make_response(struct transcript *t, const struct json *call, bool failed)
{
	static const str keys[] = { STR("llmContent"), STR("returnDisplay"), STR("error") };
	static const str message_key = STR("message");
	const struct json *result = json_get(call, STR("result")), *response, *content;
	const struct json *values[3] = { NULL };

	response = json_path(json_first(result), "functionResponse", "response", NULL);
	content = json_get(response, STR("output"));
	if (!content)
		content = json_get(response, STR("error"));
	values[0] = content ? content : response ? response : result;
	values[1] = json_get(call, STR("resultDisplay"));
	if (failed && values[0])
		values[2] = make_object(&t->a, &message_key, &values[0], 1);
	return make_object(&t->a, keys, values, countof(values));
}

static bool is_over(str status, bool *ret_failed)
{
	*ret_failed = str_eq(status, STR("error")) || str_eq(status, STR("cancelled"));
	return *ret_failed || str_eq(status, STR("success"));
}

static void emit_tool(struct transcript *t, str message, str model, const struct json *call, unsigned nth)
{
	str id = json_str(json_get(call, STR("id"))), time = json_str(json_get(call, STR("timestamp")));
	str status = json_str(json_get(call, STR("status"))), name = json_str(json_get(call, STR("name")));
	struct transcript_item *item;
	bool failed;

	if (str_empty(id))
		id = arena_strf(&t->a, STR_FMT ".%u", STR_ARG(str_cut_utf8(message, LIMIT_NAME - 16)), nth);
	item = emit(t, TRANSCRIPT_CALL, id);
	item->model = model;
	item->tool_id = id;
	item->tool = name;
	item->input = json_get(call, STR("args"));
	if (!is_over(status, &failed) && !json_get(call, STR("result")))
		return;
	item = emit(t, TRANSCRIPT_RESULT, id);
	item->tool_id = id;
	item->tool = name;
	item->failed = failed;
	item->output = make_response(t, call, failed);
	(void)clock_parse(time.p, time.n, &item->at_us);
}

/* Those that have not been handed out. One that still runs comes again when it is over. */
static void read_tools(struct transcript *t, const struct json *message, const struct json *calls)
{
	str id = json_str(json_get(message, STR("id"))), model = json_str(json_get(message, STR("model")));
	int64_t *said = &t->now.number[MEMORY_CALLS];
	unsigned nth = 0;
	bool failed, waiting = false;

	json_each(call, calls) {
		if (nth >= *said)
			emit_tool(t, id, model, call, nth);
		waiting |= !is_over(json_str(json_get(call, STR("status"))), &failed) && !json_get(call, STR("result"));
		nth++;
		if (nth > *said && !waiting)
			*said = nth;
	}
}

/* -- messages ---------------------------------------------------------------------------------- */

static void read_tokens(struct transcript *t, const struct json *message)
{
	const struct json *tokens = json_get(message, STR("tokens"));
	int64_t input = get_count(tokens, "input"), cached = get_count(tokens, "cached");
	int64_t output = get_count(tokens, "output"), thoughts = get_count(tokens, "thoughts");
	int64_t tool = get_count(tokens, "tool"), hash;
	struct transcript_item *item;

	if (!tokens || tokens->type != JSON_OBJECT)
		return;
	hash = text_hash(arena_strf(&t->a, "%lld %lld %lld %lld %lld", (long long)input, (long long)cached,
		(long long)output, (long long)thoughts, (long long)tool));
	if (hash == t->now.number[MEMORY_TOTAL])
		return;
	t->now.number[MEMORY_TOTAL] = hash;
	item = emit(t, TRANSCRIPT_USAGE, json_str(json_get(message, STR("id"))));
	item->model = json_str(json_get(message, STR("model")));
	/* Here what was cached is part of the input, and what was thought is not part of the output. */
	item->tokens.input = MAX(0, input - cached) + tool;
	item->tokens.cache_read = cached;
	item->tokens.output = output + thoughts;
	item->tokens.reasoning = thoughts;
}

static void read_gemini(struct transcript *t, const struct json *message, bool final)
{
	const struct json *calls = json_get(message, STR("toolCalls"));
	str id = json_str(json_get(message, STR("id"))), text = message_text(t, message);
	bool spoken = !str_empty(str_trim(text)), working = json_first(calls) != NULL;
	int64_t *n = t->now.number, hash = text_hash(text);

	if (!str_eq(id, memory_get(&t->now, MEMORY_ANSWER_ID))) {
		memory_set(&t->now, MEMORY_ANSWER_ID, id);
		n[MEMORY_ANSWER_HASH] = n[MEMORY_ANSWER_AT] = n[MEMORY_ANSWER_SAID] = 0;
		n[MEMORY_TOTAL] = n[MEMORY_CALLS] = 0;
	}
	/* Also when it was taken for the last word, and now there are calls. */
	if (spoken && (hash != n[MEMORY_ANSWER_HASH] || (working && n[MEMORY_ANSWER_SAID]))) {
		emit_answer(t, message, text, final);
		n[MEMORY_ANSWER_HASH] = hash;
		n[MEMORY_ANSWER_SAID] = 0;
		n[MEMORY_ANSWER_AT] = t->document ? 0 : t->line_offset + 1;
		n[MEMORY_ANSWER_BYTES] = t->line_bytes;
	}
	if (working)
		n[MEMORY_ANSWER_AT] = 0;
	read_tools(t, message, calls);
	read_tokens(t, message);
}

static str prompt_text(struct transcript *t, const struct json *message)
{
	return transcript_plain_text(&t->a, message_text(t, message));
}

static bool is_type(const struct json *message, str type)
{
	return str_eq(json_str(json_get(message, STR("type"))), type);
}

static void read_message(struct transcript *t, const struct json *message, bool final)
{
	str text;

	set_time(t, json_str(json_get(message, STR("timestamp"))));
	if (is_type(message, STR("gemini"))) {
		read_gemini(t, message, final);
	} else if (is_type(message, STR("user"))) {
		text = prompt_text(t, message);
		if (str_empty(text))
			return;
		flush_answer(t);
		emit(t, TRANSCRIPT_PROMPT, json_str(json_get(message, STR("id"))))->text = text;
	} else if (is_type(message, STR("error"))) {
		text = message_text(t, message);
		if (!str_empty(text))
			emit_answer(t, message, text, false)->failed = true;
	}
}

/* Rewritten history: worth reporting only when it is the result of compression. */
static void read_history(struct transcript *t, const struct json *messages)
{
	json_each(message, messages) {
		str text = message_text(t, message);

		if (is_type(message, STR("user")) && str_find(text, STR("<state_snapshot>")) >= 0) {
			set_time(t, json_str(json_get(message, STR("timestamp"))));
			emit(t, TRANSCRIPT_COMPACTED, json_str(json_get(message, STR("id"))))->text = text;
		}
	}
}

/* The next message with something in it. */
static const struct json *find_next(struct transcript *t, const struct json *message)
{
	while (message && !is_type(message, STR("gemini")) &&
		!(is_type(message, STR("user")) && !str_empty(prompt_text(t, message))))
		message = message->next;
	return message;
}

/* In a document the end of a turn is seen at once: a text without calls that a prompt follows, or nothing. */
static void read_document(struct transcript *t, const struct json *messages)
{
	const struct json *next = json_first(messages);

	json_each(message, messages) {
		/* It is ahead of the message already, or was this one: every message is looked at once. */
		if (next == message)
			next = find_next(t, message->next);
		read_message(t, message,
			!json_first(json_get(message, STR("toolCalls"))) && (!next || is_type(next, STR("user"))));
	}
}

static void read_line(struct transcript *t, const struct json *line)
{
	const struct json *messages = json_get(line, STR("messages"));

	if (json_get(line, STR("$set"))) {
		read_history(t, json_path(line, "$set", "messages", NULL));
	} else if (json_get(line, STR("sessionId")) && json_get(line, STR("projectHash"))) {
		read_head(t, line);
		read_document(t, messages);
	} else if (json_get(line, STR("id"))) {
		read_message(t, line, false);
	}
}

const struct transcript_format transcript_gemini = {
	.agent = "gemini",
	.knows = knows,
	.begin = begin,
	.wants = wants,
	.line = read_line,
	.end = flush_answer,
	.is_document = is_document,
};
