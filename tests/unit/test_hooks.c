/* hooks: tables of files, matchers, tools, words and answers; what is wrong is named with its place. */
#include "test.h"

#include "base/clock.h"
#include "hooks/internal.h"

/* -- parsing ----------------------------------------------------------------------------------- */

static struct hook_set *parse(const char *text, enum hook_scope scope, bool claude)
{
	struct hook_set *s = hook_set_new();

	hooks_parse(s, hook_source_new(s, scope, claude, STR("f"), str_of(text)));
	return s;
}

#define HOOK(fields) "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{" fields "}]}]}}"
#define COMMAND "\"type\": \"command\", \"command\": \"x\""

static const struct {
	const char *text;
	unsigned hooks, errors, problems;
	const char *says; /* of the first problem */
	unsigned line, col;
} files[] = {
	{ "", 0, 0, 0, NULL, 0, 0 },
	{ "  \n", 0, 0, 0, NULL, 0, 0 },
	{ "\xEF\xBB\xBF{}", 0, 0, 0, NULL, 0, 0 },
	{ "{\"hooks\": {}}", 0, 0, 0, NULL, 0, 0 },
	{ "{\r\n// a comment\r\n\"hooks\": {},\r\n}", 0, 0, 0, NULL, 0, 0 },
	{ "{\"log\": {\"level\": \"x\"}}", 0, 0, 0, NULL, 0, 0 }, /* config/ looks after options */
	{ HOOK(COMMAND), 1, 0, 0, NULL, 0, 0 },
	{ "[]", 0, 1, 1, "must contain an object", 1, 1 },
	{ "{\"hooks\": []}", 0, 1, 1, "hooks must be an object", 1, 11 },
	{ "{\"hooks\": {\"PreToolUse\": {}}}", 0, 1, 1, "must be a list", 1, 26 },
	{ "{\"hooks\": {\"PreToolUse\": [[]]}}", 0, 1, 1, "list of objects", 1, 27 },
	{ "{\"hooks\": {\"PreToolUse\": [{}]}}", 0, 1, 1, "'hooks', a list, is missing", 1, 27 },
	{ "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [1]}]}}", 0, 1, 1, "a hook must be an object", 1, 38 },
	{ "{\"hooks\":\n {\"PretoolUse\": []}}", 0, 1, 1, "did you mean 'PreToolUse'", 2, 3 },
	{ "{\"hooks\": {\"Whatever\": []}}", 0, 1, 1, "there is no event 'Whatever'", 1, 12 },
	{ "{\"hooks\": ", 0, 1, 1, "", 1, 11 },
	{ HOOK("\"type\": \"comand\", \"command\": \"x\""), 0, 2, 2, "did you mean 'command'", 1, 47 },
	{ HOOK("\"command\": \"x\""), 0, 1, 1, "needs a type", 1, 38 },
	{ HOOK("\"type\": \"command\""), 0, 1, 1, "needs a command", 1, 38 },
	{ HOOK("\"type\": \"command\", \"command\": \"  \""), 0, 1, 1, "needs a command", 1, 38 },
	{ HOOK("\"type\": \"command\", \"command\": 5"), 0, 2, 2, "command must be text", 1, 69 },
	{ HOOK("\"type\": \"command\", \"command\": \"a\\u0000b\""), 0, 2, 2, "command must be text", 1, 69 },
	{ HOOK(COMMAND ", \"timout\": 5"), 1, 0, 1, "did you mean 'timeout'", 1, 74 },
	{ HOOK(COMMAND ", \"colour\": 5"), 1, 0, 1, "has no effect", 1, 74 },
	{ HOOK(COMMAND ", \"timeout\": 0"), 0, 1, 1, "more than 0", 1, 85 },
	{ HOOK(COMMAND ", \"timeout\": -1"), 0, 1, 1, "more than 0", 1, 85 },
	{ HOOK(COMMAND ", \"timeout\": 1e99"), 0, 1, 1, "more than 0", 1, 85 },
	{ HOOK(COMMAND ", \"timeout\": \"5\""), 0, 1, 1, "must be a number", 1, 85 },
	{ HOOK(COMMAND ", \"timeout\": 5000"), 1, 0, 2, "in seconds", 1, 85 },
	{ HOOK(COMMAND ", \"timeout\": 1500"), 1, 0, 1, "timeout_ms", 1, 85 },
	{ HOOK(COMMAND ", \"timeout\": 5000, \"exit_dialect\": \"code-agent\""), 1, 0, 0, NULL, 0, 0 },
	{ HOOK(COMMAND ", \"env\": [\"LD_PRELOAD\"]"), 0, 1, 1, "'LD_PRELOAD' is never passed", 1, 82 },
	{ HOOK(COMMAND ", \"env\": [\"A=b\"]"), 0, 1, 1, "never passed", 1, 82 },
	{ HOOK(COMMAND ", \"env\": \"A\""), 0, 1, 1, "list of texts", 1, 81 },
	{ HOOK(COMMAND ", \"on_failure\": \"maybe\""), 0, 1, 1, "is no on_failure", 1, 88 },
	{ HOOK(COMMAND ", \"on_failure\": \"deny\", \"timeout\": 40"), 1, 0, 1, "agents wait 30 s", 1, 38 },
	{ HOOK(COMMAND ", \"async\": 1"), 0, 1, 1, "true or false", 1, 83 },
	{ HOOK(COMMAND ", \"name\": \"a\", \"name\": \"b\""), 1, 0, 1, "more than once", 1, 74 },
	{ HOOK("\"type\": \"http\", \"url\": \"http://x/\""), 1, 0, 0, NULL, 0, 0 },
	{ HOOK("\"type\": \"http\", \"url\": \"file:///etc/passwd\""), 0, 1, 1, "must begin with http://", 1, 38 },
	{ HOOK("\"type\": \"http\", \"url\": \"http://x/\", \"headers\": {\"A\": \"b\\nC: d\"}"), 0, 1, 1,
		"is not a header", 1, 92 },
	{ HOOK("\"type\": \"prompt\", \"prompt\": \"p $COMMAND ${TOOL_INPUT} $5\""), 1, 0, 0, NULL, 0, 0 },
	{ HOOK("\"type\": \"prompt\", \"prompt\": \"p $COMMNAD\""), 1, 0, 1, "$COMMNAD stands for nothing", 1, 38 },
	{ HOOK("\"type\": \"prompt\", \"prompt\": \" \""), 0, 1, 1, "needs a prompt", 1, 38 },
	{ HOOK("\"type\": \"agent\", \"prompt\": \"p\""), 1, 0, 1, "agent hooks are refused", 1, 38 },
	{ HOOK("\"type\": \"http\""), 0, 1, 1, "needs a url", 1, 38 },
	{ "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"(\", \"hooks\": []}]}}", 0, 1, 1, "is not a valid pattern", 1,
		39 },
	{ "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"class:shel\", \"hooks\": []}]}}", 0, 1, 1, "no class 'shel'",
		1, 39 },
	{ "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"bash\", \"hooks\": []}]}}", 0, 0, 1, "did you mean 'Bash'", 1,
		39 },
	{ "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"BASH\", \"hooks\": []}]}}", 0, 0, 1, "did you mean 'Bash'", 1,
		39 },
	{ "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"mcp__git\", \"hooks\": []}]}}", 0, 0, 1, "'mcp__git__.*'", 1,
		39 },
	{ "{\"hooks\": {\"SessionStart\": [{\"matcher\": \"start\", \"hooks\": []}]}}", 0, 0, 1, "never 'start'", 1,
		41 },
	{ "{\"hooks\": {\"PreCompact\": [{\"matcher\": \"auto\", \"hooks\": []}]}}", 0, 0, 0, NULL, 0, 0 },
	{ "{\"hooks\": {\"Stop\": [{\"matcher\": \"x\", \"hooks\": []}]}}", 0, 0, 1, "runs every time", 1, 33 },
	{ "{\"hooks\": {\"Stop\": [{\"matcher\": \"class:shell\", \"hooks\": []}]}}", 0, 0, 1, "never matches", 1, 33 },
	{ "{\"hooks\": {\"Stop\": [{\"hooks\": [{" COMMAND ", \"if\": \"Bash(x)\"}]}]}}", 1, 0, 1, "never runs", 1,
		32 },
};

static void every_problem_has_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(files); i++) {
		struct hook_set *s = parse(files[i].text, HOOK_USER, false);
		const struct hook_source *source = s->sources;

		if (s->count != files[i].hooks || source->errors != files[i].errors ||
			source->count != files[i].problems)
			fail_msg("%s: %u hooks, %u errors, %u problems, first: " STR_FMT, files[i].text, s->count,
				source->errors, source->count,
				STR_ARG(source->problems ? source->problems->text : STR("none")));
		if (files[i].says) {
			const struct hook_problem *p = source->problems;

			if (str_find(p->text, str_of(files[i].says)) < 0 || p->line != files[i].line ||
				p->col != files[i].col)
				fail_msg("%s: %u:%u: " STR_FMT, files[i].text, p->line, p->col, STR_ARG(p->text));
		}
		hook_set_unref(s);
	}
}

