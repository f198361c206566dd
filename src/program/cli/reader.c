/* What the readers of captured work share: filters, times, cells. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cli/commands.h"

/* -- filters ----------------------------------------------------------------------------------- */

str cli_project_ref(struct cli *cli, const char *text)
{
	char room[PATH_MAX];

	if (strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && !strchr(text, '/'))
		return str_of(text);
	return realpath(text, room) ? arena_str(&cli->arena, str_of(room)) : str_of(text);
}

int cli_add_filter(struct cli *cli, struct json_writer *w)
{
	static const char *const times[] = { "since", "until" };
	const char *project = cli_value(cli, "project", NULL), *value;
	int64_t us;

	if (project)
		jw_field_str(w, "project", cli_project_ref(cli, project));
	jw_field_str(w, "agent", str_of(cli_value(cli, "agent", NULL)));
	jw_field_str(w, "status", str_of(cli_value(cli, "status", NULL)));
	jw_field_str(w, "query", str_of(cli_value(cli, "query", NULL)));
	for (size_t i = 0; i < countof(times); i++) {
		value = cli_value(cli, times[i], NULL);
		if (!value)
			continue;
		if (!clock_parse_when(str_of(value), clock_wall_us(), &us) || us < 0)
			return cli_usage_error(cli, "--%s does not understand '%s'; say 2h, 3d or 2026-11-01", times[i],
				value);
		jw_field_int(w, times[i], us);
	}
	value = cli_value(cli, "limit", NULL);
	if (value && (!str_to_int(str_of(value), &us) || us < 1))
		return cli_usage_error(cli, "--limit needs a number of at least 1");
	if (value)
		jw_field_int(w, "limit", us);
	if (cli_has(cli, "all"))
		jw_field_bool(w, "all", true);
	return 0;
}

struct json *cli_ask_filtered(struct cli *cli, const char *method, int *ret_exit)
{
	struct buf b = BUF_INIT(8192);
	struct json_writer w = JSON_WRITER(&b);
	struct json *result = NULL;

	jw_object(&w);
	*ret_exit = cli_add_filter(cli, &w);
	jw_end_object(&w);
	if (!*ret_exit) {
		result = cli_ask(cli, method, buf_str(&b));
		*ret_exit = result ? EXIT_DONE : EXIT_FAILED;
	}
	buf_release(&b);
	return result;
}

/* -- cells ------------------------------------------------------------------------------------- */

int64_t cell_int(const struct json *row, const char *name)
{
	int64_t n = 0;

	json_int(json_get(row, str_of(name)), &n);
	return n;
}

str cell_number(struct cli *cli, const struct json *row, const char *name)
{
	return arena_strf(&cli->arena, "%lld", (long long)cell_int(row, name));
}

str cell_time(struct cli *cli, const struct json *row, const char *name)
{
	char text[CLOCK_TEXT] = "";

	if (json_get(row, str_of(name)))
		clock_format(cell_int(row, name), 1, text);
	return arena_str(&cli->arena, str_of(text));
}

str cell_age(struct cli *cli, const struct json *row, const char *name)
{
	char text[CLOCK_TEXT] = "";

	if (json_get(row, str_of(name)))
		clock_format_age(clock_wall_us() - cell_int(row, name), text);
	return arena_str(&cli->arena, str_of(text));
}

str cell_text(const struct json *row, const char *name)
{
	str s = json_str(json_get(row, str_of(name)));

	return str_is_set(s) ? s : STR("");
}

/* "1.5 MB" */
str cell_size(struct cli *cli, int64_t bytes)
{
	static const struct {
		double unit;
		const char *name;
	} sizes[] = { { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "KB" } };

	for (size_t i = 0; i < countof(sizes); i++)
		if ((double)bytes >= sizes[i].unit)
			return arena_strf(&cli->arena, "%.1f %s", (double)bytes / sizes[i].unit, sizes[i].name);
	return arena_strf(&cli->arena, "%lld bytes", (long long)bytes);
}

void cli_print_waited(const struct json *result)
{
	int64_t seconds = cell_int(result, "waited_us") / 1000000;

	if (seconds >= 3600)
		printf("agents waited for you for %lld h %lld min\n", (long long)(seconds / 3600),
			(long long)(seconds / 60 % 60));
	else if (seconds >= 60)
		printf("agents waited for you for %lld min\n", (long long)(seconds / 60));
	else if (seconds > 0)
		printf("agents waited for you for %lld s\n", (long long)seconds);
}
