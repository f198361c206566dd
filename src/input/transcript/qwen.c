/* Qwen Code: ~/.qwen/projects/<folder>/chats/<session>.jsonl, and subagents/<session>/agent-*.jsonl beside it. A line
 * is a message with Gemini's parts in Claude Code's envelope. */
#include "transcript/internal.h"

static bool has_parts(str message)
{
	return str_starts(message, STR("{\"role\":\"user\",\"parts\":")) ||
		str_starts(message, STR("{\"role\":\"model\",\"parts\":"));
}

static bool knows(str head)
{
	str line;

	for (unsigned i = 0; i < 16 && str_split(&head, '\n', &line); i++)
		if (str_is_set(skim_value(line, STR("sessionId"))) && has_parts(skim_value(line, STR("message"))))
			return true;
	return false;
}

static bool wants(const struct transcript *t, str line)
{
	str type = skim_string(skim_value(line, STR("type")));

	(void)t;
	/* What else it writes repeats the messages, as telemetry. */
	return !str_is_set(type) || !str_eq(type, STR("system"));
}

/* What was thought is not what was said. */
static str said(struct transcript *t, const struct json *parts)
{
	struct json *spoken = arena_new(&t->a, struct json), **last = &spoken->first;

	spoken->type = JSON_ARRAY;
	json_each(part, parts) {
		struct json *copy;

		if (json_true(json_get(part, STR("thought"))))
			continue;
		copy = arena_new(&t->a, struct json);
		*copy = *part;
		copy->next = NULL;
		*last = copy;
		last = &copy->next;
		spoken->count++;
	}
	return join_texts(&t->a, spoken, STR("\n"));
}

static void read_user(struct transcript *t, const struct json *line, const struct json *parts, str id)
{
	str from = json_str(json_get(line, STR("provenance"))), text = transcript_plain_text(&t->a, said(t, parts));

	/* Programs write as the user, too: that a task in the background has ended, for example. */
	if (str_empty(text) || (!str_empty(from) && !str_eq(from, STR("real_user"))))
		return;
	emit(t, TRANSCRIPT_PROMPT, id)->text = text;
}

static void read_tokens(struct transcript *t, const struct json *usage, str id)
{
	int64_t input = get_count(usage, "promptTokenCount"), cached = get_count(usage, "cachedContentTokenCount");
	int64_t thoughts = get_count(usage, "thoughtsTokenCount");
	struct transcript_item *item;

	if (!usage || usage->type != JSON_OBJECT)
		return;
	item = emit(t, TRANSCRIPT_USAGE, id);
	item->tokens.input = MAX(0, input - cached);
	item->tokens.cache_read = cached;
	item->tokens.output = get_count(usage, "candidatesTokenCount") + thoughts;
	item->tokens.reasoning = thoughts;
}

static void read_model(struct transcript *t, const struct json *line, const struct json *parts, str id)
{
	str model = json_str(json_get(line, STR("model"))), text = said(t, parts);
	struct transcript_item *answer = NULL;
	bool calls = false;

	if (!str_empty(model))
		memory_set(&t->now, MEMORY_MODEL, model);
	if (!str_empty(str_trim(text))) {
		answer = emit(t, TRANSCRIPT_ANSWER, id);
		answer->text = text;
	}
	json_each(part, parts) {
		const struct json *call = json_get(part, STR("functionCall"));
		struct transcript_item *item;

		if (!call || call->type != JSON_OBJECT)
			continue;
		calls = true;
		item = emit(t, TRANSCRIPT_CALL, json_str(json_get(call, STR("id"))));
		item->tool_id = json_str(json_get(call, STR("id")));
		item->tool = json_str(json_get(call, STR("name")));
		item->input = json_get(call, STR("args"));
	}
	if (answer)
		answer->final = !calls;
	read_tokens(t, json_get(line, STR("usageMetadata")), id);
}

/* As hooks have it: {llmContent, returnDisplay}; a failure is its message. */
static void read_result(struct transcript *t, const struct json *line, const struct json *parts)
{
	static const str keys[] = { STR("llmContent"), STR("returnDisplay") };
	const struct json *status = json_path(line, "toolCallResult", "status", NULL);

	json_each(part, parts) {
		const struct json *response = json_get(part, STR("functionResponse")),
				  *error = json_path(response, "response", "error", NULL);
		const struct json *values[] = { json_path(response, "response", "output", NULL),
			json_path(line, "toolCallResult", "resultDisplay", NULL) };
		struct transcript_item *item;

		if (!response || response->type != JSON_OBJECT)
			continue;
		item = emit(t, TRANSCRIPT_RESULT, json_str(json_get(response, STR("id"))));
		item->tool_id = json_str(json_get(response, STR("id")));
		item->tool = json_str(json_get(response, STR("name")));
		item->failed =
			error || str_eq(json_str(status), STR("error")) || str_eq(json_str(status), STR("cancelled"));
		item->output = error ? error : make_object(&t->a, keys, values, countof(keys));
	}
}

static void read_line(struct transcript *t, const struct json *line)
{
	const struct json *parts = json_path(line, "message", "parts", NULL);
	str type = json_str(json_get(line, STR("type"))), id = json_str(json_get(line, STR("uuid"))),
	    session = json_str(json_get(line, STR("sessionId"))), agent = json_str(json_get(line, STR("agentId")));
	bool first = str_empty(memory_get(&t->now, MEMORY_SESSION));

	if (str_empty(session) && first)
		return;
	set_time(t, json_str(json_get(line, STR("timestamp"))));
	if (first) {
		memory_set(&t->now, MEMORY_SESSION, session);
		memory_set(&t->now, MEMORY_AGENT_ID, str_empty(agent) ? STR_NONE : agent);
		memory_set(&t->now, MEMORY_AGENT_TYPE, json_str(json_get(line, STR("agentName"))));
		t->now.number[MEMORY_SIDECHAIN] = json_true(json_get(line, STR("isSidechain")));
	}
	if (!str_empty(json_str(json_get(line, STR("cwd")))))
		memory_set(&t->now, MEMORY_CWD, json_str(json_get(line, STR("cwd"))));
	if (first)
		emit_start(t, session);
	if (str_eq(type, STR("user")))
		read_user(t, line, parts, id);
	else if (str_eq(type, STR("assistant")))
		read_model(t, line, parts, id);
	else if (str_eq(type, STR("tool_result")))
		read_result(t, line, parts);
}

const struct transcript_format transcript_qwen = {
	.agent = "qwen",
	.knows = knows,
	.wants = wants,
	.line = read_line,
};
