/* init: connects agents. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/backtest.h"
#include "cli/hooks.h"
#include "cli/import.h"
#include "config/config.h"
#include "config/owner.h"

/* hookc is in the same directory as hookd. */
static int find_hookc(struct cli *cli, char out[FS_PATH])
{
	const char *self = cli_self_path(cli), *slash = strrchr(self, '/');
	int n = snprintf(out, FS_PATH, "%.*s/hookc", slash ? (int)(slash - self) : 1, slash ? self : ".");

	if (n < 0 || n >= FS_PATH || out[0] != '/')
		return cli_fail("hookd cannot find its own executable; run it by its absolute path");
	if (access(out, X_OK) < 0)
		return cli_fail("%s: %s; hookc must be in the same directory as hookd; install both", out,
			strerror(errno));
	return 0;
}

static void print_next_steps(const struct hook_changes *c, bool history)
{
	printf("\nNext:\n"
	       "  use %s as before\n"
	       "  hookd doctor     sends an event through every hook and follows it to the store\n"
	       "  hookd tail -f    shows events as they arrive\n"
	       "  hookd rules      lists what the guard denies or asks about\n"
	       "  hookd uninstall  removes the hooks again\n",
		c->n == 1 ? c->list[0]->plan.agent->label : "your agents");
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->list[i]->plan.agent->name, "codex") == 0)
			puts("  codex            asks about new hooks when it starts (or type /hooks there): "
			     "trust hookc");
	if (history)
		puts("  hookd sessions   lists what was read\n"
		     "  hookd search …   searches prompts, answers, commands and plans\n"
		     "  hookd usage      tokens by day, project, agent or model, and their estimated cost");
}

static int print_json(const struct hook_changes *c, int daemon, const struct err *err,
	const struct import_result *history)
{
	struct buf b = BUF_INIT(MIB(64));
	struct json_writer w = JSON_WRITER(&b);

	hooks_write_json(&w, c, /* applied= */ true);
	jw_field_bool(&w, "daemon_running", daemon == 0 || daemon == -EEXIST);
	if (daemon < 0 && daemon != -EEXIST)
		jw_field_str(&w, "daemon_error", str_of(err->text));
	jw_field_int(&w, "imported", history->fresh);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return EXIT_DONE;
}

/* Hooks are in place whether or not the daemon runs (hookc starts it too), so a failure is only reported. */
static int start_daemon(struct cli *cli, struct err *err)
{
	int r = cli_daemon_runs(cli) ? -EEXIST : cli_start_daemon(cli, err);

	if (r < 0 && r != -EEXIST)
		cli_fail("the daemon did not start: %s; the hooks are installed and keep events "
			 "until it does",
			err->text);
	return r;
}

/* The settings were put where this HOME says, so this is the home that the daemon of a new state directory should
 * know. That of an existing one stays. */
static void remember_home(struct cli *cli)
{
	const char *home = getenv("HOME");

	if (!home || home[0] != '/' || strcmp(home, cli->paths.home) == 0)
		return;
	if (paths_are_new(&cli->paths) && strlen(home) < FS_PATH)
		snprintf(cli->paths.home, sizeof cli->paths.home, "%s", home);
	else
		cli_fail("HOME is %s, but hookd uses %s as your home: that is what %s was set up with", home,
			cli->paths.home, cli->paths.state);
}

/* -- telemetry --------------------------------------------------------------------------------- */

struct telemetry {
	struct install_otel otel;
	char endpoint[64], token[OWNER_TOKEN + 1];
};

/* Where agents will find us, and what opens the door. 0, or the exit code after the reason was printed. */
static int plan_telemetry(struct cli *cli, struct telemetry *t)
{
	struct config_problem *problems;
	struct config config;
	struct err err = { 0 };
	int64_t port;

	config_load(cli->paths.config, &config, &problems);
	port = config_number(&config, OPTION_HTTP_PORT);
	config_problems_free(problems);
	if (!port)
		return cli_fail("telemetry needs a port that stays the same: hookd config set http.port 7717");
	snprintf(t->endpoint, sizeof t->endpoint, "http://127.0.0.1:%lld/v1/logs", (long long)port);
	if (cli_has(cli, "dry-run"))
		snprintf(t->token, sizeof t->token, "(hookd token)");
	else if (paths_make(&cli->paths, &err) < 0 || owner_http_token(&cli->paths, t->token, &err) < 0)
		return cli_fail("%s", err.text);
	t->otel = (struct install_otel){ t->endpoint, t->token };
	return 0;
}

