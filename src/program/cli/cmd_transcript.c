/* transcript: an agent's own log of a session, to read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "cli/commands.h"
#include "transcript/transcript.h"

enum { LAST_TAIL = 4 << 20 }; /* bytes from the end in which the last words are looked for */

/* A path as it is; anything else names a session, which knows its file. */
static const char *find_file(struct cli *cli, const char *word)
{
	struct buf b = BUF_INIT(KIB(8));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	str path;

	if (strchr(word, '/'))
		return word;
	jw_object(&w);
	jw_field_str(&w, "session", str_of(word));
	jw_field_int(&w, "limit", 1);
	jw_end_object(&w);
	result = cli_ask(cli, "show", buf_str(&b));
	buf_release(&b);
	if (!result)
		return NULL;
	path = json_str(json_path(result, "session", "transcript_path", NULL));
	if (!str_empty(path))
		return arena_cstr(&cli->arena, path);
	cli_fail("the agent did not report where it keeps the transcript of this session");
	return NULL;
}

static int print_last(struct cli *cli, const char *path)
{
	struct buf b = BUF_INIT(MIB(32));
	struct json_writer w = JSON_WRITER(&b);
	struct err err = { 0 };
	str user, assistant;

	if (transcript_last_texts(path, NULL, LAST_TAIL, &cli->arena, &user, &assistant, &err) < 0)
		return cli_fail("%s", err.text);
	if (cli_has(cli, "json")) {
		jw_object(&w);
		jw_field_str(&w, "path", str_of(path));
		jw_field_str(&w, "user", user);
		jw_field_str(&w, "assistant", assistant);
		jw_end_object(&w);
		puts(b.p);
	} else {
		printf("> ");
		cli_print_safe(str_is_set(user) ? user : STR("(nothing)"));
		printf("\n< ");
		cli_print_safe(str_is_set(assistant) ? assistant : STR("(nothing)"));
		putchar('\n');
	}
	buf_release(&b);
	return EXIT_DONE;
}

/* Lines stay lines; what would drive the terminal does not. */
static void print_markdown(str text)
{
	str line;

	while (str_split(&text, '\n', &line) && (text.p || line.n)) {
		cli_print_safe(line);
		putchar('\n');
	}
}

static int run_transcript(struct cli *cli)
{
	const char *path = find_file(cli, cli->args[0]);
	struct transcript_request q = { .path = path };
	struct transcript *t;
	struct buf b = BUF_INIT(MIB(256));
	struct err err = { 0 };
	int r;

	if (!path)
		return EXIT_FAILED;
	if (cli_has(cli, "last"))
		return print_last(cli, path);
	if (transcript_open(&q, &t, &err) < 0)
		return cli_fail("%s", err.text);
	r = transcript_write_markdown(t, &b);
	transcript_close(t);
	print_markdown(buf_str(&b));
	buf_release(&b);
	return r == -E2BIG ? cli_fail("the rest is omitted: the text is longer than 256 MiB")
		: r < 0    ? cli_fail("the rest of %s cannot be read: %s", path, strerror(-r))
			   : EXIT_DONE;
}

static const struct cmd_option transcript_options[] = {
	{ "last", 0, NULL, false, "only the last message of the user and of the model" },
	{ "json", 0, NULL, false, "with --last: print JSON" },
	{ 0 },
};

const struct cmd cmd_transcript = {
	.name = "transcript",
	.args = "SESSION|PATH",
	.text = "Print an agent's own log of a session as Markdown, straight from its file.",
	.min_args = 1,
	.max_args = 1,
	.options = transcript_options,
	.run = run_transcript,
};
