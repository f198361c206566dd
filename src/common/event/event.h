/* event: the three things that travel along the path of an event.
 *
 * struct event    what an agent sent, live and unredacted. It exists in memory only, in the arena of
 *                 its turn; guard, user hooks and the answer's encoder look at it.
 * struct record   what may be kept: made by redact(), and by reading back what was kept, by nothing else
 *                 (tests/lint checks it). Journal, spool, store, log and everything that leaves the
 *                 process accept only this type, so forgetting to redact does not compile.
 * struct verdict  what hookd answers, before it is encoded for one agent.
 *
 * They are separate because a guard that saw redacted text could be blinded ("PASSWORD=$(rm -rf ~)"), and
 * a changed input built from redacted text would write placeholders into the user's files.
 *
 * All strings are borrowed from the arena or the frame and live as long as the turn. */
#ifndef HOOKD_EVENT_EVENT_H
#define HOOKD_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/ulid.h"
#include "json/json.h"

/* -- kinds ------------------------------------------------------------------------------------- */

/* Stores know kinds by these numbers: new ones come last, before EVENT_KIND_MAX. */
enum event_kind {
	EVENT_UNKNOWN, /* stored, answered neutrally */
	EVENT_SESSION_START,
	EVENT_SESSION_END,
	EVENT_SETUP,
	EVENT_INSTRUCTIONS_LOADED,
	EVENT_USER_PROMPT_SUBMIT,
	EVENT_USER_PROMPT_EXPANSION,
	EVENT_PRE_TOOL_USE,
	EVENT_PERMISSION_REQUEST,
	EVENT_PERMISSION_DENIED,
	EVENT_POST_TOOL_USE,
	EVENT_POST_TOOL_USE_FAILURE,
	EVENT_POST_TOOL_BATCH,
	EVENT_NOTIFICATION,
	EVENT_MESSAGE_DISPLAY,
	EVENT_SUBAGENT_START,
	EVENT_SUBAGENT_STOP,
	EVENT_STOP,
	EVENT_STOP_FAILURE,
	EVENT_PRE_COMPACT,
	EVENT_POST_COMPACT,
	EVENT_PRE_MODEL_SWITCH,
	EVENT_POST_MODEL_SWITCH,
	EVENT_TASK_CREATED,
	EVENT_TASK_COMPLETED,
	EVENT_TEAMMATE_IDLE,
	EVENT_ELICITATION,
	EVENT_ELICITATION_RESULT,
	EVENT_CONFIG_CHANGE,
	EVENT_CWD_CHANGED,
	EVENT_FILE_CHANGED,
	EVENT_DIRECTORY_ADDED,
	EVENT_WORKTREE_CREATE,
	EVENT_WORKTREE_REMOVE,
	/* Moments that Claude Code has no hook for. */
	EVENT_INTERRUPT,
	EVENT_TURN_COMPLETE,
	EVENT_BEFORE_MODEL,
	EVENT_BEFORE_TOOL_SELECTION,
	EVENT_AFTER_MODEL,
	/* Code Agent's. */
	EVENT_POST_EXECUTION,
	EVENT_ROLE_WAKE,
	EVENT_VOICE_CALL_STARTED,
	EVENT_VOICE_CALL_PAUSED,
	EVENT_VOICE_CALL_ENDED,
	EVENT_MODEL_USAGE,
	/* hookd's own: */
	EVENT_DECISION,  /* what it decided about another event */
	EVENT_MEMORY,    /* something learned, or a change to it */
	EVENT_INJECTION, /* what it added to a conversation */
	EVENT_EFFORT,    /* something happened to an effort */
	EVENT_FLEET,     /* an agent was looked at, is to be told something, or work was queued */
	EVENT_OUTPUT,    /* what an agent said in the midst of a turn */
	EVENT_INBOUND,   /* what came in from elsewhere */
	EVENT_KIND_MAX,
};

#define EVENT_KIND_NUMBERED EVENT_INJECTION /* the last one of which stores know the number; others by name */

