/* The table of operations: what can be asked, with which parameters, by whom. Everything that speaks of operations
 * (checks, JSON Schema, the reference in docs/) is made from these rows. */
#include "api/ops.h"
#include "api/ops_store.h"
#include "hooks/hooks.h"

/* -- parameters that many have ----------------------------------------------------------------- */

#define PROJECT                                                                                              \
	{                                                                                                    \
		"project", OP_PROJECT, .text = "only this project's (name, path or key), with its worktrees" \
	}
#define AGENT                                                 \
	{                                                     \
		"agent", OP_TEXT, .text = "only this agent's" \
	}
#define SINCE                                                        \
	{                                                            \
		"since", OP_TIME, .text = "only what happened since" \
	}
#define UNTIL                                                         \
	{                                                             \
		"until", OP_TIME, .text = "only what happened before" \
	}
#define SESSION                                                                                     \
	{                                                                                           \
		"session", OP_SESSION, .text = "only this session's (id, beginning of one, or key)" \
	}
#define THE_SESSION                                                                                                 \
	{                                                                                                           \
		"session", OP_SESSION, OP_REQUIRED, .text = "the session: its id, the beginning of one, or its key" \
	}
#define LIMIT(fallback_, max_)                                                                           \
	{                                                                                                \
		"limit", OP_INT, .min = 1, .max = max_, .fallback = fallback_, .text = "at most so many" \
	}
#define ALL                                                                       \
	{                                                                         \
		"all", OP_BOOL, .text = "with sessions in which nothing happened" \
	}
#define DRY_RUN                                                           \
	{                                                                 \
		"dry_run", OP_BOOL, .text = "only say what would be done" \
	}

static const char *const statuses[] = { "active", "completed", NULL };
static const char *const decisions[] = { "allow", "ask", "deny", NULL };
static const char *const groupings[] = { "day", "week", "project", "agent", "model", "session", "total", NULL };

#define PARAMS (const struct op_param[])

static const struct op_param purge_params[] = {
	{ "sessions", OP_SESSION, OP_REPEATED, .text = "these sessions (ids, beginnings of ids, or keys)" },
	{ "project", OP_PROJECT, .text = "sessions of this project" },
	{ "agent", OP_TEXT, .text = "sessions of this agent" },
	{ "before_us", OP_TIME, .text = "sessions whose last event is older" },
	{ "match", OP_TEXT, .text = "only the events that hold this text" },
	{ "keep_backups", OP_BOOL, .text = "leave automatic backups as they are" },
	{ "all_copies", OP_BOOL, .text = "delete backups made by hand and files set aside as well" },
	{ 0 },
};

/* -- the rows ---------------------------------------------------------------------------------- */

#define READS OP_READER, .flags = OP_IS_READ, .lane = LOOP_PEOPLE, .budget_ms = 10000
#define READS_FOR_AGENTS \
	OP_READER, .flags = OP_IS_READ | OP_MCP, .lane = LOOP_PEOPLE, .budget_ms = 10000, .scope = OP_AGENT
/* Takes as long as it takes. */
#define SCANS OP_READER, .flags = OP_IS_READ, .lane = LOOP_PEOPLE
#define CHANGES .flags = OP_MUTATES, .lane = LOOP_PEOPLE

