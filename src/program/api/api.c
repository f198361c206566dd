/* Running operations: each where its row says, with one answer to whoever called. */
#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/efforting.h"
#include "api/ops.h"
#include "api/ops_store.h"
#include "api/waiting.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "config/owner.h"

enum {
	CATCH_UP_MS = 3000,  /* how long a reader waits for the writer */
	CATCH_UP_TRIES = 20, /* what takes long anyway waits longer, as long as there is no trouble */
};

struct api {
	struct api_context ctx;
	struct request *pending; /* with a worker, or on their way to one */
	struct request *later;   /* answered when what they began has ended */
	struct changes changes;
	struct waiting *waiting;
};

/* One open request. */
struct request {
	struct request *next;
	struct api *api;
	struct op_request asked;
	struct arena arena;
	const struct op *op;
	struct op_value *values; /* the parameters, in the order of the row */
	struct buf result;
	struct err err;
	struct journal_pos seen; /* everything acknowledged when it came */
	_Atomic bool cancelled;  /* nobody wants the answer any more */
	int failed;
};

/* -- answering --------------------------------------------------------------------------------- */

static void request_free(struct request *q)
{
	buf_release(&q->result);
	arena_release(&q->arena);
	free(q);
}

static void send_answer(struct request *q, int code)
{
	struct op_answer answer = { .code = code, .message = str_of(q->err.text), .result = buf_str(&q->result) };

	/* The result may have left out what did not fit and gone on with what did. */
	if (!code && q->result.full)
		answer = (struct op_answer){ .code = OP_FAILED,
			.message = STR("the answer is larger than 24 MiB; ask for less") };
	q->asked.done(&answer, q->asked.arg);
	request_free(q);
}

static void run_op(struct request *q, struct store *store)
{
	struct json_writer w = JSON_WRITER(&q->result);
	struct op_call call = { .api = q->api,
		.op = q->op,
		.values = q->values,
		.params = q->asked.params,
		.env = q->asked.env,
		.owner = q->api->ctx.token && owner_token_is(q->api->ctx.token, q->asked.token),
		.ctx = &q->api->ctx,
		.store = store,
		.arena = &q->arena,
		.w = &w,
		.err = &q->err,
		.later = q };

	q->failed = store && !q->op->finds_itself ? op_resolve(&call) : 0;
	if (q->failed == 0)
		q->failed = q->op->run(&call);
	if (q->failed < 0 && !q->err.text[0])
		err_set(&q->err, q->failed, "%s", strerror(-q->failed));
}

static void take_out(struct request **list, struct request *q)
{
	while (*list && *list != q)
		list = &(*list)->next;
	if (*list)
		*list = q->next;
}

void op_finish(struct request *q, str result)
{
	take_out(&q->api->later, q);
	buf_clear(&q->result);
	buf_add_str(&q->result, result);
	send_answer(q, 0);
}

void op_give_up(struct request *q, const char *why)
{
	take_out(&q->api->later, q);
	err_set(&q->err, -EIO, "%s", why);
	send_answer(q, OP_FAILED);
}

/* -- on a worker ------------------------------------------------------------------------------- */

static void catch_up(struct request *q)
{
	struct writer *w = q->api->ctx.writer;
	struct writer_state state;
	int tries = q->op->alone ? CATCH_UP_TRIES : 1, r;

	do {
		r = writer_wait(w, q->seen, CATCH_UP_MS);
		writer_get_state(w, &state);
	} while (r == -ETIMEDOUT && --tries > 0 && !state.trouble[0]);
	/* Old rows are better than none, when the store can be read at all. */
	if (r < 0)
		log_warn(LOG_API, "%s is answered without the newest events: the store is behind", q->op->name);
}

/* The store is fine, only what was asked for is not there. */
static bool is_refusal(int r)
{
	return r == -EINVAL || r == -ENOENT || r == -EEXIST || r == -ENOTUNIQ;
}

