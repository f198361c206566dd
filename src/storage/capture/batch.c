/* Batches: a prompt and everything until it is answered. */
#include <errno.h>

#include "base/sha256.h"
#include "base/clock.h"
#include "capture/internal.h"
#include "jobs/jobs.h"

/* -- where a prompt comes from ----------------------------------------------------------------- */

/* Stands for the prompt of a batch that was opened by a tool. */
#define CONTINUATION "[Session continuation]"

/* How much text after a prefix makes it a plan, and not a remark about one elsewhere. */
enum { PLAN_BODY_MIN = 500 };

static const struct source {
	const char *prefix, *name;
	size_t body_min; /* of a plan behind the prefix, in bytes */
} sources[] = {
	{ "<task-notification>", "agent_notification", 0 },
	{ "<system-", "system", 0 },
	{ "Implement the following plan:", "plan", 1 },
	/* Cursor attaches the file: the session's own plan is meant, unless all of it is here. */
	{ "Implement the plan as specified", "plan", PLAN_BODY_MIN },
	{ NULL, "user", 0 },
};

static const struct source *find_source(str prompt)
{
	const struct source *s = sources;

	while (s->prefix && !str_starts(prompt, str_of(s->prefix)))
		s++;
	return s;
}

static const char *source_of(str prompt)
{
	return find_source(prompt)->name;
}

static void hash_prompt(str prompt, uint8_t out[SHA256_BYTES])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, prompt.p, prompt.n);
	sha256_end(&s, out);
}

/* -- open and close ---------------------------------------------------------------------------- */

/* What is to be done about a turn that has ended. A client's clock may be wrong, but not ahead. */
static int order_jobs(struct step *t, int64_t batch)
{
	t->capture->ordered = true;
	return jobs_on_batch_end(t->store, batch, t->session.key, MIN(t->record.at_us, clock_wall_us()));
}

int batch_close(struct step *t, const char *by)
{
	int r;

	if (!t->session.batch)
		return 0;
	/* Closed by a Stop at that moment; by anything else at its last activity. */
	r = store_do(t->store,
		"UPDATE batches SET status = 'completed', closed_by = ?2, ended_at = last_at WHERE key = ?1", "is",
		t->session.batch, str_of(by));
	if (r == 0)
		r = order_jobs(t, t->session.batch);
	t->session.batch = 0;
	return r;
}

static int open_batch(struct step *t, const char *source, str prompt, const uint8_t *hash, int64_t *ret)
{
	const struct event *e = &t->event;
	const struct json *attachments = json_get(e->payload, STR("attachments"));
	int64_t window;
	int r = window_of(t, &window);

	if (r < 0)
		return r;
	r = store_do(t->store,
		"INSERT INTO batches(session, window, ord, number, source, prompt, prompt_id, prompt_hash, "
		"length, mode, attachments, "
		"  private, started_at, last_at, key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
		"?13, ?13, ?14)",
		"ikiisssbisiiii", t->session.key, window, t->record.order_us, t->session.prompts, str_of(source),
		summary_cut(t->arena, prompt, PROMPT_MAX), e->prompt_id, (const void *)hash,
		hash ? (size_t)SHA256_BYTES : (size_t)0, (int64_t)summary_length(prompt), e->permission_mode,
		(int64_t)(attachments && attachments->type == JSON_ARRAY ? attachments->count : 0),
		(int64_t) !!(t->record.marks & EVENT_PRIVATE), t->record.at_us, key_of(t->seq, 0));
	if (r < 0)
		return r;
	*ret = t->session.batch = t->session.last_batch = key_of(t->seq, 0);
	return 0;
}

/* -- prompts ----------------------------------------------------------------------------------- */

/* The same id and text is one prompt, two ids are two. Where one of the two has no id (an agent that also runs
 * another one's hooks), the same text within ten seconds is one. */
static int is_same_prompt(struct step *t, const uint8_t *hash)
{
	str id = str_empty(t->event.prompt_id) ? STR_NONE : t->event.prompt_id;
	int64_t key;
	int got = store_number(t->store, &key,
		"SELECT key FROM batches WHERE session = ?1 AND prompt_hash = ?3 AND (prompt_id = ?2 OR "
		"  ((prompt_id IS NULL OR ?2 IS NULL) AND ord >= ?4 - ?5)) ORDER BY prompt_id IS ?2 DESC LIMIT 1",
		"isbii", t->session.key, id, (const void *)hash, (size_t)SHA256_BYTES, t->record.order_us,
		(int64_t)SAME_WITHIN_US);

	if (got != 1)
		return got;
	/* The one with the id says more. */
	got = store_do(t->store, "UPDATE batches SET prompt_id = coalesce(prompt_id, ?2) WHERE key = ?1", "is", key,
		id);
	return got < 0 ? got : 1;
}

