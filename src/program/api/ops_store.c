/* Keeping the store: backup, repair, retention. Whatever writes runs as a job of the writer. */
#include "api/ops_store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "api/ops.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"

enum { RETAIN_MS = 20000 }; /* by hand: the rest goes in the background */

int op_refuse_writer(struct op_call *call, int r)
{
	struct writer_state state;

	writer_get_state(call->ctx->writer, &state);
	return err_set(call->err, r, "%s", state.trouble[0] ? state.trouble : strerror(-r));
}

/* -- backup ------------------------------------------------------------------------------------ */

static void write_summary(struct json_writer *w, const struct store_summary *s)
{
	jw_field_int(w, "bytes", s->bytes);
	jw_field_int(w, "schema", s->version);
	jw_field_int(w, "events", s->events);
	jw_field_int(w, "sessions", s->sessions);
}

static int make_backup(struct op_call *call, char path[FS_PATH], struct store_summary *ret)
{
	const struct paths *p = call->ctx->paths;
	str file = op_text(call, "file");
	char when[CLOCK_TEXT];
	int r;

	if (op_bool(call, "automatic")) {
		r = store_backup_daily(p->store, p->backups, true, path, call->err);
		return r < 0 ? r : store_inspect(path, ret, call->err);
	}
	if (str_is_set(file)) {
		if (str_empty(file) || file.p[0] != '/' || file.n >= FS_PATH - 16)
			return err_set(call->err, -EINVAL, "'file' must be an absolute path");
		snprintf(path, FS_PATH, STR_FMT, STR_ARG(file));
	} else {
		r = fs_private_dir(p->backups);
		if (r < 0)
			return err_set(call->err, r, "the directory %s cannot be used: %s", p->backups, strerror(-r));
		store_time_name(when);
		snprintf(path, FS_PATH, "%.*s/hookd-%s.db", FS_PATH - 100, p->backups, when);
	}
	return store_backup(p->store, path, ret, call->err);
}

int op_backup(struct op_call *call)
{
	struct store_summary summary = { 0 };
	int64_t begin = clock_mono_us();
	char path[FS_PATH];
	int r = make_backup(call, path, &summary);

	if (r == -EUCLEAN)
		writer_suspect(call->ctx->writer);
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_str(call->w, "path", str_of(path));
	write_summary(call->w, &summary);
	jw_field_int(call->w, "ms", (clock_mono_us() - begin) / USEC_PER_MSEC);
	jw_end_object(call->w);
	return 0;
}

/* -- repair ------------------------------------------------------------------------------------ */

static int check_job(struct store *s, void *arg)
{
	return store_check(s, arg);
}

static int check_only(struct op_call *call, struct buf *problems)
{
	_cleanup_(store_closep) struct store *s = NULL;
	int r = store_open(call->ctx->paths->store, STORE_READ, NULL, &s, call->err);

	if (r == 0)
		return store_check(s, problems);
	buf_addf(problems, "%s\n", call->err->text);
	return r;
}

int op_repair(struct op_call *call)
{
	struct buf problems = BUF_INIT(1 << 20);
	bool dry = op_bool(call, "dry_run");
	struct store_summary summary = { 0 };
	struct writer_state state;
	char backup[FS_PATH] = "";
	int r = dry ? check_only(call, &problems) : writer_maintain(call->ctx->writer, check_job, &problems);

	if (r < 0 && r != -EUCLEAN) {
		buf_release(&problems);
		return call->err->text[0] ? r : op_refuse_writer(call, r);
	}
	if (dry)
		(void)store_newest_backup(call->ctx->paths->backups, backup, &summary);
	writer_get_state(call->ctx->writer, &state);
	jw_object(call->w);
	jw_field_bool(call->w, "ok", r == 0);
	jw_field_str(call->w, "problems", buf_str(&problems));
	jw_field_bool(call->w, "repaired", r < 0 && !dry && state.open && state.recovery[0]);
	jw_field_str(call->w, "recovery", str_of(state.recovery));
	jw_field_str(call->w, "trouble", str_of(state.trouble));
	if (backup[0])
		jw_field_str(call->w, "backup", str_of(backup));
	jw_end_object(call->w);
	buf_release(&problems);
	return 0;
}

