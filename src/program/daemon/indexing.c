#include "daemon/indexing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "os/os.h"
#include "project/project.h"

enum {
	ROOTS_MAX = 8,   /* indexers at once */
	PLACES_MAX = 64, /* directories whose repository is known */
	FIND_MS = 2000,
	CRASHES_MAX = 6,
	FIRST_PAUSE_S = 1, /* after a crash, and four times that after the next */
	LAST_PAUSE_S = 600,
	BUSY_PAUSE_S = 30, /* somebody else indexes it */
	EXIT_BUSY = 75,
};

struct root {
	struct indexing *indexing;
	char *path; /* NULL: free */
	struct loop_child *child;
	struct loop_timer *timer;
	int crashes;
	int64_t used_us, started_us, not_before_us;
	bool again; /* wanted when the pause is over */
};

/* Which repository a directory lies in. */
struct place {
	char *directory, *real; /* as agents name it, and where that leads */
	char *root;             /* NULL: none */
};

struct indexing {
	struct loop *loop;
	const struct paths *paths;
	bool enabled;
	struct loop_children *children;
	struct root roots[ROOTS_MAX];
	struct place places[PLACES_MAX];
	size_t next_place;
	unsigned looking; /* jobs under way */
};

/* -- indexers ---------------------------------------------------------------------------------- */

static void start(struct root *r);

static void on_timer(void *arg)
{
	struct root *r = arg;

	if (r->path && !r->child && r->again)
		start(r);
}

static void pause_for(struct root *r, int64_t seconds, bool again)
{
	r->not_before_us = clock_mono_us() + seconds * USEC_PER_SEC;
	r->again = again;
	loop_timer_set(r->timer, seconds * USEC_PER_SEC);
}

static void ended(const struct child_result *result, void *arg)
{
	struct root *r = arg;
	int64_t pause = FIRST_PAUSE_S;

	r->child = NULL;
	if (result->exit_code == 0)
		return;
	if (result->exit_code == EXIT_BUSY) {
		pause_for(r, BUSY_PAUSE_S, true);
		return;
	}
	if (clock_mono_us() - r->started_us > LAST_PAUSE_S * USEC_PER_SEC)
		r->crashes = 0;
	r->crashes++;
	for (int i = 1; i < r->crashes && pause < LAST_PAUSE_S; i++)
		pause *= 4;
	log_warn(LOG_DAEMON, "the indexer of %s ended (%s %d)" STR_FMT, r->path,
		result->signal ? "signal" : "exit code", result->signal ? result->signal : result->exit_code,
		STR_ARG(r->crashes < CRASHES_MAX ? STR("; it is started again") : STR("; it stays so until it is wanted")));
	pause_for(r, MIN(pause, (int64_t)LAST_PAUSE_S), r->crashes < CRASHES_MAX);
}

static void start(struct root *r)
{
	extern char **environ;
	struct indexing *x = r->indexing;
	char *const argv[] = { (char *)"hookd", (char *)"indexer", (char *)"--dir", (char *)x->paths->state, r->path,
		NULL };
	struct child_spec spec = { .path = os_this_program ? os_this_program : "hookd",
		.argv = argv,
		.envp = environ,
		.dir = "/",
		.stays = true,
		.output_max = KIB(4) };

	r->again = false;
	r->started_us = clock_mono_us();
	r->child = loop_child_start(x->children, &spec, ended, r);
}

/* A free place, or that of the one that was not needed for longest. */
static struct root *room_for(struct indexing *x)
{
	struct root *oldest = NULL;

	for (size_t i = 0; i < ROOTS_MAX; i++) {
		struct root *r = &x->roots[i];

		if (!r->path)
			return r;
		if (!r->child && (!oldest || oldest->child || r->used_us < oldest->used_us))
			oldest = r;
		else if (r->child && (!oldest || (oldest->child && r->used_us < oldest->used_us)))
			oldest = r;
	}
	/* It ends soon; until then there is no room. */
	if (oldest->child) {
		loop_child_end_input(oldest->child);
		return NULL;
	}
	free(TAKE(oldest->path));
	return oldest;
}

static struct root *root_of(struct indexing *x, const char *path)
{
	struct root *r;

	for (size_t i = 0; i < ROOTS_MAX; i++)
		if (x->roots[i].path && strcmp(x->roots[i].path, path) == 0)
			return &x->roots[i];
	r = room_for(x);
	if (!r)
		return NULL;
	r->indexing = x;
	r->path = xstrdup(path);
	r->crashes = 0;
	r->not_before_us = 0;
	if (!r->timer)
		r->timer = loop_timer_new(x->loop, on_timer, r);
	return r;
}

/* True: it runs. */
static bool want(struct root *r)
{
	if (!r)
		return false;
	r->used_us = clock_mono_us();
	if (!r->child && r->used_us >= r->not_before_us)
		start(r);
	else if (!r->child)
		r->again = r->crashes < CRASHES_MAX;
	return r->child;
}

