/* queue: work that waits for an agent, and the coordinator's question: what is next? */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"

enum { ROUND_MS = 30000, MORE_MS = 10000 };

static const char *who_asks(struct cli *cli)
{
	return cli_value(cli, "as", getenv("AGENT_ID"));
}

/* -- printing ---------------------------------------------------------------------------------- */

static int print_work(struct cli *cli, const struct json *k)
{
	if (!json_get(k, STR("work"))) {
		puts("no work waits for you");
		return EXIT_FAILED;
	}
	printf("work %lld is ", (long long)cell_int(k, "n"));
	cli_print_safe(cell_text(k, "state"));
	printf(": ");
	cli_print_safe(cell_text(k, "text"));
	putchar('\n');
	(void)cli;
	return EXIT_DONE;
}

static int print_list(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("work"));
	struct table t;

	if (!json_first(list)) {
		puts("no work waits; add some with: hookd queue add TEXT");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 6);
	t.firm = 3;
	table_add(&t, (str[]){ STR("NO"), STR("STATE"), STR("AGO"), STR("ROLE"), STR("AGENT"), STR("TEXT") });
	json_each(k, list)
		table_add(&t,
			(str[]){ cell_number(cli, k, "n"), cell_text(k, "state"), cell_age(cli, k, "changed_us"),
				cell_text(k, "role"), cell_text(k, "claimed_by"), cell_text(k, "text") });
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

/* -- the simple ones ----------------------------------------------------------------------------- */

static int fill_add(struct cli *cli, struct json_writer *w)
{
	int r = cli_add_caller(cli, w);

	jw_field_str(w, "text", str_of(cli->args[1]));
	jw_field_str(w, "role", str_of(cli_value(cli, "role", NULL)));
	return r;
}

static int fill_list(struct cli *cli, struct json_writer *w)
{
	const char *project = cli_value(cli, "project", NULL);

	if (project)
		jw_field_str(w, "project", cli_project_ref(cli, project));
	jw_field_str(w, "role", str_of(cli_value(cli, "role", NULL)));
	if (cli_has(cli, "all"))
		jw_field_bool(w, "all", true);
	return EXIT_DONE;
}

static int fill_work(struct cli *cli, struct json_writer *w)
{
	if (cli->nargs > 1)
		jw_field_str(w, "work", str_of(cli->args[1]));
	return EXIT_DONE;
}

/* Only a person can. */
static int fill_approve(struct cli *cli, struct json_writer *w)
{
	int r = cli_need_owner(cli, "hookd queue approve");

	return r == EXIT_DONE ? fill_work(cli, w) : r;
}

static int fill_claim(struct cli *cli, struct json_writer *w)
{
	jw_field_str(w, "agent", str_of(who_asks(cli)));
	jw_field_str(w, "role", str_of(cli_value(cli, "role", NULL)));
	return fill_work(cli, w);
}

static int fill_done(struct cli *cli, struct json_writer *w)
{
	jw_field_str(w, "agent", str_of(who_asks(cli)));
	if (cli->nargs > 2)
		jw_field_str(w, "result", str_of(cli->args[2]));
	return fill_work(cli, w);
}

/* The agent that has claimed it; without one a person, who may release it for any. */
static int fill_release(struct cli *cli, struct json_writer *w)
{
	int r = who_asks(cli) ? EXIT_DONE : cli_need_owner(cli, "releasing what an agent has claimed");

	return r == EXIT_DONE ? fill_done(cli, w) : r;
}

/* -- next ---------------------------------------------------------------------------------------- */

static struct json *ask(struct cli *cli, const char *method, struct buf *b, struct json_writer *w)
{
	struct json *result;

	jw_end_object(w);
	result = cli_ask(cli, method, arena_str(&cli->arena, buf_str(b)));
	buf_release(b);
	return result;
}

#define BEGIN(b, w)                              \
	struct buf b = BUF_INIT(LIMIT_RPC_LINE); \
	struct json_writer w = JSON_WRITER(&b);  \
	jw_object(&w)

/* The most urgent of the agents whose parent asks, or the news that there is work; waits for one of them. */
static struct json *wait_for_one(struct cli *cli, int64_t since_us, int64_t ms)
{
	BEGIN(b, w);

	jw_field_str(&w, "parent", str_of(who_asks(cli)));
	jw_field_bool(&w, "work", true);
	jw_field_int(&w, "since_us", since_us);
	jw_field_int(&w, "timeout_ms", ms);
	cli->answer_ms = (int)ms + MORE_MS;
	return ask(cli, "fleet.wait", &b, &w);
}

static struct json *claim_one(struct cli *cli)
{
	BEGIN(b, w);

	jw_field_str(&w, "agent", str_of(who_asks(cli)));
	jw_field_str(&w, "role", str_of(cli_value(cli, "role", NULL)));
	return ask(cli, "work.claim", &b, &w);
}

/* Whoever asks what is next has looked at it. */
static bool check_child(struct cli *cli, const struct json *child)
{
	BEGIN(b, w);

	jw_field_str(&w, "who", cell_text(child, "session"));
	return ask(cli, "fleet.focus", &b, &w);
}

