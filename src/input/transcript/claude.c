/* Claude Code: ~/.claude/projects/<folder>/<session>.jsonl, subagents in <session>/subagents/agent-<id>.jsonl.
 *
 * One line per content block: the blocks of one answer are lines with the same message.id, between which results
 * of tools may stand. Each carries the usage of the whole answer so far, in some versions final only on the last,
 * so usage waits until the next answer or prompt begins, or the file ends; after more was appended it may come
 * again with larger numbers and the same id. */
#include "transcript/internal.h"

#include "base/fs.h"
#include "base/limits.h"

/* Lines that contain something we need; everything else (attachments, requests, snapshots: nine tenths of the bytes)
 * is not parsed. */
static const struct {
	const char *type, *subtype;
} wanted[] = {
	{ "user", NULL },
	{ "assistant", NULL },
	{ "system", "compact_boundary" },
};

static bool wants(const struct transcript *t, str line)
{
	str type = skim_string(skim_value(line, STR("type")));

	/* No type: broken or from a version we have not seen; the parser says which. */
	if (!str_is_set(type))
		return true;
	for (size_t i = 0; i < countof(wanted); i++)
		if (str_eq(type, str_of(wanted[i].type)))
			return !wanted[i].subtype ||
				str_eq(skim_string(skim_value(line, STR("subtype"))), str_of(wanted[i].subtype));
	return false;
}

static bool knows(str head)
{
	static const char *const firsts[] = { "summary", "file-history-snapshot", "queue-operation" };
	str line;

	for (unsigned i = 0; i < 16 && str_split(&head, '\n', &line); i++) {
		str type = skim_string(skim_value(line, STR("type")));

		if (!str_is_set(type))
			continue;
		if (str_is_set(skim_value(line, STR("parentUuid"))) ||
			(str_is_set(skim_value(line, STR("sessionId"))) &&
				!str_is_set(skim_value(line, STR("projectHash")))))
			return true;
		for (size_t f = 0; f < countof(firsts); f++)
			if (str_eq(type, str_of(firsts[f])))
				return true;
	}
	return false;
}

/* The type of a subagent is only in the file beside it: agent-<id>.meta.json. */
static void begin(struct transcript *t)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(64 << 10);
	struct json *tree = NULL;
	char path[FS_PATH];
	size_t n = strlen(t->path), cut = sizeof ".jsonl" - 1;

	if (!str_starts(path_part(t->path, 0), STR("agent-")) || !str_ends(str_of(t->path), STR(".jsonl")) ||
		n - cut + sizeof ".meta.json" > sizeof path)
		return;
	snprintf(path, sizeof path, "%.*s.meta.json", (int)(n - cut), t->path);
	if (fs_read_file(path, &b) < 0 || json_parse(&t->a, buf_str(&b), JSON_LENIENT_UTF8, &tree, NULL) < 0)
		return;
	memory_set(&t->now, MEMORY_AGENT_TYPE, json_str(json_get(tree, STR("agentType"))));
}

/* -- usage ------------------------------------------------------------------------------------- */

static void flush_usage(struct transcript *t)
{
	int64_t *n = t->now.number;
	struct transcript_item *item;

	if (!str_is_set(memory_get(&t->now, MEMORY_USAGE_ID)) || n[MEMORY_USAGE_SAID])
		return;
	item = emit(t, TRANSCRIPT_USAGE, memory_get(&t->now, MEMORY_USAGE_ID));
	item->at_us = n[MEMORY_USAGE_AT] ? n[MEMORY_USAGE_AT] : item->at_us;
	item->model = arena_str(&t->a, memory_get(&t->now, MEMORY_USAGE_MODEL));
	item->prompt_id = arena_str(&t->a, memory_get(&t->now, MEMORY_USAGE_PROMPT));
	item->sidechain = n[MEMORY_USAGE_SIDECHAIN] != 0;
	item->tokens = (struct transcript_tokens){
		.input = n[MEMORY_INPUT],
		.cache_read = n[MEMORY_CACHE_READ],
		.cache_write = n[MEMORY_CACHE_WRITE],
		.output = n[MEMORY_OUTPUT],
		.reasoning = n[MEMORY_REASONING],
	};
	n[MEMORY_USAGE_SAID] = 1;
}

