/* pack_windows: PowerShell and cmd as far as words go: enough to see what deletes and what fetches
 * and runs. */
#include "guard/internal.h"

static bool is_drive(str p)
{
	return p.n >= 2 && p.p[1] == ':' && ((p.p[0] >= 'a' && p.p[0] <= 'z') || (p.p[0] >= 'A' && p.p[0] <= 'Z'));
}

/* Paths with backslashes and drives: temporary and built ones are fine, a relative one is the
 * project's. */
static void delete_windows(struct run *x, struct cmd *c, str path, bool recursive)
{
	if (is_drive(path) || str_has_nocase(path, "%userprofile%") || str_has_nocase(path, ":userprofile") ||
		str_has_nocase(path, ":systemroot") || str_has_nocase(path, "%systemroot%") ||
		str_has_nocase(path, "%windir%") || str_has_nocase(path, ":windir")) { /* bash takes $env away */
		if (recursive && !str_has_nocase(path, "temp") && !str_has_nocase(path, "node_modules"))
			FAULT(x, c, RULE_RM_OUTSIDE, VERDICT_DENY, "this would delete everything in " STR_FMT,
				STR_ARG(path));
		return;
	}
	if (str_in_nocase(path, "$HOME $env:HOME"))
		path = x->c->home;
	judge_delete(x, c, map_tr(x->a, path, STR("\\\\"), STR("/"), false), recursive);
}

static void do_remove(struct run *x, struct cmd *c)
{
	bool recursive = false;

	for (size_t i = 1; i < c->n; i++)
		recursive |= str_in_nocase(c->v[i], "/s -r -rec -recurse -recursive -rf -fr") ||
			str_has_nocase(c->v[i], "-recurse");
	for (size_t i = 1; i < c->n; i++) {
		if (!c->v[i].n || c->v[i].p[0] == '-' || (c->v[i].p[0] == '/' && c->v[i].n == 2))
			continue;
		delete_windows(x, c, c->v[i], recursive);
	}
}

/* Words of a line of PowerShell or cmd; quotes group. */
static void words_of(struct run *x, str line, struct fields *out)
{
	size_t i = 0;

	while (i < line.n) {
		size_t from;
		char q;

		while (i < line.n && strchr(" \t()", line.p[i]))
			i++;
		if (i >= line.n)
			break;
		q = line.p[i];
		from = q == '"' || q == '\'' ? ++i : i;
		while (i < line.n && (q == '"' || q == '\'' ? line.p[i] != q : !strchr(" \t()", line.p[i])))
			i++;
		if (i > from) {
			str w = str_n(line.p + from, i - from);

			while (w.n && strchr(",;", w.p[w.n - 1]))
				w.n--;
			fields_add(x->a, out, q == '\'' ? w : map_tr(x->a, w, STR("*"), STR("\2"), false));
		}
		i += q == '"' || q == '\'';
	}
}

/* They have been looked at with the line as a whole. */
static const char fetchers[] = "iex irm iwr invoke-expression invoke-webrequest invoke-restmethod";

