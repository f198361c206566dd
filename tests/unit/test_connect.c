/* install for agents whose hooks are shell lines: Codex with two files and trust, Gemini with
 * milliseconds. What holds for every agent is in test_install.c. */
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

static char root[] = "/tmp/hookd-test-connect-XXXXXX";
static char home[FS_PATH], state_dir[FS_PATH];
static struct install_request request;
static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	unsetenv("CODEX_HOME");
	unsetenv("GEMINI_CLI_HOME");
	snprintf(root, sizeof root, "/tmp/hookd-test-connect-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	fs_join(home, root, "home");
	fs_join(state_dir, root, "state");
	request = (struct install_request){ .agent = agent_find(STR("codex")),
		.home = home,
		.hookc = "/opt/hookd/bin/hookc",
		.state = state_dir };
	arena_init(&arena);
	return mkdir(home, 0755);
}

static int tear_down(void **state)
{
	char command[FS_PATH];

	(void)state;
	arena_release(&arena);
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command);
}

static const char *in_home(const char *name)
{
	return arena_strf(&arena, "%s/%s", home, name).p;
}

static void put(const char *name, const char *text)
{
	const char *path = in_home(name);
	str dir = str_head(str_of(path), (size_t)(strrchr(path, '/') - path));

	mkdir(arena_cstr(&arena, dir), 0755);
	assert_int_equal(fs_replace_file(path, str_of(text), false), 0);
}

