/* remember, memories, memory, recall: what was learned, for people and scripts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "cli/commands.h"

enum { LONGEST_LINE = MIB(1), LINES_AT_ONCE = 500, QUERIES_AT_ONCE = 200, STUCK_S = 60, LOOK_AGAIN_MS = 100 };

/* -- remember ---------------------------------------------------------------------------------- */

/* The words of the arguments, or of standard input for "-". */
static int take_text(struct cli *cli, struct buf *ret)
{
	char room[4096];
	size_t n;

	if (cli->nargs == 1 && strcmp(cli->args[0], "-") == 0) {
		while ((n = fread(room, 1, sizeof room, stdin)) > 0)
			if (buf_add(ret, room, n) < 0)
				return cli_fail("the text is longer than %zu bytes; shorten it", ret->max);
		return EXIT_DONE;
	}
	for (int i = 0; i < cli->nargs; i++)
		buf_addf(ret, "%s%s", i ? " " : "", cli->args[i]);
	return EXIT_DONE;
}

/* The project of this directory, unless another one or none is wanted. */
static int add_project(struct cli *cli, struct json_writer *w)
{
	char here[PATH_MAX];
	const char *given = cli_value(cli, "project", NULL);

	if (cli_has(cli, "global"))
		return EXIT_DONE;
	if (!given && !getcwd(here, sizeof here))
		return cli_fail("the working directory cannot be read: %s; say --project or --global", strerror(errno));
	jw_field_str(w, "project", given ? cli_project_ref(cli, given) : arena_str(&cli->arena, str_of(here)));
	return EXIT_DONE;
}

static int add_importance(struct cli *cli, struct json_writer *w)
{
	const char *text = cli_value(cli, "importance", NULL);
	int64_t n;

	if (!text)
		return EXIT_DONE;
	if (!str_to_int(str_of(text), &n) || n < 1 || n > 10)
		return cli_usage_error(cli, "--importance needs a number from 1 to 10");
	jw_field_int(w, "importance", n);
	return EXIT_DONE;
}

static void print_remembered(const struct json *m)
{
	const struct json *older = json_get(m, STR("supersedes"));
	str id = cell_text(m, "id"), status = cell_text(m, "status");
	bool aside = str_eq(status, STR("quarantined"));

	if (json_true(json_get(m, STR("known"))))
		printf("known already as " STR_FMT "%s" STR_FMT "\n", STR_ARG(id),
			str_eq(status, STR("active")) ? "" : ", ",
			STR_ARG(str_eq(status, STR("active")) ? STR("") : status));
	else
		printf("%s as " STR_FMT "\n", aside ? "put aside" : "remembered", STR_ARG(id));
	if (aside)
		printf("it " STR_FMT "; decide about it with: hookd review approve " STR_FMT ", or reject\n",
			STR_ARG(cell_text(m, "reason")), STR_ARG(id));
	if (older) {
		printf("it takes the place of " STR_FMT ", which says nearly the same: ",
			STR_ARG(cell_text(older, "id")));
		cli_print_safe(cell_text(older, "text"));
		putchar('\n');
	}
}

static void add_concepts(struct cli *cli, struct json_writer *w)
{
	if (!cli_value_at(cli, "concept", 0))
		return;
	jw_key(w, "concepts");
	jw_array(w);
	for (int i = 0; cli_value_at(cli, "concept", i); i++)
		jw_str(w, str_of(cli_value_at(cli, "concept", i)));
	jw_end_array(w);
}

static int run_remember(struct cli *cli)
{
	struct buf text = BUF_INIT(KIB(64)), b = BUF_INIT(KIB(256));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;
	int r = take_text(cli, &text);

	jw_object(&w);
	jw_field_str(&w, "text", buf_str(&text));
	jw_field_str(&w, "type", str_of(cli_value(cli, "type", NULL)));
	jw_field_str(&w, "file", str_of(cli_value(cli, "file", NULL)));
	add_concepts(cli, &w);
	if (r == EXIT_DONE)
		r = add_project(cli, &w);
	if (r == EXIT_DONE)
		r = add_importance(cli, &w);
	jw_end_object(&w);
	if (r == EXIT_DONE && cli_has(cli, "dry-run"))
		r = printf("would remember: " STR_FMT "\n", STR_ARG(str_trim(buf_str(&text)))) > 0 ? EXIT_DONE
												   : EXIT_FAILED;
	else if (r == EXIT_DONE && (r = cli_offer_owner(cli)) == EXIT_DONE)
		r = (result = cli_ask(cli, "user_remember", buf_str(&b))) ? EXIT_DONE : EXIT_FAILED;
	if (result && cli_has(cli, "json"))
		r = cli_print_json(result);
	else if (result)
		print_remembered(result);
	buf_release(&text);
	buf_release(&b);
	return r;
}

