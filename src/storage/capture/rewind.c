/* Refolding sessions: after late events, and all of them after a change of the fold.
 *
 * A session is rewound whole. Rewinding to a point in the middle would have to undo what later events did to earlier
 * rows (the end of a call, a late answer), and be right about it; a session of a thousand events is folded in some
 * tens of milliseconds, outside the path of any hook, and most events that come a little late need no rewind at all
 * (fold.c). */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/internal.h"

enum { REBUILD_AT_ONCE = 16 }; /* sessions in one transaction */

void rewind_note(struct capture *c, int64_t session)
{
	for (size_t i = 0; i < c->ndirty; i++)
		if (c->dirty[i] == session)
			return;
	if (c->ndirty == c->cap)
		c->dirty = xrealloc(c->dirty, (c->cap = c->cap ? c->cap * 2 : 16) * sizeof *c->dirty);
	c->dirty[c->ndirty++] = session;
}

int rewind_note_import(struct step *t)
{
	return store_do(t->store, "UPDATE sessions SET unsettled = 1 WHERE key = ?1 AND NOT unsettled", "i",
		t->session.key);
}

void capture_forget(struct capture *c)
{
	c->ndirty = 0;
	held_forget(c);
	block_forget(c);
	tell_forget(c);
	c->purges = PURGES_UNKNOWN;
	c->rebuild = -1; /* it may be another store now */
}

int rewind_clear(struct store *s, int64_t session)
{
	static const char *const statements[] = {
		"DELETE FROM plan_versions WHERE plan IN (SELECT key FROM plans WHERE session = ?1)",
		"DELETE FROM plans WHERE session = ?1",
		"DELETE FROM activities WHERE session = ?1",
		"DELETE FROM usage WHERE session = ?1",
		"DELETE FROM decisions WHERE session = ?1",
		"DELETE FROM batches WHERE session = ?1",
		"DELETE FROM windows WHERE session = ?1",
		"UPDATE events SET same_as = NULL WHERE session = ?1 AND same_as IS NOT NULL",
		"UPDATE sessions SET window = NULL, batch = NULL, last_batch = NULL, prompts = 0, tools = 0, "
		"events = 0, last_ord = 0, unsettled = 0, "
		"  last_id = NULL, title = NULL, last_user = NULL, last_assistant = NULL, parent = NULL, "
		"parent_reason = NULL, "
		"  project = NULL, transcript = NULL, cwd = NULL, model = NULL, doing = NULL, doing_at = NULL, "
		"doing_for = NULL, waited_us = 0, last_at = 0, started_at = "
		"9223372036854775807 WHERE key = ?1",
	};
	int r = 0;

	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = store_do(s, statements[i], "i", session);
	return r;
}

/* Applies all events of a session in order. The row of events is read into the arena before it is
 * applied, because applying uses the same statements again. */
static int refold(struct capture *c, struct store *s, int64_t session)
{
	struct step t = { .capture = c, .store = s, .arena = &c->arena };
	struct query *q;
	str agent, native;
	int64_t after_ord = INT64_MIN;
	struct ulid after_id = { { 0 } };
	int got, r = rewind_clear(s, session);

	while (r == 0) {
		arena_reset(&c->arena);
		q = store_ask(s, "SELECT agent, native_id FROM sessions WHERE key = ?1", "i", session);
		got = query_step(q);
		agent = arena_str(&c->arena, query_str(q, 0));
		native = arena_str(&c->arena, query_str(q, 1));
		query_reset(q);
		if (got != 1)
			return got;
		q = store_ask(s,
			"SELECT " FOLD_COLUMNS
			" FROM events WHERE session = ?1 AND (ord, id) > (?2, ?3) ORDER BY ord, id LIMIT 1",
			"iib", session, after_ord, after_id.b, (size_t)ULID_BYTES);
		got = query_step(q);
		if (got == 1)
			fold_read_row(&t, q, agent, native);
		query_reset(q);
		if (got != 1)
			return got;
		after_ord = t.record.order_us;
		after_id = t.record.id;
		if (t.record.marks & EVENT_UNFOLDED)
			continue;
		fold_parse(&t);
		r = session_load(s, session, &t.session);
		if (r == 0)
			r = aside_apply(&t);
	}
	return r;
}

bool capture_has_ordered(struct capture *c)
{
	bool ordered = c->ordered;

	c->ordered = false;
	return ordered;
}

int capture_finish(struct capture *c, struct store *s)
{
	int r = held_release(c, s);

	if (r == 0)
		r = block_release(c, s);
	/* Folding a session can find events that belong to it, which makes it dirty once more. */
	for (size_t i = 0; i < c->ndirty && r == 0; i++) {
		int64_t session = c->dirty[i];

		c->dirty[i] = 0;
		r = refold(c, s, session);
	}
	if (r == 0 && c->ndirty)
		log_debug(LOG_STORE, "%zu sessions refolded because of late events", c->ndirty);
	c->ndirty = 0;
	return r < 0 ? r : tell_now(c, s);
}

