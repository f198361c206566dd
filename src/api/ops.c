/* The operations. */
#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agents/agents.h"
#include "api/ops_store.h"
#include "base/clock.h"
#include "base/fs.h"
#include "os/os.h"

/* -- hello, ops, stop ------------------------------------------------------------------------------ */

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

/* -- status ------------------------------------------------------------------------------------------ */

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
	unsigned segments, spooled;
	long long bytes = fs_dir_bytes(ctx->places->journal, &segments);
	long long spool_bytes = fs_dir_bytes(ctx->places->spool, &spooled);
	int64_t behind = (int64_t)e->journaled - (int64_t)s->taken;

	jw_key(w, "journal");
	jw_object(w);
	jw_field_int(w, "segments", segments);
	jw_field_int(w, "bytes", bytes);
	jw_field_int(w, "unfolded_records", behind < 0 ? 0 : behind);
	jw_field_int(w, "oldest_unfolded_age_us", s->oldest_unfolded_us ? clock_wall_us() - s->oldest_unfolded_us : 0);
	jw_field_str(w, "trouble", str_of(e->journal_trouble));
	jw_end_object(w);
	jw_key(w, "spool");
	jw_object(w);
	jw_field_int(w, "files", spooled);
	jw_field_int(w, "bytes", spool_bytes);
	jw_field_int(w, "picked_up", (int64_t)s->spooled);
	jw_end_object(w);
}

static void write_store(struct json_writer *w, const struct api_context *ctx, const struct writer_state *s)
{
	jw_key(w, "store");
	jw_object(w);
	jw_field_str(w, "path", str_of(ctx->places->store));
	jw_field_bool(w, "open", s->open);
	jw_field_str(w, "trouble", str_of(s->trouble));
	jw_field_str(w, "recovery", str_of(s->recovery));
	jw_field_int(w, "folded", (int64_t)s->folded);
	jw_field_int(w, "doubled", (int64_t)s->doubled);
	jw_field_int(w, "damaged", (int64_t)s->damaged);
	jw_field_int(w, "commits", (int64_t)s->commits);
	jw_field_int(w, "free_bytes", fs_free_bytes(ctx->places->data));
	jw_end_object(w);
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
	jw_field_str(w, "socket", str_of(ctx->places->socket));
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
	jw_field_str(w, "state_dir", str_of(ctx->places->state));
	jw_field_str(w, "durability", strict ? STR("strict") : STR("normal"));
	jw_field_str(w, "loss_window", strict ?
		STR("none: an answer means the event is on disk") :
		STR("none in a crash of hookd; at most 1 s in a power cut"));
	jw_field_int(w, "events_received", (int64_t)e.received);
	jw_field_int(w, "config_problems", problems);
	write_events(w, &e);
	write_journal(w, ctx, &e, &s);
	write_store(w, ctx, &s);
	write_server(w, ctx);
	write_cost(w, ctx, &s);
	jw_end_object(w);
	return 0;
}

/* -- readers of the store ------------------------------------------------------------------------------- */

static int run_sessions(struct op_call *call)
{
	struct json_writer *w = call->w;
	str agent = op_param_str(call, "agent");
	struct query *q = store_query(call->store,
		"SELECT key, agent, native_id, cwd, transcript, status, started_at, last_at, ended_at, events, prompts, tools "
		"FROM sessions WHERE (?1 IS NULL OR agent = ?1) AND (?3 OR native_id NOT GLOB 'hookd-doctor-*') "
		"ORDER BY last_at DESC LIMIT ?2");
	int got;

	query_bind_str(q, 1, agent);
	query_bind_int(q, 2, op_param_int(call, "limit", 50, 1, 10000));
	query_bind_int(q, 3, json_true(json_get(call->params, STR("all"))));
	jw_object(w);
	jw_key(w, "sessions");
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		jw_object(w);
		jw_field_int(w, "key", query_int(q, 0));
		jw_field_str(w, "agent", query_str(q, 1));
		jw_field_str(w, "id", query_str(q, 2));
		jw_field_str(w, "cwd", query_str(q, 3));
		jw_field_str(w, "transcript_path", query_str(q, 4));
		jw_field_str(w, "status", query_str(q, 5));
		jw_field_int(w, "started_us", query_int(q, 6));
		jw_field_int(w, "last_us", query_int(q, 7));
		if (!query_is_null(q, 8))
			jw_field_int(w, "ended_us", query_int(q, 8));
		jw_field_int(w, "events", query_int(q, 9));
		jw_field_int(w, "prompts", query_int(q, 10));
		jw_field_int(w, "tools", query_int(q, 11));
		jw_end_object(w);
	}
	query_reset(q);
	jw_end_array(w);
	jw_end_object(w);
	return got;
}

static void write_event_row(struct json_writer *w, struct query *q)
{
	char id[ULID_TEXT + 1], at[CLOCK_TEXT];
	struct ulid u = { { 0 } };
	str blob = query_str(q, 1);

	if (blob.n == ULID_BYTES)
		memcpy(u.b, blob.p, ULID_BYTES);
	ulid_format(&u, id);
	clock_format(query_int(q, 2), 0, at);
	jw_object(w);
	jw_field_int(w, "seq", query_int(q, 0));
	jw_field_str(w, "id", str_of(id));
	jw_field_str(w, "at", str_of(at));
	jw_field_int(w, "at_us", query_int(q, 2));
	jw_field_str(w, "agent", query_str(q, 3));
	jw_field_str(w, "session", query_str(q, 4));
	jw_field_str(w, "event", query_str(q, 5));
	jw_field_str(w, "native_event", query_str(q, 6));
	jw_field_str(w, "tool", query_str(q, 7));
	jw_field_str(w, "tool_use_id", query_str(q, 8));
	jw_field_str(w, "agent_id", query_str(q, 9));
	jw_field_int(w, "marks", query_int(q, 10));
	jw_key(w, "payload");
	jw_stored(w, query_str(q, 11));
	jw_end_object(w);
}

