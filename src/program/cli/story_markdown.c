/* A session as Markdown. What others wrote is quoted or put between backticks, so that it cannot end its place,
 * become HTML, or load a picture from somewhere. */
#include "cli/story.h"

/* Running text: no HTML, no picture, one line. */
static void add_text(struct buf *b, str text)
{
	size_t at = 0;
	char room[4];
	str c;

	while (at < text.n) {
		cli_next_safe(text, &at, room, &c);
		if (c.p[0] == '<')
			buf_add_str(b, STR("&lt;"));
		else if (c.p[0] == '&')
			buf_add_str(b, STR("&amp;"));
		else if (c.p[0] == '[' && at > 1 && text.p[at - 2] == '!')
			buf_add_str(b, STR("\\["));
		else
			buf_add_str(b, c);
	}
}

static void add_quoted(struct buf *b, const char *margin, str text)
{
	str rest = str_trim(text), line;

	while (str_split(&rest, '\n', &line)) {
		buf_addf(b, "%s> ", margin);
		add_text(b, str_trim(line).n ? line : STR(""));
		buf_add_char(b, '\n');
	}
	buf_add_char(b, '\n');
}

/* One backtick more than the longest run inside. */
static int fence_of(str text, int least)
{
	int run = 0, longest = least - 1;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	return longest + 1;
}

static void add_ticks(struct buf *b, int n)
{
	while (n-- > 0)
		buf_add_char(b, '`');
}

static void add_code(struct buf *b, str text, size_t limit)
{
	int fence = fence_of(text, 1);
	const char *space = fence > 1 ? " " : "";

	if (str_empty(str_trim(text)))
		return;
	add_ticks(b, fence);
	buf_add_str(b, str_of(space));
	cli_add_safe(b, text, limit);
	buf_add_str(b, str_of(space));
	add_ticks(b, fence);
}

static void add_block(struct buf *b, str text)
{
	int fence = fence_of(text, 3);
	str rest = text, line;

	add_ticks(b, fence);
	buf_add_char(b, '\n');
	while (str_split(&rest, '\n', &line)) {
		cli_add_safe(b, line, SIZE_MAX);
		buf_add_char(b, '\n');
	}
	add_ticks(b, fence);
	buf_add_str(b, STR("\n\n"));
}

static void begin(struct story *s)
{
}

static void header(struct story *s, const struct json *session)
{
	struct story_fact facts[STORY_FACTS];
	int n = story_facts(s, session, facts);

	buf_add_str(&s->b, STR("# "));
	add_text(&s->b, story_title(session));
	buf_add_str(&s->b, STR("\n\n"));
	for (int i = 0; i < n; i++) {
		buf_addf(&s->b, "- **%s**: ", facts[i].label);
		add_text(&s->b, facts[i].value);
		buf_add_char(&s->b, '\n');
	}
	buf_add_char(&s->b, '\n');
}

static void window(struct story *s, const struct json *w)
{
	buf_add_str(&s->b, STR("## "));
	add_text(&s->b, story_window_label(s, w));
	buf_add_str(&s->b, STR("\n\n"));
}

static void prompt(struct story *s, const struct json *batch)
{
	buf_add_str(&s->b, STR("### Prompt "));
	add_text(&s->b, story_prompt_label(s, batch));
	buf_add_str(&s->b, STR("\n\n"));
	add_quoted(&s->b, "", story_prompt_text(batch));
}

static void activities(struct story *s, bool begins)
{
	if (!begins)
		buf_add_char(&s->b, '\n');
}

static void activity(struct story *s, const struct json *a, bool in_subagent)
{
	str took = story_duration(s, a), error = story_complaint(s, a);

	buf_addf(&s->b, "%s- " STR_FMT " ", in_subagent ? "  " : "", STR_ARG(story_symbol(a)));
	add_text(&s->b, story_activity_name(a));
	buf_add_char(&s->b, ' ');
	add_code(&s->b, story_activity_gist(a), 500);
	if (!str_empty(took))
		buf_addf(&s->b, " (" STR_FMT ")", STR_ARG(took));
	if (!str_empty(error)) {
		buf_addf(&s->b, " **" STR_FMT "** ", STR_ARG(story_state(a)));
		add_code(&s->b, error, 500);
	}
	buf_add_char(&s->b, '\n');
}

static void response(struct story *s, const struct json *batch)
{
	buf_add_str(&s->b,
		json_true(json_get(batch, STR("late"))) ? STR("**Answer** (late)\n\n") : STR("**Answer**\n\n"));
	add_quoted(&s->b, "", cell_text(batch, "response"));
}

static void plan(struct story *s, const struct json *p)
{
	buf_add_str(&s->b, STR("## Plan: "));
	add_text(&s->b, cell_text(p, "title"));
	buf_add_str(&s->b, STR("\n\n"));
	add_code(&s->b, cell_text(p, "path"), SIZE_MAX);
	buf_addf(&s->b, ", version %lld\n\n", (long long)cell_int(p, "versions"));
	add_block(&s->b, cell_text(p, "content"));
}

static void files(struct story *s, const struct json *list)
{
	buf_add_str(&s->b, STR("## Files\n\n"));
	json_each(f, list) {
		buf_add_str(&s->b, STR("- "));
		add_code(&s->b, cell_text(f, "file"), SIZE_MAX);
		buf_addf(&s->b, " " STR_FMT "\n", STR_ARG(story_file_notes(s, f)));
	}
	buf_add_char(&s->b, '\n');
}

static void numbers(struct story *s, str line)
{
	buf_add_str(&s->b, STR("## Numbers\n\n"));
	add_text(&s->b, line);
	buf_add_str(&s->b, STR("\n\n"));
}

static void end(struct story *s)
{
}

const struct story_style story_markdown = { begin, header, window, prompt, activities, activity, response, plan, files,
	numbers, end };
