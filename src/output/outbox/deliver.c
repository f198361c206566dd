/* The threads that send. They exist while something waits; one that finds nothing to do ends, but for one that waits
 * until something is due again.
 *
 *   look (a reader of the store) ─▶ send ─▶ how it ended (the writer, in a transaction of its own) ─▶ look
 */
#include "outbox/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "os/os.h"

enum {
	STORE_RETRY_S = 1, /* when the store cannot be read or written */
	STACK = 256 << 10, /* of a thread; what is large is in buffers */
};

/* What a thread has in hand. */
struct errand {
	struct outbox *o;
	size_t slot;
	struct sinks *sinks;
	const struct sink *sink;
	struct delivery delivery;
	struct buf body;
	struct sending x;
	enum send_result result;
	bool gone;      /* nobody knows what was to be sent */
	int64_t due_us; /* again, if it failed */
	bool died;      /* out: that was its last try */
	bool may_run;   /* out: it has begun */
};

/* -- looking ----------------------------------------------------------------------------------- */

/* Under the lock: deliveries that may begin without taking the last thread of a sink that has nothing on its way. */
static unsigned spare(const struct outbox *o)
{
	unsigned taken = 0;

	for (size_t i = 0; i < OUTBOX_AT_ONCE; i++)
		taken += o->on_way[i].used;
	for (size_t i = 0; i < o->sinks->n; i++)
		taken += o->sinks->list[i]->enabled && !o->states[i]->on_way;
	return taken < OUTBOX_AT_ONCE ? OUTBOX_AT_ONCE - taken : 0;
}

/* Under the lock. A sink that fails again and again is tried with one at a time. */
static bool may_begin(const struct outbox *o, const struct sink_state *s)
{
	return !s->on_way || (s->on_way < OUTBOX_OF_SINK && s->failures < OUTBOX_BREAK && spare(o));
}

/* Under the lock: beside what this sink is about to be sent, more seems to wait that may go out. */
static bool has_more(const struct outbox *o, const struct sink *about)
{
	int64_t now = clock_mono_us();

	for (size_t i = 0; i < o->sinks->n; i++) {
		const struct sink_state *s = o->states[i];
		unsigned busy = s->on_way + (o->sinks->list[i] == about);
		unsigned most = s->failures < OUTBOX_BREAK ? OUTBOX_OF_SINK : 1;

		if (busy < most && s->rest_until_us <= now && (s->waiting < 0 || s->waiting > (int64_t)busy))
			return true;
	}
	return false;
}

/* A sink that may be sent to now. */
struct candidate {
	const struct sink *sink;
	int64_t key, stream;
};

/* Under the lock. Those that rest make *next_us earlier. */
static size_t find_candidates(struct outbox *o, const struct sinks *sinks, struct candidate *ret, int64_t *next_us)
{
	int64_t now = clock_mono_us();
	size_t n = 0;

	for (size_t i = 0; i < sinks->n; i++) {
		const size_t at = (i + o->turn) % sinks->n; /* they take turns */
		const struct sink_state *s = o->states[at];

		if (!sinks->list[at]->enabled || !s->key)
			continue;
		if (s->rest_until_us > now)
			*next_us = MIN(*next_us, s->rest_until_us);
		else if (may_begin(o, s))
			ret[n++] = (struct candidate){ sinks->list[at], s->key, s->stream };
	}
	o->turn++;
	return n;
}

static int write_begin(struct store *s, void *arg)
{
	struct errand *j = arg;
	int r = delivery_begin(s, &j->delivery, j->o->boot, clock_wall_us(), &j->died);

	j->may_run = r == 1;
	return MIN(r, 0);
}

/* What this daemon has not begun yet is, in a transaction: 1: it may run; 0; -errno. */
static int begin(struct errand *j, int64_t *next_us)
{
	int r;

	if (j->delivery.boot == j->o->boot)
		return 1;
	r = writer_call(j->o->writer, write_begin, j);
	if (r == 0 && !j->may_run)
		*next_us = clock_mono_us(); /* there may be another one */
	return r < 0 ? r : j->may_run;
}

