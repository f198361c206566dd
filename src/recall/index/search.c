/* The half that searches. What the indexer has published is mapped; a snapshot of it never changes, and is replaced
 * when the manifest is another file. Rows are read through one handle for each index. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "index/searcher.h"
#include "redact/redact.h"

enum {
	CANDIDATES_LEAST = 40, /* whose weight by kind of file is looked at */
	RATED_BYTES = 4096,
};

/* By what kind of file it is: what explains code, or tests it, is asked for less often than the code itself. */
static const float class_weights[] = {
	[FILE_CODE] = 1.0F, [FILE_TEST] = 0.9F, [FILE_DOCS] = 0.8F, [FILE_CONFIG] = 0.7F, [FILE_I18N] = 0.3F
};

/* -- snapshots --------------------------------------------------------------------------------- */

void view_unref(struct view *v)
{
	if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (size_t i = 0; i < v->nparts; i++) {
		segment_unref(v->parts[i].segment);
		free(v->slots[i]);
	}
	manifest_release(&v->manifest);
	vector_map_unref(v->map);
	store_close(v->rows);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

static struct segment *known_segment(const struct view *old, uint64_t identity, uint32_t number)
{
	for (size_t i = 0; old && i < old->nparts; i++)
		if (old->manifest.identity == identity && old->manifest.parts[i].number == number)
			return segment_ref(old->parts[i].segment);
	return NULL;
}

static int open_parts(struct view *v, const struct view *old)
{
	char path[FS_PATH];
	int r = 0;

	for (size_t i = 0; i < v->manifest.nparts && r == 0; i++) {
		const struct manifest_part *p = &v->manifest.parts[i];
		struct segment *s = known_segment(old, v->manifest.identity, p->number);

		if (!s && (r = index_segment(v->dir, p->number, "seg", path)) == 0)
			r = segment_open(path, &s);
		if (r == 0 && segment_docs(s) != p->docs) {
			segment_unref(s);
			r = -EBADMSG;
		}
		if (r == 0)
			v->parts[v->nparts++] = (struct index_part){ .segment = s, .dead = p->dead };
	}
	return r;
}

/* Vectors of other weights than ours have nothing to say. */
static void open_vectors(struct code *c, struct view *v)
{
	const struct encoder *e = v->manifest.vectors ? code_encoder(c) : NULL;
	struct vectors *all;
	char path[FS_PATH];

	if (!e || encoder_version(e) != v->manifest.encoder || index_file(v->dir, "vectors", path) < 0)
		return;
	all = vectors_new_reader(path, v->manifest.encoder);
	v->map = vectors_map(all);
	for (size_t i = 0; v->map && i < v->nparts; i++) {
		size_t docs = v->manifest.parts[i].docs;

		v->slots[i] = xmalloc((docs + 1) * sizeof *v->slots[i]);
		if (slots_read(v->dir, v->manifest.parts[i].number, docs, vectors_count(all), v->slots[i]) < 0)
			continue;
		v->parts[i].vectors = (struct index_vectors){
			.first = (const char *)&vector_map_records(v->map)->vector,
			.stride = sizeof(struct vector_record),
			.slots = v->slots[i],
		};
	}
	vectors_free(all);
}

static int look_at(const char *dir, struct stat *ret)
{
	char path[FS_PATH];
	int r = index_file(dir, "manifest", path);

	return r < 0 ? r : stat(path, ret) < 0 ? -errno : 0;
}

static bool is_current(const struct view *v, const struct stat *st)
{
	return v->st.st_ino == st->st_ino && v->st.st_mtim.tv_sec == st->st_mtim.tv_sec &&
		v->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec && v->st.st_size == st->st_size;
}

/* Segments may be merged away between reading the manifest and opening them: then there is a newer manifest. */
static int open_view(struct code *c, const char *dir, const struct view *old, struct view **ret)
{
	struct view *v = xcalloc(1, sizeof *v);
	char path[FS_PATH];
	int r;

	v->refs = 1;
	pthread_mutex_init(&v->lock, NULL);
	snprintf(v->dir, sizeof v->dir, "%s", dir);
	r = look_at(dir, &v->st);
	if (r == 0)
		r = manifest_read(dir, &v->manifest);
	if (r == 0)
		r = open_parts(v, old);
	if (r == 0)
		r = index_file(dir, "index.db", path);
	if (r == 0)
		r = store_open_cache(path, NULL, ROWS_VERSION, &v->rows);
	if (r < 0) {
		view_unref(v);
		return r;
	}
	open_vectors(c, v);
	*ret = v;
	return 0;
}

/* Takes the reference that was made with it. */
static void put_view(struct code *c, struct view *fresh)
{
	struct view *goes;
	size_t at = 0;

	pthread_mutex_lock(&c->lock);
	while (at < VIEWS_MAX - 1 && c->views[at] && strcmp(c->views[at]->dir, fresh->dir) != 0)
		at++;
	goes = c->views[at];
	memmove(c->views + 1, c->views, at * sizeof c->views[0]);
	c->views[0] = fresh;
	pthread_mutex_unlock(&c->lock);
	view_unref(goes);
}

static struct view *get_view(struct code *c, const char *dir)
{
	struct view *found = NULL;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < VIEWS_MAX && c->views[i] && !found; i++)
		if (strcmp(c->views[i]->dir, dir) == 0)
			found = c->views[i];
	if (found)
		__atomic_fetch_add(&found->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&c->lock);
	return found;
}

