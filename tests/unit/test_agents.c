/* agents: recorded payloads become the expected events, verdicts become the exact answers.
 *
 * tests/golden/<agent>/<name>.json is a payload as the agent sent it, <name>.event.json what hookd
 * makes of it. UPDATE_GOLDEN=1 (make golden-update) rewrites the latter; look at the diff. */
#include "test.h"

#include "agents/adapters.h"
#include "agents/agents.h"
#include "guard/guard.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_reset(&arena);
	return 0;
}

static struct event parse_as(const char *agent, const char *event, str payload)
{
	struct wire_hook hook = {
		.at_ms = 1700000000000, .agent = str_of(agent), .event = str_of(event), .cwd = STR("/where/hookc/ran"),
		.payload = payload,
	};
	struct event e;

	agent_parse(agent_find(str_of(agent)), &hook, &arena, &e);
	return e;
}

static struct json *parsed(str text)
{
	struct json *v = NULL;

	if (json_parse(&arena, text, 0, &v, NULL) < 0)
		fail_msg("not JSON: " STR_FMT, STR_ARG(text));
	return v;
}

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
		{ "session", e->session }, { "cwd", e->cwd }, { "transcript_path", e->transcript_path },
		{ "prompt", e->prompt }, { "prompt_id", e->prompt_id }, { "permission_mode", e->permission_mode },
		{ "source", e->source }, { "reason", e->reason }, { "message", e->message },
		{ "agent_id", e->agent_id }, { "agent_type", e->agent_type }, { "tool_name", e->tool_name },
		{ "tool_use_id", e->tool_use_id }, { "command", e->command }, { "file_path", e->file_path },
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

static void check_golden(const char *agent, const char *dir, const char *name)
{
	struct buf payload = BUF_INIT(MIB(1)), got = BUF_INIT(MIB(1)), want = BUF_INIT(MIB(1));
	char path[FS_PATH];
	struct event e;

	test_read(test_path(dir, name), &payload);
	e = parse_as(agent, "", buf_str(&payload));
	describe(&e, &got);
	(void)parsed(buf_str(&got));
	snprintf(path, sizeof path, "%.3000s/%.*s.event.json", dir, (int)(strlen(name) - 5), name);
	if (getenv("UPDATE_GOLDEN") && getenv("UPDATE_GOLDEN")[0] == '1')
		test_write(path, got.p, got.len);
	test_read(path, &want);
	if (!str_eq(buf_str(&got), buf_str(&want)))
		fail_msg("%s is not as expected (make golden-update shows the difference in git):\n%s", path, got.p);
	/* Named on the command line it is the same event. */
	buf_clear(&want);
	e = parse_as(agent, arena_cstr(&arena, e.native), buf_str(&payload));
	describe(&e, &want);
	assert_str(buf_str(&want), buf_str(&got));
	buf_release(&payload);
	buf_release(&got);
	buf_release(&want);
	arena_reset(&arena);
}

static int is_payload(const struct dirent *e)
{
	str name = str_of(e->d_name);

	return str_ends(name, STR(".json")) && !str_ends(name, STR(".event.json"));
}

