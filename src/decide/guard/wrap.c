/* wrap: programs that run another command. Most are a row: which options take a value, how many
 * operands come first. */
#include "guard/internal.h"

enum {
	WRAP_ASSIGN = 1 << 0, /* NAME=value operands come before the command */
	WRAP_TEXT = 1 << 1,   /* the command is one text for a shell, its words joined */
	WRAP_ROOT = 1 << 2,   /* with another user's rights */
	WRAP_DASHES = 1 << 3, /* only what follows -- is the command */
	WRAP_REMOTE = 1 << 4,
};

static const struct wrapper {
	const char *names, *shorts, *longs;
	unsigned skip; /* operands before the command */
	unsigned flags;
	const char *command_option; /* letter and long name of the option whose value is a text for
				       a shell */
} wrappers[] = {
	{ "sudo", "ugpCchrtTRDUa",
		"user group prompt close-from chdir chroot host role type other-user "
		"command-timeout login-class",
		0, WRAP_ASSIGN | WRAP_ROOT, NULL },
	{ "doas", "uCa", "", 0, WRAP_ROOT, NULL },
	{ "pkexec", "", "user", 0, WRAP_ROOT, NULL },
	{ "run0", "pu", "user group chdir unit property description slice setenv nice machine", 0, WRAP_ROOT, NULL },
	{ "sudoedit", "u", "user", 99, 0, NULL },
	{ "nohup setsid builtin fakeroot catchsegv eatmydata unbuffer caffeinate torsocks tsocks "
	  "linux64 linux32 i386 x86_64 nocache "
	  "dbus-run-session dbus-launch busybox toybox noglob nocorrect - gtime pseudo shx",
		"", "", 0, 0, NULL },
	{ "ld.so", "", "library-path preload argv0 audit inhibit-rpath glibc-hwcaps-prepend", 0, 0, NULL },
	{ "wsl", "du", "distribution user cd shell-type", 0, 0, NULL },
	{ "exec", "a", "", 0, 0, NULL },
	{ "nice", "n", "adjustment", 0, 0, NULL },
	{ "ionice", "cnpPu", "class classdata pid", 0, 0, NULL },
	{ "timeout gtimeout", "ks", "kill-after signal", 1, 0, NULL },
	{ "stdbuf gstdbuf", "ioe", "input output error", 0, 0, NULL },
	{ "time", "fo", "format output", 0, 0, NULL },
	{ "chrt", "TPD", "sched-runtime sched-period sched-deadline", 1, 0, NULL },
	{ "taskset", "", "", 1, 0, NULL },
	{ "numactl", "NmCilp", "cpunodebind membind physcpubind interleave preferred", 0, 0, NULL },
	{ "flock", "wEc", "wait timeout conflict-exit-code command", 1, 0, "c command" },
	{ "chroot", "", "", 1, WRAP_ROOT, NULL },
	{ "unshare", "RwSG", "root wd setuid setgid map-user map-group propagation setgroups", 0, 0, NULL },
	{ "nsenter", "tSGNrw", "target setuid setgid", 0, WRAP_ROOT, NULL },
	{ "strace ltrace", "aeEIoOpPsSuUXbnlA", "trace output env user", 0, 0, NULL },
	{ "valgrind heaptrack perf-trace rr", "", "", 0, 0, NULL },
	{ "gdb lldb", "xp", "", 0, WRAP_DASHES, NULL },
	{ "script", "cEomtIOBT", "command", 99, 0, "c command" },
	{ "watch", "nq", "interval", 0, WRAP_TEXT, NULL },
	{ "su", "cgGswT", "command group supp-group shell whitelist-environment session-command", 99, WRAP_ROOT,
		"c command" },
	{ "runuser", "cgGswuT", "command group supp-group shell user session-command", 0, WRAP_ROOT, "c command" },
	{ "gosu su-exec setuidgid chpst", "u", "", 1, WRAP_ROOT, NULL },
	{ "setpriv", "", "reuid regid groups bounding-set inh-caps ambient-caps", 0, 0, NULL },
	{ "capsh", "", "", 0, WRAP_DASHES, NULL },
	{ "prlimit", "p", "pid", 0, 0, NULL },
	{ "cpulimit", "lpe", "limit pid exe", 0, 0, NULL },
	{ "setarch arch", "", "", 0, 0, NULL },
	{ "faketime", "", "", 1, 0, NULL },
	{ "systemd-run", "puMHEdtPqGS",
		"unit property description slice uid gid setenv machine host on-active on-boot "
		"on-calendar working-directory nice service-type timer-property path-property "
		"socket-property",
		0, 0, NULL },
	{ "systemd-inhibit", "", "what who why mode", 0, 0, NULL },
	{ "start-stop-daemon", "", "pidfile name user chuid group exec startas", 0, WRAP_DASHES, NULL },
	{ "daemonize", "aceolpuEv", "", 0, 0, NULL },
	{ "firejail bwrap proot", "rbwvRS",
		"bind ro-bind dev-bind chdir setenv unsetenv uid gid hostname tmpfs proc dev "
		"symlink",
		0, 0, NULL },
	{ "rlwrap", "aAbcCDfFgHilLmMnNopPqrRsStTUwWzZ", "", 0, 0, NULL },
	{ "xvfb-run", "enps", "", 0, 0, NULL },
	{ "proxychains proxychains4", "f", "", 0, 0, NULL },
	{ "cgexec", "g", "", 0, 0, NULL },
	{ "npx bunx pnpx", "pc", "package call cache userconfig registry", 0, 0, "c call" },
	{ "uvx", "p", "python from with spec", 0, 0, NULL },
	{ "dotenv dotenvx", "fe", "env-file", 0, WRAP_DASHES, NULL },
	{ "aws-vault doppler infisical chamber teller", "pc", "project config env profile duration", 0, WRAP_DASHES,
		NULL },
	{ "cross-env env-cmd", "f", "file", 0, WRAP_ASSIGN, NULL },
	{ "nodemon", "", "exec watch ext ignore", 99, 0, "x exec" },
	{ "entr", "", "", 0, 0, NULL },
	{ "hyperfine", "wmMpLSrn", "warmup runs prepare setup cleanup shell export-json export-markdown", 0, WRAP_TEXT,
		NULL },
	{ "concurrently", "nck", "names prefix-colors", 0, WRAP_TEXT, NULL },
	{ "nix-shell", "pIA", "packages run command", 99, 0, "- run command" },
	{ "ssh-agent", "at", "", 0, 0, NULL },
	{ "vagrant", "", "command", 99, WRAP_REMOTE, "c command" },
	{ "dsh pssh pdsh clush", "whlt", "hosts host user", 0, WRAP_TEXT | WRAP_REMOTE, NULL },
	{ "screen dtach", "tscnSLpF", "", 0, 0, NULL },
	{ "sshpass", "pfdeP", "", 0, 0, NULL },
	{ 0 },
};

