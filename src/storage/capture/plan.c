/* Plans: files in a plans folder, approved plans, prompts that carry one, and answers that are one. The batch that
 * made a plan is a plan batch. */
#include <ctype.h>
#include <errno.h>

#include "base/sha256.h"
#include "capture/internal.h"

enum {
	TITLE_MAX = 120,
	PLAN_MAX = 200000,
	ANSWER_MAX = 50000, /* of an answer that is a plan */
	ANSWER_LOOK = 500,  /* bytes of it in which its heading must be */
};

bool plan_is_file(str path)
{
	static const char *const folders[] = { "/.claude/plans/", "/.cursor/plans/", "/.windsurf/plans/",
		"/.qwen/plans/", "/.gemini/plans/" };

	if (!str_ends(path, STR(".md")))
		return false;
	for (size_t i = 0; i < countof(folders); i++)
		if (str_find(path, str_of(folders[i])) >= 0 || str_starts(path, str_of(folders[i] + 1)))
			return true;
	return false;
}

bool plan_is_touched(const struct event *e)
{
	return plan_is_file(e->file_path) || str_eq(e->tool_name, STR("ExitPlanMode"));
}

/* The first heading or line. */
static str title_of(struct arena *a, str content)
{
	str rest = content, line;

	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		while (line.n && line.p[0] == '#')
			line = str_from(line, 1);
		line = str_trim(line);
		if (!str_empty(line))
			return summary_cut(a, line, TITLE_MAX);
	}
	return STR_NONE;
}

/* A new version, unless it says what the last one says. */
static int add_version(struct step *t, str path, str content, const char *source, int64_t batch)
{
	int64_t plan = 0, same = 0;
	int r;

	if (str_empty(content))
		return 0;
	content = summary_cut(t->arena, content, PLAN_MAX);
	r = store_do(t->store,
		"INSERT INTO plans(session, path, title, ord, created_at, updated_at, key) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6) "
		"ON CONFLICT(session, path) DO UPDATE SET title = ?3, updated_at = ?5",
		"issiii", t->session.key, path, title_of(t->arena, content), t->record.order_us, t->record.at_us,
		key_of(t->seq, 0));
	if (r == 0)
		r = store_number(t->store, &plan, "SELECT key FROM plans WHERE session = ?1 AND path = ?2", "is",
			t->session.key, path);
	if (r != 1)
		return r < 0 ? r : -EUCLEAN;
	r = store_number(t->store, &same,
		"SELECT content = ?2 AND (source = 'approved' OR ?3 <> 'approved') FROM plan_versions WHERE "
		"plan = ?1 ORDER BY version DESC LIMIT 1",
		"iss", plan, content, str_of(source));
	if (r < 0 || same)
		return r < 0 ? r : 0;
	r = store_do(t->store,
		"INSERT INTO plan_versions(plan, version, ord, at, source, batch, content) "
		"VALUES (?1, 1 + (SELECT coalesce(max(version), 0) FROM plan_versions WHERE plan = ?1), ?2, "
		"?3, ?4, ?5, ?6)",
		"iiisks", plan, t->record.order_us, t->record.at_us, str_of(source), batch, content);
	return r < 0 ? r : store_do(t->store, "UPDATE plans SET text = ?2 WHERE key = ?1", "is", plan, content);
}

/* What was asked for was a plan. */
static int mark_batch(struct step *t, int64_t batch)
{
	return store_do(t->store,
		"UPDATE batches SET source = 'plan' WHERE key = ?1 AND source IN ('user', 'derived_plan')", "i", batch);
}

static int add_and_mark(struct step *t, str path, str content, const char *source, int64_t batch)
{
	int r = add_version(t, path, content, source, batch);

	return r < 0 || str_empty(content) || !batch ? r : mark_batch(t, batch);
}

/* The last version with one piece replaced, as the Edit tool does it; empty when it does not fit. */
static str edited(struct step *t, str path)
{
	str old = json_str(json_get(t->event.tool_input, STR("old_string"))),
	    new = json_str(json_get(t->event.tool_input, STR("new_string")));
	str original = json_str(json_get(t->event.tool_response, STR("originalFile")));
	struct query *q;
	ptrdiff_t at;

	if (str_empty(original)) {
		q = store_ask(t->store,
			"SELECT v.content FROM plan_versions v JOIN plans p ON p.key = v.plan WHERE p.session "
			"= ?1 AND p.path = ?2 "
			"ORDER BY v.version DESC LIMIT 1",
			"is", t->session.key, path);
		if (query_step(q) == 1)
			original = arena_str(t->arena, query_str(q, 0));
		query_reset(q);
	}
	at = str_empty(old) ? -1 : str_find(original, old);
	if (at < 0)
		return STR_NONE;
	return arena_strf(t->arena, STR_FMT STR_FMT STR_FMT, STR_ARG(str_head(original, (size_t)at)), STR_ARG(new),
		STR_ARG(str_from(original, (size_t)at + old.n)));
}

