/* llm/ and net/: what is asked, what is understood of an answer, what it may cost, and when to stop asking. */
#include "test.h"

#include "base/clock.h"
#include "base/url.h"
#include "hooks/internal.h"
#include "llm/internal.h"
#include "net/net.h"

/* -- addresses and heads ----------------------------------------------------------------------- */

static void addresses(void **state)
{
	static const struct {
		const char *url;
		bool good;
	} cases[] = {
		{ "https://api.example.com/v1", true },
		{ "https://example.com:8443", true },
		{ "http://127.0.0.1:11434/v1", true },
		{ "http://localhost/v1", true },
		{ "http://LOCALHOST:1/v1", true },
		{ "http://[::1]:8080/", true },
		{ "http://example.com/", false },
		{ "http://127.0.0.1.example.com/", false },
		{ "http://localhost.example.com/", false },
		{ "http://127.0.0.1@example.com/", false },
		{ "https://user:pw@example.com/", false },
		{ "https://", false },
		{ "https:///v1", false },
		{ "http://:80/", false },
		{ "HTTP://127.0.0.1/", false },
		{ "ftp://127.0.0.1/", false },
		{ "https://a b/", false },
		{ "https://a\"/", false },
		{ "https://a\\b/", false },
		{ "https://a\nb/", false },
		{ "", false },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < countof(cases); i++)
		if ((url_check(str_of(cases[i].url), &err) == 0) != cases[i].good)
			fail_msg("%s", cases[i].url);
}

static void heads(void **state)
{
	static const struct {
		const char *head;
		bool found;
		int status, retry;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", true, 200, -1 },
		{ "HTTP/2 429 \r\nretry-after: 7\r\n\r\n", true, 429, 7 },
		{ "HTTP/1.1 100 Continue\r\nRetry-After: 9\r\n\r\nHTTP/1.1 503 x\r\n\r\n", true, 503, -1 },
		{ "HTTP/1.1 503 x\r\nRetry-After: 99999999999\r\n", true, 503, NET_RETRY_MAX_S },
		{ "HTTP/1.1 503 x\r\nRetry-After: -5\r\n", true, 503, 0 },
		{ "HTTP/1.1 503 x\r\nRetry-After: soon\r\n", true, 503, -1 },
		{ "HTTP/1.1 503 x\r\nRetry-After: Thu, 01 Jan 1970 00:16:50 GMT\r\n", true, 503, 10 },
		{ "HTTP/1.1 503 x\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n", true, 503, 0 },
		{ "HTTP/1.1 20\r\n", false, 0, -1 },
		{ "curl: (7) no\n", false, 0, -1 },
		{ "", false, 0, -1 },
	};
	int status, retry;

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		assert_int_equal(net_parse_head(str_of(cases[i].head), 1000, &status, &retry), cases[i].found);
		assert_int_equal(status, cases[i].status);
		assert_int_equal(retry, cases[i].retry);
	}
}

static void a_request_that_is_none(void **state)
{
	struct net_request q = { .url = STR("http://example.com/"),
		.timeout_us = USEC_PER_SEC,
		.answer_max = 100,
		.cancel_fd = -1 };
	struct net_answer a;

	(void)state;
	net_post(&q, &a);
	assert_int_equal(a.result, NET_BAD_REQUEST);
	assert_false(a.sent);
	buf_release(&a.body);
	q.url = STR("http://127.0.0.1:9/");
	q.headers[0] = STR("X: a\nY: b");
	net_post(&q, &a);
	assert_int_equal(a.result, NET_BAD_REQUEST);
	buf_release(&a.body);
}

/* -- protocols --------------------------------------------------------------------------------- */

#define OPENAI(content, finish)                                                                                     \
	"{\"choices\": [{\"message\": {\"content\": " content "}, \"finish_reason\": \"" finish "\"}], \"usage\": " \
	"{\"prompt_tokens\": 10, \"completion_tokens\": 3}}"
