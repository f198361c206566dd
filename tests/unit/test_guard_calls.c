/* Calls of tools in every shape an agent or a server may give them: judged or asked about, never passed over. The
 * commands here are only ever read. */
#include "test.h"

#include "agents/agents.h"
#include "guard/guard.h"
#include "wire/wire.h"

#define NONE VERDICT_NONE
#define ASK VERDICT_ASK
#define DENY VERDICT_DENY

struct row {
	const char *agent, *tool, *input; /* input: JSON, or NULL */
	enum verdict_action want;
};

static struct arena arena;

static struct event parse(const struct row *r)
{
	str body = arena_strf(&arena, "{\"session_id\":\"s\",\"cwd\":\"/home/dev/proj\",\"tool_name\":\"%s\"%s%s}",
		r->tool, r->input ? ",\"tool_input\":" : "", r->input ? r->input : "");
	struct wire_hook hook = { .agent = str_of(r->agent), .event = STR("PreToolUse"), .payload = body };
	struct event e;

	agent_parse(agent_find(hook.agent), &hook, &arena, &e);
	e.kind = EVENT_PRE_TOOL_USE;
	return e;
}

static enum verdict_action decide(const struct guard_policy *p, const struct row *r, str *ret_rule)
{
	struct guard_context c = { .cwd = STR("/home/dev/proj"), .home = STR("/home/dev") };
	struct event e = parse(r);
	struct verdict v = { 0 };

	assert_int_equal(guard_decide(p, &c, &e, &arena, &v, NULL), 0);
	*ret_rule = v.rule;
	return v.action;
}

static void check(const struct row *rows, size_t n)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		str rule;
		enum verdict_action got = decide(NULL, &rows[i], &rule);

		if (got == rows[i].want)
			continue;
		print_error("%s %s %s: %s (" STR_FMT "), not %s\n", rows[i].agent, rows[i].tool,
			rows[i].input ? rows[i].input : "", verdict_action_names[got], STR_ARG(rule),
			verdict_action_names[rows[i].want]);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

#define CHECK_ROWS(rows) check(rows, countof(rows))

static void test_commands_in_every_shape(void **state)
{
	static const struct row rows[] = {
		{ "claude", "Bash", "{\"command\":\"rm -rf /\"}", DENY },
		{ "claude", "Bash", "\"rm -rf /\"", DENY },
		{ "claude", "Bash", "\"{\\\"command\\\":\\\"rm -rf /\\\"}\"", DENY },
		{ "claude", "Bash", "\"\\\"{\\\\\\\"command\\\\\\\":\\\\\\\"rm -rf /\\\\\\\"}\\\"\"", DENY },
		{ "claude", "Bash", "\"{\\\"command\\\":\\\"rm -rf /\"", ASK },
		{ "claude", "Bash", "{\"command\":[\"rm\",\"-rf\",\"/\"]}", DENY },
		{ "claude", "Bash", "{\"command\":[\"bash\",\"-lc\",\"cd /; rm -rf *\"]}", DENY },
		{ "claude", "Bash", "[\"bash\",\"-lc\",\"rm -rf /\"]", DENY },
		{ "claude", "Bash", "[{\"command\":\"ls\"},{\"command\":\"rm -rf /\"}]", DENY },
		{ "claude", "Bash", "{\"commands\":[\"ls\",\"rm -rf /\"]}", DENY },
		{ "claude", "Bash", "{\"command\":\"rm\",\"args\":[\"-rf\",\"/\"]}", DENY },
		{ "claude", "Bash", "{\"command\":\"ls\",\"Command\":\"rm -rf /\"}", DENY },
		{ "claude", "Bash", "{\"command\":\"ls\",\"nested\":{\"deeper\":[{\"cmd\":\"rm -rf /\"}]}}", DENY },
		{ "claude", "Bash", "{\"command\":[\"ls\",\"-l\"]}", NONE },
		{ "claude", "Bash", "\"ls -l\"", NONE },
		{ "claude", "Bash", "{\"command\":\"git commit -m \\\"don't\\\"\",\"description\":\"rm -rf /\"}",
			NONE },
		{ "codex", "shell", "{\"command\":[\"bash\",\"-lc\",\"rm -rf /\"],\"workdir\":\"/tmp\"}", DENY },
		{ "codex", "exec_command", "{\"cmd\":\"rm -rf *\",\"workdir\":\"/home/dev\"}", DENY },
		{ "codex", "exec_command", "{\"cmd\":\"rm -rf build\",\"workdir\":\"/home/dev/proj\"}", NONE },
		{ "gemini", "run_shell_command", "{\"command\":\"rm -rf *\",\"dir_path\":\"/home/dev\"}", DENY },
		{ "gemini", "run_shell_command", "{\"command\":\"ls\",\"dir_path\":\"src\"}", NONE },
		{ "gemini", "run_shell_command", "{\"command\":\"rm -rf *\",\"directory\":\"/\"}", DENY },
	};

	CHECK_ROWS(rows);
}

