/* An index per project. Full segments lie in files, by the range of keys they cover; the head holds the rows that have
 * changed since, and is built anew when there are more of them. Both are part of a snapshot, which never changes. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log.h"
#include "memory/index.h"

enum {
	HEAD_MAX = 1024,    /* rows in memory before they are written to a file */
	FILES_MAX = 100000, /* in the directory; more are not ours */
};

/* -- snapshots --------------------------------------------------------------------------------- */

static void snapshot_unref(struct snapshot *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (size_t i = 0; i < s->nparts; i++) {
		segment_unref(s->parts[i].segment);
		free((void *)s->parts[i].dead);
		slots_unref(s->slots[i]);
	}
	vector_map_unref(s->map);
	free(s);
}

/* Takes the reference that was made with it. */
static void put_snapshot(struct memories *m, struct snapshot *fresh)
{
	struct snapshot *goes = NULL;
	size_t at = 0;

	pthread_mutex_lock(&m->lock);
	while (at < PROJECTS_MAX - 1 && m->snapshots[at] && m->snapshots[at]->project != fresh->project)
		at++;
	goes = m->snapshots[at];
	memmove(m->snapshots + 1, m->snapshots, at * sizeof m->snapshots[0]);
	m->snapshots[0] = fresh;
	pthread_mutex_unlock(&m->lock);
	snapshot_unref(goes);
}

static struct snapshot *get_snapshot(struct memories *m, int64_t project)
{
	struct snapshot *found = NULL;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < PROJECTS_MAX && m->snapshots[i] && !found; i++)
		if (m->snapshots[i]->project == project)
			found = m->snapshots[i];
	if (found)
		__atomic_fetch_add(&found->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* -- files ------------------------------------------------------------------------------------- */

static int file_of(const struct memories *m, int64_t project, int64_t first, char ret[FS_PATH])
{
	char name[64];

	snprintf(name, sizeof name, "memory-%" PRId64 "-%" PRId64 ".seg", project, first);
	return fs_join(ret, m->dir, name);
}

static int compare_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The first keys of a project's files, sorted. */
static size_t list_files(const struct memories *m, int64_t project, int64_t ret[PARTS_MAX])
{
	DIR *dir = opendir(m->dir);
	struct dirent *entry;
	size_t n = 0;

	for (int i = 0; dir && i < FILES_MAX && n < PARTS_MAX - 1 && (entry = readdir(dir)); i++) {
		int64_t of, first;
		int end = 0;

		if (sscanf(entry->d_name, "memory-%" SCNd64 "-%" SCNd64 ".seg%n", &of, &first, &end) == 2 && end &&
			!entry->d_name[end] && of == project)
			ret[n++] = first;
	}
	if (dir)
		closedir(dir);
	qsort(ret, n, sizeof *ret, compare_keys);
	return n;
}

/* Files that cannot be used are deleted: their rows are in the head until they are written again. */
static void open_files(const struct memories *m, struct snapshot *s)
{
	int64_t first[PARTS_MAX];
	size_t n = list_files(m, s->project, first);
	char path[FS_PATH];

	for (size_t i = 0; i < n; i++) {
		int r = file_of(m, s->project, first[i], path);

		if (r == 0)
			r = segment_open(path, &s->parts[s->nparts].segment);
		if (r == 0) {
			s->first[s->nparts++] = first[i];
			continue;
		}
		log_warn(LOG_STORE, "%s cannot be used (%s) and is made again", path, strerror(-r));
		unlink(path);
	}
}

static struct snapshot *new_snapshot(const struct memories *m, int64_t project, const struct snapshot *old)
{
	struct snapshot *s = xcalloc(1, sizeof *s);

	s->refs = 1;
	s->project = project;
	if (!old) {
		open_files(m, s);
		return s;
	}
	for (size_t i = 0; i < old->nparts; i++)
		if (old->first[i] != INT64_MAX) {
			s->parts[s->nparts].segment = segment_ref(old->parts[i].segment);
			s->first[s->nparts++] = old->first[i];
		}
	return s;
}

/* -- rows -------------------------------------------------------------------------------------- */

/* Documents made of rows, with the memory that their texts are in. */
struct rows {
	struct segment_doc *docs;
	size_t n, cap;
	int64_t *keys; /* of all rows that have changed, dead or alive */
	size_t nkeys, keys_cap;
	struct arena arena;
};

static void rows_release(struct rows *r)
{
	free(r->docs);
	free(r->keys);
	arena_release(&r->arena);
}

static uint64_t hash_thread(str thread, int64_t session)
{
	return thread.n ? hash_str(thread) | 1 : (uint64_t)session;
}

#define ROW_COLUMNS "key, text, " MEMORY_TITLE ", thread, session, status = 'active' AND NOT muted, change"

static void add_row(struct rows *r, struct query *q)
{
	if (r->n == r->cap)
		r->docs = xrealloc(r->docs, (r->cap = r->cap ? 2 * r->cap : 64) * sizeof *r->docs);
	r->docs[r->n++] = (struct segment_doc){ .key = query_int(q, 0),
		.text = arena_str(&r->arena, query_str(q, 1)),
		.title = arena_str(&r->arena, query_str(q, 2)),
		.thread = hash_thread(query_str(q, 3), query_int(q, 4)) };
}

static void add_key(struct rows *r, int64_t key)
{
	if (r->nkeys == r->keys_cap)
		r->keys = xrealloc(r->keys, (r->keys_cap = r->keys_cap ? 2 * r->keys_cap : 64) * sizeof *r->keys);
	r->keys[r->nkeys++] = key;
}

/* The segment that covers a key, or NULL. */
static const struct segment *segment_of(const struct snapshot *s, int64_t key)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < s->nparts && s->first[i] <= key; i++)
		found = s->parts[i].segment;
	return found;
}

