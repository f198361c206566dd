/* turn: one event under way. Internal to engine/.
 *
 * A turn owns its arena, and everything in it: frame fields, event, record, verdict. It is on exactly
 * one list: unflushed (its record waits for the write), unsynced (durability strict), held, or
 * spare. The connection is borrowed until the answer. */
#ifndef HOOKD_ENGINE_TURN_H
#define HOOKD_ENGINE_TURN_H

#include <pthread.h>

#include "agents/agents.h"
#include "engine/engine.h"
#include "hooks/hooks.h"
#include "redact/redact.h"

struct turn {
	struct turn *next;
	struct engine *engine;
	struct conn *conn;
	struct arena arena;
	struct buf out;
	str body; /* the frame; lies in the connection's buffer */
	struct wire_hook hook;
	const struct agent *agent;
	struct event event;
	struct record record;
	struct redact_report report;
	struct verdict verdict;
	bool late; /* the client has given up waiting */
	bool judged;  /* the guard has spoken already, on a worker */
	bool audited; /* what was decided is in the journal's batch */
	unsigned holds;
	bool written; /* the journal has had its say: stored is final */
	enum wire_stored stored;
	struct journal_pos mark;
	int64_t flushed_us; /* monotonic; durability strict: since when it waits for its sync */
	int64_t spoke_us; /* monotonic: when the client last heard from us */
};

/* Oldest first. */
struct turn_list {
	struct turn *first, **last;
};

static inline void turn_list_init(struct turn_list *l)
{
	l->first = NULL;
	l->last = &l->first;
}

static inline void turn_list_add(struct turn_list *l, struct turn *t)
{
	t->next = NULL;
	*l->last = t;
	l->last = &t->next;
}

struct engine {
	struct engine_config config;
	struct writer *writer;
	struct journal_syncer *syncer;
	struct redactor *redactor; /* the loop's own */
	/* Workers share one: large payloads are rare and may queue for it. */
	struct redactor *worker_redactor;
	pthread_mutex_t worker_lock;
	struct hooks *hooks; /* NULL: there is nowhere to read them from */
	struct turn_list unflushed, unsynced;
	struct turn *waiting; /* held after the write; any order */
	struct turn *spare;
	unsigned nspare, turns;
	struct loop_timer *patience; /* WAIT frames */
	bool patience_set;
	bool audit_waits; /* the journal's batch has decisions that no turn waits for */
	struct engine_state state;
	void (*turn_ended)(void *arg);
	void *turn_ended_arg;
	struct {
		uint64_t unstored, damaged;
		char trouble[320], recovery[sizeof((struct writer_state *)0)->recovery];
	} reported; /* what the person has been told already */
};

struct turn *turn_new(struct engine *e, struct conn *c, str body);

/* Something else must finish before the answer. */
void turn_hold(struct turn *t);
void turn_release(struct turn *t);

/* The journal has written it, or could not: from here on the turn is answered once nobody holds it. */
void turn_written(struct turn *t, enum wire_stored stored);

/* A frame that is no event: refuse it. */
void turn_refuse(struct turn *t);

/* -- notice.c ---------------------------------------------------------------------------------- */

void notice_count_agent(struct engine_state *s, const struct event *e);
void stage_notice(struct turn *t);

/* -- audit.c ----------------------------------------------------------------------------------- */

/* Keeps what was decided, once; with the turn's own record when it is decided at once. */
void audit_turn(struct turn *t);

/* -- hooks_stage.c ----------------------------------------------------------------------------- */

void stage_hooks(struct turn *t);

/* -- pipeline.c, in order ---------------------------------------------------------------------- */

void pipeline_start(struct turn *t);
void pipeline_answer(struct turn *t);

#endif
