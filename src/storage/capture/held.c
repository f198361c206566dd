/* Sessions held in memory while a batch is folded.
 *
 * Nearly all events of a burst are tool calls, and all that most of them change in their session's row is a count and
 * a time. Looking the row up and writing it, with two of its indexes, would cost more than the call's own row. So the
 * row is written when the batch ends, or before any other kind of event looks at it. */
#include <stdio.h>

#include "capture/internal.h"

static bool is_plain(const struct record *r)
{
	return (r->kind == EVENT_PRE_TOOL_USE || r->kind == EVENT_POST_TOOL_USE ||
		       r->kind == EVENT_POST_TOOL_USE_FAILURE) &&
		!(r->marks & (EVENT_SPOOLED | EVENT_IMPORTED | EVENT_UNFOLDED | EVENT_TWIN));
}

static int flush(struct store *s, struct held_session *h)
{
	int r;

	if (!h->unsaved)
		return 0;
	r = store_do(s,
		"UPDATE sessions SET tools = ?2, events = events + ?3, last_id = ?5, last_ord = ?4, "
		"  started_at = min(started_at, ?6), last_at = max(last_at, ?7), ended_at = NULL, status = 'active', "
		"  closed_by = NULL, end_reason = NULL, hidden = 0 WHERE key = ?1",
		"iiiibii", h->session.key, h->session.tools, h->events, h->session.last_ord, h->session.last_id.b,
		(size_t)ULID_BYTES, h->first_at, h->last_at);
	h->unsaved = false;
	return r;
}

int held_release(struct capture *c, struct store *s)
{
	int r = 0;

	for (size_t i = 0; i < c->nheld && r == 0; i++)
		r = flush(s, &c->held[i]);
	c->nheld = 0;
	return r;
}

void held_forget(struct capture *c)
{
	c->nheld = 0;
}

/* FNV-1a; two transcripts of one session do not collide by chance. */
static uint64_t hash_of(str s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
	return h;
}

static struct held_session *find_held(struct step *t)
{
	for (size_t i = 0; i < t->capture->nheld; i++) {
		struct held_session *h = &t->capture->held[i];

		if (h->native_bytes == t->record.session.n &&
			memcmp(h->native, t->record.session.p, h->native_bytes) == 0 &&
			str_eq(str_of(h->agent), t->record.agent))
			return h;
	}
	return NULL;
}

int held_find(struct step *t)
{
	struct held_session *h;
	int r;

	t->may_hold = is_plain(&t->record) && !t->capture->careful;
	h = t->may_hold ? find_held(t) : NULL;
	/* Overtaken by one that is held: what is asked next is asked of the rows. */
	if (h && session_is_behind(&h->session, &t->record)) {
		t->session = h->session;
		return 1;
	}
	r = t->may_hold && !h ? 0 : held_release(t->capture, t->store);
	t->may_hold &= !h;
	return r;
}

static bool is_unchanged(const struct session *a, const struct session *b)
{
	return a->project == b->project && a->window == b->window && a->batch == b->batch &&
		a->last_batch == b->last_batch && a->prompts == b->prompts;
}

int held_take(struct step *t)
{
	struct held_session *h = t->may_hold ? find_held(t) : NULL;
	str transcript = session_transcript(&t->event);

	if (!h)
		return 0;
	if (t->retells || !is_unchanged(&h->session, &t->session) ||
		(!str_empty(transcript) && h->transcript != hash_of(transcript)))
		return flush(t->store, h);
	if (!h->unsaved) {
		h->events = 0;
		h->first_at = h->last_at = t->record.at_us;
	}
	h->unsaved = true;
	h->events += !t->same_as;
	h->first_at = MIN(h->first_at, t->record.at_us);
	h->last_at = MAX(h->last_at, t->record.at_us);
	h->session = t->session;
	h->session.last_ord = t->record.order_us;
	h->session.last_id = t->record.id;
	return 1;
}

int held_keep(struct step *t)
{
	struct capture *c = t->capture;
	struct held_session *h = t->may_hold ? find_held(t) : NULL;
	str transcript = session_transcript(&t->event);
	int r = 0;

	if (!t->may_hold || t->late_batch || t->retells || !t->session.project || str_empty(t->record.session) ||
		t->record.session.n > sizeof h->native || t->record.agent.n >= sizeof h->agent)
		return r;
	if (!h && c->nheld == HELD_MAX)
		r = held_release(c, t->store);
	if (!h)
		h = &c->held[c->nheld++];
	*h = (struct held_session){ .session = t->session };
	h->session.last_ord = t->record.order_us;
	h->session.last_id = t->record.id;
	h->native_bytes = t->record.session.n;
	memcpy(h->native, t->record.session.p, h->native_bytes);
	snprintf(h->agent, sizeof h->agent, STR_FMT, STR_ARG(t->record.agent));
	h->transcript = hash_of(transcript);
	return r;
}
