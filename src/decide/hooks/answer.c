/* What a hook printed becomes its part of the verdict. The table of decisions/0009 is this file. */
#include <signal.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "hooks/internal.h"

enum { REASON_MAX = 8192, SHELL_NOT_RUN = 126, SHELL_NOT_FOUND = 127 };

static bool is_stop(enum event_kind kind)
{
	return kind == EVENT_STOP || kind == EVENT_SUBAGENT_STOP;
}

/* Valid UTF-8 in the arena, trimmed and bounded. */
static str clean(struct arena *a, str text, size_t max)
{
	struct buf b = BUF_INIT(4 * max + 16);
	str result;

	utf8_add_clean(&b, str_cut_utf8(str_trim(text), max));
	result = arena_str(a, buf_str(&b));
	buf_release(&b);
	return result;
}

/* -- what blocking means depends on the moment ------------------------------------------------- */

void hook_answer_block(const struct event *e, str reason, struct hook_answer *ret)
{
	if (is_stop(e->kind)) {
		ret->continue_turn = true;
		ret->reason = reason;
	} else if (event_kinds[e->kind].flags & EVENT_IS_DECISION) {
		ret->action = VERDICT_DENY;
		ret->reason = reason;
	} else if (event_kinds[e->kind].flags & EVENT_TAKES_CONTEXT && e->kind != EVENT_SESSION_START) {
		ret->context = reason; /* it has happened; the model is informed */
	} else {
		ret->system_message = reason;
	}
}

/* -- JSON -------------------------------------------------------------------------------------- */

struct printed {
	const struct json *root, *specific;
	const struct event *e;
	struct arena *a;
	struct hook_answer *ret;
};

static void fail(struct hook_answer *ret, str why)
{
	*ret = (struct hook_answer){ .failure = why };
}

static bool take_decision(struct printed *p, str word, str reason)
{
	static const struct {
		const char *word;
		enum verdict_action action;
	} words[] = { { "allow", VERDICT_ALLOW }, { "approve", VERDICT_ALLOW }, { "ask", VERDICT_ASK },
		{ "defer", VERDICT_NONE } };

	if (str_eq(word, STR("deny")) || str_eq(word, STR("block"))) {
		hook_answer_block(p->e, reason, p->ret);
		return true;
	}
	for (size_t i = 0; i < countof(words); i++)
		if (str_eq(word, str_of(words[i].word))) {
			if (event_kinds[p->e->kind].flags & EVENT_IS_DECISION && !is_stop(p->e->kind)) {
				p->ret->action = words[i].action;
				p->ret->reason = reason;
			}
			return true;
		}
	fail(p->ret,
		arena_strf(p->a, "it answered with an unknown decision: '" STR_FMT "'",
			STR_ARG(clean(p->a, word, 60))));
	return false;
}

/* {"decision": {"behavior": …}} of a permission. */
static bool take_permission(struct printed *p, const struct json *d)
{
	const struct json *input = json_get(d, STR("updatedInput"));

	if (input && input->type == JSON_OBJECT)
		p->ret->updated_input = input;
	return take_decision(p, json_str(json_get(d, STR("behavior"))), json_str(json_get(d, STR("message"))));
}

static bool take_claude(struct printed *p)
{
	const struct json *root = p->root, *specific = p->specific, *v;
	str name = json_str(json_get(specific, STR("hookEventName"))), text;

	if (str_is_set(name) && event_kind_by_name(name) != p->e->kind) {
		fail(p->ret, STR("its answer is for another event (hookEventName)"));
		return false;
	}
	v = json_get(root, STR("decision"));
	if (v && v->type == JSON_STRING && !take_decision(p, v->text, json_str(json_get(root, STR("reason")))))
		return false;
	v = json_get(specific, STR("permissionDecision"));
	if (v && !take_decision(p, json_str(v), json_str(json_get(specific, STR("permissionDecisionReason")))))
		return false;
	v = json_get(specific, STR("decision"));
	if (v && v->type == JSON_OBJECT && !take_permission(p, v))
		return false;
	v = json_get(specific, STR("updatedInput"));
	if (!v)
		v = json_get(root, STR("updatedInput"));
	if (v && v->type == JSON_OBJECT)
		p->ret->updated_input = v;
	v = json_get(root, STR("continue"));
	if (v && v->type == JSON_BOOL && !v->flag) {
		p->ret->end_turn = true;
		p->ret->stop_reason = json_str(json_get(root, STR("stopReason")));
	}
	text = json_str(json_get(specific, STR("additionalContext")));
	if (!str_is_set(text))
		text = json_str(json_get(root, STR("additionalContext")));
	if (!str_empty(text) && is_stop(p->e->kind))
		hook_answer_block(p->e, text, p->ret);
	else if (!str_empty(text))
		p->ret->context = text;
	if (!str_empty(json_str(json_get(root, STR("systemMessage")))))
		p->ret->system_message = json_str(json_get(root, STR("systemMessage")));
	return true;
}

