/* What commands resolve to, one table per mechanism; and the bounds of the work. The commands are
 * only ever read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "guard/guard.h"

static const struct guard_context here = { .cwd = { "/home/dev/proj", 14 },
	.home = { "/home/dev", 9 },
	.explain = true };
static struct arena arena;

static enum verdict_action decide(str command, struct guard_report *report)
{
	*report = (struct guard_report){ 0 };
	return guard_command(NULL, &here, command, &arena, report);
}

/* -- resolving -------------------------------------------------------------------------------- */

static const struct {
	const char *command, *argv; /* of the command that is resolved last */
} resolved[] = {
	/* quoting */
	{ "r''m -\"r\"f 'a b'", "rm -rf a b" },
	{ "echo $'\\x41\\102\\n'", "echo AB\n" },
	{ "echo a\\ b \"c\\\"d\"", "echo a b c\"d" },
	/* parameters */
	{ "x=1; echo $x ${x}2", "echo 1 12" },
	{ "x=a; x+=b; echo $x", "echo ab" },
	{ "echo ${u:-d} ${u:=e} $u", "echo d e e" },
	{ "x=abc; echo ${x:1} ${x:0:1} ${x: -1} ${#x}", "echo bc a c 3" },
	{ "x=a.b.c; echo ${x%.*} ${x%%.*} ${x#*.} ${x##*.}", "echo a.b a b.c c" },
	{ "x=aXa; echo ${x/X/y} ${x//a/b} ${x^^} ${x,,}", "echo aya bXb AXA axa" },
	{ "x=y; y=z; echo ${!x}", "echo z" },
	{ "a=(1 2 3); echo ${a[1]} ${#a[@]} \"${a[@]:1}\"", "echo 2 3 2 3" },
	{ "set -- a b; echo $1 $2 $# \"$*\"", "echo a b 2 a b" },
	{ "echo $unset", "echo …" },
	{ "IFS=,; x=a,b; echo $x", "echo a b" },
	/* braces, tildes, arithmetic */
	{ "echo {a,b}c {1..3} x{,y}", "echo ac bc 1 2 3 x xy" },
	{ "echo ~ ~/x ~root", "echo /home/dev /home/dev/x /root" },
	{ "echo $((1+2*3)) $(( (1+2)*3 ))", "echo 7 9" },
	/* substitutions and what programs print */
	{ "echo $(echo a; echo b)", "echo a b" },
	{ "echo \"$(printf '%s-' a b)\"", "echo a-b-" },
	{ "echo $(echo aGk= | base64 -d) $(echo 6869 | xxd -r -p)", "echo hi hi" },
	{ "echo $(echo ab | rev) $(echo ab | tr a-z A-Z)", "echo ba AB" },
	{ "echo $(basename /a/b.c .c) $(dirname /a/b) $(pwd)", "echo b /a /home/dev/proj" },
	{ "read a b <<< 'x y z'; echo $b $a", "echo y z x" },
	{ "cat <<EOF > f\n$HOME\nEOF\necho $(cat f)", "echo /home/dev" },
	/* control */
	{ "for i in a b; do echo $i; done", "echo b" },
	{ "f() { echo \"$2$1\"; }; f a b", "echo ba" },
	{ "x=1; (x=2); echo $x", "echo 1" },
	{ "x=1; if true; then x=2; fi; echo $x", "echo …" },
	{ "cd /a/b; cd ../c; echo $PWD", "echo /a/c" },
	{ "cd x || exit; echo $PWD", "echo /home/dev/proj/x" },
	{ "printf 'a\\nb\\n' | while read l; do echo $l; done", "echo b" },
	/* wrappers */
	{ "sudo -u root env A=1 nice -n 5 timeout 3 ls -l", "ls -l" },
	{ "A=b sh -c 'echo $A $1' x y", "echo b y" },
	{ "echo a b | xargs -n1 echo", "echo a b" },
	{ "echo a | xargs -I{} echo {}{}", "echo aa" },
	{ "find x -exec echo {} \\;", "echo x/*" },
	{ "eval 'eval \"echo a\"'", "echo a" },
	{ "echo 'echo z' > s; sh s", "echo z" },
	{ "ssh h 'cd /x; echo $PWD'", "echo /x" },
};

static void resolves(void **state)
{
	for (size_t i = 0; i < sizeof(resolved) / sizeof(resolved[0]); i++) {
		struct guard_report r;

		(void)decide(str_of(resolved[i].command), &r);
		assert_non_null(r.last_step);
		if (!str_eq(r.last_step->argv, str_of(resolved[i].argv)))
			fail_msg("%s: " STR_FMT ", not %s", resolved[i].command, STR_ARG(r.last_step->argv),
				resolved[i].argv);
	}
}

/* -- the tables of tests/guard ---------------------------------------------------------------- */

