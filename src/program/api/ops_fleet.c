/* The fleet: who works, who waits for its user, who is stuck; somebody has looked; "tell me when that one stops". */
#include <errno.h>
#include <stdlib.h>

#include "api/ops.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/fleet.h"

enum { STUCK_MINUTES = 10, CHECKED_MAX = 64, GONE_US = 3600 * 1000000u };

/* -- list -------------------------------------------------------------------------------------- */

static const struct op_column agent_columns[] = { { "agent", 's' }, { "program", 's' }, { "label", 's' },
	{ "project", 's' }, { "cwd", 's' }, { "session", 's' }, { "title", 's' }, { "pane", 's' }, { "parent", 's' },
	{ "manages", 's' }, { "status", 's' }, { "since_us", 'i' }, { "last_us", 'i' }, { "for", 's' },
	{ "stuck", 's' }, { "subagents", 'i' }, { "waited_us", 'i' }, { "effort", 's' }, { "ordinal", 'i' },
	{ "skill", 's' }, { "phase", 's' }, { "ended", 'b' }, { 0 } };

#define VARIABLE(name) "(h ->> '$.env." name "')"

/* The formatter breaks SQL between macros into pieces of a few letters. */
/* clang-format off */
/* Names of variables by which a place on a screen is known, as agents.c of fleet/ has them. */
#define AT(name) "'at ' || " VARIABLE(name)

#define THEM                                                                                                 \
	"them AS (SELECT s.*, iif(json_valid(s.host), s.host, NULL) AS h FROM sessions s WHERE s.doing > 0 " \
	"AND s.last_at > ?1 AND " OP_NOT_DOCTOR                                                              \
	"AND (?5 IS NULL OR s.project IN (SELECT key FROM projects WHERE key = ?5 OR parent = ?5)))"
#define WHO                                                                                             \
	"coalesce('id ' || " VARIABLE("AGENT_ID") ", " AT("TMUX") " || " VARIABLE("TMUX_PANE") ", " AT( \
		"KITTY_WINDOW_ID") ", " AT("WEZTERM_PANE") ", " AT("WT_SESSION") ", " AT("SSH_TTY") ", 's ' || key)"
#define KNOWN                                                                                                     \
	"known AS (SELECT *, " VARIABLE("AGENT_ID") " AS id, " VARIABLE("TMUX_PANE") " AS pane, "                 \
	VARIABLE("AGENT_LABEL") " AS label, " VARIABLE("AGENT_PARENT") " AS parent_agent, "                       \
	VARIABLE("AGENT_MANAGES") " AS manages, " WHO " AS who FROM them)"
/* An agent is its newest session. Who looked after it stopped has checked it. */
#define RANKED                                                                                                    \
	"ranked AS (SELECT *, row_number() OVER (PARTITION BY who ORDER BY last_at DESC, key DESC) AS place, "    \
	"iif(doing <> 3 AND checked_at >= doing_at, 2, doing) AS now FROM known)"
#define STATUS                                                                                                    \
	"CASE s.now WHEN 1 THEN 'done' WHEN 2 THEN 'checked' WHEN 3 THEN 'working' WHEN 4 THEN 'attention' "      \
	"ELSE 'error' END"
/* What its transcript said of the end of its turn. */
#define FOUND_LATER "iif(s.trouble_at >= s.doing_at, s.trouble, NULL)"
#define STUCK                                                                                                     \
	"CASE WHEN s.now <> 2 AND s.doing_for IN ('rate_limit', 'context_full') THEN s.doing_for "                \
	"WHEN s.now = 1 THEN " FOUND_LATER " "                                                                    \
	"WHEN s.now = 3 AND s.last_at < ?2 - ?3 THEN 'silent' END"
#define SUBAGENTS                                                                                                 \
	"(SELECT count(*) FROM windows v WHERE v.session = s.key AND v.agent_id IS NOT NULL AND v.ended_at "      \
	"IS NULL AND s.ended_at IS NULL)"
#define LAST_WINDOW                                                                                               \
	"(SELECT id FROM effort_windows x WHERE x.session = s.native_id AND x.agent = s.agent AND "               \
	"x.agent_id IS NULL ORDER BY started_at DESC LIMIT 1)"

/* ?1 since, ?2 now, ?3 how long without an event is stuck, ?4 all, ?5 project, ?6 limit, ?7 when those that have ended
 * are not shown any more. */