static void test_golden(void **state)
{
	struct dirent **names;
	const char *dir = test_path(getenv("SRCDIR"), "tests/golden/claude");
	char folder[FS_PATH];
	int n;

	snprintf(folder, sizeof folder, "%s", dir);
	n = scandir(folder, &names, is_payload, alphasort);
	assert_true(n >= 60);
	for (int i = 0; i < n; i++) {
		check_golden("claude", folder, names[i]->d_name);
		free(names[i]);
	}
	free(names);
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
	static const char *const bodies[] = { "", " \n", "null", "[]", "\"text\"", "5", "{", "{}{}",
		"{'a':1}", "{\"a\":1,}" };

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
	struct wire_hook hook = { .agent = STR("claude"), .event = STR("PreToolUse"), .cut = true, .total = 99,
		.sha256 = { 7 }, .payload = STR("{\"session_id\":\"s\",\"tool_na") };
	struct verdict v = { 0 };
	struct event e;

	agent_parse(&agent_claude, &hook, &arena, &e);
	assert_int_equal(e.marks, EVENT_CUT | EVENT_NOT_JSON | EVENT_INCOMPLETE);
	assert_true(e.total == 99 && e.sha256[0] == 7);
	guard_decide(&e, &arena, &v);
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

static void check_answer(const struct agent *agent, const struct event *e, const struct verdict *v);

/* Every field of every kind of value, in every event: marked when it does not fit, never a crash. */
static void test_wrong_types(void **state)
{
	static const char *const values[] = { "5", "1.5", "true", "null", "[]", "[1]", "{}", "{\"a\":{}}",
		"\"x\"", "\"\"" };
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
		{ "Bash", "5", true },          { "Bash", "[\"ls\"]", true },
		{ "Bash", "\"{}\"", false },    { "Bash", "{\"command\":[\"ls\"]}", true },
		{ "Bash", "{\"command\":5}", true }, { "Bash", "{\"command\":null}", false },
		{ "Bash", "{\"command\":\"ls\"}", false }, { "mcp__x__y", "{\"path\":[1]}", false },
		{ "Read", "{\"file_path\":\"/x\"}", false },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("claude", "PreToolUse", arena_strf(&arena,
			"{\"session_id\":\"s\",\"tool_name\":\"%s\",\"tool_input\":%s}", rows[i].tool, rows[i].input));

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
	guard_decide(&e, &arena, &v);
	assert_int_equal(v.action, VERDICT_DENY);
	assert_str(v.rule, STR("hookd.selftest"));
}

/* What cannot be read cannot be judged: a tool call is then never weaker than ask. */
static void test_guard_of_the_unreadable(void **state)
{
	struct verdict v = { 0 };
	struct event e = parse_as("claude", "PreToolUse", STR("{\"tool_name\":\"Bash\",\"tool_input\":"));

	guard_decide(&e, &arena, &v);
	assert_int_equal(v.action, VERDICT_ASK);
	v = (struct verdict){ 0 };
	e = parse_as("claude", "PostToolUse", STR("{"));
	guard_decide(&e, &arena, &v);
	assert_int_equal(v.action, VERDICT_NONE);
	for (const struct guard_rule *r = guard_rules; r->name; r++)
		assert_true(str_ends(str_of(r->text), STR(".")) && r->judge);
}

static void test_classes(void **state)
{
	static const struct {
		const char *tool;
		enum tool_class class;
	} rows[] = { { "Bash", TOOL_SHELL }, { "Read", TOOL_READ }, { "Write", TOOL_WRITE }, { "Edit", TOOL_WRITE },
		{ "Grep", TOOL_SEARCH }, { "WebFetch", TOOL_WEB }, { "Task", TOOL_AGENT }, { "Agent", TOOL_AGENT },
		{ "mcp__probe__ask", TOOL_MCP }, { "bash", TOOL_OTHER }, { "", TOOL_OTHER }, { "New", TOOL_OTHER } };

	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = parse_as("claude", "PreToolUse",
			arena_strf(&arena, "{\"tool_name\":\"%s\"}", rows[i].tool));

		assert_int_equal(e.tool_class, rows[i].class);
	}
}

/* -- answers ----------------------------------------------------------------------------------- */

/* Whatever is said must be one object that Claude Code accepts: the event's own name, nothing empty. */
static void check_contract(const struct event *e, str out)
{
	struct json *root, *specific;

	if (out.n == 0)
		return;
	root = parsed(out);
	assert_int_equal(root->type, JSON_OBJECT);
	assert_true(root->count > 0);
	specific = json_get(root, STR("hookSpecificOutput"));
	if (specific) {
		assert_int_equal(specific->type, JSON_OBJECT);
		assert_true(specific->count > 1);
		assert_str(json_str(json_get(specific, STR("hookEventName"))), str_of(event_kinds[e->kind].name));
	}
	json_each(m, root)
		assert_true(str_eq(m->key, STR("continue")) || str_eq(m->key, STR("stopReason")) ||
			str_eq(m->key, STR("decision")) || str_eq(m->key, STR("reason")) ||
			str_eq(m->key, STR("systemMessage")) || m == specific);
}

static void check_answer(const struct agent *agent, const struct event *e, const struct verdict *v)
{
	struct buf out = BUF_INIT(LIMIT_REPLY);
	struct answer answer = { .out = &out, .exit_code = 77 };

	agent_render(agent, e, v, &arena, &answer);
	assert_int_equal(answer.exit_code, 0);
	assert_int_equal(answer.err.n, 0);
	assert_false(out.full);
	check_contract(e, buf_str(&out));
	buf_release(&out);
}

