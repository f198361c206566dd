/* pack_system: processes, services, accounts, firewalls, schedules, packages the system needs. */
#include "guard/internal.h"

#define DENY VERDICT_DENY
#define ASK VERDICT_ASK

static void do_kill(struct run *x, struct cmd *c)
{
	bool signal_done = false;

	if (c->n > 1 && str_in(c->v[1], "-l -L --list --table"))
		return;
	for (size_t i = 1; i < c->n; i++) {
		str w = c->v[i];

		if (!signal_done && w.n > 1 && w.p[0] == '-' && !str_eq(w, STR("--"))) {
			signal_done = true;
			if (str_in(w, "-s -n --signal"))
				i++;
			if (str_eq(w, STR("-1")) && c->n == 2)
				FAULT(x, c, RULE_KILL, DENY, "this ends every process of the user");
			continue;
		}
		signal_done = true;
		if (str_eq(w, STR("-1")))
			FAULT(x, c, RULE_KILL, DENY, "this ends every process of the user");
		else if (str_in(w, "1 -0 0") && !cmd_has(c, "-0"))
			FAULT(x, c, RULE_KILL, str_eq(w, STR("1")) ? DENY : ASK,
				"this ends the first process or the whole group");
	}
}

static void do_pkill(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "uUgGPtsFOr",
		.longs = "signal euid uid group parent session terminal older" };
	bool user = false, named = false;
	struct arg a;

	while (args_next(&it, &a)) {
		user |= arg_is(&a, 'u', "euid uid user") || a.letter == 'U' || a.letter == 'G';
		if (!a.operand)
			continue;
		named = true;
		if (str_in(a.value, ". .* * ^ \2 [a-z] .+") || glob_any(a.value, "?"))
			FAULT(x, c, RULE_KILL, DENY, "this ends every process of the user");
		else if (str_in(a.value,
				 "systemd init dbus-daemon Xorg gnome-shell sshd login "
				 "launchd loginwindow WindowServer kwin"))
			FAULT(x, c, RULE_KILL, DENY, "this ends the session");
	}
	if (user && !named)
		FAULT(x, c, RULE_KILL, DENY, "this ends every process of a user");
}

/* The jobs of a crontab are commands. */
static void run_crontab(struct run *x, str text)
{
	str line;

	while (str_split(&text, '\n', &line)) {
		line = str_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		if (line.p[0] == '@') {
			ptrdiff_t sp = str_find_char(line, ' ');

			line = sp < 0 ? STR("") : str_from(line, (size_t)sp);
		} else {
			for (int i = 0; i < 5 && line.n; i++) {
				while (line.n && line.p[0] != ' ' && line.p[0] != '\t')
					line = str_from(line, 1);
				line = str_trim(line);
			}
		}
		if (line.n && !has_mark(str_head(line, 1), "\1"))
			(void)run_child_text(x, line, STR_NONE);
	}
}

static void do_crontab(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "u" };
	bool root = x->elevated;
	str file = STR_NONE;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.letter == 'l')
			return;
		if (a.letter == 'u')
			root = str_in(a.value, "root 0");
		if (a.letter == 'r')
			FAULT(x, c, RULE_CRON, DENY, "this deletes all scheduled jobs");
		if (a.letter == 'e')
			FAULT(x, c, RULE_CRON, ASK, "this changes scheduled jobs");
		if (a.operand)
			file = a.value;
	}
	if (str_is_set(file) || str_is_set(c->in)) {
		str text = !str_is_set(file) || str_eq(file, STR("-")) ? (str_is_set(c->in) ? c->in : STR("\1"))
								       : fs_content(x, path_resolve(x, file));

		FAULT(x, c, root ? RULE_PERSIST : RULE_CRON, root ? DENY : ASK,
			root ? "this makes something run by itself as root" : "this replaces scheduled jobs");
		run_crontab(x, text);
	}
}

static void do_at(struct run *x, struct cmd *c)
{
	str file = cmd_value(c, "fqt", 'f', "file");

	if (cmd_has(c, "-l") || cmd_has(c, "-r") || cmd_has(c, "-d") || str_in(c->name, "atq atrm"))
		return;
	if (str_is_set(file))
		(void)run_child_text(x, fs_content(x, path_resolve(x, file)), STR_NONE);
	else if (str_is_set(c->in))
		(void)run_child_text(x, c->in, STR_NONE);
}

static void do_yes(struct run *x, struct cmd *c)
{
	(void)x;
	c->out = STR("\1");
}

static void do_fallocate(struct run *x, struct cmd *c)
{
	str size = cmd_value(c, "lo", 'l', "length");

	if (size.n > 2 && strchr("GTPgtp", size.p[size.n - 1]) && size.n > 3)
		FAULT(x, c, RULE_DISKFILL, ASK, "this fills much of a disk");
}

const struct handler pack_system[] = {
	{ "kill", do_kill },
	{ "pkill", do_pkill },
	{ "crontab", do_crontab },
	{ "at", do_at },
	{ "yes", do_yes },
	{ "fallocate", do_fallocate },
	{ 0 },
};
