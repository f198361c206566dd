/* pack_self: hookd itself. An agent must not be able to switch off what watches it. */
#include "guard/internal.h"

static const char harmful[] = "stop uninstall purge restore restart retention offline trust untrust reload";

/* With another state directory than the user's these start a second hookd, or fill one. */
static const char starters[] = "start run init import";

/* What rpc may be asked without changing anything. */
static const char rpc_reads[] = "hello ops status sessions show events event session_events "
				"activities plans plan transcripts search usage decisions backtest "
				"rule_counts rules stats projects hooks hooks_history check purge_preview";

static void do_hookd(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "", .longs = "dir token-file", .posix = true };
	struct arg a;
	str next;

	if (cmd_has(c, "--token-file"))
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "the owner's token is not for agents");
	if (cmd_env(c, STR("HOME")).n || cmd_env(c, STR("XDG_STATE_HOME")).n || cmd_env(c, STR("XDG_CONFIG_HOME")).n)
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this leads hookd to another home than the user's");
	while (args_next(&it, &a)) {
		if (!a.operand)
			continue;
		next = it.i < c->n ? c->v[it.i] : STR("");
		if (cmd_has(c, "--help") || cmd_has(c, "--dry-run"))
			return;
		if (str_in(a.value, harmful) || (str_in(a.value, "rpc") && !str_in(next, rpc_reads)) ||
			(str_in(a.value, "config") && str_in(next, "set edit unset")) ||
			(str_in(a.value, "hooks trust guard rules init db") &&
				str_in(next,
					"disable observe enforce off remove add trust untrust allow enable edit "
					"set delete approve pause mode import vacuum repair reload register "
					"unregister")))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would change or stop the guard itself");
		if (str_in(a.value, starters) && cmd_has(c, "--dir"))
			FAULT(x, c, RULE_SELF, VERDICT_DENY,
				"this leads hookd to another state directory than the user's");
		if (str_in(a.value, "token url"))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this prints what lets somebody in as the user of hookd");
		if (str_in(a.value, "mcp"))
			FAULT(x, c, RULE_SELF, VERDICT_ASK,
				"this asks hookd by hand for what agents ask through its MCP server");
		return;
	}
}

/* Events come from an agent's hooks, not from its commands. */
static void do_hookc(struct run *x, struct cmd *c)
{
	if (c->n > 1 && !cmd_has(c, "--version") && !cmd_has(c, "--help"))
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this reports made-up events to hookd");
}

static bool names_hookd(str word)
{
	return str_has_nocase(word, "hookd") || str_in_nocase(word, "hookc");
}

static void do_service(struct run *x, struct cmd *c)
{
	bool harm = false, ours = false;

	for (size_t i = 1; i < c->n; i++) {
		harm |= str_in(c->v[i],
			"stop disable mask kill restart edit revert try-restart "
			"bootout unload remove isolate freeze delete");
		ours |= names_hookd(c->v[i]);
	}
	if (harm && ours)
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would stop the guard itself");
}

/* fuser -k 7717/tcp */
static void do_fuser(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if ((str_has(c->v[i], "7717") || names_hookd(c->v[i])) && (cmd_has(c, "-k") || cmd_has(c, "--kill")))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would end the guard itself");
}

/* Variables that lead an agent to other settings, and with them away from its hooks. */
static const char *const leading[] = { "HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME",
	"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT" };

/* What only tells, or manages the agent itself. */
static bool starts_no_agent(const struct cmd *c)
{
	return cmd_has(c, "--help") || cmd_has(c, "--version") ||
		row_matches(c, "mcp|doctor|update|login|logout|config|plugin|install");
}

/* Another agent without supervision; flags that switch hooks or questions off are in descriptors. */
static void do_agent(struct run *x, struct cmd *c)
{
	if (starts_no_agent(c))
		return;
	for (size_t i = 0; i < countof(leading); i++) {
		const struct fact *f = fact_find(x, x->st.facts, FACT_VAR, str_of(leading[i]));

		if (f && !str_eq(f->value, x->c->home))
			FAULT(x, c, RULE_SELF, str_is_set(cmd_env(c, f->key)) ? VERDICT_DENY : VERDICT_ASK,
				"this starts another agent with other settings than the user's (%s)", leading[i]);
	}
	if (x->elevated || x->contained)
		FAULT(x, c, RULE_SELF, VERDICT_ASK, "this starts another agent where the hooks that watch it are not");
}

/* Debuggers change what they are attached to. */
static void do_attacher(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i + 1 < c->n; i++)
		if ((str_in(c->v[i], "-p --pid --attach") && names_hookd(c->v[i + 1])))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this takes hold of the guard itself");
}

static void do_killer(struct run *x, struct cmd *c)
{
	/* killall -r 'hook.' */
	for (size_t i = 1; i < c->n && cmd_has(c, "-r"); i++)
		if (c->v[i].n > 2 && c->v[i].p[0] != '-' && str_has_nocase(c->v[i], "hook"))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would end the guard itself");
	for (size_t i = 1; i < c->n; i++)
		if (names_hookd(c->v[i]) && !cmd_has(c, "-0"))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would end the guard itself");
	if (str_eq(c->name, STR("kill")))
		return;
}

/* Programs that would change a file they are given, other than those which judge_write() hears of.
 */
static void do_changer(struct run *x, struct cmd *c)
{
	bool reads = false, shared;

	if (str_in(c->name, "sqlite3 sqlite")) {
		reads = true;
		for (size_t i = 2; i < c->n; i++)
			reads &= str_starts(str_lower(x->a, str_trim(c->v[i])), STR("select")) || c->v[i].p[0] == '-' ||
				str_starts(c->v[i], STR(".schema")) || str_starts(c->v[i], STR(".tables"));
	}
	for (size_t i = 1; i < c->n && !reads; i++)
		if (c->v[i].n && c->v[i].p[0] != '-' && is_protected(x, path_resolve(x, c->v[i]), &shared))
			FAULT(x, c, RULE_SELF, VERDICT_DENY,
				"this would change " STR_FMT ", which the guard depends on", STR_ARG(c->v[i]));
}

const struct handler pack_self[] = {
	{ "hookd", do_hookd },
	{ "hookc", do_hookc },
	{ "fuser", do_fuser },
	{ "attacher", do_attacher },
	{ "agent", do_agent },
	{ "service", do_service },
	{ "killer", do_killer },
	{ "changer", do_changer },
	{ 0 },
};
