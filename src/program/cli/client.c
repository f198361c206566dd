/* Talking to the daemon from a command. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "cli/commands.h"
#include "daemon/spawn.h"
#include "os/os.h"
#include "wire/wire.h"

enum {
	CONNECT_MS = 1000,
	ANSWER_MS = 30000, /* readers may scan a large store */
	START_MS = 10000,  /* it may have to wait for one that is leaving */
};

const char *cli_self_path(struct cli *cli)
{
	static char path[FS_PATH];

	if (!path[0] && os_self_path(path, sizeof path) < 0)
		snprintf(path, sizeof path, "%s", cli->self);
	return path;
}

int cli_start_daemon(struct cli *cli, struct err *err)
{
	/* The daemon is given its state directory only; it reads the rest from `places`. */
	int r = paths_make(&cli->paths, err);

	return r < 0 ? r : daemon_spawn(cli_self_path(cli), &cli->paths, START_MS, err);
}

static int connect_daemon(struct cli *cli)
{
	int64_t deadline = clock_mono_us() + CONNECT_MS * USEC_PER_MSEC;

	return wire_connect(cli->paths.socket, deadline);
}

static int read_line(int fd, struct buf *b, int patience_ms)
{
	int64_t until = clock_mono_us() + patience_ms * USEC_PER_MSEC;

	while (!b->len || b->p[b->len - 1] != '\n') {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = (until - clock_mono_us()) / USEC_PER_MSEC;
		char *to;
		ssize_t n;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return -errno;
		to = buf_reserve(b, 65536);
		if (!to)
			return -E2BIG;
		n = recv(fd, to, 65536, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		buf_commit(b, (size_t)n);
	}
	return 0;
}

/* Those of an agent that calls us: a script of it forwards its events this way. */
static void write_env(struct json_writer *w)
{
	jw_key(w, "env");
	jw_object(w);
	for (char *const *e = environ; *e; e++) {
		ptrdiff_t eq = str_find_char(str_of(*e), '=');
		str name = eq > 0 ? str_head(str_of(*e), (size_t)eq) : STR("");

		if (wire_env_is_allowed(name)) {
			jw_key_str(w, name);
			jw_str(w, str_of(*e + eq + 1));
		}
	}
	jw_end_object(w);
}

static int send_request(int fd, const char *method, str params, const char *token)
{
	struct buf b = BUF_INIT(LIMIT_RPC_LINE);
	struct json_writer w = JSON_WRITER(&b);
	int r = 0;

	jw_object(&w);
	jw_field_str(&w, "jsonrpc", STR("2.0"));
	jw_field_int(&w, "id", 1);
	jw_field_str(&w, "method", str_of(method));
	if (!str_empty(params)) {
		jw_key(&w, "params");
		jw_raw(&w, params);
	}
	if (str_starts(str_of(method), STR("hooks.")))
		write_env(&w);
	if (token)
		jw_field_str(&w, "token", str_of(token));
	jw_end_object(&w);
	buf_add_char(&b, '\n');
	for (size_t sent = 0; sent < b.len && r == 0;) {
		ssize_t n = send(fd, b.p + sent, b.len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, CONNECT_MS);
		else if (n < 0 && errno != EINTR)
			r = -errno;
		else if (n > 0)
			sent += (size_t)n;
	}
	buf_release(&b);
	return r;
}

int cli_call(struct cli *cli, bool start, const char *method, str params, struct json **ret, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_RPC_REPLY + KIB(64));
	_close_ int fd = connect_daemon(cli);
	struct json *root;
	int r;

	if ((fd == -ENOENT || fd == -ECONNREFUSED) && start) {
		r = cli_start_daemon(cli, err);
		if (r < 0 && r != -EEXIST)
			return r;
		fd = connect_daemon(cli);
	}
	if (fd < 0)
		return err_set(err, fd == -ECONNREFUSED ? -ENOENT : fd,
			fd == -EPERM ? "the socket %s belongs to another user" : "no daemon answers at %s",
			cli->paths.socket);
	r = send_request(fd, method, params, cli->owner);
	if (r == 0)
		r = read_line(fd, &b, cli->answer_ms ? cli->answer_ms : ANSWER_MS);
	if (r < 0) {
		buf_release(&b);
		return err_set(err, r, "the daemon does not answer (%s); see: hookd logs", strerror(-r));
	}
	r = json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&b)), JSON_LENIENT_UTF8, &root, err);
	buf_release(&b);
	if (r < 0)
		return r;
	if (json_get(root, STR("error")))
		return err_set(err, -EREMOTE, STR_FMT, STR_ARG(json_str(json_path(root, "error", "message", NULL))));
	*ret = json_get(root, STR("result"));
	return *ret ? 0 : err_set(err, -EPROTO, "the daemon's answer has no result");
}

struct json *cli_ask(struct cli *cli, const char *method, str params)
{
	struct json *result = NULL;
	struct err err = { 0 };

	if (cli_call(cli, true, method, params, &result, &err) < 0) {
		cli_fail("%s", err.text);
		return NULL;
	}
	return result;
}

int cli_print_json(const struct json *v)
{
	struct buf b = BUF_INIT(SIZE_MAX / 2); /* several answers may have been put together */

	if (json_write(&b, v) < 0)
		return cli_fail("the result is too large to print");
	buf_add_char(&b, '\n');
	fwrite(b.p, 1, b.len, stdout);
	buf_release(&b);
	return EXIT_DONE;
}

bool cli_daemon_runs(struct cli *cli)
{
	struct json *hello = NULL;
	struct err err = { 0 };

	return cli_call(cli, false, "hello", STR_NONE, &hello, &err) == 0 && daemon_has_lock(&cli->paths);
}