static void every_event_of_the_table_is_known(void **state)
{
	char text[256];

	(void)state;
	for (enum event_kind k = EVENT_UNKNOWN + 1; k < EVENT_KIND_MAX; k++) {
		struct hook_set *s;

		snprintf(text, sizeof text, "{\"hooks\": {\"%s\": [{\"hooks\": [{" COMMAND "}]}]}}",
			event_kinds[k].name);
		s = parse(text, HOOK_USER, false);
		assert_int_equal(s->count, 1);
		assert_non_null(s->groups[k]);
		assert_int_equal(s->sources->count, 0);
		hook_set_unref(s);
	}
}

static void defaults_and_units(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} rows[] = {
		{ HOOK(COMMAND), 60 * USEC_PER_SEC },
		{ HOOK(COMMAND ", \"observer\": true"), 10 * USEC_PER_SEC },
		{ HOOK(COMMAND ", \"timeout\": 5"), 5 * USEC_PER_SEC },
		{ HOOK(COMMAND ", \"timeout\": 0.5"), 500000 },
		{ HOOK(COMMAND ", \"timeout_ms\": 250"), 250000 },
		{ HOOK(COMMAND ", \"timeout\": 250, \"exit_dialect\": \"code-agent\""), 250000 },
		{ HOOK(COMMAND ", \"timeout\": 90000"), 3600 * USEC_PER_SEC },
	};

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		struct hook_set *s = parse(rows[i].text, HOOK_USER, false);

		assert_int_equal(s->count, 1);
		assert_true(s->all[0]->timeout_us == rows[i].us);
		hook_set_unref(s);
	}
}

