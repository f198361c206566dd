/* What is written down while an effort goes on: its log, its checkpoint, its artifacts, what it asks for; and handing
 * it on to another window or another agent. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/efforting.h"
#include "base/clock.h"
#include "base/fs.h"
#include "redact/redact.h"

enum { ITEMS_MAX = 20, FILES_MAX = 8, ARTIFACT_MAX = 256 << 10 };

#define PAYLOAD(b, w)                           \
	struct buf b = BUF_INIT(LIMIT_PAYLOAD); \
	struct json_writer w = JSON_WRITER(&b)

static void answer_head(struct effort_change *c)
{
	jw_object(&c->w);
	effort_write_head(&c->w, &c->effort);
}

/* -- files of a task --------------------------------------------------------------------------- */

/* A task that is a whole project keeps its artifacts where they are in nobody's way. */
str effort_artifact_dir(struct op_call *call, const struct effort_state *s)
{
	return str_eq(s->task, s->root) ? arena_strf(call->arena, STR_FMT "/.hookd/efforts", STR_ARG(s->task))
					: s->task;
}

static str artifact_path(struct effort_change *c, str type)
{
	return arena_strf(c->call.arena, STR_FMT "/" STR_FMT, STR_ARG(effort_artifact_dir(&c->call, &c->effort)),
		STR_ARG(effort_artifact_name(c->call.arena, c->effort.ordinal, c->effort.skill, type)));
}

