/* Work that waits for an agent: needs → (a person agrees) → delegated → claimed → done. Changes are made one after the
 * other (efforting.h), each with everything before it in view: no two agents claim the same. */
#include <errno.h>
#include <stdio.h>

#include "api/efforting.h"
#include "api/ops.h"
#include "project/project.h"

enum { LOOK_MS = 300, WAITING_MAX = 1000 };

struct work {
	struct ulid uid;
	int64_t n;
	str role, text, task, state, asked_by, claimed_by, result;
};

#define COLUMNS "uid, n, role, text, task, state, asked_by, claimed_by, result"

static int take_row(struct op_call *call, struct query *q, struct work *ret)
{
	str *const texts[] = { &ret->role, &ret->text, &ret->task, &ret->state, &ret->asked_by, &ret->claimed_by,
		&ret->result };
	int got = query_step(q);

	if (got == 1 && query_str(q, 0).n == ULID_BYTES) {
		memcpy(ret->uid.b, query_str(q, 0).p, ULID_BYTES);
		ret->n = query_int(q, 1);
		for (size_t i = 0; i < countof(texts); i++)
			*texts[i] = query_is_null(q, (int)i + 2) ? STR_NONE
								 : arena_str(call->arena, query_str(q, (int)i + 2));
	}
	query_reset(q);
	return got;
}

static int find(struct op_call *call, struct work *ret)
{
	str given = op_text(call, "work");
	char shown[NAME_SHOWN];
	struct ulid uid;
	int64_t n;
	int got = 0;

	if (ulid_parse(given, &uid))
		got = take_row(call,
			store_ask(call->store, "SELECT " COLUMNS " FROM work WHERE uid = ?1", "b", uid.b,
				(size_t)ULID_BYTES),
			ret);
	else if (str_to_int(given, &n))
		got = take_row(call, store_ask(call->store, "SELECT " COLUMNS " FROM work WHERE n = ?1", "i", n), ret);
	if (got == 0)
		return err_set(call->err, -ENOENT, "there is no work '%s'; list it with: hookd queue",
			name_shown(given, shown));
	return MIN(got, 0);
}

/* -- writing ----------------------------------------------------------------------------------- */

static void write_work(struct json_writer *w, const struct work *k)
{
	char uid[ULID_TEXT + 1];

	ulid_format(&k->uid, uid);
	jw_field_str(w, "work", str_of(uid));
	jw_field_int(w, "n", k->n);
	jw_field_str(w, "state", k->state);
	jw_field_str(w, "role", k->role);
	jw_field_str(w, "text", k->text);
	jw_field_str(w, "task", k->task);
	jw_field_str(w, "asked_by", k->asked_by);
	jw_field_str(w, "claimed_by", k->claimed_by);
	jw_field_str(w, "result", k->result);
}

static void keep(struct effort_change *c, const struct work *k)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);

	fleet_open(&w, &k->uid, "work");
	jw_field_int(&w, "n", k->n);
	jw_field_str(&w, "state", k->state);
	jw_field_str(&w, "role", k->role);
	jw_field_str(&w, "text", k->text);
	jw_field_str(&w, "task", k->task);
	jw_field_str(&w, "by", k->asked_by);
	jw_field_str(&w, "claimed_by", k->claimed_by);
	jw_field_str(&w, "result", k->result);
	change_add_fleet(c, &k->uid, effort_close(&c->call, &b, &w));
}

static int keep_and_answer(struct effort_change *c, const struct work *k)
{
	keep(c, k);
	jw_object(&c->w);
	write_work(&c->w, k);
	jw_end_object(&c->w);
	return 0;
}

/* -- adding ------------------------------------------------------------------------------------ */

static int find_task(struct op_call *call, str *ret)
{
	str dir = op_text(call, "task");
	struct project p;

	dir = str_empty(dir) ? op_text(call, "cwd") : dir;
	*ret = STR_NONE;
	if (!str_empty(dir) &&
		project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, LOOK_MS, &p) == 0)
		*ret = op_has(call, "task") ? dir : arena_str(call->arena, str_of(p.root));
	return 0;
}

static int prepare_add(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct work k = { .uid = ulid_make(),
		.role = op_text(call, "role"),
		.text = op_text(call, "text"),
		.asked_by = op_text(call, "agent"),
		.state = STR("needs") };
	int64_t waiting = 0;
	int r = find_task(call, &k.task);

	if (r == 0)
		r = MIN(0, store_number(call->store, &k.n, "SELECT coalesce(max(n), 0) + 1 FROM work", ""));
	if (r == 0)
		r = MIN(0,
			store_number(call->store, &waiting,
				"SELECT count(*) FROM work WHERE state IN ('needs', 'delegated', 'claimed')", ""));
	if (r == 0 && waiting >= WAITING_MAX)
		r = err_set(call->err, -EBUSY, "%d pieces of work wait already; drop some: hookd queue drop NUMBER",
			WAITING_MAX);
	return r < 0 ? r : keep_and_answer(c, &k);
}

int op_work_add(struct op_call *call)
{
	int r = effort_check_name(call, "role", false);

	if (r == 0)
		r = effort_check_text(call, "text");
	if (r == 0 && str_empty(str_trim(op_text(call, "text"))))
		r = err_set(call->err, -EINVAL, "'text' is empty; say what is to be done");
	return r < 0 ? r : change_submit(call, prepare_add, NULL);
}

/* -- from state to state ------------------------------------------------------------------------- */

static int refuse_state(struct op_call *call, const struct work *k, const char *wanted)
{
	return err_set(call->err, -EPERM, "work %lld is '" STR_FMT "', not '%s'; see: hookd queue", (long long)k->n,
		STR_ARG(k->state), wanted);
}