static int64_t oldest_stamp(const struct snapshot *s)
{
	int64_t oldest = INT64_MAX;

	for (size_t i = 0; i < s->nparts; i++)
		oldest = MIN(oldest, segment_stamp(s->parts[i].segment));
	return s->nparts ? oldest : 0;
}

/* What the files do not have: at most a segment's worth; a merge comes soon. */
static int read_changed(struct store *store, struct snapshot *s, struct rows *r)
{
	struct query *q = store_ask(store,
		"SELECT " ROW_COLUMNS " FROM memories WHERE project = ?1 AND change > ?2 ORDER BY change", "ii",
		s->project, oldest_stamp(s));
	int got;

	while ((got = query_step(q)) == 1) {
		const struct segment *in = segment_of(s, query_int(q, 0));

		s->change = query_int(q, 6);
		if (in && query_int(q, 6) <= segment_stamp(in))
			continue;
		add_key(r, query_int(q, 0));
		if (query_int(q, 5) && r->n < SEGMENT_DOCS_MAX)
			add_row(r, q);
	}
	query_reset(q);
	return got;
}

static int compare_docs(const void *a, const void *b)
{
	return compare_keys(&((const struct segment_doc *)a)->key, &((const struct segment_doc *)b)->key);
}

static void mark_dead(struct snapshot *s, struct rows *r)
{
	if (r->nkeys)
		qsort(r->keys, r->nkeys, sizeof *r->keys, compare_keys);
	for (size_t i = 0; i < s->nparts; i++) {
		uint8_t *bits = xcalloc(1, segment_docs(s->parts[i].segment) / 8 + 1);
		size_t dead = segment_mark(s->parts[i].segment, r->keys, r->nkeys, bits);

		s->parts[i].dead = dead ? bits : NULL;
		s->dead += dead;
		if (!dead)
			free(bits);
	}
}

static void add_head(struct snapshot *s, struct rows *r)
{
	struct buf bytes = BUF_INIT(MIB(256));

	s->in_head = r->n;
	if (!r->n)
		return;
	/* Neighbours in a conversation are those that were learned one after the other. */
	qsort(r->docs, r->n, sizeof *r->docs, compare_docs);
	segment_build(r->docs, r->n, s->change, &bytes);
	s->parts[s->nparts].segment = segment_from(&bytes);
	s->first[s->nparts++] = INT64_MAX;
}

/* -- writing files ----------------------------------------------------------------------------- */

static int newest_change(struct store *store, int64_t project, int64_t *ret)
{
	int got = store_number(store, ret, "SELECT max(change) FROM memories WHERE project = ?1", "i", project);

	return MIN(got, 0);
}

static int read_range(struct store *store, int64_t project, int64_t from, size_t max, struct rows *r)
{
	struct query *q = store_ask(store,
		"SELECT " ROW_COLUMNS
		" FROM memories WHERE project = ?1 AND key >= ?2 AND status = 'active' AND NOT muted "
		"ORDER BY key LIMIT ?3",
		"iii", project, from, (int64_t)max);
	int got;

	while ((got = query_step(q)) == 1)
		add_row(r, q);
	query_reset(q);
	return got;
}

/* One file from `from` on; *ret_next: where the following one begins, INT64_MAX: there is none. */
static int write_file(struct memories *m, struct store *store, int64_t project, int64_t from, int64_t *ret_next)
{
	struct rows rows = { 0 };
	struct buf bytes = BUF_INIT(MIB(256));
	int64_t change = 0;
	char path[FS_PATH];
	int r = newest_change(store, project, &change); /* first: what changes meanwhile is read again */

	if (r == 0)
		r = read_range(store, project, from, SEGMENT_DOCS_MAX, &rows);

	*ret_next = rows.n == SEGMENT_DOCS_MAX ? rows.docs[rows.n - 1].key + 1 : INT64_MAX;
	if (r == 0 && rows.n) {
		segment_build(rows.docs, rows.n, change, &bytes);
		r = file_of(m, project, from, path);
		if (r == 0)
			r = fs_replace_file(path, buf_str(&bytes), false);
	}
	buf_release(&bytes);
	rows_release(&rows);
	return r;
}

