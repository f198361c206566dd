/* The protocols. What a server sends is nobody's word: every member is checked for its type before it is used. */
#include "base/limits.h"
#include "base/utf8.h"
#include "llm/internal.h"

enum { WHY_MAX = 200, TOKENS_MAX = 100000000 };

static void garble(struct llm_reading *ret, str why)
{
	ret->result = LLM_GARBLED;
	ret->why = why;
	ret->text = STR_NONE;
}

/* -1: it does not say, or says nonsense. */
static int64_t tokens(const struct json *usage, str name)
{
	int64_t n;

	return json_int(json_get(usage, name), &n) && n >= 0 && n <= TOKENS_MAX ? n : -1;
}

static void take_text(struct llm_reading *ret, str text)
{
	if (str_empty(str_trim(text)))
		garble(ret, STR("the answer is empty"));
	else if (text.n > LLM_TEXT_MAX)
		garble(ret, STR("the answer is too long"));
	else if (memchr(text.p, 0, text.n))
		garble(ret, STR("the answer holds a NUL"));
	else
		ret->text = text;
}

/* -- OpenAI ------------------------------------------------------------------------------------ */

static void write_message(struct json_writer *w, const char *role, str text)
{
	if (str_empty(text))
		return;
	jw_object(w);
	jw_field_str(w, "role", str_of(role));
	jw_field_str(w, "content", text);
	jw_end_object(w);
}

static void write_messages(const struct llm_question *q, struct json_writer *w)
{
	jw_field_str(w, "model", q->model);
	jw_key(w, "messages");
	jw_array(w);
	write_message(w, "system", q->system);
	write_message(w, "user", q->user);
	jw_end_array(w);
}

/* Its newest models take neither max_tokens nor a temperature. */
static void write_openai(const struct llm_question *q, struct json_writer *w)
{
	write_messages(q, w);
	jw_field_int(w, "max_completion_tokens", q->max_tokens);
}

static void write_compatible(const struct llm_question *q, struct json_writer *w)
{
	write_messages(q, w);
	jw_field_int(w, "max_tokens", q->max_tokens);
	jw_field_int(w, "temperature", 0);
	jw_field_bool(w, "stream", false);
}

static void read_openai(const struct json *root, struct arena *a, struct llm_reading *ret)
{
	const struct json *choices = json_get(root, STR("choices")), *usage = json_get(root, STR("usage")), *text;
	str finish;

	(void)a;
	ret->tokens_in = tokens(usage, STR("prompt_tokens"));
	ret->tokens_out = tokens(usage, STR("completion_tokens"));
	if (!choices || choices->type != JSON_ARRAY || choices->count != 1) {
		garble(ret, STR("the answer has no choice, or more than one"));
		return;
	}
	finish = json_str(json_get(choices->first, STR("finish_reason")));
	text = json_path(choices->first, "message", "content", NULL);
	if (str_eq(finish, STR("length"))) {
		ret->result = LLM_CUT;
		ret->why = STR("the answer was cut off at its limit of tokens");
	} else if (str_eq(finish, STR("content_filter")) ||
		str_is_set(json_str(json_path(choices->first, "message", "refusal", NULL)))) {
		garble(ret, STR("the model refused to answer"));
	} else if (!text || text->type != JSON_STRING) {
		garble(ret, STR("the answer has no text"));
	} else {
		take_text(ret, text->text);
	}
}

/* -- Anthropic --------------------------------------------------------------------------------- */

static void write_anthropic(const struct llm_question *q, struct json_writer *w)
{
	jw_field_str(w, "model", q->model);
	jw_field_int(w, "max_tokens", q->max_tokens);
	if (!str_empty(q->system))
		jw_field_str(w, "system", q->system);
	jw_key(w, "messages");
	jw_array(w);
	write_message(w, "user", q->user);
	jw_end_array(w);
}

/* What was read from or written to a cache is not in input_tokens. */
static int64_t anthropic_tokens_in(const struct json *usage)
{
	int64_t n = tokens(usage, STR("input_tokens"));

	if (n < 0)
		return n;
	n += MAX(tokens(usage, STR("cache_creation_input_tokens")), INT64_C(0));
	return n + MAX(tokens(usage, STR("cache_read_input_tokens")), INT64_C(0));
}

