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
	WAIT_EVERY_MS = 50, /* a quarter of what the client allows between frames: starting hooks holds the loop up */
	FLUSH_ROUNDS = 64,  /* pipelined requests answered before other file descriptors are served */
	SYNC_MS = 1000,     /* durability strict: longest wait for a sync */
};

/* -- life of a turn ---------------------------------------------------------------------------- */

struct turn *turn_new(struct engine *e, const struct hook_call *call)
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
	t->call = *call;
	t->spoke_us = clock_mono_us();
	t->newer = e->open;
	t->place = &e->open;
	if (e->open)
		e->open->place = &t->newer;
	e->open = t;
	e->turns++;
	return t;
}

static void leave_open(struct turn *t)
{
	*t->place = t->newer;
	if (t->newer)
		t->newer->place = t->place;
	t->engine->turns--;
}

static void turn_free(struct turn *t)
{
	struct engine *e = t->engine;

	judge_release(t);
	if (t->out.cap > KIB(16))
		buf_release(&t->out);
	buf_clear(&t->out);
	/* The memory of a large payload is returned at once. */
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

static void let_go(struct turn *t)
{
	struct caller caller = t->call.caller;

	turn_free(t);
	caller.release(caller.arg); /* last: it may bring in the next call */
}

static void finish(struct turn *t)
{
	pipeline_answer(t);
	t->answered = true;
	leave_open(t);
	twin_leave(t);
	live_put(t->engine->live, t->live);
	if (!t->pins)
		let_go(t);
}

void turn_unpin(struct turn *t)
{
	if (--t->pins == 0 && t->answered)
		let_go(t);
}

bool turn_takes_context(const struct turn *t)
{
	return t->call.encode || agent_takes(t->agent, &t->event) & TAKES_CONTEXT;
}

void turn_hold(struct turn *t)
{
	t->holds++;
}

void turn_release(struct turn *t)
{
	if (--t->holds == 0 && t->written)
		finish(t);
}

void turn_written(struct turn *t, enum wire_stored stored)
{
	t->written = true;
	t->stored = stored;
	if (stored == WIRE_STORED_NO)
		t->engine->state.unstored++;
	if (!t->holds)
		finish(t);
}

void turn_depart(struct turn *t)
{
	t->state = TURN_RUNS;
}

enum stage_result turn_wait(struct turn *t)
{
	if (t->state == TURN_ARRIVED)
		return STAGE_DONE;
	t->state = TURN_WAITS;
	return STAGE_WAITS;
}

void turn_arrive(struct turn *t)
{
	bool waits = t->state == TURN_WAITS;

	t->state = TURN_ARRIVED;
	if (waits)
		pipeline_go_on(t);
}

/* -- patience: WAIT frames --------------------------------------------------------------------- */

static void set_patience(struct engine *e)
{
	if (e->patience_set)
		return;
	e->patience_set = true;
	loop_timer_set(e->patience, WAIT_EVERY_MS * USEC_PER_MSEC);
}

static void say_wait(struct turn *t, int64_t now)
{
	t->spoke_us = now;
	if (t->call.caller.wait)
		t->call.caller.wait(t->call.caller.arg, t->stored, WAIT_EVERY_MS);
}

static void send_wait(struct turn *t, int64_t now)
{
	if (now - t->spoke_us >= WAIT_EVERY_MS * USEC_PER_MSEC / 2)
		say_wait(t, now);
}

void turn_say_wait(struct turn *t)
{
	say_wait(t, clock_mono_us());
}

/* The caller's deadline is kept, whatever the disk does. The timer comes every WAIT_EVERY_MS. */
static int64_t longest_sync(const struct turn *t)
{
	int64_t ms = (int64_t)t->call.hook.deadline_ms - WAIT_EVERY_MS - WAIT_EVERY_MS / 2;

	return MAX(0, MIN(SYNC_MS, ms)) * USEC_PER_MSEC;
}

/* Durability strict: answers the turns whose sync is done. A disk that fails or hangs must not hold up the agent:
 * then the answer is sent without the sync and says "journaled". */
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
		if (journal_pos_cmp(&t->pos, &s.failed) <= 0)
			turn_written(t, WIRE_STORED_JOURNALED);
		else if (journal_pos_cmp(&t->pos, &s.synced) <= 0)
			turn_written(t, WIRE_STORED_COMMITTED);
		else if (now - t->flushed_us > longest_sync(t))
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
	rescue_expire(e, now);
	for (struct turn *t = e->open; t; t = t->newer)
		send_wait(t, now);
	/* A turn that resumes may be answered, and others with it: start over with the list. */
	for (struct turn *t = e->open; t;)
		t = judge_expire(t, now) || efforts_expire(t, now) || context_expire(t, now) ? e->open : t->newer;
	if (e->open)
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
		log_error(LOG_JOURNAL, "%s; until it can, events go to the spool", text);
	else
		log_info(LOG_JOURNAL, "the journal can be written again");
	memcpy(e->state.journal_trouble, text, sizeof text);
}

