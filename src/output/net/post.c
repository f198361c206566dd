/* One request, by curl. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/url.h"
#include "config/paths.h"
#include "net/net.h"
#include "os/os.h"

enum {
	CONNECT_S = 10,
	CURL_NO_PROXY = 5, /* and the two after it: no host, no connection */
	CURL_NO_CONNECTION = 7,
	CURL_TIMED_OUT = 28,
	CURL_NO_TLS = 35,
	CURL_BAD_CERTIFICATE = 60,
	CURL_TOO_LARGE = 63,
	GRACE_MS = 500, /* curl ends by itself at its limit; we are there for when it does not */
	CONFIG_MAX = 64 << 10,
};

/* A running curl. */
struct call {
	const struct net_request *q;
	struct net_answer *ret;
	struct buf head;
	int config, body, out, err;
	pid_t pid;
	int64_t until_us; /* monotonic */
};

/* -- what it is told --------------------------------------------------------------------------- */

/* A value in a config file of curl: between quotes, with the escapes that it knows. */
static void add_quoted(struct buf *b, const char *name, str value)
{
	buf_addf(b, "%s = \"", name);
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] == '"' || value.p[i] == '\\')
			buf_add_char(b, '\\');
		buf_add_char(b, value.p[i]);
	}
	buf_add_str(b, STR("\"\n"));
}

static bool is_one_line(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
	return true;
}

/* Address, headers and where the body is. A header without value ("Expect:") takes away one that curl would add. */
static int write_config(const struct net_request *q, struct buf *b, struct err *err)
{
	int r = url_check(q->url, err);

	if (r < 0)
		return r;
	add_quoted(b, "url", q->url);
	add_quoted(b, "header", STR("Expect:"));
	for (size_t i = 0; i < NET_HEADERS && !str_empty(q->headers[i]); i++) {
		if (!is_one_line(q->headers[i]))
			return err_set(err, -EINVAL, "a header, probably the key, has more than one line");
		add_quoted(b, "header", q->headers[i]);
	}
	buf_add_str(b, STR("data-binary = \"@/dev/fd/3\"\n"));
	return b->full ? err_set(err, -E2BIG, "the headers are too large") : 0;
}

/* A file in memory that holds this, to be read from its beginning. */
static int memory_of(str bytes)
{
	int fd = os_memory_file("hookd-request", "/tmp"), r;

	if (fd < 0)
		return fd;
	r = fs_write_all(fd, bytes.p, bytes.n);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0)
		fs_closep(&fd);
	return r < 0 ? r : fd;
}

/* -- its life ---------------------------------------------------------------------------------- */

static int start(struct call *c, const char *curl)
{
	bool https = str_starts(c->q->url, STR("https://"));
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, r;
	char seconds[32], size[32], connect[16];
	const char *argv[] = { "curl", "-q", "--silent", "--show-error", "--globoff", "--proto",
		https ? "=https" : "=http", "--noproxy", "*", "--max-time", seconds, "--connect-timeout", connect,
		"--max-filesize", size, "--dump-header", "/dev/stderr", "--config", "-", NULL };
	const char *envp[] = { "PATH=" PATHS_PROGRAMS, "LANG=C", NULL };
	struct os_child child = { .path = curl,
		.argv = (char *const *)argv,
		.envp = (char *const *)envp,
		.dir = "/",
		.keeper = -1,
		.more = c->body,
		.cpu_seconds = (unsigned)(c->q->timeout_us / USEC_PER_SEC + 2) };

	snprintf(seconds, sizeof seconds, "%.3f", (double)c->q->timeout_us / USEC_PER_SEC);
	snprintf(connect, sizeof connect, "%d", CONNECT_S);
	snprintf(size, sizeof size, "%zu", c->q->answer_max);
	r = pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 ? -errno : 0;
	child.fds[0] = c->config;
	child.fds[1] = out[1];
	child.fds[2] = err[1];
	if (r == 0)
		r = os_child_start(&child, &c->pid);
	fs_closep(&out[1]);
	fs_closep(&err[1]);
	c->out = out[0];
	c->err = err[0];
	return r;
}

/* False: it sends more than it may. */
static bool read_some(int *fd, struct buf *to)
{
	char room[16384];
	ssize_t n = read(*fd, room, sizeof room);

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0) {
		fs_closep(fd);
		return true;
	}
	return buf_add(to, room, (size_t)n) == 0;
}

static void stop(struct call *c, enum net_result why, const char *text)
{
	c->ret->result = why;
	err_set(&c->ret->err, -EIO, "%s", text);
}

