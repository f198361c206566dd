/* model: the language model that hookd may ask. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"

static int64_t number(const struct json *m, const char *name)
{
	int64_t n = 0;

	json_int(json_get(m, str_of(name)), &n);
	return n;
}

static void print_line(const char *name, str text)
{
	if (str_empty(text))
		return;
	printf("%-10s ", name);
	cli_print_safe(text);
	putchar('\n');
}

static int show(struct cli *cli)
{
	struct json *s = cli_ask(cli, "status", STR_NONE);
	const struct json *m = json_get(s, STR("model"));

	if (!s)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(m);
	print_line("state", json_str(json_get(m, STR("state"))));
	if (!str_is_set(json_str(json_get(m, STR("model"))))) {
		puts("no model is asked; to use one, set llm.provider, llm.model and perhaps llm.url: hookd help "
		     "config");
		return EXIT_DONE;
	}
	print_line("provider", json_str(json_get(m, STR("provider"))));
	print_line("model", json_str(json_get(m, STR("model"))));
	print_line("address", json_str(json_get(m, STR("url"))));
	print_line("tokens",
		arena_strf(&cli->arena, "%lld of %lld today", (long long)number(m, "tokens_today"),
			(long long)number(m, "budget")));
	print_line("calls",
		arena_strf(&cli->arena, "%lld since the start, %lld of them failed", (long long)number(m, "calls"),
			(long long)number(m, "failures")));
	if (number(m, "paused_us"))
		print_line("paused",
			arena_strf(&cli->arena, "for another %lld s",
				(long long)(number(m, "paused_us") / USEC_PER_SEC + 1)));
	print_line("trouble", json_str(json_get(m, STR("trouble"))));
	return EXIT_DONE;
}

static int test(struct cli *cli)
{
	struct json *r;
	int code = cli_need_owner(cli, "asking the model");

	if (code)
		return code;
	cli->answer_ms = 10 * 60 * 1000;
	r = cli_ask(cli, "model_test", STR_NONE);
	if (!r)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		cli_print_json(r);
	else if (json_true(json_get(r, STR("ok"))))
		printf("the model answered; %lld tokens\n", (long long)number(r, "tokens"));
	else {
		print_line("no answer", json_str(json_get(r, STR("result"))));
		print_line("trouble", json_str(json_get(r, STR("trouble"))));
	}
	return json_true(json_get(r, STR("ok"))) ? EXIT_DONE : EXIT_FAILED;
}

/* From standard input, so that it is in no history and in no list of processes. */
static int store_key(struct cli *cli)
{
	char path[FS_PATH], text[4096];
	size_t n;
	str key;
	int r = cli_need_owner(cli, "storing a key");

	if (r)
		return r;
	if (fs_join(path, cli->paths.state, "llm.key") < 0)
		return cli_fail("the path is too long");
	if (isatty(0))
		fputs("the key, then Enter and Ctrl-D: ", stderr);
	n = fread(text, 1, sizeof text, stdin);
	key = str_trim(str_n(text, n));
	for (size_t i = 0; i < key.n; i++)
		if ((unsigned char)key.p[i] <= ' ' || (unsigned char)key.p[i] >= 0x7f)
			return cli_fail("nothing was stored: a key is one word");
	if (n == sizeof text || str_empty(key))
		return cli_fail("nothing was stored: a key is one word, on standard input");
	r = cli_has(cli, "dry-run") ? 0 : fs_replace_file(path, key, true);
	explicit_bzero(text, sizeof text);
	if (r < 0)
		return cli_fail("%s: %s", path, strerror(-r));
	if (cli_has(cli, "dry-run")) {
		printf("would store the key in %s\n", path);
		return EXIT_DONE;
	}
	cli_note_change(cli, "model key", STR(""));
	printf("stored in %s; it is used from the next call on\n", path);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	static const struct {
		const char *name;
		int (*run)(struct cli *cli);
	} words[] = { { "show", show }, { "test", test }, { "key", store_key } };

	if (!cli->nargs)
		return show(cli);
	for (size_t i = 0; i < countof(words); i++)
		if (str_eq(str_of(cli->args[0]), str_of(words[i].name)))
			return words[i].run(cli);
	return cli_usage_error(cli, "'%s' is none of show, test and key", cli->args[0]);
}

static const struct cmd_option model_options[] = {
	{ "dry-run", 0, NULL, false, "key: only say where it would be stored" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_model = {
	.name = "model",
	.args = "[show|test|key]",
	.text = "Show the state of the language model that hookd may ask, ask it one question, or store its key "
		"(from standard input).",
	.max_args = 1,
	.options = model_options,
	.run = run,
};
