/* Memories that fit a prompt, or are about the file that was just read or changed. */
#include "context/internal.h"

enum { CANDIDATES = RATED_MAX, FILE_ITEMS = 3, QUERY_MAX = 8192 };

/* low: for who asks, and judges for itself what helps. */
static const float high = 0.75F, medium = 0.60F, likely = 0.50F, low = 0.45F;

void memory_row_read(struct query *q, struct arena *a, struct memory_row *ret)
{
	str uid = query_str(q, 1);

	*ret = (struct memory_row){ .key = query_int(q, 0),
		.type = arena_str(a, query_str(q, 2)),
		.text = arena_str(a, query_str(q, 3)),
		.file = arena_str(a, query_str(q, 4)),
		.trust = arena_str(a, query_str(q, 5)),
		.importance = query_int(q, 6),
		.created_us = query_int(q, 7),
		.pinned = query_int(q, 8),
		.updated_us = query_int(q, 9) };
	if (uid.n == ULID_BYTES)
		memcpy(ret->uid.b, uid.p, ULID_BYTES);
}

/* 1: it may be given; 0: it may not (any more); -errno. */
static int load(struct moment *m, int64_t key, struct memory_row *ret)
{
	struct query *q = store_ask(m->store,
		"SELECT " MEMORY_ROW " FROM memories m WHERE m.key = ?1 AND m.status = 'active' AND NOT m.muted "
		"AND m.trust <> 'web'",
		"i", key);
	int got = query_step(q);

	if (got == 1)
		memory_row_read(q, m->arena, ret);
	query_reset(q);
	return got;
}

static str mark_of(const struct moment *m, const struct memory_row *row)
{
	const struct memory_type *type = memory_type_find(row->type);

	if (m->ask->kind == EVENT_POST_TOOL_USE && type)
		return str_of(type->label);
	return arena_strf(m->arena, "[" STR_FMT "]", STR_ARG(row->type));
}

static bool is_unfit(const struct moment *m, int64_t key)
{
	for (size_t i = 0; i < m->nunfit; i++)
		if (m->unfit[i] == key)
			return true;
	return false;
}

/* The best that are sure enough, from one corpus. */
static int add_fitting(struct moment *m, int64_t project, str query, float least, size_t max, const char *heading)
{
	struct hit hits[CANDIDATES];
	int n = memories_search(m->context->memories, m->store, project, query, false, hits, CANDIDATES), r = 0;

	for (int i = 0; i < n && m->reply->n < max && r >= 0; i++) {
		struct memory_row row;

		if (hits[i].confidence < least || block_was_given(m, hits[i].key) || is_unfit(m, hits[i].key))
			continue;
		r = load(m, hits[i].key, &row);
		if (r != 1)
			continue;
		if (!m->text.len)
			block_add_line(m, arena_strf(m->arena, "%s", heading));
		block_add_memory(m, &row, mark_of(m, &row), hits[i].score, hits[i].confidence);
	}
	return n < 0 ? n : MIN(r, 0);
}

int recall_prompt(struct moment *m)
{
	size_t max = (size_t)config_number(m->context->config, OPTION_CONTEXT_MEMORIES);
	str query = str_cut_utf8(m->ask->prompt, QUERY_MAX);
	float least = m->ask->asked_for ? low : high;
	int r = add_fitting(m, m->project, query, least, max, "**Relevant memories for this task:**");

	if (r == 0 && m->project)
		r = add_fitting(m, 0, query, least, max, "**Relevant memories for this task:**");
	return r < 0 ? r : recall_pieces(m, query);
}

/* -- files ------------------------------------------------------------------------------------- */

/* Relative to the project, as memories have it. */
static str relative_file(struct moment *m)
{
	struct query *q = store_ask(m->store,
		"SELECT path FROM projects WHERE key = ?1 UNION ALL SELECT path FROM projects WHERE merged = ?1 OR "
		"parent = ?1",
		"i", m->project);
	str file = m->ask->file;

	while (query_step(q) == 1) {
		str root = query_str(q, 0);

		if (str_starts(m->ask->file, root) && m->ask->file.n > root.n + 1 && m->ask->file.p[root.n] == '/') {
			file = str_from(m->ask->file, root.n + 1);
			break;
		}
	}
	query_reset(q);
	return file;
}

static str file_heading(struct moment *m)
{
	return arena_strf(m->arena, "**Memories about " STR_FMT ":**", STR_ARG(relative_file(m)));
}

static void add_about_file(struct moment *m, const struct memory_row *row, float confidence)
{
	if (!m->text.len)
		block_add_line(m, file_heading(m));
	block_add_memory(m, row, mark_of(m, row), 0, confidence);
}

int recall_file(struct moment *m)
{
	str file = relative_file(m);
	int r = recall_named(m, file, likely, FILE_ITEMS, add_about_file);

	if (r == 0)
		r = add_fitting(m, m->project,
			arena_strf(m->arena, STR_FMT "\n" STR_FMT "\n" STR_FMT, STR_ARG(file),
				STR_ARG(str_cut_utf8(m->ask->excerpt, 200)),
				STR_ARG(str_cut_utf8(m->ask->prompt, 500))),
			medium, FILE_ITEMS, file_heading(m).p);
	return r;
}