static bool is_assignment(str word)
{
	ptrdiff_t eq = str_find_char(word, '=');

	return eq > 0 && str_find_char(str_head(word, (size_t)eq), '/') < 0;
}

static void run_rest(struct run *x, struct cmd *c, size_t from, unsigned flags)
{
	bool remote = x->remote, elevated = x->elevated;

	x->remote |= (flags & WRAP_REMOTE) != 0;
	x->elevated |= (flags & WRAP_ROOT) != 0;
	if (from >= c->n)
		c->out = STR("\1");
	else if (flags & WRAP_TEXT)
		c->out = run_child_text(x, fields_join(x->a, c->v + from, c->n - from, ' '), c->in);
	else
		c->out = run_argv(x, c->v + from, c->n - from, c->in);
	x->remote = remote;
	x->elevated = elevated;
}

static const struct wrapper *wrapper_of(str name)
{
	for (const struct wrapper *w = wrappers; w->names; w++)
		if (str_in(name, w->names))
			return w;
	return NULL;
}

static bool is_command_option(const struct wrapper *w, const struct arg *a)
{
	return w->command_option && arg_is(a, w->command_option[0], w->command_option + 2);
}

static size_t behind_dashes(const struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (str_in(c->v[i], "-- --args"))
			return i + 1;
	return c->n;
}