static void note_usage(struct transcript *t, const struct json *message)
{
	static const struct {
		enum memory_number to;
		const char *key;
	} fields[] = {
		{ MEMORY_INPUT, "input_tokens" },
		{ MEMORY_CACHE_READ, "cache_read_input_tokens" },
		{ MEMORY_CACHE_WRITE, "cache_creation_input_tokens" },
		{ MEMORY_OUTPUT, "output_tokens" },
	};
	const struct json *usage = json_get(message, STR("usage"));
	int64_t *n = t->now.number, reasoning;
	str id = str_cut_utf8(json_str(json_get(message, STR("id"))), MEMORY_TEXT_MAX);
	bool news;

	if (!usage || str_empty(id))
		return;
	news = !str_eq(id, memory_get(&t->now, MEMORY_USAGE_ID));
	if (news) {
		flush_usage(t);
		memory_set(&t->now, MEMORY_USAGE_ID, id);
		memory_set(&t->now, MEMORY_USAGE_MODEL, memory_get(&t->now, MEMORY_MODEL));
		memory_set(&t->now, MEMORY_USAGE_PROMPT, memory_get(&t->now, MEMORY_PROMPT));
		n[MEMORY_USAGE_AT] = n[MEMORY_AT];
		n[MEMORY_USAGE_SIDECHAIN] = n[MEMORY_SIDECHAIN];
	}
	for (size_t i = 0; i < countof(fields); i++) {
		int64_t value = get_count(usage, fields[i].key);

		news |= n[fields[i].to] != value;
		n[fields[i].to] = value;
	}
	reasoning = get_count(json_get(usage, STR("output_tokens_details")), "thinking_tokens");
	news |= n[MEMORY_REASONING] != reasoning;
	n[MEMORY_REASONING] = reasoning;
	if (news)
		n[MEMORY_USAGE_SAID] = 0;
}

/* -- compaction -------------------------------------------------------------------------------- */

/* The boundary says why, the line after it is the summary; one item for both. */
static void flush_compaction(struct transcript *t, str id, str summary)
{
	struct transcript_item *item;

	if (!str_is_set(summary) && !str_is_set(memory_get(&t->now, MEMORY_COMPACT_ID)))
		return;
	item = emit(t, TRANSCRIPT_COMPACTED, str_empty(id) ? memory_get(&t->now, MEMORY_COMPACT_ID) : id);
	item->source = arena_str(&t->a, memory_get(&t->now, MEMORY_COMPACT_SOURCE));
	item->text = summary;
	memory_set(&t->now, MEMORY_COMPACT_ID, STR_NONE);
	memory_set(&t->now, MEMORY_COMPACT_SOURCE, STR_NONE);
}

static void read_system(struct transcript *t, const struct json *line)
{
	flush_compaction(t, STR_NONE, STR_NONE);
	memory_set(&t->now, MEMORY_COMPACT_ID, json_str(json_get(line, STR("uuid"))));
	memory_set(&t->now, MEMORY_COMPACT_SOURCE, json_str(json_path(line, "compactMetadata", "trigger", NULL)));
}

/* -- the user ---------------------------------------------------------------------------------- */

/* What the program writes in the user's name: commands it ran itself, and notes to the model. */
static const char *const not_said[] = {
	"<local-command-",
	"<command-name>",
	"<bash-",
	"Caveat: The messages below were generated",
	"[Request interrupted by user",
};

static str between(str text, str open, str close)
{
	ptrdiff_t from = str_find(text, open), to;

	if (from < 0)
		return STR_NONE;
	text = str_from(text, (size_t)from + open.n);
	to = str_find(text, close);
	return to < 0 ? STR_NONE : str_trim(str_head(text, (size_t)to));
}

/* A slash command that became a prompt is what was typed, as the hook has it: "/name arguments". (Commands that
 * only the program itself runs begin with their name, not with their message.) */
static str unwrap_command(struct transcript *t, str text)
{
	str name, args;

	if (!str_starts(text, STR("<command-message>")))
		return text;
	name = between(text, STR("<command-name>"), STR("</command-name>"));
	args = between(text, STR("<command-args>"), STR("</command-args>"));
	if (str_empty(name))
		return text;
	return str_empty(args) ? name : arena_strf(&t->a, STR_FMT " " STR_FMT, STR_ARG(name), STR_ARG(args));
}

