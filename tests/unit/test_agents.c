/* agents: recorded payloads become the expected events, verdicts become the exact answers.
 *
 * tests/golden/<agent>/<name>.json is a payload as the agent sent it, <name>.event.json what hookd
 * makes of it, <name>.answers.json what the agent is told for each kind of verdict. UPDATE_GOLDEN=1
 * (make golden-update) rewrites the latter two; look at the diff. */
#include "answers.h"

#include "guard/guard.h"

/* -- golden ------------------------------------------------------------------------------------ */

static void add_line(struct buf *b, const char *key, str json)
{
	buf_addf(b, "%s\n  \"%s\": " STR_FMT, b->len > 1 ? "," : "", key, STR_ARG(json));
}

static void add_text(struct buf *b, const char *key, str text)
{
	struct buf quoted = BUF_INIT(KIB(256));

	if (str_is_set(text)) {
		json_write_string(&quoted, text);
		add_line(b, key, buf_str(&quoted));
	}
	buf_release(&quoted);
}

static void add_tree(struct buf *b, const char *key, const struct json *v)
{
	struct buf text = BUF_INIT(KIB(256));

	if (v) {
		json_write(&text, v);
		add_line(b, key, buf_str(&text));
	}
	buf_release(&text);
}

static void add_marks(struct buf *b, unsigned marks)
{
	static const char *const names[] = { "cut", "not-json", "incomplete", "private", "spooled", "late" };

	for (size_t i = 0; i < countof(names); i++)
		if (marks & 1u << i)
			add_text(b, "mark", str_of(names[i]));
}

/* One member a line, so that a changed expectation is a readable diff. */
static void describe(const struct event *e, struct buf *b)
{
	const struct {
		const char *key;
		str text;
	} texts[] = {
		{ "session", e->session },
		{ "cwd", e->cwd },
		{ "transcript_path", e->transcript_path },
		{ "prompt", e->prompt },
		{ "prompt_id", e->prompt_id },
		{ "permission_mode", e->permission_mode },
		{ "source", e->source },
		{ "reason", e->reason },
		{ "message", e->message },
		{ "agent_id", e->agent_id },
		{ "agent_type", e->agent_type },
		{ "tool_name", e->tool_name },
		{ "tool_use_id", e->tool_use_id },
		{ "command", e->command },
		{ "file_path", e->file_path },
		{ "error", e->error },
	};

	buf_add_char(b, '{');
	add_text(b, "agent", e->agent);
	add_text(b, "kind", str_of(event_kinds[e->kind].name));
	add_text(b, "native", e->native);
	add_marks(b, e->marks);
	for (size_t i = 0; i < countof(texts); i++)
		add_text(b, texts[i].key, texts[i].text);
	add_text(b, "tool_class", str_of(tool_class_names[e->tool_class]));
	add_tree(b, "tool_input", e->tool_input);
	add_tree(b, "tool_response", e->tool_response);
	if (e->stop_hook_active)
		add_line(b, "stop_hook_active", STR("true"));
	if (e->is_interrupt)
		add_line(b, "is_interrupt", STR("true"));
	if (e->duration_ms)
		buf_addf(b, ",\n  \"duration_ms\": %lld", (long long)e->duration_ms);
	buf_add_str(b, STR("\n}\n"));
	assert_false(b->full);
}

/* Compares with the file beside the payload, or writes it. */
static void check_file(const char *dir, const char *name, const char *ending, str got)
{
	struct buf want = BUF_INIT(MIB(1));
	char path[FS_PATH];

	(void)parsed(got);
	snprintf(path, sizeof path, "%.3000s/%.*s.%s.json", dir, (int)(strlen(name) - 5), name, ending);
	if (getenv("UPDATE_GOLDEN") && getenv("UPDATE_GOLDEN")[0] == '1')
		test_write(path, got.p, got.n);
	test_read(path, &want);
	if (!str_eq(got, buf_str(&want)))
		fail_msg("%s is not as expected (make golden-update shows the difference in git):\n" STR_FMT, path,
			STR_ARG(got));
	buf_release(&want);
}

static void describe_answers(const char *agent, const struct event *e, struct buf *b);

