#include "base/clock.h"
#include "event/event.h"

static void set_payload(struct event *e, str payload, struct arena *a)
{
	struct json *root = NULL;

	e->raw = payload;
	if (json_parse(a, payload, 0, &root, NULL) < 0)
		e->marks |= EVENT_NOT_JSON;
	e->payload = root;
}

void event_own(enum event_kind kind, const struct event *about, str payload, struct arena *a, struct event *ret)
{
	*ret = (struct event){
		.id = ulid_derive(&about->id, str_of(event_kinds[kind].name)),
		.at_us = clock_wall_us(),
		.kind = kind,
		.agent = about->agent,
		.native = str_of(event_kinds[kind].name),
		.session = about->session,
		.agent_id = about->agent_id,
		.tool_name = about->tool_name,
		.tool_use_id = about->tool_use_id,
	};
	set_payload(ret, payload, a);
}

void event_own_alone(enum event_kind kind, const struct ulid *id, str payload, struct arena *a, struct event *ret)
{
	*ret = (struct event){
		.id = *id,
		.at_us = clock_wall_us(),
		.kind = kind,
		.agent = STR("hookd"),
		.native = str_of(event_kinds[kind].name),
	};
	set_payload(ret, payload, a);
}