/* 1: one of them has something, with its body; 0; -errno. */
static int look_at(struct store *s, struct candidate *c, size_t n, const int64_t *but, size_t nbut, struct errand *j,
	int64_t *next_us)
{
	int64_t wall = clock_wall_us(), mono = clock_mono_us(), due;
	int got = 0;

	for (size_t i = 0; i < n && got == 0; i++) {
		got = delivery_next(s, c[i].key, &c[i].stream, wall, but, nbut, &j->delivery, &due);
		if (got == 0 && due != INT64_MAX)
			*next_us = MIN(*next_us, mono + MAX(due - wall, INT64_C(0)));
		if (got != 1)
			continue;
		j->sink = c[i].sink;
		got = begin(j, next_us);
		if (got != 1)
			return got;
		buf_clear(&j->body);
		got = delivery_body(s, &j->delivery, &j->body);
		j->gone = got == -ENOENT;
		got = got == 0 || j->gone ? 1 : got;
	}
	return got;
}

/* Under the lock: it has run out of tries without coming back. */
static void note_death(struct errand *j)
{
	struct sink_state *s = state_of(j->o, j->sink->name);

	j->died = false;
	log_warn(LOG_OUTBOX, "DEAD " STR_FMT " %s: hookd has ended each time that it was sent", STR_ARG(j->sink->name),
		j->delivery.subject);
	if (s && s->waiting > 0)
		s->waiting--;
	if (s && s->dead >= 0)
		s->dead++;
}

/* With the lock, which is let go of meanwhile. 1: there is something to send; 0: nothing before *next_us
 * (monotonic). */
static int look(struct errand *j, int64_t *next_us)
{
	struct outbox *o = j->o;
	struct candidate c[SINKS_MAX];
	int64_t on_way[OUTBOX_AT_ONCE];
	struct store *s = NULL;
	struct err err;
	size_t n, busy = 0;
	int got = 0;

	*next_us = INT64_MAX;
	while (o->looking && !o->stopping)
		pthread_cond_wait(&o->changed, &o->lock);
	j->sinks = sinks_ref(o->sinks);
	n = find_candidates(o, j->sinks, c, next_us);
	for (size_t i = 0; i < OUTBOX_AT_ONCE; i++)
		if (o->on_way[i].used)
			on_way[busy++] = o->on_way[i].id;
	o->looking = true;
	pthread_mutex_unlock(&o->lock);
	if (n)
		got = readers_try(o->readers, &s, &err);
	if (s) {
		got = look_at(s, c, n, on_way, busy, j, next_us);
		if (got < 0)
			store_close(s);
		else
			readers_give_back(o->readers, s);
	}
	pthread_mutex_lock(&o->lock);
	o->looking = false;
	if (j->died)
		note_death(j);
	if (got < 0)
		*next_us = clock_mono_us() + STORE_RETRY_S * USEC_PER_SEC;
	pthread_cond_broadcast(&o->changed);
	return got == 1;
}

/* -- sending ----------------------------------------------------------------------------------- */

/* The key that the receiver sees is in the body, and made again from the same parts. */
static void find_key(struct errand *j, char ret[ULID_TEXT + 1])
{
	str event = str_of(j->delivery.subject);
	ptrdiff_t colon = str_find_char(event, ':');
	struct ulid id = { { 0 } };

	(void)ulid_parse(str_from(event, (size_t)(colon + 1)), &id);
	id = ulid_derive(&id, j->sink->name);
	ulid_format(&id, ret);
}

static void send_one(struct errand *j)
{
	char key[ULID_TEXT + 1];
	int64_t wait = job_wait_us(JOB_DELIVER, j->delivery.tries + 1);

	find_key(j, key);
	j->x = (struct sending){ .sink = j->sink,
		.id = str_of(key),
		.type = str_of(j->delivery.type),
		.body = buf_str(&j->body),
		.cancel_fd = j->o->wake[0],
		.retry_after_s = -1 };
	j->result = j->gone ? send_say(&j->x, SEND_REFUSED, "what was to be sent is gone")
			    : sink_types[j->sink->type].send(&j->x);
	if (j->x.retry_after_s > 0)
		wait = MAX(wait, j->x.retry_after_s * USEC_PER_SEC);
	j->due_us = clock_wall_us() + wait;
}

/* -- its end ----------------------------------------------------------------------------------- */

static int write_end(struct store *s, void *arg)
{
	struct errand *j = arg;
	int64_t now = clock_wall_us();
	int r = 0;

	j->died = false;
	switch (j->result) {
	case SEND_DONE: return delivery_end_done(s, &j->delivery, now);
	case SEND_REFUSED: j->died = true; return delivery_end_dead(s, &j->delivery, j->x.error, now);
	case SEND_FAILED:
		r = delivery_end_failed(s, &j->delivery, j->x.error, j->due_us, now);
		j->died = r == 1;
		return MIN(r, 0);
	case SEND_UNUSABLE: return delivery_give_back(s, &j->delivery);
	case SEND_CANCELLED: break; /* all are given back */
	}
	return 0;
}

