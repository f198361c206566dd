#include "base/hash.h"
#include "retrieve/vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/limits.h"
#include "base/log.h"

enum { FORMAT = 1, RECORDS_MAX = 4 << 20 };

struct head {
	char magic[8];
	uint32_t format, version;
	char zero[48];
};

struct vector_map {
	unsigned refs; /* atomic */
	void *memory;
	size_t bytes;
};

struct vectors {
	char path[FS_PATH];
	uint32_t version;
	bool reads; /* only */
	struct vector_map *map;
	size_t n;
	int64_t change;
	uint32_t *table; /* record of each key, by its hash; open addressing */
	size_t slots;
};

/* -- maps -------------------------------------------------------------------------------------- */

struct vector_map *vector_map_ref(struct vector_map *m)
{
	if (m)
		__atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
	return m;
}

void vector_map_unref(struct vector_map *m)
{
	if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	munmap(m->memory, m->bytes);
	free(m);
}

const struct vector_record *vector_map_records(const struct vector_map *m)
{
	return (const struct vector_record *)((const struct head *)m->memory + 1);
}

static struct vector_map *map_file(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	struct vector_map *m;

	if (memory == MAP_FAILED)
		return NULL;
	m = xcalloc(1, sizeof *m);
	*m = (struct vector_map){ 1, memory, bytes };
	return m;
}

/* -- which record is whose --------------------------------------------------------------------- */

static size_t place_of(const struct vectors *v, int64_t key)
{
	return (size_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 20) & (v->slots - 1);
}

static uint32_t *slot_of(const struct vectors *v, int64_t key)
{
	const struct vector_record *records = vector_map_records(v->map);
	size_t i = place_of(v, key);

	while (v->table[i] != UINT32_MAX && records[v->table[i]].key != key)
		i = (i + 1) & (v->slots - 1);
	return &v->table[i];
}

static void make_room(struct vectors *v, size_t records)
{
	size_t slots = 64;

	while (slots < 2 * records)
		slots *= 2;
	if (slots == v->slots)
		return;
	free(v->table);
	v->slots = slots;
	v->table = xmalloc(slots * sizeof *v->table);
	memset(v->table, 0xFF, slots * sizeof *v->table);
	for (size_t i = 0; i < v->n; i++)
		*slot_of(v, vector_map_records(v->map)[i].key) = (uint32_t)i;
}

/* -- following --------------------------------------------------------------------------------- */

static uint32_t checksum_of(const struct vector_record *r)
{
	return crc32c(0, r, offsetof(struct vector_record, checksum));
}

static void forget(struct vectors *v)
{
	vector_map_unref(v->map);
	free(v->table);
	v->map = NULL;
	v->table = NULL;
	v->n = v->slots = 0;
	v->change = 0;
}

static bool is_ours(const struct vectors *v, const struct head *h)
{
	return memcmp(h->magic, "hookdvec", sizeof h->magic) == 0 && h->format == FORMAT && h->version == v->version;
}

/* The records that are new in a map, up to the first that is broken. */
static void take_up(struct vectors *v, struct vector_map *map, size_t n)
{
	const struct vector_record *records = vector_map_records(map);

	vector_map_unref(v->map);
	v->map = map;
	make_room(v, n);
	for (; v->n < n && checksum_of(&records[v->n]) == records[v->n].checksum; v->n++) {
		v->change = MAX(v->change, records[v->n].change);
		*slot_of(v, records[v->n].key) = (uint32_t)v->n;
	}
}

void vectors_follow(struct vectors *v)
{
	_close_ int fd = open(v->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct vector_map *map;
	struct stat st;
	size_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= (off_t)sizeof(struct head)) {
		forget(v);
		return;
	}
	n = MIN(((size_t)st.st_size - sizeof(struct head)) / sizeof(struct vector_record), (size_t)RECORDS_MAX);
	if (v->map && n == v->n)
		return;
	map = n ? map_file(fd, sizeof(struct head) + n * sizeof(struct vector_record)) : NULL;
	if (!map)
		return;
	if (n < v->n || !is_ours(v, map->memory)) {
		/* Another one in its place, or of other weights. */
		forget(v);
		if (!is_ours(v, map->memory)) {
			vector_map_unref(map);
			if (!v->reads)
				unlink(v->path);
			return;
		}
	}
	take_up(v, map, n);
	if (v->n < n && !v->reads) {
		log_warn(LOG_STORE, "%s is damaged from record %zu on, which is made again", v->path, v->n);
		(void)!truncate(v->path, (off_t)(sizeof(struct head) + v->n * sizeof(struct vector_record)));
	}
}

static struct vectors *new_vectors(const char *path, uint32_t version, bool reads)
{
	struct vectors *v = xcalloc(1, sizeof *v);

	snprintf(v->path, sizeof v->path, "%s", path);
	v->version = version;
	v->reads = reads;
	vectors_follow(v);
	return v;
}

struct vectors *vectors_new(const char *path, uint32_t version)
{
	return new_vectors(path, version, false);
}

struct vectors *vectors_new_reader(const char *path, uint32_t version)
{
	return new_vectors(path, version, true);
}

void vectors_free(struct vectors *v)
{
	if (!v)
		return;
	forget(v);
	free(v);
}

size_t vectors_count(const struct vectors *v)
{
	return v->n;
}

int64_t vectors_change(const struct vectors *v)
{
	return v->change;
}

uint32_t vectors_find(const struct vectors *v, int64_t key)
{
	return v->n ? *slot_of(v, key) : UINT32_MAX;
}

struct vector_map *vectors_map(const struct vectors *v)
{
	return v->n ? vector_map_ref(v->map) : NULL;
}

/* -- appending --------------------------------------------------------------------------------- */

uint64_t vectors_hash(str text, str title)
{
	return hash_more(hash_str(text), title);
}

static int write_all(int fd, const void *p, size_t n, off_t at)
{
	ssize_t done = pwrite(fd, p, n, at);

	return done == (ssize_t)n ? 0 : done < 0 ? -errno : -ENOSPC;
}

/* Behind the last record that is whole; not synced: what a power cut takes is made again. */
int vectors_append(struct vectors *v, struct vector_record *records, size_t n)
{
	struct head head = { .magic = "hookdvec", .format = FORMAT, .version = v->version };
	_close_ int fd = open(v->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < n; i++)
		records[i].checksum = checksum_of(&records[i]);
	r = v->n ? 0 : write_all(fd, &head, sizeof head, 0);
	if (r == 0)
		r = write_all(fd, records, n * sizeof *records, (off_t)(sizeof head + v->n * sizeof *records));
	if (r == 0)
		vectors_follow(v);
	return r;
}
