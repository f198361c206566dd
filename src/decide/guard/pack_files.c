/* pack_files: programs that delete, move, overwrite and change the modes of files. */
#include "guard/internal.h"

/* -- rm and its relatives --------------------------------------------------------------------- */

static void do_rm(struct run *x, struct cmd *c)
{
	struct args it = { .c = c };
	bool recursive = !str_in(c->name, "rm unlink grm srm");
	struct fields paths = { 0 };
	struct arg a;

	while (args_next(&it, &a)) {
		recursive |= arg_is(&a, 'r', "recursive") || a.letter == 'R';
		if (a.operand)
			fields_add(x->a, &paths, a.value);
		else if (arg_is(&a, 0, "no-preserve-root"))
			FAULT(x, c, RULE_RM_ROOT, VERDICT_DENY,
				"this takes away what protects the file system from rm");
	}
	for (size_t i = 0; i < paths.n; i++)
		judge_delete(x, c, paths.v[i], recursive);
	/* Without a name of its own nothing can be said about the files, but there are many. */
	if (!paths.n && recursive && str_is_set(c->in) && str_eq(c->name, STR("rm")))
		judge_delete(x, c, STR("\1"), true);
}

static void do_trash(struct run *x, struct cmd *c)
{
	struct args it = { .c = c };
	struct arg a;
	bool shared;

	while (args_next(&it, &a))
		if (a.operand && is_protected(x, path_resolve(x, a.value), &shared))
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would delete something the guard depends on");
}

/* -- find and fd ------------------------------------------------------------------------------ */

/* The roots that a find would walk, narrowed by its name test. */
static void find_roots(struct run *x, const struct cmd *c, struct fields *roots)
{
	str out = output_of(x, c), line;
	char sep = (char)(str_find_char(out, 0) >= 0 ? 0 : '\n');

	while (str_split(&out, sep, &line))
		if (line.n)
			fields_add(x->a, roots, line);
}

enum { ROOTS_MAX = 256 };

static void find_exec(struct run *x, struct cmd *c, size_t at, const struct fields *roots)
{
	size_t end = at;

	while (end < c->n && !str_in(c->v[end], "; +"))
		end++;
	for (size_t k = 0; k < roots->n && spend(x, 4); k++) {
		struct fields f = { 0 };

		if (k == ROOTS_MAX) {
			reach_cap(x, "directories to search");
			break;
		}

		for (size_t i = at; i < end; i++) {
			struct text t = { .a = x->a };
			str word = c->v[i];
			ptrdiff_t p;

			while ((p = str_find(word, STR("{}"))) >= 0) {
				text_add(&t, str_head(word, (size_t)p));
				text_add(&t, roots->v[k]);
				word = str_from(word, (size_t)p + 2);
			}
			text_add(&t, word);
			fields_add(x->a, &f, text_str(&t));
		}
		(void)run_argv(x, f.v, f.n, STR_NONE);
	}
}

/* "*.ts": files that people write. */
static bool is_source_pattern(str name)
{
	return name.n > 2 && name.p[0] == MARK_STAR && name.p[1] == '.' &&
		str_in(str_from(name, 2),
			"c h cc cpp hpp ts tsx js jsx mjs py go rs java rb php kt "
			"swift scala cs sql vue svelte md tf yml yaml json toml "
			"proto html css scss ex exs hs ml lua sh");
}

static void do_find(struct run *x, struct cmd *c)
{
	struct fields roots = { 0 };
	bool empty_only = false; /* what is empty holds nothing that could be lost */

	find_roots(x, c, &roots);
	for (size_t i = 1; i < c->n; i++)
		empty_only |= str_eq(c->v[i], STR("-empty"));
	for (size_t i = 1; i < c->n; i++) {
		if (str_eq(c->v[i], STR("-delete")) && !empty_only)
			for (size_t k = 0; k < roots.n; k++) {
				enum place p = place_of(x, path_resolve(x, roots.v[k]));
				bool narrow = str_find_char(str_base(roots.v[k]), MARK_STAR) != 0 ||
					!str_ends(roots.v[k], STR("\2"));

				if (narrow && (p == PLACE_IN_PROJECT || p == PLACE_PROJECT) &&
					is_source_pattern(str_base(roots.v[k])))
					FAULT(x, c, RULE_RM_PROJECT, VERDICT_ASK,
						"this would delete all sources of one "
						"kind: " STR_FMT,
						STR_ARG(roots.v[k]));
				/* By a name test: single files, however many. */
				judge_delete(x, c, roots.v[k],
					!narrow || (p != PLACE_IN_PROJECT && p != PLACE_PROJECT));
			}
		else if (str_in(c->v[i], "-exec -execdir -ok -okdir"))
			find_exec(x, c, i + 1, &roots);
		else if (str_in(c->v[i], "-fprint -fls -fprint0 -fprintf") && i + 1 < c->n)
			judge_write(x, c, c->v[i + 1], STR("\1"), false);
	}
}

