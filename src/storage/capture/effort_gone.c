/* Purging efforts: those of a project whole, those that hold a text as far as they hold it. Retention never comes
 * here. */
#include "capture/internal.h"

bool efforts_are_chosen(const struct capture_choice *c)
{
	bool others = str_is_set(c->sessions) || str_is_set(c->agent) || str_is_set(c->memories);

	return !others && (c->project || str_is_set(c->match));
}

#define OF_PROJECT(column)                                                                                       \
	"(?1 IS NULL OR " column " IN (SELECT key FROM projects WHERE key = ?1 OR parent = ?1)) AND (?2 = 0 OR " \
	"updated_at < ?2)"
#define HOLDS_TEXT(which)                                                                                        \
	"(?3 IS NULL OR EXISTS (SELECT 1 FROM events e WHERE e.session IS NULL AND e.kind = 'Effort' AND " which \
	" AND instr(payload_text(e.payload), ?3)))"
#define CHOSEN_EFFORTS \
	"FROM efforts f WHERE " OF_PROJECT("project") " AND " HOLDS_TEXT("e.tool_use_id = ulid_text(f.uid)")
/* A task stays as long as it has efforts. */
#define CHOSEN_TASKS                                                                                                  \
	"FROM tasks t WHERE " OF_PROJECT("project") " AND " HOLDS_TEXT(                                               \
		"payload_text(e.payload) ->> '$.task' = t.path") " AND (?3 IS NOT NULL OR NOT EXISTS (SELECT 1 FROM " \
								 "efforts WHERE task = t.path))"

static struct query *ask(struct store *s, const char *sql, const struct capture_choice *c)
{
	return store_ask(s, sql, "kis", c->project, c->before_us, c->match);
}

static int count(struct store *s, const char *sql, const struct capture_choice *c, int64_t *ret)
{
	struct query *q = ask(s, sql, c);
	int got = query_step(q);

	*ret += got == 1 ? query_int(q, 0) : 0;
	query_reset(q);
	return MIN(got, 0);
}

int efforts_count_chosen(struct store *s, const struct capture_choice *c, int64_t *ret)
{
	int r = count(s, "SELECT count(*) " CHOSEN_EFFORTS, c, ret);

	if (r == 0)
		r = count(s, "SELECT count(*) " CHOSEN_TASKS, c, ret);
	return r < 0 ? r : fleet_count_chosen(s, c, ret);
}

/* -- one effort -------------------------------------------------------------------------------- */

static int delete_events(struct store *s, str uid, str match)
{
	return store_do(s,
		"DELETE FROM events AS e WHERE e.session IS NULL AND e.tool_use_id = ?1 AND "
		"(?2 IS NULL OR instr(payload_text(e.payload), ?2))",
		"ss", uid, match);
}

/* What is left of it without these events: nothing, if the first one is among them. */
static int purge_effort(struct capture *c, struct store *s, str uid, str match)
{
	struct ulid id;
	int r = delete_events(s, uid, match);

	if (r == 0 && ulid_parse(uid, &id))
		r = effort_refold(c, s, &id);
	return r;
}

/* -- one task ---------------------------------------------------------------------------------- */

#define EVENTS_OF_TASK                                                                                                \
	"e.session IS NULL AND e.kind = 'Effort' AND e.tool_use_id IS NULL AND payload_text(e.payload) ->> '$.task' " \
	"= ?1"

/* The row is made again from what is left; a task with efforts is there without words of its own. */
static int purge_task(struct capture *c, struct store *s, str path, str match)
{
	int r = store_do(s,
		"DELETE FROM events AS e WHERE " EVENTS_OF_TASK " AND (?2 IS NULL OR instr(payload_text(e.payload), "
		"?2))",
		"ss", path, match);

	return r < 0 ? r : task_refold(c, s, path);
}

/* -- all of them ------------------------------------------------------------------------------- */

/* The first that is chosen: 1, and its name in room. Every round deletes what made it chosen. */
static int next(struct store *s, const char *sql, const struct capture_choice *c, struct buf *room)
{
	struct query *q = ask(s, sql, c);
	int got = query_step(q);

	buf_clear(room);
	if (got == 1)
		buf_add_str(room, query_str(q, 0));
	query_reset(q);
	return got;
}

static int purge_each(struct capture *c, struct store *s, const struct capture_choice *choice, const char *sql,
	int (*purge)(struct capture *c, struct store *s, str name, str match), int64_t *ret)
{
	struct buf name = BUF_INIT(1 << 16);
	int got;

	while ((got = next(s, sql, choice, &name)) == 1) {
		got = purge(c, s, buf_str(&name), choice->match);
		if (got < 0)
			break;
		++*ret;
	}
	buf_release(&name);
	return MIN(got, 0);
}

int efforts_purge(struct capture *c, struct store *s, const struct capture_choice *choice, int64_t *ret)
{
	int r = purge_each(c, s, choice, "SELECT ulid_text(uid) " CHOSEN_EFFORTS " LIMIT 1", purge_effort, ret);

	if (r == 0)
		r = purge_each(c, s, choice, "SELECT path " CHOSEN_TASKS " LIMIT 1", purge_task, ret);
	return r < 0 ? r : fleet_purge(s, choice, ret);
}
