/* The voice of the user's own hooks. They run while the turn is held; the client hears WAIT meanwhile. */
#include "engine/turn.h"

static bool is_wanted(void *arg)
{
	struct turn *t = arg;

	return !conn_is_gone(t->conn);
}

static void have_run(struct hook_outcome *list, void *arg)
{
	(void)list;
	turn_release(arg);
}

void stage_hooks(struct turn *t)
{
	struct hooks_request q = { .event = &t->event, .arena = &t->arena, .verdict = &t->verdict, .wanted = is_wanted,
		.done = have_run, .arg = t };

	if (!t->engine->hooks)
		return;
	turn_hold(t);
	hooks_fire(t->engine->hooks, &q);
}
