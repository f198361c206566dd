/* Reading rows without a schema.
 *
 * When page 1 or the schema is gone, SQLite reads nothing, though most pages are as they were. Rows of events and
 * sessions have shapes that nothing else in a store has (a blob of sixteen bytes behind an empty key, a status of two
 * known words), so every leaf page is looked at, whichever tree it belonged to. Where an event's own row is gone, rows
 * that were made from it still tell of it. The file has been set aside and no connection writes to it any more, so it
 * may be opened here; locks on it mean nothing. */
#include "store/carve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/limits.h"
#include "store/internal.h"

enum {
	PAGE_MAX = 65536,
	WAL_HEAD = 32,
	FRAME_HEAD = 24,
	TABLE_LEAF = 13,
	INDEX_LEAF = 10,
	LEAF_HEAD = 8,
	NAME_MAX_BYTES = 32, /* of an entry in the index of events: never on more than its page */
	FILE_HEAD = 100,     /* on page 1 */
	COLUMNS_MAX = 48,
	BLOCK_FIELDS = 2,
	PART_MIN = 16, /* bytes; rows of the full-text index have the same shape, but fewer */
	PARTS_MAX = 1 << 24,
	ID_TYPE = 12 + 2 * 16,
	PAGES_MAX = 1 << 20, /* 16 GiB */
};

struct place {
	int fd; /* -1: nowhere */
	off_t at;
};

struct field {
	uint64_t type;
	const uint8_t *p;
	size_t n;
};

/* Where a row of `blocks` lies. */
struct part_place {
	int64_t key;
	uint32_t page;
	size_t at;
};

struct carving {
	size_t size;                  /* of a page */
	uint8_t *leaf, *more, *other; /* one page each */
	struct part_place *parts;
	size_t nparts, cap;
	struct buf part, block; /* a row; all of the block that was read last */
	int64_t block_number;
	struct place *pages; /* by number, from 1 */
	uint32_t npages;
	struct buf record;
	const struct carve_sink *sink;
};

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t get_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 9 && p + i < end; i++) {
		if (i == 8) {
			*ret = value << 8 | p[i];
			return 9;
		}
		value = value << 7 | (p[i] & 0x7f);
		if (!(p[i] & 0x80)) {
			*ret = value;
			return i + 1;
		}
	}
	return 0;
}

/* How many bytes of the page there are: fewer than a page at the end of a file that was cut off. */
static size_t read_page(const struct carving *c, uint32_t number, uint8_t *out)
{
	const struct place *p = number && number <= c->npages ? &c->pages[number] : NULL;
	ssize_t got = p && p->fd >= 0 ? pread(p->fd, out, c->size, p->at) : -1;

	return got > 0 ? (size_t)got : 0;
}

/* -- one row ----------------------------------------------------------------------------------- */

/* How much of a row lies on its own page; the format's own arithmetic. */
static size_t local_size(size_t page, uint64_t size)
{
	size_t most = page - 35, least = (page - 12) * 32 / 255 - 23, some;

	if (size <= most)
		return (size_t)size;
	some = least + (size_t)((size - least) % (page - 4));
	return some <= most ? some : least;
}

/* The whole row, with what lies on other pages. */
static bool gather(struct carving *c, const uint8_t *p, const uint8_t *end, uint64_t size, struct buf *to)
{
	size_t local = local_size(c->size, size), some;
	uint32_t next;

	buf_clear(to);
	if (size > 2 * LIMIT_RECORD || (size_t)(end - p) < local + (local < size ? 4 : 0))
		return false;
	buf_add(to, p, local);
	for (next = local < size ? get32(p + local) : 0; to->len < size;) {
		some = MIN((size_t)(size - to->len), c->size - 4);
		if (read_page(c, next, c->more) < some + 4)
			return false;
		buf_add(to, c->more + 4, some);
		next = get32(c->more);
	}
	return !to->full;
}

/* The row in this cell of a leaf of a table. */
static bool gather_cell(struct carving *c, const uint8_t *p, const uint8_t *end, int64_t *ret_rowid, struct buf *to)
{
	uint64_t size, rowid = 0;
	size_t used = get_varint(p, end, &size), more = used ? get_varint(p + used, end, &rowid) : 0;

	*ret_rowid = (int64_t)rowid;
	return more && gather(c, p + used + more, end, size, to);
}

