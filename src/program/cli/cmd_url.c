/* url, token: how to reach hookd over HTTP. */
#include <stdio.h>

#include "cli/commands.h"
#include "config/owner.h"

static int run_url(struct cli *cli)
{
	struct json *got = cli_ask(cli, "http", STR("{\"open\":true}"));
	str address = json_str(json_get(got, STR("address"))), code = json_str(json_get(got, STR("code")));

	if (!got)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(got);
	if (str_empty(address) || str_empty(code))
		return cli_fail("hookd cannot listen on 127.0.0.1; see: hookd logs");
	printf(STR_FMT "/login?code=" STR_FMT "\n", STR_ARG(address), STR_ARG(code));
	return EXIT_DONE;
}

static const struct cmd_option url_options[] = {
	{ "json", 0, NULL, false, "print JSON: address, Unix socket, and a code for one login" },
	{ 0 },
};

const struct cmd cmd_url = {
	.name = "url",
	.args = "",
	.text = "Prints an address for a browser; it works for one login. Opens 127.0.0.1 if it is not open yet.",
	.options = url_options,
	.run = run_url,
};

static int run_token(struct cli *cli)
{
	char token[OWNER_TOKEN + 1];
	struct err err = { 0 };

	if (owner_http_token(&cli->paths, token, &err) < 0)
		return cli_fail("%s", err.text);
	puts(token);
	return EXIT_DONE;
}

const struct cmd cmd_token = {
	.name = "token",
	.args = "",
	.text = "Prints the bearer token for HTTP over TCP (Authorization: Bearer …).",
	.run = run_token,
};
