/* backup, restore, purge, retention: keeping what was captured, and getting rid of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "store/store.h"

enum {
	LONG_MS = 30 * 60 * 1000, /* copying or rewriting a large store */
	LOCK_TRIES = 5,
	NOT_ASKED = -1,
};

static int64_t number(const struct json *v, const char *name)
{
	int64_t n = 0;

	json_int(json_get(v, str_of(name)), &n);
	return n;
}

static str text(const struct json *v, const char *name)
{
	return json_str(json_get(v, str_of(name)));
}

/* "1.5 MB" */
static str size_text(struct cli *cli, int64_t bytes)
{
	static const struct {
		double unit;
		const char *name;
	} sizes[] = { { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "KB" } };

	for (size_t i = 0; i < countof(sizes); i++)
		if ((double)bytes >= sizes[i].unit)
			return arena_strf(&cli->arena, "%.1f %s", (double)bytes / sizes[i].unit, sizes[i].name);
	return arena_strf(&cli->arena, "%lld bytes", (long long)bytes);
}

/* The daemon may stand in another directory than its user. */
static const char *absolute(struct cli *cli, const char *path)
{
	char dir[FS_PATH];

	if (path[0] == '/' || !getcwd(dir, sizeof dir))
		return path;
	return arena_strf(&cli->arena, "%s/%s", dir, path).p;
}

/* Yes by option, by answer, or EXIT_FAILED with what to do. */
static int ask(struct cli *cli, const char *question)
{
	if (cli_has(cli, "yes"))
		return EXIT_DONE;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return cli_fail("nothing was changed: this needs an answer and there is no terminal; add --yes");
	return cli_confirm(question) ? EXIT_DONE : cli_fail("nothing was changed: not confirmed");
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
	cli->answer_ms = LONG_MS;
	result = cli_ask(cli, "backup", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf(STR_FMT "\n%lld events of %lld sessions, " STR_FMT ", checked\n", STR_ARG(text(result, "path")),
		(long long)number(result, "events"), (long long)number(result, "sessions"),
		STR_ARG(size_text(cli, number(result, "bytes"))));
	return EXIT_DONE;
}

static const struct cmd_option backup_options[] = { { "json", 0, NULL, false, "print JSON" }, { 0 } };

const struct cmd cmd_backup = {
	.name = "backup",
	.args = "[FILE]",
	.text = "Copy the store to a file, while events are being written.",
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
		(long long)s->events, (long long)s->sessions, last, STR_ARG(size_text(cli, s->bytes)),
		s->version);
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
		printf("would stop the daemon, keep the present store beside %s, and put this one in its place\n",
			cli->paths.store);
		return EXIT_DONE;
	}
	code = ask(cli, "Replace the present store by this one?");
	if (code != EXIT_DONE)
		return code;
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
	{ "dry-run", 0, NULL, false, "check the file and say what would be done" },
	{ "yes", 'y', NULL, false, "do not ask" },
	{ 0 },
};

const struct cmd cmd_restore = {
	.name = "restore",
	.args = "FILE",
	.text = "Put a backup in the place of the store, which is kept beside it.",
	.min_args = 1,
	.max_args = 1,
	.options = restore_options,
	.run = run_restore,
};

/* -- purge ------------------------------------------------------------------------------------- */

/* "30d", "12h", or a local date "2026-01-31" with or without "T12:30". */
static bool parse_when(const char *word, int64_t *ret)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M" };
	size_t n = strlen(word);
	int64_t count;

	for (size_t i = 0; n > 1 && i < countof(units); i++)
		if (word[n - 1] == units[i].letter && str_to_int(str_n(word, n - 1), &count) && count >= 0 &&
			count < 100000) {
			*ret = clock_wall_us() - count * units[i].seconds * USEC_PER_SEC;
			return true;
		}
	for (size_t i = 0; i < countof(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(word, formats[i], &tm);

		if (end && !*end) {
			*ret = (int64_t)mktime(&tm) * USEC_PER_SEC;
			return *ret > 0;
		}
	}
	return false;
}

/* The filters as parameters; an exit code when there is none or one is wrong. */
static int purge_params(struct cli *cli, struct buf *b)
{
	static const char *const texts[] = { "project", "agent", "match" };
	struct json_writer w = JSON_WRITER(b);
	const char *value, *before = cli_value(cli, "before", NULL);
	int64_t before_us = 0;
	int filters = before != NULL;

	if (before && !parse_when(before, &before_us))
		return cli_usage_error(cli, "--before needs a date (2026-01-31) or an age (30d), not '%s'", before);
	jw_object(&w);
	for (size_t i = 0; i < countof(texts); i++) {
		value = cli_value(cli, texts[i], NULL);
		if (value && !*value)
			return cli_usage_error(cli, "--%s needs a value that is not empty", texts[i]);
		jw_field_str(&w, texts[i], str_of(value));
		filters += value != NULL;
	}
	if (before)
		jw_field_int(&w, "before_us", before_us);
	if (cli_has(cli, "session")) {
		jw_key(&w, "sessions");
		jw_array(&w);
		for (int i = 0; (value = cli_value_at(cli, "session", i)); i++)
			jw_str(&w, str_of(value));
		jw_end_array(&w);
		filters++;
	}
	jw_key(&w, "keep_backups");
	jw_bool(&w, cli_has(cli, "keep-backups"));
	jw_key(&w, "all_copies");
	jw_bool(&w, cli_has(cli, "all-copies"));
	jw_end_object(&w);
	return filters ? NOT_ASKED :
			 cli_usage_error(cli, "say what to delete: --session, --project, --agent, --before or --match");
}

