#include "api/efforting.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "project/project.h"

enum { CATCH_UP_MS = 5000, LOOK_MS = 300 };

/* -- one after the other ----------------------------------------------------------------------- */

static void begin(struct effort_change *c);

static void leave(struct effort_change *c)
{
	struct changes *queue = api_changes(c->call.api);

	queue->first = c->next;
	if (queue->first)
		begin(queue->first);
	else
		queue->last = NULL;
}

static void answer(struct effort_change *c)
{
	struct request *later = c->call.later;
	str result = arena_str(c->call.arena, buf_str(&c->result));

	buf_release(&c->result);
	op_finish(later, result);
}

static void give_up(struct effort_change *c, const char *why)
{
	struct request *later = c->call.later;

	buf_release(&c->result);
	leave(c);
	op_give_up(later, why);
}

/* -- the way ----------------------------------------------------------------------------------- */

static void add(struct effort_change *c, const struct event *e)
{
	unsigned secrets;

	c->events[c->n] = *e;
	engine_redact(c->call.ctx->engine, c->call.arena, &c->events[c->n], &c->records[c->n], &secrets);
	c->n++;
}

void change_add(struct effort_change *c, const struct ulid *effort, str payload)
{
	struct ulid id = ulid_make();
	struct event e;

	if (c->n == CHANGE_EVENTS)
		return;
	effort_event(&id, effort, payload, c->call.arena, &e);
	add(c, &e);
}

void change_add_fleet(struct effort_change *c, const struct ulid *uid, str payload)
{
	struct ulid id = ulid_make();
	struct event e;

	if (c->n == CHANGE_EVENTS)
		return;
	fleet_event(&id, uid, payload, c->call.arena, &e);
	add(c, &e);
}

str change_stored(struct effort_change *c, const char *member)
{
	struct json *root = NULL;

	if (!c->n || json_parse(c->call.arena, c->records[c->n - 1].payload, 0, &root, NULL) < 0)
		return STR_NONE;
	return json_str(json_get(root, str_of(member)));
}

/* On a worker. */
static void prepare(void *arg)
{
	struct effort_change *c = arg;
	const struct api_context *ctx = c->call.ctx;
	struct store *s = NULL;

	/* Old rows are better than none. */
	(void)writer_wait(ctx->writer, c->seen, CATCH_UP_MS);
	c->failed = readers_take(ctx->readers, &s, c->call.err);
	if (!s)
		return;
	c->call.store = s;
	if (c->failed == 0)
		c->failed = store_exec(s, "BEGIN");
	if (c->failed == 0)
		c->failed = c->prepare(c);
	store_exec(s, "ROLLBACK");
	if (c->failed == -EUCLEAN)
		store_close(s);
	else
		readers_give_back(ctx->readers, s);
	c->call.store = NULL;
}

static void work_after(void *arg)
{
	struct effort_change *c = arg;

	c->after(c);
}

static void after_done(void *arg)
{
	answer(arg);
}

/* The next one may begin: what follows changes no effort. */
static void work_on(struct effort_change *c)
{
	leave(c);
	if (c->after)
		loop_submit_lane(c->call.ctx->loop, LOOP_PEOPLE, work_after, after_done, c);
	else
		answer(c);
}

static void stored(bool is_stored, void *arg)
{
	struct effort_change *c = arg;

	if (is_stored)
		work_on(c);
	else
		give_up(c, "the journal cannot be written; see: hookd status");
}

static void prepared(void *arg)
{
	struct effort_change *c = arg;
	const char *why = c->call.err->text;

	if (c->failed < 0)
		give_up(c, why[0] ? arena_strf(c->call.arena, "%s", why).p : strerror(-c->failed));
	else if (c->n)
		engine_store(c->call.ctx->engine, c->records, c->n, stored, c);
	else
		stored(true, c);
}

