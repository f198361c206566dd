/* Deleting: what the user chose, and what exceeds the retention limits.
 *
 * A session is deleted with everything that was made from it. A project that the user named outlives its sessions.
 * Deleted bytes are overwritten (secure_delete, set in store/). */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/internal.h"
#include "jobs/jobs.h"

enum {
	FORGET_AT_ONCE = 8, /* sessions in one transaction, so that events come in between */
	SHRINK_PAGES = 512,
	LOW_PERCENT = 95, /* deleting stops below this share of the limit, or it would never stop */
};

/* -- one session ------------------------------------------------------------------------------- */

static int drop_session(struct store *s, int64_t key)
{
	static const char *const statements[] = {
		"DELETE FROM plan_versions WHERE plan IN (SELECT key FROM plans WHERE session = ?1)",
		"DELETE FROM plans WHERE session = ?1",
		"DELETE FROM activities WHERE session = ?1",
		"DELETE FROM usage WHERE session = ?1",
		"DELETE FROM decisions WHERE session = ?1",
		"DELETE FROM injections WHERE session = ?1",
		"UPDATE memories SET session = NULL WHERE session = ?1",
		"DELETE FROM batches WHERE session = ?1",
		"DELETE FROM windows WHERE session = ?1",
		"DELETE FROM events WHERE session = ?1",
		"UPDATE sessions SET parent = NULL WHERE parent = ?1",
		"DELETE FROM sessions WHERE key = ?1",
	};
	int r = block_drop(s, key);

	if (r == 0)
		r = jobs_drop_session(s, key, false);
	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = store_do(s, statements[i], "i", key);
	return r;
}

/* Projects and directories that nothing refers to any more. Worktrees first, then their main projects. */
static int drop_orphans(struct store *s)
{
	static const char directories[] =
		"DELETE FROM directories WHERE project IN (SELECT key FROM projects p WHERE NOT named "
		"AND NOT EXISTS (SELECT 1 FROM sessions WHERE project = p.key) "
		"AND NOT EXISTS (SELECT 1 FROM memories WHERE project = p.key) "
		"AND NOT EXISTS (SELECT 1 FROM efforts WHERE project = p.key) "
		"AND NOT EXISTS (SELECT 1 FROM tasks WHERE project = p.key) "
		"AND NOT EXISTS (SELECT 1 FROM projects c WHERE c.parent = p.key))";
	static const char projects[] = "DELETE FROM projects WHERE NOT named "
				       "AND NOT EXISTS (SELECT 1 FROM sessions WHERE project = projects.key) "
				       "AND NOT EXISTS (SELECT 1 FROM memories WHERE project = projects.key) "
				       "AND NOT EXISTS (SELECT 1 FROM efforts WHERE project = projects.key) "
				       "AND NOT EXISTS (SELECT 1 FROM tasks WHERE project = projects.key) "
				       "AND NOT EXISTS (SELECT 1 FROM projects c WHERE c.parent = projects.key)";
	int r = 0;

	for (int round = 0; round < 2 && r == 0; round++) {
		r = store_do(s, directories, "");
		if (r == 0)
			r = store_do(s, projects, "");
	}
	return r;
}

/* -- what is chosen ---------------------------------------------------------------------------- */

str capture_match_text(struct arena *a, str text)
{
	struct buf b = BUF_INIT(1 << 20);
	str escaped = text;

	if (json_write_string(&b, text) == 0 && b.len >= 2)
		escaped = arena_str(a, str_n(b.p + 1, b.len - 2));
	buf_release(&b);
	return escaped;
}

/* Parameters 1 to 4. A long `match` may be in an event of any session. */
#define CHOSEN_SESSIONS                                                                                \
	"(?1 IS NULL OR s.key IN (SELECT value FROM json_each(?1))) AND (?3 IS NULL OR s.agent = ?3) " \
	"AND (?4 = 0 OR s.last_at < ?4) "                                                              \
	"AND (?2 IS NULL OR s.project IN (SELECT key FROM projects WHERE key = ?2 OR parent = ?2))"
#define CHOSEN_EVENTS "(?5 IS NULL OR instr(payload_text(e.payload), ?5) OR instr(coalesce(e.host, ''), ?5))"

static struct query *ask_chosen(struct store *s, const char *sql, const struct capture_choice *c)
{
	return store_ask(s, sql, "sksis", c->sessions, c->project, c->agent, c->before_us, c->match);
}

