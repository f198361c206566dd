/* Learning: finished turns are looked at when the daemon has nothing better to do, and what they teach becomes events
 * of hookd's own.
 *
 *   a turn ends ─▶ timer ─▶ worker: due turns ─▶ memories, redacted ─▶ loop: journal ─▶ writer: "looked at up to here"
 *
 * Which turns are due follows from the store alone, and a memory is named after its turn and its text: cut off
 * anywhere, the next attempt does the same again, and twice is once. */
#include "engine/learn_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"

enum {
	AFTER_TURN_MS = 3000, /* the fold comes two seconds after the end of a turn */
	AFTER_MORE_MS = 200,
};

/* -- on a worker ------------------------------------------------------------------------------- */

static bool is_skipped(str tool, void *arg)
{
	return config_lists(arg, OPTION_EXTRACT_SKIP, tool);
}

void lesson_add_event(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload)
{
	memory_event(id, memory, payload, &l->arena, &l->events[l->n++]);
}

/* An older memory that says nearly the same gives way. Its event is named after both, so that it happens once. */
static void supersede(struct lesson *l, const struct memory_note *n)
{
	const struct learner_config *c = &l->learner->config;
	float similar = (float)config_number(c->config, OPTION_MEMORY_SIMILAR) / 100;
	char by[ULID_TEXT + 1], old[ULID_TEXT + 1];
	struct ulid older, id;

	if (l->n == NOTES_MAX ||
		memories_find_near(c->memories, l->store, l->project, n, similar, &l->arena, &older) != 1)
		return;
	ulid_format(&n->uid, by);
	ulid_format(&older, old);
	id = ulid_derive(&n->uid, str_of(old));
	lesson_add_event(l, &id, &older,
		arena_strf(&l->arena,
			"{\"memory\":\"%s\",\"op\":\"change\",\"status\":\"superseded\",\"successor\":\"%s\","
			"\"reason\":"
			"\"a newer memory says nearly the same\"}",
			old, by));
}

static void take_note(const struct memory_note *n, void *arg)
{
	struct lesson *l = arg;

	if (l->n == NOTES_MAX)
		return;
	lesson_add_event(l, &n->uid, &n->uid, memory_write_note(n, &l->arena));
	if (!str_eq(n->status, STR("quarantined")))
		supersede(l, n);
}

static void read_turn(struct query *q, struct arena *a, const struct config *config, struct extract_turn *ret)
{
	str id = query_str(q, 1), source = query_str(q, 2);

	*ret = (struct extract_turn){ .batch = query_int(q, 0),
		.by_user = str_eq(source, STR("user")),
		.prompt = arena_str(a, query_str(q, 3)),
		.response = arena_str(a, query_str(q, 4)),
		.dir = arena_str(a, query_str(q, 5)),
		.session = arena_str(a, query_str(q, 6)),
		.agent = arena_str(a, query_str(q, 7)),
		.at_us = query_int(q, 8),
		.skips = is_skipped,
		.arg = (void *)config };
	if (id.n == ULID_BYTES)
		memcpy(ret->id.b, id.p, ULID_BYTES);
}

/* Turns that have ended since their session was last looked at. */
static int read_due(struct lesson *l, struct store *s, struct extract_turn turns[TURNS_AT_ONCE],
	int64_t projects[TURNS_AT_ONCE], size_t *ret_n)
{
	struct query *q = store_ask(s,
		"SELECT b.key, (SELECT id FROM events WHERE seq = b.key / 4), b.source, b.prompt, b.response, s.cwd, "
		"s.native_id, "
		"s.agent, b.started_at, b.session, b.ord, "
		"(SELECT coalesce(parent, key) FROM projects WHERE key = s.project) FROM sessions s LEFT JOIN "
		"extracted x ON x.session = s.key "
		"JOIN batches b ON b.session = s.key AND b.ord > coalesce(x.ord, -1) AND b.status <> 'active' "
		"WHERE s.last_ord > coalesce(x.ord, -1) AND s.cwd IS NOT NULL AND NOT s.unsettled "
		"AND s.native_id NOT GLOB 'hookd-doctor-*' ORDER BY s.key, b.ord LIMIT ?1",
		"i", (int64_t)TURNS_AT_ONCE);
	size_t n = 0;
	int got;

	while ((got = query_step(q)) == 1) {
		projects[n] = query_int(q, 11);
		read_turn(q, &l->arena, l->learner->config.config, &turns[n++]);
		l->seen[l->nseen].session = query_int(q, 9);
		l->seen[l->nseen++].ord = query_int(q, 10);
	}
	query_reset(q);
	*ret_n = n;
	return MIN(got, 0);
}