/* From now on and from every start. */
static void open_telemetry(struct cli *cli, const struct telemetry *t)
{
	struct json *got = cli_ask(cli, "http", STR("{\"open\":true}"));
	str address = json_str(json_get(got, STR("address")));

	if (!str_empty(address) && !str_starts(str_of(t->endpoint), address))
		cli_fail("the daemon listens at " STR_FMT ", not at the port of %s: http.port has changed since it "
			 "started (hookd stop; hookd start), or the port is taken (hookd config set http.port, then "
			 "hookd "
			 "init --otel again)",
			STR_ARG(address), t->endpoint);
}

static int enable_http(struct cli *cli)
{
	const struct option *o = config_find(STR("http.enabled"), NULL);
	struct err err = { 0 };

	if (config_set(cli->paths.config, o, STR("true"), &err) < 0)
		return cli_fail("%s: %s", cli->paths.config, err.text);
	return 0;
}

/* What the hooks call must stay where it is. */
static void warn_of_build_folder(const char *hookc)
{
	char ninja[FS_PATH];
	int dir = (int)(strrchr(hookc, '/') - hookc);
	struct stat st;

	if (snprintf(ninja, sizeof ninja, "%.*s/build.ninja", dir, hookc) >= FS_PATH || stat(ninja, &st) < 0)
		return;
	printf("note: the hooks call %s, which is in a build folder. If that goes away nothing is captured or denied\n"
	       "      any more; make install puts hookd in a place that stays, and hookd init from there moves the "
	       "hooks.\n",
		hookc);
}

static int run(struct cli *cli)
{
	struct hook_work work = { .plan = install_plan_add, .wanted = install_agent_found, .mcp = cli_has(cli, "mcp") };
	struct telemetry telemetry;
	char hookc[FS_PATH];
	struct hook_changes c;
	struct err err = { 0 };
	struct import_result history = { 0 };
	bool imported = false;
	int r = find_hookc(cli, hookc), daemon;

	work.hookc = hookc;
	if (work.mcp && cli_has(cli, "project"))
		return cli_usage_error(cli, "--mcp is for the user, not for a project");
	if (r == 0 && cli_has(cli, "otel")) {
		remember_home(cli);
		r = plan_telemetry(cli, &telemetry);
		work.otel = &telemetry.otel;
	}
	if (r == 0)
		r = hooks_plan(cli, &work, &c);
	if (r != 0)
		return r;
	if (!c.n)
		return cli_fail("no agent that hookd can connect was found here; name one: hookd "
				"init --agent claude");
	r = hooks_agree(cli, &c, c.n == 1 ? "Change its settings as shown?" : "Change their settings as shown?");
	if (r != 0)
		return r < 0 ? EXIT_DONE : r;
	remember_home(cli);
	if (paths_make(&cli->paths, &err) < 0)
		return cli_fail("%s", err.text);
	r = hooks_apply(&c);
	if (r == 0 && work.otel)
		r = enable_http(cli);
	if (r != 0)
		return r;
	if (c.any)
		cli_note_change(cli, "init", STR_NONE);
	if (!cli_has(cli, "json"))
		hooks_print_done(&c);
	if (!cli_has(cli, "json"))
		warn_of_build_folder(hookc);
	fflush(stdout);
	daemon = start_daemon(cli, &err);
	if (daemon == 0 || daemon == -EEXIST) {
		if (work.otel)
			open_telemetry(cli, &telemetry);
		if (!cli_has(cli, "json"))
			puts("The daemon is running.");
		if (!cli_has(cli, "no-import"))
			imported = import_offer(cli, cli_has(cli, "yes"), cli_has(cli, "json"), &history);
		if (imported && !cli_has(cli, "json"))
			backtest_tell(cli);
	}
	if (cli_has(cli, "json"))
		r = print_json(&c, daemon, &err, &history);
	else
		print_next_steps(&c, imported);
	return c.failed ? c.failed : EXIT_DONE;
}

static const struct cmd_option init_options[] = {
	{ "agent", 'a', "NAME", true, "connect this agent (default: every agent that is found)" },
	{ "project", 0, NULL, false, "only in the current directory, in the file that is not checked in" },
	{ "all-events", 0, NULL, false, "also install hooks for events that hookd does not need by default" },
	{ "otel", 0, NULL, false,
		"also have Codex send its telemetry here; hookd then listens on 127.0.0.1, and the bearer token is in "
		"Codex's settings" },
	{ "mcp", 0, NULL, false,
		"also register hookd mcp with each agent, so that it can search and read what was captured; for the "
		"user "
		"only" },
	{ "no-import", 0, NULL, false, "do not offer to import the history that agents have written" },
	{ "dry-run", 'n', NULL, false, "show the change without making it" },
	{ "yes", 'y', NULL, false, "do not ask" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_init = {
	.name = "init",
	.args = "",
	.text = "Connect coding agents: put hookd's hooks into their own settings, and start the "
		"daemon.",
	.options = init_options,
	.run = run,
};
