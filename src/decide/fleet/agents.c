/* The agents, by the sessions in which they work. One that starts where another one was has taken its place. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/limits.h"
#include "fleet/internal.h"

enum { PREFIX_LEAST = 8, KNOWN_US_DAYS = 1, ENV_MAX = 64 };

static uint64_t hash_of(str a, str b)
{
	return hash_part(hash_part(HASH_START, a), b);
}

/* -- the table --------------------------------------------------------------------------------- */

static const size_t texts[] = { offsetof(struct fleet_agent, agent), offsetof(struct fleet_agent, session),
	offsetof(struct fleet_agent, name), offsetof(struct fleet_agent, label), offsetof(struct fleet_agent, parent),
	offsetof(struct fleet_agent, manages), offsetof(struct fleet_agent, cwd), offsetof(struct fleet_agent, watch),
	offsetof(struct fleet_agent, pane), offsetof(struct fleet_agent, socket), offsetof(struct fleet_agent, restart),
	offsetof(struct fleet_agent, restart_effort) };

static char **text_at(struct fleet_agent *a, size_t i)
{
	return (char **)((char *)a + texts[i]);
}

/* Most agents have few of them, and each would cost 32 bytes. */
static char nothing[] = "";

static void drop_text(char *text)
{
	if (text != nothing)
		free(text);
}

static void set_text(char **to, str text, size_t most)
{
	text = str_cut_utf8(text, most);
	if (*to && str_eq(text, str_of(*to)))
		return;
	drop_text(*to);
	*to = text.n ? xstrndup(text.p, text.n) : nothing;
}

static void set_name(char **to, str text)
{
	set_text(to, text, FLEET_NAME_MAX);
}

struct fleet *fleet_new(void)
{
	struct fleet *f = xcalloc(1, sizeof *f);

	f->last_listener = &f->listeners;
	return f;
}

static void take_out(struct fleet *f, struct fleet_agent *a)
{
	*(a->newer ? &a->newer->older : &f->newest) = a->older;
	*(a->older ? &a->older->newer : &f->oldest) = a->newer;
	a->newer = a->older = NULL;
}

static void put_first(struct fleet *f, struct fleet_agent *a)
{
	a->older = f->newest;
	*(f->newest ? &f->newest->newer : &f->oldest) = a;
	f->newest = a;
}

static void forget(struct fleet *f, struct fleet_agent *a)
{
	struct fleet_agent **at = &f->buckets[a->hash % AGENT_BUCKETS];

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	take_out(f, a);
	f->n--;
	for (size_t i = 0; i < countof(texts); i++)
		drop_text(*text_at(a, i));
	free(a);
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	while (f->newest)
		forget(f, f->newest);
	listeners_free(f);
	free(f);
}

static struct fleet_agent *find(const struct fleet *f, uint64_t hash, str agent, str session)
{
	struct fleet_agent *a = f->buckets[hash % AGENT_BUCKETS];

	while (a && !(a->hash == hash && str_eq(session, str_of(a->session)) && str_eq(agent, str_of(a->agent))))
		a = a->next;
	return a;
}

static struct fleet_agent *make(struct fleet *f, uint64_t hash, str agent, str session)
{
	struct fleet_agent *a = xcalloc(1, sizeof *a);

	if (f->n == FLEET_AGENTS_MAX)
		forget(f, f->oldest);
	a->hash = hash;
	for (size_t i = 0; i < countof(texts); i++)
		*text_at(a, i) = nothing;
	set_name(&a->agent, agent);
	set_text(&a->session, session, KIB(1));
	a->next = f->buckets[hash % AGENT_BUCKETS];
	f->buckets[hash % AGENT_BUCKETS] = a;
	f->n++;
	put_first(f, a);
	return a;
}

/* -- who it is --------------------------------------------------------------------------------- */

static bool is_pane(str text)
{
	for (size_t i = 1; i < text.n; i++)
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
	return text.n > 1 && text.n < 12 && text.p[0] == '%';
}

/* TMUX is "socket,pid,session". */
static void take_tmux(struct fleet_agent *a, const str *env, size_t n)
{
	str pane = event_env(env, n, "TMUX_PANE"), rest = event_env(env, n, "TMUX"), socket;

	if (!is_pane(pane) || !str_split(&rest, ',', &socket) || str_empty(socket) || socket.p[0] != '/')
		return;
	set_name(&a->pane, pane);
	set_text(&a->socket, socket, KIB(1));
}

