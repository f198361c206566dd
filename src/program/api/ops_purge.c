/* Purge: what was captured is deleted for good, in every copy that hookd controls.
 *
 * It takes many transactions, a rewrite of the store and the replacement of backups, and may be cut off anywhere. So
 * what is to be deleted is written to a file first, and that file goes last: a daemon that finds one at its start
 * does the whole again. Doing it twice does no harm. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/ops.h"
#include "api/ops_store.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "memory/memory.h"

enum {
	EXAMPLES = 5,
	CHECKPOINT_TRIES = 4,
	ORDER_MAX = 1 << 20,
	TEMP_AGE_S = 10, /* a temporary file that is older belongs to nobody who still runs */
};

/* -- what ------------------------------------------------------------------------------- */

static bool wants_all_copies(const struct op_call *call)
{
	return op_bool(call, "all_copies");
}

/* Without a filter everything would match, which nobody can ask for. */
static bool chooses_something(const struct capture_choice *c)
{
	return str_is_set(c->sessions) || c->project || str_is_set(c->agent) || c->before_us || str_is_set(c->match) ||
		str_is_set(c->memories);
}

/* Ids, separated by blanks. */
static int read_memories(struct op_call *call, str *ret)
{
	struct buf b = BUF_INIT(ORDER_MAX);
	int r = 0;

	if (!op_has(call, "memories"))
		return 0;
	json_each(id, op_json(call, "memories")) {
		if (!ulid_parse(json_str(id), &(struct ulid){ { 0 } }))
			r = err_set(call->err, -EINVAL, "'memories' must have the 26 characters of each memory's id");
		buf_addf(&b, "%s" STR_FMT, b.len ? " " : "", STR_ARG(json_str(id)));
	}
	if (b.full)
		r = err_set(call->err, -EINVAL, "these are too many memories at once; delete them in several calls");
	*ret = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	return r;
}

static int read_choice(struct op_call *call, struct capture_choice *ret)
{
	str match = op_text(call, "match");
	int r = op_resolve(call);

	*ret = (struct capture_choice){ .sessions = op_text(call, "sessions"),
		.project = op_int(call, "project"),
		.agent = op_text(call, "agent"),
		.before_us = op_int(call, "before_us") };
	/* Gone from the store by now, but perhaps not from the copies. */
	if (r == -ENOENT && wants_all_copies(call)) {
		*call->err = (struct err){ 0 };
		ret->sessions = STR("[]");
		r = 0;
	}
	if (r < 0)
		return r;
	if (!str_empty(match))
		ret->match = capture_match_text(call->arena, match);
	r = read_memories(call, &ret->memories);
	if (r < 0)
		return r;
	if (!chooses_something(ret))
		return err_set(call->err, -EINVAL,
			"specify what to delete: sessions, project, agent, before_us, match or memories");
	return 0;
}

void op_write_count(struct json_writer *w, const struct capture_count *c)
{
	jw_field_int(w, "sessions", c->sessions);
	jw_field_int(w, "events", c->events);
	jw_field_int(w, "bytes", c->bytes);
	jw_field_int(w, "memories", c->memories);
	jw_field_int(w, "efforts", c->efforts);
}

static void add_path(const char *path, void *arg)
{
	jw_str(arg, str_of(path));
}

static void each_copy(const struct api_context *ctx, unsigned which, void (*fn)(const char *path, void *arg), void *arg)
{
	const struct paths *p = ctx->paths;
	const char *const dirs[4] = { p->store, p->backups, p->journal, p->spool };

	store_each_copy(dirs, which, fn, arg);
}

static int write_examples(struct op_call *call, const struct capture_choice *choice)
{
	struct json_writer *w = call->w;
	struct query *q = capture_list(call->store, choice, EXAMPLES);
	int got;

	jw_key(w, "examples");
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		jw_object(w);
		jw_field_str(w, "agent", query_str(q, 1));
		jw_field_str(w, "id", query_str(q, 2));
		jw_field_str(w, "title", query_str(q, 3));
		jw_field_str(w, "cwd", query_str(q, 4));
		jw_field_int(w, "last_us", query_int(q, 5));
		jw_field_int(w, "events", query_int(q, 6));
		jw_end_object(w);
	}
	query_reset(q);
	jw_end_array(w);
	return got;
}