static void too_many_hooks_are_named(void **state)
{
	struct buf b = BUF_INIT(MIB(1));
	struct hook_set *s;

	(void)state;
	buf_add_str(&b, STR("{\"hooks\": {\"Stop\": [{\"hooks\": ["));
	for (int i = 0; i < HOOKS_MAX + 100; i++)
		buf_addf(&b, "%s{\"type\": \"command\", \"command\": \"x%d\"}", i ? "," : "", i);
	buf_add_str(&b, STR("]}]}}"));
	s = parse(b.p, HOOK_USER, false);
	assert_int_equal(s->count, HOOKS_MAX);
	assert_int_equal(s->sources->errors, 100);
	hook_set_unref(s);
	buf_release(&b);
}

/* -- matching ---------------------------------------------------------------------------------- */

static struct event tool_event(struct arena *a, const char *tool, enum tool_class class, const char *input)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE,
		.agent = STR("x"),
		.tool_name = str_of(tool),
		.tool_class = class };
	struct json *v = NULL;

	assert_int_equal(json_parse(a, str_of(input), 0, &v, NULL), 0);
	e.tool_input = v;
	e.command = json_str(json_get(v, STR("command")));
	e.file_path = json_str(json_get(v, STR("file_path")));
	return e;
}

static void matchers(void **state)
{
	static const struct {
		const char *group; /* members before "hooks" */
		const char *tool;
		enum tool_class class;
		bool hit;
	} rows[] = {
		{ "", "Bash", TOOL_SHELL, true },
		{ "\"matcher\": \"\",", "Bash", TOOL_SHELL, true },
		{ "\"matcher\": \"*\",", "Anything", TOOL_OTHER, true },
		{ "\"matcher\": \"Bash\",", "Bash", TOOL_SHELL, true },
		{ "\"matcher\": \"bash\",", "Bash", TOOL_SHELL, false },
		{ "\"matcher\": \"Bas\",", "Bash", TOOL_SHELL, false },
		{ "\"matcher\": \"Write|Edit\",", "Edit", TOOL_WRITE, true },
		{ "\"matcher\": \"Write, Edit\",", "Edit", TOOL_WRITE, true },
		{ "\"matcher\": \"Write|Edit\",", "NotebookEdit", TOOL_WRITE, false },
		{ "\"matcher\": \".*Edit\",", "NotebookEdit", TOOL_WRITE, true },
		{ "\"matcher\": \"B.*h\",", "Bash", TOOL_SHELL, true },
		{ "\"matcher\": \"^(?!Bash$).*\",", "run_shell_command", TOOL_SHELL, false },
		{ "\"matcher\": \"class:shell\",", "run_shell_command", TOOL_SHELL, true },
		{ "\"matcher\": \"class:web|class:shell\",", "shell", TOOL_SHELL, true },
		{ "\"matcher\": \"class:web\",", "Bash", TOOL_SHELL, false },
		{ "\"matcher\": \"Bash\",", "run_shell_command", TOOL_SHELL, true },
		{ "\"matcher\": \"run_shell_command\",", "run_shell_command", TOOL_SHELL, true },
		{ "\"matcher\": \"Write\",", "apply_patch", TOOL_WRITE, true },
		{ "\"matcher\": \"Edit\",", "apply_patch", TOOL_WRITE, true },
		{ "\"matcher\": \"Read\",", "apply_patch", TOOL_WRITE, false },
		{ "\"matcher\": \"Bash\",", "some_new_shell", TOOL_SHELL, true },
		{ "\"matcher\": \"mcp__git__.*\",", "mcp__git__log", TOOL_MCP, true },
		{ "\"matcher\": \"mcp__git__log\",", "mcp_git_log", TOOL_MCP, true },
		{ "\"mcpServer\": \"git\",", "mcp__git__log", TOOL_MCP, true },
		{ "\"mcpServer\": \"git\",", "mcp__github__log", TOOL_MCP, false },
		{ "\"mcpServer\": \"git\",", "Bash", TOOL_SHELL, false },
		/* Runs into its limits: the hook must look. */
		{ "\"matcher\": \"(a+)+$\",", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
			TOOL_OTHER, true },
	};
	struct hook *list[HOOKS_MAX];
	struct arena a;
	char text[512];

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = tool_event(&a, rows[i].tool, rows[i].class, "{}");
		struct hook_set *s;

		snprintf(text, sizeof text, "{\"hooks\": {\"PreToolUse\": [{%s \"hooks\": [{" COMMAND "}]}]}}",
			rows[i].group);
		s = parse(text, HOOK_USER, false);
		if (hooks_match(s, &e, &a, list) != rows[i].hit)
			fail_msg("%s does %smatch %s", rows[i].group, rows[i].hit ? "not " : "", rows[i].tool);
		hook_set_unref(s);
	}
	arena_release(&a);
}

