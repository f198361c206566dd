/* search: captured work by its words. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"

/* The words of the query in bold. */
static void print_snippet(struct cli *cli, str text)
{
	size_t at = 0;

	while (at < text.n) {
		size_t hit = 0, next = at + 1;

		for (int i = 0; i < cli->nargs && cli->colour && !hit; i++) {
			str words = str_of(cli->args[i]), word;

			while (!hit && str_split(&words, ' ', &word)) {
				while (word.n && (word.p[word.n - 1] == '*' || word.p[word.n - 1] == '"'))
					word.n--;
				if (word.n && word.p[0] == '"')
					word = str_from(word, 1);
				if (word.n && at + word.n <= text.n && str_eq_nocase(str_n(text.p + at, word.n), word))
					hit = word.n;
			}
		}
		if (hit) {
			fputs("\033[1;33m", stdout);
			cli_print_safe(str_n(text.p + at, hit));
			fputs("\033[0m", stdout);
			at += hit;
			continue;
		}
		while (next < text.n && ((unsigned char)text.p[next] & 0xC0) == 0x80)
			next++;
		cli_print_safe(str_n(text.p + at, next - at));
		at = next;
	}
	putchar('\n');
}

static void print_hit(struct cli *cli, const struct json *hit)
{
	const char *dim = cli->colour ? "\033[2m" : "", *off = cli->colour ? "\033[0m" : "";
	int64_t number = cell_int(hit, "prompt_number");

	printf("%s", dim);
	if (json_get(hit, STR("at_us")))
		cli_print_safe(cell_time(cli, hit, "at_us"));
	printf("  %s  ", cell_text(hit, "kind").p ? arena_cstr(&cli->arena, cell_text(hit, "kind")) : "");
	cli_print_safe(cell_text(hit, "agent"));
	printf("  ");
	cli_print_safe(cell_text(hit, "project"));
	printf("  ");
	cli_print_safe(str_cut_utf8(cell_text(hit, "session"), 13));
	if (number)
		printf("  prompt %lld", (long long)number);
	printf("  ");
	cli_print_safe(cell_text(hit, "id"));
	printf("  %lld tokens", (long long)cell_int(hit, "tokens"));
	printf("%s\n    ", off);
	print_snippet(cli, cell_text(hit, "snippet"));
}

static int ask(struct cli *cli, struct json **ret)
{
	struct buf query = BUF_INIT(KIB(64)), b = BUF_INIT(KIB(128));
	struct json_writer w = JSON_WRITER(&b);
	char here[PATH_MAX];
	int r;

	for (int i = 0; i < cli->nargs; i++)
		buf_addf(&query, "%s%s", i ? " " : "", cli->args[i]);
	jw_object(&w);
	r = cli_add_filter(cli, &w);
	jw_field_str(&w, "query", buf_str(&query));
	jw_field_str(&w, "in", str_of(cli_value(cli, "in", NULL)));
	if (getcwd(here, sizeof here))
		jw_field_str(&w, "cwd", str_of(here));
	jw_end_object(&w);
	*ret = r ? NULL : cli_ask(cli, "search", buf_str(&b));
	buf_release(&query);
	buf_release(&b);
	return r ? r : *ret ? 0 : EXIT_FAILED;
}

static int run_search(struct cli *cli)
{
	struct json *result;
	int r = ask(cli, &result);

	if (r)
		return r;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("hits")))) {
		puts("nothing found; try fewer words, or import older sessions with: hookd import");
		return EXIT_DONE;
	}
	json_each(hit, json_get(result, STR("hits")))
		print_hit(cli, hit);
	return EXIT_DONE;
}

static const struct cmd_option search_options[] = {
	{ "in", 0, "KINDS", false,
		"only in memory, prompts, answers, commands, plans, sessions (all but memory and plans) or code (only "
		"when it is named), separated by commas" },
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	{ "limit", 'n', "N", false, "at most N (default 20)" },
	OPTION_ALL,
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_search = {
	.name = "search",
	.args = "WORDS…",
	.text = "Search memories, prompts, answers, commands and plans; \"a phrase\" in quotes is matched as a whole, "
		"pars* "
		"matches words that start with pars.",
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = search_options,
	.run = run_search,
};
