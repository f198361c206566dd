/* Questions wait here for a thread. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "llm/internal.h"
#include "os/os.h"

enum {
	IDLE_S = 20,        /* a thread that nobody needed for so long ends */
	BACKGROUND_MAX = 1, /* of the threads */
	BYTES_A_TOKEN = 3,  /* English has four, code and other scripts fewer */
};

const char *const llm_result_names[LLM_RESULT_MAX] = {
	[LLM_ANSWERED] = "answered",
	[LLM_OFF] = "off",
	[LLM_NO_BUDGET] = "no budget",
	[LLM_PAUSED] = "paused",
	[LLM_BUSY] = "busy",
	[LLM_TOO_LONG] = "too long",
	[LLM_TIMEOUT] = "timeout",
	[LLM_UNREACHABLE] = "unreachable",
	[LLM_REFUSED] = "refused",
	[LLM_FAILED] = "failed",
	[LLM_GARBLED] = "garbled",
	[LLM_CUT] = "cut off",
	[LLM_OWN] = "own",
	[LLM_STOPPED] = "stopped",
};

bool llm_should_wait(enum llm_result r)
{
	return r == LLM_OFF || r == LLM_NO_BUDGET || r == LLM_PAUSED || r == LLM_BUSY || r == LLM_STOPPED;
}

unsigned llm_count_tokens(str text)
{
	return (unsigned)(MIN(text.n, (size_t)MIB(64)) / BYTES_A_TOKEN + 8);
}

/* -- the end of a question --------------------------------------------------------------------- */

static void asked_free(struct llm_asked *x)
{
	buf_release(&x->text);
	buf_release(&x->why);
	free(x->texts);
	free(x);
}

/* On the loop. */
static void tell(void *arg)
{
	struct llm_asked *x = arg;

	x->answer.text = x->answer.result == LLM_ANSWERED ? buf_str(&x->text) : STR_NONE;
	x->answer.why = buf_str(&x->why);
	x->q.done(&x->answer, x->q.arg);
	asked_free(x);
}

static void end(struct llm_asked *x, enum llm_result r, const char *why)
{
	x->answer.result = r;
	if (why) {
		buf_clear(&x->why);
		buf_add_str(&x->why, str_of(why));
	}
	loop_post(x->llm->config.loop, tell, x);
}

/* -- choosing ---------------------------------------------------------------------------------- */

static void unlink_asked(struct llm *l, struct llm_asked *x)
{
	struct llm_asked **at = &l->first;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	l->queued--;
	l->bytes -= x->bytes;
}

static void append(struct llm *l, struct llm_asked *x)
{
	struct llm_asked **at = &l->first;

	while (*at)
		at = &(*at)->next;
	x->next = NULL;
	*at = x;
	l->queued++;
	l->bytes += x->bytes;
}

static bool may_start(const struct llm *l, const struct llm_asked *x, int64_t now)
{
	return x->ready_us <= now && (x->q.lane == LLM_URGENT || l->background < BACKGROUND_MAX);
}

/* The next question to be asked, or NULL: *ret_us is when to look again. Those whose time is over leave, and so do those
 * whose turn comes while the provider is left alone. */
static struct llm_asked *choose(struct llm *l, int64_t now, int64_t *ret_us)
{
	int64_t paused = llm_circuit_left(&l->circuit, now);
	struct llm_asked *best = NULL;

	*ret_us = now + IDLE_S * USEC_PER_SEC;
	for (struct llm_asked *x = l->first, *next; x; x = next) {
		next = x->next;
		if (x->until_us <= now) {
			unlink_asked(l, x);
			end(x, LLM_TIMEOUT, x->why.len ? NULL : "its time was over before it could be asked");
		} else if (x->ready_us <= now && paused) {
			unlink_asked(l, x);
			x->answer.retry_us = paused;
			end(x, LLM_PAUSED, l->health.trouble);
		} else if (may_start(l, x, now)) {
			if (!best || x->q.lane > best->q.lane)
				best = x;
		} else {
			*ret_us = MIN(*ret_us, x->ready_us > now ? MIN(x->ready_us, x->until_us) : x->until_us);
		}
	}
	return best;
}

/* -- the threads ------------------------------------------------------------------------------- */

