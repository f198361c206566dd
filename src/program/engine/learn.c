/* Learning runs the jobs that the fold has ordered (jobs/), when the daemon has nothing better to do.
 *
 *   commit ─▶ writer: which are due? tries + 1 ─▶ worker: look ─▶ writer: memories, rows, "done" in one transaction
 *                ▲                                                     │
 *                └──────────────────── next round ◀── loop ◀───────────┘
 *
 * Cut off anywhere, a job has left nothing but its try. What it makes is named after its subject, so even a job that is
 * done twice (after a store was restored, say) changes nothing the second time. A round ends with the first job that
 * makes a memory, so that each job sees the memories of those before it, however the jobs fall into rounds.
 *
 * There are two lanes: rules, and a model. A job for the model passes a worker twice: before the question and after the
 * answer, which takes as long as it takes. It is one question at a time. */
#include "engine/learn_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "llm/llm.h"

enum { SOON_MS = 20, MODEL_PAUSE_S = 30 };

/* What runs a kind: all of it, or what writes a question and what reads the answer. */
static const struct {
	int (*run)(struct lesson *l, struct store *s);
	int (*read)(struct lesson *l, struct store *s, str answer);
} functions[JOB_KIND_MAX] = {
	[JOB_EXTRACT] = { learn_turn, NULL },
	[JOB_SUMMARIZE] = { learn_session, NULL },
	[JOB_CONSULT] = { model_ask_turn, model_read_turn },
	[JOB_RETELL] = { model_ask_session, model_read_session },
};

static unsigned kinds_of(const struct lane *lane)
{
	unsigned kinds = 0;

	for (enum job_kind k = 0; k < JOB_KIND_MAX; k++)
		if (job_kinds[k].place == lane->place)
			kinds |= 1U << k;
	return kinds;
}

/* -- on the writer: what is due ---------------------------------------------------------------- */

static int take(struct store *s, void *arg)
{
	struct lane *lane = arg;
	struct job jobs[JOBS_AT_ONCE];
	int64_t now = clock_wall_us();
	int got = jobs_due(s, kinds_of(lane), now, NULL, 0, jobs, lane->place == JOB_ON_MODEL ? 1 : JOBS_AT_ONCE);
	size_t n = got > 0 ? (size_t)got : 0;
	int r = MIN(got, 0);

	if (n)
		r = jobs_begin(s, jobs, &n, lane->learner->boot, now);
	if (r == 0)
		r = jobs_next_due(s, kinds_of(lane), &lane->next_us);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct lesson *l = &lane->lessons[lane->n++];

		l->learner = lane->learner;
		l->job = jobs[i];
		l->outcome = LESSON_NOT_RUN;
		l->orders = JOB_KIND_MAX;
	}
	return r;
}

/* -- on a worker ------------------------------------------------------------------------------- */

int lesson_put_off(struct lesson *l, int64_t us, const char *why)
{
	l->outcome = LESSON_LATER;
	l->later_us = us;
	snprintf(l->error, sizeof l->error, "%s", why);
	return 0;
}

int lesson_reject(struct lesson *l, const char *why)
{
	l->hopeless = l->job.tries > 0;
	snprintf(l->error, sizeof l->error, "%s", why);
	return -EBADMSG;
}

bool lesson_add_event(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload)
{
	if (l->n == NOTES_MAX)
		return false;
	if (!l->events) {
		l->events = arena_alloc(&l->arena, NOTES_MAX * sizeof *l->events);
		l->records = arena_alloc(&l->arena, NOTES_MAX * sizeof *l->records);
	}
	memory_event(id, memory, payload, &l->arena, &l->events[l->n++]);
	return true;
}

static void run(struct lesson *l, struct store *s)
{
	bool answered = str_is_set(l->answer);
	unsigned secrets;
	int r = answered ? functions[l->job.kind].read(l, s, l->answer) : functions[l->job.kind].run(l, s);

	if (r < 0) {
		l->outcome = LESSON_FAILED;
		if (!l->error[0])
			snprintf(l->error, sizeof l->error, "%s", store_failure(s, r));
		return;
	}
	if (l->outcome == LESSON_NOT_RUN)
		l->outcome = LESSON_DONE;
	for (size_t i = 0; i < l->n; i++) {
		engine_redact(l->learner->config.engine, &l->arena, &l->events[i], &l->records[i], &secrets);
		l->records[i].order_us = l->records[i].at_us;
	}
}

/* Both lanes may be the first to need it. */
static void need_extractor(struct learner *x)
{
	pthread_mutex_lock(&x->lock);
	if (!x->extractor)
		x->extractor = extractor_new();
	pthread_mutex_unlock(&x->lock);
}

