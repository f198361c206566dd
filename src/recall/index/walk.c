/* Which files of a repository are read. Links are never followed, other file systems and repositories inside this one
 * never entered; descriptors lead from directory to directory, so no name is too long or changes under way. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "index/internal.h"
#include "redact/redact.h"

struct walker {
	const struct indexer_options *o;
	struct walk *walk;
	dev_t device;
	bool git;
	struct redactor *redactor;   /* made when the first name is looked at */
	const struct ignore *forced; /* what the user excludes: nothing takes that back */
	int root;
	struct arena *arena;
	struct tracked tracked; /* read when something is ignored */
	bool has_read_tracked;
	size_t max;
	char path[PATH_BYTES_MAX + 1];
};

int64_t walk_ctime_ns(const struct stat *st)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

int walk_open_root(const char *root)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int enter(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int walk_open(int root, str path)
{
	char name[NAME_MAX + 1];
	int at = root, next;
	str part;

	if (path.n > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	while (str_split(&path, '/', &part)) {
		bool last = !path.n;

		if (!part.n || part.n > NAME_MAX || str_eq(part, STR("..")) || str_eq(part, STR("."))) {
			next = -EINVAL;
		} else {
			memcpy(name, part.p, part.n);
			name[part.n] = 0;
			next = last ? openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
				    : enter(at, name);
			next = next == -1 ? -errno : next;
		}
		if (at != root)
			close(at);
		if (next < 0 || last)
			return next;
		at = next;
	}
	return -EINVAL;
}

/* -- rules ------------------------------------------------------------------------------------- */

static const struct ignore *read_from(struct arena *a, const char *path, const struct ignore *above)
{
	return ignore_read(a, AT_FDCWD, path, STR(""), above);
}

/* .git/info/exclude; in a worktree it is the main checkout's. */
static const struct ignore *read_exclude(struct walker *w, int root, struct arena *a, const struct ignore *above)
{
	char path[FS_PATH];

	if (w->o->main && w->o->main[0] && fs_join(path, w->o->main, ".git/info/exclude") == 0)
		return read_from(a, path, above);
	return ignore_read(a, root, ".git/info/exclude", STR(""), above);
}

static const struct ignore *first_rules(struct walker *w, int root, struct arena *a)
{
	const struct ignore *rules = NULL;
	char path[FS_PATH];

	if (w->o->home && w->o->home[0] && fs_join(path, w->o->home, ".config/git/ignore") == 0)
		rules = read_from(a, path, rules);
	return w->git ? read_exclude(w, root, a, rules) : rules;
}

static void begin(struct walker *w, const struct indexer_options *o, int root, struct arena *a)
{
	struct stat st;
	char *text, *p;

	w->o = o;
	w->root = root;
	w->arena = a;
	w->device = fstat(root, &st) == 0 ? st.st_dev : 0;
	w->git = fstatat(root, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
	w->max = o->max_files ? MIN(o->max_files, (uint64_t)FILES_MAX) : FILES_MAX;
	if (!o->exclude || !o->exclude[0])
		return;
	text = (char *)arena_cstr(a, str_of(o->exclude));
	for (p = text; *p; p++)
		*p = *p == ' ' ? '\n' : *p;
	w->forced = ignore_parse(a, str_of(text), STR(""), NULL);
}

static bool is_tracked(struct walker *w, str path, bool is_dir)
{
	if (!w->has_read_tracked && w->git)
		tracked_read(w->root, w->arena, &w->tracked);
	w->has_read_tracked = true;
	return tracked_has(&w->tracked, path, is_dir);
}

/* hookd's own files are nobody's code, and following them would never end. */
static bool is_own(const struct walker *w, str path)
{
	size_t n = strlen(w->o->root);

	for (const char *const *own = w->o->own; own && *own; own++)
		if (strncmp(*own, w->o->root, n) == 0 && (*own)[n] == '/' && str_eq(path, str_of(*own + n + 1)))
			return true;
	return false;
}

/* Names are kept, and shown. */
static bool has_secret(struct walker *w, str path)
{
	static const str mark = STR("[redacted");
	struct arena a = { 0 };
	bool has;

	if (!w->redactor)
		w->redactor = redactor_new();
	/* Not any difference: bytes that are no text are replaced, too. */
	has = str_find(redact_text(w->redactor, &a, path), mark) >= 0 && str_find(path, mark) < 0;
	arena_release(&a);
	return has;
}

enum fate { LEFT_OUT, TAKEN, IF_TRACKED }; /* the last: of an ignored directory only what git knows */

/* What becomes of an entry of a directory that has such a fate itself. */
static enum fate fate_of(struct walker *w, enum fate above, const struct ignore *rules, str path, str name, bool is_dir)
{
	/* In a worktree .git is a file. */
	if (str_eq(name, STR(".git")) || (is_dir ? skip_directory(name, w->git) != NULL : skip_name(path) != NULL) ||
		ignore_has(w->forced, path, is_dir) || (is_dir ? is_own(w, path) : has_secret(w, name)))
		return LEFT_OUT;
	if (above == TAKEN && !ignore_has(rules, path, is_dir))
		return TAKEN;
	if (!is_tracked(w, path, is_dir))
		return LEFT_OUT;
	return is_dir ? IF_TRACKED : TAKEN;
}

/* Another repository: its own index. */
static bool is_repository(int dir)
{
	struct stat st;

	return fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* -- all of it --------------------------------------------------------------------------------- */

static void add_file(struct walker *w, str path, const struct stat *st)
{
	struct walk *k = w->walk;

	if (k->n == w->max) {
		k->cut = true;
		return;
	}
	if (k->n == k->cap)
		k->files = xrealloc(k->files, (k->cap = k->cap ? 2 * k->cap : 1024) * sizeof *k->files);
	k->files[k->n++] = (struct walk_file){ arena_str(&k->arena, path), st->st_size, walk_ctime_ns(st) };
}

static void walk_directory(struct walker *w, int fd, size_t n, unsigned depth, enum fate fate,
	const struct ignore *rules);

static void walk_below(struct walker *w, int dir, const char *name, size_t n, unsigned depth, enum fate fate,
	const struct ignore *rules)
{
	int fd = depth < DEPTH_MAX ? enter(dir, name) : -ELOOP;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_dev == w->device && !is_repository(fd))
		walk_directory(w, fd, n, depth + 1, fate, rules);
	else
		close(fd);
}

static void walk_entry(struct walker *w, int dir, const char *name, size_t n, unsigned depth, enum fate fate,
	const struct ignore *rules)
{
	size_t len = strlen(name), whole = n ? n + 1 + len : len;
	str path;
	struct stat st;

	if (whole > PATH_BYTES_MAX || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (n)
		w->path[n] = '/';
	memcpy(w->path + whole - len, name, len + 1);
	path = str_n(w->path, whole);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return;
	fate = fate_of(w, fate, rules, path, str_n(w->path + whole - len, len), S_ISDIR(st.st_mode));
	if (fate == LEFT_OUT) {
		w->walk->skipped += S_ISREG(st.st_mode);
		return;
	}
	if (S_ISDIR(st.st_mode))
		walk_below(w, dir, name, whole, depth, fate, rules);
	else if (st.st_size > FILE_BYTES_MAX)
		w->walk->skipped++;
	else if (st.st_size > 0)
		add_file(w, path, &st);
}

/* Takes the descriptor. w->path has n bytes of its name. */
static void walk_directory(struct walker *w, int fd, size_t n, unsigned depth, enum fate fate,
	const struct ignore *rules)
{
	struct dirent *e;
	DIR *d;

	w->path[n] = 0;
	if (w->o->enters)
		w->o->enters(w->path, w->o->arg);
	rules = ignore_read(&w->walk->arena, fd, ".gitignore", str_n(w->path, n), rules);
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d)) && !w->walk->cut && !w->walk->interrupted) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		walk_entry(w, dirfd(d), e->d_name, n, depth, fate, rules);
		if (w->walk->n % 256 == 0 && w->o->is_over && w->o->is_over(w->o->arg))
			w->walk->interrupted = true;
	}
	closedir(d);
}

