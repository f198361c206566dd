#include "event/event.h"

const char *const verdict_action_names[VERDICT_ACTION_MAX] = {
	[VERDICT_NONE] = "none",
	[VERDICT_ALLOW] = "allow",
	[VERDICT_ASK] = "ask",
	[VERDICT_DENY] = "deny",
};

void verdict_raise(struct verdict *v, enum verdict_action action, str rule, str reason)
{
	if (action <= v->action)
		return;
	v->action = action;
	v->rule = rule;
	v->reason = reason;
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
