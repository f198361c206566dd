/* effort: work that survives the context window.
 *
 *   a task    a directory that collects efforts, and never finishes
 *   an effort one run of a skill: phases, artifacts, a checkpoint; active until somebody finishes it
 *   a window  one context of one agent; it begins and ends, and is never resumed
 *
 *   op.c      what can happen to an effort, as events      phase.c   which phase may follow which
 *   live.c    the active efforts, on the loop
 *
 * DESIGN (docs/decisions/0021-efforts.md). Every change of an effort is an event of hookd's own, `Effort`: it is made
 * here, redacted and journaled like a memory, folded into the store by capture/, and applied to the live table at the
 * same time. Its payload names the effort by a ULID and says what happened ("op"), so folding one twice is harmless.
 *
 * Hooks are decided from the live table alone, because a hook must not wait for the store. The table belongs to the
 * loop thread and is bounded. It is filled from the store once, after the start; until then it is empty, and an empty
 * table allows everything. Whatever is unknown, unreadable or too large allows everything as well: efforts fail open.
 *
 * All that others wrote (skills, metadata, checkpoints) is bounded here, before it is stored. */
#ifndef HOOKD_EFFORT_EFFORT_H
#define HOOKD_EFFORT_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/macro.h"
#include "event/event.h"
#include "json/json.h"
#include "store/store.h"

enum {
	EFFORT_LIVE_MAX = 256,   /* active ones that hooks know */
	EFFORT_NAME_MAX = 64,    /* bytes of a skill, a mode, an agent's id */
	EFFORT_TEXT_MAX = 4000,  /* of a goal, a reason, a line of the log */
	EFFORT_JSON_MAX = 16384, /* of metadata, a proof, a checkpoint */
	EFFORT_PHASES_MAX = 64,
	EFFORT_SKILL_MAX = 256 << 10, /* of a SKILL.md */
	EFFORT_OWED = 8,              /* files that are still to be given to a window */
};

/* -- op.c: what can happen --------------------------------------------------------------------- */

enum effort_op {
	EFFORT_OP_UNKNOWN,
	EFFORT_OP_START,
	EFFORT_OP_PHASE,
	EFFORT_OP_FINISH,
	EFFORT_OP_RESUME,     /* it goes on in another window, or in another agent */
	EFFORT_OP_METADATA,   /* all of it, as it is from now on */
	EFFORT_OP_CHECKPOINT, /* where it stands, in somebody's words */
	EFFORT_OP_ARTIFACT,
	EFFORT_OP_DIRECTIVE, /* one was found, or worked through */
	EFFORT_OP_WINDOW,    /* it goes on in this window */
	EFFORT_OP_END,       /* a window ended */
	EFFORT_OP_SNAPSHOT,  /* where it stood when a window was compacted */
	EFFORT_OP_LOG,       /* what was done */
	EFFORT_OP_MESSAGE,   /* what was said, or went wrong */
	EFFORT_OP_TASK,      /* about a task; names no effort */
	EFFORT_OP_MAX,
};

extern const char *const effort_op_names[EFFORT_OP_MAX];

/* Opens the payload of an event about an effort (NULL: about none); the caller adds members and closes the object. */
void effort_open(struct json_writer *w, const struct ulid *effort, enum effort_op op);
/* The event itself; id is its own key. */
void effort_event(const struct ulid *id, const struct ulid *effort, str payload, struct arena *a, struct event *ret);

/* Names of skills, modes, types of artifacts: letters, digits, '-' and '_', at most EFFORT_NAME_MAX. */
bool effort_is_name(str name);

/* "3_REVIEW_LOG.md": the file of an artifact in its task's directory. */
str effort_artifact_name(struct arena *a, int64_t ordinal, str skill, str type);

/* What an agent that is started for it begins with. */
str effort_prompt(struct arena *a, const struct ulid *uid, int64_t ordinal, str skill, str task);

/* -- phase.c: which may follow which ----------------------------------------------------------- */

/* "2: Build" or "2.1: Draft". A phase with a number behind the point is part of the one without. */
struct effort_phase {
	unsigned major, minor;
	bool is_part;
	str name;  /* "Build" */
	str label; /* the whole */
};

enum effort_step {
	EFFORT_STEP_SAME,    /* nothing changes */
	EFFORT_STEP_NEXT,    /* as the skill has it */
	EFFORT_STEP_ADDED,   /* a part of this phase that the skill does not list */
	EFFORT_STEP_SKIPPED, /* ahead, with a reason */
	EFFORT_STEP_BACK,    /* back, with a reason */
};

