/* Starting a daemon that has nothing to do with whoever starts it: own session, no inherited file descriptors, no
 * environment but its own. An agent waits for the end of its hook's output, so a daemon that kept it open
 * would hang the agent. Used by commands and by `hookd offline`; links no store. */
#include "daemon/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "os/os.h"

/* -- the environment --------------------------------------------------------------------------- */

/* What the daemon takes from its starter. Language and time zone are names, never paths: libc would open the file. The
 * sanitizers read their options only in builds for tests. */
static const char *const kept_env[] = { "LANG", "TZ",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
#endif
	NULL };

static bool is_plain_name(const char *value)
{
	return value[0] && value[0] != '/' && value[0] != ':' && !strstr(value, "..") && strlen(value) < 64 &&
		strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@+-/,<>") ==
		strlen(value);
}

char **daemon_environment(const struct paths *p)
{
	char **out = xcalloc(countof(kept_env) + 3, sizeof *out);
	struct buf home = BUF_INIT(FS_PATH + 8);
	size_t n = 0;

	if (p->home[0]) {
		buf_addf(&home, "HOME=%s", p->home);
		out[n++] = buf_detach(&home, NULL);
	}
	out[n++] = xstrdup("PATH=" PATHS_PROGRAMS);
	for (size_t i = 0; kept_env[i]; i++) {
		const char *value = getenv(kept_env[i]);
		struct buf b = BUF_INIT(KIB(4));

		if (!value || (i < 2 && !is_plain_name(value)))
			continue;
		buf_addf(&b, "%s=%s", kept_env[i], value);
		out[n++] = buf_detach(&b, NULL);
	}
	return out;
}

static void environment_free(char **env)
{
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
}

/* -- the process ------------------------------------------------------------------------------- */

/* Between fork and exec only what is safe there. The second fork makes init the parent, so nobody has
 * to wait for the daemon. */
static _Noreturn void become_daemon(const char *self, char *const argv[], char *const env[], int ready_fd)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setsid();
	if (fork() != 0)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	/* File descriptor 3 reports to the starter that the daemon listens; everything above is closed. */
	if (ready_fd != 3)
		dup2(ready_fd, 3);
	else
		fcntl(3, F_SETFD, 0);
	os_close_from(4);
	if (chdir("/") < 0)
		_exit(1);
	execve(self, argv, env);
	_exit(1);
}

static int wait_ready(int fd, int timeout_ms, struct err *err)
{
	int64_t until = clock_mono_us() + timeout_ms * USEC_PER_MSEC;
	char text[256];
	ssize_t n;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = (until - clock_mono_us()) / USEC_PER_MSEC;
		int got = poll(&p, 1, left > 0 ? (int)left : 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_set(err, -ETIMEDOUT, "the daemon has been started but does not listen yet");
		break;
	}
	n = read(fd, text, sizeof text - 1);
	if (n > 0 && text[0] == '+')
		return 0;
	if (n <= 0)
		return err_set(err, -ECHILD, "the daemon exited before it listened; see hookd.log");
	text[n] = 0;
	return err_set(err, text[0] == '=' ? -EEXIST : -ECHILD, "%s", text + 1);
}

bool daemon_has_lock(const struct paths *p)
{
	_close_ int fd = open(p->lock, O_RDWR | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

int daemon_spawn(const char *self, const struct paths *paths, int timeout_ms, struct err *err)
{
	char *argv[] = { (char *)self, (char *)"run", (char *)"--detached", (char *)"--dir", (char *)paths->state,
		NULL };
	char **env = daemon_environment(paths);
	int fds[2], r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		environment_free(env);
		return err_set(err, -errno, "no pipe for the daemon's start: %s", strerror(errno));
	}
	pid = fork();
	if (pid == 0)
		become_daemon(self, argv, env, fds[1]);
	environment_free(env);
	close(fds[1]);
	if (pid < 0) {
		r = err_set(err, -errno, "the daemon cannot be started: %s", strerror(errno));
	} else {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		r = timeout_ms ? wait_ready(fds[0], timeout_ms, err) : 0;
	}
	close(fds[0]);
	return r;
}
