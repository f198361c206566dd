/* The switch of context: nothing is added to the conversations of a session or a project for which it is off. */
#include <errno.h>

#include "api/ops.h"
#include "base/clock.h"
#include "memory/memory.h"

/* What a call is about, as the table names it: STR_NONE, with an error, when that is nothing. */
static str name_of(struct op_call *call, const char **ret_what)
{
	bool session = op_has(call, "session");
	struct query *q;
	str name = STR_NONE;

	*ret_what = session ? "session" : "project";
	if (session == op_has(call, "project")) {
		err_set(call->err, -EINVAL, "say which: 'session' or 'project'");
		return STR_NONE;
	}
	q = session
		? store_ask(call->store, "SELECT native_id FROM sessions WHERE key = ?1", "i", op_int(call, "session"))
		: store_ask(call->store,
			  "SELECT path FROM projects WHERE key = (SELECT coalesce(merged, parent, key) FROM projects "
			  "WHERE key = ?1)",
			  "i", op_int(call, "project"));
	if (query_step(q) == 1)
		name = arena_str(call->arena, query_str(q, 0));
	query_reset(q);
	return name;
}

int op_context_switch(struct op_call *call)
{
	const char *what;
	str name = name_of(call, &what);
	bool on = op_bool(call, "on");
	int r;

	if (!str_is_set(name))
		return call->err->text[0] ? -EINVAL : -ENOENT;
	r = on ? store_do(call->store, "DELETE FROM quiet WHERE what = ?1 AND name = ?2", "ss", str_of(what), name)
	       : store_do(call->store, "INSERT INTO quiet(what, name, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
			 "ssi", str_of(what), name, clock_wall_us());
	jw_object(call->w);
	jw_field_str(call->w, what, name);
	jw_field_bool(call->w, "on", on);
	jw_end_object(call->w);
	return r;
}

int op_context_switches(struct op_call *call)
{
	static const struct op_column columns[] = { { "what", 's' }, { "name", 's' }, { "off_since_us", 'i' }, { 0 } };
	int r;

	jw_object(call->w);
	jw_field_bool(call->w, "on", config_number(call->ctx->config, OPTION_CONTEXT_ENABLED));
	r = op_write_list(call, "off",
		store_ask(call->store, "SELECT what, name, at FROM quiet ORDER BY at DESC, what, name LIMIT 1000", ""),
		columns);
	jw_end_object(call->w);
	return r;
}
