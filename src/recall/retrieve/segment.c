/* Segments: building, keeping, opening. A posting is sorted as one number of 64 bits: term, document, count. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "base/limits.h"
#include "retrieve/internal.h"

enum { VERSION = 2, DOC_TERMS_MAX = 20000 };

#define SEGMENT_BYTES_MAX MIB(1024)

static const char magic[8] = "hookdseg";

/* -- building ---------------------------------------------------------------------------------- */

/* A term of one document and its count. */
struct count {
	uint32_t hash, units;
};

struct counts {
	struct count *p;
	size_t n, cap;
	uint32_t *places; /* scratch of merge_counts(): where in p a term is, counted from 1 */
	size_t room;
};

struct builder {
	const struct segment_doc **docs; /* in the order of the segment */
	size_t n;
	struct counts own; /* terms of all documents, one after the other */
	size_t *begin;     /* of each document's in `own`; n + 1 */
	struct postings postings;
};

static void add_count(struct counts *c, uint32_t hash, uint32_t units)
{
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 1024;
		c->p = xrealloc(c->p, c->cap * sizeof *c->p);
	}
	c->p[c->n++] = (struct count){ hash, units };
}

/* One count per term, from `from` on, in the order in which they were met: postings are sorted later anyway. */
static void merge_counts(struct counts *c, size_t from)
{
	size_t room = 64, to = from;

	while (room < 2 * (c->n - from))
		room *= 2;
	if (room > c->room) {
		c->room = room;
		c->places = xrealloc(c->places, room * sizeof *c->places);
	}
	memset(c->places, 0, room * sizeof *c->places);
	for (size_t i = from; i < c->n; i++) {
		struct count one = c->p[i];
		size_t at = one.hash & (room - 1);

		while (c->places[at] && c->p[from + c->places[at] - 1].hash != one.hash)
			at = (at + 1) & (room - 1);
		if (c->places[at]) {
			c->p[from + c->places[at] - 1].units += one.units;
			continue;
		}
		c->p[to++] = one;
		c->places[at] = (uint32_t)(to - from);
	}
	c->n = to;
}

static void add_text(struct counts *c, str text, uint32_t units)
{
	struct terms t = terms_open(text);
	uint32_t hash;

	for (size_t n = 0; n < DOC_TERMS_MAX && terms_next(&t, &hash); n++)
		add_count(c, hash, units);
}

static void read_documents(struct builder *b)
{
	b->begin = xcalloc(b->n + 1, sizeof *b->begin);
	for (size_t i = 0; i < b->n; i++) {
		b->begin[i] = b->own.n;
		add_text(&b->own, b->docs[i]->title, UNIT * MAX(b->docs[i]->title_times, 1u));
		add_text(&b->own, b->docs[i]->text, UNIT);
		merge_counts(&b->own, b->begin[i]);
	}
	b->begin[b->n] = b->own.n;
}

/* The terms of a neighbour, for less. Its title is in its counts too: that it repeats in a thread costs nothing,
 * because such a term is in all of them. */
static void add_neighbour(const struct builder *b, size_t of, ptrdiff_t step, uint32_t units, struct counts *c)
{
	size_t i = of + (size_t)step;

	if (i >= b->n || !b->docs[of]->thread || b->docs[i]->thread != b->docs[of]->thread)
		return;
	for (size_t k = b->begin[i]; k < b->begin[i + 1]; k++)
		add_count(c, b->own.p[k].hash, b->own.p[k].units / UNIT * units);
}

void postings_add(struct postings *p, uint32_t hash, size_t doc, uint32_t units)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 4096;
		p->all = xrealloc(p->all, p->cap * sizeof *p->all);
	}
	p->all[p->n++] = (uint64_t)hash << 32 | doc << 8 | MIN(units, 255u);
}

/* Returns the document's length. */
static uint64_t add_document(struct builder *b, size_t doc, struct counts *scratch)
{
	uint64_t length = 0;
	size_t own;

	scratch->n = 0;
	for (size_t k = b->begin[doc]; k < b->begin[doc + 1]; k++)
		add_count(scratch, b->own.p[k].hash, b->own.p[k].units);
	own = scratch->n;
	add_neighbour(b, doc, -1, NEAR, scratch);
	add_neighbour(b, doc, 1, NEAR, scratch);
	add_neighbour(b, doc, -2, FAR, scratch);
	add_neighbour(b, doc, 2, FAR, scratch);
	if (scratch->n > own)
		merge_counts(scratch, 0);
	for (size_t k = 0; k < scratch->n; k++) {
		postings_add(&b->postings, scratch->p[k].hash, doc, scratch->p[k].units);
		length += scratch->p[k].units;
	}
	return length;
}

