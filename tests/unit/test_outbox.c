/* outbox: what an agent's event becomes, who wants it, what is sent, in which order it goes out.
 *
 * The rules of seed 003 have a test each, with a payload as the agent sent it (tests/golden). */
#include "stores.h"

#include "agents/agents.h"
#include "base/hmac.h"
#include "jobs/jobs.h"
#include "outbox/internal.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_reset(&arena);
	return 0;
}

/* -- what an event becomes --------------------------------------------------------------------- */

/* A payload as it was recorded; arguments in pairs: a member, and the text that it has instead (NULL: it is gone). */
static str read_payload(const char *path)
{
	struct buf b = BUF_INIT(MIB(1));
	char full[FS_PATH];
	str text;

	snprintf(full, sizeof full, "%s/tests/golden/%s", getenv("SRCDIR"), path);
	test_read(full, &b);
	text = arena_str(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static str without(str payload, const char *member)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	struct json *root;
	str text;

	assert_int_equal(json_parse(&arena, payload, 0, &root, NULL), 0);
	jw_object(&w);
	json_each(m, root)
		if (!str_eq(m->key, str_of(member))) {
			jw_key_str(&w, m->key);
			jw_value(&w, m);
		}
	jw_end_object(&w);
	text = arena_str(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

struct told {
	struct event event;
	struct record record;
	struct outbox_meaning meaning;
	bool goes_out;
};

static struct told tell(const char *agent, const char *native, str payload)
{
	struct wire_hook hook = { .at_ms = 1700000000000,
		.agent = str_of(agent),
		.event = str_of(native),
		.cwd = STR("/home/dev/proj"),
		.payload = payload };
	struct told t = { 0 };

	agent_parse(agent_find(str_of(agent)), &hook, &arena, &t.event);
	t.record = record_sample(1, payload);
	t.record.agent = t.event.agent;
	t.record.native = t.event.native;
	t.record.session = t.event.session;
	t.record.agent_id = t.event.agent_id;
	t.goes_out = outbox_understand(&t.event, &t.record, &t.meaning);
	return t;
}

static void becomes(const char *agent, const char *native, const char *path, enum outbox_type type)
{
	struct told t = tell(agent, native, read_payload(path));

	assert_true(t.goes_out);
	assert_string_equal(outbox_types[t.meaning.type].name, outbox_types[type].name);
	assert_int_equal(t.meaning.missing, 0);
}

/* Without this member it is an error that says so. */
static void needs(const char *agent, const char *native, const char *path, const char *member, unsigned missing)
{
	struct told t = tell(agent, native, without(read_payload(path), member)),
		    whole = tell(agent, native, read_payload(path));

	assert_true(t.goes_out);
	assert_int_equal(t.meaning.type, OUTBOX_ERROR);
	assert_int_equal(t.meaning.meant, whole.meaning.type);
	assert_int_equal(t.meaning.missing, missing);
}

static void test_claude_SessionStart_is_session_start(void **state)
{
	becomes("claude", "SessionStart", "claude/SessionStart.json", OUTBOX_SESSION_START);
	becomes("claude", "SessionStart", "claude/SessionStart.resume.json", OUTBOX_SESSION_START);
}

static void test_claude_SessionStart_requires_session_id(void **state)
{
	needs("claude", "SessionStart", "claude/SessionStart.json", "session_id", NEEDS_SESSION);
}

static void test_claude_SessionStart_requires_transcript_path(void **state)
{
	needs("claude", "SessionStart", "claude/SessionStart.json", "transcript_path", NEEDS_TRANSCRIPT);
}

static void test_claude_UserPromptSubmit_is_prompt_and_has_the_users_input(void **state)
{
	struct told t;

	becomes("claude", "UserPromptSubmit", "claude/UserPromptSubmit.json", OUTBOX_PROMPT);
	t = tell("claude", "UserPromptSubmit",
		STR("{\"session_id\":\"s\",\"user_prompt\":\"as the document calls it\"}"));
	assert_int_equal(t.meaning.type, OUTBOX_PROMPT);
	assert_str(t.event.prompt, STR("as the document calls it"));
	needs("claude", "UserPromptSubmit", "claude/UserPromptSubmit.json", "prompt", NEEDS_PROMPT);
}

static void test_claude_Stop_is_stop(void **state)
{
	becomes("claude", "Stop", "claude/Stop.json", OUTBOX_STOP);
	becomes("claude", "Stop", "claude/Stop.active.json", OUTBOX_STOP);
	needs("claude", "Stop", "claude/Stop.json", "session_id", NEEDS_SESSION);
}

static void test_claude_Notification_is_notification(void **state)
{
	becomes("claude", "Notification", "claude/Notification.permission_prompt.json", OUTBOX_NOTIFICATION);
	needs("claude", "Notification", "claude/Notification.permission_prompt.json", "session_id", NEEDS_SESSION);
}

static void test_claude_SessionEnd_is_session_end(void **state)
{
	becomes("claude", "SessionEnd", "claude/SessionEnd.json", OUTBOX_SESSION_END);
	needs("claude", "SessionEnd", "claude/SessionEnd.json", "session_id", NEEDS_SESSION);
}

static void test_gemini_SessionStart_is_session_start(void **state)
{
	becomes("gemini", "SessionStart", "gemini/SessionStart.json", OUTBOX_SESSION_START);
}

static void test_gemini_SessionStart_requires_session_id(void **state)
{
	needs("gemini", "SessionStart", "gemini/SessionStart.json", "session_id", NEEDS_SESSION);
}

static void test_gemini_SessionStart_requires_transcript_path(void **state)
{
	needs("gemini", "SessionStart", "gemini/SessionStart.json", "transcript_path", NEEDS_TRANSCRIPT);
}

static void test_gemini_AfterAgent_is_stop_with_the_users_input(void **state)
{
	struct told t = tell("gemini", "AfterAgent", read_payload("gemini/AfterAgent.json"));

	becomes("gemini", "AfterAgent", "gemini/AfterAgent.json", OUTBOX_STOP);
	assert_true(t.event.prompt.n > 0 && t.event.message.n > 0);
}

static void test_gemini_Notification_is_notification(void **state)
{
	becomes("gemini", "Notification", "gemini/Notification.json", OUTBOX_NOTIFICATION);
	needs("gemini", "Notification", "gemini/Notification.json", "session_id", NEEDS_SESSION);
}

static void test_gemini_SessionEnd_is_session_end(void **state)
{
	becomes("gemini", "SessionEnd", "gemini/SessionEnd.json", OUTBOX_SESSION_END);
	needs("gemini", "SessionEnd", "gemini/SessionEnd.json", "session_id", NEEDS_SESSION);
}

static void test_gemini_BeforeAgent_is_prompt(void **state)
{
	becomes("gemini", "BeforeAgent", "gemini/BeforeAgent.json", OUTBOX_PROMPT);
}

static void test_codex_agent_turn_complete_is_stop(void **state)
{
	becomes("codex", "notify", "codex/notify.json", OUTBOX_STOP);
	becomes("codex", "agent-turn-complete", "codex/notify.json", OUTBOX_STOP);
}

static void test_codex_agent_turn_complete_requires_thread_id(void **state)
{
	needs("codex", "notify", "codex/notify.json", "thread-id", NEEDS_SESSION);
}

static void test_codex_agent_turn_complete_has_the_last_of_the_input_messages(void **state)
{
	struct told t = tell("codex", "notify",
		STR("{\"type\":\"agent-turn-complete\",\"thread-id\":\"t-1\",\"input-messages\":[\"first\",\"last\"],"
		    "\"last-assistant-message\":\"done\"}"));

	assert_int_equal(t.meaning.type, OUTBOX_STOP);
	assert_str(t.event.prompt, STR("last"));
	assert_str(t.event.message, STR("done"));
}

static void test_other_agents_follow_the_canonical_event(void **state)
{
	static const struct {
		const char *agent, *native, *path;
		enum outbox_type type;
	} rows[] = {
		{ "codex", "SessionStart", "codex/SessionStart.json", OUTBOX_SESSION_START },
		{ "codex", "UserPromptSubmit", "codex/UserPromptSubmit.json", OUTBOX_PROMPT },
		{ "codex", "Stop", "codex/Stop.json", OUTBOX_STOP },
		{ "codex", "SessionEnd", "codex/SessionEnd.json", OUTBOX_SESSION_END },
		{ "copilot", "sessionStart", "copilot/sessionStart.json", OUTBOX_SESSION_START },
		{ "copilot", "userPromptSubmitted", "copilot/userPromptSubmitted.json", OUTBOX_PROMPT },
		{ "copilot", "agentStop", "copilot/agentStop.json", OUTBOX_STOP },
		{ "copilot", "notification", "copilot/notification.json", OUTBOX_NOTIFICATION },
		{ "copilot", "sessionEnd", "copilot/sessionEnd.json", OUTBOX_SESSION_END },
		{ "cursor", "sessionStart", "cursor/sessionStart.json", OUTBOX_SESSION_START },
		{ "cursor", "beforeSubmitPrompt", "cursor/beforeSubmitPrompt.json", OUTBOX_PROMPT },
		{ "cursor", "stop", "cursor/stop.json", OUTBOX_STOP },
		{ "cursor", "sessionEnd", "cursor/sessionEnd.json", OUTBOX_SESSION_END },
		{ "qwen", "SessionStart", "qwen/SessionStart.json", OUTBOX_SESSION_START },
		{ "qwen", "UserPromptSubmit", "qwen/UserPromptSubmit.json", OUTBOX_PROMPT },
		{ "qwen", "Stop", "qwen/Stop.json", OUTBOX_STOP },
		{ "qwen", "Notification", "qwen/Notification.json", OUTBOX_NOTIFICATION },
		{ "qwen", "SessionEnd", "qwen/SessionEnd.json", OUTBOX_SESSION_END },
		{ "opencode", "session.created", "opencode/session.created.json", OUTBOX_SESSION_START },
		{ "opencode", "chat.message", "opencode/chat.message.json", OUTBOX_PROMPT },
		{ "opencode", "session.idle", "opencode/session.idle.json", OUTBOX_STOP },
		{ "windsurf", "pre_user_prompt", "windsurf/pre_user_prompt.json", OUTBOX_PROMPT },
		{ "windsurf", "post_cascade_response", "windsurf/post_cascade_response.json", OUTBOX_STOP },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		arena_reset(&arena);
		becomes(rows[i].agent, rows[i].native, rows[i].path, rows[i].type);
	}
}

static void test_a_turn_that_failed_is_an_error(void **state)
{
	becomes("claude", "StopFailure", "claude/StopFailure.json", OUTBOX_ERROR);
}

static void test_other_events_keep_their_name(void **state)
{
	struct told t = tell("claude", "PostToolUse", read_payload("claude/PostToolUse.json"));

	assert_true(t.goes_out);
	assert_int_equal(t.meaning.type, OUTBOX_OTHER);
	assert_false(outbox_types[OUTBOX_OTHER].critical);
	for (size_t i = 0; i < OUTBOX_OTHER; i++)
		assert_true(outbox_types[i].critical);
}

static void test_what_a_subagent_does_is_no_turn(void **state)
{
	struct told t = tell("claude", "UserPromptSubmit",
		STR("{\"session_id\":\"s\",\"prompt\":\"look\",\"agent_id\":\"a1\",\"transcript_path\":\"/t\"}"));

	assert_int_equal(t.meaning.type, OUTBOX_OTHER);
	t = tell("copilot", "agentStop", read_payload("copilot/agentStop.in-subagent.json"));
	assert_true(t.meaning.type != OUTBOX_STOP || str_empty(t.event.agent_id));
}

static void test_what_is_private_imported_or_the_doctors_goes_nowhere(void **state)
{
	static const unsigned marks[] = { EVENT_PRIVATE, EVENT_IMPORTED };
	struct told t = tell("claude", "Stop", read_payload("claude/Stop.json"));
	struct outbox_meaning m;

	assert_true(outbox_understand(&t.event, &t.record, &m));
	for (size_t i = 0; i < countof(marks); i++) {
		t.record.marks = marks[i];
		assert_false(outbox_understand(&t.event, &t.record, &m));
	}
	t.record.marks = 0;
	t.record.session = STR("hookd-doctor-01M7S82EXGZY2CM4NV9Y6TS9XE");
	assert_false(outbox_understand(&t.event, &t.record, &m));
}

/* Every kind that may become a type is announced, so that it is folded at once. */
static void test_kinds_that_a_type_is_made_of(void **state)
{
	uint64_t all = 0;

	for (size_t i = 0; i < OUTBOX_OTHER; i++)
		all |= outbox_kinds_of((enum outbox_type)i);
	assert_true(outbox_kinds_of(OUTBOX_STOP) == (UINT64_C(1) << EVENT_STOP | UINT64_C(1) << EVENT_TURN_COMPLETE));
	assert_true(outbox_kinds_of(OUTBOX_ERROR) == all);
	assert_false(all >> EVENT_POST_TOOL_USE & 1);
}

static void test_our_name_of_a_session(void **state)
{
	char a[OUTBOX_SESSION_ID + 1], b[OUTBOX_SESSION_ID + 1];
	str uuid = STR("a2676770-4d09-46a3-aab3-65a7f3f0f4a3");

	outbox_session_id(STR("claude"), uuid, a);
	assert_int_equal(strlen(a), OUTBOX_SESSION_ID);
	assert_true(a[14] == '8' && strchr("89ab", a[19]) && a[8] == '-' && a[23] == '-');
	/* The label may change, a name that is unique does not. */
	outbox_session_id(STR("cursor"), uuid, b);
	assert_string_equal(a, b);
	outbox_session_id(STR("claude"), STR("s1"), a);
	outbox_session_id(STR("cursor"), STR("s1"), b);
	assert_string_not_equal(a, b);
}

/* -- signatures -------------------------------------------------------------------------------- */

static str repeat(char c, size_t n)
{
	char *p = arena_bytes(&arena, n);

	memset(p, c, n);
	return str_n(p, n);
}

/* RFC 4231, and a key of exactly one block. */
static void test_hmac_vectors(void **state)
{
	const struct {
		str key, data;
		const char *digest;
	} rows[] = {
		{ repeat(0x0b, 20), STR("Hi There"),
			"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ STR("Jefe"), STR("what do ya want for nothing?"),
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ repeat((char)0xaa, 20), repeat((char)0xdd, 50),
			"773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
		{ repeat((char)0xaa, 131), STR("Test Using Larger Than Block-Size Key - Hash Key First"),
			"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
		{ repeat((char)0xaa, 131),
			STR("This is a test using a larger than block-size key and a larger than block-size data. The "
			    "key "
			    "needs to be hashed before being used by the HMAC algorithm."),
			"9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
		{ STR(""), STR(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" },
	};
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct hmac h;

	for (size_t i = 0; i < countof(rows); i++) {
		hmac_init(&h, rows[i].key);
		hmac_add(&h, str_head(rows[i].data, 3)); /* in pieces */
		hmac_add(&h, str_from(rows[i].data, 3));
		hmac_end(&h, digest);
		sha256_hex(digest, hex);
		assert_string_equal(hex, rows[i].digest);
		assert_true(hmac_is(digest, str_of(rows[i].digest)));
		hex[i] ^= 1;
		assert_false(hmac_is(digest, str_of(hex)));
		assert_false(hmac_is(digest, str_head(str_of(rows[i].digest), 63)));
		assert_false(hmac_is(digest, STR("")));
	}
}

/* -- sinks ------------------------------------------------------------------------------------- */

#define HOOK "\"type\":\"webhook\",\"url\":\"https://x.example/\""

static void test_a_mistake_has_its_place(void **state)
{
	static const struct {
		const char *text;
		unsigned line, col;
		const char *says;
	} rows[] = {
		{ "{\"sinks\":\n [{\"name\":\"a\",\n  \"type\":\"pigeon\"}]}", 3, 10, "\"slack\", not 'pigeon'" },
		{ "{\"sinks\":[{\"name\":\"a\"," HOOK ",\n \"timeout\":121}]}", 2, 12, "from 1 to 120" },
		{ "{\"sinks\":[{\"name\":\"a\"," HOOK ",\n \"when\":{\"properties\":[]}}]}", 2, 23,
			"'properties' must" },
		{ "{\"sinks\":[{\"name\":\"a\"," HOOK ",\n\n\"name\":\"b\"}]}", 3, 8, "'name' appears a second time" },
		{ "// a comment\n{\"sinks\": 5}", 2, 11, "'sinks' must be a list" },
		{ "{\"sinks\":[{\"name\":\"a\",\"type\":\"file\",\"path\":\"~/x\",\n \"max_mb\":0}]}", 2, 11,
			"from 1 to 4096" },
		{ "{\"sinks\":[{\"name\":\"a\",\"type\":\"exec\",\"command\":[\"/bin/x\",\n 7]}]}", 1, 47,
			"a list of texts" },
		{ "{\"sinks\":[\n{\"name\":\"a\"," HOOK "},\n{\"name\":\"a\"," HOOK "}]}", 3, 1, "'a' already" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct sinks *s = sinks_parse(str_of(rows[i].text), "/home/dev");

		assert_non_null(s->problems);
		if (!strstr(s->problems->err.text, rows[i].says) || s->problems->err.line != rows[i].line ||
			s->problems->err.col != rows[i].col)
			fail_msg("%zu: %u:%u: %s", i, s->problems->err.line, s->problems->err.col,
				s->problems->err.text);
		sinks_unref(s);
	}
}

static void test_a_sink_as_it_is_read(void **state)
{
	struct sinks *s = sinks_parse(STR("{/* mine */ \"sinks\":[{\"name\":\"a-1\"," HOOK
					  ",\"secret_file\":\"~/k\",\"events\":[\"stop\",\"post-tool-use\"],}],}"),
		"/home/dev");
	const struct sink *a = sinks_find(s, STR("a-1"));

	assert_int_equal(s->nproblems, 0);
	assert_non_null(a);
	assert_str(a->secret_file, STR("/home/dev/k"));
	assert_true(
		a->types[OUTBOX_STOP] && !a->types[OUTBOX_PROMPT] && a->kinds == UINT64_C(1) << EVENT_POST_TOOL_USE);
	assert_true(s->kinds == (a->kinds | outbox_kinds_of(OUTBOX_STOP)));
	assert_int_equal(a->timeout_s, 10);
	sinks_unref(s);
	s = sinks_parse(STR("{\"sinks\":[{\"name\":\"n\",\"type\":\"ntfy\",\"url\":\"https://ntfy.sh/abc/"
			    "\",\"enabled\":false}]}"),
		NULL);
	assert_int_equal(s->n, 1);
	assert_str(s->list[0]->url, STR("https://ntfy.sh/"));
	assert_str(s->list[0]->topic, STR("abc"));
	assert_true(s->kinds == 0 && s->list[0]->types[OUTBOX_ERROR]);
	sinks_unref(s);
}

static void test_more_sinks_than_there_may_be(void **state)
{
	struct buf b = BUF_INIT(MIB(1));
	struct sinks *s;

	buf_add_str(&b, STR("{\"sinks\":["));
	for (int i = 0; i < 200; i++)
		buf_addf(&b, "%s{\"name\":\"s%d\"," HOOK "}", i ? "," : "", i);
	buf_add_str(&b, STR("]}"));
	s = sinks_parse(buf_str(&b), NULL);
	assert_int_equal(s->n, SINKS_MAX);
	assert_int_equal(s->nproblems, 200 - SINKS_MAX);
	sinks_unref(s);
	buf_release(&b);
}

static void test_wildcards(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} rows[] = { { "*", "", true }, { "*", "abc", true }, { "a*", "abc", true }, { "*c", "abc", true },
		{ "a*c", "abc", true }, { "a*b", "abc", false }, { "*b*", "abc", true }, { "**", "x", true },
		{ "a", "ab", false }, { "", "", true }, { "", "a", false }, { "a*a", "a", false },
		{ "*ab*ab", "abcab", true }, { "*ab*ab", "ab", false } };
	str text = repeat('a', 4096), pattern = STR("*a*a*a*a*a*a*a*a*b");

	for (size_t i = 0; i < countof(rows); i++)
		if (str_fits(str_of(rows[i].pattern), str_of(rows[i].text)) != rows[i].fits)
			fail_msg("%s, %s", rows[i].pattern, rows[i].text);
	assert_false(str_fits(pattern, text)); /* and that in no time */
}

/* -- what is sent ------------------------------------------------------------------------------ */

static struct outbox_notice sample(struct event *e)
{
	return (struct outbox_notice){ .meaning = { OUTBOX_STOP, OUTBOX_STOP, 0 },
		.type = STR("stop"),
		.event = e,
		.id = STR("01M7S82EXGEWNFJSZXW3G8RP19"),
		.event_id = STR("01M7S82EXGZY2CM4NV9Y6TS9XE"),
		.session_id = STR("4869342b-2e0b-828f-8448-035b9edac076"),
		.agent = STR("claude"),
		.event_name = STR("Stop"),
		.native_event = STR("Stop"),
		.at_us = 1700000000000000,
		.native_session = STR("s1"),
		.prompt = STR("Fix it"),
		.answer = STR("Done \"well\"\n<b>") };
}

static struct sinks *one_sink(const char *type, const char *more)
{
	str text = arena_strf(&arena, "{\"sinks\":[{\"name\":\"a\",\"type\":\"%s\",%s}]}", type, more);
	struct sinks *s = sinks_parse(text, "/home/dev");

	if (s->n != 1)
		fail_msg("%s: %s", type, s->problems->err.text);
	return s;
}

static void test_whatever_the_text_the_body_is_json_and_fits(void **state)
{
	static const struct {
		const char *type, *more;
	} types[] = { { "webhook", "\"url\":\"https://x.example/\"" }, { "exec", "\"command\":[\"/bin/x\"]" },
		{ "file", "\"path\":\"/tmp/x\"" }, { "otlp", "\"url\":\"https://x.example/v1/logs\"" },
		{ "ntfy", "\"url\":\"https://x.example/t\"" }, { "slack", "\"url\":\"https://x.example/\"" } };
	static const char *const pieces[] = { "word ", "\x01", "\"", "\xff", "\xc3\xa4", "<&>" };
	struct buf b = BUF_INIT(OUTBOX_BODY), text = BUF_INIT(MIB(4));
	struct event e = { 0 };

	for (size_t t = 0; t < countof(types); t++)
		for (size_t i = 0; i < countof(pieces); i++) {
			struct sinks *s = one_sink(types[t].type, types[t].more);
			struct outbox_notice n = sample(&e);
			struct json *root;

			buf_clear(&text);
			while (text.len < 400000)
				buf_add_str(&text, str_of(pieces[i]));
			n.answer = n.prompt = n.summary = n.title = n.transcript = n.project = n.project_path = n.cwd =
				n.transcript_path = buf_str(&text);
			buf_clear(&b);
			b.full = false;
			sink_write(s->list[0], &n, &b);
			assert_false(b.full);
			assert_true(b.len > 10 && b.len <= OUTBOX_BODY);
			assert_int_equal(json_parse(&arena, buf_str(&b), 0, &root, NULL), 0);
			sinks_unref(s);
		}
	buf_release(&b);
	buf_release(&text);
}

static void test_criteria_hold_together(void **state)
{
	static const struct {
		const char *when;
		bool wanted;
	} rows[] = {
		{ "{}", true },
		{ "{\"agent\":\"claude\"}", true },
		{ "{\"agent\":[\"codex\",\"cl*\"]}", true },
		{ "{\"agent\":\"codex\",\"type\":\"stop\"}", false },
		{ "{\"type\":[\"stop\",\"error\"]}", true },
		{ "{\"properties\":{\"answer\":\"*well*\",\"prompt\":\"Fix it\"}}", true },
		{ "{\"properties\":{\"answer\":\"*well*\",\"prompt\":\"Fix\"}}", false },
		{ "{\"properties\":{\"summary\":false,\"stop_hook_active\":\"false\"}}", true },
		{ "{\"properties\":{\"summary\":true}}", false },
		{ "{\"properties\":{\"tool_name\":\"*\"}}", false },
		{ "{\"project\":true}", false },
		{ "{\"project\":false}", true },
		{ "{\"project\":\"*\"}", false },
	};
	struct event e = { 0 };
	struct outbox_notice n = sample(&e);

	for (size_t i = 0; i < countof(rows); i++) {
		str more = arena_strf(&arena, "\"url\":\"https://x.example/\",\"when\":%s", rows[i].when);
		struct sinks *s = one_sink("webhook", more.p);

		if (sink_wants(s->list[0], &n) != rows[i].wanted)
			fail_msg("%s", rows[i].when);
		sinks_unref(s);
	}
}

/* -- in which order it goes out ---------------------------------------------------------------- */

enum { NOW = 1000000, SINK_A = 1, SINK_B = 2 };

static struct store *open_new(void)
{
	return open_ok(test_path(test_dir(), "s.db"), STORE_WRITE);
}

static int add(struct store *s, int64_t sink, int64_t session, const char *subject, const char *type, bool late,
	int64_t at)
{
	return delivery_add(s,
		&(struct delivery_order){ .sink = sink,
			.session = session,
			.subject = str_of(subject),
			.type = str_of(type),
			.critical = strcmp(type, "tool") != 0,
			.at_us = at,
			.late = late,
			.body = str_of(subject) },
		NOW, NULL, 0);
}

/* What goes out next, as "subject", or "". */
static const char *next(struct store *s, int64_t sink, int64_t now, const int64_t *but, size_t nbut, struct delivery *d)
{
	static char subject[JOB_SUBJECT];
	int64_t stream = INT64_MIN, due;
	int got = delivery_next(s, sink, &stream, now, but, nbut, d, &due);

	assert_true(got >= 0);
	snprintf(subject, sizeof subject, "%s", got ? d->subject : "");
	return subject;
}

static void test_a_delivery_is_added_once_and_sinks_are_apart(void **state)
{
	struct store *s = open_new();
	int64_t waiting, dead, key, same;
	struct delivery d;
	struct buf body = BUF_INIT(4096);

	assert_int_equal(delivery_sink(s, STR("team"), false, &key), 0);
	assert_int_equal(delivery_sink(s, STR("team"), true, &key), 1);
	assert_int_equal(delivery_sink(s, STR("team"), true, &same), 1);
	assert_int_equal(key, same);
	assert_int_equal(add(s, SINK_A, 7, "a:1", "stop", false, 1), 1);
	assert_int_equal(add(s, SINK_A, 7, "a:1", "stop", false, 1), 0);
	assert_int_equal(add(s, SINK_B, 7, "b:1", "stop", false, 1), 1);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:1");
	assert_int_equal(delivery_body(s, &d, &body), 0);
	assert_str(buf_str(&body), STR("a:1"));
	assert_string_equal(d.type, "stop");
	assert_int_equal(delivery_end_done(s, &d, NOW), 0);
	assert_int_equal(add(s, SINK_A, 7, "a:1", "stop", false, 1), 0); /* also when it is done */
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "");
	assert_string_equal(next(s, SINK_B, NOW, NULL, 0, &d), "b:1");
	assert_int_equal(delivery_count(s, SINK_B, &waiting, &dead), 0);
	assert_int_equal(waiting, 1);
	assert_int_equal(delivery_body(s, &(struct delivery){ .id = 999 }, &body), -ENOENT);
	buf_release(&body);
	store_close(s);
}

static void test_only_the_head_of_a_session_goes_out(void **state)
{
	struct store *s = open_new();
	struct delivery d, e;

	add(s, SINK_A, 7, "a:1", "prompt", false, 1);
	add(s, SINK_A, 7, "a:2", "stop", false, 2);
	add(s, SINK_A, 8, "a:3", "prompt", false, 3);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:1");
	assert_string_equal(next(s, SINK_A, NOW, &d.id, 1, &e), "a:3");
	assert_string_equal(next(s, SINK_A, NOW, (int64_t[]){ d.id, e.id }, 2, &e), "");
	assert_int_equal(delivery_end_failed(s, &d, "no", NOW + 5, NOW), 0);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &e), "a:3");
	assert_string_equal(next(s, SINK_A, NOW + 5, NULL, 0, &d), "a:1");
	assert_int_equal(d.tries, 1);
	assert_int_equal(delivery_end_dead(s, &d, "never", NOW), 0);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:2");
	store_close(s);
}

static void test_sessions_take_turns(void **state)
{
	struct store *s = open_new();
	int64_t stream = INT64_MIN, due;
	char order[256] = "";
	struct delivery d;

	for (int64_t session = 1; session <= 3; session++)
		for (int n = 1; n <= 2; n++) {
			char subject[16];

			snprintf(subject, sizeof subject, "a:%d%d", (int)session, n);
			add(s, SINK_A, session, subject, "stop", false, n);
		}
	while (delivery_next(s, SINK_A, &stream, NOW, NULL, 0, &d, &due) == 1) {
		snprintf(order + strlen(order), sizeof order - strlen(order), "%s ", d.subject + 2);
		delivery_end_done(s, &d, NOW);
	}
	assert_string_equal(order, "11 21 31 12 22 32 ");
	store_close(s);
}

static void test_dead_after_ten_tries(void **state)
{
	struct store *s = open_new();
	int64_t waiting, dead, now = NOW;
	struct delivery d;
	int tries = 0;

	add(s, SINK_A, 7, "a:1", "stop", false, 1);
	while (next(s, SINK_A, now, NULL, 0, &d)[0]) {
		int64_t wait = job_wait_us(JOB_DELIVER, d.tries + 1);

		assert_int_equal(wait, MIN(1 << tries, 60) * USEC_PER_SEC);
		now += wait;
		assert_int_equal(delivery_end_failed(s, &d, "no", now, now), tries == 9);
		tries++;
	}
	assert_int_equal(tries, 10);
	assert_int_equal(delivery_count(s, SINK_A, &waiting, &dead), 0);
	assert_true(waiting == 0 && dead == 1);
	assert_int_equal(deliveries_retry(s, &(struct delivery_choice){ .dead = true }, now), 1);
	assert_string_equal(next(s, SINK_A, now, NULL, 0, &d), "a:1");
	assert_int_equal(d.tries, 0);
	assert_int_equal(delivery_count(s, SINK_A, &waiting, &dead), 0);
	assert_true(waiting == 1 && dead == 0);
	store_close(s);
}

/* Daemons that ended while it was on its way have tried it, and nobody else has. */
static void test_what_a_daemon_had_begun_counts_as_a_try(void **state)
{
	enum { FIRST = 1001, SECOND };
	struct store *s = open_new();
	struct delivery_order o = { .sink = SINK_A,
		.session = 7,
		.type = STR("stop"),
		.body = STR("x"),
		.boot = FIRST };
	struct delivery d;
	int64_t now = NOW;
	bool died;

	o.subject = STR("a:1");
	assert_int_equal(delivery_add(s, &o, NOW, NULL, 0), 1);
	o.subject = STR("a:2");
	assert_int_equal(delivery_add(s, &o, NOW, NULL, 0), 1);
	next(s, SINK_A, now, NULL, 0, &d);
	assert_int_equal(d.boot, FIRST); /* with its row, and not the one behind it */
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs WHERE boot IS NULL"), 1);
	for (int tries = 1; tries < 10; tries++) {
		int got = delivery_begin(s, &d, FIRST + tries, now, &died);

		assert_int_equal(got, tries == 1); /* once more at once, then later and later */
		assert_false(died);
		if (tries > 1) {
			now += job_wait_us(JOB_DELIVER, tries);
			assert_string_equal(next(s, SINK_A, now - 1, NULL, 0, &d), "");
			assert_string_equal(next(s, SINK_A, now, NULL, 0, &d), "a:1");
			assert_true(d.boot == 0 && d.tries == tries);
			assert_int_equal(delivery_begin(s, &d, FIRST + tries, now, &died), 1);
		}
		assert_string_equal(next(s, SINK_A, now, NULL, 0, &d), "a:1");
	}
	assert_int_equal(delivery_begin(s, &d, FIRST + 10, now, &died), 0);
	assert_true(died);
	assert_string_equal(next(s, SINK_A, now, NULL, 0, &d), "a:2");
	assert_int_equal(d.boot, 0);
	store_close(s);
	(void)state;
}

static void test_a_clean_end_of_the_daemon_is_no_try(void **state)
{
	enum { FIRST = 1001, SECOND };
	struct store *s = open_new();
	struct delivery_order o = { .sink = SINK_A,
		.session = 7,
		.type = STR("stop"),
		.body = STR("x"),
		.boot = FIRST };
	struct delivery d;
	bool died;

	o.subject = STR("a:1");
	delivery_add(s, &o, NOW, NULL, 0);
	o.subject = STR("a:2");
	delivery_add(s, &o, NOW, NULL, 0);
	next(s, SINK_A, NOW, NULL, 0, &d);
	assert_int_equal(delivery_end_done(s, &d, NOW), 0);
	next(s, SINK_A, NOW, NULL, 0, &d);
	assert_int_equal(d.boot, FIRST); /* begun with the end of the one before it */
	assert_int_equal(deliveries_give_back(s, SECOND), 0);
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs WHERE boot IS NOT NULL"), 1);
	assert_int_equal(deliveries_give_back(s, FIRST), 0);
	next(s, SINK_A, NOW, NULL, 0, &d);
	assert_int_equal(delivery_begin(s, &d, SECOND, NOW, &died), 1);
	assert_int_equal(d.tries, 0);
	assert_int_equal(delivery_give_back(s, &d), 0); /* what is wrong here */
	next(s, SINK_A, NOW, NULL, 0, &d);
	assert_true(d.boot == 0 && d.tries == 0);
	store_close(s);
	(void)state;
}

/* The end of a delivery that was dropped meanwhile, whose number another one has now. */
static void test_a_number_that_is_used_again(void **state)
{
	struct store *s = open_new();
	struct delivery old, new;

	add(s, SINK_A, 7, "a:1", "stop", false, 1);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &old), "a:1");
	assert_int_equal(deliveries_drop(s, &(struct delivery_choice){ .id = old.id }, true), 1);
	assert_int_equal(deliveries_drop(s, &(struct delivery_choice){ .id = old.id }, false), 1);
	add(s, SINK_A, 7, "a:2", "stop", false, 2);
	assert_int_equal(delivery_end_done(s, &old, NOW), 0);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &new), "a:2");
	assert_int_equal(new.id, old.id);
	store_close(s);
}

/* Whatever waits of a session, in its order. */
static void expect_order(struct store *s, const char *expected)
{
	struct query *q = store_query(s, "SELECT subject FROM jobs WHERE state = 0 ORDER BY id");
	char order[256] = "";

	while (query_step(q) == 1)
		snprintf(order + strlen(order), sizeof order - strlen(order), STR_FMT " ",
			STR_ARG(str_from(query_str(q, 0), 2)));
	query_reset(q);
	assert_string_equal(order, expected);
	assert_int_equal(
		one_number(s, "SELECT count(*) FROM jobs j LEFT JOIN deliveries d ON d.job = j.id WHERE d.job IS NULL"),
		0);
}

static void test_what_was_told_late_goes_before_what_happened_later(void **state)
{
	struct store *s = open_new();
	struct delivery d;

	add(s, SINK_A, 7, "a:1", "prompt", false, 10);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:1");
	delivery_end_failed(s, &d, "no", NOW + 1, NOW); /* was tried, so somebody may have it */
	add(s, SINK_A, 7, "a:4", "stop", false, 40);
	add(s, SINK_A, 7, "a:5", "stop", false, 50);
	add(s, SINK_A, 8, "a:x", "stop", false, 60);
	add(s, SINK_A, 7, "a:2", "stop", true, 20);
	add(s, SINK_A, 7, "a:3", "stop", true, 30);
	add(s, SINK_A, 7, "a:0", "stop", true, 5);
	expect_order(s, "1 x 0 2 3 4 5 ");
	store_close(s);
}

static int coalesce(struct store *s, const char *type, const int64_t *but, size_t nbut)
{
	return delivery_coalesce(s,
		&(struct delivery_order){ .sink = SINK_A, .session = 7, .type = str_of(type), .subject = STR("a:new") },
		but, nbut);
}

static void test_coalescing_never_crosses_a_critical_event(void **state)
{
	struct store *s = open_new();
	struct delivery d;
	int64_t key;

	assert_int_equal(delivery_sink(s, STR("a"), true, &key), 1);
	assert_int_equal(key, SINK_A);
	assert_int_equal(coalesce(s, "tool", NULL, 0), 0);
	add(s, SINK_A, 7, "a:1", "tool", false, 1);
	add(s, SINK_A, 7, "a:2", "stop", false, 2);
	assert_int_equal(coalesce(s, "tool", NULL, 0), 0); /* it lies before a stop */
	add(s, SINK_A, 7, "a:3", "tool", false, 3);
	add(s, SINK_A, 7, "a:4", "tool", false, 4);
	add(s, SINK_A, 8, "a:5", "tool", false, 5);
	assert_int_equal(coalesce(s, "other", NULL, 0), 0);
	assert_int_equal(coalesce(s, "tool", NULL, 0), 1);
	expect_order(s, "1 2 3 5 ");
	assert_int_equal(one_number(s, "SELECT coalesced FROM sinks"), 1);
	/* One that is on its way, or was tried, stays. */
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:1");
	delivery_end_done(s, &d, NOW);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:2");
	delivery_end_done(s, &d, NOW);
	assert_string_equal(next(s, SINK_A, NOW, NULL, 0, &d), "a:3");
	assert_int_equal(coalesce(s, "tool", &d.id, 1), 0);
	delivery_end_failed(s, &d, "no", NOW, NOW);
	assert_int_equal(coalesce(s, "tool", NULL, 0), 0);
	expect_order(s, "3 5 ");
	store_close(s);
}

static void test_what_is_long_over_goes(void **state)
{
	const int64_t day = INT64_C(86400) * 1000000;
	struct store *s = open_new();
	struct delivery d;

	add(s, SINK_A, 7, "a:1", "stop", false, 1);
	add(s, SINK_A, 7, "a:2", "stop", false, 2);
	add(s, SINK_A, 7, "a:3", "stop", false, 3);
	next(s, SINK_A, NOW, NULL, 0, &d);
	delivery_end_done(s, &d, NOW);
	next(s, SINK_A, NOW, NULL, 0, &d);
	delivery_end_dead(s, &d, "never", NOW);
	assert_int_equal(jobs_tidy(s, NOW + 6 * day) >= 0, 1);
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs"), 3);
	assert_int_equal(jobs_tidy(s, NOW + 8 * day) >= 0, 1);
	assert_int_equal(one_number(s, "SELECT count(*) FROM deliveries"), 2);
	assert_int_equal(jobs_tidy(s, NOW + 31 * day) >= 0, 1);
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs"), 1); /* the one that waited is given up now */
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs WHERE state = 3"), 1);
	assert_int_equal(jobs_tidy(s, NOW + 62 * day) >= 0, 1);
	assert_int_equal(one_number(s, "SELECT count(*) FROM jobs") + one_number(s, "SELECT count(*) FROM deliveries"),
		0);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, setup)
		T(test_claude_SessionStart_is_session_start),
		T(test_claude_SessionStart_requires_session_id),
		T(test_claude_SessionStart_requires_transcript_path),
		T(test_claude_UserPromptSubmit_is_prompt_and_has_the_users_input),
		T(test_claude_Stop_is_stop),
		T(test_claude_Notification_is_notification),
		T(test_claude_SessionEnd_is_session_end),
		T(test_gemini_SessionStart_is_session_start),
		T(test_gemini_SessionStart_requires_session_id),
		T(test_gemini_SessionStart_requires_transcript_path),
		T(test_gemini_AfterAgent_is_stop_with_the_users_input),
		T(test_gemini_Notification_is_notification),
		T(test_gemini_SessionEnd_is_session_end),
		T(test_gemini_BeforeAgent_is_prompt),
		T(test_codex_agent_turn_complete_is_stop),
		T(test_codex_agent_turn_complete_requires_thread_id),
		T(test_codex_agent_turn_complete_has_the_last_of_the_input_messages),
		T(test_other_agents_follow_the_canonical_event),
		T(test_a_turn_that_failed_is_an_error),
		T(test_other_events_keep_their_name),
		T(test_what_a_subagent_does_is_no_turn),
		T(test_what_is_private_imported_or_the_doctors_goes_nowhere),
		T(test_kinds_that_a_type_is_made_of),
		T(test_our_name_of_a_session),
		T(test_hmac_vectors),
		T(test_a_mistake_has_its_place),
		T(test_a_sink_as_it_is_read),
		T(test_more_sinks_than_there_may_be),
		T(test_wildcards),
		T(test_whatever_the_text_the_body_is_json_and_fits),
		T(test_criteria_hold_together),
		T(test_a_delivery_is_added_once_and_sinks_are_apart),
		T(test_only_the_head_of_a_session_goes_out),
		T(test_sessions_take_turns),
		T(test_dead_after_ten_tries),
		T(test_what_a_daemon_had_begun_counts_as_a_try),
		T(test_a_clean_end_of_the_daemon_is_no_try),
		T(test_a_number_that_is_used_again),
		T(test_what_was_told_late_goes_before_what_happened_later),
		T(test_coalescing_never_crosses_a_critical_event),
		T(test_what_is_long_over_goes),
#undef T
	};
	int failed = cmocka_run_group_tests_name("outbox", tests, NULL, NULL);

	arena_release(&arena);
	return failed;
}
