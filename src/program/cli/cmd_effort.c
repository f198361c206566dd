/* effort: work that survives the context window, for people and for the agents that call it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/launch.h"

/* -- who asks, and from where ------------------------------------------------------------------ */

/* Agents tell their commands which session they belong to. */
static const char *const session_variables[] = { "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID",
	"QWEN_CODE_SESSION_ID" };

int cli_add_caller(struct cli *cli, struct json_writer *w)
{
	const char *agent = cli_value(cli, "as", getenv("AGENT_ID"));
	char here[PATH_MAX];

	if (!getcwd(here, sizeof here))
		return cli_fail("the working directory cannot be read: %s; go to another one", strerror(errno));
	jw_field_str(w, "cwd", arena_str(&cli->arena, str_of(here)));
	if (agent && agent[0])
		jw_field_str(w, "agent", str_of(agent));
	for (size_t i = 0; i < countof(session_variables); i++) {
		const char *session = getenv(session_variables[i]);

		if (session && session[0]) {
			jw_field_str(w, "session", str_of(session));
			break;
		}
	}
	return EXIT_DONE;
}

/* The text of an argument, or of standard input for "-". */
static int take_text(struct cli *cli, const char *given, str *ret)
{
	struct buf b = BUF_INIT(MIB(1));
	char room[4096];
	size_t n;

	*ret = str_of(given);
	if (strcmp(given, "-") != 0)
		return EXIT_DONE;
	while ((n = fread(room, 1, sizeof room, stdin)) > 0)
		(void)buf_add(&b, room, n);
	*ret = arena_str(&cli->arena, buf_str(&b));
	if (b.full)
		return cli_fail("the text is longer than a megabyte; shorten it");
	buf_release(&b);
	return EXIT_DONE;
}

static void add_value(struct cli *cli, struct json_writer *w, const char *option)
{
	jw_field_str(w, option, str_of(cli_value(cli, option, NULL)));
}

/* --proof and the like: JSON that the user wrote, checked before it is sent. */
static int add_json(struct cli *cli, struct json_writer *w, const char *option)
{
	const char *text = cli_value(cli, option, NULL);
	struct json *v = NULL;
	struct err err = { 0 };

	if (!text)
		return EXIT_DONE;
	if (json_parse(&cli->arena, str_of(text), 0, &v, &err) < 0)
		return cli_fail("--%s is not JSON: %s", option, err.text);
	if (v->type != JSON_OBJECT)
		return cli_fail("--%s must be a JSON object, such as '{\"tests\":\"42 passed\"}'", option);
	jw_key(w, option);
	jw_value(w, v);
	return EXIT_DONE;
}

/* -- printing ---------------------------------------------------------------------------------- */

static void print_pair(const char *name, str text)
{
	if (str_empty(text))
		return;
	printf("%-10s ", name);
	cli_print_safe(text);
	putchar('\n');
}

static void print_head(struct cli *cli, const struct json *e)
{
	print_pair("effort", cell_text(e, "effort"));
	print_pair("task", cell_text(e, "task"));
	print_pair("number", cell_number(cli, e, "ordinal"));
	print_pair("skill", cell_text(e, "skill"));
	print_pair("mode", cell_text(e, "mode"));
	print_pair("agent", cell_text(e, "agent"));
	print_pair("state", cell_text(e, "state"));
	print_pair("phase", cell_text(e, "phase"));
	print_pair("goal", cell_text(e, "goal"));
	print_pair("result", cell_text(e, "result"));
}

static int print_started(struct cli *cli, const struct json *e)
{
	printf("effort ");
	cli_print_safe(cell_text(e, "effort"));
	printf(" has begun: number %lld of ", (long long)cell_int(e, "ordinal"));
	cli_print_safe(cell_text(e, "task"));
	putchar('\n');
	(void)cli;
	return EXIT_DONE;
}

static int print_phase(struct cli *cli, const struct json *e)
{
	bool same = str_eq(cell_text(e, "step"), STR("same"));

	printf(same ? "the effort is in this phase already: " : "phase ");
	cli_print_safe(cell_text(e, "phase"));
	putchar('\n');
	(void)cli;
	return EXIT_DONE;
}

static int print_noted(struct cli *cli, const struct json *e)
{
	str file = cell_text(e, "file"), trouble = cell_text(e, "trouble");

	cli_print_safe(str_empty(trouble) ? file : trouble);
	putchar('\n');
	(void)cli;
	return EXIT_DONE;
}

static int print_kept(struct cli *cli, const struct json *e)
{
	printf("kept with effort ");
	cli_print_safe(cell_text(e, "effort"));
	putchar('\n');
	(void)cli;
	return EXIT_DONE;
}

