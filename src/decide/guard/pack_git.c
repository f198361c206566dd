/* pack_git: git, with its options before the subcommand, its aliases, and the settings that run
 * programs. */
#include "guard/internal.h"

struct git {
	struct run *x;
	struct cmd *c;  /* as it was called */
	struct cmd sub; /* v[0] is the subcommand */
	struct state saved;
};

/* Settings whose value git runs through a shell, or a program it starts. */
static const char exec_settings[] = "core.sshcommand core.pager core.editor core.fsmonitor core.askpass core.gitproxy "
				    "core.hookspath core.alternaterefscommand "
				    "sequence.editor diff.external credential.helper gpg.program gpg.ssh.program "
				    "gpg.openpgp.program interactive.difffilter "
				    "init.templatedir uploadpack.packobjectshook web.browser man.viewer ssh.variant "
				    "sendemail.smtpserver";

static bool is_exec_setting(str name)
{
	return str_in_nocase(name, exec_settings) ||
		glob_any(name,
			"diff.*.command diff.*.textconv merge.*.driver filter.*.clean "
			"filter.*.smudge filter.*.process "
			"difftool.*.cmd mergetool.*.cmd pager.* remote.*.uploadpack "
			"remote.*.receivepack credential.*.helper submodule.*.update "
			"include.path includeIf.*.path url.*.insteadOf browser.*.cmd "
			"man.*.cmd guitool.*.cmd trailer.*.command trailer.*.cmd");
}

/* A value that is a plain program of git's own world needs no question. */
static bool is_tame(str value)
{
	return !value.n ||
		glob_any(value,
			"vim vi nvim nano emacs code* subl* less less?-* cat "
			"delta bat true false store cache* osxkeychain manager* "
			"libsecret wincred gh* !gh?auth* main .githooks .husky "
			".husky/* .config/git* git-lfs* ssh ssh?-i* ssh?-v* ssh "
			"\"code*  meld kdiff3 vimdiff nvimdiff delta* difft* "
			"diff-so-fancy* gpg gpg2 /usr/bin/gpg* git?lfs*");
}

static void git_setting(struct git *g, str name, str value, bool now)
{
	struct run *x = g->x;

	if (str_starts(str_lower(x->a, name), STR("alias."))) {
		fs_note(x, FACT_GIT, str_from(name, 6), value);
		if (!now && value.n && value.p[0] == '!') {
			(void)run_child_text(x, str_from(value, 1), STR_NONE);
			FAULT(x, g->c, RULE_GIT_CONFIG, VERDICT_ASK,
				"this makes git run a program: " STR_FMT " = " STR_FMT, STR_ARG(name), STR_ARG(value));
		}
		return;
	}
	if (now && glob_any(str_lower(x->a, name), "remote.*.mirror remote.*.push"))
		fs_note(x, FACT_GIT, STR("push.forced"), value);
	if (!is_exec_setting(str_lower(x->a, name)))
		return;
	if (value.n && value.p[0] == '!')
		value = str_from(value, 1);
	if (!glob_any(name, "*path *Path *hookspath *insteadOf"))
		(void)run_child_text(x, value, STR_NONE);
	if ((!is_tame(value) || (!now && str_starts(value, STR("ssh -i")) && str_in_nocase(name, "core.sshcommand"))) &&
		!(now && str_in_nocase(name, "core.pager pager.* core.sshcommand") && !has_mark(value, MARKS_HOLE)))
		FAULT(x, g->c, RULE_GIT_CONFIG, VERDICT_ASK, "this makes git run a program: " STR_FMT " = " STR_FMT,
			STR_ARG(name), STR_ARG(value));
}

/* -- subcommands ------------------------------------------------------------------------------ */

static bool has(const struct git *g, const char *option)
{
	return cmd_has(&g->sub, option);
}

static void fault(struct git *g, enum rule rule, enum verdict_action action, const char *what)
{
	FAULT(g->x, g->c, rule, action, "%s (" STR_FMT ")", what, STR_ARG(cmd_text(g->x, g->c)));
}

static void operands(const struct git *g, const char *shorts, const char *longs, struct fields *before,
	struct fields *after)
{
	struct args it = { .c = &g->sub, .shorts = shorts, .longs = longs };
	struct arg a;

