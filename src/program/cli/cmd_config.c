/* config: the options of hookd. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/diff.h"
#include "base/limits.h"
#include "base/fs.h"
#include "guard/guard.h"
#include "cli/commands.h"
#include "cli/policy.h"
#include "config/config.h"
#include "json/edit.h"
#include "outbox/outbox.h"

/* -- complaints -------------------------------------------------------------------------------- */

static void print_problem(const char *path, const struct err *err)
{
	if (err->line)
		cli_fail("%s:%u:%u: %s", path, err->line, err->col, err->text);
	else
		cli_fail("%s: %s", path, err->text);
}

static void print_problems(const char *path, const struct config_problem *p)
{
	for (; p; p = p->next)
		print_problem(path, &p->err);
}

static void write_problem(struct json_writer *w, const struct err *err)
{
	jw_object(w);
	jw_field_int(w, "line", err->line);
	jw_field_int(w, "col", err->col);
	jw_field_str(w, "text", str_of(err->text));
	jw_end_object(w);
}

/* sinks: NULL: theirs are not asked for. */
static void write_problems(struct json_writer *w, const struct config_problem *p, const struct sinks *sinks)
{
	jw_key(w, "problems");
	jw_array(w);
	for (; p; p = p->next)
		write_problem(w, &p->err);
	for (const struct sink_problem *s = sinks ? sinks->problems : NULL; s; s = s->next)
		write_problem(w, &s->err);
	jw_end_array(w);
}

/* -- get, show --------------------------------------------------------------------------------- */

static void write_text(struct json_writer *w, const struct option *o, const char *text)
{
	str rest = str_of(text), name;

	if (o->type == OPTION_INT || o->type == OPTION_BOOL) {
		jw_raw(w, rest);
	} else if (o->type == OPTION_LIST) {
		jw_array(w);
		while (str_split(&rest, ' ', &name))
			if (name.n)
				jw_str(w, name);
		jw_end_array(w);
	} else {
		jw_str(w, rest);
	}
}

static void write_value(struct json_writer *w, const struct config *c, size_t id)
{
	const struct config_value *v = &c->values[id];

	jw_object(w);
	jw_field_str(w, "name", str_of(options[id].name));
	jw_key(w, "value");
	write_text(w, &options[id], v->text);
	jw_key(w, "default");
	write_text(w, &options[id], options[id].fallback);
	jw_field_str(w, "origin", str_of(config_origin_names[v->origin]));
	if (v->line)
		jw_field_int(w, "line", v->line);
	jw_field_str(w, "text", str_of(options[id].text));
	jw_end_object(w);
}

static int get(struct cli *cli)
{
	struct err err = { 0 };
	const struct option *o = config_find(str_of(cli->args[1]), &err);
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	struct config_problem *problems;
	struct config c;

	if (!o)
		return cli_fail("%s", err.text);
	config_load(cli->paths.config, &c, &problems);
	print_problems(cli->paths.config, problems);
	if (cli_has(cli, "json"))
		write_value(&w, &c, (size_t)(o - options));
	else
		buf_add_str(&b, config_text(&c, (enum option_id)(o - options)));
	puts(b.p);
	buf_release(&b);
	config_release(&c);
	config_problems_free(problems);
	return EXIT_DONE;
}

static void show_json(struct cli *cli, const struct config *c, const struct config_problem *problems)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_str(&w, "path", str_of(cli->paths.config));
	jw_key(&w, "options");
	jw_array(&w);
	for (size_t i = 0; i < OPTION_ID_MAX; i++)
		write_value(&w, c, i);
	jw_end_array(&w);
	write_problems(&w, problems, NULL);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
}

