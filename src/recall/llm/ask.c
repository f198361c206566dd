/* One try of one question, on a thread that may wait. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "llm/internal.h"
#include "net/net.h"

static void say(struct llm_asked *x, struct llm_outcome *ret, enum llm_result r, str why)
{
	ret->result = r;
	buf_clear(&x->why);
	buf_add_str(&x->why, why);
}

/* Everything that leaves: the texts as they may be stored, and the mark. */
static str make_body(struct llm *l, const struct llm_asked *x, struct redactor *redactor, struct arena *a)
{
	struct llm_question q = { .model = str_of(l->settings.model),
		.system = arena_strf(a, STR_FMT "\n\n(%s)", STR_ARG(redact_text(redactor, a, x->q.system)), l->mark),
		.user = redact_text(redactor, a, x->q.user),
		.max_tokens = x->q.max_tokens };
	struct buf b = BUF_INIT(2 * LLM_QUEUE_BYTES);
	str body;

	llm_write_question(l->settings.provider, &q, &b);
	body = arena_str(a, buf_str(&b));
	buf_release(&b);
	return body;
}

/* For llm_health(), which must not wait for a disk. */
static void show_today(struct llm *l, int64_t tokens)
{
	pthread_mutex_lock(&l->lock);
	l->health.today = tokens;
	pthread_mutex_unlock(&l->lock);
}

static int take_budget(struct llm *l, struct llm_asked *x, str body, struct llm_ticket *ticket, struct llm_outcome *ret)
{
	/* No tokenizer makes more tokens than there are bytes: an estimate could be exceeded, this cannot. */
	int64_t amount = (int64_t)body.n + x->q.max_tokens, today;
	char why[FS_PATH + 200];
	int r;

	pthread_mutex_lock(&l->budget_lock);
	r = llm_budget_take(&l->budget, amount, l->settings.budget, clock_wall_us(), ticket);
	today = l->budget.spent;
	pthread_mutex_unlock(&l->budget_lock);
	show_today(l, today);
	if (r == 0)
		return 0;
	if (r == -EDQUOT)
		snprintf(why, sizeof why, "today's tokens are used up (llm.budget)");
	else
		snprintf(why, sizeof why, "%s cannot be used (%s), so nobody knows what may be spent", l->budget.path,
			strerror(-r));
	say(x, ret, LLM_NO_BUDGET, str_of(why));
	return r;
}

static void settle(struct llm *l, const struct llm_ticket *ticket, int64_t cost)
{
	int64_t today;
	int r;

	pthread_mutex_lock(&l->budget_lock);
	r = llm_budget_settle(&l->budget, ticket, cost, clock_wall_us());
	today = l->budget.spent;
	pthread_mutex_unlock(&l->budget_lock);
	show_today(l, today);
	if (r < 0)
		log_warn(LOG_LLM, "the budget cannot be written: %s", strerror(-r));
}

/* What a call has cost. Who was asked and did not answer may have worked all the same; an error costs what was sent, so
 * that a provider which only ever fails comes to the end of the budget too. */
static int64_t cost_of(const struct llm_ticket *t, const struct net_answer *n, const struct llm_reading *read, str body)
{
	if (!n->sent)
		return 0;
	if (n->result == NET_ANSWERED && n->status != 200)
		return MIN((int64_t)llm_count_tokens(body), t->amount);
	if (n->result != NET_ANSWERED || read->tokens_in < 0 || read->tokens_out < 0)
		return t->amount;
	return MAX(read->tokens_in + read->tokens_out, INT64_C(1));
}

static enum llm_result result_of(enum net_result r)
{
	static const enum llm_result results[] = {
		[NET_ANSWERED] = LLM_ANSWERED,
		[NET_BAD_REQUEST] = LLM_OFF,
		[NET_NO_CURL] = LLM_OFF,
		[NET_UNREACHABLE] = LLM_UNREACHABLE,
		[NET_TIMEOUT] = LLM_TIMEOUT,
		[NET_TOO_LARGE] = LLM_GARBLED,
		[NET_CANCELLED] = LLM_STOPPED,
	};

