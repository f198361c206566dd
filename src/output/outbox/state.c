/* How the sinks fare. */
#include "outbox/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

enum {
	REST_MOST_S = 60,
	UNUSABLE_S = 10, /* until it is looked again whether what is wrong here is still wrong */
};

struct sink_state *state_of(struct outbox *o, str name)
{
	for (size_t i = 0; i < o->sinks->n; i++)
		if (str_eq(str_of(o->states[i]->name), name))
			return o->states[i];
	return NULL;
}

void state_good(struct sink_state *s, int64_t lag_us)
{
	s->failures = 0;
	s->rest_until_us = 0;
	s->trouble[0] = 0;
	s->delivered++;
	s->last_good_us = clock_wall_us();
	s->lags_ms[s->nlags++ % OUTBOX_SAMPLES] =
		(uint32_t)(MIN(MAX(lag_us, INT64_C(0)) / USEC_PER_MSEC, INT64_C(0xffffffff)));
}

static void rest(struct sink_state *s, int64_t seconds)
{
	if (seconds > 0)
		s->rest_until_us = MAX(s->rest_until_us, clock_mono_us() + seconds * USEC_PER_SEC);
}

static void note_trouble(struct sink_state *s, const char *why)
{
	snprintf(s->trouble, sizeof s->trouble, "%s", why);
}

void state_failed(struct sink_state *s, const char *why, int retry_after_s)
{
	int64_t seconds = 1;

	note_trouble(s, why);
	s->failed++;
	s->failures++;
	for (unsigned i = OUTBOX_BREAK; i < s->failures && seconds < REST_MOST_S; i++)
		seconds *= 2;
	if (s->failures >= OUTBOX_BREAK)
		rest(s, MIN(seconds, (int64_t)REST_MOST_S));
	rest(s, retry_after_s);
}

void state_refused(struct sink_state *s, const char *why)
{
	note_trouble(s, why);
	s->refused++;
}

void state_unusable(struct sink_state *s, const char *why)
{
	note_trouble(s, why);
	rest(s, UNUSABLE_S);
}

void state_note_urgent(struct outbox *o)
{
	uint64_t urgent = 0;

	for (size_t i = 0; i < o->sinks->n; i++)
		urgent |= o->states[i]->failures < OUTBOX_BREAK ? o->sinks->list[i]->hears : 0;
	o->urgent = urgent;
}

int state_count(struct outbox *o, struct store *s)
{
	int r = 0;

	for (size_t i = 0; i < SINKS_MAX && r == 0; i++) {
		char name[SINK_NAME + 1] = "";
		int64_t key = 0, waiting = 0, dead = 0;
		struct sink_state *t;
		bool known = true;

		pthread_mutex_lock(&o->lock);
		if (i < o->sinks->n) {
			known = o->states[i]->waiting >= 0;
			snprintf(name, sizeof name, "%s", o->states[i]->name);
		}
		pthread_mutex_unlock(&o->lock);
		if (known)
			continue;
		r = MIN(delivery_sink(s, str_of(name), false, &key), 0);
		if (r == 0 && key)
			r = delivery_count(s, key, &waiting, &dead);
		pthread_mutex_lock(&o->lock);
		t = state_of(o, str_of(name));
		if (r == 0 && t) {
			t->key = key;
			t->waiting = waiting;
			t->dead = dead;
		}
		pthread_mutex_unlock(&o->lock);
	}
	return r;
}

void state_forget(struct outbox *o)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->sinks->n; i++)
		o->states[i]->waiting = -1;
	pthread_mutex_unlock(&o->lock);
}

int64_t state_begin(struct outbox *o, str name, int64_t key)
{
	struct sink_state *s;
	int64_t waiting = 0;

	pthread_mutex_lock(&o->lock);
	s = state_of(o, name);
	if (s) {
		s->key = key;
		waiting = s->waiting;
	}
	pthread_mutex_unlock(&o->lock);
	return waiting;
}

bool state_is_good(struct outbox *o, str name)
{
	const struct sink_state *s;
	bool good;

	pthread_mutex_lock(&o->lock);
	s = state_of(o, name);
	good = s && !s->failures && s->rest_until_us <= clock_mono_us();
	pthread_mutex_unlock(&o->lock);
	return good;
}

void state_add(struct outbox *o, int64_t key, int by)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->sinks->n; i++)
		if (o->states[i]->key == key)
			o->states[i]->waiting += by;
	pthread_mutex_unlock(&o->lock);
	o->added = true;
}

/* -- for people -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void write_lags(struct json_writer *w, const struct sink_state *s)
{
	static const struct {
		const char *name;
		unsigned percent;
	} rows[] = { { "p50_ms", 50 }, { "p95_ms", 95 }, { "p99_ms", 99 } };
	size_t n = (size_t)MIN(s->nlags, (uint64_t)OUTBOX_SAMPLES);
	uint32_t sorted[OUTBOX_SAMPLES];

	if (!n)
		return;
	memcpy(sorted, s->lags_ms, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_size);
	jw_key(w, "lag");
	jw_object(w);
	for (size_t i = 0; i < countof(rows); i++)
		jw_field_int(w, rows[i].name, sorted[(n - 1) * rows[i].percent / 100]);
	jw_end_object(w);
}

static const char *word_of(const struct sink *sink, const struct sink_state *s)
{
	if (!sink->enabled)
		return "off";
	if (sink->expires_s && clock_wall_us() / USEC_PER_SEC >= sink->expires_s)
		return "expired";
	if (s->trouble[0])
		return s->rest_until_us > clock_mono_us() ? "resting" : "failing";
	return s->last_good_us ? "ok" : "not used yet";
}

static void write_one(struct json_writer *w, const struct sink *sink, const struct sink_state *s)
{
	int64_t rest = s->rest_until_us - clock_mono_us();

	jw_object(w);
	jw_field_str(w, "name", sink->name);
	jw_field_str(w, "type", str_of(sink_types[sink->type].name));
	jw_field_str(w, "state", str_of(word_of(sink, s)));
	jw_field_str(w, "origin", sink->contract ? STR("api") : STR("config"));
	if (sink->expires_s)
		jw_field_int(w, "expires_us", sink->expires_s * USEC_PER_SEC);
	jw_field_int(w, "waiting", MAX(s->waiting, INT64_C(0)));
	jw_field_int(w, "dead", MAX(s->dead, INT64_C(0)));
	jw_field_int(w, "delivered", (int64_t)s->delivered);
	jw_field_int(w, "failed", (int64_t)s->failed);
	jw_field_int(w, "refused", (int64_t)s->refused);
	jw_field_str(w, "trouble", str_of(s->trouble));
	if (rest > 0)
		jw_field_int(w, "rests_us", rest);
	if (s->last_good_us)
		jw_field_int(w, "last_good_us", s->last_good_us);
	write_lags(w, s);
	jw_end_object(w);
}

void outbox_write_state(struct outbox *o, struct json_writer *w)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->sinks->n; i++)
		write_one(w, o->sinks->list[i], o->states[i]);
	pthread_mutex_unlock(&o->lock);
}

unsigned outbox_problems(struct outbox *o)
{
	unsigned n;

	pthread_mutex_lock(&o->lock);
	n = o->sinks->nproblems;
	pthread_mutex_unlock(&o->lock);
	return n;
}

bool outbox_has_sinks(struct outbox *o)
{
	bool has;

	pthread_mutex_lock(&o->lock);
	has = o->sinks->n > 0;
	pthread_mutex_unlock(&o->lock);
	return has;
}
