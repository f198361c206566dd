/* Evidence of use: whether what was added to a turn shows in what the agent said and did in it. A memory counts as
 * used when the agent takes up words of it that the prompt did not have. One that was given often and never used is
 * muted. */
#include "engine/learn_internal.h"

enum { SAID_MAX = 16384, TERMS_LEAST = 2 };

static const float share_least = 0.3F;

/* The agent's answer, and the commands and files of the turn. */
static int read_deeds(struct store *s, const struct extract_turn *turn, struct buf *ret)
{
	struct query *q = store_ask(s,
		"SELECT coalesce(json_extract(input, '$.command'), file) FROM activities WHERE batch = ?1 AND kind = "
		"'tool' "
		"ORDER BY ord LIMIT 200",
		"i", turn->batch);
	int got;

	buf_add_str(ret, str_cut_utf8(turn->response, SAID_MAX / 2));
	while ((got = query_step(q)) == 1) {
		buf_add_char(ret, '\n');
		buf_add_str(ret, str_cut_utf8(query_str(q, 0), 1000)); /* what is too much is left out */
	}
	query_reset(q);
	return MIN(got, 0);
}

static void note_used(struct lesson *l, struct query *q)
{
	struct used *u;

	if (!l->used)
		l->used = arena_alloc(&l->arena, USED_MAX * sizeof *l->used);
	u = &l->used[l->nused++];
	memcpy(u->event.b, query_str(q, 0).p, ULID_BYTES);
	memcpy(u->item.b, query_str(q, 1).p, ULID_BYTES);
}

/* Never for what the user said or pinned. */
static void mute_if_useless(struct lesson *l, struct query *q)
{
	int64_t limit = config_number(l->learner->config.config, OPTION_MEMORY_MUTE_AFTER);
	struct ulid uid, id;
	char text[ULID_TEXT + 1];

	if (!limit || query_int(q, 3) < limit || query_int(q, 4) || query_int(q, 5))
		return;
	memcpy(uid.b, query_str(q, 1).p, ULID_BYTES);
	ulid_format(&uid, text);
	id = ulid_derive(&uid, STR("mute"));
	lesson_add_event(l, &id, &uid,
		arena_strf(&l->arena,
			"{\"memory\":\"%s\",\"op\":\"change\",\"muted\":1,\"reason\":\"given %lld times and never "
			"used\"}",
			text, (long long)query_int(q, 3)));
}

int evidence_look(struct lesson *l, struct store *s, const struct extract_turn *turn, int64_t session, int64_t ord)
{
	struct buf deeds = BUF_INIT(SAID_MAX);
	struct query *q;
	int got = read_deeds(s, turn, &deeds);

	if (got < 0) {
		buf_release(&deeds);
		return got;
	}
	q = store_ask(s,
		"SELECT i.event, i.item, m.text, m.shown, m.used, m.pinned OR m.trust = 'user' FROM injections i JOIN "
		"memories m "
		"ON m.uid = i.item WHERE i.session = ?1 AND i.used_at IS NULL AND i.ord < coalesce((SELECT min(ord) "
		"FROM "
		"batches WHERE session = ?1 AND ord > ?2), 9223372036854775807) "
		/* What came before the first prompt belongs to its turn. */
		"AND (i.ord >= ?2 OR NOT EXISTS (SELECT 1 FROM batches WHERE session = ?1 AND ord < ?2))",
		"ii", session, ord);
	while ((got = query_step(q)) == 1 && l->nused < USED_MAX) {
		size_t terms;

		if (terms_taken_up(query_str(q, 2), turn->prompt, buf_str(&deeds), &terms) >= share_least &&
			terms >= TERMS_LEAST)
			note_used(l, q);
		else
			mute_if_useless(l, q);
	}
	query_reset(q);
	buf_release(&deeds);
	return MIN(got, 0);
}

int evidence_store(struct store *s, const struct lesson *l)
{
	int r = 0;

	for (size_t i = 0; i < l->nused && r == 0; i++) {
		const struct used *u = &l->used[i];

		r = store_do(s, "UPDATE injections SET used_at = ?3 WHERE event = ?1 AND item = ?2 AND used_at IS NULL",
			"bbi", u->event.b, (size_t)ULID_BYTES, u->item.b, (size_t)ULID_BYTES, clock_wall_us());
		if (r == 0 && store_changes(s))
			r = store_do(s, "UPDATE memories SET used = used + 1, used_at = ?2 WHERE uid = ?1", "bi",
				u->item.b, (size_t)ULID_BYTES, clock_wall_us());
	}
	return r;
}