int code_view(struct code *c, const char *root, struct view **ret)
{
	enum { TRIES = 5 };
	char dir[FS_PATH];
	struct view *v, *fresh = NULL;
	struct stat st;
	int r = code_directory(c->dir, root, dir);

	if (r == 0)
		r = look_at(dir, &st);
	if (r < 0)
		return r;
	v = get_view(c, dir);
	if (v && is_current(v, &st)) {
		*ret = v;
		return 0;
	}
	for (int i = 0; i < TRIES; i++) {
		r = open_view(c, dir, v, &fresh);
		if (r != -ENOENT && r != -EBADMSG)
			break;
	}
	view_unref(v);
	if (r < 0)
		return r;
	__atomic_fetch_add(&fresh->refs, 1, __ATOMIC_RELAXED);
	put_view(c, fresh);
	*ret = fresh;
	return 0;
}

/* -- the encoder ------------------------------------------------------------------------------- */

const struct encoder *code_encoder(struct code *c)
{
	struct err err = { 0 };

	pthread_mutex_lock(&c->opening);
	if (!c->tried && c->weights[0])
		(void)encoder_open(c->weights, &c->encoder, &err);
	c->tried = true;
	pthread_mutex_unlock(&c->opening);
	return c->encoder;
}

static bool encode_query(struct code *c, const struct view *v, str query, struct vector *ret)
{
	const struct encoder *e = v->map ? code_encoder(c) : NULL;

	return e && encoder_query(e, query, ret);
}

/* -- from documents to hits -------------------------------------------------------------------- */

struct found {
	struct hit hit;
	struct code_hit code;
};

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->hit.score != y->hit.score)
		return x->hit.score > y->hit.score ? -1 : 1;
	return x->hit.key < y->hit.key ? -1 : x->hit.key > y->hit.key;
}

/* Pieces that have gone since are left out. Number of those that are there. */
static int look_up(struct view *v, const struct hit *hits, size_t n, struct arena *a, struct found *ret)
{
	int found = 0, got = 0;

	pthread_mutex_lock(&v->lock);
	for (size_t i = 0; i < n && got >= 0; i++) {
		got = rows_hit(v->rows, hits[i].key, a, &ret[found].code);
		if (got != 1)
			continue;
		ret[found].hit = hits[i];
		ret[found].hit.score *= class_weights[ret[found].code.class];
		found++;
	}
	pthread_mutex_unlock(&v->lock);
	return got < 0 ? got : found;
}

/* How sure the first are, by what they say. */
static void rate(struct view *v, const char *root, str query, struct arena *a, struct found *f, size_t n)
{
	struct rated rated[RATED_MAX];
	_close_ int dir = walk_open_root(root);

	n = MIN(n, (size_t)RATED_MAX);
	for (size_t i = 0; i < n; i++) {
		str text = STR_NONE, title = index_title(a, f[i].code.path, f[i].code.symbol);

		if (dir < 0 || read_piece(dir, &f[i].code, CHUNK_LINES_MAX, a, &text) < 0)
			text = STR("");
		rated[i] = (struct rated){ &f[i].hit,
			arena_strf(a, STR_FMT " " STR_FMT, STR_ARG(title), STR_ARG(str_cut_utf8(text, RATED_BYTES))) };
	}
	hit_rate(v->parts, v->nparts, RATED_AS_CODE, query, rated, n);
}

int code_search(struct code *c, const char *root, str query, struct arena *a, struct code_hit *ret, size_t max,
	const bool *cancel)
{
	size_t wanted = MAX(2 * max, (size_t)CANDIDATES_LEAST), n;
	struct hit *hits = arena_alloc(a, wanted * sizeof *hits);
	struct found *found = arena_alloc(a, (wanted + 1) * sizeof *found);
	struct view *v = NULL;
	struct vector vector;
	int r = code_view(c, root, &v);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	n = index_search(v->parts, v->nparts, query, encode_query(c, v, query, &vector) ? &vector : NULL, hits, wanted,
		cancel);
	r = look_up(v, hits, n, a, found);
	if (r > 0)
		qsort(found, (size_t)r, sizeof *found, compare_found);
	r = MIN(r, (int)max);
	if (r > 0)
		rate(v, root, query, a, found, (size_t)r);
	for (int i = 0; i < r; i++) {
		ret[i] = found[i].code;
		ret[i].score = found[i].hit.score;
		ret[i].confidence = found[i].hit.confidence;
		memcpy(ret[i].features, found[i].hit.features, sizeof ret[i].features);
	}
	view_unref(v);
	return r;
}

/* -- texts ------------------------------------------------------------------------------------- */

