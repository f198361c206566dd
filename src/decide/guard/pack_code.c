/* pack_code: interpreters, and programs that run a command given to one of their options. */
#include "guard/internal.h"

static const struct interpreter {
	const char *names, *shorts, *longs;
	const char *code_letters, *code_longs;
	const char *data_letters; /* with one of these what comes in is data */
	bool program_first;       /* the first operand is the program: awk */
} interpreters[] = {
	{ "python python2 python3 pypy pypy3 python3.8 python3.9 python3.10 python3.11 python3.12 "
	  "python3.13 ipython",
		"cmWXQ", "", "c", "command", "m", false },
	{ "perl perl5", "eEMmIFx", "", "eE", "", "np", false },
	{ "ruby jruby", "erIFC", "", "e", "", "np", false },
	{ "node nodejs bun tsx ts-node", "eprC", "eval print require import env-file", "ep", "eval print", "", false },
	{ "php", "rfBREdczt", "run", "rRB", "run", "", false },
	{ "lua luajit lua5.3 lua5.4 texlua", "eli", "", "e", "", "", false },
	{ "osascript", "el", "", "e", "", "", false },
	{ "Rscript R", "ef", "", "e", "", "", false },
	{ "tclsh wish expect jimsh", "cf", "", "c", "", "", false },
	{ "swift ocaml raku nim gnuplot groovysh kotlin kotlinc jshell csi dotnet-script "
	  "iex ghc runghc octave octave-cli matlab v",
		"er", "eval execute", "er", "eval execute", "", false },
	{ "guile racket sbcl clisp clojure clj bb ecl chez mzscheme gosh", "ecx", "eval", "ecx", "eval", "", false },
	{ "awk gawk mawk nawk original-awk", "Ffvieo", "field-separator file assign include source", "e", "source", "",
		true },
	{ "julia elixir ghci scala groovy", "eE", "eval print", "eE", "eval print", "", false },
	{ "erl", "", "eval", "", "eval", "", false },
};

static str language_of(str name)
{
	if (glob_any(name, "python* pypy* ipython"))
		return STR("python");
	return glob_any(name, "*awk")                                                                 ? STR("awk")
		: str_in(name, "perl5")                                                               ? STR("perl")
		: str_in(name, "nodejs tsx ts-node bun")                                              ? STR("node")
		: str_in(name, "jruby")                                                               ? STR("ruby")
		: glob_any(name, "lua*")                                                              ? STR("lua")
		: str_in(name, "tclsh wish expect jimsh")                                             ? STR("tcl")
		: str_in(name, "guile racket sbcl clisp clojure clj bb ecl chez mzscheme gosh emacs") ? STR("lisp")
												      : name;
}

static void do_interpreter(struct run *x, struct cmd *c)
{
	const struct interpreter *k = interpreters;
	struct args it;
	bool data = false, code = false;
	str language = language_of(c->name), text;
	struct arg a;

	while (!str_in(c->name, k->names))
		k++;
	it = (struct args){ .c = c,
		.shorts = k->shorts,
		.longs = k->longs,
		.posix = true,
		.single = str_eq(c->name, STR("erl")) };
	if (c->net_in && c->net_out)
		FAULT(x, c, RULE_NET_SHELL, VERDICT_DENY, "this connects an interpreter to another machine");
	while (args_next(&it, &a)) {
		if (a.letter && strchr(k->data_letters, a.letter))
			data = true;
		if (!a.operand && str_is_set(a.value) &&
			((a.letter && strchr(k->code_letters, a.letter)) || arg_is(&a, 0, k->code_longs))) {
			code = true;
			(void)run_code(x, language, a.value,
				str_is_set(c->in) || it.i >= c->n ? c->in
								  : fields_join(x->a, c->v + it.i, c->n - it.i, '\n'));
			if (str_in(language, "python"))
				return;
		}
		if (a.letter == 'm' && str_in(language, "python"))
			return;
		if (!a.operand)
			continue;
		if (k->program_first && !code && !cmd_has(c, "-f")) {
			(void)run_code(x, language, a.value, c->in);
			return;
		}
		if (str_in(c->name, "bun") && str_in(a.value, "run x install add test build"))
			return;
		if (code && cmd_has(c, "-i") && str_in(language, "perl ruby")) {
			judge_edit(x, c, a.value);
			continue;
		}
		if (!code && str_eq(a.value, STR("-")))
			break;
		if (!code && script_known(x, a.value, &text)) {
			const struct script_read *before = script_enter(x);

			(void)run_code(x, language, text, c->in);
			script_leave(x, before);
		}
		if (!code && has_mark(a.value, "\4"))
			FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs code that comes from the network");
		if (!code && str_in(path_join(x, x->st.cwd, a.value), "/dev/stdin /dev/fd/0"))
			break;
		return;
	}
	if (str_is_set(c->in) && !data && !code && !k->program_first)
		(void)run_code(x, language, c->in, STR_NONE);
}

