/* Active sessions: a hash table of at most 512; the least recently used is dropped. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "engine/turn.h"

enum { LIVE_MAX = 512, BUCKETS = 1024 };

struct live_table {
	struct hooks *hooks;
	struct live *buckets[BUCKETS];
	struct live *newest, *oldest;
	unsigned n;
};

struct live_table *live_new(struct hooks *hooks)
{
	struct live_table *t = xcalloc(1, sizeof *t);

	t->hooks = hooks;
	return t;
}

static void release(struct live *l)
{
	hooks_session_free(l->hooks);
	tally_free(l->tally);
	free((void *)l->agent.p);
	free((void *)l->session.p);
	free(l->given);
	free(l);
}

void live_free(struct live_table *t)
{
	if (!t)
		return;
	for (struct live *l = t->newest, *older; l; l = older) {
		older = l->older;
		release(l);
	}
	free(t);
}

static uint64_t hash_of(str agent, str session)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < agent.n; i++)
		h = (h ^ (uint8_t)agent.p[i]) * 0x100000001b3u;
	for (size_t i = 0; i < session.n; i++)
		h = (h ^ (uint8_t)session.p[i]) * 0x100000001b3u;
	return h;
}

static void take_out(struct live_table *t, struct live *l)
{
	*(l->newer ? &l->newer->older : &t->newest) = l->older;
	*(l->older ? &l->older->newer : &t->oldest) = l->newer;
	l->newer = l->older = NULL;
}

static void put_first(struct live_table *t, struct live *l)
{
	l->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = l;
	t->newest = l;
}

static void forget_oldest(struct live_table *t)
{
	struct live *l = t->oldest, **at;

	while (l && l->refs)
		l = l->newer;
	if (!l)
		return;
	for (at = &t->buckets[l->hash % BUCKETS]; *at != l; at = &(*at)->next)
		;
	*at = l->next;
	take_out(t, l);
	t->n--;
	release(l);
}

static struct live *make(struct live_table *t, str agent, str session, const struct event *e)
{
	struct live *l = xcalloc(1, sizeof *l);

	if (t->n >= LIVE_MAX)
		forget_oldest(t);
	l->hash = hash_of(agent, session);
	l->agent = str_n(xstrndup(agent.p, agent.n), agent.n);
	l->session = str_n(xstrndup(session.p, session.n), session.n);
	l->began_us = e->kind == EVENT_SESSION_START && !str_eq(e->source, STR("resume")) ? e->at_us : 0;
	l->hooks = t->hooks ? hooks_session_new(t->hooks, e->agent, session, e->cwd) : NULL;
	l->next = t->buckets[l->hash % BUCKETS];
	t->buckets[l->hash % BUCKETS] = l;
	t->n++;
	return l;
}

struct live *live_find(const struct live_table *t, str agent, str session)
{
	uint64_t hash = hash_of(agent, session);
	struct live *l = t->buckets[hash % BUCKETS];

	while (l && !(l->hash == hash && str_eq(l->session, session) && str_eq(l->agent, agent)))
		l = l->next;
	return l;
}

struct live *live_get(struct live_table *t, const struct event *e)
{
	str agent = str_head(e->agent, LIMIT_NAME), session = str_head(e->session, LIMIT_NAME);
	struct live *l;

	if (str_empty(agent) || str_empty(session))
		return NULL;
	l = live_find(t, agent, session);
	if (l)
		take_out(t, l);
	else
		l = make(t, agent, session, e);
	put_first(t, l);
	l->refs++;
	return l;
}

void live_put(struct live_table *t, struct live *l)
{
	(void)t;
	if (l)
		l->refs--;
}

unsigned live_count(const struct live_table *t)
{
	return t->n;
}
