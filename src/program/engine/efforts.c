/* The active efforts: read from the store once, then changed by the same events that are journaled. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/turn.h"

enum {
	WAIT_MS = 10000,
	AGAIN_MAX_S = 60,
	PATIENCE_MS = 150, /* of a session that starts before they are read */
};

struct loading {
	struct engine *engine;
	struct readers *readers;
	struct writer *writer;
	struct journal_pos seen;
	struct arena arena;
	str rows;
	int result;
};

/* On a worker. What an earlier daemon journaled is folded first. */
static void work(void *arg)
{
	struct loading *l = arg;
	struct store *s = NULL;
	struct err err = { 0 };

	l->result = writer_wait(l->writer, l->seen, WAIT_MS);
	if (l->result == 0)
		l->result = readers_take(l->readers, &s, &err);
	if (l->result == 0)
		l->result = efforts_read(s, &l->arena, &l->rows);
	if (s && l->result < 0)
		store_close(s);
	else if (s)
		readers_give_back(l->readers, s);
	/* A page that only this looks at: the next attempt finds it repaired. */
	if (l->result == -EUCLEAN)
		writer_suspect(l->writer);
}

static void call_awaiter(struct engine *e)
{
	void (*fn)(void *arg) = e->efforts_awaited;

	e->efforts_awaited = NULL;
	if (fn)
		fn(e->efforts_awaiter);
}

/* Between two attempts nobody waits: what changes then is kept until the table is filled. */
void engine_await_efforts(struct engine *e, void (*fn)(void *arg), void *arg)
{
	e->efforts_awaited = fn;
	e->efforts_awaiter = arg;
	if (efforts_known(e->efforts) || !e->efforts_load)
		call_awaiter(e);
}

/* One that resumes may be answered, and others with it: start over with the list. */
static void wake_waiting(struct engine *e)
{
	for (struct turn *t = e->open; t;) {
		bool waits = t->efforts_until_us;

		t->efforts_until_us = 0;
		if (waits)
			turn_arrive(t);
		t = waits ? e->open : t->newer;
	}
}

static void load(struct engine *e);

static void load_again(void *arg)
{
	struct engine *e = arg;

	if (!efforts_known(e->efforts) && !e->efforts_load)
		load(e);
}

/* 1, 2, 4 … 60 s; as long as they are not known, nothing is gated. */
static void try_later(struct engine *e, int why)
{
	int64_t seconds = MIN(INT64_C(1) << MIN(e->efforts_failed, 6U), (int64_t)AGAIN_MAX_S);

	e->efforts_failed++;
	log_warn(LOG_ENGINE,
		"the active efforts cannot be read (%s); hooks go on without them, and in %lld s they are "
		"read again",
		strerror(-why), (long long)seconds);
	if (!e->efforts_timer)
		e->efforts_timer = loop_timer_new(e->config.loop, load_again, e);
	loop_timer_set(e->efforts_timer, seconds * USEC_PER_SEC);
}

static void done(void *arg)
{
	struct loading *l = arg;
	struct engine *e = l->engine;
	struct json *rows = NULL;

	if (l->result == 0)
		l->result = json_parse(&l->arena, l->rows, JSON_LENIENT_UTF8, &rows, NULL);
	e->efforts_load--;
	if (l->result == 0) {
		e->efforts_failed = 0;
		efforts_fill(e->efforts, rows);
	} else if (!e->efforts_load) {
		try_later(e, l->result);
	}
	call_awaiter(e);
	wake_waiting(e);
	arena_release(&l->arena);
	free(l);
}

static void load(struct engine *e)
{
	struct loading *l = xcalloc(1, sizeof *l);

	*l = (struct loading){ .engine = e,
		.readers = e->readers,
		.writer = e->writer,
		.seen = journal_end(e->config.journal) };
	efforts_empty(e->efforts);
	e->efforts_load++;
	loop_submit_lane(e->config.loop, LOOP_BACKGROUND, work, done, l);
}

void engine_load_efforts(struct engine *e, struct readers *readers)
{
	e->readers = readers;
	load(e);
	engine_load_fleet(e, readers);
}

