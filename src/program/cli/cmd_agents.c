/* agents: what hookd knows of each agent, from the tables that it works by. */
#include <stdio.h>

#include "agents/agents.h"
#include "base/limits.h"
#include "cli/commands.h"

/* What an answer can do. */
static const struct {
	unsigned takes;
	const char *name;
} verbs[] = {
	{ TAKES_DENY, "deny" },
	{ TAKES_ASK, "ask" },
	{ TAKES_INPUT, "input" },
	{ TAKES_CONTEXT, "context" },
	{ TAKES_MORE, "continue" },
	{ TAKES_END, "end" },
	{ TAKES_MESSAGE, "message" },
};

static unsigned count_events(const struct agent *agent)
{
	unsigned n = 0;

	for (const struct agent_event *row = agent->events; row->native; row++)
		n++;
	return n;
}

static bool is_installed(const struct agent_event *row)
{
	return row->flags & AGENT_EVENT_DEFAULT && !(row->flags & AGENT_EVENT_NOT_A_HOOK);
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void write_verbs(struct json_writer *w, unsigned takes)
{
	jw_key(w, "verbs");
	jw_array(w);
	for (size_t i = 0; i < countof(verbs); i++)
		if (takes & verbs[i].takes)
			jw_str(w, str_of(verbs[i].name));
	jw_end_array(w);
}

static void write_event(struct json_writer *w, const struct agent_event *row)
{
	jw_object(w);
	jw_field_str(w, "event", str_of(row->native));
	jw_field_str(w, "kind", str_of(event_kinds[row->kind].name));
	jw_field_bool(w, "installed", is_installed(row));
	write_verbs(w, row->takes);
	jw_end_object(w);
}

static void write_agent(struct json_writer *w, const struct agent *agent)
{
	jw_object(w);
	jw_field_str(w, "name", str_of(agent->name));
	jw_field_str(w, "label", str_of(agent->label));
	jw_key(w, "verified");
	if (agent->verified)
		jw_str(w, str_of(agent->verified));
	else
		jw_raw(w, STR("null"));
	jw_field_bool(w, "history", agent->history);
	write_verbs(w, agent_takes_anywhere(agent));
	jw_key(w, "events");
	jw_array(w);
	for (const struct agent_event *row = agent->events; row->native; row++)
		write_event(w, row);
	jw_end_array(w);
	jw_end_object(w);
}

static int print_json(const struct agent *only)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_key(&w, "agents");
	jw_array(&w);
	for (size_t i = 0; agents[i]; i++)
		if (!only || agents[i] == only)
			write_agent(&w, agents[i]);
	jw_end_array(&w);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return EXIT_DONE;
}

/* -- for people -------------------------------------------------------------------------------- */

enum { BEFORE_VERBS = 3 };

static void add_row(struct table *t, str first, str second, str third, unsigned takes)
{
	str cells[BEFORE_VERBS + countof(verbs)] = { first, second, third };

	for (size_t i = 0; i < countof(verbs); i++)
		cells[BEFORE_VERBS + i] = takes & verbs[i].takes ? STR("yes") : STR("-");
	table_add(t, cells);
}

static void begin(struct table *t, struct cli *cli, const char *first, const char *second, const char *third)
{
	str head[BEFORE_VERBS + countof(verbs)] = { str_of(first), str_of(second), str_of(third) };

	for (size_t i = 0; i < countof(verbs); i++)
		head[BEFORE_VERBS + i] = str_of(verbs[i].name);
	table_init(t, &cli->arena, countof(head));
	table_add(t, head);
}

static int print_all(struct cli *cli)
{
	struct table t;

	begin(&t, cli, "agent", "tested with", "events");
	for (size_t i = 0; agents[i]; i++)
		add_row(&t, str_of(agents[i]->name), agents[i]->verified ? str_of(agents[i]->verified) : STR("-"),
			arena_strf(&cli->arena, "%u", count_events(agents[i])), agent_takes_anywhere(agents[i]));
	table_print(&t, cli->colour);
	puts("\n\"tested with\" names the release whose real program the tests run; - means written from documentation."
	     "\nhookd agents NAME shows which event honours what.");
	return EXIT_DONE;
}

static int print_one(struct cli *cli, const struct agent *agent)
{
	struct table t;

	begin(&t, cli, "event", "kind", "installed");
	for (const struct agent_event *row = agent->events; row->native; row++)
		add_row(&t, str_of(row->native), str_of(event_kinds[row->kind].name),
			is_installed(row) ? STR("yes") : STR("-"), row->takes);
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	const struct agent *only = cli->nargs ? agent_find(str_of(cli->args[0])) : NULL;

	if (only && !str_eq_nocase(str_of(cli->args[0]), str_of(only->name)))
		return cli_usage_error(cli, "there is no agent '%s'; hookd agents lists them", cli->args[0]);
	if (cli_has(cli, "json"))
		return print_json(only);
	return only ? print_one(cli, only) : print_all(cli);
}

static const struct cmd_option agents_options[] = {
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_agents = {
	.name = "agents",
	.args = "[AGENT]",
	.text = "Show which agents hookd knows, their events, and what each honours in an answer.",
	.flags = CMD_ANYWHERE,
	.max_args = 1,
	.options = agents_options,
	.run = run,
};
