/* Tasks and efforts: rows that Effort events make. An event names its effort by a ULID and says in "op" what happened;
 * folding one twice is impossible, because events are kept by their own keys.
 *
 * The rows of an effort are what its events say in their order. An event that comes later than one that happened after
 * it (from the spool, or out of a damaged store) has the effort folded again from its beginning. */
#include <errno.h>

#include "base/limits.h"
#include "capture/internal.h"

enum { NAME_MAX_BYTES = 200, TEXT_MAX = 4000, PLACE_MAX = 4096, JSON_MAX = 65536 };

/* -- members ----------------------------------------------------------------------------------- */

static str member(const struct step *t, const char *name, size_t most)
{
	str text = json_str(json_get(t->event.payload, str_of(name)));

	return str_empty(text) ? STR_NONE : summary_cut(t->arena, text, most);
}

static str tree(const struct step *t, const char *name)
{
	const struct json *v = json_get(t->event.payload, str_of(name));
	struct buf b = BUF_INIT(JSON_MAX);
	str text = STR_NONE;

	if (v && v->type >= JSON_ARRAY && json_write(&b, v) == 0)
		text = arena_str(t->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static int64_t number(const struct step *t, const char *name, int64_t fallback)
{
	int64_t n = fallback;

	json_int(json_get(t->event.payload, str_of(name)), &n);
	return n;
}

static int find_project(struct step *t, str dir, int64_t *ret)
{
	int got = project_of(t->store, dir, t->record.at_us, ret);

	if (got == 0 && *ret)
		got = store_number(t->store, ret, "SELECT coalesce(parent, key) FROM projects WHERE key = ?1", "i",
			*ret);
	return MIN(got, 0);
}

/* -- tasks ------------------------------------------------------------------------------------- */

static int on_task(struct step *t)
{
	str path = member(t, "task", PLACE_MAX);
	int64_t project = 0;
	int r;

	if (str_empty(path))
		return 0;
	r = find_project(t, path, &project);
	if (r < 0)
		return r;
	return store_do(t->store,
		"INSERT INTO tasks(path, project, title, text, keywords, gates, created_at, updated_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT(path) DO UPDATE SET title = coalesce(?3, title), "
		"text = coalesce(?4, text), keywords = coalesce(?5, keywords), gates = coalesce(?6, gates), "
		"created_at = min(created_at, ?7), updated_at = max(updated_at, ?7)",
		"sissssi", path, project, member(t, "title", NAME_MAX_BYTES), member(t, "text", TEXT_MAX),
		tree(t, "keywords"), tree(t, "gates"), t->record.at_us);
}

/* -- what happens to an effort ------------------------------------------------------------------ */

static int on_start(struct step *t, const struct ulid *uid)
{
	str task = member(t, "task", PLACE_MAX), skill = member(t, "skill", NAME_MAX_BYTES);
	int64_t project = 0;
	int r;

	if (str_empty(task) || str_empty(skill))
		return 0;
	r = find_project(t, task, &project);
	if (r == 0)
		r = store_do(t->store,
			"INSERT INTO tasks(path, project, created_at, updated_at) VALUES (?1, ?2, ?3, ?3) "
			"ON CONFLICT(path) DO UPDATE SET created_at = min(created_at, ?3), updated_at = "
			"max(updated_at, ?3)",
			"sii", task, project, t->record.at_us);
	if (r < 0)
		return r;
	return store_do(t->store,
		"INSERT INTO efforts(uid, task, project, agent, skill, mode, ordinal, goal, config, metadata, "
		"created_at, updated_at, last_ord, last_id, root) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14) ON CONFLICT DO NOTHING",
		"bsisssisssiibs", uid->b, (size_t)ULID_BYTES, task, project, member(t, "agent", NAME_MAX_BYTES), skill,
		member(t, "mode", NAME_MAX_BYTES), number(t, "ordinal", 1), member(t, "goal", TEXT_MAX),
		tree(t, "config"), tree(t, "metadata"), t->record.at_us, t->record.order_us, t->record.id.b,
		(size_t)ULID_BYTES, member(t, "root", PLACE_MAX));
}

static int on_phase(struct step *t, const struct ulid *uid)
{
	str label = member(t, "phase", NAME_MAX_BYTES);
	int r;

	if (str_empty(label))
		return 0;
	r = store_do(t->store, "UPDATE efforts SET phase = ?2 WHERE uid = ?1", "bs", uid->b, (size_t)ULID_BYTES, label);
	if (r < 0)
		return r;
	return store_do(t->store,
		"INSERT INTO effort_phases(effort, n, label, reason, proof, at) VALUES (?1, "
		"(SELECT coalesce(max(n), 0) + 1 FROM effort_phases WHERE effort = ?1), ?2, ?3, ?4, ?5)",
		"bsssi", uid->b, (size_t)ULID_BYTES, label, member(t, "reason", TEXT_MAX), tree(t, "proof"),
		t->record.at_us);
}

/* Its windows go on in nothing; an agent that says so later has the reads to add. */
static int on_finish(struct step *t, const struct ulid *uid)
{
	int r = store_do(t->store,
		"UPDATE effort_windows SET ended_at = ?2, end_reason = 'finished' WHERE effort = ?1 AND ended_at IS "
		"NULL",
		"bi", uid->b, (size_t)ULID_BYTES, t->record.at_us);

	if (r < 0)
		return r;
	return store_do(t->store,
		"UPDATE efforts SET state = 'finished', finished_at = ?2, result = ?3 WHERE uid = ?1 AND state = "
		"'active'",
		"bis", uid->b, (size_t)ULID_BYTES, t->record.at_us, member(t, "result", TEXT_MAX));
}

static int on_resume(struct step *t, const struct ulid *uid)
{
	return store_do(t->store, "UPDATE efforts SET agent = coalesce(?2, agent) WHERE uid = ?1", "bs", uid->b,
		(size_t)ULID_BYTES, member(t, "agent", NAME_MAX_BYTES));
}

static int on_metadata(struct step *t, const struct ulid *uid)
{
	return store_do(t->store, "UPDATE efforts SET metadata = ?2 WHERE uid = ?1", "bs", uid->b, (size_t)ULID_BYTES,
		tree(t, "metadata"));
}

static int on_checkpoint(struct step *t, const struct ulid *uid)
{
	return store_do(t->store, "UPDATE efforts SET checkpoint = ?2, checkpoint_at = ?3 WHERE uid = ?1", "bsi",
		uid->b, (size_t)ULID_BYTES, tree(t, "checkpoint"), t->record.at_us);
}

static int on_artifact(struct step *t, const struct ulid *uid)
{
	str type = member(t, "type", NAME_MAX_BYTES), path = member(t, "path", PLACE_MAX);

	if (str_empty(type) || str_empty(path))
		return 0;
	return store_do(t->store,
		"INSERT INTO effort_artifacts(effort, type, path, at) VALUES (?1, ?2, ?3, ?4) "
		"ON CONFLICT(effort, type) DO UPDATE SET path = ?3, at = ?4",
		"bssi", uid->b, (size_t)ULID_BYTES, type, path, t->record.at_us);
}

static int on_directive(struct step *t, const struct ulid *uid)
{
	str path = member(t, "path", PLACE_MAX), processed = member(t, "processed", NAME_MAX_BYTES);

	if (str_empty(path))
		return 0;
	return store_do(t->store,
		"INSERT INTO effort_directives(effort, path, hash, processed, proof, at, processed_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, iif(?4 IS NULL, NULL, ?6)) ON CONFLICT(effort, path) DO UPDATE SET "
		"hash = coalesce(?3, hash), processed = coalesce(?4, processed), proof = coalesce(?5, proof), "
		"processed_at = iif(?4 IS NULL, processed_at, ?6)",
		"bssssi", uid->b, (size_t)ULID_BYTES, path, member(t, "hash", NAME_MAX_BYTES), processed,
		member(t, "proof", TEXT_MAX), t->record.at_us);
}

/* -- windows ----------------------------------------------------------------------------------- */

static int on_window(struct step *t, const struct ulid *uid)
{
	struct ulid window, previous;
	bool follows = ulid_parse(member(t, "previous", NAME_MAX_BYTES), &previous);

	if (!ulid_parse(member(t, "window", NAME_MAX_BYTES), &window))
		return 0;
	/* The one before it ends with it, a subagent's with nothing but its own end; and what another effort's did is
	 * told by events of that effort. */
	if (follows) {
		int r = store_do(t->store,
			"UPDATE effort_windows SET ended_at = coalesce(ended_at, ?2) WHERE id = ?1 AND agent_id IS "
			"NULL AND effort = ?3",
			"bib", previous.b, (size_t)ULID_BYTES, t->record.at_us, uid->b, (size_t)ULID_BYTES);

		if (r < 0)
			return r;
	}
	return store_do(t->store,
		"INSERT INTO effort_windows(id, effort, agent, session, agent_id, previous, source, started_at) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
		"bbsssbsi", window.b, (size_t)ULID_BYTES, uid->b, (size_t)ULID_BYTES, member(t, "by", NAME_MAX_BYTES),
		member(t, "session", NAME_MAX_BYTES), member(t, "agent_id", NAME_MAX_BYTES),
		follows ? previous.b : NULL, follows ? (size_t)ULID_BYTES : 0, member(t, "source", NAME_MAX_BYTES),
		t->record.at_us);
}

static int add_load(struct step *t, const struct ulid *uid, const struct ulid *window, str path)
{
	return store_do(t->store,
		"INSERT INTO effort_loads(effort, path, window, at) VALUES (?1, ?2, ?3, ?4) "
		"ON CONFLICT(effort, path) DO UPDATE SET window = ?3, at = ?4",
		"bsbi", uid->b, (size_t)ULID_BYTES, summary_cut(t->arena, path, PLACE_MAX), window->b,
		(size_t)ULID_BYTES, t->record.at_us);
}

/* What ended it first did: an agent that was ended because its context was full also says good-bye. */
static int on_end(struct step *t, const struct ulid *uid)
{
	struct ulid window;
	int r;

	if (!ulid_parse(member(t, "window", NAME_MAX_BYTES), &window))
		return 0;
	r = store_do(t->store,
		"UPDATE effort_windows SET ended_at = coalesce(ended_at, ?2), end_reason = coalesce(end_reason, ?3), "
		"checkpoint = coalesce(?4, checkpoint) WHERE id = ?1 AND effort = ?5",
		"bissb", window.b, (size_t)ULID_BYTES, t->record.at_us, member(t, "reason", NAME_MAX_BYTES),
		tree(t, "checkpoint"), uid->b, (size_t)ULID_BYTES);
	json_each(path, json_get(t->event.payload, STR("loads")))
		if (r == 0 && path->type == JSON_STRING && !str_empty(path->text))
			r = add_load(t, uid, &window, path->text);
	return r;
}

static int on_snapshot(struct step *t, const struct ulid *uid)
{
	struct ulid window;

	if (!ulid_parse(member(t, "window", NAME_MAX_BYTES), &window))
		return 0;
	return store_do(t->store, "UPDATE effort_windows SET checkpoint = ?2 WHERE id = ?1 AND effort = ?3", "bsb",
		window.b, (size_t)ULID_BYTES, tree(t, "checkpoint"), uid->b, (size_t)ULID_BYTES);
}

/* -- messages ---------------------------------------------------------------------------------- */

static int add_message(struct step *t, const struct ulid *uid, str kind)
{
	str text = member(t, "text", TEXT_MAX);

	if (str_empty(text) || str_empty(kind))
		return 0;
	return store_do(t->store,
		"INSERT INTO effort_messages(key, effort, kind, phase, text, data, at) VALUES (?1, ?2, ?3, "
		"(SELECT phase FROM efforts WHERE uid = ?2), ?4, ?5, ?6) ON CONFLICT DO NOTHING",
		"ibsssi", key_of(t->seq, 0), uid->b, (size_t)ULID_BYTES, kind, text, tree(t, "data"), t->record.at_us);
}

static int on_log(struct step *t, const struct ulid *uid)
{
	return add_message(t, uid, STR("log"));
}

static int on_message(struct step *t, const struct ulid *uid)
{
	return add_message(t, uid, member(t, "kind", NAME_MAX_BYTES));
}

static const struct {
	const char *name;
	int (*apply)(struct step *t, const struct ulid *uid);
} ops[] = {
	{ "start", on_start },
	{ "phase", on_phase },
	{ "finish", on_finish },
	{ "resume", on_resume },
	{ "metadata", on_metadata },
	{ "checkpoint", on_checkpoint },
	{ "artifact", on_artifact },
	{ "directive", on_directive },
	{ "window", on_window },
	{ "end", on_end },
	{ "snapshot", on_snapshot },
	{ "log", on_log },
	{ "message", on_message },
};

/* -- order ------------------------------------------------------------------------------------- */

static int apply(struct step *t, const struct ulid *uid)
{
	str op = member(t, "op", NAME_MAX_BYTES);
	int r = 0;

	for (size_t i = 0; i < countof(ops) && r == 0; i++)
		if (str_eq(op, str_of(ops[i].name)))
			r = ops[i].apply(t, uid);
	if (r < 0)
		return r;
	return store_do(t->store, "UPDATE efforts SET updated_at = ?2, last_ord = ?3, last_id = ?4 WHERE uid = ?1",
		"biib", uid->b, (size_t)ULID_BYTES, t->record.at_us, t->record.order_us, t->record.id.b,
		(size_t)ULID_BYTES);
}

static int drop_rows(struct store *s, const struct ulid *uid)
{
	static const char *const statements[] = {
		"DELETE FROM effort_phases WHERE effort = ?1",
		"DELETE FROM effort_artifacts WHERE effort = ?1",
		"DELETE FROM effort_directives WHERE effort = ?1",
		"DELETE FROM effort_windows WHERE effort = ?1",
		"DELETE FROM effort_loads WHERE effort = ?1",
		"DELETE FROM effort_messages WHERE effort = ?1",
		"DELETE FROM efforts WHERE uid = ?1",
	};
	int r = 0;

	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = store_do(s, statements[i], "b", uid->b, (size_t)ULID_BYTES);
	return r;
}

/* Events of an effort belong to no session, and name the effort where others name a call. */
#define EVENTS_OF "session IS NULL AND tool_use_id = ulid_text(?1)"

int effort_refold(struct capture *c, struct store *s, const struct ulid *uid)
{
	struct step t = { .capture = c, .store = s };
	struct arena arena = { 0 }; /* the step's is in use by who calls */
	int64_t after_ord = INT64_MIN;
	struct ulid after_id = { { 0 } };
	int got = 1, r = drop_rows(s, uid);

	t.arena = &arena;
	while (r == 0 && got == 1) {
		struct query *q = store_ask(s,
			"SELECT " FOLD_COLUMNS " FROM events WHERE " EVENTS_OF " AND (ord, id) > (?2, ?3) "
			"ORDER BY ord, id LIMIT 1",
			"bib", uid->b, (size_t)ULID_BYTES, after_ord, after_id.b, (size_t)ULID_BYTES);

		arena_reset(&arena);
		got = query_step(q);
		if (got == 1)
			fold_read_row(&t, q, STR("hookd"), STR_NONE);
		query_reset(q);
		if (got != 1)
			break;
		after_ord = t.record.order_us;
		after_id = t.record.id;
		fold_parse(&t);
		r = apply(&t, uid);
	}
	arena_release(&arena);
	return r < 0 ? r : MIN(got, 0);
}

/* From what is told of it; and it is there in any case as long as it has efforts. */
int task_refold(struct capture *c, struct store *s, str path)
{
	struct step t = { .capture = c, .store = s };
	struct arena arena = { 0 };
	int64_t after = 0;
	int got = 1, r = store_do(s, "DELETE FROM tasks WHERE path = ?1", "s", path);

	t.arena = &arena;
	if (r == 0)
		r = store_do(s,
			"INSERT INTO tasks(path, project, created_at, updated_at) SELECT task, min(project), "
			"min(created_at), max(created_at) FROM efforts WHERE task = ?1 GROUP BY task",
			"s", path);
	while (r == 0 && got == 1) {
		struct query *q = store_ask(s,
			"SELECT " FOLD_COLUMNS
			" FROM events WHERE session IS NULL AND kind = 'Effort' AND tool_use_id IS "
			"NULL AND payload_text(payload) ->> '$.task' = ?1 AND seq > ?2 ORDER BY seq LIMIT 1",
			"si", path, after);

		arena_reset(&arena);
		got = query_step(q);
		if (got == 1)
			fold_read_row(&t, q, STR("hookd"), STR_NONE);
		query_reset(q);
		if (got != 1)
			break;
		after = t.seq;
		fold_parse(&t);
		r = on_task(&t);
	}
	arena_release(&arena);
	return r < 0 ? r : MIN(got, 0);
}

/* Something is stored that happened later: then the rows are not what this event leaves behind. */
static int is_overtaken(struct step *t, const struct ulid *uid)
{
	int64_t found;

	return store_number(t->store, &found,
		"SELECT 1 FROM events WHERE " EVENTS_OF " AND (ord, id) > (?2, ?3) LIMIT 1", "bib", uid->b,
		(size_t)ULID_BYTES, t->record.order_us, t->record.id.b, (size_t)ULID_BYTES);
}

int effort_on_event(struct step *t)
{
	struct ulid uid;
	int r;

	if (str_eq(member(t, "op", NAME_MAX_BYTES), STR("task")))
		return on_task(t);
	if (!ulid_parse(member(t, "effort", NAME_MAX_BYTES), &uid))
		return 0;
	r = is_overtaken(t, &uid);
	if (r < 0)
		return r;
	return r == 1 ? effort_refold(t->capture, t->store, &uid) : apply(t, &uid);
}
