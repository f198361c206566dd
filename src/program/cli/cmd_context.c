/* why, preview, context: what was added to conversations, what would be, and whether it is. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"

/* -- why --------------------------------------------------------------------------------------- */

static void print_injection(struct cli *cli, const struct json *i)
{
	const char *dim = cli->colour ? "\033[2m" : "", *off = cli->colour ? "\033[0m" : "";
	int64_t confidence = cell_int(i, "confidence_milli");
	bool is_code = !str_empty(cell_text(i, "code"));

	printf("%s" STR_FMT "  " STR_FMT "  " STR_FMT "  %lld tokens  confidence %.2f%s%s\n", dim,
		STR_ARG(cell_time(cli, i, "at_us")), STR_ARG(cell_text(i, "event")),
		STR_ARG(is_code ? STR("code") : cell_text(i, "memory")), (long long)cell_int(i, "tokens"),
		(double)confidence / 1000, json_get(i, STR("used_us")) ? "  used afterwards" : "", off);
	printf("    ");
	if (!is_code && str_empty(cell_text(i, "text")))
		printf("(forgotten since)");
	cli_print_safe(cell_text(i, is_code ? "code" : "text"));
	putchar('\n');
	if (!str_empty(cell_text(i, "prompt"))) {
		printf("    %sfor: ", dim);
		cli_print_safe(cell_text(i, "prompt"));
		printf("%s\n", off);
	}
}

static int run_why(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(8));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	if (cli->nargs)
		jw_field_str(&w, "session", str_of(cli->args[0]));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "why", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (!json_first(json_get(result, STR("injections"))))
		puts("nothing was added to a conversation here");
	json_each(i, json_get(result, STR("injections")))
		print_injection(cli, i);
	return EXIT_DONE;
}

static const struct cmd_option why_options[] = {
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_why = {
	.name = "why",
	.args = "[SESSION]",
	.text = "Show what hookd added to conversations, why, and at what price.",
	.max_args = 1,
	.options = why_options,
	.run = run_why,
};

/* -- preview ----------------------------------------------------------------------------------- */

static int run_preview(struct cli *cli)
{
	static const char *const texts[] = { "event", "agent", "prompt", "file", "source", "session" };
	struct buf b = BUF_INIT(KIB(256));
	struct json_writer w = JSON_WRITER(&b);
	const char *project = cli_value(cli, "project", NULL);
	char here[PATH_MAX];
	struct json *result;

	jw_object(&w);
	for (size_t i = 0; i < countof(texts); i++)
		jw_field_str(&w, texts[i], str_of(cli_value(cli, texts[i], NULL)));
	if (project)
		jw_field_str(&w, "project", cli_project_ref(cli, project));
	else if (getcwd(here, sizeof here))
		jw_field_str(&w, "project", str_of(here));
	jw_end_object(&w);
	result = cli_ask(cli, "preview", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	if (str_empty(cell_text(result, "text"))) {
		puts("nothing would be added");
		return EXIT_DONE;
	}
	fwrite(cell_text(result, "text").p, 1, cell_text(result, "text").n, stdout);
	printf("\n(%lld tokens)\n", (long long)cell_int(result, "tokens"));
	return EXIT_DONE;
}

static const struct cmd_option preview_options[] = {
	{ "event", 'e', "NAME", false, "SessionStart, UserPromptSubmit (the default) or PostToolUse" },
	{ "agent", 0, "NAME", false, "for this agent" },
	{ "prompt", 0, "TEXT", false, "the prompt" },
	{ "file", 'f', "PATH", false, "the file that was read or changed" },
	{ "source", 0, "WORD", false, "how the session starts: startup, resume, clear or compact" },
	{ "session", 's', "ID", false, "in this session, which is not given twice what it has" },
	{ "project", 'p', "PATH", false, "in this directory or project (default: here)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_preview = {
	.name = "preview",
	.args = "",
	.text = "Show what hookd would add to a conversation.",
	.options = preview_options,
	.run = run_preview,
};

/* -- context ----------------------------------------------------------------------------------- */

static int list_switches(struct cli *cli)
{
	struct json *result = cli_ask(cli, "context_switches", STR("{}"));

	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("context is %s\n",
		json_true(json_get(result, STR("on"))) ? "on" : "off everywhere: context.enabled is false");
	json_each(row, json_get(result, STR("off"))) {
		printf("off for the " STR_FMT " ", STR_ARG(cell_text(row, "what")));
		cli_print_safe(cell_text(row, "name"));
		putchar('\n');
	}
	return EXIT_DONE;
}

static int set_switch(struct cli *cli, bool on)
{
	struct buf b = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(&b);
	const char *session = cli_value(cli, "session", NULL), *project = cli_value(cli, "project", NULL);
	char here[PATH_MAX];
	struct json *result;
	bool of_session = session != NULL;

	jw_object(&w);
	jw_field_bool(&w, "on", on);
	if (session)
		jw_field_str(&w, "session", str_of(session));
	if (project)
		jw_field_str(&w, "project", cli_project_ref(cli, project));
	else if (!session && getcwd(here, sizeof here))
		jw_field_str(&w, "project", str_of(here));
	jw_end_object(&w);
	if (cli_has(cli, "dry-run")) {
		printf("would switch context %s\n", on ? "on" : "off");
		buf_release(&b);
		return EXIT_DONE;
	}
	result = cli_ask(cli, "context_switch", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("context is %s for the %s ", on ? "on" : "off", of_session ? "session" : "project");
	cli_print_safe(cell_text(result, of_session ? "session" : "project"));
	putchar('\n');
	return EXIT_DONE;
}

static int run_context(struct cli *cli)
{
	if (!cli->nargs)
		return list_switches(cli);
	if (strcmp(cli->args[0], "on") == 0 || strcmp(cli->args[0], "off") == 0)
		return set_switch(cli, cli->args[0][1] == 'n');
	return cli_usage_error(cli, "'context' takes nothing, 'on' or 'off'");
}

static const struct cmd_option context_options[] = {
	{ "session", 's', "ID", false, "for this session" },
	{ "project", 'p', "NAME", false, "for this project (default: that of this directory)" },
	{ "dry-run", 0, NULL, false, "only say what would be switched" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_context = {
	.name = "context",
	.args = "[on|off]",
	.text = "Switch what hookd adds to conversations on or off, for a session or a project; or show for which it "
		"is off.",
	.max_args = 1,
	.options = context_options,
	.run = run_context,
};