/* Not every agent says in the payload which event it is; then the file does: its longest beginning that is one. */
static const char *event_of_file(const char *agent, const char *name)
{
	const char *best = "";

	if (agent_find(str_of(agent)) != &agent_copilot && agent_find(str_of(agent)) != &agent_opencode)
		return best;
	for (const struct agent_event *row = agent_find(str_of(agent))->events; row->native; row++) {
		size_t n = strlen(row->native);

		if (strncmp(name, row->native, n) == 0 && name[n] == '.' && n > strlen(best))
			best = row->native;
	}
	return best;
}

static void check_golden(const char *agent, const char *dir, const char *name)
{
	struct buf payload = BUF_INIT(MIB(1)), got = BUF_INIT(MIB(1)), again = BUF_INIT(MIB(1));
	struct event e;

	test_read(test_path(dir, name), &payload);
	e = parse_as(agent, event_of_file(agent, name), buf_str(&payload));
	describe(&e, &got);
	check_file(dir, name, "event", buf_str(&got));
	/* Named on the command line it is the same event. */
	e = parse_as(agent, arena_cstr(&arena, e.native), buf_str(&payload));
	describe(&e, &again);
	assert_str(buf_str(&again), buf_str(&got));
	if (strcmp(agent, "claude") != 0) {
		buf_clear(&got);
		describe_answers(agent, &e, &got);
		check_file(dir, name, "answers", buf_str(&got));
	}
	buf_release(&payload);
	buf_release(&got);
	buf_release(&again);
	arena_reset(&arena);
}

static int is_payload(const struct dirent *e)
{
	str name = str_of(e->d_name);

	return str_ends(name, STR(".json")) && !str_ends(name, STR(".event.json")) &&
		!str_ends(name, STR(".answers.json"));
}

static void test_golden(void **state)
{
	static const struct {
		const char *agent, *folder;
		int at_least;
	} rows[] = {
		{ "claude", "claude", 60 },
		{ "codex", "codex", 32 },
		{ "gemini", "gemini", 28 },
		{ "copilot", "copilot", 29 },
		{ "copilot", "copilot-claude", 17 },
		{ "qwen", "qwen", 33 },
		{ "opencode", "opencode", 20 },
		/* Written from documentation, not recorded. */
		{ "cursor", "cursor", 26 },
		{ "windsurf", "windsurf", 12 },
	};
	struct dirent **names;
	char folder[FS_PATH];

	for (size_t k = 0; k < countof(rows); k++) {
		int n;

		snprintf(folder, sizeof folder, "%s/tests/golden/%s", getenv("SRCDIR"), rows[k].folder);
		n = scandir(folder, &names, is_payload, alphasort);
		if (n < rows[k].at_least)
			fail_msg("%s: %d payloads", folder, n);
		for (int i = 0; i < n; i++) {
			check_golden(rows[k].agent, folder, names[i]->d_name);
			free(names[i]);
		}
		free(names);
	}
}

/* -- parsing ----------------------------------------------------------------------------------- */

static void test_find(void **state)
{
	for (size_t i = 0; agents[i]; i++) {
		assert_ptr_equal(agent_find(str_of(agents[i]->name)), agents[i]);
		assert_true(strlen(agents[i]->label) > 0 && agents[i]->fields);
	}
	assert_ptr_equal(agent_find(STR("CLAUDE")), &agent_claude);
	assert_ptr_equal(agent_find(STR("")), &agent_generic);
	assert_ptr_equal(agent_find(STR_NONE), &agent_generic);
	assert_ptr_equal(agent_find(STR("../../claude")), &agent_generic);
}

static void test_names_of_events(void **state)
{
	str body = STR("{\"session_id\":\"s\",\"tool_name\":\"Bash\",\"prompt\":\"\",\"hook_event_name\":\"Stop\"}");
	struct event e;

	/* The command line wins; in every spelling; unknown ones are kept under their own name. */
	assert_int_equal(parse_as("claude", "pre-tool-use", body).kind, EVENT_PRE_TOOL_USE);
	assert_int_equal(parse_as("claude", "PRETOOLUSE", body).kind, EVENT_PRE_TOOL_USE);
	assert_int_equal(parse_as("claude", "", body).kind, EVENT_STOP);
	assert_int_equal(parse_as("gemini", "BeforeTool", body).kind, EVENT_PRE_TOOL_USE);
	assert_int_equal(parse_as("gemini", "before_tool", body).kind, EVENT_PRE_TOOL_USE);
	assert_int_equal(parse_as("someone", "AfterTool", body).kind, EVENT_POST_TOOL_USE);
	for (size_t i = 0; agents[i]; i++) {
		e = parse_as(agents[i]->name, "SomethingNew", body);
		assert_int_equal(e.kind, EVENT_UNKNOWN);
		assert_str(e.native, STR("SomethingNew"));
		assert_int_equal(e.marks, 0);
	}
}

