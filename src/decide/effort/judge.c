/* Before a tool: what the effort asks for. */
#include "effort/internal.h"

/* Tools that are no work: they plan it, ask about it, or have it done by a subagent with a count of its own. */
static const char *const exempt[] = { "Task", "Agent", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskGet",
	"TaskList", "TaskOutput", "TaskStop", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "Skill", "ToolSearch",
	"SendMessage", "update_plan", "write_todos", "todo_write", "todowrite", "todoread", "request_user_input",
	"save_memory", "activate_skill", "skill" };

/* Reading what hookd itself asks to be read. */
static const char *const own_places[] = { "/.directives/", "/.hookd/", "/.claude/skills/", "/.agents/skills/" };

static bool is_own_file(const struct effort *one, str path)
{
	str name, task = str_of(one->task);

	for (size_t i = 0; i < countof(own_places); i++)
		if (str_find(path, str_of(own_places[i])) >= 0)
			return true;
	/* An artifact: "3_REVIEW_LOG.md" in the task's directory. */
	name = effort_is_within(path, one->task) && path.n > task.n + 1 ? str_from(path, task.n + 1) : STR("");
	return str_ends(name, STR(".md")) && name.p[0] >= '0' && name.p[0] <= '9' && str_find_char(name, '/') < 0;
}

static bool is_exempt(const struct effort *one, const struct event *e)
{
	if (e->tool_class == TOOL_AGENT)
		return true;
	for (size_t i = 0; i < countof(exempt); i++)
		if (str_eq(e->tool_name, str_of(exempt[i])))
			return true;
	return e->tool_class == TOOL_READ && is_own_file(one, e->file_path);
}

/* One file that is edited again and again is one step. */
static bool is_known_edit(struct effort_window *w, const struct event *e)
{
	uint64_t hash = effort_hash(e->file_path);

	if (e->tool_class != TOOL_WRITE || str_empty(e->file_path))
		return false;
	for (size_t i = 0; i < EFFORT_EDITED; i++) {
		if (w->edited[i] == hash)
			return true;
		if (!w->edited[i]) {
			w->edited[i] = hash;
			return false;
		}
	}
	return false;
}

static void add(struct effort_judgement *j, struct arena *a, const char *rule, bool blocks, str text)
{
	struct effort_fired **last = &j->fired;

	while (*last)
		last = &(*last)->next;
	*last = arena_new(a, struct effort_fired);
	**last = (struct effort_fired){ .rule = str_of(rule), .text = text, .blocks = blocks };
}

/* -- the gates --------------------------------------------------------------------------------- */

static void judge_heartbeat(struct effort_window *w, struct arena *a, struct effort_judgement *j)
{
	const struct effort_gates *g = &w->effort->gates;

	if (g->heartbeat_block && w->heartbeat >= g->heartbeat_block) {
		w->heartbeat = g->heartbeat_block; /* trying again does not count */
		add(j, a, "effort.heartbeat", true,
			arena_strf(a,
				"%lld calls without a line in the log of this effort: say what you did and found. "
				"hookd "
				"effort log \"…\", then repeat this call.",
				(long long)w->heartbeat));
	} else if (g->heartbeat_warn && w->heartbeat >= g->heartbeat_warn && !w->warned) {
		w->warned = true;
		add(j, a, "effort.heartbeat", false,
			arena_strf(a, "%lld calls without a line in the log of this effort: hookd effort log \"…\".",
				(long long)w->heartbeat));
	}
}

static const char checkpoint_advice[] =
	"Write down where this effort stands, so that it can go on in a new context: hookd effort checkpoint --goal … "
	"--next … --done … --pending … --file …";

/* Said once, and again when the context has grown by a twentieth. */
static void judge_overflow(struct effort_window *w, struct arena *a, struct effort_judgement *j)
{
	const struct effort_gates *g = &w->effort->gates;
	int64_t usage = effort_window_usage(w);

	j->overflow = g->overflow_warn && usage >= g->overflow_warn;
	if (g->overflow_block && usage >= g->overflow_block) {
		j->overflow = true;
		add(j, a, "effort.overflow", true,
			arena_strf(a, "The context is %lld%% full. %s", (long long)usage, checkpoint_advice));
	} else if (j->overflow && (!w->warned_at || usage >= w->warned_at + 5)) {
		w->warned_at = usage;
		add(j, a, "effort.overflow", false,
			arena_strf(a, "The context is %lld%% full. %s", (long long)usage, checkpoint_advice));
	}
}

static void judge_rules(struct effort_window *w, const struct event *e, struct arena *a, struct effort_judgement *j)
{
	const struct effort *one = w->effort;
	const struct effort_facts facts = { .heartbeat = w->heartbeat,
		.context_usage = effort_window_usage(w),
		.calls = w->calls,
		.tool_name = e->tool_name,
		.tool_class = str_of(tool_class_names[e->tool_class]),
		.command = e->command,
		.file_path = e->file_path,
		.phase = str_of(one->phase),
		.skill = str_of(one->skill),
		.mode = str_of(one->mode),
		.agent_type = e->agent_type };
	struct effort_fired **last = &j->fired;

	while (*last)
		last = &(*last)->next;
	*last = one->rules ? effort_rules_fire(one->rules, &facts, w->spoken, a) : NULL;
}

/* In a task that asks for an effort, nothing is changed without one. */
static void judge_session(const struct efforts *all, const struct event *e, struct arena *a, struct effort_judgement *j)
{
	const struct effort_task *task = effort_task_around(all, e->cwd);
	bool changes = e->tool_class == TOOL_WRITE || e->tool_class == TOOL_SHELL || e->tool_class == TOOL_MCP ||
		e->tool_class == TOOL_AGENT;

	if (task && task->gates.session && changes)
		add(j, a, "effort.session", true,
			arena_strf(a,
				"Work in %s belongs to an effort. Begin one, or resume one: hookd effort start SKILL, "
				"hookd effort list; then repeat this call.",
				task->path));
}

void effort_before_tool(struct efforts *all, struct effort_window *w, const struct event *e, struct arena *a,
	struct effort_judgement *ret)
{
	unsigned own = effort_own_call(e, a);

	*ret = (struct effort_judgement){ .usage = effort_window_usage(w) };
	w->logs |= own & EFFORT_LOGS;
	w->seeks |= own & EFFORT_STARTS;
	w->looked = own & EFFORT_STARTS ? 0 : w->looked;
	if (!own && !w->effort)
		judge_session(all, e, a, ret);
	if (!own && w->effort) {
		w->calls++;
		if (!is_exempt(w->effort, e)) {
			if (!is_known_edit(w, e))
				w->heartbeat++;
			judge_heartbeat(w, a, ret);
		}
		judge_overflow(w, a, ret);
		judge_rules(w, e, a, ret);
	}
	ret->heartbeat = w->heartbeat;
}
