/* import: the history agents have written themselves. */
#include <stdio.h>

#include "agents/agents.h"
#include "cli/import.h"

static bool is_agent(const char *word)
{
	return str_eq_nocase(str_of(word), str_of(agent_find(str_of(word))->name));
}

static int gather(struct cli *cli, struct import_files *files)
{
	int r = 0;

	if (!cli->nargs)
		return import_find(cli, NULL, files);
	for (int i = 0; i < cli->nargs && r == 0; i++)
		r = is_agent(cli->args[i]) && !strchr(cli->args[i], '/')
			? import_find(cli, agent_find(str_of(cli->args[i]))->name, files)
			: import_add_path(cli, cli->args[i], files);
	return r;
}

static int print_json(const struct import_files *files, const struct import_result *n, bool dry)
{
	struct buf b = BUF_INIT(65536);
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_int(&w, "files", (int64_t)files->n);
	jw_field_int(&w, "bytes", files->bytes);
	jw_field_bool(&w, "dry_run", dry);
	jw_field_int(&w, "read", (int64_t)n->files);
	jw_field_int(&w, "unchanged", (int64_t)n->unchanged);
	jw_field_int(&w, "refused", (int64_t)n->refused);
	jw_field_int(&w, "replaced", (int64_t)n->replaced);
	jw_field_int(&w, "lines", (int64_t)n->lines);
	jw_field_int(&w, "broken_lines", (int64_t)n->broken);
	jw_field_int(&w, "new", n->fresh);
	jw_field_int(&w, "known", n->known);
	jw_field_bool(&w, "interrupted", n->interrupted);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return EXIT_DONE;
}

static void print_done(const struct import_result *n)
{
	printf("%llu files read (%llu had nothing new): %lld events are new, %lld were known\n",
		(unsigned long long)n->files, (unsigned long long)n->unchanged, (long long)n->fresh,
		(long long)n->known);
	if (n->broken)
		printf("%llu of %llu lines could not be read and were skipped\n", (unsigned long long)n->broken,
			(unsigned long long)n->lines);
	if (n->refused)
		printf("%llu files were skipped\n", (unsigned long long)n->refused);
	if (n->replaced)
		printf("%llu files were truncated or replaced since the last import and were read from the beginning\n",
			(unsigned long long)n->replaced);
	if (n->interrupted)
		puts("interrupted: what was read is kept; run it again to continue");
	else
		puts("see: hookd sessions, hookd search WORDS, hookd usage");
}

static int run(struct cli *cli)
{
	struct import_files files = { 0 };
	struct import_result n = { 0 };
	bool dry = cli_has(cli, "dry-run"), json = cli_has(cli, "json");
	int r = gather(cli, &files);

	if (r)
		return r;
	if (!files.n && !json) {
		puts("no history was found; give a file or folder, or one of: claude, codex, gemini");
		return EXIT_DONE;
	}
	if (dry && !json) {
		printf("would read " STR_FMT "\n", STR_ARG(import_describe(cli, &files)));
		for (size_t i = 0; i < files.n && cli_has(cli, "verbose"); i++) {
			cli_print_safe(str_of(files.list[i].path));
			putchar('\n');
		}
		return EXIT_DONE;
	}
	if (files.n && !dry)
		r = import_run(cli, &files, &n);
	if (r)
		return r;
	if (json)
		return print_json(&files, &n, dry);
	print_done(&n);
	return n.interrupted ? EXIT_FAILED : EXIT_DONE;
}

static const struct cmd_option import_options[] = {
	{ "dry-run", 'n', NULL, false, "only report what would be read" },
	{ "verbose", 'v', NULL, false, "with --dry-run: name every file" },
	OPTION_JSON,
	{ 0 },
};

const struct cmd cmd_import = {
	.name = "import",
	.args = "[AGENT|PATH…]",
	.text = "Import the history that agents have written themselves; without arguments, everything that is found.",
	.max_args = ARGS_MAX,
	.options = import_options,
	.run = run,
};
