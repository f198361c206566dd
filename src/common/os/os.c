#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

#if defined(__linux__)
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* It goes on while the machine sleeps, as elsewhere the monotonic one does. */
#define CLOCK_SINCE_BOOT CLOCK_BOOTTIME
#else
#define CLOCK_SINCE_BOOT CLOCK_MONOTONIC
#endif

int64_t os_boot_us(void)
{
	return clock_wall_us() - clock_read_us(CLOCK_SINCE_BOOT);
}

#if defined(__linux__)

int os_watch_dir(const char *dir)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), saved;

	if (fd < 0)
		return -errno;
	if (inotify_add_watch(fd, dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
		saved = errno;
		close(fd);
		return -saved;
	}
	return fd;
}

int os_watch_place(const char *dir, const char *inside)
{
	enum { SELF = IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR };
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), saved;

	if (fd < 0)
		return -errno;
	if (inotify_add_watch(fd, dir, SELF) < 0 ||
		inotify_add_watch(fd, inside, SELF | IN_DELETE | IN_MOVED_FROM) < 0) {
		saved = errno;
		close(fd);
		return -saved;
	}
	return fd;
}

void os_watch_drain(int fd)
{
	char room[4096];

	while (read(fd, room, sizeof room) > 0)
		;
}

int os_wake_open(int ret_fds[2])
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	ret_fds[0] = ret_fds[1] = fd;
	return 0;
}

void os_thread_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

size_t os_resident_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

#else

int os_watch_dir(const char *dir)
{
	(void)dir;
	return -ENOSYS;
}

int os_watch_place(const char *dir, const char *inside)
{
	(void)dir;
	(void)inside;
	return -ENOSYS;
}

void os_watch_drain(int fd)
{
	(void)fd;
}

int os_wake_open(int ret_fds[2])
{
	if (pipe(ret_fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		fcntl(ret_fds[i], F_SETFD, FD_CLOEXEC);
		fcntl(ret_fds[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

void os_thread_name(const char *name)
{
	(void)name;
}

size_t os_resident_bytes(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) == 0 ? (size_t)u.ru_maxrss * 1024 : 0;
}

#endif

void os_close_from(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

#if defined(__linux__) && defined(SYS_close_range)
	if (syscall(SYS_close_range, (unsigned)fd, ~0U, 0) == 0)
		return;
#endif
	/* The limit may be a thousand million, and a caller waits. */
	for (; fd < MIN(most, 65536); fd++)
		close(fd);
}

long long os_next_data(int fd, long long offset)
{
#ifdef SEEK_DATA
	off_t got = lseek(fd, (off_t)offset, SEEK_DATA);

	if (got >= 0)
		return got;
	if (errno == ENXIO)
		return -ENXIO;
#else
	(void)fd;
#endif
	return offset;
}

void os_wake_send(int fd)
{
	uint64_t one = 1;

	/* A full pipe or counter means a wake-up is already on its way. */
	(void)!write(fd, &one, sizeof one);
}

void os_wake_drain(int fd)
{
	char room[512];

	while (read(fd, room, sizeof room) == (ssize_t)sizeof room)
		;
}

void os_wake_close(int fds[2])
{
	close(fds[0]);
	if (fds[1] != fds[0])
		close(fds[1]);
	fds[0] = fds[1] = -1;
}

long long os_thread_cpu_us(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
		return 0;
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#ifdef __GLIBC__
#include <malloc.h>

void os_keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 3);              /* the loop's, the writer's, and one for all others */
	mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as set, not as grown by the largest that was freed */
	mallopt(M_TRIM_THRESHOLD, 512 << 10); /* less, and each event grows and shrinks the heap */
}

void os_give_memory_back(void)
{
	malloc_trim(0);
}
#else
void os_keep_memory_small(void)
{
}

void os_give_memory_back(void)
{
}
#endif
