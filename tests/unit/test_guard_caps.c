/* Every bound of the reading: what stands behind it is never passed over. A row makes a command of any size whose
 * dangerous part comes last; whatever the size, it is at least asked about. The commands are only ever read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "guard/guard.h"

static const struct guard_context here = { .cwd = { "/home/dev/proj", 14 }, .home = { "/home/dev", 9 } };
static struct arena arena;

/* head, then unit n times (%d is its number, %p the one before), tail (%d is the last number), close n times. */
struct growing {
	const char *name, *head, *unit, *tail, *close;
	int most; /* 0: any number */
};

static const struct growing dangers[] = {
	{ "items of a brace", "rm -f {", "f%d,", "/etc/passwd}", "", 0 },
	{ "products of braces", "rm -rf {", "a%d/{b,c,d},", "/}", "", 0 },
	{ "braces in braces", "rm -f ", "{a%d,", "/etc/passwd", "}", 0 },
	{ "turns of a for loop", "for f in ", "w%d ", "~/.ssh/id_rsa; do cat $f; done", "", 0 },
	{ "turns of a while loop", "printf '%%s\\n' ", "w%d ", "~/.ssh/id_rsa | while read -r f; do cat \"$f\"; done",
		"", 0 },
	{ "items of xargs", "printf '%%s\\n' ", "w%d ", "/etc/passwd | xargs rm -f", "", 0 },
	{ "commands of xargs", "printf '%%s\\n' ", "w%d ", "/etc/passwd | xargs -I{} rm -f {}", "", 0 },
	{ "items of parallel", "parallel rm -f ::: ", "w%d ", "/etc/passwd", "", 0 },
	{ "input of parallel", "printf '%%s\\n' ", "w%d ", "/etc/passwd | parallel rm -f {}", "", 0 },
	{ "directories of find", "find ", "/tmp/d%d ", "/ -exec rm -rf {} \\;", "", 0 },
	{ "settings of git", "", "GIT_CONFIG_KEY_%d=a.b GIT_CONFIG_VALUE_%d=c ",
		"GIT_CONFIG_KEY_%d=alias.x GIT_CONFIG_VALUE_%d='!rm -rf /' git x", "", 0 },
	{ "functions in functions", "f0() { rm -rf /; }; ", "f%n() { f%d; }; ", "f%d", "", 0 },
	{ "a function in itself", "f() { if [ $# -gt 1 ]; then shift; f \"$@\"; fi; cat \"$1\"; }; f ", "w%d ",
		"~/.ssh/id_rsa", "", 0 },
	{ "aliases of aliases", "alias a0='rm -rf /'\n", "alias a%n=a%d\n", "a%d\n", "", 0 },
	{ "git aliases of aliases", "git -c alias.a0='!rm -rf /' ", "-c alias.a%n=a%d ", "a%d", "", 0 },
	{ "links to links", "ln -s / l0; ", "ln -s l%d l%n; ", "rm -rf l%d/", "", 0 },
	{ "names of names", "v0=/; ", "declare -n v%n=v%d; ", "rm -rf $v%d", "", 0 },
	{ "arguments of a call", "python3 -c 'import subprocess\nsubprocess.run([\"rm\", \"-rf\", ", "\"w%d\", ",
		"\"/\"])'", "", 0 },
	{ "variables of a program", "python3 -c 'import os\n", "v%d = 1\n", "c = \"rm -rf /\"\nos.system(c)'", "", 0 },
	{ "calls of a program", "python3 -c 'import os\n", "a(%d)\n", "os.system(\"rm -rf /\")'", "", 0 },
	{ "words of Tcl", "echo 'exec rm -rf ", "w%d ", "/' | tclsh", "", 0 },
	{ "words of SQL", "psql -c 'WITH a AS (SELECT ", "c%d, ", "1) DELETE FROM users'", "", 0 },
	{ "statements of SQL", "psql -c '", "SELECT %d; ", "DROP TABLE users'", "", 0 },
	{ "texts in texts", "", "eval ", "rm -rf /", "", 0 },
	{ "wrappers around wrappers", "", "nice ", "rm -rf /", "", 0 },
	{ "env around env", "", "env A=%d ", "rm -rf /", "", 0 },
	{ "substitutions in substitutions", "", "$(", "rm -rf /", ")", 0 },
	{ "subshells in subshells", "", "( ", "rm -rf /", ")", 0 },
	{ "groups in groups", "", "{ ", "rm -rf /", "; }", 0 },
	{ "words of a command", "rm -f ", "w%d ", "/etc/passwd", "", 0 },
	{ "commands of a list", "", "true %d; ", "rm -rf /", "", 0 },
	{ "commands of a pipeline", "", "cat %d | ", "rm -rf /", "", 0 },
	{ "bytes of a text in a text", "bash -c '", "echo w%d; ", "rm -rf /'", "", 0 },
	{ "bytes of a variable", "x='", "echo w%d; ", "'; y=\"$x rm -rf /\"; bash -c \"$y\"", "", 0 },
	{ "bytes of a pipe", "{ ", "echo 'echo w%d'; ", "echo 'rm -rf /'; } | bash", "", 0 },
	{ "bytes of a document", "bash <<'END'\n", "echo w%d\n", "rm -rf /\nEND\n", "", 0 },
	{ "items of an array", "a=(", "w%d ", "/etc/passwd); rm -f \"${a[@]}\"", "", 0 },
	{ "arguments of a shell", "set -- ", "w%d ", "/etc/passwd; rm -f \"$@\"", "", 0 },
	{ "options of a command", "ls ", "-x%d ", "--al\xe2\x80\x8bl", "", 0 },
	{ "arms of case", "case x in ", "w%d) ;; ", "*) rm -rf /;; esac", "", 0 },
	{ "branches of if", "if false; then :; ", "elif test %d; then :; ", "else rm -rf /; fi", "", 0 },
	{ "assignments before a command", "", "V%d=1 ", "rm -rf /", "", 0 },
	{ "redirections", "true ", ">/dev/null ", ">/etc/passwd", "", 0 },
	{ "parts of a path", "rm -rf /", "a/../", "etc", "", 800 },
	{ "pieces of a word", "rm -rf ", "''", "/", "", 0 },
	{ "lines that are joined", "r", "\\\n", "m -rf /", "", 0 },
};