static void identify(struct fleet_agent *a, const str *env, size_t n)
{
	str id = event_env(env, n, "AGENT_ID"), label = event_env(env, n, "AGENT_LABEL");
	uint64_t place = event_place(env, n);

	take_tmux(a, env, n);
	set_name(&a->parent, event_env(env, n, "AGENT_PARENT"));
	set_name(&a->manages, event_env(env, n, "AGENT_MANAGES"));
	set_name(&a->watch, event_env(env, n, "HOOKD_WATCH"));
	a->has_id = !str_empty(id);
	a->who = a->has_id ? hash_of(STR("id"), id) : place ? place : a->hash;
	set_name(&a->name, a->has_id ? id : a->pane[0] ? str_of(a->pane) : str_of(a->session));
	set_name(&a->label, label);
}

/* A shell between agent and hook lives for one call only: a caller is taken for the agent if it calls twice. */
static void see_caller(struct fleet_agent *a, const struct event *e)
{
	uint32_t pid = event_agent_pid(e);

	if (pid)
		a->pid = pid;
	else if (e->ppid && a->ppid == e->ppid)
		a->pid = e->ppid;
	a->ppid = e->ppid;
}

static bool is_busy(const struct fleet_agent *a)
{
	return (a->status == AGENT_STATUS_WORKING || a->status == AGENT_STATUS_ATTENTION) && a->pid &&
		!(kill((pid_t)a->pid, 0) < 0 && errno == ESRCH);
}

/* An agent that another one has started as a program has its place and its variables, but not its name. */
static bool is_nested(const struct fleet_agent *a, const struct fleet_agent *before)
{
	return !a->ended && is_busy(before) && a->ppid && a->ppid != before->pid && a->pid != before->pid;
}

static void take_place(struct fleet *f, struct fleet_agent *a)
{
	for (struct fleet_agent *other = f->newest, *older; other; other = older) {
		older = other->older;
		if (other == a || other->who != a->who)
			continue;
		if (is_nested(a, other)) {
			a->who = a->hash;
			set_name(&a->parent, str_of(other->name));
			set_name(&a->name, str_of(a->session));
			set_name(&a->pane, STR(""));
			a->has_id = false;
			return;
		}
		if (strcmp(a->pane, other->pane) == 0)
			a->painted = other->painted;
		forget(f, other);
	}
}

/* -- what it does ------------------------------------------------------------------------------ */

static bool set_status(struct fleet_agent *a, enum agent_status status, str subject, int64_t at_us)
{
	bool changed = a->status != status;

	if (changed || a->subject[0] == '\0')
		snprintf(a->subject, sizeof a->subject, STR_FMT,
			STR_ARG(str_cut_utf8(str_empty(subject) ? STR("") : subject, sizeof a->subject - 1)));
	if (changed) {
		a->since_us = at_us;
		a->changed_us = clock_wall_us();
	}
	a->status = status;
	return changed;
}

static void count_subagents(struct fleet_agent *a, const struct event *e)
{
	if (e->kind == EVENT_SUBAGENT_START)
		a->subagents++;
	else if (e->kind == EVENT_SUBAGENT_STOP && !str_empty(e->agent_id) && a->subagents)
		a->subagents--;
	else if (e->kind == EVENT_SESSION_START || e->kind == EVENT_SESSION_END)
		a->subagents = 0;
}

static struct fleet_agent *another(const struct fleet *f, const struct fleet_agent *than, str id)
{
	struct fleet_agent *a = str_empty(id) ? NULL : f->newest;

	while (a && !(a != than && a->has_id && str_eq(id, str_of(a->name))))
		a = a->older;
	return a;
}

struct fleet_agent *fleet_see(struct fleet *f, const struct event *e, bool *ret_changed)
{
	uint64_t hash = hash_of(e->agent, e->session);
	enum agent_status status = agent_status_of(e);
	struct fleet_agent *a, *other;
	str whose;

	*ret_changed = false;
	if (str_empty(e->session) || str_starts(e->session, STR("hookd-doctor-")))
		return NULL;
	a = find(f, hash, e->agent, e->session);
	if (!a || e->kind == EVENT_SESSION_START) {
		/* Whoever is gone is not made anew by what it said last. */
		if (!a && status == AGENT_STATUS_UNKNOWN)
			return NULL;
		if (!a) {
			a = make(f, hash, e->agent, e->session);
			/* It was there before we were. */
			a->painted = e->kind == EVENT_SESSION_START ? AGENT_STATUS_UNKNOWN : AGENT_STATUS_MAX;
		}
		identify(a, e->env, e->nenv);
		see_caller(a, e);
		take_place(f, a);
	} else {
		see_caller(a, e);
	}
	if (a != f->newest) {
		take_out(f, a);
		put_first(f, a);
	}
	a->seen_us = e->at_us;
	if (!str_empty(e->cwd) && !a->cwd[0])
		set_text(&a->cwd, e->cwd, KIB(4));
	count_subagents(a, e);
	whose = agent_status_whose(e);
	other = another(f, a, whose);
	if (other) {
		*ret_changed = set_status(other, status, STR(""), e->at_us);
		return other;
	}
	/* It tells of one that nobody here has heard of. */
	if (!str_empty(whose) && a->has_id && !str_eq(whose, str_of(a->name)))
		return a;
	if (!str_empty(e->agent_id) || status == AGENT_STATUS_UNKNOWN)
		return a;
	a->ended = e->kind == EVENT_SESSION_END;
	/* What it had claimed may be others'. */
	if (a->ended)
		f->work_us = clock_wall_us();
	*ret_changed = set_status(a, status, agent_status_subject(e), e->at_us);
	return a;
}