static void read_anthropic(const struct json *root, struct arena *a, struct llm_reading *ret)
{
	const struct json *content = json_get(root, STR("content")), *usage = json_get(root, STR("usage"));
	str stop = json_str(json_get(root, STR("stop_reason")));
	struct buf text = BUF_INIT(LLM_ANSWER_MAX);

	ret->tokens_in = anthropic_tokens_in(usage);
	ret->tokens_out = tokens(usage, STR("output_tokens"));
	if (!str_eq(json_str(json_get(root, STR("type"))), STR("message")) || !content || content->type != JSON_ARRAY) {
		garble(ret, STR("the answer is not a message"));
	} else if (str_eq(stop, STR("max_tokens"))) {
		ret->result = LLM_CUT;
		ret->why = STR("the answer was cut off at its limit of tokens");
	} else if (str_eq(stop, STR("refusal"))) {
		garble(ret, STR("the model refused to answer"));
	} else {
		json_each(part, content)
			if (str_eq(json_str(json_get(part, STR("type"))), STR("text")))
				buf_add_str(&text, json_str(json_get(part, STR("text"))));
		take_text(ret, arena_str(a, buf_str(&text)));
	}
	buf_release(&text);
}

/* -- all of them ------------------------------------------------------------------------------- */

const struct llm_protocol llm_protocols[LLM_PROVIDER_MAX] = {
	[LLM_NOBODY] = { "none", "", "", "", "", NULL, NULL },
	[LLM_OPENAI] = { "openai", "https://api.openai.com/v1", "/chat/completions", "Authorization: Bearer ", "",
		write_openai, read_openai },
	[LLM_COMPATIBLE] = { "compatible", "", "/chat/completions", "Authorization: Bearer ", "", write_compatible,
		read_openai },
	[LLM_ANTHROPIC] = { "anthropic", "https://api.anthropic.com/v1", "/messages",
		"x-api-key: ", "anthropic-version: 2023-06-01", write_anthropic, read_anthropic },
};

void llm_write_question(enum llm_provider p, const struct llm_question *q, struct buf *ret)
{
	struct json_writer w = JSON_WRITER(ret);

	jw_object(&w);
	llm_protocols[p].write(q, &w);
	jw_end_object(&w);
}

/* {"error": {"message": …}}, {"error": …}, {"message": …}: all of them are used. */
static str message_of(const struct json *root, struct arena *a)
{
	struct buf b = BUF_INIT(4 * WHY_MAX);
	str text = json_str(json_path(root, "error", "message", NULL));

	if (!str_is_set(text))
		text = json_str(json_get(root, STR("error")));
	if (!str_is_set(text))
		text = json_str(json_get(root, STR("message")));
	utf8_add_clean(&b, str_cut_utf8(str_trim(text), WHY_MAX));
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* A setting is wrong, as opposed to a bad moment or a bad question. */
static bool is_refusal(int status)
{
	return status == 401 || status == 402 || status == 403 || status == 404;
}

void llm_read_answer(enum llm_provider p, int status, str body, struct arena *a, struct llm_reading *ret)
{
	struct json *root = NULL;
	bool json = body.n <= LLM_ANSWER_MAX && json_parse(a, body, 0, &root, NULL) == 0 && root->type == JSON_OBJECT;
	str said = json ? message_of(root, a) : STR("");

	*ret = (struct llm_reading){ .result = LLM_ANSWERED, .tokens_in = -1, .tokens_out = -1 };
	if (status != 200) {
		ret->result = is_refusal(status) ? LLM_REFUSED : LLM_FAILED;
		ret->why = arena_strf(a, "the provider answered with %d%s" STR_FMT, status, said.n ? ": " : "",
			STR_ARG(said));
	} else if (!json) {
		garble(ret, STR("the answer is not JSON"));
	} else if (json_get(root, STR("error")) && json_get(root, STR("error"))->type != JSON_NULL) {
		garble(ret, arena_strf(a, "the provider answered with an error: " STR_FMT, STR_ARG(said)));
	} else {
		llm_protocols[p].read(root, a, ret);
	}
}