static void do_deno(struct run *x, struct cmd *c)
{
	str text, language = str_eq(c->name, STR("deno")) ? c->name : STR("ruby");

	if (c->n < 2)
		return;
	if (str_eq(c->v[1], STR("eval"))) {
		for (size_t i = 2; i < c->n; i++)
			if (c->v[i].n && c->v[i].p[0] != '-')
				(void)run_code(x, language, c->v[i], STR_NONE);
	} else if (str_eq(c->v[1], STR("run"))) {
		for (size_t i = 2; i < c->n; i++) {
			if (str_starts(c->v[i], STR("http://")) || str_starts(c->v[i], STR("https://")))
				FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs code that comes from the network");
			if (str_eq(c->v[i], STR("-")) && str_is_set(c->in))
				(void)run_code(x, STR("deno"), c->in, STR_NONE);
			else if (c->v[i].n && c->v[i].p[0] != '-') {
				if (script_known(x, c->v[i], &text)) {
					const struct script_read *before = script_enter(x);

					(void)run_code(x, STR("deno"), text, STR_NONE);
					script_leave(x, before);
				}
				return;
			}
		}
	}
}

/* -- options whose value is a command --------------------------------------------------------- */

static const struct {
	const char *programs, *option; /* up to and with '=' or ' ', or a letter option */
	bool attached;                 /* the value is in the same word */
} command_options[] = {
	{ "tar gtar bsdtar", "--checkpoint-action=exec=", true },
	{ "tar gtar bsdtar", "--checkpoint-action", false },
	{ "less more", "+!", true },
	{ "dc", "-e !", true },
	{ "gdb", "-ex=!", true },
	{ "emacs", "--eval=", true },
	{ "apt apt-get", "-oAPT::Update::Pre-Invoke::=", true },
	{ "apt apt-get", "APT::Update::Pre-Invoke::=", true },
	{ "apt apt-get", "Dpkg::Pre-Invoke::=", true },
	{ "git", "--pager=", true },
};

static void do_command_options(struct run *x, struct cmd *c)
{
	for (size_t i = 0; i < countof(command_options); i++) {
		str option = str_of(command_options[i].option);

		if (!str_in(c->name, command_options[i].programs))
			continue;
		for (size_t k = 1; k < c->n; k++) {
			str value = STR_NONE;

			if (command_options[i].attached && str_starts(c->v[k], option))
				value = str_from(c->v[k], option.n);
			else if (!command_options[i].attached && str_eq(c->v[k], option) && k + 1 < c->n)
				value = c->v[k + 1];
			if (str_starts(value, STR("exec=")))
				value = str_from(value, 5);
			if (value.n)
				(void)run_child_text(x, value, c->in);
		}
	}
}

/* -- editors and make ------------------------------------------------------------------------- */

/* w! file, saveas file, r file: what an editor's command reads or writes. */
static void editor_file(struct run *x, str text)
{
	size_t n = 0;
	str name, file;

	while (n < text.n && text.p[n] >= 'a' && text.p[n] <= 'z')
		n++;
	name = str_head(text, n);
	file = str_from(text, n);
	if (file.n && file.p[0] == '!')
		file = str_from(file, 1);
	if (!file.n || (file.p[0] != ' ' && file.p[0] != '>'))
		return;
	while (file.n && (file.p[0] == ' ' || file.p[0] == '>'))
		file = str_from(file, 1);
	if (!file.n || file.p[0] == '!')
		return;
	if (str_in(name, "w wr wri write wq up update sav saveas mks mksession"))
		judge_write(x, NULL, file, STR("\1"), false);
	else if (str_in(name, "r re read e edit view tabe tabedit sp split vs vsplit so source"))
		judge_read(x, NULL, file);
}

