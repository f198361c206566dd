/* runners: programs with a subcommand that runs another command: uv run, bundle exec, tmux new … */
#include "guard/internal.h"

static const struct runner {
	const char *program, *words; /* the subcommand, one word or several of which one fits */
	const char *shorts, *longs;
	unsigned skip;
	bool text; /* its operands are texts for a shell */
} runners[] = {
	{ "uv", "run tool", "p", "with python project extra group env-file directory from", 0, false },
	{ "poetry pipenv rye hatch pdm pipx", "run", "eC", "directory python env spec", 0, false },
	{ "bundle", "exec", "", "", 0, false },
	{ "npm", "exec x", "pwc", "package workspace call", 0, false },
	{ "pnpm yarn", "dlx exec", "pC", "package filter", 0, false },
	{ "bun", "x", "", "", 0, false },
	{ "conda mamba micromamba", "run", "npv", "name prefix cwd", 0, false },
	{ "perf", "record stat trace", "eopFgCc", "event output", 0, false },
	{ "mise rtx", "exec x", "", "", 0, false },
	{ "asdf rbenv pyenv nodenv", "exec", "", "", 0, false },
	{ "op", "run", "", "env-file", 0, false },
	{ "direnv", "exec", "", "", 1, false },
	{ "ip", "netns", "", "", 2, false },
	{ "tmux",
		"new new-session neww new-window split-window splitw respawn-pane run run-shell "
		"if-shell send-keys send",
		"tscnFxye", "", 0, true },
	{ "nix", "develop shell run", "", "", 99, false },
	{ "cargo", "watch", "xsw", "", 99, true },
	{ "dbt just task invoke", "", "", "", 99, false },
	{ "snap flatpak", "run", "", "command", 0, false },
	{ "toolbox distrobox", "run enter", "cnr", "container name", 0, false },
	{ 0 },
};

static void run_from(struct run *x, struct cmd *c, const struct runner *r, size_t at)
{
	struct text t = { .a = x->a };

	if (!r->text) {
		c->out = run_argv(x, c->v + at, c->n - at, c->in);
		return;
	}
	for (size_t i = at; i < c->n; i++) {
		if (str_in(c->v[i], "Enter C-m")) {
			text_char(&t, '\n');
			continue;
		}
		if (i > at)
			text_char(&t, ' ');
		text_add(&t, c->v[i]);
	}
	c->out = run_child_text(x, text_str(&t), STR_NONE);
}

static void do_runner(struct run *x, struct cmd *c)
{
	const struct runner *r = runners;
	struct args it;
	unsigned skipped = 0;
	bool sub = false;
	struct arg a;

	while (r->program && !str_in(c->name, r->program))
		r++;
	if (!r->program)
		return;
	it = (struct args){ .c = c, .shorts = r->shorts, .longs = r->longs };
	while (args_next(&it, &a)) {
		if (arg_is(&a, 'c', "command call") && sub && str_eq(c->name, STR("npm")) && str_is_set(a.value)) {
			c->out = run_child_text(x, a.value, c->in);
			return;
		}
		if (a.letter == 'c' && str_eq(c->name, STR("nix"))) {
			c->out = run_argv(x, c->v + it.i, c->n - it.i, c->in);
			return;
		}
		if (str_eq(c->name, STR("cargo")) && sub && a.letter == 's' && str_is_set(a.value))
			c->out = run_child_text(x, a.value, STR_NONE);
		if (!a.operand)
			continue;
		if (!sub) {
			if (!str_in(a.value, r->words))
				return;
			sub = true;
		} else if (skipped++ >= r->skip) {
			if (str_eq(c->name, STR("uv")) && str_eq(a.value, STR("run")))
				continue;
			run_from(x, c, r, a.at);
			return;
		}
	}
}

const struct program pack_run[] = {
	{ "uv poetry pipenv rye hatch pdm pipx bundle npm pnpm yarn bun conda mamba micromamba "
	  "perf mise rtx asdf rbenv pyenv nodenv op direnv ip "
	  "tmux nix cargo snap flatpak toolbox distrobox",
		do_runner },
	{ 0 },
};
