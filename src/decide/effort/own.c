/* hookd's own commands, by what would really run: the way out of a gate is never gated, and nothing else gets through
 * beside it. */
#include "effort/effort.h"
#include "guard/guard.h"
#include "os/os.h"

/* What may stand beside hookd in a command line: it prepares its words and changes nothing. What the last four run is
 * a command of its own here. */
static const char *const helpers[] = { "cd", "cat", "echo", "printf", "true", "test", "[", "env", "timeout", "nice",
	"nohup" };

/* What may be written by a redirection: it goes nowhere. */
static const char *const sinks[] = { "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty" };

/* Actions of `hookd effort`. */
static const struct {
	const char *action;
	unsigned what;
} actions[] = {
	{ "log", EFFORT_LOGS },
	{ "phase", EFFORT_LOGS },
	{ "checkpoint", EFFORT_LOGS },
	{ "start", EFFORT_STARTS },
	{ "resume", EFFORT_STARTS },
};

/* Tools of `hookd mcp`, as agents call them. */
static const char *const tool_prefixes[] = { "mcp__hookd__", "mcp_hookd_", "hookd__", "hookd_" };

struct look {
	unsigned what;
	bool others, any;
};

static str base_of(str path)
{
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return str_from(path, i);
	return path;
}

/* By its name alone, or where this very program is: anybody can write a file called hookd. */
static bool is_hookd(str program)
{
	str self = str_of(os_this_program);

	if (str_find_char(program, '/') < 0)
		return str_eq(program, STR("hookd"));
	return str_eq(program, self) ||
		(str_eq(base_of(program), STR("hookd")) && str_eq(base_of(self), STR("hookd")) &&
			str_eq(str_head(program, program.n - 5), str_head(self, self.n - 5)));
}

static bool is_helper(str program)
{
	for (size_t i = 0; i < countof(helpers); i++)
		if (str_eq(program, str_of(helpers[i])))
			return true;
	return false;
}

static unsigned what_of(str action)
{
	for (size_t i = 0; i < countof(actions); i++)
		if (str_eq(action, str_of(actions[i].action)))
			return actions[i].what;
	return 0;
}

static void see(const struct guard_command *c, void *arg)
{
	struct look *l = arg;
	size_t at = 1;

	/* With other code in it, it is another program. */
	if (!c->n || c->nloaders || !guard_is_known(c->v[0]) || !(is_hookd(c->v[0]) || is_helper(c->v[0]))) {
		l->others = true;
		return;
	}
	if (!is_hookd(c->v[0]))
		return;
	l->any = true;
	/* Options may stand before the action. */
	while (at < c->n && !str_eq(c->v[at], STR("effort")))
		at++;
	for (at++; at < c->n; at++)
		if (what_of(c->v[at])) {
			l->what |= what_of(c->v[at]);
			return;
		}
}

static void see_written(str path, void *arg)
{
	struct look *l = arg;
	bool is_sink = false;

	for (size_t i = 0; i < countof(sinks); i++)
		is_sink |= str_eq(path, str_of(sinks[i]));
	l->others |= !is_sink;
}

static unsigned of_command(const struct event *e, struct arena *a)
{
	const struct guard_watcher watcher = { .command = see, .writes = see_written, .arg = &(struct look){ 0 } };
	struct look *l = watcher.arg;
	struct guard_context where = guard_context_of(e);

	/* Most calls end here. */
	if (str_find(e->command, STR("hookd")) < 0 || guard_watch(&where, e->command, a, &watcher, NULL) < 0 ||
		l->others || !l->any)
		return 0;
	return EFFORT_OWN | l->what;
}

static unsigned of_tool(str name)
{
	for (size_t i = 0; i < countof(tool_prefixes); i++) {
		str rest, prefix = str_of(tool_prefixes[i]);

		if (!str_starts(name, prefix))
			continue;
		rest = str_from(name, prefix.n);
		return EFFORT_OWN | (str_starts(rest, STR("effort_")) ? what_of(str_from(rest, 7)) : 0);
	}
	return 0;
}

unsigned effort_own_call(const struct event *e, struct arena *a)
{
	return e->tool_class == TOOL_SHELL ? of_command(e, a) : of_tool(e->tool_name);
}