int op_purge_preview(struct op_call *call)
{
	struct capture_choice choice;
	struct capture_count count = { 0 };
	struct json_writer *w = call->w;
	int r = read_choice(call, &choice);

	if (r == 0)
		r = capture_count(call->store, &choice, &count);
	if (r < 0)
		return r;
	jw_object(w);
	op_write_count(w, &count);
	jw_field_int(w, "tombstones", str_is_set(choice.match) ? count.events : count.sessions);
	r = write_examples(call, &choice);
	jw_key(w, "backups");
	jw_array(w);
	each_copy(call->ctx, STORE_COPY_OWN, add_path, w);
	jw_end_array(w);
	jw_key(w, "copies");
	jw_array(w);
	each_copy(call->ctx, STORE_COPY_USER, add_path, w);
	jw_end_array(w);
	jw_end_object(w);
	return r;
}

/* -- the order --------------------------------------------------------------------------------- */

struct purge {
	struct op_call *call; /* waits for the job to end; NULL: nobody asked, an earlier daemon was cut off */
	const struct api_context *ctx;
	struct capture_choice choice;
	bool keep_backups, all_copies;
	struct capture_count count;
	bool rewritten, flushed;
};

static int order_path(const struct api_context *ctx, char out[FS_PATH])
{
	return fs_join(out, ctx->paths->state, "purge.order");
}

/* Where a test ends the process. */
static void rehearse_death(void)
{
	if (journal_fault("purge") < 0)
		raise(SIGKILL);
}

static int write_order(const struct purge *p)
{
	struct buf b = BUF_INIT(ORDER_MAX);
	struct json_writer w = JSON_WRITER(&b);
	const struct capture_choice *c = &p->choice;
	char path[FS_PATH];
	int r = order_path(p->ctx, path);

	jw_object(&w);
	if (str_is_set(c->sessions))
		jw_field_str(&w, "sessions", c->sessions);
	if (str_is_set(c->agent))
		jw_field_str(&w, "agent", c->agent);
	if (str_is_set(c->match))
		jw_field_str(&w, "match", c->match);
	if (str_is_set(c->memories))
		jw_field_str(&w, "memories", c->memories);
	jw_field_int(&w, "project", c->project);
	jw_field_int(&w, "before_us", c->before_us);
	jw_field_bool(&w, "keep_backups", p->keep_backups);
	jw_field_bool(&w, "all_copies", p->all_copies);
	jw_end_object(&w);
	if (r == 0)
		r = b.full ? -E2BIG : fs_replace_file(path, buf_str(&b), true);
	buf_release(&b);
	return r;
}

static void forget_order(const struct api_context *ctx)
{
	char path[FS_PATH];

	if (order_path(ctx, path) == 0 && unlink(path) == 0)
		(void)fs_sync_dir(ctx->paths->state);
}

/* 1: there is one; what is in p lies in the arena. */
static int read_order(struct purge *p, struct arena *a)
{
	struct buf b = BUF_INIT(ORDER_MAX);
	struct json *root = NULL;
	struct err err = { 0 };
	char path[FS_PATH];
	int r = order_path(p->ctx, path);

	if (r == 0)
		r = fs_read_file(path, &b);
	if (r == 0)
		r = json_parse(a, arena_str(a, buf_str(&b)), 0, &root, &err);
	buf_release(&b);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	p->choice = (struct capture_choice){ .sessions = json_str(json_get(root, STR("sessions"))),
		.agent = json_str(json_get(root, STR("agent"))),
		.match = json_str(json_get(root, STR("match"))),
		.memories = json_str(json_get(root, STR("memories"))) };
	json_int(json_get(root, STR("project")), &p->choice.project);
	json_int(json_get(root, STR("before_us")), &p->choice.before_us);
	p->keep_backups = json_true(json_get(root, STR("keep_backups")));
	p->all_copies = json_true(json_get(root, STR("all_copies")));
	return chooses_something(&p->choice) ? 1 : -EBADMSG;
}

/* -- doing it ---------------------------------------------------------------------------------- */

/* The WAL holds old pages until it is truncated; readers in the middle of a query delay that. */
static bool empty_wal(struct store *s)
{
	int64_t busy = 1;

	for (int i = 0; i < CHECKPOINT_TRIES && busy; i++)
		if (store_number(s, &busy, "PRAGMA wal_checkpoint(TRUNCATE)", "") != 1)
			busy = 1;
	return !busy;
}

/* Whom the request names can only be found with everything in the store. */
static int begin(struct purge *p, struct store *s)
{
	struct op_call call;
	int r;

	if (!p->call)
		return 0;
	call = *p->call;
	call.store = s;
	r = read_choice(&call, &p->choice);
	if (r < 0)
		return r;
	r = write_order(p);
	return r < 0 ? err_set(call.err, r, "nothing was deleted: the order cannot be written: %s", strerror(-r)) : 0;
}

