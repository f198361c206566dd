/* The table of operations, and those that speak of the daemon itself. */
#include "api/ops.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agents/agents.h"
#include "api/ops_store.h"
#include "base/clock.h"
#include "base/fs.h"
#include "os/os.h"
#include "redact/redact.h"

/* -- hello, ops, stop -------------------------------------------------------------------------- */

static int run_hello(struct op_call *call)
{
	struct json_writer *w = call->w;

	jw_object(w);
	jw_field_str(w, "version", STR(HOOKD_VERSION));
	jw_field_int(w, "protocol", WIRE_PROTO);
	jw_field_int(w, "pid", getpid());
	jw_end_object(w);
	return 0;
}

static int run_ops(struct op_call *call)
{
	struct json_writer *w = call->w;

	jw_object(w);
	jw_key(w, "ops");
	jw_array(w);
	for (const struct op *o = ops; o->name; o++) {
		jw_object(w);
		jw_field_str(w, "name", str_of(o->name));
		jw_field_str(w, "text", str_of(o->text));
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
	return 0;
}

static int run_stop(struct op_call *call)
{
	jw_object(call->w);
	jw_field_bool(call->w, "stopping", true);
	jw_end_object(call->w);
	call->ctx->stop(call->ctx->stop_arg);
	return 0;
}

/* -- status ------------------------------------------------------------------------------------ */

static void write_events(struct json_writer *w, const struct engine_state *e)
{
	jw_key(w, "events");
	jw_object(w);
	jw_field_int(w, "received", (int64_t)e->received);
	jw_field_int(w, "journaled", (int64_t)e->journaled);
	jw_field_int(w, "unstored", (int64_t)e->unstored);
	jw_field_int(w, "late", (int64_t)e->late);
	jw_field_int(w, "incomplete", (int64_t)e->incomplete);
	jw_field_int(w, "not_json", (int64_t)e->not_json);
	jw_field_int(w, "private", (int64_t)e->muted);
	jw_field_int(w, "secrets_removed", (int64_t)e->secrets);
	jw_key(w, "kinds");
	jw_object(w);
	for (int k = 0; k < EVENT_KIND_MAX; k++)
		if (e->kinds[k])
			jw_field_int(w, event_kinds[k].name, (int64_t)e->kinds[k]);
	jw_end_object(w);
	jw_key(w, "verdicts");
	jw_object(w);
	for (int v = 0; v < VERDICT_ACTION_MAX; v++)
		jw_field_int(w, verdict_action_names[v], (int64_t)e->verdicts[v]);
	jw_end_object(w);
	if (e->last_event_us)
		jw_field_int(w, "last_at_us", e->last_event_us);
	jw_end_object(w);
}

static void write_journal(struct json_writer *w, const struct api_context *ctx, const struct engine_state *e,
	const struct writer_state *s)
{
	struct fs_dir_look journal = fs_look_at_dir(ctx->paths->journal), spool = fs_look_at_dir(ctx->paths->spool);
	int64_t behind = (int64_t)e->journaled - (int64_t)s->taken;
	struct journal_sync_state sync;

	journal_syncer_get_state(ctx->syncer, &sync);
	jw_key(w, "journal");
	jw_object(w);
	jw_field_int(w, "segments", journal.files);
	jw_field_int(w, "bytes", journal.bytes);
	jw_field_int(w, "unfolded_records", behind < 0 ? 0 : behind);
	jw_field_int(w, "oldest_unfolded_age_us", s->oldest_unfolded_us ? clock_wall_us() - s->oldest_unfolded_us : 0);
	jw_field_int(w, "syncs", (int64_t)sync.syncs);
	jw_field_int(w, "failed_syncs", (int64_t)sync.failures);
	jw_field_str(w, "trouble", str_of(e->journal_trouble[0] ? e->journal_trouble : sync.trouble));
	jw_end_object(w);
	jw_key(w, "spool");
	jw_object(w);
	jw_field_int(w, "files", spool.files);
	jw_field_int(w, "bytes", spool.bytes);
	jw_field_int(w, "oldest_age_us", spool.oldest_us ? clock_wall_us() - spool.oldest_us : 0);
	jw_field_int(w, "picked_up", (int64_t)s->spooled);
	jw_end_object(w);
}

static void write_store(struct json_writer *w, const struct api_context *ctx, const struct writer_state *s)
{
	char wal[FS_PATH + 8];

	jw_key(w, "store");
	jw_object(w);
	jw_field_str(w, "path", str_of(ctx->paths->store));
	jw_field_bool(w, "open", s->open);
	jw_field_str(w, "trouble", str_of(s->trouble));
	jw_field_str(w, "recovery", str_of(s->recovery));
	jw_field_int(w, "folded", (int64_t)s->folded);
	jw_field_int(w, "doubled", (int64_t)s->doubled);
	jw_field_int(w, "damaged", (int64_t)s->damaged);
	jw_field_int(w, "commits", (int64_t)s->commits);
	jw_field_int(w, "replayed", (int64_t)s->replayed);
	jw_field_int(w, "unfolded", s->aside.unfolded);
	jw_field_int(w, "quarantined", s->aside.quarantined);
	jw_field_int(w, "bytes", fs_file_bytes(ctx->paths->store));
	snprintf(wal, sizeof wal, "%s-wal", ctx->paths->store);
	jw_field_int(w, "wal_bytes", fs_file_bytes(wal));
	jw_field_int(w, "free_bytes", fs_free_bytes(ctx->paths->data));
	jw_end_object(w);
}

/* Sessions whose privacy is known to this process alone. */
static void write_privacy(struct json_writer *w)
{
	int error = 0;
	unsigned n = redact_mute_trouble(&error);

	jw_key(w, "privacy");
	jw_object(w);
	jw_field_int(w, "unwritten_markers", n);
	jw_field_str(w, "trouble", n ? str_of(strerror(error)) : STR(""));
	jw_end_object(w);
}

static void write_agents(struct json_writer *w, const struct engine_state *e)
{
	jw_key(w, "agents");
	jw_array(w);
	for (const struct agent_seen *a = e->agents; a < e->agents + AGENTS_SEEN_MAX && a->name[0]; a++) {
		jw_object(w);
		jw_field_str(w, "agent", str_of(a->name));
		jw_field_int(w, "last_us", a->last_us);
		jw_field_int(w, "tools_before", (int64_t)a->before);
		jw_field_int(w, "tools_after", (int64_t)a->after);
		jw_field_bool(w, "misses_before", engine_misses_before(a));
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void write_cost(struct json_writer *w, const struct api_context *ctx, const struct writer_state *s)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	jw_key(w, "cpu");
	jw_object(w);
	jw_field_int(w, "loop_us", loop_cpu_us(ctx->loop));
	jw_field_int(w, "writer_us", s->cpu_us);
	jw_field_int(w, "total_us", (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC +
		u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	jw_end_object(w);
	jw_field_int(w, "rss_bytes", (int64_t)os_resident_bytes());
}

static void write_server(struct json_writer *w, const struct api_context *ctx)
{
	struct server_state s;

	server_get_state(ctx->server, &s);
	jw_key(w, "server");
	jw_object(w);
	jw_field_str(w, "socket", str_of(ctx->paths->socket));
	jw_field_int(w, "connections", s.connections);
	jw_field_int(w, "busy", s.busy);
	jw_field_int(w, "accepted", (int64_t)s.accepted);
	jw_field_int(w, "refused_peers", (int64_t)s.refused_peers);
	jw_field_int(w, "refused_frames", (int64_t)s.refused_frames);
	jw_field_int(w, "expired", (int64_t)s.expired);
	jw_end_object(w);
}

static int run_status(struct op_call *call)
{
	const struct api_context *ctx = call->ctx;
	struct json_writer *w = call->w;
	bool strict = config_number(ctx->config, OPTION_DURABILITY) != 0;
	struct engine_state e;
	struct writer_state s;
	unsigned problems = 0;

	engine_get_state(ctx->engine, &e);
	writer_get_state(ctx->writer, &s);
	for (const struct config_problem *p = ctx->config_problems; p; p = p->next)
		problems++;
	jw_object(w);
	jw_field_bool(w, "running", true);
	jw_field_int(w, "pid", getpid());
	jw_field_str(w, "version", STR(HOOKD_VERSION));
	jw_field_int(w, "protocol", WIRE_PROTO);
	jw_field_int(w, "started_us", ctx->started_us);
	jw_field_int(w, "uptime_us", clock_wall_us() - ctx->started_us);
	jw_field_str(w, "state_dir", str_of(ctx->paths->state));
	jw_field_str(w, "durability", strict ? STR("strict") : STR("normal"));
	jw_field_str(w, "loss_window", strict ?
		STR("none: an answer means the event is on disk") :
		STR("none in a crash of hookd; at most 1 s in a power cut"));
	jw_field_int(w, "events_received", (int64_t)e.received);
	jw_field_int(w, "config_problems", problems);
	write_events(w, &e);
	write_agents(w, &e);
	write_privacy(w);
	write_journal(w, ctx, &e, &s);
	write_store(w, ctx, &s);
	write_server(w, ctx);
	op_write_hooks_state(w, ctx->engine);
	write_cost(w, ctx, &s);
	jw_end_object(w);
	return 0;
}

/* -- check ------------------------------------------------------------------------------------- */

static int run_check(struct op_call *call)
{
	struct buf problems = BUF_INIT(1 << 20);
	int r = store_check(call->store, &problems);

	jw_object(call->w);
	jw_field_bool(call->w, "ok", r == 0);
	jw_field_str(call->w, "problems", buf_str(&problems));
	jw_end_object(call->w);
	buf_release(&problems);
	return 0;
}

const struct op ops[] = {
	{ "hello", "Version, protocol number and process id of the daemon.", OP_LOOP, run_hello },
	{ "ops", "The operations there are.", OP_LOOP, run_ops },
	{ "status", "Counters, queues, cost and trouble of the daemon.", OP_LOOP, run_status },
	{ "stop", "Ends the daemon after everything under way is answered and stored.", OP_LOOP, run_stop },
	{ "sessions",
		"Sessions, newest first. project, agent, since, until (us), status, query (in the title), "
		"limit, "
		"all (with hidden ones), after (a key: oldest first from there).",
		OP_READER, op_sessions },
	{ "show",
		"One session: windows, prompts with what was done for them, plans, numbers. session, skip, "
		"limit (prompts).",
		OP_READER, op_show },
	{ "events", "The newest events, or those after a number. after, limit, session, project, agent.",
		OP_READER, op_events },
	{ "event", "One event by its key. id.", OP_READER, op_event },
	{ "session_events", "All events of a session in order. session, cursor, limit.", OP_READER,
		op_session_events },
	{ "activities", "Tool calls, newest first. session, limit.", OP_READER, op_activities },
	{ "plans", "Plans, newest first. session, project, agent, since, until, limit.", OP_READER, op_plans },
	{ "plan", "One plan with all its versions. plan (key, path or file name), session.", OP_READER,
		op_plan },
	{ "transcripts", "How far each transcript has been imported. after (a path), limit.", OP_READER, op_transcripts },
	{ "settle", "Folds sessions again that an import left for later. Answers how many are left.", OP_WRITER, op_settle },
	{ "search",
		"Prompts, answers, commands and plans by their words. query (words, \"phrases\", prefix*), in (prompts, "
		"answers, commands, plans, sessions), project, agent, since, until, limit.",
		OP_READER, op_search },
	{ "usage", "Tokens and an estimate of their cost. by (day, week, project, agent, model, session), project, agent, "
		"since, until, limit.",
		OP_READER, op_usage },
	{ "decisions",
		"What hookd decided, newest first. rule, decision (allow, ask, deny), session, project, agent, since, until, "
		"limit.",
		OP_READER, op_decisions },
	{ "backtest",
		"What the rules of now would have said about the calls in the store. project, agent, since, until, after "
		"(where an earlier answer says to go on).",
		OP_READER, op_backtest },
	{ "rule_counts", "How often each rule had something to say, and when it did last.", OP_READER, op_rule_counts },
	{ "stats", "Numbers in all, by day, project, agent and tool. project, agent, since, until, all.",
		OP_READER, op_stats },
	{ "projects", "Projects with their worktrees and other paths, the last used first.", OP_READER,
		op_projects },
	{ "project_rename", "Gives a project a name; an empty one gives back the folder's. project, name.",
		OP_WRITER, op_project_rename },
	{ "project_merge", "Moves everything of one project into another. from, into, dry_run.", OP_WRITER,
		op_project_merge },
	{ "hooks", "The user's hooks for a directory: where they stand, what they match, whether they run. cwd, agent.",
		OP_READER, op_hooks, .alone = true },
	{ "hooks_history", "What hooks did lately, newest first. limit.", OP_LOOP, op_hooks_history },
	{ "hooks_reload", "Takes new snapshots of the hooks for all sessions under way.", OP_LATER, op_hooks_reload },
	{ "trigger",
		"Runs the hooks for an event. type, timestamp, sessionId, payload {toolName, input, output, error, …}; "
		"agent, cwd.",
		OP_LATER, op_trigger },
	{ "register", "Adds a hook to the user's file. event, matcher, hook {type, command, …}.", OP_READER, op_register,
		.alone = true },
	{ "unregister", "Takes a hook out of the user's file. event, hookId.", OP_READER, op_unregister, .alone = true },
	{ "check", "Checks the store for damage.", OP_READER, run_check },
	{ "repair", "Checks the store and, if it is damaged, makes it anew. dry_run.", OP_READER, op_repair,
		.alone = true },
	{ "backup", "Copies the store while it is in use. file, automatic.", OP_READER, op_backup,
		.alone = true },
	{ "purge",
		"Deletes sessions and events for good. sessions, project, agent, before_us, match; "
		"keep_backups, all_copies.",
		OP_READER, op_purge, .alone = true, .rotates = true },
	{ "purge_preview", "What a purge would delete. Parameters as for purge.", OP_READER, op_purge_preview },
	{ "retention", "The limits of what is kept, and what is beyond them.", OP_READER, op_retention },
	{ "rebuild", "Folds all sessions again from events, in the background. dry_run; progress: only say how far it is.",
		OP_READER, op_rebuild, .alone = true },
	{ "retain", "Deletes what is beyond the limits.", OP_READER, op_retain, .alone = true },
	{ 0 },
};
