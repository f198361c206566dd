/* Which project a directory belongs to. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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

#include "project/project.h"

static char top[FS_PATH];

static char *in(const char *name)
{
	static char paths[8][FS_PATH];
	static unsigned next;
	char *path = paths[next++ % 8];

	assert_int_equal(fs_join(path, top, name), 0);
	return path;
}

static void make_dirs(const char *const *names)
{
	for (; *names; names++)
		assert_int_equal(mkdir(in(*names), 0755), 0);
}

static void put(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

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
	char template[] = "/tmp/hookd-project-XXXXXX";
	char *real = realpath(mkdtemp(template), NULL);

	snprintf(top, sizeof top, "%s", real);
	free(real);
	return 0;
}

static int teardown(void **state)
{
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void expect(const char *directory, const char *home, const char *root, bool found)
{
	struct project p;

	assert_int_equal(project_find(directory, home, &p), 0);
	assert_string_equal(p.root, root);
	assert_int_equal(p.found, found);
}

static void test_nearest_checkout_is_the_root(void **state)
{
	make_dirs((const char *[]){ "a", "a/.git", "a/b", "a/b/.git", "a/b/c", "a/d", NULL });
	expect(in("a/b/c"), NULL, in("a/b"), true);
	expect(in("a/d"), NULL, in("a"), true);
	expect(in("a/d/"), NULL, in("a"), true);
}

static void test_checkout_wins_over_a_nearer_settings_directory(void **state)
{
	make_dirs((const char *[]){ "a", "a/.git", "a/b", "a/b/.claude", "a/b/c", "s", "s/.hookd", "s/t", "s/t/.claude",
		"s/t/u", NULL });
	expect(in("a/b/c"), NULL, in("a"), true);
	expect(in("s/t/u"), NULL, in("s/t"), true);
	put("s/f", "");
}

static void test_directory_in_no_project_is_its_own_root(void **state)
{
	make_dirs((const char *[]){ "plain", NULL });
	put("plain/.hookd", "a file is no directory of settings\n");
	expect(in("plain"), NULL, in("plain"), false);
}

static void test_home_and_what_holds_it_are_never_a_project(void **state)
{
	make_dirs((const char *[]){ ".git", "home", "home/.git", "home/.claude", "home/x", NULL });
	expect(in("home/x"), in("home"), in("home/x"), false);
	expect(in("home"), in("home"), in("home"), false);
	expect(top, in("home"), top, false);
	expect(in("home/x"), NULL, in("home"), true);
}

static void test_a_link_leads_to_the_real_project(void **state)
{
	struct project p;

	make_dirs((const char *[]){ "real", "real/.git", "real/src", NULL });
	assert_int_equal(symlink(in("real/src"), in("link")), 0);
	assert_int_equal(project_find(in("link"), NULL, &p), 0);
	assert_string_equal(p.root, in("real"));
	assert_string_equal(p.directory, in("real/src"));
}

static void test_a_directory_that_is_gone_belongs_to_its_parent(void **state)
{
	struct project p;

	make_dirs((const char *[]){ "a", "a/.git", NULL });
	assert_int_equal(project_find(in("a/gone/deep"), NULL, &p), 0);
	assert_string_equal(p.root, in("a"));
	assert_string_equal(p.directory, in("a/gone/deep"));
}

static void test_a_worktree_names_its_main_checkout(void **state)
{
	struct project p;

	make_dirs((const char *[]){ "w", "sub", NULL });
	put("w/.git", "gitdir: /repo/.git/worktrees/w\n");
	put("sub/.git", "gitdir: ../.git/modules/sub\n");
	assert_int_equal(project_find(in("w"), NULL, &p), 0);
	assert_string_equal(p.main, "/repo");
	assert_int_equal(project_find(in("sub"), NULL, &p), 0);
	assert_string_equal(p.main, "");
}

static void test_what_is_no_path_is_refused(void **state)
{
	char long_path[2 * FS_PATH];
	struct project p;

	memset(long_path, 'a', sizeof long_path - 1);
	long_path[0] = '/';
	long_path[sizeof long_path - 1] = 0;
	assert_int_equal(project_find("relative", NULL, &p), -EINVAL);
	assert_int_equal(project_find("", NULL, &p), -EINVAL);
	assert_int_equal(project_find(long_path, NULL, &p), -EINVAL);
	expect("/", NULL, "/", false);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_nearest_checkout_is_the_root),
		T(test_checkout_wins_over_a_nearer_settings_directory),
		T(test_directory_in_no_project_is_its_own_root),
		T(test_home_and_what_holds_it_are_never_a_project),
		T(test_a_link_leads_to_the_real_project),
		T(test_a_directory_that_is_gone_belongs_to_its_parent),
		T(test_a_worktree_names_its_main_checkout),
		T(test_what_is_no_path_is_refused),
	};

	return cmocka_run_group_tests_name("project", tests, NULL, NULL);
}
