/* host: what a process needs to decide: the user's policy, this machine's paths, what is known of the directories
 * agents work in. The daemon and `hookd offline` both decide here, so that they cannot decide differently.
 *
 * The user's policy changes only when a person asks for it (guard_reload()): an agent that edits the file changes
 * nothing for the daemon that watches it.
 *
 * Links are followed on disk, because "build" may be a link to somebody's home by now. What a path leads to is never
 * remembered beyond one event: the agent may change it at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "guard/internal.h"
#include "os/os.h"
#include "project/project.h"
#include "trust/trust.h"

enum {
	LOOKUPS_MAX = 256, /* paths looked up for one event */
	SCRIPTS_MAX = 16,  /* read for one event */
	SCRIPT_BYTES = 1 << 20,
	UNSEEN_S = 12 * 3600,
	DIRECTORIES = 64, /* whose project is remembered */
	OWN_MAX = 8,
	PROJECT_FILES = 2,
};

static const char *const project_files[PROJECT_FILES] = { ".hookd/config.json", ".hookd/config.local.json" };

/* What is known of a directory that agents work in. But for `told` never changed once it is in the table. */
struct directory {
	unsigned refs;
	unsigned generation;
	char *path, *root;
	struct guard_policy *rules[PROJECT_FILES]; /* the project's own, or NULL */
	char *trouble;                             /* why not all of them are in effect, or NULL */
	bool told;                                 /* of it; atomic */
};

struct guard {
	char *config, *home, *state;
	char *published; /* where what is in force is written down; NULL: nowhere */
	char *own_paths[OWN_MAX];
	str own[OWN_MAX];
	size_t nown;
	/* Protects what follows. Held for a few memory accesses, never while a disk is asked. */
	pthread_mutex_t lock;
	struct guard_policy *policy;
	struct guard_problem *problems;
	unsigned generation; /* of everything that was read from disk */
	struct directory *directories[DIRECTORIES];
	unsigned next_directory;
};

/* -- links ------------------------------------------------------------------------------------- */

/* What one event has found out about links: the same path is asked for several times. */
struct lookups {
	bool may_use_disk;
	bool never; /* nor will it ever be */
	unsigned n, scripts;
	int64_t since_us; /* when the session began; 0: unknown */
	struct lookup {
		struct lookup *next;
		str path, real; /* STR_NONE: nothing is there */
	} * known;
};

static int real_path(void *arg, struct arena *a, str path, str *ret)
{
	struct lookups *l = arg;
	struct lookup *known;
	char room[PATH_MAX];
	int r;

	for (known = l->known; known; known = known->next)
		if (str_eq(known->path, path)) {
			*ret = known->real;
			return str_is_set(*ret) ? 0 : -ENOENT;
		}
	if (path.n >= PATH_MAX || memchr(path.p, 0, path.n))
		return -ENOENT;
	if (l->n == LOOKUPS_MAX)
		return -EDQUOT;
	r = os_real_path_cached(arena_cstr(a, path), room, sizeof room);
	if (r == -EAGAIN && !l->may_use_disk)
		return l->never ? -ETIMEDOUT : -EAGAIN;
	if (r == -EAGAIN)
		r = realpath(arena_cstr(a, path), room) ? 0 : -errno;
	*ret = r == 0 ? arena_str(a, str_of(room)) : STR_NONE;
	known = arena_new(a, struct lookup);
	*known = (struct lookup){ l->known, path, *ret };
	l->known = known;
	l->n++;
	return str_is_set(*ret) ? 0 : -ENOENT;
}

/* -- scripts ----------------------------------------------------------------------------------- */

static int read_script(const char *path, int64_t since_us, struct arena *a, str *ret)
{
	_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	size_t n = 0;
	ssize_t got;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		(int64_t)st.st_ctim.tv_sec * USEC_PER_SEC + st.st_ctim.tv_nsec / 1000 < since_us)
		return -ENOENT;
	text = arena_bytes(a, (size_t)MIN(st.st_size, (off_t)SCRIPT_BYTES) + 1);
	while ((got = read(fd, text + n, (size_t)MIN(st.st_size, (off_t)SCRIPT_BYTES) - n)) > 0)
		n += (size_t)got;
	if (got < 0 || memchr(text, 0, n))
		return -ENOENT; /* whoever runs it cannot read it either; or it is a program of machine code */
	*ret = str_n(text, n);
	return st.st_size > SCRIPT_BYTES ? -EFBIG : 0;
}