static bool is_bad(enum llm_result r)
{
	return r != LLM_ANSWERED && r != LLM_CUT && r != LLM_OFF && r != LLM_NO_BUDGET && r != LLM_STOPPED;
}

/* Under the lock: what this try says about the provider. */
static void learn(struct llm *l, const struct llm_asked *x, const struct llm_outcome *o)
{
	struct llm_health *h = &l->health;
	int64_t now = clock_mono_us(), left = llm_circuit_left(&l->circuit, now);

	h->calls += o->sent;
	if (o->result == LLM_STOPPED)
		return;
	snprintf(h->trouble, sizeof h->trouble, STR_FMT,
		STR_ARG(str_cut_utf8(buf_str(&x->why), sizeof h->trouble - 1)));
	if (o->result == LLM_ANSWERED || o->result == LLM_CUT) {
		h->last_good_us = clock_wall_us();
		h->trouble[0] = 0;
		llm_circuit_good(&l->circuit);
	}
	if (!is_bad(o->result))
		return;
	h->failures++;
	llm_circuit_bad(&l->circuit, o->result, o->retry_after_s, now);
	if (!left && llm_circuit_left(&l->circuit, now))
		log_warn(LOG_LLM, "the model is not asked for %lld s: %s",
			(long long)(llm_circuit_left(&l->circuit, now) / USEC_PER_SEC), h->trouble);
}

/* True: it is back in the queue. */
static bool try_again(struct llm *l, struct llm_asked *x, const struct llm_outcome *o)
{
	int64_t now = clock_mono_us();
	int64_t wait = llm_retry_wait(o->result, o->status, x->tries, o->retry_after_s, (unsigned)now);

	if (wait < 0 || l->stopping || now + wait >= x->until_us || llm_circuit_left(&l->circuit, now) > wait)
		return false;
	x->ready_us = now + wait;
	append(l, x);
	return true;
}

static int64_t until_midnight_us(void)
{
	const int64_t day = 86400 * USEC_PER_SEC;

	return day - clock_wall_us() % day;
}

/* With the lock, which is let go of meanwhile. */
static void ask_one(struct llm *l, struct llm_asked *x, struct redactor *redactor)
{
	bool background = x->q.lane == LLM_BACKGROUND;
	struct llm_outcome o;

	unlink_asked(l, x);
	l->in_flight++;
	l->background += background;
	x->tries++;
	pthread_mutex_unlock(&l->lock);
	llm_try(l, x, redactor, &o);
	pthread_mutex_lock(&l->lock);
	l->in_flight--;
	l->background -= background;
	learn(l, x, &o);
	x->answer.tokens_in += o.tokens_in;
	x->answer.tokens_out += o.tokens_out;
	x->answer.retry_us = o.result == LLM_NO_BUDGET ? until_midnight_us() : 0;
	if (!try_again(l, x, &o))
		end(x, o.result, NULL);
	pthread_cond_broadcast(&l->changed);
}

static void wait_until(struct llm *l, int64_t until_us)
{
	struct timespec t = { .tv_sec = until_us / USEC_PER_SEC, .tv_nsec = until_us % USEC_PER_SEC * 1000 };

	pthread_cond_timedwait(&l->changed, &l->lock, &t);
}

