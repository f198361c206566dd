/* code_other: languages whose calls are not written name(arguments): Tcl and the Lisps. */
#include "guard/internal.h"

/* -- Tcl: a command is words, ended by a newline or a semicolon; [ ] holds another -------------- */

/* One word at *i; braces and quotes group. */
static str tcl_word(str s, size_t *i)
{
	size_t from = *i, depth = 0;
	char q = s.p[from];

	if (q == '{') {
		for (; *i < s.n; (*i)++) {
			depth += s.p[*i] == '{';
			if (s.p[*i] == '}' && --depth == 0)
				break;
		}
	} else if (q == '"') {
		for ((*i)++; *i < s.n && s.p[*i] != '"'; (*i)++)
			;
	} else {
		while (*i < s.n && !strchr(" \t\r\n;[]", s.p[*i]))
			(*i)++;
		return str_n(s.p + from, *i - from);
	}
	*i = MIN(*i + 1, s.n);
	return str_n(s.p + from + 1, *i - from - (*i - from > 1 ? 2 : 1));
}

static void tcl_command(struct run *x, const struct cmd *c, str *v, size_t n)
{
	static const char nested[] = "catch eval if while foreach for uplevel after try proc";
	size_t at = 1;

	if (n && str_in(v[0], nested)) {
		for (size_t i = 1; i < n; i++)
			if (str_find_char(v[i], ' ') > 0)
				run_tcl(x, c, v[i]);
		return;
	}
	if (n < 2)
		return;
	if (str_in(v[0], "exec spawn system")) {
		while (at < n && v[at].n && v[at].p[0] == '-')
			at++;
		if (at + 1 == n)
			(void)run_child_text(x, v[at], STR_NONE);
		else if (at < n)
			(void)run_argv(x, v + at, n - at, STR_NONE);
	} else if (str_in(v[0], "send exp_send") && n > 1) {
		(void)run_child_text(x, str_trim(decode_backslashes(x->a, v[n - 1], false)), STR_NONE);
	} else if (str_eq(v[0], STR("file")) && str_in(v[1], "delete")) {
		for (size_t i = 2; i < n; i++)
			if (v[i].n && v[i].p[0] != '-')
				judge_delete(x, c, v[i], true);
	} else if (str_eq(v[0], STR("open")) && v[1].n && v[1].p[0] == '|') {
		(void)run_child_text(x, str_from(v[1], 1), STR_NONE);
	} else if (str_eq(v[0], STR("open")) && n > 2 && str_in(v[2], "w a w+ a+")) {
		judge_write(x, c, v[1], STR("\1"), v[2].p[0] == 'a');
	} else if (str_eq(v[0], STR("open"))) {
		judge_read(x, c, v[1]);
	} else if (str_eq(v[0], STR("socket")) && n > 2) {
		FAULT(x, c, RULE_NET_SHELL, VERDICT_ASK, "this connects to another machine");
	}
}

void run_tcl(struct run *x, const struct cmd *c, str s)
{
	struct fields words = { 0 };
	size_t i = 0;

	if (x->depth >= DEPTH_MAX)
		(void)spend(x, UINT32_MAX);
	x->depth++;
	while (i <= s.n && spend(x, 1)) {
		char ch = i < s.n ? s.p[i] : '\n';

		if (ch == '\n' || ch == ';' || ch == '[' || ch == ']') {
			tcl_command(x, c, words.v, words.n);
			words.n = 0;
			i++;
		} else if (ch == ' ' || ch == '\t' || ch == '\r') {
			i++;
		} else {
			str word = tcl_word(s, &i);

			fields_add(x->a, &words, map_tr(x->a, word, STR("*"), STR("\2"), false));
		}
	}
	x->depth--;
}

/* -- Lisps: (name "string" …) -------------------------------------------------------------------- */

static const char lisp_commands[] =
	"shell-command shell-command-to-string async-shell-command call-process start-process "
	"process-lines call-process-shell-command system system* run-program uiop:run-program "
	"sb-ext:run-program sh shell clojure.java.shell/sh execlp run run-shell-command "
	"babashka.process/shell p/shell process* subprocess ext:run-shell-command";
static const char lisp_deletes[] = "delete-directory delete-file delete-tree babashka.fs/delete-tree fs/delete-tree "
				   "uiop:delete-directory-tree delete-directory/files delete-file-recursively rmdir "
				   "clojure.java.io/delete-file io/delete-file move-file-to-trash unlink rename-file";

static void lisp_call(struct run *x, const struct cmd *c, str name, struct fields *args)
{
	if (!args->n)
		return;
	if (str_in(name, lisp_deletes)) {
		judge_delete(x, c, args->v[0],
			str_has(name, "directory") || str_has(name, "tree") || str_has(name, "recursively"));
	} else if (str_in(name, lisp_commands)) {
		if (args->n == 1 || str_find_char(args->v[0], ' ') > 0)
			(void)run_child_text(x, args->v[0], STR_NONE);
		else
			(void)run_argv(x, args->v, args->n, STR_NONE);
	} else if (str_in(name, "write-region write-file spit") && args->n) {
		judge_write(x, c, args->v[args->n - 1], STR("\1"), false);
	} else if (str_in(name, "insert-file-contents find-file slurp read-file")) {
		judge_read(x, c, args->v[0]);
	}
}

void run_lisp(struct run *x, const struct cmd *c, str s)
{
	static const char ends[] = " \t\n()\"'";
	size_t i = 0;

	while (i < s.n && spend(x, 1)) {
		struct fields args = { 0 };
		size_t from, depth = 1;

		if (s.p[i++] != '(')
			continue;
		for (from = i; i < s.n && !strchr(ends, s.p[i]); i++)
			;
		/* All strings up to the bracket that closes it, those of calls within included. */
		for (size_t k = i; k < s.n && depth && spend(x, 1); k++) {
			size_t end = k + 1;

			depth += s.p[k] == '(';
			depth -= s.p[k] == ')';
			if (s.p[k] != '"')
				continue;
			while (end < s.n && s.p[end] != '"')
				end += s.p[end] == '\\' ? 2 : 1;
			end = MIN(end, s.n);
			fields_add(x->a, &args, str_n(s.p + k + 1, end - k - 1));
			k = end;
		}
		lisp_call(x, c, str_n(s.p + from, i - from), &args);
	}
}