static const char *get(const char *name)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	const char *text;

	assert_int_equal(fs_read_file(in_home(name), &b), 0);
	text = arena_cstr(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static bool is_there(const char *name)
{
	return access(in_home(name), F_OK) == 0;
}

static struct install_plan do_plan(
	int (*plan)(const struct install_request *, struct arena *, struct install_plan *, struct err *))
{
	struct install_plan p;
	struct err err = { 0 };

	if (plan(&request, &arena, &p, &err) < 0 || install_apply(&request, &p, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.col, err.text);
	return p;
}

static struct install_plan do_install(void)
{
	return do_plan(install_plan_add);
}

static struct install_plan do_uninstall(void)
{
	return do_plan(install_plan_remove);
}

/* The only entry of ours on an event. */
static struct json *entry_of(const char *name, unsigned flags, const char *event, size_t *ret_place)
{
	struct json *tree, *found = NULL;
	size_t place = 0;

	assert_int_equal(json_parse(&arena, str_of(get(name)), flags, &tree, NULL), 0);
	json_each(group, json_path(tree, "hooks", event, NULL)) {
		json_each(entry, json_get(group, STR("hooks")))
			if (str_find(json_str(json_get(entry, STR("command"))), STR("hookc")) >= 0) {
				assert_null(found);
				found = entry;
				*ret_place = place;
			}
		place++;
	}
	return found;
}

static void assert_entry(const char *name, unsigned flags, const char *event, int64_t timeout)
{
	size_t place;
	struct json *entry = entry_of(name, flags, event, &place);
	int64_t got = 0;

	assert_non_null(entry);
	assert_string_equal(arena_cstr(&arena, json_str(json_get(entry, STR("command")))),
		arena_strf(&arena, "/opt/hookd/bin/hookc --dir %s %s %s%s", state_dir, request.agent->name, event,
			strcmp(request.agent->name, "gemini") == 0 ? " 2>/dev/null || exit 0" : "")
			.p);
	assert_null(json_get(entry, STR("args")));
	assert_true(json_int(json_get(entry, STR("timeout")), &got));
	assert_int_equal(got, timeout);
}

/* -- Codex ------------------------------------------------------------------------------------- */

#define HOOKS ".codex/hooks.json"
#define CONFIG ".codex/config.toml"
enum { CODEX_EVENTS = 12, GEMINI_EVENTS = 7, GEMINI_ALL = 11 };

static void codex_gets_hooks_and_notify(void **state)
{
	struct install_plan p;

	(void)state;
	p = do_install();
	assert_int_equal(p.n, 2);
	assert_true(p.files[0].added == CODEX_EVENTS && p.files[1].added == 1);
	assert_entry(HOOKS, 0, "PreToolUse", 30);
	assert_entry(HOOKS, 0, "PostToolUse", 10);
	assert_entry(HOOKS, 0, "SessionEnd", 3);
	assert_entry(HOOKS, 0, "Interrupt", 3);
	assert_string_equal(get(CONFIG),
		arena_strf(&arena, "notify = [\"/opt/hookd/bin/hookc\", \"--dir\", \"%s\", \"codex\", \"notify\"]\n",
			state_dir)
			.p);
	p = do_install();
	assert_true(install_plan_is_empty(&p));
	/* Both files and the directory were made by us. */
	p = do_uninstall();
	assert_true(p.files[0].remove && p.files[1].remove);
	assert_false(is_there(".codex"));
}

static void both_files_come_back_byte_for_byte(void **state)
{
	static const char hooks[] = "{ \"description\":\"mine\",\r\n  \"hooks\" :{\"Stop\":[ {\"hooks\":[\r\n"
				    "{\"type\":\"command\",\"command\":\"x\"}]}]}}",
			  config[] = "model = 'x' # c\r\n\r\n[projects.\"/a b\"]\r\ntrust_level = \"trusted\"";
	size_t place;

	(void)state;
	put(HOOKS, hooks);
	put(CONFIG, config);
	do_install();
	/* Behind what was there: trust is kept by position. */
	assert_non_null(entry_of(HOOKS, 0, "Stop", &place));
	assert_int_equal(place, 1);
	assert_non_null(strstr(get(CONFIG), "# c\r\nnotify = ["));
	do_uninstall();
	assert_string_equal(get(HOOKS), hooks);
	assert_string_equal(get(CONFIG), config);
}

/* Codex itself writes into config.toml when the person trusts the hooks. */
static void what_codex_writes_meanwhile_stays(void **state)
{
	static const char trust[] = "\n[hooks.state]\n";

	(void)state;
	put(CONFIG, "model = \"x\"\n");
	do_install();
	put(CONFIG, arena_strf(&arena, "%s%s", get(CONFIG), trust).p);
	do_uninstall();
	assert_string_equal(get(CONFIG), "model = \"x\"\n\n[hooks.state]\n");
	assert_false(is_there(HOOKS));
}

static void paths_are_quoted_when_they_must_be(void **state)
{
	struct install_entry *list;
	size_t place;

	(void)state;
	request.hookc = "/opt/o'neil $x/hookc";
	do_install();
	assert_string_equal(arena_cstr(&arena, json_str(json_get(entry_of(HOOKS, 0, "Stop", &place), STR("command")))),
		arena_strf(&arena, "'/opt/o'\\''neil $x/hookc' --dir %s codex Stop", state_dir).p);
	assert_int_equal(install_list(&request, &arena, &list, NULL), 0);
	assert_true(list->current && list->shell);
	/* The same line, by another hookc: in place. */
	request.hookc = "/usr/bin/hookc";
	assert_int_equal(do_install().files[0].changed, CODEX_EVENTS);
	assert_int_equal(install_list(&request, &arena, &list, NULL), 0);
	assert_true(list->current);
}

/* Somebody's hook came after ours: it moves when ours go, and is no longer trusted there. */
static void moved_hooks_are_told(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	put(HOOKS,
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"hookc codex\"}]},"
		"{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}");
	assert_int_equal(install_plan_remove(&request, &arena, &p, &err), 0);
	assert_non_null(strstr(p.files[0].note.p, "hooks of Stop move up"));
	put(HOOKS,
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]},"
		"{\"hooks\":[{\"type\":\"command\",\"command\":\"hookc codex\"}]}]}}");
	assert_int_equal(install_plan_remove(&request, &arena, &p, &err), 0);
	assert_false(str_is_set(p.files[0].note));
}

static void notes_are_made(void **state)
{
	struct install_plan p;

	(void)state;
	put(HOOKS, "{\n  \"$schema\": \"x\",\n  \"hooks\": {}\n}\n");
	put(CONFIG, "notify = [\"say\", \"done\"]\n");
	p = do_install();
	assert_non_null(strstr(p.files[0].note.p, "line 2: \"$schema\""));
	assert_non_null(strstr(p.files[1].note.p, "already used by say done"));
	assert_true(p.files[1].unused && p.files[0].added == CODEX_EVENTS);
	assert_string_equal(get(CONFIG), "notify = [\"say\", \"done\"]\n");
	do_uninstall();
	assert_string_equal(get(CONFIG), "notify = [\"say\", \"done\"]\n");
}

