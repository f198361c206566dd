/* The active efforts, as hooks know them. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "effort/internal.h"

/* Changes that were journaled before the table was filled. */
struct effort_early {
	struct effort_early *next;
	int64_t at_us;
	char *payload;
};

enum { EARLY_MAX = 1024 };

/* -- rows -------------------------------------------------------------------------------------- */

/* Members of a payload and of a row have one name. */
static const struct {
	const char *name;
	size_t offset;
} texts[] = {
	{ "task", offsetof(struct effort, task) },
	{ "root", offsetof(struct effort, root) },
	{ "agent", offsetof(struct effort, agent) },
	{ "skill", offsetof(struct effort, skill) },
	{ "mode", offsetof(struct effort, mode) },
	{ "phase", offsetof(struct effort, phase) },
	{ "goal", offsetof(struct effort, goal) },
};

static char **text_at(struct effort *e, size_t i)
{
	return (char **)((char *)e + texts[i].offset);
}

static void release(struct effort *e)
{
	for (size_t i = 0; i < countof(texts); i++)
		free(*text_at(e, i));
	free(e->config);
	free(e->metadata);
	effort_rules_free(e->rules);
	free(e);
}

static void take_json(char **to, const struct json *v)
{
	struct buf b = BUF_INIT(EFFORT_JSON_MAX * 2);

	if (!v)
		return;
	free(*to);
	*to = xstrdup(v->type == JSON_OBJECT && json_write(&b, v) == 0 ? b.p : "");
	buf_release(&b);
}

/* What the skill asks for, and on top of it what the effort itself asks for. */
static void take_gates(struct effort *e)
{
	struct arena a = { 0 };
	struct json *config = NULL, *metadata = NULL;

	(void)json_parse(&a, str_of(e->config), 0, &config, NULL);
	(void)json_parse(&a, str_of(e->metadata), 0, &metadata, NULL);
	e->gates = (struct effort_gates){ 0 };
	(void)effort_gates_read(json_get(config, STR("gates")), &e->gates, NULL);
	(void)effort_gates_read(json_get(metadata, STR("gates")), &e->gates, NULL);
	effort_rules_free(e->rules);
	(void)effort_rules_parse(json_get(metadata, STR("rules")), &e->rules, NULL);
	arena_release(&a);
}

static void take_texts(struct effort *e, const struct json *from)
{
	for (size_t i = 0; i < countof(texts); i++) {
		const struct json *v = json_get(from, str_of(texts[i].name));
		str text = str_cut_utf8(json_str(v), EFFORT_TEXT_MAX);

		if (!v || v->type != JSON_STRING)
			continue;
		free(*text_at(e, i));
		*text_at(e, i) = xstrndup(text.p, text.n);
	}
	json_int(json_get(from, STR("ordinal")), &e->ordinal);
	if (json_get(from, STR("config")) || json_get(from, STR("metadata"))) {
		take_json(&e->config, json_get(from, STR("config")));
		take_json(&e->metadata, json_get(from, STR("metadata")));
		take_gates(e);
	}
}

/* -- the table --------------------------------------------------------------------------------- */

struct efforts *efforts_new(void)
{
	struct efforts *e = xcalloc(1, sizeof *e);

	e->last_early = &e->early;
	return e;
}

static void drop_first_early(struct efforts *e)
{
	struct effort_early *one = e->early;

	e->early = one->next;
	if (!e->early)
		e->last_early = &e->early;
	e->nearly--;
	free(one->payload);
	free(one);
}

static void drop_early(struct efforts *e)
{
	while (e->early)
		drop_first_early(e);
}

static void drop_tasks(struct efforts *e)
{
	struct effort_task *one;

	while ((one = e->tasks)) {
		e->tasks = one->next;
		free(one->path);
		free(one);
	}
	e->ntasks = 0;
}

void efforts_empty(struct efforts *e)
{
	struct effort *one;

	windows_free(e);
	while ((one = e->first)) {
		e->first = one->next;
		release(one);
	}
	drop_tasks(e);
	e->n = 0;
	e->filled = false;
}

void efforts_free(struct efforts *e)
{
	if (!e)
		return;
	efforts_empty(e);
	drop_early(e);
	free(e);
}

