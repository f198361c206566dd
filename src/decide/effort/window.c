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

enum {
	IDLE_S = 3600,
	RESTORED_S = 600, /* of a window of which only the store knows, and not by which process */
	SEEK_S = 1,       /* whoever has no effort looks again: the one that held it may be dead */
	LOAD_BYTES = 400,
	GIVEN_LEAST = 16,
	ENV_MAX = 64,
};

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
	struct names n = { str_head(agent, LIMIT_NAME), str_head(session, LIMIT_NAME),
		str_is_set(agent_id) ? str_head(agent_id, LIMIT_NAME) : STR(""), 0 };

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

void effort_parted_free(struct effort_parted *p)
{
	for (size_t i = 0; p && i < p->nloads; i++)
		free(p->loads[i]);
	free(p);
}

static void release(struct effort_window *w)
{
	drop_texts(w);
	effort_parted_free(w->parted);
	free(w->given);
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

/* It has left its effort, and the store does not know. */
static bool has_left(const struct effort_window *w)
{
	return w->told && !w->effort;
}

static void set_effort(struct efforts *all, struct effort_window *w, struct effort *to)
{
	all->nleft -= has_left(w);
	w->effort = to;
	all->nleft += has_left(w);
}

static void set_told(struct efforts *all, struct effort_window *w, bool told)
{
	all->nleft -= has_left(w);
	w->told = told;
	all->nleft += has_left(w);
}

static void forget(struct efforts *all, struct effort_window *w)
{
	struct effort_window **at = &all->buckets[w->hash % WINDOW_BUCKETS];

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	take_out(all, w);
	all->nwindows--;
	all->nleft -= has_left(w);
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
	int64_t patience_s = w->restored && !w->pid ? RESTORED_S : IDLE_S;

	if (w->ended || now_us - w->seen_us >= patience_s * USEC_PER_SEC)
		return false;
	return w->pid ? !is_gone(w->pid) : !(terminal && terminal == w->terminal);
}

static void see_caller(struct effort_window *w, const struct event *e)
{
	w->seen_us = e->at_us;
	/* It was taken for gone, and is not. */
	if (w->restored && w->told)
		w->ended = false;
	w->restored = false;
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

/* again: nothing has happened since `by` looked last, and silence alone takes nothing from an agent that is there. */
static bool is_held(struct efforts *all, const struct effort *one, const struct effort_window *by, int64_t now_us,
	bool again)
{
	for (const struct effort_window *w = all->newest; w; w = w->older) {
		bool is_there = again && !w->ended && w->pid && !is_gone(w->pid);

		if (w != by && w->effort == one && !w->agent_id[0] && (is_there || is_alive(w, now_us, by->terminal)))
			return true;
	}
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
static struct effort *look_for(struct efforts *all, const struct effort_window *w, const struct event *e, bool again)
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
			is_held(all, one, w, e->at_us, again))
			continue;
		best = one;
		near = n;
	}
	return best;
}

static void bind(struct efforts *all, struct effort_window *w, struct effort *to)
{
	w->untold |= to && w->effort != to;
	set_effort(all, w, to);
	w->seeks = false;
}

static bool has_looked(const struct efforts *all, const struct effort_window *w, int64_t now_us)
{
	int64_t since = now_us - w->sought_us;

	return w->looked == all->generation && since >= 0 && since < SEEK_S * USEC_PER_SEC;
}

static void resolve(struct efforts *all, struct effort_window *w, const struct event *e)
{
	bool again = w->looked == all->generation;
	struct effort_window *parent;

	if (w->effort && !w->seeks)
		return;
	if (w->agent_id[0]) {
		parent = effort_window_find(all, e->agent, e->session, STR(""));
		if (parent)
			bind(all, w, parent->effort);
		return;
	}
	if (has_looked(all, w, e->at_us))
		return;
	w->looked = all->generation;
	w->sought_us = e->at_us;
	bind(all, w, look_for(all, w, e, again));
}

/* -- a window's life --------------------------------------------------------------------------- */

/* An id stands for one window in one effort. */
static void name_anew(struct effort_window *w, const struct event *e)
{
	if (w->used) {
		w->previous = w->id;
		w->has_previous = true;
	}
	w->id = e->id;
	w->used = false;
}

/* What the store takes for a window of an effort is one no longer; what it has read goes along. */
static struct effort_parted *part(struct efforts *all, struct effort_window *w, str reason)
{
	struct effort_parted *p = xcalloc(1, sizeof *p);

	p->window = w->id;
	p->effort = w->told_of;
	snprintf(p->reason, sizeof p->reason, STR_FMT, STR_ARG(str_head(reason, sizeof p->reason - 1)));
	memcpy(p->loads, w->loads, w->nloads * sizeof w->loads[0]);
	p->nloads = w->nloads;
	w->nloads = 0;
	set_told(all, w, false);
	return p;
}

static void part_from(struct efforts *all, struct effort_window *w, const struct event *e, str reason)
{
	if (w->told) {
		effort_parted_free(w->parted);
		w->parted = part(all, w, reason);
	}
	name_anew(w, e);
}

/* What the agent knew is gone; which effort it works on is not. */
static void begin_anew(struct efforts *all, struct effort_window *w, const struct event *e)
{
	part_from(all, w, e, str_empty(e->source) ? STR("began anew") : e->source);
	drop_texts(w);
	w->ngiven = 0;
	memset(w->edited, 0, sizeof w->edited);
	memset(w->spoken, 0, sizeof w->spoken);
	w->heartbeat = w->calls = w->usage = w->warned_at = 0;
	w->warned = w->logs = w->ended = w->owes_start = false;
	w->looked = 0;
	w->pid = w->ppid = 0;
	w->terminal = 0;
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
		begin_anew(all, w, e);
	see_caller(w, e);
	resolve(all, w, e);
	if (w->told && !(w->effort && ulid_eq(&w->told_of, &w->effort->uid)))
		part_from(all, w, e, efforts_find(all, &w->told_of) ? STR("left") : STR("finished"));
	return w;
}