static void read_store(struct request *q)
{
	struct readers *readers = q->api->ctx.readers;
	struct store *s = NULL;

	q->failed = readers_take(readers, &s, &q->err);
	/* The writer has made one: a file in which nothing is any more was emptied by somebody. */
	if (!s && q->failed == -ENOENT && access(q->api->ctx.paths->store, F_OK) == 0)
		q->failed = err_set(&q->err, -EUCLEAN, "the store was emptied and is being repaired; try again");
	/* Opened while another file was moved into its place, with the WAL of the one before. */
	if (!s && q->failed == -EIO)
		q->failed = err_set(&q->err, -EUCLEAN, "the store cannot be read and is being repaired; try again");
	if (!s)
		return;
	store_limit(s, q->op->budget_ms ? clock_mono_us() + q->op->budget_ms * USEC_PER_MSEC : 0, &q->cancelled);
	if (q->failed == 0)
		q->failed = store_exec(s, "BEGIN");
	if (q->failed == 0)
		run_op(q, s);
	if (q->failed == -EUCLEAN)
		err_set(&q->err, q->failed, "the store is damaged and is being repaired; try again");
	if (q->failed == -ECANCELED)
		err_set(&q->err, q->failed, "this takes longer than %u s; ask for less", q->op->budget_ms / 1000);
	store_limit(s, 0, NULL);
	store_exec(s, "ROLLBACK");
	/* A damaged or replaced store is opened afresh next time. */
	if (q->failed < 0 && !is_refusal(q->failed) && q->failed != -ECANCELED)
		store_close(s);
	else
		readers_give_back(readers, s);
}

static int write_store(struct store *s, void *arg)
{
	struct request *q = arg;

	run_op(q, s);
	return q->failed;
}

static void work(void *arg)
{
	struct request *q = arg;
	struct api *a = q->api;

	catch_up(q);
	if (q->op->place == OP_WRITER) {
		int r = writer_call(a->ctx.writer, write_store, q);

		/* The commit itself may fail after the operation has succeeded. */
		if (r < 0 && q->failed >= 0)
			q->failed = err_set(&q->err, r, "the store cannot be written (%s); see: hookd status",
				strerror(-r));
		return;
	}
	if (q->op->alone) {
		run_op(q, NULL);
		return;
	}
	read_store(q);
	if (q->failed == -EUCLEAN)
		writer_suspect(a->ctx.writer);
}

static void worked(void *arg)
{
	struct request *q = arg;

	take_out(&q->api->pending, q);
	send_answer(q, q->failed < 0 ? OP_FAILED : 0);
}

/* -- requests ---------------------------------------------------------------------------------- */

static const struct op *find_op(str name)
{
	for (const struct op *o = ops; o->name; o++)
		if (str_eq_name(name, str_of(o->name)))
			return o;
	return NULL;
}

static const char *const method_advice = "there is no such method; the method 'ops' lists them";

static void refuse_method(struct request *q, str name)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (const struct op *o = ops; o->name; o++)
		name_suggest(&near, name, str_of(o->name));
	if (near.best.p)
		err_set(&q->err, -EINVAL, "there is no method '%s'; did you mean '" STR_FMT "'?",
			name_shown(name, shown), STR_ARG(near.best));
	else
		err_set(&q->err, -EINVAL, "%s", method_advice);
	send_answer(q, OP_UNKNOWN);
}

static void refuse(struct request *q, int code, const char *text)
{
	err_set(&q->err, -EINVAL, "%s", text);
	send_answer(q, code);
}

/* On a worker: the loop must not wait for a disk. */
struct change {
	const struct paths *paths;
	const char *what;
	char detail[128];
};

static void write_change(void *arg)
{
	struct change *c = arg;

	owner_note(c->paths, c->what, str_of(c->detail), "token");
}

static void change_written(void *arg)
{
	free(arg);
}

