#include "engine/turn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

enum {
	SPARE_TURNS = 64,
	WAIT_EVERY_MS = 50,  /* a quarter of what the client allows between frames: starting hooks holds the loop up */
	FLUSH_ROUNDS = 64,   /* pipelined requests answered before other descriptors get their turn */
	SYNC_MS = 1000,      /* durability strict: longest wait for a sync */
};

/* -- life of a turn ---------------------------------------------------------------------------- */

struct turn *turn_new(struct engine *e, struct conn *c, str body)
{
	struct turn *t = e->spare;

	if (t) {
		e->spare = t->next;
		e->nspare--;
	} else {
		t = xcalloc(1, sizeof *t);
		buf_init(&t->out, LIMIT_REPLY - KIB(1));
	}
	t->engine = e;
	t->conn = c;
	t->body = body;
	t->spoke_us = clock_mono_us();
	e->turns++;
	return t;
}

static void turn_free(struct turn *t)
{
	struct engine *e = t->engine;

	e->turns--;
	if (t->out.cap > KIB(16))
		buf_release(&t->out);
	buf_clear(&t->out);
	/* A large payload's memory goes back at once. */
	if (t->arena.total > KIB(64))
		arena_release(&t->arena);
	arena_reset(&t->arena);
	if (e->nspare < SPARE_TURNS) {
		*t = (struct turn){ .arena = t->arena, .out = t->out, .next = e->spare };
		e->spare = t;
		e->nspare++;
		return;
	}
	arena_release(&t->arena);
	buf_release(&t->out);
	free(t);
}

static void remove_waiting(struct turn *t)
{
	for (struct turn **at = &t->engine->waiting; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			return;
		}
}

static void finish(struct turn *t)
{
	pipeline_answer(t);
	turn_free(t);
}

void turn_hold(struct turn *t)
{
	t->holds++;
}

static void set_patience(struct engine *e)
{
	if (e->patience_set)
		return;
	e->patience_set = true;
	loop_timer_set(e->patience, WAIT_EVERY_MS * USEC_PER_MSEC);
}

void turn_release(struct turn *t)
{
	if (--t->holds || !t->written)
		return;
	remove_waiting(t);
	finish(t);
}

void turn_written(struct turn *t, enum wire_stored stored)
{
	struct engine *e = t->engine;

	t->written = true;
	t->stored = stored;
	if (stored == WIRE_STORED_NO)
		e->state.unstored++;
	if (!t->holds) {
		finish(t);
		return;
	}
	t->next = e->waiting;
	e->waiting = t;
	set_patience(e);
}

void turn_refuse(struct turn *t)
{
	uint8_t head[WIRE_HEADER];
	struct iovec piece = { head, sizeof head };

	log_warn(LOG_ENGINE, "a frame without agent or key was refused");
	wire_header_encode(head, WIRE_REFUSED, 0);
	conn_answer(t->conn, &piece, 1);
	turn_free(t);
}

/* -- patience: WAIT frames --------------------------------------------------------------------- */

static void send_wait(struct turn *t, int64_t now)
{
	struct wire_reply reply = { .type = WIRE_WAIT, .stored = t->stored, .wait_ms = WAIT_EVERY_MS };
	uint8_t head[WIRE_REPLY_FIXED];
	struct iovec piece = { head, sizeof head };

	if (now - t->spoke_us < WAIT_EVERY_MS * USEC_PER_MSEC / 2)
		return;
	t->spoke_us = now;
	wire_reply_encode(&reply, head);
	conn_send(t->conn, &piece, 1);
}

/* Durability strict: answers whoever's sync has come. A disk that fails or hangs must not
 * become the agent's trouble: then the answer goes without it and says so, "journaled". */
static void settle_unsynced(struct engine *e)
{
	struct turn *t = e->unsynced.first, *next;
	int64_t now = clock_mono_us();
	struct journal_sync_state s;

	if (!t)
		return;
	journal_syncer_get_state(e->syncer, &s);
	turn_list_init(&e->unsynced);
	for (; t; t = next) {
		next = t->next;
		if (journal_pos_cmp(&t->mark, &s.failed) <= 0)
			turn_written(t, WIRE_STORED_JOURNALED);
		else if (journal_pos_cmp(&t->mark, &s.synced) <= 0)
			turn_written(t, WIRE_STORED_COMMITTED);
		else if (now - t->flushed_us > SYNC_MS * USEC_PER_MSEC)
			turn_written(t, WIRE_STORED_JOURNALED);
		else
			turn_list_add(&e->unsynced, t);
	}
}

static void be_patient(void *arg)
{
	struct engine *e = arg;
	int64_t now = clock_mono_us();

	e->patience_set = false;
	settle_unsynced(e);
	for (struct turn *t = e->waiting; t; t = t->next)
		send_wait(t, now);
	for (struct turn *t = e->unsynced.first; t; t = t->next)
		send_wait(t, now);
	if (e->waiting || e->unsynced.first)
		set_patience(e);
}

/* -- the journal's write ----------------------------------------------------------------------- */

