/* The walk through a session, and what every way of writing it down needs. */
#include "cli/story.h"

#include <errno.h>

#include "base/clock.h"

/* -- facts ------------------------------------------------------------------------------------- */

str story_title(const struct json *session)
{
	str title = cell_text(session, "title");

	return str_empty(title) ? STR("(no prompt)") : title;
}

static str clock_of(struct story *s, const struct json *row, const char *name)
{
	return str_from(cell_time(s->cli, row, name), sizeof "2026-11-15");
}

static str span(struct story *s, const struct json *session)
{
	bool ended = json_get(session, STR("ended_us")) != NULL;
	char age[CLOCK_TEXT];

	clock_format_age(cell_int(session, ended ? "ended_us" : "last_us") - cell_int(session, "started_us"), age);
	return arena_strf(&s->cli->arena, STR_FMT " to " STR_FMT " (%s)",
		STR_ARG(cell_time(s->cli, session, "started_us")),
		STR_ARG(cell_time(s->cli, session, ended ? "ended_us" : "last_us")), age);
}

static str join(struct story *s, str a, const char *before, str b, const char *behind)
{
	return str_empty(b)
		? a
		: arena_strf(&s->cli->arena, STR_FMT "%s" STR_FMT "%s", STR_ARG(a), before, STR_ARG(b), behind);
}

static str children(struct story *s)
{
	str list = STR("");

	json_each(c, json_get(s->show, STR("children")))
		list = join(s, list, str_empty(list) ? "" : ", ",
			join(s, cell_text(c, "id"), " (", cell_text(c, "reason"), ")"), "");
	return list;
}

static str in_one_line(struct story *s, str text)
{
	str list = STR(""), line;

	while (str_split(&text, '\n', &line))
		list = join(s, list, str_empty(list) ? "" : " ", line, "");
	return list;
}

int story_facts(struct story *s, const struct json *session, struct story_fact out[STORY_FACTS])
{
	const struct json *project = json_get(session, STR("project"));
	const struct story_fact facts[] = {
		{ "session", cell_text(session, "id") },
		{ "agent", join(s, cell_text(session, "agent"), ", ", cell_text(session, "model"), "") },
		{ "project", join(s, cell_text(project, "name"), " (", cell_text(project, "path"), ")") },
		{ "worktree", cell_text(session, "worktree") },
		{ "directory", cell_text(session, "cwd") },
		{ "time", span(s, session) },
		{ "status", join(s, cell_text(session, "status"), " (", cell_text(session, "end_reason"), ")") },
		{ "parent", join(s, cell_text(session, "parent"), " (", cell_text(session, "parent_reason"), ")") },
		{ "continued", children(s) },
		{ "transcript", cell_text(session, "transcript_path") },
		{ "kind", cell_text(session, "origin") },
		{ "summary", in_one_line(s, cell_text(session, "summary")) },
	};
	int n = 0;

	for (size_t i = 0; i < countof(facts); i++)
		if (!str_empty(facts[i].value))
			out[n++] = facts[i];
	return n;
}

str story_window_label(struct story *s, const struct json *window)
{
	str label = arena_strf(&s->cli->arena, "window %d", s->windows);

	label = join(s, label, " · ", cell_text(window, "source"), "");
	label = join(s, label, " · ", clock_of(s, window, "started_us"), "");
	return join(s, label, " · ", cell_text(window, "model"), "");
}

/* -- prompts ----------------------------------------------------------------------------------- */

str story_prompt_label(struct story *s, const struct json *batch)
{
	str source = cell_text(batch, "source"), label;

	label = arena_strf(&s->cli->arena, "%lld · " STR_FMT, (long long)cell_int(batch, "number"),
		STR_ARG(clock_of(s, batch, "started_us")));
	label = join(s, label, " · ", str_eq(source, STR("user")) ? STR("") : source, "");
	label = join(s, label, " · ", cell_text(batch, "class"), "");
	if (cell_int(batch, "attachments"))
		label = arena_strf(&s->cli->arena, STR_FMT " · %lld attachments", STR_ARG(label),
			(long long)cell_int(batch, "attachments"));
	return label;
}

str story_prompt_text(const struct json *batch)
{
	str prompt = cell_text(batch, "prompt");

	if (json_true(json_get(batch, STR("private"))))
		return STR("(private: not stored)");
	return str_empty(prompt) ? STR("(empty)") : prompt;
}

/* -- activities -------------------------------------------------------------------------------- */

static bool is_tool(const struct json *a)
{
	return str_eq(cell_text(a, "kind"), STR("tool"));
}

