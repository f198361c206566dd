#include "transcript/internal.h"

#include <stdio.h>

#include "base/err.h"

/* What programs put around what was said: each from its opening tag to its closing one, or to the end when that
 * was cut off. A tag may carry attributes. */
static const str wrappers[] = {
	STR("system-reminder"),
	STR("ide_selection"),
	STR("ide_opened_file"),
	STR("ide_diagnostics"),
	STR("local-command-caveat"),
	STR("user-prompt-submit-hook"),
	STR("session_context"),
	STR("hook_context"),
	STR("environment_context"),
	STR("user_instructions"),
};

/* The wrapper whose opening tag is at the beginning of text, or NULL. */
static const str *find_wrapper(str text)
{
	for (size_t i = 0; i < countof(wrappers); i++) {
		str rest = str_from(text, 1);

		if (str_starts(rest, wrappers[i]) && rest.n > wrappers[i].n &&
			(rest.p[wrappers[i].n] == '>' || rest.p[wrappers[i].n] == ' '))
			return &wrappers[i];
	}
	return NULL;
}

/* How long the wrapped part is that begins text. Inner ones of the same name are part of it only up to the first end:
 * nobody nests them, and looking for pairs would make a hostile text cost its square. */
static size_t wrapped_length(str text, str name)
{
	size_t at = name.n + 1;

	for (;;) {
		ptrdiff_t close = str_find(str_from(text, at), STR("</"));

		if (close < 0)
			return text.n;
		at += (size_t)close + 2;
		if (str_starts(str_from(text, at), name) && text.n > at + name.n && text.p[at + name.n] == '>')
			return at + name.n + 1;
	}
}

str transcript_plain_text(struct arena *a, str text)
{
	str rest = text;
	char *out = NULL;
	size_t n = 0;

	for (size_t i = 0; i < rest.n;) {
		const char *open = memchr(rest.p + i, '<', rest.n - i);
		const str *name;

		i = open ? (size_t)(open - rest.p) : rest.n;
		name = open ? find_wrapper(str_from(rest, i)) : NULL;
		if (open && !name) {
			i++;
			continue;
		}
		if (!open && !out)
			return str_trim(text);
		if (!out)
			out = arena_bytes(a, text.n);
		memcpy(out + n, rest.p, i);
		n += i;
		if (!open)
			break;
		rest = str_from(rest, i + wrapped_length(str_from(rest, i), *name));
		i = 0;
	}
	return out ? str_trim(str_n(out, n)) : str_trim(text);
}

/* The last text of each side; the main line of a session goes before what its subagents said. */
struct last_text {
	struct buf text;
	bool main;
};

static void keep_text(struct last_text *l, struct arena *scratch, const struct transcript_item *item)
{
	str text;

	if (item->sidechain && l->main)
		return;
	text = transcript_plain_text(scratch, item->text);
	/* Said by a program that finished, not by the user. */
	if (str_empty(text) || str_starts(text, STR("<task-notification>")))
		return;
	buf_clear(&l->text);
	buf_add_str(&l->text, text);
	l->main |= !item->sidechain;
}

int transcript_last_texts(const char *path, const char *agent, int64_t tail, struct arena *a, str *ret_user,
	str *ret_assistant, struct err *err)
{
	const struct transcript_request q = { .path = path, .agent = agent };
	struct last_text user = { .text = BUF_INIT(TRANSCRIPT_LINE_MAX) };
	struct last_text model = { .text = BUF_INIT(TRANSCRIPT_LINE_MAX) };
	struct transcript_item item;
	struct transcript *t;
	struct arena scratch;
	int r = transcript_open(&q, &t, err);

	*ret_user = *ret_assistant = STR_NONE;
	if (r < 0)
		return r;
	arena_init(&scratch);
	/* The line it begins in is cut: it is skipped like one that is too long. */
	if (tail > 0 && tail < t->size && !t->document)
		lines_init(&t->lines, t->fd, t->size - tail, t->size, true);
	while ((r = transcript_next(t, &item)) == 1) {
		if (item.kind == TRANSCRIPT_PROMPT)
			keep_text(&user, &scratch, &item);
		else if (item.kind == TRANSCRIPT_ANSWER && !item.failed)
			keep_text(&model, &scratch, &item);
		arena_reset(&scratch);
	}
	if (r < 0)
		err_set(err, r, "%s: %s", path, strerror(-r));
	if (r >= 0 && user.text.len > 0)
		*ret_user = arena_str(a, buf_str(&user.text));
	if (r >= 0 && model.text.len > 0)
		*ret_assistant = arena_str(a, buf_str(&model.text));
	buf_release(&user.text);
	buf_release(&model.text);
	arena_release(&scratch);
	transcript_close(t);
	return r < 0 ? r : 0;
}

static void note_fill(struct transcript_fill *f, struct arena *scratch, const struct transcript_item *item)
{
	const struct transcript_tokens *k = &item->tokens;
	str said;

	if (item->sidechain || str_is_set(item->agent_id))
		return;
	if (item->kind == TRANSCRIPT_COMPACTED) {
		f->tokens = 0;
	} else if (item->kind == TRANSCRIPT_USAGE) {
		f->tokens = k->input + k->cache_read + k->cache_write + k->output;
		snprintf(f->model, sizeof f->model, STR_FMT, STR_ARG(str_cut_utf8(item->model, sizeof f->model - 1)));
	} else if (item->kind == TRANSCRIPT_ANSWER) {
		said = transcript_plain_text(scratch, item->text);
		snprintf(f->last, sizeof f->last, STR_FMT, STR_ARG(str_cut_utf8(said, sizeof f->last - 1)));
	}
}

int transcript_last_fill(const char *path, const char *agent, int64_t tail, struct transcript_fill *ret,
	struct err *err)
{
	const struct transcript_request q = { .path = path, .agent = agent };
	struct transcript_item item;
	struct transcript *t;
	struct arena scratch = { 0 };
	int r = transcript_open(&q, &t, err);

	*ret = (struct transcript_fill){ 0 };
	if (r < 0)
		return r;
	if (tail > 0 && tail < t->size && !t->document)
		lines_init(&t->lines, t->fd, t->size - tail, t->size, true);
	while ((r = transcript_next(t, &item)) == 1) {
		note_fill(ret, &scratch, &item);
		arena_reset(&scratch);
	}
	ret->max = t->context_max;
	arena_release(&scratch);
	transcript_close(t);
	return r < 0 ? err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}
