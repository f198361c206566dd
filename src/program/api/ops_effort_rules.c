/* What a project asks of an effort: directives, checklists; and tasks. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/efforting.h"
#include "project/project.h"

enum { LOOK_MS = 300, MESSAGES_SHOWN = 200, KEYWORDS_MAX = 20 };

#define PAYLOAD(b, w)                           \
	struct buf b = BUF_INIT(LIMIT_PAYLOAD); \
	struct json_writer w = JSON_WRITER(&b)

/* -- directives -------------------------------------------------------------------------------- */

/* Of a folder, for people and for agents that ask. Nothing is kept. */
int op_discover(struct op_call *call)
{
	str dir = op_text(call, "dir");
	struct project p;
	struct effort_discovery q;
	char shown[NAME_SHOWN];
	int r;

	if (str_empty(dir))
		dir = op_text(call, "cwd");
	if (str_empty(dir) || dir.p[0] != '/')
		return err_set(call->err, -EINVAL, "'dir' must be the absolute path of a directory");
	r = project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, LOOK_MS, &p);
	if (r < 0)
		return err_set(call->err, r, "the directory %s cannot be read: %s", name_shown(dir, shown),
			strerror(-r));
	q = (struct effort_discovery){ .dir = p.directory,
		.root = p.root,
		.agent = op_text(call, "agent"),
		.also = op_json(call, "names"),
		.checklists = true };
	jw_object(call->w);
	jw_field_str(call->w, "root", str_of(p.root));
	jw_key(call->w, "directives");
	jw_array(call->w);
	for (struct effort_found *f = effort_discover(&q, call->arena); f; f = f->next) {
		str text, hash;

		if (effort_file_read(f->path.p, EFFORT_TEXT_MAX, call->arena, &text, &hash) < 0)
			continue;
		jw_object(call->w);
		jw_field_str(call->w, "path", f->path);
		jw_field_str(call->w, "hash", hash);
		if (op_bool(call, "texts"))
			jw_field_str(call->w, "text", text);
		jw_end_object(call->w);
	}
	jw_end_array(call->w);
	jw_end_object(call->w);
	return 0;
}

/* -- checklists -------------------------------------------------------------------------------- */

static int list_checklists(struct effort_change *c)
{
	struct query *q = store_ask(c->call.store,
		"SELECT path, processed, proof FROM effort_directives WHERE effort = ?1 AND path GLOB '*CHECKLIST.md' "
		"ORDER BY path",
		"b", c->effort.uid.b, (size_t)ULID_BYTES);
	int got;

	jw_key(&c->w, "checklists");
	jw_array(&c->w);
	while ((got = query_step(q)) == 1) {
		str path = arena_str(c->call.arena, query_str(q, 0)), text, hash;
		bool read = effort_file_read(path.p, EFFORT_TEXT_MAX, c->call.arena, &text, &hash) == 0;

		jw_object(&c->w);
		jw_field_str(&c->w, "path", path);
		jw_field_bool(&c->w, "processed", read && str_eq(hash, query_str(q, 1)));
		jw_field_bool(&c->w, "unreadable", !read);
		if (!query_is_null(q, 2))
			jw_field_str(&c->w, "proof", query_str(q, 2));
		if (read)
			jw_field_str(&c->w, "text", text);
		jw_end_object(&c->w);
	}
	query_reset(q);
	jw_end_array(&c->w);
	return MIN(got, 0);
}

/* A checklist is worked through as it is now: when it changes, it is open again. */
static int process_checklist(struct effort_change *c)
{
	struct op_call *call = &c->call;
	str file = op_text(call, "file"), text, hash;
	char real[PATH_MAX], shown[NAME_SHOWN];
	PAYLOAD(b, w);
	int r;

	if (str_empty(file) || file.p[0] != '/' || !realpath(arena_cstr(call->arena, file), real))
		return err_set(call->err, -ENOENT, "there is no file %s", name_shown(file, shown));
	if (!str_ends(str_of(real), STR("CHECKLIST.md")))
		return err_set(call->err, -EINVAL, "%s is not a CHECKLIST.md", name_shown(file, shown));
	r = effort_file_read(real, 0, call->arena, &text, &hash);
	if (r < 0)
		return err_set(call->err, r, "%s cannot be read: %s", name_shown(file, shown), strerror(-r));
	effort_open(&w, &c->effort.uid, EFFORT_OP_DIRECTIVE);
	jw_field_str(&w, "path", str_of(real));
	jw_field_str(&w, "hash", hash);
	jw_field_str(&w, "processed", hash);
	jw_field_str(&w, "proof", op_text(call, "proof"));
	change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	return 0;
}

