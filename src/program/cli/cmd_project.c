/* project: what work belongs to. */
#include <stdio.h>

#include "cli/commands.h"

static int print_projects(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("projects"));
	struct table t;

	if (!json_first(list)) {
		puts("no projects yet; connect an agent with: hookd init");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 6);
	t.firm = 2;
	table_add(&t, (str[]){ STR("AGO"), STR("KEY"), STR("PROJECT"), STR("SESSIONS"), STR("TOOLS"), STR("PATH") });
	json_each(p, list) {
		table_add(&t,
			(str[]){ cell_age(cli, p, "last_us"), cell_number(cli, p, "key"), cell_text(p, "name"),
				cell_number(cli, p, "sessions"), cell_number(cli, p, "tools"), cell_text(p, "path") });
		json_each(w, json_get(p, STR("worktrees")))
			table_add(&t,
				(str[]){ STR(""), cell_number(cli, w, "key"),
					arena_strf(&cli->arena, "  " STR_FMT, STR_ARG(cell_text(w, "name"))), STR(""),
					STR(""), cell_text(w, "path") });
	}
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static int print_renamed(struct cli *cli, const struct json *result)
{
	const struct json *p = json_get(result, STR("project"));
	str name = cell_text(result, "name");

	cli_print_safe(cell_text(p, "path"));
	fputs(json_true(json_get(result, STR("dry_run"))) ? " would be called " : " is called ", stdout);
	if (str_empty(name))
		fputs("as its folder", stdout);
	cli_print_safe(name);
	putchar('\n');
	return EXIT_DONE;
}

static int print_merged(struct cli *cli, const struct json *result)
{
	printf("%s %lld sessions and %lld directories to ",
		json_true(json_get(result, STR("dry_run"))) ? "would move" : "moved",
		(long long)cell_int(result, "sessions_moved"), (long long)cell_int(result, "directories_moved"));
	cli_print_safe(cell_text(json_get(result, STR("project")), "name"));
	putchar('\n');
	return EXIT_DONE;
}

/* What one may do, with the names its arguments have in the operation. */
static const struct action {
	const char *name, *method, *params[2];
	int nparams;
	int (*print)(struct cli *cli, const struct json *result);
} actions[] = {
	{ "list", "projects", { 0 }, 0, print_projects },
	{ "rename", "project_rename", { "project", "name" }, 2, print_renamed },
	{ "merge", "project_merge", { "from", "into" }, 2, print_merged },
};

static int do_action(struct cli *cli, const struct action *a)
{
	struct buf b = BUF_INIT(65536);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	if (cli->nargs - 1 != a->nparams)
		return cli_usage_error(cli, "'project %s' takes %d arguments", a->name, a->nparams);
	jw_object(&w);
	for (int i = 0; i < a->nparams; i++)
		jw_field_str(&w, a->params[i],
			strcmp(a->params[i], "name") == 0 ? str_of(cli->args[i + 1])
							  : cli_project_ref(cli, cli->args[i + 1]));
	if (cli_has(cli, "dry-run"))
		jw_field_bool(&w, "dry_run", true);
	jw_end_object(&w);
	result = cli_ask(cli, a->method, buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	return cli_has(cli, "json") ? cli_print_json(result) : a->print(cli, result);
}

static int run_project(struct cli *cli)
{
	for (size_t i = 0; i < countof(actions); i++)
		if (strcmp(cli->args[0], actions[i].name) == 0)
			return do_action(cli, &actions[i]);
	return cli_usage_error(cli, "there is no 'project %s'; use list, rename or merge", cli->args[0]);
}

static const struct cmd_option project_options[] = {
	{ "dry-run", 0, NULL, false, "merge, rename: only report what would change" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_project = {
	.name = "project",
	.args = "list | rename PROJECT NAME | merge FROM INTO",
	.text = "List projects, name one, or merge one into another.",
	.min_args = 1,
	.max_args = 3,
	.options = project_options,
	.run = run_project,
};