	while (args_next(&it, &a))
		if (a.operand)
			fields_add(g->x->a, it.no_more && after ? after : before, a.value);
}

static void git_reset(struct git *g)
{
	if (has(g, "--hard"))
		fault(g, RULE_GIT_RESET, VERDICT_DENY, "this throws all uncommitted work away");
	else if (has(g, "--merge")) /* --keep refuses where it would lose something */
		fault(g, RULE_GIT_RESET, VERDICT_ASK, "this may throw uncommitted work away");
}

/* What is ignored, and only where builds put it. */
static bool cleans_only_builds(struct git *g)
{
	struct args it = { .c = &g->sub, .shorts = "e", .longs = "exclude" };
	bool any = false;
	struct arg a;

	if (!has(g, "-X"))
		return false;
	while (args_next(&it, &a)) {
		if (a.operand && place_of(g->x, path_resolve(g->x, a.value)) != PLACE_MADE)
			return false;
		any |= a.operand;
	}
	return any;
}

static void git_clean(struct git *g)
{
	if (has(g, "-n") || has(g, "--dry-run") || cleans_only_builds(g))
		return;
	if (has(g, "-i") || has(g, "--interactive"))
		fault(g, RULE_GIT_CLEAN, VERDICT_ASK, "this deletes untracked files");
	else if (has(g, "-f") || has(g, "--force"))
		fault(g, RULE_GIT_CLEAN, VERDICT_DENY, "this deletes untracked files, which nothing brings back");
	else
		for (const struct fact *f = g->x->fs; f; f = f->next)
			if (f->kind == FACT_GIT && str_eq_nocase(f->key, STR("clean.requireForce")))
				fault(g, RULE_GIT_CLEAN, VERDICT_DENY,
					"this deletes untracked files, which nothing brings back");
}

static bool is_everything(struct git *g, str path)
{
	enum place p;

	if (str_in(path, ". ./ :/ :/. \2 * ./\2 -A :(top) :"))
		return true;
	if (path.n && path.p[0] == ':')
		return glob_any(path, ":(top)* :(glob)** :^* :!*");
	p = place_of(g->x, path_resolve(g->x, path));
	return p == PLACE_PROJECT || p == PLACE_ABOVE;
}

static bool looks_like_path(str s)
{
	return !has_mark(s, MARKS_HOLE) &&
		(str_in(s, ". ..") || str_starts(s, STR("./")) || str_starts(s, STR("../")) ||
			str_starts(s, STR(":/")) || str_has(s, "\2") ||
			glob_any(str_base(s),
				"*.c *.h *.ts *.js *.tsx *.jsx *.py *.go *.rs *.java "
				"*.rb *.json *.md *.yml *.yaml *.toml *.txt *.lock "
				"*.css *.html *.cpp *.sh *.php *.kt *.swift"));
}

/* Files the guard depends on are not git's to put back or take away. */
static void judge_own_files(struct git *g, const struct fields *paths)
{
	bool shared;

	for (size_t i = 0; i < paths->n; i++)
		if (is_protected(g->x, path_resolve(g->x, paths->v[i]), &shared))
			fault(g, RULE_SELF, VERDICT_DENY, "this would change something the guard depends on");
}

static void discard(struct git *g, const struct fields *paths)
{
	judge_own_files(g, paths);
	for (size_t i = 0; i < paths->n; i++)
		if (is_everything(g, paths->v[i])) {
			fault(g, RULE_GIT_DISCARD, VERDICT_DENY, "this throws all changes away");
			return;
		}
	if (paths->n)
		fault(g, RULE_GIT_DISCARD, VERDICT_ASK, "this throws the changes to these files away");
}

/* --pathspec-from-file: what the file or the pipe names. */
static void discard_from_file(struct git *g)
{
	str file = cmd_value(&g->sub, "", 0, "pathspec-from-file"), text, line;
	struct fields paths = { 0 };

	text = str_eq(file, STR("-")) ? g->c->in : fs_content(g->x, path_resolve(g->x, file));
	if (!text.n)
		text = STR("\1");
	text = map_tr(g->x->a, text, str_n("\0", 1), STR("\n"), false);
	while (str_split(&text, '\n', &line))
		if (line.n)
			fields_add(g->x->a, &paths, line);
	discard(g, &paths);
}

