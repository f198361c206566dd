/* Operations of the guard: what is in effect; and reloading the file, with all that applies a change at once. */
#include "api/ops.h"

#include "guard/guard.h"
#include "hooks/hooks.h"
#include "outbox/outbox.h"
#include "remind/remind.h"

/* -- rules ------------------------------------------------------------------------------------- */

int op_rules(struct op_call *call)
{
	struct guard_policy *policy = guard_in_force(call->ctx->guard);

	jw_object(call->w);
	jw_key(call->w, "guard");
	jw_raw(call->w, guard_policy_source(policy));
	jw_end_object(call->w);
	guard_policy_unref(policy);
	return 0;
}

/* -- reload ------------------------------------------------------------------------------------ */

enum { FOLD_MS = 3000 };

struct reload {
	const struct api_context *ctx;
	struct request *later;
	struct err err;
	int result;
	unsigned problems; /* with the rules that are in effect now */
	unsigned sink_problems;
	unsigned reminders;
	struct journal_pos seen; /* what was told before is for the sinks as they were */
};

static void finish(unsigned sessions, unsigned broken, void *arg)
{
	struct reload *r = arg;
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_bool(&w, "reloaded", r->result == 0);
	jw_field_str(&w, "why", r->result < 0 ? str_of(r->err.text) : STR(""));
	jw_field_int(&w, "rule_problems", r->problems);
	jw_field_int(&w, "sink_problems", r->sink_problems);
	jw_field_int(&w, "sessions", sessions);
	jw_field_int(&w, "broken", broken);
	jw_end_object(&w);
	op_finish(r->later, buf_str(&b));
	buf_release(&b);
}

static unsigned read_reminders(const char *path)
{
	struct config_problem *problems = NULL;
	struct config c = { 0 };
	unsigned mask;

	config_load(path, &c, &problems);
	mask = reminders_of(config_text(&c, OPTION_REMIND));
	config_problems_free(problems);
	config_release(&c);
	return mask;
}

/* On a worker: the user's file may lie on a slow disk. */
static void read_rules(void *arg)
{
	struct reload *r = arg;
	struct guard_problem *problems;

	r->result = guard_reload(r->ctx->guard, &r->err);
	(void)writer_wait(r->ctx->writer, r->seen, FOLD_MS);
	if (r->result == 0)
		r->result = outbox_reload(r->ctx->outbox, &r->sink_problems, &r->err);
	r->reminders = read_reminders(r->ctx->paths->config);
	problems = guard_problems(r->ctx->guard);
	for (const struct guard_problem *p = problems; p; p = p->next)
		r->problems++;
	guard_problems_free(problems);
}

static void rules_are_read(void *arg)
{
	struct reload *r = arg;
	struct hooks *hooks = engine_hooks(r->ctx->engine);

	if (r->result == 0)
		engine_set_reminders(r->ctx->engine, r->reminders);
	if (hooks)
		hooks_reload(hooks, finish, r);
	else
		finish(0, 0, r);
}

int op_reload(struct op_call *call)
{
	struct reload *r = arena_new(call->arena, struct reload);

	r->ctx = call->ctx;
	r->later = call->later;
	r->seen = journal_end(call->ctx->journal);
	loop_submit_lane(call->ctx->loop, LOOP_PEOPLE, read_rules, rules_are_read, r);
	return 0;
}