/* Options that say where the command runs. */
static const struct {
	const char *names;
	char letter;
	const char *longs;
} goes_to[] = {
	{ "sudo", 'D', "chdir" },
	{ "run0", 0, "chdir" },
	{ "systemd-run", 0, "working-directory" },
	{ "unshare nsenter", 'w', "wd" },
	{ "bwrap firejail", 0, "chdir" },
	{ "proot", 'w', "cwd" },
	{ "wsl", 0, "cd" },
};

static void change_dir(struct run *x, const struct cmd *c, const struct arg *a)
{
	for (size_t i = 0; i < countof(goes_to); i++)
		if (str_in(c->name, goes_to[i].names) && str_is_set(a->value) &&
			((goes_to[i].letter && a->letter == goes_to[i].letter) || arg_is(a, 0, goes_to[i].longs)))
			x->st.cwd = path_resolve(x, a->value);
}

static void do_wrapper(struct run *x, struct cmd *c)
{
	const struct wrapper *w = wrapper_of(c->name);
	struct args it = { .c = c, .shorts = w->shorts, .longs = w->longs, .posix = true };
	struct state saved = x->st;
	unsigned skipped = 0;
	struct arg a;

	if (w->flags & WRAP_DASHES) {
		run_rest(x, c, behind_dashes(c), w->flags);
		return;
	}
	while (args_next(&it, &a)) {
		change_dir(x, c, &a);
		if (is_command_option(w, &a) && str_is_set(a.value)) {
			bool elevated = x->elevated;

			x->elevated |= (w->flags & WRAP_ROOT) != 0;
			c->out = run_child_text(x, a.value, c->in);
			x->elevated = elevated;
			x->st = saved;
			return;
		}
		if (!a.operand || (w->skip && skipped < w->skip)) {
			/* su and the like: options may follow operands, and a user name is no
			 * command. */
			skipped += a.operand;
			it.no_more &= w->skip != 99 && skipped >= w->skip && !w->command_option;
			continue;
		}
		if ((w->flags & WRAP_ASSIGN) && is_assignment(a.value)) {
			ptrdiff_t eq = str_find_char(a.value, '=');

			var_set(x, str_head(a.value, (size_t)eq), str_from(a.value, (size_t)eq + 1));
			continue;
		}
		run_rest(x, c, a.at, w->flags);
		x->st = saved;
		return;
	}
	x->st = saved;
	if (str_is_set(c->in) && str_in(c->name, "su sudo doas script runuser chroot")) /* a shell that reads */
		c->out = cmd_has(c, "-l") || cmd_has(c, "-v") ||
				(!cmd_has(c, "-s") && !cmd_has(c, "-i") && str_eq(c->name, STR("sudo")))
			? STR("\1")
			: run_child_text(x, c->in, STR_NONE);
}

/* -- env -------------------------------------------------------------------------------------- */

static void do_env(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "uCSaP", .longs = "unset chdir split-string argv0", .posix = true };
	struct state saved = x->st;
	struct arg a;

	while (args_next(&it, &a)) {
		ptrdiff_t eq;

		if (arg_is(&a, 'C', "chdir")) {
			x->st.cwd = path_resolve(x, a.value);
		} else if (arg_is(&a, 'S', "split-string")) {
			struct fields all = { 0 };

			/* It begins with options and assignments of env itself. */
			fields_add(x->a, &all, STR("env"));
			fields_add(x->a, &all, a.value);
			for (size_t i = it.i; i < c->n; i++)
				fields_add(x->a, &all, c->v[i]);
			/* Words are split as in a shell without expansions, near enough. */
			c->out = run_child_text(x, fields_join(x->a, all.v, all.n, ' '), c->in);
			x->st = saved;
			return;
		} else if (a.operand && is_assignment(a.value)) {
			eq = str_find_char(a.value, '=');
			var_set(x, str_head(a.value, (size_t)eq), str_from(a.value, (size_t)eq + 1));
		} else if (a.operand) {
			struct cmd inner = { .v = c->v + a.at,
				.n = c->n - a.at,
				.in = c->in,
				.env = x->st.facts,
				.env_end = saved.facts };

			if (x->depth >= DEPTH_MAX)
				(void)spend(x, UINT32_MAX);
			x->depth++;
			c->out = run_cmd(x, &inner);
			x->depth--;
			x->st = saved;
			return;
		}
	}
	x->st = saved;
	if (!cmd_has(c, "--help") && !cmd_has(c, "--version")) {
		c->out = STR("\5");
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints the environment, secrets included");
	}
}