/* A link in its place, which a checkout may bring, would lead out of the project. */
static int make_plain_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0755) == 0)
		return 0;
	if (errno != EEXIST || lstat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

/* The folder of a task is there; what lies below it is made. */
static int make_dir(struct effort_change *c)
{
	str dir = effort_artifact_dir(&c->call, &c->effort),
	    parent = arena_strf(c->call.arena, STR_FMT "/.hookd", STR_ARG(c->effort.task));
	int r;

	if (str_eq(dir, c->effort.task))
		return 0;
	r = make_plain_dir(parent.p);
	return r < 0 ? r : make_plain_dir(dir.p);
}

/* At its end; never through a link, which somebody may have put there. */
static int append(const char *path, str text)
{
	_close_ int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? fs_write_all(fd, text.p, text.n) : -EINVAL;
}

static void write_trouble(struct effort_change *c, str path, int r)
{
	if (r < 0)
		jw_field_str(&c->w, "trouble",
			arena_strf(c->call.arena, "it is kept, but " STR_FMT " cannot be written: %s", STR_ARG(path),
				strerror(-r)));
}

static void add_artifact(struct effort_change *c, str type, str path)
{
	PAYLOAD(b, w);

	effort_open(&w, &c->effort.uid, EFFORT_OP_ARTIFACT);
	jw_field_str(&w, "type", type);
	jw_field_str(&w, "path", path);
	change_add(c, &c->effort.uid, effort_close(&c->call, &b, &w));
}

static int has_artifact(struct effort_change *c, str type)
{
	int64_t found;

	return store_number(c->call.store, &found, "SELECT 1 FROM effort_artifacts WHERE effort = ?1 AND type = ?2",
		"bs", c->effort.uid.b, (size_t)ULID_BYTES, type);
}

/* -- log --------------------------------------------------------------------------------------- */

struct note {
	str path, text;
};

static int prepare_log(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct note *n = arena_new(call->arena, struct note);
	PAYLOAD(b, w);
	int r = effort_resolve_active(call, &c->effort);

	if (r == 0)
		r = has_artifact(c, STR("LOG"));
	if (r < 0)
		return r;
	n->path = artifact_path(c, STR("LOG"));
	if (r == 0)
		add_artifact(c, STR("LOG"), n->path);
	effort_open(&w, &c->effort.uid, EFFORT_OP_LOG);
	jw_field_str(&w, "text", str_trim(op_text(call, "text")));
	change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	n->text = change_stored(c, "text");
	c->more = n;
	return 0;
}

/* The file is a copy for people; the store has every line in any case. */
static void write_log(struct effort_change *c)
{
	const struct note *n = c->more;
	char at[CLOCK_TEXT];
	int r = make_dir(c);

	clock_format(clock_wall_us(), 1, at);
	if (r == 0)
		r = append(n->path.p,
			arena_strf(c->call.arena, "## %.16s%s" STR_FMT "\n\n" STR_FMT "\n\n", at,
				str_empty(c->effort.phase) ? "" : " · ", STR_ARG(c->effort.phase), STR_ARG(n->text)));
	answer_head(c);
	jw_field_str(&c->w, "file", n->path);
	write_trouble(c, n->path, r);
	jw_end_object(&c->w);
}

int op_effort_log(struct op_call *call)
{
	int r = effort_check_text(call, "text");

	if (r == 0 && str_empty(str_trim(op_text(call, "text"))))
		r = err_set(call->err, -EINVAL, "'text' is empty; say what you did and what you found");
	return r < 0 ? r : change_submit(call, prepare_log, write_log);
}

/* -- checkpoint -------------------------------------------------------------------------------- */

/* The members of a checkpoint, and what systems before called them. */
static const struct {
	const char *name, *alias;
	bool is_list;
	size_t most;
} members[] = {
	{ "goal", NULL, false, 0 },
	{ "next", "handoverInstructions", false, 0 },
	{ "notes", "summary", false, 0 },
	{ "done", "lastAction", true, ITEMS_MAX },
	{ "pending", "nextSteps", true, ITEMS_MAX },
	{ "decisions", NULL, true, ITEMS_MAX },
	{ "files", "requiredFiles", true, FILES_MAX },
	{ "questions", NULL, true, ITEMS_MAX },
	{ "user", "userHistory", false, 0 },
};

static const struct json *member_of(const struct json *from, size_t i)
{
	const struct json *v = json_get(from, str_of(members[i].name));

	return v || !members[i].alias ? v : json_get(from, str_of(members[i].alias));
}

static void write_items(struct json_writer *w, const struct json *v, size_t most)
{
	size_t n = 0;

	jw_array(w);
	if (v->type == JSON_STRING && !str_empty(v->text))
		jw_str(w, str_cut_utf8(v->text, EFFORT_TEXT_MAX / 4));
	json_each(item, v)
		if (item->type == JSON_STRING && !str_empty(item->text) && n++ < most)
			jw_str(w, str_cut_utf8(item->text, EFFORT_TEXT_MAX / 4));
	jw_end_array(w);
}

/* What is understood of it, bounded. False: nothing. */
static bool write_checkpoint(struct json_writer *w, const struct json *from)
{
	bool any = false;

	jw_object(w);
	for (size_t i = 0; i < countof(members); i++) {
		const struct json *v = member_of(from, i);

		if (!v || (v->type != JSON_STRING && (v->type != JSON_ARRAY || !members[i].is_list)))
			continue;
		any = true;
		if (members[i].is_list) {
			jw_key(w, members[i].name);
			write_items(w, v, members[i].most);
		} else {
			jw_field_str(w, members[i].name, str_cut_utf8(v->text, EFFORT_TEXT_MAX));
		}
	}
	jw_end_object(w);
	return any;
}

static int prepare_checkpoint(struct effort_change *c)
{
	struct op_call *call = &c->call;
	PAYLOAD(b, w);
	int r = effort_resolve_active(call, &c->effort);

	if (r < 0)
		return r;
	effort_open(&w, &c->effort.uid, EFFORT_OP_CHECKPOINT);
	jw_key(&w, "checkpoint");
	(void)write_checkpoint(&w, op_json(call, "checkpoint"));
	change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	answer_head(c);
	jw_end_object(&c->w);
	return 0;
}

static int check_checkpoint(struct op_call *call, const char *param)
{
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);
	const struct json *given = op_json(call, param);
	bool any = write_checkpoint(&w, given);
	size_t files = 0;

	buf_release(&b);
	json_each(f, json_get(given, STR("files"))) {
		(void)f;
		files++;
	}
	if (files > FILES_MAX)
		return err_set(call->err, -EINVAL, "%zu files are too many; name the %d that matter most", files,
			FILES_MAX);
	if (!any)
		return err_set(call->err, -EINVAL,
			"'%s' says nothing; it may have goal, next, notes, done, pending, decisions, files, questions",
			param);
	return effort_check_json(call, param);
}

