/* Tokens of active sessions. Hooks do not report them, transcripts do: after a turn has ended, what is new in the
 * transcripts of the sessions of the last hour is read, for its tokens only (the hooks have reported the rest). What
 * the hooks did not say of the last turn is taken too: its answer, if the hook at its end had none, and its prompt, if
 * no hook reported one.
 *
 * A worker reads, the writer stores; the loop only starts it, and one reading runs at a time. */
#include <errno.h>
#include <stdlib.h>

#include "agents/agents.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/follow.h"
#include "history/history.h"

enum {
	AFTER_MS = 1000, /* the agent writes its last lines, the store gets the event */
	CATCH_UP_MS = 3000,
	SESSIONS = 32, /* at once, the latest first */
	LATEST_US = 3600 * 1000000ull,
	FRAME_BYTES = 256 << 10,
	BYTES_AT_ONCE = 64 << 20, /* then the rest waits for the next time: a worker is shared */
};

struct follow {
	struct follow_config config;
	struct loop_timer *timer;
	struct redactor *redactor;
	bool running, again;
	struct journal_pos seen; /* what the sessions' rows must include */
};

static int store_frame(struct follow *f, struct history *h, const char *path, struct buf *records)
{
	struct buf frame = BUF_INIT(LIMIT_FRAME), head = BUF_INIT(MIB(1));
	struct capture_frame m = { .capture = f->config.capture, .purpose = "tokens" };
	int r;

	history_write_head(h, path, &head);
	wire_records_begin(&frame, buf_str(&head));
	buf_add_str(&frame, buf_str(records));
	buf_clear(records);
	m.body = buf_str(&frame);
	r = frame.full ? -E2BIG : writer_call(f->config.writer, capture_take_frame, &m);
	buf_release(&frame);
	buf_release(&head);
	return r;
}

/* What was said belongs before the end of the turn that the hook has reported. */
static int settle(struct store *s, void *arg)
{
	struct follow *f = arg;
	int left = capture_refold_due(f->config.capture, s, SESSIONS);

	return left < 0 ? left : 0;
}

struct candidate {
	struct transcript_request request;
	int64_t answer_since_us, prompt_since_us; /* of the last turn, where it has none; else never */
	struct candidate *next;
};

static bool is_wanted(const struct candidate *c, const struct record *r, bool silent)
{
	switch (r->kind) {
	case EVENT_MODEL_USAGE: return true;
	case EVENT_STOP: return silent || r->at_us >= c->answer_since_us;
	case EVENT_USER_PROMPT_SUBMIT: return r->at_us > c->prompt_since_us;
	default: return false;
	}
}

static int read_tokens(struct follow *f, struct history *h, const struct candidate *c, int64_t *budget)
{
	const char *path = c->request.path;
	struct buf records = BUF_INIT(LIMIT_FRAME - MIB(2)), record = BUF_INIT(LIMIT_RECORD);
	struct transcript_counts n = { 0 };
	struct record r;
	bool silent = agent_find(str_of(transcript_agent(history_transcript(h))))->silent_stop;
	bool said = false;
	int got = 0, result = 0;

	while (result == 0 && (int64_t)n.bytes < *budget && (got = history_next(h, &r)) == 1) {
		transcript_get_counts(history_transcript(h), &n);
		if (!is_wanted(c, &r, silent))
			continue;
		said |= r.kind != EVENT_MODEL_USAGE;
		buf_clear(&record);
		if (record_encode(&r, &record) == 0)
			wire_records_add(&records, buf_str(&record));
		if (records.len > FRAME_BYTES)
			result = store_frame(f, h, path, &records);
	}
	if (result == 0)
		result = store_frame(f, h, path, &records);
	if (result == 0 && said)
		result = writer_call(f->config.writer, settle, f);
	*budget -= (int64_t)n.bytes;
	f->again |= got == 1;
	buf_release(&records);
	buf_release(&record);
	return result;
}

