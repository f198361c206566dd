/* The path of an event:
 *
 *   call ─▶ understand ─▶ make_record ─▶ join ─▶ stages[] ──────────────────────────────────────────▶ answer
 *           adapter       redact         twins   guard · effort · reminders · hooks · context · audit encoded
 *                         journal
 *
 * understand() and make_record() are pure work on the turn's arena and may run on a worker; the rest runs on the loop.
 * The answer is sent after the journal's write (turn.c), never before. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/turn.h"

/* -- understand: bytes become an event --------------------------------------------------------- */

static void understand(struct turn *t)
{
	agent_parse(t->agent, &t->call.hook, &t->arena, &t->event);
	t->event.marks |= t->late ? EVENT_LATE : 0;
}

/* No hooks run for a caller that has given up. The rules still apply: client and daemon may both have been held up,
 * and the caller may still be listening. */
static bool is_late(const struct turn *t)
{
	return clock_wall_us() / USEC_PER_MSEC > t->call.hook.at_ms + (int64_t)t->call.hook.deadline_ms;
}

/* -- make_record: what may be kept of it ------------------------------------------------------- */

static void make_record(struct turn *t, struct redactor *redactor)
{
	redact_and_mute(redactor, &t->arena, t->engine->config.run_dir, &t->event, &t->record, &t->report);
}

static void add_to_journal(struct turn *t)
{
	struct engine *e = t->engine;

	if (turn_journal(e, &t->record) < 0)
		turn_written(t, WIRE_STORED_NO);
	else
		turn_list_add(&e->unflushed, t);
}

/* -- the stages -------------------------------------------------------------------------------- */

/* Which turns a stage applies to. */
enum {
	LEADS = 1 << 0,
	FOLLOWS = 1 << 1, /* a duplicate of another call */
	LATE = 1 << 2,
};

/* Each may raise the verdict, and may wait; the strictest decision wins, whatever the order. */
static const struct stage {
	const char *name;
	unsigned turns;
	enum stage_result (*run)(struct turn *t);
} stages[] = {
	{ "guard", LEADS | FOLLOWS | LATE, stage_guard },
	{ "asked before", LEADS | FOLLOWS, stage_asked_before },
	{ "leader", FOLLOWS, stage_leader },
	{ "fleet", LEADS | LATE, stage_fleet },
	{ "efforts are read", LEADS, stage_await_efforts },
	{ "effort", LEADS, stage_effort },
	{ "reminders", LEADS | LATE, stage_remind },
	{ "hooks", LEADS, stage_hooks },
	{ "late hooks", LATE, stage_late_hooks },
	{ "hold once", LEADS | LATE, stage_hold_once },
	{ "guard again", LEADS, stage_guard_again },
	{ "context", LEADS, stage_context },
	{ "told from outside", LEADS, stage_told },
	{ "notice", LEADS, stage_notice },
	{ "audit", LEADS | LATE, stage_audit },
	{ "answers", LEADS, stage_note_answers },
};

void pipeline_go_on(struct turn *t)
{
	unsigned turn = t->late ? LATE : t->follows ? FOLLOWS : LEADS;

	while (t->stage < countof(stages)) {
		const struct stage *s = &stages[t->stage++];

		if (s->turns & turn && s->run(t) == STAGE_WAITS)
			return;
	}
	twin_decided(t);
	turn_release(t);
}

/* -- answer ------------------------------------------------------------------------------------ */

static void log_turn(const struct turn *t)
{
	const struct record *r = &t->record;
	char id[ULID_TEXT + 1];

	if (!log_wanted(LOG_ENGINE, LOG_INFO))
		return;
	ulid_format(&r->id, id);
	log_write(LOG_ENGINE, LOG_INFO, "%s " STR_FMT " " STR_FMT " " STR_FMT "%s" STR_FMT " %s %s%s" STR_FMT "%s",
		event_kinds[r->kind].log_tag, STR_ARG(r->agent), STR_ARG(str_cut_utf8(r->session, 64)),
		STR_ARG(r->native), str_empty(r->tool_name) ? "" : " ", STR_ARG(r->tool_name), id,
		wire_stored_name(t->stored), t->verdict.action ? " verdict=" : "",
		STR_ARG(t->verdict.action ? str_of(verdict_action_names[t->verdict.action]) : STR("")),
		t->follows ? " Deduped" : "");
}

