/* guard, rules: what the rules say about a command, without a daemon and without running anything.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/backtest.h"
#include "guard/guard.h"

enum { LINE_MAX_BYTES = 16 << 20 };

static struct guard_policy *load_policy(struct cli *cli, bool complain, unsigned *ret_problems)
{
	struct guard_problem *problems = NULL;
	struct guard_policy *p = guard_policy_load(cli->paths.config, &problems);
	unsigned n = 0;

	for (const struct guard_problem *q = problems; q; q = q->next, n++)
		if (complain)
			cli_fail("%s:%u:%u: %s", cli->paths.config, q->err.line, q->err.col,
				q->err.text);
	guard_problems_free(problems);
	if (ret_problems)
		*ret_problems = n;
	return p;
}

/* -- check: lines of JSON in, lines of JSON out ----------------------------------------------- */

static const struct guard_finding *strictest(const struct guard_report *r)
{
	const struct guard_finding *best = NULL;

	for (const struct guard_finding *f = r->findings; f; f = f->next)
		if (!f->observed && !f->lowered && (!best || f->action > best->action))
			best = f;
	return best;
}

static str tool_text(const struct json *line, const char *name)
{
	return json_str(json_get(line, str_of(name)));
}

/* What a tool other than the shell is: {"tool": "Write", "input": {"file_path": …}}. */
static enum tool_class class_of(str tool)
{
	if (str_eq_name(tool, STR("Write")) || str_eq_name(tool, STR("Edit")) ||
		str_eq_name(tool, STR("MultiEdit")) || str_eq_name(tool, STR("write_file")) ||
		str_eq_name(tool, STR("replace")) || str_eq_name(tool, STR("NotebookEdit")) ||
		str_eq_name(tool, STR("apply_patch")))
		return TOOL_WRITE;
	if (str_eq_name(tool, STR("Read")) || str_eq_name(tool, STR("read_file")))
		return TOOL_READ;
	if (str_starts(tool, STR("mcp__")))
		return TOOL_MCP;
	return str_is_set(tool) && !str_eq_name(tool, STR("Bash")) &&
			       !str_eq_name(tool, STR("shell")) &&
			       !str_eq_name(tool, STR("run_shell_command"))
		       ? TOOL_OTHER
		       : TOOL_SHELL;
}

static void check_line(struct guard_policy *policy, struct arena *a, str text, struct buf *out)
{
	struct json_writer w = JSON_WRITER(out);
	struct guard_report report = { 0 };
	struct guard_context c = { 0 };
	struct event e = { .kind = EVENT_PRE_TOOL_USE };
	struct verdict v = { 0 };
	struct json *line;
	struct err err;

	jw_object(&w);
	if (json_parse(a, text, JSON_LENIENT_UTF8, &line, &err) < 0) {
		jw_field_str(&w, "decision", STR("ask"));
		jw_field_str(&w, "rule", STR("hookd.unread"));
		jw_field_str(&w, "reason", str_of(err.text));
		jw_end_object(&w);
		buf_add_char(out, '\n');
		return;
	}
	c.cwd = tool_text(line, "cwd");
	c.home = tool_text(line, "home");
	e.tool_name = tool_text(line, "tool");
	e.tool_input = json_get(line, STR("input"));
	e.permission_mode = tool_text(line, "permission_mode");
	e.tool_class = class_of(e.tool_name);
	e.command = tool_text(line, "command");
	if (!str_is_set(e.command))
		e.command = json_str(json_get(e.tool_input, STR("command")));
	e.file_path = json_str(json_get(e.tool_input, STR("file_path")));
	guard_decide(policy, &c, &e, a, &v, &report);
	if (json_get(line, STR("id"))) {
		jw_key(&w, "id");
		jw_value(&w, json_get(line, STR("id")));
	}
	jw_field_str(&w, "decision",
		v.action > VERDICT_ALLOW ? str_of(verdict_action_names[v.action]) : STR("allow"));
	jw_key(&w, "rule");
	if (v.action > VERDICT_ALLOW)
		jw_str(&w, v.rule);
	else
		jw_null(&w);
	jw_field_str(&w, "reason", v.action > VERDICT_ALLOW ? v.reason : STR(""));
	jw_end_object(&w);
	buf_add_char(out, '\n');
}

