/* The stage of the user's own hooks, which run while the turn is held; meanwhile the client gets WAIT frames. And what
 * follows from them and from reminders at the end of an agent's turn. */
#include "engine/turn.h"

static bool is_wanted(void *arg)
{
	return twin_is_wanted(arg);
}

/* A hook or a reminder may make the agent continue at the end of its turn once. The second time it knows
 * (stop_hook_active), and a check that can never succeed must not hold an agent forever. */
enum stage_result stage_hold_once(struct turn *t)
{
	struct verdict *v = &t->verdict;
	bool again = t->event.stop_hook_active || (t->live && t->live->stop_held && t->event.kind == EVENT_STOP);

	if (t->live && t->event.kind == EVENT_USER_PROMPT_SUBMIT)
		t->live->stop_held = false;
	if (!v->continue_turn)
		return STAGE_DONE;
	if (again) {
		verdict_add_ruling(v, &t->arena,
			&(struct ruling){ .rule = v->rule,
				.action = VERDICT_DENY,
				.reason = v->reason,
				.subject = STR("the end of this turn has already been held up once"),
				.observed = true });
		v->continue_turn = false;
		v->reason = v->rule = STR_NONE;
	} else if (t->live && t->event.kind == EVENT_STOP && agent_takes(t->agent, &t->event) & TAKES_MORE) {
		t->live->stop_held = true;
	}
	return STAGE_DONE;
}

static void have_run(struct hook_outcome *list, void *arg)
{
	struct turn *t = arg;

	(void)list;
	turn_arrive(t);
}

enum stage_result stage_hooks(struct turn *t)
{
	struct hooks_request q = { .event = &t->event,
		.arena = &t->arena,
		.verdict = &t->verdict,
		.wanted = is_wanted,
		.done = have_run,
		.arg = t,
		.session = t->live ? t->live->hooks : NULL };

	if (!t->engine->hooks)
		return STAGE_DONE;
	turn_depart(t);
	hooks_fire(t->engine->hooks, &q);
	return turn_wait(t);
}

enum stage_result stage_late_hooks(struct turn *t)
{
	struct hooks_request q = { .event = &t->event,
		.arena = &t->arena,
		.verdict = &t->verdict,
		.not_run = STR("the call reached hookd too late"),
		.done = have_run,
		.arg = t,
		.session = t->live ? t->live->hooks : NULL };

	if (!t->engine->hooks)
		return STAGE_DONE;
	turn_depart(t);
	hooks_fire(t->engine->hooks, &q);
	return turn_wait(t);
}
