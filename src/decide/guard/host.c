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
#include "base/log.h"
#include "guard/guard.h"
#include "os/os.h"
#include "trust/trust.h"

enum {
	LOOKUPS_MAX = 32, /* links followed for one event */
	ROOTS = 8,        /* directories whose project is remembered */
	LEVELS_MAX = 32,  /* up to the root of a project */
	OWN_MAX = 8,
	PROJECT_FILES = 2,
};

static const char *const project_files[PROJECT_FILES] = { ".hookd/config.json", ".hookd/config.local.json" };

struct guard {
	struct guard_policy *policy;
	struct guard_problem *problems;
	char *home;
	char *own_paths[OWN_MAX];
	str own[OWN_MAX];
	size_t nown;
	struct root {
		char *cwd, *root;
		struct guard_policy *rules[PROJECT_FILES]; /* the project's own, or NULL */
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

/* Rules of the project, from files that nobody else could have written. A session keeps them as they were when its
 * directory was first seen. */
static void load_project(struct root *r)
{
	struct guard_problem *problems = NULL;
	struct arena a = { 0 };
	struct trust_tree tree;
	struct err err = { 0 };
	const struct trust_file *file;

	if (trust_tree_open(r->root, &a, &tree, &err) < 0) {
		arena_release(&a);
		return;
	}
	for (int i = 0; i < PROJECT_FILES; i++)
		if (trust_tree_add(&tree, str_of(project_files[i]), &file, &err) == 1) {
			r->rules[i] = guard_policy_parse_project(file->bytes, &problems);
			for (const struct guard_problem *p = problems; p; p = p->next)
				log_warn(LOG_CONFIG, "%s/%s:%u:%u: %s", r->root, project_files[i], p->err.line,
					p->err.col, p->err.text);
			guard_problems_free(problems);
		}
	trust_tree_close(&tree);
	arena_release(&a);
}

static void forget_root(struct root *r)
{
	free(r->cwd);
	free(r->root);
	for (int i = 0; i < PROJECT_FILES; i++)
		guard_policy_unref(r->rules[i]);
	*r = (struct root){ 0 };
}

/* The project of a directory; NULL: no such directory can be. */
static const struct root *root_of(struct guard *h, struct arena *a, str cwd)
{
	char root[FS_PATH];
	struct root *r;

	if (cwd.n >= FS_PATH || !cwd.n || cwd.p[0] != '/')
		return NULL;
	for (unsigned i = 0; i < ROOTS; i++)
		if (h->roots[i].cwd && str_eq(cwd, str_of(h->roots[i].cwd)))
			return &h->roots[i];
	r = &h->roots[h->next_root++ % ROOTS];
	forget_root(r);
	r->cwd = xstrdup(arena_cstr(a, cwd));
	find_root(r->cwd, root);
	r->root = xstrdup(root);
	load_project(r);
	return r;
}

static void add_own(struct guard *h, const char *path)
{
	if (path[0] != '/' || h->nown == OWN_MAX)
		return;
	h->own_paths[h->nown] = xstrdup(path);
	h->own[h->nown] = str_of(h->own_paths[h->nown]);
	h->nown++;
}

struct guard *guard_new(const struct paths *p)
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
	for (unsigned i = 0; i < ROOTS; i++)
		forget_root(&h->roots[i]);
	free(h);
}

void guard_event(struct guard *h, const struct event *e, struct arena *a, struct verdict *v)
{
	struct guard_context c = guard_context_of(e);
	struct lookups lookups = { LOOKUPS_MAX };
	const struct root *r;

	if (e->kind != EVENT_PRE_TOOL_USE && e->kind != EVENT_PERMISSION_REQUEST)
		return;
	if (!c.home.n && h->home)
		c.home = str_of(h->home);
	r = root_of(h, a, c.cwd);
	if (!c.root.n && r)
		c.root = arena_str(a, str_of(r->root)); /* the place in the table may be given to another */
	c.real_path = real_path;
	c.real_path_arg = &lookups;
	c.own = h->own;
	c.nown = h->nown;
	guard_decide(h->policy, &c, e, a, v, NULL);
	for (int i = 0; r && i < PROJECT_FILES; i++)
		if (r->rules[i])
			guard_decide(r->rules[i], &c, e, a, v, NULL);
}

const struct guard_problem *guard_problems(const struct guard *h)
{
	return h->problems;
}
