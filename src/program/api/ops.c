/* Operations about the daemon itself. */
#include "api/ops.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/clock.h"
#include "base/fs.h"
#include "llm/llm.h"
#include "outbox/outbox.h"
#include "os/os.h"
#include "redact/redact.h"

/* -- hello, ops, stop -------------------------------------------------------------------------- */

int op_hello(struct op_call *call)
{
	struct json_writer *w = call->w;

	jw_object(w);
	jw_field_str(w, "version", STR(HOOKD_VERSION));
	jw_field_int(w, "protocol", WIRE_PROTO);
	jw_field_int(w, "pid", getpid());
	jw_end_object(w);
	return 0;
}

static void write_flags(struct json_writer *w, const struct op *o)
{
	static const struct {
		unsigned flag;
		const char *name;
	} flags[] = { { OP_IS_READ, "read" }, { OP_MUTATES, "mutate" }, { OP_DESTROYS, "destroy" }, { OP_MCP, "mcp" } };

	jw_key(w, "flags");
	jw_array(w);
	for (size_t i = 0; i < countof(flags); i++)
		if (o->flags & flags[i].flag)
			jw_str(w, str_of(flags[i].name));
	jw_end_array(w);
}

int op_ops(struct op_call *call)
{
	static const char *const scopes[] = { [OP_OWNER] = "owner", [OP_AGENT] = "agent", [OP_VIEWER] = "viewer" };
	struct json_writer *w = call->w;
	str only = op_text(call, "method");
	unsigned n = 0;

	jw_object(w);
	jw_key(w, "ops");
	jw_array(w);
	for (const struct op *o = ops; o->name; o++) {
		if (!str_empty(only) && !str_eq_name(only, str_of(o->name)))
			continue;
		jw_object(w);
		jw_field_str(w, "name", str_of(o->name));
		jw_field_str(w, "text", str_of(o->text));
		jw_field_str(w, "scope", str_of(scopes[o->scope]));
		write_flags(w, o);
		jw_key(w, "params");
		op_write_schema(w, o);
		jw_end_object(w);
		n++;
	}
	jw_end_array(w);
	jw_end_object(w);
	return n ? 0 : err_set(call->err, -ENOENT, "there is no such operation; the method 'ops' lists them");
}

int op_stop(struct op_call *call)
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
	jw_field_int(w, "to_spool", (int64_t)e->spooled);
	jw_field_int(w, "unstored", (int64_t)e->unstored);
	jw_field_int(w, "late", (int64_t)e->late);
	jw_field_int(w, "twins", (int64_t)e->twins);
	jw_field_int(w, "judged_by_text", (int64_t)e->judged_by_text);
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
	jw_field_int(w, "missing", (int64_t)s->missing);
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

static void write_available(struct json_writer *w, const struct agent_seen *a)
{
	enum agent_available is = engine_available(a, clock_wall_us());

	jw_field_str(w, "available", str_of(available_names[is]));
	if (is == AGENT_AVAILABLE)
		return;
	jw_field_str(w, "why", str_of(a->why));
	jw_field_int(w, "since_us", a->since_us);
	if (a->until_us)
		jw_field_int(w, "until_us", a->until_us);
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
		write_available(w, a);
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
	jw_field_int(w, "total_us",
		(int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC + u.ru_utime.tv_usec +
			u.ru_stime.tv_usec);
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

int op_status(struct op_call *call)
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
	problems = MAX(problems, outbox_problems(ctx->outbox));
	jw_object(w);
	jw_field_bool(w, "running", true);
	jw_field_int(w, "pid", getpid());
	jw_field_str(w, "version", STR(HOOKD_VERSION));
	jw_field_int(w, "protocol", WIRE_PROTO);
	jw_field_int(w, "started_us", ctx->started_us);
	jw_field_int(w, "uptime_us", clock_wall_us() - ctx->started_us);
	jw_field_str(w, "state_dir", str_of(ctx->paths->state));
	jw_field_str(w, "durability", strict ? STR("strict") : STR("normal"));
	jw_field_str(w, "loss_window",
		strict ? STR("none: an answer means the event is on disk")
		       : STR("none in a crash of hookd; at most 1 s in a power cut"));
	jw_field_int(w, "events_received", (int64_t)e.received);
	jw_field_int(w, "config_problems", problems);
	write_events(w, &e);
	write_agents(w, &e);
	write_privacy(w);
	if (ctx->llm) {
		jw_key(w, "model");
		llm_write_health(ctx->llm, w);
	}
	if (outbox_has_sinks(ctx->outbox)) {
		jw_key(w, "sinks");
		jw_array(w);
		outbox_write_state(ctx->outbox, w);
		jw_end_array(w);
	}
	write_journal(w, ctx, &e, &s);
	write_store(w, ctx, &s);
	write_server(w, ctx);
	op_write_hooks_state(w, ctx->engine);
	write_cost(w, ctx, &s);
	jw_end_object(w);
	return 0;
}

/* -- check ------------------------------------------------------------------------------------- */

int op_check(struct op_call *call)
{
	struct buf problems = BUF_INIT(1 << 20);
	int r = store_check(call->store, &problems);

	/* Whoever looks finds it sooner than the check in idle time does. */
	if (r == -EUCLEAN)
		writer_suspect(call->ctx->writer);
	jw_object(call->w);
	jw_field_bool(call->w, "ok", r == 0);
	jw_field_str(call->w, "problems", buf_str(&problems));
	jw_end_object(call->w);
	buf_release(&problems);
	return 0;
}