static int prepare_checklist(struct effort_change *c)
{
	int r = effort_resolve_active(&c->call, &c->effort);

	if (r < 0)
		return r;
	jw_object(&c->w);
	effort_write_head(&c->w, &c->effort);
	r = op_has(&c->call, "proof") ? process_checklist(c) : list_checklists(c);
	jw_end_object(&c->w);
	return r;
}

int op_effort_checklist(struct op_call *call)
{
	int r = effort_check_text(call, "proof");

	if (r == 0 && op_has(call, "proof") && str_empty(str_trim(op_text(call, "proof"))))
		r = err_set(call->err, -EINVAL, "'proof' is empty; say what was done for each item of the list");
	return r < 0 ? r : change_submit(call, prepare_checklist, NULL);
}

/* -- tasks ------------------------------------------------------------------------------------- */

static const struct op_column task_columns[] = {
	{ "task", 's' },
	{ "title", 's' },
	{ "text", 's' },
	{ "keywords", 'j' },
	{ "gates", 'j' },
	{ "project", 's' },
	{ "efforts", 'i' },
	{ "active", 'i' },
	{ "state", 's' },
	{ "created_us", 'i' },
	{ "updated_us", 'i' },
	{ 0 },
};

/* Dormant: none of its efforts is active. It never ends. */
#define TASK_SELECT                                                                                                \
	"SELECT t.path, t.title, t.text, t.keywords, t.gates, p.name, (SELECT count(*) FROM efforts WHERE task = " \
	"t.path), (SELECT count(*) FROM efforts WHERE task = t.path AND state = 'active') AS active, "             \
	"iif(EXISTS (SELECT 1 FROM efforts WHERE task = t.path AND state = 'active'), 'active', 'dormant'), "      \
	"t.created_at, max(t.updated_at, coalesce((SELECT max(updated_at) FROM efforts WHERE task = t.path), 0)) " \
	"AS updated FROM tasks t LEFT JOIN projects p ON p.key = t.project "

int op_tasks(struct op_call *call)
{
	int r;

	jw_object(call->w);
	r = op_write_list(call, "tasks",
		store_ask(call->store,
			TASK_SELECT
			"WHERE (?1 IS NULL OR t.project IN (SELECT key FROM projects WHERE key = ?1 OR parent = "
			"?1)) ORDER BY updated DESC, t.path LIMIT ?2",
			"ki", op_int(call, "project"), op_int(call, "limit")),
		task_columns);
	jw_end_object(call->w);
	return r;
}

static int write_task_efforts(struct op_call *call, str path)
{
	static const struct op_column columns[] = { { "effort", 's' }, { "ordinal", 'i' }, { "skill", 's' },
		{ "state", 's' }, { "phase", 's' }, { "goal", 's' }, { "result", 's' }, { "updated_us", 'i' }, { 0 } };

	return op_write_list(call, "history",
		store_ask(call->store,
			"SELECT ulid_text(uid), ordinal, skill, state, phase, goal, result, updated_at FROM efforts "
			"WHERE task = "
			"?1 ORDER BY ordinal DESC LIMIT ?2",
			"si", path, (int64_t)MESSAGES_SHOWN),
		columns);
}

/* The task of a directory: itself, or the nearest above it. */
int op_task(struct op_call *call)
{
	str dir = op_text(call, "task"), path = STR_NONE;
	char shown[NAME_SHOWN];
	struct query *q;
	int r;

	if (str_empty(dir))
		dir = op_text(call, "cwd");
	q = store_ask(call->store,
		TASK_SELECT "WHERE ?1 = t.path OR substr(?1, 1, length(t.path) + 1) = t.path || '/' ORDER BY "
			    "length(t.path) DESC LIMIT 1",
		"s", dir);
	r = query_step(q);
	jw_object(call->w);
	if (r == 1) {
		path = arena_str(call->arena, query_str(q, 0));
		op_write_columns(call->w, q, task_columns);
	}
	query_reset(q);
	if (r == 0)
		return err_set(call->err, -ENOENT, "there is no task in %s; one begins with its first effort",
			name_shown(dir, shown));
	if (r == 1)
		r = write_task_efforts(call, path);
	jw_end_object(call->w);
	return r;
}

