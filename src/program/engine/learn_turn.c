/* The job `extract`: a finished turn gets its class, what it teaches becomes memories, and what it was given is looked
 * at for evidence of use. */
#include <stdio.h>

#include "engine/learn_internal.h"

enum { SETTLE_S = 5 };

static bool is_skipped(str tool, void *arg)
{
	return config_lists(arg, OPTION_EXTRACT_SKIP, tool);
}

/* -- memories ---------------------------------------------------------------------------------- */

/* An older memory that says nearly the same gives way. Its event is named after both, so that it happens once. */
static void supersede(struct lesson *l, const struct memory_note *n)
{
	const struct learner_config *c = &l->learner->config;
	float similar = (float)config_number(c->config, OPTION_MEMORY_SIMILAR) / 100;
	char by[ULID_TEXT + 1], old[ULID_TEXT + 1];
	struct ulid older, id;

	if (memories_find_near(c->memories, l->store, l->project, n, similar, &l->arena, &older) != 1)
		return;
	ulid_format(&n->uid, by);
	ulid_format(&older, old);
	id = ulid_derive(&n->uid, str_of(old));
	lesson_add_event(l, &id, &older,
		arena_strf(&l->arena,
			"{\"memory\":\"%s\",\"op\":\"change\",\"status\":\"superseded\",\"successor\":\"%s\","
			"\"reason\":\"a newer memory says nearly the same\"}",
			old, by));
}

void lesson_add_note(const struct memory_note *n, void *lesson)
{
	struct lesson *l = lesson;

	if (lesson_add_event(l, &n->uid, &n->uid, memory_write_note(n, &l->arena)) &&
		!str_eq(n->status, STR("quarantined")))
		supersede(l, n);
}

/* -- the turn ---------------------------------------------------------------------------------- */

int lesson_read_turn(struct lesson *l, struct store *s, struct turn_row *ret)
{
	const struct learner_config *c = &l->learner->config;
	struct arena *a = &l->arena;
	struct query *q;
	int got;

	if (!ulid_parse(str_of(l->job.subject), &l->batch))
		return 0;
	q = store_ask(s,
		"SELECT b.key, b.source, b.prompt, b.response, s.cwd, s.native_id, s.agent, b.started_at, b.session, "
		"b.ord, "
		"(SELECT coalesce(parent, key) FROM projects WHERE key = s.project), b.status = 'active', s.unsettled, "
		"coalesce(b.ended_at, b.last_at) FROM events e JOIN batches b ON b.key = 4 * e.seq JOIN sessions s ON "
		"s.key = "
		"b.session WHERE e.id = ?1 AND s.cwd IS NOT NULL AND s.native_id NOT GLOB 'hookd-doctor-*'",
		"b", l->batch.b, (size_t)ULID_BYTES);
	got = query_step(q);
	if (got == 1) {
		*ret = (struct turn_row){ .session = query_int(q, 8),
			.ord = query_int(q, 9),
			.project = query_int(q, 10),
			.active = query_int(q, 11),
			.unsettled = query_int(q, 12),
			.ended_us = query_int(q, 13),
			.source = arena_str(a, query_str(q, 1)) };
		ret->turn = (struct extract_turn){ .batch = query_int(q, 0),
			.id = l->batch,
			.by_user = str_eq(query_str(q, 1), STR("user")),
			.prompt = arena_str(a, query_str(q, 2)),
			.response = arena_str(a, query_str(q, 3)),
			.dir = arena_str(a, query_str(q, 4)),
			.session = arena_str(a, query_str(q, 5)),
			.agent = arena_str(a, query_str(q, 6)),
			.at_us = query_int(q, 7),
			.skips = is_skipped,
			.arg = (void *)c->config };
		ret->excluded = config_excludes_project(c->config, ret->turn.dir, str_of(c->home));
	}
	query_reset(q);
	return got;
}

int learn_turn(struct lesson *l, struct store *s)
{
	struct turn_row row;
	struct turn_sums sums;
	int r = lesson_read_turn(l, s, &row);

	/* A turn that goes on orders another job when it ends. */
	if (r != 1 || row.active)
		return MIN(r, 0);
	if (row.unsettled)
		return lesson_put_off(l, SETTLE_S * USEC_PER_SEC, "its session is being imported");
	l->store = s;
	l->project = row.project;
	l->source = "rules";
	r = memory_classify(s, row.turn.batch, &sums, &l->class);
	if (r == 0 && !row.excluded)
		r = memory_extract(l->learner->extractor, s, &row.turn, &l->arena, lesson_add_note, l);
	model_order_turn(l, &row, &sums);
	if (r == 0)
		r = evidence_look(l, s, &row.turn, row.session, row.ord);
	return r;
}