static size_t type_size(uint64_t type)
{
	static const uint8_t sizes[] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

	return type < 12 ? sizes[type] : (size_t)((type - 12) / 2);
}

/* The fields of a row; 0 when it is none. */
static unsigned split(const struct buf *record, struct field fields[COLUMNS_MAX])
{
	const uint8_t *p = (const uint8_t *)record->p, *end = p + record->len, *head, *body;
	uint64_t head_size = 0;
	size_t used = get_varint(p, end, &head_size);
	unsigned n = 0;

	if (!used || head_size > record->len || head_size < used)
		return 0;
	body = p + head_size;
	for (head = p + used; head < p + head_size && n < COLUMNS_MAX; n++) {
		used = get_varint(head, p + head_size, &fields[n].type);
		fields[n].n = type_size(fields[n].type);
		fields[n].p = body;
		if (!used || fields[n].n > (size_t)(end - body))
			return 0;
		head += used;
		body += fields[n].n;
	}
	return n;
}

static bool is_text(const struct field *f)
{
	return f->type >= 13 && (f->type & 1);
}

static bool is_int(const struct field *f)
{
	return (f->type >= 1 && f->type <= 6) || f->type == 8 || f->type == 9;
}

static int64_t as_int(const struct field *f)
{
	uint64_t value = f->n && (f->p[0] & 0x80) ? UINT64_MAX : 0;

	for (size_t i = 0; i < f->n; i++)
		value = value << 8 | f->p[i];
	return f->type == 9 ? 1 : (int64_t)value;
}

static str as_text(const struct field *f)
{
	return is_text(f) ? str_n((const char *)f->p, f->n) : STR_NONE;
}

/* Letters: t text, o text or nothing, i number, n number or text, m that or nothing, k number or nothing, b the key,
 * p a payload or where it is, ? anything, - the row's number, which is not stored. */
static bool has_shape(const struct field *fields, unsigned n, const char *shape)
{
	for (unsigned i = 0; shape[i]; i++) {
		const struct field *f = &fields[i];
		bool none = i < n && f->type == 0;

		if (i >= n)
			return false;
		switch (shape[i]) {
		case 't':
			if (!is_text(f))
				return false;
			break;
		case 'o':
			if (!none && !is_text(f))
				return false;
			break;
		case 'i':
			if (!is_int(f))
				return false;
			break;
		case 'n':
			if (!is_int(f) && !is_text(f))
				return false;
			break;
		case 'm':
			if (!none && !is_int(f) && !is_text(f))
				return false;
			break;
		case 'k':
			if (!none && !is_int(f))
				return false;
			break;
		case 'p':
			if (!is_text(f) && !is_int(f) && !payload_is_packed(str_n((const char *)f->p, f->n)))
				return false;
			break;
		case 'b':
			if (f->type != ID_TYPE)
				return false;
			break;
		case '?': break;
		default:
			if (!none)
				return false;
		}
	}
	return true;
}

