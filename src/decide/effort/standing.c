/* Where an effort stands, computed from what was captured: nobody has to write it, and no model is asked. What an agent
 * or a person did write down comes first.
 *
 *   goal, next, notes   from the checkpoint; without one, what the effort began with, and what is in progress
 *   done, pending       the agent's own list of tasks, the log
 *   decisions           what was learned as one, and what the user answered
 *   files               what was changed, the last first
 *   tests               the last command that ran them, and how it ended
 *   questions, findings what was asked and not answered; what subagents reported
 *
 * It reads the sessions in which the effort went on, from its first window there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "effort/effort.h"

enum {
	SESSIONS_MAX = 6,
	FILES_MAX = 8,      /* an agent reads no more of them at once */
	CALLS_LOOKED = 300, /* shell calls among which the last test is looked for */
	ITEM_MAX = 160,
	TEXT_MAX = 500,
	OUTPUT_MAX = 160,
};

struct session {
	int64_t key, since_us;
};

struct gather {
	struct store *store;
	const struct ulid *uid;
	struct arena *arena;
	struct effort_standing *ret;
	struct session sessions[SESSIONS_MAX]; /* the last first */
	size_t n;
};

/* -- lists ------------------------------------------------------------------------------------- */

/* One line of at most so many bytes. */
static str line_of(struct arena *a, str text, size_t most)
{
	char *p;
	size_t n = 0;
	bool blank = false;

	text = str_cut_utf8(str_trim(text), most);
	p = arena_bytes(a, text.n);
	for (size_t i = 0; i < text.n; i++) {
		bool is_blank = (unsigned char)text.p[i] <= ' ';

		if (!is_blank)
			p[n++] = text.p[i];
		else if (!blank)
			p[n++] = ' ';
		blank = is_blank;
	}
	return str_n(p, n);
}

static void add(struct gather *g, struct effort_items *list, str text)
{
	str line = line_of(g->arena, text, ITEM_MAX);

	if (str_empty(line) || list->n == EFFORT_ITEMS_MAX)
		return;
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(list->v[i], line))
			return;
	list->v[list->n++] = line;
}

static void take_text(struct gather *g, str *to, str text)
{
	if (str_empty(*to))
		*to = line_of(g->arena, text, TEXT_MAX);
}

/* -- what was written down --------------------------------------------------------------------- */

static void take_checkpoint(struct gather *g, const struct json *c)
{
	struct effort_standing *r = g->ret;
	const struct {
		const char *name;
		struct effort_items *to;
	} lists[] = { { "done", &r->done }, { "pending", &r->pending }, { "decisions", &r->decisions },
		{ "questions", &r->questions }, { "files", &r->files } };

	take_text(g, &r->goal, json_str(json_get(c, STR("goal"))));
	take_text(g, &r->next, json_str(json_get(c, STR("next"))));
	take_text(g, &r->notes, json_str(json_get(c, STR("notes"))));
	take_text(g, &r->user, json_str(json_get(c, STR("user"))));
	for (size_t i = 0; i < countof(lists); i++)
		json_each(item, json_get(c, str_of(lists[i].name)))
			add(g, lists[i].to, json_str(item));
	r->written_files = r->files.n;
}

static int read_effort(struct gather *g)
{
	struct query *q = store_ask(g->store,
		"SELECT goal, checkpoint, checkpoint_at, skill, phase, config FROM efforts WHERE uid = ?1", "b",
		g->uid->b, (size_t)ULID_BYTES);
	struct json *checkpoint = NULL;
	int got = query_step(q);

	if (got == 1) {
		if (!query_is_null(q, 1))
			(void)json_parse(g->arena, arena_str(g->arena, query_str(q, 1)), 0, &checkpoint, NULL);
		take_checkpoint(g, checkpoint);
		g->ret->written_us = query_int(q, 2);
		take_text(g, &g->ret->goal, query_str(q, 0));
	}
	query_reset(q);
	return MIN(got, 0);
}

