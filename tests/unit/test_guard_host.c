/* What a process needs to decide: policies that are replaced while they are used, directories, links on disk. The
 * commands here are text: nothing runs them. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/guard.h"

static char top[FS_PATH], project[FS_PATH];
static struct paths paths;
static struct arena arena;

static char *in(const char *name)
{
	static char all[8][FS_PATH];
	static unsigned next;
	char *path = all[next++ % 8];

	assert_int_equal(fs_join(path, top, name), 0);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int setup(void **state)
{
	char template[] = "/tmp/hookd-guard-XXXXXX";
	char *real = realpath(mkdtemp(template), NULL);

	snprintf(top, sizeof top, "%s", real);
	free(real);
	snprintf(project, sizeof project, "%s", in("home/project"));
	assert_int_equal(mkdir(in("home"), 0755), 0);
	assert_int_equal(mkdir(project, 0755), 0);
	assert_int_equal(mkdir(in("home/project/.git"), 0755), 0);
	assert_int_equal(mkdir(in("home/project/src"), 0755), 0);
	assert_int_equal(mkdir(in("home/other"), 0755), 0);
	paths = (struct paths){ 0 };
	snprintf(paths.config, sizeof paths.config, "%s", in("config.json"));
	snprintf(paths.home, sizeof paths.home, "%s", in("home"));
	arena_init(&arena);
	return 0;
}

static int teardown(void **state)
{
	arena_release(&arena);
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int ask_in(struct guard *g, str cwd, str command, bool may_use_disk, struct verdict *v)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE,
		.tool_class = TOOL_SHELL,
		.tool_name = STR("Bash"),
		.cwd = cwd,
		.command = command };

	*v = (struct verdict){ 0 };
	return guard_event(g, &e, &arena, v, may_use_disk);
}

static enum verdict_action ask(struct guard *g, str command)
{
	struct verdict v;

	assert_int_equal(ask_in(g, str_of(project), command, true, &v), 0);
	return v.action;
}

static void test_a_new_directory_needs_the_disk_once(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct verdict v;

	assert_int_equal(ask_in(g, str_of(project), STR("git push --force"), false, &v), -EAGAIN);
	assert_int_equal(v.action, VERDICT_NONE);
	assert_null(v.rulings);
	assert_int_equal(ask_in(g, str_of(project), STR("git push --force"), true, &v), 0);
	assert_int_equal(v.action, VERDICT_DENY);
	assert_int_equal(ask_in(g, str_of(project), STR("git push --force"), false, &v), 0);
	assert_int_equal(v.action, VERDICT_DENY);
	assert_int_equal(ask_in(g, str_of(project), STR("make -j4 2>/dev/null"), false, &v), 0);
	assert_int_equal(v.action, VERDICT_NONE);
	/* A place where nothing can be is judged by its text. */
	assert_int_equal(ask_in(g, STR("relative"), STR("git push --force"), false, &v), 0);
	assert_int_equal(v.action, VERDICT_DENY);
}

static void test_links_are_looked_at_each_time(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	str command = STR("git push --force; rm -rf build/*");
	struct verdict v;

	assert_int_equal(mkdir(in("home/project/build"), 0755), 0);
	assert_int_equal(ask(g, STR("rm -rf build/*")), VERDICT_NONE);
	/* What the kernel knows by heart needs no disk; else nothing is said until somebody has asked it. */
	if (ask_in(g, str_of(project), command, false, &v) == -EAGAIN)
		assert_true(v.action == VERDICT_NONE && !v.rulings);
	else
		assert_int_equal(v.action, VERDICT_DENY);
	assert_int_equal(rmdir(in("home/project/build")), 0);
	assert_int_equal(symlink(in("home"), in("home/project/build")), 0);
	assert_int_equal(ask(g, STR("rm -rf build/*")), VERDICT_DENY);
}

static void test_a_project_reached_by_a_link_is_the_project(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct verdict v;

	assert_int_equal(symlink(project, in("home/link")), 0);
	assert_int_equal(ask_in(g, str_of(in("home/link")), STR("rm -rf build"), true, &v), 0);
	assert_int_equal(v.action, VERDICT_NONE);
	assert_int_equal(ask_in(g, str_of(in("home/link")), STR("rm -rf ."), true, &v), 0);
	assert_int_equal(v.action, VERDICT_DENY);
}

/* A disk that does not answer: what would follow a link is asked about, the rest is judged as ever. */
static void test_without_an_answer_of_the_disk_changes_are_asked_about(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct event e = { .kind = EVENT_PRE_TOOL_USE,
		.tool_class = TOOL_SHELL,
		.tool_name = STR("Bash"),
		.cwd = str_of(project),
		.command = STR("git status") };
	struct verdict v = { 0 };

	guard_event_by_text(g, &e, &arena, &v); /* its rules are not known */
	assert_int_equal(v.action, VERDICT_ASK);
	assert_int_equal(ask(g, STR("git status")), VERDICT_NONE);
	v = (struct verdict){ 0 };
	guard_event_by_text(g, &e, &arena, &v);
	assert_int_equal(v.action, VERDICT_NONE);
	e.command = STR("git push --force");
	guard_event_by_text(g, &e, &arena, &v);
	assert_int_equal(v.action, VERDICT_DENY);
}