static void conditions(void **state)
{
	static const struct {
		const char *condition, *tool;
		enum tool_class class;
		const char *input;
		bool hit;
	} rows[] = {
		{ "Bash", "Bash", TOOL_SHELL, "{\"command\": \"ls\"}", true },
		{ "Bash(git *)", "Bash", TOOL_SHELL, "{\"command\": \"git push\"}", true },
		{ "Bash(git *)", "Bash", TOOL_SHELL, "{\"command\": \"git\"}", true },
		{ "Bash(git:*)", "Bash", TOOL_SHELL, "{\"command\": \"git push\"}", true },
		{ "Bash(git *)", "Bash", TOOL_SHELL, "{\"command\": \"gitk\"}", false },
		{ "Bash(git *)", "Bash", TOOL_SHELL, "{\"command\": \"cd x && git push\"}", true },
		{ "Bash(git *)", "Bash", TOOL_SHELL, "{\"command\": \"echo $(git push)\"}", true },
		{ "Bash(git *)", "run_shell_command", TOOL_SHELL, "{\"command\": \"git push\"}", true },
		{ "Bash(git *)", "Read", TOOL_READ, "{\"file_path\": \"git x\"}", false },
		{ "Read(*.env)", "Read", TOOL_READ, "{\"file_path\": \"/a/.env\"}", true },
		{ "Read(*.env)", "Read", TOOL_READ, "{\"file_path\": \"/a/env.c\"}", false },
		{ "mcp__x__*(*secret*)", "mcp__x__y", TOOL_MCP, "{\"q\": \"my secret\"}", true },
		{ "Bash(git *", "Bash", TOOL_SHELL, "{\"command\": \"git push\"}", false },
		{ "Bash(*a*a*a*a*a*a*b)", "Bash", TOOL_SHELL,
			"{\"command\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\"}", false },
	};
	struct hook *list[HOOKS_MAX];
	struct arena a;
	char text[512];

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = tool_event(&a, rows[i].tool, rows[i].class, rows[i].input);
		struct hook_set *s;

		snprintf(text, sizeof text, HOOK(COMMAND ", \"if\": \"%s\""), rows[i].condition);
		s = parse(text, HOOK_USER, false);
		if (hooks_match(s, &e, &a, list) != rows[i].hit)
			fail_msg("%s: %s", rows[i].condition, rows[i].input);
		hook_set_unref(s);
	}
	arena_release(&a);
}

