/* Efforts and tasks: beginning them, going from phase to phase, ending them; lists and details. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/efforting.h"
#include "project/project.h"

enum { LOOK_MS = 300, PHASES_SHOWN = 200 };

/* -- small things ------------------------------------------------------------------------------ */

int effort_check_name(struct op_call *call, const char *param, bool needed)
{
	str given = op_text(call, param);
	char shown[NAME_SHOWN];

	if ((str_empty(given) && !needed) || effort_is_name(given))
		return 0;
	return err_set(call->err, -EINVAL,
		"'%s' cannot be '%s'; it is made of letters, digits, '-' and '_', at most %d", param,
		name_shown(given, shown), EFFORT_NAME_MAX);
}

int effort_check_text(struct op_call *call, const char *param)
{
	size_t n = op_text(call, param).n;

	return n <= EFFORT_TEXT_MAX ? 0
				    : err_set(call->err, -EINVAL, "'%s' has %zu bytes; at most %d are kept: shorten it",
					      param, n, EFFORT_TEXT_MAX);
}

int effort_check_json(struct op_call *call, const char *param)
{
	const struct json *v = op_json(call, param);

	return !v || v->end - v->begin <= EFFORT_JSON_MAX
		? 0
		: err_set(call->err, -EINVAL, "'%s' has %u bytes; at most %d are kept", param, v->end - v->begin,
			  EFFORT_JSON_MAX);
}

str effort_close(struct op_call *call, struct buf *b, struct json_writer *w)
{
	str text;

	jw_end_object(w);
	text = arena_str(call->arena, buf_str(b));
	buf_release(b);
	return text;
}

struct json *effort_parse(struct op_call *call, str text)
{
	struct json *v = NULL;

	return str_empty(text) || json_parse(call->arena, text, 0, &v, NULL) < 0 ? NULL : v;
}

/* -- start ------------------------------------------------------------------------------------- */

/* The directory that was named, else the root of the project around the caller. */
static int find_task(struct effort_change *c, str *ret, str *ret_root)
{
	struct op_call *call = &c->call;
	str given = op_text(call, "task"), dir = str_empty(given) ? op_text(call, "cwd") : given;
	char shown[NAME_SHOWN];
	struct project p;
	struct stat st;
	int r;

	if (str_empty(dir) || dir.p[0] != '/')
		return err_set(call->err, -EINVAL, "'%s' must be the absolute path of a directory",
			str_empty(given) ? "cwd" : "task");
	r = project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, LOOK_MS, &p);
	if (r < 0)
		return err_set(call->err, r, "the directory %s cannot be read: %s", name_shown(dir, shown),
			strerror(-r));
	if (!str_empty(given) && (stat(arena_cstr(call->arena, dir), &st) < 0 || !S_ISDIR(st.st_mode)))
		return err_set(call->err, -ENOENT, "there is no directory %s; make it first", name_shown(dir, shown));
	*ret = arena_str(call->arena, str_of(str_empty(given) ? p.root : p.directory));
	*ret_root = arena_str(call->arena, str_of(p.root));
	return 0;
}

static int check_phases(struct op_call *call, const struct json *list)
{
	struct effort_phase phase;
	size_t n = 0;
	int r = 0;

	json_each(item, list) {
		if (r == 0)
			r = effort_phase_parse(json_str(item), &phase, call->err);
		n++;
	}
	if (r == 0 && n > EFFORT_PHASES_MAX)
		return err_set(call->err, -EINVAL, "%zu phases are too many; at most %d", n, EFFORT_PHASES_MAX);
	return r;
}

/* What the skill says, with the phases that were given in the place of its own. */
static int take_skill(struct effort_change *c, struct effort_state *s)
{
	struct op_call *call = &c->call;
	struct effort_gates gates = { 0 };
	struct buf b = BUF_INIT(2 * EFFORT_JSON_MAX);
	struct json_writer w = JSON_WRITER(&b);
	str path = STR_NONE, config = STR_NONE;
	struct json *said;
	char shown[NAME_SHOWN];
	int r = effort_skill_find(engine_skills(call->ctx->engine), arena_cstr(call->arena, s->root),
		call->ctx->paths->home, s->skill, call->arena, &path, &config);

	if (r < 0 && r != -ENOENT)
		return err_set(call->err, r, "the skill %s cannot be read: %s", name_shown(path, shown), strerror(-r));
	said = effort_parse(call, config);
	r = effort_gates_read(json_get(said, STR("gates")), &gates, call->err);
	if (r < 0)
		return r;
	jw_object(&w);
	jw_field_str(&w, "file", path);
	if (op_json(call, "phases")) {
		jw_key(&w, "phases");
		jw_value(&w, op_json(call, "phases"));
	}
	json_each(m, said) {
		if (str_eq(m->key, STR("phases")) && op_json(call, "phases"))
			continue;
		jw_key_str(&w, m->key);
		jw_value(&w, m);
	}
	jw_end_object(&w);
	s->config = b.len > 2 ? arena_str(call->arena, buf_str(&b)) : STR_NONE;
	buf_release(&b);
	return 0;
}

