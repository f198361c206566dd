/* The stage of the guard. Most calls are judged in memory, on the loop. One that needs the disk (a link to follow, a
 * directory not seen before) or takes long to parse is judged on a worker while the turn waits. The wait is limited,
 * because a dead mount never answers: then the text alone decides, and the worker's judgement is discarded.
 *
 * So a judgement has its own arena and verdict, and a turn that has been answered keeps its bytes until the worker
 * releases them (turn->pins). */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/turn.h"

enum { JUDGE_MS = 300 };

struct judgement {
	struct turn *turn; /* NULL: it continued without */
	struct turn *pinned;
	struct guard *guard;
	const struct event *event;
	struct arena arena;
	struct verdict verdict;
	int64_t begun_us, took_us;
};

static const struct event *subject_of(const struct turn *t)
{
	return t->changed ? t->changed : &t->event;
}

/* The texts live as long as the turn, because the judgement does. */
static void take_verdict(struct turn *t, const struct verdict *from)
{
	verdict_take(&t->verdict, from);
	if (!str_empty(from->system_message))
		t->verdict.system_message = str_empty(t->verdict.system_message)
			? from->system_message
			: arena_strf(&t->arena, STR_FMT "\n" STR_FMT, STR_ARG(t->verdict.system_message),
				  STR_ARG(from->system_message));
	for (const struct ruling *r = from->rulings; r; r = r->next)
		verdict_add_ruling(&t->verdict, &t->arena, r);
}

static void work(void *arg)
{
	struct judgement *j = arg;

	(void)guard_event(j->guard, j->event, &j->arena, &j->verdict, true);
	j->took_us = clock_mono_us() - j->begun_us;
}

static void free_judgement(struct judgement *j)
{
	arena_release(&j->arena);
	free(j);
}

static void done(void *arg)
{
	struct judgement *j = arg;
	struct turn *t = j->turn;

	if (t) {
		t->pins--;
		t->verdict.judged_us += j->took_us;
		take_verdict(t, &j->verdict);
		turn_arrive(t);
		return;
	}
	t = j->pinned;
	t->judgement = NULL;
	free_judgement(j);
	turn_unpin(t);
}

void judge_release(struct turn *t)
{
	if (t->judgement)
		free_judgement(t->judgement);
	t->judgement = NULL;
}

static enum stage_result judge_on_worker(struct turn *t)
{
	struct judgement *j = xcalloc(1, sizeof *j);

	judge_release(t); /* of the call before it was changed; its result is in the verdict */
	j->turn = j->pinned = t;
	j->guard = t->engine->config.guard;
	j->event = subject_of(t);
	j->begun_us = clock_mono_us();
	t->judgement = j;
	t->pins++;
	turn_depart(t);
	loop_submit(t->engine->config.loop, work, done, j);
	return turn_wait(t);
}

bool judge_expire(struct turn *t, int64_t now)
{
	struct judgement *j = t->judgement;

	if (!j || !j->turn || !t->pins || now - j->begun_us < JUDGE_MS * USEC_PER_MSEC)
		return false;
	j->turn = NULL;
	t->engine->state.judged_by_text++;
	log_warn(LOG_ENGINE, "the disk under " STR_FMT " did not answer within %d ms; the text of the call decides",
		STR_ARG(str_cut_utf8(t->event.cwd, 200)), JUDGE_MS);
	guard_event_by_text(t->engine->config.guard, subject_of(t), &t->arena, &t->verdict);
	turn_arrive(t);
	return true;
}

enum stage_result stage_guard(struct turn *t)
{
	int64_t begin = clock_mono_us();
	int r = -EAGAIN;

	/* Parsing a megabyte of shell takes longer than the loop may be blocked. */
	if (t->event.raw.n <= LIMIT_INLINE_PAYLOAD)
		r = guard_event(t->engine->config.guard, subject_of(t), &t->arena, &t->verdict, false);
	t->verdict.judged_us += clock_mono_us() - begin;
	return r == -EAGAIN ? judge_on_worker(t) : STAGE_DONE;
}

/* The agent would run the call unchanged, which is not what the hook allowed. */
static void refuse_change(struct turn *t)
{
	const struct ruling r = { .rule = STR("hook.input"),
		.action = VERDICT_ASK,
		.reason = arena_strf(&t->arena, "a hook wants to change this call, and %s cannot take a changed input",
			t->agent->label) };

	t->verdict.updated_input = NULL;
	verdict_raise(&t->verdict, r.action, r.rule, r.reason);
	verdict_add_ruling(&t->verdict, &t->arena, &r);
}

/* A hook may have changed the call into one that no rule has seen. */
enum stage_result stage_guard_again(struct turn *t)
{
	if (!t->verdict.updated_input || !(event_kinds[t->event.kind].flags & EVENT_IS_TOOL))
		return STAGE_DONE;
	t->changed = arena_new(&t->arena, struct event);
	*t->changed = t->event;
	agent_replace_input(t->agent, t->changed, t->verdict.updated_input, &t->arena);
	if (t->event.kind == EVENT_PRE_TOOL_USE && !t->call.encode && !(agent_takes(t->agent, &t->event) & TAKES_INPUT))
		refuse_change(t);
	return stage_guard(t);
}