static int print_gates(struct cli *cli, const struct json *e)
{
	const struct json *gates = json_path(e, "metadata", "gates", NULL);
	const struct json *skill = json_path(e, "config", "gates", NULL);
	bool any = false;

	for (int i = 0; i < 2; i++)
		json_each(g, i ? gates : skill) {
			struct buf b = BUF_INIT(KIB(4));

			if (!i && json_get(gates, g->key))
				continue;
			any = true;
			json_write(&b, g);
			cli_print_safe(g->key);
			printf("  ");
			cli_print_safe(buf_str(&b));
			printf(i ? "\n" : "  (of the skill)\n");
			buf_release(&b);
		}
	if (!any)
		puts("no gates: nothing is asked of the agent; see: hookd help effort");
	(void)cli;
	return EXIT_DONE;
}

static int print_checklists(struct cli *cli, const struct json *e)
{
	const struct json *list = json_get(e, STR("checklists"));

	if (!list)
		return print_kept(cli, e);
	if (!json_first(list))
		puts("no checklist was found for this effort");
	json_each(c, list) {
		printf("%s  ", json_true(json_get(c, STR("processed"))) ? "done" : "open");
		cli_print_safe(cell_text(c, "path"));
		putchar('\n');
	}
	return EXIT_DONE;
}

static int print_skill(struct cli *cli, const struct json *e)
{
	const struct json *config = json_get(e, STR("config"));

	print_pair("file", cell_text(e, "file"));
	print_pair("about", cell_text(config, "description"));
	json_each(p, json_get(config, STR("phases")))
		print_pair(p == json_first(json_get(config, STR("phases"))) ? "phases" : "", json_str(p));
	(void)cli;
	return EXIT_DONE;
}

static void print_quoted(str text)
{
	putchar('\'');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\'')
			printf("'\\''");
		else if ((unsigned char)text.p[i] >= ' ')
			putchar(text.p[i]);
	}
	putchar('\'');
}

/* In this terminal, in the place of this command. */
static int run_agent(struct cli *cli, const struct launch *l, const struct json *e)
{
	char **argv = launch_argv(cli, l, NULL, 0, cell_text(e, "prompt"));

	setenv("AGENT_ID", arena_cstr(&cli->arena, cell_text(e, "effort")), 1);
	fflush(stdout);
	execvp(argv[0], argv);
	return cli_fail("%s cannot be started: %s", argv[0], strerror(errno));
}

static int print_resumed(struct cli *cli, const struct json *e)
{
	const char *agent = cli_value(cli, "agent", NULL);
	const struct launch *l = agent ? launch_find(agent) : NULL;

	if (agent && cli_has(cli, "run"))
		return run_agent(cli, l, e);
	printf("the next window of an agent in ");
	cli_print_safe(cell_text(e, "task"));
	printf(" goes on with effort ");
	cli_print_safe(cell_text(e, "effort"));
	printf("\n");
	if (l) {
		printf("\n    AGENT_ID=" STR_FMT " %s%s%s ", STR_ARG(cell_text(e, "effort")), l->program,
			l->option ? " " : "", l->option ? l->option : "");
		print_quoted(cell_text(e, "prompt"));
		printf("\n");
	}
	return EXIT_DONE;
}

static int print_finished(struct cli *cli, const struct json *e)
{
	printf("effort ");
	cli_print_safe(cell_text(e, "effort"));
	printf(" is finished\n");
	(void)cli;
	return EXIT_DONE;
}

static int print_effort(struct cli *cli, const struct json *e)
{
	print_head(cli, e);
	json_each(p, json_get(e, STR("history"))) {
		printf("%-10s ", p == json_first(json_get(e, STR("history"))) ? "phases" : "");
		cli_print_safe(cell_time(cli, p, "at_us"));
		printf("  ");
		cli_print_safe(cell_text(p, "phase"));
		if (!str_empty(cell_text(p, "reason"))) {
			printf("  because: ");
			cli_print_safe(cell_text(p, "reason"));
		}
		putchar('\n');
	}
	return EXIT_DONE;
}

static int print_list(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("efforts"));
	struct table t;

	if (!json_first(list)) {
		puts("no efforts here; begin one with: hookd effort start SKILL");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 8);
	t.firm = 3;
	table_add(&t,
		(str[]){ STR("EFFORT"), STR("AGO"), STR("STATE"), STR("NO"), STR("SKILL"), STR("PHASE"), STR("AGENT"),
			STR("TASK") });
	json_each(e, list)
		table_add(&t,
			(str[]){ cell_text(e, "effort"), cell_age(cli, e, "updated_us"), cell_text(e, "state"),
				cell_number(cli, e, "ordinal"), cell_text(e, "skill"), cell_text(e, "phase"),
				cell_text(e, "agent"), cell_text(e, "task") });
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