static void look(void *arg)
{
	struct effort_change *c = arg;

	c->seen = journal_end(c->call.ctx->journal);
	loop_submit_lane(c->call.ctx->loop, LOOP_PEOPLE, prepare, prepared, c);
}

/* Whoever is told that something changed may rely on it: hooks know it by then. */
static void begin(struct effort_change *c)
{
	engine_await_efforts(c->call.ctx->engine, look, c);
}

int change_submit(struct op_call *call, int (*fn)(struct effort_change *c), void (*after)(struct effort_change *c))
{
	struct changes *queue = api_changes(call->api);
	struct effort_change *c = arena_new(call->arena, struct effort_change);

	*c = (struct effort_change){ .call = *call, .prepare = fn, .after = after };
	buf_init(&c->result, LIMIT_RPC_REPLY);
	c->w = (struct json_writer)JSON_WRITER(&c->result);
	*(queue->last ? &queue->last->next : &queue->first) = c;
	queue->last = c;
	if (queue->first == c)
		begin(c);
	return 0;
}

/* -- which effort ------------------------------------------------------------------------------ */

#define STATE_COLUMNS \
	"uid, task, root, agent, skill, mode, phase, goal, config, metadata, checkpoint, ordinal, state = 'active'"

/* The first row, if there is one: 1, 0, -errno. */
static int take_row(struct op_call *call, struct query *q, struct effort_state *ret)
{
	str *const texts[] = { &ret->task, &ret->root, &ret->agent, &ret->skill, &ret->mode, &ret->phase, &ret->goal,
		&ret->config, &ret->metadata, &ret->checkpoint };
	int got = query_step(q);

	if (got == 1 && query_str(q, 0).n == ULID_BYTES) {
		memcpy(ret->uid.b, query_str(q, 0).p, ULID_BYTES);
		for (size_t i = 0; i < countof(texts); i++)
			*texts[i] = query_is_null(q, (int)i + 1) ? STR_NONE
								 : arena_str(call->arena, query_str(q, (int)i + 1));
		ret->ordinal = query_int(q, 11);
		ret->active = query_int(q, 12);
	}
	query_reset(q);
	return got;
}

/* `dir` is in the task's directory, or is it. */
#define IS_IN_TASK "(?1 = task OR substr(?1, 1, length(task) + 1) = task || '/')"

static int by_number(struct op_call *call, int64_t ordinal, str dir, struct effort_state *ret)
{
	return take_row(call,
		store_ask(call->store,
			"SELECT " STATE_COLUMNS " FROM efforts WHERE ordinal = ?2 AND " IS_IN_TASK
			" ORDER BY length(task) DESC, created_at DESC LIMIT 1",
			"si", dir, ordinal),
		ret);
}

static int by_name(struct op_call *call, str given, str dir, struct effort_state *ret)
{
	char shown[NAME_SHOWN];
	int64_t ordinal;
	struct ulid uid;
	int got = 0;

	if (ulid_parse(given, &uid))
		got = take_row(call,
			store_ask(call->store, "SELECT " STATE_COLUMNS " FROM efforts WHERE uid = ?1", "b", uid.b,
				(size_t)ULID_BYTES),
			ret);
	else if (str_to_int(given, &ordinal))
		got = by_number(call, ordinal, dir, ret);
	if (got == 0)
		return err_set(call->err, -ENOENT,
			"there is no effort '%s' here; list them with: hookd effort list --all",
			name_shown(given, shown));
	return MIN(got, 0);
}

static int by_agent(struct op_call *call, str agent, struct effort_state *ret)
{
	struct ulid uid;

	if (str_empty(agent))
		return 0;
	/* An agent that was started for an effort has its id. */
	if (ulid_parse(agent, &uid))
		return take_row(call,
			store_ask(call->store,
				"SELECT " STATE_COLUMNS " FROM efforts WHERE state = 'active' AND uid = ?1", "b", uid.b,
				(size_t)ULID_BYTES),
			ret);
	return take_row(call,
		store_ask(call->store,
			"SELECT " STATE_COLUMNS " FROM efforts WHERE state = 'active' AND agent = ?1 "
			"ORDER BY updated_at DESC LIMIT 1",
			"s", agent),
		ret);
}

