/* Activities: one row per tool call, whichever of its events comes first, and one per other event that belongs in a
 * timeline. */
#include <errno.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "capture/internal.h"

/* -- tools ------------------------------------------------------------------------------------- */

/* Each agent reports it in another place: the kind of result, the first line of a patch, the text of the answer. */
static bool is_new_file(const struct event *e)
{
	struct patch patch = patch_open(json_str(json_get(e->tool_input, STR("command"))));
	struct patch_file first;

	return str_eq(json_str(json_get(e->tool_response, STR("type"))), STR("create")) ||
		str_starts(json_str(json_get(e->tool_response, STR("llmContent"))), STR("Successfully created")) ||
		(!patch.unified && patch_next(&patch, &first) && first.change == PATCH_ADDS);
}

/* What a tool did to its file; one that failed or was denied did nothing. */
static const char *change_of(const struct event *e)
{
	if (str_empty(e->file_path) || e->kind != EVENT_POST_TOOL_USE)
		return NULL;
	if (e->tool_class == TOOL_READ)
		return "read";
	if (e->tool_class != TOOL_WRITE)
		return NULL;
	return is_new_file(e) ? "created" : "modified";
}

static int64_t state_of(enum event_kind kind)
{
	switch (kind) {
	case EVENT_PRE_TOOL_USE: return ACTIVITY_STARTED;
	case EVENT_POST_TOOL_USE: return ACTIVITY_DONE;
	case EVENT_PERMISSION_DENIED: return ACTIVITY_DENIED;
	default: return ACTIVITY_FAILED;
	}
}

/* One call, as far as it is known. */
struct call {
	str same;
	int64_t key, batch; /* 0: not seen yet */
};

/* Has this half of the call been seen already? */
static int is_same_call(struct step *t, bool before, struct call *ret)
{
	struct query *q = store_ask(t->store,
		"SELECT started_at IS NOT NULL, ended_at IS NOT NULL, key, batch FROM activities "
		"WHERE session = ?1 AND same = ?2",
		"is", t->session.key, t->event.tool_use_id);
	int got = query_step(q);

	*ret = (struct call){ .same = t->event.tool_use_id };
	if (got == 1) {
		ret->key = query_int(q, 2);
		ret->batch = query_int(q, 3);
		got = query_int(q, before ? 0 : 1) ? 1 : 0;
	}
	query_reset(q);
	return got;
}

/* -- calls without an id ----------------------------------------------------------------------- */

enum {
	PAIR_DIGITS = 16,
	PAIR_PREFIX = 1 + PAIR_DIGITS + 1, /* ~hash# */
	PAIR_AMONG = 64, /* how many of the newest are looked at: a tool may be called a thousand times */
};

/* Without an id the two halves of a call have in common what is called and with what. Such a call is named by the
 * hash of that and its number among the equal ones, so that all of them are adjacent in the index. */
bool activity_pair_range(struct step *t, str *ret_from, str *ret_to)
{
	const struct event *e = &t->event;
	struct buf input = BUF_INIT(2 * LIMIT_PAYLOAD);
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	if (!str_empty(e->tool_use_id))
		return false;
	if (e->tool_input)
		json_write(&input, e->tool_input);
	sha256_init(&s);
	sha256_add(&s, e->tool_name.n ? e->tool_name.p : "", e->tool_name.n);
	sha256_add(&s, "", 1);
	sha256_add(&s, input.len ? input.p : "", input.len);
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	buf_release(&input);
	*ret_from = arena_strf(t->arena, "~%.*s#", PAIR_DIGITS, hex);
	/* The character after '#'. */
	*ret_to = arena_strf(t->arena, "~%.*s$", PAIR_DIGITS, hex);
	return true;
}

/* The call this half belongs to. An end belongs to the oldest one that has not ended, of the open batch if there is
 * one: a call that was refused never ends, and may be made again later. A beginning belongs to an end that overtook
 * it. 1: found. */
static int find_pair(struct step *t, str from, str to, bool before, struct call *ret)
{
	struct query *q = store_ask(t->store,
		before ? "SELECT same, key, batch FROM (SELECT same, key, batch, started_at, ord FROM activities WHERE "
			 "session = ?1 "
			 "AND same >= ?2 AND same < ?3 ORDER BY same DESC LIMIT ?4) "
			 "WHERE started_at IS NULL AND ord >= ?5 ORDER BY same LIMIT 1"
		       : "SELECT same, key, batch FROM (SELECT same, key, batch, ended_at FROM activities WHERE "
			 "session = ?1 "
			 "AND same >= ?2 AND same < ?3 ORDER BY same DESC LIMIT ?4) "
			 "WHERE ended_at IS NULL ORDER BY batch IS NOT ?5, same LIMIT 1",
		"issii", t->session.key, from, to, (int64_t)PAIR_AMONG,
		before ? t->record.order_us - SAME_WITHIN_US : t->session.batch);
	int got = query_step(q);

	if (got == 1)
		*ret = (struct call){ arena_str(t->arena, query_str(q, 0)), query_int(q, 1), query_int(q, 2) };
	query_reset(q);
	return got;
}