static void show_table(struct cli *cli, const struct config *c)
{
	bool origin = cli_has(cli, "origin");
	struct table t;

	table_init(&t, &cli->arena, origin ? 4 : 3);
	table_add(&t,
		origin ? (str[]){ STR("OPTION"), STR("VALUE"), STR("FROM"), STR("MEANING") }
		       : (str[]){ STR("OPTION"), STR("VALUE"), STR("MEANING") });
	for (size_t i = 0; i < OPTION_ID_MAX; i++) {
		const struct config_value *v = &c->values[i];
		str from = v->line ? arena_strf(&cli->arena, "%s:%u", cli->paths.config, v->line)
				   : str_of(config_origin_names[v->origin]);
		str name = str_of(options[i].name), value = str_of(v->text), text = str_of(options[i].text);

		table_add(&t, origin ? (str[]){ name, value, from, text } : (str[]){ name, value, text });
	}
	table_print(&t, cli->colour);
}

static int show(struct cli *cli)
{
	struct config_problem *problems;
	struct config c;

	config_load(cli->paths.config, &c, &problems);
	if (cli_has(cli, "json")) {
		show_json(cli, &c, problems);
	} else {
		print_problems(cli->paths.config, problems);
		show_table(cli, &c);
	}
	config_release(&c);
	config_problems_free(problems);
	return EXIT_DONE;
}

/* -- set --------------------------------------------------------------------------------------- */

