/* code, symbols, map: what the index of a repository knows. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"

/* The project that was named, or that of this directory. */
static int add_project(struct cli *cli, struct json_writer *w)
{
	const char *given = cli_value(cli, "project", NULL);
	char here[PATH_MAX];

	if (!given && !getcwd(here, sizeof here))
		return cli_fail("the working directory cannot be read: %s; say --project", strerror(errno));
	jw_field_str(w, "project", given ? cli_project_ref(cli, given) : arena_str(&cli->arena, str_of(here)));
	return EXIT_DONE;
}

static int add_number(struct cli *cli, struct json_writer *w, const char *name)
{
	const char *text = cli_value(cli, name, NULL);
	int64_t n;

	if (!text)
		return EXIT_DONE;
	if (!str_to_int(str_of(text), &n) || n < 0)
		return cli_usage_error(cli, "--%s needs a number", name);
	jw_field_int(w, name, n);
	return EXIT_DONE;
}

/* All arguments as one text. */
static struct json *ask(struct cli *cli, const char *method, const char *member, const char *number, int *ret)
{
	struct buf text = BUF_INIT(KIB(64)), b = BUF_INIT(KIB(128));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;

	for (int i = 0; i < cli->nargs; i++)
		buf_addf(&text, "%s%s", i ? " " : "", cli->args[i]);
	jw_object(&w);
	*ret = add_project(cli, &w);
	if (*ret == EXIT_DONE && number)
		*ret = add_number(cli, &w, number);
	if (*ret == EXIT_DONE)
		*ret = add_number(cli, &w, strcmp(method, "map") == 0 ? "tokens" : "limit");
	if (text.len)
		jw_field_str(&w, member, buf_str(&text));
	jw_end_object(&w);
	if (*ret == EXIT_DONE && !(result = cli_ask(cli, method, buf_str(&b))))
		*ret = EXIT_FAILED;
	buf_release(&text);
	buf_release(&b);
	return result;
}

static bool is_indexed(const struct json *result)
{
	return json_true(json_get(result, STR("indexed")));
}

static void say_nothing_found(const struct json *result, const char *what)
{
	if (is_indexed(result))
		puts(what);
	else
		puts("there is no index of this project; make one with: hookd index");
}

/* Text of several lines: each is made safe by itself. */
static void print_lines(str text, const char *indent)
{
	str line;

	while (str_split(&text, '\n', &line)) {
		fputs(indent, stdout);
		cli_print_safe(line);
		putchar('\n');
	}
}

static void print_place(struct cli *cli, const struct json *h)
{
	printf("%s", cli->colour ? "\033[1m" : "");
	cli_print_safe(cell_text(h, "path"));
	printf(":%lld%s", (long long)cell_int(h, "line"), cli->colour ? "\033[0m" : "");
	if (!str_empty(cell_text(h, "symbol"))) {
		printf("  ");
		cli_print_safe(cell_text(h, "symbol"));
	}
	printf("  " STR_FMT, STR_ARG(cell_text(h, "kind")));
}

static int run_code(struct cli *cli)
{
	int r = EXIT_DONE;
	const struct json *result = ask(cli, "code", "query", "lines", &r), *hits;

	if (!result)
		return r;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	hits = json_get(result, STR("hits"));
	if (!json_first(hits))
		say_nothing_found(result, "nothing fits");
	json_each(h, hits) {
		print_place(cli, h);
		putchar('\n');
		print_lines(cell_text(h, "text"), "    ");
	}
	return EXIT_DONE;
}

static const struct cmd_option code_options[] = {
	{ "lines", 0, "N", false, "show at most N lines of each (default 20)" },
	{ "limit", 'n', "N", false, "at most N (default 10)" },
	{ "project", 'p', "NAME", false, "in this project (default: that of this directory)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_code = {
	.name = "code",
	.args = "WORDS…",
	.text = "Find the pieces of a repository's code that fit a text, best first.",
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = code_options,
	.run = run_code,
};

static int run_symbols(struct cli *cli)
{
	int r = EXIT_DONE;
	const struct json *result = ask(cli, "symbols", "name", NULL, &r), *list;

	if (!result)
		return r;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	list = json_get(result, STR("symbols"));
	if (!json_first(list))
		say_nothing_found(result, "nothing of that name is defined");
	json_each(h, list) {
		print_place(cli, h);
		putchar('\n');
	}
	return EXIT_DONE;
}

static const struct cmd_option symbols_options[] = {
	{ "limit", 'n', "N", false, "at most N (default 20)" },
	{ "project", 'p', "NAME", false, "in this project (default: that of this directory)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_symbols = {
	.name = "symbols",
	.args = "NAME",
	.text = "Show where something is defined, by its name or the beginning of it.",
	.min_args = 1,
	.max_args = 1,
	.options = symbols_options,
	.run = run_symbols,
};

static int run_map(struct cli *cli)
{
	int r = EXIT_DONE;
	const struct json *result = ask(cli, "map", "path", NULL, &r);

	if (!result)
		return r;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (str_empty(cell_text(result, "text")))
		say_nothing_found(result, "nothing is defined there");
	print_lines(cell_text(result, "text"), "");
	return EXIT_DONE;
}

static const struct cmd_option map_options[] = {
	{ "tokens", 0, "N", false, "at most N tokens of four bytes (default 1000)" },
	{ "project", 'p', "NAME", false, "of this project (default: that of this directory)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_map = {
	.name = "map",
	.args = "[PATH]",
	.text = "Show the most used definitions of a repository by file, or those below a path of it.",
	.max_args = 1,
	.options = map_options,
	.run = run_map,
};
