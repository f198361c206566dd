/* wait: until an agent is done, wants attention or has failed; or have an agent told of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"

enum { ROUND_MS = 30000, AWAY_MAX = 20, MORE_MS = 10000 };

static const char *const options_who[] = { "session", "agent" };

static int count_names(struct cli *cli)
{
	int n = 0;

	for (size_t o = 0; o < countof(options_who); o++)
		for (int i = 0; cli_value_at(cli, options_who[o], i); i++)
			n++;
	return n;
}

static str params_of(struct cli *cli, int64_t since_us, int64_t round_ms)
{
	struct buf b = BUF_INIT(LIMIT_RPC_LINE);
	struct json_writer w = JSON_WRITER(&b);
	const char *name;
	str params;

	jw_object(&w);
	if (count_names(cli)) {
		jw_key(&w, "who");
		jw_array(&w);
		for (size_t o = 0; o < countof(options_who); o++)
			for (int i = 0; (name = cli_value_at(cli, options_who[o], i)); i++)
				jw_str(&w, str_of(name));
		jw_end_array(&w);
	}
	jw_field_str(&w, "for", str_of(cli_value(cli, "for", "any")));
	jw_field_bool(&w, "every", !cli_has(cli, "any"));
	jw_field_int(&w, "since_us", since_us);
	jw_field_int(&w, "timeout_ms", round_ms);
	jw_end_object(&w);
	params = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return params;
}

/* -- printing ---------------------------------------------------------------------------------- */

static void print_agent(const struct json *a)
{
	cli_print_safe(cell_text(a, "agent"));
	printf("  ");
	cli_print_safe(cell_text(a, "status"));
	if (!str_empty(cell_text(a, "for"))) {
		printf("  ");
		cli_print_safe(cell_text(a, "for"));
	}
	putchar('\n');
}

static int print_result(struct cli *cli, const struct json *result)
{
	bool gone = json_first(json_get(result, STR("gone")));

	if (cli_has(cli, "json")) {
		cli_print_json(result);
	} else {
		json_each(a, json_get(result, STR("agents")))
			print_agent(a);
		json_each(name, json_get(result, STR("gone"))) {
			cli_print_safe(json_str(name));
			puts("  gone");
		}
	}
	if (!json_true(json_get(result, STR("happened"))))
		return EXIT_FAILED;
	return gone && !cli_has(cli, "any") ? EXIT_FAILED : EXIT_DONE;
}

static int time_is_up(struct cli *cli)
{
	if (cli_has(cli, "json"))
		puts("{\"happened\":false,\"agents\":[],\"gone\":[],\"timed_out\":true}");
	else
		fprintf(stderr, "hookd: nothing happened in that time\n");
	return EXIT_FAILED;
}

/* -- waiting ----------------------------------------------------------------------------------- */

static bool is_answer(const struct json *result)
{
	return json_true(json_get(result, STR("happened"))) || json_first(json_get(result, STR("gone")));
}

static int await(struct cli *cli, int64_t timeout_ms)
{
	const struct timespec pause = { .tv_sec = 1 };
	int64_t begun_us = clock_mono_us(), since = count_names(cli) && !cli_has(cli, "next") ? 0 : clock_wall_us();
	bool asked = false;

	for (int away = 0;;) {
		int64_t left = timeout_ms >= 0 ? timeout_ms - (clock_mono_us() - begun_us) / USEC_PER_MSEC : ROUND_MS;
		struct json *result = NULL;
		struct err err = { 0 };
		int r;

		if (left <= 0 && asked)
			return time_is_up(cli);
		left = MAX(left, (int64_t)1); /* with no time at all, what is so already counts */
		asked = true;
		cli->answer_ms = (int)MIN(left, (int64_t)ROUND_MS) + MORE_MS;
		r = cli_call(cli, true, "fleet.wait", params_of(cli, since, MIN(left, (int64_t)ROUND_MS)), &result,
			&err);
		if (r == -EREMOTE)
			return cli_fail("%s", err.text);
		if (r == 0 && is_answer(result))
			return print_result(cli, result);
		away = r < 0 ? away + 1 : 0;
		if (away == AWAY_MAX)
			return cli_fail("%s", err.text);
		/* The daemon was stopped, or was killed: another one knows as much. */
		if (r < 0)
			nanosleep(&pause, NULL);
		arena_reset(&cli->arena);
	}
}

/* -- being told -------------------------------------------------------------------------------- */

static int listen(struct cli *cli)
{
	struct buf b = BUF_INIT(LIMIT_RPC_LINE);
	struct json_writer w = JSON_WRITER(&b);
	const char *who = cli_value(cli, "session", cli_value(cli, "agent", NULL));
	struct json *result = NULL;
	int r;

	if (count_names(cli) != 1)
		return cli_usage_error(cli, "--notify needs exactly one --session or --agent");
	jw_object(&w);
	r = cli_add_caller(cli, &w);
	jw_field_str(&w, "who", str_of(who));
	jw_field_str(&w, "to", str_of(cli_value(cli, "to", NULL)));
	jw_field_str(&w, "for", str_of(cli_value(cli, "for", NULL)));
	jw_field_str(&w, "text", str_of(cli_value(cli, "notify", NULL)));
	jw_end_object(&w);
	if (r == EXIT_DONE)
		result = cli_ask(cli, "fleet.listen", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("it will be told; take it back with: hookd fleet drop ");
	cli_print_safe(cell_text(result, "listener"));
	putchar('\n');
	return EXIT_DONE;
}

static int run_wait(struct cli *cli)
{
	int64_t ms;

	if (!cli_timeout_ms(cli, &ms))
		return cli_usage_error(cli, "--timeout needs a number of seconds");
	if (cli_value(cli, "notify", NULL))
		return listen(cli);
	if (!count_names(cli) && !cli_has(cli, "any"))
		return cli_usage_error(cli, "say for whom: --session, --agent, or --any");
	return await(cli, ms);
}

static const struct cmd_option options[] = {
	{ "any", 0, NULL, false, "whichever of them comes first; of all agents, if none is named" },
	{ "session", 0, "ID", true, "this session, by its id or the beginning of it" },
	{ "agent", 0, "NAME", true, "this agent: its AGENT_ID, label or pane" },
	{ "for", 0, "STATUS", false, "done, attention, error or any (default any)" },
	{ "next", 0, NULL, false, "not what is so already, only what happens from now on" },
	{ "timeout", 0, "SECONDS", false, "give up after that long (default: never)" },
	{ "notify", 0, "TEXT", false, "do not wait: tell the agent that asks, once, when it happens" },
	{ "to", 0, "NAME", false, "notify: tell this agent instead" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_wait = {
	.name = "wait",
	.args = "",
	.text = "Wait until an agent is done, wants attention or has failed, or have another one told of it.",
	.options = options,
	.run = run_wait,
};