/* Of a session whose start was not seen: it may have begun any time today. */
static int64_t since_of(const struct event *e)
{
	return e->since_us ? e->since_us : e->at_us ? e->at_us - UNSEEN_S * USEC_PER_SEC : 0;
}

/* One that was there before the session began is somebody's who knew what it does. What has been written, fetched,
 * unpacked or moved there since has a younger status. */
static int script_text(void *arg, struct arena *a, str path, str *ret)
{
	struct lookups *l = arg;
	int64_t changed_us = 0;
	int r;

	if (path.n >= PATH_MAX || memchr(path.p, 0, path.n))
		return -ENOENT;
	r = os_changed_cached(arena_cstr(a, path), &changed_us);
	if (r == -ENOENT || (r == 0 && changed_us < l->since_us))
		return -ENOENT;
	if (!l->may_use_disk)
		return l->never ? -ENOENT : -EAGAIN;
	if (l->scripts++ == SCRIPTS_MAX)
		return -EFBIG;
	return read_script(arena_cstr(a, path), l->since_us, a, ret);
}

/* -- directories ------------------------------------------------------------------------------- */

static void directory_unref(struct directory *d)
{
	if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(d->path);
	free(d->root);
	free(d->trouble);
	for (int i = 0; i < PROJECT_FILES; i++)
		guard_policy_unref(d->rules[i]);
	free(d);
}

/* The user is shown the first problem that keeps a rule of the project from taking effect; the log has all of them. */
static void complain(struct directory *d, const char *file, const struct err *err, bool trusted)
{
	char text[FS_PATH + sizeof err->text];

	if (err->line)
		snprintf(text, sizeof text, "%s/%s:%u:%u: %s", d->root, file, err->line, err->col, err->text);
	else
		snprintf(text, sizeof text, "%s", err->text);
	log_warn(LOG_CONFIG, "%s", text);
	/* A message quotes what is wrong, and this may reach an agent. */
	if (err->line && !trusted)
		snprintf(text, sizeof text, "%s/%s:%u:%u: see: hookd logs", d->root, file, err->line, err->col);
	if (!d->trouble)
		d->trouble = xstrdup(text);
}

/* Rules of the project. They stay as they were when the directory was first seen, until somebody reloads. */
static void load_project(const struct guard *g, struct directory *d)
{
	for (int i = 0; i < PROJECT_FILES; i++) {
		struct buf b = BUF_INIT(TRUST_FILE_MAX + 1);
		struct guard_problem *problems = NULL;
		struct err err = { 0 };
		int r = trust_read_restriction(d->root, project_files[i], &b, &err);
		bool trusted = r == 1 && g->state[0] && trust_covers(g->state, d->root, project_files[i], buf_str(&b));

		if (r < 0)
			complain(d, project_files[i], &err, trusted);
		if (r == 1)
			d->rules[i] = guard_policy_parse_project(buf_str(&b), trusted, &problems);
		for (const struct guard_problem *p = problems; p; p = p->next)
			complain(d, project_files[i], &p->err, trusted);
		guard_problems_free(problems);
		buf_release(&b);
	}
}