static void test_not_json(void **state)
{
	static const char *const bodies[] = { "", " \n", "null", "[]", "\"text\"", "5", "{", "{}{}", "{'a':1}",
		"{\"a\":1,}" };

	for (size_t i = 0; i < countof(bodies); i++) {
		struct event e = parse_as("claude", "PreToolUse", str_of(bodies[i]));

		assert_true(e.marks & EVENT_NOT_JSON);
		assert_null(e.payload);
		assert_str(e.raw, str_of(bodies[i]));
		assert_int_equal(e.kind, EVENT_PRE_TOOL_USE);
		assert_str(e.cwd, STR("/where/hookc/ran"));
	}
	/* A byte order mark in front is forgiven. */
	assert_int_equal(parse_as("claude", "Stop", STR("\xEF\xBB\xBF{\"session_id\":\"s\"}")).marks, 0);
	/* So are bytes that are no text. */
	assert_str(parse_as("claude", "Stop", STR("{\"session_id\":\"\xFF\"}")).session, STR("\xEF\xBF\xBD"));
}

static void test_cut(void **state)
{
	struct wire_hook hook = { .agent = STR("claude"),
		.event = STR("PreToolUse"),
		.cut = true,
		.total = 99,
		.sha256 = { 7 },
		.payload = STR("{\"session_id\":\"s\",\"tool_na") };
	struct verdict v = { 0 };
	struct event e;

	agent_parse(&agent_claude, &hook, &arena, &e);
	assert_int_equal(e.marks, EVENT_CUT | EVENT_NOT_JSON | EVENT_INCOMPLETE);
	assert_true(e.total == 99 && e.sha256[0] == 7);
	guard_decide(NULL, &(struct guard_context){ .cwd = e.cwd }, &e, &arena, &v, NULL);
	assert_int_equal(v.action, VERDICT_ASK);
}

static void test_missing_fields(void **state)
{
	static const struct {
		const char *event, *body;
		bool incomplete;
	} rows[] = {
		{ "Stop", "{}", true },
		{ "Stop", "{\"session_id\":\"\"}", true },
		{ "Stop", "{\"session_id\":null}", true },
		{ "Stop", "{\"session_id\":\"s\"}", false },
		{ "Stop", "{\"sessionId\":\"s\"}", false },
		{ "Stop", "{\"session_id\":7}", false },
		{ "PreToolUse", "{\"session_id\":\"s\"}", true },
		{ "PostToolUse", "{\"session_id\":\"s\"}", true },
		{ "PostToolUseFailure", "{\"session_id\":\"s\"}", true },
		{ "PermissionRequest", "{\"session_id\":\"s\"}", true },
		{ "PreToolUse", "{\"session_id\":\"s\",\"tool_name\":\"Bash\"}", false },
		{ "UserPromptSubmit", "{\"session_id\":\"s\"}", true },
		{ "UserPromptSubmit", "{\"session_id\":\"s\",\"prompt\":\"\"}", false },
		{ "", "{\"session_id\":\"s\"}", false },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("claude", rows[i].event, str_of(rows[i].body));

		if (!!(e.marks & EVENT_INCOMPLETE) != rows[i].incomplete)
			fail_msg("%s %s: marks %u", rows[i].event, rows[i].body, e.marks);
	}
}

static bool fits(enum json_field_type type, const char *value)
{
	bool text = value[0] == '"', number = value[0] == '5', flag = value[0] == 't';

	switch (type) {
	case JSON_FIELD_STR: return text;
	case JSON_FIELD_TEXT: return text || number || flag || value[0] == '1';
	case JSON_FIELD_BOOL: return flag;
	case JSON_FIELD_INT: return number;
	case JSON_FIELD_TREE: return true;
	}
	return false;
}

