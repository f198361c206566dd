/* The indexer. Files are read, cut into pieces, and become rows and documents; both are committed and published
 * together, some thousands of pieces at a time. Whatever ends it in between costs what was not published. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "index/internal.h"

enum {
	DOCS_MAX = SEGMENT_DOCS_MAX,
	TEXTS_MAX = 32 << 20, /* bytes of what is not published */
	LONGEST_S = 5,        /* before something is published: somebody may be searching already */
	TITLE_TIMES = 2,
	/* A file that was changed this shortly before it was read may be changed again without its time showing it. */
	RACY_NS = 50000000,
};

/* -- transactions ------------------------------------------------------------------------------ */

static int begin(struct indexer *x)
{
	int r = x->changed ? 0 : store_exec(x->rows, "BEGIN IMMEDIATE");

	if (r == 0 && !x->changed) {
		x->changed = true;
		x->since_us = clock_mono_us();
	}
	return r;
}

static void forget_batch(struct indexer *x)
{
	arena_release(&x->arena);
	x->ndocs = 0;
	buf_clear(&x->dead);
	x->changed = false;
}

/* Rows first: a segment without rows would be full of dead documents, rows without a segment are noticed. */
static int publish(struct indexer *x)
{
	int r;

	if (!x->changed)
		return 0;
	r = shelf_add(&x->shelf, x->docs, x->ndocs);
	if (r == 0)
		r = store_exec(x->rows, "COMMIT");
	if (r < 0) {
		store_exec(x->rows, "ROLLBACK");
		forget_batch(x);
		return r;
	}
	shelf_kill(&x->shelf, (const int64_t *)(const void *)x->dead.p, x->dead.len / sizeof(int64_t));
	forget_batch(x);
	shelf_tidy(&x->shelf);
	r = index_encode_follow(x);
	return r < 0 ? r : shelf_publish(&x->shelf, x->rows);
}

static bool is_full(const struct indexer *x, size_t more)
{
	return x->ndocs + more > DOCS_MAX || x->arena.total > TEXTS_MAX ||
		(x->changed && clock_mono_us() - x->since_us > LONGEST_S * USEC_PER_SEC);
}

/* -- one file ---------------------------------------------------------------------------------- */

int build_read(int root, str path, struct buf *ret, struct stat *ret_st)
{
	_close_ int fd = walk_open(root, path);
	ssize_t n = 1;
	char *room;

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode) || ret_st->st_size > FILE_BYTES_MAX)
		return -EINVAL;
	while (n > 0 && (room = buf_reserve(ret, (size_t)ret_st->st_size - MIN(ret->len, (size_t)ret_st->st_size) + 1))) {
		n = read(fd, room, (size_t)ret_st->st_size - MIN(ret->len, (size_t)ret_st->st_size) + 1);
		buf_commit(ret, n > 0 ? (size_t)n : 0);
		if (ret->len > FILE_BYTES_MAX)
			return -EFBIG; /* it is growing */
	}
	return n < 0 ? -errno : 0;
}

str lines_of(str text, unsigned first, unsigned count)
{
	str rest = text, line, from;

	for (unsigned i = 1; i < first; i++)
		if (!str_split(&rest, '\n', &line))
			return STR_NONE;
	from = rest;
	for (unsigned i = 0; i < count && str_split(&rest, '\n', &line); i++)
		from.n = (size_t)(line.p + line.n - from.p);
	return from;
}

static void add_document(struct indexer *x, str path, const struct chunk *c, int64_t key)
{
	x->docs[x->ndocs++] = (struct segment_doc){ .key = key,
		.title = index_title(&x->arena, path, c->symbol),
		.text = arena_str(&x->arena, c->text),
		.title_times = TITLE_TIMES };
}

/* Pieces become rows and documents. */
static int add_chunks(struct indexer *x, const struct file_row *f, const struct chunks *c)
{
	str path = arena_str(&x->arena, f->path);
	int64_t *keys = arena_alloc(&x->arena, (c->n + 1) * sizeof *keys);
	int r = 0;

	for (size_t i = 0; i < c->n && r == 0; i++) {
		uint64_t hash = index_hash(index_hash(index_hash(0, f->path), c->all[i].symbol), c->all[i].text);

		r = rows_add_chunk(x->rows, f->key, &c->all[i], hash, &keys[i]);
		add_document(x, path, &c->all[i], keys[i]);
	}
	for (size_t i = 0; i < c->nsymbols && r == 0; i++)
		if (c->symbols[i].chunk < c->n)
			r = rows_add_symbol(x->rows, keys[c->symbols[i].chunk], &c->symbols[i]);
	x->sums.chunks += c->n;
	return r;
}