static void do_printenv(struct run *x, struct cmd *c)
{
	static const char *const words[] = { "SECRET", "TOKEN", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL" };
	bool named = false;

	for (size_t i = 1; i < c->n; i++) {
		if (c->v[i].p[0] == '-')
			continue;
		named = true;
		for (size_t k = 0; k < countof(words); k++)
			if (str_has_nocase(c->v[i], words[k]))
				FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints a secret");
	}
	c->out = STR("\1");
	if (!named) {
		c->out = STR("\5");
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints the environment, secrets included");
	}
}

/* command -v and the like only look; a path comes out, so that $(which rm) is rm. */
static void do_which(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .posix = true };
	bool look = !str_eq(c->name, STR("command"));
	struct arg a;

	while (args_next(&it, &a)) {
		if (!a.operand) {
			look |= a.letter == 'v' || a.letter == 'V';
			continue;
		}
		if (!look) {
			run_rest(x, c, a.at, 0);
			return;
		}
		c->out = str_find_char(a.value, '/') >= 0
			? a.value
			: arena_strf(x->a, "/usr/bin/" STR_FMT "\n", STR_ARG(a.value));
		return;
	}
}

/* -- shells ----------------------------------------------------------------------------------- */

static void do_shell_script(struct run *x, struct cmd *c, size_t at)
{
	str path = path_resolve(x, c->v[at]), text;
	struct state saved = x->st;

	if (str_in(c->v[at], "-") || str_in(path, "/dev/stdin /dev/fd/0 /proc/self/fd/0"))
		text = str_is_set(c->in) ? c->in : STR("");
	else if (watch_script(x, c, path, at, GUARD_BY_SHELL))
		return;
	else if (!fs_known(x, path, &text)) {
		if (has_mark(c->v[at], "\4"))
			FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
		return;
	}
	x->st.arg0 = c->v[at];
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = at + 1; i < c->n; i++)
		fields_add(x->a, &x->st.args, c->v[i]);
	c->out = run_child_text(x, text, STR_NONE);
	x->st = saved;
}

static void run_dash_c(struct run *x, struct cmd *c, size_t at)
{
	struct state saved = x->st;

	x->st.arg0 = at + 1 < c->n ? c->v[at + 1] : STR("bash");
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = at + 2; i < c->n; i++)
		fields_add(x->a, &x->st.args, c->v[i]);
	c->out = run_child_text(x, c->v[at], c->in);
	x->st = saved;
}

static void do_shell(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "oO", .longs = "rcfile init-file", .posix = true };
	bool dash_c = false, dash_s = false;
	struct state saved = x->st;
	size_t first = 0;
	struct arg a;
	str text;

	if (c->net_in || c->net_out)
		FAULT(x, c, RULE_NET_SHELL, VERDICT_DENY, "this connects a shell to another machine");
	while (args_next(&it, &a)) {
		if (a.operand && a.value.n > 1 && a.value.p[0] == '+') { /* +e: an option too */
			it.no_more = false;
			continue;
		}
		if (arg_is(&a, 'c', "command"))
			dash_c = true;
		else if (a.letter == 's')
			dash_s = true;
		else if (arg_is(&a, 0, "rcfile init-file") && fs_written(x, a.value, &text))
			(void)run_child_text(x, text, STR_NONE);
		else if (arg_is(&a, 0, "version help"))
			return;
		if (!a.operand)
			continue;
		if (dash_c) {
			run_dash_c(x, c, a.at);
			return;
		}
		if (dash_s) {
			first = a.at;
			break;
		}
		do_shell_script(x, c, a.at);
		return;
	}
	if (!str_is_set(c->in) || dash_c)
		return;
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = first; first && i < c->n; i++) /* sh -s ARGS */
		fields_add(x->a, &x->st.args, c->v[i]);
	c->out = run_child_text(x, c->in, STR_NONE);
	x->st = saved;
}

/* -- ssh -------------------------------------------------------------------------------------- */

