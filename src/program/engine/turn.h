/* turn: one open call. Internal to engine/.
 *
 * A turn owns its arena, and everything in it: the call's fields, event, record, verdict. From its start until its
 * answer it is on the list of open turns, which is what WAIT frames are sent by; meanwhile it is on at most one of
 * `unflushed` (its record waits for the write) and `unsynced` (durability strict). */
#ifndef HOOKD_ENGINE_TURN_H
#define HOOKD_ENGINE_TURN_H

#include <pthread.h>

#include "agents/agents.h"
#include "context/context.h"
#include "effort/effort.h"
#include "engine/engine.h"
#include "fleet/fleet.h"
#include "hooks/hooks.h"
#include "llm/llm.h"
#include "redact/redact.h"
#include "remind/remind.h"

/* What a stage of the pipeline did. */
enum stage_result {
	STAGE_DONE,
	STAGE_WAITS, /* turn_arrive() goes on */
};

/* What an effort had to say about an event, for callers that ask by name (hooks.*). */
struct sight {
	bool found, overflow;
	enum agent_trouble trouble;
	struct ulid effort, window;
	str task, skill, phase, config, metadata;
	int64_t heartbeat, usage; /* usage: per cent, -1 unknown */
	const struct effort_fired *fired;
	str line, dialogue, standing; /* the last two: JSON */
	struct context_block *injections;
	str files[CONTEXT_READS], pending[EFFORT_OWED]; /* given now; still to be given */
	size_t nfiles, npending;
};

struct turn {
	struct turn *next;           /* in unflushed, unsynced or spare */
	struct turn *newer, **place; /* among the open ones */
	struct engine *engine;
	struct hook_call call;
	const struct agent *agent;
	struct arena arena;
	struct buf out;
	struct event event;
	struct record record;
	struct redact_report report;
	struct verdict verdict;
	struct sight sight;
	int64_t efforts_until_us;     /* monotonic; not 0: it waits so long until the efforts are read */
	struct context_effort *wants; /* what is to be given of the effort; NULL: nothing */
	struct live *live;            /* its session, counted; NULL: it has none */
	struct twin *twin;            /* what it leads or follows, or NULL */
	bool follows;                 /* a duplicate: another call came first */
	bool late;                    /* the client has given up waiting */
	bool ends_turn;               /* of the agent: it, or the one before it, is over */
	struct event *changed;        /* the call as a hook changed it */
	struct judgement *judgement;  /* on a worker, or whose verdict is part of this one's */
	struct asking *asking;        /* a worker looks for what to add */
	unsigned pins;                /* workers that still use its bytes */
	bool answered;
	unsigned stage;                                     /* the next one */
	enum { TURN_RUNS, TURN_ARRIVED, TURN_WAITS } state; /* of the current stage */
	struct turn *next_follower;                         /* waits for the same leader */
	unsigned holds;
	bool written; /* the journal is done with it: stored is final */
	enum wire_stored stored;
	struct journal_pos pos;
	int64_t flushed_us; /* monotonic; durability strict: since when it waits for the disk */
	int64_t spoke_us;   /* monotonic: when the client last heard from us */
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
	struct hooks *hooks;     /* NULL: there is nowhere to read them from */
	struct context *context; /* NULL: nothing is added */
	int64_t learned_us;      /* monotonic: when the last memory was journaled */
	struct live_table *live;
	struct fleet *fleet;
	struct fleet_watcher {
		void (*fn)(void *arg);
		void *arg;
	} fleet_watchers[FLEET_WATCHERS_MAX];
	size_t nfleet_watchers;
	enum { FLEET_LOADS_NOT, FLEET_LOADS, FLEET_LOADS_AGAIN } fleet_loads;
	bool fleet_moved; /* somebody does something else than before */
	struct efforts *efforts;
	unsigned efforts_load;              /* how often they are being read */
	struct loop_timer *efforts_timer;   /* they are read again, because they could not be */
	unsigned efforts_failed;            /* how often in a row */
	struct readers *readers;            /* from the first time on */
	void (*efforts_awaited)(void *arg); /* NULL: nobody waits until they are read */
	void *efforts_awaiter;
	struct effort_skills *skills;
	struct twins *twins;
	struct told_list *told; /* NULL: nothing ever came in */
	struct turn_list unflushed, unsynced;
	struct rescue *rescues;
	bool spool_fails;
	struct turn *open; /* all that are not answered */
	struct turn *spare;
	unsigned nspare, turns;
	struct loop_timer *patience; /* WAIT frames */
	bool patience_set;
	struct report *reports;               /* whose records wait for the write */
	bool audit_waits;                     /* the journal's batch has decisions that no turn waits for */
	const _Atomic uint64_t *urgent_kinds; /* NULL: none is */
	bool urgent;                          /* the batch has one of these */
	struct engine_state state;
	void (*stored)(const struct record *r, void *arg);
	void *stored_arg;
	void (*heard)(const struct event *event, void *arg);
	void *heard_arg;
	void (*turn_ended)(void *arg);
	void *turn_ended_arg;
	struct {
		uint64_t unstored, damaged, missing;
		char trouble[320], recovery[sizeof((struct writer_state *)0)->recovery];
	} reported; /* what the user has already been told */
};