static void delete_files(struct memories *m, int64_t project)
{
	int64_t first[PARTS_MAX];
	size_t n = list_files(m, project, first);
	char path[FS_PATH];

	for (size_t i = 0; i < n; i++)
		if (file_of(m, project, first[i], path) == 0)
			unlink(path);
}

static void drop_snapshot(struct memories *m, int64_t project)
{
	struct snapshot *goes = NULL;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < PROJECTS_MAX && m->snapshots[i]; i++)
		if (m->snapshots[i]->project == project) {
			goes = m->snapshots[i];
			memmove(m->snapshots + i, m->snapshots + i + 1,
				(PROJECTS_MAX - 1 - i) * sizeof m->snapshots[0]);
			m->snapshots[PROJECTS_MAX - 1] = NULL;
			break;
		}
	pthread_mutex_unlock(&m->lock);
	snapshot_unref(goes);
}

/* With the lock of refreshing. */
static int merge(struct memories *m, struct store *store, int64_t project)
{
	int64_t from = 0;
	int r = fs_private_dir(m->dir);

	delete_files(m, project);
	while (r == 0 && from != INT64_MAX)
		r = write_file(m, store, project, from, &from);
	drop_snapshot(m, project);
	if (r < 0)
		log_warn(LOG_STORE, "the index of memories cannot be written: %s", strerror(-r));
	return r;
}

int memories_merge(struct memories *m, struct store *store, int64_t project)
{
	int r;

	pthread_mutex_lock(&m->refresh);
	r = merge(m, store, project);
	pthread_mutex_unlock(&m->refresh);
	return r;
}

/* -- following the rows ------------------------------------------------------------------------ */

static int refresh(struct memories *m, struct store *store, int64_t project, const struct snapshot *old,
	struct snapshot **ret, bool *ret_behind)
{
	struct snapshot *s = new_snapshot(m, project, old);
	struct rows rows = { 0 };
	int r;

	s->change = old ? old->change : 0;
	r = read_changed(store, s, &rows);
	if (r == 0) {
		mark_dead(s, &rows);
		add_head(s, &rows);
		encode_follow(m, s, old);
		__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
		put_snapshot(m, s);
		*ret = s;
	} else {
		snapshot_unref(s);
	}
	if (r == 0 && rows.nkeys > HEAD_MAX && m->wants.merge)
		m->wants.merge(project, m->wants.arg);
	/* More than the head may hold. */
	*ret_behind = rows.nkeys > SEGMENT_DOCS_MAX;
	rows_release(&rows);
	return r;
}

/* A snapshot with everything the store has; or, without patience, with what is known. */
static int current(struct memories *m, struct store *store, int64_t project, bool patient, struct snapshot **ret)
{
	struct snapshot *s = get_snapshot(m, project), *fresh = NULL;
	bool behind = false;
	int64_t change = 0;
	int r = newest_change(store, project, &change);

	*ret = s;
	if (r < 0 || (s && s->change >= change && s->nvectors == encode_count(m, project)))
		return r;
	if (patient)
		pthread_mutex_lock(&m->refresh);
	else if (pthread_mutex_trylock(&m->refresh) != 0)
		return 0;
	/* Somebody else may have done it meanwhile. */
	snapshot_unref(s);
	*ret = s = get_snapshot(m, project);
	if (!s || s->change < change || s->nvectors != encode_count(m, project)) {
		r = refresh(m, store, project, s, &fresh, &behind);
		snapshot_unref(s);
		if (r == 0 && behind && patient && (r = merge(m, store, project)) == 0) {
			snapshot_unref(fresh);
			fresh = NULL;
			r = refresh(m, store, project, NULL, &fresh, &behind);
		}
		*ret = fresh;
	}
	pthread_mutex_unlock(&m->refresh);
	return r;
}

/* -- from hits to answers ---------------------------------------------------------------------- */

struct found {
	struct hit hit;
	str text;
};

