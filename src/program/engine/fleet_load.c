/* The agents as the store knows them: at the start, and when events have come by the spool, of which no stage hears. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/turn.h"

enum { WAIT_MS = 10000 };

struct fleet_loading {
	struct engine *engine;
	struct readers *readers;
	struct journal_pos seen;
	struct arena arena;
	str rows;
	int result;
};

/* On a worker. What lies in the journal and in the spool is folded first. */
static void work(void *arg)
{
	struct fleet_loading *l = arg;
	struct store *s = NULL;
	struct err err = { 0 };

	l->result = writer_wait(l->engine->writer, l->seen, WAIT_MS);
	if (l->result == 0)
		l->result = readers_take(l->readers, &s, &err);
	if (!s)
		return;
	if (l->result == 0)
		l->result = fleet_read(s, &l->arena, &l->rows);
	if (l->result < 0)
		store_close(s);
	else
		readers_give_back(l->readers, s);
	/* A page that only this looks at: whoever asks next finds it repaired. */
	if (l->result == -EUCLEAN)
		writer_suspect(l->engine->writer);
}

static void done(void *arg)
{
	struct fleet_loading *l = arg;
	struct engine *e = l->engine;
	struct json *rows = NULL;
	bool again = e->fleet_loads == FLEET_LOADS_AGAIN;

	if (l->result == 0)
		l->result = json_parse(&l->arena, l->rows, JSON_LENIENT_UTF8, &rows, NULL);
	if (l->result < 0)
		log_warn(LOG_ENGINE, "what agents were doing cannot be read (%s); their next events tell it",
			strerror(-l->result));
	fleet_fill(e->fleet, rows);
	fleet_filled(e);
	e->fleet_loads = FLEET_LOADS_NOT;
	if (again)
		engine_load_fleet(e, l->readers);
	arena_release(&l->arena);
	free(l);
}

void engine_load_fleet(struct engine *e, struct readers *readers)
{
	struct fleet_loading *l;

	if (e->fleet_loads) {
		e->fleet_loads = FLEET_LOADS_AGAIN;
		return;
	}
	e->fleet_loads = FLEET_LOADS;
	l = xcalloc(1, sizeof *l);
	*l = (struct fleet_loading){ .engine = e, .readers = readers, .seen = journal_end(e->config.journal) };
	loop_submit_lane(e->config.loop, LOOP_BACKGROUND, work, done, l);
}
