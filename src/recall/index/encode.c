/* A vector for each piece, by what it says: pieces that did not change keep theirs, wherever they are. Vectors lie in
 * one file (retrieve/vectors.h); which one a document has is in a file beside its segment. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "index/internal.h"

enum { AT_ONCE = 256, TEXT_MAX = 2048, TITLE_MAX = 256 };

/* Opened when there is something to encode: it takes memory, and a check of all its bytes. */
static bool open_encoder(struct indexer *x)
{
	struct err err = { 0 };
	char path[FS_PATH];

	if (x->tried || !x->options.weights || !x->options.weights[0])
		return x->vectors;
	x->tried = true;
	if (encoder_open(x->options.weights, &x->encoder, &err) < 0 || index_file(x->dir, "vectors", path) < 0)
		return false;
	x->work = encoder_work_new(x->encoder);
	x->vectors = vectors_new(path, encoder_version(x->encoder));
	return true;
}

void index_encode_close(struct indexer *x)
{
	vectors_free(x->vectors);
	encoder_work_free(x->work);
	encoder_close(x->encoder);
}

/* -- which is whose ---------------------------------------------------------------------------- */

static int make_slots(struct indexer *x, size_t part)
{
	const struct manifest_part *p = &x->shelf.manifest.parts[part];
	const struct segment *s = x->shelf.segments[part];
	uint32_t *slots = xmalloc((p->docs + 1) * sizeof *slots);
	int r = 0;

	for (size_t d = 0; d < p->docs && r >= 0; d++) {
		int64_t hash = 0;

		r = store_number(x->rows, &hash, "SELECT hash FROM chunks WHERE key = ?1", "i", segment_key(s, d));
		slots[d] = r == 1 ? vectors_find(x->vectors, hash) : NO_VECTOR;
	}
	if (r >= 0)
		r = slots_write(x->dir, p->number, slots, p->docs);
	free(slots);
	return MIN(r, 0);
}

static bool has_slots(const struct indexer *x, uint32_t number)
{
	char path[FS_PATH];

	return index_segment(x->dir, number, "slots", path) == 0 && access(path, F_OK) == 0;
}

int index_encode_follow(struct indexer *x)
{
	struct manifest *m = &x->shelf.manifest;
	int r = 0;

	/* Only who encodes knows the file; until then new pieces are found by their words. */
	if (!x->vectors)
		return 0;
	for (size_t i = 0; i < m->nparts && r == 0; i++)
		if (!has_slots(x, m->parts[i].number))
			r = make_slots(x, i);
	m->vectors = vectors_count(x->vectors);
	m->encoder = encoder_version(x->encoder);
	return r;
}

/* Segments that have one of these pieces. */
static int follow_keys(struct indexer *x, int64_t first, int64_t last)
{
	struct manifest *m = &x->shelf.manifest;
	int r = 0;

	for (size_t i = 0; i < m->nparts && r == 0; i++) {
		const struct segment *s = x->shelf.segments[i];

		if (m->parts[i].docs && segment_key(s, 0) <= last && segment_key(s, m->parts[i].docs - 1) >= first)
			r = make_slots(x, i);
	}
	m->vectors = vectors_count(x->vectors);
	m->encoder = encoder_version(x->encoder);
	return r < 0 ? r : shelf_publish(&x->shelf, x->rows);
}

/* -- texts ------------------------------------------------------------------------------------- */

/* Pieces without a vector, in the order of their keys; those of one file follow one another. */
struct batch {
	struct vector_record records[AT_ONCE];
	int64_t keys[AT_ONCE];
	size_t n;
	int64_t until;
	struct arena arena;
	struct code_hit hits[AT_ONCE];
};

static int read_batch(struct indexer *x, struct batch *b)
{
	struct query *q = store_ask(x->rows, "SELECT key, hash FROM chunks WHERE key > ?1 ORDER BY key", "i", x->encoded);
	int got;

	b->until = x->encoded;
	while (b->n < AT_ONCE && (got = query_step(q)) == 1) {
		int64_t hash = query_int(q, 1);

		b->until = query_int(q, 0);
		if (vectors_find(x->vectors, hash) != NO_VECTOR)
			continue;
		b->records[b->n] = (struct vector_record){ .key = hash, .change = 1, .text = (uint64_t)hash };
		b->keys[b->n++] = b->until;
	}
	query_reset(q);
	for (size_t i = 0; i < b->n; i++)
		if ((got = rows_hit(x->rows, b->keys[i], &b->arena, &b->hits[i])) != 1)
			b->hits[i].path = STR_NONE;
	return 0;
}

/* False: the file is not what it was, and its pieces will be others. */
static bool encode_one(struct indexer *x, const struct code_hit *h, struct vector *ret)
{
	struct buf text = BUF_INIT(FILE_BYTES_MAX + 2);
	struct arena a = { 0 };
	struct stat st;
	bool same = str_is_set(h->path) && build_read(x->root, h->path, &text, &st) == 0 && st.st_size == h->size &&
		(!h->ctime_ns || walk_ctime_ns(&st) == h->ctime_ns);

	if (same) {
		str title = index_title(&a, h->path, h->symbol);

		encoder_encode(x->encoder, x->work, ENCODE_DOCUMENT,
			arena_strf(&a, STR_FMT " " STR_FMT, STR_ARG(str_cut_utf8(title, TITLE_MAX)),
				STR_ARG(str_cut_utf8(lines_of(buf_str(&text), h->line, h->lines), TEXT_MAX))),
			ret);
	}
	arena_release(&a);
	buf_release(&text);
	return same;
}

/* Number of pieces that were looked at and have one now. */
static int encode_batch(struct indexer *x, struct batch *b, int64_t until_us)
{
	size_t to = 0;
	int64_t first = b->n ? b->keys[0] : 0, last = 0;
	int r = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (i && (clock_mono_us() > until_us || (x->options.is_over && x->options.is_over(x->options.arg)))) {
			b->until = b->keys[i - 1];
			break;
		}
		last = b->keys[i];
		if (encode_one(x, &b->hits[i], &b->records[i].vector))
			b->records[to++] = b->records[i];
	}
	if (to)
		r = vectors_append(x->vectors, b->records, to);
	if (r == 0 && to)
		r = follow_keys(x, first, last);
	if (r == 0)
		x->encoded = b->until;
	return r;
}

int64_t indexer_encode(struct indexer *x, unsigned ms, struct err *err)
{
	int64_t until_us = clock_mono_us() + ms * USEC_PER_MSEC, left = 0;
	struct batch *b;
	int r;

	if (!open_encoder(x))
		return 0;
	b = xcalloc(1, sizeof *b);
	r = read_batch(x, b);
	if (r == 0)
		r = encode_batch(x, b, until_us);
	arena_release(&b->arena);
	free(b);
	if (r == 0)
		r = MIN(store_number(x->rows, &left, "SELECT count(*) FROM chunks WHERE key > ?1", "i", x->encoded), 0);
	if (r < 0)
		return err_set(err, r, "vectors in %s cannot be written: %s", x->dir, strerror(-r));
	if (!left)
		encoder_rest(x->encoder);
	return left;
}
