/* judge: what deleting, writing and reading a path means; and how findings are kept. */
#include "guard/descriptor.h"

enum { FINDINGS_MAX = 64, REASON_MAX = 400 };

/* How a person gets past a denial; the agent cannot, so that it need not try. */
static const char *way_out(struct run *x, const struct guard_rule *r, enum verdict_action action)
{
	if (action != VERDICT_DENY || strncmp(r->name, "hookd.", 6) == 0 || strncmp(r->name, "self.", 5) == 0)
		return "";
	return arena_strf(x->a, " To allow it, the user can run: hookd rules disable %s", r->name).p;
}

/* What a model and a person read: what would happen, which rule says so, what to do instead. */
static str in_words(struct run *x, enum rule rule, enum verdict_action action, str reason)
{
	const struct guard_rule *r = &guard_rules[rule];

	reason = str_cut_utf8(reason, REASON_MAX);
	return arena_strf(x->a, "hookd %s (rule %s): " STR_FMT ".%s%s%s",
		action == VERDICT_DENY ? "denied this" : "asks", r->name, STR_ARG(reason), r->advice ? " " : "",
		r->advice ? r->advice : "", way_out(x, r, action));
}

/* In a container that is thrown away and sees nothing of the host these are about the container. */
static bool is_about_machine(enum rule rule)
{
	static const bool rules[RULE_MAX] = {
		[RULE_CHMOD] = true,
		[RULE_CHOWN] = true,
		[RULE_MV] = true,
		[RULE_PERSIST] = true,
		[RULE_PKG_REMOVE] = true,
		[RULE_POWER] = true,
		[RULE_KILL] = true,
		[RULE_CRON] = true,
		[RULE_SERVICE] = true,
		[RULE_USER] = true,
		[RULE_SUDOERS] = true,
		[RULE_SETUID] = true,
		[RULE_NET_EXEC] = true,
	};

	return rules[rule];
}

void find_fault(struct run *x, const struct cmd *c, enum rule rule, enum verdict_action action, str reason)
{
	str text = text_for_people(x->a, reason);

	if (x->contained && !x->mounts && is_about_machine(rule))
		return;
	/* What a script of the project starts by a name that only its run knows is ordinary. */
	if (x->on_disk && rule == RULE_EXEC_DYNAMIC)
		return;
	if (x->on_disk)
		text = arena_strf(x->a, STR_FMT " (in the script " STR_FMT ")", STR_ARG(text),
			STR_ARG(str_base(x->on_disk->path)));
	if (x->doubt)
		action = MIN(action, VERDICT_ASK);
	add_finding(x, c,
		&(struct guard_finding){ .rule = str_of(guard_rules[rule].name),
			.action = action,
			.mild = guard_rules[rule].mild,
			.reason = in_words(x, rule, action, text) });
}

void guard_add_finding(struct run *x, str rule, enum verdict_action action, str reason)
{
	add_finding(x, NULL, &(struct guard_finding){ .rule = rule, .action = action, .reason = reason });
}

static void append(struct run *x, const struct guard_finding *f)
{
	struct guard_report *r = x->report;
	struct guard_finding *own = arena_new(x->a, struct guard_finding);

	*own = *f;
	own->next = NULL;
	if (r->last)
		r->last->next = own;
	else
		r->findings = own;
	r->last = own;
}

/* What does not fit still counts, once for each strength; nothing can lower it. */
static void overflow(struct run *x, const struct guard_finding *f)
{
	static const struct guard_rule *const rule = &guard_rules[RULE_CAP];

	if (f->observed || f->action <= VERDICT_ALLOW || x->report->full[f->action])
		return;
	x->report->full[f->action] = true;
	append(x,
		&(struct guard_finding){ .rule = str_of(rule->name),
			.action = f->action,
			.reason = in_words(x, RULE_CAP, f->action,
				arena_strf(x->a, "more is wrong with this than is listed, such as " STR_FMT,
					STR_ARG(f->rule))) });
}

