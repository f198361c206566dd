/* The table of operations: what can be asked, with which parameters, by whom. Parameter checks, JSON Schema and the
 * reference in docs/ are all generated from these rows. */
#include "api/efforting.h"
#include "api/ops.h"
#include "api/ops_store.h"
#include "api/web.h"
#include "hooks/hooks.h"

/* -- parameters that many have ----------------------------------------------------------------- */

#define PROJECT                                                                                          \
	{                                                                                                \
		"project", OP_PROJECT, .text = "only this project (name, path or key) and its worktrees" \
	}
#define A_PROJECT                                                                                                   \
	{                                                                                                           \
		"project", OP_TEXT, .text = "a directory, or the name of a project (default: the newest session's)" \
	}
#define AGENT                                               \
	{                                                   \
		"agent", OP_TEXT, .text = "only this agent" \
	}
#define SINCE                                                                        \
	{                                                                            \
		"since", OP_TIME, .text = "only what happened at or after this time" \
	}
#define UNTIL                                                                   \
	{                                                                       \
		"until", OP_TIME, .text = "only what happened before this time" \
	}
#define SESSION                                                                                  \
	{                                                                                        \
		"session", OP_SESSION, .text = "only this session (id, prefix of an id, or key)" \
	}
#define THE_SESSION                                                                                               \
	{                                                                                                         \
		"session", OP_SESSION, OP_REQUIRED, .text = "the session: its id, a prefix of its id, or its key" \
	}
#define LIMIT(fallback_, max_)                                                                             \
	{                                                                                                  \
		"limit", OP_INT, .min = 1, .max = max_, .fallback = fallback_, .text = "at most this many" \
	}
#define ALL                                                                          \
	{                                                                            \
		"all", OP_BOOL, .text = "include sessions in which nothing happened" \
	}
#define DRY_RUN                                                              \
	{                                                                    \
		"dry_run", OP_BOOL, .text = "only report what would be done" \
	}

static const char *const memory_statuses[] = { "active", "resolved", "superseded", "quarantined", NULL };
static const char *const job_states[] = { "waiting", "done", "dead", NULL };
static const char *const delivery_states[] = { "waiting", "delivered", "dead", NULL };
static const char *const open_states[] = { "waiting", "dead", NULL };
static const char *const sources[] = { "startup", "resume", "clear", "compact", NULL };
static const char *const statuses[] = { "active", "completed", NULL };
static const char *const decisions[] = { "allow", "ask", "deny", NULL };
static const char *const groupings[] = { "day", "week", "project", "agent", "model", "session", "total", NULL };

#define PARAMS (const struct op_param[])

static const struct op_param purge_params[] = {
	{ "sessions", OP_SESSION, OP_REPEATED, .text = "these sessions (ids, prefixes of ids, or keys)" },
	{ "project", OP_PROJECT, .text = "sessions and efforts of this project" },
	{ "agent", OP_TEXT, .text = "sessions of this agent" },
	{ "before_us", OP_TIME, .text = "sessions whose last event is older than this" },
	{ "match", OP_TEXT, .text = "only events and memories that contain this text" },
	{ "memories", OP_TEXT, OP_REPEATED, .text = "these memories and nothing else" },
	{ "keep_backups", OP_BOOL, .text = "do not replace automatic backups" },
	{ "all_copies", OP_BOOL, .text = "also delete manual backups and files that were set aside" },
	{ 0 },
};

static const struct op_param remember_params[] = {
	{ "text", OP_TEXT, OP_REQUIRED, .text = "what is to be remembered" },
	{ "type", OP_TEXT, .text = "gotcha, bug_fix, decision, discovery (the default), trade_off" },
	{ "file", OP_TEXT, .text = "the file it is about" },
	{ "project", OP_TEXT, .text = "a directory of the project, or its name; none: for all projects" },
	{ "session", OP_TEXT, .text = "the session it was learned in" },
	{ "importance", OP_INT, .min = 1, .max = 10, .fallback = 5, .text = "from 1 to 10" },
	{ "concepts", OP_TEXT, OP_REPEATED, .text = "what it is about: pattern, how-it-works, or your own words" },
	{ 0 },
};

#define OUTBOX_CHOICE                                                                       \
	{ "id", OP_INT, .min = 1, .max = INT64_MAX, .text = "its number" },                 \
		{ "sink", OP_TEXT, .text = "only for this sink" },                          \
		{ "state", OP_ENUM, .choices = open_states, .text = "only in this state" }, \
	{                                                                                   \
		"before_us", OP_TIME, .text = "only of events before this time"             \
	}

static const struct op_param outbox_params[] = { OUTBOX_CHOICE, { 0 } };

static const struct op_param outbox_drop_params[] = { OUTBOX_CHOICE,
	{ "all", OP_BOOL, .text = "everything, if nothing else is given" }, { 0 } };

/* -- the rows ---------------------------------------------------------------------------------- */