static const char list_sql[] =
	"WITH " THEM ", " KNOWN ", " RANKED
	" SELECT coalesce(s.id, s.pane, s.native_id), s.agent, s.label, p.name, s.cwd, s.native_id, s.title, s.pane,"
	" s.parent_agent, s.manages, " STATUS ", s.doing_at, s.last_at,"
	" coalesce(s.doing_for, iif(s.doing = 1, " FOUND_LATER ", NULL)), " STUCK " AS stuck, " SUBAGENTS
	", s.waited_us, ulid_text(f.uid), f.ordinal, f.skill, f.phase, s.ended_at IS NOT NULL"
	" FROM ranked s LEFT JOIN projects p ON p.key = s.project"
	" LEFT JOIN effort_windows w ON w.id = " LAST_WINDOW
	" LEFT JOIN efforts f ON f.uid = w.effort AND f.state = 'active'"
	" WHERE s.place = 1 AND (?4 OR s.ended_at IS NULL OR (s.now <> 2 AND s.ended_at > ?7))"
	" ORDER BY s.now DESC, stuck IS NULL, s.doing_at LIMIT ?6";
/* clang-format on */

int op_fleet_list(struct op_call *call)
{
	int64_t now = clock_wall_us();
	int64_t since = op_int(call, "since") ? op_int(call, "since") : now - (int64_t)86400 * USEC_PER_SEC;
	int r;

	jw_object(call->w);
	jw_field_int(call->w, "now_us", now);
	r = op_write_list(call, "agents",
		store_ask(call->store, list_sql, "iiiikii", since, now,
			op_int(call, "stuck") * 60 * (int64_t)USEC_PER_SEC, (int64_t)op_bool(call, "all"),
			op_int(call, "project"), op_int(call, "limit"), now - (int64_t)GONE_US),
		agent_columns);
	jw_end_object(call->w);
	return r;
}

/* -- what is noted on the loop ------------------------------------------------------------------- */

/* Records of one operation on their way into the journal, and the answer that follows. */
struct note {
	struct request *later;
	struct arena *arena; /* the call's: it lives until the answer */
	struct engine *engine;
	struct record records[CHECKED_MAX];
	size_t n;
	str answer;
};

static void noted(bool stored, void *arg)
{
	struct note *n = arg;

	if (stored)
		op_finish(n->later, n->answer);
	else
		op_give_up(n->later, "the journal cannot be written; see: hookd status");
}

static struct note *note_new(struct op_call *call)
{
	struct note *n = arena_new(call->arena, struct note);

	*n = (struct note){ .later = call->later, .arena = call->arena, .engine = call->ctx->engine };
	return n;
}

static void note_add(struct note *n, const struct ulid *uid, struct buf *payload)
{
	struct ulid id = ulid_make();
	struct event e;

	fleet_event(&id, uid, arena_str(n->arena, buf_str(payload)), n->arena, &e);
	engine_note(n->engine, n->arena, &e, &n->records[n->n++]);
	buf_release(payload);
}

static void nothing_noted(void *arg)
{
	noted(true, arg);
}

static int note_submit(struct op_call *call, struct note *n)
{
	if (n->n)
		engine_store(n->engine, n->records, n->n, noted, n);
	else
		loop_post(call->ctx->loop, nothing_noted, n);
	return 0;
}

/* -- focus ------------------------------------------------------------------------------------- */

static bool wants_a_look(const struct fleet_agent *a)
{
	return a->status == AGENT_STATUS_DONE || a->status == AGENT_STATUS_ATTENTION || a->status == AGENT_STATUS_ERROR;
}

static void check(struct note *n, const struct fleet_agent *a)
{
	struct buf b = BUF_INIT(KIB(8));
	struct json_writer w = JSON_WRITER(&b);

	if (n->n == CHECKED_MAX || !wants_a_look(a))
		return;
	fleet_open(&w, NULL, "checked");
	jw_field_str(&w, "agent", str_of(a->agent));
	jw_field_str(&w, "session", str_of(a->session));
	jw_end_object(&w);
	note_add(n, NULL, &b);
}

/* A pane is one of a server of tmux: several servers have a %0. */
static bool is_in_pane(const struct fleet_agent *a, str pane, str socket)
{
	return str_eq(pane, str_of(a->pane)) && (str_empty(socket) || str_eq(socket, str_of(a->socket)));
}

