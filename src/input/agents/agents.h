/* agents: one adapter per agent, each a few tables and one function.
 *
 * DESIGN. An adapter translates and nothing else: bytes of the agent's hook into struct event, struct verdict into
 * exactly the bytes, stream and exit code that agent understands. What an event means is decided elsewhere. An
 * adapter is a row of agents[]:
 *
 *   events   native name → canonical kind, and what the agent honours in an answer; names not listed are looked up
 *            among the canonical ones
 *   tools    native tool → class, and its name in hooks written for Claude Code
 *   fields   payload member → field of struct event
 *   refine   what these tables cannot say
 *   render   verdict → answer
 *
 * An agent that is not in the table gets the generic adapter: its events are stored, and it is stopped by exit code 2
 * with the reason on stderr, which is what a program that calls hooks most likely understands. */
#ifndef HOOKD_AGENTS_AGENTS_H
#define HOOKD_AGENTS_AGENTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "event/event.h"
#include "json/json.h"
#include "wire/wire.h"

enum { AGENT_TOOL_NAMES = 3 };

/* What an agent honours in the answer to one of its events. More than that would be ignored, or void the answer. */
enum {
	TAKES_MESSAGE = 1 << 0, /* a line for the user */
	TAKES_END = 1 << 1,     /* the end of the turn */
	TAKES_DENY = 1 << 2,
	TAKES_ASK = 1 << 3,     /* a question to the user */
	TAKES_MORE = 1 << 4,    /* the turn goes on */
	TAKES_INPUT = 1 << 5,   /* another input for the tool */
	TAKES_CONTEXT = 1 << 6, /* text for the model */
	TAKES_DECISION = TAKES_DENY | TAKES_ASK | TAKES_MORE | TAKES_INPUT,
};

enum {
	AGENT_EVENT_DEFAULT = 1 << 0,    /* `hookd init` installs it */
	AGENT_EVENT_NOT_A_HOOK = 1 << 1, /* arrives another way (Codex: notify); never written into a hook file */
};

struct agent_event {
	const char *native;
	enum event_kind kind;
	unsigned takes; /* TAKES_* */
	unsigned flags; /* AGENT_EVENT_* */
	/* Events that are about one tool name it, and say which member of the payload is its input; "": the payload
	 * itself. NULL: the payload says both. */
	const char *tool, *input;
};

struct agent_tool {
	const char *native;
	enum tool_class class;
	const char *claude[AGENT_TOOL_NAMES]; /* what Claude Code calls it, the likeliest first; none: the same */
};

/* What the agent sees. Bytes live in the buf and the arena of the turn. */
struct answer {
	struct buf *out;
	str err;
	uint8_t exit_code;
};

struct agent {
	const char *name;  /* first argument of hookc */
	const char *label; /* for people */
	const char
		*verified; /* the release whose real program this was tested with; NULL: written from documentation */
	/* One session under two names keeps the higher one: agents that also run another one's hooks report both. */
	int rank;
	const struct agent_event *events;
	const struct agent_tool *tools;
	const struct json_field *fields;
	const char *const *envelopes; /* members of the payload that hold such fields as well, and a NULL; or NULL */
	/* Its folder in the home directory (and, for some, in a project); a variable may name the folder itself, or
	 * another home. */
	const char *dir, *dir_env, *home_env;
	const char *xdg_dir;        /* its folder below XDG_CONFIG_HOME, where that is set; or NULL */
	const char *const *history; /* folders below it with its transcripts, and a NULL; NULL: none are read */
	bool history_in_data;       /* those folders are below XDG_DATA_HOME instead */
	bool silent_stop;           /* its hook at the end of a turn does not say what was said; the transcript does */
	bool runs_claude_settings;  /* it runs the hooks of .claude/settings.json itself */
	/* After the tables, before anything is missed. May be NULL. */
	void (*refine)(struct event *e, struct arena *a);
	/* The verdict is not neutral; `takes` is what this event honours. Writes nothing that the agent cannot
	 * honour. If it does not fit, ret->out->full is set. */
	void (*render)(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
		struct answer *ret);
};

extern const struct agent *const agents[]; /* ends with NULL; the generic one is last */

/* Never NULL: unknown agents get the generic adapter. */
const struct agent *agent_find(str name);

/* The agent that made this call. It is not always the one that the hook line names: Copilot CLI and Cursor also run the
 * hooks of Claude Code's settings, and those say "claude". */
const struct agent *agent_of_call(const struct wire_hook *hook);

/* The agent's folder for a user with this home, wherever the environment has moved it. -EINVAL: it has none. */
int agent_dir(const struct agent *agent, const char *home, char out[FS_PATH]);
/* Likewise the folder that its `history` is below. */
int agent_history_dir(const struct agent *agent, const char *home, char out[FS_PATH]);

/* The row of an event by its native name, or else the first of its kind; NULL: the agent has no such event. */
const struct agent_event *agent_event_row(const struct agent *agent, str native, enum event_kind kind);
/* The canonical kind of a native name; never one of hookd's own. */
enum event_kind agent_kind_of(const struct agent *agent, str native);
/* TAKES_* of an event; of all events together. */
unsigned agent_takes(const struct agent *agent, const struct event *e);
unsigned agent_takes_anywhere(const struct agent *agent);

/* The row of a tool by its native name, or NULL. */
const struct agent_tool *agent_tool_row(const struct agent *agent, str native);

/* Parses the payload of a call. Cannot fail: what is not understood is marked in the event, which
 * borrows from the frame and the arena. */
void agent_parse(const struct agent *agent, const struct wire_hook *hook, struct arena *a, struct event *ret);

/* Gives the event another input, and everything that is derived from one. */
void agent_replace_input(const struct agent *agent, struct event *e, const struct json *input, struct arena *a);

/* The same from a record, whose payload is the agent's own shape, redacted. */
void agent_read_record(const struct record *r, struct arena *a, struct event *ret);

/* What the agent will make of the verdict's action: less than the verdict wants where the event cannot be stopped, deny
 * for ask where the agent has no way to ask a person. An audit must not claim more than that. */
enum verdict_action agent_hears(const struct agent *agent, const struct event *e, const struct verdict *v);

/* The answer for the agent; a neutral verdict gives exit 0 and no bytes. */
void agent_render(const struct agent *agent, const struct event *e, const struct verdict *v, struct arena *a,
	struct answer *ret);

#endif