/* "^dist$": the name itself, behind a slash; else nothing. */
static str whole_name(struct run *x, str pattern)
{
	if (pattern.n > 2 && pattern.p[0] == '^' && pattern.p[pattern.n - 1] == '$')
		pattern = str_n(pattern.p + 1, pattern.n - 2);
	pattern = map_tr(x->a, pattern, STR("\\\\"), STR(""), true);
	for (size_t i = 0; i < pattern.n; i++)
		if (strchr("*?[](){}|^$+ /", pattern.p[i]))
			return STR("");
	return arena_strf(x->a, "/" STR_FMT, STR_ARG(pattern));
}

static void do_fd(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "deEtcjSo",
		.longs = "max-depth extension exclude type threads size base-directory changed-within changed-before" };
	struct fields operands = { 0 }, words = { 0 };
	str found = STR("\2"), item;
	struct arg a;

	while (args_next(&it, &a)) {
		if (arg_is(&a, 'e', "extension"))
			found = arena_strf(x->a, "\2." STR_FMT, STR_ARG(a.value));
		else if (arg_is(&a, 'S', "size") || arg_is(&a, 0, "changed-within changed-before"))
			found = STR("\1\2");
		if (arg_is(&a, 'x', "exec") || arg_is(&a, 'X', "exec-batch")) {
			for (size_t i = it.i; i < c->n && !str_eq(c->v[i], STR(";")); i++)
				fields_add(x->a, &words, c->v[i]);
			break;
		}
		if (a.operand)
			fields_add(x->a, &operands, a.value);
	}
	if (!words.n)
		return;
	if (operands.n && !str_in(operands.v[0], ". .* * ^") && str_eq(found, STR("\2")))
		found = arena_strf(x->a, "\1\2" STR_FMT, STR_ARG(whole_name(x, operands.v[0])));
	item = arena_strf(x->a, STR_FMT "/" STR_FMT, STR_ARG(operands.n > 1 ? operands.v[1] : STR(".")),
		STR_ARG(found));
	for (size_t i = 0, placed = 0; i <= words.n; i++) {
		if (i == words.n) {
			if (!placed)
				fields_add(x->a, &words, item);
			break;
		}
		if (str_in(words.v[i], "{} {/} {//} {.} {/.}")) {
			words.v[i] = item;
			placed = 1;
		}
	}
	(void)run_argv(x, words.v, words.n, STR_NONE);
}

/* -- mv, cp, ln, tee, install, rsync ---------------------------------------------------------- */

static void operands_of(struct run *x, const struct cmd *c, const char *shorts, const char *longs, struct fields *ret,
	str *ret_target)
{
	struct args it = { .c = c, .shorts = shorts, .longs = longs };
	struct arg a;

	*ret_target = STR_NONE;
	while (args_next(&it, &a)) {
		if (arg_is(&a, 't', "target-directory") && strchr(shorts, 't'))
			*ret_target = a.value;
		else if (a.operand)
			fields_add(x->a, ret, a.value);
	}
	if (!str_is_set(*ret_target) && ret->n > 1)
		*ret_target = ret->v[--ret->n];
}

/* What the command wrote below a directory goes with it. */
static void carry_below(struct run *x, str from, str target)
{
	str to = path_resolve(x, target);

	for (const struct fact *f = x->fs; f && spend(x, 1); f = f->next)
		if (f->kind == FACT_FILE && f->key.n > from.n && path_below(f->key, from))
			fs_note(x, FACT_FILE,
				arena_strf(x->a, STR_FMT STR_FMT, STR_ARG(to), STR_ARG(str_from(f->key, from.n))),
				f->value);
}

