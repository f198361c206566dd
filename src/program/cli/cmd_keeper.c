/* keeper: the process that ends hooks when the daemon is gone; see os/os.h. */
#include "cli/commands.h"
#include "os/os.h"

static int run(struct cli *cli)
{
	int64_t fd;

	if (!str_to_int(str_of(cli_value(cli, "fd", "")), &fd))
		return cli_fail("keeper is started by the daemon itself");
	os_keeper_run((int)fd);
	return EXIT_DONE;
}

static const struct cmd_option keeper_options[] = {
	{ "fd", 0, "N", false, "file descriptor of the daemon's end" },
	{ 0 },
};

const struct cmd cmd_keeper = {
	.name = "keeper",
	.args = "",
	.text = "End the hooks of a daemon that was killed; started by hookd.",
	.flags = CMD_HIDDEN | CMD_ANYWHERE,
	.options = keeper_options,
	.run = run,
};
