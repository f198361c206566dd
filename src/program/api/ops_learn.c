/* What changes memories. Each change is an event of hookd's own, which is redacted on a worker and journaled by the
 * loop; the answer comes when it is in the journal. */
#include <errno.h>
#include <stdio.h>

#include "api/ops.h"
#include "base/clock.h"
#include "memory/memory.h"

enum { AT_ONCE = 2000, TEXT_MAX = 4000 };

/* -- events on their way ----------------------------------------------------------------------- */

struct lesson {
	struct request *later;
	const struct api_context *ctx;
	struct arena *arena; /* of the request */
	struct event *events;
	struct record *records;
	size_t n;
	str result;
};

static void redact_all(void *arg)
{
	struct lesson *l = arg;
	unsigned secrets;

	for (size_t i = 0; i < l->n; i++)
		engine_redact(l->ctx->engine, l->arena, &l->events[i], &l->records[i], &secrets);
}

static void stored(bool is_stored, void *arg)
{
	struct lesson *l = arg;

	if (is_stored)
		op_finish(l->later, l->result);
	else
		op_give_up(l->later, "the journal cannot be written; see: hookd status");
}

static void redacted(void *arg)
{
	struct lesson *l = arg;

	engine_store(l->ctx->engine, l->records, l->n, stored, l);
}

static struct lesson *new_lesson(struct op_call *call, size_t max)
{
	struct lesson *l = arena_new(call->arena, struct lesson);

	*l = (struct lesson){ .later = call->later, .ctx = call->ctx, .arena = call->arena };
	l->events = arena_alloc(call->arena, (max + 1) * sizeof *l->events);
	l->records = arena_alloc(call->arena, (max + 1) * sizeof *l->records);
	return l;
}

static void learn(struct lesson *l, str result)
{
	l->result = result;
	loop_submit_lane(l->ctx->loop, LOOP_PEOPLE, redact_all, redacted, l);
}

static void add_event(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload)
{
	memory_event(id, memory, payload, l->arena, &l->events[l->n++]);
}

/* -- a new memory ------------------------------------------------------------------------------ */

