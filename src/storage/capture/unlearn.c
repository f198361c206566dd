/* Forgetting memories. The events that made one are deleted, and of its row nothing stays but the name, so that the
 * same turn does not teach it again. Afterwards the index is made anew (api/), because its files know the terms. */
#include "capture/internal.h"

/* Memory events belong to no session, and name their memory where others name a call. */
#define EVENTS_OF "session IS NULL AND tool_use_id = ulid_text(?1)"

static int forget_row(struct store *s, str uid)
{
	static const char *const statements[] = {
		"DELETE FROM events WHERE " EVENTS_OF,
		"DELETE FROM memory_links WHERE source = ?1 OR target = ?1",
		/* Its key becomes one that no event has: the number of a deleted event is used again, and the memory
		 * that comes with it must find its place free. */
		"UPDATE memories SET text = '', file = NULL, concepts = NULL, ref = NULL, thread = NULL, batch = NULL, "
		"reason = "
		"NULL, hash = uid, status = 'forgotten', session = NULL, pinned = 0, successor = NULL, "
		"change = (SELECT coalesce(max(seq), 0) FROM events), key = (SELECT min(min(key), 0) - 1 FROM "
		"memories) "
		"WHERE uid = ?1",
	};
	int r = 0;

	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = store_do(s, statements[i], "b", uid.p, uid.n);
	return r;
}

/* What a choice says about memories, as a condition on m: ?1 text, ?2 a session. Those that are named are not asked
 * for one by one here. */
#define CHOSEN                                                                                                       \
	"m.status <> 'forgotten' AND ((?2 IS NOT NULL AND m.session = ?2 AND m.origin NOT IN "                       \
	"('remember', 'import')) OR (?1 IS NOT NULL AND EXISTS (SELECT 1 FROM events e WHERE e.session IS NULL AND " \
	"e.tool_use_id = ulid_text(m.uid) AND instr(payload_text(e.payload), ?1))))"

static struct query *ask(struct store *s, const char *sql, const struct unlearn_choice *c)
{
	return store_ask(s, sql, "sk", c->match, c->session);
}

/* The next one that is named and is there: 1; 0: there are no more; -errno. */
static int next_named(struct store *s, str *rest, struct ulid *ret)
{
	int64_t is_there = 0;
	int got = 0;
	str word;

	while (got == 0 && str_split(rest, ' ', &word))
		if (ulid_parse(word, ret))
			got = store_number(s, &is_there,
				"SELECT 1 FROM memories WHERE uid = ?1 AND status <> 'forgotten'", "b", ret->b,
				(size_t)ULID_BYTES);
	return got;
}

int unlearn_count(struct store *s, const struct unlearn_choice *c, int64_t *ret)
{
	struct query *q = ask(s, "SELECT count(*) FROM memories m WHERE " CHOSEN, c);
	int got = query_step(q);
	str rest = c->memories;
	struct ulid uid;

	*ret = got == 1 ? query_int(q, 0) : 0;
	query_reset(q);
	while (got >= 0 && (got = next_named(s, &rest, &uid)) == 1)
		++*ret;
	return MIN(got, 0);
}

static int next_chosen(struct store *s, const struct unlearn_choice *c, struct ulid *ret)
{
	struct query *q = ask(s, "SELECT m.uid FROM memories m WHERE " CHOSEN " LIMIT 1", c);
	int got = query_step(q);

	if (got == 1 && query_str(q, 0).n == ULID_BYTES)
		memcpy(ret->b, query_str(q, 0).p, ULID_BYTES);
	query_reset(q);
	return got;
}

int unlearn(struct store *s, const struct unlearn_choice *c, int64_t *forgotten)
{
	str rest = c->memories;
	struct ulid uid;
	int got = 1;

	while (got == 1) {
		got = next_named(s, &rest, &uid);
		if (got == 0)
			got = next_chosen(s, c, &uid);
		if (got == 1 && (got = forget_row(s, str_n((const char *)uid.b, ULID_BYTES))) == 0) {
			++*forgotten;
			got = 1;
		}
	}
	return got;
}