/* Where an indexer may die. */
static void cut(struct indexer *x, const struct file_row *f, const struct language *l, str text, struct arena *a,
	struct chunks *ret)
{
	mark_begin(x->mark, f->path);
	chunker_read(x->chunker, l, text, f->strikes >= STRIKES_PLAIN, a, ret);
	mark_end(x->mark);
	ret->n = MIN(ret->n, (size_t)CHUNKS_MAX);
}

static int take_text(struct indexer *x, struct file_row *f, str text)
{
	const struct language *l = language_of(f->path, str_head(text, 256));
	enum file_class class = file_class_of(f->path, l);
	const char *skipped = f->strikes >= STRIKES_OUT ? "crashes" : skip_content(text, class);
	struct arena a = { 0 };
	struct chunks c = { 0 };
	int r = 0;

	if (!skipped)
		cut(x, f, l, text, &a, &c);
	if (is_full(x, c.n))
		r = publish(x);
	if (r == 0)
		r = begin(x);
	if (r == 0 && f->key)
		r = rows_drop_chunks(x->rows, f->key, &x->dead);
	/* A file that was read in full is no killer; one that was killed is, until it changes. */
	if (f->strikes < STRIKES_PLAIN)
		f->strikes = 0;
	if (r == 0)
		r = rows_put_file(x->rows, f, l, class, skipped);
	if (r == 0)
		r = add_chunks(x, f, &c);
	arena_release(&a);
	x->sums.skipped += skipped != NULL;
	return r;
}

static int drop_file(struct indexer *x, const struct file_row *f)
{
	int r = begin(x);

	if (r == 0)
		r = rows_drop_chunks(x->rows, f->key, &x->dead);
	if (r == 0)
		r = rows_drop_file(x->rows, f->key);
	x->sums.removed += r == 0;
	return r;
}

/* Reads a file that may have changed. known: as it was, with key 0 if it is new. */
static int take_file(struct indexer *x, const struct file_row *known)
{
	struct buf text = BUF_INIT(FILE_BYTES_MAX + 2);
	struct file_row f = *known;
	struct stat st;
	int64_t now_ns;
	int r = build_read(x->root, f.path, &text, &st);
	uint64_t hash = index_hash(1, buf_str(&text));

	if (r < 0) {
		buf_release(&text);
		return known->key ? drop_file(x, known) : 0;
	}
	now_ns = clock_wall_us() * 1000;
	f.size = st.st_size;
	f.ctime_ns = now_ns - walk_ctime_ns(&st) < RACY_NS ? 0 : walk_ctime_ns(&st);
	if (f.key && f.hash == hash && known->size >= 0) {
		r = begin(x);
		if (r == 0)
			r = rows_put_stat(x->rows, &f);
	} else {
		/* What killed an indexer in another form gets another chance. */
		if (known->hash && known->hash != hash && known->size >= 0)
			f.strikes = 0;
		f.hash = hash;
		x->sums.read++;
		x->sums.bytes += text.len;
		r = take_text(x, &f, buf_str(&text));
	}
	buf_release(&text);
	return r;
}

int indexer_publish(struct indexer *x, struct err *err)
{
	int r = publish(x);

	return r < 0 ? err_set(err, r, "the index in %s cannot be written: %s", x->dir, store_failure(x->rows, r)) : 0;
}

/* -- all files --------------------------------------------------------------------------------- */

