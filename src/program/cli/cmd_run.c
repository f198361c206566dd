/* run: the daemon itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "daemon/daemon.h"
#include "daemon/spawn.h"
#include "journal/journal.h"

/* Says how the start went to whoever started us detached; see daemon/spawn.h. */
static void report(char sign, const char *text)
{
	char line[400];
	int n = snprintf(line, sizeof line, "%c%s", sign, text);

	(void)!write(SPAWN_READY_FD, line, (size_t)n);
	close(SPAWN_READY_FD);
}

static void on_ready_detached(void *arg)
{
	(void)arg;
	report('+', "");
}

static void on_ready_foreground(void *arg)
{
	struct cli *cli = arg;

	printf("hookd %s is running. State: %s\n"
	       "Connect your agents, in another terminal:   %s init\n"
	       "See what arrives:                           %s tail -f\n"
	       "Stop with Ctrl-C.\n",
		HOOKD_VERSION, cli->paths.state, cli_self_path(cli), cli_self_path(cli));
	fflush(stdout);
}

static int run(struct cli *cli)
{
	bool detached = cli_has(cli, "detached");
	struct daemon_options how = { .foreground = cli_has(cli, "foreground"),
		.ready = detached ? on_ready_detached : on_ready_foreground,
		.arg = cli };
	struct err err = { 0 };
	int r;

	journal_fault_plan(str_of(cli_value(cli, "test-fail", NULL)));
	if (detached)
		fcntl(SPAWN_READY_FD, F_SETFD, FD_CLOEXEC);
	r = daemon_run(&cli->paths, &how, &err);
	if (r == 0)
		return EXIT_DONE;
	if (detached) {
		report(r == -EEXIST ? '=' : '-', err.text);
		return EXIT_FAILED;
	}
	if (r == -EEXIST)
		return cli_fail("%s; see: hookd status", err.text);
	return cli_fail("the daemon cannot start: %s", err.text);
}

static const struct cmd_option run_options[] = {
	{ "foreground", 0, NULL, false, "also print the log to this terminal" },
	{ "detached", 0, NULL, false, "used by hookd itself when it starts the daemon in the background" },
	{ "test-fail", 0, "PLAN", false, "make disk calls fail on purpose, e.g. write:3,fsync:1 (for tests)" },
	{ 0 },
};

const struct cmd cmd_run = {
	.name = "run",
	.args = "",
	.text = "Run the daemon in this terminal.",
	.options = run_options,
	.run = run,
};