static void offer_session(struct carving *c, int64_t key, const struct field *f, unsigned n)
{
	str status;

	if (!has_shape(f, n, "-ttootii"))
		return;
	status = as_text(&f[5]);
	if (str_eq(status, STR("active")) || str_eq(status, STR("completed")))
		c->sink->session(key, as_text(&f[1]), as_text(&f[2]), c->sink->arg);
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* The bytes of the row in buf, if it is a part of a block. STR_NONE: it is none. */
static str part_in(const struct buf *row, int64_t key)
{
	struct field f[COLUMNS_MAX];
	str bytes;

	if (key < PAYLOAD_PARTS_MAX || split(row, f) != BLOCK_FIELDS || f[0].type != 0 || f[1].type < 12 ||
		is_text(&f[1]))
		return STR_NONE;
	bytes = str_n((const char *)f[1].p, f[1].n);
	return bytes.n > PART_MIN && bytes.n <= PAYLOAD_PART && (key % PAYLOAD_PARTS_MAX || payload_is_block(bytes))
		? bytes
		: STR_NONE;
}

static void note_part(struct carving *c, int64_t key, uint32_t page, size_t at)
{
	if (!str_is_set(part_in(&c->record, key)) || c->nparts == PARTS_MAX)
		return;
	if (c->nparts == c->cap)
		c->parts = xrealloc(c->parts, (c->cap = c->cap ? c->cap * 2 : 256) * sizeof *c->parts);
	c->parts[c->nparts++] = (struct part_place){ key, page, at };
}

static int by_key(const void *a, const void *b)
{
	const struct part_place *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static const struct part_place *find_part(const struct carving *c, int64_t key)
{
	const struct part_place wanted = { .key = key };

	return c->nparts ? bsearch(&wanted, c->parts, c->nparts, sizeof wanted, by_key) : NULL;
}

static bool add_part(struct carving *c, const struct part_place *p)
{
	size_t there = read_page(c, p->page, c->other);
	int64_t key;
	str bytes;

	if (p->at >= there || !gather_cell(c, c->other + p->at, c->other + there, &key, &c->part))
		return false;
	bytes = part_in(&c->part, key);
	return str_is_set(bytes) && buf_add_str(&c->block, bytes) == 0;
}

/* Its bytes, which lie in c->block; STR_NONE: it was not found. */
static str find_block(struct carving *c, int64_t number)
{
	const struct part_place *p;

	if (number != c->block_number) {
		buf_clear(&c->block);
		c->block_number = number;
		for (int64_t i = 0; i < PAYLOAD_PARTS_MAX && (p = find_part(c, number * PAYLOAD_PARTS_MAX + i)); i++)
			if (!add_part(c, p))
				break;
	}
	return payload_is_block(buf_str(&c->block)) ? buf_str(&c->block) : STR_NONE;
}

/* -- events ------------------------------------------------------------------------------------ */

static str as_kind(const struct field *f)
{
	int64_t number = is_int(f) ? as_int(f) : 0;

	return number > 0 && number < EVENT_KIND_MAX ? str_of(event_kinds[number].name) : as_text(f);
}

static str as_tool(const struct field *f)
{
	const char *name = is_int(f) ? store_tool_name(as_int(f)) : NULL;

	return name ? str_of(name) : as_text(f);
}

static int offer_event(struct carving *c, int64_t seq, const struct field *f, unsigned n)
{
	bool old = has_shape(f, n, "-biikttoooiop"); /* schema 7 and before */
	struct carved_event e = { .seq = seq };

	if ((!old && !has_shape(f, n, "-biinktmooiop")) || n > 16)
		return 0;
	e.id = str_n((const char *)f[1].p, f[1].n);
	e.ord = as_int(&f[2]);
	e.at = old ? as_int(&f[3]) : e.ord - as_int(&f[3]);
	e.session = as_int(&f[old ? 4 : 5]);
	e.kind = old ? as_text(&f[5]) : as_kind(&f[4]);
	e.native = as_text(&f[6]);
	e.tool = as_tool(&f[7]);
	e.tool_use_id = as_text(&f[8]);
	e.agent_id = as_text(&f[9]);
	e.marks = as_int(&f[10]);
	e.host = as_text(&f[11]);
	e.payload = str_n((const char *)f[12].p, f[12].n);
	if (is_int(&f[12])) {
		e.payload = STR_NONE;
		e.block = find_block(c, as_int(&f[12]) / PAYLOAD_BLOCK_MAX);
		e.place = (unsigned)(as_int(&f[12]) % PAYLOAD_BLOCK_MAX);
	}
	return c->sink->event(&e, c->sink->arg);
}

/* Where an activity's fields lie, by schema: up to 7, 8 to 11, and from 12 on. */
static const struct activity_shape {
	const char *shape;
	uint8_t what, tool, agent_id, input, output, state, times; /* times: two fields */
	bool named, apart;                                         /* kind and state are words; times are differences */
} activity_shapes[] = {
	{ "-itkkitotoooootokkk", 6, 7, 9, 10, 11, 14, 16, true, false },
	{ "-iokkinoioooooiokkk", 6, 7, 9, 10, 11, 14, 16, false, false },
	{ "-iokkikknmioooooiok", 8, 9, 11, 12, 13, 16, 6, false, true },
};

static const struct activity_shape *shape_of_activity(const struct field *f, unsigned n)
{
	for (size_t i = 0; i < countof(activity_shapes); i++)
		if (has_shape(f, n, activity_shapes[i].shape))
			return &activity_shapes[i];
	return NULL;
}

/* The beginning lies before the place in the order, the end behind the beginning, as far as either is known; 0: it is
 * not. */
static void read_times(const struct field *lag, const struct field *took, struct carved_trace *ret)
{
	if (!lag->type || __builtin_sub_overflow(ret->ord, as_int(lag), &ret->started_at))
		ret->started_at = 0;
	if (!took->type || __builtin_add_overflow(lag->type ? ret->started_at : ret->ord, as_int(took), &ret->ended_at))
		ret->ended_at = 0;
}

static void read_activity(const struct activity_shape *a, const struct field *f, struct carved_trace *ret)
{
	static const char *const states[] = { "started", "done", "failed", "denied" };
	const struct field *what = &f[a->what], *times = &f[a->times];

	ret->session = as_int(&f[1]);
	ret->same = as_text(&f[2]);
	ret->ord = as_int(&f[5]);
	ret->is_call = a->named ? str_eq(as_text(what), STR("tool")) : is_int(what) && !as_int(what);
	ret->kind = as_kind(what);
	ret->tool = as_tool(&f[a->tool]);
	ret->agent_id = as_text(&f[a->agent_id]);
	ret->input = as_text(&f[a->input]);
	ret->text = as_text(&f[a->output]);
	ret->state = a->named ? as_text(&f[a->state]) : str_of(states[as_int(&f[a->state]) & 3]);
	ret->started_at = as_int(&times[0]);
	ret->ended_at = as_int(&times[1]);
	if (a->apart)
		read_times(&times[0], &times[1], ret);
}

/* Keys of projections are 4 * seq + n of the event that made them; those of older releases are below zero. */
static int offer_trace(struct carving *c, int64_t key, const struct field *f, unsigned n)
{
	const struct activity_shape *activity = shape_of_activity(f, n);
	struct carved_trace t = { .seq = key / 4 };

	if (key <= 0)
		return 0;
	if (activity) {
		read_activity(activity, f, &t);
		return c->sink->trace(&t, c->sink->arg);
	}
	if (!has_shape(f, n, "-ikiitto?ioiitoii"))
		return 0;
	t.session = as_int(&f[1]); /* batches */
	t.ord = as_int(&f[3]);
	t.kind = STR("UserPromptSubmit");
	t.text = as_text(&f[6]);
	t.started_at = as_int(&f[15]);
	return c->sink->trace(&t, c->sink->arg);
}

/* -- pages ------------------------------------------------------------------------------------- */

enum pass { SESSIONS, EVENTS, TRACES, PASSES };

static int offer_row(struct carving *c, enum pass pass, int64_t rowid)
{
	struct field fields[COLUMNS_MAX];
	unsigned n = split(&c->record, fields);

	switch (pass) {
	case SESSIONS: offer_session(c, rowid, fields, n); return 0;
	case EVENTS: return offer_event(c, rowid, fields, n);
	default: return c->sink->trace ? offer_trace(c, rowid, fields, n) : 0;
	}
}

/* An entry of the unique index of events: the key, and the number of the row. */
static void offer_name(struct carving *c)
{
	struct field fields[COLUMNS_MAX];

	if (c->sink->name && split(&c->record, fields) == 2 && has_shape(fields, 2, "bi"))
		c->sink->name(as_int(&fields[1]), str_n((const char *)fields[0].p, fields[0].n), c->sink->arg);
}

static int look_at_page(struct carving *c, uint32_t number, enum pass pass)
{
	const uint8_t *page = c->leaf, *end = page + read_page(c, number, c->leaf);
	size_t there = (size_t)(end - page), head = number == 1 ? FILE_HEAD : 0, cells, at, used;
	uint64_t size;
	int64_t rowid = 0;
	bool table;
	int r = 0;

	if (there < head + LEAF_HEAD)
		return 0;
	table = page[head] == TABLE_LEAF;
	if (!table && !(page[head] == INDEX_LEAF && pass == SESSIONS))
		return 0;
	cells = (size_t)page[head + 3] << 8 | page[head + 4];
	for (size_t i = 0; i < cells && head + LEAF_HEAD + 2 * i + 2 <= there && r >= 0; i++) {
		at = (size_t)page[head + LEAF_HEAD + 2 * i] << 8 | page[head + LEAF_HEAD + 1 + 2 * i];
		if (at >= there)
			continue;
		used = get_varint(page + at, end, &size);
		if (table ? !gather_cell(c, page + at, end, &rowid, &c->record)
			  : !used || size > NAME_MAX_BYTES || !gather(c, page + at + used, end, size, &c->record))
			continue;
		if (!table)
			offer_name(c);
		else
			r = offer_row(c, pass, rowid);
		if (table && pass == SESSIONS)
			note_part(c, rowid, number, at);
	}
	return r;
}

static void map_file(struct carving *c, int fd)
{
	struct stat st;
	uint32_t n = 0;

	if (fstat(fd, &st) == 0 && st.st_size > 0)
		n = (uint32_t)MIN((st.st_size + (off_t)c->size - 1) / (off_t)c->size, (off_t)PAGES_MAX);
	c->npages = n;
	c->pages = xcalloc((size_t)n + 1, sizeof *c->pages);
	for (uint32_t i = 1; i <= n; i++)
		c->pages[i] = (struct place){ fd, (off_t)(i - 1) * (off_t)c->size };
}

/* Later frames win; checksums are not looked at, because it may be them that are wrong. */
static void map_wal(struct carving *c, int fd)
{
	uint8_t head[FRAME_HEAD];
	uint32_t number;

	for (off_t at = WAL_HEAD; pread(fd, head, sizeof head, at) == sizeof head; at += FRAME_HEAD + (off_t)c->size) {
		number = get32(head);
		if (!number || number > PAGES_MAX)
			continue;
		if (number > c->npages) {
			c->pages = xrealloc(c->pages, ((size_t)number + 1) * sizeof *c->pages);
			for (uint32_t i = c->npages + 1; i <= number; i++)
				c->pages[i].fd = -1;
			c->npages = number;
		}
		c->pages[number] = (struct place){ fd, at + FRAME_HEAD };
	}
}

static int carve_with(const char *path, bool wal, size_t page, const struct carve_sink *sink)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	_close_ int wal_fd = -1;
	struct carving c = { .size = page,
		.sink = sink,
		.record = BUF_INIT(2 * LIMIT_RECORD + PAGE_MAX),
		.part = BUF_INIT(2 * LIMIT_RECORD + PAGE_MAX),
		.block = BUF_INIT(2 * LIMIT_RECORD + PAGE_MAX) };
	char name[FS_PATH + 8];
	int r = 0;

	c.leaf = xcalloc(1, page);
	c.more = xcalloc(1, page);
	c.other = xcalloc(1, page);
	snprintf(name, sizeof name, "%s-wal", path);
	if (wal)
		wal_fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	map_file(&c, fd);
	if (wal_fd >= 0)
		map_wal(&c, wal_fd);
	for (enum pass pass = SESSIONS; pass < PASSES; pass++) {
		for (uint32_t i = 1; i <= c.npages && r >= 0 && sink->go_on(sink->arg); i++)
			r = look_at_page(&c, i, pass);
		if (pass == SESSIONS && c.nparts)
			qsort(c.parts, c.nparts, sizeof *c.parts, by_key);
	}
	free(c.pages);
	free(c.leaf);
	free(c.more);
	free(c.other);
	free(c.parts);
	buf_release(&c.record);
	buf_release(&c.part);
	buf_release(&c.block);
	return r < 0 ? r : 0;
}

/* What the header says, if that can be true; else what stores have now. */
static size_t page_size(const char *path)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint8_t head[FILE_HEAD];
	size_t size = 0;

	if (fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head)
		size = (size_t)head[16] << 8 | head[17];
	return size == STORE_PAGE_BEFORE ? size : STORE_PAGE;
}

int carve(const char *path, bool wal, const struct carve_sink *sink)
{
	return carve_with(path, wal, page_size(path), sink);
}
