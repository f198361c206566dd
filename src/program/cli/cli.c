/* The command table, its arguments and its help. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"

int cli_main(int argc, char **argv);

const struct cmd *const cmds[] = {
	&cmd_run,
	&cmd_start,
	&cmd_stop,
	&cmd_restart,
	&cmd_status,
	&cmd_doctor,
	&cmd_init,
	&cmd_uninstall,
	&cmd_agents,
	&cmd_sessions,
	&cmd_show,
	&cmd_tail,
	&cmd_search,
	&cmd_timeline,
	&cmd_get,
	&cmd_related,
	&cmd_code,
	&cmd_symbols,
	&cmd_map,
	&cmd_index,
	&cmd_effort,
	&cmd_task,
	&cmd_fleet,
	&cmd_wait,
	&cmd_watch,
	&cmd_queue,
	&cmd_plans,
	&cmd_remember,
	&cmd_memories,
	&cmd_memory,
	&cmd_recall,
	&cmd_review,
	&cmd_jobs,
	&cmd_outbox,
	&cmd_sinks,
	&cmd_why,
	&cmd_preview,
	&cmd_context,
	&cmd_usage,
	&cmd_stats,
	&cmd_import,
	&cmd_transcript,
	&cmd_export,
	&cmd_decisions,
	&cmd_project,
	&cmd_logs,
	&cmd_config,
	&cmd_guard,
	&cmd_rules,
	&cmd_reload,
	&cmd_hooks,
	&cmd_trust,
	&cmd_untrust,
	&cmd_db,
	&cmd_backup,
	&cmd_restore,
	&cmd_purge,
	&cmd_retention,
	&cmd_rpc,
	&cmd_mcp,
	&cmd_model,
	&cmd_url,
	&cmd_token,
	&cmd_offline,
	&cmd_keeper,
	&cmd_indexer,
	&cmd_version,
	&cmd_help,
	NULL,
};

/* Every command has these. */
static const struct cmd_option common_options[] = {
	{ "dir", 0, "DIR", false, "use this state directory instead of the one from the environment" },
	{ "token-file", 0, "FILE", false,
		"for what only the owner may do, without a terminal: a file with the owner's token" },
	{ "help", 'h', NULL, false, "show this help" },
	{ 0 },
};

/* -- messages ---------------------------------------------------------------------------------- */

/* Messages quote what others wrote: ids, names, paths. */
static void say(const char *fmt, va_list ap)
{
	struct buf raw = BUF_INIT(65536), safe = BUF_INIT(4 * 65536);

	buf_vaddf(&raw, fmt, ap);
	cli_add_safe(&safe, buf_str(&raw), SIZE_MAX);
	fprintf(stderr, "hookd: " STR_FMT, STR_ARG(buf_str(&safe)));
	buf_release(&raw);
	buf_release(&safe);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return EXIT_FAILED;
}

int cli_usage_error(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	fprintf(stderr, "; see: hookd %s --help\n", cli->cmd ? cli->cmd->name : "help");
	return EXIT_USAGE;
}

