/* memory: what was learned, from the rows of the store to the few that fit a text.
 *
 *   types.c     the kinds of memories, their marks and other names
 *   index.c     an index per project (retrieve/), kept in files, that follows the rows of `memories`
 *   classify.c  what kind of work a finished turn was, without a model
 *   extract.c   what it teaches, without a model
 *   summarize.c what a session was about, without a model
 *   encode.c    a vector for each memory, made in the background
 *   vectors.c   the files they are in
 *   consult.c   the same with a model: questions, and what may be taken from answers
 *   near.c      near duplicates
 *   worth.c     age and disuse
 *   project.c   whose memories somebody gets
 *   poison.c    what reads like an instruction to an agent
 *   disguise.c  what a text says once its disguise is taken off
 *   concepts.c  how much a text is about what such instructions are about
 *   write.c     the payloads of Memory events
 *
 * DESIGN (in full in docs/memory.md). The rows are the truth and are made by folding Memory events (capture/); the
 * index is a cache that is rebuilt when it is missing. Everything here may be called from any thread. */
#ifndef HOOKD_MEMORY_MEMORY_H
#define HOOKD_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"
#include "base/ulid.h"
#include "event/event.h"
#include "retrieve/retrieve.h"
#include "store/store.h"

/* -- types ------------------------------------------------------------------------------------- */

struct memory_type {
	const char *name;           /* as in the store */
	const char *mark;           /* in a list at the start of a session */
	const char *label;          /* in a list about a file */
	const char *text;           /* one sentence for the reference */
	const char *const *aliases; /* other names that are accepted; NULL ends */
};

extern const struct memory_type memory_types[]; /* ends with a row without a name */

/* By its name or another one; NULL: there is none. The user may have types of their own beside these: see the option
 * memory.types. They have no row here, and are shown by their name. */
const struct memory_type *memory_type_find(str name);

/* The concept that another name of a type stands for, as "how-it-works" does; STR_NONE: none. */
str memory_concept_of(str name);

enum { MEMORY_CONCEPTS_MAX = 12, MEMORY_CONCEPT_BYTES = 40 };

/* -- whose memories ---------------------------------------------------------------------------- */

/* The project whose memories a directory gets: that of the nearest directory at or above it that is known, and of a
 * worktree the main checkout's. What is no absolute path is a name. 1 and *ret; 0: none is known; -errno. */
int memory_project_find(struct store *s, str wanted, int64_t *ret);

/* Whose words a memory has, from 0 (from outside the project) to 3 (the user's); more may take the place of less. */
int memory_trust_rank(str trust);

/* -- the payload of a Memory event ------------------------------------------------------------- */

struct memory_note {
	struct ulid uid;
	str dir, project; /* whose: by a directory, or by name; neither: for all projects */
	str type, text, file, trust, origin;
	str session, agent, batch; /* where it was learned; native id, label, ULID */
	str ref, thread;           /* imported: its name there, and the conversation it is part of */
	str status, reason;        /* STR_NONE: active */
	str concepts;              /* JSON array of texts; STR_NONE: none */
	int64_t importance;        /* 0: 5 */
	int64_t created_us;        /* 0: now */
};

str memory_write_note(const struct memory_note *n, struct arena *a);
/* The event with that payload, or with that of a change; id is the event's own key. It names its memory where others
 * name a call, so that all events of a memory can be found. */
void memory_event(const struct ulid *id, const struct ulid *memory, str payload, struct arena *a, struct event *ret);

/* -- worth ------------------------------------------------------------------------------------- */

struct memory_past {
	int64_t created_us, used_us;
	int64_t shown, used; /* times */
	bool pinned;
};

/* What the score of a memory is multiplied with: 1 for one that is new or was of use, less with age and disuse. */
float memory_worth(const struct memory_past *p, int64_t now_us);

/* -- extraction -------------------------------------------------------------------------------- */

/* Why a text reads like an instruction to an agent, or NULL. */
struct poison;

struct poison *poison_new(void);
void poison_free(struct poison *p);
const char *poison_find(const struct poison *p, str text);

/* A finished turn. Everything is as the store has it: redacted. */
struct extract_turn {
	int64_t batch;
	struct ulid id; /* of its first event */
	bool by_user;   /* the prompt is a person's */
	str prompt, response, dir, session, agent;
	int64_t at_us;
	bool (*skips)(str tool, void *arg); /* nothing is learned from such a tool; NULL: from all */
	void *arg;
};

typedef void (*memory_sink)(const struct memory_note *n, void *arg);

/* Its patterns; any number of threads may use them. */
struct extractor;

struct extractor *extractor_new(void);
void extractor_free(struct extractor *x);
/* Gives each memory of a turn to the sink; texts are in the arena. 0 or -errno. */
int memory_extract(const struct extractor *x, struct store *s, const struct extract_turn *turn, struct arena *a,
	memory_sink sink, void *arg);

/* Why a text that is not the user's should be put aside, or NULL. */
const char *extractor_suspects(const struct extractor *x, str text);
/* Whether a session has read something that is not of its project. */
int extractor_is_foreign(const struct extractor *x, struct store *s, int64_t session, bool *ret);

/* -- what turns and sessions were about -------------------------------------------------------- */