static void git_checkout(struct git *g)
{
	struct fields before = { 0 }, after = { 0 };
	bool is_switch = str_eq(g->sub.v[0], STR("switch"));

	operands(g, "bBUct", "orphan conflict pathspec-from-file create", &before, &after);
	if (has(g, "-f") || has(g, "--force") || has(g, "--discard-changes")) {
		fault(g, RULE_GIT_DISCARD, VERDICT_DENY, "this throws all uncommitted changes away");
		return;
	}
	if (has(g, "-B") || (is_switch && has(g, "-C")) || has(g, "--force-create"))
		fault(g, RULE_GIT_BRANCH, VERDICT_ASK, "this moves a branch and may lose its commits");
	if (is_switch || has(g, "-p") || has(g, "--patch") || has(g, "-b"))
		return;
	if (has(g, "--pathspec-from-file"))
		discard_from_file(g);
	if (has(g, "--ours") || has(g, "--theirs"))
		fault(g, RULE_GIT_DISCARD, VERDICT_ASK, "this throws changes to files away");
	if (after.n) {
		discard(g, &after);
	} else if (before.n && looks_like_path(before.v[before.n - 1])) {
		discard(g, &(struct fields){ .v = before.v + before.n - 1, .n = 1 });
	} else if (before.n > 1) {
		discard(g, &(struct fields){ .v = before.v + 1, .n = before.n - 1 });
	}
}

static void git_restore(struct git *g)
{
	struct fields paths = { 0 };

	if ((has(g, "--staged") || has(g, "-S")) && !has(g, "--worktree") && !has(g, "-W"))
		return;
	if (has(g, "-p") || has(g, "--patch"))
		return;
	operands(g, "s", "source conflict pathspec-from-file", &paths, &paths);
	if (has(g, "--pathspec-from-file"))
		discard_from_file(g);
	discard(g, &paths);
}

/* A listing of everything: for-each-ref | xargs … */
static bool names_all(str ref)
{
	return ref.n && ref.p[ref.n - 1] == MARK_STAR;
}

static bool any_names_all(const struct git *g)
{
	for (size_t i = 1; i < g->sub.n; i++)
		if (names_all(g->sub.v[i]))
			return true;
	return false;
}

static void git_push(struct git *g)
{
	struct fields refs = { 0 };
	bool lease = has(g, "--force-with-lease");

	operands(g, "o", "repo push-option receive-pack exec", &refs, NULL);
	for (size_t i = 1; i < g->sub.n; i++)
		if (str_starts(g->sub.v[i], STR("--receive-pack=")) || str_starts(g->sub.v[i], STR("--exec=")))
			(void)run_child_text(g->x, str_from(g->sub.v[i], (size_t)str_find_char(g->sub.v[i], '=') + 1),
				STR_NONE);
	if (has(g, "-n") || has(g, "--dry-run"))
		return;
	for (size_t i = 1; i < g->sub.n; i++)
		if (str_in(g->sub.v[i], "--force --forc") ||
			(g->sub.v[i].n > 1 && g->sub.v[i].p[0] == '-' && g->sub.v[i].p[1] != '-' &&
				str_find_char(g->sub.v[i], 'f') > 0)) {
			fault(g, RULE_GIT_PUSH, VERDICT_DENY, "this overwrites what others have pushed");
			return;
		}
	if (has(g, "--mirror") ||
		(fact_find(g->x, g->x->fs, FACT_GIT, STR("push.forced")) &&
			!str_in_nocase(fact_find(g->x, g->x->fs, FACT_GIT, STR("push.forced"))->value,
				"false 0 no off"))) {
		fault(g, RULE_GIT_PUSH, VERDICT_DENY,
			"this makes the remote a copy, deleting every other branch there");
		return;
	}
	if (has(g, "--delete") || has(g, "-d"))
		for (size_t i = 1; i < refs.n || i == 1; i++)
			fault(g, RULE_GIT_PUSH,
				i < refs.n &&
						(names_all(refs.v[i]) ||
							glob_any(refs.v[i],
								"main master trunk develop release* "
								"production prod */main */master"))
					? VERDICT_DENY
					: VERDICT_ASK,
				"this deletes a branch or tag on the remote");
	if (has(g, "--prune"))
		fault(g, RULE_GIT_PUSH, VERDICT_ASK, "this deletes branches on the remote that are not here");
	for (size_t i = 1; i < refs.n; i++) {
		if (refs.v[i].n > 1 && refs.v[i].p[0] == '+' && !lease)
			fault(g, RULE_GIT_PUSH, VERDICT_DENY, "this overwrites what others have pushed");
		else if (refs.v[i].n > 1 && refs.v[i].p[0] == ':')
			fault(g, RULE_GIT_PUSH,
				glob_any(refs.v[i],
					":main :master :trunk :refs/heads/main :refs/heads/master "
					":develop :production :release*")
					? VERDICT_DENY
					: VERDICT_ASK,
				"this deletes a branch or tag on the remote");
	}
	if (has(g, "--no-verify"))
		fault(g, RULE_GIT_NOVERIFY, VERDICT_ASK, "this skips the checks before a push");
}