static void end(struct efforts *all, struct effort_window *w)
{
	w->ended = true;
	w->heartbeat = 0;
	all->generation++;
}

void effort_window_end(struct efforts *all, struct effort_window *w)
{
	set_told(all, w, false);
	end(all, w);
}

void effort_window_told(struct efforts *all, struct effort_window *w)
{
	w->untold = false;
	w->used = true;
	w->told_of = w->effort->uid;
	set_told(all, w, true);
}

static struct effort_window *with_id(const struct efforts *all, const struct ulid *id)
{
	struct effort_window *w = all->newest;

	while (w && !ulid_eq(&w->id, id))
		w = w->older;
	return w;
}

/* Nobody knows what it had read. */
static struct effort_parted *unknown_parted(const struct effort *of)
{
	struct effort_parted *p = xcalloc(1, sizeof *p);

	*p = (struct effort_parted){ .window = of->last, .effort = of->uid, .reason = "lost" };
	return p;
}

struct effort_parted *effort_window_follow(struct efforts *all, struct effort_window *w, const struct event *e)
{
	struct effort *one = w->effort;
	struct effort_window *before;
	struct effort_parted *ends;
	bool lives;

	if (w->used && !w->told)
		name_anew(w, e);
	if (w->agent_id[0] || !one->has_last || ulid_eq(&one->last, &w->id))
		return NULL;
	before = with_id(all, &one->last);
	lives = before && is_alive(before, e->at_us, w->terminal);
	/* Agents of one name share it. */
	if (lives && before->effort == one)
		return NULL;
	w->previous = one->last;
	w->has_previous = true;
	if (!one->last_open)
		return NULL;
	if (!before || !before->told)
		return unknown_parted(one);
	ends = part(all, before, lives ? STR("left") : STR("lost"));
	/* Should it come back after all, it has no claim any more. */
	before->left = one->uid;
	if (before->effort == one)
		set_effort(all, before, NULL);
	return ends;
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
	if (w->ngiven == w->given_room && w->ngiven < EFFORT_GIVEN) {
		w->given_room = MIN(MAX(2 * w->given_room, (size_t)GIVEN_LEAST), (size_t)EFFORT_GIVEN);
		w->given = xrealloc(w->given, w->given_room * sizeof *w->given);
	}
	w->given[w->ngiven++ % EFFORT_GIVEN] = effort_hash(text);
	return true;
}

/* No text has the hash 0. */
void effort_window_takes_back(struct effort_window *w, str text)
{
	uint64_t hash = effort_hash(text);

	for (size_t i = 0; i < MIN(w->ngiven, (size_t)EFFORT_GIVEN); i++)
		if (w->given[i] == hash)
			w->given[i] = 0;
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
			set_effort(all, w, NULL);
			w->heartbeat = 0;
			/* The end of the effort says the rest. */
			if (!w->nloads)
				set_told(all, w, false);
		}
}

void windows_bind_session(struct efforts *all, struct effort *to, str session)
{
	for (struct effort_window *w = all->newest; w && !str_empty(session); w = w->older)
		if (str_eq(session, str_of(w->session)) && !w->ended)
			bind(all, w, to);
}

/* Whoever worked on it has no claim any more. */
void windows_let_go(struct efforts *all, const struct effort *of)
{
	for (struct effort_window *w = all->newest; w; w = w->older)
		if (w->effort == of) {
			set_effort(all, w, NULL);
			w->left = of->uid;
		}
}

void windows_end(struct efforts *all, const struct ulid *window)
{
	for (struct effort_window *w = all->newest; w; w = w->older)
		if (ulid_eq(&w->id, window) && !w->ended)
			end(all, w);
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

/* What its agent said of itself when it started. */
static void read_caller(struct effort_window *w, const struct json *host)
{
	struct arena arena = { 0 };
	str env[ENV_MAX];
	struct event e = { .env = env };

	e.nenv = event_read_env(json_get(host, STR("env")), &arena, env, ENV_MAX);
	w->pid = event_agent_pid(&e);
	w->terminal = event_place(env, e.nenv);
	arena_release(&arena);
}

/* It is one until its agent is known to be gone, or was silent for too long; none has outlived its machine. */
void windows_restore(struct efforts *all, const struct json *row)
{
	struct names n = names_of(json_str(json_get(row, STR("agent"))), json_str(json_get(row, STR("session"))),
		json_str(json_get(row, STR("agent_id"))));
	struct effort_window *w;
	struct ulid uid, id;
	bool ended = json_true(json_get(row, STR("ended")));

	if (str_empty(n.session) || find(all, &n) || !ulid_parse(json_str(json_get(row, STR("effort"))), &uid) ||
		!ulid_parse(json_str(json_get(row, STR("window"))), &id))
		return;
	w = make(all, &n);
	w->id = id;
	w->restored = w->used = true;
	json_int(json_get(row, STR("seen_us")), &w->seen_us);
	read_caller(w, json_get(row, STR("host")));
	w->ended = ended || json_true(json_get(row, STR("gone"))) || w->seen_us < os_boot_us();
	w->told_of = uid;
	set_told(all, w, !ended);
	set_effort(all, w, (struct effort *)efforts_find(all, &uid));
}
