#include "cli/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

/* Longer lines of a diff (a whole file on one line) are cut on the screen. */
enum { SHOWN_LINE = 400 };

/* -- plans ------------------------------------------------------------------------------------- */

static int print_plan_error(const struct install_plan *p, const struct err *err)
{
	if (err->line && p->n)
		return cli_fail("%s:%u:%u: %s; nothing was changed there", p->files[p->n - 1].path, err->line, err->col,
			err->text);
	return cli_fail("%s; nothing was changed there", err->text);
}

static int add_change(struct cli *cli, const struct hook_work *work, const struct install_request *q, bool named,
	struct hook_changes *c)
{
	struct hook_change *change = arena_new(&cli->arena, struct hook_change);
	struct err err = { 0 };
	int r;

	for (unsigned i = 0; i < c->n; i++)
		if (c->list[i]->request.agent == q->agent)
			return 0;
	change->request = *q;
	r = work->plan(q, &cli->arena, &change->plan, &err);
	if (r == -EOPNOTSUPP && !named)
		return 0;
	if (r < 0) {
		c->failed = print_plan_error(&change->plan, &err);
		return 0;
	}
	if (c->n == HOOK_CHANGES_MAX)
		return cli_fail("too many agents at once");
	c->list[c->n++] = change;
	c->any = c->any || !install_plan_is_empty(&change->plan);
	return 0;
}

static int unknown_agent(struct cli *cli, const char *name)
{
	struct buf b = BUF_INIT(KIB(1));
	int r;

	for (size_t i = 0; agents[i]; i++)
		buf_addf(&b, "%s%s", i ? ", " : "", agents[i]->name);
	r = cli_usage_error(cli, "there is no agent '%s'; hookd knows %s", name, b.p);
	buf_release(&b);
	return r;
}

int hooks_plan(struct cli *cli, const struct hook_work *work, struct hook_changes *ret)
{
	struct install_request q = { .home = getenv("HOME"),
		.hookc = work->hookc,
		.otel = work->otel,
		.mcp = work->mcp,
		.state = cli->paths.state,
		.all_events = cli_has(cli, "all-events") };
	static char project[FS_PATH];
	const char *name;
	int r = 0;

	*ret = (struct hook_changes){ 0 };
	if (cli_has(cli, "project")) {
		if (!getcwd(project, sizeof project))
			return cli_fail("the current directory cannot be used: %s", strerror(errno));
		q.project = project;
	}
	for (int i = 0; r == 0 && (name = cli_value_at(cli, "agent", i)); i++) {
		q.agent = agent_find(str_of(name));
		if (!str_eq_nocase(str_of(name), str_of(q.agent->name)))
			return unknown_agent(cli, name);
		r = add_change(cli, work, &q, /* named= */ true, ret);
	}
	for (size_t i = 0; r == 0 && !cli_has(cli, "agent") && agents[i]; i++) {
		q.agent = agents[i];
		if (work->wanted(&q))
			r = add_change(cli, work, &q, /* named= */ false, ret);
	}
	return r == 0 && !ret->n ? ret->failed : r;
}

/* -- showing ----------------------------------------------------------------------------------- */

static const char *line_colour(str line)
{
	return str_starts(line, STR("+")) ? "\033[32m" : str_starts(line, STR("-")) ? "\033[31m" : "";
}

/* One line of a diff: tabs as they look, nothing that could drive the terminal, cut when it is
 * endless. */
static void print_diff_line(str line, bool colour)
{
	struct buf b = BUF_INIT(SHOWN_LINE * 4);

	if (str_ends(line, STR("\r")))
		line.n--;
	for (size_t i = 0; i < line.n && b.len < SHOWN_LINE; i++)
		buf_add_str(&b, line.p[i] == '\t' ? STR("    ") : str_n(line.p + i, 1));
	if (colour)
		fputs(line_colour(line), stdout);
	cli_print_safe(str_cut_utf8(buf_str(&b), SHOWN_LINE - 4));
	fputs(b.len >= SHOWN_LINE - 4 ? " …" : "", stdout);
	puts(colour ? "\033[0m" : "");
	buf_release(&b);
}

static void print_diff(const struct install_change *change, bool colour)
{
	struct buf b = BUF_INIT(8 * LIMIT_SETTINGS);
	str rest, line;

	install_write_diff(change, &b);
	rest = buf_str(&b);
	while (str_split(&rest, '\n', &line) && (rest.p || line.n))
		print_diff_line(line, colour);
	buf_release(&b);
}