/* The one that this session's last window belongs to. */
static int by_session(struct op_call *call, str session, struct effort_state *ret)
{
	return str_empty(session)
		? 0
		: take_row(call,
			  store_ask(call->store,
				  "SELECT " STATE_COLUMNS " FROM efforts WHERE state = 'active' AND uid = (SELECT "
				  "effort FROM effort_windows WHERE session = ?1 AND agent_id IS NULL ORDER BY "
				  "started_at DESC LIMIT 1)",
				  "s", session),
			  ret);
}

/* The deepest task around the directory, else the newest of the project. */
static int by_place(struct op_call *call, str dir, struct effort_state *ret)
{
	struct project p;
	int got = str_empty(dir)
		? 0
		: take_row(call,
			  store_ask(call->store,
				  "SELECT " STATE_COLUMNS " FROM efforts WHERE state = 'active' AND " IS_IN_TASK
				  " ORDER BY length(task) DESC, updated_at DESC LIMIT 1",
				  "s", dir),
			  ret);

	if (got != 0 || str_empty(dir) ||
		project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, LOOK_MS, &p) < 0)
		return got;
	return take_row(call,
		store_ask(call->store,
			"SELECT " STATE_COLUMNS " FROM efforts WHERE state = 'active' AND project = (SELECT "
			"coalesce(merged, parent, key) FROM projects WHERE path = ?1) ORDER BY updated_at DESC LIMIT 1",
			"s", str_of(p.main[0] ? p.main : p.root)),
		ret);
}

int effort_resolve(struct op_call *call, struct effort_state *ret)
{
	str given = op_text(call, "effort"), dir = op_text(call, "cwd");
	int got = 0;

	*ret = (struct effort_state){ .ordinal = 0 };
	if (!str_empty(given))
		return by_name(call, given, dir, ret);
	got = by_agent(call, op_text(call, "agent"), ret);
	if (got == 0)
		got = by_session(call, op_text(call, "session"), ret);
	if (got == 0)
		got = by_place(call, dir, ret);
	if (got == 0)
		return err_set(call->err, -ENOENT,
			"no effort is active here; begin one with: hookd effort start SKILL, or name one of: hookd "
			"effort "
			"list");
	return MIN(got, 0);
}

int effort_of_window(struct op_call *call, const struct ulid *window, struct effort_state *ret)
{
	*ret = (struct effort_state){ .ordinal = 0 };
	return take_row(call,
		store_ask(call->store,
			"SELECT " STATE_COLUMNS " FROM efforts WHERE state = 'active' AND uid = (SELECT effort FROM "
			"effort_windows WHERE id = ?1)",
			"b", window->b, (size_t)ULID_BYTES),
		ret);
}

int effort_resolve_active(struct op_call *call, struct effort_state *ret)
{
	char uid[ULID_TEXT + 1];
	int r = effort_resolve(call, ret);

	if (r < 0 || ret->active)
		return r;
	ulid_format(&ret->uid, uid);
	return err_set(call->err, -EPERM, "effort %s is finished and stays so; begin another with: hookd effort start",
		uid);
}

void effort_write_head(struct json_writer *w, const struct effort_state *s)
{
	char uid[ULID_TEXT + 1];

	ulid_format(&s->uid, uid);
	jw_field_str(w, "effort", str_of(uid));
	jw_field_str(w, "task", s->task);
	jw_field_int(w, "ordinal", s->ordinal);
	jw_field_str(w, "skill", s->skill);
	jw_field_str(w, "mode", s->mode);
	jw_field_str(w, "agent", s->agent);
	jw_field_str(w, "state", s->active ? STR("active") : STR("finished"));
	jw_field_str(w, "phase", s->phase);
	jw_field_str(w, "goal", s->goal);
}
