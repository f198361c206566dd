/* In the transaction that stores an event: which sinks want it, what they get, and whether there is room.
 *
 * On the writer thread. An event that cannot be written for a sink must not be kept out of the store by that, so only
 * what the store itself reports is an error. */
#include "outbox/internal.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"
#include "capture/capture.h"
#include "redact/redact.h"
#include "transcript/transcript.h"

/* Beyond this share of its room a sink's tool events are coalesced. */
enum {
	CROWDED_NUMERATOR = 3,
	CROWDED_DENOMINATOR = 4,
	TRANSCRIPT_MAX = 96 << 10,
	TRANSCRIPT_TAIL = 256 << 10,
	TRANSCRIPT_FILE = 4 << 20
};

bool outbox_wants(const struct record *r, void *arg)
{
	struct outbox *o = arg;

	return o->kinds >> r->kind & 1;
}

/* What is told of: an event, or what was made of one. */
struct subject {
	int64_t session;
	struct ulid id;
	bool late;
	struct arena *arena;
};

/* -- the event as it is written ---------------------------------------------------------------- */

static str column(struct query *q, int n, struct arena *a)
{
	return arena_str(a, query_str(q, n));
}

/* Its session: where it works, what it is about. A summary from before the last prompt is none of what has ended. */
static int add_session(struct store *s, const struct subject *c, struct outbox_notice *n)
{
	struct query *q = store_ask(s,
		"SELECT s.transcript, s.cwd, s.model, s.title, u.title, iif(u.at >= coalesce((SELECT max(b.started_at) "
		"FROM batches b WHERE ?2 AND b.session = s.key), 0), u.text, NULL), p.name, p.path FROM sessions s "
		"LEFT JOIN summaries u ON u.session = s.key LEFT JOIN projects p ON p.key = s.project WHERE s.key = ?1",
		"ii", c->session, (int64_t)(n->meaning.type == OUTBOX_SESSION_END));
	int got = query_step(q);

	if (got == 1) {
		n->transcript_path = str_empty(n->transcript_path) ? column(q, 0, c->arena) : n->transcript_path;
		n->cwd = str_empty(n->cwd) ? column(q, 1, c->arena) : n->cwd;
		n->model = str_empty(n->model) ? column(q, 2, c->arena) : n->model;
		n->title = column(q, query_is_null(q, 4) ? 3 : 4, c->arena);
		n->summary = column(q, 5, c->arena);
		n->project = column(q, 6, c->arena);
		n->project_path = column(q, 7, c->arena);
	}
	query_reset(q);
	return MIN(got, 0);
}

/* The turn that a stop ends: what was asked, what was answered. *ret_batch: 0: there is none. */
static int add_turn(struct store *s, const struct captured *c, struct outbox_notice *n, int64_t *ret_batch)
{
	const struct event *e = c->event;
	struct query *q = store_ask(s,
		"SELECT key, prompt, response, source FROM batches WHERE session = ?1 AND ord <= ?2 ORDER BY prompt_id "
		"IS "
		"?3 AND ?3 IS NOT NULL DESC, ord DESC LIMIT 1",
		"iis", c->session, c->record->order_us, str_empty(e->prompt_id) ? STR_NONE : e->prompt_id);
	int got = query_step(q);

	*ret_batch = 0;
	if (got == 1) {
		*ret_batch = query_int(q, 0);
		if (str_empty(n->prompt) && str_eq(query_str(q, 3), STR("user")))
			n->prompt = column(q, 1, c->arena);
		if (str_empty(n->answer))
			n->answer = column(q, 2, c->arena);
	}
	query_reset(q);
	return MIN(got, 0);
}

/* What was asked, of an agent whose hooks have not told: the end of its transcript has it. Only what lies where the
 * agent keeps its history is opened, because the path came with an event. A short read, by the writer, of the few. */
static void add_prompt_of_transcript(const struct outbox *o, const struct subject *c, struct outbox_notice *n)
{
	const char *path = arena_cstr(c->arena, n->transcript_path), *agent = arena_cstr(c->arena, n->agent);
	struct redactor *redactor;
	str user = STR_NONE, assistant;
	struct err err = { 0 };
	struct stat st;

	if (!str_empty(n->prompt) || str_empty(n->transcript_path) || !o->config.home ||
		!transcript_is_history(o->config.home, agent, path) || stat(path, &st) < 0 ||
		st.st_size > TRANSCRIPT_FILE ||
		transcript_last_texts(path, agent, TRANSCRIPT_TAIL, c->arena, &user, &assistant, &err) < 0 ||
		str_empty(user) || redact_leaves_nothing(user))
		return;
	redactor = redactor_new();
	n->prompt = arena_str(c->arena, redact_text(redactor, c->arena, user));
	redactor_free(redactor);
}