/* The sessions' files and where they were read to. */
static struct candidate *find_candidates(struct store *s, struct arena *a)
{
	struct candidate *first = NULL, **last = &first;
	struct query *q = store_ask(s,
		"SELECT s.agent, s.transcript, t.identity, t.offset, t.state, "
		"CASE WHEN b.status = 'completed' AND coalesce(b.response, '') = '' THEN b.started_at END, "
		"CASE WHEN b.prompt_hash IS NULL THEN coalesce((SELECT last_at FROM batches p WHERE p.session = s.key "
		"AND "
		"p.ord < b.ord ORDER BY p.ord DESC LIMIT 1), s.started_at - 60000000) END FROM sessions s LEFT JOIN "
		"transcripts t ON t.path = s.transcript AND t.purpose = 'tokens' LEFT JOIN batches b ON b.key = "
		"s.last_batch "
		"WHERE s.last_at > ?1 AND s.transcript IS NOT NULL "
		"ORDER BY s.last_at DESC LIMIT ?2",
		"ii", clock_wall_us() - (int64_t)LATEST_US, (int64_t)SESSIONS);

	while (query_step(q) == 1) {
		struct candidate *c = arena_new(a, struct candidate);

		c->request = (struct transcript_request){ .agent = arena_cstr(a, query_str(q, 0)),
			.path = arena_cstr(a, query_str(q, 1)),
			.identity = query_is_null(q, 2) ? STR_NONE : arena_str(a, query_str(q, 2)),
			.offset = query_int(q, 3),
			.state = arena_str(a, query_str(q, 4)) };
		c->answer_since_us = query_is_null(q, 5) ? INT64_MAX : query_int(q, 5);
		c->prompt_since_us = query_is_null(q, 6) ? INT64_MAX : query_int(q, 6);
		*last = c;
		last = &c->next;
	}
	query_reset(q);
	return first;
}

static void work(void *arg)
{
	struct follow *f = arg;
	struct arena arena = { 0 };
	struct store *s = NULL;
	struct err err = { 0 };
	int64_t budget = BYTES_AT_ONCE;
	const char *home = f->config.home;
	struct candidate *list = NULL;

	(void)writer_wait(f->config.writer, f->seen, CATCH_UP_MS);
	if (home[0] && store_open(f->config.store, STORE_READ, NULL, &s, &err) == 0)
		list = find_candidates(s, &arena);
	store_close(s);
	for (struct candidate *c = list; c && budget > 0; c = c->next) {
		struct history *h;

		/* The path came with an event: only what lies where the agent keeps its history is opened. */
		if (!transcript_is_history(home, c->request.agent, c->request.path))
			continue;
		if (history_open(&c->request, f->redactor, &h, &err) < 0)
			continue;
		if (transcript_was_replaced(history_transcript(h)) ||
			c->request.offset < transcript_size(history_transcript(h)))
			if (read_tokens(f, h, c, &budget) < 0)
				budget = 0;
		history_close(h);
	}
	arena_release(&arena);
}

static void worked(void *arg)
{
	struct follow *f = arg;

	f->running = false;
	if (f->again)
		loop_timer_set(f->timer, AFTER_MS * USEC_PER_MSEC);
	f->again = false;
}

static void begin(void *arg)
{
	struct follow *f = arg;

	if (!f->redactor)
		f->redactor = redactor_new();
	f->running = true;
	f->seen = journal_end(f->config.journal);
	loop_submit_lane(f->config.loop, LOOP_BACKGROUND, work, worked, f);
}

void follow_soon(void *arg)
{
	struct follow *f = arg;

	if (f->running)
		f->again = true;
	else
		loop_timer_set(f->timer, AFTER_MS * USEC_PER_MSEC);
}

struct follow *follow_new(const struct follow_config *config)
{
	struct follow *f = xcalloc(1, sizeof *f);

	f->config = *config;
	f->timer = loop_timer_new(config->loop, begin, f);
	return f;
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	loop_timer_free(f->timer);
	redactor_free(f->redactor);
	free(f);
}
