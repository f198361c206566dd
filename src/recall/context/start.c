/* The start of a session: what is known of its project. */
#include <stdlib.h>

#include "context/internal.h"

enum { SESSIONS_MAX = 5, TITLE_MAX = 200, SUMMARY_MAX = 200, MEMORIES_MAX = 10 };

/* What hookd doctor has sent is nobody's work. */
#define NOT_DOCTOR "s.native_id NOT GLOB 'hookd-doctor-*'"

static int count_memories(struct moment *m, int64_t *ret)
{
	int64_t own = m->project ? memories_count(m->context->memories, m->store, m->project) : 0;
	int64_t all = memories_count(m->context->memories, m->store, 0);

	*ret = own + all;
	return (int)MIN(0, MIN(own, all));
}

/* Nothing is said where nothing is known. */
static int add_status(struct moment *m)
{
	int64_t memories = 0, sessions = 0, chunks = pieces_count(m);
	int r = count_memories(m, &memories);

	if (r == 0)
		r = MIN(0,
			store_number(m->store, &sessions,
				"SELECT count(*) FROM sessions s WHERE s.project IN (SELECT key FROM projects WHERE "
				"key = ?1 OR "
				"parent = ?1) AND s.prompts > 0 AND s.native_id <> ?2 AND " NOT_DOCTOR,
				"is", m->project, m->ask->session));
	if (r < 0 || (!memories && !sessions && !chunks))
		return r;
	block_add_line(m,
		arena_strf(m->arena, "**hookd**: %lld memories and %lld earlier sessions of this project are stored%s.",
			(long long)memories, (long long)sessions,
			chunks ? arena_strf(m->arena, ", and %lld pieces of its code are indexed", (long long)chunks).p
			       : ""));
	return 0;
}

/* What a summary says behind the title: the prompts are in that. */
static str told_of(struct moment *m, str summary)
{
	str line, told = STR("");

	while (str_split(&summary, '\n', &line))
		if (!str_starts(line, STR("Asked: ")))
			told = arena_strf(m->arena, STR_FMT " " STR_FMT, STR_ARG(told), STR_ARG(line));
	return told.n ? memory_shorten(m->arena, told, SUMMARY_MAX) : told;
}

/* Titles and summaries of what was done before, the newest first. */
static int add_sessions(struct moment *m)
{
	struct query *q = store_ask(m->store,
		"SELECT s.agent, coalesce(y.title, s.title, s.last_user), y.text FROM sessions s LEFT JOIN summaries y "
		"ON "
		"y.session = s.key WHERE s.project IN (SELECT key FROM projects "
		"WHERE key = ?1 OR parent = ?1) AND s.prompts > 0 AND s.hidden = 0 AND s.native_id <> ?2 "
		"AND " NOT_DOCTOR
		" AND coalesce(s.title, s.last_user) IS NOT NULL ORDER BY s.last_at DESC, s.key DESC LIMIT ?3",
		"isi", m->project, m->ask->session, (int64_t)SESSIONS_MAX);
	int got, n = 0;

	while ((got = query_step(q)) == 1) {
		str title = query_str(q, 1), line, told = told_of(m, query_str(q, 2));

		if (n++ == 0)
			block_add_line(m, STR("\n## Recent Session History\n"));
		str_split(&title, '\n', &line); /* the first one says enough */
		block_add_line(m,
			arena_strf(m->arena, "**Session %d** (" STR_FMT "): " STR_FMT "%s%s" STR_FMT, n,
				STR_ARG(query_str(q, 0)), STR_ARG(block_plain(m, str_cut_utf8(line, TITLE_MAX))),
				line.n > TITLE_MAX ? "…" : "", told.n ? " — " : "", STR_ARG(block_plain(m, told))));
	}
	query_reset(q);
	return MIN(got, 0);
}

/* The plan that was worked on last, if that is not long ago. */
static int add_plan(struct moment *m)
{
	struct query *q = store_ask(m->store,
		"SELECT p.title, p.path FROM plans p JOIN sessions s ON s.key = p.session WHERE s.project IN (SELECT "
		"key FROM "
		"projects WHERE key = ?1 OR parent = ?1) AND p.updated_at > (SELECT max(last_at) FROM sessions) - 7 * "
		"86400000000 AND p.title IS NOT NULL ORDER BY p.updated_at DESC LIMIT 1",
		"i", m->project);
	int got = query_step(q);

	if (got == 1)
		block_add_line(m,
			arena_strf(m->arena, "\n**Plan**: " STR_FMT " (" STR_FMT ")",
				STR_ARG(block_plain(m, str_cut_utf8(query_str(q, 0), TITLE_MAX))),
				STR_ARG(block_plain(m, query_str(q, 1)))));
	query_reset(q);
	return MIN(got, 0);
}

/* The first of one project, from the index that is in this order. */
static int read_first(struct moment *m, int64_t project, size_t max, struct memory_row *rows, size_t *n)
{
	struct query *q = store_ask(m->store,
		"SELECT " MEMORY_ROW " FROM memories m WHERE m.project = ?1 AND m.status = 'active' AND NOT m.muted "
		"AND m.trust <> 'web' AND "
		"m.ref IS NULL ORDER BY m.pinned DESC, m.importance DESC, m.created_at DESC, m.key LIMIT 60",
		"i", project);
	size_t end = *n + max;
	int got = 0;

	while (*n < end && (got = query_step(q)) == 1)
		if (!block_was_given(m, query_int(q, 0)))
			memory_row_read(q, m->arena, &rows[(*n)++]);
	query_reset(q);
	return MIN(got, 0);
}

static int compare_rows(const void *a, const void *b)
{
	const struct memory_row *x = a, *y = b;

	if (x->pinned != y->pinned)
		return x->pinned ? -1 : 1;
	if (x->importance != y->importance)
		return x->importance > y->importance ? -1 : 1;
	if (x->created_us != y->created_us)
		return x->created_us > y->created_us ? -1 : 1;
	return x->key < y->key ? -1 : 1;
}

/* Those of the project and those for all projects: what is pinned, then what is important, then what is new. */
static int add_memories(struct moment *m, size_t max)
{
	struct memory_row rows[2 * MEMORIES_MAX];
	size_t n = 0;
	int r = read_first(m, m->project, max, rows, &n);

	if (r == 0 && m->project)
		r = read_first(m, 0, max, rows, &n);
	if (r < 0 || !n)
		return r;
	qsort(rows, n, sizeof rows[0], compare_rows);
	block_add_line(m, STR("\n## Recent Project Memories\n"));
	for (size_t i = 0; i < n && i < max; i++) {
		const struct memory_type *type = memory_type_find(rows[i].type);

		block_add_memory(m, &rows[i],
			arena_strf(m->arena, "%s **" STR_FMT "**:", type ? type->mark : "[own]", STR_ARG(rows[i].type)),
			0, 1);
	}
	return 0;
}

int start_full(struct moment *m)
{
	int r = add_status(m);

	if (r == 0 && m->text.len)
		r = add_plan(m);
	if (r == 0 && m->text.len)
		r = add_sessions(m);
	if (r == 0 && m->text.len)
		r = add_memories(m, MEMORIES_MAX);
	return r;
}

int start_short(struct moment *m)
{
	int r = add_status(m);

	if (r == 0 && m->text.len)
		r = add_plan(m);
	if (r == 0 && m->text.len)
		r = add_memories(m, 3);
	return r;
}

int start_line(struct moment *m)
{
	return add_status(m);
}