/* Which hook or event, but never the text of a hook: it may hold a secret. */
static void record_change(struct request *q)
{
	str event = json_str(json_get(q->asked.params, STR("event")));
	str id = json_str(json_get(q->asked.params, STR("hookId")));
	struct change *c = xcalloc(1, sizeof *c);

	c->paths = q->api->ctx.paths;
	c->what = q->op->name;
	snprintf(c->detail, sizeof c->detail, STR_FMT "%s" STR_FMT, STR_ARG(str_cut_utf8(event, 50)), id.n ? " " : "",
		STR_ARG(str_cut_utf8(id, 50)));
	loop_submit_lane(q->api->ctx.loop, LOOP_BACKGROUND, write_change, change_written, c);
}

static bool names_file(const struct request *q)
{
	for (size_t i = 0; q->op->params && q->op->params[i].name; i++)
		if (q->op->params[i].flags & OP_A_FILE && q->values[i].json)
			return true;
	return false;
}

/* Found, allowed, and its parameters are right; else it has been answered. */
static bool is_acceptable(struct request *q)
{
	const struct op_request *asked = &q->asked;

	q->op = find_op(asked->method);
	if (!q->op || (asked->scope != OP_OWNER && q->op->scope < asked->scope)) {
		refuse_method(q, asked->method);
		return false;
	}
	if (op_take_params(q->op, asked->params, &q->arena, &q->values, &q->err) < 0) {
		send_answer(q, OP_BAD_PARAMS);
		return false;
	}
	if (asked->over_tcp && names_file(q)) {
		refuse(q, OP_BAD_PARAMS, "a file cannot be named over TCP; use the program hookd, or the Unix socket");
		return false;
	}
	if (q->op->owner && !owner_token_is(q->api->ctx.token, asked->token)) {
		refuse(q, OP_NOT_OWNER,
			"this is for the owner: use hookd at a terminal, or send the owner's token with the request");
		return false;
	}
	return true;
}

static void run_on_loop(struct request *q)
{
	struct api *a = q->api;

	if (q->op->place == OP_LATER) {
		q->next = a->later;
		a->later = q;
	}
	run_op(q, NULL);
	if (q->op->place == OP_LOOP) {
		send_answer(q, q->failed < 0 ? OP_FAILED : 0);
	} else if (q->failed < 0) {
		take_out(&a->later, q);
		send_answer(q, OP_FAILED);
	}
}

void api_call(struct api *a, const struct op_request *asked)
{
	struct request *q = xcalloc(1, sizeof *q);

	q->api = a;
	q->asked = *asked;
	buf_init(&q->result, LIMIT_RPC_REPLY);
	if (!is_acceptable(q))
		return;
	if (q->op->owner)
		record_change(q);
	if (q->op->place == OP_LOOP || q->op->place == OP_LATER) {
		run_on_loop(q);
		return;
	}
	q->seen = journal_end(a->ctx.journal);
	if (q->op->rotates && engine_rotate(a->ctx.engine, &q->seen) < 0) {
		refuse(q, OP_FAILED, "the journal cannot begin a new segment; is the disk full?");
		return;
	}
	q->next = a->pending;
	a->pending = q;
	loop_submit_lane(a->ctx.loop, q->op->lane, work, worked, q);
}

const struct api_context *api_context_of(const struct api *a)
{
	return &a->ctx;
}

struct changes *api_changes(struct api *a)
{
	return &a->changes;
}

struct waiting *api_waiting(struct api *a)
{
	return a->waiting;
}

void api_resume(void *arg)
{
	purge_resume(&((struct api *)arg)->ctx);
}

static void drop(struct request *q)
{
	q->asked.done(NULL, q->asked.arg);
	request_free(q);
}

struct api *api_new(const struct api_context *ctx)
{
	struct api *a = xcalloc(1, sizeof *a);

	a->ctx = *ctx;
	a->waiting = waiting_new(ctx);
	return a;
}

void api_free(struct api *a)
{
	struct request *next;

	if (!a)
		return;
	/* At a stop: no worker takes them any more. */
	for (struct request *q = a->pending; q; q = next) {
		next = q->next;
		drop(q);
	}
	for (struct request *q = a->later; q; q = next) {
		next = q->next;
		drop(q);
	}
	waiting_free(a->waiting);
	free(a);
}
