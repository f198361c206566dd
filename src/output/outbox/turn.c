/* A turn to read, from what was stored of it. What was said is quoted line by line and what ran is fenced with more
 * ticks than are in it, so nothing in it reaches beyond its own place. */
#include "outbox/internal.h"

enum { INPUT_MAX = 600, OUTPUT_MAX = 500, CALLS_MAX = 200 };

static void add_quote(struct buf *b, str text)
{
	str line;

	text = str_trim(text);
	while (str_split(&text, '\n', &line)) {
		buf_add_str(b, line.n ? STR("> ") : STR(">"));
		buf_add_str(b, line);
		buf_add_char(b, '\n');
	}
	buf_add_char(b, '\n');
}

static void add_fenced(struct buf *b, str text)
{
	size_t ticks = 3, run = 0;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		ticks = MAX(ticks, run + 1);
	}
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < ticks; i++)
			buf_add_char(b, '`');
		buf_add_char(b, '\n');
		if (side == 0) {
			buf_add_str(b, text);
			buf_add_char(b, '\n');
		}
	}
	buf_add_char(b, '\n');
}

/* The one text that an input is mostly about, or the input itself. */
static str subject_of(struct arena *a, str input)
{
	static const char *const keys[] = { "command", "file_path", "path", "pattern", "url", "query", "prompt" };
	struct json *v = NULL;

	if (json_parse(a, input, JSON_LENIENT_UTF8, &v, NULL) < 0)
		return input;
	for (size_t i = 0; i < countof(keys); i++)
		if (str_is_set(json_str(json_get(v, str_of(keys[i])))))
			return json_str(json_get(v, str_of(keys[i])));
	return input;
}

static void add_call(struct query *q, struct arena *a, struct buf *b)
{
	bool done = str_eq(query_str(q, 3), STR("done"));
	str name = str_cut_utf8(query_str(q, 0), LIMIT_NAME);
	str output = str_empty(query_str(q, 4)) ? query_str(q, 2) : query_str(q, 4);

	buf_add_str(b, STR("**Tool** "));
	for (size_t i = 0; i < name.n; i++)
		buf_add_char(b, (unsigned char)name.p[i] < ' ' || strchr("\\`*[]<>#|&~", name.p[i]) ? ' ' : name.p[i]);
	if (!done)
		buf_addf(b, " (" STR_FMT ")", STR_ARG(query_str(q, 3)));
	buf_add_str(b, STR("\n\n"));
	if (!str_empty(query_str(q, 1)))
		add_fenced(b, str_cut_utf8(subject_of(a, query_str(q, 1)), INPUT_MAX));
	if (!str_empty(output))
		add_fenced(b, str_cut_utf8(output, OUTPUT_MAX));
}

static int add_calls(struct store *s, int64_t batch, struct buf *b)
{
	struct query *q = store_ask(s,
		"SELECT tool, input, output, state, error FROM activities WHERE batch = ?1 AND kind = 'tool' ORDER BY "
		"ord, "
		"key LIMIT ?2",
		"ii", batch, (int64_t)CALLS_MAX);
	struct arena a;
	int got;

	arena_init(&a);
	while ((got = query_step(q)) == 1) {
		arena_reset(&a);
		add_call(q, &a, b);
	}
	query_reset(q);
	arena_release(&a);
	return got;
}

int turn_write(struct store *s, int64_t batch, str prompt, str answer, struct buf *ret)
{
	int r;

	if (!str_empty(prompt)) {
		buf_add_str(ret, STR("## Prompt\n\n"));
		add_quote(ret, prompt);
	}
	r = add_calls(s, batch, ret);
	if (r == 0 && !str_empty(answer)) {
		buf_add_str(ret, STR("**Answer**\n\n"));
		add_quote(ret, answer);
	}
	return r;
}