	return results[r];
}

/* A provider's words may hold what we sent, the key among it. */
static str safe_words(str text, const char *key, struct redactor *redactor, struct arena *a)
{
	if (key[0] && str_find(text, str_of(key)) >= 0)
		return STR("the provider's message holds the key and is not shown");
	return redact_text(redactor, a, text);
}

static void take_answer(struct llm *l, struct llm_asked *x, const struct net_answer *n, struct arena *a,
	struct llm_reading *read, struct llm_outcome *ret)
{
	if (n->result != NET_ANSWERED) {
		*read = (struct llm_reading){ .result = result_of(n->result),
			.why = str_of(n->err.text),
			.tokens_in = -1,
			.tokens_out = -1 };
	} else {
		llm_read_answer(l->settings.provider, n->status, buf_str(&n->body), a, read);
	}
	ret->result = read->result;
	ret->status = n->status;
	ret->retry_after_s = n->retry_after_s;
	ret->sent = n->sent;
	buf_clear(&x->text);
	if (read->result == LLM_ANSWERED)
		buf_add_str(&x->text, read->text);
}

static void post(struct llm *l, struct llm_asked *x, str body, const char *key, struct arena *a, struct net_answer *ret)
{
	const struct llm_protocol *p = &llm_protocols[l->settings.provider];
	struct net_request q = { .url = str_of(l->settings.url),
		.body = body,
		.timeout_us = MIN(l->settings.timeout_us, x->until_us - clock_mono_us()),
		.answer_max = LLM_ANSWER_MAX,
		.cancel_fd = l->wake[0] };
	size_t n = 0;

	q.headers[n++] = STR("Content-Type: application/json");
	if (key[0])
		q.headers[n++] = arena_strf(a, "%s%s", p->key_header, key);
	if (p->header[0])
		q.headers[n++] = str_of(p->header);
	net_post(&q, ret);
}

void llm_try(struct llm *l, struct llm_asked *x, struct redactor *redactor, struct llm_outcome *ret)
{
	_cleanup_(arena_release) struct arena a = { 0 };
	str body = make_body(l, x, redactor, &a);
	struct llm_reading read = { 0 };
	struct llm_ticket ticket;
	struct net_answer n;
	struct err err = { 0 };
	char key[LLM_KEY_MAX];
	int64_t began = clock_mono_us();

	*ret = (struct llm_outcome){ .retry_after_s = -1 };
	if (llm_read_key(&l->settings, key, &err) < 0) {
		say(x, ret, LLM_OFF, str_of(err.text));
		return;
	}
	if (take_budget(l, x, body, &ticket, ret) == 0) {
		post(l, x, body, key, &a, &n);
		take_answer(l, x, &n, &a, &read, ret);
		say(x, ret, read.result, safe_words(read.why, key, redactor, &a));
		ret->tokens_in = read.tokens_in < 0 ? (int64_t)llm_count_tokens(body) : read.tokens_in;
		ret->tokens_out = read.tokens_out < 0 ? (int64_t)llm_count_tokens(read.text) : read.tokens_out;
		settle(l, &ticket, cost_of(&ticket, &n, &read, body));
		buf_release(&n.body);
		log_info(LOG_LLM, "ASK %s %s %s: %s, %lld+%lld tokens, %zu bytes sent, %lld ms%s" STR_FMT, x->q.purpose,
			llm_protocols[l->settings.provider].name, l->settings.model, llm_result_names[ret->result],
			(long long)ret->tokens_in, (long long)ret->tokens_out, ret->sent ? body.n : 0,
			(long long)((clock_mono_us() - began) / USEC_PER_MSEC), x->why.len ? ": " : "",
			STR_ARG(buf_str(&x->why)));
	}
	explicit_bzero(key, sizeof key);
}