const struct op ops[] = {
	{ "hello", "Version, protocol number and process id of the daemon.", OP_LOOP, op_hello, .flags = OP_IS_READ,
		.scope = OP_VIEWER },
	{ "ops", "The operations there are, with their parameters as JSON Schema.", OP_LOOP, op_ops,
		.flags = OP_IS_READ, .scope = OP_VIEWER,
		.params = PARAMS{ { "method", OP_TEXT, .text = "only this one" }, { 0 } } },
	{ "status", "Counters, queues, cost and trouble of the daemon.", OP_LOOP, op_status, .flags = OP_IS_READ,
		.scope = OP_VIEWER },
	{ "stop", "Ends the daemon after everything under way is answered and stored.", OP_LOOP, op_stop,
		.flags = OP_MUTATES },
	{ "sessions", "Sessions, newest first.", READS_FOR_AGENTS, .run = op_sessions,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL,
			{ "status", OP_ENUM, .choices = statuses, .text = "only those" },
			{ "query", OP_TEXT, .text = "only those with this in the title" }, LIMIT(50, 10000), ALL,
			{ "after", OP_INT, .text = "a key: from there on, oldest first" }, { 0 } } },
	{ "show", "One session: windows, prompts with what was done for them, plans, numbers.", READS_FOR_AGENTS,
		.run = op_show,
		.params = PARAMS{ THE_SESSION, { "skip", OP_INT, .text = "so many prompts" }, LIMIT(10000, 10000),
			{ 0 } } },
	{ "events", "The newest events, or those after a number.", READS, .run = op_events,
		.params = PARAMS{ PROJECT, AGENT, SESSION, LIMIT(20, 100000),
			{ "after", OP_INT, .text = "a number of an event: those that came later, oldest first" },
			{ 0 } } },
	{ "event", "One event by its key.", READS, .run = op_event,
		.params = PARAMS{ { "id", OP_TEXT, OP_REQUIRED, .text = "the 26 letters of its key" }, { 0 } } },
	{ "session_events", "All events of a session in order.", SCANS, .run = op_session_events,
		.params = PARAMS{ THE_SESSION, { "cursor", OP_TEXT, .text = "what the last answer gave, to go on" },
			LIMIT(10000, 100000), { 0 } } },
	{ "activities", "Tool calls, newest first.", READS, .run = op_activities,
		.params = PARAMS{ SESSION, LIMIT(50, 100000), { 0 } } },
	{ "plans", "Plans, newest first.", READS_FOR_AGENTS, .run = op_plans,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL, SESSION, LIMIT(50, 10000), ALL, { 0 } } },
	{ "plan", "One plan with all its versions.", READS_FOR_AGENTS, .run = op_plan,
		.params = PARAMS{ { "plan", OP_TEXT, OP_REQUIRED | OP_OR_NUMBER, .text = "its key, path or file name" },
			SESSION, { 0 } } },
	{ "transcripts", "How far each transcript has been imported.", READS, .run = op_transcripts,
		.params = PARAMS{ { "after", OP_TEXT, .text = "a path, to go on" }, LIMIT(1000, 10000), { 0 } } },
	{ "settle", "Folds sessions again that an import left for later. Answers how many are left.", OP_WRITER,
		op_settle, CHANGES },
	{ "search", "Prompts, answers, commands and plans by their words.", READS_FOR_AGENTS, .run = op_search,
		.params = PARAMS{ { "query", OP_TEXT, .text = "words, \"phrases\", and beginnings such as parse*" },
			{ "in", OP_TEXT, .text = "prompts, answers, commands, plans or sessions (all but plans)" },
			PROJECT, AGENT, SINCE, UNTIL, LIMIT(20, 10000), ALL, { 0 } } },
	{ "usage", "Tokens and an estimate of their cost.", READS, .run = op_usage,
		.params = PARAMS{ { "by", OP_ENUM, .choices = groupings, .text = "how to group; by day unless told" },
			PROJECT, AGENT, SINCE, UNTIL, LIMIT(100, 10000), ALL, { 0 } } },
	{ "decisions", "What hookd decided, newest first.", READS, .run = op_decisions,
		.params = PARAMS{ { "rule", OP_TEXT, .text = "only this rule's" },
			{ "decision", OP_ENUM, .choices = decisions, .text = "only those" }, SESSION, PROJECT, AGENT,
			SINCE, UNTIL, LIMIT(50, 10000), ALL, { 0 } } },
	{ "backtest", "What the rules of now would have said about the calls in the store.", SCANS, .run = op_backtest,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL, ALL,
			{ "after", OP_INT, .text = "where an earlier answer says to go on" }, { 0 } } },
	{ "rules", "The guard's options and the user's rules as they are in force.", OP_LOOP, op_rules,
		.flags = OP_IS_READ },
	{ "reload", "Takes up the rules and hooks of the user's file as it is now.", OP_LATER, op_reload,
		.flags = OP_MUTATES },
	{ "rule_counts", "How often each rule had something to say, and when it did last.", READS,
		.run = op_rule_counts },
	{ "stats", "Numbers in all, by day, project, agent, tool and rule.", READS_FOR_AGENTS, .run = op_stats,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL, ALL, { 0 } } },
	{ "projects", "Projects with their worktrees and other paths, the last used first.", READS_FOR_AGENTS,
		.run = op_projects, .params = PARAMS{ LIMIT(1000, 10000), { 0 } } },
	{ "project_rename", "Gives a project a name; an empty one gives back the folder's.", OP_WRITER,
		op_project_rename, CHANGES,
		.params = PARAMS{ { "project", OP_PROJECT, OP_REQUIRED, .text = "which (name, path or key)" },
			{ "name", OP_TEXT, OP_REQUIRED, .text = "the new name" }, DRY_RUN, { 0 } } },
	{ "project_merge", "Moves everything of one project into another.", OP_WRITER, op_project_merge, CHANGES,
		.params = PARAMS{ { "from", OP_PROJECT, OP_REQUIRED, .text = "the one that goes" },
			{ "into", OP_PROJECT, OP_REQUIRED, .text = "the one that stays" }, DRY_RUN, { 0 } } },
	{ "hooks", "The user's hooks for a directory: where they stand, what they match, whether they run.", READS,
		.run = op_hooks, .alone = true,
		.params = PARAMS{ { "cwd", OP_TEXT, .text = "the directory" },
			{ "agent", OP_TEXT, .text = "as this agent" }, { 0 } } },
	{ "hooks_history", "What hooks did lately, newest first.", OP_LOOP, op_hooks_history, .flags = OP_IS_READ,
		.params = PARAMS{ LIMIT(HOOK_HISTORY, HOOK_HISTORY), { 0 } } },
	{ "hooks_reload", "Takes new snapshots of the hooks for all sessions under way.", OP_LATER, op_hooks_reload,
		.flags = OP_MUTATES },
	/* What other programs send along is theirs. */
	{ "trigger", "Runs the hooks for an event.", OP_LATER, op_trigger, .flags = OP_MUTATES | OP_OPEN,
		.params = PARAMS{ { "type", OP_TEXT, OP_REQUIRED, .text = "the event's name" },
			{ "timestamp", OP_INT, .text = "milliseconds since 1970" },
			{ "sessionId", OP_TEXT, .text = "whose" },
			{ "payload", OP_JSON, .text = "toolName, input, output, error, …" },
			{ "agent", OP_TEXT, .text = "as this agent" }, { "cwd", OP_TEXT, .text = "where" }, { 0 } } },
	{ "register", "Adds a hook to the user's file.", OP_READER, op_register, CHANGES, .alone = true,
		.params = PARAMS{ { "event", OP_TEXT, OP_REQUIRED, .text = "when" },
			{ "matcher", OP_TEXT, .text = "for which tools or sources; all unless told" },
			{ "hook", OP_JSON, OP_REQUIRED, .text = "type, command, …: as in the file" }, { 0 } } },
	{ "unregister", "Takes a hook out of the user's file.", OP_READER, op_unregister, CHANGES, .alone = true,
		.params = PARAMS{ { "event", OP_TEXT, OP_REQUIRED, .text = "when it runs" },
			{ "hookId", OP_TEXT, OP_REQUIRED, .text = "what register answered" }, { 0 } } },
	{ "check", "Checks the store for damage.", SCANS, .run = op_check },
	{ "repair", "Checks the store and, if it is damaged, makes it anew.", OP_READER, op_repair, CHANGES,
		.alone = true, .params = PARAMS{ DRY_RUN, { 0 } } },
	{ "rebuild", "Folds all sessions again from events, in the background.", OP_READER, op_rebuild, CHANGES,
		.alone = true,
		.params = PARAMS{ DRY_RUN, { "progress", OP_BOOL, .text = "only say how far it is" }, { 0 } } },
	{ "backup", "Copies the store while it is in use.", OP_READER, op_backup, .flags = OP_IS_READ,
		.lane = LOOP_BACKGROUND, .alone = true,
		.params = PARAMS{ { "file", OP_TEXT, .text = "an absolute path; among the backups unless told" },
			{ "automatic", OP_BOOL, .text = "the daily one, now" }, { 0 } } },
	{ "purge", "Deletes sessions and events for good.", OP_READER, op_purge, .flags = OP_DESTROYS, .alone = true,
		.rotates = true, .lane = LOOP_BACKGROUND, .params = purge_params },
	{ "purge_preview", "What a purge would delete. Parameters as for purge.", READS, .run = op_purge_preview,
		.finds_itself = true, .params = purge_params },
	{ "retention", "The limits of what is kept, and what is beyond them.", READS, .run = op_retention },
	{ "retain", "Deletes what is beyond the limits.", OP_READER, op_retain, .flags = OP_DESTROYS, .alone = true,
		.lane = LOOP_BACKGROUND },
	{ 0 },
};
