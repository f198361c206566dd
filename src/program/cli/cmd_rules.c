/* rules, reload: the guard's rules, which of them are enforced, and applying the config file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diff.h"
#include "base/fs.h"
#include "base/limits.h"
#include "cli/commands.h"
#include "cli/policy.h"
#include "config/config.h"

/* -- list -------------------------------------------------------------------------------------- */

/* How often each rule fired; NULL without a daemon, which is not started for this. */
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

/* With the rule's own mode, if it is one of the user's; "none" where there is no such rule. */
static str mode_of(const struct guard_policy *p, str rule)
{
	const struct guard_user_rule *user;
	size_t n = guard_policy_rules(p, &user);

	for (size_t i = 0; i < n; i++)
		if (str_eq(user[i].name, rule))
			return user[i].observe && !guard_policy_disabled(p, rule) ? STR("observe")
										  : policy_mode(p, rule);
	for (const struct guard_rule *r = guard_rules; r->name; r++)
		if (str_eq(rule, str_of(r->name)))
			return policy_mode(p, rule);
	return STR("none");
}

static void write_modes(struct json_writer *w, const struct policy_view *view, str rule)
{
	jw_field_str(w, "mode", mode_of(view->in_force, rule));
	if (view->differs)
		jw_field_str(w, "mode_in_file", mode_of(view->file, rule));
}

/* In the file; 0: it is not there any more. */
static int64_t line_of(const struct policy_view *view, str rule)
{
	const struct guard_user_rule *user;
	size_t n = guard_policy_rules(view->file, &user);

	for (size_t i = 0; i < n; i++)
		if (str_eq(user[i].name, rule))
			return user[i].line;
	return 0;
}

static void rules_json(const struct policy_view *view, const struct json *counts, struct json_writer *w)
{
	const struct guard_policy *policy = view->in_force;
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
		write_modes(w, view, str_of(r->name));
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
		write_modes(w, view, user[i].name);
		jw_field_int(w, "line", line_of(view, user[i].name));
		jw_key(w, "rule");
		jw_raw(w, user[i].source);
		write_counts(w, counts, user[i].name);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_field_bool(w, "running", view->running);
	jw_field_bool(w, "file_differs", view->differs);
	jw_end_object(w);
}

/* What the daemon does; what the file says instead, when it does. */
static str mode_cell(struct cli *cli, const struct policy_view *view, str rule)
{
	str now = mode_of(view->in_force, rule), then = mode_of(view->file, rule);

	return str_eq(now, then) ? now
				 : arena_strf(&cli->arena, STR_FMT " (file: " STR_FMT ")", STR_ARG(now), STR_ARG(then));
}

static void add_row(struct cli *cli, struct table *t, const struct policy_view *view, const struct json *counts,
	str rule, str what)
{
	const struct json *c = counts_of(counts, rule);

	table_add(t,
		(str[]){ rule, mode_cell(cli, view, rule), c ? cell_number(cli, c, "fired") : STR(""),
			c ? cell_age(cli, c, "last_us") : STR(""), what });
}

static int list(struct cli *cli)
{
	const struct json *counts = ask_counts(cli);
	const struct guard_user_rule *user;
	struct policy_view view;
	struct table t;
	size_t n;

	policy_view_load(cli, true, &view);
	n = guard_policy_rules(view.in_force, &user);
	if (cli_has(cli, "json")) {
		struct buf out = BUF_INIT(MIB(4));
		struct json_writer w = JSON_WRITER(&out);

		rules_json(&view, counts, &w);
		printf(STR_FMT "\n", STR_ARG(buf_str(&out)));
		buf_release(&out);
		policy_view_release(&view);
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 5);
	t.firm = 4;
	table_add(&t, (str[]){ STR("RULE"), STR("MODE"), STR("FIRED"), STR("LAST"), STR("WHAT") });
	for (const struct guard_rule *r = guard_rules; r->name; r++)
		add_row(cli, &t, &view, counts, str_of(r->name), str_of(r->text));
	for (size_t i = 0; i < n; i++)
		add_row(cli, &t, &view, counts, user[i].name,
			user[i].message.n
				? user[i].message
				: arena_strf(&cli->arena, "%s (yours)", verdict_action_names[user[i].decision]));
	table_print(&t, cli->colour);
	if (policy_difference(&view))
		printf("note: %s\n", policy_difference(&view));
	policy_view_release(&view);
	return EXIT_DONE;
}

