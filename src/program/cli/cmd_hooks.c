/* hooks: the user's own hooks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"
#include "hooks/hooks.h"

/* Where the command was called, as the sources want it. */
static struct hooks_where here(struct cli *cli)
{
	char *cwd = getcwd(NULL, 0);
	struct hooks_where w = { .agent = cli_value(cli, "agent", NULL),
		.home = cli->paths.home,
		.user_config = cli->paths.config,
		.state = cli->paths.state,
		.cwd = cwd ? arena_cstr(&cli->arena, str_of(cwd)) : NULL };

	free(cwd);
	return w;
}

static str params_here(struct cli *cli)
{
	struct hooks_where where = here(cli);
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	jw_field_str(&w, "cwd", str_of(where.cwd));
	jw_field_str(&w, "agent", str_of(where.agent));
	jw_end_object(&w);
	text = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* -- list -------------------------------------------------------------------------------------- */

static str last_run(struct cli *cli, const struct json *runs, str id)
{
	json_each(run, runs)
		if (str_eq(json_str(json_get(run, STR("hookId"))), id)) {
			bool late = json_true(json_get(run, STR("timedOut")));
			char age[CLOCK_TEXT];

			clock_format_age(clock_wall_us() - cell_int(run, "at_us"), age);
			return arena_strf(&cli->arena, "%s ago, %s%lld", age, late ? "too slow, " : "exit ",
				(long long)cell_int(run, "exitCode"));
		}
	return STR("-");
}

static str what_runs(struct cli *cli, const struct json *hook)
{
	str name = cell_text(hook, "name"), command = cell_text(hook, "command");

	if (str_empty(command))
		command = str_empty(cell_text(hook, "url")) ? cell_text(hook, "prompt") : cell_text(hook, "url");
	return str_empty(name) ? command
			       : arena_strf(&cli->arena, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(command));
}

static void print_problems(const struct json *sources)
{
	json_each(source, sources)
		json_each(p, json_get(source, STR("problems")))
			cli_fail(STR_FMT ":%lld:%lld: %s" STR_FMT, STR_ARG(cell_text(source, "path")),
				(long long)cell_int(p, "line"), (long long)cell_int(p, "col"),
				json_true(json_get(p, STR("error"))) ? "" : "hint: ", STR_ARG(cell_text(p, "text")));
}

static int list(struct cli *cli)
{
	struct json *result = cli_ask(cli, "hooks", params_here(cli)), *history;
	struct table t;

	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	history = cli_ask(cli, "hooks_history", STR_NONE);
	print_problems(json_get(result, STR("sources")));
	if (json_get(result, STR("trouble")))
		cli_fail(STR_FMT, STR_ARG(cell_text(result, "trouble")));
	if (!json_first(json_get(result, STR("hooks")))) {
		puts("no hooks are configured; for an example, run: hookd hooks new");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 7);
	table_add(&t,
		(str[]){ STR("ID"), STR("EVENT"), STR("MATCHER"), STR("STATE"), STR("LAST RUN"), STR("FROM"),
			STR("HOOK") });
	json_each(h, json_get(result, STR("hooks")))
		table_add(&t,
			(str[]){ cell_text(h, "hookId"), cell_text(h, "event"), cell_text(h, "matcher"),
				cell_text(h, "state"),
				last_run(cli, json_get(history, STR("runs")), json_str(json_get(h, STR("hookId")))),
				arena_strf(&cli->arena, STR_FMT ":%lld", STR_ARG(cell_text(h, "source")),
					(long long)cell_int(h, "line")),
				what_runs(cli, h) });
	table_print(&t, cli->colour);
	json_each(h, json_get(result, STR("hooks")))
		if (cell_text(h, "why").n)
			cli_fail(STR_FMT " does not run: " STR_FMT, STR_ARG(cell_text(h, "hookId")),
				STR_ARG(cell_text(h, "why")));
	return EXIT_DONE;
}

/* -- validate ---------------------------------------------------------------------------------- */

static void write_source(struct json_writer *w, const struct hook_source *source)
{
	jw_object(w);
	jw_field_str(w, "path", source->path);
	jw_field_bool(w, "valid", !source->errors);
	hooks_write_problems(w, source);
	jw_end_object(w);
}

static unsigned print_source(const struct hook_source *source)
{
	for (const struct hook_problem *p = source->problems; p; p = p->next)
		cli_fail(STR_FMT ":%u:%u: %s" STR_FMT, STR_ARG(source->path), p->line, p->col,
			p->error ? "" : "hint: ", STR_ARG(p->text));
	if (source->count > HOOK_PROBLEMS_MAX)
		cli_fail(STR_FMT ": and %u more", STR_ARG(source->path), source->count - HOOK_PROBLEMS_MAX);
	if (!source->problems)
		printf("%.*s: fine\n", STR_ARG(source->path));
	return source->errors;
}

static int validate(struct cli *cli)
{
	struct hooks_where where = here(cli);
	struct buf b = BUF_INIT(MIB(8));
	struct json_writer w = JSON_WRITER(&b);
	unsigned errors = 0;
	struct err err = { 0 };

	jw_array(&w);
	for (int i = 1; i < MAX(cli->nargs, 2); i++) {
		struct hook_set *s = cli->nargs > 1 ? hooks_load_file(cli->args[i], &err) : hooks_load(&where);

		if (!s) {
			buf_release(&b);
			return cli_fail("%s", err.text);
		}
		for (const struct hook_source *source = s->sources; source; source = source->next) {
			write_source(&w, source);
			errors += cli_has(cli, "json") ? source->errors : print_source(source);
		}
		if (s->trouble.text[0])
			cli_fail("%s", s->trouble.text);
		hook_set_unref(s);
	}
	jw_end_array(&w);
	if (cli_has(cli, "json"))
		puts(b.p);
	buf_release(&b);
	return errors ? EXIT_FAILED : EXIT_DONE;
}

/* -- run --------------------------------------------------------------------------------------- */

static str trigger_params(struct cli *cli, enum event_kind kind, const struct json *input)
{
	struct hooks_where where = here(cli);
	struct buf b = BUF_INIT(LIMIT_RPC_LINE);
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	jw_field_str(&w, "type", str_of(event_kinds[kind].name));
	jw_field_str(&w, "cwd", str_of(where.cwd));
	jw_field_str(&w, "agent", str_of(where.agent));
	jw_key(&w, "payload");
	jw_object(&w);
	if (event_kinds[kind].flags & EVENT_IS_TOOL) {
		jw_field_str(&w, "toolName", str_of(cli_value(cli, "tool", "Bash")));
		jw_key(&w, "input");
		if (input)
			jw_value(&w, input);
		else
			jw_raw(&w, STR("{}"));
	} else {
		json_each(m, input) {
			jw_key_str(&w, m->key);
			jw_value(&w, m);
		}
	}
	jw_end_object(&w);
	jw_end_object(&w);
	text = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* What would match, without a daemon and without running anything. */
static int run_dry(struct cli *cli, enum event_kind kind, const struct json *input)
{
	struct hooks_where where = here(cli);
	struct hook_set *s = hooks_load(&where);
	struct event e = { .kind = kind, .tool_input = input, .payload = input };
	struct hook *list[HOOKS_MAX];
	bool tool = event_kinds[kind].flags & EVENT_IS_TOOL;
	unsigned n;

	if (tool) {
		const struct agent *claude = agent_find(STR("claude"));

		e.tool_name = str_of(cli_value(cli, "tool", "Bash"));
		e.tool_class = str_starts(e.tool_name, STR("mcp__")) ? TOOL_MCP : TOOL_OTHER;
		for (const struct agent_tool *row = claude->tools; row->native; row++)
			if (str_eq(e.tool_name, str_of(row->native)))
				e.tool_class = row->class;
		e.command = json_str(json_get(input, STR("command")));
		e.file_path = json_str(json_get(input, STR("file_path")));
	}
	n = hooks_match(s, &e, &cli->arena, list);
	for (unsigned i = 0; i < n; i++) {
		printf("%s  %s  ", list[i]->id,
			list[i]->state == HOOK_LIVE ? "would run" : hook_state_names[list[i]->state]);
		cli_print_safe(str_is_set(list[i]->name) ? list[i]->name : list[i]->command);
		putchar('\n');
	}
	printf("%u of %u hooks match; to run them: hookd hooks run %s --yes\n", n, s->count, event_kinds[kind].name);
	hook_set_unref(s);
	return EXIT_DONE;
}

static int run_event(struct cli *cli)
{
	enum event_kind kind = event_kind_by_name(str_of(cli->args[1]));
	struct json *input = NULL, *result;
	struct err err = { 0 };

	if (kind == EVENT_UNKNOWN)
		return cli_fail("there is no event '%s'", cli->args[1]);
	if (cli_value(cli, "input", NULL) &&
		(json_parse(&cli->arena, str_of(cli_value(cli, "input", "")), 0, &input, &err) < 0 ||
			input->type != JSON_OBJECT))
		return cli_fail("--input must be a JSON object%s%s", err.text[0] ? ": " : "", err.text);
	if (!cli_has(cli, "yes"))
		return run_dry(cli, kind, input);
	cli->answer_ms = (HOOK_TIMEOUT_MAX_S + 10) * 1000;
	result = cli_ask(cli, "trigger", trigger_params(cli, kind, input));
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	json_each(r, json_get(result, STR("results"))) {
		printf("%.*s  %.*s  ", STR_ARG(cell_text(r, "hookId")), STR_ARG(cell_text(r, "decision")));
		cli_print_safe(json_str(json_get(r, STR("error"))));
		putchar('\n');
	}
	printf("%s\n", json_true(json_get(result, STR("allowed"))) ? "allowed" : "not allowed");
	return EXIT_DONE;
}

/* -- new --------------------------------------------------------------------------------------- */

static const char example[] =
	"#!/bin/sh\n"
	"# A hook of hookd. It gets the event as JSON on stdin and the most useful parts as variables:\n"
	"#   TOOL_NAME, TOOL_INPUT (JSON), COMMAND, FILE_PATH, SESSION_ID, CLAUDE_PROJECT_DIR\n"
	"# The values come from the agent: always write them in double quotes.\n"
	"#\n"
	"# exit 0            nothing to say against it\n"
	"# exit 2            block; the text on stderr is the reason\n"
	"# JSON on stdout    more than that, for example\n"
	"#   {\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"ask\",\n"
	"#     \"permissionDecisionReason\": \"why\"}}\n"
	"\n"
	"case \"$COMMAND\" in\n"
	"*'git push'*'--force'*)\n"
	"\techo 'a forced push needs a person' >&2\n"
	"\texit 2\n"
	"\t;;\n"
	"esac\n"
	"exit 0\n";

static int new_hook(struct cli *cli)
{
	const char *path = cli->nargs > 1 ? cli->args[1] : "hook.sh";
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0755), r;
	char *real;

	if (fd < 0)
		return cli_fail("%s: %s", path, strerror(errno));
	r = fs_write_all(fd, example, sizeof example - 1);
	close(fd);
	if (r < 0)
		return cli_fail("%s: %s", path, strerror(-r));
	real = realpath(path, NULL);
	printf("%s has been written. To have it run before every command, put this into %s:\n\n"
	       "  \"hooks\": {\n"
	       "    \"PreToolUse\": [\n"
	       "      { \"matcher\": \"Bash\", \"hooks\": [ { \"type\": \"command\", \"command\": ",
		path, cli->paths.config);
	{
		struct buf b = BUF_INIT(KIB(32));

		json_write_string(&b, str_of(real ? real : path));
		printf("%s, \"timeout\": 5 } ] }\n    ]\n  }\n\nthen: hookd hooks validate && hookd hooks reload\n",
			b.p);
		buf_release(&b);
	}
	free(real);
	return EXIT_DONE;
}

/* -- enable, disable --------------------------------------------------------------------------- */

static int toggle(struct cli *cli, bool enabled)
{
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r = cli_need_owner(cli, enabled ? "enabling a hook" : "disabling a hook");

	if (r != EXIT_DONE)
		return r;
	jw_object(&w);
	jw_field_str(&w, "hookId", str_of(cli->args[1]));
	jw_field_bool(&w, "enabled", enabled);
	jw_end_object(&w);
	result = cli_ask(cli, "hooks_toggle", buf_str(&b));
	buf_release(&b);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("%s is %s for new sessions; for active ones as well after: hookd hooks reload\n", cli->args[1],
		enabled ? "enabled" : "disabled");
	return EXIT_DONE;
}

static int enable(struct cli *cli)
{
	return toggle(cli, true);
}

static int disable(struct cli *cli)
{
	return toggle(cli, false);
}

/* -- reload, history --------------------------------------------------------------------------- */

static int reload(struct cli *cli)
{
	struct json *result;
	int64_t broken;
	int r = cli_need_owner(cli, "taking up changed hooks");

	if (r != EXIT_DONE)
		return r;
	result = cli_ask(cli, "hooks_reload", STR_NONE);
	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	printf("%lld sessions have new hooks\n", (long long)cell_int(result, "sessions"));
	broken = cell_int(result, "broken");
	return broken
		? cli_fail(
			  "%lld files are invalid; their last valid version stays in effect; see: hookd hooks validate",
			  (long long)broken)
		: EXIT_DONE;
}

static int history(struct cli *cli)
{
	struct json *result = cli_ask(cli, "hooks_history", STR_NONE);
	struct table t;

	if (!result)
		return EXIT_FAILED;
	if (cli_has(cli, "json"))
		return cli_print_json(result);
	table_init(&t, &cli->arena, 7);
	table_add(&t,
		(str[]){ STR("WHEN"), STR("HOOK"), STR("EVENT"), STR("EXIT"), STR("MS"), STR("DECISION"),
			STR("OUTPUT") });
	json_each(r, json_get(result, STR("runs"))) {
		str name = cell_text(r, "name"), error = cell_text(r, "error"), err = cell_text(r, "stderr");

		table_add(&t,
			(str[]){ cell_time(cli, r, "at_us"), str_empty(name) ? cell_text(r, "hookId") : name,
				cell_text(r, "event"), cell_number(cli, r, "exitCode"), cell_number(cli, r, "duration"),
				cell_text(r, "decision"),
				!str_empty(error)         ? error
					: !str_empty(err) ? err
							  : cell_text(r, "stdout") });
	}
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

/* -- which ------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int min_args, max_args; /* with the name itself */
	int (*run)(struct cli *cli);
	const char *needs;
} actions[] = {
	{ "list", 1, 1, list, "no argument" },
	{ "validate", 1, ARGS_MAX, validate, "files" },
	{ "run", 2, 2, run_event, "the name of an event" },
	{ "enable", 2, 2, enable, "the id of a hook" },
	{ "disable", 2, 2, disable, "the id of a hook" },
	{ "new", 1, 2, new_hook, "at most one file" },
	{ "reload", 1, 1, reload, "no argument" },
	{ "history", 1, 1, history, "no argument" },
};

static int run(struct cli *cli)
{
	const char *name = cli->nargs ? cli->args[0] : "list";

	for (size_t i = 0; i < countof(actions); i++) {
		if (strcmp(name, actions[i].name) != 0)
			continue;
		if (cli->nargs && (cli->nargs < actions[i].min_args || cli->nargs > actions[i].max_args))
			return cli_usage_error(cli, "hooks %s takes %s", name, actions[i].needs);
		return actions[i].run(cli);
	}
	return cli_usage_error(cli, "there is no 'hooks %s'", name);
}

static const struct cmd_option hooks_options[] = {
	{ "agent", 0, "NAME", false, "only the hooks that run for this agent (default: all files)" },
	{ "tool", 0, "NAME", false, "run: the tool of the event (Bash)" },
	{ "input", 0, "JSON", false, "run: the tool's input, or the members of the event" },
	{ "yes", 'y', NULL, false, "run: actually run what matches" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_hooks = {
	.name = "hooks",
	.args = "[list | validate [FILE…] | run EVENT | enable ID | disable ID | new [FILE] | reload | history]",
	.text = "Show, check, try and reload your own hooks: programs that run at events.",
	.max_args = ARGS_MAX,
	.options = hooks_options,
	.run = run,
};