#define S(text) { text, sizeof(text) - 1 }
#define DENY .action = VERDICT_DENY, .reason = S("no \"way\"\n"), .rule = S("r")
#define ASK .action = VERDICT_ASK, .reason = S("sure?"), .rule = S("r")
#define ALLOW .action = VERDICT_ALLOW, .reason = S("fine"), .rule = S("r")

static struct context_block second = { .text = S("two") };
static struct context_block contexts = { .next = &second, .text = S("one") };
static const struct json changed_value = { .type = JSON_STRING, .key = S("command"), .text = S("ls -l") };
static const struct json changed = { .type = JSON_OBJECT, .first = (struct json *)&changed_value, .count = 1 };

static const struct answer_row {
	enum event_kind kind;
	struct verdict verdict;
	const char *out;
} answers[] = {
	{ EVENT_PRE_TOOL_USE, { 0 }, "" },
	{ EVENT_PRE_TOOL_USE, { DENY }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no \\\"way\\\"\\n\"}}" },
	{ EVENT_PRE_TOOL_USE, { ASK }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"sure?\"}}" },
	{ EVENT_PRE_TOOL_USE, { ALLOW }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"permissionDecision\":\"allow\",\"permissionDecisionReason\":\"fine\"}}" },
	{ EVENT_PRE_TOOL_USE, { .updated_input = &changed },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"updatedInput\":{\"command\":\"ls -l\"}}}" },
	{ EVENT_PRE_TOOL_USE, { ALLOW, .updated_input = &changed, .context = &contexts },
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\","
		"\"permissionDecisionReason\":\"fine\",\"updatedInput\":{\"command\":\"ls -l\"},"
		"\"additionalContext\":\"one\\n\\ntwo\"}}" },
	{ EVENT_PRE_TOOL_USE, { .context = &second }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		"\"additionalContext\":\"two\"}}" },
	{ EVENT_PRE_TOOL_USE, { .system_message = S("note") }, "{\"systemMessage\":\"note\"}" },
	{ EVENT_USER_PROMPT_SUBMIT, { DENY }, "{\"decision\":\"block\",\"reason\":\"no \\\"way\\\"\\n\"}" },
	{ EVENT_USER_PROMPT_SUBMIT, { .context = &contexts }, "{\"hookSpecificOutput\":{\"hookEventName\":"
		"\"UserPromptSubmit\",\"additionalContext\":\"one\\n\\ntwo\"}}" },
	{ EVENT_USER_PROMPT_SUBMIT, { DENY, .context = &second },
		"{\"decision\":\"block\",\"reason\":\"no \\\"way\\\"\\n\","
		"\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"two\"}}" },
	{ EVENT_USER_PROMPT_SUBMIT, { ASK }, "" },
	{ EVENT_SESSION_START, { .context = &contexts }, "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\","
		"\"additionalContext\":\"one\\n\\ntwo\"}}" },
	{ EVENT_SESSION_START, { .system_message = S("hi") }, "{\"systemMessage\":\"hi\"}" },
	{ EVENT_SESSION_START, { .system_message = S("hi"), .context = &second }, "{\"systemMessage\":\"hi\","
		"\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"two\"}}" },
	{ EVENT_SESSION_START, { DENY }, "" },
	{ EVENT_POST_TOOL_USE, { .context = &second }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\","
		"\"additionalContext\":\"two\"}}" },
	{ EVENT_POST_TOOL_USE, { .end_turn = true, .reason = S("enough") },
		"{\"continue\":false,\"stopReason\":\"enough\"}" },
	{ EVENT_STOP, { .continue_turn = true, .reason = S("run the tests") },
		"{\"decision\":\"block\",\"reason\":\"run the tests\"}" },
	{ EVENT_SUBAGENT_STOP, { .continue_turn = true, .reason = S("go on") },
		"{\"decision\":\"block\",\"reason\":\"go on\"}" },
	{ EVENT_STOP, { .reason = S("nothing") }, "" },
	{ EVENT_PERMISSION_REQUEST, { ALLOW }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\","
		"\"decision\":{\"behavior\":\"allow\"}}}" },
	{ EVENT_PERMISSION_REQUEST, { ALLOW, .updated_input = &changed }, "{\"hookSpecificOutput\":{\"hookEventName\":"
		"\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\","
		"\"updatedInput\":{\"command\":\"ls -l\"}}}}" },
	{ EVENT_PERMISSION_REQUEST, { DENY }, "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\","
		"\"decision\":{\"behavior\":\"deny\",\"message\":\"no \\\"way\\\"\\n\"}}}" },
	{ EVENT_PERMISSION_REQUEST, { ASK }, "" },
	{ EVENT_SESSION_END, { .context = &second }, "" },
	{ EVENT_NOTIFICATION, { DENY }, "" },
	{ EVENT_PRE_COMPACT, { DENY }, "{\"decision\":\"block\",\"reason\":\"no \\\"way\\\"\\n\"}" },
	{ EVENT_UNKNOWN, { DENY, .context = &second }, "" },
};

