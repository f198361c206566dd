/* When two calls are duplicates. Agents that run the hooks of several files, or have two events for one tool call,
 * report the same thing twice. */
#include "base/hash.h"
#include "event/event.h"

enum { DEPTH_MAX = 64 };

/* The order of an object's members is the agent's, so it does not count. */
static uint64_t mix_json(const struct json *v, int depth)
{
	uint64_t h = hash_part(HASH_START, str_n((const char *)&v->type, sizeof v->type)), members = 0;

	if (v->type == JSON_STRING || v->type == JSON_NUMBER)
		return hash_part(h, v->text);
	h = hash_byte(h, (unsigned char)v->flag);
	if (depth == DEPTH_MAX)
		return h;
	json_each(m, v) {
		uint64_t inner = mix_json(m, depth + 1);

		if (v->type == JSON_OBJECT)
			members += hash_part(inner, m->key);
		else
			members = members * 31 + inner;
	}
	return h ^ members;
}

static uint64_t about_tool(uint64_t h, const struct event *e)
{
	bool over = e->kind == EVENT_POST_TOOL_USE || e->kind == EVENT_POST_TOOL_USE_FAILURE;

	h = hash_part(h, str_of(tool_class_names[e->tool_class]));
	if (e->tool_class == TOOL_SHELL && str_is_set(e->command))
		return hash_part(h, e->command);
	if (str_is_set(e->file_path) && (over || e->tool_class == TOOL_READ))
		return hash_part(h, e->file_path);
	return e->tool_input ? h ^ mix_json(e->tool_input, 0) : h;
}

uint64_t event_same_key(const struct event *e)
{
	uint64_t h = hash_part(hash_part(HASH_START, e->session), str_of(event_kinds[e->kind].name));

	if (str_empty(e->session) || e->marks & (EVENT_NOT_JSON | EVENT_CUT))
		return 0;
	h = hash_part(h, e->agent_id);
	if (event_kinds[e->kind].flags & EVENT_IS_TOOL)
		return about_tool(h, e) | 1;
	switch (e->kind) {
	case EVENT_USER_PROMPT_SUBMIT: return hash_part(h, e->prompt) | 1;
	case EVENT_STOP:
	case EVENT_SUBAGENT_STOP: return hash_part(h, e->message) | 1;
	case EVENT_SESSION_START: return hash_part(h, e->source) | 1;
	case EVENT_SESSION_END:
	case EVENT_PRE_COMPACT: return h | 1;
	default: return 0;
	}
}

/* False when both have one and they differ. */
static bool agree(str a, str b, bool *ret_both)
{
	*ret_both = !str_empty(a) && !str_empty(b);
	return !*ret_both || str_eq(a, b);
}

bool event_ids_agree(const struct event *a, const struct event *b, bool *ret_by_id)
{
	bool tool = event_kinds[a->kind].flags & EVENT_IS_TOOL, tools, prompts, ok;

	ok = agree(a->tool_use_id, b->tool_use_id, &tools) && agree(a->prompt_id, b->prompt_id, &prompts);
	*ret_by_id = ok && (tool ? tools : prompts);
	return ok;
}