/* Gates and rules are checked where somebody can be told. */
int effort_check_metadata(struct op_call *call, const struct json *metadata)
{
	struct effort_gates gates = { 0 };
	struct effort_rules *rules = NULL;
	int r = effort_gates_read(json_get(metadata, STR("gates")), &gates, call->err);

	if (r == 0)
		r = effort_rules_parse(json_get(metadata, STR("rules")), &rules, call->err);
	effort_rules_free(rules);
	return r;
}

static void write_start(struct json_writer *w, const struct op_call *call, const struct effort_state *s)
{
	effort_open(w, &s->uid, EFFORT_OP_START);
	jw_field_str(w, "task", s->task);
	jw_field_str(w, "root", s->root);
	jw_field_int(w, "ordinal", s->ordinal);
	jw_field_str(w, "skill", s->skill);
	jw_field_str(w, "mode", s->mode);
	jw_field_str(w, "agent", s->agent);
	jw_field_str(w, "goal", s->goal);
	jw_field_str(w, "session", op_text(call, "session"));
	if (str_is_set(s->config)) {
		jw_key(w, "config");
		jw_raw(w, s->config);
	}
	if (op_json(call, "metadata")) {
		jw_key(w, "metadata");
		jw_value(w, op_json(call, "metadata"));
	}
}

static int check_mode(struct effort_change *c, const struct effort_state *s)
{
	const struct json *modes = json_get(effort_parse(&c->call, s->config), STR("modes"));
	char shown[NAME_SHOWN], one[NAME_SHOWN], list[200] = "";

	if (str_empty(s->mode) || !json_first(modes))
		return 0;
	json_each(m, modes) {
		if (str_eq_name(json_str(m), s->mode))
			return 0;
		if (strlen(list) < sizeof list - NAME_SHOWN - 4)
			snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "",
				name_shown(json_str(m), one));
	}
	return err_set(c->call.err, -EINVAL, "the skill has no mode '%s'; it has: %s", name_shown(s->mode, shown),
		list);
}

static int prepare_start(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct effort_state *s = &c->effort;
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	int r;

	*s = (struct effort_state){ .uid = ulid_make(),
		.skill = op_text(call, "skill"),
		.mode = op_text(call, "mode"),
		.agent = op_text(call, "agent"),
		.goal = op_text(call, "goal"),
		.active = true };
	r = find_task(c, &s->task, &s->root);
	if (r == 0)
		r = take_skill(c, s);
	if (r == 0)
		r = check_mode(c, s);
	if (r == 0)
		r = MIN(0,
			store_number(call->store, &s->ordinal,
				"SELECT coalesce(max(ordinal), 0) + 1 FROM efforts WHERE task = ?1", "s", s->task));
	if (r < 0)
		return r;
	write_start(&w, call, s);
	change_add(c, &s->uid, effort_close(call, &b, &w));
	jw_object(&c->w);
	effort_write_head(&c->w, s);
	if (str_is_set(s->config)) {
		jw_key(&c->w, "config");
		jw_raw(&c->w, s->config);
	}
	jw_end_object(&c->w);
	return 0;
}

int op_effort_start(struct op_call *call)
{
	int r = effort_check_name(call, "skill", true);

	if (r == 0)
		r = effort_check_name(call, "mode", false);
	if (r == 0)
		r = effort_check_name(call, "agent", false);
	if (r == 0)
		r = effort_check_text(call, "goal");
	if (r == 0)
		r = effort_check_json(call, "metadata");
	if (r == 0)
		r = effort_check_metadata(call, op_json(call, "metadata"));
	if (r == 0)
		r = check_phases(call, op_json(call, "phases"));
	return r < 0 ? r : change_submit(call, prepare_start, NULL);
}

/* -- phase ------------------------------------------------------------------------------------- */

static const char *const step_names[] = { [EFFORT_STEP_SAME] = "same",
	[EFFORT_STEP_NEXT] = "next",
	[EFFORT_STEP_ADDED] = "added",
	[EFFORT_STEP_SKIPPED] = "skipped",
	[EFFORT_STEP_BACK] = "back" };

static void write_phase(struct json_writer *w, const struct op_call *call, const struct effort_state *s)
{
	effort_open(w, &s->uid, EFFORT_OP_PHASE);
	jw_field_str(w, "phase", s->phase);
	jw_field_str(w, "reason", op_text(call, "reason"));
	if (op_json(call, "proof")) {
		jw_key(w, "proof");
		jw_value(w, op_json(call, "proof"));
	}
}

