/* Paths without the disk: what the kernel has in memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "os/os.h"

#if defined(__linux__)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

int os_hold_file(const char *path)
{
#ifdef O_PATH
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
#else
	(void)path;
	return -ENOSYS;
#endif
}

#if defined(__linux__) && defined(SYS_openat2) && defined(RESOLVE_CACHED)

/* /proc/self/fd/N says where a descriptor is, and marks what has been deleted meanwhile. */
static int path_of(int fd, char *out, size_t size)
{
	static const char deleted[] = " (deleted)";
	const size_t tail = sizeof deleted - 1;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, out, size);
	if (n <= 0 || (size_t)n >= size || out[0] != '/')
		return -EAGAIN;
	out[n] = 0;
	if ((size_t)n > tail && memcmp(out + n - tail, deleted, tail) == 0)
		return -EAGAIN;
	return 0;
}

static int open_cached(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ENOENT : -EAGAIN;
	return fd;
}

int os_real_path_cached(const char *path, char *out, size_t size)
{
	int fd = open_cached(path), r;

	if (fd < 0)
		return fd;
	r = path_of(fd, out, size);
	close(fd);
	return r;
}

/* fstat() would ask a server about a file of its. */
int os_changed_cached(const char *path, int64_t *ret_us)
{
	int fd = open_cached(path), r;
	struct statx st;

	if (fd < 0)
		return fd;
	r = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_CTIME, &st) < 0 ? -EAGAIN : 0;
	close(fd);
	if (r == 0)
		*ret_us = (int64_t)st.stx_ctime.tv_sec * 1000000 + st.stx_ctime.tv_nsec / 1000;
	return r;
}

#else

int os_real_path_cached(const char *path, char *out, size_t size)
{
	(void)path;
	(void)out;
	(void)size;
	return -EAGAIN;
}

int os_changed_cached(const char *path, int64_t *ret_us)
{
	(void)path;
	(void)ret_us;
	return -EAGAIN;
}

#endif