static void print_paths(const struct json *list, const char *heading)
{
	if (json_first(list))
		puts(heading);
	json_each(path, list) {
		fputs("  ", stdout);
		cli_print_safe(json_str(path));
		putchar('\n');
	}
}

static void print_preview(struct cli *cli, const struct json *p)
{
	char last[CLOCK_TEXT];

	printf("%lld events of %lld sessions, " STR_FMT " of payloads\n", (long long)number(p, "events"),
		(long long)number(p, "sessions"), STR_ARG(size_text(cli, number(p, "bytes"))));
	json_each(e, json_get(p, STR("examples"))) {
		clock_format(number(e, "last_us"), 1, last);
		printf("  %s  ", last);
		cli_print_safe(text(e, "agent"));
		putchar(' ');
		cli_print_safe(text(e, "id"));
		printf("  %lld events  ", (long long)number(e, "events"));
		cli_print_safe(str_cut_utf8(str_is_set(text(e, "title")) ? text(e, "title") : text(e, "cwd"), 60));
		putchar('\n');
	}
	if (number(p, "sessions") > 5)
		printf("  … and %lld more\n", (long long)number(p, "sessions") - 5);
}

static int report_purge(struct cli *cli, const struct json *r)
{
	if (cli_has(cli, "json"))
		return cli_print_json(r);
	printf("deleted %lld events and %lld whole sessions, in store, WAL, journal and spool\n",
		(long long)number(r, "events"), (long long)number(r, "sessions"));
	if (!json_true(json_get(r, STR("wal_emptied"))))
		puts("the WAL could not be emptied, because somebody reads the store; it will be with the next "
		     "stop of hookd");
	if (!json_true(json_get(r, STR("rewritten"))))
		puts("there was no room to write the store anew; freed pages were overwritten");
	if (json_true(json_get(r, STR("backups_kept"))))
		puts("automatic backups were kept and still hold what was deleted");
	print_paths(json_get(r, STR("copies")), "these copies may still hold it (--all-copies deletes them too):");
	return EXIT_DONE;
}

static int run_purge(struct cli *cli)
{
	struct buf b = BUF_INIT(1 << 20);
	struct json *result;
	int code = purge_params(cli, &b);

	if (code != NOT_ASKED)
		goto out;
	code = EXIT_FAILED;
	cli->answer_ms = LONG_MS;
	result = cli_ask(cli, "purge_preview", buf_str(&b));
	if (!result)
		goto out;
	if (cli_has(cli, "dry-run") && cli_has(cli, "json")) {
		code = cli_print_json(result);
		goto out;
	}
	if (!cli_has(cli, "json"))
		print_preview(cli, result);
	code = EXIT_DONE;
	if (cli_has(cli, "dry-run") || (!number(result, "events") && !cli_has(cli, "json")))
		goto out;
	code = ask(cli, "Delete this for good?");
	if (code != EXIT_DONE)
		goto out;
	result = cli_ask(cli, "purge", buf_str(&b));
	code = result ? report_purge(cli, result) : EXIT_FAILED;
out:
	buf_release(&b);
	return code;
}

static const struct cmd_option purge_options[] = {
	{ "session", 0, "ID", true, "this session" },
	{ "project", 0, "P", false, "sessions of this project (name or path)" },
	{ "agent", 0, "NAME", false, "sessions of this agent" },
	{ "before", 0, "WHEN", false, "sessions that ended before a date (2026-01-31) or an age (30d)" },
	{ "match", 0, "TEXT", false, "only the events that hold this text" },
	{ "keep-backups", 0, NULL, false, "leave automatic backups as they are" },
	{ "all-copies", 0, NULL, false, "delete your own backups and files set aside as well" },
	{ "dry-run", 0, NULL, false, "only say what would go" },
	{ "yes", 'y', NULL, false, "do not ask" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_purge = {
	.name = "purge",
	.args = "",
	.text = "Delete captured work for good: from store, WAL, journal, spool and automatic backups.",
	.options = purge_options,
	.run = run_purge,
};

/* -- retention --------------------------------------------------------------------------------- */

static void print_limits(struct cli *cli, const struct json *r)
{
	int64_t days = number(r, "days");

	if (days)
		printf("sessions are kept for %lld days (retention.days)\n", (long long)days);
	else
		puts("sessions are kept for ever (retention.days is 0)");
	printf("the store holds " STR_FMT " of at most " STR_FMT " (store.max_mb)\n",
		STR_ARG(size_text(cli, number(r, "used_bytes"))), STR_ARG(size_text(cli, number(r, "max_bytes"))));
}

static int run_retention(struct cli *cli)
{
	bool dry = cli_has(cli, "dry-run"), json = cli_has(cli, "json");
	struct json *result;

	cli->answer_ms = LONG_MS;
	result = cli_ask(cli, dry ? "retention" : "retain", STR_NONE);
	if (!result)
		return EXIT_FAILED;
	if (json)
		return cli_print_json(result);
	print_limits(cli, result);
	result = json_get(result, dry ? STR("beyond") : STR("deleted"));
	printf("%s %lld sessions with %lld events\n", dry ? "beyond the limits:" : "deleted:",
		(long long)number(result, "sessions"), (long long)number(result, "events"));
	return EXIT_DONE;
}

static const struct cmd_option retention_options[] = {
	{ "dry-run", 0, NULL, false, "only show the limits and what is beyond them" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_retention = {
	.name = "retention",
	.args = "",
	.text = "Delete what is beyond the limits of the configuration, or show it with --dry-run.",
	.options = retention_options,
	.run = run_retention,
};