static void test_more_paths_than_are_looked_up_are_asked_about(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct buf b = BUF_INIT(1 << 20);
	struct verdict v;

	buf_add_str(&b, STR("rm -rf"));
	for (int i = 0; i < 400; i++)
		buf_addf(&b, " build/part%d", i);
	assert_int_equal(ask_in(g, str_of(project), buf_str(&b), true, &v), 0);
	assert_int_equal(v.action, VERDICT_ASK);
	assert_true(str_eq(v.rule, STR("hookd.cap")));
	buf_release(&b);
}

static void test_a_reload_brings_the_file_into_force(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct verdict v;
	struct err err = { 0 };

	assert_int_equal(guard_differs(g), 0);
	assert_int_equal(ask(g, STR("make deploy")), VERDICT_NONE);
	put("config.json",
		"{\"guard\": {\"rules\": [{\"name\": \"no-deploy\", \"decision\": \"deny\", "
		"\"argv\": \"deploy\", \"program\": \"make\"}]}}\n");
	assert_int_equal(ask(g, STR("make deploy")), VERDICT_NONE);
	assert_int_equal(guard_differs(g), 1);
	assert_int_equal(guard_reload(g, &err), 0);
	assert_int_equal(guard_differs(g), 0);
	assert_int_equal(ask(g, STR("make deploy")), VERDICT_DENY);
	/* Spaces and comments are no difference. */
	put("config.json",
		"{ // mine\n\"guard\": { \"rules\": [{\"name\": \"no-deploy\", \"decision\": \"deny\",\n"
		"\"argv\": \"deploy\", \"program\": \"make\"}]}}\n");
	assert_int_equal(guard_differs(g), 0);
	/* A file that cannot be understood takes nothing away. */
	put("config.json", "{\"guard\": {\"rules\": [");
	assert_true(guard_differs(g) < 0);
	assert_true(guard_reload(g, &err) < 0);
	assert_true(err.text[0] != 0);
	assert_int_equal(ask(g, STR("make deploy")), VERDICT_DENY);
	assert_int_equal(unlink(in("config.json")), 0);
	assert_int_equal(guard_reload(g, &err), 0);
	assert_int_equal(ask_in(g, str_of(project), STR("make deploy"), true, &v), 0);
	assert_int_equal(v.action, VERDICT_NONE);
}

static void test_a_reload_looks_at_projects_afresh(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct verdict v;

	assert_int_equal(ask(g, STR("make deploy")), VERDICT_NONE);
	assert_int_equal(mkdir(in("home/project/.hookd"), 0755), 0);
	put("home/project/.hookd/config.json",
		"{\"guard\": {\"rules\": [{\"name\": \"ours\", \"decision\": \"deny\", "
		"\"regex\": \"deploy\"}]}}\n");
	assert_int_equal(ask(g, STR("make deploy")), VERDICT_NONE);
	assert_int_equal(guard_reload(g, NULL), 0);
	assert_int_equal(ask_in(g, str_of(project), STR("make deploy"), false, &v), -EAGAIN);
	assert_int_equal(ask(g, STR("make deploy")), VERDICT_DENY);
}

static void put_rule(const char *name, const char *rule)
{
	char text[256];

	snprintf(text, sizeof text,
		"{\"guard\": {\"rules\": [{\"name\": \"%s\", \"decision\": \"deny\", "
		"\"regex\": \"deploy\"}]}}\n",
		rule);
	put(name, text);
}

static void test_rules_hold_in_a_project_that_others_can_write(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	struct verdict v;

	assert_int_equal(mkdir(in("home/project/.hookd"), 0755), 0);
	put_rule("home/project/.hookd/config.json", "ours");
	assert_int_equal(chmod(project, 0775), 0);
	assert_int_equal(chmod(in("home/project/.hookd"), 0777), 0);
	assert_int_equal(chmod(in("home/project/.hookd/config.json"), 0666), 0);
	assert_int_equal(ask_in(g, str_of(project), STR("make deploy"), true, &v), 0);
	assert_int_equal(v.action, VERDICT_DENY);
	assert_true(str_eq(v.rule, STR("project.rule-1"))); /* its own name once it is trusted */
	assert_false(v.system_message.n);
}