/* Every field of every kind of value, in every event: marked when it does not fit, never a crash. */
static void test_wrong_types(void **state)
{
	static const char *const values[] = { "5", "1.5", "true", "null", "[]", "[1]", "{}", "{\"a\":{}}", "\"x\"",
		"\"\"" };
	struct verdict deny = { .action = VERDICT_DENY, .reason = STR("r"), .rule = STR("r") };

	for (const struct json_field *f = generic_fields; f->name; f++)
		for (size_t i = 0; i < countof(values); i++)
			for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++) {
				str body = arena_strf(&arena, "{\"%s\":%s}", f->name, values[i]);
				struct event e = parse_as("claude", event_kinds[k].name, body);

				if (!fits(f->type, values[i]) && strcmp(values[i], "null") != 0)
					assert_true(e.marks & EVENT_INCOMPLETE);
				assert_false(e.marks & EVENT_NOT_JSON);
				check_answer(&agent_claude, &e, &deny);
				arena_reset(&arena);
			}
}

static void test_wrong_inputs(void **state)
{
	static const struct {
		const char *tool, *input;
		bool incomplete;
	} rows[] = {
		{ "Bash", "5", true },
		{ "Bash", "[\"ls\"]", true },
		{ "Bash", "\"{}\"", false },
		{ "Bash", "{\"command\":[\"ls\"]}", true },
		{ "Bash", "{\"command\":5}", true },
		{ "Bash", "{\"command\":null}", false },
		{ "Bash", "{\"command\":\"ls\"}", false },
		{ "mcp__x__y", "{\"path\":[1]}", false },
		{ "Read", "{\"file_path\":\"/x\"}", false },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("claude", "PreToolUse",
			arena_strf(&arena, "{\"session_id\":\"s\",\"tool_name\":\"%s\",\"tool_input\":%s}",
				rows[i].tool, rows[i].input));

		if (!!(e.marks & EVENT_INCOMPLETE) != rows[i].incomplete)
			fail_msg("%s %s: marks %u", rows[i].tool, rows[i].input, e.marks);
	}
}

/* The agent runs the last of two members, so that is the one the guard must see. */
static void test_doubled_members(void **state)
{
	struct event e = parse_as("claude", "PreToolUse",
		STR("{\"session_id\":\"a\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},"
		    "\"session_id\":\"b\",\"tool\\u005finput\":{\"command\":\"ls\","
		    "\"command\":\"echo hookd-selftest-deny\"}}"));
	struct verdict v = { 0 };

	assert_str(e.session, STR("b"));
	assert_str(e.command, STR("echo hookd-selftest-deny"));
	guard_decide(NULL, &(struct guard_context){ .cwd = e.cwd }, &e, &arena, &v, NULL);
	assert_int_equal(v.action, VERDICT_DENY);
	assert_str(v.rule, STR("hookd.selftest"));
}

/* What cannot be read cannot be judged: a tool call is then never weaker than ask. */
static void test_guard_of_the_unreadable(void **state)
{
	struct verdict v = { 0 };
	struct event e = parse_as("claude", "PreToolUse", STR("{\"tool_name\":\"Bash\",\"tool_input\":"));

	guard_decide(NULL, &(struct guard_context){ .cwd = e.cwd }, &e, &arena, &v, NULL);
	assert_int_equal(v.action, VERDICT_ASK);
	v = (struct verdict){ 0 };
	e = parse_as("claude", "PostToolUse", STR("{"));
	guard_decide(NULL, &(struct guard_context){ .cwd = e.cwd }, &e, &arena, &v, NULL);
	assert_int_equal(v.action, VERDICT_NONE);
	for (const struct guard_rule *r = guard_rules; r->name; r++)
		assert_true(str_ends(str_of(r->text), STR(".")) && r->name[0]);
}