static void other_events_match_their_own_words(void **state)
{
	static const struct {
		enum event_kind kind;
		const char *matcher, *payload;
		bool hit;
	} rows[] = {
		{ EVENT_SESSION_START, "startup|clear|compact", "{\"source\": \"clear\"}", true },
		{ EVENT_SESSION_START, "startup|clear|compact", "{\"source\": \"resume\"}", false },
		{ EVENT_SESSION_START, "startup", "{}", false },
		{ EVENT_SESSION_START, "*", "{}", true },
		{ EVENT_PRE_COMPACT, "auto", "{\"trigger\": \"auto\"}", true },
		{ EVENT_SESSION_END, "logout", "{\"reason\": \"logout\"}", true },
		{ EVENT_NOTIFICATION, "idle_prompt", "{\"notification_type\": \"idle_prompt\"}", true },
		{ EVENT_SUBAGENT_STOP, "Explore", "{\"agent_type\": \"Plan\"}", false },
		{ EVENT_FILE_CHANGED, ".envrc|x", "{\"file_path\": \"/a/.envrc\"}", true },
		{ EVENT_STOP, "anything", "{}", true },
	};
	struct hook *list[HOOKS_MAX];
	struct arena a;
	char text[512];

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = { .kind = rows[i].kind };
		struct hook_set *s;
		struct json *v;

		assert_int_equal(json_parse(&a, str_of(rows[i].payload), 0, &v, NULL), 0);
		e.payload = v;
		snprintf(text, sizeof text,
			"{\"hooks\": {\"%s\": [{\"matcher\": \"%s\", \"hooks\": [{" COMMAND "}]}]}}",
			event_kinds[rows[i].kind].name, rows[i].matcher);
		s = parse(text, HOOK_USER, false);
		if (hooks_match(s, &e, &a, list) != rows[i].hit)
			fail_msg("%s %s", event_kinds[rows[i].kind].name, rows[i].matcher);
		hook_set_unref(s);
	}
	arena_release(&a);
}