static void test_where_a_command_ought_to_be_and_is_none(void **state)
{
	static const struct row rows[] = {
		{ "claude", "Bash", NULL, ASK },
		{ "claude", "Bash", "null", ASK },
		{ "claude", "Bash", "5", ASK },
		{ "claude", "Bash", "{}", ASK },
		{ "claude", "Bash", "[]", ASK },
		{ "claude", "Bash", "{\"command\":5}", ASK },
		{ "claude", "Bash", "{\"command\":\"\"}", ASK },
		{ "claude", "Write", "{}", ASK },
		{ "claude", "Write", "{\"content\":\"x\"}", ASK },
		{ "codex", "apply_patch", "{\"command\":\"*** Begin Patch\\n*** End Patch\"}", NONE },
		{ "codex", "apply_patch", "{\"command\":\"no patch\"}", ASK },
		{ "claude", "mcp__srv__run", "\"{\\\"command\\\":\\\"rm -rf /\"", ASK },
		{ "claude", "BashOutput", "{\"bash_id\":\"1\"}", NONE },
		{ "claude", "KillShell", "{\"shell_id\":\"1\"}", NONE },
		{ "claude", "mcp__srv__ping", NULL, NONE },
		{ "claude", "mcp__srv__ping", "{}", NONE },
	};

	CHECK_ROWS(rows);
}

