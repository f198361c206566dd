/* related, session_accept: sessions that belong together. A session often continues what another one began, in another
 * agent or after a break, and no event says so. What they talked about, the files they touched and the time between
 * them suggest it; a person accepts it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "api/ops.h"
#include "base/clock.h"
#include "retrieve/retrieve.h"

enum { CANDIDATES = 200, SAID_MAX = 4000, FILES_MAX = 200 };

/* From which score on a session is worth showing, and worth suggesting as the one that was continued. */
static const double least = 0.15, likely = 0.4;
static const int64_t overlap_us = 10 * 60 * USEC_PER_SEC, longest_break_us = (int64_t)14 * 24 * 3600 * USEC_PER_SEC;

struct session {
	int64_t key, project, started_us, last_us;
	str said;  /* title and prompts */
	str files; /* JSON array */
	bool has_parent;
};

struct kin {
	int64_t key, files;
	double score, words;
	bool suggested;
};

#define SESSION_SELECT                                                                                                 \
	"SELECT s.key, coalesce(s.project, 0), s.started_at, s.last_at, coalesce(s.title, '') || ' ' || "              \
	"coalesce((SELECT "                                                                                            \
	"group_concat(substr(prompt, 1, 400), ' ') FROM (SELECT prompt FROM batches WHERE session = s.key AND source " \
	"= "                                                                                                           \
	"'user' ORDER BY ord LIMIT 12)), ''), (SELECT json_group_array(file) FROM (SELECT DISTINCT file FROM "         \
	"activities "                                                                                                  \
	"WHERE session = s.key AND file IS NOT NULL LIMIT 200)), s.parent IS NOT NULL OR EXISTS (SELECT 1 FROM "       \
	"accepted "                                                                                                    \
	"WHERE session = s.key) FROM sessions s WHERE "

static void read_session(struct query *q, struct arena *a, struct session *ret)
{
	*ret = (struct session){ .key = query_int(q, 0),
		.project = query_int(q, 1),
		.started_us = query_int(q, 2),
		.last_us = query_int(q, 3),
		.said = arena_str(a, str_cut_utf8(query_str(q, 4), SAID_MAX)),
		.files = arena_str(a, query_str(q, 5)),
		.has_parent = query_int(q, 6) };
}

/* -- likeness ---------------------------------------------------------------------------------- */

static int count_shared(struct store *s, str a, str b, int64_t *ret)
{
	return MIN(0,
		store_number(s, ret,
			"SELECT count(*) FROM json_each(?1) WHERE value IN (SELECT value FROM json_each(?2))", "ss", a,
			b));
}

static int compare(struct op_call *call, const struct session *of, const struct session *other, struct kin *ret)
{
	int64_t gap_us = MAX(of->started_us, other->started_us) - MIN(of->last_us, other->last_us);
	double days = (double)MAX(gap_us, (int64_t)0) / (24.0 * 3600 * USEC_PER_SEC);
	int r;

	*ret = (struct kin){ .key = other->key };
	r = count_shared(call->store, of->files, other->files, &ret->files);
	ret->words = (double)terms_overlap(of->said, other->said);
	ret->score = 0.55 * MIN(1, 3 * ret->words) + 0.3 * (double)ret->files / ((double)ret->files + 2) +
		0.15 * exp2(-days);
	/* It had ended, or nearly, when this one began, and not long before. */
	ret->suggested = !of->has_parent && ret->score >= likely && other->started_us < of->started_us &&
		other->last_us < of->started_us + overlap_us && of->started_us - other->last_us < longest_break_us;
	return r;
}

static int by_score(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->key < y->key ? 1 : -1;
}

/* Of the same project, those nearest in time. */
static int find_kin(struct op_call *call, const struct session *of, struct kin *ret, size_t *ret_n)
{
	struct session *others = arena_alloc(call->arena, CANDIDATES * sizeof *others);
	struct query *q = store_ask(call->store,
		SESSION_SELECT
		"s.key <> ?1 AND s.prompts > 0 AND s.hidden = 0 AND " OP_NOT_DOCTOR
		"AND s.project IN (SELECT key FROM projects WHERE key = ?2 OR parent = ?2 OR key = (SELECT parent "
		"FROM projects WHERE key = ?2)) ORDER BY abs(s.last_at - ?3) LIMIT ?4",
		"iiii", of->key, of->project, of->started_us, (int64_t)CANDIDATES);
	size_t n = 0;
	int got;

	while ((got = query_step(q)) == 1 && n < CANDIDATES)
		read_session(q, call->arena, &others[n++]);
	query_reset(q);
	*ret_n = 0;
	for (size_t i = 0; i < n && got >= 0; i++) {
		got = compare(call, of, &others[i], &ret[*ret_n]);
		*ret_n += ret[*ret_n].score >= least;
	}
	qsort(ret, *ret_n, sizeof *ret, by_score);
	return MIN(got, 0);
}

/* -- the operations ---------------------------------------------------------------------------- */

