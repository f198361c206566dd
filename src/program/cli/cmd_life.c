/* start, stop, restart: the daemon's life from outside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "daemon/spawn.h"

enum { STOP_WAIT_MS = 5000 };

static int start(struct cli *cli)
{
	struct json *hello = NULL;
	struct err err = { 0 };
	int r;

	/* One that answers but has lost its lock is about to leave; the one started now waits for it. */
	if (cli_call(cli, false, "hello", STR_NONE, &hello, &err) == 0 && daemon_has_lock(&cli->paths)) {
		puts("hookd is already running");
		return EXIT_DONE;
	}
	r = cli_start_daemon(cli, &err);
	if (r < 0 && r != -EEXIST)
		return cli_fail("the daemon cannot start: %s; see: hookd logs", err.text);
	/* "Another one has the lock" may also be one that is just ending: ask. */
	r = cli_call(cli, false, "hello", STR_NONE, &hello, &err);
	if (r < 0)
		return cli_fail("the daemon was started but does not answer: %s; see: hookd logs", err.text);
	puts("hookd is running");
	return EXIT_DONE;
}

/* The lock is free when the daemon is really gone, store closed and all. */
static bool wait_gone(struct cli *cli)
{
	int64_t until = clock_mono_us() + STOP_WAIT_MS * USEC_PER_MSEC;
	const struct timespec pause = { .tv_nsec = 5000000 };
	_close_ int fd = open(cli->paths.lock, O_RDWR | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (clock_mono_us() > until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

int cli_stop_daemon(struct cli *cli, struct err *err)
{
	struct json *result = NULL;
	int r = cli_call(cli, false, "stop", STR_NONE, &result, err);

	if (r == -ENOENT)
		return wait_gone(cli) ? 0
				      : err_set(err, -EBUSY,
						"a daemon holds %s but does not listen; end it by its pid, "
						"which is in that file",
						cli->paths.lock);
	if (r < 0)
		return r;
	return wait_gone(cli)
		? 1
		: err_set(err, -ETIMEDOUT, "it was asked to stop and has not exited yet; see: hookd logs");
}

static int stop(struct cli *cli)
{
	struct err err = { 0 };
	int r = cli_stop_daemon(cli, &err);

	if (r < 0)
		return cli_fail("the daemon could not be stopped: %s", err.text);
	puts(r ? "hookd has stopped" : "hookd is not running");
	return EXIT_DONE;
}

static int restart(struct cli *cli)
{
	int r = stop(cli);

	return r == EXIT_DONE ? start(cli) : r;
}

const struct cmd cmd_start = {
	.name = "start", .args = "", .text = "Start the daemon in the background.", .run = start
};
const struct cmd cmd_stop = {
	.name = "stop", .args = "", .text = "Stop the daemon; nothing acknowledged is lost.", .run = stop
};
const struct cmd cmd_restart = {
	.name = "restart", .args = "", .text = "Stop the daemon and start it again.", .run = restart
};
