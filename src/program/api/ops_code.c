/* Code for people and agents: pieces that fit a text, definitions by name, the map of a repository. */
#include "api/ops_code.h"

#include <errno.h>
#include <stdio.h>

#include "api/ops.h"
#include "project/project.h"

enum { HITS_MAX = 100, FIND_MS = 1000 };

#define HIT_MEMBERS                                                                                            \
	{ "id", 's' }, { "path", 's' }, { "line", 'i' }, { "lines", 'i' }, { "symbol", 's' }, { "kind", 's' }, \
		{ "class", 's' },                                                                              \
	{                                                                                                      \
		"language", 's'                                                                                \
	}

const struct op_column op_code_result[] = {
	{ "root", 's' },
	{ "indexed", 'b' },
	{ "hits", 'l',
		(const struct op_column[]){ HIT_MEMBERS, { "score", 'n' }, { "confidence", 'n' }, { "text", 's' },
			{ 0 } } },
	{ 0 },
};
const struct op_column op_symbols_result[] = {
	{ "root", 's' },
	{ "indexed", 'b' },
	{ "symbols", 'l', (const struct op_column[]){ HIT_MEMBERS, { 0 } } },
	{ 0 },
};
const struct op_column op_map_result[] = { { "root", 's' }, { "indexed", 'b' }, { "text", 's' }, { "tokens", 'i' },
	{ 0 } };
const struct op_column op_index_status_result[] = { { "root", 's' }, { "indexed", 'b' }, { "running", 'b' },
	{ "files", 'i' }, { "pieces", 'i' }, { "symbols", 'i' }, { "vectors", 'i' }, { "skipped", 'i' },
	{ "updated_us", 'i' }, { "done", 'i' }, { "all", 'i' }, { "scans", 'i' }, { 0 } };

/* -- which repository -------------------------------------------------------------------------- */

/* The path of a row of projects. */
static int path_of(struct op_call *call, int64_t key, char ret[FS_PATH])
{
	struct query *q = store_ask(call->store, "SELECT path FROM projects WHERE key = ?1", "i", key);
	int got = query_step(q);

	if (got == 1)
		snprintf(ret, FS_PATH, STR_FMT, STR_ARG(query_str(q, 0)));
	query_reset(q);
	return got < 0 ? got : got ? 0 : -ENOENT;
}

static int root_of_directory(struct op_call *call, str dir, char ret[FS_PATH])
{
	struct project p;
	int r = project_find_within(arena_cstr(call->arena, dir), call->ctx->paths->home, FIND_MS, &p);

	if (r == 0)
		snprintf(ret, FS_PATH, "%s", p.root);
	return r;
}

int op_root_of(struct op_call *call, str wanted, char ret[FS_PATH])
{
	struct json name = { .type = JSON_STRING, .text = wanted };
	int64_t key = 0;
	int r;

	ret[0] = 0;
	if (!str_empty(wanted) && wanted.p[0] == '/')
		return root_of_directory(call, wanted, ret);
	if (str_empty(wanted))
		r = store_number(call->store, &key,
			"SELECT project FROM sessions WHERE project IS NOT NULL ORDER BY last_at DESC LIMIT 1", "");
	else
		r = op_find_project(call, &name, "project", &key);
	return r < 0 ? r : path_of(call, key, ret);
}

static int take_root(struct op_call *call, char ret[FS_PATH])
{
	int r = op_root_of(call, op_text(call, "project"), ret);

	if (r == -ENOENT && !call->err->text[0])
		err_set(call->err, r, "say in which project: its directory or its name");
	return r;
}

static void write_root(struct op_call *call, const char *root)
{
	struct code_status s;

	(void)code_status(call->ctx->code, root, &s);
	jw_field_str(call->w, "root", str_of(root));
	jw_field_bool(call->w, "indexed", s.exists);
}

/* -- hits -------------------------------------------------------------------------------------- */

void op_write_code_hit(struct op_call *call, const struct code_hit *h)
{
	jw_field_str(call->w, "id",
		arena_strf(call->arena, STR_FMT ":%u-%u", STR_ARG(h->path), h->line, h->line + MAX(h->lines, 1u) - 1));
	jw_field_str(call->w, "path", h->path);
	jw_field_int(call->w, "line", h->line);
	jw_field_int(call->w, "lines", h->lines);
	if (!str_empty(h->symbol))
		jw_field_str(call->w, "symbol", h->symbol);
	jw_field_str(call->w, "kind", str_of(chunk_kind_name(h->kind)));
	jw_field_str(call->w, "class", str_of(file_class_name(h->class)));
	jw_field_str(call->w, "language", str_of(language_name(h->language)));
}

str op_read_code(struct op_call *call, const char *root, const struct code_hit *h, unsigned lines)
{
	str text = STR_NONE;

	return lines && code_read(call->ctx->code, root, h, lines, call->arena, &text) == 0 ? text : STR_NONE;
}

