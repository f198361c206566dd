/* command: one resolved command: its name, the unknown in its place, and every pack that knows it.
 */
#include "base/utf8.h"
#include "guard/internal.h"

/* A pattern in the place of the program stands for one of these if it can. */
static const char *const candidates[] = { "rm", "dd", "mkfs", "shred", "sh", "bash", "cat", "curl", "git", "find", "mv",
	"chmod", "chown", "sudo", "python3", "perl", "wget", "nc", "cp", "tee", "base64", "less", "head", "kill",
	"rmdir", "unlink", "truncate", "wipefs", "reboot", "shutdown", "kubectl", "terraform", "docker", "psql",
	"mysql" };

str cmd_env(const struct cmd *c, str name)
{
	for (const struct fact *f = c->env; f && f != c->env_end; f = f->next)
		if (f->kind == FACT_VAR && str_eq(f->key, name))
			return f->value;
	return STR_NONE;
}

str cmd_text(struct run *x, const struct cmd *c)
{
	return text_for_people(x->a, fields_join(x->a, c->v, MIN(c->n, 64), ' '));
}

str cmd_whole_text(struct run *x, const struct cmd *c)
{
	return text_readable(x->a, fields_join(x->a, c->v, c->n, ' '));
}

static str program_name(struct run *x, str word)
{
	str name = str_base(word);
	ptrdiff_t back;

	while ((back = str_find_char(name, '\\')) >= 0) /* C:\Windows\… */
		name = str_from(name, (size_t)back + 1);
	if (name.n > 3 && str_starts(name, STR("zf_"))) /* builtins of zsh */
		name = str_from(name, 3);
	else if (name.n > 1 && name.p[0] == '=') /* zsh's way to name a program by its path */
		name = str_from(name, 1);
	if (name.n > 4 && str_in_nocase(str_from(name, name.n - 4), ".exe .cmd .bat"))
		name = str_lower(x->a, str_head(name, name.n - 4));
	/* Names of PowerShell are written in any case. */
	if (name.n > 3 && name.p[0] >= 'A' && name.p[0] <= 'Z' && str_find_char(name, '-') > 0)
		name = str_lower(x->a, name);
	if (name.n > 5 && str_starts(name, STR("ld")) &&
		glob_any(name, "ld-linux*.so.? ld-musl-*.so.? ld.so.? ld64.so.? ld-2.*.so"))
		return STR("ld.so");
	return name;
}

/* A name that no keyboard types: looks like one program and is another. */
static bool is_odd(str name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] >= 0x80)
			return true;
	return false;
}

/* "$BIN" --version, "$TOOL" -f tests/config.yaml: whatever it is, it is given no place outside, nothing that is itself
 * unknown, and no word or letter that says "away with it", "everything below" or "this text is a command". It is judged
 * as a program that nobody has described. */
static bool is_plain_word(str w)
{
	static const char *const away[] = { "forc", "delet", "remov", "purg", "prun", "wip", "destroy", "clean", "drop",
		"reset", "erase", "kill", "yes" };

	if (has_mark(w, MARKS_ANY) || w.n < 2 || str_starts(w, STR("..")) || str_has(w, "/.."))
		return false;
	for (size_t i = 0; i < countof(away); i++)
		if (str_has_nocase(w, away[i]))
			return false;
	if (w.p[0] == '-')
		return w.p[1] == '-' ? w.n > 2 : w.n == 2 && !strchr("rRcCedDxX-", w.p[1]);
	return w.p[0] != '/' && w.p[0] != '~' && (w.p[0] != '.' || w.n > 2);
}

static bool is_given_plain_words(const struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (!is_plain_word(c->v[i]))
			return false;
	return c->n > 1;
}

