#include "base/clock.h"
#include "event/event.h"

void event_own(enum event_kind kind, const struct event *about, str payload, struct arena *a, struct event *ret)
{
	struct json *root = NULL;

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
		.raw = payload,
	};
	if (json_parse(a, payload, 0, &root, NULL) < 0)
		ret->marks |= EVENT_NOT_JSON;
	ret->payload = root;
}