/* -- finding one ------------------------------------------------------------------------------- */

struct fleet_agent *fleet_first(const struct fleet *f)
{
	return f->newest;
}

bool fleet_is(const struct fleet_agent *a, str who)
{
	return !str_empty(who) &&
		(str_eq(who, str_of(a->name)) || str_eq(who, str_of(a->session)) || str_eq(who, str_of(a->label)) ||
			str_eq(who, str_of(a->pane)));
}

static bool manages(const struct fleet_agent *a, str who)
{
	str list = str_of(a->manages);

	for (size_t i = 0, begin = 0; !str_empty(who) && i <= list.n; i++) {
		if (i < list.n && list.p[i] != ',' && list.p[i] != ' ')
			continue;
		if (str_eq(str_n(list.p + begin, i - begin), who))
			return true;
		begin = i + 1;
	}
	return false;
}

bool fleet_is_child(const struct fleet_agent *a, str of, const struct fleet_agent *boss)
{
	return (!str_empty(of) && str_eq(of, str_of(a->parent))) ||
		(boss && boss != a && (manages(boss, str_of(a->name)) || manages(boss, str_of(a->label))));
}

struct fleet_agent *fleet_coordinator(const struct fleet *f, const struct fleet_agent *a, str teammate)
{
	const struct fleet_agent *mate = another(f, NULL, teammate);

	if (!mate && !a->has_id)
		mate = a;
	for (struct fleet_agent *c = f->newest; mate && mate->parent[0] && c; c = c->older)
		if (c != mate && fleet_is(c, str_of(mate->parent)))
			return c;
	for (struct fleet_agent *c = f->newest; c; c = c->older)
		if (c != mate && (manages(c, teammate) || (mate && manages(c, str_of(mate->name)))))
			return c;
	return NULL;
}

struct fleet_agent *fleet_find(const struct fleet *f, str who)
{
	struct fleet_agent *found = NULL;

	for (struct fleet_agent *a = f->newest; a; a = a->older)
		if (fleet_is(a, who))
			return a;
	for (struct fleet_agent *a = f->newest; a && who.n >= PREFIX_LEAST; a = a->older) {
		if (!str_starts(str_of(a->session), who))
			continue;
		if (found)
			return NULL;
		found = a;
	}
	return found;
}

struct fleet_agent *fleet_caller(const struct fleet *f, str agent_id, str session)
{
	for (struct fleet_agent *a = f->newest; a; a = a->older)
		if ((!str_empty(session) && str_eq(session, str_of(a->session))) ||
			(str_empty(session) && a->has_id && str_eq(agent_id, str_of(a->name))))
			return a;
	return NULL;
}

struct fleet_agent *fleet_ended_by(struct fleet *f, str agent, str session, int64_t at_us, const char *why)
{
	struct fleet_agent *a = find(f, hash_of(agent, session), agent, session);

	if (!a || a->status != AGENT_STATUS_DONE || a->since_us > at_us)
		return NULL;
	snprintf(a->subject, sizeof a->subject, "%s", why);
	a->changed_us = clock_wall_us();
	return a;
}

void fleet_restart(struct fleet_agent *a, str effort, str prompt)
{
	set_name(&a->restart_effort, effort);
	set_text(&a->restart, prompt, FLEET_TEXT_MAX);
}

struct fleet_agent *fleet_watched(const struct fleet *f, str watch)
{
	for (struct fleet_agent *a = f->newest; a && !str_empty(watch); a = a->older)
		if (str_eq(watch, str_of(a->watch)))
			return a;
	return NULL;
}

bool fleet_means(str wanted, enum agent_status status)
{
	bool rests = status == AGENT_STATUS_DONE || status == AGENT_STATUS_ATTENTION || status == AGENT_STATUS_ERROR;

	if (str_eq(wanted, STR("change")))
		return true;
	return str_eq(wanted, STR("any")) ? rests : str_eq(wanted, str_of(agent_status_names[status]));
}

/* -- filling ----------------------------------------------------------------------------------- */

