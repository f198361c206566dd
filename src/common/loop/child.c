/* Child processes of the loop. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "loop/loop.h"
#include "os/os.h"

enum {
	READ_AT_ONCE = 65536, /* per turn of the loop: a flood must not starve the others */
	READS_AT_END = 32,    /* what is in the pipe when it ends; somebody else may go on filling it */
	KEEPER_MS = 100,      /* at the end of the process */
	GIVE_UP_MS = 1000,    /* after KILL: a process the kernel does not let go of */
	MORE_MAX = 1 << 20,   /* bytes for a child that stays */
	STAYS_CPU_S = 24 * 3600,
};

struct stream {
	struct loop_child *child;
	int fd;
	struct loop_io *io;
	struct buf text;
	uint64_t total;
};

struct loop_child {
	struct loop_child *next;
	struct loop_children *all;
	pid_t pid; /* 0: never started */
	struct stream out, err;
	int in_fd;
	struct loop_io *in_io;
	str input;
	bool stays;
	struct buf more; /* of a child that stays: what it has not read */
	struct loop_timer *timer;
	int64_t started_us;
	enum { CHILD_RUNS, CHILD_TERMED, CHILD_KILLED, CHILD_LEFT } stage;
	struct child_result result;
	void (*done)(const struct child_result *r, void *arg);
	void *arg;
};

struct loop_children {
	struct loop *loop;
	struct loop_signal *chld;
	struct loop_child *first;
	char keeper_program[FS_PATH]; /* "": none */
	int keeper;                   /* -1 until the first child */
};

/* -- its keeper -------------------------------------------------------------------------------- */

static bool tell_keeper(struct loop_children *all, enum os_keeper_word word, pid_t pid)
{
	int r = all->keeper < 0 ? -EPIPE : os_keeper_tell(all->keeper, word, pid);

	/* Somebody killed it: the next child gets another one. */
	if (r == -EPIPE)
		fs_closep(&all->keeper);
	return r == 0;
}

static int get_keeper(struct loop_children *all)
{
	struct pollfd p = { .fd = all->keeper };

	if (all->keeper >= 0 && poll(&p, 1, 0) == 1 && p.revents & POLLERR)
		fs_closep(&all->keeper);
	if (all->keeper >= 0 || !all->keeper_program[0])
		return all->keeper;
	all->keeper = os_keeper_start(all->keeper_program);
	/* It does not know of those that run already. */
	for (struct loop_child *c = all->first; c && all->keeper >= 0; c = c->next)
		if (c->pid)
			(void)tell_keeper(all, OS_KEEPER_STARTED, c->pid);
	return all->keeper;
}

/* -- its end ----------------------------------------------------------------------------------- */

static void close_stream(struct stream *s)
{
	loop_io_free(s->io);
	s->io = NULL;
	fs_closep(&s->fd);
}

static void close_input(struct loop_child *c)
{
	loop_io_free(c->in_io);
	c->in_io = NULL;
	fs_closep(&c->in_fd);
}

static void unlink_child(struct loop_child *c)
{
	for (struct loop_child **at = &c->all->first; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			return;
		}
}

static void free_child(struct loop_child *c)
{
	close_input(c);
	close_stream(&c->out);
	close_stream(&c->err);
	loop_timer_free(c->timer);
	buf_release(&c->out.text);
	buf_release(&c->err.text);
	buf_release(&c->more);
	free(c);
}

static void tell(struct loop_child *c)
{
	struct child_result *r = &c->result;

	r->out = buf_str(&c->out.text);
	r->err = buf_str(&c->err.text);
	r->out_total = c->out.total;
	r->err_total = c->err.total;
	r->duration_us = clock_mono_us() - c->started_us;
	if (c->done)
		c->done(r, c->arg);
	c->done = NULL;
}

/* 1: there was something; 0: nothing now, or never again. */
static int read_some(struct stream *s)
{
	char room[READ_AT_ONCE];
	ssize_t n = s->fd < 0 ? 0 : read(s->fd, room, sizeof room);

	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		close_stream(s);
		return 0;
	}
	s->total += (uint64_t)n;
	buf_add(&s->text, room, MIN((size_t)n, s->text.max - s->text.len));
	return 1;
}

