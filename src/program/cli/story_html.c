/* Sessions as one HTML file that asks nobody for anything: no script, no font, no picture, and a policy that
 * forbids them. All text is escaped; styles and attributes are ours alone. */
#include "cli/story.h"

static void add_html(struct buf *b, str text)
{
	static const struct {
		char c;
		str entity;
	} entities[] = {
		{ '<', { "&lt;", 4 } },
		{ '>', { "&gt;", 4 } },
		{ '&', { "&amp;", 5 } },
		{ '"', { "&quot;", 6 } },
		{ '\'', { "&#39;", 5 } },
	};
	size_t at = 0, i;
	char room[4];
	str c;

	while (at < text.n) {
		bool line_end = text.p[at] == '\n';

		cli_next_safe(text, &at, room, &c);
		for (i = 0; i < countof(entities) && entities[i].c != c.p[0]; i++)
			;
		if (line_end)
			buf_add_char(b, '\n');
		else
			buf_add_str(b, i < countof(entities) ? entities[i].entity : c);
	}
}

/* <tag class="class">text</tag>; tag and class are literals. */
static void add_element(struct story *s, const char *tag, const char *class, str text)
{
	if (class)
		buf_addf(&s->b, "<%s class=\"%s\">", tag, class);
	else
		buf_addf(&s->b, "<%s>", tag);
	add_html(&s->b, text);
	buf_addf(&s->b, "</%s>", tag);
}

static void begin(struct story *s)
{
	buf_add_str(&s->b,
		STR("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
		    "'unsafe-inline'; base-uri 'none'; "
		    "form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
		    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>hookd sessions</title>\n<style>\n"
		    ":root { color-scheme: light dark }\n"
		    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; "
		    "padding: 0 1rem }\n"
		    "pre, code { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; "
		    "overflow-wrap: anywhere }\n"
		    "pre.prompt { border-left: .25rem solid #07c; padding-left: .75rem; font-weight: 600 }\n"
		    "pre.response { border-left: .25rem solid #888; padding-left: .75rem }\n"
		    "ul.did { list-style: none; padding-left: 0 } li.sub { margin-left: 2rem }\n"
		    ".failed { color: #c22 } .denied { color: #b60 } .done { color: #282 } .dim { opacity: .65 "
		    "}\n"
		    "dt { float: left; clear: left; width: 7rem; opacity: .65 } dd { margin-left: 7rem }\n"
		    "article { border-bottom: 1px solid #8888; padding-bottom: 2rem }\n"
		    "</style>\n</head>\n<body>\n"));
}

static void header(struct story *s, const struct json *session)
{
	struct story_fact facts[STORY_FACTS];
	int n = story_facts(s, session, facts);

	buf_add_str(&s->b, STR("<article>\n"));
	add_element(s, "h1", NULL, story_title(session));
	buf_add_str(&s->b, STR("\n<dl>\n"));
	for (int i = 0; i < n; i++) {
		add_element(s, "dt", NULL, str_of(facts[i].label));
		add_element(s, "dd", NULL, facts[i].value);
		buf_add_char(&s->b, '\n');
	}
	buf_add_str(&s->b, STR("</dl>\n"));
}

static void window(struct story *s, const struct json *w)
{
	add_element(s, "h2", NULL, story_window_label(s, w));
	buf_add_char(&s->b, '\n');
}

static void prompt(struct story *s, const struct json *batch)
{
	add_element(s, "h3", NULL, story_prompt_label(s, batch));
	add_element(s, "pre", "prompt", story_prompt_text(batch));
	buf_add_char(&s->b, '\n');
}

static void activities(struct story *s, bool begins)
{
	buf_add_str(&s->b, begins ? STR("<ul class=\"did\">\n") : STR("</ul>\n"));
}

static void activity(struct story *s, const struct json *a, bool in_subagent)
{
	str state = story_state(a), took = story_duration(s, a), error = story_complaint(s, a),
	    output = cell_text(a, "output");
	char class[16];

	/* One of our own four words. */
	snprintf(class, sizeof class, STR_FMT, STR_ARG(state));
	buf_add_str(&s->b, in_subagent ? STR("<li class=\"sub\">") : STR("<li>"));
	add_element(s, "span", class, story_symbol(a));
	buf_add_char(&s->b, ' ');
	add_element(s, "b", NULL, story_activity_name(a));
	buf_add_char(&s->b, ' ');
	add_element(s, "code", NULL, story_activity_gist(a));
	buf_add_char(&s->b, ' ');
	add_element(s, "span", "dim", took);
	if (!str_empty(error))
		add_element(s, "pre", class, error);
	if (!str_empty(output) && str_eq(cell_text(a, "kind"), STR("tool"))) {
		buf_add_str(&s->b, STR("<details><summary class=\"dim\">output</summary>"));
		add_element(s, "pre", NULL, output);
		buf_add_str(&s->b, STR("</details>"));
	}
	buf_add_str(&s->b, STR("</li>\n"));
}

static void response(struct story *s, const struct json *batch)
{
	if (json_true(json_get(batch, STR("late"))))
		add_element(s, "p", "dim", STR("the answer arrived after the prompt was closed"));
	add_element(s, "pre", "response", cell_text(batch, "response"));
	buf_add_char(&s->b, '\n');
}

static void plan(struct story *s, const struct json *p)
{
	add_element(s, "h2", NULL, arena_strf(&s->cli->arena, "Plan: " STR_FMT, STR_ARG(cell_text(p, "title"))));
	add_element(s, "p", "dim",
		arena_strf(&s->cli->arena, STR_FMT ", version %lld", STR_ARG(cell_text(p, "path")),
			(long long)cell_int(p, "versions")));
	add_element(s, "pre", NULL, cell_text(p, "content"));
	buf_add_char(&s->b, '\n');
}

static void files(struct story *s, const struct json *list)
{
	buf_add_str(&s->b, STR("<h2>Files</h2>\n<ul>\n"));
	json_each(f, list) {
		buf_add_str(&s->b, STR("<li>"));
		add_element(s, "code", NULL, cell_text(f, "file"));
		buf_add_char(&s->b, ' ');
		add_element(s, "span", "dim", story_file_notes(s, f));
		buf_add_str(&s->b, STR("</li>\n"));
	}
	buf_add_str(&s->b, STR("</ul>\n"));
}

static void numbers(struct story *s, str line)
{
	add_element(s, "p", NULL, line);
	buf_add_str(&s->b, STR("\n</article>\n"));
}

static void end(struct story *s)
{
	buf_add_str(&s->b, STR("</body>\n</html>\n"));
}

const struct story_style story_html = { begin, header, window, prompt, activities, activity, response, plan, files,
	numbers, end };
