/* New memories: remembered by the user or an agent, or imported.
 *
 * Whose words they are decides how far they are trusted. The owner's token, which a command at a terminal sends, says
 * that a person speaks. Without it the words are an agent's, whatever operation it calls: what reads like an
 * instruction is put aside for review. */
#include <errno.h>

#include "api/learning.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "project/project.h"

enum { AT_ONCE = 2000, LOOK_MS = 300, UNKNOWN_PROJECT = -1 };

/* -- whose ------------------------------------------------------------------------------------- */

/* A path names a directory; anything else is the name of a project. */
static void set_project(struct memory_note *n, str project)
{
	if (project.n && project.p[0] == '/')
		n->dir = project;
	else
		n->project = project;
}

/* The project that the fold will choose: that of the directory, which may have been seen under another path. A new
 * one has no memories yet. */
static int find_by_directory(struct lesson *l, str dir, int64_t *ret)
{
	struct project p;
	int got = store_number(l->call.store, ret,
		"SELECT coalesce(p.merged, p.parent, p.key) FROM directories d JOIN projects p ON p.key = d.project "
		"WHERE d.path = ?1",
		"s", dir);

	if (got == 0 && project_find_within(arena_cstr(l->call.arena, dir), l->call.ctx->paths->home, LOOK_MS, &p) == 0)
		got = store_number(l->call.store, ret,
			"SELECT coalesce(merged, parent, key) FROM projects WHERE path = ?1", "s",
			str_of(p.main[0] ? p.main : p.root));
	if (got == 0)
		*ret = UNKNOWN_PROJECT;
	return MIN(got, 0);
}

static int find_project(struct lesson *l, const struct memory_note *n, int64_t *ret)
{
	char shown[NAME_SHOWN];
	int got;

	*ret = 0;
	if (!str_empty(n->dir))
		return find_by_directory(l, n->dir, ret);
	if (str_empty(n->project))
		return 0;
	got = memory_project_find(l->call.store, n->project, ret);
	if (got == 0)
		return err_set(l->call.err, -ENOENT,
			"there is no project '%s'; list them with: hookd project list, or name its directory",
			name_shown(n->project, shown));
	return MIN(got, 0);
}

/* -- remember ---------------------------------------------------------------------------------- */

const struct op_column op_remember_result[] = { { "id", 's' }, { "status", 's' }, { "known", 'b' }, { "reason", 's' },
	{ "supersedes", 'o', (const struct op_column[]){ { "id", 's' }, { "text", 's' }, { 0 } } }, { 0 } };

static void begin_answer(struct json_writer *w, const struct ulid *uid, str status)
{
	char id[ULID_TEXT + 1];

	ulid_format(uid, id);
	jw_object(w);
	jw_field_str(w, "id", str_of(id));
	jw_field_str(w, "status", status);
}

static void end_answer(struct lesson *l, struct buf *b, struct json_writer *w)
{
	jw_end_object(w);
	l->result = arena_str(l->call.arena, buf_str(b));
	buf_release(b);
}

/* It is there already. The owner can bring it back; what was put aside is for review. */
static int answer_known(struct lesson *l, const struct ulid *known)
{
	struct buf b = BUF_INIT(16384);
	struct json_writer w = JSON_WRITER(&b);
	struct ulid id = ulid_make();
	struct memory_state m;
	char text[ULID_TEXT + 1];
	int r;

	ulid_format(known, text);
	l->n = 0;
	r = lesson_find(l, str_of(text), &m);
	if (r < 0)
		return r;
	if (l->call.owner && !str_eq(m.status, STR("active")) && !str_eq(m.status, STR("quarantined"))) {
		lesson_add(l, &id, known,
			arena_strf(l->call.arena,
				"{\"memory\":\"%s\",\"op\":\"change\",\"status\":\"active\",\"reason\":\"remembered "
				"again\"}",
				text));
		m.status = STR("active");
		m.reason = STR_NONE;
	}
	begin_answer(&w, known, m.status);
	jw_field_bool(&w, "known", true);
	if (!str_empty(m.reason))
		jw_field_str(&w, "reason", m.reason);
	end_answer(l, &b, &w);
	return 0;
}

/* An older memory that says nearly the same gives way, and the answer says which. */
static int supersede_near(struct lesson *l, const struct memory_note *n, int64_t project, struct json_writer *w)
{
	float similar = (float)config_number(l->call.ctx->config, OPTION_MEMORY_SIMILAR) / 100;
	struct arena *a = l->call.arena;
	struct ulid older, id = ulid_make();
	char by[ULID_TEXT + 1], old[ULID_TEXT + 1];
	struct memory_state m;
	int r = memories_find_near(l->call.ctx->memories, l->call.store, project, n, similar, a, &older);

	if (r != 1)
		return MIN(r, 0);
	ulid_format(&n->uid, by);
	ulid_format(&older, old);
	r = lesson_find(l, str_of(old), &m);
	if (r < 0)
		return r;
	lesson_add(l, &id, &older,
		arena_strf(a,
			"{\"memory\":\"%s\",\"op\":\"change\",\"status\":\"superseded\",\"successor\":\"%s\","
			"\"reason\":"
			"\"a newer memory says nearly the same\"}",
			old, by));
	jw_key(w, "supersedes");
	jw_object(w);
	jw_field_str(w, "id", str_of(old));
	jw_field_str(w, "text", m.text);
	jw_end_object(w);
	return 0;
}

