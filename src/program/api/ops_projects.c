/* projects: the list, and what a person may change about them. */
#include <errno.h>

#include "api/ops.h"

enum { NAME_MAX_BYTES = 200 };

#define PROJECT_SELECT                                                                                         \
	"SELECT p.key, p.name, p.named, p.path, p.created_at, count(s.key), total(s.prompts), "                \
	"total(s.tools), max(s.last_at), "                                                                     \
	"  (SELECT json_group_array(json_object('key', c.key, 'name', c.name, 'path', c.path)) FROM projects " \
	"c "                                                                                                   \
	"   WHERE c.parent = p.key AND c.merged IS NULL), "                                                    \
	"  (SELECT json_group_array(c.path) FROM projects c WHERE c.merged = p.key) "                          \
	"FROM projects p LEFT JOIN projects w ON (w.key = p.key OR w.parent = p.key) LEFT JOIN sessions s ON " \
	"s.project = w.key AND " OP_NOT_DOCTOR "WHERE p.parent IS NULL AND p.merged IS NULL AND "

static const struct op_column project_columns[] = {
	{ "key", 'i' },
	{ "name", 's' },
	{ "named", 'b' },
	{ "path", 's' },
	{ "created_us", 'i' },
	{ "sessions", 'i' },
	{ "prompts", 'i' },
	{ "tools", 'i' },
	{ "last_us", 'i' },
	{ "worktrees", 'j' },
	{ "other_paths", 'j' },
	{ 0 },
};

int op_projects(struct op_call *call)
{
	int r;

	jw_object(call->w);
	r = op_write_list(call, "projects",
		store_ask(call->store,
			PROJECT_SELECT "1 GROUP BY p.key HAVING p.named OR count(s.key) "
				       "ORDER BY max(s.last_at) DESC, p.key DESC LIMIT ?1",
			"i", op_int(call, "limit")),
		project_columns);
	jw_end_object(call->w);
	return r;
}

/* The changed project, as the list has it. */
static int write_project(struct op_call *call, int64_t key)
{
	struct query *q = store_ask(call->store,
		PROJECT_SELECT "p.key = (SELECT coalesce(parent, key) FROM projects WHERE key = ?1) GROUP BY p.key",
		"i", key);
	int got = query_step(q);

	jw_key(call->w, "project");
	jw_object(call->w);
	if (got == 1)
		op_write_columns(call->w, q, project_columns);
	query_reset(q);
	jw_end_object(call->w);
	return got < 0 ? got : 0;
}

/* -- rename ------------------------------------------------------------------------------------ */

static bool is_good_name(str name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7F)
			return false;
	return name.n <= NAME_MAX_BYTES && name.n == str_trim(name).n;
}

int op_project_rename(struct op_call *call)
{
	bool dry = op_bool(call, "dry_run");
	str name = op_text(call, "name");
	int64_t key = op_int(call, "project");
	int r = 0;

	if (!str_is_set(name) || !is_good_name(name))
		return err_set(call->err, -EINVAL,
			"'name' must be at most %d bytes, without leading or trailing blanks and without control "
			"characters",
			NAME_MAX_BYTES);
	/* A name of digits or with a slash in front could not be distinguished from a key or a path. */
	if (name.n && (name.p[0] == '/' || str_to_int(name, &(int64_t){ 0 })))
		return err_set(call->err, -EINVAL,
			"a project's name cannot be a number or begin with '/'; choose another");
	if (name.n && !dry)
		r = store_do(call->store, "UPDATE projects SET name = ?2, named = 1 WHERE key = ?1", "is", key, name);
	else if (!dry)
		/* What follows the last slash. */
		r = store_do(call->store,
			"UPDATE projects SET named = 0, "
			"name = coalesce(nullif(substr(path, length(rtrim(path, replace(path, '/', ''))) + 1), "
			"''), path) WHERE key = ?1",
			"i", key);
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_str(call->w, "name", name);
	jw_field_bool(call->w, "dry_run", dry);
	r = write_project(call, key);
	jw_end_object(call->w);
	return r;
}

/* -- merge ------------------------------------------------------------------------------------- */

/* The row of the one that goes stays as an alias: its path, and its folder when that is renamed, lead to
 * the other from now on. */
static int move_all(struct store *s, int64_t from, int64_t into)
{
	static const char *const statements[] = {
		"UPDATE projects SET parent = NULL WHERE key = ?2 AND parent = ?1",
		"UPDATE projects SET parent = coalesce((SELECT parent FROM projects WHERE key = ?2), ?2) WHERE "
		"parent = ?1 AND key <> ?2",
		"UPDATE projects SET merged = ?2 WHERE merged = ?1",
		"UPDATE projects SET merged = ?2, parent = NULL WHERE key = ?1",
		"UPDATE directories SET project = ?2 WHERE project = ?1",
		"UPDATE sessions SET project = ?2 WHERE project = ?1",
		"UPDATE efforts SET project = ?2 WHERE project = ?1",
		"UPDATE tasks SET project = ?2 WHERE project = ?1",
		"UPDATE OR IGNORE memories SET project = coalesce((SELECT parent FROM projects WHERE key = ?2), ?2), "
		"change = (SELECT coalesce(max(seq), 0) FROM events) WHERE project = ?1",
	};
	int r = 0;

	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = store_do(s, statements[i], "ii", from, into);
	return r;
}

int op_project_merge(struct op_call *call)
{
	bool dry = op_bool(call, "dry_run");
	int64_t from = op_int(call, "from"), into = op_int(call, "into"), sessions = 0, directories = 0;
	int r;

	if (from == into)
		return err_set(call->err, -EINVAL, "both names refer to the same project; nothing to merge");
	r = store_number(call->store, &sessions,
		"SELECT count(*) FROM sessions WHERE project IN (SELECT key FROM projects WHERE key = ?1 OR "
		"parent = ?1)",
		"i", from);
	if (r >= 0)
		r = store_number(call->store, &directories, "SELECT count(*) FROM directories WHERE project = ?1", "i",
			from);
	if (r >= 0)
		r = dry ? 0 : move_all(call->store, from, into);
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_int(call->w, "sessions_moved", sessions);
	jw_field_int(call->w, "directories_moved", directories);
	jw_field_bool(call->w, "dry_run", dry);
	r = write_project(call, into);
	jw_end_object(call->w);
	return r;
}