#define ANTHROPIC(content, stop)                                                                         \
	"{\"type\": \"message\", \"content\": [" content "], \"stop_reason\": \"" stop "\", \"usage\": " \
	"{\"input_tokens\": 4, \"cache_read_input_tokens\": 6, \"output_tokens\": 3}}"

static void answers(void **state)
{
	static const struct {
		enum llm_provider provider;
		int status;
		const char *body;
		enum llm_result result;
		const char *text; /* or a part of why */
		int64_t in, out;
	} cases[] = {
		{ LLM_OPENAI, 200, OPENAI("\"yes\"", "stop"), LLM_ANSWERED, "yes", 10, 3 },
		{ LLM_COMPATIBLE, 200, OPENAI("\"yes\"", "stop"), LLM_ANSWERED, "yes", 10, 3 },
		{ LLM_OPENAI, 200, OPENAI("\"yes\"", "length"), LLM_CUT, "cut off", 10, 3 },
		{ LLM_OPENAI, 200, OPENAI("\"\"", "stop"), LLM_GARBLED, "empty", 10, 3 },
		{ LLM_OPENAI, 200, OPENAI("null", "stop"), LLM_GARBLED, "no text", 10, 3 },
		{ LLM_OPENAI, 200, OPENAI("[1]", "stop"), LLM_GARBLED, "no text", 10, 3 },
		{ LLM_OPENAI, 200, OPENAI("\"a\\u0000\"", "stop"), LLM_GARBLED, "NUL", 10, 3 },
		{ LLM_OPENAI, 200, OPENAI("\"x\"", "content_filter"), LLM_GARBLED, "refused to answer", 10, 3 },
		{ LLM_OPENAI, 200, "{\"choices\": []}", LLM_GARBLED, "no choice", -1, -1 },
		{ LLM_OPENAI, 200, "{\"choices\": \"x\"}", LLM_GARBLED, "no choice", -1, -1 },
		{ LLM_OPENAI, 200,
			"{\"choices\": [{\"message\": {\"content\": \"x\"}}], \"usage\": {\"prompt_tokens\": "
			"-1, \"completion_tokens\": 1e9}}",
			LLM_ANSWERED, "x", -1, -1 },
		{ LLM_OPENAI, 200, "{\"error\": \"no\"}", LLM_GARBLED, "error: no", -1, -1 },
		{ LLM_OPENAI, 200, "[]", LLM_GARBLED, "not JSON", -1, -1 },
		{ LLM_OPENAI, 200, "{} {}", LLM_GARBLED, "not JSON", -1, -1 },
		{ LLM_OPENAI, 200, "{\"a\": \"\xff\"}", LLM_GARBLED, "not JSON", -1, -1 },
		{ LLM_OPENAI, 401, "{\"error\": {\"message\": \"bad key\"}}", LLM_REFUSED, "401: bad key", -1, -1 },
		{ LLM_OPENAI, 404, "nothing", LLM_REFUSED, "404", -1, -1 },
		{ LLM_OPENAI, 429, "{\"message\": \"slow\"}", LLM_FAILED, "429: slow", -1, -1 },
		{ LLM_OPENAI, 307, OPENAI("\"yes\"", "stop"), LLM_FAILED, "307", -1, -1 },
		{ LLM_ANTHROPIC, 200, ANTHROPIC("{\"type\": \"text\", \"text\": \"yes\"}", "end_turn"), LLM_ANSWERED,
			"yes", 10, 3 },
		{ LLM_ANTHROPIC, 200,
			ANTHROPIC("{\"type\": \"thinking\", \"thinking\": \"t\"}, {\"type\": \"text\", \"text\": "
				  "\"a\"}, {\"type\": \"text\", \"text\": \"b\"}",
				"end_turn"),
			LLM_ANSWERED, "ab", 10, 3 },
		{ LLM_ANTHROPIC, 200, ANTHROPIC("", "end_turn"), LLM_GARBLED, "empty", 10, 3 },
		{ LLM_ANTHROPIC, 200, ANTHROPIC("", "max_tokens"), LLM_CUT, "cut off", 10, 3 },
		{ LLM_ANTHROPIC, 200, ANTHROPIC("", "refusal"), LLM_GARBLED, "refused to answer", 10, 3 },
		{ LLM_ANTHROPIC, 200, OPENAI("\"yes\"", "stop"), LLM_GARBLED, "not a message", -1, 3 },
		{ LLM_ANTHROPIC, 529, "", LLM_FAILED, "529", -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		_cleanup_(arena_release) struct arena a = { 0 };
		struct llm_reading r;

		llm_read_answer(cases[i].provider, cases[i].status, str_of(cases[i].body), &a, &r);
		if (r.result != cases[i].result)
			fail_msg("%s: %s", cases[i].body, llm_result_names[r.result]);
		if (r.result == LLM_ANSWERED)
			assert_true(str_eq(r.text, str_of(cases[i].text)));
		else if (str_find(r.why, str_of(cases[i].text)) < 0)
			fail_msg("%s: " STR_FMT, cases[i].body, STR_ARG(r.why));
		if (r.tokens_in != cases[i].in || (cases[i].provider != LLM_ANTHROPIC && r.tokens_out != cases[i].out))
			fail_msg("%s: %lld tokens", cases[i].body, (long long)r.tokens_in);
	}
}

static void an_answer_that_is_too_long(void **state)
{
	struct buf b = BUF_INIT(LLM_ANSWER_MAX + 1000);
	struct llm_reading r;
	struct arena a;

	(void)state;
	arena_init(&a);
	buf_add_str(&b, STR("{\"choices\": [{\"message\": {\"content\": \""));
	while (b.len < LLM_TEXT_MAX + 100)
		buf_add_char(&b, 'x');
	buf_add_str(&b, STR("\"}}]}"));
	llm_read_answer(LLM_OPENAI, 200, buf_str(&b), &a, &r);
	assert_int_equal(r.result, LLM_GARBLED);
	assert_true(str_find(r.why, STR("too long")) >= 0);
	arena_release(&a);
	buf_release(&b);
}

static void questions(void **state)
{
	const struct llm_question q = { STR("m"), STR("be \"brief\""), STR("hi\n"), 7 };
	static const struct {
		enum llm_provider provider;
		const char *body;
	} cases[] = {
		{ LLM_OPENAI,
			"{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be \\\"brief\\\"\"},"
			"{\"role\":\"user\",\"content\":\"hi\\n\"}],\"max_completion_tokens\":7}" },
		{ LLM_COMPATIBLE,
			"{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be \\\"brief\\\"\"},"
			"{\"role\":\"user\",\"content\":\"hi\\n\"}],\"max_tokens\":7,\"temperature\":0,"
			"\"stream\":false}" },
		{ LLM_ANTHROPIC,
			"{\"model\":\"m\",\"max_tokens\":7,\"system\":\"be \\\"brief\\\"\",\"messages\":"
			"[{\"role\":\"user\",\"content\":\"hi\\n\"}]}" },
	};

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		struct buf b = BUF_INIT(1000);

		llm_write_question(cases[i].provider, &q, &b);
		assert_string_equal(b.p, cases[i].body);
		buf_release(&b);
	}
}

