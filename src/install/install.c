/* Plans and their execution: everything that touches the disk. */
#include "install/install.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diff.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "install/backup.h"
#include "install/edit.h"

/* Where an agent keeps its hooks. An agent without a row is not known yet. */
struct hook_file {
	const char *agent;
	const char *program;
	const char *dir;     /* below the home directory or the project */
	const char *dir_env; /* moves the user's one elsewhere */
	const char *user, *project;
};

static const struct hook_file hook_files[] = {
	/* In a project, the file that is not checked in: hooks name paths of one machine. */
	{ "claude", "claude", ".claude", "CLAUDE_CONFIG_DIR", "settings.json",
		"settings.local.json" },
};

static const struct hook_file *find_hook_file(const struct agent *agent)
{
	for (size_t i = 0; i < countof(hook_files); i++)
		if (strcmp(hook_files[i].agent, agent->name) == 0)
			return &hook_files[i];
	return NULL;
}

/* -- places ------------------------------------------------------------------------------------ */

static int hook_dir(const struct install_request *q, const struct hook_file *f, char out[FS_PATH])
{
	const char *moved = q->project ? NULL : getenv(f->dir_env),
		   *base = q->project ? q->project : q->home;

	if (moved && moved[0] == '/') {
		int n = snprintf(out, FS_PATH, "%s", moved);

		return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
	}
	return base && base[0] == '/' ? fs_join(out, base, f->dir) : -EINVAL;
}

static int find_path(const struct install_request *q, char out[FS_PATH], struct err *err)
{
	const struct hook_file *f = find_hook_file(q->agent);
	char dir[FS_PATH];
	int r;

	if (!f)
		return err_set(err, -EOPNOTSUPP,
			"%s cannot be connected yet: its hook file is not known to this release",
			q->agent->label);
	r = hook_dir(q, f, dir);
	if (r == 0)
		r = fs_join(out, dir, q->project ? f->project : f->user);
	if (r == -EINVAL)
		return err_set(err, r,
			"HOME is not set to an absolute path, so the file of %s cannot be found",
			q->agent->label);
	return r < 0 ? err_set(err, r, "the path of the file of %s is too long", q->agent->label)
		     : 0;
}

static bool is_in_path(const char *program)
{
	str rest = str_of(getenv("PATH")), dir;
	char file[FS_PATH];
	struct stat st;

	while (str_split(&rest, ':', &dir)) {
		int n = snprintf(file, sizeof file, STR_FMT "/%s", STR_ARG(dir), program);

		if (dir.n && n > 0 && n < FS_PATH && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
			access(file, X_OK) == 0)
			return true;
	}
	return false;
}

