/* version, help, rpc, logs, db: small commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "wire/wire.h"

/* -- version and help -------------------------------------------------------------------------- */

static int run_version(struct cli *cli)
{
	if (cli_has(cli, "json"))
		printf("{\"version\":\"%s\",\"protocol\":%d}\n", HOOKD_VERSION, WIRE_PROTO);
	else
		printf("hookd %s (protocol %d)\n", HOOKD_VERSION, WIRE_PROTO);
	return EXIT_DONE;
}

static const struct cmd_option json_option[] = { { "json", 0, NULL, false, "print JSON" }, { 0 } };

const struct cmd cmd_version = {
	.name = "version",
	.args = "",
	.text = "Print the version.",
	.flags = CMD_ANYWHERE,
	.options = json_option,
	.run = run_version,
};

static int run_help(struct cli *cli)
{
	const struct cmd *c;

	if (!cli->nargs) {
		cli_print_overview();
		return EXIT_DONE;
	}
	c = cli_find(cli->args[0]);
	if (!c)
		return cli_usage_error(cli, "there is no command '%s'", cli->args[0]);
	cli_print_help(c);
	return EXIT_DONE;
}

const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.text = "Show the commands, or how to use one.",
	.flags = CMD_ANYWHERE,
	.max_args = 1,
	.run = run_help,
};

/* -- rpc --------------------------------------------------------------------------------------- */

/* The parameters of one operation as JSON Schema, or of all by their names. */
static int print_schema(struct cli *cli)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	const struct json *list;
	struct json *result;

	jw_object(&w);
	if (cli->nargs)
		jw_field_str(&w, "method", str_of(cli->args[0]));
	jw_end_object(&w);
	result = cli_ask(cli, "ops", buf_str(&b));
	if (!result) {
		buf_release(&b);
		return EXIT_FAILED;
	}
	list = json_get(result, STR("ops"));
	buf_clear(&b);
	w = (struct json_writer)JSON_WRITER(&b);
	if (cli->nargs) {
		jw_value(&w, json_get(json_first(list), STR("params")));
	} else {
		jw_object(&w);
		json_each(op, list) {
			jw_key_str(&w, json_str(json_get(op, STR("name"))));
			jw_value(&w, json_get(op, STR("params")));
		}
		jw_end_object(&w);
	}
	printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
	buf_release(&b);
	return EXIT_DONE;
}

static int run_rpc(struct cli *cli)
{
	struct json *params = NULL, *result;
	struct err err = { 0 };
	str text = cli->nargs > 1 ? str_of(cli->args[1]) : STR_NONE;

	if (cli_has(cli, "schema"))
		return print_schema(cli);
	if (!cli->nargs)
		return cli_usage_error(cli, "the method is missing; the method 'ops' lists them");
	if (cli->nargs > 1 && json_parse(&cli->arena, text, 0, &params, &err) < 0)
		return cli_fail("the parameters are not JSON: %s (column %u)", err.text, err.col);
	if (cli_offer_owner(cli) != EXIT_DONE)
		return EXIT_FAILED;
	result = cli_ask(cli, cli->args[0], text);
	return result ? cli_print_json(result) : EXIT_FAILED;
}

static const struct cmd_option rpc_options[] = {
	{ "schema", 0, NULL, false, "print the parameters of METHOD, or of every method, as JSON Schema" },
	{ 0 },
};

const struct cmd cmd_rpc = {
	.name = "rpc",
	.args = "[METHOD [JSON]]",
	.text = "Call an operation of the daemon; the method 'ops' lists them.",
	.max_args = 2,
	.options = rpc_options,
	.run = run_rpc,
};

/* -- logs -------------------------------------------------------------------------------------- */

enum { LOG_TAIL = 1 << 20 };

/* Copies what is new in the file; notices when it was rotated. */
static off_t copy_from(const char *path, off_t at)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char room[8192];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return at;
	if (st.st_size < at)
		at = 0;
	while ((n = pread(fd, room, sizeof room, at)) > 0) {
		fwrite(room, 1, (size_t)n, stdout);
		at += n;
	}
	fflush(stdout);
	return at;
}

/* Where the last `lines` lines begin, looking at the last MiB. */
static off_t tail_offset(const char *path, int64_t lines)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char room[LOG_TAIL];
	struct stat st;
	off_t from;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	from = st.st_size > LOG_TAIL ? st.st_size - LOG_TAIL : 0;
	n = pread(fd, room, sizeof room, from);
	for (ssize_t i = n - 1; i > 0; i--)
		if (room[i - 1] == '\n' && --lines == 0)
			return from + i;
	return from;
}

static int run_logs(struct cli *cli)
{
	const struct timespec pause = { .tv_nsec = 250000000 };
	struct stat st;
	int64_t lines;
	off_t at;

	if (!str_to_int(str_of(cli_value(cli, "lines", "50")), &lines) || lines < 1)
		return cli_usage_error(cli, "--lines needs a number of at least 1");
	if (stat(cli->paths.log, &st) < 0 && !cli_has(cli, "follow"))
		return cli_fail("there is no log yet at %s; the daemon creates it when it starts", cli->paths.log);
	at = copy_from(cli->paths.log, tail_offset(cli->paths.log, lines));
	while (cli_has(cli, "follow") && !ferror(stdout)) {
		nanosleep(&pause, NULL);
		at = copy_from(cli->paths.log, at);
	}
	return EXIT_DONE;
}