/* Sizes on both sides of every bound, from one to more than any. */
static const int sizes[] = { 1, 7, 8, 9, 13, 17, 33, 41, 49, 65, 101, 130, 257, 513, 600, 1025, 4100, 40000 };

static void add_numbered(struct buf *b, const char *text, int i)
{
	for (; *text; text++) {
		if (text[0] != '%') {
			buf_add_char(b, *text);
			continue;
		}
		text++;
		if (*text == '%')
			buf_add_char(b, '%');
		else
			buf_addf(b, "%d", *text == 'n' ? i + 1 : i);
	}
}

static str make(const struct growing *g, int n, struct buf *b)
{
	buf_clear(b);
	add_numbered(b, g->head, 0);
	for (int i = 0; i < n; i++)
		add_numbered(b, g->unit, i);
	add_numbered(b, g->tail, n);
	for (int i = 0; i < n && g->close[0]; i++)
		add_numbered(b, g->close, i);
	return buf_str(b);
}

static enum verdict_action decide(const struct guard_policy *p, str command, str *ret_rule)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE,
		.tool_class = TOOL_SHELL,
		.tool_name = STR("Bash"),
		.command = command };
	struct verdict v = { 0 };

	arena_reset(&arena);
	assert_int_equal(guard_decide(p, &here, &e, &arena, &v, NULL), 0);
	if (ret_rule)
		*ret_rule = v.rule;
	return v.action;
}

