/* review: memories that were put aside because they read like instructions. */
#include <stdio.h>

#include "cli/commands.h"

static int decide(struct cli *cli, const char *id, bool approve)
{
	struct buf b = BUF_INIT(4096);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	jw_object(&w);
	jw_field_str(&w, "id", str_of(id));
	jw_field_str(&w, "status", approve ? STR("active") : STR("resolved"));
	jw_field_str(&w, "reason", approve ? STR("approved by the user") : STR("rejected by the user"));
	jw_end_object(&w);
	result = cli_ask(cli, "memory_review", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	printf("%s %s\n", id, approve ? "may be given to agents from now on" : "stays out");
	return EXIT_DONE;
}

static int list(struct cli *cli)
{
	struct json *result = cli_ask(cli, "memories", STR("{\"status\":\"quarantined\",\"limit\":1000}"));

	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("memories"))))
		puts("nothing to review");
	json_each(m, json_get(result, STR("memories"))) {
		printf(STR_FMT "  ", STR_ARG(cell_text(m, "id")));
		cli_print_safe(cell_text(m, "reason"));
		printf("\n    ");
		cli_print_safe(cell_text(m, "text"));
		putchar('\n');
	}
	return EXIT_DONE;
}

static int run_review(struct cli *cli)
{
	bool approve;
	int r;

	if (!cli->nargs)
		return list(cli);
	approve = strcmp(cli->args[0], "approve") == 0;
	if (cli->nargs != 2 || (!approve && strcmp(cli->args[0], "reject") != 0))
		return cli_usage_error(cli, "'review' takes nothing, 'approve ID' or 'reject ID'");
	/* An agent that could approve what was put aside would make putting it aside pointless. */
	r = cli_need_owner(cli, "hookd review");
	return r == EXIT_DONE ? decide(cli, cli->args[1], approve) : r;
}

static const struct cmd_option review_options[] = {
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_review = {
	.name = "review",
	.args = "[approve|reject ID]",
	.text = "List memories that were put aside because they read like instructions, or decide about one.",
	.max_args = 2,
	.options = review_options,
	.run = run_review,
};
