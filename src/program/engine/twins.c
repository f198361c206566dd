/* Duplicate calls about one event: Cursor fires preToolUse and beforeShellExecution for one command, Copilot CLI and
 * Cursor run the hooks of two files, and a user may have hookc in both the user's and the project's settings.
 *
 * The first call leads and runs all stages. The others follow: the guard judges their own bytes, because they may
 * differ after all, and then they get the leader's final verdict, each encoded for its own caller. No hook runs
 * twice, and nothing is decided, counted or delivered twice. A follower's record names its leader.
 *
 * A call follows when its key is a leader's (event_same_key()) and it came another way within ten seconds, or with
 * the same id within a minute whichever way. The same way twice without an id is a new event: an agent may well run
 * one command twice. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "engine/turn.h"

enum {
	LEADERS = 256,
	ANOTHER_WAY_S = 10,
	SAME_ID_S = 60,
};

#define KEPT_MAX MIB(4) /* of all verdicts together */

struct twin {
	int64_t at_us;      /* monotonic */
	struct event event; /* its texts are in the arena */
	enum hook_way way;
	struct turn *leader;    /* until it has its verdict */
	struct turn *followers; /* that wait for it */
	struct arena arena;
	struct verdict verdict;
	uint64_t happened; /* the leader's number among the events of its session */
	unsigned refs;     /* turns that lead or follow */
};

/* A ring: the oldest entry that no turn needs is replaced. The keys are compared with every event, so they stand
 * beside each other. */
struct twins {
	uint64_t keys[LEADERS]; /* 0: nobody leads there */
	struct twin ring[LEADERS];
	unsigned next;
	size_t kept;
};

struct twins *twins_new(void)
{
	return xcalloc(1, sizeof(struct twins));
}

static void forget(struct twins *all, struct twin *w)
{
	all->kept -= w->arena.total;
	all->keys[w - all->ring] = 0;
	arena_release(&w->arena);
	*w = (struct twin){ 0 };
}

void twins_free(struct twins *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < LEADERS; i++)
		arena_release(&t->ring[i].arena);
	free(t);
}

/* -- finding the leader ------------------------------------------------------------------------ */

static bool came_another_way(const struct twin *w, const struct turn *t)
{
	return w->way != t->call.way || !str_eq(w->event.agent, t->call.hook.agent) ||
		!str_eq(w->event.native, t->event.native);
}

/* A session does not begin, end or shrink twice within seconds with nothing in between, whoever says so. */
static bool is_said_again(const struct twin *w, const struct turn *t)
{
	enum event_kind kind = t->event.kind;

	return (kind == EVENT_SESSION_START || kind == EVENT_SESSION_END || kind == EVENT_PRE_COMPACT) && t->live &&
		t->live->happened == w->happened;
}

static bool is_leader_of(const struct twin *w, const struct turn *t, int64_t now)
{
	int64_t age_us = now - w->at_us;
	bool by_id;

	if (!event_ids_agree(&w->event, &t->event, &by_id))
		return false;
	return (by_id && age_us <= SAME_ID_S * USEC_PER_SEC) ||
		((came_another_way(w, t) || is_said_again(w, t)) && age_us <= ANOTHER_WAY_S * USEC_PER_SEC);
}

/* The newest first: of two equal calls of one way, the follower belongs to the second. */
static struct twin *find_leader(struct twins *all, const struct turn *t, uint64_t key, int64_t now)
{
	for (unsigned i = 1; i <= LEADERS; i++) {
		unsigned at = (all->next + LEADERS - i) % LEADERS;

		if (all->keys[at] == key && is_leader_of(&all->ring[at], t, now))
			return &all->ring[at];
	}
	return NULL;
}

/* By whose hook line it came, which need not be the agent that ran it. */
static void keep_names(struct twin *w, const struct event *e, str called)
{
	w->event = (struct event){
		.id = e->id,
		.kind = e->kind,
		.agent = arena_str(&w->arena, called),
		.native = arena_str(&w->arena, e->native),
		.tool_use_id = arena_str(&w->arena, e->tool_use_id),
		.prompt_id = arena_str(&w->arena, e->prompt_id),
	};
}

