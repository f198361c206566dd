/* again: texts that the shell expands a second time, wherever they came from: subscripts in arithmetic and in the names
 * that builtins take, prompts, ${x@P}. A command in them runs, although it was quoted when it was written. */
#include "guard/internal.h"

/* Expanded as in double quotes. */
void run_again(struct run *x, str text)
{
	if (str_find(text, STR("$(")) < 0 && str_find_char(text, '`') < 0)
		return;
	(void)run_child_text(x, arena_strf(x->a, ": <<again\n" STR_FMT "\nagain\n", STR_ARG(text)), STR_NONE);
}

/* name[… */
static bool has_subscript(str text)
{
	size_t n = 0;

	while (n < text.n &&
		(text.p[n] == '_' || (text.p[n] >= '0' && text.p[n] <= '9' && n) ||
			((text.p[n] | 32) >= 'a' && (text.p[n] | 32) <= 'z')))
		n++;
	return n && n < text.n && text.p[n] == '[';
}

/* Whoever gives a variable such a value wants it in arithmetic, where it runs; prompts run when they are shown, PS4
 * with each command. */
void run_assigned(struct run *x, str name, str value)
{
	if (has_subscript(value) || (name.n < 9 && str_in(name, "PS0 PS1 PS2 PS4 PROMPT PROMPT2 RPROMPT RPS1")))
		run_again(x, value);
	else if (str_eq(name, STR("PROMPT_COMMAND")) && value.n)
		(void)run_child_text(x, value, STR_NONE);
}

/* What is computed in the end: names in it have been looked at when they were set. */
void run_computed(struct run *x, str text)
{
	if (str_find_char(text, '[') >= 0)
		run_again(x, text);
}

/* Names of variables among the words of a builtin. test -v NAME, printf -v NAME; the others take them as they are. */
void run_named(struct run *x, const struct cmd *c)
{
	bool flagged = str_in(c->name, "test [ [[ printf wait");

	if (!flagged &&
		!str_in(c->name, "read unset let declare typeset local export readonly mapfile readarray getopts"))
		return;
	for (size_t i = 1; i < c->n; i++)
		if ((!flagged || str_in(c->v[i - 1], "-v -p")) && has_subscript(c->v[i]))
			run_again(x, c->v[i]);
		else if (str_eq(c->name, STR("let")))
			run_computed(x, c->v[i]);
}

/* [[ … ]]: -v takes a name, -eq and the like compute both sides. */
void run_tested(struct run *x, const struct fields *words)
{
	for (size_t i = 0; i < words->n; i++) {
		bool computed = i + 1 < words->n && str_in(words->v[i + 1], "-eq -ne -lt -le -gt -ge");

		computed |= i > 0 && str_in(words->v[i - 1], "-v -eq -ne -lt -le -gt -ge");
		if (computed)
			run_computed(x, words->v[i]);
	}
}

/* Functions that the shell calls by itself. */
bool is_called_by_shell(str name)
{
	return str_in(name,
		       "command_not_found_handle command_not_found_handler precmd preexec chpwd periodic zshexit") ||
		(name.n > 6 && str_starts(name, STR("TRAP")) && name.p[4] >= 'A' && name.p[4] <= 'Z');
}
