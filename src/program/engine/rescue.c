/* The journal cannot be written, but the spool may be: another directory, perhaps another disk. A worker writes what a
 * flush could not, and the answers wait for it, though not for long. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/turn.h"

enum { RESCUE_MS = 1000 }; /* a disk that hangs must not hold up the agent */

struct rescue {
	struct rescue *next;
	struct engine *engine;
	struct buf batch;
	struct turn_list turns;
	bool strict;
	int64_t started_us;
	int result;
};

static void answer(struct rescue *r, enum wire_stored stored)
{
	struct turn *t = r->turns.first, *next;

	turn_list_init(&r->turns);
	for (; t; t = next) {
		next = t->next;
		r->engine->state.spooled += stored != WIRE_STORED_NO;
		turn_written(t, stored);
	}
}

static void write_spool(void *arg)
{
	struct rescue *r = arg;

	r->result = spool_write_batch(r->engine->config.spool, buf_str(&r->batch), r->strict);
}

static void written(void *arg)
{
	struct rescue *r = arg;
	struct rescue **at = &r->engine->rescues;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (r->result < 0 && !r->engine->spool_fails)
		log_error(LOG_SPOOL, "the spool cannot be written either: %s; events are answered but not stored",
			strerror(-r->result));
	r->engine->spool_fails = r->result < 0;
	if (r->result == 0 && r->engine->writer)
		writer_notify_spool(r->engine->writer);
	answer(r, r->result < 0 ? WIRE_STORED_NO : r->strict ? WIRE_STORED_COMMITTED : WIRE_STORED_JOURNALED);
	buf_release(&r->batch);
	free(r);
}

bool rescue_start(struct engine *e, struct turn *turns)
{
	struct rescue *r;

	if (!e->config.spool)
		return false;
	r = xcalloc(1, sizeof *r);
	r->engine = e;
	r->batch = journal_take_failed(e->config.journal);
	r->strict = e->config.strict;
	r->started_us = clock_mono_us();
	turn_list_init(&r->turns);
	for (struct turn *next; turns; turns = next) {
		next = turns->next;
		turn_list_add(&r->turns, turns);
	}
	r->next = e->rescues;
	e->rescues = r;
	loop_submit(e->config.loop, write_spool, written, r);
	return true;
}

void rescue_expire(struct engine *e, int64_t now)
{
	for (struct rescue *r = e->rescues; r; r = r->next)
		if (now - r->started_us > RESCUE_MS * USEC_PER_MSEC)
			answer(r, WIRE_STORED_NO);
}

void rescue_free(struct engine *e)
{
	struct rescue *r;

	while ((r = e->rescues)) {
		e->rescues = r->next;
		buf_release(&r->batch);
		free(r);
	}
}
