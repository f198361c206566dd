/* Activities: one row per tool call, whichever of its events comes first, and one per other happening
 * that belongs into a timeline. */
#include <errno.h>

#include "base/clock.h"
#include "capture/internal.h"

/* -- tools ------------------------------------------------------------------------------------- */

/* What a tool did to its file; one that failed or was denied did nothing. */
static const char *change_of(const struct event *e)
{
	if (str_empty(e->file_path) || e->kind != EVENT_POST_TOOL_USE)
		return NULL;
	if (e->tool_class == TOOL_READ)
		return "read";
	if (e->tool_class != TOOL_WRITE)
		return NULL;
	return str_eq(json_str(json_get(e->tool_response, STR("type"))), STR("create")) ? "created" : "modified";
}

static str state_of(enum event_kind kind)
{
	switch (kind) {
	case EVENT_PRE_TOOL_USE: return STR("started");
	case EVENT_POST_TOOL_USE: return STR("done");
	case EVENT_PERMISSION_DENIED: return STR("denied");
	default: return STR("failed");
	}
}

/* Has this half of the call been seen already? */
static int is_same_call(struct step *t, bool before, bool *ret_known)
{
	struct query *q = store_ask(t->store,
		"SELECT started_at IS NOT NULL, ended_at IS NOT NULL FROM activities WHERE session = ?1 AND "
		"same = ?2",
		"is", t->session.key, t->event.tool_use_id);
	int got = query_step(q);

	*ret_known = got == 1;
	if (got == 1)
		got = query_int(q, before ? 0 : 1) ? 1 : 0;
	query_reset(q);
	return got;
}

static int insert_call(struct step *t, str same)
{
	const struct event *e = &t->event;
	int64_t window, batch;
	int r = window_of(t, &window);

	if (r == 0)
		r = batch_of(t, &batch);
	if (r == 0)
		r = store_do(t->store,
			"INSERT INTO activities(session, same, window, batch, ord, kind, tool, class, "
			"agent_id, input, file, state) "
			"VALUES (?1, ?2, ?3, ?4, ?5, 'tool', ?6, ?7, ?8, ?9, ?10, 'started')",
			"iskkisssss"
			"s",
			t->session.key, same, window, batch, t->record.order_us, e->tool_name,
			str_of(tool_class_names[e->tool_class]), e->agent_id,
			summary_of_input(t->arena, e->tool_input),
			project_relative(t->store, t->arena, t->session.project, e->file_path), STR_NONE);
	t->session.tools++;
	return r < 0 ? r : batch_count_activity(t, batch);
}

static int touch_batch(struct step *t, str same)
{
	return store_do(t->store,
		"UPDATE batches SET last_at = max(last_at, ?3) WHERE key = (SELECT batch FROM activities WHERE "
		"session = ?1 AND same = ?2)",
		"isi", t->session.key, same, t->record.at_us);
}

static int complete_call(struct step *t, str same, bool before)
{
	const struct event *e = &t->event;
	const char *change = before ? NULL : change_of(e);
	str error = before ? STR_NONE : summary_of_error(e);
	str state = state_of(t->record.kind);

	/* A shell that ends well but complains is done, with the complaint kept. */
	if (before)
		return store_do(t->store,
			"UPDATE activities SET started_at = ?3, ord = min(ord, ?4) WHERE session = ?1 AND same "
			"= ?2",
			"isii", t->session.key, same, t->record.at_us, t->record.order_us);
	return store_do(t->store,
		"UPDATE activities SET ended_at = ?3, state = ?4, output = ?5, error = ?6, change = ?7, "
		"  duration_ms = coalesce(?8, CASE WHEN started_at IS NOT NULL THEN (?3 - started_at) / 1000 END) "
		"WHERE session = ?1 AND same = ?2", "isissss" "k", t->session.key, same, t->record.at_us, state,
		summary_of_output(t->arena, e), summary_cut(t->arena, error, 500), str_of(change), e->duration_ms);
}

int activity_on_tool(struct step *t)
{
	bool before = t->record.kind == EVENT_PRE_TOOL_USE, known = false;
	str same = t->event.tool_use_id;
	char id[ULID_TEXT + 1];
	int r;

	/* Without an id two halves cannot be told to be one call; each is a happening of its own. */
	if (str_empty(same)) {
		ulid_format(&t->record.id, id);
		same = arena_str(t->arena, str_of(id));
	} else {
		r = is_same_call(t, before, &known);
		if (r != 0) {
			t->same_as = r == 1;
			return r < 0 ? r : 0;
		}
	}
	r = known ? 0 : insert_call(t, same);
	if (r == 0)
		r = complete_call(t, same, before);
	return r < 0 ? r : touch_batch(t, same);
}

/* -- the rest ---------------------------------------------------------------------------------- */

/* The one line such an event is worth. */
static str gist_of(const struct event *e)
{
	static const char *const names[] = { "message", "last_assistant_message", "compact_summary", "trigger",
		"file_path", "task_subject", "command_name", "to_model", "directory", "new_cwd",
		"worktree_path", "name", "error", "reason", "agent_type", "teammate_name", "action",
		"tool_name" };

	for (size_t i = 0; i < countof(names); i++) {
		str s = json_str(json_get(e->payload, str_of(names[i])));

		if (!str_empty(s))
			return s;
	}
	return STR_NONE;
}

/* Happenings that come without an id and may be reported twice: the same kind in the same window within
 * ten seconds. */
static int is_same_happening(struct step *t, int64_t window)
{
	int64_t key;

	if (t->record.kind != EVENT_PRE_COMPACT)
		return 0;
	return store_number(t->store, &key,
		"SELECT key FROM activities WHERE session = ?1 AND kind = ?2 AND window IS ?3 AND ord >= ?4 - "
		"?5 LIMIT 1",
		"isiii", t->session.key, str_of(event_kinds[t->record.kind].name), window, t->record.order_us,
		(int64_t)SAME_WITHIN_US);
}

int activity_on_other(struct step *t)
{
	const struct event *e = &t->event;
	bool failed = t->record.kind == EVENT_STOP_FAILURE;
	char id[ULID_TEXT + 1];
	int64_t window, batch = t->session.batch;
	int r;

	if (window_is_helper(e))
		return 0;
	r = window_of(t, &window);
	if (r == 0)
		r = is_same_happening(t, window);
	/* The failure of a turn is part of it, though it has closed it. */
	if (r == 0 && failed)
		r = batch_of_stop(t, &batch);
	if (r != 0) {
		t->same_as = r == 1;
		return r < 0 ? r : 0;
	}
	ulid_format(&t->record.id, id);
	return store_do(t->store,
		"INSERT INTO activities(session, same, window, batch, ord, kind, tool, agent_id, output, file, "
		"state, error, started_at, ended_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)",
		"iskkisssssssi", t->session.key, str_of(id), window, batch, t->record.order_us,
		str_of(event_kinds[t->record.kind].name), e->tool_name, e->agent_id,
		summary_cut(t->arena, gist_of(e), 500),
		project_relative(t->store, t->arena, t->session.project, e->file_path),
		failed ? STR("failed") : STR("done"), failed ? summary_cut(t->arena, e->error, 500) : STR_NONE,
		t->record.at_us);
}

bool activity_pair_range(struct step *t, str *ret_from, str *ret_to)
{
	(void)t;
	*ret_from = *ret_to = STR_NONE;
	return false;
}
