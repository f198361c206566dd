/* fleet.wait: nobody asks again and again. A call stays open until what it waits for happens, or for half a minute;
 * whoever still wants to know calls again, and says up to when it knows: nothing that happened in between is missed,
 * also not across a restart. */
#include <errno.h>
#include <stdlib.h>

#include "api/ops.h"
#include "api/waiting.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/fleet.h"

enum { WAITERS_MAX = 64, NAMES_MAX = 32 };

struct waiter {
	struct waiter *next;
	struct waiting *all;
	struct request *later;
	struct loop_timer *timer;
	str names[NAMES_MAX]; /* in the request's arena; none: any agent */
	size_t nnames;
	str wanted;
	str watch;  /* instead: the supervisor that wants to know of its agent */
	str parent; /* instead: agents with this parent, and work for them */
	bool work;
	int64_t since_us;
	bool every;     /* all of the names, not the first */
	bool unchecked; /* it came before anybody was known */
};

struct waiting {
	struct loop *loop;
	struct engine *engine;
	struct waiter *first;
	unsigned n;
};

/* -- what has happened ------------------------------------------------------------------------- */

static bool is_met(const struct waiter *w, const struct fleet_agent *a)
{
	return a->changed_us > w->since_us && fleet_means(w->wanted, a->status);
}

static void write_agent(struct json_writer *w, const struct fleet_agent *a)
{
	jw_object(w);
	jw_field_str(w, "agent", str_of(a->name));
	jw_field_str(w, "program", str_of(a->agent));
	jw_field_str(w, "session", str_of(a->session));
	if (a->label[0])
		jw_field_str(w, "label", str_of(a->label));
	if (a->parent[0])
		jw_field_str(w, "parent", str_of(a->parent));
	if (a->pane[0])
		jw_field_str(w, "pane", str_of(a->pane));
	jw_field_str(w, "cwd", str_of(a->cwd));
	jw_field_str(w, "status", str_of(agent_status_names[a->status]));
	jw_field_int(w, "since_us", a->since_us);
	if (a->subject[0])
		jw_field_str(w, "for", str_of(a->subject));
	jw_field_bool(w, "ended", a->ended);
	jw_end_object(w);
}

/* What was found of those that were named. */
struct found {
	const struct fleet_agent *met[NAMES_MAX];
	str gone[NAMES_MAX];
	size_t nmet, ngone;
};

static void look_for_names(const struct waiter *w, const struct fleet *f, struct found *ret)
{
	for (size_t i = 0; i < w->nnames; i++) {
		const struct fleet_agent *a = fleet_find(f, w->names[i]);

		if (a && is_met(w, a))
			ret->met[ret->nmet++] = a;
		else if (!a || a->ended)
			ret->gone[ret->ngone++] = w->names[i];
	}
}

/* The most urgent of all. */
static void look_for_any(const struct waiter *w, const struct fleet *f, struct found *ret)
{
	for (const struct fleet_agent *a = fleet_first(f); a; a = a->older)
		if (is_met(w, a) && (!ret->nmet || a->status > ret->met[0]->status)) {
			ret->met[0] = a;
			ret->nmet = 1;
		}
}

/* What its children want comes before new work. */
static bool look_for_children(const struct waiter *w, const struct fleet *f, struct found *ret)
{
	const struct fleet_agent *boss = fleet_caller(f, w->parent, STR_NONE);

	for (const struct fleet_agent *a = fleet_first(f); a; a = a->older)
		if (fleet_is_child(a, w->parent, boss) && fleet_means(STR("any"), a->status) &&
			(!ret->nmet || a->status > ret->met[0]->status)) {
			ret->met[0] = a;
			ret->nmet = 1;
		}
	return ret->nmet || (w->work && fleet_work_us(f) > w->since_us);
}

/* A supervisor's agent is to be started again, or is at a limit. */
static bool look_for_watched(const struct waiter *w, const struct fleet *f, struct found *ret)
{
	const struct fleet_agent *a = fleet_watched(f, w->watch);
	bool limited = a && a->changed_us > w->since_us && str_eq(str_of(a->subject), STR("rate_limit"));

	if (a && (a->restart[0] || limited))
		ret->met[ret->nmet++] = a;
	return ret->nmet;
}

static bool has_happened(const struct waiter *w, struct found *ret)
{
	const struct fleet *f = engine_fleet(w->all->engine);

	*ret = (struct found){ 0 };
	/* Who is there is not known yet. */
	if (!fleet_known(f))
		return false;
	if (str_is_set(w->parent))
		return look_for_children(w, f, ret);
	if (str_is_set(w->watch))
		return look_for_watched(w, f, ret);
	if (!w->nnames) {
		look_for_any(w, f, ret);
		return ret->nmet;
	}
	look_for_names(w, f, ret);
	return (ret->nmet && !w->every) || ret->nmet + ret->ngone == w->nnames;
}

static int say_unknown(struct err *err, str name)
{
	char shown[NAME_SHOWN];

	return err_set(err, -ENOENT, "there is no agent '%s'; list them with: hookd fleet", name_shown(name, shown));
}

