/* export: sessions as files for people and programs. */
#include <errno.h>
#include <stdio.h>

#include "cli/story.h"

/* One way of writing; the document's begin and end are the style's. */
struct format {
	const char *name;
	const struct story_style *style; /* NULL: the events, one JSON object a line */
};

static const struct format formats[] = { { "md", &story_markdown }, { "html", &story_html }, { "jsonl", NULL } };

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < countof(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

/* -- one session ------------------------------------------------------------------------------- */

static int export_events(struct story *s, struct story_ref session)
{
	str cursor = STR_NONE;

	do {
		struct buf b = BUF_INIT(8192);
		struct json_writer w = JSON_WRITER(&b);
		struct json *page;

		jw_object(&w);
		story_add_ref(&w, session);
		jw_field_str(&w, "cursor", cursor);
		jw_end_object(&w);
		page = cli_ask(s->cli, "session_events", buf_str(&b));
		buf_release(&b);
		if (!page)
			return EXIT_FAILED;
		json_each(e, json_get(page, STR("events"))) {
			json_write(&s->b, e);
			buf_add_char(&s->b, '\n');
		}
		if (story_flush(s) < 0)
			return cli_fail("the export could not be written: %s", strerror(errno));
		cursor = json_str(json_get(page, STR("cursor")));
	} while (str_is_set(cursor));
	return EXIT_DONE;
}

static int export_one(struct story *s, struct story_ref session)
{
	struct json *show;

	if (!s->style)
		return export_events(s, session);
	show = story_fetch(s->cli, session);
	if (!show)
		return EXIT_FAILED;
	return story_tell(s, show) < 0 ? cli_fail("the export could not be written: %s", strerror(errno)) : EXIT_DONE;
}

/* -- which ones -------------------------------------------------------------------------------- */

/* The next few keys of the filter, from one on. Keys, because ids of two agents may be the same. */
static struct json *next_sessions(struct cli *cli, int64_t after, int *ret_exit)
{
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;

	jw_object(&w);
	*ret_exit = cli_add_filter(cli, &w);
	jw_field_int(&w, "after", after);
	jw_field_int(&w, "limit", 500);
	jw_end_object(&w);
	result = *ret_exit ? NULL : cli_ask(cli, "sessions", buf_str(&b));
	buf_release(&b);
	if (!result && !*ret_exit)
		*ret_exit = EXIT_FAILED;
	return result;
}

static int export_chosen(struct story *s)
{
	int64_t keys[500], last = 0;
	int r = EXIT_DONE, n;

	for (int i = 0; i < s->cli->nargs && r == EXIT_DONE; i++)
		r = export_one(s, (struct story_ref){ .id = str_of(s->cli->args[i]) });
	if (s->cli->nargs || r != EXIT_DONE)
		return r;
	do {
		struct json *page = next_sessions(s->cli, last, &r);

		n = 0;
		json_each(row, json_get(page, STR("sessions")))
			if (n < (int)countof(keys))
				keys[n++] = cell_int(row, "key");
		for (int i = 0; i < n && r == EXIT_DONE; i++) {
			/* What one session took is not needed for the next; there may be thousands. */
			arena_reset(&s->cli->arena);
			r = export_one(s, (struct story_ref){ .key = keys[i] });
			last = keys[i];
		}
	} while (n && r == EXIT_DONE);
	return r;
}

/* -- the command ------------------------------------------------------------------------------- */

static int export_to(struct cli *cli, const struct format *format, FILE *out)
{
	struct story s = { .cli = cli,
		.style = format->style,
		.out = out,
		.b = BUF_INIT(SIZE_MAX / 2),
		.full = true,
		.width = SIZE_MAX };
	int r;

	if (s.style)
		s.style->begin(&s);
	r = export_chosen(&s);
	if (s.style && r == EXIT_DONE) {
		s.style->end(&s);
		if (story_flush(&s) < 0)
			r = cli_fail("the export could not be written: %s", strerror(errno));
	}
	buf_release(&s.b);
	return r;
}

static int run_export(struct cli *cli)
{
	static const char *const choices[] = { "project", "agent", "since", "until", "all" };
	const struct format *format = find_format(cli_value(cli, "format", "md"));
	const char *path = cli_value(cli, "output", NULL);
	bool chosen = cli->nargs > 0;
	FILE *out;
	int r;

	if (!format)
		return cli_usage_error(cli, "there is no format '%s'; use md, html or jsonl",
			cli_value(cli, "format", ""));
	for (size_t i = 0; i < countof(choices); i++)
		chosen |= cli_has(cli, choices[i]);
	if (!chosen)
		return cli_usage_error(cli, "which sessions? Give ids, --project, --since, or --all");
	if (!path)
		return export_to(cli, format, stdout);
	out = fopen(path, "we");
	if (!out)
		return cli_fail("%s cannot be written: %s; choose another file with -o", path, strerror(errno));
	r = export_to(cli, format, out);
	if (fclose(out) != 0 && r == EXIT_DONE)
		r = cli_fail("%s could not be written: %s", path, strerror(errno));
	return r;
}

static const struct cmd_option export_options[] = {
	{ "format", 'f', "FORMAT", false, "md (default), html (one file, no scripts), or jsonl (every event)" },
	{ "output", 'o', "FILE", false, "write to this file instead of stdout" },
	OPTION_PROJECT,
	OPTION_AGENT,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_ALL,
	{ 0 },
};

const struct cmd cmd_export = {
	.name = "export",
	.args = "[SESSION…]",
	.text = "Write sessions as Markdown, HTML or JSON lines.",
	.max_args = ARGS_MAX,
	.options = export_options,
	.run = run_export,
};
