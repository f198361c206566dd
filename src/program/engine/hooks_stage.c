/* The stage of the user's own hooks. They run while the turn is held; meanwhile the client gets WAIT frames. */
#include "engine/turn.h"

static bool is_wanted(void *arg)
{
	return twin_is_wanted(arg);
}

/* A hook may make the agent continue at the end of its turn once. The second time it knows (stop_hook_active), and a
 * check that can never succeed must not hold an agent forever. */
static void hold_stop_once(struct turn *t)
{
	struct verdict *v = &t->verdict;
	bool again = t->event.stop_hook_active || (t->live && t->live->stop_held && t->event.kind == EVENT_STOP);

	if (!v->continue_turn)
		return;
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
}

static void have_run(struct hook_outcome *list, void *arg)
{
	struct turn *t = arg;

	(void)list;
	hold_stop_once(t);
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

	if (t->live && t->event.kind == EVENT_USER_PROMPT_SUBMIT)
		t->live->stop_held = false;
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