/* Until it is written: what was delivered must not be delivered again and again because a disk is full. */
static void store_end(struct errand *j)
{
	const struct timespec pause = { .tv_sec = STORE_RETRY_S };
	bool stopping = false;
	int r = writer_call(j->o->writer, write_end, j);

	while (r < 0 && r != -ECANCELED && !stopping) {
		log_warn(LOG_OUTBOX, "how a delivery ended could not be stored (%s); trying again", strerror(-r));
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&j->o->lock);
		stopping = j->o->stopping;
		pthread_mutex_unlock(&j->o->lock);
		r = writer_call(j->o->writer, write_end, j);
	}
}

/* Under the lock: what it says about the sink. */
static void learn(struct errand *j, struct sink_state *s)
{
	bool over = j->result == SEND_DONE || j->died;

	s->on_way--;
	if (over && s->waiting > 0)
		s->waiting--;
	if (j->died && s->dead >= 0)
		s->dead++;
	switch (j->result) {
	case SEND_DONE: state_good(s, clock_wall_us() - j->delivery.at_us); return;
	case SEND_FAILED: state_failed(s, j->x.error, j->x.retry_after_s); return;
	case SEND_REFUSED: state_refused(s, j->x.error); return;
	case SEND_UNUSABLE: state_unusable(s, j->x.error); return;
	case SEND_CANCELLED: return;
	}
}

static void tell_log(const struct errand *j)
{
	const struct sink *s = j->sink;

	if (j->result == SEND_DONE)
		log_info(LOG_OUTBOX, "DELIVERED " STR_FMT " %s %zu bytes, try %d", STR_ARG(s->name),
			j->delivery.subject, j->body.len, j->delivery.tries + 1);
	else if (j->result != SEND_CANCELLED)
		log_warn(LOG_OUTBOX, "%s " STR_FMT " %s, try %d: %s", j->died ? "DEAD" : "NOT DELIVERED",
			STR_ARG(s->name), j->delivery.subject, j->delivery.tries + 1, j->x.error);
}

/* With the lock, which is let go of meanwhile. */
static void run_errand(struct errand *j)
{
	struct outbox *o = j->o;
	struct sink_state *s = state_of(o, j->sink->name);

	if (s) {
		s->stream = j->delivery.stream;
		s->on_way++;
	}
	o->on_way[j->slot].id = j->delivery.id;
	o->on_way[j->slot].used = true;
	pthread_mutex_unlock(&o->lock);
	send_one(j);
	store_end(j);
	tell_log(j);
	pthread_mutex_lock(&o->lock);
	o->on_way[j->slot].used = false;
	s = state_of(o, j->sink->name);
	if (s && s->on_way)
		learn(j, s);
	state_note_urgent(o);
}

/* -- the threads ------------------------------------------------------------------------------- */

static void wait_until(struct outbox *o, int64_t until_us)
{
	struct timespec t = { .tv_sec = until_us / USEC_PER_SEC, .tv_nsec = until_us % USEC_PER_SEC * 1000 };

	pthread_cond_timedwait(&o->changed, &o->lock, &t);
}

static size_t take_slot(struct outbox *o)
{
	size_t i = 0;

	while (o->on_way[i].thread)
		i++;
	o->on_way[i].thread = true;
	return i;
}

/* Under the lock. Whether this thread goes on: there may be something new, or it waits for what is due. */
static bool stay(struct outbox *o, uint64_t looked, int64_t next_us)
{
	if (o->stopping)
		return false;
	if (looked != o->looked)
		return true;
	if (o->resting) {
		o->next_us = MIN(o->next_us, next_us);
		pthread_cond_broadcast(&o->changed);
	}
	if (next_us == INT64_MAX || o->resting)
		return false;
	o->resting = true;
	o->next_us = next_us;
	while (!o->stopping && looked == o->looked && clock_mono_us() < o->next_us)
		wait_until(o, o->next_us);
	o->resting = false;
	return !o->stopping;
}

static void start_thread(struct outbox *o);

