/* Copilot CLI: ~/.copilot/session-state/<session>/events.jsonl, a line an event: {type, data, id, timestamp}. Lines of
 * a subagent are in its parent's file and name it in agentId. */
#include "transcript/internal.h"

static str type_of(const struct json *line)
{
	return json_str(json_get(line, STR("type")));
}

static bool knows(str head)
{
	str line;

	return str_split(&head, '\n', &line) &&
		str_eq(skim_string(skim_value(line, STR("type"))), STR("session.start")) &&
		str_find(skim_value(line, STR("data")), STR("\"copilotVersion\"")) >= 0;
}

/* -- one line ---------------------------------------------------------------------------------- */

static void read_start(struct transcript *t, const struct json *data, str id)
{
	memory_set(&t->now, MEMORY_SESSION, json_str(json_get(data, STR("sessionId"))));
	memory_set(&t->now, MEMORY_CWD, json_str(json_path(data, "context", "cwd", NULL)));
	memory_set(&t->now, MEMORY_MODEL, json_str(json_get(data, STR("selectedModel"))));
	emit_start(t, id);
}

static void read_model(struct transcript *t, const struct json *data, str id)
{
	str model = json_str(json_get(data, STR("newModel")));

	(void)id;
	if (!str_empty(model))
		memory_set(&t->now, MEMORY_MODEL, model);
}

static void read_subagent(struct transcript *t, const struct json *data, str id)
{
	struct transcript_item *item;

	memory_set(&t->now, MEMORY_AGENT_TYPE, json_str(json_get(data, STR("agentType"))));
	item = emit(t, TRANSCRIPT_START, id);
	item->prompt_id = STR_NONE;
}

static void read_prompt(struct transcript *t, const struct json *data, str id)
{
	str text = transcript_plain_text(&t->a, json_str(json_get(data, STR("content"))));

	if (!str_empty(text))
		emit(t, TRANSCRIPT_PROMPT, id)->text = text;
}

/* The last of a turn asks for no tools. */
static void read_answer(struct transcript *t, const struct json *data, str id)
{
	str text = json_str(json_get(data, STR("content")));
	struct transcript_item *item;

	if (str_empty(str_trim(text)))
		return;
	item = emit(t, TRANSCRIPT_ANSWER, id);
	item->text = text;
	item->final = !json_first(json_get(data, STR("toolRequests")));
}

static void read_call(struct transcript *t, const struct json *data, str id)
{
	struct transcript_item *item = emit(t, TRANSCRIPT_CALL, id);

	item->tool_id = json_str(json_get(data, STR("toolCallId")));
	item->tool = json_str(json_get(data, STR("toolName")));
	item->input = json_get(data, STR("arguments"));
}

/* As hooks have it: {resultType, textResultForLlm}; a failure is its message. */
static void read_result(struct transcript *t, const struct json *data, str id)
{
	static const str keys[] = { STR("resultType"), STR("textResultForLlm") };
	const struct json *content = json_path(data, "result", "content", NULL),
			  *message = json_path(data, "error", "message", NULL);
	const struct json *values[] = { make_text(&t->a, STR("success")), content };
	const struct json *success = json_get(data, STR("success"));
	struct transcript_item *item = emit(t, TRANSCRIPT_RESULT, id);

	item->tool_id = json_str(json_get(data, STR("toolCallId")));
	item->failed = success && success->type == JSON_BOOL && !success->flag;
	item->output = item->failed ? (message ? message : content) : make_object(&t->a, keys, values, countof(keys));
}

static void read_usage(struct transcript *t, const struct json *data, str id)
{
	const struct json *usage = json_get(data, STR("usage"));
	int64_t input = get_count(usage, "inputTokens"), cached = get_count(usage, "cacheReadTokens");
	int64_t written = get_count(usage, "cacheWriteTokens");
	str own = json_str(json_path(usage, "accounting", "usageId", NULL));
	struct transcript_item *item;

	if (!usage || usage->type != JSON_OBJECT)
		return;
	item = emit(t, TRANSCRIPT_USAGE, str_empty(own) ? id : own);
	item->model = json_str(json_get(usage, STR("model")));
	/* Here what a cache had is part of the input. */
	item->tokens.input = MAX(0, input - cached - written);
	item->tokens.cache_read = cached;
	item->tokens.cache_write = written;
	item->tokens.output = get_count(usage, "outputTokens");
	item->tokens.reasoning = MIN(get_count(usage, "reasoningTokens"), item->tokens.output);
}

static const struct {
	const char *type;
	void (*read)(struct transcript *t, const struct json *data, str id);
} types[] = {
	{ "session.start", read_start },
	{ "session.model_change", read_model },
	{ "subagent.started", read_subagent },
	{ "user.message", read_prompt },
	{ "assistant.message", read_answer },
	{ "tool.execution_start", read_call },
	{ "tool.execution_complete", read_result },
	{ "session.usage_record", read_usage },
};

static bool wants(const struct transcript *t, str line)
{
	str type = skim_string(skim_value(line, STR("type")));

	(void)t;
	if (!str_is_set(type))
		return true; /* broken: the parser says so */
	for (size_t i = 0; i < countof(types); i++)
		if (str_eq(type, str_of(types[i].type)))
			return true;
	return false;
}

static void read_line(struct transcript *t, const struct json *line)
{
	str agent = json_str(json_get(line, STR("agentId")));

	set_time(t, json_str(json_get(line, STR("timestamp"))));
	if (str_empty(agent))
		memory_set(&t->now, MEMORY_AGENT_TYPE, STR_NONE);
	memory_set(&t->now, MEMORY_AGENT_ID, str_empty(agent) ? STR_NONE : agent);
	t->now.number[MEMORY_SIDECHAIN] = !str_empty(agent);
	for (size_t i = 0; i < countof(types); i++)
		if (str_eq(type_of(line), str_of(types[i].type)))
			types[i].read(t, json_get(line, STR("data")), json_str(json_get(line, STR("id"))));
}

const struct transcript_format transcript_copilot = {
	.agent = "copilot",
	.knows = knows,
	.wants = wants,
	.line = read_line,
};