/* Where a copy ends up: the target itself, or below it when it is a directory. */
static void write_copy(struct run *x, struct cmd *c, str source, str target, bool many)
{
	str content = fs_content(x, path_resolve(x, source)), from = path_resolve(x, source);
	bool shared, dir = many || str_ends(target, STR("/")) || str_in(str_base(target), ". ..");

	if (secrecy_of(x, from) == SECRET_KEY)
		content = STR("\5");
	carry_below(x, from, target);
	x->adds = dir;
	judge_write(x, c, target, content, false);
	x->adds = false;
	if (str_has(from, "bin/")) {
		str key = path_join(x, x->st.cwd, target);

		fs_note(x, FACT_PROGRAM, key, from);
		fs_note(x, FACT_PROGRAM, path_join(x, key, str_base(source)), from);
	}
	if (!dir && !is_protected(x, path_resolve(x, target), &shared)) {
		/* The target may still be a directory. */
		str inside = arena_strf(x->a, STR_FMT "/" STR_FMT, STR_ARG(target), STR_ARG(str_base(source)));

		if (guarded_of(x, path_resolve(x, inside)) == GUARDED_NOT &&
			!is_protected(x, path_resolve(x, inside), &shared))
			return;
	}
	x->adds = true;
	judge_write(x, c, arena_strf(x->a, STR_FMT "/" STR_FMT, STR_ARG(target), STR_ARG(str_base(source))), content,
		false);
	x->adds = false;
}

static bool is_vital(enum place p)
{
	return p == PLACE_ROOT || p == PLACE_SYSTEM || p == PLACE_HOMES || p == PLACE_ABOVE || p == PLACE_PROJECT ||
		p == PLACE_GIT;
}

static void do_mv(struct run *x, struct cmd *c)
{
	struct fields from = { 0 };
	str target, path;
	bool shared;

	operands_of(x, c, "tS", "target-directory suffix", &from, &target);
	if (!str_is_set(target))
		return;
	path = path_resolve(x, target);
	for (size_t i = 0; i < from.n; i++) {
		str source = path_resolve(x, from.v[i]);
		enum place p = place_of(x, source);

		if (is_protected(x, source, &shared))
			FAULT(x, c, RULE_SELF, VERDICT_DENY,
				"this would move away " STR_FMT ", which the guard depends on", STR_ARG(source));
		else if (str_eq(path, STR("/dev/null")))
			FAULT(x, c, RULE_MV, VERDICT_DENY, "this would throw " STR_FMT " away", STR_ARG(source));
		else if (is_vital(p) &&
			!(p == PLACE_PROJECT && has_mark(source, "\2") && path_below(path, x->st.cwd)) &&
			!str_has(source, "/.git/"))
			FAULT(x, c, RULE_MV, VERDICT_DENY,
				"this would move away " STR_FMT ", which other things depend on", STR_ARG(source));
		else if (p == PLACE_SYSTEM_IN && !path_below(source, STR("/usr/local")))
			FAULT(x, c, RULE_MV, VERDICT_ASK, "this would move away a part of the system: " STR_FMT,
				STR_ARG(source));
		else
			judge_moving(x, c, source, path);
		if (secrecy_of(x, source) == SECRET_KEY && place_of(x, path) != PLACE_IN_HOME)
			judge_read(x, c, from.v[i]); /* to where others may read it */
		write_copy(x, c, from.v[i], target, from.n > 1);
	}
}

static void do_cp(struct run *x, struct cmd *c)
{
	struct fields from = { 0 };
	str target;

	operands_of(x, c, str_eq(c->name, STR("install")) ? "tSmog" : "tS", "target-directory suffix mode owner group",
		&from, &target);
	if (!str_is_set(target) || cmd_has(c, "-d"))
		target = str_eq(c->name, STR("install")) && cmd_has(c, "-d") ? STR_NONE : target;
	if (!str_is_set(target))
		return;
	for (size_t i = 0; i < from.n; i++) {
		judge_read(x, c, from.v[i]);
		write_copy(x, c, from.v[i], target, from.n > 1);
	}
}

