/* Sessions: who they are, what they are called, where they came from. */
#include <errno.h>

#include "capture/internal.h"

/* One native id under two labels is one session. The more specific label stays: a named agent before claude (whose
 * hooks other agents run as well), anything before generic. An agent with an unknown name counts as a named agent.
 * */
static int label_rank(str agent)
{
	const struct agent *a = agent_find(agent);

	return str_empty(agent) || str_eq_nocase(agent, str_of(a->name)) ? a->rank : 2;
}

#define SESSION_COLUMNS                                                                \
	"key, project, window, batch, last_batch, prompts, tools, last_ord, last_id, " \
	"EXISTS (SELECT 1 FROM decisions d WHERE d.session = sessions.key), doing, doing_at"

static void read_session(struct query *q, struct session *ret)
{
	str last_id = query_str(q, 8);

	*ret = (struct session){ .key = query_int(q, 0),
		.project = query_int(q, 1),
		.window = query_int(q, 2),
		.batch = query_int(q, 3),
		.last_batch = query_int(q, 4),
		.prompts = query_int(q, 5),
		.tools = query_int(q, 6),
		.last_ord = query_int(q, 7),
		.judged = query_int(q, 9),
		.doing = (enum agent_status)query_int(q, 10),
		.doing_at_us = query_int(q, 11) };
	if (last_id.n == ULID_BYTES)
		memcpy(ret->last_id.b, last_id.p, ULID_BYTES);
}

bool session_is_behind(const struct session *s, const struct record *r)
{
	return s->last_ord != r->order_us ? s->last_ord < r->order_us : memcmp(s->last_id.b, r->id.b, ULID_BYTES) < 0;
}

int session_load(struct store *s, int64_t key, struct session *ret)
{
	struct query *q = store_ask(s, "SELECT " SESSION_COLUMNS " FROM sessions WHERE key = ?1", "i", key);
	int got = query_step(q);

	if (got == 1)
		read_session(q, ret);
	query_reset(q);
	return got == 1 ? 0 : got < 0 ? got : -ENOENT;
}

/* Under another label, when one of the two is the kind that is reported for others. */
static int find_other_label(struct store *s, const struct record *r, str native, struct session *ret)
{
	struct query *q;
	int got, rank = label_rank(r->agent);
	int64_t key = 0;
	bool rename = false;

	if (str_empty(native))
		return 0;
	q = store_ask(s, "SELECT key, agent FROM sessions WHERE native_id = ?1 AND agent <> ?2", "ss", native,
		r->agent);
	while ((got = query_step(q)) == 1 && !key) {
		int other = label_rank(query_str(q, 1));

		/* Two named agents that happen to use one id are two sessions. */
		if (rank == 2 && other == 2)
			continue;
		key = query_int(q, 0);
		rename = rank > other;
	}
	query_reset(q);
	if (got < 0)
		return got;
	if (!key)
		return 0;
	if (rename)
		got = store_do(s, "UPDATE sessions SET agent = ?2 WHERE key = ?1", "is", key, r->agent);
	if (got == 0 || got == 1)
		got = session_load(s, key, ret);
	return got < 0 ? got : 1;
}

int session_find(struct store *s, const struct record *r, struct session *ret)
{
	str native = str_is_set(r->session) ? r->session : STR("");
	struct query *q = store_ask(s, "SELECT " SESSION_COLUMNS " FROM sessions WHERE agent = ?1 AND native_id = ?2",
		"ss", r->agent, native);
	int got = query_step(q);

	if (got == 1)
		read_session(q, ret);
	query_reset(q);
	if (got == 0)
		got = find_other_label(s, r, native, ret);
	if (got != 0)
		return got < 0 ? got : 0;
	got = store_do(s, "INSERT INTO sessions(agent, native_id, started_at, last_at) VALUES (?1, ?2, ?3, ?3)", "ssi",
		r->agent, native, r->at_us);
	if (got < 0)
		return got;
	*ret = (struct session){ .key = store_last_rowid(s), .fresh = true };
	return 0;
}

/* -- threads of subagents ---------------------------------------------------------------------- */