int fleet_read(struct store *s, struct arena *a, str *ret)
{
	struct buf b = BUF_INIT(MIB(8));
	struct query *q = store_ask(s,
		"SELECT json_object('agents', (SELECT json_group_array(json_object('agent', agent, 'session', "
		"native_id, "
		"'status', doing, 'since', doing_at, 'seen', last_at, 'checked', checked_at, 'cwd', cwd, 'ended', "
		"ended_at IS NOT NULL, 'host', json(iif(json_valid(host), host, '{}')))) FROM (SELECT * FROM (SELECT * "
		"FROM "
		"sessions WHERE doing > 0 AND last_at > ?1 ORDER BY last_at DESC LIMIT ?2) ORDER BY last_at)), "
		"'listeners', (SELECT "
		"json_group_array(json_object('uid', ulid_text(uid), 'teller', teller, 'told', told, 'status', status, "
		"'text', text, 'asked_by', asked_by, 'state', state, 'happened', happened, 'made', made_at)) FROM "
		"(SELECT "
		"* FROM listeners "
		"WHERE state IN ('waiting', 'heard') ORDER BY made_at LIMIT ?3)))",
		"iii", clock_wall_us() - KNOWN_US_DAYS * (int64_t)86400 * USEC_PER_SEC, (int64_t)FLEET_AGENTS_MAX,
		(int64_t)FLEET_LISTENERS_MAX);
	int got = query_step(q);

	if (got == 1)
		buf_add_str(&b, query_str(q, 0));
	query_reset(q);
	*ret = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	got = got < 0 ? got : b.full ? -E2BIG : 0;
	buf_release(&b);
	return got;
}

static int64_t number(const struct json *row, const char *name)
{
	int64_t n = 0;

	json_int(json_get(row, str_of(name)), &n);
	return n;
}

static size_t read_env(const struct json *row, struct arena *a, str env[static ENV_MAX])
{
	return event_read_env(json_get(json_get(row, STR("host")), STR("env")), a, env, ENV_MAX);
}

/* What came by the spool was heard of by nobody here. */
static void fill_status(struct fleet_agent *a, const struct json *row)
{
	int64_t since = number(row, "since"), status = number(row, "status");
	bool looked = status != AGENT_STATUS_WORKING && since && number(row, "checked") >= since;

	a->seen_us = number(row, "seen");
	a->ended = number(row, "ended");
	a->since_us = since;
	a->status = looked ? AGENT_STATUS_CHECKED : (enum agent_status)status;
}

static void fill_agent(struct fleet *f, const struct json *row)
{
	struct arena arena = { 0 };
	str env[ENV_MAX], agent = json_str(json_get(row, STR("agent"))),
			  session = json_str(json_get(row, STR("session")));
	uint64_t hash = hash_of(agent, session);
	int64_t status = number(row, "status");
	struct fleet_agent *a = find(f, hash, agent, session);
	bool known = a;

	if (str_empty(session) || status <= 0 || status >= AGENT_STATUS_MAX ||
		str_starts(session, STR("hookd-doctor-")) || (a && a->seen_us >= number(row, "seen")))
		return;
	if (!a) {
		a = make(f, hash, agent, session);
		identify(a, env, read_env(row, &arena, env));
		arena_release(&arena);
		set_text(&a->cwd, json_str(json_get(row, STR("cwd"))), KIB(4));
		a->painted = AGENT_STATUS_MAX;
	}
	fill_status(a, row);
	/* Events know milliseconds. */
	a->changed_us = known || f->filled ? clock_wall_us() : a->since_us + USEC_PER_MSEC;
	take_place(f, a);
}

/* Somebody who is at its place was heard of later. */
static bool is_taken(const struct fleet *f, const struct json *row)
{
	struct arena arena = { 0 };
	str env[ENV_MAX];
	struct fleet_agent probe = { .hash = 0 };
	int64_t seen = number(row, "seen");
	bool taken = false;

	for (size_t i = 0; i < countof(texts); i++)
		*text_at(&probe, i) = nothing;
	identify(&probe, env, read_env(row, &arena, env));
	for (const struct fleet_agent *a = f->newest; a && probe.who; a = a->older)
		taken |= a->who == probe.who && a->seen_us > seen;
	for (size_t i = 0; i < countof(texts); i++)
		drop_text(*text_at(&probe, i));
	arena_release(&arena);
	return taken;
}

void fleet_fill(struct fleet *f, const struct json *rows)
{
	unsigned most = FLEET_AGENTS_MAX - MIN(f->n, (unsigned)FLEET_AGENTS_MAX);

	json_each(row, json_get(rows, STR("agents")))
		if (most && !is_taken(f, row)) {
			fill_agent(f, row);
			most--;
		}
	f->filled = true;
	json_each(l, json_get(rows, STR("listeners")))
		listeners_fill(f, l);
}

bool fleet_known(const struct fleet *f)
{
	return f->filled;
}
