/* Payload bytes through every adapter: parsing never fails, and whatever verdict follows, the answer is one JSON
 * object with the right name in it, an exit code with a reason, or nothing; and what was refused stays refused. The
 * first byte chooses the event: a canonical one, one of the agent's own, or none, which leaves it to the payload. */
#include <stdint.h>
#include <stdlib.h>

#include "agents/agents.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "guard/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_answer(const struct agent *agent, const struct event *e, const struct verdict *v, size_t room)
{
	struct buf out = BUF_INIT(room);
	struct answer answer = { .out = &out };
	struct json *root = NULL, *specific;
	struct arena a;

	arena_init(&a);
	agent_render(agent, e, v, &a, &answer);
	/* JSON, or an exit code with a reason beside it; never both. */
	check(answer.exit_code == 0 ? answer.err.n == 0 : answer.exit_code == 2 && answer.err.n && !out.len);
	check(!out.full && utf8_valid(buf_str(&out)) && utf8_valid(answer.err) && answer.err.n < LIMIT_REPLY);
	check(out.len || answer.exit_code || room < LIMIT_REPLY || e->kind != EVENT_PRE_TOOL_USE ||
		v->action < VERDICT_ASK || !(agent_takes(agent, e) & TAKES_DENY));
	if (out.len) {
		check(json_parse(&a, buf_str(&out), 0, &root, NULL) == 0 && root->type == JSON_OBJECT && root->count);
		specific = json_get(root, STR("hookSpecificOutput"));
		check(!specific || specific->count);
		/* Gemini has no such member. */
		check(!specific || strcmp(agent->name, "gemini") == 0 ||
			(specific->count > 1 &&
				str_eq(json_str(json_get(specific, STR("hookEventName"))),
					str_of(event_kinds[e->kind].name))));
	}
	arena_release(&a);
	buf_release(&out);
}

/* Verdicts that carry the payload's own text: whatever an agent said may come back to it. */
static void check_answers(const struct agent *agent, const struct event *e, struct arena *a)
{
	str text = str_is_set(e->prompt) ? e->prompt : e->raw;
	struct verdict guarded = { 0 },
		       rows[] = {
			       { .action = VERDICT_DENY, .reason = text },
			       { .action = VERDICT_ASK, .reason = STR("?"), .system_message = text },
			       { .action = VERDICT_ALLOW, .updated_input = e->tool_input },
			       { .continue_turn = true, .reason = text, .end_turn = true },
		       };

	guard_decide(NULL, &(struct guard_context){ .cwd = e->cwd }, e, a, &guarded, NULL);
	check((e->kind == EVENT_PRE_TOOL_USE && e->marks & EVENT_NOT_JSON) ? guarded.action >= VERDICT_ASK : true);
	check_answer(agent, e, &guarded, LIMIT_REPLY);
	for (size_t i = 0; i < countof(rows); i++) {
		verdict_add_context(&rows[i], a, STR("t"), text);
		check_answer(agent, e, &rows[i], LIMIT_REPLY);
		check_answer(agent, e, &rows[i], 512);
	}
}

/* The agent's own names follow the canonical ones. */
static str event_name(const struct agent *agent, uint8_t choice)
{
	size_t own = choice - EVENT_KIND_MAX;

	if (choice < EVENT_KIND_MAX)
		return str_of(event_kinds[choice].name);
	for (const struct agent_event *row = agent->events; row && row->native; row++)
		if (own-- == 0)
			return str_of(row->native);
	return STR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;

	if (size == 0)
		return 0;
	arena_init(&a);
	for (size_t i = 0; agents[i]; i++) {
		struct wire_hook hook = {
			.agent = str_of(agents[i]->name),
			.event = event_name(agents[i], data[0]),
			.payload = str_n((const char *)data + 1, size - 1),
		};
		struct event e;

		agent_parse(agents[i], &hook, &a, &e);
		check(e.kind < EVENT_KIND_MAX && e.tool_class < TOOL_CLASS_MAX);
		check(!!e.payload == !(e.marks & EVENT_NOT_JSON));
		check(!str_empty(e.session) || e.marks & EVENT_INCOMPLETE);
		check_answers(agents[i], &e, &a);
		arena_reset(&a);
	}
	arena_release(&a);
	return 0;
}
