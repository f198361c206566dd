/* guard: events in, verdicts out. */
#include <errno.h>

#include "guard/internal.h"

#define SELFTEST_PROMPT "hookd-selftest-context"

static void run_init(struct run *x, const struct guard_policy *policy, const struct guard_context *c, struct arena *a,
	struct guard_report *report)
{
	(void)text_was_cut();
	*x = (struct run){ .a = a, .policy = policy, .c = c, .report = report };
	x->st.cwd = c->cwd.n ? c->cwd : STR("\1");
	x->st.arg0 = STR("bash");
	x->in = STR_NONE;
}

/* What was cut anywhere on the way was not read. */
static void judge_cut(struct run *x)
{
	if (text_was_cut())
		reach_cap(x, "bytes in one text");
}

static struct guard_context with_defaults(const struct guard_context *c)
{
	struct guard_context full = *c;

	if (!full.home.n)
		full.home = STR("/home/user");
	if (!full.root.n)
		full.root = full.cwd;
	return full;
}

static enum verdict_action strictest(const struct guard_report *r)
{
	enum verdict_action action = VERDICT_NONE;

	for (const struct guard_finding *f = r->findings; f; f = f->next)
		if (!f->observed && !f->lowered)
			action = MAX(action, f->action);
	return action;
}

enum verdict_action guard_command(const struct guard_policy *policy, const struct guard_context *c, str command,
	struct arena *a, struct guard_report *report)
{
	struct guard_context full = with_defaults(c);
	struct run x;

	run_init(&x, policy, &full, a, report);
	x.end = (uint32_t)MIN(command.n, UINT32_MAX);
	judge_whole(&x, command);
	(void)run_text(&x, command);
	judge_cut(&x);
	lower_findings(report);
	return strictest(report);
}

struct guard_context guard_context_of(const struct event *e)
{
	struct guard_context c = { .cwd = e->cwd };

	/* An agent that went into a directory of the project still works on the whole of it. */
	for (size_t i = 0; i < e->nenv; i++) {
		ptrdiff_t eq = str_find_char(e->env[i], '=');
		str value = str_from(e->env[i], (size_t)(eq + 1));

		if (eq > 0 && str_ends(str_head(e->env[i], (size_t)eq), STR("_PROJECT_DIR")) && value.n > 1 &&
			path_below(c.cwd, value))
			c.root = value;
	}
	return c;
}

/* Nobody is there to answer: what would have been asked is denied, unless it is mild. */
static bool nobody_answers(const struct event *e)
{
	return str_in_nocase(e->permission_mode,
		"bypassPermissions dontAsk dont_ask bypass yolo never headless full-auto");
}

int guard_judge(const struct guard_policy *policy, const struct guard_context *c, const struct event *e,
	struct arena *a, struct guard_report *report)
{
	struct guard_context full = with_defaults(c);
	struct run x;

	if (e->kind != EVENT_PRE_TOOL_USE && e->kind != EVENT_PERMISSION_REQUEST)
		return 0;
	run_init(&x, policy, &full, a, report);
	if (e->marks & EVENT_CUT)
		guard_add_finding(&x, STR("hookd.cut"), VERDICT_ASK,
			STR("this tool call is larger than hookd can check, so a person should "
			    "look at it"));
	if (e->marks & EVENT_NOT_JSON)
		guard_add_finding(&x, STR("hookd.unread"), VERDICT_ASK,
			STR("hookd cannot read what this tool call would do, so a person should "
			    "look at it"));
	judge_tool_call(&x, e);
	judge_user_tool(&x, e);
	judge_cut(&x);
	lower_findings(report);
	return x.wants_disk ? -EAGAIN : 0;
}

void guard_apply(const struct guard_report *report, const struct event *e, struct arena *a, struct verdict *v)
{
	v->alone |= nobody_answers(e);
	for (const struct guard_finding *f = report->findings; f; f = f->next) {
		bool mild = f->mild && f->action == VERDICT_ASK, harder = f->action == VERDICT_ASK && !mild && v->alone;

		if (!f->observed && !f->lowered && mild)
			verdict_raise_mildly(v, f->rule, f->reason);
		else if (!f->observed && !f->lowered && f->action > VERDICT_ALLOW)
			verdict_raise(v, harder ? VERDICT_DENY : f->action, f->rule, f->reason);
		verdict_add_ruling(v, a,
			&(struct ruling){ .rule = f->rule,
				.action = f->lowered ? VERDICT_ALLOW
					: harder     ? VERDICT_DENY
						     : f->action,
				.reason = f->reason,
				.subject = f->argv,
				.begin = f->begin,
				.end = f->end,
				.observed = f->observed });
	}
}

int guard_decide(const struct guard_policy *policy, const struct guard_context *c, const struct event *e,
	struct arena *a, struct verdict *v, struct guard_report *report)
{
	struct guard_report own = { 0 };
	int r = guard_judge(policy, c, e, a, report ? report : &own);

	if (r == 0)
		guard_apply(report ? report : &own, e, a, v);
	return r;
}

void guard_selftest_context(const struct event *e, struct arena *a, struct verdict *v)
{
	if (e->kind == EVENT_USER_PROMPT_SUBMIT && str_find(e->prompt, STR(SELFTEST_PROMPT)) >= 0)
		verdict_add_context(v, a, STR("hookd"),
			STR("This line was added by hookd, to test that context arrives."));
}