#define EVENT_COLUMNS                                                                              \
	"e.seq, e.id, e.at, s.agent, s.native_id, e.kind, e.native, e.tool, e.tool_use_id, "       \
	"e.agent_id, e.marks, e.payload"

/* With "after": the rows that came later, oldest first. Without: the newest ones, oldest first. */
static int run_events(struct op_call *call)
{
	struct json_writer *w = call->w;
	bool follow = json_get(call->params, STR("after")) != NULL;
	struct query *q = store_query(call->store, follow ?
		"SELECT " EVENT_COLUMNS " FROM events e JOIN sessions s ON s.key = e.session "
		"WHERE e.seq > ?2 AND (?3 IS NULL OR s.native_id = ?3) ORDER BY e.seq LIMIT ?1" :
		"SELECT * FROM (SELECT " EVENT_COLUMNS ", e.ord FROM events e JOIN sessions s ON s.key = e.session "
		"WHERE ?2 = 0 AND (?3 IS NULL OR s.native_id = ?3) ORDER BY e.seq DESC LIMIT ?1) ORDER BY ord, seq");
	int64_t last = op_param_int(call, "after", 0, 0, INT64_MAX);
	int got;

	query_bind_int(q, 1, op_param_int(call, "limit", 20, 1, 100000));
	query_bind_int(q, 2, last);
	query_bind_str(q, 3, op_param_str(call, "session"));
	jw_object(w);
	jw_key(w, "events");
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		write_event_row(w, q);
		last = MAX(last, query_int(q, 0));
	}
	query_reset(q);
	jw_end_array(w);
	jw_field_int(w, "last", last);
	jw_end_object(w);
	return got;
}

static int run_event(struct op_call *call)
{
	struct query *q = store_query(call->store,
		"SELECT " EVENT_COLUMNS " FROM events e JOIN sessions s ON s.key = e.session WHERE e.id = ?1");
	struct ulid id;
	int got;

	if (!ulid_parse(op_param_str(call, "id"), &id))
		return err_set(call->err, -EINVAL, "'id' must be the 26 letters of an event's key");
	query_bind_blob(q, 1, id.b, ULID_BYTES);
	got = query_step(q);
	if (got == 1)
		write_event_row(call->w, q);
	query_reset(q);
	return got == 0 ? err_set(call->err, -ENOENT, "there is no event with this key") : got < 0 ? got : 0;
}

static int run_activities(struct op_call *call)
{
	struct json_writer *w = call->w;
	struct query *q = store_query(call->store,
		"SELECT a.same, a.tool, a.class, a.state, a.started_at, a.ended_at, s.native_id "
		"FROM activities a JOIN sessions s ON s.key = a.session "
		"WHERE a.kind = 'tool' AND (?1 IS NULL OR s.native_id = ?1) ORDER BY a.key DESC LIMIT ?2");
	int got;

	query_bind_str(q, 1, op_param_str(call, "session"));
	query_bind_int(q, 2, op_param_int(call, "limit", 50, 1, 100000));
	jw_object(w);
	jw_key(w, "activities");
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		jw_object(w);
		jw_field_str(w, "tool_use_id", query_str(q, 0));
		jw_field_str(w, "tool", query_str(q, 1));
		jw_field_str(w, "class", query_str(q, 2));
		jw_field_str(w, "state", query_str(q, 3));
		if (!query_is_null(q, 4))
			jw_field_int(w, "started_us", query_int(q, 4));
		if (!query_is_null(q, 5))
			jw_field_int(w, "ended_us", query_int(q, 5));
		jw_field_str(w, "session", query_str(q, 6));
		jw_end_object(w);
	}
	query_reset(q);
	jw_end_array(w);
	jw_end_object(w);
	return got;
}

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
	{ "hello", "Version, protocol number and process id of the daemon.", false, run_hello },
	{ "ops", "The operations there are.", false, run_ops },
	{ "status", "Counters, queues, cost and trouble of the daemon.", false, run_status },
	{ "stop", "Ends the daemon after everything under way is answered and stored.", false, run_stop },
	{ "sessions", "Sessions, newest first. agent, limit, all (with those of hookd doctor).", true, run_sessions },
	{ "events", "The newest events, or those after a number. after, limit, session.", true, run_events },
	{ "event", "One event by its key. id.", true, run_event },
	{ "activities", "Tool calls, newest first. session, limit.", true, run_activities },
	{ "check", "Checks the store for damage.", true, run_check },
	{ "repair", "Checks the store and, if it is damaged, makes it anew. dry_run.", true, op_repair, .alone = true },
	{ "backup", "Copies the store while it is in use. file, automatic.", true, op_backup, .alone = true },
	{ "purge",
		"Deletes sessions and events for good. sessions, project, agent, before_us, match; keep_backups, all_copies.",
		true, op_purge, .alone = true, .rotates = true },
	{ "purge_preview", "What a purge would delete. Parameters as for purge.", true, op_purge_preview },
	{ "retention", "The limits of what is kept, and what is beyond them.", true, op_retention },
	{ "retain", "Deletes what is beyond the limits.", true, op_retain, .alone = true },
	{ 0 },
};
