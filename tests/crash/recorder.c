/* recorder: what a process writes below one directory, and when it is synced; for powercut.py, by LD_PRELOAD.
 *
 * RECORD_UNDER is the directory, RECORD_TO the log. An entry is: op (1), path length (2), offset (8), length (4),
 * path, data. Writes are logged after they were made, syncs before and after: what was logged before a sync began
 * is on the disk when it has ended, and nothing else is for certain. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OP_WRITE = 'w', OP_TRUNCATE = 't', OP_BEGIN = 'b', OP_END = 'e', OP_UNLINK = 'u', OP_RENAME = 'r' };
enum { PATH_ROOM = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char under[PATH_ROOM];
static size_t under_n;
static int out = -1;

__attribute__((constructor)) static void start(void)
{
	const char *dir = getenv("RECORD_UNDER"), *to = getenv("RECORD_TO");

	if (!dir || !to)
		return;
	under_n = (size_t)snprintf(under, sizeof under, "%s/", dir);
	out = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	unsetenv("LD_PRELOAD"); /* not for programs it starts */
}

static void put(char op, const char *path, uint64_t offset, const void *data, uint32_t n)
{
	uint16_t path_n = (uint16_t)strlen(path);
	char head[15];

	head[0] = op;
	memcpy(head + 1, &path_n, 2);
	memcpy(head + 3, &offset, 8);
	memcpy(head + 11, &n, 4);
	pthread_mutex_lock(&lock);
	(void)!syscall(SYS_write, out, head, sizeof head);
	(void)!syscall(SYS_write, out, path, (size_t)path_n);
	if (n)
		(void)!syscall(SYS_write, out, data, (size_t)n);
	pthread_mutex_unlock(&lock);
}

static int path_of(int fd, char path[PATH_ROOM])
{
	char link[64];
	ssize_t n;

	if (out < 0)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_ROOM - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	return strncmp(path, under, under_n) == 0 || strncmp(path, under, under_n - 1) == 0;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *p, size_t n)
{
	REAL(write);
	char path[PATH_ROOM];
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t r = real(fd, p, n);

	if (r > 0 && at >= 0 && path_of(fd, path))
		put(OP_WRITE, path, (uint64_t)at, p, (uint32_t)r);
	return r;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	REAL(pwrite);
	char path[PATH_ROOM];
	ssize_t r = real(fd, p, n, at);

	if (r > 0 && path_of(fd, path))
		put(OP_WRITE, path, (uint64_t)at, p, (uint32_t)r);
	return r;
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return pwrite(fd, p, n, at);
}

int ftruncate(int fd, off_t size)
{
	REAL(ftruncate);
	char path[PATH_ROOM];
	int r = real(fd, size);

	if (r == 0 && path_of(fd, path))
		put(OP_TRUNCATE, path, (uint64_t)size, NULL, 0);
	return r;
}

int ftruncate64(int fd, off64_t size)
{
	return ftruncate(fd, size);
}

int fdatasync(int fd)
{
	REAL(fdatasync);
	char path[PATH_ROOM];
	int ours = path_of(fd, path), r;

	if (ours)
		put(OP_BEGIN, path, (uint64_t)pthread_self(), NULL, 0);
	r = real(fd);
	if (ours && r == 0)
		put(OP_END, path, (uint64_t)pthread_self(), NULL, 0);
	return r;
}

int fsync(int fd)
{
	return fdatasync(fd);
}

int unlink(const char *path)
{
	REAL(unlink);
	int r = real(path);

	if (r == 0 && out >= 0 && strncmp(path, under, under_n) == 0)
		put(OP_UNLINK, path, 0, NULL, 0);
	return r;
}

int rename(const char *from, const char *to)
{
	REAL(rename);
	int r = real(from, to);

	if (r == 0 && out >= 0 && strncmp(to, under, under_n) == 0)
		put(OP_RENAME, to, 0, from, (uint32_t)strlen(from));
	return r;
}
