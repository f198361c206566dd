/* The fleet: what the agent of each session is doing, by its own events; and what Fleet events say: who has looked at
 * an agent, what is to be told to one, work that waits for one. */
#include "base/clock.h"
#include "base/limits.h"
#include "capture/internal.h"

enum { NAME_MAX_BYTES = 200, FOR_MAX = 200, TEXT_MAX = 4000, PLACE_MAX = 4096 };

/* -- what an agent is doing -------------------------------------------------------------------- */

/* What it waits for, or what went wrong, in the words of the record: secrets are gone from them. */
static str what_for(struct step *t)
{
	const struct event *e = &t->event;
	str subject = agent_status_subject(e), text = STR_NONE;

	switch (e->kind) {
	case EVENT_PERMISSION_REQUEST: text = str_empty(e->command) ? e->file_path : e->command; break;
	case EVENT_POST_TOOL_USE_FAILURE: text = e->error; break;
	case EVENT_NOTIFICATION:
	case EVENT_ELICITATION: {
		str said = json_str(json_get(e->payload, STR("message")));

		subject = str_empty(said) ? subject : said;
		break;
	}
	default: break;
	}
	if (!str_empty(text))
		subject = arena_strf(t->arena, STR_FMT ": " STR_FMT, STR_ARG(subject), STR_ARG(text));
	return str_empty(subject) ? STR_NONE : summary_cut(t->arena, subject, FOR_MAX);
}

/* Who it is, and where, is told at each start. */
static int keep_host(struct step *t)
{
	return t->record.kind != EVENT_SESSION_START
		? 0
		: store_do(t->store,
			  "UPDATE sessions SET host = coalesce((SELECT host FROM events WHERE seq = ?2), host) WHERE "
			  "key = ?1",
			  "ii", t->session.key, t->seq);
}

/* Its user was asked for something, and it went on. */
static int64_t waited(const struct session *s, enum agent_status now, int64_t at_us)
{
	bool answered =
		s->doing == AGENT_STATUS_ATTENTION && (now == AGENT_STATUS_WORKING || now == AGENT_STATUS_ERROR);

	return answered ? MAX(at_us - s->doing_at_us, 0) : 0;
}

/* Another agent has told of it: 1; 0: it is not known. */
static int set_other(struct step *t, str name, enum agent_status now)
{
	int64_t key = 0;
	int r = store_number(t->store, &key,
		"SELECT key FROM sessions WHERE doing > 0 AND last_at > ?2 AND key <> ?3 AND "
		"iif(json_valid(host), host ->> '$.env.AGENT_ID', NULL) = ?1 ORDER BY last_at DESC LIMIT 1",
		"sii", name, t->record.at_us - 86400 * (int64_t)USEC_PER_SEC, t->session.key);

	if (r <= 0)
		return r;
	r = store_do(t->store, "UPDATE sessions SET doing = ?2, doing_at = ?3, doing_for = NULL WHERE key = ?1", "iii",
		key, (int64_t)now, t->record.at_us);
	return r < 0 ? r : 1;
}

/* 1: the session is that of another agent than the one of this name, which nobody knows. */
static int is_stranger(struct step *t, str name)
{
	int64_t found = 0;

	return store_number(t->store, &found,
		"SELECT 1 FROM sessions WHERE key = ?1 AND iif(json_valid(host), host ->> '$.env.AGENT_ID', NULL) <> "
		"?2",
		"is", t->session.key, name);
}

int fleet_on_agent(struct step *t)
{
	enum agent_status now = agent_status_of(&t->event);
	str whose = agent_status_whose(&t->event);
	int64_t at_us = t->record.at_us, more;
	int r;

	/* What was read from a transcript is long over, and what comes late is not how it ended. */
	if (now == AGENT_STATUS_UNKNOWN || t->late_batch || t->retells || t->record.marks & EVENT_IMPORTED)
		return 0;
	r = str_is_set(whose) ? set_other(t, whose, now) : 0;
	if (r == 0 && str_is_set(whose))
		r = is_stranger(t, whose);
	if (r != 0 || !str_empty(t->event.agent_id))
		return MIN(r, 0);
	r = keep_host(t);
	if (r < 0 || now == t->session.doing)
		return r;
	more = waited(&t->session, now, at_us);
	t->session.doing = now;
	t->session.doing_at_us = at_us;
	return store_do(t->store,
		"UPDATE sessions SET doing = ?2, doing_at = ?3, doing_for = ?4, waited_us = waited_us + ?5 WHERE key = "
		"?1",
		"iiisi", t->session.key, (int64_t)now, at_us, what_for(t), more);
}