static void *thread_main(void *arg)
{
	struct errand j = { .o = arg };
	struct outbox *o = arg;
	int64_t next_us;
	uint64_t looked;
	bool found;

	os_thread_name("outbox");
	buf_init(&j.body, OUTBOX_BODY + 1);
	pthread_mutex_lock(&o->lock);
	j.slot = take_slot(o);
	do {
		looked = o->looked;
		found = look(&j, &next_us);
		if (found) {
			if (o->threads < OUTBOX_AT_ONCE && !o->stopping && has_more(o, j.sink))
				start_thread(o);
			if (!o->stopping)
				run_errand(&j);
		}
		sinks_unref(TAKE(j.sinks));
	} while (found ? !o->stopping : stay(o, looked, next_us));
	o->on_way[j.slot].thread = false;
	o->threads--;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	buf_release(&j.body);
	return NULL;
}

static void start_thread(struct outbox *o)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	o->threads += pthread_create(&thread, &attr, thread_main, o) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

void deliver_wake(struct outbox *o)
{
	pthread_mutex_lock(&o->lock);
	if (!o->stopping && o->writer && o->open && o->sinks->n) {
		o->looked++;
		if (o->threads < OUTBOX_AT_ONCE && !o->resting)
			start_thread(o);
		pthread_cond_broadcast(&o->changed);
	}
	pthread_mutex_unlock(&o->lock);
}

/* -- trying ------------------------------------------------------------------------------------ */

/* Not an event of anybody's: it says so, and is in no store. */
static void write_trial(const struct sink *s, const struct ulid *id, struct arena *a, struct buf *body)
{
	struct event e = { .kind = EVENT_NOTIFICATION };
	char text[ULID_TEXT + 1], session[OUTBOX_SESSION_ID + 1];
	struct outbox_notice n = { .meaning = { .type = OUTBOX_NOTIFICATION, .meant = OUTBOX_NOTIFICATION },
		.type = str_of(outbox_types[OUTBOX_NOTIFICATION].name),
		.event = &e,
		.session_id = str_of(session),
		.agent = STR("hookd"),
		.event_name = STR("Notification"),
		.native_event = STR("Test"),
		.at_us = clock_wall_us(),
		.native_session = STR("hookd-test"),
		.message = STR("This is a test: hookd can reach you."),
		.notification_type = STR("test") };

	ulid_format(id, text);
	outbox_session_id(n.agent, n.native_session, session);
	n.id = n.event_id = arena_str(a, str_of(text));
	sink_write(s, &n, body);
}

int outbox_try(struct outbox *o, str name, struct outbox_trial *ret)
{
	struct buf body = BUF_INIT(OUTBOX_BODY);
	struct ulid id = ulid_make();
	char key[ULID_TEXT + 1];
	const struct sink *sink;
	struct sinks *sinks;
	struct sending x;
	struct arena a;

	*ret = (struct outbox_trial){ 0 };
	pthread_mutex_lock(&o->lock);
	sinks = sinks_ref(o->sinks);
	pthread_mutex_unlock(&o->lock);
	sink = sinks_find(sinks, name);
	if (!sink) {
		sinks_unref(sinks);
		return -ENOENT;
	}
	arena_init(&a);
	ulid_format(&id, key);
	write_trial(sink, &id, &a, &body);
	x = (struct sending){ .sink = sink,
		.id = str_of(key),
		.type = str_of(outbox_types[OUTBOX_NOTIFICATION].name),
		.body = buf_str(&body),
		.cancel_fd = o->wake[0] };
	ret->took_us = clock_mono_us();
	ret->delivered = sink_types[sink->type].send(&x) == SEND_DONE;
	ret->took_us = clock_mono_us() - ret->took_us;
	if (!ret->delivered)
		snprintf(ret->text, sizeof ret->text, "%.199s", x.error[0] ? x.error : "hookd is stopping");
	buf_release(&body);
	arena_release(&a);
	sinks_unref(sinks);
	return 0;
}

/* -- life -------------------------------------------------------------------------------------- */

static void log_problems(const struct outbox *o, const struct sinks *s)
{
	/* What is no JSON at all is complained about by whoever reads the options. */
	for (const struct sink_problem *p = s->problems; p && p->err.code != -EBADMSG; p = p->next)
		log_warn(LOG_CONFIG, "%s:%u:%u: %s", o->config.config, p->err.line, p->err.col, p->err.text);
}