static void identical_hooks_run_once(void **state)
{
	const char *project = "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{" COMMAND "},"
			      "{\"type\": \"command\", \"command\": \"p\"}]}]}}";
	const char *user =
		"{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{" COMMAND ", \"timeout\": 3, \"on_failure\": "
		"\"deny\"},"
		"{" COMMAND ", \"args\": [\"a\"]}, {\"type\": \"prompt\", \"prompt\": \"x\"}, {\"type\": \"http\", "
		"\"url\": \"http://x\", \"disabled\": true}]}]}}";
	struct hook_set *s = hook_set_new();
	struct hook *list[HOOKS_MAX];
	struct event e;
	struct arena a;

	(void)state;
	arena_init(&a);
	hooks_parse(s, hook_source_new(s, HOOK_PROJECT, true, STR("p"), str_of(project)));
	hooks_parse(s, hook_source_new(s, HOOK_USER, true, STR("u"), str_of(user)));
	e = tool_event(&a, "Bash", TOOL_SHELL, "{}");
	/* The project's first, in the order of definition; as strict as the strictest of two. */
	assert_int_equal(hooks_match(s, &e, &a, list), 5);
	assert_str(list[0]->command, STR("x"));
	assert_int_equal(list[0]->group->source->scope, HOOK_PROJECT);
	assert_int_equal(list[0]->on_failure, VERDICT_DENY);
	assert_str(list[1]->command, STR("p"));
	assert_true(list[2]->exec_form);
	hook_set_unref(s);
	arena_release(&a);
}

/* -- words ------------------------------------------------------------------------------------- */

static void plain_words(void **state)
{
	static const struct {
		const char *command;
		const char *words; /* joined by '|'; NULL: more than words */
	} rows[] = {
		{ "a b  c", "a|b|c" },
		{ "./x.sh --flag -n 5", "./x.sh|--flag|-n|5" },
		{ "'a b' \"c d\"e", "a b|c de" },
		{ "\"$CLAUDE_PROJECT_DIR\"/x.sh", "/r/x.sh" },
		{ "$CLAUDE_PROJECT_DIR/x.sh", "/r/x.sh" },
		{ "sh ${CLAUDE_PROJECT_DIR}/x.sh", "sh|/r/x.sh" },
		{ "'$CLAUDE_PROJECT_DIR'/x.sh", "$CLAUDE_PROJECT_DIR/x.sh" },
		{ "$CLAUDE_PROJECT_DIRS/x", NULL },
		{ "", NULL },
		{ "a; b", NULL },
		{ "a | b", NULL },
		{ "a > b", NULL },
		{ "$HOME/x", NULL },
		{ "\"$HOME\"", NULL },
		{ "a*", NULL },
		{ "~/x", NULL },
		{ "A=b c", NULL },
		{ "x --mode=strict", "x|--mode=strict" },
		{ "a\nb", NULL },
		{ "a\\ b", NULL },
		{ "'a", NULL },
		{ "{ a", NULL },
		{ "# a", NULL },
		{ "! a", NULL },
	};
	struct arena a;

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		struct buf b = BUF_INIT(1024);
		const str *words;
		size_t n;
		bool plain = hook_plain_words(str_of(rows[i].command), STR("/r"), &a, &words, &n);

		if (plain != (rows[i].words != NULL))
			fail_msg("'%s' is %splain", rows[i].command, plain ? "" : "not ");
		for (size_t j = 0; plain && j < n; j++)
			buf_addf(&b, "%s" STR_FMT, j ? "|" : "", STR_ARG(words[j]));
		if (plain)
			assert_string_equal(b.p, rows[i].words);
		buf_release(&b);
	}
	arena_release(&a);
}