int op_effort_checkpoint(struct op_call *call)
{
	int r = check_checkpoint(call, "checkpoint");

	return r < 0 ? r : change_submit(call, prepare_checkpoint, NULL);
}

/* -- session.finish ---------------------------------------------------------------------------- */

/* The agent hands over: what it wrote is kept, and the window ends. */
static int prepare_session_finish(struct effort_change *c)
{
	struct op_call *call = &c->call;
	int64_t found = 0;
	str window = op_text(call, "window");
	PAYLOAD(b, w);
	PAYLOAD(e, end);
	struct ulid id;
	char shown[NAME_SHOWN];
	int r;

	if (!ulid_parse(window, &id))
		return err_set(call->err, -EINVAL, "'window' must be the sessionId that hooks.sessionStart gave");
	/* A window says enough; a place beside it must agree. */
	r = op_has(call, "effort") || op_has(call, "cwd") ? 0 : effort_of_window(call, &id, &c->effort);
	if (r == 0)
		r = effort_resolve_active(call, &c->effort);
	if (r < 0)
		return r;
	r = store_number(call->store, &found, "SELECT 1 FROM effort_windows WHERE id = ?1 AND effort = ?2", "bb", id.b,
		(size_t)ULID_BYTES, c->effort.uid.b, (size_t)ULID_BYTES);
	if (r <= 0)
		return r < 0 ? r
			     : err_set(call->err, -ENOENT, "the effort has no window '%s'", name_shown(window, shown));
	if (op_json(call, "payload")) {
		effort_open(&w, &c->effort.uid, EFFORT_OP_CHECKPOINT);
		jw_key(&w, "checkpoint");
		(void)write_checkpoint(&w, op_json(call, "payload"));
		change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	}
	effort_open(&end, &c->effort.uid, EFFORT_OP_END);
	jw_field_str(&end, "window", window);
	jw_field_str(&end, "reason", STR("handed over"));
	change_add(c, &c->effort.uid, effort_close(call, &e, &end));
	answer_head(c);
	jw_end_object(&c->w);
	return 0;
}

int op_session_finish(struct op_call *call)
{
	int r = op_has(call, "payload") ? check_checkpoint(call, "payload") : 0;

	return r < 0 ? r : change_submit(call, prepare_session_finish, NULL);
}

/* -- artifacts --------------------------------------------------------------------------------- */

static int prepare_artifact(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct note *n = arena_new(call->arena, struct note);
	int r = effort_resolve_active(call, &c->effort);

	if (r < 0)
		return r;
	n->path = artifact_path(c, op_text(call, "type"));
	add_artifact(c, op_text(call, "type"), n->path);
	c->more = n;
	return 0;
}

static void write_artifact(struct effort_change *c)
{
	const struct note *n = c->more;
	struct redactor *redactor = redactor_new();
	int r = make_dir(c);

	if (r == 0 && op_has(&c->call, "text"))
		r = fs_replace_file(n->path.p, redact_text(redactor, c->call.arena, op_text(&c->call, "text")), false);
	redactor_free(redactor);
	answer_head(c);
	jw_field_str(&c->w, "type", op_text(&c->call, "type"));
	jw_field_str(&c->w, "file", n->path);
	write_trouble(c, n->path, r);
	jw_end_object(&c->w);
}

int op_effort_artifact(struct op_call *call)
{
	int r = effort_check_name(call, "type", true);

	if (r == 0 && op_text(call, "text").n > ARTIFACT_MAX)
		r = err_set(call->err, -EINVAL,
			"'text' has %zu bytes; write larger files yourself: the path is in the answer "
			"when you leave it out",
			op_text(call, "text").n);
	return r < 0 ? r : change_submit(call, prepare_artifact, write_artifact);
}

/* -- metadata and gates ------------------------------------------------------------------------ */