/* -- the actions ------------------------------------------------------------------------------- */

static int fill_start(struct cli *cli, struct json_writer *w)
{
	const char *task = cli_value(cli, "task", NULL), *phase;
	char path[PATH_MAX];

	jw_field_str(w, "skill", str_of(cli->args[1]));
	if (task && !realpath(task, path))
		return cli_fail("the task's directory %s cannot be read: %s", task, strerror(errno));
	if (task)
		jw_field_str(w, "task", arena_str(&cli->arena, str_of(path)));
	add_value(cli, w, "mode");
	add_value(cli, w, "goal");
	for (int i = 0; (phase = cli_value_at(cli, "phase", i)); i++) {
		if (i == 0) {
			jw_key(w, "phases");
			jw_array(w);
		}
		jw_str(w, str_of(phase));
	}
	if (cli_value_at(cli, "phase", 0))
		jw_end_array(w);
	return add_json(cli, w, "metadata");
}

static int fill_phase(struct cli *cli, struct json_writer *w)
{
	jw_field_str(w, "phase", str_of(cli->args[1]));
	add_value(cli, w, "reason");
	add_value(cli, w, "effort");
	return add_json(cli, w, "proof");
}

static int fill_finish(struct cli *cli, struct json_writer *w)
{
	if (cli->nargs > 1)
		jw_field_str(w, "result", str_of(cli->args[1]));
	add_value(cli, w, "effort");
	return EXIT_DONE;
}

static int fill_show(struct cli *cli, struct json_writer *w)
{
	if (cli->nargs > 1)
		jw_field_str(w, "effort", str_of(cli->args[1]));
	return EXIT_DONE;
}

static int fill_log(struct cli *cli, struct json_writer *w)
{
	struct buf b = BUF_INIT(MIB(1));
	str text;
	int r = EXIT_DONE;

	if (cli->nargs == 2) {
		r = take_text(cli, cli->args[1], &text);
	} else {
		for (int i = 1; i < cli->nargs; i++)
			buf_addf(&b, "%s%s", i > 1 ? " " : "", cli->args[i]);
		text = arena_str(&cli->arena, buf_str(&b));
	}
	buf_release(&b);
	jw_field_str(w, "text", text);
	add_value(cli, w, "effort");
	return r;
}

/* Options of a checkpoint that may be given several times. */
static const char *const checkpoint_lists[][2] = { { "done", "done" }, { "pending", "pending" },
	{ "decision", "decisions" }, { "file", "files" }, { "question", "questions" } };

static void add_lists(struct cli *cli, struct json_writer *w)
{
	for (size_t i = 0; i < countof(checkpoint_lists); i++) {
		const char *value = cli_value_at(cli, checkpoint_lists[i][0], 0);

		if (!value)
			continue;
		jw_key(w, checkpoint_lists[i][1]);
		jw_array(w);
		for (int n = 0; (value = cli_value_at(cli, checkpoint_lists[i][0], n)); n++)
			jw_str(w, str_of(value));
		jw_end_array(w);
	}
}

/* A text is prose, or a JSON object as it is. */
static int fill_checkpoint(struct cli *cli, struct json_writer *w)
{
	str text = STR_NONE;
	struct json *v = NULL;
	int r = cli->nargs > 1 ? take_text(cli, cli->args[1], &text) : EXIT_DONE;

	jw_key(w, "checkpoint");
	if (!str_empty(text) && str_trim(text).p[0] == '{' && json_parse(&cli->arena, text, 0, &v, NULL) == 0) {
		jw_value(w, v);
	} else {
		jw_object(w);
		add_value(cli, w, "goal");
		add_value(cli, w, "next");
		if (!str_empty(text))
			jw_field_str(w, "notes", str_trim(text));
		add_lists(cli, w);
		jw_end_object(w);
	}
	add_value(cli, w, "effort");
	return r;
}

static int fill_artifact(struct cli *cli, struct json_writer *w)
{
	str text = STR_NONE;
	int r = cli->nargs > 2 ? take_text(cli, cli->args[2], &text) : EXIT_DONE;

	jw_field_str(w, "type", str_of(cli->args[1]));
	jw_field_str(w, "text", text);
	add_value(cli, w, "effort");
	return r;
}