static str with_newlines(str s)
{
	char *p = arena_bytes(&arena, s.n + 1);
	size_t n = 0;
	bool as_is = str_find(s, STR("printf")) >= 0 || str_find(s, STR("tr '")) >= 0 || str_find(s, STR("$'")) >= 0 ||
		str_find(s, STR("-F")) >= 0;

	for (size_t i = 0; i < s.n; i++) {
		if (!as_is && s.p[i] == '\\' && i + 1 < s.n && (s.p[i + 1] == 'n' || s.p[i + 1] == 't'))
			p[n++] = s.p[++i] == 'n' ? '\n' : '\t';
		else
			p[n++] = s.p[i];
	}
	return str_n(p, n);
}

static void check_file(const char *name, bool benign)
{
	const char *dir = getenv("SRCDIR");
	char path[4096], line[4096];
	unsigned number = 0, wrong = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/guard/%s", dir ? dir : ".", name);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		str rest = str_n(line, strcspn(line, "\n")), want = STR("allow"), class;
		struct guard_report r;
		enum verdict_action got;

		number++;
		if (!rest.n || rest.p[0] == '#')
			continue;
		if (!benign)
			assert_true(str_split(&rest, ' ', &want) && str_split(&rest, ' ', &class));
		got = decide(with_newlines(rest), &r);
		if (got >= VERDICT_ASK ? !(str_eq(want, str_of(verdict_action_names[got])) ||
						 (str_eq(want, STR("ask")) && got == VERDICT_DENY))
				       : !str_eq(want, STR("allow"))) {
			fprintf(stderr, "%s:%u: %s, not " STR_FMT "\n", name, number, verdict_action_names[got],
				STR_ARG(want));
			wrong++;
		}
		arena_reset(&arena);
	}
	fclose(f);
	assert_int_equal(wrong, 0);
}

static void decides_cases(void **state)
{
	check_file("cases.txt", false);
}

static void lets_ordinary_work_pass(void **state)
{
	check_file("benign.txt", true);
}

/* Every built-in example is caught by the rule it belongs to. */
static void examples_hold(void **state)
{
	for (const struct guard_rule *g = guard_rules; g->name; g++) {
		struct guard_report r;
		bool found = false;

		assert_true(str_ends(str_of(g->text), STR(".")));
		if (!g->example)
			continue;
		(void)decide(str_of(g->example), &r);
		for (const struct guard_finding *f = r.findings; f; f = f->next)
			found |= str_eq(f->rule, str_of(g->name));
		if (!found)
			fail_msg("%s does not hold for %s", g->name, g->example);
	}
}

/* -- bounds ----------------------------------------------------------------------------------- */

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static str repeat(const char *before, const char *unit, size_t n, const char *after)
{
	struct buf b = BUF_INIT(64 << 20);
	str s;

	buf_add_str(&b, str_of(before));
	for (size_t i = 0; i < n; i++)
		buf_add_str(&b, str_of(unit));
	buf_add_str(&b, str_of(after));
	s = arena_str(&arena, buf_str(&b));
	buf_release(&b);
	return s;
}

/* Size, number and depth never make a decision weaker, and never take long. */
static void stays_within_bounds(void **state)
{
	static const struct {
		const char *before, *unit;
		size_t n;
		const char *after;
		enum verdict_action least;
	} rows[] = {
		{ "", "true && ", 50, "rm -rf ~", VERDICT_DENY },
		{ "", "true; ", 10000, "rm -rf ~", VERDICT_ASK },
		{ ": '", "y", 1000000, "'; git reset --hard", VERDICT_DENY },
		{ "", "$(", 10000, "", VERDICT_ASK },
		{ "", "$(echo ", 10000, "x", VERDICT_ASK },
		{ "", "{ ", 10000, "", VERDICT_ASK },
		{ "", "eval ", 10000, "rm -rf ~", VERDICT_ASK },
		{ "", "sudo ", 10000, "rm -rf ~", VERDICT_ASK },
		{ "echo ", "{a,b}", 30, "; rm -rf ~", VERDICT_ASK },
		{ "f(){ f; f; }; ", "f; ", 100, "rm -rf ~", VERDICT_ASK },
		{ "", "x=$x$x$x$x; ", 40, "rm -rf ~", VERDICT_ASK },
		{ "x=aaaaaaaaaaaaaaaaaaaaaaaa; ", "x=$x$x; ", 20, "echo ${x//a*a*a*b/c}; rm -rf ~", VERDICT_ASK },
		{ "cat ", "*a", 2000, "; rm -rf ~", VERDICT_ASK },
		{ "python3 -c '", "system(", 3000, "'", VERDICT_NONE },
		{ "", "a() { ", 5000, "", VERDICT_ASK },
		{ "", "for i in 1 2 3 4 5 6 7 8 9; do ", 12, ":; rm -rf ~", VERDICT_ASK },
		{ "find ", "/ ", 5000, "-delete", VERDICT_DENY },
		{ "echo ", "x ", 100000, "| xargs rm -rf", VERDICT_NONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		str command = repeat(rows[i].before, rows[i].unit, rows[i].n, rows[i].after);
		struct guard_report r;
		int64_t before = cpu_us(), took;
		enum verdict_action got = decide(command, &r);

		took = cpu_us() - before;
		if (got < rows[i].least)
			fail_msg("%s… is %s", rows[i].unit, verdict_action_names[got]);
		if (took > 400000) /* under a sanitizer; tests/guard/speed.py measures the release
				      build */
			fail_msg("%s… took %lld us", rows[i].unit, (long long)took);
		arena_reset(&arena);
	}
}

/* -- tools ------------------------------------------------------------------------------------ */

static enum verdict_action judge_tool(enum tool_class class, const char *path, const char *mode)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE, .tool_class = class, .permission_mode = str_of(mode) };
	struct verdict v = { 0 };

	if (class == TOOL_SHELL)
		e.command = str_of(path);
	else
		e.file_path = str_of(path);
	guard_decide(NULL, &here, &e, &arena, &v, NULL);
	return v.action;
}