static void broken_toml_stops_everything(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	put(CONFIG, "a = 1\nb = [\n");
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), -EBADMSG);
	assert_int_equal(err.line, 3);
	assert_non_null(strstr(p.files[p.n - 1].path, "config.toml"));
	assert_false(is_there(HOOKS));
}

static void one_stale_file_stops_both(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	put(HOOKS, "{}");
	put(CONFIG, "a = 1\n");
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), 0);
	put(CONFIG, "a = 2\n");
	assert_int_equal(install_apply(&request, &p, &err), -ESTALE);
	assert_string_equal(get(HOOKS), "{}");
}

static void a_project_has_hooks_alone(void **state)
{
	struct install_plan p;

	(void)state;
	request.project = home;
	p = do_install();
	assert_int_equal(p.n, 1);
	assert_true(is_there(HOOKS) && !is_there(CONFIG));
	do_uninstall();
	assert_false(is_there(".codex"));
}

static void paths_can_be_elsewhere(void **state)
{
	struct install_plan p;
	struct err err;

	(void)state;
	setenv("CODEX_HOME", "/elsewhere/c", 1);
	setenv("GEMINI_CLI_HOME", "/elsewhere/g", 1);
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), 0);
	assert_string_equal(p.files[0].path, "/elsewhere/c/hooks.json");
	assert_string_equal(p.files[1].path, "/elsewhere/c/config.toml");
	request.agent = agent_find(STR("gemini"));
	assert_int_equal(install_plan_add(&request, &arena, &p, &err), 0);
	assert_string_equal(p.files[0].path, "/elsewhere/g/.gemini/settings.json");
	unsetenv("CODEX_HOME");
	unsetenv("GEMINI_CLI_HOME");
}

/* -- trust ------------------------------------------------------------------------------------- */

#define ODD(event) "{\"type\":\"command\",\"command\":\"/opt/a b/hookc 'x' ü \\\"q\\\" \\\\ " event "\",\"timeout\":30}"
#define MATCHED(event) "{\"matcher\":\"startup\",\"hooks\":[" ODD(event) "]}"
#define BARE "{\"hooks\":[{\"type\":\"command\",\"command\":\"hookc\"}]}"
#define FULL                                                                                          \
	"{\"hooks\":[{\"type\":\"command\",\"command\":\"hookc codex\",\"timeout\":0,\"async\":true," \
	"\"statusMessage\":\"hm\",\"additionalContextLimit\":0,\"commandWindows\":\"x.exe\"}]}"

/* What Codex 0.166.0 itself said about these entries (hooks/list of its app-server). */
static const struct {
	const char *event, *group, *hash;
} hashes[] = {
	{ "PreToolUse", MATCHED("PreToolUse"), "36f6ee310b7e448c55f0228dc791139530d5ee0e5ba551d33e4871bec1f2d1f3" },
	{ "PreToolUse", BARE, "cbc04834570426b92b63c66d7d953a125e326e2d3adbb5a2934728775860ff24" },
	{ "PreToolUse", FULL, "e4cee2625c6612d853fd45e54b9b5c7ddea5819e374d8f48069e3e0040bd1588" },
	{ "PermissionRequest", FULL, "126785c1f20a2810e20f0f48ca55794e347f41d0ad7e3743cc04631a356bb3b6" },
	{ "PostToolUse",
		"{\"hooks\":[{\"type\":\"command\",\"command\":\"hookc codex\",\"timeout\":2,"
		"\"additionalContextLimit\":2500}]}",
		"ae6969b3fe75aac44b679f1cef36fb346064a4b0358e8a8515572c43aff954e2" },
	{ "SessionStart",
		"{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"hookc\\tt\",\"timeout\":3}]}",
		"e5db3dc7d726945247c081db289350f5e7f2fc770648c9d0b514d287518031ff" },
	{ "SessionEnd", MATCHED("SessionEnd"), "82b9a59e16233f8f31973a90518145db249d1943465b95b21219758010304c5b" },
	{ "SessionEnd", BARE, "225b574c63832dba194b0bd63a21ff5aa2cce24687954ab6524e2d35a50ef97c" },
	{ "UserPromptSubmit", MATCHED("UserPromptSubmit"),
		"e34853d77f0cba6ecf0ad35630ef639bf8ede3be2b2cdb575fc1059319a0653e" },
	{ "SubagentStop", FULL, "d03a2131c404a2591eb4f0ad9c5cc7b8277629e3f224e2280fb945ac960fe261" },
	{ "Stop", MATCHED("Stop"), "643d88bc798fa82bba36382b819aeed255647aaed503ef3ea226f848fe06724f" },
	{ "Interrupt", BARE, "67c3ea6e14a1a66348c9b2557f9c98e13979189f8cfafcd57a001be30cf81331" },
	{ "Interrupt", MATCHED("Interrupt"), "f9a8d9e83cae3a4180922d1e336675e9776cdfd138084b9af7eff5f16602d467" },
};