static int name_pair(struct step *t, bool before, struct call *ret)
{
	int64_t number = 0;
	str from, to;
	int got;

	(void)activity_pair_range(t, &from, &to);
	*ret = (struct call){ 0 };
	got = find_pair(t, from, to, before, ret);
	if (got != 0)
		return got < 0 ? got : 0;
	got = store_number(t->store, &number,
		"SELECT CAST(substr(same, ?4) AS INTEGER) FROM activities WHERE session = ?1 AND same >= ?2 "
		"AND same < ?3 ORDER BY same DESC LIMIT 1",
		"issi", t->session.key, from, to, (int64_t)PAIR_PREFIX + 1);
	ret->same = arena_strf(t->arena, STR_FMT "%06lld", STR_ARG(from), (long long)number + 1);
	return got < 0 ? got : 0;
}

/* -- calls ------------------------------------------------------------------------------------- */

/* A shell that succeeds but writes to stderr is done, with that text kept. */
static str error_of(struct step *t)
{
	return summary_cut(t->arena, summary_of_error(&t->event), 500);
}

/* The same expression as in the trigger that takes them out again when the row goes. */
static int add_words(struct step *t, int64_t key)
{
	int64_t any = 0;
	int r = store_number(t->store, &any, "SELECT input ->> '$.command' <> '' FROM activities WHERE key = ?1", "i",
		key);

	if (r < 0 || !any)
		return MIN(r, 0);
	r = store_do(t->store, "INSERT INTO texts(kind, row) VALUES (2, ?1)", "i", key);
	if (r < 0)
		return r;
	return store_do(t->store,
		"INSERT INTO words(rowid, text) VALUES (?1, (SELECT input ->> '$.command' FROM activities WHERE key = "
		"?2))",
		"ii", store_last_rowid(t->store), key);
}

static int insert_call(struct step *t, bool before, struct call *call)
{
	const struct event *e = &t->event;
	int64_t window;
	int r = window_of(t, &window);

	if (r == 0)
		r = batch_of(t, &call->batch);
	if (r < 0)
		return r;
	t->session.tools++;
	r = store_do(t->store,
		"INSERT INTO activities(key, session, same, window, batch, ord, what, tool_n, class_n, agent_id, "
		"  input, file, lag, took, state_n, output, error, change, duration_ms) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10, ?11, CASE WHEN ?12 THEN apart(?6, ?13) END, "
		"  CASE WHEN NOT ?12 THEN apart(?13, ?6) END, ?14, ?15, ?16, ?17, ?18)",
		"iiskkitisssi"
		"iisssk",
		key_of(t->seq, 0), t->session.key, call->same, window, call->batch, t->record.order_us, e->tool_name,
		(int64_t)e->tool_class, e->agent_id, summary_of_input(t->arena, e->tool_input),
		project_relative(t->store, t->arena, t->session.project, e->file_path), (int64_t)before,
		t->record.at_us, state_of(t->record.kind), before ? STR_NONE : summary_of_output(t->arena, e),
		before ? STR_NONE : error_of(t), before ? STR_NONE : str_of(change_of(e)), before ? 0 : e->duration_ms);
	return r < 0 || e->tool_class != TOOL_SHELL ? r : add_words(t, key_of(t->seq, 0));
}

/* Telemetry says that a call begins without saying what is called. */
static int add_input(struct step *t, const struct call *call)
{
	const struct event *e = &t->event;
	int r = store_do(t->store, "UPDATE activities SET input = ?2, file = ?3 WHERE key = ?1 AND input IS NULL",
		"iss", call->key, summary_of_input(t->arena, e->tool_input),
		project_relative(t->store, t->arena, t->session.project, e->file_path));

	return r < 0 || !store_changes(t->store) || e->tool_class != TOOL_SHELL ? r : add_words(t, call->key);
}

/* The other half of a call that is known. */
static int complete_call(struct step *t, bool before, const struct call *call)
{
	const struct event *e = &t->event;
	int r;

	if (before)
		return store_do(t->store,
			"UPDATE activities SET lag = apart(min(ord, ?3), ?2), took = apart(ended_at, ?2), "
			"ord = min(ord, ?3), "
			"duration_ms = coalesce(duration_ms, CASE WHEN ended_at IS NOT NULL "
			"THEN max(0, (ended_at - ?2) / 1000) END) WHERE key = ?1",
			"iii", call->key, t->record.at_us, t->record.order_us);
	r = store_do(t->store,
		"UPDATE activities SET took = apart(?2, coalesce(started_at, ord)), state_n = ?3, output = ?4, "
		"  error = ?5, change = ?6, "
		"  duration_ms = coalesce(?7, CASE WHEN started_at IS NOT NULL "
		"  THEN max(0, (?2 - started_at) / 1000) END) WHERE key = ?1",
		"iiisssk", call->key, t->record.at_us, state_of(t->record.kind), summary_of_output(t->arena, e),
		error_of(t), str_of(change_of(e)), e->duration_ms);
	return r < 0 || !session_is_outside(&t->record) ? r : add_input(t, call);
}

