/* What was added to conversations and why, and what would be. */
#include <errno.h>

#include "api/ops.h"
#include "context/context.h"

/* -- why --------------------------------------------------------------------------------------- */

int op_why(struct op_call *call)
{
	static const struct op_column columns[] = { { "at_us", 'i' }, { "event", 's' }, { "session", 's' },
		{ "agent", 's' }, { "memory", 's' }, { "rank", 'i' }, { "score_milli", 'i' },
		{ "confidence_milli", 'i' }, { "tokens", 'i' }, { "type", 's' }, { "text", 's' }, { "file", 's' },
		{ "used_us", 'i' }, { "status", 's' }, { "prompt", 's' }, { "code", 's' }, { 0 } };
	int64_t session = op_int(call, "session");
	int r;

	jw_object(call->w);
	r = op_write_list(call, "injections",
		store_ask(call->store,
			"SELECT i.at, i.kind, s.native_id, s.agent, iif(i.place IS NULL, ulid_text(i.item), NULL), "
			"i.rank, "
			"CAST(i.score * 1000 AS INTEGER), CAST(i.confidence * 1000 AS INTEGER), i.tokens, m.type, "
			"m.text, "
			"m.file, i.used_at, m.status, "
			"(SELECT substr(b.prompt, 1, 200) FROM batches b WHERE b.session = i.session AND b.ord <= "
			"i.ord "
			"ORDER BY b.ord DESC LIMIT 1), i.place "
			"FROM injections i JOIN sessions s ON s.key = i.session LEFT JOIN memories m ON m.uid = i.item "
			"WHERE (?1 IS NULL OR i.session = ?1) ORDER BY i.ord DESC, i.rank LIMIT ?2",
			"ki", session, op_int(call, "limit")),
		columns);
	jw_end_object(call->w);
	return r;
}

/* -- preview ----------------------------------------------------------------------------------- */

const struct op_column op_context_result[] = { { "event", 's' }, { "text", 's' }, { "tokens", 'i' },
	{ "items", 'l',
		(const struct op_column[]){ { "memory", 's' }, { "code", 's' }, { "confidence_milli", 'i' },
			{ "tokens", 'i' }, { 0 } } },
	{ 0 } };

static void write_items(struct op_call *call, const struct context_reply *reply)
{
	char id[ULID_TEXT + 1];

	jw_key(call->w, "items");
	jw_array(call->w);
	for (size_t i = 0; i < reply->n; i++) {
		ulid_format(&reply->items[i].uid, id);
		jw_object(call->w);
		if (str_is_set(reply->items[i].place))
			jw_field_str(call->w, "code", reply->items[i].place);
		else
			jw_field_str(call->w, "memory", str_of(id));
		jw_field_int(call->w, "confidence_milli", (int64_t)(reply->items[i].confidence * 1000));
		jw_field_int(call->w, "tokens", reply->items[i].tokens);
		jw_end_object(call->w);
	}
	jw_end_array(call->w);
}

static int answer(struct op_call *call, const struct context_ask *ask)
{
	struct context_reply reply;
	int r = context_answer(call->ctx->context, ask, call->arena, &reply);

	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_str(call->w, "event", str_of(event_kinds[ask->kind].name));
	jw_field_str(call->w, "text", str_is_set(reply.text) ? reply.text : STR(""));
	jw_field_int(call->w, "tokens", context_tokens(reply.text.n));
	write_items(call, &reply);
	jw_end_object(call->w);
	return 0;
}

/* The session of a key, as context knows it. */
static int name_session(struct op_call *call, int64_t key, struct context_ask *ask)
{
	struct query *q = store_ask(call->store, "SELECT native_id, agent FROM sessions WHERE key = ?1", "i", key);
	int got = query_step(q);

	if (got == 1) {
		ask->session = arena_str(call->arena, query_str(q, 0));
		ask->agent = arena_str(call->arena, query_str(q, 1));
		ask->recollect = true;
	}
	query_reset(q);
	return MIN(got, 0);
}

int op_preview(struct op_call *call)
{
	str name = op_text(call, "event");
	int64_t project;
	int r;
	struct context_ask ask = { .kind = str_empty(name) ? EVENT_USER_PROMPT_SUBMIT : event_kind_by_name(name),
		.agent = op_text(call, "agent"),
		.session = STR("preview"),
		.cwd = op_text(call, "project"),
		.source = op_text(call, "source"),
		.prompt = op_text(call, "prompt"),
		.file = op_text(call, "file") };
	char shown[NAME_SHOWN];

	if (ask.kind == EVENT_UNKNOWN)
		return err_set(call->err, -EINVAL,
			"'%s' is not an event; nothing but SessionStart, UserPromptSubmit and PostToolUse gets context",
			name_shown(name, shown));
	r = str_empty(ask.cwd) ? 1 : memory_project_find(call->store, ask.cwd, &project);
	if (r == 0 && ask.cwd.p[0] != '/')
		return err_set(call->err, -ENOENT, "there is no project '%s'; list them with: hookd project list",
			name_shown(ask.cwd, shown));
	if (r >= 0 && op_has(call, "session"))
		r = name_session(call, op_int(call, "session"), &ask);
	return r < 0 ? r : answer(call, &ask);
}

/* What an agent asks for itself: like a prompt that says what it is about to do. */
int op_context(struct op_call *call)
{
	return answer(call,
		&(struct context_ask){ .kind = EVENT_USER_PROMPT_SUBMIT,
			.asked_for = true,
			.session = STR("context"),
			.cwd = op_text(call, "project"),
			.prompt = op_text(call, "task") });
}
