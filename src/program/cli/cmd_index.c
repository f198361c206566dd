/* index: the code of a repository is read now, in the foreground. A process of its own does it, because it may crash on
 * what it reads; this one looks on, and starts it again. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "index/index.h"
#include "os/os.h"
#include "project/project.h"

enum { LOOK_MS = 50, TRIES = 20, BUSY_S = 600, STALLED_S = 10 };

struct indexing {
	struct cli *cli;
	struct code *code;
	struct project project;
	bool shows; /* progress */
};

/* -- which repository -------------------------------------------------------------------------- */

static int find_root(struct indexing *x, const char *given)
{
	char here[PATH_MAX], *real = realpath(given ? given : ".", here);

	if (!real)
		return cli_fail("%s cannot be read: %s", given ? given : "the working directory", strerror(errno));
	if (project_find(here, x->cli->paths.home, &x->project) < 0)
		return cli_fail("%s cannot be indexed: its path is too long", here);
	if (!x->project.found && (!here[1] || strcmp(here, x->cli->paths.home) == 0))
		return cli_fail("%s is no repository, but everything; name a directory in it", here);
	return EXIT_DONE;
}

/* -- looking on -------------------------------------------------------------------------------- */

static void show(const struct indexing *x, bool ends)
{
	struct code_status s;

	if (!x->shows || code_status(x->code, x->project.root, &s) < 0)
		return;
	if (!s.all && s.is_running)
		fprintf(stderr, "\r%llu of %llu pieces can be found by what they mean", (unsigned long long)s.vectors,
			(unsigned long long)s.chunks);
	if (s.all)
		fprintf(stderr, "\r%llu of %llu files, %llu pieces", (unsigned long long)s.done,
			(unsigned long long)s.all, (unsigned long long)s.chunks);
	if (ends)
		fputs("\r\033[K", stderr);
}

static int start(struct indexing *x, pid_t *ret)
{
	extern char **environ;
	char *const argv[] = { (char *)"hookd", (char *)"indexer", (char *)"--dir", x->cli->paths.state,
		(char *)"--once", x->project.root, cli_has(x->cli, "no-vectors") ? (char *)"--no-vectors" : NULL,
		NULL };
	_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct os_child child = { .path = cli_self_path(x->cli),
		.argv = argv,
		.envp = environ,
		.dir = "/",
		.fds = { null, null, STDERR_FILENO },
		.cpu_seconds = 24 * 3600,
		.keeper = -1 };

	return null < 0 ? -errno : os_child_start(&child, ret);
}

static void pause_ms(int ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* What it ended with, as waitpid() says it. */
static int run_once(struct indexing *x, int *ret_status)
{
	pid_t pid = 0;
	int r = start(x, &pid);

	while (r == 0 && waitpid(pid, ret_status, WNOHANG) == 0) {
		show(x, false);
		pause_ms(LOOK_MS);
	}
	show(x, true);
	return r;
}

/* Until all have one, or none is added any more: there may be no encoder. */
static void wait_for_vectors(struct indexing *x, struct code_status *s)
{
	int64_t since_us = clock_mono_us();

	while (s->is_running && s->vectors < s->chunks && clock_mono_us() - since_us < STALLED_S * USEC_PER_SEC) {
		uint64_t had = s->vectors;

		pause_ms(LOOK_MS);
		show(x, false);
		if (code_status(x->code, x->project.root, s) < 0)
			return;
		if (s->vectors > had)
			since_us = clock_mono_us();
	}
}

/* The daemon's indexer has it: it is asked to look at everything, and watched until it has. */
static int wait_for_other(struct indexing *x)
{
	struct cli *cli = x->cli;
	int64_t until_us = clock_mono_us() + BUSY_S * USEC_PER_SEC;
	struct buf b = BUF_INIT(2 * FS_PATH);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;
	struct code_status before, now;
	struct err err = { 0 };

	(void)code_status(x->code, x->project.root, &before);
	jw_object(&w);
	jw_field_str(&w, "root", str_of(x->project.root));
	jw_end_object(&w);
	(void)cli_call(cli, false, "index_update", buf_str(&b), &result, &err);
	buf_release(&b);
	do {
		pause_ms(LOOK_MS);
		show(x, false);
		if (code_status(x->code, x->project.root, &now) < 0 || clock_mono_us() > until_us)
			return cli_fail("another hookd is indexing %s and does not finish", x->project.root);
	} while (now.is_running && now.scans == before.scans);
	if (now.is_running && !cli_has(cli, "no-vectors"))
		wait_for_vectors(x, &now);
	show(x, true);
	return now.is_running ? EXIT_DONE : EXIT_BUSY;
}

/* Each crash costs one file: the next one reads it as plain lines. */
static int update(struct indexing *x)
{
	int status = 0, r = EXIT_BUSY;

	for (int i = 0; i < TRIES; i++) {
		if (run_once(x, &status) < 0)
			return cli_fail("the indexer cannot be started");
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_BUSY)
			r = wait_for_other(x);
		else if (WIFEXITED(status))
			r = WEXITSTATUS(status);
		else
			continue;
		if (r != EXIT_BUSY)
			return r;
	}
	return cli_fail("the indexer ended %d times before it was done; see: hookd logs", TRIES);
}