static void write_change(struct json_writer *w, const struct agent *agent, const struct install_change *change)
{
	struct buf diff = BUF_INIT(8 * LIMIT_SETTINGS);

	install_write_diff(change, &diff);
	jw_object(w);
	jw_field_str(w, "agent", str_of(agent->name));
	jw_field_str(w, "path", str_of(change->path));
	jw_field_int(w, "added", change->added);
	jw_field_int(w, "changed", change->changed);
	jw_field_int(w, "removed", change->removed);
	jw_field_bool(w, "file_removed", change->remove);
	jw_field_str(w, "diff", buf_str(&diff));
	jw_end_object(w);
	buf_release(&diff);
}

#define each_change(change, plan) \
	for (const struct install_change *change = (plan)->files; change < (plan)->files + (plan)->n; change++)

void hooks_write_json(struct json_writer *w, const struct hook_changes *c, bool applied)
{
	struct buf note = BUF_INIT(2 * FS_PATH);

	jw_object(w);
	jw_key(w, "agents");
	jw_array(w);
	for (unsigned i = 0; i < c->n; i++)
		each_change(change, &c->list[i]->plan) write_change(w, c->list[i]->plan.agent, change);
	jw_end_array(w);
	jw_key(w, "notes");
	jw_array(w);
	for (unsigned i = 0; i < c->n; i++)
		each_change(change, &c->list[i]->plan)
		{
			if (!str_is_set(change->note))
				continue;
			buf_clear(&note);
			buf_addf(&note, "%s: " STR_FMT, change->path, STR_ARG(change->note));
			jw_str(w, buf_str(&note));
		}
	jw_end_array(w);
	buf_release(&note);
	jw_field_bool(w, "applied", applied);
}

static void print_notes(const struct hook_changes *c)
{
	for (unsigned i = 0; i < c->n; i++)
		each_change(change, &c->list[i]->plan)
		{
			if (!str_is_set(change->note))
				continue;
			fputs("note: ", stdout);
			cli_print_safe(str_of(change->path));
			fputs(": ", stdout);
			cli_print_safe(change->note);
			putchar('\n');
		}
}

static void print_json_plan(const struct hook_changes *c)
{
	struct buf b = BUF_INIT(MIB(64));
	struct json_writer w = JSON_WRITER(&b);

	hooks_write_json(&w, c, /* applied= */ false);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
}

int hooks_agree(struct cli *cli, const struct hook_changes *c, const char *question)
{
	bool json = cli_has(cli, "json"), dry = cli_has(cli, "dry-run");

	if (dry && json)
		print_json_plan(c);
	if (!json && (dry || !cli_has(cli, "yes")))
		for (unsigned i = 0; i < c->n; i++)
			each_change(change, &c->list[i]->plan) print_diff(change, cli->colour);
	if (!json)
		print_notes(c);
	if (dry) {
		if (!json)
			puts(c->any ? "Nothing was changed (--dry-run)." : "There is nothing to change.");
		return -1;
	}
	if (!c->any || cli_has(cli, "yes"))
		return 0;
	fflush(stdout);
	if (json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		cli_fail("nothing was changed: there is no terminal to ask on; add --yes to proceed, or --dry-run to "
			 "look first");
		return EXIT_FAILED;
	}
	return cli_confirm(question) ? 0 : cli_fail("nothing was changed");
}

/* -- doing ------------------------------------------------------------------------------------- */

int hooks_apply(const struct hook_changes *c)
{
	struct err err = { 0 };

	for (unsigned i = 0; i < c->n; i++)
		if (install_apply(&c->list[i]->request, &c->list[i]->plan, &err) < 0)
			return cli_fail("%s", err.text);
	return 0;
}

static void print_count(const char **sep, const char *noun, unsigned n, const char *what)
{
	if (n)
		printf("%s%u %s%s %s", *sep, n, noun, n == 1 ? "" : "s", what);
	*sep = n ? ", " : *sep;
}

static void print_change(const struct agent *agent, const struct install_change *change)
{
	const char *sep = "";

	printf("%s: ", agent->label);
	print_count(&sep, change->noun, change->added, "added");
	print_count(&sep, change->noun, change->changed, "changed");
	print_count(&sep, change->noun, change->removed, "removed");
	fputs(*sep ? "" : "already installed", stdout);
	fputs(" in ", stdout);
	cli_print_safe(str_of(change->path));
	puts(change->remove ? " (the file was created by hookd and has been removed)" : "");
}

void hooks_print_done(const struct hook_changes *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		const struct install_plan *p = &c->list[i]->plan;

		each_change(change, p) if (!change->unused && !(p->uninstall && install_change_is_empty(change)))
			print_change(p->agent, change);
	}
}
