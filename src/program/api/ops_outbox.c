/* outbox and sinks: what is to go out, what could not, where it goes. */
#include <errno.h>

#include "api/ops.h"
#include "base/clock.h"
#include "jobs/jobs.h"
#include "outbox/outbox.h"

/* -- deliveries -------------------------------------------------------------------------------- */

#define STATE_SQL "CASE j.state WHEN 0 THEN 'waiting' WHEN 2 THEN 'delivered' ELSE 'dead' END"

/* Without a state: those that somebody may wonder about. */
int op_outbox(struct op_call *call)
{
	static const struct op_column columns[] = { { "id", 'i' }, { "sink", 's' }, { "state", 's' }, { "type", 's' },
		{ "event", 's' }, { "agent", 's' }, { "session", 's' }, { "at_us", 'i' }, { "tries", 'i' },
		{ "due_us", 'i' }, { "delivered_us", 'i' }, { "dead_us", 'i' }, { "bytes", 'i' }, { "error", 's' },
		{ 0 } };
	int r;

	jw_object(call->w);
	r = op_write_list(call, "deliveries",
		store_ask(call->store,
			"SELECT j.id, k.name, " STATE_SQL
			", d.type, substr(j.subject, instr(j.subject, ':') + 1), s.agent, "
			"s.native_id, d.at, j.tries, iif(j.state = 0, j.due_at, NULL), d.done_at, d.dead_at, "
			"payload_bytes(d.body), j.error FROM deliveries d JOIN jobs j ON j.id = d.job JOIN sinks k ON "
			"k.key = d.sink LEFT JOIN sessions s ON s.key = j.session WHERE (CASE WHEN ?1 IS NULL THEN "
			"j.state "
			"<> 2 ELSE " STATE_SQL
			" = ?1 END) AND (?2 IS NULL OR k.name = ?2) AND (?3 IS NULL OR j.session = "
			"?3) AND (?4 IS NULL OR d.type = ?4) ORDER BY d.job LIMIT ?5",
			"ssksi", op_text(call, "state"), op_text(call, "sink"), op_int(call, "session"),
			op_text(call, "type"), op_int(call, "limit")),
		columns);
	jw_end_object(call->w);
	return r;
}

/* What the parameters choose. -ENOENT: no sink of that name ever had anything. */
static int read_choice(struct op_call *call, struct delivery_choice *ret)
{
	str sink = op_text(call, "sink"), state = op_text(call, "state");
	int got = 1;

	*ret = (struct delivery_choice){ .id = op_int(call, "id"),
		.before_us = op_int(call, "before_us"),
		.dead = str_eq(state, STR("dead")),
		.waiting = str_eq(state, STR("waiting")) };
	if (str_is_set(sink))
		got = delivery_sink(call->store, sink, false, &ret->sink);
	if (got == 0)
		return err_set(call->err, -ENOENT, "nothing was ever meant for a sink of that name; see: hookd sinks");
	return MIN(got, 0);
}

static int answer(struct op_call *call, const struct delivery_choice *c, const char *name, int64_t n)
{
	if (n < 0)
		return (int)n;
	if (!n && c->id)
		return err_set(call->err, -ENOENT, "no delivery %lld is waiting or dead; list them with: hookd outbox",
			(long long)c->id);
	jw_object(call->w);
	jw_field_int(call->w, name, n);
	jw_end_object(call->w);
	return 0;
}

int op_outbox_count(struct op_call *call)
{
	struct delivery_choice c;
	int r = read_choice(call, &c);

	return r < 0 ? r : answer(call, &c, "count", deliveries_drop(call->store, &c, true));
}

/* Those that were given up, unless one is named. */
int op_outbox_retry(struct op_call *call)
{
	struct delivery_choice c;
	int r = read_choice(call, &c);

	if (r < 0)
		return r;
	if (!c.id && !c.waiting)
		c.dead = true;
	r = answer(call, &c, "retried", deliveries_retry(call->store, &c, clock_wall_us()));
	return r < 0 ? r : outbox_recount(call->ctx->outbox, call->store);
}

