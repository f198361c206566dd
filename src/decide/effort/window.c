/* Windows of agents: a hash table by agent, session and subagent; the one that was used least recently makes room. All
 * of it can be made again: counts begin at nothing, and which effort a window belongs to is in the store. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/limits.h"
#include "effort/internal.h"
#include "os/os.h"

enum { IDLE_US_S = 3600, LOAD_BYTES = 400 };

#define IDLE_US (IDLE_US_S * USEC_PER_SEC)

/* -- keys -------------------------------------------------------------------------------------- */

uint64_t effort_hash(str text)
{
	uint64_t h = hash_str(text);

	return h ? h : 1;
}

static uint64_t key_of(str agent, str session, str agent_id)
{
	return hash_part(hash_part(hash_part(HASH_START, agent), session), agent_id);
}

struct names {
	str agent, session, agent_id;
	uint64_t hash;
};

static struct names names_of(str agent, str session, str agent_id)
{
	struct names n = { str_head(agent, LIMIT_NAME), str_head(session, LIMIT_NAME), str_head(agent_id, LIMIT_NAME),
		0 };

	n.hash = key_of(n.agent, n.session, n.agent_id);
	return n;
}

static struct effort_window *find(const struct efforts *all, const struct names *n)
{
	struct effort_window *w = all->buckets[n->hash % WINDOW_BUCKETS];

	while (w &&
		!(w->hash == n->hash && str_eq(str_of(w->session), n->session) &&
			str_eq(str_of(w->agent_id), n->agent_id) && str_eq(str_of(w->agent), n->agent)))
		w = w->next;
	return w;
}

struct effort_window *effort_window_find(struct efforts *all, str agent, str session, str agent_id)
{
	struct names n = names_of(agent, session, agent_id);

	return find(all, &n);
}

/* -- the table --------------------------------------------------------------------------------- */

void effort_window_forgive(struct effort_window *w)
{
	for (size_t i = 0; i < w->nowed; i++)
		free(w->owed[i]);
	w->nowed = 0;
}

void effort_window_owes(struct effort_window *w, str path)
{
	if (w->nowed < EFFORT_OWED && !str_empty(path))
		w->owed[w->nowed++] = xstrndup(path.p, path.n);
}

static void drop_texts(struct effort_window *w)
{
	for (size_t i = 0; i < w->nloads; i++)
		free(w->loads[i]);
	for (size_t i = 0; i < w->nqueue; i++)
		free(w->queue[i]);
	w->nloads = w->nqueue = 0;
	effort_window_forgive(w);
}

static void release(struct effort_window *w)
{
	drop_texts(w);
	free(w->agent);
	free(w->session);
	free(w->agent_id);
	free(w);
}

static void take_out(struct efforts *all, struct effort_window *w)
{
	*(w->newer ? &w->newer->older : &all->newest) = w->older;
	*(w->older ? &w->older->newer : &all->oldest) = w->newer;
	w->newer = w->older = NULL;
}

static void put_first(struct efforts *all, struct effort_window *w)
{
	w->older = all->newest;
	*(all->newest ? &all->newest->newer : &all->oldest) = w;
	all->newest = w;
}

static void forget(struct efforts *all, struct effort_window *w)
{
	struct effort_window **at = &all->buckets[w->hash % WINDOW_BUCKETS];

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	take_out(all, w);
	all->nwindows--;
	release(w);
}

void windows_free(struct efforts *all)
{
	while (all->newest)
		forget(all, all->newest);
}

static struct effort_window *make(struct efforts *all, const struct names *n)
{
	struct effort_window *w = xcalloc(1, sizeof *w);

	if (all->nwindows == EFFORT_WINDOWS_MAX)
		forget(all, all->oldest);
	w->hash = n->hash;
	w->agent = xstrndup(n->agent.p, n->agent.n);
	w->session = xstrndup(n->session.p, n->session.n);
	w->agent_id = xstrndup(n->agent_id.p, n->agent_id.n);
	w->next = all->buckets[n->hash % WINDOW_BUCKETS];
	all->buckets[n->hash % WINDOW_BUCKETS] = w;
	all->nwindows++;
	put_first(all, w);
	return w;
}

/* -- who is there ------------------------------------------------------------------------------ */

