/* The payload of an event that makes a memory. */
#include "base/limits.h"
#include "json/json.h"
#include "memory/memory.h"

static void add_text(struct json_writer *w, const char *key, str text)
{
	if (!str_empty(text))
		jw_field_str(w, key, text);
}

str memory_write_note(const struct memory_note *n, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	char uid[ULID_TEXT + 1];
	str text;

	ulid_format(&n->uid, uid);
	jw_object(&w);
	jw_field_str(&w, "memory", str_of(uid));
	jw_field_str(&w, "op", STR("add"));
	add_text(&w, "dir", n->dir);
	add_text(&w, "project", n->project);
	add_text(&w, "type", n->type);
	add_text(&w, "text", n->text);
	add_text(&w, "file", n->file);
	add_text(&w, "trust", n->trust);
	add_text(&w, "origin", n->origin);
	add_text(&w, "session", n->session);
	add_text(&w, "agent", n->agent);
	add_text(&w, "batch", n->batch);
	add_text(&w, "ref", n->ref);
	add_text(&w, "thread", n->thread);
	add_text(&w, "status", n->status);
	add_text(&w, "reason", n->reason);
	if (!str_empty(n->concepts)) {
		jw_key(&w, "concepts");
		jw_raw(&w, n->concepts);
	}
	if (n->importance)
		jw_field_int(&w, "importance", n->importance);
	if (n->created_us)
		jw_field_int(&w, "created_us", n->created_us);
	jw_end_object(&w);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

void memory_event(const struct ulid *id, const struct ulid *memory, str payload, struct arena *a, struct event *ret)
{
	char uid[ULID_TEXT + 1];

	event_own_alone(EVENT_MEMORY, id, payload, a, ret);
	ulid_format(memory, uid);
	ret->tool_use_id = arena_str(a, str_of(uid));
}
