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
#include "install/files.h"
#include "install/approval.h"

/* -- places ------------------------------------------------------------------------------------ */

static int find_path(const struct install_request *q, const struct hook_file *f, char out[FS_PATH], struct err *err)
{
	int r = hook_file_path(q, f, out);

	if (r == -EINVAL)
		return err_set(err, r, "HOME is not set to an absolute path, so the file of %s cannot be found",
			q->agent->label);
	return r < 0 ? err_set(err, r, "the path of the file of %s is too long", q->agent->label) : 0;
}

static int check_known(const struct install_request *q, struct err *err)
{
	if (hook_file_first(q->agent))
		return 0;
	return err_set(err, -EOPNOTSUPP,
		"%s has no settings that hookd knows; let it run: hookc %s EVENT, with the event as JSON on stdin; "
		"exit "
		"code 2 is a refusal, and stderr says why",
		q->agent->label, q->agent->name);
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
	const struct hook_file *f = hook_file_first(q->agent);
	struct install_request user = *q;
	char dir[FS_PATH];
	struct stat st;

	user.project = NULL;
	if (!f)
		return false;
	if (hook_file_dir(&user, dir) == 0 && stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
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
	case -EFBIG: return "larger than 4 MiB";
	case -EINVAL: return "not a plain file";
	case -ELOOP: return "a dangling link";
	case -EPERM: return "it belongs to another user; run hookd as that user";
	}
	return strerror(-code);
}

/* The whole file into the arena. A missing one is no error: *ret_exists says. */
static int read_settings(const char *path, struct arena *a, str *ret, bool *ret_exists, struct err *err)
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

/* The next file of a plan, as it is now. */
static int start_change(const struct install_request *q, const struct hook_file *f, struct arena *a,
	struct install_plan *p, struct install_change **ret, struct err *err)
{
	struct install_change *c;
	int r;

	if (p->n == INSTALL_FILES_MAX)
		return err_set(err, -E2BIG, "too many files");
	c = *ret = &p->files[p->n++];
	*c = (struct install_change){ .noun = f->format->noun };
	r = find_path(q, f, c->path, err);
	return r < 0 ? r : read_settings(c->path, a, &c->before, &c->exists, err);
}

static void take_counts(struct install_change *c, const struct install_counts *n)
{
	c->added = n->added;
	c->changed = n->changed;
	c->removed = n->removed;
	c->unused = n->unused;
	c->note = n->note;
	c->noun = n->noun ? n->noun : c->noun;
}

/* JSON text cannot hold any path that a file system can. */
static int check_paths(const struct install_request *q, struct err *err)
{
	const char *paths[] = { q->hookc, q->state };

	for (size_t i = 0; i < countof(paths); i++) {
		if (!paths[i] || paths[i][0] != '/')
			return err_set(err, -EINVAL, "'%s' is not an absolute path", paths[i] ? paths[i] : "");
		if (!utf8_valid(str_of(paths[i])))
			return err_set(err, -EINVAL, "a path that is not UTF-8 cannot be written into a hook file");
	}
	return 0;
}

static int plan_add(const struct install_request *q, const struct hook_file *f, struct arena *a, struct install_plan *p,
	struct err *err)
{
	struct install_counts n = { 0 };
	struct install_change *c;
	int r = start_change(q, f, a, p, &c, err);

	if (r == 0)
		r = f->format->add(q, c->before, a, &c->after, &n, err);
	if (r < 0)
		return r;
	take_counts(c, &n);
	if (f->trust && n.added + n.changed && !str_is_set(c->note))
		c->note = arena_strf(a, "%s runs new or changed hooks only after you trust them: %s", q->agent->label,
			f->how_to_trust);
	return 0;
}

/* The file still is what install wrote: the original comes back. An original that held entries of
 * ours (from an install whose backup was lost) comes back without them. */
static int plan_restore(const struct install_request *q, const struct hook_file *f, const struct backup *b,
	struct arena *a, struct install_change *c, struct err *err)
{
	struct install_counts ignored;

	if (!b->existed) {
		c->remove = true;
		c->after = STR("");
		return 0;
	}
	return f->format->remove(q, b->original, STR_NONE, a, &c->after, &ignored, err);
}

static int plan_remove(const struct install_request *q, const struct hook_file *f, struct arena *a,
	struct install_plan *p, struct err *err)
{
	struct install_counts n = { 0 };
	struct install_change *c;
	struct backup b;
	bool known;
	int r = start_change(q, f, a, p, &c, err);

