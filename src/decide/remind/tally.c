/* What is counted of a session. A turn begins with a prompt, and most of it is counted anew then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "remind/internal.h"

struct tally *tally_new(void)
{
	return xcalloc(1, sizeof(struct tally));
}

void tally_free(struct tally *t)
{
	free(t);
}

int64_t tally_began_us(const struct tally *t)
{
	return t->began_us;
}

/* -- failures ---------------------------------------------------------------------------------- */

/* Numbers differ from one attempt to the next: places, times, addresses. */
static uint64_t hash_of_failure(str tool, str error)
{
	uint64_t h = hash_str(tool);

	for (size_t i = 0; i < MIN(error.n, (size_t)ERROR_TEXT); i++) {
		bool digit = error.p[i] >= '0' && error.p[i] <= '9';

		if (!digit || i == 0 || error.p[i - 1] < '0' || error.p[i - 1] > '9')
			h = hash_byte(h, digit ? '#' : (uint8_t)error.p[i]);
	}
	return h;
}

static void describe(char to[ERROR_TEXT], str tool, str error)
{
	str shown = str_cut_utf8(str_trim(error), 120);

	snprintf(to, ERROR_TEXT, STR_FMT ": " STR_FMT, STR_ARG(str_head(tool, 32)), STR_ARG(shown));
	for (char *p = to; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
}

/* The one that failed last comes last. */
static void add_failure(struct tally *t, const struct event *e)
{
	uint64_t hash = hash_of_failure(e->tool_name, e->error);
	struct failure one = { .hash = hash };
	size_t at = 0;

	if (e->is_interrupt || str_empty(e->error))
		return;
	while (at < t->nfailures && t->failures[at].hash != hash)
		at++;
	if (at < t->nfailures)
		one = t->failures[at];
	else if (t->nfailures == ERRORS_KEPT)
		at = 0;
	if (at < t->nfailures) {
		memmove(&t->failures[at], &t->failures[at + 1], (t->nfailures - at - 1) * sizeof one);
		t->nfailures--;
	}
	one.times++;
	describe(one.text, e->tool_name, e->error);
	t->failures[t->nfailures++] = one;
	t->said_failures = false;
}

/* -- files ------------------------------------------------------------------------------------- */

static struct changed *find(struct tally *t, str path)
{
	for (size_t i = 0; i < t->nchanged; i++)
		if (str_eq(str_of(t->changed[i].path), path))
			return &t->changed[i];
	return NULL;
}

void tally_changed(struct tally *t, str path, int64_t at_us)
{
	enum file_kind kind = file_kind_of(path);
	struct changed *one;

	path = str_cut_utf8(path, PATH_KEPT - 1);
	one = find(t, path);
	if (str_empty(path) || (one && one->at_us >= at_us))
		return;
	if (!one && t->nchanged < CHANGED_KEPT) {
		one = &t->changed[t->nchanged++];
		memcpy(one->path, path.p, path.n);
		one->path[path.n] = 0;
		one->kind = kind;
		t->unkept++;
	} else if (!one) {
		t->nmore++;
	}
	if (one)
		one->at_us = at_us;
	if (kind < FILE_KINDS)
		t->changed_at[kind] = MAX(t->changed_at[kind], at_us);
}

/* Below the directory of the session names are short, as the disk's are. */
static str path_below(str cwd, str path)
{
	bool below = cwd.n > 1 && str_starts(path, cwd) && path.n > cwd.n + 1 && path.p[cwd.n] == '/';

	return below ? str_from(path, cwd.n + 1) : path;
}

static void note_write(struct tally *t, const struct event *e)
{
	struct patch patch;
	struct patch_file f;
	str text = json_str(json_get(e->tool_input, STR("input")));

	t->looks = 0;
	if (!str_is_set(text))
		text = json_str(json_get(e->tool_input, STR("command")));
	if (!str_empty(e->file_path)) {
		tally_changed(t, path_below(e->cwd, e->file_path), e->at_us);
		return;
	}
	patch = patch_open(text);
	for (int i = 0; i < CHANGED_KEPT && patch_next(&patch, &f); i++)
		tally_changed(t, path_below(e->cwd, f.path), e->at_us);
}

/* -- calls ------------------------------------------------------------------------------------- */

static void note_command(struct tally *t, const struct event *e, bool failed)
{
	for (size_t i = 0; i < FILE_KINDS; i++)
		if (file_checks[i].is_done_by(e->command))
			*(failed ? &t->failed_at[i] : &t->done_at[i]) = e->at_us;
}

static void note_todos(struct tally *t, const struct event *e)
{
	if (!todos_take(&t->todos, e->tool_input, e->tool_response))
		return;
	t->keeps_todos = true;
	t->unkept = 0;
	t->said_unkept = false;
}

static void add_call(struct tally *t, const struct event *e)
{
	bool failed = e->kind == EVENT_POST_TOOL_USE_FAILURE;

	t->worked = true;
	if (failed)
		add_failure(t, e);
	if (e->tool_class == TOOL_SHELL)
		note_command(t, e, failed);
	if (failed)
		return;
	if (todos_are_kept_by(e->tool_name))
		note_todos(t, e);
	else if (e->tool_class == TOOL_WRITE)
		note_write(t, e);
	else if (e->tool_class == TOOL_READ || e->tool_class == TOOL_SEARCH || e->tool_class == TOOL_WEB)
		t->looks++;
	else
		t->looks = 0;
	if (!t->looks)
		t->said_looks = false;
}

static void begin_turn(struct tally *t, const struct event *e)
{
	struct tally fresh = { .began_us = e->at_us, .keeps_todos = t->keeps_todos };

	fresh.todos = t->todos;
	memcpy(fresh.owed, t->owed, sizeof fresh.owed);
	*t = fresh;
}

void tally_add(struct tally *t, const struct event *e)
{
	if (e->kind == EVENT_SESSION_START && !str_eq(e->source, STR("resume")) && !str_eq(e->source, STR("compact")))
		*t = (struct tally){ .began_us = 0 };
	if (e->kind == EVENT_USER_PROMPT_SUBMIT)
		begin_turn(t, e);
	if (e->kind == EVENT_POST_TOOL_USE || e->kind == EVENT_POST_TOOL_USE_FAILURE)
		add_call(t, e);
}