static void test_answers(void **state)
{
	for (size_t i = 0; i < countof(answers); i++) {
		struct event e = { .kind = answers[i].kind, .agent = STR("claude"), .native = STR("Native") };
		struct buf out = BUF_INIT(LIMIT_REPLY);
		struct answer answer = { .out = &out, .exit_code = 77, .err = STR("x") };

		agent_render(&agent_claude, &e, &answers[i].verdict, &arena, &answer);
		if (!str_eq(buf_str(&out), str_of(answers[i].out)))
			fail_msg("row %zu: %s\n  is not %s", i, out.p, answers[i].out);
		assert_int_equal(answer.exit_code, 0);
		assert_int_equal(answer.err.n, 0);
		check_contract(&e, buf_str(&out));
		buf_release(&out);
	}
}

/* Every verdict of the table, at every event: never half an object, never a wrong name. */
static void test_every_answer_everywhere(void **state)
{
	for (size_t i = 0; i < countof(answers); i++)
		for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++) {
			struct event e = { .kind = k };

			check_answer(&agent_claude, &e, &answers[i].verdict);
			arena_reset(&arena);
		}
}

static void test_other_agents_are_neutral(void **state)
{
	for (size_t i = 0; agents[i]; i++) {
		struct event e = { .kind = EVENT_PRE_TOOL_USE };
		struct buf out = BUF_INIT(100);
		struct answer answer = { .out = &out, .exit_code = 1 };

		if (agents[i]->render)
			continue;
		agent_render(agents[i], &e, &(struct verdict){ DENY }, &arena, &answer);
		assert_int_equal(out.len, 0);
		assert_int_equal(answer.exit_code, 0);
		assert_int_equal(agents[i]->verbs, 0);
		buf_release(&out);
	}
}

/* A denial arrives even if what came with it does not fit. */
static void test_answers_that_do_not_fit(void **state)
{
	static char huge[5 << 20];
	struct context_block big = { .text = { huge, sizeof huge } }, bad = { .text = { huge, 1 << 19 } };
	struct json text = { .type = JSON_STRING, .key = STR("content"), .text = { huge, sizeof huge } };
	struct json input = { .type = JSON_OBJECT, .first = &text, .count = 1 };
	struct verdict rows[] = {
		{ DENY, .context = &big }, { DENY, .context = &bad }, { DENY, .updated_input = &input },
		{ DENY, .system_message = { huge, sizeof huge } },
		{ .action = VERDICT_DENY, .reason = { huge, sizeof huge } },
		{ ALLOW, .updated_input = &input }, { .updated_input = &input },
	};

	memset(huge, 1, sizeof huge); /* written as \u0001 each */
	for (size_t i = 0; i < countof(rows); i++) {
		struct event e = { .kind = EVENT_PRE_TOOL_USE };
		struct buf out = BUF_INIT(LIMIT_REPLY);
		struct answer answer = { .out = &out };
		str decision;

		agent_render(&agent_claude, &e, &rows[i], &arena, &answer);
		assert_false(out.full);
		check_contract(&e, buf_str(&out));
		decision = json_str(json_path(parsed(buf_str(&out)), "hookSpecificOutput", "permissionDecision", NULL));
		assert_str(decision, rows[i].action == VERDICT_DENY ? STR("deny") : STR("ask"));
		buf_release(&out);
	}
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
		T(test_answers),
		T(test_every_answer_everywhere),
		T(test_other_agents_are_neutral),
		T(test_answers_that_do_not_fit),
	};
#undef T
	int failed = cmocka_run_group_tests_name("agents", tests, NULL, NULL);

	arena_release(&arena);
	return failed;
}
