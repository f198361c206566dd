/* What was decided, as the payload of an event of hookd's own. */
#include "base/limits.h"
#include "event/event.h"

enum { RULINGS_MAX = 16 };

/* unheard: the agent has no way to receive it, so it is recorded as observed. */
static void write_ruling(struct json_writer *w, const struct ruling *f, enum verdict_action said, bool prevailed,
	bool unheard)
{
	jw_object(w);
	jw_field_str(w, "rule", f->rule);
	jw_field_str(w, "decision", str_of(verdict_action_names[said]));
	jw_field_bool(w, "prevailed", prevailed && !unheard);
	if (f->observed || unheard)
		jw_field_bool(w, "observed", true);
	jw_field_str(w, "reason", f->reason);
	jw_field_str(w, "subject", f->subject);
	if (f->end) {
		jw_field_int(w, "begin", f->begin);
		jw_field_int(w, "end", f->end);
	}
	if (f->duration_us)
		jw_field_int(w, "duration_us", f->duration_us);
	jw_end_object(w);
}

/* Stages that only raised the verdict and noted nothing are noted by what they said. The ruling that prevailed says
 * what the agent heard: where nobody can be asked, a question is a denial. */
static void write_rulings(struct json_writer *w, const struct verdict *v, enum verdict_action heard)
{
	bool unheard = v->action > VERDICT_ALLOW && heard == VERDICT_NONE, noted = v->action == VERDICT_NONE;
	enum verdict_action said = unheard ? v->action : heard;
	int n = 0;

	jw_key(w, "rulings");
	jw_array(w);
	for (const struct ruling *f = v->rulings; f && n < RULINGS_MAX; f = f->next, n++) {
		bool prevails = !noted && !f->observed && f->action == v->action && str_eq(f->rule, v->rule);

		write_ruling(w, f, prevails ? said : f->action, prevails, unheard);
		noted |= prevails;
	}
	if (!noted)
		write_ruling(w, &(struct ruling){ .rule = v->rule, .action = v->action, .reason = v->reason }, said,
			true, unheard);
	jw_end_array(w);
}

str verdict_audit(const struct verdict *v, const struct event *e, enum verdict_action heard, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	char id[ULID_TEXT + 1];
	str text;

	if (v->action == VERDICT_NONE && !v->rulings)
		return STR_NONE;
	ulid_format(&e->id, id);
	jw_object(&w);
	jw_field_str(&w, "session_id", e->session);
	jw_field_str(&w, "event_id", str_of(id));
	jw_field_str(&w, "event", str_of(event_kinds[e->kind].name));
	jw_field_str(&w, "tool_name", e->tool_name);
	jw_field_str(&w, "tool_use_id", e->tool_use_id);
	jw_field_str(&w, "agent_id", e->agent_id);
	jw_field_str(&w, "decision", str_of(verdict_action_names[heard]));
	if (heard != v->action)
		jw_field_str(&w, "wanted", str_of(verdict_action_names[v->action]));
	jw_field_int(&w, "judged_us", v->judged_us);
	write_rulings(&w, v, heard);
	jw_end_object(&w);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}