static int answer_new(struct lesson *l, const struct memory_note *n, int64_t project)
{
	struct buf b = BUF_INIT(16384);
	struct json_writer w = JSON_WRITER(&b);
	bool aside = str_is_set(n->status);
	int r = 0;

	begin_answer(&w, &n->uid, aside ? n->status : STR("active"));
	if (aside)
		jw_field_str(&w, "reason", n->reason);
	else if (project != UNKNOWN_PROJECT)
		r = supersede_near(l, n, project, &w);
	end_answer(l, &b, &w);
	return r;
}

static int prepare_memory(struct lesson *l)
{
	const struct op_call *call = &l->call;
	struct memory_note note = { .uid = ulid_make(),
		.text = str_trim(op_text(call, "text")),
		.file = op_text(call, "file"),
		.session = op_text(call, "session"),
		.importance = op_int(call, "importance"),
		.created_us = clock_wall_us(),
		.trust = call->owner ? STR("user") : STR("agent"),
		.origin = STR("remember") };
	struct ulid known;
	int64_t project = 0;
	const char *why;
	int r = lesson_take_type(&l->call, op_has(call, "type") ? op_text(call, "type") : STR("discovery"), &note.type);

	set_project(&note, op_text(call, "project"));
	if (r == 0)
		r = lesson_take_concepts(&l->call, op_json(call, "concepts"), memory_concept_of(op_text(call, "type")),
			&note.concepts);
	if (r == 0)
		r = find_project(l, &note, &project);
	if (r < 0)
		return r;
	why = lesson_suspect(l, note.text,
		arena_strf(call->arena, STR_FMT " " STR_FMT, STR_ARG(note.file), STR_ARG(note.concepts)));
	if (why) {
		note.status = STR("quarantined");
		note.reason = str_of(why);
	}
	lesson_add(l, &note.uid, &note.uid, memory_write_note(&note, call->arena));
	r = project == UNKNOWN_PROJECT ? 0
				       : capture_find_memory(call->store, project, lesson_stored(l, "text"), STR_NONE,
						 lesson_stored(l, "file"), &known);
	if (r < 0)
		return r;
	return r == 1 ? answer_known(l, &known) : answer_new(l, &note, project);
}

int op_remember(struct op_call *call)
{
	int r = lesson_check_text(call, str_trim(op_text(call, "text")));

	return r < 0 ? r : learn(call, 2, prepare_memory);
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

static int check_line(struct op_call *call, const struct json *item)
{
	const struct json *type = json_get(item, STR("type"));
	str name;
	int r;

	if (item->type != JSON_OBJECT)
		return err_set(call->err, -EINVAL, "each memory must be an object with a 'text'");
	r = lesson_check_text(call, str_head(str_trim(json_str(json_get(item, STR("text")))), MEMORY_TEXT_MAX));
	if (r == 0 && type)
		r = lesson_take_type(call, json_str(type), &name);
	return r < 0 ? r : lesson_take_concepts(call, json_get(item, STR("concepts")), STR_NONE, &name);
}

/* What somebody else's file says is found when it is asked for, even if it reads like an instruction; but that is
 * never given by itself. */
static void add_line(struct lesson *l, const struct json *item)
{
	struct memory_note note = { .uid = uid_of_line(item),
		.type = STR("discovery"),
		.text = str_cut_utf8(str_trim(json_str(json_get(item, STR("text")))), MEMORY_TEXT_MAX),
		.file = json_str(json_get(item, STR("file"))),
		.ref = json_str(json_get(item, STR("ref"))),
		.created_us = time_of(json_get(item, STR("created_at"))),
		.trust = l->call.owner ? STR("user") : STR("agent"),
		.origin = STR("import") };

	if (json_get(item, STR("type")))
		(void)lesson_take_type(&l->call, json_str(json_get(item, STR("type"))), &note.type);
	if (lesson_suspect(l, note.text, note.file))
		note.trust = STR("web");
	(void)lesson_take_concepts(&l->call, json_get(item, STR("concepts")),
		memory_concept_of(json_str(json_get(item, STR("type")))), &note.concepts);
	note.thread = thread_of(note.ref);
	set_project(&note, json_str(json_get(item, STR("project"))));
	json_int(json_get(item, STR("importance")), &note.importance);
	lesson_add(l, &note.uid, &note.uid, memory_write_note(&note, l->call.arena));
}

static int prepare_import(struct lesson *l)
{
	json_each(item, op_json(&l->call, "memories"))
		add_line(l, item);
	l->result = arena_strf(l->call.arena, "{\"taken\":%zu}", l->n);
	return 0;
}

int op_memory_import(struct op_call *call)
{
	const struct json *list = op_json(call, "memories");
	size_t n = 0;
	int r = 0;

	json_each(item, list)
		n++;
	if (n > AT_ONCE)
		return err_set(call->err, -EINVAL, "at most %d memories at once; send the rest in further calls",
			AT_ONCE);
	json_each(item, list)
		r = r < 0 ? r : check_line(call, item);
	return r < 0 ? r : learn(call, n, prepare_import);
}