enum {
	EVENT_IS_DECISION = 1 << 0,   /* the answer can stop or change what the agent does */
	EVENT_IS_TOOL = 1 << 1,       /* is about one tool call */
	EVENT_TAKES_CONTEXT = 1 << 2, /* the answer may carry text for the model */
	EVENT_IS_OWN = 1 << 3,        /* made by hookd only; ignored when an agent sends it */
};

struct event_kind_info {
	const char *name; /* canonical, as in Claude Code */
	unsigned flags;
	const char *log_tag; /* hookd.log: SESSION-START, PROMPT, TOOL, STOP, SESSION-END, else EVENT */
	const char *text;    /* one sentence for the reference */
};

extern const struct event_kind_info event_kinds[EVENT_KIND_MAX];

/* By canonical name, compared without case, '-' and '_'. EVENT_UNKNOWN when there is none. */
enum event_kind event_kind_by_name(str name);

/* -- tools ------------------------------------------------------------------------------------- */

/* One rule can apply to every agent because tools have classes besides their native names. */
enum tool_class {
	TOOL_OTHER,
	TOOL_SHELL,
	TOOL_READ,
	TOOL_WRITE,
	TOOL_SEARCH,
	TOOL_WEB,
	TOOL_MCP,
	TOOL_AGENT,
	TOOL_CLASS_MAX,
};

extern const char *const tool_class_names[TOOL_CLASS_MAX];

/* -- patches ----------------------------------------------------------------------------------- */

/* The files that a patch changes. Two formats are understood: that of Codex's apply_patch ("*** Update File: x"), in
 * which lines may be indented, and that of diff -u ("+++ b/x"). */
enum patch_change { PATCH_ADDS, PATCH_UPDATES, PATCH_DELETES, PATCH_MOVES }; /* moves: there, the file before it */

struct patch_file {
	enum patch_change change;
	str path; /* as it is written there */
};

struct patch {
	str rest, old;
	bool unified;
};

bool patch_is(str text); /* somewhere in the text a patch for apply_patch begins */
struct patch patch_open(str text);
bool patch_next(struct patch *p, struct patch_file *ret);

/* -- what calls say ---------------------------------------------------------------------------- */

/* todo.c: the list of tasks that an agent keeps for itself. */
enum { TODOS_MAX = 48, TODO_TEXT = 168, TODO_ID = 24 };

enum todo_status { TODO_PENDING, TODO_ACTIVE, TODO_DONE, TODO_DROPPED };

struct todo {
	char id[TODO_ID]; /* "": the agent does not name them */
	char text[TODO_TEXT];
	enum todo_status status;
};

struct todos {
	struct todo v[TODOS_MAX];
	size_t n;
};

/* The tool, by its native name, changes the list. */
bool todos_are_kept_by(str tool);
/* Applies a call of such a tool; false: it said nothing that is understood. */
bool todos_take(struct todos *t, const struct json *input, const struct json *response);

/* tests.c: the command line runs tests, by its words. */
bool command_runs_tests(str command);

/* -- event ------------------------------------------------------------------------------------- */

/* What was wrong with it; kept in the record. */
enum event_mark {
	EVENT_CUT = 1 << 0,        /* longer than what was kept */
	EVENT_NOT_JSON = 1 << 1,   /* the payload did not parse; kept as text */
	EVENT_INCOMPLETE = 1 << 2, /* a field the kind requires is missing or of the wrong type */
	EVENT_PRIVATE = 1 << 3,    /* muted by a wholly private prompt: no content kept */
	EVENT_SPOOLED = 1 << 4,    /* came through the spool: order is the client's time */
	EVENT_LATE = 1 << 5,       /* arrived past its deadline; recorded, nothing was run */
	EVENT_IMPORTED = 1 << 6,   /* read from what the agent wrote itself: order is the time written there */
	EVENT_UNFOLDED = 1 << 7,   /* in the store only: nothing could be made from it */
	EVENT_TWIN = 1 << 8,       /* duplicate of an earlier call (record.twin): adds nothing to the projections */
};

