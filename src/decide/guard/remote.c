/* remote: clients that run a command on another machine or in something that lives on: a container,
 * a pod, a dyno. What they delete there is somebody's data. */
#include "guard/internal.h"

static const struct {
	const char *programs, *pattern;
	char letter;
	const char *longs; /* of the option whose value is the command */
	bool dashes;       /* or what follows -- */
	int skip;          /* or the operands from this one on; -1: none */
} remotes[] = {
	{ "gcloud", "compute|alpha|beta|app .. ssh", 0, "command", true, -1 },
	{ "gcloud", "cloud-shell ssh", 0, "command", true, -1 },
	{ "doctl", "compute ssh", 0, "ssh-command", false, -1 },
	{ "heroku", "run|run:detached|run:inside", 0, "", true, 1 },
	{ "heroku", "ps:exec", 0, "", true, 1 },
	{ "fly flyctl", "ssh console", 'C', "command", false, -1 },
	{ "fly flyctl", "machine|machines exec", 0, "", false, 3 },
	{ "az", ".. run-command invoke|create", 0, "scripts script", false, -1 },
	{ "az", "ssh vm", 0, "", true, -1 },
	{ "az", "container|containerapp exec", 0, "exec-command command", false, -1 },
	{ "aws", "ssm send-command", 0, "parameters", false, -1 },
	{ "aws", "ssm start-session", 0, "parameters", false, -1 },
	{ "aws", "ecs execute-command", 0, "command", false, -1 },
	{ "eb", "ssh", 'c', "command", false, -1 },
	{ "copilot", "svc|task exec", 'c', "command", false, -1 },
	{ "railway", "run|ssh", 0, "", true, 1 },
	{ "render", "ssh", 0, "", true, -1 },
	{ "kamal", "app exec", 0, "", false, 2 },
	{ "dokku", "run|enter", 0, "", false, 2 },
	{ "cf", "ssh", 'c', "command", false, -1 },
	{ "vagrant", "ssh", 'c', "command", true, -1 },
	{ "lxc incus", "exec", 0, "", true, 2 },
	{ "multipass", "exec", 0, "", true, 2 },
	{ "limactl", "shell", 0, "", false, 2 },
	{ "minikube", "ssh", 0, "", true, 1 },
	{ "nomad", "alloc exec", 0, "", false, 3 },
	{ "juju", "exec|run|ssh", 0, "", true, 2 },
	{ "tsh", "ssh", 0, "", false, 2 },
	{ "tailscale", "ssh", 0, "", false, 2 },
	{ "salt", ".. cmd.run", 0, "", false, 2 },
	{ "oc", "rsh", 0, "", true, 2 },
};

static void run_there(struct run *x, struct cmd *c, str text)
{
	struct state saved = x->st;
	bool remote = x->remote;

	x->remote = true;
	x->st.cwd = x->c->home;
	c->out = run_child_text(x, text, STR_NONE);
	x->remote = remote;
	x->st = saved;
}

/* commands=["rm -rf /"] of aws ssm */
static str without_json(struct run *x, str value)
{
	ptrdiff_t at = str_find(value, STR("ommands"));

	if (at < 0)
		return value;
	value = str_from(value, (size_t)at + 7);
	return map_tr(x->a, value, STR("=[]{}:\",'"), STR("  ;;    ; "), false);
}

static void from_operand(struct run *x, struct cmd *c, int skip)
{
	struct args it = { .c = c,
		.shorts = "aresnuCc",
		.longs = "app remote size env user group cluster cwd container space namespace" };
	struct arg a;

	while (args_next(&it, &a)) {
		if (!a.operand || skip-- > 0)
			continue;
		run_there(x, c, fields_join(x->a, c->v + a.at, c->n - a.at, ' '));
		return;
	}
	if (str_is_set(c->in))
		run_there(x, c, c->in);
}

