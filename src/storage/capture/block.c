/* Blocks: payloads of one session and one commit are stored together.
 *
 * Nearly everything a payload says, its session's other payloads say as well: ids, paths, the input of a call before
 * and after it. Packed together they take a third. What was stored is never packed anew: a batch that is folded
 * lazily has enough of each session, and what comes alone is stored by itself.
 *
 * A block belongs to one session, and goes with it. When events of a session are to be deleted or moved one by one, its
 * blocks are dissolved first. Those of no session, memories, are stored by themselves. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "capture/internal.h"

/* A batch of more bytes than this, or the one after it, must not take longer than needed. */
enum { BURST = KIB(1024) };

static int close_block(struct capture *c, struct store *s, struct open_block *o)
{
	int r;

	/* One by itself needs no block. */
	if (o->block.n == 1)
		r = store_do(s, "UPDATE events SET payload = ?2 WHERE seq = ?1", "ip", o->seq,
			buf_str(&o->block.texts));
	else
		r = o->block.n ? store_write_block(s, &o->block, MAX(c->added, c->added_before) > BURST) : 0;
	o->block.n = 0;
	buf_clear(&o->block.texts);
	return r;
}

static void forget_open(struct capture *c)
{
	for (size_t i = 0; i < c->nopen; i++)
		buf_release(&c->open[i].block.texts);
	c->nopen = 0;
	c->last_block = 0;
}

/* The oldest one with several payloads. */
static struct open_block *first_open(struct capture *c)
{
	struct open_block *first = NULL;

	for (size_t i = 0; i < c->nopen; i++)
		if (c->open[i].block.n > 1 && (!first || c->open[i].block.number < first->block.number))
			first = &c->open[i];
	return first;
}

/* Up to this number, in their order: what is only ever added at the end of a table fills its pages. */
static int close_until(struct capture *c, struct store *s, int64_t number)
{
	struct open_block *o;
	int r = 0;

	while (r == 0 && (o = first_open(c)) && o->block.number <= number)
		r = close_block(c, s, o);
	return r;
}

static int close_all(struct capture *c, struct store *s)
{
	int r = close_until(c, s, INT64_MAX);

	for (size_t i = 0; i < c->nopen && r == 0; i++)
		r = close_block(c, s, &c->open[i]);
	forget_open(c);
	return r;
}

int block_release(struct capture *c, struct store *s)
{
	int r = close_all(c, s);

	if (c->added)
		c->added_before = c->added;
	c->added = 0;
	return r;
}

void block_forget(struct capture *c)
{
	forget_open(c);
	c->added = 0;
}

/* One of its own, also among blocks that are still open. */
static int next_number(struct step *t, int64_t *ret)
{
	struct capture *c = t->capture;
	int r = c->last_block ? 0 : store_last_block(t->store, &c->last_block);

	*ret = ++c->last_block;
	return r;
}

static struct open_block *find_open(struct step *t)
{
	for (size_t i = 0; i < t->capture->nopen; i++)
		if (t->capture->open[i].session == t->session.key)
			return &t->capture->open[i];
	return NULL;
}

/* *ret: the session's block, if there is room for the text in it. */
static int open_for(struct step *t, str text, struct open_block **ret)
{
	struct capture *c = t->capture;
	struct open_block *o = find_open(t);
	int r = 0;

	if (o && !payload_block_fits(&o->block, text))
		r = close_until(c, t->store, o->block.number);
	else if (!o && c->nopen == BLOCKS_OPEN)
		r = close_all(c, t->store);
	if (r == 0 && !o) {
		o = &c->open[c->nopen++];
		*o = (struct open_block){ .session = t->session.key };
		buf_init(&o->block.texts, LIMIT_RECORD);
	}
	if (r == 0 && !o->block.n)
		r = next_number(t, &o->block.number);
	*ret = r == 0 && payload_block_fits(&o->block, text) ? o : NULL;
	return r;
}

int block_add(struct step *t, int64_t *ret)
{
	bool alone = !t->session.key || t->capture->careful || t->record.marks & EVENT_UNFOLDED ||
		str_empty(t->record.payload);
	struct open_block *o = NULL;
	int r = alone ? 0 : open_for(t, t->record.payload, &o);

	t->capture->added += o ? t->record.payload.n : 0;
	*ret = o ? payload_block_add(&o->block, t->record.payload) : 0;
	return r;
}

void block_note(struct step *t)
{
	struct open_block *o = find_open(t);

	if (o)
		o->seq = t->seq;
}

/* The numbers of the session's blocks, to be freed. */
static int list_blocks(struct store *s, int64_t session, int64_t **ret, size_t *ret_n)
{
	struct query *q = store_ask(s,
		"SELECT DISTINCT payload / 64 FROM events WHERE session = ?1 AND "
		"typeof(payload) = 'integer'",
		"i", session);
	size_t n = 0, cap = 0;
	int got;

	*ret = NULL;
	while ((got = query_step(q)) == 1) {
		if (n == cap)
			*ret = xrealloc(*ret, (cap = cap ? cap * 2 : 64) * sizeof **ret);
		(*ret)[n++] = query_int(q, 0);
	}
	query_reset(q);
	*ret_n = n;
	return got;
}

static int delete_blocks(struct store *s, const int64_t *numbers, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = store_delete_block(s, numbers[i]);
	return r;
}

int block_drop(struct store *s, int64_t session)
{
	_cleanup_(freep) int64_t *numbers = NULL;
	size_t n = 0;
	int r = list_blocks(s, session, &numbers, &n);

	return r < 0 ? r : delete_blocks(s, numbers, n);
}

int block_dissolve(struct capture *c, struct store *s, int64_t session)
{
	_cleanup_(freep) int64_t *numbers = NULL;
	size_t n = 0;
	int r = block_release(c, s);

	if (r == 0)
		r = list_blocks(s, session, &numbers, &n);
	if (r == 0)
		r = store_do(s,
			"UPDATE events SET payload = payload_pack(payload) WHERE session = ?1 AND "
			"typeof(payload) = 'integer'",
			"i", session);
	return r < 0 ? r : delete_blocks(s, numbers, n);
}