static void do_ssh(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "BbcDEeFIiJLlmOopQRSWwP", .posix = true };
	bool remote = x->remote, had_host = false;
	struct state saved = x->st;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.letter == 'o' &&
			(str_has_nocase(a.value, "ProxyCommand") || str_has_nocase(a.value, "LocalCommand"))) {
			ptrdiff_t eq = str_find_char(a.value, '=');

			(void)run_child_text(x, str_from(a.value, eq < 0 ? 12 : (size_t)eq + 1), STR_NONE);
		}
		if (!a.operand)
			continue;
		if (!had_host) {
			had_host = true;
			it.no_more = false;
			continue;
		}
		x->remote = true;
		x->st.cwd = x->c->home;
		c->out = run_child_text(x, fields_join(x->a, c->v + a.at, c->n - a.at, ' '), c->in);
		x->st = saved;
		x->remote = remote;
		return;
	}
	if (str_is_set(c->in) && had_host) { /* a login shell that reads */
		x->remote = true;
		c->out = run_child_text(x, c->in, STR_NONE);
		x->remote = remote;
	}
}

/* -- xargs, parallel, find, fd ---------------------------------------------------------------- */

enum { ITEMS_MAX = 4096, TIMES_MAX = 512 }; /* words that come in; commands that are run with one each */

/* The words that xargs would add: what comes in, split. */
static void split_input(struct run *x, str in, bool nul, bool lines, struct fields *out)
{
	size_t i = 0;

	while (i < in.n && spend(x, 1)) {
		size_t from;

		while (i < in.n && (nul ? in.p[i] == 0 : strchr(lines ? "\n" : " \t\n", in.p[i]) != NULL))
			i++;
		from = i;
		while (i < in.n && (nul ? in.p[i] != 0 : !strchr(lines ? "\n" : " \t\n", in.p[i]) || !in.p[i]))
			i++;
		if (i > from && out->n == ITEMS_MAX) {
			reach_cap(x, "words on its input");
			return;
		}
		if (i > from) {
			str word = str_n(in.p + from, i - from);

			if (!nul && !lines && word.n > 2 && (word.p[0] == '\'' || word.p[0] == '"') &&
				word.p[word.n - 1] == word.p[0])
				word = str_n(word.p + 1, word.n - 2);
			fields_add(x->a, out, word);
		}
	}
}

static str put_in(struct run *x, str word, str place, str value)
{
	struct text t = { .a = x->a };
	ptrdiff_t at;

	if (!place.n || (at = str_find(word, place)) < 0)
		return word;
	while ((at = str_find(word, place)) >= 0) {
		text_add(&t, str_head(word, (size_t)at));
		text_add(&t, value);
		word = str_from(word, (size_t)at + place.n);
	}
	text_add(&t, word);
	return text_str(&t);
}

/* Runs the command once for each item, or once with all of them behind it. */
static str run_with_items(struct run *x, const str *v, size_t n, const struct fields *items, str place)
{
	str out = STR("");

	if (place.n) {
		for (size_t k = 0; k < items->n && spend(x, 4); k++) {
			struct fields f = { 0 };

			if (k == TIMES_MAX) {
				reach_cap(x, "commands made from its input");
				break;
			}

			for (size_t i = 0; i < n; i++)
				fields_add(x->a, &f, put_in(x, v[i], place, items->v[k]));
			out = run_argv(x, f.v, f.n, STR_NONE);
		}
		return out;
	}
	struct fields f = { 0 };

	for (size_t i = 0; i < n; i++)
		fields_add(x->a, &f, v[i]);
	for (size_t k = 0; k < items->n; k++)
		fields_add(x->a, &f, items->v[k]);
	return run_argv(x, f.v, f.n, STR_NONE);
}

