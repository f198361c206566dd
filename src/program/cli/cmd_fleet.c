/* fleet: who works, who waits for you, who is stuck. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"

enum { WATCH_MS = 20000 };

/* -- the list ---------------------------------------------------------------------------------- */

static const struct {
	const char *status, *shown;
} words[] = {
	{ "error", "error" },
	{ "attention", "waits for you" },
	{ "working", "working" },
	{ "checked", "checked" },
	{ "done", "done" },
};

static str shown_status(struct cli *cli, const struct json *a)
{
	str status = cell_text(a, "status"), stuck = cell_text(a, "stuck");

	for (size_t i = 0; i < countof(words); i++)
		if (str_eq(status, str_of(words[i].status)))
			status = str_of(words[i].shown);
	if (str_empty(stuck))
		return status;
	return arena_strf(&cli->arena, STR_FMT ", stuck: " STR_FMT, STR_ARG(status), STR_ARG(stuck));
}

static str shown_name(struct cli *cli, const struct json *a)
{
	str name = cell_text(a, "agent"), label = cell_text(a, "label");
	int64_t sub = cell_int(a, "subagents");

	if (str_eq(name, cell_text(a, "session")))
		name = str_cut_utf8(name, 8);
	name = str_empty(label) ? name
				: arena_strf(&cli->arena, STR_FMT " (" STR_FMT ")", STR_ARG(name), STR_ARG(label));
	return sub ? arena_strf(&cli->arena, STR_FMT " +%lld", STR_ARG(name), (long long)sub) : name;
}

static str shown_effort(struct cli *cli, const struct json *a)
{
	str phase = cell_text(a, "phase");

	if (!cell_int(a, "ordinal"))
		return STR("");
	return arena_strf(&cli->arena, "%lld " STR_FMT "%s" STR_FMT, (long long)cell_int(a, "ordinal"),
		STR_ARG(cell_text(a, "skill")), phase.n ? ", " : "", STR_ARG(phase));
}

static void print_agents(struct cli *cli, const struct json *list)
{
	struct table t;

	if (!json_first(list)) {
		puts("no agent is at work; see those of today with: hookd fleet --all");
		return;
	}
	table_init(&t, &cli->arena, 7);
	t.firm = 3;
	table_add(&t,
		(str[]){ STR("AGENT"), STR("STATUS"), STR("SINCE"), STR("PROGRAM"), STR("PROJECT"), STR("EFFORT"),
			STR("FOR") });
	json_each(a, list)
		table_add(&t,
			(str[]){ shown_name(cli, a), shown_status(cli, a), cell_age(cli, a, "since_us"),
				cell_text(a, "program"), cell_text(a, "project"), shown_effort(cli, a),
				str_empty(cell_text(a, "stuck")) ? cell_text(a, "for") : STR("") });
	table_print(&t, cli->colour);
}

static str list_params(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(&b);
	const char *project = cli_value(cli, "project", NULL), *stuck = cli_value(cli, "stuck", NULL);
	str params;

	jw_object(&w);
	if (project)
		jw_field_str(&w, "project", cli_project_ref(cli, project));
	if (stuck)
		jw_field_str(&w, "stuck", str_of(stuck));
	if (cli_has(cli, "all"))
		jw_field_bool(&w, "all", true);
	jw_end_object(&w);
	params = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return params;
}

static int show(struct cli *cli, const struct json *result)
{
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (cli_has(cli, "watch") && cli->colour)
		printf("\033[H\033[2J");
	print_agents(cli, json_get(result, STR("agents")));
	return EXIT_DONE;
}

/* The daemon says when something has changed. */
static int run_list(struct cli *cli)
{
	for (;;) {
		int64_t asked_us = clock_wall_us(); /* what changes later is waited for */
		struct json *result = cli_ask(cli, "fleet.list", list_params(cli));
		int r = result ? show(cli, result) : EXIT_FAILED;

		if (r != EXIT_DONE || !cli_has(cli, "watch"))
			return r;
		if (fflush(stdout) != 0)
			return EXIT_DONE;
		if (!cli_ask(cli, "fleet.wait",
			    arena_strf(&cli->arena, "{\"for\":\"change\",\"since_us\":%lld,\"timeout_ms\":%d}",
				    (long long)asked_us, WATCH_MS)))
			return EXIT_FAILED;
		arena_reset(&cli->arena);
	}
}

