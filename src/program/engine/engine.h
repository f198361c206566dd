/* engine: the path of an event through the daemon, and nothing else.
 *
 *   pipeline.c     the picture as code: understand, make the record, decide in stages, answer
 *   judge.c        a stage: the guard, on the loop or on a worker
 *   asked.c        two stages: what a person has said yes to is not asked again
 *   remind_stage.c a stage: what the agent is reminded of
 *   hooks_stage.c  a stage: the user's own hooks
 *   context_stage.c  a stage: memories that fit
 *   told.c         a stage: what came in from outside
 *   available.c    which agents' models cannot be reached
 *   notice.c       a stage: one line for the user after a problem
 *   audit.c        a stage: what was decided, as events of hookd's own
 *   turn.c         what one call owns while it is open; exactly one answer
 *   frames.c       calls of hookc: frames in, frames out
 *   reports.c      what was reported after the fact
 *   rescue.c       what the journal cannot take goes to the spool
 *   twins.c        duplicate calls about one event
 *   efforts.c      the active efforts: read once, then changed by their events
 *   fleet_load.c   the agents as the store knows them
 *   fleet_stage.c  a stage: what each agent is doing, and what it is told of others
 *   live.c         what is known of a session between its events
 *   follow.c       what transcripts tell that no hook did (follow.h)
 *   output.c       what agents say while a turn runs (output.h)
 *   learn.c        what was captured becomes memories, classes, summaries: runs jobs (learn.h)
 *   learn_turn.c   the job of a turn            learn_session.c  the job of a session
 *   learn_model.c  the same with a model
 *   evidence.c     whether what was added was of use
 *   janitor.c      everything periodic, as one table of duties
 *
 * DESIGN. A turn begins with a call and ends with one answer. It is answered when two things hold: its record is in
 * the journal (all turns of one loop iteration share one write), and nobody holds it. A stage that needs time waits
 * and resumes later; meanwhile the caller gets a WAIT every 50 ms. Nothing here blocks: payloads over
 * LIMIT_INLINE_PAYLOAD are parsed and redacted on a worker, and the disk belongs to the writer thread.
 *
 * Everything runs on the loop thread unless a function says otherwise. */
#ifndef HOOKD_ENGINE_ENGINE_H
#define HOOKD_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "event/event.h"
#include "guard/guard.h"
#include "journal/journal.h"
#include "loop/loop.h"
#include "server/server.h"
#include "store/store.h"

struct context;
struct engine;
struct hooks;

struct engine_config {
	struct loop *loop;
	struct journal *journal;
	const char *run_dir; /* for the markers of muted sessions; must outlive the engine */
	/* Where user hooks are configured and remembered; state NULL: none run. Must outlive the engine. */
	const char *home, *user_config, *state;
	const char *hook_path; /* PATH of user hooks; must outlive the engine */
	const char *spool;     /* for what the journal cannot take; NULL: there is none. Must outlive the engine */
	const char *keeper;    /* the program that ends hooks when this one is killed; NULL: none */
	bool strict;           /* durability: answer after the journal's sync */
	struct guard *guard;   /* must outlive the engine */
	unsigned reminders;    /* those that are on: reminders_of() */
	struct llm *llm;       /* what prompt hooks ask; NULL: nothing. llm_join() comes before engine_free() */
};

struct engine *engine_new(const struct engine_config *config);
void engine_free(struct engine *e);
DEFINE_FREEP(struct engine, engine_free);

/* Called when an agent's turn or session has ended; set once, before the loop runs. */
void engine_on_turn_end(struct engine *e, void (*fn)(void *arg), void *arg);

/* Called for every record, once it is stored; set once, before the loop runs. */
void engine_on_record(struct engine *e, void (*fn)(const struct record *r, void *arg), void *arg);

/* Called for every event that an agent tells of, before it is answered; set once, before the loop runs. What the event
 * holds may not be kept or stored. */
void engine_on_event(struct engine *e, void (*fn)(const struct event *event, void *arg), void *arg);

/* Where to look for what is added to conversations; set once, before the loop runs. */
void engine_set_context(struct engine *e, struct context *c);

/* Has the active efforts, and the agents, read from the store; until that is done nothing is known of any. After
 * engine_set_writer(). */
struct readers;
void engine_load_efforts(struct engine *e, struct readers *readers);
/* Calls fn on the loop once they are read, at once if they are. One at a time: the last who asks is called. */
void engine_await_efforts(struct engine *e, void (*fn)(void *arg), void *arg);
/* The agents again: events came by the spool. */
void engine_load_fleet(struct engine *e, struct readers *readers);
/* How full the context of a session is, from whoever knows; tokens, and what it holds at all. On the loop. */
void engine_context_used(struct engine *e, str agent, str session, int64_t tokens, int64_t max);
/* The agents, for operations; on the loop. */
struct fleet;
struct fleet *engine_fleet(struct engine *e);
/* Called when agents do something else than before, and the events that say so are in the journal; and when they were
 * read from the store. */
enum { FLEET_WATCHERS_MAX = 4 };
/* On the loop: the record of an event of hookd's own, for engine_store(). */
void engine_note(struct engine *e, struct arena *a, const struct event *event, struct record *ret);
void engine_on_fleet(struct engine *e, void (*fn)(void *arg), void *arg);

/* Skills that were read; any thread. */
struct effort_skills *engine_skills(struct engine *e);

/* Which reminders are on from now on. */
void engine_set_reminders(struct engine *e, unsigned mask);