/* 1: the row is still there. Its score is weighed by what it is worth. */
static int read_found(struct store *store, const struct hit *hit, int64_t now_us, struct arena *a, struct found *ret)
{
	struct query *q = store_ask(store,
		"SELECT text, " MEMORY_TITLE
		", created_at, used_at, shown, used, pinned FROM memories WHERE key = ?1 AND "
		"status = 'active' AND NOT muted",
		"i", hit->key);
	int got = query_step(q);

	if (got == 1) {
		struct memory_past past = { .created_us = query_int(q, 2),
			.used_us = query_int(q, 3),
			.shown = query_int(q, 4),
			.used = query_int(q, 5),
			.pinned = query_int(q, 6) };

		ret->hit = *hit;
		ret->hit.score *= memory_worth(&past, now_us);
		ret->text = arena_strf(a, STR_FMT " " STR_FMT, STR_ARG(query_str(q, 0)), STR_ARG(query_str(q, 1)));
	}
	query_reset(q);
	return got;
}

/* Keeps the best first; those of one score in the order in which they came. */
static void put_in_order(struct found *list, size_t n)
{
	struct found last = list[n];

	while (n && list[n - 1].hit.score < last.hit.score) {
		list[n] = list[n - 1];
		n--;
	}
	list[n] = last;
}

/* Rows that have gone or changed since are left out; the texts of the first say how sure they are. */
static int rate(struct store *store, const struct snapshot *s, str query, struct hit *hits, int n)
{
	struct rated rated[RATED_MAX];
	struct arena texts = { 0 };
	struct found *found = arena_alloc(&texts, (size_t)n * sizeof *found);
	int64_t now_us = clock_wall_us();
	size_t to = 0;
	int got = 0;

	for (int i = 0; i < n && got >= 0; i++) {
		got = read_found(store, &hits[i], now_us, &texts, &found[to]);
		if (got == 1)
			put_in_order(found, to++);
	}
	for (size_t i = 0; i < to; i++) {
		hits[i] = found[i].hit;
		if (i < RATED_MAX)
			rated[i] = (struct rated){ &hits[i], found[i].text };
	}
	if (got >= 0)
		hit_rate(s->parts, s->nparts, RATED_AS_PROSE, query, rated, MIN(to, (size_t)RATED_MAX));
	arena_release(&texts);
	return got < 0 ? got : (int)to;
}

int memories_search(struct memories *m, struct store *store, int64_t project, str query, bool patient, struct hit *ret,
	size_t max)
{
	struct snapshot *s = NULL;
	struct vector vector;
	int r = current(m, store, project, patient, &s);

	if (r == 0 && s) {
		bool close = encode_query(m, s, query, &vector);

		r = (int)index_search(s->parts, s->nparts, query, close ? &vector : NULL, ret, max, NULL);
	}
	if (r > 0)
		r = rate(store, s, query, ret, r);
	snapshot_unref(s);
	return r;
}

int64_t memories_count(struct memories *m, struct store *store, int64_t project)
{
	struct snapshot *s = NULL;
	int64_t n = 0;
	int r = current(m, store, project, false, &s);

	for (size_t i = 0; s && i < s->nparts; i++)
		n += (int64_t)segment_docs(s->parts[i].segment);
	n -= s ? (int64_t)s->dead : 0;
	snapshot_unref(s);
	return r < 0 ? r : n;
}

/* -- all of them ------------------------------------------------------------------------------- */

struct memories *memories_new(const char *dir, const char *weights, const struct memories_wants *wants)
{
	struct memories *m = xcalloc(1, sizeof *m);

	snprintf(m->dir, sizeof m->dir, "%s", dir);
	snprintf(m->weights, sizeof m->weights, "%s", weights);
	m->wants = *wants;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->refresh, NULL);
	pthread_mutex_init(&m->opening, NULL);
	return m;
}

void memories_free(struct memories *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < PROJECTS_MAX; i++)
		snapshot_unref(m->snapshots[i]);
	poison_free(m->poison);
	encode_release(m);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->refresh);
	pthread_mutex_destroy(&m->opening);
	free(m);
}

const char *memories_suspect(struct memories *m, str text)
{
	const struct poison *p;

	pthread_mutex_lock(&m->lock);
	if (!m->poison)
		m->poison = poison_new();
	p = m->poison; /* never changes once it is made, so nobody has to wait for the search */
	pthread_mutex_unlock(&m->lock);
	return poison_find(p, text);
}

void memories_discard(struct memories *m)
{
	DIR *dir = opendir(m->dir);
	struct dirent *entry;
	char path[FS_PATH];

	pthread_mutex_lock(&m->refresh);
	for (int i = 0; dir && i < FILES_MAX && (entry = readdir(dir)); i++)
		if (str_starts(str_of(entry->d_name), STR("memory-")) && fs_join(path, m->dir, entry->d_name) == 0)
			unlink(path);
	if (dir)
		closedir(dir);
	encode_forget(m);
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < PROJECTS_MAX; i++) {
		snapshot_unref(m->snapshots[i]);
		m->snapshots[i] = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	pthread_mutex_unlock(&m->refresh);
}