/* -- budget ------------------------------------------------------------------------------------ */

enum { DAY = 86400 };
#define NOON (INT64_C(1794830400) * USEC_PER_SEC) /* 2026-11-16 12:00 UTC */

static void budgets(void **state)
{
	struct llm_budget b, next;
	struct llm_ticket first, second;
	const char *path = test_path(test_dir(), "budget");

	(void)state;
	llm_budget_open(&b, path, NOON);
	assert_int_equal(b.broken, 0);
	assert_int_equal(llm_budget_take(&b, 101, 100, NOON, &first), -EDQUOT);
	assert_int_equal(llm_budget_take(&b, 60, 100, NOON, &first), 0);
	assert_int_equal(llm_budget_take(&b, 60, 100, NOON, &second), -EDQUOT);
	assert_int_equal(llm_budget_take(&b, 40, 100, NOON, &second), 0);
	/* Killed now: everything that was set aside is spent. */
	llm_budget_open(&next, path, NOON);
	assert_int_equal(next.spent, 100);
	assert_int_equal(llm_budget_settle(&b, &first, 10, NOON), 0);
	assert_int_equal(llm_budget_settle(&b, &second, 45, NOON), 0); /* more than thought */
	llm_budget_open(&next, path, NOON);
	assert_int_equal(next.spent, 55);
	/* A clock that goes back does not make it new; a day that goes by does. */
	llm_budget_open(&next, path, NOON - DAY * USEC_PER_SEC);
	assert_int_equal(next.spent, 55);
	llm_budget_open(&next, path, NOON + DAY * USEC_PER_SEC);
	assert_int_equal(next.spent, 0);
	/* What was set aside yesterday is not given back today. */
	assert_int_equal(llm_budget_take(&b, 45, 100, NOON, &first), 0);
	assert_int_equal(llm_budget_take(&b, 20, 100, NOON + DAY * USEC_PER_SEC, &second), 0);
	assert_int_equal(llm_budget_settle(&b, &first, 0, NOON + DAY * USEC_PER_SEC), 0);
	assert_int_equal(b.spent, 20);
}

