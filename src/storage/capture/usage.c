/* Tokens: one row per answer of a model. */
#include "capture/internal.h"
#include "otlp/otlp.h"

static int64_t tokens(const struct step *t, const char *name)
{
	int64_t n = 0;

	return json_int(json_get(t->event.payload, str_of(name)), &n) && n > 0 ? n : 0;
}

/* Telemetry and the transcript report the same tokens under different ids. The transcript's replace the others for the
 * whole session, whichever come first. */
static int is_known_better(struct step *t, str id, int64_t *ret)
{
	if (str_starts(id, STR(OTLP_MESSAGE)))
		return store_number(t->store, ret,
			"SELECT 1 FROM usage WHERE session = ?1 AND id NOT GLOB '" OTLP_MESSAGE "*' LIMIT 1", "i",
			t->session.key);
	return store_do(t->store, "DELETE FROM usage WHERE session = ?1 AND id GLOB '" OTLP_MESSAGE "*'", "i",
		t->session.key);
}

/* An answer that is still being written is reported with its cost so far; the last numbers are the largest. */
int usage_on_event(struct step *t)
{
	str id = json_str(json_get(t->event.payload, STR("message_id")));
	int64_t elsewhere = 0, batch = 0;
	int r;

	if (str_empty(id))
		return 0;
	r = is_known_better(t, id, &elsewhere);
	if (r < 0 || elsewhere)
		return r < 0 ? r : 0;
	/* Resuming copies lines into a new session with some agents: paid once. */
	r = store_number(t->store, &elsewhere, "SELECT 1 FROM usage WHERE id = ?1 AND session <> ?2 LIMIT 1", "si", id,
		t->session.key);
	if (r < 0 || elsewhere)
		return r < 0 ? r : 0;
	/* The prompt before it, whether or not later ones have come meanwhile. */
	r = store_number(t->store, &batch,
		"SELECT key FROM batches WHERE session = ?1 AND ord <= ?2 ORDER BY ord DESC "
		"LIMIT 1",
		"ii", t->session.key, t->record.order_us);
	if (r < 0)
		return r;
	return store_do(t->store,
		"INSERT INTO usage(session, id, at, batch, agent_id, model, input, cache_read, cache_write, output, "
		"reasoning) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) "
		"ON CONFLICT(session, id) DO UPDATE SET model = coalesce(?6, model), input = max(input, ?7), "
		"  cache_read = max(cache_read, ?8), cache_write = max(cache_write, ?9), output = max(output, ?10), "
		"  reasoning = max(reasoning, ?11)",
		"isikssiiiii", t->session.key, id, t->record.at_us, batch, t->event.agent_id,
		json_str(json_get(t->event.payload, STR("model"))), tokens(t, "input_tokens"),
		tokens(t, "cache_read_tokens"), tokens(t, "cache_write_tokens"), tokens(t, "output_tokens"),
		tokens(t, "reasoning_tokens"));
}