static int count_events(struct store *s, const struct capture_choice *choice, struct capture_count *ret)
{
	struct query *q = ask_chosen(s,
		"SELECT count(DISTINCT s.key), count(e.seq), coalesce(sum(payload_bytes(e.payload)), 0) "
		"FROM sessions s "
		"JOIN events e ON e.session = s.key WHERE " CHOSEN_SESSIONS " AND " CHOSEN_EVENTS,
		choice);
	int got = query_step(q);

	if (got == 1)
		*ret = (struct capture_count){ query_int(q, 0), query_int(q, 1), query_int(q, 2), ret->memories,
			ret->efforts };
	query_reset(q);
	return got < 0 ? got : 0;
}

/* Memories that the choice is about by itself: those of chosen sessions are found with the session. */
static bool chooses_memories(const struct capture_choice *c, struct unlearn_choice *ret)
{
	bool any = !str_is_set(c->sessions) && !c->project && !str_is_set(c->agent) && !c->before_us;

	*ret = (struct unlearn_choice){ .memories = c->memories, .match = any ? c->match : STR_NONE };
	return str_is_set(ret->memories) || str_is_set(ret->match);
}

int capture_count(struct store *s, const struct capture_choice *choice, struct capture_count *ret)
{
	struct unlearn_choice memories;

	*ret = (struct capture_count){ 0 };
	if (chooses_memories(choice, &memories)) {
		int r = unlearn_count(s, &memories, &ret->memories);

		if (r < 0 || str_is_set(memories.memories))
			return r;
	}
	if (efforts_are_chosen(choice)) {
		int r = efforts_count_chosen(s, choice, &ret->efforts);

		if (r < 0)
			return r;
	}
	return count_events(s, choice, ret);
}

struct query *capture_list(struct store *s, const struct capture_choice *choice, int64_t limit)
{
	struct query *q = ask_chosen(s,
		"SELECT s.key, s.agent, s.native_id, s.title, s.cwd, s.last_at, count(e.seq) FROM sessions s "
		"JOIN events e ON e.session = s.key WHERE " CHOSEN_SESSIONS " AND " CHOSEN_EVENTS
		" GROUP BY s.key ORDER BY s.last_at DESC LIMIT ?6",
		choice);

	query_bind_int(q, 6, limit);
	return q;
}

/* -- purge ------------------------------------------------------------------------------------- */

static int read_names(struct store *s, struct arena *a, int64_t key, str *ret_agent, str *ret_native)
{
	struct query *q = store_ask(s, "SELECT agent, native_id FROM sessions WHERE key = ?1", "i", key);
	int got = query_step(q);

	*ret_agent = got == 1 ? arena_str(a, query_str(q, 0)) : STR_NONE;
	*ret_native = got == 1 ? arena_str(a, query_str(q, 1)) : STR_NONE;
	query_reset(q);
	return got < 0 ? got : 0;
}

/* Each event that holds the text is noted before it is deleted. */
static int note_matches(struct capture *c, struct store *s, int64_t key, str match)
{
	struct step t = { .capture = c, .store = s, .arena = &c->arena };
	int64_t now = clock_wall_us(), after = 0;
	str agent, native;
	struct query *q;
	int got = 1;

	while (got == 1) {
		arena_reset(&c->arena);
		got = read_names(s, &c->arena, key, &agent, &native);
		if (got < 0)
			return got;
		q = store_ask(s,
			"SELECT " FOLD_COLUMNS " FROM events WHERE session = ?1 AND seq > ?3 "
			"AND (instr(payload_text(payload), ?2) OR instr(coalesce(host, ''), ?2)) ORDER BY seq LIMIT 1",
			"isi", key, match, after);
		got = query_step(q);
		if (got == 1)
			fold_read_row(&t, q, agent, native);
		query_reset(q);
		if (got != 1)
			return got;
		after = t.seq;
		fold_parse(&t);
		got = purged_note_event(&t, now);
		got = got < 0 ? got : 1;
	}
	return got;
}

static int note_session(struct capture *c, struct store *s, int64_t key)
{
	str agent, native;
	int r;

	arena_reset(&c->arena);
	r = read_names(s, &c->arena, key, &agent, &native);
	return r < 0 ? r : purged_note_session(s, agent, native, clock_wall_us());
}

