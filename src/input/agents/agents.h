/* agents: one adapter per agent, each a few tables and one function.
 *
 * DESIGN. An adapter translates and nothing else: bytes of the agent's hook into struct event, struct
 * verdict into exactly the bytes, stream and exit code that agent understands. What an event means is
 * decided elsewhere. An adapter is a row of agents[]:
 *
 *   events   native name → canonical kind; names not listed are looked up among the canonical ones
 *   tools    native tool → class
 *   fields   payload member → field of struct event
 *   refine   what these tables cannot say
 *   render   verdict → answer
 *
 * An agent that is not in the table is served by the generic adapter: stored, answered neutrally. */
#ifndef HOOKD_AGENTS_AGENTS_H
#define HOOKD_AGENTS_AGENTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "event/event.h"
#include "json/json.h"
#include "wire/wire.h"

struct agent_event {
	const char *native;
	enum event_kind kind;
	bool by_default; /* `hookd init` installs it */
	bool not_a_hook; /* told another way (Codex: notify); never to be written into a hook file, not even when
			  * all events are wanted */
};

struct agent_tool {
	const char *native;
	enum tool_class class;
};

/* What the agent sees. Bytes live in the buf and the arena of the turn. */
struct answer {
	struct buf *out;
	str err;
	uint8_t exit_code;
};

/* Verbs an agent can honour; doctor and the reference show what is missing. */
enum {
	AGENT_DENIES = 1 << 0,
	AGENT_ASKS = 1 << 1,
	AGENT_CHANGES_INPUT = 1 << 2,
	AGENT_TAKES_CONTEXT = 1 << 3,
	AGENT_CONTINUES = 1 << 4,
};

struct agent {
	const char *name;  /* first argument of hookc */
	const char *label; /* for people */
	const struct agent_event *events;
	const struct agent_tool *tools;
	const struct json_field *fields;
	unsigned verbs;
	/* After the tables, before anything is missed. May be NULL. */
	void (*refine)(struct event *e);
	/* The verdict is not neutral. Writes nothing for what the agent cannot honour; ret->out->full
	 * afterwards: it does not fit. */
	void (*render)(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret);
};

extern const struct agent *const agents[]; /* ends with NULL; the generic one is last */

/* Never NULL: the generic adapter serves whoever is unknown. */
const struct agent *agent_find(str name);

/* Parses the payload of a call. Cannot fail: what is not understood is marked in the event, which
 * borrows from the frame and the arena. */
void agent_parse(const struct agent *agent, const struct wire_hook *hook, struct arena *a, struct event *ret);

/* The same from a record, whose payload is the agent's own shape, redacted. */
void agent_read_record(const struct record *r, struct arena *a, struct event *ret);

/* The answer for the agent; a neutral verdict gives exit 0 and no bytes. Where the agent has no way to ask a person
 * (AGENT_ASKS is missing), ask becomes deny. */
void agent_render(const struct agent *agent, const struct event *e, const struct verdict *v, struct arena *a,
	struct answer *ret);

#endif