/* -EINVAL: err says what a label looks like. Borrows from the text. */
int effort_phase_parse(str label, struct effort_phase *ret, struct err *err);

/* Whether an effort whose phases are `list` (JSON array of labels, in order; NULL or empty: any label will do) and
 * which is in `current` (empty: none yet) may enter `wanted`, a label or a number of one. *ret_label: the phase it is
 * in then, in the skill's words. -EINVAL, -EPERM (it needs a reason): err says which phase is next. */
int effort_phase_enter(const struct json *list, str current, str wanted, str reason, enum effort_step *ret_step,
	str *ret_label, struct err *err);

/* -- skill.c, skills.c: skills ------------------------------------------------------------------ */

/* What a SKILL.md says, as a JSON object: name, description, version, phases, modes, templates, directives, next,
 * preload, gates. A text that is none gives an empty one. -EFBIG, -E2BIG: it is larger than a skill may be. */
int effort_skill_parse(str text, struct arena *a, str *ret);
/* What it says under the heading of a phase; STR_NONE: nothing. */
str effort_skill_section(str text, str phase);

/* Skills that were read, as long as their files stay as they are. Any thread. */
struct effort_skills;

struct effort_skills *effort_skills_new(void);
void effort_skills_free(struct effort_skills *s);
void effort_skills_drop(struct effort_skills *s);

/* By its name, in the usual places of a project and of the user. Reads the disk. -ENOENT: there is none; else as
 * above. */
int effort_skill_find(struct effort_skills *s, const char *root, const char *home, str name, struct arena *a,
	str *ret_path, str *ret_config);

/* -- discover.c: directives ---------------------------------------------------------------------- */

enum { EFFORT_FILE_MAX = 256 << 10 };

struct effort_discovery {
	const char *dir, *root;  /* from here up to there; absolute, the root without links */
	str agent;               /* which reads some of them by itself */
	const struct json *also; /* names that the skill asks for, beside those everybody is given */
	bool checklists;         /* CHECKLIST.md too */
};

struct effort_found {
	struct effort_found *next; /* those of the nearest folder first */
	str path;
};

/* Reads the disk. In the arena. */
struct effort_found *effort_discover(const struct effort_discovery *q, struct arena *a);
/* A file's text up to so many bytes, and a hash of all of it. -EFBIG: it is larger than EFFORT_FILE_MAX. */
int effort_file_read(const char *path, size_t most, struct arena *a, str *ret, str *ret_hash);

/* -- standing.c: where an effort stands --------------------------------------------------------- */

enum { EFFORT_ITEMS_MAX = 12, EFFORT_STANDING_BYTES = 2400 /* 600 tokens */ };

struct effort_items {
	str v[EFFORT_ITEMS_MAX];
	size_t n;
};

struct effort_standing {
	str goal, next, notes, user, test;
	struct effort_items done, pending, decisions, files, questions, findings, artifacts;
	size_t written_files; /* of files, the first: as somebody wrote them down */
	int64_t written_us;   /* the checkpoint; 0: nobody wrote one */
};

/* Computes it from the store, in the arena. On a worker. */
int effort_stands(struct store *s, const struct ulid *uid, struct arena *a, struct effort_standing *ret);
/* As lines of at most so many bytes, the most important first; as JSON. */
str effort_standing_text(const struct effort_standing *s, size_t most, struct arena *a);
str effort_standing_json(const struct effort_standing *s, struct arena *a);

/* -- gate.c: what an effort asks for ------------------------------------------------------------ */

/* Off unless the skill or the metadata of an effort switches it on. */
struct effort_gates {
	int64_t heartbeat_warn, heartbeat_block; /* calls without a line in the log; 0: never */
	int64_t overflow_warn, overflow_block;   /* per cent of the context; 0: never */
	bool directives;                         /* directives of a folder are read before something in it is changed */
	bool checklists;                         /* the effort cannot be finished before its checklists are */
	bool session;                            /* of a task: nothing is changed without an effort */
};

struct effort_gate {
	const char *name, *text;
};

extern const struct effort_gate effort_gates[]; /* ends with a row without a name */

/* {"heartbeat": true, "overflow": {"warn": 90, "block": 95}}: changes what is in *ret already. err NULL: what is not
 * understood is skipped; else it is -EINVAL, and err says what would be right. */
int effort_gates_read(const struct json *gates, struct effort_gates *ret, struct err *err);

/* -- rule.c: rules that come with an effort ----------------------------------------------------- */

enum { EFFORT_RULES_MAX = 16 };