static int purge_session(struct capture *c, struct store *s, int64_t key, str match, struct capture_count *ret)
{
	int64_t left = 0;
	int r = 0;

	c->purges = PURGES_SOME;
	if (!str_is_set(match))
		r = unlearn(s, &(struct unlearn_choice){ .session = key }, &ret->memories);
	if (r < 0)
		return r;
	if (str_is_set(match)) {
		r = note_matches(c, s, key, match);
		if (r == 0)
			r = block_dissolve(c, s, key);
		if (r < 0)
			return r;
		r = store_do(s,
			"DELETE FROM events AS e WHERE e.session = ?1 AND "
			"(instr(payload_text(e.payload), ?2) OR "
			"instr(coalesce(e.host, ''), ?2))",
			"is", key, match);
		ret->events += r == 0 ? store_changes(s) : 0;
		if (r == 0)
			(void)store_number(s, &left, "SELECT 1 FROM events WHERE session = ?1 LIMIT 1", "i", key);
		if (r == 0 && left) {
			/* Everything made from the session's events is deleted, and made again from the remaining
			 * ones. */
			rewind_note(c, key);
			c->ordered = true;
			r = deliveries_drop_match(s, key, match);
			return r < 0 ? r : jobs_drop_session(s, key, true);
		}
	} else {
		r = store_number(s, &left, "SELECT count(*) FROM events WHERE session = ?1", "i", key);
		ret->events += left;
		if (r >= 0)
			r = note_session(c, s, key);
	}
	ret->sessions++;
	return r < 0 ? r : drop_session(s, key);
}

/* The next sessions after *after. 1: some were found. */
static int purge_some(struct capture *c, struct store *s, const struct capture_choice *choice, int64_t *after,
	struct capture_count *ret)
{
	int64_t keys[FORGET_AT_ONCE];
	struct query *q = ask_chosen(s,
		"SELECT s.key FROM sessions s WHERE s.key > ?6 AND " CHOSEN_SESSIONS " AND (?5 IS NULL OR EXISTS "
		"(SELECT 1 FROM events e WHERE e.session = s.key AND " CHOSEN_EVENTS ")) ORDER BY s.key",
		choice);
	int n = 0, got = 0, r = 0;

	query_bind_int(q, 6, *after);
	while (n < FORGET_AT_ONCE && (got = query_step(q)) == 1)
		keys[n++] = query_int(q, 0);
	query_reset(q);
	if (got < 0)
		return got;
	for (int i = 0; i < n && r == 0; i++) {
		*after = keys[i];
		r = purge_session(c, s, keys[i], choice->match, ret);
	}
	if (r == 0)
		r = capture_finish(c, s);
	return r < 0 ? r : n > 0;
}

/* Memories and efforts. 1: there may be sessions to purge as well. */
static int purge_lasting(struct capture *c, struct store *s, const struct capture_choice *choice,
	struct capture_count *ret)
{
	struct unlearn_choice memories;
	bool learned = chooses_memories(choice, &memories), worked = efforts_are_chosen(choice);
	int r = 0;

	*ret = (struct capture_count){ 0 };
	if (!learned && !worked)
		return 1;
	r = store_exec(s, "BEGIN IMMEDIATE");
	if (r == 0 && learned)
		r = unlearn(s, &memories, &ret->memories);
	if (r == 0 && worked)
		r = efforts_purge(c, s, choice, &ret->efforts);
	if (r == 0 && store_exec(s, "COMMIT") < 0)
		r = -EIO;
	if (r < 0)
		store_exec(s, "ROLLBACK");
	return r < 0 ? r : !str_is_set(memories.memories);
}

int capture_purge(struct capture *c, struct store *s, const struct capture_choice *choice, struct capture_count *ret)
{
	int64_t after = INT64_MIN;
	int r = purge_lasting(c, s, choice, ret);

	while (r == 1) {
		r = store_exec(s, "BEGIN IMMEDIATE");
		if (r == 0)
			r = purge_some(c, s, choice, &after, ret);
		if (r == 0)
			r = drop_orphans(s);
		if (r >= 0 && store_exec(s, "COMMIT") < 0)
			r = -EIO;
		if (r < 0) {
			store_exec(s, "ROLLBACK");
			capture_forget(c);
		}
	}
	/* The index only marks rows as deleted until its segments are merged. */
	return r < 0 ? r : store_exec(s, "INSERT INTO words(words) VALUES ('optimize')");
}

/* -- retention --------------------------------------------------------------------------------- */

/* The oldest session that may go; 0 for before_us: of any age. */
static int find_beyond(struct store *s, int64_t before_us, int64_t *ret)
{
	return store_number(s, ret,
		"SELECT key FROM sessions WHERE status = 'completed' AND (?1 = 0 OR last_at < ?1) "
		"ORDER BY last_at LIMIT 1",
		"i", before_us);
}

static int64_t oldest_kept(const struct capture_limits *limits, int64_t now_us)
{
	return limits->days ? now_us - limits->days * 86400 * USEC_PER_SEC : 0;
}

