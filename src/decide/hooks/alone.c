/* Without a daemon no hook runs. One that must decide (`on_failure`: ask or deny) counts as failed then: stopping the
 * daemon must not be a way around it. */
#include "base/limits.h"
#include "hooks/internal.h"

void hooks_decide_alone(const struct hooks_where *where, const char *run, const struct event *e, struct arena *a,
	struct verdict *v)
{
	const struct hook_answer failed = { .failure = STR("hookd's daemon could not be reached") };
	str session = str_head(e->session, LIMIT_NAME);
	struct hook *list[HOOKS_MAX];
	struct hook_set *s = NULL;
	unsigned n;

	if (e->kind == EVENT_UNKNOWN || !(event_kinds[e->kind].flags & EVENT_IS_DECISION))
		return;
	if (!str_empty(session))
		s = hook_snapshot_read(run, e->agent, session);
	if (!s)
		s = hooks_load(where);
	n = hooks_match(s, e, a, list);
	for (unsigned i = 0; i < n; i++) {
		hook_cannot_run(list[i], e, a, v);
		if (list[i]->state == HOOK_LIVE && !list[i]->async && !list[i]->observer)
			hook_answer_apply(list[i], e, &failed, a, v);
	}
	/* The verdict's texts are in the caller's arena. */
	hook_set_unref(s);
}