/* The agent that starts the daemon is the one that wants to know where it stands. */
enum stage_result stage_await_efforts(struct turn *t)
{
	if (t->event.kind != EVENT_SESSION_START || !t->engine->efforts_load)
		return STAGE_DONE;
	turn_depart(t);
	t->efforts_until_us = clock_mono_us() + PATIENCE_MS * USEC_PER_MSEC;
	return turn_wait(t);
}

bool efforts_expire(struct turn *t, int64_t now)
{
	if (!t->efforts_until_us || now < t->efforts_until_us)
		return false;
	t->efforts_until_us = 0;
	turn_arrive(t);
	return true;
}

void sight_add_injection(struct sight *s, struct arena *a, str text)
{
	struct context_block **last = &s->injections;

	while (*last)
		last = &(*last)->next;
	*last = arena_new(a, struct context_block);
	(*last)->text = text;
}

static void write_paths(struct json_writer *w, const char *name, const str *paths, size_t n)
{
	jw_key(w, name);
	jw_array(w);
	for (size_t i = 0; i < n; i++)
		jw_str(w, paths[i]);
	jw_end_array(w);
}

static void write_lists(struct json_writer *w, const struct sight *s)
{
	jw_key(w, "firedRules");
	jw_array(w);
	for (const struct effort_fired *f = s->fired; f; f = f->next) {
		jw_object(w);
		jw_field_str(w, "ruleId", f->rule);
		jw_field_bool(w, "blocks", f->blocks);
		jw_field_str(w, "text", f->text);
		jw_end_object(w);
	}
	jw_end_array(w);
	write_paths(w, "filesToPreload", s->files, s->nfiles);
	write_paths(w, "pendingPreloads", s->pending, s->npending);
	jw_key(w, "pendingInjections");
	jw_array(w);
	for (const struct context_block *b = s->injections; b; b = b->next)
		jw_str(w, b->text);
	jw_end_array(w);
}

/* Members have the names that the callers of hooks.* know. */
str sight_write(const struct sight *s, struct arena *a)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	char id[ULID_TEXT + 1];
	str text;

	jw_object(&w);
	if (s->found) {
		ulid_format(&s->effort, id);
		jw_field_str(&w, "effortId", str_of(id));
		ulid_format(&s->window, id);
		jw_field_str(&w, "sessionId", str_of(id));
		jw_field_str(&w, "taskDir", s->task);
		jw_field_str(&w, "skill", s->skill);
		jw_field_str(&w, "phase", s->phase.n ? s->phase : STR_NONE);
		if (s->config.n) {
			jw_key(&w, "skillConfig");
			jw_stored(&w, s->config);
		}
		if (s->metadata.n) {
			jw_key(&w, "metadata");
			jw_stored(&w, s->metadata);
		}
		if (s->usage >= 0)
			jw_field_int(&w, "contextUsage", s->usage);
	}
	jw_field_int(&w, "heartbeatCount", s->heartbeat);
	jw_field_bool(&w, "overflowWarning", s->overflow);
	jw_field_str(&w, "sessionContext", s->line);
	if (s->trouble)
		jw_field_str(&w, "trouble", str_of(agent_trouble_names[s->trouble]));
	if (str_is_set(s->standing)) {
		jw_key(&w, "dehydratedContext");
		jw_raw(&w, s->standing);
	}
	if (str_is_set(s->dialogue)) {
		jw_key(&w, "dialogueEntry");
		jw_raw(&w, s->dialogue);
	}
	write_lists(&w, s);
	jw_end_object(&w);
	text = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

void engine_context_used(struct engine *e, str agent, str session, int64_t tokens, int64_t max)
{
	struct effort_window *w = effort_window_find(e->efforts, agent, session, STR(""));

	if (w && tokens > 0)
		effort_window_uses(w, tokens, effort_context_max(agent, STR_NONE, max));
}

struct effort_skills *engine_skills(struct engine *e)
{
	return e->skills;
}

void efforts_note(struct engine *e, const struct record *r)
{
	struct arena a = { 0 };
	struct json *payload = NULL;

	if (json_parse(&a, r->payload, JSON_LENIENT_UTF8, &payload, NULL) == 0)
		efforts_apply(e->efforts, payload, r->at_us);
	arena_release(&a);
}
