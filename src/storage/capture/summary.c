/* What is kept of inputs and outputs to look at; events hold the whole. */
#include "base/limits.h"
#include "capture/internal.h"

enum {
	VALUE_MAX = 500,  /* characters of one input value */
	OUTPUT_MAX = 500, /* characters of an output */
	READ_MAX = 200,   /* longer reads are shown as their length */
};

#define ELLIPSIS "…"

size_t summary_length(str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += ((unsigned char)text.p[i] & 0xC0) != 0x80;
	return n;
}

/* At most that many characters, with a sign that something is missing. */
str summary_cut(struct arena *a, str text, size_t characters)
{
	size_t n = 0, i = 0;
	char *cut;

	if (text.n <= characters)
		return text;
	for (; i < text.n; i++) {
		if (((unsigned char)text.p[i] & 0xC0) == 0x80)
			continue;
		if (n++ == characters - 1)
			break;
	}
	/* The character at i, and whether it is the last. */
	if (i == text.n || summary_length(str_head(str_from(text, i), 8)) <= 1)
		return text;
	cut = arena_bytes(a, i + strlen(ELLIPSIS));
	memcpy(cut, text.p, i);
	memcpy(cut + i, ELLIPSIS, strlen(ELLIPSIS));
	return str_n(cut, i + strlen(ELLIPSIS));
}

/* Contents are in the files, and in events; here their size is enough. */
static bool is_contents(str key)
{
	static const char *const names[] = { "content", "new_source", "old_string", "new_string", "edits",
		"old_source" };

	for (size_t i = 0; i < countof(names); i++)
		if (str_eq(key, str_of(names[i])))
			return true;
	return false;
}

static void write_short(struct arena *a, struct json_writer *w, const struct json *v, str key, unsigned depth)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD * 2);

	if (v->type == JSON_STRING && is_contents(key)) {
		jw_str(w, arena_strf(a, "<%zu chars>", summary_length(v->text)));
	} else if (v->type == JSON_STRING) {
		jw_str(w, summary_cut(a, v->text, VALUE_MAX));
	} else if (v->type == JSON_OBJECT && depth < 3 && !is_contents(key)) {
		jw_object(w);
		json_each(m, v) {
			jw_key_str(w, m->key);
			write_short(a, w, m, m->key, depth + 1);
		}
		jw_end_object(w);
	} else if (v->type >= JSON_ARRAY) {
		json_write(&b, v);
		if (b.len > VALUE_MAX)
			jw_str(w, arena_strf(a, "<%zu chars>", b.len));
		else
			jw_raw(w, arena_str(a, buf_str(&b)));
	} else {
		jw_value(w, v);
	}
	buf_release(&b);
}

str summary_of_input(struct arena *a, const struct json *input)
{
	struct buf b = BUF_INIT(1 << 20);
	struct json_writer w = JSON_WRITER(&b);
	str result = STR_NONE;

	if (!input)
		return STR_NONE;
	write_short(a, &w, input, STR(""), 0);
	if (!b.full)
		result = arena_str(a, buf_str(&b));
	buf_release(&b);
	return result;
}

/* The text of a response, wherever the tool put it. */
static str response_text(struct arena *a, const struct json *v)
{
	static const char *const names[] = { "stdout", "output", "result", "text", "message", "content",
		"returnDisplay", "llmContent" };
	struct buf b = BUF_INIT(LIMIT_PAYLOAD * 2);
	str text;

	if (!v)
		return STR_NONE;
	if (v->type == JSON_STRING)
		return v->text;
	for (size_t i = 0; i < countof(names); i++) {
		text = json_str(json_get(v, str_of(names[i])));
		if (!str_empty(text))
			return text;
	}
	text = json_str(json_path(v, "file", "content", NULL));
	if (!str_empty(text))
		return text;
	if (json_write(&b, v) == 0)
		text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

str summary_of_output(struct arena *a, const struct event *e)
{
	str text;

	/* The result of a tool that writes is the file again; the file and what happened to it
	 * are in columns of their own. */
	if (e->tool_class == TOOL_WRITE && e->tool_response && e->tool_response->type == JSON_OBJECT)
		return STR_NONE;
	text = response_text(a, e->tool_response);

	if (e->tool_class == TOOL_READ && summary_length(text) > READ_MAX)
		return arena_strf(a, "<%zu chars read>", summary_length(text));
	return summary_cut(a, text, OUTPUT_MAX);
}

str summary_of_error(const struct event *e)
{
	str text = json_str(json_get(e->tool_response, STR("stderr")));

	if (!str_empty(e->error))
		return e->error;
	if (e->kind == EVENT_PERMISSION_DENIED)
		return e->reason;
	return str_empty(str_trim(text)) ? STR_NONE : text;
}
