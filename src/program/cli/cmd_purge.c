/* purge, retention: getting rid of what was captured. */
#include <stdio.h>

#include "base/clock.h"
#include "cli/commands.h"

enum { PROJECT, AGENT, MATCH }; /* in the order of purge_params() */
enum { NOT_ASKED = -1, EXAMPLES = 5 /* that the daemon lists */ };

/* -- purge ------------------------------------------------------------------------------------- */

/* The filters as parameters; an exit code when there is none or one is wrong. */
static int purge_params(struct cli *cli, struct buf *b)
{
	static const char *const texts[] = { [PROJECT] = "project", [AGENT] = "agent", [MATCH] = "match" };
	struct json_writer w = JSON_WRITER(b);
	const char *value, *before = cli_value(cli, "before", NULL);
	int64_t before_us = 0;
	int filters = before != NULL;

	if (before && !clock_parse_when(str_of(before), clock_wall_us(), &before_us))
		return cli_usage_error(cli, "--before needs a date (2026-01-31) or an age (30d), not '%s'", before);
	jw_object(&w);
	for (size_t i = 0; i < countof(texts); i++) {
		value = cli_value(cli, texts[i], NULL);
		if (value && !*value)
			return cli_usage_error(cli, "--%s needs a non-empty value", texts[i]);
		if (value)
			jw_field_str(&w, texts[i], i == PROJECT ? cli_project_ref(cli, value) : str_of(value));
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
	return filters
		? NOT_ASKED
		: cli_usage_error(cli, "specify what to delete: --session, --project, --agent, --before or --match");
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

/* Agents keep logs of their own, which hookd reads. */
static void print_tombstones(const struct json *p)
{
	if (cell_int(p, "tombstones"))
		printf("%lld tombstones (hashes only) keep this from being imported again from the agents' own logs\n",
			(long long)cell_int(p, "tombstones"));
}

static void print_preview(struct cli *cli, const struct json *p)
{
	char last[CLOCK_TEXT];

	printf("%lld events of %lld sessions, " STR_FMT " of payloads\n", (long long)cell_int(p, "events"),
		(long long)cell_int(p, "sessions"), STR_ARG(cell_size(cli, cell_int(p, "bytes"))));
	if (cell_int(p, "memories"))
		printf("%lld memories\n", (long long)cell_int(p, "memories"));
	if (cell_int(p, "efforts"))
		printf("%lld efforts and tasks\n", (long long)cell_int(p, "efforts"));
	json_each(e, json_get(p, STR("examples"))) {
		clock_format(cell_int(e, "last_us"), 1, last);
		printf("  %s  ", last);
		cli_print_safe(cell_text(e, "agent"));
		putchar(' ');
		cli_print_safe(cell_text(e, "id"));
		printf("  %lld events  ", (long long)cell_int(e, "events"));
		cli_print_safe(str_cut_utf8(cell_text(e, str_is_set(cell_text(e, "title")) ? "title" : "cwd"), 60));
		putchar('\n');
	}
	if (cell_int(p, "sessions") > EXAMPLES)
		printf("  … and %lld more\n", (long long)cell_int(p, "sessions") - EXAMPLES);
	print_tombstones(p);
}

static int report_purge(struct cli *cli, const struct json *r)
{
	if (cli_has(cli, "json"))
		return cli_print_json(r);
	printf("deleted %lld events and %lld whole sessions, in store, WAL, journal and spool\n",
		(long long)cell_int(r, "events"), (long long)cell_int(r, "sessions"));
	if (cell_int(r, "memories"))
		printf("forgot %lld memories\n", (long long)cell_int(r, "memories"));
	if (cell_int(r, "efforts"))
		printf("deleted %lld efforts and tasks\n", (long long)cell_int(r, "efforts"));
	if (!json_true(json_get(r, STR("wal_emptied"))))
		puts("the WAL could not be emptied because the store is being read; it is emptied when hookd stops");
	if (!json_true(json_get(r, STR("rewritten"))))
		puts("there was no room to rewrite the store; freed pages were overwritten");
	if (json_true(json_get(r, STR("backups_kept"))))
		puts("automatic backups were kept and still contain what was deleted");
	print_paths(json_get(r, STR("copies")), "these copies may still contain it (--all-copies deletes them too):");
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
	cli->answer_ms = CLI_LONG_MS;
	result = cli_ask(cli, "purge_preview", buf_str(&b));
	if (!result)
		goto out;
	if (!cell_int(result, "events") && !cell_int(result, "memories") && !cell_int(result, "efforts") &&
		!cli_has(cli, "all-copies")) {
		code = cli_fail("nothing matches, so nothing %s deleted; see: hookd sessions --all",
			cli_has(cli, "dry-run") ? "would be" : "was");
		goto out;
	}
	code = EXIT_DONE;
	if (!cli_has(cli, "json"))
		print_preview(cli, result);
	else if (cli_has(cli, "dry-run"))
		code = cli_print_json(result);
	if (cli_has(cli, "dry-run"))
		goto out;
	code = cli_need_owner(cli, "deleting what was captured");
	if (code == EXIT_DONE)
		code = cli_ask_yes(cli, "Delete this permanently?");
	if (code != EXIT_DONE)
		goto out;
	result = cli_ask(cli, "purge", buf_str(&b));
	code = result ? report_purge(cli, result) : EXIT_FAILED;
out:
	buf_release(&b);
	return code;
}

static const struct cmd_option purge_options[] = {
	{ "session", 0, "ID", true, "this session: its id, or the prefix that hookd sessions prints" },
	{ "project", 0, "P", false, "sessions and efforts of this project (name or path)" },
	{ "agent", 0, "NAME", false, "sessions of this agent" },
	{ "before", 0, "WHEN", false, "sessions that ended before a date (2026-01-31) or an age (30d)" },
	{ "match", 0, "TEXT", false, "only events that contain this text" },
	{ "keep-backups", 0, NULL, false, "do not replace automatic backups" },
	{ "all-copies", 0, NULL, false, "also delete your own backups and files that were set aside" },
	{ "dry-run", 0, NULL, false, "only report what would be deleted" },
	{ "yes", 'y', NULL, false, "do not ask" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_purge = {
	.name = "purge",
	.args = "",
	.text = "Permanently delete captured work from store, WAL, journal, spool and automatic backups.",
	.options = purge_options,
	.run = run_purge,
};

/* -- retention --------------------------------------------------------------------------------- */

static void print_limits(struct cli *cli, const struct json *r)
{
	int64_t days = cell_int(r, "days");

	if (days)
		printf("sessions are kept for %lld days (retention.days)\n", (long long)days);
	else
		puts("sessions are kept forever (retention.days is 0)");
	printf("the store holds " STR_FMT " of at most " STR_FMT " (store.max_mb)\n",
		STR_ARG(cell_size(cli, cell_int(r, "used_bytes"))), STR_ARG(cell_size(cli, cell_int(r, "max_bytes"))));
}

static int run_retention(struct cli *cli)
{
	bool dry = cli_has(cli, "dry-run"), json = cli_has(cli, "json");
	struct json *result;
	int r = dry ? EXIT_DONE : cli_need_owner(cli, "retention");

	if (r != EXIT_DONE)
		return r;
	cli->answer_ms = CLI_LONG_MS;
	result = cli_ask(cli, dry ? "retention" : "retain", STR_NONE);
	if (!result)
		return EXIT_FAILED;
	if (json)
		return cli_print_json(result);
	print_limits(cli, result);
	result = json_get(result, dry ? STR("beyond") : STR("deleted"));
	printf("%s %lld sessions with %lld events\n",
		dry ? "over the limits:" : "deleted:", (long long)cell_int(result, "sessions"),
		(long long)cell_int(result, "events"));
	return EXIT_DONE;
}

static const struct cmd_option retention_options[] = {
	{ "dry-run", 0, NULL, false, "only show the limits and what exceeds them" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_retention = {
	.name = "retention",
	.args = "",
	.text = "Delete what exceeds the configured limits, or show it with --dry-run.",
	.options = retention_options,
	.run = run_retention,
};
