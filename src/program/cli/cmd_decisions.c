/* decisions: what hookd allowed, asked about and denied, and why. */
#include <stdio.h>

#include "cli/commands.h"

static void print_decision(struct cli *cli, const struct json *d)
{
	const char *off = cli->colour ? "\033[0m" : "", *dim = cli->colour ? "\033[2m" : "";
	str decision = cell_text(d, "decision");
	const char *mark = !cli->colour ? "" : str_eq(decision, STR("deny")) ? "\033[31m" : "\033[33m";

	printf("%s%s%s ", mark, arena_cstr(&cli->arena, decision), off);
	cli_print_safe(cell_text(d, "rule"));
	printf("%s  ",
		json_true(json_get(d, STR("observed")))            ? " (observed only)"
			: json_true(json_get(d, STR("prevailed"))) ? ""
								   : " (another rule was stricter)");
	printf("%s" STR_FMT "  ", dim, STR_ARG(cell_time(cli, d, "at_us")));
	cli_print_safe(cell_text(d, "agent"));
	putchar(' ');
	cli_print_safe(cell_text(d, "project"));
	putchar(' ');
	cli_print_safe(str_cut_utf8(cell_text(d, "session"), 8));
	puts(off);
	if (!str_empty(cell_text(d, "subject"))) {
		printf("    ");
		cli_print_safe(cell_text(d, "subject"));
		putchar('\n');
	}
	if (!str_empty(cell_text(d, "reason"))) {
		printf("    %s", dim);
		cli_print_safe(cell_text(d, "reason"));
		puts(off);
	}
	if (json_get(d, STR("ran_us")))
		printf("    %sit ran anyway: the agent ignored the answer; see: hookd doctor%s\n", mark, off);
}

static int run_decisions(struct cli *cli)
{
	static const char *const texts[] = { "rule", "decision", "session" };
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	for (size_t i = 0; i < countof(texts); i++)
		jw_field_str(&w, texts[i], str_of(cli_value(cli, texts[i], NULL)));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "decisions", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("decisions"))))
		puts("no decisions here: every event passed without comment");
	json_each(d, json_get(result, STR("decisions")))
		print_decision(cli, d);
	return EXIT_DONE;
}

static const struct cmd_option decisions_options[] = {
	{ "rule", 0, "NAME", false, "only this rule" },
	{ "decision", 0, "WORD", false, "only allow, ask or deny" },
	{ "session", 0, "ID", false, "only this session" },
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	OPTION_ALL,
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_decisions = {
	.name = "decisions",
	.args = "",
	.text = "List what hookd decided, by which rule and why, newest first.",
	.options = decisions_options,
	.run = run_decisions,
};
