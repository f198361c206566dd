#include "transcript/internal.h"

#include <errno.h>

#include "base/alloc.h"

static const char *const text_names[MEMORY_TEXTS] = {
	[MEMORY_SESSION] = "session",
	[MEMORY_CWD] = "cwd",
	[MEMORY_MODEL] = "model",
	[MEMORY_PROMPT] = "prompt",
	[MEMORY_AGENT_ID] = "agent_id",
	[MEMORY_AGENT_TYPE] = "agent_type",
	[MEMORY_USAGE_ID] = "usage_id",
	[MEMORY_USAGE_MODEL] = "usage_model",
	[MEMORY_USAGE_PROMPT] = "usage_prompt",
	[MEMORY_ANSWER_ID] = "answer_id",
	[MEMORY_COMPACT_ID] = "compact_id",
	[MEMORY_COMPACT_SOURCE] = "compact_source",
};

static const char *const number_names[MEMORY_NUMBERS] = {
	[MEMORY_AT] = "at",
	[MEMORY_SIDECHAIN] = "sidechain",
	[MEMORY_SKIPPING] = "skipping",
	[MEMORY_USAGE_AT] = "usage_at",
	[MEMORY_USAGE_SAID] = "usage_said",
	[MEMORY_USAGE_SIDECHAIN] = "usage_sidechain",
	[MEMORY_INPUT] = "input",
	[MEMORY_CACHE_READ] = "cache_read",
	[MEMORY_CACHE_WRITE] = "cache_write",
	[MEMORY_OUTPUT] = "output",
	[MEMORY_REASONING] = "reasoning",
	[MEMORY_PROMPT_HASH] = "prompt_hash",
	[MEMORY_ANSWER_HASH] = "answer_hash",
	[MEMORY_ANSWER_AT] = "answer_at",
	[MEMORY_ANSWER_BYTES] = "answer_bytes",
	[MEMORY_ANSWER_SAID] = "answer_said",
	[MEMORY_CALLS] = "calls",
	[MEMORY_TOTAL] = "total",
	[MEMORY_RECORDS] = "records",
	[MEMORY_EVENTS] = "events",
	[MEMORY_DOCUMENT] = "document",
	[MEMORY_NEWEST] = "newest",
};

void memory_init(struct memory *m)
{
	*m = (struct memory){ 0 };
	for (size_t i = 0; i < MEMORY_TEXTS; i++)
		buf_init(&m->text[i], MEMORY_TEXT_MAX);
}

void memory_release(struct memory *m)
{
	for (size_t i = 0; i < MEMORY_TEXTS; i++)
		buf_release(&m->text[i]);
}

str memory_get(const struct memory *m, enum memory_text which)
{
	return m->text[which].len ? buf_str(&m->text[which]) : STR_NONE;
}

void memory_set(struct memory *m, enum memory_text which, str text)
{
	struct buf *b = &m->text[which];

	text = str_cut_utf8(text, MEMORY_TEXT_MAX);
	if (str_eq(buf_str(b), text))
		return;
	buf_clear(b);
	buf_add_str(b, text);
	m->changed |= 1U << which;
}

void memory_copy(struct memory *to, struct memory *from)
{
	for (unsigned i = 0; from->changed >> i; i++)
		if (from->changed >> i & 1)
			memory_set(to, i, buf_str(&from->text[i]));
	for (size_t i = 0; i < MEMORY_NUMBERS; i++)
		to->number[i] = from->number[i];
	from->changed = 0;
}

void memory_write(const struct memory *m, struct buf *b)
{
	struct json_writer w = JSON_WRITER(b);

	jw_object(&w);
	for (size_t i = 0; i < MEMORY_TEXTS; i++)
		if (m->text[i].len > 0)
			jw_field_str(&w, text_names[i], buf_str(&m->text[i]));
	for (size_t i = 0; i < MEMORY_NUMBERS; i++)
		if (m->number[i] != 0)
			jw_field_int(&w, number_names[i], m->number[i]);
	jw_end_object(&w);
}

int memory_read(struct memory *m, str state)
{
	struct arena a;
	struct json *tree = NULL;
	int r;

	if (str_empty(state))
		return 0;
	arena_init(&a);
	r = json_parse(&a, state, JSON_LENIENT_UTF8, &tree, NULL);
	if (r >= 0 && tree->type != JSON_OBJECT)
		r = -EBADMSG;
	for (size_t i = 0; r >= 0 && i < MEMORY_TEXTS; i++)
		memory_set(m, i, json_str(json_get(tree, str_of(text_names[i]))));
	for (size_t i = 0; r >= 0 && i < MEMORY_NUMBERS; i++)
		(void)json_int(json_get(tree, str_of(number_names[i])), &m->number[i]);
	arena_release(&a);
	return r < 0 ? -EBADMSG : 0;
}