int op_fleet_focus(struct op_call *call)
{
	const struct fleet *f = engine_fleet(call->ctx->engine);
	str who = op_text(call, "who"), pane = op_text(call, "pane"), socket = op_text(call, "socket");
	struct note *n = note_new(call);
	struct fleet_agent *one = str_empty(who) ? NULL : fleet_find(f, who);
	char shown[NAME_SHOWN];

	if (str_empty(who) && str_empty(pane) && !op_bool(call, "all"))
		return err_set(call->err, -EINVAL, "say which agent with 'who' or 'pane', or all of them with 'all'");
	if (!str_empty(who) && !one)
		return err_set(call->err, -ENOENT, "there is no agent '%s'; list them with: hookd fleet",
			name_shown(who, shown));
	for (struct fleet_agent *a = fleet_first(f); a; a = a->older)
		if (a == one || op_bool(call, "all") || (!str_empty(pane) && is_in_pane(a, pane, socket)))
			check(n, a);
	n->answer = arena_strf(call->arena, "{\"checked\":%zu}", n->n);
	return note_submit(call, n);
}

/* -- listeners ----------------------------------------------------------------------------------- */

/* The agent that calls, as far as it says so. */
static struct fleet_agent *find_asker(struct op_call *call)
{
	return fleet_caller(engine_fleet(call->ctx->engine), op_text(call, "agent"), op_text(call, "session"));
}

int op_fleet_listen(struct op_call *call)
{
	const struct fleet *f = engine_fleet(call->ctx->engine);
	struct fleet_agent *teller = fleet_find(f, op_text(call, "who")), *asker = find_asker(call);
	struct fleet_agent *told = str_empty(op_text(call, "to")) ? asker : fleet_find(f, op_text(call, "to"));
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	struct ulid uid = ulid_make();
	struct note *n = note_new(call);
	char shown[NAME_SHOWN], text[ULID_TEXT + 1];

	if (!teller)
		return err_set(call->err, -ENOENT, "there is no agent '%s'; list them with: hookd fleet",
			name_shown(op_text(call, "who"), shown));
	if (!told)
		return err_set(call->err, -ENOENT,
			"it is not known who is to be told; name an agent of: hookd fleet, as 'to'");
	if (told == teller)
		return err_set(call->err, -EINVAL, "an agent cannot be told of itself; name another one");
	if (op_text(call, "text").n > FLEET_TEXT_MAX)
		return err_set(call->err, -EINVAL, "'text' has %zu bytes; at most %d are kept: shorten it",
			op_text(call, "text").n, FLEET_TEXT_MAX);
	if (fleet_listeners(f) >= FLEET_LISTENERS_MAX)
		return err_set(call->err, -EBUSY, "%d messages wait already; drop some: hookd fleet listeners",
			FLEET_LISTENERS_MAX);
	fleet_open(&w, &uid, "listen");
	jw_field_str(&w, "teller", str_of(teller->name));
	jw_field_str(&w, "told", str_of(told->name));
	jw_field_str(&w, "status", op_has(call, "for") ? op_text(call, "for") : STR("any"));
	jw_field_str(&w, "text", op_text(call, "text"));
	if (asker)
		jw_field_str(&w, "asked_by", str_of(asker->name));
	jw_end_object(&w);
	note_add(n, &uid, &b);
	ulid_format(&uid, text);
	n->answer = arena_strf(call->arena, "{\"listener\":\"%s\"}", text);
	return note_submit(call, n);
}

int op_fleet_listeners(struct op_call *call)
{
	static const struct op_column columns[] = { { "listener", 's' }, { "who", 's' }, { "to", 's' }, { "for", 's' },
		{ "text", 's' }, { "asked_by", 's' }, { "state", 's' }, { "happened", 's' }, { "made_us", 'i' },
		{ "changed_us", 'i' }, { 0 } };
	int r;

	jw_object(call->w);
	r = op_write_list(call, "listeners",
		store_ask(call->store,
			"SELECT ulid_text(uid), teller, told, status, text, asked_by, state, happened, made_at, "
			"changed_at FROM listeners WHERE ?1 OR state IN ('waiting', 'heard') ORDER BY made_at DESC, "
			"uid DESC LIMIT ?2",
			"ii", (int64_t)op_bool(call, "all"), op_int(call, "limit")),
		columns);
	jw_end_object(call->w);
	return r;
}

int op_fleet_drop(struct op_call *call)
{
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct note *n = note_new(call);
	struct ulid uid;
	char shown[NAME_SHOWN];

	if (!ulid_parse(op_text(call, "listener"), &uid))
		return err_set(call->err, -EINVAL, "'%s' is no id of a listener; list them with: hookd fleet listeners",
			name_shown(op_text(call, "listener"), shown));
	fleet_open(&w, &uid, "drop");
	jw_end_object(&w);
	note_add(n, &uid, &b);
	n->answer = STR("{}");
	return note_submit(call, n);
}