int op_outbox_drop(struct op_call *call)
{
	struct delivery_choice c;
	int r = read_choice(call, &c);

	if (r < 0)
		return r;
	if (!c.id && !c.sink && !c.before_us && !c.dead && !c.waiting && !op_bool(call, "all"))
		return err_set(call->err, -EINVAL,
			"say which deliveries to drop: id, sink, state, before_us, or all for everything");
	r = answer(call, &c, "dropped", deliveries_drop(call->store, &c, false));
	return r < 0 ? r : outbox_recount(call->ctx->outbox, call->store);
}

/* -- sinks ------------------------------------------------------------------------------------- */

/* Also of those that are not configured any more, if something is left of them. */
static int write_known(struct op_call *call)
{
	static const struct op_column columns[] = { { "name", 's' }, { "waiting", 'i' }, { "dead", 'i' },
		{ "coalesced", 'i' }, { "dropped", 'i' }, { "oldest_us", 'i' }, { 0 } };

	return op_write_list(call, "known",
		store_ask(call->store,
			"SELECT k.name, coalesce(sum(j.state = 0), 0), coalesce(sum(j.state = 3), 0), k.coalesced, "
			"k.dropped, min(iif(j.state = 0, d.at, NULL)) FROM sinks k LEFT JOIN deliveries d ON d.sink = "
			"k.key LEFT JOIN jobs j ON j.id = d.job GROUP BY k.key ORDER BY k.name",
			""),
		columns);
}

int op_sinks(struct op_call *call)
{
	int r;

	jw_object(call->w);
	jw_key(call->w, "sinks");
	jw_array(call->w);
	outbox_write_state(call->ctx->outbox, call->w);
	jw_end_array(call->w);
	r = write_known(call);
	jw_end_object(call->w);
	return r;
}

/* -- contracts --------------------------------------------------------------------------------- */

static void write_contract(struct op_call *call, struct json_writer *w)
{
	jw_object(w);
	jw_field_str(w, "name", op_text(call, "name"));
	jw_field_str(w, "type", STR("webhook"));
	jw_field_str(w, "url", op_text(call, "url"));
	jw_field_str(w, "secret_file", op_has(call, "secret_file") ? op_text(call, "secret_file") : STR_NONE);
	if (op_json(call, "events")) {
		jw_key(w, "events");
		jw_value(w, op_json(call, "events"));
	}
	if (op_json(call, "when")) {
		jw_key(w, "when");
		jw_value(w, op_json(call, "when"));
	}
	jw_field_int(w, "expires", clock_wall_us() / USEC_PER_SEC + op_int(call, "ttl_s"));
	jw_end_object(w);
}

static int write_known_contract(struct op_call *call, int r)
{
	if (r < 0)
		return r;
	jw_object(call->w);
	jw_field_str(call->w, "name", op_text(call, "name"));
	jw_end_object(call->w);
	return 0;
}

int op_contracts_add(struct op_call *call)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	int r;

	write_contract(call, &w);
	r = b.full ? err_set(call->err, -E2BIG, "the contract is too long")
		   : contract_add(call->ctx->outbox, op_text(call, "name"), buf_str(&b), call->err);
	buf_release(&b);
	return write_known_contract(call, r);
}

int op_contracts_remove(struct op_call *call)
{
	return write_known_contract(call, contract_remove(call->ctx->outbox, op_text(call, "name"), call->err));
}

/* On a worker: it takes as long as the sink does. */
int op_sinks_test(struct op_call *call)
{
	struct outbox_trial trial;
	int r = outbox_try(call->ctx->outbox, op_text(call, "sink"), &trial);

	if (r < 0)
		return err_set(call->err, r,
			"no sink of that name is in force; see: hookd sinks, and after a change of "
			"the file: hookd reload");
	jw_object(call->w);
	jw_field_bool(call->w, "delivered", trial.delivered);
	jw_field_int(call->w, "took_us", trial.took_us);
	jw_field_str(call->w, "why", str_of(trial.text));
	jw_end_object(call->w);
	return 0;
}