const struct op_column op_related_result[] = { { "session", 's' }, { "parent", 's' }, { "suggested_parent", 's' },
	{ "related", 'l',
		(const struct op_column[]){ { "session", 's' }, { "agent", 's' }, { "title", 's' }, { "last_us", 'i' },
			{ "score", 'n' }, { "shared_files", 'i' }, { "suggested", 'b' }, { 0 } } },
	{ 0 } };

static int write_kin(struct op_call *call, const struct kin *k, bool suggested)
{
	static const struct op_column columns[] = { { "session", 's' }, { "agent", 's' }, { "title", 's' },
		{ "last_us", 'i' }, { 0 } };
	struct query *q = store_ask(call->store,
		"SELECT native_id, agent, substr(coalesce(title, last_user), 1, 200), last_at FROM sessions WHERE key "
		"= ?1",
		"i", k->key);
	int got = query_step(q);

	jw_object(call->w);
	if (got == 1)
		op_write_columns(call->w, q, columns);
	query_reset(q);
	jw_key(call->w, "score");
	jw_raw(call->w, arena_strf(call->arena, "%.3f", k->score));
	jw_field_int(call->w, "shared_files", k->files);
	jw_field_bool(call->w, "suggested", suggested);
	jw_end_object(call->w);
	return MIN(got, 0);
}

static int write_name(struct op_call *call, const char *member, int64_t key)
{
	struct query *q = store_ask(call->store, "SELECT native_id FROM sessions WHERE key = ?1", "i", key);
	int got = query_step(q);

	if (got == 1)
		jw_field_str(call->w, member, query_str(q, 0));
	query_reset(q);
	return MIN(got, 0);
}

static int write_related(struct op_call *call, const struct session *of)
{
	struct kin *kin = arena_alloc(call->arena, (CANDIDATES + 1) * sizeof *kin);
	size_t n = 0, best = SIZE_MAX;
	int64_t parent = 0;
	int r = find_kin(call, of, kin, &n);

	if (r == 0)
		r = MIN(0,
			store_number(call->store, &parent,
				"SELECT coalesce((SELECT parent FROM accepted WHERE session = ?1), (SELECT parent FROM "
				"sessions "
				"WHERE key = ?1))",
				"i", of->key));
	for (size_t i = n; i-- > 0;)
		best = kin[i].suggested ? i : best;
	jw_object(call->w);
	if (r == 0)
		r = write_name(call, "session", of->key);
	if (r == 0 && parent)
		r = write_name(call, "parent", parent);
	if (r == 0 && best != SIZE_MAX)
		r = write_name(call, "suggested_parent", kin[best].key);
	jw_key(call->w, "related");
	jw_array(call->w);
	for (size_t i = 0; i < n && i < (size_t)op_int(call, "limit") && r == 0; i++)
		r = write_kin(call, &kin[i], i == best);
	jw_end_array(call->w);
	jw_end_object(call->w);
	return r;
}

int op_related(struct op_call *call)
{
	struct session of;
	struct query *q = store_ask(call->store, SESSION_SELECT "s.key = ?1", "i", op_int(call, "session"));
	int got = query_step(q);

	if (got == 1)
		read_session(q, call->arena, &of);
	query_reset(q);
	return got == 1 ? write_related(call, &of) : got < 0 ? got : -ENOENT;
}

/* Nothing continues itself, also not through others. */
static int check_chain(struct op_call *call, int64_t session, int64_t parent)
{
	int64_t loops = 0;
	int got = store_number(call->store, &loops,
		"WITH RECURSIVE up(key, depth) AS (SELECT ?2, 0 UNION ALL SELECT coalesce((SELECT parent FROM accepted "
		"WHERE "
		"session = up.key), (SELECT parent FROM sessions WHERE key = up.key)), depth + 1 FROM up WHERE up.key "
		"IS NOT "
		"NULL AND depth < 1000) SELECT 1 FROM up WHERE key = ?1 LIMIT 1",
		"ii", session, parent);

	return got < 0  ? got
		: loops ? err_set(call->err, -EINVAL, "a session cannot continue itself, or one that continues it")
			: 0;
}

int op_session_accept(struct op_call *call)
{
	int64_t session = op_int(call, "session"), parent = op_int(call, "parent");
	int r = parent ? check_chain(call, session, parent) : 0;

	if (r == 0)
		r = parent ? store_do(call->store,
				     "INSERT INTO accepted(session, parent, at) VALUES (?1, ?2, ?3) ON "
				     "CONFLICT(session) DO UPDATE SET "
				     "parent = ?2, at = ?3",
				     "iii", session, parent, clock_wall_us())
			   : store_do(call->store, "DELETE FROM accepted WHERE session = ?1", "i", session);
	jw_object(call->w);
	if (r == 0)
		r = write_name(call, "session", session);
	if (r == 0 && parent)
		r = write_name(call, "parent", parent);
	jw_end_object(call->w);
	return r;
}