/* How much the payloads of a session's events take. */
#define STORED_BYTES                                                                                        \
	"(SELECT coalesce(sum(length(payload)), 0) FROM events WHERE session = s.key) + "                   \
	"(SELECT coalesce(sum(length(body)), 0) FROM (SELECT DISTINCT payload / 64 AS n FROM events WHERE " \
	"session = s.key AND typeof(payload) = 'integer') JOIN blocks ON key >= 128 * n AND key < 128 * n + 128) "

/* Rows are counted as the size of their texts: close enough to estimate what would be deleted. */
static int count_by_size(struct store *s, int64_t excess, struct capture_count *ret)
{
	struct query *q = store_query(s,
		"SELECT s.key, (SELECT count(*) FROM events e WHERE e.session = s.key), " STORED_BYTES
		"FROM sessions s WHERE s.status = 'completed' ORDER BY s.last_at");
	int got = 0;

	while (ret->bytes < excess && (got = query_step(q)) == 1) {
		ret->sessions++;
		ret->events += query_int(q, 1);
		ret->bytes += query_int(q, 2);
	}
	query_reset(q);
	return got < 0 ? got : 0;
}

int capture_beyond(struct store *s, const struct capture_limits *limits, int64_t now_us, struct capture_count *ret)
{
	int64_t before = oldest_kept(limits, now_us), used = store_used_bytes(s);
	struct query *q;
	int got = 0;

	*ret = (struct capture_count){ 0 };
	if (before) {
		q = store_ask(s,
			"SELECT count(*), coalesce(sum((SELECT count(*) FROM events WHERE session = s.key)), 0), "
			"  coalesce(sum(" STORED_BYTES "), 0) FROM sessions s "
			"WHERE s.status = 'completed' AND s.last_at < ?1",
			"i", before);
		got = query_step(q);
		if (got == 1)
			*ret = (struct capture_count){ query_int(q, 0), query_int(q, 1), query_int(q, 2) };
		query_reset(q);
	}
	if (got >= 0 && used - ret->bytes > limits->bytes) {
		*ret = (struct capture_count){ 0 };
		got = count_by_size(s, used - limits->bytes * LOW_PERCENT / 100, ret);
	}
	return got < 0 ? got : 0;
}

static int retain_step(struct store *s, const struct capture_limits *limits, int64_t now_us, bool too_large,
	struct capture_count *ret)
{
	int64_t key, before = oldest_kept(limits, now_us), left;
	int got, r = 0, n = 0;

	for (; n < FORGET_AT_ONCE && r == 0; n++) {
		got = before ? find_beyond(s, before, &key) : 0;
		if (got == 0 && too_large)
			got = find_beyond(s, 0, &key);
		if (got <= 0)
			r = got < 0 ? got : 1;
		if (r)
			break;
		left = 0;
		r = store_number(s, &left, "SELECT count(*) FROM events WHERE session = ?1", "i", key) < 0 ? -EIO : 0;
		if (r == 0)
			r = drop_session(s, key);
		ret->sessions++;
		ret->events += left;
		/* Large sessions: look again before the next one. */
		too_large = too_large && store_used_bytes(s) > limits->bytes * LOW_PERCENT / 100;
	}
	if (r >= 0 && n)
		r = drop_orphans(s);
	return r < 0 ? r : n > 0;
}

int capture_retain_some(struct store *s, const struct capture_limits *limits, int64_t now_us, struct capture_count *ret)
{
	int64_t used = store_used_bytes(s), key;
	bool too_large = used > limits->bytes;
	int r;

	/* The usual case costs one look. */
	if (!too_large && (!limits->days || find_beyond(s, oldest_kept(limits, now_us), &key) == 0))
		return 0;
	r = store_exec(s, "BEGIN IMMEDIATE");
	if (r == 0)
		r = retain_step(s, limits, now_us, too_large, ret);
	if (r >= 0 && store_exec(s, "COMMIT") < 0)
		r = -EIO;
	if (r < 0)
		store_exec(s, "ROLLBACK");
	return r;
}

int capture_shrink_some(struct store *s)
{
	int64_t before = 0, after = 0;
	char sql[64];

	if (store_number(s, &before, "PRAGMA freelist_count", "") < 0 || before < SHRINK_PAGES / 2)
		return 0;
	snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%d)", SHRINK_PAGES);
	if (store_exec(s, sql) < 0 || store_number(s, &after, "PRAGMA freelist_count", "") < 0)
		return 0;
	return after < before && after >= SHRINK_PAGES / 2;
}