static int tell(struct cli *cli, const char *kind, const char *member, const struct json *what)
{
	BEGIN(b, w);

	jw_field_str(&w, "kind", str_of(kind));
	if (what) {
		jw_key(&w, member);
		jw_value(&w, what);
	}
	jw_end_object(&w);
	if (cli_has(cli, "json")) {
		fwrite(b.p, 1, b.len, stdout);
		putchar('\n');
	} else {
		printf("%s", kind);
		if (what) {
			printf("  ");
			cli_print_safe(cell_text(what, str_eq(str_of(kind), STR("CHILD")) ? "agent" : "text"));
			printf("  ");
			cli_print_safe(str_eq(str_of(kind), STR("CHILD")) ? cell_text(what, "status")
									  : cell_number(cli, what, "n"));
		}
		putchar('\n');
	}
	buf_release(&b);
	return what ? EXIT_DONE : EXIT_FAILED;
}

static int run_next(struct cli *cli)
{
	int64_t timeout_ms, begun_us = clock_mono_us(), ms = 1;

	if (!who_asks(cli))
		return cli_usage_error(cli, "'queue next' needs AGENT_ID, or --as");
	if (!cli_timeout_ms(cli, &timeout_ms))
		return cli_usage_error(cli, "--timeout needs a number of seconds");
	for (int64_t since_us = clock_wall_us();;) {
		int64_t asked_us = clock_wall_us();
		struct json *found = wait_for_one(cli, since_us, ms), *work;
		const struct json *child = json_first(json_get(found, STR("agents")));

		if (found && child)
			return check_child(cli, child) ? tell(cli, "CHILD", "agent", child) : EXIT_FAILED;
		work = found ? claim_one(cli) : NULL;
		if (!work)
			return EXIT_FAILED;
		if (json_get(work, STR("work")))
			return tell(cli, "WORK", "work", work);
		since_us = asked_us;
		ms = timeout_ms >= 0 ? timeout_ms - (clock_mono_us() - begun_us) / USEC_PER_MSEC : ROUND_MS;
		if (ms <= 0)
			return tell(cli, "TIMEOUT", NULL, NULL);
		ms = MIN(ms, (int64_t)ROUND_MS);
		arena_reset(&cli->arena);
	}
}

/* -- the command --------------------------------------------------------------------------------- */

static const struct action {
	const char *name, *method;
	int min_args, max_args; /* behind the name */
	const char *takes;
	int (*fill)(struct cli *cli, struct json_writer *w);
	int (*print)(struct cli *cli, const struct json *result);
} actions[] = {
	{ "list", "work.list", 0, 0, "nothing else", fill_list, print_list },
	{ "add", "work.add", 1, 1, "one text; put it in quotes", fill_add, print_work },
	{ "approve", "work.approve", 1, 1, "the number of a piece of work", fill_approve, print_work },
	{ "claim", "work.claim", 0, 1, "the number of a piece of work, or nothing", fill_claim, print_work },
	{ "done", "work.done", 1, 2, "the number of a piece of work, and what came of it", fill_done, print_work },
	{ "release", "work.release", 1, 1, "the number of a piece of work", fill_release, print_work },
	{ "drop", "work.drop", 1, 1, "the number of a piece of work", fill_work, print_work },
};

static int run_action(struct cli *cli, const struct action *a)
{
	BEGIN(b, w);
	struct json *result = NULL;
	int r = a->fill(cli, &w);

	if (r == EXIT_DONE)
		result = ask(cli, a->method, &b, &w);
	if (!result)
		return r == EXIT_DONE ? EXIT_FAILED : r;
	return cli_has(cli, "json") ? cli_print_json(result) : a->print(cli, result);
}

static int run_queue(struct cli *cli)
{
	const char *name = cli->nargs ? cli->args[0] : "list";

	if (strcmp(name, "next") == 0)
		return run_next(cli);
	for (const struct action *a = actions; a < actions + countof(actions); a++) {
		if (strcmp(name, a->name) != 0)
			continue;
		if (cli->nargs - 1 > a->max_args || (a->min_args && cli->nargs - 1 < a->min_args))
			return cli_usage_error(cli, "'queue %s' takes %s", a->name, a->takes);
		return run_action(cli, a);
	}
	return cli_usage_error(cli, "there is no 'queue %s'; see: hookd help queue", name);
}

static const struct cmd_option options[] = {
	{ "role", 0, "NAME", false,
		"add: who may claim it (default: anybody); claim, next: whose work; list: only that" },
	{ "as", 0, "ID", false, "who asks: an AGENT_ID (default: the variable)" },
	{ "timeout", 0, "SECONDS", false, "next: give up after that long (default: never)" },
	OPTION_PROJECT,
	{ "all", 0, NULL, false, "list: with what is done" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_queue = {
	.name = "queue",
	.args = "[list], add TEXT, approve N, claim [N], done N [RESULT], release N, drop N, or next",
	.text = "Queue work for agents: you approve it, an agent claims it; next: what a coordinator is to look at.",
	.max_args = 3,
	.options = options,
	.run = run_queue,
};