/* What the session is about, if the user wrote it. */
static int note_prompt(struct step *t, const char *source)
{
	str prompt = t->event.prompt;

	if (strcmp(source, "user") != 0)
		return 0;
	return store_do(t->store, "UPDATE sessions SET last_user = ?2, title = coalesce(title, ?3) WHERE key = ?1",
		"iss", t->session.key, summary_cut(t->arena, prompt, MESSAGE_MAX),
		summary_cut(t->arena, str_trim(prompt), 80));
}

static int begin_batch(struct step *t, const uint8_t *hash, int64_t *ret)
{
	str prompt = t->event.prompt, body;
	const struct source *found = find_source(prompt);
	const char *source = found->name;
	int r = batch_close(t, "prompt");

	t->session.prompts++;
	if (r == 0)
		r = open_batch(t, source, prompt, hash, ret);
	if (r == 0)
		r = note_prompt(t, source);
	body = found->body_min ? str_trim(str_from(prompt, strlen(found->prefix))) : STR_NONE;
	if (r == 0 && found->body_min && body.n >= found->body_min)
		r = plan_on_prompt(t, *ret, body);
	return r;
}

int batch_on_prompt(struct step *t)
{
	uint8_t hash[SHA256_BYTES];
	int64_t batch, window;
	int r;

	/* A prompt to a subagent is a call of its parent, not a prompt of the session. */
	if (!str_empty(t->event.agent_id))
		return window_of(t, &window);
	hash_prompt(t->event.prompt, hash);
	r = is_same_prompt(t, hash);
	if (r != 0) {
		t->same_as = r == 1;
		return r < 0 ? r : 0;
	}
	return begin_batch(t, hash, &batch);
}

/* -- stops ------------------------------------------------------------------------------------- */

/* 1: found; 0: none has that id, or the event names none. */
static int find_by_prompt_id(struct step *t, int64_t *ret)
{
	if (str_empty(t->event.prompt_id))
		return 0;
	return store_number(t->store, ret,
		"SELECT key FROM batches WHERE session = ?1 AND prompt_id = ?2 ORDER BY ord DESC LIMIT 1", "is",
		t->session.key, t->event.prompt_id);
}

int batch_of_stop(struct step *t, int64_t *ret)
{
	int r;

	*ret = 0;
	r = find_by_prompt_id(t, ret);
	if (!*ret)
		*ret = t->session.batch ? t->session.batch : t->session.last_batch;
	return r < 0 ? r : 0;
}

static int answer(struct step *t, int64_t batch)
{
	bool failed = t->record.kind == EVENT_STOP_FAILURE;
	str response = summary_cut(t->arena, t->event.message, RESPONSE_MAX);
	int64_t stopped = 0, late = 0;
	int r;

	/* One Stop per batch, unless the batch went on after it (which reopens it), the first brought no
	 * response (then this one is the late back-fill), or this one brings another: the agent answered once
	 * more, because a Stop hook or a teammate made it continue. */
	r = store_number(t->store, &stopped,
		"SELECT closed_by IN ('stop', 'failure') AND (?2 IS NULL OR response IS ?2) "
		"FROM batches WHERE key = ?1",
		"is", batch, str_empty(response) ? STR_NONE : response);
	if (r < 0)
		return r;
	if (stopped) {
		t->same_as = 1;
		return 0;
	}
	late = batch != t->session.batch;
	r = store_do(t->store,
		"UPDATE batches SET status = 'completed', closed_by = CASE WHEN ?5 AND closed_by IS NOT NULL "
		"THEN closed_by ELSE ?2 END, "
		"  ended_at = max(coalesce(ended_at, 0), ?3), last_at = max(last_at, ?3), response = "
		"coalesce(?4, response), "
		"  late = late OR (?5 AND ?4 IS NOT NULL AND response IS NULL) WHERE key = ?1",
		"isisi", batch, failed ? STR("failure") : STR("stop"), t->record.at_us,
		str_empty(response) ? STR_NONE : response, late);
	if (batch == t->session.batch)
		t->session.batch = 0;
	if (r == 0)
		r = order_jobs(t, batch);
	if (r == 0)
		r = plan_on_answer(t, batch);
	if (r == 0 && !str_empty(response))
		r = store_do(t->store, "UPDATE sessions SET last_assistant = ?2 WHERE key = ?1", "is", t->session.key,
			summary_cut(t->arena, response, MESSAGE_MAX));
	return r;
}

/* Gemini sends what a hook said at the end of a turn as if the user had written it. The end of that turn reveals it:
 * it names the prompt that began the turn. */
static int note_forced(struct step *t, int64_t batch)
{
	uint8_t hash[SHA256_BYTES];
	int r;

	if (!t->event.stop_hook_active || str_empty(t->event.prompt))
		return 0;
	hash_prompt(t->event.prompt, hash);
	r = store_do(t->store,
		"UPDATE batches SET source = 'system' WHERE key = ?1 AND source = 'user' AND prompt_hash <> ?2", "ib",
		batch, (const void *)hash, (size_t)SHA256_BYTES);
	if (r < 0 || !store_changes(t->store))
		return r;
	return note_prompt(t, source_of(t->event.prompt));
}