/* -- rebuild ----------------------------------------------------------------------------------- */

static int rebuild_job(struct store *s, void *arg)
{
	return capture_rebuild(arg, s);
}

/* Only makes it due, unless it is asked how far that is: the writer folds some sessions at a time when it has nothing
 * else to do. */
int op_rebuild(struct op_call *call)
{
	bool look = op_bool(call, "dry_run") || op_bool(call, "progress");
	_cleanup_(store_closep) struct store *s = NULL;
	struct store_aside aside = { 0 };
	int64_t left = 0, sessions = 0, events = 0;
	int r = look ? 0 : writer_call(call->ctx->writer, rebuild_job, call->ctx->capture);

	if (r < 0)
		return op_refuse_writer(call, r);
	r = store_open(call->ctx->paths->store, STORE_READ, NULL, &s, call->err);
	if (r == 0)
		r = capture_rebuild_left(s, &left, &sessions);
	if (r == 0)
		r = store_count_aside(s, &aside);
	if (r == 0)
		r = store_number(s, &events, "SELECT count(*) FROM events", "");
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_int(call->w, "left", left);
	jw_field_int(call->w, "sessions", sessions);
	jw_field_int(call->w, "events", events);
	jw_field_int(call->w, "unfolded", aside.unfolded);
	jw_field_int(call->w, "quarantined", aside.quarantined);
	jw_end_object(call->w);
	return 0;
}

/* -- retention --------------------------------------------------------------------------------- */

static struct capture_limits limits_of(const struct api_context *ctx)
{
	return (struct capture_limits){ .days = config_number(ctx->config, OPTION_RETENTION_DAYS),
		.bytes = config_number(ctx->config, OPTION_STORE_MAX_MB) << 20 };
}

static void write_limits(struct json_writer *w, const struct capture_limits *limits, int64_t used)
{
	jw_field_int(w, "days", limits->days);
	jw_field_int(w, "max_bytes", limits->bytes);
	jw_field_int(w, "used_bytes", used);
}

int op_retention(struct op_call *call)
{
	struct capture_limits limits = limits_of(call->ctx);
	struct capture_count beyond;
	int r = capture_beyond(call->store, &limits, clock_wall_us(), &beyond);

	if (r < 0)
		return r;
	jw_object(call->w);
	write_limits(call->w, &limits, store_used_bytes(call->store));
	jw_key(call->w, "beyond");
	jw_object(call->w);
	op_write_count(call->w, &beyond);
	jw_end_object(call->w);
	jw_end_object(call->w);
	return 0;
}

struct retaining {
	struct capture_limits limits;
	struct capture_count gone;
	int64_t used;
	bool more;
};

static int retain_job(struct store *s, void *arg)
{
	struct retaining *t = arg;
	int64_t until = clock_mono_us() + RETAIN_MS * USEC_PER_MSEC;
	int r = 1;

	while (r == 1 && clock_mono_us() < until)
		r = capture_retain_some(s, &t->limits, clock_wall_us(), &t->gone);
	t->more = r == 1;
	while (r == 0 && clock_mono_us() < until && capture_shrink_some(s) == 1)
		;
	t->used = store_used_bytes(s);
	return r < 0 ? r : 0;
}

int op_retain(struct op_call *call)
{
	struct retaining t = { .limits = limits_of(call->ctx) };
	int r = writer_maintain(call->ctx->writer, retain_job, &t);

	if (r < 0)
		return op_refuse_writer(call, r);
	jw_object(call->w);
	write_limits(call->w, &t.limits, t.used);
	jw_key(call->w, "deleted");
	jw_object(call->w);
	jw_field_int(call->w, "sessions", t.gone.sessions);
	jw_field_int(call->w, "events", t.gone.events);
	jw_end_object(call->w);
	jw_field_bool(call->w, "more", t.more);
	jw_end_object(call->w);
	return 0;
}
