/* plans: what agents set out to do. */
#include <stdio.h>

#include "cli/commands.h"

static int print_list(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("plans"));
	struct table t;

	if (!json_first(list)) {
		puts("no plans here; they appear when an agent writes one or leaves plan mode");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 7);
	t.firm = 3;
	table_add(&t,
		(str[]){ STR("AGO"), STR("PLAN"), STR("VERSIONS"), STR("PROJECT"), STR("SESSION"), STR("TITLE"),
			STR("PATH") });
	json_each(p, list)
		table_add(&t,
			(str[]){ cell_age(cli, p, "updated_us"), cell_number(cli, p, "key"),
				cell_number(cli, p, "versions"), cell_text(p, "project"),
				str_cut_utf8(cell_text(p, "session"), 8), cell_text(p, "title"),
				cell_text(p, "path") });
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static void print_lines(str text)
{
	str line;

	while (str_split(&text, '\n', &line)) {
		cli_print_safe(line);
		putchar('\n');
	}
}

/* The version that was asked for, else the newest, which comes first. */
static int print_plan(struct cli *cli, const struct json *plan)
{
	int64_t wanted = 0;

	if (cli_has(cli, "version") && !str_to_int(str_of(cli_value(cli, "version", "")), &wanted))
		return cli_usage_error(cli, "--version needs a number");
	json_each(v, json_get(plan, STR("history"))) {
		if (wanted && cell_int(v, "version") != wanted)
			continue;
		cli_print_safe(cell_text(plan, "path"));
		printf(", version %lld of %lld (", (long long)cell_int(v, "version"),
			(long long)cell_int(plan, "versions"));
		cli_print_safe(cell_text(v, "source"));
		printf(", " STR_FMT ")\n\n", STR_ARG(cell_time(cli, v, "at_us")));
		print_lines(cell_text(v, "content"));
		return EXIT_DONE;
	}
	return cli_fail("the plan has no version %lld; it has 1 to %lld", (long long)wanted,
		(long long)cell_int(plan, "versions"));
}

static int run_plans(struct cli *cli)
{
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	if (cli->nargs)
		jw_field_str(&w, "plan", str_of(cli->args[0]));
	jw_field_str(&w, "session", str_of(cli_value(cli, "session", NULL)));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, cli->nargs ? "plan" : "plans", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	return cli->nargs ? print_plan(cli, result) : print_list(cli, result);
}

static const struct cmd_option plans_options[] = {
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	{ "session", 0, "ID", false, "only this session" },
	{ "version", 0, "N", false, "show this version of the plan (default: the newest)" },
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_plans = {
	.name = "plans",
	.args = "[PLAN]",
	.text = "List the plans agents made, or show one (by key, path or file name).",
	.max_args = 1,
	.options = plans_options,
	.run = run_plans,
};