static void git_branch(struct git *g)
{
	bool force = has(g, "-D") || ((has(g, "-d") || has(g, "--delete")) && (has(g, "-f") || has(g, "--force")));

	if (force)
		fault(g, RULE_GIT_BRANCH, any_names_all(g) ? VERDICT_DENY : VERDICT_ASK,
			"this deletes a branch even if its work is merged nowhere");
	else if (has(g, "-f") || has(g, "--force") || has(g, "-M") || has(g, "-C"))
		fault(g, RULE_GIT_BRANCH, VERDICT_ASK, "this moves a branch and may lose its commits");
}

static void git_tag(struct git *g)
{
	if (has(g, "-d") || has(g, "--delete"))
		fault(g, RULE_GIT_BRANCH, any_names_all(g) ? VERDICT_DENY : VERDICT_ASK, "this deletes a tag");
}

static void git_stash(struct git *g)
{
	str what = g->sub.n > 1 ? g->sub.v[1] : STR("");

	if (str_eq(what, STR("clear")))
		fault(g, RULE_GIT_STASH, VERDICT_DENY, "this drops every stash");
	else if (str_eq(what, STR("drop")))
		fault(g, RULE_GIT_STASH, any_names_all(g) ? VERDICT_DENY : VERDICT_ASK, "this drops a stash");
}

static void git_commit(struct git *g)
{
	struct args it = { .c = &g->sub,
		.shorts = "mFCctuS",
		.longs = "message file reuse-message reedit-message template author date fixup "
			 "squash cleanup trailer" };
	struct arg a;

	while (args_next(&it, &a))
		if ((str_eq(g->sub.v[0], STR("commit")) && a.letter == 'n') || arg_is(&a, 0, "no-verify"))
			if (!a.operand && !str_eq(a.name, STR("no-v")))
				fault(g, RULE_GIT_NOVERIFY, VERDICT_ASK,
					"this skips the checks that the user installed");
}

static void git_rm(struct git *g)
{
	struct fields paths = { 0 };
	bool recursive = has(g, "-r");

	if (has(g, "--cached") || has(g, "-n") || has(g, "--dry-run"))
		return;
	operands(g, "", "pathspec-from-file", &paths, &paths);
	judge_own_files(g, &paths);
	for (size_t i = 0; i < paths.n; i++)
		if (recursive && place_of(g->x, path_resolve(g->x, paths.v[i])) == PLACE_IN_PROJECT &&
			!is_everything(g, paths.v[i]))
			fault(g, RULE_RM_PROJECT, VERDICT_ASK, "this deletes a directory of the project");
		else if (is_everything(g, paths.v[i]))
			fault(g, RULE_GIT_DISCARD, VERDICT_DENY, "this deletes every file of the project");
		else if (has(g, "-f") || has(g, "--force"))
			fault(g, RULE_GIT_DISCARD, VERDICT_ASK, "this deletes files with changes in them");
}

static void git_worktree(struct git *g)
{
	str what = g->sub.n > 1 ? g->sub.v[1] : STR("");

	/* Without force git itself refuses when there are changes. */
	if (str_eq(what, STR("remove")) && (has(g, "-f") || has(g, "--force")))
		fault(g, RULE_GIT_WORKTREE, VERDICT_ASK, "this removes a worktree with the changes in it");
}

