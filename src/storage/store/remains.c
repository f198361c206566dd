/* What is left of an event whose own row is gone.
 *
 * Activities and batches repeat the greater part of a tool call or a prompt, on other pages. Their keys say which event
 * made them, and the index of events has its id. So the event comes back under its own id, shortened to what they hold
 * and marked EVENT_CUT. Should the journal or a backup still have the whole one, that one is known first, and wins. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "event/event.h"
#include "json/json.h"
#include "store/carve.h"
#include "store/internal.h"

enum { NAMES_MAX = 1 << 20 };

void remains_add_name(struct remains *m, int64_t seq, str id)
{
	struct event_name *n;

	if (m->n == NAMES_MAX || id.n != ULID_BYTES)
		return;
	if (m->n == m->cap)
		m->names = xrealloc(m->names, (m->cap = m->cap ? m->cap * 2 : 256) * sizeof *m->names);
	n = &m->names[m->n++];
	*n = (struct event_name){ .seq = seq };
	memcpy(n->id.b, id.p, ULID_BYTES);
	m->sorted = false;
}

static int by_seq(const void *a, const void *b)
{
	const struct event_name *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static struct event_name *find_name(struct remains *m, int64_t seq)
{
	const struct event_name wanted = { .seq = seq };

	if (!m->sorted && m->n)
		qsort(m->names, m->n, sizeof *m->names, by_seq);
	m->sorted = true;
	return m->n ? bsearch(&wanted, m->names, m->n, sizeof wanted, by_seq) : NULL;
}

static bool is_known(struct store *s, const struct ulid *id)
{
	int64_t seq;

	return store_number(s, &seq, "SELECT seq FROM events WHERE id = ?1", "b", (const void *)id->b,
		       (size_t)ULID_BYTES) == 1;
}

/* Which halves of a call the new store has already. */
static void known_halves(struct store *s, const struct carved_trace *t, str agent, str session, bool *ret_start,
	bool *ret_end)
{
	struct query *q = store_ask(s,
		"SELECT a.started_at, a.ended_at FROM sessions AS s JOIN activities AS a ON a.session = s.key "
		"WHERE s.agent = ?1 AND s.native_id = ?2 AND a.same = ?3",
		"sss", agent, session, t->same);

	*ret_start = *ret_end = false;
	if (query_step(q) == 1) {
		*ret_start = query_int(q, 0) != 0;
		*ret_end = query_int(q, 1) != 0;
	}
	query_reset(q);
}

static enum event_kind kind_of(const struct carved_trace *t, bool end)
{
	if (!t->is_call)
		return event_kind_by_name(t->kind);
	if (!end)
		return EVENT_PRE_TOOL_USE;
	if (str_eq(t->state, STR("denied")))
		return EVENT_PERMISSION_DENIED;
	return str_eq(t->state, STR("failed")) ? EVENT_POST_TOOL_USE_FAILURE : EVENT_POST_TOOL_USE;
}

static str payload_of(const struct carved_trace *t, const struct record *r, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_RECORD);
	struct json_writer w = JSON_WRITER(&b);
	bool prompt = r->kind == EVENT_USER_PROMPT_SUBMIT;
	str text;

	jw_object(&w);
	jw_field_str(&w, "session_id", r->session);
	jw_field_str(&w, "hook_event_name", r->native);
	jw_field_str(&w, "tool_name", r->tool_name);
	jw_field_str(&w, "tool_use_id", r->tool_use_id);
	if (str_is_set(t->input)) {
		jw_key(&w, "tool_input");
		jw_stored(&w, t->input);
	}
	if (r->kind != EVENT_PRE_TOOL_USE)
		jw_field_str(&w, prompt ? "prompt" : t->is_call ? "tool_response" : "message", t->text);
	jw_end_object(&w);
	text = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

static bool make(const struct carved_trace *t, bool end, str agent, str session, struct arena *a, struct record *ret)
{
	enum event_kind kind = kind_of(t, end);
	str id = t->is_call && !str_starts(t->same, STR("~")) ? arena_str(a, t->same) : STR_NONE;

	*ret = (struct record){ .order_us =
					end && t->started_at ? t->ord + MAX(t->ended_at - t->started_at, 0) : t->ord,
		.at_us = end && t->ended_at ? t->ended_at : t->started_at,
		.kind = kind,
		.marks = EVENT_CUT,
		.agent = agent,
		.session = session,
		.native = str_of(event_kinds[kind].name),
		.agent_id = arena_str(a, t->agent_id),
		.tool_name = arena_str(a, t->tool),
		.tool_use_id = id };
	ret->payload = payload_of(t, ret, a);
	return kind != EVENT_UNKNOWN && !(event_kinds[kind].flags & EVENT_IS_OWN) && !str_empty(ret->payload);
}

int remains_make(struct remains *m, const struct carved_trace *t, str agent, str session, struct arena *a,
	struct record ret[REMAINS_MAX])
{
	struct event_name *name = find_name(m, t->seq);
	bool known, start = false, end = false;
	int n = 0;

	if (!name)
		return 0;
	known = is_known(m->into, &name->id);
	if (t->is_call && !str_starts(t->same, STR("~")))
		known_halves(m->into, t, agent, session, &start, &end);
	else if (known)
		return 0;
	if ((t->started_at || !t->is_call) && !start)
		n += make(t, false, agent, session, a, &ret[n]);
	if (t->is_call && t->ended_at && !end)
		n += make(t, true, agent, session, a, &ret[n]);
	/* Whose event made the row is not said; if that one is known, this is the other half. */
	for (int i = 0; i < n; i++)
		ret[i].id = i || known ? ulid_derive(&name->id, ret[i].native) : name->id;
	name->left |= n > 0;
	return n;
}

void remains_count(struct remains *m, unsigned *ret_left, unsigned *ret_missing)
{
	*ret_left = *ret_missing = 0;
	for (size_t i = 0; i < m->n; i++)
		if (!is_known(m->into, &m->names[i].id))
			*(m->names[i].left ? ret_left : ret_missing) += 1;
}

void remains_release(struct remains *m)
{
	free(m->names);
	*m = (struct remains){ 0 };
}
