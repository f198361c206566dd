/* The stage of the context: a worker looks for what fits while the turn waits, for a limited time. The worker gets
 * copies and never sees the turn, so a turn that continued without it is nobody's concern.
 *
 * What was added is an event of hookd's own, like a decision: `hookd why` shows it. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/turn.h"
#include "guard/guard.h"

enum {
	PATIENCE_MS = 50,
	START_PATIENCE_MS = 150,
	EFFORT_PATIENCE_MS = 400, /* what an agent goes on from is worth more than a moment */
	FOLD_MS = 250,
	RECOLLECT_MS = 25,
	PROMPT_KEPT = 8192,
	EXCERPT_KEPT = 400,
	SETTLED_S = 5
};

struct asking {
	struct turn *turn; /* NULL: it continued without */
	struct context *context;
	struct context_ask ask;
	struct context_effort effort; /* what ask.effort points to */
	struct context_reply reply;
	struct arena arena; /* of copies and of the reply */
	int64_t until_us;   /* monotonic */
	bool stranger;      /* what its window was given is in the ledger, if anywhere */
	struct writer *writer;
	struct journal_pos seen;
	bool recollected;
	int result;
};

/* -- the ledger -------------------------------------------------------------------------------- */

static str write_ledger(struct turn *t, const struct context_reply *r)
{
	struct buf b = BUF_INIT(65536);
	struct json_writer w = JSON_WRITER(&b);
	char id[ULID_TEXT + 1];
	str text;

	ulid_format(&t->event.id, id);
	jw_object(&w);
	jw_field_str(&w, "session_id", t->event.session);
	jw_field_str(&w, "event_id", str_of(id));
	jw_field_str(&w, "event", str_of(event_kinds[t->event.kind].name));
	jw_field_int(&w, "bytes", (int64_t)r->text.n);
	jw_key(&w, "items");
	jw_array(&w);
	for (size_t i = 0; i < r->n; i++) {
		ulid_format(&r->items[i].uid, id);
		jw_object(&w);
		jw_field_str(&w, str_is_set(r->items[i].place) ? "code" : "memory", str_of(id));
		if (str_is_set(r->items[i].place))
			jw_field_str(&w, "place", r->items[i].place);
		jw_field_int(&w, "score", (int64_t)(r->items[i].score * 1000));
		jw_field_int(&w, "confidence", (int64_t)(r->items[i].confidence * 1000));
		jw_field_int(&w, "tokens", r->items[i].tokens);
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	text = arena_str(&t->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void note_injection(struct turn *t, const struct context_reply *r)
{
	struct record record;
	struct event e;

	event_own(EVENT_INJECTION, &t->event, write_ledger(t, r), &t->arena, &e);
	redact(t->engine->redactor, &t->arena, &e, t->record.marks & EVENT_PRIVATE ? REDACT_MUTED : 0, &record, NULL);
	if (journal_add(t->engine->config.journal, &record) == 0)
		t->engine->audit_waits = true;
}

static void note_given(struct live *l, int64_t key)
{
	if (!l->given)
		l->given = xcalloc(CONTEXT_GIVEN, sizeof *l->given);
	l->given[l->ngiven++ % CONTEXT_GIVEN] = key;
}

static void take_recollected(struct live *l, const struct asking *q)
{
	if (!l || !q->recollected || l->recollected)
		return;
	for (size_t i = q->reply.ngiven; i-- > 0;)
		note_given(l, q->reply.given[i]);
	l->recollected = true;
}

static void remember_given(struct live *l, const struct context_reply *r)
{
	for (size_t i = 0; l && i < r->n; i++)
		note_given(l, r->items[i].key);
}

static void take_reply(struct turn *t, const struct asking *q)
{
	const struct engine *e = t->engine;
	/* What was learned a moment ago may not be in the store yet. */
	bool settled = clock_mono_us() - e->learned_us > SETTLED_S * USEC_PER_SEC;

	if (t->live)
		t->live->barren_at = q->reply.barren && settled ? e->state.kinds[EVENT_MEMORY] + 1 : 0;
	take_recollected(t->live, q);
	if (q->ask.effort)
		effort_take_reply(t, &q->reply);
	if (!str_is_set(q->reply.text))
		return;
	verdict_add_context(&t->verdict, &t->arena, STR("memories"), arena_str(&t->arena, q->reply.text));
	remember_given(t->live, &q->reply);
	note_injection(t, &q->reply);
	t->engine->state.injected += q->reply.n;
}

/* -- what is wanted ----------------------------------------------------------------------------- */

static bool wants_memories(const struct turn *t)
{
	const struct engine *e = t->engine;
	bool barren = t->live && t->live->barren_at == e->state.kinds[EVENT_MEMORY] + 1;

	return context_applies(e->context, &t->event) && (!barren || t->event.kind == EVENT_SESSION_START) &&
		(t->call.encode || agent_takes(t->agent, &t->event) & TAKES_CONTEXT);
}

static bool is_wanted(const struct turn *t)
{
	return t->engine->context && !(t->record.marks & EVENT_PRIVATE) && t->verdict.action != VERDICT_DENY &&
		!t->verdict.end_turn && (t->wants || wants_memories(t));
}

/* -- asking ------------------------------------------------------------------------------------ */

static void asking_free(struct asking *q)
{
	arena_release(&q->arena);
	free(q);
}

/* Of a session that this daemon has not seen from its start (it was restarted, or many others were used since), the
 * ledger knows what it was given. That is asked only when there is something to give. */
static void work(void *arg)
{
	struct asking *q = arg;

	/* Where an effort stands may have been written down a moment ago. */
	if (q->ask.effort && q->ask.effort->begins && q->writer)
		q->result = writer_wait(q->writer, q->seen, FOLD_MS);
	if (q->result < 0)
		return;
	q->result = context_answer(q->context, &q->ask, &q->arena, &q->reply);
	if (q->result < 0 || !q->reply.n || !q->stranger || q->ask.effort)
		return;
	/* The last of it may be in the journal still; if folding takes long, the next event asks again. */
	q->recollected = q->writer && writer_wait(q->writer, q->seen, RECOLLECT_MS) == 0;
	q->ask.recollect = true;
	q->result = context_answer(q->context, &q->ask, &q->arena, &q->reply);
}

static void done(void *arg)
{
	struct asking *q = arg;
	struct turn *t = q->turn;

	if (t) {
		t->asking = NULL;
		if (q->result == 0)
			take_reply(t, q);
		else if (q->ask.effort)
			effort_missed(t);
		turn_arrive(t);
	}
	asking_free(q);
}

/* Some of what a tool printed: a text, or the first text in what it returned. */
static str excerpt_of(const struct json *v, int depth)
{
	str found = STR_NONE;

	if (!v || v->type == JSON_STRING)
		return v ? v->text : STR_NONE;
	json_each(item, v) {
		if (depth < 4 && str_empty(found))
			found = excerpt_of(item, depth + 1);
	}
	return found;
}

/* The turn may be gone before the worker is done. */
static void copy_effort(struct asking *q, const struct context_effort *from)
{
	struct context_effort *to = &q->effort;
	str *const texts[] = { &to->task, &to->root, &to->skill, &to->mode, &to->phase, &to->goal, &to->config,
		&to->metadata, &to->dir, &to->phase_due };

	*to = *from;
	to->dir_mark = to->phase_mark = STR_NONE; /* the turn's */
	for (size_t i = 0; i < countof(texts); i++)
		*texts[i] = arena_str(&q->arena, *texts[i]);
	for (size_t i = 0; i < to->nowed; i++)
		to->owed[i] = arena_str(&q->arena, to->owed[i]);
	if (to->ngiven) {
		uint64_t *given = arena_alloc(&q->arena, to->ngiven * sizeof *given);

		memcpy(given, from->given, to->ngiven * sizeof *given);
		to->given = given;
	}
	q->ask.effort = to;
}

static size_t taken_of(const struct turn *t)
{
	size_t n = 0;

	for (const struct context_block *b = t->verdict.context; b; b = b->next)
		n += b->text.n + 2;
	return n;
}

static int64_t patience_of(const struct turn *t)
{
	if (t->wants && t->wants->begins)
		return EFFORT_PATIENCE_MS;
	return t->event.kind == EVENT_SESSION_START ? START_PATIENCE_MS : PATIENCE_MS;
}

static struct asking *new_asking(struct turn *t)
{
	struct asking *q = xcalloc(1, sizeof *q);
	const struct event *e = &t->event;
	struct live *l = t->live;
	size_t given = l ? MIN(l->ngiven, (size_t)CONTEXT_GIVEN) : 0;

	q->turn = t;
	q->context = t->engine->context;
	q->stranger = l && !l->recollected;
	q->writer = t->engine->writer;
	q->seen = journal_end(t->engine->config.journal);
	q->until_us = clock_mono_us() + patience_of(t) * USEC_PER_MSEC;
	q->ask = (struct context_ask){ .kind = e->kind,
		.tool_class = e->tool_class,
		.agent = arena_str(&q->arena, e->agent),
		.session = arena_str(&q->arena, e->session),
		.cwd = arena_str(&q->arena, e->cwd),
		.source = arena_str(&q->arena, e->source),
		.prompt = arena_str(&q->arena,
			str_cut_utf8(str_empty(e->prompt) && l ? l->prompt : e->prompt, PROMPT_KEPT)),
		.file = arena_str(&q->arena, e->file_path) };
	q->ask.taken = taken_of(t);
	q->ask.effort_only = !wants_memories(t);
	if (t->wants)
		copy_effort(q, t->wants);
	/* What was read is in the file already; what a change printed says what changed. */
	if (e->tool_class == TOOL_WRITE)
		q->ask.excerpt = arena_str(&q->arena, str_cut_utf8(excerpt_of(e->tool_response, 0), EXCERPT_KEPT));
	if (given) {
		int64_t *copy = arena_alloc(&q->arena, given * sizeof *copy);

		memcpy(copy, l->given, given * sizeof *copy);
		q->ask.given = copy;
		q->ask.ngiven = given;
	}
	return q;
}

/* A new window has none of what the one before it was given. */
static void note_event(struct turn *t)
{
	struct live *l = t->live;

	if (!l)
		return;
	if (t->event.kind == EVENT_SESSION_START && !str_eq(t->event.source, STR("resume"))) {
		l->ngiven = 0;
		l->recollected = true;
	}
	if (t->event.kind == EVENT_USER_PROMPT_SUBMIT && !(t->record.marks & EVENT_PRIVATE)) {
		str prompt = str_cut_utf8(t->event.prompt, sizeof l->prompt_room);

		memcpy(l->prompt_room, prompt.p, prompt.n);
		l->prompt = str_n(l->prompt_room, prompt.n);
	}
}

enum stage_result stage_context(struct turn *t)
{
	guard_selftest_context(&t->event, &t->arena, &t->verdict);
	note_event(t);
	if (!is_wanted(t))
		return STAGE_DONE;
	t->asking = new_asking(t);
	if (t->wants)
		effort_asked(t);
	turn_depart(t);
	loop_submit_lane(t->engine->config.loop, LOOP_CONTEXT, work, done, t->asking);
	return turn_wait(t);
}

bool context_expire(struct turn *t, int64_t now)
{
	if (!t->asking || now < t->asking->until_us)
		return false;
	if (t->asking->ask.effort)
		effort_missed(t);
	t->asking->turn = NULL;
	t->asking = NULL;
	t->engine->state.context_late++;
	log_warn(LOG_ENGINE, "context for " STR_FMT " took too long; it goes on without", STR_ARG(t->event.native));
	turn_arrive(t);
	return true;
}