/* The whole file, if it is still what was read. */
static int read_current(int root, const struct code_hit *hit, struct buf *ret)
{
	struct stat st;
	int r = build_read(root, hit->path, ret, &st);

	if (r == 0 && (st.st_size != hit->size || (hit->ctime_ns && walk_ctime_ns(&st) != hit->ctime_ns)))
		r = -ESTALE;
	return r;
}

int read_piece(int root, const struct code_hit *hit, unsigned lines_max, struct arena *a, str *ret)
{
	struct buf text = BUF_INIT(FILE_BYTES_MAX + 2);
	int r = read_current(root, hit, &text);

	if (r == 0)
		*ret = arena_str(a, lines_of(buf_str(&text), hit->line, MIN(hit->lines, lines_max)));
	buf_release(&text);
	return r;
}

/* A secret may begin in the piece before, as a long key does, so it is looked for in the whole file: a line that is not
 * left there is not given. */
static str without_secrets(str whole, str piece, struct arena *a)
{
	_cleanup_(redactor_freep) struct redactor *r = redactor_new();
	str clean = redact_text(r, a, whole), rest = redact_text(r, a, piece), line, text;
	struct buf b = BUF_INIT(2 * FILE_BYTES_MAX);

	while (str_split(&rest, '\n', &line)) {
		buf_add_str(&b, str_find(clean, line) >= 0 ? line : STR("[redacted]"));
		if (rest.n)
			buf_add_char(&b, '\n');
	}
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

int code_read(struct code *c, const char *root, const struct code_hit *hit, unsigned lines_max, struct arena *a,
	str *ret)
{
	_close_ int dir = walk_open_root(root);
	struct buf text = BUF_INIT(FILE_BYTES_MAX + 2);
	int r = dir < 0 ? dir : read_current(dir, hit, &text);

	(void)c;
	if (r == 0)
		*ret = without_secrets(buf_str(&text), lines_of(buf_str(&text), hit->line, MIN(hit->lines, lines_max)),
			a);
	buf_release(&text);
	return r == -ENOENT ? -ESTALE : r;
}

int code_get(struct code *c, const char *root, str path, unsigned line, unsigned lines, struct arena *a, str *ret)
{
	struct code_hit hit = { .path = path, .line = line, .lines = lines };
	struct view *v = NULL;
	struct file_row row = { 0 };
	int r = code_view(c, root, &v);

	if (r < 0)
		return r;
	pthread_mutex_lock(&v->lock);
	r = rows_file(v->rows, path, &row);
	pthread_mutex_unlock(&v->lock);
	view_unref(v);
	if (r < 0 || !row.key || row.skipped)
		return r < 0 ? r : -ENOENT;
	hit.size = row.size;
	hit.ctime_ns = row.ctime_ns;
	return code_read(c, root, &hit, lines, a, ret);
}

/* -- status ------------------------------------------------------------------------------------ */

static bool is_locked(const char *dir)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[FS_PATH];
	_close_ int fd = index_file(dir, "lock", path) < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int code_status(struct code *c, const char *root, struct code_status *ret)
{
	struct manifest *m = xcalloc(1, sizeof *m);
	struct mark *mark = NULL;
	char dir[FS_PATH];
	int r = code_directory(c->dir, root, dir);

	*ret = (struct code_status){ 0 };
	if (r == 0 && manifest_read(dir, m) == 0)
		*ret = (struct code_status){ .exists = true,
			.files = m->files,
			.chunks = m->chunks,
			.symbols = m->symbols,
			.vectors = m->vectors,
			.skipped = m->skipped,
			.updated_us = m->updated_us };
	if (r == 0 && mark_open(dir, false, &mark) == 0) {
		ret->is_running = is_locked(dir);
		ret->done = ret->is_running ? __atomic_load_n(&mark->done, __ATOMIC_RELAXED) : 0;
		ret->all = ret->is_running ? __atomic_load_n(&mark->all, __ATOMIC_RELAXED) : 0;
		ret->scans = __atomic_load_n(&mark->scans, __ATOMIC_RELAXED);
	}
	mark_close(mark);
	manifest_release(m);
	free(m);
	return r;
}

void code_status_write(struct json_writer *w, const struct code_status *s)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = { { "files", s->files }, { "pieces", s->chunks }, { "symbols", s->symbols },
		{ "vectors", s->vectors }, { "skipped", s->skipped }, { "updated_us", (uint64_t)s->updated_us },
		{ "done", s->done }, { "all", s->all }, { "scans", s->scans } };

	jw_field_bool(w, "indexed", s->exists);
	jw_field_bool(w, "running", s->is_running);
	for (size_t i = 0; i < countof(numbers); i++)
		jw_field_int(w, numbers[i].name, (int64_t)numbers[i].value);
}

/* -- all of them ------------------------------------------------------------------------------- */

struct code *code_new(const char *dir, const char *weights)
{
	struct code *c = xcalloc(1, sizeof *c);

	snprintf(c->dir, sizeof c->dir, "%s", dir);
	snprintf(c->weights, sizeof c->weights, "%s", weights ? weights : "");
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->opening, NULL);
	return c;
}

void code_free(struct code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < VIEWS_MAX; i++)
		view_unref(c->views[i]);
	encoder_close(c->encoder);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->opening);
	free(c);
}
