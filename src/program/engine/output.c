/* What an agent says while its turn runs. Hooks report the turn's beginning, its calls and its end; what the model says
 * in between stands in the transcript alone. While somebody wants it (a sink that names Output, a listener), the
 * transcripts of running turns are looked at now and then, and what is new becomes an event of hookd's own.
 *
 *   prompt ─▶ open ─▶ look ─▶ wait ─▶ look … ─▶ stop ─▶ last look ─▶ idle
 *
 * A look is the job of a worker: at most LOOK_BYTES from where the last one ended. If there is more, the older part is
 * passed over, and the event says so. Whole lines only; the position, and what was told, is kept for each session.
 *
 * The newest answer is held back until something follows it: only then is it certain that it does not end the turn.
 * The one that ends it is the stop's to tell. What the stop did not bring, the last look does (final).
 *
 * Everything else belongs to the loop. An entry that is `busy` is a worker's, but for what the loop's part says. */
#include "engine/output.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/limits.h"
#include "base/log.h"
#include "redact/redact.h"
#include "transcript/transcript.h"

enum {
	FOLLOWED = 32,           /* sessions at once */
	AT_ONCE = 8,             /* of them in one job */
	LOOK_MS = 500,           /* while there is something new */
	LATEST_MS = 5000,        /* while there is not */
	LAST_LOOK_MS = 300,      /* after the end of a turn: the agent writes its last lines */
	COST = 20,               /* a look that took long is followed by so many times that of rest */
	GIVE_UP_S = 1800,        /* without an event and a new byte */
	LISTEN_S = 5,            /* after somebody asked */
	FIRST_BYTES = 256 << 10, /* of a transcript that was never looked at */
	LOOK_BYTES = 1 << 20,
	TEXT_MAX = 16 << 10, /* of one event */
	ANSWER_MAX = 64 << 10,
	TOLD = 64,
};

/* Something that was told: it may come again, grown. */
struct told {
	uint32_t id, hash;
	size_t length;
};

struct followed {
	struct followed *next; /* in a job */
	char *agent, *session, *path;
	/* The loop's. */
	bool used, busy, open, ends;
	int64_t again_us;        /* wall clock: when the next turn began before this one was through; 0: it did not */
	bool goes_on;            /* after its end, which a worker still looks at */
	int64_t due_us, wait_us; /* monotonic; until the look after it */
	int64_t heard_us;        /* monotonic: the last event or news */
	bool gone;               /* to be freed when it is not busy any more */
	/* Written by the loop while it is not busy; what comes meanwhile waits in next_answer. */
	int64_t since_us; /* wall clock: what was said before is not of this turn */
	char *answer;     /* that a stop has told; NULL: none */
	char *next_answer;
	/* The worker's. */
	int64_t size, mtime_us; /* of the file when it was looked at last */
	int64_t offset;
	struct buf identity, state;
	uint32_t held_id;
	int64_t held_us, told_us; /* when they were said: the held one, the last that was told */
	bool again;               /* the file is read from its beginning */
	struct buf held, out;     /* the newest answer; what is to be told now */
	uint64_t passed;          /* bytes of the file that nobody looked at */
	uint32_t seq;
	struct told told[TOLD];
	unsigned ntold;
	bool last; /* this look is the turn's last */
	bool news;
};

struct outputs {
	struct output_config config;
	struct loop_timer *timer;
	struct redactor *redactor;   /* the job's: there is one at a time */
	_Atomic int64_t listened_us; /* monotonic: somebody listens until then */
	struct followed list[FOLLOWED];
	bool running;
};

struct job {
	struct outputs *outputs;
	struct followed *first;
	struct arena arena;
	struct record records[AT_ONCE];
	size_t n;
	int64_t took_us;
};

/* -- what is said ------------------------------------------------------------------------------ */

static uint32_t hash_of(str s)
{
	return (uint32_t)crc32c(0, s.p ? s.p : "", s.n);
}