static struct directory *find_directory(struct guard *g, str path)
{
	struct directory *found = NULL;

	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < DIRECTORIES && !found; i++) {
		struct directory *d = g->directories[i];

		if (d && d->generation == g->generation && str_eq(path, str_of(d->path))) {
			__atomic_add_fetch(&d->refs, 1, __ATOMIC_RELAXED);
			found = d;
		}
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

/* Asks the disk, with no lock held; two workers may do so at once for the same directory, and both are right. */
static struct directory *look_up_directory(struct guard *g, const char *path)
{
	struct directory *d = xcalloc(1, sizeof *d), *old;
	struct project p;

	pthread_mutex_lock(&g->lock);
	d->generation = g->generation;
	pthread_mutex_unlock(&g->lock);
	d->refs = 2; /* the table's and the caller's */
	d->path = xstrdup(path);
	d->root = xstrdup(project_find(path, g->home, &p) == 0 ? p.root : path);
	load_project(g, d);
	pthread_mutex_lock(&g->lock);
	old = g->directories[g->next_directory % DIRECTORIES];
	g->directories[g->next_directory++ % DIRECTORIES] = d;
	pthread_mutex_unlock(&g->lock);
	directory_unref(old);
	return d;
}

/* 0 with NULL: no such directory can be. */
static int get_directory(struct guard *g, struct arena *a, str path, bool may_use_disk, struct directory **ret)
{
	*ret = NULL;
	if (path.n >= FS_PATH || !path.n || path.p[0] != '/' || memchr(path.p, 0, path.n))
		return 0;
	*ret = find_directory(g, path);
	if (!*ret && !may_use_disk)
		return -EAGAIN;
	if (!*ret)
		*ret = look_up_directory(g, arena_cstr(a, path));
	return 0;
}

/* -- a guard ----------------------------------------------------------------------------------- */

static void add_own(struct guard *g, const char *path)
{
	if (path[0] != '/' || g->nown == OWN_MAX)
		return;
	g->own_paths[g->nown] = xstrdup(path);
	g->own[g->nown] = str_of(g->own_paths[g->nown]);
	g->nown++;
}

/* What is in force, as a config file of its own: for `hookd offline`, and for a daemon that finds the user's file
 * broken. An edit that nobody has taken up yet must not count there either. */
static int in_force_path(const struct paths *p, char out[FS_PATH])
{
	return p->state[0] ? fs_join(out, p->state, "guard.json") : -ENOENT;
}

static struct guard_policy *read_in_force(const struct paths *p)
{
	struct guard_problem *problems = NULL;
	struct guard_policy *policy = NULL;
	char path[FS_PATH];

	if (in_force_path(p, path) < 0 || access(path, F_OK) < 0)
		return NULL;
	if (guard_policy_read(path, &policy, &problems, NULL) < 0)
		policy = NULL;
	guard_problems_free(problems);
	return policy;
}

static void publish(const struct guard *g)
{
	struct buf b = BUF_INIT(2 * LIMIT_CONFIG);
	int r;

	if (!g->published)
		return;
	buf_addf(&b, "{\"guard\": " STR_FMT "}\n", STR_ARG(guard_policy_source(g->policy)));
	r = b.full ? -E2BIG : fs_replace_file(g->published, buf_str(&b), true);
	if (r < 0)
		log_error(LOG_CONFIG, "%s cannot be written: %s; without a daemon the rules of the file hold",
			g->published, strerror(-r));
	buf_release(&b);
}

struct guard *guard_new(const struct paths *p)
{
	struct guard_policy *policy = NULL;
	struct guard_problem *problems = NULL;
	char path[FS_PATH];
	struct guard *g;

	/* A file that cannot be read takes nothing away, not even by a restart. */
	if (guard_policy_read(p->config, &policy, &problems, NULL) < 0)
		policy = read_in_force(p);
	g = guard_new_with(p, NULL, policy);
	guard_policy_unref(policy);
	if (!g->problems)
		g->problems = TAKE(problems);
	guard_problems_free(problems);
	if (in_force_path(p, path) == 0)
		g->published = xstrdup(path);
	publish(g);
	return g;
}

struct guard *guard_new_offline(const struct paths *p)
{
	struct guard_policy *policy = read_in_force(p);
	struct guard *g = guard_new_with(p, NULL, policy);

	guard_policy_unref(policy);
	return g;
}

struct guard *guard_new_with(const struct paths *p, const char *home, struct guard_policy *policy)
{
	struct guard *g = xcalloc(1, sizeof *g);
	char self[FS_PATH], hookc[FS_PATH + 8];

	if (!home)
		home = p->home;
	os_catch_crashes();
	pthread_mutex_init(&g->lock, NULL);
	g->config = xstrdup(p->config);
	g->state = xstrdup(p->state);
	g->policy = policy ? guard_policy_ref(policy) : guard_policy_load(p->config, &g->problems);
	g->home = home && home[0] == '/' ? xstrdup(home) : NULL;
	add_own(g, p->config);
	add_own(g, p->data);
	add_own(g, p->state);
	add_own(g, p->runtime_socket);
	if (os_self_path(self, sizeof self) == 0 && strrchr(self, '/')) {
		snprintf(hookc, sizeof hookc, "%.*s/hookc", (int)(strrchr(self, '/') - self), self);
		add_own(g, self);
		add_own(g, hookc);
	}
	return g;
}

void guard_free(struct guard *g)
{
	if (!g)
		return;
	guard_policy_unref(g->policy);
	guard_problems_free(g->problems);
	free(g->config);
	free(g->state);
	free(g->published);
	free(g->home);
	for (size_t i = 0; i < g->nown; i++)
		free(g->own_paths[i]);
	for (unsigned i = 0; i < DIRECTORIES; i++)
		directory_unref(g->directories[i]);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

/* -- what is in effect ------------------------------------------------------------------------- */

struct guard_policy *guard_in_force(struct guard *g)
{
	struct guard_policy *p;

	pthread_mutex_lock(&g->lock);
	p = guard_policy_ref(g->policy);
	pthread_mutex_unlock(&g->lock);
	return p;
}

struct guard_problem *guard_problems(struct guard *g)
{
	struct guard_problem *copy = NULL, **tail = &copy;

	pthread_mutex_lock(&g->lock);
	for (const struct guard_problem *p = g->problems; p; p = p->next) {
		*tail = xcalloc(1, sizeof **tail);
		(*tail)->err = p->err;
		tail = &(*tail)->next;
	}
	pthread_mutex_unlock(&g->lock);
	return copy;
}

int guard_reload(struct guard *g, struct err *err)
{
	struct guard_policy *policy, *old;
	struct guard_problem *problems, *old_problems;
	int r = guard_policy_read(g->config, &policy, &problems, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&g->lock);
	old = g->policy;
	old_problems = g->problems;
	g->policy = policy;
	g->problems = problems;
	g->generation++;
	pthread_mutex_unlock(&g->lock);
	guard_policy_unref(old);
	guard_problems_free(old_problems);
	publish(g);
	return 0;
}

void guard_forget_projects(struct guard *g)
{
	pthread_mutex_lock(&g->lock);
	g->generation++;
	pthread_mutex_unlock(&g->lock);
}

int guard_differs(struct guard *g)
{
	_cleanup_(guard_policy_unrefp) struct guard_policy *now = NULL, *in_force = guard_in_force(g);
	struct guard_problem *problems = NULL;
	int r = guard_policy_read(g->config, &now, &problems, NULL);

	guard_problems_free(problems);
	return r < 0 ? r : !guard_policy_same(now, in_force);
}

/* -- deciding ---------------------------------------------------------------------------------- */

/* One judgement, as it is handed through os_call_guarded(). */
struct judging {
	struct guard *g;
	const struct guard_policy *policy;
	const struct directory *directory; /* or NULL */
	const struct event *e;
	struct arena *a;
	struct verdict *v;
	struct lookups *lookups;
	int result;
};

static void judge(void *arg)
{
	struct judging *j = arg;
	const struct directory *d = j->directory;
	const struct guard_policy *policies[1 + PROJECT_FILES] = { j->policy };
	struct guard_report reports[1 + PROJECT_FILES] = { 0 };
	struct guard_context c = guard_context_of(j->e);
	int r = 0, n = 1;

	if (!c.home.n && j->g->home)
		c.home = str_of(j->g->home);
	if (!c.root.n && d)
		c.root = arena_str(j->a, str_of(d->root)); /* the verdict may outlive the directory */
	c.real_path = real_path;
	c.real_path_arg = j->lookups;
	c.script = j->lookups->since_us ? script_text : NULL;
	c.script_arg = j->lookups;
	c.own = j->g->own;
	c.nown = j->g->nown;
	for (int i = 0; d && i < PROJECT_FILES; i++)
		if (d->rules[i])
			policies[n++] = d->rules[i];
	for (int i = 0; i < n && r == 0; i++)
		r = guard_judge(policies[i], &c, j->e, j->a, &reports[i]);
	for (int i = 0; i < n && r == 0; i++)
		guard_apply(&reports[i], j->e, j->a, j->v);
	j->result = r;
}

/* At once, and once: rules that a team relies on do not hold. */
static void tell_trouble(struct directory *d, struct arena *a, struct verdict *v)
{
	if (d && d->trouble && !v->system_message.n && !__atomic_exchange_n(&d->told, true, __ATOMIC_RELAXED))
		v->system_message = arena_strf(a, "hookd: not all rules of this project are in effect: %s", d->trouble);
}

struct description {
	str raw;
	char hex[SHA256_HEX + 1];
};

static void describe(void *arg)
{
	struct description *d = arg;
	uint8_t digest[SHA256_BYTES];
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add(&hash, d->raw.p, d->raw.n);
	sha256_end(&hash, digest);
	sha256_hex(digest, d->hex);
}

static void add_ask(const struct event *e, struct arena *a, struct verdict *v, enum rule rule, str reason)
{
	struct guard_finding finding = { .rule = str_of(guard_rules[rule].name),
		.action = VERDICT_ASK,
		.reason = reason };

	guard_apply(&(struct guard_report){ .findings = &finding }, e, a, v);
}

/* The reading itself failed. What it had found so far is not to be relied on, so a person should look. The log must not
 * quote the call, which may hold secrets: its length and hash are enough to find it again. */
static void note_crash(const struct event *e, struct arena *a, struct verdict *v, int signal)
{
	struct description d = { .raw = e->raw };

	if (os_call_guarded(describe, &d) != 0)
		snprintf(d.hex, sizeof d.hex, "unreadable");
	log_error(LOG_ENGINE, "guard: signal %d while judging a call of %zu bytes, sha256 %s; the verdict is ask",
		signal, e->raw.n, d.hex);
	add_ask(e, a, v, RULE_CRASHED, STR("hookd failed while it was checking this, so a person should look at it"));
}

/* Lets go of the directory. */
static int judge_in(struct judging *j, struct directory *d)
{
	struct guard_policy *policy = guard_in_force(j->g);
	int signal;

	j->policy = policy;
	j->directory = d;
	signal = os_call_guarded(judge, j);
	if (signal)
		note_crash(j->e, j->a, j->v, signal);
	if (signal || j->result == 0)
		tell_trouble(d, j->a, j->v);
	guard_policy_unref(policy);
	directory_unref(d);
	return signal ? 0 : j->result;
}

static bool is_judged(const struct event *e)
{
	return e->kind == EVENT_PRE_TOOL_USE || e->kind == EVENT_PERMISSION_REQUEST;
}

int guard_event(struct guard *g, const struct event *e, struct arena *a, struct verdict *v, bool may_use_disk)
{
	struct lookups lookups = { .may_use_disk = may_use_disk, .since_us = since_of(e) };
	struct judging j = { .g = g, .e = e, .a = a, .v = v, .lookups = &lookups };
	struct directory *d;
	int r = is_judged(e) ? get_directory(g, a, e->cwd, may_use_disk, &d) : 0;

	return r < 0 || !is_judged(e) ? r : judge_in(&j, d);
}

void guard_event_by_text(struct guard *g, const struct event *e, struct arena *a, struct verdict *v)
{
	struct lookups lookups = { .never = true, .since_us = since_of(e) };
	struct judging j = { .g = g, .e = e, .a = a, .v = v, .lookups = &lookups };
	struct directory *d = is_judged(e) ? find_directory(g, e->cwd) : NULL;

	if (!is_judged(e))
		return;
	if (!d && e->cwd.n)
		add_ask(e, a, v, RULE_UNREAD,
			STR("the disk does not answer, so hookd cannot tell which rules this project has"));
	(void)judge_in(&j, d);
}