static void test_the_person_hears_once_of_rules_that_are_not_in_force(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "{\"guard\": {\"rules\": [", "config.json:1:" },
		{ "{\"guard\": {\"rules\": [{\"name\": \"x\"}]}}", "config.json:1:22: see: hookd logs" },
		{ NULL, "link" },
	};

	assert_int_equal(mkdir(in("home/project/.hookd"), 0755), 0);
	for (size_t i = 0; i < countof(rows); i++) {
		_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
		struct verdict v;

		if (rows[i].text) {
			put("home/project/.hookd/config.json", rows[i].text);
		} else {
			assert_int_equal(unlink(in("home/project/.hookd/config.json")), 0);
			assert_int_equal(symlink("/etc/hostname", in("home/project/.hookd/config.json")), 0);
		}
		assert_int_equal(ask_in(g, str_of(project), STR("ls"), true, &v), 0);
		assert_int_equal(v.action, VERDICT_NONE);
		if (str_find(v.system_message, str_of(rows[i].words)) < 0)
			fail_msg("%zu: " STR_FMT, i, STR_ARG(v.system_message));
		assert_int_equal(ask_in(g, str_of(project), STR("ls"), true, &v), 0);
		assert_false(v.system_message.n);
	}
}

/* An event whose bytes are not there: whoever reads it faults. */
static void test_a_crash_while_judging_asks(void **state)
{
	_cleanup_(guard_freep) struct guard *g = guard_new(&paths);
	static const char *const modes[] = { "default", "bypassPermissions" };
	struct verdict v;

	for (size_t i = 0; i < countof(modes); i++) {
		struct event e = { .kind = EVENT_PRE_TOOL_USE,
			.tool_class = TOOL_SHELL,
			.tool_name = STR("Bash"),
			.cwd = str_of(project),
			.permission_mode = str_of(modes[i]),
			.command = str_n((const char *)(uintptr_t)64, 100),
			.raw = str_n((const char *)(uintptr_t)64, 100) };

		v = (struct verdict){ 0 };
		assert_int_equal(guard_event(g, &e, &arena, &v, true), 0);
		assert_int_equal(v.action, i ? VERDICT_DENY : VERDICT_ASK);
		assert_true(str_eq(v.rule, STR("hookd.crashed")));
		assert_non_null(v.rulings);
	}
	assert_int_equal(ask(g, STR("git push --force")), VERDICT_DENY);
}

/* -- many threads ------------------------------------------------------------------------------ */

enum { THREADS = 4, ROUNDS = 300 };

struct load {
	struct guard *g;
	int wrong;
};

static void *judge_again_and_again(void *arg)
{
	struct load *l = arg;
	struct arena a;

	arena_init(&a);
	for (int i = 0; i < ROUNDS; i++) {
		char cwd[FS_PATH + 32], command[64];
		struct event e = { .kind = EVENT_PRE_TOOL_USE, .tool_class = TOOL_SHELL, .tool_name = STR("Bash") };
		struct verdict v = { 0 };

		snprintf(cwd, sizeof cwd, "%s/src/d%d", project, i % 90);
		snprintf(command, sizeof command, "touch x%d; make deploy-%d", i, i);
		e.cwd = str_of(cwd);
		e.command = str_of(command);
		if (guard_event(l->g, &e, &a, &v, false) == -EAGAIN)
			(void)guard_event(l->g, &e, &a, &v, true);
		l->wrong += v.action != VERDICT_DENY || !str_eq(v.rule, STR("no-deploy"));
		arena_reset(&a);
	}
	arena_release(&a);
	return NULL;
}

static void test_threads_judge_while_the_policy_is_replaced(void **state)
{
	struct load loads[THREADS] = { 0 };
	pthread_t threads[THREADS];
	_cleanup_(guard_freep) struct guard *g = NULL;

	put("config.json",
		"{\"guard\": {\"rules\": [{\"name\": \"no-deploy\", \"decision\": \"deny\", "
		"\"regex\": \"make (deploy|x)+-[0-9]+$\"}]}}\n");
	g = guard_new(&paths);
	for (int i = 0; i < THREADS; i++) {
		loads[i].g = g;
		assert_int_equal(pthread_create(&threads[i], NULL, judge_again_and_again, &loads[i]), 0);
	}
	for (int i = 0; i < 50; i++)
		assert_int_equal(guard_reload(g, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(loads[i].wrong, 0);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_new_directory_needs_the_disk_once),
		T(test_links_are_looked_at_each_time),
		T(test_a_project_reached_by_a_link_is_the_project),
		T(test_without_an_answer_of_the_disk_changes_are_asked_about),
		T(test_more_paths_than_are_looked_up_are_asked_about),
		T(test_a_reload_brings_the_file_into_force),
		T(test_a_reload_looks_at_projects_afresh),
		T(test_rules_hold_in_a_project_that_others_can_write),
		T(test_the_person_hears_once_of_rules_that_are_not_in_force),
		T(test_a_crash_while_judging_asks),
		T(test_threads_judge_while_the_policy_is_replaced),
	};

	return cmocka_run_group_tests_name("guard_host", tests, NULL, NULL);
}
