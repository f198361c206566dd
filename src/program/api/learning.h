/* learning: the way of a change of memories into the journal. Internal to api/.
 *
 *   loop: parameters ─▶ worker: prepare() looks at the store and adds events, redacted ─▶ loop: journal ─▶ answer
 *
 * prepare() sees everything that was acknowledged before the call, so it can refuse what makes no sense and say what
 * is known already. */
#ifndef HOOKD_API_LEARNING_H
#define HOOKD_API_LEARNING_H

#include "api/ops.h"
#include "memory/memory.h"

enum { MEMORY_TEXT_MAX = 4000 };

struct lesson {
	struct op_call call; /* a copy; its store is open in prepare() only */
	struct journal_pos seen;
	/* 0, or -errno with call.err. */
	int (*prepare)(struct lesson *l);
	struct event *events;
	struct record *records;
	size_t n, max;
	str result;
	int failed;
};

/* Submits it; at most max events. Always 0: the answer comes later. */
int learn(struct op_call *call, size_t max, int (*prepare)(struct lesson *l));

/* For prepare(): adds an event about a memory; id is its own key. */
void lesson_add(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload);
/* A member of the last one's payload, as it will be stored. */
str lesson_stored(struct lesson *l, const char *member);

/* What is stored of a memory. */
struct memory_state {
	int64_t key, project, importance;
	struct ulid uid, successor;
	str type, text, file, status, trust, reason;
	bool superseded;
};

/* By its id; -ENOENT says how to find one. */
int lesson_find(struct lesson *l, str id, struct memory_state *ret);
/* The canonical name of a type. -EINVAL says which there are. */
int lesson_take_type(struct op_call *call, str given, str *ret);
int lesson_check_text(struct op_call *call, str text);
/* A list of concepts, or NULL, and perhaps one more, as JSON; STR_NONE: there are none. */
int lesson_take_concepts(struct op_call *call, const struct json *list, str also, str *ret);
/* Why words that are not the owner's must be looked at by the user first, or NULL. */
const char *lesson_suspect(struct lesson *l, str text, str file);

#endif
