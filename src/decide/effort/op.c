/* What can happen to an effort, as the payload of an event. */
#include "effort/effort.h"

const char *const effort_op_names[EFFORT_OP_MAX] = {
	[EFFORT_OP_UNKNOWN] = "",
	[EFFORT_OP_START] = "start",
	[EFFORT_OP_PHASE] = "phase",
	[EFFORT_OP_FINISH] = "finish",
	[EFFORT_OP_RESUME] = "resume",
	[EFFORT_OP_METADATA] = "metadata",
	[EFFORT_OP_CHECKPOINT] = "checkpoint",
	[EFFORT_OP_ARTIFACT] = "artifact",
	[EFFORT_OP_DIRECTIVE] = "directive",
	[EFFORT_OP_WINDOW] = "window",
	[EFFORT_OP_END] = "end",
	[EFFORT_OP_SNAPSHOT] = "snapshot",
	[EFFORT_OP_LOG] = "log",
	[EFFORT_OP_MESSAGE] = "message",
	[EFFORT_OP_TASK] = "task",
};

void effort_open(struct json_writer *w, const struct ulid *effort, enum effort_op op)
{
	char uid[ULID_TEXT + 1];

	jw_object(w);
	if (effort) {
		ulid_format(effort, uid);
		jw_field_str(w, "effort", str_of(uid));
	}
	jw_field_str(w, "op", str_of(effort_op_names[op]));
}

/* The effort takes the place of a call's id, by which its events are found again. */
void effort_event(const struct ulid *id, const struct ulid *effort, str payload, struct arena *a, struct event *ret)
{
	char uid[ULID_TEXT + 1];

	event_own_alone(EVENT_EFFORT, id, payload, a, ret);
	if (!effort)
		return;
	ulid_format(effort, uid);
	ret->tool_use_id = arena_str(a, str_of(uid));
}

bool effort_is_name(str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    ((c == '-' || c == '_') && i > 0)))
			return false;
	}
	return name.n > 0 && name.n <= EFFORT_NAME_MAX;
}

static str in_capitals(struct arena *a, str text)
{
	char *p = arena_bytes(a, text.n);

	for (size_t i = 0; i < text.n; i++)
		p[i] = text.p[i] >= 'a' && text.p[i] <= 'z' ? (char)(text.p[i] - 0x20) : text.p[i];
	return str_n(p, text.n);
}

str effort_artifact_name(struct arena *a, int64_t ordinal, str skill, str type)
{
	return arena_strf(a, "%lld_" STR_FMT "_" STR_FMT ".md", (long long)ordinal, STR_ARG(in_capitals(a, skill)),
		STR_ARG(in_capitals(a, type)));
}

str effort_prompt(struct arena *a, const struct ulid *uid, int64_t ordinal, str skill, str task)
{
	char id[ULID_TEXT + 1];

	ulid_format(uid, id);
	return arena_strf(a,
		"Continue effort %s (" STR_FMT ", number %lld of " STR_FMT
		"). Where it stands was given to you at the start of this session; `hookd effort show %s` says it "
		"again.",
		id, STR_ARG(skill), (long long)ordinal, STR_ARG(task), id);
}