unsigned efforts_count(const struct efforts *e)
{
	return e->n;
}

static struct effort **place_of(struct efforts *e, const struct ulid *uid)
{
	struct effort **at = &e->first;

	while (*at && !ulid_eq(&(*at)->uid, uid))
		at = &(*at)->next;
	return at;
}

const struct effort *efforts_find(const struct efforts *e, const struct ulid *uid)
{
	return *place_of((struct efforts *)e, uid);
}

static void remove_at(struct efforts *e, struct effort **at)
{
	struct effort *gone = *at;

	*at = gone->next;
	e->n--;
	windows_forget(e, gone);
	release(gone);
}

/* The effort, first of all now; made when it is new. The one that nobody has touched for longest makes room. */
static struct effort *touch(struct efforts *e, const struct ulid *uid)
{
	struct effort **at = place_of(e, uid), *one = *at;

	if (one) {
		*at = one->next;
	} else {
		if (e->n == EFFORT_LIVE_MAX) {
			for (at = &e->first; (*at)->next; at = &(*at)->next)
				;
			remove_at(e, at);
		}
		one = xcalloc(1, sizeof *one);
		one->uid = *uid;
		for (size_t i = 0; i < countof(texts); i++)
			*text_at(one, i) = xstrdup("");
		one->config = xstrdup("");
		one->metadata = xstrdup("");
		e->n++;
	}
	one->next = e->first;
	e->first = one;
	return one;
}

bool efforts_known(const struct efforts *e)
{
	return e->filled;
}

bool efforts_matter(const struct efforts *e)
{
	return e->n || e->ntasks || e->nleft;
}

/* -- tasks ------------------------------------------------------------------------------------- */

/* Only those that ask for something are kept. */
static void take_task(struct efforts *e, const struct json *from)
{
	str path = json_str(json_get(from, STR("task")));
	struct effort_task **at = &e->tasks, *one;
	struct effort_gates gates = { 0 };

	if (!json_get(from, STR("gates")) || str_empty(path))
		return;
	(void)effort_gates_read(json_get(from, STR("gates")), &gates, NULL);
	while (*at && !str_eq(path, str_of((*at)->path)))
		at = &(*at)->next;
	one = *at;
	if (one && !gates.session) {
		*at = one->next;
		free(one->path);
		free(one);
		e->ntasks--;
	} else if (one) {
		one->gates = gates;
	} else if (gates.session && e->ntasks < TASKS_MAX) {
		one = xcalloc(1, sizeof *one);
		one->path = xstrndup(path.p, path.n);
		one->gates = gates;
		one->next = e->tasks;
		e->tasks = one;
		e->ntasks++;
	}
}

const struct effort_task *effort_task_around(const struct efforts *e, str dir)
{
	const struct effort_task *best = NULL;

	for (const struct effort_task *one = e->tasks; one; one = one->next)
		if (effort_is_within(dir, one->path) && (!best || strlen(one->path) > strlen(best->path)))
			best = one;
	return best;
}

/* -- changes ----------------------------------------------------------------------------------- */

/* What is not active is none of our business. */
static struct effort *known(struct efforts *e, const struct ulid *uid)
{
	return *place_of(e, uid) ? touch(e, uid) : NULL;
}

static void on_start(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = touch(e, uid);

	take_texts(one, payload);
	e->generation++;
	windows_bind_session(e, one, json_str(json_get(payload, STR("session"))));
}

static void on_phase(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = known(e, uid);

	if (!one)
		return;
	take_texts(one, payload);
	windows_log(e, one, true);
}

static void on_metadata(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = known(e, uid);

	if (!one)
		return;
	take_json(&one->metadata, json_get(payload, STR("metadata")));
	take_gates(one);
}

/* Whoever worked on it leaves it to the next one that comes. It says what the effort is: the table may have had no
 * room for it. */
static void on_resume(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = json_get(payload, STR("task")) ? touch(e, uid) : known(e, uid);

	if (!one)
		return;
	take_texts(one, payload);
	windows_let_go(e, one);
	e->generation++;
	windows_bind_session(e, one, json_str(json_get(payload, STR("session"))));
}