static int guard_check(struct cli *cli)
{
	_cleanup_(guard_policy_unrefp) struct guard_policy *policy = load_policy(cli, true, NULL);
	struct buf out = BUF_INIT(MIB(64));
	struct arena a;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	arena_init(&a);
	while ((n = getline(&line, &cap, stdin)) > 0) {
		str text = str_trim(str_n(line, (size_t)n));

		if (!text.n || n > LINE_MAX_BYTES)
			continue;
		buf_clear(&out);
		check_line(policy, &a, text, &out);
		fwrite(out.p, 1, out.len, stdout);
		arena_reset(&a);
	}
	free(line);
	arena_release(&a);
	buf_release(&out);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* -- explain ---------------------------------------------------------------------------------- */

static str command_of_args(struct cli *cli)
{
	struct buf b = BUF_INIT(MIB(1));
	str s;

	for (int i = 1; i < cli->nargs; i++) {
		if (i > 1)
			buf_add_char(&b, ' ');
		buf_add_str(&b, str_of(cli->args[i]));
	}
	s = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return s;
}

static void write_explanation(
	struct json_writer *w, enum verdict_action action, const struct guard_report *r)
{
	jw_object(w);
	jw_field_str(w, "decision",
		action > VERDICT_ALLOW ? str_of(verdict_action_names[action]) : STR("allow"));
	jw_key(w, "commands");
	jw_array(w);
	for (const struct guard_step *s = r->steps; s; s = s->next) {
		jw_object(w);
		jw_field_str(w, "argv", s->argv);
		jw_field_str(w, "note", s->note);
		jw_field_int(w, "depth", s->depth);
		jw_field_int(w, "begin", s->begin);
		jw_field_int(w, "end", s->end);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_key(w, "findings");
	jw_array(w);
	for (const struct guard_finding *f = r->findings; f; f = f->next) {
		jw_object(w);
		jw_field_str(w, "rule", f->rule);
		jw_field_str(w, "decision", str_of(verdict_action_names[f->action]));
		jw_field_str(w, "reason", f->reason);
		jw_field_str(w, "argv", f->argv);
		jw_field_int(w, "begin", f->begin);
		jw_field_int(w, "end", f->end);
		jw_field_bool(w, "observed", f->observed);
		jw_field_bool(w, "lowered", f->lowered);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_field_int(w, "cost", r->cost);
	jw_end_object(w);
}

static int guard_explain(struct cli *cli)
{
	_cleanup_(guard_policy_unrefp) struct guard_policy *policy = load_policy(cli, true, NULL);
	const char *home = getenv("HOME");
	char here[FS_PATH];
	struct guard_report report = { 0 };
	struct guard_context c = { .explain = true, .home = str_of(home) };
	enum verdict_action action;
	const struct guard_finding *worst;

	if (cli->nargs < 2)
		return cli_usage_error(cli, "a command is missing");
	c.cwd = str_of(cli_value(cli, "cwd", getcwd(here, sizeof(here)) ? here : "/"));
	action = guard_command(policy, &c, command_of_args(cli), &cli->arena, &report);
	if (cli_has(cli, "json")) {
		struct buf out = BUF_INIT(MIB(16));
		struct json_writer w = JSON_WRITER(&out);

		write_explanation(&w, action, &report);
		printf(STR_FMT "\n", STR_ARG(buf_str(&out)));
		buf_release(&out);
		return EXIT_DONE;
	}
	for (const struct guard_step *s = report.steps; s; s = s->next) {
		printf("%*s", (int)(2 * s->depth), "");
		cli_print_safe(s->argv);
		if (s->note.n) {
			printf("  [");
			cli_print_safe(s->note);
			printf("]");
		}
		printf("\n");
		for (const struct guard_finding *f = report.findings; f; f = f->next)
			if (str_eq(f->argv, s->argv)) {
				printf("%*s%s ", (int)(2 * s->depth + 2), "",
					verdict_action_names[f->action]);
				cli_print_safe(f->reason);
				printf("%s\n", f->observed  ? " (only observed)"
					       : f->lowered ? " (allowed by a rule of yours)"
							    : "");
			}
	}
	worst = strictest(&report);
	printf("%s", action > VERDICT_ALLOW ? verdict_action_names[action] : "allow");
	if (worst) {
		printf(": ");
		cli_print_safe(worst->reason);
	}
	printf("\n");
	return EXIT_DONE;
}

/* -- rules ------------------------------------------------------------------------------------ */

/* How often each rule had something to say; NULL without a daemon, which is not started for it. */
static const struct json *ask_counts(struct cli *cli)
{
	struct json *result = NULL;
	struct err err = { 0 };

	return cli->paths.state[0] && cli_call(cli, false, "rule_counts", STR_NONE, &result, &err) == 0
		? json_get(result, STR("rules"))
		: NULL;
}

static const struct json *counts_of(const struct json *counts, str rule)
{
	json_each(c, counts)
		if (str_eq(cell_text(c, "rule"), rule))
			return c;
	return NULL;
}

static void write_counts(struct json_writer *w, const struct json *counts, str rule)
{
	const struct json *c = counts_of(counts, rule);

	jw_field_int(w, "fired", c ? cell_int(c, "fired") : 0);
	if (!c)
		return;
	jw_field_int(w, "denied", cell_int(c, "denied"));
	jw_field_int(w, "ran_anyway", cell_int(c, "ran_anyway"));
	jw_field_int(w, "last_us", cell_int(c, "last_us"));
}

static void rules_json(const struct guard_policy *policy, const struct json *counts, struct json_writer *w)
{
	const struct guard_user_rule *user;
	size_t n = guard_policy_rules(policy, &user);

	jw_object(w);
	jw_key(w, "rules");
	jw_array(w);
	for (const struct guard_rule *r = guard_rules; r->name; r++) {
		jw_object(w);
		jw_field_str(w, "name", str_of(r->name));
		jw_field_str(w, "from", STR("built-in"));
		jw_field_str(w, "text", str_of(r->text));
		jw_field_str(w, "advice", str_of(r->advice));
		jw_field_str(w, "example", str_of(r->example));
		jw_field_str(w, "mode",
			guard_policy_disabled(policy, str_of(r->name)) ? STR("disabled")
			: guard_policy_observes(policy, str_of(r->name)) ? STR("observe")
								       : STR("enforce"));
		write_counts(w, counts, str_of(r->name));
		jw_end_object(w);
	}
	for (size_t i = 0; i < n; i++) {
		jw_object(w);
		jw_field_str(w, "name", user[i].name);
		jw_field_str(w, "from", STR("user"));
		jw_field_str(w, "text", user[i].message);
		jw_field_str(w, "decision", str_of(verdict_action_names[user[i].decision]));
		jw_field_str(w, "override", user[i].override);
		jw_field_str(w, "mode",
			user[i].observe || guard_policy_observes(policy, user[i].name) ? STR("observe")
									 : STR("enforce"));
		jw_field_int(w, "line", user[i].line);
		jw_key(w, "rule");
		jw_raw(w, user[i].source);
		write_counts(w, counts, user[i].name);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
}

static int run_rules(struct cli *cli)
{
	_cleanup_(guard_policy_unrefp) struct guard_policy *policy = load_policy(cli, true, NULL);
	const struct guard_user_rule *user;
	const struct json *counts = ask_counts(cli);
	size_t n = guard_policy_rules(policy, &user);
	struct table t;

	if (cli_has(cli, "json")) {
		struct buf out = BUF_INIT(MIB(4));
		struct json_writer w = JSON_WRITER(&out);

		rules_json(policy, counts, &w);
		printf(STR_FMT "\n", STR_ARG(buf_str(&out)));
		buf_release(&out);
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 5);
	t.firm = 4;
	table_add(&t, (str[]){ STR("RULE"), STR("MODE"), STR("FIRED"), STR("LAST"), STR("WHAT") });
	for (const struct guard_rule *r = guard_rules; r->name; r++) {
		const struct json *c = counts_of(counts, str_of(r->name));
		str mode = guard_policy_disabled(policy, str_of(r->name)) ? STR("disabled")
			: guard_policy_observes(policy, str_of(r->name)) ? STR("observe")
									  : STR("enforce");

		table_add(&t, (str[]){ str_of(r->name), mode, c ? cell_number(cli, c, "fired") : STR(""),
				      c ? cell_age(cli, c, "last_us") : STR(""), str_of(r->text) });
	}
	for (size_t i = 0; i < n; i++) {
		const struct json *c = counts_of(counts, user[i].name);
		str what = user[i].message.n ? user[i].message
					     : arena_strf(&cli->arena, "%s (yours)",
						verdict_action_names[user[i].decision]);

		table_add(&t, (str[]){ user[i].name, user[i].observe ? STR("observe") : STR("enforce"),
				      c ? cell_number(cli, c, "fired") : STR(""),
				      c ? cell_age(cli, c, "last_us") : STR(""), what });
	}
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static int guard_validate(struct cli *cli)
{
	unsigned problems;
	_cleanup_(guard_policy_unrefp) struct guard_policy *policy =
		load_policy(cli, true, &problems);
	const struct guard_user_rule *user;
	size_t n = guard_policy_rules(policy, &user);

	if (problems)
		return EXIT_FAILED;
	printf("%zu rules of your own, no problems\n", n);
	return EXIT_DONE;
}

static int run_guard(struct cli *cli)
{
	if (strcmp(cli->args[0], "check") == 0)
		return guard_check(cli);
	if (strcmp(cli->args[0], "explain") == 0)
		return guard_explain(cli);
	if (strcmp(cli->args[0], "validate") == 0)
		return guard_validate(cli);
	if (strcmp(cli->args[0], "backtest") == 0)
		return backtest_run(cli);
	return cli_usage_error(cli, "guard knows check, explain, validate and backtest");
}

static const struct cmd_option guard_options[] = {
	{ "cwd", 0, "DIR", false, "explain: where the command would run (default: here)" },
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_guard = {
	.name = "guard",
	.args = "check | explain COMMAND | validate | backtest",
	.text = "What the rules say about commands: check reads JSON lines, explain shows what was understood, "
		"validate checks your rules, backtest tries them on what was captured.",
	.flags = CMD_ANYWHERE,
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = guard_options,
	.run = run_guard,
};

static const struct cmd_option rules_options[] = {
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_rules = {
	.name = "rules",
	.args = "",
	.text = "List the guard's rules, built-in and yours.",
	.flags = CMD_ANYWHERE,
	.options = rules_options,
	.run = run_rules,
};
