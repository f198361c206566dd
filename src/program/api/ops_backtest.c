/* backtest: what the current rules would have decided about past calls, stored or imported. Nothing is run and nothing
 * is kept. Texts are those of the store, so secrets in a command are not there; everything else is. */
#include <errno.h>
#include <stdlib.h>

#include "agents/agents.h"
#include "api/ops.h"
#include "base/clock.h"
#include "guard/guard.h"

enum {
	AT_ONCE_US = 4 * 1000000, /* a call ends after this and returns where to continue */
	RULES_MAX = 256,
	EXAMPLES = 3,
};

struct tally {
	str rule;
	enum verdict_action action;
	int64_t times, ran; /* ran: somebody let it run, or nobody asked */
	int64_t days, day;  /* on which it ran; the last one */
	struct {
		str command, session;
		int64_t at_us;
	} examples[EXAMPLES];
};

struct backtest {
	struct op_call *call;
	const struct guard_policy *policy;
	struct tally tallies[RULES_MAX];
	size_t n;
	int64_t calls, decided[VERDICT_ACTION_MAX], last;
};

static struct tally *tally_of(struct backtest *b, str rule, enum verdict_action action)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->tallies[i].action == action && str_eq(b->tallies[i].rule, rule))
			return &b->tallies[i];
	if (b->n == RULES_MAX)
		return NULL;
	b->tallies[b->n] = (struct tally){ .rule = arena_str(b->call->arena, rule), .action = action };
	return &b->tallies[b->n++];
}

static bool has_run(struct backtest *b, int64_t session, str id)
{
	struct query *q;
	bool ran;

	if (str_empty(id))
		return false;
	q = store_ask(b->call->store,
		"SELECT 1 FROM activities WHERE session = ?1 AND same = ?2 AND state IN ('done', 'failed')", "is",
		session, id);
	ran = query_step(q) == 1;
	query_reset(q);
	return ran;
}

static void count(struct tally *t, bool ran, int64_t at_us)
{
	int64_t day = at_us / (24 * 3600 * USEC_PER_SEC);

	t->times++;
	t->ran += ran;
	/* Calls come in the order in which they were stored: nearly that of time. */
	if (ran && day != t->day) {
		t->days++;
		t->day = day;
	}
}

static void judge(struct backtest *b, struct query *q, struct arena *scratch)
{
	const struct wire_hook hook = { .agent = query_str(q, 1),
		.event = query_str(q, 3),
		.cwd = query_str(q, 6),
		.payload = query_str(q, 4),
		.at_ms = query_int(q, 5) / USEC_PER_MSEC };
	struct guard_context context;
	struct verdict v = { 0 };
	struct tally *t;
	struct event e;

	agent_parse(agent_find(hook.agent), &hook, scratch, &e);
	context = guard_context_of(&e);
	guard_decide(b->policy, &context, &e, scratch, &v, NULL);
	b->calls++;
	b->decided[v.action]++;
	if (v.action < VERDICT_ASK || !(t = tally_of(b, v.rule, v.action)))
		return;
	if (t->times < EXAMPLES) {
		t->examples[t->times].command =
			arena_str(b->call->arena, str_cut_utf8(str_is_set(e.command) ? e.command : e.file_path, 300));
		t->examples[t->times].session = arena_str(b->call->arena, query_str(q, 2));
		t->examples[t->times].at_us = query_int(q, 5);
	}
	count(t, has_run(b, query_int(q, 7), e.tool_use_id), query_int(q, 5));
}

static int more_often(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	if (x->action != y->action)
		return x->action < y->action ? 1 : -1;
	return x->times < y->times ? 1 : x->times > y->times ? -1 : 0;
}

static void write_result(struct backtest *b, bool more)
{
	struct json_writer *w = b->call->w;

	qsort(b->tallies, b->n, sizeof *b->tallies, more_often);
	jw_object(w);
	jw_field_int(w, "calls", b->calls);
	jw_field_int(w, "denied", b->decided[VERDICT_DENY]);
	jw_field_int(w, "asked", b->decided[VERDICT_ASK]);
	if (more)
		jw_field_int(w, "next", b->last);
	jw_key(w, "rules");
	jw_array(w);
	for (size_t i = 0; i < b->n; i++) {
		const struct tally *t = &b->tallies[i];

		jw_object(w);
		jw_field_str(w, "rule", t->rule);
		jw_field_str(w, "decision", str_of(verdict_action_names[t->action]));
		jw_field_int(w, "times", t->times);
		jw_field_int(w, "ran", t->ran);
		jw_field_int(w, "days", t->days);
		jw_key(w, "examples");
		jw_array(w);
		for (int n = 0; n < EXAMPLES && n < t->times; n++) {
			jw_object(w);
			jw_field_str(w, "command", t->examples[n].command);
			jw_field_str(w, "session", t->examples[n].session);
			jw_field_int(w, "at_us", t->examples[n].at_us);
			jw_end_object(w);
		}
		jw_end_array(w);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
}

int op_backtest(struct op_call *call)
{
	struct backtest *b = arena_new(call->arena, struct backtest);
	struct guard_problem *problems = NULL;
	struct guard_policy *policy = guard_policy_load(call->ctx->paths->config, &problems);
	int64_t until = clock_mono_us() + AT_ONCE_US;
	struct arena scratch = { 0 };
	struct op_filter f;
	struct query *q;
	int got;

	op_read_filter(call, &f);
	*b = (struct backtest){ .call = call, .policy = policy, .last = op_int(call, "after") };
	q = store_ask(call->store,
		"SELECT e.seq, s.agent, s.native_id, coalesce(nullif(e.native, ''), e.kind), payload_text(e.payload), "
		"e.at, s.cwd, e.session FROM events e "
		"JOIN sessions s "
		"ON s.key = e.session WHERE e.seq > ?6 AND e.kind = 'PreToolUse' AND " OP_FILTER_SQL
		"AND e.at BETWEEN ?3 AND ?4 ORDER BY e.seq",
		OP_FILTER_TYPES "i", OP_FILTER_ARGS(&f), b->last);
	while ((got = query_step(q)) == 1 && clock_mono_us() < until) {
		b->last = query_int(q, 0);
		arena_reset(&scratch);
		judge(b, q, &scratch);
	}
	query_reset(q);
	if (got >= 0)
		write_result(b, got == 1);
	arena_release(&scratch);
	guard_policy_unref(policy);
	guard_problems_free(problems);
	return got < 0 ? got : 0;
}
