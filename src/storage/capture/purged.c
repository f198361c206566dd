/* What was purged and must not come back: agents keep their own logs, and importing those would bring it all back.
 *
 * A tombstone is a fact whose name is a hash: of a session (agent and native id), or of one event (its key, and what
 * it is beyond its key, because the log's copy of what a hook reported has another one). Nothing can be read from it.
 * Of a session only what happened before the purge is kept out: the work may continue. Live events are never kept
 * out. */
#include "base/sha256.h"
#include "capture/internal.h"

enum { NAME_BYTES = sizeof "purged:" + 32 };

struct naming {
	struct sha256 sum;
	char name[NAME_BYTES];
};

static void name_add(struct naming *n, str piece)
{
	sha256_add(&n->sum, piece.n ? piece.p : "", piece.n);
	sha256_add(&n->sum, "", 1); /* ends the piece: "a" "bc" is not "ab" "c" */
}

static void name_begin(struct naming *n, const char *what, str agent, str native)
{
	sha256_init(&n->sum);
	name_add(n, str_of(what));
	name_add(n, agent);
	name_add(n, native);
}

static str name_end(struct naming *n)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];

	sha256_end(&n->sum, digest);
	sha256_hex(digest, hex);
	snprintf(n->name, sizeof n->name, "purged:%.32s", hex);
	return str_of(n->name);
}

static str session_name(struct naming *n, str agent, str native)
{
	name_begin(n, "session", agent, native);
	return name_end(n);
}

static str event_name(struct naming *n, const struct record *r)
{
	name_begin(n, "event", r->agent, r->session);
	name_add(n, str_n((const char *)r->id.b, ULID_BYTES));
	return name_end(n);
}

/* The content of an event, whatever reported it. STR_NONE: only its key identifies it. */
static str meaning_name(struct naming *n, struct step *t)
{
	const struct record *r = &t->record;
	const struct event *e = &t->event;
	str call = e->tool_use_id, to;

	switch (r->kind) {
	case EVENT_USER_PROMPT_SUBMIT:
		name_begin(n, "prompt", r->agent, r->session);
		name_add(n, e->prompt);
		return name_end(n);
	case EVENT_STOP:
	case EVENT_STOP_FAILURE:
	case EVENT_TURN_COMPLETE:
	case EVENT_SUBAGENT_STOP:
		name_begin(n, "answer", r->agent, r->session);
		name_add(n, e->message);
		return str_empty(e->message) ? STR_NONE : name_end(n);
	case EVENT_PRE_TOOL_USE:
	case EVENT_POST_TOOL_USE:
	case EVENT_POST_TOOL_USE_FAILURE:
		(void)activity_pair_range(t, &call, &to);
		name_begin(n, r->kind == EVENT_PRE_TOOL_USE ? "call" : "result", r->agent, r->session);
		name_add(n, call);
		return name_end(n);
	default: return STR_NONE;
	}
}

static int set_stone(struct store *s, str name, int64_t now_us)
{
	if (!str_is_set(name))
		return 0;
	return store_do(s, "INSERT INTO facts(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2",
		"si", name, now_us);
}

int purged_note_session(struct store *s, str agent, str native, int64_t now_us)
{
	struct naming n;

	return set_stone(s, session_name(&n, agent, native), now_us);
}

int purged_note_event(struct step *t, int64_t now_us)
{
	struct naming n;
	int r = set_stone(t->store, event_name(&n, &t->record), now_us);

	return r < 0 ? r : set_stone(t->store, meaning_name(&n, t), now_us);
}

/* 1: there is a tombstone of from_us or later. */
static int has_stone(struct store *s, str name, int64_t from_us)
{
	int64_t yes = 0;
	int got = !str_is_set(name)
		? 0
		: store_number(s, &yes, "SELECT CAST(value AS INTEGER) >= ?2 FROM facts WHERE name = ?1", "si", name,
			  from_us);

	return got < 0 ? got : yes != 0;
}

int purged_is_kept_out(struct step *t)
{
	struct capture *c = t->capture;
	struct naming n;
	int64_t any = 0;
	int r;

	if (!(t->record.marks & EVENT_IMPORTED) || c->purges == PURGES_NONE)
		return 0;
	if (c->purges == PURGES_UNKNOWN) {
		r = store_number(t->store, &any,
			"SELECT EXISTS (SELECT 1 FROM facts WHERE name >= 'purged:' AND name < 'purged;')", "");
		if (r < 0)
			return r;
		c->purges = any ? PURGES_SOME : PURGES_NONE;
		if (!any)
			return 0;
	}
	r = has_stone(t->store, session_name(&n, t->record.agent, t->record.session), t->record.at_us);
	if (r == 0)
		r = has_stone(t->store, event_name(&n, &t->record), 0);
	if (r == 0)
		r = has_stone(t->store, meaning_name(&n, t), t->record.at_us);
	return r;
}
