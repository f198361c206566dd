/* doctor: proves the whole path instead of describing it.
 *
 * Each installed hook line is run as the agent would run it, with a payload of our own in that agent's
 * form, and the event is looked for in the store under its session; the event before a tool is given
 * the words of the built-in test rule, and its denial must come back as that agent wants it. These
 * events stay in the store under sessions named hookd-doctor-…, which lists leave out. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/clock.h"
#include "base/ulid.h"
#include "cli/commands.h"
#include "cli/policy.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "hooks/hooks.h"
#include "install/install.h"
#include "outbox/outbox.h"

enum { HOOK_LIMIT_MS = 5000, OUTPUT_MAX = 65536 };

enum finding { FINDING_OK, FINDING_NOTE, FINDING_BAD, FINDING_MAX };

struct doctor {
	struct cli *cli;
	struct buf json;
	struct json_writer w;
	unsigned found[FINDING_MAX];
	bool as_json;
};

static void tell(struct doctor *d, enum finding f, const char *what, const char *fmt, ...) _printf_(4, 5);
static void tell(struct doctor *d, enum finding f, const char *what, const char *fmt, ...)
{
	static const char *const signs[FINDING_MAX] = { "ok", "note", "BAD" };
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	d->found[f]++;
	if (!d->as_json) {
		printf("%-5s %-10s ", signs[f], what);
		cli_print_safe(str_of(text));
		putchar('\n');
		fflush(stdout);
		return;
	}
	jw_object(&d->w);
	jw_field_str(&d->w, "check", str_of(what));
	jw_field_str(&d->w, "finding", f == FINDING_BAD ? STR("bad") : str_of(signs[f]));
	jw_field_str(&d->w, "text", str_of(text));
	jw_end_object(&d->w);
}

/* -- paths, config, daemon -------------------------------------------------------------------- */

static void check_places(struct doctor *d)
{
	const struct paths *p = &d->cli->paths;
	const char *dirs[] = { p->state, p->data, p->run, p->journal, p->spool };
	struct stat st;

	for (size_t i = 0; i < countof(dirs); i++) {
		if (stat(dirs[i], &st) < 0)
			tell(d, FINDING_BAD, "places", "%s: %s", dirs[i], strerror(errno));
		else if (st.st_uid != geteuid())
			tell(d, FINDING_BAD, "places", "%s belongs to another user", dirs[i]);
		else if (st.st_mode & 077)
			tell(d, FINDING_BAD, "places", "%s is accessible to other users; run chmod 700 on it", dirs[i]);
	}
	if (!d->found[FINDING_BAD])
		tell(d, FINDING_OK, "places", "%s and the directories beside it are private", p->state);
}

static void check_config(struct doctor *d)
{
	struct config_problem *problems;
	struct config config;

	config_load(d->cli->paths.config, &config, &problems);
	for (const struct config_problem *p = problems; p; p = p->next)
		tell(d, FINDING_BAD, "config", "%s:%u:%u: %s", d->cli->paths.config, p->err.line, p->err.col,
			p->err.text);
	if (!problems)
		tell(d, FINDING_OK, "config", "durability %s; %s", config.values[OPTION_DURABILITY].text,
			access(d->cli->paths.config, F_OK) == 0 ? d->cli->paths.config
								: "no config file; the defaults apply");
	config_problems_free(problems);
	config_release(&config);
}

static bool check_daemon(struct doctor *d)
{
	struct json *s = NULL;
	struct err err = { 0 };
	int64_t pid = 0;
	str trouble;

	if (cli_call(d->cli, true, "status", STR_NONE, &s, &err) < 0) {
		tell(d, FINDING_BAD, "daemon", "%s", err.text);
		return false;
	}
	json_int(json_get(s, STR("pid")), &pid);
	tell(d, FINDING_OK, "daemon", "answers, pid %lld", (long long)pid);
	if (!str_eq(json_str(json_get(s, STR("version"))), STR(HOOKD_VERSION)))
		tell(d, FINDING_NOTE, "daemon", "it runs another release than this command; run: hookd restart");
	trouble = json_str(json_path(s, "store", "trouble", NULL));
	if (!str_empty(trouble))
		tell(d, FINDING_BAD, "store", STR_FMT, STR_ARG(trouble));
	else
		tell(d, FINDING_OK, "store", "open and up to date");
	trouble = json_str(json_path(s, "journal", "trouble", NULL));
	if (!str_empty(trouble))
		tell(d, FINDING_BAD, "journal", STR_FMT, STR_ARG(trouble));
	return true;
}