/* The program is not known as a whole. True: nothing more can be said. */
static bool unknown_program(struct run *x, struct cmd *c)
{
	str word = c->v[0], rest;

	if (has_mark(word, "\4")) {
		FAULT(x, c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
		return true;
	}
	if (has_mark(c->name, "\2\3") && !has_mark(c->name, MARKS_HOLE)) {
		for (size_t i = 0; i < countof(candidates); i++)
			if (glob_match(c->name, str_of(candidates[i]))) {
				c->name = str_of(candidates[i]);
				return false;
			}
	}
	if (!has_mark(c->name, MARKS_ANY))
		return false; /* only the directory is unknown */
	if (str_find_char(c->name, ':') > 0 && !has_mark(c->name, MARKS_HOLE))
		return false; /* npm:lint:*: a script of the project, as some runners write it */
	if (c->from_outside && !x->elevated && str_eq(word, STR("\1")) && is_given_plain_words(c))
		return false;
	FAULT(x, c, RULE_EXEC_DYNAMIC, VERDICT_ASK,
		"hookd cannot tell which program this runs: its name is only known when it runs "
		"(" STR_FMT ")",
		STR_ARG(cmd_text(x, c)));
	/* What is not known may be nothing: r$1m. */
	rest = map_tr(x->a, c->name, STR(MARKS_HOLE), STR(""), true);
	for (size_t i = 0; i < countof(candidates); i++)
		if (rest.n < c->name.n && str_eq(rest, str_of(candidates[i]))) {
			c->name = rest;
			return false;
		}
	return true;
}

/* A script that the same command wrote, or the session before it. */
static bool run_written(struct run *x, struct cmd *c)
{
	str path, text, line;
	const struct script_read *before;
	struct state saved = x->st;

	if (!x->fs && !x->watcher && !x->c->script)
		return false;
	if (str_find_char(c->v[0], '/') < 0) {
		if (!program_on_path(x, c->v[0], &path, &text))
			return false;
	} else {
		path = path_resolve(x, c->v[0]);
		if (watch_script(x, c, path, 0, GUARD_EXECUTED))
			return true;
		if (!script_known_at(x, path, &text))
			return false;
	}
	before = script_enter(x);
	line = text;
	(void)str_split(&line, '\n', &line);
	line = str_head(text, text.n - (line.n == text.n ? 0 : line.n));
	if (str_starts(text, STR("#!")) &&
		(str_has(line, "python") || str_has(line, "perl") || str_has(line, "node") || str_has(line, "ruby") ||
			str_has(line, "php"))) {
		c->out = run_code(x,
			str_has(line, "python")         ? STR("python3")
				: str_has(line, "perl") ? STR("perl")
				: str_has(line, "node") ? STR("node")
				: str_has(line, "ruby") ? STR("ruby")
							: STR("php"),
			text, c->in);
		script_leave(x, before);
		return true;
	}
	x->st.args = (struct fields){ 0 };
	x->st.args_given = true;
	for (size_t i = 1; i < c->n; i++)
		fields_add(x->a, &x->st.args, c->v[i]);
	x->st.arg0 = c->v[0];
	c->out = run_child_text(x, text, c->in);
	script_leave(x, before);
	x->st = saved;
	return true;
}

/* A program that the same command copied or linked runs under a new name. */
static bool other_name(struct run *x, struct cmd *c)
{
	bool bare = str_find_char(c->v[0], '/') < 0;
	str path = bare ? c->name : path_join(x, x->st.cwd, c->v[0]);

	for (const struct fact *f = x->fs; f && spend(x, 1); f = f->next)
		if (f->kind == FACT_PROGRAM && (str_eq(f->key, path) || (bare && str_eq(str_base(f->key), path)))) {
			c->name = program_name(x, f->value);
			return true;
		}
	return false;
}

/* Invisible characters in an option: it reads like another one. */
static bool hides_in_option(str w)
{
	static const char *const invisible[] = { "\xc2\xad", "\xcd\x8f", "\xd8\x9c", "\xe1\x85\x9f", "\xe1\x85\xa0",
		"\xe1\xa0\x8e", "\xe2\x80\x8b", "\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f",
		"\xe2\x81\xa0", "\xe2\x81\xa1", "\xe2\x81\xa2", "\xe2\x81\xa3", "\xe2\x81\xa4", "\xe3\x85\xa4",
		"\xef\xb8\x8e", "\xef\xb8\x8f", "\xef\xbb\xbf", "\xef\xbe\xa0", "\xf3\xa0\x80", "\xf3\xa0\x81" };
	ptrdiff_t eq = str_find_char(w, '=');

	if (w.n < 3 || w.p[0] != '-' || str_find_char(w, ' ') >= 0)
		return false;
	if (eq > 0)
		w = str_head(w, (size_t)eq);
	if (!is_odd(w))
		return false;
	for (size_t i = 0; i < countof(invisible); i++)
		if (str_has(w, invisible[i]))
			return true;
	return false;
}

static void judge_options(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (hides_in_option(c->v[i])) {
			FAULT(x, c, RULE_EXEC_OBFUSCATED, VERDICT_ASK,
				"an option contains invisible characters, so a person should "
				"look at it");
			return;
		}
}

static void note_step(struct run *x, struct cmd *c)
{
	struct guard_report *r = x->report;
	struct guard_step *s;

	c->number = ++r->commands;
	if (!x->c->explain)
		return;
	s = arena_new(x->a, struct guard_step);
	*s = (struct guard_step){ .depth = x->depth, .argv = cmd_text(x, c), .begin = x->begin, .end = x->end };
	if (str_is_set(c->in))
		s->note = arena_strf(x->a, "reads: " STR_FMT, STR_ARG(text_for_people(x->a, str_cut_utf8(c->in, 200))));
	if (r->last_step)
		r->last_step->next = s;
	else
		r->steps = s;
	r->last_step = s;
}

str run_cmd(struct run *x, struct cmd *c)
{
	str word = c->v[0];
	bool renamed;

	if (!spend(x, 8))
		return STR("\1");
	if (!word.n && c->n == 1)
		return STR("");
	c->out = STR_NONE;
	c->name = program_name(x, word);
	note_step(x, c);
	if (x->watcher)
		watch_command(x, c);
	judge_user_rules(x, c);
	if (has_mark(word, MARKS_ANY) && unknown_program(x, c))
		return STR("\1");
	if (is_odd(c->name))
		FAULT(x, c, RULE_EXEC_OBFUSCATED, VERDICT_ASK,
			"the name of this program holds characters that look like others, so a "
			"person should look at it");
	judge_options(x, c);
	renamed = x->fs && other_name(x, c);
	x->last_name = c->name;
	if (!renamed && run_written(x, c))
		return str_is_set(c->out) ? c->out : STR("\1");
	if (c->env != c->env_end)
		judge_start_vars(x, c);
	judge_own_vars(x, c);
	run_named(x, c);
	judge_by_name(x, c);
	judge_user_programs(x, c);
	judge_operands(x, c);
	judge_unfamiliar(x, c);
	judge_own_places(x, c);
	if (!str_is_set(c->out))
		c->out = output_of(x, c);
	return c->out;
}
