#include "cli/policy.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "cli/commands.h"

/* The daemon's answer is what its policy was read from; read again it is the same policy. */
static struct guard_policy *ask_daemon(struct cli *cli)
{
	struct json *result = NULL;
	struct err err = { 0 };
	struct guard_problem *problems;
	struct guard_policy *p;
	struct buf b = BUF_INIT(8 * LIMIT_CONFIG);
	struct json_writer w = JSON_WRITER(&b);

	if (!cli->paths.state[0] || cli_call(cli, false, "rules", STR_NONE, &result, &err) < 0 ||
		!json_get(result, STR("guard")))
		return NULL;
	jw_value(&w, result);
	p = guard_policy_parse(buf_str(&b), &problems);
	guard_problems_free(problems); /* problems found when the daemon read them */
	buf_release(&b);
	return p;
}

void policy_view_load(struct cli *cli, bool complain, struct policy_view *ret)
{
	struct guard_problem *problems = NULL;

	*ret = (struct policy_view){ .file = guard_policy_load(cli->paths.config, &problems) };
	for (const struct guard_problem *q = problems; q; q = q->next, ret->problems++)
		if (complain)
			cli_fail("%s:%u:%u: %s", cli->paths.config, q->err.line, q->err.col, q->err.text);
	guard_problems_free(problems);
	ret->in_force = ask_daemon(cli);
	ret->running = ret->in_force != NULL;
	if (!ret->in_force)
		ret->in_force = guard_policy_ref(ret->file);
	ret->differs = !guard_policy_same(ret->in_force, ret->file);
}

void policy_view_release(struct policy_view *v)
{
	guard_policy_unref(v->in_force);
	guard_policy_unref(v->file);
	*v = (struct policy_view){ 0 };
}

const char *policy_difference(const struct policy_view *v)
{
	return v->differs ? "the config file differs; what is shown stays in effect until: hookd reload" : NULL;
}

str policy_mode(const struct guard_policy *p, str rule)
{
	return guard_policy_disabled(p, rule)    ? STR("disabled")
		: guard_policy_observes(p, rule) ? STR("observe")
						 : STR("enforce");
}

int cli_reload(struct cli *cli)
{
	struct json *result = NULL;
	struct err err = { 0 };
	int r = cli_need_owner(cli, "taking up changed rules, hooks and sinks");

	if (r != EXIT_DONE)
		return r;
	r = cli_call(cli, false, "reload", STR_NONE, &result, &err);
	if (r == -ENOENT) {
		puts("no daemon is running; the next one reads the file when it starts");
		return EXIT_DONE;
	}
	if (r < 0)
		return cli_fail("the running daemon has not applied it: %s", err.text);
	if (!json_true(json_get(result, STR("reloaded"))))
		return cli_fail("the running daemon keeps its current rules: " STR_FMT,
			STR_ARG(cell_text(result, "why")));
	puts("in effect now");
	if (cell_int(result, "rule_problems"))
		return cli_fail("%lld parts of the rules are ignored; see: hookd guard validate",
			(long long)cell_int(result, "rule_problems"));
	if (cell_int(result, "sink_problems"))
		return cli_fail("%lld parts of the sinks are ignored; see: hookd config validate",
			(long long)cell_int(result, "sink_problems"));
	if (cell_int(result, "broken"))
		return cli_fail("%lld hook files are invalid; their last valid version stays in effect; see: hookd "
				"hooks validate",
			(long long)cell_int(result, "broken"));
	return EXIT_DONE;
}
