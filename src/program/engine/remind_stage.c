/* The stage of the reminders: what the agent is reminded of while it works, if the user has switched that on. It is
 * decided from a tally of the session, without looking anywhere; files that commands have changed are looked for by a
 * worker afterwards, for the end of the turn. */
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/turn.h"
#include "index/index.h"
#include "project/project.h"

/* -- files that commands have changed ----------------------------------------------------------- */

enum { FILES_LOOKED = 20000, FILES_TOLD = 32 };

struct disk_look {
	struct engine *engine;
	struct arena arena;
	str agent, session;
	const char *cwd, *home;
	int64_t since_us;
	struct git_change changes[FILES_TOLD];
	size_t n;
};

static void look(void *arg)
{
	struct disk_look *l = arg;
	struct project p;

	if (project_find(l->cwd, l->home, &p) == 0)
		l->n = git_changed_since(p.root, l->since_us, FILES_LOOKED, &l->arena, l->changes, FILES_TOLD);
}

static void looked(void *arg)
{
	struct disk_look *l = arg;
	struct live *live = live_find(l->engine->live, l->agent, l->session);

	if (live && live->tally) {
		live->looks_at_disk = false;
		/* Another turn has begun: its files are others. */
		for (size_t i = 0; i < l->n && tally_began_us(live->tally) == l->since_us; i++)
			tally_changed(live->tally, l->changes[i].path, l->changes[i].at_us);
	}
	arena_release(&l->arena);
	free(l);
}

static void look_at_disk(struct turn *t)
{
	struct disk_look *l;

	if (t->live->looks_at_disk || !tally_began_us(t->live->tally) || str_empty(t->event.cwd))
		return;
	t->live->looks_at_disk = true;
	l = xcalloc(1, sizeof *l);
	l->engine = t->engine;
	l->agent = arena_str(&l->arena, t->live->agent);
	l->session = arena_str(&l->arena, t->live->session);
	l->cwd = arena_cstr(&l->arena, t->event.cwd);
	l->home = t->engine->config.home;
	l->since_us = tally_began_us(t->live->tally);
	loop_submit_lane(t->engine->config.loop, LOOP_BACKGROUND, look, looked, l);
}

/* -- the stage --------------------------------------------------------------------------------- */

static bool listens(const struct turn *t)
{
	unsigned takes = agent_takes(t->agent, &t->event);

	if (t->event.kind == EVENT_STOP)
		return takes & TAKES_MORE && !t->event.stop_hook_active && !t->live->stop_held;
	return takes & TAKES_CONTEXT;
}

static void hold_up(struct turn *t, const struct reminding *r)
{
	struct verdict *v = &t->verdict;
	const struct ruling ruling = { .rule = str_of(r->name),
		.action = VERDICT_DENY,
		.reason = r->text,
		.subject = STR("the end of the turn") };

	v->continue_turn = true;
	v->rule = ruling.rule;
	v->reason = r->text;
	verdict_add_ruling(v, &t->arena, &ruling);
}

/* Nothing is said beside a denial or to a caller that has given up, and nothing to subagents, who have a part of the
 * task only. */
enum stage_result stage_remind(struct turn *t)
{
	const struct event *e = &t->event;
	unsigned mask = t->engine->config.reminders;
	struct reminding r;

	if (!mask || !t->live || !str_empty(e->agent_id) || t->record.marks & EVENT_PRIVATE)
		return STAGE_DONE;
	if (!t->live->tally)
		t->live->tally = tally_new();
	tally_add(t->live->tally, e);
	if (mask & REMIND_CHECKPOINT && e->kind == EVENT_POST_TOOL_USE && e->tool_class == TOOL_SHELL)
		look_at_disk(t);
	if (t->late || t->verdict.action == VERDICT_DENY || t->verdict.end_turn)
		return STAGE_DONE;
	remind(t->live->tally, mask, e, listens(t), &t->arena, &r);
	if (str_is_set(r.text) && r.go_on)
		hold_up(t, &r);
	else if (str_is_set(r.text))
		verdict_add_context(&t->verdict, &t->arena, STR("reminder"), r.text);
	return STAGE_DONE;
}

void engine_set_reminders(struct engine *e, unsigned mask)
{
	e->config.reminders = mask;
}
