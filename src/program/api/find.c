/* What a parameter names: sessions and projects as people write them. */
#include <errno.h>
#include <stdio.h>

#include "api/ops.h"
#include "base/fs.h"

enum { CANDIDATES = 4, CANDIDATE_BYTES = 40 };

/* -- rows -------------------------------------------------------------------------------------- */

void op_write_columns(struct json_writer *w, struct query *q, const struct op_column *columns)
{
	for (int i = 0; columns[i].name; i++) {
		if (!columns[i].name[0] || query_is_null(q, i))
			continue;
		jw_key(w, columns[i].name);
		switch (columns[i].type) {
		case 'i': jw_int(w, query_int(q, i)); break;
		case 'b': jw_bool(w, query_int(q, i) != 0); break;
		case 'j': jw_stored(w, query_str(q, i)); break;
		default: jw_str(w, query_str(q, i));
		}
	}
}

int op_write_rows(struct op_call *call, struct query *q, const struct op_column *columns)
{
	int got;

	while ((got = query_step(q)) == 1 && !call->w->b->full) {
		jw_object(call->w);
		op_write_columns(call->w, q, columns);
		jw_end_object(call->w);
	}
	query_reset(q);
	return got < 0 ? got : 0;
}

int op_write_list(struct op_call *call, const char *key, struct query *q, const struct op_column *columns)
{
	int r;

	jw_key(call->w, key);
	jw_array(call->w);
	r = op_write_rows(call, q, columns);
	jw_end_array(call->w);
	return r;
}

/* -- sessions ---------------------------------------------------------------------------------- */

/* A parameter that may be written as a number or as text. */
static str reference(const struct json *v)
{
	return v && (v->type == JSON_STRING || v->type == JSON_NUMBER) ? v->text : STR_NONE;
}

/* The only row, -ENOENT, or -ENOTUNIQ with what fits. Columns: key, name, what distinguishes it. */
static int take_only(struct op_call *call, struct query *q, str wanted, const char *what, const char *advice,
	int64_t *ret)
{
	struct buf list = BUF_INIT(sizeof call->err->text);
	int got, n = 0;

	while ((got = query_step(q)) == 1 && n++ <= CANDIDATES) {
		*ret = query_int(q, 0);
		if (n <= CANDIDATES)
			buf_addf(&list, "%s" STR_FMT " (" STR_FMT ", key %lld)", n > 1 ? ", " : "",
				STR_ARG(str_cut_utf8(query_str(q, 1), CANDIDATE_BYTES)),
				STR_ARG(str_cut_utf8(query_str(q, 2), CANDIDATE_BYTES)), (long long)*ret);
	}
	query_reset(q);
	if (got >= 0 && n > 1)
		err_set(call->err, -ENOTUNIQ, "'" STR_FMT "' fits several %s: " STR_FMT "%s; %s",
			STR_ARG(str_cut_utf8(wanted, CANDIDATE_BYTES)), what, STR_ARG(buf_str(&list)),
			n > CANDIDATES ? ", …" : "", advice);
	buf_release(&list);
	return got < 0 ? got : n == 1 ? 0 : n ? -ENOTUNIQ : -ENOENT;
}

int op_find_session(struct op_call *call, const struct json *given, const char *param, int64_t *ret)
{
	static const char advice[] = "give more of the id, or the key";
	str wanted = reference(given);
	int64_t key;
	int r = -ENOENT;

	if (str_empty(wanted))
		return err_set(call->err, -EINVAL, "'%s' must be a session's id, a prefix of one, or its key", param);
	/* A number is a key and nothing else; text may be any of the three. */
	if (given->type == JSON_STRING)
		r = take_only(call,
			store_ask(call->store,
				"SELECT key, native_id, agent FROM sessions WHERE native_id = ?1 LIMIT 6", "s", wanted),
			wanted, "sessions", advice, ret);
	if (r == -ENOENT && str_to_int(wanted, &key)) {
		r = store_number(call->store, ret, "SELECT key FROM sessions WHERE key = ?1", "i", key);
		r = r == 1 ? 0 : r < 0 ? r : -ENOENT;
	}
	/* The last character of Unicode sorts after everything that begins with the prefix. */
	if (r == -ENOENT && given->type == JSON_STRING)
		r = take_only(call,
			store_ask(call->store,
				"SELECT key, native_id, agent FROM sessions WHERE native_id >= ?1 "
				"AND native_id < ?1 || char(0x10FFFF) ORDER BY last_at DESC LIMIT 6",
				"s", wanted),
			wanted, "sessions", advice, ret);
	if (r == -ENOENT)
		err_set(call->err, r, "there is no session '" STR_FMT "'; list them with: hookd sessions --all",
			STR_ARG(str_cut_utf8(wanted, 100)));
	return r;
}

/* -- projects ---------------------------------------------------------------------------------- */

/* The project of the nearest directory at or above the path. */
static int find_by_path(struct op_call *call, str path, int64_t *ret)
{
	int got = 0;

	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	while (got == 0 && path.n) {
		got = store_number(call->store, ret,
			"SELECT coalesce(merged, key) FROM projects WHERE path = ?1 "
			"UNION ALL SELECT project FROM directories WHERE path = ?1 LIMIT 1",
			"s", path);
		while (path.n && path.p[path.n - 1] != '/')
			path.n--;
		if (path.n)
			path.n--;
	}
	return got == 1 ? 0 : got < 0 ? got : -ENOENT;
}

int op_find_project(struct op_call *call, const struct json *given, const char *param, int64_t *ret)
{
	str wanted = reference(given);
	int64_t key;
	int r = -ENOENT;

	if (str_empty(wanted))
		return err_set(call->err, -EINVAL, "'%s' must be a project's name, path or key", param);
	if (wanted.p[0] == '/')
		r = find_by_path(call, wanted, ret);
	/* Names of worktrees count only when no project is called so. */
	for (int pass = 0; pass < 2 && r == -ENOENT; pass++)
		r = take_only(call,
			store_ask(call->store,
				"SELECT key, path, name FROM projects WHERE name = ?1 COLLATE NOCASE AND "
				"merged IS NULL "
				"AND (parent IS NOT NULL) = ?2 LIMIT 6",
				"si", wanted, (int64_t)pass),
			wanted, "projects", "give its path or key", ret);
	if (r == -ENOENT && str_to_int(wanted, &key)) {
		r = store_number(call->store, ret, "SELECT coalesce(merged, key) FROM projects WHERE key = ?1", "i",
			key);
		r = r == 1 ? 0 : r < 0 ? r : -ENOENT;
	}
	if (r == -ENOENT)
		err_set(call->err, r, "there is no project '" STR_FMT "'; list them with: hookd project list",
			STR_ARG(str_cut_utf8(wanted, 100)));
	return r;
}

/* -- filters ----------------------------------------------------------------------------------- */

void op_read_filter(const struct op_call *call, struct op_filter *ret)
{
	*ret = (struct op_filter){
		.project = op_int(call, "project"),
		.agent = op_text(call, "agent"),
		.status = op_text(call, "status"),
		.text = op_text(call, "query"),
		.since_us = op_int(call, "since"),
		.until_us = op_has(call, "until") ? op_int(call, "until") : INT64_MAX,
		.limit = op_int(call, "limit"),
		.all = op_bool(call, "all"),
	};
}