static void do_ln(struct run *x, struct cmd *c)
{
	struct fields from = { 0 };
	bool symbolic = cmd_has(c, "-s") || cmd_has(c, "--symbolic");
	str target, key;

	operands_of(x, c, "tS", "target-directory suffix", &from, &target);
	if (!from.n)
		return;
	if (!str_is_set(target))
		target = str_base(from.v[0]);
	key = path_join(x, x->st.cwd, target);
	judge_write(x, c, target, STR("\1"), false);
	for (size_t i = 0; i < from.n; i++) {
		str to = symbolic && from.v[i].n && from.v[i].p[0] != '/' ? path_join(x, x->st.cwd, from.v[i])
									  : path_resolve(x, from.v[i]);

		if (str_has(to, "bin/"))
			fs_note(x, FACT_PROGRAM, key, to);
		fs_note(x, FACT_LINK, key, to);
		fs_note(x, FACT_LINK, path_join(x, key, str_base(from.v[i])), to);
		if (!symbolic && secrecy_of(x, to) == SECRET_KEY)
			judge_read(x, c, from.v[i]);
	}
}

static void do_tee(struct run *x, struct cmd *c)
{
	struct args it = { .c = c };
	bool append = cmd_has(c, "-a") || cmd_has(c, "--append");
	struct arg a;

	while (args_next(&it, &a))
		if (a.operand)
			judge_write(x, c, a.value, str_is_set(c->in) ? c->in : STR("\1"), append);
	c->out = str_is_set(c->in) ? c->in : STR("\1");
}

static void do_rsync(struct run *x, struct cmd *c)
{
	struct fields from = { 0 };
	bool deletes = cmd_has(c, "--delete") || cmd_has(c, "--delete-after") || cmd_has(c, "--delete-before") ||
		cmd_has(c, "--delete-excluded") || cmd_has(c, "--del");
	str target, shell = cmd_value(c, "efBTM", 'e', "rsh");

	if (str_is_set(shell))
		(void)run_child_text(x, shell, STR_NONE);
	operands_of(x, c, "efBTM",
		"rsh exclude include filter files-from log-file port bwlimit exclude-from "
		"include-from rsync-path",
		&from, &target);
	if (!str_is_set(target))
		return;
	for (size_t i = 0; i < from.n; i++)
		if (str_find_char(from.v[i], ':') < 0)
			judge_read(x, c, from.v[i]);
	if (str_find_char(target, ':') < 0) {
		if (deletes && !cmd_has(c, "-n") && !cmd_has(c, "--dry-run"))
			judge_delete(x, c, target, true);
		else if (from.n)
			write_copy(x, c, from.v[0], target, true);
	} else if (deletes && !cmd_has(c, "-n") && !cmd_has(c, "--dry-run")) {
		FAULT(x, c, RULE_RM_OUTSIDE, VERDICT_ASK, "this deletes files on another machine");
	}
}

/* -- modes and owners ------------------------------------------------------------------------- */

static bool opens_to_all(str mode)
{
	return glob_any(mode,
		"777 0777 a+rwx ugo+rwx a=rwx o+w a+w 666 0666 ugo+w o+rwx +w 1777 "
		"a+rw o+rw 776 o=rwx ugo=rwx");
}