struct event {
	struct ulid id;
	struct ulid first; /* of duplicate calls about one event the first one's id; set by the engine */
	int64_t at_us;     /* client's wall clock */
	int64_t since_us;  /* when its session began, as far as that is known; set by the engine; 0: unknown */
	enum event_kind kind;
	unsigned marks;
	str agent;  /* "claude", "codex", … as in the agents table, or the name the caller gave */
	str native; /* the agent's own name of the event */
	str session, cwd, transcript_path;
	str prompt, prompt_id, permission_mode, source, reason, message;
	str agent_id, agent_type;
	str tool_name, tool_use_id, error;
	enum tool_class tool_class;
	const struct json *tool_input, *tool_response;
	str command;   /* shell tools: the command line */
	str file_path; /* file tools */
	bool stop_hook_active, is_interrupt;
	int64_t duration_ms;
	const struct json *payload; /* the whole payload, or NULL with EVENT_NOT_JSON */
	str raw;                    /* its bytes as they came */
	uint64_t total;             /* EVENT_CUT: bytes in all, and their hash */
	uint8_t sha256[SHA256_BYTES];
	/* Where it came from. */
	uint32_t pid, ppid;
	const str *env; /* "NAME=value", allow-listed by hookc */
	size_t nenv;
};

/* Makes an event of hookd's own that is about no other: by a command, or by hookd itself. It has the key given. */
void event_own_alone(enum event_kind kind, const struct ulid *id, str payload, struct arena *a, struct event *ret);
/* Makes an event of hookd's own about another one: its agent, session and tool, and a payload that hookd wrote. The
 * key is derived from the other event's, so that daemon and `hookd offline` cannot both record the same decision. */
void event_own(enum event_kind kind, const struct event *about, str payload, struct arena *a, struct event *ret);

/* A hash that is the same for duplicate calls about one event: session, kind, and subject (the command of a shell,
 * the path of a file that was read or changed, the text of a prompt). 0: such events are never duplicates. */
uint64_t event_same_key(const struct event *e);
/* Whether calls with the same key may be duplicates: their ids agree where both have one. *ret_by_id: both have one. */
bool event_ids_agree(const struct event *a, const struct event *b, bool *ret_by_id);

/* -- caller.c: who called, by the environment that hookc sends along ("NAME=value") -------------- */

/* As a session's row has it: an object of names and values. Texts are in the arena. How many there are. */
size_t event_read_env(const struct json *object, struct arena *a, str *ret, size_t most);
/* STR_NONE: it is not set. */
str event_env(const str *env, size_t n, const char *name);
/* The place on a screen; 0: unknown. Who starts there has taken the place of who was there before. */
uint64_t event_place(const str *env, size_t n);
/* The agent's own process, where it says so; else 0. */
uint32_t event_agent_pid(const struct event *e);

/* -- status.c: what an agent is doing ----------------------------------------------------------- */

/* In increasing urgency: in a display the most urgent one stands for many. Stores know them by these numbers. */
enum agent_status {
	AGENT_STATUS_UNKNOWN,
	AGENT_STATUS_DONE,
	AGENT_STATUS_CHECKED, /* somebody has looked at it since it was done or wanted attention */
	AGENT_STATUS_WORKING,
	AGENT_STATUS_ATTENTION, /* it waits for a person */
	AGENT_STATUS_ERROR,
	AGENT_STATUS_MAX,
};

extern const char *const agent_status_names[AGENT_STATUS_MAX];

/* What ended a turn beside the agent's will: told to whoever looks, and nothing is done about it. */
enum agent_trouble { AGENT_NO_TROUBLE, AGENT_RATE_LIMIT, AGENT_CONTEXT_FULL };

extern const char *const agent_trouble_names[]; /* "", "rate_limit", "context_full" */

/* error: the agent's own word, or STR_NONE; said: what it said last. */
enum agent_trouble agent_trouble_of(str error, str said);