static str prompt_text(struct transcript *t, str text)
{
	text = transcript_plain_text(&t->a, unwrap_command(t, str_trim(text)));
	for (size_t i = 0; i < countof(not_said); i++)
		if (str_starts(text, str_of(not_said[i])))
			return STR_NONE;
	return text;
}

static bool is_type(const struct json *block, str type)
{
	return str_eq(json_str(json_get(block, STR("type"))), type);
}

static void emit_prompt(struct transcript *t, const struct json *line, str text, bool pictures)
{
	struct transcript_item *item;

	if (str_empty(text) && !pictures)
		return;
	flush_usage(t);
	flush_compaction(t, STR_NONE, STR_NONE);
	item = emit(t, TRANSCRIPT_PROMPT, json_str(json_get(line, STR("uuid"))));
	item->text = str_is_set(text) ? text : STR("");
}

/* Parts are judged one by one: an editor puts what is open beside what was typed. */
static void read_prompt(struct transcript *t, const struct json *line, const struct json *content)
{
	struct json *said = arena_new(&t->a, struct json), **last = &said->first;
	bool pictures = false;

	if (content && content->type == JSON_STRING) {
		emit_prompt(t, line, prompt_text(t, content->text), false);
		return;
	}
	said->type = JSON_ARRAY;
	json_each(block, content) {
		str text = json_str(json_get(block, STR("text")));

		pictures |= is_type(block, STR("image")) || is_type(block, STR("document"));
		if (is_type(block, STR("text")) && str_is_set(text)) {
			*last = make_text(&t->a, prompt_text(t, text));
			last = &(*last)->next;
		}
	}
	emit_prompt(t, line, join_texts(&t->a, said, STR("\n")), pictures);
}

/* toolUseResult is what hooks get as tool_response, the block's own content what they get as error. With several
 * results in one line nobody says whose it is. */
static unsigned read_results(struct transcript *t, const struct json *line, const struct json *content)
{
	const struct json *whole = json_get(line, STR("toolUseResult"));
	unsigned results = 0;

	json_each(block, content)
		results += is_type(block, STR("tool_result"));
	json_each(block, content) {
		struct transcript_item *item;

		if (!is_type(block, STR("tool_result")))
			continue;
		item = emit(t, TRANSCRIPT_RESULT, json_str(json_get(block, STR("tool_use_id"))));
		item->tool_id = json_str(json_get(block, STR("tool_use_id")));
		item->failed = json_true(json_get(block, STR("is_error")));
		item->output = whole && whole->type != JSON_NULL && results == 1 && !item->failed
			? whole
			: json_get(block, STR("content"));
	}
	return results;
}

static void read_user(struct transcript *t, const struct json *line)
{
	const struct json *content = json_path(line, "message", "content", NULL);
	str prompt = json_str(json_get(line, STR("promptId")));

	if (str_is_set(prompt))
		memory_set(&t->now, MEMORY_PROMPT, prompt);
	/* Only answers say which model it was, and the last one may have been a subagent's. */
	memory_set(&t->now, MEMORY_MODEL, STR_NONE);
	if (json_true(json_get(line, STR("isCompactSummary")))) {
		str summary = transcript_plain_text(&t->a, join_texts(&t->a, content, STR("\n")));

		flush_usage(t);
		flush_compaction(t, json_str(json_get(line, STR("uuid"))), str_is_set(summary) ? summary : STR(""));
		return;
	}
	if (read_results(t, line, content) == 0 && !json_true(json_get(line, STR("isMeta"))))
		read_prompt(t, line, content);
}

/* -- the model --------------------------------------------------------------------------------- */

static bool ends_turn(str stop_reason)
{
	static const char *const reasons[] = { "end_turn", "stop_sequence", "max_tokens", "refusal" };

	for (size_t i = 0; i < countof(reasons); i++)
		if (str_eq(stop_reason, str_of(reasons[i])))
			return true;
	return false;
}

