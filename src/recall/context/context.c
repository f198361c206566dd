/* The moments at which something is added, and the way of a question through them. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "context/internal.h"

enum { DEADLINE_MS = 40, START_DEADLINE_MS = 130 };

/* The first row that fits. */
static const struct {
	enum event_kind kind;
	const char *source; /* of a session's start; NULL: any */
	int (*add)(struct moment *m);
} moments[] = {
	{ EVENT_SESSION_START, "resume", start_line },
	{ EVENT_SESSION_START, "compact", start_short },
	{ EVENT_SESSION_START, NULL, start_full },
	{ EVENT_USER_PROMPT_SUBMIT, NULL, recall_prompt },
	{ EVENT_POST_TOOL_USE, NULL, recall_file },
};

struct context *context_new(const struct context_config *config)
{
	struct context *c = xcalloc(1, sizeof *c);

	*c = (struct context){ .readers = config->readers,
		.memories = config->memories,
		.code = config->code,
		.config = config->config,
		.secret = config->secret,
		.home = config->home };
	return c;
}

void context_free(struct context *c)
{
	free(c);
}

bool context_applies(const struct context *c, const struct event *e)
{
	if (!config_number(c->config, OPTION_CONTEXT_ENABLED) || str_empty(e->session) || e->marks & EVENT_PRIVATE)
		return false;
	switch (e->kind) {
	case EVENT_SESSION_START: return true;
	case EVENT_USER_PROMPT_SUBMIT: return !str_empty(e->prompt);
	/* Before the call there is nothing to say that would not be better said after it. */
	case EVENT_POST_TOOL_USE:
		return (e->tool_class == TOOL_READ || e->tool_class == TOOL_WRITE) && !str_empty(e->file_path);
	default: return false;
	}
}

static int is_barren(struct moment *m, bool *ret)
{
	int64_t any = 0;
	int got = store_number(m->store, &any, "SELECT 1 FROM memories WHERE project IN (?1, 0) LIMIT 1", "i",
		m->project);

	*ret = !any && !pieces_may_come(m);
	return MIN(got, 0);
}

static int64_t key_of(struct query *q)
{
	str item = query_str(q, 1);
	struct ulid name;

	if (!query_is_null(q, 0) || item.n != ULID_BYTES)
		return query_int(q, 0);
	memcpy(name.b, item.p, ULID_BYTES);
	return piece_key(&name);
}

/* What the ledger says of the current window; resuming a session continues the one before. */
static int recollect(struct moment *m)
{
	struct context_reply *r = m->reply;
	struct query *q = store_ask(m->store,
		"SELECT m.key, i.item FROM injections i LEFT JOIN memories m ON m.uid = i.item WHERE i.session = "
		"(SELECT key FROM sessions WHERE native_id = ?1 ORDER BY agent = ?2 DESC LIMIT 1) AND i.ord >= "
		"coalesce((SELECT max(w.ord) FROM windows w WHERE w.session = i.session AND w.agent_id IS NULL AND "
		"w.source <> 'resume'), 0) ORDER BY i.ord DESC LIMIT ?3",
		"ssi", m->ask->session, m->ask->agent, (int64_t)CONTEXT_GIVEN);
	int got;

	while ((got = query_step(q)) == 1 && r->ngiven < CONTEXT_GIVEN)
		r->given[r->ngiven++] = key_of(q);
	query_reset(q);
	return MIN(got, 0);
}

/* Switched off for this session, or for its project. */
static int is_quiet(struct moment *m, bool *ret)
{
	int64_t found = 0;
	int got = store_number(m->store, &found,
		"SELECT 1 FROM quiet WHERE what = 'session' AND name = ?1 UNION ALL SELECT 1 FROM projects p JOIN "
		"quiet q ON "
		"q.what = 'project' AND q.name = p.path WHERE p.key = ?2 LIMIT 1",
		"si", m->ask->session, m->project);

	*ret = found;
	return MIN(got, 0);
}

static int add_what_fits(struct moment *m)
{
	bool is_start = m->ask->kind == EVENT_SESSION_START;
	int r = MIN(0, memory_project_find(m->store, m->ask->cwd, &m->project));
	bool quiet = false;

	if (r == 0 && !m->ask->asked_for)
		r = is_quiet(m, &quiet);
	if (r < 0 || quiet)
		return r;
	if (r == 0)
		r = is_barren(m, &m->reply->barren);
	if (r < 0 || (m->reply->barren && !is_start))
		return r;
	if (m->ask->recollect && (r = recollect(m)) < 0)
		return r;
	for (size_t i = 0; i < countof(moments); i++)
		if (moments[i].kind == m->ask->kind &&
			(!moments[i].source || str_eq(m->ask->source, str_of(moments[i].source))))
			return moments[i].add(m);
	return 0;
}

/* The effort first: it is what was asked for by name, whatever else is switched off. */
static int add_all(struct moment *m)
{
	int r = m->ask->effort ? effort_part(m) : 0;

	return r < 0 || m->ask->effort_only ? r : add_what_fits(m);
}

int context_answer(struct context *c, const struct context_ask *q, struct arena *a, struct context_reply *ret)
{
	struct moment m = { .context = c, .ask = q, .reply = ret, .arena = a, .text = BUF_INIT(2 * CONTEXT_BYTES) };
	bool begins = q->effort && q->effort->begins;
	struct err err;
	int r = readers_try(c->readers, &m.store, &err);

	*ret = (struct context_reply){ .text = STR_NONE };
	if (r < 0)
		return r;
	m.all = CONTEXT_BYTES - MIN(q->taken, (size_t)CONTEXT_BYTES);
	m.room = MIN(m.all, (size_t)config_number(c->config, OPTION_CONTEXT_TOKENS) * 4);
	store_limit(m.store, clock_mono_us() + (begins ? START_DEADLINE_MS : DEADLINE_MS) * USEC_PER_MSEC, NULL);
	r = store_exec(m.store, "BEGIN");
	if (r == 0)
		r = add_all(&m);
	store_limit(m.store, 0, NULL);
	store_exec(m.store, "ROLLBACK");
	if (r < 0 && r != -ECANCELED)
		store_close(m.store);
	else
		readers_give_back(c->readers, m.store);
	if (r == 0)
		block_finish(&m);
	buf_release(&m.text);
	return r;
}
