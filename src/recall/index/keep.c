/* The segments of an index. Each change is a small one; when there are many, or much of one is dead, they are merged.
 * Nothing is published before it is complete, and what is not published is deleted at the next start. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "index/internal.h"

enum {
	SMALL_DOCS = 2048, /* fewer: it is merged with others of its kind */
	SMALL_MAX = 8,
	DEAD_SHARE = 5, /* one in so many: it is written again */
	DEAD_LEAST = 64,
	FEW_DOCS = 256, /* where each of the dead counts among the words */
	ABANDONED_S = 30 * 24 * 3600,
};

static size_t live_docs(const struct shelf *h, size_t i)
{
	return h->manifest.parts[i].docs - h->ndead[i];
}

/* -- what is there ----------------------------------------------------------------------------- */

static void drop_part(struct shelf *h, size_t i)
{
	struct manifest *m = &h->manifest;

	segment_unref(h->segments[i]);
	free(m->parts[i].dead);
	m->nparts--;
	memmove(m->parts + i, m->parts + i + 1, (m->nparts - i) * sizeof m->parts[0]);
	memmove(h->segments + i, h->segments + i + 1, (m->nparts - i) * sizeof h->segments[0]);
	memmove(h->ndead + i, h->ndead + i + 1, (m->nparts - i) * sizeof h->ndead[0]);
}

static void open_parts(struct shelf *h)
{
	struct manifest *m = &h->manifest;
	char path[FS_PATH];

	for (size_t i = 0; i < m->nparts;) {
		int r = index_segment(h->dir, m->parts[i].number, "seg", path);

		if (r == 0)
			r = segment_open(path, &h->segments[i]);
		if (r == 0 && segment_docs(h->segments[i]) != m->parts[i].docs)
			r = -EBADMSG;
		if (r == 0) {
			i++;
			continue;
		}
		log_warn(LOG_STORE, "%s cannot be used (%s); its files are read again", path, strerror(-r));
		drop_part(h, i);
	}
}

static int compare_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Rows were committed, and the indexer died before it could publish; or a segment is damaged. */
static int heal(struct shelf *h, struct store *rows)
{
	int64_t *keys = NULL;
	size_t n = 0;
	int r = rows_keys(rows, &keys, &n);
	uint8_t *seen = xcalloc(1, n + 1);

	for (size_t i = 0; i < h->manifest.nparts; i++) {
		struct manifest_part *p = &h->manifest.parts[i];

		memset(p->dead, 0, p->docs / 8 + 1);
		h->ndead[i] = 0;
		for (size_t d = 0; d < p->docs; d++) {
			int64_t key = segment_key(h->segments[i], d);
			const int64_t *at = n ? bsearch(&key, keys, n, sizeof key, compare_keys) : NULL;

			if (at && !seen[at - keys]) {
				seen[at - keys] = 1;
				continue;
			}
			p->dead[d / 8] |= (uint8_t)(1U << d % 8);
			h->ndead[i]++;
		}
	}
	for (size_t i = 0; i < n && r >= 0; i++)
		if (!seen[i])
			r = rows_forget_file_of(rows, keys[i]);
	free(seen);
	free(keys);
	return MIN(r, 0);
}

static bool is_named(const struct shelf *h, uint32_t number)
{
	for (size_t i = 0; i < h->manifest.nparts; i++)
		if (h->manifest.parts[i].number == number)
			return true;
	return false;
}

/* Segments and slots that nobody names, and what was cut off while it was written. */
static void sweep(struct shelf *h)
{
	DIR *d = opendir(h->dir);
	struct dirent *e;
	char path[FS_PATH];

	while (d && (e = readdir(d))) {
		char ending[16] = "";
		unsigned number;
		bool ours = sscanf(e->d_name, "%6u.%15s", &number, ending) == 2 &&
			(strcmp(ending, "seg") == 0 || strcmp(ending, "slots") == 0);

		if (((ours && !is_named(h, number)) || strstr(e->d_name, ".hookd-")) &&
			fs_join(path, h->dir, e->d_name) == 0)
			unlink(path);
		if (ours)
			h->manifest.next = MAX(h->manifest.next, number + 1);
	}
	if (d)
		closedir(d);
}

int shelf_open(struct shelf *h, const char *dir, struct store *rows)
{
	uint64_t identity = 0;
	int r = rows_identity(rows, &identity);

	snprintf(h->dir, sizeof h->dir, "%s", dir);
	if (r == 0 && (manifest_read(dir, &h->manifest) < 0 || h->manifest.identity != identity))
		manifest_release(&h->manifest);
	h->manifest.identity = identity;
	h->manifest.next = MAX(h->manifest.next, 1u);
	open_parts(h);
	if (r == 0)
		r = heal(h, rows);
	sweep(h);
	return r;
}

void shelf_release(struct shelf *h)
{
	for (size_t i = 0; i < h->manifest.nparts; i++)
		segment_unref(h->segments[i]);
	manifest_release(&h->manifest);
}

/* -- changing it ------------------------------------------------------------------------------- */

static int put(struct shelf *h, struct buf *bytes)
{
	struct manifest *m = &h->manifest;
	struct segment *s = NULL;
	char path[FS_PATH];
	size_t docs;
	int r = m->nparts == SEGMENTS_MAX ? -EFBIG : index_segment(h->dir, m->next, "seg", path);

	if (r == 0)
		r = fs_replace_file(path, buf_str(bytes), false);
	/* Mapped, so that what was built need not stay in memory. */
	if (r == 0)
		r = segment_open(path, &s);
	if (r < 0)
		return r;
	docs = segment_docs(s);
	h->segments[m->nparts] = s;
	h->ndead[m->nparts] = 0;
	m->parts[m->nparts++] = (struct manifest_part){ m->next++, (uint32_t)docs, xcalloc(1, docs / 8 + 1) };
	return 0;
}