int batch_on_stop(struct step *t)
{
	int64_t batch;
	int r = batch_of_stop(t, &batch);

	if (r < 0 || !batch)
		return r;
	r = note_forced(t, batch);
	return r < 0 ? r : answer(t, batch);
}

/* A turn of which only tools were seen gets its prompt after all. */
static int name_continuation(struct step *t, int64_t batch)
{
	const char *source = source_of(t->event.prompt);
	uint8_t hash[SHA256_BYTES];
	int r;

	if (str_empty(t->event.prompt))
		return 0;
	hash_prompt(t->event.prompt, hash);
	r = store_do(t->store,
		"UPDATE batches SET prompt = ?2, source = ?3, length = ?4, number = ?5, prompt_hash = ?6 "
		"WHERE key = ?1 AND prompt_hash IS NULL AND prompt = '" CONTINUATION "'",
		"issiib", batch, summary_cut(t->arena, t->event.prompt, PROMPT_MAX), str_of(source),
		(int64_t)summary_length(t->event.prompt), t->session.prompts + 1, (const void *)hash, sizeof hash);
	if (r < 0 || !store_changes(t->store))
		return r;
	t->session.prompts++;
	return note_prompt(t, source);
}

/* A turn reported outside the hooks, as a whole and at its end. It repeats what the hooks reported; without them (if
 * the user has not trusted them, say) this is all there is. */
int batch_on_turn(struct step *t)
{
	uint8_t hash[SHA256_BYTES];
	int64_t batch = 0;
	int r;

	if (!str_empty(t->record.agent_id))
		return window_on_subagent_turn(t);
	r = str_empty(t->event.prompt_id) ? batch_of_stop(t, &batch) : find_by_prompt_id(t, &batch);
	if (r < 0)
		return r;
	t->retells = batch != 0;
	if (batch) {
		r = name_continuation(t, batch);
	} else {
		if (str_empty(t->event.prompt) && str_empty(t->event.message))
			return 0;
		hash_prompt(t->event.prompt, hash);
		r = begin_batch(t, hash, &batch);
	}
	return r < 0 ? r : answer(t, batch);
}

int batch_on_interrupt(struct step *t)
{
	int64_t batch;
	int r = batch_of_stop(t, &batch);

	return r < 0 || batch != t->session.batch ? r : batch_close(t, "interrupt");
}

/* -- tools ------------------------------------------------------------------------------------- */

/* Something is about to run, so the prompt is not answered after all (a Stop hook sent the agent on, or
 * the janitor was early). A subagent's call does not mean that: it may keep working in the background. */
static bool goes_on(const struct step *t)
{
	return t->record.kind == EVENT_PRE_TOOL_USE && str_empty(t->event.agent_id);
}

static int reopen(struct step *t, int64_t batch)
{
	t->session.batch = batch;
	return store_do(t->store,
		"UPDATE batches SET status = 'active', closed_by = NULL, ended_at = NULL WHERE key = ?1", "i", batch);
}

static int batch_by_prompt_id(struct step *t, int64_t *ret)
{
	int64_t closed = 0;
	int r = find_by_prompt_id(t, ret);

	if (r != 1)
		return r;
	/* Only the last batch can continue; what comes late for an earlier one is just added to it. */
	if (!goes_on(t) || *ret != t->session.last_batch || t->session.batch)
		return 1;
	r = store_number(t->store, &closed, "SELECT status = 'completed' FROM batches WHERE key = ?1", "i", *ret);
	if (r == 1 && closed)
		r = reopen(t, *ret);
	return r < 0 ? r : 1;
}

int batch_of(struct step *t, int64_t *ret)
{
	int64_t recent = 0;
	int r;

	*ret = t->late_batch;
	if (*ret)
		return 0;
	r = batch_by_prompt_id(t, ret);
	if (r != 0)
		return r < 0 ? r : 0;
	*ret = t->session.batch;
	if (*ret)
		return 0;
	if (t->session.last_batch) {
		r = store_number(t->store, &recent,
			"SELECT coalesce(ended_at, last_at) >= ?2 - ?3 FROM batches WHERE key = ?1", "iii",
			t->session.last_batch, t->record.at_us, (int64_t)REOPEN_WITHIN_US);
		if (r < 0)
			return r;
		if (recent) {
			*ret = t->session.last_batch;
			return goes_on(t) ? reopen(t, *ret) : 0;
		}
	}
	return open_batch(t, "system", STR(CONTINUATION), NULL, ret);
}

int batch_touch(struct step *t, int64_t batch, bool grows)
{
	return store_do(t->store,
		"UPDATE batches SET last_at = max(last_at, ?2), activities = activities + ?3 WHERE key = ?1", "iii",
		batch, t->record.at_us, (int64_t)grows);
}