bool session_is_outside(const struct record *r)
{
	return r->kind == EVENT_TURN_COMPLETE || str_starts(r->native, STR(TELEMETRY_PREFIX));
}

void session_note_thread(struct step *t)
{
	if (t->record.kind != EVENT_TURN_COMPLETE && session_is_outside(&t->record) && str_empty(t->event.agent_id))
		t->event.agent_id = t->record.agent_id;
}

int session_find_thread(struct step *t)
{
	int64_t key = 0;
	int got;

	if (!session_is_outside(&t->record) || str_empty(t->record.session))
		return 0;
	got = store_number(t->store, &key,
		"SELECT w.session FROM windows w JOIN sessions s ON s.key = w.session WHERE "
		"w.agent_id = ?1 AND s.agent = ?2 "
		"ORDER BY w.session LIMIT 1",
		"ss", t->record.session, t->record.agent);
	if (got != 1)
		return got;
	t->record.agent_id = t->record.session;
	session_note_thread(t);
	got = session_load(t->store, key, &t->session);
	return got < 0 ? got : 1;
}

/* Only what was reported outside the hooks moves: a thread that somebody resumed by hand is a session as well. */
int session_adopt_thread(struct step *t, str thread)
{
	int64_t stray = 0, left = 0;
	int got = store_number(t->store, &stray,
		"SELECT key FROM sessions WHERE agent = (SELECT agent FROM sessions WHERE key = ?1) AND native_id = ?2 "
		"AND key <> ?1",
		"is", t->session.key, thread);

	if (got == 1)
		got = block_dissolve(t->capture, t->store, stray);
	if (got < 0 || !stray)
		return got;
	got = store_do(t->store,
		"UPDATE events SET session = ?1, agent_id = ?3 WHERE session = ?2 AND "
		"(kind = 'TurnComplete' OR native GLOB '" TELEMETRY_PREFIX "*')",
		"iis", t->session.key, stray, thread);
	if (got < 0 || !store_changes(t->store))
		return got;
	rewind_note(t->capture, t->session.key);
	got = store_number(t->store, &left, "SELECT 1 FROM events WHERE session = ?1 LIMIT 1", "i", stray);
	if (got == 1)
		rewind_note(t->capture, stray);
	if (got != 0)
		return got < 0 ? got : 0;
	got = rewind_clear(t->store, stray);
	if (got == 0)
		got = store_do(t->store, "UPDATE sessions SET parent = NULL, parent_reason = NULL WHERE parent = ?1",
			"i", stray);
	return got < 0 ? got : store_do(t->store, "DELETE FROM sessions WHERE key = ?1", "i", stray);
}

/* -- what an event says of its session --------------------------------------------------------- */

/* The directory says which project; the first one a session was seen in stays. */
static int find_project(struct step *t)
{
	if (t->session.project || str_empty(t->event.cwd))
		return 0;
	return project_of(t->store, t->event.cwd, t->record.at_us, &t->session.project);
}

/* Apart from the rest of the row: SQLite guards an update that names a reference to another table with a savepoint,
 * at which FTS5 writes out all the words it has gathered, and that would happen with every event. */
static int save_project(struct step *t)
{
	return store_do(t->store, "UPDATE sessions SET project = ?2 WHERE key = ?1", "ik", t->session.key,
		t->session.project);
}

/* The model that the session continues with, according to the event. */
static str model_of(const struct event *e)
{
	if (e->kind == EVENT_SESSION_START)
		return json_str(json_get(e->payload, STR("model")));
	return e->kind == EVENT_POST_MODEL_SWITCH ? json_str(json_get(e->payload, STR("to_model"))) : STR_NONE;
}

/* Inside a subagent some agents name the subagent's own transcript. */
str session_transcript(const struct event *e)
{
	return str_empty(e->agent_id) || e->kind == EVENT_SUBAGENT_STOP ? e->transcript_path : STR_NONE;
}