/* Subagents come and go beside the window in which the effort goes on. */
static void on_window(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = *place_of(e, uid);
	struct ulid window;

	if (!one || json_get(payload, STR("agent_id")) ||
		!ulid_parse(json_str(json_get(payload, STR("window"))), &window))
		return;
	one->last = window;
	one->has_last = one->last_open = true;
}

/* Its agent handed over, or is gone. */
static void on_end(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = *place_of(e, uid);
	struct ulid window;

	if (!ulid_parse(json_str(json_get(payload, STR("window"))), &window))
		return;
	windows_end(e, &window);
	if (one && ulid_eq(&one->last, &window))
		one->last_open = false;
}

static void on_log(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort *one = known(e, uid);

	(void)payload;
	if (one)
		windows_log(e, one, false);
}

static void on_finish(struct efforts *e, const struct ulid *uid, const struct json *payload)
{
	struct effort **at = place_of(e, uid);

	(void)payload;
	if (*at)
		remove_at(e, at);
	e->generation++;
}

static const struct {
	enum effort_op op;
	void (*apply)(struct efforts *e, const struct ulid *uid, const struct json *payload);
} changes[] = {
	{ EFFORT_OP_START, on_start },
	{ EFFORT_OP_PHASE, on_phase },
	{ EFFORT_OP_METADATA, on_metadata },
	{ EFFORT_OP_RESUME, on_resume },
	{ EFFORT_OP_WINDOW, on_window },
	{ EFFORT_OP_END, on_end },
	{ EFFORT_OP_LOG, on_log },
	{ EFFORT_OP_CHECKPOINT, on_log },
	{ EFFORT_OP_FINISH, on_finish },
};

static void keep_early(struct efforts *e, const struct json *payload, int64_t at_us)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct effort_early *one;

	if (json_write(&b, payload) < 0) {
		buf_release(&b);
		return;
	}
	/* The oldest of so many are in the store by the time that it is read. */
	if (e->nearly == EARLY_MAX)
		drop_first_early(e);
	one = xcalloc(1, sizeof *one);
	one->at_us = at_us;
	one->payload = buf_detach(&b, NULL);
	*e->last_early = one;
	e->last_early = &one->next;
	e->nearly++;
}

void efforts_apply(struct efforts *e, const struct json *payload, int64_t at_us)
{
	str op = json_str(json_get(payload, STR("op")));
	struct effort *one;
	struct ulid uid;

	if (!e->filled) {
		keep_early(e, payload, at_us);
		return;
	}
	if (str_eq(op, str_of(effort_op_names[EFFORT_OP_TASK])))
		take_task(e, payload);
	if (!ulid_parse(json_str(json_get(payload, STR("effort"))), &uid))
		return;
	for (size_t i = 0; i < countof(changes); i++)
		if (str_eq(op, str_of(effort_op_names[changes[i].op])))
			changes[i].apply(e, &uid, payload);
	one = *place_of(e, &uid);
	if (one)
		one->changed_us = at_us;
}

/* -- filling ----------------------------------------------------------------------------------- */

/* Rows as the payloads have them; j: JSON. */
static int write_rows(struct json_writer *w, const char *list, struct query *q, const char *const *names,
	const char *types)
{
	int got;

	jw_key(w, list);
	jw_array(w);
	while ((got = query_step(q)) == 1) {
		jw_object(w);
		for (int i = 0; names[i]; i++) {
			if (query_is_null(q, i))
				continue;
			jw_key(w, names[i]);
			if (types[i] == 'i')
				jw_int(w, query_int(q, i));
			else if (types[i] == 'j')
				jw_stored(w, query_str(q, i));
			else if (types[i] == 'b')
				jw_bool(w, query_int(q, i));
			else
				jw_str(w, query_str(q, i));
		}
		jw_end_object(w);
	}
	query_reset(q);
	jw_end_array(w);
	return got;
}

static const char *const effort_names[] = { "effort", "task", "root", "agent", "skill", "mode", "phase", "goal",
	"config", "metadata", "ordinal", "updated_us", "last", "last_ended", NULL };
static const char *const window_names[] = { "window", "effort", "agent", "session", "agent_id", "ended", "seen_us",
	"gone", "host", NULL };
static const char *const task_names[] = { "task", "gates", NULL };

