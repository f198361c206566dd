/* The stage of the efforts: which effort an event belongs to, what that effort asks of the agent, and what is kept of
 * it. Everything is decided from the live table; an event that belongs to no effort passes untouched, and costs one
 * look at whether there are any. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "engine/turn.h"

enum { ERROR_KEPT = 500 };

/* -- keeping ----------------------------------------------------------------------------------- */

static str close_payload(struct turn *t, struct buf *b, struct json_writer *w)
{
	str text;

	jw_end_object(w);
	text = b->full ? STR_NONE : arena_str(&t->arena, buf_str(b));
	buf_release(b);
	return text;
}

/* As an event of hookd's own, in the same write as the turn; `what` is like no other of the turn. Of what a user keeps
 * private nothing is said: false. */
static bool keep(struct turn *t, const struct ulid *effort, const char *what, struct buf *b, struct json_writer *w)
{
	str payload = close_payload(t, b, w);
	struct ulid id = ulid_derive(&t->event.id, str_of(what));
	struct record record;
	struct event e;

	if (!str_is_set(payload) || t->record.marks & EVENT_PRIVATE)
		return false;
	effort_event(&id, effort, payload, &t->arena, &e);
	redact(t->engine->redactor, &t->arena, &e, 0, &record, NULL);
	if (journal_add(t->engine->config.journal, &record) == 0)
		t->engine->audit_waits = true;
	efforts_apply(t->engine->efforts, e.payload, e.at_us);
	return true;
}

#define PAYLOAD(b, w)                           \
	struct buf b = BUF_INIT(LIMIT_PAYLOAD); \
	struct json_writer w = JSON_WRITER(&b)

static void write_id(struct json_writer *w, const char *name, const struct ulid *id)
{
	char text[ULID_TEXT + 1];

	ulid_format(id, text);
	jw_field_str(w, name, str_of(text));
}

/* That the effort goes on in this window. */
static bool keep_window(struct turn *t, struct effort_window *w)
{
	PAYLOAD(b, out);

	effort_open(&out, &w->effort->uid, EFFORT_OP_WINDOW);
	write_id(&out, "window", &w->id);
	jw_field_str(&out, "by", str_of(w->agent));
	jw_field_str(&out, "session", str_of(w->session));
	if (w->agent_id[0])
		jw_field_str(&out, "agent_id", str_of(w->agent_id));
	if (w->has_previous)
		write_id(&out, "previous", &w->previous);
	if (w->source[0])
		jw_field_str(&out, "source", str_of(w->source));
	return keep(t, &w->effort->uid, "window", &b, &out);
}

/* That a window ended, and what had been read in it. */
static bool write_end(struct turn *t, const char *what, const struct ulid *effort, const struct ulid *window,
	str reason, char *const *loads, size_t nloads)
{
	PAYLOAD(b, out);

	effort_open(&out, effort, EFFORT_OP_END);
	write_id(&out, "window", window);
	jw_field_str(&out, "reason", reason);
	jw_key(&out, "loads");
	jw_array(&out);
	for (size_t i = 0; i < nloads; i++)
		jw_str(&out, str_of(loads[i]));
	jw_end_array(&out);
	return keep(t, effort, what, &b, &out);
}

static bool keep_parted(struct turn *t, const char *what, const struct effort_parted *p)
{
	return write_end(t, what, &p->effort, &p->window, str_of(p->reason), p->loads, p->nloads);
}

static void keep_end(struct turn *t, struct effort_window *w, str reason)
{
	(void)write_end(t, "end", &w->effort->uid, &w->id, reason, w->loads, w->nloads);
	effort_window_end(t->engine->efforts, w);
}