/* -- hook lines -------------------------------------------------------------------------------- */

/* How agents differ in what they send and understand. */
static const struct form {
	const char *agent;
	const char *shell_tool;
	const char *more;      /* members that only this agent sends */
	const char *response;  /* of a tool */
	const char *denial[3]; /* where in the answer "deny" must be */
	bool denies_by_exit;   /* instead: exit code 2, and the reason on stderr */
	const char *note;
} forms[] = {
	{ .agent = "claude",
		.shell_tool = "Bash",
		.more = "\"tool_use_id\":\"hookd-doctor\"",
		.response = "{\"stdout\":\"\"}",
		.denial = { "hookSpecificOutput", "permissionDecision" } },
	{ .agent = "codex",
		.shell_tool = "Bash",
		.more = "\"tool_use_id\":\"hookd-doctor\",\"turn_id\":\"hookd-doctor\",\"transcript_path\":null,"
			"\"model\":\"none\",\"permission_mode\":\"default\"",
		.response = "\"\"",
		.denial = { "hookSpecificOutput", "permissionDecision" } },
	{ .agent = "gemini",
		.shell_tool = "run_shell_command",
		.more = "\"transcript_path\":\"\"",
		.response = "{\"llmContent\":\"\",\"returnDisplay\":\"\"}",
		.denial = { "decision" },
		.note = "it runs no hooks in untrusted folders; nothing is captured there" },
	{ .agent = "copilot",
		.shell_tool = "bash",
		.more = "\"timestamp\":0",
		.response = "{\"resultType\":\"success\",\"textResultForLlm\":\"\"}",
		.denial = { "permissionDecision" },
		.note = "it runs the hooks of a project only in trusted folders; those of the user always" },
	{ .agent = "cursor",
		.shell_tool = "Shell",
		.more = "\"generation_id\":\"hookd-doctor\"",
		.response = "\"\"",
		.denial = { "permission" },
		.note = "this is written from its documentation: no release of it can be tested offline" },
	{ .agent = "windsurf",
		.shell_tool = "Bash",
		.more = "\"execution_id\":\"hookd-doctor\"",
		.response = "\"\"",
		.denies_by_exit = true,
		.note = "this is written from its documentation: no release of it can be tested offline" },
};

static const struct form *form_of(const struct agent *agent)
{
	for (size_t i = 0; i < countof(forms); i++)
		if (strcmp(forms[i].agent, agent->name) == 0)
			return &forms[i];
	return &forms[0];
}

static void write_hook_payload(struct buf *b, const struct agent *agent, const char *session, str event)
{
	const struct form *f = form_of(agent);
	struct json_writer w = JSON_WRITER(b);
	char cwd[FS_PATH];

	jw_object(&w);
	jw_field_str(&w, "session_id", str_of(session));
	jw_field_str(&w, "hook_event_name", event);
	jw_field_str(&w, "cwd", str_of(getcwd(cwd, sizeof cwd)));
	jw_field_str(&w, "prompt", STR("hookd doctor"));
	jw_field_str(&w, "tool_name", str_of(f->shell_tool));
	jw_key(&w, "tool_input");
	jw_object(&w);
	jw_field_str(&w, "command", STR("echo hookd-selftest-deny"));
	jw_end_object(&w);
	if (agent_kind_of(agent, event) == EVENT_POST_TOOL_USE) {
		jw_key(&w, "tool_response");
		jw_raw(&w, str_of(f->response));
	}
	buf_addf(b, ",%s", f->more);
	jw_end_object(&w);
}