	if (r < 0 || !c->exists)
		return r;
	known = backup_read(q->state, c->path, a, &b) == 0;
	r = f->format->remove(q, c->before, known ? b.original : STR_NONE, a, &c->after, &n, err);
	if (r < 0)
		return r;
	take_counts(c, &n);
	if (!known || !n.removed)
		return 0;
	if (backup_matches(&b, c->before) && (!b.existed || str_is_set(b.original)))
		return plan_restore(q, f, &b, a, c, err);
	/* Somebody rewrote the file, but nothing of theirs is in it. */
	if (!b.existed && f->format->is_empty(q, c->after)) {
		c->remove = true;
		c->after = STR("");
	}
	return 0;
}

static int plan_all(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err,
	int (*plan)(const struct install_request *q, const struct hook_file *f, struct arena *a, struct install_plan *p,
		struct err *err))
{
	const struct hook_file *f = NULL;
	int r = check_known(q, err);

	while (r == 0 && (f = hook_file_next(q, f)))
		r = plan(q, f, a, ret, err);
	return r;
}

int install_plan_add(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err)
{
	int r = check_paths(q, err);

	*ret = (struct install_plan){ .agent = q->agent };
	return r < 0 ? r : plan_all(q, a, ret, err, plan_add);
}

int install_plan_remove(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err)
{
	*ret = (struct install_plan){ .agent = q->agent, .uninstall = true };
	return plan_all(q, a, ret, err, plan_remove);
}

void install_write_diff(const struct install_change *c, struct buf *b)
{
	diff_write(b, c->exists ? c->path : "/dev/null", c->before, c->remove ? "/dev/null" : c->path, c->after);
}

const char *install_how_to_trust(const struct agent *agent)
{
	const struct hook_file *f = hook_file_first(agent);

	return f ? f->how_to_trust : NULL;
}

static int list_file(const struct install_request *q, const struct hook_file *f, struct arena *a,
	struct install_entry **ret, struct err *err)
{
	char path[FS_PATH];
	struct err why = { 0 };
	bool exists;
	str text;
	int r = find_path(q, f, path, err);

	*ret = NULL;
	if (r == 0)
		r = read_settings(path, a, &text, &exists, err);
	if (r == 0 && exists)
		r = f->format->list(q, text, a, ret, &why);
	if (why.line)
		err_set(err, r, "%s:%u:%u: %s", path, why.line, why.col, why.text);
	if (r == 0 && f->trust && *ret)
		trust_check(q, f, path, *ret, a);
	return r;
}

int install_list(const struct install_request *q, struct arena *a, struct install_entry **ret, struct err *err)
{
	struct install_entry **tail = ret;
	const struct hook_file *f = NULL;
	int r = check_known(q, err);

	*ret = NULL;
	while (r == 0 && (f = hook_file_next(q, f))) {
		r = list_file(q, f, a, tail, err);
		while (*tail)
			tail = &(*tail)->next;
	}
	return r;
}

/* -- carrying out ------------------------------------------------------------------------------ */

static void parent_of(const char *path, char out[FS_PATH])
{
	snprintf(out, FS_PATH, "%.*s", (int)(strrchr(path, '/') - path), path);
}

/* What is there already: the home or project, which is never made; or, for a folder that was moved elsewhere by the
 * environment, all but its last two parts. */
static size_t length_of_base(const struct install_request *q, const char *dir)
{
	str base = str_of(q->project ? q->project : q->home), path = str_of(dir);
	size_t n = path.n, slashes = 0;

	if (str_starts(path, base) && base.n < path.n && path.p[base.n] == '/')
		return base.n;
	while (n > 1 && slashes < 2)
		slashes += path.p[--n] == '/';
	return n;
}

/* Makes the file's directory and those above it. Gives the uppermost new one to the backup. */
static int make_dirs(const struct install_request *q, const char *dir, struct arena *a, struct backup *b)
{
	char path[FS_PATH];

	for (size_t n = length_of_base(q, dir) + 1; n <= strlen(dir); n++) {
		if (dir[n] != '/' && dir[n])
			continue;
		snprintf(path, sizeof path, "%.*s", (int)n, dir);
		if (mkdir(path, 0700) == 0) {
			/* Whatever the umask took away. */
			if (chmod(path, 0700) < 0)
				return -errno;
			b->made_dir = str_is_set(b->made_dir) ? b->made_dir : arena_str(a, str_of(path));
		} else if (errno != EEXIST) {
			return -errno;
		}
	}
	return 0;
}

