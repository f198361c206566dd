/* uninstall: takes the hooks out of agents' settings. */
#include <stdio.h>

#include "base/limits.h"
#include "cli/hooks.h"

/* Wherever hooks are, found or not: an agent may be gone and its file still there. */
static bool every_agent(const struct install_request *q)
{
	(void)q;
	return true;
}

static int print_json(const struct hook_changes *c)
{
	struct buf b = BUF_INIT(MIB(64));
	struct json_writer w = JSON_WRITER(&b);

	hooks_write_json(&w, c, /* applied= */ true);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	const struct hook_work work = { .plan = install_plan_remove, .wanted = every_agent, .mcp = true };
	struct hook_changes c;
	int r = hooks_plan(cli, &work, &c);

	if (r == 0)
		r = hooks_agree(cli, &c, "Change the settings as shown?");
	if (r != 0)
		return r < 0 ? EXIT_DONE : r;
	r = hooks_apply(&c);
	if (r != 0)
		return r;
	if (c.any)
		cli_note_change(cli, "uninstall", STR_NONE);
	if (cli_has(cli, "json")) {
		r = print_json(&c);
		return c.failed ? c.failed : r;
	}
	hooks_print_done(&c);
	puts(c.any ? "Captured sessions stay where they are; hookd stop ends the daemon."
		   : "No hooks of hookd are installed here.");
	return c.failed ? c.failed : EXIT_DONE;
}

static const struct cmd_option uninstall_options[] = {
	{ "agent", 'a', "NAME", true, "only this agent" },
	{ "project", 0, NULL, false, "in the current directory" },
	{ "dry-run", 'n', NULL, false, "show the change without making it" },
	{ "yes", 'y', NULL, false, "do not ask" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_uninstall = {
	.name = "uninstall",
	.args = "",
	.text = "Remove hookd's hooks from the agents' settings; a file that nobody else changed is restored byte for "
		"byte.",
	.options = uninstall_options,
	.run = run,
};
