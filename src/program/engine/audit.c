/* Every decision is an event of hookd's own: redacted, journaled and folded like those of agents, so it is as durable
 * as they are. An event without a decision leaves no trace here, and no row claims a denial that the agent has no way
 * to receive. */
#include "engine/turn.h"

enum stage_result stage_audit(struct turn *t)
{
	enum verdict_action heard = agent_hears(t->agent, &t->event, &t->verdict);
	str payload = verdict_audit(&t->verdict, &t->event, heard, &t->arena);
	struct record record;
	struct event e;

	if (!str_is_set(payload))
		return STAGE_DONE;
	event_own(EVENT_DECISION, &t->event, payload, &t->arena, &e);
	/* Decisions of a muted session are stored without their subject, like everything else of it. */
	redact(t->engine->redactor, &t->arena, &e, t->record.marks & EVENT_PRIVATE ? REDACT_MUTED : 0, &record, NULL);
	if (turn_journal(t->engine, &record) == 0)
		t->engine->audit_waits = true;
	return STAGE_DONE;
}
