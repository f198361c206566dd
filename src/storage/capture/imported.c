/* History that is imported alongside live events: what is already known is not stored a second time.
 *
 * An imported record that only repeats a live one is left out altogether. That keeps the store small where hookd has
 * been running for months, and it keeps most imports in order, so that nothing has to be refolded. What arrives live
 * after the import is subject to the ordinary rules for duplicates. */
#include "base/sha256.h"
#include "capture/internal.h"

/* Clocks of a hook and of the line about the same thing: the hook runs before, the line is written after. */
enum { TOLD_WITHIN_US = 30 * 1000000 };

static int knows_start(struct step *t, int64_t *ret)
{
	/* Telemetry has a start for each thread; that of a subagent has been reported as such. */
	if (!str_empty(t->event.agent_id)) {
		*ret = 1;
		return 1;
	}
	return store_number(t->store, ret,
		"SELECT 1 FROM windows WHERE session = ?1 AND agent_id IS NULL AND "
		"(?2 IS NOT 'compact' OR (source IS 'compact' AND ord BETWEEN ?3 - ?4 AND ?3 + ?4)) LIMIT 1",
		"isii", t->session.key, t->event.source, t->record.order_us, (int64_t)TOLD_WITHIN_US);
}

/* Two ids are two prompts, whatever they say. One id may have several texts over time; where one side has no id, text
 * and time decide. */
static int knows_prompt(struct step *t, int64_t *ret)
{
	uint8_t hash[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, t->event.prompt.p, t->event.prompt.n);
	sha256_end(&s, hash);
	return store_number(t->store, ret,
		"SELECT 1 FROM batches WHERE session = ?1 AND prompt_hash IS NOT NULL AND "
		"((prompt_id = ?2 AND (prompt_hash = ?3 OR ord BETWEEN ?4 - ?5 AND ?4 + ?5)) OR "
		" ((prompt_id IS NULL OR ?2 IS NULL) AND prompt_hash = ?3 AND ord BETWEEN ?4 - ?5 AND ?4 + ?5)) "
		"LIMIT 1",
		"isbii", t->session.key, str_empty(t->event.prompt_id) ? STR_NONE : t->event.prompt_id, hash,
		sizeof hash, t->record.order_us, (int64_t)TOLD_WITHIN_US);
}

/* Hooks may name calls where the log has other names for them: what was called, with what, and when must do. */
static int knows_named_call(struct step *t, int64_t *ret)
{
	bool before = t->record.kind == EVENT_PRE_TOOL_USE;

	return store_number(t->store, ret,
		"SELECT 1 FROM events e JOIN activities a ON a.session = e.session AND a.same = e.tool_use_id "
		"WHERE e.session = ?1 AND e.ord BETWEEN ?2 - ?3 AND ?2 + ?3 AND NOT e.marks & ?4 AND "
		"(e.kind = 'PreToolUse') = ?5 AND a.kind = 'tool' AND a.tool = ?6 AND "
		"a.input ->> '$.command' IS ?7 AND a.input ->> '$.file_path' IS ?8 LIMIT 1",
		"iiiiisss", t->session.key, t->record.order_us, (int64_t)TOLD_WITHIN_US, (int64_t)EVENT_IMPORTED,
		(int64_t)before, t->event.tool_name, json_str(json_get(t->event.tool_input, STR("command"))),
		json_str(json_get(t->event.tool_input, STR("file_path"))));
}

static int knows_call(struct step *t, int64_t *ret)
{
	bool before = t->record.kind == EVENT_PRE_TOOL_USE;
	str same = t->event.tool_use_id, from, to;
	int got;

	if (!str_empty(same))
		return store_number(t->store, ret,
			"SELECT CASE WHEN ?3 THEN started_at ELSE ended_at END IS NOT NULL FROM activities "
			"WHERE session = ?1 AND same = ?2",
			"isi", t->session.key, same, (int64_t)before);
	if (!activity_pair_range(t, &from, &to))
		return 0;
	got = store_number(t->store, ret,
		"SELECT 1 FROM activities WHERE session = ?1 AND same >= ?2 AND same < ?3 AND "
		"CASE WHEN ?4 THEN started_at ELSE ended_at END BETWEEN ?5 - ?6 AND ?5 + ?6 LIMIT 1",
		"issiii", t->session.key, from, to, (int64_t)before, t->record.at_us, (int64_t)TOLD_WITHIN_US);
	return got != 0 ? got : knows_named_call(t, ret);
}

/* The prompt that ended has an answer. */
static int is_answered(struct step *t, int64_t *ret)
{
	int got = str_empty(t->event.prompt_id)
		? 0
		: store_number(t->store, ret,
			  "SELECT response IS NOT NULL FROM batches WHERE session = ?1 AND prompt_id = ?2 "
			  "ORDER BY ord DESC LIMIT 1",
			  "is", t->session.key, t->event.prompt_id);

	if (got != 0)
		return got;
	return store_number(t->store, ret,
		"SELECT response IS NOT NULL FROM batches WHERE session = ?1 AND ord <= ?2 ORDER BY ord DESC LIMIT 1",
		"ii", t->session.key, t->record.order_us);
}

/* A hook reported the end of this turn: its answer is the answer. If it gave none, the log's is used. */
static int knows_stop(struct step *t, int64_t *ret)
{
	int64_t answered = 0;
	int got = is_answered(t, &answered);

	if (got < 0 || (!answered && !str_empty(t->event.message)))
		return got < 0 ? got : 0;
	return store_number(t->store, ret,
		"SELECT 1 FROM events WHERE session = ?1 AND ord BETWEEN ?2 - ?3 AND ?2 + ?3 AND NOT marks & ?4 AND "
		"kind IN ('Stop', 'StopFailure', 'TurnComplete') LIMIT 1",
		"iiii", t->session.key, t->record.order_us, (int64_t)TOLD_WITHIN_US, (int64_t)EVENT_IMPORTED);
}

static int knows_subagent(struct step *t, int64_t *ret)
{
	return store_number(t->store, ret,
		"SELECT ?3 OR message IS NOT NULL FROM windows WHERE session = ?1 AND agent_id = ?2 "
		"ORDER BY ord DESC LIMIT 1",
		"isi", t->session.key, t->event.agent_id, (int64_t)(t->record.kind == EVENT_SUBAGENT_START));
}

static int knows_compaction(struct step *t, int64_t *ret)
{
	return store_number(t->store, ret,
		"SELECT 1 FROM activities WHERE session = ?1 AND kind = 'PostCompact' AND "
		"ord BETWEEN ?2 - ?3 AND ?2 + ?3 LIMIT 1",
		"iii", t->session.key, t->record.order_us, (int64_t)TOLD_WITHIN_US);
}

static int (*const told[EVENT_KIND_MAX])(struct step *t, int64_t *ret) = {
	[EVENT_SESSION_START] = knows_start,
	[EVENT_USER_PROMPT_SUBMIT] = knows_prompt,
	[EVENT_PRE_TOOL_USE] = knows_call,
	[EVENT_POST_TOOL_USE] = knows_call,
	[EVENT_POST_TOOL_USE_FAILURE] = knows_call,
	[EVENT_STOP] = knows_stop,
	[EVENT_SUBAGENT_START] = knows_subagent,
	[EVENT_SUBAGENT_STOP] = knows_subagent,
	[EVENT_POST_COMPACT] = knows_compaction,
};

int imported_is_told(struct step *t)
{
	int64_t yes = 0;
	int r = t->session.fresh || !told[t->record.kind] ? 0 : told[t->record.kind](t, &yes);

	return r < 0 ? r : yes != 0;
}