static void relative_names(void **state)
{
	static const char *const rows[][2] = {
		{ "x.sh", "x.sh" },
		{ "./x.sh", "x.sh" },
		{ "a//b/./c", "a/b/c" },
		{ "/r/x", "x" },
		{ "/rx/y", NULL },
		{ "/r", NULL },
		{ "..", NULL },
		{ "a/../../b", NULL },
		{ "/etc/passwd", NULL },
		{ ".", NULL },
		{ "", NULL },
	};
	struct arena a;

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		str got = hook_relative(str_of(rows[i][0]), STR("/r"), &a);

		if (str_is_set(got) != (rows[i][1] != NULL))
			fail_msg("%s", rows[i][0]);
		if (rows[i][1])
			assert_str(got, str_of(rows[i][1]));
	}
	arena_release(&a);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void answers(void **state)
{
	enum { CLAUDE, AGENT };
	static const struct {
		int dialect;
		enum event_kind kind;
		int exit;
		const char *out, *err;
		enum verdict_action action;
		const char *reason, *context;
		bool goes_on, ends, fails;
	} rows[] = {
		{ CLAUDE, EVENT_PRE_TOOL_USE, 0, "", "", VERDICT_NONE, "", "", 0, 0, 0 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 2, "", "no", VERDICT_DENY, "no", "", 0, 0, 0 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 2, "{\"decision\":\"approve\"}", "no", VERDICT_DENY, "no", "", 0, 0, 0 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 0, "{\"decision\":\"block\",\"reason\":\"r\"}", "", VERDICT_DENY, "r", "",
			0, 0, 0 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 1, "{\"decision\":\"block\",\"reason\":\"r\"}", "", VERDICT_DENY, "r", "",
			0, 0, 0 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 0, "{\"decision\":\"approve\"}", "", VERDICT_ALLOW, "", "", 0, 0, 0 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 0, "{} {}", "", VERDICT_NONE, "", "", 0, 0, 1 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 1, "text", "why", VERDICT_NONE, "", "", 0, 0, 1 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 126, "", "", VERDICT_NONE, "", "", 0, 0, 1 },
		{ CLAUDE, EVENT_PRE_TOOL_USE, 0, "{\"continue\":false,\"stopReason\":\"s\"}", "", VERDICT_NONE, "s", "",
			0, 1, 0 },
		{ CLAUDE, EVENT_POST_TOOL_USE, 2, "", "look", VERDICT_NONE, "", "look", 0, 0, 0 },
		{ CLAUDE, EVENT_POST_TOOL_USE, 0, "plain", "", VERDICT_NONE, "", "", 0, 0, 0 },
		{ CLAUDE, EVENT_STOP, 2, "", "more", VERDICT_NONE, "more", "", 1, 0, 0 },
		{ CLAUDE, EVENT_STOP, 0, "{\"decision\":\"block\",\"reason\":\"more\"}", "", VERDICT_NONE, "more", "",
			1, 0, 0 },
		{ CLAUDE, EVENT_SESSION_START, 0, " hi \n", "", VERDICT_NONE, "", "hi", 0, 0, 0 },
		{ CLAUDE, EVENT_SESSION_START, 2, "", "x", VERDICT_NONE, "", "", 0, 0, 0 },
		{ CLAUDE, EVENT_USER_PROMPT_SUBMIT, 0, "{\"hookSpecificOutput\":{\"additionalContext\":\"c\"}}", "",
			VERDICT_NONE, "", "c", 0, 0, 0 },
		{ CLAUDE, EVENT_PERMISSION_REQUEST, 0,
			"{\"hookSpecificOutput\":{\"decision\":{\"behavior\":\"deny\",\"message\":\"m\"}}}", "",
			VERDICT_DENY, "m", "", 0, 0, 0 },
		{ AGENT, EVENT_PRE_TOOL_USE, 0, "fine", "", VERDICT_NONE, "", "", 0, 0, 0 },
		{ AGENT, EVENT_PRE_TOOL_USE, 1, "", "no", VERDICT_DENY, "no", "", 0, 0, 0 },
		{ AGENT, EVENT_PRE_TOOL_USE, 7, "out", "", VERDICT_DENY, "out", "", 0, 0, 0 },
		{ AGENT, EVENT_PRE_TOOL_USE, 127, "", "", VERDICT_NONE, "", "", 0, 0, 1 },
		{ AGENT, EVENT_PRE_TOOL_USE, 0, "{\"action\":\"allow\"}", "", VERDICT_NONE, "", "", 0, 0, 0 },
		{ AGENT, EVENT_PRE_TOOL_USE, 0, "{\"action\":\"block\",\"message\":\"m\"}", "", VERDICT_DENY, "m", "",
			0, 0, 0 },
		{ AGENT, EVENT_PRE_TOOL_USE, 0, "{\"action\":\"error\"}", "", VERDICT_NONE, "", "", 0, 0, 1 },
		{ AGENT, EVENT_PRE_TOOL_USE, 0, "{\"action\":\"dance\"}", "", VERDICT_NONE, "", "", 0, 0, 1 },
	};
	struct arena a;

	(void)state;
	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		struct hook h = { .id = "0123", .code_agent = rows[i].dialect == AGENT };
		struct child_result r = { .exit_code = rows[i].exit,
			.out = str_of(rows[i].out),
			.err = str_of(rows[i].err) };
		struct event e = { .kind = rows[i].kind };
		struct verdict v = { 0 };
		struct hook_answer got;

		r.out_total = r.out.n;
		hook_answer_read(&h, &e, &r, &a, &got);
		if (str_is_set(got.failure) != rows[i].fails)
			fail_msg("row %zu: '" STR_FMT "'", i, STR_ARG(got.failure));
		hook_answer_apply(&h, &e, &got, &a, &v);
		if (v.action != rows[i].action || !str_eq(v.reason, str_of(rows[i].reason)) ||
			v.continue_turn != rows[i].goes_on || v.end_turn != rows[i].ends ||
			!str_eq(v.context ? v.context->text : STR(""), str_of(rows[i].context)))
			fail_msg("row %zu: %s '" STR_FMT "'", i, verdict_action_names[v.action], STR_ARG(v.reason));
	}
	arena_release(&a);
}

