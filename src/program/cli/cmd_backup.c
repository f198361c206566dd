/* backup, restore: copies of the store. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "store/store.h"

enum { LOCK_TRIES = 5 };

/* The daemon's working directory may differ from the user's. */
static const char *absolute(struct cli *cli, const char *path)
{
	char dir[FS_PATH];

	if (path[0] == '/' || !getcwd(dir, sizeof dir))
		return path;
	return arena_strf(&cli->arena, "%s/%s", dir, path).p;
}

/* -- backup ------------------------------------------------------------------------------------ */

static int run_backup(struct cli *cli)
{
	struct buf b = BUF_INIT(3 * FS_PATH);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	jw_object(&w);
	if (cli->nargs)
		jw_field_str(&w, "file", str_of(absolute(cli, cli->args[0])));
	jw_end_object(&w);
	cli->answer_ms = CLI_LONG_MS;
	result = cli_ask(cli, "backup", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf(STR_FMT "\n%lld events of %lld sessions, " STR_FMT ", checked\n", STR_ARG(cell_text(result, "path")),
		(long long)cell_int(result, "events"), (long long)cell_int(result, "sessions"),
		STR_ARG(cell_size(cli, cell_int(result, "bytes"))));
	return EXIT_DONE;
}

static const struct cmd_option backup_options[] = { { "json", 0, NULL, false, "print JSON" }, { 0 } };

const struct cmd cmd_backup = {
	.name = "backup",
	.args = "[FILE]",
	.text = "Copy the store to a file while the daemon keeps running.",
	.max_args = 1,
	.options = backup_options,
	.run = run_backup,
};

/* -- restore ----------------------------------------------------------------------------------- */

/* Stops the daemon and takes its lock, so that no hook can start another one. The descriptor, or -1 after a
 * message. */
static int take_daemons_place(struct cli *cli, bool *ret_was_running)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct err err = { 0 };
	int fd, r = paths_make(&cli->paths, &err);

	*ret_was_running = false;
	if (r < 0) {
		cli_fail("%s", err.text);
		return -1;
	}
	fd = open(cli->paths.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		r = cli_stop_daemon(cli, &err);
		*ret_was_running |= r == 1;
		if (r >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	cli_fail("the daemon could not be stopped: %s; nothing was changed", err.text[0] ? err.text : strerror(errno));
	fs_closep(&fd);
	return -1;
}

static void print_summary(struct cli *cli, const char *path, const struct store_summary *s)
{
	char last[CLOCK_TEXT] = "never";

	if (s->last_us)
		clock_format(s->last_us, 1, last);
	printf("%s: %lld events of %lld sessions, the last one at %s, " STR_FMT ", schema %d\n", path,
		(long long)s->events, (long long)s->sessions, last, STR_ARG(cell_size(cli, s->bytes)), s->version);
}

/* The store is ours alone now. */
static int replace_store(struct cli *cli, const char *from)
{
	char aside[FS_PATH];
	struct err err = { 0 };
	int r = store_restore(from, cli->paths.store, aside, &err);

	if (r < 0)
		return cli_fail("nothing was restored: %s", err.text);
	printf("restored; %s%s\n", aside[0] ? "the store as it was is kept as " : "there was no store before", aside);
	return EXIT_DONE;
}

static int run_restore(struct cli *cli)
{
	const char *from = absolute(cli, cli->args[0]);
	struct store_summary summary;
	struct err err = { 0 };
	bool was_running;
	int fd, code, r;

	if (store_inspect(from, &summary, &err) < 0)
		return cli_fail("cannot restore: %s", err.text);
	print_summary(cli, from, &summary);
	if (cli_has(cli, "dry-run")) {
		printf("would stop the daemon, keep the current store beside %s, and replace it with this one\n",
			cli->paths.store);
		return EXIT_DONE;
	}
	code = cli_need_owner(cli, "replacing the store");
	if (code == EXIT_DONE)
		code = cli_ask_yes(cli, "Replace the current store with this one?");
	if (code != EXIT_DONE)
		return code;
	cli_note_change(cli, "restore", str_of(from));
	fd = take_daemons_place(cli, &was_running);
	if (fd < 0)
		return EXIT_FAILED;
	code = replace_store(cli, from);
	fs_closep(&fd);
	r = cli_start_daemon(cli, &err);
	if (r < 0 && r != -EEXIST)
		return cli_fail("the daemon cannot be started again: %s; see: hookd logs", err.text);
	return code;
}

static const struct cmd_option restore_options[] = {
	{ "dry-run", 0, NULL, false, "check the file and report what would be done" },
	{ "yes", 'y', NULL, false, "do not ask" },
	{ 0 },
};

const struct cmd cmd_restore = {
	.name = "restore",
	.args = "FILE",
	.text = "Replace the store with a backup; the old store is kept beside it.",
	.min_args = 1,
	.max_args = 1,
	.options = restore_options,
	.run = run_restore,
};