/* path:first-last */
static bool parse_place(str id, str *ret_path, unsigned *ret_first, unsigned *ret_last)
{
	size_t at = id.n;
	char numbers[24];
	int end = 0;

	while (at > 0 && id.p[at - 1] != ':')
		at--;
	if (at < 2 || id.n - at >= sizeof numbers)
		return false;
	snprintf(numbers, sizeof numbers, STR_FMT, STR_ARG(str_from(id, at)));
	*ret_path = str_head(id, at - 1);
	return sscanf(numbers, "%6u-%6u%n", ret_first, ret_last, &end) == 2 && end && !numbers[end] && *ret_first &&
		*ret_last >= *ret_first;
}

int op_write_code_item(struct op_call *call, str id, bool *ret)
{
	char root[FS_PATH];
	unsigned first, last;
	str path, text = STR_NONE;
	int r;

	*ret = parse_place(id, &path, &first, &last);
	if (!*ret)
		return 0;
	r = take_root(call, root);
	if (r == 0)
		r = code_get(call->ctx->code, root, path, first, last - first + 1, call->arena, &text);
	if (r == -ENOENT && !call->err->text[0])
		return err_set(call->err, r, "there is no " STR_FMT " in the index of %s", STR_ARG(path), root);
	if (r == -ESTALE)
		return err_set(call->err, r, STR_FMT " has changed since it was indexed; search again", STR_ARG(path));
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_str(call->w, "id", id);
	jw_field_str(call->w, "kind", STR("code"));
	jw_field_str(call->w, "path", path);
	jw_field_str(call->w, "text", text);
	jw_end_object(call->w);
	return 0;
}

int op_code(struct op_call *call)
{
	size_t limit = (size_t)op_int(call, "limit");
	struct code_hit *hits = arena_alloc(call->arena, HITS_MAX * sizeof *hits);
	char root[FS_PATH];
	int n = take_root(call, root);

	if (n < 0)
		return n;
	n = code_search(call->ctx->code, root, op_text(call, "query"), call->arena, hits, MIN(limit, (size_t)HITS_MAX),
		NULL);
	jw_object(call->w);
	write_root(call, root);
	jw_key(call->w, "hits");
	jw_array(call->w);
	for (int i = 0; i < n && !op_is_enough(call); i++) {
		str text = op_read_code(call, root, &hits[i], (unsigned)op_int(call, "lines"));

		jw_object(call->w);
		op_write_code_hit(call, &hits[i]);
		jw_key(call->w, "score");
		jw_raw(call->w, arena_strf(call->arena, "%.3f", (double)hits[i].score));
		jw_key(call->w, "confidence");
		jw_raw(call->w, arena_strf(call->arena, "%.3f", (double)hits[i].confidence));
		if (str_is_set(text))
			jw_field_str(call->w, "text", text);
		jw_end_object(call->w);
	}
	jw_end_array(call->w);
	jw_end_object(call->w);
	return MIN(n, 0);
}

int op_symbols(struct op_call *call)
{
	struct code_hit *hits = arena_alloc(call->arena, HITS_MAX * sizeof *hits);
	char root[FS_PATH];
	int n = take_root(call, root);

	if (n < 0)
		return n;
	n = code_symbols(call->ctx->code, root, op_text(call, "name"), call->arena, hits,
		(size_t)MIN(op_int(call, "limit"), (int64_t)HITS_MAX));
	jw_object(call->w);
	write_root(call, root);
	jw_key(call->w, "symbols");
	jw_array(call->w);
	for (int i = 0; i < n; i++) {
		jw_object(call->w);
		op_write_code_hit(call, &hits[i]);
		jw_end_object(call->w);
	}
	jw_end_array(call->w);
	jw_end_object(call->w);
	return MIN(n, 0);
}

int op_map(struct op_call *call)
{
	char root[FS_PATH];
	str text = STR_NONE;
	int r = take_root(call, root);

	if (r == 0)
		r = code_map(call->ctx->code, root, op_text(call, "path"), (unsigned)op_int(call, "tokens"),
			call->arena, &text);
	if (r < 0)
		return r;
	jw_object(call->w);
	write_root(call, root);
	jw_field_str(call->w, "text", text);
	jw_field_int(call->w, "tokens", (int64_t)(text.n + 3) / 4);
	jw_end_object(call->w);
	return 0;
}

int op_index_status(struct op_call *call)
{
	char root[FS_PATH];
	struct code_status s = { 0 };
	int r = take_root(call, root);

	if (r == 0)
		r = code_status(call->ctx->code, root, &s);
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_str(call->w, "root", str_of(root));
	code_status_write(call->w, &s);
	jw_end_object(call->w);
	return 0;
}

/* On the loop, which asks no disk: whoever calls has found the root. */
int op_index_update(struct op_call *call)
{
	str root = op_text(call, "root");

	if (root.p[0] != '/' || root.n >= FS_PATH)
		return err_set(call->err, -EINVAL, "'root' must be the absolute path of a repository");
	call->ctx->index(arena_cstr(call->arena, root), call->ctx->stop_arg);
	jw_object(call->w);
	jw_field_bool(call->w, "started", true);
	jw_end_object(call->w);
	return 0;
}