/* What the agent was given to read. */
static void log_context(const struct turn *t)
{
	const struct record *r = &t->record;
	size_t bytes = 0;

	for (const struct context_block *b = t->verdict.context; b; b = b->next)
		bytes += b->text.n;
	if (bytes && log_wanted(LOG_ENGINE, LOG_INFO))
		log_write(LOG_ENGINE, LOG_INFO, "INJECT: " STR_FMT " " STR_FMT " " STR_FMT " %zu bytes",
			STR_ARG(r->agent), STR_ARG(str_cut_utf8(r->session, 64)), STR_ARG(r->native), bytes);
}

void pipeline_answer(struct turn *t)
{
	struct answer answer = { .out = &t->out };

	if (!t->follows)
		t->engine->state.verdicts[t->verdict.action]++;
	if (t->call.encode && !str_is_set(t->verdict.effort))
		t->verdict.effort = sight_write(&t->sight, &t->arena);
	if (t->call.encode)
		t->call.encode(&t->event, &t->verdict, &t->arena, &answer);
	else
		agent_render(t->agent, &t->event, &t->verdict, &t->arena, &answer);
	t->call.caller.done(t->call.caller.arg, t->stored, &answer);
	log_turn(t);
	log_context(t);
	if (t->engine->stored && t->stored != WIRE_STORED_NO)
		t->engine->stored(&t->record, t->engine->stored_arg);
}

/* -- all of it --------------------------------------------------------------------------------- */

static void count(struct engine_state *s, const struct turn *t)
{
	const struct event *e = &t->event;

	s->kinds[e->kind]++;
	s->late += !!(e->marks & EVENT_LATE);
	s->incomplete += !!(e->marks & EVENT_INCOMPLETE);
	s->not_json += !!(e->marks & EVENT_NOT_JSON);
	s->muted += !!(t->record.marks & EVENT_PRIVATE);
	s->secrets += t->report.secrets;
	s->last_event_us = t->record.at_us;
	notice_count_agent(s, e);
}

void engine_on_record(struct engine *e, void (*fn)(const struct record *r, void *arg), void *arg)
{
	e->stored = fn;
	e->stored_arg = arg;
}

void engine_on_event(struct engine *e, void (*fn)(const struct event *event, void *arg), void *arg)
{
	e->heard = fn;
	e->heard_arg = arg;
}

void engine_on_turn_end(struct engine *e, void (*fn)(void *arg), void *arg)
{
	e->turn_ended = fn;
	e->turn_ended_arg = arg;
}

/* Some agents, and whoever interrupts one, end a turn by the next prompt. */
static void tell_of_end(struct turn *t)
{
	enum event_kind kind = t->event.kind;
	bool prompt = kind == EVENT_USER_PROMPT_SUBMIT && !t->follows;
	bool ends = kind == EVENT_STOP || kind == EVENT_SESSION_END || kind == EVENT_TURN_COMPLETE;

	t->ends_turn = ends || (prompt && t->live && t->live->turn_open);
	if (t->live && (ends || prompt))
		t->live->turn_open = prompt;
	if (t->engine->turn_ended && t->ends_turn)
		t->engine->turn_ended(t->engine->turn_ended_arg);
}

/* The second half, on the loop: the record exists. */
static void proceed(struct turn *t)
{
	turn_hold(t); /* for the stages; the last one releases it */
	t->live = live_get(t->engine->live, &t->event);
	t->event.since_us = t->live ? t->live->began_us : 0;
	twin_join(t);
	add_to_journal(t);
	count(&t->engine->state, t);
	tell_of_end(t);
	if (t->engine->heard && !t->follows && !t->late)
		t->engine->heard(&t->event, t->engine->heard_arg);
	pipeline_go_on(t);
}

static void work_on_large(void *arg)
{
	struct turn *t = arg;
	struct engine *e = t->engine;

	understand(t);
	pthread_mutex_lock(&e->worker_lock);
	make_record(t, e->worker_redactor);
	pthread_mutex_unlock(&e->worker_lock);
}

static void large_is_done(void *arg)
{
	struct turn *t = arg;

	proceed(t);
	turn_release(t);
}

void pipeline_start(struct turn *t)
{
	t->agent = agent_of_call(&t->call.hook);
	t->late = is_late(t);
	if (t->call.hook.payload.n > LIMIT_INLINE_PAYLOAD) {
		turn_hold(t);
		/* hookc has little patience with a large payload that nobody seems to take; from here on it waits. */
		if (t->call.hook.payload.n > MIB(1))
			turn_say_wait(t);
		loop_submit(t->engine->config.loop, work_on_large, large_is_done, t);
		return;
	}
	understand(t);
	make_record(t, t->engine->redactor);
	proceed(t);
}