/* {"action": …, "message": …, "modifiedInput": …}. Its allow means "nothing against it", so it is no permission. */
static bool take_code_agent(struct printed *p)
{
	str action = json_str(json_get(p->root, STR("action"))), message = json_str(json_get(p->root, STR("message")));
	const struct json *input = json_get(p->root, STR("modifiedInput"));

	if (str_eq(action, STR("error"))) {
		fail(p->ret, str_empty(message) ? STR("it reported a failure") : clean(p->a, message, 300));
		return false;
	}
	if (str_eq(action, STR("block"))) {
		hook_answer_block(p->e, message, p->ret);
	} else if (!str_eq(action, STR("allow")) && !str_eq(action, STR("continue"))) {
		fail(p->ret,
			arena_strf(p->a, "it answered with an unknown action: '" STR_FMT "'",
				STR_ARG(clean(p->a, action, 60))));
		return false;
	}
	if (input && input->type == JSON_OBJECT)
		p->ret->updated_input = input;
	return true;
}

/* Members that only the hook saw are removed; if it changed one of them, the agent cannot take the change. */
static void give_back_input(struct printed *p)
{
	const struct event *e = p->e;
	struct buf b = BUF_INIT(LIMIT_REPLY);
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;
	bool changed = false, any = false;

	if (!p->ret->updated_input)
		return;
	json_each(m, p->ret->updated_input)
		if (hook_is_added_member(e, m->key)) {
			any = true;
			changed |= !str_eq(json_str(m), str_eq(m->key, STR("command")) ? e->command : e->file_path);
		}
	if (!any)
		return;
	jw_object(&w);
	json_each(m, p->ret->updated_input)
		if (!hook_is_added_member(e, m->key)) {
			jw_key_str(&w, m->key);
			jw_value(&w, m);
		}
	jw_end_object(&w);
	if (b.full || json_parse(p->a, arena_str(p->a, buf_str(&b)), 0, &v, NULL) < 0)
		changed = true;
	buf_release(&b);
	p->ret->updated_input = changed ? NULL : v;
	if (changed && p->ret->action < VERDICT_ASK) {
		p->ret->action = VERDICT_ASK;
		p->ret->reason = STR("the hook wants to change this call in a way that this agent does not support");
	}
}

/* False: it is not JSON although it begins like it. */
static bool take_json(const struct event *e, str text, struct arena *a, struct hook_answer *ret)
{
	struct printed p = { .e = e, .a = a, .ret = ret };
	struct json *root;
	bool good;

	if (json_parse(a, arena_str(a, text), JSON_LENIENT_UTF8, &root, NULL) < 0)
		return false;
	p.root = root;
	p.specific = json_get(root, STR("hookSpecificOutput"));
	good = json_get(root, STR("action")) ? take_code_agent(&p) && take_claude(&p) : take_claude(&p);
	if (good)
		give_back_input(&p);
	return true;
}

/* -- all of it --------------------------------------------------------------------------------- */

static str how_it_ended(const struct child_result *r, struct arena *a)
{
	str err = clean(a, r->err, 200);

	if (r->error)
		return arena_strf(a, "it could not be started: %s", strerror(-r->error));
	if (r->timed_out)
		return arena_strf(a, "it took longer than %lld ms", (long long)(r->timeout_us / USEC_PER_MSEC));
	if (r->killed)
		return STR("hookd stopped before it finished");
	if (r->exit_code < 0)
		return arena_strf(a, "it was killed by signal %d (%s)", r->signal, strsignal(r->signal));
	if (r->exit_code == SHELL_NOT_RUN || r->exit_code == SHELL_NOT_FOUND)
		return arena_strf(a, "it could not be started: " STR_FMT, STR_ARG(err));
	return arena_strf(a, "it exited with code %d%s%s" STR_FMT, r->exit_code,
		r->exit_code == 1 ? " (only 2 blocks, unless exit_dialect is code-agent)" : "", err.n ? ": " : "",
		STR_ARG(err));
}