bool install_agent_found(const struct install_request *q)
{
	const struct hook_file *f = find_hook_file(q->agent);
	struct install_request user = *q;
	char dir[FS_PATH];
	struct stat st;

	user.project = NULL;
	if (!f)
		return false;
	if (hook_dir(&user, f, dir) == 0 && stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	return is_in_path(f->program);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* The file behind a link: it is replaced, the link stays. */
static int resolve(const char *path, char out[FS_PATH])
{
	struct stat st;
	char *real;
	int n;

	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode)) {
		n = snprintf(out, FS_PATH, "%s", path);
		return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
	}
	real = realpath(path, NULL);
	if (!real)
		return errno == ENOENT ? -ELOOP : -errno;
	n = snprintf(out, FS_PATH, "%s", real);
	free(real);
	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

static const char *why_unreadable(int code)
{
	switch (code) {
	case -EFBIG:
		return "larger than 4 MiB";
	case -EINVAL:
		return "not a plain file";
	case -ELOOP:
		return "a link that leads nowhere";
	case -EPERM:
		return "it belongs to somebody else; run hookd as that user";
	}
	return strerror(-code);
}

/* The whole file into the arena. A missing one is no error: *ret_exists says. */
static int read_settings(
	const char *path, struct arena *a, str *ret, bool *ret_exists, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	char target[FS_PATH];
	struct stat st;
	int r = resolve(path, target);

	*ret = STR("");
	*ret_exists = false;
	if (r == 0 && stat(target, &st) == 0 && st.st_uid != geteuid())
		r = -EPERM;
	if (r == 0)
		r = fs_read_file(target, &b);
	if (r == 0) {
		*ret = arena_str(a, buf_str(&b));
		*ret_exists = true;
	}
	buf_release(&b);
	if (r == 0 || r == -ENOENT)
		return 0;
	return err_set(err, r, "%s cannot be used: %s", path, why_unreadable(r));
}

/* -- plans ------------------------------------------------------------------------------------- */

static int start_plan(
	const struct install_request *q, struct arena *a, struct install_plan *p, struct err *err)
{
	int r;

	*p = (struct install_plan){ .agent = q->agent };
	r = find_path(q, p->path, err);
	return r < 0 ? r : read_settings(p->path, a, &p->before, &p->exists, err);
}

static void take_counts(struct install_plan *p, const struct install_counts *n)
{
	p->added = n->added;
	p->changed = n->changed;
	p->removed = n->removed;
}

/* JSON text cannot hold any path that a file system can. */
static int check_paths(const struct install_request *q, struct err *err)
{
	const char *paths[] = { q->hookc, q->state };

	for (size_t i = 0; i < countof(paths); i++) {
		if (!paths[i] || paths[i][0] != '/')
			return err_set(err, -EINVAL, "'%s' is not an absolute path",
				paths[i] ? paths[i] : "");
		if (!utf8_valid(str_of(paths[i])))
			return err_set(err, -EINVAL,
				"a path that is not UTF-8 cannot be written into a hook file");
	}
	return 0;
}

int install_plan_add(
	const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err)
{
	struct install_counts n;
	int r = check_paths(q, err);

	if (r == 0)
		r = start_plan(q, a, ret, err);
	if (r == 0)
		r = install_edit_add(q, ret->before, a, &ret->after, &n, err);
	if (r == 0)
		take_counts(ret, &n);
	return r;
}

/* The file still is what install wrote: the original comes back. An original that held entries of
 * ours (from an install whose backup was lost) comes back without them. */
static int plan_restore(
	const struct backup *b, struct arena *a, struct install_plan *p, struct err *err)
{
	struct install_counts ignored;

	if (!b->existed) {
		p->remove = true;
		p->after = STR("");
		return 0;
	}
	return install_edit_remove(b->original, STR_NONE, a, &p->after, &ignored, err);
}

int install_plan_remove(
	const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err)
{
	struct install_counts n = { 0 };
	struct backup b;
	bool known;
	int r = start_plan(q, a, ret, err);

	ret->uninstall = true;
	if (r < 0 || !ret->exists)
		return r;
	known = backup_read(q->state, ret->path, a, &b) == 0;
	r = install_edit_remove(
		ret->before, known ? b.original : STR_NONE, a, &ret->after, &n, err);
	if (r < 0)
		return r;
	take_counts(ret, &n);
	if (!known || !n.removed)
		return 0;
	if (backup_matches(&b, ret->before) && (!b.existed || str_is_set(b.original)))
		return plan_restore(&b, a, ret, err);
	/* Somebody wrote the file anew, but nothing of theirs is in it. */
	if (!b.existed && install_edit_is_empty(ret->after)) {
		ret->remove = true;
		ret->after = STR("");
	}
	return 0;
}

void install_write_diff(const struct install_plan *p, struct buf *b)
{
	diff_write(b, p->exists ? p->path : "/dev/null", p->before,
		p->remove ? "/dev/null" : p->path, p->after);
}

int install_list(const struct install_request *q, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	char path[FS_PATH];
	bool exists;
	str text;
	int r = find_path(q, path, err);

	*ret = NULL;
	if (r == 0)
		r = read_settings(path, a, &text, &exists, err);
	return r < 0 || !exists ? r : install_edit_list(q, text, a, ret, err);
}

/* -- carrying out ------------------------------------------------------------------------------ */

static void parent_of(const char *path, char out[FS_PATH])
{
	snprintf(out, FS_PATH, "%.*s", (int)(strrchr(path, '/') - path), path);
}

/* Makes the agent's own directory; its parents must be there. Gives it to the backup when it is
 * new. */
static int make_dir(const struct install_plan *p, struct arena *a, struct backup *b)
{
	char dir[FS_PATH];

	parent_of(p->path, dir);
	if (mkdir(dir, 0700) == 0) {
		b->made_dir = arena_str(a, str_of(dir));
		/* Whatever the umask took away. */
		return chmod(dir, 0700) < 0 ? -errno : 0;
	}
	return errno == EEXIST ? 0 : -errno;
}

/* What is to be known about the file once the plan is carried out. */
static void next_backup(const struct install_request *q, const struct install_plan *p,
	struct arena *a, struct backup *ret)
{
	struct install_entry *ours = NULL;
	bool known = backup_read(q->state, p->path, a, ret) == 0;

	if (known && p->exists && backup_matches(ret, p->before)) {
		backup_note_written(ret, p->after);
		return;
	}
	if (known && p->exists && install_edit_list(q, p->before, a, &ours, NULL) == 0 && ours) {
		/* Others changed the file since: the original may not come back as a whole. */
		ret->wrote[0] = 0;
		return;
	}
	/* The first install, or the first after somebody took our entries out by hand. */
	*ret = (struct backup){
		.existed = p->exists,
		.original = p->exists ? p->before : STR_NONE,
		.made_dir = known ? ret->made_dir : STR_NONE,
	};
	backup_note_written(ret, p->after);
}

static int apply_add(const struct install_request *q, const struct install_plan *p,
	const char *target, struct arena *a)
{
	struct backup b;
	int r = 0;

	next_backup(q, p, a, &b);
	if (!p->exists)
		r = make_dir(p, a, &b);
	if (r == 0)
		r = backup_write(q->state, p->path, &b);
	return r < 0 ? r : fs_replace_file(target, p->after, /* sync= */ true);
}

static int apply_remove(const struct install_request *q, const struct install_plan *p,
	const char *target, struct arena *a)
{
	struct backup b;
	bool known = backup_read(q->state, p->path, a, &b) == 0;
	int r = 0;

	if (!p->remove)
		r = fs_replace_file(target, p->after, /* sync= */ true);
	else if (unlink(p->path) < 0)
		r = -errno;
	if (r < 0)
		return r;
	/* Only when it is empty; whoever put something there keeps it. */
	if (p->remove && known && str_is_set(b.made_dir))
		rmdir(b.made_dir.p);
	backup_drop(q->state, p->path);
	return 0;
}

/* Whether the plan still speaks of the file as it is. */
static int check_unchanged(const struct install_plan *p, struct arena *a, struct err *err)
{
	bool exists;
	str now;
	int r = read_settings(p->path, a, &now, &exists, err);

	if (r == 0 && (exists != p->exists || !str_eq(now, p->before)))
		r = err_set(err, -ESTALE,
			"%s changed meanwhile; nothing was written, run the command again",
			p->path);
	return r;
}

int install_apply(const struct install_request *q, const struct install_plan *p, struct err *err)
{
	char target[FS_PATH];
	struct arena a;
	int r;

	if (install_plan_is_empty(p))
		return 0;
	arena_init(&a);
	r = check_unchanged(p, &a, err);
	if (r == 0) {
		r = resolve(p->path, target);
		if (r == 0)
			r = (p->uninstall ? apply_remove : apply_add)(q, p, target, &a);
		if (r < 0)
			err_set(err, r, "%s cannot be written: %s", p->path, strerror(-r));
	}
	arena_release(&a);
	return r;
}