static int extract_due(struct lesson *l, struct store *s)
{
	const struct learner_config *c = &l->learner->config;
	struct extract_turn turns[TURNS_AT_ONCE];
	int64_t projects[TURNS_AT_ONCE];
	size_t n = 0;
	int r = read_due(l, s, turns, projects, &n);

	if (n && !l->learner->extractor)
		l->learner->extractor = extractor_new(); /* a quarter of a megabyte that many daemons never need */
	l->store = s;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (config_excludes_project(c->config, turns[i].dir, str_of(c->home)))
			continue;
		l->project = projects[i];
		r = memory_extract(l->learner->extractor, s, &turns[i], &l->arena, take_note, l);
		if (r == 0)
			r = evidence_look(l, s, &turns[i], l->seen[i].session, l->seen[i].ord);
	}
	return r;
}

static void work(void *arg)
{
	struct lesson *l = arg;
	const struct learner_config *c = &l->learner->config;
	struct store *s = NULL;
	struct err err;
	unsigned secrets;

	l->result = readers_try(c->readers, &s, &err);
	if (l->result < 0)
		return;
	l->result = extract_due(l, s);
	if (l->result < 0)
		store_close(s);
	else
		readers_give_back(c->readers, s);
	for (size_t i = 0; i < l->n; i++)
		engine_redact(c->engine, &l->arena, &l->events[i], &l->records[i], &secrets);
}

/* -- on the writer ----------------------------------------------------------------------------- */

static int note_seen(struct store *s, void *arg)
{
	struct lesson *l = arg;
	int r = evidence_store(s, l);

	for (size_t i = 0; i < l->nseen && r == 0; i++)
		r = store_do(s,
			"INSERT INTO extracted(session, ord) SELECT key, ?2 FROM sessions WHERE key = ?1 "
			"ON CONFLICT(session) DO UPDATE SET ord = max(ord, ?2)",
			"ii", l->seen[i].session, l->seen[i].ord);
	return r;
}

/* -- on the loop ------------------------------------------------------------------------------- */

static void end(void *arg)
{
	struct lesson *l = arg;
	struct learner *x = l->learner;
	bool more = l->nseen == TURNS_AT_ONCE && l->result == 0;

	arena_release(&l->arena);
	free(l);
	x->busy = false;
	if (more || x->again)
		loop_timer_set(x->timer, (more ? AFTER_MORE_MS : AFTER_TURN_MS) * USEC_PER_MSEC);
	x->again = false;
}

static void seen(int result, void *arg)
{
	struct lesson *l = arg;

	l->result = result;
	loop_post(l->learner->config.loop, end, l);
}

static void stored(bool is_stored, void *arg)
{
	struct lesson *l = arg;

	if (!is_stored) {
		l->result = -1;
		end(l);
		return;
	}
	writer_post_then(l->learner->config.writer, note_seen, seen, l);
}

static void worked(void *arg)
{
	struct lesson *l = arg;

	if (l->result < 0 || !l->nseen)
		end(l);
	else if (l->n)
		engine_store(l->learner->config.engine, l->records, l->n, stored, l);
	else
		stored(true, l);
}

static void begin(void *arg)
{
	struct learner *x = arg;
	struct lesson *l;

	if (x->busy) {
		x->again = true;
		return;
	}
	x->busy = true;
	l = xcalloc(1, sizeof *l);
	l->learner = x;
	loop_submit_lane(x->config.loop, LOOP_BACKGROUND, work, worked, l);
}

void learner_wake(struct learner *x)
{
	loop_timer_set(x->timer, AFTER_TURN_MS * USEC_PER_MSEC);
}

struct learner *learner_new(const struct learner_config *config)
{
	struct learner *x = xcalloc(1, sizeof *x);

	x->config = *config;
	x->timer = loop_timer_new(config->loop, begin, x);
	return x;
}

void learner_free(struct learner *x)
{
	if (!x)
		return;
	loop_timer_free(x->timer);
	extractor_free(x->extractor);
	free(x);
}
