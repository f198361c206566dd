/* Jobs that go out: see jobs.h.
 *
 * Streams of deliveries are the negative ones. Those of a sink follow each other, so what waits for it is one range of
 * the index jobs_stream, and the heads of its sessions are found by stepping from stream to stream. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/macro.h"
#include "jobs/jobs.h"

#define STREAMS_OF_SINK (INT64_C(1) << 40)

enum {
	DONE_KEPT_S = 7 * 86400,
	DEAD_KEPT_S = 30 * 86400,
	TIDY_AT_ONCE = 256,
	ERROR_MAX = 300,
};

/* The streams of a sink are above the first of these, and up to the second. */
static int64_t streams_after(int64_t sink)
{
	return -(sink + 1) * STREAMS_OF_SINK;
}

static int64_t streams_end(int64_t sink)
{
	return -sink * STREAMS_OF_SINK;
}

static int64_t stream_of(int64_t sink, int64_t session)
{
	return streams_after(sink) + 1 + session;
}

static bool is_among(int64_t id, const int64_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* -- adding ------------------------------------------------------------------------------------ */

int delivery_sink(struct store *s, str name, bool add, int64_t *ret)
{
	int got = store_number(s, ret, "SELECT key FROM sinks WHERE name = ?1", "s", name);

	if (got != 0 || !add)
		return got;
	got = store_do(s, "INSERT INTO sinks(name) VALUES (?1)", "s", name);
	*ret = store_last_rowid(s);
	return got < 0 ? got : 1;
}

/* The first that waits behind a place, of a later event, and was never tried; 0: none. */
static int find_later(struct store *s, const struct delivery_order *o, int64_t behind, int64_t before, int64_t *ret)
{
	*ret = 0;
	return store_number(s, ret,
		"SELECT j.id FROM jobs j JOIN deliveries d ON d.job = j.id WHERE j.state = 0 AND j.stream = ?1 AND "
		"j.tries "
		"= 0 AND j.id > ?2 AND j.id < ?3 AND d.at > ?4 ORDER BY j.id LIMIT 1",
		"iiii", stream_of(o->sink, o->session), behind, before, o->at_us);
}

/* They get new numbers, in their order: the stream goes by these. */
static int put_behind(struct store *s, const struct delivery_order *o, int64_t id, const int64_t *but, size_t nbut)
{
	int64_t last = 0, new = 0;
	int got;

	while ((got = find_later(s, o, last, id, &last)) == 1) {
		if (is_among(last, but, nbut))
			continue;
		got = store_number(s, &new, "SELECT max(id) + 1 FROM jobs", "");
		if (got == 1)
			got = store_do(s, "UPDATE jobs SET id = ?2 WHERE id = ?1", "ii", last, new);
		if (got == 0)
			got = store_do(s, "UPDATE deliveries SET job = ?2 WHERE job = ?1", "ii", last, new);
		if (got < 0)
			break;
	}
	return MIN(got, 0);
}

int delivery_add(struct store *s, const struct delivery_order *o, int64_t now_us, const int64_t *but, size_t nbut)
{
	int64_t id;
	int r = store_do(s,
		"INSERT INTO jobs(kind, subject, stream, session, version, made_at, due_at, boot) "
		"VALUES (?1, ?2, ?3, ?4, 0, ?5, ?5, iif(EXISTS (SELECT 1 FROM jobs WHERE state = 0 AND stream = ?3), "
		"NULL, ?6)) ON CONFLICT DO NOTHING",
		"ssiiik", str_of(job_kinds[JOB_DELIVER].name), o->subject, stream_of(o->sink, o->session), o->session,
		now_us, o->boot);

	if (r < 0 || !store_changes(s))
		return r;
	id = store_last_rowid(s);
	r = store_do(s, "INSERT INTO deliveries(job, sink, type, critical, at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
		"iisiip", id, o->sink, o->type, (int64_t)o->critical, o->at_us, o->body);
	if (r == 0 && o->late)
		r = put_behind(s, o, id, but, nbut);
	return r < 0 ? r : 1;
}

/* The newest of its type behind the last critical one; -1: there is none. */
static int find_older(struct store *s, const struct delivery_order *o, int64_t *ret)
{
	struct query *q = store_ask(s,
		"SELECT j.id, j.tries, d.type, d.critical FROM jobs j JOIN deliveries d ON d.job = j.id "
		"WHERE j.state = 0 AND j.stream = ?1 ORDER BY j.id DESC",
		"i", stream_of(o->sink, o->session));
	int got;

	*ret = -1;
	while ((got = query_step(q)) == 1 && !query_int(q, 3))
		if (str_eq(query_str(q, 2), o->type)) {
			*ret = query_int(q, 1) ? -1 : query_int(q, 0);
			break;
		}
	query_reset(q);
	return MIN(got, 0);
}

int delivery_coalesce(struct store *s, const struct delivery_order *o, const int64_t *but, size_t nbut)
{
	int64_t older;
	int r = find_older(s, o, &older);

	if (r < 0 || older < 0 || is_among(older, but, nbut))
		return r;
	r = store_do(s, "DELETE FROM deliveries WHERE job = ?1", "i", older);
	if (r == 0)
		r = store_do(s, "DELETE FROM jobs WHERE id = ?1", "i", older);
	if (r == 0)
		r = store_do(s, "UPDATE sinks SET coalesced = coalesced + 1 WHERE key = ?1", "i", o->sink);
	return r < 0 ? r : 1;
}

int delivery_count_dropped(struct store *s, int64_t sink)
{
	return store_do(s, "UPDATE sinks SET dropped = dropped + 1 WHERE key = ?1", "i", sink);
}

int delivery_count(struct store *s, int64_t sink, int64_t *ret_waiting, int64_t *ret_dead)
{
	int got = store_number(s, ret_waiting,
		"SELECT count(*) FROM jobs WHERE state = 0 AND stream > ?1 AND stream <= ?2", "ii", streams_after(sink),
		streams_end(sink));

	if (got >= 0)
		got = store_number(s, ret_dead,
			"SELECT count(*) FROM deliveries WHERE sink = ?1 AND dead_at IS NOT NULL", "i", sink);
	return MIN(got, 0);
}

/* -- going out --------------------------------------------------------------------------------- */

static void read_delivery(struct query *q, struct delivery *ret)
{
	*ret = (struct delivery){ .id = query_int(q, 0),
		.stream = query_int(q, 1),
		.tries = (int)query_int(q, 3),
		.due_us = query_int(q, 4),
		.boot = query_int(q, 5) };
	snprintf(ret->subject, sizeof ret->subject, STR_FMT, STR_ARG(query_str(q, 2)));
}

/* The head of the first stream after one. 1; 0: there is none up to `end`. */
static int head_after(struct store *s, int64_t after, int64_t end, struct delivery *ret)
{
	struct query *q = store_ask(s,
		"SELECT id, stream, subject, tries, due_at, boot FROM jobs WHERE state = 0 AND stream > ?1 AND stream "
		"<= ?2 "
		"ORDER BY stream, id LIMIT 1",
		"ii", after, end);
	int got = query_step(q);

	if (got == 1)
		read_delivery(q, ret);
	query_reset(q);
	return got;
}

/* From one stream on up to another. */
static int look_between(struct store *s, int64_t after, int64_t end, int64_t now_us, const int64_t *but, size_t nbut,
	struct delivery *ret, int64_t *next_us)
{
	int got;

	while ((got = head_after(s, after, end, ret)) == 1) {
		bool busy = is_among(ret->id, but, nbut);

		if (!busy && ret->due_us <= now_us)
			return 1;
		if (!busy)
			*next_us = MIN(*next_us, ret->due_us);
		after = ret->stream;
	}
	return got;
}

int delivery_next(struct store *s, int64_t sink, int64_t *stream, int64_t now_us, const int64_t *but, size_t nbut,
	struct delivery *ret, int64_t *next_us)
{
	int64_t from = MIN(MAX(*stream, streams_after(sink)), streams_end(sink));
	int got;

	*next_us = INT64_MAX;
	got = look_between(s, from, streams_end(sink), now_us, but, nbut, ret, next_us);
	if (got == 0)
		got = look_between(s, streams_after(sink), from, now_us, but, nbut, ret, next_us);
	if (got == 1)
		*stream = ret->stream;
	return got;
}

int delivery_body(struct store *s, struct delivery *d, struct buf *ret)
{
	struct query *q =
		store_ask(s, "SELECT type, at, payload_text(body) FROM deliveries WHERE job = ?1", "i", d->id);
	int got = query_step(q);

	if (got == 1 && !query_is_null(q, 2)) {
		snprintf(d->type, sizeof d->type, STR_FMT, STR_ARG(query_str(q, 0)));
		d->at_us = query_int(q, 1);
		got = buf_add_str(ret, query_str(q, 2));
	} else if (got >= 0) {
		got = -ENOENT;
	}
	query_reset(q);
	return got;
}

/* -- its beginning ----------------------------------------------------------------------------- */

static int set_boot(struct store *s, const struct delivery *d, int tries, int64_t boot, int64_t due_us)
{
	int r = store_do(s,
		"UPDATE jobs SET tries = ?3, boot = ?4, due_at = ?5 WHERE id = ?1 AND subject = ?2 AND state = 0",
		"isiki", d->id, str_of(d->subject), (int64_t)tries, boot, due_us);

	return r < 0 ? r : store_changes(s) > 0;
}

int delivery_begin(struct store *s, struct delivery *d, int64_t boot, int64_t now_us, bool *ret_died)
{
	bool lost = d->boot && d->boot != boot;

	*ret_died = lost && d->tries + 1 >= job_kinds[JOB_DELIVER].attempts;
	if (*ret_died)
		return delivery_end_dead(s, d, "hookd has ended each time that it was sent", now_us);
	d->tries += lost;
	/* Once may be chance. */
	if (lost && d->tries > 1)
		return MIN(set_boot(s, d, d->tries, 0, now_us + job_wait_us(JOB_DELIVER, d->tries)), 0);
	d->boot = boot;
	return set_boot(s, d, d->tries, boot, now_us);
}

int delivery_give_back(struct store *s, const struct delivery *d)
{
	return MIN(set_boot(s, d, d->tries, 0, d->due_us), 0);
}

int deliveries_give_back(struct store *s, int64_t boot)
{
	return store_do(s, "UPDATE jobs SET boot = NULL WHERE kind = ?1 AND state = 0 AND boot = ?2", "si",
		str_of(job_kinds[JOB_DELIVER].name), boot);
}

/* -- its end ----------------------------------------------------------------------------------- */

/* Numbers are used again, so the subject is compared as well. 1: it was there. */
static int set_state(struct store *s, const struct delivery *d, enum job_state state, int tries, const char *error,
	int64_t due_us)
{
	int r = store_do(s,
		"UPDATE jobs SET state = ?3, tries = ?4, error = ?5, due_at = ?6, boot = NULL WHERE id = ?1 AND "
		"subject = ?2 AND state = 0",
		"isiisi", d->id, str_of(d->subject), (int64_t)state, (int64_t)tries,
		error ? str_cut_utf8(str_of(error), ERROR_MAX) : STR_NONE, due_us);

	return r < 0 ? r : store_changes(s) > 0;
}

/* The one that follows it goes out next. */
static int begin_next(struct store *s, const struct delivery *d)
{
	return store_do(s,
		"UPDATE jobs SET boot = ?2 WHERE id = (SELECT id FROM jobs WHERE state = 0 AND stream = ?1 ORDER BY id "
		"LIMIT 1) AND boot IS NULL",
		"ik", d->stream, d->boot);
}

int delivery_end_done(struct store *s, const struct delivery *d, int64_t now_us)
{
	int r = set_state(s, d, JOB_DONE, d->tries + 1, NULL, now_us);

	if (r <= 0)
		return r;
	r = begin_next(s, d);
	return r < 0
		? r
		: store_do(s, "UPDATE deliveries SET done_at = ?2, body = NULL WHERE job = ?1", "ii", d->id, now_us);
}

int delivery_end_dead(struct store *s, const struct delivery *d, const char *error, int64_t now_us)
{
	int r = set_state(s, d, JOB_DEAD, d->tries + 1, error, now_us);

	if (r == 1)
		r = store_do(s, "UPDATE deliveries SET dead_at = ?2 WHERE job = ?1", "ii", d->id, now_us);
	return MIN(r, 0);
}

int delivery_end_failed(struct store *s, const struct delivery *d, const char *error, int64_t due_us, int64_t now_us)
{
	int r;

	if (d->tries + 1 >= job_kinds[JOB_DELIVER].attempts) {
		r = delivery_end_dead(s, d, error, now_us);
		return r < 0 ? r : 1;
	}
	return MIN(set_state(s, d, JOB_WAITING, d->tries + 1, error, due_us), 0);
}

/* -- people ------------------------------------------------------------------------------------ */

#define CHOSEN                                                                                                      \
	"(SELECT j.id FROM jobs j JOIN deliveries d ON d.job = j.id WHERE j.state IN (0, 3) AND (?1 = 0 OR j.id = " \
	"?1) AND (?2 = 0 OR d.sink = ?2) AND (?3 = 0 OR d.at < ?3) AND (j.state = 0 OR ?4) AND (j.state = 3 OR ?5))"

/* Parameters 1 to 5. */
static struct query *ask_chosen(struct store *s, const char *sql, const struct delivery_choice *c)
{
	bool any = !c->dead && !c->waiting;

	return store_ask(s, sql, "iiiii", c->id, c->sink, c->before_us, (int64_t)(c->dead || any),
		(int64_t)(c->waiting || any));
}

int64_t deliveries_retry(struct store *s, const struct delivery_choice *c, int64_t now_us)
{
	struct query *q;
	int64_t n;
	int r = query_run(
		ask_chosen(s, "UPDATE deliveries SET dead_at = NULL WHERE dead_at IS NOT NULL AND job IN " CHOSEN, c));

	if (r < 0)
		return r;
	q = ask_chosen(s,
		"UPDATE jobs SET state = 0, tries = iif(state = 3, 0, tries), due_at = ?6 WHERE id IN " CHOSEN, c);
	query_bind_int(q, 6, now_us);
	r = query_run(q);
	n = store_changes(s);
	return r < 0 ? r : n;
}

static int drop_orphans(struct store *s)
{
	return store_do(s, "DELETE FROM deliveries WHERE job NOT IN (SELECT id FROM jobs)", "");
}

int64_t deliveries_drop(struct store *s, const struct delivery_choice *c, bool count)
{
	struct query *q = ask_chosen(s, "SELECT count(*) FROM " CHOSEN, c);
	int64_t n = 0;
	int r = query_step(q);

	if (r == 1)
		n = query_int(q, 0);
	query_reset(q);
	if (r < 0 || count || !n)
		return r < 0 ? r : n;
	r = query_run(ask_chosen(s, "DELETE FROM jobs WHERE id IN " CHOSEN, c));
	if (r == 0)
		r = drop_orphans(s);
	return r < 0 ? r : n;
}

int deliveries_drop_match(struct store *s, int64_t session, str match)
{
	int r = store_do(s,
		"DELETE FROM jobs WHERE session = ?1 AND id IN (SELECT job FROM deliveries WHERE body IS NOT NULL AND "
		"(instr(payload_text(body), ?2) OR NOT EXISTS (SELECT 1 FROM events e WHERE e.session = ?1 AND "
		"ulid_text(e.id) = substr(jobs.subject, instr(jobs.subject, ':') + 1))))",
		"is", session, match);

	return r < 0 || !store_changes(s) ? r : drop_orphans(s);
}

/* -- time -------------------------------------------------------------------------------------- */

static int tidy_some(struct store *s, const char *jobs, const char *deliveries, int64_t before_us)
{
	int r = store_do(s, jobs, "ii", before_us, (int64_t)TIDY_AT_ONCE);

	return r < 0 || !store_changes(s) ? r : store_do(s, deliveries, "i", before_us);
}

/* Of a sink that is not configured any more, or down for that long. */
static int give_up_old(struct store *s, int64_t before_us, int64_t now_us)
{
	int r = store_do(s,
		"UPDATE deliveries SET dead_at = ?2 WHERE job IN (SELECT id FROM jobs WHERE state = 0 AND kind = ?3 "
		"AND "
		"made_at < ?1 LIMIT ?4)",
		"iisi", before_us, now_us, str_of(job_kinds[JOB_DELIVER].name), (int64_t)TIDY_AT_ONCE);

	if (r < 0 || !store_changes(s))
		return r;
	return store_do(s,
		"UPDATE jobs SET state = 3, error = coalesce(error, 'it could not be sent for a month') WHERE state = "
		"0 "
		"AND kind = ?1 AND made_at < ?2 AND id IN (SELECT job FROM deliveries WHERE dead_at IS NOT NULL)",
		"si", str_of(job_kinds[JOB_DELIVER].name), before_us);
}

int deliveries_tidy(struct store *s, int64_t now_us)
{
	int r = tidy_some(s,
		"DELETE FROM jobs WHERE id IN (SELECT job FROM deliveries WHERE done_at < ?1 ORDER BY done_at LIMIT "
		"?2)",
		"DELETE FROM deliveries WHERE done_at < ?1 AND job NOT IN (SELECT id FROM jobs)",
		now_us - DONE_KEPT_S * USEC_PER_SEC);

	if (r == 0)
		r = give_up_old(s, now_us - DEAD_KEPT_S * USEC_PER_SEC, now_us);
	if (r == 0)
		r = tidy_some(s,
			"DELETE FROM jobs WHERE id IN (SELECT job FROM deliveries WHERE dead_at < ?1 LIMIT ?2)",
			"DELETE FROM deliveries WHERE dead_at < ?1 AND job NOT IN (SELECT id FROM jobs)",
			now_us - DEAD_KEPT_S * USEC_PER_SEC);
	return r;
}
