/* capture: the rows do not depend on the order in which records arrive, nor on how often. */
#include "test.h"

#include "capture/capture.h"
#include "records.h"

/* A day's work of three sessions and two agents, told as a list: each line becomes one record. */
struct line {
	unsigned ms; /* after the day began */
	const char *agent, *session;
	enum event_kind kind;
	const char *tool, *use, *cwd, *transcript;
};

static const struct line story[] = {
	{ 0, "claude", "s1", EVENT_SESSION_START, NULL, NULL, "/p", "/t/1" },
	{ 5, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/p", "/t/1" },
	{ 9, "claude", "s1", EVENT_PRE_TOOL_USE, "Bash", "u1", "/p", NULL },
	{ 9, "claude", "s1", EVENT_POST_TOOL_USE, "Bash", "u1", "/p", NULL },
	{ 12, "claude", "s1", EVENT_PRE_TOOL_USE, "Read", "u2", "/p/sub", "/t/1" },
	{ 12, "claude", "s1", EVENT_PRE_TOOL_USE, "Write", "u3", "/p/sub", "/t/1" },
	{ 14, "claude", "s1", EVENT_POST_TOOL_USE_FAILURE, "Write", "u3", "/p/sub", "/t/1" },
	{ 15, "claude", "s1", EVENT_POST_TOOL_USE, "Read", "u2", "/p/sub", "/t/1" },
	{ 20, "claude", "s1", EVENT_STOP, NULL, NULL, "/q", "/t/1b" },
	{ 21, "claude", "s1", EVENT_SESSION_END, NULL, NULL, "/q", "/t/1b" },
	/* Goes on after its end. */
	{ 30, "claude", "s1", EVENT_SESSION_START, NULL, NULL, "/q", "/t/1c" },
	{ 31, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/q", "/t/1c" },
	/* The same id at another agent is another session, and it ends for good, at one instant. */
	{ 2, "codex", "s1", EVENT_SESSION_START, NULL, NULL, "/c", NULL },
	{ 3, "codex", "s1", EVENT_PRE_TOOL_USE, "shell", "u1", "/c", NULL },
	{ 4, "codex", "s1", EVENT_POST_TOOL_USE, "shell", "u1", "/c", NULL },
	{ 8, "codex", "s1", EVENT_STOP, NULL, NULL, "/c", NULL },
	{ 8, "codex", "s1", EVENT_SESSION_END, NULL, NULL, "/c", NULL },
	{ 7, "codex", "s1", EVENT_SESSION_END, NULL, NULL, "/c", NULL },
	/* A session of odd ends: no start, a tool use twice under one id with different ends, a use
	 * whose beginning has no tool name, an end without a beginning, no use id, no cwd at first. */
	{ 40, "claude", "s2", EVENT_PRE_TOOL_USE, NULL, "u9", NULL, NULL },
	{ 41, "claude", "s2", EVENT_POST_TOOL_USE, "Edit", "u9", "/late", NULL },
	{ 42, "claude", "s2", EVENT_PRE_TOOL_USE, "Bash", "u10", "/later", "/t/2" },
	{ 43, "claude", "s2", EVENT_PRE_TOOL_USE, "Bash", "u10", "/later", "/t/2" },
	{ 44, "claude", "s2", EVENT_POST_TOOL_USE, "Bash", "u10", "/later", "/t/2" },
	{ 45, "claude", "s2", EVENT_POST_TOOL_USE_FAILURE, "Bash", "u10", "/later", "/t/2" },
	{ 46, "claude", "s2", EVENT_POST_TOOL_USE, "Glob", "u11", NULL, NULL },
	{ 47, "claude", "s2", EVENT_POST_TOOL_USE, "Glob", NULL, NULL, NULL },
	{ 47, "claude", "s2", EVENT_NOTIFICATION, NULL, NULL, NULL, NULL },
	{ 48, "claude", "s2", EVENT_UNKNOWN, NULL, NULL, NULL, "/t/2z" },
	{ 49, "claude", "s2", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, NULL, NULL },
	/* No session id at all. */
	{ 50, "claude", NULL, EVENT_NOTIFICATION, NULL, NULL, "/n", NULL },
	{ 51, "claude", NULL, EVENT_PRE_TOOL_USE, "Bash", "u1", NULL, NULL },
	/* Ends first, begins later, by the clock of the client. */
	{ 60, "claude", "s3", EVENT_SESSION_END, NULL, NULL, "/e", NULL },
	{ 61, "claude", "s3", EVENT_SESSION_START, NULL, NULL, "/e", NULL },
	{ 62, "claude", "s3", EVENT_PRE_TOOL_USE, "WebFetch", "u1", "/e", NULL },
	{ 63, "claude", "s3", EVENT_POST_TOOL_USE, "WebFetch", "u1", "/e", NULL },
	{ 64, "claude", "s3", EVENT_PRE_COMPACT, NULL, NULL, "/e", NULL },
	{ 65, "claude", "s3", EVENT_POST_COMPACT, NULL, NULL, "/e", NULL },
	{ 66, "claude", "s3", EVENT_SUBAGENT_START, NULL, NULL, "/e", NULL },
	{ 67, "claude", "s3", EVENT_SUBAGENT_STOP, NULL, NULL, "/e", NULL },
	{ 68, "claude", "s3", EVENT_STOP, NULL, NULL, "/e", NULL },
};

enum { LINES = countof(story), DOUBLES = 12 };

static enum tool_class class_of(const char *tool)
{
	return !tool ? TOOL_OTHER : strcmp(tool, "Read") == 0 ? TOOL_READ :
	       strcmp(tool, "Edit") == 0 || strcmp(tool, "Write") == 0 ? TOOL_WRITE : TOOL_SHELL;
}

static struct record record_of(unsigned i)
{
	const struct line *l = &story[i];
	struct record r = record_sample(i, STR("{\"n\":1}"));
	uint8_t random[10] = { 0 };

	/* Two records of one millisecond are told apart by the random part alone. */
	random[0] = (uint8_t)(i * 37);
	random[1] = (uint8_t)i;
	r.id = ulid_from(1700000000000 + l->ms, random);
	r.at_us = (1700000000000 + l->ms) * INT64_C(1000);
	r.order_us = r.at_us + 500;
	r.kind = l->kind;
	r.native = str_of(event_kinds[l->kind].name);
	r.agent = str_of(l->agent);
	r.session = str_of(l->session);
	r.tool_name = str_of(l->tool);
	r.tool_use_id = str_of(l->use);
	r.tool_class = class_of(l->tool);
	r.cwd = str_of(l->cwd);
	r.transcript_path = str_of(l->transcript);
	return r;
}

/* Every table without the numbers that count arrivals; sessions are named by their native keys. */
static const char *const dumps[] = {
	"SELECT hex(e.id), e.ord, e.at, s.agent, s.native_id, e.kind, e.native, e.tool, e.tool_use_id, e.agent_id, "
	"e.marks, e.host, e.payload FROM events e JOIN sessions s ON s.key = e.session ORDER BY e.id",
	"SELECT agent, native_id, cwd, transcript, status, started_at, last_at, ended_at, events, prompts, tools "
	"FROM sessions ORDER BY agent, native_id",
	"SELECT s.agent, s.native_id, a.tool_use_id, a.tool, a.class, a.state, a.started_at, a.ended_at "
	"FROM activities a JOIN sessions s ON s.key = a.session ORDER BY 1, 2, 3",
};

static const int columns[] = { 13, 11, 8 };

static void dump(struct store *s, struct buf *out)
{
	for (size_t i = 0; i < countof(dumps); i++) {
		struct query *q = store_query(s, dumps[i]);
		int r;

		buf_addf(out, "-- table %zu\n", i);
		while ((r = query_step(q)) == 1) {
			for (int c = 0; c < columns[i]; c++)
				buf_addf(out, "%s" STR_FMT, c ? "|" : "", STR_ARG(query_is_null(q, c) ?
					STR("null") : query_str(q, c)));
			buf_add_char(out, '\n');
		}
		assert_int_equal(r, 0);
		query_reset(q);
	}
	assert_false(out->full);
}

static struct store *fresh_store(void)
{
	struct store *s = NULL;
	struct err err = { 0 };

	if (store_open(test_path(test_dir(), "hookd.db"), STORE_WRITE, "/nonexistent", &s, &err) < 0)
		fail_msg("%s", err.text);
	/* Nothing here is about surviving a power cut. */
	store_exec(s, "PRAGMA synchronous = OFF");
	return s;
}

static void clear(struct store *s)
{
	assert_int_equal(store_exec(s, "DELETE FROM activities; DELETE FROM events; DELETE FROM sessions"), 0);
}

static void fold_in_order(struct store *s, const unsigned *order, size_t n)
{
	bool known[LINES] = { false };

	assert_int_equal(store_exec(s, "BEGIN"), 0);
	for (size_t i = 0; i < n; i++) {
		struct record r = record_of(order[i]);

		assert_int_equal(capture_fold(s, &r), known[order[i]] ? 0 : 1);
		known[order[i]] = true;
	}
	assert_int_equal(store_exec(s, "COMMIT"), 0);
}

static void shuffle(unsigned *order, size_t n, uint64_t *seed)
{
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = test_random(seed) % (i + 1);
		unsigned t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
}

/* Names the first line that differs: two dumps in full would be unreadable. */
static void check_same(str a, str b, int round)
{
	str x, y;

	while (str_split(&a, '\n', &x) && str_split(&b, '\n', &y))
		if (!str_eq(x, y))
			fail_msg("shuffle %d:\n  " STR_FMT "\n  " STR_FMT, round, STR_ARG(x), STR_ARG(y));
}

static void test_any_order(void **state)
{
	struct buf want = BUF_INIT(KIB(64)), got = BUF_INIT(KIB(64));
	unsigned order[LINES + DOUBLES];
	struct store *s = fresh_store();
	uint64_t seed = 20260101;

	for (unsigned i = 0; i < LINES; i++)
		order[i] = i;
	fold_in_order(s, order, LINES);
	dump(s, &want);
	for (int round = 0; round < 200; round++) {
		for (unsigned i = 0; i < LINES + DOUBLES; i++)
			order[i] = i < LINES ? i : test_random(&seed) % LINES;
		shuffle(order, countof(order), &seed);
		clear(s);
		fold_in_order(s, order, countof(order));
		buf_clear(&got);
		dump(s, &got);
		check_same(buf_str(&want), buf_str(&got), round);
		assert_str(buf_str(&got), buf_str(&want));
	}
	store_close(s);
	buf_release(&want);
	buf_release(&got);
}

/* What the rows say, spelled out once. */
static void check_row(struct store *s, const char *sql, const char *want)
{
	struct query *q = store_query(s, sql);

	assert_int_equal(query_step(q), 1);
	assert_str(query_str(q, 0), str_of(want));
	query_reset(q);
}

static void test_rows(void **state)
{
	unsigned order[LINES];
	struct store *s = fresh_store();
	struct buf out = BUF_INIT(KIB(4));

	for (unsigned i = 0; i < LINES; i++)
		order[i] = LINES - 1 - i;
	fold_in_order(s, order, LINES);
	check_row(s, "SELECT count(*) FROM events", "40");
	check_row(s, "SELECT count(*) FROM sessions", "5");
	check_row(s, "SELECT cwd || ' ' || transcript || ' ' || status || ' ' || events || ' ' || prompts || ' ' || "
		     "tools "
		     "FROM sessions WHERE agent = 'claude' AND native_id = 's1'", "/p /t/1c active 12 2 3");
	check_row(s, "SELECT last_at - started_at FROM sessions WHERE agent = 'claude' AND native_id = 's1'", "31000");
	check_row(s, "SELECT status FROM sessions WHERE agent = 'codex'", "completed");
	check_row(s, "SELECT ended_at - started_at FROM sessions WHERE agent = 'codex'", "6000");
	check_row(s, "SELECT status FROM sessions WHERE native_id = 's3'", "active");
	check_row(s, "SELECT cwd FROM sessions WHERE native_id = 's2'", "/late");
	check_row(s, "SELECT state || ' ' || (ended_at - started_at) FROM activities WHERE tool_use_id = 'u10'",
		"failed 3000");
	check_row(s, "SELECT tool || ' ' || class FROM activities WHERE tool_use_id = 'u9'", "Edit write");
	check_row(s, "SELECT state || coalesce(started_at, ' open') FROM activities WHERE tool_use_id = 'u11'",
		"done open");
	check_row(s, "SELECT count(*) FROM activities", "9");
	assert_int_equal(store_check(s, &out), 0);
	store_close(s);
	buf_release(&out);
}

/* A clock at 1970, or before, ends nothing. */
static void test_odd_clocks(void **state)
{
	struct store *s = fresh_store();
	struct record r = record_sample(1, STR("{}"));

	r.at_us = 0;
	assert_int_equal(capture_fold(s, &r), 1);
	check_row(s, "SELECT status FROM sessions", "active");
	r = record_sample(2, STR("{}"));
	r.at_us = -5000000;
	r.kind = EVENT_SESSION_END;
	r.session = STR("before");
	assert_int_equal(capture_fold(s, &r), 1);
	check_row(s, "SELECT status || ended_at FROM sessions WHERE native_id = 'before'", "completed-5000000");
	store_close(s);
}

/* Bytes that are not for SQL, and fields that are missing. */
static void test_odd_records(void **state)
{
	struct store *s = fresh_store();
	struct record r = { .agent = STR("a'; DROP TABLE events; --"), .session = STR("x\0y"), .tool_use_id = STR("") };

	assert_int_equal(capture_fold(s, &r), 1);
	assert_int_equal(capture_fold(s, &r), 0);
	check_row(s, "SELECT payload || native FROM events", "{}");
	check_row(s, "SELECT length(cast(native_id AS BLOB)) FROM sessions", "3");
	r = record_sample(3, STR("{}"));
	r.marks = EVENT_SPOOLED;
	r.order_us = 1;
	assert_int_equal(capture_fold(s, &r), 1);
	check_row(s, "SELECT ord = at FROM events WHERE marks <> 0", "1");
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_odd_clocks),
		cmocka_unit_test(test_odd_records),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