/* The process has ended but is not reaped: its number cannot be anybody else's yet. */
static void end_child(struct loop_child *c)
{
	int status = 0;

	kill(-c->pid, SIGKILL);
	(void)tell_keeper(c->all, OS_KEEPER_ENDED, c->pid);
	for (int i = 0; i < READS_AT_END && read_some(&c->out); i++)
		;
	for (int i = 0; i < READS_AT_END && read_some(&c->err); i++)
		;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	c->result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	unlink_child(c);
	tell(c);
	free_child(c);
}

static bool has_ended(const struct loop_child *c)
{
	siginfo_t info = { 0 };

	return c->pid && waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == c->pid;
}

/* A callback may start and kill others, so the list is looked at from the front after each. */
static bool end_one(struct loop_children *all)
{
	for (struct loop_child *c = all->first; c; c = c->next)
		if (has_ended(c)) {
			end_child(c);
			return true;
		}
	return false;
}

static void on_chld(int signo, void *arg)
{
	(void)signo;
	while (end_one(arg))
		;
}

/* -- its time ---------------------------------------------------------------------------------- */

static void on_time(void *arg)
{
	struct loop_child *c = arg;

	if (!c->pid) {
		unlink_child(c);
		tell(c);
		free_child(c);
		return;
	}
	switch (c->stage) {
	case CHILD_RUNS:
		c->stage = CHILD_TERMED;
		c->result.timed_out = true;
		/* The keeper finds those that have left the group, as long as their parents are alive. */
		if (!tell_keeper(c->all, OS_KEEPER_EXPIRED, c->pid)) {
			kill(-c->pid, SIGTERM);
			kill(-c->pid, SIGCONT); /* who is stopped cannot end */
		}
		loop_timer_set(c->timer, CHILD_KILL_MS * USEC_PER_MSEC);
		return;
	case CHILD_TERMED:
		c->stage = CHILD_KILLED;
		kill(-c->pid, SIGKILL);
		loop_timer_set(c->timer, GIVE_UP_MS * USEC_PER_MSEC);
		return;
	case CHILD_KILLED:
		kill(-c->pid, SIGKILL);
		/* Its owner goes on; it stays on the list until the kernel lets it go. */
		c->stage = CHILD_LEFT;
		c->result.exit_code = -1;
		c->result.signal = SIGKILL;
		close_input(c); /* what it reads from belongs to its owner */
		close_stream(&c->out);
		close_stream(&c->err);
		tell(c);
		return;
	case CHILD_LEFT: return;
	}
}

void loop_child_kill(struct loop_child *c)
{
	if (!c->pid || c->stage >= CHILD_KILLED)
		return;
	c->stage = CHILD_KILLED;
	c->result.killed = true;
	if (!tell_keeper(c->all, OS_KEEPER_KILL, c->pid))
		kill(-c->pid, SIGKILL);
	loop_timer_set(c->timer, GIVE_UP_MS * USEC_PER_MSEC);
}

/* -- its pipes --------------------------------------------------------------------------------- */

static void on_output(int what, void *arg)
{
	(void)what;
	read_some(arg);
}

static void on_input(int what, void *arg)
{
	struct loop_child *c = arg;
	ssize_t n = c->input.n ? write(c->in_fd, c->input.p, c->input.n) : 0;

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->input = str_from(c->input, (size_t)n);
	/* EPIPE: it does not want it. */
	if (n < 0 || !c->input.n)
		close_input(c);
}

/* The same for one that stays: there may be more later. */
static void on_more(int what, void *arg)
{
	struct loop_child *c = arg;
	ssize_t n = c->more.len ? write(c->in_fd, c->more.p, c->more.len) : 0;

	(void)what;
	if (n > 0)
		buf_consume(&c->more, (size_t)n);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		close_input(c);
	else if (!c->more.len)
		loop_io_set(c->in_io, 0);
}

int loop_child_write(struct loop_child *c, str bytes)
{
	if (!c->stays || c->in_fd < 0)
		return -EPIPE;
	if (buf_add_str(&c->more, bytes) < 0)
		return -ENOBUFS;
	loop_io_set(c->in_io, LOOP_WRITE);
	return 0;
}

void loop_child_end_input(struct loop_child *c)
{
	close_input(c);
}