/* -- somebody has looked ------------------------------------------------------------------------- */

static int ask_focus(struct cli *cli, const char *who, bool all)
{
	struct buf b = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	jw_object(&w);
	jw_field_str(&w, "who", str_of(who));
	jw_field_str(&w, "pane", str_of(cli_value(cli, "pane", NULL)));
	jw_field_str(&w, "socket", str_of(cli_value(cli, "socket", NULL)));
	if (all)
		jw_field_bool(&w, "all", true);
	jw_end_object(&w);
	result = cli_ask(cli, "fleet.focus", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!cli_has(cli, "quiet"))
		printf("%lld checked\n", (long long)cell_int(result, "checked"));
	return EXIT_DONE;
}

static int run_focus(struct cli *cli)
{
	if (cli->nargs < 2 && !cli_value(cli, "pane", NULL))
		return cli_usage_error(cli, "'fleet focus' takes an agent, or --pane");
	return ask_focus(cli, cli->nargs > 1 ? cli->args[1] : NULL, false);
}

static int run_checked(struct cli *cli)
{
	return ask_focus(cli, cli->nargs > 1 ? cli->args[1] : NULL, cli->nargs < 2);
}

/* -- listeners ----------------------------------------------------------------------------------- */

static int run_listeners(struct cli *cli)
{
	struct json *result = cli_ask(cli, "fleet.listeners", cli_has(cli, "all") ? STR("{\"all\":true}") : STR("{}"));
	const struct json *list = json_get(result, STR("listeners"));
	struct table t;

	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(list)) {
		puts("nobody waits to be told anything; see: hookd help wait");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 6);
	t.firm = 1;
	table_add(&t, (str[]){ STR("LISTENER"), STR("AGO"), STR("STATE"), STR("OF"), STR("TO"), STR("TEXT") });
	json_each(l, list)
		table_add(&t,
			(str[]){ cell_text(l, "listener"), cell_age(cli, l, "made_us"), cell_text(l, "state"),
				cell_text(l, "who"), cell_text(l, "to"), cell_text(l, "text") });
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static int run_drop(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	if (cli->nargs < 2)
		return cli_usage_error(cli, "'fleet drop' takes the id of a listener");
	jw_object(&w);
	jw_field_str(&w, "listener", str_of(cli->args[1]));
	jw_end_object(&w);
	result = cli_ask(cli, "fleet.drop", buf_str(&b));
	buf_release(&b);
	if (result && !cli_has(cli, "json"))
		puts("dropped");
	return result ? EXIT_DONE : EXIT_FAILED;
}

/* -- the command --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct cli *cli);
} actions[] = {
	{ "list", run_list },
	{ "focus", run_focus },
	{ "checked", run_checked },
	{ "listeners", run_listeners },
	{ "drop", run_drop },
};

static int run_fleet(struct cli *cli)
{
	const char *action = cli->nargs ? cli->args[0] : "list";

	for (size_t i = 0; i < countof(actions); i++)
		if (strcmp(action, actions[i].name) == 0)
			return actions[i].run(cli);
	return cli_usage_error(cli, "there is no 'fleet %s'; see: hookd help fleet", action);
}

static const struct cmd_option options[] = {
	{ "watch", 'w', NULL, false, "list: show it again whenever something changes" },
	{ "stuck", 0, "MINUTES", false, "list: without an event for so long one that works is stuck (default 10)" },
	{ "pane", 0, "%N", false, "focus: a pane of tmux" },
	{ "socket", 0, "PATH", false, "focus: of that tmux" },
	{ "quiet", 'q', NULL, false, "focus: print nothing" },
	OPTION_PROJECT,
	{ "all", 0, NULL, false, "list: those that have ended too; listeners: those that were told" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_fleet = {
	.name = "fleet",
	.args = "[list], focus [AGENT], checked [AGENT], listeners, or drop LISTENER",
	.text = "Show which agents work, wait for you, are stuck or done, and note that you have looked.",
	.max_args = 2,
	.options = options,
	.run = run_fleet,
};