static const struct cmd_option logs_options[] = {
	{ "follow", 'f', NULL, false, "keep printing lines as they are written" },
	{ "lines", 'n', "N", false, "start with the last N lines (default 50)" },
	{ 0 },
};

const struct cmd cmd_logs = {
	.name = "logs",
	.args = "",
	.text = "Show hookd.log.",
	.options = logs_options,
	.run = run_logs,
};

/* -- db ---------------------------------------------------------------------------------------- */

enum { DB_MS = 30 * 60 * 1000 }; /* a large store is read whole */

static void print_repair(struct cli *cli, const struct json *result)
{
	str backup = json_str(json_get(result, STR("backup")));

	if (!cli_has(cli, "dry-run"))
		puts(json_true(json_get(result, STR("repaired"))) ? "it was repaired:"
								  : "it could not be repaired; see: hookd status");
	else
		printf("would set it aside and build a new one from %s" STR_FMT
		       ", what can be read of it, and the journal\n",
			str_is_set(backup) ? "the backup " : "nothing (there is no backup)", STR_ARG(backup));
	if (!cli_has(cli, "dry-run"))
		printf(STR_FMT "\n", STR_ARG(json_str(json_get(result, STR("recovery")))));
}

static int64_t field(const struct json *r, const char *name)
{
	int64_t n = 0;

	json_int(json_get(r, str_of(name)), &n);
	return n;
}

static void print_aside(const struct json *r)
{
	int64_t n = field(r, "unfolded") + field(r, "quarantined");

	if (n)
		printf("%lld of them could not be folded and are set aside; see: hookd logs\n", (long long)n);
}

/* Waits until the daemon has refolded everything; it continues even when nobody waits. */
static int wait_for_rebuild(struct cli *cli, struct json *r)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000000 };
	bool show = isatty(STDERR_FILENO) && !cli_has(cli, "json");

	while (r && field(r, "left")) {
		if (show)
			fprintf(stderr, "\r%lld of %lld sessions", (long long)(field(r, "sessions") - field(r, "left")),
				(long long)field(r, "sessions"));
		nanosleep(&pause, NULL);
		r = cli_ask(cli, "rebuild", STR("{\"progress\":true}"));
	}
	if (show)
		fputs("\r\033[K", stderr);
	if (!r)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(r);
	printf("%lld sessions were refolded from %lld events\n", (long long)field(r, "sessions"),
		(long long)field(r, "events"));
	print_aside(r);
	return EXIT_DONE;
}

static int run_rebuild(struct cli *cli)
{
	bool dry = cli_has(cli, "dry-run");
	struct json *r;

	cli->answer_ms = DB_MS;
	r = cli_ask(cli, "rebuild", dry ? STR("{\"dry_run\":true}") : STR_NONE);
	if (!r)
		return EXIT_FAILED;
	if (!dry)
		return wait_for_rebuild(cli, r);
	if (cli_has(cli, "json"))
		return cli_print_json(r);
	printf("would refold %lld sessions from %lld events\n", (long long)field(r, "sessions"),
		(long long)field(r, "events"));
	print_aside(r);
	return EXIT_DONE;
}

static int run_db(struct cli *cli)
{
	bool repair = strcmp(cli->args[0], "repair") == 0, ok;
	struct json *result;

	if (strcmp(cli->args[0], "rebuild") == 0)
		return run_rebuild(cli);
	if (!repair && strcmp(cli->args[0], "check") != 0)
		return cli_usage_error(cli, "there is no 'db %s'; use 'db check', 'db repair' or 'db rebuild'",
			cli->args[0]);
	cli->answer_ms = DB_MS;
	result = cli_ask(cli, repair ? "repair" : "check",
		cli_has(cli, "dry-run") ? STR("{\"dry_run\":true}") : STR_NONE);
	if (!result)
		return EXIT_FAILED;
	ok = json_true(json_get(result, STR("ok")));
	if (cli_has(cli, "json"))
		cli_print_json(result);
	else if (ok)
		puts("the store is sound");
	else
		fprintf(stderr, "hookd: the store is damaged:\n" STR_FMT,
			STR_ARG(json_str(json_get(result, STR("problems")))));
	if (repair && !ok && !cli_has(cli, "json"))
		print_repair(cli, result);
	return ok || json_true(json_get(result, STR("repaired"))) ? EXIT_DONE : EXIT_FAILED;
}

static const struct cmd_option db_options[] = {
	{ "dry-run", 0, NULL, false, "repair, rebuild: only report what would be done" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_db = {
	.name = "db",
	.args = "check|repair|rebuild",
	.text = "Check the store for damage, repair it (damaged files are set aside, never deleted), or refold all "
		"sessions from its events.",
	.min_args = 1,
	.max_args = 1,
	.options = db_options,
	.run = run_db,
};