static void judge_rights(struct run *x, struct cmd *c, str word, str mode, bool recursive, bool owner)
{
	str path = path_resolve(x, word);
	enum place p = place_of(x, path);
	enum rule rule = owner ? RULE_CHOWN : RULE_CHMOD;
	bool shared;

	if (is_protected(x, path, &shared) && (!shared || owner || str_has(mode, "-") || str_in(mode, "000 0 0000")))
		FAULT(x, c, RULE_SELF, VERDICT_DENY,
			"this would change the rights of " STR_FMT ", which the guard depends on", STR_ARG(path));
	else if (!owner &&
		(str_has(mode, "+s") ||
			glob_any(mode,
				"4[0-7][0-7][0-7] 04[0-7][0-7][0-7] "
				"6[0-7][0-7][0-7] 2[0-7][0-7][0-7] u=*s*")))
		FAULT(x, c, RULE_SETUID, VERDICT_DENY, "this gives a program the rights of its owner");
	else if (recursive && is_vital(p) && p != PLACE_PROJECT && p != PLACE_GIT)
		FAULT(x, c, rule, VERDICT_DENY, "this would change the rights of everything in " STR_FMT,
			STR_ARG(path));
	else if (is_vital(p) && p != PLACE_PROJECT && p != PLACE_GIT &&
		(opens_to_all(mode) || str_in(mode, "000 0 0000 a-rwx -x a-x -rwx -r")))
		FAULT(x, c, rule, VERDICT_DENY, "this would open or close " STR_FMT " to everybody", STR_ARG(path));
	else if (guarded_of(x, path) == GUARDED_SYSTEM || guarded_of(x, path) == GUARDED_SUDOERS ||
		(p == PLACE_SYSTEM_IN && opens_to_all(mode)))
		FAULT(x, c, rule, VERDICT_DENY,
			"this would change the rights of a file the system depends "
			"on: " STR_FMT,
			STR_ARG(path));
	else if (p == PLACE_DEVICE)
		FAULT(x, c, rule, VERDICT_DENY, "this would open a disk to others: " STR_FMT, STR_ARG(path));
	else if (!owner && opens_to_all(mode) && secrecy_of(x, path) == SECRET_KEY)
		FAULT(x, c, rule, VERDICT_DENY, "this would open a private key to everybody: " STR_FMT, STR_ARG(path));
	else if (recursive && !owner && (opens_to_all(mode) || str_in(mode, "000 0")) && p != PLACE_TEMP &&
		p != PLACE_MADE && !str_eq(mode, STR("+w")))
		FAULT(x, c, rule, p == PLACE_IN_PROJECT || p == PLACE_PROJECT ? VERDICT_ASK : VERDICT_DENY,
			"this would open everything in " STR_FMT " to everybody", STR_ARG(path));
	else if (recursive && (p == PLACE_SYSTEM_IN || p == PLACE_ELSEWHERE) && x->elevated)
		FAULT(x, c, rule, VERDICT_ASK,
			"this would change the rights of a directory outside the "
			"project: " STR_FMT,
			STR_ARG(path));
	else if (recursive && p == PLACE_UNKNOWN)
		FAULT(x, c, rule, VERDICT_ASK,
			"this would change the rights of a directory that is only known "
			"when it runs");
	else if (recursive && p == PLACE_SYSTEM_IN && !opens_to_all(mode) &&
		glob_any(path, "/var/lib/?* /var/log/?* /run/?* /var/www* /var/spool/?* /usr/local/*"))
		FAULT(x, c, rule, VERDICT_ASK, "this would change the rights of what a service keeps: " STR_FMT,
			STR_ARG(path));
	else if (recursive && p == PLACE_SYSTEM_IN)
		FAULT(x, c, rule, VERDICT_DENY, "this would change the rights of a part of the system: " STR_FMT,
			STR_ARG(path));
}

static void do_chmod(struct run *x, struct cmd *c)
{
	bool recursive = false, mode_seen = cmd_has(c, "--reference"), owner = !str_in(c->name, "chmod");
	str mode = STR_NONE;
	struct fields paths = { 0 };

	for (size_t i = 1; i < c->n; i++) {
		str w = c->v[i];

		if (w.n > 1 && w.p[0] == '-' && (owner || w.p[1] == '-' || strchr("RvcfHLP", w.p[1]))) {
			recursive |= w.p[1] == '-' ? str_starts(STR("--recursive"), w) && w.n > 4
						   : str_find_char(w, 'R') >= 0;
		} else if (!mode_seen) {
			mode = w;
			mode_seen = true;
		} else {
			fields_add(x->a, &paths, w);
		}
	}
	for (size_t i = 0; i < paths.n; i++)
		judge_rights(x, c, paths.v[i], mode, recursive, owner);
}

/* -- overwriting ------------------------------------------------------------------------------ */

static void do_shred(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "nsx", .longs = "iterations size random-source" };
	struct arg a;

	while (args_next(&it, &a)) {
		enum place p;

		if (!a.operand)
			continue;
		p = place_of(x, path_resolve(x, a.value));
		if (p != PLACE_TEMP)
			FAULT(x, c, RULE_SHRED, p == PLACE_IN_PROJECT || p == PLACE_MADE ? VERDICT_ASK : VERDICT_DENY,
				"this would overwrite " STR_FMT " so that it cannot be recovered",
				STR_ARG(path_resolve(x, a.value)));
	}
}