void add_finding(struct run *x, const struct cmd *c, const struct guard_finding *finding)
{
	struct guard_finding f = *finding;
	unsigned n = 0;

	if (guard_policy_disabled(x->policy, f.rule))
		return;
	f.begin = x->begin;
	f.end = x->end;
	f.argv = c ? cmd_text(x, c) : STR_NONE;
	f.command = c ? c->number : 0;
	f.observed |= guard_policy_observes(x->policy, f.rule);
	for (const struct guard_finding *old = x->report->findings; old; old = old->next, n++)
		if (str_eq(old->rule, f.rule) && old->action == f.action && old->begin == f.begin &&
			str_eq(old->reason, f.reason) && str_eq(old->argv, f.argv))
			return;
	if (n < FINDINGS_MAX)
		append(x, &f);
	else
		overflow(x, &f);
}

/* -- deleting --------------------------------------------------------------------------------- */

static const struct {
	enum rule rule;
	enum verdict_action tree, file; /* with everything in it; the thing itself */
	const char *what;
} deletions[] = {
	[PLACE_UNKNOWN] = { RULE_RM_DYNAMIC, VERDICT_ASK, VERDICT_NONE, "a path that is only known when it runs" },
	[PLACE_ROOT] = { RULE_RM_ROOT, VERDICT_DENY, VERDICT_DENY, "the whole file system" },
	[PLACE_SYSTEM] = { RULE_RM_ROOT, VERDICT_DENY, VERDICT_DENY, "a directory of the system" },
	[PLACE_SYSTEM_IN] = { RULE_RM_OUTSIDE, VERDICT_DENY, VERDICT_ASK, "a part of the system" },
	[PLACE_HOMES] = { RULE_RM_HOME, VERDICT_DENY, VERDICT_DENY, "a home directory" },
	[PLACE_ABOVE] = { RULE_RM_OUTSIDE, VERDICT_DENY, VERDICT_DENY, "a directory that holds the project" },
	[PLACE_PROJECT] = { RULE_RM_PROJECT, VERDICT_DENY, VERDICT_ASK, "the whole project" },
	[PLACE_GIT] = { RULE_RM_PROJECT, VERDICT_DENY, VERDICT_NONE, "the project's git history" },
	[PLACE_IN_PROJECT] = { RULE_RM_PROJECT, VERDICT_ASK, VERDICT_NONE,
		"a directory of the project that no build makes again" },
	[PLACE_IN_HOME] = { RULE_RM_OUTSIDE, VERDICT_DENY, VERDICT_NONE,
		"something in the home directory outside the project" },
	[PLACE_TEMP] = { RULE_RM_OUTSIDE, VERDICT_NONE, VERDICT_NONE, "" },
	[PLACE_MADE] = { RULE_RM_OUTSIDE, VERDICT_NONE, VERDICT_NONE, "" },
	[PLACE_DEVICE] = { RULE_DD, VERDICT_DENY, VERDICT_DENY, "a disk" },
	[PLACE_NULL] = { RULE_RM_OUTSIDE, VERDICT_DENY, VERDICT_ASK, "a device" },
	[PLACE_ELSEWHERE] = { RULE_RM_OUTSIDE, VERDICT_DENY, VERDICT_NONE, "something outside the project" },
};

/* Whether deleting path would take something of hookd's with it. */
static bool takes_protected(struct run *x, str path)
{
	bool shared;

	return is_protected(x, path, &shared);
}

/* One file by its name: package-lock.json is no directory. */
bool is_file_name(str path)
{
	str last = str_base(path);
	ptrdiff_t dot = -1;

	for (size_t i = 1; i < last.n; i++)
		if (last.p[i] == '.')
			dot = (ptrdiff_t)i;
	return dot > 0 && (size_t)dot + 1 < last.n && last.n - (size_t)dot <= 6 && !has_mark(last, MARKS_ANY);
}

