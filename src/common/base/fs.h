/* fs: files and directories the way hookd wants them: private modes whatever the umask, whole reads
 * with a cap, atomic replacement. Paths are NUL-terminated. Returns 0 or -errno. */
#ifndef HOOKD_BASE_FS_H
#define HOOKD_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/macro.h"
#include "base/str.h"

enum { FS_PATH = 4096 };

/* Makes dir and its missing parents, mode 0700; an existing one is made 0700 when it is ours.
 * -EPERM when the last part belongs to somebody else or is a link. */
int fs_private_dir(const char *dir);

/* dir/name into out; -ENAMETOOLONG. */
int fs_join(char out[FS_PATH], const char *dir, const char *name);

/* Appends the whole file. -EFBIG past the buf's maximum, -EISDIR, -EINVAL for anything that is not a
 * plain file (a FIFO would block forever). */
int fs_read_file(const char *path, struct buf *b);

/* Writes next to path and renames over it; mode 0600 for new files, the old mode for existing ones.
 * With sync, contents and directory are on disk when it returns. */
int fs_replace_file(const char *path, str contents, bool sync);

/* All of it or an error; EINTR and short writes are handled. */
int fs_write_all(int fd, const void *p, size_t n);
/* The same at a place of the file. */
int fs_write_all_at(int fd, const void *p, size_t n, uint64_t offset);

int fs_sync_dir(const char *dir);

/* Bytes free for this user on the file system of path, or -1. */
long long fs_free_bytes(const char *path);

/* The plain files directly in dir. Stops counting at FS_COUNT_MAX files, because it is called where
 * nothing may take long. */
enum { FS_COUNT_MAX = 1000 };

struct fs_dir_look {
	unsigned files;
	long long bytes;
	long long oldest_us; /* wall time of the oldest one's last change, 0 without files */
};

struct fs_dir_look fs_look_at_dir(const char *dir);

/* Size of a file, or 0. */
long long fs_file_bytes(const char *path);

static inline void fs_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#define _close_ _cleanup_(fs_closep)

#endif
