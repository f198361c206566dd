/* seat: what a process needs to decide: the user's policy, this machine's paths. The daemon and `hookd offline`
 * both sit here, so that they cannot decide differently. The policy is read once: an agent that edits the file
 * changes nothing for the daemon that watches it.
 *
 * Links are followed on disk, because "build" may be a link to somebody's home by now. That is a handful of calls to
 * the file system the agent works on anyway; their number per event is bounded. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "guard/guard.h"
#include "os/os.h"

enum {
	LOOKUPS_MAX = 32, /* links followed for one event */
	ROOTS = 8,        /* directories whose project is remembered */
	LEVELS_MAX = 32,  /* up to the root of a project */
	OWN_MAX = 8,
};

struct guard {
	struct guard_policy *policy;
	struct guard_problem *problems;
	char *home;
	char *own_paths[OWN_MAX];
	str own[OWN_MAX];
	size_t nown;
	struct {
		char *cwd, *root;
	} roots[ROOTS];
	unsigned next_root;
};

struct lookups {
	unsigned left;
};

static str real_path(void *arg, struct arena *a, str path)
{
	struct lookups *l = arg;
	char room[PATH_MAX];

	if (!l->left || path.n >= PATH_MAX)
		return STR_NONE;
	l->left--;
	return realpath(arena_cstr(a, path), room) ? arena_str(a, str_of(room)) : STR_NONE;
}

/* The nearest directory at or above cwd that git knows; else cwd itself. */
static void find_root(const char *cwd, char out[FS_PATH])
{
	char dir[FS_PATH], git[FS_PATH + 8];
	struct stat st;
	char *slash;

	snprintf(out, FS_PATH, "%s", cwd);
	snprintf(dir, sizeof dir, "%s", cwd);
	for (int i = 0; i < LEVELS_MAX && dir[0] == '/' && dir[1]; i++) {
		snprintf(git, sizeof git, "%s/.git", dir);
		if (lstat(git, &st) == 0) {
			snprintf(out, FS_PATH, "%s", dir);
			return;
		}
		slash = strrchr(dir, '/');
		*(slash == dir ? slash + 1 : slash) = 0;
	}
}

static str root_of(struct guard *h, struct arena *a, str cwd)
{
	char root[FS_PATH];
	unsigned at;

	if (cwd.n >= FS_PATH || !cwd.n || cwd.p[0] != '/')
		return STR_NONE;
	for (unsigned i = 0; i < ROOTS; i++)
		if (h->roots[i].cwd && str_eq(cwd, str_of(h->roots[i].cwd)))
			return str_of(h->roots[i].root);
	at = h->next_root++ % ROOTS;
	free(h->roots[at].cwd);
	free(h->roots[at].root);
	h->roots[at].cwd = xstrdup(arena_cstr(a, cwd));
	find_root(h->roots[at].cwd, root);
	h->roots[at].root = xstrdup(root);
	return arena_str(a, str_of(root)); /* the slot may be used again before the answer */
}

static void add_own(struct guard *h, const char *path)
{
	if (path[0] != '/' || h->nown == OWN_MAX)
		return;
	h->own_paths[h->nown] = xstrdup(path);
	h->own[h->nown] = str_of(h->own_paths[h->nown]);
	h->nown++;
}

struct guard *guard_new(const struct places *p)
{
	struct guard *h = xcalloc(1, sizeof *h);
	char self[FS_PATH], hookc[FS_PATH + 8];
	const char *home = getenv("HOME");

	h->policy = guard_policy_load(p->config, &h->problems);
	h->home = home && home[0] == '/' ? xstrdup(home) : NULL;
	add_own(h, p->config);
	add_own(h, p->data);
	add_own(h, p->state);
	add_own(h, p->runtime_socket);
	if (os_self_path(self, sizeof self) == 0 && strrchr(self, '/')) {
		snprintf(hookc, sizeof hookc, "%.*s/hookc", (int)(strrchr(self, '/') - self), self);
		add_own(h, self);
		add_own(h, hookc);
	}
	return h;
}

void guard_free(struct guard *h)
{
	if (!h)
		return;
	guard_policy_unref(h->policy);
	guard_problems_free(h->problems);
	free(h->home);
	for (size_t i = 0; i < h->nown; i++)
		free(h->own_paths[i]);
	for (unsigned i = 0; i < ROOTS; i++) {
		free(h->roots[i].cwd);
		free(h->roots[i].root);
	}
	free(h);
}

void guard_event(struct guard *h, const struct event *e, struct arena *a, struct verdict *v)
{
	struct guard_context c = guard_context_of(e);
	struct lookups lookups = { LOOKUPS_MAX };

	if (e->kind != EVENT_PRE_TOOL_USE && e->kind != EVENT_PERMISSION_REQUEST)
		return;
	if (!c.home.n && h->home)
		c.home = str_of(h->home);
	if (!c.root.n)
		c.root = root_of(h, a, c.cwd);
	c.real_path = real_path;
	c.real_path_arg = &lookups;
	c.own = h->own;
	c.nown = h->nown;
	guard_decide(h->policy, &c, e, a, v, NULL);
}

const struct guard_problem *guard_problems(const struct guard *h)
{
	return h->problems;
}
