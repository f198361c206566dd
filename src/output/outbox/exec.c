/* A program that gets the body. There is no shell: the words of `command` are the program and its arguments. */
#include "outbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/paths.h"
#include "os/os.h"

enum {
	EXIT_LATER = 75, /* EX_TEMPFAIL of sysexits.h */
	EXIT_NO_START = 126,
	SAID_MAX = 4096,
	TERM_MS = 500, /* between asking it to end and ending it */
};

/* A running program. */
struct run {
	struct sending *x;
	pid_t pid;
	int err; /* what it says */
	struct buf said;
	int64_t until_us; /* monotonic */
	bool timed_out, cancelled;
};

/* -- starting it ------------------------------------------------------------------------------- */

static int memory_of(str bytes)
{
	int fd = os_memory_file("hookd-delivery", "/tmp"), r;

	if (fd < 0)
		return fd;
	r = fs_write_all(fd, bytes.p, bytes.n);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0)
		fs_closep(&fd);
	return r < 0 ? r : fd;
}

static int start_with(struct run *p, int in, int out, int err, struct arena *a)
{
	const struct sink *s = p->x->sink;
	const char *argv[SINK_WORDS + 1] = { NULL };
	char home[FS_PATH] = "/";
	char *envp[] = { (char *)"PATH=" PATHS_PROGRAMS, (char *)"LANG=C.UTF-8",
		(char *)arena_strf(a, "HOOKD_SINK=" STR_FMT, STR_ARG(s->name)).p,
		(char *)arena_strf(a, "HOOKD_EVENT=" STR_FMT, STR_ARG(p->x->type)).p,
		(char *)arena_strf(a, "HOOKD_ID=" STR_FMT, STR_ARG(p->x->id)).p, NULL, NULL };
	struct os_child child = { .argv = (char *const *)argv,
		.dir = home,
		.fds = { in, out, err },
		.keeper = -1,
		.cpu_seconds = (unsigned)(s->timeout_s + 1) * 8 };

	for (size_t i = 0; i < s->command.n; i++)
		argv[i] = arena_cstr(a, s->command.words[i]);
	if (os_account_home(home, sizeof home) == 0)
		envp[countof(envp) - 2] = (char *)arena_strf(a, "HOME=%s", home).p;
	child.path = argv[0];
	child.envp = envp;
	return os_child_start(&child, &p->pid);
}

static int start(struct run *p)
{
	_close_ int in = memory_of(p->x->body), out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int err[2] = { -1, -1 }, r = 0;
	struct arena a;

	arena_init(&a);
	if (in < 0)
		r = in;
	else if (out < 0 || pipe2(err, O_CLOEXEC) < 0)
		r = -errno;
	else
		r = start_with(p, in, out, err[1], &a);
	fs_closep(&err[1]);
	p->err = err[0];
	arena_release(&a);
	return r;
}

/* -- following it ------------------------------------------------------------------------------ */

static bool has_ended(const struct run *p)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == p->pid;
}

static void read_some(struct run *p)
{
	char room[1024];
	ssize_t n = read(p->err, room, sizeof room);

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0)
		fs_closep(&p->err);
	else
		buf_add(&p->said, room, MIN((size_t)n, p->said.max - p->said.len));
}

/* Until it has ended, or is to. What it leaves behind may hold the pipe open, so its end is looked for as well. */
static void follow(struct run *p)
{
	enum { LOOK_MS = 20, SOON = 50 };
	int closed = 0; /* looks since it closed the pipe, which most do by ending */

	while (!has_ended(p) && !p->timed_out && !p->cancelled) {
		struct pollfd f[] = { { .fd = p->err, .events = POLLIN }, { .fd = p->x->cancel_fd, .events = POLLIN } };
		int n = poll(f, countof(f), p->err < 0 && closed++ < SOON ? 1 : LOOK_MS);

		if (n > 0 && f[1].revents)
			p->cancelled = true;
		else if (n > 0 && f[0].revents)
			read_some(p);
		p->timed_out = clock_mono_us() > p->until_us;
	}
}

/* With everything it has started in its group. */
static int end(struct run *p)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status = 0;

	if (p->timed_out || p->cancelled) {
		kill(-p->pid, SIGTERM);
		for (int i = 0; i < TERM_MS && !has_ended(p); i++)
			nanosleep(&pause, NULL);
	}
	kill(-p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	while (p->err >= 0) {
		struct pollfd f = { .fd = p->err, .events = POLLIN };

		if (p->said.len == p->said.max || poll(&f, 1, 0) <= 0)
			break;
		read_some(p);
	}
	fs_closep(&p->err);
	return status;
}

/* The last line it has said. */
static str last_line(const struct run *p)
{
	str rest = buf_str(&p->said), line, last = STR("");

	while (str_split(&rest, '\n', &line))
		if (!str_empty(str_trim(line)))
			last = str_trim(line);
	return str_cut_utf8(last, 160);
}

static enum send_result judge(struct run *p, int status)
{
	str said = last_line(p);
	const char *colon = str_empty(said) ? "" : ": ";
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (p->cancelled)
		return SEND_CANCELLED;
	if (p->timed_out)
		return send_say(p->x, SEND_FAILED, "it took longer than %lld s%s" STR_FMT,
			(long long)p->x->sink->timeout_s, colon, STR_ARG(said));
	if (code < 0)
		return send_say(p->x, SEND_FAILED, "signal %d ended it%s" STR_FMT, WTERMSIG(status), colon,
			STR_ARG(said));
	if (code == 0)
		return SEND_DONE;
	return send_say(p->x, code == EXIT_LATER || code >= EXIT_NO_START ? SEND_FAILED : SEND_REFUSED,
		"it exited with %d%s" STR_FMT, code, colon, STR_ARG(said));
}

enum send_result send_exec(struct sending *x)
{
	struct run p = { .x = x,
		.err = -1,
		.said = BUF_INIT(SAID_MAX),
		.until_us = clock_mono_us() + x->sink->timeout_s * USEC_PER_SEC };
	enum send_result result;
	int r = start(&p);

	if (r < 0) {
		result = send_say(x, SEND_UNUSABLE, "it cannot be started: %s", strerror(-r));
	} else {
		follow(&p);
		result = judge(&p, end(&p));
	}
	fs_closep(&p.err);
	buf_release(&p.said);
	return result;
}

bool check_exec(const struct sink *s, char text[200])
{
	char path[FS_PATH];

	snprintf(path, sizeof path, STR_FMT, STR_ARG(s->command.words[0]));
	if (access(path, X_OK) == 0)
		return true;
	snprintf(text, 200, "%.120s cannot be run: %s", path, strerror(errno));
	return false;
}
