/* seat: what a process needs to decide: the policy of the user's file, the home, hookd's own paths.
 * The daemon and `hookd offline` both sit here, so that they cannot decide differently. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "guard/internal.h"

enum { LOOK_EVERY_US = 1000000 };

struct guard {
	struct guard_policy *policy;
	struct guard_problem *problems;
	const struct places *places;
	str home;
	str own[8];
	size_t nown;
	int64_t looked_us;
	struct timespec changed;
	long long size;
};

static void load(struct guard *g)
{
	guard_policy_unref(g->policy);
	guard_problems_free(g->problems);
	g->policy = guard_policy_load(g->places->config, &g->problems);
}

/* Whether the file is another than the one that was read. */
static bool has_changed(struct guard *g)
{
	struct stat st;
	bool there = g->places->config[0] && stat(g->places->config, &st) == 0;
	struct timespec changed = there ? st.st_mtim : (struct timespec){ 0 };
	long long size = there ? (long long)st.st_size : -1;
	bool other = changed.tv_sec != g->changed.tv_sec || changed.tv_nsec != g->changed.tv_nsec ||
		     size != g->size;

	g->changed = changed;
	g->size = size;
	return other;
}

static void add_own(struct guard *g, const char *path)
{
	if (path[0] && g->nown < countof(g->own))
		g->own[g->nown++] = str_of(path);
}

struct guard *guard_new(const struct places *places)
{
	struct guard *g = xcalloc(1, sizeof(*g));
	const char *home = getenv("HOME");

	g->places = places;
	g->home = str_of(home && home[0] == '/' ? home : "/home/user");
	add_own(g, places->config);
	add_own(g, places->data);
	add_own(g, places->state);
	add_own(g, places->runtime_socket);
	(void)has_changed(g);
	load(g);
	return g;
}

void guard_free(struct guard *g)
{
	if (!g)
		return;
	guard_policy_unref(g->policy);
	guard_problems_free(g->problems);
	free(g);
}

const struct guard_problem *guard_problems(const struct guard *g)
{
	return g->problems;
}

void guard_event(struct guard *g, const struct event *e, struct arena *a, struct verdict *v,
	struct guard_report *report)
{
	struct guard_context c = guard_context_of(e);
	int64_t now = clock_mono_us();

	if (e->kind != EVENT_PRE_TOOL_USE && e->kind != EVENT_PERMISSION_REQUEST)
		return;
	if (now - g->looked_us > LOOK_EVERY_US) {
		g->looked_us = now;
		if (has_changed(g))
			load(g);
	}
	c.home = g->home;
	c.own = g->own;
	c.nown = g->nown;
	guard_decide(g->policy, &c, e, a, v, report);
}