/* By term, three digits of 11 bits; documents of a term stay in order. */
static void sort_postings(struct postings *b)
{
	uint64_t *from = b->all, *to = xmalloc((b->n + 1) * sizeof *to);

	for (unsigned shift = 32; shift < 64; shift += 11) {
		size_t places[2048] = { 0 }, at = 0;

		for (size_t i = 0; i < b->n; i++)
			places[from[i] >> shift & 2047]++;
		for (size_t d = 0; d < countof(places); d++) {
			size_t count = places[d];

			places[d] = at;
			at += count;
		}
		for (size_t i = 0; i < b->n; i++)
			to[places[from[i] >> shift & 2047]++] = from[i];
		uint64_t *swap = from;

		from = to;
		to = swap;
	}
	b->all = from;
	free(to);
}

static void put_gap(struct buf *b, uint32_t gap)
{
	for (; gap >= 0x80; gap >>= 7)
		buf_add_char(b, (char)(gap | 0x80));
	buf_add_char(b, (char)gap);
}

/* Terms and postings; returns the number of terms. */
static uint32_t write_terms(const struct postings *b, struct buf *terms, struct buf *postings)
{
	struct segment_term term = { 0 };
	uint32_t n = 0;

	for (size_t i = 0; i < b->n;) {
		uint32_t hash = (uint32_t)(b->all[i] >> 32), before = 0;

		term = (struct segment_term){ .hash = hash, .at = (uint32_t)postings->len };
		for (; i < b->n && b->all[i] >> 32 == hash; i++) {
			uint32_t doc = (uint32_t)b->all[i] >> 8, units = b->all[i] & 255;

			put_gap(postings, doc - before);
			buf_add_char(postings, (char)units);
			before = doc;
			term.own += units >= UNIT;
		}
		buf_add(terms, &term, sizeof term);
		n++;
	}
	term = (struct segment_term){ .hash = UINT32_MAX, .at = (uint32_t)postings->len };
	buf_add(terms, &term, sizeof term);
	return n;
}

