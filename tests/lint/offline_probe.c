/* A main that is `hookd offline` and nothing else, for reading its link map (linkmap.py). cli.c knows
 * every command and so links everything; the few of its functions that offline calls stand here. */
#include <string.h>

#include "cli/commands.h"

bool cli_has(const struct cli *cli, const char *option)
{
	return cli_value(cli, option, NULL) != NULL;
}

const char *cli_value(const struct cli *cli, const char *option, const char *fallback)
{
	for (int i = 0; i < cli->ngiven; i++)
		if (strcmp(cli->given[i].option->name, option) == 0)
			return cli->given[i].value;
	return fallback;
}

int cli_fail(const char *fmt, ...)
{
	(void)fmt;
	return EXIT_FAILED;
}

const char *cli_self_path(struct cli *cli)
{
	return cli->self;
}

int main(int argc, char **argv)
{
	struct cli cli = { .self = argv[0] };

	(void)argc;
	return cmd_offline.run(&cli);
}