static void note_journal_trouble(struct engine *e, int r)
{
	char text[sizeof e->state.journal_trouble] = "";

	if (r < 0)
		snprintf(text, sizeof text, "the journal cannot be written: %s", strerror(-r));
	if (strcmp(text, e->state.journal_trouble) == 0)
		return;
	if (text[0])
		log_error(LOG_JOURNAL, "%s; events are answered but not kept until it can", text);
	else
		log_info(LOG_JOURNAL, "the journal can be written again");
	memcpy(e->state.journal_trouble, text, sizeof text);
}

static void flush_once(struct engine *e)
{
	struct turn *t = e->unflushed.first, *next;
	struct journal_pos mark;
	unsigned records = e->audit_waits;
	bool ended = false;
	int r = journal_flush(e->config.journal, &mark);

	e->audit_waits = false;
	note_journal_trouble(e, r);
	turn_list_init(&e->unflushed);
	for (; t; t = next) {
		next = t->next;
		t->mark = mark;
		records++;
		ended |= t->event.kind == EVENT_STOP || t->event.kind == EVENT_SESSION_END;
		e->state.journaled += r == 0;
		if (r == 0 && e->config.strict && e->syncer) {
			t->stored = WIRE_STORED_JOURNALED;
			t->flushed_us = clock_mono_us();
			turn_list_add(&e->unsynced, t);
			set_patience(e);
		} else {
			turn_written(t, r == 0 ? WIRE_STORED_JOURNALED : WIRE_STORED_NO);
		}
	}
	/* After the answers: waking a thread may cost as much as all the rest. */
	if (r == 0 && e->writer)
		writer_notify(e->writer, mark, records, ended ? WRITER_SOON : WRITER_LATER);
	if (r == 0 && e->syncer)
		journal_syncer_notify(e->syncer, e->config.strict);
}

static void nothing(void *arg)
{
	(void)arg;
}

void engine_before_sleep(void *arg)
{
	struct engine *e = arg;
	int round = 0;

	/* Answering may bring in the next pipelined request, which then needs a write of its own. */
	while ((e->unflushed.first || e->audit_waits) && round++ < FLUSH_ROUNDS)
		flush_once(e);
	if (e->unflushed.first)
		loop_post(e->config.loop, nothing, NULL);
}

int engine_rotate(struct engine *e, struct journal_pos *ret)
{
	struct journal_pos before;
	int r = journal_rotate(e->config.journal, &before);

	*ret = journal_end(e->config.journal);
	if (e->writer)
		writer_notify(e->writer, *ret, 0, WRITER_NOW);
	return r;
}

/* -- durability: strict ------------------------------------------------------------------------ */

static void finish_synced(void *arg)
{
	settle_unsynced(arg);
}

void engine_synced(void *arg)
{
	struct engine *e = arg;

	if (e->config.strict)
		loop_post(e->config.loop, finish_synced, e);
}

/* -- the engine -------------------------------------------------------------------------------- */

void engine_hook(struct conn *c, str body, void *arg)
{
	struct engine *e = arg;

	e->state.received++;
	pipeline_start(turn_new(e, c, body));
}

struct engine *engine_new(const struct engine_config *config)
{
	struct engine *e = xcalloc(1, sizeof *e);

	e->config = *config;
	e->redactor = redactor_new();
	e->worker_redactor = redactor_new();
	pthread_mutex_init(&e->worker_lock, NULL);
	turn_list_init(&e->unflushed);
	turn_list_init(&e->unsynced);
	e->patience = loop_timer_new(config->loop, be_patient, e);
	if (config->state)
		e->hooks = hooks_new(&(struct hooks_config){ .loop = config->loop, .redactor = e->redactor,
			.home = config->home, .user_config = config->user_config, .state = config->state,
			.run = config->run_dir });
	return e;
}

static void free_turns(struct turn *t)
{
	struct turn *next;

	for (; t; t = next) {
		next = t->next;
		arena_release(&t->arena);
		buf_release(&t->out);
		free(t);
	}
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	hooks_free(e->hooks); /* before the turns that their hooks are for */
	/* Whoever still waits is told by the closed connection. */
	free_turns(e->unflushed.first);
	free_turns(e->unsynced.first);
	free_turns(e->waiting);
	free_turns(e->spare);
	loop_timer_free(e->patience);
	pthread_mutex_destroy(&e->worker_lock);
	redactor_free(e->redactor);
	redactor_free(e->worker_redactor);
	free(e);
}

void engine_set_writer(struct engine *e, struct writer *w, struct journal_syncer *s)
{
	e->writer = w;
	e->syncer = s;
}

void engine_stop_hooks(struct engine *e)
{
	if (e->hooks)
		hooks_stop(e->hooks);
}

struct hooks *engine_hooks(struct engine *e)
{
	return e->hooks;
}

unsigned engine_turns(const struct engine *e)
{
	return e->turns;
}

void engine_get_state(const struct engine *e, struct engine_state *ret)
{
	*ret = e->state;
}
