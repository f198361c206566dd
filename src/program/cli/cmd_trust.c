/* trust, untrust: what of a project may run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"
#include "hooks/hooks.h"
#include "trust/trust.h"

static const char *place(struct cli *cli)
{
	char *real = realpath(cli->nargs ? cli->args[0] : ".", NULL);
	const char *path = real ? arena_cstr(&cli->arena, str_of(real)) : NULL;

	free(real);
	return path;
}

/* Active sessions reload their hooks; without a daemon there are none. */
static void reload(struct cli *cli)
{
	struct json *result;
	struct err err;

	(void)cli_call(cli, false, "hooks_reload", STR_NONE, &result, &err);
}

static int list(struct cli *cli)
{
	struct buf b = BUF_INIT(MIB(8));
	struct json_writer w = JSON_WRITER(&b);
	struct json *all;

	trust_write_list(cli->paths.state, &w);
	if (cli_has(cli, "json")) {
		puts(b.p);
	} else if (json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&b)), 0, &all, NULL) == 0) {
		json_each(record, all) {
			cli_print_safe(cell_text(record, "root"));
			printf("  since %.*s\n", STR_ARG(cell_time(cli, record, "at_us")));
		}
	}
	buf_release(&b);
	return EXIT_DONE;
}

static void show(struct cli *cli, const struct trust_tree *t)
{
	struct buf b = BUF_INIT(MIB(32));

	trust_write_diff(cli->paths.state, t, &b);
	fwrite(b.p, 1, b.len, stdout);
	fflush(stdout);
	buf_release(&b);
}

/* Hooks that still will not run: better to say so now. */
static void show_untied(struct cli *cli, const struct trust_tree *t)
{
	struct hooks_where where = { .cwd = t->root, .home = cli->paths.home, .state = cli->paths.state };
	struct hook_set *s = hooks_load(&where);

	for (unsigned i = 0; i < s->count; i++)
		if (s->all[i]->state == HOOK_UNTIED)
			cli_fail(STR_FMT ":%u: %s: " STR_FMT "; a hook in your own config is not pinned",
				STR_ARG(s->all[i]->group->source->path), s->all[i]->line, hook_state_names[HOOK_UNTIED],
				STR_ARG(s->all[i]->why));
	hook_set_unref(s);
}

static int grant(struct cli *cli, const struct trust_tree *t)
{
	enum trust_state state = trust_look(cli->paths.state, t, NULL);
	char question[FS_PATH + 64];
	struct err err = { 0 };
	int r;

	if (state == TRUST_HOLDS || state == TRUST_NOTHING) {
		printf("%s: %s\n", t->root, trust_state_names[state]);
		return EXIT_DONE;
	}
	show(cli, t);
	/* Running programs must be approved by a person who sees what runs, never by a program. */
	r = cli_need_owner(cli, "trusting a project");
	if (r != EXIT_DONE)
		return r;
	snprintf(question, sizeof question, "May the hooks of %s run, as shown above?", t->root);
	if (!cli_has(cli, "yes") && !cli_confirm(question))
		return cli_fail("nothing was changed");
	if (paths_make(&cli->paths, &err) < 0 || trust_grant(cli->paths.state, t, &err) < 0)
		return cli_fail("%s", err.text);
	cli_note_change(cli, "trust", str_of(t->root));
	reload(cli);
	show_untied(cli, t);
	printf("%s is trusted as it is now; any change to these files needs this again\n", t->root);
	return EXIT_DONE;
}

static int run_trust(struct cli *cli)
{
	struct trust_tree *t = arena_alloc(&cli->arena, sizeof *t);
	const char *path = place(cli);
	struct err err = { 0 };
	int r;

	if (cli_has(cli, "list"))
		return list(cli);
	if (!path)
		return cli_fail("%s: %s", cli->nargs ? cli->args[0] : ".", strerror(errno));
	r = hooks_project(path, cli->paths.home, &cli->arena, t, &err);
	r = r < 0 ? cli_fail("%s", err.text) : grant(cli, t);
	trust_tree_close(t);
	return r;
}

static int run_untrust(struct cli *cli)
{
	struct trust_tree *t = arena_alloc(&cli->arena, sizeof *t);
	const char *path = place(cli);
	struct err err = { 0 };
	int r;

	if (!path)
		path = cli->nargs ? cli->args[0] : ".";
	/* The project around it; one that cannot be read any more is named by its root. */
	if (hooks_project(path, cli->paths.home, &cli->arena, t, &err) >= 0 || t->root[0])
		path = t->root;
	trust_tree_close(t);
	r = cli_need_owner(cli, "revoking trust");
	if (r != EXIT_DONE)
		return r;
	if (trust_revoke(cli->paths.state, path, &err) < 0)
		return cli_fail("%s", err.text);
	cli_note_change(cli, "untrust", str_of(path));
	reload(cli);
	printf("%s is no longer trusted\n", path);
	return EXIT_DONE;
}

static const struct cmd_option trust_options[] = {
	{ "list", 'l', NULL, false, "what is trusted" },
	{ "yes", 'y', NULL, false, "do not ask; a terminal is still required" },
	{ "json", 0, NULL, false, "list: print JSON" },
	{ 0 },
};

const struct cmd cmd_trust = {
	.name = "trust",
	.args = "[DIRECTORY]",
	.text = "Review the hooks of a project and allow them to run as they are now.",
	.max_args = 1,
	.options = trust_options,
	.run = run_trust,
};

const struct cmd cmd_untrust = {
	.name = "untrust",
	.args = "[DIRECTORY]",
	.text = "Revoke trust in a project.",
	.max_args = 1,
	.run = run_untrust,
};