str story_activity_name(const struct json *a)
{
	str tool = cell_text(a, "tool");

	return !is_tool(a) ? cell_text(a, "kind") : str_empty(tool) ? STR("unknown") : tool;
}

/* What a person wants to see of a call: its file, else the input that says most, else any text in it. */
str story_activity_gist(const struct json *a)
{
	static const char *const names[] = { "command", "pattern", "query", "url", "subject", "description", "prompt",
		"plan", "path", "skill" };
	const struct json *input = json_get(a, STR("input"));
	str s = cell_text(a, "file");

	if (!str_empty(s))
		return s;
	if (!is_tool(a))
		return cell_text(a, "output");
	for (size_t i = 0; i < countof(names); i++)
		if (!str_empty(s = cell_text(input, names[i])))
			return s;
	json_each(v, input)
		if (!str_empty(json_str(v)))
			return json_str(v);
	return STR("");
}

str story_duration(struct story *s, const struct json *a)
{
	int64_t ms = cell_int(a, "duration_ms");
	struct arena *arena = &s->cli->arena;

	if (!json_get(a, STR("duration_ms")))
		return STR("");
	if (ms < 1000)
		return arena_strf(arena, "%lld ms", (long long)ms);
	if (ms < 60000)
		return arena_strf(arena, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
	return arena_strf(arena, "%lld min %lld s", (long long)(ms / 60000), (long long)(ms % 60000 / 1000));
}

static const struct {
	str state, symbol;
} symbols[] = {
	{ { "done", 4 }, { "✓", sizeof "✓" - 1 } },
	{ { "failed", 6 }, { "✗", sizeof "✗" - 1 } },
	{ { "denied", 6 }, { "⊘", sizeof "⊘" - 1 } },
	{ { "started", 7 }, { "…", sizeof "…" - 1 } },
};

str story_state(const struct json *a)
{
	for (size_t i = 0; i < countof(symbols); i++)
		if (str_eq(cell_text(a, "state"), symbols[i].state))
			return symbols[i].state;
	return STR("started");
}

str story_symbol(const struct json *a)
{
	str state = story_state(a);

	for (size_t i = 0; i < countof(symbols) && is_tool(a); i++)
		if (str_eq(state, symbols[i].state))
			return symbols[i].symbol;
	return str_eq(state, STR("failed")) ? STR("✗") : STR("·");
}

str story_verdict(struct cli *cli, const struct json *v)
{
	bool denied = str_eq(cell_text(v, "decision"), STR("deny"));
	str reason = cell_text(v, "reason");

	if (!denied && !str_eq(cell_text(v, "decision"), STR("ask")))
		return STR("");
	return arena_strf(&cli->arena, "%s" STR_FMT "%s" STR_FMT,
		!denied                              ? "confirmation required by "
			: json_get(v, STR("ran_us")) ? "ran although it was denied by "
						     : "denied by ",
		STR_ARG(cell_text(v, "rule")), str_empty(reason) ? "" : ": ", STR_ARG(reason));
}

str story_complaint(struct story *s, const struct json *a)
{
	str verdict = story_verdict(s->cli, a), error = cell_text(a, "error");

	return str_empty(verdict) ? error : join(s, verdict, "\n", error, "");
}

/* -- numbers ----------------------------------------------------------------------------------- */

str story_file_notes(struct story *s, const struct json *file)
{
	int64_t modified = cell_int(file, "modified"), read = cell_int(file, "read");
	str notes = json_true(json_get(file, STR("created"))) ? STR("created") : STR("");

	if (modified)
		notes = join(s, notes, str_empty(notes) ? "" : ", ",
			arena_strf(&s->cli->arena, "modified ×%lld", (long long)modified), "");
	if (read)
		notes = join(s, notes, str_empty(notes) ? "" : ", ",
			arena_strf(&s->cli->arena, "read ×%lld", (long long)read), "");
	return notes;
}

static str numbers(struct story *s)
{
	const struct json *stats = json_get(s->show, STR("stats")), *minutes = json_get(stats, STR("duration_minutes"));
	str tools = STR("");

	json_each(t, json_get(stats, STR("tool_counts")))
		tools = join(s, tools, str_empty(tools) ? "" : ", ", join(s, t->key, " ", t->text, ""), "");
	return arena_strf(&s->cli->arena,
		"%lld prompts, %lld tool calls%s" STR_FMT " (%lld failed, %lld denied); "
		"%lld files touched, %lld created, %lld modified; " STR_FMT " minutes",
		(long long)cell_int(json_get(s->show, STR("session")), "prompts"),
		(long long)cell_int(stats, "activity_count"), str_empty(tools) ? "" : ": ", STR_ARG(tools),
		(long long)cell_int(stats, "failed"), (long long)cell_int(stats, "denied"),
		(long long)cell_int(stats, "files_touched"), (long long)cell_int(stats, "files_created"),
		(long long)cell_int(stats, "files_modified"),
		STR_ARG(minutes && minutes->type == JSON_NUMBER ? minutes->text : STR("0")));
}

/* -- the walk ---------------------------------------------------------------------------------- */

static const struct json *find_window(struct story *s, int64_t key)
{
	json_each(w, json_get(s->show, STR("windows")))
		if (cell_int(w, "key") == key)
			return w;
	return NULL;
}

static void end_list(struct story *s)
{
	if (s->listing)
		s->style->activities(s, false);
	s->listing = false;
}

/* A window of the session itself begins; a subagent's happens within the one it was started from. */
static void tell_window(struct story *s, int64_t key)
{
	const struct json *w = find_window(s, key);

	while (w && !str_empty(cell_text(w, "agent_id")) && cell_int(w, "parent") != cell_int(w, "key"))
		w = find_window(s, cell_int(w, "parent"));
	/* What comes late may belong to an earlier one, which has already been written. */
	if (!w || cell_int(w, "key") <= s->window)
		return;
	end_list(s);
	s->window = cell_int(w, "key");
	s->windows++;
	s->style->window(s, w);
}

static void tell_activity(struct story *s, const struct json *a)
{
	tell_window(s, cell_int(a, "window"));
	if (!s->listing)
		s->style->activities(s, true);
	s->listing = true;
	s->style->activity(s, a, is_tool(a) && !str_empty(cell_text(a, "agent_id")));
}

/* What happened outside any prompt, up to a moment. */
static void tell_outside(struct story *s, int64_t until_us)
{
	for (; s->outside && cell_int(s->outside, "at_us") < until_us; s->outside = s->outside->next)
		tell_activity(s, s->outside);
	end_list(s);
}

static void tell_batch(struct story *s, const struct json *batch)
{
	tell_outside(s, cell_int(batch, "started_us"));
	tell_window(s, cell_int(batch, "window"));
	s->style->prompt(s, batch);
	json_each(a, json_get(batch, STR("activities")))
		tell_activity(s, a);
	end_list(s);
	if (!str_empty(cell_text(batch, "response")))
		s->style->response(s, batch);
}

int story_flush(struct story *s)
{
	bool ok = !s->b.full && fwrite(s->b.p, 1, s->b.len, s->out) == s->b.len;

	buf_clear(&s->b);
	return ok ? 0 : -EIO;
}

int story_tell(struct story *s, const struct json *show)
{
	const struct json *files = json_get(show, STR("files"));
	int r = 0;

	s->show = show;
	s->outside = json_first(json_get(show, STR("outside")));
	s->window = 0;
	s->windows = 0;
	s->style->header(s, json_get(show, STR("session")));
	json_each(batch, json_get(show, STR("batches"))) {
		tell_batch(s, batch);
		r = story_flush(s);
		if (r < 0)
			return r;
	}
	tell_outside(s, INT64_MAX);
	json_each(plan, json_get(show, STR("plans")))
		s->style->plan(s, plan);
	if (json_first(files))
		s->style->files(s, files);
	s->style->numbers(s, numbers(s));
	return story_flush(s);
}

/* -- all of it --------------------------------------------------------------------------------- */

void story_add_ref(struct json_writer *w, struct story_ref ref)
{
	if (ref.key)
		jw_field_int(w, "session", ref.key);
	else
		jw_field_str(w, "session", ref.id);
}

static void append(struct json *to, struct json *from)
{
	struct json **end = &to->first;

	while (*end)
		end = &(*end)->next;
	*end = from->first;
	to->count += from->count;
}

struct json *story_fetch(struct cli *cli, struct story_ref session)
{
	struct json *whole = NULL, *page, *batches;
	int64_t next = 0;

	do {
		struct buf b = BUF_INIT(8192);
		struct json_writer w = JSON_WRITER(&b);

		jw_object(&w);
		story_add_ref(&w, session);
		jw_field_int(&w, "skip", next);
		jw_end_object(&w);
		page = cli_ask(cli, "show", buf_str(&b));
		buf_release(&b);
		if (!page)
			return NULL;
		next = cell_int(page, "next");
		batches = json_get(page, STR("batches"));
		if (!whole)
			whole = page;
		else if (batches)
			append(json_get(whole, STR("batches")), batches);
	} while (next);
	/* The page says where it ended; the whole does not end there. */
	for (struct json **m = &whole->first; *m; m = &(*m)->next)
		if (str_eq((*m)->key, STR("next"))) {
			*m = (*m)->next;
			whole->count--;
			break;
		}
	return whole;
}
