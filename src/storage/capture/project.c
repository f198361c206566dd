/* Projects: what a directory belongs to.
 *
 * The answer is asked of the disk once per directory and then kept in `directories`, so that refolding gives the same
 * rows after the disk has changed. A lookup costs a few stat calls and never waits long: the writer has other events
 * to fold. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "capture/internal.h"
#include "project/project.h"

enum { LOOK_MS = 300 };

/* The folder has another name now. The old path stays as an alias: events that are refolded refer to it. */
static int follow(struct store *s, int64_t key, int64_t merged, str old, const char *path)
{
	int r = store_do(s, "DELETE FROM projects WHERE path = ?1 AND merged IS NOT NULL", "s", str_of(path));

	if (r == 0)
		r = store_do(s,
			"UPDATE projects SET path = ?2, name = CASE WHEN named THEN name ELSE ?3 END WHERE key "
			"= ?1",
			"iss", key, str_of(path), str_of(strrchr(path, '/') + 1));
	if (r == 0)
		r = store_do(s,
			"INSERT INTO projects(path, name, merged, created_at) SELECT ?2, name, ?3, created_at "
			"FROM projects WHERE key = ?1",
			"isi", key, old, merged ? merged : key);
	return r;
}

/* A folder that is gone from where it was and is here now, with the same inode, was renamed. */
static int find_renamed(struct store *s, const char *path, const struct stat *st, int64_t *ret)
{
	char old[FS_PATH] = "";
	int64_t key = 0, merged = 0;
	struct query *q =
		store_ask(s, "SELECT key, path, merged FROM projects WHERE device = ?1 AND inode = ?2 AND path <> ?3",
			"iis", (int64_t)st->st_dev, (int64_t)st->st_ino, str_of(path));
	int got = query_step(q);

	if (got == 1) {
		key = query_int(q, 0);
		merged = query_int(q, 2);
		snprintf(old, sizeof old, STR_FMT, STR_ARG(query_str(q, 1)));
	}
	query_reset(q);
	if (got != 1 || access(old, F_OK) == 0)
		return got < 0 ? got : 0;
	*ret = merged ? merged : key;
	got = follow(s, key, merged, str_of(old), path);
	return got < 0 ? got : 1;
}

/* reached: the disk may be asked about it. */
static int find_or_make(struct store *s, const char *path, bool reached, int64_t parent, int64_t now_us, int64_t *ret)
{
	const char *name = strrchr(path, '/');
	struct stat st = { 0 };
	int64_t alias = 0;
	int got =
		store_number(s, ret, "SELECT key FROM projects WHERE path = ?1 AND merged IS NULL", "s", str_of(path));

	if (got != 0)
		return got < 0 ? got : 0;
	if (reached && stat(path, &st) == 0) {
		got = find_renamed(s, path, &st, ret);
		if (got != 0)
			return got < 0 ? got : 0;
	}
	/* Merged into another by the user, or a former name. */
	got = store_number(s, &alias, "SELECT merged FROM projects WHERE path = ?1", "s", str_of(path));
	if (got != 0) {
		*ret = alias;
		return got < 0 ? got : 0;
	}
	got = store_do(s,
		"INSERT INTO projects(path, name, parent, device, inode, created_at) VALUES (?1, ?2, ?3, ?4, "
		"?5, ?6)",
		"sskkki", str_of(path), name && name[1] ? str_of(name + 1) : str_of(path), parent, (int64_t)st.st_dev,
		(int64_t)st.st_ino, now_us);
	*ret = store_last_rowid(s);
	return got;
}

int project_of(struct store *s, str directory, int64_t now_us, int64_t *ret)
{
	char path[FS_PATH];
	struct project p;
	int64_t parent = 0;
	bool reached;
	int got;

	*ret = 0;
	if (directory.n == 0 || directory.p[0] != '/' || directory.n >= FS_PATH - 64 ||
		memchr(directory.p, 0, directory.n))
		return 0;
	got = store_number(s, ret, "SELECT project FROM directories WHERE path = ?1", "s", directory);
	if (got != 0)
		return got < 0 ? got : 0;
	snprintf(path, sizeof path, STR_FMT, STR_ARG(directory));
	got = project_find_within(path, getenv("HOME"), LOOK_MS, &p);
	reached = got != -ETIMEDOUT;
	/* The disk does not answer: the directory counts as its own project until it can be read. */
	if (!reached) {
		p.main[0] = 0;
		snprintf(p.root, sizeof p.root, "%s", path);
	} else if (got < 0) {
		return 0;
	}
	got = 0;
	if (p.main[0])
		got = find_or_make(s, p.main, reached, 0, now_us, &parent);
	if (got == 0)
		got = find_or_make(s, p.root, reached, parent, now_us, ret);
	if (got == 0 && reached)
		got = store_do(s, "INSERT INTO directories(path, project) VALUES (?1, ?2)", "si", directory, *ret);
	return got;
}

/* Relative to its path, or to one it had or got by merging. */
str project_relative(struct store *s, struct arena *a, int64_t project, str path)
{
	struct query *q;
	str result = path;

	if (!project || str_empty(path) || path.p[0] != '/')
		return path;
	q = store_ask(s,
		"SELECT path FROM projects WHERE key = ?1 UNION ALL SELECT path FROM projects WHERE merged = "
		"?1",
		"i", project);
	while (result.p == path.p && query_step(q) == 1) {
		str root = query_str(q, 0);

		if (str_starts(path, root) && path.n > root.n + 1 && path.p[root.n] == '/')
			result = arena_str(a, str_from(path, root.n + 1));
	}
	query_reset(q);
	return result;
}