static void git_reflog(struct git *g)
{
	str what = g->sub.n > 1 ? g->sub.v[1] : STR("");

	if (str_in(what, "expire delete") && !has(g, "-n") && !has(g, "--dry-run"))
		fault(g, RULE_GIT_HISTORY, str_eq(what, STR("delete")) ? VERDICT_ASK : VERDICT_DENY,
			"this deletes what could bring lost commits back");
}

static void git_gc(struct git *g)
{
	if (str_eq(g->sub.v[0], STR("prune")) && !has(g, "-n") && !has(g, "--dry-run"))
		fault(g, RULE_GIT_HISTORY, VERDICT_ASK, "this deletes what could bring lost commits back");
	for (size_t i = 1; i < g->sub.n; i++)
		if (glob_any(g->sub.v[i], "--prune=now --prune=all --prune=*0* --aggressive-prune"))
			fault(g, RULE_GIT_HISTORY, VERDICT_DENY, "this deletes what could bring lost commits back");
}

static void git_update_ref(struct git *g)
{
	bool stash = g->sub.n > 2 && str_in(g->sub.v[g->sub.n - 1], "refs/stash");

	if (has(g, "-d") || has(g, "--delete") || has(g, "--stdin"))
		fault(g, RULE_GIT_HISTORY,
			stash || any_names_all(g) || has_mark(g->c->in, "\2") ? VERDICT_DENY : VERDICT_ASK,
			"this deletes or moves references behind git's back");
	else if (g->sub.n > 2 && glob_any(g->sub.v[1], "refs/heads/* HEAD"))
		fault(g, RULE_GIT_HISTORY, VERDICT_ASK, "this moves a branch and may lose its commits");
}

static void git_filter(struct git *g)
{
	struct args it = { .c = &g->sub,
		.longs = "env-filter tree-filter index-filter msg-filter commit-filter "
			 "tag-name-filter parent-filter setup" };
	struct arg a;

	while (args_next(&it, &a))
		if (a.name.n && str_ends(a.name, STR("-filter")) && str_is_set(a.value) &&
			!str_in(a.name, "subdirectory-filter"))
			(void)run_child_text(g->x, a.value, STR_NONE);
	fault(g, RULE_GIT_HISTORY,
		str_eq(g->sub.v[0], STR("filter-repo")) && !has(g, "--force") && !has(g, "-f") ? VERDICT_ASK
											       : VERDICT_DENY,
		"this rewrites the whole history");
}

static void git_read_tree(struct git *g)
{
	if (has(g, "--reset") || (has(g, "-u") && has(g, "-m")))
		fault(g, RULE_GIT_DISCARD, VERDICT_DENY,
			"this overwrites the files of the project with committed ones");
}

/* The changes of the work tree, applied backwards, are gone. */
static void git_apply(struct git *g)
{
	if ((has(g, "-R") || has(g, "--reverse")) && !has(g, "--check") && !has(g, "--stat") &&
		str_starts(g->c->in, STR("diff --git \1")))
		fault(g, RULE_GIT_DISCARD, VERDICT_DENY, "this throws all changes away");
}

static void git_send_pack(struct git *g)
{
	for (size_t i = 1; i < g->sub.n; i++)
		if (str_in(g->sub.v[i], "--force -f --mirror") || (g->sub.v[i].n > 1 && g->sub.v[i].p[0] == '+'))
			fault(g, RULE_GIT_PUSH, VERDICT_DENY, "this overwrites what others have pushed");
}

/* Transports and options that start a program: ext::sh -c …, --upload-pack=… */
static void git_transport(struct git *g)
{
	struct args it = { .c = &g->sub, .shorts = "ucbo", .longs = "upload-pack exec config remote" };
	struct arg a;

	while (args_next(&it, &a)) {
		str value = str_is_set(a.value) ? a.value : STR("");

		if (str_starts(value, STR("ext::"))) {
			struct text t = { .a = g->x->a };

			for (size_t i = 5; i < value.n; i++) { /* "% " is a blank within a word */
				i += value.p[i] == '%' && i + 1 < value.n;
				text_char(&t, value.p[i]);
			}
			(void)run_child_text(g->x, text_str(&t), STR_NONE);
			fault(g, RULE_GIT_CONFIG, VERDICT_ASK, "this makes git run a program");
		} else if (arg_is(&a, 0, "upload-pack exec") ||
			(a.letter == 'u' && str_eq(g->sub.v[0], STR("clone")))) {
			(void)run_child_text(g->x, value, STR_NONE);
		} else if ((a.letter == 'c' || arg_is(&a, 0, "config")) && str_eq(g->sub.v[0], STR("clone")) &&
			str_find_char(value, '=') > 0) {
			ptrdiff_t eq = str_find_char(value, '=');

			git_setting(g, str_head(value, (size_t)eq), str_from(value, (size_t)eq + 1), true);
		}
	}
}

