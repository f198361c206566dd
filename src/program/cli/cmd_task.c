/* task: directories that collect efforts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"

static int print_tasks(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("tasks"));
	struct table t;

	if (!json_first(list)) {
		puts("no tasks here; one begins with its first effort: hookd effort start SKILL --task DIR");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 5);
	t.firm = 3;
	table_add(&t, (str[]){ STR("AGO"), STR("STATE"), STR("EFFORTS"), STR("TITLE"), STR("TASK") });
	json_each(k, list)
		table_add(&t,
			(str[]){ cell_age(cli, k, "updated_us"), cell_text(k, "state"), cell_number(cli, k, "efforts"),
				cell_text(k, "title"), cell_text(k, "task") });
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static void print_pair(const char *name, str text)
{
	if (str_empty(text))
		return;
	printf("%-10s ", name);
	cli_print_safe(text);
	putchar('\n');
}

static int print_task(struct cli *cli, const struct json *k)
{
	print_pair("task", cell_text(k, "task"));
	print_pair("title", cell_text(k, "title"));
	print_pair("about", cell_text(k, "text"));
	print_pair("state", cell_text(k, "state"));
	json_each(e, json_get(k, STR("history"))) {
		printf("%-10s %lld  ", e == json_first(json_get(k, STR("history"))) ? "efforts" : "",
			(long long)cell_int(e, "ordinal"));
		cli_print_safe(cell_text(e, "skill"));
		printf("  ");
		cli_print_safe(cell_text(e, "state"));
		printf("  ");
		cli_print_safe(cell_text(e, "phase"));
		putchar('\n');
	}
	(void)cli;
	return EXIT_DONE;
}

static int print_changed(struct cli *cli, const struct json *k)
{
	printf("changed ");
	cli_print_safe(cell_text(k, "task"));
	putchar('\n');
	(void)cli;
	return EXIT_DONE;
}

static int fill_list(struct cli *cli, struct json_writer *w)
{
	const char *project = cli_value(cli, "project", NULL);

	if (project)
		jw_field_str(w, "project", cli_project_ref(cli, project));
	return EXIT_DONE;
}

static int fill_show(struct cli *cli, struct json_writer *w)
{
	char path[PATH_MAX];
	const char *dir = cli->nargs > 1 ? cli->args[1] : ".";

	if (!realpath(dir, path))
		return cli_fail("the directory %s cannot be read: %s", dir, strerror(errno));
	jw_field_str(w, "task", arena_str(&cli->arena, str_of(path)));
	return EXIT_DONE;
}

static int fill_change(struct cli *cli, struct json_writer *w)
{
	const char *word, *session = cli_value(cli, "session", NULL);
	int r = fill_show(cli, w);

	jw_field_str(w, "title", str_of(cli_value(cli, "title", NULL)));
	jw_field_str(w, "text", str_of(cli_value(cli, "about", NULL)));
	if (cli_value_at(cli, "keyword", 0)) {
		jw_key(w, "keywords");
		jw_array(w);
		for (int i = 0; (word = cli_value_at(cli, "keyword", i)); i++)
			jw_str(w, str_of(word));
		jw_end_array(w);
	}
	if (session && strcmp(session, "on") != 0 && strcmp(session, "off") != 0)
		return cli_usage_error(cli, "--session is on or off");
	if (session) {
		jw_key(w, "gates");
		jw_object(w);
		jw_field_bool(w, "session", session[1] == 'n');
		jw_end_object(w);
	}
	return r;
}

static const struct action {
	const char *name, *method;
	int max_args; /* behind the name */
	int (*fill)(struct cli *cli, struct json_writer *w);
	int (*print)(struct cli *cli, const struct json *result);
} actions[] = {
	{ "list", "tasks", 0, fill_list, print_tasks },
	{ "show", "task", 1, fill_show, print_task },
	{ "change", "task_change", 1, fill_change, print_changed },
};

static int run_action(struct cli *cli, const struct action *a)
{
	struct buf b = BUF_INIT(LIMIT_RPC_LINE);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = a->fill(cli, &w);
	jw_end_object(&w);
	result = r == EXIT_DONE ? cli_ask(cli, a->method, buf_str(&b)) : NULL;
	buf_release(&b);
	if (!result)
		return r == EXIT_DONE ? EXIT_FAILED : r;
	return cli_has(cli, "json") ? cli_print_json(result) : a->print(cli, result);
}

static int run_task(struct cli *cli)
{
	for (const struct action *a = actions; a < actions + countof(actions); a++) {
		if (strcmp(cli->args[0], a->name) != 0)
			continue;
		if (cli->nargs - 1 > a->max_args)
			return cli_usage_error(cli, "'task %s' takes %s", a->name,
				a->max_args ? "one directory" : "nothing else");
		return run_action(cli, a);
	}
	return cli_usage_error(cli, "there is no 'task %s'; see: hookd help task", cli->args[0]);
}

static const struct cmd_option options[] = {
	{ "title", 0, "TEXT", false, "change: its title" },
	{ "about", 0, "TEXT", false, "change: what it is about" },
	{ "keyword", 0, "WORD", true, "change: a word to find it by" },
	{ "session", 0, "on|off", false, "change: nothing is changed in it without an effort" },
	{ "project", 'p', "NAME", false, "list: only this project's (name, path or key)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_task = {
	.name = "task",
	.args = "list, show [DIR], or change [DIR]",
	.text = "List tasks (directories that collect efforts), show one, or change what is known of it.",
	.min_args = 1,
	.max_args = 2,
	.options = options,
	.run = run_task,
};
