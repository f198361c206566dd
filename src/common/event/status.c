/* What an agent is doing, by what it last told: the one place where events become a status. */
#include "base/macro.h"
#include "event/event.h"

const char *const agent_status_names[AGENT_STATUS_MAX] = {
	[AGENT_STATUS_UNKNOWN] = "unknown",
	[AGENT_STATUS_DONE] = "done",
	[AGENT_STATUS_CHECKED] = "checked",
	[AGENT_STATUS_WORKING] = "working",
	[AGENT_STATUS_ATTENTION] = "attention",
	[AGENT_STATUS_ERROR] = "error",
};

static const struct {
	enum event_kind kind;
	enum agent_status status;
} transitions[] = {
	{ EVENT_SESSION_START, AGENT_STATUS_CHECKED }, { EVENT_USER_PROMPT_SUBMIT, AGENT_STATUS_WORKING },
	{ EVENT_PRE_TOOL_USE, AGENT_STATUS_WORKING }, { EVENT_POST_TOOL_USE, AGENT_STATUS_WORKING },
	{ EVENT_NOTIFICATION, AGENT_STATUS_ATTENTION }, { EVENT_PERMISSION_REQUEST, AGENT_STATUS_ATTENTION },
	{ EVENT_ELICITATION, AGENT_STATUS_ATTENTION }, { EVENT_POST_TOOL_USE_FAILURE, AGENT_STATUS_ERROR },
	{ EVENT_STOP_FAILURE, AGENT_STATUS_ERROR }, { EVENT_STOP, AGENT_STATUS_DONE },
	{ EVENT_TURN_COMPLETE, AGENT_STATUS_DONE }, { EVENT_INTERRUPT, AGENT_STATUS_DONE },
	{ EVENT_SESSION_END, AGENT_STATUS_DONE }, { EVENT_TEAMMATE_IDLE, AGENT_STATUS_DONE }, /* the teammate's */
};

/* Notices that ask nothing of anybody. */
static const char *const idle_notices[] = { "auth_success", "elicitation_complete", "elicitation_response",
	"agent_completed" };

static bool is_idle_notice(const struct event *e)
{
	str type = json_str(json_get(e->payload, STR("notification_type")));

	for (size_t i = 0; i < countof(idle_notices); i++)
		if (str_eq(type, str_of(idle_notices[i])))
			return true;
	return false;
}

enum agent_status agent_status_of(const struct event *e)
{
	/* A tool that a person interrupted has not failed. */
	if ((e->kind == EVENT_NOTIFICATION && is_idle_notice(e)) ||
		(e->kind == EVENT_POST_TOOL_USE_FAILURE && e->is_interrupt))
		return AGENT_STATUS_UNKNOWN;
	if (!str_empty(e->agent_id) && e->kind != EVENT_TEAMMATE_IDLE)
		return AGENT_STATUS_UNKNOWN;
	/* Whoever starts an agent is looking at it; a compaction happens in the middle of a turn. */
	if (e->kind == EVENT_SESSION_START && str_eq(e->source, STR("compact")))
		return AGENT_STATUS_WORKING;
	for (size_t i = 0; i < countof(transitions); i++)
		if (transitions[i].kind == e->kind)
			return transitions[i].status;
	return AGENT_STATUS_UNKNOWN;
}

str agent_status_whose(const struct event *e)
{
	str name = e->kind == EVENT_TEAMMATE_IDLE ? json_str(json_get(e->payload, STR("teammate_name"))) : STR_NONE;

	return str_empty(name) ? STR_NONE : name;
}

/* A name that the agent's makers have given, and nothing that anybody wrote. */
str agent_status_subject(const struct event *e)
{
	switch (e->kind) {
	case EVENT_PERMISSION_REQUEST:
	case EVENT_POST_TOOL_USE_FAILURE: return e->tool_name;
	case EVENT_NOTIFICATION: return json_str(json_get(e->payload, STR("notification_type")));
	case EVENT_ELICITATION: return json_str(json_get(e->payload, STR("mcp_server_name")));
	case EVENT_STOP:
	case EVENT_STOP_FAILURE: return str_of(agent_trouble_names[agent_trouble_of(e->error, e->message)]);
	default: return STR_NONE;
	}
}

/* -- trouble ----------------------------------------------------------------------------------- */

const char *const agent_trouble_names[] = {
	[AGENT_NO_TROUBLE] = "", [AGENT_RATE_LIMIT] = "rate_limit", [AGENT_CONTEXT_FULL] = "context_full"
};

/* How such messages begin. What a model says about limits in a longer text is no trouble. */
static const struct {
	const char *words;
	enum agent_trouble trouble;
} beginnings[] = {
	{ "API Error: 429", AGENT_RATE_LIMIT },
	{ "API Error: Request rejected (429)", AGENT_RATE_LIMIT },
	{ "API Error: Rate limit", AGENT_RATE_LIMIT },
	{ "Claude usage limit reached", AGENT_RATE_LIMIT },
	{ "Claude AI usage limit reached", AGENT_RATE_LIMIT },
	{ "5-hour limit reached", AGENT_RATE_LIMIT },
	{ "You've hit your", AGENT_RATE_LIMIT },
	{ "You have hit your", AGENT_RATE_LIMIT },
	{ "You've reached your", AGENT_RATE_LIMIT },
	{ "Rate limit", AGENT_RATE_LIMIT },
	{ "Too many requests", AGENT_RATE_LIMIT },
	{ "stream error: exceeded retry limit, last status: 429", AGENT_RATE_LIMIT },
	{ "Prompt is too long", AGENT_CONTEXT_FULL },
	{ "API Error: 400 prompt is too long", AGENT_CONTEXT_FULL },
	{ "Context low", AGENT_CONTEXT_FULL },
	{ "Context limit reached", AGENT_CONTEXT_FULL },
	{ "Conversation too long", AGENT_CONTEXT_FULL },
	{ "Codex ran out of room in the model's context window", AGENT_CONTEXT_FULL },
	{ "Your input exceeds the context window", AGENT_CONTEXT_FULL },
};

static const struct {
	const char *word;
	enum agent_trouble trouble;
} errors[] = {
	{ "rate_limit", AGENT_RATE_LIMIT },
	{ "rate_limit_error", AGENT_RATE_LIMIT },
	{ "usage_limit_reached", AGENT_RATE_LIMIT },
	{ "overloaded", AGENT_RATE_LIMIT },
	{ "context_length_exceeded", AGENT_CONTEXT_FULL },
	{ "prompt_too_long", AGENT_CONTEXT_FULL },
	{ "invalid_request_prompt_too_long", AGENT_CONTEXT_FULL },
};

enum agent_trouble agent_trouble_of(str error, str said)
{
	for (size_t i = 0; i < countof(errors); i++)
		if (str_eq(error, str_of(errors[i].word)))
			return errors[i].trouble;
	said = str_trim(said);
	for (size_t i = 0; i < countof(beginnings); i++) {
		str words = str_of(beginnings[i].words);

		if (said.n >= words.n && str_eq_nocase(str_head(said, words.n), words))
			return beginnings[i].trouble;
	}
	return AGENT_NO_TROUBLE;
}