/* The path as it is known, for something that is about to change; where links lead may have to be asked. */
static str changed_path(struct run *x, const struct cmd *c, str word)
{
	str path;

	x->blind = false;
	path = path_resolve(x, word);
	if (x->blind)
		FAULT(x, c, RULE_UNREAD, VERDICT_ASK,
			"the disk does not answer, so hookd cannot tell where " STR_FMT " leads", STR_ARG(path));
	x->blind = false;
	return path;
}

/* The same word where the shell still is when cd has failed. */
static void judge_where_it_stays(struct run *x, const struct cmd *c, str word, bool recursive)
{
	str path;
	enum place place;

	if (!x->st.stays.n || !word.n || strchr("/~", word.p[0]) || has_mark(word, MARKS_HOLE) || x->contained)
		return;
	path = path_join(x, x->st.stays, word);
	place = place_of(x, path);
	if ((recursive && !(place == PLACE_IN_PROJECT && is_file_name(path)) ? deletions[place].tree
									     : deletions[place].file) > VERDICT_ALLOW)
		FAULT(x, c, deletions[place].rule, VERDICT_ASK,
			"if cd fails, this would delete %s: " STR_FMT " (with && instead of ; it would not)",
			deletions[place].what, STR_ARG(path));
}

/* What somebody put there by hand, and would put there again; or what git fetches for itself. */
static bool is_installed(str path)
{
	return !has_mark(path, MARKS_ANY) &&
		glob_any(path,
			"/opt/*-linux* /opt/*-[0-9]* /usr/local/share/?* /usr/local/lib/?* /usr/local/include/?* "
			"/usr/local/go */.git/modules/?*");
}

void judge_delete(struct run *x, const struct cmd *c, str word, bool recursive)
{
	str path = changed_path(x, c, word);
	enum place place;
	enum verdict_action action;
	bool whole;

	if (!word.n || is_inside(x, path))
		return;
	judge_where_it_stays(x, c, word, recursive);
	if (takes_protected(x, path)) {
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would delete " STR_FMT ", which the guard depends on",
			STR_ARG(path));
		return;
	}
	place = place_of(x, path);
	recursive |= str_ends(path, STR("\2/\2")); /* whatever lists files at every depth */
	recursive &= place != PLACE_IN_PROJECT || !is_file_name(path);
	action = recursive ? deletions[place].tree : deletions[place].file;
	if (recursive && x->remote && action == VERDICT_DENY && (place == PLACE_ELSEWHERE || place == PLACE_IN_HOME))
		action = VERDICT_ASK; /* another machine: what is its project is not known */
	if (recursive && place == PLACE_SYSTEM_IN && str_in(path, "/tmp/\2 /var/tmp/\2"))
		action = VERDICT_ASK;
	if (recursive && action == VERDICT_DENY && is_installed(path))
		action = VERDICT_ASK;
	if (!recursive && (place == PLACE_IN_HOME || (place == PLACE_UNKNOWN && is_personal(x, path, &whole))))
		action = secrecy_of(x, path) == SECRET_KEY ? VERDICT_DENY : loss_of_files(x, path);
	else if (!recursive && path_is_dynamic(path) && has_mark(path, "\4"))
		action = VERDICT_ASK; /* whatever another program's answer says */
	else if (!recursive && place == PLACE_ELSEWHERE && str_eq(str_base(path), STR("\2")))
		action = VERDICT_ASK; /* all that is in a directory, of whatever that is */
	else if (!recursive && place == PLACE_IN_PROJECT && str_eq(str_base(path), STR("\2")))
		action = VERDICT_ASK; /* all that is in a directory */
	else if (recursive && action == VERDICT_DENY && is_like_output(str_base(path)) &&
		(place == PLACE_ELSEWHERE || (place == PLACE_IN_HOME && !is_personal(x, path, &whole))))
		action = VERDICT_ASK; /* ~/build may be what it is called */
	if (!recursive && guarded_of(x, path) == GUARDED_SYSTEM)
		action = VERDICT_DENY;
	if (!recursive && place == PLACE_GIT &&
		(str_ends(path, STR("/.git/HEAD")) || str_ends(path, STR("/.git/index"))))
		action = VERDICT_ASK;
	if (glob_any(str_base(path), "*.tfstate *.tfstate.backup") && place != PLACE_TEMP) {
		FAULT(x, c, RULE_IAC, VERDICT_DENY,
			"this would delete what says which infrastructure there is: " STR_FMT, STR_ARG(path));
		return;
	}
	if (action > VERDICT_ALLOW)
		FAULT(x, c, deletions[place].rule, action, "this would delete %s: " STR_FMT, deletions[place].what,
			STR_ARG(path));
}

