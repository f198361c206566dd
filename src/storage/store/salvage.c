/* Recovery: a damaged store is set aside, never deleted, and what can be read of it is read.
 *
 * Reading continues where SQLite gives up: events are read upwards until an error, then behind the bad place in
 * growing steps, then downwards from the end; if that did not go smoothly, carve.c looks at the bare pages, and
 * remains.c at what they tell of events that are gone. A row that comes twice costs a look at its key. Two views of the
 * file are tried, with its WAL and without, because it may be the WAL that is wrong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "json/json.h"
#include "store/carve.h"
#include "store/internal.h"

enum {
	SALVAGE_MS = 120000, /* in all; the rest stays in the file that was set aside */
	PROBES_MAX = 4096,   /* jumps over bad places */
	SESSIONS_MAX = 1000000,
};

/* -- setting aside ----------------------------------------------------------------------------- */

int store_set_aside_as(const char *path, const char *name)
{
	static const char *const tails[] = { "-wal", "-shm", "-journal", "" }; /* what belongs to it goes first */
	char from[FS_PATH + 16], to[FS_PATH + 16];
	int r = 0;

	for (size_t i = 0; i < countof(tails) && r == 0; i++) {
		snprintf(from, sizeof from, "%s%s", path, tails[i]);
		snprintf(to, sizeof to, "%s%s", name, tails[i]);
		if (rename(from, to) == 0)
			chmod(to, 0600);
		else if (errno != ENOENT)
			r = -errno;
	}
	return r == 0 && access(name, F_OK) < 0 ? -ENOENT : r;
}

int store_set_aside(const char *path, const char *what, char ret[4096])
{
	char when[CLOCK_TEXT];
	int r;

	store_time_name(when);
	if (snprintf(ret, FS_PATH, "%s.%s-%s", path, what, when) >= FS_PATH)
		return -ENAMETOOLONG;
	r = store_set_aside_as(path, ret);
	if (r == -ENOENT)
		ret[0] = 0;
	return r;
}

int store_rescue(struct store *s, const char *to)
{
	unlink(to);
	return store_copy_into(s, to);
}

/* -- salvage ----------------------------------------------------------------------------------- */

struct owner {
	int64_t key;
	str agent, native;
};

struct dig {
	struct store *from, *into;
	struct arena arena, row; /* owners; one row */
	struct owner *owners;
	size_t nowners, cap;
	int (*take)(const struct record *r, void *arg);
	void *arg;
	int64_t until_us, low, high; /* events up to low and from high on have been read */
	bool sorted;                 /* owners */
	bool smooth;                 /* every row could be read */
	bool truest;                 /* this view of the file is the first, in which what is missing is looked for */
	struct remains remains;
	int (*leave)(const struct record *r, void *arg);
	struct salvage *result;
};