static void hashes_are_those_of_codex(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(hashes); i++) {
		struct json *group;
		struct install_entry e = { .event = str_of(hashes[i].event) };

		assert_int_equal(json_parse(&arena, str_of(hashes[i].group), 0, &group, NULL), 0);
		e.group = group;
		e.entry = json_first(json_get(group, STR("hooks")));
		e.command = json_str(json_get(e.entry, STR("command")));
		assert_string_equal(install_trust_hash(&e, &arena).p,
			arena_strf(&arena, "sha256:%s", hashes[i].hash).p);
	}
}

static struct install_entry *listed(void)
{
	struct install_entry *list;

	assert_int_equal(install_list(&request, &arena, &list, NULL), 0);
	assert_non_null(list);
	return list;
}

/* The state of an entry, as the agent or a person may write it. */
static void trust(const char *fmt, const struct install_entry *e, const char *event)
{
	const char *key = arena_strf(&arena, "%s:%s:%u:%u", in_home(HOOKS), event, e->place[0], e->place[1]).p;

	put(CONFIG, arena_strf(&arena, fmt, key, install_trust_hash(e, &arena).p).p);
}

static void trust_is_read_in_every_form(void **state)
{
	static const char *const forms[] = {
		"[hooks.state.\"%s\"]\ntrusted_hash = \"%s\"\n",
		"[hooks.state]\n\"%s\" = { trusted_hash = '%s' }\n",
		"hooks.state.'%s'.trusted_hash = \"\"\"\n%s\"\"\"\n",
		"[hooks]\nstate = { \"%s\" = { enabled = true, trusted_hash = \"%s\" } }\n",
	};
	struct install_entry *list;

	(void)state;
	put(HOOKS, "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}");
	do_install();
	list = listed();
	assert_true(str_eq(list->event, STR("SessionStart")) && list->place[0] == 1 && list->place[1] == 0);
	assert_int_equal(list->trust, INSTALL_UNTRUSTED);
	for (size_t i = 0; i < countof(forms); i++) {
		trust(forms[i], list, "session_start");
		list = listed();
		assert_int_equal(list->trust, INSTALL_TRUSTED);
		assert_int_equal(list->next->trust, INSTALL_UNTRUSTED);
	}
}

static void trust_of_something_else_is_none(void **state)
{
	static const char *const forms[] = {
		"[hooks.state.\"%sx\"]\ntrusted_hash = \"%s\"\n",
		"[hooks.state.\"%s\"]\ntrusted_hash = \"%s0\"\n",
		"[[hooks.other.\"%s\"]]\ntrusted_hash = \"%s\"\n",
		"[hooks.state.\"%s\"]\ntrusted_hash = [\"%s\"]\n",
		"[hooks.state.\"%s\"]\ntrusted_hash = \"%s\"\n]",
	};
	struct install_entry *list;

	(void)state;
	do_install();
	list = listed();
	for (size_t i = 0; i < countof(forms) - 1; i++) {
		trust(forms[i], list, "session_start");
		assert_int_equal(listed()->trust, INSTALL_UNTRUSTED);
	}
	trust("[hooks.state.\"%s\"]\nenabled = false\ntrusted_hash = \"%s\"\n", list, "session_start");
	assert_int_equal(listed()->trust, INSTALL_DISABLED);
	put(CONFIG, "[features]\nhooks = false\n");
	assert_int_equal(listed()->trust, INSTALL_DISABLED);
	/* A changed line is another hook. */
	trust("[hooks.state.\"%s\"]\ntrusted_hash = \"%s\"\n", list, "session_start");
	assert_int_equal(listed()->trust, INSTALL_TRUSTED);
	request.hookc = "/usr/bin/hookc";
	do_install();
	assert_int_equal(listed()->trust, INSTALL_UNTRUSTED);
}