static int prepare_phase(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct effort_state *s = &c->effort;
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	enum effort_step step;
	str before;
	int r = effort_resolve_active(call, s);

	before = s->phase;
	if (r == 0)
		r = effort_phase_enter(json_get(effort_parse(call, s->config), STR("phases")), s->phase,
			op_text(call, "phase"), op_text(call, "reason"), &step, &s->phase, call->err);
	if (r < 0)
		return r;
	if (step != EFFORT_STEP_SAME) {
		write_phase(&w, call, s);
		change_add(c, &s->uid, effort_close(call, &b, &w));
	}
	jw_object(&c->w);
	effort_write_head(&c->w, s);
	jw_field_str(&c->w, "step", str_of(step_names[step]));
	jw_field_str(&c->w, "before", before);
	jw_end_object(&c->w);
	return 0;
}

int op_effort_phase(struct op_call *call)
{
	int r = effort_check_text(call, "reason");

	if (r == 0)
		r = effort_check_json(call, "proof");
	return r < 0 ? r : change_submit(call, prepare_phase, NULL);
}

/* -- finish ------------------------------------------------------------------------------------ */

static int refuse_open(struct op_call *call, str open, int unread)
{
	char shown[NAME_SHOWN];

	if (unread < 0)
		return err_set(call->err, -EPERM,
			"the checklist %s cannot be read (%s), so nobody knows what it asks; put it back and work "
			"through it, or, if nothing is asked any more: hookd effort gate checklists off",
			name_shown(open, shown), strerror(-unread));
	return err_set(call->err, -EPERM,
		"the checklist %s is not worked through yet; do what it says, then: hookd effort checklist %s --proof "
		"TEXT",
		name_shown(open, shown), shown);
}

/* A checklist that was found and not worked through as it is now, or that is there no more. */
static int check_checklists(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct effort_gates gates = { 0 };
	struct query *q;
	str open = STR_NONE;
	int got, unread = 0;

	(void)effort_gates_read(json_get(effort_parse(call, c->effort.config), STR("gates")), &gates, NULL);
	(void)effort_gates_read(json_get(effort_parse(call, c->effort.metadata), STR("gates")), &gates, NULL);
	if (!gates.checklists)
		return 0;
	q = store_ask(call->store,
		"SELECT path, processed FROM effort_directives WHERE effort = ?1 AND path GLOB '*CHECKLIST.md' ORDER "
		"BY path",
		"b", c->effort.uid.b, (size_t)ULID_BYTES);
	while ((got = query_step(q)) == 1 && str_empty(open)) {
		str path = arena_str(call->arena, query_str(q, 0)), text, hash;

		unread = effort_file_read(path.p, 0, call->arena, &text, &hash);
		if (unread < 0 || !str_eq(hash, query_str(q, 1)))
			open = path;
	}
	query_reset(q);
	if (got < 0 || str_empty(open))
		return MIN(got, 0);
	return refuse_open(call, open, unread);
}

static int prepare_finish(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	int r = effort_resolve_active(call, &c->effort);

	if (r == 0)
		r = check_checklists(c);
	if (r < 0)
		return r;
	effort_open(&w, &c->effort.uid, EFFORT_OP_FINISH);
	jw_field_str(&w, "result", op_text(call, "result"));
	change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	c->effort.active = false;
	jw_object(&c->w);
	effort_write_head(&c->w, &c->effort);
	jw_end_object(&c->w);
	return 0;
}

int op_effort_finish(struct op_call *call)
{
	int r = effort_check_text(call, "result");

	return r < 0 ? r : change_submit(call, prepare_finish, NULL);
}

/* -- reading ----------------------------------------------------------------------------------- */

static const struct op_column effort_columns[] = {
	{ "effort", 's' },
	{ "task", 's' },
	{ "ordinal", 'i' },
	{ "skill", 's' },
	{ "mode", 's' },
	{ "agent", 's' },
	{ "state", 's' },
	{ "phase", 's' },
	{ "goal", 's' },
	{ "result", 's' },
	{ "project", 's' },
	{ "created_us", 'i' },
	{ "updated_us", 'i' },
	{ "finished_us", 'i' },
	{ 0 },
};

#define EFFORT_SELECT                                                                                                \
	"SELECT ulid_text(f.uid), f.task, f.ordinal, f.skill, f.mode, f.agent, f.state, f.phase, f.goal, f.result, " \
	"p.name, f.created_at, f.updated_at, f.finished_at FROM efforts f LEFT JOIN projects p ON p.key = f.project "