int turn_journal(struct engine *e, struct record *r)
{
	e->urgent |= e->urgent_kinds && *e->urgent_kinds >> r->kind & 1;
	return journal_add(e->config.journal, r);
}

static void flush_once(struct engine *e)
{
	struct turn *t = e->unflushed.first, *next;
	struct journal_pos pos;
	uint64_t memories = e->state.kinds[EVENT_MEMORY];
	unsigned records = e->audit_waits;
	bool ended = false, learned, urgent = e->urgent;
	int r = journal_flush(e->config.journal, &pos);

	e->audit_waits = e->urgent = false;
	records += reports_written(e, r == 0);
	learned = memories != e->state.kinds[EVENT_MEMORY];
	e->learned_us = learned ? clock_mono_us() : e->learned_us;
	note_journal_trouble(e, r);
	turn_list_init(&e->unflushed);
	if (r < 0 && rescue_start(e, t))
		return;
	for (; t; t = next) {
		next = t->next;
		t->pos = pos;
		records++;
		ended |= t->ends_turn;
		e->state.journaled += r == 0;
		if (r == 0 && e->config.strict && e->syncer) {
			t->stored = WIRE_STORED_JOURNALED;
			t->flushed_us = clock_mono_us();
			turn_list_add(&e->unsynced, t);
		} else {
			turn_written(t, r == 0 ? WIRE_STORED_JOURNALED : WIRE_STORED_NO);
		}
	}
	/* After the answers: waking a thread may cost as much as all the rest. */
	if (r == 0 && e->writer)
		writer_notify(e->writer, pos, records,
			learned || urgent ? WRITER_NOW
				: ended   ? WRITER_SOON
					  : WRITER_LATER); /* it may be wanted at once */
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

	log_gather();
	/* Answering may bring in the next pipelined request, which then needs a write of its own. */
	while ((e->unflushed.first || e->audit_waits || e->reports) && round++ < FLUSH_ROUNDS)
		flush_once(e);
	log_flush();
	fleet_tell(e);
	if (e->unflushed.first || e->reports)
		loop_post(e->config.loop, nothing, NULL);
	/* Turns that are not answered by now wait for something: a worker, a child, the disk, another call. */
	if (e->open)
		set_patience(e);
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

void engine_call(struct engine *e, const struct hook_call *call)
{
	e->state.received++;
	pipeline_start(turn_new(e, call));
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
		e->hooks = hooks_new(&(struct hooks_config){ .loop = config->loop,
			.redactor = e->redactor,
			.home = config->home,
			.path = config->hook_path,
			.user_config = config->user_config,
			.state = config->state,
			.run = config->run_dir,
			.keeper = config->keeper,
			.ask = config->llm ? model_ask : NULL,
			.is_own = config->llm ? model_is_own : NULL,
			.ask_arg = config->llm });
	e->live = live_new(e->hooks);
	e->twins = twins_new();
	e->efforts = efforts_new();
	e->fleet = fleet_new();
	e->skills = effort_skills_new();
	return e;
}

static void destroy(struct turn *t)
{
	judge_release(t);
	arena_release(&t->arena);
	buf_release(&t->out);
	free(t);
}

void engine_free(struct engine *e)
{
	struct turn *t;

	if (!e)
		return;
	live_free(e->live);
	hooks_free(e->hooks); /* before the turns that their hooks are for */
	/* Clients that still wait notice the closed connection. */
	while ((t = e->open)) {
		e->open = t->newer;
		destroy(t);
	}
	while ((t = e->spare)) {
		e->spare = t->next;
		destroy(t);
	}
	rescue_free(e);
	reports_free(e);
	twins_free(e->twins);
	told_free(e->told);
	efforts_free(e->efforts);
	fleet_free(e->fleet);
	effort_skills_free(e->skills);
	loop_timer_free(e->patience);
	loop_timer_free(e->efforts_timer);
	pthread_mutex_destroy(&e->worker_lock);
	redactor_free(e->redactor);
	redactor_free(e->worker_redactor);
	free(e);
}

void engine_set_context(struct engine *e, struct context *c)
{
	e->context = c;
}

void engine_set_urgent(struct engine *e, const _Atomic uint64_t *kinds)
{
	e->urgent_kinds = kinds;
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