static void editor_command(struct run *x, str text)
{
	text = str_trim(text);
	while (text.n && (text.p[0] == ':' || text.p[0] == '%' || text.p[0] == ' '))
		text = str_from(text, 1);
	if (str_starts(text, STR("silent ")))
		text = str_trim(str_from(text, 7));
	if (text.n && text.p[0] == '!')
		(void)run_child_text(x, str_from(text, 1), STR_NONE);
	else if (str_starts(text, STR("shell ")))
		(void)run_child_text(x, str_from(text, 6), STR_NONE);
	else if (str_starts(text, STR("r !")) || str_starts(text, STR("r!")))
		(void)run_child_text(x, str_from(text, (size_t)str_find_char(text, '!') + 1), STR_NONE);
	else if (str_has(text, "system("))
		(void)run_code(x, STR("python"), text, STR_NONE);
	else if (str_has(text, "os.execute"))
		(void)run_code(x, STR("lua"), text, STR_NONE);
	else if (str_starts(text, STR("py")) && str_find_char(text, ' ') > 0)
		(void)run_code(x, STR("python"), str_from(text, (size_t)str_find_char(text, ' ')), STR_NONE);
	else
		editor_file(x, text);
}

static void do_editor(struct run *x, struct cmd *c)
{
	str line, in = c->in;

	for (size_t i = 1; i < c->n && str_in(c->name, "emacs emacsclient"); i++)
		if (str_in(c->v[i], "--eval -eval --execute -execute -e") && i + 1 < c->n)
			run_lisp(x, c, c->v[i + 1]);
		else if (str_starts(c->v[i], STR("--eval=")) || str_starts(c->v[i], STR("--execute=")))
			run_lisp(x, c, str_from(c->v[i], (size_t)str_find_char(c->v[i], '=') + 1));
	for (size_t i = 1; i < c->n; i++) {
		if (str_in(c->v[i], "-c --cmd -ex --command -e --eval -s") && i + 1 < c->n)
			editor_command(x, c->v[i + 1]);
		else if (c->v[i].n > 2 && c->v[i].p[0] == '-' && c->v[i].p[1] == 'c')
			editor_command(x, str_from(c->v[i], 2));
		else if (c->v[i].n > 1 && c->v[i].p[0] == '+')
			editor_command(x, str_from(c->v[i], 1));
		else if (str_starts(c->v[i], STR("--eval=")))
			editor_command(x, str_from(c->v[i], 7));
	}
	while (str_is_set(in) && in.n && str_split(&in, '\n', &line))
		editor_command(x, line);
}

/* cmake -E rm -rf … is rm. */
static void do_cmake(struct run *x, struct cmd *c)
{
	struct fields f = { 0 };

	if (c->n < 4 || !str_eq(c->v[1], STR("-E")) ||
		!str_in(c->v[2], "rm remove remove_directory env time copy rename"))
		return;
	fields_add(x->a, &f,
		str_in(c->v[2], "rm remove remove_directory") ? STR("rm")
			: str_eq(c->v[2], STR("copy"))        ? STR("cp")
			: str_eq(c->v[2], STR("rename"))      ? STR("mv")
							      : c->v[2]);
	if (str_eq(c->v[2], STR("remove_directory")))
		fields_add(x->a, &f, STR("-r"));
	for (size_t i = 3; i < c->n; i++)
		fields_add(x->a, &f, c->v[i]);
	(void)run_argv(x, f.v, f.n, STR_NONE);
}

const struct handler pack_code[] = {
	{ "interpreter", do_interpreter },
	{ "deno", do_deno },
	{ "editor", do_editor },
	{ "cmake", do_cmake },
	{ "command_options", do_command_options },
	{ 0 },
};
