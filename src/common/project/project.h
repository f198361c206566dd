/* project: which project a directory belongs to.
 *
 * DESIGN. Rules, hooks and captured sessions all refer to "the project"; they agree on which one because all of them
 * ask here. The root is the nearest directory with a .git in it, else the nearest with a .hookd or .claude directory.
 * It is never the home directory, whose files are the user's own, nor anything above it, nor a directory on another
 * file system than the one the walk began on: a mount point is the edge of what somebody checked out.
 *
 * This reads the disk, so it may block for as long as the slowest mount: call it on workers only. Nothing is run, and
 * nothing inside the project is trusted; a .git file is read for a path and no more. */
#ifndef HOOKD_PROJECT_PROJECT_H
#define HOOKD_PROJECT_PROJECT_H

#include <stdbool.h>

#include "base/fs.h"

struct project {
	char directory[FS_PATH]; /* the directory that was asked about, as a real path */
	char root[FS_PATH];      /* of its project; without one the directory itself */
	char main[FS_PATH];      /* the main checkout, when root is a worktree of it; else "" */
	bool found;              /* false: it is in no project */
};

/* A directory that is gone belongs where its nearest existing parent does. home may be NULL: then no directory is left
 * out. -EINVAL: not an absolute path, or longer than a path may be. */
int project_find(const char *directory, const char *home, struct project *ret);

/* The same on a thread of its own, with a time limit. -ETIMEDOUT: the disk does not answer. */
int project_find_within(const char *directory, const char *home, int ms, struct project *ret);

#endif