static void work(void *arg)
{
	struct lane *lane = arg;
	const struct learner_config *c = &lane->learner->config;
	struct store *s = NULL;
	struct err err;
	bool failed = false, learned = false;

	if (readers_try(c->readers, &s, &err) < 0)
		return;
	need_extractor(lane->learner);
	for (size_t i = 0; i < lane->n && !failed && !learned; i++) {
		run(&lane->lessons[i], s);
		failed = lane->lessons[i].outcome == LESSON_FAILED;
		learned = lane->lessons[i].n > 0;
	}
	if (failed)
		store_close(s);
	else
		readers_give_back(c->readers, s);
}

/* -- on the writer: results -------------------------------------------------------------------- */

static int store_records(struct store *s, const struct lesson *l)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r >= 0; i++)
		r = capture_fold(l->learner->config.capture, s, &l->records[i]);
	return MIN(r, 0);
}

static int end_lesson(struct store *s, struct lesson *l)
{
	int r;

	switch (l->outcome) {
	case LESSON_NOT_RUN: return jobs_give_back(s, &l->job, NULL, 0);
	case LESSON_LATER: return jobs_give_back(s, &l->job, l->error, clock_wall_us() + l->later_us);
	case LESSON_FAILED:
		return l->hopeless ? jobs_end_dead(s, &l->job, l->error, l->cost)
				   : jobs_end_failed(s, &l->job, l->error, l->cost);
	case LESSON_DONE: break;
	}
	r = store_records(s, l);
	if (r == 0)
		r = lesson_store(s, l);
	return r < 0 ? r : jobs_end_done(s, &l->job, l->cost);
}

/* All of a round together; if that fails, its jobs wait as if they had failed. */
static int finish(struct store *s, void *arg)
{
	struct lane *lane = arg;
	struct capture *c = lane->learner->config.capture;
	int r = 0;

	for (size_t i = 0; i < lane->n && r == 0; i++)
		r = end_lesson(s, &lane->lessons[i]);
	if (r == 0)
		r = capture_finish(c, s);
	if (r < 0)
		capture_forget(c);
	else
		r = jobs_next_due(s, kinds_of(lane), &lane->next_us);
	return r;
}

/* -- on the loop ------------------------------------------------------------------------------- */

static void release(struct lane *lane)
{
	for (size_t i = 0; i < lane->n; i++)
		arena_release(&lane->lessons[i].arena);
	memset(lane->lessons, 0, lane->n * sizeof lane->lessons[0]);
	lane->n = 0;
}

static void set_timer(struct lane *lane)
{
	int64_t wait = lane->next_us == INT64_MAX ? -1 : MAX(lane->next_us - clock_wall_us(), SOON_MS * USEC_PER_MSEC);

	if (lane->again)
		wait = SOON_MS * USEC_PER_MSEC;
	loop_timer_set(lane->timer, wait);
}

static void begin(void *lane);

static void end_round(void *arg)
{
	struct lane *lane = arg;
	bool ordered = false;

	for (size_t i = 0; i < lane->n; i++) {
		struct lesson *l = &lane->lessons[i];

		if (l->outcome == LESSON_FAILED)
			log_warn(LOG_ENGINE, "job %lld (%s) failed: %s", (long long)l->job.id,
				job_kinds[l->job.kind].name, l->error);
		if (l->outcome == LESSON_DONE)
			engine_tell(l->learner->config.engine, l->records, l->n);
		ordered |= l->outcome == LESSON_DONE && l->orders != JOB_KIND_MAX;
	}
	release(lane);
	lane->busy = false;
	set_timer(lane);
	lane->again = false;
	if (ordered)
		begin(&lane->learner->model);
}

/* The transaction with the results has been rolled back. */
static void note_failure(struct lane *lane, int result)
{
	for (size_t i = 0; i < lane->n; i++) {
		lane->lessons[i].outcome = LESSON_NOT_RUN;
		lane->lessons[i].n = 0;
	}
	lane->next_us = clock_wall_us() + 10 * USEC_PER_SEC;
	if (result != -ECANCELED)
		log_warn(LOG_ENGINE, "the results of %zu jobs could not be stored: %s", lane->n, strerror(-result));
}

/* When hookd is stopping, nothing follows: what was not stored is done again by the next daemon. */
static void finished(int result, void *arg)
{
	struct lane *lane = arg;

	if (result == -ECANCELED)
		return;
	if (result < 0)
		note_failure(lane, result);
	loop_post(lane->learner->config.loop, end_round, lane);
}

static void store_results(struct lane *lane)
{
	writer_post_then(lane->learner->config.writer, finish, finished, lane);
}

static void answer_is_read(void *arg)
{
	store_results(arg);
}

/* Whether an unanswered question is the provider's trouble, so that the job waits and no try is spent: it is away, it
 * is not to be asked now, or it has not answered the last one either. Only one that fails while others are answered
 * fails by itself. */
