/* The way in: events in order are applied, others are noted for a rewind. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "capture/internal.h"

/* -- what each kind of event does -------------------------------------------------------------- */

/* Kinds without a row are kept as events only: they are too many (pieces of displayed text) or repeat what others say
 * (a batch of tool results). */
enum { HANDLERS = 3 };

static int (*const handlers[EVENT_KIND_MAX][HANDLERS])(struct step *t) = {
	[EVENT_SESSION_START] = { window_on_start },
	[EVENT_SESSION_END] = { window_on_end, fleet_on_end },
	[EVENT_USER_PROMPT_SUBMIT] = { batch_on_prompt },
	[EVENT_PRE_TOOL_USE] = { activity_on_tool, decision_on_call },
	[EVENT_POST_TOOL_USE] = { activity_on_tool, plan_on_tool, decision_on_ran },
	[EVENT_POST_TOOL_USE_FAILURE] = { activity_on_tool, decision_on_call },
	[EVENT_PERMISSION_DENIED] = { activity_on_tool },
	[EVENT_STOP] = { batch_on_stop },
	[EVENT_TURN_COMPLETE] = { batch_on_turn },
	[EVENT_INTERRUPT] = { activity_on_other, batch_on_interrupt },
	[EVENT_STOP_FAILURE] = { batch_on_stop, activity_on_other },
	[EVENT_SUBAGENT_START] = { window_on_subagent_start, activity_on_other },
	[EVENT_SUBAGENT_STOP] = { window_on_subagent_stop, activity_on_other },
	[EVENT_SETUP] = { activity_on_other },
	[EVENT_INSTRUCTIONS_LOADED] = { activity_on_other },
	[EVENT_USER_PROMPT_EXPANSION] = { activity_on_other },
	[EVENT_PERMISSION_REQUEST] = { activity_on_other },
	[EVENT_NOTIFICATION] = { activity_on_other },
	[EVENT_PRE_COMPACT] = { activity_on_other },
	[EVENT_POST_COMPACT] = { activity_on_other },
	[EVENT_PRE_MODEL_SWITCH] = { activity_on_other },
	[EVENT_POST_MODEL_SWITCH] = { activity_on_other },
	[EVENT_TASK_CREATED] = { activity_on_other, plan_on_task },
	[EVENT_TASK_COMPLETED] = { activity_on_other },
	[EVENT_TEAMMATE_IDLE] = { activity_on_other },
	[EVENT_ELICITATION] = { activity_on_other },
	[EVENT_ELICITATION_RESULT] = { activity_on_other },
	[EVENT_CONFIG_CHANGE] = { activity_on_other },
	[EVENT_CWD_CHANGED] = { activity_on_other },
	[EVENT_FILE_CHANGED] = { activity_on_other },
	[EVENT_DIRECTORY_ADDED] = { activity_on_other },
	[EVENT_WORKTREE_CREATE] = { activity_on_other },
	[EVENT_WORKTREE_REMOVE] = { activity_on_other },
	[EVENT_MODEL_USAGE] = { usage_on_event },
	[EVENT_DECISION] = { decision_on_event },
	[EVENT_INJECTION] = { injection_on_event },
};

/* What is reported both by hooks and outside them is one event with two names. */
static enum event_kind twin_of(const struct step *t)
{
	if (t->record.kind == EVENT_TURN_COMPLETE)
		return str_empty(t->record.agent_id) ? EVENT_STOP : EVENT_SUBAGENT_STOP;
	return t->record.kind == EVENT_STOP ? EVENT_TURN_COMPLETE : t->record.kind;
}

/* 1: the record names the earlier call that it duplicates, and that call is there; 0; -errno. */
static int find_named_twin(struct step *t, int64_t *ret)
{
	if (!str_is_set(t->record.twin))
		return 0;
	return store_number(t->store, ret, "SELECT seq FROM events WHERE id = ?1", "b", t->record.twin.p,
		t->record.twin.n);
}

/* The event that this one duplicates: the one it names, or the last one like it before. */
static int mark_same(struct step *t)
{
	int64_t seq = 0;
	int got = find_named_twin(t, &seq);

	if (got == 0)
		got = store_number(t->store, &seq,
			"SELECT seq FROM events WHERE session = ?1 AND what IN (?2, ?6) AND tool_use_id IS ?3 AND "
			"(ord, id) < (?4, ?5) AND (?7 IS NULL OR agent_id = ?7) ORDER BY ord DESC, id DESC LIMIT 1",
			"iisibis", t->session.key, fold_number_of(t->record.kind), t->record.tool_use_id,
			t->record.order_us, t->record.id.b, (size_t)ULID_BYTES, fold_number_of(twin_of(t)),
			t->record.kind == EVENT_TURN_COMPLETE ? t->record.agent_id : STR_NONE);
	if (got < 0)
		return got;
	return store_do(t->store, "UPDATE events SET same_as = ?2 WHERE seq = ?1", "ii", t->seq, seq ? seq : t->seq);
}

