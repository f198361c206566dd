/* sessions, tail: what was captured. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"

static str number_cell(struct cli *cli, const struct json *v)
{
	int64_t n = 0;

	json_int(v, &n);
	return arena_strf(&cli->arena, "%lld", (long long)n);
}

static str time_cell(struct cli *cli, const struct json *v)
{
	char text[CLOCK_TEXT];
	int64_t us = 0;

	json_int(v, &us);
	clock_format(us, 1, text);
	return arena_str(&cli->arena, str_of(text));
}

/* -- sessions --------------------------------------------------------------------------------------------- */

static void print_sessions(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("sessions"));
	struct table t;

	if (!list || !list->first) {
		puts("no sessions yet; connect an agent with: hookd init");
		return;
	}
	table_init(&t, &cli->arena, 8);
	table_add(&t, (str[]){ STR("LAST"), STR("AGENT"), STR("STATUS"), STR("EVENTS"), STR("PROMPTS"), STR("TOOLS"),
				     STR("SESSION"), STR("DIRECTORY") });
	json_each(s, list)
		table_add(&t, (str[]){ time_cell(cli, json_get(s, STR("last_us"))), json_str(json_get(s, STR("agent"))),
					     json_str(json_get(s, STR("status"))), number_cell(cli, json_get(s, STR("events"))),
					     number_cell(cli, json_get(s, STR("prompts"))),
					     number_cell(cli, json_get(s, STR("tools"))), json_str(json_get(s, STR("id"))),
					     json_str(json_get(s, STR("cwd"))) });
	table_print(&t, cli->colour);
}

static int run_sessions(struct cli *cli)
{
	struct buf b = BUF_INIT(4096);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int64_t limit;

	if (!str_to_int(str_of(cli_value(cli, "limit", "50")), &limit) || limit < 1)
		return cli_usage_error(cli, "--limit needs a number from 1 on");
	jw_object(&w);
	jw_field_int(&w, "limit", limit);
	jw_field_str(&w, "agent", str_of(cli_value(cli, "agent", NULL)));
	jw_field_bool(&w, "all", cli_has(cli, "all"));
	jw_end_object(&w);
	result = cli_ask(cli, "sessions", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	print_sessions(cli, result);
	return EXIT_DONE;
}

static const struct cmd_option sessions_options[] = {
	{ "agent", 0, "NAME", false, "only this agent's" },
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	{ "all", 0, NULL, false, "also those that hookd doctor made" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_sessions = {
	.name = "sessions",
	.args = "",
	.text = "List captured sessions, newest first.",
	.options = sessions_options,
	.run = run_sessions,
};

/* -- tail ----------------------------------------------------------------------------------------------------- */

/* The one thing about an event that a person wants to see beside its name. */
static str gist(const struct json *payload)
{
	static const char *const paths[][2] = {
		{ "prompt", NULL }, { "tool_input", "command" }, { "tool_input", "file_path" }, { "tool_input", "pattern" },
		{ "tool_input", "url" }, { "tool_input", "description" }, { "error", NULL }, { "last_assistant_message", NULL },
		{ "message", NULL }, { "source", NULL }, { "reason", NULL }, { "raw", NULL },
	};

	for (size_t i = 0; i < countof(paths); i++) {
		str s = json_str(paths[i][1] ? json_path(payload, paths[i][0], paths[i][1], NULL) :
					       json_path(payload, paths[i][0], NULL));

		if (!str_empty(s))
			return s;
	}
	return STR("");
}

static void print_event(struct cli *cli, const struct json *e)
{
	const char *dim = cli->colour ? "\033[2m" : "", *bold = cli->colour ? "\033[1m" : "",
		   *plain = cli->colour ? "\033[0m" : "";
	str tool = json_str(json_get(e, STR("tool"))), session = json_str(json_get(e, STR("session")));

	printf("%s" STR_FMT "%s  ", dim, STR_ARG(time_cell(cli, json_get(e, STR("at_us")))), plain);
	cli_print_safe(json_str(json_get(e, STR("agent"))));
	printf(" %s", dim);
	cli_print_safe(str_head(session, 8));
	printf("%s  %s", plain, bold);
	cli_print_safe(json_str(json_get(e, STR("event"))));
	fputs(plain, stdout);
	if (!str_empty(tool)) {
		putchar(' ');
		cli_print_safe(tool);
	}
	fputs("  ", stdout);
	cli_print_safe(str_cut_utf8(gist(json_get(e, STR("payload"))), 160));
	putchar('\n');
}

static int print_events(struct cli *cli, const struct json *result)
{
	json_each(e, json_get(result, STR("events"))) {
		if (cli_has(cli, "json"))
			cli_print_json(e);
		else
			print_event(cli, e);
	}
	return fflush(stdout) == 0 ? 0 : -1;
}

static str tail_params(struct cli *cli, int64_t limit, int64_t after)
{
	struct buf b = BUF_INIT(4096);
	struct json_writer w = JSON_WRITER(&b);
	str params;

	jw_object(&w);
	jw_field_int(&w, "limit", limit);
	if (after >= 0)
		jw_field_int(&w, "after", after);
	jw_field_str(&w, "session", str_of(cli_value(cli, "session", NULL)));
	jw_end_object(&w);
	params = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return params;
}

static int run_tail(struct cli *cli)
{
	const struct timespec pause = { .tv_nsec = 250000000 };
	struct json *result;
	int64_t limit, last = 0;

	if (!str_to_int(str_of(cli_value(cli, "lines", "20")), &limit) || limit < 1)
		return cli_usage_error(cli, "--lines needs a number from 1 on");
	result = cli_ask(cli, "events", tail_params(cli, limit, -1));
	if (!result)
		return EXIT_FAILED;
	if (print_events(cli, result) < 0)
		return EXIT_DONE;
	if (!cli_has(cli, "follow")) {
		if (!cli_has(cli, "json") && !json_get(result, STR("events"))->first)
			puts("no events yet; connect an agent with: hookd init");
		return EXIT_DONE;
	}
	json_int(json_get(result, STR("last")), &last);
	for (;;) {
		arena_reset(&cli->arena);
		nanosleep(&pause, NULL);
		result = cli_ask(cli, "events", tail_params(cli, 1000, last));
		if (!result || print_events(cli, result) < 0)
			return result ? EXIT_DONE : EXIT_FAILED;
		json_int(json_get(result, STR("last")), &last);
	}
}

static const struct cmd_option tail_options[] = {
	{ "follow", 'f', NULL, false, "go on as events arrive" },
	{ "lines", 'n', "N", false, "begin with the last N (default 20)" },
	{ "session", 0, "ID", false, "only this session's" },
	{ "json", 0, NULL, false, "print one JSON object a line" },
	{ 0 },
};

const struct cmd cmd_tail = {
	.name = "tail",
	.args = "",
	.text = "Show the newest events, and follow them with -f.",
	.options = tail_options,
	.run = run_tail,
};