bool cli_confirm(const char *question)
{
	char answer[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fprintf(stderr, "%s [y/N] ", question);
	fflush(stderr);
	return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

int cli_ask_yes(struct cli *cli, const char *question)
{
	if (cli_has(cli, "yes"))
		return EXIT_DONE;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return cli_fail("nothing was changed: confirmation is needed and there is no terminal; add --yes");
	return cli_confirm(question) ? EXIT_DONE : cli_fail("nothing was changed: not confirmed");
}

/* -- help -------------------------------------------------------------------------------------- */

static void print_options(const struct cmd_option *o)
{
	char left[64];

	for (; o && o->name; o++) {
		snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : ' ',
			o->letter ? ", " : "   ", o->name, o->value ? " " : "", o->value ? o->value : "");
		printf("  %-24s %s%s\n", left, o->text, o->repeat ? " (may be repeated)" : "");
	}
}

void cli_print_help(const struct cmd *c)
{
	printf("usage: hookd %s%s%s%s\n\n%s\n\noptions:\n", c->name, c->options && c->options->name ? " [options]" : "",
		c->args[0] ? " " : "", c->args, c->text);
	print_options(c->options);
	print_options(common_options);
}

void cli_print_overview(void)
{
	puts("hookd: one runtime for the hooks of all your coding agents\n\n"
	     "usage: hookd COMMAND [options] [arguments]\n");
	for (size_t i = 0; cmds[i]; i++)
		if (!(cmds[i]->flags & CMD_HIDDEN))
			printf("  %-10s %s\n", cmds[i]->name, cmds[i]->text);
	puts("\nFor details: hookd COMMAND --help. Start with: hookd init");
}

const struct cmd *cli_find(const char *name)
{
	for (size_t i = 0; cmds[i]; i++)
		if (strcmp(cmds[i]->name, name) == 0)
			return cmds[i];
	return NULL;
}

/* -- arguments --------------------------------------------------------------------------------- */

static const struct cmd_option *find_option(const struct cmd_option *o, str name, char letter)
{
	for (; o && o->name; o++)
		if (letter ? o->letter == letter : str_eq(name, str_of(o->name)))
			return o;
	return NULL;
}

/* One option and its value, from "--name", "--name=value", "-n" or "-nvalue". 0 or an exit code. */
static int take_option(struct cli *cli, char **argv, int argc, int *at)
{
	const char *word = argv[*at], *value = NULL;
	bool lengthy = word[1] == '-';
	str name = str_of(word + 1 + lengthy);
	ptrdiff_t eq = lengthy ? str_find_char(name, '=') : -1;
	const struct cmd_option *o;

	if (eq >= 0) {
		value = name.p + eq + 1;
		name = str_head(name, (size_t)eq);
	}
	o = find_option(cli->cmd->options, name, lengthy ? 0 : word[1]);
	if (!o)
		o = find_option(common_options, name, lengthy ? 0 : word[1]);
	if (!o)
		return cli_usage_error(cli, "unknown option '%s'", word);
	if (!lengthy && word[2])
		value = word + 2;
	if (value && !o->value)
		return cli_usage_error(cli, "option '--%s' takes no value", o->name);
	if (o->value && !value) {
		if (++*at >= argc)
			return cli_usage_error(cli, "option '--%s' needs a value (%s)", o->name, o->value);
		value = argv[*at];
	}
	if (cli->ngiven == OPTIONS_MAX)
		return cli_usage_error(cli, "too many options");
	cli->given[cli->ngiven].option = o;
	cli->given[cli->ngiven++].value = value;
	return 0;
}

static int parse_args(struct cli *cli, int argc, char **argv)
{
	bool only_args = false;
	int r;

	for (int i = 0; i < argc; i++) {
		if (!only_args && strcmp(argv[i], "--") == 0) {
			only_args = true;
		} else if (!only_args && argv[i][0] == '-' && argv[i][1]) {
			r = take_option(cli, argv, argc, &i);
			if (r)
				return r;
		} else if (cli->nargs == ARGS_MAX) {
			return cli_usage_error(cli, "too many arguments");
		} else {
			cli->args[cli->nargs++] = argv[i];
		}
	}
	if (cli_has(cli, "help"))
		return 0;
	if (cli->nargs < cli->cmd->min_args)
		return cli_usage_error(cli, "an argument is missing: hookd %s %s", cli->cmd->name, cli->cmd->args);
	if (cli->nargs > cli->cmd->max_args)
		return cli_usage_error(cli, "one argument too many: '%s'", cli->args[cli->cmd->max_args]);
	return 0;
}

bool cli_has(const struct cli *cli, const char *option)
{
	return cli_value_at(cli, option, 0) != NULL;
}

const char *cli_value_at(const struct cli *cli, const char *option, int i)
{
	for (int k = 0; k < cli->ngiven; k++)
		if (strcmp(cli->given[k].option->name, option) == 0 && i-- == 0)
			return cli->given[k].value ? cli->given[k].value : "";
	return NULL;
}

const char *cli_value(const struct cli *cli, const char *option, const char *fallback)
{
	const char *value = cli_value_at(cli, option, 0);

	return value ? value : fallback;
}

bool cli_timeout_ms(const struct cli *cli, int64_t *ret)
{
	enum { YEAR_S = 31536000 };
	const char *value = cli_value(cli, "timeout", NULL);

	*ret = -1;
	if (!value)
		return true;
	if (!str_to_int(str_of(value), ret) || *ret < 0 || *ret > YEAR_S)
		return false;
	*ret *= 1000;
	return true;
}

/* -- main -------------------------------------------------------------------------------------- */

static int run_command(struct cli *cli)
{
	struct err err = { 0 };
	int r;

	if (cli_has(cli, "help")) {
		cli_print_help(cli->cmd);
		return EXIT_DONE;
	}
	cli->dir = cli_value(cli, "dir", NULL);
	r = paths_find(cli->dir, &cli->paths, &err);
	if (r < 0 && !(cli->cmd->flags & CMD_ANYWHERE))
		return cli_fail("%s", err.text);
	return cli->cmd->run(cli);
}

/* What is opened from here on must not become somebody's stdin, stdout or stderr: a lock file or a
 * socket would be printed to. */
static void fill_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return;
}

int cli_main(int argc, char **argv)
{
	static struct cli cli;
	const char *name = argc > 1 ? argv[1] : "help";
	int r;

	fill_standard_fds();
	umask(0077);
	cli.self = argv[0];
	cli.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0)
		name = "version";
	cli.cmd = cli_find(name);
	/* What an agent reads is not for a terminal, and every byte of it counts. */
	if (cli.cmd != &cmd_offline)
		cli_guard_output();
	if (!cli.cmd) {
		fprintf(stderr, "hookd: there is no command '%s'; see: hookd help\n", name);
		return EXIT_USAGE;
	}
	r = parse_args(&cli, argc > 2 ? argc - 2 : 0, argv + 2);
	if (!r)
		r = run_command(&cli);
	if (fflush(stdout) != 0 && r == EXIT_DONE && errno != EPIPE)
		r = cli_fail("the output could not be written: %s", strerror(errno));
	arena_release(&cli.arena);
	return r;
}