static bool is_gone(uint32_t pid)
{
	return pid && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Somebody still works in it. A shell between agent and hook lives for one call only: a caller is taken for the agent
 * if it calls twice. */
static bool is_alive(const struct effort_window *w, int64_t now_us, uint64_t terminal)
{
	if (w->ended || now_us - w->seen_us >= IDLE_US)
		return false;
	return w->pid ? !is_gone(w->pid) : !(terminal && terminal == w->terminal);
}

static void see_caller(struct effort_window *w, const struct event *e)
{
	w->seen_us = e->at_us;
	if (!w->terminal)
		w->terminal = event_place(e->env, e->nenv);
	if (w->pid || !e->ppid)
		return;
	w->pid = event_agent_pid(e);
	if (!w->pid && w->ppid == e->ppid)
		w->pid = e->ppid;
	/* An agent that is killed before it calls again must not hold its effort for an hour. */
	if (!w->pid && e->kind == EVENT_SESSION_START)
		w->pid = os_program_above(e->ppid);
	w->ppid = e->ppid;
}

/* -- which effort ------------------------------------------------------------------------------ */

static bool is_held(struct efforts *all, const struct effort *one, const struct effort_window *by, int64_t now_us)
{
	for (const struct effort_window *w = all->newest; w; w = w->older)
		if (w != by && w->effort == one && !w->agent_id[0] && is_alive(w, now_us, by->terminal))
			return true;
	return false;
}

/* How near an effort is to where the event happened; 0: elsewhere. */
static size_t nearness(const struct effort *one, str cwd)
{
	if (effort_is_within(cwd, one->task))
		return 1 + strlen(one->task);
	return effort_is_within(cwd, one->root);
}

/* The one whose owner says so, else the nearest that nobody else works on, of these the one that changed last. */
static struct effort *look_for(struct efforts *all, const struct effort_window *w, const struct event *e)
{
	str agent = event_env(e->env, e->nenv, "AGENT_ID");
	struct effort *best = NULL;
	struct ulid uid;
	size_t near = 0;

	for (struct effort *one = all->first; one; one = one->next) {
		size_t n = nearness(one, e->cwd);

		if (!str_empty(agent) &&
			(str_eq(agent, str_of(one->agent)) || (ulid_parse(agent, &uid) && ulid_eq(&uid, &one->uid))))
			return one;
		if (!str_empty(agent) || one->agent[0] || n <= near || ulid_eq(&w->left, &one->uid) ||
			is_held(all, one, w, e->at_us))
			continue;
		best = one;
		near = n;
	}
	return best;
}

static void bind(struct effort_window *w, struct effort *to)
{
	w->untold |= to && w->effort != to;
	w->effort = to;
	w->seeks = false;
}

static void resolve(struct efforts *all, struct effort_window *w, const struct event *e)
{
	struct effort_window *parent;

	if (w->effort && !w->seeks)
		return;
	if (w->agent_id[0]) {
		parent = effort_window_find(all, e->agent, e->session, STR(""));
		if (parent)
			bind(w, parent->effort);
		return;
	}
	if (w->looked == all->generation)
		return;
	w->looked = all->generation;
	bind(w, look_for(all, w, e));
}

/* -- a window's life --------------------------------------------------------------------------- */

/* What the agent knew is gone; which effort it works on is not. */
static void begin_anew(struct effort_window *w, const struct event *e)
{
	bool known = w->has_previous || w->seen_us;

	drop_texts(w);
	w->ngiven = 0;
	memset(w->edited, 0, sizeof w->edited);
	memset(w->spoken, 0, sizeof w->spoken);
	memset(w->given, 0, sizeof w->given);
	w->heartbeat = w->calls = w->usage = w->warned_at = 0;
	w->warned = w->logs = w->ended = w->owes_start = false;
	w->looked = 0;
	w->pid = w->ppid = 0;
	w->terminal = 0;
	w->previous = w->id;
	w->has_previous = known;
	w->id = e->id;
	w->untold = true;
	snprintf(w->source, sizeof w->source, STR_FMT, STR_ARG(str_head(e->source, sizeof w->source - 1)));
}

struct effort_window *effort_window_of(struct efforts *all, const struct event *e)
{
	struct names n = names_of(e->agent, e->session, e->agent_id);
	bool starts = e->kind == EVENT_SESSION_START || e->kind == EVENT_SUBAGENT_START;
	struct effort_window *w;

	if (str_empty(e->session) || !efforts_matter(all))
		return NULL;
	w = find(all, &n);
	/* What is heard of at its end only (the helper that writes the summary of a compaction) had no window. */
	if (!w && e->kind == EVENT_SUBAGENT_STOP)
		return NULL;
	if (!w) {
		w = make(all, &n);
		starts = true;
	} else if (w != all->newest) {
		take_out(all, w);
		put_first(all, w);
	}
	/* A subagent that is told of twice is one; a session that starts again is another window. */
	if (starts && !(e->kind == EVENT_SUBAGENT_START && w->seen_us && !w->ended))
		begin_anew(w, e);
	see_caller(w, e);
	resolve(all, w, e);
	return w;
}

void effort_window_end(struct efforts *all, struct effort_window *w)
{
	w->ended = true;
	w->heartbeat = 0;
	all->generation++;
}

bool effort_window_has(const struct effort_window *w, str text)
{
	uint64_t hash = effort_hash(text);

	for (size_t i = 0; i < MIN(w->ngiven, (size_t)EFFORT_GIVEN); i++)
		if (w->given[i] == hash)
			return true;
	return false;
}

bool effort_window_gives(struct effort_window *w, str text)
{
	if (effort_window_has(w, text))
		return false;
	w->given[w->ngiven++ % EFFORT_GIVEN] = effort_hash(text);
	return true;
}

void effort_window_loads(struct effort_window *w, str path)
{
	if (w->nloads == EFFORT_LOADS || str_empty(path) || path.n > LOAD_BYTES)
		return;
	for (size_t i = 0; i < w->nloads; i++)
		if (str_eq(path, str_of(w->loads[i])))
			return;
	w->loads[w->nloads++] = xstrndup(path.p, path.n);
}

void effort_window_queue(struct effort_window *w, str text)
{
	if (w->nqueue < EFFORT_QUEUE)
		w->queue[w->nqueue++] = xstrndup(text.p, text.n);
}

bool effort_window_next(struct effort_window *w, struct arena *a, str *ret)
{
	if (!w->nqueue)
		return false;
	*ret = arena_str(a, str_of(w->queue[0]));
	free(w->queue[0]);
	memmove(&w->queue[0], &w->queue[1], --w->nqueue * sizeof w->queue[0]);
	return true;
}

void effort_window_uses(struct effort_window *w, int64_t tokens, int64_t max)
{
	w->usage = MAX(tokens, 0);
	w->usage_max = MAX(max, 0);
	/* After a compaction there is room again. */
	if (effort_window_usage(w) < w->warned_at)
		w->warned_at = 0;
}

int64_t effort_window_usage(const struct effort_window *w)
{
	return w->usage && w->usage_max ? MIN(w->usage * 100 / w->usage_max, 100) : -1;
}

/* -- changes of efforts ------------------------------------------------------------------------ */

void windows_forget(struct efforts *all, const struct effort *gone)
{
	for (struct effort_window *w = all->newest; w; w = w->older)
		if (w->effort == gone) {
			w->effort = NULL;
			w->heartbeat = 0;
		}
}

void windows_bind_session(struct efforts *all, struct effort *to, str session)
{
	for (struct effort_window *w = all->newest; w && !str_empty(session); w = w->older)
		if (str_eq(session, str_of(w->session)) && !w->ended)
			bind(w, to);
}

/* Whoever worked on it has no claim any more. */
void windows_let_go(struct efforts *all, const struct effort *of)
{
	for (struct effort_window *w = all->newest; w; w = w->older)
		if (w->effort == of) {
			w->effort = NULL;
			w->left = of->uid;
		}
}

void windows_end(struct efforts *all, const struct ulid *window)
{
	for (struct effort_window *w = all->newest; w; w = w->older)
		if (ulid_eq(&w->id, window) && !w->ended)
			effort_window_end(all, w);
}

void windows_log(struct efforts *all, const struct effort *of, bool all_of_them)
{
	for (struct effort_window *w = all->newest; w; w = w->older)
		if (w->effort == of && (w->logs || all_of_them)) {
			w->heartbeat = 0;
			w->logs = w->warned = false;
			memset(w->edited, 0, sizeof w->edited);
		}
}

void windows_restore(struct efforts *all, const struct json *row)
{
	struct names n = names_of(json_str(json_get(row, STR("agent"))), json_str(json_get(row, STR("session"))),
		json_str(json_get(row, STR("agent_id"))));
	struct effort_window *w;
	struct ulid uid, id;

	if (str_empty(n.session) || find(all, &n) || !ulid_parse(json_str(json_get(row, STR("effort"))), &uid) ||
		!ulid_parse(json_str(json_get(row, STR("window"))), &id))
		return;
	w = make(all, &n);
	w->id = id;
	w->seen_us = clock_wall_us();
	w->ended = json_true(json_get(row, STR("ended")));
	w->effort = (struct effort *)efforts_find(all, &uid);
}