static int read_messages(struct gather *g)
{
	struct query *q = store_ask(g->store,
		"SELECT kind, text, data FROM effort_messages WHERE effort = ?1 AND kind IN ('log', 'task', "
		"'dialogue') "
		"ORDER BY key DESC LIMIT 30",
		"b", g->uid->b, (size_t)ULID_BYTES);
	int got;

	while ((got = query_step(q)) == 1) {
		struct json *data = NULL;
		str text = arena_str(g->arena, query_str(q, 1));
		const struct json *first;

		if (!str_eq(query_str(q, 0), STR("dialogue"))) {
			add(g, &g->ret->done, text);
			continue;
		}
		(void)json_parse(g->arena, arena_str(g->arena, query_str(q, 2)), 0, &data, NULL);
		first = json_first(json_get(data, STR("questions")));
		if (json_get(first, STR("answer")))
			add(g, &g->ret->decisions,
				arena_strf(g->arena, STR_FMT " " STR_FMT, STR_ARG(text),
					STR_ARG(json_str(json_get(first, STR("answer"))))));
		else
			add(g, &g->ret->questions, text);
	}
	query_reset(q);
	return MIN(got, 0);
}

/* -- sessions ---------------------------------------------------------------------------------- */

static int read_sessions(struct gather *g)
{
	struct query *q = store_ask(g->store,
		"SELECT s.key, min(w.started_at) FROM effort_windows w JOIN sessions s ON s.native_id = w.session "
		"WHERE "
		"w.effort = ?1 GROUP BY s.key ORDER BY max(w.started_at) DESC LIMIT ?2",
		"bi", g->uid->b, (size_t)ULID_BYTES, (int64_t)SESSIONS_MAX);
	int got;

	while ((got = query_step(q)) == 1 && g->n < SESSIONS_MAX)
		g->sessions[g->n++] = (struct session){ query_int(q, 0), query_int(q, 1) };
	query_reset(q);
	return MIN(got, 0);
}

/* -- the agent's own list ----------------------------------------------------------------------- */

static void take_todos(struct gather *g, const struct todos *t)
{
	struct effort_standing *r = g->ret;

	for (size_t i = 0; i < t->n; i++) {
		str text = str_of(t->v[i].text);

		if (t->v[i].status == TODO_DONE)
			add(g, &r->done, text);
		else if (t->v[i].status != TODO_DROPPED)
			add(g, &r->pending, text);
		if (t->v[i].status == TODO_ACTIVE)
			take_text(g, &r->next, text);
	}
}

/* Of the last session that has one. */
static int read_todos(struct gather *g)
{
	struct todos t = { .n = 0 };
	int got = 0;

	for (size_t i = 0; i < g->n && !t.n && got >= 0; i++) {
		struct query *q = store_ask(g->store,
			"SELECT payload_text(payload) FROM events WHERE session = ?1 AND tool IN ('TodoWrite', "
			"'todo_write', 'write_todos', 'todowrite', 'update_plan', 'TaskCreate', 'TaskUpdate') AND kind "
			"= "
			"'PostToolUse' AND agent_id IS NULL ORDER BY ord",
			"i", g->sessions[i].key);

		while ((got = query_step(q)) == 1) {
			struct json *payload = NULL;

			if (json_parse(g->arena, arena_str(g->arena, query_str(q, 0)), JSON_LENIENT_UTF8, &payload,
				    NULL) == 0)
				(void)todos_take(&t, json_get(payload, STR("tool_input")),
					json_get(payload, STR("tool_response")));
		}
		query_reset(q);
	}
	take_todos(g, &t);
	return MIN(got, 0);
}

/* -- what was done ----------------------------------------------------------------------------- */

static int read_files(struct gather *g)
{
	int got = 0;

	for (size_t i = 0; i < g->n && got >= 0; i++) {
		struct query *q = store_ask(g->store,
			"SELECT file FROM activities WHERE session = ?1 AND change IN ('created', 'modified') AND file "
			"IS NOT "
			"NULL AND coalesce(started_at, ended_at) >= ?2 GROUP BY file ORDER BY max(ord) DESC LIMIT 8",
			"ii", g->sessions[i].key, g->sessions[i].since_us);

		while ((got = query_step(q)) == 1)
			add(g, &g->ret->files, query_str(q, 0));
		query_reset(q);
	}
	return MIN(got, 0);
}