static void git_checkout_index(struct git *g)
{
	if (has(g, "-f") || has(g, "--force"))
		fault(g, RULE_GIT_DISCARD, has(g, "-a") || has(g, "--all") ? VERDICT_DENY : VERDICT_ASK,
			"this overwrites files with what is in the index");
}

/* Subcommands that run a command they are given. */
static void git_run(struct git *g)
{
	struct args it = { .c = &g->sub, .shorts = "x", .longs = "exec" };
	struct arg a;

	if (str_eq(g->sub.v[0], STR("bisect"))) {
		if (g->sub.n > 2 && str_eq(g->sub.v[1], STR("run")))
			(void)run_argv(g->x, g->sub.v + 2, g->sub.n - 2, STR_NONE);
		return;
	}
	if (str_eq(g->sub.v[0], STR("submodule"))) {
		size_t at = 1;

		while (at < g->sub.n && !str_eq(g->sub.v[at], STR("foreach")))
			at++;
		for (at++; at < g->sub.n && g->sub.v[at].n && g->sub.v[at].p[0] == '-'; at++)
			;
		if (at < g->sub.n)
			(void)run_child_text(g->x, fields_join(g->x->a, g->sub.v + at, g->sub.n - at, ' '), STR_NONE);
		if (row_matches(&g->sub, "deinit -f|--force"))
			fault(g, RULE_GIT_DISCARD, VERDICT_ASK, "this removes submodules with the changes in them");
		return;
	}
	while (args_next(&it, &a))
		if (arg_is(&a, 'x', "exec") && str_is_set(a.value))
			(void)run_child_text(g->x, a.value, STR_NONE);
	if (has(g, "--no-verify"))
		fault(g, RULE_GIT_NOVERIFY, VERDICT_ASK, "this skips the checks that the user installed");
}

static void git_config(struct git *g)
{
	struct args it = { .c = &g->sub, .shorts = "f", .longs = "file blob type default value" };
	struct fields f = { 0 };
	struct arg a;

	while (args_next(&it, &a)) {
		if (arg_is(&a, 0, "unset unset-all") && cmd_has(&g->sub, "--unset") &&
			str_in_nocase(g->sub.v[g->sub.n - 1], "core.hookspath"))
			fault(g, RULE_GIT_NOVERIFY, VERDICT_ASK, "this takes away the checks that the user installed");
		if (arg_is(&a, 0, "get get-all list unset get-regexp remove-section edit show-origin"))
			return;
		if (a.operand)
			fields_add(g->x->a, &f, a.value);
	}
	if (f.n > 1 && str_eq(f.v[0], STR("set"))) {
		f.v++;
		f.n--;
	}
	if (f.n > 1 && !str_in(f.v[0], "get list unset"))
		git_setting(g, f.v[0], f.v[1], false);
}

/* Secrets that are added on purpose are pushed with the rest. */
static void git_add(struct git *g)
{
	struct args it = { .c = &g->sub };
	bool forced = has(g, "-f") || has(g, "--force");
	struct arg a;

	while (args_next(&it, &a)) {
		enum secrecy s = a.operand ? secrecy_of(g->x, path_resolve(g->x, a.value)) : SECRET_NOT;

		if (s == SECRET_KEY || (s != SECRET_NOT && forced))
			fault(g, RULE_SECRET_EXFIL, VERDICT_ASK, "this puts secrets into the history of the project");
	}
}