/* The part of an item that was not told yet, and notes it. */
static str untold(struct followed *f, uint32_t id, str text)
{
	struct told *t = NULL;
	str rest = text;

	for (size_t i = 0; i < MIN(f->ntold, (unsigned)TOLD) && !t; i++)
		if (f->told[i].id == id)
			t = &f->told[i];
	if (t && t->length <= text.n && hash_of(str_head(text, t->length)) == t->hash)
		rest = str_from(text, t->length);
	if (!t)
		t = &f->told[f->ntold++ % TOLD];
	*t = (struct told){ .id = id, .hash = hash_of(text), .length = text.n };
	return rest;
}

static bool is_in_answer(const struct followed *f, str text)
{
	return f->answer && str_find(str_of(f->answer), str_cut_utf8(text, ANSWER_MAX)) >= 0;
}

/* The held answer was not the last one. */
static void tell_held(struct followed *f)
{
	str text = buf_str(&f->held);

	if (f->held.len && !is_in_answer(f, text)) {
		f->told_us = MAX(f->told_us, f->held_us);
		text = untold(f, f->held_id, text);
		if (text.n && f->out.len)
			buf_add_str(&f->out, STR("\n\n"));
		buf_add_str(&f->out, text);
	}
	buf_clear(&f->held);
}

static void take(struct followed *f, const struct transcript_item *item, struct arena *scratch)
{
	uint32_t id = hash_of(item->id);
	str text;

	if (item->kind == TRANSCRIPT_USAGE || item->kind == TRANSCRIPT_START || item->sidechain ||
		str_is_set(item->agent_id))
		return;
	if (item->kind != TRANSCRIPT_ANSWER || id != f->held_id)
		tell_held(f);
	if (item->kind != TRANSCRIPT_ANSWER || item->failed || item->at_us < f->since_us ||
		(f->again && item->at_us < f->told_us))
		return;
	text = transcript_plain_text(scratch, item->text);
	buf_clear(&f->held);
	buf_add_str(&f->held, str_cut_utf8(text, LOOK_BYTES));
	f->held_id = id;
	f->held_us = item->at_us;
}

/* -- a look, on a worker ----------------------------------------------------------------------- */

static void read_on(struct followed *f, struct transcript *t, int64_t tail)
{
	struct transcript_position at;
	struct transcript_item item;
	struct arena scratch = { 0 };
	bool document = str_ends(str_of(f->path), STR(".json"));
	int64_t from;

	f->again = transcript_was_replaced(t);
	from = f->again ? 0 : f->offset;
	/* A document has all of it again, also what is held. */
	if (f->again && !document)
		tell_held(f);
	else if (f->again)
		buf_clear(&f->held);
	if (!document && f->offset && transcript_size(t) - from > tail)
		f->passed += (uint64_t)(transcript_size(t) - from - tail);
	while (transcript_next(t, &item) == 1) {
		take(f, &item, &scratch);
		arena_reset(&scratch);
	}
	transcript_position(t, &at);
	f->offset = at.offset;
	buf_clear(&f->identity);
	buf_add_str(&f->identity, at.identity);
	buf_clear(&f->state);
	buf_add_str(&f->state, at.state);
	arena_release(&scratch);
}

static void look_at(const struct outputs *o, struct followed *f)
{
	const int64_t tail = f->identity.len ? LOOK_BYTES : FIRST_BYTES;
	const struct transcript_request q = { .path = f->path,
		.agent = f->agent,
		.identity = buf_str(&f->identity),
		.offset = f->offset,
		.state = buf_str(&f->state),
		.tail = tail };
	struct err err = { 0 };
	struct transcript *t;
	struct stat st;
	int64_t mtime;

	/* The path came with an event: only what lies where the agent keeps its history is opened. A database has no
	 * lines to go on from. */
	if (!transcript_is_history(o->config.home, f->agent, f->path) || str_ends(str_of(f->path), STR(".db")) ||
		lstat(f->path, &st) < 0)
		return;
	mtime = (int64_t)st.st_mtim.tv_sec * USEC_PER_SEC + st.st_mtim.tv_nsec / 1000;
	if (st.st_size == f->size && mtime == f->mtime_us)
		return;
	if (transcript_open(&q, &t, &err) < 0)
		return;
	f->size = st.st_size;
	f->mtime_us = mtime;
	f->news = true;
	read_on(f, t, tail);
	transcript_close(t);
}