/* data: JSON, or STR_NONE. */
static void keep_message(struct turn *t, struct effort_window *w, const char *kind, str text, str data)
{
	PAYLOAD(b, out);

	effort_open(&out, &w->effort->uid, EFFORT_OP_MESSAGE);
	jw_field_str(&out, "kind", str_of(kind));
	jw_field_str(&out, "text", str_cut_utf8(text, EFFORT_TEXT_MAX));
	if (str_is_set(data)) {
		jw_key(&out, "data");
		jw_raw(&out, data);
	}
	(void)keep(t, &w->effort->uid, "message", &b, &out);
}

/* -- saying ------------------------------------------------------------------------------------ */

/* Now, or with the next event at which the agent listens. */
static void say(struct turn *t, struct effort_window *w, str text)
{
	if (turn_takes_context(t))
		verdict_add_context(&t->verdict, &t->arena, STR("effort"), text);
	else
		effort_window_queue(w, text);
}

static void say_queued(struct turn *t, struct effort_window *w)
{
	str text;

	while (turn_takes_context(t) && effort_window_next(w, &t->arena, &text)) {
		verdict_add_context(&t->verdict, &t->arena, STR("effort"), text);
		sight_add_injection(&t->sight, &t->arena, text);
	}
}

/* -- asking ------------------------------------------------------------------------------------ */

/* What a worker is to look for, in the stage of the context. The window's marks go along: it may be gone by then. */
static struct context_effort *want(struct turn *t, const struct effort_window *w)
{
	const struct effort *one = w->effort;
	struct context_effort *q = t->wants;

	if (q)
		return q;
	q = t->wants = arena_new(&t->arena, struct context_effort);
	*q = (struct context_effort){ .uid = one->uid,
		.window = w->id,
		.ordinal = one->ordinal,
		.task = arena_str(&t->arena, str_of(one->task)),
		.root = arena_str(&t->arena, str_of(one->root)),
		.skill = arena_str(&t->arena, str_of(one->skill)),
		.mode = arena_str(&t->arena, str_of(one->mode)),
		.phase = arena_str(&t->arena, str_of(one->phase)),
		.goal = arena_str(&t->arena, str_of(one->goal)),
		.config = arena_str(&t->arena, str_of(one->config)),
		.metadata = arena_str(&t->arena, str_of(one->metadata)),
		.checklists = one->gates.checklists,
		.phase_due = STR_NONE,
		.dir_mark = STR_NONE,
		.phase_mark = STR_NONE };
	q->ngiven = MIN(w->ngiven, (size_t)EFFORT_GIVEN);
	if (q->ngiven) {
		uint64_t *given = arena_alloc(&t->arena, q->ngiven * sizeof *given);

		memcpy(given, w->given, q->ngiven * sizeof *given);
		q->given = given;
	}
	return q;
}

static str folder_of(const struct event *e)
{
	str path = e->file_path;

	for (size_t i = path.n; i > 1; i--)
		if (path.p[i - 1] == '/')
			return path.p[0] == '/' ? str_head(path, i - 1) : STR_NONE;
	return STR_NONE;
}

/* Once for each folder. */
static void want_directives(struct turn *t, struct effort_window *w, str dir)
{
	str mark = arena_strf(&t->arena, "dir:" STR_FMT, STR_ARG(dir));
	struct context_effort *q;

	if (str_empty(dir) || effort_window_has(w, mark))
		return;
	q = want(t, w);
	q->discovers = true;
	q->dir = arena_str(&t->arena, dir);
	q->dir_mark = mark;
}

static str phase_mark(struct turn *t, const struct effort_window *w)
{
	return arena_strf(&t->arena, "phase:%s", w->effort->phase);
}

static void want_start(struct turn *t, struct effort_window *w)
{
	struct context_effort *q = want(t, w);

	q->begins = true;
	q->is_subagent = w->agent_id[0];
	q->phase_mark = phase_mark(t, w);
	want_directives(t, w, t->event.cwd);
}