static void do_remote(struct run *x, struct cmd *c)
{
	for (size_t i = 0; i < countof(remotes); i++) {
		bool done = false;

		if (!str_in(c->name, remotes[i].programs) || !row_matches(c, remotes[i].pattern))
			continue;
		struct args it = { .c = c,
			.shorts = (const char[]){ remotes[i].letter, 0 },
			.longs = remotes[i].longs };
		struct arg a;

		while (args_next(&it, &a))
			if (!a.operand && str_is_set(a.value) &&
				((a.letter && a.letter == remotes[i].letter) || arg_is(&a, 0, remotes[i].longs))) {
				run_there(x, c, without_json(x, a.value));
				done = true;
			}
		for (size_t k = 1; !done && remotes[i].dashes && k + 1 < c->n; k++)
			if (str_eq(c->v[k], STR("--"))) {
				run_there(x, c, fields_join(x->a, c->v + k + 1, c->n - k - 1, ' '));
				done = true;
			}
		if (!done && remotes[i].skip >= 0)
			from_operand(x, c, remotes[i].skip);
		else if (!done && str_is_set(c->in))
			run_there(x, c, c->in);
		return;
	}
}

/* -- consoles of services and frameworks: SQL or code in an option ------------------------------ */

static const struct {
	const char *programs, *pattern;
	char letter;
	const char *longs, *language; /* NULL: SQL */
} consoles[] = {
	{ "heroku", "pg:psql", 'c', "command", NULL },
	{ "fly flyctl", "postgres|pg|mpg connect", 'c', "command", NULL },
	{ "supabase", "db execute|query", 0, "sql", NULL },
	{ "wrangler", "d1 execute", 0, "command", NULL },
	{ "turso", "db shell", 0, "", NULL },
	{ "pscale", "shell", 'e', "execute", NULL },
	{ "prisma", "db execute", 0, "", NULL },
	{ "gcloud", "sql|spanner ..", 0, "sql", NULL },
	{ "aws", "rds-data execute-statement", 0, "sql", NULL },
	{ "aws", "athena|redshift-data start-query-execution|execute-statement", 0, "query-string sql", NULL },
	{ "rails", "runner|r", 0, "", "ruby" },
	{ "artisan", "tinker", 0, "execute", "php" },
	{ "manage.py django-admin flask", "shell", 'c', "command", "python" },
	{ "mix", "run|eval", 'e', "eval", "elixir" },
	{ "wp", "eval", 0, "", "php" },
	{ "drush", "php:eval|ev|php-eval", 0, "", "php" },
	{ "drush", "sql:query|sqlq", 0, "", NULL },
	{ "magento n98-magerun2", "db:query", 0, "", NULL },
};

static void in_console(struct run *x, struct cmd *c, const char *language, str text)
{
	if (language)
		(void)run_code(x, str_of(language), text, STR_NONE);
	else
		judge_sql(x, c, text);
}

static void do_console(struct run *x, struct cmd *c)
{
	for (size_t i = 0; i < countof(consoles); i++) {
		if (!str_in(c->name, consoles[i].programs) || !row_matches(c, consoles[i].pattern))
			continue;
		struct args it = { .c = c,
			.shorts = (const char[]){ consoles[i].letter, 'a', 0 },
			.longs = consoles[i].longs };
		struct arg a;

		if (!consoles[i].letter)
			it.shorts = "a";
		while (args_next(&it, &a))
			if (a.operand ? str_find_char(a.value, ' ') > 0 || str_find_char(a.value, '.') > 0
				      : str_is_set(a.value) &&
						((a.letter && a.letter == consoles[i].letter) ||
							arg_is(&a, 0, consoles[i].longs)))
				in_console(x, c, consoles[i].language, a.value);
		if (str_is_set(c->in))
			in_console(x, c, consoles[i].language, c->in);
		return;
	}
}

/* php artisan …, python manage.py …: a script of a framework with commands of its own. */
static void do_framework(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < MIN(c->n, 16); i++)
		if (str_in(str_base(c->v[i]), "artisan manage.py rails rake bfg n98-magerun2.phar")) {
			(void)run_argv(x, c->v + i, c->n - i, c->in);
			return;
		}
}

const struct program pack_remote[] = {
	{ "gcloud doctl heroku fly flyctl az aws eb copilot railway render kamal dokku cf vagrant lxc incus "
	  "multipass limactl minikube nomad juju tsh tailscale salt oc",
		do_remote },
	{ "heroku fly flyctl supabase wrangler turso pscale prisma gcloud aws rails artisan manage.py "
	  "django-admin flask mix wp drush magento n98-magerun2",
		do_console },
	{ "php python python3 python2 ruby", do_framework },
	{ 0 },
};