/* Reads until it has said everything. False: it is not to go on, and the result says why. */
static bool follow(struct call *c)
{
	while (c->out >= 0 || c->err >= 0) {
		struct pollfd p[] = { { .fd = c->out, .events = POLLIN }, { .fd = c->err, .events = POLLIN },
			{ .fd = c->q->cancel_fd, .events = POLLIN } };
		int64_t left = c->until_us - clock_mono_us();
		int n = left > 0 ? poll(p, countof(p), (int)(left / USEC_PER_MSEC) + 1) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			stop(c, NET_TIMEOUT, "no answer in time");
			return false;
		}
		if (p[2].revents) {
			stop(c, NET_CANCELLED, "hookd is stopping");
			return false;
		}
		if ((p[0].revents && !read_some(&c->out, &c->ret->body)) ||
			(p[1].revents && !read_some(&c->err, &c->head))) {
			stop(c, NET_TOO_LARGE, "the answer is too large");
			return false;
		}
	}
	return true;
}

/* Its pipes are closed, so it is about to end; or it is to be ended. */
static int reap(struct call *c, bool now)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status = 0;
	pid_t got = 0;

	for (int i = 0; !now && i < GRACE_MS && got == 0; i++) {
		got = waitpid(c->pid, &status, WNOHANG);
		if (got == 0)
			nanosleep(&pause, NULL);
	}
	if (got != c->pid) {
		kill(-c->pid, SIGKILL);
		while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* -- what came of it --------------------------------------------------------------------------- */

/* "curl: (7) Failed to connect…", the last thing it says. */
static void say_why(struct call *c, enum net_result result)
{
	str rest = buf_str(&c->head), line, last = STR("curl gave no reason");
	char text[200];
	size_t n;

	while (str_split(&rest, '\n', &line))
		if (str_starts(line, STR("curl: (")))
			last = str_trim(line);
	n = (size_t)snprintf(text, sizeof text, STR_FMT, STR_ARG(str_cut_utf8(last, sizeof text - 1)));
	for (size_t i = 0; i < MIN(n, sizeof text - 1); i++)
		text[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	stop(c, result, text);
}

static bool never_left(int code)
{
	return (code >= CURL_NO_PROXY && code <= CURL_NO_CONNECTION) || code == CURL_NO_TLS ||
		code == CURL_BAD_CERTIFICATE || code == 126 || code == 127;
}

static void judge(struct call *c, int code)
{
	bool answered = net_parse_head(buf_str(&c->head), clock_wall_us() / USEC_PER_SEC, &c->ret->status,
		&c->ret->retry_after_s);

	c->ret->sent = !never_left(code);
	if (code == 0 && answered)
		c->ret->result = NET_ANSWERED;
	else
		say_why(c,
			code == CURL_TIMED_OUT               ? NET_TIMEOUT
				: code == CURL_TOO_LARGE     ? NET_TOO_LARGE
				: code == 126 || code == 127 ? NET_NO_CURL
							     : NET_UNREACHABLE);
}

static void run(struct call *c, const char *curl)
{
	int r = start(c, curl), code;
	bool whole;

	if (r < 0) {
		c->ret->result = NET_UNREACHABLE;
		err_set(&c->ret->err, r, "curl cannot be started: %s", strerror(-r));
	} else {
		c->ret->sent = true; /* until it is known better */
		whole = follow(c);
		code = reap(c, !whole);
		if (whole)
			judge(c, code);
	}
	fs_closep(&c->out);
	fs_closep(&c->err);
}

void net_post(const struct net_request *q, struct net_answer *ret)
{
	struct call c = { .q = q,
		.ret = ret,
		.head = BUF_INIT(NET_HEAD_MAX),
		.config = -1,
		.body = -1,
		.until_us = clock_mono_us() + q->timeout_us + GRACE_MS * USEC_PER_MSEC };
	struct buf config = BUF_INIT(CONFIG_MAX);
	char curl[FS_PATH];

	*ret = (struct net_answer){ .retry_after_s = -1 };
	buf_init(&ret->body, q->answer_max);
	if (write_config(q, &config, &ret->err) < 0) {
		ret->result = NET_BAD_REQUEST;
	} else if (net_find_curl(curl, &ret->err) < 0) {
		ret->result = NET_NO_CURL;
	} else if ((c.config = memory_of(buf_str(&config))) < 0 || (c.body = memory_of(q->body)) < 0) {
		stop(&c, NET_UNREACHABLE, "there is no memory for the request");
	} else {
		run(&c, curl);
	}
	fs_closep(&c.config);
	fs_closep(&c.body);
	explicit_bzero(config.p, config.len); /* it holds the key */
	buf_release(&config);
	buf_release(&c.head);
}
