/* adapters: the rows of agents[], and what they share; for agents/ only. */
#ifndef HOOKD_AGENTS_ADAPTERS_H
#define HOOKD_AGENTS_ADAPTERS_H

#include "agents/agents.h"

extern const struct agent agent_claude, agent_codex, agent_gemini, agent_cursor, agent_copilot, agent_qwen,
	agent_opencode, agent_windsurf, agent_generic;

/* The members every agent of the Claude family shares. */
extern const struct json_field generic_fields[];
extern const struct agent_event generic_events[];
extern const struct agent_tool generic_tools[];

/* -- answers ----------------------------------------------------------------------------------- */

/* The object under hookSpecificOutput. It is written to a buffer of its own, because an empty one must not
 * appear at all. */
struct specific {
	struct buf text;
	struct json_writer w;
	size_t empty;
};

/* name: hookEventName, or NULL for agents that do not want it. */
void specific_begin(struct specific *s, const char *name);
void specific_context(struct specific *s, const struct verdict *v, struct arena *a);
/* STR_NONE when nothing was put in. *ret_full: it did not fit. */
str specific_end(struct specific *s, struct arena *a, bool *ret_full);

/* The object itself, whose members the agents of this family share. Nothing to say writes nothing. */
struct answer_parts {
	bool end;          /* "continue": false, with the verdict's reason */
	const char *block; /* the agent's word for it ("block", "deny"), or NULL */
	str reason;        /* of that */
	bool message;      /* the verdict's line for the user */
	str specific;      /* from specific_end() */
};

/* What the agents of Claude's family read: `block` for a refusal, a decision of its own before a tool. */
void answer_like_claude(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	struct answer *ret);

/* All context in one text, in the arena. *ret_full is set if it is too long, and is left alone otherwise. */
str answer_context(const struct verdict *v, struct arena *a, bool *ret_full);

/* The event came under Claude Code's spelling (PreToolUse, not preToolUse): from a file that was written for it. */
bool event_has_claude_name(const struct event *e);

/* For agents that understand an exit code: 2, with the reason on stderr. */
void answer_by_exit_code(const struct event *e, const struct verdict *v, unsigned takes, struct arena *a,
	struct answer *ret);

void answer_write(struct answer *ret, const struct verdict *v, const struct answer_parts *p);

#endif