/* What it lacks, in words. */
static str why_of(const struct outbox_meaning *m, struct arena *a)
{
	if (m->type != OUTBOX_ERROR)
		return STR_NONE;
	if (!m->missing)
		return STR("the turn failed");
	return arena_strf(a, "a %s without%s%s%s", outbox_types[m->meant].name,
		m->missing & NEEDS_SESSION ? " session_id" : "",
		m->missing & NEEDS_TRANSCRIPT ? " transcript_path" : "", m->missing & NEEDS_PROMPT ? " prompt" : "");
}

static str id_text(const struct ulid *id, struct arena *a)
{
	char text[ULID_TEXT + 1];

	ulid_format(id, text);
	return arena_str(a, str_of(text));
}

/* What only hookd's own events have. */
static void take_own(struct outbox_notice *n)
{
	const struct json *p = n->event->payload;

	if (n->event->kind == EVENT_INBOUND) {
		n->inbound_type = json_str(json_get(p, STR("type")));
		n->inbound_at = json_str(json_get(p, STR("timestamp")));
		n->properties = json_get(p, STR("properties"));
	}
	if (n->event->kind != EVENT_OUTPUT)
		return;
	n->text = json_str(json_get(p, STR("text")));
	n->seq = json_get(p, STR("seq"));
	n->final = json_get(p, STR("final"));
	n->skipped_bytes = json_get(p, STR("skipped_bytes"));
}

static void begin_notice(const struct captured *c, const struct outbox_meaning *m, struct outbox_notice *n)
{
	const struct event *e = c->event;
	const struct record *r = c->record;
	char session[OUTBOX_SESSION_ID + 1];

	outbox_session_id(r->agent, r->session, session);
	*n = (struct outbox_notice){ .meaning = *m,
		.type = str_of(m->type == OUTBOX_OTHER ? event_kinds[e->kind].name : outbox_types[m->type].name),
		.event = e,
		.event_id = id_text(&r->id, c->arena),
		.session_id = arena_str(c->arena, str_of(session)),
		.agent = r->agent,
		.event_name = str_of(event_kinds[e->kind].name),
		.native_event = r->native,
		.at_us = r->at_us,
		.native_session = r->session,
		.transcript_path = e->transcript_path,
		.cwd = e->cwd,
		.model = json_str(json_get(e->payload, STR("model"))),
		.notification_type = json_str(json_get(e->payload, STR("notification_type"))),
		.prompt = e->prompt,
		.answer = m->type == OUTBOX_STOP ? e->message : STR_NONE,
		.message = m->type == OUTBOX_STOP ? STR_NONE
			: str_is_set(json_str(json_get(e->payload, STR("message"))))
			? json_str(json_get(e->payload, STR("message")))
			: e->message,
		.heading = json_str(json_get(e->payload, STR("title"))),
		.details = json_get(e->payload, STR("details")),
		.why = why_of(m, c->arena) };
	take_own(n);
}

/* -- into the queue ---------------------------------------------------------------------------- */

/* Those that are on their way. */
struct busy {
	int64_t ids[OUTBOX_AT_ONCE];
	size_t n;
};

static void find_busy(struct outbox *o, struct busy *ret)
{
	ret->n = 0;
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < OUTBOX_AT_ONCE; i++)
		if (o->on_way[i].used)
			ret->ids[ret->n++] = o->on_way[i].id;
	pthread_mutex_unlock(&o->lock);
}

/* Room for one of these among what waits for its sink. 1: it may be added; 0: there is none; -errno. */
static int make_room(struct outbox *o, struct store *s, const struct delivery_order *d, int64_t waiting,
	const struct busy *busy)
{
	int r;

	if (d->critical || waiting < o->config.max * CROWDED_NUMERATOR / CROWDED_DENOMINATOR)
		return 1;
	r = delivery_coalesce(s, d, busy->ids, busy->n);
	if (r == 1) {
		state_add(o, d->sink, -1);
		return 1;
	}
	if (r == 0 && waiting >= o->config.max)
		r = delivery_count_dropped(s, d->sink);
	else if (r == 0)
		r = 1;
	return r;
}