static void write_gate_value(struct json_writer *w, const char *value)
{
	int64_t n;

	if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0)
		jw_bool(w, value[1] == 'n');
	else if (str_to_int(str_of(value), &n))
		jw_int(w, n);
	else
		jw_str(w, str_of(value)); /* the daemon says what would be right */
}

static int fill_gate(struct cli *cli, struct json_writer *w)
{
	if (cli->nargs == 3) {
		jw_key(w, "set");
		jw_object(w);
		jw_key(w, "gates");
		jw_object(w);
		jw_key(w, cli->args[1]);
		write_gate_value(w, cli->args[2]);
		jw_end_object(w);
		jw_end_object(w);
	}
	add_value(cli, w, "effort");
	return EXIT_DONE;
}

static int fill_metadata(struct cli *cli, struct json_writer *w)
{
	struct json *v = NULL;
	struct err err = { 0 };
	str text;
	int r = take_text(cli, cli->args[1], &text);

	if (r != EXIT_DONE)
		return r;
	if (json_parse(&cli->arena, text, 0, &v, &err) < 0)
		return cli_fail("the metadata is not JSON: %s", err.text);
	if (v->type != JSON_OBJECT)
		return cli_fail("the metadata must be a JSON object, such as '{\"ticket\":\"X-1\"}'");
	jw_key(w, "set");
	jw_value(w, v);
	add_value(cli, w, "effort");
	return EXIT_DONE;
}

static int fill_checklist(struct cli *cli, struct json_writer *w)
{
	char path[PATH_MAX];

	if (cli->nargs > 1) {
		if (!realpath(cli->args[1], path))
			return cli_fail("%s cannot be read: %s", cli->args[1], strerror(errno));
		if (!cli_has(cli, "proof"))
			return cli_usage_error(cli,
				"'effort checklist FILE' needs --proof: what was done for its items");
		jw_field_str(w, "file", arena_str(&cli->arena, str_of(path)));
	}
	add_value(cli, w, "proof");
	add_value(cli, w, "effort");
	return EXIT_DONE;
}

static int fill_resume(struct cli *cli, struct json_writer *w)
{
	const char *agent = cli_value(cli, "agent", NULL);
	struct buf known = BUF_INIT(KIB(1));

	for (const struct launch *l = launches; l->agent; l++)
		buf_addf(&known, "%s%s", l == launches ? "" : ", ", l->agent);
	if (agent && !launch_find(agent))
		return cli_usage_error(cli, "hookd does not know how '%s' is started; it knows: %s", agent, known.p);
	buf_release(&known);
	if (cli_has(cli, "run") && !agent)
		return cli_usage_error(cli, "--run needs --agent: which one goes on");
	if (cli->nargs > 1)
		jw_field_str(w, "effort", str_of(cli->args[1]));
	if (cli_has(cli, "as"))
		add_value(cli, w, "as");
	if (cli_has(cli, "here"))
		jw_field_bool(w, "here", true);
	return EXIT_DONE;
}

static int fill_skill(struct cli *cli, struct json_writer *w)
{
	char here[PATH_MAX];

	jw_field_str(w, "skill", str_of(cli->args[1]));
	if (getcwd(here, sizeof here))
		jw_field_str(w, "cwd", arena_str(&cli->arena, str_of(here)));
	return EXIT_DONE;
}

static int fill_list(struct cli *cli, struct json_writer *w)
{
	const char *project = cli_value(cli, "project", NULL);

	if (project)
		jw_field_str(w, "project", cli_project_ref(cli, project));
	jw_field_str(w, "agent", str_of(cli_value(cli, "as", NULL)));
	if (cli_has(cli, "all"))
		jw_field_bool(w, "all", true);
	return EXIT_DONE;
}