static const struct cmd_option remember_options[] = {
	{ "type", 't', "TYPE", false, "gotcha, bug_fix, decision, discovery (the default) or trade_off" },
	{ "file", 'f', "PATH", false, "the file it is about" },
	{ "concept", 0, "WORD", true, "what it is about, such as pattern; may be repeated" },
	{ "importance", 'i', "N", false, "from 1 to 10 (default 5)" },
	{ "project", 'p', "NAME", false, "the project it belongs to (default: that of this directory)" },
	{ "global", 'g', NULL, false, "for all projects" },
	{ "dry-run", 0, NULL, false, "only say what would be remembered" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_remember = {
	.name = "remember",
	.args = "TEXT…|-",
	.text = "Remember something, so that every agent gets it when it fits.",
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = remember_options,
	.run = run_remember,
};

/* -- memories ---------------------------------------------------------------------------------- */

static int print_memories(struct cli *cli, const struct json *result)
{
	const struct json *list = json_get(result, STR("memories"));
	struct table t;

	if (!json_first(list)) {
		puts("no memories here; add one with: hookd remember TEXT");
		return EXIT_DONE;
	}
	table_init(&t, &cli->arena, 6);
	t.firm = 3;
	table_add(&t, (str[]){ STR("AGO"), STR("ID"), STR("TYPE"), STR("PROJECT"), STR("FILE"), STR("TEXT") });
	json_each(m, list) {
		str status = cell_text(m, "status");

		table_add(&t,
			(str[]){ cell_age(cli, m, "created_us"), cell_text(m, "id"),
				str_eq(status, STR("active")) ? cell_text(m, "type")
							      : arena_strf(&cli->arena, STR_FMT " (" STR_FMT ")",
									STR_ARG(cell_text(m, "type")), STR_ARG(status)),
				cell_text(m, "project"), cell_text(m, "file"), cell_text(m, "text") });
	}
	table_print(&t, cli->colour);
	return EXIT_DONE;
}

static int run_memories(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result;
	int r;

	jw_object(&w);
	r = cli_add_filter(cli, &w);
	jw_field_str(&w, "type", str_of(cli_value(cli, "type", NULL)));
	jw_field_str(&w, "concept", str_of(cli_value(cli, "concept", NULL)));
	if (cli->nargs)
		jw_field_str(&w, "query", str_of(cli->args[0]));
	jw_end_object(&w);
	result = r ? NULL : cli_ask(cli, "memories", buf_str(&b));
	buf_release(&b);
	if (!result)
		return r ? r : EXIT_FAILED;
	return cli_has(cli, "json") ? cli_print_json(result) : print_memories(cli, result);
}

static const struct cmd_option memories_options[] = {
	{ "type", 't', "TYPE", false, "only this type" },
	{ "concept", 0, "WORD", false, "only with this concept" },
	{ "status", 0, "WORD", false, "only active, resolved, superseded or quarantined" },
	OPTION_PROJECT,
	OPTION_SINCE,
	OPTION_UNTIL,
	{ "limit", 'n', "N", false, "at most N (default 50)" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_memories = {
	.name = "memories",
	.args = "[TEXT]",
	.text = "List memories, newest first; with TEXT only those that contain it.",
	.max_args = 1,
	.options = memories_options,
	.run = run_memories,
};

/* -- memory ------------------------------------------------------------------------------------ */

static int show_memory(struct cli *cli, const struct json *m)
{
	static const struct {
		const char *label, *member;
	} lines[] = { { "type", "type" }, { "status", "status" }, { "reason", "reason" }, { "project", "project" },
		{ "file", "file" }, { "trust", "trust" }, { "origin", "origin" }, { "session", "session" },
		{ "agent", "agent" }, { "ref", "ref" }, { "successor", "successor" } };

	cli_print_safe(cell_text(m, "text"));
	printf("\n\n%-12s" STR_FMT "\n", "id", STR_ARG(cell_text(m, "id")));
	for (size_t i = 0; i < countof(lines); i++)
		if (!str_empty(cell_text(m, lines[i].member))) {
			printf("%-12s", lines[i].label);
			cli_print_safe(cell_text(m, lines[i].member));
			putchar('\n');
		}
	if (json_get(m, STR("concepts"))) {
		printf("%-12s", "concepts");
		json_each(c, json_get(m, STR("concepts"))) {
			cli_print_safe(json_str(c));
			putchar(c->next ? ' ' : '\n');
		}
	}
	printf("%-12s" STR_FMT "\n", "created", STR_ARG(cell_time(cli, m, "created_us")));
	printf("%-12s%lld of 10\n", "importance", (long long)cell_int(m, "importance"));
	printf("%-12s%lld times, used %lld times\n", "given", (long long)cell_int(m, "shown"),
		(long long)cell_int(m, "used"));
	json_each(p, json_get(m, STR("predecessors"))) {
		printf("%-12s" STR_FMT "  ", str_eq(cell_text(p, "kind"), STR("merges")) ? "made of" : "supersedes",
			STR_ARG(cell_text(p, "id")));
		cli_print_safe(cell_text(p, "text"));
		putchar('\n');
	}
	return EXIT_DONE;
}

/* What a change is called, and what it sets. */
static const struct change {
	const char *name, *member, *value, *done;
	bool takes_text, is_flag;
} changes[] = {
	{ "edit", "text", NULL, "changed", true, false },
	{ "resolve", "status", "resolved", "resolved", false, false },
	{ "reactivate", "status", "active", "active again", false, false },
	{ "supersede", "successor", NULL, "superseded", true, false },
	{ "pin", "pinned", "true", "pinned", false, true },
	{ "unpin", "pinned", "false", "no longer pinned", false, true },
	{ "mute", "muted", "true", "muted: no agent gets it by itself", false, true },
	{ "unmute", "muted", "false", "no longer muted", false, true },
};

static int change_memory(struct cli *cli, const struct change *c, str id)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;
	int r = EXIT_DONE;

	if (cli->nargs != (c->takes_text ? 3 : 2))
		return cli_usage_error(cli, "'memory %s' takes %s", c->name,
			c->takes_text ? "an id and a text" : "an id");
	jw_object(&w);
	jw_field_str(&w, "id", id);
	if (c->is_flag)
		jw_field_bool(&w, c->member, c->value[0] == 't');
	else
		jw_field_str(&w, c->member, str_of(c->takes_text ? cli->args[2] : c->value));
	if (strcmp(c->name, "supersede") == 0)
		jw_field_str(&w, "status", STR("superseded"));
	jw_field_str(&w, "reason", str_of(cli_value(cli, "reason", NULL)));
	jw_end_object(&w);
	if (cli_has(cli, "dry-run"))
		printf(STR_FMT " would be %s\n", STR_ARG(id), c->done);
	else if ((r = cli_offer_owner(cli)) == EXIT_DONE)
		r = (result = cli_ask(cli, "memory_change", buf_str(&b))) ? EXIT_DONE : EXIT_FAILED;
	if (result && cli_has(cli, "json"))
		r = cli_print_json(result);
	else if (result && c->takes_text && str_eq(cell_text(result, "status"), STR("quarantined")))
		printf(STR_FMT " is changed and put aside: it " STR_FMT "; decide about it with: hookd review\n",
			STR_ARG(cell_text(result, "id")), STR_ARG(cell_text(result, "reason")));
	else if (result)
		printf(STR_FMT " is %s\n", STR_ARG(cell_text(result, "id")), c->done);
	buf_release(&b);
	return r;
}

static int merge_memories(struct cli *cli)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	const char *text = cli_value(cli, "text", NULL);
	struct json *result = NULL;
	int r;

	if (cli->nargs < 3)
		return cli_usage_error(cli, "'memory merge' takes the ids of two or more memories");
	jw_object(&w);
	jw_key(&w, "ids");
	jw_array(&w);
	for (int i = 1; i < cli->nargs; i++)
		jw_str(&w, str_of(cli->args[i]));
	jw_end_array(&w);
	jw_field_str(&w, "text", str_of(text));
	jw_end_object(&w);
	r = cli_offer_owner(cli);
	if (r == EXIT_DONE && cli_has(cli, "dry-run"))
		printf("would make one memory of %d\n", cli->nargs - 1);
	else if (r == EXIT_DONE)
		r = (result = cli_ask(cli, "memory_merge", buf_str(&b))) ? EXIT_DONE : EXIT_FAILED;
	buf_release(&b);
	if (result && cli_has(cli, "json"))
		return cli_print_json(result);
	if (result)
		printf("merged into " STR_FMT "; undo it with: hookd memory resolve " STR_FMT
		       ", and memory reactivate for each of the others\n",
			STR_ARG(cell_text(result, "id")), STR_ARG(cell_text(result, "id")));
	return r;
}

/* -- memory import ----------------------------------------------------------------------------- */

struct import {
	struct cli *cli;
	struct buf batch;
	unsigned lines, in_batch, taken;
};

static int send_batch(struct import *m)
{
	struct json *result;

	if (!m->in_batch)
		return EXIT_DONE;
	buf_add_str(&m->batch, STR("]}"));
	result = cli_ask(m->cli, "memory_import", buf_str(&m->batch));
	m->taken += result ? (unsigned)cell_int(result, "taken") : 0;
	m->in_batch = 0;
	return result ? EXIT_DONE : EXIT_FAILED;
}

static int take_line(struct import *m, str line)
{
	struct arena arena = { 0 };
	struct json *row = NULL;
	struct err err = { 0 };
	int r;

	m->lines++;
	if (str_empty(str_trim(line)))
		return EXIT_DONE;
	r = json_parse(&arena, line, 0, &row, &err);
	arena_release(&arena);
	if (r < 0)
		return cli_fail("line %u is not JSON: %s; %u memories before it were taken", m->lines, err.text,
			m->taken);
	if (!m->in_batch) {
		buf_clear(&m->batch);
		buf_add_str(&m->batch, STR("{\"memories\":["));
	}
	buf_addf(&m->batch, "%s" STR_FMT, m->in_batch ? "," : "", STR_ARG(str_trim(line)));
	m->in_batch++;
	return m->in_batch == LINES_AT_ONCE || m->batch.len > MIB(2) ? send_batch(m) : EXIT_DONE;
}

static bool is_true(const struct json *v)
{
	return v && v->type == JSON_BOOL && v->flag;
}

/* Waits until they can be found by what they mean, which takes milliseconds for each. Nobody has to: what is encoded
 * later is found by its words until then. */
static void wait_for_vectors(struct cli *cli)
{
	int64_t last = -1, since_us = clock_mono_us();

	for (;;) {
		const struct json *p = cli_ask(cli, "vectors", STR("{\"hurry\":true}"));
		int64_t all = p ? cell_int(p, "memories") : 0, encoded = p ? cell_int(p, "encoded") : 0;

		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%lld of %lld can be found by what they mean%s", (long long)encoded,
				(long long)all, encoded < all ? " …" : "  \n");
		if (!p || !is_true(json_get(p, STR("possible"))) || encoded >= all)
			return;
		if (encoded > last)
			since_us = clock_mono_us();
		if (clock_mono_us() - since_us > STUCK_S * USEC_PER_SEC)
			return;
		last = encoded;
		usleep(LOOK_AGAIN_MS * 1000);
	}
}

static int import_memories(struct cli *cli)
{
	struct import m = { .cli = cli, .batch = BUF_INIT(MIB(3)) };
	bool is_stdin = cli->nargs == 2 && strcmp(cli->args[1], "-") == 0;
	FILE *f;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int r = EXIT_DONE;

	if (cli->nargs != 2)
		return cli_usage_error(cli, "'memory import' takes a file of JSON lines, or - for standard input");
	f = is_stdin ? stdin : fopen(cli->args[1], "re");
	if (!f)
		return cli_fail("%s cannot be read: %s", cli->args[1], strerror(errno));
	while (r == EXIT_DONE && (n = getline(&line, &cap, f)) > 0)
		r = n > (ssize_t)LONGEST_LINE ? cli_fail("line %u is longer than a megabyte", m.lines + 1)
					      : take_line(&m, str_n(line, (size_t)n));
	if (r == EXIT_DONE)
		r = send_batch(&m);
	if (r == EXIT_DONE && m.taken && !cli_has(cli, "no-wait"))
		wait_for_vectors(cli);
	if (r == EXIT_DONE)
		printf("%u memories taken\n", m.taken);
	free(line);
	buf_release(&m.batch);
	if (!is_stdin)
		fclose(f);
	return r;
}

static int run_memory(struct cli *cli)
{
	const char *action = cli->args[0];
	struct buf b = BUF_INIT(4096);
	struct json_writer w = JSON_WRITER(&b);
	struct json *found;

	if (strcmp(action, "import") == 0)
		return cli_offer_owner(cli) == EXIT_DONE ? import_memories(cli) : EXIT_FAILED;
	if (strcmp(action, "merge") == 0)
		return merge_memories(cli);
	if (strcmp(action, "forget") == 0)
		return cli_forget_memories(cli);
	if (cli->nargs < 2)
		return cli_usage_error(cli, "'memory %s' needs the id of a memory", action);
	if (cli->nargs > 3)
		return cli_usage_error(cli, "'memory %s' takes one text; put it in quotes", action);
	/* By its id, or by the name it was imported under. */
	jw_object(&w);
	jw_field_str(&w, "id", str_of(cli->args[1]));
	jw_end_object(&w);
	found = cli_ask(cli, "memory", buf_str(&b));
	buf_release(&b);
	if (!found)
		return EXIT_FAILED;
	if (strcmp(action, "show") == 0)
		return cli_has(cli, "json") ? cli_print_json(found) : show_memory(cli, found);
	for (size_t i = 0; i < countof(changes); i++)
		if (strcmp(action, changes[i].name) == 0)
			return change_memory(cli, &changes[i], cell_text(found, "id"));
	return cli_usage_error(cli, "there is no 'memory %s'; see: hookd help memory", action);
}

static const struct cmd_option memory_options[] = {
	{ "reason", 0, "TEXT", false, "why it has its new status" },
	{ "text", 0, "TEXT", false, "merge: what the new memory says (default: all that they say)" },
	{ "type", 't', "TYPE", false, "forget: all of this type" },
	{ "status", 0, "WORD", false, "forget: all with this status" },
	{ "concept", 0, "WORD", false, "forget: all with this concept" },
	{ "project", 'p', "NAME", false, "forget: all of this project" },
	{ "since", 0, "WHEN", false, "forget: all made since" },
	{ "until", 0, "WHEN", false, "forget: all made before" },
	{ "match", 0, "TEXT", false, "forget: all that contain this text" },
	{ "yes", 'y', NULL, false, "do not ask before forgetting" },
	{ "no-wait", 0, NULL, false, "import: do not wait until they can be found by what they mean" },
	{ "dry-run", 0, NULL, false, "only say what would be changed" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_memory = {
	.name = "memory",
	.args = "show|edit|resolve|reactivate|supersede|pin|unpin|mute|unmute ID [TEXT], merge ID ID…, forget [ID…], "
		"or "
		"import FILE",
	.text = "Show or change one memory, merge several, delete some for good, or import many.",
	.min_args = 1,
	.max_args = ARGS_MAX,
	.options = memory_options,
	.run = run_memory,
};

/* -- recall ------------------------------------------------------------------------------------ */

static int print_answers(const struct json *result)
{
	struct buf b = BUF_INIT(MIB(32));
	struct json_writer w = JSON_WRITER(&b);

	json_each(answer, json_get(result, STR("answers"))) {
		jw_value(&w, answer);
		buf_add_char(&b, '\n');
		w = (struct json_writer)JSON_WRITER(&b);
	}
	fwrite(b.p, 1, b.len, stdout);
	buf_release(&b);
	return EXIT_DONE;
}

/* Closes the list of queries, and says where to look. */
static void end_queries(struct cli *cli, struct buf *b)
{
	struct json_writer w = JSON_WRITER(b);
	const char *in = cli_value(cli, "in", NULL);

	buf_add_str(b, STR("]"));
	if (in) {
		buf_add_str(b, STR(",\"in\":"));
		jw_str(&w, str_of(in));
	}
	buf_add_str(b, STR("}"));
}

static int ask_batch(struct cli *cli, struct buf *batch)
{
	struct json *result;

	end_queries(cli, batch);
	result = cli_ask(cli, "recall", buf_str(batch));
	return result ? print_answers(result) : EXIT_FAILED;
}

static int run_batch(struct cli *cli)
{
	struct buf batch = BUF_INIT(MIB(3));
	unsigned in_batch = 0, lines = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int r = EXIT_DONE;

	while (r == EXIT_DONE && (n = getline(&line, &cap, stdin)) > 0) {
		str text = str_trim(str_n(line, (size_t)n));
		struct arena arena = { 0 };
		struct json *row = NULL;

		lines++;
		if (str_empty(text))
			continue;
		if (n > (ssize_t)LONGEST_LINE || json_parse(&arena, text, 0, &row, NULL) < 0 ||
			row->type != JSON_OBJECT)
			r = cli_fail("line %u is not a JSON object with a 'query'", lines);
		arena_release(&arena);
		if (r != EXIT_DONE)
			break;
		if (!in_batch) {
			buf_clear(&batch);
			buf_add_str(&batch, STR("{\"queries\":["));
		}
		buf_addf(&batch, "%s" STR_FMT, in_batch++ ? "," : "", STR_ARG(text));
		if (in_batch == QUERIES_AT_ONCE || batch.len > MIB(1)) {
			r = ask_batch(cli, &batch);
			in_batch = 0;
		}
	}
	if (r == EXIT_DONE && in_batch)
		r = ask_batch(cli, &batch);
	free(line);
	buf_release(&batch);
	return r;
}

static int print_hits(const struct json *answer)
{
	const struct json *hits = json_get(answer, STR("hits"));

	if (json_get(answer, STR("error")))
		return cli_fail(STR_FMT, STR_ARG(cell_text(answer, "error")));
	if (!json_first(hits))
		puts("nothing fits");
	json_each(h, hits) {
		cli_print_safe(cell_text(h, "id"));
		printf("  " STR_FMT "  ", STR_ARG(cell_text(h, "type")));
		cli_print_safe(str_empty(cell_text(h, "text")) ? cell_text(h, "symbol") : cell_text(h, "text"));
		putchar('\n');
	}
	return EXIT_DONE;
}

static int run_recall(struct cli *cli)
{
	struct buf text = BUF_INIT(KIB(64)), b = BUF_INIT(KIB(256));
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;
	int r;

	if (cli_has(cli, "batch"))
		return run_batch(cli);
	if (!cli->nargs)
		return cli_usage_error(cli, "'recall' needs a text, or --batch and queries on standard input");
	r = take_text(cli, &text);
	jw_object(&w);
	jw_key(&w, "queries");
	jw_array(&w);
	jw_object(&w);
	jw_field_str(&w, "query", buf_str(&text));
	if (r == EXIT_DONE)
		r = add_project(cli, &w);
	jw_end_object(&w);
	end_queries(cli, &b);
	if (r == EXIT_DONE && !(result = cli_ask(cli, "recall", buf_str(&b))))
		r = EXIT_FAILED;
	buf_release(&text);
	buf_release(&b);
	if (r != EXIT_DONE)
		return r;
	if (cli_has(cli, "json") && !json_get(json_first(json_get(result, STR("answers"))), STR("error")))
		return cli_print_json(result);
	return print_hits(json_first(json_get(result, STR("answers"))));
}

static const struct cmd_option recall_options[] = {
	{ "batch", 0, NULL, false, "answer each line of standard input: {\"id\", \"query\", \"project\"}" },
	{ "in", 0, "KINDS", false, "only memory, or only code (default: memory,code)" },
	{ "project", 'p', "NAME", false, "whose memories and code (default: those of this directory)" },
	{ "global", 'g', NULL, false, "only those for all projects" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_recall = {
	.name = "recall",
	.args = "[TEXT…]",
	.text = "Find the memories and the code that fit a text, best first.",
	.max_args = ARGS_MAX,
	.options = recall_options,
	.run = run_recall,
};
