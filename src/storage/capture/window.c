/* Windows: what the model has seen. One per SessionStart, one per subagent; linked, never resumed. */
#include <errno.h>

#include "base/clock.h"
#include "capture/internal.h"
#include "jobs/jobs.h"

int window_open(struct step *t, str source, int64_t *ret)
{
	const struct event *e = &t->event;
	int r = store_do(t->store, "UPDATE windows SET took = coalesce(took, apart(?2, started_at)) WHERE key = ?1",
		"ii", t->session.window, t->record.at_us);

	if (r == 0)
		r = store_do(t->store,
			"INSERT INTO windows(session, ord, previous, source, model, lag, key) "
			"VALUES (?1, ?2, ?3, ?4, ?5, apart(?2, ?6), ?7)",
			"iikssii", t->session.key, t->record.order_us, t->session.window, source,
			json_str(json_get(e->payload, STR("model"))), t->record.at_us, key_of(t->seq, 0));
	if (r < 0)
		return r;
	*ret = t->session.window = key_of(t->seq, 0);
	return 0;
}

/* The same source within ten seconds is one start, whoever reports it, unless the window has been used
 * meanwhile: then the agent ended or was killed, and this is another run. */
static int is_same_start(struct step *t)
{
	int64_t key;

	return store_number(t->store, &key,
		"SELECT key FROM windows w WHERE key = ?1 AND source IS ?2 AND ord >= ?3 - ?4 AND agent_id IS "
		"NULL AND end_reason IS NULL "
		"  AND NOT EXISTS (SELECT 1 FROM batches WHERE session = w.session AND window = w.key) "
		"  AND NOT EXISTS (SELECT 1 FROM activities WHERE session = w.session AND window = w.key AND "
		"kind = 'tool')",
		"isii", t->session.window, t->event.source, t->record.order_us, (int64_t)SAME_WITHIN_US);
}

/* What comes before the first start (Setup, say) has opened a window without a source; with no prompt in
 * it, it is the beginning of the one that starts now. */
static int adopt_window(struct step *t)
{
	int64_t key = 0;
	int r = t->session.last_batch
		? 0
		: store_number(t->store, &key,
			  "SELECT key FROM windows WHERE key = ?1 AND source IS NULL AND ended_at IS NULL", "i",
			  t->session.window);

	if (r != 1)
		return r;
	r = store_do(t->store,
		"UPDATE windows SET lag = apart(?2, started_at), ord = ?2, source = ?3, model = ?4 WHERE key = ?1",
		"iiss", key, t->record.order_us, t->event.source, json_str(json_get(t->event.payload, STR("model"))));
	return r < 0 ? r : 1;
}

int window_on_start(struct step *t)
{
	bool compacted = str_eq(t->event.source, STR("compact"));
	int64_t window;
	int r = is_same_start(t);

	if (r < 0)
		return r;
	/* A transcript does not say when it was started: its first line does not start a window that is there. */
	if (r == 0 && t->record.marks & EVENT_IMPORTED && t->session.window && !compacted)
		r = 1;
	if (r == 1) {
		t->same_as = 1;
		return 0;
	}
	/* Compaction happens in the middle of a prompt, which continues afterwards. */
	r = compacted ? 0 : batch_close(t, "window");
	if (r == 0)
		r = adopt_window(t);
	if (r == 0)
		r = window_open(t, t->event.source, &window);
	return r < 0 ? r : session_link_parent(t);
}

int window_on_end(struct step *t)
{
	int64_t ended = 0;
	int r = store_number(t->store, &ended,
		"SELECT ended_at IS NOT NULL AND end_reason IS NOT NULL FROM windows WHERE key = ?1", "i",
		t->session.window);

	if (r < 0)
		return r;
	if (ended) {
		t->same_as = 1;
		return 0;
	}
	r = batch_close(t, "end");
	if (r == 0)
		r = store_do(t->store,
			"UPDATE windows SET took = apart(?2, started_at), end_reason = coalesce(?3, 'other') WHERE "
			"key = ?1",
			"iis", t->session.window, t->record.at_us, t->event.reason);
	t->capture->ordered = true;
	if (r == 0)
		r = jobs_on_session_end(t->store, t->session.key, MIN(t->record.at_us, clock_wall_us()));
	return r < 0 ? r : session_link_parent(t);
}

/* -- subagents --------------------------------------------------------------------------------- */

static int find_subagent(struct step *t, str id, int64_t *ret)
{
	return store_number(t->store, ret,
		"SELECT key FROM windows WHERE session = ?1 AND agent_id = ?2 ORDER BY ord DESC LIMIT 1", "is",
		t->session.key, id);
}

static int open_subagent(struct step *t, int64_t *ret)
{
	int64_t parent = t->session.window;
	int r = parent ? 0 : window_open(t, STR_NONE, &parent);

	if (r == 0)
		r = store_do(t->store,
			"INSERT INTO windows(session, ord, agent_id, agent_type, parent, source, lag, key) "
			"VALUES (?1, ?2, ?3, ?4, ?5, 'subagent', apart(?2, ?6), ?7)",
			"iissiii", t->session.key, t->record.order_us, t->event.agent_id, t->event.agent_type, parent,
			t->record.at_us, key_of(t->seq, 1));
	*ret = key_of(t->seq, 1);
	return r < 0 ? r : session_adopt_thread(t, t->event.agent_id);
}

int window_of(struct step *t, int64_t *ret)
{
	int r;

	if (!str_empty(t->event.agent_id)) {
		r = find_subagent(t, t->event.agent_id, ret);
		if (r != 0)
			return r < 0 ? r : 0;
		return open_subagent(t, ret);
	}
	*ret = t->session.window;
	return *ret ? 0 : window_open(t, STR_NONE, ret);
}

int window_on_subagent_start(struct step *t)
{
	int64_t window;
	int r;

	if (str_empty(t->event.agent_id))
		return 0;
	r = find_subagent(t, t->event.agent_id, &window);
	if (r != 0) {
		t->same_as = r == 1;
		return r < 0 ? r : 0;
	}
	return open_subagent(t, &window);
}

bool window_is_helper(const struct event *e)
{
	return e->kind == EVENT_SUBAGENT_STOP && str_is_set(e->agent_type) && str_empty(e->agent_type);
}

/* A stop without a start is the compaction helper's, or a start that was not seen. */
int window_on_subagent_stop(struct step *t)
{
	int64_t window = 0;
	int r;

	if (str_empty(t->event.agent_id) || window_is_helper(&t->event))
		return 0;
	r = find_subagent(t, t->event.agent_id, &window);
	if (r == 0)
		r = open_subagent(t, &window);
	if (r < 0)
		return r;
	return store_do(t->store,
		"UPDATE windows SET took = apart(?2, started_at), message = coalesce(?3, message) WHERE key = ?1",
		"iis", window, t->record.at_us, summary_cut(t->arena, t->event.message, RESPONSE_MAX));
}

/* Says what the subagent's stop says as well; alone it brings the message. */
int window_on_subagent_turn(struct step *t)
{
	int64_t window = 0, told = 0;
	int r = find_subagent(t, t->record.agent_id, &window);

	if (r != 1)
		return r;
	t->retells = true;
	r = store_number(t->store, &told, "SELECT message IS NOT NULL FROM windows WHERE key = ?1", "i", window);
	if (r < 0)
		return r;
	if (told) {
		t->same_as = 1;
		return 0;
	}
	return store_do(t->store, "UPDATE windows SET message = ?2 WHERE key = ?1", "is", window,
		summary_cut(t->arena, t->event.message, RESPONSE_MAX));
}