int activity_on_tool(struct step *t)
{
	bool before = t->record.kind == EVENT_PRE_TOOL_USE, known;
	struct call call = { 0 };
	int r = str_empty(t->event.tool_use_id) ? name_pair(t, before, &call) : is_same_call(t, before, &call);

	if (r != 0) {
		t->same_as = r == 1;
		/* Telemetry may have come first, and it does not say what the call is. */
		return r < 0 ? r : call.key && t->event.tool_input ? add_input(t, &call) : 0;
	}
	t->call = call.same;
	known = call.key != 0;
	r = known ? complete_call(t, before, &call) : insert_call(t, before, &call);
	return r < 0 ? r : batch_touch(t, call.batch, !known);
}

/* -- the rest ---------------------------------------------------------------------------------- */

/* The one line such an event is worth. */
static str gist_of(const struct event *e)
{
	static const char *const names[] = { "message", "last_assistant_message", "compact_summary", "trigger",
		"file_path", "task_subject", "command_name", "to_model", "directory", "new_cwd", "worktree_path",
		"name", "error", "reason", "agent_type", "teammate_name", "action", "tool_name" };

	for (size_t i = 0; i < countof(names); i++) {
		str s = json_str(json_get(e->payload, str_of(names[i])));

		if (!str_empty(s))
			return s;
	}
	return STR_NONE;
}

/* Gemini says so before every request to the model, in case there will be something to do; only what a person
 * asked for is known to be done. */
static bool is_mere_chance(const struct event *e)
{
	return e->kind == EVENT_PRE_COMPACT && str_eq_name(e->native, STR("PreCompress")) &&
		!str_eq(json_str(json_get(e->payload, STR("trigger"))), STR("manual"));
}

/* Events that come without an id and may be reported twice: the same kind in the same window within
 * ten seconds. */
static int is_same_happening(struct step *t, int64_t window)
{
	int64_t key;

	if (t->record.kind != EVENT_PRE_COMPACT)
		return 0;
	return store_number(t->store, &key,
		"SELECT key FROM activities WHERE session = ?1 AND what = ?2 AND window IS ?3 AND ord >= ?4 - "
		"?5 LIMIT 1",
		"iiiii", t->session.key, fold_number_of(t->record.kind), window, t->record.order_us,
		(int64_t)SAME_WITHIN_US);
}

int activity_on_other(struct step *t)
{
	const struct event *e = &t->event;
	bool failed = t->record.kind == EVENT_STOP_FAILURE, ends_turn = failed || t->record.kind == EVENT_INTERRUPT;
	int64_t window, batch = t->session.batch;
	int r;

	if (window_is_helper(e) || is_mere_chance(e))
		return 0;
	r = window_of(t, &window);
	if (r == 0)
		r = is_same_happening(t, window);
	/* What ends a turn is part of it, though it has closed it. */
	if (r == 0 && ends_turn)
		r = batch_of_stop(t, &batch);
	if (r != 0) {
		t->same_as = r == 1;
		return r < 0 ? r : 0;
	}
	return store_do(t->store,
		"INSERT INTO activities(session, what, window, batch, ord, tool_n, agent_id, output, file, "
		"state_n, error, lag, took, key) "
		"VALUES (?1, coalesce(?2, ?6), ?3, ?4, ?5, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14)",
		"ikkkistsssisii", t->session.key, fold_number_of(t->record.kind), window, batch, t->record.order_us,
		str_of(event_kinds[t->record.kind].name), e->tool_name, e->agent_id,
		summary_cut(t->arena, gist_of(e), 500),
		project_relative(t->store, t->arena, t->session.project, e->file_path),
		(int64_t)(failed ? ACTIVITY_FAILED : ACTIVITY_DONE),
		failed ? summary_cut(t->arena, e->error, 500) : STR_NONE, fold_lag_of(&t->record), key_of(t->seq, 1));
}

/* An event that lacks required fields is kept as it came; the timeline shows that something was wrong there. */
int activity_on_error(struct step *t)
{
	bool unread = t->record.marks & EVENT_NOT_JSON;
	int64_t window;
	int r = window_of(t, &window);

	if (r < 0)
		return r;
	return store_do(t->store,
		"INSERT INTO activities(session, state_n, window, batch, ord, what, tool_n, agent_id, error, "
		"lag, took, key) "
		"VALUES (?1, ?2, ?3, ?4, ?5, 'Error', ?6, ?7, ?8, apart(?5, ?9), 0, ?10)",
		"iikkisssii", t->session.key, (int64_t)ACTIVITY_FAILED, window, t->session.batch, t->record.order_us,
		str_of(event_kinds[t->record.kind].name), t->event.agent_id,
		unread ? STR("the agent's hook sent something that is not JSON")
		       : STR("the agent's hook sent an event without its required fields"),
		t->record.at_us, key_of(t->seq, 2));
}
