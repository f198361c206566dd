/* The jobs `consult` and `retell`: what a model has to say about a turn, and about a session. Each is a question that a
 * worker writes and an answer that a worker reads. What a model says has a trust class of its own, passes the same
 * check as everything that is not the user's, and never replaces what rules have found. */
#include <errno.h>
#include <stdio.h>

#include "engine/learn_internal.h"
#include "llm/llm.h"

enum {
	FRESH_S = 2 * 86400, /* nobody pays for history that was imported, or is folded again after years */
	WORDS_LEAST = 400,   /* bytes of an answer that are worth a question even without calls */
};

/* -- whether to ask ---------------------------------------------------------------------------- */

bool model_is_wanted(const struct learner *x)
{
	return x->config.llm && llm_is_on(x->config.llm) && config_number(x->config.config, OPTION_EXTRACT_MODEL);
}

static bool is_fresh(int64_t at_us)
{
	return at_us > clock_wall_us() - (int64_t)FRESH_S * USEC_PER_SEC;
}

void model_order_turn(struct lesson *l, const struct turn_row *row, const struct turn_sums *sums)
{
	bool told = str_eq(row->source, STR("user")) || str_eq(row->source, STR("plan"));

	if (told && !row->excluded && model_is_wanted(l->learner) && is_fresh(row->ended_us) &&
		(sums->calls >= l->class->calls_least || row->turn.response.n >= WORDS_LEAST) &&
		!llm_is_own(l->learner->config.llm, row->turn.prompt))
		l->orders = JOB_CONSULT;
}

int model_order_session(struct lesson *l, struct store *s, int64_t session)
{
	bool foreign = false;
	int64_t worth = 0;
	int r;

	if (!model_is_wanted(l->learner))
		return 0;
	r = store_number(s, &worth,
		"SELECT last_at > ?2 AND (prompts > 1 OR tools > 2) AND project IS NOT NULL FROM sessions WHERE key = "
		"?1",
		"ii", session, clock_wall_us() - (int64_t)FRESH_S * USEC_PER_SEC);
	/* What was read elsewhere may speak through a model as well, and summaries are passed on. */
	if (r == 1 && worth)
		r = extractor_is_foreign(l->learner->extractor, s, session, &foreign);
	if (r >= 0 && worth && !foreign)
		l->orders = JOB_RETELL;
	return MIN(r, 0);
}

/* -- a turn ------------------------------------------------------------------------------------ */

int model_ask_turn(struct lesson *l, struct store *s)
{
	struct turn_row row;
	struct turn_sums sums;
	int r = lesson_read_turn(l, s, &row);

	if (r != 1 || row.active || row.excluded)
		return MIN(r, 0);
	r = memory_classify(s, row.turn.batch, &sums, &l->class);
	if (r == 0)
		r = memory_ask_turn(s, &row.turn, l->class, llm_context_tokens(l->learner->config.llm), &l->arena,
			&l->question);
	l->class = NULL;
	return r;
}

static int take_note(struct lesson *l, struct store *s, const struct turn_row *row, const struct model_note *m,
	bool foreign)
{
	const char *why = extractor_suspects(l->learner->extractor, m->text);
	char batch[ULID_TEXT + 1];
	struct memory_note n = { .uid = ulid_derive(&l->batch,
					 arena_strf(&l->arena, "model " STR_FMT, STR_ARG(m->text))),
		.dir = row->turn.dir,
		.type = str_of(m->type->name),
		.text = m->text,
		.trust = foreign ? STR("web") : STR("model"),
		.origin = STR("llm"),
		.session = row->turn.session,
		.agent = row->turn.agent,
		.status = why ? STR("quarantined") : STR_NONE,
		.reason = why ? str_of(why) : STR_NONE,
		.importance = m->importance,
		.created_us = row->turn.at_us };
	int r = str_is_set(m->file) ? memory_find_file(s, row->turn.batch, m->file, &l->arena, &n.file) : 0;

	ulid_format(&l->batch, batch);
	n.batch = arena_str(&l->arena, str_of(batch));
	if (r >= 0)
		lesson_add_note(&n, l);
	return MIN(r, 0);
}

int model_read_turn(struct lesson *l, struct store *s, str answer)
{
	struct model_turn told;
	struct turn_row row;
	bool foreign = false;
	int r = memory_read_turn(answer, &l->arena, &told);

	if (r < 0)
		return lesson_reject(l, "the model's answer about a turn is not of the form that was asked for");
	r = lesson_read_turn(l, s, &row);
	if (r != 1 || row.excluded)
		return MIN(r, 0);
	l->store = s;
	l->project = row.project;
	l->class = told.class;
	l->source = "model";
	r = memory_is_foreign(l->learner->extractor, s, row.turn.batch, &foreign);
	for (size_t i = 0; i < told.n && r == 0; i++)
		r = take_note(l, s, &row, &told.notes[i], foreign);
	return r;
}

/* -- a session --------------------------------------------------------------------------------- */

int model_ask_session(struct lesson *l, struct store *s)
{
	struct session_summary known;
	int r = memory_summarize(l->learner->extractor, s, l->job.session, &l->arena, &known);

	if (r < 0 || str_empty(known.title))
		return r;
	return memory_ask_session(s, l->job.session, &known, llm_context_tokens(l->learner->config.llm), &l->arena,
		&l->question);
}

int model_read_session(struct lesson *l, struct store *s, str answer)
{
	const struct extractor *x = l->learner->extractor;
	int64_t known = 0;
	int r;

	l->summary = arena_new(&l->arena, struct session_summary);
	r = memory_read_session(answer, &l->arena, l->summary);
	if (r < 0)
		return lesson_reject(l, "the model's summary is not of the form that was asked for");
	if (extractor_suspects(x, l->summary->title) || extractor_suspects(x, l->summary->text))
		return lesson_reject(l, "the model's summary reads like an instruction");
	l->source = "model";
	r = store_number(s, &known, "SELECT 1 FROM sessions WHERE key = ?1", "i", l->job.session);
	return MIN(r, 0);
}