/* What Codex hands to its notify program. */
static void write_notify_payload(struct buf *b, const char *session)
{
	struct json_writer w = JSON_WRITER(b);
	char cwd[FS_PATH];

	jw_object(&w);
	jw_field_str(&w, "type", STR("agent-turn-complete"));
	jw_field_str(&w, "thread-id", str_of(session));
	jw_field_str(&w, "turn-id", STR("hookd-doctor"));
	jw_field_str(&w, "cwd", str_of(getcwd(cwd, sizeof cwd)));
	jw_key(&w, "input-messages");
	jw_array(&w);
	jw_str(&w, STR("hookd doctor"));
	jw_end_array(&w);
	jw_field_str(&w, "last-assistant-message", STR("hookd doctor"));
	jw_end_object(&w);
}

/* A line as the agent would run it, and what it gets on stdin. */
struct call {
	char **argv;
	str input;
};

static void make_call(struct doctor *d, const struct agent *agent, const struct install_entry *e, const char *session,
	struct call *ret)
{
	struct arena *a = &d->cli->arena;
	struct buf b = BUF_INIT(2 * FS_PATH + 1024);
	size_t n = 0;

	if (e->is_notify)
		write_notify_payload(&b, session);
	else
		write_hook_payload(&b, agent, session, e->event);
	ret->input = arena_str(a, buf_str(&b));
	ret->argv = arena_alloc(a, (e->nargs + 4) * sizeof *ret->argv);
	if (e->shell) {
		ret->argv[n++] = (char *)"/bin/sh";
		ret->argv[n++] = (char *)"-c";
	}
	ret->argv[n++] = (char *)arena_cstr(a, e->command);
	for (size_t i = 0; i < e->nargs; i++)
		ret->argv[n++] = (char *)arena_cstr(a, e->args[i]);
	if (e->is_notify) {
		ret->argv[n++] = (char *)arena_cstr(a, ret->input);
		ret->input = STR("");
	}
	buf_release(&b);
}

/* Everything the process writes, until it ends or the time is up. */
static void collect(int fd, pid_t pid, struct buf *out)
{
	int64_t until = clock_mono_us() + HOOK_LIMIT_MS * USEC_PER_MSEC;

	while (true) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = (until - clock_mono_us()) / USEC_PER_MSEC;
		char *to = buf_reserve(out, 4096);
		ssize_t n = left > 0 && to && poll(&p, 1, (int)left) > 0 ? read(fd, to, 4096) : -1;

		if (n < 0)
			kill(pid, SIGKILL);
		if (n <= 0)
			return;
		buf_commit(out, (size_t)n);
	}
}

/* Runs a call with nothing but HOME in its environment. The exit code, or -errno. */
static int fire(struct doctor *d, const struct call *call, struct buf *out)
{
	char *home = arena_alloc(&d->cli->arena, FS_PATH), *env[] = { home, NULL };
	posix_spawn_file_actions_t actions;
	int in[2], back[2], r, status;
	pid_t pid;

	snprintf(home, FS_PATH, "HOME=%.*s", FS_PATH - 8, d->cli->paths.home[0] ? d->cli->paths.home : "/");
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, back[1], 1);
	posix_spawn_file_actions_adddup2(&actions, back[1], 2);
	r = posix_spawn(&pid, call->argv[0], &actions, NULL, call->argv, env);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(back[1]);
	signal(SIGPIPE, SIG_IGN);
	if (r == 0)
		(void)fs_write_all(in[1], call->input.p, call->input.n);
	close(in[1]);
	if (r == 0)
		collect(back[0], pid, out);
	close(back[0]);
	if (r != 0)
		return -r;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

/* Whether the answer denies in the agent's own form. */
static bool says_deny(struct doctor *d, const struct agent *agent, int exit_code, str answer)
{
	const struct form *f = form_of(agent);
	struct json *v = NULL;

	if (f->denies_by_exit)
		return exit_code == 2 && str_find(answer, STR("hookd-selftest-deny")) >= 0;
	if (json_parse(&d->cli->arena, arena_str(&d->cli->arena, answer), 0, &v, NULL) < 0)
		return false;
	for (size_t i = 0; v && f->denial[i]; i++)
		v = json_get(v, str_of(f->denial[i]));
	return str_eq(json_str(v), STR("deny"));
}