static void tell(struct root *r, str path)
{
	char room[FS_PATH + 1];

	if (path.n >= FS_PATH)
		return;
	if (path.n)
		memcpy(room, path.p, path.n);
	room[path.n] = 0;
	(void)loop_child_write(r->child, str_n(room, path.n + 1));
}

void indexing_update(struct indexing *x, const char *root)
{
	struct root *r = root_of(x, root);

	if (r)
		r->not_before_us = 0;
	if (want(r))
		tell(r, STR(""));
}

/* -- which repository -------------------------------------------------------------------------- */

struct look {
	struct indexing *indexing;
	char *directory;
	struct project project;
	bool found;
};

static void look(void *arg)
{
	struct look *l = arg;
	char path[FS_PATH];
	struct stat st;

	l->found = project_find_within(l->directory, l->indexing->paths->home, FIND_MS, &l->project) == 0 &&
		l->project.found && fs_join(path, l->project.root, ".git") == 0 && lstat(path, &st) == 0;
}

static void looked(void *arg)
{
	struct look *l = arg;
	struct indexing *x = l->indexing;
	struct place *p = &x->places[x->next_place++ % PLACES_MAX];

	free(p->directory);
	free(p->real);
	free(p->root);
	*p = (struct place){ .directory = l->directory,
		.real = l->found ? xstrdup(l->project.directory) : NULL,
		.root = l->found ? xstrdup(l->project.root) : NULL };
	if (l->found)
		(void)want(root_of(x, p->root));
	x->looking--;
	free(l);
}

static const struct place *place_of(struct indexing *x, str cwd)
{
	for (size_t i = 0; i < PLACES_MAX; i++)
		if (x->places[i].directory && str_eq(cwd, str_of(x->places[i].directory)))
			return &x->places[i];
	return NULL;
}

static void look_for(struct indexing *x, str cwd)
{
	enum { LOOKING_MAX = 4 };
	struct look *l;

	if (x->looking >= LOOKING_MAX || cwd.p[0] != '/' || cwd.n >= FS_PATH)
		return;
	l = xcalloc(1, sizeof *l);
	l->indexing = x;
	l->directory = xstrndup(cwd.p, cwd.n);
	x->looking++;
	loop_submit_lane(x->loop, LOOP_BACKGROUND, look, looked, l);
}

/* -- changes ----------------------------------------------------------------------------------- */

/* Below the root: names in the directory that the agent speaks of are those in the real one. */
static void tell_file(struct root *r, const struct place *p, str path)
{
	char whole[2 * FS_PATH];
	str cwd = str_of(p->directory);
	int n;

	if (str_empty(path))
		return;
	if (path.p[0] != '/')
		n = snprintf(whole, sizeof whole, "%s/" STR_FMT, p->real, STR_ARG(path));
	else if (str_starts(path, cwd) && path.n > cwd.n && path.p[cwd.n] == '/')
		n = snprintf(whole, sizeof whole, "%s" STR_FMT, p->real, STR_ARG(str_from(path, cwd.n)));
	else
		n = snprintf(whole, sizeof whole, STR_FMT, STR_ARG(path));
	if (n > 0 && (size_t)n < sizeof whole && !strstr(whole, "/../"))
		tell(r, str_n(whole, (size_t)n));
}

static void tell_patch(struct root *r, const struct place *p, const struct json *input)
{
	json_each(m, input) {
		struct patch patch;
		struct patch_file file;

		if (m->type != JSON_STRING || !patch_is(m->text))
			continue;
		patch = patch_open(m->text);
		while (patch_next(&patch, &file))
			tell_file(r, p, file.path);
	}
}

void indexing_hear(const struct event *e, void *arg)
{
	struct indexing *x = arg;
	const struct place *p;
	struct root *r;

	if (!x->enabled || str_empty(e->cwd))
		return;
	p = place_of(x, e->cwd);
	if (!p) {
		look_for(x, e->cwd);
		return;
	}
	if (!p->root || !want(r = root_of(x, p->root)) || e->kind != EVENT_POST_TOOL_USE || e->tool_class != TOOL_WRITE)
		return;
	tell_file(r, p, e->file_path);
	if (str_empty(e->file_path))
		tell_patch(r, p, e->tool_input);
}

/* -- all of them ------------------------------------------------------------------------------- */

struct indexing *indexing_new(struct loop *l, const struct paths *p, const struct config *config)
{
	struct indexing *x = xcalloc(1, sizeof *x);

	x->loop = l;
	x->paths = p;
	x->enabled = config_number(config, OPTION_INDEX_ENABLED);
	/* Without a keeper: an indexer starts nothing itself, and its input ends with the daemon. */
	x->children = loop_children_new(l, NULL);
	return x;
}

void indexing_free(struct indexing *x)
{
	if (!x)
		return;
	loop_children_free(x->children);
	for (size_t i = 0; i < ROOTS_MAX; i++) {
		loop_timer_free(x->roots[i].timer);
		free(x->roots[i].path);
	}
	for (size_t i = 0; i < PLACES_MAX; i++) {
		free(x->places[i].directory);
		free(x->places[i].real);
		free(x->places[i].root);
	}
	free(x);
}