static void lead(struct twins *all, struct turn *t, uint64_t key, int64_t now)
{
	struct twin *w = NULL;

	for (unsigned i = 0; i < LEADERS && !w; i++, all->next = (all->next + 1) % LEADERS)
		if (!all->ring[all->next].refs)
			w = &all->ring[all->next];
	if (!w)
		return; /* hundreds of turns are waiting for hooks; then a duplicate counts as an event of its own */
	forget(all, w);
	all->keys[w - all->ring] = key;
	w->at_us = now;
	w->way = t->call.way;
	w->happened = t->live ? t->live->happened : 0;
	w->leader = t;
	w->refs = 1;
	keep_names(w, &t->event, t->call.hook.agent);
	all->kept += w->arena.total;
	t->twin = w;
}

void twin_join(struct turn *t)
{
	uint64_t key = event_same_key(&t->event);
	int64_t now = clock_mono_us();
	struct twin *w;

	t->event.first = t->event.id;
	w = key && !t->late ? find_leader(t->engine->twins, t, key, now) : NULL;
	if (!w && t->live)
		t->live->happened++;
	if (!key || t->late)
		return;
	if (!w) {
		lead(t->engine->twins, t, key, now);
		return;
	}
	w->refs++;
	t->twin = w;
	t->follows = true;
	t->event.first = w->event.id;
	t->record.marks |= EVENT_TWIN;
	t->record.twin = arena_str(&t->arena, str_n((const char *)w->event.id.b, ULID_BYTES));
	t->engine->state.twins++;
}

/* -- the verdict ------------------------------------------------------------------------------- */

static const struct json *copy_json(struct arena *a, const struct json *v)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json *copy = NULL;

	json_write(&b, v);
	if (!b.full)
		(void)json_parse(a, arena_str(a, buf_str(&b)), JSON_LENIENT_UTF8, &copy, NULL);
	buf_release(&b);
	return copy;
}

/* Everything an answer is made of; rulings stay with the leader, because only leaders are audited. */
static void copy_verdict(struct arena *a, const struct verdict *v, struct verdict *ret)
{
	*ret = (struct verdict){
		.action = v->action,
		.reason = arena_str(a, v->reason),
		.rule = arena_str(a, v->rule),
		.system_message = arena_str(a, v->system_message),
		.continue_turn = v->continue_turn,
		.end_turn = v->end_turn,
		.mild = v->mild,
		.alone = v->alone,
		.effort = arena_str(a, v->effort),
	};
	if (v->updated_input) {
		ret->updated_input = copy_json(a, v->updated_input);
		if (!ret->updated_input)
			verdict_raise(ret, VERDICT_ASK, v->rule,
				STR("a changed input is too large to be passed on to duplicate calls"));
	}
	for (const struct context_block *b = v->context; b; b = b->next)
		verdict_add_context(ret, a, arena_str(a, b->title), arena_str(a, b->text));
}

/* The stricter of the verdict on the follower's own bytes and the leader's verdict. */
static void follow(struct turn *t)
{
	struct verdict own = t->verdict;

	copy_verdict(&t->arena, &t->twin->verdict, &t->verdict);
	verdict_take(&t->verdict, &own);
}

enum stage_result stage_leader(struct turn *t)
{
	struct twin *w = t->twin;

	if (!w->leader) {
		follow(t);
		return STAGE_DONE;
	}
	turn_depart(t);
	t->next_follower = w->followers;
	w->followers = t;
	return turn_wait(t);
}

static void make_room(struct twins *all)
{
	for (unsigned i = 0; i < LEADERS && all->kept > KEPT_MAX; i++) {
		unsigned at = (all->next + i) % LEADERS;

		if (all->keys[at] && !all->ring[at].refs)
			forget(all, &all->ring[at]);
	}
}

void twin_decided(struct turn *t)
{
	struct twin *w = t->twin;
	struct turn *f, *next;
	size_t before;

	if (!w || t->follows || !w->leader)
		return;
	before = w->arena.total;
	if (t->sight.found)
		t->verdict.effort = sight_write(&t->sight, &t->arena);
	copy_verdict(&w->arena, &t->verdict, &w->verdict);
	t->engine->twins->kept += w->arena.total - before;
	w->leader = NULL;
	f = w->followers;
	w->followers = NULL;
	for (; f; f = next) {
		next = f->next_follower;
		follow(f);
		turn_arrive(f);
	}
	make_room(t->engine->twins);
}

bool twin_is_wanted(const struct turn *t)
{
	if (!t->call.caller.is_gone(t->call.caller.arg))
		return true;
	for (const struct turn *f = t->twin ? t->twin->followers : NULL; f; f = f->next_follower)
		if (!f->call.caller.is_gone(f->call.caller.arg))
			return true;
	return false;
}

void twin_leave(struct turn *t)
{
	if (!t->twin)
		return;
	t->twin->refs--;
	t->twin = NULL;
}
