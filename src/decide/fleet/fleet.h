/* fleet: which agents there are, what each is doing, and what is to be told to one.
 *
 *   agents.c     the agents, on the loop      listeners.c  "tell me when that one stops"
 *   op.c         what can be noted, as events
 *
 * DESIGN (docs/decisions/0025-fleet.md). An agent is who its AGENT_ID says, else whoever is at its place on a screen,
 * else its session. What it is doing follows from its own events (event/status.c), twice: here, for those who wait and
 * for a display that must not be late, and in the fold, for everything that is asked of the store. Nothing is written
 * for it that the events do not say already; so after a restart the table is read from the store.
 *
 * What events do not say is an event of hookd's own, `Fleet`: somebody has looked at an agent, an agent wants to be
 * told when another one stops, work was queued. They are journaled before they are acknowledged.
 *
 * Texts of agents are not kept here: what is shown of them comes from the store, where secrets are gone. Everything is
 * bounded, and belongs to the loop thread. */
#ifndef HOOKD_FLEET_FLEET_H
#define HOOKD_FLEET_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/macro.h"
#include "event/event.h"
#include "json/json.h"
#include "store/store.h"

enum {
	FLEET_AGENTS_MAX = 512,    /* the one that was quiet for longest makes room */
	FLEET_LISTENERS_MAX = 256, /* that wait, or were not told yet */
	FLEET_NAME_MAX = 128,
	FLEET_TEXT_MAX = 4000,
};

/* The status of a listener that hookd has made: its teammate is idle, and text is the name of the team. */
#define FLEET_IDLE "idle"

/* -- op.c -------------------------------------------------------------------------------------- */

/* Opens the payload of a Fleet event; uid NULL: it is about nothing that has one. The caller closes the object. */
void fleet_open(struct json_writer *w, const struct ulid *uid, const char *op);
/* The event; id is its own key. */
void fleet_event(const struct ulid *id, const struct ulid *uid, str payload, struct arena *a, struct event *ret);

/* -- agents.c ---------------------------------------------------------------------------------- */

struct fleet_agent {
	struct fleet_agent *next, *newer, *older; /* in its bucket; by last event */
	uint64_t hash, who;                       /* of its session; of who it is */
	/* Never NULL; "" is none. agent: which program. name: AGENT_ID, a tmux pane, or the session. */
	char *agent, *session, *name, *label, *parent, *manages, *cwd, *watch;
	char *pane, *socket; /* of tmux */
	/* Its context was full under a supervisor: for which effort it is to be started again, and with which words. */
	char *restart, *restart_effort;
	enum agent_status status;
	char subject[64];          /* what that is about, in a word */
	int64_t since_us, seen_us; /* the clock of its events */
	int64_t changed_us;        /* ours, when it was last heard to do something else */
	uint32_t pid, ppid;        /* 0: unknown */
	unsigned subagents;
	bool has_id;               /* an AGENT_ID */
	bool ended;                /* its session */
	enum agent_status painted; /* for whoever shows it: as what; AGENT_STATUS_MAX: not known */
};

struct fleet;

struct fleet *fleet_new(void);
void fleet_free(struct fleet *f);
DEFINE_FREEP(struct fleet, fleet_free);

/* On a worker: what the store knows, as JSON in the arena. */
int fleet_read(struct store *s, struct arena *a, str *ret);
/* That; any number of times. What was heard of later stays. */
void fleet_fill(struct fleet *f, const struct json *rows);
bool fleet_known(const struct fleet *f);

/* An agent tells of something. The agent that it is about, NULL for an event without a session; *ret_changed: that one
 * is doing something else than before. */
struct fleet_agent *fleet_see(struct fleet *f, const struct event *e, bool *ret_changed);
/* The first of all, by last event. */
struct fleet_agent *fleet_first(const struct fleet *f);
/* By name, label, pane, session, or the beginning of a session's id (8 or more). NULL: there is none, or several. */
struct fleet_agent *fleet_find(const struct fleet *f, str who);
bool fleet_is(const struct fleet_agent *a, str who);
/* By its AGENT_PARENT, or by the AGENT_MANAGES of that one (names, with commas or blanks between them), if it is there:
 * boss, or NULL. */
bool fleet_is_child(const struct fleet_agent *a, str of, const struct fleet_agent *boss);
/* Who coordinates the teammate of this name; a: the agent that an event about it was about. NULL: it is not known. */
struct fleet_agent *fleet_coordinator(const struct fleet *f, const struct fleet_agent *a, str teammate);
/* An agent that a caller's variables, and the session it says it is in, mean. */
struct fleet_agent *fleet_caller(const struct fleet *f, str agent_id, str session);

/* Its last turn ended at that time, and this is why, in a word. NULL: it does something else by now. */
struct fleet_agent *fleet_ended_by(struct fleet *f, str agent, str session, int64_t at_us, const char *why);

/* Its supervisor is to end it and start it again. */
void fleet_restart(struct fleet_agent *a, str effort, str prompt);
/* The one that this supervisor has started last. */
struct fleet_agent *fleet_watched(const struct fleet *f, str watch);

/* done, attention, error, any of these, or change: whether a status is meant. */
bool fleet_means(str wanted, enum agent_status status);

/* -- listeners.c ------------------------------------------------------------------------------- */

struct fleet_listener {
	struct fleet_listener *next;
	struct ulid uid;
	char *teller, *told, *status, *text;
	char *asked_by; /* an agent, or "" */
	int64_t made_us;
	bool heard; /* it has happened; it is to be told */
	enum agent_status happened;
};

/* A Fleet event was journaled. */
void fleet_apply(struct fleet *f, const struct json *payload, int64_t at_us);
/* One that waits for what this agent is doing now; NULL: none. */
const struct fleet_listener *fleet_due(const struct fleet *f, const struct fleet_agent *a);
/* One whose news this agent is to be told; NULL: none. */
const struct fleet_listener *fleet_message(const struct fleet *f, const struct fleet_agent *a);
/* Such news of a teammate is still to be told to its coordinator. */
bool fleet_is_signalled(const struct fleet *f, str teammate, str coordinator);
/* When work was last there to be claimed; our clock. */
int64_t fleet_work_us(const struct fleet *f);
unsigned fleet_listeners(const struct fleet *f);

#endif
