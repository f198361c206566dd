/* Changes of memories: edited, resolved, superseded, pinned, muted, merged. */
#include <errno.h>

#include "api/learning.h"
#include "base/clock.h"
#include "capture/capture.h"

enum { MERGE_MAX = 20 };

const struct op_column op_change_result[] = { { "id", 's' }, { "status", 's' }, { "reason", 's' }, { 0 } };

/* -- one memory -------------------------------------------------------------------------------- */

static int refuse_aside(struct lesson *l, const struct memory_state *m, const char *what)
{
	char id[ULID_TEXT + 1];

	ulid_format(&m->uid, id);
	return err_set(l->call.err, -EPERM,
		"%s was put aside, because it " STR_FMT
		", and cannot be %s; decide about it with: hookd review approve %s, "
		"or reject",
		id, STR_ARG(m->reason), what, id);
}

static int check_successor(struct lesson *l, const struct memory_state *m)
{
	struct memory_state by;
	int r = lesson_find(l, op_text(&l->call, "successor"), &by);

	if (r < 0)
		return r;
	if (ulid_eq(&by.uid, &m->uid))
		return err_set(l->call.err, -EINVAL, "a memory cannot supersede itself; name the one that does");
	if (by.superseded && ulid_eq(&by.successor, &m->uid))
		return err_set(l->call.err, -EINVAL, "'successor' is superseded by this one; reactivate it first");
	return str_eq(by.status, STR("quarantined")) ? refuse_aside(l, &by, "supersede another") : 0;
}

/* Another memory of the project may say the new text already; the fold would then leave this one as it is. */
static int check_new_text(struct lesson *l, const struct memory_state *m)
{
	struct ulid same;
	char id[ULID_TEXT + 1];
	int got = capture_find_memory(l->call.store, m->project, lesson_stored(l, "text"), STR_NONE,
		lesson_stored(l, "file"), &same);

	if (got != 1 || ulid_eq(&same, &m->uid))
		return MIN(got, 0);
	ulid_format(&same, id);
	return err_set(l->call.err, -EEXIST, "%s says that already; supersede this one by it", id);
}

/* The members of the call that are members of the event too. */
static str write_change(struct lesson *l, const struct memory_state *m, bool approved)
{
	static const char *const texts[] = { "text", "file", "reason", "successor" };
	static const char *const flags[] = { "pinned", "muted" };
	const struct op_call *call = &l->call;
	bool says_something = op_has(call, "text") || op_has(call, "file");
	const char *why = says_something ? lesson_suspect(l, op_text(call, "text"), op_text(call, "file")) : NULL;
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	char id[ULID_TEXT + 1];
	str type, payload;

	ulid_format(&m->uid, id);
	jw_object(&w);
	jw_field_str(&w, "memory", str_of(id));
	jw_field_str(&w, "op", STR("change"));
	if (approved)
		jw_field_int(&w, "approved", 1);
	if (op_has(call, "type") && lesson_take_type(&l->call, op_text(call, "type"), &type) == 0)
		jw_field_str(&w, "type", type);
	for (size_t i = 0; i < countof(texts); i++)
		if (op_has(call, texts[i]) && !(why && i == 2))
			jw_field_str(&w, texts[i], op_text(call, texts[i]));
	for (size_t i = 0; i < countof(flags); i++)
		if (op_has(call, flags[i]))
			jw_field_int(&w, flags[i], op_bool(call, flags[i]));
	if (op_has(call, "importance"))
		jw_field_int(&w, "importance", op_int(call, "importance"));
	if (op_has(call, "concepts")) {
		jw_key(&w, "concepts");
		jw_value(&w, op_json(call, "concepts"));
	}
	/* Words that are not the owner's take the place of whoever's they were. */
	if (says_something && !call->owner && memory_trust_rank(m->trust) > memory_trust_rank(STR("agent")))
		jw_field_str(&w, "trust", STR("agent"));
	if (why || op_has(call, "status"))
		jw_field_str(&w, "status", why ? STR("quarantined") : op_text(call, "status"));
	if (why)
		jw_field_str(&w, "reason", str_of(why));
	jw_end_object(&w);
	payload = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	l->result = arena_strf(call->arena, "{\"id\":\"%s\",\"status\":\"" STR_FMT "\"%s%s%s}", id,
		STR_ARG(why                              ? STR("quarantined")
				: op_has(call, "status") ? op_text(call, "status")
							 : m->status),
		why ? ",\"reason\":\"" : "", why ? why : "", why ? "\"" : "");
	return payload;
}

static int change(struct lesson *l, bool approved)
{
	const struct op_call *call = &l->call;
	struct ulid id = ulid_make();
	struct memory_state m;
	int r = lesson_find(l, op_text(call, "id"), &m);

	if (r == 0 && op_has(call, "successor"))
		r = check_successor(l, &m);
	if (r == 0 && !approved && op_has(call, "status") && str_eq(m.status, STR("quarantined")))
		r = refuse_aside(l, &m, arena_strf(call->arena, "made " STR_FMT, STR_ARG(op_text(call, "status"))).p);
	if (r < 0)
		return r;
	lesson_add(l, &id, &m.uid, write_change(l, &m, approved));
	return op_has(call, "text") ? check_new_text(l, &m) : 0;
}

static int prepare_change(struct lesson *l)
{
	return change(l, false);
}

static int prepare_review(struct lesson *l)
{
	return change(l, true);
}

int op_memory_change(struct op_call *call)
{
	str type;
	int r = op_has(call, "text") ? lesson_check_text(call, op_text(call, "text")) : 0;

	if (r == 0 && op_has(call, "type"))
		r = lesson_take_type(call, op_text(call, "type"), &type);
	if (r == 0)
		r = lesson_take_concepts(call, op_json(call, "concepts"), STR_NONE, &type);
	return r < 0 ? r : learn(call, 1, prepare_change);
}

