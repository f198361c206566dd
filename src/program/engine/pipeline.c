/* The path of an event:
 *
 *   frame ─▶ understand ─▶ keep ─▶ decide ─────────────────▶ answer
 *            adapter       redact   guard · hooks · context   the agent's own words
 *                          journal
 *
 * understand() and make_record() are pure work on the turn's arena and may run on a worker; the rest runs on
 * the loop. The answer leaves after the journal's write (turn.c), never before. */
#include <errno.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/turn.h"
#include "guard/guard.h"

/* -- understand: bytes become an event --------------------------------------------------------- */

static void understand(struct turn *t)
{
	agent_parse(t->agent, &t->hook, &t->arena, &t->event);
	t->event.marks |= t->late ? EVENT_LATE : 0;
}

/* A caller who has given up must not have hooks run or decisions made in its name; what happened is
 * recorded all the same. */
static bool is_late(const struct turn *t)
{
	return clock_wall_us() / USEC_PER_MSEC > t->hook.at_ms + (int64_t)t->hook.deadline_ms;
}

/* -- keep: the event becomes a record ---------------------------------------------------------- */

static void make_record(struct turn *t, struct redactor *redactor)
{
	redact_and_mute(redactor, &t->arena, t->engine->config.run_dir, &t->event, &t->record, &t->report);
}

static void add_to_journal(struct turn *t)
{
	struct engine *e = t->engine;

	if (journal_add(e->config.journal, &t->record) < 0)
		turn_written(t, WIRE_STORED_NO);
	else
		turn_list_add(&e->unflushed, t);
}

/* -- decide: every voice may raise the verdict ------------------------------------------------- */

/* A voice at the decision seam. It may take a hold on the turn and come back later. */
struct stage {
	const char *name;
	void (*run)(struct turn *t);
};

static void stage_guard(struct turn *t)
{
	if (!t->judged)
		(void)guard_event(t->engine->config.guard, &t->event, &t->arena, &t->verdict, /* may_use_disk= */ true);
}

static void stage_selftest(struct turn *t)
{
	guard_selftest_context(&t->event, &t->arena, &t->verdict);
}

static const struct stage guards[] = { { "guard", stage_guard }, { 0 } };
static const struct stage hooks[] = { { "hooks", stage_hooks }, { 0 } };
static const struct stage contexts[] = { { "selftest", stage_selftest }, { 0 } }; /* memory, code, efforts */
static const struct stage notices[] = { { "notice", stage_notice }, { 0 } };

static void run_stages(const struct stage *stages, struct turn *t)
{
	for (; stages->name; stages++)
		stages->run(t);
}

static void decide(struct turn *t)
{
	int64_t begin = clock_mono_us();

	run_stages(guards, t);
	t->verdict.judged_us += clock_mono_us() - begin;
	run_stages(hooks, t);
	run_stages(contexts, t);
	run_stages(notices, t);
}

/* -- answer ------------------------------------------------------------------------------------ */

static void log_turn(const struct turn *t)
{
	const struct record *r = &t->record;
	char id[ULID_TEXT + 1];

	if (!log_wanted(LOG_ENGINE, LOG_INFO))
		return;
	ulid_format(&r->id, id);
	log_write(LOG_ENGINE, LOG_INFO, "%s " STR_FMT " " STR_FMT " " STR_FMT "%s" STR_FMT " %s %s%s" STR_FMT,
		event_kinds[r->kind].log_tag, STR_ARG(r->agent), STR_ARG(str_cut_utf8(r->session, 64)),
		STR_ARG(r->native), str_empty(r->tool_name) ? "" : " ", STR_ARG(r->tool_name), id,
		wire_stored_name(t->stored), t->verdict.action ? " verdict=" : "",
		STR_ARG(t->verdict.action ? str_of(verdict_action_names[t->verdict.action]) : STR("")));
}

void pipeline_answer(struct turn *t)
{
	struct answer answer = { .out = &t->out };
	struct wire_reply reply = { .type = WIRE_DONE, .stored = t->stored };
	uint8_t head[WIRE_REPLY_FIXED];
	struct iovec pieces[3];

	audit_turn(t);
	t->engine->state.verdicts[t->verdict.action]++; /* now that every voice has spoken */
	agent_render(t->agent, &t->event, &t->verdict, &t->arena, &answer);
	reply.exit_code = answer.exit_code;
	reply.out = t->out.full ? STR_NONE : buf_str(&t->out);
	reply.err = answer.err;
	wire_reply_encode(&reply, head);
	pieces[0] = (struct iovec){ head, sizeof head };
	pieces[1] = (struct iovec){ (void *)reply.out.p, reply.out.n };
	pieces[2] = (struct iovec){ (void *)reply.err.p, reply.err.n };
	conn_answer(t->conn, pieces, 3);
	t->conn = NULL;
	log_turn(t);
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

void engine_on_turn_end(struct engine *e, void (*fn)(void *arg), void *arg)
{
	e->turn_ended = fn;
	e->turn_ended_arg = arg;
}

static void tell_of_end(const struct turn *t)
{
	enum event_kind kind = t->event.kind;

	if (t->engine->turn_ended && (kind == EVENT_STOP || kind == EVENT_SESSION_END || kind == EVENT_TURN_COMPLETE))
		t->engine->turn_ended(t->engine->turn_ended_arg);
}

/* The second half, on the loop: the record exists. */
static void go_on(struct turn *t)
{
	turn_hold(t); /* a voice may answer at once; the turn must outlive this function */
	add_to_journal(t);
	if (!(t->event.marks & EVENT_LATE))
		decide(t);
	if (t->holds == 1) /* else somebody is still thinking, and it is kept with the answer */
		audit_turn(t);
	count(&t->engine->state, t);
	tell_of_end(t);
	turn_release(t);
}

static void work_on_large(void *arg)
{
	struct turn *t = arg;
	struct engine *e = t->engine;

	t->late |= is_late(t); /* it may have queued */
	understand(t);
	pthread_mutex_lock(&e->worker_lock);
	make_record(t, e->worker_redactor);
	/* Reading a megabyte of shell takes longer than the loop may be held. */
	if (!(t->event.marks & EVENT_LATE))
		(void)guard_event(e->config.guard, &t->event, &t->arena, &t->verdict, /* may_use_disk= */ true);
	t->judged = true;
	pthread_mutex_unlock(&e->worker_lock);
}

static void large_is_done(void *arg)
{
	struct turn *t = arg;

	go_on(t);
	turn_release(t);
}

void pipeline_start(struct turn *t)
{
	if (wire_hook_decode(t->body, &t->hook) < 0) {
		turn_refuse(t);
		return;
	}
	t->agent = agent_find(t->hook.agent);
	t->late = is_late(t);
	if (t->hook.payload.n > LIMIT_INLINE_PAYLOAD) {
		turn_hold(t);
		loop_submit(t->engine->config.loop, work_on_large, large_is_done, t);
		return;
	}
	understand(t);
	make_record(t, t->engine->redactor);
	go_on(t);
}