static int add(struct outbox *o, struct store *s, const struct sink *sink, struct outbox_notice *n,
	const struct subject *c, struct buf *body)
{
	char subject[JOB_SUBJECT];
	struct delivery_order d = { .session = c->session,
		.type = n->type,
		.critical = outbox_types[n->meaning.type].critical,
		.at_us = n->at_us,
		.late = c->late,
		.boot = state_is_good(o, sink->name) ? o->boot : 0 };
	struct busy busy;
	struct ulid id = ulid_derive(&c->id, sink->name);
	int r = delivery_sink(s, sink->name, true, &d.sink);

	if (r < 0)
		return r;
	snprintf(subject, sizeof subject, STR_FMT ":" STR_FMT, STR_ARG(sink->name), STR_ARG(n->event_id));
	d.subject = str_of(subject);
	n->id = id_text(&id, c->arena);
	buf_clear(body);
	body->full = false;
	sink_write(sink, n, body);
	d.body = buf_str(body);
	find_busy(o, &busy);
	r = make_room(o, s, &d, state_begin(o, sink->name, d.sink), &busy);
	if (r == 1)
		r = delivery_add(s, &d, clock_wall_us(), busy.ids, busy.n);
	if (r == 1)
		state_add(o, d.sink, 1);
	return MIN(r, 0);
}

/* The transcript for those that want one. */
static int add_transcript(struct store *s, int64_t batch, const struct subject *c, struct outbox_notice *n)
{
	struct buf b = BUF_INIT(TRANSCRIPT_MAX);
	int r = batch ? turn_write(s, batch, n->prompt, n->answer, &b) : 0;

	n->transcript = arena_str(c->arena, buf_str(&b));
	buf_release(&b);
	return r;
}

static bool any_wants_transcript(const struct sinks *sinks)
{
	for (size_t i = 0; i < sinks->n; i++)
		if (sinks->list[i]->markdown)
			return true;
	return false;
}

static int tell_all(struct outbox *o, struct store *s, const struct sinks *sinks, const struct subject *c,
	struct outbox_notice *n, int64_t batch)
{
	struct buf body = BUF_INIT(OUTBOX_BODY);
	str transcript = STR_NONE;
	int r = 0;

	if (n->meaning.type == OUTBOX_STOP && any_wants_transcript(sinks)) {
		r = add_transcript(s, batch, c, n);
		transcript = n->transcript;
	}
	for (size_t i = 0; i < sinks->n && r == 0; i++) {
		n->transcript = sinks->list[i]->markdown ? transcript : STR_NONE;
		if (sink_wants(sinks->list[i], n))
			r = add(o, s, sinks->list[i], n, c, &body);
	}
	buf_release(&body);
	return r;
}

struct sinks *outbox_sinks(struct outbox *o)
{
	struct sinks *s;

	pthread_mutex_lock(&o->lock);
	s = sinks_ref(o->sinks);
	pthread_mutex_unlock(&o->lock);
	return s;
}

/* What cannot be written for a sink keeps nothing else out of the store. */
static int give_up(struct outbox *o, struct store *s, int r, str what)
{
	if (store_is_environment(r))
		return r;
	log_error(LOG_OUTBOX, STR_FMT " could not be put into the outbox: %s", STR_ARG(what), store_failure(s, r));
	state_forget(o);
	return 0;
}

int outbox_tell(struct store *s, const struct captured *c, void *arg)
{
	struct outbox *o = arg;
	const struct subject subject = { c->session, c->record->id, c->record->marks & EVENT_SPOOLED, c->arena };
	struct outbox_meaning meaning;
	struct outbox_notice n;
	struct sinks *sinks;
	int64_t batch = 0;
	int r;

	if (!outbox_understand(c->event, c->record, &meaning))
		return 0;
	begin_notice(c, &meaning, &n);
	r = add_session(s, &subject, &n);
	if (r == 0 && meaning.type == OUTBOX_STOP)
		r = add_turn(s, c, &n, &batch);
	if (r == 0 && meaning.type == OUTBOX_STOP)
		add_prompt_of_transcript(o, &subject, &n);
	if (r == 0)
		r = state_count(o, s);
	if (r == 0) {
		sinks = outbox_sinks(o);
		r = tell_all(o, s, sinks, &subject, &n, batch);
		sinks_unref(sinks);
	}
	return r < 0 ? give_up(o, s, r, n.event_id) : 0;
}