/* How many events of that session and name (any, when it is not set) the store has. */
static int count_stored(struct doctor *d, const char *session, str event)
{
	struct json *result = NULL;
	struct err err = { 0 };
	int n = 0;

	if (cli_call(d->cli, false, "events", arena_strf(&d->cli->arena, "{\"session\":\"%s\",\"limit\":100}", session),
		    &result, &err) < 0)
		return 0;
	json_each(e, json_get(result, STR("events")))
		n += !str_is_set(event) || str_eq(json_str(json_get(e, STR("native_event"))), event);
	return n;
}

static void check_line(struct doctor *d, const struct agent *agent, const struct install_entry *e)
{
	char session[64], id[ULID_TEXT + 1];
	struct ulid u = ulid_make();
	struct buf out = BUF_INIT(OUTPUT_MAX);
	bool decides = agent_kind_of(agent, e->event) == EVENT_PRE_TOOL_USE, denied;
	struct call call;
	int64_t began;
	int exit_code, stored;

	ulid_format(&u, id);
	snprintf(session, sizeof session, "hookd-doctor-%s", id);
	make_call(d, agent, e, session, &call);
	began = clock_mono_us();
	exit_code = fire(d, &call, &out);
	began = clock_mono_us() - began;
	stored = count_stored(d, session, e->is_notify ? STR_NONE : e->event);
	denied = says_deny(d, agent, exit_code, buf_str(&out));
	if (exit_code < 0)
		tell(d, FINDING_BAD, agent->name, STR_FMT ": " STR_FMT " cannot be run: %s", STR_ARG(e->event),
			STR_ARG(e->command), strerror(-exit_code));
	else if (exit_code != 0 && !(denied && form_of(agent)->denies_by_exit))
		tell(d, FINDING_BAD, agent->name, STR_FMT ": the hook exited with %d: " STR_FMT, STR_ARG(e->event),
			exit_code, STR_ARG(str_head(buf_str(&out), 200)));
	else if (stored != 1)
		tell(d, FINDING_BAD, agent->name, STR_FMT ": the event is in the store %d times instead of once",
			STR_ARG(e->event), stored);
	else if (decides && !denied)
		tell(d, FINDING_BAD, agent->name, STR_FMT ": the test rule's denial did not come back",
			STR_ARG(e->event));
	else
		tell(d, e->current ? FINDING_OK : FINDING_NOTE, agent->name,
			STR_FMT ": fired, stored once%s (%.1f ms)%s", STR_ARG(e->event),
			denied ? ", denial came back" : "", (double)began / 1000,
			e->current ? "" : "; it calls another hookc or state directory than this one; run: hookd init");
	buf_release(&out);
}

/* A hook that works but is never run goes unnoticed: the agent says nothing. */
static void check_trust(struct doctor *d, const struct agent *agent, const struct install_entry *entries)
{
	unsigned all = 0, untrusted = 0, disabled = 0;

	for (const struct install_entry *e = entries; e; e = e->next) {
		all += e->trust != INSTALL_TRUST_NONE;
		untrusted += e->trust == INSTALL_UNTRUSTED;
		disabled += e->trust == INSTALL_DISABLED;
	}
	if (untrusted)
		tell(d, FINDING_BAD, agent->name, "%s skips %u of %u hooks until you trust them: %s", agent->label,
			untrusted, all, install_how_to_trust(agent));
	if (disabled)
		tell(d, FINDING_NOTE, agent->name, "%u of %u hooks are switched off in %s", disabled, all,
			agent->label);
	if (all && !untrusted && !disabled)
		tell(d, FINDING_OK, agent->name, "%s trusts all %u hooks", agent->label, all);
}