/* What did not come before: the start, files for which there was no room, the words about a phase. */
static void want_rest(struct turn *t, struct effort_window *w)
{
	const char *phase = w->effort->phase;
	struct context_effort *q;

	if (!turn_takes_context(t))
		return;
	if (w->owes_start) {
		want_start(t, w);
		return;
	}
	if (phase[0] && !effort_window_has(w, phase_mark(t, w))) {
		q = want(t, w);
		q->phase_due = arena_str(&t->arena, str_of(phase));
		q->phase_mark = phase_mark(t, w);
	}
	if (!w->nowed)
		return;
	q = want(t, w);
	for (; q->nowed < w->nowed; q->nowed++)
		q->owed[q->nowed] = arena_str(&t->arena, str_of(w->owed[q->nowed]));
}

/* -- events ------------------------------------------------------------------------------------ */

/* Given with the next event that can carry it, once. */
static void owe_file(struct turn *t, struct effort_window *w, str below)
{
	str path = arena_strf(&t->arena, "%s/" STR_FMT, w->effort->root, STR_ARG(below));

	if (!effort_window_has(w, path))
		effort_window_owes(w, path);
}

static void apply_fired(struct turn *t, struct effort_window *w, const struct effort_fired *f)
{
	str rule = f->is_rule ? arena_strf(&t->arena, "effort.rule." STR_FMT, STR_ARG(f->rule)) : f->rule;
	str text = str_empty(f->text)
		? arena_strf(&t->arena, "Rule " STR_FMT " of this effort holds.", STR_ARG(f->rule))
		: f->text;
	const struct ruling r = { .rule = rule, .action = VERDICT_DENY, .reason = text, .subject = t->event.tool_name };

	for (size_t i = 0; i < f->npreload; i++)
		owe_file(t, w, f->preload[i]);
	if (!f->blocks) {
		if (!f->npreload || !str_empty(f->text))
			say(t, w, text);
		return;
	}
	verdict_raise(&t->verdict, VERDICT_DENY, rule, text);
	verdict_add_ruling(&t->verdict, &t->arena, &r);
}

/* What is stopped already does not count. */
static void on_before(struct turn *t, struct effort_window *w)
{
	struct effort_judgement j;

	if (t->verdict.action == VERDICT_DENY)
		return;
	effort_before_tool(t->engine->efforts, w, &t->event, &t->arena, &j);
	if (w->effort && w->effort->gates.directives && t->event.tool_class == TOOL_WRITE)
		want_directives(t, w, folder_of(&t->event));
	if (t->wants)
		t->wants->gates = true;
	for (const struct effort_fired *f = j.fired; f; f = f->next)
		apply_fired(t, w, f);
	t->sight.fired = j.fired;
	t->sight.overflow = j.overflow;
}