/* model.c: for hooks_config. */
void model_ask(const struct hook_question *q, void *arg);
bool model_is_own(str prompt, void *arg);

struct turn *turn_new(struct engine *e, const struct hook_call *call);

/* Its answer may carry text for the model. */
bool turn_takes_context(const struct turn *t);

/* Puts a record into the journal's batch. */
int turn_journal(struct engine *e, struct record *r);

/* Tells the caller at once that its call is being worked on. */
void turn_say_wait(struct turn *t);

/* Something else must finish before the answer. */
void turn_hold(struct turn *t);
void turn_release(struct turn *t);

/* The journal has written it, or could not: from here on the turn is answered once nobody holds it. */
void turn_written(struct turn *t, enum wire_stored stored);

/* Around what a stage waits for, which may come back at once, before the stage has returned:
 *
 *     turn_depart(t); start_something(t); return turn_wait(t);      … later: turn_arrive(t); */
void turn_depart(struct turn *t);
enum stage_result turn_wait(struct turn *t);
void turn_arrive(struct turn *t);

/* A worker has released the turn's bytes. */
void turn_unpin(struct turn *t);

/* -- rescue.c: the journal cannot be written --------------------------------------------------- */

/* Writes what the last flush could not to the spool and answers these turns afterwards. False: there is no spool. */
bool rescue_start(struct engine *e, struct turn *turns);
/* Answers those that have waited too long. */
void rescue_expire(struct engine *e, int64_t now);
void rescue_free(struct engine *e);

/* -- reports.c: what was reported after the fact ----------------------------------------------- */

/* The write has been made, or could not be. Returns how many records there were. */
unsigned reports_written(struct engine *e, bool stored);
void reports_free(struct engine *e);

/* -- judge.c: the guard ------------------------------------------------------------------------ */

enum stage_result stage_guard(struct turn *t);
enum stage_result stage_guard_again(struct turn *t);
/* Continues without a judgement that takes too long; true when it did. */
bool judge_expire(struct turn *t, int64_t now);
void judge_release(struct turn *t);

/* -- asked.c: questions that were answered with yes ---------------------------------------------- */

enum stage_result stage_asked_before(struct turn *t);
enum stage_result stage_note_answers(struct turn *t);

/* -- context_stage.c: what is added to a conversation ------------------------------------------- */

enum stage_result stage_context(struct turn *t);
/* Continues without what takes too long; true when it did. */
bool context_expire(struct turn *t, int64_t now);

/* -- live.c: active sessions ------------------------------------------------------------------- */

/* What is known of a session between its events. It outlives its turns and is dropped when 512 others have been used
 * since; all of it can be rebuilt. */
struct live {
	struct live *next, *newer, *older; /* in its bucket; by last use */
	uint64_t hash;
	str agent, session; /* its own */
	unsigned refs;      /* turns */
	struct hooks_session *hooks;
	struct tally *tally; /* for reminders; NULL: none is on */
	int64_t began_us;    /* wall clock; 0: not before our eyes */
	uint64_t happened;   /* events so far; those that follow another one are not counted */
	/* What its window was given, the oldest overwritten first; and the last prompt, for what follows it. */
	int64_t *given; /* room for CONTEXT_GIVEN, once something was */
	size_t ngiven;
	bool recollected; /* that is all of it: the window began before our eyes, or the ledger was asked */
	char prompt_room[512];
	str prompt;
	uint64_t barren_at; /* memories there were in all, plus one, when there were none for its project; 0: unknown */
	/* Questions to the user: those that wait for an answer, and calls of which one was answered with yes. */
	struct question {
		uint64_t id, call;
	} asked[8];
	uint64_t allowed[32];
	size_t nasked, nallowed;
	bool turn_open;     /* a prompt has come, and no end of its turn */
	bool stop_held;     /* the end of this turn has already been held up once */
	bool looks_at_disk; /* a worker looks which files have changed */
};