static int make_pipe(int ret[2], int ours)
{
	if (pipe2(ret, O_CLOEXEC) < 0)
		return -errno;
	return fcntl(ret[ours], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static void watch(struct loop_child *c, int in, int out, int err)
{
	c->in_fd = in;
	c->out.fd = out;
	c->err.fd = err;
	c->out.child = c->err.child = c;
	c->out.io = loop_io_new(c->all->loop, out, LOOP_READ, on_output, &c->out);
	c->err.io = loop_io_new(c->all->loop, err, LOOP_READ, on_output, &c->err);
	if (c->stays)
		c->in_io = loop_io_new(c->all->loop, in, 0, on_more, c);
	else if (c->input.n)
		c->in_io = loop_io_new(c->all->loop, in, LOOP_WRITE, on_input, c);
	else
		close_input(c);
}

static int start(struct loop_child *c, const struct child_spec *spec)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	struct os_child child = { .path = spec->path,
		.argv = spec->argv,
		.envp = spec->envp,
		.dir = spec->dir,
		.keeper = get_keeper(c->all) };
	int r = make_pipe(in, 1);

	if (r == 0)
		r = make_pipe(out, 0);
	if (r == 0)
		r = make_pipe(err, 0);
	child.fds[0] = in[0];
	child.fds[1] = out[1];
	child.fds[2] = err[1];
	/* Several threads may spend more than the clock on the wall shows. */
	child.cpu_seconds = spec->stays ? STAYS_CPU_S : (unsigned)(spec->timeout_us / USEC_PER_SEC + 1) * 8;
	if (r == 0)
		r = os_child_start(&child, &c->pid);
	fs_closep(&in[0]);
	fs_closep(&out[1]);
	fs_closep(&err[1]);
	if (r == 0) {
		watch(c, in[1], out[0], err[0]);
		return 0;
	}
	fs_closep(&in[1]);
	fs_closep(&out[0]);
	fs_closep(&err[0]);
	return r;
}

struct loop_child *loop_child_start(struct loop_children *all, const struct child_spec *spec,
	void (*done)(const struct child_result *r, void *arg), void *arg)
{
	struct loop_child *c = xcalloc(1, sizeof *c);

	c->all = all;
	c->next = all->first;
	all->first = c;
	c->in_fd = c->out.fd = c->err.fd = -1;
	c->input = spec->input;
	c->stays = spec->stays;
	buf_init(&c->more, MORE_MAX);
	c->started_us = clock_mono_us();
	c->done = done;
	c->arg = arg;
	buf_init(&c->out.text, spec->output_max);
	buf_init(&c->err.text, spec->output_max);
	c->timer = loop_timer_new(all->loop, on_time, c);
	c->result.error = start(c, spec);
	c->result.exit_code = -1;
	c->result.timeout_us = spec->timeout_us;
	if (c->result.error < 0 || !c->stays)
		loop_timer_set(c->timer, c->result.error < 0 ? 0 : spec->timeout_us);
	return c;
}

struct loop_children *loop_children_new(struct loop *l, const char *keeper)
{
	struct loop_children *all = xcalloc(1, sizeof *all);

	all->loop = l;
	all->keeper = -1;
	if (keeper)
		snprintf(all->keeper_program, sizeof all->keeper_program, "%s", keeper);
	all->chld = loop_signal_new(l, SIGCHLD, on_chld, all);
	return all;
}

/* The keeper goes first, as long as it takes no time. */
static void end_now(struct loop_child *c)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	bool told = tell_keeper(c->all, OS_KEEPER_KILL, c->pid);

	for (int i = 0; told && i < KEEPER_MS && !has_ended(c); i++)
		nanosleep(&pause, NULL);
	kill(-c->pid, SIGKILL);
	(void)waitpid(c->pid, NULL, c->stage == CHILD_LEFT ? WNOHANG : 0);
}

void loop_children_free(struct loop_children *all)
{
	if (!all)
		return;
	loop_signal_free(all->chld);
	for (struct loop_child *c = all->first, *next; c; c = next) {
		next = c->next;
		if (c->pid)
			end_now(c);
		free_child(c);
	}
	fs_closep(&all->keeper);
	free(all);
}