static void judges_other_tools(void **state)
{
	static const struct {
		enum tool_class class;
		const char *path;
		enum verdict_action want;
	} rows[] = {
		{ TOOL_WRITE, "/home/dev/proj/src/a.c", VERDICT_NONE },
		{ TOOL_WRITE, "src/a.c", VERDICT_NONE },
		{ TOOL_WRITE, "/home/dev/.claude/settings.json", VERDICT_DENY },
		{ TOOL_WRITE, "/home/dev/proj/../.claude/settings.json", VERDICT_DENY },
		{ TOOL_WRITE, ".claude/settings.json", VERDICT_DENY },
		{ TOOL_WRITE, "/home/dev/.config/hookd/config.json", VERDICT_DENY },
		{ TOOL_WRITE, "/home/dev/.ssh/authorized_keys", VERDICT_DENY },
		{ TOOL_WRITE, "/etc/sudoers.d/x", VERDICT_DENY },
		{ TOOL_WRITE, "/home/dev/.bashrc", VERDICT_ASK },
		{ TOOL_WRITE, ".git/hooks/pre-commit", VERDICT_ASK },
		{ TOOL_READ, "/home/dev/.ssh/id_rsa", VERDICT_DENY },
		{ TOOL_READ, ".env", VERDICT_ASK },
		{ TOOL_READ, ".env.example", VERDICT_NONE },
		{ TOOL_READ, "src/a.c", VERDICT_NONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (judge_tool(rows[i].class, rows[i].path, "default") != rows[i].want)
			fail_msg("%s: %s", rows[i].path,
				verdict_action_names[judge_tool(rows[i].class, rows[i].path, "default")]);
}

static void asks_nobody(void **state)
{
	assert_int_equal(judge_tool(TOOL_SHELL, "rm -rf src", "default"), VERDICT_ASK);
	assert_int_equal(judge_tool(TOOL_SHELL, "rm -rf src", "acceptEdits"), VERDICT_ASK);
	assert_int_equal(judge_tool(TOOL_SHELL, "rm -rf src", "bypassPermissions"), VERDICT_DENY);
	assert_int_equal(judge_tool(TOOL_SHELL, "rm -rf src", "dontAsk"), VERDICT_DENY);
	assert_int_equal(judge_tool(TOOL_SHELL, "ls", "bypassPermissions"), VERDICT_NONE);
}

/* Where the finding is in the command line. */
static void says_where(void **state)
{
	struct guard_report r;

	assert_int_equal(decide(STR("echo a && rm -rf ~ && echo b"), &r), VERDICT_DENY);
	assert_int_equal(r.findings->begin, 10);
	assert_int_equal(r.findings->end, 18);
	assert_true(str_eq(r.findings->argv, STR("rm -rf /home/dev")));
	assert_int_equal(decide(STR("ls; bash -c 'x=1; rm -rf ~'"), &r), VERDICT_DENY);
	assert_int_equal(r.findings->begin, 4);
}

/* -- links on disk, through a callback -------------------------------------------------------- */

static int real_path(void *arg, struct arena *a, str path, str *ret)
{
	if (!str_eq(path, STR("/home/dev/proj/build")))
		return -ENOENT;
	*ret = STR("/home/dev");
	return 0;
}

static void follows_links_when_told(void **state)
{
	struct guard_context c = here;
	struct guard_report r = { 0 };

	assert_int_equal(guard_command(NULL, &c, STR("rm -rf build/"), &arena, &r), VERDICT_NONE);
	c.real_path = real_path;
	r = (struct guard_report){ 0 };
	assert_int_equal(guard_command(NULL, &c, STR("rm -rf build/*"), &arena, &r), VERDICT_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves),
		cmocka_unit_test(decides_cases),
		cmocka_unit_test(lets_ordinary_work_pass),
		cmocka_unit_test(examples_hold),
		cmocka_unit_test(stays_within_bounds),
		cmocka_unit_test(judges_other_tools),
		cmocka_unit_test(asks_nobody),
		cmocka_unit_test(says_where),
		cmocka_unit_test(follows_links_when_told),
	};
	int failed;

	arena_init(&arena);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_release(&arena);
	return failed;
}