/* -- writing ---------------------------------------------------------------------------------- */

static const struct {
	enum rule rule;
	enum verdict_action action;
	const char *what;
} writings[] = {
	[GUARDED_STARTUP] = { RULE_REDIRECT, VERDICT_ASK, "a file that runs or is trusted when a session starts" },
	[GUARDED_PERSIST] = { RULE_PERSIST, VERDICT_DENY, "a file that makes something run by itself" },
	[GUARDED_AUTH] = { RULE_PERSIST, VERDICT_DENY, "the list of keys that may log in" },
	[GUARDED_SUDOERS] = { RULE_SUDOERS, VERDICT_DENY, "the rules of who may become root" },
	[GUARDED_SYSTEM] = { RULE_REDIRECT, VERDICT_DENY, "a file the system depends on" },
	[GUARDED_AGENT] = { RULE_AGENT, VERDICT_ASK, "what tells agents what to do, or gives them tools" },
	[GUARDED_GITHOOK] = { RULE_GIT_CONFIG, VERDICT_ASK, "a file that makes git run programs" },
};

static bool holds_data(str path)
{
	return glob_any(str_base(path),
		"*.sqlite *.sqlite3 *.db *.mdb *.dump *.rdb *.aof *.ibd *.frm "
		"*.tfstate");
}

/* A process substitution that takes what is written: its commands read it. */
static bool feed_sink(struct run *x, str path, str content)
{
	const struct fact *f = fact_find(x, x->fs, FACT_SINK, path);
	struct state saved = x->st;
	str in = x->in;

	if (!f)
		return false;
	x->in = content;
	(void)run_node(x, f->body);
	x->in = in;
	x->st = saved;
	return true;
}

static void note_content(struct run *x, str path, str content, bool append)
{
	str old;

	if (append && fs_known(x, path, &old)) {
		struct text t = { .a = x->a };

		text_add(&t, old);
		text_add(&t, content);
		content = text_str(&t);
	}
	if (content.n || !append)
		fs_note(x, FACT_FILE, path, str_is_set(content) ? content : STR("\1"));
}

/* What is written there a shell will read as commands. */
static bool runs_later(str path, enum guarded guarded)
{
	return guarded == GUARDED_GITHOOK ? !str_ends(path, STR("/config"))
					  : guarded == GUARDED_STARTUP &&
			glob_any(str_base(path), "*rc *profile *_login *_aliases *zshenv *zlogin");
}

static bool is_shell_file(str path)
{
	return str_has(path, "/.git/hooks/") ||
		glob_any(str_base(path),
			".bash* .profile .zsh* .zprofile .zlogin .xprofile .xinitrc "
			".xsession config.fish");
}

/* A line more in a table, or a program that nothing has the name of: installing does that. */
static bool adds_to_system(struct run *x, str path, enum guarded guarded, bool append)
{
	if (guarded != GUARDED_SYSTEM)
		return false;
	if (append && str_in(path, "/etc/hosts /etc/fstab"))
		return true;
	return glob_any(path, "/bin/* /sbin/* /usr/bin/* /usr/sbin/*") && !has_mark(path, MARKS_ANY) &&
		!descriptor_of(str_base(path)) && path_presence(x, path) != PRESENCE_THERE;
}

