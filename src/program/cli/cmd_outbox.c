/* outbox, sinks: what goes out, and where. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/commands.h"

/* -- outbox ------------------------------------------------------------------------------------ */

static void print_delivery(struct cli *cli, const struct json *d)
{
	str error = cell_text(d, "error"), state = cell_text(d, "state");

	printf("%6lld  " STR_FMT " " STR_FMT " " STR_FMT "  ", (long long)cell_int(d, "id"), STR_ARG(state),
		STR_ARG(cell_text(d, "sink")), STR_ARG(cell_text(d, "type")));
	cli_print_safe(cell_text(d, "agent"));
	putchar(' ');
	cli_print_safe(str_cut_utf8(cell_text(d, "session"), 8));
	printf("  of " STR_FMT, STR_ARG(cell_time(cli, d, "at_us")));
	if (cell_int(d, "tries"))
		printf(", tried %lld times", (long long)cell_int(d, "tries"));
	if (cell_int(d, "due_us") > clock_wall_us())
		printf(", due " STR_FMT, STR_ARG(cell_time(cli, d, "due_us")));
	putchar('\n');
	if (!str_empty(error)) {
		printf("        ");
		cli_print_safe(error);
		putchar('\n');
	}
}

static int list(struct cli *cli)
{
	static const char *const texts[] = { "state", "sink", "type", "session" };
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	for (size_t i = 0; i < countof(texts); i++)
		jw_field_str(&w, texts[i], str_of(cli_value(cli, texts[i], NULL)));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "outbox", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("deliveries"))))
		puts("nothing is waiting, and nothing was given up");
	json_each(d, json_get(result, STR("deliveries")))
		print_delivery(cli, d);
	return EXIT_DONE;
}

/* Writes which deliveries are meant. */
static int add_choice(struct cli *cli, struct json_writer *w)
{
	static const char *const texts[] = { "sink", "state" };
	int64_t id;

	if (cli->nargs > 1 && !str_to_int(str_of(cli->args[1]), &id))
		return cli_usage_error(cli, "'%s' takes the number of a delivery; see: hookd outbox", cli->args[0]);
	if (cli->nargs > 1)
		jw_field_int(w, "id", id);
	for (size_t i = 0; i < countof(texts); i++)
		jw_field_str(w, texts[i], str_of(cli_value(cli, texts[i], NULL)));
	jw_field_str(w, "before_us", str_of(cli_value(cli, "before", NULL)));
	return EXIT_DONE;
}