static void what_stands_behind_a_bound_is_asked_about(void **state)
{
	struct buf b = BUF_INIT(4 << 20);
	int wrong = 0;

	for (size_t i = 0; i < countof(dangers); i++)
		for (size_t k = 0; k < countof(sizes); k++) {
			if (dangers[i].most && sizes[k] > dangers[i].most)
				continue;
			if (decide(NULL, make(&dangers[i], sizes[k], &b), NULL) >= VERDICT_ASK)
				continue;
			print_error("%s: %d of them hide what follows\n", dangers[i].name, sizes[k]);
			wrong++;
		}
	buf_release(&b);
	assert_int_equal(wrong, 0);
}

/* Ordinary work of some size is not asked about. */
static const struct growing harmless[] = {
	{ "files by a brace", "touch f{0", ",%d", "}", "", 300 },
	{ "a loop over names", "for f in ", "w%d ", "; do echo \"$f\"; done", "", 300 },
	{ "names through xargs", "printf '%%s\\n' ", "w%d ", "| xargs ls", "", 600 },
	{ "names through xargs -I", "printf '%%s\\n' ", "w%d ", "| xargs -I{} echo {}", "", 130 },
	{ "many words", "git add ", "w%d ", "", "", 1025 },
	{ "many commands", "", "echo %d; ", "true", "", 300 },
	{ "rows of SQL", "psql -c 'INSERT INTO t VALUES ", "(%d, 1), ", "(1, 2)'", "", 600 },
	{ "numbers of a program", "python3 -c 'print(sum([", "%d, ", "1]))'", "", 600 },
	{ "variables of a program", "python3 -c '", "v%d = 1\n", "print(v1)'", "", 300 },
	{ "a document", "cat > notes.txt <<'END'\n", "line %d\n", "END\n", "", 4100 },
};

static void ordinary_work_is_let_through(void **state)
{
	static const char *const more[] = { "touch f{1..200}.txt", "for i in {1..500}; do echo $i; done",
		"for i in $(seq 1 100); do curl -s http://localhost:8080/$i; done", "seq 1 100 | xargs -n1 echo",
		"mkdir -p out/{1..100}", "rm -f build/{1..300}.o" };
	struct buf b = BUF_INIT(4 << 20);
	str rule;

	for (size_t i = 0; i < countof(harmless); i++)
		for (size_t k = 0; k < countof(sizes); k++)
			if (sizes[k] <= harmless[i].most &&
				decide(NULL, make(&harmless[i], sizes[k], &b), &rule) != VERDICT_NONE)
				fail_msg("%s: %d of them are held by " STR_FMT, harmless[i].name, sizes[k],
					STR_ARG(rule));
	for (size_t i = 0; i < countof(more); i++)
		if (decide(NULL, str_of(more[i]), &rule) != VERDICT_NONE)
			fail_msg("%s is held by " STR_FMT, more[i], STR_ARG(rule));
	buf_release(&b);
}

/* A pattern of the user sees every word of a command, however many there are. */
static void patterns_see_all_words(void **state)
{
	static const struct growing far = { "words", "deploy ", "w%d ", "prod-1", "", 0 };
	struct guard_problem *problems;
	_cleanup_(guard_policy_unrefp) struct guard_policy *p =
		guard_policy_parse(STR("{\"guard\":{\"rules\":[{\"name\":\"a\","
				       "\"regex\":\"^deploy .*prod-[0-9]\",\"decision\":\"deny\"}]}}"),
			&problems);
	struct buf b = BUF_INIT(4 << 20);

	assert_null(problems);
	for (size_t k = 0; k < countof(sizes); k++)
		if (decide(p, make(&far, sizes[k], &b), NULL) < VERDICT_ASK)
			fail_msg("%d words hide what follows", sizes[k]);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stands_behind_a_bound_is_asked_about),
		cmocka_unit_test(ordinary_work_is_let_through),
		cmocka_unit_test(patterns_see_all_words),
	};
	int failed;

	arena_init(&arena);
	failed = cmocka_run_group_tests_name("guard_caps", tests, NULL, NULL);
	arena_release(&arena);
	return failed;
}
