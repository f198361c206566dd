/* guard: what the rules decide about a command, without running anything. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "agents/agents.h"
#include "cli/backtest.h"
#include "cli/policy.h"
#include "wire/wire.h"

enum { LINE_MAX_BYTES = 16 << 20 };

/* -- check: lines of JSON in, lines of JSON out ----------------------------------------------- */

static const struct guard_finding *strictest(const struct guard_report *r)
{
	const struct guard_finding *best = NULL;

	for (const struct guard_finding *f = r->findings; f; f = f->next)
		if (!f->observed && !f->lowered && (!best || f->action > best->action))
			best = f;
	return best;
}

/* What production does with a hook: the agent's adapter reads the payload, one guard judges it. Rows may name another
 * home; a guard is reused while it stays the same. */
struct checking {
	struct cli *cli;
	struct policy_view view;
	struct arena arena;
	struct guard *guard;
	str home; /* of the guard */
	char room[FS_PATH];
};

static void use_home(struct checking *k, str home)
{
	if (k->guard && str_eq(home, k->home))
		return;
	guard_free(k->guard);
	snprintf(k->room, sizeof k->room, STR_FMT, STR_ARG(str_head(home, sizeof k->room - 1)));
	k->home = str_of(k->room);
	k->guard = guard_new_with(&k->cli->paths, home.n ? k->room : NULL, k->view.in_force);
}

static void copy_member(struct json_writer *w, const char *name, const struct json *line, const char *from)
{
	const struct json *v = json_get(line, str_of(from));

	if (!v)
		return;
	jw_key(w, name);
	jw_value(w, v);
}

/* A row as the payload of a hook. */
static str payload_of(struct arena *a, const struct json *line)
{
	struct buf b = BUF_INIT(MIB(64));
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	jw_field_str(&w, "session_id", STR("guard-check"));
	jw_field_str(&w, "hook_event_name", STR("PreToolUse"));
	copy_member(&w, "cwd", line, "cwd");
	copy_member(&w, "permission_mode", line, "permission_mode");
	if (json_get(line, STR("tool")))
		copy_member(&w, "tool_name", line, "tool");
	else
		jw_field_str(&w, "tool_name", STR("Bash"));
	if (json_get(line, STR("input"))) {
		copy_member(&w, "tool_input", line, "input");
	} else {
		jw_key(&w, "tool_input");
		jw_object(&w);
		copy_member(&w, "command", line, "command");
		jw_end_object(&w);
	}
	jw_end_object(&w);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* A row without an agent is read by the first that knows the tool. */
static void parse_row(struct arena *a, const struct json *line, struct event *ret)
{
	str agent = json_str(json_get(line, STR("agent")));
	struct wire_hook hook = { .agent = agent.n ? agent : STR("claude"),
		.event = STR("PreToolUse"),
		.payload = payload_of(a, line) };

	agent_parse(agent_find(hook.agent), &hook, a, ret);
	for (size_t i = 0; !agent.n && agents[i] && ret->tool_class == TOOL_OTHER; i++) {
		hook.agent = str_of(agents[i]->name);
		agent_parse(agents[i], &hook, a, ret);
	}
	ret->kind = EVENT_PRE_TOOL_USE; /* whatever that agent calls it */
}

static void check_line(struct checking *k, str text, struct buf *out)
{
	struct json_writer w = JSON_WRITER(out);
	struct arena *a = &k->arena;
	struct verdict v = { 0 };
	struct event e;
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
	use_home(k, json_str(json_get(line, STR("home"))));
	parse_row(a, line, &e);
	(void)guard_event(k->guard, &e, a, &v, /* may_use_disk= */ true);
	if (json_get(line, STR("id"))) {
		jw_key(&w, "id");
		jw_value(&w, json_get(line, STR("id")));
	}
	jw_field_str(&w, "decision", v.action > VERDICT_ALLOW ? str_of(verdict_action_names[v.action]) : STR("allow"));
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
	struct checking k = { .cli = cli };
	struct buf out = BUF_INIT(MIB(64));
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	policy_view_load(cli, true, &k.view);
	arena_init(&k.arena);
	while ((n = getline(&line, &cap, stdin)) > 0) {
		str text = str_trim(str_n(line, (size_t)n));

		if (!text.n || n > LINE_MAX_BYTES)
			continue;
		buf_clear(&out);
		check_line(&k, text, &out);
		fwrite(out.p, 1, out.len, stdout);
		arena_reset(&k.arena);
	}
	if (policy_difference(&k.view))
		cli_fail("%s", policy_difference(&k.view));
	free(line);
	guard_free(k.guard);
	arena_release(&k.arena);
	policy_view_release(&k.view);
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

static void write_explanation(struct json_writer *w, enum verdict_action action, const struct guard_report *r,
	bool differs)
{
	jw_object(w);
	jw_field_str(w, "decision", action > VERDICT_ALLOW ? str_of(verdict_action_names[action]) : STR("allow"));
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
	jw_field_bool(w, "file_differs", differs);
	jw_end_object(w);
}

static int guard_explain(struct cli *cli)
{
	const char *home = getenv("HOME");
	struct policy_view view;
	char here[FS_PATH];
	struct guard_report report = { 0 };
	struct guard_context c = { .explain = true, .home = str_of(home) };
	enum verdict_action action;
	const struct guard_finding *worst;

	if (cli->nargs < 2)
		return cli_usage_error(cli, "a command is missing");
	c.cwd = str_of(cli_value(cli, "cwd", getcwd(here, sizeof(here)) ? here : "/"));
	policy_view_load(cli, true, &view);
	action = guard_command(view.in_force, &c, command_of_args(cli), &cli->arena, &report);
	if (cli_has(cli, "json")) {
		struct buf out = BUF_INIT(MIB(16));
		struct json_writer w = JSON_WRITER(&out);

		write_explanation(&w, action, &report, view.differs);
		printf(STR_FMT "\n", STR_ARG(buf_str(&out)));
		buf_release(&out);
		policy_view_release(&view);
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
				printf("%*s%s ", (int)(2 * s->depth + 2), "", verdict_action_names[f->action]);
				cli_print_safe(f->reason);
				printf("%s\n",
					f->observed          ? " (only observed)"
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
	if (policy_difference(&view))
		printf("note: %s\n", policy_difference(&view));
	policy_view_release(&view);
	return EXIT_DONE;
}

/* -- which ------------------------------------------------------------------------------------- */

static int guard_validate(struct cli *cli)
{
	struct policy_view view;
	const struct guard_user_rule *user;
	unsigned problems;
	size_t n;

	policy_view_load(cli, true, &view);
	n = guard_policy_rules(view.file, &user);
	problems = view.problems;
	if (!problems)
		printf("%zu rules of your own, no problems%s\n", n,
			view.differs ? "; takes effect after: hookd reload" : "");
	policy_view_release(&view);
	return problems ? EXIT_FAILED : EXIT_DONE;
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
	if (strcmp(cli->args[0], "learn") == 0)
		return backtest_learn(cli);
	return cli_usage_error(cli, "guard knows check, explain, validate, backtest and learn");
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
	.args = "check | explain COMMAND | validate | backtest | learn",
	.text = "Try the guard's rules: check judges calls read as JSON lines, explain shows how a command is "
		"understood, validate checks your rules, backtest runs them over captured calls, learn proposes which "
		"rules to "
		"observe because they ask about what you always allow.",
	.flags = CMD_ANYWHERE,
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = guard_options,
	.run = run_guard,
};