static void do_truncate(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "sr", .longs = "size reference" };
	struct arg a;
	str size = cmd_value(c, "sr", 's', "size");

	while (args_next(&it, &a)) {
		enum place p;
		str path;

		if (!a.operand)
			continue;
		path = path_resolve(x, a.value);
		p = place_of(x, path);
		judge_edit(x, c, a.value);
		if (is_vital(p) && p != PLACE_GIT)
			FAULT(x, c, RULE_TRUNCATE, VERDICT_DENY, "this would cut off every file in " STR_FMT,
				STR_ARG(path));
		else if (p != PLACE_TEMP && p != PLACE_MADE && p != PLACE_DEVICE && !(size.n && size.p[0] == '+') &&
			!glob_any(str_base(path), "*.log *.out *.img *.tmp"))
			FAULT(x, c, RULE_TRUNCATE, VERDICT_ASK, "this would cut " STR_FMT " off", STR_ARG(path));
	}
}

/* sed: -i writes its files; the e command and flag run what they are given. */
static void do_sed(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "efl", .longs = "expression file line-length" };
	bool in_place = false, script_seen = false;
	struct fields scripts = { 0 }, files = { 0 };
	struct arg a;

	while (args_next(&it, &a)) {
		if (arg_is(&a, 'i', "in-place")) {
			in_place = true;
			if (it.in_bundle) { /* -i.bak */
				it.in_bundle = 0;
				it.i++;
			}
		} else if (arg_is(&a, 'e', "expression")) {
			fields_add(x->a, &scripts, a.value);
			script_seen = true;
		} else if (arg_is(&a, 'f', "file")) {
			script_seen = true;
		} else if (a.operand) {
			fields_add(x->a, script_seen || scripts.n ? &files : &scripts, a.value);
			script_seen = true;
		}
	}
	for (size_t i = 0; i < scripts.n; i++) {
		str s = str_trim(scripts.v[i]);
		size_t k = 0;

		while (k < s.n && strchr("0123456789,$ ", s.p[k]))
			k++;
		if (k + 1 < s.n && s.p[k] == 'e' && s.p[k + 1] == ' ')
			(void)run_child_text(x, str_from(s, k + 2), STR_NONE);
		else if (s.n > 4 && s.p[0] == 's' && (s.p[1] == '/' || s.p[1] == '|' || s.p[1] == '#')) {
			str rest = str_from(s, 2), from, to;

			if (str_split(&rest, s.p[1], &from) && str_split(&rest, s.p[1], &to) &&
				str_find_char(rest, 'e') >= 0 && rest.n < 4)
				(void)run_child_text(x, to, STR_NONE);
		}
	}
	for (size_t i = 0; i < files.n; i++) {
		if (in_place)
			judge_edit(x, c, files.v[i]);
		else
			judge_read(x, c, files.v[i]);
	}
}

/* Codex's way to change files, also within its shell: the patch is an argument or comes in. */
static void do_apply_patch(struct run *x, struct cmd *c)
{
	bool given = false;

	for (size_t i = 1; i < c->n; i++) {
		given |= patch_is(c->v[i]);
		judge_patch(x, c, NULL, c->v[i]);
	}
	if (!given && str_is_set(c->in) && !has_mark(c->in, MARKS_HOLE))
		judge_patch(x, c, NULL, c->in);
	else if (!given)
		FAULT(x, c, RULE_EXEC_DYNAMIC, VERDICT_ASK, "which files this changes is only known when it runs");
}

const struct handler pack_files[] = {
	{ "apply_patch", do_apply_patch },
	{ "rm", do_rm },
	{ "trash", do_trash },
	{ "find", do_find },
	{ "fd", do_fd },
	{ "mv", do_mv },
	{ "cp", do_cp },
	{ "ln", do_ln },
	{ "tee", do_tee },
	{ "rsync", do_rsync },
	{ "chmod", do_chmod },
	{ "shred", do_shred },
	{ "truncate", do_truncate },
	{ "sed", do_sed },
	{ 0 },
};
