/* Telling what is new.
 *
 * Whether an event repeats another one, and what turn it belongs to, may be known only after its session has been
 * folded again, and payloads are written in blocks. So events are noted as they come and read back when all rows are
 * there. */
#include <stdlib.h>

#include "base/alloc.h"
#include "capture/internal.h"

void capture_listen(struct capture *c, const struct capture_listener *l)
{
	c->listener = *l;
}

void capture_hush(struct capture *c, bool hush)
{
	c->hushed = hush;
}

void tell_later(struct step *t)
{
	struct capture *c = t->capture;

	if (!c->listener.wants || c->hushed || t->record.marks & (EVENT_IMPORTED | EVENT_TWIN) ||
		!c->listener.wants(&t->record, c->listener.arg))
		return;
	if (c->nnews == c->news_cap)
		c->news = xrealloc(c->news, (c->news_cap = c->news_cap ? c->news_cap * 2 : 16) * sizeof *c->news);
	c->news[c->nnews++] = t->seq;
}

/* 1: it is in t; 0: it is gone, or repeats another one. */
static int read_event(struct step *t, int64_t seq)
{
	struct query *q = store_ask(t->store,
		"SELECT s.key, s.agent, s.native_id FROM events e JOIN sessions s ON s.key = e.session WHERE "
		"e.seq = ?1 AND e.same_as IS NULL",
		"i", seq);
	str agent = STR_NONE, native = STR_NONE;
	int got = query_step(q);

	if (got == 1) {
		t->session.key = query_int(q, 0);
		agent = arena_str(t->arena, query_str(q, 1));
		native = arena_str(t->arena, query_str(q, 2));
	}
	query_reset(q);
	if (got != 1)
		return got;
	q = store_ask(t->store, "SELECT " FOLD_COLUMNS " FROM events WHERE seq = ?1", "i", seq);
	got = query_step(q);
	if (got == 1)
		fold_read_row(t, q, agent, native);
	query_reset(q);
	return got;
}

static int tell_one(struct capture *c, struct store *s, int64_t seq)
{
	struct step t = { .capture = c, .store = s, .arena = &c->arena };
	int got;

	arena_reset(&c->arena);
	got = read_event(&t, seq);
	if (got != 1)
		return got;
	fold_parse(&t);
	return c->listener.tell(s,
		&(struct captured){ .session = t.session.key,
			.record = &t.record,
			.event = &t.event,
			.arena = &c->arena },
		c->listener.arg);
}

int tell_now(struct capture *c, struct store *s)
{
	int r = 0;

	for (size_t i = 0; i < c->nnews && r == 0; i++)
		r = tell_one(c, s, c->news[i]);
	if (r == 0)
		c->nnews = 0;
	return r;
}

void tell_forget(struct capture *c)
{
	c->nnews = 0;
	if (c->listener.forget)
		c->listener.forget(c->listener.arg);
}