int fold_apply(struct step *t)
{
	int r = 0;

	t->call = STR_NONE;
	t->retells = false;
	t->same_as = !!(t->record.marks & EVENT_TWIN);
	for (size_t i = 0; i < HANDLERS && handlers[t->record.kind][i] && r == 0 && !t->same_as; i++)
		r = handlers[t->record.kind][i](t);
	if (r == 0 && !t->same_as && t->record.marks & (EVENT_INCOMPLETE | EVENT_NOT_JSON))
		r = activity_on_error(t);
	if (r == 0 && !t->same_as)
		r = fleet_on_agent(t);
	if (r == 0 && t->same_as)
		r = mark_same(t);
	return r < 0 ? r : session_save(t);
}

/* -- the way in -------------------------------------------------------------------------------- */

/* If the first call could not be stored, the next duplicate takes its place. */
static int check_twin(struct step *t)
{
	int64_t seq;
	int got = find_named_twin(t, &seq);

	if (got == 0 && str_is_set(t->record.twin))
		t->record.marks &= ~(unsigned)EVENT_TWIN;
	return MIN(got, 0);
}

int64_t fold_lag_of(const struct record *r)
{
	int64_t lag;

	return __builtin_sub_overflow(r->order_us, r->at_us, &lag) ? 0 : lag;
}

int64_t fold_number_of(enum event_kind kind)
{
	return kind <= EVENT_KIND_NUMBERED ? (int64_t)kind : 0;
}

int fold_insert_event(struct step *t)
{
	const struct record *r = &t->record;
	str kind = str_of(event_kinds[r->kind].name);
	str payload = str_is_set(r->payload) ? r->payload : STR("{}");
	int64_t ref = 0;
	int got = check_twin(t);

	if (got == 0)
		got = block_add(t, &ref);
	if (got < 0)
		return got;
	got = store_do(t->store,
		"INSERT INTO events(id, ord, lag, session, what, native, tool_n, tool_use_id, agent_id, marks, "
		"host, payload) "
		"VALUES (?1, ?2, ?3, ?4, coalesce(?14, ?5), ?6, ?7, ?8, ?9, ?10, ?11, coalesce(?12, ?13))",
		"biiksstssiskpk", r->id.b, (size_t)ULID_BYTES, r->order_us, fold_lag_of(r), t->session.key, kind,
		str_is_set(r->native) && !str_eq(r->native, kind) ? r->native : STR(""), r->tool_name, r->tool_use_id,
		r->agent_id, (int64_t)r->marks, r->host, ref, ref ? STR_NONE : payload, fold_number_of(r->kind));
	t->seq = store_last_rowid(t->store);
	if (got == 0 && ref)
		block_note(t);
	return got;
}

/* Tools run side by side, and their hooks overtake each other; and what comes from the spool comes late. A late half
 * of a call gives the same rows as it would have given in time, if it falls into a batch with activity before and
 * after it, in the window that is still current (a subagent's must have begun), and is the only one of its kind. Then
 * nothing has to be refolded. */
static int find_batch_at(struct step *t, int64_t *ret)
{
	return store_number(t->store, ret,
		"SELECT CASE WHEN last_at >= ?3 AND NOT late AND coalesce(ended_at, ?3) >= ?3 AND "
		"(?4 IS NULL OR prompt_id "
		"IS ?4) THEN key END "
		"FROM batches WHERE session = ?1 AND ord <= ?2 ORDER BY ord DESC LIMIT 1",
		"iiis", t->session.key, t->record.order_us, t->record.at_us, t->event.prompt_id);
}