/* What a test says last says most. */
static str tail_of(struct arena *a, str text)
{
	text = str_trim(text);
	if (text.n > OUTPUT_MAX) {
		text = str_from(text, text.n - OUTPUT_MAX);
		while (text.n && ((unsigned char)text.p[0] & 0xC0) == 0x80)
			text = str_from(text, 1);
	}
	return line_of(a, text, OUTPUT_MAX);
}

static int read_tests(struct gather *g)
{
	int got = 0;

	for (size_t i = 0; i < g->n && str_empty(g->ret->test) && got >= 0; i++) {
		struct query *q = store_ask(g->store,
			"SELECT input ->> '$.command', state, coalesce(error, output, ''), coalesce(error, '') <> '' "
			"FROM "
			"activities WHERE session = ?1 AND class_n = 1 AND state_n IN (1, 2) AND coalesce(started_at, "
			"ended_at) "
			">= ?2 ORDER BY ord DESC LIMIT ?3",
			"iii", g->sessions[i].key, g->sessions[i].since_us, (int64_t)CALLS_LOOKED);

		while (str_empty(g->ret->test) && (got = query_step(q)) == 1)
			if (command_runs_tests(query_str(q, 0)))
				g->ret->test = arena_strf(g->arena, STR_FMT ": %s (" STR_FMT ")",
					STR_ARG(line_of(g->arena, query_str(q, 0), ITEM_MAX / 2)),
					str_eq(query_str(q, 1), STR("failed")) ? "failed" : "ran",
					STR_ARG(tail_of(g->arena, query_str(q, 2))));
		query_reset(q);
	}
	return MIN(got, 0);
}

static int read_decisions(struct gather *g)
{
	int got = 0;

	for (size_t i = 0; i < g->n && got >= 0; i++) {
		struct query *q = store_ask(g->store,
			"SELECT text FROM memories WHERE session = ?1 AND type = 'decision' AND status = 'active' AND "
			"trust <> "
			"'web' ORDER BY created_at DESC LIMIT 5",
			"i", g->sessions[i].key);

		while ((got = query_step(q)) == 1)
			add(g, &g->ret->decisions, query_str(q, 0));
		query_reset(q);
	}
	return MIN(got, 0);
}

static int read_findings(struct gather *g)
{
	int got = 0;

	for (size_t i = 0; i < g->n && got >= 0; i++) {
		struct query *q = store_ask(g->store,
			"SELECT coalesce(agent_type, 'subagent') || ': ' || message FROM windows WHERE session = ?1 "
			"AND agent_id "
			"IS NOT NULL AND message <> '' AND started_at >= ?2 ORDER BY ord DESC LIMIT 4",
			"ii", g->sessions[i].key, g->sessions[i].since_us);

		while ((got = query_step(q)) == 1)
			add(g, &g->ret->findings, query_str(q, 0));
		query_reset(q);
	}
	return MIN(got, 0);
}

/* What was said last, and whether it was a question. */
static int read_last(struct gather *g)
{
	int got = 0;

	for (size_t i = 0; i < g->n && got == 0; i++) {
		struct query *q = store_ask(g->store,
			"SELECT prompt, response FROM batches WHERE session = ?1 AND source IN ('user', 'plan') AND "
			"NOT "
			"private ORDER BY ord DESC LIMIT 1",
			"i", g->sessions[i].key);
		str answer;

		got = query_step(q);
		if (got == 1) {
			take_text(g, &g->ret->user, query_str(q, 0));
			answer = str_trim(query_str(q, 1));
			if (str_ends(answer, STR("?")))
				add(g, &g->ret->questions, tail_of(g->arena, answer));
		}
		query_reset(q);
	}
	return MIN(got, 0);
}

static int read_artifacts(struct gather *g)
{
	struct query *q =
		store_ask(g->store, "SELECT type, path FROM effort_artifacts WHERE effort = ?1 ORDER BY at DESC", "b",
			g->uid->b, (size_t)ULID_BYTES);
	int got;

	while ((got = query_step(q)) == 1)
		add(g, &g->ret->artifacts,
			arena_strf(g->arena, STR_FMT ": " STR_FMT, STR_ARG(query_str(q, 0)), STR_ARG(query_str(q, 1))));
	query_reset(q);
	return MIN(got, 0);
}

