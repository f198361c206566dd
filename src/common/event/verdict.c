#include "event/event.h"

const char *const verdict_action_names[VERDICT_ACTION_MAX] = {
	[VERDICT_NONE] = "none",
	[VERDICT_ALLOW] = "allow",
	[VERDICT_ASK] = "ask",
	[VERDICT_DENY] = "deny",
};

static void decide(struct verdict *v, enum verdict_action action, str rule, str reason, bool mild)
{
	v->action = action;
	v->rule = rule;
	v->reason = reason;
	v->mild = mild;
}

/* A question that is not mild is stricter than one that is. */
void verdict_raise(struct verdict *v, enum verdict_action action, str rule, str reason)
{
	if (action > v->action || (action == VERDICT_ASK && v->mild))
		decide(v, action, rule, reason, false);
}

void verdict_raise_mildly(struct verdict *v, str rule, str reason)
{
	if (v->action < VERDICT_ASK)
		decide(v, VERDICT_ASK, rule, reason, true);
}

void verdict_take(struct verdict *v, const struct verdict *from)
{
	v->alone |= from->alone;
	if (from->mild)
		verdict_raise_mildly(v, from->rule, from->reason);
	else
		verdict_raise(v, from->action, from->rule, from->reason);
}

void verdict_add_ruling(struct verdict *v, struct arena *a, const struct ruling *r)
{
	struct ruling **tail = &v->rulings, *own = arena_new(a, struct ruling);

	while (*tail)
		tail = &(*tail)->next;
	*own = *r;
	own->next = NULL;
	*tail = own;
}

void verdict_add_context(struct verdict *v, struct arena *a, str title, str text)
{
	struct context_block **tail = &v->context, *b;

	if (str_empty(text))
		return;
	while (*tail)
		tail = &(*tail)->next;
	b = arena_new(a, struct context_block);
	b->title = title;
	b->text = text;
	*tail = b;
}

bool verdict_is_neutral(const struct verdict *v)
{
	return v->action == VERDICT_NONE && !v->updated_input && !v->context && str_empty(v->system_message) &&
		!v->continue_turn && !v->end_turn;
}
