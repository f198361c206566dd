/* usage: tokens, and what they would cost at list prices. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"

static const char *const groups[] = { "day", "week", "project", "agent", "model", "session" };

static str money(struct cli *cli, int64_t micro_usd)
{
	int64_t cents = (micro_usd + 5000) / 10000;

	return arena_strf(&cli->arena, "$%lld.%02lld", (long long)(cents / 100), (long long)(cents % 100));
}

/* 1234567 as 1.2M: enough to compare. */
static str tokens(struct cli *cli, int64_t n)
{
	static const struct {
		int64_t unit;
		char letter;
	} units[] = { { 1000000000, 'G' }, { 1000000, 'M' }, { 1000, 'k' } };

	for (size_t i = 0; i < countof(units); i++)
		if (n >= units[i].unit)
			return arena_strf(&cli->arena, "%lld.%lld%c", (long long)(n / units[i].unit),
				(long long)(n * 10 / units[i].unit % 10), units[i].letter);
	return arena_strf(&cli->arena, "%lld", (long long)n);
}

static void add_row(struct cli *cli, struct table *t, str label, const struct json *row)
{
	table_add(t,
		(str[]){ label, cell_number(cli, row, "answers"), tokens(cli, cell_int(row, "input")),
			tokens(cli, cell_int(row, "cache_read")), tokens(cli, cell_int(row, "cache_write")),
			tokens(cli, cell_int(row, "output")), money(cli, cell_int(row, "micro_usd")) });
}

static int print_usage(struct cli *cli, const struct json *result, const char *by)
{
	const struct json *total = json_get(result, STR("total"));
	struct table t;
	char title[16];

	if (!cell_int(total, "answers")) {
		puts("no tokens are known for that time; they come from transcripts, see: hookd import");
		cli_print_waited(result);
		return EXIT_DONE;
	}
	snprintf(title, sizeof title, "%s", by);
	for (char *p = title; *p; p++)
		*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
	table_init(&t, &cli->arena, 7);
	table_add(&t,
		(str[]){ str_of(title), STR("ANSWERS"), STR("INPUT"), STR("CACHE READ"), STR("CACHE WRITE"),
			STR("OUTPUT"), STR("COST*") });
	json_each(row, json_get(result, STR("rows")))
		add_row(cli, &t, cell_text(row, by), row);
	add_row(cli, &t, STR("total"), total);
	table_print(&t, cli->colour);
	printf("\n* an estimate at list prices of " STR_FMT "; what you pay depends on your plan\n",
		STR_ARG(cell_text(result, "prices_as_of")));
	if (cell_int(total, "unpriced_tokens"))
		printf("  " STR_FMT " tokens belong to models without a known price and are not included\n",
			STR_ARG(tokens(cli, cell_int(total, "unpriced_tokens"))));
	cli_print_waited(result);
	return EXIT_DONE;
}

static struct json *ask(struct cli *cli, const char *by, int64_t since_us, int *ret_exit)
{
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;

	jw_object(&w);
	*ret_exit = cli_add_filter(cli, &w);
	jw_field_str(&w, "by", str_of(by));
	if (since_us)
		jw_field_int(&w, "since", since_us);
	jw_end_object(&w);
	if (!*ret_exit) {
		result = cli_ask(cli, "usage", buf_str(&b));
		*ret_exit = result ? EXIT_DONE : EXIT_FAILED;
	}
	buf_release(&b);
	return result;
}

/* -- statusline -------------------------------------------------------------------------------- */

static int64_t midnight_us(void)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * USEC_PER_SEC;
}

/* Agents give a status line what they know of their session as JSON on stdin; without it there is only the day. */
static const struct json *read_session(struct cli *cli)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json *root = NULL;
	ssize_t n = 1;

	while (!isatty(STDIN_FILENO) && n > 0) {
		char *to = buf_reserve(&b, 4096);

		n = to ? read(STDIN_FILENO, to, 4096) : 0;
		buf_commit(&b, n > 0 ? (size_t)n : 0);
	}
	(void)json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&b)), JSON_LENIENT_UTF8, &root, NULL);
	buf_release(&b);
	return root;
}

/* How full the context is, for the effort that the session may belong to. */
static void tell_usage(struct cli *cli, str session, const struct json *root)
{
	static const char *const parts[] = { "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
		"output_tokens" };
	const struct json *window = json_get(root, STR("context_window")),
			  *used = json_get(window, STR("current_usage"));
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;
	struct err err = { 0 };
	int64_t max = cell_int(window, "context_window_size"), tokens = 0;

	for (size_t i = 0; i < countof(parts); i++)
		tokens += cell_int(used, parts[i]);
	if (!tokens)
		tokens = max * cell_int(window, "used_percentage") / 100;
	if (tokens <= 0 || max <= 0)
		return;
	jw_object(&w);
	jw_field_str(&w, "session", session);
	jw_field_int(&w, "tokens", tokens);
	jw_field_int(&w, "max", max);
	jw_end_object(&w);
	(void)cli_call(cli, false, "context_used", buf_str(&b), &result, &err);
	buf_release(&b);
}

static const struct json *find_row(const struct json *result, const char *by, str label)
{
	json_each(row, json_get(result, STR("rows")))
		if (str_eq(cell_text(row, by), label))
			return row;
	return NULL;
}

/* One line, and never an error message in the agent's status line. */
static int print_statusline(struct cli *cli)
{
	const struct json *given = read_session(cli);
	str session = json_str(json_get(given, STR("session_id")));
	struct json *day, *sessions;
	const struct json *own, *total;
	int r;

	if (!str_empty(session))
		tell_usage(cli, session, given);
	day = ask(cli, "day", midnight_us(), &r);
	if (!day)
		return EXIT_DONE;
	total = json_get(day, STR("total"));
	printf("today " STR_FMT " tokens, about " STR_FMT,
		STR_ARG(tokens(cli,
			cell_int(total, "input") + cell_int(total, "cache_write") + cell_int(total, "output"))),
		STR_ARG(money(cli, cell_int(total, "micro_usd"))));
	if (!str_empty(session) && (sessions = ask(cli, "session", 0, &r)) &&
		(own = find_row(sessions, "session", session)))
		printf(" · this session " STR_FMT, STR_ARG(money(cli, cell_int(own, "micro_usd"))));
	putchar('\n');
	return EXIT_DONE;
}

static int run_usage(struct cli *cli)
{
	const char *by = cli->nargs ? cli->args[0] : "day";
	struct json *result;
	size_t i = 0;
	int r;

	if (strcmp(by, "statusline") == 0)
		return print_statusline(cli);
	while (i < countof(groups) && strcmp(by, groups[i]) != 0)
		i++;
	if (i == countof(groups))
		return cli_usage_error(cli,
			"group usage by day, week, project, agent, model or session; or use statusline");
	result = ask(cli, by, 0, &r);
	if (!result)
		return r;
	return cli_has(cli, "json") ? cli_print_json(result) : print_usage(cli, result, by);
}

static const struct cmd_option usage_options[] = {
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	{ "limit", 'n', "N", false, "at most N rows (default 100)" },
	OPTION_ALL,
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_usage = {
	.name = "usage",
	.args = "[day|week|project|agent|model|session|statusline]",
	.text = "Show the tokens that models used and an estimate of their cost.",
	.max_args = 1,
	.options = usage_options,
	.run = run_usage,
};
