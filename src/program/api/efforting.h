/* efforting: the way of a change of an effort into the journal. Internal to api/.
 *
 *   loop: parameters ─▶ queue ─▶ worker: prepare() looks at the store and adds events ─▶ loop: journal
 *                                                                    answer ◀─ worker: after() ◀─┘
 *
 * Changes are made one after the other, each with everything before it in view: two starts never get one number, and
 * two phases never the same predecessor. */
#ifndef HOOKD_API_EFFORTING_H
#define HOOKD_API_EFFORTING_H

#include "api/ops.h"
#include "effort/effort.h"
#include "fleet/fleet.h"

enum { CHANGE_EVENTS = 4 };

/* What is stored of an effort. */
struct effort_state {
	struct ulid uid;
	str task, root, agent, skill, mode, phase, goal, config, metadata, checkpoint;
	int64_t ordinal;
	bool active;
};

struct effort_change {
	struct effort_change *next;
	struct op_call call; /* a copy; its store is open in prepare() only */
	struct journal_pos seen;
	/* 0, or -errno with call.err. */
	int (*prepare)(struct effort_change *c);
	void (*after)(struct effort_change *c); /* NULL, or what is done once it is stored; it may add to the result */
	struct event events[CHANGE_EVENTS];
	struct record records[CHANGE_EVENTS];
	size_t n;
	struct effort_state effort;
	struct buf result;
	struct json_writer w; /* the answer */
	void *more;           /* of whoever prepares */
	int failed;
};

/* Those that wait, the one that is made first. On the loop. */
struct changes {
	struct effort_change *first, *last;
};

struct changes *api_changes(struct api *a);

/* Submits it. Always 0: the answer comes later. */
int change_submit(struct op_call *call, int (*prepare)(struct effort_change *c),
	void (*after)(struct effort_change *c));

/* For prepare(): an event about an effort (NULL: about none). */
void change_add(struct effort_change *c, const struct ulid *effort, str payload);
/* … about something of the fleet. */
void change_add_fleet(struct effort_change *c, const struct ulid *uid, str payload);
/* A member of the last one's payload, as it will be stored: without secrets. */
str change_stored(struct effort_change *c, const char *member);

/* The effort that the parameters `effort`, `agent`, `session` and `cwd` mean. -ENOENT: err says how to find one. */
int effort_resolve(struct op_call *call, struct effort_state *ret);
/* The active one in which a window is: 1; 0: none. */
int effort_of_window(struct op_call *call, const struct ulid *window, struct effort_state *ret);
/* As effort_resolve(), and it must be active. */
int effort_resolve_active(struct op_call *call, struct effort_state *ret);

/* Checks of parameters: 0, or -EINVAL with call->err. */
int effort_check_name(struct op_call *call, const char *param, bool needed);
int effort_check_text(struct op_call *call, const char *param);
int effort_check_json(struct op_call *call, const char *param);
int effort_check_metadata(struct op_call *call, const struct json *metadata);
/* Ends the object that effort_open() began; its text is in the call's arena, and the buf is released. */
str effort_close(struct op_call *call, struct buf *b, struct json_writer *w);
/* JSON that was stored; NULL: there is none. */
struct json *effort_parse(struct op_call *call, str text);
/* The folder for artifacts of a task. */
str effort_artifact_dir(struct op_call *call, const struct effort_state *s);

/* Members of an open object that every answer about an effort has. */
void effort_write_head(struct json_writer *w, const struct effort_state *s);

/* -- parameters -------------------------------------------------------------------------------- */

#define EFFORT_PARAMS                                                                                                \
	{ "effort", OP_TEXT, OP_OR_NUMBER, .text = "its id, or its number in the task (default: the one of here)" }, \
		{ "agent", OP_TEXT, .text = "the agent's AGENT_ID" },                                                \
		{ "session", OP_TEXT, .text = "the agent's own session id" },                                        \
	{                                                                                                            \
		"cwd", OP_TEXT, .text = "the directory of whoever asks"                                              \
	}

#endif