int op_efforts(struct op_call *call)
{
	int r;

	jw_object(call->w);
	r = op_write_list(call, "efforts",
		store_ask(call->store,
			EFFORT_SELECT
			"WHERE (?1 OR f.state = 'active') AND (?2 IS NULL OR f.project IN (SELECT key FROM projects "
			"WHERE "
			"key = ?2 OR parent = ?2)) AND (?3 IS NULL OR f.agent = ?3) AND (?4 IS NULL OR f.task = ?4) "
			"ORDER BY f.created_at DESC, f.uid DESC LIMIT ?5",
			"ikssi", (int64_t)op_bool(call, "all"), op_int(call, "project"), op_text(call, "agent"),
			op_text(call, "task"), op_int(call, "limit")),
		effort_columns);
	jw_end_object(call->w);
	return r;
}

static int write_phases(struct op_call *call, const struct ulid *uid)
{
	static const struct op_column columns[] = { { "n", 'i' }, { "phase", 's' }, { "reason", 's' }, { "proof", 'j' },
		{ "at_us", 'i' }, { 0 } };

	return op_write_list(call, "history",
		store_ask(call->store,
			"SELECT n, label, reason, proof, at FROM effort_phases WHERE effort = ?1 ORDER BY n DESC LIMIT "
			"?2",
			"bi", uid->b, (size_t)ULID_BYTES, (int64_t)PHASES_SHOWN),
		columns);
}

static int write_lists(struct op_call *call, const struct ulid *uid)
{
	static const struct op_column artifacts[] = { { "type", 's' }, { "path", 's' }, { "at_us", 'i' }, { 0 } };
	static const struct op_column directives[] = { { "path", 's' }, { "processed", 'b' }, { "proof", 's' },
		{ "at_us", 'i' }, { 0 } };
	static const struct op_column windows[] = { { "window", 's' }, { "agent", 's' }, { "session", 's' },
		{ "agent_id", 's' }, { "previous", 's' }, { "source", 's' }, { "started_us", 'i' }, { "ended_us", 'i' },
		{ "end_reason", 's' }, { "checkpoint", 'j' }, { 0 } };
	static const struct op_column loads[] = { { "path", 's' }, { "at_us", 'i' }, { 0 } };
	static const struct op_column messages[] = { { "kind", 's' }, { "phase", 's' }, { "text", 's' },
		{ "data", 'j' }, { "at_us", 'i' }, { 0 } };
	static const struct {
		const char *name, *sql;
		const struct op_column *columns;
	} lists[] = {
		{ "artifacts", "SELECT type, path, at FROM effort_artifacts WHERE effort = ?1 ORDER BY type LIMIT ?2",
			artifacts },
		{ "directives",
			"SELECT path, processed IS NOT NULL, proof, at FROM effort_directives WHERE effort = ?1 ORDER "
			"BY path "
			"LIMIT ?2",
			directives },
		{ "windows",
			"SELECT ulid_text(id), agent, session, agent_id, ulid_text(previous), source, started_at, "
			"ended_at, "
			"end_reason, checkpoint FROM effort_windows WHERE effort = ?1 ORDER BY started_at DESC, id "
			"DESC LIMIT ?2",
			windows },
		{ "loads", "SELECT path, at FROM effort_loads WHERE effort = ?1 ORDER BY at DESC, path LIMIT ?2",
			loads },
		{ "messages",
			"SELECT kind, phase, text, data, at FROM effort_messages WHERE effort = ?1 ORDER BY key DESC "
			"LIMIT ?2",
			messages },
	};
	int r = 0;

	for (size_t i = 0; i < countof(lists) && r >= 0; i++)
		r = op_write_list(call, lists[i].name,
			store_ask(call->store, lists[i].sql, "bi", uid->b, (size_t)ULID_BYTES, (int64_t)PHASES_SHOWN),
			lists[i].columns);
	return r;
}

int op_effort(struct op_call *call)
{
	struct json_writer *w = call->w;
	struct effort_state s;
	struct query *q;
	int r = effort_resolve(call, &s);

	if (r < 0)
		return r;
	q = store_ask(call->store, EFFORT_SELECT "WHERE f.uid = ?1", "b", s.uid.b, (size_t)ULID_BYTES);
	r = query_step(q);
	jw_object(w);
	if (r == 1)
		op_write_columns(w, q, effort_columns);
	query_reset(q);
	if (str_is_set(s.config)) {
		jw_key(w, "config");
		jw_stored(w, s.config);
	}
	if (str_is_set(s.metadata)) {
		jw_key(w, "metadata");
		jw_stored(w, s.metadata);
	}
	if (str_is_set(s.checkpoint)) {
		jw_key(w, "checkpoint");
		jw_stored(w, s.checkpoint);
	}
	if (r >= 0)
		r = write_phases(call, &s.uid);
	if (r >= 0)
		r = write_lists(call, &s.uid);
	jw_end_object(w);
	return MIN(r, 0);
}