static void test_classes(void **state)
{
	static const struct {
		const char *agent, *tool;
		enum tool_class class;
	} rows[] = {
		{ "claude", "Bash", TOOL_SHELL },
		{ "claude", "Read", TOOL_READ },
		{ "claude", "Write", TOOL_WRITE },
		{ "claude", "Edit", TOOL_WRITE },
		{ "claude", "Grep", TOOL_SEARCH },
		{ "claude", "WebFetch", TOOL_WEB },
		{ "claude", "Task", TOOL_AGENT },
		{ "claude", "Agent", TOOL_AGENT },
		{ "claude", "mcp__probe__ask", TOOL_MCP },
		{ "claude", "bash", TOOL_OTHER },
		{ "claude", "", TOOL_OTHER },
		{ "claude", "New", TOOL_OTHER },
		{ "claude", "mcp_a_b", TOOL_OTHER },
		{ "codex", "Bash", TOOL_SHELL },
		{ "codex", "apply_patch", TOOL_WRITE },
		{ "codex", "view_image", TOOL_READ },
		{ "codex", "update_plan", TOOL_OTHER },
		{ "codex", "collaborationspawn_agent", TOOL_AGENT },
		{ "codex", "mcp__probe__hookit", TOOL_MCP },
		{ "gemini", "run_shell_command", TOOL_SHELL },
		{ "gemini", "replace", TOOL_WRITE },
		{ "gemini", "write_file", TOOL_WRITE },
		{ "gemini", "read_many_files", TOOL_READ },
		{ "gemini", "grep_search", TOOL_SEARCH },
		{ "gemini", "google_web_search", TOOL_WEB },
		{ "gemini", "invoke_agent", TOOL_AGENT },
		{ "gemini", "mcp_srv_ping", TOOL_MCP },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as(rows[i].agent, "PreToolUse",
			arena_strf(&arena, "{\"tool_name\":\"%s\"}", rows[i].tool));

		if (e.tool_class != rows[i].class)
			fail_msg("%s %s: %s", rows[i].agent, rows[i].tool, tool_class_names[e.tool_class]);
	}
	/* Whatever it is called: a tool that has a server is the server's. */
	assert_int_equal(parse_as("gemini", "BeforeTool",
				 STR("{\"tool_name\":\"read_file\",\"mcp_context\":{\"server_name\":\"s\"}}"))
				 .tool_class,
		TOOL_MCP);
}