/* What init would say about the files. */
static void check_files(struct doctor *d, const struct install_request *q)
{
	struct install_plan plan;
	struct err err;

	if (install_plan_add(q, &d->cli->arena, &plan, &err) < 0)
		return;
	for (unsigned i = 0; i < plan.n; i++)
		if (str_is_set(plan.files[i].note))
			tell(d, FINDING_NOTE, q->agent->name, "%s: " STR_FMT, plan.files[i].path,
				STR_ARG(plan.files[i].note));
}

/* What rules may ask for and this agent cannot do. */
static void check_verbs(struct doctor *d, const struct agent *agent)
{
	static const struct {
		unsigned verb;
		const char *text;
	} verbs[] = {
		{ TAKES_DENY, "it cannot be stopped from making a call: rules are only recorded" },
		{ TAKES_ASK, "its hooks cannot ask the user: where a rule would ask, the call is denied" },
		{ TAKES_INPUT, "it does not accept changed input" },
		{ TAKES_CONTEXT, "it does not accept added context" },
		{ TAKES_MORE, "it cannot be made to continue at the end of a turn" },
	};

	for (size_t i = 0; i < countof(verbs); i++)
		if (!(agent_takes_anywhere(agent) & verbs[i].verb))
			tell(d, FINDING_NOTE, agent->name, "%s", verbs[i].text);
}

/* A denial that was ignored: the agent discarded the answer or does not run the hook. */
static void check_heeded(struct doctor *d)
{
	struct json *result = NULL;
	struct err err = { 0 };

	if (cli_call(d->cli, false, "rule_counts", STR_NONE, &result, &err) < 0)
		return;
	json_each(rule, json_get(result, STR("rules")))
		if (cell_int(rule, "ran_anyway"))
			tell(d, FINDING_BAD, "rules",
				"%lld calls that " STR_FMT " denied ran anyway; see: hookd decisions --rule " STR_FMT,
				(long long)cell_int(rule, "ran_anyway"), STR_ARG(cell_text(rule, "rule")),
				STR_ARG(cell_text(rule, "rule")));
}

static void check_rules(struct doctor *d)
{
	struct policy_view view;

	policy_view_load(d->cli, false, &view);
	if (view.problems)
		tell(d, FINDING_BAD, "rules", "%u parts of your rules are ignored; see: hookd guard validate",
			view.problems);
	if (policy_difference(&view))
		tell(d, FINDING_NOTE, "rules", "%s", policy_difference(&view));
	if (guard_policy_observes(view.in_force, STR("")))
		tell(d, FINDING_NOTE, "rules", "guard.mode is observe: nothing is denied or asked about");
	policy_view_release(&view);
}

/* The user's own hooks: what is wrong with them, and whether those that need a model have one. */
static void check_user_hooks(struct doctor *d)
{
	const struct hooks_where where = { .home = d->cli->paths.home,
		.user_config = d->cli->paths.config,
		.state = d->cli->paths.state };
	struct hook_set *s = hooks_load(&where);
	struct json *status = NULL;
	unsigned asks = 0;
	str state;

	for (const struct hook_source *source = s->sources; source; source = source->next)
		for (const struct hook_problem *p = source->problems; p; p = p->next)
			tell(d, p->error ? FINDING_BAD : FINDING_NOTE, "hooks", STR_FMT ":%u:%u: " STR_FMT,
				STR_ARG(source->path), p->line, p->col, STR_ARG(p->text));
	for (unsigned i = 0; i < s->count; i++)
		asks += s->all[i]->type == HOOK_PROMPT && s->all[i]->state == HOOK_LIVE;
	hook_set_unref(s);
	if (cli_call(d->cli, false, "status", STR_NONE, &status, NULL) < 0)
		return;
	state = json_str(json_path(status, "model", "state", NULL));
	if (asks && str_eq(state, STR("off")))
		tell(d, FINDING_NOTE, "hooks", "there are prompt hooks (%u) but no model to ask: each of them fails",
			asks);
	if (!str_empty(json_str(json_path(status, "model", "trouble", NULL))))
		tell(d, FINDING_NOTE, "model", STR_FMT ": " STR_FMT, STR_ARG(state),
			STR_ARG(json_str(json_path(status, "model", "trouble", NULL))));
	else if (str_is_set(json_str(json_path(status, "model", "model", NULL))))
		tell(d, FINDING_OK, "model", STR_FMT "; to ask it something: hookd model test", STR_ARG(state));
}