static void test_tools_that_nobody_knows(void **state)
{
	static const struct row rows[] = {
		{ "claude", "mcp__sh__run", "{\"command\":\"rm -rf /\"}", DENY },
		{ "claude", "mcp__sh__run", "{\"command\":\"reboot\"}", DENY },
		{ "claude", "mcp__sh__run", "{\"cmd\":[\"rm\",\"-rf\",\"/\"]}", DENY },
		{ "claude", "mcp__sh__run", "{\"script\":\"cd /\\nrm -rf *\"}", DENY },
		{ "claude", "mcp__sh__run", "{\"args\":[\"rm\",\"-rf\",\"/\"]}", DENY },
		{ "claude", "mcp__sh__run", "{\"args\":[\"-c\",\"rm -rf /\"]}", ASK },
		{ "claude", "mcp__sh__run", "{\"arguments\":{\"options\":[{\"command\":\"rm -rf /\"}]}}", DENY },
		{ "claude", "mcp__sh__run", "{\"arguments\":\"{\\\"command\\\":\\\"rm -rf /\\\"}\"}", DENY },
		{ "claude", "mcp__sh__run", "{\"command\":\"rm -rf *\",\"cwd\":\"/home/dev\"}", DENY },
		{ "claude", "mcp__sh__run", "{\"args\":\"rm -rf /\"}", ASK },
		{ "claude", "SomeTool", "{\"command\":\"rm -rf /\"}", DENY },
		{ "generic", "exec", "{\"cmd\":\"rm -rf /\"}", DENY },
		{ "claude", "mcp__db__run", "{\"sql\":\"DROP TABLE users\"}", DENY },
		{ "claude", "mcp__db__run", "{\"request\":{\"sql\":\"SELECT 1; DELETE FROM users\"}}", DENY },
		{ "claude", "mcp__db__query", "{\"query\":\"DROP TABLE users\"}", DENY },
		{ "claude", "mcp__db__query", "{\"query\":\"SELECT 1; DROP TABLE users\"}", DENY },
		{ "claude", "mcp__db__query", "{\"sql\":\"SELECT * FROM users WHERE id = 1\"}", NONE },
		{ "claude", "mcp__web__search", "{\"query\":\"drop down menu; delete old rows\"}", NONE },
		{ "claude", "mcp__fs__read_file", "{\"path\":\"/home/dev/.ssh/id_rsa\"}", DENY },
		{ "claude", "mcp__fs__read_multiple_files", "{\"paths\":[\"a.c\",\"/home/dev/.ssh/id_rsa\"]}", DENY },
		{ "claude", "mcp__fs__load", "{\"files\":[{\"path\":\"a.c\"},{\"path\":\"~/.ssh/id_rsa\"}]}", DENY },
		{ "claude", "mcp__fs__open", "{\"uri\":\"file:///home/dev/.ssh/id_rsa\"}", DENY },
		{ "claude", "mcp__fs__write_file", "{\"path\":\"/etc/passwd\",\"content\":\"x\"}", DENY },
		{ "claude", "mcp__fs__write_file", "{\"path\":\"src/a.c\",\"content\":\"rm -rf /\"}", NONE },
		{ "claude", "mcp__fs__process", "{\"path\":\"/etc/passwd\"}", ASK },
		{ "claude", "mcp__fs__read_file", "{\"path\":\"/etc/hosts\"}", NONE },
		{ "claude", "mcp__fs__delete_directory", "{\"path\":\"/home/dev\"}", DENY },
		{ "claude", "mcp__fs__move_file", "{\"source\":\"a\",\"destination\":\"/etc/sudoers.d/x\"}", DENY },
		{ "claude", "mcp__git__apply",
			"{\"patch\":\"*** Begin Patch\\n  *** Update File: /etc/passwd\\n*** End Patch\"}", DENY },
		{ "claude", "mcp__git__apply", "{\"diff\":\"--- a/x\\n+++ /etc/passwd\\n@@ -1 +1 @@\\n\"}", DENY },
		{ "claude", "mcp__git__apply", "{\"diff\":\"--- a/src/x.c\\n+++ b/src/x.c\\n@@ -1 +1 @@\\n\"}", NONE },
		{ "claude", "Skill", "{\"skill\":\"x\",\"args\":\"don't (do) that\"}", NONE },
		{ "claude", "TodoWrite", "{\"todos\":[{\"content\":\"rm -rf /\",\"status\":\"pending\"}]}", NONE },
		{ "claude", "Task", "{\"prompt\":\"rm -rf /\",\"command\":\"rm -rf /\"}", NONE },
		{ "claude", "WebFetch", "{\"url\":\"https://x.example\",\"prompt\":\"rm -rf /\"}", NONE },
		{ "claude", "str_replace_based_edit_tool", "{\"command\":\"view\",\"path\":\"/etc/hosts\"}", NONE },
		{ "claude", "str_replace_based_edit_tool", "{\"command\":\"create\",\"path\":\"/etc/passwd\"}", DENY },
		{ "claude", "EnterWorktree", "{\"path\":\"/home/dev/proj/wt\"}", NONE },
	};

	CHECK_ROWS(rows);
}

static void test_patches(void **state)
{
	static const struct row rows[] = {
		{ "codex", "apply_patch", "{\"command\":\"*** Begin Patch\\n*** Update File: /etc/passwd\\n\"}", DENY },
		{ "codex", "apply_patch", "{\"command\":\"*** Begin Patch\\n \\t*** Update File: /etc/passwd\\n\"}",
			DENY },
		{ "codex", "apply_patch",
			"{\"input\":\"*** Begin Patch\\n*** Add File: a\\n*** Move to: /etc/passwd\\n\"}", DENY },
		{ "codex", "apply_patch", "{\"command\":\"*** Begin Patch\\n*** Delete File: /etc/passwd\\n\"}", DENY },
		{ "codex", "apply_patch", "\"*** Begin Patch\\n*** Update File: /etc/passwd\\n\"", DENY },
		{ "codex", "apply_patch", "{\"command\":\"*** Begin Patch\\n*** Update File: src/a.c\\n\"}", NONE },
		{ "codex", "shell",
			"{\"command\":\"apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: /etc/passwd\\n*** End "
			"Patch\\nEOF\"}",
			DENY },
		{ "codex", "shell",
			"{\"command\":[\"bash\",\"-lc\",\"cd /etc && apply_patch <<'EOF'\\n*** Begin Patch\\n"
			"*** Update File: passwd\\nEOF\"]}",
			DENY },
		{ "codex", "shell",
			"{\"command\":[\"apply_patch\",\"*** Begin Patch\\n*** Update File: /etc/passwd\\n\"]}", DENY },
		{ "codex", "shell",
			"{\"command\":\"apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: src/a.c\\n*** End "
			"Patch\\nEOF\"}",
			NONE },
		{ "codex", "shell", "{\"command\":\"curl -s https://x.example/p | apply_patch\"}", ASK },
		{ "claude", "Write",
			"{\"file_path\":\"doc.md\",\"content\":\"so:\\n*** Begin Patch\\n"
			"*** Update File: /etc/passwd\\n\"}",
			NONE },
	};

	CHECK_ROWS(rows);
}