static const struct {
	const char *names;
	void (*judge)(struct git *g);
} subcommands[] = {
	{ "add", git_add },
	{ "reset", git_reset },
	{ "clean", git_clean },
	{ "checkout switch", git_checkout },
	{ "restore", git_restore },
	{ "push", git_push },
	{ "branch", git_branch },
	{ "tag", git_tag },
	{ "stash", git_stash },
	{ "commit merge am cherry-pick", git_commit },
	{ "rm", git_rm },
	{ "worktree", git_worktree },
	{ "reflog", git_reflog },
	{ "gc prune", git_gc },
	{ "update-ref symbolic-ref", git_update_ref },
	{ "filter-branch filter-repo", git_filter },
	{ "read-tree", git_read_tree },
	{ "checkout-index", git_checkout_index },
	{ "bisect submodule rebase", git_run },
	{ "config", git_config },
	{ "apply", git_apply },
	{ "send-pack", git_send_pack },
	{ "clone fetch pull ls-remote push remote archive submodule fetch-pack", git_transport },
};

/* Variables that hook managers read to stay out of the way. */
static const struct {
	const char *name, *off; /* off: the values that do it; NULL: any */
} skips[] = {
	{ "HUSKY", "0" },
	{ "HUSKY_SKIP_HOOKS", NULL },
	{ "SKIP", NULL },
	{ "LEFTHOOK", "0 false" },
	{ "LEFTHOOK_EXCLUDE", NULL },
	{ "OVERCOMMIT_DISABLE", NULL },
	{ "PRE_COMMIT_ALLOW_NO_CONFIG", NULL },
	{ "SKIP_SIMPLE_GIT_HOOKS", NULL },
	{ "CAPTAINHOOK_SKIP_HOOKS", NULL },
};

static void judge_skips(struct git *g)
{
	if (!str_in(g->sub.v[0], "commit push merge rebase am cherry-pick revert pull"))
		return;
	for (size_t i = 0; i < countof(skips); i++) {
		str value = var_get(g->x, str_of(skips[i].name));

		if (value.n && (!skips[i].off || str_in(value, skips[i].off)))
			fault(g, RULE_GIT_NOVERIFY, VERDICT_ASK,
				"a variable makes this skip the checks that the user installed");
	}
}

/* -- git itself ------------------------------------------------------------------------------- */

static void run_sub(struct git *g, unsigned depth);

enum { ALIASES_MAX = 8 };

static bool run_git_alias(struct git *g, unsigned depth)
{
	const struct fact *f = fact_find(g->x, g->x->fs, FACT_GIT, g->sub.v[0]);
	struct fields words = { 0 };
	str rest, word;

	if (!f)
		return false;
	if (depth > ALIASES_MAX) {
		reach_cap(g->x, "aliases that stand for aliases");
		return true;
	}
	if (f->value.n && f->value.p[0] == '!') {
		struct text t = { .a = g->x->a };

		text_add(&t, str_from(f->value, 1));
		for (size_t i = 1; i < g->sub.n; i++) {
			text_char(&t, ' ');
			text_add(&t, g->sub.v[i]);
		}
		g->c->out = run_child_text(g->x, text_str(&t), g->c->in);
		return true;
	}
	rest = f->value;
	while (str_split(&rest, ' ', &word))
		if (word.n)
			fields_add(g->x->a, &words, word);
	for (size_t i = 1; i < g->sub.n; i++)
		fields_add(g->x->a, &words, g->sub.v[i]);
	if (!words.n)
		return false;
	g->sub.v = words.v;
	g->sub.n = words.n;
	g->sub.name = words.v[0];
	run_sub(g, depth + 1);
	return true;
}

static void run_sub(struct git *g, unsigned depth)
{
	if (run_git_alias(g, depth))
		return;
	if (has_mark(g->sub.v[0], MARKS_HOLE)) {
		fault(g, RULE_EXEC_DYNAMIC, VERDICT_ASK, "what git would do is only known when it runs");
		return;
	}
	if (has(g, "--help") || (g->sub.n == 2 && str_eq(g->sub.v[1], STR("-h"))))
		return;
	judge_skips(g);
	for (size_t i = 0; i < countof(subcommands); i++)
		if (str_in(g->sub.v[0], subcommands[i].names))
			subcommands[i].judge(g);
}

