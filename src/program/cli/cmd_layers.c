/* timeline, get, related: from a hit of a search to what happened around it, all of it, and the sessions beside it. */
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"

/* -- timeline ---------------------------------------------------------------------------------- */

static int run_timeline(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	if (cli->nargs)
		jw_field_str(&w, "id", str_of(cli->args[0]));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "timeline", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("timeline"))))
		puts("nothing happened around then");
	json_each(i, json_get(result, STR("timeline"))) {
		bool here = cli->nargs && str_eq(cell_text(i, "id"), str_of(cli->args[0]));

		printf("%s " STR_FMT "  ", here ? "→" : " ", STR_ARG(cell_time(cli, i, "at_us")));
		cli_print_safe(cell_text(i, "kind"));
		printf("  ");
		cli_print_safe(cell_text(i, "id"));
		printf("  %lld tokens\n      ", (long long)cell_int(i, "tokens"));
		cli_print_safe(cell_text(i, "text"));
		putchar('\n');
	}
	return EXIT_DONE;
}

static const struct cmd_option timeline_options[] = {
	OPTION_PROJECT,
	{ "limit", 'n', "N", false, "at most N (default 20)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_timeline = {
	.name = "timeline",
	.args = "[ID]",
	.text = "Show prompts and memories around something that a search found, or the newest.",
	.max_args = 1,
	.options = timeline_options,
	.run = run_timeline,
};

/* -- get --------------------------------------------------------------------------------------- */

static void print_item(struct cli *cli, const struct json *i)
{
	static const char *const members[] = { "kind", "type", "status", "project", "session", "agent", "file",
		"path" };

	for (size_t m = 0; m < countof(members); m++)
		if (!str_empty(cell_text(i, members[m]))) {
			cli_print_safe(cell_text(i, members[m]));
			printf("  ");
		}
	cli_print_safe(cell_text(i, "id"));
	printf("  " STR_FMT "\n", STR_ARG(cell_time(cli, i, json_get(i, STR("at_us")) ? "at_us" : "created_us")));
	cli_print_safe(cell_text(i, "text"));
	if (!str_empty(cell_text(i, "answer"))) {
		printf("\n→ ");
		cli_print_safe(cell_text(i, "answer"));
	}
	printf("\n\n");
}

static int run_get(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	char here[FS_PATH];

	jw_object(&w);
	jw_key(&w, "ids");
	jw_array(&w);
	for (int i = 0; i < cli->nargs; i++)
		jw_str(&w, str_of(cli->args[i]));
	jw_end_array(&w);
	if (getcwd(here, sizeof here))
		jw_field_str(&w, "project", str_of(here));
	jw_end_object(&w);
	result = cli_ask(cli, "get", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	json_each(i, json_get(result, STR("items")))
		print_item(cli, i);
	return EXIT_DONE;
}

static const struct cmd_option get_options[] = {
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_get = {
	.name = "get",
	.args = "ID…",
	.text = "Print what search and timeline found, in full.",
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = get_options,
	.run = run_get,
};

/* -- related ----------------------------------------------------------------------------------- */

static int accept_parent(struct cli *cli, const char *parent)
{
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	if (cli_has(cli, "dry-run")) {
		buf_release(&b);
		printf("would note that %s continues %s\n", cli->args[0], parent ? parent : "no other session");
		return EXIT_DONE;
	}
	jw_object(&w);
	jw_field_str(&w, "session", str_of(cli->args[0]));
	if (parent)
		jw_field_str(&w, "parent", str_of(parent));
	jw_end_object(&w);
	result = cli_ask(cli, "session_accept", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	cli_print_safe(cell_text(result, "session"));
	printf(parent ? " continues " : " continues no other session as far as you say");
	cli_print_safe(cell_text(result, "parent"));
	putchar('\n');
	return EXIT_DONE;
}

static void print_related(struct cli *cli, const struct json *result)
{
	struct table t;

	if (!json_first(json_get(result, STR("related")))) {
		puts("no session of its project is like it");
		return;
	}
	table_init(&t, &cli->arena, 6);
	t.firm = 3;
	table_add(&t, (str[]){ STR("AGO"), STR("SESSION"), STR("SCORE"), STR("FILES"), STR(""), STR("TITLE") });
	json_each(k, json_get(result, STR("related")))
		table_add(&t,
			(str[]){ cell_age(cli, k, "last_us"), cell_text(k, "session"), cell_text(k, "score"),
				cell_number(cli, k, "shared_files"),
				json_true(json_get(k, STR("suggested"))) ? STR("continued?") : STR(""),
				cell_text(k, "title") });
	table_print(&t, cli->colour);
	if (!str_empty(cell_text(result, "suggested_parent"))) {
		printf("if it continues ");
		cli_print_safe(cell_text(result, "suggested_parent"));
		printf(", say so with: hookd related ");
		cli_print_safe(cell_text(result, "session"));
		puts(" --accept");
	}
}

static int run_related(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	if (cli_has(cli, "reject"))
		return accept_parent(cli, NULL);
	if (cli_value(cli, "parent", NULL))
		return accept_parent(cli, cli_value(cli, "parent", NULL));
	jw_object(&w);
	r = cli_add_filter(cli, &w);
	jw_field_str(&w, "session", str_of(cli->args[0]));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "related", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "accept")) {
		str parent = cell_text(result, "suggested_parent");

		return str_empty(parent) ? cli_fail("there is no suggestion; name the session with --parent ID")
					 : accept_parent(cli, arena_cstr(&cli->arena, parent));
	}
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	print_related(cli, result);
	return EXIT_DONE;
}

static const struct cmd_option related_options[] = {
	{ "accept", 0, NULL, false, "it continues the session that is suggested" },
	{ "parent", 0, "ID", false, "it continues this one" },
	{ "reject", 0, NULL, false, "take back what was accepted" },
	{ "limit", 'n', "N", false, "at most N (default 10)" },
	{ "dry-run", 0, NULL, false, "only say what would be noted" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_related = {
	.name = "related",
	.args = "SESSION",
	.text = "List sessions that are about the same, and say which one a session continues.",
	.min_args = 1,
	.max_args = 1,
	.options = related_options,
	.run = run_related,
};