/* What an agent has claimed is left to others when its session ends; not when it goes on in another one, nor while
 * another session of its name is open (a program that it has run). What it claimed afterwards stays, so that folding
 * this again changes nothing. */
int fleet_on_end(struct step *t)
{
	str reason = t->event.reason;

	if (t->record.marks & EVENT_IMPORTED || str_eq(reason, STR("clear")) || str_eq(reason, STR("resume")))
		return 0;
	return store_do(t->store,
		"WITH them AS (SELECT key, ended_at, h ->> '$.env.AGENT_ID' AS id, h ->> '$.env.HOOKD_WATCH' AS watch "
		"FROM (SELECT *, iif(json_valid(host), host, NULL) AS h FROM sessions WHERE doing > 0 AND last_at > "
		"?3)) "
		"UPDATE work SET state = 'delegated', claimed_by = NULL, changed_at = ?2 WHERE state = 'claimed' AND "
		"changed_at <= ?2 AND claimed_by = (SELECT id FROM them WHERE key = ?1 AND watch "
		"IS NULL) AND NOT EXISTS (SELECT 1 FROM them WHERE id = claimed_by AND key <> ?1 "
		"AND ended_at IS NULL)",
		"iii", t->session.key, t->record.at_us, t->record.at_us - 86400 * (int64_t)USEC_PER_SEC);
}

/* -- Fleet events ------------------------------------------------------------------------------ */

static str member(const struct step *t, const char *name, size_t most)
{
	str text = json_str(json_get(t->event.payload, str_of(name)));

	return str_empty(text) ? STR_NONE : summary_cut(t->arena, text, most);
}

static int on_checked(struct step *t, const struct ulid *uid)
{
	(void)uid;
	return store_do(t->store,
		"UPDATE sessions SET checked_at = max(coalesce(checked_at, 0), ?3) WHERE agent = ?1 AND native_id = ?2",
		"ssi", member(t, "agent", NAME_MAX_BYTES), member(t, "session", NAME_MAX_BYTES), t->record.at_us);
}

/* A transcript has told, after the event, why a turn ended. */
static int on_trouble(struct step *t, const struct ulid *uid)
{
	int64_t at_us = 0;

	(void)uid;
	json_int(json_get(t->event.payload, STR("at_us")), &at_us);
	return store_do(t->store,
		"UPDATE sessions SET trouble = ?3, trouble_at = ?4 WHERE agent = ?1 AND native_id = ?2 AND "
		"coalesce(trouble_at, 0) <= ?4",
		"sssi", member(t, "agent", NAME_MAX_BYTES), member(t, "session", NAME_MAX_BYTES),
		member(t, "trouble", NAME_MAX_BYTES), at_us);
}

static int on_listen(struct step *t, const struct ulid *uid)
{
	str teller = member(t, "teller", NAME_MAX_BYTES), told = member(t, "told", NAME_MAX_BYTES);

	if (str_empty(teller) || str_empty(told))
		return 0;
	return store_do(t->store,
		"INSERT INTO listeners(uid, teller, told, status, text, asked_by, state, happened, made_at, "
		"changed_at) VALUES (?1, ?2, ?3, coalesce(?4, 'done'), coalesce(?5, ''), ?6, iif(?7 IS NULL, "
		"'waiting', 'heard'), ?7, ?8, ?8) ON CONFLICT DO NOTHING",
		"bssssssi", uid->b, (size_t)ULID_BYTES, teller, told, member(t, "status", NAME_MAX_BYTES),
		member(t, "text", TEXT_MAX), member(t, "asked_by", NAME_MAX_BYTES),
		member(t, "happened", NAME_MAX_BYTES), t->record.at_us);
}

static int set_listener(struct step *t, const struct ulid *uid, const char *state)
{
	return store_do(t->store,
		"UPDATE listeners SET state = ?2, happened = coalesce(?3, happened), changed_at = ?4 WHERE uid = ?1 "
		"AND state IN ('waiting', 'heard')",
		"bssi", uid->b, (size_t)ULID_BYTES, str_of(state), member(t, "happened", NAME_MAX_BYTES),
		t->record.at_us);
}

static int on_heard(struct step *t, const struct ulid *uid)
{
	return set_listener(t, uid, "heard");
}

static int on_told(struct step *t, const struct ulid *uid)
{
	return set_listener(t, uid, "told");
}

static int on_dropped(struct step *t, const struct ulid *uid)
{
	return set_listener(t, uid, "dropped");
}

