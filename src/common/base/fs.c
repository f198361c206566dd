#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

int fs_join(char out[FS_PATH], const char *dir, const char *name)
{
	int n = snprintf(out, FS_PATH, "%s/%s", dir, name);

	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

static int make_parents(const char *dir)
{
	char part[FS_PATH];
	size_t n = strlen(dir);

	if (n >= sizeof part)
		return -ENAMETOOLONG;
	memcpy(part, dir, n + 1);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		/* A umask of 0777 would make a directory that its maker cannot enter. */
		if (mkdir(part, 0700) == 0 ? chmod(part, 0700) < 0 : errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

int fs_private_dir(const char *dir)
{
	struct stat st;
	int r;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
		if (errno != ENOENT)
			return -errno;
		r = make_parents(dir);
		if (r < 0)
			return r;
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	if (lstat(dir, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		/* A user may keep a state directory elsewhere by a link of their own. */
		if (st.st_uid != geteuid() || stat(dir, &st) < 0)
			return -EPERM;
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & 0777) != 0700 && chmod(dir, 0700) < 0)
		return -errno;
	return 0;
}

int fs_read_file(const char *path, struct buf *b)
{
	/* O_NONBLOCK: opening a FIFO without a writer must not hang; plain files ignore it. */
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if ((unsigned long long)st.st_size > b->max - b->len)
		return -EFBIG;
	for (;;) {
		char *to = buf_reserve(b, b->max - b->len < 65536 ? b->max - b->len : 65536);
		ssize_t n;

		if (b->max == b->len) {
			char one;

			/* Full to the brim: fine only if this was the end. */
			n = read(fd, &one, 1);
			return n == 0 ? 0 : n < 0 ? -errno : -EFBIG;
		}
		n = read(fd, to, b->max - b->len < 65536 ? b->max - b->len : 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		buf_commit(b, (size_t)n);
	}
}

int fs_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t w = write(fd, at, n);

		if (w < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

int fs_write_all_at(int fd, const void *p, size_t n, uint64_t offset)
{
	const char *at = p;

	while (n) {
		ssize_t w = pwrite(fd, at, n, (off_t)offset);

		if (w < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		at += w;
		offset += (uint64_t)w;
		n -= (size_t)w;
	}
	return 0;
}

int fs_sync_dir(const char *dir)
{
	_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_beside(const char *temp, int fd, str contents, mode_t mode, bool sync)
{
	int r = fs_write_all(fd, contents.p, contents.n);

	(void)temp;
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0 && sync && fsync(fd) < 0)
		r = -errno;
	return r;
}

int fs_replace_file(const char *path, str contents, bool sync)
{
	char temp[FS_PATH], dir[FS_PATH];
	struct stat st;
	mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0600;
	const char *slash = strrchr(path, '/');
	int n = snprintf(temp, sizeof temp, "%s.hookd-XXXXXX", path), r, fd;

	if (n < 0 || (size_t)n >= sizeof temp)
		return -ENAMETOOLONG;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_beside(temp, fd, contents, mode, sync);
	close(fd);
	if (r == 0 && rename(temp, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(temp);
		return r;
	}
	if (!sync)
		return 0;
	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	return fs_sync_dir(dir[0] ? dir : "/");
}

long long fs_free_bytes(const char *path)
{
	struct statvfs v;

	return statvfs(path, &v) < 0 ? -1 : (long long)v.f_bavail * (long long)v.f_frsize;
}

struct fs_dir_look fs_look_at_dir(const char *dir)
{
	struct fs_dir_look look = { 0 };
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	long long us;

	while (d && look.files < FS_COUNT_MAX && (e = readdir(d)))
		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode)) {
			look.files++;
			look.bytes += st.st_size;
			us = (long long)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
			if (!look.oldest_us || us < look.oldest_us)
				look.oldest_us = us;
		}
	if (d)
		closedir(d);
	return look;
}

long long fs_file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (long long)st.st_size;
}