static void *thread_main(void *arg)
{
	struct llm *l = arg;
	struct redactor *redactor = redactor_new();
	int64_t idle_since = clock_mono_us(), look_us;

	os_thread_name("llm");
	pthread_mutex_lock(&l->lock);
	while (!l->stopping) {
		struct llm_asked *x = choose(l, clock_mono_us(), &look_us);

		if (x) {
			ask_one(l, x, redactor);
			idle_since = clock_mono_us();
		} else if (!l->first && clock_mono_us() - idle_since >= IDLE_S * USEC_PER_SEC) {
			break;
		} else {
			wait_until(l, look_us);
		}
	}
	redactor_free(redactor);
	l->threads--;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void start_thread(struct llm *l)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	l->threads += pthread_create(&thread, &attr, thread_main, l) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

/* -- asking ------------------------------------------------------------------------------------ */

static struct llm_asked *copy(struct llm *l, const struct llm_request *q)
{
	struct llm_asked *x = xcalloc(1, sizeof *x);
	int64_t time = q->timeout_us ? q->timeout_us : LLM_TRIES * l->settings.timeout_us;

	x->llm = l;
	x->q = *q;
	x->bytes = q->system.n + q->user.n;
	x->until_us = clock_mono_us() + time;
	if (!x->q.max_tokens || x->q.max_tokens > l->settings.max_tokens)
		x->q.max_tokens = l->settings.max_tokens;
	buf_init(&x->text, LLM_ANSWER_MAX);
	buf_init(&x->why, KIB(4));
	return x;
}

/* Only what is going to wait is copied. */
static void take_texts(struct llm_asked *x)
{
	x->texts = xmalloc(x->bytes + 1);
	memcpy(x->texts, x->q.system.p ? x->q.system.p : "", x->q.system.n);
	memcpy(x->texts + x->q.system.n, x->q.user.p ? x->q.user.p : "", x->q.user.n);
	x->q.user = str_n(x->texts + x->q.system.n, x->q.user.n);
	x->q.system = str_n(x->texts, x->q.system.n);
}

static bool fits(const struct llm *l, const struct llm_asked *x)
{
	uint64_t all = (uint64_t)llm_count_tokens(x->q.system) + llm_count_tokens(x->q.user) + x->q.max_tokens;

	return all <= l->settings.context && x->bytes <= LLM_QUEUE_BYTES;
}

/* Under the lock. Why this question is not even queued, or LLM_ANSWERED. */
static enum llm_result refuse(struct llm *l, struct llm_asked *x, const char **ret_why)
{
	int64_t left = llm_circuit_left(&l->circuit, clock_mono_us());

	*ret_why = "";
	if (l->stopping) {
		*ret_why = "hookd is stopping";
		return LLM_STOPPED;
	}
	if (!l->on) {
		*ret_why = l->health.trouble[0] ? l->health.trouble : "no model is configured (llm.provider)";
		return LLM_OFF;
	}
	if (llm_is_own(l, x->q.user) || llm_is_own(l, x->q.system)) {
		*ret_why = "this comes from a question that hookd itself has asked";
		return LLM_OWN;
	}
	if (!fits(l, x)) {
		*ret_why = "the question is longer than the model takes (llm.context)";
		return LLM_TOO_LONG;
	}
	if (left) {
		*ret_why = l->health.trouble;
		x->answer.retry_us = left;
		return LLM_PAUSED;
	}
	if (l->queued >= LLM_QUEUED || l->bytes + x->bytes > LLM_QUEUE_BYTES) {
		*ret_why = "too many questions are waiting";
		return LLM_BUSY;
	}
	return LLM_ANSWERED;
}

void llm_ask(struct llm *l, const struct llm_request *q)
{
	struct llm_asked *x = copy(l, q);
	enum llm_result refused;
	const char *why;

	pthread_mutex_lock(&l->lock);
	refused = refuse(l, x, &why);
	if (refused == LLM_ANSWERED) {
		take_texts(x);
		append(l, x);
		if (l->threads < LLM_AT_ONCE && l->threads < l->queued + l->in_flight)
			start_thread(l);
		if (l->threads) {
			pthread_cond_broadcast(&l->changed);
		} else {
			unlink_asked(l, x);
			end(x, LLM_BUSY, "no thread could be started");
		}
	} else {
		end(x, refused, why);
	}
	pthread_mutex_unlock(&l->lock);
}

/* -- recursion --------------------------------------------------------------------------------- */

static void make_mark(struct llm *l, str secret)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, "hookd asks", 10);
	sha256_add(&h, secret.p ? secret.p : "", secret.n);
	sha256_end(&h, digest);
	sha256_hex(digest, hex);
	snprintf(l->mark, sizeof l->mark, "hookd-asks-%.20s", hex);
}

const char *llm_mark(const struct llm *l)
{
	return l->mark;
}

bool llm_is_own(const struct llm *l, str text)
{
	return str_find(text, str_of(l->mark)) >= 0;
}

/* -- health ------------------------------------------------------------------------------------ */

const char *const llm_state_names[LLM_STATE_MAX] = {
	[LLM_IS_OFF] = "off",
	[LLM_IS_OK] = "ok",
	[LLM_IS_UNTRIED] = "not asked yet",
	[LLM_IS_FAILING] = "failing",
	[LLM_IS_PAUSED] = "paused",
	[LLM_IS_SPENT] = "budget used up",
};