/* What can be seen of the sinks without sending anything, and how they fared. */
static void check_sinks(struct doctor *d)
{
	struct err err = { 0 };
	struct sinks *sinks = sinks_load(d->cli->paths.config, NULL, d->cli->paths.home, &err);
	struct json *status = NULL;
	char text[200];

	for (const struct sink_problem *p = sinks ? sinks->problems : NULL; p; p = p->next)
		if (p->err.code != -EBADMSG) /* else the config has been said to be broken */
			tell(d, FINDING_BAD, "sinks", "%s:%u:%u: %s", d->cli->paths.config, p->err.line, p->err.col,
				p->err.text);
	for (size_t i = 0; sinks && i < sinks->n; i++) {
		const struct sink *s = sinks->list[i];

		if (!s->enabled)
			tell(d, FINDING_NOTE, "sinks", STR_FMT " is switched off", STR_ARG(s->name));
		else if (!sink_check(s, text))
			tell(d, FINDING_BAD, "sinks", STR_FMT ": %s", STR_ARG(s->name), text);
		else
			tell(d, FINDING_OK, "sinks",
				STR_FMT " (%s) could be used; to try it: hookd sinks test " STR_FMT, STR_ARG(s->name),
				sink_type_names[s->type], STR_ARG(s->name));
	}
	sinks_unref(sinks);
	if (cli_call(d->cli, false, "status", STR_NONE, &status, NULL) < 0)
		return;
	json_each(s, json_get(status, STR("sinks"))) {
		str name = cell_text(s, "name");

		if (!str_empty(cell_text(s, "trouble")))
			tell(d, FINDING_NOTE, "sinks", STR_FMT " is " STR_FMT ": " STR_FMT, STR_ARG(name),
				STR_ARG(cell_text(s, "state")), STR_ARG(cell_text(s, "trouble")));
		if (cell_int(s, "dead"))
			tell(d, FINDING_NOTE, "sinks",
				"%lld deliveries to " STR_FMT " were given up; see: hookd outbox",
				(long long)cell_int(s, "dead"), STR_ARG(name));
	}
}