/* Under the lock. How a sink fares is known by its name; what was wrong with it may be mended now. */
static void put_in_force(struct outbox *o, struct sinks *sinks)
{
	struct sink_state *states[SINKS_MAX] = { 0 };

	for (size_t i = 0; i < sinks->n; i++) {
		for (size_t k = 0; o->sinks && k < o->sinks->n; k++)
			if (o->states[k] && str_eq(sinks->list[i]->name, str_of(o->states[k]->name)))
				states[i] = TAKE(o->states[k]);
		if (!states[i]) {
			states[i] = xcalloc(1, sizeof *states[i]);
			snprintf(states[i]->name, sizeof states[i]->name, STR_FMT, STR_ARG(sinks->list[i]->name));
			states[i]->waiting = -1;
		}
		states[i]->failures = 0;
		states[i]->rest_until_us = 0;
		states[i]->trouble[0] = 0;
	}
	for (size_t k = 0; o->sinks && k < o->sinks->n; k++)
		free(o->states[k]);
	memcpy(o->states, states, sizeof o->states);
	sinks_unref(o->sinks);
	o->sinks = sinks;
	o->kinds = sinks->kinds;
	state_note_urgent(o);
}

struct outbox *outbox_new(const struct outbox_config *config)
{
	struct outbox *o = xcalloc(1, sizeof *o);
	struct err err = { 0 };
	struct sinks *sinks;
	pthread_condattr_t attr;

	o->config = *config;
	o->boot = clock_wall_us() / USEC_PER_MSEC * 4194304 + getpid(); /* the next daemon has another */
	pthread_mutex_init(&o->lock, NULL);
	pthread_mutex_init(&o->contracts, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&o->changed, &attr);
	pthread_condattr_destroy(&attr);
	o->wake[0] = o->wake[1] = -1;
	sinks = sinks_load(config->config, config->contracts, config->home, &err);
	if (!sinks) {
		log_warn(LOG_OUTBOX, "there are no sinks: %s", err.text);
		sinks = sinks_parse(STR(""), config->home);
	}
	log_problems(o, sinks);
	put_in_force(o, sinks);
	return o;
}

static int count_all(struct store *s, void *arg)
{
	return outbox_recount(arg, s);
}

/* Once there is a sink. */
static void open_wake(struct outbox *o)
{
	if (o->wake[0] < 0 && o->sinks->n && os_wake_open(o->wake) < 0)
		log_error(LOG_OUTBOX, "deliveries cannot be cut off when hookd stops");
}

void outbox_start(struct outbox *o, struct writer *w, struct readers *r)
{
	pthread_mutex_lock(&o->lock);
	o->writer = w;
	o->readers = r;
	open_wake(o);
	pthread_mutex_unlock(&o->lock);
	if (outbox_has_sinks(o))
		writer_post(w, count_all, o);
}

int outbox_reload(struct outbox *o, unsigned *ret_problems, struct err *err)
{
	struct sinks *sinks = sinks_load(o->config.config, o->config.contracts, o->config.home, err);

	*ret_problems = 0;
	if (!sinks)
		return -EIO;
	*ret_problems = sinks->nproblems;
	log_problems(o, sinks);
	pthread_mutex_lock(&o->lock);
	put_in_force(o, sinks);
	open_wake(o);
	pthread_mutex_unlock(&o->lock);
	writer_post(o->writer, count_all, o);
	return 0;
}

const _Atomic uint64_t *outbox_kinds(const struct outbox *o)
{
	return &o->kinds;
}

const _Atomic uint64_t *outbox_urgent(const struct outbox *o)
{
	return &o->urgent;
}

void outbox_stop(struct outbox *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->stopping = true;
	if (o->wake[1] >= 0)
		os_wake_send(o->wake[1]);
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

static void join_threads(struct outbox *o)
{
	outbox_stop(o);
	pthread_mutex_lock(&o->lock);
	while (o->threads)
		pthread_cond_wait(&o->changed, &o->lock);
	pthread_mutex_unlock(&o->lock);
}

static int give_back_all(struct store *s, void *arg)
{
	return deliveries_give_back(s, ((struct outbox *)arg)->boot);
}

void outbox_join(struct outbox *o)
{
	if (!o)
		return;
	join_threads(o);
	if (o->writer && outbox_has_sinks(o) && writer_call(o->writer, give_back_all, o) < 0)
		log_warn(LOG_OUTBOX, "what was not sent yet counts as tried once");
}

void outbox_free(struct outbox *o)
{
	if (!o)
		return;
	join_threads(o);
	for (size_t i = 0; i < o->sinks->n; i++)
		free(o->states[i]);
	sinks_unref(o->sinks);
	if (o->wake[0] >= 0)
		os_wake_close(o->wake);
	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
	pthread_mutex_destroy(&o->contracts);
	free(o);
}