struct live_table *live_new(struct hooks *hooks);
void live_free(struct live_table *t);
/* The session of an event, made when it is new; NULL: the event names none. */
struct live *live_get(struct live_table *t, const struct event *e);
void live_put(struct live_table *t, struct live *l);
/* The session, if it is known. */
struct live *live_find(const struct live_table *t, str agent, str session);
unsigned live_count(const struct live_table *t);

/* -- told.c: what came in from outside --------------------------------------------------------- */

struct told_list;

enum stage_result stage_told(struct turn *t);
void told_free(struct told_list *l);

/* -- effort_stage.c: which effort an event belongs to, and what that asks for ------------------- */

enum stage_result stage_effort(struct turn *t);
/* efforts.c: a session that starts before they are read waits for them, but not long. */
enum stage_result stage_await_efforts(struct turn *t);
/* Continues without them; true when it did. */
bool efforts_expire(struct turn *t, int64_t now);
/* A worker looks for t->wants; what it found; or that it took too long. What is never asked stays to be asked. */
void effort_asked(struct turn *t);
void effort_take_reply(struct turn *t, const struct context_reply *r);
void effort_missed(struct turn *t);

/* Once for each trouble that ended a turn: kept with the effort. */
void effort_report(struct engine *e, struct effort_window *w, const struct ulid *event, enum agent_trouble trouble,
	str said);

/* effort_look.c: has the transcript of the event read. */
void effort_look(struct turn *t, struct effort_window *w, bool ends);

/* -- efforts.c: the active efforts -------------------------------------------------------------- */

void sight_add_injection(struct sight *s, struct arena *a, str text);
/* All of it as JSON in the arena. */
str sight_write(const struct sight *s, struct arena *a);

/* An Effort event was journaled. */
void efforts_note(struct engine *e, const struct record *r);

/* -- fleet_stage.c: what an agent is doing, and what it is told ---------------------------------- */

enum stage_result stage_fleet(struct turn *t);
/* A transcript has told, after the event, why the turn ended that was over at that time. */
void fleet_trouble(struct engine *e, str agent, str session, int64_t at_us, enum agent_trouble trouble);
/* The table was read from the store. */
void fleet_filled(struct engine *e);
/* After the journal's write: whoever waits for changes is told. */
void fleet_tell(struct engine *e);
/* A Fleet event was journaled. */
void fleet_note(struct engine *e, const struct record *r);

/* -- twins.c: duplicate calls about one event -------------------------------------------------- */

struct twins *twins_new(void);
void twins_free(struct twins *t);
/* Finds the leader of this call, or makes this call the leader. */
void twin_join(struct turn *t);
/* A stage: a follower takes its leader's verdict as soon as it is known. */
enum stage_result stage_leader(struct turn *t);
/* The leader's verdict is final: followers go on. */
void twin_decided(struct turn *t);
/* Somebody still waits for the answer: the turn's own caller, or one of its followers. */
bool twin_is_wanted(const struct turn *t);
/* The turn ends. */
void twin_leave(struct turn *t);

/* -- notice.c ---------------------------------------------------------------------------------- */

void notice_count_agent(struct engine_state *s, const struct event *e);
/* available.c: the end of a turn says whether the model could be reached. */
void available_note(struct agent_seen *a, const struct event *e);
enum stage_result stage_notice(struct turn *t);

/* -- audit.c ----------------------------------------------------------------------------------- */

/* Keeps what was decided, once. */
enum stage_result stage_audit(struct turn *t);

/* -- hooks_stage.c ----------------------------------------------------------------------------- */

enum stage_result stage_hooks(struct turn *t);
enum stage_result stage_hold_once(struct turn *t);
/* No hook runs for a late call; those that must decide have failed. */
enum stage_result stage_late_hooks(struct turn *t);

/* -- remind_stage.c ---------------------------------------------------------------------------- */

enum stage_result stage_remind(struct turn *t);

/* -- pipeline.c, in order ---------------------------------------------------------------------- */

void pipeline_start(struct turn *t);
/* Runs stages until one waits or none is left. */
void pipeline_go_on(struct turn *t);
void pipeline_answer(struct turn *t);

#endif
