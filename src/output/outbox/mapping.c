/* What an agent's event is called outside.
 *
 * The rules of an agent come first; what it has none for follows the canonical kind of the event. */
#include "outbox/internal.h"

#include <stdio.h>

#include "base/sha256.h"

const struct outbox_type_info outbox_types[OUTBOX_TYPE_MAX] = {
	[OUTBOX_SESSION_START] = { "session_start", true, true, "A session starts, resumes, or continues." },
	[OUTBOX_PROMPT] = { "prompt", true, true, "The user has written." },
	[OUTBOX_STOP] = { "stop", true, true, "The agent has finished its turn." },
	[OUTBOX_NOTIFICATION] = { "notification", true, true, "The agent wants to be noticed." },
	[OUTBOX_SESSION_END] = { "session_end", true, true, "A session has ended." },
	[OUTBOX_ERROR] = { "error", true, true, "A turn failed, or an event lacks what it must bring." },
	[OUTBOX_SUMMARY] = { "summary", true, false, "A session was summarized." },
	[OUTBOX_OTHER] = { NULL, false, false, "Any other event, by its name." },
};

/* -- the rules --------------------------------------------------------------------------------- */

struct rule {
	const char *agent;  /* NULL: any */
	const char *native; /* the agent's own name; NULL: any of the kind */
	enum event_kind kind;
	enum outbox_type type;
	unsigned needs;
};

/* The first that fits. */
static const struct rule rules[] = {
	{ "claude", "SessionStart", EVENT_SESSION_START, OUTBOX_SESSION_START, NEEDS_SESSION | NEEDS_TRANSCRIPT },
	{ "claude", "UserPromptSubmit", EVENT_USER_PROMPT_SUBMIT, OUTBOX_PROMPT, NEEDS_SESSION | NEEDS_PROMPT },
	{ "claude", "Stop", EVENT_STOP, OUTBOX_STOP, NEEDS_SESSION },
	{ "claude", "Notification", EVENT_NOTIFICATION, OUTBOX_NOTIFICATION, NEEDS_SESSION },
	{ "claude", "SessionEnd", EVENT_SESSION_END, OUTBOX_SESSION_END, NEEDS_SESSION },
	{ "gemini", "SessionStart", EVENT_SESSION_START, OUTBOX_SESSION_START, NEEDS_SESSION | NEEDS_TRANSCRIPT },
	{ "gemini", "BeforeAgent", EVENT_USER_PROMPT_SUBMIT, OUTBOX_PROMPT, NEEDS_SESSION | NEEDS_PROMPT },
	{ "gemini", "AfterAgent", EVENT_STOP, OUTBOX_STOP, NEEDS_SESSION },
	{ "gemini", "Notification", EVENT_NOTIFICATION, OUTBOX_NOTIFICATION, NEEDS_SESSION },
	{ "gemini", "SessionEnd", EVENT_SESSION_END, OUTBOX_SESSION_END, NEEDS_SESSION },
	{ "codex", "agent-turn-complete", EVENT_TURN_COMPLETE, OUTBOX_STOP, NEEDS_SESSION },
	{ NULL, NULL, EVENT_SESSION_START, OUTBOX_SESSION_START, NEEDS_SESSION },
	{ NULL, NULL, EVENT_USER_PROMPT_SUBMIT, OUTBOX_PROMPT, NEEDS_SESSION | NEEDS_PROMPT },
	{ NULL, NULL, EVENT_STOP, OUTBOX_STOP, NEEDS_SESSION },
	{ NULL, NULL, EVENT_TURN_COMPLETE, OUTBOX_STOP, NEEDS_SESSION },
	{ NULL, NULL, EVENT_NOTIFICATION, OUTBOX_NOTIFICATION, NEEDS_SESSION },
	{ NULL, NULL, EVENT_SESSION_END, OUTBOX_SESSION_END, NEEDS_SESSION },
	{ NULL, NULL, EVENT_STOP_FAILURE, OUTBOX_ERROR, 0 },
};

static const struct rule *find_rule(const struct event *e)
{
	for (size_t i = 0; i < countof(rules); i++)
		if (rules[i].kind == e->kind && (!rules[i].agent || str_eq(e->agent, str_of(rules[i].agent))) &&
			(!rules[i].native || str_eq(e->native, str_of(rules[i].native))))
			return &rules[i];
	return NULL;
}

uint64_t outbox_kinds_of(enum outbox_type type)
{
	uint64_t kinds = 0;

	/* Any of them may turn out to be an error. */
	for (size_t i = 0; i < countof(rules); i++)
		if (rules[i].type == type || type == OUTBOX_ERROR)
			kinds |= UINT64_C(1) << rules[i].kind;
	return kinds;
}

static unsigned missing_of(const struct event *e, unsigned needs)
{
	const struct {
		unsigned bit;
		str text;
	} brought[] = { { NEEDS_SESSION, e->session }, { NEEDS_TRANSCRIPT, e->transcript_path },
		{ NEEDS_PROMPT, e->prompt } };
	unsigned missing = 0;

	for (size_t i = 0; i < countof(brought); i++)
		if (needs & brought[i].bit && str_empty(brought[i].text))
			missing |= brought[i].bit;
	return missing;
}

/* What a subagent says and is told is its parent's doing: no turn of the user's begins or ends with it. */
static bool is_of_session(const struct event *e, const struct record *r)
{
	return str_empty(e->agent_id) && str_empty(r->agent_id);
}

bool outbox_understand(const struct event *e, const struct record *r, struct outbox_meaning *ret)
{
	const struct rule *rule = find_rule(e);

	*ret = (struct outbox_meaning){ .type = OUTBOX_OTHER, .meant = OUTBOX_OTHER };
	/* What hookd doctor sends to try the hooks is nobody's work; and what is private stays here. */
	if (r->marks & (EVENT_PRIVATE | EVENT_IMPORTED) || str_starts(r->session, STR("hookd-doctor-")))
		return false;
	if (!rule || (rule->type != OUTBOX_NOTIFICATION && !is_of_session(e, r)))
		return true;
	ret->type = ret->meant = rule->type;
	ret->missing = missing_of(e, rule->needs);
	if (ret->missing)
		ret->type = OUTBOX_ERROR;
	return true;
}

/* -- names of sessions ------------------------------------------------------------------------- */

/* Agents that run each other's hooks report one session under two labels, so the label counts only where the agent's
 * own name of it may be another's as well. */
enum { UNIQUE_FROM = 20 };

void outbox_session_id(str agent, str native, char ret[OUTBOX_SESSION_ID + 1])
{
	uint8_t d[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, "hookd session", 14); /* with its NUL */
	if (native.n < UNIQUE_FROM) {
		sha256_add(&s, agent.p ? agent.p : "", agent.n);
		sha256_add(&s, "", 1);
	}
	sha256_add(&s, native.p ? native.p : "", native.n);
	sha256_end(&s, d);
	d[6] = (d[6] & 0x0f) | 0x80; /* version 8: made by rules of one's own */
	d[8] = (d[8] & 0x3f) | 0x80;
	sha256_hex(d, hex);
	snprintf(ret, OUTBOX_SESSION_ID + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}