int effort_stands(struct store *s, const struct ulid *uid, struct arena *a, struct effort_standing *ret)
{
	static int (*const readers[])(struct gather * g) = { read_effort, read_sessions, read_todos, read_messages,
		read_files, read_tests, read_decisions, read_findings, read_last, read_artifacts };
	struct gather g = { .store = s, .uid = uid, .arena = a, .ret = ret };
	int r = 0;

	*ret = (struct effort_standing){ .written_us = 0 };
	for (size_t i = 0; i < countof(readers) && r == 0; i++)
		r = readers[i](&g);
	ret->files.n = MIN(ret->files.n, (size_t)FILES_MAX);
	ret->written_files = MIN(ret->written_files, ret->files.n);
	return r;
}

/* -- as a text --------------------------------------------------------------------------------- */

struct page {
	struct buf text;
	size_t most;
	struct arena *arena;
};

static void put(struct page *p, const char *name, str text, size_t most)
{
	str line = str_cut_utf8(text, most);
	size_t room = p->most - p->text.len, needed = strlen(name) + line.n + 3;

	if (!str_empty(line) && needed <= room)
		buf_addf(&p->text, "%s: " STR_FMT "\n", name, STR_ARG(line));
}

static void put_list(struct page *p, const char *name, const struct effort_items *list, size_t most)
{
	bool any = false;

	for (size_t i = 0; i < list->n && i < most; i++) {
		size_t needed = list->v[i].n + 3 + (any ? 0 : strlen(name) + 2);

		if (p->text.len + needed > p->most)
			return;
		if (!any)
			buf_addf(&p->text, "%s:\n", name);
		any = true;
		buf_addf(&p->text, "- " STR_FMT "\n", STR_ARG(list->v[i]));
	}
}

/* What matters most comes first, because the rest may not fit. */
str effort_standing_text(const struct effort_standing *s, size_t most, struct arena *a)
{
	struct page p = { .text = BUF_INIT(1 << 16), .most = most, .arena = a };
	str text;

	put(&p, "Goal", s->goal, 300);
	put(&p, "Next", s->next, 300);
	put(&p, "Notes", s->notes, 500);
	put_list(&p, "Pending", &s->pending, 8);
	put_list(&p, "Open questions", &s->questions, 3);
	put(&p, "Last tests", s->test, 260);
	put_list(&p, "Files", &s->files, FILES_MAX);
	put_list(&p, "Decisions", &s->decisions, 5);
	put_list(&p, "Done", &s->done, 6);
	put_list(&p, "Reported by subagents", &s->findings, 3);
	put(&p, "The user's last words", s->user, 200);
	put_list(&p, "Artifacts", &s->artifacts, 6);
	text = arena_str(a, buf_str(&p.text));
	buf_release(&p.text);
	return text;
}

static void write_list(struct json_writer *w, const char *name, const struct effort_items *list)
{
	if (!list->n)
		return;
	jw_key(w, name);
	jw_array(w);
	for (size_t i = 0; i < list->n; i++)
		jw_str(w, list->v[i]);
	jw_end_array(w);
}

static void write_text(struct json_writer *w, const char *name, str text)
{
	if (!str_empty(text))
		jw_field_str(w, name, text);
}

str effort_standing_json(const struct effort_standing *s, struct arena *a)
{
	struct buf b = BUF_INIT(1 << 18);
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	write_text(&w, "goal", s->goal);
	write_text(&w, "next", s->next);
	write_text(&w, "notes", s->notes);
	write_list(&w, "done", &s->done);
	write_list(&w, "pending", &s->pending);
	write_list(&w, "decisions", &s->decisions);
	write_list(&w, "files", &s->files);
	write_text(&w, "tests", s->test);
	write_list(&w, "questions", &s->questions);
	write_list(&w, "findings", &s->findings);
	write_list(&w, "artifacts", &s->artifacts);
	write_text(&w, "user", s->user);
	if (s->written_us)
		jw_field_int(&w, "written_us", s->written_us);
	jw_end_object(&w);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}