static enum llm_state state_of(const struct llm *l, const struct llm_health *h)
{
	if (!l->on)
		return LLM_IS_OFF;
	if (h->paused_us)
		return LLM_IS_PAUSED;
	if (h->today >= h->budget)
		return LLM_IS_SPENT;
	if (h->trouble[0])
		return LLM_IS_FAILING;
	return h->last_good_us ? LLM_IS_OK : LLM_IS_UNTRIED;
}

void llm_health(struct llm *l, struct llm_health *ret)
{
	const struct llm_settings *s = &l->settings;

	pthread_mutex_lock(&l->lock);
	*ret = l->health;
	ret->waiting = l->queued;
	ret->in_flight = l->in_flight;
	ret->paused_us = llm_circuit_left(&l->circuit, clock_mono_us());
	pthread_mutex_unlock(&l->lock);
	snprintf(ret->provider, sizeof ret->provider, "%s", llm_protocols[s->provider].name);
	snprintf(ret->model, sizeof ret->model, "%.*s", (int)sizeof ret->model - 1, s->model);
	snprintf(ret->url, sizeof ret->url, "%.*s", (int)sizeof ret->url - 1, s->url);
	ret->budget = s->budget;
	ret->state = state_of(l, ret);
}

void llm_write_health(struct llm *l, struct json_writer *w)
{
	struct llm_health h;

	llm_health(l, &h);
	jw_object(w);
	jw_field_str(w, "state", str_of(llm_state_names[h.state]));
	jw_field_str(w, "provider", str_of(h.provider));
	if (l->settings.provider != LLM_NOBODY) {
		jw_field_str(w, "model", str_of(h.model));
		jw_field_str(w, "url", str_of(h.url));
		jw_field_str(w, "trouble", str_of(h.trouble));
		jw_field_int(w, "calls", (int64_t)h.calls);
		jw_field_int(w, "failures", (int64_t)h.failures);
		jw_field_int(w, "waiting", h.waiting);
		jw_field_int(w, "in_flight", h.in_flight);
		jw_field_int(w, "tokens_today", h.today);
		jw_field_int(w, "budget", h.budget);
		jw_field_int(w, "paused_us", h.paused_us);
		jw_field_int(w, "last_good_us", h.last_good_us);
	}
	jw_end_object(w);
}

/* -- life -------------------------------------------------------------------------------------- */

bool llm_is_on(const struct llm *l)
{
	return l->on;
}

unsigned llm_context_tokens(const struct llm *l)
{
	return l->settings.context;
}

static void open_budget(struct llm *l)
{
	char path[FS_PATH];

	if (fs_join(path, l->config.state, "llm.budget") < 0)
		path[0] = 0;
	llm_budget_open(&l->budget, path, clock_wall_us());
	l->health.today = l->budget.spent;
	if (l->budget.broken)
		snprintf(l->health.trouble, sizeof l->health.trouble, "%.200s cannot be read: %s", path,
			strerror(-l->budget.broken));
}

struct llm *llm_new(const struct llm_config *config)
{
	struct llm *l = xcalloc(1, sizeof *l);
	struct err err = { 0 };
	pthread_condattr_t attr;

	l->config = *config;
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->budget_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &attr);
	pthread_condattr_destroy(&attr);
	make_mark(l, str_of(config->secret));
	l->on = llm_settings_read(&l->settings, config->config, config->state, &err);
	l->wake[0] = l->wake[1] = -1;
	if (l->on && os_wake_open(l->wake) < 0)
		l->on = false;
	if (l->on)
		open_budget(l);
	if (err.text[0]) {
		snprintf(l->health.trouble, sizeof l->health.trouble, "%s", err.text);
		log_warn(LOG_LLM, "no model is asked: %s", err.text);
	}
	return l;
}

void llm_stop(struct llm *l)
{
	struct llm_asked *x;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	if (l->on)
		os_wake_send(l->wake[1]);
	while ((x = l->first)) {
		unlink_asked(l, x);
		end(x, LLM_STOPPED, "hookd is stopping");
	}
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void llm_join(struct llm *l)
{
	if (!l)
		return;
	llm_stop(l);
	pthread_mutex_lock(&l->lock);
	while (l->threads)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

void llm_free(struct llm *l)
{
	if (!l)
		return;
	llm_join(l);
	if (l->on)
		os_wake_close(l->wake);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->budget_lock);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
