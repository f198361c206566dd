/* context: what is added to a conversation, and when. Knows events and memories, no agent and no turn.
 *
 *   context.c   the moments, each with what it adds: one table
 *   start.c     the start of a session: what is known of its project
 *   effort.c    the effort that a window goes on with, and files that it asks for
 *   recall.c    memories that fit a prompt, or are about a file
 *   named.c     which of those about a file help with the task
 *   code.c      code that fits a prompt
 *   file.c      whether the file that a memory is about has changed
 *   block.c     the text: framed as reference data, within its limits
 *
 * DESIGN. The caller hands over copies of what the moment is about and gets text and the list of what is in it. The
 * work is done on a worker, with a deadline: an answer that comes too late is dropped by the caller, and a
 * conversation without it is as good as before. What was given once in a window is not given again; the caller keeps
 * that list, and has it looked up in the ledger when it does not know the session. The same question gives the same
 * bytes, so that a model's cache stays valid. */
#ifndef HOOKD_CONTEXT_CONTEXT_H
#define HOOKD_CONTEXT_CONTEXT_H

#include "base/arena.h"
#include "base/macro.h"
#include "base/ulid.h"
#include "config/config.h"
#include "effort/effort.h"
#include "event/event.h"
#include "index/index.h"
#include "memory/memory.h"
#include "store/store.h"

enum {
	CONTEXT_BYTES = 9500, /* agents cut at 10,000 characters */
	CONTEXT_ITEMS = 24,
	CONTEXT_GIVEN = 256,
};

struct context;

/* Everything outlives it. */
struct context_config {
	struct readers *readers;
	struct memories *memories;
	struct code *code; /* NULL: no code is given */
	const struct config *config;
	const char *secret; /* makes the boundary of blocks unguessable */
	const char *home;   /* of the user; no project is there */
};

struct context *context_new(const struct context_config *config);
void context_free(struct context *c);
DEFINE_FREEP(struct context, context_free);

/* What a window is to be given of its effort. Texts are the asker's copies. */
struct context_effort {
	struct ulid uid;
	bool begins;      /* the window has begun: all of it */
	bool is_subagent; /* … but it is a subagent's: what it needs for its part */
	bool discovers;   /* directives of dir, up to the root */
	bool snapshot;    /* nothing is given; only where it stands is asked */
	bool gates;       /* … which must be read before the call goes on */
	bool checklists;
	int64_t ordinal;
	str task, root, skill, mode, phase, goal, config, metadata;
	struct ulid window; /* that asks */
	str dir;            /* STR_NONE: no directives are looked for */
	str phase_due;      /* what the skill says of this phase is to be given; STR_NONE: nothing */
	/* What the window is marked with while this is looked for, and keeps if it is given. */
	str dir_mark, phase_mark;
	str owed[EFFORT_OWED]; /* files that did not fit before */
	size_t nowed;
	const uint64_t *given; /* what the window has */
	size_t ngiven;
};

enum { CONTEXT_READS = 16, CONTEXT_EFFORT_BYTES = 7000 };

struct context_read {
	str path, hash;
	bool is_directive;
	bool is_owed; /* there was no room for it */
};

struct context_ask {
	const struct context_effort *effort; /* NULL: nothing of that is asked */
	bool effort_only;                    /* and nothing else */
	size_t taken;                        /* bytes that are added besides */
	enum event_kind kind;
	enum tool_class tool_class;
	str agent, session, cwd, source;
	str prompt;           /* of this event, or the last one of its session */
	str file;             /* file tools */
	str excerpt;          /* some of the tool's output */
	const int64_t *given; /* keys of items that the window has already */
	size_t ngiven;
	bool asked_for; /* by an agent that wants it: no switch counts */
	bool recollect; /* look up what the window was given, beside that */
};

struct context_item {
	int64_t key; /* of a memory; of a piece of code, a negative number made of its name */
	struct ulid uid;
	float score, confidence;
	unsigned tokens;
	str place; /* code: path:first-last; STR_NONE: a memory */
};

struct context_reply {
	str text; /* STR_NONE: nothing fits */
	struct context_item items[CONTEXT_ITEMS];
	size_t n;
	str effort;   /* the text about it; STR_NONE: nothing */
	str standing; /* where it stands, as JSON; when the window begins */
	struct context_read reads[CONTEXT_READS];
	size_t nreads;
	bool phase_left_out;          /* there was no room for what the skill says of it */
	int64_t given[CONTEXT_GIVEN]; /* what was looked up, the newest first */
	size_t ngiven;
	bool barren; /* there is nothing at all for this project: no need to ask again until something is learned */
};

/* Whether anything could be added to such an event at all; cheap, on any thread. */
bool context_applies(const struct context *c, const struct event *e);
/* On a worker; the reply is in the arena. 0, or -errno: nothing is added then either. */
int context_answer(struct context *c, const struct context_ask *q, struct arena *a, struct context_reply *ret);

/* A rough price: four bytes a token. */
static inline unsigned context_tokens(size_t bytes)
{
	return (unsigned)((bytes + 3) / 4);
}

#endif