struct turn_class {
	const char *name;           /* as in the store */
	const char *text;           /* one sentence for the reference */
	int calls_least;            /* fewer of them are not worth asking a model about */
	const char *const *aliases; /* other names that are accepted; NULL ends */
};

extern const struct turn_class turn_classes[]; /* ends with a row without a name */

const struct turn_class *turn_class_find(str name);

struct turn_sums {
	int64_t calls, failed, created, modified;
};

/* What failed makes it debugging; else what was made, implementation; else what was changed, refactoring. */
int memory_classify(struct store *s, int64_t batch, struct turn_sums *ret_sums, const struct turn_class **ret);

struct session_summary {
	str title, text;    /* in the arena; STR_NONE: nothing can be said */
	const char *origin; /* planning, investigation, implementation, mixed */
};

int memory_summarize(const struct extractor *x, struct store *s, int64_t session, struct arena *a,
	struct session_summary *ret);

/* At most that many bytes, cut between words, with an ellipsis where it was cut. */
str memory_shorten(struct arena *a, str text, size_t most);

/* -- a model's opinion ------------------------------------------------------------------------- */

enum { QUESTION_MAX = 128 << 10, MODEL_ANSWER_MAX = 64 << 10, MODEL_NOTES_MAX = 8, MODEL_IMPORTANCE_MOST = 8 };

struct model_question {
	str system, user;
};

struct model_note {
	const struct memory_type *type;
	str text, file; /* file: as the model wrote it; STR_NONE: none */
	int64_t importance;
};

struct model_turn {
	const struct turn_class *class; /* NULL: it did not say */
	struct model_note notes[MODEL_NOTES_MAX];
	size_t n;
};

/* context_tokens: what question and answer may have together. */
int memory_ask_turn(struct store *s, const struct extract_turn *turn, const struct turn_class *class,
	unsigned context_tokens, struct arena *a, struct model_question *ret);
int memory_ask_session(struct store *s, int64_t session, const struct session_summary *known, unsigned context_tokens,
	struct arena *a, struct model_question *ret);

/* -EBADMSG, -E2BIG: the answer has not the form that was asked for. Texts are in the arena. */
int memory_read_turn(str answer, struct arena *a, struct model_turn *ret);
int memory_read_session(str answer, struct arena *a, struct session_summary *ret);

/* Whether the turn was about this file; *ret is how the store names it. 1, 0, -errno. */
int memory_find_file(struct store *s, int64_t batch, str file, struct arena *a, str *ret);
/* Whether a turn has read something that is not of its project. */
int memory_is_foreign(const struct extractor *x, struct store *s, int64_t batch, bool *ret);

/* -- the index --------------------------------------------------------------------------------- */

struct memories;

/* Called from any thread, when there is something to do for a project that takes longer than a search may: its index
 * should be written anew by memories_merge(), or memories_encode() has something to do. */
struct memories_wants {
	void (*merge)(int64_t project, void *arg);
	void (*encode)(int64_t project, void *arg);
	void *arg;
};

/* dir: where its files are. weights: of the encoder; empty, or nothing there: words alone count. */
struct memories *memories_new(const char *dir, const char *weights, const struct memories_wants *wants);
void memories_free(struct memories *m);
DEFINE_FREEP(struct memories, memories_free);

/* The best of one project's active memories, with how sure that is for the first RATED_MAX. Patient: waits for rows
 * that are not in the index yet; else it may be behind by what came in the last moments. Number of hits, or -errno. */
int memories_search(struct memories *m, struct store *s, int64_t project, str query, bool patient, struct hit *ret,
	size_t max);

/* Why a text that is not the user's should be put aside, or NULL. */
const char *memories_suspect(struct memories *m, str text);

/* The memory that this one should supersede, because it says nearly the same and is not more trusted: 1 and *ret; 0;
 * -errno. similar: from which overlap of their terms on. */
int memories_find_near(struct memories *m, struct store *s, int64_t project, const struct memory_note *n, float similar,
	struct arena *a, struct ulid *ret);

/* How many active memories a project has; as good as it is known. -errno. */
int64_t memories_count(struct memories *m, struct store *s, int64_t project);

/* Writes what has changed into files. On a worker, in the background. */
int memories_merge(struct memories *m, struct store *s, int64_t project);

/* Gives vectors to some of the memories that have none: a second's worth of work, on a thread that has time. How many
 * were looked at, 0: all have one, or -errno. rest, if not NULL, is asked between two whether to stop early. */
int memories_encode(struct memories *m, struct store *s, int64_t project, bool (*rest)(void *arg), void *arg);
/* All of them have one: gives back what that took. */
void memories_rest(struct memories *m);
/* Somebody waits for it, for the next few seconds. */
void memories_hurry(struct memories *m);
bool memories_is_hurried(struct memories *m);
/* How far that is: memories of a project, and how many of them have a vector; the rest is wanted now. False: there is
 * no encoder, and *ret_why says why. */
bool memories_encoded(struct memories *m, struct store *s, int64_t project, int64_t *ret_all, int64_t *ret_encoded,
	struct err *ret_why);

/* After memories were deleted: nothing of them is left in the files. */
void memories_discard(struct memories *m);

#endif