static int compare_files(const void *a, const void *b)
{
	str x = ((const struct walk_file *)a)->path, y = ((const struct walk_file *)b)->path;
	int order = memcmp(x.p, y.p, MIN(x.n, y.n));

	return order ? order : x.n < y.n ? -1 : x.n > y.n;
}

int walk_tree(const struct indexer_options *o, int root, struct walk *ret)
{
	struct walker *w = xcalloc(1, sizeof *w);
	int fd = enter(root, ".");

	*ret = (struct walk){ 0 };
	if (fd >= 0) {
		w->walk = ret;
		begin(w, o, root, &ret->arena);
		walk_directory(w, fd, 0, 0, TAKEN, first_rules(w, root, &ret->arena));
		if (ret->n)
			qsort(ret->files, ret->n, sizeof *ret->files, compare_files);
	}
	redactor_free(w->redactor);
	free(w);
	return MIN(fd, 0);
}

void walk_release(struct walk *w)
{
	free(w->files);
	arena_release(&w->arena);
	*w = (struct walk){ 0 };
}

/* -- one of them ------------------------------------------------------------------------------- */

/* Follows the parts of a path as the walk would. Takes the descriptor. */
static int follow(struct walker *w, int fd, str path, struct arena *a, const struct ignore *rules, struct stat *ret)
{
	size_t begin = 0;
	unsigned depth = 0;
	enum fate fate = TAKEN;

	for (;;) {
		size_t end = begin;
		char name[NAME_MAX + 1];
		int next;

		while (end < path.n && path.p[end] != '/')
			end++;
		if (end == begin || end - begin > NAME_MAX || depth++ > DEPTH_MAX)
			break;
		memcpy(name, path.p + begin, end - begin);
		name[end - begin] = 0;
		rules = ignore_read(a, fd, ".gitignore", str_n(path.p, begin ? begin - 1 : 0), rules);
		if (fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW) < 0 || (end < path.n && !S_ISDIR(ret->st_mode)))
			break;
		fate = fate_of(w, fate, rules, str_n(path.p, end), str_of(name), S_ISDIR(ret->st_mode));
		if (fate == LEFT_OUT)
			break;
		if (end == path.n) {
			close(fd);
			return S_ISDIR(ret->st_mode) ? 2 : 1;
		}
		next = enter(fd, name);
		close(fd);
		if (next < 0)
			return 0;
		if (is_repository(next)) {
			close(next);
			return 0;
		}
		fd = next;
		begin = end + 1;
	}
	close(fd);
	return 0;
}

int walk_one(const struct indexer_options *o, int root, str path, struct walk_file *ret)
{
	struct walker *w = xcalloc(1, sizeof *w);
	struct arena a = { 0 };
	struct stat st = { 0 };
	int fd = enter(root, "."), found = 0;

	if (fd >= 0 && path.n && path.n <= PATH_BYTES_MAX && path.p[0] != '/') {
		begin(w, o, root, &a);
		found = follow(w, fd, path, &a, first_rules(w, root, &a), &st);
	} else if (fd >= 0) {
		close(fd);
	}
	*ret = (struct walk_file){ path, st.st_size, walk_ctime_ns(&st) };
	if (found == 1 && (!S_ISREG(st.st_mode) || !st.st_size || st.st_size > FILE_BYTES_MAX))
		found = 0;
	arena_release(&a);
	redactor_free(w->redactor);
	free(w);
	return found;
}