int capture_refold_due(struct capture *c, struct store *s, int sessions)
{
	int64_t key, left = 0;
	int r = 0;

	for (int i = 0; i < sessions && r == 0; i++) {
		key = 0;
		r = store_number(s, &key, "SELECT min(key) FROM sessions WHERE unsettled", "");
		if (r < 0 || !key)
			return r < 0 ? r : 0;
		r = refold(c, s, key);
	}
	if (r == 0)
		r = capture_finish(c, s); /* a session that is refolded may pass events to another */
	if (r == 0)
		r = store_number(s, &left, "SELECT count(*) FROM sessions WHERE unsettled", "");
	return r < 0 ? r : (int)left;
}

/* -- rebuilding -------------------------------------------------------------------------------- */

/* A number among the facts; 0 without. */
static int fact(struct store *s, const char *name, int64_t *ret)
{
	struct query *q = store_ask(s, "SELECT value FROM facts WHERE name = ?1", "s", str_of(name));
	int got = query_step(q);

	*ret = 0;
	if (got == 1)
		str_to_int(query_str(q, 0), ret);
	query_reset(q);
	return got < 0 ? got : 0;
}

static int set_fact(struct store *s, const char *name, int64_t value)
{
	return store_do(s, "INSERT INTO facts(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2",
		"si", str_of(name), value);
}

/* A rebuild that was interrupted continues where it stopped. */
static int look_for_rebuild(struct capture *c, struct store *s)
{
	int64_t version = 0, key = 0;
	int got = fact(s, "capture", &version);

	c->rebuild = 0;
	if (got < 0 || version == CAPTURE_VERSION)
		return got;
	got = fact(s, "rebuild", &key);
	if (got < 0)
		return got;
	c->rebuild = key > 0 ? key : 1;
	return 1;
}

int capture_rebuild(struct capture *c, struct store *s)
{
	int r = store_do(s, "DELETE FROM facts WHERE name IN ('capture', 'rebuild')", "");

	c->rebuild = -1;
	return r;
}

int capture_rebuild_left(struct store *s, int64_t *ret_left, int64_t *ret_sessions)
{
	int64_t version = 0, key = 0;
	int r = fact(s, "capture", &version);

	if (r == 0)
		r = fact(s, "rebuild", &key);
	*ret_left = 0;
	if (r == 0 && version != CAPTURE_VERSION)
		r = store_number(s, ret_left, "SELECT count(*) FROM sessions WHERE key >= ?1", "i", key);
	if (r >= 0)
		r = store_number(s, ret_sessions, "SELECT count(*) FROM sessions", "");
	/* The last step comes after the last session. */
	if (r >= 0 && version != CAPTURE_VERSION && !*ret_left)
		*ret_left = 1;
	return r < 0 ? r : 0;
}

static int finish_rebuild(struct capture *c, struct store *s)
{
	/* Refolding makes sessions active; those that ended long ago are completed at once, not at the next round. */
	int r = aside_retry(c, s);

	if (r == 0)
		r = capture_complete_stale(s, clock_wall_us());
	if (r >= 0)
		r = store_do(s, "DELETE FROM facts WHERE name = 'rebuild'", "");
	c->rebuild = 0;
	return r < 0 ? r : set_fact(s, "capture", CAPTURE_VERSION);
}

static int rebuild_batch(struct capture *c, struct store *s)
{
	int64_t key;
	int got = 1, r = c->rebuild == 1 ? aside_clear_marks(s) : 0;

	for (int i = 0; i < REBUILD_AT_ONCE && got == 1 && r == 0; i++) {
		key = 0;
		got = store_number(s, &key, "SELECT min(key) FROM sessions WHERE key >= ?1", "i", c->rebuild);
		if (got < 0)
			return got;
		if (!key)
			return finish_rebuild(c, s);
		r = refold(c, s, key);
		c->rebuild = key + 1;
	}
	return r < 0 ? r : set_fact(s, "rebuild", c->rebuild);
}

static int rebuild_step(struct capture *c, struct store *s)
{
	int64_t from = c->rebuild;
	int r = store_exec(s, "BEGIN IMMEDIATE");

	if (r == 0)
		r = rebuild_batch(c, s);
	if (r == 0)
		r = capture_finish(c, s);
	if (r == 0)
		r = store_exec(s, "COMMIT");
	if (r < 0) {
		store_exec(s, "ROLLBACK");
		c->ndirty = 0;
		c->rebuild = from;
	}
	return r;
}

int capture_rebuild_some(struct capture *c, struct store *s)
{
	int r = c->rebuild < 0 ? look_for_rebuild(c, s) : c->rebuild > 0;

	if (r <= 0)
		return r;
	r = rebuild_step(c, s);
	if (r < 0 && !store_is_environment(r)) {
		c->careful = true;
		r = rebuild_step(c, s);
		c->careful = false;
	}
	return r < 0 ? r : c->rebuild > 0;
}