/* -- editing ----------------------------------------------------------------------------------- */

static void adding_and_removing_gives_back_the_text(void **state)
{
	static const char *const texts[] = {
		"{\n  // mine\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", "
		"\"command\": \"a\"}]}\n    ]\n  }\n}\n",
		"\xEF\xBB\xBF{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a\"}]}]}}",
	};
	struct json *hook;
	struct arena a;

	(void)state;
	arena_init(&a);
	assert_int_equal(json_parse(&a, STR("{\"type\":\"command\",\"command\":\"b\"}"), 0, &hook, NULL), 0);
	for (size_t i = 0; i < countof(texts); i++) {
		struct buf added = BUF_INIT(KIB(64)), removed = BUF_INIT(KIB(64));
		char id[HOOK_ID + 1];
		struct err err;

		assert_int_equal(hooks_edit_add(str_of(texts[i]), STR("Stop"), STR_NONE, hook, &added, id, &err), 0);
		assert_true(added.len > strlen(texts[i]));
		assert_int_equal(hooks_edit_remove(buf_str(&added), STR("Stop"), str_of(id), &removed, &err), 0);
		assert_string_equal(removed.p, texts[i]);
		buf_clear(&removed);
		assert_int_equal(hooks_edit_remove(str_of(texts[i]), STR("Stop"), str_of(id), &removed, &err), -ENOENT);
		buf_release(&added);
		buf_release(&removed);
	}
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_problem_has_its_place),
		cmocka_unit_test(every_event_of_the_table_is_known),
		cmocka_unit_test(defaults_and_units),
		cmocka_unit_test(too_many_hooks_are_named),
		cmocka_unit_test(matchers),
		cmocka_unit_test(conditions),
		cmocka_unit_test(other_events_match_their_own_words),
		cmocka_unit_test(identical_hooks_run_once),
		cmocka_unit_test(plain_words),
		cmocka_unit_test(relative_names),
		cmocka_unit_test(answers),
		cmocka_unit_test(adding_and_removing_gives_back_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
