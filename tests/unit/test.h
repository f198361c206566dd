/* test: what every unit test includes first. Each test binary has one scratch directory of its own,
 * removed when the process ends; helpers abort through cmocka, so callers need not check. */
#ifndef HOOKD_TESTS_UNIT_TEST_H
#define HOOKD_TESTS_UNIT_TEST_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/macro.h"
#include "base/str.h"
#include "journal/journal.h"

#define assert_str(a, b)                                                                          \
	do {                                                                                      \
		str a_ = (a), b_ = (b);                                                           \
		if (!str_eq(a_, b_))                                                              \
			fail_msg("'" STR_FMT "' is not '" STR_FMT "'", STR_ARG(a_), STR_ARG(b_)); \
	} while (0)

static char test_root[64];

static inline int test_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	remove(path);
	return 0;
}

static inline void test_remove_tree(const char *path)
{
	nftw(path, test_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static pid_t test_owner;

static inline void test_remove_root(void)
{
	/* Children made by fork() share the handler but not the directory. */
	if (getpid() == test_owner)
		test_remove_tree(test_root);
}

/* A fresh, empty directory. The result is valid until the process ends. */
static inline const char *test_dir(void)
{
	static int count;
	char *path = malloc(96);

	if (!path)
		abort();
	if (!test_root[0]) {
		snprintf(test_root, sizeof test_root, "/tmp/hookd-unit-XXXXXX");
		if (!mkdtemp(test_root))
			abort();
		test_owner = getpid();
		atexit(test_remove_root);
	}
	snprintf(path, 96, "%s/%d-%d", test_root, (int)getpid(), count++);
	if (mkdir(path, 0700) < 0)
		abort();
	/* Kept reachable for the leak checker: paths live as long as the process. */
	static char *kept[4096];
	if (count < 4096)
		kept[count] = path;
	(void)kept;
	return path;
}

/* dir/name in one of a few buffers that take turns. */
static inline const char *test_path(const char *dir, const char *name)
{
	static char ring[8][FS_PATH];
	static unsigned next;
	char *out = ring[next++ % 8];

	if (fs_join(out, dir, name) < 0)
		abort();
	return out;
}

static inline void test_write(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fs_write_all(fd, p, n) < 0)
		abort();
	close(fd);
}

/* Appends the file to b, which must be large enough. */
static inline void test_read(const char *path, struct buf *b)
{
	int r = fs_read_file(path, b);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		abort();
	}
}

static inline bool test_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Runs fn in a child and gives its exit code; what must not outlive one case (the environment a
 * module reads once, limits, umask) stays in the child. */
static inline int test_child(int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Runs this program again as "<program> name dir" with rehearsed faults, and gives its exit code:
 * counts of calls are a process's own. main() hands such a call to test_run_case(). */
static inline int test_rerun(const char *name, const char *dir, const char *faults)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setenv("TEST_FAULTS", faults, 1);
		execl("/proc/self/exe", "test", name, dir, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct test_case {
	const char *name;
	int (*run)(const char *dir); /* 0: passed */
};

static inline int test_run_case(const struct test_case *cases, size_t n, char **argv)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			journal_fault_plan(str_of(getenv("TEST_FAULTS")));
			return cases[i].run(argv[2]);
		}
	return 126;
}

/* In a child there is no cmocka to fail. */
#define CHECK(holds)                                                                          \
	do {                                                                                  \
		if (!(holds)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #holds); \
			return 1;                                                             \
		}                                                                             \
	} while (0)

/* The same sequence on every run. */
static inline uint32_t test_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

#endif