int shelf_add(struct shelf *h, const struct segment_doc *docs, size_t n)
{
	struct buf bytes = BUF_INIT(MIB(1024));
	int r;

	if (!n)
		return 0;
	segment_build(docs, n, clock_wall_us(), &bytes);
	r = put(h, &bytes);
	buf_release(&bytes);
	return r;
}

/* Its rows could not be committed, and others will have their keys. */
void shelf_undo(struct shelf *h)
{
	drop_part(h, h->manifest.nparts - 1);
	h->untidy = true;
}

/* Documents of a segment are in the order of their keys. */
static bool kill_one(struct shelf *h, size_t part, int64_t key)
{
	const struct segment *s = h->segments[part];
	size_t low = 0, high = segment_docs(s);
	uint8_t *dead = h->manifest.parts[part].dead;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (segment_key(s, mid) < key)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == segment_docs(s) || segment_key(s, low) != key)
		return false;
	if (!(dead[low / 8] >> low % 8 & 1))
		h->ndead[part]++;
	dead[low / 8] |= (uint8_t)(1U << low % 8);
	return true;
}

void shelf_kill(struct shelf *h, const int64_t *keys, size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = h->manifest.nparts; i-- > 0;)
			if (kill_one(h, i, keys[k]))
				break;
}

/* -- merging ----------------------------------------------------------------------------------- */

static bool is_rotten(const struct shelf *h, size_t i)
{
	if (h->ndead[i] && (h->manifest.parts[i].docs < FEW_DOCS || !live_docs(h, i)))
		return true;
	return h->ndead[i] >= DEAD_LEAST && h->ndead[i] * DEAD_SHARE >= h->manifest.parts[i].docs;
}

/* As many of those that want it as fit into one; the files of the old ones stay until they are not named any more. */
static bool merge_some(struct shelf *h)
{
	struct segment *from[SEGMENTS_MAX];
	const uint8_t *dead[SEGMENTS_MAX];
	size_t places[SEGMENTS_MAX], n = 0, docs = 0;
	struct buf bytes = BUF_INIT(MIB(1024));
	bool rotten = false, done;

	for (size_t i = 0; i < h->manifest.nparts; i++) {
		bool wants = is_rotten(h, i) || live_docs(h, i) < SMALL_DOCS;

		if (!wants || docs + live_docs(h, i) > SEGMENT_DOCS_MAX)
			continue;
		rotten |= is_rotten(h, i);
		docs += live_docs(h, i);
		from[n] = h->segments[i];
		dead[n] = h->manifest.parts[i].dead;
		places[n++] = i;
	}
	if (n <= SMALL_MAX && !rotten)
		return false;
	segment_merge(from, dead, n, clock_wall_us(), &bytes);
	done = !docs || put(h, &bytes) == 0;
	buf_release(&bytes);
	while (done && n-- > 0)
		drop_part(h, places[n]);
	h->untidy |= done;
	return done;
}

bool shelf_tidy(struct shelf *h)
{
	bool merged = false;

	for (int i = 0; i < SEGMENTS_MAX && merge_some(h); i++)
		merged = true;
	return merged;
}

/* -- publishing -------------------------------------------------------------------------------- */

int shelf_publish(struct shelf *h, struct store *rows)
{
	struct buf b = BUF_INIT(MIB(4));
	char path[FS_PATH];
	int r = rows_count(rows, &h->manifest);

	h->manifest.updated_us = clock_wall_us();
	manifest_format(&h->manifest, &b);
	if (r == 0)
		r = index_file(h->dir, "manifest", path);
	if (r == 0)
		r = fs_replace_file(path, buf_str(&b), false);
	buf_release(&b);
	if (r == 0 && h->untidy) {
		h->untidy = false;
		sweep(h);
	}
	return r;
}

/* -- indexes of what is gone ------------------------------------------------------------------- */

/* The directory it was made from is not there, and nobody has changed it for a while. A disk that is not mounted today
 * may be tomorrow. */
static bool is_abandoned(const char *dir)
{
	struct buf root = BUF_INIT(FS_PATH);
	char path[FS_PATH];
	struct stat st;
	bool gone = index_file(dir, "root", path) == 0 && fs_read_file(path, &root) == 0 && root.len &&
		stat(root.p, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);

	buf_release(&root);
	return gone && index_file(dir, "manifest", path) == 0 && stat(path, &st) == 0 &&
		clock_wall_us() / USEC_PER_SEC - st.st_mtim.tv_sec > ABANDONED_S;
}

static void remove_index(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[FS_PATH];

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && fs_join(path, dir, e->d_name) == 0)
			unlink(path);
	if (d)
		closedir(d);
	rmdir(dir);
}

void index_sweep(const char *all)
{
	DIR *d = opendir(all);
	struct dirent *e;
	char path[FS_PATH];

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && fs_join(path, all, e->d_name) == 0 && is_abandoned(path)) {
			log_info(LOG_STORE, "%s is removed: what it was made from is gone", path);
			remove_index(path);
		}
	if (d)
		closedir(d);
}
