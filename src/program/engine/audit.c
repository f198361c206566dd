/* Every decision is an event of hookd's own: redacted, journaled and folded like those of agents, so it survives what
 * they survive. An event about which nobody had anything to say leaves no trace here. */
#include "base/clock.h"
#include "engine/turn.h"

void audit_turn(struct turn *t)
{
	struct wire_hook hook = { .agent = t->hook.agent, .event = STR("Decision") };
	struct record record;
	struct event e;

	if (t->audited)
		return;
	hook.payload = verdict_audit(&t->verdict, &t->event, &t->arena);
	if (!str_is_set(hook.payload))
		return;
	t->audited = true;
	hook.id = ulid_make();
	hook.at_ms = clock_wall_us() / USEC_PER_MSEC;
	agent_parse(t->agent, &hook, &t->arena, &e);
	e.kind = EVENT_DECISION; /* hookd's own: no agent's event is called so */
	/* A muted session's decisions are kept without what they were about, like everything else of it. */
	redact(t->engine->redactor, &t->arena, &e, t->record.marks & EVENT_PRIVATE ? REDACT_MUTED : 0, &record, NULL);
	if (journal_add(t->engine->config.journal, &record) == 0)
		t->engine->audit_waits = true;
}
