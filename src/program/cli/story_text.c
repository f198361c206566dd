/* A session on the terminal. */
#include "cli/story.h"

enum { PROMPT_LINES = 4, RESPONSE_LINES = 8, PLAN_LINES = 12, COMPLAINT_LINES = 3, NAME_WIDTH = 10 };

enum ink { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

static void ink(struct story *s, enum ink ink)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m",
		"\033[36m" };

	if (s->colour)
		buf_add_str(&s->b, str_of(codes[ink]));
}

static size_t room(struct story *s, size_t used)
{
	return s->width == SIZE_MAX || s->full ? SIZE_MAX : s->width > used + 20 ? s->width - used : 20;
}

/* Text of several lines behind a margin: the first few and how many more there are, or all with --full. */
static void add_lines(struct story *s, const char *margin, str text, int most)
{
	str rest = str_trim(text), line;
	int n = 0, left = 0;

	while (str_split(&rest, '\n', &line)) {
		if (!s->full && n == most) {
			left++;
			continue;
		}
		buf_add_str(&s->b, str_of(margin));
		cli_add_safe(&s->b, line.n && line.p[line.n - 1] == '\r' ? str_head(line, line.n - 1) : line,
			room(s, strlen(margin)));
		buf_add_char(&s->b, '\n');
		n++;
	}
	if (left) {
		ink(s, DIM);
		buf_addf(&s->b, "%s… %d more lines, with --full\n", margin, left);
		ink(s, PLAIN);
	}
}

static void begin(struct story *s)
{
}

static void header(struct story *s, const struct json *session)
{
	struct story_fact facts[STORY_FACTS];
	int n = story_facts(s, session, facts);

	ink(s, BOLD);
	cli_add_safe(&s->b, story_title(session), room(s, 0));
	ink(s, PLAIN);
	buf_add_char(&s->b, '\n');
	for (int i = 0; i < n; i++) {
		ink(s, DIM);
		buf_addf(&s->b, "  %-11s", facts[i].label);
		ink(s, PLAIN);
		cli_add_safe(&s->b, facts[i].value, room(s, 13));
		buf_add_char(&s->b, '\n');
	}
}

static void window(struct story *s, const struct json *w)
{
	buf_add_char(&s->b, '\n');
	ink(s, DIM);
	buf_add_str(&s->b, STR("── "));
	cli_add_safe(&s->b, story_window_label(s, w), room(s, 6));
	buf_add_str(&s->b, STR(" ──\n"));
	ink(s, PLAIN);
}

static void prompt(struct story *s, const struct json *batch)
{
	buf_add_char(&s->b, '\n');
	ink(s, CYAN);
	buf_add_char(&s->b, '#');
	cli_add_safe(&s->b, story_prompt_label(s, batch), room(s, 1));
	ink(s, PLAIN);
	buf_add_char(&s->b, '\n');
	ink(s, BOLD);
	add_lines(s, "  > ", story_prompt_text(batch), PROMPT_LINES);
	ink(s, PLAIN);
}

static void activities(struct story *s, bool begins)
{
}

static enum ink ink_of(const struct json *a)
{
	str state = story_state(a);

	if (str_eq(state, STR("failed")))
		return RED;
	if (str_eq(state, STR("denied")))
		return YELLOW;
	return str_eq(state, STR("done")) && str_eq(cell_text(a, "kind"), STR("tool")) ? GREEN : DIM;
}

static void activity(struct story *s, const struct json *a, bool in_subagent)
{
	const char *indent = in_subagent ? "      " : "  ";
	str name = story_activity_name(a), took = story_duration(s, a), error = story_complaint(s, a);
	size_t used = strlen(indent) + 2 + 1 + (took.n ? took.n + 2 : 0), shown;

	buf_add_str(&s->b, str_of(indent));
	ink(s, ink_of(a));
	buf_add_str(&s->b, story_symbol(a));
	buf_add_char(&s->b, ' ');
	shown = cli_add_safe(&s->b, name, 40);
	ink(s, PLAIN);
	for (; shown < NAME_WIDTH; shown++)
		buf_add_char(&s->b, ' ');
	buf_add_char(&s->b, ' ');
	cli_add_safe(&s->b, story_activity_gist(a), room(s, used + shown));
	if (!str_empty(took)) {
		ink(s, DIM);
		buf_addf(&s->b, "  " STR_FMT, STR_ARG(took));
		ink(s, PLAIN);
	}
	buf_add_char(&s->b, '\n');
	if (!str_empty(error)) {
		ink(s, ink_of(a));
		add_lines(s, in_subagent ? "          " : "      ", error, COMPLAINT_LINES);
		ink(s, PLAIN);
	}
	if (s->full && str_eq(cell_text(a, "kind"), STR("tool")))
		add_lines(s, in_subagent ? "        | " : "    | ", cell_text(a, "output"), 0);
}

static void response(struct story *s, const struct json *batch)
{
	if (json_true(json_get(batch, STR("late"))))
		buf_add_str(&s->b, STR("  (the answer arrived after the prompt was closed)\n"));
	add_lines(s, "  < ", cell_text(batch, "response"), RESPONSE_LINES);
}

static void plan(struct story *s, const struct json *p)
{
	buf_add_char(&s->b, '\n');
	ink(s, BOLD);
	buf_add_str(&s->b, STR("plan "));
	cli_add_safe(&s->b, cell_text(p, "title"), room(s, 5));
	ink(s, PLAIN);
	buf_add_str(&s->b, STR("\n  "));
	cli_add_safe(&s->b, cell_text(p, "path"), room(s, 2));
	buf_addf(&s->b, ", version %lld (", (long long)cell_int(p, "versions"));
	cli_add_safe(&s->b, cell_text(p, "source"), 40);
	buf_add_str(&s->b, STR(")\n"));
	add_lines(s, "  | ", cell_text(p, "content"), PLAN_LINES);
}

static void files(struct story *s, const struct json *list)
{
	buf_add_char(&s->b, '\n');
	ink(s, BOLD);
	buf_add_str(&s->b, STR("files\n"));
	ink(s, PLAIN);
	json_each(f, list) {
		str notes = story_file_notes(s, f);

		buf_add_str(&s->b, STR("  "));
		cli_add_safe(&s->b, cell_text(f, "file"), room(s, notes.n + 4));
		ink(s, DIM);
		buf_addf(&s->b, "  " STR_FMT "\n", STR_ARG(notes));
		ink(s, PLAIN);
	}
}

static void numbers(struct story *s, str line)
{
	buf_add_char(&s->b, '\n');
	cli_add_safe(&s->b, line, SIZE_MAX);
	buf_add_char(&s->b, '\n');
}

static void end(struct story *s)
{
}

const struct story_style story_text = { begin, header, window, prompt, activities, activity, response, plan, files,
	numbers, end };