static void a_budget_that_cannot_be_read(void **state)
{
	static const char *const texts[] = { "", "{}", "[]", "{\"day\": \"2026-11-1\", \"tokens\": 1}",
		"{\"day\": \"2026-11-16\", \"tokens\": -1}", "{\"day\": \"2026-11-16\", \"tokens\": 1.5}",
		"{\"day\": \"2026x11-16\", \"tokens\": 1}" };
	struct llm_ticket t;
	struct llm_budget b;
	const char *path = test_path(test_dir(), "budget");

	(void)state;
	for (size_t i = 0; i < countof(texts); i++) {
		assert_int_equal(fs_replace_file(path, str_of(texts[i]), false), 0);
		llm_budget_open(&b, path, NOON);
		assert_true(b.broken < 0);
		assert_true(llm_budget_take(&b, 1, 100, NOON, &t) < 0);
	}
	/* And one that cannot be written. */
	llm_budget_open(&b, "/nonexistent/budget", NOON);
	assert_int_equal(b.broken, 0);
	assert_true(llm_budget_take(&b, 1, 100, NOON, &t) < 0);
	assert_int_equal(b.spent, 0);
}

/* -- trying again ------------------------------------------------------------------------------ */

static void retries(void **state)
{
	(void)state;
	assert_int_equal(llm_retry_wait(LLM_UNREACHABLE, 0, 1, -1, 0), USEC_PER_SEC);
	assert_int_equal(llm_retry_wait(LLM_FAILED, 500, 2, -1, 0), 4 * USEC_PER_SEC);
	assert_int_equal(llm_retry_wait(LLM_FAILED, 429, 1, 30, 0), 30 * USEC_PER_SEC);
	assert_int_equal(llm_retry_wait(LLM_FAILED, 429, 1, 0, 0), USEC_PER_SEC);
	assert_true(llm_retry_wait(LLM_FAILED, 503, 1, -1, 255) < 2 * USEC_PER_SEC);
	assert_int_equal(llm_retry_wait(LLM_FAILED, 500, LLM_TRIES, -1, 0), -1);
	assert_int_equal(llm_retry_wait(LLM_FAILED, 400, 1, -1, 0), -1);
	assert_int_equal(llm_retry_wait(LLM_REFUSED, 401, 1, 5, 0), -1);
	assert_int_equal(llm_retry_wait(LLM_TIMEOUT, 0, 1, -1, 0), -1);
	assert_int_equal(llm_retry_wait(LLM_GARBLED, 200, 1, -1, 0), -1);
}

