/* Records that cannot be folded are set aside, so that they do not block others.
 *
 * Such a record keeps its row in `events`, marked EVENT_UNFOLDED; no projection is made from it. If even that row
 * cannot be made, its bytes go to `quarantine`. Both are retried when the fold has changed, or by hand (rebuild). */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "capture/internal.h"

/* -- putting aside ----------------------------------------------------------------------------- */

static int put_bytes_aside(struct store *s, const struct record *r, const char *why)
{
	struct buf bytes = BUF_INIT(LIMIT_RECORD);
	int got = record_encode(r, &bytes);

	if (got == 0)
		got = store_do(s, "INSERT INTO quarantine(at, why, release, record) VALUES (?1, ?2, ?3, ?4)", "issb",
			clock_wall_us(), str_of(why), STR(HOOKD_VERSION), bytes.p, bytes.len);
	buf_release(&bytes);
	return got;
}

static int undo_record(struct capture *c, struct store *s)
{
	capture_forget(c);
	return store_exec(s, "ROLLBACK TO record");
}

/* Only the event; no handler has seen it. */
static int keep_event(struct capture *c, struct store *s, const struct record *r)
{
	struct step t = { .capture = c, .store = s, .arena = &c->arena, .record = *r };
	int got;

	t.record.marks |= EVENT_UNFOLDED;
	got = session_find(s, &t.record, &t.session);
	return got < 0 ? got : fold_insert_event(&t);
}

static int put_aside(struct capture *c, struct store *s, const struct record *r, int cause)
{
	char why[256], id[ULID_TEXT + 1];
	int got;

	snprintf(why, sizeof why, "%s", store_failure(s, cause));
	ulid_format(&r->id, id);
	got = undo_record(c, s);
	if (got == 0)
		got = keep_event(c, s, r);
	if (got == 0) {
		log_error(LOG_STORE, "event %s cannot be folded: %s; it is kept, but only in the list of events", id,
			why);
		return CAPTURE_KEPT;
	}
	if (store_is_environment(got))
		return got;
	got = undo_record(c, s);
	if (got == 0)
		got = put_bytes_aside(s, r, why);
	if (got == 0)
		log_error(LOG_STORE, "event %s cannot be stored: %s; its bytes are kept in quarantine", id, why);
	return got < 0 ? got : CAPTURE_KEPT;
}

int capture_fold_carefully(struct capture *c, struct store *s, const struct record *r)
{
	int result, done, got = store_exec(s, "SAVEPOINT record");

	if (got < 0)
		return got;
	c->careful = true;
	result = capture_fold(c, s, r);
	if (result >= 0) {
		got = capture_finish(c, s);
		result = got < 0 ? got : result;
	}
	c->careful = false;
	if (result < 0 && !store_is_environment(result))
		result = put_aside(c, s, r, result);
	if (result < 0)
		return result;
	done = store_exec(s, "RELEASE record");
	return done < 0 ? done : result;
}

int aside_apply(struct step *t)
{
	char why[256], id[ULID_TEXT + 1];
	int got, r;

	if (!t->capture->careful)
		return fold_apply(t);
	got = store_exec(t->store, "SAVEPOINT event");
	if (got < 0)
		return got;
	r = fold_apply(t);
	if (r < 0 && !store_is_environment(r)) {
		snprintf(why, sizeof why, "%s", store_failure(t->store, r));
		ulid_format(&t->record.id, id);
		r = store_exec(t->store, "ROLLBACK TO event");
		if (r == 0)
			r = store_do(t->store, "UPDATE events SET marks = marks | ?2 WHERE seq = ?1", "ii", t->seq,
				(int64_t)EVENT_UNFOLDED);
		log_error(LOG_STORE, "event %s cannot be folded again: %s", id, why);
	}
	if (r < 0)
		return r;
	return store_exec(t->store, "RELEASE event");
}

/* -- trying again ------------------------------------------------------------------------------ */

int aside_clear_marks(struct store *s)
{
	return store_do(s, "UPDATE events SET marks = marks & ~128 WHERE marks & 128", "");
}

/* One of the quarantined up to `last`. 1: there was one; it is folded now, or in quarantine again under a new
 * number. */
static int retry_one(struct capture *c, struct store *s, int64_t last)
{
	struct buf bytes = BUF_INIT(LIMIT_RECORD);
	struct query *q =
		store_ask(s, "SELECT id, record FROM quarantine WHERE id <= ?1 ORDER BY id LIMIT 1", "i", last);
	struct record r;
	int64_t id = 0;
	int got = query_step(q);

	if (got == 1) {
		id = query_int(q, 0);
		buf_add_str(&bytes, query_str(q, 1));
	}
	query_reset(q);
	if (got == 1 && record_decode(buf_str(&bytes), &r) == 0) {
		got = store_do(s, "DELETE FROM quarantine WHERE id = ?1", "i", id);
		if (got == 0)
			got = capture_fold_carefully(c, s, &r);
		got = got < 0 ? got : 1;
	} else if (got == 1) {
		got = 0; /* of a later release */
	}
	buf_release(&bytes);
	return got;
}

int aside_retry(struct capture *c, struct store *s)
{
	int64_t last = 0;
	int got = store_number(s, &last, "SELECT max(id) FROM quarantine", "");

	while (got == 1 && last)
		got = retry_one(c, s, last);
	return got < 0 ? got : 0;
}
