/* sessions, show, tail: what was captured. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/story.h"

/* -- sessions ---------------------------------------------------------------------------------- */

enum { ID_LEAST = 8 };

static int compare_ids(const void *a, const void *b)
{
	const str *x = a, *y = b;
	int order = memcmp(x->p, y->p, MIN(x->n, y->n));

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* How much of the ids tells all of them apart. */
static size_t id_length(struct cli *cli, const struct json *list)
{
	str *ids = arena_alloc(&cli->arena, (list->count + 1) * sizeof *ids);
	size_t n = 0, most = ID_LEAST, same;

	json_each(s, list)
		ids[n++] = cell_text(s, "id");
	qsort(ids, n, sizeof *ids, compare_ids);
	for (size_t i = 1; i < n; i++) {
		for (same = 0; same < MIN(ids[i].n, ids[i - 1].n) && ids[i].p[same] == ids[i - 1].p[same]; same++)
			;
		most = MAX(most, same + 1);
	}
	return most;
}

static void print_sessions(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("sessions"));
	struct table t;
	size_t id;

	if (!list || !list->first) {
		puts(cli_has(cli, "all") || !cli->ngiven ? "no sessions yet; connect an agent with: hookd init"
							 : "no such sessions; see all with: hookd sessions --all");
		return;
	}
	id = id_length(cli, list);
	table_init(&t, &cli->arena, 8);
	t.firm = 6;
	table_add(&t,
		(str[]){ STR("AGO"), STR("SESSION"), STR("AGENT"), STR("STATUS"), STR("PROMPTS"), STR("TOOLS"),
			STR("PROJECT"), STR("TITLE") });
	json_each(s, list)
		table_add(&t,
			(str[]){ cell_age(cli, s, "last_us"), str_cut_utf8(cell_text(s, "id"), id),
				cell_text(s, "agent"), cell_text(s, "status"), cell_number(cli, s, "prompts"),
				cell_number(cli, s, "tools"), cell_text(json_get(s, STR("project")), "name"),
				cell_text(s, "title") });
	table_print(&t, cli->colour);
	if (json_true(json_get(result, STR("more"))))
		puts("… and more; narrow it down with --project, --since or --until");
}

static int run_sessions(struct cli *cli)
{
	int r;
	struct json *result = cli_ask_filtered(cli, "sessions", &r);

	if (!result)
		return r;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	print_sessions(cli, result);
	return EXIT_DONE;
}

static const struct cmd_option sessions_options[] = {
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	{ "status", 0, "STATUS", false, "only sessions with this status: active or completed" },
	{ "query", 'q', "TEXT", false, "only sessions with this text in the title" },
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	OPTION_ALL,
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_sessions = {
	.name = "sessions",
	.args = "",
	.text = "List captured sessions, newest first.",
	.options = sessions_options,
	.run = run_sessions,
};

/* -- show -------------------------------------------------------------------------------------- */

static int run_show(struct cli *cli)
{
	struct story s = { .cli = cli,
		.style = &story_text,
		.out = stdout,
		.b = BUF_INIT(SIZE_MAX / 2),
		.colour = cli->colour,
		.full = cli_has(cli, "full"),
		.width = cli_terminal_width() };
	struct json *show = story_fetch(cli, (struct story_ref){ .id = str_of(cli->args[0]) });

	if (!show)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(show);
	story_tell(&s, show);
	buf_release(&s.b);
	return EXIT_DONE;
}

static const struct cmd_option show_options[] = {
	{ "full", 0, NULL, false, "print prompts, answers and output in full" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_show = {
	.name = "show",
	.args = "SESSION",
	.text = "Show one session: prompts, what was done for them, answers, plans, files.",
	.min_args = 1,
	.max_args = 1,
	.options = show_options,
	.run = run_show,
};

/* -- tail -------------------------------------------------------------------------------------- */

/* The one thing about an event that a person wants to see beside its name. */
static str gist(const struct json *payload)
{
	static const char *const paths[][2] = {
		{ "text", NULL },
		{ "prompt", NULL },
		{ "tool_input", "command" },
		{ "tool_input", "file_path" },
		{ "tool_input", "pattern" },
		{ "tool_input", "url" },
		{ "tool_input", "description" },
		{ "error", NULL },
		{ "last_assistant_message", NULL },
		{ "message", NULL },
		{ "source", NULL },
		{ "reason", NULL },
		{ "decision", NULL },
		{ "raw", NULL },
	};

	for (size_t i = 0; i < countof(paths); i++) {
		str s = json_str(paths[i][1] ? json_path(payload, paths[i][0], paths[i][1], NULL)
					     : json_path(payload, paths[i][0], NULL));

		if (!str_empty(s))
			return s;
	}
	return STR("");
}

/* Of a decision: what was said first about what. */
static str gist_of_decision(struct cli *cli, const struct json *payload)
{
	json_each(r, json_get(payload, STR("rulings"))) {
		str verdict = json_true(json_get(r, STR("prevailed"))) ? story_verdict(cli, r) : STR("");

		if (!str_empty(verdict))
			return arena_strf(&cli->arena, STR_FMT "%s" STR_FMT, STR_ARG(verdict),
				str_empty(cell_text(r, "subject")) ? "" : " · ", STR_ARG(cell_text(r, "subject")));
	}
	return gist(payload);
}

static void print_event(struct cli *cli, const struct json *e)
{
	const struct json *payload = json_get(e, STR("payload")), *verdict = json_get(e, STR("verdict"));
	const char *dim = cli->colour ? "\033[2m" : "", *bold = cli->colour ? "\033[1m" : "",
		   *plain = cli->colour ? "\033[0m" : "";
	str tool = json_str(json_get(e, STR("tool"))), session = json_str(json_get(e, STR("session")));

	printf("%s" STR_FMT "%s  ", dim, STR_ARG(cell_time(cli, e, "at_us")), plain);
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
	cli_print_safe(str_cut_utf8(
		str_eq(cell_text(e, "event"), STR("Decision")) ? gist_of_decision(cli, payload) : gist(payload), 160));
	if (verdict) {
		printf("  %s⊘ ", cli->colour ? "\033[33m" : "");
		cli_print_safe(str_cut_utf8(story_verdict(cli, verdict), 160));
		fputs(plain, stdout);
	}
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
	cli_add_filter(cli, &w); /* project and agent cannot be wrong here */
	jw_field_int(&w, "limit", limit);
	if (after >= 0)
		jw_field_int(&w, "after", after);
	jw_field_str(&w, "session", str_of(cli_value(cli, "session", NULL)));
	if (cli_has(cli, "output"))
		jw_field_bool(&w, "output", true);
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
		return cli_usage_error(cli, "--lines needs a number of at least 1");
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
	{ "follow", 'f', NULL, false, "keep printing events as they arrive" },
	{ "lines", 'n', "N", false, "start with the last N (default 20)" },
	{ "session", 0, "ID", false, "only this session" },
	{ "output", 0, NULL, false, "also what agents say while a turn runs, from their transcripts" },
	OPTION_PROJECT,
	OPTION_AGENT,
	{ "json", 0, NULL, false, "print one JSON object per line" },
	{ 0 },
};

const struct cmd cmd_tail = {
	.name = "tail",
	.args = "",
	.text = "Show the newest events, and follow them with -f.",
	.options = tail_options,
	.run = run_tail,
};