struct effort_rules; /* immutable */

/* A list of {"ruleId", "condition": {"field", "op", "value"}, "payload", "tools" or "toolFilter", "whitelist",
 * "urgency", "inject", "priority"}. err NULL: what is not understood is skipped; else as above. */
int effort_rules_parse(const struct json *list, struct effort_rules **ret, struct err *err);
void effort_rules_free(struct effort_rules *r);

/* What rules are about; numbers that are not known are -1 and satisfy nothing. */
struct effort_facts {
	int64_t heartbeat, context_usage, calls;
	str tool_name, tool_class, command, file_path, phase, skill, mode, agent_type;
};

struct effort_fired {
	struct effort_fired *next;
	str rule, text;
	bool blocks;
	bool is_rule;             /* one that came with the effort */
	str preload[EFFORT_OWED]; /* files that are to be given, below the project */
	size_t npreload;
};

/* Those that hold now, the highest priority first, but for those that speak once and have spoken: `spoken` has their
 * marks, and gets new ones. In the arena. */
enum { EFFORT_SPOKEN = EFFORT_RULES_MAX };
struct effort_fired *effort_rules_fire(const struct effort_rules *r, const struct effort_facts *f, uint64_t *spoken,
	struct arena *a);

/* -- own.c: hookd's own commands ---------------------------------------------------------------- */

enum {
	EFFORT_OWN = 1 << 0,    /* nothing but hookd would run */
	EFFORT_LOGS = 1 << 1,   /* … and it says what was done: effort log, phase, checkpoint */
	EFFORT_STARTS = 1 << 2, /* … effort start, resume */
};

/* What a call of a tool is to hookd, by what would really run. 0: somebody else's. */
unsigned effort_own_call(const struct event *e, struct arena *a);

/* -- live.c: the active efforts, on the loop ---------------------------------------------------- */

struct effort {
	struct effort *next; /* the newest change first */
	struct ulid uid;
	/* Never NULL; "" is none. root: of the project around the task. config, metadata: JSON objects. */
	char *task, *root, *agent, *skill, *mode, *phase, *goal, *config, *metadata;
	int64_t ordinal;
	int64_t changed_us;
	struct effort_gates gates;
	struct effort_rules *rules; /* NULL: none */
	struct ulid last;           /* the window of an agent in which it went on last */
	bool has_last, last_open;   /* last_open: the store has no end of it */
};

struct efforts;

struct efforts *efforts_new(void);
void efforts_free(struct efforts *e);
DEFINE_FREEP(struct efforts, efforts_free);

/* Nothing is known any more, until the table is filled again. */
void efforts_empty(struct efforts *e);
/* On a worker: what is active in the store, as JSON in the arena. */
int efforts_read(struct store *s, struct arena *a, str *ret);
/* That: {"efforts", "windows", "tasks"}. From then on the table is in use; what efforts_apply() was told meanwhile
 * comes on top. */
void efforts_fill(struct efforts *e, const struct json *rows);
/* An Effort event was journaled. */
void efforts_apply(struct efforts *e, const struct json *payload, int64_t at_us);

unsigned efforts_count(const struct efforts *e);
const struct effort *efforts_find(const struct efforts *e, const struct ulid *uid);
/* The table was filled. */
bool efforts_known(const struct efforts *e);
/* False: there is nothing that any event could have to do with. */
bool efforts_matter(const struct efforts *e);

/* -- window.c: windows of agents ---------------------------------------------------------------- */

enum {
	EFFORT_WINDOWS_MAX = 1024,
	EFFORT_EDITED = 16,
	EFFORT_GIVEN = 256,
	EFFORT_LOADS = 128,
	EFFORT_QUEUE = 8,
};

/* A window that an effort goes on in no more, to be written down. */
struct effort_parted {
	struct ulid window, effort;
	char reason[16];
	char *loads[EFFORT_LOADS];
	size_t nloads;
};