/* -- the command ------------------------------------------------------------------------------- */

static int print_status(struct indexing *x)
{
	struct cli *cli = x->cli;
	struct buf b = BUF_INIT(65536);
	struct json_writer w = JSON_WRITER(&b);
	struct code_status s;
	char age[CLOCK_TEXT];

	if (code_status(x->code, x->project.root, &s) < 0)
		return cli_fail("the index of %s cannot be read", x->project.root);
	if (cli_has(cli, "json")) {
		jw_object(&w);
		jw_field_str(&w, "root", str_of(x->project.root));
		code_status_write(&w, &s);
		jw_end_object(&w);
		puts(b.p);
		buf_release(&b);
		return EXIT_DONE;
	}
	if (!s.exists) {
		printf("%s has no index; make one with: hookd index\n", x->project.root);
		return EXIT_DONE;
	}
	clock_format_age(clock_wall_us() - s.updated_us, age);
	printf("%s\n%llu files, %llu pieces, %llu definitions; %llu pieces can be found by what they mean\n"
	       "%llu files are left out; changed %s ago%s\n",
		x->project.root, (unsigned long long)s.files, (unsigned long long)s.chunks,
		(unsigned long long)s.symbols, (unsigned long long)MIN(s.vectors, s.chunks),
		(unsigned long long)s.skipped, age, s.is_running ? "; changes are followed" : "");
	if (s.all)
		printf("%llu of %llu files are looked at\n", (unsigned long long)s.done, (unsigned long long)s.all);
	return EXIT_DONE;
}

static int run_index(struct cli *cli)
{
	struct indexing x = { .cli = cli, .shows = isatty(STDERR_FILENO) && !cli_has(cli, "json") };
	bool status = cli->nargs && strcmp(cli->args[0], "status") == 0;
	struct err err = { 0 };
	char dir[FS_PATH];
	int r;

	if (cli->nargs > (status ? 2 : 1))
		return cli_usage_error(cli, "'index' takes one directory");
	r = find_root(&x, cli->nargs > status ? cli->args[status] : NULL);
	if (r != EXIT_DONE)
		return r;
	if (fs_join(dir, cli->paths.data, "code") < 0 || paths_make(&cli->paths, &err) < 0)
		return cli_fail("%s", err.text);
	x.code = code_new(dir, NULL);
	if (!status)
		r = update(&x);
	if (r == EXIT_DONE)
		r = print_status(&x);
	code_free(x.code);
	return r;
}

static const struct cmd_option index_options[] = {
	{ "no-vectors", 0, NULL, false,
		"do not wait until pieces can be found by what they mean, which takes milliseconds for each" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_index = {
	.name = "index",
	.args = "[PATH], or status [PATH]",
	.text = "Index the code of a repository, so that it can be searched; the daemon keeps it up to date by itself.",
	.max_args = 2,
	.options = index_options,
	.run = run_index,
};