/* Stable: documents of a thread stay in the order given. Those that stand alone come first. */
static int compare_threads(const void *a, const void *b)
{
	const struct segment_doc *x = *(const struct segment_doc *const *)a, *y = *(const struct segment_doc *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void order_documents(struct builder *b, const struct segment_doc *docs, size_t n)
{
	b->n = MIN(n, (size_t)SEGMENT_DOCS_MAX);
	b->docs = xcalloc(b->n + 1, sizeof *b->docs);
	for (size_t i = 0; i < b->n; i++)
		b->docs[i] = &docs[i];
	qsort(b->docs, b->n, sizeof *b->docs, compare_threads);
}

/* Keys, threads and lengths of the documents. */
static void write_documents(struct builder *b, struct segment_head *head, struct buf *ret)
{
	struct counts scratch = { 0 };
	struct buf lengths = BUF_INIT(SEGMENT_BYTES_MAX);
	uint64_t before = 0;

	for (size_t i = 0; i < b->n; i++)
		buf_add(ret, &b->docs[i]->key, sizeof b->docs[i]->key);
	for (size_t i = 0; i < b->n; i++) {
		uint64_t thread = b->docs[i]->thread, length = add_document(b, i, &scratch);

		head->nthreads += thread && thread != before;
		before = thread;
		head->length += length;
		buf_add(ret, &(uint32_t){ thread ? head->nthreads : 0 }, sizeof(uint32_t));
		buf_add(&lengths, &(uint32_t){ (uint32_t)MIN(length, UINT32_MAX) }, sizeof(uint32_t));
	}
	buf_add_str(ret, buf_str(&lengths));
	buf_release(&lengths);
	free(scratch.p);
	free(scratch.places);
}

/* Of the head without the checksum itself, and the rest. */
static uint32_t checksum_of(const struct segment_head *h, const void *rest)
{
	struct segment_head plain = *h;

	plain.checksum = 0;
	return crc32c(crc32c(0, &plain, sizeof plain), rest, h->bytes - sizeof plain);
}

void segment_finish(struct segment_head *head, struct postings *p, struct buf *ret)
{
	struct buf terms = BUF_INIT(SEGMENT_BYTES_MAX), postings = BUF_INIT(SEGMENT_BYTES_MAX);

	sort_postings(p);
	memcpy(head->magic, magic, sizeof magic);
	head->version = VERSION;
	head->nterms = write_terms(p, &terms, &postings);
	free(p->all);
	head->postings = (uint32_t)postings.len;
	buf_add_str(ret, buf_str(&terms));
	buf_add_str(ret, buf_str(&postings));
	buf_release(&terms);
	buf_release(&postings);
	head->bytes = ret->len;
	head->checksum = checksum_of(head, ret->p + sizeof *head);
	memcpy(ret->p, head, sizeof *head);
}

void segment_build(const struct segment_doc *docs, size_t n, int64_t stamp, struct buf *ret)
{
	struct builder b = { 0 };
	struct segment_head head = { .stamp = stamp };

	order_documents(&b, docs, n);
	read_documents(&b);
	buf_add(ret, &head, sizeof head);
	write_documents(&b, &head, ret);
	free(b.own.p);
	free(b.own.places);
	free(b.begin);
	head.ndocs = (uint32_t)b.n;
	segment_finish(&head, &b.postings, ret);
	free(b.docs);
}

/* -- opening ----------------------------------------------------------------------------------- */

/* Everything that search.c relies on: a damaged file must not lead it out of the map. */
static bool is_sound(const struct segment *s)
{
	const struct segment_head *h = s->head;
	uint64_t bytes = sizeof *h;

	if (s->bytes < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0 || h->version != VERSION ||
		h->bytes != s->bytes || h->ndocs > SEGMENT_DOCS_MAX || h->nthreads > h->ndocs)
		return false;
	bytes += (uint64_t)h->ndocs * (sizeof *s->keys + sizeof *s->threads + sizeof *s->lengths);
	bytes += ((uint64_t)h->nterms + 1) * sizeof(struct segment_term) + h->postings;
	return bytes == s->bytes && h->checksum == checksum_of(h, h + 1);
}

static void find_parts(struct segment *s)
{
	s->keys = (const int64_t *)(s->head + 1);
	s->threads = (const uint32_t *)(s->keys + s->head->ndocs);
	s->lengths = s->threads + s->head->ndocs;
	s->terms = (const struct segment_term *)(s->lengths + s->head->ndocs);
	s->postings = (const uint8_t *)(s->terms + s->head->nterms + 1);
}

struct segment *segment_from(struct buf *bytes)
{
	struct segment *s = xcalloc(1, sizeof *s);

	s->refs = 1;
	s->memory = buf_detach(bytes, &s->bytes);
	s->head = s->memory;
	find_parts(s);
	return s;
}

int segment_open(const char *path, struct segment **ret)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct segment *s;
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct segment_head) ||
		st.st_size > (off_t)SEGMENT_BYTES_MAX)
		return -EBADMSG;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	s = xcalloc(1, sizeof *s);
	*s = (struct segment){ .refs = 1, .memory = map, .bytes = (size_t)st.st_size, .mapped = true, .head = map };
	if (!is_sound(s)) {
		segment_unref(s);
		return -EBADMSG;
	}
	find_parts(s);
	*ret = s;
	return 0;
}

struct segment *segment_ref(struct segment *s)
{
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void segment_unref(struct segment *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	if (s->mapped)
		munmap(s->memory, s->bytes);
	else
		free(s->memory);
	free(s);
}

int64_t segment_stamp(const struct segment *s)
{
	return s->head->stamp;
}

size_t segment_docs(const struct segment *s)
{
	return s->head->ndocs;
}

static int compare_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t segment_key(const struct segment *s, size_t doc)
{
	return s->keys[doc];
}

size_t segment_mark(const struct segment *s, const int64_t *keys, size_t n, uint8_t *bits)
{
	size_t marked = 0;

	for (uint32_t i = 0; n && i < s->head->ndocs; i++)
		if (bsearch(&s->keys[i], keys, n, sizeof *keys, compare_keys)) {
			bits[i / 8] |= (uint8_t)(1U << i % 8);
			marked++;
		}
	return marked;
}

const struct segment_term *segment_term(const struct segment *s, uint32_t hash)
{
	size_t low = 0, high = s->head->nterms;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->terms[mid].hash < hash)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->head->nterms && s->terms[low].hash == hash ? &s->terms[low] : NULL;
}
