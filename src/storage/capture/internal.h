/* What the files of capture/ share. */
#ifndef HOOKD_CAPTURE_INTERNAL_H
#define HOOKD_CAPTURE_INTERNAL_H

#include "agents/agents.h"
#include "base/arena.h"
#include "capture/capture.h"

enum {
	SAME_WITHIN_US = 10 * 1000000,   /* double fires without an id */
	REOPEN_WITHIN_US = 60 * 1000000, /* a tool after the end of its batch */
	CLEAR_WITHIN_US = 5 * 1000000,   /* end of one session to start of the next */
	PROMPT_MAX = 10000,              /* characters kept in a batch; events hold all of it */
	RESPONSE_MAX = 20000,
	MESSAGE_MAX = 2000, /* last user and assistant message of a session */
};

/* A session's row as far as the fold needs it; loaded before an event, saved after. */
struct session {
	int64_t key, project, window, batch, last_batch, prompts, tools;
	int64_t last_ord; /* of the last event that was applied, with its id */
	struct ulid last_id;
	enum agent_status doing; /* the agent, since doing_at_us */
	int64_t doing_at_us;
	bool judged; /* there are decisions about its calls */
	bool fresh;  /* made by this event */
};

/* The key of a row is derived from the event that makes it, so refolding repeats it. n tells rows of one table apart
 * that one event makes. */
static inline int64_t key_of(int64_t seq, int n)
{
	return 4 * seq + n;
}

/* Of an activity, as a number in its row. */
enum activity_state { ACTIVITY_STARTED, ACTIVITY_DONE, ACTIVITY_FAILED, ACTIVITY_DENIED };

/* One event on its way into the projections. */
struct step {
	struct capture *capture;
	struct store *store;
	struct arena *arena;
	int64_t seq;
	struct record record; /* ord in record.order_us */
	struct event event;   /* the payload, read again by the adapter; redacted */
	struct session session;
	int64_t same_as;    /* set by a handler: this event duplicates that one */
	int64_t late_batch; /* the event comes late, and belongs to this batch */
	str call;           /* set by activity_on_tool(): activities.same of the call it is about */
	bool retells;       /* set by a handler: it is about a known turn, and starts nothing */
	bool may_hold;      /* a plain tool call, in order: see held.c */
};

/* Handlers: 0 or -errno. */
int window_on_start(struct step *t);
int window_on_end(struct step *t);
int window_on_subagent_start(struct step *t);
int window_on_subagent_stop(struct step *t);
/* The end of a subagent's turn, reported outside the hooks; record.agent_id says whose. */
int window_on_subagent_turn(struct step *t);
int batch_on_prompt(struct step *t);
int batch_on_stop(struct step *t);
int batch_on_turn(struct step *t);
int batch_on_interrupt(struct step *t);
int activity_on_tool(struct step *t);
int activity_on_other(struct step *t);
int activity_on_error(struct step *t);

/* The window an event happens in: the subagent's (made when its start was not seen), else the session's current
 * one, else a new one (an event before any SessionStart). */
int window_of(struct step *t, int64_t *ret);
int window_open(struct step *t, str source, int64_t *ret);
/* The end of what writes the summary of a compaction: a subagent without a start or a type. PostCompact
 * says the same. */
bool window_is_helper(const struct event *e);

/* The batch a tool event belongs to; opens a continuation when there is none. */
int batch_of(struct step *t, int64_t *ret);
/* The batch that a Stop ends: by the prompt's id, else the open one, else the last one; 0 if none. */
int batch_of_stop(struct step *t, int64_t *ret);
/* Closes the open batch, if any. */
int batch_close(struct step *t, const char *by);
/* Something happened in it; grows: an activity that is not counted yet. */
int batch_touch(struct step *t, int64_t batch, bool grows);

int plan_on_tool(struct step *t);
int plan_on_task(struct step *t);
int plan_on_prompt(struct step *t, int64_t batch, str body);
int plan_on_answer(struct step *t, int64_t batch);
/* True for a file in a plans folder; for an event about a plan. */
bool plan_is_file(str path);
bool plan_is_touched(const struct event *e);

/* project.c: the project of a directory, and a path relative to it. 0 for no directory. */
int project_of(struct store *s, str directory, int64_t now_us, int64_t *ret);
str project_relative(struct store *s, struct arena *a, int64_t project, str path);