int session_save(struct step *t)
{
	const struct record *r = &t->record;
	const struct event *e = &t->event;
	bool ended = r->kind == EVENT_SESSION_END;
	int64_t known;
	int got;

	if (session_is_apart(r->kind))
		return store_do(t->store,
			"UPDATE sessions SET started_at = min(started_at, ?2), last_at = max(last_at, ?2) "
			"WHERE key = ?1",
			"ii", t->session.key, r->at_us);
	known = t->session.project;
	got = find_project(t);
	if (got < 0)
		return got;
	/* A late event changes nothing that came after it. */
	if (t->late_batch)
		return store_do(t->store,
			"UPDATE sessions SET tools = ?2, events = events + 1, transcript = "
			"coalesce(transcript, ?3) WHERE key = ?1",
			"iis", t->session.key, t->session.tools, session_transcript(e));
	got = held_take(t);
	if (got != 0)
		return MIN(got, 0);
	got = t->session.project != known ? save_project(t) : 0;
	if (got < 0)
		return got;
	got = store_do(t->store,
		"UPDATE sessions SET window = ?2, batch = ?3, last_batch = ?4, prompts = ?5, tools = ?6, "
		"  last_id = CASE WHEN (last_ord, coalesce(last_id, x'')) < (?7, ?8) THEN ?8 ELSE last_id END, "
		"  last_ord = max(last_ord, ?7), events = events + ?9, "
		"  started_at = min(started_at, ?10), last_at = max(last_at, ?10), "
		"  cwd = coalesce(cwd, ?11), transcript = coalesce(?12, transcript), "
		"  ended_at = CASE WHEN ?13 THEN ?10 WHEN ?16 THEN ended_at END, "
		"  status = CASE WHEN ?13 THEN 'completed' WHEN ?16 THEN status ELSE 'active' END, "
		"  closed_by = CASE WHEN ?13 THEN 'end' WHEN ?16 THEN closed_by END, "
		"  end_reason = CASE WHEN ?13 THEN ?14 WHEN ?16 THEN end_reason END, hidden = 0, "
		"  model = coalesce(?15, model) WHERE key = ?1",
		"ikkkiiibiississi", t->session.key, t->session.window, t->session.batch, t->session.last_batch,
		t->session.prompts, t->session.tools, r->order_us, r->id.b, (size_t)ULID_BYTES, (int64_t)!t->same_as,
		r->at_us, e->cwd, session_transcript(e), (int64_t)ended, e->reason, model_of(e), (int64_t)t->retells);
	return got < 0 ? got : held_keep(t);
}

/* -- parents ----------------------------------------------------------------------------------- */

/* A cleared session and the one that follows it are linked by whichever of the two events comes later:
 * the end looks for a start behind it, the start for an end before it. */
int session_link_parent(struct step *t)
{
	bool start = t->record.kind == EVENT_SESSION_START;
	int64_t other = 0;
	int got;

	if (!str_eq(start ? t->event.source : t->event.reason, STR("clear")))
		return 0;
	got = store_number(t->store, &other,
		start ? "SELECT s.key FROM sessions s WHERE s.agent = (SELECT agent FROM sessions WHERE key = "
			"?1) AND s.key <> ?1 "
			"  AND s.end_reason = 'clear' AND s.cwd = ?2 AND s.ended_at BETWEEN ?3 - ?4 AND ?3 + "
			"?4 "
			"ORDER BY s.ended_at DESC LIMIT 1"
		      : "SELECT s.key FROM sessions s JOIN windows w ON w.session = s.key WHERE s.agent = "
			"(SELECT agent FROM sessions WHERE key = ?1) "
			"  AND s.key <> ?1 AND s.parent IS NULL AND w.source = 'clear' AND s.cwd = ?2 AND "
			"s.started_at BETWEEN ?3 - ?4 AND ?3 + ?4 "
			"ORDER BY s.started_at LIMIT 1",
		"isii", t->session.key, t->event.cwd, t->record.at_us, (int64_t)CLEAR_WITHIN_US);
	if (got <= 0)
		return got;
	return store_do(t->store, "UPDATE sessions SET parent = ?2, parent_reason = 'clear' WHERE key = ?1", "ii",
		start ? t->session.key : other, start ? other : t->session.key);
}
