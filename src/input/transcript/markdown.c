/* A session to read. What was said is quoted line by line and what ran is fenced with more ticks than are in it: so
 * nothing in a session, neither a heading nor a fence that is never closed, reaches beyond its own place. */
#include "transcript/internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"

enum { RESULT_MAX = 400, INPUT_MAX = 600, MODELS_MAX = 16, RECENT_MAX = 256 };

struct usage_row {
	char model[128];
	struct transcript_tokens sum;
	uint64_t answers;
};

/* Usage may come again under its id; only the newest counts. As far back as any agent repeats itself. */
struct recent {
	int64_t id;
	struct usage_row *row;
	struct transcript_tokens tokens;
};

struct page {
	struct buf part; /* one item, so that a full page ends at one */
	unsigned prompts;
	int64_t last_answer;
	bool begun;
	struct usage_row rows[MODELS_MAX];
	size_t n_rows;
	struct recent recent[RECENT_MAX];
	size_t n_recent;
};

/* -- pieces ------------------------------------------------------------------------------------ */

static void add_quote(struct buf *b, str text)
{
	str line;

	text = str_trim(text);
	while (str_split(&text, '\n', &line)) {
		while (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		buf_add_str(b, line.n ? STR("> ") : STR(">"));
		buf_add_str(b, line);
		buf_add_char(b, '\n');
	}
	buf_add_char(b, '\n');
}

static size_t longest_run(str text, char c)
{
	size_t most = 0, run = 0;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == c ? run + 1 : 0;
		most = MAX(most, run);
	}
	return most;
}

static void add_fenced(struct buf *b, str text, size_t max)
{
	str shown = str_cut_utf8(str_trim(text), max);
	size_t ticks = MAX((size_t)3, longest_run(shown, '`') + 1);

	for (size_t i = 0; i < ticks; i++)
		buf_add_char(b, '`');
	buf_add_char(b, '\n');
	buf_add_str(b, shown);
	if (shown.n < str_trim(text).n)
		buf_addf(b, "… (%zu more bytes)", str_trim(text).n - shown.n);
	buf_add_char(b, '\n');
	for (size_t i = 0; i < ticks; i++)
		buf_add_char(b, '`');
	buf_add_str(b, STR("\n\n"));
}

/* A name within a line: nothing in it may be taken for markup. */
static void add_name(struct buf *b, str text)
{
	text = str_cut_utf8(text, LIMIT_NAME);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c < 0x20 || c == 0x7F)
			c = ' ';
		if (strchr("\\`*[]<>#|&~", c))
			buf_add_char(b, '\\');
		buf_add_char(b, (char)c);
	}
}

/* The one text a value is mostly about, or the value itself as JSON. */
static void add_value(struct buf *b, const struct json *v, const char *const *keys, size_t max)
{
	_cleanup_(buf_release) struct buf json = BUF_INIT(4 * (size_t)TRANSCRIPT_LINE_MAX);
	str text = json_str(v);

	/* One part with a text in it is that text. */
	if (v && v->type == JSON_ARRAY && v->count == 1)
		text = json_str(json_get(v->first, STR("text")));
	for (; !str_is_set(text) && *keys; keys++)
		text = json_str(json_get(v, str_of(*keys)));
	if (!str_is_set(text) && v) {
		json_write(&json, v);
		text = buf_str(&json);
	}
	add_fenced(b, text, max);
}

/* -- items ------------------------------------------------------------------------------------- */

static void add_time(struct buf *b, int64_t at_us)
{
	char at[CLOCK_TEXT];

	clock_format(at_us, 0, at);
	buf_addf(b, "%.10s %.5s UTC", at, strlen(at) > 16 ? at + 11 : "");
}

static void add_head(struct page *p, const struct transcript *t, const struct transcript_item *item)
{
	const struct {
		const char *label;
		str text;
	} rows[] = {
		{ "Session", item->session },
		{ "Folder", item->cwd },
		{ "Subagent", item->agent_id },
		{ "Kind of subagent", item->agent_type },
	};
	struct buf *b = &p->part;

	buf_addf(b, "# Session of %s, ", transcript_agent(t));
	add_time(b, item->at_us);
	buf_add_str(b, STR("\n\n"));
	for (size_t i = 0; i < countof(rows); i++)
		if (!str_empty(rows[i].text)) {
			buf_addf(b, "* %s: ", rows[i].label);
			add_name(b, rows[i].text);
			buf_add_char(b, '\n');
		}
	buf_add_char(b, '\n');
}

static const char *whose(const struct transcript_item *item)
{
	return item->sidechain ? " (subagent)" : "";
}

static void write_prompt(struct page *p, const struct transcript_item *item)
{
	buf_addf(&p->part, "## Prompt %u, ", ++p->prompts);
	add_time(&p->part, item->at_us);
	buf_addf(&p->part, "%s\n\n", whose(item));
	add_quote(&p->part, str_empty(item->text) ? STR("(no text)") : item->text);
}

static void write_answer(struct page *p, const struct transcript_item *item)
{
	int64_t id = text_hash(item->id);

	/* The same once more, only to say that it was the last. */
	if (id == p->last_answer)
		return;
	p->last_answer = id;
	buf_addf(&p->part, "**%s%s**\n\n", item->failed ? "Failed" : "Answer", whose(item));
	add_quote(&p->part, item->text);
}