static void circuits(void **state)
{
	struct llm_circuit c = { 0 };
	int64_t now = NOON;

	(void)state;
	for (int i = 0; i < 4; i++)
		llm_circuit_bad(&c, LLM_TIMEOUT, -1, now);
	assert_int_equal(llm_circuit_left(&c, now), 0);
	llm_circuit_bad(&c, LLM_TIMEOUT, -1, now);
	assert_int_equal(llm_circuit_left(&c, now), 30 * USEC_PER_SEC);
	/* One that was in flight meanwhile does not make it longer; the first after it does. */
	llm_circuit_bad(&c, LLM_TIMEOUT, -1, now);
	assert_int_equal(llm_circuit_left(&c, now), 30 * USEC_PER_SEC);
	now += 30 * USEC_PER_SEC;
	assert_int_equal(llm_circuit_left(&c, now), 0);
	llm_circuit_bad(&c, LLM_TIMEOUT, -1, now);
	assert_int_equal(llm_circuit_left(&c, now), 60 * USEC_PER_SEC);
	for (int i = 0; i < 20; i++) {
		now += llm_circuit_left(&c, now);
		llm_circuit_bad(&c, LLM_TIMEOUT, -1, now);
	}
	assert_int_equal(llm_circuit_left(&c, now), 900 * USEC_PER_SEC);
	llm_circuit_good(&c);
	assert_int_equal(llm_circuit_left(&c, now), 0);
	llm_circuit_bad(&c, LLM_REFUSED, -1, now); /* at once */
	assert_int_equal(llm_circuit_left(&c, now), 30 * USEC_PER_SEC);
	llm_circuit_good(&c);
	llm_circuit_bad(&c, LLM_FAILED, 7, now); /* as it asks */
	assert_int_equal(llm_circuit_left(&c, now), 7 * USEC_PER_SEC);
	llm_circuit_bad(&c, LLM_FAILED, 1 << 30, now);
	assert_int_equal(llm_circuit_left(&c, now), NET_RETRY_MAX_S * USEC_PER_SEC);
}

/* -- opinions of a prompt hook ----------------------------------------------------------------- */

static void opinions(void **state)
{
	static const struct {
		const char *text;
		char what; /* '-': no objection, 'b': blocks, '?': unclear */
	} cases[] = {
		{ "ALLOW", '-' },
		{ "continue.", '-' },
		{ "ALLOW: all of it is read only", '-' },
		{ "BLOCK: no", 'b' },
		{ "block", 'b' },
		{ "{\"ok\":false}", 'b' },
		{ "{\"ok\":true}", '-' },
		{ "{\"ok\":true} BLOCK", '?' },
		{ "ALLOW BLOCK", '?' },
		{ "ALLOW\nx", '?' },
		{ "ALLOWx", '?' },
		{ "", '?' },
		{ "no", '?' },
	};
	struct event e = { .kind = EVENT_PRE_TOOL_USE };

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		_cleanup_(arena_release) struct arena a = { 0 };
		struct hook_answer r;

		hook_read_opinion(str_of(cases[i].text), &e, &a, &r);
		if ((r.action == VERDICT_DENY) != (cases[i].what == 'b') ||
			str_is_set(r.failure) != (cases[i].what == '?') || r.action == VERDICT_ALLOW)
			fail_msg("%s", cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(heads),
		cmocka_unit_test(a_request_that_is_none),
		cmocka_unit_test(answers),
		cmocka_unit_test(an_answer_that_is_too_long),
		cmocka_unit_test(questions),
		cmocka_unit_test(budgets),
		cmocka_unit_test(a_budget_that_cannot_be_read),
		cmocka_unit_test(retries),
		cmocka_unit_test(circuits),
		cmocka_unit_test(opinions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