static int set_dry(const char *path, const struct option *o, str value)
{
	struct buf old = BUF_INIT(LIMIT_CONFIG), changed = BUF_INIT(LIMIT_CONFIG), diff = BUF_INIT(MIB(8));
	struct err err = { 0 };
	int r = fs_read_file(path, &old);

	if (r < 0 && r != -ENOENT) {
		cli_fail("%s cannot be read: %s", path, strerror(-r));
	} else {
		bool exists = r == 0;

		r = config_edit(buf_str(&old), o, value, &changed, &err);
		if (r < 0)
			print_problem(err.line ? path : "nothing was changed", &err);
		diff_write(&diff, exists ? path : "/dev/null", buf_str(&old), path,
			r < 0 ? buf_str(&old) : buf_str(&changed));
		fwrite(diff.p, 1, diff.len, stdout);
	}
	buf_release(&diff);
	buf_release(&changed);
	buf_release(&old);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* The first thing that is wrong with the guard's part of the file, which must be released; NULL: nothing. */
static struct guard_problem *guard_trouble(const char *path)
{
	struct guard_policy *policy = NULL;
	struct guard_problem *problems = NULL;

	if (guard_policy_read(path, &policy, &problems, NULL) == 0)
		guard_policy_unref(policy);
	return problems;
}

static void note_set(struct cli *cli, const struct option *o, str value)
{
	cli_note_change(cli, "config set", arena_strf(&cli->arena, "%s = " STR_FMT, o->name, STR_ARG(value)));
}

/* A guard option that names a rule nobody knows would be in the file and do nothing: the file stays as it was. */
static int set_guard(struct cli *cli, const struct option *o, str value)
{
	const char *path = cli->paths.config;
	struct guard_problem *before = guard_trouble(path), *after;
	struct buf old = BUF_INIT(LIMIT_CONFIG);
	bool existed = fs_read_file(path, &old) == 0;
	struct err err = { 0 };
	int r = config_set(path, o, value, &err);

	after = r == 0 ? guard_trouble(path) : NULL;
	if (after && !before) {
		err = after->err;
		err.line = 0;
		r = existed ? fs_replace_file(path, buf_str(&old), true) : unlink(path);
		r = -EINVAL;
	}
	if (r < 0)
		print_problem(err.line ? path : "nothing was changed", &err);
	else
		printf("%s is now '" STR_FMT "' in %s\n", o->name, STR_ARG(value), path);
	if (r == 0)
		note_set(cli, o, value);
	guard_problems_free(before);
	guard_problems_free(after);
	buf_release(&old);
	return r < 0 ? EXIT_FAILED : cli_reload(cli);
}

static int set(struct cli *cli)
{
	const char *path = cli->paths.config;
	struct err err = { 0 };
	const struct option *o = config_find(str_of(cli->args[1]), &err);
	str value = str_of(cli->args[2]);
	int r;

	if (!o)
		return cli_fail("%s", err.text);
	if (cli_has(cli, "dry-run"))
		return set_dry(path, o, value);
	r = cli_need_owner(cli, "changing an option");
	if (r != EXIT_DONE)
		return r;
	/* Guard options take effect at once; all others are read when the daemon starts. */
	if (str_starts(str_of(o->name), STR("guard.")))
		return set_guard(cli, o, value);
	if (config_set(path, o, value, &err) < 0) {
		print_problem(err.line ? path : "nothing was changed", &err);
		return EXIT_FAILED;
	}
	note_set(cli, o, value);
	printf("%s is now " STR_FMT " in %s; takes effect after: hookd restart\n", o->name, STR_ARG(value), path);
	return EXIT_DONE;
}

/* -- validate, schema -------------------------------------------------------------------------- */

static int validate(struct cli *cli)
{
	const char *path = cli->nargs > 1 ? cli->args[1] : cli->paths.config;
	bool missing = access(path, F_OK) < 0, valid;
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	struct config_problem *problems;
	struct config c;
	struct sinks *sinks;

	if (missing && cli->nargs > 1)
		return cli_fail("%s: %s", path, strerror(errno));
	config_load(path, &c, &problems);
	/* A file that is no JSON is one problem. */
	sinks = problems && problems->err.code == -EBADMSG ? NULL : sinks_load(path, NULL, cli->paths.home, NULL);
	valid = !problems && !(sinks && sinks->problems);
	if (cli_has(cli, "json")) {
		jw_object(&w);
		jw_field_str(&w, "path", str_of(path));
		jw_field_bool(&w, "valid", valid);
		write_problems(&w, problems, sinks);
		jw_end_object(&w);
		puts(b.p);
	} else if (valid) {
		printf("%s: %s\n", path, missing ? "there is no such file; every option has its default" : "fine");
	} else {
		print_problems(path, problems);
		for (const struct sink_problem *s = sinks ? sinks->problems : NULL; s; s = s->next)
			print_problem(path, &s->err);
	}
	buf_release(&b);
	sinks_unref(sinks);
	config_release(&c);
	config_problems_free(problems);
	return valid ? EXIT_DONE : EXIT_FAILED;
}

static int schema(struct cli *cli)
{
	struct buf flat = BUF_INIT(MIB(1)), b = BUF_INIT(MIB(1));
	struct json *v;

	config_write_schema(&flat);
	if (json_parse(&cli->arena, buf_str(&flat), 0, &v, NULL) == 0)
		json_write_styled(&b, v, &json_style_default, STR(""));
	puts(b.p);
	buf_release(&b);
	buf_release(&flat);
	return EXIT_DONE;
}

/* -- which ------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int min_args, max_args; /* with the name itself */
	int (*run)(struct cli *cli);
} actions[] = {
	{ "get", 2, 2, get },
	{ "set", 3, 3, set },
	{ "show", 1, 1, show },
	{ "validate", 1, 2, validate },
	{ "schema", 1, 1, schema },
};

static int run(struct cli *cli)
{
	const char *name = cli->nargs ? cli->args[0] : "show";

	for (size_t i = 0; i < countof(actions); i++) {
		if (strcmp(name, actions[i].name) != 0)
			continue;
		if (cli->nargs && (cli->nargs < actions[i].min_args || cli->nargs > actions[i].max_args))
			return cli_usage_error(cli, "config %s takes %s", name,
				actions[i].max_args == 1           ? "no argument"
					: actions[i].max_args == 3 ? "a name and a value"
					: actions[i].min_args == 1 ? "at most one file"
								   : "a name");
		return actions[i].run(cli);
	}
	return cli_usage_error(cli, "there is no 'config %s'", name);
}

static const struct cmd_option config_options[] = {
	{ "origin", 0, NULL, false, "show: where each value comes from" },
	{ "dry-run", 'n', NULL, false, "set: show the change without making it" },
	{ "json", 0, NULL, false, "get, show, validate: print JSON" },
	{ 0 },
};

const struct cmd cmd_config = {
	.name = "config",
	.args = "[get NAME | set NAME VALUE | show | validate [FILE] | schema]",
	.text = "Show, check and change the options of hookd.",
	.max_args = 3,
	.options = config_options,
	.run = run,
};