static void do_xargs(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "aEeIiLlnPsdRJS",
		.longs = "arg-file delimiter eof replace max-lines max-args max-procs max-chars "
			 "process-slot-var",
		.posix = true };
	struct fields items = { 0 };
	bool nul = false, lines = false;
	str place = STR_NONE, in = c->in;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.operand)
			break;
		if (arg_is(&a, '0', "null"))
			nul = true;
		else if (arg_is(&a, 'I', "replace") || a.letter == 'J' || a.letter == 'i') {
			place = a.value.n && !(a.letter == 'i') ? a.value : STR("{}");
			lines = true;
		} else if (arg_is(&a, 'a', "arg-file")) {
			judge_read(x, c, a.value);
			in = fs_content(x, path_resolve(x, a.value));
		} else if (arg_is(&a, 'd', "delimiter") && str_is_set(a.value)) {
			in = map_tr(x->a, str_is_set(in) ? in : STR("\1"), decode_backslashes(x->a, a.value, false),
				STR("\n"), false);
		}
	}
	split_input(x, str_is_set(in) ? in : STR("\1"), nul, lines, &items);
	if (it.i <= c->n && c->n > 1 && a.operand)
		c->out = run_with_items(x, c->v + a.at, c->n - a.at, &items, place);
	else
		c->out = in;
}

static void do_parallel(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "jINnLPSadCs",
		.longs = "jobs delay timeout max-args colsep arg-file joblog results sshlogin "
			 "retries workdir tmpdir",
		.posix = true };
	struct fields items = { 0 }, words = { 0 };
	struct text t = { .a = x->a };
	bool in_items = false, placed;
	struct arg a = { 0 };

	while (args_next(&it, &a) && !a.operand)
		if (arg_is(&a, 'a', "arg-file"))
			fields_add(x->a, &items, fs_content(x, path_resolve(x, a.value)));
	for (size_t i = a.operand ? a.at : c->n; i < c->n; i++) {
		if (str_in(c->v[i], "::: :::+ :::: ::::+"))
			in_items = true;
		else
			fields_add(x->a, in_items ? &items : &words, c->v[i]);
	}
	if (!items.n)
		split_input(x, str_is_set(c->in) ? c->in : STR("\1"), false, true, &items);
	text_add(&t, fields_join(x->a, words.v, words.n, ' '));
	placed = str_has(text_str(&t), "{");
	for (size_t k = 0; k < items.n && spend(x, 4); k++) {
		struct text one = { .a = x->a };

		if (k == TIMES_MAX) {
			reach_cap(x, "commands made from its input");
			break;
		}

		text_add(&one, placed ? put_in(x, text_str(&t), STR("{}"), items.v[k]) : text_str(&t));
		if (!placed && words.n) {
			text_char(&one, ' ');
			text_add(&one, items.v[k]);
		} else if (!words.n) {
			text_add(&one, items.v[k]);
		}
		c->out = run_child_text(x, text_str(&one), STR_NONE);
	}
}

const struct program pack_wrap[] = {
	{ "sudo doas pkexec run0 sudoedit nohup setsid builtin fakeroot catchsegv eatmydata "
	  "unbuffer caffeinate torsocks tsocks linux64 linux32 "
	  "i386 x86_64 nocache dbus-run-session dbus-launch busybox toybox noglob nocorrect - "
	  "gtime pseudo shx exec nice ionice timeout gtimeout stdbuf gstdbuf time "
	  "chrt taskset numactl flock chroot unshare nsenter strace ltrace valgrind heaptrack "
	  "perf-trace rr gdb lldb script watch su runuser gosu "
	  "su-exec setuidgid chpst setpriv capsh prlimit cpulimit setarch arch faketime "
	  "systemd-run systemd-inhibit start-stop-daemon daemonize "
	  "firejail bwrap proot rlwrap xvfb-run proxychains proxychains4 cgexec npx bunx pnpx uvx "
	  "dotenv dotenvx aws-vault doppler infisical "
	  "chamber teller cross-env env-cmd nodemon entr hyperfine concurrently nix-shell "
	  "ssh-agent vagrant dsh pssh pdsh clush screen dtach sshpass ld.so wsl",
		do_wrapper },
	{ "env", do_env },
	{ "printenv", do_printenv },
	{ "command which type whereis", do_which },
	{ "sh bash dash zsh ksh mksh ash fish rbash csh tcsh pwsh-sh git-shell", do_shell },
	{ "ssh mosh autossh slogin rsh dbclient", do_ssh },
	{ "xargs gxargs", do_xargs },
	{ "parallel rush", do_parallel },
	{ 0 },
};
