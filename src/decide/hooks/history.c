/* What hooks did lately: the last runs, in memory only, redacted. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "hooks/internal.h"

struct past {
	char id[HOOK_ID + 1];
	char *name, *agent, *session, *out, *err, *failure;
	enum event_kind kind;
	enum verdict_action decision;
	int64_t at_us, duration_us;
	int exit_code, signal;
	bool timed_out;
};

/* A ring. */
struct hook_history {
	struct past past[HOOK_HISTORY];
	unsigned n, next;
};

struct hook_history *hook_history_new(void)
{
	return xcalloc(1, sizeof(struct hook_history));
}

static void past_release(struct past *p)
{
	free(p->name);
	free(p->agent);
	free(p->session);
	free(p->out);
	free(p->err);
	free(p->failure);
	*p = (struct past){ 0 };
}

void hook_history_free(struct hook_history *h)
{
	for (unsigned i = 0; h && i < HOOK_HISTORY; i++)
		past_release(&h->past[i]);
	free(h);
}

static char *kept(struct redactor *redactor, struct arena *a, str text)
{
	str clean = redact_text(redactor, a, str_cut_utf8(text, HOOK_KEPT));

	return xstrndup(clean.p ? clean.p : "", clean.n);
}

void hook_history_add(struct hook_history *h, struct redactor *redactor, const struct hook_run_info *run,
	const struct child_result *c, const struct hook_answer *answer)
{
	struct past *p = &h->past[h->next];
	struct arena a;

	arena_init(&a);
	h->next = (h->next + 1) % HOOK_HISTORY;
	h->n = MIN(h->n + 1, (unsigned)HOOK_HISTORY);
	past_release(p);
	memcpy(p->id, run->hook->id, sizeof p->id);
	p->name = xstrndup(run->hook->name.p ? run->hook->name.p : "", run->hook->name.n);
	p->agent = xstrdup(run->agent);
	p->session = xstrdup(run->session);
	p->kind = run->kind;
	p->decision = answer->continue_turn ? VERDICT_DENY : answer->action;
	p->at_us = clock_wall_us() - c->duration_us;
	p->duration_us = c->duration_us;
	p->exit_code = c->exit_code;
	p->signal = c->signal;
	p->timed_out = c->timed_out;
	p->out = kept(redactor, &a, c->out);
	p->err = kept(redactor, &a, c->err);
	p->failure = kept(redactor, &a, answer->failure);
	arena_release(&a);
}

void hook_history_write(const struct hook_history *h, struct json_writer *w, unsigned limit)
{
	jw_array(w);
	for (unsigned i = 0; i < MIN(limit, h->n); i++) {
		const struct past *p = &h->past[(h->next + HOOK_HISTORY - 1 - i) % HOOK_HISTORY];

		jw_object(w);
		jw_field_str(w, "hookId", str_of(p->id));
		if (p->name[0])
			jw_field_str(w, "name", str_of(p->name));
		jw_field_str(w, "event", str_of(event_kinds[p->kind].name));
		jw_field_str(w, "agent", str_of(p->agent));
		jw_field_str(w, "session", str_of(p->session));
		jw_field_int(w, "at_us", p->at_us);
		jw_field_int(w, "duration", p->duration_us / USEC_PER_MSEC);
		jw_field_int(w, "exitCode", p->exit_code);
		if (p->signal)
			jw_field_int(w, "signal", p->signal);
		jw_field_bool(w, "timedOut", p->timed_out);
		jw_field_str(w, "decision", str_of(verdict_action_names[p->decision]));
		jw_field_str(w, "stdout", str_of(p->out));
		jw_field_str(w, "stderr", str_of(p->err));
		if (p->failure[0])
			jw_field_str(w, "error", str_of(p->failure));
		jw_end_object(w);
	}
	jw_end_array(w);
}