static int prepare_approve(struct effort_change *c)
{
	struct work k = { .n = 0 };
	int r = find(&c->call, &k);

	if (r < 0)
		return r;
	if (!str_eq(k.state, STR("needs")))
		return refuse_state(&c->call, &k, "needs");
	k.state = STR("delegated");
	return keep_and_answer(c, &k);
}

int op_work_approve(struct op_call *call)
{
	return change_submit(call, prepare_approve, NULL);
}

/* The oldest that this role may take. */
static int find_claimable(struct op_call *call, struct work *ret)
{
	return take_row(call,
		store_ask(call->store,
			"SELECT " COLUMNS
			" FROM work WHERE state = 'delegated' AND (role IS NULL OR role = ?1) ORDER BY n LIMIT 1",
			"s", op_text(call, "role")),
		ret);
}

static int prepare_claim(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct work k = { .n = 0 };
	int got = op_has(call, "work") ? find(call, &k) : find_claimable(call, &k);

	if (got < 0)
		return got;
	if (got == 0 && !op_has(call, "work")) {
		jw_object(&c->w);
		jw_end_object(&c->w);
		return 0;
	}
	if (!str_eq(k.state, STR("delegated")))
		return refuse_state(call, &k, "delegated");
	k.state = STR("claimed");
	k.claimed_by = op_text(call, "agent");
	return keep_and_answer(c, &k);
}

static int check_agent(struct op_call *call)
{
	return str_empty(op_text(call, "agent"))
		? err_set(call->err, -EINVAL, "it is not known who asks; set AGENT_ID, or say 'agent'")
		: effort_check_text(call, "agent");
}

int op_work_claim(struct op_call *call)
{
	int r = check_agent(call);

	return r < 0 ? r : change_submit(call, prepare_claim, NULL);
}

/* Only whoever has claimed it. */
static int find_claimed(struct op_call *call, struct work *ret)
{
	char shown[NAME_SHOWN];
	int r = find(call, ret);

	if (r < 0)
		return r;
	if (!str_eq(ret->state, STR("claimed")))
		return refuse_state(call, ret, "claimed");
	if (!str_eq(ret->claimed_by, op_text(call, "agent")))
		return err_set(call->err, -EPERM, "work %lld is claimed by %s, and only that agent can say so",
			(long long)ret->n, name_shown(ret->claimed_by, shown));
	return 0;
}

static int prepare_done(struct effort_change *c)
{
	struct work k = { .n = 0 };
	int r = find_claimed(&c->call, &k);

	if (r < 0)
		return r;
	k.state = STR("done");
	k.result = op_text(&c->call, "result");
	return keep_and_answer(c, &k);
}

int op_work_done(struct op_call *call)
{
	int r = check_agent(call);

	if (r == 0)
		r = effort_check_text(call, "result");
	return r < 0 ? r : change_submit(call, prepare_done, NULL);
}

static int prepare_release(struct effort_change *c)
{
	bool by_person = c->call.owner && str_empty(op_text(&c->call, "agent"));
	struct work k = { .n = 0 };
	int r = by_person ? find(&c->call, &k) : find_claimed(&c->call, &k);

	if (r == 0 && !str_eq(k.state, STR("claimed")))
		r = refuse_state(&c->call, &k, "claimed");
	if (r < 0)
		return r;
	k.state = STR("delegated");
	k.claimed_by = STR_NONE;
	return keep_and_answer(c, &k);
}

/* The agent that has claimed it, or a person: an agent may be gone. */
int op_work_release(struct op_call *call)
{
	int r = call->owner && str_empty(op_text(call, "agent")) ? 0 : check_agent(call);

	return r < 0 ? r : change_submit(call, prepare_release, NULL);
}

static int prepare_drop(struct effort_change *c)
{
	struct work k = { .n = 0 };
	int r = find(&c->call, &k);

	if (r < 0)
		return r;
	if (str_eq(k.state, STR("done")) || str_eq(k.state, STR("dropped")))
		return refuse_state(&c->call, &k, "needs, delegated or claimed");
	k.state = STR("dropped");
	return keep_and_answer(c, &k);
}

int op_work_drop(struct op_call *call)
{
	return change_submit(call, prepare_drop, NULL);
}

/* -- list -------------------------------------------------------------------------------------- */

int op_work_list(struct op_call *call)
{
	static const struct op_column columns[] = { { "work", 's' }, { "n", 'i' }, { "state", 's' }, { "role", 's' },
		{ "text", 's' }, { "task", 's' }, { "project", 's' }, { "asked_by", 's' }, { "claimed_by", 's' },
		{ "result", 's' }, { "made_us", 'i' }, { "changed_us", 'i' }, { 0 } };
	int r;

	jw_object(call->w);
	r = op_write_list(call, "work",
		store_ask(call->store,
			"SELECT ulid_text(k.uid), k.n, k.state, k.role, k.text, k.task, p.name, k.asked_by, "
			"k.claimed_by, "
			"k.result, k.made_at, k.changed_at FROM work k LEFT JOIN projects p ON p.key = k.project WHERE "
			"(?1 OR k.state IN ('needs', 'delegated', 'claimed')) AND (?2 IS NULL OR k.role = ?2) AND (?3 "
			"IS NULL OR k.project IN (SELECT key FROM projects WHERE key = ?3 OR parent = ?3)) ORDER BY "
			"k.n "
			"LIMIT ?4",
			"iski", (int64_t)op_bool(call, "all"), op_text(call, "role"), op_int(call, "project"),
			op_int(call, "limit")),
		columns);
	jw_end_object(call->w);
	return r;
}