/* By the owner: what was put aside may become active. */
int op_memory_review(struct op_call *call)
{
	return learn(call, 1, prepare_review);
}

/* For agents: it no longer counts, and the user can see that and take it back. Only the user deletes. */
static int prepare_forget(struct lesson *l)
{
	struct ulid id = ulid_make();
	struct memory_state m;
	char text[ULID_TEXT + 1];
	int r = lesson_find(l, op_text(&l->call, "id"), &m);

	if (r < 0)
		return r;
	ulid_format(&m.uid, text);
	lesson_add(l, &id, &m.uid,
		arena_strf(l->call.arena,
			"{\"memory\":\"%s\",\"op\":\"change\",\"status\":\"resolved\",\"reason\":\"an agent asked\"}",
			text));
	l->result = arena_strf(l->call.arena, "{\"id\":\"%s\",\"status\":\"%s\"}", text,
		str_eq(m.status, STR("quarantined")) ? "quarantined" : "resolved");
	return 0;
}

int op_forget(struct op_call *call)
{
	return learn(call, 1, prepare_forget);
}

/* -- several become one ------------------------------------------------------------------------ */

struct merge {
	struct memory_state parts[MERGE_MAX];
	size_t n;
	struct memory_note note;
};

static int read_parts(struct lesson *l, struct merge *m)
{
	int r = 0;

	json_each(id, op_json(&l->call, "ids")) {
		if (r < 0 || m->n == MERGE_MAX)
			break;
		r = lesson_find(l, json_str(id), &m->parts[m->n]);
		if (r < 0)
			return r;
		for (size_t i = 0; i < m->n; i++)
			if (ulid_eq(&m->parts[i].uid, &m->parts[m->n].uid))
				return err_set(l->call.err, -EINVAL, "a memory cannot be merged with itself");
		if (m->n && m->parts[m->n].project != m->parts[0].project)
			return err_set(l->call.err, -EINVAL, "memories of different projects cannot be merged");
		/* Text that was put aside would become active with the rest. */
		if (str_eq(m->parts[m->n].status, STR("quarantined")))
			return refuse_aside(l, &m->parts[m->n], "merged");
		if (!str_eq(m->parts[m->n].status, STR("active")))
			return err_set(l->call.err, -EINVAL,
				"a memory that is " STR_FMT " cannot be merged; reactivate it first",
				STR_ARG(m->parts[m->n].status));
		m->n++;
	}
	return r;
}

/* What is new about it: the text that was given, or all of theirs. Nobody's words gain trust by it. */
static int fill_note(struct lesson *l, struct merge *m)
{
	const struct op_call *call = &l->call;
	struct buf b = BUF_INIT(MERGE_MAX * 8192);
	str trust = call->owner || !op_has(call, "text") ? STR("user") : STR("agent");
	const char *why;

	m->note = (struct memory_note){ .uid = ulid_make(),
		.created_us = clock_wall_us(),
		.type = m->parts[0].type,
		.file = m->parts[0].file,
		.origin = STR("merge") };
	for (size_t i = 0; i < m->n; i++) {
		const struct memory_state *p = &m->parts[i];

		buf_addf(&b, "%s" STR_FMT, i ? "\n" : "", STR_ARG(p->text));
		m->note.importance = MAX(m->note.importance, p->importance);
		if (memory_trust_rank(p->trust) < memory_trust_rank(trust))
			trust = p->trust;
		if (!str_eq(p->file, m->note.file))
			m->note.file = STR_NONE;
	}
	m->note.trust = trust;
	m->note.text = op_has(call, "text") ? str_trim(op_text(call, "text")) : arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	why = op_has(call, "text") ? lesson_suspect(l, m->note.text, STR_NONE) : NULL;
	if (why)
		return err_set(l->call.err, -EPERM, "the new text %s; only the owner can merge with it", why);
	return lesson_check_text(&l->call, m->note.text);
}

static int prepare_merge(struct lesson *l)
{
	struct arena *a = l->call.arena;
	struct merge m = { .n = 0 };
	char into[ULID_TEXT + 1], id[ULID_TEXT + 1];
	int r = read_parts(l, &m);

	if (r == 0)
		r = fill_note(l, &m);
	if (r < 0)
		return r;
	/* A project is named by its path, which is unique; its directory may be gone. */
	if (m.parts[0].project) {
		struct query *q =
			store_ask(l->call.store, "SELECT path FROM projects WHERE key = ?1", "i", m.parts[0].project);

		if (query_step(q) == 1)
			m.note.project = arena_str(a, query_str(q, 0));
		query_reset(q);
	}
	ulid_format(&m.note.uid, into);
	lesson_add(l, &m.note.uid, &m.note.uid, memory_write_note(&m.note, a));
	for (size_t i = 0; i < m.n; i++) {
		struct ulid event = ulid_make();

		ulid_format(&m.parts[i].uid, id);
		lesson_add(l, &event, &m.parts[i].uid,
			arena_strf(a,
				"{\"memory\":\"%s\",\"op\":\"change\",\"status\":\"superseded\",\"successor\":\"%s\","
				"\"merged\":1,\"reason\":\"merged\"}",
				id, into));
	}
	l->result = arena_strf(a, "{\"id\":\"%s\",\"merged\":%zu}", into, m.n);
	return 0;
}

int op_memory_merge(struct op_call *call)
{
	size_t n = 0;

	json_each(id, op_json(call, "ids"))
		n++;
	if (n < 2 || n > MERGE_MAX)
		return err_set(call->err, -EINVAL, "'ids' must have from 2 to %d ids of memories", MERGE_MAX);
	return learn(call, n + 1, prepare_merge);
}