/* The end of a text, from the beginning of a line if there is one. */
static str newest_part(str text)
{
	str end = str_from(text, text.n - MIN(text.n, (size_t)TEXT_MAX));
	ptrdiff_t nl = end.n < text.n ? str_find_char(end, '\n') : -1;

	while (end.n < text.n && end.n && ((unsigned char)end.p[0] & 0xc0) == 0x80)
		end = str_from(end, 1);
	return nl >= 0 && (size_t)nl < end.n / 2 ? str_from(end, (size_t)nl + 1) : end;
}

static str write_payload(struct followed *f, str text, size_t cut, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_RECORD);
	struct json_writer w = JSON_WRITER(&b);
	str payload;

	jw_object(&w);
	jw_field_str(&w, "text", text);
	jw_field_int(&w, "seq", ++f->seq);
	if (f->last)
		jw_field_bool(&w, "final", true);
	if (f->passed + cut)
		jw_field_int(&w, "skipped_bytes", (int64_t)(f->passed + cut));
	jw_end_object(&w);
	payload = arena_str(a, buf_str(&b));
	buf_release(&b);
	return payload;
}

/* Redacted before it is cut: half a secret has no form. */
static void make_record(struct job *j, struct followed *f)
{
	struct outputs *o = j->outputs;
	struct record *r = &j->records[j->n];
	struct ulid id = ulid_make();
	struct event e;
	unsigned secrets;
	str all = redact_text(o->redactor, &j->arena, str_trim(buf_str(&f->out)));
	str text = newest_part(all);

	event_own_alone(EVENT_OUTPUT, &id, write_payload(f, text, all.n - text.n, &j->arena), &j->arena, &e);
	e.agent = arena_str(&j->arena, str_of(f->agent));
	e.session = arena_str(&j->arena, str_of(f->session));
	engine_redact(o->config.engine, &j->arena, &e, r, &secrets);
	j->n += !(r->marks & EVENT_PRIVATE);
	f->passed = 0;
}

static void work(void *arg)
{
	struct job *j = arg;

	j->took_us = clock_mono_us();
	for (struct followed *f = j->first; f; f = f->next) {
		f->news = false;
		look_at(j->outputs, f);
		if (f->last)
			tell_held(f);
		if (f->out.len || (f->last && f->seq))
			make_record(j, f);
		buf_release(&f->out);
		if (f->last)
			f->seq = 0;
	}
	j->took_us = clock_mono_us() - j->took_us;
}

/* -- the loop ---------------------------------------------------------------------------------- */

static void clear(struct followed *f)
{
	free(f->agent);
	free(f->session);
	free(f->path);
	free(f->answer);
	free(f->next_answer);
	buf_release(&f->identity);
	buf_release(&f->state);
	buf_release(&f->held);
	buf_release(&f->out);
	*f = (struct followed){ 0 };
}

static bool is_due(const struct followed *f)
{
	return f->used && !f->busy && (f->open || f->ends);
}

static void set_timer(struct outputs *o)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < FOLLOWED; i++)
		if (is_due(&o->list[i]))
			next = MIN(next, o->list[i].due_us);
	if (!o->running && next != INT64_MAX)
		loop_timer_set(o->timer, MAX(next - clock_mono_us(), INT64_C(0)));
}

static void open_turn(struct followed *f, int64_t since_us)
{
	f->open = true;
	f->since_us = since_us;
	f->wait_us = LOOK_MS * USEC_PER_MSEC;
	f->due_us = clock_mono_us() + f->wait_us;
	f->ntold = 0;
	f->told_us = 0;
	free(TAKE(f->answer));
}