void judge_write(struct run *x, const struct cmd *c, str word, str content, bool append)
{
	str path = changed_path(x, c, word);
	enum guarded guarded;
	bool shared;

	if (x->fs && feed_sink(x, path, content))
		return;
	if (is_protected(x, path, &shared)) {
		FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would change " STR_FMT ", which the guard depends on",
			STR_ARG(path));
		return;
	}
	guarded = guarded_of(x, path);
	/* An agent's own tool shows the person what it writes into the project; what servers it would start is more
	 * than a text. */
	if (guarded == GUARDED_AGENT && !x->depth && !glob_any(str_base(path), "*mcp*.json") &&
		path_below(path, x->c->root.n ? x->c->root : x->c->cwd))
		guarded = GUARDED_NOT;
	/* What is written here runs later: it is judged as what it will be. */
	if (content.n && !has_mark(str_head(content, 1), MARKS_HOLE) &&
		(runs_later(path, guarded) ||
			((guarded == GUARDED_STARTUP || guarded == GUARDED_GITHOOK) && is_shell_file(path))))
		(void)run_child_text(x, content, STR_NONE);
	if (guarded != GUARDED_NOT)
		FAULT(x, c, writings[guarded].rule,
			adds_to_system(x, path, guarded, append) ? VERDICT_ASK : writings[guarded].action,
			"this would write to %s: " STR_FMT, writings[guarded].what, STR_ARG(path));
	else if (!is_inside(x, path) && place_of(x, path) == PLACE_DEVICE)
		FAULT(x, c, RULE_DD, VERDICT_DENY, "this would write straight to a disk: " STR_FMT, STR_ARG(path));
	else if (path_below(path, STR("/etc")) && !is_inside(x, path))
		FAULT(x, c, RULE_REDIRECT, VERDICT_ASK, "this would change a setting of the system: " STR_FMT,
			STR_ARG(path));
	else if (place_of(x, path) == PLACE_GIT && !str_ends(path, STR("/.git/info/exclude")) &&
		!str_has(path, "_EDITMSG"))
		FAULT(x, c, RULE_GIT_CONFIG, VERDICT_ASK,
			"this would change the inside of the git repository: " STR_FMT, STR_ARG(path));
	else if (!append && secrecy_of(x, path) == SECRET_KEY && !path_below(path, STR("/dev")))
		FAULT(x, c, RULE_REDIRECT, VERDICT_ASK, "this would overwrite credentials: " STR_FMT, STR_ARG(path));
	else if (!append && holds_data(path) && content.n == 0 && place_of(x, path) != PLACE_TEMP &&
		place_of(x, path) != PLACE_MADE)
		FAULT(x, c, RULE_TRUNCATE, VERDICT_ASK, "this would empty a file that holds data: " STR_FMT,
			STR_ARG(path));
	if (path_below(path, STR("/dev")))
		return;
	if (!append)
		judge_overwriting(x, c, path, content);
	note_content(x, path, content, append);
}

/* -- reading ---------------------------------------------------------------------------------- */

void judge_read(struct run *x, const struct cmd *c, str word)
{
	str path;
	enum secrecy s;

	if (!word.n)
		return;
	path = path_resolve(x, word);
	s = secrecy_of(x, path);
	if (s == SECRET_NOT)
		return;
	if (s == SECRET_ENVIRON)
		FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK,
			"this would print the environment of a process, which holds secrets");
	else if (s == SECRET_KEY)
		FAULT(x, c, RULE_SECRET_READ, VERDICT_DENY, "this would read a private key or credentials: " STR_FMT,
			STR_ARG(path));
	else if (!fact_find(x, x->fs, FACT_FILE, path))
		FAULT(x, c, RULE_SECRET_READ, VERDICT_ASK, "this would read secrets of the project: " STR_FMT,
			STR_ARG(path));
}