/* -- Gemini ------------------------------------------------------------------------------------ */

#define SETTINGS ".gemini/settings.json"

static void gemini_gets_named_hooks(void **state)
{
	static const char settings[] = "{\n  // mine\n  \"ui\": { \"theme\": \"x\" }, /* more */\n"
				       "  \"hooks\": { \"disabled\": [\"a\"] } // end\n}\n";
	struct install_plan p;
	struct json *entry;
	size_t place;

	(void)state;
	request.agent = agent_find(STR("gemini"));
	put(SETTINGS, settings);
	p = do_install();
	assert_true(p.n == 1 && p.files[0].added == GEMINI_EVENTS);
	assert_entry(SETTINGS, JSON_COMMENTS, "BeforeTool", 30000);
	assert_entry(SETTINGS, JSON_COMMENTS, "AfterTool", 10000);
	assert_entry(SETTINGS, JSON_COMMENTS, "SessionEnd", 5000);
	entry = entry_of(SETTINGS, JSON_COMMENTS, "AfterAgent", &place);
	assert_true(str_eq(json_str(json_get(entry, STR("name"))), STR("hookd")));
	assert_null(entry_of(SETTINGS, JSON_COMMENTS, "AfterModel", &place));
	assert_non_null(strstr(get(SETTINGS), "// mine\n"));
	assert_int_equal(listed()->trust, INSTALL_TRUST_NONE);
	do_uninstall();
	assert_string_equal(get(SETTINGS), settings);
	request.all_events = true;
	assert_int_equal(do_install().files[0].added, GEMINI_ALL);
}

static void gemini_hooks_can_be_switched_off(void **state)
{
	static const struct {
		const char *text;
		enum install_trust trust;
	} cases[] = {
		{ "{\"hooksConfig\":{\"enabled\":true,\"disabled\":[\"other\"]}}", INSTALL_TRUST_NONE },
		{ "{\"hooksConfig\":{\"enabled\":false}}", INSTALL_DISABLED },
		{ "{\"hooksConfig\":{\"disabled\":[1,\"hookd\"]}}", INSTALL_DISABLED },
	};

	(void)state;
	request.agent = agent_find(STR("gemini"));
	for (size_t i = 0; i < countof(cases); i++) {
		put(SETTINGS, cases[i].text);
		do_install();
		assert_int_equal(listed()->trust, cases[i].trust);
	}
}

static void shell_agents_are_found(void **state)
{
	char *path = strdup(getenv("PATH"));

	(void)state;
	setenv("PATH", home, 1);
	assert_false(install_agent_found(&request));
	put("codex", "#!/bin/sh\n");
	assert_int_equal(chmod(in_home("codex"), 0700), 0);
	assert_true(install_agent_found(&request));
	request.agent = agent_find(STR("gemini"));
	assert_false(install_agent_found(&request));
	put(SETTINGS, "{}");
	assert_true(install_agent_found(&request));
	setenv("PATH", path, 1);
	free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(codex_gets_hooks_and_notify),
		TEST(both_files_come_back_byte_for_byte),
		TEST(what_codex_writes_meanwhile_stays),
		TEST(paths_are_quoted_when_they_must_be),
		TEST(moved_hooks_are_told),
		TEST(notes_are_made),
		TEST(broken_toml_stops_everything),
		TEST(one_stale_file_stops_both),
		TEST(a_project_has_hooks_alone),
		TEST(paths_can_be_elsewhere),
		TEST(hashes_are_those_of_codex),
		TEST(trust_is_read_in_every_form),
		TEST(trust_of_something_else_is_none),
		TEST(gemini_gets_named_hooks),
		TEST(gemini_hooks_can_be_switched_off),
		TEST(shell_agents_are_found),
	};

	return cmocka_run_group_tests_name("connect", tests, NULL, NULL);
}
