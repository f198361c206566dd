/* A vector for each memory. Rows are encoded in the order of their changes, and each file of vectors says how far that
 * is. A search uses the vectors that there are; a memory without one is found by its words alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "memory/index.h"

enum { AT_ONCE = 128, TEXT_MAX = 4096, HURRY_S = 5 };

/* -- the encoder ------------------------------------------------------------------------------- */

/* Opened when it is needed first: a check of all its bytes is part of that. */
static const struct encoder *encoder_of(struct memories *m)
{
	pthread_mutex_lock(&m->opening);
	if (!m->tried && m->weights[0]) {
		int r = encoder_open(m->weights, &m->encoder, &m->no_encoder);

		if (r < 0 && r != -ENOENT)
			log_warn(LOG_STORE, "memories are found by their words alone: %s", m->no_encoder.text);
	} else if (!m->tried) {
		err_set(&m->no_encoder, -ENOENT, "it is switched off");
	}
	m->tried = true;
	pthread_mutex_unlock(&m->opening);
	return m->encoder;
}

bool encode_query(struct memories *m, const struct snapshot *s, str query, struct vector *ret)
{
	const struct encoder *e = s->map ? encoder_of(m) : NULL;

	return e && encoder_query(e, query, ret);
}

/* -- a project's vectors ----------------------------------------------------------------------- */

static struct project_vectors *find_vectors(struct memories *m, int64_t project)
{
	for (size_t i = 0; i < PROJECTS_MAX; i++)
		if (m->vectors[i].vectors && m->vectors[i].project == project)
			return &m->vectors[i];
	return NULL;
}

static void publish(struct memories *m, struct project_vectors *p)
{
	pthread_mutex_lock(&m->lock);
	p->count = vectors_count(p->vectors);
	pthread_mutex_unlock(&m->lock);
}

/* With the lock of refreshing. NULL: there is no encoder. */
static struct project_vectors *vectors_of(struct memories *m, int64_t project)
{
	const struct encoder *e = encoder_of(m);
	struct project_vectors *p = find_vectors(m, project);
	char name[64], path[FS_PATH];

	if (p || !e)
		return p;
	snprintf(name, sizeof name, "memory-%" PRId64 ".vectors", project);
	if (fs_join(path, m->dir, name) < 0)
		return NULL;
	pthread_mutex_lock(&m->lock);
	p = &m->vectors[m->next_vectors++ % PROJECTS_MAX];
	vectors_free(p->vectors);
	*p = (struct project_vectors){ .project = project, .vectors = vectors_new(path, encoder_version(e)) };
	p->count = vectors_count(p->vectors);
	p->until = vectors_change(p->vectors);
	pthread_mutex_unlock(&m->lock);
	return p;
}

size_t encode_count(struct memories *m, int64_t project)
{
	const struct project_vectors *p;
	size_t n;

	pthread_mutex_lock(&m->lock);
	p = find_vectors(m, project);
	n = p ? p->count : 0;
	pthread_mutex_unlock(&m->lock);
	return n;
}

void encode_forget(struct memories *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < PROJECTS_MAX; i++) {
		vectors_free(m->vectors[i].vectors);
		m->vectors[i] = (struct project_vectors){ 0 };
	}
	pthread_mutex_unlock(&m->lock);
}

void encode_release(struct memories *m)
{
	encode_forget(m);
	encoder_close(m->encoder);
}

/* -- snapshots --------------------------------------------------------------------------------- */

