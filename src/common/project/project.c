#include "project/project.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LEVELS_MAX = 64, NAME_ROOM = 64 }; /* room for the longest name that is looked for in a directory */

static bool has(const char *dir, const char *name, struct stat *st)
{
	char path[FS_PATH];

	return fs_join(path, dir, name) == 0 && lstat(path, st) == 0;
}

static bool has_dir(const char *dir, const char *name)
{
	struct stat st;

	return has(dir, name, &st) && S_ISDIR(st.st_mode);
}

static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash == path ? slash + 1 : slash) = 0;
}

/* The real path of what exists of a directory, and the rest as text behind it. */
static int resolve(const char *directory, char existing[FS_PATH], char whole[FS_PATH])
{
	char at[FS_PATH], *real;
	size_t n;

	if (directory[0] != '/' || snprintf(at, sizeof at, "%s", directory) >= FS_PATH - NAME_ROOM)
		return -EINVAL;
	for (n = strlen(at); n > 1 && at[n - 1] == '/'; n--)
		at[n - 1] = 0;
	for (int i = 0; i < LEVELS_MAX; i++, go_up(at)) {
		real = realpath(at, NULL);
		if (!real && at[1])
			continue;
		n = strlen(at);
		if (snprintf(existing, FS_PATH, "%s", real ? real : "/") >= FS_PATH - NAME_ROOM ||
			snprintf(whole, FS_PATH, "%s%s", existing, directory + n) >= FS_PATH) {
			free(real);
			return -EINVAL;
		}
		free(real);
		return 0;
	}
	return -EINVAL;
}

/* "gitdir: /repo/.git/worktrees/x" belongs to /repo; anything else says nothing. */
static void read_git_file(const char *root, char out[FS_PATH])
{
	struct buf b = BUF_INIT(8192);
	char path[FS_PATH];
	str text;
	ptrdiff_t at;

	if (fs_join(path, root, ".git") == 0 && fs_read_file(path, &b) == 0) {
		text = str_trim(buf_str(&b));
		at = str_find(text, STR("/.git/worktrees/"));
		if (str_starts(text, STR("gitdir: /")) && at > 8)
			snprintf(out, FS_PATH, STR_FMT, STR_ARG(str_n(text.p + 8, (size_t)at - 8)));
	}
	buf_release(&b);
}

/* The home itself, or a directory that holds it. */
static bool holds_home(const char *dir, const char *home)
{
	size_t n = strlen(dir);

	return home && strncmp(dir, home, n) == 0 && (home[n] == 0 || home[n] == '/');
}

int project_find(const char *directory, const char *home, struct project *ret)
{
	char at[FS_PATH], *home_real = home && home[0] == '/' ? realpath(home, NULL) : NULL;
	struct stat st, here;
	bool checkout = false;
	dev_t device;
	int r;

	*ret = (struct project){ 0 };
	r = resolve(directory, at, ret->directory);
	if (r < 0) {
		free(home_real);
		return r;
	}
	memcpy(ret->root, ret->directory, FS_PATH);
	device = stat(at, &here) == 0 ? here.st_dev : 0;
	for (int i = 0; i < LEVELS_MAX && at[1] && !checkout && !holds_home(at, home_real); i++, go_up(at)) {
		if (stat(at, &here) < 0 || here.st_dev != device)
			break;
		checkout = has(at, ".git", &st);
		if (!checkout && (ret->found || (!has_dir(at, ".hookd") && !has_dir(at, ".claude"))))
			continue;
		memcpy(ret->root, at, FS_PATH);
		ret->found = true;
		if (checkout && S_ISREG(st.st_mode))
			read_git_file(at, ret->main);
	}
	free(home_real);
	return 0;
}
