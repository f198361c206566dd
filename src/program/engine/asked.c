/* Two stages: a question that a person has answered with yes is not asked again in the same session. The answer is seen
 * from what follows: the call that was asked about has run. Only the very same call is meant, in the same directory;
 * what is denied stays denied, and the user's own hooks ask as often as they like. */
#include "engine/turn.h"

static uint64_t hash_more(uint64_t h, str s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3u;
	return h;
}

/* 0: such a call cannot be told from another one. */
static uint64_t call_of(const struct event *e)
{
	uint64_t key = event_same_key(e);

	return key ? hash_more(key, e->cwd) : 0;
}

static bool was_allowed(const struct live *l, uint64_t call)
{
	for (size_t i = 0; i < MIN(l->nallowed, countof(l->allowed)); i++)
		if (l->allowed[i] == call)
			return true;
	return false;
}

/* What the rules would have asked stays in the audit. */
static void lower(struct turn *t)
{
	for (struct ruling *r = t->verdict.rulings; r; r = r->next)
		if (r->action == VERDICT_ASK && !r->observed) {
			r->action = VERDICT_ALLOW;
			r->reason = STR("the user allowed the same call earlier in this session");
		}
	t->verdict.action = VERDICT_NONE;
	t->verdict.mild = false;
	t->verdict.rule = t->verdict.reason = STR_NONE;
}

enum stage_result stage_asked_before(struct turn *t)
{
	if (t->live && t->event.kind == EVENT_PRE_TOOL_USE && t->verdict.action == VERDICT_ASK &&
		was_allowed(t->live, call_of(&t->event)))
		lower(t);
	return STAGE_DONE;
}

static void note_question(struct live *l, const struct event *e)
{
	struct question *a = &l->asked[l->nasked++ % countof(l->asked)];

	*a = (struct question){ hash_more(0xcbf29ce484222325u, e->tool_use_id), call_of(e) };
}

static void note_run(struct live *l, const struct event *e)
{
	uint64_t id = hash_more(0xcbf29ce484222325u, e->tool_use_id);

	for (size_t i = 0; i < MIN(l->nasked, countof(l->asked)); i++)
		if (l->asked[i].id == id && l->asked[i].call) {
			l->allowed[l->nallowed++ % countof(l->allowed)] = l->asked[i].call;
			l->asked[i].call = 0;
		}
}

enum stage_result stage_note_answers(struct turn *t)
{
	const struct event *e = &t->event;

	if (!t->live || str_empty(e->tool_use_id))
		return STAGE_DONE;
	if (e->kind == EVENT_PRE_TOOL_USE && t->verdict.action == VERDICT_ASK &&
		agent_hears(t->agent, e, &t->verdict) == VERDICT_ASK)
		note_question(t->live, e);
	else if (e->kind == EVENT_POST_TOOL_USE || e->kind == EVENT_POST_TOOL_USE_FAILURE)
		note_run(t->live, e);
	return STAGE_DONE;
}