/* Only while they are empty: whoever put something there keeps it. */
static void remove_dirs(const char *path, str made)
{
	char dir[FS_PATH];

	parent_of(path, dir);
	while (rmdir(dir) == 0 && strlen(dir) > made.n) {
		char up[FS_PATH];

		parent_of(dir, up);
		memcpy(dir, up, sizeof dir);
	}
}

/* What is to be known about the file once the plan is carried out. */
static void next_backup(const struct install_request *q, const struct hook_file *f, const struct install_change *c,
	struct arena *a, struct backup *ret)
{
	struct install_entry *ours = NULL;
	bool known = backup_read(q->state, c->path, a, ret) == 0;

	if (known && c->exists && backup_matches(ret, c->before)) {
		backup_note_written(ret, c->after);
		return;
	}
	if (known && c->exists && f->format->list(q, c->before, a, &ours, NULL) == 0 && ours) {
		/* Others changed the file since: the original may not come back as a whole. */
		ret->wrote[0] = 0;
		return;
	}
	/* The first install, or the first after somebody took our entries out by hand. */
	*ret = (struct backup){
		.existed = c->exists,
		.original = c->exists ? c->before : STR_NONE,
		.made_dir = known ? ret->made_dir : STR_NONE,
	};
	backup_note_written(ret, c->after);
}

static int apply_add(const struct install_request *q, const struct hook_file *f, const struct install_change *c,
	const char *target, struct arena *a)
{
	struct backup b;
	char dir[FS_PATH];
	int r = 0;

	next_backup(q, f, c, a, &b);
	if (!c->exists) {
		parent_of(c->path, dir);
		r = make_dirs(q, dir, a, &b);
	}
	if (r == 0)
		r = backup_write(q->state, c->path, &b);
	return r < 0 ? r : fs_replace_file(target, c->after, /* sync= */ true);
}

static int apply_remove(const struct install_request *q, const struct hook_file *f, const struct install_change *c,
	const char *target, struct arena *a)
{
	struct backup b;
	bool known = backup_read(q->state, c->path, a, &b) == 0;
	int r = 0;

	if (!c->remove)
		r = fs_replace_file(target, c->after, /* sync= */ true);
	else if (unlink(c->path) < 0)
		r = -errno;
	if (r < 0)
		return r;
	if (c->remove && known && str_is_set(b.made_dir))
		remove_dirs(c->path, b.made_dir);
	backup_drop(q->state, c->path);
	return 0;
}

/* Whether the file is still as it was when the plan was made. */
static int check_unchanged(const struct install_change *c, struct arena *a, struct err *err)
{
	bool exists;
	str now;
	int r = read_settings(c->path, a, &now, &exists, err);

	if (r == 0 && (exists != c->exists || !str_eq(now, c->before)))
		r = err_set(err, -ESTALE, "%s changed in the meantime; nothing was written; run the command again",
			c->path);
	return r;
}

static int apply_change(const struct install_request *q, const struct hook_file *f, bool uninstall,
	const struct install_change *c, struct arena *a, struct err *err)
{
	char target[FS_PATH];
	int r;

	if (install_change_is_empty(c))
		return 0;
	r = resolve(c->path, target);
	if (r == 0)
		r = (uninstall ? apply_remove : apply_add)(q, f, c, target, a);
	return r < 0 ? err_set(err, r, "%s cannot be written: %s", c->path, strerror(-r)) : 0;
}

int install_apply(const struct install_request *q, const struct install_plan *p, struct err *err)
{
	const struct hook_file *files[INSTALL_FILES_MAX], *f = NULL;
	struct arena a;
	int r = 0;

	arena_init(&a);
	for (unsigned i = 0; r == 0 && i < p->n; i++) {
		files[i] = f = hook_file_next(q, f);
		if (!install_change_is_empty(&p->files[i]))
			r = check_unchanged(&p->files[i], &a, err);
	}
	/* Back in the other order: the first file is the one that knows of a directory we made. */
	for (unsigned n = 0; r == 0 && n < p->n; n++) {
		unsigned i = p->uninstall ? p->n - 1 - n : n;

		r = apply_change(q, files[i], p->uninstall, &p->files[i], &a, err);
	}
	arena_release(&a);
	return r;
}