static int order_of(str a, str b)
{
	int order = memcmp(a.p, b.p, MIN(a.n, b.n));

	return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static bool is_over(struct indexer *x)
{
	return x->options.is_over && x->options.is_over(x->options.arg);
}

static bool is_same(const struct file_row *row, const struct walk_file *f)
{
	return row->size == f->size && row->ctime_ns == f->ctime_ns;
}

/* Both lists are sorted. */
static int compare_all(struct indexer *x, const struct walk *w, const struct file_row *rows, size_t n)
{
	size_t i = 0, k = 0;
	int r = 0;

	while ((i < w->n || k < n) && r == 0) {
		int order = i == w->n ? 1 : k == n ? -1 : order_of(w->files[i].path, rows[k].path);

		__atomic_store_n(&x->mark->done, i, __ATOMIC_RELAXED);
		if (order > 0) {
			r = drop_file(x, &rows[k++]);
		} else if (order < 0) {
			r = take_file(x, &(struct file_row){ .path = w->files[i++].path });
		} else {
			r = is_same(&rows[k], &w->files[i]) ? 0 : take_file(x, &rows[k]);
			i++, k++;
		}
		if (is_over(x)) {
			x->sums.interrupted = true;
			break;
		}
	}
	return r;
}

int indexer_update(struct indexer *x, struct indexer_sums *ret, struct err *err)
{
	struct arena a = { 0 };
	struct file_row *rows = NULL;
	struct walk w;
	size_t n = 0;
	int r, p;

	x->sums = (struct indexer_sums){ 0 };
	r = walk_tree(&x->options, x->root, &w);
	x->sums.skipped = w.skipped;
	x->sums.files = w.n;
	x->sums.cut = w.cut;
	x->sums.interrupted = w.interrupted;
	if (r == 0)
		r = rows_files(x->rows, &a, &rows, &n);
	__atomic_store_n(&x->mark->all, w.n, __ATOMIC_RELAXED);
	if (r == 0 && !w.interrupted)
		r = compare_all(x, &w, rows, n);
	p = publish(x);
	r = r < 0 ? r : p;
	if (r == 0 && !x->sums.interrupted)
		__atomic_fetch_add(&x->mark->scans, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&x->mark->all, 0, __ATOMIC_RELAXED);
	walk_release(&w);
	arena_release(&a);
	*ret = x->sums;
	return r < 0 ? err_set(err, r, "the index in %s cannot be written: %s", x->dir, store_failure(x->rows, r)) : 0;
}

static bool says_what_is_ignored(str path)
{
	return str_eq(path, STR(".gitignore")) || str_ends(path, STR("/.gitignore"));
}

int indexer_touch(struct indexer *x, str path, struct err *err)
{
	struct file_row row;
	struct walk_file f;
	int found, r;

	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	if (!path.n || says_what_is_ignored(path))
		return 1;
	found = walk_one(&x->options, x->root, path, &f);
	r = rows_file(x->rows, path, &row);
	if (r == 0 && found == 2)
		return 1;
	/* A directory that is gone takes its files with it. */
	if (r == 0 && !found && !row.key) {
		int64_t below = 0;

		r = store_number(x->rows, &below, "SELECT 1 FROM files WHERE path > ?1 || '/' AND path < ?1 || '0' LIMIT 1",
			"s", path);
		return r < 0 ? r : (int)below;
	}
	if (r == 0 && !found)
		r = drop_file(x, &row);
	else if (r == 0 && !(row.key && is_same(&row, &f)))
		r = take_file(x, &row);
	return r < 0 ? err_set(err, r, "the index in %s cannot be written: %s", x->dir, store_failure(x->rows, r)) : 0;
}

/* -- opening ----------------------------------------------------------------------------------- */

static int take_lock(struct indexer *x, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[FS_PATH];
	int r = index_file(x->dir, "lock", path);

	if (r < 0)
		return r;
	x->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (x->lock < 0)
		return err_set(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
	if (fcntl(x->lock, F_SETLK, &lock) < 0)
		return err_set(err, -EWOULDBLOCK, "%s is being indexed already", x->options.root);
	return 0;
}

/* For people who look into the directory. */
static int name_root(struct indexer *x)
{
	struct buf b = BUF_INIT(FS_PATH);
	char path[FS_PATH];
	str root = str_of(x->options.root);
	int r = index_file(x->dir, "root", path);

	if (r == 0 && (fs_read_file(path, &b) < 0 || !str_eq(buf_str(&b), root)))
		r = fs_replace_file(path, root, false);
	buf_release(&b);
	return r;
}

static int copy_file(const char *from, const char *to)
{
	_close_ int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = -1;
	char room[65536];
	ssize_t n;
	int r = 0;

	if (in < 0)
		return -errno;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out < 0)
		return -errno;
	while (r == 0 && (n = read(in, room, sizeof room)) != 0)
		r = n < 0 ? -errno : fs_write_all(out, room, (size_t)n);
	close(out);
	return r;
}

static void link_segment(const char *from, const char *to, uint32_t number, const char *ending)
{
	char old[FS_PATH], new[FS_PATH];

	if (index_segment(from, number, ending, old) == 0 && index_segment(to, number, ending, new) == 0 &&
		link(old, new) < 0)
		(void)copy_file(old, new);
}

/* A worktree begins with what the main checkout has: files whose contents are the same keep their pieces. Segments never
 * change, so they are linked; whatever does not fit together is noticed when it is opened. */
static void begin_from_main(struct indexer *x)
{
	static const char *const copied[] = { "vectors", "manifest" };
	char from[FS_PATH], old[FS_PATH], new[FS_PATH];
	struct manifest m;

	if (!x->options.main || !x->options.main[0] || index_file(x->dir, "index.db", new) < 0 ||
		access(new, F_OK) == 0 || code_directory(x->options.dir, x->options.main, from) < 0 ||
		index_file(from, "index.db", old) < 0 || manifest_read(from, &m) < 0)
		return;
	for (size_t i = 0; i < m.nparts; i++) {
		link_segment(from, x->dir, m.parts[i].number, "seg");
		link_segment(from, x->dir, m.parts[i].number, "slots");
	}
	manifest_release(&m);
	for (size_t i = 0; i < countof(copied); i++)
		if (index_file(from, copied[i], old) == 0 && index_file(x->dir, copied[i], new) == 0)
			(void)copy_file(old, new);
	if (index_file(from, "index.db", old) == 0 && index_file(x->dir, "index.db", new) == 0 &&
		store_copy_cache(old, ROWS_VERSION, new) < 0)
		unlink(new);
}

/* What the one before was reading when it died. */
static int look_at_mark(struct indexer *x)
{
	uint32_t state = __atomic_load_n(&x->mark->state, __ATOMIC_ACQUIRE);
	str path = arena_str(&x->arena, str_n(x->mark->path, x->mark->length));
	int r;

	if (state == MARK_NONE)
		return 0;
	log_warn(LOG_STORE, "an indexer %s while it read " STR_FMT, state == MARK_CRASHED ? "crashed" : "was killed",
		STR_ARG(str_cut_utf8(path, 200)));
	r = rows_strike(x->rows, path, state == MARK_CRASHED ? STRIKE_CRASHED : STRIKE_KILLED);
	x->mark->state = MARK_NONE;
	return r;
}

static int open_all(struct indexer *x, struct err *err)
{
	int r = rows_open(x->dir, &x->rows);

	if (r < 0)
		return err_set(err, r, "the index in %s cannot be opened: %s", x->dir, strerror(-r));
	r = shelf_open(&x->shelf, x->dir, x->rows);
	if (r == 0)
		r = mark_open(x->dir, true, &x->mark);
	if (r == 0)
		r = look_at_mark(x);
	if (r < 0)
		return err_set(err, r, "the index in %s cannot be used: %s", x->dir, store_failure(x->rows, r));
	x->mark->all = x->mark->done = 0;
	return 0;
}

int indexer_open(const struct indexer_options *o, struct indexer **ret, struct err *err)
{
	struct indexer *x = xcalloc(1, sizeof *x);
	int r;

	x->options = *o;
	x->lock = -1;
	x->docs = xcalloc(DOCS_MAX, sizeof *x->docs);
	buf_init(&x->dead, MIB(64));
	x->root = walk_open_root(o->root);
	r = x->root < 0 ? err_set(err, x->root, "%s cannot be read: %s", o->root, strerror(-x->root)) : 0;
	if (r == 0 && ((r = fs_private_dir(o->dir)) < 0 || (r = code_directory(o->dir, o->root, x->dir)) < 0 ||
			      (r = fs_private_dir(x->dir)) < 0))
		err_set(err, r, "%s cannot be used: %s", o->dir, strerror(-r));
	if (r == 0)
		r = take_lock(x, err);
	if (r == 0) {
		begin_from_main(x);
		(void)name_root(x);
		r = open_all(x, err);
	}
	x->chunker = chunker_new(o->grammars);
	if (r < 0) {
		indexer_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

void indexer_close(struct indexer *x)
{
	if (!x)
		return;
	if (x->changed)
		store_exec(x->rows, "ROLLBACK");
	forget_batch(x);
	index_encode_close(x);
	shelf_release(&x->shelf);
	store_close(x->rows);
	chunker_free(x->chunker);
	mark_close(x->mark);
	buf_release(&x->dead);
	free(x->docs);
	fs_closep(&x->root);
	fs_closep(&x->lock);
	free(x);
}