/* What an event says of its agent; AGENT_STATUS_UNKNOWN: nothing. A subagent's say nothing of the agent that has it. */
enum agent_status agent_status_of(const struct event *e);
/* The AGENT_ID of the agent that it is about, where that may be another one than tells of it; STR_NONE: its own. A
 * teammate may run inside its leader, and be told of there. */
str agent_status_whose(const struct event *e);
/* What that is about, in a word: a tool, a kind of notice, a trouble. */
str agent_status_subject(const struct event *e);

/* -- record ------------------------------------------------------------------------------------ */

struct record {
	struct ulid id;
	int64_t at_us;    /* client's wall clock */
	int64_t order_us; /* place among the session's events: see journal_add(); ties go by id */
	enum event_kind kind;
	enum tool_class tool_class;
	unsigned marks;
	str agent, native, session, cwd, transcript_path;
	str agent_id, tool_name, tool_use_id;
	str twin;    /* the key, as bytes, of the earlier call that this one duplicates; none: STR_NONE */
	str host;    /* JSON: pid, terminal and host variables; session starts only */
	str payload; /* JSON: the redacted payload in the agent's own shape */
};

/* The bytes of a record in journal and spool. Decoding borrows from bytes and never trusts them:
 * -EBADMSG when they are not a record. Unknown fields are skipped. */
int record_encode(const struct record *r, struct buf *b);
int record_decode(str bytes, struct record *ret);

/* -- verdict ----------------------------------------------------------------------------------- */

/* In increasing strictness: the strictest decision wins, whatever the order. */
enum verdict_action {
	VERDICT_NONE,
	VERDICT_ALLOW,
	VERDICT_ASK,
	VERDICT_DENY,
	VERDICT_ACTION_MAX,
};

extern const char *const verdict_action_names[VERDICT_ACTION_MAX];

struct context_block {
	struct context_block *next;
	str title, text;
};

/* The decision of one rule or hook, whether or not it prevailed. */
struct ruling {
	struct ruling *next;
	str rule;
	enum verdict_action action;
	str reason;
	str subject;         /* what it is about: the resolved command, the path */
	uint32_t begin, end; /* where that is in the command line; 0, 0: nowhere */
	int64_t duration_us; /* of a hook */
	bool observed;       /* told, not enforced */
};

struct verdict {
	enum verdict_action action;
	str reason, rule;                 /* of the strictest decision */
	const struct json *updated_input; /* the tool should run with this instead */
	struct context_block *context;    /* for the model, in order */
	str system_message;               /* for the user, never for the model */
	bool continue_turn;               /* Stop: the agent should continue; reason says with what */
	bool end_turn;                    /* the agent should stop after this */
	bool mild;                        /* VERDICT_ASK: where nobody can be asked, it is done, and said */
	bool alone;                       /* nobody is there to be asked, even if the agent could */
	str effort;                       /* JSON: what its effort says of the event; for callers that ask by name */
	struct ruling *rulings;           /* all decisions, in order: for the audit */
	int64_t judged_us;                /* how long the rules took */
};

/* Adds one decision: raises the action if it is stricter than the current one. If equal, the first is kept. */
void verdict_raise(struct verdict *v, enum verdict_action action, str rule, str reason);
/* A question about something that is not worth a denial where nobody can be asked. */
void verdict_raise_mildly(struct verdict *v, str rule, str reason);
/* Raises v to the decision of another verdict. */
void verdict_take(struct verdict *v, const struct verdict *from);
/* For the audit alone: keeps a copy of r in the arena. */
void verdict_add_ruling(struct verdict *v, struct arena *a, const struct ruling *r);
void verdict_add_context(struct verdict *v, struct arena *a, str title, str text);

/* The payload of a Decision event about e, as JSON; STR_NONE when there was no decision. heard: what the agent makes
 * of it. A denial that the agent has no way to receive is recorded as observed: nothing was stopped. */
str verdict_audit(const struct verdict *v, const struct event *e, enum verdict_action heard, struct arena *a);

/* True when there is nothing to send to the agent. */
bool verdict_is_neutral(const struct verdict *v);

#endif