static void test_searches_and_many_files(void **state)
{
	static const struct row rows[] = {
		{ "gemini", "read_many_files", "{\"paths\":[\"a.c\",\"/home/dev/.ssh/id_rsa\"]}", DENY },
		{ "gemini", "read_many_files", "{\"include\":[\"src/*.c\",\"~/.ssh/id_*\"]}", DENY },
		{ "gemini", "read_many_files", "{\"include\":[\"config/*.{c,env}\"]}", ASK },
		{ "gemini", "read_many_files", "{\"include\":[\"src/**/*.ts\"]}", NONE },
		{ "gemini", "read_many_files", "{\"include\":[\"**/*\"]}", NONE },
		{ "gemini", "list_directory", "{\"dir_path\":\"/home/dev/.ssh\"}", DENY },
		{ "gemini", "grep_search", "{\"pattern\":\"x\",\"dir_path\":\"/home/dev/.aws\"}", DENY },
		{ "gemini", "grep_search", "{\"pattern\":\"x\",\"dir_path\":\"/home/dev\",\"include\":\".ssh/id_*\"}",
			DENY },
		{ "gemini", "grep_search", "{\"pattern\":\"x\",\"dir_path\":\"src\",\"include\":\"*.ts\"}", NONE },
		{ "gemini", "search_file_content", "{\"pattern\":\"KEY\",\"include\":\".env*\"}", ASK },
		{ "claude", "Grep", "{\"pattern\":\"KEY\",\"glob\":\".env\"}", ASK },
		{ "claude", "Grep", "{\"pattern\":\"KEY\",\"glob\":\"*.{ts,tsx}\"}", NONE },
		{ "claude", "Grep", "{\"pattern\":\"x\",\"path\":\"/home/dev/.ssh\"}", DENY },
		{ "claude", "Glob", "{\"pattern\":\"**/.env*\"}", NONE },
		{ "claude", "Read", "{\"file_path\":\"/home/dev/.ssh/id_rsa\"}", DENY },
		{ "gemini", "read_file", "{\"absolute_path\":\"/home/dev/.ssh/id_rsa\"}", DENY },
		{ "cursor", "read_file", "{\"target_file\":\"/home/dev/.ssh/id_rsa\"}", DENY },
	};

	CHECK_ROWS(rows);
}

/* More of anything than is walked through is asked about. */
static void test_depth_and_number(void **state)
{
	static const struct {
		const char *head, *unit, *tail, *close;
	} shapes[] = {
		{ "", "{\"a\":", "{\"command\":\"rm -rf /\"}", "}" },
		{ "", "[", "{\"command\":\"rm -rf /\"}", "]" },
		{ "{\"a\":[", "{\"path\":\"src/a.c\"},", "{\"command\":\"rm -rf /\"}]}", "" },
		{ "{\"command\":[\"rm\",\"-f\",", "\"a\",", "\"/etc/passwd\"]}", "" },
		{ "{\"paths\":[", "\"a\",", "\"/home/dev/.ssh/id_rsa\"]}", "" },
		{ "{\"include\":[", "\"*.c\",", "\"~/.ssh/id_rsa\"]}", "" },
	};
	static const int sizes[] = { 1, 20, 30, 60, 1000 };

	for (size_t i = 0; i < countof(shapes); i++)
		for (size_t k = 0; k < countof(sizes); k++) {
			struct buf b = BUF_INIT(1 << 20);
			str rule;

			if (shapes[i].close[0] && sizes[k] > 100)
				continue; /* deeper than JSON may be: the payload as a whole is asked about */
			buf_add_str(&b, str_of(shapes[i].head));
			for (int n = 0; n < sizes[k]; n++)
				buf_add_str(&b, str_of(shapes[i].unit));
			buf_add_str(&b, str_of(shapes[i].tail));
			for (int n = 0; n < sizes[k]; n++)
				buf_add_str(&b, str_of(shapes[i].close));
			buf_add_char(&b, 0);
			if (decide(NULL, &(struct row){ "claude", "mcp__fs__read", b.p, ASK }, &rule) < VERDICT_ASK)
				fail_msg("shape %zu hides it behind %d", i, sizes[k]);
			buf_release(&b);
		}
}