#define READS OP_READER, .flags = OP_IS_READ, .lane = LOOP_PEOPLE, .budget_ms = 10000
#define READS_FOR_AGENTS \
	OP_READER, .flags = OP_IS_READ | OP_MCP, .lane = LOOP_PEOPLE, .budget_ms = 10000, .scope = OP_AGENT
/* No time limit. */
#define SCANS OP_READER, .flags = OP_IS_READ, .lane = LOOP_PEOPLE
#define FORWARDS OP_LATER, op_call_hook, .flags = OP_MUTATES | OP_OPEN
#define CHANGES .flags = OP_MUTATES, .lane = LOOP_PEOPLE

const struct op ops[] = {
	{ "hello", "Version, protocol number and process id of the daemon.", OP_LOOP, op_hello, .flags = OP_IS_READ,
		.scope = OP_VIEWER },
	{ "ops", "Lists the operations, with their parameters as JSON Schema.", OP_LOOP, op_ops, .flags = OP_IS_READ,
		.scope = OP_VIEWER, .params = PARAMS{ { "method", OP_TEXT, .text = "only this one" }, { 0 } } },
	{ "status", "Counters, queues, resource use and problems of the daemon.", OP_LOOP, op_status,
		.flags = OP_IS_READ, .scope = OP_VIEWER },
	{ "stop", "Stops the daemon once everything in progress has been answered and stored.", OP_LOOP, op_stop,
		.flags = OP_MUTATES },
	{ "http", "Where HTTP is served, with a code for one login.", OP_LATER, op_http, .flags = OP_MUTATES,
		.params = PARAMS{ { "open", OP_BOOL, .text = "listen on 127.0.0.1 if hookd does not yet" }, { 0 } } },
	{ "sessions", "Sessions, newest first.", READS_FOR_AGENTS, .run = op_sessions,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL,
			{ "status", OP_ENUM, .choices = statuses, .text = "only sessions with this status" },
			{ "query", OP_TEXT, .text = "only sessions with this text in the title" }, LIMIT(50, 10000),
			ALL, { "after", OP_INT, .text = "a key: sessions after this one, oldest first" }, { 0 } } },
	{ "show", "One session: windows, prompts and their activities, plans, statistics.", READS_FOR_AGENTS,
		.run = op_show,
		.params = PARAMS{ THE_SESSION, { "skip", OP_INT, .text = "skip this many prompts" },
			LIMIT(10000, 10000), { 0 } } },
	{ "sums", "What a session, or its last turn, came to: calls, files, tools, minutes.", READS, .run = op_sums,
		.params = PARAMS{ THE_SESSION, { "turn", OP_BOOL, .text = "only the last turn" },
			{ "start", OP_BOOL, .text = "instead: its prompts, and the memories of its project" },
			{ 0 } } },
	{ "events", "The newest events, or those after a given number.", READS, .run = op_events,
		.params = PARAMS{ PROJECT, AGENT, SESSION, LIMIT(20, 100000),
			{ "after", OP_INT, .text = "an event's number: only later events, oldest first" },
			{ "output", OP_BOOL,
				.text = "also what agents say while a turn runs: their transcripts are read for it, "
					"for some seconds from now" },
			{ 0 } } },
	{ "event", "One event by its key.", READS, .run = op_event,
		.params = PARAMS{ { "id", OP_TEXT, OP_REQUIRED, .text = "its key (26 characters)" }, { 0 } } },
	{ "session_events", "All events of a session in order.", SCANS, .run = op_session_events,
		.params = PARAMS{ THE_SESSION,
			{ "cursor", OP_TEXT, .text = "the cursor of the previous answer, to continue" },
			LIMIT(10000, 100000), { 0 } } },
	{ "activities", "Tool calls, newest first.", READS, .run = op_activities,
		.params = PARAMS{ SESSION, LIMIT(50, 100000), { 0 } } },
	{ "plans", "Plans, newest first.", READS_FOR_AGENTS, .run = op_plans,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL, SESSION, LIMIT(50, 10000), ALL, { 0 } } },
	{ "plan", "One plan with all its versions.", READS_FOR_AGENTS, .run = op_plan,
		.params = PARAMS{ { "plan", OP_TEXT, OP_REQUIRED | OP_OR_NUMBER, .text = "its key, path or file name" },
			SESSION, { 0 } } },
	{ "efforts", "Efforts, newest first: work that survives the context window.", READS_FOR_AGENTS,
		.run = op_efforts,
		.params = PARAMS{ PROJECT, { "agent", OP_TEXT, .text = "only this agent's (AGENT_ID)" },
			{ "task", OP_TEXT, .text = "only those of this task (a directory)" },
			{ "all", OP_BOOL, .text = "finished ones as well" }, LIMIT(50, 10000), { 0 } } },
	{ "effort", "One effort with its phases.", READS_FOR_AGENTS, .run = op_effort,
		.params = PARAMS{ EFFORT_PARAMS, { 0 } } },
	{ "effort_start", "Begins an effort: one run of a skill, in a task.", OP_LATER, op_effort_start,
		.flags = OP_MUTATES | OP_MCP, .scope = OP_AGENT,
		.params = PARAMS{ { "skill", OP_TEXT, OP_REQUIRED, .text = "the skill's name" },
			{ "task", OP_TEXT, .text = "the task's directory (default: the root of the project)" },
			{ "cwd", OP_TEXT, .text = "the directory of whoever asks" },
			{ "mode", OP_TEXT, .text = "a mode of the skill" },
			{ "goal", OP_TEXT, .text = "what is to be reached" },
			{ "agent", OP_TEXT, .text = "whose it is: AGENT_ID (default: of whoever works there)" },
			{ "session", OP_TEXT, .text = "the agent's own session id" },
			{ "phases", OP_TEXT, OP_REPEATED, .text = "its phases, such as \"1: Plan\", in order" },
			{ "metadata", OP_JSON, .text = "what else belongs to it" }, { 0 } } },
	{ "effort_phase", "Enters a phase of an effort: the next one, or another with a reason.", OP_LATER,
		op_effort_phase, .flags = OP_MUTATES | OP_MCP | OP_IDEMPOTENT, .scope = OP_AGENT,
		.params = PARAMS{ { "phase", OP_TEXT, OP_REQUIRED | OP_OR_NUMBER, .text = "its number or its label" },
			{ "reason", OP_TEXT, .text = "why it is skipped to or gone back to" },
			{ "proof", OP_JSON, .text = "what was done in the phase before" }, EFFORT_PARAMS, { 0 } } },
	{ "effort_finish", "Finishes an effort. It is never active again.", OP_LATER, op_effort_finish,
		.flags = OP_MUTATES | OP_MCP, .scope = OP_AGENT,
		.params = PARAMS{ { "result", OP_TEXT, .text = "what came of it" }, EFFORT_PARAMS, { 0 } } },
	{ "effort_log", "Writes a line into the log of an effort: what was done, what was found.", OP_LATER,
		op_effort_log, .flags = OP_MUTATES | OP_MCP, .scope = OP_AGENT,
		.params = PARAMS{ { "text", OP_TEXT, OP_REQUIRED, .text = "what was done and found" }, EFFORT_PARAMS,
			{ 0 } } },
	{ "effort_checkpoint", "Keeps where an effort stands, for whoever goes on with it.", OP_LATER,
		op_effort_checkpoint, .flags = OP_MUTATES | OP_MCP | OP_IDEMPOTENT, .scope = OP_AGENT,
		.params = PARAMS{ { "checkpoint", OP_JSON, OP_REQUIRED,
					  .text = "texts goal, next, notes; lists done, pending, decisions, questions, "
						  "and "
						  "files (at most 8 that must be read)" },
			EFFORT_PARAMS, { 0 } } },
	{ "effort_artifact", "The file of an artifact of an effort, written if a text is given.", OP_LATER,
		op_effort_artifact, .flags = OP_MUTATES | OP_MCP | OP_IDEMPOTENT, .scope = OP_AGENT,
		.params = PARAMS{ { "type", OP_TEXT, OP_REQUIRED, .text = "such as PLAN or DEBRIEF" },
			{ "text", OP_TEXT, .text = "what is in it from now on" }, EFFORT_PARAMS, { 0 } } },
	{ "effort_metadata", "Changes what else belongs to an effort: its gates, its rules, and anything.", OP_LATER,
		op_effort_metadata, .flags = OP_MUTATES, .scope = OP_AGENT,
		.params = PARAMS{ { "set", OP_JSON, OP_REQUIRED, .text = "members from now on; null removes one" },
			EFFORT_PARAMS, { 0 } } },
	{ "effort_checklist", "The checklists of an effort; with a proof, that one was worked through.", OP_LATER,
		op_effort_checklist, .flags = OP_MUTATES | OP_MCP | OP_IDEMPOTENT, .scope = OP_AGENT,
		.params = PARAMS{ { "file", OP_TEXT, .text = "its path" },
			{ "proof", OP_TEXT, .text = "what was done for each of its items" }, EFFORT_PARAMS, { 0 } } },
	{ "effort_resume", "Leaves an effort to the next window that begins in its project, of any agent.", OP_LATER,
		op_effort_resume, .flags = OP_MUTATES, .scope = OP_AGENT,
		.params = PARAMS{ { "as", OP_TEXT, .text = "whose it is from now on: AGENT_ID" },
			{ "here", OP_BOOL, .text = "it goes on in this session" }, EFFORT_PARAMS, { 0 } } },
	{ "session.finish", "A window hands over: what its agent wrote down is kept, and it ends.", OP_LATER,
		op_session_finish, .flags = OP_MUTATES, .scope = OP_AGENT,
		.params = PARAMS{ { "window", OP_TEXT, OP_REQUIRED, .text = "the sessionId of hooks.sessionStart" },
			{ "payload", OP_JSON, .text = "as for effort_checkpoint" }, EFFORT_PARAMS, { 0 } } },
	{ "agent.directives.discover", "What a project says to whoever works in a folder, from there up to its root.",
		READS_FOR_AGENTS, .run = op_discover,
		.params = PARAMS{ { "dir", OP_TEXT, .text = "the folder" },
			{ "cwd", OP_TEXT, .text = "the directory of whoever asks" },
			{ "agent", OP_TEXT, .text = "without what this agent reads by itself" },
			{ "names", OP_TEXT, OP_REPEATED, .text = "TESTING, PITFALLS, CONTRIBUTING, TEMPLATE as well" },
			{ "texts", OP_BOOL, .text = "with what they say" }, { 0 } } },
	{ "tasks", "Tasks: directories that collect efforts.", READS_FOR_AGENTS, .run = op_tasks,
		.params = PARAMS{ PROJECT, LIMIT(50, 10000), { 0 } } },
	{ "task", "The task of a directory, with its efforts.", READS_FOR_AGENTS, .run = op_task,
		.params = PARAMS{ { "task", OP_TEXT, .text = "the directory" },
			{ "cwd", OP_TEXT, .text = "the directory of whoever asks" }, { 0 } } },
	{ "task_change", "Changes what is known of a task, or what it asks of everybody who works in it.", OP_LATER,
		op_task_change, .flags = OP_MUTATES, .scope = OP_AGENT,
		.params = PARAMS{ { "task", OP_TEXT, .text = "the directory" },
			{ "cwd", OP_TEXT, .text = "the directory of whoever asks" },
			{ "title", OP_TEXT, .text = "its title" }, { "text", OP_TEXT, .text = "what it is about" },
			{ "keywords", OP_TEXT, OP_REPEATED, .text = "words to find it by" },
			{ "gates", OP_JSON, .text = "such as {\"session\": true}" }, { 0 } } },
	{ "context_used", "Tells how full the context of a session is, as a status line knows it.", OP_LOOP,
		op_context_used, .flags = OP_MUTATES | OP_IDEMPOTENT, .scope = OP_AGENT,
		.params = PARAMS{ { "session", OP_TEXT, OP_REQUIRED, .text = "the agent's own session id" },
			{ "agent", OP_TEXT, .text = "the agent (default: claude)" },
			{ "tokens", OP_INT, OP_REQUIRED, .text = "in the context now" },
			{ "max", OP_INT, OP_REQUIRED, .text = "that it holds" }, { 0 } } },
	{ "skill", "What a SKILL.md says.", READS_FOR_AGENTS, .run = op_skill,
		.params = PARAMS{ { "skill", OP_TEXT, OP_REQUIRED, .text = "its name" },
			{ "cwd", OP_TEXT, .text = "the directory of whoever asks" }, { 0 } } },
	{ "transcripts", "How far each transcript has been imported.", READS, .run = op_transcripts,
		.params = PARAMS{ { "after", OP_TEXT, .text = "a path, to continue after it" }, LIMIT(1000, 10000),
			{ 0 } } },
	{ "settle", "Refolds sessions that an import deferred. Returns how many are left.", OP_WRITER, op_settle,
		CHANGES },
	{ "search", "Search in memories, prompts, answers, commands and plans: rows with the price of reading each.",
		READS_FOR_AGENTS, .run = op_search, .result = op_search_result,
		.params = PARAMS{ { "query", OP_TEXT, .text = "words, \"phrases\", and prefixes such as parse*" },
			{ "in", OP_TEXT,
				.text = "memory, prompts, answers, commands, plans, sessions (all but memory and "
					"plans) or code (only when it is named)" },
			{ "cwd", OP_TEXT,
				.text = "a directory of the repository whose code is searched, if no project is "
					"named" },
			PROJECT, AGENT, SINCE, UNTIL, LIMIT(20, 10000), ALL, { 0 } } },
	{ "code", "Pieces of a repository's code that fit a text, best first.", READS_FOR_AGENTS, .run = op_code,
		.result = op_code_result,
		.params =
			PARAMS{ { "query", OP_TEXT, OP_REQUIRED,
					.text = "what is looked for: words, names, a question" },
				A_PROJECT,
				{ "lines", OP_INT, .min = 0, .max = 60, .fallback = 20,
					.text = "with at most this many lines of each; 0: none" },
				LIMIT(10, 100), { 0 } } },
	{ "symbols", "Where functions, types and methods are defined, by their name or its beginning.",
		READS_FOR_AGENTS, .run = op_symbols, .result = op_symbols_result,
		.params = PARAMS{ { "name", OP_TEXT, OP_REQUIRED, .text = "such as parse, or Parser.next" }, A_PROJECT,
			LIMIT(20, 100), { 0 } } },
	{ "map", "The most used definitions of a repository, by file.", READS_FOR_AGENTS, .run = op_map,
		.result = op_map_result,
		.params = PARAMS{ A_PROJECT, { "path", OP_TEXT, .text = "only below this directory of it" },
			{ "tokens", OP_INT, .min = 50, .max = 50000, .fallback = 1000,
				.text = "at most this long, at four bytes each" },
			{ 0 } } },
	{ "index_status", "How much of a repository's code is indexed.", READS_FOR_AGENTS, .run = op_index_status,
		.result = op_index_status_result, .params = PARAMS{ A_PROJECT, { 0 } } },
	{ "index_update", "Has the code of a repository indexed, or its index brought up to date.", OP_LOOP,
		op_index_update, .flags = OP_MUTATES,
		.params = PARAMS{ { "root", OP_TEXT, OP_REQUIRED, .text = "its absolute path" }, { 0 } } },
	{ "usage", "Tokens and an estimate of their cost.", READS_FOR_AGENTS, .run = op_usage,
		.params = PARAMS{ { "by", OP_ENUM, .choices = groupings, .text = "how to group (default: day)" },
			PROJECT, AGENT, SINCE, UNTIL, LIMIT(100, 10000), ALL, { 0 } } },
	{ "decisions", "What hookd decided, newest first.", READS_FOR_AGENTS, .run = op_decisions,
		.params = PARAMS{ { "rule", OP_TEXT, .text = "only this rule" },
			{ "decision", OP_ENUM, .choices = decisions, .text = "only this decision" }, SESSION, PROJECT,
			AGENT, SINCE, UNTIL, LIMIT(50, 10000), ALL, { 0 } } },
	{ "backtest", "What the current rules would have decided about the calls in the store.", SCANS,
		.run = op_backtest,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL, ALL,
			{ "after", OP_INT, .text = "the position that the previous answer returned, to continue" },
			{ 0 } } },
	{ "rules", "The guard's options and the user's rules that are in effect.", OP_LOOP, op_rules,
		.flags = OP_IS_READ },
	{ "reload", "Reloads the rules, hooks and sinks from the user's file.", OP_LATER, op_reload,
		.flags = OP_MUTATES, .owner = true },
	{ "model_test", "Asks the configured language model one question.", OP_LATER, op_model_test,
		.flags = OP_MUTATES, .owner = true },
	{ "rule_counts", "How often each rule fired, and when it last did.", READS, .run = op_rule_counts },
	{ "stats", "Counts: in total, and by day, project, agent, tool and rule.", READS_FOR_AGENTS, .run = op_stats,
		.params = PARAMS{ PROJECT, AGENT, SINCE, UNTIL, ALL, { 0 } } },
	{ "remember", "Remembers something worth knowing in later sessions, of any agent.", OP_LATER, op_remember,
		.flags = OP_MUTATES | OP_MCP | OP_IDEMPOTENT, .scope = OP_AGENT, .params = remember_params,
		.result = op_remember_result },
	{ "user_remember", "The same; with the owner's token, in the user's own words.", OP_LATER, op_remember,
		.flags = OP_MUTATES, .params = remember_params },
	{ "forget", "Marks a memory as no longer true.", OP_LATER, op_forget,
		.flags = OP_MUTATES | OP_MCP | OP_IDEMPOTENT, .scope = OP_AGENT, .result = op_change_result,
		.params = PARAMS{ { "id", OP_TEXT, OP_REQUIRED, .text = "its id" }, { 0 } } },
	{ "get", "Items in full, by the ids that search and timeline give.", READS_FOR_AGENTS, .run = op_get,
		.result = op_get_result,
		.params = PARAMS{ { "ids", OP_TEXT, OP_REQUIRED | OP_REPEATED, .text = "ids of items" },
			{ "project", OP_TEXT, .text = "for code: a directory of its project, or its name" }, { 0 } } },
	{ "timeline", "Prompts and memories around a moment, with what each would cost to read.", READS_FOR_AGENTS,
		.run = op_timeline, .result = op_timeline_result,
		.params = PARAMS{ PROJECT, { "id", OP_TEXT, .text = "around this item" },
			{ "at", OP_TIME, .text = "around this time (default: now)" }, LIMIT(20, 200), { 0 } } },
	{ "context", "What is known that helps with a task.", OP_READER, op_context, .flags = OP_IS_READ | OP_MCP,
		.lane = LOOP_PEOPLE, .alone = true, .scope = OP_AGENT, .result = op_context_result,
		.params = PARAMS{ { "task", OP_TEXT, OP_REQUIRED, .text = "what is to be done" },
			{ "project", OP_TEXT, .text = "a directory of the project" }, { 0 } } },
	{ "memory_import", "Remembers several texts at once.", OP_LATER, op_memory_import, .flags = OP_MUTATES,
		.params = PARAMS{ { "memories", OP_LIST, OP_REQUIRED,
					  .text = "objects with text, and ref, type, file, project, created_at" },
			{ 0 } } },
	{ "memory_change", "Changes a memory.", OP_LATER, op_memory_change, .flags = OP_MUTATES,
		.params = PARAMS{ { "id", OP_TEXT, OP_REQUIRED, .text = "its id" },
			{ "text", OP_TEXT, .text = "what it says from now on" },
			{ "type", OP_TEXT, .text = "its type from now on" },
			{ "file", OP_TEXT, .text = "the file it is about" },
			{ "importance", OP_INT, .min = 1, .max = 10, .text = "from 1 to 10" },
			{ "concepts", OP_TEXT, OP_REPEATED, .text = "its concepts from now on" },
			{ "status", OP_ENUM, .choices = memory_statuses, .text = "its status from now on" },
			{ "reason", OP_TEXT, .text = "why it has that status" },
			{ "successor", OP_TEXT, .text = "the id of the memory that supersedes it" },
			{ "pinned", OP_BOOL, .text = "always among the first at the start of a session" },
			{ "muted", OP_BOOL, .text = "never given to an agent by itself" }, { 0 } } },
	{ "memory_merge", "Makes one memory of several, which it supersedes.", OP_LATER, op_memory_merge,
		.flags = OP_MUTATES,
		.params = PARAMS{ { "ids", OP_TEXT, OP_REQUIRED | OP_REPEATED, .text = "their ids, from 2 to 20" },
			{ "text", OP_TEXT, .text = "what it says (default: what they say, one after the other)" },
			{ 0 } } },
	{ "memory_review", "Decides about a memory that was put aside.", OP_LATER, op_memory_review, CHANGES,
		.owner = true,
		.params = PARAMS{ { "id", OP_TEXT, OP_REQUIRED, .text = "its id" },
			{ "status", OP_ENUM, OP_REQUIRED, .choices = memory_statuses,
				.text = "its status from now on" },
			{ "reason", OP_TEXT, .text = "why" }, { 0 } } },
	{ "memories", "Memories, newest first.", READS_FOR_AGENTS, .run = op_memories, .result = op_memories_result,
		.params = PARAMS{ PROJECT, SINCE, UNTIL, SESSION, { "type", OP_TEXT, .text = "only this type" },
			{ "concept", OP_TEXT, .text = "only with this concept" },
			{ "status", OP_ENUM, .choices = memory_statuses, .text = "only with this status" },
			{ "query", OP_TEXT, .text = "only those that contain this text" }, LIMIT(50, 10000), { 0 } } },
	{ "memory", "One memory with all that is known of it.", READS_FOR_AGENTS, .run = op_memory,
		.result = op_memory_result,
		.params = PARAMS{ { "id", OP_TEXT, OP_REQUIRED, .text = "its id, or the name it was imported under" },
			{ 0 } } },
	{ "recall", "Memories and code that fit texts, best first, with how sure that is.", READS_FOR_AGENTS,
		.run = op_recall, .result = op_recall_result,
		.params = PARAMS{ { "queries", OP_LIST, OP_REQUIRED, .text = "objects with id, query and project" },
			{ "in", OP_TEXT, .text = "memory, code, or both (the default), separated by a comma" },
			{ "features", OP_BOOL, .text = "with what the confidence is made from" }, LIMIT(10, 50),
			{ 0 } } },
	{ "vectors", "How many memories can be found by what they mean as well.", READS, .run = op_vectors,
		.params = PARAMS{ { "hurry", OP_BOOL, .text = "somebody waits for the rest" }, { 0 } } },
	{ "jobs", "What is still to be done with what was captured, and what could not be done.", READS, .run = op_jobs,
		.params = PARAMS{ { "state", OP_ENUM, .choices = job_states,
					  .text = "only in this state (default: all but done)" },
			{ "kind", OP_TEXT, .text = "only of this kind" }, SESSION, LIMIT(50, 10000), { 0 } } },
	{ "jobs_retry", "Has jobs tried again: one, or all that are dead.", OP_WRITER, op_jobs_retry, CHANGES,
		.params = PARAMS{ { "id", OP_INT, .text = "its number" }, { 0 } } },
	{ "outbox", "What is waiting to be sent to sinks, and what was given up.", READS, .run = op_outbox,
		.params = PARAMS{ { "state", OP_ENUM, .choices = delivery_states,
					  .text = "only in this state (default: all but delivered)" },
			{ "sink", OP_TEXT, .text = "only for this sink" },
			{ "type", OP_TEXT, .text = "only of this type of event" }, SESSION, LIMIT(50, 10000), { 0 } } },
	{ "outbox_count", "How many deliveries outbox_retry and outbox_drop would be about.", READS,
		.run = op_outbox_count, .params = outbox_params },
	{ "outbox_retry", "Has deliveries tried again now: one, or those that were given up.", OP_WRITER,
		op_outbox_retry, CHANGES, .params = outbox_params },
	{ "outbox_drop", "Deletes deliveries that were not made.", OP_WRITER, op_outbox_drop, .flags = OP_DESTROYS,
		.lane = LOOP_PEOPLE, .owner = true, .params = outbox_drop_params },
	{ "sinks", "Where events are sent, how that goes, and how far it is behind.", READS, .run = op_sinks },
	{ "sinks_test", "Sends a test to a sink, at once and without the queue.", OP_READER, op_sinks_test, CHANGES,
		.alone = true, .owner = true,
		.params = PARAMS{ { "sink", OP_TEXT, OP_REQUIRED, .text = "its name" }, { 0 } } },
	{ "contracts_add", "Has events sent to a web server for a time; kept beside the sinks of the user's file.",
		OP_READER, op_contracts_add, CHANGES, .alone = true, .owner = true,
		.params = PARAMS{ { "name", OP_TEXT, OP_REQUIRED, .text = "a name: small letters, digits, - and _" },
			{ "url", OP_TEXT, OP_REQUIRED, .text = "https, or http on this machine" },
			{ "secret_file", OP_TEXT, .text = "what it is signed with: an absolute path, or one from ~/" },
			{ "events", OP_TEXT, OP_REPEATED, .text = "names of events; without any the six types" },
			{ "when", OP_JSON, .text = "criteria, as of a sink: type, agent, project, properties" },
			{ "ttl_s", OP_INT, .min = 1, .max = 31622400, .fallback = 86400,
				.text = "seconds for which it holds" },
			{ 0 } } },
	{ "contracts_remove", "Ends what contracts_add began. What waits for it is left: outbox_drop.", OP_READER,
		op_contracts_remove, CHANGES, .alone = true, .owner = true,
		.params = PARAMS{ { "name", OP_TEXT, OP_REQUIRED, .text = "its name" }, { 0 } } },
	{ "why", "What was added to conversations, newest first, with its price.", READS, .run = op_why,
		.params = PARAMS{ SESSION, LIMIT(50, 10000), { 0 } } },
	{ "preview", "What would be added to a conversation.", READS, .run = op_preview,
		.params =
			PARAMS{ { "event", OP_TEXT,
					.text = "SessionStart, UserPromptSubmit (the default), PostToolUse" },
				{ "agent", OP_TEXT, .text = "for this agent" },
				{ "prompt", OP_TEXT, .text = "the prompt" },
				{ "file", OP_TEXT, .text = "the file that was read or changed" },
				{ "source", OP_ENUM, .choices = sources, .text = "how the session starts" },
				{ "session", OP_SESSION,
					.text = "in this session, which is not given twice what it has" },
				{ "project", OP_TEXT, .text = "a directory, or the name of a project" }, { 0 } } },
	{ "related", "Sessions that are about the same as one, and which of them it may continue.", READS_FOR_AGENTS,
		.run = op_related, .result = op_related_result,
		.params = PARAMS{ THE_SESSION, LIMIT(10, 200), { 0 } } },
	{ "session_accept", "Notes which session another one continues.", OP_WRITER, op_session_accept, CHANGES,
		.params = PARAMS{ THE_SESSION,
			{ "parent", OP_SESSION,
				.text = "the one that it continues; none: takes back what was accepted" },
			{ 0 } } },
	{ "context_switch", "Switches what hookd adds to conversations on or off, for a session or a project.",
		OP_WRITER, op_context_switch, CHANGES,
		.params = PARAMS{ { "on", OP_BOOL, OP_REQUIRED, .text = "true: context is added" },
			{ "session", OP_SESSION, .text = "for this session" },
			{ "project", OP_PROJECT, .text = "for this project (name, path or key) and its worktrees" },
			{ 0 } } },
	{ "context_switches", "The sessions and projects for which context is off.", READS,
		.run = op_context_switches },
	{ "projects", "Projects with their worktrees and other paths, most recently used first.", READS_FOR_AGENTS,
		.run = op_projects, .params = PARAMS{ LIMIT(1000, 10000), { 0 } } },
	{ "project_rename", "Names a project; an empty name restores the folder's name.", OP_WRITER, op_project_rename,
		CHANGES,
		.params = PARAMS{ { "project", OP_PROJECT, OP_REQUIRED, .text = "the project (name, path or key)" },
			{ "name", OP_TEXT, OP_REQUIRED, .text = "the new name" }, DRY_RUN, { 0 } } },
	{ "project_merge", "Merges one project into another.", OP_WRITER, op_project_merge, CHANGES,
		.params = PARAMS{ { "from", OP_PROJECT, OP_REQUIRED, .text = "the project to merge" },
			{ "into", OP_PROJECT, OP_REQUIRED, .text = "the project that remains" }, DRY_RUN, { 0 } } },
	{ "hooks", "The user's hooks for a directory: where they are defined, what they match, whether they run.",
		READS, .run = op_hooks, .alone = true,
		.params = PARAMS{ { "cwd", OP_TEXT, .text = "the directory" },
			{ "agent", OP_TEXT, .text = "as this agent" }, { 0 } } },
	{ "hooks_history", "Recent runs of hooks, newest first.", OP_LOOP, op_hooks_history, .flags = OP_IS_READ,
		.params = PARAMS{ LIMIT(HOOK_HISTORY, HOOK_HISTORY), { 0 } } },
	{ "hooks_reload", "Takes new snapshots of the hooks for all active sessions.", OP_LATER, op_hooks_reload,
		.flags = OP_MUTATES, .owner = true },
	/* Other programs may add members of their own. */
	{ "trigger", "Runs the hooks for an event.", OP_LATER, op_trigger, .flags = OP_MUTATES | OP_OPEN,
		.params = PARAMS{ { "type", OP_TEXT, OP_REQUIRED, .text = "the event's name" },
			{ "timestamp", OP_INT, .text = "milliseconds since 1970" },
			{ "sessionId", OP_TEXT, .text = "the session" },
			{ "payload", OP_JSON, .text = "toolName, input, output, error, …" },
			{ "agent", OP_TEXT, .text = "as this agent" }, { "cwd", OP_TEXT, .text = "the directory" },
			{ 0 } } },
	/* An agent's events, forwarded by a script. */
	{ "hooks.sessionStart", "An agent's window begins.", FORWARDS },
	{ "hooks.sessionEnd", "A session ends.", FORWARDS },
	{ "hooks.preCompact", "The context is about to be compacted.", FORWARDS },
	{ "hooks.preToolUse", "A tool is about to run: may it?", FORWARDS },
	{ "hooks.postToolUse", "A tool has run.", FORWARDS },
	{ "hooks.postToolUseFailure", "A tool has failed.", FORWARDS },
	{ "hooks.stop", "The agent has finished its turn.", FORWARDS },
	{ "hooks.userPrompt", "The user has written.", FORWARDS },
	{ "hooks.notification", "The agent wants to be noticed.", FORWARDS },
	{ "hooks.permissionRequest", "The agent asks for a permission.", FORWARDS },
	{ "hooks.teammateIdle", "A teammate has nothing to do.", FORWARDS },
	{ "hooks.taskCompleted", "A task is done.", FORWARDS },
	{ "hooks.subagentStart", "A subagent begins.", FORWARDS },
	{ "hooks.subagentStop", "A subagent has finished.", FORWARDS },
	{ "hooks.configChange", "The agent's settings have changed.", FORWARDS },
	{ "register", "Adds a hook to the user's file.", OP_READER, op_register, CHANGES, .alone = true, .owner = true,
		.params = PARAMS{ { "event", OP_TEXT, OP_REQUIRED, .text = "the event at which it runs" },
			{ "matcher", OP_TEXT, .text = "for which tools or sources (default: all)" },
			{ "hook", OP_JSON, OP_REQUIRED, .text = "type, command and so on, as in the file" }, { 0 } } },
	{ "unregister", "Removes a hook from the user's file.", OP_READER, op_unregister, CHANGES, .alone = true,
		.owner = true,
		.params = PARAMS{ { "event", OP_TEXT, OP_REQUIRED, .text = "the event at which it runs" },
			{ "hookId", OP_TEXT, OP_REQUIRED, .text = "the id that register returned" }, { 0 } } },
	{ "hooks_toggle", "Switches a hook of the user's file off, or on again.", OP_READER, op_hooks_toggle, CHANGES,
		.alone = true, .owner = true,
		.params = PARAMS{ { "hookId", OP_TEXT, OP_REQUIRED, .text = "its id, as hooks lists it" },
			{ "enabled", OP_BOOL, OP_REQUIRED, .text = "true: it runs" }, { 0 } } },
	{ "check", "Checks the store for damage.", SCANS, .run = op_check },
	{ "repair", "Checks the store and rebuilds it if it is damaged.", OP_READER, op_repair, CHANGES, .alone = true,
		.params = PARAMS{ DRY_RUN, { 0 } } },
	{ "rebuild", "Refolds all sessions from their events, in the background.", OP_READER, op_rebuild, CHANGES,
		.alone = true,
		.params = PARAMS{ DRY_RUN, { "progress", OP_BOOL, .text = "only report progress" }, { 0 } } },
	{ "backup", "Copies the store while it is in use.", OP_READER, op_backup, .flags = OP_IS_READ,
		.lane = LOOP_BACKGROUND, .alone = true,
		.params =
			PARAMS{ { "file", OP_TEXT, OP_A_FILE,
					.text = "an absolute path (default: a file among the backups)" },
				{ "automatic", OP_BOOL, .text = "make the daily backup now" }, { 0 } } },
	{ "purge", "Permanently deletes sessions and events.", OP_READER, op_purge, .flags = OP_DESTROYS, .alone = true,
		.owner = true, .rotates = true, .lane = LOOP_BACKGROUND, .params = purge_params },
	{ "purge_preview", "What a purge would delete. Takes the parameters of purge.", READS, .run = op_purge_preview,
		.finds_itself = true, .params = purge_params },
	{ "retention", "The retention limits, and what exceeds them.", READS, .run = op_retention },
	{ "retain", "Deletes what exceeds the retention limits.", OP_READER, op_retain, .flags = OP_DESTROYS,
		.alone = true, .owner = true, .lane = LOOP_BACKGROUND },
	{ 0 },
};