/* What holds for every block of a line: looked up once, because a line may have a hundred thousand. */
struct answer {
	str id;
	bool final, failed;
};

static void emit_answer(struct transcript *t, const struct answer *of, str text, unsigned nth)
{
	struct transcript_item *item;
	str id = of->id;

	if (str_empty(str_trim(text)))
		return;
	if (nth > 0 && !str_empty(id))
		id = arena_strf(&t->a, STR_FMT ".%u", STR_ARG(id), nth);
	item = emit(t, TRANSCRIPT_ANSWER, id);
	item->text = text;
	item->final = of->final;
	item->failed = of->failed;
}

static void read_assistant(struct transcript *t, const struct json *line)
{
	const struct json *message = json_get(line, STR("message"));
	const struct json *content = json_get(message, STR("content"));
	str model = json_str(json_get(message, STR("model")));
	bool synthetic = str_eq(model, STR("<synthetic>"));
	const struct answer of = {
		.id = str_cut_utf8(json_str(json_get(line, STR("uuid"))), LIMIT_NAME - 16),
		.final = ends_turn(json_str(json_get(message, STR("stop_reason")))),
		.failed = json_true(json_get(line, STR("isApiErrorMessage"))),
	};
	unsigned nth = 0;

	flush_compaction(t, STR_NONE, STR_NONE);
	/* Written by the program: only a failed request is worth reporting. */
	if (synthetic && !of.failed)
		return;
	if (!synthetic && str_is_set(model))
		memory_set(&t->now, MEMORY_MODEL, model);
	if (!synthetic)
		note_usage(t, message);
	if (content && content->type == JSON_STRING)
		emit_answer(t, &of, content->text, 0);
	json_each(block, content) {
		if (is_type(block, STR("text")))
			emit_answer(t, &of, json_str(json_get(block, STR("text"))), nth);
		if (is_type(block, STR("tool_use"))) {
			struct transcript_item *item = emit(t, TRANSCRIPT_CALL, json_str(json_get(block, STR("id"))));

			item->tool_id = json_str(json_get(block, STR("id")));
			item->tool = json_str(json_get(block, STR("name")));
			item->input = json_get(block, STR("input"));
		}
		nth++;
	}
}

/* -- lines ------------------------------------------------------------------------------------- */

/* What every line carries. The session is known from the first of them. */
static void read_frame(struct transcript *t, const struct json *line)
{
	bool sidechain = json_true(json_get(line, STR("isSidechain")));
	str session = str_cut_utf8(json_str(json_get(line, STR("sessionId"))), MEMORY_TEXT_MAX);
	str cwd = json_str(json_get(line, STR("cwd")));
	str agent = json_str(json_get(line, STR("agentId")));

	set_time(t, json_str(json_get(line, STR("timestamp"))));
	/* A pending usage is the old session's. */
	if (str_is_set(session) && !str_eq(session, memory_get(&t->now, MEMORY_SESSION)))
		flush_usage(t);
	t->now.number[MEMORY_SIDECHAIN] = sidechain;
	memory_set(&t->now, MEMORY_AGENT_ID, sidechain ? agent : STR_NONE);
	if (str_is_set(cwd))
		memory_set(&t->now, MEMORY_CWD, cwd);
	if (str_is_set(session) && !str_eq(session, memory_get(&t->now, MEMORY_SESSION))) {
		memory_set(&t->now, MEMORY_SESSION, session);
		emit_start(t, sidechain && !str_empty(agent) ? agent : session);
	}
}

static void read_line(struct transcript *t, const struct json *line)
{
	static const struct {
		const char *type;
		void (*read)(struct transcript *t, const struct json *line);
	} kinds[] = {
		{ "user", read_user },
		{ "assistant", read_assistant },
		{ "system", read_system },
	};
	str type = json_str(json_get(line, STR("type")));

	for (size_t i = 0; i < countof(kinds); i++)
		if (str_eq(type, str_of(kinds[i].type))) {
			read_frame(t, line);
			kinds[i].read(t, line);
		}
}

const struct transcript_format transcript_claude = {
	.agent = "claude",
	.knows = knows,
	.begin = begin,
	.wants = wants,
	.line = read_line,
	.end = flush_usage,
};