/* The batch of the call, which may be closed by now. */
static int batch_of_call(struct step *t, int64_t *ret)
{
	int got;

	*ret = 0;
	got = store_number(t->store, ret, "SELECT batch FROM activities WHERE session = ?1 AND same = ?2", "is",
		t->session.key, t->call);
	return got < 0 ? got : 0;
}

int plan_on_tool(struct step *t)
{
	const struct event *e = &t->event;
	str path = e->file_path, content = json_str(json_get(e->tool_input, STR("content")));
	int64_t batch;
	int r;

	if (!plan_is_touched(e))
		return 0;
	r = batch_of_call(t, &batch);
	if (r < 0)
		return r;
	if (str_eq(e->tool_name, STR("ExitPlanMode"))) {
		content = json_str(json_get(e->tool_input, STR("plan")));
		if (str_empty(content))
			content = json_str(json_get(e->tool_response, STR("plan")));
		path = json_str(json_get(e->tool_response, STR("filePath")));
		return add_and_mark(t, str_empty(path) ? STR("approved") : path, content, "approved", batch);
	}
	if (e->tool_class == TOOL_READ)
		return add_and_mark(t, path, json_str(json_path(e->tool_response, "file", "content", NULL)), "read",
			batch);
	if (str_is_set(content))
		return add_and_mark(t, path, content, "write", batch);
	return add_and_mark(t, path, edited(t, path), "edit", batch);
}

int plan_on_prompt(struct step *t, int64_t batch, str body)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, body.p, body.n);
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	return add_version(t, arena_strf(t->arena, "prompt:%.16s", hex), body, "prompt", batch);
}

/* "# Plan", "## Implementation plan", "**Plan:** …", "Plan:"; a sentence that begins with the word is not one. */
static bool is_plan_heading(str line)
{
	bool marked = line.n && (line.p[0] == '#' || str_starts(line, STR("**")));
	str end = STR("plan");

	while (line.n && (line.p[0] == '#' || line.p[0] == '*' || line.p[0] == ' '))
		line = str_from(line, 1);
	while (line.n && strchr("*: \r", line.p[line.n - 1]))
		line.n--;
	if (str_eq_nocase(line, end))
		return true;
	if (line.n > end.n && str_eq_nocase(str_head(line, end.n), end))
		return line.p[end.n] == ':' || (marked && !isalnum((unsigned char)line.p[end.n]));
	return marked && line.n > end.n && line.p[line.n - end.n - 1] == ' ' &&
		str_eq_nocase(str_from(line, line.n - end.n), end);
}

/* Where an agent has no folder for plans, its answer is the plan. */
int plan_on_answer(struct step *t, int64_t batch)
{
	str rest = str_head(t->event.message, ANSWER_LOOK), line;
	int64_t number = 0;
	int r;

	while (str_split(&rest, '\n', &line)) {
		if (!is_plan_heading(str_trim(line)))
			continue;
		r = store_number(t->store, &number, "SELECT number FROM batches WHERE key = ?1", "i", batch);
		if (r < 0)
			return r;
		return add_and_mark(t, arena_strf(t->arena, "answer:%lld", (long long)number),
			summary_cut(t->arena, t->event.message, ANSWER_MAX), "answer", batch);
	}
	return 0;
}

/* A list of tasks is a plan, too. */
int plan_on_task(struct step *t)
{
	str subject = str_trim(json_str(json_get(t->event.payload, STR("task_subject")))), so_far = STR("# Tasks\n");
	struct query *q;
	int r;

	if (str_empty(subject))
		return 0;
	q = store_ask(t->store,
		"SELECT v.content FROM plan_versions v JOIN plans p ON p.key = v.plan "
		"WHERE p.session = ?1 AND p.path = 'tasks' ORDER BY v.version DESC LIMIT 1",
		"i", t->session.key);
	if (query_step(q) == 1)
		so_far = arena_str(t->arena, query_str(q, 0));
	query_reset(q);
	r = add_version(t, STR("tasks"),
		arena_strf(t->arena, STR_FMT "- " STR_FMT "\n", STR_ARG(so_far), STR_ARG(subject)), "tasks",
		t->session.batch);
	if (r == 0 && t->session.batch)
		r = store_do(t->store, "UPDATE batches SET source = 'derived_plan' WHERE key = ?1 AND source = 'user'",
			"i", t->session.batch);
	return r;
}
