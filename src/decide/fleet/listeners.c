/* One-shot listeners: what one agent is told when another one stops, waits for somebody, or fails. They wait until
 * that happens, and then until the agent that is told listens. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/internal.h"

static struct fleet_listener **place_of(struct fleet *f, const struct ulid *uid)
{
	struct fleet_listener **at = &f->listeners;

	while (*at && !ulid_eq(&(*at)->uid, uid))
		at = &(*at)->next;
	return at;
}

static void release(struct fleet_listener *l)
{
	free(l->teller);
	free(l->told);
	free(l->status);
	free(l->text);
	free(l->asked_by);
	free(l);
}

static void remove_at(struct fleet *f, struct fleet_listener **at)
{
	struct fleet_listener *gone = *at;

	*at = gone->next;
	if (!*at)
		f->last_listener = at;
	f->nlisteners--;
	release(gone);
}

void listeners_free(struct fleet *f)
{
	while (f->listeners)
		remove_at(f, &f->listeners);
}

static char *copy(const struct json *from, const char *name, size_t most)
{
	str text = str_cut_utf8(json_str(json_get(from, str_of(name))), most);

	return str_empty(text) ? xstrdup("") : xstrndup(text.p, text.n);
}

static struct fleet_listener *add(struct fleet *f, const struct ulid *uid, const struct json *from, int64_t made_us)
{
	struct fleet_listener *l;

	if (f->nlisteners == FLEET_LISTENERS_MAX || *place_of(f, uid))
		return NULL;
	l = xcalloc(1, sizeof *l);
	l->uid = *uid;
	l->made_us = made_us;
	l->teller = copy(from, "teller", FLEET_NAME_MAX);
	l->told = copy(from, "told", FLEET_NAME_MAX);
	l->status = copy(from, "status", FLEET_NAME_MAX);
	l->text = copy(from, "text", FLEET_TEXT_MAX);
	l->asked_by = copy(from, "asked_by", FLEET_NAME_MAX);
	*f->last_listener = l;
	f->last_listener = &l->next;
	f->nlisteners++;
	return l;
}

static enum agent_status status_named(str name)
{
	for (int i = 1; i < AGENT_STATUS_MAX; i++)
		if (str_eq(name, str_of(agent_status_names[i])))
			return (enum agent_status)i;
	return AGENT_STATUS_UNKNOWN;
}

static void set_heard(struct fleet_listener *l, const struct json *from)
{
	l->heard = true;
	l->happened = status_named(json_str(json_get(from, STR("happened"))));
}

void listeners_fill(struct fleet *f, const struct json *row)
{
	struct fleet_listener *l;
	int64_t made_us = 0;
	struct ulid uid;

	if (!ulid_parse(json_str(json_get(row, STR("uid"))), &uid))
		return;
	json_int(json_get(row, STR("made")), &made_us);
	l = add(f, &uid, row, made_us);
	if (l && str_eq(json_str(json_get(row, STR("state"))), STR("heard")))
		set_heard(l, row);
}

static void check(struct fleet *f, const struct json *payload, int64_t at_us)
{
	struct fleet_agent *a = fleet_caller(f, STR(""), json_str(json_get(payload, STR("session"))));

	if (!a || a->status == AGENT_STATUS_WORKING || a->status == AGENT_STATUS_CHECKED)
		return;
	a->status = AGENT_STATUS_CHECKED;
	a->since_us = at_us;
	a->changed_us = clock_wall_us();
}

void fleet_apply(struct fleet *f, const struct json *payload, int64_t at_us)
{
	str op = json_str(json_get(payload, STR("op")));
	struct fleet_listener **at;
	struct ulid uid;

	if (str_eq(op, STR("checked")))
		check(f, payload, at_us);
	if (!ulid_parse(json_str(json_get(payload, STR("uid"))), &uid))
		return;
	if (str_eq(op, STR("work")) && str_eq(json_str(json_get(payload, STR("state"))), STR("delegated")))
		f->work_us = clock_wall_us();
	if (str_eq(op, STR("listen")))
		(void)add(f, &uid, payload, at_us);
	at = place_of(f, &uid);
	/* What is told of without being waited for has happened already. */
	if (*at && (str_eq(op, STR("heard")) || (str_eq(op, STR("listen")) && json_get(payload, STR("happened")))))
		set_heard(*at, payload);
	if (*at && (str_eq(op, STR("told")) || str_eq(op, STR("drop"))))
		remove_at(f, at);
}

const struct fleet_listener *fleet_due(const struct fleet *f, const struct fleet_agent *a)
{
	for (const struct fleet_listener *l = f->listeners; l; l = l->next)
		if (!l->heard && a->changed_us >= l->made_us && fleet_is(a, str_of(l->teller)) &&
			fleet_means(str_of(l->status), a->status))
			return l;
	return NULL;
}

const struct fleet_listener *fleet_message(const struct fleet *f, const struct fleet_agent *a)
{
	for (const struct fleet_listener *l = f->listeners; l; l = l->next)
		if (l->heard && fleet_is(a, str_of(l->told)))
			return l;
	return NULL;
}

bool fleet_is_signalled(const struct fleet *f, str teammate, str coordinator)
{
	for (const struct fleet_listener *l = f->listeners; l; l = l->next)
		if (str_eq(str_of(l->status), STR(FLEET_IDLE)) && str_eq(teammate, str_of(l->teller)) &&
			str_eq(coordinator, str_of(l->told)))
			return true;
	return false;
}

int64_t fleet_work_us(const struct fleet *f)
{
	return f->work_us;
}

unsigned fleet_listeners(const struct fleet *f)
{
	return f->nlisteners;
}
