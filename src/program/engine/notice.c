/* One line for the user when something went wrong, at the next start of a session. hookd shows unsolicited messages
 * at no other time and in no other way. The line is shown in the user interface, never added to the model's context,
 * and each problem is reported once. */
#include <stdio.h>

#include "engine/turn.h"

enum { AFTER_WITHOUT_BEFORE = 20 }; /* tool reports after which a missing PreToolUse is no coincidence */

void notice_count_agent(struct engine_state *s, const struct event *e)
{
	struct agent_seen *a = s->agents;
	str name = str_cut_utf8(e->agent, sizeof a->name - 1);

	while (a < s->agents + AGENTS_SEEN_MAX - 1 && a->name[0] && !str_eq(str_of(a->name), name))
		a++;
	/* The last slot is shared by all that come after the table is full. */
	if (!a->name[0])
		memcpy(a->name, name.p, name.n);
	a->last_us = e->at_us;
	a->before += e->kind == EVENT_PRE_TOOL_USE;
	a->after += e->kind == EVENT_POST_TOOL_USE || e->kind == EVENT_POST_TOOL_USE_FAILURE;
	if (!str_starts(e->session, STR("hookd-doctor-")))
		available_note(a, e);
}

bool engine_misses_before(const struct agent_seen *a)
{
	return !a->before && a->after >= AFTER_WITHOUT_BEFORE;
}

/* Each fills text when there is something new to report. */
static void tell_store(struct engine *e, const struct writer_state *w, char *text, size_t size)
{
	if (strcmp(w->trouble, e->reported.trouble) == 0)
		return;
	snprintf(e->reported.trouble, sizeof e->reported.trouble, "%s", w->trouble);
	if (w->trouble[0])
		snprintf(text, size, "hookd: %s", w->trouble);
}

static void tell_recovery(struct engine *e, const struct writer_state *w, char *text, size_t size)
{
	if (strcmp(w->recovery, e->reported.recovery) == 0)
		return;
	snprintf(e->reported.recovery, sizeof e->reported.recovery, "%s", w->recovery);
	if (!w->recovery[0])
		return;
	snprintf(text, size, "hookd: %s", w->recovery);
	writer_post(e->writer, store_forget_recovery, NULL);
}

static void tell_unstored(struct engine *e, const struct writer_state *w, char *text, size_t size)
{
	uint64_t n = e->state.unstored - e->reported.unstored;

	(void)w;
	e->reported.unstored = e->state.unstored;
	if (n)
		snprintf(text, size,
			"hookd: %llu events could not be kept because neither journal nor spool could be written; see: "
			"hookd status",
			(unsigned long long)n);
}

static void tell_damaged(struct engine *e, const struct writer_state *w, char *text, size_t size)
{
	uint64_t n = w->damaged - e->reported.damaged;

	e->reported.damaged = w->damaged;
	if (n)
		snprintf(text, size,
			"hookd: %llu damaged pieces of its journal were found and set aside; see: hookd status",
			(unsigned long long)n);
}

static void tell_missing(struct engine *e, const struct writer_state *w, char *text, size_t size)
{
	uint64_t n = w->missing - e->reported.missing;

	e->reported.missing = w->missing;
	if (n)
		snprintf(text, size,
			"hookd: a piece of its journal was cut off: %llu or more events may be missing; see: hookd "
			"logs",
			(unsigned long long)n);
}

static void tell_before(struct engine *e, const struct writer_state *w, char *text, size_t size)
{
	(void)w;
	for (struct agent_seen *a = e->state.agents; a < e->state.agents + AGENTS_SEEN_MAX; a++)
		if (engine_misses_before(a) && !a->reported) {
			a->reported = true;
			snprintf(text, size,
				"hookd: %s reports tools after they ran but never before, so no rule can stop "
				"one; run: hookd doctor",
				a->name);
			return;
		}
}

typedef void tell_fn(struct engine *e, const struct writer_state *w, char *text, size_t size);

static tell_fn *const tells[] = { tell_store, tell_recovery, tell_unstored, tell_damaged, tell_missing, tell_before };

enum stage_result stage_notice(struct turn *t)
{
	struct engine *e = t->engine;
	struct writer_state w;
	char text[512] = "";

	if (t->event.kind != EVENT_SESSION_START || !e->writer)
		return STAGE_DONE;
	writer_get_state(e->writer, &w);
	/* One line at a time; the rest waits for the next session. */
	for (size_t i = 0; i < countof(tells) && !text[0]; i++)
		tells[i](e, &w, text, sizeof text);
	if (text[0])
		t->verdict.system_message = arena_strf(&t->arena, STR_FMT "%s%s", STR_ARG(t->verdict.system_message),
			str_empty(t->verdict.system_message) ? "" : "\n", text);
	return STAGE_DONE;
}