/* What came while a worker had it. */
static void settle(struct followed *f, int64_t took_us)
{
	int64_t now = clock_mono_us();
	bool ended = f->last;

	f->busy = f->last = false;
	if (f->next_answer) {
		free(f->answer);
		f->answer = TAKE(f->next_answer);
	}
	if (f->news)
		f->heard_us = now;
	if (now - f->heard_us > GIVE_UP_S * USEC_PER_SEC && !ended)
		f->ends = true;
	f->wait_us = f->news ? LOOK_MS * USEC_PER_MSEC : MIN(f->wait_us * 3 / 2, LATEST_MS * USEC_PER_MSEC);
	f->wait_us = MAX(f->wait_us, COST * took_us);
	f->due_us = now + (f->ends ? LAST_LOOK_MS * USEC_PER_MSEC : f->wait_us);
	if (ended && f->again_us)
		open_turn(f, f->again_us);
	else if (ended)
		f->open = f->goes_on;
	if (ended) {
		f->again_us = 0;
		f->goes_on = false;
	}
	if (f->gone && !f->ends && !f->open)
		clear(f);
}

static void stored(bool stored, void *arg)
{
	struct job *j = arg;

	(void)stored;
	arena_release(&j->arena);
	free(j);
}

static void worked(void *arg)
{
	struct job *j = arg;
	struct outputs *o = j->outputs;
	struct followed *next;

	o->running = false;
	for (struct followed *f = j->first; f; f = next) {
		next = f->next;
		settle(f, j->took_us);
	}
	set_timer(o);
	if (j->n)
		engine_store(o->config.engine, j->records, j->n, stored, j);
	else
		stored(false, j);
}

static bool is_wanted(struct outputs *o)
{
	return o->listened_us > clock_mono_us() || o->config.wanted(o->config.arg);
}

/* Nobody wants it any more. */
static void forget_all(struct outputs *o)
{
	for (size_t i = 0; i < FOLLOWED; i++)
		if (o->list[i].used && !o->list[i].busy)
			clear(&o->list[i]);
}

static void begin(void *arg)
{
	struct outputs *o = arg;
	int64_t now = clock_mono_us();
	struct job *j;
	size_t n = 0;

	if (o->running)
		return;
	if (!is_wanted(o)) {
		forget_all(o);
		return;
	}
	if (!o->redactor)
		o->redactor = redactor_new();
	j = xcalloc(1, sizeof *j);
	j->outputs = o;
	arena_init(&j->arena);
	for (size_t i = 0; i < FOLLOWED && n < AT_ONCE; i++) {
		struct followed *f = &o->list[i];

		if (!is_due(f) || f->due_us > now)
			continue;
		f->busy = true;
		f->last = TAKE(f->ends);
		f->open = f->open && !f->last;
		f->next = j->first;
		j->first = f;
		n++;
	}
	o->running = n > 0;
	if (n)
		loop_submit_lane(o->config.loop, LOOP_PEOPLE, work, worked, j);
	else
		stored(false, j);
	set_timer(o);
}

/* -- events ------------------------------------------------------------------------------------ */

static struct followed *find(struct outputs *o, const struct event *e)
{
	for (size_t i = 0; i < FOLLOWED; i++)
		if (o->list[i].used && str_eq(e->session, str_of(o->list[i].session)) &&
			str_eq(e->agent, str_of(o->list[i].agent)))
			return &o->list[i];
	return NULL;
}

/* A place for one more: a free one, or that of the one that was silent longest. NULL: workers have all. */
static struct followed *make_room(struct outputs *o)
{
	struct followed *oldest = NULL;

	for (size_t i = 0; i < FOLLOWED; i++) {
		struct followed *f = &o->list[i];

		if (!f->used)
			return f;
		if (!f->busy && (!oldest || f->heard_us < oldest->heard_us))
			oldest = f;
	}
	if (oldest)
		clear(oldest);
	return oldest;
}

static char *copy(str s, size_t max)
{
	s = str_cut_utf8(s, max);
	return xstrndup(s.p, s.n);
}

static struct followed *add(struct outputs *o, const struct event *e)
{
	struct followed *f = str_empty(e->transcript_path) || e->transcript_path.n >= FS_PATH ? NULL : make_room(o);

