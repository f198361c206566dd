/* faults: makes the n-th call of a kind fail, or ends the process there; for tests, by LD_PRELOAD.
 *
 *   FAULT_CALLS  names: what changes names (rename, link, unlink, mkdir, creating a file)
 *                io: those, and what writes or syncs
 *                alloc: malloc, calloc, realloc
 *   FAULT_AT     which call; 0: none, they are only counted
 *   FAULT_HOW    kill, eio, enospc, or nothing for allocations, which give NULL
 *   FAULT_ONWARDS  set: every call from there on
 *   FAULT_COUNT  a file to which the number of calls is written at the end, and a line for each way in which the
 *                program came to one: a hash of its stack
 *   FAULT_PATH   such a hash: the first call that the program comes to in this way fails. Hashes are the same in
 *                every run only if addresses are (setarch -R)
 *
 * Programs it starts do not inherit it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAMES = 1, IO = 2, ALLOC = 4 };

static atomic_long seen;
static long at, onwards;
static int kinds, how;
static char count_path[4096];

/* -- ways to a call ------------------------------------------------------------------------------ */

enum { FRAMES = 48, WAYS = 1 << 16 };

static atomic_ullong ways[WAYS]; /* a set: open addressing */
static unsigned long long wanted;
static atomic_int met;
static __thread int inside __attribute__((tls_model("initial-exec"))); /* dynamic ones are allocated */

static unsigned long long way_here(void)
{
	void *frames[FRAMES];
	unsigned long long h = 0xcbf29ce484222325u;
	int n;

	inside = 1;
	n = backtrace(frames, FRAMES);
	inside = 0;
	for (int i = 2; i < n; i++)
		h = (h ^ (unsigned long long)(size_t)frames[i]) * 0x100000001b3u;
	return h ? h : 1;
}

static void note_way(unsigned long long h)
{
	unsigned long long none;

	for (unsigned i = 0; i < WAYS; i++) {
		atomic_ullong *at = &ways[(h + i) % WAYS];

		none = 0;
		if (*at == h || atomic_compare_exchange_strong(at, &none, h) || none == h)
			return;
	}
}

__attribute__((constructor)) static void start(void)
{
	const char *calls = getenv("FAULT_CALLS"), *nth = getenv("FAULT_AT"), *what = getenv("FAULT_HOW");
	const char *count = getenv("FAULT_COUNT");

	unsetenv("LD_PRELOAD");
	at = nth ? atol(nth) : 0;
	onwards = getenv("FAULT_ONWARDS") != NULL;
	wanted = getenv("FAULT_PATH") ? strtoull(getenv("FAULT_PATH"), NULL, 16) : 0;
	(void)way_here(); /* the first time it allocates */
	how = !what ? ENOMEM : strcmp(what, "eio") == 0 ? EIO : strcmp(what, "enospc") == 0 ? ENOSPC : 0;
	if (count)
		snprintf(count_path, sizeof count_path, "%s", count);
	/* Last: from here on calls are counted. */
	kinds = !calls ? 0 : strcmp(calls, "names") == 0 ? NAMES : strcmp(calls, "io") == 0 ? NAMES | IO : ALLOC;
}

__attribute__((destructor)) static void finish(void)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%ld\n", (long)seen), fd;

	kinds = 0;
	if (!count_path[0])
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, count_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	(void)!syscall(SYS_write, fd, text, (size_t)n);
	for (unsigned i = 0; i < WAYS; i++)
		if (ways[i]) {
			n = snprintf(text, sizeof text, "%016llx\n", ways[i]);
			(void)!syscall(SYS_write, fd, text, (size_t)n);
		}
}

/* True: the call is to fail, and errno says how. */
static int fails(int kind)
{
	unsigned long long way = 0;
	long n;

	if (!(kinds & kind) || inside)
		return 0;
	n = ++seen;
	if (wanted || !at)
		way = way_here();
	if (!wanted && !at)
		note_way(way);
	if (wanted ? way != wanted || met++ : !at || (onwards ? n < at : n != at))
		return 0;
	if (!how)
		raise(SIGKILL);
	errno = how;
	return 1;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define CALL(kind, result, name, params, args)               \
	result name params                                   \
	{                                                    \
		REAL(name);                                  \
		return fails(kind) ? (result)-1 : real args; \
	}

CALL(NAMES, int, rename, (const char *from, const char *to), (from, to))
CALL(NAMES, int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(NAMES, int, link, (const char *from, const char *to), (from, to))
CALL(NAMES, int, unlink, (const char *path), (path))
CALL(NAMES, int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
CALL(NAMES, int, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(IO, int, ftruncate, (int fd, off_t size), (fd, size))
CALL(IO, int, ftruncate64, (int fd, off64_t size), (fd, size))
CALL(IO, int, fsync, (int fd), (fd))
CALL(IO, int, fdatasync, (int fd), (fd))
CALL(IO, ssize_t, pwrite, (int fd, const void *p, size_t n, off_t offset), (fd, p, n, offset))
CALL(IO, ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t offset), (fd, p, n, offset))
CALL(IO, ssize_t, pread64, (int fd, void *p, size_t n, off64_t offset), (fd, p, n, offset))

ssize_t write(int fd, const void *p, size_t n)
{
	struct stat st;

	/* What goes to pipes, sockets and wake-ups is not the disk's business. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fails(IO))
		return -1;
	return syscall(SYS_write, fd, p, n);
}

static int open_it(int dir, const char *path, int flags, mode_t mode)
{
	if ((flags & O_CREAT) && fails(NAMES))
		return -1;
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN(name, params, dir)                         \
	int name params                                 \
	{                                               \
		va_list ap;                             \
		mode_t mode = 0;                        \
		va_start(ap, flags);                    \
		if (flags & (O_CREAT | O_TMPFILE))      \
			mode = (mode_t)va_arg(ap, int); \
		va_end(ap);                             \
		return open_it(dir, path, flags, mode); \
	}

OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int at_dir, const char *path, int flags, ...), at_dir)
OPEN(openat64, (int at_dir, const char *path, int flags, ...), at_dir)

/* -- memory -------------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void *malloc(size_t n)
{
	return fails(ALLOC) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(ALLOC) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails(ALLOC) ? NULL : __libc_realloc(p, n);
}
