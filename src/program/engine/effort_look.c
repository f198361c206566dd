/* How full an agent's context is, and whether something ended its turn: read from its transcript by a worker, while
 * the agent goes on. Only transcripts that lie where the agent keeps its history are opened: the path came with an
 * event. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "engine/turn.h"
#include "transcript/transcript.h"

enum { EVERY_US = 1000000, TAIL = 256 << 10 };

struct look {
	struct engine *engine;
	struct arena arena;
	str agent, session;
	const char *path, *home;
	bool ends; /* of a turn: what was said last counts */
	struct ulid event;
	int64_t at_us; /* of that */
	struct transcript_fill fill;
	int result;
};

static void work(void *arg)
{
	struct look *l = arg;
	struct err err = { 0 };
	const char *agent = arena_cstr(&l->arena, l->agent);

	l->result = -EPERM;
	if (transcript_is_history(l->home, agent, l->path))
		l->result = transcript_last_fill(l->path, agent, TAIL, &l->fill, &err);
}

static void done(void *arg)
{
	struct look *l = arg;
	struct effort_window *w = effort_window_find(l->engine->efforts, l->agent, l->session, STR(""));
	enum agent_trouble trouble;

	if (w) {
		w->looks = false;
		if (l->result == 0 && l->fill.tokens)
			effort_window_uses(w, l->fill.tokens,
				effort_context_max(l->agent, str_of(l->fill.model), l->fill.max));
		trouble =
			l->result == 0 && l->ends ? agent_trouble_of(STR_NONE, str_of(l->fill.last)) : AGENT_NO_TROUBLE;
		if (w->effort && trouble) {
			effort_report(l->engine, w, &l->event, trouble, str_of(l->fill.last));
			fleet_trouble(l->engine, l->agent, l->session, l->at_us, trouble);
		}
	}
	arena_release(&l->arena);
	free(l);
}

void effort_look(struct turn *t, struct effort_window *w, bool ends)
{
	const struct event *e = &t->event;
	struct look *l;

	/* A subagent's own file is known when it has ended. */
	if (str_empty(e->transcript_path) || t->record.marks & EVENT_PRIVATE || w->agent_id[0] || w->looks ||
		!t->engine->config.home || (!ends && e->at_us - w->looked_us < EVERY_US && e->at_us >= w->looked_us))
		return;
	w->looks = true;
	w->looked_us = e->at_us;
	l = xcalloc(1, sizeof *l);
	l->engine = t->engine;
	l->ends = ends;
	l->event = e->id;
	l->at_us = e->at_us;
	l->home = t->engine->config.home;
	l->agent = arena_str(&l->arena, e->agent);
	l->session = arena_str(&l->arena, e->session);
	l->path = arena_cstr(&l->arena, e->transcript_path);
	loop_submit_lane(t->engine->config.loop, LOOP_BACKGROUND, work, done, l);
}