/* Retry and drop: counts, or does it. */
static int change(struct cli *cli, const char *method, const char *member, const char *done, const char *would)
{
	bool dry = cli_has(cli, "dry-run"), retry = member[0] == 'r';
	struct buf b = BUF_INIT(1024);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;
	int r;

	jw_object(&w);
	r = add_choice(cli, &w);
	if (dry && retry && cli->nargs < 2 && !cli_has(cli, "state"))
		jw_field_str(&w, "state", STR("dead"));
	if (!dry && cli_has(cli, "all"))
		jw_field_bool(&w, "all", true);
	jw_end_object(&w);
	if (r == EXIT_DONE)
		result = cli_ask(cli, dry ? "outbox_count" : method, buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("%lld deliveries %s\n", (long long)cell_int(result, dry ? "count" : member), dry ? would : done);
	return EXIT_DONE;
}

static int retry(struct cli *cli)
{
	return change(cli, "outbox_retry", "retried", "are due now", "would be due now");
}

/* What was not delivered is lost then. */
static int drop(struct cli *cli)
{
	static const char *const choices[] = { "sink", "state", "before", "all" };
	bool chosen = cli->nargs > 1;
	int r;

	for (size_t i = 0; i < countof(choices); i++)
		chosen |= cli_has(cli, choices[i]);
	if (!chosen)
		return cli_usage_error(cli,
			"'drop' needs the number of a delivery, --sink, --state, --before, or --all for everything");
	r = cli_has(cli, "dry-run") ? EXIT_DONE : cli_need_owner(cli, "dropping what was to be sent");
	if (r == EXIT_DONE)
		r = change(cli, "outbox_drop", "dropped", "dropped", "would be dropped");
	return r;
}

static int run_outbox(struct cli *cli)
{
	static const struct {
		const char *name;
		int max;
		int (*run)(struct cli *cli);
	} words[] = { { "list", 1, list }, { "retry", 2, retry }, { "drop", 2, drop } };

	if (!cli->nargs)
		return list(cli);
	for (size_t i = 0; i < countof(words); i++)
		if (strcmp(cli->args[0], words[i].name) == 0)
			return cli->nargs > words[i].max ? cli_usage_error(cli, "'list' takes no argument")
							 : words[i].run(cli);
	return cli_usage_error(cli, "'%s' is none of list, retry and drop", cli->args[0]);
}

static const struct cmd_option outbox_options[] = {
	{ "sink", 0, "NAME", false, "only this sink's" },
	{ "state", 0, "WORD", false,
		"only waiting, dead or (list) delivered; default: waiting and dead, for retry dead" },
	{ "type", 0, "NAME", false, "list: only this type of event" },
	{ "session", 0, "ID", false, "list: only this session's" },
	{ "before", 0, "WHEN", false, "retry, drop: only of events before: 2h, 3d, 2026-11-01" },
	{ "all", 0, NULL, false, "drop: everything that waits or was given up" },
	{ "limit", 'n', "N", false, "list: at most N (default 50)" },
	{ "dry-run", 0, NULL, false, "retry, drop: only count" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_outbox = {
	.name = "outbox",
	.args = "[list | retry [ID] | drop [ID]]",
	.text = "List what is waiting to be sent to your sinks, try again what was given up, or drop it.",
	.max_args = 2,
	.options = outbox_options,
	.run = run_outbox,
};

/* -- sinks ------------------------------------------------------------------------------------- */

static const struct json *find_known(const struct json *result, str name)
{
	json_each(k, json_get(result, STR("known")))
		if (str_eq(cell_text(k, "name"), name))
			return k;
	return NULL;
}

static str lag_of(struct cli *cli, const struct json *s)
{
	const struct json *lag = json_get(s, STR("lag"));

	return lag ? arena_strf(&cli->arena, "%lld/%lld/%lld ms", (long long)cell_int(lag, "p50_ms"),
			     (long long)cell_int(lag, "p95_ms"), (long long)cell_int(lag, "p99_ms"))
		   : STR("-");
}

/* Their text comes from a file of the user's and from a store, and errors from anywhere. */
static void print_more(struct cli *cli, const struct json *s, const struct json *known)
{
	int64_t coalesced = cell_int(known, "coalesced"), dropped = cell_int(known, "dropped");
	str name = cell_text(s, "name");

	if (!str_empty(cell_text(s, "trouble"))) {
		printf(STR_FMT ": ", STR_ARG(name));
		cli_print_safe(cell_text(s, "trouble"));
		if (cell_int(s, "rests_us") > 0)
			printf("; tried again in %lld s", (long long)(cell_int(s, "rests_us") / USEC_PER_SEC + 1));
		putchar('\n');
	}
	if (coalesced || dropped)
		printf(STR_FMT ": for want of room %lld events of tools were replaced by newer ones and %lld dropped\n",
			STR_ARG(name), (long long)coalesced, (long long)dropped);
	(void)cli;
}

static void print_sinks(struct cli *cli, const struct json *result)
{
	const struct json *sinks = json_get(result, STR("sinks"));
	struct table t;

	table_init(&t, &cli->arena, 7);
	table_add(&t,
		(str[]){ STR("SINK"), STR("TYPE"), STR("STATE"), STR("WAITING"), STR("DEAD"), STR("DELIVERED"),
			STR("LAG p50/p95/p99") });
	json_each(s, sinks)
		table_add(&t,
			(str[]){ cell_text(s, "name"), cell_text(s, "type"), cell_text(s, "state"),
				cell_number(cli, s, "waiting"), cell_number(cli, s, "dead"),
				cell_number(cli, s, "delivered"), lag_of(cli, s) });
	table_print(&t, cli->colour);
	json_each(s, sinks)
		print_more(cli, s, find_known(result, cell_text(s, "name")));
}

static bool is_configured(const struct json *result, str name)
{
	json_each(s, json_get(result, STR("sinks")))
		if (str_eq(cell_text(s, "name"), name))
			return true;
	return false;
}

static int list_sinks(struct cli *cli)
{
	struct json *result = cli_ask(cli, "sinks", STR_NONE);

	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (json_first(json_get(result, STR("sinks"))))
		print_sinks(cli, result);
	else
		puts("there are no sinks: nothing is sent anywhere; docs/outbox.md says how to add one");
	json_each(k, json_get(result, STR("known")))
		if (!is_configured(result, cell_text(k, "name")) && cell_int(k, "waiting") + cell_int(k, "dead"))
			printf(STR_FMT
				" is not configured any more; %lld deliveries are left: hookd outbox --sink " STR_FMT
				"\n",
				STR_ARG(cell_text(k, "name")),
				(long long)(cell_int(k, "waiting") + cell_int(k, "dead")),
				STR_ARG(cell_text(k, "name")));
	return EXIT_DONE;
}

static int test_sink(struct cli *cli, const char *name)
{
	struct buf b = BUF_INIT(1024);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r = cli_need_owner(cli, "sending a test");

	if (r != EXIT_DONE)
		return r;
	jw_object(&w);
	jw_field_str(&w, "sink", str_of(name));
	jw_end_object(&w);
	cli->answer_ms = 5 * 60 * 1000;
	result = cli_ask(cli, "sinks_test", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		cli_print_json(result);
	else if (json_true(json_get(result, STR("delivered"))))
		printf("%s has it, after %lld ms\n", name, (long long)(cell_int(result, "took_us") / USEC_PER_MSEC));
	else
		cli_fail("%s: " STR_FMT, name, STR_ARG(cell_text(result, "why")));
	return json_true(json_get(result, STR("delivered"))) ? EXIT_DONE : EXIT_FAILED;
}

static int run_sinks(struct cli *cli)
{
	if (!cli->nargs || (cli->nargs == 1 && strcmp(cli->args[0], "list") == 0))
		return list_sinks(cli);
	if (strcmp(cli->args[0], "test") != 0 || cli->nargs != 2)
		return cli_usage_error(cli, "'sinks' takes nothing, or 'test NAME'");
	return test_sink(cli, cli->args[1]);
}

static const struct cmd_option sinks_options[] = { OPTION_JSON, { 0 } };

const struct cmd cmd_sinks = {
	.name = "sinks",
	.args = "[list | test NAME]",
	.text = "Show where your events are sent and how that goes, or send a test.",
	.max_args = 2,
	.options = sinks_options,
	.run = run_sinks,
};