static bool could_not_run(const struct child_result *r)
{
	return r->error || r->timed_out || r->killed || r->exit_code < 0 || r->exit_code == SHELL_NOT_RUN ||
		r->exit_code == SHELL_NOT_FOUND;
}

void hook_answer_read(const struct hook *h, const struct event *e, const struct child_result *r, struct arena *a,
	struct hook_answer *ret)
{
	str out = str_trim(r->out), err = clean(a, r->err, REASON_MAX);
	bool json = str_starts(out, STR("{"));

	*ret = (struct hook_answer){ 0 };
	if (could_not_run(r)) {
		fail(ret, how_it_ended(r, a));
		return;
	}
	/* The codes are curl's, and none of them is an answer. */
	if (h->type == HOOK_HTTP && r->exit_code) {
		fail(ret, err.n ? err : how_it_ended(r, a));
		return;
	}
	if (h->code_agent ? r->exit_code != 0 : r->exit_code == 2) {
		hook_answer_block(e, err.n || !h->code_agent ? err : clean(a, out, REASON_MAX), ret);
		return;
	}
	if (json && r->out_total > r->out.n) {
		fail(ret, STR("it printed more than 1 MiB"));
		return;
	}
	if (json && take_json(e, out, a, ret))
		return;
	if (r->exit_code)
		fail(ret, how_it_ended(r, a));
	else if (json)
		fail(ret, STR("its output starts like JSON but is not valid JSON"));
	else if (e->kind == EVENT_SESSION_START || e->kind == EVENT_USER_PROMPT_SUBMIT)
		ret->context = clean(a, out, LIMIT_REPLY / 8);
}

static str join(struct arena *a, str first, str second)
{
	if (str_empty(first) || str_empty(second))
		return str_empty(first) ? second : first;
	return arena_strf(a, STR_FMT "\n" STR_FMT, STR_ARG(first), STR_ARG(second));
}

/* Raises the verdict, and keeps for the audit that it was tried. */
static void rule_by_hook(const struct hook *h, struct arena *a, struct verdict *v, enum verdict_action action, str rule,
	str reason)
{
	verdict_raise(v, action, rule, reason);
	/* The audit is written when the set may be gone. */
	verdict_add_ruling(v, a,
		&(struct ruling){ .rule = rule,
			.action = action,
			.reason = reason,
			.subject = arena_str(a, h->command) });
}

void hook_answer_apply(const struct hook *h, const struct event *e, const struct hook_answer *answer, struct arena *a,
	struct verdict *v)
{
	str title = str_is_set(h->name) ? h->name : str_of(h->id);
	str rule = arena_strf(a, "hook:" STR_FMT, STR_ARG(str_cut_utf8(title, LIMIT_NAME)));
	bool decides = event_kinds[e->kind].flags & EVENT_IS_DECISION && !is_stop(e->kind);

	if (str_is_set(answer->failure)) {
		if (h->on_failure != VERDICT_NONE && decides)
			rule_by_hook(h, a, v, h->on_failure, rule,
				arena_strf(a, "the hook '" STR_FMT "' decides this, and it failed: " STR_FMT,
					STR_ARG(title), STR_ARG(answer->failure)));
		return;
	}
	if (answer->action != VERDICT_NONE)
		rule_by_hook(h, a, v, answer->action, rule, clean(a, answer->reason, REASON_MAX));
	if (answer->updated_input)
		v->updated_input = answer->updated_input;
	verdict_add_context(v, a, rule, answer->context);
	v->system_message = join(a, v->system_message, answer->system_message);
	if (answer->continue_turn && !v->end_turn) {
		v->reason = v->continue_turn ? join(a, v->reason, clean(a, answer->reason, REASON_MAX))
					     : clean(a, answer->reason, REASON_MAX);
		v->rule = rule;
		v->continue_turn = true;
	}
	if (answer->end_turn) {
		v->end_turn = true;
		v->continue_turn = false;
		if (str_empty(v->reason))
			v->reason = clean(a, answer->stop_reason, REASON_MAX);
	}
}

void hook_cannot_run(const struct hook *h, const struct event *e, struct arena *a, struct verdict *v)
{
	struct hook_answer failed = { 0 };

	if (h->state != HOOK_NOT_RUN)
		return;
	failed.failure = arena_strf(a, "hooks of type %s are not run", hook_type_names[h->type]);
	hook_answer_apply(h, e, &failed, a, v);
}
