/* The stage of the fleet: what the event says of its agent, who waits for that, and what the agent is told of others.
 * It costs an event one look into a table. */
#include "engine/turn.h"

enum { MESSAGES = 4 }; /* at once; the rest comes with later events */

struct fleet *engine_fleet(struct engine *e)
{
	return e->fleet;
}

void engine_on_fleet(struct engine *e, void (*fn)(void *arg), void *arg)
{
	if (e->nfleet_watchers < FLEET_WATCHERS_MAX)
		e->fleet_watchers[e->nfleet_watchers++] = (struct fleet_watcher){ fn, arg };
}

void engine_note(struct engine *e, struct arena *a, const struct event *event, struct record *ret)
{
	redact(e->redactor, a, event, 0, ret, NULL);
}

/* Who is told earlier could ask the store before it knows. */
void fleet_tell(struct engine *e)
{
	if (!e->fleet_moved)
		return;
	e->fleet_moved = false;
	for (size_t i = 0; i < e->nfleet_watchers; i++)
		e->fleet_watchers[i].fn(e->fleet_watchers[i].arg);
}

/* What happened to a listener, in the next write of the journal. */
static void keep(struct engine *e, const struct ulid *uid, const char *op, enum agent_status happened)
{
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct arena a = { 0 };
	struct ulid id = ulid_make();
	struct record record;
	struct event made;

	fleet_open(&w, uid, op);
	if (happened)
		jw_field_str(&w, "happened", str_of(agent_status_names[happened]));
	jw_end_object(&w);
	fleet_event(&id, uid, arena_str(&a, buf_str(&b)), &a, &made);
	buf_release(&b);
	redact(e->redactor, &a, &made, 0, &record, NULL);
	if (journal_add(e->config.journal, &record) == 0)
		e->audit_waits = true;
	fleet_apply(e->fleet, made.payload, made.at_us);
	arena_release(&a);
}

/* Each is told of it once; the uid is copied because what has it changes. */
static void tell_listeners(struct engine *e, const struct fleet_agent *a)
{
	const struct fleet_listener *l;

	for (int i = 0; i < FLEET_LISTENERS_MAX && (l = fleet_due(e->fleet, a)); i++) {
		struct ulid uid = l->uid;

		keep(e, &uid, "heard", a->status);
	}
}

static str message(struct turn *t, const struct fleet_listener *l)
{
	const char *what = l->happened == AGENT_STATUS_ATTENTION ? "waits for its user"
		: l->happened == AGENT_STATUS_ERROR              ? "has run into an error"
								 : "has stopped";
	return arena_strf(&t->arena, "Agent %s %s.%s%s", l->teller, what, l->text[0] ? " You wanted to be told: " : "",
		l->text);
}

static void give_messages(struct turn *t, const struct fleet_agent *a)
{
	const struct fleet_listener *l;

	for (int i = 0; i < MESSAGES && (l = fleet_message(t->engine->fleet, a)); i++) {
		struct ulid uid = l->uid;
		str text = message(t, l);

		verdict_add_context(&t->verdict, &t->arena, STR("fleet"), text);
		sight_add_injection(&t->sight, &t->arena, text);
		keep(t->engine, &uid, "told", AGENT_STATUS_UNKNOWN);
	}
}

/* What is given now reaches the model. Callers that ask by name (hooks.*) are answered with a text at these only. */
static bool listens(const struct turn *t)
{
	enum event_kind kind = t->event.kind;

	if (t->late || t->verdict.action == VERDICT_DENY || !str_empty(t->event.agent_id) ||
		str_is_set(agent_status_whose(&t->event)))
		return false;
	return t->call.encode
		? kind == EVENT_SESSION_START || kind == EVENT_USER_PROMPT_SUBMIT || kind == EVENT_POST_TOOL_USE
		: turn_takes_context(t);
}

enum stage_result stage_fleet(struct turn *t)
{
	bool changed;
	struct fleet_agent *a = fleet_see(t->engine->fleet, &t->event, &changed);

	if (!a)
		return STAGE_DONE;
	if (changed) {
		tell_listeners(t->engine, a);
		t->engine->fleet_moved = true;
	}
	if (fleet_listeners(t->engine->fleet) && listens(t))
		give_messages(t, a);
	return STAGE_DONE;
}

/* What happened while nobody listened. */
void fleet_filled(struct engine *e)
{
	for (struct fleet_agent *a = fleet_first(e->fleet); a; a = a->older)
		tell_listeners(e, a);
	e->fleet_moved = true;
}

void fleet_note(struct engine *e, const struct record *r)
{
	struct arena a = { 0 };
	struct json *payload = NULL;

	if (json_parse(&a, r->payload, JSON_LENIENT_UTF8, &payload, NULL) == 0)
		fleet_apply(e->fleet, payload, r->at_us);
	e->fleet_moved = true;
	arena_release(&a);
}
