#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/macro.h"
#include "os/os.h"

extern char **environ;

static const char *const reason_names[REASON_MAX] = {
	[REASON_ABSENT] = "absent",
	[REASON_REFUSED] = "refused",
	[REASON_TIMEOUT] = "timeout",
	[REASON_PROTOCOL] = "protocol",
	[REASON_FOREIGN] = "foreign",
	[REASON_BUSY] = "busy",
};

enum { NUMBER_TEXT = 24 };

/* Decimal, without stdio. Returns where the digits start in out. */
static char *format_number(int64_t v, char out[NUMBER_TEXT])
{
	char *p = out + NUMBER_TEXT - 1;

	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	return p;
}

/* What is opened from here on must not become the stdin, stdout or stderr of hookd. */
static void fill_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return;
}

static int write_all(int fd, str s)
{
	while (s.n) {
		ssize_t n = write(fd, s.p, s.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		s = str_from(s, (size_t)n);
	}
	return 0;
}

/* The frame in a memory file, rewound, that survives exec. */
static int frame_file(const struct handover *h)
{
	int fd = os_memory_file("hookc-frame", "/tmp"), high = fd;

	if (fd >= 0 && fd <= STDERR_FILENO) {
		high = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
		close(fd);
	}
	if (high < 0)
		return -1;
	if (write_all(high, h->head) < 0 || write_all(high, h->payload) < 0)
		return -1;
	if (lseek(high, 0, SEEK_SET) < 0 || fcntl(high, F_SETFD, 0) < 0)
		return -1;
	return high;
}

/* Replaces what follows the last '/' of path by "hookd". */
static bool sibling(char *path, size_t size)
{
	char *slash = strrchr(path, '/');

	if (!slash || (size_t)(slash + 1 - path) + sizeof "hookd" > size)
		return false;
	memcpy(slash + 1, "hookd", sizeof "hookd");
	return true;
}

/* hookc is static and hookd is not: what tells the dynamic linker to load a project's code ends here. */
static void drop_loader_variables(void)
{
	char **to = environ;

	for (char **from = environ; from && *from; from++)
		if (strncmp(*from, "LD_", 3) != 0 && strncmp(*from, "GLIBC_TUNABLES=", 15) != 0)
			*to++ = *from;
	if (to)
		*to = NULL;
}

/* Each call returns only when that place has no hookd. */
static void exec_anywhere(const struct handover *h, char **argv)
{
	static char path[PATH_MAX];
	size_t n = h->argv0 ? strlen(h->argv0) : 0;

	if (os_self_path(path, sizeof path) == 0 && sibling(path, sizeof path))
		execve(path, argv, environ);
#ifdef HOOKD_PREFIX
	execve(HOOKD_PREFIX "/bin/hookd", argv, environ);
#endif
	if (n > 0 && n < sizeof path) {
		memcpy(path, h->argv0, n + 1);
		if (sibling(path, sizeof path))
			execve(path, argv, environ);
	}
}

void handover(const struct handover *h)
{
	char fd_text[NUMBER_TEXT], started_text[NUMBER_TEXT];
	const char *argv[14];
	size_t n = 0;
	int fd;

	fill_standard_fds();
	drop_loader_variables();
	fd = frame_file(h);
	if (fd < 0)
		return;
	/* A relative --dir needs it; if the directory is gone, hookd says so better than we
	 * could. */
	if (h->cwd)
		(void)!chdir(h->cwd);
	argv[n++] = "hookd";
	argv[n++] = "offline";
	if (h->dir) {
		argv[n++] = "--dir";
		argv[n++] = h->dir;
	}
	argv[n++] = "--fd";
	argv[n++] = format_number(fd, fd_text);
	argv[n++] = "--started-us";
	argv[n++] = format_number(h->started_us, started_text);
	argv[n++] = "--reason";
	argv[n++] = reason_names[h->reason];
	argv[n++] = h->agent;
	if (h->event)
		argv[n++] = h->event;
	argv[n] = NULL;
	exec_anywhere(h, (char **)(uintptr_t)argv);
}