static int by_key(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void add_owner(int64_t key, str agent, str native, void *arg)
{
	struct dig *d = arg;

	if (d->nowners == SESSIONS_MAX)
		return;
	d->sorted = false;
	if (d->nowners == d->cap)
		d->owners = xrealloc(d->owners, (d->cap = d->cap ? d->cap * 2 : 64) * sizeof *d->owners);
	d->owners[d->nowners++] = (struct owner){ key, arena_str(&d->arena, agent), arena_str(&d->arena, native) };
}

/* In whatever order they can be had; those that come twice do no harm. */
static void read_owners(struct dig *d)
{
	static const char *const orders[] = {
		"SELECT key, agent, native_id FROM sessions ORDER BY key",
		"SELECT key, agent, native_id FROM sessions ORDER BY key DESC",
	};
	int got = -1;

	for (size_t i = 0; i < countof(orders) && got != 0; i++) {
		struct query *q = store_query(d->from, orders[i]);

		while ((got = query_step(q)) == 1)
			add_owner(query_int(q, 0), query_str(q, 1), query_str(q, 2), d);
		query_reset(q);
	}
	d->smooth = got == 0;
}

static str session_in(struct dig *d, str payload)
{
	struct json *root = NULL;
	struct err err;

	if (json_parse(&d->row, payload, JSON_LENIENT_UTF8, &root, &err) < 0)
		return STR("");
	payload = json_str(json_get(root, STR("session_id")));
	return str_is_set(payload) ? payload : STR("");
}

/* Whose event it is: by the sessions that can be read, else by what the payload says. The label of a session
 * that is known under another one gives way by itself. */
static void find_owner(struct dig *d, int64_t key, struct record *r)
{
	struct owner wanted = { .key = key }, *o;

	if (!d->sorted && d->nowners)
		qsort(d->owners, d->nowners, sizeof *d->owners, by_key);
	d->sorted = true;
	o = d->nowners ? bsearch(&wanted, d->owners, d->nowners, sizeof wanted, by_key) : NULL;
	if (o && !str_empty(o->agent)) {
		r->agent = o->agent;
		r->session = o->native;
	} else {
		r->agent = STR("generic");
		r->session = session_in(d, r->payload);
	}
}

static void add_name(int64_t seq, str id, void *arg)
{
	struct dig *d = arg;

	if (d->truest)
		remains_add_name(&d->remains, seq, id);
}

/* Comes after all events: what is known by now needs no trace. */
static int take_trace(const struct carved_trace *t, void *arg)
{
	struct dig *d = arg;
	struct record whose = { 0 }, made[REMAINS_MAX];
	int n, r = 0;

	if (!d->truest)
		return 0;
	arena_reset(&d->row);
	find_owner(d, t->session, &whose);
	/* Without its session an event is nobody's. */
	n = str_empty(whose.session) ? 0 : remains_make(&d->remains, t, whose.agent, whose.session, &d->row, made);
	for (int i = 0; i < n && r == 0; i++)
		r = d->leave(&made[i], d->arg);
	return r;
}

/* Older stores have no blocks. */
#define SALVAGE_COLUMNS                                                                       \
	"seq, id, ord, at, session, kind, native, tool, tool_use_id, agent_id, marks, host, " \
	"CASE WHEN typeof(payload) = 'integer' THEN payload_text(payload) ELSE payload END"

/* The payload as text; false: it cannot be read. */
static bool read_payload(struct dig *d, const struct carved_event *e, str *ret)
{
	*ret = e->payload;
	if (str_is_set(e->block))
		return packer_unpack_from(d->into->packer, e->block, e->place, ret) == 0;
	if (payload_is_packed(e->payload))
		return packer_unpack(d->into->packer, e->payload, ret) == 0;
	/* Where a file ends in the middle of a page SQLite reads zeros. */
	return !str_empty(e->payload) && e->payload.p[e->payload.n - 1];
}

/* Passes one row to take(). The bytes are copied first: folding may use the same SQL text again. */
static int take_event(const struct carved_event *e, void *arg)
{
	struct dig *d = arg;
	struct record r = { .order_us = e->ord, .at_us = e->at, .marks = (unsigned)e->marks };
	str payload;
	int got;

	if (e->id.n != ULID_BYTES || !read_payload(d, e, &payload))
		return 0;
	arena_reset(&d->row);
	memcpy(r.id.b, e->id.p, ULID_BYTES);
	r.kind = event_kind_by_name(e->kind);
	r.native = arena_str(&d->row, str_empty(e->native) ? e->kind : e->native);
	r.tool_name = arena_str(&d->row, e->tool);
	r.tool_use_id = arena_str(&d->row, e->tool_use_id);
	r.agent_id = arena_str(&d->row, e->agent_id);
	r.host = arena_str(&d->row, e->host);
	r.payload = arena_str(&d->row, payload);
	find_owner(d, e->session, &r);
	got = d->take(&r, d->arg);
	if (got < 0)
		return got;
	d->result->read++;
	*(got ? &d->result->fresh : &d->result->known) += 1;
	return 0;
}

static int take_row(struct dig *d, struct query *q)
{
	const struct carved_event e = { .seq = query_int(q, 0),
		.id = query_str(q, 1),
		.ord = query_int(q, 2),
		.at = query_int(q, 3),
		.session = query_int(q, 4),
		.kind = query_str(q, 5),
		.native = query_str(q, 6),
		.tool = query_str(q, 7),
		.tool_use_id = query_str(q, 8),
		.agent_id = query_str(q, 9),
		.marks = query_int(q, 10),
		.host = query_str(q, 11),
		.payload = query_str(q, 12) };

	/* A payload whose pages are gone reads as nothing. */
	d->smooth = d->smooth && !str_empty(e.payload) && e.payload.p[e.payload.n - 1];
	return take_event(&e, d);
}

static bool out_of_time(struct dig *d)
{
	if (clock_mono_us() < d->until_us)
		return false;
	d->result->cut = true;
	return true;
}

/* Reads from one place on. 1: to the end; 0: an error on the way; -errno: from take(). */
static int read_run(struct dig *d, bool up)
{
	struct query *q = store_ask(d->from,
		up ? "SELECT " SALVAGE_COLUMNS " FROM events WHERE seq > ?1 AND seq < ?2 ORDER BY seq"
		   : "SELECT " SALVAGE_COLUMNS " FROM events WHERE seq > ?1 AND seq < ?2 ORDER BY seq DESC",
		"ii", d->low, d->high);
	int got = 0, r = 0;

	while (r == 0 && !out_of_time(d) && (got = query_step(q)) == 1) {
		*(up ? &d->low : &d->high) = query_int(q, 0);
		r = take_row(d, q);
	}
	query_reset(q);
	return r < 0 ? r : got == 0;
}

static int dig_events(struct dig *d)
{
	int64_t step = 1, before;
	int r = read_run(d, true);

	d->smooth = d->smooth && r == 1;
	if (r == 0)
		r = read_run(d, false);
	/* Behind the first bad page and before the last: a leaf that is gone takes its neighbours' numbers
	 * only. */
	for (int probe = 0; r == 0 && probe < PROBES_MAX && d->high - d->low > step && !out_of_time(d); probe++) {
		before = d->low;
		d->low += step;
		r = read_run(d, true);
		step = d->low > before + step ? 1 : step * 2;
	}
	return r < 0 ? r : 0;
}

/* What only the user could enter again. */
static void dig_facts(struct dig *d)
{
	struct query *q =
		store_query(d->from, "SELECT name, value FROM facts WHERE name NOT IN ('capture', 'recovery')");

	while (query_step(q) == 1)
		(void)store_do(d->into, "INSERT INTO facts(name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING", "ss",
			query_str(q, 0), query_str(q, 1));
	query_reset(q);
	q = store_query(d->from, "SELECT path, name, created_at FROM projects WHERE named");
	while (query_step(q) == 1)
		(void)store_do(d->into,
			"INSERT INTO projects(path, name, named, created_at) VALUES (?1, ?2, 1, ?3) "
			"ON CONFLICT(path) DO UPDATE SET name = ?2, named = 1",
			"ssi", query_str(q, 0), query_str(q, 1), query_int(q, 2));
	query_reset(q);
}

static bool has_time(void *arg)
{
	return !out_of_time(arg);
}

/* Through SQLite as long as it goes. */
static int dig_by_sql(struct dig *d, const char *path, bool wal)
{
	int r = store_open_still(path, wal, &d->from);

	d->smooth = false;
	if (r < 0)
		return 0; /* not even that: nothing to be had this way */
	/* SQLite refuses a file that is shorter than its header says, except to who may write schemas. */
	sqlite3_db_config(d->from->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	(void)store_exec(d->from, "PRAGMA writable_schema = ON");
	d->low = 0;
	d->high = INT64_MAX;
	read_owners(d);
	dig_facts(d);
	r = dig_events(d);
	store_close(d->from);
	return r;
}

static int dig_view(struct dig *d, const char *path, bool wal)
{
	const struct carve_sink sink = { .event = take_event,
		.session = add_owner,
		.name = add_name,
		.trace = take_trace,
		.go_on = has_time,
		.arg = d };
	int r = dig_by_sql(d, path, wal);

	if (r == 0 && !d->smooth)
		r = carve(path, wal, &sink);
	d->nowners = 0;
	d->truest = false;
	return r;
}

int store_salvage(const char *damaged, struct store *into, const struct salvage_sink *sink, struct salvage *ret)
{
	struct dig d = { .into = into,
		.take = sink->take,
		.leave = sink->leave,
		.arg = sink->arg,
		.truest = sink->leave != NULL,
		.remains = { .into = into },
		.result = ret,
		.until_us = clock_mono_us() + SALVAGE_MS * USEC_PER_MSEC };
	char wal[FS_PATH + 8];
	struct stat st;
	int r = 0;

	*ret = (struct salvage){ 0 };
	snprintf(wal, sizeof wal, "%s-wal", damaged);
	if (stat(wal, &st) == 0 && st.st_size > 0)
		r = dig_view(&d, damaged, true);
	if (r == 0)
		r = dig_view(&d, damaged, false);
	remains_count(&d.remains, &ret->left, &ret->missing);
	remains_release(&d.remains);
	arena_release(&d.arena);
	arena_release(&d.row);
	free(d.owners);
	return r;
}