	if (!f)
		return NULL;
	*f = (struct followed){ .used = true,
		.agent = copy(e->agent, LIMIT_NAME),
		.session = copy(e->session, LIMIT_NAME),
		.path = copy(e->transcript_path, FS_PATH) };
	buf_init(&f->identity, KIB(1));
	buf_init(&f->state, MIB(1));
	buf_init(&f->held, LOOK_BYTES);
	buf_init(&f->out, 2 * LOOK_BYTES);
	return f;
}

static bool begins_turn(const struct event *e)
{
	return e->kind == EVENT_USER_PROMPT_SUBMIT;
}

static bool ends_turn(const struct event *e)
{
	return e->kind == EVENT_STOP || e->kind == EVENT_STOP_FAILURE || e->kind == EVENT_TURN_COMPLETE ||
		e->kind == EVENT_INTERRUPT || e->kind == EVENT_SESSION_END;
}

static void note_end(struct followed *f, const struct event *e)
{
	char **answer = f->busy ? &f->next_answer : &f->answer;

	if (!str_empty(str_trim(e->message)) && e->kind != EVENT_STOP_FAILURE) {
		free(*answer);
		*answer = copy(str_trim(e->message), ANSWER_MAX);
	}
	f->gone = e->kind == EVENT_SESSION_END;
	if (f->gone && !f->open && !f->ends && !f->busy)
		clear(f);
	if (!f->open)
		return;
	f->ends = true;
	f->due_us = clock_mono_us() + LAST_LOOK_MS * USEC_PER_MSEC;
}

static void note_begin(struct followed *f, const struct event *e)
{
	if (f->open || f->ends || f->busy) {
		f->again_us = e->at_us;
		f->ends = true;
		f->due_us = clock_mono_us();
	} else {
		open_turn(f, e->at_us);
	}
}

/* Something happens in a turn: one that was never begun, or goes on after its end, is followed from here. */
static void note_work(struct followed *f, const struct event *e)
{
	int64_t soon = clock_mono_us() + LOOK_MS * USEC_PER_MSEC;

	f->goes_on = !f->open || f->ends;
	if (!f->open && !f->ends && !f->busy) {
		f->open = true;
		f->goes_on = false;
		f->since_us = f->since_us ? f->since_us : e->at_us;
		f->due_us = soon;
	}
	f->wait_us = LOOK_MS * USEC_PER_MSEC;
	if (!f->ends)
		f->due_us = MIN(f->due_us, soon);
}

void outputs_hear(const struct event *e, void *arg)
{
	struct outputs *o = arg;
	bool works = event_kinds[e->kind].flags & EVENT_IS_TOOL;
	struct followed *f;

	if (!(begins_turn(e) || ends_turn(e) || works) || str_empty(e->session) || str_is_set(e->agent_id) ||
		str_starts(e->session, STR("hookd-doctor-")) || e->session.n > LIMIT_NAME || e->agent.n > LIMIT_NAME)
		return;
	f = find(o, e);
	if (f && !f->busy && str_is_set(e->transcript_path) && !str_eq(e->transcript_path, str_of(f->path))) {
		clear(f); /* it goes on in another file */
		f = NULL;
	}
	if (!f && (ends_turn(e) || !is_wanted(o) || !(f = add(o, e))))
		return;
	f->heard_us = clock_mono_us();
	if (begins_turn(e))
		note_begin(f, e);
	else if (ends_turn(e))
		note_end(f, e);
	else
		note_work(f, e);
	set_timer(o);
}

void outputs_listen(struct outputs *o)
{
	o->listened_us = clock_mono_us() + LISTEN_S * USEC_PER_SEC;
}

/* -- life -------------------------------------------------------------------------------------- */

struct outputs *outputs_new(const struct output_config *config)
{
	struct outputs *o = xcalloc(1, sizeof *o);

	o->config = *config;
	o->timer = loop_timer_new(config->loop, begin, o);
	return o;
}

void outputs_free(struct outputs *o)
{
	if (!o)
		return;
	loop_timer_free(o->timer);
	for (size_t i = 0; i < FOLLOWED; i++)
		if (o->list[i].used)
			clear(&o->list[i]);
	redactor_free(o->redactor);
	free(o);
}