static int take_type(struct op_call *call, str given, str *ret)
{
	const struct memory_type *type = memory_type_find(str_empty(given) ? STR("discovery") : given);
	char list[200] = "", shown[NAME_SHOWN];

	if (type) {
		*ret = str_of(type->name);
		return 0;
	}
	for (const struct memory_type *t = memory_types; t->name; t++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", t->name);
	return err_set(call->err, -EINVAL, "'%s' is not a type of memory; types: %s", name_shown(given, shown), list);
}

static int check_text(struct op_call *call, str text)
{
	if (str_empty(str_trim(text)))
		return err_set(call->err, -EINVAL, "'text' is empty; say what is to be remembered");
	if (text.n > TEXT_MAX)
		return err_set(call->err, -EINVAL, "'text' has %zu bytes; a memory holds at most %d: shorten it",
			text.n, TEXT_MAX);
	return 0;
}

/* A path names a directory; anything else is the name of a project. */
static void set_project(struct memory_note *n, str project)
{
	if (project.n && project.p[0] == '/')
		n->dir = project;
	else
		n->project = project;
}

static str answer_with_id(struct op_call *call, const struct ulid *uid)
{
	char text[ULID_TEXT + 1];

	ulid_format(uid, text);
	return arena_strf(call->arena, "{\"id\":\"%s\"}", text);
}

static int remember(struct op_call *call, bool by_user)
{
	struct memory_note note = { .uid = ulid_make(),
		.text = str_trim(op_text(call, "text")),
		.file = op_text(call, "file"),
		.session = op_text(call, "session"),
		.importance = op_int(call, "importance"),
		.trust = by_user ? STR("user") : STR("agent"),
		.origin = STR("remember") };
	const char *why;
	struct lesson *l;
	int r = check_text(call, note.text);

	if (r == 0)
		r = take_type(call, op_text(call, "type"), &note.type);
	if (r < 0)
		return r;
	why = by_user ? NULL : memories_suspect(call->ctx->memories, note.text);
	if (why) {
		note.status = STR("quarantined");
		note.reason = str_of(why);
	}
	set_project(&note, op_text(call, "project"));
	l = new_lesson(call, 1);
	add_event(l, &note.uid, &note.uid, memory_write_note(&note, call->arena));
	learn(l, answer_with_id(call, &note.uid));
	return 0;
}

int op_remember(struct op_call *call)
{
	return remember(call, false);
}

int op_user_remember(struct op_call *call)
{
	return remember(call, true);
}

/* -- import ------------------------------------------------------------------------------------ */

/* "26/D1:3": the third piece of 26/D1. */
static str thread_of(str ref)
{
	size_t n = ref.n;

	while (n && ref.p[n - 1] >= '0' && ref.p[n - 1] <= '9')
		n--;
	return n > 1 && n < ref.n && strchr(":#", ref.p[n - 1]) ? str_head(ref, n - 1) : STR_NONE;
}

static int64_t time_of(const struct json *v)
{
	int64_t us = 0;

	if (json_int(v, &us))
		return us > 0 && us < 100000000000 ? us * USEC_PER_SEC : us; /* seconds or microseconds */
	if (v && v->type == JSON_STRING)
		clock_parse_when(v->text, clock_wall_us(), &us);
	return us;
}

/* The same line gives the same memory, however often it is imported. */
static struct ulid uid_of_line(const struct json *item)
{
	static const uint8_t none[10] = { 0 };
	struct ulid base = ulid_from(1, none);

	base = ulid_derive(&base, json_str(json_get(item, STR("project"))));
	base = ulid_derive(&base, json_str(json_get(item, STR("ref"))));
	return ulid_derive(&base, json_str(json_get(item, STR("text"))));
}

static int add_line(struct op_call *call, struct lesson *l, const struct json *item)
{
	struct memory_note note = { .uid = uid_of_line(item),
		.text = str_trim(json_str(json_get(item, STR("text")))),
		.file = json_str(json_get(item, STR("file"))),
		.ref = json_str(json_get(item, STR("ref"))),
		.created_us = time_of(json_get(item, STR("created_at"))),
		.trust = STR("user"),
		.origin = STR("import") };
	int r = item->type == JSON_OBJECT ? check_text(call, str_head(note.text, TEXT_MAX))
					  : err_set(call->err, -EINVAL, "each memory must be an object with a 'text'");

	if (r == 0)
		r = take_type(call, json_str(json_get(item, STR("type"))), &note.type);
	if (r < 0)
		return r;
	note.text = str_cut_utf8(note.text, TEXT_MAX);
	note.thread = thread_of(note.ref);
	set_project(&note, json_str(json_get(item, STR("project"))));
	json_int(json_get(item, STR("importance")), &note.importance);
	add_event(l, &note.uid, &note.uid, memory_write_note(&note, call->arena));
	return 0;
}

int op_memory_import(struct op_call *call)
{
	const struct json *list = op_json(call, "memories");
	struct lesson *l;
	size_t n = 0;
	int r = 0;

	json_each(item, list)
		n++;
	if (n > AT_ONCE)
		return err_set(call->err, -EINVAL, "at most %d memories at once; send the rest in further calls",
			AT_ONCE);
	l = new_lesson(call, n);
	json_each(item, list)
		r = r < 0 ? r : add_line(call, l, item);
	if (r < 0)
		return r;
	learn(l, arena_strf(call->arena, "{\"taken\":%zu}", n));
	return 0;
}

/* -- changes ----------------------------------------------------------------------------------- */

/* The members of the call that are members of the event too. */
static void write_change(struct op_call *call, const struct ulid *uid, bool approved, struct json_writer *w)
{
	static const char *const texts[] = { "text", "type", "file", "status", "reason", "successor" };
	static const char *const flags[] = { "pinned", "muted" };
	char id[ULID_TEXT + 1];

	ulid_format(uid, id);
	jw_object(w);
	jw_field_str(w, "memory", str_of(id));
	jw_field_str(w, "op", STR("change"));
	if (approved)
		jw_field_int(w, "approved", 1);
	for (size_t i = 0; i < countof(texts); i++)
		if (op_has(call, texts[i]))
			jw_field_str(w, texts[i], op_text(call, texts[i]));
	for (size_t i = 0; i < countof(flags); i++)
		if (op_has(call, flags[i]))
			jw_field_int(w, flags[i], op_bool(call, flags[i]));
	if (op_has(call, "importance"))
		jw_field_int(w, "importance", op_int(call, "importance"));
	jw_end_object(w);
}

static int check_change(struct op_call *call, struct ulid *ret)
{
	struct ulid successor;
	str type;

	if (!ulid_parse(op_text(call, "id"), ret))
		return err_set(call->err, -EINVAL,
			"'id' must be the 26 characters of a memory's id; see: hookd memories");
	if (op_has(call, "successor") && !ulid_parse(op_text(call, "successor"), &successor))
		return err_set(call->err, -EINVAL, "'successor' must be the 26 characters of a memory's id");
	if (op_has(call, "type") && take_type(call, op_text(call, "type"), &type) < 0)
		return -EINVAL;
	return op_has(call, "text") ? check_text(call, op_text(call, "text")) : 0;
}

static int change(struct op_call *call, bool approved)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	struct ulid uid, id = ulid_make();
	struct lesson *l;
	int r = check_change(call, &uid);

	if (r < 0)
		return r;
	write_change(call, &uid, approved, &w);
	l = new_lesson(call, 1);
	add_event(l, &id, &uid, arena_str(call->arena, buf_str(&b)));
	buf_release(&b);
	learn(l, answer_with_id(call, &uid));
	return 0;
}

int op_memory_change(struct op_call *call)
{
	return change(call, false);
}

/* By the owner: what was put aside may become active. */
int op_memory_review(struct op_call *call)
{
	return change(call, true);
}

/* For agents: it no longer counts, and the user can see that and take it back. Only the user deletes. */
int op_forget(struct op_call *call)
{
	struct ulid uid, id = ulid_make();
	struct lesson *l;

	if (!ulid_parse(op_text(call, "id"), &uid))
		return err_set(call->err, -EINVAL, "'id' must be the 26 characters of a memory's id");
	l = new_lesson(call, 1);
	add_event(l, &id, &uid,
		arena_strf(call->arena,
			"{\"memory\":\"" STR_FMT "\",\"op\":\"change\",\"status\":\"resolved\",\"reason\":\"an agent "
			"asked\"}",
			STR_ARG(op_text(call, "id"))));
	learn(l, answer_with_id(call, &uid));
	return 0;
}