/* Each says all that may have changed; what it is and where is said once. */
static int on_work(struct step *t, const struct ulid *uid)
{
	str task = member(t, "task", PLACE_MAX);
	int64_t n = 0, project = 0;
	int r = str_empty(task) ? 0 : project_of(t->store, task, t->record.at_us, &project);

	if (r < 0)
		return r;
	json_int(json_get(t->event.payload, STR("n")), &n);
	return store_do(t->store,
		"INSERT INTO work(uid, n, role, text, task, project, state, asked_by, claimed_by, result, made_at, "
		"changed_at) VALUES (?1, ?2, ?3, coalesce(?4, ''), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11) "
		"ON CONFLICT(uid) DO UPDATE SET state = ?7, claimed_by = ?9, result = coalesce(?10, result), "
		"changed_at = ?11 WHERE changed_at <= ?11",
		"bisssissssi", uid->b, (size_t)ULID_BYTES, n, member(t, "role", NAME_MAX_BYTES),
		member(t, "text", TEXT_MAX), task, project, member(t, "state", NAME_MAX_BYTES),
		member(t, "by", NAME_MAX_BYTES), member(t, "claimed_by", NAME_MAX_BYTES), member(t, "result", TEXT_MAX),
		t->record.at_us);
}

static const struct {
	const char *name;
	int (*apply)(struct step *t, const struct ulid *uid);
} ops[] = {
	{ "checked", on_checked },
	{ "trouble", on_trouble },
	{ "listen", on_listen },
	{ "heard", on_heard },
	{ "told", on_told },
	{ "drop", on_dropped },
	{ "work", on_work },
};

int fleet_on_event(struct step *t)
{
	str op = member(t, "op", NAME_MAX_BYTES);
	struct ulid uid = { { 0 } };

	(void)ulid_parse(member(t, "uid", NAME_MAX_BYTES), &uid);
	for (size_t i = 0; i < countof(ops); i++)
		if (str_eq(op, str_of(ops[i].name)))
			return ops[i].apply(t, &uid);
	return 0;
}

/* -- purging ----------------------------------------------------------------------------------- */

/* What holds the text goes whole, and work of a project with it. */
#define HOLDS                                                                                             \
	"(?3 IS NULL OR EXISTS (SELECT 1 FROM events e WHERE e.session IS NULL AND e.kind = 'Fleet' AND " \
	"e.tool_use_id = ulid_text(x.uid) AND instr(payload_text(e.payload), ?3))) AND (?2 = 0 OR x.changed_at < ?2)"
#define CHOSEN_WORK                                                                                                \
	"FROM work x WHERE (?1 IS NULL OR x.project IN (SELECT key FROM projects WHERE key = ?1 OR parent = ?1)) " \
	"AND " HOLDS
#define CHOSEN_LISTENERS "FROM listeners x WHERE ?1 IS NULL AND " HOLDS

static int run(struct store *s, const char *sql, const struct capture_choice *c)
{
	return store_do(s, sql, "kis", c->project, c->before_us, c->match);
}

int fleet_count_chosen(struct store *s, const struct capture_choice *c, int64_t *ret)
{
	int64_t n = 0;
	int got =
		store_number(s, &n, "SELECT (SELECT count(*) " CHOSEN_WORK ") + (SELECT count(*) " CHOSEN_LISTENERS ")",
			"kis", c->project, c->before_us, c->match);

	*ret += n;
	return MIN(got, 0);
}

int fleet_purge(struct store *s, const struct capture_choice *c, int64_t *ret)
{
	static const char *const statements[] = {
		"DELETE FROM events WHERE session IS NULL AND kind = 'Fleet' AND tool_use_id IN (SELECT "
		"ulid_text(x.uid) " CHOSEN_WORK " UNION SELECT ulid_text(x.uid) " CHOSEN_LISTENERS ")",
		"DELETE FROM work AS w WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.session IS NULL AND e.kind = "
		"'Fleet' AND e.tool_use_id = ulid_text(w.uid)) AND coalesce(?1, ?2, ?3, 0) IS NOT NULL",
		"DELETE FROM listeners AS l WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.session IS NULL AND "
		"e.kind = 'Fleet' AND e.tool_use_id = ulid_text(l.uid)) AND coalesce(?1, ?2, ?3, 0) IS NOT NULL",
		"DELETE FROM events AS e WHERE e.session IS NULL AND e.kind = 'Fleet' AND e.tool_use_id IS NULL AND "
		"?1 IS NULL AND ?2 = 0 AND instr(payload_text(e.payload), ?3)",
	};
	int r = fleet_count_chosen(s, c, ret);

	for (size_t i = 0; i < countof(statements) && r == 0; i++)
		r = run(s, statements[i], c);
	return r;
}