/* Starts the server as the agent would, and asks for its tools. */
static void check_server(struct doctor *d, const struct agent *agent, const struct install_entry *e)
{
	struct call call = { .input = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
					  "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
					  "\"clientInfo\":{\"name\":\"hookd-doctor\",\"version\":\"1\"}}}\n"
					  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n") };
	struct buf out = BUF_INIT(OUTPUT_MAX);
	struct arena *a = &d->cli->arena;
	int exit_code;

	call.argv = arena_alloc(a, (e->nargs + 2) * sizeof *call.argv);
	call.argv[0] = (char *)arena_cstr(a, e->command);
	for (size_t i = 0; i < e->nargs; i++)
		call.argv[i + 1] = (char *)arena_cstr(a, e->args[i]);
	call.argv[e->nargs + 1] = NULL;
	exit_code = fire(d, &call, &out);
	if (exit_code < 0)
		tell(d, FINDING_BAD, agent->name, "mcp: " STR_FMT " cannot be run: %s; run: hookd init --mcp",
			STR_ARG(e->command), strerror(-exit_code));
	else if (str_find(buf_str(&out), STR("\"tools\":[{")) < 0)
		tell(d, FINDING_BAD, agent->name, "mcp: the registered server lists no tools (exit code %d)",
			exit_code);
	else
		tell(d, e->current ? FINDING_OK : FINDING_NOTE, agent->name, "mcp: registered, lists its tools%s",
			e->current
				? ""
				: "; it calls another hookd or state directory than this one; run: hookd init --mcp");
	buf_release(&out);
}

static void check_mcp(struct doctor *d, struct install_request q)
{
	struct install_entry *entries = NULL;
	struct err err = { 0 };
	bool found = false;

	if (q.project)
		return;
	q.mcp = true;
	if (install_list(&q, &d->cli->arena, &entries, &err) < 0) {
		tell(d, FINDING_BAD, q.agent->name, "mcp: %s", err.text);
		return;
	}
	for (const struct install_entry *e = entries; e; e = e->next)
		if (e->is_mcp) {
			check_server(d, q.agent, e);
			found = true;
		}
	if (!found)
		tell(d, FINDING_OK, q.agent->name,
			"mcp: not registered (hookd init --mcp would let it search what was captured)");
}

static void check_agent(struct doctor *d, const struct agent *agent)
{
	char project[FS_PATH], hookc[FS_PATH];
	struct install_request q = { .agent = agent,
		.home = getenv("HOME"),
		.hookc = hookc,
		.state = d->cli->paths.state };
	const char *self = cli_self_path(d->cli), *slash = strrchr(self, '/');
	struct install_entry *entries = NULL;
	struct err err = { 0 };
	int r;

	snprintf(hookc, sizeof hookc, "%.*s/hookc", slash ? (int)(slash - self) : 1, slash ? self : ".");
	if (cli_has(d->cli, "project"))
		q.project = getcwd(project, sizeof project);
	r = install_list(&q, &d->cli->arena, &entries, &err);
	if (r == -EOPNOTSUPP)
		return;
	if (r < 0) {
		tell(d, FINDING_BAD, agent->name, "%s", err.text);
		return;
	}
	if (!entries) {
		if (install_agent_found(&q))
			tell(d, FINDING_NOTE, agent->name,
				"%s is installed but not connected to hookd; run: hookd init", agent->label);
		return;
	}
	for (const struct install_entry *e = entries; e; e = e->next)
		check_line(d, agent, e);
	check_trust(d, agent, entries);
	check_files(d, &q);
	check_mcp(d, q);
	check_verbs(d, agent);
	if (form_of(agent)->note)
		tell(d, FINDING_NOTE, agent->name, "%s", form_of(agent)->note);
}

/* -- all --------------------------------------------------------------------------------------- */

static void show_duties(struct doctor *d)
{
	char every[CLOCK_TEXT];

	for (const struct duty *duty = daemon_duties; duty->text; duty++) {
		clock_format_age(duty->every_us, every);
		tell(d, FINDING_OK, "janitor", "%s, every %s", duty->text, every);
	}
}

static int run(struct cli *cli)
{
	struct doctor d = { .cli = cli, .as_json = cli_has(cli, "json") };
	struct err err = { 0 };

	buf_init(&d.json, 1 << 20);
	d.w = (struct json_writer)JSON_WRITER(&d.json);
	if (paths_make(&cli->paths, &err) < 0)
		return cli_fail("%s", err.text);
	jw_object(&d.w);
	jw_key(&d.w, "checks");
	jw_array(&d.w);
	check_places(&d);
	check_config(&d);
	if (check_daemon(&d))
		for (size_t i = 0; agents[i]; i++)
			check_agent(&d, agents[i]);
	check_rules(&d);
	check_user_hooks(&d);
	check_sinks(&d);
	check_heeded(&d);
	if (cli_has(cli, "verbose"))
		show_duties(&d);
	jw_end_array(&d.w);
	jw_field_bool(&d.w, "ok", !d.found[FINDING_BAD]);
	jw_end_object(&d.w);
	if (d.as_json)
		puts(d.json.p);
	else
		puts(d.found[FINDING_BAD] ? "\nsomething needs attention; see the lines marked BAD" : "\nall is well");
	buf_release(&d.json);
	return d.found[FINDING_BAD] ? EXIT_FAILED : EXIT_DONE;
}

static const struct cmd_option doctor_options[] = {
	{ "project", 0, NULL, false, "check the hooks of the project in this directory" },
	{ "verbose", 'v', NULL, false, "also list what the janitor does" },
	{ "json", 0, NULL, false, "print JSON" },
	{ 0 },
};

const struct cmd cmd_doctor = {
	.name = "doctor",
	.args = "",
	.text = "Prove that every installed hook works, by sending a real event through it.",
	.options = doctor_options,
	.run = run,
};