int efforts_read(struct store *s, struct arena *a, str *ret)
{
	struct buf b = BUF_INIT(MIB(24));
	struct json_writer w = JSON_WRITER(&b);
	int r;

	jw_object(&w);
	r = write_rows(&w, "efforts",
		store_ask(s,
			"SELECT ulid_text(f.uid), f.task, f.root, f.agent, f.skill, f.mode, f.phase, f.goal, f.config, "
			"f.metadata, f.ordinal, f.updated_at, ulid_text(l.id), l.ended_at IS NOT NULL "
			"FROM efforts f LEFT JOIN effort_windows l ON l.id = (SELECT id FROM effort_windows WHERE "
			"effort = f.uid AND agent_id IS NULL ORDER BY started_at DESC, id DESC LIMIT 1) "
			"WHERE f.state = 'active' ORDER BY f.updated_at DESC LIMIT ?1",
			"i", (int64_t)EFFORT_LIVE_MAX),
		effort_names, "ssssssssjjiisb");
	/* The last window of each session, whether it has ended or not: a session may be resumed. */
	if (r == 0)
		r = write_rows(&w, "windows",
			store_ask(s,
				"SELECT ulid_text(w.id), ulid_text(w.effort), w.agent, w.session, w.agent_id, "
				"w.ended_at IS NOT NULL, coalesce(s.last_at, w.started_at), s.ended_at IS NOT NULL, "
				"iif(json_valid(s.host), s.host, NULL) "
				"FROM effort_windows w JOIN efforts f ON f.uid = w.effort LEFT JOIN sessions s ON "
				"s.key = coalesce((SELECT key FROM sessions WHERE native_id = w.session AND "
				"agent = w.agent), (SELECT max(key) FROM sessions WHERE native_id = w.session)) "
				"WHERE f.state = 'active' AND w.agent_id IS NULL AND NOT EXISTS (SELECT 1 FROM "
				"effort_windows v WHERE "
				"v.session = w.session AND v.agent = w.agent AND v.agent_id IS NULL AND v.started_at > "
				"w.started_at) ORDER BY w.started_at DESC LIMIT ?1",
				"i", (int64_t)EFFORT_WINDOWS_MAX / 2),
			window_names, "sssssbibj");
	if (r == 0)
		r = write_rows(&w, "tasks",
			store_ask(s, "SELECT path, gates FROM tasks WHERE gates IS NOT NULL LIMIT ?1", "i",
				(int64_t)TASKS_MAX),
			task_names, "sj");
	jw_end_object(&w);
	*ret = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	r = r == 0 && b.full ? -E2BIG : r;
	buf_release(&b);
	return r;
}

static void fill_effort(struct efforts *e, const struct json *row)
{
	struct ulid uid;
	struct effort *one;

	if (!ulid_parse(json_str(json_get(row, STR("effort"))), &uid))
		return;
	one = touch(e, &uid);
	take_texts(one, row);
	json_int(json_get(row, STR("updated_us")), &one->changed_us);
	one->has_last = ulid_parse(json_str(json_get(row, STR("last"))), &one->last);
	one->last_open = one->has_last && !json_true(json_get(row, STR("last_ended")));
}

/* Backwards, so that the newest ends up first. */
static void fill_from(struct efforts *e, const struct json *row,
	void (*fill)(struct efforts *e, const struct json *row), unsigned most)
{
	if (!row || !most)
		return;
	fill_from(e, row->next, fill, most - 1);
	fill(e, row);
}

void efforts_fill(struct efforts *e, const struct json *rows)
{
	struct effort_early *one;

	e->filled = true;
	e->generation++;
	fill_from(e, json_first(json_get(rows, STR("efforts"))), fill_effort, EFFORT_LIVE_MAX);
	fill_from(e, json_first(json_get(rows, STR("windows"))), windows_restore, EFFORT_WINDOWS_MAX);
	fill_from(e, json_first(json_get(rows, STR("tasks"))), take_task, TASKS_MAX);
	for (one = e->early; one; one = one->next) {
		struct arena a = { 0 };
		struct json *payload = NULL;

		if (json_parse(&a, str_of(one->payload), 0, &payload, NULL) == 0)
			efforts_apply(e, payload, one->at_us);
		arena_release(&a);
	}
	drop_early(e);
}