/* Settings in variables: GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=…, GIT_CONFIG_PARAMETERS. */
static void settings_of_env(struct git *g)
{
	for (unsigned i = 0; spend(g->x, 1); i++) {
		str key = var_get(g->x, arena_strf(g->x->a, "GIT_CONFIG_KEY_%u", i)), value;

		if (!str_is_set(key))
			break;
		value = var_get(g->x, arena_strf(g->x->a, "GIT_CONFIG_VALUE_%u", i));
		git_setting(g, key, str_is_set(value) ? value : STR("\1"), true);
	}
}

static void do_git(struct run *x, struct cmd *c)
{
	struct git g = { .x = x, .c = c, .saved = x->st };
	struct args it = { .c = c,
		.shorts = "Cc",
		.longs = "git-dir work-tree namespace config-env super-prefix attr-source list-cmds",
		.posix = true };
	struct fact *fs = x->fs;
	bool own_settings = false;
	struct arg a;

	settings_of_env(&g);
	while (args_next(&it, &a)) {
		ptrdiff_t eq;

		if (a.letter == 'C') {
			x->st.cwd = path_resolve(x, a.value);
		} else if (a.letter == 'c' && (eq = str_find_char(a.value, '=')) > 0) {
			own_settings = true;
			if (str_eq_nocase(str_head(a.value, (size_t)eq), STR("clean.requireForce")))
				fs_note(x, FACT_GIT, STR("clean.requireForce"), str_from(a.value, (size_t)eq + 1));
			git_setting(&g, str_head(a.value, (size_t)eq), str_from(a.value, (size_t)eq + 1), true);
		} else if (arg_is(&a, 0, "config-env") && (eq = str_find_char(a.value, '=')) > 0) {
			str value = var_get(x, str_from(a.value, (size_t)eq + 1));

			own_settings = true;
			git_setting(&g, str_head(a.value, (size_t)eq), str_is_set(value) ? value : STR("\1"), true);
		} else if (arg_is(&a, 0, "work-tree") && str_is_set(a.value)) {
			x->st.cwd = path_resolve(x, a.value);
		} else if (a.operand) {
			g.sub = (struct cmd){ .v = c->v + a.at, .n = c->n - a.at, .name = a.value, .in = c->in };
			run_sub(&g, 0);
			judge_git_hooks(x, &g.sub);
			if (str_eq(a.value, STR("rev-parse")) && cmd_has(&g.sub, "--show-toplevel"))
				c->out = x->c->root.n ? x->c->root : x->c->cwd;
			break;
		}
	}
	if (own_settings)
		x->fs = fs;
	x->st = g.saved;
}

static void do_git_dash(struct run *x, struct cmd *c)
{
	struct git g = { .x = x, .c = c, .saved = x->st };

	g.sub = *c;
	g.sub.v = arena_alloc(x->a, c->n * sizeof(str));
	memcpy(g.sub.v, c->v, c->n * sizeof(str));
	g.sub.v[0] = str_from(c->name, 4);
	run_sub(&g, 0);
}

static void do_patch(struct run *x, struct cmd *c)
{
	if ((cmd_has(c, "-R") || cmd_has(c, "--reverse")) && !cmd_has(c, "--dry-run") &&
		str_starts(c->in, STR("diff --git \1")))
		FAULT(x, c, RULE_GIT_DISCARD, VERDICT_DENY, "this throws all changes away");
}

/* java -jar bfg-1.14.jar …: the program is the archive. */
static void do_java(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i + 1 < c->n; i++)
		if (str_eq(c->v[i], STR("-jar"))) {
			str base = str_base(c->v[i + 1]);
			struct fields f = { 0 };
			size_t n = 0;

			while (n < base.n && base.p[n] != '-' && base.p[n] != '.')
				n++;
			if (!n || has_mark(str_head(base, n), MARKS_ANY))
				return;
			fields_add(x->a, &f, str_head(base, n));
			for (size_t k = i + 2; k < c->n; k++)
				fields_add(x->a, &f, c->v[k]);
			c->out = run_argv(x, f.v, f.n, c->in);
			return;
		}
}

const struct handler pack_git[] = {
	{ "git", do_git },
	{ "git_dash", do_git_dash },
	{ "patch", do_patch },
	{ "java", do_java },
	{ 0 },
};