void slots_unref(struct slots *s)
{
	if (s && __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(s);
}

static struct slots *slots_of(const struct segment *segment, const struct vectors *v)
{
	size_t n = segment_docs(segment);
	struct slots *s = xmalloc(sizeof *s + n * sizeof s->of[0]);

	s->refs = 1;
	for (size_t i = 0; i < n; i++)
		s->of[i] = vectors_find(v, segment_key(segment, i));
	return s;
}

/* Parts that are files are in the same place in both. */
static struct slots *known_slots(const struct snapshot *s, const struct snapshot *old, size_t part)
{
	if (!old || old->nvectors != s->nvectors || part >= old->nparts || !old->slots[part] ||
		old->parts[part].segment != s->parts[part].segment)
		return NULL;
	__atomic_fetch_add(&old->slots[part]->refs, 1, __ATOMIC_RELAXED);
	return old->slots[part];
}

void encode_follow(struct memories *m, struct snapshot *s, const struct snapshot *old)
{
	struct project_vectors *p = s->nparts ? vectors_of(m, s->project) : NULL;

	if (!p)
		return;
	if (s->change > p->until && m->wants.encode)
		m->wants.encode(s->project, m->wants.arg);
	s->map = vectors_map(p->vectors);
	s->nvectors = vectors_count(p->vectors);
	for (size_t i = 0; s->map && i < s->nparts; i++) {
		s->slots[i] = known_slots(s, old, i);
		if (!s->slots[i])
			s->slots[i] = slots_of(s->parts[i].segment, p->vectors);
		s->parts[i].vectors = (struct index_vectors){
			.first = (const char *)&vector_map_records(s->map)->vector,
			.stride = sizeof(struct vector_record),
			.slots = s->slots[i]->of,
		};
	}
}

/* -- encoding ---------------------------------------------------------------------------------- */

struct batch {
	struct vector_record records[AT_ONCE];
	str texts[AT_ONCE]; /* with the title in front */
	size_t n;
	int64_t until;
	struct arena arena;
};

/* Whether the record that a memory has is of the same text. */
static bool is_encoded(const struct vectors *v, int64_t key, uint64_t text)
{
	struct vector_map *map = vectors_map(v);
	uint32_t at = vectors_find(v, key);
	bool same = map && at != NO_VECTOR && vector_map_records(map)[at].text == text;

	vector_map_unref(map);
	return same;
}

/* The next rows by their changes, without those that have their vector. Number of rows, or -errno. */
static int read_batch(struct store *store, const struct project_vectors *p, struct batch *b)
{
	struct query *q = store_ask(store,
		"SELECT key, text, " MEMORY_TITLE
		", change, status = 'active' AND NOT muted FROM memories WHERE project = "
		"?1 AND change > ?2 ORDER BY change LIMIT ?3",
		"iii", p->project, p->until, (int64_t)AT_ONCE);
	int got, rows = 0;

	for (; (got = query_step(q)) == 1; rows++) {
		str text = query_str(q, 1), title = query_str(q, 2);
		uint64_t hash = vectors_hash(text, title);

		b->until = query_int(q, 3);
		if (!query_int(q, 4) || is_encoded(p->vectors, query_int(q, 0), hash))
			continue;
		b->records[b->n] = (struct vector_record){ .key = query_int(q, 0), .change = b->until, .text = hash };
		b->texts[b->n++] = arena_strf(&b->arena, STR_FMT " " STR_FMT, STR_ARG(str_cut_utf8(title, 256)),
			STR_ARG(str_cut_utf8(text, TEXT_MAX)));
	}
	query_reset(q);
	return got < 0 ? got : rows;
}

/* Without any lock. True: all of them; what comes after the last one that was done is left for the next time. */
static bool encode_batch(const struct encoder *e, struct batch *b, bool (*rest)(void *arg), void *arg)
{
	struct encoder_work *w = encoder_work_new(e);
	size_t n = b->n;

	for (size_t i = 0; i < b->n; i++) {
		if (i && rest && rest(arg)) {
			b->n = i;
			b->until = b->records[i - 1].change;
		} else {
			encoder_encode(e, w, ENCODE_DOCUMENT, b->texts[i], &b->records[i].vector);
		}
	}
	encoder_work_free(w);
	return b->n == n;
}

static int add_batch(struct memories *m, struct batch *b, int64_t project)
{
	struct project_vectors *p;
	int r;

	pthread_mutex_lock(&m->refresh);
	p = find_vectors(m, project);
	r = !p || !b->n ? 0 : fs_private_dir(m->dir);
	if (r == 0 && p && b->n)
		r = vectors_append(p->vectors, b->records, b->n);
	if (r == 0 && p) {
		p->until = b->until;
		publish(m, p);
	}
	pthread_mutex_unlock(&m->refresh);
	return r;
}

int memories_encode(struct memories *m, struct store *store, int64_t project, bool (*rest)(void *arg), void *arg)
{
	struct batch *b = xcalloc(1, sizeof *b);
	struct project_vectors *p;
	int rows = 0, r = 0;

	pthread_mutex_lock(&m->refresh);
	p = vectors_of(m, project);
	if (p)
		rows = read_batch(store, p, b);
	pthread_mutex_unlock(&m->refresh);
	if (rows > 0) {
		encode_batch(m->encoder, b, rest, arg);
		r = add_batch(m, b, project);
	}
	arena_release(&b->arena);
	free(b);
	return r < 0 ? r : rows;
}

void memories_rest(struct memories *m)
{
	const struct encoder *e = encoder_of(m);

	if (e)
		encoder_rest(e);
}

void memories_hurry(struct memories *m)
{
	__atomic_store_n(&m->hurried_us, clock_mono_us(), __ATOMIC_RELAXED);
}

bool memories_is_hurried(struct memories *m)
{
	int64_t at = __atomic_load_n(&m->hurried_us, __ATOMIC_RELAXED);

	return at && clock_mono_us() - at < HURRY_S * USEC_PER_SEC;
}

bool memories_encoded(struct memories *m, struct store *store, int64_t project, int64_t *ret_all, int64_t *ret_encoded,
	struct err *ret_why)
{
	int64_t until = 0;
	struct project_vectors *p;

	pthread_mutex_lock(&m->refresh);
	p = vectors_of(m, project);
	until = p ? p->until : 0;
	pthread_mutex_unlock(&m->refresh);
	*ret_all = *ret_encoded = 0;
	(void)store_number(store, ret_all,
		"SELECT count(*) FROM memories WHERE project = ?1 AND status = 'active' AND NOT muted", "i", project);
	(void)store_number(store, ret_encoded,
		"SELECT count(*) FROM memories WHERE project = ?1 AND status = 'active' AND NOT muted AND change <= ?2",
		"ii", project, until);
	if (!p && ret_why)
		*ret_why = m->no_encoder;
	if (p && *ret_encoded < *ret_all && m->wants.encode)
		m->wants.encode(project, m->wants.arg);
	return p;
}