/* -- summaries --------------------------------------------------------------------------------- */

/* What is summarized anew long afterwards (after a rebuild) is no news. */
enum { SUMMARY_NEWS_S = 86400 };

static bool any_wants_summaries(const struct sinks *sinks)
{
	for (size_t i = 0; i < sinks->n; i++)
		if (sinks->list[i]->enabled && sinks->list[i]->types[OUTBOX_SUMMARY])
			return true;
	return false;
}

/* What a summary is about: its session and the end of its last turn. 1; 0: nothing that goes out. */
static int find_summarized(struct store *s, struct subject *c, struct outbox_notice *n)
{
	struct query *q = store_ask(s,
		"SELECT e.id, s.agent, s.native_id, e.marks FROM sessions s JOIN events e ON e.session = s.key WHERE "
		"s.key = ?1 AND e.kind IN ('Stop', 'StopFailure', 'TurnComplete') AND e.agent_id IS NULL AND e.ord > "
		"?2 AND e.same_as IS NULL AND s.native_id NOT GLOB 'hookd-doctor-*' ORDER BY e.ord DESC LIMIT 1",
		"ii", c->session, clock_wall_us() - SUMMARY_NEWS_S * USEC_PER_SEC);
	int got = query_step(q);

	if (got == 1 && (query_str(q, 0).n != ULID_BYTES || query_int(q, 3) & (EVENT_PRIVATE | EVENT_IMPORTED)))
		got = 0;
	if (got == 1) {
		memcpy(c->id.b, query_str(q, 0).p, ULID_BYTES);
		n->agent = column(q, 1, c->arena);
		n->native_session = column(q, 2, c->arena);
	}
	query_reset(q);
	return got;
}

static int tell_summary(struct outbox *o, struct store *s, const struct sinks *sinks, struct subject *c, str source)
{
	struct event e = { .source = source };
	struct outbox_notice n = { .meaning = { .type = OUTBOX_SUMMARY, .meant = OUTBOX_SUMMARY },
		.type = str_of(outbox_types[OUTBOX_SUMMARY].name),
		.event = &e,
		.event_name = STR("Summary"),
		.native_event = STR("Summary"),
		.at_us = clock_wall_us() };
	char session[OUTBOX_SESSION_ID + 1];
	int got = find_summarized(s, c, &n);

	if (got != 1)
		return got;
	outbox_session_id(n.agent, n.native_session, session);
	n.session_id = str_of(session);
	n.stop = id_text(&c->id, c->arena);
	c->id = ulid_derive(&c->id, str_eq(source, STR("model")) ? STR("summary by a model") : STR("summary by rules"));
	n.event_id = id_text(&c->id, c->arena);
	got = add_session(s, c, &n);
	if (got == 0)
		got = state_count(o, s);
	return got < 0 ? got : tell_all(o, s, sinks, c, &n, 0);
}

int outbox_tell_summary(struct outbox *o, struct store *s, int64_t session, str source)
{
	struct arena a = { 0 };
	struct subject c = { .session = session, .arena = &a };
	struct sinks *sinks = outbox_sinks(o);
	int r = any_wants_summaries(sinks) ? tell_summary(o, s, sinks, &c, source) : 0;

	sinks_unref(sinks);
	arena_release(&a);
	return r < 0 ? give_up(o, s, r, STR("a summary")) : r;
}

void outbox_forget(void *arg)
{
	struct outbox *o = arg;

	if (o->added)
		state_forget(o);
	o->added = false;
}

void outbox_committed(struct outbox *o)
{
	bool added = o->added;

	o->added = false;
	if (added)
		deliver_wake(o);
}

int outbox_recount(struct outbox *o, struct store *s)
{
	if (!outbox_has_sinks(o))
		return 0;
	state_forget(o);
	pthread_mutex_lock(&o->lock);
	o->open = true;
	pthread_mutex_unlock(&o->lock);
	o->added = true; /* what waits may be due */
	return state_count(o, s);
}
