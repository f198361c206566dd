/* install: a settings file keeps every byte that is not ours, and gets back every byte it had. */
#include <errno.h>
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

#include "base/limits.h"
#include "install/edit.h"
#include "install/install.h"
#include "json/json.h"

static char root[] = "/tmp/hookd-test-install-XXXXXX";
static char home[FS_PATH], state_dir[FS_PATH], settings[FS_PATH], claude_dir[FS_PATH];
static struct install_request request;
static struct arena arena;

static int run(const char *fmt, const char *arg)
{
	char command[2 * FS_PATH];

	snprintf(command, sizeof command, fmt, arg);
	return system(command);
}

/* Every test has a home of its own. */
static int set_up(void **state)
{
	(void)state;
	unsetenv("CLAUDE_CONFIG_DIR");
	snprintf(root, sizeof root, "/tmp/hookd-test-install-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	fs_join(home, root, "home");
	fs_join(state_dir, root, "state");
	fs_join(claude_dir, home, ".claude");
	fs_join(settings, claude_dir, "settings.json");
	request = (struct install_request){ .agent = agent_find(STR("claude")),
		.home = home,
		.hookc = "/opt/hookd/bin/hookc",
		.state = state_dir };
	arena_init(&arena);
	return mkdir(home, 0755);
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return run("rm -rf '%s'", root);
}

static void write_settings(const char *text)
{
	mkdir(claude_dir, 0755);
	assert_int_equal(fs_replace_file(settings, str_of(text), false), 0);
	assert_int_equal(chmod(settings, 0644), 0);
}

static str read_settings(void)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	str text;

	assert_int_equal(fs_read_file(settings, &b), 0);
	text = arena_str(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static struct install_plan add_plan(void)
{
	struct install_plan p;
	struct err err = { 0 };

	if (install_plan_add(&request, &arena, &p, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.col, err.text);
	return p;
}

static struct install_plan do_install(void)
{
	struct install_plan p = add_plan();
	struct err err = { 0 };

	if (install_apply(&request, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static struct install_plan do_uninstall(void)
{
	struct install_plan p;
	struct err err = { 0 };

	if (install_plan_remove(&request, &arena, &p, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.col, err.text);
	if (install_apply(&request, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

/* -- what can be asserted about any result ----------------------------------------------------- */

/* All of before in order, with insertions only; blanks in empty containers may go. */
static void assert_contains(str before, str after)
{
	size_t i = 0, j = 0;

	for (; i < before.n; i++) {
		while (j < after.n && after.p[j] != before.p[i])
			j++;
		if (j == after.n && !strchr(" \t\r\n", before.p[i]))
			fail_msg("lost from byte %zu: %s", i, before.p + i);
		if (j < after.n)
			j++;
	}
}

/* What init installs for Claude Code without --all-events. */
enum { DEFAULT_EVENTS = 28 };

static unsigned count_ours(const struct json *event)
{
	unsigned n = 0;

	json_each(group, event) {
		const struct json *entries = json_get(group, STR("hooks"));

		if (entries && entries->type == JSON_ARRAY)
			json_each(entry, entries)
				n += str_eq(json_str(json_get(entry, STR("command"))), str_of(request.hookc));
	}
	return n;
}

static void assert_installed(str text)
{
	struct json *tree;

	if (str_starts(text, STR("\xEF\xBB\xBF")))
		text = str_from(text, 3);
	assert_int_equal(json_parse(&arena, text, JSON_LENIENT_UTF8, &tree, NULL), 0);
	for (const struct agent_event *row = request.agent->events; row->native; row++) {
		struct json *event = json_path(tree, "hooks", row->native, NULL);

		assert_int_equal(event ? count_ours(event) : 0, row->flags & AGENT_EVENT_DEFAULT ? 1 : 0);
	}
	/* A person may have one there; ours would replace what the agent does itself. */
	assert_int_equal(count_ours(json_path(tree, "hooks", "WorktreeCreate", NULL)), 0);
}

#define OTHER "{\"type\":\"command\",\"command\":\"/usr/bin/other hook\"}"
#define OURS                                                                           \
	"{\"type\":\"command\",\"command\":\"/old/bin/hookc\",\"args\":[\"--dir\",\"/" \
	"old\",\"claude\",\"Stop\"],"                                                  \
	"\"timeout\":7}"

static const struct variant {
	const char *name, *text;
	bool foreign; /* it holds nothing of ours */
} variants[] = {
	{ "empty file", "", true },
	{ "blank file", " \n\n", true },
	{ "empty object", "{}", true },
	{ "empty object, newline", "{}\n", true },
	{ "empty object over lines", "{\n\n}\n", true },
	{ "two blanks", "{\n  \"model\": \"opus\",\n  \"env\": {\n    \"A\": \"b\"\n  }\n}\n", true },
	{ "four blanks", "{\n    \"env\": {\n        \"A\": \"b\"\n    },\n    \"model\": \"opus\"\n}", true },
	{ "tabs", "{\n\t\"env\": {\n\t\t\"A\": \"b\"\n\t}\n}\n", true },
	{ "CRLF", "{\r\n  \"env\": {\r\n    \"A\": \"b\"\r\n  }\r\n}\r\n", true },
	{ "byte order mark", "\xEF\xBB\xBF{\n  \"model\": \"opus\"\n}\n", true },
	{ "one line", "{\"model\":\"opus\",\"env\":{\"A\":\"b\"}}", true },
	{ "one line with blanks", "{\"model\": \"opus\", \"env\": {\"A\": \"b\"}}\n", true },
	{ "flush left", "{\n\"model\": \"opus\",\n\"env\": {\n\"A\": \"b\"\n}\n}\n", true },
	{ "hooks empty", "{\n  \"hooks\": {}\n}\n", true },
	{ "hooks empty first", "{\n  \"hooks\": { },\n  \"model\": \"opus\"\n}\n", true },
	{ "event empty", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n", true },
	{ "events doubled", "{\"hooks\":{\"Stop\":[],\"Stop\":[{\"hooks\":[" OTHER "]}]}}", true },
	{ "foreign on the same event",
		"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": "
		"\"Bash\",\n        \"hooks\": [\n"
		"          " OTHER "\n        ]\n      }\n    ]\n  },\n  \"z\": 1\n}\n",
		true },
	{ "foreign on one line", "{\"hooks\":{\"Stop\":[{\"hooks\":[" OTHER "]}]}}", true },
	{ "foreign on an event we do not want", "{\"hooks\":{\"WorktreeCreate\":[{\"hooks\":[" OTHER "]}]}}", true },
	{ "odd blanks",
		"{ \"permissions\" : {\"allow\":[\"Bash\" , \"Read\"]},\n\n\t\"env\":{ "
		"\"G\":\"gr\\u00fc\\u00df – 你好\" },\n"
		"      \"hooks\"  : {\n  \"PreToolUse\":[ {\"matcher\":\"Bash\",\n\"hooks\":[" OTHER "]}\n   ],\n"
		"    \"Stop\": [{\"hooks\": [" OTHER "]}]   },\n  \"days\":   99 , \"x\" : false}",
		true },
	{ "escapes and lone surrogates", "{\"a\\u0022\":\"\\ud800\\\"}{\",\"hoo\\u006bs\":{}}", true },
	{ "invalid UTF-8", "{\n  \"a\": \"\xff\xfe\"\n}\n", true },
	{ "hooks of other kinds",
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"x\"},5,null,"
		"\"hookc\"]},7,{\"hooks\":3},{}]}}",
		true },
	{ "words that look like ours",
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"grep hookc "
		"notes.txt\"},"
		"{\"type\":\"command\",\"command\":\"/bin/myhookc claude\"},"
		"{\"type\":\"command\",\"command\":\"tail hookc.log\"},"
		"{\"type\":\"command\",\"command\":\"log\",\"args\":[\"hookc\",\"claude\"]}]}]}}",
		true },
	{ "ours from another place", "{\"hooks\":{\"Stop\":[{\"hooks\":[" OURS "]}]}}", false },
	{ "ours beside a foreign one", "{\"hooks\":{\"Stop\":[{\"hooks\":[" OTHER "," OURS "]}]}}", false },
	{ "ours twice",
		"{\"hooks\":{\"Stop\":[{\"hooks\":[" OURS "," OURS "]},{\"matcher\":\"*\",\"hooks\":[" OURS "]}]}}",
		false },
	{ "ours in the shell form",
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"'/a "
		"b/hookc' --dir /s claude Stop\"}]}]}}",
		false },
};

static void check_variant(const struct variant *v)
{
	struct install_plan p;
	str original, first;

	write_settings(v->text);
	original = read_settings();
	p = do_install();
	assert_true(p.files[0].exists && p.files[0].added + p.files[0].changed > 0);
	first = read_settings();
	assert_true(str_eq(first, p.files[0].after));
	assert_installed(first);
	if (v->foreign)
		assert_contains(original, first);
	assert_int_equal(str_find(first, STR("\r\n")) >= 0, strchr(v->text, '\r') != NULL);
	if (strchr(v->text, '\r'))
		for (size_t i = 0; i < first.n; i++)
			assert_true(first.p[i] != '\n' || first.p[i - 1] == '\r');
	assert_int_equal(str_ends(first, STR("\n")), original.n == 0 || str_ends(original, STR("\n")));

	p = do_install();
	assert_true(install_plan_is_empty(&p) && p.files[0].added + p.files[0].changed + p.files[0].removed == 0);
	assert_true(str_eq(read_settings(), first));

	p = do_uninstall();
	assert_true(p.files[0].removed >= DEFAULT_EVENTS && !p.files[0].remove);
	if (v->foreign)
		assert_true(str_eq(read_settings(), original));
	else
		assert_int_equal(str_find(read_settings(), STR("hookc")), -1);
	p = do_uninstall();
	assert_true(install_plan_is_empty(&p));
}

static void every_layout_survives(void **state)
{
	for (size_t i = 0; i < countof(variants); i++) {
		if (i) {
			tear_down(state);
			set_up(state);
		}
		print_message("# %s\n", variants[i].name);
		check_variant(&variants[i]);
	}
}

/* Without the backup, taking ours out still leaves what was there. */
static void entries_come_out_without_a_backup(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(variants); i++) {
		struct install_counts n;
		str with, without;
		struct err err;
		str text = str_of(variants[i].text);

		if (!variants[i].foreign)
			continue;
		assert_int_equal(install_edit_add(&request, text, &arena, &with, &n, &err), 0);
		assert_int_equal(install_edit_remove(&request, with, text, &arena, &without, &n, &err), 0);
		assert_int_equal(str_find(without, STR("/opt/hookd")), -1);
		/* Byte for byte, unless an empty container had blanks inside. */
		if (!strstr(variants[i].text, "{ }") && text.n > 5 && variants[i].text[1] != '\n')
			assert_string_equal(without.p, variants[i].text);
	}
}

static const struct {
	const char *text;
	unsigned line, col;
	const char *says;
} broken[] = {
	{ "{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "expected ',' or '}'" },
	{ "{\n  // mine\n  \"a\": 1\n}", 2, 3, "plain JSON" },
	{ "{\n  \"a\": 1,\n}", 3, 1, "plain JSON" },
	{ "[]", 1, 1, "must contain an object" },
	{ "{\n \"hooks\": {},\n \"hooks\": {}\n}", 3, 11, "a second time" },
	{ "{ \"hooks\": [] }", 1, 12, "\"hooks\" must be an object" },
	{ "{ \"hooks\": null }", 1, 12, "\"hooks\" must be an object" },
	{ "{ \"hooks\": { \"Stop\": {} } }", 1, 22, "\"Stop\" must be an array" },
	{ "{\n\"a\": \"\n\"}", 2, 7, "control character" },
	{ "{\"a\":", 1, 6, "ends where a value should be" },
	{ "\x00\x01", 1, 1, "" },
};

static void broken_files_are_left_alone(void **state)
{
	struct install_plan p;

	(void)state;
	for (size_t i = 0; i < countof(broken); i++) {
		struct err err = { 0 };

		write_settings(i == countof(broken) - 1 ? "\x01\x01" : broken[i].text);
		assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EBADMSG);
		if (!strstr(err.text, broken[i].says) || err.line != broken[i].line || err.col != broken[i].col)
			fail_msg("%s\n%u:%u: %s", broken[i].text, err.line, err.col, err.text);
	}
}

static void deep_files_are_refused(void **state)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct install_plan p;
	struct err err = { 0 };

	(void)state;
	buf_add_str(&b, STR("{\"a\":"));
	for (int i = 0; i < 1000; i++)
		buf_add_char(&b, '[');
	write_settings(b.p);
	buf_release(&b);
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -E2BIG);
	assert_int_equal(err.line, 1);
}

static void layout_of_what_is_put_in(void **state)
{
	static const char stop[] = "{\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n";
	str after;

	(void)state;
	write_settings(stop);
	do_install();
	after = read_settings();
	assert_true(str_find(after,
			    STR("\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n"
				"\t\t\t\t\t\t\"type\": \"command\",\n"
				"\t\t\t\t\t\t\"command\": \"/opt/hookd/bin/hookc\",\n"
				"\t\t\t\t\t\t\"args\": [\"--dir\", \"")) > 0);
	assert_true(str_find(after,
			    STR("\", \"claude\", \"Stop\"],\n\t\t\t\t\t\t\"timeout\": 30\n\t\t\t\t\t}\n"
				"\t\t\t\t]\n\t\t\t}\n\t\t],\n\t\t\"SessionStart\": [\n")) > 0);
	assert_true(str_find(after, STR("\"SessionEnd\"],\n\t\t\t\t\t\t\"timeout\": 5\n")) > 0);
	assert_true(str_find(after, STR("\"PostToolUse\"],\n\t\t\t\t\t\t\"timeout\": 10\n")) > 0);
	assert_int_equal(str_find(after, STR("matcher")), -1);
	assert_int_equal(str_find(after, STR("Worktree")), -1);
}

/* -- files ------------------------------------------------------------------------------------- */

static void an_absent_file_comes_and_goes(void **state)
{
	struct install_plan p;
	struct stat st;

	(void)state;
	p = do_install();
	assert_false(p.files[0].exists);
	assert_installed(read_settings());
	assert_true(str_starts(read_settings(), STR("{\n  \"hooks\": {\n    \"SessionStart\": [\n")));
	assert_int_equal(stat(settings, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(claude_dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	p = do_uninstall();
	assert_true(p.files[0].remove);
	assert_int_equal(access(claude_dir, F_OK), -1);
	/* Nothing of it is left in the state directory either. */
	assert_int_equal(run("test -z \"$(ls '%s/install')\"", state_dir), 0);
}

static void a_directory_in_use_stays(void **state)
{
	(void)state;
	do_install();
	assert_int_equal(run("touch '%s/history'", claude_dir), 0);
	do_uninstall();
	assert_int_equal(access(settings, F_OK), -1);
	assert_int_equal(access(claude_dir, F_OK), 0);
}

/* The agent itself wrote our new file out again, in its own layout. */
static void a_made_file_goes_even_when_rewritten(void **state)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct json *tree;

	(void)state;
	do_install();
	assert_int_equal(json_parse(&arena, read_settings(), 0, &tree, NULL), 0);
	json_write(&b, tree);
	write_settings(b.p);
	buf_release(&b);
	assert_true(do_uninstall().files[0].remove);
	assert_int_equal(access(settings, F_OK), -1);
}

static void mode_and_link_are_kept(void **state)
{
	char target[FS_PATH];
	struct stat st;

	(void)state;
	fs_join(target, root, "dotfiles.json");
	assert_int_equal(fs_replace_file(target, STR("{ \"a\" : 1 }"), false), 0);
	assert_int_equal(chmod(target, 0640), 0);
	mkdir(claude_dir, 0755);
	assert_int_equal(symlink("../../dotfiles.json", settings), 0);
	do_install();
	assert_int_equal(lstat(settings, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_installed(read_settings());
	do_uninstall();
	assert_int_equal(lstat(settings, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_string_equal(read_settings().p, "{ \"a\" : 1 }");
}

static void what_is_no_file_is_refused(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	mkdir(claude_dir, 0755);
	assert_int_equal(mkfifo(settings, 0600), 0);
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EINVAL);
	assert_int_equal(unlink(settings), 0);
	assert_int_equal(mkdir(settings, 0700), 0);
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EISDIR);
	assert_int_equal(rmdir(settings), 0);
	assert_int_equal(symlink("nowhere", settings), 0);
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -ELOOP);
	assert_non_null(strstr(err.text, "a dangling link"));
}

static void a_change_in_between_is_noticed(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	write_settings("{}");
	p = add_plan();
	write_settings("{\"a\":1}");
	assert_int_equal(install_apply(&request, &p, &err), -ESTALE);
	assert_string_equal(read_settings().p, "{\"a\":1}");
	p = add_plan();
	assert_int_equal(unlink(settings), 0);
	assert_int_equal(install_apply(&request, &p, &err), -ESTALE);
	assert_int_equal(access(settings, F_OK), -1);
}

/* -- changes by others between install and uninstall ------------------------------------------- */

/* The text with "\"new\": true" put in front by somebody. */
static void somebody_edits(void)
{
	str now = read_settings();
	str edited = arena_strf(&arena, "{ \"new\": true," STR_FMT, STR_ARG(str_from(now, 1)));

	write_settings(edited.p);
}

static void changes_of_others_survive_uninstall(void **state)
{
	(void)state;
	write_settings("{\n  \"a\": 1\n}\n");
	do_install();
	somebody_edits();
	do_uninstall();
	assert_string_equal(read_settings().p, "{ \"new\": true,\n  \"a\": 1\n}\n");
}

static void changes_of_others_survive_a_second_install(void **state)
{
	(void)state;
	write_settings("{\n  \"a\": 1,\n  \"hooks\": {}\n}\n");
	do_install();
	somebody_edits();
	request.hookc = "/usr/bin/hookc";
	assert_int_equal(do_install().files[0].changed, DEFAULT_EVENTS);
	assert_installed(read_settings());
	do_uninstall();
	/* The empty "hooks" was there before us. */
	assert_string_equal(read_settings().p, "{ \"new\": true,\n  \"a\": 1,\n  \"hooks\": {}\n}\n");
}

static void a_moved_hookc_is_rewritten_in_place(void **state)
{
	struct install_plan p;
	str before;

	(void)state;
	write_settings("{ \"a\": [1, 2] }\n");
	do_install();
	before = read_settings();
	request.hookc = "/usr/bin/hookc";
	request.state = "/var/other";
	p = add_plan();
	assert_int_equal(p.files[0].changed, DEFAULT_EVENTS);
	assert_int_equal(p.files[0].added + p.files[0].removed, 0);
	assert_int_equal(str_find(p.files[0].after, STR("/opt/hookd")), -1);
	request.state = state_dir;
	p = do_install();
	assert_int_equal(p.files[0].changed, DEFAULT_EVENTS);
	assert_true(before.n > p.files[0].after.n);
	assert_installed(read_settings());
	do_uninstall();
	assert_string_equal(read_settings().p, "{ \"a\": [1, 2] }\n");
}

static void a_timeout_somebody_chose_stays(void **state)
{
	(void)state;
	write_settings("{\"hooks\":{\"Stop\":[{\"hooks\":[" OURS "]}]}}");
	do_install();
	assert_true(str_find(read_settings(), STR("\"Stop\"],\"timeout\":7}")) > 0);
}

static void entries_behind_a_matcher_are_a_persons_choice(void **state)
{
	str after;

	(void)state;
	write_settings("{\"hooks\":{\"Stop\":[{\"matcher\":\"A\",\"hooks\":[" OURS
		       "]},{\"matcher\":\"B\",\"hooks\":[" OURS "]}]}}");
	do_install();
	after = read_settings();
	assert_true(str_find(after,
			    STR("\"A\",\"hooks\":[{\"type\":\"command\",\"command\":\"/opt/"
				"hookd/bin/hookc\"")) > 0);
	assert_true(str_find(after,
			    STR("\"B\",\"hooks\":[{\"type\":\"command\",\"command\":\"/opt/"
				"hookd/bin/hookc\"")) > 0);
	do_uninstall();
	assert_string_equal(read_settings().p, "{}");
}

/* Somebody took our entries out by hand; what is there then is the new original. */
static void a_second_beginning(void **state)
{
	(void)state;
	write_settings("{ \"a\": 1 }");
	do_install();
	write_settings("{  \"b\":2  }");
	do_install();
	do_uninstall();
	assert_string_equal(read_settings().p, "{  \"b\":2  }");
}

static void a_damaged_backup_is_not_trusted(void **state)
{
	(void)state;
	write_settings("{\n  \"a\": 1\n}\n");
	do_install();
	assert_int_equal(run("for f in '%s'/install/*.orig; do echo '{}' >\"$f\"; done", state_dir), 0);
	do_uninstall();
	assert_string_equal(read_settings().p, "{\n  \"a\": 1\n}\n");
}

/* -- the rest ---------------------------------------------------------------------------------- */

static void project_and_other_agents(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	request.project = root;
	p = add_plan();
	assert_true(str_ends(str_of(p.files[0].path), STR("/.claude/settings.local.json")));
	assert_true(str_starts(str_of(p.files[0].path), str_of(root)));
	request.agent = agent_find(STR("generic"));
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EOPNOTSUPP);
	assert_false(install_agent_found(&request));
	request.agent = agent_find(STR("claude"));
	request.project = NULL;
	request.home = NULL;
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EINVAL);
	request.home = home;
	request.hookc = "/tmp/\xff/hookc";
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EINVAL);
	request.hookc = "bin/hookc";
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EINVAL);
}

static void agents_are_found(void **state)
{
	char *path = strdup(getenv("PATH"));

	(void)state;
	setenv("PATH", "/nowhere::.", 1);
	assert_false(install_agent_found(&request));
	mkdir(claude_dir, 0755);
	assert_true(install_agent_found(&request));
	assert_int_equal(rmdir(claude_dir), 0);
	setenv("PATH", home, 1);
	assert_false(install_agent_found(&request));
	setenv("PATH", path, 1);
	assert_int_equal(run("printf '#!/bin/sh\\n' >'%s/claude'", home), 0);
	assert_int_equal(run("chmod +x '%s/claude'", home), 0);
	setenv("PATH", home, 1);
	assert_true(install_agent_found(&request));
	setenv("PATH", path, 1);
	free(path);
}

static void the_config_directory_can_be_elsewhere(void **state)
{
	struct install_plan p;

	(void)state;
	setenv("CLAUDE_CONFIG_DIR", root, 1);
	p = add_plan();
	assert_true(str_starts(str_of(p.files[0].path), str_of(root)));
	assert_true(str_ends(str_of(p.files[0].path), STR("/settings.json")));
	assert_int_equal(str_find(str_of(p.files[0].path), STR(".claude")), -1);
	unsetenv("CLAUDE_CONFIG_DIR");
}

static void entries_are_listed(void **state)
{
	struct install_entry *list;
	struct err err;
	unsigned n = 0;

	(void)state;
	assert_int_equal(install_list(&request, &arena, &list, &err), 0);
	assert_null(list);
	write_settings("{\"hooks\":{\"Stop\":[{\"hooks\":[" OTHER "," OURS "]}]}}");
	assert_int_equal(install_list(&request, &arena, &list, &err), 0);
	assert_true(str_eq(list->event, STR("Stop")) && !list->current && !list->next);
	assert_int_equal(list->nargs, 4);
	assert_true(str_eq(list->args[1], STR("/old")));
	do_install();
	assert_int_equal(install_list(&request, &arena, &list, &err), 0);
	for (; list; list = list->next, n++)
		assert_true(list->current);
	assert_int_equal(n, DEFAULT_EVENTS);
}

static void the_diff_shows_the_change(void **state)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct install_plan p;

	(void)state;
	write_settings("{\n  \"a\": 1\n}\n");
	p = add_plan();
	install_write_diff(&p.files[0], &b);
	assert_true(str_starts(buf_str(&b), STR("--- /")));
	assert_non_null(strstr(b.p, "\n@@ -1,3 +1,"));
	assert_non_null(strstr(b.p, "\n {\n-  \"a\": 1\n+  \"a\": 1,\n+  \"hooks\": {\n"));
	do_install();
	buf_clear(&b);
	p = add_plan();
	install_write_diff(&p.files[0], &b);
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_layout_survives),
		TEST(entries_come_out_without_a_backup),
		TEST(broken_files_are_left_alone),
		TEST(deep_files_are_refused),
		TEST(layout_of_what_is_put_in),
		TEST(an_absent_file_comes_and_goes),
		TEST(a_directory_in_use_stays),
		TEST(a_made_file_goes_even_when_rewritten),
		TEST(mode_and_link_are_kept),
		TEST(what_is_no_file_is_refused),
		TEST(a_change_in_between_is_noticed),
		TEST(changes_of_others_survive_uninstall),
		TEST(changes_of_others_survive_a_second_install),
		TEST(a_moved_hookc_is_rewritten_in_place),
		TEST(a_timeout_somebody_chose_stays),
		TEST(entries_behind_a_matcher_are_a_persons_choice),
		TEST(a_second_beginning),
		TEST(a_damaged_backup_is_not_trusted),
		TEST(project_and_other_agents),
		TEST(agents_are_found),
		TEST(the_config_directory_can_be_elsewhere),
		TEST(entries_are_listed),
		TEST(the_diff_shows_the_change),
	};

	return cmocka_run_group_tests_name("install", tests, NULL, NULL);
}
