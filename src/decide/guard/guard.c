/* guard: events in, verdicts out. */
#include <errno.h>

#include "guard/internal.h"

/* The words that prove a deny arrives: harmless in any shell, and nobody types them by chance. */
#define SELFTEST_WORDS "hookd-selftest-deny"
#define SELFTEST_PROMPT "hookd-selftest-context"

/* Characters that make a text read differently from what it is: overrides of direction, and
 * invisible ones. */
static bool hides_text(str s)
{
	for (size_t i = 0; i + 2 < s.n; i++) {
		const unsigned char *p = (const unsigned char *)s.p + i;

		if (p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
					    (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)))
			return true;
	}
	return false;
}

static void judge_whole(struct run *x, str command)
{
	if (str_find(command, STR(SELFTEST_WORDS)) >= 0)
		guard_add_finding(x, STR("hookd.selftest"), VERDICT_DENY,
			STR("hookd denied this command: it contains " SELFTEST_WORDS
			    ", the words that test whether a denial reaches the agent"));
	if (hides_text(command))
		FAULT(x, NULL, RULE_EXEC_OBFUSCATED, VERDICT_ASK,
			"this holds characters that change the direction of text, so that a reader "
			"sees something else");
}

static void run_init(struct run *x, const struct guard_policy *policy,
	const struct guard_context *c, struct arena *a, struct guard_report *report)
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

enum verdict_action guard_command(const struct guard_policy *policy, const struct guard_context *c,
	str command, struct arena *a, struct guard_report *report)
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

/* -- tools other than the shell --------------------------------------------------------------- */

static void judge_file_write(struct run *x, const struct event *e, str path)
{
	str text = json_str(json_get(e->tool_input, STR("new_string")));
	bool shared;

	/* An edit of a settings file that has nothing to do with hooks is the person's to allow. */
	if (is_protected(x, path_resolve(x, path), &shared) && shared && str_is_set(text) &&
		!str_has_nocase(text, "hook") &&
		!str_has_nocase(json_str(json_get(e->tool_input, STR("old_string"))), "hook")) {
		FAULT(x, NULL, RULE_SELF, VERDICT_ASK,
			"this would change " STR_FMT ", which also holds the agent's hooks",
			STR_ARG(path));
		return;
	}
	judge_write(x, NULL, path, STR("\1"), false);
}

/* A patch names its files in lines of its own. */
static void judge_patch(struct run *x, const struct event *e, str text)
{
	str line;

	while (str_split(&text, '\n', &line)) {
		ptrdiff_t colon = str_find(line, STR(" File: "));

		if (!str_starts(line, STR("*** ")))
			continue;
		if (colon > 0 && str_starts(line, STR("*** Delete")))
			judge_delete(x, NULL, str_trim(str_from(line, (size_t)colon + 7)), false);
		else if (colon > 0)
			judge_file_write(x, e, str_trim(str_from(line, (size_t)colon + 7)));
		else if (str_starts(line, STR("*** Move to: ")))
			judge_file_write(x, e, str_trim(str_from(line, 13)));
	}
}

static void judge_tool(struct run *x, const struct event *e)
{
	str patch = STR_NONE;

	switch (e->tool_class) {
	case TOOL_SHELL:
		if (e->command.n) {
			judge_whole(x, e->command);
			x->end = (uint32_t)e->command.n;
			(void)run_text(x, e->command);
		}
		break;
	case TOOL_WRITE:
		if (e->file_path.n)
			judge_file_write(x, e, e->file_path);
		json_each(item, e->tool_input)
			if (str_has(json_str(item), "*** Begin Patch"))
				patch = json_str(item);
		judge_patch(x, e,
			str_is_set(patch)                        ? patch
			: str_has(e->command, "*** Begin Patch") ? e->command
								 : STR(""));
		break;
	case TOOL_READ:
	case TOOL_SEARCH:
		if (e->file_path.n)
			judge_read(x, NULL, e->file_path);
		break;
	case TOOL_MCP: {
		str command = json_str(json_get(e->tool_input, STR("command")));

		if (!command.n)
			command = json_str(json_get(e->tool_input, STR("cmd")));
		if (command.n && str_find_char(command, ' ') > 0) {
			judge_whole(x, command);
			(void)run_text(x, command);
		}
		break;
	}
	default:
		break;
	}
}

struct guard_context guard_context_of(const struct event *e)
{
	struct guard_context c = { .cwd = e->cwd };

	/* An agent that went into a directory of the project still works on the whole of it. */
	for (size_t i = 0; i < e->nenv; i++) {
		ptrdiff_t eq = str_find_char(e->env[i], '=');
		str value = str_from(e->env[i], (size_t)(eq + 1));

		if (eq > 0 && str_ends(str_head(e->env[i], (size_t)eq), STR("_PROJECT_DIR")) &&
			value.n > 1 && path_below(c.cwd, value))
			c.root = value;
	}
	return c;
}

/* Nobody is there to answer: what would have been asked is denied. */
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
	judge_tool(&x, e);
	judge_user_tool(&x, e);
	judge_cut(&x);
	lower_findings(report);
	return x.wants_disk ? -EAGAIN : 0;
}

void guard_apply(const struct guard_report *report, const struct event *e, struct arena *a, struct verdict *v)
{
	for (const struct guard_finding *f = report->findings; f; f = f->next) {
		bool harder = f->action == VERDICT_ASK && nobody_answers(e);

		if (!f->observed && !f->lowered && f->action > VERDICT_ALLOW)
			verdict_raise(v, harder ? VERDICT_DENY : f->action, f->rule, f->reason);
		verdict_add_ruling(v, a,
			&(struct ruling){ .rule = f->rule,
				.action = f->lowered ? VERDICT_ALLOW : harder ? VERDICT_DENY : f->action,
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
