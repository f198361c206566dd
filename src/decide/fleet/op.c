/* What can be noted of a fleet, as the payload of an event. */
#include "fleet/fleet.h"

void fleet_open(struct json_writer *w, const struct ulid *uid, const char *op)
{
	char text[ULID_TEXT + 1];

	jw_object(w);
	jw_field_str(w, "op", str_of(op));
	if (!uid)
		return;
	ulid_format(uid, text);
	jw_field_str(w, "uid", str_of(text));
}

/* The uid takes the place of a call's id, by which events of one thing are found again. */
void fleet_event(const struct ulid *id, const struct ulid *uid, str payload, struct arena *a, struct event *ret)
{
	char text[ULID_TEXT + 1];

	event_own_alone(EVENT_FLEET, id, payload, a, ret);
	if (!uid)
		return;
	ulid_format(uid, text);
	ret->tool_use_id = arena_str(a, str_of(text));
}