/* session.c */
int session_find(struct store *s, const struct record *r, struct session *ret);
int session_load(struct store *s, int64_t key, struct session *ret);
int session_save(struct step *t);
/* Events outside the fold (tokens, output, hookd's own decisions): they may arrive at any time, and change nothing
 * else. */
static inline bool session_is_apart(enum event_kind kind)
{
	return kind == EVENT_MODEL_USAGE || kind == EVENT_DECISION || kind == EVENT_INJECTION || kind == EVENT_OUTPUT ||
		kind == EVENT_INBOUND;
}
int session_link_parent(struct step *t);
/* Does the record come after everything that was applied to the session? */
bool session_is_behind(const struct session *s, const struct record *r);
/* The transcript that the event names for its session; STR_NONE inside a subagent. */
str session_transcript(const struct event *e);
/* How the native names of an agent's telemetry begin. */
#define TELEMETRY_PREFIX "codex."
/* Reported outside the hooks, where a subagent's thread is a session like any other. */
bool session_is_outside(const struct record *r);
/* What is reported of a subagent's thread happens in the subagent. */
void session_note_thread(struct step *t);
/* A turn of a subagent's thread belongs to the session that has the subagent. 1: that is in t->session now, and
 * the thread in t->record.agent_id; 0: no such thread is known. */
int session_find_thread(struct step *t);
/* The thread has turned out to be a subagent's: turns that were taken for a session of their own move here. */
int session_adopt_thread(struct step *t, str thread);

/* held.c: between two commits the rows of sessions may be behind. held_find() is called first for each event: 1: its
 * session is in t->session; 0: no row is behind that the event could look at; -errno. */
int held_find(struct step *t);
/* Instead of saving the row: 1: done, 0: it must be saved. Afterwards held_keep(), so that it is held from now on. */
int held_take(struct step *t);
int held_keep(struct step *t);
/* Writes all rows that are behind; forgets about them, because the transaction was rolled back. */
int held_release(struct capture *c, struct store *s);
void held_forget(struct capture *c);

/* activity.c: calls without an id pair by tool and input: keys from `from` up to, without, `to` are such calls.
 * False: this one has an id. */
bool activity_pair_range(struct step *t, str *ret_from, str *ret_to);

/* decision.c */
int decision_on_event(struct step *t);
/* After activity_on_tool(): the call of t->call has begun, failed, or run to its end. */
int decision_on_call(struct step *t);
int decision_on_ran(struct step *t);

/* usage.c */
int usage_on_event(struct step *t);

/* memory.c: t->session is not set for the first, whose rows belong to no session. */
int memory_on_event(struct step *t);
int injection_on_event(struct step *t);

/* effort.c: t->session is not set. */
int effort_on_event(struct step *t);
/* Its rows again, from its events. */
int effort_refold(struct capture *c, struct store *s, const struct ulid *uid);
int task_refold(struct capture *c, struct store *s, str path);

/* effort_gone.c: whether a choice is about efforts and tasks as well; how many; purging them. */
bool efforts_are_chosen(const struct capture_choice *c);
int efforts_count_chosen(struct store *s, const struct capture_choice *c, int64_t *ret);
int efforts_purge(struct capture *c, struct store *s, const struct capture_choice *choice, int64_t *ret);

/* unlearn.c: memories that are to be forgotten: these, those with a text, those of a session. */
struct unlearn_choice {
	str memories;    /* ULIDs, separated by blanks; STR_NONE: none */
	str match;       /* STR_NONE: none */
	int64_t session; /* 0: none; what the user remembered there stays */
};

int unlearn_count(struct store *s, const struct unlearn_choice *c, int64_t *ret);
int unlearn(struct store *s, const struct unlearn_choice *c, int64_t *forgotten);

/* fleet.c: what an event says of its agent; what the end of a session leaves to others. */
int fleet_on_agent(struct step *t);
int fleet_on_end(struct step *t);
/* t->session is not set. */
int fleet_on_event(struct step *t);
/* Like those of effort_gone.c: work, and what is to be told. */
int fleet_count_chosen(struct store *s, const struct capture_choice *c, int64_t *ret);
int fleet_purge(struct store *s, const struct capture_choice *c, int64_t *ret);