static void run_windows(struct run *x, struct cmd *c, str text)
{
	bool fetches = str_has_nocase(text, "downloadstring") || str_has_nocase(text, "iwr") ||
		str_has_nocase(text, "irm") || str_has_nocase(text, "invoke-webrequest") ||
		str_has_nocase(text, "invoke-restmethod") || str_has_nocase(text, "webclient") ||
		str_has_nocase(text, "downloadfile");
	bool runs = str_has_nocase(text, "iex") || str_has_nocase(text, "invoke-expression") ||
		str_has_nocase(text, "start-process") || str_has_nocase(text, "[scriptblock]");
	struct fields before = { 0 };
	size_t from = 0;

	if (has_mark(text, "\4") || (fetches && runs))
		FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
	else if (str_eq(text, STR("\1")))
		FAULT(x, c, RULE_EXEC_DYNAMIC, VERDICT_ASK, "hookd cannot tell what this runs");
	if (str_has_nocase(text, "TCPClient"))
		FAULT(x, c, RULE_NET_SHELL, VERDICT_DENY, "this connects a shell to another machine");
	for (size_t i = 0; i <= text.n; i++) {
		struct fields f = { 0 };
		bool piped = from > 0 && text.p[from - 1] == '|';

		if (i < text.n && !strchr(";\n|&{}", text.p[i]))
			continue;
		words_of(x, str_n(text.p + from, i - from), &f);
		from = i + 1;
		if (!f.n)
			continue;
		f.v[0] = str_lower(x->a, f.v[0]);
		if (str_has(f.v[0], "]::delete")) {
			for (size_t k = 1; k < f.n; k++)
				if (!str_in_nocase(f.v[k], "$true true $false false"))
					delete_windows(x, c, f.v[k], str_has(f.v[0], "directory") && f.n > 2);
		} else if (str_in(f.v[0], "rm ri rd rmdir del erase remove-item")) {
			/* … | Remove-Item -Recurse: what the command before it names. */
			for (size_t k = 1; piped && k < before.n; k++)
				fields_add(x->a, &f, before.v[k]);
			struct cmd sub = { .v = f.v, .n = f.n, .name = STR("remove-item") };

			do_remove(x, &sub);
		} else if (str_in(f.v[0], "get-childitem gci dir ls get-item gi")) {
			before = f;
		} else if (!str_in(f.v[0], fetchers) && !has_mark(f.v[0], MARKS_ANY)) {
			(void)run_argv(x, f.v, f.n, STR_NONE);
		}
	}
}

static void do_pwsh(struct run *x, struct cmd *c)
{
	str raw, text;

	for (size_t i = 1; i < c->n; i++) {
		str low = str_lower(x->a, c->v[i]);

		if (low.n > 1 && low.p[0] == '-' && i + 1 < c->n &&
			(str_in(low, "-e -ec -enc") || (low.n > 4 && str_starts(STR("-encodedcommand"), low)))) {
			if (decode_base64(x->a, c->v[i + 1], &raw))
				run_windows(x, c, decode_utf16(x->a, raw));
			else
				FAULT(x, c, RULE_EXEC_OBFUSCATED, VERDICT_ASK, "hookd cannot tell what this runs");
			return;
		}
		if (low.n > 1 && low.p[0] == '-' && (str_starts(STR("-command"), low) || str_in(low, "-c")) &&
			i + 1 < c->n) {
			run_windows(x, c,
				str_eq(c->v[i + 1], STR("-")) ? (str_is_set(c->in) ? c->in : STR(""))
							      : fields_join(x->a, c->v + i + 1, c->n - i - 1, ' '));
			return;
		}
		if (str_in(low,
			    "-executionpolicy -ep -ex -exec -windowstyle -w -version "
			    "-configurationname -outputformat -inputformat"))
			i++;
		else if (str_in(low, "-file -f"))
			return;
		else if (low.n && low.p[0] != '-') {
			if (!fs_written(x, c->v[i], &text))
				text = str_ends(low, STR(".ps1")) ? STR("")
								  : fields_join(x->a, c->v + i, c->n - i, ' ');
			run_windows(x, c, text);
			return;
		}
	}
	if (str_is_set(c->in))
		run_windows(x, c, c->in);
}

static void do_cmd(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (str_in_nocase(c->v[i], "/c /k /s/c //c") && i + 1 < c->n) {
			run_windows(x, c, fields_join(x->a, c->v + i + 1, c->n - i - 1, ' '));
			return;
		}
}

/* rmdir of cmd takes /s; everybody else's only takes empty directories. */
static void do_rmdir(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (str_in_nocase(c->v[i], "/s")) {
			do_remove(x, c);
			return;
		}
}

static void do_iex(struct run *x, struct cmd *c)
{
	run_windows(x, c, fields_join(x->a, c->v, c->n, ' '));
	if (str_is_set(c->in) && has_mark(c->in, "\4"))
		FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
}

const struct handler pack_windows[] = {
	{ "pwsh", do_pwsh },
	{ "cmd", do_cmd },
	{ "rmdir", do_rmdir },
	{ "remove", do_remove },
	{ "iex", do_iex },
	{ 0 },
};
