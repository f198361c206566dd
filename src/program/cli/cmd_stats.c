/* stats: how much, of what, where. */
#include <stdio.h>

#include "cli/commands.h"

enum { ROWS = 14 };

static const struct {
	const char *name, *label, *title;
} sections[] = {
	{ "days", "day", "DAY" },
	{ "projects", "name", "PROJECT" },
	{ "agents", "agent", "AGENT" },
	{ "tools", "tool", "TOOL" },
};

static void print_section(struct cli *cli, const struct json *list, const char *label, const char *title)
{
	struct table t;
	int n = 0;

	table_init(&t, &cli->arena, 7);
	table_add(&t,
		(str[]){ str_of(title), STR("SESSIONS"), STR("PROMPTS"), STR("CALLS"), STR("FAILED"), STR("DENIED"),
			STR("MEAN MS") });
	json_each(row, list) {
		if (n++ == ROWS)
			break;
		table_add(&t,
			(str[]){ json_get(row, str_of(label)) ? cell_text(row, label) : STR("(none)"),
				cell_number(cli, row, "sessions"), cell_number(cli, row, "prompts"),
				cell_number(cli, row, "calls"), cell_number(cli, row, "failed"),
				cell_number(cli, row, "denied"), cell_number(cli, row, "mean_ms") });
	}
	putchar('\n');
	table_print(&t, cli->colour);
}

static void print_rules(struct cli *cli, const struct json *list)
{
	struct table t;
	int n = 0;

	if (!json_first(list))
		return;
	table_init(&t, &cli->arena, 4);
	table_add(&t, (str[]){ STR("RULE"), STR("DENIED"), STR("ASKED"), STR("RAN ANYWAY") });
	json_each(row, list) {
		if (n++ == ROWS)
			break;
		table_add(&t,
			(str[]){ cell_text(row, "rule"), cell_number(cli, row, "denied"),
				cell_number(cli, row, "asked"), cell_number(cli, row, "ran_anyway") });
	}
	putchar('\n');
	table_print(&t, cli->colour);
}

static int print_stats(struct cli *cli, const struct json *result)
{
	const struct json *total = json_get(result, STR("total"));

	if (!cell_int(total, "sessions")) {
		puts("nothing happened in that time; see: hookd sessions");
		return EXIT_DONE;
	}
	printf("%lld sessions, %lld prompts, %lld tool calls (%lld failed, %lld denied)\n",
		(long long)cell_int(total, "sessions"), (long long)cell_int(total, "prompts"),
		(long long)cell_int(total, "calls"), (long long)cell_int(total, "failed"),
		(long long)cell_int(total, "denied"));
	cli_print_waited(result);
	for (size_t i = 0; i < countof(sections); i++)
		print_section(cli, json_get(result, str_of(sections[i].name)), sections[i].label, sections[i].title);
	print_rules(cli, json_get(result, STR("rules")));
	return EXIT_DONE;
}

static int run_stats(struct cli *cli)
{
	int r;
	struct json *result = cli_ask_filtered(cli, "stats", &r);

	if (!result)
		return r;
	return cli_has(cli, "json") ? cli_print_json(result) : print_stats(cli, result);
}

static const struct cmd_option stats_options[] = {
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_ALL,
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_stats = {
	.name = "stats",
	.args = "",
	.text = "Count sessions, prompts and tool calls by day, project, agent and tool.",
	.options = stats_options,
	.run = run_stats,
};