/* Writer and sync thread are started after the engine, because they report to it. */
void engine_set_writer(struct engine *e, struct writer *w, struct journal_syncer *s);

/* Events of these kinds are folded as soon as they are in the journal: somebody waits for what follows from them. The
 * bits may change any time. */
void engine_set_urgent(struct engine *e, const _Atomic uint64_t *kinds);

/* -- calls ------------------------------------------------------------------------------------- */

/* How a call reached us. The same event reported in two ways is a duplicate. */
enum hook_way { HOOK_WAY_FRAME, HOOK_WAY_HTTP, HOOK_WAY_RPC };

struct answer;

/* Who wants the answer; every function runs on the loop. `arg` and the call's bytes live until release(). */
struct caller {
	void (*wait)(void *arg, enum wire_stored stored, uint32_t ms);                 /* still working; may be NULL */
	void (*done)(void *arg, enum wire_stored stored, const struct answer *answer); /* exactly once */
	void (*release)(void *arg); /* exactly once, after done: the bytes are no longer used */
	bool (*is_gone)(void *arg); /* the answer would reach nobody */
	void *arg;
};

struct hook_call {
	struct wire_hook hook; /* what was sent, by whom, when, and how long the caller waits */
	enum hook_way way;
	/* Encodes the verdict for the caller; NULL: as the agent expects it. */
	void (*encode)(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret);
	struct caller caller;
};

void engine_call(struct engine *e, const struct hook_call *call);

/* -- reports ----------------------------------------------------------------------------------- */

/* What was reported after the fact, and nobody waits for a verdict on (telemetry). It goes the way of every event but
 * for its stages: no rule judges it, no hook runs for it. */

/* Makes the record of an event. On a worker only; *ret_secrets: pieces replaced. */
void engine_redact(struct engine *e, struct arena *a, const struct event *event, struct record *ret,
	unsigned *ret_secrets);
/* Has records journaled with the next write, all or none of them; then done(), on the loop. They live until then. */
void engine_store(struct engine *e, struct record *records, size_t n, void (*done)(bool stored, void *arg), void *arg);

/* Records that were stored without the journal: they are counted, and whoever listens hears of them. */
void engine_tell(struct engine *e, const struct record *records, size_t n);

/* What came in from outside is told to the next event of a session that it is for. On the loop. */
struct inbound;
struct sinks;
void engine_tell_inbound(struct engine *e, struct sinks *sinks, const struct inbound *in, str payload);

/* Handler of the server: a frame from hookc has arrived. arg is the engine. */
void engine_hook(struct conn *c, str body, void *arg);

/* The loop's before-sleep step: one journal write for all turns of this iteration, then their
 * answers. arg is the engine. */
void engine_before_sleep(void *arg);

/* Closes the journal's segment and has the writer fold what is in it; *ret: the place to wait for, after which the
 * old segments are gone. */
int engine_rotate(struct engine *e, struct journal_pos *ret);

/* The journal has been synced, or could not be; any thread. arg is the engine. */
void engine_synced(void *arg);

/* The daemon is about to stop: kills running hooks and starts no more, so that their turns can be answered. */
void engine_stop_hooks(struct engine *e);

/* The user's hooks, for operations; NULL without. */
struct hooks *engine_hooks(struct engine *e);

/* Turns that have not been answered yet. */
unsigned engine_turns(const struct engine *e);

/* Whether an agent's model can be reached, as the ends of its turns tell. */
enum agent_available { AGENT_AVAILABLE, AGENT_DEGRADED, AGENT_UNAVAILABLE };
extern const char *const available_names[];

/* What was seen of an agent. */
enum { AGENTS_SEEN_MAX = 16 };

struct agent_seen {
	char name[32];
	int64_t last_us;
	uint64_t before, after; /* tool events */
	bool reported;
	enum agent_available available;
	int64_t since_us, until_us; /* wall clock; until 0: nobody knows */
	char why[32];
};

struct engine_state {
	struct agent_seen agents[AGENTS_SEEN_MAX];
	uint64_t received;  /* frames */
	uint64_t journaled; /* acknowledged */
	uint64_t spooled;   /* acknowledged, but by the spool */
	uint64_t unstored;  /* answered, but neither journal nor spool could be written */
	uint64_t late, incomplete, not_json, muted, secrets;
	uint64_t twins;          /* calls that followed another one */
	uint64_t injected;       /* memories that were added to conversations */
	uint64_t context_late;   /* times that looking for them took too long */
	uint64_t judged_by_text; /* because a disk did not answer */
	uint64_t verdicts[VERDICT_ACTION_MAX];
	uint64_t kinds[EVENT_KIND_MAX];
	int64_t last_event_us;
	char journal_trouble[128];
};

void engine_get_state(const struct engine *e, struct engine_state *ret);

/* As it is now: what was said to end has ended. */
enum agent_available engine_available(const struct agent_seen *a, int64_t now_us);

/* The agent reports tools only after they ran: its PreToolUse hook is missing, and no rule can stop a call. */
bool engine_misses_before(const struct agent_seen *a);

/* -- janitor ----------------------------------------------------------------------------------- */

/* Everything periodic. A row costs nothing while the daemon is idle if its period is long: an idle
 * daemon wakes up at most twice a minute. */
struct duty {
	const char *text; /* shown by doctor */
	int64_t every_us;
	void (*run)(void *arg);
};

struct janitor;

struct janitor *janitor_new(struct loop *l, const struct duty *duties, void *arg);
void janitor_free(struct janitor *j);

#endif