/* A patch is no command line, though it comes under the name of one. */
static void test_patches(void **state)
{
	static const struct {
		const char *patch, *file;
	} rows[] = {
		{ "*** Begin Patch\\n*** Add File: a.txt\\n+x\\n*** End Patch\\n", "a.txt" },
		{ "*** Begin Patch\\r\\n*** Update File: dir/b c.txt \\r\\n@@\\n", "dir/b c.txt" },
		{ "*** Begin Patch\\n*** Delete File: one\\n*** Add File: two\\n", "one" },
		{ "*** Begin Patch\\n", "" },
		{ "", "" },
		{ "cat x # *** Add File: y", "" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("codex", "PreToolUse",
			arena_strf(&arena,
				"{\"session_id\":\"s\","
				"\"tool_name\":\"apply_patch\",\"tool_input\":{\"command\":\"%s "
				"hookd-selftest-deny\"}}",
				rows[i].patch));
		struct verdict v = { 0 };

		assert_false(str_is_set(e.command));
		if (!str_eq(e.file_path, str_of(rows[i].file)))
			fail_msg("%zu: " STR_FMT, i, STR_ARG(e.file_path));
		guard_decide(NULL, &(struct guard_context){ .cwd = e.cwd }, &e, &arena, &v, NULL);
		/* Which file it would change must be known. */
		assert_int_equal(v.action, str_eq(e.file_path, STR("")) && i != 3 ? VERDICT_ASK : VERDICT_NONE);
	}
	/* What is not known to be something else may be a shell: redaction looks at its command. */
	assert_true(str_is_set(parse_as("codex", "PreToolUse",
		STR("{\"tool_name\":\"mcp__sh__run\",\"tool_input\":{\"command\":\"cat .env\"}}"))
				       .command));
}

static void test_notify(void **state)
{
	static const char *const odd[] = { "\"\"", "5", "{}", "[]", "[5,null]", "null" };
	struct event e = parse_as("codex", "notify",
		STR("{\"type\":\"agent-turn-complete\",\"thread-id\":\"t\","
		    "\"turn-id\":\"1\",\"input-messages\":[\"first\",\"last\",7],\"last-assistant-message\":null}"));

	assert_int_equal(e.kind, EVENT_TURN_COMPLETE);
	assert_int_equal(e.marks, 0);
	assert_str(e.prompt, STR("last"));
	assert_false(str_is_set(e.message));
	for (size_t i = 0; i < countof(odd); i++)
		assert_false(str_is_set(parse_as("codex", "notify",
			arena_strf(&arena, "{\"thread-id\":\"t\",\"input-messages\":%s}", odd[i]))
						.prompt));
	/* Something else that may be told this way one day. */
	assert_int_equal(parse_as("codex", "notify", STR("{\"type\":\"new\",\"thread-id\":\"t\"}")).kind,
		EVENT_UNKNOWN);
	/* Never written into a hook file: notify, and what telemetry reports. */
	for (const struct agent_event *row = agent_codex.events; row->native; row++) {
		bool hook = row->kind != EVENT_TURN_COMPLETE && !str_starts(str_of(row->native), STR("codex."));

		assert_int_equal(row->flags, hook ? AGENT_EVENT_DEFAULT : AGENT_EVENT_NOT_A_HOOK);
	}
}

static void test_failures_of_gemini(void **state)
{
	static const struct {
		const char *tool, *response, *error;
	} rows[] = {
		{ "run_shell_command", "{\"llmContent\":\"Output: a\\nExit Code: 3\\nProcess Group PGID: 1\"}",
			"Exit Code: 3" },
		{ "run_shell_command", "{\"llmContent\":\"Output: (empty)\\nExit Code: 127\"}", "Exit Code: 127" },
		{ "run_shell_command", "{\"llmContent\":\"Output: a\\nExit Code: 3\\nb\\nProcess Group PGID: 1\"}",
			NULL },
		{ "run_shell_command", "{\"llmContent\":\"Output: Exit Code: 3\"}", NULL },
		{ "run_shell_command", "{\"llmContent\":[{\"text\":\"x\"}]}", NULL },
		{ "run_shell_command", "\"text\"", NULL },
		{ "read_file", "{\"llmContent\":\"Exit Code: 3\"}", NULL },
		{ "read_file", "{\"error\":{\"message\":\"gone\",\"type\":\"t\"}}", "gone" },
		{ "read_file", "{\"error\":\"gone\"}", "gone" },
		{ "read_file", "{\"error\":{}}", "" },
		{ "read_file", "{\"error\":null}", NULL },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("gemini", "AfterTool",
			arena_strf(&arena, "{\"session_id\":\"s\",\"tool_name\":\"%s\",\"tool_response\":%s}",
				rows[i].tool, rows[i].response));

		assert_int_equal(e.kind, rows[i].error ? EVENT_POST_TOOL_USE_FAILURE : EVENT_POST_TOOL_USE);
		assert_int_equal(e.marks, 0);
		if (rows[i].error)
			assert_str(e.error, str_of(rows[i].error));
	}
}

static const struct {
	const char *name;
	struct verdict verdict;
} told[] = {
	{ "neutral", { 0 } },
	{ "deny", { DENY } },
	{ "ask", { ASK } },
	{ "allow", { ALLOW } },
	{ "changed input", { ALLOW, .updated_input = &changed } },
	{ "context", { .context = &contexts } },
	{ "go on", { .continue_turn = true, .reason = S("run the tests") } },
	{ "end", { .end_turn = true, .reason = S("enough") } },
	{ "message", { .system_message = S("note") } },
	{ "all", { DENY, .context = &contexts, .system_message = S("note"), .updated_input = &changed } },
};

/* One verdict a line; null where the agent is told nothing. */
/* What an agent sees that reads only exit codes. */
static str exit_of(const struct agent *agent, const struct event *e, const struct verdict *v)
{
	struct buf out = BUF_INIT(LIMIT_REPLY), text = BUF_INIT(LIMIT_REPLY);
	struct answer answer = { .out = &out };
	struct json_writer w = JSON_WRITER(&text);
	str result;

	agent_render(agent, e, v, &arena, &answer);
	assert_int_equal(out.len, 0);
	jw_object(&w);
	jw_field_int(&w, "exit", answer.exit_code);
	jw_field_str(&w, "stderr", answer.err);
	jw_end_object(&w);
	result = arena_str(&arena, buf_str(&text));
	buf_release(&out);
	buf_release(&text);
	return result;
}

static void describe_answers(const char *agent, const struct event *e, struct buf *b)
{
	buf_add_char(b, '{');
	for (size_t i = 0; i < countof(told); i++) {
		struct verdict v = told[i].verdict;
		str out;

		/* As if a rule had changed nothing but what is in it. */
		if (v.updated_input && e->tool_input)
			v.updated_input = e->tool_input;
		if (strcmp(agent, "windsurf") == 0) {
			add_line(b, told[i].name, exit_of(agent_find(str_of(agent)), e, &v));
			continue;
		}
		out = answer_of(agent_find(str_of(agent)), e, &v);
		check_contract(agent, e, out);
		add_line(b, told[i].name, out.n ? out : STR("null"));
	}
	buf_add_str(b, STR("\n}\n"));
	assert_false(b->full);
}

/* Events that stand for one tool are calls of that tool. */
static void test_events_that_name_a_tool(void **state)
{
	struct event e = parse_as("cursor", "beforeShellExecution",
		STR("{\"conversation_id\":\"s\",\"command\":\"ls -l\",\"cwd\":\"/p\"}"));

	assert_int_equal(e.kind, EVENT_PRE_TOOL_USE);
	assert_int_equal(e.tool_class, TOOL_SHELL);
	assert_str(e.command, STR("ls -l"));
	assert_str(e.session, STR("s"));
	e = parse_as("windsurf", "pre_run_command",
		STR("{\"agent_action_name\":\"pre_run_command\","
		    "\"trajectory_id\":\"t\",\"tool_info\":{\"command_line\":\"ls\",\"cwd\":\"/w\"}}"));
	assert_int_equal(e.tool_class, TOOL_SHELL);
	assert_str(e.command, STR("ls"));
	assert_str(e.cwd, STR("/w"));
	assert_str(e.session, STR("t"));
}

/* Kinds that hookd makes itself are not for an agent to say. */
static void test_no_agent_says_what_is_hookds_own(void **state)
{
	static const char *const own[] = { "Decision", "decision", "ModelUsage" };

	for (size_t i = 0; agents[i]; i++)
		for (size_t k = 0; k < countof(own); k++)
			assert_int_equal(parse_as(agents[i]->name, own[k], STR("{\"session_id\":\"s\"}")).kind,
				EVENT_UNKNOWN);
}

/* What two calls about one happening have in common. */
static void test_same_happening(void **state)
{
	struct event a = parse_as("cursor", "preToolUse",
		STR("{\"conversation_id\":\"s\",\"tool_name\":\"Shell\","
		    "\"tool_input\":{\"command\":\"make\"},\"tool_use_id\":\"t1\"}"));
	struct event b = parse_as("cursor", "beforeShellExecution",
		STR("{\"conversation_id\":\"s\",\"command\":\"make\",\"cwd\":\"/p\"}"));
	struct event c = parse_as("claude", "PreToolUse",
		STR("{\"session_id\":\"s\",\"tool_name\":\"Bash\","
		    "\"tool_input\":{\"description\":\"builds\",\"command\":\"make\"},\"tool_use_id\":\"t2\"}"));
	struct event d = parse_as("claude", "PreToolUse",
		STR("{\"session_id\":\"s\",\"tool_name\":\"Write\","
		    "\"tool_input\":{\"file_path\":\"/a\",\"content\":\"1\"}}"));
	struct event e = parse_as("cursor", "preToolUse",
		STR("{\"conversation_id\":\"s\",\"tool_name\":\"Write\","
		    "\"tool_input\":{\"content\":\"1\",\"file_path\":\"/a\"}}"));
	struct event f = parse_as("cursor", "preToolUse",
		STR("{\"conversation_id\":\"s\",\"tool_name\":\"Write\","
		    "\"tool_input\":{\"content\":\"2\",\"file_path\":\"/a\"}}"));
	bool by_id;

	assert_true(event_same_key(&a) && event_same_key(&a) == event_same_key(&b));
	assert_true(event_same_key(&a) == event_same_key(&c));
	assert_true(event_same_key(&d) == event_same_key(&e) && event_same_key(&d) != event_same_key(&f));
	assert_true(event_ids_agree(&a, &b, &by_id) && !by_id);
	assert_false(event_ids_agree(&a, &c, &by_id));
	assert_true(event_ids_agree(&a, &a, &by_id) && by_id);
	/* Nothing to go by. */
	d = parse_as("claude", "Notification", STR("{\"session_id\":\"s\"}"));
	assert_int_equal(event_same_key(&d), 0);
	d = parse_as("claude", "Stop", STR("{}"));
	assert_int_equal(event_same_key(&d), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_golden),
		T(test_find),
		T(test_names_of_events),
		T(test_not_json),
		T(test_cut),
		T(test_missing_fields),
		T(test_wrong_types),
		T(test_wrong_inputs),
		T(test_doubled_members),
		T(test_guard_of_the_unreadable),
		T(test_classes),
		T(test_patches),
		T(test_notify),
		T(test_failures_of_gemini),
		T(test_events_that_name_a_tool),
		T(test_no_agent_says_what_is_hookds_own),
		T(test_same_happening),
	};
#undef T
	int failed = cmocka_run_group_tests_name("agents", tests, NULL, NULL);

	arena_release(&arena);
	return failed;
}
