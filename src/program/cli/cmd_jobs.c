/* jobs: what hookd still has to do with what it captured. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"

static void print_job(struct cli *cli, const struct json *j)
{
	str error = cell_text(j, "error");

	printf("%6lld  " STR_FMT " " STR_FMT, (long long)cell_int(j, "id"), STR_ARG(cell_text(j, "state")),
		STR_ARG(cell_text(j, "kind")));
	printf("  ");
	cli_print_safe(cell_text(j, "agent"));
	putchar(' ');
	cli_print_safe(str_cut_utf8(cell_text(j, "session"), 8));
	if (cell_int(j, "tries"))
		printf("  tried %lld times", (long long)cell_int(j, "tries"));
	printf("  due " STR_FMT "\n", STR_ARG(cell_time(cli, j, "due_us")));
	if (!str_empty(error)) {
		printf("        ");
		cli_print_safe(error);
		putchar('\n');
	}
}

static int list(struct cli *cli)
{
	static const char *const texts[] = { "state", "kind", "session" };
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	for (size_t i = 0; i < countof(texts); i++)
		jw_field_str(&w, texts[i], str_of(cli_value(cli, texts[i], NULL)));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "jobs", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("jobs"))))
		puts("no jobs: everything that was captured has been looked at");
	json_each(j, json_get(result, STR("jobs")))
		print_job(cli, j);
	return EXIT_DONE;
}

static int retry(struct cli *cli, const char *id)
{
	struct buf b = BUF_INIT(256);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int64_t number = 0;

	if (id && !str_to_int(str_of(id), &number))
		return cli_usage_error(cli,
			"'retry' takes the number of a job, or nothing for all dead ones; see: hookd jobs");
	jw_object(&w);
	if (id)
		jw_field_int(&w, "id", number);
	jw_end_object(&w);
	result = cli_ask(cli, "jobs_retry", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("%lld jobs will be tried again\n", (long long)cell_int(result, "retried"));
	return EXIT_DONE;
}

static int run_jobs(struct cli *cli)
{
	if (!cli->nargs)
		return list(cli);
	if (strcmp(cli->args[0], "retry") != 0)
		return cli_usage_error(cli, "'jobs' takes nothing, or 'retry [ID]'");
	return retry(cli, cli->nargs > 1 ? cli->args[1] : NULL);
}

static const struct cmd_option jobs_options[] = {
	{ "state", 0, "WORD", false, "only waiting, done or dead (default: waiting and dead)" },
	{ "kind", 0, "NAME", false, "only this kind: extract, summarize, consult, retell" },
	{ "session", 0, "ID", false, "only this session" },
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_jobs = {
	.name = "jobs",
	.args = "[retry [ID]]",
	.text = "List what hookd still has to do with what it captured, or try again what failed.",
	.max_args = 2,
	.options = jobs_options,
	.run = run_jobs,
};
