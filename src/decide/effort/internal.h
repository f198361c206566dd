/* What the files of effort/ share. */
#ifndef HOOKD_EFFORT_INTERNAL_H
#define HOOKD_EFFORT_INTERNAL_H

#include "effort/effort.h"

enum { WINDOW_BUCKETS = 1024, TASKS_MAX = 64 };

/* A task that asks something of every agent. */
struct effort_task {
	struct effort_task *next;
	char *path;
	struct effort_gates gates;
};

struct effort_early;

struct efforts {
	struct effort *first; /* the one that changed last */
	unsigned n;
	bool filled;
	uint64_t generation; /* counts what may give a window another effort */
	struct effort_early *early, **last_early;
	unsigned nearly;
	struct effort_task *tasks;
	unsigned ntasks;
	/* window.c */
	struct effort_window *buckets[WINDOW_BUCKETS], *newest, *oldest;
	unsigned nwindows;
	unsigned nleft; /* of them, those that are still to say that they left their effort */
};

/* `dir` is `above`, or lies in it. */
static inline bool effort_is_within(str dir, const char *above)
{
	str top = str_of(above);

	return top.n && str_starts(dir, top) && (dir.n == top.n || dir.p[top.n] == '/' || top.n == 1);
}

/* live.c */
const struct effort_task *effort_task_around(const struct efforts *all, str dir);

/* window.c: an effort is gone; it has been started or resumed by a session; a row of the store. */
void windows_forget(struct efforts *all, const struct effort *gone);
void windows_bind_session(struct efforts *all, struct effort *to, str session);
void windows_let_go(struct efforts *all, const struct effort *of);
void windows_log(struct efforts *all, const struct effort *of, bool all_of_them);
void windows_end(struct efforts *all, const struct ulid *window);
void windows_restore(struct efforts *all, const struct json *row);
void windows_free(struct efforts *all);

#endif
