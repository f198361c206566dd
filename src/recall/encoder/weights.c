/* The file of weights, made by tools/encoder/pack.py: a head of 64 bytes, then sections that each begin at a
 * multiple of 64, in the order in which open_sections() takes them. Numbers are little endian, and used where they
 * lie. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "encoder/internal.h"

enum { FORMAT = 1, ALIGNMENT = 64, FILE_MAX = 64 << 20 };

struct head {
	char magic[8];
	uint32_t format, version;
	uint32_t words, slots, letters, width, layers, heads, inner, context;
	uint32_t size; /* of the file */
	uint32_t body; /* checksum of what follows the head */
	uint32_t zero;
	uint32_t self; /* checksum of the head before this */
};

_Static_assert(sizeof(struct head) == ALIGNMENT, "the head is as long as the first section's place");

/* -- sections ---------------------------------------------------------------------------------- */

struct cursor {
	const char *at, *end;
	bool beyond;
};

static const void *take(struct cursor *c, size_t n)
{
	const char *p = c->at;
	size_t room = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	if (c->beyond || room > (size_t)(c->end - c->at)) {
		c->beyond = true;
		return NULL;
	}
	c->at += room;
	return p;
}

static struct table take_table(struct cursor *c, unsigned rows, unsigned columns)
{
	struct table t = { .scale = take(c, rows * sizeof(float)) };

	t.bytes = take(c, (size_t)rows * columns);
	return t;
}

static struct matrix take_matrix(struct cursor *c, unsigned rows, unsigned columns)
{
	struct matrix m = { .rows = rows, .columns = columns };

	m.scale = take(c, rows * sizeof(float));
	m.excess = take(c, rows * sizeof(int32_t));
	m.bytes = take(c, (size_t)rows * columns);
	return m;
}

static const float *take_numbers(struct cursor *c, unsigned n)
{
	return take(c, n * sizeof(float));
}

static bool open_sections(struct encoder *e, const struct head *h)
{
	struct cursor c = { (const char *)e->map + sizeof *h, (const char *)e->map + e->size, false };

	e->vocabulary = (struct vocabulary){ .words = h->words, .slots = h->slots };
	e->vocabulary.slot = take(&c, h->slots * sizeof(uint16_t));
	e->vocabulary.offset = take(&c, (h->words + 1) * sizeof(uint32_t));
	e->vocabulary.letters = take(&c, h->letters);
	e->embedding = take_table(&c, h->words, h->width);
	for (unsigned i = 0; i < h->layers; i++) {
		struct layer *l = &e->layer[i];

		l->norm_attention = take_numbers(&c, h->width);
		l->qkv = take_matrix(&c, 3 * h->width, h->width);
		l->out = take_matrix(&c, h->width, h->width);
		l->norm_inner = take_numbers(&c, h->width);
		l->up = take_matrix(&c, h->inner, h->width);
		l->down = take_matrix(&c, h->width, h->inner);
	}
	e->norm_last = take_numbers(&c, h->width);
	e->pool = take_numbers(&c, h->width);
	e->last = take_table(&c, ENCODER_DIMENSIONS, h->width);
	return !c.beyond && c.at == c.end;
}

/* -- checks ------------------------------------------------------------------------------------ */

/* What the loops rely on: whole steps, and arrays that are long enough. */
static bool is_possible(const struct head *h, size_t size)
{
	unsigned depth = h->heads ? h->width / h->heads : 0;

	return memcmp(h->magic, "hookdenc", sizeof h->magic) == 0 && h->format == FORMAT && h->size == size &&
		h->words > TOKEN_WORDS && h->words < UINT16_MAX && h->slots <= 1 << 20 && h->slots > h->words &&
		(h->slots & (h->slots - 1)) == 0 && h->letters <= 4 << 20 && h->width && h->width <= 1024 &&
		h->width % 32 == 0 && h->inner && h->inner <= 4096 && h->inner % 32 == 0 && h->layers &&
		h->layers <= LAYERS_MAX && depth && h->width % h->heads == 0 && depth % 32 == 0 && h->context > 1 &&
		h->context <= TOKENS_MAX && crc32c(0, h, offsetof(struct head, self)) == h->self;
}

static bool is_vocabulary_sound(const struct vocabulary *v, size_t letters)
{
	for (unsigned i = 0; i < v->words; i++)
		if (v->offset[i] > v->offset[i + 1])
			return false;
	for (unsigned i = 0; i < v->slots; i++)
		if (v->slot[i] > v->words)
			return false;
	return v->offset[v->words] <= letters;
}

/* -- opening ----------------------------------------------------------------------------------- */

/* How far each pair of numbers of a head turns at each position. */
static void make_turns(struct encoder *e)
{
	size_t depth = e->width / e->heads, half = depth / 2;

	e->turn_cos = xcalloc(TOKENS_MAX * half, sizeof(float));
	e->turn_sin = xcalloc(TOKENS_MAX * half, sizeof(float));
	for (size_t t = 0; t < TOKENS_MAX; t++)
		for (size_t i = 0; i < half; i++) {
			double angle = (double)t * pow(10000, -2.0 * (double)i / (double)depth);

			e->turn_cos[t * half + i] = (float)cos(angle);
			e->turn_sin[t * half + i] = (float)sin(angle);
		}
}

static int map_file(const char *path, struct encoder *e)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct head) || st.st_size > FILE_MAX)
		return -EBADMSG;
	e->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (e->map == MAP_FAILED) {
		e->map = NULL;
		return -errno;
	}
	e->size = (size_t)st.st_size;
	return 0;
}

static bool is_sound(struct encoder *e)
{
	const struct head *h = e->map;

	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && is_possible(h, e->size) && open_sections(e, h) &&
		crc32c(0, h + 1, e->size - sizeof *h) == h->body && is_vocabulary_sound(&e->vocabulary, h->letters);
}

int encoder_open(const char *path, struct encoder **ret, struct err *err)
{
	_cleanup_(encoder_closep) struct encoder *e = xcalloc(1, sizeof *e);
	const struct head *h;
	int r = map_file(path, e);

	if (r == 0 && !is_sound(e))
		r = -EBADMSG;
	if (r == -EBADMSG)
		return err_set(err, r, "%s is damaged or belongs to another release; install hookd again", path);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, strerror(-r));
	h = e->map;
	e->version = h->version;
	e->width = h->width;
	e->layers = h->layers;
	e->heads = h->heads;
	e->inner = h->inner;
	e->context = h->context;
	make_turns(e);
	*ret = TAKE(e);
	return 0;
}

void encoder_close(struct encoder *e)
{
	if (!e)
		return;
	if (e->map)
		munmap(e->map, e->size);
	free(e->turn_cos);
	free(e->turn_sin);
	free(e);
}

void encoder_rest(const struct encoder *e)
{
	(void)madvise(e->map, e->size, MADV_DONTNEED);
}

uint32_t encoder_version(const struct encoder *e)
{
	return e->version;
}