static bool is_providers(const struct lane *lane, enum llm_result r)
{
	bool failed = r == LLM_TIMEOUT || r == LLM_FAILED || r == LLM_GARBLED;

	return llm_should_wait(r) || r == LLM_UNREACHABLE || r == LLM_REFUSED || (failed && lane->failures);
}

static void pause_lane(struct lane *lane, struct lesson *l, int64_t wanted_us)
{
	int64_t longer = (int64_t)MODEL_PAUSE_S << MIN(lane->failures, 7U);

	l->outcome = LESSON_LATER;
	l->later_us = MAX(wanted_us, longer * USEC_PER_SEC);
	lane->paused_until_us = clock_wall_us() + l->later_us;
}

static void answered(const struct llm_answer *a, void *arg)
{
	struct lane *lane = arg;
	struct lesson *l = &lane->lessons[0];

	l->cost = MAX(a->tokens_in, 0) + MAX(a->tokens_out, 0);
	if (a->result == LLM_ANSWERED) {
		lane->failures = 0;
		l->answer = arena_str(&l->arena, a->text);
		l->outcome = LESSON_NOT_RUN;
		loop_submit_lane(lane->learner->config.loop, LOOP_BACKGROUND, work, answer_is_read, lane);
		return;
	}
	snprintf(l->error, sizeof l->error, STR_FMT,
		STR_ARG(str_empty(a->why) ? str_of(llm_result_names[a->result]) : a->why));
	if (is_providers(lane, a->result)) {
		pause_lane(lane, l, a->retry_us);
	} else {
		l->outcome = LESSON_FAILED;
		l->hopeless =
			a->result == LLM_TOO_LONG || a->result == LLM_OWN || (a->result == LLM_CUT && l->job.tries);
	}
	lane->failures += !llm_should_wait(a->result);
	store_results(lane);
}

static bool has_question(const struct lane *lane)
{
	return lane->n && lane->lessons[0].outcome == LESSON_DONE && str_is_set(lane->lessons[0].question.user);
}

static void worked(void *arg)
{
	struct lane *lane = arg;
	const struct lesson *l = &lane->lessons[0];

	if (has_question(lane))
		llm_ask(lane->learner->config.llm,
			&(struct llm_request){ .purpose = job_kinds[l->job.kind].name,
				.system = l->question.system,
				.user = l->question.user,
				.lane = LLM_BACKGROUND,
				.done = answered,
				.arg = lane });
	else
		store_results(lane);
}

static void start_work(void *arg)
{
	struct lane *lane = arg;

	if (lane->n)
		loop_submit_lane(lane->learner->config.loop, LOOP_BACKGROUND, work, worked, lane);
	else
		end_round(lane);
}

static void taken(int result, void *arg)
{
	struct lane *lane = arg;

	if (result == -ECANCELED)
		return;
	if (result < 0) {
		lane->n = 0;
		lane->next_us = clock_wall_us() + 60 * USEC_PER_SEC;
	}
	loop_post(lane->learner->config.loop, start_work, lane);
}

/* A kind without a provider pauses, and so does one whose provider asked for it: no try is spent. */
static bool may_ask(struct lane *lane)
{
	int64_t wait = lane->paused_until_us - clock_wall_us();

	if (!model_is_wanted(lane->learner))
		return false;
	if (wait > 0)
		loop_timer_set(lane->timer, wait);
	return wait <= 0;
}

static void begin(void *arg)
{
	struct lane *lane = arg;

	if (lane->busy) {
		lane->again = true;
		return;
	}
	if (lane->place == JOB_ON_MODEL && !may_ask(lane))
		return;
	lane->busy = true;
	lane->next_us = INT64_MAX;
	writer_post_then(lane->learner->config.writer, take, taken, lane);
}

void learner_wake(struct learner *x)
{
	begin(&x->rules);
	begin(&x->model);
}

/* -- beginning and end ------------------------------------------------------------------------- */

static void open_lane(struct learner *x, struct lane *lane, enum job_place place)
{
	lane->learner = x;
	lane->place = place;
	lane->timer = loop_timer_new(x->config.loop, begin, lane);
}

static void close_lane(struct lane *lane)
{
	loop_timer_free(lane->timer);
	release(lane);
}

struct learner *learner_new(const struct learner_config *config)
{
	struct learner *x = xcalloc(1, sizeof *x);

	x->config = *config;
	pthread_mutex_init(&x->lock, NULL);
	x->boot = clock_wall_us() / USEC_PER_MSEC * 4194304 + getpid(); /* the next daemon has another */
	open_lane(x, &x->rules, JOB_ON_WORKER);
	open_lane(x, &x->model, JOB_ON_MODEL);
	return x;
}

void learner_free(struct learner *x)
{
	if (!x)
		return;
	close_lane(&x->rules);
	close_lane(&x->model);
	extractor_free(x->extractor);
	pthread_mutex_destroy(&x->lock);
	free(x);
}