static void write_call(struct page *p, const struct transcript_item *item)
{
	static const char *const keys[] = { "command", "file_path", "path", "pattern", "url", "query", "prompt", NULL };

	buf_add_str(&p->part, STR("**Tool** "));
	add_name(&p->part, item->tool);
	buf_addf(&p->part, "%s\n\n", whose(item));
	if (item->input)
		add_value(&p->part, item->input, keys, INPUT_MAX);
}

static void write_result(struct page *p, const struct transcript_item *item)
{
	static const char *const keys[] = { "stdout", "llmContent", "content", "output", "text", NULL };

	buf_addf(&p->part, "%s%s\n\n", item->failed ? "**Result: failed**" : "Result", whose(item));
	if (item->output)
		add_value(&p->part, item->output, keys, RESULT_MAX);
}

static void write_compacted(struct page *p, const struct transcript_item *item)
{
	buf_addf(&p->part, "---\n\n**The context was compacted**%s\n\n",
		str_eq(item->source, STR("manual")) ? " by hand" : "");
	if (!str_empty(item->text))
		add_fenced(&p->part, item->text, RESULT_MAX);
}

/* -- tokens ------------------------------------------------------------------------------------ */

static void add_tokens(struct transcript_tokens *to, const struct transcript_tokens *k, int64_t sign)
{
	to->input += sign * k->input;
	to->cache_read += sign * k->cache_read;
	to->cache_write += sign * k->cache_write;
	to->output += sign * k->output;
	to->reasoning += sign * k->reasoning;
}

static struct usage_row *find_row(struct page *p, str model)
{
	char name[sizeof p->rows[0].model];
	size_t i = 0;

	model = str_cut_utf8(model, sizeof name - 1);
	snprintf(name, sizeof name, STR_FMT, STR_ARG(model));
	while (i < p->n_rows && strcmp(p->rows[i].model, name) != 0)
		i++;
	if (i == MODELS_MAX)
		return &p->rows[MODELS_MAX - 1];
	if (i == p->n_rows) {
		snprintf(p->rows[i].model, sizeof p->rows[i].model, "%s", name);
		p->n_rows++;
	}
	return &p->rows[i];
}

static void count_usage(struct page *p, const struct transcript_item *item)
{
	int64_t id = text_hash(item->id);
	struct recent *r = NULL;

	/* Numbers no model ever had would only overflow. */
	if (MAX(MAX(item->tokens.input, item->tokens.cache_read), MAX(item->tokens.cache_write, item->tokens.output)) >
		INT64_C(1) << 40)
		return;
	for (size_t i = 0; i < MIN(p->n_recent, (size_t)RECENT_MAX); i++)
		if (p->recent[i].id == id)
			r = &p->recent[i];
	if (r) {
		add_tokens(&r->row->sum, &r->tokens, -1);
		r->row->answers--;
	} else {
		r = &p->recent[p->n_recent++ % RECENT_MAX];
	}
	*r = (struct recent){ .id = id, .row = find_row(p, item->model), .tokens = item->tokens };
	add_tokens(&r->row->sum, &r->tokens, 1);
	r->row->answers++;
}

static void write_usage(struct page *p)
{
	struct buf *b = &p->part;

	if (p->n_rows == 0)
		return;
	buf_add_str(b,
		STR("## Tokens\n\n| Model | Answers | Input | From cache | Into cache | Output | Reasoning |\n"
		    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"));
	for (size_t i = 0; i < p->n_rows; i++) {
		const struct transcript_tokens *k = &p->rows[i].sum;

		buf_add_str(b, STR("| "));
		add_name(b, p->rows[i].model[0] ? str_of(p->rows[i].model) : STR("unknown"));
		buf_addf(b, " | %llu | %lld | %lld | %lld | %lld | %lld |\n", (unsigned long long)p->rows[i].answers,
			(long long)k->input, (long long)k->cache_read, (long long)k->cache_write, (long long)k->output,
			(long long)k->reasoning);
	}
}

/* -- the whole --------------------------------------------------------------------------------- */

static void write_item(struct page *p, const struct transcript *t, const struct transcript_item *item)
{
	static void (*const writers[TRANSCRIPT_KIND_MAX])(struct page * p, const struct transcript_item *item) = {
		[TRANSCRIPT_PROMPT] = write_prompt,
		[TRANSCRIPT_ANSWER] = write_answer,
		[TRANSCRIPT_CALL] = write_call,
		[TRANSCRIPT_RESULT] = write_result,
		[TRANSCRIPT_USAGE] = count_usage,
		[TRANSCRIPT_COMPACTED] = write_compacted,
	};

	if (!p->begun)
		add_head(p, t, item);
	p->begun = true;
	if (writers[item->kind])
		writers[item->kind](p, item);
}

/* Appends the part as a whole, or nothing of it. */
static int end_part(struct page *p, struct buf *b)
{
	int r = p->part.full ? -E2BIG : buf_add_str(b, buf_str(&p->part));

	buf_clear(&p->part);
	p->part.full = false;
	return r;
}

int transcript_write_markdown(struct transcript *t, struct buf *b)
{
	struct page *p = xcalloc(1, sizeof *p);
	struct transcript_item item;
	int r, got = 0;

	buf_init(&p->part, 4 * (size_t)TRANSCRIPT_LINE_MAX);
	do {
		r = transcript_next(t, &item);
		if (r == 1)
			write_item(p, t, &item);
		else if (r == 0)
			write_usage(p);
		got = r < 0 ? r : end_part(p, b);
	} while (r == 1 && got >= 0);
	buf_release(&p->part);
	free(p);
	return got < 0 ? got : 0;
}