/* Once: who is told starts it again, or does not. */
static void write_orders(const struct waiter *w, struct json_writer *out, const struct fleet_agent *met)
{
	struct fleet_agent *a = fleet_watched(engine_fleet(w->all->engine), w->watch);

	jw_field_str(out, "event", met->restart[0] ? STR("overflow") : STR("rate_limit"));
	if (!met->restart[0] || !a)
		return;
	jw_field_str(out, "prompt", str_of(met->restart));
	jw_field_str(out, "effort", str_of(met->restart_effort));
	fleet_restart(a, STR(""), STR(""));
}

/* -- answering --------------------------------------------------------------------------------- */

static void leave(struct waiter *w)
{
	struct waiter **at = &w->all->first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->all->n--;
	loop_timer_free(w->timer);
	free(w);
}

static void refuse(struct waiter *w, str name)
{
	struct request *later = w->later;
	struct err err = { 0 };

	say_unknown(&err, name);
	leave(w);
	op_give_up(later, err.text);
}

static void answer(struct waiter *w, const struct found *found)
{
	struct request *later = w->later;
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer out = JSON_WRITER(&b);

	jw_object(&out);
	jw_field_bool(&out, "happened", found->nmet);
	if (str_is_set(w->watch) && found->nmet)
		write_orders(w, &out, found->met[0]);
	jw_key(&out, "agents");
	jw_array(&out);
	for (size_t i = 0; i < found->nmet; i++)
		write_agent(&out, found->met[i]);
	jw_end_array(&out);
	jw_key(&out, "gone");
	jw_array(&out);
	for (size_t i = 0; i < found->ngone; i++)
		jw_str(&out, found->gone[i]);
	jw_end_array(&out);
	jw_end_object(&out);
	leave(w);
	op_finish(later, buf_str(&b));
	buf_release(&b);
}

static void time_is_up(void *arg)
{
	struct found found;

	answer(arg, has_happened(arg, &found) ? &found : &(struct found){ 0 });
}

/* The table has been read meanwhile, and those that were named are there. */
static void check_late(struct waiter *w)
{
	w->unchecked &= !fleet_known(engine_fleet(w->all->engine));
}

static void on_fleet(void *arg)
{
	struct waiting *all = arg;
	struct found found;

	for (struct waiter *w = all->first, *next; w; w = next) {
		next = w->next;
		if (!has_happened(w, &found))
			check_late(w);
		else if (w->unchecked && found.ngone && !fleet_find(engine_fleet(all->engine), found.gone[0]))
			refuse(w, found.gone[0]);
		else
			answer(w, &found);
	}
}

struct waiting *waiting_new(const struct api_context *ctx)
{
	struct waiting *all = xcalloc(1, sizeof *all);

	all->loop = ctx->loop;
	all->engine = ctx->engine;
	engine_on_fleet(ctx->engine, on_fleet, all);
	return all;
}

/* At a stop: who waited is told by the end of the connection. */
void waiting_free(struct waiting *all)
{
	struct waiter *w;

	while (all && (w = all->first)) {
		all->first = w->next;
		loop_timer_free(w->timer);
		free(w);
	}
	free(all);
}

/* -- the operation ----------------------------------------------------------------------------- */

static int take_names(struct op_call *call, struct waiter *w)
{
	json_each(name, op_json(call, "who")) {
		if (w->nnames == NAMES_MAX)
			return err_set(call->err, -EINVAL, "more than %d agents cannot be waited for", NAMES_MAX);
		w->names[w->nnames++] = json_str(name);
	}
	return 0;
}

/* Somebody who is not there cannot be waited for, unless the table is still to be read. */
static int check_names(struct op_call *call, const struct waiter *w)
{
	const struct fleet *f = engine_fleet(call->ctx->engine);

	for (size_t i = 0; i < w->nnames && fleet_known(f) && !w->since_us; i++)
		if (!fleet_find(f, w->names[i]))
			return say_unknown(call->err, w->names[i]);
	return 0;
}

static int begin(struct op_call *call, str watch)
{
	struct waiting *all = api_waiting(call->api);
	struct waiter *w;
	struct found found;
	int r;

	if (all->n == WAITERS_MAX)
		return err_set(call->err, -EBUSY, "%d calls wait for agents already", WAITERS_MAX);
	w = xcalloc(1, sizeof *w);
	*w = (struct waiter){ .all = all,
		.later = call->later,
		.wanted = str_empty(watch) && op_has(call, "for") ? op_text(call, "for") : STR("any"),
		.watch = watch,
		.parent = str_empty(watch) ? op_text(call, "parent") : STR_NONE,
		.work = str_empty(watch) && op_bool(call, "work"),
		.since_us = op_int(call, "since_us"),
		.every = str_empty(watch) && op_bool(call, "every") };
	r = str_empty(watch) ? take_names(call, w) : 0;
	if (r == 0)
		r = check_names(call, w);
	if (r < 0) {
		free(w);
		return r;
	}
	w->unchecked = !w->since_us && !fleet_known(engine_fleet(all->engine));
	w->timer = loop_timer_new(all->loop, time_is_up, w);
	w->next = all->first;
	all->first = w;
	all->n++;
	/* What is so already is told at once, but not from inside this function. */
	loop_timer_set(w->timer, has_happened(w, &found) ? 0 : op_int(call, "timeout_ms") * USEC_PER_MSEC);
	return 0;
}

/* The bytes of the request live until the answer. */
int op_fleet_wait(struct op_call *call)
{
	return begin(call, STR_NONE);
}

int op_fleet_supervise(struct op_call *call)
{
	return begin(call, op_text(call, "watch"));
}
