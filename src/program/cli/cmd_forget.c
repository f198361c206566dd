/* memory forget: memories deleted for good, in every copy, as a purge does it. Those that are named, or all that the
 * options choose. */
#include <stdio.h>

#include "base/limits.h"
#include "cli/commands.h"

enum { AT_ONCE = 10000, SHOWN = 20 };

/* Options that choose; without one of them, ids must. */
static const char *const filters[] = { "type", "status", "concept", "project", "since", "until", "match" };

static bool has_filter(const struct cli *cli)
{
	for (size_t i = 0; i < countof(filters); i++)
		if (cli_has(cli, filters[i]))
			return true;
	return false;
}

static const struct json *find_by_options(struct cli *cli, int *ret_exit)
{
	struct buf b = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;

	jw_object(&w);
	*ret_exit = cli_add_filter(cli, &w);
	jw_field_str(&w, "type", str_of(cli_value(cli, "type", NULL)));
	jw_field_str(&w, "concept", str_of(cli_value(cli, "concept", NULL)));
	jw_field_str(&w, "query", str_of(cli_value(cli, "match", NULL)));
	jw_field_int(&w, "limit", AT_ONCE);
	jw_end_object(&w);
	if (*ret_exit == 0)
		result = cli_ask(cli, "memories", buf_str(&b));
	buf_release(&b);
	return json_get(result, STR("memories"));
}

/* By ids, or the names they were imported under. */
static const struct json *find_by_ids(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	jw_object(&w);
	jw_key(&w, "ids");
	jw_array(&w);
	for (int i = 1; i < cli->nargs; i++)
		jw_str(&w, str_of(cli->args[i]));
	jw_end_array(&w);
	jw_end_object(&w);
	result = cli_ask(cli, "get", buf_str(&b));
	buf_release(&b);
	return json_get(result, STR("items"));
}

static int64_t say_which(struct cli *cli, const struct json *list)
{
	int64_t n = 0;

	json_each(m, list) {
		if (n++ >= SHOWN)
			continue;
		printf("%s: ", cli_has(cli, "dry-run") ? "would forget" : "to be forgotten");
		cli_print_safe(cell_text(m, "text"));
		putchar('\n');
	}
	if (n > SHOWN)
		printf("… and %lld more\n", (long long)(n - SHOWN));
	return n;
}

static struct json *purge(struct cli *cli, const struct json *list)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	jw_object(&w);
	jw_key(&w, "memories");
	jw_array(&w);
	json_each(m, list)
		jw_str(&w, cell_text(m, "id"));
	jw_end_array(&w);
	jw_end_object(&w);
	cli->answer_ms = CLI_LONG_MS;
	result = cli_ask(cli, "purge", buf_str(&b));
	buf_release(&b);
	return result;
}

int cli_forget_memories(struct cli *cli)
{
	bool by_options = has_filter(cli), dry = cli_has(cli, "dry-run");
	const struct json *list;
	struct json *result;
	int r = 0;

	if (by_options == (cli->nargs > 1))
		return cli_usage_error(cli, "'memory forget' takes ids of memories, or options that choose some");
	list = by_options ? find_by_options(cli, &r) : find_by_ids(cli);
	if (!list)
		return r ? r : EXIT_FAILED;
	if (!json_first(list))
		return cli_fail("nothing matches, so nothing %s forgotten; see: hookd memories",
			dry ? "would be" : "was");
	json_each(m, list)
		if (!by_options && !str_eq(cell_text(m, "kind"), STR("memory")))
			return cli_fail("'" STR_FMT "' is no memory; see: hookd purge", STR_ARG(cell_text(m, "id")));
	if (dry && cli_has(cli, "json"))
		return cli_print_json(list);
	if (!cli_has(cli, "json"))
		say_which(cli, list);
	if (dry)
		return EXIT_DONE;
	r = cli_need_owner(cli, "deleting memories");
	if (r == EXIT_DONE)
		r = cli_ask_yes(cli, "Delete this permanently?");
	if (r != EXIT_DONE)
		return r;
	result = purge(cli, list);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("%lld forgotten: gone from the store, its WAL, the journal, the index and automatic backups\n",
		(long long)cell_int(result, "memories"));
	return EXIT_DONE;
}