/* Rules of the user about paths hold for every path of a call. */
static void test_user_rules_see_every_path(void **state)
{
	static const struct row rows[] = {
		{ "claude", "Read", "{\"file_path\":\"secret/x\"}", DENY },
		{ "gemini", "read_many_files", "{\"paths\":[\"a\",\"secret/x\"]}", DENY },
		{ "codex", "apply_patch",
			"{\"command\":\"*** Begin Patch\\n*** Update File: a\\n*** Update File: secret/x\\n\"}", DENY },
		{ "claude", "mcp__x__load", "{\"a\":[{\"file\":\"secret/x\"}]}", DENY },
		{ "claude", "mcp__x__load", "{\"a\":[{\"file\":\"open/x\"}]}", NONE },
	};
	struct guard_problem *problems;
	_cleanup_(guard_policy_unrefp) struct guard_policy *p = guard_policy_parse(
		STR("{\"guard\":{\"rules\":[{\"name\":\"a\",\"path\":\"secret/**\",\"decision\":\"deny\"}]}}"),
		&problems);
	str rule;

	assert_null(problems);
	for (size_t i = 0; i < countof(rows); i++)
		if (decide(p, &rows[i], &rule) != rows[i].want)
			fail_msg("%s %s", rows[i].tool, rows[i].input);
}

static void test_files_of_a_patch(void **state)
{
	static const struct {
		const char *text, *files;
	} rows[] = {
		{ "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b c\n*** Move to: d\n*** Delete File: e\n",
			"+a =b c >d -e " },
		{ "  *** Begin Patch\r\n\t*** Add File:a\r\n", "+a " },
		{ "--- a/x.c\t2026-01-01\n+++ b/x.c\t2026-01-02\n@@\n-y\n+z\n--- /dev/null\n+++ b/n\n--- a/o\n"
		  "+++ /dev/null\n",
			"=x.c +n -o " },
		{ "*** Begin Patch\n*** Update File: a\n+++ b/no\n", "=a " },
		{ "nothing", "" },
		{ "", "" },
	};
	static const char
		signs[] = { [PATCH_ADDS] = '+', [PATCH_UPDATES] = '=', [PATCH_DELETES] = '-', [PATCH_MOVES] = '>' };

	for (size_t i = 0; i < countof(rows); i++) {
		struct patch p = patch_open(str_of(rows[i].text));
		struct buf b = BUF_INIT(4096);
		struct patch_file f;

		while (patch_next(&p, &f))
			buf_addf(&b, "%c" STR_FMT " ", signs[f.change], STR_ARG(f.path));
		if (!str_eq(buf_str(&b), str_of(rows[i].files)))
			fail_msg("%zu: " STR_FMT, i, STR_ARG(buf_str(&b)));
		buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_in_every_shape),
		cmocka_unit_test(test_where_a_command_ought_to_be_and_is_none),
		cmocka_unit_test(test_tools_that_nobody_knows),
		cmocka_unit_test(test_patches),
		cmocka_unit_test(test_searches_and_many_files),
		cmocka_unit_test(test_depth_and_number),
		cmocka_unit_test(test_user_rules_see_every_path),
		cmocka_unit_test(test_files_of_a_patch),
	};
	int failed;

	arena_init(&arena);
	failed = cmocka_run_group_tests_name("guard_calls", tests, NULL, NULL);
	arena_release(&arena);
	return failed;
}