/* One context of an agent or of one of its subagents. Counts live here and nowhere else. */
struct effort_window {
	struct effort_window *next, *newer, *older; /* in its bucket; by last use */
	uint64_t hash;
	char *agent, *session, *agent_id; /* agent_id "": not a subagent's */
	struct ulid id, previous;         /* of the event it began with */
	bool has_previous, ended;
	bool untold; /* nothing was journaled of it since it was bound */
	bool used;   /* its id was journaled */
	bool told;   /* … and it goes on with the effort told_of, as far as the store knows */
	struct ulid told_of;
	struct effort_parted *parted; /* what it was before, and that is not journaled yet; NULL: nothing */
	bool restored;                /* it is known from the store only: nothing was heard of it since */
	char source[16];              /* of its start */
	struct effort *effort;        /* NULL: it is free */
	uint64_t looked;              /* generation of the table when an effort was last looked for */
	int64_t sought_us;            /* and when that was; wall clock */
	bool seeks;                   /* it has begun an effort, or resumed one: the newest is its */
	struct ulid left;             /* an effort that was taken from it */
	int64_t seen_us;              /* wall clock */
	uint32_t pid;                 /* of the agent; 0: unknown */
	uint32_t ppid;                /* that called last; the agent's if it stays the same */
	uint64_t terminal;            /* 0: unknown */
	/* Since its start. */
	int64_t heartbeat, calls;
	uint64_t edited[EFFORT_EDITED]; /* files, since the last line in the log */
	bool logs;                      /* a call that writes a line in the log is under way */
	int64_t usage, usage_max;       /* tokens in the context, and what it holds; 0: unknown */
	int64_t warned_at;              /* per cent at which the agent was last warned; 0: never */
	bool looks;                     /* a worker reads how full the context is */
	int64_t looked_us;              /* when one last did; wall clock */
	bool warned;                    /* about the heartbeat, since the last line in the log */
	bool owes_start;                /* what the start of the window should have brought is still to come */
	uint64_t spoken[EFFORT_SPOKEN];
	uint64_t *given; /* texts it was given: a ring of EFFORT_GIVEN that grows as it is needed */
	size_t ngiven, given_room;
	char *loads[EFFORT_LOADS]; /* files it has read */
	size_t nloads;
	char *owed[EFFORT_OWED]; /* files it is still to be given */
	size_t nowed;
	char *queue[EFFORT_QUEUE]; /* what is to be said when the agent listens again */
	size_t nqueue;
};

/* The window of an event, with the effort it belongs to, if any. At a SessionStart always a new one. NULL: the event
 * names no session, or nothing is known of efforts at all. */
struct effort_window *effort_window_of(struct efforts *all, const struct event *e);
/* That of its session, without a change. */
struct effort_window *effort_window_find(struct efforts *all, str agent, str session, str agent_id);
/* It ended, which is journaled; the effort is free for another one. */
void effort_window_end(struct efforts *all, struct effort_window *w);
/* Before it is journaled that its effort goes on in it: it has an id that stands for nothing else, and follows the last
 * window of the effort, if nobody works in that any more. What is returned ends with this; NULL: nothing does. */
struct effort_parted *effort_window_follow(struct efforts *all, struct effort_window *w, const struct event *e);
/* That was journaled. */
void effort_window_told(struct efforts *all, struct effort_window *w);
void effort_parted_free(struct effort_parted *p);
/* True once for each text: the first time that it is asked. */
bool effort_window_gives(struct effort_window *w, str text);
bool effort_window_has(const struct effort_window *w, str text);
/* It was not given after all. */
void effort_window_takes_back(struct effort_window *w, str text);
void effort_window_loads(struct effort_window *w, str path);
/* A file for which there was no room; forgets those that were owed. */
void effort_window_owes(struct effort_window *w, str path);
void effort_window_forgive(struct effort_window *w);
/* Keeps a text for an event at which the agent listens. The first one, which is then gone: true. */
void effort_window_queue(struct effort_window *w, str text);
bool effort_window_next(struct effort_window *w, struct arena *a, str *ret);
/* What its context holds, from what the agent says. */
void effort_window_uses(struct effort_window *w, int64_t tokens, int64_t max);
/* Per cent of the context; -1: unknown. */
int64_t effort_window_usage(const struct effort_window *w);
uint64_t effort_hash(str text);

/* -- usage.c: what a context holds --------------------------------------------------------------- */

/* Tokens after which an agent compacts by itself, of a model's whole context, or of what the agent says it holds (0: it
 * does not). 0: unknown, and nothing is guessed. */
int64_t effort_context_max(str agent, str model, int64_t told);

/* -- judge.c: before a tool --------------------------------------------------------------------- */

struct effort_judgement {
	struct effort_fired *fired; /* what is to be said, and what stops the call */
	bool overflow;              /* the context is nearly full */
	int64_t heartbeat, usage;   /* usage: per cent, -1 unknown */
};

/* Counts the call and applies the gates of the window's effort. *ret is in the arena. */
void effort_before_tool(struct efforts *all, struct effort_window *w, const struct event *e, struct arena *a,
	struct effort_judgement *ret);

#endif