/* imported.c: 1: what this imported record says is known from elsewhere. */
int imported_is_told(struct step *t);

/* purged.c: a session, or one event, was purged: importing does not bring it back. */
int purged_note_session(struct store *s, str agent, str native, int64_t now_us);
int purged_note_event(struct step *t, int64_t now_us);
/* 1: this imported record is of what was purged. */
int purged_is_kept_out(struct step *t);

/* summary.c */
str summary_of_input(struct arena *a, const struct json *input);
str summary_of_output(struct arena *a, const struct event *e);
str summary_of_error(const struct event *e);
str summary_cut(struct arena *a, str text, size_t characters);
size_t summary_length(str text);

/* fold.c: applies one event to the projections; rewind.c calls it again. */
int fold_apply(struct step *t);
/* Fills t->record from a row of events of this session, then t->event from that. */
void fold_read_row(struct step *t, struct query *q, str agent, str native);
void fold_parse(struct step *t);
#define FOLD_COLUMNS \
	"seq, id, ord, at, session, kind, native, tool, tool_use_id, agent_id, marks, payload_text(payload)"

/* block.c: the payload of an event waits until the end of the batch, to be stored together with the others of its
 * session. *ret is what is stored in its place, or 0: it does not wait. After the row was added, block_note(). */
int block_add(struct step *t, int64_t *ret);
void block_note(struct step *t);
/* Stores those that wait; forgets about them, because the transaction was rolled back. */
int block_release(struct capture *c, struct store *s);
void block_forget(struct capture *c);
/* Before the events of a session are deleted: its blocks are. */
int block_drop(struct store *s, int64_t session);
/* Each payload of the session is stored by itself, so that its events can part company. */
int block_dissolve(struct capture *c, struct store *s, int64_t session);

/* How much later its place in the order is than its sender's clock; as apart() in SQL. */
int64_t fold_lag_of(const struct record *r);
/* The number that stores know a kind by; 0: they have its name. */
int64_t fold_number_of(enum event_kind kind);
/* Adds the row of events; t->seq is its number. */
int fold_insert_event(struct step *t);

/* aside.c: fold_apply(), or, with care, a mark on an event that cannot be applied again. */
int aside_apply(struct step *t);
/* Everything that was set aside is retried: first the marks, before sessions are refolded; then the rest. */
int aside_clear_marks(struct store *s);
int aside_retry(struct capture *c, struct store *s);

enum { HELD_MAX = 64 };

struct held_session {
	char agent[32], native[64];
	size_t native_bytes;
	uint64_t transcript; /* hash of the one in the row */
	struct session session;
	bool unsaved;
	int64_t events, first_at, last_at; /* of what is not saved */
};

enum { BLOCKS_OPEN = 8 };

struct open_block {
	int64_t session, seq; /* seq: of the last event in it */
	struct payload_block block;
};

/* rewind.c */
struct capture {
	struct arena arena;
	struct open_block open[BLOCKS_OPEN];
	size_t nopen;
	size_t added, added_before; /* bytes, in this batch and in the last */
	int64_t last_block;         /* key of the newest; 0: not looked */
	struct held_session held[HELD_MAX];
	size_t nheld;
	int64_t *dirty; /* sessions to fold again before the commit */
	size_t ndirty, cap;
	enum { PURGES_UNKNOWN, PURGES_NONE, PURGES_SOME } purges; /* does the store know of any? */
	bool careful;                                             /* an event that cannot be applied is set aside */
	bool ordered;                                             /* jobs were added; see capture_has_ordered() */
	int64_t rebuild; /* next session to fold again after a change of the fold; 0: none; -1: not looked */
	struct capture_listener listener;
	bool hushed;
	int64_t *news; /* events to be told before the commit, by their numbers */
	size_t nnews, news_cap;
};

/* tell.c */
void tell_later(struct step *t);
int tell_now(struct capture *c, struct store *s);
void tell_forget(struct capture *c);

void rewind_note(struct capture *c, int64_t session);
/* An import brings many late events to few sessions: they are refolded when it is over, not for each frame. */
int rewind_note_import(struct step *t);
/* Deletes everything that was made from the events of a session. */
int rewind_clear(struct store *s, int64_t session);

#endif