/* RFC 7396, one level deep: members replace, null removes. Below gates it goes one level deeper. */
static void merge(struct json_writer *w, const struct json *old, const struct json *set, bool deeper)
{
	jw_object(w);
	json_each(m, old) {
		const struct json *v = json_get(set, m->key);

		if (v && v->type == JSON_NULL)
			continue;
		jw_key_str(w, m->key);
		if (v && deeper && str_eq(m->key, STR("gates")) && v->type == JSON_OBJECT)
			merge(w, m, v, false);
		else
			jw_value(w, v ? v : m);
	}
	json_each(m, set)
		if (!json_get(old, m->key) && m->type != JSON_NULL) {
			jw_key_str(w, m->key);
			jw_value(w, m);
		}
	jw_end_object(w);
}

static int prepare_metadata(struct effort_change *c)
{
	struct op_call *call = &c->call;
	struct buf all = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer m = JSON_WRITER(&all);
	PAYLOAD(b, w);
	str text;
	int r = effort_resolve_active(call, &c->effort);

	if (r == 0)
		merge(&m, effort_parse(call, c->effort.metadata), op_json(call, "set"), true);
	text = arena_str(call->arena, buf_str(&all));
	buf_release(&all);
	if (r == 0)
		r = effort_check_metadata(call, effort_parse(call, text));
	if (r == 0 && text.n > EFFORT_JSON_MAX)
		r = err_set(call->err, -EINVAL, "the metadata would have %zu bytes; at most %d are kept", text.n,
			EFFORT_JSON_MAX);
	if (r < 0)
		return r;
	effort_open(&w, &c->effort.uid, EFFORT_OP_METADATA);
	jw_key(&w, "metadata");
	jw_raw(&w, text);
	change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	answer_head(c);
	jw_key(&c->w, "metadata");
	jw_raw(&c->w, text);
	jw_end_object(&c->w);
	return 0;
}

int op_effort_metadata(struct op_call *call)
{
	int r = effort_check_json(call, "set");

	return r < 0 ? r : change_submit(call, prepare_metadata, NULL);
}

/* -- how full a context is -------------------------------------------------------------------- */

int op_context_used(struct op_call *call)
{
	engine_context_used(call->ctx->engine, op_has(call, "agent") ? op_text(call, "agent") : STR("claude"),
		op_text(call, "session"), op_int(call, "tokens"), op_int(call, "max"));
	jw_object(call->w);
	jw_end_object(call->w);
	return 0;
}

/* -- resume ------------------------------------------------------------------------------------ */

/* All that hooks are decided from: of many active efforts they know those that changed last. */
static void write_known(struct json_writer *w, const struct effort_state *s)
{
	jw_field_str(w, "task", s->task);
	jw_field_str(w, "root", s->root);
	jw_field_int(w, "ordinal", s->ordinal);
	jw_field_str(w, "skill", s->skill);
	jw_field_str(w, "mode", s->mode);
	jw_field_str(w, "phase", s->phase);
	jw_field_str(w, "goal", s->goal);
	if (str_is_set(s->config)) {
		jw_key(w, "config");
		jw_stored(w, s->config);
	}
	if (str_is_set(s->metadata)) {
		jw_key(w, "metadata");
		jw_stored(w, s->metadata);
	}
}

static int prepare_resume(struct effort_change *c)
{
	struct op_call *call = &c->call;
	str as = op_text(call, "as");
	PAYLOAD(b, w);
	int r = effort_resolve_active(call, &c->effort);

	if (r < 0)
		return r;
	effort_open(&w, &c->effort.uid, EFFORT_OP_RESUME);
	write_known(&w, &c->effort);
	if (!str_empty(as))
		jw_field_str(&w, "agent", as);
	if (op_bool(call, "here"))
		jw_field_str(&w, "session", op_text(call, "session"));
	change_add(c, &c->effort.uid, effort_close(call, &b, &w));
	if (!str_empty(as))
		c->effort.agent = as;
	answer_head(c);
	jw_field_str(&c->w, "prompt",
		effort_prompt(call->arena, &c->effort.uid, c->effort.ordinal, c->effort.skill, c->effort.task));
	jw_end_object(&c->w);
	return 0;
}

int op_effort_resume(struct op_call *call)
{
	int r = effort_check_name(call, "as", false);

	return r < 0 ? r : change_submit(call, prepare_resume, NULL);
}