static int purge_job(struct store *s, void *arg)
{
	struct purge *p = arg;
	int64_t used = store_used_bytes(s);
	int r = begin(p, s);

	if (r < 0)
		return r;
	rehearse_death();
	r = capture_purge(p->ctx->capture, s, &p->choice, &p->count);
	rehearse_death();
	if (r == 0 && p->call && !p->count.events && !p->count.memories && !p->count.efforts && !p->all_copies) {
		forget_order(p->ctx);
		r = err_set(p->call->err, -ENOENT,
			"nothing matches, so nothing was deleted; see: hookd sessions --all");
	}
	if (r < 0)
		return r;
	p->count.bytes = MAX(used - store_used_bytes(s), 0);
	/* Pages that were split long ago may keep a piece of what was moved; only rewriting everything is safe.
	 * Without room for that, free pages are given back at least. */
	if (fs_free_bytes(p->ctx->paths->data) > 3 * used)
		p->rewritten = store_exec(s, "VACUUM") == 0;
	while (!p->rewritten && capture_shrink_some(s) == 1)
		;
	rehearse_death();
	p->flushed = empty_wal(s);
	return 0;
}

static void delete_copy(const char *path, void *arg)
{
	const char *spared = arg;

	if (strcmp(path, spared) != 0 && unlink(path) < 0 && errno != ENOENT)
		log_warn(LOG_STORE, "%s could not be deleted: %s", path, strerror(errno));
}

/* Everything beside the store: backups, and what killed processes left half-written. */
static void replace_copies(struct purge *p, char fresh[FS_PATH])
{
	const struct paths *paths = p->ctx->paths;
	struct err err = { 0 };

	paths_sweep(paths, TEMP_AGE_S);
	if (p->keep_backups)
		return;
	rehearse_death();
	if (store_backup_daily(paths->store, paths->backups, true, fresh, &err) < 0) {
		log_error(LOG_STORE, "no backup could be made after a purge: %s", err.text);
		fresh[0] = 0;
	}
	rehearse_death();
	each_copy(p->ctx, STORE_COPY_OWN | (p->all_copies ? STORE_COPY_USER : 0), delete_copy, fresh);
	(void)fs_sync_dir(paths->backups);
}

static void write_purged(struct op_call *call, const struct purge *p, const char *fresh)
{
	struct json_writer *w = call->w;

	jw_object(w);
	op_write_count(w, &p->count);
	jw_field_bool(w, "rewritten", p->rewritten);
	jw_field_bool(w, "wal_emptied", p->flushed);
	jw_field_bool(w, "backups_kept", p->keep_backups);
	if (fresh[0])
		jw_field_str(w, "backup", str_of(fresh));
	jw_key(w, "copies");
	jw_array(w);
	each_copy(call->ctx, STORE_COPY_USER | (p->keep_backups ? STORE_COPY_OWN : 0), add_path, w);
	jw_end_array(w);
	jw_end_object(w);
}

/* On the loop: what hooks know may be gone. */
static void reload_efforts(void *arg)
{
	const struct api_context *ctx = arg;

	engine_load_efforts(ctx->engine, ctx->readers);
}

static int carry_out(struct purge *p, char fresh[FS_PATH])
{
	int r = writer_maintain(p->ctx->writer, purge_job, p);

	if (r < 0)
		return r;
	if (p->count.memories)
		memories_discard(p->ctx->memories);
	if (p->count.efforts)
		loop_post(p->ctx->loop, reload_efforts, (void *)p->ctx);
	replace_copies(p, fresh);
	rehearse_death();
	forget_order(p->ctx);
	log_info(LOG_STORE, "purged %lld sessions and %lld events", (long long)p->count.sessions,
		(long long)p->count.events);
	return 0;
}

int op_purge(struct op_call *call)
{
	struct purge p = { .call = call,
		.ctx = call->ctx,
		.keep_backups = op_bool(call, "keep_backups"),
		.all_copies = wants_all_copies(call) };
	char fresh[FS_PATH] = "";
	int r = carry_out(&p, fresh);

	if (r < 0)
		return call->err->text[0] ? r : op_refuse_writer(call, r);
	write_purged(call, &p, fresh);
	return 0;
}

void purge_resume(const struct api_context *ctx)
{
	struct purge p = { .ctx = ctx };
	struct arena arena = { 0 };
	char fresh[FS_PATH] = "";
	int r = read_order(&p, &arena);

	if (r == 1) {
		log_warn(LOG_STORE, "a purge was cut off; continuing it");
		r = carry_out(&p, fresh);
	}
	if (r == -EBADMSG)
		log_error(LOG_STORE, "purge.order does not say what is to be deleted; nothing is");
	else if (r < 0)
		log_error(LOG_STORE, "a purge was cut off and could not be continued (%s); the next start tries again",
			strerror(-r));
	arena_release(&arena);
}