/* -- enable, disable, observe, enforce ------------------------------------------------------------ */

/* The change as a diff, or the file with it. An exit code. */
static int apply(struct cli *cli, bool exists, str old, str changed)
{
	const char *path = cli->paths.config;
	struct buf diff = BUF_INIT(MIB(8));
	struct err err = { 0 };

	if (cli_has(cli, "dry-run")) {
		diff_write(&diff, exists ? path : "/dev/null", old, path, changed);
		fwrite(diff.p, 1, diff.len, stdout);
		buf_release(&diff);
		return EXIT_DONE;
	}
	if (!str_eq(old, changed) && config_write(path, changed, &err) < 0)
		return cli_fail("%s", err.text);
	return EXIT_DONE;
}

/* Why a rule that was switched on is still not enforced. */
static void tell_what_remains(const struct cli *cli, str rule)
{
	struct guard_problem *problems;
	struct guard_policy *p = guard_policy_load(cli->paths.config, &problems);
	const struct guard_user_rule *user;
	size_t n = guard_policy_rules(p, &user);

	for (size_t i = 0; i < n; i++)
		if (str_eq(user[i].name, rule) && user[i].observe)
			printf("the rule itself says \"mode\": \"observe\", in line %u of %s\n", user[i].line,
				cli->paths.config);
	if (guard_policy_observes(p, STR("")))
		printf("guard.mode is observe, so no rule is enforced; change it with: "
		       "hookd config set guard.mode "
		       "enforce\n");
	guard_problems_free(problems);
	guard_policy_unref(p);
}

static int switch_rule(struct cli *cli, enum guard_switch how)
{
	const char *path = cli->paths.config;
	struct buf old = BUF_INIT(LIMIT_CONFIG), changed = BUF_INIT(LIMIT_CONFIG);
	str rule = str_of(cli->args[1]);
	struct err err = { 0 };
	int r = fs_read_file(path, &old), code = EXIT_DONE;

	if (!cli_has(cli, "dry-run"))
		code = cli_need_owner(cli, "switching a rule");
	if (code != EXIT_DONE)
		goto out;
	if (r < 0 && r != -ENOENT)
		code = cli_fail("%s cannot be read: %s", path, strerror(-r));
	else if (guard_edit(buf_str(&old), how, rule, &changed, &err) < 0)
		code = err.line ? cli_fail("%s:%u:%u: %s", path, err.line, err.col, err.text)
				: cli_fail("%s", err.text);
	else
		code = apply(cli, r == 0, buf_str(&old), buf_str(&changed));
out:
	buf_release(&old);
	buf_release(&changed);
	if (code != EXIT_DONE || cli_has(cli, "dry-run"))
		return code;
	cli_note_change(cli, "rules", arena_strf(&cli->arena, "%s " STR_FMT, cli->args[0], STR_ARG(rule)));
	printf("rule " STR_FMT ": %s in %s\n", STR_ARG(rule), guard_switch_names[how], path);
	if (how == GUARD_ENFORCE || how == GUARD_ENABLE)
		tell_what_remains(cli, rule);
	return cli_reload(cli);
}

static int run_rules(struct cli *cli)
{
	if (!cli->nargs || strcmp(cli->args[0], "list") == 0)
		return list(cli);
	for (int i = 0; i < GUARD_SWITCH_MAX; i++)
		if (strcmp(cli->args[0], guard_switch_names[i]) == 0)
			return cli->nargs == 2
				? switch_rule(cli, (enum guard_switch)i)
				: cli_usage_error(cli, "rules %s takes the name of a rule", cli->args[0]);
	return cli_usage_error(cli, "rules knows list, enable, disable, observe and enforce");
}

static const struct cmd_option rules_options[] = {
	{ "dry-run", 'n', NULL, false, "show the change without making it" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_rules = {
	.name = "rules",
	.args = "[list | enable RULE | disable RULE | observe RULE | enforce RULE]",
	.text = "List the guard's rules, built-in and yours, and switch them; a running daemon applies it at once.",
	.flags = CMD_ANYWHERE,
	.max_args = 2,
	.options = rules_options,
	.run = run_rules,
};

/* -- reload ------------------------------------------------------------------------------------ */

const struct cmd cmd_reload = {
	.name = "reload",
	.args = "",
	.text = "Make the running daemon reload the rules and hooks from your config file.",
	.run = cli_reload,
};