static int check_task(struct op_call *call)
{
	struct effort_gates gates = { 0 };
	size_t n = 0;

	json_each(k, op_json(call, "keywords"))
		n += json_str(k).n <= EFFORT_NAME_MAX ? 1 : KEYWORDS_MAX + 1;
	if (n > KEYWORDS_MAX)
		return err_set(call->err, -EINVAL, "'keywords' may be %d words of %d bytes each", KEYWORDS_MAX,
			EFFORT_NAME_MAX);
	if (!op_has(call, "title") && !op_has(call, "text") && !op_has(call, "keywords") && !op_has(call, "gates"))
		return err_set(call->err, -EINVAL, "say what is to be changed: title, text, keywords or gates");
	return effort_gates_read(op_json(call, "gates"), &gates, call->err);
}

static int prepare_task(struct effort_change *c)
{
	struct op_call *call = &c->call;
	static const char *const trees[] = { "keywords", "gates" };
	str dir = op_text(call, "task");
	char shown[NAME_SHOWN];
	struct project p;
	PAYLOAD(b, w);
	int r;

	if (str_empty(dir))
		dir = op_text(call, "cwd");
	if (str_empty(dir) || dir.p[0] != '/')
		return err_set(call->err, -EINVAL, "'task' must be the absolute path of a directory");
	r = project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, LOOK_MS, &p);
	if (r < 0)
		return err_set(call->err, r, "the directory %s cannot be read: %s", name_shown(dir, shown),
			strerror(-r));
	effort_open(&w, NULL, EFFORT_OP_TASK);
	jw_field_str(&w, "task", str_of(p.directory));
	if (op_has(call, "title"))
		jw_field_str(&w, "title", op_text(call, "title"));
	if (op_has(call, "text"))
		jw_field_str(&w, "text", op_text(call, "text"));
	for (size_t i = 0; i < countof(trees); i++)
		if (op_json(call, trees[i])) {
			jw_key(&w, trees[i]);
			jw_value(&w, op_json(call, trees[i]));
		}
	change_add(c, NULL, effort_close(call, &b, &w));
	jw_object(&c->w);
	jw_field_str(&c->w, "task", str_of(p.directory));
	jw_end_object(&c->w);
	return 0;
}

int op_task_change(struct op_call *call)
{
	int r = effort_check_text(call, "title");

	if (r == 0)
		r = effort_check_text(call, "text");
	if (r == 0)
		r = check_task(call);
	return r < 0 ? r : change_submit(call, prepare_task, NULL);
}

/* -- skills ------------------------------------------------------------------------------------ */

int op_skill(struct op_call *call)
{
	str name = op_text(call, "skill"), path, config;
	char shown[NAME_SHOWN];
	struct project p = { .root = "" };
	str dir = op_text(call, "cwd");
	int r;

	if (dir.n && dir.p[0] == '/')
		(void)project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, LOOK_MS, &p);
	r = effort_skill_find(engine_skills(call->ctx->engine), p.root, call->ctx->paths->home, name, call->arena,
		&path, &config);
	if (r == -ENOENT || r == -EINVAL)
		return err_set(call->err, r,
			"there is no skill '%s'; skills are in .hookd/skills/<name>/SKILL.md or "
			".claude/skills/<name>/SKILL.md, "
			"of the project or of your home",
			name_shown(name, shown));
	if (r < 0)
		return err_set(call->err, r, "the skill '%s' cannot be read: %s", name_shown(name, shown),
			strerror(-r));
	jw_object(call->w);
	jw_field_str(call->w, "file", path);
	jw_key(call->w, "config");
	jw_raw(call->w, config);
	jw_end_object(call->w);
	return 0;
}
