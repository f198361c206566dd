/* The program's own path and memory files: what hookc needs to hand over to `hookd offline`. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__)

int os_memory_file(const char *name, const char *dir)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	(void)dir;
	return fd < 0 ? -errno : fd;
}

int os_self_path(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);

	if (n < 0)
		return -errno;
	if ((size_t)n >= size - 1)
		return -ENAMETOOLONG;
	out[n] = 0;
	return 0;
}

#else

int os_memory_file(const char *name, const char *dir)
{
	char path[1024];
	int fd, n = snprintf(path, sizeof path, "%s/.%s.XXXXXX", dir, name);

	if (n < 0 || (size_t)n >= sizeof path)
		return -ENAMETOOLONG;
	fd = mkstemp(path);
	if (fd < 0)
		return -errno;
	unlink(path);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

int os_self_path(char *out, size_t size)
{
	/* Callers then fall back to argv[0] and the installed prefix. */
	(void)out;
	(void)size;
	return -ENOSYS;
}

#endif