static int may_overtake(struct step *t)
{
	bool before = t->record.kind == EVENT_PRE_TOOL_USE;
	int64_t batch = 0, fits = 0;
	int got;

	if (!(event_kinds[t->record.kind].flags & EVENT_IS_TOOL) || t->record.kind == EVENT_PERMISSION_REQUEST ||
		str_empty(t->event.tool_use_id) || plan_is_touched(&t->event))
		return 0;
	got = find_batch_at(t, &batch);
	if (got < 0 || !batch)
		return got < 0 ? got : 0;
	got = store_number(t->store, &fits,
		"SELECT w.ord <= ?3 AND s.cwd IS NOT NULL AND NOT EXISTS (SELECT 1 FROM activities a WHERE "
		"a.session = s.key "
		"  AND a.same = ?4 AND (a.batch IS NOT ?5 OR CASE WHEN ?6 THEN a.started_at ELSE a.ended_at "
		"END IS NOT NULL)) "
		"  AND (?7 IS NULL OR EXISTS (SELECT 1 FROM windows v WHERE v.agent_id = ?7 AND v.session = s.key AND "
		"v.ord <= ?3)) "
		"FROM sessions s JOIN windows w ON w.key = s.window WHERE s.key = ?1 AND s.window = ?2",
		"iiisiis", t->session.key, t->session.window, t->record.order_us, t->event.tool_use_id, batch,
		(int64_t)before, str_empty(t->event.agent_id) ? STR_NONE : t->event.agent_id);
	if (got == 1 && fits)
		t->late_batch = batch;
	return got < 0 ? got : fits != 0;
}

/* After everything that was applied to its session, or effectively so? */
static int is_in_order(struct step *t)
{
	if (session_is_apart(t->record.kind) || session_is_behind(&t->session, &t->record))
		return 1;
	return may_overtake(t);
}

static int find_session(struct step *t)
{
	int got = held_find(t);

	if (got == 0)
		got = session_find_thread(t);
	return got == 0 ? session_find(t->store, &t->record, &t->session) : MIN(got, 0);
}

/* They belong to no session, and outlive those they came from. */
static int (*const lasting[EVENT_KIND_MAX])(struct step *t) = {
	[EVENT_MEMORY] = memory_on_event,
	[EVENT_EFFORT] = effort_on_event,
	[EVENT_FLEET] = fleet_on_event,
};

static int fold_lasting(struct step *t)
{
	int r = fold_insert_event(t);

	if (r == 0)
		r = lasting[t->record.kind](t);
	return r < 0 ? r : 1;
}

int capture_fold(struct capture *c, struct store *s, const struct record *r)
{
	struct step t = { .capture = c, .store = s, .arena = &c->arena, .record = *r };
	int64_t known;
	int got = store_number(s, &known, "SELECT seq FROM events WHERE id = ?1", "b", r->id.b, (size_t)ULID_BYTES);

	if (got != 0)
		return got < 0 ? got : 0;
	t.record.marks &= ~(unsigned)EVENT_UNFOLDED; /* read back from a damaged store */
	if (r->marks & (EVENT_SPOOLED | EVENT_IMPORTED))
		t.record.order_us = r->at_us;
	arena_reset(&c->arena);
	agent_read_record(&t.record, t.arena, &t.event);
	got = purged_is_kept_out(&t);
	if (got != 0)
		return got < 0 ? got : 0;
	if (lasting[r->kind])
		return fold_lasting(&t);
	got = find_session(&t);
	if (got == 0 && r->marks & EVENT_IMPORTED && (got = imported_is_told(&t)) == 1)
		return 0;
	if (got == 0)
		got = fold_insert_event(&t);
	if (got == 0)
		got = is_in_order(&t);
	if (got == 1)
		got = fold_apply(&t);
	else if (got == 0 && r->marks & EVENT_IMPORTED && !session_is_outside(r))
		got = rewind_note_import(&t);
	else if (got == 0)
		rewind_note(c, t.session.key);
	if (got < 0)
		return got;
	tell_later(&t);
	return 1;
}

void fold_read_row(struct step *t, struct query *q, str agent, str native)
{
	struct record *r = &t->record;
	str id = query_str(q, 1);

	*r = (struct record){ .order_us = query_int(q, 2),
		.at_us = query_int(q, 3),
		.marks = (unsigned)query_int(q, 10) };
	if (id.n == ULID_BYTES)
		memcpy(r->id.b, id.p, ULID_BYTES);
	t->seq = query_int(q, 0);
	r->kind = event_kind_by_name(query_str(q, 5));
	r->native = arena_str(t->arena, query_str(q, str_empty(query_str(q, 6)) ? 5 : 6));
	r->tool_name = arena_str(t->arena, query_str(q, 7));
	r->tool_use_id = arena_str(t->arena, query_str(q, 8));
	r->agent_id = arena_str(t->arena, query_str(q, 9));
	r->payload = arena_str(t->arena, query_str(q, 11));
	r->agent = agent;
	r->session = native;
}

void fold_parse(struct step *t)
{
	agent_read_record(&t->record, t->arena, &t->event);
	session_note_thread(t);
}

struct capture *capture_new(void)
{
	struct capture *c = xcalloc(1, sizeof *c);

	c->rebuild = -1;
	return c;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	block_forget(c);
	arena_release(&c->arena);
	free(c->dirty);
	free(c->news);
	free(c);
}