static const struct action {
	const char *name, *method;
	int min_args, max_args; /* behind the name */
	const char *takes;
	bool is_list; /* of whoever asks nothing is said */
	int (*fill)(struct cli *cli, struct json_writer *w);
	int (*print)(struct cli *cli, const struct json *result);
} actions[] = {
	{ "start", "effort_start", 1, 1, "the name of a skill", false, fill_start, print_started },
	{ "list", "efforts", 0, 0, "nothing else", true, fill_list, print_list },
	{ "show", "effort", 0, 1, "the id of an effort, or nothing", false, fill_show, print_effort },
	{ "phase", "effort_phase", 1, 1, "the number or the label of a phase", false, fill_phase, print_phase },
	{ "finish", "effort_finish", 0, 1, "one text that says what came of it; put it in quotes", false, fill_finish,
		print_finished },
	{ "log", "effort_log", 1, ARGS_MAX - 1, "what was done, or - for standard input", false, fill_log,
		print_noted },
	{ "checkpoint", "effort_checkpoint", 0, 1, "one text, a JSON object, or - for standard input", false,
		fill_checkpoint, print_kept },
	{ "artifact", "effort_artifact", 1, 2, "a type such as PLAN, and a text or - for standard input", false,
		fill_artifact, print_noted },
	{ "gate", "effort_metadata", 2, 2, "a gate and on, off or a number; or nothing, to list them", false, fill_gate,
		print_gates },
	{ "gate", "effort", 0, 0, "a gate and on, off or a number; or nothing, to list them", false, fill_gate,
		print_gates },
	{ "metadata", "effort_metadata", 1, 1, "a JSON object, or - for standard input", false, fill_metadata,
		print_kept },
	{ "checklist", "effort_checklist", 0, 1, "the path of a CHECKLIST.md, or nothing", false, fill_checklist,
		print_checklists },
	{ "resume", "effort_resume", 0, 1, "the id of an effort, or nothing", false, fill_resume, print_resumed },
	{ "skill", "skill", 1, 1, "the name of a skill", true, fill_skill, print_skill },
};

static int run_action(struct cli *cli, const struct action *a)
{
	struct buf b = BUF_INIT(LIMIT_RPC_LINE);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = a->is_list ? EXIT_DONE : cli_add_caller(cli, &w);
	if (r == EXIT_DONE)
		r = a->fill(cli, &w);
	jw_end_object(&w);
	result = r == EXIT_DONE ? cli_ask(cli, a->method, buf_str(&b)) : NULL;
	buf_release(&b);
	if (!result)
		return r == EXIT_DONE ? EXIT_FAILED : r;
	return cli_has(cli, "json") ? cli_print_json(result) : a->print(cli, result);
}

static int run_effort(struct cli *cli)
{
	const struct action *known = NULL;

	for (const struct action *a = actions; a < actions + countof(actions); a++) {
		if (strcmp(cli->args[0], a->name) != 0)
			continue;
		if (cli->nargs - 1 >= a->min_args && cli->nargs - 1 <= a->max_args)
			return run_action(cli, a);
		known = a;
	}
	if (known)
		return cli_usage_error(cli, "'effort %s' takes %s", known->name, known->takes);
	return cli_usage_error(cli, "there is no 'effort %s'; see: hookd help effort", cli->args[0]);
}

static const struct cmd_option options[] = {
	{ "effort", 'e', "ID", false, "which one: its id, or its number in the task (default: the one of here)" },
	{ "as", 0, "ID", false, "whose: an AGENT_ID (default: the variable)" },
	{ "task", 't', "DIR", false, "start: the directory it belongs to (default: the project's root)" },
	{ "mode", 0, "NAME", false, "start: a mode of the skill" },
	{ "goal", 0, "TEXT", false, "start, checkpoint: what is to be reached" },
	{ "phase", 0, "LABEL", true, "start: a phase, such as '1: Plan'; once for each, instead of the skill's" },
	{ "metadata", 0, "JSON", false, "start: what else belongs to it" },
	{ "reason", 0, "TEXT", false, "phase: why it is not the next one's turn" },
	{ "proof", 0, "JSON", false, "phase: what was done in the phase before; checklist: a text" },
	{ "next", 0, "TEXT", false, "checkpoint: what is to be done next" },
	{ "done", 0, "TEXT", true, "checkpoint: what is done" },
	{ "pending", 0, "TEXT", true, "checkpoint: what is still to be done" },
	{ "decision", 0, "TEXT", true, "checkpoint: what was decided" },
	{ "file", 0, "PATH", true, "checkpoint: a file that must be read; at most 8" },
	{ "question", 0, "TEXT", true, "checkpoint: what is open" },
	{ "agent", 0, "NAME", false, "resume: go on in this agent: claude, codex, gemini, …" },
	{ "run", 0, NULL, false, "resume: start that agent here" },
	{ "here", 0, NULL, false, "resume: go on in this session" },
	{ "project", 'p', "NAME", false, "list: only this project's (name, path or key)" },
	{ "all", 0, NULL, false, "list: finished ones as well" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_effort = {
	.name = "effort",
	.args = "start SKILL, list, show [ID], phase LABEL, log TEXT, checkpoint [TEXT], artifact TYPE [TEXT], gate "
		"[NAME "
		"VALUE], metadata JSON, checklist [FILE], skill NAME, resume [ID], or finish [RESULT]",
	.text = "Begin, follow and finish efforts: work that survives the context window.",
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = options,
	.run = run_effort,
};