/* Questions to the user, each with its options and the answer. */
static str write_dialogue(struct turn *t)
{
	const struct event *e = &t->event;
	struct buf b = BUF_INIT(EFFORT_JSON_MAX);
	struct json_writer w = JSON_WRITER(&b);
	const struct json *answers = json_get(e->tool_response, STR("answers"));
	str text = STR_NONE;

	if (!answers)
		answers = json_get(e->tool_input, STR("answers"));
	jw_array(&w);
	json_each(q, json_get(e->tool_input, STR("questions"))) {
		const struct json *answer = json_get(answers, json_str(json_get(q, STR("question"))));

		jw_object(&w);
		jw_field_str(&w, "question", json_str(json_get(q, STR("question"))));
		jw_key(&w, "options");
		jw_array(&w);
		json_each(o, json_get(q, STR("options")))
			jw_str(&w,
				str_is_set(json_str(json_get(o, STR("label")))) ? json_str(json_get(o, STR("label")))
										: json_str(o));
		jw_end_array(&w);
		if (answer) {
			jw_key(&w, "answer");
			jw_value(&w, answer);
		}
		jw_end_object(&w);
	}
	jw_end_array(&w);
	if (!b.full)
		text = arena_str(&t->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static str first_question(const struct event *e)
{
	return json_str(json_get(json_first(json_get(e->tool_input, STR("questions"))), STR("question")));
}

static bool wants_usage(const struct effort *one)
{
	return one->gates.overflow_warn || one->gates.overflow_block || one->rules;
}

static void on_after(struct turn *t, struct effort_window *w)
{
	const struct event *e = &t->event;

	if (e->tool_class == TOOL_READ)
		effort_window_loads(w, e->file_path);
	if (turn_takes_context(t))
		want_directives(t, w, folder_of(e));
	if (wants_usage(w->effort))
		effort_look(t, w, false);
	want_rest(t, w);
	if (str_eq(e->tool_name, STR("AskUserQuestion")) && !str_empty(first_question(e))) {
		str data = write_dialogue(t);

		if (str_is_set(data))
			t->sight.dialogue = arena_strf(&t->arena, "{\"questions\":" STR_FMT "}", STR_ARG(data));
		keep_message(t, w, "dialogue", first_question(e), t->sight.dialogue);
	}
	say_queued(t, w);
}

static void on_failure(struct turn *t, struct effort_window *w)
{
	const struct event *e = &t->event;

	if (!e->is_interrupt && !str_empty(e->error))
		keep_message(t, w, "failure",
			arena_strf(&t->arena, STR_FMT ": " STR_FMT, STR_ARG(e->tool_name),
				STR_ARG(str_cut_utf8(e->error, ERROR_KEPT))),
			STR_NONE);
	say_queued(t, w);
}

/* Which task it was, and whose. */
static void on_task_completed(struct turn *t, struct effort_window *w)
{
	static const struct {
		const char *said, *kept;
	} members[] = { { "task_id", "task" }, { "task_description", "description" }, { "teammate_name", "teammate" },
		{ "team_name", "team" } };
	const struct json *payload = t->event.payload;
	PAYLOAD(b, out);

	jw_object(&out);
	for (size_t i = 0; i < countof(members); i++) {
		str text = json_str(json_get(payload, str_of(members[i].said)));

		if (!str_empty(text))
			jw_field_str(&out, members[i].kept, str_cut_utf8(text, EFFORT_TEXT_MAX));
	}
	keep_message(t, w, "task", json_str(json_get(payload, STR("task_subject"))), close_payload(t, &b, &out));
}

/* [Session Context] of the systems before, in one line. */
static str session_line(struct turn *t, const struct effort_window *w)
{
	const struct effort *one = w->effort;
	char at[CLOCK_TEXT], beat[64] = "";

	clock_format(t->event.at_us, 1, at);
	if (one->gates.heartbeat_block)
		snprintf(beat, sizeof beat, " | Heartbeat: %lld/%lld", (long long)w->heartbeat,
			(long long)one->gates.heartbeat_block);
	return arena_strf(&t->arena, "[Session Context] Time: %.16s | Effort: %lld %s | Phase: %s%s", at,
		(long long)one->ordinal, one->skill, one->phase[0] ? one->phase : "none yet", beat);
}

static void on_prompt(struct turn *t, struct effort_window *w)
{
	t->sight.line = session_line(t, w);
	if (turn_takes_context(t))
		verdict_add_context(&t->verdict, &t->arena, STR("effort"), t->sight.line);
	say_queued(t, w);
	want_rest(t, w);
}

static void on_start(struct turn *t, struct effort_window *w)
{
	w->owes_start = true;
	if (turn_takes_context(t))
		want_start(t, w);
}

/* It is said once, in the effort; the fleet shows it. What to do about a limit is the user's decision. */
static void on_stop(struct turn *t, struct effort_window *w)
{
	enum agent_trouble trouble = agent_trouble_of(t->event.error, t->event.message);

	t->sight.trouble = trouble;
	if (trouble && !(t->record.marks & EVENT_PRIVATE))
		effort_report(t->engine, w, &t->event.id, trouble, t->event.message);
	effort_look(t, w, !trouble);
}

/* What is about to be forgotten is written down first; the answer waits for it. */
static void on_compact(struct turn *t, struct effort_window *w)
{
	struct context_effort *q = want(t, w);

	q->begins = q->snapshot = true;
}

static void on_session_end(struct turn *t, struct effort_window *w)
{
	keep_end(t, w, str_empty(t->event.reason) ? STR("other") : t->event.reason);
}

static void on_subagent_stop(struct turn *t, struct effort_window *w)
{
	/* The helper that writes the summary of a compaction has no window. */
	if (!w->agent_id[0])
		return;
	keep_end(t, w, STR("done"));
}

static void (*const handlers[EVENT_KIND_MAX])(struct turn *t, struct effort_window *w) = {
	[EVENT_SESSION_START] = on_start,
	[EVENT_SUBAGENT_START] = on_start,
	[EVENT_PRE_TOOL_USE] = on_before,
	[EVENT_POST_TOOL_USE] = on_after,
	[EVENT_POST_TOOL_USE_FAILURE] = on_failure,
	[EVENT_USER_PROMPT_SUBMIT] = on_prompt,
	[EVENT_PRE_COMPACT] = on_compact,
	[EVENT_STOP] = on_stop,
	[EVENT_STOP_FAILURE] = on_stop,
	[EVENT_TASK_COMPLETED] = on_task_completed,
	[EVENT_SESSION_END] = on_session_end,
	[EVENT_SUBAGENT_STOP] = on_subagent_stop,
};

/* Events that say something of a subagent, and so have a window of its own; others belong to the whole session. */
static bool has_window(const struct event *e)
{
	return event_kinds[e->kind].flags & EVENT_IS_TOOL || e->kind == EVENT_SUBAGENT_START ||
		e->kind == EVENT_SUBAGENT_STOP || e->kind == EVENT_TASK_COMPLETED || str_empty(e->agent_id);
}

static void list_pending(struct turn *t, const struct effort_window *w)
{
	struct sight *s = &t->sight;

	for (s->npending = 0; s->npending < w->nowed; s->npending++)
		s->pending[s->npending] = arena_str(&t->arena, str_of(w->owed[s->npending]));
}

static void see(struct turn *t, const struct effort_window *w)
{
	const struct effort *one = w->effort;

	t->sight.found = true;
	t->sight.effort = one->uid;
	t->sight.window = w->id;
	t->sight.task = arena_str(&t->arena, str_of(one->task));
	t->sight.skill = arena_str(&t->arena, str_of(one->skill));
	t->sight.phase = arena_str(&t->arena, str_of(one->phase));
	t->sight.config = arena_str(&t->arena, str_of(one->config));
	t->sight.metadata = arena_str(&t->arena, str_of(one->metadata));
	list_pending(t, w);
	t->sight.heartbeat = w->heartbeat;
	t->sight.usage = effort_window_usage(w);
}

/* What the window was before comes first, then whose place it takes, then the window itself. Of a private turn nothing
 * is said; the next one says it. */
static void tell_window(struct turn *t, struct effort_window *w)
{
	struct efforts *all = t->engine->efforts;
	struct effort_parted *before;

	if (t->record.marks & EVENT_PRIVATE)
		return;
	if (w->parted) {
		before = w->parted;
		w->parted = NULL;
		(void)keep_parted(t, "parted", before);
		effort_parted_free(before);
	}
	if (!w->effort || !w->untold)
		return;
	before = effort_window_follow(all, w, &t->event);
	if (before)
		(void)keep_parted(t, "lost", before);
	effort_parted_free(before);
	if (keep_window(t, w)) {
		effort_window_told(all, w);
		w->owes_start = true;
	}
}

enum stage_result stage_effort(struct turn *t)
{
	struct effort_window *w;
	struct event seen;

	if (t->event.kind == EVENT_CONFIG_CHANGE)
		effort_skills_drop(t->engine->skills);
	if (!efforts_matter(t->engine->efforts) || !has_window(&t->event))
		return STAGE_DONE;
	/* Whoever did a task, it is the session's. */
	seen = t->event;
	if (seen.kind == EVENT_TASK_COMPLETED)
		seen.agent_id = STR("");
	w = effort_window_of(t->engine->efforts, &seen);
	if (!w)
		return STAGE_DONE;
	tell_window(t, w);
	/* In a task that asks for an effort, calls without one are judged as well. */
	if (handlers[t->event.kind] && (w->effort || t->event.kind == EVENT_PRE_TOOL_USE))
		handlers[t->event.kind](t, w);
	if (w->effort)
		see(t, w);
	return STAGE_DONE;
}

/* -- answers ----------------------------------------------------------------------------------- */

static struct effort_window *window_of(struct turn *t)
{
	const struct event *e = &t->event;
	struct effort_window *w = effort_window_find(t->engine->efforts, e->agent, e->session, e->agent_id);

	return w && w->effort && t->wants && ulid_eq(&w->effort->uid, &t->wants->uid) &&
			ulid_eq(&w->id, &t->wants->window)
		? w
		: NULL;
}

static void keep_directive(struct turn *t, const struct context_read *read)
{
	PAYLOAD(b, out);
	struct ulid id = ulid_derive(&t->event.id, read->path);
	struct record record;
	struct event e;
	str payload;

	effort_open(&out, &t->wants->uid, EFFORT_OP_DIRECTIVE);
	jw_field_str(&out, "path", read->path);
	jw_field_str(&out, "hash", read->hash);
	payload = close_payload(t, &b, &out);
	if (!str_is_set(payload) || t->record.marks & EVENT_PRIVATE)
		return;
	effort_event(&id, &t->wants->uid, payload, &t->arena, &e);
	redact(t->engine->redactor, &t->arena, &e, 0, &record, NULL);
	if (journal_add(t->engine->config.journal, &record) == 0)
		t->engine->audit_waits = true;
}

static void take_read(struct turn *t, struct effort_window *w, const struct context_read *read)
{
	struct sight *s = &t->sight;
	str path = arena_str(&t->arena, read->path);

	if (read->is_owed) {
		effort_window_owes(w, path);
		return;
	}
	(void)effort_window_gives(w, path);
	effort_window_loads(w, path);
	s->files[s->nfiles++] = path;
}

/* The text comes with the reason, so that the call can be repeated at once. */
static void stop_to_read(struct turn *t, str text)
{
	const struct effort_fired f = { .rule = STR("effort.directives"),
		.blocks = true,
		.text = arena_strf(&t->arena,
			"Read this before you change something here, then repeat the call.\n" STR_FMT, STR_ARG(text)) };

	apply_fired(t, NULL, &f);
}

static void keep_snapshot(struct turn *t, struct effort_window *w)
{
	PAYLOAD(b, out);

	effort_open(&out, &w->effort->uid, EFFORT_OP_SNAPSHOT);
	write_id(&out, "window", &w->id);
	jw_field_str(&out, "reason", json_str(json_get(t->event.payload, STR("trigger"))));
	jw_key(&out, "checkpoint");
	jw_raw(&out, t->sight.standing);
	(void)keep(t, &w->effort->uid, "snapshot", &b, &out);
}

/* Under `hookd watch` a full context ends here: another window goes on with the effort. Without, or if a person asked
 * for it, the agent compacts as it would have. */
static void end_overflowed(struct turn *t, struct effort_window *w)
{
	const struct effort *one = w->effort;
	struct fleet_agent *a = fleet_watched(t->engine->fleet, event_env(t->event.env, t->event.nenv, "HOOKD_WATCH"));
	char uid[ULID_TEXT + 1];
	str prompt;

	if (!a || w->agent_id[0] || !str_eq(json_str(json_get(t->event.payload, STR("trigger"))), STR("auto")))
		return;
	prompt = effort_prompt(&t->arena, &one->uid, one->ordinal, str_of(one->skill), str_of(one->task));
	ulid_format(&one->uid, uid);
	keep_message(t, w, "restart", prompt, STR_NONE);
	keep_end(t, w, STR("overflow"));
	fleet_restart(a, str_of(uid), prompt);
	t->engine->fleet_moved = true;
}

/* Two calls at once are not given the same: what is looked for counts as given, until it turns out that it was not. */
void effort_asked(struct turn *t)
{
	struct effort_window *w = window_of(t);
	const struct context_effort *q = t->wants;

	if (!w)
		return;
	if (str_is_set(q->dir_mark))
		(void)effort_window_gives(w, q->dir_mark);
	if (str_is_set(q->phase_mark))
		(void)effort_window_gives(w, q->phase_mark);
	if (q->begins && !q->snapshot)
		w->owes_start = false;
	if (q->nowed)
		effort_window_forgive(w);
}

void effort_take_reply(struct turn *t, const struct context_reply *r)
{
	struct effort_window *w = window_of(t);
	str text;

	if (!w)
		return;
	if (str_is_set(r->standing))
		t->sight.standing = arena_str(&t->arena, r->standing);
	if (t->wants->snapshot) {
		if (str_is_set(r->standing))
			keep_snapshot(t, w);
		end_overflowed(t, w);
		return;
	}
	for (size_t i = 0; i < r->nreads; i++) {
		take_read(t, w, &r->reads[i]);
		if (r->reads[i].is_directive)
			keep_directive(t, &r->reads[i]);
	}
	if (r->phase_left_out)
		effort_window_takes_back(w, t->wants->phase_mark);
	list_pending(t, w);
	if (!str_is_set(r->effort))
		return;
	text = arena_str(&t->arena, r->effort);
	if (t->wants->gates) {
		stop_to_read(t, text);
		return;
	}
	verdict_add_context(&t->verdict, &t->arena, STR("effort"), text);
	if (!t->wants->begins)
		sight_add_injection(&t->sight, &t->arena, text);
}

/* It comes with the next event that can carry it. */
void effort_missed(struct turn *t)
{
	struct effort_window *w = window_of(t);
	const struct context_effort *q = t->wants;

	if (!w)
		return;
	if (q->snapshot) {
		end_overflowed(t, w);
		return;
	}
	w->owes_start |= q->begins;
	if (str_is_set(q->dir_mark))
		effort_window_takes_back(w, q->dir_mark);
	if (str_is_set(q->phase_mark))
		effort_window_takes_back(w, q->phase_mark);
	for (size_t i = 0; i < q->nowed; i++)
		effort_window_owes(w, q->owed[i]);
}

/* -- reports ----------------------------------------------------------------------------------- */

/* No turn stands behind it: a worker may have found it later. */
void effort_report(struct engine *e, struct effort_window *w, const struct ulid *event, enum agent_trouble trouble,
	str said)
{
	struct arena a = { 0 };
	struct ulid id = ulid_derive(event, STR("report"));
	struct record record;
	struct event made;
	PAYLOAD(b, out);

	effort_open(&out, &w->effort->uid, EFFORT_OP_MESSAGE);
	jw_field_str(&out, "kind", STR("report"));
	jw_field_str(&out, "text",
		arena_strf(&a, "%s: " STR_FMT, agent_trouble_names[trouble], STR_ARG(str_cut_utf8(said, ERROR_KEPT))));
	jw_end_object(&out);
	effort_event(&id, &w->effort->uid, arena_str(&a, buf_str(&b)), &a, &made);
	buf_release(&b);
	redact(e->redactor, &a, &made, 0, &record, NULL);
	if (journal_add(e->config.journal, &record) == 0)
		e->audit_waits = true;
	arena_release(&a);
}
